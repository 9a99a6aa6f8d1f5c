// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models and steppers in processes of their own. A proxy puts the arguments of an operation into
// shared memory; the child, which has the real component, runs it on them in place and answers.
// Only the interface is used here, so this works for every kind of source.
#include "couplet/isolate.h"
#include "base/error.h"
#include "format/source_loc.h"

#include <assert.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "format/folder.h"
#include "model/isolated.h"

// Valgrind does not see what another process writes to shared memory.
#if defined(CPL_VALGRIND)
#include <valgrind/memcheck.h>
#define MARK_WRITTEN(memory, size) VALGRIND_MAKE_MEM_DEFINED(memory, size)
#else
#define MARK_WRITTEN(memory, size) ((void)0)
#endif

// The layout of a request: arguments begin aligned behind it, and a bit tells which are offered.
static_assert(OP_destroy <= 64, "cpli_request.offers has a bit for each operation");
static_assert(offsetof(cpli_request, args) % _Alignof(void*) == 0 &&
                  sizeof(cpli_request) % 8 == 0,
              "a request has the same layout in both processes");

enum {
  FREE_BYTES = 64 << 20,  // for texts and binaries; memory that is never touched costs nothing
};

typedef struct isolated {
  cpl_source base;
  cpl_source* inner;
  cpl_isolate_def def;
  cpl_source_ops ops;
  char* folder;  // for temporary files of the children: removed however they end
} isolated;

typedef struct proxy {
  union {
    cpl_component component;
    cpl_model model;
    cpl_stepper stepper;
  } head;
  cpl_component_ops component_ops;
  cpl_model_ops model_ops;
  cpl_stepper_ops stepper_ops;
  cpli_channel channel;
  cpli_request* request;
  size_t used;  // bytes of the data used by the request
  double limit;
  double time;  // for messages; NAN: none yet
  bool dead, too_large;
  char kind[32];
  char* name;
} proxy;

//------------------------------------ how a call fails ------------------------------------

static const char* call_name(const proxy* p) {
  const char* note = p->channel.shared->note;  // a forked child has the same constants
  int32_t op = p->request->op;
  if (note != NULL) return note;
  return op < 0 ? "making an instance" : op == OP_destroy ? "destroy" : cpli_operations[op].name;
}

static void describe_end(const proxy* p, cpli_answer answer, char* text, size_t size) {
  int how = p->channel.how;
  if (answer == CPLI_TOO_LATE)
    snprintf(text, size, "did not return within %g s; its process was ended", p->limit);
  else if (how == -1) snprintf(text, size, "ended its process");
  else if (WIFEXITED(how))
    snprintf(text, size, "ended its process with exit code %d", WEXITSTATUS(how));
  else snprintf(text, size, "crashed (signal %d: %s)", WTERMSIG(how), strsignal(WTERMSIG(how)));
}

static cpl_status lost(proxy* p, cpli_answer answer) {
  char how[128], when[48] = "";
  p->dead = true;
  if (answer == CPLI_BROKEN_OFF)
    return cpli_interrupted_call(p->head.component.ctx, p->name, call_name(p), p->time,
                                 "the call had not returned; its process was ended");
  if (!isnan(p->time)) snprintf(when, sizeof when, " at t=%.12g", p->time);
  describe_end(p, answer, how, sizeof how);
  return cpl_fail_in(p->head.component.ctx, CPL_ERR_MODEL, p->name, NULL, p->time, "%s%s %s",
                     call_name(p), when, how);
}

//------------------------------------ how a call goes ------------------------------------

static proxy* begin(cpl_component* c, int32_t op) {
  proxy* p = (proxy*)c;
  assert(op >= 0 && op <= OP_destroy);
  p->request->op = op;
  p->request->n_args = 0;
  p->used = sizeof(cpli_request);
  p->too_large = false;
  return p;
}

static void* reserve(proxy* p, size_t size) {
  size_t at = (p->used + 15) / 16 * 16;
  if (size > p->channel.size || at > p->channel.size - size) {
    p->too_large = true;
    return NULL;
  }
  p->used = at + size;
  return p->channel.data + at;
}

// The next argument. Output arguments are copied too: elements that are not written keep their
// value.
static void* put(proxy* p, const void* data, size_t size) {
  void* there = reserve(p, size);
  if (there == NULL) return NULL;
  if (size > 0) memcpy(there, data, size);
  assert(p->request->n_args < CPLI_MAX_ARGUMENTS);
  p->request->args[p->request->n_args++] = (cpli_argument){there, size};
  return there;
}

static cpl_status ask(proxy* p) {
  cpl_context* ctx = p->head.component.ctx;
  if (cpli_cancelled(ctx) && p->request->op != OP_forget && p->request->op != OP_inspect)
    return cpli_interrupted(ctx, p->name, p->time);
  if (p->dead)
    return cpl_fail_in(ctx, CPL_ERR_MODEL, p->name, NULL, p->time,
                       "%s cannot be called any more: its process has ended",
                       cpli_operations[p->request->op].name);
  if (p->too_large)
    return cpl_fail_in(ctx, CPL_ERR_MODEL, p->name, NULL, p->time,
                       "%s: the values are too large for the process boundary",
                       cpli_operations[p->request->op].name);
  cpli_answer answer = cpli_channel_ask(&p->channel, p->limit);
  if (answer != CPLI_ANSWERED) return lost(p, answer);
  MARK_WRITTEN(p->channel.data, p->used);
  cpl_status st = p->request->status;
  if (st == CPL_OK) return CPL_OK;
  cpl_error error = p->request->error;
  error.status = st;
  cpli_error_unpack(&error, p->request->texts, sizeof p->request->texts);
  return cpli_fail_again(ctx, &error);
}

// Send the request, and copy the last argument back.
static cpl_status fetch(proxy* p, void* out, size_t size) {
  int32_t last = p->request->n_args - 1;
  const void* from = last >= 0 ? p->request->args[last].data : NULL;
  cpl_status st = ask(p);
  if (!p->dead && !p->too_large && from != NULL && size > 0) memcpy(out, from, size);
  return st;
}

//------------------------------------ components ------------------------------------

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  proxy* p = begin(c, OP_setup);
  p->time = s->start_time;
  put(p, s, sizeof *s);
  return ask(p);
}

static cpl_status enter_init(cpl_component* c) { return ask(begin(c, OP_enter_init)); }
static cpl_status exit_init(cpl_component* c) { return ask(begin(c, OP_exit_init)); }

// A component whose process has ended has nothing to terminate.
static cpl_status terminate(cpl_component* c) {
  proxy* p = begin(c, OP_terminate);
  return p->dead ? CPL_OK : ask(p);
}

static cpl_status reset(cpl_component* c) {
  proxy* p = begin(c, OP_reset);
  p->time = NAN;
  return ask(p);
}

static cpl_status get_doubles(proxy* p, const uint32_t* refs, size_t n, double* values) {
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  return fetch(p, values, n * sizeof *values);
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return get_doubles(begin(c, OP_get_real), refs, n, values);
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  proxy* p = begin(c, OP_set_real);
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  return ask(p);
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  proxy* p = begin(c, OP_get_integer);
  if (n == 0) return CPL_OK;
  put(p, &type, sizeof type);
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  return fetch(p, values, n * sizeof *values);
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  proxy* p = begin(c, OP_set_integer);
  if (n == 0) return CPL_OK;
  put(p, &type, sizeof type);
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  return ask(p);
}

// A corrupted child may send invalid pointers.
static bool is_inside(const proxy* p, const void* data, size_t size) {
  const char *at = data, *begin_ = p->channel.data, *end = begin_ + p->channel.size;
  return at >= begin_ && at <= end && size <= (size_t)(end - at);
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  proxy* p = begin(c, OP_get_string);
  if (n == 0) return CPL_OK;
  for (size_t i = 0; i < n; i++) values[i] = NULL;
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  cpl_status st = fetch(p, values, n * sizeof *values);
  p->channel.data[p->channel.size - 1] = '\0';  // terminates a text without end
  for (size_t i = 0; i < n; i++) {
    if (st != CPL_OK || !is_inside(p, values[i], 1)) values[i] = "";
  }
  return st;
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  proxy* p = begin(c, OP_set_string);
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  const char** there = put(p, values, n * sizeof *values);
  for (size_t i = 0; i < n && there != NULL; i++) {
    size_t size = strlen(values[i]) + 1;
    char* text = reserve(p, size);
    if (text != NULL) memcpy(text, values[i], size);
    there[i] = text;
  }
  return ask(p);
}

static cpl_status get_binary(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* values) {
  proxy* p = begin(c, OP_get_binary);
  if (n == 0) return CPL_OK;
  memset(values, 0, n * sizeof *values);
  put(p, refs, n * sizeof *refs);
  put(p, values, n * sizeof *values);
  cpl_status st = fetch(p, values, n * sizeof *values);
  for (size_t i = 0; i < n; i++) {
    if (st != CPL_OK || !is_inside(p, values[i].data, values[i].size)) values[i] = (cpl_binary){0};
  }
  return st;
}

static cpl_status set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                             const cpl_binary* values) {
  proxy* p = begin(c, OP_set_binary);
  if (n == 0) return CPL_OK;
  put(p, refs, n * sizeof *refs);
  cpl_binary* there = put(p, values, n * sizeof *values);
  for (size_t i = 0; i < n && there != NULL; i++) {
    void* data = reserve(p, values[i].size);
    if (data != NULL && values[i].size > 0) memcpy(data, values[i].data, values[i].size);
    there[i].data = data;
  }
  return ask(p);
}

//------------------------------------ saved states ------------------------------------

// The child's snapshot stays there; this is a handle to it.
static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  proxy* p = begin(c, OP_save);
  cpl_snapshot* handle = snapshot->data;
  if (handle == NULL) handle = cpli_alloc(c->ctx, 1, sizeof *handle);
  if (handle == NULL) return cpli_nomem(c->ctx);
  snapshot->data = handle;
  put(p, handle, sizeof *handle);
  return fetch(p, handle, sizeof *handle);
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  proxy* p = begin(c, OP_restore);
  put(p, snapshot->data, sizeof(cpl_snapshot));
  return ask(p);
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  proxy* p = begin(c, OP_forget);
  if (snapshot->data == NULL) return;
  put(p, snapshot->data, sizeof(cpl_snapshot));
  if (!p->dead) ask(p);
  cpli_free(c->ctx, snapshot->data);
  snapshot->data = NULL;
}

static cpl_status directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  proxy* p = begin(c, OP_directional);
  put(p, unknowns, n_unknowns * sizeof *unknowns);
  put(p, knowns, n_knowns * sizeof *knowns);
  put(p, seed, n_knowns * sizeof *seed);
  put(p, sensitivity, n_unknowns * sizeof *sensitivity);
  return fetch(p, sensitivity, n_unknowns * sizeof *sensitivity);
}

static const char* text_inside(const proxy* p, const char* text) {
  return is_inside(p, text, 1) ? text : "";
}

// Components of one in another process are not reachable from here. Its counters end with it.
static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  proxy* p = begin((cpl_component*)c, OP_inspect);
  if (p->dead) return CPL_OK;
  put(p, &child, sizeof child);
  put(p, out, sizeof *out);
  cpl_status st = fetch(p, out, sizeof *out);
  if (st < 0 || out->n_counters > CPL_MAX_COUNTERS) out->n_counters = 0;
  p->channel.data[p->channel.size - 1] = '\0';
  out->kind = text_inside(p, out->kind);
  out->name = text_inside(p, out->name);
  out->role = text_inside(p, out->role);
  for (int32_t i = 0; i < out->n_counters; i++) {
    out->counters[i].name = text_inside(p, out->counters[i].name);
    out->counters[i].unit = text_inside(p, out->counters[i].unit);
  }
  out->self = NULL;
  out->component = child < 0 ? (cpl_component*)c : NULL;
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
  cpli_free(ctx, p->name);
  cpli_free(ctx, p);
}

//------------------------------------ models ------------------------------------

static size_t size_of_states(const cpl_model* m) {
  return (size_t)m->base.desc->n_states * sizeof(double);
}

static cpl_status enter_event(cpl_model* m) { return ask(begin(&m->base, OP_enter_event)); }

static cpl_status enter_continuous(cpl_model* m) {
  return ask(begin(&m->base, OP_enter_continuous));
}

static cpl_status event_update(cpl_model* m, cpl_event_info* info) {
  proxy* p = begin(&m->base, OP_event_update);
  *info = (cpl_event_info){.next_time = INFINITY};
  put(p, info, sizeof *info);
  return fetch(p, info, sizeof *info);
}

static cpl_status set_time(cpl_model* m, double t) {
  proxy* p = begin(&m->base, OP_set_time);
  p->time = t;
  put(p, &t, sizeof t);
  return ask(p);
}

static cpl_status set_states(cpl_model* m, const double* x) {
  proxy* p = begin(&m->base, OP_set_states);
  put(p, x, size_of_states(m));
  return ask(p);
}

static cpl_status get_array(cpl_model* m, int32_t op, double* values, size_t size) {
  proxy* p = begin(&m->base, op);
  put(p, values, size);
  return fetch(p, values, size);
}

// Operations that read one array, of a size given in the description.
#define READS(name, count)                                              \
  static cpl_status name(cpl_model* m, double* out) {                   \
    const cpl_description* d = m->base.desc;                            \
    return get_array(m, OP_##name, out, (size_t)(count) * sizeof *out); \
  }
READS(get_states, d->n_states)
READS(get_nominals, d->n_states)
READS(get_derivatives, d->n_states)
READS(get_indicators, d->n_indicators)
READS(get_constraints, d->n_constraints)
READS(constraint_jacobian, (size_t)d->n_constraints*(size_t)d->n_states)
READS(projection_step, d->n_states)
READS(get_algebraics, d->n_algebraics)
READS(get_algebraic_nominals, d->n_algebraics)
READS(get_residuals, d->n_algebraics)
#undef READS

// A count, limited by that in the description.
static cpl_status get_count(cpl_model* m, int32_t op, int32_t max, size_t* n) {
  proxy* p = begin(&m->base, op);
  *n = 0;
  put(p, n, sizeof *n);
  cpl_status st = fetch(p, n, sizeof *n);
  if (*n > (size_t)max) *n = (size_t)max;
  return st;
}

static cpl_status count_constraints(cpl_model* m, size_t* n) {
  return get_count(m, OP_count_constraints, m->base.desc->n_constraints, n);
}

static cpl_status use_residuals(cpl_model* m, size_t* n) {
  return get_count(m, OP_use_residuals, m->base.desc->n_algebraics, n);
}

static cpl_status set_algebraics(cpl_model* m, const double* z) {
  proxy* p = begin(&m->base, OP_set_algebraics);
  put(p, z, (size_t)m->base.desc->n_algebraics * sizeof *z);
  return ask(p);
}

static cpl_status completed_step(cpl_model* m, bool* enter, bool* end) {
  proxy* p = begin(&m->base, OP_completed_step);
  bool both[2] = {false, false};
  put(p, both, sizeof both);
  cpl_status st = fetch(p, both, sizeof both);
  *enter = both[0];
  *end = both[1];
  return st;
}

static void name_something(proxy* p, size_t number, char* out, size_t size) {
  if (size > 0) memset(out, 0, size);
  put(p, &number, sizeof number);
  put(p, out, size);
  if (!p->dead) fetch(p, out, size);
  if (size > 0) out[size - 1] = '\0';
}

static void name_indicator(const cpl_model* m, size_t indicator, char* out, size_t size) {
  name_something(begin((cpl_component*)&m->base, OP_name_indicator), indicator, out, size);
}

static void name_constraint(const cpl_model* m, size_t constraint, char* out, size_t size) {
  name_something(begin((cpl_component*)&m->base, OP_name_constraint), constraint, out, size);
}

static cpl_status newton_setup(cpl_model* m, double gamma, bool fresh) {
  proxy* p = begin(&m->base, OP_newton_setup);
  put(p, &gamma, sizeof gamma);
  put(p, &fresh, sizeof fresh);
  return ask(p);
}

static cpl_status newton_solve(cpl_model* m, const double* r, double* dx) {
  proxy* p = begin(&m->base, OP_newton_solve);
  put(p, r, size_of_states(m));
  put(p, dx, size_of_states(m));
  return fetch(p, dx, size_of_states(m));
}

static cpl_status projection(cpl_model* m, double tolerance, size_t max, double* change) {
  proxy* p = begin(&m->base, OP_projection);
  put(p, &tolerance, sizeof tolerance);
  put(p, &max, sizeof max);
  put(p, change, size_of_states(m));
  return fetch(p, change, size_of_states(m));
}

//------------------------------------ steppers ------------------------------------

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  proxy* p = begin(&s->base, OP_step);
  const double times[2] = {t_end, t_limit};
  *result = (cpl_step_result){.time = p->time};
  put(p, times, sizeof times);
  put(p, result, sizeof *result);
  cpl_status st = fetch(p, result, sizeof *result);
  if (st >= 0) p->time = result->time;
  return st;
}

// A function stays in this process: isolated steppers use its value at the beginning of the step.
static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  proxy* p = begin(&s->base, OP_set_curve);
  cpl_curve plain = *curve;
  if (curve->value != NULL)
    plain = (cpl_curve){.from = p->time, .coefficient = {curve->value(curve->user, p->time)}};
  put(p, &ref, sizeof ref);
  put(p, &plain, sizeof plain);
  return ask(p);
}

static cpl_status max_step(cpl_stepper* s, double* h) {
  proxy* p = begin(&s->base, OP_max_step);
  *h = INFINITY;
  put(p, h, sizeof *h);
  return fetch(p, h, sizeof *h);
}

static cpl_status get_output_derivatives(cpl_stepper* s, const uint32_t* refs, size_t n,
                                         double* values) {
  return get_doubles(begin(&s->base, OP_get_output_derivatives), refs, n, values);
}

static cpl_status wants_update(cpl_stepper* s, bool* wanted, double* margin) {
  proxy* p = begin(&s->base, OP_wants_update);
  cpli_wanted_update answer = {.margin = NAN};
  put(p, &answer, sizeof answer);
  cpl_status st = fetch(p, &answer, sizeof answer);
  *wanted = answer.wanted;
  *margin = answer.margin;
  return st;
}

//------------------------------------ making instances ------------------------------------

static const cpl_component_ops component_ops = {
#define X(table, name, invoke) OWN_##table(name)
#define OWN_component(name)    .name = name,
#define OWN_model(name)
#define OWN_stepper(name)
    CPLI_OPERATIONS(X).destroy = destroy,
};
static const cpl_model_ops model_ops = {
#undef OWN_component
#undef OWN_model
#define OWN_component(name)
#define OWN_model(name) .name = name,
    CPLI_OPERATIONS(X)};
static const cpl_stepper_ops stepper_ops = {
#undef OWN_model
#undef OWN_stepper
#define OWN_model(name)
#define OWN_stepper(name) .name = name,
    CPLI_OPERATIONS(X)};
#undef X

// Operations that the component does not have are not offered here either.
static void take_operations(proxy* p, bool is_model) {
  p->component_ops = component_ops;
  p->model_ops = model_ops;
  p->stepper_ops = stepper_ops;
  void* tables[] = {&p->component_ops, &p->model_ops, &p->stepper_ops};
  for (size_t i = 0; i < CPLI_COUNT(cpli_operations); i++) {
    if (p->request->offers >> i & 1) continue;
    memset((char*)tables[cpli_operations[i].table] + cpli_operations[i].slot, 0,
           sizeof(void (*)(void)));
  }
  memcpy(p->kind, p->request->kind, sizeof p->kind);
  p->kind[sizeof p->kind - 1] = '\0';
  p->component_ops.kind = p->kind;
  p->head.component.ops = &p->component_ops;
  p->head.component.can = p->request->can;
  if (is_model) p->head.model.ops = &p->model_ops;
  else p->head.stepper.ops = &p->stepper_ops;
}

static cpl_status allocate(isolated* iso, const char* name, proxy** out) {
  cpl_context* ctx = iso->base.ctx;
  const cpl_description* desc = iso->base.desc;
  proxy* p = *out = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->head.component.ctx = ctx;
  p->head.component.desc = desc;
  p->limit = iso->def.call_timeout;
  p->time = NAN;
  p->name = cpli_strdup(ctx, name);
  if (p->name == NULL) return cpli_nomem(ctx);
  p->head.component.name = p->name;
  size_t values = (size_t)desc->n_vars + (size_t)desc->n_states + (size_t)desc->n_indicators;
  return cpli_channel_open(ctx, FREE_BYTES + 64 * values, &p->channel);
}

static cpl_status start(isolated* iso, proxy* p, bool is_model) {
  int kept = -1;
  bool in_child = false;
  p->request = (cpli_request*)p->channel.data;
  p->request->op = -1;
  cpl_status st =
      iso->inner->ops->prepare != NULL ? iso->inner->ops->prepare(iso->inner, &kept) : CPL_OK;
  if (st >= 0) st = cpli_channel_fork(&p->channel, kept, &in_child);
  if (in_child) {
    if (iso->folder != NULL) setenv("TMPDIR", iso->folder, 1);
    cpli_isolated_serve(&p->channel, iso->inner, p->name, is_model);
  }
  return st < 0 ? st : ask(p);
}

static cpl_status make(cpl_source* src, const char* name, bool is_model, proxy** out) {
  isolated* iso = (isolated*)src;
  cpl_status st = CPL_OK;
  if (iso->folder == NULL) st = cpli_temp_folder_make(src->ctx, &iso->folder);
  if (st >= 0) st = allocate(iso, name, out);
  if (st >= 0) st = start(iso, *out, is_model);
  if (st >= 0) {
    take_operations(*out, is_model);
  } else if (*out != NULL) {
    cpli_channel_close(&(*out)->channel);
    cpli_free(src->ctx, (*out)->name);
    cpli_free(src->ctx, *out);
    *out = NULL;
  }
  return st;
}

static cpl_status make_model(cpl_source* src, const char* name, cpl_model** out) {
  proxy* p = NULL;
  cpl_status st = make(src, name, true, &p);
  *out = p != NULL ? &p->head.model : NULL;
  return st;
}

static cpl_status make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  proxy* p = NULL;
  cpl_status st = make(src, name, false, &p);
  *out = p != NULL ? &p->head.stepper : NULL;
  return st;
}

//------------------------------------ the source ------------------------------------

static void destroy_source(cpl_source* src) {
  if (src == NULL) return;
  isolated* iso = (isolated*)src;
  cpl_context* ctx = src->ctx;
  iso->inner->ops->destroy(iso->inner);
  if (iso->folder != NULL && cpli_temp_folder_remove(ctx, iso->folder) < 0)
    cpl_log(ctx, CPL_LOG_WARNING, "", "%s", cpl_context_error(ctx));
  cpli_free(ctx, iso->folder);
  cpli_free(ctx, iso);
}

void cpl_init_isolate_def(cpl_isolate_def* def, size_t size) {
  const cpl_isolate_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_isolate(cpl_source* inner, const cpl_isolate_def* given, cpl_source** out) {
  cpl_context* ctx = inner->ctx;
  *out = NULL;
  cpl_isolate_def def = cpl_default_isolate_def();
  if (given != NULL) {
    cpl_status st = cpli_read_def(ctx, "cpl_isolate_def", given, &def, sizeof def);
    if (st < 0) return st;
  }
  if (!(def.call_timeout >= 0))
    return cpli_fail_file(ctx, CPL_ERR_INPUT, inner->path,
                          "the time limit of calls must not be %g s", def.call_timeout);
  isolated* iso = cpli_alloc(ctx, 1, sizeof *iso);
  if (iso == NULL) return cpli_nomem(ctx);
  iso->inner = inner;
  iso->def = def;
  iso->ops = (cpl_source_ops){.kind = inner->ops->kind, .destroy = destroy_source};
  if (inner->ops->make_model != NULL) iso->ops.make_model = make_model;
  if (inner->ops->make_stepper != NULL) iso->ops.make_stepper = make_stepper;
  iso->base = (cpl_source){.ops = &iso->ops, .desc = inner->desc, .ctx = ctx, .path = inner->path};
  *out = &iso->base;
  return CPL_OK;
}
