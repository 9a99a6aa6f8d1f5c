// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static cpl_status read_all(cpl_context* ctx, const char* path, int fd, size_t limit, char** text,
                           size_t* len) {
  struct stat info;
  if (fstat(fd, &info) < 0) return cpl_fail(ctx, CPL_ERR_IO, "%s: %s", path, strerror(errno));
  if (S_ISDIR(info.st_mode)) return cpl_fail(ctx, CPL_ERR_INPUT, "%s: is a folder", path);
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
      if (n < 0) return cpl_fail(ctx, CPL_ERR_IO, "%s: %s", path, strerror(errno));
      if (n == 0) {
        (*text)[*len] = '\0';
        return CPL_OK;
      }
      *len += (size_t)n;
    }
    if (*len > limit) {
      return cpl_fail(ctx, CPL_ERR_INPUT, "%s: is larger than %zu MB", path, limit >> 20);
    }
    cap *= 2;
  }
}

cpl_status cpli_file_read(cpl_context* ctx, const char* path, size_t limit, char** out,
                          size_t* len) {
  *out = NULL;
  *len = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s", path, strerror(errno));
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

cpl_status cpli_file_make(cpl_context* ctx, const char* path, const void* bytes, size_t len) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool ok = fd >= 0 && cpli_file_write(fd, bytes, len) == len;
  int cause = errno;
  if (fd >= 0 && close(fd) < 0 && ok) {
    ok = false;
    cause = errno;
  }
  if (ok) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_IO, "%s: cannot be written: %s", path, strerror(cause));
}
