// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/file.h"
#include "results/writer.h"

static const cpli_writer_ops* const formats[] = {&cpli_csv_writer, &cpli_mat_writer};

static const double flush_interval = 0.5;  // [s]

// Good to some milliseconds, and read without a system call, so that every row may ask.
static double coarse_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static cpl_status io_failed(cpl_results* res) {
  const char* name = !res->own_fd && res->fd >= 0 ? "standard output" : res->path;
  res->failed = cpl_fail(res->ctx, CPL_ERR_IO, "%s: cannot be written: %s", name, strerror(errno));
  return res->failed;
}

//------------------------------------ opening ------------------------------------

cpl_results_def cpl_default_results_def(void) { return (cpl_results_def){.path = "-"}; }

static cpl_status find_format(cpl_context* ctx, const char* path, const cpli_writer_ops** out) {
  if (strcmp(path, "-") == 0) {
    *out = &cpli_csv_writer;
    return CPL_OK;
  }
  const size_t len = strlen(path);
  for (size_t i = 0; i < CPLI_COUNT(formats); i++) {
    const size_t n = strlen(formats[i]->ending);
    if (len >= n && strcasecmp(path + len - n, formats[i]->ending) == 0) {
      *out = formats[i];
      return CPL_OK;
    }
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: results are written to files that end in %s or %s", path,
                  formats[0]->ending, formats[1]->ending);
}

static cpl_status open_file(cpl_results* res, int standard_output) {
  if (strcmp(res->path, "-") == 0) {
    fflush(stdout);  // what was printed before stands before
    res->fd = standard_output > 0 ? standard_output : STDOUT_FILENO;
  } else {
    res->fd = open(res->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    res->own_fd = true;
  }
  struct stat info;
  if (res->fd < 0 || fstat(res->fd, &info) < 0) return io_failed(res);
  res->regular = S_ISREG(info.st_mode);
  if (res->regular) {
    const off_t at = lseek(res->fd, 0, SEEK_END);  // standard output may be a file with a beginning
    if (at < 0) return io_failed(res);
    res->file_size = at;
  } else if (res->ops->needs_seek && lseek(res->fd, 0, SEEK_CUR) < 0) {
    return io_failed(res);
  }
  return CPL_OK;
}

static void release(cpl_results* res) {
  cpl_context* ctx = res->ctx;
  res->ops->end(res);
  if (res->own_fd && res->fd >= 0) close(res->fd);
  cpli_free(ctx, res->buffer);
  cpli_free(ctx, res->types);
  cpli_free(ctx, res->without_sign);
  cpli_free(ctx, res->path);
  cpli_free(ctx, res);
}

static cpl_status prepare(cpl_results* res, const cpl_results_def* def, const cpl_column* columns,
                          size_t n) {
  res->path = cpli_strdup(res->ctx, def->path);
  res->types = cpli_alloc(res->ctx, n, sizeof *res->types);
  res->without_sign = cpli_alloc(res->ctx, n, sizeof *res->without_sign);
  res->cap = CPLI_RESULTS_BUFFER;
  res->buffer = cpli_realloc(res->ctx, NULL, res->cap, 1);
  bool ok = res->path != NULL && res->types != NULL && res->without_sign != NULL;
  if (!ok || res->buffer == NULL) return cpli_nomem(res->ctx);
  for (size_t i = 0; i < n; i++) {
    res->types[i] = columns[i].type;
    res->without_sign[i] = columns[i].without_sign;
  }
  res->n_columns = n;
  cpl_status st = open_file(res, def->standard_output);
  return st < 0 ? st : res->ops->begin(res, def, columns);
}

cpl_status cpl_results_open(cpl_context* ctx, const cpl_results_def* def, const cpl_column* columns,
                            size_t n, cpl_results** out) {
  *out = NULL;
  const cpli_writer_ops* ops = NULL;
  cpl_status st = find_format(ctx, def->path, &ops);
  if (st < 0) return st;
  cpl_results* res = cpli_alloc(ctx, 1, sizeof *res);
  if (res == NULL) return cpli_nomem(ctx);
  res->ctx = ctx;
  res->ops = ops;
  res->fd = -1;
  st = prepare(res, def, columns, n);
  if (st < 0) {
    release(res);
    return st;
  }
  *out = res;
  return CPL_OK;
}

//------------------------------------ writing ------------------------------------

// Cut the file back to its last whole row, best effort: the failure is already being reported.
static cpl_status write_failed(cpl_results* res) {
  const int cause = errno;
  if (res->regular) {
    if (ftruncate(res->fd, res->file_size) == 0) lseek(res->fd, res->file_size, SEEK_SET);
  }
  errno = cause;
  return io_failed(res);
}

cpl_status cpli_results_append(cpl_results* res, const void* bytes, size_t n) {
  if (cpli_file_write(res->fd, bytes, n) < n) return write_failed(res);
  res->file_size += (off_t)n;
  return CPL_OK;
}

cpl_status cpli_results_patch(cpl_results* res, off_t at, const void* bytes, size_t n) {
  ssize_t done;
  do {
    done = pwrite(res->fd, bytes, n, at);
  } while (done < 0 && errno == EINTR);
  return done == (ssize_t)n ? CPL_OK : io_failed(res);
}

// Whole rows in the buffer go to the file; the beginning of a row stays.
static cpl_status write_rows(cpl_results* res) {
  if (res->whole == 0) return CPL_OK;
  cpl_status st = cpli_results_append(res, res->buffer, res->whole);
  if (st < 0) return st;
  memmove(res->buffer, res->buffer + res->whole, res->used - res->whole);
  res->used -= res->whole;
  res->whole = 0;
  res->file_size += (off_t)res->split;  // of a row that is whole now
  res->split = 0;
  return res->ops->appended != NULL ? res->ops->appended(res) : CPL_OK;
}

char* cpli_results_room(cpl_results* res, size_t n) {
  if (res->used + n <= res->cap) return res->buffer + res->used;
  if (write_rows(res) < 0) return NULL;
  if (res->used + n > res->cap) {
    // one row fills the buffer: its bytes are not counted as whole before its end
    if (cpli_file_write(res->fd, res->buffer, res->used) < res->used) {
      write_failed(res);
      return NULL;
    }
    res->split += res->used;
    res->used = 0;
  }
  return res->buffer + res->used;
}

cpl_status cpl_results_flush(cpl_results* res) {
  if (res->failed < 0) return res->failed;
  res->flushed_at = coarse_now();
  return write_rows(res);
}

cpl_status cpl_results_record(cpl_results* res, double t, const cpl_value* values) {
  if (res->failed < 0) return res->failed;
  cpl_status st = res->ops->row(res, t, values);
  if (st < 0) return st;
  res->whole = res->used;
  // the first row at once, so that one sees that something happens
  if (res->rows++ > 0 && coarse_now() - res->flushed_at < flush_interval) return CPL_OK;
  return cpl_results_flush(res);
}

cpl_status cpl_results_close(cpl_results* res) {
  if (res == NULL) return CPL_OK;
  cpl_status st = cpl_results_flush(res);
  if (st >= 0 && res->own_fd) {
    // some file systems report a full disk only here
    const int fd = res->fd;
    res->fd = -1;
    if (close(fd) < 0 && errno != EINTR) st = io_failed(res);
  }
  release(res);
  return st;
}
