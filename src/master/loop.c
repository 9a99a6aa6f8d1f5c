// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A loop of values that need themselves at the same time: x = G(x), where G walks around the loop
// once, with steps taken back and repeated where there are any. The first iterations are plain
// ones; from the second on, the differences seen so far make a quasi-Newton step (Anderson's
// method), which needs no derivative and converges where plain iteration would not.
#include <math.h>
#include <stdio.h>

#include "master/master.h"

enum { DEPTH = 12, MOST_ITERATIONS = 100 };

typedef struct solver {
  size_t n;
  int depth, columns;
  double *x, *f, *x_last, *f_last;
  double *dx, *df;  // depth columns of n: differences, the newest last
  double* q;        // orthonormal columns of df
  double r[DEPTH][DEPTH], gamma[DEPTH];
} solver;

static solver make_solver(double* work, size_t n) {
  solver s = {.n = n, .depth = n < DEPTH ? (int)n : DEPTH};
  s.x = work;
  s.f = s.x + n;
  s.x_last = s.f + n;
  s.f_last = s.x_last + n;
  s.dx = s.f_last + n;
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
    s->dx[(size_t)s->columns * n + i] = s->x[i] - s->x_last[i];
    s->df[(size_t)s->columns * n + i] = s->f[i] - s->f_last[i];
  }
  s->columns++;
}

// Gram-Schmidt, the newest column first: old ones that say nothing new are left out.
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
  for (int k = m - 1; k >= 0; k--) {
    double sum = dot(s->q + (size_t)k * s->n, s->f, s->n);
    for (int j = k + 1; j < m; j++) sum -= s->r[k][j] * s->gamma[j];
    s->gamma[k] = sum / s->r[k][k];
  }
  memcpy(s->x_last, s->x, s->n * sizeof(double));
  memcpy(s->f_last, s->f, s->n * sizeof(double));
  for (size_t i = 0; i < s->n; i++) {
    double x = s->x[i] + s->f[i];
    for (int k = 0; k < m; k++) {
      size_t at = (size_t)used[k] * s->n + i;
      x -= (s->dx[at] + s->df[at]) * s->gamma[k];
    }
    s->x[i] = x;
  }
}

//------------------------------------ around the loop ------------------------------------

static cpl_status set_back(cpli_master* m, const cpli_plan* plan, const cpli_op* loop) {
  const cpli_op* ops = loop + 1;
  (void)plan;
  for (int32_t i = 0; i < loop->n; i++) {
    if (ops[i].kind != CPLI_OP_STEP) continue;
    cpli_master_part* p = &m->parts[ops[i].part];
    if (!p->stepped || p->kept) continue;
    cpl_status st = cpli_master_rewind(m, p);
    if (st < 0) return st;
  }
  return CPL_OK;
}

static cpl_status around(cpli_master* m, const cpli_plan* plan, const cpli_op* loop, double t_end,
                         solver* s, double* worst) {
  const int32_t* torn = plan->items + loop->torn;
  double tolerance = m->def.loop_tolerance > 0 ? m->def.loop_tolerance : 1e-9;
  for (size_t i = 0; i < s->n; i++) {
    m->links[torn[i]].next = s->x[i];
    m->links[torn[i]].guessed = true;
  }
  int32_t first = (int32_t)(loop - plan->ops) + 1;
  cpl_status st = cpli_master_walk(m, plan, first, first + loop->n, t_end);
  *worst = 0;
  for (size_t i = 0; i < s->n && st == CPL_OK; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    double got = cpli_link_value(m, l);
    s->f[i] = got - s->x[i];
    double scale = tolerance * fmax(fabs(got), l->nominal);
    if (!(fabs(s->f[i]) / scale <= *worst)) *worst = fabs(s->f[i]) / scale;  // NaN is worst
  }
  m->stats.iterations++;
  return st;
}

static cpl_status diverged(cpli_master* m, const cpli_plan* plan, const cpli_op* loop, int n,
                           const solver* s) {
  const cpli_master_link* l = &m->links[plan->items[loop->torn]];
  const cpl_component* c = &m->parts[l->part].s->base;
  return cpl_fail(
      m->base.base.ctx, CPL_ERR_SOLVER,
      "%s: the algebraic loop through %s.%s does not converge at t=%.12g (%d iterations, "
      "the last value is %.9g and comes back as %.9g)",
      m->base.base.name, c->name, c->desc->vars[l->var].name, m->t, n, s->x[0], s->x[0] + s->f[0]);
}

static bool all_real(const cpli_master* m, const int32_t* torn, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (m->links[torn[i]].type != CPL_REAL) return false;
  }
  return true;
}

cpl_status cpli_master_loop(cpli_master* m, const cpli_plan* plan, const cpli_op* loop,
                            double t_end) {
  const int32_t* torn = plan->items + loop->torn;
  solver s = make_solver(m->work, (size_t)loop->n_torn);
  if (!all_real(m, torn, s.n)) s.depth = 0;  // truth values jump: plain iteration
  for (size_t i = 0; i < s.n; i++) {
    const cpli_master_link* l = &m->links[torn[i]];
    cpl_curve guess = cpli_link_curve(m, l, m->t, t_end, false);
    s.x[i] = l->n_past > 0 ? cpli_curve_at(&guess, t_end) : cpli_link_value(m, l);
  }
  int most = m->def.most_iterations > 0 ? m->def.most_iterations : MOST_ITERATIONS;
  for (int k = 0;; k++) {
    double worst;
    cpl_status st = k > 0 ? set_back(m, plan, loop) : CPL_OK;
    if (st >= 0) st = around(m, plan, loop, t_end, &s, &worst);
    if (st != CPL_OK) return st;
    if (worst <= 1) break;
    if (k == most || isnan(worst)) return diverged(m, plan, loop, k + 1, &s);
    if (k > 0 && s.depth > 0) push_difference(&s);
    advance(&s);
  }
  for (size_t i = 0; i < s.n; i++) m->links[torn[i]].guessed = false;
  return CPL_OK;
}
