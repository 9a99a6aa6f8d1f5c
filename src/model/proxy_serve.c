// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The other side of a proxy: it has the real component and runs operations on the arguments in the
// memory of the channel, in place.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/error.h"
#include "couplet/component.h"
#include "model/adopt.h"
#include "model/cost.h"
#include "model/proxy.h"

#define ARG(i, type)   ((type*)r->args[i].data)
#define COUNT(i, type) (r->args[i].size / sizeof(type))
#define ROOM(i)        ARG(i, char), COUNT(i, char)  // for a text
#define MODEL          ((cpl_model*)c)
#define REFS(i)        ARG(i, uint32_t), COUNT(i, uint32_t)
#define NEWTON         MODEL->ops->newton
#define CONSTRAINTS    MODEL->ops->constraints
#define STEPPER        ((cpl_stepper*)c)

// Memory lent by the component must outlive the answer: it is copied behind the arguments.
static void* keep(char** at, cpli_request* q, const void* data, size_t size) {
  const size_t used = (size_t)(*at - (char*)q);
  if (size > q->room - used) return NULL;
  void* kept = *at;
  if (size > 0) memcpy(kept, data, size);
  *at += size;
  q->used = used + size;
  return kept;
}

static cpl_status too_much(cpl_component* c) {
  return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, NAN,
                     "a value is too large for the process boundary");
}

static cpl_status lend_strings(cpl_component* c, cpli_call* r, cpli_request* q) {
  const char** values = ARG(1, const char*);
  size_t n = COUNT(0, uint32_t);
  char* at = (char*)(values + n);
  cpl_status st = c->ops->get_string(c, ARG(0, uint32_t), n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    values[i] = keep(&at, q, values[i], strlen(values[i]) + 1);
    if (values[i] == NULL) st = too_much(c);
  }
  return st;
}

static cpl_status lend_binaries(cpl_component* c, cpli_call* r, cpli_request* q) {
  cpl_binary* values = ARG(1, cpl_binary);
  size_t n = COUNT(0, uint32_t);
  char* at = (char*)(values + n);
  cpl_status st = c->ops->get_binary(c, ARG(0, uint32_t), n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    values[i].data = keep(&at, q, values[i].data, values[i].size);
    if (values[i].data == NULL) st = too_much(c);
  }
  return st;
}

static bool keep_text(char** at, cpli_request* q, const char** text) {
  *text = keep(at, q, *text, strlen(*text) + 1);
  return *text != NULL;
}

static cpl_status lend_inspection(cpl_component* c, cpli_call* r, cpli_request* q) {
  cpl_inspection* in = ARG(1, cpl_inspection);
  char* at = (char*)(in + 1);
  cpl_status st = cpl_component_inspect(c, *ARG(0, int32_t), in);
  if (st < 0) return st;
  bool fits =
      keep_text(&at, q, &in->kind) && keep_text(&at, q, &in->name) && keep_text(&at, q, &in->role);
  for (int32_t i = 0; i < in->n_counters; i++)
    fits = fits && keep_text(&at, q, &in->counters[i].name) &&
           keep_text(&at, q, &in->counters[i].unit);
  return fits ? CPL_OK : too_much(c);
}

// Bytes of the component are its second argument.
static cpl_status keep_bytes(cpl_component* c, cpli_call* r, cpli_request* q, cpl_status st) {
  cpl_binary* bytes = ARG(1, cpl_binary);
  char* at = (char*)(bytes + 1);
  if (st < 0) return st;
  bytes->data = keep(&at, q, bytes->data, bytes->size);
  return bytes->data != NULL ? st : too_much(c);
}

static cpl_status lend_bytes(cpl_component* c, cpli_call* r, cpli_request* q) {
  return keep_bytes(c, r, q, c->ops->serialize(c, ARG(0, cpl_snapshot), ARG(1, cpl_binary)));
}

static cpl_status lend_history(cpl_component* c, cpli_call* r, cpli_request* q) {
  return keep_bytes(c, r, q, c->ops->get_history(c, ARG(1, cpl_binary), ARG(0, bool)));
}

static cpl_status set_history(cpl_component* c, cpli_call* r) {
  const cpl_binary bytes = {ARG(0, uint8_t), COUNT(0, uint8_t)};
  return c->ops->set_history(c, &bytes);
}

static cpl_status lend_pattern(cpl_component* c, cpli_call* r, cpli_request* q) {
  const int32_t** lists = ARG(1, const int32_t*);
  char* at = (char*)(lists + 2);
  cpl_status st = MODEL->ops->constraints->pattern(MODEL, &lists[0], &lists[1]);
  if (st < 0) return st;
  size_t n = *ARG(0, size_t) + 1, entries = (size_t)lists[0][n - 1];
  lists[0] = keep(&at, q, lists[0], n * sizeof(int32_t));
  lists[1] = keep(&at, q, lists[1], entries * sizeof(int32_t));
  return lists[0] != NULL && lists[1] != NULL ? st : too_much(c);
}

static cpl_status take_border(cpl_component* c, cpli_call* r) {
  if (r->n_args == 0) return NEWTON->border(MODEL, NULL);
  const cpl_border b = {.n = COUNT(4, bool),
                        .n_shaped = COUNT(2, int32_t) - 1,
                        .first = ARG(2, int32_t),
                        .column = ARG(3, int32_t),
                        .rows = ARG(0, double),
                        .columns = ARG(1, double),
                        .taken = ARG(4, bool)};
  return NEWTON->border(MODEL, &b);
}

static cpl_status deserialize(cpl_component* c, cpli_call* r) {
  const cpl_binary bytes = {ARG(0, uint8_t), COUNT(0, uint8_t)};
  return c->ops->deserialize(c, &bytes, ARG(1, cpl_snapshot));
}

// How the child calls each operation.
#define RUN(table, name, invoke)                                                            \
  static cpl_status run_##table##_##name(cpl_component* c, cpli_call* r, cpli_request* q) { \
    (void)q, (void)r;                                                                       \
    return invoke;                                                                          \
  }
RUN(component, setup, c->ops->setup(c, ARG(0, cpl_setup)))
RUN(component, enter_init, c->ops->enter_init(c))
RUN(component, exit_init, c->ops->exit_init(c))
RUN(component, terminate, c->ops->terminate(c))
RUN(component, reset, c->ops->reset(c))
RUN(component, get_real, c->ops->get_real(c, REFS(0), ARG(1, double)))
RUN(component, set_real, c->ops->set_real(c, REFS(0), ARG(1, double)))
RUN(component, get_integer, c->ops->get_integer(c, *ARG(0, cpl_type), REFS(1), ARG(2, int64_t)))
RUN(component, set_integer, c->ops->set_integer(c, *ARG(0, cpl_type), REFS(1), ARG(2, int64_t)))
RUN(component, get_string, lend_strings(c, r, q))
RUN(component, set_string, c->ops->set_string(c, REFS(0), ARG(1, const char*)))
RUN(component, get_binary, lend_binaries(c, r, q))
RUN(component, set_binary, c->ops->set_binary(c, REFS(0), ARG(1, cpl_binary)))
RUN(component, save, c->ops->save(c, ARG(0, cpl_snapshot)))
RUN(component, restore, c->ops->restore(c, ARG(0, cpl_snapshot)))
RUN(component, serialize, lend_bytes(c, r, q))
RUN(component, deserialize, deserialize(c, r))
RUN(component, get_history, lend_history(c, r, q))
RUN(component, set_history, set_history(c, r))
RUN(component, forget, (c->ops->forget(c, ARG(0, cpl_snapshot)), CPL_OK))
RUN(component, directional,
    c->ops->directional(c, REFS(0), REFS(1), ARG(2, double), ARG(3, double)))
RUN(component, inspect, lend_inspection(c, r, q))
RUN(model, enter_event, MODEL->ops->enter_event(MODEL))
RUN(model, event_update, MODEL->ops->event_update(MODEL, ARG(0, cpl_event_info)))
RUN(model, enter_continuous, MODEL->ops->enter_continuous(MODEL))
RUN(model, set_time, MODEL->ops->set_time(MODEL, *ARG(0, double)))
RUN(model, set_states, MODEL->ops->set_states(MODEL, ARG(0, double)))
RUN(model, get_states, MODEL->ops->get_states(MODEL, ARG(0, double)))
RUN(model, get_nominals, MODEL->ops->get_nominals(MODEL, ARG(0, double)))
RUN(model, get_derivatives, MODEL->ops->get_derivatives(MODEL, ARG(0, double)))
RUN(model, get_indicators, MODEL->ops->get_indicators(MODEL, ARG(0, double)))
RUN(model, completed_step, MODEL->ops->completed_step(MODEL, ARG(0, bool), ARG(1, bool)))
RUN(model, jacobian_times, MODEL->ops->jacobian_times(MODEL, ARG(0, double), ARG(1, double)))
RUN(model, name_indicator, (MODEL->ops->name_indicator(MODEL, *ARG(0, size_t), ROOM(1)), CPL_OK))
RUN(model, next_break,
    (*ARG(1, cpl_break) = MODEL->ops->next_break(MODEL, ARG(0, double)[0], ARG(0, double)[1]),
     CPL_OK))
RUN(newton, setup, NEWTON->setup(MODEL, *ARG(0, double), *ARG(1, bool)))
RUN(newton, solve, NEWTON->solve(MODEL, ARG(0, double), ARG(1, double)))
RUN(newton, border, take_border(c, r))
RUN(constraint, count, CONSTRAINTS->count(MODEL, ARG(0, size_t)))
RUN(constraint, get, CONSTRAINTS->get(MODEL, ARG(0, double)))
RUN(constraint, jacobian, CONSTRAINTS->jacobian(MODEL, ARG(0, double)))
RUN(constraint, pattern, lend_pattern(c, r, q))
RUN(constraint, entries, CONSTRAINTS->entries(MODEL, ARG(0, double)))
RUN(constraint, projection,
    CONSTRAINTS->projection(MODEL, *ARG(0, double), *ARG(1, size_t), ARG(2, double)))
RUN(constraint, projection_step, CONSTRAINTS->projection_step(MODEL, ARG(0, double)))
RUN(constraint, name, (CONSTRAINTS->name(MODEL, *ARG(0, size_t), ROOM(1)), CPL_OK))
RUN(dae, use_residuals, MODEL->ops->dae->use_residuals(MODEL, ARG(0, size_t)))
RUN(dae, set_algebraics, MODEL->ops->dae->set_algebraics(MODEL, ARG(0, double)))
RUN(dae, get_algebraics, MODEL->ops->dae->get_algebraics(MODEL, ARG(0, double)))
RUN(dae, get_algebraic_nominals, MODEL->ops->dae->get_algebraic_nominals(MODEL, ARG(0, double)))
RUN(dae, get_residuals, MODEL->ops->dae->get_residuals(MODEL, ARG(0, double)))
RUN(stepper, step,
    STEPPER->ops->step(STEPPER, ARG(0, double)[0], ARG(0, double)[1], ARG(1, cpl_step_result)))
RUN(stepper, set_curve, STEPPER->ops->set_curve(STEPPER, *ARG(0, uint32_t), ARG(1, cpl_curve)))
RUN(stepper, max_step, STEPPER->ops->max_step(STEPPER, ARG(0, double)))
RUN(stepper, ahead,
    STEPPER->ops->ahead(STEPPER, ARG(0, double)[0], ARG(0, double)[1], ARG(1, double)))
RUN(stepper, set_states,
    STEPPER->ops->set_states(STEPPER, ARG(0, int32_t), COUNT(0, int32_t), ARG(1, double)))
RUN(stepper, wants_update, STEPPER->ops->wants_update(STEPPER, ARG(0, bool), ARG(1, double)))
RUN(stepper, value_time,
    STEPPER->ops->value_time(STEPPER, *ARG(0, uint32_t), ARG(1, double), ARG(2, double)))
RUN(stepper, get_output_derivatives,
    STEPPER->ops->get_output_derivatives(STEPPER, REFS(0), ARG(1, double)))
RUN(stepper, next_event, STEPPER->ops->next_event(STEPPER, ARG(0, double), ARG(1, bool)))
RUN(stepper, get_indicators, STEPPER->ops->get_indicators(STEPPER, ARG(0, double)))
RUN(stepper, next_break,
    (*ARG(1, double) = STEPPER->ops->next_break(STEPPER, *ARG(0, double)), CPL_OK))

const cpli_operation cpli_operations[OP_destroy] = {
#define X(table, name, ...) \
  {#name, CPLI_TABLE_##table, offsetof(cpl_##table##_ops, name), run_##table##_##name},
    CPLI_REMOTE_OPERATIONS(X)
#undef X
};

static bool is_offered(const cpl_component* c, bool is_model, size_t op) {
  const cpl_model_ops* m = is_model ? ((const cpl_model*)c)->ops : NULL;
  const void* const tables[] = {
      [CPLI_TABLE_component] = c->ops,
      [CPLI_TABLE_model] = m,
      [CPLI_TABLE_newton] = is_model ? m->newton : NULL,
      [CPLI_TABLE_constraint] = is_model ? m->constraints : NULL,
      [CPLI_TABLE_dae] = is_model ? m->dae : NULL,
      [CPLI_TABLE_stepper] = is_model ? NULL : ((const cpl_stepper*)c)->ops,
  };
  const char* table = tables[cpli_operations[op].table];
  void (*function)(void) = NULL;
  if (table != NULL) memcpy(&function, table + cpli_operations[op].slot, sizeof function);
  return function != NULL;
}

// The properties of a new component, for the parent.
static void introduce(cpli_request* r, const cpl_component* c, bool is_model) {
  r->can = c->can;
  snprintf(r->kind, sizeof r->kind, "%s", c->ops->kind != NULL ? c->ops->kind : "");
  for (size_t i = 0; i < CPLI_COUNT(cpli_operations); i++) {
    if (is_offered(c, is_model, i)) r->offers |= UINT64_C(1) << i;
  }
}

static void finish_request(cpli_request* r, cpl_context* ctx, cpl_status st) {
  r->status = st;
  if (st == CPL_OK) return;
  r->error = *cpl_context_last_error(ctx);
  cpli_error_pack(&r->error, r->texts, sizeof r->texts);
}

static cpl_component* make_real(cpl_source* src, const char* name, bool is_model, cpl_status* st) {
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  *st = is_model ? src->ops->make_model(src, name, &m) : src->ops->make_stepper(src, name, &s);
  if (m != NULL) *st = cpli_adopt_model(m);
  if (s != NULL) *st = cpli_adopt_stepper(s);
  return m != NULL ? &m->base : s != NULL ? &s->base : NULL;
}

// The parent only has the description that the source had before this process began.
static cpl_status check_description(const cpl_source* src, const cpl_component* c, bool is_model) {
  const cpl_description *d = c->desc, *known = src->desc;
  bool varies = is_model && ((const cpl_model*)c)->ops->structure != NULL;
  if (varies)
    return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED,
                    "%s: a model of variable structure cannot run in a process of its own; isolate "
                    "the models that it is made of",
                    c->name);
  if (d->n_vars == known->n_vars && d->n_states == known->n_states &&
      d->n_indicators == known->n_indicators && d->n_constraints == known->n_constraints)
    return CPL_OK;
  return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED,
                  "%s: it cannot run in a process of its own, since its description differs from "
                  "that of %s",
                  c->name, src->path);
}

static cpl_status execute(cpl_component* c, cpli_request* r) {
  cpl_status st = CPL_OK;
  for (cpli_call* call = r->first; call != NULL && st == CPL_OK; call = call->next) {
    r->current = call;
    st = cpli_operations[call->op].run(c, call, r);
  }
  return st;
}

void cpli_request_make(cpli_request* r, cpl_source* src) {
  const cpli_making* making = cpli_request_making(r);
  const bool is_model = making->is_model;
  cpl_status st = CPL_OK;
  cpl_component* c = NULL;
  r->offers = 0;
  r->name = cpli_strdup(src->ctx, r->first->args[1].data);
  if (r->name != NULL) c = make_real(src, r->name, is_model, &st);
  else st = cpli_nomem(src->ctx);
  if (c != NULL && st >= 0) st = check_description(src, c, is_model);
  if (c != NULL && st >= 0) introduce(r, c, is_model);
  r->component = c;
  finish_request(r, src->ctx, st);
}

void cpli_request_measure(cpli_request* r, cpl_source* src) {
  cpli_making* making = cpli_request_making(r);
  making->cost = cpli_cost_of(src, making->is_model);
  finish_request(r, src->ctx, CPL_OK);
}

void cpli_request_refuse(cpli_request* r, cpl_context* ctx, cpl_status why) {
  finish_request(r, ctx, why);
}

static void destroy(cpli_request* r, cpl_context* ctx) {
  if (r->component != NULL) r->component->ops->destroy(r->component);
  cpli_free(ctx, r->name);
  r->component = NULL;
  r->name = NULL;
}

void cpli_request_execute(cpli_request* r, cpl_context* ctx) {
  if (r->first->op == OP_destroy) {
    destroy(r, ctx);
    finish_request(r, ctx, CPL_OK);
    return;
  }
  finish_request(r, ctx, execute(r->component, r));
}

// Only the last call has results.
void cpli_request_pieces(const cpli_request* r, cpli_extent pieces[CPLI_PIECES]) {
  const char* last = (const char*)r->first;
  for (const cpli_call* call = r->first; call != NULL; call = call->next) last = (const char*)call;
  const size_t from = (size_t)(last - (const char*)r);
  const bool introduces = cpli_request_making(r) != NULL;
  pieces[0] =
      (cpli_extent){0, introduces ? offsetof(cpli_request, error) : offsetof(cpli_request, offers)};
  pieces[1] = (cpli_extent){from, r->used > from ? r->used - from : 0};
  pieces[2] = (cpli_extent){0, 0};
  if (r->status == CPL_OK) return;
  const size_t texts = cpli_error_packed_size(&r->error), begin = offsetof(cpli_request, error);
  const size_t room = sizeof r->texts;
  pieces[2] =
      (cpli_extent){begin, offsetof(cpli_request, texts) - begin + (texts < room ? texts : room)};
}

_Noreturn void cpli_isolated_serve(cpli_channel* channel, cpl_source* src) {
  cpli_request* r = (cpli_request*)channel->data;
  cpli_channel_next(channel, false);
  cpli_request_make(r, src);
  for (;;) {
    channel->shared->note = NULL;
    cpli_channel_next(channel, true);
    if (r->component == NULL || r->first->op == OP_destroy) break;
    cpli_request_execute(r, src->ctx);
  }
  destroy(r, src->ctx);
  fflush(NULL);
  cpli_channel_last(channel);
  _exit(0);
}
