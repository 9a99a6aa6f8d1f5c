// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The operations of a component in another process. A proxy puts the arguments of an operation into
// the memory of its channel; the other process, which has the real component, runs it on them in
// place and answers. Only the interface is used here, so this works for every kind of source.
#include "model/proxy.h"

#include "base/error.h"
#include "format/source_loc.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "base/base.h"
#include "base/fiber.h"
#include "base/guard.h"

// Valgrind does not see what another process writes to shared memory.
#if defined(CPL_VALGRIND)
#include <valgrind/memcheck.h>
#define MARK_WRITTEN(memory, size) VALGRIND_MAKE_MEM_DEFINED(memory, size)
#else
#define MARK_WRITTEN(memory, size) ((void)0)
#endif

// The layout of a request: arguments begin aligned behind it, and a bit tells which are offered.
static_assert(OP_destroy <= 64, "cpli_request.offers has a bit for each operation");
static_assert(sizeof(cpli_request) % 8 == 0 && sizeof(cpli_call) % 8 == 0,
              "a request has the same layout in both processes");

enum {
  FREE_BYTES = 64 << 20,  // for texts and binaries; memory that is never touched costs nothing
};

struct cpli_proxy {
  union {
    cpl_component component;
    cpl_model model;
    cpl_stepper stepper;
  } head;
  cpl_component_ops component_ops;
  cpl_model_ops model_ops;
  cpl_newton_ops newton_ops;
  cpl_constraint_ops constraint_ops;
  cpl_dae_ops dae_ops;
  cpl_stepper_ops stepper_ops;
  size_t n_algebraics;  // of the form that is used
  size_t n_border;      // constraints in the linear system
  size_t n_active;      // constraints
  int32_t* pattern;     // of their derivatives
  size_t n_entries;     // of the pattern
  cpli_channel channel;
  cpli_request* request;
  size_t room;      // bytes of the data for requests and answers
  size_t used;      // by the request
  cpli_call* call;  // the last one of the request; NULL: there is no room for it
  bool deferred;    // calls wait for the next one that has results
  int32_t op;       // of the last call
  double limit;
  double time;  // for messages; NAN: none yet
  bool dead, too_large;
  cpli_extent kept;  // an argument at the end of the memory: the other side keeps it
  char kind[32];
  char* name;
};
typedef cpli_proxy proxy;

//------------------------------------ how a call fails ------------------------------------

static const char* call_name(const proxy* p) {
  const char* note = cpli_channel_note(&p->channel);
  const cpli_call* call = p->request->current;
  if (note != NULL) return note;
  if (call == NULL || call->op == OP_make) return "making an instance";
  return call->op == OP_destroy ? "destroy" : cpli_operations[call->op].name;
}

static void describe_end(const proxy* p, cpli_answer answer, char* text, size_t size) {
  const int how = p->channel.how;
  if (p->channel.link != NULL) cpli_channel_describe_end(&p->channel, text, size);
  else if (answer == CPLI_TOO_LATE)
    snprintf(text, size, "did not return within %g s; its process was ended", p->limit);
  else if (how == -1) snprintf(text, size, "ended its process");
  else if (WIFEXITED(how))
    snprintf(text, size, "ended its process with exit code %d", WEXITSTATUS(how));
  else snprintf(text, size, "crashed (signal %d: %s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
}

static cpl_status lost(proxy* p, cpli_answer answer) {
  char how[128], when[48] = "";
  p->dead = true;
  if (answer == CPLI_BROKEN_OFF && cpli_channel_note(&p->channel) == cpli_channel_waits)
    return cpli_interrupted(p->head.component.ctx, p->name, p->time);
  if (answer == CPLI_BROKEN_OFF)
    return cpli_interrupted_call(p->head.component.ctx, p->name, call_name(p), p->time,
                                 "the call had not returned; its process was ended");
  if (!isnan(p->time)) snprintf(when, sizeof when, " at t=%.12g", p->time);
  describe_end(p, answer, how, sizeof how);
  return cpl_fail_in(p->head.component.ctx, CPL_ERR_MODEL, p->name, NULL, p->time, "%s%s %s",
                     call_name(p), when, how);
}

//------------------------------------ how a call goes ------------------------------------

static void* reserve(proxy* p, size_t size) {
  size_t at = (p->used + 15) / 16 * 16;
  if (size > p->room || at > p->room - size) {
    p->too_large = true;
    return NULL;
  }
  p->used = at + size;
  return p->channel.data + at;
}

static proxy* begin(const cpl_component* c, int32_t op) {
  proxy* p = (proxy*)c;
  assert(op >= 0 && op <= OP_make);
  cpli_call* before = p->deferred ? p->call : NULL;
  if (before == NULL) p->used = sizeof(cpli_request), p->too_large = false;
  p->op = op;
  p->call = reserve(p, sizeof *p->call);
  if (p->call == NULL) return p;
  *p->call = (cpli_call){.op = op};
  if (before != NULL) before->next = p->call;
  else p->request->first = p->request->current = p->call;
  return p;
}

// The next argument. Output arguments are copied too: elements that are not written keep their
// value.
static void* put(proxy* p, const void* data, size_t size) {
  void* there = reserve(p, size);
  if (there == NULL || p->call == NULL) return NULL;
  if (size > 0) memcpy(there, data, size);
  assert(p->call->n_args < CPLI_MAX_ARGUMENTS);
  p->call->args[p->call->n_args++] = (cpli_argument){there, size};
  return there;
}

// What has to be sent where memory is not shared.
static void name_pieces(proxy* p) {
  cpli_extent* pieces = p->channel.pieces;
  const size_t end = p->kept.size > 0 ? (size_t)((char*)(p->call + 1) - p->channel.data) : p->used;
  pieces[0] = (cpli_extent){0, offsetof(cpli_request, offers)};
  pieces[1] = (cpli_extent){sizeof(cpli_request), end - sizeof(cpli_request)};
  pieces[2] = p->kept;
  p->kept.size = 0;
}

static cpl_status ask(proxy* p) {
  cpl_context* ctx = p->head.component.ctx;
  const int32_t op = p->op;
  if (p->deferred) cpli_fiber_defer(NULL, NULL);
  p->deferred = false;
  if (cpli_cancelled(ctx) && op != OP_component_forget && op != OP_component_inspect)
    return cpli_interrupted(ctx, p->name, p->time);
  if (p->dead)
    return cpl_fail_in(ctx, CPL_ERR_MODEL, p->name, NULL, p->time,
                       "%s cannot be called any more: its process has ended",
                       cpli_operations[op].name);
  if (p->too_large)
    return cpl_fail_in(ctx, CPL_ERR_MODEL, p->name, NULL, p->time,
                       "%s: the values are too large for the process boundary",
                       cpli_operations[op].name);
  p->request->room = p->room;
  p->request->used = p->used;
  name_pieces(p);
  cpli_answer answer = cpli_channel_ask(&p->channel, p->limit);
  if (answer != CPLI_ANSWERED) return lost(p, answer);
  MARK_WRITTEN(p->channel.data, p->used);
  cpl_status st = p->request->status;
  if (st == CPL_OK) return CPL_OK;
  if (st == CPL_ERR_CANCELLED && p->channel.link != NULL)  // the signal was for all ranks
    return cpli_interrupted(ctx, p->name, p->time);
  cpl_error error = p->request->error;
  error.status = st;
  cpli_error_unpack(&error, p->request->texts, sizeof p->request->texts);
  return cpli_fail_again(ctx, &error);
}

typedef struct transfer {
  const void* in;
  void* out;  // NULL: not copied back
  size_t size;
} transfer;

static cpl_status exchange(proxy* p, const transfer* args, size_t n) {
  const void* there[CPLI_MAX_ARGUMENTS];
  for (size_t i = 0; i < n; i++) there[i] = put(p, args[i].in, args[i].size);
  cpl_status st = ask(p);
  for (size_t i = 0; i < n && !p->dead && !p->too_large; i++) {
    if (args[i].out != NULL && args[i].size > 0) memcpy(args[i].out, there[i], args[i].size);
  }
  return st;
}

static cpl_status ask_deferred(void* arg) { return ask(arg); }

// A call without results waits for the next one, where its status may come with that.
static cpl_status defer(proxy* p, const transfer* args, size_t n) {
  for (size_t i = 0; i < n; i++) put(p, args[i].in, args[i].size);
  if (!cpli_fiber_defers() || cpli_cancelled(p->head.component.ctx) || p->dead || p->too_large ||
      p->used > p->room / 2)
    return ask(p);
  p->deferred = true;
  cpli_fiber_defer(ask_deferred, p);
  return CPL_OK;
}

// One operation with its arguments, each IN(array, count) or OUT(array, count).
#define CALL(table, name, ...)                                                                \
  exchange(begin((const cpl_component*)self, OP_##table##_##name), (transfer[]){__VA_ARGS__}, \
           sizeof((transfer[]){__VA_ARGS__}) / sizeof(transfer))
#define DEFER(table, name, ...)                                                            \
  defer(begin((const cpl_component*)self, OP_##table##_##name), (transfer[]){__VA_ARGS__}, \
        sizeof((transfer[]){__VA_ARGS__}) / sizeof(transfer))
#define CALL_PLAIN(table, name) ask(begin((const cpl_component*)self, OP_##table##_##name))
#define IN(array, count) \
  { (array), NULL, (size_t)(count) * sizeof *(array) }
#define OUT(array, count) \
  { (array), (array), (size_t)(count) * sizeof *(array) }

static proxy* proxy_of(const void* self) { return (proxy*)self; }

//------------------------------------ components ------------------------------------

static cpl_status component_setup(cpl_component* self, const cpl_setup* s) {
  proxy_of(self)->time = s->start_time;
  return CALL(component, setup, IN(s, 1));
}

static cpl_status component_enter_init(cpl_component* self) {
  return CALL_PLAIN(component, enter_init);
}

static cpl_status component_exit_init(cpl_component* self) {
  return CALL_PLAIN(component, exit_init);
}

// A component whose process has ended has nothing to terminate.
static cpl_status component_terminate(cpl_component* self) {
  return proxy_of(self)->dead ? CPL_OK : CALL_PLAIN(component, terminate);
}

static cpl_status component_reset(cpl_component* self) {
  proxy_of(self)->time = NAN;
  return CALL_PLAIN(component, reset);
}

static cpl_status component_get_real(cpl_component* self, const uint32_t* refs, size_t n,
                                     double* v) {
  return n == 0 ? CPL_OK : CALL(component, get_real, IN(refs, n), OUT(v, n));
}

static cpl_status component_set_real(cpl_component* self, const uint32_t* refs, size_t n,
                                     const double* v) {
  return n == 0 ? CPL_OK : DEFER(component, set_real, IN(refs, n), IN(v, n));
}

static cpl_status component_get_integer(cpl_component* self, cpl_type type, const uint32_t* refs,
                                        size_t n, int64_t* v) {
  return n == 0 ? CPL_OK : CALL(component, get_integer, IN(&type, 1), IN(refs, n), OUT(v, n));
}

static cpl_status component_set_integer(cpl_component* self, cpl_type type, const uint32_t* refs,
                                        size_t n, const int64_t* v) {
  return n == 0 ? CPL_OK : DEFER(component, set_integer, IN(&type, 1), IN(refs, n), IN(v, n));
}

// A corrupted child may send invalid pointers.
static bool is_inside(const proxy* p, const void* data, size_t size) {
  const char *at = data, *begin_ = p->channel.data, *end = begin_ + p->channel.size;
  return at >= begin_ && at <= end && size <= (size_t)(end - at);
}

static const char* text_inside(const proxy* p, const char* text) {
  p->channel.data[p->room - 1] = '\0';  // terminates a text without end
  return is_inside(p, text, 1) ? text : "";
}

static cpl_status component_get_string(cpl_component* self, const uint32_t* refs, size_t n,
                                       const char** v) {
  if (n == 0) return CPL_OK;
  for (size_t i = 0; i < n; i++) v[i] = NULL;
  cpl_status st = CALL(component, get_string, IN(refs, n), OUT(v, n));
  for (size_t i = 0; i < n; i++) v[i] = st == CPL_OK ? text_inside(proxy_of(self), v[i]) : "";
  return st;
}

static cpl_status component_set_string(cpl_component* self, const uint32_t* refs, size_t n,
                                       const char* const* v) {
  proxy* p = begin(self, OP_component_set_string);
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  const char** there = put(p, v, n * sizeof *v);
  for (size_t i = 0; i < n && there != NULL; i++) {
    size_t size = strlen(v[i]) + 1;
    char* text = reserve(p, size);
    if (text != NULL) memcpy(text, v[i], size);
    there[i] = text;
  }
  return ask(p);
}

static cpl_status component_get_binary(cpl_component* self, const uint32_t* refs, size_t n,
                                       cpl_binary* v) {
  if (n == 0) return CPL_OK;
  memset(v, 0, n * sizeof *v);
  cpl_status st = CALL(component, get_binary, IN(refs, n), OUT(v, n));
  for (size_t i = 0; i < n; i++) {
    if (st != CPL_OK || !is_inside(proxy_of(self), v[i].data, v[i].size)) v[i] = (cpl_binary){0};
  }
  return st;
}

static cpl_status component_set_binary(cpl_component* self, const uint32_t* refs, size_t n,
                                       const cpl_binary* v) {
  proxy* p = begin(self, OP_component_set_binary);
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  cpl_binary* there = put(p, v, n * sizeof *v);
  for (size_t i = 0; i < n && there != NULL; i++) {
    void* data = reserve(p, v[i].size);
    if (data != NULL && v[i].size > 0) memcpy(data, v[i].data, v[i].size);
    there[i].data = data;
  }
  return ask(p);
}

//------------------------------------ saved states ------------------------------------

// The child's snapshot stays there; this is a handle to it.
static cpl_snapshot* handle_of(cpl_component* c, cpl_snapshot* s) {
  if (s->data == NULL) s->data = cpli_alloc(c->ctx, 1, sizeof(cpl_snapshot));
  return s->data;
}

static cpl_status component_save(cpl_component* self, cpl_snapshot* s) {
  cpl_snapshot* handle = handle_of(self, s);
  return handle == NULL ? cpli_nomem(self->ctx) : CALL(component, save, OUT(handle, 1));
}

static cpl_status component_restore(cpl_component* self, const cpl_snapshot* s) {
  const cpl_snapshot* handle = s->data;
  return CALL(component, restore, IN(handle, 1));
}

static cpl_status component_serialize(cpl_component* self, const cpl_snapshot* s,
                                      cpl_binary* bytes) {
  const cpl_snapshot* handle = s->data;
  *bytes = (cpl_binary){0};
  cpl_status st = CALL(component, serialize, IN(handle, 1), OUT(bytes, 1));
  if (st != CPL_OK || !is_inside(proxy_of(self), bytes->data, bytes->size))
    *bytes = (cpl_binary){0};
  return st;
}

static cpl_status component_deserialize(cpl_component* self, const cpl_binary* bytes,
                                        cpl_snapshot* s) {
  cpl_snapshot* handle = handle_of(self, s);
  if (handle == NULL) return cpli_nomem(self->ctx);
  return CALL(component, deserialize, IN(bytes->data, bytes->size), OUT(handle, 1));
}

static cpl_status component_get_history(cpl_component* self, cpl_binary* bytes, bool* complete) {
  *bytes = (cpl_binary){0};
  *complete = false;
  cpl_status st = CALL(component, get_history, OUT(complete, 1), OUT(bytes, 1));
  if (st != CPL_OK || !is_inside(proxy_of(self), bytes->data, bytes->size))
    *bytes = (cpl_binary){0};
  return st;
}

static cpl_status component_set_history(cpl_component* self, const cpl_binary* bytes) {
  return CALL(component, set_history, IN(bytes->data, bytes->size));
}

static void component_forget(cpl_component* self, cpl_snapshot* s) {
  const cpl_snapshot* handle = s->data;
  if (handle == NULL) return;
  if (!proxy_of(self)->dead) CALL(component, forget, IN(handle, 1));
  cpli_free(self->ctx, s->data);
  s->data = NULL;
}

static cpl_status component_directional(cpl_component* self, const uint32_t* unknowns, size_t nu,
                                        const uint32_t* knowns, size_t nk, const double* seed,
                                        double* out) {
  return CALL(component, directional, IN(unknowns, nu), IN(knowns, nk), IN(seed, nk), OUT(out, nu));
}

// Components of one in another process are not reachable from here. Its counters end with it.
static cpl_status component_inspect(const cpl_component* self, int32_t child, cpl_inspection* out) {
  const proxy* p = proxy_of(self);
  if (p->dead) return CPL_OK;
  cpl_status st = CALL(component, inspect, IN(&child, 1), OUT(out, 1));
  if (st < 0 || out->n_counters > CPL_MAX_COUNTERS) out->n_counters = 0;
  out->kind = text_inside(p, out->kind);
  out->name = text_inside(p, out->name);
  out->role = text_inside(p, out->role);
  for (int32_t i = 0; i < out->n_counters; i++) {
    out->counters[i].name = text_inside(p, out->counters[i].name);
    out->counters[i].unit = text_inside(p, out->counters[i].unit);
  }
  out->self = NULL;
  out->component = child < 0 ? (cpl_component*)self : NULL;
  return st;
}

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  proxy* p = begin(c, OP_destroy);
  cpl_context* ctx = c->ctx;
  const double patience = cpli_cancelled(ctx) ? 0.15 : 5;  // [s]
  if (!p->dead &&
      cpli_channel_ask(&p->channel, p->limit > 0 ? p->limit : patience) == CPLI_ANSWERED)
    cpli_channel_reap(&p->channel, patience);
  cpli_channel_close(&p->channel);
  cpli_free(ctx, p->pattern);
  cpli_free(ctx, p->name);
  cpli_free(ctx, p);
}

//------------------------------------ models ------------------------------------

static cpl_status model_enter_event(cpl_model* self) { return CALL_PLAIN(model, enter_event); }

static cpl_status model_enter_continuous(cpl_model* self) {
  return CALL_PLAIN(model, enter_continuous);
}

static cpl_status model_event_update(cpl_model* self, cpl_event_info* info) {
  *info = (cpl_event_info){.next_time = INFINITY};
  return CALL(model, event_update, OUT(info, 1));
}

static cpl_status model_set_time(cpl_model* self, double t) {
  proxy_of(self)->time = t;
  return DEFER(model, set_time, IN(&t, 1));
}

// Operations with one array, of a size that the description or the form of the model gives.
#define ARRAY(table, name, direction, type, count)                  \
  static cpl_status table##_##name(cpl_model* self, type* values) { \
    const cpl_description* d = self->base.desc;                     \
    const proxy* p = proxy_of(self);                                \
    (void)d, (void)p;                                               \
    return CALL(table, name, direction(values, count));             \
  }
ARRAY(model, get_states, OUT, double, d->n_states)
ARRAY(model, get_nominals, OUT, double, d->n_states)
ARRAY(model, get_derivatives, OUT, double, d->n_states)
ARRAY(model, get_indicators, OUT, double, d->n_indicators)
ARRAY(constraint, get, OUT, double, d->n_constraints)
ARRAY(constraint, jacobian, OUT, double, (size_t)d->n_constraints*(size_t)d->n_states)
ARRAY(constraint, entries, OUT, double, p->n_entries)
ARRAY(constraint, projection_step, OUT, double, d->n_states)
ARRAY(dae, get_algebraics, OUT, double, p->n_algebraics)
ARRAY(dae, get_algebraic_nominals, OUT, double, p->n_algebraics)
ARRAY(dae, get_residuals, OUT, double, p->n_algebraics)
#undef ARRAY

static cpl_status model_set_states(cpl_model* self, const double* x) {
  return DEFER(model, set_states, IN(x, self->base.desc->n_states));
}

static cpl_status dae_set_algebraics(cpl_model* self, const double* z) {
  return DEFER(dae, set_algebraics, IN(z, proxy_of(self)->n_algebraics));
}

static cpl_status model_completed_step(cpl_model* self, bool* event, bool* end) {
  *event = *end = false;
  return CALL(model, completed_step, OUT(event, 1), OUT(end, 1));
}

static cpl_status model_jacobian_times(cpl_model* self, const double* v, double* out) {
  const int32_t n = self->base.desc->n_states;
  return CALL(model, jacobian_times, IN(v, n), OUT(out, n));
}

static void finish_name(const proxy* p, size_t size, char* out) {
  if (size > 0 && p->dead) out[0] = '\0';
  else if (size > 0) out[size - 1] = '\0';
}

static void model_name_indicator(const cpl_model* self, size_t number, char* out, size_t size) {
  if (size > 0) memset(out, 0, size);
  if (!proxy_of(self)->dead) CALL(model, name_indicator, IN(&number, 1), OUT(out, size));
  finish_name(proxy_of(self), size, out);
}

static void constraint_name(const cpl_model* self, size_t number, char* out, size_t size) {
  if (size > 0) memset(out, 0, size);
  if (!proxy_of(self)->dead) CALL(constraint, name, IN(&number, 1), OUT(out, size));
  finish_name(proxy_of(self), size, out);
}

static cpl_break model_next_break(cpl_model* self, double t, double tolerance) {
  const double args[] = {t, tolerance};
  cpl_break next = {(double)INFINITY, 0};
  CALL(model, next_break, IN(args, 2), OUT(&next, 1));
  return next;
}

// The unknowns of Newton's method: states, algebraic variables and constraints of the border.
static size_t n_unknowns(const cpl_model* self) {
  const proxy* p = proxy_of(self);
  return (size_t)self->base.desc->n_states + p->n_algebraics + p->n_border;
}

static cpl_status newton_setup(cpl_model* self, double gamma, bool fresh) {
  return CALL(newton, setup, IN(&gamma, 1), IN(&fresh, 1));
}

static cpl_status newton_solve(cpl_model* self, const double* r, double* dx) {
  return CALL(newton, solve, IN(r, n_unknowns(self)), OUT(dx, n_unknowns(self)));
}

// The model keeps the arrays: they are put at the end of the shared memory, which other requests do
// not use from here on.
static cpl_status newton_border(cpl_model* self, const cpl_border* b) {
  proxy* p = begin(&self->base, OP_newton_border);
  if (b == NULL) return ask(p);
  const size_t shaped = b->n_shaped + 1, entries = (size_t)b->first[b->n_shaped];
  const transfer lists[] = {IN(b->rows, entries), IN(b->columns, entries), IN(b->first, shaped),
                            IN(b->column, entries), IN(b->taken, b->n)};
  size_t size = 0;
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) size += (lists[i].size + 15) / 16 * 16;
  if (size > p->channel.size / 2) return p->too_large = true, ask(p);
  p->used = (p->channel.size - size) / 16 * 16;
  const size_t end = p->used;
  p->room = p->channel.size;
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) put(p, lists[i].in, lists[i].size);
  p->room = end;
  p->kept = (cpli_extent){end, p->channel.size - end};
  p->n_border = b->n;
  return ask(p);
}

// A count, limited by that in the description.
static cpl_status constraint_count(cpl_model* self, size_t* n) {
  proxy* p = proxy_of(self);
  *n = 0;
  cpl_status st = CALL(constraint, count, OUT(n, 1));
  if (*n > (size_t)self->base.desc->n_constraints) *n = (size_t)self->base.desc->n_constraints;
  p->n_active = *n;
  return st;
}

// Copied, since the next request overwrites them; a corrupted child may send anything.
static cpl_status constraint_pattern(cpl_model* self, const int32_t** first,
                                     const int32_t** column) {
  proxy* p = proxy_of(self);
  cpl_context* ctx = self->base.ctx;
  const size_t n = p->n_active + 1;
  const int32_t* lists[2] = {NULL, NULL};
  cpl_status st = CALL(constraint, pattern, IN(&p->n_active, 1), OUT(lists, 2));
  if (st < 0) return st;
  size_t entries = is_inside(p, lists[0], n * sizeof(int32_t)) ? (size_t)lists[0][n - 1] : SIZE_MAX;
  if (entries > p->channel.size || !is_inside(p, lists[1], entries * sizeof(int32_t)))
    return cpl_fail(ctx, CPL_ERR_MODEL, "%s: the pattern of its constraints is not valid", p->name);
  int32_t* kept = cpli_realloc(ctx, p->pattern, n + entries, sizeof *kept);
  if (kept == NULL) return cpli_nomem(ctx);
  p->pattern = kept;
  p->n_entries = entries;
  memcpy(kept, lists[0], n * sizeof *kept);
  if (entries > 0) memcpy(kept + n, lists[1], entries * sizeof *kept);
  *first = kept, *column = kept + n;
  return st;
}

static cpl_status constraint_projection(cpl_model* self, double tolerance, size_t most,
                                        double* change) {
  return CALL(constraint, projection, IN(&tolerance, 1), IN(&most, 1),
              OUT(change, self->base.desc->n_states));
}

static cpl_status dae_use_residuals(cpl_model* self, size_t* n) {
  *n = 0;
  cpl_status st = CALL(dae, use_residuals, OUT(n, 1));
  proxy_of(self)->n_algebraics = *n;
  return st;
}

//------------------------------------ steppers ------------------------------------

static cpl_status stepper_step(cpl_stepper* self, double t_end, double t_limit,
                               cpl_step_result* r) {
  proxy* p = proxy_of(self);
  const double times[2] = {t_end, t_limit};
  *r = (cpl_step_result){.time = p->time};
  cpl_status st = CALL(stepper, step, IN(times, 2), OUT(r, 1));
  if (st >= 0) p->time = r->time;
  return st;
}

// A function stays in this process: isolated steppers use its value at the beginning of the step.
static cpl_status stepper_set_curve(cpl_stepper* self, uint32_t ref, const cpl_curve* curve) {
  const double now = proxy_of(self)->time;
  cpl_curve plain = *curve;
  if (curve->value != NULL)
    plain = (cpl_curve){.from = now, .coefficient = {curve->value(curve->user, now)}};
  plain.next_break = NULL;
  return CALL(stepper, set_curve, IN(&ref, 1), IN(&plain, 1));
}

static cpl_status stepper_max_step(cpl_stepper* self, double* h) {
  *h = INFINITY;
  return CALL(stepper, max_step, OUT(h, 1));
}

static cpl_status stepper_ahead(cpl_stepper* self, double t_end, double t_limit, double* until) {
  const double times[] = {t_end, t_limit};
  return CALL(stepper, ahead, IN(times, 2), OUT(until, 1));
}

static cpl_status stepper_get_output_derivatives(cpl_stepper* self, const uint32_t* refs, size_t n,
                                                 double* v) {
  return n == 0 ? CPL_OK : CALL(stepper, get_output_derivatives, IN(refs, n), OUT(v, n));
}

static cpl_status stepper_set_states(cpl_stepper* self, const int32_t* states, size_t n,
                                     const double* v) {
  return n == 0 ? CPL_OK : CALL(stepper, set_states, IN(states, n), IN(v, n));
}

static cpl_status stepper_wants_update(cpl_stepper* self, bool* wanted, double* margin) {
  *wanted = false;
  *margin = NAN;
  return CALL(stepper, wants_update, OUT(wanted, 1), OUT(margin, 1));
}

static cpl_status stepper_value_time(cpl_stepper* self, uint32_t ref, double* since, double* next) {
  return CALL(stepper, value_time, IN(&ref, 1), OUT(since, 1), OUT(next, 1));
}

static cpl_status stepper_next_event(cpl_stepper* self, double* time, bool* sure) {
  *time = INFINITY;
  *sure = false;
  return CALL(stepper, next_event, OUT(time, 1), OUT(sure, 1));
}

static cpl_status stepper_get_indicators(cpl_stepper* self, double* z) {
  return CALL(stepper, get_indicators, OUT(z, (size_t)self->base.desc->n_indicators));
}

static double stepper_next_break(cpl_stepper* self, double tolerance) {
  double next = INFINITY;
  CALL(stepper, next_break, IN(&tolerance, 1), OUT(&next, 1));
  return next;
}

//------------------------------------ making instances ------------------------------------

// Operations that the component does not have are not offered here either.
static void take_operations(proxy* p, bool is_model) {
#define X(table_, name_, ...) \
  if (p->request->offers >> OP_##table_##_##name_ & 1) p->table_##_ops.name_ = table_##_##name_;
  CPLI_REMOTE_OPERATIONS(X)
#undef X
  memcpy(p->kind, p->request->kind, sizeof p->kind);
  p->kind[sizeof p->kind - 1] = '\0';
  p->component_ops.size = sizeof p->component_ops;
  p->component_ops.kind = p->kind;
  p->component_ops.destroy = destroy;
  p->model_ops.size = sizeof p->model_ops;
  p->newton_ops.size = sizeof p->newton_ops;
  p->constraint_ops.size = sizeof p->constraint_ops;
  p->dae_ops.size = sizeof p->dae_ops;
  p->stepper_ops.size = sizeof p->stepper_ops;
  if (p->newton_ops.setup != NULL) p->model_ops.newton = &p->newton_ops;
  if (p->constraint_ops.count != NULL) p->model_ops.constraints = &p->constraint_ops;
  if (p->dae_ops.use_residuals != NULL) p->model_ops.dae = &p->dae_ops;
  p->head.component.ops = &p->component_ops;
  p->head.component.can = p->request->can;
  p->head.component.can.own_thread = false;  // any thread may send requests
  p->head.component.can.remote = 2;
  if (is_model) p->head.model.ops = &p->model_ops;
  else p->head.stepper.ops = &p->stepper_ops;
}

size_t cpli_proxy_memory(const cpl_description* desc) {
  const size_t values = (size_t)desc->n_vars + (size_t)desc->n_states + (size_t)desc->n_indicators;
  return FREE_BYTES + 64 * values;
}

cpl_status cpli_proxy_create(cpl_context* ctx, const cpl_description* desc, const char* name,
                             double limit, cpli_proxy** out) {
  proxy* p = *out = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->head.component.ctx = ctx;
  p->head.component.desc = desc;
  p->limit = limit;
  p->time = NAN;
  p->name = cpli_strdup(ctx, name);
  p->head.component.name = p->name;
  return p->name != NULL ? CPL_OK : cpli_nomem(ctx);
}

void cpli_proxy_discard(cpli_proxy* p) {
  if (p == NULL) return;
  cpl_context* ctx = p->head.component.ctx;
  cpli_channel_close(&p->channel);
  cpli_free(ctx, p->name);
  cpli_free(ctx, p);
}

cpli_channel* cpli_proxy_channel(cpli_proxy* p) { return &p->channel; }
cpl_component* cpli_proxy_component(cpli_proxy* p) { return &p->head.component; }

static cpl_status request_making(cpli_proxy* p, transfer making) {
  p->request = (cpli_request*)p->channel.data;
  p->request->room = p->room = p->channel.size;
  begin(&p->head.component, OP_make);
  return exchange(p, (transfer[]){making, {p->name, NULL, strlen(p->name) + 1}}, 2);
}

cpl_status cpli_proxy_start(cpli_proxy* p, const cpli_making* making) {
  const cpl_status st = request_making(p, (transfer)IN(making, 1));
  if (st >= 0) take_operations(p, making->is_model);
  return st;
}

cpl_status cpli_proxy_measure(cpli_proxy* p, cpli_making* making) {
  making->measures = true;
  making->cost = (double)NAN;
  return request_making(p, (transfer)OUT(making, 1));
}
