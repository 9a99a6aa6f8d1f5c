// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The file has one key and its value per line. It is complete before it gets its name, a reader
// waits for a copy that is still incomplete, and keys are erased from memory after use.
#include "tlm/joinfile.h"
#include "format/source_loc.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
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

static cpl_status is_there(cpl_context* ctx, const char* path) {
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "%s exists already: it may belong to another run (--force overwrites it)", path);
}

// Peers read the file as soon as it exists: it is complete before it gets its name.
cpl_status cpli_join_file_write(cpl_context* ctx, const char* path, const cpli_join_file* f,
                                bool overwrite, cpli_written* out) {
  char text[8192];
  struct stat info = {0};
  cpli_new_file file;
  const int flags = CPLI_FILE_SECRET | CPLI_FILE_SYNC | (overwrite ? 0 : CPLI_FILE_NEW);
  cpl_status st = cpli_new_file_open(ctx, path, flags, &file);
  if (st < 0) return errno == EEXIST ? is_there(ctx, path) : st;
  int n = snprintf(text, sizeof text,
                   "%saddress %s\nserver-key %s\npublic-key %s\nsecret-key %s\nsession "
                   "%016" PRIx64 "\nsub-model %s\nsystem %s\n",
                   first_line, f->address, f->server_key, f->keys.public_key, f->keys.secret_key,
                   f->session, f->part, f->system);
  bool fine = fstat(file.fd, &info) == 0 && n > 0 && (size_t)n < sizeof text &&
              cpli_file_write(file.fd, text, (size_t)n) == (size_t)n;
  explicit_bzero(text, sizeof text);
  if (!fine) {
    cpli_new_file_discard(&file);
    return cpl_fail(ctx, CPL_ERR_IO, "%s could not be written", path);
  }
  st = cpli_new_file_commit(&file);
  if (st < 0) return errno == EEXIST ? is_there(ctx, path) : st;
  *out = (cpli_written){.device = (uint64_t)info.st_dev, .number = (uint64_t)info.st_ino};
  snprintf(out->path, sizeof out->path, "%s", path);
  return CPL_OK;
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

// Whether the text is an incomplete join file: a network folder, or a copy in progress, may show it
// before it is complete.
static bool is_cut(const char* text, size_t size) {
  const size_t n = sizeof first_line - 1;
  char rest[4096];
  if (size < n) return strncmp(text, first_line, size) == 0;
  if (strncmp(text, first_line, n) != 0) return false;
  return text[size - 1] != '\n' || !take(text, "system", rest, sizeof rest);  // the last line
}

static cpl_status read_text(cpl_context* ctx, const char* path, char** text, size_t* size) {
  static const double patience = 5, pause = 0.02;  // [s]
  bool warned = false;
  for (const double since = cpli_now();;) {
    cpl_status st = cpli_file_read(ctx, path, 1 << 16, text, size);
    if (st < 0 || !is_cut(*text, *size)) return st;
    explicit_bzero(*text, *size);
    cpli_free(ctx, *text);
    *text = NULL;
    if (!warned)
      cpl_log(ctx, CPL_LOG_WARNING, path, "this join file is incomplete: waiting for the rest");
    warned = true;
    if (cpli_cancelled(ctx)) return cpli_interrupted(ctx, path, NAN);
    if (cpli_now() - since > patience)
      return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                            "this join file is still incomplete after %g s", patience);
    usleep((useconds_t)(1e6 * pause));
  }
}

cpl_status cpli_join_file_read(cpl_context* ctx, const char* path, cpli_join_file* f) {
  char* text = NULL;
  size_t size = 0;
  char session[32] = "", *end = session;
  *f = (cpli_join_file){0};
  cpl_status st = read_text(ctx, path, &text, &size);
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
              : cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                               "this is no join file of couplet tlm serve");
}
