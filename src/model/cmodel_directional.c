// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of models in C: by the model's function `directional`, or by the tangent
// functions that were made of its source. Those also cover parameters.
#include <math.h>
#include <stdio.h>

#include "model/cmodel_instance.h"

//------------------------------------ where they come from ------------------------------------

// The tangent functions must be those of the functions that are called.
static bool covers(const cpli_cmodel* cm, const cpl_model_tangent* t) {
  const cpl_model_def* def = cm->def;
  const bool dx = t->derivatives != NULL && t->derivatives_of == def->derivatives;
  const bool y = t->output_values != NULL && t->output_values_of == def->output_values;
  return (dx || cm->at.nx == 0) && (y || cm->at.ny == 0) && cm->at.nx + cm->at.ny > 0 &&
         cm->at.na == 0;
}

void cpli_cmodel_find_tangent(cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->host.tangent;
  cm->tangent = t != NULL && covers(cm, t) ? t : NULL;
  cm->has_directional = cm->def->directional != NULL || cm->tangent != NULL;
}

const char* cpli_cmodel_derivatives(const cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->host.tangent;
  if (cm->def->directional != NULL) return "exact, by its function directional";
  if (cm->tangent != NULL) return "exact, made from its source";
  if (cm->at.nx + cm->at.ny == 0) return "";
  if (cm->at.na > 0) return "differences: it has algebraic variables";
  return t != NULL && t->why != NULL ? t->why : "differences";
}

bool cpli_cmodel_has_parameter_directions(const cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->tangent;
  return t != NULL && (t->derivatives_all != NULL || cm->at.nx == 0) &&
         (t->output_values_all != NULL || cm->at.ny == 0);
}

//------------------------------------ memory ------------------------------------

size_t cpli_cmodel_n_directional(const cpli_cmodel* cm) {
  const cpli_layout* at = &cm->at;
  const size_t computed = cm->tangent != NULL ? (size_t)at->nx + at->ny : 0;
  return cm->has_directional ? at->n + computed : 0;
}

static size_t aligned_size(const cpli_cmodel* cm) { return (cm->def->memory_size + 63) / 64 * 64; }

size_t cpli_cmodel_memory_size(const cpli_cmodel* cm) {
  const bool own = cm->tangent != NULL && cm->tangent->memory;
  return own ? 3 * aligned_size(cm) : cm->def->memory_size;
}

void cpli_cmodel_place_directional(cpli_c_instance* in, double* to) {
  const cpli_layout* at = &in->cm->at;
  if (!in->cm->has_directional) return;
  in->d = to;
  in->computed = to + at->n;
  in->tangent_seed = (cpl_values){.x = in->d + at->x,
                                  .u = in->d + at->u,
                                  .p = in->d + at->p,
                                  .w = in->d + at->w,
                                  .z = in->d + at->a};
}

//------------------------------------ calls ------------------------------------

static void run_directional(void* user) {
  cpli_c_call* c = user;
  c->result = c->def->directional(c->v, c->d_x, c->d_u, c->d_dx, c->d_y);
}
static void run_tangent(void* user) {
  cpli_c_call* c = user;
  c->result = c->tangent(c->at, c->seed, c->out, c->d_dx);
}

// Functions that write to their memory get a fresh one: it is not the model's, in which they would
// find results that were computed without derivatives.
static void prepare_tangent(cpli_c_instance* in) {
  in->tangent_values = in->values;
  in->tangent_values.t = in->t;
  if (!in->cm->tangent->memory) return;
  const size_t size = aligned_size(in->cm);
  memset(in->memory + size, 0, 2 * size);
  in->tangent_values.memory = in->memory + size;
  in->tangent_seed.memory = in->memory + 2 * size;
}

static cpl_status call_tangents(cpli_c_instance* in, bool all, bool want_dx, bool want_y) {
  const cpl_model_tangent* t = in->cm->tangent;
  cpl_status st = CPL_OK;
  prepare_tangent(in);
  cpli_c_call call = {.at = &in->tangent_values, .seed = &in->tangent_seed};
  if (want_dx) {
    call.tangent = all ? t->derivatives_all : t->derivatives;
    call.out = in->computed;
    call.d_dx = in->d + in->cm->at.dx;
    st = cpli_cmodel_invoke(in, "derivatives", run_tangent, &call);
  }
  if (want_y && st == CPL_OK) {
    call.tangent = all ? t->output_values_all : t->output_values;
    call.out = in->computed + in->cm->at.nx;
    call.d_dx = in->d + in->cm->at.y;
    st = cpli_cmodel_invoke(in, "output_values", run_tangent, &call);
  }
  return st;
}

static cpl_status call_directional(cpli_c_instance* in, bool want_dx, bool want_y) {
  const cpli_layout* at = &in->cm->at;
  cpli_c_call call = {.d_x = in->d + at->x,
                      .d_u = in->d + at->u,
                      .d_dx = want_dx ? in->d + at->dx : NULL,
                      .d_y = want_y ? in->d + at->y : NULL};
  return cpli_cmodel_invoke(in, "directional", run_directional, &call);
}

//------------------------------------ the operation ------------------------------------

static bool is_discrete_output(const cpli_cmodel* cm, uint32_t ref) {
  return ref >= cm->at.y && ref < cm->at.y + cm->at.ny && cm->discrete_output[ref - cm->at.y];
}

static cpl_status no_derivative(const cpli_c_instance* in, uint32_t ref) {
  return cpl_fail_in(in->base.base.ctx, CPL_ERR_INPUT, in->base.base.name, NULL, NAN,
                     "no derivative with respect to value reference %u", (unsigned)ref);
}

// The direction. Parameters and discrete variables are zero but during a call that has some.
static cpl_status set_seed(cpli_c_instance* in, const uint32_t* knowns, size_t n,
                           const double* seed, bool* parameters) {
  const cpli_layout* at = &in->cm->at;
  const uint32_t first = cpli_cmodel_has_parameter_directions(in->cm) ? 0 : at->u;
  uint32_t min = at->u;
  memset(in->d + at->u, 0, (at->dx - at->u) * sizeof(double));
  for (size_t i = 0; i < n; i++) {
    const uint32_t ref = knowns[i];
    if (ref >= first && ref < at->dx) in->d[ref] = seed[i];
    else if (first > 0 || !is_discrete_output(in->cm, ref)) return no_derivative(in, ref);
    if (ref < min) min = ref;
  }
  *parameters = min < at->u;
  return CPL_OK;
}

static cpl_status evaluate(cpli_c_instance* in, bool parameters, bool want_dx, bool want_y) {
  cpl_status st = cpli_cmodel_initialize(in);
  if (st < 0 || (!want_dx && !want_y)) return st;
  if (in->cm->def->directional != NULL && !parameters) return call_directional(in, want_dx, want_y);
  return call_tangents(in, parameters, want_dx, want_y);
}

cpl_status cpli_cmodel_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                   const uint32_t* knowns, size_t n_knowns, const double* seed,
                                   double* sensitivity) {
  cpli_c_instance* in = (cpli_c_instance*)c;
  const cpli_layout* at = &in->cm->at;
  bool want_dx = false, want_y = false, parameters = false;
  for (size_t i = 0; i < n_unknowns; i++) {
    want_dx = want_dx || (unknowns[i] >= at->dx && unknowns[i] < at->y);
    want_y = want_y || unknowns[i] >= at->y;
  }
  cpl_status st = set_seed(in, knowns, n_knowns, seed, &parameters);
  if (st == CPL_OK) st = evaluate(in, parameters, want_dx, want_y);
  for (size_t i = 0; i < n_unknowns && st == CPL_OK; i++)
    sensitivity[i] = unknowns[i] < at->a ? in->d[unknowns[i]] : 0;
  for (size_t i = 0; i < n_knowns && parameters; i++) {
    if (knowns[i] < at->u) in->d[knowns[i]] = 0;
  }
  return st;
}
