// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All temporary folders of a process lie in one folder that is locked by flock(); one whose lock
// can be taken was left by a process that was killed. Files are removed relative to open
// descriptors.
#include "format/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/guard.h"
#include "format/source_loc.h"

const char* cpli_temp_base(void) {
  const char* base = getenv("TMPDIR");
  return base != NULL && base[0] == '/' ? base : "/tmp";
}

//------------------------------------ what killed runs left ------------------------------------

// All temporary folders of a process lie in one that is locked as long as the process lives, or one
// that it forked. A folder of that name that can be locked was left by a process that was killed.
#define OURS "couplet-run-"

// Works on descriptors, so that a folder replaced by a link meanwhile leads nowhere.
static bool empty_folder(int folder) {
  DIR* dir = fdopendir(folder);
  if (dir == NULL) {
    close(folder);
    return false;
  }
  bool all = true;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0) continue;
    if (unlinkat(dirfd(dir), e->d_name, 0) == 0) continue;
    int below = openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (below < 0 || !empty_folder(below) || unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) != 0)
      all = false;
  }
  closedir(dir);
  return all;
}

// Locks a folder of this user. Folders are removed by who has locked them only, so that one that is
// there once it is locked stays there. Returns the descriptor, or -1: errno is EWOULDBLOCK or
// ENOENT when another process has locked or removed it, something else when it cannot be locked.
static int lock_folder(int base, const char* name) {
  struct stat info, now;
  int cause = 0, fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (fstat(fd, &info) != 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) cause = errno;
  else if (info.st_uid != geteuid()) cause = EPERM;
  else if (fstatat(base, name, &now, AT_SYMLINK_NOFOLLOW) != 0 || now.st_ino != info.st_ino ||
           now.st_dev != info.st_dev)
    cause = ENOENT;
  if (cause == 0) return fd;
  close(fd);
  errno = cause;
  return -1;
}

static void clean(cpl_context* ctx, const char* base) {
  DIR* dir = opendir(base);
  if (dir == NULL) return;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (strncmp(e->d_name, OURS, strlen(OURS)) != 0) continue;
    int lock = lock_folder(dirfd(dir), e->d_name);
    if (lock < 0) continue;
    int folder = openat(lock, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done =
        folder >= 0 && empty_folder(folder) && unlinkat(dirfd(dir), e->d_name, AT_REMOVEDIR) == 0;
    cpl_log(ctx, CPL_LOG_DEBUG, base, "%s %s, left by a run that was killed",
            done ? "removed" : "cannot remove", e->d_name);
    close(lock);
  }
  closedir(dir);
}

//------------------------------------ temporary folders ------------------------------------

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct {
  char base[PATH_MAX];       // where it lies
  char path[PATH_MAX + 32];  // "": there is none
  int lock;                  // -1: it could not be locked
  pid_t process;             // that has made it; in others the descriptor is closed or not theirs
} own;

// A new folder for this process. Between its making and its locking another process may take it for
// one that was left: then one more is made.
static bool make_own(cpl_context* ctx, const char* base) {
  if (strlen(base) >= sizeof own.base) {
    errno = ENAMETOOLONG;
    return false;
  }
  clean(ctx, base);
  for (;;) {
    snprintf(own.path, sizeof own.path, "%s/" OURS "XXXXXX", base);
    if (mkdtemp(own.path) == NULL) {
      own.path[0] = '\0';
      return false;
    }
    own.lock = lock_folder(AT_FDCWD, own.path);
    if (own.lock < 0 && (errno == EWOULDBLOCK || errno == ENOENT)) continue;
    if (own.lock < 0)
      cpl_log(ctx, CPL_LOG_DEBUG, own.path, "cannot be locked: %s", strerror(errno));
    snprintf(own.base, sizeof own.base, "%s", base);
    own.process = getpid();
    return true;
  }
}

// Removes the folder of this process when nothing is in it any more.
static void remove_own(void) {
  if (own.path[0] == '\0' || (rmdir(own.path) != 0 && errno != ENOENT)) return;
  own.path[0] = '\0';
  if (own.lock >= 0 && own.process == getpid()) close(own.lock);
}

static cpl_status make_inside(cpl_context* ctx, char** out) {
  char* path = cpli_printf(ctx, "%s/XXXXXX", own.path);
  if (path == NULL) return cpli_nomem(ctx);
  if (mkdtemp(path) != NULL) {
    *out = path;
    return CPL_OK;
  }
  const int cause = errno;
  cpli_free(ctx, path);
  errno = cause;
  return CPL_ERR_IO;
}

static cpl_status make_folder(cpl_context* ctx, const char* base, char** out) {
  // where TMPDIR has changed, the folder of before keeps its lock
  if (own.path[0] != '\0' && strcmp(own.base, base) == 0) {
    cpl_status st = make_inside(ctx, out);
    if (st != CPL_ERR_IO || errno != ENOENT) return st;
    remove_own();  // a process that this one forked was the last in it, and has removed it
  }
  return make_own(ctx, base) ? make_inside(ctx, out) : CPL_ERR_IO;
}

cpl_status cpli_temp_folder_make(cpl_context* ctx, char** out) {
  const char* base = cpli_temp_base();
  *out = NULL;
  cpli_lock(&mutex);
  cpl_status st = make_folder(ctx, base, out);
  const int cause = errno;
  if (st < 0) remove_own();
  cpli_unlock(&mutex);
  if (st != CPL_ERR_IO) return st;
  return cpl_fail(ctx, CPL_ERR_IO, "cannot make a temporary folder in %s: %s", base,
                  strerror(cause));
}

int cpli_temp_folder_erase(const char* path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  bool done = folder >= 0 && empty_folder(folder) && rmdir(path) == 0;
  const int cause = errno;
  cpli_lock(&mutex);
  remove_own();
  cpli_unlock(&mutex);
  return done ? 0 : cause != 0 ? cause : EIO;
}

cpl_status cpli_temp_folder_remove(cpl_context* ctx, const char* path) {
  const int cause = path != NULL ? cpli_temp_folder_erase(path) : 0;
  if (cause == 0) return CPL_OK;
  return cpli_fail_file(ctx, CPL_ERR_IO, path, "cannot be removed: %s", strerror(cause));
}

// Makes a folder, and before it those above that are missing. Few of them are, as a rule.
static bool make_with_parents(char* path) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return true;
  char* slash = errno == ENOENT ? strrchr(path + 1, '/') : NULL;
  if (slash == NULL) return false;
  *slash = '\0';
  bool done = make_with_parents(path);
  *slash = '/';
  return done && (mkdir(path, 0700) == 0 || errno == EEXIST);
}

cpl_status cpli_make_parents(cpl_context* ctx, char* path) {
  char* slash = strrchr(path + 1, '/');
  if (slash == NULL) return CPL_OK;
  *slash = '\0';
  cpl_status st =
      make_with_parents(path)
          ? CPL_OK
          : cpli_fail_file(ctx, CPL_ERR_IO, path, "cannot make this folder: %s", strerror(errno));
  *slash = '/';
  return st;
}
