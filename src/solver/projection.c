// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Coordinate projection (E. Eich) by a simplified Newton iteration in the norm of the tolerances;
// most of the component that a projection removes is also removed from the error estimate of the
// step. Where projections become long, a test distinguishes errors of the steps from equations that
// do not keep the constraints.
#include "solver/projection.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "solver/integrated.h"
#include "solver/normals.h"

enum { MAX_ITERATIONS = 10, LARGE = 10000 };
static const double small_step = 1e-4;  // in units of the tolerance: the projection has converged,
static const double rounded = 0.5;      // and where rounding errors of the residuals stop it
static const double hopeless = 100;  // residuals in units of the tolerance at which it has failed
static const double far = 10;        // a projection that long, in units of the tolerance, counts
                                     // as much in an error test as an error of 1

struct cpli_projection {
  size_t n, active;
  bool own, by_steps;  // the model projects itself; step by step
  double tolerance;    // of residuals
  cpli_normals normals;
  double* block;
  double* matrix;           // gradients of a large model without sparsity pattern. Nullable.
  double *x, *perturbed;    // states and algebraic variables; the latter are constant
  double *before, *change;  // n
  double *c, *c_at;         // as many as the maximum number of constraints
  double* c_before;         // before the projection
  double last_residual;
  size_t worst;    // the constraint with the largest residual
  bool warned;     // of states that had to be moved before the run starts
  double* slopes;  // n
  double*
      leaves;  // 3 times the number of constraints: residuals at distances back along the slopes
  int64_t longer;      // projections longer than the tolerance
  int32_t violations;  // consecutive times that the equations violated the constraints by much
  bool reported;       // that violation was reported
};

//------------------------------------ residuals ------------------------------------

static cpl_status residuals(cpli_integrate* s, double t, const double* x, double* c) {
  cpl_status st = cpli_set_point(s, t, x);
  return st == CPL_OK ? s->m->ops->constraints->get(s->m, c) : st;
}

// Records the largest one.
static void note_largest(cpli_integrate* s, const double* c) {
  struct cpli_projection* p = s->projection;
  p->worst = 0;
  for (size_t i = 1; i < p->active && !isnan(c[p->worst]); i++) {
    if (!(fabs(c[i]) <= fabs(c[p->worst]))) p->worst = i;
  }
  p->last_residual = p->active > 0 ? fabs(c[p->worst]) : 0;
}

static void name_worst(cpli_integrate* s, char* out, size_t size) {
  snprintf(out, size, "constraint %zu", s->projection->worst + 1);
  if (s->m->ops->constraints->name != NULL)
    s->m->ops->constraints->name(s->m, s->projection->worst, out, size);
}

static void set_weights(cpli_integrate* s, const double* x) {
  struct cpli_projection* p = s->projection;
  for (size_t i = 0; i < p->n; i++)
    p->normals.weight[i] = 1 / (s->def.rtol * fabs(x[i]) + s->atol[i]);
  p->normals.turn = fmax(s->def.rtol, p->tolerance);
}

static cpl_status difference_jacobian(cpli_integrate* s, double t, const double* x, double* out) {
  struct cpli_projection* p = s->projection;
  memcpy(p->perturbed, x, s->all * sizeof *x);
  for (size_t j = 0; j < p->n; j++) {
    p->perturbed[j] = x[j] + sqrt(DBL_EPSILON) * fmax(fabs(x[j]), s->nominal[j]);
    double delta = p->perturbed[j] - x[j];
    cpl_status st = residuals(s, t, p->perturbed, p->c_at);
    if (st != CPL_OK) return st;
    for (size_t i = 0; i < p->active; i++) out[i * p->n + j] = (p->c_at[i] - p->c[i]) / delta;
    p->perturbed[j] = x[j];
  }
  return CPL_OK;
}

static cpl_status full_jacobian(cpli_integrate* s, double t, const double* x, double* out) {
  if (s->m->ops->constraints->jacobian == NULL) return difference_jacobian(s, t, x, out);
  cpl_status st = cpli_set_point(s, t, x);
  return st == CPL_OK ? s->m->ops->constraints->jacobian(s->m, out) : st;
}

static cpl_status jacobian(cpli_integrate* s, double t, const double* x) {
  struct cpli_projection* p = s->projection;
  if (p->matrix != NULL) {
    cpl_status st = full_jacobian(s, t, x, p->matrix);
    return st == CPL_OK ? cpli_normals_take(&p->normals, p->active, p->matrix) : st;
  }
  if (s->m->ops->constraints->entries == NULL) return full_jacobian(s, t, x, p->normals.entries);
  cpl_status st = cpli_set_point(s, t, x);
  return st == CPL_OK ? s->m->ops->constraints->entries(s->m, p->normals.entries) : st;
}

//------------------------------------ projection ------------------------------------

static cpl_status cannot(cpli_integrate* s, double t) {
  char worst[300];
  name_worst(s, worst, sizeof worst);
  return cpl_fail_in(
      s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, t,
      "no projection onto the constraints was found at t=%.12g (largest residual %.3g, of "
      "%s)",
      t, s->projection->last_residual, worst);
}

// Residuals and gradients at x.
static cpl_status factor(cpli_integrate* s, double t, const double* x) {
  struct cpli_projection* p = s->projection;
  cpl_status st = residuals(s, t, x, p->c);
  if (st == CPL_OK) st = jacobian(s, t, x);
  if (st == CPL_OK) cpli_normals_factor(&p->normals);
  return st;
}

// One step towards the constraints from p->x. The gradients of the first step are reused in the
// next ones unless these do not converge.
static cpl_status one_step(cpli_integrate* s, double t, bool fresh) {
  struct cpli_projection* p = s->projection;
  cpl_status st = CPL_OK;
  if (p->own || p->by_steps) {
    st = cpli_set_point(s, t, p->x);
    if (st != CPL_OK) return st;
    return p->own
               ? s->m->ops->constraints->projection(s->m, p->tolerance, MAX_ITERATIONS, p->change)
               : s->m->ops->constraints->projection_step(s->m, p->change);
  }
  st = fresh ? factor(s, t, p->x) : residuals(s, t, p->x, p->c);
  if (st == CPL_OK) cpli_normals_step(&p->normals, p->c, p->change);
  return st;
}

// The residual of a point at a distance of the tolerance; for a constraint without gradient, the
// absolute tolerance.
static double reach(const struct cpli_projection* p, size_t k) {
  double size = p->normals.size[k] * sqrt((double)p->n);
  return size > 0 ? size : p->tolerance;
}

// Residuals after the last step: inconsistent constraints leave some.
static cpl_status check_end(cpli_integrate* s, double t) {
  struct cpli_projection* p = s->projection;
  if (s->m->ops->constraints->get == NULL) return CPL_OK;
  cpl_status st = residuals(s, t, p->x, p->c_at);
  for (size_t k = 0; k < p->active && st == CPL_OK; k++) {
    double after = fabs(p->c_at[k]);
    if (!(after > hopeless * reach(p, k) && after > 0.5 * fabs(p->c_before[k]))) continue;
    note_largest(s, p->c_at);
    st = cannot(s, t);
  }
  return st;
}

// Where constraints almost depend on each other, rounding errors of the residuals keep the
// iteration moving, as they do where residuals are differences (those of sensitivities).
static bool is_there(const struct cpli_projection* p, double small) {
  for (size_t k = 0; k < p->active; k++) {
    if (!(fabs(p->c[k]) <= small * reach(p, k))) return false;
  }
  return true;
}

// Whether constraints are still violated that were left out because the first gradients were
// evaluated too far away to distinguish them from others.
static bool some_left_out(const struct cpli_projection* p, double small) {
  return cpli_normals_left_some(&p->normals) && !is_there(p, small);
}

// Projects p->x onto the constraints; *distance in units of the tolerance.
static cpl_status project(cpli_integrate* s, double t, double* distance) {
  struct cpli_projection* p = s->projection;
  double last = INFINITY, small = fmax(small_step, 10 * DBL_EPSILON / s->def.rtol);
  bool fresh = true, by_model = p->own || p->by_steps;
  memcpy(p->before, p->x, p->n * sizeof *p->x);
  set_weights(s, p->x);
  for (int round = 0;; round++) {
    cpl_status st = one_step(s, t, fresh);
    if (st != CPL_OK) return st;
    double size = cpli_normals_norm(&p->normals, p->change);
    bool away = !isfinite(size) || (round > 1 && size > 2 * last);
    if (away || round == MAX_ITERATIONS) {
      if (!by_model && (size <= rounded || is_there(p, small))) break;
      return cannot(s, t);
    }
    for (size_t i = 0; i < p->n; i++) p->x[i] += p->change[i];
    bool arrived = size <= small || p->own;
    if (arrived && (fresh || by_model || !some_left_out(p, small))) break;
    fresh = arrived || size > 0.1 * last;
    last = arrived ? INFINITY : size;
  }
  for (size_t i = 0; i < p->n; i++) p->change[i] = p->x[i] - p->before[i];
  *distance = cpli_normals_norm(&p->normals, p->change);
  return check_end(s, t);
}

cpl_status cpli_projection_factor(cpli_integrate* s, double t, const double* x,
                                  const cpli_normals** out) {
  set_weights(s, x);
  *out = &s->projection->normals;
  return factor(s, t, x);
}

cpl_status cpli_projection_due(cpli_integrate* s, double t, const double* x, bool* due) {
  struct cpli_projection* p = s->projection;
  *due = p->active > 0;
  if (p->active == 0) return CPL_OK;
  if (s->m->ops->constraints->get == NULL) return CPL_OK;  // only the projection itself can tell
  cpl_status st = residuals(s, t, x, p->c);
  if (st != CPL_OK) return st;
  memcpy(p->c_before, p->c, p->active * sizeof *p->c);
  note_largest(s, p->c);
  if (s->def.projection == CPL_PROJECT_EVERY_STEP) return CPL_OK;
  *due = !(p->last_residual <= p->tolerance);
  for (size_t k = 0; k < p->active && !*due; k++)
    *due = p->normals.size[k] > 0 && fabs(p->c[k]) > p->normals.size[k] * sqrt((double)p->n);
  return CPL_OK;
}

static void count(cpli_integrate* s, double distance) {
  s->stats.projections++;
  s->stats.largest_projection = fmax(s->stats.largest_projection, distance);
  s->stats.largest_residual = fmax(s->stats.largest_residual, s->projection->last_residual);
}

//------------------------------------ are they constraints? ------------------------------------

// The residuals at three distances from the end of the step, back along the slopes there: where the
// equations keep the constraints, they decrease with the square of the distance, otherwise
// linearly.
static cpl_status look_back(cpli_integrate* s, double t, double h) {
  struct cpli_projection* p = s->projection;
  cpl_status st = p->own || p->by_steps ? factor(s, t, p->x) : residuals(s, t, p->x, p->c);
  if (st == CPL_OK) st = cpli_set_point(s, t, p->x);
  if (st == CPL_OK) st = s->m->ops->get_derivatives(s->m, p->slopes);
  memcpy(p->perturbed, p->x, s->all * sizeof *p->x);
  for (int k = 0; k < 3 && st == CPL_OK; k++, h /= 2) {
    double* c = p->leaves + (size_t)k * p->active;
    for (size_t i = 0; i < p->n; i++) p->perturbed[i] = p->x[i] - h * p->slopes[i];
    st = residuals(s, t - h, p->perturbed, c);
    for (size_t i = 0; i < p->active; i++) c[i] -= p->c[i];
  }
  return st;
}

static bool is_linear(double at, double half) { return fabs(at - 2 * half) <= 0.25 * fabs(at); }

// The ratio of a constraint's rate of change to the sum of the magnitudes of its terms; 0: it is
// kept.
static double rate(const struct cpli_projection* p, size_t k, double h) {
  static const double noise = 5e-3;  // of the tolerance
  const double* c = p->leaves + k;
  double terms = 0, last = c[2 * p->active];
  for (int32_t e = p->normals.first[k]; e < p->normals.first[k + 1]; e++)
    terms += fabs(p->normals.entries[e] * p->slopes[p->normals.column[e]]);
  if (!(fabs(last) > noise * p->normals.size[k] * sqrt((double)p->n))) return 0;
  if (!is_linear(c[0], c[p->active]) || !is_linear(c[p->active], last)) return 0;
  return fabs(last) / fmax(terms * h / 4, fabs(last));
}

static cpl_status lead_away(cpli_integrate* s, double t, double h, double share) {
  static const double much = 0.05;
  static const int32_t often = 4;
  struct cpli_projection* p = s->projection;
  double change = fabs(p->leaves[2 * p->active + p->worst]) / (h / 4);
  char worst[300];
  name_worst(s, worst, sizeof worst);
  p->violations = share > much ? p->violations + 1 : 0;
  if (p->violations >= often)
    return cpl_fail_in(s->base.base.ctx, CPL_ERR_MODEL, s->base.base.name, NULL, t,
                       "the equations do not keep the constraints: at t=%.12g they change %s at a "
                       "rate of %.3g, which is %.2g of the sum of its terms",
                       t, worst, change, share);
  if (!p->reported && share <= much)
    cpl_log(s->base.base.ctx, CPL_LOG_WARNING, s->base.base.name,
            "the equations lead away from the constraints: at t=%.12g they change %s at a rate of "
            "%.3g (%.2g of the sum of its terms), and the projection undoes it; either its "
            "derivative is missing among the constraints or it does not belong to the equations",
            t, worst, change, share);
  p->reported = p->reported || share <= much;
  return CPL_OK;
}

// A step violated the constraints by more than the tolerance: is that an error of the step, or do
// the equations themselves violate them? They do slightly where a constraint is given without its
// derivative. Tested at the first, second, fourth, ... occurrence.
static cpl_status check_rates(cpli_integrate* s, double t) {
  struct cpli_projection* p = s->projection;
  double h = (t - s->t_step) / 16, max = 0;
  int64_t times = ++p->longer;
  if ((times & (times - 1)) != 0 || !(t - h / 4 < t)) return CPL_OK;
  cpl_status st = look_back(s, t, h);
  if (st != CPL_OK) return st < 0 ? st : CPL_OK;  // no result there
  for (size_t k = 0; k < p->active; k++) {
    double share = rate(p, k, h);
    if (share > max) max = share, p->worst = k;
  }
  if (max > 0) return lead_away(s, t, h, max);
  p->violations = 0;
  return CPL_OK;
}

// p->x is the end, p->change the displacement; *moved: whether there was any. in_step: x is the end
// of a step that is not accepted yet.
static cpl_status project_if_due(cpli_integrate* s, double t, const double* x, bool in_step,
                                 double limit, bool* moved) {
  struct cpli_projection* p = s->projection;
  double distance = 0, since = cpli_clock_if(s);
  *moved = false;
  cpl_status st = cpli_projection_due(s, t, x, moved);
  if (st == CPL_OK && *moved) {
    memcpy(p->x, x, s->all * sizeof *x);
    st = project(s, t, &distance);
  }
  cpli_account(s, since);
  if (st != CPL_OK || !*moved) return st;
  if (distance > 1 && in_step && s->m->ops->constraints->get != NULL) st = check_rates(s, t);
  if (st == CPL_OK && distance > limit)
    st = cpl_fail_in(s->base.base.ctx, CPL_RETRY, s->base.base.name, NULL, t,
                     "the projection onto the constraints at t=%.12g is %.3g times the tolerance",
                     t, distance);
  if (st == CPL_OK) count(s, distance);
  return st;
}

cpl_status cpli_projection_apply(cpli_integrate* s, double t, double* x, double limit) {
  bool moved = false;
  cpl_status st = project_if_due(s, t, x, limit < INFINITY, limit, &moved);
  if (st == CPL_OK && moved) memcpy(x, s->projection->x, s->n * sizeof *x);
  return st;
}

cpl_status cpli_projection_correct(cpli_integrate* s, double t, const double* x, double* correction,
                                   double* error) {
  struct cpli_projection* p = s->projection;
  bool moved = false;
  cpl_status st = project_if_due(s, t, x, true, INFINITY, &moved);
  if (st != CPL_OK) return st;
  memset(correction, 0, p->n * sizeof *correction);
  if (!moved) return CPL_OK;
  memcpy(correction, p->change, p->n * sizeof *correction);
  if (error == NULL || s->m->ops->constraints->get == NULL) return CPL_OK;
  if (p->own || p->by_steps) st = factor(s, t, x);
  if (st == CPL_OK) cpli_normals_remove(&p->normals, 1 - 1 / far, error);
  return st;
}

//------------------------------------ life ------------------------------------

// Given values are changed: small corrections are logged, large ones are warned of.
static void tell_moved(cpli_integrate* s, double distance) {
  static const double surprising = 1e-3;
  struct cpli_projection* p = s->projection;
  const cpl_description* d = s->m->base.desc;  // of the current structure
  char worst[300], off[360] = "";
  size_t max = 0;
  double share = 0;
  if (!(distance > 1)) return;
  for (size_t i = 0; i < p->n; i++) {
    double size = fabs(p->x[i] - s->x[i]) / fmax(fabs(s->x[i]), s->nominal[i]);
    if (size > share) share = size, max = i;
  }
  name_worst(s, worst, sizeof worst);
  if (s->m->ops->constraints->get != NULL)
    snprintf(off, sizeof off, " (%s is off by %.3g)", worst, p->last_residual);
  bool warn = share > surprising && !p->warned;
  p->warned = p->warned || warn;
  cpl_log(s->base.base.ctx, warn ? CPL_LOG_WARNING : CPL_LOG_INFO, s->base.base.name,
          "the states at t=%.12g do not meet the constraints%s and were moved onto them: %s from "
          "%.6g to %.6g",
          s->t, off, d->states[max] >= 0 ? d->vars[d->states[max]].name : "a state", s->x[max],
          p->x[max]);
}

// Which constraints are active, and which states they depend on.
static cpl_status count_active(cpli_integrate* s) {
  struct cpli_projection* p = s->projection;
  const cpl_model_ops* ops = s->m->ops;
  const int32_t *first = NULL, *column = NULL;
  cpl_status st = ops->constraints->count(s->m, &p->active);
  if (st == CPL_OK && ops->constraints->pattern != NULL)
    st = ops->constraints->pattern(s->m, &first, &column);
  if (p->matrix != NULL) return st;  // its first evaluation shows them
  return st == CPL_OK ? cpli_normals_shape(&p->normals, p->active, first, column) : st;
}

static cpl_status begin(cpli_integrate* s) {
  struct cpli_projection* p = s->projection;
  bool due = false;
  double distance = 0;
  p->longer = 0;
  p->violations = 0;
  cpl_status st = count_active(s);
  if (st != CPL_OK || p->active == 0) return st;
  memset(p->normals.size, 0, p->normals.max * sizeof(double));
  st = cpli_projection_due(s, s->t, s->x, &due);
  if (st != CPL_OK) return st;
  memcpy(p->x, s->x, s->all * sizeof *p->x);
  // gradients are needed in any case as the scale of distances
  bool by_model = (p->own || p->by_steps) && s->m->ops->constraints->get != NULL;
  set_weights(s, s->x);
  st = by_model ? factor(s, s->t, s->x) : CPL_OK;
  if (st == CPL_OK) st = project(s, s->t, &distance);
  if (st != CPL_OK || !due) return st;
  tell_moved(s, distance);
  count(s, distance);
  memcpy(s->x, p->x, p->n * sizeof *p->x);
  return CPL_OK;
}

cpl_status cpli_projection_begin(cpli_integrate* s) {
  if (s->projection == NULL) return CPL_OK;
  cpl_status st = begin(s);
  if (st == CPL_OK) st = cpli_set_point(s, s->t, s->x);
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

cpl_status cpli_projection_recount(cpli_integrate* s) {
  if (s->projection == NULL || !s->running || s->in_event) return CPL_OK;
  return count_active(s);
}

// The scale of distances is that of the last gradients; the active constraints are those of the
// model.
void cpli_projection_list(cpli_integrate* s, cpli_serial* serial) {
  struct cpli_projection* p = s->projection;
  cpli_serial_same(serial, p != NULL);
  if (p == NULL || serial->st < 0) return;
  int32_t worst = (int32_t)p->worst;
  bool* flags[] = {&p->warned, &p->reported};
  if (s->running && !s->in_event) cpli_serial_same(serial, p->active);
  cpli_normals_list(&p->normals, serial);
  cpli_serial_real(serial, &p->last_residual);
  cpli_serial_int(serial, &worst, 0, (int32_t)p->normals.max);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(serial, flags[i]);
  cpli_serial_count64(serial, &p->longer);
  cpli_serial_count32(serial, &p->violations);
  p->worst = (size_t)worst;
}

void cpli_projection_forget(cpli_integrate* s) {
  struct cpli_projection* p = s->projection;
  if (p == NULL) return;
  cpli_normals_forget(&p->normals);
  p->last_residual = 0;
  p->violations = 0;
}

void cpli_projection_destroy(cpli_integrate* s) {
  if (s->projection == NULL) return;
  cpli_free(s->base.base.ctx, s->projection->block);
  cpli_free(s->base.base.ctx, s->projection->matrix);
  cpli_normals_free(&s->projection->normals);
  cpli_free(s->base.base.ctx, s->projection);
}

static cpl_status refuse(const cpli_integrate* s) {
  return cpl_fail_in(
      s->base.base.ctx, CPL_ERR_INPUT, s->base.base.name, NULL, NAN,
      "solver ida cannot keep the constraints of the model: it takes them as "
      "equations, for which it needs residuals, and the model offers a projection only; "
      "take another solver, or projection by events or off");
}

cpl_status cpli_projection_make(cpli_integrate* s) {
  cpl_context* ctx = s->base.base.ctx;
  size_t n = s->n, m = (size_t)s->base.base.desc->n_constraints;
  const cpl_model_ops* ops = s->m->ops;
  s->def.projection = cpl_projection_of(&s->def);
  if (m == 0 || n == 0 || ops->constraints == NULL || s->def.projection == CPL_PROJECT_NEVER)
    return CPL_OK;
  bool cannot_project = cpli_method_of(s->def.kind)->residuals && s->nm == 0;
  if (cannot_project && s->def.projection != CPL_PROJECT_BY_EVENTS) return refuse(s);
  struct cpli_projection* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  s->projection = p;
  *p = (struct cpli_projection){.n = n,
                                .tolerance = s->def.atol > 0 ? s->def.atol : s->def.rtol,
                                .own = ops->constraints->projection != NULL,
                                .by_steps = ops->constraints->projection == NULL &&
                                            ops->constraints->projection_step != NULL};
  p->block = cpli_alloc(ctx, 3 * n + 2 * s->all + 6 * m, sizeof(double));
  if (p->block == NULL) return cpli_nomem(ctx);
  p->x = p->block;
  p->perturbed = p->x + s->all;
  p->before = p->perturbed + s->all;
  p->change = p->before + n;
  p->slopes = p->change + n;
  p->c = p->slopes + n;
  p->c_at = p->c + m;
  p->c_before = p->c_at + m;
  p->leaves = p->c_before + m;
  // with IDA the sparsity pattern must not change between two evaluations
  bool large = m * n > LARGE && ops->constraints->pattern == NULL && s->nm == 0;
  if (large) p->matrix = cpli_alloc(ctx, m * n, sizeof(double));
  if (large && p->matrix == NULL) return cpli_nomem(ctx);
  return cpli_normals_init(&p->normals, ctx, n, m);
}

static const char* const names[] = {[CPL_PROJECT_AS_FITS] = "auto",
                                    [CPL_PROJECT_LAZILY] = "lazy",
                                    [CPL_PROJECT_EVERY_STEP] = "every",
                                    [CPL_PROJECT_BY_EVENTS] = "events",
                                    [CPL_PROJECT_NEVER] = "off"};

bool cpl_projection_by_name(const char* name, cpl_projection* out) {
  int32_t i = cpli_find_text(names, CPLI_COUNT(names), name);
  if (i >= 0) *out = (cpl_projection)i;
  return i >= 0;
}

const char* cpl_projection_name(cpl_projection when) { return names[when]; }

cpl_projection cpl_projection_of(const cpl_solver_def* def) {
  if (def->projection != CPL_PROJECT_AS_FITS) return def->projection;
  return cpli_method_of(def->kind)->projects ? CPL_PROJECT_EVERY_STEP : CPL_PROJECT_LAZILY;
}
