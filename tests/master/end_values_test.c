// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inputs that are held over a step, at their values of its beginning or of its end, make events
// that the solution does not have. They must neither stop a run nor make it creep, and the event
// that the solution does have is found.
#include "testing.h"

//------------------------------------ models ------------------------------------

// A straight line.
static const cpl_declaration line_states[] = {{"y", .start = 0.3, .output = true}, {0}};
static const double slope = 0.7;

static int line_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = slope;
  return CPL_MODEL_OK;
}

static const cpl_model_def line = {
    .name = "line", .states = line_states, .derivatives = line_derivatives};

static const cpl_declaration inputs[] = {{"u"}, {0}};
static const double level = 1.234;

// Sticks until u reaches the level; then v grows, and turns positive at once.
static const cpl_declaration mass_states[] = {
    {"v", .output = true}, {"loose_at", .start = -1}, {0}};
static const cpl_declaration mass_discrete[] = {{"loose", .output = true}, {0}};

static int mass_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->w[0];
  dx[1] = 0;
  return CPL_MODEL_OK;
}

static int mass_indicators(const cpl_values* v, double* z) {
  z[0] = v->w[0] == 0 ? level - v->u[0] : v->x[0];
  return CPL_MODEL_OK;
}

static int mass_event(const cpl_values* v, cpl_event_actions* a) {
  if (v->w[0] == 0 && v->u[0] >= level) a->w[0] = 1, a->x[1] = v->t;
  return CPL_MODEL_OK;
}

static const cpl_model_def mass = {.name = "mass",
                                   .states = mass_states,
                                   .inputs = inputs,
                                   .discrete = mass_discrete,
                                   .n_indicators = 1,
                                   .derivatives = mass_derivatives,
                                   .indicators = mass_indicators,
                                   .event = mass_event};

// Notes when u - fall (t - start) falls below zero: u rises, more slowly, so that it does so once.
static const cpl_declaration float_states[] = {{"x"}, {"low_at", .start = -1}, {0}};
static const double fall = 1.1;
static double start;

static int float_derivatives(const cpl_values* v, double* dx) {
  (void)v;
  dx[0] = dx[1] = 0;
  return CPL_MODEL_OK;
}

static int float_indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - fall * (v->t - start);
  return CPL_MODEL_OK;
}

static int float_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) a->x[1] = v->t;
  return CPL_MODEL_OK;
}

static const cpl_model_def floater = {.name = "float",
                                      .states = float_states,
                                      .inputs = inputs,
                                      .n_indicators = 1,
                                      .derivatives = float_derivatives,
                                      .indicators = float_indicators,
                                      .event = float_event};

//------------------------------------ masters ------------------------------------

static cpl_stepper* stepper_of(cpl_context* ctx, const cpl_model_def* def, cpl_source** source) {
  cpl_model* model = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = CPL_SOLVER_DOPRI5;
  solver.rtol = solver.atol = 1e-9;
  solver.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, def, source));
  CHECK_OK(ctx, (*source)->ops->make_model(*source, def->name, &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &s));
  return s;
}

static uint32_t ref_of(const cpl_stepper* s, const char* name) {
  int32_t var = cpl_find_variable(s->base.desc, name);
  CHECK(var >= 0);
  return s->base.desc->vars[var].ref;
}

// The line drives the other one. Returns a value of that at the stop time.
static double last_value(cpl_context* ctx, const cpl_model_def* driven, const char* name,
                         cpl_master_algorithm algorithm, double step, double stop) {
  cpl_source *from = NULL, *to = NULL;
  cpl_stepper *a = stepper_of(ctx, &line, &from), *b = stepper_of(ctx, driven, &to), *m = NULL;
  cpl_master_part parts[] = {{.stepper = a}, {.stepper = b}};
  cpl_master_link links[] = {{0, ref_of(a, "y"), 1, ref_of(b, "u"), 0, 0}};
  uint32_t wanted = ref_of(b, name);
  cpl_master_def def = cpl_default_master_def();
  def.name = "held", def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 1;
  def.algorithm = algorithm;
  def.order = 0;
  def.step = step;
  CHECK_OK(ctx, cpl_master(ctx, &def, &m));
  cpl_setup setup = {.start_time = start, .has_stop_time = true, .stop_time = stop};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  cpl_step_result r = {0};
  int n = 0;
  while (r.time < stop || r.end != CPL_STEP_DONE) {
    CHECK_OK(ctx, m->ops->step(m, stop, stop, &r));
    CHECK(++n < 5000);  // it does not creep
  }
  double value;
  CHECK_OK(ctx, b->base.ops->get_real(&b->base, &wanted, 1, &value));
  m->base.ops->destroy(&m->base);
  from->ops->destroy(from);
  to->ops->destroy(to);
  return value;
}

static const cpl_master_algorithm algorithms[] = {CPL_MASTER_DETERMINATE, CPL_MASTER_JACOBI,
                                                  CPL_MASTER_GAUSS_SEIDEL, CPL_MASTER_ITERATIVE};
static const double starts[] = {0, 411.7};

static void a_mass_breaks_loose_once(void** state) {
  for (size_t i = 0; i < 4; i++) {
    for (size_t k = 0; k < 2; k++) {
      start = starts[k];
      double right = start + (level - line_states[0].start) / slope;
      double at = last_value(*state, &mass, "loose_at", algorithms[i], 0.097, start + 2);
      CHECK_NEAR(at, right, 1e-9);
      CHECK_NEAR(last_value(*state, &mass, "v", algorithms[i], 0.097, start + 2), start + 2 - right,
                 1e-6);
    }
  }
}

static void a_value_that_is_renewed_crosses_once(void** state) {
  for (size_t i = 0; i < 4; i++) {
    for (size_t k = 0; k < 2; k++) {
      start = starts[k];
      double right = start + line_states[0].start / (fall - slope);
      double at = last_value(*state, &floater, "low_at", algorithms[i], 0.097, start + 2);
      CHECK_NEAR(at, right, 1e-9);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_mass_breaks_loose_once),
                                     cmocka_unit_test(a_value_that_is_renewed_crosses_once)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
