// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Solves an algebraic loop x = G(x), where G evaluates the loop once, with rollback of steps in it.
// The first iterations are fixed-point ones; from the second on, the differences so far give a
// quasi-Newton step (Anderson acceleration), which needs no derivative and converges where
// fixed-point iteration does not. If that fails, the root finding of aggregates is used
// (numeric/roots.c). A loop is solved when every residual is within the loop tolerance relative to
// the value now and at the last communication points.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "master/master.h"
#include "numeric/roots.h"

enum { DEPTH = 12, MAX_ITERATIONS = 100, MAX_SEARCH = 3000 };
enum { MAX_HALVED = 20 };  // iterations where a step was halved, since a shorter one is tried next

typedef struct solver {
  size_t n;
  int depth, columns;
  double *x, *f, *x_last, *f_last;
  double* unit;     // scale of each value for differences
  double *dx, *df;  // depth columns of n: differences, the newest last
  double* q;        // orthonormal columns of df
  double* scaled;   // f in units
  double r[DEPTH][DEPTH], gamma[DEPTH];
} solver;

static solver make_solver(double* work, size_t n) {
  solver s = {.n = n, .depth = n < DEPTH ? (int)n : DEPTH};
  s.x = work;
  s.f = s.x + n;
  s.x_last = s.f + n;
  s.f_last = s.x_last + n;
  s.unit = s.f_last + n;
  s.scaled = s.unit + n;
  s.dx = s.scaled + n;
  s.df = s.dx + DEPTH * n;
  s.q = s.df + DEPTH * n;
  return s;
}

static double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void push_difference(solver* s) {
  size_t n = s->n;
  if (s->columns == s->depth) {
    memmove(s->dx, s->dx + n, (size_t)(s->depth - 1) * n * sizeof(double));
    memmove(s->df, s->df + n, (size_t)(s->depth - 1) * n * sizeof(double));
    s->columns--;
  }
  for (size_t i = 0; i < n; i++) {
    s->dx[(size_t)s->columns * n + i] = (s->x[i] - s->x_last[i]) / s->unit[i];
    s->df[(size_t)s->columns * n + i] = (s->f[i] - s->f_last[i]) / s->unit[i];
  }
  s->columns++;
}

// Gram-Schmidt, the newest column first; columns that depend on newer ones are left out.
static void factorise(solver* s, int* used, int* n_used) {
  *n_used = 0;
  for (int c = s->columns - 1; c >= 0; c--) {
    double* q = s->q + (size_t)*n_used * s->n;
    memcpy(q, s->df + (size_t)c * s->n, s->n * sizeof(double));
    double before = sqrt(dot(q, q, s->n));
    for (int k = 0; k < *n_used; k++) {
      const double* other = s->q + (size_t)k * s->n;
      double r = dot(other, q, s->n);
      s->r[k][*n_used] = r;
      for (size_t i = 0; i < s->n; i++) q[i] -= r * other[i];
    }
    double norm = sqrt(dot(q, q, s->n));
    if (!(norm > 1e-10 * before)) continue;
    s->r[*n_used][*n_used] = norm;
    for (size_t i = 0; i < s->n; i++) q[i] /= norm;
    used[(*n_used)++] = c;
  }
}

static void advance(solver* s) {
  int used[DEPTH], m = 0;
  factorise(s, used, &m);
  for (size_t i = 0; i < s->n; i++) s->scaled[i] = s->f[i] / s->unit[i];
  for (int k = m - 1; k >= 0; k--) {
    double sum = dot(s->q + (size_t)k * s->n, s->scaled, s->n);
    for (int j = k + 1; j < m; j++) sum -= s->r[k][j] * s->gamma[j];
    s->gamma[k] = sum / s->r[k][k];
  }
  memcpy(s->x_last, s->x, s->n * sizeof(double));
  memcpy(s->f_last, s->f, s->n * sizeof(double));
  for (size_t i = 0; i < s->n; i++) {
    double x = s->x[i] + s->f[i];
    for (int k = 0; k < m; k++) {
      size_t at = (size_t)used[k] * s->n + i;
      x -= s->unit[i] * (s->dx[at] + s->df[at]) * s->gamma[k];
    }
    s->x[i] = x;
  }
}

//------------------------------------ evaluation ------------------------------------

static cpl_status set_back(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* loop) {
  const cpli_step_op* ops = loop + 1;
  (void)plan;
  for (int32_t i = 0; i < loop->n; i++) {
    if (ops[i].kind != CPLI_OP_STEP) continue;
    cpli_master_part* p = &m->parts[ops[i].part];
    if (!p->stepped || p->stays) continue;
    cpl_status st = cpli_master_rewind(m, p);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static void guess(cpli_master* m, const int32_t* torn, double t_end, solver* s) {
  for (size_t i = 0; i < s->n; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    cpl_curve curve = cpli_link_curve(m, l, m->t, t_end, false);
    s->x[i] = l->n_past > 0 ? cpli_curve_at(&curve, t_end) : cpli_link_value(m, l);
  }
}

// The size of a value of the loop: as put in, as returned, and at recent communication points.
static double size_of(const cpli_master_link* l, double put_in, double returned) {
  double size = fmax(fabs(put_in), fabs(returned));
  for (int32_t i = 0; i < l->n_past; i++) size = fmax(size, fabs(l->past[i]));
  return size;
}

// Evaluates the loop from s->x; s->f is the residual.
static cpl_status around(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* loop,
                         double t_end, solver* s) {
  const int32_t* torn = plan->items + loop->torn;
  for (size_t i = 0; i < s->n; i++) {
    m->links[torn[i]].next = s->x[i];
    m->links[torn[i]].guessed = true;
  }
  int32_t first = (int32_t)(loop - plan->ops) + 1;
  cpl_status st = cpli_master_walk(m, plan, first, first + loop->n, t_end);
  for (size_t i = 0; i < s->n && st == CPL_OK; i++)
    s->f[i] = cpli_link_value(m, &m->links[torn[i]]) - s->x[i];
  m->n_iterations++;
  return st;
}

// At least rounding. With error control, residuals of loops must not be mistaken for the error.
static double tolerance_of(const cpli_master* m) {
  double usual = m->def.tolerance > 0 ? fmin(1e-9, 1e-5 * m->def.tolerance) : 1e-9;
  return fmax(m->def.loop_tolerance > 0 ? m->def.loop_tolerance : usual, 8 * DBL_EPSILON);
}

// The largest residual in units of the tolerance; NaN is largest. *where: its index.
static double worst_of(const cpli_master* m, const int32_t* torn, const solver* s, size_t* where) {
  double tolerance = tolerance_of(m), worst = 0;
  for (size_t i = 0; i < s->n; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    double allowed = tolerance * size_of(l, s->x[i], s->x[i] + s->f[i]);
    if (s->f[i] == 0 || fabs(s->f[i]) <= l->noise) continue;
    double part = fabs(s->f[i]) / allowed;
    if (part <= worst || isnan(worst)) continue;
    worst = part;
    *where = i;
  }
  return worst;
}

static cpl_status diverged(cpli_master* m, int32_t link, int n, double value, double back) {
  const cpli_master_link* l = &m->links[link];
  const cpl_component* c = &m->parts[l->part].s->base;
  cpl_fail(m->base.base.ctx, CPL_ERR_SOLVER,
           "%s: the algebraic loop through %s.%s does not converge at t=%.12g (%d iterations, "
           "the last value is %.9g and evaluates to %.9g)",
           m->base.base.name, c->name, c->desc->vars[l->var].name, m->t, n, value, back);
  return cpli_fail_where(m->base.base.ctx, CPL_ERR_SOLVER, c->name, c->desc->vars[l->var].name,
                         m->t);
}

static bool all_real(const cpli_master* m, const int32_t* torn, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (m->links[torn[i]].type != CPL_REAL) return false;
  }
  return true;
}

//------------------------------------ search ------------------------------------

typedef struct search {
  cpli_master* m;
  const cpli_step_plan* plan;
  const cpli_step_op* loop;
  double t_end;
  solver* s;
  bool refused;  // a part stopped before t_end
} search;

static cpl_status image(void* user, const double* x, double* out) {
  search* k = user;
  memcpy(k->s->x, x, k->s->n * sizeof *x);
  cpl_status st = set_back(k->m, k->plan, k->loop);
  if (st >= 0) st = around(k->m, k->plan, k->loop, k->t_end, k->s);
  k->refused = k->refused || st == CPL_RETRY;
  for (size_t i = 0; i < k->s->n && st == CPL_OK; i++) out[i] = k->s->x[i] + k->s->f[i];
  return st;
}

// Root finding where the iteration failed. In a step only a solution near the last one counts.
static cpl_status find_elsewhere(search* k, bool* found) {
  size_t n = k->s->n;
  double* nominal = k->s->scaled;
  for (size_t i = 0; i < n; i++) {
    const cpli_master_link* l = &k->m->links[k->plan->items[k->loop->torn + (int32_t)i]];
    nominal[i] = l->nominal;
    k->s->x_last[i] = l->n_past > 0 ? l->past[0] : 0;
  }
  cpli_roots roots = {.n = (int32_t)n,
                      .user = k,
                      .image = image,
                      .nominal = nominal,
                      .near_only = k->plan == &k->m->plans[CPLI_PLAN_STEP],
                      .max_calls = MAX_SEARCH};
  cpl_status st = cpli_roots_solve(k->m->base.base.ctx, &roots, k->s->x_last);
  *found = st == CPL_OK;
  if (st < 0 || (!*found && !k->refused)) return st < 0 ? st : CPL_OK;
  if (!*found) return CPL_RETRY;
  return image(k, k->s->x_last, k->s->f_last);
}

static bool note_noise(cpli_master* m, const int32_t* torn, const solver* s) {
  bool known = false;
  for (size_t i = 0; i < s->n; i++) {
    cpli_master_link* l = &m->links[torn[i]];
    known = known || l->noise > 0;
    l->noise = fmax(l->noise, 4 * fabs(s->f[i]));
  }
  return known;
}

// Where the values of a loop are so small that they are below a part's own errors, the residual
// stops decreasing. There the nominal size counts, with a warning.
static bool is_noise(cpli_master* m, const int32_t* torn, const solver* s, size_t where) {
  double tolerance = tolerance_of(m);
  for (size_t i = 0; i < s->n; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    double size = fmax(size_of(l, s->x[i], s->x[i] + s->f[i]), l->nominal);
    if (!(fabs(s->f[i]) <= 1e-3 * tolerance * size)) return false;
  }
  const cpli_master_link* l = &m->links[torn[where]];
  const cpl_component* c = &m->parts[l->part].s->base;
  if (note_noise(m, torn, s)) return true;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
          "the algebraic loop through %s.%s keeps a residual of %.3g at t=%.12g, where its value "
          "is %.3g: if that is too large, give the variable a smaller nominal value",
          c->name, c->desc->vars[l->var].name, fabs(s->f[where]), m->t, s->x[where]);
  return true;
}

// A loop that exists only because parts declare no dependencies, and has no solution: from here on
// it is not solved, and its values lag one step.
static cpl_status give_up(search* k, int32_t link) {
  cpli_master* m = k->m;
  const cpli_master_link* l = &m->links[link];
  const cpl_component* c = &m->parts[l->part].s->base;
  cpli_step_plan* plan = &m->plans[k->plan - m->plans];
  plan->ops[k->loop - plan->ops].given_up = true;
  cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
          "no solution is found for the algebraic loop through %s.%s at t=%.12g, which exists "
          "only because dependencies are not declared: its values lag one communication step "
          "behind from here on (master: on-loop chooses: iterate, delay or error)",
          c->name, c->desc->vars[l->var].name, m->t);
  cpl_status st = set_back(m, k->plan, k->loop);
  guess(m, k->plan->items + k->loop->torn, k->t_end, k->s);
  return st < 0 ? st : around(m, k->plan, k->loop, k->t_end, k->s);
}

// Where a switch happens within a step, a solution may exist for a shorter step only. A loop
// without solution at a time has none in a step of a few roundings either.
static bool try_shorter(const search* k) {
  cpli_master* m = k->m;
  double h = k->t_end - m->t;
  if (k->plan != &m->plans[CPLI_PLAN_STEP] || h <= 1e-14 * fmax(fabs(k->t_end), h)) return false;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_master_part* p = &m->parts[i];
    if (p->stepped && !(p->can_restore && m->saves)) return false;
  }
  m->reach = fmin(m->reach, m->t + h / 2);
  m->halved = true;
  return true;
}

// Whether this step, or the one before it, was halved.
static bool was_halved(const search* k) {
  return k->plan == &k->m->plans[CPLI_PLAN_STEP] && (k->m->halved || k->m->short_step > 0);
}

// The iteration has failed.
static cpl_status end_iteration(search* k, int rounds, size_t where) {
  const int32_t* torn = k->plan->items + k->loop->torn;
  bool found = false, smooth = all_real(k->m, torn, k->s->n);
  if (was_halved(k) && try_shorter(k)) return CPL_RETRY;  // a search failed over a longer step
  double last = k->s->x[where], back = last + k->s->f[where];
  memcpy(k->s->dx, k->s->x, k->s->n * sizeof *k->s->x);
  cpl_status st = smooth ? find_elsewhere(k, &found) : CPL_OK;
  if (st != CPL_OK) return st;
  if (found) {  // to the accuracy its values have
    if (worst_of(k->m, torn, k->s, &where) > 1) note_noise(k->m, torn, k->s);
    return CPL_OK;
  }
  bool assumed = k->loop->assumed && k->m->def.on_loop == CPL_LOOP_AUTO;
  if (smooth && !assumed) {
    st = image(k, k->s->dx, k->s->f_last);
    if (st != CPL_OK || is_noise(k->m, torn, k->s, where)) return st;
  }
  if (!assumed && try_shorter(k)) return CPL_RETRY;
  return assumed ? give_up(k, torn[where]) : diverged(k->m, torn[where], rounds, last, back);
}

//------------------------------------ solution ------------------------------------

static void choose_units(const cpli_master* m, const int32_t* torn, solver* s) {
  for (size_t i = 0; i < s->n; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    double size = size_of(l, s->x[i], s->x[i] + s->f[i]);
    s->unit[i] = size > 0 && isfinite(size) ? size : l->nominal;
  }
}

// A fixed number of fixed-point iterations without a convergence test.
static cpl_status iterate_fixed(search* k) {
  cpl_status st = CPL_OK;
  for (int32_t round = 0; round < k->m->def.fixed_iterations && st == CPL_OK; round++) {
    for (size_t i = 0; i < k->s->n && round > 0; i++) k->s->x[i] += k->s->f[i];
    if (round > 0) st = set_back(k->m, k->plan, k->loop);
    if (st >= 0) st = around(k->m, k->plan, k->loop, k->t_end, k->s);
  }
  return st;
}

// An event at the end of a step is located to rounding. What the values of the loop still change
// must not undo it.
static bool ends_with_event(const search* k) {
  const cpli_master* m = k->m;
  if (k->plan != &m->plans[CPLI_PLAN_STEP]) return false;
  for (int32_t i = 1; i <= k->loop->n; i++) {
    const cpli_step_op* op = k->loop + i;
    if (op->kind != CPLI_OP_STEP) continue;
    const cpli_master_part* p = &m->parts[op->part];
    if (p->stepped && p->result.end == CPL_STEP_EVENT) return true;
  }
  return false;
}

static cpl_status iterate(search* k) {
  static const double sharp = 1e-4;  // of the tolerance
  enum { MAX_SHARP = 4 };            // iterations for that
  int refined = 0;
  cpli_master* m = k->m;
  solver* s = k->s;
  const int32_t* torn = k->plan->items + k->loop->torn;
  int max_rounds = m->def.max_iterations > 0 ? m->def.max_iterations : MAX_ITERATIONS;
  if (was_halved(k) && max_rounds > MAX_HALVED) max_rounds = MAX_HALVED;
  if (!all_real(m, torn, s->n)) s->depth = 0;  // truth values jump: fixed-point iteration
  for (int round = 0;; round++) {
    size_t where = 0;
    cpl_status st = round > 0 ? set_back(m, k->plan, k->loop) : CPL_OK;
    if (st >= 0) st = around(m, k->plan, k->loop, k->t_end, s);
    if (st != CPL_OK) return st;
    double worst = worst_of(m, torn, s, &where);
    if (worst <= sharp) return CPL_OK;
    if (worst <= 1 && (!ends_with_event(k) || refined++ == MAX_SHARP)) return CPL_OK;
    if (round == max_rounds || !isfinite(worst)) return end_iteration(k, round + 1, where);
    if (round == 0) choose_units(m, torn, s);
    if (round > 0 && s->depth > 0) push_difference(s);
    advance(s);
  }
}

cpl_status cpli_master_loop(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* loop,
                            double t_end) {
  const int32_t* torn = plan->items + loop->torn;
  solver s = make_solver(m->work, (size_t)loop->n_torn);
  search k = {.m = m, .plan = plan, .loop = loop, .t_end = t_end, .s = &s};
  guess(m, torn, t_end, &s);
  bool fixed = m->def.fixed_iterations > 0 && plan == &m->plans[CPLI_PLAN_STEP];
  cpl_status st = loop->given_up ? around(m, plan, loop, t_end, &s)
                  : fixed        ? iterate_fixed(&k)
                                 : iterate(&k);
  for (size_t i = 0; i < s.n && st == CPL_OK; i++) m->links[torn[i]].guessed = false;
  return st;
}
