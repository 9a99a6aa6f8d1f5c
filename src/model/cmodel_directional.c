// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of models in C: by the model's function `directional`, or by the tangent
// functions that were made of its source. Those also cover parameters, and algebraic variables z:
// where the model solves 0 = g for them, their change dz is the solution of g_z dz = -dg, with the
// change dg of the residuals at constant z.
#include <math.h>
#include <stdio.h>

#include "model/cmodel_instance.h"
#include "numeric/lu.h"

//------------------------------------ where they come from ------------------------------------

typedef int function(const cpl_values*, double*);

static bool has(uint32_t n, function* of, function* made_of, cpl_model_tangent_fn* tangent) {
  return n == 0 || (tangent != NULL && of == made_of);
}

// The tangent functions must be those of the functions that are called.
static bool covers(const cpli_cmodel* cm, const cpl_model_tangent* t) {
  const cpl_model_def* def = cm->def;
  const cpli_layout* at = &cm->at;
  return at->nx + at->ny + at->na > 0 &&
         has(at->nx, def->derivatives, t->derivatives_of, t->derivatives) &&
         has(at->ny, def->output_values, t->output_values_of, t->output_values) &&
         has(at->na, def->residuals, t->residuals_of, t->residuals) &&
         has(at->nc, def->constraints, t->constraints_of, t->constraints);
}

// Whether they cover parameters and discrete variables, too.
static bool covers_all(const cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->tangent;
  return t != NULL && (t->derivatives_all != NULL || cm->at.nx == 0) &&
         (t->output_values_all != NULL || cm->at.ny == 0) &&
         (t->residuals_all != NULL || cm->at.na == 0) &&
         (t->constraints_all != NULL || cm->at.nc == 0);
}

void cpli_cmodel_find_tangent(cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->host.tangent;
  cm->tangent = t != NULL && covers(cm, t) ? t : NULL;
  cm->has_directional = cm->def->directional != NULL || cm->tangent != NULL;
  cm->covers_all = covers_all(cm);
}

const char* cpli_cmodel_derivatives(const cpli_cmodel* cm) {
  const cpl_model_tangent* t = cm->host.tangent;
  if (cm->def->directional != NULL) return "exact, by its function directional";
  if (cm->tangent != NULL)
    return cm->at.na > 0 ? "exact, made from its source, of algebraic variables, too"
                         : "exact, made from its source";
  if (cm->at.nx + cm->at.ny + cm->at.na == 0) return "";
  return t != NULL && t->why != NULL ? t->why : "differences";
}

//------------------------------------ memory ------------------------------------

size_t cpli_cmodel_n_directional(const cpli_cmodel* cm) {
  const cpli_layout* at = &cm->at;
  const size_t computed = cm->tangent != NULL ? (size_t)at->nx + at->ny + at->na + at->nc : 0;
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
  if (in->cm->tangent != NULL && in->cm->tangent->memory)
    in->tangent_seed.memory = in->memory + 2 * aligned_size(in->cm);
  in->given_seed = in->tangent_seed;
}

//------------------------------------ calls ------------------------------------

static void run_tangent(void* user) {
  cpli_c_call* c = user;
  c->result = c->tangent(c->at, c->seed, c->out, c->d_dx);
}

// Functions that write to their memory get a fresh one: it is not the model's, in which they would
// find results that were computed without derivatives.
void cpli_cmodel_prepare_tangent(cpli_c_instance* in) {
  in->tangent_values = in->values;
  in->tangent_values.t = in->t;
  if (!in->cm->tangent->memory) return;
  const size_t size = aligned_size(in->cm);
  memset(in->memory + size, 0, 2 * size);
  in->tangent_values.memory = in->memory + size;
}

// One tangent function: the changes go to their place in the layout, and values to `out`.
static cpl_status call_tangent(cpli_c_instance* in, const char* name, cpl_model_tangent_fn* tangent,
                               uint32_t place, size_t out) {
  cpli_c_call call = {.at = &in->tangent_values,
                      .seed = &in->tangent_seed,
                      .tangent = tangent,
                      .out = in->computed + out,
                      .d_dx = in->d + place};
  return cpli_cmodel_invoke(in, name, run_tangent, &call);
}

static cpl_status call_residuals(cpli_c_instance* in, bool all) {
  const cpl_model_tangent* t = in->cm->tangent;
  const cpli_layout* at = &in->cm->at;
  cpli_cmodel_prepare_tangent(in);
  return call_tangent(in, "residuals", all ? t->residuals_all : t->residuals, at->g,
                      (size_t)at->nx + at->ny);
}

typedef struct wanted {
  bool dx, y, a, g, c;
} wanted;

static cpl_status call_tangents(cpli_c_instance* in, bool all, const wanted* want) {
  const cpl_model_tangent* t = in->cm->tangent;
  const cpli_layout* at = &in->cm->at;
  cpl_status st = CPL_OK;
  if (want->g) st = call_residuals(in, all);
  else cpli_cmodel_prepare_tangent(in);
  if (want->c && st == CPL_OK)
    st = call_tangent(in, "constraints", all ? t->constraints_all : t->constraints, at->c,
                      (size_t)at->nx + at->ny + at->na);
  if (want->dx && st == CPL_OK)
    st = call_tangent(in, "derivatives", all ? t->derivatives_all : t->derivatives, at->dx, 0);
  if (want->y && st == CPL_OK)
    st = call_tangent(in, "output_values", all ? t->output_values_all : t->output_values, at->y,
                      at->nx);
  return st;
}

//------------------------------------ algebraic variables ------------------------------------

static cpl_status allocate_factors(cpli_c_instance* in) {
  cpl_context* ctx = in->base.base.ctx;
  const size_t n = in->cm->at.na;
  cpli_c_factors* f = &in->exact;
  if (f->matrix == NULL) f->matrix = cpli_alloc(ctx, n * (n + 2), sizeof *f->matrix);
  if (f->pivot == NULL) f->pivot = cpli_alloc(ctx, n, sizeof *f->pivot);
  if (f->matrix == NULL || f->pivot == NULL) return cpli_nomem(ctx);
  f->row = f->matrix + n * n;
  f->column = f->row + n;
  return CPL_OK;
}

// Factors of g_z, one column after the other. They are those of the point alone: kept ones would
// make derivatives depend on the evaluations before them.
static cpl_status need_factors(cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  cpli_c_factors* f = &in->exact;
  cpl_status st = cpli_cmodel_need_algebraics(in);
  if (st != CPL_OK || f->ready) return st;
  st = allocate_factors(in);
  if (st < 0) return st;
  memset(in->d, 0, at->n * sizeof *in->d);
  for (uint32_t j = 0; j < at->na && st == CPL_OK; j++) {
    in->d[at->a + j] = 1;
    st = call_residuals(in, false);
    in->d[at->a + j] = 0;
    memcpy(f->matrix + (size_t)j * at->na, in->d + at->g, at->na * sizeof *f->matrix);
  }
  if (st != CPL_OK) return st;
  cpli_lu_equilibrate(f->matrix, (int32_t)at->na, f->row, f->column);
  const int32_t bad = cpli_lu_factor(f->matrix, f->pivot, (int32_t)at->na);
  f->ready = bad < 0;
  return f->ready ? CPL_OK : cpli_cmodel_undetermined(in, bad);
}

// The change of the algebraic variables that follows from the direction.
static cpl_status solve_changes(cpli_c_instance* in, bool all) {
  const cpli_layout* at = &in->cm->at;
  const cpli_c_factors* f = &in->exact;
  double *dz = in->d + at->a, *dg = in->d + at->g;
  cpl_status st = call_residuals(in, all);
  if (st != CPL_OK) return st;
  for (uint32_t i = 0; i < at->na; i++) dz[i] = -dg[i] * f->row[i];
  cpli_lu_solve(f->matrix, f->pivot, (int32_t)at->na, dz);
  for (uint32_t i = 0; i < at->na; i++) dz[i] *= f->column[i];
  memset(dg, 0, at->na * sizeof *dg);  // they stay solved
  return CPL_OK;
}

//------------------------------------ the operation ------------------------------------

static bool is_discrete_output(const cpli_cmodel* cm, uint32_t ref) {
  return ref >= cm->at.y && ref < cm->at.y + cm->at.ny && cm->discrete_output[ref - cm->at.y];
}

static cpl_status no_derivative(const cpli_c_instance* in, uint32_t ref) {
  return cpl_fail_in(in->base.base.ctx, CPL_ERR_INPUT, in->base.base.name, NULL, NAN,
                     "no derivative with respect to value reference %u", (unsigned)ref);
}

static bool is_given_algebraic(const cpli_c_instance* in, uint32_t ref) {
  const cpli_layout* at = &in->cm->at;
  return ref >= at->a && ref < at->g && cpli_cmodel_algebraics_given(in);
}

// The direction; everything else is zero.
static cpl_status set_seed(cpli_c_instance* in, const uint32_t* knowns, size_t n,
                           const double* seed, bool* parameters) {
  const uint32_t u = in->cm->at.u, first = in->cm->covers_all ? 0 : u;
  const uint32_t span = in->cm->at.dx - first;
  double* d = in->d;
  uint32_t least = u;
  for (size_t i = 0; i < n; i++) {
    const uint32_t ref = knowns[i];
    if (ref - first < span || is_given_algebraic(in, ref)) d[ref] = seed[i];
    else if (first > 0 || !is_discrete_output(in->cm, ref)) return no_derivative(in, ref);
    least = ref < least ? ref : least;
  }
  *parameters = least < u;
  return CPL_OK;
}

static void clear_seed(const cpli_c_instance* in, const uint32_t* knowns, size_t n) {
  const cpli_layout* at = &in->cm->at;
  double* d = in->d;
  for (size_t i = 0; i < n; i++)
    if (knowns[i] < at->dx) d[knowns[i]] = 0;
  if (at->na > 0) memset(d + at->a, 0, at->na * sizeof *d);
}

static cpl_status evaluate(cpli_c_instance* in, bool parameters, const wanted* want) {
  const bool solved = !cpli_cmodel_algebraics_given(in);
  const bool any = want->dx || want->y || want->a || want->g || want->c;
  cpl_status st = CPL_OK;
  if (!any) return st;
  if (solved) st = solve_changes(in, parameters);
  wanted rest = *want;
  rest.g = rest.g && !solved;
  return st == CPL_OK ? call_tangents(in, parameters, &rest) : st;
}

static wanted list_wanted(const cpli_layout* at, const uint32_t* unknowns, size_t n) {
  wanted want = {0};
  for (size_t i = 0; i < n; i++) {
    const uint32_t ref = unknowns[i];
    if (ref < at->dx) continue;
    if (ref < at->y) want.dx = true;
    else if (ref < at->a) want.y = true;
    else if (ref < at->g) want.a = true;
    else if (ref < at->c) want.g = true;
    else want.c = true;
  }
  return want;
}

cpl_status cpli_cmodel_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                   const uint32_t* knowns, size_t n_knowns, const double* seed,
                                   double* sensitivity) {
  cpli_c_instance* in = (cpli_c_instance*)c;
  const cpli_layout* at = &in->cm->at;
  bool parameters = false;
  cpl_status st = cpli_cmodel_initialize(in);
  if (st == CPL_OK && at->na > 0 && !cpli_cmodel_algebraics_given(in)) st = need_factors(in);
  if (st != CPL_OK) return st;
  st = set_seed(in, knowns, n_knowns, seed, &parameters);
  if (st == CPL_OK && at->na > 0) {
    const wanted want = list_wanted(at, unknowns, n_unknowns);
    st = evaluate(in, parameters, &want);
  } else if (st == CPL_OK) {
    st = cpli_cmodel_direct(in, unknowns, n_unknowns, parameters);
  }
  for (size_t i = 0; i < n_unknowns && st == CPL_OK; i++)
    sensitivity[i] = unknowns[i] < at->n ? in->d[unknowns[i]] : 0;
  clear_seed(in, knowns, n_knowns);
  return st;
}
