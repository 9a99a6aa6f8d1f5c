// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fits against closed forms: linear regression with its textbook intervals, exponential decay,
// several data sets, bounds, robust losses, what data do not determine, failing runs, bad input.
#include <couplet/fit.h>

#include "models.h"

enum { N = 21 };

static const char* const x_name[] = {"x"};
static double times[N], values[3 * N];

static cpl_table table_of(size_t n_columns, const char* const* names) {
  return (cpl_table){
      .n_rows = N, .n_columns = n_columns, .names = names, .time = times, .values = values};
}

// x = x0 + p t, with errors that are no multiple of anything.
static void make_line(double x0, double p) {
  noise n = {7};
  for (int i = 0; i < N; i++) {
    times[i] = 0.5 * i;
    values[i] = x0 + p * times[i] + 0.1 * noise_next(&n);
  }
}

// The regression line by the formulas of the textbooks.
typedef struct regression {
  double offset, slope, variance, offset_deviation, slope_deviation, correlation;
} regression;

static regression regress(void) {
  double st = 0, sx = 0, stt = 0, stx = 0, squares = 0;
  for (int i = 0; i < N; i++) {
    st += times[i], sx += values[i];
    stt += times[i] * times[i], stx += times[i] * values[i];
  }
  const double d = N * stt - st * st;
  regression r = {.slope = (N * stx - st * sx) / d};
  r.offset = (sx - r.slope * st) / N;
  for (int i = 0; i < N; i++) {
    const double e = values[i] - r.offset - r.slope * times[i];
    squares += e * e;
  }
  r.variance = squares / (N - 2);
  r.slope_deviation = sqrt(N / d);  // times the standard deviation of the errors
  r.offset_deviation = sqrt(stt / d);
  r.correlation = -st / sqrt(N * stt);
  return r;
}

static void a_line_has_the_intervals_of_the_textbooks(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  make_line(3, -0.7);
  const cpl_table t = table_of(1, x_name);
  const regression r = regress();
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "x");
  fitting_vary(ctx, &f, "p=1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  const cpl_varied *x = &f.fit->parameters[0], *p = &f.fit->parameters[1];
  CHECK(f.fit->converged);
  CHECK_STR(x->name, "x");
  CHECK_STR(p->unit, "m/s");
  CHECK_NEAR(x->value, r.offset, 1e-7);
  CHECK_NEAR(p->value, r.slope, 1e-8);
  const double sigma = sqrt(r.variance);
  CHECK_NEAR(x->deviation / (sigma * r.offset_deviation), 1, 1e-5);
  CHECK_NEAR(p->deviation / (sigma * r.slope_deviation), 1, 1e-5);
  CHECK_NEAR(f.fit->correlation[1], r.correlation, 1e-5);
  const double quantile = 2.0930240544082634;  // of Student's distribution, 97.5 %, 19 degrees
  CHECK_NEAR((p->high - p->value) / (quantile * sigma * r.slope_deviation), 1, 1e-5);
  CHECK_NEAR(p->high - p->value, p->value - p->low, 1e-12);
  CHECK_NEAR(f.fit->columns[0].sigma[0], sigma, 1e-7);
  CHECK_INT(f.fit->n_directions, 0);
  // a standard deviation that is known: normal quantiles, whatever the residuals are
  const cpl_fit_sigma known = {"x", 0.2};
  f.def.sigmas = &known, f.def.n_sigmas = 1;
  f.def.confidence = 0.9;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  p = &f.fit->parameters[1];
  CHECK_NEAR(p->value, r.slope, 1e-8);
  CHECK_NEAR(p->deviation / (0.2 * r.slope_deviation), 1, 1e-5);
  CHECK_NEAR((p->high - p->value) / p->deviation, 1.6448536269514722, 1e-9);
  CHECK_NEAR(f.fit->variance, r.variance / 0.04, 1e-6);
  fitting_close(ctx, &f);
}

// Each row with its own standard deviation, against weighted regression through the origin.
static void rows_have_deviations_of_their_own(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x", "sigma(x)"};
  fitting f;
  double above = 0, below = 0;
  make_line(0, 2);
  for (int i = 0; i < N; i++) {
    const double sigma = values[N + i] = i % 2 != 0 ? 0.05 : 0.4;
    above += times[i] * values[i] / (sigma * sigma);
    below += times[i] * times[i] / (sigma * sigma);
  }
  const cpl_table t = table_of(2, names);
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "p");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, above / below, 1e-7);
  CHECK_NEAR(f.fit->parameters[0].deviation * sqrt(below), 1, 1e-5);
  values[N + 3] = 0;
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "standard deviations must be positive");
  fitting_close(ctx, &f);
}

static void decay_values(double x0, double rate, double sigma, uint64_t seed) {
  noise n = {seed};
  for (int i = 0; i < N; i++) {
    times[i] = 0.2 * (i + 1);
    values[i] = x0 * exp(-rate * times[i]) + sigma * noise_next(&n);
  }
}

static void a_decay_without_noise_is_found_exactly(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(3, 0.8, 0, 1);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=0.1:0.01:10");
  fitting_vary(ctx, &f, "x=1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, 0.8, 1e-6);
  CHECK_NEAR(f.fit->parameters[1].value, 3, 1e-6);
  CHECK_NEAR(f.fit->columns[0].fitted[4], 3 * exp(-0.8), 1e-6);
  fitting_close(ctx, &f);
}

// Sensitivities give the same fit with fewer runs: of two parameters at least half of them.
static void sensitivities_save_runs(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(3, 0.8, 0.05, 9);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=0.1:0.01:10");
  fitting_vary(ctx, &f, "x=1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_STR(f.fit->derivatives, "sensitivities");
  const int64_t runs = f.fit->runs;
  const double value = f.fit->parameters[0].value, deviation = f.fit->parameters[0].deviation;
  f.def.differences = true;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_STR(f.fit->derivatives, "differences");
  CHECK(f.fit->runs >= 2 * runs);
  CHECK_NEAR(f.fit->parameters[0].value, value, 1e-5);
  CHECK_NEAR(f.fit->parameters[0].deviation / deviation, 1, 1e-4);
  fitting_close(ctx, &f);
}

// How often intervals of 95 % contain the truth: of 40 fits, at most 2 of a million have less than
// 31, if the intervals are right.
static void intervals_contain_the_truth(void** state) {
  cpl_context* ctx = *state;
  enum { FITS = 40 };
  fitting f;
  int inside[2] = {0};
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=0.6");
  fitting_vary(ctx, &f, "x=2");
  fitting_add(&f, &t);
  for (int i = 0; i < FITS; i++) {
    decay_values(3, 0.8, 0.1, 1000 + 17 * (uint64_t)i);
    CHECK_OK(ctx, fitting_run(ctx, &f));
    const cpl_varied* p = f.fit->parameters;
    inside[0] += p[0].low <= 0.8 && 0.8 <= p[0].high;
    inside[1] += p[1].low <= 3 && 3 <= p[1].high;
  }
  CHECK(inside[0] >= 31 && inside[1] >= 31);
  CHECK(inside[0] < FITS || inside[1] < FITS);  // nor are they too wide
  fitting_close(ctx, &f);
}

static void what_data_do_not_determine_is_named(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(3, 0.8, 0.05, 5);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a");
  fitting_vary(ctx, &f, "b");
  fitting_vary(ctx, &f, "x");
  fitting_vary(ctx, &f, "unused");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  const cpl_varied* p = f.fit->parameters;
  CHECK(p[0].undetermined && p[1].undetermined && !p[2].undetermined && p[3].undetermined);
  CHECK(isnan(p[0].deviation) && isnan(p[1].low) && isfinite(p[2].deviation));
  CHECK_INT(f.fit->n_directions, 2);
  CHECK_STR(f.fit->directions[0].text, "unused +1 %");
  CHECK_STR(f.fit->directions[1].text, "a +1 %, b -1 %");
  CHECK(f.fit->directions[0].singular && f.fit->directions[1].singular);
  const double rate = p[0].value * p[1].value;
  // the deviation of what is determined is that of a fit of it
  const double deviation = p[2].deviation;
  fitting_close(ctx, &f);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a");
  fitting_vary(ctx, &f, "x");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, rate, 1e-6);
  CHECK_NEAR(f.fit->parameters[1].deviation / deviation, 1, 1e-4);
  fitting_close(ctx, &f);
}

// p + u is 2: changes are relative to values with their signs, of which u is negative.
static void directions_of_negative_values(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  for (int i = 0; i < N; i++) times[i] = 0.5 * i, values[i] = 2 * times[i];
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "p=3");
  fitting_vary(ctx, &f, "u=-1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_INT(f.fit->n_directions, 1);
  CHECK_STR(f.fit->directions[0].text, "p +0.33 %, u +1 %");
  fitting_close(ctx, &f);
}

// Where the decay ends, x0 and the rate can hardly be told apart from the noise: still determined.
static void bounds_hold_parameters(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  make_line(3, -0.7);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "x=1:0:2.5");
  fitting_vary(ctx, &f, "p=0:-5:5");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  double above = 0, below = 0;  // the slope of the line through (0, 2.5)
  for (int i = 0; i < N; i++) {
    above += times[i] * (values[i] - 2.5);
    below += times[i] * times[i];
  }
  const cpl_varied* p = f.fit->parameters;
  CHECK(p[0].value == 2.5 && p[0].at_bound == 1 && isnan(p[0].deviation));
  CHECK_NEAR(p[1].value, above / below, 1e-8);
  CHECK(p[1].at_bound == 0 && isfinite(p[1].deviation));
  CHECK(isnan(f.fit->correlation[1]));
  fitting_close(ctx, &f);
  // all at bounds; and from a bound that the solution is far away from
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "x=1:0:2.5");
  fitting_vary(ctx, &f, "p=1:0.5:2");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK(f.fit->parameters[1].value == 0.5 && f.fit->parameters[1].at_bound == -1);
  fitting_close(ctx, &f);
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "x=0:0:20");
  fitting_vary(ctx, &f, "p=5:-5:5");
  fitting_add(&f, &t);
  const regression r = regress();
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, r.offset, 1e-7);
  CHECK_NEAR(f.fit->parameters[1].value, r.slope, 1e-8);
  fitting_close(ctx, &f);
}

static void outliers_count_less(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  static const cpl_loss losses[] = {CPL_LOSS_HUBER, CPL_LOSS_SOFT_L1, CPL_LOSS_CAUCHY};
  make_line(3, -0.7);
  const regression clean = regress();
  values[4] += 20;
  values[17] += 35;
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "x");
  fitting_vary(ctx, &f, "p");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  const double off = fabs(f.fit->parameters[0].value - clean.offset);
  CHECK(off > 0.5);
  for (size_t i = 0; i < sizeof losses / sizeof losses[0]; i++) {
    f.def.loss = losses[i];
    CHECK_OK(ctx, fitting_run(ctx, &f));
    const cpl_varied* p = f.fit->parameters;
    CHECK_NEAR(p[0].value, clean.offset, 0.12);
    CHECK_NEAR(p[1].value, clean.slope, 0.02);
    CHECK(p[1].low < -0.7 && -0.7 < p[1].high && p[1].deviation < 0.02);
  }
  // residuals that are small count as in least squares
  make_line(3, -0.7);
  f.def.loss = CPL_LOSS_HUBER;
  f.def.scale = 1000;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, clean.offset, 1e-6);
  fitting_close(ctx, &f);
}

// Two experiments with their own start values, one of which drives the input.
static void experiments_have_settings_of_their_own(void** state) {
  cpl_context* ctx = *state;
  static const char* const driven[] = {"u", "x"};
  static double first[N], second[2 * N];
  fitting f;
  for (int i = 0; i < N; i++) {
    times[i] = 0.5 * i;
    first[i] = 1 + 2 * times[i] + 0.5 * 0.3 * times[i] * times[i];
    second[i] = 4;
    second[N + i] = 7 + 6 * times[i] + 0.5 * 0.3 * times[i] * times[i];
  }
  const cpl_table a = {
      .n_rows = N, .n_columns = 1, .names = x_name, .time = times, .values = first};
  const cpl_table b = {
      .n_rows = N, .n_columns = 2, .names = driven, .time = times, .values = second};
  const cpl_start one = {"x", "1"}, seven = {"x", "700 cm"};
  fitting_open(ctx, &f, &line);
  fitting_vary(ctx, &f, "p");
  fitting_vary(ctx, &f, "q");
  fitting_add(&f, &a);
  fitting_add(&f, &b);
  f.data[0].starts = &one, f.data[1].starts = &seven;
  f.data[0].n_starts = f.data[1].n_starts = 1;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, 2, 1e-6);
  CHECK_NEAR(f.fit->parameters[1].value, 0.3, 1e-6);
  CHECK_INT(f.fit->n_columns, 2);
  CHECK_INT(f.fit->n_points, 2 * N);
  // of contradicting data the one with a large weight counts
  for (int i = 0; i < N; i++) second[N + i] += times[i];
  f.data[1].weight = 1e8;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, 3, 1e-5);
  fitting_close(ctx, &f);
}

// x' = -a b x, with b and another parameter as columns of the data.
static void columns_set_parameters(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"b", "x", "unused"};
  fitting f;
  for (int i = 0; i < N; i++) {
    times[i] = 0.1 * i;
    values[i] = 2;
    values[N + i] = 2 * exp(-0.7 * 2 * times[i]);
    values[2 * N + i] = 3;
  }
  const cpl_table data = table_of(3, names);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a");
  fitting_add(&f, &data);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, 0.7, 1e-6);
  CHECK_INT(f.fit->n_columns, 1);
  fitting_close(ctx, &f);
}

// The model fails for a < 0, where a long first step would go.
static void runs_that_fail_are_survived(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(2, 0.01, 0.001, 3);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=4");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_NEAR(f.fit->parameters[0].value, 0.01, 0.001);
  CHECK(f.fit->failed > 0);
  CHECK_CONTAINS(f.fit->failure, "decay");
  fitting_close(ctx, &f);
  // at the guess nothing can be done
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=-1");
  fitting_add(&f, &t);
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_MODEL);
  CHECK(f.fit == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the run with the guesses failed: decay");
  fitting_close(ctx, &f);
}

static char logged[4096];

static void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  const size_t n = strlen(logged);
  if (level == CPL_LOG_WARNING) snprintf(logged + n, sizeof logged - n, "%s\n", text);
}

// The data grow, and the model fails for a < 0: the best value is at the edge, and it is no
// optimum. Where data decay, an optimum near the edge is one.
static void the_edge_of_failing_runs_is_no_optimum(void** state) {
  (void)state;
  cpl_context_def how = cpl_default_context_def();
  how.log = keep_log;
  cpl_context* ctx = cpl_context_create(&how);
  fitting f;
  static const double rates[] = {-0.1, 0.002};
  for (int i = 0; i < 2; i++) {
    logged[0] = '\0';
    decay_values(2, rates[i], 1e-4, 9);
    const cpl_table t = table_of(1, x_name);
    fitting_open(ctx, &f, &decay);
    fitting_vary(ctx, &f, "a=0.4");
    fitting_add(&f, &t);
    CHECK_OK(ctx, fitting_run(ctx, &f));
    const double a = f.fit->parameters[0].value;
    CHECK((strstr(logged, "the search ended where runs begin to fail") != NULL) == (i == 0));
    CHECK((strcmp(f.fit->end, "runs fail at values next to these") == 0) == (i == 0));
    if (i == 0) CHECK(a >= 0 && a < 1e-6);
    else CHECK_NEAR(a, 0.002, 1e-4);
    // a bound, instead
    logged[0] = '\0';
    cpl_vary_free(ctx, &f.vary[0]);
    CHECK_OK(ctx, cpl_vary_read(ctx, "a=0.4:0:10", &f.vary[0]));
    CHECK_OK(ctx, fitting_run(ctx, &f));
    CHECK_INT(f.fit->parameters[0].at_bound, i == 0 ? -1 : 0);
    CHECK(strstr(logged, "runs begin to fail") == NULL);
    fitting_close(ctx, &f);
  }
  cpl_context_destroy(ctx);
}

// A decay that knows the rate that a run begins with, and refuses another one: sensitivities, which
// perturb it, fail.
static int jealous_slope(const cpl_values* v, double* dx) {
  static double rate, last_t = 1;
  if (v->t == 0 && last_t > 0) rate = v->p[0];
  last_t = v->t;
  dx[0] = -v->p[0] * v->x[0];
  return v->p[0] == rate ? CPL_MODEL_OK : CPL_MODEL_ERROR;
}
static const cpl_model_def jealous = {.name = "jealous",
                                      .states = decay_states,
                                      .parameters = decay_parameters,
                                      .derivatives = jealous_slope,
                                      .stop_time = 5};

static void sensitivities_that_fail_are_no_failed_trials(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(2, 0.8, 0.01, 3);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &jealous);
  fitting_vary(ctx, &f, "a=0.5");
  fitting_add(&f, &t);
  f.def.differences = true;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  const double value = f.fit->parameters[0].value;
  const int64_t runs = f.fit->runs;
  f.def.differences = false;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK(f.fit->parameters[0].value == value);
  CHECK_NEAR(value, 0.8, 0.02);
  CHECK_STR(f.fit->derivatives, "sensitivities and differences");
  CHECK(f.fit->failed == 0 && f.fit->failure == NULL);
  CHECK_INT(f.fit->runs, runs + 3);  // then they are requested no more
  fitting_close(ctx, &f);
}

static void bad_input_is_explained(void** state) {
  cpl_context* ctx = *state;
  static const char* const wrong_name[] = {"y"};
  decay_values(3, 0.8, 0.05, 5);
  const cpl_table good = table_of(1, x_name), unknown = table_of(1, wrong_name);
  cpl_table few = good, one = good, late = good;
  few.n_rows = 2, one.n_rows = 1;
  static double later[N];
  for (int i = 0; i < N; i++) later[i] = times[i] + 3;
  late.time = later;
  double with_nan[N];
  memcpy(with_nan, values, sizeof with_nan);
  with_nan[3] = NAN;
  cpl_table nan = good;
  nan.values = with_nan;
  const struct {
    const char* vary[2];
    const cpl_table* table;
    const char* message;
  } bad[] = {
      {{"aa"}, &good, "(is it a?)"},
      {{"a=1:2:3"}, &good, "its guess 1 is below its least value 2"},
      {{"a=5:2:3"}, &good, "its guess 5 is above its greatest value 3"},
      {{"a=2:3:2"}, &good, "its least value 3 is not below its greatest value 2"},
      {{"a=1 m"}, &good, "cannot vary in \"m\": its unit is 1/s"},
      {{"b=1 m"}, &good, "it has no unit"},
      {{"a", "a"}, &good, "it is named twice"},
      {{"a"}, NULL, "there are no data"},
      {{NULL}, &good, "no parameter varies"},
      {{"a", "x"}, &few, "2 measured values: too few for 2 parameters, at least 3 are needed"},
      {{"a"}, &one, "1 measured value: too few for 1 parameter"},
      {{"a"}, &late, "are outside of the run, which goes from 0 to 5"},
      {{"a"}, &nan, "not finite"},
      {{"a"}, &unknown, "no variable"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    fitting f;
    fitting_open(ctx, &f, &decay);
    for (int k = 0; k < 2 && bad[i].vary[k] != NULL; k++) fitting_vary(ctx, &f, bad[i].vary[k]);
    if (bad[i].table != NULL) fitting_add(&f, bad[i].table);
    CHECK_INT(fitting_run(ctx, &f), CPL_ERR_INPUT);
    CHECK(f.fit == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), bad[i].message);
    fitting_close(ctx, &f);
  }
}

static void stop_soon(void* user, const cpl_search_progress* p) {
  if (p->runs == 12) cpl_context_cancel(user);
}

static void an_interruption_keeps_the_best_values(void** state) {
  cpl_context* ctx = *state;
  fitting f;
  decay_values(3, 0.8, 0.05, 5);
  const cpl_table t = table_of(1, x_name);
  fitting_open(ctx, &f, &decay);
  fitting_vary(ctx, &f, "a=0.1");
  fitting_vary(ctx, &f, "x=1");
  fitting_add(&f, &t);
  f.def.on_progress = stop_soon, f.def.user = ctx;
  f.def.differences = true;
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_CANCELLED);
  CHECK(f.fit != NULL && !f.fit->converged);
  CHECK(f.fit->parameters[0].value != 0.1);
  CHECK(isnan(f.fit->parameters[0].deviation));
  CHECK(f.fit->runs <= 12);
  cpl_context_resume(ctx);
  f.def.on_progress = NULL;
  f.def.max_runs = 7;
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_SOLVER);
  CHECK(f.fit != NULL && f.fit->runs == 7);
  CHECK_CONTAINS(cpl_context_error(ctx), "within 7 runs");
  fitting_close(ctx, &f);
}

static void memory_may_fail_at_any_time(void** state) {
  (void)state;
  decay_values(3, 0.8, 0.05, 5);
  const cpl_table t = table_of(1, x_name);
  for (long k = 0;; k += k < 400 ? 1 : 37) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    fitting f;
    fitting_open(ctx, &f, &decay);
    fitting_vary(ctx, &f, "a=0.75");
    fitting_vary(ctx, &f, "b=1");
    fitting_add(&f, &t);
    heap.fail_at = heap.calls + k;
    const cpl_status st = fitting_run(ctx, &f);
    if (st < 0) CHECK_INT(st, CPL_ERR_NOMEM);
    const bool reached = heap.calls > heap.fail_at;
    fitting_close(ctx, &f);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (!reached) break;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_has_the_intervals_of_the_textbooks),
      cmocka_unit_test(rows_have_deviations_of_their_own),
      cmocka_unit_test(a_decay_without_noise_is_found_exactly),
      cmocka_unit_test(sensitivities_save_runs),
      cmocka_unit_test(intervals_contain_the_truth),
      cmocka_unit_test(what_data_do_not_determine_is_named),
      cmocka_unit_test(directions_of_negative_values),
      cmocka_unit_test(bounds_hold_parameters),
      cmocka_unit_test(outliers_count_less),
      cmocka_unit_test(experiments_have_settings_of_their_own),
      cmocka_unit_test(columns_set_parameters),
      cmocka_unit_test(runs_that_fail_are_survived),
      cmocka_unit_test(the_edge_of_failing_runs_is_no_optimum),
      cmocka_unit_test(sensitivities_that_fail_are_no_failed_trials),
      cmocka_unit_test(bad_input_is_explained),
      cmocka_unit_test(an_interruption_keeps_the_best_values),
      cmocka_unit_test(memory_may_fail_at_any_time),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
