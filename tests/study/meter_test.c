// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures of runs against closed forms: a damped oscillation and a bouncing ball, with all solvers
// with error control, with few output points, with and without dense output.
#include <math.h>

#include "couplet/couplet.h"
#include "study/measure.h"
#include "testing.h"

//------------------------------------ models ------------------------------------

// x'' + 2 d x' + w^2 x = 0 from x = 1 at rest; `side` is the sign of x
static int swing(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -2 * v->p[1] * v->x[1] - v->p[0] * v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}

static int swing_sign(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int swing_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->crossed[0] != 0) a->w[0] = a->crossed[0] > 0 ? 1 : -1;
  return CPL_MODEL_OK;
}

static const cpl_declaration swing_states[] = {
    {"x", .start = 1, .unit = "m", .output = true}, {"v", .unit = "m/s", .output = true}, {0}};
static const cpl_declaration swing_parameters[] = {{"w", .start = 3}, {"d", .start = 0.3}, {0}};
static const cpl_declaration swing_discrete[] = {
    {"side", .type = CPL_INTEGER, .start = 1, .output = true}, {0}};
static const cpl_model_def smooth = {
    .name = "swing", .states = swing_states, .parameters = swing_parameters, .derivatives = swing};
static const cpl_model_def switching = {.name = "swing",
                                        .states = swing_states,
                                        .parameters = swing_parameters,
                                        .discrete = swing_discrete,
                                        .n_indicators = 1,
                                        .derivatives = swing,
                                        .indicators = swing_sign,
                                        .event = swing_event};

static const double w = 3, d = 0.3, T = 7.3;

static double wd(void) { return sqrt(w * w - d * d); }
static double x_at(double t) { return exp(-d * t) * (cos(wd() * t) + d / wd() * sin(wd() * t)); }
static double v_at(double t) { return -exp(-d * t) * w * w / wd() * sin(wd() * t); }
// an antiderivative of x
static double area(double t) { return -(v_at(t) + 2 * d * x_at(t)) / (w * w); }

// a ball that falls from 1 m and loses a fifth of its speed at each impact
static int fall(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -9.81;
  return CPL_MODEL_OK;
}

static int ground(const cpl_values* v, double* z) {
  z[0] = v->x[0];
  return CPL_MODEL_OK;
}

static int impact(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) {
    a->x[0] = 0;
    a->x[1] = -0.8 * v->x[1];
  }
  return CPL_MODEL_OK;
}

static const cpl_declaration ball_states[] = {
    {"h", .start = 1, .output = true}, {"v", .output = true}, {0}};
static const cpl_model_def ball = {.name = "ball",
                                   .states = ball_states,
                                   .n_indicators = 1,
                                   .derivatives = fall,
                                   .indicators = ground,
                                   .event = impact};

//------------------------------------ runs ------------------------------------

typedef struct setting {
  const cpl_model_def* model;
  cpl_solver_kind solver;
  double rtol, stop, interval;
  double step;  // a stepper without dense output, with this communication step; 0: with
} setting;

static cpl_status on_row(void* user, double t, const cpl_value* values) {
  return cpli_meter_row(user, t, values);
}

enum { MOST = 16 };

static void measure(cpl_context* ctx, setting s, const char* const* texts, size_t n, double* out) {
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_simulation* sim = NULL;
  cpli_measures* measures = NULL;
  cpli_meter* meter = NULL;
  cpl_measure_def defs[MOST];
  static const char* const names[MOST] = {"a", "b", "c", "d", "e", "f", "g", "h",
                                          "i", "j", "k", "l", "m", "n", "o", "p"};
  for (size_t i = 0; i < n; i++) defs[i] = (cpl_measure_def){.name = names[i], .text = texts[i]};
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = s.solver;
  solver.rtol = solver.atol = s.rtol;
  solver.restart_each_step = s.step > 0;
  CHECK_OK(ctx, cpl_c_define(ctx, s.model, &source));
  CHECK_OK(ctx, cpli_measures_parse(ctx, defs, n, source->desc, 0, s.stop, &measures));
  CHECK_OK(ctx, cpli_meter_create(measures, &meter));
  cpli_meter_set_tolerance(meter, s.rtol);
  CHECK_OK(ctx, cpl_source_make_model(source, s.model->name, &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
  if (s.step > 0) stepper->base.can.dense_output = false;
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = s.stop;
  run.interval = s.interval;
  run.step = s.step;
  run.record = measures->vars, run.n_record = measures->n_vars;
  run.on_point = on_row, run.user = meter;
  CHECK_OK(ctx, cpl_simulation_create(stepper, &run, &sim));
  CHECK_OK(ctx, cpli_meter_attach(meter, sim));
  for (int again = 0; again < 2; again++) {  // the second time gives the same bits
    double values[MOST];
    cpli_meter_start(meter);
    CHECK_OK(ctx, cpl_simulation_start(sim));
    CHECK_OK(ctx, cpl_simulation_advance(sim, s.stop));
    CHECK_OK(ctx, cpl_simulation_finish(sim, NULL));
    CHECK_OK(ctx, cpli_meter_finish(meter, values));
    for (size_t i = 0; i < n && again > 0; i++)
      CHECK(values[i] == out[i] || (isnan(values[i]) && isnan(out[i])));
    memcpy(out, values, n * sizeof *out);
    CHECK_OK(ctx, stepper->base.ops->reset(&stepper->base));
    cpli_run_rewind(sim);
  }
  cpl_simulation_destroy(sim);
  cpl_stepper_destroy(stepper);
  cpli_meter_destroy(meter);
  cpli_measures_destroy(measures);
  cpl_source_destroy(source);
}

static void check_near(const char* what, double value, double wanted, double tolerance) {
  if (!(fabs(value - wanted) <= tolerance))
    printf("%s: %.15g, wanted %.15g +- %g\n", what, value, wanted, tolerance);
  CHECK(fabs(value - wanted) <= tolerance);
}

//------------------------------------ oscillation ------------------------------------

// The first time after `from` at which f has the value y.
static double root(double (*f)(double), double y, double from) {
  double a = from, step = 1e-3;
  while ((f(a) - y) * (f(a + step) - y) > 0) a += step;
  double b = a + step;
  for (int i = 0; i < 80; i++) {
    const double middle = (a + b) / 2;
    if ((f(a) - y) * (f(middle) - y) > 0) a = middle;
    else b = middle;
  }
  return b;
}

static double absolute_area(void) {
  double sum = 0, from = 0;
  for (;;) {
    const double zero = from < T ? root(x_at, 0, from + 1e-6) : T;
    const double to = fmin(zero, T);
    sum += fabs(area(to) - area(from));
    if (zero >= T) return sum;
    from = zero;
  }
}

static void check_oscillation(cpl_context* ctx, setting s, double tolerance) {
  static const char* const texts[] = {"final(x)",
                                      "min(x)",
                                      "integral(x)",
                                      "rms(v)",
                                      "integral(abs(x))",
                                      "time_when(x < -0.5)",
                                      "at(v, 1.5)",
                                      "count(x < 0)",
                                      "duration(v > 1)",
                                      "overshoot(x, 0)",
                                      "settling_time(x, 0.2, 0)",
                                      "max(v)/2 + mean(x)",
                                      "time_of_min(x)",
                                      "max(x^2 - x)",
                                      "time_when(x > 2)",
                                      "max(min(x), initial(v))"};
  double got[CPLI_COUNT(texts)];
  measure(ctx, s, texts, CPLI_COUNT(texts), got);
  const double half = M_PI / wd(), lowest = -exp(-d * half);
  check_near(texts[0], got[0], x_at(T), tolerance);
  check_near(texts[1], got[1], lowest, tolerance);
  check_near(texts[2], got[2], area(T) - area(0), tolerance);
  const double energy = (w * w - v_at(T) * v_at(T) - w * w * x_at(T) * x_at(T)) / 2;
  check_near(texts[3], got[3], sqrt(energy / (2 * d) / T), tolerance);
  check_near(texts[4], got[4], absolute_area(), tolerance);
  check_near(texts[5], got[5], root(x_at, -0.5, 0), tolerance);
  check_near(texts[6], got[6], v_at(1.5), 3 * tolerance);
  // x is negative from the first, third, ... zero on
  int count = 0;
  for (double zero = root(x_at, 0, 0); zero < T; zero = root(x_at, 0, zero + 1e-6)) count++;
  check_near(texts[7], got[7], (count + 1) / 2, 0);
  double duration = 0;
  for (double from = half;;) {  // v has a maximum in each odd half period
    const double peak = from + atan(wd() / d) / wd();
    if (v_at(peak) <= 1) break;
    duration += root(v_at, 1, peak) - root(v_at, 1, from);
    from += 2 * half;
  }
  check_near(texts[8], got[8], duration, 3 * tolerance);
  check_near(texts[9], got[9], -lowest, tolerance);
  double settled = 0;  // the last time that |x| falls below 0.2
  for (int i = 1; i * half < T; i++) {
    const double y = i % 2 == 0 ? 0.2 : -0.2;
    if (fabs(x_at(i * half)) > 0.2) settled = root(x_at, y, i * half);
  }
  check_near(texts[10], got[10], settled, 3 * tolerance);
  const double fastest = v_at(half + atan(wd() / d) / wd());
  check_near(texts[11], got[11], fastest / 2 + (area(T) - area(0)) / T, tolerance);
  check_near(texts[12], got[12], half, 1e3 * sqrt(tolerance));
  check_near(texts[13], got[13], lowest * lowest - lowest, 3 * tolerance);
  CHECK(isnan(got[14]));
  check_near(texts[15], got[15], 0, tolerance);
}

// The final value is the goal.
static void goals_that_are_not_given(void** state) {
  static const char* const texts[] = {"overshoot(x)", "settling_time(x, 0.1)", "overshoot(-x)"};
  const setting s = {&smooth, CPL_SOLVER_CVODE, 1e-9, T, .interval = 10};
  double got[CPLI_COUNT(texts)];
  measure(*state, s, texts, CPLI_COUNT(texts), got);
  const double goal = x_at(T), lowest = -exp(-d * M_PI / wd()), band = 0.1 * (1 - goal);
  double last = 0;  // outside of the band
  for (double t = 0; t < T; t += 1e-4)
    if (fabs(x_at(t) - goal) > band) last = t;
  const double edge = x_at(last) > goal ? goal + band : goal - band;
  CHECK(last > 0 && last < T - 0.1);
  check_near(texts[0], got[0], (goal - lowest) / (1 - goal), 1e-7);
  check_near(texts[1], got[1], root(x_at, edge, last - 1e-4), 1e-6);
  check_near(texts[2], got[2], got[0], 1e-12);
}

static void an_oscillation(void** state) {
  static const cpl_solver_kind solvers[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                            CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                            CPL_SOLVER_IDA};
  for (size_t i = 0; i < CPLI_COUNT(solvers); i++) {
    for (double rtol = 1e-5; rtol > 1e-11; rtol *= 1e-3) {
      const setting s = {&smooth, solvers[i], rtol, T, T, 0};
      check_oscillation(*state, s, 2000 * rtol);
    }
  }
}

// Events divide segments, and output points are between nodes.
static void an_oscillation_with_events(void** state) {
  const setting s = {&switching, CPL_SOLVER_CVODE, 1e-9, T, 0.01, 0};
  check_oscillation(*state, s, 2e-6);
  static const char* const texts[] = {"events()",         "integral(side*x)", "count(side > 0)",
                                      "integral(abs(x))", "final(side)",      "mean(side)"};
  double got[CPLI_COUNT(texts)];
  measure(*state, s, texts, CPLI_COUNT(texts), got);
  int zeros = 0;
  double side = 0, from = 0, sign = 1;
  for (double zero = root(x_at, 0, 0);; zero = root(x_at, 0, zero + 1e-6)) {
    side += sign * (fmin(zero, T) - from);
    if (zero >= T) break;
    from = zero;
    sign = -sign;
    zeros++;
  }
  check_near(texts[0], got[0], zeros, 0);
  check_near(texts[1], got[1], absolute_area(), 2e-6);
  check_near(texts[2], got[2], zeros / 2, 0);
  check_near(texts[4], got[4], zeros % 2 == 0 ? 1 : -1, 0);
  check_near(texts[5], got[5], side / T, 2e-6);
}

// Without dense output the error follows the communication step: its third power, but for extrema,
// which are those of the communication points.
static void communication_points(void** state) {
  static const char* const texts[] = {"integral(x)", "min(x)", "rms(v)", "time_when(x < -0.5)"};
  const double energy = (w * w - v_at(T) * v_at(T) - w * w * x_at(T) * x_at(T)) / 2;
  const double wanted[] = {area(T) - area(0), -exp(-d * M_PI / wd()), sqrt(energy / (2 * d) / T),
                           root(x_at, -0.5, 0)};
  double errors[2][CPLI_COUNT(texts)];
  for (int fine = 0; fine < 2; fine++) {
    double got[CPLI_COUNT(texts)];
    const setting s = {&smooth, CPL_SOLVER_CVODE, 1e-10, T, 0, fine == 0 ? 0.02 : 0.005};
    measure(*state, s, texts, CPLI_COUNT(texts), got);
    for (size_t i = 0; i < CPLI_COUNT(texts); i++) errors[fine][i] = fabs(got[i] - wanted[i]);
  }
  CHECK(errors[0][0] < 1e-7 && errors[1][0] < 1e-7 / 64);
  CHECK(errors[0][1] < 1e-3 && errors[1][1] < 1e-3 / 16);
  CHECK(errors[0][2] < 2e-6 && errors[1][2] < 2e-6 / 64);
  CHECK(errors[0][3] < 5e-6 && errors[1][3] < 5e-6 / 16);
}

//------------------------------------ ball ------------------------------------

static void a_ball(void** state) {
  static const char* const texts[] = {"events()",          "max(v)", "min(v)",
                                      "integral(h)",       "min(h)", "count(v > 3)",
                                      "time_when(h < 0.5)"};
  const double g = 9.81, stop = 2.5, first = sqrt(2 / g), up = 0.8 * g * first;
  double got[CPLI_COUNT(texts)], t = first, speed = up, sum = 2.0 / 3 * first;
  int events = 0, fast = 0;
  while (t < stop) {  // flights: from t with this speed
    const double flight = 2 * speed / g, until = fmin(flight, stop - t);
    events++;
    fast += speed > 3;
    sum += speed * until * until / 2 - g * until * until * until / 6;
    t += flight;
    speed *= 0.8;
  }
  const setting s = {&ball, CPL_SOLVER_CVODE, 1e-9, stop, stop, 0};
  measure(*state, s, texts, CPLI_COUNT(texts), got);
  check_near(texts[0], got[0], 2 * events, 0);  // the indicator changes once more behind each
  check_near(texts[1], got[1], up, 1e-6);
  check_near(texts[2], got[2], -g * first, 1e-6);
  check_near(texts[3], got[3], sum, 1e-6);
  check_near(texts[4], got[4], 0, 1e-7);
  check_near(texts[5], got[5], fast, 0);
  check_near(texts[6], got[6], sqrt(1 / g), 1e-6);
}

//------------------------------------ texts ------------------------------------

static void check_refused(cpl_context* ctx, const char* text, const char* part) {
  cpl_source* source = NULL;
  cpli_measures* measures = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &smooth, &source));
  const cpl_measure_def def = {.name = "m", .text = text};
  CHECK(cpli_measures_parse(ctx, &def, 1, source->desc, 0, 1, &measures) == CPL_ERR_INPUT);
  CHECK(measures == NULL);
  if (strstr(cpl_context_error(ctx), part) == NULL)
    printf("%s: %s\n", text, cpl_context_error(ctx));
  CHECK(strstr(cpl_context_error(ctx), part) != NULL);
  cpl_source_destroy(source);
}

static void bad_texts(void** state) {
  check_refused(*state, "max(y)", "y");
  check_refused(*state, "x", "final(x)");
  check_refused(*state, "max(x", "not closed");
  check_refused(*state, "at(x)", "at(x, time)");
  check_refused(*state, "at(x, 2)", "from 0 to 1");
  check_refused(*state, "at(x, v)", "v");
  check_refused(*state, "count(x)", "condition");
  check_refused(*state, "max(x > 1)", "number");
  check_refused(*state, "max(x) > 1", "number");
  check_refused(*state, "final(x) +", "m");
  check_refused(*state, "", "m");
  check_refused(*state, "m", "itself");
  check_refused(*state, "time", "final(time)");
  check_refused(*state, "settling_time(x, -1)", "band");
  check_refused(*state, "final(x, v)", "final(x)");
  check_refused(*state, "events(x)", "events()");
  check_refused(*state, "maxi(x)", "max");
  check_refused(*state, "finall(x)",
                "the measure m: unknown function \"finall\" (did you mean final?)");
  check_refused(*state, "final(xx)", "unknown name \"xx\"");
}

static void units(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  cpli_measures* m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &smooth, &source));
  const cpl_measure_def defs[] = {
      {.name = "a", .text = "max(x)"},           {.name = "b", .text = "integral( v )"},
      {.name = "c", .text = "time_when(x < 0)"}, {.name = "d", .text = "a/c"},
      {.name = "e", .text = "max(2*x)"},         {.name = "f", .text = "final('x')"}};
  static const char* const wanted[] = {"m", "m/s.s", "s", "", "", "m"};
  CHECK_OK(ctx, cpli_measures_parse(ctx, defs, CPLI_COUNT(defs), source->desc, 0, 1, &m));
  for (size_t i = 0; i < CPLI_COUNT(defs); i++) assert_string_equal(m->list[i].unit, wanted[i]);
  cpli_measures_destroy(m);
  cpl_source_destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(goals_that_are_not_given),
      cmocka_unit_test(an_oscillation),
      cmocka_unit_test(an_oscillation_with_events),
      cmocka_unit_test(communication_points),
      cmocka_unit_test(a_ball),
      cmocka_unit_test(bad_texts),
      cmocka_unit_test(units),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
