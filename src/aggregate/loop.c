// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An algebraic loop: a few torn values s are guessed, all other values in the block follow from
// them, and the evaluation ends with f(s), the values that the couplings give for s. Newton's
// method on f(s) - s, with exact derivatives where components and couplings provide them; the
// factorisation is reused as long as it converges well. A loop is solved when the next step is
// 1e-11 of each value's own magnitude, or when f(s) - s is the rounding error of the values it is
// computed from.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "model/jacobian.h"
#include "numeric/dense.h"
#include "numeric/roots.h"

enum { MAX_ITERATIONS = 50, MAX_HALVINGS = 12, MAX_ROUNDS = 100 };
static const double enough = 1e-11;  // change of a torn value, relative to its magnitude
static const double lost = 1e10;  // error growth of df/ds beyond which only rounding errors remain
static const double doubtful = 1e6;  // error growth that may explain a failure
static const double slow = 0.1;      // a change that contracts less needs a new Jacobian

typedef struct member {  // a component in the loop
  int32_t part;
  cpl_jacobian* jac;
  double* d;        // outputs by inputs
  int32_t* inputs;  // index in the loop of each of its inputs
  int32_t n_outputs, n_inputs;
  int32_t first;  // of its nodes; next_of leads to the others
} member;

typedef struct cpli_loop {
  cpl_context* ctx;
  const cpli_blocks* blocks;
  int32_t block, n, n_torn;
  int32_t* nodes;        // torn ones first
  cpli_eval_plan* cut;   // sets the torn inputs
  cpli_eval_plan* rest;  // everything that follows
  bool discrete;         // no derivatives: iterate until nothing changes
  member* members;
  int32_t n_members;
  int32_t *member_of,
      *row_of;       // per node of the loop: its component's share, and its row or column there
  int32_t* next_of;  // per node: another one of the same component
  double *s, *f, *step, *trial, *next, *scale, *sensitivity, *matrix;
  double *row, *column;  // the matrix is scaled by them: cpli_lu_equilibrate()
  double *sizes, *work;  // to see whether the matrix is nearly singular
  double growth;         // of errors: cpli_lu_growth()
  int32_t* pivot;
  bool factored;
  double* residuals;  // as rows; Nullable
} loop;

//------------------------------------ make ------------------------------------

static cpl_status make_plan(cpli_aggregate* a, const int32_t* nodes, int32_t n,
                            cpli_eval_plan** out) {
  cpl_context* ctx = a->base.base.ctx;
  cpl_status st = CPL_OK;
  cpli_eval_plan* p = cpli_alloc(ctx, 1, sizeof *p);
  *out = p;
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  for (int32_t i = 0, j; i < n && st >= 0; i = j) {  // runs of one kind in one component
    const cpli_node* head = &a->nodes[nodes[i]];
    for (j = i + 1;
         j < n && a->nodes[nodes[j]].kind == head->kind && a->nodes[nodes[j]].part == head->part;
         j++) {
    }
    st = cpli_plan_extend(a, p, 0, nodes + i, (size_t)(j - i));
  }
  return st;
}

static cpl_status make_member(cpli_aggregate* a, loop* l, member* m) {
  cpl_jacobian_def def = cpl_default_jacobian_def();
  int32_t* vars = cpli_alloc(l->ctx, (size_t)m->n_outputs + (size_t)m->n_inputs, sizeof *vars);
  m->d = cpli_alloc(l->ctx, (size_t)m->n_outputs * (size_t)m->n_inputs, sizeof *m->d);
  m->inputs = cpli_alloc(l->ctx, (size_t)m->n_inputs, sizeof *m->inputs);
  if (vars == NULL || m->d == NULL || m->inputs == NULL) {
    cpli_free(l->ctx, vars);
    return cpli_nomem(l->ctx);
  }
  for (int32_t i = m->first; i >= 0; i = l->next_of[i]) {
    const cpli_node* node = &a->nodes[l->nodes[i]];
    bool output = node->kind == CPLI_NODE_OUTPUT;
    vars[(output ? 0 : m->n_outputs) + l->row_of[i]] = node->var;
    if (!output) m->inputs[l->row_of[i]] = i;
  }
  def.rows = vars;
  def.n_rows = m->n_outputs;
  def.columns = vars + m->n_outputs;
  def.n_columns = m->n_inputs;
  def.central = true;
  cpl_status st = cpl_jacobian_create(a->parts[m->part].m, &def, &m->jac);
  cpli_free(l->ctx, vars);
  return st;
}

static cpl_status make_members(cpli_aggregate* a, loop* l) {
  l->members = cpli_alloc(l->ctx, (size_t)l->n, sizeof *l->members);
  if (l->members == NULL) return cpli_nomem(l->ctx);
  for (int32_t i = 0; i < l->n; i++) {
    const cpli_node* node = &a->nodes[l->nodes[i]];
    l->member_of[i] = -1;
    if (node->part < 0) continue;
    int32_t* mark = &a->parts[node->part].mark;  // index in members while the loop is made
    if (*mark < 0) l->members[*mark = l->n_members++] = (member){.part = node->part, .first = -1};
    member* m = &l->members[*mark];
    l->member_of[i] = *mark;
    l->row_of[i] = node->kind == CPLI_NODE_OUTPUT ? m->n_outputs++ : m->n_inputs++;
    l->next_of[i] = m->first;
    m->first = i;
  }
  for (int32_t i = 0; i < l->n_members; i++) a->parts[l->members[i].part].mark = -1;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < l->n_members && st >= 0; i++) st = make_member(a, l, &l->members[i]);
  return st;
}

static cpl_status allocate(loop* l) {
  size_t n = (size_t)l->n, t = (size_t)l->n_torn;
  l->nodes = cpli_alloc(l->ctx, 4 * n + t, sizeof *l->nodes);
  l->s = cpli_alloc(l->ctx, 11 * t + n + 3 * t * t, sizeof *l->s);
  if (l->nodes == NULL || l->s == NULL) return cpli_nomem(l->ctx);
  l->member_of = l->nodes + n;
  l->row_of = l->member_of + n;
  l->next_of = l->row_of + n;
  l->pivot = l->next_of + n;
  double** of_torn[] = {&l->f, &l->step, &l->trial, &l->next, &l->scale, &l->row, &l->column};
  for (size_t i = 0; i < CPLI_COUNT(of_torn); i++) *of_torn[i] = l->s + (i + 1) * t;
  l->sensitivity = l->s + 8 * t;
  l->matrix = l->sensitivity + n;
  l->sizes = l->matrix + t * t;
  l->work = l->sizes + t * t;
  return CPL_OK;
}

cpl_status cpli_loop_make(cpli_aggregate* a, cpli_eval_plan* p, int32_t block,
                          struct cpli_loop** out) {
  const cpli_blocks* b = p->blocks;
  loop* l = cpli_alloc(p->ctx, 1, sizeof *l);
  *out = l;
  if (l == NULL) return cpli_nomem(p->ctx);
  *l = (loop){.ctx = p->ctx,
              .blocks = b,
              .block = block,
              .n = b->first[block + 1] - b->first[block],
              .n_torn = b->n_torn[block]};
  cpl_status st = allocate(l);
  if (st < 0) return st;
  memcpy(l->nodes, b->order + b->first[block], (size_t)l->n * sizeof *l->nodes);
  for (int32_t i = 0; i < l->n; i++) {
    const cpli_node* node = &a->nodes[l->nodes[i]];
    l->discrete = l->discrete || node->discrete || node->type != CPL_REAL;
    if (i < l->n_torn) l->scale[i] = cpli_node_nominal(a, l->nodes[i]);
  }
  st = make_plan(a, l->nodes, l->n_torn, &l->cut);
  if (st >= 0) st = make_plan(a, l->nodes + l->n_torn, l->n - l->n_torn, &l->rest);
  if (st >= 0) st = cpli_plan_merge(a, l->rest);
  if (st >= 0 && !l->discrete) st = make_members(a, l);
  return st;
}

void cpli_loop_destroy(struct cpli_loop* l) {
  if (l == NULL) return;
  for (int32_t i = 0; i < l->n_members; i++) {
    cpl_jacobian_destroy(l->members[i].jac);
    cpli_free(l->ctx, l->members[i].d);
    cpli_free(l->ctx, l->members[i].inputs);
  }
  cpli_plan_destroy(l->cut);
  cpli_plan_destroy(l->rest);
  cpli_free(l->ctx, l->members);
  cpli_free(l->ctx, l->nodes);
  cpli_free(l->ctx, l->s);
  cpli_free(l->ctx, l);
}

void cpli_loop_forget(struct cpli_loop* l) { l->factored = false; }

void cpli_loop_forget_run(struct cpli_loop* l) {
  l->factored = false;
  for (int32_t i = 0; i < l->n_members; i++) cpli_jacobian_forget(l->members[i].jac);
}

void cpli_loop_list(cpli_serial* s, struct cpli_loop* l) {
  size_t n = (size_t)l->n, t = (size_t)l->n_torn;
  cpli_serial_same(s, n);
  cpli_serial_same(s, t);
  cpli_serial_reals(s, l->s, 11 * t + n + 3 * t * t);
  cpli_serial_real(s, &l->growth);
  cpli_serial_bool(s, &l->factored);
  if (l->factored) cpli_serial_pivots(s, l->pivot, t);
  for (int32_t i = 0; i < l->n_members && s->st >= 0; i++) {
    member* m = &l->members[i];
    cpli_serial_reals(s, m->d, (size_t)m->n_outputs * (size_t)m->n_inputs);
    cpli_serial_jacobian(s, m->jac);
  }
}

int32_t cpli_loop_block(const struct cpli_loop* l) { return l->block; }

bool cpli_aggregate_in_loop(const cpl_model* aggregate, int32_t var) {
  const cpli_aggregate* a = (const cpli_aggregate*)aggregate;
  int32_t node = var >= 0 && var < a->n_part_vars ? a->node_of[var] : -1;
  for (size_t i = 0; i < CPLI_COUNT(a->plans) && node >= 0; i++) {
    for (size_t l = 0; a->plans[i] != NULL && l < a->plans[i]->n_loops; l++) {
      const loop* one = a->plans[i]->loops[l];
      for (int32_t k = 0; k < one->n; k++) {
        if (one->nodes[k] == node) return true;
      }
    }
  }
  return false;
}

cpli_torn cpli_loop_torn(const struct cpli_loop* l) {
  return (cpli_torn){l->discrete ? 0 : l->n_torn, l->nodes, l->scale};
}

void cpli_loop_report(struct cpli_loop* l, double* residuals) { l->residuals = residuals; }

//------------------------------------ walk ------------------------------------

// f(s): sets the torn values and evaluates the loop.
static cpl_status walk(cpli_aggregate* a, loop* l, const double* s, double* f) {
  for (int32_t i = 0; i < l->n_torn; i++) a->value[l->nodes[i]] = s[i];
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < l->cut->n_ops && st == CPL_OK; i++) {  // the guess, not the couplings
    if (l->cut->ops[i].kind == CPLI_OP_SET) st = cpli_walk(a, l->cut, &l->cut->ops[i], 1);
  }
  if (st == CPL_OK) st = cpli_walk(a, l->rest, l->rest->ops, l->rest->n_ops);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++) {
    st = cpli_coupling_value(a, &a->links[a->nodes[l->nodes[i]].coupling], &f[i]);
  }
  return st;
}

//------------------------------------ derivatives ------------------------------------

// The index of a node in this loop; -1: it is outside.
static int32_t index_of(const loop* l, int32_t node) {
  const cpli_blocks* b = l->blocks;
  return b->block[node] == l->block ? b->position[node] - b->first[l->block] : -1;
}

static double through_link(const cpli_aggregate* a, const loop* l, int32_t node) {
  const cpli_coupling_edge* k = &a->links[a->nodes[node].coupling];
  double sum = 0;
  for (int32_t i = 0; i < k->n_sources; i++) {
    int32_t at = index_of(l, k->sources[i]);
    if (at >= 0) sum += k->gradient[i] * l->sensitivity[at];
  }
  return sum;
}

static double through_part(const loop* l, int32_t i) {
  const member* m = &l->members[l->member_of[i]];
  double sum = 0;
  for (int32_t k = 0; k < m->n_inputs; k++) {
    sum += m->d[k * m->n_outputs + l->row_of[i]] * l->sensitivity[m->inputs[k]];
  }
  return sum;
}

static void scale_sizes(loop* l) {
  for (int32_t j = 0; j < l->n_torn; j++) {
    for (int32_t i = 0; i < l->n_torn; i++)
      l->sizes[(size_t)j * (size_t)l->n_torn + (size_t)i] *= l->row[i] * l->column[j];
  }
}

// matrix = df/ds - I, equilibrated and factorised
static cpl_status factorise(cpli_aggregate* a, loop* l) {
  cpl_status st = CPL_OK;
  bool changed = false;
  for (int32_t i = 0; i < l->n && st == CPL_OK; i++) {
    int32_t coupling = a->nodes[l->nodes[i]].coupling;
    if (coupling >= 0) st = cpli_coupling_gradient(a, &a->links[coupling]);
  }
  for (int32_t i = 0; i < l->n_members && st == CPL_OK; i++) {
    member* m = &l->members[i];
    st = cpli_part_jacobian(a, m->part, m->jac, false, m->d, &changed);
  }
  if (st != CPL_OK) return st;
  for (int32_t j = 0; j < l->n_torn; j++) {
    double* column = l->matrix + (size_t)j * (size_t)l->n_torn;
    for (int32_t i = 0; i < l->n; i++) {
      if (i < l->n_torn) l->sensitivity[i] = i == j;
      else if (a->nodes[l->nodes[i]].kind == CPLI_NODE_OUTPUT)
        l->sensitivity[i] = through_part(l, i);
      else l->sensitivity[i] = through_link(a, l, l->nodes[i]);
    }
    for (int32_t i = 0; i < l->n_torn; i++) {
      double df = through_link(a, l, l->nodes[i]);
      column[i] = df - (i == j);
      l->sizes[(size_t)j * (size_t)l->n_torn + (size_t)i] = fabs(df) + (i == j);
    }
  }
  cpli_lu_equilibrate(l->matrix, l->n_torn, l->row, l->column);
  scale_sizes(l);
  bool pivots = cpli_lu_factor(l->matrix, l->pivot, l->n_torn) < 0;
  l->growth = pivots ? cpli_lu_growth(l->matrix, l->pivot, l->n_torn, l->sizes, l->scale, l->work)
                     : INFINITY;
  l->factored = l->growth < lost;
  return CPL_OK;
}

cpl_status cpli_loop_check(cpli_aggregate* a, struct cpli_loop* l, bool* fine) {
  cpl_status st = l->discrete ? CPL_OK : factorise(a, l);
  *fine = l->discrete || l->factored;
  return st;
}

//------------------------------------ messages ------------------------------------

static void name_nodes(const cpli_aggregate* a, const loop* l, char* text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < l->n && used + 8 < size; i++) {
    const char* name = cpli_node_name(a, l->nodes[i]);
    int n = snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", i == 12 ? "..." : name);
    used += n > 0 ? (size_t)n : 0;
    if (i == 12) break;
  }
}

static cpl_status failed(cpli_aggregate* a, const loop* l, const char* why) {
  char names[1024];
  name_nodes(a, l, names, sizeof names);
  return cpl_fail_in(a->base.base.ctx, CPL_RETRY, a->name, NULL, a->t,
                     "the algebraic loop through %s %s at t=%.17g", names, why, a->t);
}

static cpl_status cannot_begin(cpli_aggregate* a, const loop* l) {
  char names[1024];
  name_nodes(a, l, names, sizeof names);
  return cpl_fail_prefix(a->base.base.ctx, CPL_RETRY,
                         "the algebraic loop through %s cannot begin to iterate at its %s values",
                         names, a->phase == CPLI_PLAN_INITIAL ? "start" : "last");
}

//------------------------------------ size ------------------------------------

// A step relative to the magnitudes of the values before and after it.
static double size_of(const loop* l, const double* step, const double* s) {
  double max = 0;
  for (int32_t i = 0; i < l->n_torn; i++) {
    if (step[i] == 0) continue;
    double change = fabs(step[i]) / fmax(fabs(s[i]), fabs(s[i] + step[i]));
    if (!(change <= max)) max = change;
  }
  return max;
}

// The rounding error of a coupling, from those of its sources.
static double rounding_of_link(const cpli_aggregate* a, const loop* l, int32_t node) {
  const cpli_coupling_edge* k = &a->links[a->nodes[node].coupling];
  double sum = 0;
  for (int32_t i = 0; i < k->n_sources; i++) {
    int32_t at = index_of(l, k->sources[i]);
    double error = DBL_EPSILON * fabs(a->value[k->sources[i]]);
    sum += fabs(k->gradient[i]) * (at >= 0 ? error + l->sensitivity[at] : error);
  }
  return sum;
}

static double rounding_of_output(const cpli_aggregate* a, const loop* l, int32_t i) {
  const member* m = &l->members[l->member_of[i]];
  double sum = DBL_EPSILON * fabs(a->value[l->nodes[i]]);
  for (int32_t k = 0; k < m->n_inputs; k++)
    sum += fabs(m->d[k * m->n_outputs + l->row_of[i]]) * l->sensitivity[m->inputs[k]];
  return sum;
}

// Whether the residual is the rounding error of the values: then no step reduces it. Errors are
// propagated once around the loop, with the derivatives computed last.
static bool is_rounding(const cpli_aggregate* a, loop* l) {
  for (int32_t i = 0; i < l->n; i++) {
    if (i < l->n_torn) l->sensitivity[i] = DBL_EPSILON * fabs(l->s[i]);
    else if (a->nodes[l->nodes[i]].kind == CPLI_NODE_OUTPUT)
      l->sensitivity[i] = rounding_of_output(a, l, i);
    else l->sensitivity[i] = rounding_of_link(a, l, l->nodes[i]);
  }
  for (int32_t i = 0; i < l->n_torn; i++) {
    double error = rounding_of_link(a, l, l->nodes[i]) + DBL_EPSILON * fabs(l->f[i]);
    if (!(fabs(l->f[i] - l->s[i]) <= 2 * error)) return false;
  }
  return true;
}

//------------------------------------ solve ------------------------------------

static void newton_step(const loop* l, const double* s, double* step) {
  for (int32_t i = 0; i < l->n_torn; i++) step[i] = -(l->f[i] - s[i]) * l->row[i];
  cpli_lu_solve(l->matrix, l->pivot, l->n_torn, step);
  for (int32_t i = 0; i < l->n_torn; i++) step[i] *= l->column[i];
}

// The next step relative to the current one, in units of the values at both of its ends.
static double rate_of(const loop* l) {
  double max = 0, size = size_of(l, l->step, l->s);
  for (int32_t i = 0; i < l->n_torn; i++) {
    if (l->next[i] == 0) continue;
    double unit = fmax(fabs(l->s[i]), fabs(l->s[i] + l->step[i]));
    double change = fabs(l->next[i]) / fmax(unit, fabs(l->trial[i] + l->next[i]));
    if (!(change <= max)) max = change;
  }
  return max / size;
}

// Line search from s along the step: halves it until the following step is shorter, a measure
// independent of the scaling of the equations. Leaves f and the step of the new s. *rate: of the
// two steps; infinite without progress. Along an old factorisation only the full step is tried.
static cpl_status damped_move(cpli_aggregate* a, loop* l, bool fresh, double* rate) {
  double part = 1;
  for (int k = 0; k < (fresh ? MAX_HALVINGS : 1); k++, part *= 0.5) {
    for (int32_t i = 0; i < l->n_torn; i++) l->trial[i] = l->s[i] + part * l->step[i];
    cpl_status st = walk(a, l, l->trial, l->f);
    if (st < 0) return st;
    if (st != CPL_OK) continue;
    newton_step(l, l->trial, l->next);
    *rate = rate_of(l);
    if (!(*rate <= 1 - part / 2)) continue;
    memcpy(l->s, l->trial, (size_t)l->n_torn * sizeof *l->s);
    memcpy(l->step, l->next, (size_t)l->n_torn * sizeof *l->s);
    if (part < 1) *rate = INFINITY;  // that of a damped step is not significant
    return CPL_OK;
  }
  *rate = NAN;
  return walk(a, l, l->s, l->f);
}

// Newton's method from l->s, where the loop has been evaluated. Loops it does not solve are left to
// the search.
static cpl_status newton(cpli_aggregate* a, loop* l, bool* solved) {
  cpl_status st = CPL_OK;
  bool fresh = false;
  if (l->factored) newton_step(l, l->s, l->step);
  for (int k = 0; k < MAX_ITERATIONS && st == CPL_OK; k++) {
    if (!l->factored) {
      st = factorise(a, l);
      if (st != CPL_OK || !l->factored) return st;
      newton_step(l, l->s, l->step);
      fresh = true;
    }
    double rate;
    *solved = size_of(l, l->step, l->s) <= enough;
    if (*solved) return CPL_OK;
    st = damped_move(a, l, fresh, &rate);
    if (st != CPL_OK) return st;
    l->factored = rate <= slow;
    if (l->factored) continue;
    *solved = size_of(l, l->step, l->s) <= enough || is_rounding(a, l);
    if (*solved || (isnan(rate) && fresh)) return CPL_OK;
    fresh = false;
  }
  return st;
}

static cpl_status solve_discrete(cpli_aggregate* a, loop* l) {
  for (int round = 0; round < MAX_ROUNDS; round++) {
    cpl_status st = walk(a, l, l->s, l->f);
    if (st != CPL_OK) return st;
    if (memcmp(l->s, l->f, (size_t)l->n_torn * sizeof *l->s) == 0) return CPL_OK;
    memcpy(l->s, l->f, (size_t)l->n_torn * sizeof *l->s);
  }
  return failed(a, l, "does not settle: its discrete values keep changing");
}

typedef struct both {
  cpli_aggregate* a;
  loop* l;
} both;

static cpl_status image(void* user, const double* s, double* f) {
  const both* k = user;
  return walk(k->a, k->l, s, f);
}

// The torn value with a result that is not finite; -1: none.
static int32_t find_infinite(const loop* l) {
  for (int32_t i = 0; i < l->n_torn; i++) {
    if (!isfinite(l->f[i])) return i;
  }
  return -1;
}

// The last attempt, from the last accepted point. Between events, where an integrator can take a
// shorter step, only a solution nearby is accepted.
static cpl_status search(cpli_aggregate* a, loop* l) {
  both k = {a, l};
  cpli_roots roots = {.n = l->n_torn,
                      .user = &k,
                      .image = image,
                      .nominal = l->scale,
                      .near_only = a->phase == CPLI_PLAN_CONTINUOUS && a->n_states > 0};
  bool singular = !(l->growth < doubtful);
  l->factored = false;
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->settled[l->nodes[i]];
  cpl_status st = cpli_roots_solve(l->ctx, &roots, l->s);
  if (st < 0) return st;
  if (st == CPL_OK) {
    st = walk(a, l, l->s, l->f);
    if (st == CPL_OK) st = factorise(a, l);
    if (st != CPL_OK || l->factored) return st;
    singular = true;  // such as a value at infinity
  }
  st = walk(a, l, l->s, l->f);
  if (st < 0) return st;
  int32_t bad = st == CPL_OK ? find_infinite(l) : -1;
  if (bad >= 0) {
    char why[256];
    snprintf(why, sizeof why, "gives %s the value %g", cpli_node_name(a, l->nodes[bad]), l->f[bad]);
    return failed(a, l, why);
  }
  return failed(
      a, l,
      singular ? "is singular: its equations do not determine its values" : "finds no solution");
}

// The torn values have been set by the integrator.
static cpl_status follow_given(cpli_aggregate* a, loop* l) {
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->value[l->nodes[i]];
  cpl_status st = walk(a, l, l->s, l->f);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++) l->residuals[i] = l->s[i] - l->f[i];
  return st;
}

cpl_status cpli_loop_solve(cpli_aggregate* a, const cpli_eval_plan* p, struct cpli_loop* l) {
  (void)p;
  if (l->residuals != NULL && a->rows->given) return follow_given(a, l);
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->settled[l->nodes[i]];
  if (l->discrete) return solve_discrete(a, l);
  cpl_status st = walk(a, l, l->s, l->f);
  if (st != CPL_OK) return st == CPL_RETRY ? cannot_begin(a, l) : st;
  bool solved = false;
  st = newton(a, l, &solved);
  return solved || st != CPL_OK ? st : search(a, l);
}

//------------------------------------ changes ------------------------------------

// The change of f when the torn values change by `s`.
static cpl_status walk_direction(cpli_aggregate* a, loop* l, const double* s, double* f) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < l->n_torn; i++) *cpli_direction_of(a, l->nodes[i]) = s[i];
  for (size_t i = 0; i < l->cut->n_ops && st == CPL_OK; i++) {
    if (l->cut->ops[i].kind == CPLI_OP_SET) st = cpli_direction_walk(a, l->cut, &l->cut->ops[i], 1);
  }
  if (st == CPL_OK) st = cpli_direction_walk(a, l->rest, l->rest->ops, l->rest->n_ops);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++)
    st = cpli_coupling_direction(a, &a->links[a->nodes[l->nodes[i]].coupling], &f[i]);
  return st;
}

// A linear system solved with the factorisation of Newton's method, possibly from a point nearby:
// corrected until the changes agree to rounding. With the matrix of the current point the second
// correction is at rounding level.
cpl_status cpli_loop_direction(cpli_aggregate* a, struct cpli_loop* l) {
  if (l->discrete) return CPL_OK;
  int fresh = 0;  // corrections with the matrix of this point
  double before = INFINITY;
  memset(l->s, 0, (size_t)l->n_torn * sizeof *l->s);
  cpl_status st = walk_direction(a, l, l->s, l->f);
  for (int k = 0; k < MAX_ITERATIONS && st == CPL_OK; k++) {
    if (!l->factored || k == 4) st = factorise(a, l), fresh = 1;
    if (st != CPL_OK || !l->factored) break;
    newton_step(l, l->s, l->step);
    double size = size_of(l, l->step, l->s);
    // the changes of all nodes belong to s, not to the next one
    bool rounding = size <= enough && size > before / 4;
    if (size <= 4 * DBL_EPSILON || rounding || fresh > 3) return CPL_OK;
    for (int32_t i = 0; i < l->n_torn; i++) l->s[i] += l->step[i];
    before = size;
    fresh += fresh > 0;
    st = walk_direction(a, l, l->s, l->f);
  }
  return st != CPL_OK ? st : failed(a, l, "is singular: its derivatives cannot be found");
}
