// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A model with its sensitivities in continuous time. Perturbed instances are brought to the present
// point when the first of their values is needed.
#include <float.h>
#include <math.h>

#include "analysis/rest.h"
#include "analysis/sensitivity.h"

//------------------------------------ perturbed instances ------------------------------------

cpl_status cpli_sens_move(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p,
                          double shift) {
  const double *along = cpli_sens_states(s, k), h = p->value - k->start;
  cpl_status st = p->m->ops->set_time(p->m, s->t + shift);
  for (size_t i = 0; i < s->n; i++) s->at[i] = s->x[i] + h * along[i];
  if (shift != 0) {
    for (size_t i = 0; i < s->n; i++) s->at[i] += shift * s->f[i];
  }
  return st == CPL_OK && s->n > 0 ? p->m->ops->set_states(p->m, s->at) : st;
}

static cpl_status place(cpli_sens* s, cpli_sens_parameter* k) {
  cpl_status st = CPL_OK;
  if (k->placed_at == s->point || s->phase != SENS_CONTINUOUS) return CPL_OK;
  for (int side = 0; side < 2 && st == CPL_OK; side++) st = cpli_sens_move(s, k, &k->of[side], 0);
  if (st == CPL_OK) k->placed_at = s->point;
  return st;
}

cpl_status cpli_sens_place(cpli_sens* s) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < s->n_to && st == CPL_OK; i++) st = place(s, &s->to[i]);
  return st;
}

//------------------------------------ differences ------------------------------------

// How far a change of k moves the states, relative to their size.
static double reach(const cpli_sens* s, const cpli_sens_parameter* k) {
  const double* along = cpli_sens_states(s, k);
  double most = 0;
  for (size_t i = 0; i < s->n; i++)
    most = fmax(most, fabs(along[i]) / fmax(fabs(s->x[i]), s->nominal[i]));
  return most;
}

static bool is_far(const cpli_sens* s, const cpli_sens_parameter* k) {
  static const double far = 1e-4;
  return reach(s, k) * k->width > far;
}

double cpli_sens_width(const cpli_sens* s, const cpli_sens_parameter* k) {
  return is_far(s, k) ? 2 * cbrt(DBL_EPSILON) / reach(s, k) : k->width;
}

typedef cpl_status read_fn(cpl_model* m, const void* what, double* out);

// States and k change one after the other: each instance takes a short step in the direction of the
// sensitivities from the states of the model, one forwards and one backwards, so that errors of the
// first order, by the step and by the other k, cancel.
static cpl_status apart(cpli_sens* s, cpli_sens_parameter* k, read_fn* read, const void* what,
                        size_t n, double* out) {
  const double step = cpli_sens_width(s, k) / 2, *along = cpli_sens_states(s, k);
  double* values[] = {s->above, s->below};
  for (int side = 0; side < 2; side++) {
    const double h = side == 0 ? step : -step;
    cpl_model* m = k->of[side].m;
    for (size_t i = 0; i < s->n; i++) s->at[i] = s->x[i] + h * along[i];
    cpl_status st = m->ops->set_states(m, s->at);
    if (st == CPL_OK) st = read(m, what, values[side]);
    for (size_t i = 0; i < n; i++) out[i] = (side == 0 ? 0 : out[i]) + values[side][i] / (2 * h);
    if (st == CPL_OK) st = m->ops->set_states(m, s->x);
    if (st == CPL_OK) st = read(m, what, values[side]);
    if (st != CPL_OK) return st;
  }
  for (size_t i = 0; i < n; i++)
    out[i] += (s->above[i] - s->below[i]) * (1 / k->width - 1 / (2 * step));
  return CPL_OK;
}

// Differences of two instances, which are on x + s dk and x - s dk, as long as these are near x.
static cpl_status differences(cpli_sens* s, cpli_sens_parameter* k, read_fn* read, const void* what,
                              size_t n, double* out) {
  double* values[] = {s->above, s->below};
  cpl_status st = place(s, k);
  if (st == CPL_OK && s->phase == SENS_CONTINUOUS && s->n > 0 && is_far(s, k)) {
    st = apart(s, k, read, what, n, out);
    k->placed_at = 0;
    return st;
  }
  for (int side = 0; side < 2 && st == CPL_OK; side++) st = read(k->of[side].m, what, values[side]);
  for (size_t i = 0; i < n; i++) out[i] = (s->above[i] - s->below[i]) / k->width;
  return st;
}

static cpl_status read_derivatives(cpl_model* m, const void* what, double* out) {
  (void)what;
  return m->ops->get_derivatives(m, out);
}

static cpl_status read_value(cpl_model* m, const void* what, double* out) {
  return m->base.ops->get_real(&m->base, what, 1, out);
}

cpl_status cpli_sens_differences(cpli_sens* s, cpli_sens_parameter* k, double* out) {
  return differences(s, k, read_derivatives, NULL, s->n, out);
}

cpl_status cpli_sens_pairs(cpli_sens* s, const uint32_t* pairs, size_t n, double* values) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    cpli_sens_parameter* k = &s->to[pairs[i] % s->n_to];
    size_t j = pairs[i] / s->n_to;
    if (cpli_sens_has_direct_value(s, k, j)) st = cpli_sens_direct_value(s, k, j, &values[i]);
    else st = differences(s, k, read_value, &s->of[j], 1, &values[i]);
    if (s->phase < SENS_EVENT) values[i] = NAN;
  }
  return st;
}

// Before an event is over, instances have their own times: rows in between have states before it.
cpl_status cpli_sens_slopes(cpli_sens* s, double* dx) {
  cpl_status st = s->n > 0 ? s->m->ops->get_derivatives(s->m, dx) : CPL_OK;
  for (size_t i = 0; i < s->n_to && st == CPL_OK && s->n > 0; i++) {
    cpli_sens_parameter* k = &s->to[i];
    double* out = dx + s->n * (i + 1);
    bool direct = k->direct && s->phase == SENS_CONTINUOUS;
    if (direct) st = cpli_sens_direct(s, k, out);
    if (st == CPL_OK && !(direct && k->direct)) st = cpli_sens_differences(s, k, out);
  }
  return st;
}

//------------------------------------ operations ------------------------------------

static cpl_status set_time(cpl_model* m, double t) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->m->ops->set_time(s->m, t);
  if (t == s->t) return st;
  s->t = t;
  s->point++;
  return st;
}

// In event mode, states are set from outside: all instances get them at once.
static cpl_status set_states(cpl_model* m, const double* x) {
  cpli_sens* s = cpli_sens_of(m);
  memcpy(s->x, x, s->n * (1 + s->n_to) * sizeof *x);
  s->point++;
  cpl_status st = s->n > 0 ? s->m->ops->set_states(s->m, x) : CPL_OK;
  if (s->phase == SENS_CONTINUOUS) return st;
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    p->shift = 0;
    if (st == CPL_OK) st = cpli_sens_move(s, k, p, 0);
  }
  return st;
}

static cpl_status get_states(cpl_model* m, double* x) {
  cpli_sens* s = cpli_sens_of(m);
  if (s->phase == SENS_EVENT && s->n > 0) {
    cpl_status st = s->m->ops->get_states(s->m, s->x);
    if (st != CPL_OK) return st;
  }
  memcpy(x, s->x, s->n * (1 + s->n_to) * sizeof *x);
  return CPL_OK;
}

static cpl_status get_nominals(cpl_model* m, double* nominals) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->n > 0 ? s->m->ops->get_nominals(s->m, nominals) : CPL_OK;
  for (size_t k = 0; k < s->n_to; k++) {
    for (size_t i = 0; i < s->n; i++) nominals[s->n * (k + 1) + i] = nominals[i] / s->to[k].scale;
  }
  return st;
}

static cpl_status get_derivatives(cpl_model* m, double* dx) {
  return cpli_sens_slopes(cpli_sens_of(m), dx);
}

static cpl_status get_indicators(cpl_model* m, double* z) {
  cpli_sens* s = cpli_sens_of(m);
  return s->nz > 0 ? s->m->ops->get_indicators(s->m, z) : CPL_OK;
}

static void name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size) {
  const cpli_sens* s = (const cpli_sens*)m;
  s->m->ops->name_indicator(s->m, indicator, out, size);
}

static cpl_break next_break(cpl_model* m, double t, double tolerance) {
  cpli_sens* s = cpli_sens_of(m);
  return s->m->ops->next_break(s->m, t, tolerance);
}

static const cpl_description* structure(cpl_model* m, int32_t i) {
  const cpli_sens* s = cpli_sens_of(m);
  return (size_t)i < s->n_forms ? &s->forms[i].desc : NULL;
}

//------------------------------------ constraints ------------------------------------

// A system also takes the values of "at start" when constraints are counted: each instance its own.
static cpl_status count(cpl_model* m, size_t* n) {
  cpli_sens* s = cpli_sens_of(m);
  cpl_status st = s->m->ops->constraints->count(s->m, n);
  if (st == CPL_OK) st = cpli_sens_place(s);
  for (CPLI_EACH_PERTURBED(s, k, p)) {
    size_t own = 0;
    if (st == CPL_OK) st = p->m->ops->constraints->count(p->m, &own);
  }
  *n *= 1 + s->n_to;
  return st;
}

// Residuals of the model, then of the tangent space of each parameter: c_x s + c_k.
static cpl_status get_constraints(cpl_model* m, double* c) {
  cpli_sens* s = cpli_sens_of(m);
  size_t active = 0;
  cpl_status st = s->m->ops->constraints->count(s->m, &active);
  if (st == CPL_OK) st = s->m->ops->constraints->get(s->m, s->residual);
  if (st == CPL_OK) st = cpli_sens_place(s);
  memcpy(c, s->residual, active * sizeof *c);
  for (size_t k = 0; k < s->n_to && st == CPL_OK; k++) {
    for (size_t i = 0; i < 2 && st == CPL_OK; i++) {
      cpl_model* one = s->to[k].of[i].m;
      st = one->ops->constraints->get(one, s->residuals[i]);
    }
    for (size_t i = 0; i < active; i++)
      c[active * (k + 1) + i] = (s->residuals[0][i] - s->residuals[1][i]) / s->to[k].width;
  }
  return st;
}

// Tangent spaces turn slowly: their dependence on x is left out.
static cpl_status constraint_jacobian(cpl_model* m, double* out) {
  cpli_sens* s = cpli_sens_of(m);
  size_t active = 0, blocks = 1 + s->n_to, width = s->n * blocks;
  cpl_status st = s->m->ops->constraints->count(s->m, &active);
  if (st == CPL_OK) st = cpli_constraint_gradients(s->m, s->x, (int32_t)active, s->gradients);
  memset(out, 0, active * blocks * width * sizeof *out);
  for (size_t k = 0; k < blocks; k++) {
    for (size_t i = 0; i < active; i++)
      memcpy(out + (active * k + i) * width + s->n * k, s->gradients + i * s->n,
             s->n * sizeof *out);
  }
  return st;
}

static const cpl_constraint_ops constraint_ops = {.size = sizeof constraint_ops,
                                                  .count = count,
                                                  .get = get_constraints,
                                                  .jacobian = constraint_jacobian};

//------------------------------------ make ------------------------------------

cpl_status cpli_sens_make_point(cpli_sens* s) {
  size_t all = s->n_most * (1 + s->n_to);
  double** parts[] = {&s->at, &s->above, &s->below, &s->f, &s->before, &s->f_after, &s->nominal};
  s->x = cpli_arena_alloc(&s->arena, all, sizeof *s->x);
  s->dx = cpli_arena_alloc(&s->arena, all, sizeof *s->dx);
  s->gradients = cpli_arena_alloc(&s->arena, s->nc_most * s->n_most, sizeof *s->gradients);
  s->residual = cpli_arena_alloc(&s->arena, 3 * s->nc_most, sizeof *s->residual);
  size_t each = s->n_most > 0 ? s->n_most : 1;
  double* room = cpli_arena_alloc(&s->arena, CPLI_COUNT(parts) * each, sizeof *room);
  if (s->x == NULL || s->dx == NULL || s->gradients == NULL || s->residual == NULL || room == NULL)
    return cpli_nomem(s->base.base.ctx);
  s->residuals[0] = s->residual + s->nc_most;
  s->residuals[1] = s->residual + 2 * s->nc_most;
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) *parts[i] = room + i * each;
  const cpl_model_ops* of = s->m->ops;
  s->ops = (cpl_model_ops){.size = sizeof s->ops,
                           .enter_event = cpli_sens_enter_event,
                           .event_update = cpli_sens_event_update,
                           .enter_continuous = cpli_sens_enter_continuous,
                           .set_time = set_time,
                           .set_states = set_states,
                           .get_states = get_states,
                           .get_nominals = get_nominals,
                           .get_derivatives = get_derivatives,
                           .get_indicators = get_indicators,
                           .completed_step = cpli_sens_completed_step,
                           .constraints = s->nc_most > 0 ? &constraint_ops : NULL,
                           .name_indicator = of->name_indicator != NULL ? name_indicator : NULL,
                           .next_break = of->next_break != NULL ? next_break : NULL,
                           .structure = of->structure != NULL ? structure : NULL};
  s->base.ops = &s->ops;
  s->base.base.can = (cpl_capabilities){.completed_step = true,
                                        .needs_tool = s->m->base.can.needs_tool,
                                        .get_after_set = s->m->base.can.get_after_set};
  return CPL_OK;
}
