// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "tlm/joinfile.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "couplet/tlm_net.h"
#include "format/file.h"

static const char first_line[] = "couplet join file 1: keep it secret\n";

bool cpl_tlm_join_file(const char* folder, const char* part, char* out, size_t size) {
  int n = snprintf(out, size, "%s/%s.join", folder, part);
  if (n < 0 || (size_t)n >= size) return false;
  for (char* c = out + strlen(folder) + 1; *c != '\0'; c++) {
    if (!isalnum((unsigned char)*c) && strchr("._-", *c) == NULL) *c = '_';
  }
  return true;
}

cpl_status cpli_join_file_write(cpl_context* ctx, const char* path, const cpli_join_file* f,
                                bool overwrite, cpli_written* out) {
  char text[8192];
  struct stat info = {0};
  if (overwrite && unlink(path) != 0 && errno != ENOENT)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s", path, strerror(errno));
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0 && errno == EEXIST)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s is there already: it may belong to another run (--force overwrites it)",
                    path);
  if (fd < 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s", path, strerror(errno));
  int n = snprintf(text, sizeof text,
                   "%saddress %s\nserver-key %s\npublic-key %s\nsecret-key %s\nsession "
                   "%016" PRIx64 "\nsub-model %s\nsystem %s\n",
                   first_line, f->address, f->server_key, f->keys.public_key, f->keys.secret_key,
                   f->session, f->part, f->system);
  bool fine =
      fstat(fd, &info) == 0 && n > 0 && (size_t)n < sizeof text && write(fd, text, (size_t)n) == n;
  *out = (cpli_written){.device = (uint64_t)info.st_dev, .number = (uint64_t)info.st_ino};
  snprintf(out->path, sizeof out->path, "%s", path);
  explicit_bzero(text, sizeof text);
  fine = close(fd) == 0 && fine;
  return fine ? CPL_OK : cpl_fail(ctx, CPL_ERR_IO, "%s could not be written", path);
}

void cpli_join_file_remove(const cpli_written* f) {
  struct stat info;
  if (f->path[0] != '\0' && lstat(f->path, &info) == 0 && (uint64_t)info.st_dev == f->device &&
      (uint64_t)info.st_ino == f->number)
    unlink(f->path);
}

// The rest of the line that begins with `key` and a blank.
static bool take(const char* text, const char* key, char* out, size_t size) {
  size_t n = strlen(key);
  for (const char* line = text; line != NULL;) {
    if (strncmp(line, key, n) == 0 && line[n] == ' ') {
      size_t len = strcspn(line + n + 1, "\r\n");
      if (len >= size) return false;
      memcpy(out, line + n + 1, len);
      out[len] = '\0';
      return true;
    }
    line = strchr(line, '\n');
    if (line != NULL) line++;
  }
  return false;
}

static bool is_key(const char* text) { return strlen(text) == CPLI_KEY_SIZE - 1; }

cpl_status cpli_join_file_read(cpl_context* ctx, const char* path, cpli_join_file* f) {
  char* text = NULL;
  size_t size = 0;
  char session[32] = "", *end = session;
  *f = (cpli_join_file){0};
  cpl_status st = cpli_file_read(ctx, path, 1 << 16, &text, &size);
  if (st < 0) return st;
  bool fine = strncmp(text, first_line, sizeof first_line - 1) == 0 &&
              take(text, "address", f->address, sizeof f->address) &&
              take(text, "server-key", f->server_key, sizeof f->server_key) &&
              take(text, "public-key", f->keys.public_key, sizeof f->keys.public_key) &&
              take(text, "secret-key", f->keys.secret_key, sizeof f->keys.secret_key) &&
              take(text, "session", session, sizeof session) &&
              take(text, "sub-model", f->part, sizeof f->part) &&
              take(text, "system", f->system, sizeof f->system);
  explicit_bzero(text, size);
  cpli_free(ctx, text);
  f->session = strtoull(session, &end, 16);
  fine = fine && strlen(session) == 16 && *end == '\0' && is_key(f->server_key) &&
         is_key(f->keys.public_key) && is_key(f->keys.secret_key);
  return fine ? CPL_OK
              : cpl_fail(ctx, CPL_ERR_INPUT, "%s: this is no join file of couplet tlm serve", path);
}
