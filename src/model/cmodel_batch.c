// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Evaluates many instances of one model in C by one call, with one guard against crashes around all
// of them. Each instance does what it would do alone, in the same order: where a model has changed
// the rounding or the like, all are evaluated again, each function with the modes of the caller.
#include <assert.h>

#include "model/cmodel_instance.h"

typedef struct batch {
  cpl_model* const* models;
  size_t n;
  const cpl_evaluation* e;
  size_t at;             // the model that is called
  const char* function;  // of it
  bool refused;          // it may not be called
  int result;
  const cpli_cmodel_host* host;
  uint32_t modes;  // of the caller
  bool careful;    // they are put back behind every function
} batch;

static void put_back(const batch* b) {
  if (b->careful && b->host->modes() != b->modes) b->host->put_back(b->modes);
}

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

static void evaluate(void* user) {
  batch* b = user;
  if (b->host->modes != NULL) b->modes = b->host->modes();
  evaluate_all(b);
  if (b->host->modes == NULL || b->host->modes() == b->modes) return;
  b->host->put_back(b->modes);
  b->careful = true;
  evaluate_all(b);
}

cpl_status cpli_cmodel_evaluate(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                                size_t* done) {
  const char* all = e->dx != NULL ? "derivatives" : "output_values";
  const cpli_cmodel_host* host = &((const cpli_c_instance*)models[0])->cm->host;
  const char* crash = NULL;
  batch b = {.models = models, .n = n, .e = e, .function = all, .host = host};
  if (host->call != NULL) crash = host->call(all, evaluate, &b);
  else evaluate(&b);
  *done = b.at;
  if (b.at == n) return CPL_OK;
  cpli_c_instance* in = (cpli_c_instance*)models[b.at];
  return b.refused ? cpli_cmodel_callable(in, b.function)
                   : cpli_cmodel_returned(in, b.function, crash, b.result);
}
