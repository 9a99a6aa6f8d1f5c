// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The child leaves the shortest time of a call in shared memory. What the instance prints or
// reports is dropped, since those of the run will say the same.
#include "model/cost.h"

#include <fcntl.h>
#include <math.h>
#include <unistd.h>

#include "base/base.h"
#include "base/channel.h"
#include "base/error.h"
#include "couplet/component.h"
#include "couplet/isolate.h"
#include "model/adopt.h"
#include "model/proxy.h"

static const double patience = 60;       // for all calls of an instance [s]
static const double long_enough = 5e-3;  // of all measured calls [s]

enum { MIN_CALLS = 3, MAX_CALLS = 200 };

//------------------------------------ calls ------------------------------------

// Memory for the values of calls.
typedef struct values {
  double *x, *out;
  uint32_t* refs;
  size_t n_outputs;
} values;

static bool make_values(const cpl_description* d, cpl_context* ctx, values* v) {
  const size_t n_x = (size_t)d->n_states, n_y = (size_t)d->structure.n_outputs;
  v->x = cpli_alloc(ctx, n_x, sizeof *v->x);
  v->out = cpli_alloc(ctx, n_x + n_y, sizeof *v->out);
  v->refs = cpli_alloc(ctx, n_y, sizeof *v->refs);
  for (size_t i = 0; i < n_y && v->refs != NULL; i++) {
    const cpl_variable* var = &d->vars[d->structure.outputs[i].var];
    if (var->type == CPL_REAL) v->refs[v->n_outputs++] = var->ref;
  }
  return v->x != NULL && v->out != NULL && v->refs != NULL;
}

static cpl_status evaluate(cpl_model* m, const values* v, double t) {
  cpl_component* c = &m->base;
  cpl_status st = m->ops->set_time(m, t);
  if (st >= 0 && c->desc->n_states > 0) st = m->ops->set_states(m, v->x);
  if (st >= 0 && c->desc->n_states > 0) st = m->ops->get_derivatives(m, v->out);
  if (st >= 0 && v->n_outputs > 0)
    st = c->ops->get_real(c, v->refs, v->n_outputs, v->out + c->desc->n_states);
  return st;
}

static cpl_status begin_model(cpl_model* m, values* v) {
  cpl_event_info info = {.again = true};
  cpl_status st = CPL_OK;
  for (int round = 0; st >= 0 && info.again && round < 100; round++)
    st = m->ops->event_update(m, &info);
  if (st >= 0) st = m->ops->enter_continuous(m);
  if (st >= 0 && !make_values(m->base.desc, m->base.ctx, v)) st = CPL_ERR_NOMEM;
  if (st >= 0 && m->base.desc->n_states > 0) st = m->ops->get_states(m, v->x);
  return st;
}

// Between points of results, where nothing else says how far.
static double step_of(const cpl_default_experiment* e) {
  if (e->has_step && e->step > 0) return e->step;
  const double length = e->has_stop ? e->stop - (e->has_start ? e->start : 0) : 1;
  return length > 0 ? length / 500 : 0.002;
}

// The time of the shortest call. Each has another time, so that no model knows its result.
static double shortest_call(cpl_model* m, cpl_stepper* s, double t) {
  const cpl_component* c = m != NULL ? &m->base : &s->base;
  const double h = m != NULL ? 1e-9 : step_of(&c->desc->experiment);
  const double began = cpli_now();
  double least = (double)NAN, since = began;
  values v = {NULL, NULL, NULL, 0};
  cpl_status st = m != NULL ? begin_model(m, &v) : CPL_OK;
  for (int i = 0; st >= 0 && i < MAX_CALLS; i++) {
    cpl_step_result reached = {.time = t};
    since = cpli_now();
    st = m != NULL ? evaluate(m, &v, t + h) : s->ops->step(s, t + h, t + h, &reached);
    const double now = cpli_now();
    if (st == CPL_OK) least = fmin(least, now - since);  // the other one, where one is NAN
    t = m != NULL ? t + h : fmax(t, reached.time);
    if (i + 1 >= MIN_CALLS && now > began + long_enough) break;
  }
  cpli_free(c->ctx, v.x);
  cpli_free(c->ctx, v.out);
  cpli_free(c->ctx, v.refs);
  return least;
}

//------------------------------------ the child ------------------------------------

static cpl_status make(cpl_source* src, bool is_model, cpl_model** m, cpl_stepper** s) {
  cpl_status st = is_model ? src->ops->make_model(src, "measured", m)
                           : src->ops->make_stepper(src, "measured", s);
  if (st >= 0 && is_model) st = cpli_adopt_model(*m);
  if (st >= 0 && !is_model) st = cpli_adopt_stepper(*s);
  return st;
}

static double measure(cpl_source* src, bool is_model) {
  const cpl_default_experiment* e = &src->desc->experiment;
  cpl_setup setup = cpl_default_setup();
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  if (make(src, is_model, &m, &s) < 0) return (double)NAN;
  setup.start_time = e->has_start ? e->start : 0;
  cpl_component* c = m != NULL ? &m->base : &s->base;
  cpl_status st = c->ops->setup(c, &setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0) st = c->ops->exit_init(c);
  const double cost = st >= 0 ? shortest_call(m, s, setup.start_time) : (double)NAN;
  c->ops->destroy(c);
  return cost;
}

static void be_silent(cpl_context* ctx) {
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  cpli_log_to(ctx, NULL, NULL);
  if (nowhere >= 0) dup2(nowhere, STDOUT_FILENO), dup2(nowhere, STDERR_FILENO);
}

static _Noreturn void measure_in_child(cpli_channel* ch, cpl_source* src, bool is_model) {
  cpli_channel_next(ch, false);
  be_silent(src->ctx);
  *(double*)(void*)ch->data = measure(src, is_model);
  cpli_channel_last(ch);
  _exit(0);
}

//------------------------------------ this process ------------------------------------

double cpli_cost_of(cpl_source* source, bool is_model) {
  cpl_context* ctx = source->ctx;
  cpl_isolate_def isolated;
  cpl_source* inner = (cpl_source*)cpli_isolated_inner(source, &isolated);
  cpl_source* src = inner != NULL ? inner : source;
  cpli_channel ch = {.ctx = NULL};
  cpli_error ignored = {.large = NULL};
  double cost = (double)NAN;
  bool in_child = false;
  int kept = -1;
  cpli_error* before = cpli_divert_errors(ctx, &ignored);
  cpl_status st = cpli_channel_open(ctx, sizeof cost, &ch);
  if (st >= 0 && src->ops->prepare != NULL) st = src->ops->prepare(src, &kept);
  if (st >= 0) st = cpli_channel_fork(&ch, kept, &in_child);
  if (in_child) measure_in_child(&ch, src, is_model);
  if (st >= 0 && cpli_channel_ask(&ch, patience) == CPLI_ANSWERED)
    cost = *(const double*)(void*)ch.data;
  cpli_channel_close(&ch);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, ctx);
  return cost;
}
