// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "solver/projection.h"

#include <float.h>
#include <math.h>

#include "solver/integrated.h"

enum { MOST_ITERATIONS = 10 };
static const double small_step = 1e-4;  // of the tolerance: the projection has arrived
static const double dependent = 1e-8;   // what is left of a gradient in the span of the others
static const double hopeless = 100;     // residuals in units of the tolerance, after all

struct cpli_projection {
  size_t n, most, active;
  bool own, by_steps;  // the model projects itself; step by step
  double tolerance;    // of residuals
  double* block;
  double *x, *before, *change, *weight, *perturbed;  // n
  double *c, *c_at, *size, *coefficient;             // most
  double* jac;                                       // most x n, row after row
  double* basis;                                     // rank x n, row after row: orthonormal
  double* r;                                         // most x most: gradients in the basis
  size_t* order;  // most: the constraint each basis vector came from
  size_t rank;
  double last_residual;
};

//------------------------------------ residuals ------------------------------------

static cpl_status residuals(cpli_integrate* s, double t, const double* x, double* c) {
  cpl_status st = cpli_place(s, t, x);
  return st == CPL_OK ? s->m->ops->get_constraints(s->m, c) : st;
}

static double largest(const double* c, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fabs(c[i]) > most || isnan(c[i]) ? fabs(c[i]) : most;
  return most;
}

static void set_weights(cpli_integrate* s, const double* x) {
  struct cpli_projection* p = s->projection;
  for (size_t i = 0; i < p->n; i++) p->weight[i] = 1 / (s->def.rtol * fabs(x[i]) + s->atol[i]);
}

static double norm(const struct cpli_projection* p, const double* change) {
  double sum = 0;
  for (size_t i = 0; i < p->n; i++) sum += change[i] * p->weight[i] * (change[i] * p->weight[i]);
  return p->n > 0 ? sqrt(sum / (double)p->n) : 0;
}

static cpl_status difference_jacobian(cpli_integrate* s, double t, const double* x) {
  struct cpli_projection* p = s->projection;
  memcpy(p->perturbed, x, p->n * sizeof *x);
  for (size_t j = 0; j < p->n; j++) {
    p->perturbed[j] = x[j] + sqrt(DBL_EPSILON) * fmax(fabs(x[j]), s->nominal[j]);
    double delta = p->perturbed[j] - x[j];
    cpl_status st = residuals(s, t, p->perturbed, p->c_at);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < p->active; i++) p->jac[i * p->n + j] = (p->c_at[i] - p->c[i]) / delta;
    p->perturbed[j] = x[j];
  }
  return CPL_OK;
}

static cpl_status jacobian(cpli_integrate* s, double t, const double* x) {
  if (s->m->ops->constraint_jacobian == NULL) return difference_jacobian(s, t, x);
  cpl_status st = cpli_place(s, t, x);
  return st == CPL_OK ? s->m->ops->constraint_jacobian(s->m, s->projection->jac) : st;
}

//------------------------------------ basis ------------------------------------

static double dot(const double* a, const double* b, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void swap_rows(struct cpli_projection* p, size_t i, size_t k) {
  size_t kept = p->order[i];
  p->order[i] = p->order[k];
  p->order[k] = kept;
  for (size_t j = 0; i != k && j < p->n; j++) {
    double entry = p->basis[i * p->n + j];
    p->basis[i * p->n + j] = p->basis[k * p->n + j];
    p->basis[k * p->n + j] = entry;
  }
  for (size_t j = 0; i != k && j < p->rank; j++) {
    double entry = p->r[i * p->most + j];
    p->r[i * p->most + j] = p->r[k * p->most + j];
    p->r[k * p->most + j] = entry;
  }
}

// Takes what lies along the basis vectors out of the gradient in row k; r keeps it.
static void orthogonalise(struct cpli_projection* p, size_t k, size_t first) {
  double* row = p->basis + k * p->n;
  for (size_t j = first; j < p->rank; j++) {
    const double* q = p->basis + j * p->n;
    double part = dot(q, row, p->n);
    p->r[k * p->most + j] += part;
    for (size_t i = 0; i < p->n; i++) row[i] -= part * q[i];
  }
}

// Gram and Schmidt's way with pivoting: next comes the gradient of which most is left, compared
// with its own length, so that no scaling of a constraint changes anything.
static void make_basis(struct cpli_projection* p) {
  size_t n = p->n, m = p->active;
  for (size_t k = 0; k < m; k++) {
    p->order[k] = k;
    for (size_t i = 0; i < n; i++) p->basis[k * n + i] = p->jac[k * n + i] / p->weight[i];
    p->size[k] = sqrt(dot(p->basis + k * n, p->basis + k * n, n));
  }
  memset(p->r, 0, p->most * p->most * sizeof *p->r);
  for (p->rank = 0; p->rank < m;) {
    size_t best = p->rank;
    double most = 0;
    for (size_t k = p->rank; k < m; k++) {
      double* row = p->basis + k * n;
      double own = p->size[p->order[k]], left = own > 0 ? sqrt(dot(row, row, n)) / own : 0;
      if (left > most) best = k, most = left;
    }
    if (!(most > dependent)) break;
    swap_rows(p, p->rank, best);
    orthogonalise(p, p->rank, 0);  // once more, against rounding
    double* row = p->basis + p->rank * n;
    double length = sqrt(dot(row, row, n));
    for (size_t i = 0; i < n; i++) row[i] /= length;
    p->r[p->rank * p->most + p->rank] = length;
    p->rank++;
    for (size_t k = p->rank; k < m; k++) orthogonalise(p, k, p->rank - 1);
  }
}

// change = S from the residuals in c.
static void shortest_step(struct cpli_projection* p, double* change) {
  memset(change, 0, p->n * sizeof *change);
  for (size_t k = 0; k < p->rank; k++) {
    double y = -p->c[p->order[k]];
    for (size_t j = 0; j < k; j++) y -= p->r[k * p->most + j] * p->coefficient[j];
    p->coefficient[k] = y /= p->r[k * p->most + k];
    for (size_t i = 0; i < p->n; i++) change[i] += y * p->basis[k * p->n + i];
  }
  for (size_t i = 0; i < p->n; i++) change[i] /= p->weight[i];
}

static void project_error(const struct cpli_projection* p, double* error) {
  for (size_t i = 0; i < p->n; i++) error[i] *= p->weight[i];
  for (size_t k = 0; k < p->rank; k++) {
    const double* q = p->basis + k * p->n;
    double part = dot(q, error, p->n);
    for (size_t i = 0; i < p->n; i++) error[i] -= part * q[i];
  }
  for (size_t i = 0; i < p->n; i++) error[i] /= p->weight[i];
}

//------------------------------------ projection ------------------------------------

static cpl_status cannot(cpli_integrate* s, double t) {
  return cpl_fail(s->base.base.ctx, CPL_RETRY,
                  "%s: no way onto the constraints was found at t=%.12g (largest residual %.3g)",
                  s->base.base.name, t, s->projection->last_residual);
}

// One step towards the constraints from p->x.
static cpl_status one_step(cpli_integrate* s, double t) {
  struct cpli_projection* p = s->projection;
  cpl_status st = CPL_OK;
  if (p->own || p->by_steps) {
    st = cpli_place(s, t, p->x);
    if (st != CPL_OK) return st;
    return p->own ? s->m->ops->projection(s->m, p->tolerance, MOST_ITERATIONS, p->change)
                  : s->m->ops->projection_step(s->m, p->change);
  }
  st = residuals(s, t, p->x, p->c);
  if (st == CPL_OK) st = jacobian(s, t, p->x);
  if (st != CPL_OK) return st;
  make_basis(p);
  shortest_step(p, p->change);
  return CPL_OK;
}

// Residuals after the last step: constraints that contradict each other leave some.
static cpl_status check_end(cpli_integrate* s, double t) {
  struct cpli_projection* p = s->projection;
  if (s->m->ops->get_constraints == NULL) return CPL_OK;
  double before = p->last_residual;
  cpl_status st = residuals(s, t, p->x, p->c_at);
  if (st != CPL_OK) return st;
  double after = largest(p->c_at, p->active);
  if (!(after > hopeless * p->tolerance && after > 0.5 * before)) return CPL_OK;
  p->last_residual = after;
  return cannot(s, t);
}

// p->x onto the constraints; *distance in units of the tolerance.
static cpl_status project(cpli_integrate* s, double t, double* distance) {
  struct cpli_projection* p = s->projection;
  double last = INFINITY;
  memcpy(p->before, p->x, p->n * sizeof *p->x);
  set_weights(s, p->x);
  for (int round = 0;; round++) {
    cpl_status st = one_step(s, t);
    if (st != CPL_OK) return st;
    double size = norm(p, p->change);
    bool away = !isfinite(size) || (round > 1 && size > 2 * last);
    if (away || round == MOST_ITERATIONS) return cannot(s, t);
    for (size_t i = 0; i < p->n; i++) p->x[i] += p->change[i];
    last = size;
    if (size <= small_step || p->own) break;
  }
  for (size_t i = 0; i < p->n; i++) p->change[i] = p->x[i] - p->before[i];
  *distance = norm(p, p->change);
  return check_end(s, t);
}

cpl_status cpli_projection_due(cpli_integrate* s, double t, const double* x, bool* due) {
  struct cpli_projection* p = s->projection;
  *due = p->active > 0;
  if (p->active == 0) return CPL_OK;
  if (s->m->ops->get_constraints == NULL) return CPL_OK;  // only the projection itself can tell
  cpl_status st = residuals(s, t, x, p->c);
  if (st != CPL_OK) return st;
  p->last_residual = largest(p->c, p->active);
  if (s->def.projection == CPL_PROJECT_EVERY_STEP) return CPL_OK;
  *due = !(p->last_residual <= p->tolerance);
  for (size_t k = 0; k < p->active && !*due; k++)
    *due = p->size[k] > 0 && fabs(p->c[k]) > p->size[k] * sqrt((double)p->n);
  return CPL_OK;
}

static void count(cpli_integrate* s, double distance) {
  s->stats.projections++;
  s->stats.largest_projection = fmax(s->stats.largest_projection, distance);
  s->stats.largest_residual = fmax(s->stats.largest_residual, s->projection->last_residual);
}

// p->x is the end, p->change the way; *moved: whether there was any.
static cpl_status project_if_due(cpli_integrate* s, double t, const double* x, double limit,
                                 bool* moved) {
  struct cpli_projection* p = s->projection;
  double distance = 0, since = cpli_clock_if(s);
  *moved = false;
  cpl_status st = cpli_projection_due(s, t, x, moved);
  if (st == CPL_OK && *moved) {
    memcpy(p->x, x, p->n * sizeof *x);
    st = project(s, t, &distance);
    bool unseen = s->m->ops->get_constraints == NULL && s->def.projection != CPL_PROJECT_EVERY_STEP;
    if (st == CPL_OK && unseen && distance <= 1) *moved = false;
  }
  cpli_account(s, since);
  if (st != CPL_OK || !*moved) return st;
  if (distance > limit) {
    return cpl_fail(s->base.base.ctx, CPL_RETRY,
                    "%s: the way onto the constraints at t=%.12g is %.3g times the tolerance",
                    s->base.base.name, t, distance);
  }
  count(s, distance);
  return CPL_OK;
}

cpl_status cpli_projection_apply(cpli_integrate* s, double t, double* x, double limit) {
  bool moved = false;
  cpl_status st = project_if_due(s, t, x, limit, &moved);
  if (st == CPL_OK && moved) memcpy(x, s->projection->x, s->n * sizeof *x);
  return st;
}

cpl_status cpli_projection_correct(cpli_integrate* s, double t, const double* x, double* correction,
                                   double* error) {
  static const double limit = 10;
  struct cpli_projection* p = s->projection;
  bool moved = false;
  cpl_status st = project_if_due(s, t, x, limit, &moved);
  if (st != CPL_OK) return st;
  memset(correction, 0, p->n * sizeof *correction);
  if (!moved) return CPL_OK;
  memcpy(correction, p->change, p->n * sizeof *correction);
  bool has_basis = !p->own && !p->by_steps;
  if (error != NULL && has_basis) project_error(p, error);
  return CPL_OK;
}

//------------------------------------ life ------------------------------------

static cpl_status begin(cpli_integrate* s) {
  struct cpli_projection* p = s->projection;
  bool due = false;
  double distance = 0;
  cpl_status st = s->m->ops->count_constraints(s->m, &p->active);
  if (st != CPL_OK || p->active == 0) return st;
  memset(p->size, 0, p->most * sizeof *p->size);
  st = cpli_projection_due(s, s->t, s->x, &due);
  if (st != CPL_OK) return st;
  memcpy(p->x, s->x, p->n * sizeof *p->x);
  st = project(s, s->t, &distance);  // gradients are wanted in any case: how far is far
  if (st != CPL_OK || !due) return st;
  if (distance > 1)
    cpl_log(s->base.base.ctx, CPL_LOG_INFO, s->base.base.name,
            "states at t=%.12g were %.3g times the tolerance off the constraints: projected", s->t,
            distance);
  count(s, distance);
  memcpy(s->x, p->x, p->n * sizeof *p->x);
  return CPL_OK;
}

cpl_status cpli_projection_begin(cpli_integrate* s) {
  if (s->projection == NULL) return CPL_OK;
  cpl_status st = begin(s);
  if (st == CPL_OK) st = cpli_place(s, s->t, s->x);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

cpl_status cpli_projection_recount(cpli_integrate* s) {
  if (s->projection == NULL || !s->running || s->in_event) return CPL_OK;
  return s->m->ops->count_constraints(s->m, &s->projection->active);
}

void cpli_projection_destroy(cpli_integrate* s) {
  if (s->projection == NULL) return;
  cpli_free(s->base.base.ctx, s->projection->block);
  cpli_free(s->base.base.ctx, s->projection->order);
  cpli_free(s->base.base.ctx, s->projection);
}

static cpl_status refuse(const cpli_integrate* s) {
  return cpl_fail(s->base.base.ctx, CPL_ERR_INPUT,
                  "%s: solver %s cannot project onto the constraints of the model (CVODE projects "
                  "with BDF only); take cvode, radau, dopri5, erk8, esdirk5 or rk4, or projection "
                  "by events or off",
                  s->base.base.name, cpl_solver_name(s->def.kind));
}

cpl_status cpli_projection_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  size_t n = s->n, m = (size_t)s->base.base.desc->n_constraints;
  const cpl_model_ops* ops = s->m->ops;
  s->def.projection = cpl_projection_of(&s->def);
  if (m == 0 || n == 0 || ops->count_constraints == NULL || s->def.projection == CPL_PROJECT_NEVER)
    return CPL_OK;
  bool cannot_project = s->def.kind == CPL_SOLVER_ADAMS || s->def.kind == CPL_SOLVER_IDA;
  if (cannot_project && s->def.projection != CPL_PROJECT_BY_EVENTS) return refuse(s);
  struct cpli_projection* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  s->projection = p;
  *p =
      (struct cpli_projection){.n = n,
                               .most = m,
                               .tolerance = s->def.atol > 0 ? s->def.atol : s->def.rtol,
                               .own = ops->projection != NULL,
                               .by_steps = ops->projection == NULL && ops->projection_step != NULL};
  struct {
    double** to;
    size_t size;
  } rooms[] = {{&p->x, n},           {&p->before, n},  {&p->change, n},    {&p->weight, n},
               {&p->perturbed, n},   {&p->c, m},       {&p->c_at, m},      {&p->size, m},
               {&p->coefficient, m}, {&p->jac, m * n}, {&p->basis, m * n}, {&p->r, m * m}};
  size_t total = 0;
  for (size_t i = 0; i < CPLI_COUNT(rooms); i++) total += rooms[i].size;
  p->block = cpli_alloc(ctx, total, sizeof(double));
  p->order = cpli_alloc(ctx, m, sizeof *p->order);
  if (p->block == NULL || p->order == NULL) return cpli_nomem(ctx);
  total = 0;
  for (size_t i = 0; i < CPLI_COUNT(rooms); i++) {
    *rooms[i].to = p->block + total;
    total += rooms[i].size;
  }
  return CPL_OK;
}

static const char* const names[] = {[CPL_PROJECT_AS_FITS] = "auto",
                                    [CPL_PROJECT_LAZILY] = "lazy",
                                    [CPL_PROJECT_EVERY_STEP] = "every",
                                    [CPL_PROJECT_BY_EVENTS] = "events",
                                    [CPL_PROJECT_NEVER] = "off"};

bool cpl_projection_by_name(const char* name, cpl_projection* out) {
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *out = (cpl_projection)i;
    return true;
  }
  return false;
}

const char* cpl_projection_name(cpl_projection when) { return names[when]; }

cpl_projection cpl_projection_of(const cpl_solver_def* def) {
  if (def->projection != CPL_PROJECT_AS_FITS) return def->projection;
  return def->kind == CPL_SOLVER_CVODE ? CPL_PROJECT_EVERY_STEP : CPL_PROJECT_LAZILY;
}
