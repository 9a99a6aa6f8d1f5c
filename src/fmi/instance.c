// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Creates and destroys instances, and saves states together with that of the version's
// adapter. The part that is common to the steppers of all versions is here, too: steps that end
// early, predicted and pending steps, and derivatives of inputs.
#include "fmi/instance.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "fmi/calls.h"
#include "format/file.h"
#include "format/image.h"

// An instance that must not be called any more cannot be freed: LeakSanitizer is told so.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_LEAK_SANITIZER
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(HAS_LEAK_SANITIZER)
#include <sanitizer/lsan_interface.h>
#define GIVE_UP(instance) __lsan_ignore_object(instance)
#else
#define GIVE_UP(instance) ((void)0)
#endif

static cpli_fmu_instance* instance_of(cpl_component* c) { return (cpli_fmu_instance*)c; }

static bool alive(const cpli_fmu_instance* in) {
  return in->health != CPLI_DEAD && !in->lib->fatal;
}

//------------------------------------ life cycle ------------------------------------

// A run that failed or never began has nothing to terminate: the standard forbids the call there.
static cpl_status terminate(cpl_component* c) {
  cpli_fmu_instance* in = instance_of(c);
  if (in->health != CPLI_GOOD || in->lib->fatal) return CPL_OK;
  if (in->phase <= CPLI_INITIALIZING || in->phase == CPLI_TERMINATED) return CPL_OK;
  in->phase = CPLI_TERMINATED;
  return in->api->terminate(in);
}

static cpl_status reset(cpl_component* c) {
  cpli_fmu_instance* in = instance_of(c);
  cpl_status st = in->api->reset(in);
  if (st < 0) return st;
  in->phase = CPLI_INSTANTIATED;
  in->health = CPLI_GOOD;
  in->time = NAN;
  return st;
}

//------------------------------------ saved states ------------------------------------

// The FMU's saved state, and the state of the adapter at that time.
typedef struct saved {
  void* state;
  double time;
  cpli_fmu_phase phase;
  size_t own_size, own_cap;
  max_align_t own[];  // of the adapter
} saved;
static_assert(offsetof(saved, own) == sizeof(saved), "what the adapter saves begins behind it");

static size_t own_size(const cpli_fmu_instance* in) {
  return in->api->own_size != NULL ? in->api->own_size(in) : 0;
}

static saved* room_for(cpl_component* c, cpl_snapshot* snapshot, size_t own) {
  saved* s = snapshot->data;
  if (s == NULL || own > s->own_cap) {
    saved* larger = cpli_realloc(c->ctx, s, sizeof(saved) + own, 1);
    if (larger == NULL) return NULL;
    if (s == NULL) memset(larger, 0, sizeof *larger);
    if (s == NULL) instance_of(c)->snapshots++;
    snapshot->data = s = larger;
    s->own_cap = own;
  }
  s->own_size = own;
  return s;
}

static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_fmu_instance* in = instance_of(c);
  saved* s = room_for(c, snapshot, own_size(in));
  if (s == NULL) return cpli_nomem(c->ctx);
  s->time = in->time;
  s->phase = in->phase;
  if (in->api->own_save != NULL) in->api->own_save(in, s->own);
  return in->api->get_state(in, &s->state);
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_fmu_instance* in = instance_of(c);
  const saved* s = snapshot->data;
  cpl_status st = in->api->set_state(in, s->state);
  if (st < 0) return st;
  in->health = CPLI_GOOD;
  in->time = s->time;
  in->phase = s->phase;
  return in->api->own_restore != NULL ? in->api->own_restore(in, s->own, s->own_size) : st;
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_fmu_instance* in = instance_of(c);
  saved* s = snapshot->data;
  if (s == NULL) return;
  if (s->state != NULL && alive(in)) in->api->free_state(in, &s->state);
  else if (s->state != NULL) GIVE_UP(s->state);
  cpli_free(c->ctx, s);
  snapshot->data = NULL;
  assert(in->snapshots > 0);
  in->snapshots--;
}

// Bytes are time and phase of the instance, the state of its adapter, and the serialised state of
// the FMU.
typedef struct serial_head {
  double time;
  int64_t phase;
  uint64_t own;  // size of the adapter's state
} serial_head;
static_assert(sizeof(serial_head) == 24, "bytes of a saved state have no padding");

static cpl_status serialize(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  cpli_fmu_instance* in = instance_of(c);
  const saved* s = snapshot->data;
  size_t size = 0;
  cpl_status st = in->api->state_size(in, s->state, &size);
  if (st != CPL_OK) return st;
  size_t before = sizeof(serial_head) + s->own_size;
  uint8_t* room = cpli_realloc(c->ctx, in->bytes, before + size, 1);
  if (room == NULL) return cpli_nomem(c->ctx);
  in->bytes = room;
  serial_head head = {s->time, (int64_t)s->phase, s->own_size};
  memcpy(room, &head, sizeof head);
  if (s->own_size > 0) memcpy(room + sizeof head, s->own, s->own_size);
  *bytes = (cpl_binary){room, before + size};
  return in->api->write_state(in, s->state, room + before, size);
}

static cpl_status deserialize(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot) {
  cpli_fmu_instance* in = instance_of(c);
  serial_head head = {0};
  if (bytes->size >= sizeof head) memcpy(&head, bytes->data, sizeof head);
  bool fits = bytes->size >= sizeof head && head.own <= bytes->size - sizeof head &&
              head.phase >= CPLI_INSTANTIATED && head.phase <= CPLI_TERMINATED;
  if (!fits)
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, in->name, NULL, in->time,
                       "these bytes are no saved state");
  size_t before = sizeof head + head.own;
  void* state = NULL;  // the former one is kept until this one has been read
  cpl_status st = in->api->read_state(in, bytes->data + before, bytes->size - before, &state);
  saved* s = st >= 0 ? room_for(c, snapshot, head.own) : NULL;
  if (s == NULL) {
    if (state != NULL && alive(in)) in->api->free_state(in, &state);
    return st < 0 ? st : cpli_nomem(c->ctx);
  }
  s->time = head.time;
  s->phase = (cpli_fmu_phase)head.phase;
  if (head.own > 0) memcpy(s->own, bytes->data + sizeof head, head.own);
  if (s->state != NULL) in->api->free_state(in, &s->state);
  s->state = state;
  return st;
}

// The state of an FMU is complete by the standard.
static cpl_status get_history(cpl_component* c, cpl_binary* bytes, bool* complete) {
  cpli_fmu_instance* in = instance_of(c);
  in->learned = (cpli_learned){.input_derivatives = c->can.input_derivatives,
                               .output_derivatives = c->can.output_derivatives,
                               .holds_inputs = in->holds_inputs,
                               .warned = in->warned_bad_time + 2 * in->warned_bad_limit};
  *bytes = (cpl_binary){(const uint8_t*)&in->learned, sizeof in->learned};
  *complete = true;
  return CPL_OK;
}

static cpl_status set_history(cpl_component* c, const cpl_binary* bytes) {
  cpli_fmu_instance* in = instance_of(c);
  cpl_capabilities* can = &c->can;
  cpli_learned k = {0};
  if (bytes->size == sizeof k) memcpy(&k, bytes->data, sizeof k);
  bool inputs = k.input_derivatives == 0 || k.input_derivatives == can->input_derivatives;
  bool outputs = k.output_derivatives == 0 || k.output_derivatives == can->output_derivatives;
  if (bytes->size != sizeof k || !inputs || !outputs || (k.holds_inputs & ~1) != 0 ||
      (k.warned & ~3) != 0)
    return cpl_fail_in(c->ctx, CPL_ERR_INPUT, in->name, NULL, in->time,
                       "these bytes are no history of a run");
  can->input_derivatives = k.input_derivatives;
  can->output_derivatives = k.output_derivatives;
  in->holds_inputs = k.holds_inputs != 0;
  in->warned_bad_time = (k.warned & 1) != 0;
  in->warned_bad_limit = (k.warned & 2) != 0;
  return CPL_OK;
}

//------------------------------------ making ------------------------------------

// The URI of the resources; every byte that is not plain in a path is percent-encoded.
static char* resource_uri(cpl_context* ctx, const char* real) {
  static const char plain[] = "/-._~ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
  static const char head[] = "file://", hex[] = "0123456789ABCDEF";
  char* uri = cpli_alloc(ctx, sizeof head + 3 * strlen(real), 1);
  if (uri == NULL) return NULL;
  char* at = stpcpy(uri, head);
  for (const char* p = real; *p != '\0'; p++) {
    if (strchr(plain, *p) != NULL) {
      *at++ = *p;
    } else {
      *at++ = '%';
      *at++ = hex[(unsigned char)*p >> 4];
      *at++ = hex[(unsigned char)*p & 15];
    }
  }
  *at = '\0';
  return uri;
}

static char* resource_place(cpl_context* ctx, const cpli_fmu_instance* in) {
  char* real = realpath(in->fmu->folder, NULL);
  // a path ends with a separator (FMI 3.0), a URI of FMI 2.0 does not; FMI 1.0 has that of the FMU
  // itself
  const char* below = in->fmu->version == 1    ? ""
                      : in->api->resource_path ? "/resources/"
                                               : "/resources";
  char* path = cpli_printf(ctx, "%s%s", real != NULL ? real : in->fmu->folder, below);
  free(real);
  if (path != NULL && !in->api->resource_path) {
    char* uri = resource_uri(ctx, path);
    cpli_free(ctx, path);
    path = uri;
  }
  if (path == NULL || in->lib->hosted == NULL) return path;
  char* there = in->lib->hosted->path(in->lib->hosted, ctx, path);
  cpli_free(ctx, path);
  return there;
}

// Fill the operations, as far as the binary has what its description promises.
static void offer_operations(cpli_fmu_instance* in) {
  cpl_capabilities* can = &in->head.component.can;
  const cpli_api* api = in->api;
  can->directional = api->has_directional != NULL && api->has_directional(in);
  can->save_restore = can->save_restore && cpli_has_all(in, CPLI_SAVES);
  can->serialize = can->serialize && can->save_restore && cpli_has_all(in, CPLI_BYTES);
  cpl_component_ops* ops = &in->component_ops;
  *ops = *api->ops;
  ops->destroy = cpli_instance_destroy;
  ops->terminate = terminate;
  ops->reset = reset;
  if (!can->directional) ops->directional = NULL;
  if (can->save_restore) {
    ops->save = save;
    ops->restore = restore;
    ops->forget = forget;
  }
  if (can->serialize) {
    ops->serialize = serialize;
    ops->deserialize = deserialize;
  }
  if (can->serialize && in->co_simulation) {  // a model has nothing that it could refuse
    ops->get_history = get_history;
    ops->set_history = set_history;
  }
}

void cpli_instance_compare(const cpli_fmu_instance* in, const char* what, const char* actual,
                           const char* expected) {
  if (actual != NULL && strncmp(actual, expected, strlen(expected)) == 0) return;
  cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name, "the binary %s \"%s\", not %s", what,
          actual != NULL ? actual : "", expected);
}

static cpl_status load(cpli_fmu_instance* in, const char* name) {
  cpl_context* ctx = in->head.component.ctx;
  cpl_status st = cpli_fmu_extract(in->fmu);
  if (st < 0) return st;
  in->name = cpli_strdup(ctx, name);
  if (in->name == NULL) return cpli_nomem(ctx);
  in->head.component.name = in->name;
  if (in->api->prepare != NULL) st = in->api->prepare(in);
  if (st >= 0) st = cpli_library_acquire(in->fmu, in->kind, &in->lib);
  if (st < 0) return st;
  in->resources = resource_place(ctx, in);
  if (in->resources == NULL) return cpli_nomem(ctx);
  if (in->kind->can.once_per_process && in->lib->users > 1) {
    return cpl_fail_in(ctx, CPL_ERR_UNSUPPORTED, name, NULL, NAN,
                       "%s can be instantiated only once per process, and there is an instance "
                       "already",
                       in->fmu->base.path);
  }
  if (in->lib->fatal) {
    return cpl_fail_in(ctx, CPL_ERR_MODEL, name, NULL, NAN,
                       "another instance of %s ended with %sFatal", in->fmu->base.path,
                       in->api->prefix);
  }
  st = cpli_bind(in);
  if (st >= 0) offer_operations(in);
  return st;
}

// An FMU of a system, made by couplet, whose plan is not what it was: the file is bad, not the
// model.
static bool has_bad_plan(const cpli_fmu_instance* in) {
  enum { LARGEST = 1 << 30 };
  cpl_context* ctx = in->head.component.ctx;
  char *bytes = NULL, *path = cpli_printf(ctx, "%s/resources/plan", in->fmu->folder);
  size_t size = 0;
  const cpl_description* desc = in->fmu->base.desc;
  const char* tool = desc != NULL ? desc->tool : NULL;
  bool made_here = tool != NULL && strncmp(tool, "couplet", 7) == 0 && path != NULL;
  bool there = made_here && access(path, R_OK) == 0 &&
               cpli_file_read(ctx, path, LARGEST, &bytes, &size) >= 0;
  bool bad = there && !cpli_image_is_whole((const unsigned char*)bytes, size);
  cpli_free(ctx, bytes);
  cpli_free(ctx, path);
  return bad;
}

static cpl_status instantiate(cpli_fmu_instance* in) {
  if (in->lib->hosted != NULL) in->lib->hosted->select(in->lib->hosted, in);
  cpl_status st = in->api->instantiate(in);
  if (st >= 0 || in->health != CPLI_FAILED || in->instance != NULL) return st;
  if (has_bad_plan(in)) st = CPL_ERR_INPUT;
  const char* text = in->message[0] != '\0' ? in->message : "the FMU does not say why";
  return cpl_fail_in(
      in->head.component.ctx, st, in->name, NULL, in->time, "%s failed: %s%s", in->failed_in, text,
      in->kind->can.needs_tool ? " (it needs the tool it was made with, installed and "
                                 "licensed on this machine)"
                               : "");
}

cpl_status cpli_instance_create(cpl_source* src, const char* name, const cpli_api* api,
                                const cpli_fmu_kind* kind, cpli_fmu_instance** out) {
  *out = NULL;
  cpl_fmu* fmu = (cpl_fmu*)src;
  cpli_fmu_instance* in = cpli_alloc(src->ctx, 1, api->size);
  if (in == NULL) return cpli_nomem(src->ctx);
  in->fmu = fmu;
  in->api = api;
  in->kind = kind;
  in->co_simulation = kind != &fmu->me;
  in->scheduled = kind == &fmu->se;
  in->time = NAN;
  in->x87 = cpli_x87_modes();
  in->head.component.ctx = src->ctx;
  in->head.component.desc = src->desc;
  in->head.component.can = in->kind->can;
  in->head.component.ops = &in->component_ops;
  pthread_mutex_init(&in->mutex, NULL);
  fmu->live_instances++;

  cpl_status st = load(in, name);
  if (st >= 0) st = instantiate(in);
  if (st < 0) {
    cpli_instance_destroy(&in->head.component);
    return st;
  }
  *out = in;
  return CPL_OK;
}

void cpli_instance_share_ops(cpli_fmu_instance* in) {
  cpli_library* lib = in->lib;
  if (!lib->shares) {
    lib->component_ops = in->component_ops;
    lib->model_ops = in->model_ops;
    lib->shares = true;
  }
  bool equal = memcmp(&lib->component_ops, &in->component_ops, sizeof in->component_ops) == 0 &&
               memcmp(&lib->model_ops, &in->model_ops, sizeof in->model_ops) == 0;
  if (!equal || in->model_ops.constraints != NULL) return;
  in->head.model.base.ops = &lib->component_ops;
  in->head.model.ops = &lib->model_ops;
}

void cpli_instance_destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_fmu_instance* in = instance_of(c);
  cpl_context* ctx = c->ctx;
  if (in->instance != NULL && alive(in)) in->api->free_instance(in);
  else if (in->instance != NULL) GIVE_UP(in->instance);
  cpli_library_release(in->lib);
  assert(in->fmu->live_instances > 0);
  in->fmu->live_instances--;
  pthread_mutex_destroy(&in->mutex);
  if (in->api->release != NULL) in->api->release(in);
  cpli_free(ctx, in->resources);
  cpli_free(ctx, in->bytes);
  cpli_free(ctx, in->name);
  cpli_free(ctx, in);
}

//------------------------------------ helpers ------------------------------------

const char* cpli_instance_variable(const cpli_fmu_instance* in, cpl_type type, uint32_t ref) {
  const cpl_description* desc = &in->fmu->desc;
  for (int32_t i = 0; i < desc->n_vars; i++) {
    if (desc->vars[i].type == type && desc->vars[i].ref == ref) return desc->vars[i].name;
  }
  return "a variable";
}

void cpli_clean_nominals(double* nominals, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!(nominals[i] >= DBL_MIN) || isinf(nominals[i])) nominals[i] = 1;
  }
}

//------------------------------------ steppers ------------------------------------

cpl_status cpli_check_step(cpli_fmu_instance* in, double t_end) {
  if (t_end >= in->time) return CPL_OK;
  return cpl_fail_in(in->head.component.ctx, CPL_ERR_INPUT, in->name, NULL, in->time,
                     "cannot step from t=%.12g back to t=%.12g", in->time, t_end);
}

// A time before the step, or NaN, is no result: the step counts as one without progress. A time
// after the step contradicts it: the state of the FMU is unknown.
cpl_status cpli_step_stopped(cpli_fmu_instance* in, const char* what, double reached, double t_end,
                             cpl_step_result* result) {
  double slack = 1e-9 * (t_end - in->time) + 4 * DBL_EPSILON * fabs(t_end);
  if (reached > t_end + slack) {
    return cpl_fail_in(in->head.component.ctx, CPL_ERR_MODEL, in->name, NULL, in->time,
                       "the step from t=%.12g to t=%.12g ended before its end, but %s is %.12g",
                       in->time, t_end, what, reached);
  }
  if (!(reached >= in->time - slack) && !in->warned_bad_time) {
    in->warned_bad_time = true;
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "the step from t=%.12g to t=%.12g ended before its end, and %s is %g, which is no time "
            "of the step: it counts as a step that came nowhere",
            in->time, t_end, what, reached);
  }
  if (!(reached >= in->time)) reached = in->time;  // NaN too
  in->time = reached > t_end ? t_end : reached;
  result->time = in->time;
  result->end = in->head.component.can.stops_early ? CPL_STEP_EVENT : CPL_STEP_REFUSED;
  return CPL_OK;
}

double cpli_step_predicted(cpli_fmu_instance* in, const char* function, double h) {
  if (h > 0) return h;
  if (h != 0 && !in->warned_bad_limit) {
    in->warned_bad_limit = true;
    cpl_log(in->head.component.ctx, CPL_LOG_WARNING, in->name,
            "%s says at t=%.12g that the longest step is %g: it counts as no prediction", function,
            in->time, h);
  }
  return NAN;
}

int cpli_wait_for_step(cpli_fmu_instance* in,
                       cpl_status (*ask)(cpli_fmu_instance* in, int* status)) {
  int now = CPLI_FMU_PENDING;
  for (long pause = 1000; now == CPLI_FMU_PENDING; pause = pause < 5000000 ? 2 * pause : pause) {
    struct timespec ts = {.tv_nsec = pause};
    nanosleep(&ts, NULL);
    cpl_status st = ask(in, &now);
    if (st < 0) return -1;
    if (st != CPL_OK) now = CPLI_FMU_ERROR;  // no status: there is nothing to wait for
  }
  return now;
}

// An optional function failed: *order is 0 from here on.
static cpl_status give_up(cpli_fmu_instance* in, const char* function, int32_t* order,
                          const char* consequence) {
  cpl_context* ctx = in->head.component.ctx;
  if (cpli_cancelled(ctx)) return cpli_interrupted(ctx, in->name, in->time);
  if (in->health != CPLI_GOOD) return CPL_ERR_MODEL;
  char name[32];
  *order = 0;
  cpl_log(ctx, CPL_LOG_WARNING, in->name, "%s at t=%.12g returned %s%s%s: from here on %s",
          function, in->time, cpli_status_name(in, in->last, name, sizeof name),
          in->message[0] != '\0' ? ": " : "", in->message, consequence);
  return CPL_OK;
}

cpl_status cpli_without_derivatives(cpli_fmu_instance* in, const char* function) {
  return give_up(in, function, &in->head.component.can.input_derivatives,
                 "inputs are constant over each step");
}

//------------------------------------ derivatives of outputs ------------------------------------

const int32_t cpli_first_orders[CPLI_DERIVATIVES] = {1, 1, 1, 1, 1, 1, 1, 1,
                                                     1, 1, 1, 1, 1, 1, 1, 1};

// The standard allows the call between steps only, not in an event.
static cpl_status get_output_derivatives(cpl_stepper* s, const uint32_t* refs, size_t n,
                                         double* values) {
  cpli_fmu_instance* in = instance_of(&s->base);
  bool known = s->base.can.output_derivatives > 0 && in->phase == CPLI_STEPPING;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st == CPL_OK && known; i += CPLI_DERIVATIVES) {
    size_t count = n - i < CPLI_DERIVATIVES ? n - i : CPLI_DERIVATIVES;
    st = in->output_derivatives(in, refs + i, count, values + i);
  }
  if (known && st == CPL_OK) return st;
  for (size_t i = 0; i < n; i++) values[i] = NAN;
  if (st == CPL_OK) return st;
  return give_up(in, in->output_derivatives_name, &s->base.can.output_derivatives,
                 "derivatives of its outputs are not used");
}

void cpli_offer_output_derivatives(cpli_fmu_instance* in, const char* function,
                                   cpli_derivatives_call* call) {
  int32_t* order = &in->head.component.can.output_derivatives;
  if (cpli_library_symbol(in->lib, function) == NULL) *order = 0;
  if (*order <= 0) return;
  in->output_derivatives = call;
  in->output_derivatives_name = function;
  in->stepper_ops.get_output_derivatives = get_output_derivatives;
}

// The k-th derivative of a curve at t; those of a curve without polynomial are 0. As in
// cpli_curve_at(), t may be earlier than `from` by rounding.
static double derivative_at(const cpl_curve* curve, double t, int k) {
  if (curve->value != NULL) return k == 0 ? curve->value(curve->user, t) : 0;
  double sum = 0, dt = t > curve->from ? t - curve->from : 0;
  for (int i = curve->order; i >= k; i--) {
    double factor = 1;
    for (int j = 0; j < k; j++) factor *= i - j;
    sum = sum * dt + factor * curve->coefficient[i];
  }
  return sum;
}

// Every order the FMU supports is set each time, so that no earlier slope remains.
cpli_curve_orders cpli_curve_now(const cpli_fmu_instance* in, const cpl_curve* curve) {
  cpli_curve_orders o = {.value = derivative_at(curve, in->time, 0)};
  int most = (int)CPLI_COUNT(o.orders), known = in->head.component.can.input_derivatives;
  o.n = known < most ? known : most;
  for (int k = 0; k < o.n; k++) {
    o.orders[k] = k + 1;
    o.values[k] = derivative_at(curve, in->time, k + 1);
  }
  return o;
}
