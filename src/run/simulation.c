// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run in pieces, for programs and other languages: the same functions that cpl_run() consists of,
// with values by name between them.
#include <math.h>

#include "format/number.h"
#include "model/start.h"
#include "run/run.h"

//------------------------------------ life ------------------------------------

cpl_status cpl_simulation_create(cpl_stepper* s, const cpl_run_def* def, cpl_simulation** out) {
  cpl_context* ctx = s->base.ctx;
  *out = NULL;
  cpl_simulation* sim = cpli_alloc(ctx, 1, sizeof *sim);
  if (sim == NULL) return cpli_nomem(ctx);
  cpl_status st = cpli_run_open(sim, s, def);
  sim->memory.ctx = ctx;
  if (sim->def.on_point == NULL) sim->recorder.memory = &sim->memory;
  if (st >= 0) *out = sim;
  else cpl_simulation_destroy(sim);
  return st;
}

void cpl_simulation_destroy(cpl_simulation* sim) {
  if (sim == NULL) return;
  cpl_context* ctx = sim->s->base.ctx;
  cpli_run_close(sim);
  cpli_memory_free(&sim->memory);
  cpli_free(ctx, sim);
}

static cpl_status refuse(const cpl_simulation* sim, const char* what) {
  return cpl_fail_in(sim->s->base.ctx, CPL_ERR_INPUT, sim->s->base.name, NULL, NAN,
                     "the simulation %s", what);
}

cpl_status cpl_simulation_start(cpl_simulation* sim) {
  if (sim->running) return refuse(sim, "was started before");
  return sim->st = cpli_run_start(sim);
}

cpl_status cpli_take_effect(cpl_simulation* sim) {
  bool due = sim->changed && sim->s->base.can.zero_step;
  sim->changed = false;
  return due ? cpli_run_update(sim) : CPL_OK;
}

cpl_status cpl_simulation_advance(cpl_simulation* sim, double until) {
  if (!sim->running) return refuse(sim, "has not been started");
  if (sim->st < 0) return refuse(sim, "has failed before");
  if (!(until >= sim->t)) return refuse(sim, "can only advance to a later time");
  sim->until = fmin(until, sim->def.stop_time);
  if (!isfinite(sim->until)) return refuse(sim, "has no stop time: it advances to finite times");
  cpl_status st = cpli_take_effect(sim);
  if (st >= 0) st = cpli_run_advance(sim);
  sim->st = st;
  return st >= 0 && sim->ended ? CPL_TERMINATE : st;
}

double cpl_simulation_time(const cpl_simulation* sim) { return sim->t; }

cpl_status cpl_simulation_finish(cpl_simulation* sim, cpl_run_stats* stats) {
  if (!sim->running) return refuse(sim, "has not been started");
  cpl_status st = cpli_run_finish(sim, sim->st);
  sim->running = false;
  if (stats != NULL) *stats = sim->stats;
  return st;
}

//------------------------------------ values ------------------------------------

cpl_status cpli_simulation_find(const cpl_simulation* sim, const char* name,
                                const cpl_variable** out) {
  const cpl_component* c = &sim->s->base;
  int32_t i = -1;
  cpl_status st = cpl_require_variable(c->ctx, c->desc, name, &i);
  if (st >= 0) *out = &c->desc->vars[i];
  return st;
}

static cpl_status wrong_type(const cpl_simulation* sim, const cpl_variable* v) {
  return cpl_fail_in(sim->s->base.ctx, CPL_ERR_INPUT, sim->s->base.name, v->name, NAN, "%s is a %s",
                     v->name, cpl_type_name((cpl_type)v->type));
}

cpl_status cpli_simulation_number(const cpl_simulation* sim, const cpl_variable* v) {
  return v->type == CPL_STRING || v->type == CPL_BINARY ? wrong_type(sim, v) : CPL_OK;
}

cpl_status cpl_simulation_get(cpl_simulation* sim, const char* name, double* value) {
  cpl_component* c = &sim->s->base;
  const cpl_variable* v = NULL;
  int64_t integer = 0;
  *value = NAN;
  cpl_status st = cpli_simulation_find(sim, name, &v);
  if (st >= 0 && sim->running) st = cpli_take_effect(sim);
  if (st >= 0) st = cpli_simulation_number(sim, v);
  if (st < 0) return st;
  if (v->type == CPL_REAL) return c->ops->get_real(c, &v->ref, 1, value);
  st = c->ops->get_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
  bool is_unsigned = v->width == CPL_WIDTH_UINT64;
  if (st >= 0) *value = is_unsigned ? (double)(uint64_t)integer : (double)integer;
  return st;
}

cpl_status cpl_simulation_get_text(cpl_simulation* sim, const char* name, const char** value) {
  cpl_component* c = &sim->s->base;
  const cpl_variable* v = NULL;
  *value = "";
  cpl_status st = cpli_simulation_find(sim, name, &v);
  if (st < 0) return st;
  return v->type == CPL_STRING ? c->ops->get_string(c, &v->ref, 1, value) : wrong_type(sim, v);
}

cpl_status cpl_simulation_set_text(cpl_simulation* sim, const char* name, const char* value) {
  cpl_start start = {name, value};
  if (sim->running) return refuse(sim, "has been started: start values cannot be set any more");
  if (sim->def.resume != NULL || sim->def.start_from != NULL)
    return refuse(sim, "begins with a saved state: values can be set once it has been started");
  cpl_status st = cpli_run_set_starts(sim);
  return st < 0 ? st : cpli_set_starts(&sim->s->base, &start, 1);
}

static int32_t state_of(const cpl_description* d, const cpl_variable* v) {
  for (int32_t i = 0; i < d->n_states; i++) {
    const cpl_variable* state = d->states[i] >= 0 ? &d->vars[d->states[i]] : NULL;
    if (state != NULL && state->ref == v->ref && state->type == v->type) return i;
  }
  return -1;
}

cpl_status cpli_simulation_target(const cpl_simulation* sim, const cpl_variable* v,
                                  int32_t* state) {
  const cpl_component* c = &sim->s->base;
  bool input = v->causality == CPL_CAUSALITY_INPUT;
  bool tunable =
      v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE;
  *state = -1;
  if (input || tunable) return cpli_simulation_number(sim, v);
  *state = sim->s->ops->set_states != NULL ? state_of(c->desc, v) : -1;
  if (*state >= 0) return CPL_OK;
  return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name, v->name, NAN,
                     "%s is neither an input nor a tunable parameter nor a state that can be "
                     "set: it cannot be set during a run",
                     v->name);
}

// 2^63 and 2^64 are rounded integers of other values.
static bool has_integer(const cpl_variable* v, double value, int64_t* out) {
  return cpli_to_integer(v, value, out) && value != 0x1p64 &&
         (value < 0x1p63 || v->width == CPL_WIDTH_UINT64);
}

static cpl_status refuse_value(const cpl_simulation* sim, const cpl_variable* v, double value,
                               const char* why) {
  char number[CPLI_NUMBER_SIZE];
  cpli_format_double(number, value);
  return cpl_fail_in(sim->s->base.ctx, CPL_ERR_INPUT, sim->s->base.name, v->name, sim->t,
                     "%s cannot be set to %s at t=%.12g: %s", v->name, number, sim->t, why);
}

cpl_status cpli_simulation_value(const cpl_simulation* sim, const cpl_variable* v, double value,
                                 int64_t* integer) {
  char text[128];
  *integer = 0;
  if (v->type != CPL_REAL && !has_integer(v, value, integer)) {
    snprintf(text, sizeof text, "it is %s", cpli_type_text(v));
    return refuse_value(sim, v, value, text);
  }
  if (!isfinite(value)) return refuse_value(sim, v, value, "this is not a finite number");
  const char* why = cpli_beyond_limit(sim->s->base.desc, v, value, text, sizeof text);
  return why == NULL ? CPL_OK : refuse_value(sim, v, value, why);
}

static cpl_status set_running(cpl_simulation* sim, const cpl_variable* v, double value) {
  cpl_component* c = &sim->s->base;
  int32_t state = -1;
  int64_t integer = 0;
  cpl_status st = cpli_simulation_target(sim, v, &state);
  if (st >= 0) st = cpli_simulation_value(sim, v, value, &integer);
  if (st < 0) return st;
  if (state >= 0) {  // which a model does not take once an input is set
    st = cpli_take_effect(sim);
    return st < 0 ? st : sim->s->ops->set_states(sim->s, &state, 1, &value);
  }
  if (v->type == CPL_REAL) return c->ops->set_real(c, &v->ref, 1, &value);
  return c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
}

static cpl_status change(cpl_simulation* sim, const cpl_start* to) {
  const cpl_variable* v = NULL;
  int32_t state = -1;
  double value = 0;
  cpl_status st = cpli_simulation_find(sim, to->name, &v);
  if (st >= 0) st = cpli_simulation_target(sim, v, &state);
  if (st < 0 || state < 0) return st < 0 ? st : cpli_set_starts(&sim->s->base, to, 1);
  st = cpli_start_number(&sim->s->base, v->unit, to, &value);
  return st < 0 ? st : set_running(sim, v, value);
}

cpl_status cpli_run_change(cpl_simulation* r, const cpl_start* changes, size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) st = change(r, &changes[i]);
  r->changed = r->changed || n > 0;
  r->quiet = true;  // the values before them belong to the other run
  if (st >= 0) st = cpli_take_effect(r);
  r->quiet = r->recorded = false;
  return st;
}

cpl_status cpl_simulation_set(cpl_simulation* sim, const char* name, double value) {
  const cpl_variable* v = NULL;
  char text[40];
  cpl_status st = cpli_simulation_find(sim, name, &v);
  if (st < 0) return st;
  snprintf(text, sizeof text, "%.17g", value);
  if (!sim->running) return cpl_simulation_set_text(sim, name, text);
  st = set_running(sim, v, value);
  sim->changed = sim->changed || st >= 0;
  return st;
}

//------------------------------------ states ------------------------------------

// The state of the stepper, and where the run is.
typedef struct saved {
  cpl_snapshot stepper;
  double t;
  int64_t output_next, exchange_next;
  bool recorded, ended, changed;
  struct {
    cpli_cursor cursor;
    double last;
  } inputs[];
} saved;

static cpl_status cannot_save(const cpl_simulation* sim, const char* why) {
  return cpl_fail_in(sim->s->base.ctx, CPL_ERR_UNSUPPORTED, sim->s->base.name, NULL, NAN,
                     "the state cannot be saved: %s", why);
}

cpl_status cpl_simulation_save(cpl_simulation* sim, cpl_snapshot* snapshot) {
  cpl_component* c = &sim->s->base;
  saved* to = snapshot->data;
  if (!sim->running) return refuse(sim, "has not been started");
  if (!c->can.save_restore || c->ops->save == NULL)
    return cannot_save(sim, "the stepper does not offer it");
  if (sim->recorder.waits)
    return cannot_save(sim, "rows wait for the next communication point of a model");
  if (to == NULL) {
    to = cpli_alloc(c->ctx, 1, sizeof *to + sim->inputs.n * sizeof to->inputs[0]);
    if (to == NULL) return cpli_nomem(c->ctx);
    snapshot->data = to;
  }
  to->t = sim->t;
  to->output_next = sim->output.next;
  to->exchange_next = sim->exchange.next;
  to->recorded = sim->recorded, to->ended = sim->ended, to->changed = sim->changed;
  for (size_t i = 0; i < sim->inputs.n; i++) {
    to->inputs[i].cursor = sim->inputs.list[i].cursor;
    to->inputs[i].last = sim->inputs.list[i].last;
  }
  return c->ops->save(c, &to->stepper);
}

cpl_status cpl_simulation_restore(cpl_simulation* sim, const cpl_snapshot* snapshot) {
  cpl_component* c = &sim->s->base;
  const saved* from = snapshot->data;
  if (from == NULL || !sim->running) return refuse(sim, "has no saved state to return to");
  cpl_status st = c->ops->restore(c, &from->stepper);
  sim->st = st;
  if (st < 0) return st;
  sim->t = from->t;
  sim->output.next = from->output_next;
  sim->exchange.next = from->exchange_next;
  sim->recorded = from->recorded, sim->ended = from->ended, sim->changed = from->changed;
  for (size_t i = 0; i < sim->inputs.n; i++) {
    sim->inputs.list[i].cursor = from->inputs[i].cursor;
    sim->inputs.list[i].last = from->inputs[i].last;
  }
  if (sim->memory.columns != NULL) cpli_memory_cut(&sim->memory, sim->t);
  return CPL_OK;
}

void cpl_simulation_forget(cpl_simulation* sim, cpl_snapshot* snapshot) {
  cpl_component* c = &sim->s->base;
  saved* from = snapshot->data;
  if (from == NULL) return;
  if (from->stepper.data != NULL) c->ops->forget(c, &from->stepper);
  cpli_free(c->ctx, from);
  snapshot->data = NULL;
}

cpl_status cpl_simulation_table(cpl_simulation* sim, const cpl_table** out) {
  *out = NULL;
  if (sim->memory.columns == NULL)
    return refuse(sim, "keeps no rows: they go to on_point, or it has not been started");
  return cpli_memory_table(&sim->memory, out);
}
