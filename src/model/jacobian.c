// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Jacobians of models, by directional derivatives where a model has them and by differences
// otherwise, with one evaluation per colour of the columns (Curtis, Powell and Reid). Entries that
// the description declares constant are cached, and verified from time to time; entries that were
// differenced across a jump are corrected by jumps.c.
#include "model/jacobian.h"
#include "base/error.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "model/jumps.h"
#include "model/serial.h"

// How long an entry is valid.
typedef enum level { VARIES, UNTIL_EVENT, FOR_EVER } level;

static const level level_of[] = {[CPL_KIND_DEPENDENT] = VARIES,
                                 [CPL_KIND_CONSTANT] = FOR_EVER,
                                 [CPL_KIND_FIXED] = FOR_EVER,
                                 [CPL_KIND_TUNABLE] = UNTIL_EVENT,
                                 [CPL_KIND_DISCRETE] = UNTIL_EVENT};

static_assert(CPLI_COUNT(level_of) == CPL_KIND_DISCRETE + 1, "each kind of dependency has a level");

typedef struct request {
  double* out;
  bool entries;  // out has only the entries of the pattern
  level level;   // entries up to this one are evaluated
  bool check;    // the others are evaluated, too, and compared
} request;

// How a row of a model with directional derivatives is found. FMI allows only derivatives and
// outputs of the structure; a composed model gives those of the outputs of its components, too.
typedef enum method { ASKED, UNIT, BY_DIFFERENCES } method;

struct cpl_jacobian {
  cpl_model* m;
  cpl_context* ctx;
  cpli_pattern* pattern;
  cpli_jumps* jumps;  // Nullable: central differences
  bool central, directional;
  int32_t n_rows, n_columns, n_states;
  uint32_t* row_ref;
  int32_t* row_derivative;  // index of the derivative; -1: an output
  uint32_t* column_ref;
  int32_t* column_state;      // index of the state; -1: an input or an algebraic variable
  int32_t* column_algebraic;  // its index; -1: none
  int32_t n_algebraics;       // that are columns: all or none
  double* nominal;            // of the columns
  double *x, *dx, *base, *plus, *minus, *u, *h;
  double* z;
  uint32_t* group_ref;  // references of the columns of one colour
  uint32_t* out_ref;    // references of the outputs among the rows
  int32_t n_out;
  double *seed, *product, *got;
  method* row_method;
  uint32_t* asked_ref;  // of the requested rows
  int32_t n_asked, n_differences;
  bool any_derivative;
  int32_t *row_var, *column_var;
  int32_t *by_colour, *colour_first;  // columns in the order of their colours
  level* colour_level;                // the minimum of a colour's entries
  cpli_since since;                   // the point at which cached entries are valid
  int64_t kept_calls, next_check;     // evaluations that used the cache; the next to verify it
  int32_t wrong;                      // an entry that differs from its cached value
  bool distrusted;
};

void cpl_init_jacobian_def(cpl_jacobian_def* def, size_t size) {
  const cpl_jacobian_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static bool wanted(const cpl_jacobian* j, const request* q, int32_t colour) {
  return q->check || j->colour_level[colour] <= q->level;
}

//------------------------------------ differences ------------------------------------

static cpl_status evaluate_rows(cpl_jacobian* j, double* values) {
  cpl_status st = CPL_OK;
  if (j->any_derivative) st = j->m->ops->get_derivatives(j->m, j->dx);
  if (st == CPL_OK && j->n_out > 0) {
    st = j->m->base.ops->get_real(&j->m->base, j->out_ref, (size_t)j->n_out, j->got);
  }
  for (int32_t r = 0, k = 0; r < j->n_rows && st == CPL_OK; r++) {
    values[r] = j->row_derivative[r] >= 0 ? j->dx[j->row_derivative[r]] : j->got[k++];
  }
  return st;
}

// Moves all columns of a colour by `side` steps away from the base point; side 0 returns.
static cpl_status move(cpl_jacobian* j, int32_t colour, double side) {
  bool states = false, algebraics = false;
  int32_t n = 0;
  for (int32_t k = j->colour_first[colour]; k < j->colour_first[colour + 1]; k++) {
    int32_t c = j->by_colour[k];
    double value = side != 0 ? j->base[c] + side * j->h[c] : j->base[c];
    if (j->column_state[c] >= 0) {
      j->x[j->column_state[c]] = value;
      states = true;
    } else if (j->column_algebraic[c] >= 0) {
      j->z[j->column_algebraic[c]] = value;
      algebraics = true;
    } else {
      j->group_ref[n] = j->column_ref[c];
      j->u[n++] = value;
    }
  }
  cpl_status st = states ? j->m->ops->set_states(j->m, j->x) : CPL_OK;
  if (st == CPL_OK && algebraics) st = j->m->ops->dae->set_algebraics(j->m, j->z);
  if (st == CPL_OK && n > 0) {
    st = j->m->base.ops->set_real(&j->m->base, j->group_ref, (size_t)n, j->u);
  }
  return st;
}

static void choose_steps(cpl_jacobian* j) {
  double root = j->central ? cbrt(DBL_EPSILON) : sqrt(DBL_EPSILON);
  for (int32_t c = 0; c < j->n_columns; c++) {
    double size = fmax(fabs(j->base[c]), j->nominal[c]);
    volatile double there = j->base[c] + root * size;  // a step that is exact in floating point
    j->h[c] = there - j->base[c];
  }
}

static bool is_input(const cpl_jacobian* j, int32_t c) {
  return j->column_state[c] < 0 && j->column_algebraic[c] < 0;
}

static cpl_status base_values(cpl_jacobian* j, const double* x) {
  size_t n = 0;
  if (j->n_states > 0) memcpy(j->x, x, (size_t)j->n_states * sizeof *x);
  for (int32_t c = 0; c < j->n_columns; c++) {
    if (is_input(j, c)) j->group_ref[n++] = j->column_ref[c];
  }
  cpl_status st = n > 0 ? j->m->base.ops->get_real(&j->m->base, j->group_ref, n, j->u) : CPL_OK;
  if (st == CPL_OK && j->n_algebraics > 0) st = j->m->ops->dae->get_algebraics(j->m, j->z);
  for (int32_t c = 0, k = 0; c < j->n_columns; c++) {
    j->base[c] = is_input(j, c)            ? j->u[k++]
                 : j->column_state[c] >= 0 ? x[j->column_state[c]]
                                           : j->z[j->column_algebraic[c]];
  }
  return st;
}

// The cached and the new value of one entry. Noise of differences is no change.
static bool differs(const cpl_jacobian* j, int32_t c, int32_t r, double was, double is) {
  double noise = j->directional ? 0 : 64 * DBL_EPSILON * fabs(j->plus[r]) / fabs(j->h[c]);
  return !(fabs(was - is) <= 1e-4 * fmax(fabs(was), fabs(is)) + noise);
}

// Stores the requested entries of one column, and compares the others on a check.
static void store(cpl_jacobian* j, const request* q, int32_t c, const double* values) {
  const cpli_pattern* p = j->pattern;
  for (int32_t e = p->first[c]; e < p->first[c + 1]; e++) {
    int32_t r = p->row[e];
    double* to = q->out + (q->entries ? (size_t)e : (size_t)c * (size_t)j->n_rows + (size_t)r);
    bool kept = level_of[p->kind[e]] > q->level;
    if (kept && q->check && differs(j, c, r, *to, values[r])) j->wrong = e;
    if (!kept) *to = values[r];
  }
}

static cpl_status begin_differences(cpl_jacobian* j, const double* x) {
  cpl_status st = base_values(j, x);
  if (st != CPL_OK) return st;
  choose_steps(j);
  return j->central ? CPL_OK : evaluate_rows(j, j->minus);
}

// All rows on both sides of the base point; the model is then back at it.
static cpl_status difference(cpl_jacobian* j, int32_t colour) {
  cpl_status st = CPL_OK;
  if (j->central) {
    st = move(j, colour, -1);
    if (st == CPL_OK) st = evaluate_rows(j, j->minus);
  }
  if (st == CPL_OK) st = move(j, colour, 1);
  if (st == CPL_OK) st = evaluate_rows(j, j->plus);
  if (st < 0) return st;  // a model that failed is not called again, which would hide its error
  cpl_status back = move(j, colour, 0);
  return st == CPL_OK ? back : st;
}

static void divide(cpl_jacobian* j, int32_t c, bool all) {
  double width = j->central ? 2 * j->h[c] : j->h[c];
  for (int32_t e = j->pattern->first[c]; e < j->pattern->first[c + 1]; e++) {
    int32_t r = j->pattern->row[e];
    if (j->row_method[r] == UNIT) j->product[r] = 1;
    else if (all || j->row_method[r] == BY_DIFFERENCES)
      j->product[r] = (j->plus[r] - j->minus[r]) / width;
  }
}

static cpl_status by_differences(cpl_jacobian* j, const double* x, const request* q) {
  cpl_status st = begin_differences(j, x);
  for (int32_t colour = 0; colour < j->pattern->n_colours && st == CPL_OK; colour++) {
    if (!wanted(j, q, colour)) continue;
    st = difference(j, colour);
    for (int32_t k = j->colour_first[colour]; k < j->colour_first[colour + 1] && st == CPL_OK;
         k++) {
      divide(j, j->by_colour[k], true);
      store(j, q, j->by_colour[k], j->product);
    }
  }
  return st;
}

//------------------------------------ directional derivatives ------------------------------------

static cpl_status ask(cpl_jacobian* j, int32_t colour) {
  int32_t first = j->colour_first[colour], end = j->colour_first[colour + 1];
  for (int32_t k = first; k < end; k++) {
    j->group_ref[k - first] = j->column_ref[j->by_colour[k]];
    j->seed[k - first] = 1;
  }
  cpl_component* c = &j->m->base;
  cpl_status st = j->n_asked == 0
                      ? CPL_OK
                      : c->ops->directional(c, j->asked_ref, (size_t)j->n_asked, j->group_ref,
                                            (size_t)(end - first), j->seed, j->got);
  for (int32_t r = 0, k = 0; r < j->n_rows && st == CPL_OK; r++) {
    if (j->row_method[r] == ASKED) j->product[r] = j->got[k++];
  }
  return st;
}

static cpl_status by_directions(cpl_jacobian* j, const double* x, const request* q) {
  cpl_status st = j->n_differences > 0 ? begin_differences(j, x) : CPL_OK;
  for (int32_t colour = 0; colour < j->pattern->n_colours && st == CPL_OK; colour++) {
    if (!wanted(j, q, colour)) continue;
    if (j->n_differences > 0) st = difference(j, colour);
    if (st == CPL_OK) st = ask(j, colour);
    for (int32_t k = j->colour_first[colour]; k < j->colour_first[colour + 1] && st == CPL_OK;
         k++) {
      divide(j, j->by_colour[k], false);
      store(j, q, j->by_colour[k], j->product);
    }
  }
  return st;
}

//------------------------------------ all or some ------------------------------------

// Moves all columns by shift. NULL: back to the base point.
static cpl_status move_all(cpl_jacobian* j, const double* shift) {
  size_t n = 0;
  bool states = false;
  for (int32_t c = 0; c < j->n_columns; c++) {
    double value = shift != NULL ? j->base[c] + shift[c] : j->base[c];
    if (j->column_state[c] >= 0) {
      j->x[j->column_state[c]] = value;
      states = true;
    } else {
      j->group_ref[n] = j->column_ref[c];
      j->u[n++] = value;
    }
  }
  cpl_status st = states ? j->m->ops->set_states(j->m, j->x) : CPL_OK;
  if (st != CPL_OK || n == 0) return st;
  return j->m->base.ops->set_real(&j->m->base, j->group_ref, n, j->u);
}

static cpl_status moved_rows(void* user, const double* shift, double* values) {
  cpl_status st = move_all(user, shift);
  return st == CPL_OK ? evaluate_rows(user, values) : st;
}

// Directional derivatives may be differences, too, computed by the model itself.
static cpl_status mend_jumps(cpl_jacobian* j, const double* x, const request* q) {
  cpli_jump_probe probe = {.user = j,
                           .rows = moved_rows,
                           .h = j->h,
                           .base = j->minus,
                           .out = q->out,
                           .entries = q->entries,
                           .height = (size_t)j->n_rows};
  if (!cpli_jumps_grown(j->jumps, &probe)) return CPL_OK;
  cpl_status st = CPL_OK;
  if (j->directional) {
    st = base_values(j, x);
    choose_steps(j);
    if (st == CPL_OK) st = evaluate_rows(j, j->minus);
  }
  if (st == CPL_OK) st = cpli_jumps_mend(j->jumps, &probe);
  if (st < 0) return st;
  cpl_status back = move_all(j, NULL);
  return st == CPL_OK ? back : st;
}

static cpl_status evaluate_all(cpl_jacobian* j, const double* x, const request* q) {
  if (!j->directional) return by_differences(j, x, q);
  cpl_status st = by_directions(j, x, q);
  if (st >= 0 || st == CPL_ERR_CANCELLED) return st;
  // the function is optional: differences replace it, unless the model has crashed in it
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(j->ctx, &ignored);
  j->directional = false;
  cpl_status without = by_differences(j, x, q);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, j->ctx);
  if (without < 0) return st;
  cpl_log(j->ctx, CPL_LOG_WARNING, j->m->base.name,
          "differences replace its directional derivatives from now on: %s",
          cpl_context_error(j->ctx));
  return without;
}

static cpl_status evaluate(cpl_jacobian* j, const double* x, const request* q) {
  cpl_status st = evaluate_all(j, x, q);
  return st == CPL_OK && j->jumps != NULL ? mend_jumps(j, x, q) : st;
}

cpl_status cpl_jacobian_evaluate(cpl_jacobian* j, const double* x, double* out) {
  if (j->n_rows == 0 || j->n_columns == 0) return CPL_OK;
  memset(out, 0, (size_t)j->n_rows * (size_t)j->n_columns * sizeof *out);
  return evaluate(j, x, &(request){.out = out, .level = FOR_EVER});
}

cpl_status cpli_jacobian_entries(cpl_jacobian* j, const double* x, double* out) {
  return evaluate(j, x, &(request){.out = out, .entries = true, .level = FOR_EVER});
}

static bool any_wanted(const cpl_jacobian* j, const request* q) {
  for (int32_t colour = 0; colour < j->pattern->n_colours; colour++) {
    if (wanted(j, q, colour)) return true;
  }
  return false;
}

// Newton's method would only converge worse: the results are correct in any case.
static void distrust(cpl_jacobian* j) {
  const cpli_pattern* p = j->pattern;
  const cpl_description* d = j->m->base.desc;
  int32_t c = 0;
  while (p->first[c + 1] <= j->wrong) c++;
  cpl_log(j->ctx, CPL_LOG_WARNING, j->m->base.name,
          "the derivative of %s by %s changes, although the description says it is constant: the "
          "derivatives of this model are no longer cached",
          d->vars[j->row_var[p->row[j->wrong]]].name, d->vars[j->column_var[c]].name);
  j->distrusted = true;
}

cpl_status cpli_jacobian_refresh(cpl_jacobian* j, const double* x, cpli_since since, bool entries,
                                 double* out, bool* changed) {
  bool same_run = since.run != 0 && since.run == j->since.run && !j->distrusted;
  bool same_event = same_run && since.event != 0 && since.event == j->since.event;
  request q = {.out = out,
               .entries = entries,
               .level = same_event ? VARIES
                        : same_run ? UNTIL_EVENT
                                   : FOR_EVER};
  q.check = q.level != FOR_EVER && j->kept_calls + 1 == j->next_check;
  if (!any_wanted(j, &q)) {
    j->kept_calls++;
    return CPL_OK;
  }
  *changed = true;
  j->wrong = -1;
  cpl_status st = evaluate(j, x, &q);
  j->since = st == CPL_OK ? since : (cpli_since){0};
  if (st != CPL_OK || q.level == FOR_EVER) return st;
  j->kept_calls++;
  if (q.check) j->next_check *= 8;
  if (j->wrong < 0) return CPL_OK;
  distrust(j);
  return evaluate(j, x, &(request){.out = out, .entries = entries, .level = FOR_EVER});
}

const cpli_pattern* cpli_jacobian_pattern(const cpl_jacobian* j) { return j->pattern; }

int32_t cpl_jacobian_cost(const cpl_jacobian* j) {
  int32_t n = j->pattern->n_colours;
  return j->directional ? n : j->central ? 2 * n : n + 1;
}

//------------------------------------ create ------------------------------------

// What the variables of a model are: the index of a state, derivative or algebraic variable,
// whether one is a residual, and its row in the structure. -1, NULL: none.
typedef struct roles {
  int32_t *derivative_of, *state_of, *algebraic_of, *residual_of;
  const cpl_unknown** row_of;
} roles;

static cpl_status check_row(cpl_jacobian* j, const cpl_description* d, int32_t r, int32_t var,
                            const roles* of) {
  const cpl_variable* v = &d->vars[var];
  if (v->type != CPL_REAL) {
    return cpl_fail(j->ctx, CPL_ERR_INPUT, "%s is not Real: it has no derivatives", v->name);
  }
  j->row_ref[r] = v->ref;
  j->row_var[r] = var;
  j->row_derivative[r] = of->derivative_of[var];
  if (j->row_derivative[r] >= 0) j->any_derivative = true;
  else j->out_ref[j->n_out++] = v->ref;
  bool listed = of->row_of[cpli_root_variable(d, var)] != NULL || j->row_derivative[r] >= 0 ||
                of->residual_of[var] >= 0;
  j->row_method[r] = listed                   ? ASKED
                     : of->state_of[var] >= 0 ? UNIT
                     : v->inner_output        ? ASKED
                                              : BY_DIFFERENCES;
  if (j->row_method[r] == ASKED) j->asked_ref[j->n_asked++] = v->ref;
  j->n_differences += j->row_method[r] == BY_DIFFERENCES;
  return CPL_OK;
}

static cpl_status check_column(cpl_jacobian* j, const cpl_description* d, int32_t c, int32_t var,
                               const roles* of) {
  const cpl_variable* v = &d->vars[var];
  const int32_t *state_of = of->state_of, *algebraic_of = of->algebraic_of;
  bool known = state_of[var] >= 0 || algebraic_of[var] >= 0 || v->causality == CPL_CAUSALITY_INPUT;
  if (v->type != CPL_REAL || !known) {
    return cpl_fail(j->ctx, CPL_ERR_INPUT, "%s is neither a state nor a Real input", v->name);
  }
  j->column_ref[c] = v->ref;
  j->column_var[c] = var;
  j->column_state[c] = state_of[var];
  j->column_algebraic[c] = state_of[var] < 0 ? algebraic_of[var] : -1;
  j->n_algebraics += j->column_algebraic[c] >= 0;
  j->nominal[c] = v->nominal;
  return CPL_OK;
}

static void find_roles(const cpl_jacobian_def* def, const cpl_description* d, roles* of) {
  cpli_note_rows(d, d->structure.outputs, d->structure.n_outputs, of->row_of);
  cpli_note_rows(d, d->structure.derivatives, d->structure.n_derivatives, of->row_of);
  for (int32_t i = 0; i < 4 * d->n_vars; i++) of->derivative_of[i] = -1;
  of->state_of = of->derivative_of + d->n_vars;
  of->algebraic_of = of->state_of + d->n_vars;
  of->residual_of = of->algebraic_of + d->n_vars;
  for (int32_t k = 0; def->algebraics && k < d->n_algebraics; k++) {
    if (d->algebraics[k] >= 0) of->algebraic_of[d->algebraics[k]] = k;
    if (d->residuals[k] >= 0) of->residual_of[d->residuals[k]] = k;
  }
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] >= 0) of->state_of[d->states[k]] = k;
    if (d->derivatives[k] >= 0) of->derivative_of[d->derivatives[k]] = k;
  }
}

static cpl_status fill(cpl_jacobian* j, const cpl_jacobian_def* def) {
  const cpl_description* d = j->m->base.desc;
  roles of = {.derivative_of = cpli_alloc(j->ctx, 4 * (size_t)d->n_vars, sizeof(int32_t)),
              .row_of = cpli_alloc(j->ctx, (size_t)d->n_vars, sizeof *of.row_of)};
  bool there = of.derivative_of != NULL && of.row_of != NULL;
  cpl_status st = there ? CPL_OK : cpli_nomem(j->ctx);
  if (there) find_roles(def, d, &of);
  for (int32_t r = 0; r < def->n_rows && st >= 0; r++) st = check_row(j, d, r, def->rows[r], &of);
  for (int32_t c = 0; c < def->n_columns && st >= 0; c++)
    st = check_column(j, d, c, def->columns[c], &of);
  cpli_free(j->ctx, of.derivative_of);
  cpli_free(j->ctx, of.row_of);
  return st;
}

static bool allocate(cpl_jacobian* j) {
  size_t rows = (size_t)j->n_rows, columns = (size_t)j->n_columns, states = (size_t)j->n_states;
  j->row_ref = cpli_alloc(j->ctx, 3 * rows + 2 * columns, sizeof *j->row_ref);
  j->row_method = cpli_alloc(j->ctx, rows, sizeof *j->row_method);
  j->row_derivative = cpli_alloc(j->ctx, 2 * rows + 5 * columns + 1, sizeof *j->row_derivative);
  j->colour_level = cpli_alloc(j->ctx, columns, sizeof *j->colour_level);
  j->nominal = cpli_alloc(
      j->ctx, 5 * columns + 4 * rows + 2 * states + (size_t)j->m->base.desc->n_algebraics,
      sizeof *j->nominal);
  if (j->row_ref == NULL || j->row_derivative == NULL || j->nominal == NULL ||
      j->colour_level == NULL || j->row_method == NULL)
    return false;
  j->out_ref = j->row_ref + rows;
  j->column_ref = j->out_ref + rows;
  j->group_ref = j->column_ref + columns;
  j->asked_ref = j->group_ref + columns;
  j->column_state = j->row_derivative + rows;
  j->row_var = j->column_state + columns;
  j->column_var = j->row_var + rows;
  j->by_colour = j->column_var + columns;
  j->column_algebraic = j->by_colour + columns;
  j->colour_first = j->column_algebraic + columns;
  double* next = j->nominal + columns;
  double** of_columns[] = {&j->base, &j->u, &j->h, &j->seed};
  double** of_rows[] = {&j->plus, &j->minus, &j->product, &j->got};
  for (size_t i = 0; i < CPLI_COUNT(of_columns); i++, next += columns) *of_columns[i] = next;
  for (size_t i = 0; i < CPLI_COUNT(of_rows); i++, next += rows) *of_rows[i] = next;
  j->x = next;
  j->dx = next + states;
  j->z = j->dx + states;
  return true;
}

static void sort_by_colour(cpl_jacobian* j) {
  const cpli_pattern* p = j->pattern;
  for (int32_t k = 0; k < p->n_colours; k++) j->colour_level[k] = FOR_EVER;
  int32_t n = 0;
  for (int32_t c = 0; c < p->n_columns; c++) j->colour_first[p->colour[c] + 1]++;
  for (int32_t k = 0; k < p->n_colours; k++) {
    int32_t count = j->colour_first[k + 1];
    j->colour_first[k + 1] = n;  // position of the next column of colour k
    n += count;
  }
  for (int32_t c = 0; c < p->n_columns; c++) {
    int32_t colour = p->colour[c];
    j->by_colour[j->colour_first[colour + 1]++] = c;
    for (int32_t e = p->first[c]; e < p->first[c + 1]; e++) {
      level l = level_of[p->kind[e]];
      if (l < j->colour_level[colour]) j->colour_level[colour] = l;
    }
  }
}

cpl_status cpl_jacobian_create(cpl_model* m, const cpl_jacobian_def* given, cpl_jacobian** out) {
  static const cpl_structure nothing = {0};
  cpl_context* ctx = m->base.ctx;
  *out = NULL;
  cpl_jacobian_def def = cpl_default_jacobian_def();
  cpl_status st = cpli_read_def(ctx, "cpl_jacobian_def", given, &def, sizeof def);
  if (st < 0) return st;
  cpl_jacobian* j = cpli_alloc(ctx, 1, sizeof *j);
  if (j == NULL) return cpli_nomem(ctx);
  *j = (cpl_jacobian){.m = m,
                      .ctx = ctx,
                      .n_rows = def.n_rows,
                      .n_columns = def.n_columns,
                      .n_states = m->base.desc->n_states,
                      .central = def.central,
                      .next_check = 1,
                      .directional = m->base.ops->directional != NULL && !def.differences};
  st = allocate(j) ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = fill(j, &def);
  cpl_description d = *m->base.desc;  // with the valid structure
  if (def.algebraics) d.structure = d.residual_structure != NULL ? *d.residual_structure : nothing;
  if (st >= 0)
    st = cpli_pattern_of_model(ctx, &d, def.rows, def.n_rows, def.columns, def.n_columns,
                               &j->pattern);
  if (st >= 0) sort_by_colour(j);
  if (st >= 0 && !j->central) st = cpli_jumps_make(ctx, j->pattern, &j->jumps);
  if (st < 0) cpl_jacobian_destroy(j);
  else *out = j;
  return st;
}

void cpli_jacobian_forget(cpl_jacobian* j) {
  if (j == NULL) return;
  cpli_jumps_forget(j->jumps);
  j->since = (cpli_since){0};
  j->kept_calls = 0;
  j->next_check = 1;
}

void cpli_serial_jacobian(cpli_serial* s, cpl_jacobian* j) {
  cpli_serial_same(s, j != NULL);
  if (j == NULL || s->st < 0) return;
  cpli_serial_long(s, &j->since.run);
  cpli_serial_long(s, &j->since.event);
  cpli_serial_count64(s, &j->kept_calls);
  cpli_serial_count64(s, &j->next_check);
  cpli_serial_bool(s, &j->distrusted);
  cpli_serial_bool(s, &j->directional);
  if (j->directional && j->m->base.ops->directional == NULL)
    cpli_serial_refuse(s, "the model has no directional derivatives");
  size_t n = 0;
  double* seen = cpli_jumps_memory(j->jumps, &n);
  cpli_serial_same(s, n);
  cpli_serial_reals(s, seen, n);
}

void cpl_jacobian_destroy(cpl_jacobian* j) {
  if (j == NULL) return;
  cpli_jumps_destroy(j->jumps);
  cpli_pattern_destroy(j->pattern);
  cpli_free(j->ctx, j->row_ref);
  cpli_free(j->ctx, j->row_method);
  cpli_free(j->ctx, j->row_derivative);
  cpli_free(j->ctx, j->nominal);
  cpli_free(j->ctx, j->colour_level);
  cpli_free(j->ctx, j);
}

//------------------------------------ whole blocks ------------------------------------

int32_t cpl_list_variables(const cpl_description* d, cpl_variable_list which, int32_t* out,
                           int32_t n) {
  int32_t found = 0;
  if (which == CPL_VARIABLES_STATES || which == CPL_VARIABLES_DERIVATIVES) {
    const int32_t* list = which == CPL_VARIABLES_STATES ? d->states : d->derivatives;
    for (int32_t k = 0; k < d->n_states; k++, found++) {
      if (found < n) out[found] = list[k];
    }
    return found;
  }
  cpl_causality wanted = which == CPL_VARIABLES_INPUTS ? CPL_CAUSALITY_INPUT : CPL_CAUSALITY_OUTPUT;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->causality != wanted || v->type != CPL_REAL ||
        v->variability != CPL_VARIABILITY_CONTINUOUS)
      continue;
    if (found < n) out[found] = i;
    found++;
  }
  return found;
}

cpl_status cpl_state_space(cpl_model* m, cpl_state_space_block block, cpl_jacobian** out) {
  const cpl_description* d = m->base.desc;
  *out = NULL;
  if ((int)block < CPL_STATE_SPACE_A || block > CPL_STATE_SPACE_D)
    return cpl_fail(m->base.ctx, CPL_ERR_INPUT, "there is no block %d of a linearisation",
                    (int)block);
  const cpl_variable_list rows =
      block <= CPL_STATE_SPACE_B ? CPL_VARIABLES_DERIVATIVES : CPL_VARIABLES_OUTPUTS;
  const cpl_variable_list columns = block == CPL_STATE_SPACE_A || block == CPL_STATE_SPACE_C
                                        ? CPL_VARIABLES_STATES
                                        : CPL_VARIABLES_INPUTS;
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.central = true;
  def.n_rows = cpl_list_variables(d, rows, NULL, 0);
  def.n_columns = cpl_list_variables(d, columns, NULL, 0);
  int32_t* list = cpli_alloc(m->base.ctx, (size_t)def.n_rows + (size_t)def.n_columns, sizeof *list);
  if (list == NULL) return cpli_nomem(m->base.ctx);
  cpl_list_variables(d, rows, list, def.n_rows);
  cpl_list_variables(d, columns, list + def.n_rows, def.n_columns);
  def.rows = list;
  def.columns = list + def.n_rows;
  cpl_status st = cpl_jacobian_create(m, &def, out);
  cpli_free(m->base.ctx, list);
  return st;
}
