// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the file of a study. The content depends on the facts and cases only.
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "format/file.h"
#include "format/source_loc.h"
#include "study/netcdf.h"
#include "study/netcdf_library.h"
#include "study/netcdf_process.h"

typedef struct writer {
  cpl_context* ctx;
  const char* path;
  const cpli_nc* nc;
  const cpli_study_facts* facts;
  int file;  // -1: not open
  int case_dim, time_dim;
  int case_var, time_var, failure_var;
  int* vars;            // of factors, measures and curves
  const char** names;   // of these in the file
  char* coordinates;    // names of the factors
  cpli_names taken;     // names of variables
  cpli_arena arena;     // names
  double* block;        // variable after variable, `step` cases each
  const char** failed;  // texts of the block,
  cpli_arena texts;     // and their memory
  long long* numbers;   // of the cases of the block
  int64_t step;
} writer;

static cpl_status failed(const writer* w, int status, const char* what) {
  if (status == 0) return CPL_OK;
  const int cause = errno;  // HDF5 does not pass the cause of a failed write on
  const bool space = cause == ENOSPC || cause == EFBIG || cause == EDQUOT;
  return cpli_fail_file(w->ctx, CPL_ERR_IO, w->path, "cannot be written (%s): %s%s%s", what,
                        w->nc->nc_strerror(status), space ? ": " : "",
                        space ? strerror(cause) : "");
}

//------------------------------------ names ------------------------------------

// A name that NetCDF allows: no '/', control characters or blanks at the end; letters, digits, '_'
// or characters beyond ASCII first.
static char* allowed_name(writer* w, const char* name, int again) {
  char text[CPLI_NC_MAX_NAME + 1];
  size_t used = 0;
  const unsigned char c = (unsigned char)name[0];
  const bool first = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
                     c == '_' || c >= 0x80;
  if (!first) text[used++] = '_';
  for (; *name != '\0' && used < CPLI_NC_MAX_NAME - 16; name++) {
    const unsigned char at = (unsigned char)*name;
    text[used++] = at == '/' ? '.' : (char)(at < ' ' || at == 0x7f ? '_' : at);
  }
  while (used > 0 && (text[used - 1] & 0xC0) == 0x80 && *name != '\0') used--;  // a cut character
  while (used > 0 && text[used - 1] == ' ') text[used - 1] = '_';
  text[used] = '\0';
  if (again > 1) snprintf(text + used, sizeof text - used, "_%d", again);
  return cpli_arena_strdup(&w->arena, text);
}

static cpl_status take_name(writer* w, const char* name, const char** out) {
  for (int again = 1;; again++) {
    char* text = allowed_name(w, name, again);
    if (text == NULL) return cpli_nomem(w->ctx);
    const int32_t next = (int32_t)w->taken.count;
    const int32_t owner = cpli_names_add(&w->taken, text, next);
    if (owner < 0) return cpli_nomem(w->ctx);
    *out = text;
    if (owner == next) return CPL_OK;
  }
}

//------------------------------------ definitions ------------------------------------

static cpl_status put_text(writer* w, int var, const char* name, const char* text) {
  if (text == NULL || text[0] == '\0') return CPL_OK;
  return failed(w, w->nc->nc_put_att_text(w->file, var, name, strlen(text), text), name);
}

static cpl_status define_var(writer* w, const char* name, int type, int n, const int* dims,
                             int* var) {
  return failed(w, w->nc->nc_def_var(w->file, name, type, n, dims, var), name);
}

static cpl_status define_columns(writer* w, const cpli_study_column* columns, size_t n,
                                 const char* role, size_t first) {
  const bool curve = strcmp(role, "curve") == 0, factor = strcmp(role, "factor") == 0;
  const int dims[] = {w->case_dim, w->time_dim};
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < n; i++) {
    int* var = &w->vars[first + i];
    st = take_name(w, columns[i].name, &w->names[first + i]);
    if (st >= 0) st = define_var(w, w->names[first + i], CPLI_NC_DOUBLE, curve ? 2 : 1, dims, var);
    if (st >= 0) st = put_text(w, *var, "long_name", columns[i].description);
    if (st >= 0) st = put_text(w, *var, "units", columns[i].unit);
    if (st >= 0 && !factor) st = put_text(w, *var, "coordinates", w->coordinates);
    if (st >= 0) st = put_text(w, *var, "couplet_name", columns[i].name);
    if (st >= 0) st = put_text(w, *var, "couplet_role", role);
  }
  return st;
}

// The names of the factors, for the attribute `coordinates`, in which blanks separate names.
static cpl_status list_coordinates(writer* w) {
  size_t size = 1, used = 0;
  for (size_t i = 0; i < w->facts->n_factors; i++) size += strlen(w->names[i]) + 1;
  w->coordinates = cpli_alloc(w->ctx, size, 1);
  if (w->coordinates == NULL) return cpli_nomem(w->ctx);
  for (size_t i = 0; i < w->facts->n_factors; i++) {
    if (strchr(w->names[i], ' ') != NULL) continue;
    used += (size_t)snprintf(w->coordinates + used, size - used, "%s%s", used > 0 ? " " : "",
                             w->names[i]);
  }
  return CPL_OK;
}

static cpl_status define_dimensions(writer* w) {
  const cpli_study_facts* f = w->facts;
  const char* name = NULL;
  cpl_status st =
      failed(w, w->nc->nc_def_dim(w->file, "case", (size_t)f->cases, &w->case_dim), "case");
  if (st >= 0) st = take_name(w, "case", &name);
  if (st >= 0) st = define_var(w, "case", CPLI_NC_INT64, 1, &w->case_dim, &w->case_var);
  if (st >= 0) st = put_text(w, w->case_var, "long_name", "number of the case, from 0");
  if (st < 0 || f->n_curves == 0 || f->n_times == 0) return st;
  st = failed(w, w->nc->nc_def_dim(w->file, "time", f->n_times, &w->time_dim), "time");
  if (st >= 0) st = take_name(w, "time", &name);
  if (st >= 0) st = define_var(w, "time", CPLI_NC_DOUBLE, 1, &w->time_dim, &w->time_var);
  if (st >= 0) st = put_text(w, w->time_var, "long_name", "simulated time");
  // no standard_name: readers would take it for a calendar time
  if (st >= 0) st = put_text(w, w->time_var, "units", "s");
  return st;
}

static cpl_status define_facts(writer* w) {
  const cpli_study_facts* f = w->facts;
  cpl_status st = put_text(w, CPLI_NC_GLOBAL, "Conventions", "CF-1.8");
  for (size_t i = 0; st >= 0 && i < f->n_facts; i++) {
    const cpl_study_fact* fact = &f->facts[i];
    st = fact->text != NULL ? put_text(w, CPLI_NC_GLOBAL, fact->name, fact->text)
                            : failed(w,
                                     w->nc->nc_put_att_double(w->file, CPLI_NC_GLOBAL, fact->name,
                                                              CPLI_NC_DOUBLE, 1, &fact->number),
                                     fact->name);
  }
  if (st < 0 || f->shape == NULL || f->n_factors == 0) return st;
  _Static_assert(sizeof(long long) == sizeof(int64_t), "the shape is an array of either");
  st = failed(
      w, w->nc->nc_put_att_string(w->file, CPLI_NC_GLOBAL, "grid_axes", f->n_factors, w->names),
      "grid_axes");
  if (st < 0) return st;
  return failed(w,
                w->nc->nc_put_att_longlong(w->file, CPLI_NC_GLOBAL, "grid_shape", CPLI_NC_INT64,
                                           f->n_factors, (const long long*)f->shape),
                "grid_shape");
}

static cpl_status define(writer* w) {
  const cpli_study_facts* f = w->facts;
  const char* name = NULL;
  int old;
  cpl_status st = define_dimensions(w);
  if (st >= 0) st = take_name(w, "failure", &name);
  if (st >= 0) st = define_columns(w, f->factors, f->n_factors, "factor", 0);
  if (st >= 0) st = list_coordinates(w);
  if (st >= 0) st = define_columns(w, f->measures, f->n_measures, "measure", f->n_factors);
  if (st >= 0)
    st = define_columns(w, f->curves, f->n_curves, "curve", f->n_factors + f->n_measures);
  if (st >= 0) st = define_var(w, name, CPLI_NC_STRING, 1, &w->case_dim, &w->failure_var);
  if (st >= 0)
    st = put_text(w, w->failure_var, "long_name", "why the case failed; empty: it did not");
  if (st >= 0) st = define_facts(w);
  if (st >= 0) st = failed(w, w->nc->nc_set_fill(w->file, CPLI_NC_NOFILL, &old), "fill mode");
  if (st >= 0) st = failed(w, w->nc->nc_enddef(w->file), "definitions");
  return st;
}

//------------------------------------ cases ------------------------------------

int64_t cpli_study_block(const cpli_study_facts* f) {
  const double bytes = 8 * ((double)f->n_factors + (double)f->n_measures +
                            (double)f->n_curves * (double)f->n_times) +
                       16;
  const double fits = floor(CPLI_STUDY_BLOCK / bytes);
  return fits < 1 ? 1 : fits < (double)f->cases ? (int64_t)fits : f->cases > 0 ? f->cases : 1;
}

// Case `at` of the block.
static cpl_status take_case(writer* w, int64_t at, const cpli_study_case* c) {
  const cpli_study_facts* f = w->facts;
  double* to = w->block;
  for (size_t i = 0; i < f->n_factors; i++, to += w->step) to[at] = c->factors[i];
  for (size_t i = 0; i < f->n_measures; i++, to += w->step) to[at] = c->measures[i];
  for (size_t i = 0; i < f->n_curves; i++, to += (size_t)w->step * f->n_times)
    memcpy(to + (size_t)at * f->n_times, c->curves + i * f->n_times, f->n_times * sizeof *to);
  const bool none = c->failure == NULL || c->failure[0] == '\0';
  w->failed[at] = none ? "" : cpli_arena_strdup(&w->texts, c->failure);
  return w->failed[at] != NULL ? CPL_OK : cpli_nomem(w->ctx);
}

static cpl_status write_block(writer* w, int64_t first, int64_t n) {
  const cpli_study_facts* f = w->facts;
  const size_t start[] = {(size_t)first, 0}, count[] = {(size_t)n, f->n_times};
  const size_t scalars = f->n_factors + f->n_measures, all = scalars + f->n_curves;
  const double* from = w->block;
  cpl_status st = CPL_OK;
  for (size_t i = 0; st >= 0 && i < all; i++) {
    st = failed(w, w->nc->nc_put_vara_double(w->file, w->vars[i], start, count, from), w->names[i]);
    from += (size_t)w->step * (i < scalars ? 1 : f->n_times);
  }
  for (int64_t i = 0; i < n; i++) w->numbers[i] = first + i;
  if (st >= 0)
    st = failed(w, w->nc->nc_put_vara_longlong(w->file, w->case_var, start, count, w->numbers),
                "case");
  if (st >= 0)
    st = failed(w, w->nc->nc_put_vara_string(w->file, w->failure_var, start, count, w->failed),
                "failure");
  cpli_arena_free(&w->texts);
  cpli_arena_init(&w->texts, w->ctx);
  return st;
}

static cpl_status write_cases(writer* w, cpli_study_case_fn* next, void* user) {
  const cpli_study_facts* f = w->facts;
  cpl_status st = CPL_OK;
  for (int64_t first = 0; st >= 0 && first < f->cases; first += w->step) {
    int64_t n = 0;
    for (; st >= 0 && n < w->step && first + n < f->cases; n++) {
      cpli_study_case c = {0};
      st = next(user, first + n, &c);
      if (st >= 0) st = take_case(w, n, &c);
    }
    if (st >= 0) st = write_block(w, first, n);
    if (st >= 0 && cpli_cancelled(w->ctx)) st = cpli_interrupted(w->ctx, w->path, (double)NAN);
  }
  return st;
}

//------------------------------------ file ------------------------------------

static cpl_status prepare(writer* w) {
  const cpli_study_facts* f = w->facts;
  const size_t n = f->n_factors + f->n_measures + f->n_curves;
  const size_t row = f->n_factors + f->n_measures + f->n_curves * f->n_times;
  w->step = cpli_study_block(f);
  w->vars = cpli_alloc(w->ctx, n, sizeof *w->vars);
  w->names = cpli_alloc(w->ctx, n, sizeof *w->names);
  w->block = cpli_alloc(w->ctx, (size_t)w->step, row * sizeof *w->block);
  w->failed = cpli_alloc(w->ctx, (size_t)w->step, sizeof *w->failed);
  w->numbers = cpli_alloc(w->ctx, (size_t)w->step, sizeof *w->numbers);
  if (w->vars == NULL || w->names == NULL || w->block == NULL || w->failed == NULL ||
      w->numbers == NULL)
    return cpli_nomem(w->ctx);
  return cpli_names_init(&w->taken, w->ctx, n + 3);
}

static void release(writer* w) {
  cpli_free(w->ctx, w->vars);
  cpli_free(w->ctx, w->names);
  cpli_free(w->ctx, w->coordinates);
  cpli_free(w->ctx, w->block);
  cpli_free(w->ctx, w->failed);
  cpli_free(w->ctx, w->numbers);
  cpli_names_free(&w->taken);
  cpli_arena_free(&w->texts);
  cpli_arena_free(&w->arena);
}

static cpl_status write_times(writer* w) {
  const cpli_study_facts* f = w->facts;
  if (f->n_curves == 0 || f->n_times == 0) return CPL_OK;
  const size_t start = 0, count = f->n_times;
  return failed(w, w->nc->nc_put_vara_double(w->file, w->time_var, &start, &count, f->times),
                "time");
}

// After a failure the file stays open: HDF5 may crash when it closes a file that it could not
// write.
static cpl_status write_file(writer* w, const char* path, cpli_study_case_fn* next, void* user) {
  errno = 0;
  cpl_status st = failed(w, w->nc->nc_create(path, CPLI_NC_NETCDF4, &w->file), "new file");
  if (st >= 0) st = define(w);
  if (st >= 0) st = write_times(w);
  if (st >= 0) st = write_cases(w, next, user);
  // what a full disk does not take is reported here
  if (st >= 0) st = failed(w, w->nc->nc_sync(w->file), "content");
  if (st >= 0) st = failed(w, w->nc->nc_close(w->file), "end of the file");
  return st;
}

//------------------------------------ process ------------------------------------

typedef struct job {
  writer* w;
  const char* path;
  cpli_study_case_fn* next;
  void* user;
} job;

static cpl_status write_in_process(cpli_nc_process* process, void* user) {
  const job* j = user;
  (void)process;
  return write_file(j->w, j->path, j->next, j->user);
}

static cpl_status write_target(writer* w, const cpli_new_file* file, cpli_study_case_fn* next,
                               void* user) {
  struct stat info;
  if (fstat(file->fd, &info) != 0 || !S_ISREG(info.st_mode))
    return cpli_fail_file(w->ctx, CPL_ERR_INPUT, w->path,
                          "is no regular file: a NetCDF file is not written from begin to end");
  // an absolute name: NetCDF takes names that look like addresses for those of servers
  char absolute[PATH_MAX];
  const char* name = file->temporary != NULL ? file->temporary : file->path;
  if (realpath(name, absolute) == NULL)
    return cpli_fail_file(w->ctx, CPL_ERR_IO, w->path, "cannot be written: %s", strerror(errno));
  job j = {w, absolute, next, user};
  return cpli_nc_run(w->ctx, &(cpli_nc_work){.path = w->path,
                                             .crash = "cannot be written (is the disk full?)",
                                             .run = write_in_process,
                                             .user = &j});
}

static cpl_status check_facts(cpl_context* ctx, const char* path, const cpli_study_facts* f) {
  if (f->cases < 1) return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "the study has no cases");
  if (f->n_curves > 0 && f->n_times == 0)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "the curves of the study have no times");
  return CPL_OK;
}

cpl_status cpli_netcdf_write(cpl_context* ctx, const char* path, const cpli_study_facts* facts,
                             cpli_study_case_fn* next, void* user) {
  writer w = {.ctx = ctx, .path = path, .facts = facts, .file = -1};
  cpli_new_file file = {.fd = -1};
  cpli_arena_init(&w.arena, ctx);
  cpli_arena_init(&w.texts, ctx);
  cpl_status st = check_facts(ctx, path, facts);
  if (st >= 0) st = cpli_nc_load(ctx, &w.nc);
  if (st >= 0) st = prepare(&w);
  if (st >= 0) st = cpli_new_file_open(ctx, path, CPLI_FILE_NAMED, &file);
  if (st >= 0) st = write_target(&w, &file, next, user);
  if (st >= 0) {
    st = cpli_new_file_commit(&file);
  } else {
    cpli_new_file_discard(&file);
  }
  release(&w);
  return st;
}
