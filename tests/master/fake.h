// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stepper that does what a test wants: y = gain u + bias (with the inputs of the last step, as a
// co-simulation FMU) and x' = u, which can or cannot roll back, predict, refuse and stop.
#pragma once

#include "testing.h"

typedef struct fake {
  cpl_stepper base;
  cpl_component_ops ops;
  cpl_stepper_ops step_ops;
  cpl_description desc;
  cpl_variable vars[3];  // u, y, x
  cpl_unknown rows[2];
  int32_t deps[1];
  uint8_t kinds[1];
  char name[32];
  // what it does
  double gain, bias;
  double (*curve)(double u);  // y in place of gain u + bias. Nullable.
  double longest;             // refuses longer steps and says how far it came
  double stops[8];            // times it stops at, as at events
  int n_stops;
  double lies;  // predicts so much more than it accepts
  bool silent;  // refuses without saying how far it came
  double wall;  // stops where x comes to it, which it does not predict; 0: nowhere
  // how it is
  double t, u, y, x;
  int steps, saves, restores, updates;
  bool pending;
} fake;

typedef struct fake_saved {
  double t, u, y, x;
} fake_saved;

static fake* fake_of(cpl_component* c) { return (fake*)c; }

static cpl_status fake_get(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  fake* f = fake_of(c);
  const double all[] = {f->u, f->y, f->x};
  for (size_t i = 0; i < n; i++) values[i] = all[refs[i]];
  return CPL_OK;
}

static double fake_output(const fake* f) {
  return f->curve != NULL ? f->curve(f->u) : f->gain * f->u + f->bias;
}

static cpl_status fake_set(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  fake* f = fake_of(c);
  for (size_t i = 0; i < n; i++) {
    if (refs[i] == 0) f->u = values[i];
    else if (refs[i] == 2) f->x = values[i];
  }
  if (isnan(f->t)) f->y = fake_output(f);  // initialisation: outputs follow
  return CPL_OK;
}

static cpl_status fake_setup(cpl_component* c, const cpl_setup* s) {
  (void)s;
  fake_of(c)->t = NAN;
  fake_of(c)->y = fake_output(fake_of(c));
  return CPL_OK;
}
static cpl_status fake_exit_init(cpl_component* c) {
  fake_of(c)->t = 0;
  return CPL_OK;
}
static cpl_status fake_nothing(cpl_component* c) {
  (void)c;
  return CPL_OK;
}
static void fake_destroy(cpl_component* c) { (void)c; }

static cpl_status fake_save(cpl_component* c, cpl_snapshot* s) {
  fake* f = fake_of(c);
  if (s->data == NULL) s->data = malloc(sizeof(fake_saved));
  *(fake_saved*)s->data = (fake_saved){f->t, f->u, f->y, f->x};
  f->saves++;
  return CPL_OK;
}
static cpl_status fake_restore(cpl_component* c, const cpl_snapshot* s) {
  fake* f = fake_of(c);
  const fake_saved* k = s->data;
  f->t = k->t, f->u = k->u, f->y = k->y, f->x = k->x;
  f->restores++;
  return CPL_OK;
}
static void fake_forget(cpl_component* c, cpl_snapshot* s) {
  (void)c;
  free(s->data);
  s->data = NULL;
}

static double fake_limit(const fake* f) {
  double limit = f->longest > 0 ? f->t + f->longest : INFINITY;
  for (int i = 0; i < f->n_stops; i++) {
    if (f->stops[i] > f->t) limit = fmin(limit, f->stops[i]);
  }
  return limit;
}

static double fake_wall(const fake* f) {
  return f->wall != 0 && f->wall > f->x && f->u > 0 ? f->t + (f->wall - f->x) / f->u : INFINITY;
}

static cpl_status fake_step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* r) {
  fake* f = (fake*)s;
  (void)t_limit;
  *r = (cpl_step_result){.end = CPL_STEP_DONE, .time = t_end};
  if (t_end <= f->t) {
    f->updates++;
    return CPL_OK;
  }
  double limit = fmin(fake_limit(f), fake_wall(f));
  if (limit < t_end) {
    bool stop = limit == fake_wall(f) ||
                (f->n_stops > 0 && !(f->longest > 0 && limit == f->t + f->longest));
    r->end = stop ? CPL_STEP_EVENT : CPL_STEP_REFUSED;
    r->time = f->silent ? f->t : limit;
    if (!stop) return CPL_OK;  // the state is not to be used
    t_end = limit;
  }
  if (fake_wall(f) == t_end) r->end = CPL_STEP_EVENT;
  for (int i = 0; i < f->n_stops; i++) {
    if (f->stops[i] == t_end) r->end = CPL_STEP_EVENT;
  }
  f->x += (t_end - f->t) * f->u;
  f->t = t_end;
  f->y = fake_output(f);
  f->steps++;
  return CPL_OK;
}

static cpl_status fake_max_step(cpl_stepper* s, double* h) {
  fake* f = (fake*)s;
  *h = fake_limit(f) - f->t + f->lies;
  return CPL_OK;
}

static cpl_stepper* fake_make(fake* f, cpl_context* ctx, const char* name, double gain, double bias,
                              bool rolls_back, bool predicts) {
  static const char* const names[] = {"u", "y", "x"};
  snprintf(f->name, sizeof f->name, "%s", name);
  f->gain = gain, f->bias = bias;
  for (int i = 0; i < 3; i++) {
    f->vars[i] = (cpl_variable){.name = names[i],
                                .description = "",
                                .ref = (uint32_t)i,
                                .causality = i == 0 ? CPL_CAUSALITY_INPUT : CPL_CAUSALITY_OUTPUT,
                                .variability = CPL_VARIABILITY_CONTINUOUS,
                                .unit = -1,
                                .display_unit = -1,
                                .declared_type = -1,
                                .derivative_of = -1,
                                .alias_of = -1,
                                .min = -INFINITY,
                                .max = INFINITY,
                                .nominal = 1};
  }
  f->rows[0] = (cpl_unknown){.var = 1, .count = gain != 0 ? 1 : 0};
  f->rows[1] = (cpl_unknown){.var = 2};
  f->desc = (cpl_description){
      .name = "fake",
      .kind = "test",
      .vars = f->vars,
      .n_vars = 3,
      .structure = {.outputs = f->rows, .n_outputs = 2, .deps = f->deps, .kinds = f->kinds}};
  f->ops = (cpl_component_ops){.size = sizeof(cpl_component_ops),
                               .kind = "fake",
                               .destroy = fake_destroy,
                               .setup = fake_setup,
                               .enter_init = fake_nothing,
                               .exit_init = fake_exit_init,
                               .terminate = fake_nothing,
                               .reset = fake_nothing,
                               .get_real = fake_get,
                               .set_real = fake_set};
  if (rolls_back)
    f->ops.save = fake_save, f->ops.restore = fake_restore, f->ops.forget = fake_forget;
  f->step_ops = (cpl_stepper_ops){.size = sizeof(cpl_stepper_ops),
                                  .step = fake_step,
                                  .max_step = predicts ? fake_max_step : NULL};
  f->base = (cpl_stepper){.base = {.ops = &f->ops,
                                   .desc = &f->desc,
                                   .ctx = ctx,
                                   .name = f->name,
                                   .can = {.save_restore = rolls_back,
                                           .variable_step = true,
                                           .zero_step = true,
                                           .stops_early = true,
                                           .predicts = predicts}},
                          .ops = &f->step_ops};
  return &f->base;
}
