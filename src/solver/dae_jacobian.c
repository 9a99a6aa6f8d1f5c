// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The Jacobian of f and g with respect to states and algebraic variables, and of f for states
// without variables: from the model's directional derivatives, else by finite differences. Columns
// without a common row are evaluated together (colouring) as far as the structure of the model is
// known.
#include <float.h>
#include <math.h>

#include "model/jumps.h"
#include "model/sparsity.h"
#include "solver/integrated.h"

struct cpli_dae_columns {
  cpli_pattern* pattern;
  int32_t *by_colour, *first;        // columns in the order of their colours
  double *x, *base, *values, *h;     // of all unknowns
  uint32_t *row_refs, *column_refs;  // Nullable, both: finite differences are used
  uint32_t* group;                   // references of the columns of one colour
  bool entries;                      // only the entries of the pattern are stored
  cpli_jumps* jumps;
  double t;  // the point, while jumps are searched for
  const double* at;
};

static size_t size_of(const cpli_integrate* s) { return s->n + s->na; }

static cpl_status evaluate(cpli_integrate* s, double t, const double* x, double* out) {
  cpl_status st = cpli_set_point(s, t, x);
  if (st == CPL_OK && s->n > 0) st = s->m->ops->get_derivatives(s->m, out);
  if (st == CPL_OK && s->na > 0) st = s->m->ops->dae->get_residuals(s->m, out + s->n);
  return st;
}

static void store(const cpli_integrate* s, int32_t colour, double* out) {
  const struct cpli_dae_columns* k = s->columns;
  const cpli_pattern* p = k->pattern;
  for (int32_t c = k->first[colour]; c < k->first[colour + 1]; c++) {
    int32_t column = k->by_colour[c];
    for (int32_t e = p->first[column]; e < p->first[column + 1]; e++) {
      size_t at = k->entries ? (size_t)e : (size_t)column * s->all + (size_t)p->row[e];
      out[at] = k->values[p->row[e]] / k->h[column];
    }
  }
}

static double increment(const cpli_integrate* s, size_t j, double at) {
  return sqrt(DBL_EPSILON) * fmax(fabs(at), s->nominal[j]);
}

static cpl_status by_differences(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_dae_columns* k = s->columns;
  cpl_status st = evaluate(s, t, x, k->base);
  memcpy(k->x, x, s->all * sizeof *x);
  for (int32_t colour = 0; colour < k->pattern->n_colours && st == CPL_OK; colour++) {
    for (int32_t c = k->first[colour]; c < k->first[colour + 1]; c++) {
      int32_t j = k->by_colour[c];
      k->x[j] = x[j] + increment(s, (size_t)j, x[j]);
      k->h[j] = k->x[j] - x[j];
    }
    st = evaluate(s, t, k->x, k->values);
    for (size_t i = 0; i < size_of(s); i++) k->values[i] -= k->base[i];
    store(s, colour, out);
    for (int32_t c = k->first[colour]; c < k->first[colour + 1]; c++)
      k->x[k->by_colour[c]] = x[k->by_colour[c]];
  }
  return st;
}

static cpl_status by_directions(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_dae_columns* k = s->columns;
  cpl_component* m = &s->m->base;
  cpl_status st = cpli_set_point(s, t, x);
  for (size_t i = 0; i < size_of(s); i++) k->h[i] = 1;
  for (int32_t colour = 0; colour < k->pattern->n_colours && st == CPL_OK; colour++) {
    size_t n = 0;
    for (int32_t c = k->first[colour]; c < k->first[colour + 1]; c++)
      k->group[n++] = k->column_refs[k->by_colour[c]];
    st = m->ops->directional(m, k->row_refs, size_of(s), k->group, n, k->h, k->values);
    store(s, colour, out);
  }
  return st;
}

static cpl_status moved_rows(void* user, const double* shift, double* values) {
  cpli_integrate* s = user;
  struct cpli_dae_columns* k = s->columns;
  for (size_t i = 0; i < size_of(s); i++) k->x[i] = k->at[i] + shift[i];
  return evaluate(s, k->t, k->x, values);
}

static cpl_status mend_jumps(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_dae_columns* k = s->columns;
  cpli_jump_probe probe = {.user = s,
                           .rows = moved_rows,
                           .h = k->h,
                           .base = k->base,
                           .out = out,
                           .entries = k->entries,
                           .height = s->all};
  if (!cpli_jumps_grown(k->jumps, &probe)) return CPL_OK;
  cpl_status st = CPL_OK;
  if (k->row_refs != NULL) st = evaluate(s, t, x, k->base);
  for (size_t i = 0; i < size_of(s); i++) k->h[i] = increment(s, i, x[i]);
  k->t = t;
  k->at = x;
  memcpy(k->x, x, s->all * sizeof *x);
  return st == CPL_OK ? cpli_jumps_mend(k->jumps, &probe) : st;
}

static cpl_status differentiate(cpli_integrate* s, double t, const double* x, bool entries,
                                size_t n, double* out) {
  double since = cpli_clock_if(s), sum = 0;
  s->columns->entries = entries;
  memset(out, 0, n * sizeof *out);
  cpl_status st =
      s->columns->row_refs != NULL ? by_directions(s, t, x, out) : by_differences(s, t, x, out);
  if (st == CPL_OK) st = mend_jumps(s, t, x, out);
  if (st == CPL_OK && s->nm > 0) st = cpli_multipliers_jacobian(s, t, x, out);
  cpli_account(s, since);
  for (size_t i = 0; i < n && st == CPL_OK; i++) sum += out[i] - out[i];
  if (sum == 0) return st;
  return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, t,
                     "the Jacobian is not finite at t=%.12g", t);
}

cpl_status cpli_dae_jacobian(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  return differentiate(s, t, x, false, s->all * s->all, out);
}

cpl_status cpli_dae_entries(void* user, double t, const double* x, double* out) {
  cpli_integrate* s = user;
  return differentiate(s, t, x, true, (size_t)s->columns->pattern->n_entries, out);
}

const cpli_pattern* cpli_dae_pattern(const cpli_integrate* s) {
  return s->columns != NULL && s->nm == 0 ? s->columns->pattern : NULL;
}

//------------------------------------ life ------------------------------------

// The variables of equations and unknowns. False: some are hidden.
static bool list_variables(const cpli_integrate* s, int32_t* rows, int32_t* columns) {
  const cpl_description* d = s->base.base.desc;
  bool all = (size_t)d->n_algebraics >= s->na;
  for (size_t i = 0; i < s->n && all; i++) {
    rows[i] = d->derivatives[i];
    columns[i] = d->states[i];
    all = rows[i] >= 0 && columns[i] >= 0;
  }
  for (size_t i = 0; i < s->na && all; i++) {
    rows[s->n + i] = d->residuals[i];
    columns[s->n + i] = d->algebraics[i];
    all = rows[s->n + i] >= 0 && columns[s->n + i] >= 0;
  }
  return all;
}

// A form with unknown structure or hidden variables has a full pattern, made from a description
// without dependencies.
static cpl_status find_pattern(cpli_integrate* s, const int32_t* rows, const int32_t* columns,
                               bool named) {
  static const cpl_structure nothing = {0};
  cpl_description d = *s->base.base.desc;
  cpl_variable* unnamed = NULL;
  int32_t n = (int32_t)size_of(s);
  if (s->na > 0 || !named)
    d.structure = named && d.residual_structure != NULL ? *d.residual_structure : nothing;
  if (!named) {
    unnamed = cpli_alloc(s->base.base.ctx, 2 * (size_t)n, sizeof *unnamed);
    if (unnamed == NULL) return cpli_nomem(s->base.base.ctx);
    for (int32_t i = 0; i < 2 * n; i++) unnamed[i].alias_of = -1;
    d.vars = unnamed;
    d.n_vars = 2 * n;
  }
  cpl_status st =
      cpli_pattern_of_model(s->base.base.ctx, &d, rows, n, columns, n, &s->columns->pattern);
  cpli_free(s->base.base.ctx, unnamed);
  return st;
}

static void sort_by_colour(struct cpli_dae_columns* k) {
  const cpli_pattern* p = k->pattern;
  int32_t n = 0;
  for (int32_t colour = 0; colour < p->n_colours; colour++) {
    for (int32_t c = 0; c < p->n_columns; c++) {
      if (p->colour[c] == colour) k->by_colour[n++] = c;
    }
    k->first[colour + 1] = n;
  }
}

static bool allocate(struct cpli_dae_columns* k, cpl_context* ctx, size_t n) {
  k->x = cpli_alloc(ctx, 4 * n, sizeof(double));
  k->by_colour = cpli_alloc(ctx, 2 * n + 2, sizeof *k->by_colour);
  k->group = cpli_alloc(ctx, 3 * n, sizeof *k->group);
  if (k->x == NULL || k->by_colour == NULL || k->group == NULL) return false;
  k->base = k->x + n;
  k->values = k->base + n;
  k->h = k->values + n;
  k->first = k->by_colour + n;
  return true;
}

static cpl_status make(cpli_integrate* s, int32_t* rows, int32_t* columns) {
  struct cpli_dae_columns* k = s->columns;
  const cpl_description* d = s->base.base.desc;
  size_t n = size_of(s);
  bool named = list_variables(s, rows, columns);
  for (size_t i = 0; i < n && !named; i++) rows[i] = (int32_t)i, columns[i] = (int32_t)(n + i);
  cpl_status st = find_pattern(s, rows, columns, named);
  if (st < 0) return st;
  sort_by_colour(k);
  st = cpli_jumps_make(s->base.base.ctx, k->pattern, &k->jumps);
  if (st < 0) return st;
  if (!named || s->m->base.ops->directional == NULL) return CPL_OK;
  k->row_refs = k->group + n;
  k->column_refs = k->row_refs + n;
  for (size_t i = 0; i < n; i++) {
    k->row_refs[i] = d->vars[rows[i]].ref;
    k->column_refs[i] = d->vars[columns[i]].ref;
  }
  return CPL_OK;
}

cpl_status cpli_dae_jacobian_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  s->columns = cpli_alloc(ctx, 1, sizeof *s->columns);
  int32_t* vars = cpli_alloc(ctx, 2 * s->all, sizeof *vars);
  bool room = s->columns != NULL && vars != NULL && allocate(s->columns, ctx, s->all);
  cpl_status st = room ? make(s, vars, vars + s->all) : cpli_nomem(ctx);
  cpli_free(ctx, vars);
  return st;
}

void cpli_dae_jacobian_forget(cpli_integrate* s) {
  if (s->columns != NULL) cpli_jumps_forget(s->columns->jumps);
}

void cpli_dae_jacobian_list(cpli_integrate* s, cpli_serial* serial) {
  size_t n = 0;
  cpli_serial_same(serial, s->columns != NULL);
  if (s->columns == NULL || serial->st < 0) return;
  double* memory = cpli_jumps_memory(s->columns->jumps, &n);
  cpli_serial_same(serial, n);
  cpli_serial_reals(serial, memory, n);
}

void cpli_dae_jacobian_destroy(cpli_integrate* s) {
  struct cpli_dae_columns* k = s->columns;
  if (k == NULL) return;
  cpli_jumps_destroy(k->jumps);
  if (k->pattern != NULL) cpli_pattern_destroy(k->pattern);
  cpli_free(s->base.base.ctx, k->x);
  cpli_free(s->base.base.ctx, k->by_colour);
  cpli_free(s->base.base.ctx, k->group);
  cpli_free(s->base.base.ctx, k);
}
