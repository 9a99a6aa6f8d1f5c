// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derivatives of sensitivities without perturbed instances, by the directional derivatives of the
// model: s' = f_x s + f_k is one of them, in the direction in which states change by s and
// everything that is constant between events changes by its own derivative with respect to k. That
// is the difference of two instances after each event, which contains parameters that follow from
// k, initial equations and sampled values. What a model does not show (a hidden discrete state of
// an FMU) is missing then: the result is compared with differences after each event and, unless the
// model has derivatives with respect to all that it depends on, after steps with growing distance.
#include <float.h>
#include <math.h>

#include "analysis/sensitivity.h"
#include "base/error.h"
#include "model/description.h"
#include "model/sparsity.h"

// The difference of inputs is constant, too: they are set in all instances alike.
static bool is_held(const cpl_variable* v) {
  if (v->type != CPL_REAL || v->alias_of >= 0 || v->causality == CPL_CAUSALITY_INDEPENDENT)
    return false;
  return v->variability <= CPL_VARIABILITY_DISCRETE || v->causality == CPL_CAUSALITY_INPUT;
}

// Whether its directional derivatives include everything that it depends on.
static bool knows_all(const cpli_sens* s) { return s->m->base.can.parameter_directions > 1; }

// How the derivative of a variable is found: its state, one of the unknowns, or by differences.
static void place_of(cpli_sens* s, size_t j) {
  const cpl_description* d = s->m->base.desc;
  const cpl_variable* v = &d->vars[s->of_vars[j]];
  s->of_state[j] = s->of_unknown[j] = -1;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->vars[d->states[i]].ref == v->ref) s->of_state[j] = i;
  }
  bool asked = v->causality == CPL_CAUSALITY_OUTPUT || v->inner_output;
  for (int32_t i = 0; i < d->n_states; i++)
    asked = asked || d->vars[d->derivatives[i]].ref == v->ref;
  if (s->of_state[j] >= 0 || v->variability != CPL_VARIABILITY_CONTINUOUS || !asked) return;
  s->of_unknown[j] = (int32_t)s->n_unknown;
  s->unknown[s->n_unknown++] = v->ref;
}

// What the values and derivatives of a model are asked for.
static bool allocate(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  cpli_arena* a = &s->arena;
  for (int32_t i = 0; i < d->n_vars; i++) s->n_held += is_held(&d->vars[i]);
  s->held = cpli_arena_alloc(a, s->n_held, sizeof *s->held);
  s->held_values = cpli_arena_alloc(a, 2 * s->n_held, sizeof *s->held_values);
  s->slope = cpli_arena_alloc(a, 3 * s->n, sizeof *s->slope);
  s->derivative = cpli_arena_alloc(a, s->n, sizeof *s->derivative);
  s->unknown = cpli_arena_alloc(a, s->n_of, sizeof *s->unknown);
  s->of_state = cpli_arena_alloc(a, 2 * s->n_of, sizeof *s->of_state);
  bool fine = s->held != NULL && s->held_values != NULL && s->slope != NULL &&
              s->derivative != NULL && s->unknown != NULL && s->of_state != NULL;
  for (size_t i = 0; i < s->n_to && fine; i++) {
    cpli_sens_parameter* k = &s->to[i];
    k->known = cpli_arena_alloc(a, s->n + s->n_held, sizeof *k->known);
    k->seed = cpli_arena_alloc(a, s->n + s->n_held, sizeof *k->seed);
    k->of_values = cpli_arena_alloc(a, s->n_of, sizeof *k->of_values);
    fine = k->known != NULL && k->seed != NULL && k->of_values != NULL;
  }
  return fine;
}

cpl_status cpli_sens_make_exact(cpli_sens* s) {
  const cpl_description* d = s->m->base.desc;
  s->can_direct =
      s->m->base.ops->directional != NULL && s->n_forms == 1 && s->n > 0 && !s->only_differences;
  for (int32_t i = 0; i < d->n_states; i++)
    s->can_direct = s->can_direct && d->states[i] >= 0 && d->derivatives[i] >= 0;
  if (!s->can_direct) return CPL_OK;
  if (!allocate(s)) return cpli_nomem(s->base.base.ctx);
  s->of_unknown = s->of_state + s->n_of;
  s->difference = s->slope + s->n;
  s->rounding = s->difference + s->n;
  for (size_t j = 0; j < s->n_of; j++) place_of(s, j);
  size_t n = 0;
  for (int input = 0; input < 2; input++) {  // inputs are last
    for (int32_t i = 0; i < d->n_vars; i++) {
      bool is_input = d->vars[i].causality == CPL_CAUSALITY_INPUT &&
                      d->vars[i].variability == CPL_VARIABILITY_CONTINUOUS;
      if (is_held(&d->vars[i]) && is_input == input) s->held[n++] = d->vars[i].ref;
    }
    if (input == 0) s->n_constant = n;
  }
  for (int32_t i = 0; i < d->n_states; i++) {
    s->derivative[i] = d->vars[d->derivatives[i]].ref;
    for (size_t k = 0; k < s->n_to; k++) s->to[k].known[i] = d->vars[d->states[i]].ref;
  }
  return CPL_OK;
}

//------------------------------------ evaluation ------------------------------------

static cpl_status ask(cpli_sens* s, cpli_sens_parameter* k, const uint32_t* unknowns, size_t n,
                      double* out) {
  cpl_component* c = &s->m->base;
  memcpy(k->seed, cpli_sens_states(s, k), s->n * sizeof *k->seed);
  memset(out, 0, n * sizeof *out);
  return c->ops->directional(c, unknowns, n, k->known, k->n_known, k->seed, out);
}

cpl_status cpli_sens_direct(cpli_sens* s, cpli_sens_parameter* k, double* out) {
  cpl_status st = ask(s, k, s->derivative, s->n, out);
  if (st >= 0 || st == CPL_ERR_CANCELLED) return st;
  cpl_log(s->base.base.ctx, CPL_LOG_WARNING, s->base.base.name,
          "differences replace its directional derivatives until the next event: %s",
          cpl_context_error(s->base.base.ctx));
  k->direct = false;
  return CPL_OK;
}

cpl_status cpli_sens_direct_value(cpli_sens* s, cpli_sens_parameter* k, size_t j, double* out) {
  cpl_status st = CPL_OK;
  if (s->of_state[j] >= 0) {
    *out = cpli_sens_states(s, k)[s->of_state[j]];
    return CPL_OK;
  }
  if (k->of_at != s->point) st = ask(s, k, s->unknown, s->n_unknown, k->of_values);
  if (st == CPL_OK) k->of_at = s->point;
  *out = k->of_values[s->of_unknown[j]];
  return st;
}

bool cpli_sens_has_direct_value(const cpli_sens* s, const cpli_sens_parameter* k, size_t j) {
  if (!k->direct || s->phase != SENS_CONTINUOUS) return false;
  return s->of_state[j] >= 0 || (s->of_unknown[j] >= 0 && knows_all(s));
}

//------------------------------------ comparison ------------------------------------

// How uncertain the differences are by rounding errors: how far the derivatives of one instance
// change where its states change by a few of them. Large terms that cancel, as in a stiff model
// that follows its slow part, make that much more than the derivatives themselves have.
static cpl_status measure_rounding(cpli_sens* s, cpli_sens_parameter* k, double* out) {
  static const double few = 16 * DBL_EPSILON, golden = 0.61803398874989485;
  cpl_model* m = k->of[0].m;
  k->placed_at = 0;
  memset(out, 0, s->n * sizeof *out);
  cpl_status st = m->ops->set_states(m, s->x);
  if (st == CPL_OK) st = m->ops->get_derivatives(m, s->above);
  for (int round = 0; round < 2 && st == CPL_OK; round++) {
    for (size_t i = 0; i < s->n; i++) {  // of different sizes and signs: they do not cancel
      double size = 0.5 + 0.5 * fmod((double)(i + 1) * golden, 1);
      s->at[i] = s->x[i] * (1 + ((i & 1) != 0 && round == 0 ? -few : few) * size);
    }
    st = m->ops->set_states(m, s->at);
    if (st == CPL_OK) st = m->ops->get_derivatives(m, s->below);
    for (size_t i = 0; i < s->n && st == CPL_OK; i++)
      out[i] = fmax(out[i], fabs(s->below[i] - s->above[i]) / cpli_sens_width(s, k));
  }
  return st;
}

// Whether they are the derivatives that differences of perturbed instances have.
static cpl_status compare(cpli_sens* s, cpli_sens_parameter* k, bool* same) {
  static const double part = 1e-4, noise = 1e-7;
  double largest = 0;
  bool measured = false;
  *same = false;
  cpl_status st = ask(s, k, s->derivative, s->n, s->slope);
  if (st == CPL_OK) st = cpli_sens_differences(s, k, s->difference);
  if (st == CPL_OK) st = s->m->ops->get_derivatives(s->m, s->f_after);
  if (st != CPL_OK) return st;
  const double *exact = s->slope, *other = s->difference, *nominal = s->nominal;
  for (size_t i = 0; i < s->n; i++) {
    double size = fmax(fabs(exact[i]), fabs(s->f_after[i]) / k->scale);
    largest = fmax(largest, size / nominal[i]);
  }
  for (size_t i = 0; i < s->n; i++) {
    double size = part * fmax(fabs(exact[i]), fabs(other[i])) + noise * nominal[i] * largest;
    double apart = fabs(exact[i] - other[i]);
    if (apart <= size) continue;
    if (!measured) st = measure_rounding(s, k, s->rounding);
    measured = true;
    if (st != CPL_OK || !(apart <= size + s->rounding[i])) return st;
  }
  *same = true;
  return CPL_OK;
}

// A model that cannot answer is no failure of the run.
static bool agrees(cpli_sens* s, cpli_sens_parameter* k) {
  cpl_context* ctx = s->base.base.ctx;
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(ctx, &ignored);
  bool same = false;
  cpl_status st = compare(s, k, &same);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, ctx);
  return st == CPL_OK && same;
}

// The direction of k in what is constant between events. *may: the model may be asked for it.
static cpl_status read_held(cpli_sens* s, cpli_sens_parameter* k, bool* may) {
  double* values[] = {s->held_values, s->held_values + s->n_held};
  k->n_known = s->n;
  *may = true;
  for (int side = 0; side < 2 && s->n_held > 0; side++) {
    cpl_component* c = &k->of[side].m->base;
    cpl_status st = c->ops->get_real(c, s->held, s->n_held, values[side]);
    if (st != CPL_OK) return st;
  }
  for (size_t i = 0; i < s->n_held; i++) {
    double above = values[0][i], below = values[1][i];
    if (above == below || (isnan(above) && isnan(below))) continue;
    if (i < s->n_constant && s->m->base.can.parameter_directions == 0) *may = false;
    k->known[k->n_known] = s->held[i];
    k->seed[k->n_known++] = (above - below) / k->width;
  }
  return CPL_OK;
}

cpl_status cpli_sens_begin_direct(cpli_sens* s) {
  s->steps = 0;
  s->next_check = 1;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < s->n_to && s->can_direct && st == CPL_OK; i++) {
    cpli_sens_parameter* k = &s->to[i];
    bool may = false;
    st = read_held(s, k, &may);
    k->direct = st == CPL_OK && may && agrees(s, k);
  }
  return st;
}

// After steps 1, 2, 4, ... since the last event.
void cpli_sens_verify_direct(cpli_sens* s) {
  if (!s->can_direct || knows_all(s) || ++s->steps < s->next_check) return;
  s->next_check *= 2;
  for (size_t i = 0; i < s->n_to; i++) {
    cpli_sens_parameter* k = &s->to[i];
    if (!k->direct || agrees(s, k)) continue;
    k->direct = false;
    cpl_log(s->base.base.ctx, CPL_LOG_WARNING, s->base.base.name,
            "derivatives with respect to %s are differences from t=%.12g until the next event: the "
            "directional derivatives of the model are others",
            s->m->base.desc->vars[k->var].name, s->t);
  }
}
