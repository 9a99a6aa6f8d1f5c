// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results that go on in the file of an interrupted run: a mark says how long it was, with hashes of
// its header and of its rows. What follows the mark is cut off; nothing is changed before all has
// been compared.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/file.h"
#include "format/source_loc.h"
#include "results/writer.h"

enum { CHUNK = 1 << 16 };

static_assert(sizeof(cpl_results_mark) == 9 * 8, "a mark has no padding: its bytes are stored");

//------------------------------------ marks ------------------------------------

static bool read_at(int fd, off_t at, char* bytes, size_t n) {
  for (size_t done = 0; done < n;) {
    const ssize_t got = pread(fd, bytes + done, n - done, at + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

static cpl_status cannot_be_read(const cpl_results* res, const char* path) {
  return cpli_fail_file(res->ctx, CPL_ERR_IO, path, "cannot be read: %s", strerror(errno));
}

cpl_status cpl_results_mark_now(cpl_results* res, cpl_results_mark* mark) {
  if (!res->regular || !res->own_fd || !res->marks)
    return cpli_fail_file(res->ctx, CPL_ERR_UNSUPPORTED, res->path,
                          "checkpoints need results in a file");
  cpl_status st = cpl_results_flush(res);
  if (st < 0) return st;
  char* header = cpli_alloc(res->ctx, (size_t)res->header, 1);
  if (header == NULL) return cpli_nomem(res->ctx);
  cpli_hash hash = cpli_hash_begin();
  const int fd = open(res->path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 || !read_at(fd, 0, header, (size_t)res->header) || fsync(res->fd) < 0)
    st = cannot_be_read(res, res->path);
  if (fd >= 0) close(fd);
  cpli_hash_add(&hash, header, (size_t)res->header);
  cpli_free(res->ctx, header);
  *mark = (cpl_results_mark){.size = res->file_size,
                             .header = res->header,
                             .rows = res->rows,
                             .first_time = res->first_time,
                             .last_time = res->last_time};
  memcpy(mark->header_hash, hash.part, sizeof hash.part);
  memcpy(mark->rows_hash, res->hash.part, sizeof hash.part);
  return st;
}

//------------------------------------ going on ------------------------------------

static cpl_status differs(const cpl_results* res, const char* path, const char* why) {
  return cpli_fail_file(res->ctx, CPL_ERR_INPUT, path, "the run cannot go on in this file: %s",
                        why);
}

static cpl_status compare_header(cpl_results* res, const cpl_results_mark* mark, const char* path,
                                 int fd) {
  cpli_hash hash = cpli_hash_begin();
  char* header = cpli_alloc(res->ctx, (size_t)mark->header, 1);
  if (header == NULL) return cpli_nomem(res->ctx);
  cpl_status st = read_at(fd, 0, header, (size_t)mark->header)
                      ? CPL_OK
                      : differs(res, path, "it is shorter than at the checkpoint");
  if (st >= 0 && res->ops->resumed != NULL) res->ops->resumed(res, mark, header);
  cpli_hash_add(&hash, header, (size_t)mark->header);
  cpli_free(res->ctx, header);
  if (st < 0 || memcmp(hash.part, mark->header_hash, sizeof hash.part) == 0) return st;
  return differs(res, path, "it is not that of the interrupted run");
}

static cpl_status compare_rows(cpl_results* res, const cpl_results_mark* mark, const char* path,
                               int fd) {
  char chunk[CHUNK];
  for (int64_t at = mark->header; at < mark->size;) {
    const size_t n = mark->size - at < CHUNK ? (size_t)(mark->size - at) : CHUNK;
    if (!read_at(fd, (off_t)at, chunk, n))
      return differs(res, path, "it is shorter than at the checkpoint");
    cpli_hash_add(&res->hash, chunk, n);
    at += (int64_t)n;
  }
  return memcmp(res->hash.part, mark->rows_hash, sizeof res->hash.part) == 0
             ? CPL_OK
             : differs(res, path, "it was changed, or is not that of the interrupted run");
}

static cpl_status copy(const cpl_results* res, const cpl_results_mark* mark, const char* path,
                       int fd) {
  char chunk[CHUNK];
  if (ftruncate(res->fd, 0) < 0)
    return cpli_fail_file(res->ctx, CPL_ERR_IO, res->path, "cannot be written: %s",
                          strerror(errno));
  for (int64_t at = 0; at < mark->size;) {
    const size_t n = mark->size - at < CHUNK ? (size_t)(mark->size - at) : CHUNK;
    if (!read_at(fd, (off_t)at, chunk, n)) return cannot_be_read(res, path);
    if (cpli_file_write(res->fd, chunk, n) < n)
      return cpli_fail_file(res->ctx, CPL_ERR_IO, res->path, "cannot be written: %s",
                            strerror(errno));
    at += (int64_t)n;
  }
  return CPL_OK;
}

static bool is_same_file(int a, int b) {
  struct stat one, other;
  return fstat(a, &one) == 0 && fstat(b, &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

cpl_status cpli_results_resume(cpl_results* res, const cpl_results_def* def) {
  const cpl_results_mark* mark = def->resume;
  const char* path = def->resume_path != NULL ? def->resume_path : res->path;
  if (!res->regular || !res->own_fd)
    return differs(res, path, "an interrupted run goes on in a file, not in a pipe");
  if (mark->header != res->header || mark->size < mark->header || mark->rows < 0)
    return differs(res, path, "its columns are not those of the interrupted run");
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return cpli_fail_file(res->ctx, CPL_ERR_INPUT, path,
                          "the results of the interrupted run cannot be read: %s", strerror(errno));
  cpl_status st = compare_header(res, mark, path, fd);
  if (st >= 0) st = compare_rows(res, mark, path, fd);
  const bool same = is_same_file(fd, res->fd);
  if (st >= 0 && !same) st = copy(res, mark, path, fd);
  close(fd);
  if (st >= 0 && ((same && ftruncate(res->fd, (off_t)mark->size) < 0) ||
                  lseek(res->fd, (off_t)mark->size, SEEK_SET) < 0))
    st = cpli_fail_file(res->ctx, CPL_ERR_IO, res->path, "cannot be written: %s", strerror(errno));
  if (st < 0) return st;
  res->used = res->whole = 0;  // the header is there
  res->pending = false;
  res->file_size = (off_t)mark->size;
  res->rows = mark->rows;
  res->first_time = mark->first_time, res->last_time = mark->last_time;
  res->kept = (cpl_results_kept){.rows = mark->rows, .last_time = mark->last_time};
  return res->ops->appended != NULL ? res->ops->appended(res) : CPL_OK;
}
