// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An algebraic loop: a few torn values s are guessed, everything else in the block follows from
// them, and at the end of the walk stands f(s), what the torn values should be. Newton's method on
// f(s) - s, with exact derivatives where parts and couplings give them; the factorisation is kept
// as long as it converges well.
#include <math.h>
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "aggregate/dense.h"
#include "aggregate/fallback.h"

enum { MOST_ITERATIONS = 50, MOST_HALVINGS = 12, MOST_ROUNDS = 100 };
static const double enough = 1e-11;  // change of a torn value, relative to its size and nominal
static const double lost = 1e10;     // errors of df/ds that grow so much leave nothing but rounding
static const double doubtful = 1e6;  // and here a failure has to do with it
static const double slow = 0.1;      // a change that shrinks less than this wants a new Jacobian

typedef struct member {  // a part's share in the loop
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
  int32_t* nodes;   // torn ones first
  cpli_plan* cut;   // sets the torn inputs
  cpli_plan* rest;  // everything that follows
  bool discrete;    // not a matter of derivatives: iterate until nothing changes
  member* members;
  int32_t n_members;
  int32_t *member_of,
      *row_of;       // per node of the loop: its part's share, and its row or column there
  int32_t* next_of;  // per node: another one of the same part
  double *s, *f, *step, *trial, *scale, *sensitivity, *matrix;
  double *sizes, *work;  // to see whether the matrix is nearly singular
  double growth;         // of errors: cpli_lu_growth()
  int32_t* pivot;
  bool factored;
  double* residuals;  // as rows; Nullable
} loop;

//------------------------------------ make ------------------------------------

static cpl_status make_plan(cpli_aggregate* a, const int32_t* nodes, int32_t n, cpli_plan** out) {
  cpl_context* ctx = a->base.base.ctx;
  cpl_status st = CPL_OK;
  cpli_plan* p = cpli_alloc(ctx, 1, sizeof *p);
  *out = p;
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  for (int32_t i = 0, j; i < n && st >= 0; i = j) {  // neighbours of the same kind on the same part
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
    int32_t* mark = &a->parts[node->part].mark;  // where a part's share is, while the loop is made
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
  l->s = cpli_alloc(l->ctx, 8 * t + n + 3 * t * t, sizeof *l->s);
  if (l->nodes == NULL || l->s == NULL) return cpli_nomem(l->ctx);
  l->member_of = l->nodes + n;
  l->row_of = l->member_of + n;
  l->next_of = l->row_of + n;
  l->pivot = l->next_of + n;
  double** of_torn[] = {&l->f, &l->step, &l->trial, &l->scale};
  for (size_t i = 0; i < CPLI_COUNT(of_torn); i++) *of_torn[i] = l->s + (i + 1) * t;
  l->sensitivity = l->s + 5 * t;
  l->matrix = l->sensitivity + n;
  l->sizes = l->matrix + t * t;
  l->work = l->sizes + t * t;
  return CPL_OK;
}

static double nominal_of(const cpli_aggregate* a, const cpli_node* node) {
  return node->part >= 0 ? a->parts[node->part].m->base.desc->vars[node->var].nominal : 1;
}

cpl_status cpli_loop_make(cpli_aggregate* a, cpli_plan* p, int32_t block, struct cpli_loop** out) {
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
    if (i < l->n_torn) l->scale[i] = nominal_of(a, node);
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

void cpli_loop_tell(struct cpli_loop* l, double* residuals) { l->residuals = residuals; }

//------------------------------------ walk ------------------------------------

// f(s): sets the torn values and lets everything follow.
static cpl_status walk(cpli_aggregate* a, loop* l, const double* s, double* f) {
  for (int32_t i = 0; i < l->n_torn; i++) a->value[l->nodes[i]] = s[i];
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < l->cut->n_ops && st == CPL_OK; i++) {  // the guess, not the couplings
    if (l->cut->ops[i].kind == CPLI_OP_SET) st = cpli_walk(a, l->cut, &l->cut->ops[i], 1);
  }
  if (st == CPL_OK) st = cpli_walk(a, l->rest, l->rest->ops, l->rest->n_ops);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++) {
    st = cpli_tie_value(a, &a->links[a->nodes[l->nodes[i]].coupling], &f[i]);
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
  const cpli_tie* k = &a->links[a->nodes[node].coupling];
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

// matrix = df/ds - I, factorised
static cpl_status factorise(cpli_aggregate* a, loop* l) {
  cpl_status st = CPL_OK;
  bool changed = false;
  for (int32_t i = 0; i < l->n && st == CPL_OK; i++) {
    int32_t coupling = a->nodes[l->nodes[i]].coupling;
    if (coupling >= 0) st = cpli_tie_gradient(a, &a->links[coupling]);
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
  bool pivots = cpli_lu_factor(l->matrix, l->pivot, l->n_torn) < 0;
  l->growth = pivots ? cpli_lu_growth(l->matrix, l->pivot, l->n_torn, l->sizes, l->scale, l->work)
                     : INFINITY;
  l->factored = l->growth < lost;
  return CPL_OK;
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
  return cpl_fail(a->base.base.ctx, CPL_RETRY, "%s: the algebraic loop through %s %s at t=%.17g",
                  a->name, names, why, a->t);
}

static cpl_status cannot_begin(cpli_aggregate* a, const loop* l) {
  char names[1024];
  name_nodes(a, l, names, sizeof names);
  return cpl_fail_prefix(a->base.base.ctx, CPL_RETRY,
                         "the algebraic loop through %s cannot begin to iterate at its %s values",
                         names, a->phase == CPLI_PLAN_INITIAL ? "start" : "last");
}

//------------------------------------ solve ------------------------------------

static double size_of_step(const loop* l) {
  double most = 0;
  for (int32_t i = 0; i < l->n_torn; i++) {
    double change = fabs(l->step[i]) / fmax(fabs(l->s[i]), l->scale[i]);
    most = change > most || isnan(change) ? change : most;
  }
  return most;
}

static double size_of_residual(const loop* l, const double* s) {
  double sum = 0;
  for (int32_t i = 0; i < l->n_torn; i++) {
    double r = (l->f[i] - s[i]) / fmax(fabs(s[i]), l->scale[i]);
    sum += r * r;
  }
  return sum;
}

static void newton_step(loop* l) {
  for (int32_t i = 0; i < l->n_torn; i++) l->step[i] = -(l->f[i] - l->s[i]);
  cpli_lu_solve(l->matrix, l->pivot, l->n_torn, l->step);
}

// Goes from s along the step, halving it until the residual shrinks. Leaves f of the new s.
static cpl_status damped_move(cpli_aggregate* a, loop* l) {
  double before = size_of_residual(l, l->s), part = 1;
  cpl_status st = CPL_OK;
  for (int k = 0; k < MOST_HALVINGS; k++, part *= 0.5) {
    for (int32_t i = 0; i < l->n_torn; i++) l->trial[i] = l->s[i] + part * l->step[i];
    st = walk(a, l, l->trial, l->f);
    if (st < 0) return st;
    if (st == CPL_OK && size_of_residual(l, l->trial) < before) break;
  }
  memcpy(l->s, l->trial, (size_t)l->n_torn * sizeof *l->s);
  return st;
}

static cpl_status solve_discrete(cpli_aggregate* a, loop* l) {
  for (int round = 0; round < MOST_ROUNDS; round++) {
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

static cpl_status residual(void* user, const double* s, double* r) {
  const both* k = user;
  cpl_status st = walk(k->a, k->l, s, r);
  for (int32_t i = 0; i < k->l->n_torn && st == CPL_OK; i++) r[i] -= s[i];
  return st;
}

// The last try, from where the loop stood at the last accepted point.
static cpl_status fall_back(cpli_aggregate* a, loop* l, bool singular) {
  both k = {a, l};
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->settled[l->nodes[i]];
  cpl_status st = cpli_fallback_solve(l->ctx, l->n_torn, l->s, l->scale, residual, &k);
  if (st == CPL_OK) return walk(a, l, l->s, l->f);
  if (st < 0) return st;
  return failed(
      a, l,
      singular ? "is singular: its equations do not determine its values" : "finds no solution");
}

// The torn values stand where the integrator put them.
static cpl_status follow_given(cpli_aggregate* a, loop* l) {
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->value[l->nodes[i]];
  cpl_status st = walk(a, l, l->s, l->f);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++) l->residuals[i] = l->s[i] - l->f[i];
  return st;
}

cpl_status cpli_loop_solve(cpli_aggregate* a, const cpli_plan* p, struct cpli_loop* l) {
  (void)p;
  if (l->residuals != NULL && a->rows->given) return follow_given(a, l);
  for (int32_t i = 0; i < l->n_torn; i++) l->s[i] = a->settled[l->nodes[i]];
  if (l->discrete) return solve_discrete(a, l);
  cpl_status st = walk(a, l, l->s, l->f);
  if (st != CPL_OK) return st == CPL_RETRY ? cannot_begin(a, l) : st;
  double last = INFINITY;
  bool fresh = false;
  for (int k = 0; k < MOST_ITERATIONS && st == CPL_OK; k++) {
    if (!l->factored) {
      st = factorise(a, l);
      fresh = true;
      if (st != CPL_OK) return st;
      if (!l->factored)
        return failed(a, l, "is singular: its equations do not determine its values");
    }
    newton_step(l);
    double size = size_of_step(l);
    if (size <= enough) return CPL_OK;
    bool good = size <= slow * last;
    if (!good && !fresh &&
        k > 0) {  // the old factorisation does not carry any more: again from here
      l->factored = false;
      last = INFINITY;
      continue;
    }
    l->factored = good || k == 0;
    fresh = false;
    last = size;
    st = damped_move(a, l);
  }
  if (st < 0) return st;
  bool near = !(l->growth < doubtful);
  l->factored = false;
  return fall_back(a, l, near);
}

//------------------------------------ changes ------------------------------------

// How the torn values change when they are said to change by `s`.
static cpl_status walk_direction(cpli_aggregate* a, loop* l, const double* s, double* f) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < l->n_torn; i++) *cpli_direction_of(a, l->nodes[i]) = s[i];
  for (size_t i = 0; i < l->cut->n_ops && st == CPL_OK; i++) {
    if (l->cut->ops[i].kind == CPLI_OP_SET) st = cpli_direction_walk(a, l->cut, &l->cut->ops[i], 1);
  }
  if (st == CPL_OK) st = cpli_direction_walk(a, l->rest, l->rest->ops, l->rest->n_ops);
  for (int32_t i = 0; i < l->n_torn && st == CPL_OK; i++)
    st = cpli_tie_direction(a, &a->links[a->nodes[l->nodes[i]].coupling], &f[i]);
  return st;
}

// A linear system whose matrix is what Newton's method keeps factorised, if perhaps from a point
// nearby: corrected until the changes agree.
cpl_status cpli_loop_direction(cpli_aggregate* a, struct cpli_loop* l) {
  if (l->discrete) return CPL_OK;
  memset(l->s, 0, (size_t)l->n_torn * sizeof *l->s);
  cpl_status st = walk_direction(a, l, l->s, l->f);
  double first = 0;
  for (int k = 0; k < MOST_ITERATIONS && st == CPL_OK; k++) {
    if (!l->factored || k == 4) st = factorise(a, l);  // the old one does not carry any more
    if (st != CPL_OK || !l->factored) break;
    newton_step(l);
    double most = 0;
    for (int32_t i = 0; i < l->n_torn; i++) {
      l->s[i] += l->step[i];
      most = fmax(most, fabs(l->step[i]) / l->scale[i]);
    }
    if (k == 0) first = most;
    if (most <= enough * first) return CPL_OK;
    st = walk_direction(a, l, l->s, l->f);
  }
  return st != CPL_OK ? st : failed(a, l, "is singular: its derivatives cannot be found");
}
