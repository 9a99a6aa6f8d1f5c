// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints with IDA, which can neither project in its error control nor have its states moved
// without a restart: they become equations, 0 = c(t, x), and the states get as many directions m in
// which they may give way, x' = f - B m, so that there are as many unknowns (Gear, Gupta and
// Leimkuhler's stabilised index 2). On the exact solution all m are zero, so it matters little what
// B is as long as it leads away from the constraints; it is their gradients at the end of the last
// step, in units of the tolerance. Of constraints that depend on each other, or all but, some are
// left out.
#include <math.h>

#include "model/manifold.h"
#include "solver/integrated.h"

struct cpli_multipliers {
  double* direction;  // n x nm, column after column
  double* c;          // nm
  bool* taken;        // nm: the constraint is an equation
};

size_t cpli_multipliers_count(const cpli_integrate* s) {
  const cpl_model_ops* ops = s->m->ops;
  cpl_projection when = cpl_projection_of(&s->def);
  bool can = s->def.kind == CPL_SOLVER_IDA && s->n > 0 && ops->count_constraints != NULL &&
             ops->get_constraints != NULL && ops->newton_setup == NULL;
  bool wanted = when == CPL_PROJECT_LAZILY || when == CPL_PROJECT_EVERY_STEP;
  return can && wanted ? (size_t)s->base.base.desc->n_constraints : 0;
}

cpl_status cpli_multipliers_look(cpli_integrate* s) {
  struct cpli_multipliers* k = s->multipliers;
  const cpli_manifold* p = NULL;
  cpl_status st = cpli_projection_factor(s, s->t_step, s->x, &p);
  if (st != CPL_OK) return st == CPL_RETRY ? CPL_ERR_MODEL : st;
  memset(k->taken, 0, s->nm * sizeof *k->taken);
  memset(k->direction, 0, s->nm * s->n * sizeof(double));
  // a gradient that turns within a tolerance by as much as it differs from others says nothing
  double new = fmin(0.03, 10 * p->turn);
  for (size_t r = 0; r < p->rank && p->left[r] > new; r++) {
    size_t j = p->order[r];
    double* direction = k->direction + j * s->n;
    k->taken[j] = true;
    for (size_t i = 0; i < s->n; i++)
      direction[i] = p->gradients[j * s->n + i] / (p->weight[i] * p->weight[i] * p->size[j]);
  }
  return CPL_OK;
}

void cpli_multipliers_start(cpli_integrate* s) {
  size_t first = s->n + s->na;
  memset(s->x + first, 0, s->nm * sizeof(double));
  // they are no part of the solution: no error of theirs counts
  for (size_t i = first; i < s->all; i++) s->nominal[i] = 1, s->atol[i] = 1e10;
}

cpl_status cpli_multipliers_apply(cpli_integrate* s, const double* x, double* dx) {
  struct cpli_multipliers* k = s->multipliers;
  const double* m = x + s->n + s->na;
  double* rows = dx + s->n + s->na;
  cpl_status st = s->m->ops->get_constraints(s->m, k->c);
  for (size_t j = 0; j < s->nm && st == CPL_OK; j++) {
    rows[j] = k->taken[j] ? k->c[j] : m[j];
    for (size_t i = 0; i < s->n; i++) dx[i] -= k->direction[j * s->n + i] * m[j];
  }
  return st;
}

// `out` has the columns of states and algebraic variables, with rows of constraints still to come.
cpl_status cpli_multipliers_jacobian(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_multipliers* k = s->multipliers;
  const cpli_manifold* p = NULL;
  size_t first = s->n + s->na;
  cpl_status st = cpli_projection_factor(s, t, x, &p);
  if (st != CPL_OK) return st;
  for (size_t j = 0; j < s->all; j++) {
    double* column = out + j * s->all;
    if (j >= first) memset(column, 0, s->all * sizeof *column);
    for (size_t i = 0; i < s->nm; i++)
      column[first + i] = k->taken[i] && j < s->n ? p->gradients[i * s->n + j] : 0;
  }
  for (size_t j = 0; j < s->nm; j++) {
    double* column = out + (first + j) * s->all;
    for (size_t i = 0; i < s->n; i++) column[i] = -k->direction[j * s->n + i];
    column[first + j] = !k->taken[j];
  }
  return CPL_OK;
}

cpl_status cpli_multipliers_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  if (s->nm == 0) return CPL_OK;
  struct cpli_multipliers* k = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  s->multipliers = k;
  k->direction = cpli_alloc(ctx, s->nm * s->n + s->nm, sizeof(double));
  k->taken = cpli_alloc(ctx, s->nm, sizeof *k->taken);
  if (k->direction == NULL || k->taken == NULL) return cpli_nomem(ctx);
  k->c = k->direction + s->nm * s->n;
  return CPL_OK;
}

void cpli_multipliers_destroy(cpli_integrate* s) {
  struct cpli_multipliers* k = s->multipliers;
  if (k == NULL) return;
  cpli_free(s->base.base.ctx, k->direction);
  cpli_free(s->base.base.ctx, k->taken);
  cpli_free(s->base.base.ctx, k);
}
