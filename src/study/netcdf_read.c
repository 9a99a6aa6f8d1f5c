// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the file of a study. Files come from elsewhere: types, dimensions and sizes are checked.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "couplet/design.h"
#include "format/source_loc.h"
#include "study/netcdf.h"
#include "study/netcdf_library.h"

typedef enum role { FACTOR, MEASURE, CURVE, N_ROLES } role;
static const char* const role_texts[] = {"factor", "measure", "curve"};
_Static_assert(CPLI_COUNT(role_texts) == N_ROLES, "each role has a text");

// The columns of a role, in the order of the file.
typedef struct columns {
  cpli_study_column* items;
  int* vars;
  size_t n, items_cap, vars_cap;
} columns;

struct cpli_netcdf {
  cpl_context* ctx;
  const cpli_nc* nc;
  char* path;
  int file;  // -1: not open
  int case_dim, time_dim, failure_var;
  cpli_study_facts facts;
  cpli_arena arena;  // all texts
  columns by_role[N_ROLES];
  double* times;
  int64_t* shape;
  cpl_study_fact* notes;
  size_t notes_cap;
  // a block of cases, as it is read: variable after variable
  int64_t first, n, step;  // n == 0: none yet
  double* block;
  char** failures;
  double* one;  // one case: factors, measures, curves
};

static cpl_status failed(const cpli_netcdf* f, int status, const char* what) {
  if (status == 0) return CPL_OK;
  return cpli_fail_file(f->ctx, CPL_ERR_INPUT, f->path, "%s: %s", what, f->nc->nc_strerror(status));
}

CPL_PRINTF(2, 3) static cpl_status bad(const cpli_netcdf* f, const char* fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return cpli_fail_file(f->ctx, CPL_ERR_INPUT, f->path, "is no file of a study: %s", text);
}

//------------------------------------ attributes ------------------------------------

enum { MAX_TEXT = 1 << 24 };

static bool has_text(const cpli_netcdf* f, int var, const char* name, int* type, size_t* n) {
  if (f->nc->nc_inq_att(f->file, var, name, type, n) != 0) return false;
  return (*type == CPLI_NC_CHAR && *n < MAX_TEXT) || (*type == CPLI_NC_STRING && *n == 1);
}

// *out stays NULL where there is no such attribute, or it is no text.
static cpl_status get_text(cpli_netcdf* f, int var, const char* name, const char** out) {
  int type = 0;
  size_t n = 0;
  *out = NULL;
  if (!has_text(f, var, name, &type, &n)) return CPL_OK;
  if (type == CPLI_NC_STRING) {
    char* text = NULL;
    cpl_status st = failed(f, f->nc->nc_get_att_string(f->file, var, name, &text), name);
    if (st < 0) return st;
    *out = cpli_arena_strdup(&f->arena, text != NULL ? text : "");
    f->nc->nc_free_string(1, &text);
    return *out != NULL ? CPL_OK : cpli_nomem(f->ctx);
  }
  char* text = cpli_arena_alloc(&f->arena, n + 1, 1);
  if (text == NULL) return cpli_nomem(f->ctx);
  *out = text;
  return failed(f, f->nc->nc_get_att_text(f->file, var, name, text), name);
}

// Global attributes, without those that the writer adds to every file.
static cpl_status read_fact(cpli_netcdf* f, const char* name) {
  static const char* const own[] = {"Conventions", "grid_axes", "grid_shape"};
  if (cpli_find_text(own, CPLI_COUNT(own), name) >= 0) return CPL_OK;
  cpl_study_fact fact = {.name = cpli_arena_strdup(&f->arena, name)};
  if (fact.name == NULL) return cpli_nomem(f->ctx);
  int type = 0;
  size_t n = 0;
  cpl_status st = get_text(f, CPLI_NC_GLOBAL, name, &fact.text);
  if (st < 0) return st;
  if (fact.text == NULL) {
    st = failed(f, f->nc->nc_inq_att(f->file, CPLI_NC_GLOBAL, name, &type, &n), name);
    if (st < 0 || type == CPLI_NC_CHAR || type == CPLI_NC_STRING || n != 1) return st;
    st = failed(f, f->nc->nc_get_att_double(f->file, CPLI_NC_GLOBAL, name, &fact.number), name);
    if (st < 0) return st;
  }
  if (!cpli_grow(f->ctx, (void**)&f->notes, &f->notes_cap, f->facts.n_facts, sizeof *f->notes))
    return cpli_nomem(f->ctx);
  f->notes[f->facts.n_facts++] = fact;
  return CPL_OK;
}

static cpl_status read_facts(cpli_netcdf* f) {
  int n = 0;
  cpl_status st = failed(f, f->nc->nc_inq_varnatts(f->file, CPLI_NC_GLOBAL, &n), "attributes");
  for (int i = 0; st >= 0 && i < n; i++) {
    char name[CPLI_NC_MAX_NAME + 1] = "";
    st = failed(f, f->nc->nc_inq_attname(f->file, CPLI_NC_GLOBAL, i, name), "attributes");
    if (st >= 0) st = read_fact(f, name);
  }
  return st;
}

//------------------------------------ variables ------------------------------------

static cpl_status read_dimensions(cpli_netcdf* f) {
  size_t n = 0;
  if (f->nc->nc_inq_dimid(f->file, "case", &f->case_dim) != 0)
    return bad(f, "there is no dimension \"case\"");
  cpl_status st = failed(f, f->nc->nc_inq_dimlen(f->file, f->case_dim, &n), "case");
  if (st < 0) return st;
  if (n < 1 || n > CPL_MAX_CASES) return bad(f, "it has %zu cases", n);
  f->facts.cases = (int64_t)n;
  if (f->nc->nc_inq_dimid(f->file, "time", &f->time_dim) != 0) return CPL_OK;
  st = failed(f, f->nc->nc_inq_dimlen(f->file, f->time_dim, &f->facts.n_times), "time");
  if (st >= 0 && f->facts.n_times > (size_t)1 << 40) st = bad(f, "the number of times");
  return st;
}

// Whether a variable has the dimensions (case), (time) or (case, time).
static bool has_dimensions(const cpli_netcdf* f, int var, bool by_case, bool by_time) {
  int n = 0, dims[CPLI_NC_MAX_DIMS];
  if (f->nc->nc_inq_varndims(f->file, var, &n) != 0 || n != by_case + by_time) return false;
  if (f->nc->nc_inq_vardimid(f->file, var, dims) != 0) return false;
  return (!by_case || dims[0] == f->case_dim) && (!by_time || dims[n - 1] == f->time_dim);
}

static cpl_status add_column(cpli_netcdf* f, role r, int var, const char* name) {
  columns* c = &f->by_role[r];
  if (!has_dimensions(f, var, true, r == CURVE))
    return bad(f, "%s does not have the dimensions of a %s", name, role_texts[r]);
  if (!cpli_grow(f->ctx, (void**)&c->items, &c->items_cap, c->n, sizeof *c->items) ||
      !cpli_grow(f->ctx, (void**)&c->vars, &c->vars_cap, c->n, sizeof *c->vars))
    return cpli_nomem(f->ctx);
  cpli_study_column column = {0};
  cpl_status st = get_text(f, var, "couplet_name", &column.name);
  if (st >= 0 && column.name == NULL) {
    column.name = cpli_arena_strdup(&f->arena, name);
    if (column.name == NULL) st = cpli_nomem(f->ctx);
  }
  if (st >= 0) st = get_text(f, var, "units", &column.unit);
  if (st >= 0) st = get_text(f, var, "long_name", &column.description);
  c->items[c->n] = column;
  c->vars[c->n++] = var;
  return st;
}

static cpl_status read_variables(cpli_netcdf* f) {
  int n = 0;
  cpl_status st = failed(f, f->nc->nc_inq_nvars(f->file, &n), "variables");
  for (int var = 0; st >= 0 && var < n; var++) {
    char name[CPLI_NC_MAX_NAME + 1] = "";
    const char* text = NULL;
    st = failed(f, f->nc->nc_inq_varname(f->file, var, name), "variables");
    if (st >= 0) st = get_text(f, var, "couplet_role", &text);
    const int32_t r = text != NULL ? cpli_find_text(role_texts, N_ROLES, text) : -1;
    if (st >= 0 && r >= 0) st = add_column(f, (role)r, var, name);
  }
  if (st < 0) return st;
  if (f->by_role[FACTOR].n + f->by_role[MEASURE].n + f->by_role[CURVE].n == 0)
    return bad(f, "no variable has an attribute couplet_role");
  int type = 0;
  if (f->nc->nc_inq_varid(f->file, "failure", &f->failure_var) != 0 ||
      f->nc->nc_inq_vartype(f->file, f->failure_var, &type) != 0 || type != CPLI_NC_STRING ||
      !has_dimensions(f, f->failure_var, true, false))
    return bad(f, "there is no text \"failure\" for each case");
  return CPL_OK;
}

static cpl_status read_times(cpli_netcdf* f) {
  const size_t start = 0;
  int var;
  if (f->by_role[CURVE].n == 0) {
    f->facts.n_times = 0;
    return CPL_OK;
  }
  if (f->nc->nc_inq_varid(f->file, "time", &var) != 0 || !has_dimensions(f, var, false, true))
    return bad(f, "there is no variable time(time)");
  f->times = cpli_alloc(f->ctx, f->facts.n_times, sizeof *f->times);
  if (f->times == NULL) return cpli_nomem(f->ctx);
  return failed(f, f->nc->nc_get_vara_double(f->file, var, &start, &f->facts.n_times, f->times),
                "time");
}

// The shape of a grid, which has all cases.
static cpl_status read_shape(cpli_netcdf* f) {
  int type = 0;
  size_t n = 0;
  if (f->nc->nc_inq_att(f->file, CPLI_NC_GLOBAL, "grid_shape", &type, &n) != 0) return CPL_OK;
  if (type != CPLI_NC_INT64 || n != f->by_role[FACTOR].n)
    return bad(f, "grid_shape does not have a number for each factor");
  f->shape = cpli_alloc(f->ctx, n, sizeof *f->shape);
  if (f->shape == NULL) return cpli_nomem(f->ctx);
  cpl_status st = failed(
      f, f->nc->nc_get_att_longlong(f->file, CPLI_NC_GLOBAL, "grid_shape", (long long*)f->shape),
      "grid_shape");
  double product = 1;
  for (size_t i = 0; i < n; i++) product *= (double)f->shape[i];
  if (st >= 0 && product != (double)f->facts.cases)
    st = bad(f, "grid_shape is not that of %lld cases", (long long)f->facts.cases);
  return st;
}

//------------------------------------ opening ------------------------------------

static cpl_status make_block(cpli_netcdf* f) {
  cpli_study_facts* facts = &f->facts;
  const size_t row = facts->n_factors + facts->n_measures + facts->n_curves * facts->n_times;
  if (facts->n_times > 0 && facts->n_curves > SIZE_MAX / 64 / facts->n_times)
    return cpli_nomem(f->ctx);
  f->step = cpli_study_block(facts);
  f->block = cpli_alloc(f->ctx, (size_t)f->step, row * sizeof *f->block);
  f->failures = cpli_alloc(f->ctx, (size_t)f->step, sizeof *f->failures);
  f->one = cpli_alloc(f->ctx, row, sizeof *f->one);
  return f->block != NULL && f->failures != NULL && f->one != NULL ? CPL_OK : cpli_nomem(f->ctx);
}

static cpl_status read_header(cpli_netcdf* f) {
  cpl_status st = read_dimensions(f);
  if (st >= 0) st = read_variables(f);
  if (st >= 0) st = read_times(f);
  if (st >= 0) st = read_shape(f);
  if (st >= 0) st = read_facts(f);
  if (st < 0) return st;
  f->facts.factors = f->by_role[FACTOR].items;
  f->facts.n_factors = f->by_role[FACTOR].n;
  f->facts.measures = f->by_role[MEASURE].items;
  f->facts.n_measures = f->by_role[MEASURE].n;
  f->facts.curves = f->by_role[CURVE].items;
  f->facts.n_curves = f->by_role[CURVE].n;
  f->facts.times = f->times;
  f->facts.shape = f->shape;
  f->facts.facts = f->notes;
  return make_block(f);
}

cpl_status cpli_netcdf_open(cpl_context* ctx, const char* path, cpli_netcdf** out) {
  *out = NULL;
  cpli_netcdf* f = cpli_alloc(ctx, 1, sizeof *f);
  if (f == NULL) return cpli_nomem(ctx);
  f->ctx = ctx;
  f->file = f->case_dim = f->time_dim = -1;
  cpli_arena_init(&f->arena, ctx);
  f->path = cpli_strdup(ctx, path);
  cpl_status st = f->path != NULL ? cpli_nc_load(ctx, &f->nc) : cpli_nomem(ctx);
  char absolute[PATH_MAX];  // NetCDF takes names that look like addresses for those of servers
  if (st >= 0 && realpath(path, absolute) == NULL)
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "%s", strerror(errno));
  if (st >= 0) {
    const int status = f->nc->nc_open(absolute, CPLI_NC_NOWRITE, &f->file);
    if (status != 0) f->file = -1;
    st = failed(f, status, "cannot be read as NetCDF");
  }
  if (st >= 0) st = read_header(f);
  if (st < 0) {
    cpli_netcdf_close(f);
  } else {
    *out = f;
  }
  return st;
}

static void release_failures(cpli_netcdf* f) {
  if (f->n > 0) f->nc->nc_free_string((size_t)f->n, f->failures);
  f->n = 0;
}

void cpli_netcdf_close(cpli_netcdf* f) {
  if (f == NULL) return;
  release_failures(f);
  if (f->file >= 0) f->nc->nc_close(f->file);
  for (int r = 0; r < N_ROLES; r++) {
    cpli_free(f->ctx, f->by_role[r].items);
    cpli_free(f->ctx, f->by_role[r].vars);
  }
  cpli_free(f->ctx, f->times);
  cpli_free(f->ctx, f->shape);
  cpli_free(f->ctx, f->notes);
  cpli_free(f->ctx, f->block);
  cpli_free(f->ctx, f->failures);
  cpli_free(f->ctx, f->one);
  cpli_free(f->ctx, f->path);
  cpli_arena_free(&f->arena);
  cpli_free(f->ctx, f);
}

const cpli_study_facts* cpli_netcdf_facts(const cpli_netcdf* f) { return &f->facts; }

//------------------------------------ cases ------------------------------------

static cpl_status read_block(cpli_netcdf* f, int64_t i) {
  release_failures(f);
  f->first = i / f->step * f->step;
  int64_t n = f->facts.cases - f->first;
  if (n > f->step) n = f->step;
  const size_t start[] = {(size_t)f->first, 0}, count[] = {(size_t)n, f->facts.n_times};
  double* to = f->block;
  for (int r = 0; r < N_ROLES; r++) {
    for (size_t c = 0; c < f->by_role[r].n; c++) {
      cpl_status st =
          failed(f, f->nc->nc_get_vara_double(f->file, f->by_role[r].vars[c], start, count, to),
                 f->by_role[r].items[c].name);
      if (st < 0) return st;
      to += (size_t)f->step * (r == CURVE ? f->facts.n_times : 1);
    }
  }
  cpl_status st = failed(
      f, f->nc->nc_get_vara_string(f->file, f->failure_var, start, count, f->failures), "failure");
  if (st >= 0) f->n = n;
  return st;
}

cpl_status cpli_netcdf_case(cpli_netcdf* f, int64_t i, cpli_study_case* out) {
  const cpli_study_facts* facts = &f->facts;
  if (i < 0 || i >= facts->cases)
    return cpli_fail_file(f->ctx, CPL_ERR_INPUT, f->path, "there is no case %lld", (long long)i);
  if (f->n == 0 || i < f->first || i >= f->first + f->n) {
    cpl_status st = read_block(f, i);
    if (st < 0) return st;
  }
  const size_t at = (size_t)(i - f->first), step = (size_t)f->step;
  const size_t scalars = facts->n_factors + facts->n_measures, n_times = facts->n_times;
  for (size_t k = 0; k < scalars; k++) f->one[k] = f->block[k * step + at];
  const double* curves = f->block + scalars * step;
  for (size_t k = 0; k < facts->n_curves; k++)
    memcpy(f->one + scalars + k * n_times, curves + (k * step + at) * n_times,
           n_times * sizeof *curves);
  *out = (cpli_study_case){f->one, f->one + facts->n_factors, f->one + scalars,
                           f->failures[at] != NULL ? f->failures[at] : ""};
  return CPL_OK;
}
