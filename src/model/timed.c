// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Lists of operations as macros define one wrapper per operation, which adds up time and calls; an
// operation that the component does not have stays NULL.
#include "model/timed.h"

#include "base/base.h"
#include "couplet/component.h"

// The tables that replace the component's own. `common` comes first: the rest is found from the
// component's pointer to its table.
typedef struct timed {
  cpl_component_ops common;
  cpl_model_ops model;
  cpl_stepper_ops stepper;
  const cpl_component_ops* own_common;
  const cpl_model_ops* own_model;
  const cpl_stepper_ops* own_stepper;
  double seconds;
  int64_t calls;
} timed;

static timed* of(const cpl_component* c) { return (timed*)c->ops; }

static cpl_status done(timed* t, double began, cpl_status st) {
  t->seconds += cpli_now() - began;
  t->calls++;
  return st;
}

// name, parameters, arguments: the operations that a run calls often, and initialisation
#define COMMON_LIST(X)                                                                          \
  X(enter_init, (cpl_component * c), (c))                                                       \
  X(exit_init, (cpl_component * c), (c))                                                        \
  X(get_real, (cpl_component * c, const uint32_t* refs, size_t n, double* v), (c, refs, n, v))  \
  X(set_real, (cpl_component * c, const uint32_t* refs, size_t n, const double* v),             \
    (c, refs, n, v))                                                                            \
  X(get_integer, (cpl_component * c, cpl_type k, const uint32_t* refs, size_t n, int64_t* v),   \
    (c, k, refs, n, v))                                                                         \
  X(set_integer,                                                                                \
    (cpl_component * c, cpl_type k, const uint32_t* refs, size_t n, const int64_t* v),          \
    (c, k, refs, n, v))                                                                         \
  X(save, (cpl_component * c, cpl_snapshot * s), (c, s))                                        \
  X(restore, (cpl_component * c, const cpl_snapshot* s), (c, s))                                \
  X(directional,                                                                                \
    (cpl_component * c, const uint32_t* unknowns, size_t nu, const uint32_t* knowns, size_t nk, \
     const double* seed, double* out),                                                          \
    (c, unknowns, nu, knowns, nk, seed, out))

#define MODEL_LIST(X)                                                \
  X(enter_event, (cpl_model * m), (m))                               \
  X(event_update, (cpl_model * m, cpl_event_info * info), (m, info)) \
  X(enter_continuous, (cpl_model * m), (m))                          \
  X(set_time, (cpl_model * m, double t), (m, t))                     \
  X(set_states, (cpl_model * m, const double* x), (m, x))            \
  X(get_states, (cpl_model * m, double* x), (m, x))                  \
  X(get_derivatives, (cpl_model * m, double* dx), (m, dx))           \
  X(get_indicators, (cpl_model * m, double* z), (m, z))              \
  X(completed_step, (cpl_model * m, bool* event, bool* terminate), (m, event, terminate))

#define STEPPER_LIST(X)                                                        \
  X(step, (cpl_stepper * s, double t_end, double t_limit, cpl_step_result* r), \
    (s, t_end, t_limit, r))                                                    \
  X(set_curve, (cpl_stepper * s, uint32_t ref, const cpl_curve* curve), (s, ref, curve))

#define X(name, parameters, arguments)                        \
  static cpl_status timed_##name parameters {                 \
    timed* own = of(c);                                       \
    const double began = cpli_now();                          \
    return done(own, began, own->own_common->name arguments); \
  }
COMMON_LIST(X)
#undef X
#define X(name, parameters, arguments)                       \
  static cpl_status timed_##name parameters {                \
    timed* own = of(&m->base);                               \
    const double began = cpli_now();                         \
    return done(own, began, own->own_model->name arguments); \
  }
MODEL_LIST(X)
#undef X
#define X(name, parameters, arguments)                         \
  static cpl_status timed_##name parameters {                  \
    timed* own = of(&s->base);                                 \
    const double began = cpli_now();                           \
    return done(own, began, own->own_stepper->name arguments); \
  }
STEPPER_LIST(X)
#undef X

static cpl_status timed_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const timed* t = of(c);
  cpl_status st = t->own_common->inspect != NULL ? t->own_common->inspect(c, child, out) : CPL_OK;
  if (st < 0 || child >= 0) return st;
  cpl_inspection_add(out, (cpl_counter){"in_calls_s", "s", t->seconds, false});
  cpl_inspection_add(out, (cpl_counter){"calls", "", (double)t->calls, false});
  return st;
}

static void timed_destroy(cpl_component* c) {
  if (c == NULL) return;
  timed* t = of(c);
  cpl_context* ctx = c->ctx;
  c->ops = t->own_common;
  if (t->own_model != NULL) ((cpl_model*)c)->ops = t->own_model;
  if (t->own_stepper != NULL) ((cpl_stepper*)c)->ops = t->own_stepper;
  c->ops->destroy(c);
  cpli_free(ctx, t);
}

// Operations that the component does not have remain unavailable.
static timed* time_common(cpl_component* c) {
  timed* t = cpli_alloc(c->ctx, 1, sizeof *t);
  if (t == NULL) return NULL;
  t->own_common = c->ops;
  t->common = *c->ops;
  t->common.destroy = timed_destroy;
  t->common.inspect = timed_inspect;
#define X(name, parameters, arguments) \
  if (t->common.name != NULL) t->common.name = timed_##name;
  COMMON_LIST(X)
#undef X
  c->ops = &t->common;
  return t;
}

cpl_status cpli_time_model(cpl_model* m) {
  timed* t = time_common(&m->base);
  if (t == NULL) return cpli_nomem(m->base.ctx);
  t->own_model = m->ops;
  t->model = *m->ops;
#define X(name, parameters, arguments) \
  if (t->model.name != NULL) t->model.name = timed_##name;
  MODEL_LIST(X)
#undef X
  m->ops = &t->model;
  return CPL_OK;
}

cpl_status cpli_time_stepper(cpl_stepper* s) {
  timed* t = time_common(&s->base);
  if (t == NULL) return cpli_nomem(s->base.ctx);
  t->own_stepper = s->ops;
  t->stepper = *s->ops;
#define X(name, parameters, arguments) \
  if (t->stepper.name != NULL) t->stepper.name = timed_##name;
  STEPPER_LIST(X)
#undef X
  s->ops = &t->stepper;
  return CPL_OK;
}
