// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All files and folders get a time of change in the past when they have been unpacked; one that has
// another time has been changed, by an FMU or from outside. The folders are removed when the
// program ends. A process that was forked neither uses nor removes the folders of its parent.
#include "fmi/unpacked.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <time.h>
#include <unistd.h>

#include "base/guard.h"
#include "couplet/fmi.h"
#include "format/folder.h"

enum {
  LONG_AGO = 315532800,  // seconds: the begin of 1980
  SETTLED = 2,           // seconds after which a change of a file has another time
  TMPFS = 0x01021994,    // file systems in memory, by statfs()
  MAX_KEPT = 16,         // folders
  MAX_BYTES = 1 << 28,   // in one folder
};

typedef struct kept {
  cpli_zip_id archive;
  char* folder;
} kept;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  int32_t wanted;  // folders to be kept
  pid_t process;   // that requested it
  bool at_exit;    // they will be removed then
  int32_t n;
  kept items[MAX_KEPT];  // the one that was used last is the last one
} pool;

//------------------------------------ times ------------------------------------

typedef struct survey {
  bool stamp;      // set the times, rather than compare them
  bool resources;  // there is a folder of this name
  uint64_t bytes;
} survey;

static bool visit(survey* s, int folder, int depth);

static bool visit_entry(survey* s, int parent, const char* name, int depth) {
  static const struct timespec times[2] = {{.tv_sec = LONG_AGO}, {.tv_sec = LONG_AGO}};
  struct stat info;
  if (fstatat(parent, name, &info, AT_SYMLINK_NOFOLLOW) != 0) return false;
  if (depth == 0 && strcmp(name, "resources") == 0) s->resources = true;
  if (S_ISDIR(info.st_mode)) {
    int below = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || !visit(s, below, depth + 1)) return false;
  } else if (!S_ISREG(info.st_mode) || info.st_nlink != 1) {
    return false;
  } else {
    s->bytes += (uint64_t)info.st_size;
  }
  if (s->stamp) return utimensat(parent, name, times, AT_SYMLINK_NOFOLLOW) == 0;
  return info.st_mtim.tv_sec == LONG_AGO && info.st_mtim.tv_nsec == 0;
}

// Sets or compares the times of all that is in a folder. Closes `folder`.
static bool visit(survey* s, int folder, int depth) {
  enum { DEEPEST = 64 };
  DIR* dir = depth < DEEPEST ? fdopendir(folder) : NULL;
  if (dir == NULL) {
    close(folder);
    return false;
  }
  bool fine = true;
  for (const struct dirent* e = readdir(dir); fine && e != NULL; e = readdir(dir)) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    fine = visit_entry(s, dirfd(dir), e->d_name, depth);
  }
  closedir(dir);
  return fine;
}

// The folder itself and all that is in it.
static bool visit_all(survey* s, const char* folder) {
  const char* name = strrchr(folder, '/');
  char parent[PATH_MAX];
  if (name == NULL || (size_t)(name - folder) >= sizeof parent) return false;
  memcpy(parent, folder, (size_t)(name - folder));
  parent[name - folder] = '\0';
  int fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool fine = fd >= 0 && visit_entry(s, fd, name + 1, -1);
  if (fd >= 0) close(fd);
  return fine;
}

static double seconds(struct timespec t) { return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

// A file that is changed twice within the resolution of its time stamps cannot be told from one
// that is changed once.
static bool has_settled(const cpli_zip_id* archive) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const double t = seconds(now) - SETTLED;
  return seconds(archive->modified) < t && seconds(archive->changed) < t;
}

//------------------------------------ loaded code ------------------------------------

// A library may stay loaded after dlclose(), with its data: it must not be found again.
static int is_inside(struct dl_phdr_info* info, size_t size, void* user) {
  (void)size;
  return info->dlpi_name != NULL && strstr(info->dlpi_name, user) != NULL;
}

static bool is_loaded(const char* folder) {
  // the end of the path is unique, however its begin was written
  const char* end = folder + strlen(folder);
  for (int slashes = 0; end > folder && slashes < 2; slashes += *end == '/') end--;
  return dl_iterate_phdr(is_inside, (void*)end) != 0;
}

//------------------------------------ pool ------------------------------------

static bool is_home(void) { return pool.wanted > 0 && pool.process == getpid(); }

static void remove_first(int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    cpli_temp_folder_erase(pool.items[i].folder);
    free(pool.items[i].folder);
  }
  pool.n -= n;
  memmove(pool.items, pool.items + n, (size_t)pool.n * sizeof *pool.items);
}

static void clear(void) {
  cpli_lock(&mutex);
  pool.at_exit = false;
  if (is_home()) remove_first(pool.n);
  cpli_unlock(&mutex);
}

void cpl_fmu_keep_unpacked(int32_t n) {
  cpli_lock(&mutex);
  if (pool.process != getpid()) pool.n = 0;  // those of the process that forked this one
  pool.process = getpid();
  pool.wanted = n < 0 ? 0 : n > MAX_KEPT ? MAX_KEPT : n;
  if (pool.n > pool.wanted) remove_first(pool.n - pool.wanted);
  cpli_unlock(&mutex);
}

bool cpli_unpacked_prepare(const cpli_zip_id* archive, const char* folder) {
  cpli_lock(&mutex);
  const bool wanted = is_home();
  cpli_unlock(&mutex);
  survey s = {.stamp = true};
  struct statfs system;
  if (!wanted || !has_settled(archive) || !visit_all(&s, folder) || s.bytes > MAX_BYTES)
    return false;
  // files in memory that a program has mapped can change without a new time
  return !s.resources || (statfs(folder, &system) == 0 && system.f_type != TMPFS);
}

// Removes an entry from the list without its folder.
static char* pick(int32_t i) {
  char* folder = pool.items[i].folder;
  pool.n--;
  memmove(pool.items + i, pool.items + i + 1, (size_t)(pool.n - i) * sizeof *pool.items);
  return folder;
}

cpl_status cpli_unpacked_take(cpl_context* ctx, const cpli_zip_id* archive, char** out) {
  const char* base = cpli_temp_base();
  const size_t len = strlen(base);
  char* folder = NULL;
  *out = NULL;
  cpli_lock(&mutex);
  for (int32_t i = is_home() ? pool.n : 0; folder == NULL && i > 0; i--) {
    const kept* k = &pool.items[i - 1];
    if (cpli_zip_same_file(&k->archive, archive) && strncmp(k->folder, base, len) == 0 &&
        k->folder[len] == '/')
      folder = pick(i - 1);
  }
  cpli_unlock(&mutex);
  if (folder == NULL) return CPL_OK;
  survey s = {0};
  const bool unchanged = visit_all(&s, folder);
  if (unchanged) *out = cpli_strdup(ctx, folder);
  if (*out == NULL) cpli_temp_folder_erase(folder);
  free(folder);
  return unchanged && *out == NULL ? cpli_nomem(ctx) : CPL_OK;
}

bool cpli_unpacked_keep(const cpli_zip_id* archive, const char* folder) {
  if (is_loaded(folder)) return false;
  char* copy = strdup(folder);
  cpli_lock(&mutex);
  bool done = copy != NULL && is_home() && (pool.at_exit || atexit(clear) == 0);
  if (done) {
    pool.at_exit = true;
    if (pool.n == pool.wanted) remove_first(1);
    pool.items[pool.n++] = (kept){*archive, copy};
    copy = NULL;
  }
  cpli_unlock(&mutex);
  free(copy);
  return done;
}
