// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Result files independent of their format: the format follows from the ending of the name, the
// file is locked against other runs, and whole rows are written from a buffer. The formats
// themselves are the writers of results/writer.h.
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <strings.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "format/file.h"
#include "format/source_loc.h"
#include "results/writer.h"

static const cpli_writer_ops* const formats[] = {&cpli_csv_writer, &cpli_mat_writer};

static const double flush_interval = 0.5;  // [s]

// Good to some milliseconds, and read without a system call, so that every row may ask.
static double coarse_now(void) {
  struct timespec ts;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

#ifdef NDEBUG
#define check_results(res) ((void)0)
#else
// results invariants: 1 whole rows are a part of the used buffer; 2 rows in the file were recorded;
// 3 nothing is in the file while that of an earlier run is kept.
static void check_results(const cpl_results* res) {
  assert(res->whole <= res->used && res->used <= res->cap);
  assert(res->file_size >= 0 && res->kept.rows <= res->rows);
  assert(!res->pending || res->kept.rows == 0);
  assert(res->failed <= 0);
}
#endif

static cpl_status io_failed(cpl_results* res) {
  const char* name = !res->own_fd && res->fd >= 0 ? "standard output" : res->path;
  res->failed = cpl_fail(res->ctx, CPL_ERR_IO, "%s: cannot be written: %s", name, strerror(errno));
  return res->failed;
}

//------------------------------------ opening ------------------------------------

void cpl_init_results_def(cpl_results_def* def, size_t size) {
  const cpl_results_def all = {.path = "-"};
  cpli_init_def(def, size, &all, sizeof all);
}

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
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                        "results are written to files that end in %s or %s", formats[0]->ending,
                        formats[1]->ending);
}

// A name that cannot be written to is a bad argument; a disk that is full is not.
static cpl_status cannot_be_made(const cpl_results* res) {
  return cpli_fail_file(res->ctx, CPL_ERR_INPUT, res->path, "cannot be written: %s",
                        strerror(errno));
}

// Two runs must not write into one file. Without locks of the file system that is not detected.
static cpl_status lock_file(cpl_results* res) {
  if (flock(res->fd, LOCK_EX | LOCK_NB) == 0) return CPL_OK;
  if (errno == EWOULDBLOCK)
    return cpli_fail_file(
        res->ctx, CPL_ERR_INPUT, res->path,
        "another run is writing its results there; -o gives this one another file");
  cpl_log(res->ctx, CPL_LOG_DEBUG, res->path, "cannot be locked: %s", strerror(errno));
  return CPL_OK;
}

// Opens the file without truncation: it is truncated when the first rows are written.
static cpl_status open_named(cpl_results* res, struct stat* info) {
  res->fd = open(res->path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (res->fd < 0 || fstat(res->fd, info) < 0) return cannot_be_made(res);
  if (!S_ISREG(info->st_mode)) return CPL_OK;
  cpl_status st = lock_file(res);
  if (st < 0) return st;
  return fstat(res->fd, info) == 0 ? CPL_OK : cannot_be_made(res);  // its size, now that it stays
}

static cpl_status open_file(cpl_results* res, int standard_output) {
  struct stat info;
  if (strcmp(res->path, "-") == 0) {
    fflush(stdout);  // what was printed before stands before
    res->fd = standard_output > 0 ? standard_output : STDOUT_FILENO;
    if (fstat(res->fd, &info) < 0) return io_failed(res);
  } else {
    res->own_fd = true;
    cpl_status st = open_named(res, &info);
    if (st < 0) return st;
  }
  res->regular = S_ISREG(info.st_mode);
  res->pending = res->regular && res->own_fd && info.st_size > 0;
  if (res->regular && !res->own_fd) {
    const off_t at = lseek(res->fd, 0, SEEK_END);  // standard output may be a file with a beginning
    if (at < 0) return io_failed(res);
    res->file_size = at;
  } else if (!res->regular && res->ops->needs_seek && lseek(res->fd, 0, SEEK_CUR) < 0) {
    return cannot_be_made(res);
  }
  return CPL_OK;
}

static void release(cpl_results* res) {
  cpl_context* ctx = res->ctx;
  res->ops->end(res);
  if (res->own_fd && res->fd >= 0) {
    flock(res->fd, LOCK_UN);  // processes that a model has started may have the file open, too
    close(res->fd);
  }
  cpli_free(ctx, res->buffer);
  cpli_free(ctx, res->types);
  cpli_free(ctx, res->is_unsigned);
  cpli_free(ctx, res->path);
  cpli_free(ctx, res);
}

static cpl_status prepare(cpl_results* res, const cpl_results_def* def, const cpl_column* columns,
                          size_t n) {
  res->path = cpli_strdup(res->ctx, def->path);
  res->types = cpli_alloc(res->ctx, n, sizeof *res->types);
  res->is_unsigned = cpli_alloc(res->ctx, n, sizeof *res->is_unsigned);
  res->cap = CPLI_RESULTS_BUFFER;
  res->buffer = cpli_realloc(res->ctx, NULL, res->cap, 1);
  bool ok = res->path != NULL && res->types != NULL && res->is_unsigned != NULL;
  if (!ok || res->buffer == NULL) return cpli_nomem(res->ctx);
  for (size_t i = 0; i < n; i++) {
    res->types[i] = columns[i].type;
    res->is_unsigned[i] = columns[i].is_unsigned;
  }
  res->n_columns = n;
  cpl_status st = open_file(res, def->standard_output);
  if (st >= 0) st = res->ops->begin(res, def, columns);
  if (st < 0) return st;
  res->whole = res->used;
  res->header = res->file_size + (off_t)res->used;
  res->marks = def->marks;
  res->hash = cpli_hash_begin();
  if (def->resume != NULL) return cpli_results_resume(res, def);
  return res->pending ? CPL_OK : cpl_results_flush(res);
}

cpl_status cpl_results_open(cpl_context* ctx, const cpl_results_def* given,
                            const cpl_column* columns, size_t n, cpl_results** out) {
  *out = NULL;
  const cpli_writer_ops* ops = NULL;
  cpl_results_def def = cpl_default_results_def();
  cpl_status st = cpli_read_def(ctx, "cpl_results_def", given, &def, sizeof def);
  if (st >= 0) st = find_format(ctx, def.path, &ops);
  if (st < 0) return st;
  cpl_results* res = cpli_alloc(ctx, 1, sizeof *res);
  if (res == NULL) return cpli_nomem(ctx);
  res->ctx = ctx;
  res->ops = ops;
  res->fd = -1;
  st = prepare(res, &def, columns, n);
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

// From here on the file is ours: what an earlier run left in it goes.
static cpl_status begin_file(cpl_results* res) {
  if (!res->pending) return CPL_OK;
  res->pending = false;
  return ftruncate(res->fd, 0) == 0 ? CPL_OK : io_failed(res);
}

cpl_status cpli_results_patch(cpl_results* res, off_t at, const void* bytes, size_t n) {
  if (at >= res->file_size) {
    assert((size_t)(at - res->file_size) + n <= res->used);
    memcpy(res->buffer + (at - res->file_size), bytes, n);
    return CPL_OK;
  }
  ssize_t done;
  do {
    done = pwrite(res->fd, bytes, n, at);
  } while (done < 0 && errno == EINTR);
  return done == (ssize_t)n ? CPL_OK : io_failed(res);
}

// Whole rows in the buffer are written to the file; the beginning of a row stays.
static cpl_status write_rows(cpl_results* res) {
  if (res->whole == 0) return CPL_OK;
  cpl_status st = begin_file(res);
  if (st < 0) return st;
  if (cpli_file_write(res->fd, res->buffer, res->whole) < res->whole) return write_failed(res);
  if (res->marks) {  // the header is changed later on
    const size_t before = res->file_size < res->header ? (size_t)(res->header - res->file_size) : 0;
    cpli_hash_add(&res->hash, res->buffer + before, res->whole - before);
  }
  res->file_size += (off_t)res->whole;
  memmove(res->buffer, res->buffer + res->whole, res->used - res->whole);
  res->used -= res->whole;
  res->whole = 0;
  res->kept = (cpl_results_kept){.rows = res->rows, .last_time = res->last_time};
  check_results(res);
  return res->ops->appended != NULL ? res->ops->appended(res) : CPL_OK;
}

static bool grow(cpl_results* res, size_t n) {
  const size_t cap = 2 * res->cap > res->used + n ? 2 * res->cap : res->used + n;
  char* moved = cpli_realloc(res->ctx, res->buffer, cap, 1);
  if (moved == NULL) res->failed = cpli_nomem(res->ctx);
  if (moved == NULL) return false;
  res->buffer = moved;
  res->cap = cap;
  return true;
}

char* cpli_results_room(cpl_results* res, size_t n) {
  if (res->used + n <= res->cap) return res->buffer + res->used;
  if (!res->pending && write_rows(res) < 0) return NULL;
  if (res->used + n > res->cap && !grow(res, n)) return NULL;
  return res->buffer + res->used;
}

bool cpli_results_put(cpl_results* res, const void* bytes, size_t n) {
  char* p = cpli_results_room(res, n);
  if (p == NULL) return false;
  memcpy(p, bytes, n);
  res->used += n;
  return true;
}

cpl_status cpl_results_flush(cpl_results* res) {
  if (res->failed < 0) return res->failed;
  res->flushed_at = coarse_now();
  return write_rows(res);
}

cpl_status cpl_results_record(cpl_results* res, double t, const cpl_value* values) {
  if (res->failed < 0) return res->failed;
  assert(res->used == res->whole);  // the row begins behind whole ones
  cpl_status st = res->ops->row(res, t, values);
  if (st < 0) return st;
  res->whole = res->used;
  res->last_time = t;
  if (res->rows++ == 0) res->first_time = t;
  check_results(res);
  if (res->pending && !(t > res->first_time)) return CPL_OK;
  // the first at once, so that one sees that something happens
  const bool first = res->pending || res->rows == 1;
  if (!first && coarse_now() - res->flushed_at < flush_interval) return CPL_OK;
  return cpl_results_flush(res);
}

cpl_status cpl_results_finish(cpl_results* res, bool failed, cpl_results_kept* kept) {
  if (kept != NULL) *kept = (cpl_results_kept){0};
  if (res == NULL) return CPL_OK;
  const bool nothing = failed && res->pending;
  cpl_status st = nothing ? CPL_OK : cpl_results_flush(res);
  if (st >= 0 && res->own_fd && !nothing) {
    // some file systems report a full disk only here
    const int fd = res->fd;
    res->fd = -1;
    flock(fd, LOCK_UN);
    if (close(fd) < 0 && errno != EINTR) st = io_failed(res);
  }
  if (kept != NULL) *kept = res->kept;
  release(res);
  return st;
}

cpl_status cpl_results_close(cpl_results* res) { return cpl_results_finish(res, false, NULL); }
