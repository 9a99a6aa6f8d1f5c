// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs that move during a step of co-simulation. FMI 3.0 has no derivatives of inputs; but an FMU
// may ask for its inputs at times inside the step (intermediate update), and gets there the value
// of the curve it was given. Inputs that the FMU does not take so are held at their mean over the
// step.
#include <math.h>

#include "fmi/fmi3_calls.h"
#include "model/input_curve.h"

// Simpson's rule, which is exact for the polynomials of a curve.
static double mean_over(const cpl_curve* c, double t, double t_end) {
  return (cpli_curve_at(c, t) + 4 * cpli_curve_at(c, t + (t_end - t) / 2) +
          cpli_curve_at(c, t_end)) /
         6;
}

static bool moves(const cpl_curve* c) { return c->value != NULL || c->order > 0; }

//------------------------------------ steps ------------------------------------

// Sets the inputs in input_refs and input_values, which may be none.
static cpl_status set_all(cpli_fmi3* in, size_t n) {
  if (n == 0) return CPL_OK;
  return cpli_fmi3_set_real(&in->base.head.component, in->input_refs, n, in->input_values);
}

cpl_status cpli_fmi3_inputs_begin(cpli_fmi3* in, double t_end) {
  size_t n = 0;
  in->asked_for_inputs = false;
  in->update_status = CPL_OK;
  for (int32_t i = 0; i < in->n_inputs; i++) {
    const cpli_fmi3_input* u = &in->inputs[i];
    bool held = !u->intermediate || in->base.holds_inputs;
    if (!u->given || !held || !moves(&u->curve)) continue;
    in->input_refs[n] = u->ref;
    in->input_values[n++] = mean_over(&u->curve, in->base.time, t_end);
  }
  return set_all(in, n);
}

void cpli_fmi3_inputs_at(cpli_fmi3* in, double t) {
  size_t n = 0;
  in->asked_for_inputs = true;
  if (in->updating || in->update_status != CPL_OK) return;
  for (int32_t i = 0; i < in->n_inputs; i++) {
    const cpli_fmi3_input* u = &in->inputs[i];
    if (!u->given || !u->intermediate || !moves(&u->curve)) continue;
    in->input_refs[n] = u->ref;
    in->input_values[n++] = cpli_curve_at(&u->curve, t);
  }
  in->updating = true;
  in->update_status = set_all(in, n);
  in->updating = false;
}

// An FMU without such requests has kept its inputs constant since the beginning of the step.
cpl_status cpli_fmi3_inputs_end(cpli_fmi3* in, double t_end) {
  bool moved = false;
  for (int32_t i = 0; i < in->n_inputs; i++) {
    cpli_fmi3_input* u = &in->inputs[i];
    moved = moved || (u->given && u->intermediate && moves(&u->curve));
    u->given = false;
  }
  if (moved && !in->asked_for_inputs && !in->base.holds_inputs) {
    in->base.holds_inputs = true;
    cpl_log(in->base.head.component.ctx, CPL_LOG_WARNING, in->base.name,
            "the step from t=%.12g to t=%.12g asked for no inputs, although the description says "
            "providesIntermediateUpdate: from here on inputs are constant over each step",
            in->base.time, t_end);
  }
  return in->update_status;
}

//------------------------------------ curves ------------------------------------

static cpli_fmi3_input* find(const cpli_fmi3* in, uint32_t ref) {
  int32_t low = 0, high = in->n_inputs;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (in->inputs[middle].ref < ref) low = middle + 1;
    else high = middle;
  }
  return low < in->n_inputs && in->inputs[low].ref == ref ? &in->inputs[low] : NULL;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_fmi3* in = (cpli_fmi3*)s;
  cpli_fmi3_input* u = find(in, ref);
  double value = cpli_curve_at(curve, in->base.time);
  cpl_status st = cpli_fmi3_set_real(&s->base, &ref, 1, &value);
  if (u == NULL || st != CPL_OK) return st;
  u->curve = *curve;
  u->given = true;
  return st;
}

// A value that is set is constant and replaces the curve.
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpli_fmi3* in = (cpli_fmi3*)c;
  for (size_t i = 0; i < n; i++) {
    cpli_fmi3_input* u = find(in, refs[i]);
    if (u != NULL) u->given = false;
  }
  return cpli_fmi3_set_real(c, refs, n, values);
}

static void tell_held(const cpli_fmi3* in) {
  char names[512] = "";
  size_t used = 0;
  for (int32_t i = 0; i < in->n_inputs && used < sizeof names; i++) {
    if (in->inputs[i].intermediate) continue;
    const cpl_variable* v = &in->base.fmu->desc.vars[in->var_of[in->inputs[i].ref]];
    used +=
        (size_t)snprintf(names + used, sizeof names - used, "%s%s", used > 0 ? ", " : "", v->name);
  }
  if (used == 0) return;
  cpl_log(in->base.head.component.ctx, CPL_LOG_INFO, in->base.name,
          "constant over each step, since intermediate updates cannot set them: %s", names);
}

void cpli_fmi3_offer_inputs(cpli_fmi3* in) {
  if (in->n_intermediate == 0) return;
  in->base.head.component.can.input_derivatives = 3;
  in->base.stepper_ops.set_curve = set_curve;
  in->base.component_ops.set_real = set_real;
  tell_held(in);
}

//------------------------------------ making ------------------------------------

static bool is_continuous_input(const cpl_variable* v) {
  return v->type == CPL_REAL && v->causality == CPL_CAUSALITY_INPUT &&
         v->variability == CPL_VARIABILITY_CONTINUOUS;
}

// Extras are in the order of variables.
static bool allows_updates(const cpl_fmu* fmu, int32_t var) {
  int32_t low = 0, high = fmu->n_extras;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (fmu->extras[middle].var < var) low = middle + 1;
    else high = middle;
  }
  return low < fmu->n_extras && fmu->extras[low].var == var && fmu->extras[low].intermediate_update;
}

static bool allocate(cpli_fmi3* in, size_t n) {
  cpl_context* ctx = in->base.head.component.ctx;
  in->inputs = cpli_alloc(ctx, n, sizeof *in->inputs);
  in->intermediate_refs = cpli_alloc(ctx, n, sizeof *in->intermediate_refs);
  in->input_refs = cpli_alloc(ctx, n, sizeof *in->input_refs);
  in->input_values = cpli_alloc(ctx, n, sizeof *in->input_values);
  return in->inputs != NULL && in->intermediate_refs != NULL && in->input_refs != NULL &&
         in->input_values != NULL;
}

cpl_status cpli_fmi3_inputs_prepare(cpli_fmi3* in) {
  const cpl_fmu* fmu = in->base.fmu;
  size_t n = 0;
  if (!in->base.kind->intermediate_update) return CPL_OK;
  for (int32_t i = 0; i < fmu->desc.n_vars; i++) n += is_continuous_input(&fmu->desc.vars[i]);
  if (n == 0) return CPL_OK;
  if (!allocate(in, n)) return cpli_nomem(in->base.head.component.ctx);
  for (uint32_t ref = 0; ref < fmu->n_slots; ref++) {  // in the order of references
    int32_t var = in->var_of[ref];
    if (var < 0 || !is_continuous_input(&fmu->desc.vars[var])) continue;
    cpli_fmi3_input* u = &in->inputs[in->n_inputs++];
    *u = (cpli_fmi3_input){.ref = ref, .intermediate = allows_updates(fmu, var)};
    uint32_t own = cpli_fmi3_value_ref(in, ref);
    bool again = in->n_intermediate > 0 && in->intermediate_refs[in->n_intermediate - 1] == own;
    if (u->intermediate && !again) in->intermediate_refs[in->n_intermediate++] = own;
  }
  return CPL_OK;
}

void cpli_fmi3_inputs_release(cpli_fmi3* in) {
  cpl_context* ctx = in->base.head.component.ctx;
  cpli_free(ctx, in->inputs);
  cpli_free(ctx, in->intermediate_refs);
  cpli_free(ctx, in->input_refs);
  cpli_free(ctx, in->input_values);
}
