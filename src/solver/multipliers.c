// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints with IDA, which can neither project in its error control nor have its states changed
// without a restart: they become equations, 0 = c(t, x), and the states get as many directions m of
// correction, x' = f - B m, so that the numbers of equations and unknowns agree (the stabilised
// index-2 formulation of Gear, Gupta and Leimkuhler). On the exact solution all m are zero, so B
// matters little as long as it is transversal to the constraints; it consists of their gradients at
// the end of the last step, in units of the tolerance. Of constraints that depend, or almost
// depend, on each other, some are left out.
#include <math.h>

#include "numeric/lu.h"
#include "solver/integrated.h"
#include "solver/normals.h"

struct cpli_multipliers {
  const cpli_normals* of;  // gradients at the last evaluation
  double* direction;       // entries of B, as many as gradients have and in their order
  size_t room;             // allocated entries
  double* c;               // nm
  bool* taken;             // nm: the constraint is an equation
  bool inside;             // the model's own linear system includes them
  // with a model that solves its own linear systems, but cannot include them
  double* reach;  // (n + na) x nm, by columns: the response of its system to B
  double* schur;  // nm x nm
  double *right, *between;
  int32_t* pivot;
};

size_t cpli_multipliers_count(const cpli_integrate* s) {
  const cpl_model_ops* ops = s->m->ops;
  cpl_projection when = cpl_projection_of(&s->def);
  bool can = cpli_method_of(s->def.kind)->residuals && s->n > 0 && ops->constraints != NULL &&
             ops->constraints->get != NULL;
  bool wanted = when == CPL_PROJECT_LAZILY || when == CPL_PROJECT_EVERY_STEP;
  return can && wanted ? (size_t)s->base.base.desc->n_constraints : 0;
}

static bool make_room(cpli_integrate* s, size_t n) {
  struct cpli_multipliers* k = s->multipliers;
  if (n <= k->room) return true;
  cpli_free(s->base.base.ctx, k->direction);
  k->direction = cpli_alloc(s->base.base.ctx, n, sizeof(double));
  k->room = k->direction != NULL ? n : 0;
  return k->direction != NULL;
}

cpl_status cpli_multipliers_look(cpli_integrate* s) {
  struct cpli_multipliers* k = s->multipliers;
  const cpli_normals* p = NULL;
  cpl_status st = cpli_projection_factor(s, s->t_step, s->x, &p);
  if (st != CPL_OK) return st == CPL_RETRY ? CPL_ERR_MODEL : st;
  if (!make_room(s, (size_t)p->first[p->active])) return cpli_nomem(s->base.base.ctx);
  k->of = p;
  // a gradient that turns within a tolerance by its distance to others is not significant
  double new = fmin(0.03, 10 * p->turn);
  for (size_t j = 0; j < s->nm; j++) {
    k->taken[j] = j < p->active && p->left[j] > new;
    for (int32_t e = p->first[j]; j < p->active && e < p->first[j + 1]; e++) {
      double weight = p->weight[p->column[e]];
      k->direction[e] = k->taken[j] ? p->entries[e] / (weight * weight * p->size[j]) : 0;
    }
  }
  return CPL_OK;
}

void cpli_multipliers_start(cpli_integrate* s) {
  size_t first = s->n + s->na;
  memset(s->x + first, 0, s->nm * sizeof(double));
  if (s->multipliers != NULL) memset(s->multipliers->taken, 0, s->nm * sizeof(bool));
  // they are not part of the solution: excluded from the error test
  for (size_t i = first; i < s->all; i++) s->nominal[i] = 1, s->atol[i] = 1e10;
}

cpl_status cpli_multipliers_apply(cpli_integrate* s, const double* x, double* dx) {
  struct cpli_multipliers* k = s->multipliers;
  const double* m = x + s->n + s->na;
  double* rows = dx + s->n + s->na;
  cpl_status st = s->m->ops->constraints->get(s->m, k->c);
  for (size_t j = 0; j < s->nm && st == CPL_OK; j++) {
    rows[j] = k->taken[j] ? k->c[j] : m[j];
    if (!k->taken[j]) continue;  // before the first evaluation of the gradients none is
    for (int32_t e = k->of->first[j]; e < k->of->first[j + 1]; e++)
      dx[k->of->column[e]] -= k->direction[e] * m[j];
  }
  return st;
}

// `out` has the columns of states and algebraic variables; rows of constraints are added here.
cpl_status cpli_multipliers_jacobian(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_multipliers* k = s->multipliers;
  const cpli_normals* p = NULL;
  size_t first = s->n + s->na;
  cpl_status st = cpli_projection_factor(s, t, x, &p);
  if (st != CPL_OK) return st;
  for (size_t j = 0; j < s->all; j++) {
    double* column = out + j * s->all;
    if (j >= first) memset(column, 0, s->all * sizeof *column);
    else memset(column + first, 0, s->nm * sizeof *column);
  }
  for (size_t j = 0; j < s->nm; j++) {
    double* column = out + (first + j) * s->all;
    column[first + j] = !k->taken[j];
    for (int32_t e = p->first[j]; k->taken[j] && e < p->first[j + 1]; e++) {
      out[(size_t)p->column[e] * s->all + first + j] = p->entries[e];
      column[p->column[e]] = -k->direction[e];
    }
  }
  return CPL_OK;
}

//------------------------------------ with a system of the model's own ---------------------------

// Whether the model's own system includes the constraints.
static cpl_status set_border(cpli_integrate* s, bool* inside) {
  const struct cpli_multipliers* k = s->multipliers;
  *inside = s->m->ops->newton != NULL && s->m->ops->newton->border != NULL;
  if (!*inside) return CPL_OK;
  cpl_border border = {.n = s->nm,
                       .n_shaped = k->of->active,
                       .first = k->of->first,
                       .column = k->of->column,
                       .rows = k->of->entries,
                       .columns = k->direction,
                       .taken = k->taken};
  return s->m->ops->newton->border(s->m, &border);
}

// The product of the gradient of constraint j with a vector of states, in units of the tolerance.
static double along(const cpli_normals* p, size_t j, const double* x) {
  double sum = 0;
  for (int32_t e = p->first[j]; e < p->first[j + 1]; e++) sum += p->entries[e] * x[p->column[e]];
  return p->size[j] > 0 ? sum / p->size[j] : sum;
}

static bool make_schur(cpli_integrate* s) {
  struct cpli_multipliers* k = s->multipliers;
  cpl_context* ctx = s->base.base.ctx;
  size_t own = s->n + s->na, nm = s->nm;
  if (k->reach != NULL) return true;
  k->reach = cpli_alloc(ctx, own * nm + nm * nm + 2 * own, sizeof(double));
  k->pivot = cpli_alloc(ctx, nm, sizeof *k->pivot);
  if (k->reach == NULL || k->pivot == NULL) return false;
  k->schur = k->reach + own * nm;
  k->right = k->schur + nm * nm;
  k->between = k->right + own;
  return true;
}

// With A the model's own system, B and C those of the constraints: A dx + gamma B dm = r and C dx =
// c give (C A^-1 gamma B) dm = C A^-1 r - c.
static cpl_status factor_schur(cpli_integrate* s, double t, double gamma) {
  struct cpli_multipliers* k = s->multipliers;
  size_t own = s->n + s->na, nm = s->nm;
  cpl_status st = make_schur(s) ? CPL_OK : cpli_nomem(s->base.base.ctx);
  for (size_t j = 0; j < nm && st == CPL_OK; j++) {
    double *reach = k->reach + j * own, *column = k->schur + j * nm;
    memset(column, 0, nm * sizeof *column);
    column[j] = 1;
    if (!k->taken[j]) continue;
    memset(k->right, 0, own * sizeof *k->right);
    for (int32_t e = k->of->first[j]; e < k->of->first[j + 1]; e++)
      k->right[k->of->column[e]] = gamma * k->direction[e];
    st = s->m->ops->newton->solve(s->m, k->right, reach);
    for (size_t i = 0; i < nm; i++) column[i] = k->taken[i] ? along(k->of, i, reach) : 0;
  }
  if (st != CPL_OK || cpli_lu_factor(k->schur, k->pivot, (int32_t)nm) < 0) return st;
  return cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, t,
                     "the constraints cannot be equations of the integrator at t=%.12g: its system "
                     "is singular with them",
                     t);
}

cpl_status cpli_multipliers_setup(void* user, double t, const double* x, double gamma, bool fresh) {
  cpli_integrate* s = user;
  t += s->t_start;
  struct cpli_multipliers* k = s->multipliers;
  double since = cpli_clock_if(s);
  cpl_status st = cpli_projection_factor(s, t, x, &k->of);
  if (st == CPL_OK) st = set_border(s, &k->inside);
  if (st == CPL_OK) st = cpli_set_point(s, t, x);
  if (st == CPL_OK) st = s->m->ops->newton->setup(s->m, gamma, fresh);
  if (st == CPL_OK && !k->inside) st = factor_schur(s, t, gamma);
  cpli_account(s, since);
  return st;
}

cpl_status cpli_multipliers_solve(void* user, const double* r, double* dx) {
  cpli_integrate* s = user;
  struct cpli_multipliers* k = s->multipliers;
  size_t own = s->n + s->na;
  const double* c = r + own;
  double* dm = dx + own;
  if (k->inside) return s->m->ops->newton->solve(s->m, r, dx);
  cpl_status st = s->m->ops->newton->solve(s->m, r, k->between);
  if (st != CPL_OK) return st;
  for (size_t j = 0; j < s->nm; j++) {
    double size = k->taken[j] && k->of->size[j] > 0 ? k->of->size[j] : 1;
    k->c[j] = k->taken[j] ? along(k->of, j, k->between) - c[j] / size : c[j];
  }
  cpli_lu_solve(k->schur, k->pivot, (int32_t)s->nm, k->c);
  memcpy(dx, k->between, own * sizeof *dx);
  memcpy(dm, k->c, s->nm * sizeof *dm);
  for (size_t j = 0; j < s->nm; j++) {
    const double* reach = k->reach + j * own;
    for (size_t i = 0; k->taken[j] && i < own; i++) dx[i] -= reach[i] * dm[j];
  }
  return CPL_OK;
}

void cpli_multipliers_leave(cpli_integrate* s) {
  const cpl_newton_ops* newton = s->m->ops->newton;
  if (s->nm > 0 && newton != NULL && newton->border != NULL) newton->border(s->m, NULL);
}

//------------------------------------ history ------------------------------------

// Directions are determined anew before each step; the responses are those of the last setup.
void cpli_multipliers_list(cpli_integrate* s, cpli_serial* serial) {
  struct cpli_multipliers* k = s->multipliers;
  cpli_serial_same(serial, k != NULL);
  if (k == NULL || serial->st < 0) return;
  size_t own = s->n + s->na, nm = s->nm;
  bool has = k->reach != NULL;
  for (size_t i = 0; i < nm; i++) cpli_serial_bool(serial, &k->taken[i]);
  cpli_serial_bool(serial, &k->inside);
  cpli_serial_bool(serial, &has);
  if (!has || serial->st < 0) return;
  if (!make_schur(s)) cpli_serial_nomem(serial);
  else cpli_serial_reals(serial, k->reach, own * nm + nm * nm);
  if (serial->st >= 0) cpli_serial_pivots(serial, k->pivot, nm);
}

//------------------------------------ life ------------------------------------

cpl_status cpli_multipliers_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  size_t nm = s->nm;
  if (nm == 0) return CPL_OK;
  struct cpli_multipliers* k = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  s->multipliers = k;
  k->c = cpli_alloc(ctx, nm, sizeof(double));
  k->taken = cpli_alloc(ctx, nm, sizeof *k->taken);
  return k->c != NULL && k->taken != NULL ? CPL_OK : cpli_nomem(ctx);
}

void cpli_multipliers_destroy(cpli_integrate* s) {
  struct cpli_multipliers* k = s->multipliers;
  if (k == NULL) return;
  cpli_free(s->base.base.ctx, k->direction);
  cpli_free(s->base.base.ctx, k->c);
  cpli_free(s->base.base.ctx, k->taken);
  cpli_free(s->base.base.ctx, k->reach);
  cpli_free(s->base.base.ctx, k->pivot);
  cpli_free(s->base.base.ctx, k);
}
