// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints of a model, for importers that use the extension (docs/fmi-extensions.md), and for
// all others: there a step that leaves the constraints by more than the tolerance requests an
// event, in which the states are put back onto them.
#include <float.h>
#include <math.h>

#include "export/runtime/fmu.h"
#include "numeric/manifold.h"

// Memory of a projection, allocated for one call: importers that project often do it themselves,
// from residuals and their Jacobian.
typedef struct work {
  fmu* f;
  cpli_manifold manifold;
  double *x, *trial, *c, *c_trial, *nominal;
} work;

static cpl_status begin(work* w, fmu* f) {
  size_t n = (size_t)f->desc->n_states, most = (size_t)f->desc->n_constraints;
  cpl_model* m = f->model;
  *w = (work){.f = f};
  cpl_status st = cpli_manifold_init(&w->manifold, f->ctx, n, most);
  w->x = cpli_alloc(f->ctx, 3 * n + 2 * most, sizeof(double));
  if (st < 0 || w->x == NULL) return cpli_nomem(f->ctx);
  w->trial = w->x + n;
  w->nominal = w->trial + n;
  w->c = w->nominal + n;
  w->c_trial = w->c + most;
  w->manifold.turn = 1;
  st = m->ops->constraints->count(m, &w->manifold.active);
  if (st == CPL_OK) st = m->ops->get_states(m, w->x);
  if (st == CPL_OK) st = m->ops->get_nominals(m, w->nominal);
  for (size_t i = 0; i < n && st == CPL_OK; i++) w->manifold.weight[i] = 1 / w->nominal[i];
  return st;
}

static void end(work* w) {
  cpli_free(w->f->ctx, w->x);
  cpli_manifold_free(&w->manifold);
}

// The model is at w->x, and is there again afterwards.
static cpl_status differences(work* w, double* jac) {
  cpl_model* m = w->f->model;
  size_t n = w->manifold.n, active = w->manifold.active;
  cpl_status st = m->ops->constraints->get(m, w->c);
  memcpy(w->trial, w->x, n * sizeof(double));
  for (size_t j = 0; j < n && st == CPL_OK; j++) {
    w->trial[j] = w->x[j] + sqrt(DBL_EPSILON) * fmax(fabs(w->x[j]), w->nominal[j]);
    double delta = w->trial[j] - w->x[j];
    st = m->ops->set_states(m, w->trial);
    if (st == CPL_OK) st = m->ops->constraints->get(m, w->c_trial);
    for (size_t i = 0; i < active; i++) jac[i * n + j] = (w->c_trial[i] - w->c[i]) / delta;
    w->trial[j] = w->x[j];
  }
  if (st < 0) return st;
  cpl_status back = m->ops->set_states(m, w->x);
  return st != CPL_OK ? st : back;
}

// From the entries of a sparsity pattern. w->trial and w->c_trial are too short for the entries,
// which are put into the first rows and moved from the last one on.
static cpl_status by_entries(work* w, double* jac) {
  cpl_model* m = w->f->model;
  const int32_t *first, *column;
  size_t n = w->manifold.n, active = w->manifold.active;
  cpl_status st = m->ops->constraints->pattern(m, &first, &column);
  if (st == CPL_OK) st = m->ops->constraints->entries(m, jac);
  for (size_t i = active; st == CPL_OK && i-- > 0;) {
    memset(w->trial, 0, n * sizeof(double));
    for (int32_t k = first[i]; k < first[i + 1]; k++) w->trial[column[k]] += jac[k];
    memcpy(jac + i * n, w->trial, n * sizeof(double));
  }
  return st;
}

static cpl_status jacobian(work* w, double* jac) {
  cpl_model* m = w->f->model;
  const cpl_constraint_ops* ops = m->ops->constraints;
  if (ops->entries != NULL && ops->pattern != NULL) return by_entries(w, jac);
  return ops->jacobian != NULL ? ops->jacobian(m, jac) : differences(w, jac);
}

// From w->x.
static cpl_status step(work* w, double* change) {
  cpl_model* m = w->f->model;
  cpl_status st = jacobian(w, w->manifold.gradients);
  if (st == CPL_OK) st = m->ops->constraints->get(m, w->c);
  if (st != CPL_OK) return st;
  cpli_manifold_factor(&w->manifold);
  for (size_t i = 0; i < w->manifold.active; i++) {
    if (w->manifold.size[i] > 0 || w->c[i] == 0) continue;
    return cpl_fail_in(w->f->ctx, CPL_RETRY, w->f->name, NULL, NAN,
                       "no step towards constraint %lu (residual %g): its gradient vanishes",
                       (unsigned long)i + 1, w->c[i]);
  }
  cpli_manifold_step(&w->manifold, w->c, change);
  return CPL_OK;
}

static double largest(const work* w) {
  double most = 0;
  for (size_t i = 0; i < w->manifold.active; i++)
    if (!(fabs(w->c[i]) <= most)) most = fabs(w->c[i]);
  return most;
}

static cpl_status move(work* w, const double* change) {
  for (size_t i = 0; i < w->manifold.n; i++) w->x[i] += change[i];
  return w->f->model->ops->set_states(w->f->model, w->x);
}

// True when the residuals are as small as rounding of the states permits.
static bool is_rounding(const work* w) {
  const cpli_manifold* k = &w->manifold;
  double length = cpli_manifold_norm(k, w->x) * sqrt((double)k->n);
  for (size_t i = 0; i < k->active; i++)
    if (!(fabs(w->c[i]) <= 100 * DBL_EPSILON * length * k->size[i])) return false;
  return true;
}

// Until the residuals are small enough and the last step was small too, so that the point is on the
// constraints as well as can be.
static cpl_status project(work* w, double tolerance, size_t limit, double* change) {
  cpl_model* m = w->f->model;
  cpl_status st = CPL_OK;
  if (m->ops->constraints->projection != NULL) {
    st = m->ops->constraints->projection(m, tolerance, limit, change);
    return st == CPL_OK ? move(w, change) : st;
  }
  for (size_t i = 0; i < limit && st == CPL_OK; i++) {
    st = step(w, change);
    if (st == CPL_OK) st = move(w, change);
    if (st == CPL_OK) st = m->ops->constraints->get(m, w->c);
    bool small = cpli_manifold_norm(&w->manifold, change) <= 1e-3 * tolerance;
    if (st == CPL_OK && largest(w) <= tolerance && (small || largest(w) == 0)) return CPL_OK;
    if (st == CPL_OK && is_rounding(w)) return CPL_OK;
  }
  if (st != CPL_OK || largest(w) <= tolerance) return st;
  return cpl_fail_in(w->f->ctx, CPL_RETRY, w->f->name, NULL, NAN,
                     "no point on the constraints was found in %lu iterations (largest residual "
                     "%g)",
                     (unsigned long)limit, largest(w));
}

//------------------------------------ functions ------------------------------------

static bool has_constraints(fmu* f, const char* function) {
  f->importer_projects = true;
  if (f->model->ops->constraints != NULL && f->model->ops->constraints->get != NULL) return true;
  fmu_refuse(f, function, "the model has no constraints");
  return false;
}

fmu_status fmu_count_constraints(fmu* f, const char* function, size_t* n) {
  *n = 0;
  f->importer_projects = true;
  if (f->model->ops->constraints == NULL) return FMU_OK;
  return fmu_result(f, function, f->model->ops->constraints->count(f->model, n));
}

fmu_status fmu_constraints(fmu* f, const char* function, double* c) {
  if (!has_constraints(f, function)) return FMU_ERROR;
  return fmu_result(f, function, f->model->ops->constraints->get(f->model, c));
}

fmu_status fmu_constraint_jacobian(fmu* f, const char* function, double* jac) {
  work w;
  if (!has_constraints(f, function)) return FMU_ERROR;
  cpl_status st = begin(&w, f);
  if (st == CPL_OK) st = jacobian(&w, jac);
  end(&w);
  return fmu_result(f, function, st);
}

fmu_status fmu_projection_step(fmu* f, const char* function, double* change) {
  work w;
  if (!has_constraints(f, function)) return FMU_ERROR;
  cpl_status st = begin(&w, f);
  if (st == CPL_OK) st = step(&w, change);
  end(&w);
  return fmu_result(f, function, st);
}

// A projection that fails leaves the states as they were.
fmu_status fmu_projection(fmu* f, const char* function, double tolerance, size_t limit, bool apply,
                          double* change) {
  work w;
  if (!has_constraints(f, function)) return FMU_ERROR;
  if (!(tolerance > 0)) return fmu_refuse(f, function, "the tolerance is %g", tolerance);
  cpl_status st = begin(&w, f);
  size_t n = (size_t)f->desc->n_states, bytes = n * sizeof(double);
  double* before = st == CPL_OK ? cpli_alloc(f->ctx, n, sizeof(double)) : NULL;
  if (st == CPL_OK && before == NULL) st = cpli_nomem(f->ctx);
  if (st == CPL_OK) {
    memcpy(before, w.x, bytes);
    st = project(&w, tolerance, limit, change);
    for (size_t i = 0; i < n; i++) change[i] = w.x[i] - before[i];
    if (st > 0 || (st == CPL_OK && !apply)) {
      cpl_status back = f->model->ops->set_states(f->model, before);
      if (st == CPL_OK) st = back;
    }
  }
  cpli_free(f->ctx, before);
  end(&w);
  return fmu_result(f, function, st);
}

//------------------------------------ events of their own ------------------------------------

// In the algorithm of a solver: a change of the states has the size 1 when it is as large as the
// tolerance.
static void set_weights(work* w) {
  const fmu* f = w->f;
  const cpl_default_experiment* e = &f->desc->experiment;
  double tolerance = f->setup.has_tolerance ? f->setup.tolerance
                     : e->has_tolerance     ? e->tolerance
                                            : 1e-6;
  for (size_t i = 0; i < w->manifold.n; i++)
    w->manifold.weight[i] = 1 / (tolerance * (fabs(w->x[i]) + w->nominal[i]));
}

static cpl_status keep_slopes(fmu* f, const cpli_manifold* k) {
  if (f->slopes == NULL)
    f->slopes = cpli_alloc(f->ctx, (size_t)f->desc->n_constraints, sizeof *f->slopes);
  if (f->slopes == NULL) return cpli_nomem(f->ctx);
  memcpy(f->slopes, k->size, k->active * sizeof *f->slopes);
  f->n_slopes = k->active;
  return CPL_OK;
}

static cpl_status find_slopes(fmu* f) {
  work w;
  cpl_status st = begin(&w, f);
  if (st == CPL_OK) set_weights(&w);
  if (st == CPL_OK) st = jacobian(&w, w.manifold.gradients);
  if (st == CPL_OK) {
    cpli_manifold_factor(&w.manifold);
    st = keep_slopes(f, &w.manifold);
  }
  end(&w);
  return st;
}

// Residuals over the sizes of their gradients are distances. The gradients are those of the last
// event, as long as their number is the same.
cpl_status fmu_projection_due(fmu* f, bool* due) {
  const cpl_constraint_ops* ops = f->model->ops->constraints;
  size_t n = 0, n_states = (size_t)f->desc->n_states;
  double few[16], *c = few;
  *due = false;
  if (ops == NULL || ops->get == NULL || f->importer_projects || f->not_projected || f->dae)
    return CPL_OK;
  cpl_status st = ops->count(f->model, &n);
  if (st != CPL_OK || n == 0 || n_states == 0) return st;
  if (f->n_slopes != n) st = find_slopes(f);
  if (st == CPL_OK && f->desc->n_constraints > (int32_t)CPLI_COUNT(few)) {
    c = cpli_alloc(f->ctx, (size_t)f->desc->n_constraints, sizeof *c);
    if (c == NULL) return cpli_nomem(f->ctx);
  }
  if (st == CPL_OK) st = ops->get(f->model, c);
  for (size_t k = 0; k < n && st == CPL_OK && !*due; k++)
    *due = f->slopes[k] > 0 && !(fabs(c[k]) <= f->slopes[k] * sqrt((double)n_states));
  if (c != few) cpli_free(f->ctx, c);
  return st;
}

// Until a step is small compared with the tolerance.
static cpl_status approach(work* w, double* change) {
  enum { MOST = 20 };
  cpl_model* m = w->f->model;
  if (m->ops->constraints->projection != NULL) {
    cpl_status own = m->ops->constraints->projection(m, 1e-10, MOST, change);
    return own == CPL_OK ? move(w, change) : own;
  }
  for (int i = 0; i < MOST; i++) {
    cpl_status st = step(w, change);
    if (st == CPL_OK) st = move(w, change);
    if (st != CPL_OK) return st;
    if (cpli_manifold_norm(&w->manifold, change) <= 1e-3) return keep_slopes(w->f, &w->manifold);
  }
  return CPL_RETRY;
}

static cpl_status project_now(fmu* f, bool* moved) {
  work w;
  size_t n = (size_t)f->desc->n_states;
  cpl_status st = begin(&w, f);
  double* room = st == CPL_OK ? cpli_alloc(f->ctx, 2 * n, sizeof *room) : NULL;
  if (st == CPL_OK && room == NULL) st = cpli_nomem(f->ctx);
  if (st == CPL_OK) {
    memcpy(room, w.x, n * sizeof *room);
    set_weights(&w);
    st = approach(&w, room + n);
    *moved = st == CPL_OK;
    if (st == CPL_RETRY) {
      f->not_projected = true;
      fmu_log(f, FMU_WARNING, FMU_LOG_WARNING,
              "the states at t=%.12g cannot be put onto the constraints, and will move away from "
              "them",
              f->time);
      st = f->model->ops->set_states(f->model, room);
    }
  }
  cpli_free(f->ctx, room);
  end(&w);
  return st;
}

// States are set in continuous time, so that every kind of model accepts them; the importer has not
// left the event yet.
cpl_status fmu_project_at_event(fmu* f, bool* moved) {
  bool due = false, wanted = f->projection_wanted && !f->importer_projects;
  *moved = f->projection_wanted = false;
  cpl_status st = fmu_projection_due(f, &due);
  due = due || wanted;
  if (st != CPL_OK || !due) return st;
  st = f->model->ops->enter_continuous(f->model);
  f->ahead = st >= 0;
  return st < 0 ? st : project_now(f, moved);
}

cpl_status fmu_back_to_event(fmu* f) {
  if (!f->ahead) return CPL_OK;
  f->ahead = false;
  return f->model->ops->enter_event(f->model);
}
