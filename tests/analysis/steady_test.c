// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rest points against known ones, and the eigenvalues there.
#include "couplet/steady.h"

#include "base/base.h"

#include "couplet/spectrum.h"
#include "models.h"

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// A pendulum with friction and a torque: rest points asin(torque) and pi - asin(torque).
static int pendulum_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -sin(v->x[0]) - v->p[0] * v->x[1] + v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration pendulum_states[] = {{"phi", .start = 0.5}, {"w"}, END_OF_LIST};
static const cpl_declaration pendulum_inputs[] = {{"torque"}, END_OF_LIST};
static const cpl_declaration pendulum_parameters[] = {{"friction", .start = 0.2}, END_OF_LIST};
static const cpl_model_def pendulum = {.name = "pendulum",
                                       .states = pendulum_states,
                                       .inputs = pendulum_inputs,
                                       .parameters = pendulum_parameters,
                                       .derivatives = pendulum_derivatives};

// Tanks in a row: area h' = inflow - valve sqrt(h); the outflow of the first is the inflow of the
// second. The parameter is fixed, the second valve tunable.
static int tanks_derivatives(const cpl_values* v, double* dx) {
  if (v->x[0] < 0 || v->x[1] < 0) return CPL_MODEL_RETRY;
  double between = v->p[0] * sqrt(v->x[0]);
  dx[0] = v->u[0] - between;
  dx[1] = between - v->p[1] * sqrt(v->x[1]);
  return CPL_MODEL_OK;
}
static int tanks_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] + v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration tanks_states[] = {{"a", .start = 1}, {"b", .start = 1}, END_OF_LIST};
static const cpl_declaration tanks_inputs[] = {{"inflow", .start = 0.3}, END_OF_LIST};
static const cpl_declaration tanks_outputs_list[] = {{"total"}, END_OF_LIST};
static const cpl_declaration tanks_parameters[] = {{"valve", .start = 0.2, .min = 0, .max = 100},
                                                   {"drain", .start = 0.3, .tunable = true},
                                                   END_OF_LIST};
static const cpl_model_def tanks = {.name = "tanks",
                                    .states = tanks_states,
                                    .inputs = tanks_inputs,
                                    .outputs = tanks_outputs_list,
                                    .parameters = tanks_parameters,
                                    .derivatives = tanks_derivatives,
                                    .output_values = tanks_outputs};

// Two closed tanks that exchange: the sum of the levels is kept, and only their ratio has a rest.
static int closed_derivatives(const cpl_values* v, double* dx) {
  double flow = 3 * (v->x[0] - 2 * v->x[1]);
  dx[0] = -flow;
  dx[1] = flow;
  return CPL_MODEL_OK;
}
static const cpl_model_def closed = {
    .name = "closed", .states = tanks_states, .derivatives = closed_derivatives};

// A thermostat: heating is on below 19 and off above 21; with a strong heater there is no rest
// point, with a weak one it stays on.
static int heater_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -(v->x[0] - 10) + v->p[0] * v->w[0];
  return CPL_MODEL_OK;
}
static int heater_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 19;
  z[1] = v->x[0] - 21;
  return CPL_MODEL_OK;
}
static int heater_event(const cpl_values* v, cpl_event_actions* a) {
  if (v->x[0] <= 19) a->w[0] = 1;
  if (v->x[0] > 21) a->w[0] = 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration heater_states[] = {{"T", .start = 25, .nominal = 10}, END_OF_LIST};
static const cpl_declaration heater_parameters[] = {{"power", .start = 30}, END_OF_LIST};
static const cpl_declaration heater_discrete[] = {{"on"}, END_OF_LIST};
static const cpl_model_def heater = {.name = "heater",
                                     .states = heater_states,
                                     .parameters = heater_parameters,
                                     .discrete = heater_discrete,
                                     .n_indicators = 2,
                                     .derivatives = heater_derivatives,
                                     .indicators = heater_indicators,
                                     .event = heater_event};

// Newton's method diverges from x = 3: x' = -atan(x) + u
static int flat_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -atan(v->x[0] - 1) * (1 + 0.5 * sin(v->x[0] * 7) * exp(-v->x[0] * v->x[0]));
  return CPL_MODEL_OK;
}
static const cpl_declaration flat_states[] = {{"x", .start = 300}, END_OF_LIST};
static const cpl_model_def flat = {
    .name = "flat", .states = flat_states, .derivatives = flat_derivatives};

// x' = cos(t) - x: at rest at one time only.
static int driven_derivatives(const cpl_values* v, double* dx) {
  dx[0] = cos(v->t + 0.3) - v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_model_def driven = {
    .name = "driven", .states = flat_states, .derivatives = driven_derivatives};

// A body that radiates beside a warm one: T' = k (280 - T) - 1e-9 T^4. It begins warmer than its
// neighbour, where no positive k gives rest.
static int body_derivatives(const cpl_values* v, double* dx) {
  double T = v->x[0];
  dx[0] = v->p[0] * (280 - T) - 1e-9 * T * T * T * T;
  return CPL_MODEL_OK;
}
static const cpl_declaration body_states[] = {{"T", .start = 300, .nominal = 300}, END_OF_LIST};
static const cpl_declaration body_parameters[] = {{"k", .start = 0.5}, END_OF_LIST};
static const cpl_declaration body_tunable[] = {{"k", .start = 0.5, .tunable = true}, END_OF_LIST};
static const cpl_model_def body = {.name = "body",
                                   .states = body_states,
                                   .parameters = body_parameters,
                                   .derivatives = body_derivatives};
static const cpl_model_def tunable_body = {.name = "body",
                                           .states = body_states,
                                           .parameters = body_tunable,
                                           .derivatives = body_derivatives};

// A Cartesian pendulum with its length and its speed along the rod as constraints.
static int rod_derivatives(const cpl_values* v, double* dx) {
  double x = v->x[0], y = v->x[1], vx = v->x[2], vy = v->x[3];
  double force = (9.81 * y - vx * vx - vy * vy) / (x * x + y * y);
  dx[0] = vx;
  dx[1] = vy;
  dx[2] = force * x - 0.5 * vx;
  dx[3] = force * y - 9.81 - 0.5 * vy;
  return CPL_MODEL_OK;
}
static int rod_constraints(const cpl_values* v, double* c) {
  c[0] = v->x[0] * v->x[0] + v->x[1] * v->x[1] - 4;
  c[1] = v->x[0] * v->x[2] + v->x[1] * v->x[3];
  c[2] = 2 * c[0];  // redundant
  return CPL_MODEL_OK;
}
static const cpl_declaration rod_states[] = {
    {"x", .start = 1.2}, {"y", .start = -1.6}, {"vx"}, {"vy"}, END_OF_LIST};
static const cpl_model_def rod = {.name = "rod",
                                  .states = rod_states,
                                  .derivatives = rod_derivatives,
                                  .n_constraints = 3,
                                  .constraints = rod_constraints};

// The same rod on a pivot that moves with 0.1 m/s: what the constraints want is no rest.
static int moving_constraints(const cpl_values* v, double* c) {
  c[0] = v->x[0] * v->x[0] + v->x[1] * v->x[1] - 4;
  c[1] = (v->x[0] + 1) * (v->x[2] - 0.1) + v->x[1] * v->x[3];
  return CPL_MODEL_OK;
}
static const cpl_model_def moving_rod = {.name = "moving",
                                         .states = rod_states,
                                         .derivatives = rod_derivatives,
                                         .n_constraints = 2,
                                         .constraints = moving_constraints};

//------------------------------------ helpers ------------------------------------

typedef struct built {
  cpl_source* source;
  cpl_model* m;
  cpl_setup setup;
} built;

static built begin(const cpl_model_def* def, const cpl_start* starts, size_t n) {
  built b = {.setup = cpl_default_setup()};
  cpl_event_info info = {.again = true};
  CHECK_OK(ctx, cpl_c_define(ctx, def, &b.source));
  CHECK_OK(ctx, cpl_source_make_model(b.source, "m", &b.m));
  for (size_t i = 0; i < n; i++) {
    int32_t var = cpl_find_variable(b.m->base.desc, starts[i].name);
    double value = atof(starts[i].value);
    CHECK_OK(ctx, cpl_component_set_real(&b.m->base, &b.m->base.desc->vars[var].ref, 1, &value));
  }
  CHECK_OK(ctx, cpl_component_setup(&b.m->base, &b.setup));
  CHECK_OK(ctx, cpl_component_enter_init(&b.m->base));
  CHECK_OK(ctx, cpl_component_exit_init(&b.m->base));
  while (info.again) {
    info = (cpl_event_info){0};
    CHECK_OK(ctx, cpl_model_event_update(b.m, &info));
  }
  CHECK_OK(ctx, cpl_model_enter_continuous(b.m));
  return b;
}

static void end(built* b) {
  cpl_model_destroy(b->m);
  cpl_source_destroy(b->source);
}

static void set(built* b, const char* name, double value) {
  int32_t var = cpl_find_variable(b->m->base.desc, name);
  CHECK_OK(ctx, cpl_component_set_real(&b->m->base, &b->m->base.desc->vars[var].ref, 1, &value));
}

static double get(built* b, const char* name) {
  double value = NAN;
  int32_t var = cpl_find_variable(b->m->base.desc, name);
  CHECK_OK(ctx, cpl_component_get_real(&b->m->base, &b->m->base.desc->vars[var].ref, 1, &value));
  return value;
}

static cpl_spectrum* spectrum_of(built* b) {
  cpl_spectrum* s = NULL;
  CHECK_OK(ctx, cpl_spectrum_create(b->m, NULL, &s));
  return s;
}

//------------------------------------ tests ------------------------------------

static void pendulums_rest_below_and_above(void** state) {
  (void)state;
  static const struct {
    const char* phi;
    double rest;
    cpl_stability stability;
  } cases[] = {{"0.5", 0.3, CPL_STABLE}, {"2.8", M_PI - 0.3, CPL_UNSTABLE}};
  for (int i = 0; i < 2; i++) {
    cpl_start start = {"phi", cases[i].phi};
    built b = begin(&pendulum, &start, 1);
    cpl_steady* s = NULL;
    set(&b, "torque", sin(0.3));
    CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
    CHECK_NEAR(s->x[0], cases[i].rest, 1e-12);
    CHECK_NEAR(s->x[1], 0, 1e-15);
    CHECK_INT(s->n_undetermined, 0);
    CHECK(!s->continued && !s->time_dependent);
    CHECK_NEAR(get(&b, "phi"), cases[i].rest, 1e-12);  // the model is there
    cpl_spectrum* e = spectrum_of(&b);
    CHECK_INT(e->stability, cases[i].stability);
    CHECK(e->complete);
    // l^2 + 0.2 l +- cos(0.3) = 0
    if (i == 0) {
      CHECK_INT(e->n_modes, 1);
      CHECK_NEAR(e->modes[0].re, -0.1, 1e-9);
      CHECK_NEAR(e->modes[0].im, sqrt(cos(0.3) - 0.01), 1e-9);
      CHECK_INT(e->modes[0].n_states, 2);
      CHECK_NEAR(e->modes[0].states[0].share, 0.5, 1e-6);
    } else {
      CHECK_INT(e->n_modes, 2);
      CHECK_NEAR(e->modes[0].re, -0.1 + sqrt(0.01 + cos(0.3)), 1e-9);
      CHECK_NEAR(e->modes[1].re, -0.1 - sqrt(0.01 + cos(0.3)), 1e-9);
    }
    cpl_spectrum_destroy(e);
    cpl_steady_destroy(s);
    end(&b);
  }
}

static void inputs_and_parameters_are_trimmed(void** state) {
  (void)state;
  // at rest: inflow = valve sqrt(a) = drain sqrt(b)
  static const struct {
    const char *free, *free_2, *name, *name_2;
    double target, target_2, value, value_2;
  } cases[] = {
      {"inflow", NULL, "b", NULL, 2.25, 0, 0.3 * 1.5, 0},
      {"drain", NULL, "b", NULL, 2, 0, 0.3 / 1.4142135623730951, 0},
      {"valve", NULL, "a", NULL, 2, 0, 0.3 / 1.4142135623730951, 0},
      {"valve", "drain", "total", "b", 5, 1, 0.15, 0.3},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    built b = begin(&tanks, NULL, 0);
    const char* names[] = {cases[i].free, cases[i].free_2};
    const cpl_target targets[] = {{cases[i].name, cases[i].target},
                                  {cases[i].name_2, cases[i].target_2}};
    cpl_steady_def def = cpl_default_steady_def();
    cpl_steady* s = NULL;
    def.free = names;
    def.targets = targets;
    def.n_free = def.n_targets = cases[i].free_2 != NULL ? 2 : 1;
    def.setup = &b.setup;
    CHECK_OK(ctx, cpl_steady_create(b.m, &def, &s));
    CHECK_NEAR(s->free[0], cases[i].value, 1e-11);
    if (def.n_free == 2) CHECK_NEAR(s->free[1], cases[i].value_2, 1e-11);
    for (int k = 0; k < def.n_free; k++)
      CHECK_NEAR(get(&b, targets[k].name), targets[k].value, 1e-11);
    double dx[2];
    CHECK_OK(ctx, cpl_model_get_derivatives(b.m, dx));
    CHECK_NEAR(dx[0], 0, 1e-13);
    CHECK_NEAR(dx[1], 0, 1e-13);
    cpl_steady_destroy(s);
    end(&b);
  }
}

// Newton's method fails from the start values, and on the way from there k is infinite at T = 280.
static void trimming_leads_from_rest_to_rest(void** state) {
  (void)state;
  static const double targets[] = {230, 250, 275};
  for (size_t i = 0; i < 2 * CPLI_COUNT(targets); i++) {
    double T = targets[i / 2];
    built b = begin(i % 2 == 0 ? &body : &tunable_body, NULL, 0);
    const char* free = "k";
    const cpl_target target = {"T", T};
    cpl_steady_def def = cpl_default_steady_def();
    cpl_steady* s = NULL;
    def.free = &free;
    def.targets = &target;
    def.n_free = def.n_targets = 1;
    def.setup = &b.setup;
    CHECK_OK(ctx, cpl_steady_create(b.m, &def, &s));
    CHECK_NEAR(s->x[0], T, 1e-10);
    CHECK_NEAR(s->free[0], 1e-9 * T * T * T * T / (280 - T), 1e-11);
    cpl_steady_destroy(s);
    end(&b);
  }
}

static void what_cannot_be_trimmed_is_refused(void** state) {
  (void)state;
  static const struct {
    const char *free, *target, *message;
    double value;
    bool setup;
  } cases[] = {
      {"nothing", "a", "nothing", 1, true},
      {"inflow", "valve", "not a continuous Real", 1, true},
      {"a", "b", "it is a state", 1, true},
      {"total", "b", "total cannot be free: the model computes it", 1, true},
      {"valve", "a", "fixed", 1, false},
      {"drain", "a", "no rest point with a=7", 7, true},  // it has no influence on a
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    built b = begin(&tanks, NULL, 0);
    const cpl_target target = {cases[i].target, cases[i].value};
    cpl_steady_def def = cpl_default_steady_def();
    cpl_steady* s = NULL;
    def.free = &cases[i].free;
    def.targets = &target;
    def.n_free = def.n_targets = 1;
    if (cases[i].setup) def.setup = &b.setup;
    CHECK(cpl_steady_create(b.m, &def, &s) < 0);
    CHECK(s == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
    def.n_targets = 0;
    CHECK_INT(cpl_steady_create(b.m, &def, &s), CPL_ERR_INPUT);
    end(&b);
  }
}

static void conserved_quantities_stay(void** state) {
  (void)state;
  static const cpl_start starts[] = {{"a", "5"}, {"b", "4"}};
  built b = begin(&closed, starts, 2);
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
  CHECK_NEAR(s->x[0], 6, 1e-10);
  CHECK_NEAR(s->x[1], 3, 1e-10);
  CHECK_INT(s->n_undetermined, 2);
  cpl_spectrum* e = spectrum_of(&b);
  CHECK_INT(e->stability, CPL_MARGINAL);
  CHECK_NEAR(e->modes[0].re, 0, 0);
  CHECK_NEAR(e->modes[1].re, -9, 1e-8);
  cpl_spectrum_destroy(e);
  cpl_steady_destroy(s);
  end(&b);
}

static void an_integrator_is_named(void** state) {
  (void)state;
  built b = begin(&gain_model, &(cpl_start){"x", "7"}, 1);
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));  // input 0: every value is at rest
  CHECK_INT(s->n_undetermined, 1);
  CHECK_NEAR(s->x[0], 7, 0);
  cpl_steady_destroy(s);
  set(&b, "u", 1);
  CHECK_INT(cpl_steady_create(b.m, NULL, &s), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "x (derivative 1)");
  end(&b);
}

static void an_integrator_is_determined_by_its_target(void** state) {
  (void)state;
  built b = begin(&gain_model, &(cpl_start){"x", "7"}, 1);
  const char* name = "u";
  const cpl_target target = {"y", 2};
  cpl_steady_def def = cpl_default_steady_def();
  cpl_steady* s = NULL;
  set(&b, "u", 1);
  def.free = &name, def.targets = &target;
  def.n_free = def.n_targets = 1;
  CHECK_OK(ctx, cpl_steady_create(b.m, &def, &s));
  CHECK_NEAR(s->free[0], 0, 1e-14);
  CHECK_NEAR(s->x[0], 2, 1e-12);
  cpl_steady_destroy(s);
  end(&b);
}

static void discrete_parts_settle(void** state) {
  (void)state;
  built b = begin(&heater, &(cpl_start){"power", "8"}, 1);  // off at 25; at rest on, at 18
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
  CHECK_NEAR(s->x[0], 18, 1e-12);
  CHECK_NEAR(get(&b, "on"), 1, 0);
  CHECK(s->updates > 0);
  cpl_steady_destroy(s);
  end(&b);
  b = begin(&heater, NULL, 0);
  CHECK_INT(cpl_steady_create(b.m, NULL, &s), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "keep switching");
  CHECK_CONTAINS(cpl_context_error(ctx), "T (derivative");
  end(&b);
}

static void steps_in_time_help_newtons_method(void** state) {
  (void)state;
  built b = begin(&flat, NULL, 0);
  cpl_steady_def def = cpl_default_steady_def();
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, &def, &s));
  CHECK_NEAR(s->x[0], 1, 1e-12);
  cpl_steady_destroy(s);
  end(&b);
}

static void dependence_on_time_is_noticed(void** state) {
  (void)state;
  built b = begin(&driven, NULL, 0);
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
  CHECK_NEAR(s->x[0], cos(0.3), 1e-13);
  CHECK(s->time_dependent);
  cpl_steady_destroy(s);
  end(&b);
}

static void constraints_hold_at_rest(void** state) {
  (void)state;
  built b = begin(&rod, NULL, 0);
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
  CHECK_NEAR(s->x[0], 0, 1e-10);
  CHECK_NEAR(s->x[1], -2, 1e-10);
  CHECK_INT(s->n_undetermined, 0);
  cpl_spectrum* e = spectrum_of(&b);
  // the motions along the rod do not count: l^2 + 0.5 l + g / L = 0
  CHECK_INT(e->n_constrained, 2);
  CHECK_INT(e->stability, CPL_STABLE);
  CHECK_INT(e->n_modes, 1);
  CHECK_NEAR(e->modes[0].re, -0.25, 1e-7);
  CHECK_NEAR(e->modes[0].im, sqrt(9.81 / 2 - 0.0625), 1e-7);
  cpl_spectrum_destroy(e);
  cpl_steady_destroy(s);
  end(&b);
}

// Where the rod is horizontal, the equations contradict each other as little as they can nearby: it
// is no rest point, though the steps of least squares are zero there.
static void contradictions_are_no_rest(void** state) {
  (void)state;
  built b = begin(&rod, (const cpl_start[]){{"x", "2"}, {"y", "0"}}, 2);
  cpl_steady* s = NULL;
  CHECK_OK(ctx, cpl_steady_create(b.m, NULL, &s));
  CHECK_NEAR(s->x[0], 0, 1e-10);
  CHECK_NEAR(fabs(s->x[1]), 2, 1e-10);  // below or above
  cpl_steady_destroy(s);
  end(&b);
  b = begin(&moving_rod, NULL, 0);
  CHECK_INT(cpl_steady_create(b.m, NULL, &s), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "no rest point is found");
  end(&b);
}

static void balls_have_no_rest_point(void** state) {
  (void)state;
  built b = begin(&ball_model, NULL, 0);
  cpl_steady* s = NULL;
  CHECK_INT(cpl_steady_create(b.m, NULL, &s), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "v (derivative -9.81)");
  end(&b);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* outer = ctx;
    ctx = test_context_with_heap(&heap);
    built b = begin(&pendulum, NULL, 0);
    cpl_steady* s = NULL;
    cpl_spectrum* e = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpl_steady_create(b.m, NULL, &s);
    if (st >= 0) st = cpl_spectrum_create(b.m, NULL, &e);
    heap.fail_at = -1;
    cpl_spectrum_destroy(e);
    cpl_steady_destroy(s);
    end(&b);
    cpl_context_destroy(ctx);
    ctx = outer;
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pendulums_rest_below_and_above),
      cmocka_unit_test(inputs_and_parameters_are_trimmed),
      cmocka_unit_test(trimming_leads_from_rest_to_rest),
      cmocka_unit_test(what_cannot_be_trimmed_is_refused),
      cmocka_unit_test(conserved_quantities_stay),
      cmocka_unit_test(an_integrator_is_named),
      cmocka_unit_test(an_integrator_is_determined_by_its_target),
      cmocka_unit_test(discrete_parts_settle),
      cmocka_unit_test(steps_in_time_help_newtons_method),
      cmocka_unit_test(dependence_on_time_is_noticed),
      cmocka_unit_test(constraints_hold_at_rest),
      cmocka_unit_test(contradictions_are_no_rest),
      cmocka_unit_test(balls_have_no_rest_point),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
