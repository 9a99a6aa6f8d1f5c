// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A new file is written without a name in the same folder, or where the file system has no such
// files, under a temporary one, and gets its name when it is complete; where the folder does not
// permit that, an existing file is overwritten in place.
#include "format/file.h"
#include "format/source_loc.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

//------------------------------------ whole files ------------------------------------

static cpl_status read_all(cpl_context* ctx, const char* path, int fd, size_t limit, char** text,
                           size_t* len) {
  struct stat info;
  if (fstat(fd, &info) < 0) return cpli_fail_file(ctx, CPL_ERR_IO, path, "%s", strerror(errno));
  if (S_ISDIR(info.st_mode)) return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is a folder");
  if (S_ISREG(info.st_mode) && (uintmax_t)info.st_size > limit)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is larger than %zu MB", limit >> 20);
  // one byte more than the file has, so that its end is seen without growing
  size_t cap = S_ISREG(info.st_mode) && info.st_size > 0 ? (size_t)info.st_size + 1 : 65536;
  for (;;) {
    if (cap > limit + 1) cap = limit + 1;
    char* moved = cpli_realloc(ctx, *text, cap + 1, 1);
    if (moved == NULL) return cpli_nomem(ctx);
    *text = moved;
    while (*len < cap) {
      ssize_t n = read(fd, *text + *len, cap - *len);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return cpli_fail_file(ctx, CPL_ERR_IO, path, "%s", strerror(errno));
      if (n == 0) {
        (*text)[*len] = '\0';
        return CPL_OK;
      }
      *len += (size_t)n;
    }
    if (*len > limit) {
      return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is larger than %zu MB", limit >> 20);
    }
    cap *= 2;
  }
}

bool cpli_ends_with(const char* name, const char* ending) {
  size_t n = strlen(name), m = strlen(ending);
  return n > m && strcmp(name + n - m, ending) == 0;
}

cpl_status cpli_file_read(cpl_context* ctx, const char* path, size_t limit, char** out,
                          size_t* len) {
  *out = NULL;
  *len = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "%s", strerror(errno));
  cpl_status st = read_all(ctx, path, fd, limit, out, len);
  close(fd);
  if (st < 0) {
    cpli_free(ctx, *out);
    *out = NULL;
  }
  return st;
}

size_t cpli_file_write(int fd, const void* bytes, size_t len) {
  const char* p = bytes;
  size_t done = 0;
  while (done < len) {
    ssize_t n = write(fd, p + done, len - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    done += (size_t)n;
  }
  return done;
}

//------------------------------------ files in the making ------------------------------------

static uint64_t random_bits(void) {
  static uint64_t count;
  uint64_t bits = 0;
  if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) == sizeof bits) return bits;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  bits = (uint64_t)now.tv_nsec ^ (uint64_t)now.tv_sec << 30 ^ (uint64_t)getpid() << 48;
  return bits + __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

// What a process that is killed leaves behind is removed by the system: the file has no name yet.
static bool open_nameless(cpli_new_file* f, int folder_len, mode_t mode) {
  char* folder =
      cpli_printf(f->ctx, "%.*s", folder_len > 0 ? folder_len : 1, folder_len > 0 ? f->path : ".");
  if (folder == NULL) return false;
  f->fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, mode);
  cpli_free(f->ctx, folder);
  if (f->fd < 0) return false;
  snprintf(f->nameless, sizeof f->nameless, "/proc/self/fd/%d", f->fd);
  if (access(f->nameless, F_OK) == 0) return true;
  f->nameless[0] = '\0';  // without /proc it would never get a name
  close(f->fd);
  return false;
}

// Short, so that the temporary name is never too long where the final one is not.
static cpl_status make_temporary(cpli_new_file* f) {
  const char* slash = strrchr(f->path, '/');
  const int folder = slash != NULL ? (int)(slash - f->path) + 1 : 0;
  const mode_t mode = f->flags & CPLI_FILE_SECRET ? 0600 : 0666;
  for (int attempt = 0; attempt < 100; attempt++) {
    f->temporary = cpli_printf(f->ctx, "%.*s.couplet-%016llx.tmp", folder, f->path,
                               (unsigned long long)random_bits());
    if (f->temporary == NULL) return cpli_nomem(f->ctx);
    if ((f->flags & CPLI_FILE_NAMED) == 0 && open_nameless(f, folder, mode)) return CPL_OK;
    f->fd = open(f->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
    if (f->fd >= 0) return CPL_OK;
    const int cause = errno;
    cpli_free(f->ctx, f->temporary);
    f->temporary = NULL;
    errno = cause;
    if (errno != EEXIST) break;
  }
  return CPL_ERR_INPUT;
}

static void free_names(cpli_new_file* f) {
  const int kept = errno;
  cpli_free(f->ctx, f->path);
  cpli_free(f->ctx, f->temporary);
  f->path = f->temporary = NULL;
  errno = kept;
}

// The file that is written to, where a name is a link to it.
static char* target_of(cpl_context* ctx, const char* path) {
  char whole[PATH_MAX];
  struct stat info;
  const bool link = lstat(path, &info) == 0 && S_ISLNK(info.st_mode);
  return cpli_strdup(ctx, link && realpath(path, whole) != NULL ? whole : path);
}

static cpl_status begin(cpli_new_file* f) {
  struct stat old;
  const bool plain = (f->flags & CPLI_FILE_SECRET) == 0;
  const bool there = (plain ? stat(f->path, &old) : lstat(f->path, &old)) == 0;
  if (there && (f->flags & CPLI_FILE_NEW) != 0) {
    errno = EEXIST;
    return CPL_ERR_INPUT;
  }
  if (there && plain && !S_ISREG(old.st_mode)) {
    f->fd = open(f->path, O_WRONLY | O_CLOEXEC);
    return f->fd >= 0 ? CPL_OK : CPL_ERR_INPUT;
  }
  if (there && plain && access(f->path, W_OK) != 0) return CPL_ERR_INPUT;
  cpl_status st = make_temporary(f);
  if (st == CPL_ERR_INPUT && there && plain && (errno == EACCES || errno == EPERM)) {
    f->fd = open(f->path, O_WRONLY | O_TRUNC | O_CLOEXEC);
    return f->fd >= 0 ? CPL_OK : CPL_ERR_INPUT;
  }
  // best effort: what others may do with the file stays
  if (st >= 0 && there && plain && fchmod(f->fd, old.st_mode & 0777) != 0) errno = 0;
  return st;
}

cpl_status cpli_new_file_open(cpl_context* ctx, const char* path, int flags, cpli_new_file* out) {
  *out = (cpli_new_file){.ctx = ctx, .fd = -1, .flags = flags};
  out->path = flags & CPLI_FILE_SECRET ? cpli_strdup(ctx, path) : target_of(ctx, path);
  if (out->path == NULL) return cpli_nomem(ctx);
  cpl_status st = begin(out);
  if (st >= 0) return CPL_OK;
  free_names(out);
  if (st == CPL_ERR_NOMEM) return st;
  const int cause = errno;
  cpli_fail_file(ctx, CPL_ERR_INPUT, path, "cannot be written: %s", strerror(cause));
  errno = cause;
  return CPL_ERR_INPUT;
}

// Gives a file its name unless there is one of that name.
static bool rename_new(const char* from, const char* to) {
  if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (link(from, to) != 0) return false;  // a file system that cannot do the former
  unlink(from);
  return true;
}

cpl_status cpli_new_file_commit(cpli_new_file* f) {
  bool fine = (f->flags & CPLI_FILE_SYNC) == 0 || fsync(f->fd) == 0;
  if (fine && f->nameless[0] != '\0')
    fine = linkat(AT_FDCWD, f->nameless, AT_FDCWD, f->temporary, AT_SYMLINK_FOLLOW) == 0;
  int cause = fine ? 0 : errno;
  // some file systems report a full disk only here
  if (close(f->fd) != 0 && errno != EINTR && fine) {
    fine = false;
    cause = errno;
  }
  f->fd = -1;
  if (fine && f->temporary != NULL) {
    fine = f->flags & CPLI_FILE_NEW ? rename_new(f->temporary, f->path)
                                    : rename(f->temporary, f->path) == 0;
    cause = errno;
  }
  if (!fine && f->temporary != NULL) unlink(f->temporary);
  cpl_status st =
      fine ? CPL_OK
           : cpli_fail_file(f->ctx, CPL_ERR_IO, f->path, "cannot be written: %s", strerror(cause));
  free_names(f);
  errno = cause;
  return st;
}

void cpli_new_file_discard(cpli_new_file* f) {
  if (f->fd < 0) return;
  close(f->fd);
  f->fd = -1;
  if (f->temporary != NULL) unlink(f->temporary);
  free_names(f);
}

cpl_status cpli_file_make(cpl_context* ctx, const char* path, const void* bytes, size_t len) {
  cpli_new_file f;
  cpl_status st = cpli_new_file_open(ctx, path, 0, &f);
  if (st < 0) return st;
  if (cpli_file_write(f.fd, bytes, len) == len) return cpli_new_file_commit(&f);
  st = cpli_fail_file(ctx, CPL_ERR_IO, path, "cannot be written: %s", strerror(errno));
  cpli_new_file_discard(&f);
  return st;
}
