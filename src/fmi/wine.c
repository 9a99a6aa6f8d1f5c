// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds Wine, and makes the folder that it works in (its prefix). Links to Wine's own folders take
// the place of the copies that Wine would make, and its services and its desktop are switched off,
// so that the folder is made in no time, is small, and nothing is started but the host.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/process.h"
#include "fmi/platform.h"
#include "format/cache.h"
#include "format/folder.h"
#include "format/hash.h"

extern char** environ;

//------------------------------------ finding ------------------------------------

typedef struct found_wine {
  cpli_wine wine;
  char loader[PATH_MAX], system[PATH_MAX], version[64];
  bool asked;  // for its version
} found_wine;

static found_wine found[2];  // of 64 and of 32 bits
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t version_mutex = PTHREAD_MUTEX_INITIALIZER;

// The folder of Wine's DLLs, from the place of the loader or of a usual installation.
static bool find_system(found_wine* f, int bits) {
  static const char* const places[] = {"%s/../lib/wine/%s",
                                       "%s/../lib64/wine/%s",
                                       "%s/%s",
                                       "%s/../x86_64-linux-gnu/wine/%s",
                                       "%s/../i386-linux-gnu/wine/%s",
                                       "%s/../lib/x86_64-linux-gnu/wine/%s",
                                       "%s/../lib/i386-linux-gnu/wine/%s"};
  char real[PATH_MAX], path[2 * PATH_MAX];
  if (realpath(f->loader, real) == NULL) return false;
  *strrchr(real, '/') = '\0';
  for (size_t i = 0; i < CPLI_COUNT(places); i++) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    int n =
        snprintf(path, PATH_MAX, places[i], real, bits == 64 ? "x86_64-windows" : "i386-windows");
#pragma GCC diagnostic pop
    if (n < 0 || n >= PATH_MAX - 16) continue;
    strcpy(path + n, "/kernel32.dll");
    if (access(path, R_OK) != 0) continue;
    path[n] = '\0';
    if (realpath(path, f->system) != NULL) return true;
  }
  return false;
}

static bool try_loader(found_wine* f, const char* folder, size_t len, const char* name, int bits) {
  int n =
      snprintf(f->loader, sizeof f->loader, "%.*s%s%s", (int)len, folder, len > 0 ? "/" : "", name);
  return n > 0 && (size_t)n < sizeof f->loader && access(f->loader, X_OK) == 0 &&
         find_system(f, bits);
}

static bool search_for(found_wine* f, int bits) {
  static const char usual[] = "/usr/lib/wine:/opt/wine-stable/bin:/opt/wine-staging/bin";
  const char* const names[] = {bits == 64 ? "wine64" : "wine", bits == 64 ? "wine" : "wine64"};
  const char* chosen = getenv("COUPLET_WINE");
  if (chosen != NULL && chosen[0] != '\0') return try_loader(f, "", 0, chosen, bits);
  const char* const lists[] = {usual, getenv("PATH")};
  for (size_t l = 0; l < CPLI_COUNT(lists); l++) {
    for (const char* at = lists[l]; at != NULL && *at != '\0';) {
      const size_t n = strcspn(at, ":");
      for (size_t k = 0; k < CPLI_COUNT(names) && n > 0; k++)
        if (try_loader(f, at, n, names[k], bits)) return true;
      at += at[n] == ':' ? n + 1 : n;
    }
  }
  return false;
}

static void search(void) {
  for (int k = 0; k < 2; k++) {
    found_wine* f = &found[k];
    if (!search_for(f, k == 0 ? 64 : 32)) continue;
    f->wine = (cpli_wine){.loader = f->loader, .system = f->system, .version = f->version};
  }
}

const cpli_wine* cpli_wine_find(int bits) {
  pthread_once(&once, search);
  const cpli_wine* wine = &found[bits == 64 ? 0 : 1].wine;
  return wine->loader != NULL ? wine : NULL;
}

// "wine-8.0 (Debian 8.0~repack-4)"
const char* cpli_wine_version(cpl_context* ctx, const cpli_wine* wine) {
  found_wine* f = (found_wine*)wine;
  pthread_mutex_lock(&version_mutex);
  if (!f->asked) {
    const char* const argv[] = {f->loader, "--version", NULL};
    char* text = NULL;
    int code = 1;
    if (cpli_run_program(ctx, argv, &text, &code) >= 0 && code == 0 &&
        strncmp(text, "wine-", 5) == 0)
      snprintf(f->version, sizeof f->version, "%.*s", (int)strcspn(text + 5, " \n"), text + 5);
    cpli_free(ctx, text);
    f->asked = true;
  }
  pthread_mutex_unlock(&version_mutex);
  return f->version;
}

//------------------------------------ prefix ------------------------------------

static bool link_there(const char* folder, const char* name, const char* target) {
  char path[PATH_MAX];
  const int n = snprintf(path, sizeof path, "%s/%s", folder, name);
  return n > 0 && (size_t)n < sizeof path && symlink(target, path) == 0;
}

static bool fill(const char* folder, const cpli_wine* wine) {
  static const char* const folders[] = {"dosdevices",           "drive_c",
                                        "drive_c/windows",      "drive_c/windows/temp",
                                        "drive_c/users",        "drive_c/users/couplet",
                                        "drive_c/Program Files"};
  char path[PATH_MAX];
  for (size_t i = 0; i < CPLI_COUNT(folders); i++) {
    const int n = snprintf(path, sizeof path, "%s/%s", folder, folders[i]);
    if (n < 0 || (size_t)n >= sizeof path || mkdir(path, 0700) != 0) return false;
  }
  return link_there(folder, "dosdevices/c:", "../drive_c") &&
         link_there(folder, "dosdevices/z:", "/") &&
         link_there(folder, "drive_c/windows/system32", wine->system);
}

// A folder that was removed in part does not count.
static bool is_complete(const char* folder) {
  static const char* const names[] = {"dosdevices/c:", "dosdevices/z:", "drive_c/windows/system32"};
  char path[PATH_MAX + 32];
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    if (access(path, F_OK) != 0) return false;
  }
  return true;
}

static cpl_status take_lock(cpl_context* ctx, const char* folder, int* lock) {
  char path[PATH_MAX + 16];
  snprintf(path, sizeof path, "%s/wine.lock", folder);
  *lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (*lock < 0) return cpl_fail(ctx, CPL_ERR_IO, "%s: %s", path, strerror(errno));
  while (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
    const bool busy = errno == EWOULDBLOCK || errno == EINTR;
    if (busy && !cpli_cancelled(ctx)) {
      nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
      continue;
    }
    cpl_status st = busy ? cpli_interrupted(ctx, "Wine", NAN)
                         : cpl_fail(ctx, CPL_ERR_IO, "%s: %s", path, strerror(errno));
    close(*lock);
    *lock = -1;
    return st;
  }
  return CPL_OK;
}

// The folder is made under another name and renamed, so that it is complete where it is visible.
static cpl_status make_folder(cpl_context* ctx, const cpli_wine* wine, const char* out) {
  char made[PATH_MAX];
  const int n = snprintf(made, sizeof made, "%s.XXXXXX", out);
  if (n < 0 || (size_t)n >= sizeof made)
    return cpl_fail(ctx, CPL_ERR_IO, "%s: this path is too long for Wine", out);
  if (mkdtemp(made) == NULL || !fill(made, wine))
    return cpl_fail(ctx, CPL_ERR_IO, "%s: no folder for Wine can be made there: %s", out,
                    strerror(errno));
  if (access(out, F_OK) == 0) cpli_temp_folder_erase(out);  // incomplete
  if (rename(made, out) == 0) return CPL_OK;
  const int failed = errno;
  cpli_temp_folder_erase(made);
  return cpl_fail(ctx, CPL_ERR_IO, "%s: %s", out, strerror(failed));
}

// Another Wine gets another folder. Of runs that need it at the same time one makes it.
static cpl_status make_prefix(cpl_context* ctx, const cpli_wine* wine, char* out, size_t size) {
  static const char layout[] = "1";  // to be changed with what is in the folder
  char cache[PATH_MAX];
  cpl_status st = cpli_cache_folder(ctx, cache, sizeof cache);
  if (st < 0) return st;
  const char* parts[] = {layout, wine->loader, wine->system, cpli_wine_version(ctx, wine)};
  cpli_hash hash = cpli_hash_begin();
  for (size_t i = 0; i < CPLI_COUNT(parts); i++)
    cpli_hash_add(&hash, parts[i], strlen(parts[i]) + 1);
  const int n = snprintf(out, size, "%s/wine-%016llx", cache, (unsigned long long)hash.part[0]);
  if (n < 0 || (size_t)n >= size)
    return cpl_fail(ctx, CPL_ERR_IO, "%s: this path is too long for Wine", cache);
  if (is_complete(out)) return CPL_OK;
  int lock = -1;
  st = take_lock(ctx, cache, &lock);
  if (st >= 0 && !is_complete(out)) st = make_folder(ctx, wine, out);
  if (lock >= 0) close(lock);
  return st;
}

//------------------------------------ environment ------------------------------------

// Variables that are not passed on: those of another Wine, of the screen, of libraries that are
// loaded into every program, and the temporary folder, by which Wine would tell its servers apart.
static bool is_dropped(const char* item) {
  static const char* const names[] = {
      "WINEPREFIX=",      "WINEARCH=",   "WINEDEBUG=",   "WINEDLLOVERRIDES=",
      "WINELOADER=",      "WINESERVER=", "WINEDLLPATH=", "DISPLAY=",
      "WAYLAND_DISPLAY=", "LD_PRELOAD=", "TMPDIR="};
  for (size_t i = 0; i < CPLI_COUNT(names); i++)
    if (strncmp(item, names[i], strlen(names[i])) == 0) return true;
  return false;
}

cpl_status cpli_wine_environment(cpl_context* ctx, const cpli_wine* wine, char*** out, int* lock) {
  static const char overrides[] =
      "WINEDLLOVERRIDES=wineboot.exe,services.exe,explorer.exe,winemenubuilder.exe,winedbg.exe,"
      "rpcss.exe,mscoree,mshtml=";
  char prefix[PATH_MAX];
  size_t n = 0, used = 0;
  *out = NULL;
  *lock = -1;
  cpl_status st = make_prefix(ctx, wine, prefix, sizeof prefix);
  if (st < 0) return st;
  while (environ[n] != NULL) n++;
  char** env = cpli_alloc(ctx, n + 6, sizeof *env);
  if (env == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < n; i++)
    if (!is_dropped(environ[i])) env[used++] = cpli_strdup(ctx, environ[i]);
  env[used++] = cpli_printf(ctx, "WINEPREFIX=%s", prefix);
  env[used++] = cpli_printf(ctx, "WINELOADER=%s", wine->loader);
  env[used++] = cpli_strdup(ctx, wine == &found[0].wine ? "WINEARCH=win64" : "WINEARCH=win32");
  env[used++] = cpli_strdup(ctx, "WINEDEBUG=-all");
  env[used++] = cpli_strdup(ctx, overrides);
  bool complete = true;
  for (size_t i = 0; i < used; i++) complete = complete && env[i] != NULL;
  st = complete ? take_lock(ctx, prefix, lock) : cpli_nomem(ctx);
  if (st >= 0) return *out = env, CPL_OK;
  for (size_t i = 0; i < used; i++) cpli_free(ctx, env[i]);
  cpli_free(ctx, env);
  return st;
}

void cpli_wine_free_environment(cpl_context* ctx, char** env) {
  for (size_t i = 0; env != NULL && env[i] != NULL; i++) cpli_free(ctx, env[i]);
  cpli_free(ctx, env);
}
