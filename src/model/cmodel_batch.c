// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Evaluates many instances of one model in C by one call, with one guard against crashes around all
// of them: values, or directional derivatives. Each instance does what it would do alone, in the
// same order: where a model has changed the rounding or the like, all are evaluated again, each
// function with the modes of the caller.
#include <assert.h>

#include "model/cmodel_instance.h"

// The calls of a batch, and where they are.
typedef struct batch {
  cpl_model* const* models;
  size_t n;
  void (*all)(struct batch* b);
  const cpl_evaluation* e;  // one of both
  const cpl_directions* d;
  size_t at;             // the model that is called
  const char* function;  // of it
  bool refused;          // it may not be called
  int result;
  const cpli_cmodel_host* host;
  uint32_t modes;  // of floating-point arithmetic, of the caller
  bool careful;    // they are put back behind every function
} batch;

static void put_back(const batch* b) {
  if (b->careful && b->host->modes() != b->modes) b->host->put_back(b->modes);
}

static void run_all(void* user) {
  batch* b = user;
  const cpli_cmodel_host* host = b->host;
  if (host->modes != NULL) b->modes = host->modes();
  b->all(b);
  if (host->modes == NULL || host->modes() == b->modes) return;
  host->put_back(b->modes);
  b->careful = true;
  b->all(b);
}

// b->at: how many are done.
static cpl_status run(batch* b) {
  const char* crash = NULL;
  b->host = &((const cpli_c_instance*)b->models[0])->cm->host;
  if (b->host->call != NULL) crash = b->host->call(b->function, run_all, b);
  else run_all(b);
  if (b->at == b->n) return CPL_OK;
  cpli_c_instance* in = (cpli_c_instance*)b->models[b->at];
  return b->refused ? cpli_cmodel_callable(in, b->function)
                    : cpli_cmodel_returned(in, b->function, crash, b->result);
}

//------------------------------------ values ------------------------------------

static void set_point(cpli_c_instance* in, const batch* b) {
  const cpl_evaluation* e = b->e;
  const uint32_t x = in->cm->at.x, nx = in->cm->at.nx;
  if (e->x != NULL) {
    in->t = e->t;
    for (uint32_t i = 0; i < nx; i++) in->v[x + i] = e->x[b->at * nx + i];
  }
  for (int32_t i = e->first[b->at]; e->inputs != NULL && i < e->first[b->at + 1]; i++) {
    assert(e->inputs[i] < in->cm->at.dx);
    in->v[e->inputs[i]] = e->u[i];
  }
  in->values.t = in->t;
  if (e->x != NULL || e->inputs != NULL) cpli_cmodel_forget_results(in);
}

static bool update_outputs(cpli_c_instance* in, batch* b) {
  const cpli_layout* at = &in->cm->at;
  if (in->y_known || at->ny == 0) return true;
  const bool hold = in->cm->any_discrete_output && in->phase == IN_CONTINUOUS;
  b->function = "output_values";
  b->result = in->cm->def->output_values(&in->values, hold ? in->fresh_y : in->v + at->y);
  put_back(b);
  if (b->result != CPL_MODEL_OK) return false;
  if (hold) cpli_cmodel_hold_discrete(in);
  return in->y_known = true;
}

static bool update_derivatives(cpli_c_instance* in, batch* b) {
  const cpli_layout* at = &in->cm->at;
  if (in->dx_known || at->nx == 0) return true;
  b->function = "derivatives";
  b->result = in->cm->def->derivatives(&in->values, in->v + at->dx);
  put_back(b);
  return in->dx_known = b->result == CPL_MODEL_OK;
}

static bool get_outputs(cpli_c_instance* in, batch* b) {
  const cpl_evaluation* e = b->e;
  const cpli_layout* at = &in->cm->at;
  bool done = true;
  for (int32_t i = e->first[b->at]; i < e->first[b->at + 1] && done; i++) {
    const uint32_t ref = e->outputs[i];
    assert(ref < at->n);
    if (ref >= at->y) done = update_outputs(in, b);
    else if (ref >= at->dx) done = update_derivatives(in, b);
    e->y[i] = in->v[ref];
  }
  return done;
}

#if defined(__GNUC__) || defined(__clang__)
#define FETCH(address) __builtin_prefetch(address)
#else
#define FETCH(address) (void)(address)
#endif

// Instances of large systems are not in the cache: those that come soon are fetched, first what
// each has in common with the others, then its numbers.
enum { LINE = 64, MOST = 32, AHEAD = 20, NUMBERS = 10 };  // bytes; numbers; instances

static void fetch_instance(const batch* b, size_t at) {
  if (at >= b->n) return;
  const cpli_c_instance* in = (const cpli_c_instance*)b->models[at];
  FETCH(&in->cm);
  FETCH(&in->values);
}

static void fetch_numbers(const batch* b, size_t at, size_t bytes) {
  if (at >= b->n) return;
  const char* v = (const char*)((const cpli_c_instance*)b->models[at])->v;
  for (size_t i = 0; i < bytes; i += LINE) FETCH(v + i);
  FETCH(v + bytes);
}

static void evaluate_all(batch* b) {
  const cpl_evaluation* e = b->e;
  const cpl_context* ctx = b->models[0]->base.ctx;
  const cpli_layout* at = &((const cpli_c_instance*)b->models[0])->cm->at;
  const size_t bytes = (at->a < MOST ? at->a : MOST) * sizeof(double);
  for (size_t i = 0; i < AHEAD; i++) fetch_instance(b, i);
  for (size_t i = 0; i < NUMBERS; i++) fetch_numbers(b, i, bytes);
  for (b->at = 0; b->at < b->n; b->at++) {
    cpli_c_instance* in = (cpli_c_instance*)b->models[b->at];
    const uint32_t dx = in->cm->at.dx, nx = in->cm->at.nx;
    assert(in->phase > IN_INIT && in->cm->at.na == 0);
    if (b->careful) cpli_cmodel_forget_results(in);
    fetch_instance(b, b->at + AHEAD);
    fetch_numbers(b, b->at + NUMBERS, bytes);
    b->refused = in->dead || cpli_cancelled(ctx);
    if (b->refused) return;
    set_point(in, b);
    if (e->outputs != NULL && !get_outputs(in, b)) return;
    if (e->dx == NULL) continue;
    if (!update_derivatives(in, b)) return;
    for (uint32_t i = 0; i < nx; i++) e->dx[b->at * nx + i] = in->v[dx + i];
  }
}

cpl_status cpli_cmodel_evaluate(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                                size_t* done) {
  batch b = {.models = models, .n = n, .all = evaluate_all, .e = e};
  b.function = e->dx != NULL ? "derivatives" : "output_values";
  const cpl_status st = run(&b);
  *done = b.at;
  return st;
}

//------------------------------------ directional derivatives ------------------------------------

// What a model is asked for.
typedef struct wanted {
  bool all;            // parameters or discrete variables change
  double *d_dx, *d_y;  // Nullable
} wanted;

static bool call_tangents(cpli_c_instance* in, const cpl_values* seed, const wanted* w,
                          const char** function, int* result) {
  const cpli_cmodel* cm = in->cm;
  const cpl_model_tangent* t = cm->tangent;
  const cpl_values* values = &in->values;
  if (t->memory) {
    cpli_cmodel_prepare_tangent(in);
    values = &in->tangent_values;
  }
  *result = CPL_MODEL_OK;
  if (w->d_dx != NULL) {
    *function = "derivatives";
    *result = (w->all ? t->derivatives_all : t->derivatives)(values, seed, in->computed, w->d_dx);
  }
  if (w->d_y != NULL && *result == CPL_MODEL_OK) {
    *function = "output_values";
    *result = (w->all ? t->output_values_all : t->output_values)(values, seed,
                                                                 in->computed + cm->at.nx, w->d_y);
  }
  return *result == CPL_MODEL_OK;
}

static bool call_model(cpli_c_instance* in, const cpl_values* seed, const wanted* w,
                       const char** function, int* result) {
  in->values.t = in->t;
  if (in->cm->def->directional == NULL || w->all)
    return call_tangents(in, seed, w, function, result);
  *function = "directional";
  *result = in->cm->def->directional(&in->values, seed->x, seed->u, w->d_dx, w->d_y);
  return *result == CPL_MODEL_OK;
}

static wanted find_wanted(const cpli_c_instance* in, const uint32_t* unknowns, size_t n) {
  const uint32_t dx = in->cm->at.dx, y = in->cm->at.y;
  wanted w = {0};
  for (size_t i = 0; i < n && (w.d_y == NULL || w.d_dx == NULL); i++) {
    if (unknowns[i] >= y) w.d_y = in->d + y;
    else if (unknowns[i] >= dx) w.d_dx = in->d + dx;
  }
  return w;
}

static bool direct(cpli_c_instance* in, batch* b) {
  const cpl_directions* d = b->d;
  const cpli_layout* at = &in->cm->at;
  const double* seed = d->seed + d->first_seed[b->at];
  const int32_t first = d->first[b->at];
  in->given_seed.x = seed;
  in->given_seed.u = seed + at->nx;
  if (d->unknowns == NULL) {
    const wanted w = {.d_dx = d->sensitivity + first};
    return call_model(in, &in->given_seed, &w, &b->function, &b->result);
  }
  const int32_t end = d->first[b->at + 1];
  const uint32_t* unknowns = d->unknowns;
  const wanted w = find_wanted(in, unknowns + first, (size_t)(end - first));
  if (!call_model(in, &in->given_seed, &w, &b->function, &b->result)) return false;
  for (int32_t i = first; i < end; i++) {
    assert(unknowns[i] >= at->dx && unknowns[i] < at->n);
    d->sensitivity[i] = in->d[unknowns[i]];
  }
  return true;
}

static void direct_all(batch* b) {
  for (b->at = 0; b->at < b->n; b->at++) {
    cpli_c_instance* in = (cpli_c_instance*)b->models[b->at];
    assert(in->phase > IN_INIT && in->cm->at.na == 0);
    b->refused = in->dead || cpli_cancelled(in->base.base.ctx);
    if (b->refused || !direct(in, b)) return;
    put_back(b);
  }
}

cpl_status cpli_cmodel_directions(cpl_model* const* models, size_t n, const cpl_directions* d) {
  batch b = {.models = models, .n = n, .all = direct_all, .d = d, .function = "directional"};
  return run(&b);
}

//------------------------------------ one model, any references ----------------------------------

typedef struct direction {
  cpli_c_instance* in;
  wanted w;
  const char* function;
  int result;
} direction;

static void direct_one(void* user) {
  direction* q = user;
  call_model(q->in, &q->in->tangent_seed, &q->w, &q->function, &q->result);
}

cpl_status cpli_cmodel_direct(cpli_c_instance* in, const uint32_t* unknowns, size_t n, bool all) {
  const cpli_cmodel_host* host = &in->cm->host;
  direction q = {.in = in, .w = find_wanted(in, unknowns, n), .function = "directional"};
  const char* crash = NULL;
  q.w.all = all;
  cpl_status st = cpli_cmodel_callable(in, q.function);
  if (st != CPL_OK || (q.w.d_dx == NULL && q.w.d_y == NULL)) return st;
  if (host->call != NULL) crash = host->call(q.function, direct_one, &q);
  else direct_one(&q);
  return cpli_cmodel_returned(in, q.function, crash, q.result);
}
