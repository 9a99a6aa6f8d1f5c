// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The child's side of an isolated component: it has the real one and runs operations on the
// arguments in shared memory, in place.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/error.h"
#include "couplet/component.h"
#include "model/isolated.h"

#define ARG(i, type)   ((type*)r->args[i].data)
#define COUNT(i, type) (r->args[i].size / sizeof(type))
#define ROOM(i)        ARG(i, char), COUNT(i, char)  // for a text
#define MODEL          ((cpl_model*)c)
#define STEPPER        ((cpl_stepper*)c)

// Memory lent by the component must outlive the answer: it is copied behind the arguments.
static void* keep(char** at, const char* end, const void* data, size_t size) {
  if (size > (size_t)(end - *at)) return NULL;
  void* kept = *at;
  if (size > 0) memcpy(kept, data, size);
  *at += size;
  return kept;
}

static cpl_status too_much(cpl_component* c) {
  return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, NAN,
                     "a value is too large for the process boundary");
}

static cpl_status lend_strings(cpl_component* c, cpli_request* r, char* end) {
  const char** values = ARG(1, const char*);
  size_t n = COUNT(0, uint32_t);
  char* at = (char*)(values + n);
  cpl_status st = c->ops->get_string(c, ARG(0, uint32_t), n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    values[i] = keep(&at, end, values[i], strlen(values[i]) + 1);
    if (values[i] == NULL) st = too_much(c);
  }
  return st;
}

static cpl_status lend_binaries(cpl_component* c, cpli_request* r, char* end) {
  cpl_binary* values = ARG(1, cpl_binary);
  size_t n = COUNT(0, uint32_t);
  char* at = (char*)(values + n);
  cpl_status st = c->ops->get_binary(c, ARG(0, uint32_t), n, values);
  for (size_t i = 0; i < n && st == CPL_OK; i++) {
    values[i].data = keep(&at, end, values[i].data, values[i].size);
    if (values[i].data == NULL) st = too_much(c);
  }
  return st;
}

static bool keep_text(char** at, const char* end, const char** text) {
  *text = keep(at, end, *text, strlen(*text) + 1);
  return *text != NULL;
}

static cpl_status lend_inspection(cpl_component* c, cpli_request* r, char* end) {
  cpl_inspection* in = ARG(1, cpl_inspection);
  char* at = (char*)(in + 1);
  cpl_status st = cpl_component_inspect(c, *ARG(0, int32_t), in);
  if (st < 0) return st;
  bool fits = keep_text(&at, end, &in->kind) && keep_text(&at, end, &in->name) &&
              keep_text(&at, end, &in->role);
  for (int32_t i = 0; i < in->n_counters; i++)
    fits = fits && keep_text(&at, end, &in->counters[i].name) &&
           keep_text(&at, end, &in->counters[i].unit);
  return fits ? CPL_OK : too_much(c);
}

#define X(table, name, invoke)                                                 \
  static cpl_status run_##name(cpl_component* c, cpli_request* r, char* end) { \
    (void)end, (void)r;                                                        \
    return invoke;                                                             \
  }
CPLI_OPERATIONS(X)
#undef X

const cpli_operation cpli_operations[OP_destroy] = {
#define X(table, name, invoke) \
  {#name, CPLI_TABLE_##table, offsetof(cpl_##table##_ops, name), run_##name},
    CPLI_OPERATIONS(X)
#undef X
};

static bool is_offered(const cpl_component* c, bool is_model, size_t op) {
  const void* table = cpli_operations[op].table == CPLI_TABLE_component ? (const void*)c->ops
                      : is_model ? (const void*)((const cpl_model*)c)->ops
                                 : (const void*)((const cpl_stepper*)c)->ops;
  if (cpli_operations[op].table == (is_model ? CPLI_TABLE_stepper : CPLI_TABLE_model)) return false;
  void (*function)(void);
  memcpy(&function, (const char*)table + cpli_operations[op].slot, sizeof function);
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
  return m != NULL ? &m->base : s != NULL ? &s->base : NULL;
}

_Noreturn void cpli_isolated_serve(cpli_channel* channel, cpl_source* src, const char* name,
                                   bool is_model) {
  cpli_request* r = (cpli_request*)channel->data;
  cpl_status st;
  cpli_channel_next(channel, false);
  cpl_component* c = make_real(src, name, is_model, &st);
  if (c != NULL) introduce(r, c, is_model);
  finish_request(r, src->ctx, st);
  for (;;) {
    channel->shared->note = NULL;
    cpli_channel_next(channel, true);
    if (c == NULL || r->op == OP_destroy) break;
    finish_request(r, src->ctx, cpli_operations[r->op].run(c, r, channel->data + channel->size));
  }
  if (c != NULL) c->ops->destroy(c);
  fflush(NULL);
  cpli_channel_last(channel);
  _exit(0);
}
