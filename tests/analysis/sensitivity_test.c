// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivities against closed forms: across impacts, time events that depend on parameters,
// discrete values, and initialisations; what is not differentiable is refused.
#include "couplet/sensitivity.h"

#include "models.h"

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// x' = a until the time `switch`, x' = b from then on; w counts.
static int ramp_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->w[0] > 0 ? v->p[1] : v->p[0];
  return CPL_MODEL_OK;
}
static int ramp_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[2];
  return CPL_MODEL_OK;
}
static int ramp_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->time_event) a->w[0] = 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration ramp_states[] = {{"x"}, END_OF_LIST};
static const cpl_declaration ramp_discrete[] = {{"late"}, END_OF_LIST};
static const cpl_declaration ramp_parameters[] = {
    {"a", .start = 2}, {"b", .start = -3}, {"switch", .start = 0.5}, END_OF_LIST};
static const cpl_model_def ramp = {.name = "ramp",
                                   .states = ramp_states,
                                   .discrete = ramp_discrete,
                                   .parameters = ramp_parameters,
                                   .derivatives = ramp_derivatives,
                                   .initialize = ramp_initialize,
                                   .event = ramp_event,
                                   .stop_time = 2};

// x' = -k (x - hold), where hold is gain times x, sampled every `period`.
static int sampled_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->p[0] * (v->x[0] - v->w[0]);
  return CPL_MODEL_OK;
}
static int sampled_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->p[1] * v->x[0];
  a->next_time = v->p[2];
  return CPL_MODEL_OK;
}
static int sampled_event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->w[0] = v->p[1] * v->x[0];
  a->w[1] = v->w[1] + 1;
  a->next_time = (a->w[1] + 1) * v->p[2];
  return CPL_MODEL_OK;
}
static const cpl_declaration sampled_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration sampled_discrete[] = {{"hold"}, {"samples"}, END_OF_LIST};
static const cpl_declaration sampled_parameters[] = {
    {"k", .start = 2}, {"gain", .start = 0.5}, {"period", .start = 0.3}, END_OF_LIST};
static const cpl_model_def sampled = {.name = "sampled",
                                      .states = sampled_states,
                                      .discrete = sampled_discrete,
                                      .parameters = sampled_parameters,
                                      .derivatives = sampled_derivatives,
                                      .initialize = sampled_initialize,
                                      .event = sampled_event,
                                      .stop_time = 1};

static double sampled_at(double k, double gain, double period, double x, double t) {
  for (; t > period; t -= period) x = gain * x + (x - gain * x) * exp(-k * period);
  return gain * x + (x - gain * x) * exp(-k * t);
}

// x(0) = k^2, x' = -k x + u
static int begun_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->p[0] * v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}
static int begun_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->x[0] = v->p[0] * v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration begun_inputs[] = {{"u", .start = 1}, END_OF_LIST};
static const cpl_declaration begun_parameters[] = {{"k", .start = 2}, END_OF_LIST};
static const cpl_model_def begun = {.name = "begun",
                                    .states = ramp_states,
                                    .inputs = begun_inputs,
                                    .parameters = begun_parameters,
                                    .derivatives = begun_derivatives,
                                    .initialize = begun_initialize,
                                    .stop_time = 1};

// x = 1 - (t - 1)^2 touches `limit` at t = 1; where it crosses it, x is reset.
static int parabola_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 2 * (1 - v->t);
  return CPL_MODEL_OK;
}
static int parabola_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - v->p[0];
  return CPL_MODEL_OK;
}
static int parabola_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->crossed[0] > 0) a->x[0] = -5;
  return CPL_MODEL_OK;
}
static const cpl_declaration parabola_parameters[] = {{"limit", .start = 1 - 1e-8}, END_OF_LIST};
static const cpl_model_def parabola = {.name = "parabola",
                                       .states = ramp_states,
                                       .parameters = parabola_parameters,
                                       .n_indicators = 1,
                                       .derivatives = parabola_derivatives,
                                       .indicators = parabola_indicators,
                                       .event = parabola_event,
                                       .stop_time = 2};

// x' = k x
static int growth_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration growth_states[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration growth_parameters[] = {{"k", .start = 1}, END_OF_LIST};
static const cpl_model_def growth = {.name = "growth",
                                     .states = growth_states,
                                     .parameters = growth_parameters,
                                     .derivatives = growth_derivatives,
                                     .stop_time = 20};

// A mass on a circle of radius L, with the angular velocity w: x = L cos(w t).
static int circle_derivatives(const cpl_values* v, double* dx) {
  const double *x = v->x, force = (x[2] * x[2] + x[3] * x[3]) / (x[0] * x[0] + x[1] * x[1]);
  dx[0] = x[2], dx[1] = x[3];
  dx[2] = -force * x[0], dx[3] = -force * x[1];
  return CPL_MODEL_OK;
}
static int circle_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->x[0] = v->p[0], a->x[1] = 0;
  a->x[2] = 0, a->x[3] = v->p[0] * v->p[1];
  return CPL_MODEL_OK;
}
static int circle_constraints(const cpl_values* v, double* c) {
  const double* x = v->x;
  c[0] = x[0] * x[0] + x[1] * x[1] - v->p[0] * v->p[0];
  c[1] = x[0] * x[2] + x[1] * x[3];
  return CPL_MODEL_OK;
}
static const cpl_declaration circle_states[] = {{"x"}, {"y"}, {"vx"}, {"vy"}, END_OF_LIST};
static const cpl_declaration circle_parameters[] = {
    {"L", .start = 1.3}, {"w", .start = 2.1}, END_OF_LIST};
static const cpl_model_def circle = {.name = "circle",
                                     .states = circle_states,
                                     .parameters = circle_parameters,
                                     .derivatives = circle_derivatives,
                                     .initialize = circle_initialize,
                                     .n_constraints = 2,
                                     .constraints = circle_constraints,
                                     .stop_time = 5};

//------------------------------------ runs ------------------------------------

typedef struct request {
  const cpl_model_def* of;
  const char *y[4], *k[4];
  cpl_solver_kind solver;
  double rtol, stop, step;
  cpl_start start;
  const double* sizes;
} request;

static size_t count(const char* const* names) {
  size_t n = 0;
  while (n < 4 && names[n] != NULL) n++;
  return n;
}

// The pairs at the end, y by y, k running fastest.
static cpl_status run(const request* q, double* out) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* stepper = NULL;
  cpl_sensitivity_def def = cpl_default_sensitivity_def();
  def.of = q->y, def.n_of = count(q->y);
  def.to = q->k, def.n_to = count(q->k);
  def.sizes = q->sizes;
  recording* r = calloc(1, sizeof *r);
  assert_non_null(r);
  char names[16][100];
  const char* record[16];
  size_t n = def.n_of * def.n_to;
  for (size_t i = 0; i < n; i++) {
    snprintf(names[i], sizeof names[i], "d%s/d%s", q->y[i / def.n_to], q->k[i % def.n_to]);
    record[i] = names[i];
  }
  cpl_status st = cpl_c_define(ctx, q->of, &source);
  if (st >= 0) st = cpl_sensitivity_model(source, NULL, &def, &m);
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = q->solver;
  solver.rtol = q->rtol > 0 ? q->rtol : 1e-11;
  solver.step = q->step;
  if (st >= 0) st = cpl_integrate(m, &solver, &stepper);
  r->run = cpl_default_run_def();
  r->run.stop_time = q->stop > 0 ? q->stop : q->of->stop_time;
  r->run.record = record, r->run.n_record = n;
  r->run.starts = &q->start, r->run.n_starts = q->start.name != NULL;
  r->run.on_columns = keep_columns, r->run.on_point = keep_point, r->run.user = r;
  if (st >= 0) st = cpl_run(stepper, &r->run, &r->stats);
  for (size_t i = 0; i < n && st >= 0; i++) out[i] = r->value[r->n - 1][i];
  cpl_stepper_destroy(stepper);
  cpl_source_destroy(source);
  free(r);
  return st;
}

static void check_all(const double* values, const double* expected, size_t n, double tolerance) {
  for (size_t i = 0; i < n; i++)
    CHECK_NEAR(values[i], expected[i], tolerance * fmax(1, fabs(expected[i])));
}

//------------------------------------ tests ------------------------------------

// The height and the velocity at t, and their derivatives by e, g, h and v, of flights one after
// the other: each impact is at t_i, with dt_i = -dh / v.
static void ball_at(double t, double* dh, double* dv) {
  const double e = 0.8, g = 9.81;
  double begin = 0, h = 1, v = 0;
  double db[4] = {0}, dx[4] = {0, 0, 1, 0}, dw[4] = {0, 0, 0, 1};
  for (;;) {
    double fall = (v + sqrt(v * v + 2 * g * h)) / g, hit = v - g * fall;
    bool ends = begin + fall > t;
    double d = ends ? t - begin : fall;
    for (int i = 0; i < 4; i++) {
      double dg = i == 1, dd = -db[i];
      double flown = dx[i] + dw[i] * d - dg * d * d / 2 + (v - g * d) * dd;  // at constant time
      double speed = dw[i] - dg * d - g * dd;
      if (ends) {
        dh[i] = flown, dv[i] = speed;
        continue;
      }
      double later = -flown / hit;
      dw[i] = -e * (speed - g * later) - (i == 0) * hit;
      dx[i] = 0;
      db[i] = later;
    }
    if (ends) return;
    begin += fall, h = 0, v = -e * hit;
  }
}

static void a_ball_bounces_ten_times(void** state) {
  (void)state;
  static const cpl_solver_kind solvers[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                            CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_IDA};
  double expected[8], values[8];
  ball_at(3.6, expected, expected + 4);
  for (size_t i = 0; i < 6; i++) {
    request q = {.of = &ball_model,
                 .y = {"h", "v"},
                 .k = {"e", "g", "h", "v"},
                 .solver = solvers[i],
                 .rtol = 1e-12,
                 .stop = 3.6};
    CHECK_OK(ctx, run(&q, values));
    check_all(values, expected, 8, 1e-8);
  }
}

static void times_of_events_depend_on_parameters(void** state) {
  (void)state;
  double values[3], t = 2;
  request q = {.of = &ramp, .y = {"x"}, .k = {"a", "b", "switch"}};
  CHECK_OK(ctx, run(&q, values));
  check_all(values, (const double[]){0.5, t - 0.5, 2 - -3}, 3, 1e-9);
}

static void sampled_values_have_sensitivities(void** state) {
  (void)state;
  double values[4];
  request q = {.of = &sampled, .y = {"x"}, .k = {"k", "gain", "period", "x"}};
  CHECK_OK(ctx, run(&q, values));
  double p[4] = {2, 0.5, 0.3, 1};
  for (int i = 0; i < 4; i++) {
    // differences of the closed form, by Richardson extrapolation
    double d[2];
    for (int l = 0; l < 2; l++) {
      double h = (l + 1) * 1e-3, a[4], b[4];
      memcpy(a, p, sizeof a);
      memcpy(b, p, sizeof b);
      a[i] += h, b[i] -= h;
      d[l] =
          (sampled_at(a[0], a[1], a[2], a[3], 1) - sampled_at(b[0], b[1], b[2], b[3], 1)) / (2 * h);
    }
    CHECK_NEAR(values[i], (4 * d[0] - d[1]) / 3, 1e-9);
  }
}

// x = (k^2 - u / k) exp(-k t) + u / k
static void initial_equations_and_inputs(void** state) {
  (void)state;
  double values[2], k = 3, u = 1, t = 1, decay = exp(-k * t);
  request q = {.of = &begun, .y = {"x"}, .k = {"k", "u"}, .start = {"k", "3"}};
  CHECK_OK(ctx, run(&q, values));
  double by_k = (2 * k + u / k / k) * decay - t * (k * k - u / k) * decay - u / k / k;
  check_all(values, (const double[]){by_k, (1 - decay) / k}, 2, 1e-9);
  // its state is no start value
  request wrong = {.of = &begun, .y = {"x"}, .k = {"x"}};
  CHECK_INT(run(&wrong, values), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "after the initialisation");
}

// A value near zero says nothing about how large changes are that matter: x = x0 exp(-k t).
static void tiny_values_have_sensitivities(void** state) {
  (void)state;
  static const char* const tiny[] = {"1e-9", "1e-16", "0"};
  const double size = 1, t = 1, gain = 0.5;
  for (int i = 0; i < 3; i++) {
    double value;
    request q = {.of = &sampled,
                 .y = {"x"},
                 .k = {"k"},
                 .rtol = 1e-9,
                 .start = {"k", tiny[i]},
                 .sizes = &size};
    CHECK_OK(ctx, run(&q, &value));
    // to first order in k: x' = -k (x - gain x0) with samples every 0.3, until t = 1
    double x = 1, slope = 0;
    for (double left = t; left > 1e-12; left -= 0.3) {
      const double step = fmin(left, 0.3);
      slope += -(x - gain * x) * step;
    }
    CHECK_NEAR(value, slope, 1e-6);
  }
}

// The states of instances with another k are far away at the end: there, both change on their own.
static void large_sensitivities_are_accurate(void** state) {
  (void)state;
  double value;
  request q = {.of = &growth, .y = {"x"}, .k = {"k"}, .solver = CPL_SOLVER_RADAU, .rtol = 1e-11};
  CHECK_OK(ctx, run(&q, &value));
  CHECK_NEAR(value / (20 * exp(20)), 1, 1e-8);
}

// Residuals of the tangent space are differences, whose rounding errors are larger than those of
// the constraints.
static void constraints_allow_tight_tolerances(void** state) {
  (void)state;
  const double length = 1.3, w = 2.1, t = 5;
  double values[4];
  for (int i = 0; i < 3; i++) {
    request q = {.of = &circle,
                 .y = {"x", "vy"},
                 .k = {"L", "w"},
                 .solver = CPL_SOLVER_RADAU,
                 .rtol = (const double[]){1e-8, 1e-9, 1e-10}[i]};
    CHECK_OK(ctx, run(&q, values));
    check_all(values,
              (const double[]){cos(w * t), -length * t * sin(w * t), w * cos(w * t),
                               length * (cos(w * t) - w * t * sin(w * t))},
              4, 1e-6);
  }
}

static void what_is_not_differentiable_is_refused(void** state) {
  (void)state;
  double values[2];
  request q = {.of = &parabola, .y = {"x"}, .k = {"limit"}};
  CHECK_INT(run(&q, values), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "limit");
  q.start = (cpl_start){"limit", "0.75"};  // crossed at t = 0.5 with slope 1
  CHECK_OK(ctx, run(&q, values));
  check_all(values, (const double[]){-1}, 1, 1e-9);
}

static void wrong_names_are_refused(void** state) {
  (void)state;
  double values[2];
  static const struct {
    request q;
    const char* text;
  } cases[] = {{{.of = &ball_model, .y = {"hh"}, .k = {"e"}}, "(is it h?)"},
               {{.of = &ball_model, .y = {"h"}, .k = {"scales"}}, "(is it scale?)"},
               {{.of = &ball_model, .y = {"h"}, .k = {"der(h)"}}, "der(h)"},
               {{.of = &ball_model, .y = {"h"}, .k = {"e", "e"}}, "given twice"},
               {{.of = &sampled, .y = {"x"}, .k = {"hold"}}, "hold"},
               {{.of = &ball_model, .k = {"e"}}, "of which variables"},
               {{.of = &ball_model, .y = {"h"}}, "to which parameters"}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CHECK_INT(run(&cases[i].q, values), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].text);
  }
}

static long evaluations;
static int counted_derivatives(const cpl_values* v, double* dx) {
  evaluations++;
  return ball_derivatives(v, dx);
}

// Two evaluations per parameter for each of the model, and a single Jacobian for all.
static void cost_grows_with_the_number_of_parameters(void** state) {
  (void)state;
  cpl_model_def counted = ball_model;
  counted.derivatives = counted_derivatives;
  double values[4];
  long last = 0;
  static const char* const names[] = {"e", "g", "h", "v"};
  for (int n = 1; n <= 4; n++) {
    request q = {.of = &counted, .y = {"h"}, .rtol = 1e-8};
    for (int i = 0; i < n; i++) q.k[i] = names[i];
    evaluations = 0;
    CHECK_OK(ctx, run(&q, values));
    if (n > 1) CHECK(evaluations < last * (2 * n + 1) / (2 * n - 1) * 1.5);
    last = evaluations;
  }
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  cpl_context* kept = ctx;
  for (long n = 0, fine = 0; !fine; n++) {
    test_heap heap = {.fail_at = n};
    double values[8];
    ctx = test_context_with_heap(&heap);
    if (ctx == NULL) continue;
    request q = {.of = &ball_model, .y = {"h"}, .k = {"e"}, .stop = 1, .rtol = 1e-6};
    cpl_status st = run(&q, values);
    CHECK(st == CPL_ERR_NOMEM || st == CPL_OK);
    fine = st == CPL_OK;
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
  }
  ctx = kept;
}

int main(void) {
  ctx = test_context();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_ball_bounces_ten_times),
      cmocka_unit_test(times_of_events_depend_on_parameters),
      cmocka_unit_test(sampled_values_have_sensitivities),
      cmocka_unit_test(initial_equations_and_inputs),
      cmocka_unit_test(tiny_values_have_sensitivities),
      cmocka_unit_test(large_sensitivities_are_accurate),
      cmocka_unit_test(constraints_allow_tight_tolerances),
      cmocka_unit_test(what_is_not_differentiable_is_refused),
      cmocka_unit_test(wrong_names_are_refused),
      cmocka_unit_test(cost_grows_with_the_number_of_parameters),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
