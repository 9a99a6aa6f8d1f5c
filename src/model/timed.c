// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The list of operations defines one wrapper per operation, which adds up time and calls; an
// operation that the component does not have stays NULL.
#include "model/timed.h"

#include "base/base.h"
#include "couplet/component.h"
#include "model/operations.h"

// The tables that replace the component's own. `component` comes first: the rest is found from the
// component's pointer to its table.
typedef struct timed {
  cpl_component_ops component;
  cpl_model_ops model;
  cpl_newton_ops newton;
  cpl_constraint_ops constraint;
  cpl_dae_ops dae;
  cpl_stepper_ops stepper;
  const cpl_component_ops* own_component;
  const cpl_model_ops* own_model;
  const cpl_newton_ops* own_newton;
  const cpl_constraint_ops* own_constraint;
  const cpl_dae_ops* own_dae;
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

#define X(table, name, parameters, arguments)                \
  static cpl_status timed_##table##_##name parameters {      \
    timed* t_ = of((cpl_component*)self);                    \
    const double began = cpli_now();                         \
    return done(t_, began, t_->own_##table->name arguments); \
  }
CPLI_OPERATIONS(X)
#undef X

static cpl_status timed_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const timed* t = of(c);
  const cpl_component_ops* own = t->own_component;
  cpl_status st = own->inspect != NULL ? own->inspect(c, child, out) : CPL_OK;
  if (st < 0 || child >= 0) return st;
  cpl_inspection_add(out, (cpl_counter){"in_calls_s", "s", t->seconds, false});
  cpl_inspection_add(out, (cpl_counter){"calls", "", (double)t->calls, false});
  return st;
}

static void timed_destroy(cpl_component* c) {
  if (c == NULL) return;
  timed* t = of(c);
  cpl_context* ctx = c->ctx;
  c->ops = t->own_component;
  if (t->own_model != NULL) ((cpl_model*)c)->ops = t->own_model;
  if (t->own_stepper != NULL) ((cpl_stepper*)c)->ops = t->own_stepper;
  c->ops->destroy(c);
  cpli_free(ctx, t);
}

static cpl_status replace(cpl_component* c, const cpl_model_ops* m, const cpl_stepper_ops* s) {
  timed* t = cpli_alloc(c->ctx, 1, sizeof *t);
  if (t == NULL) return cpli_nomem(c->ctx);
  t->own_component = c->ops;
  t->own_model = m;
  t->own_newton = m != NULL ? m->newton : NULL;
  t->own_constraint = m != NULL ? m->constraints : NULL;
  t->own_dae = m != NULL ? m->dae : NULL;
  t->own_stepper = s;
  t->component = *c->ops;
  if (m != NULL) t->model = *m;
  t->model.evaluate = NULL;  // the time of each model is measured
  t->model.directions = NULL;
  if (t->own_newton != NULL) t->newton = *t->own_newton, t->model.newton = &t->newton;
  if (t->own_constraint != NULL)
    t->constraint = *t->own_constraint, t->model.constraints = &t->constraint;
  if (t->own_dae != NULL) t->dae = *t->own_dae, t->model.dae = &t->dae;
  if (s != NULL) t->stepper = *s;
#define X(table, name, parameters, arguments) \
  if (t->table.name != NULL) t->table.name = timed_##table##_##name;
  CPLI_OPERATIONS(X)
#undef X
  t->component.destroy = timed_destroy;
  t->component.inspect = timed_inspect;
  c->ops = &t->component;
  if (m != NULL) ((cpl_model*)c)->ops = &t->model;
  if (s != NULL) ((cpl_stepper*)c)->ops = &t->stepper;
  return CPL_OK;
}

cpl_status cpli_time_model(cpl_model* m) { return replace(&m->base, m->ops, NULL); }

cpl_status cpli_time_stepper(cpl_stepper* s) { return replace(&s->base, NULL, s->ops); }
