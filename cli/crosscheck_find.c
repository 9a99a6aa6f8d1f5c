// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Walks folders for FMUs and their files with references, inputs and options. Version, kind and
// tool follow from the folder layout of the FMI cross-check repository.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crosscheck.h"

enum { DEEPEST = 32 };

static char* text(xcheck* x, const char* a, const char* b, const char* c) {
  size_t n = strlen(a) + strlen(b) + strlen(c) + 1;
  char* out = cpli_arena_alloc(&x->arena, n, 1);
  if (out != NULL) snprintf(out, n, "%s%s%s", a, b, c);
  return out;
}

//------------------------------ folders with instructions ------------------------------

// .../VERSION/KIND/PLATFORM/TOOL/TOOLVERSION/MODEL/X.fmu
enum { VERSION, KIND, PLATFORM, TOOL, TOOL_VERSION, MODEL_NAME, FILE_NAME, N_PARTS };

static bool split_path(xcheck* x, const char* path, char* parts[N_PARTS]) {
  char* copy = text(x, path, "", "");
  if (copy == NULL) return false;
  for (int i = N_PARTS - 1; i >= 0; i--) {
    char* slash = strrchr(copy, '/');
    parts[i] = slash != NULL ? slash + 1 : copy;
    if (slash == NULL) return i == 0;
    *slash = '\0';
  }
  return true;
}

static bool is_kind(const char* text_) {
  return strcmp(text_, "me") == 0 || strcmp(text_, "cs") == 0;
}

// Folders have the names of FMI 2.0, also where FMUs are of another version.
static bool is_platform(const xcheck* x, const char* name) {
  if (x->platform != NULL) return strcmp(name, x->platform) == 0;
#if defined(__x86_64__)
  return strcmp(name, "linux64") == 0 || strcmp(name, "x86_64-linux") == 0;
#elif defined(__aarch64__)
  return strcmp(name, "aarch64-linux") == 0;
#else
  return strcmp(name, "linux32") == 0;
#endif
}

// False: for another platform.
static bool classify(xcheck* x, xcheck_case* c) {
  char* parts[N_PARTS];
  char absolute[8192], here[4096] = "";
  c->version = c->kind = c->tool = "";
  if (c->fmu[0] != '/' && getcwd(here, sizeof here) == NULL) here[0] = '\0';
  snprintf(absolute, sizeof absolute, "%s/%s", here, c->fmu);
  if (!split_path(x, absolute, parts) || !is_kind(parts[KIND])) return true;
  if (!is_platform(x, parts[PLATFORM])) return false;
  c->version = parts[VERSION];
  c->kind = parts[KIND];
  c->tool = parts[TOOL];
  return true;
}

//------------------------------------ files ------------------------------------

static const char* beside(xcheck* x, const char* fmu, const char* ending) {
  char* path = text(x, fmu, "", ending);
  if (path == NULL) return NULL;
  size_t stem = strlen(fmu) - strlen(".fmu");
  memmove(path + stem, ending, strlen(ending) + 1);
  return access(path, R_OK) == 0 ? path : NULL;
}

static cpl_status add(xcheck* x, const char* folder, const char* path, const char* only) {
  xcheck_case c = {.folder = folder, .fmu = path};
  if (path == NULL) return cpl_fail(x->ctx, CPL_ERR_NOMEM, "out of memory");
  c.path = path + strlen(x->root);
  while (*c.path == '/') c.path++;
  if (only != NULL && !cpli_glob(only, c.path)) return CPL_OK;
  c.reference = beside(x, path, "_ref.csv");
  c.input = beside(x, path, "_in.csv");
  c.options = beside(x, path, "_ref.opt");
  if (!classify(x, &c)) return x->elsewhere++, CPL_OK;
  c.plan = (xcheck_plan){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
  if (!cpli_grow(x->ctx, (void**)&x->cases, &x->cap, x->n, sizeof c))
    return cpl_fail(x->ctx, CPL_ERR_NOMEM, "out of memory");
  x->cases[x->n++] = c;
  return CPL_OK;
}

static cpl_status walk(xcheck* x, const char* folder, const char* only, int depth) {
  DIR* dir = opendir(folder);
  if (dir == NULL) return cpl_fail(x->ctx, CPL_ERR_INPUT, "%s: %s", folder, strerror(errno));
  cpl_status st = CPL_OK;
  for (struct dirent* e = readdir(dir); st >= 0 && e != NULL; e = readdir(dir)) {
    struct stat info;
    if (e->d_name[0] == '.') continue;
    // symbolic links to folders are not followed: there may be cycles
    if (fstatat(dirfd(dir), e->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    char* path = text(x, folder, "/", e->d_name);
    if (path == NULL) st = cpl_fail(x->ctx, CPL_ERR_NOMEM, "out of memory");
    else if (S_ISDIR(info.st_mode) && depth > 0) st = walk(x, path, only, depth - 1);
    else if (!S_ISDIR(info.st_mode) && cli_ends_with(e->d_name, ".fmu"))
      st = add(x, folder, path, only);
  }
  closedir(dir);
  return st;
}

static int by_path(const void* a, const void* b) {
  return strcmp(((const xcheck_case*)a)->path, ((const xcheck_case*)b)->path);
}

cpl_status xcheck_find(xcheck* x, const char* only) {
  cpl_status st = walk(x, x->root, only, DEEPEST);
  if (x->n > 0) qsort(x->cases, x->n, sizeof *x->cases, by_path);
  return st;
}
