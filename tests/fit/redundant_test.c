// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is measured once counts once: a fit to columns that repeat a column, or that do not depend
// on the parameters, has the textbook intervals of a fit to that column alone.
#include <couplet/fit.h>

#include "archive.h"
#include "models.h"

enum { N = 21, MANY = 8 };

static double times[N], values[MANY * N];
static char logged[8192];

// x' = p + u; y = x, twice = 2 x, and values that p does not change
static int many_slope(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] + v->u[0];
  dx[1] = -v->x[1];
  return CPL_MODEL_OK;
}
static int many_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  y[1] = 2 * v->x[0];
  y[2] = v->p[1];
  y[3] = v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration many_states[] = {
    {"x", .unit = "m", .output = true}, {"other", .start = 1}, {0}};
static const cpl_declaration many_inputs[] = {{"u", .unit = "m/s"}, {0}};
static const cpl_declaration many_parameters[] = {{"p", .unit = "m/s"}, {"size", .start = 7}, {0}};
static const cpl_declaration many_others[] = {{"y", .unit = "m"},
                                              {"twice", .unit = "m"},
                                              {"shown", .unit = "1"},
                                              {"felt", .unit = "m/s"},
                                              {0}};
static const cpl_model_def many = {.name = "many",
                                   .states = many_states,
                                   .inputs = many_inputs,
                                   .parameters = many_parameters,
                                   .outputs = many_others,
                                   .derivatives = many_slope,
                                   .output_values = many_outputs,
                                   .stop_time = 10};

static void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)who;
  const size_t n = strlen(logged);
  if (level == CPL_LOG_WARNING) snprintf(logged + n, sizeof logged - n, "%s\n", text);
}

static int make_logging_context(void** state) {
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_log;
  *state = cpl_context_create(&def);
  logged[0] = '\0';
  return *state != NULL ? 0 : -1;
}

// x = 3 - 0.7 t with errors, and columns that follow from it or are exact.
static void make_rows(void) {
  noise n = {7};
  for (int i = 0; i < N; i++) {
    times[i] = 0.5 * i;
    const double x = 3 - 0.7 * times[i] + 0.1 * noise_next(&n);
    values[i] = values[N + i] = x;
    values[2 * N + i] = 2 * x;
    values[3 * N + i] = 7;
    values[4 * N + i] = 0;
    values[5 * N + i] = exp(-times[i]);
  }
}

// The deviation of the slope of the regression line, by the formula of the textbooks.
static double slope_deviation(double* slope) {
  double st = 0, sx = 0, stt = 0, stx = 0, squares = 0;
  for (int i = 0; i < N; i++) {
    st += times[i], sx += values[i];
    stt += times[i] * times[i], stx += times[i] * values[i];
  }
  const double d = N * stt - st * st, m = (N * stx - st * sx) / d, offset = (sx - m * st) / N;
  for (int i = 0; i < N; i++) {
    const double e = values[i] - offset - m * times[i];
    squares += e * e;
  }
  *slope = m;
  return sqrt(squares / (N - 2) * N / d);
}

static cpl_table table_of(size_t n_columns, const char* const* names) {
  return (cpl_table){
      .n_rows = N, .n_columns = n_columns, .names = names, .time = times, .values = values};
}

static void check_interval(const fitting* f) {
  double slope = NAN;
  const double deviation = slope_deviation(&slope);
  const cpl_varied* p = &f->fit->parameters[0];
  CHECK_STR(p->name, "p");
  CHECK_NEAR(p->value, slope, 1e-8);
  CHECK_NEAR(p->deviation / deviation, 1, 1e-5);
  CHECK_NEAR((p->high - p->value) / (2.0930240544082634 * deviation), 1, 1e-5);
  CHECK_NEAR(f->fit->freedom, N - 2, 0);
  CHECK_INT(f->fit->n_points, N);
}

static void check_once(cpl_context* ctx, fitting* f, const char* const* names, size_t n,
                       bool differences) {
  static cpl_table t;
  t = table_of(n, names);
  f->def.n_data = 0;
  fitting_add(f, &t);
  f->def.differences = differences;
  logged[0] = '\0';
  CHECK_OK(ctx, fitting_run(ctx, f));
  check_interval(f);
  CHECK_INT(f->fit->n_columns, 1);
  CHECK_STR(f->fit->columns[0].name, "x");
}

static void a_measurement_counts_once(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x", "y", "twice", "shown", "felt", "other"};
  fitting f;
  make_rows();
  fitting_open(ctx, &f, &many);
  fitting_vary(ctx, &f, "p=1");
  fitting_vary(ctx, &f, "x");
  check_once(ctx, &f, names, 1, false);
  CHECK_STR(logged, "");
  for (size_t n = 2; n <= 6; n++)
    for (int differences = 0; differences < 2; differences++)
      check_once(ctx, &f, names, n, differences != 0);
  CHECK_CONTAINS(logged, "data: x and y are one measurement, in the data and in the model: it");
  CHECK_CONTAINS(logged, "data: x and twice are one measurement");
  CHECK_CONTAINS(logged, "data: shown does not depend on the parameters that vary");
  CHECK_CONTAINS(logged, "data: felt does not depend on the parameters that vary");
  CHECK_CONTAINS(logged, "data: other does not depend on the parameters that vary");
  fitting_close(ctx, &f);
}

// Two instruments with errors of their own are two measurements, and the mean of both is fitted.
static void two_instruments_count_twice(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x", "y"};
  static const cpl_fit_sigma sigmas[] = {{"x", 0.1}, {"y", 0.1}};
  noise n = {3};
  fitting f;
  make_rows();
  for (int i = 0; i < N; i++) values[N + i] += 0.1 * noise_next(&n);
  double stt = 0, st = 0;
  for (int i = 0; i < N; i++) st += times[i], stt += times[i] * times[i];
  const cpl_table t = table_of(2, names);
  logged[0] = '\0';
  fitting_open(ctx, &f, &many);
  fitting_vary(ctx, &f, "p=1");
  fitting_vary(ctx, &f, "x");
  fitting_add(&f, &t);
  f.def.sigmas = sigmas, f.def.n_sigmas = 2;
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_STR(logged, "");
  CHECK_INT(f.fit->n_columns, 2);
  CHECK_NEAR(f.fit->parameters[0].deviation / (0.1 * sqrt(0.5 * N / (N * stt - st * st))), 1, 1e-5);
  fitting_close(ctx, &f);
}

static void the_same_data_twice_are_mentioned(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x"};
  fitting f;
  make_rows();
  const cpl_table t = table_of(1, names);
  logged[0] = '\0';
  fitting_open(ctx, &f, &many);
  fitting_vary(ctx, &f, "p=1");
  fitting_vary(ctx, &f, "x");
  fitting_add(&f, &t);
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_CONTAINS(logged, "data and data are the same measurements with the same start values");
  fitting_close(ctx, &f);
}

// Without any influence of the parameters the columns stay, and the parameters are undetermined.
static void something_is_left(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x"};
  fitting f;
  make_rows();
  const cpl_table t = table_of(1, names);
  fitting_open(ctx, &f, &many);
  fitting_vary(ctx, &f, "size=1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK(f.fit->parameters[0].undetermined);
  fitting_close(ctx, &f);
}

// A line through a parabola: the warning has the statistic of the residuals of the regression.
static void a_model_that_does_not_follow_is_mentioned(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x"};
  double steps = 0, squares = 0, residuals[N];
  char text[100];
  fitting f;
  make_rows();
  for (int i = 0; i < N; i++) {
    const double u = times[i] / 10 - 0.5;  // the second Legendre polynomial on the grid
    values[i] = u * u;
    residuals[i] = u * u - (N * N - 1) / (12.0 * (N - 1) * (N - 1));
    squares += residuals[i] * residuals[i];
    if (i > 0) steps += pow(residuals[i] - residuals[i - 1], 2);
  }
  snprintf(text, sizeof text, "alike from row to row (Durbin-Watson statistic %.2g;",
           steps / squares);
  const cpl_table t = table_of(1, names);
  logged[0] = '\0';
  fitting_open(ctx, &f, &many);
  fitting_vary(ctx, &f, "p=1");
  fitting_vary(ctx, &f, "x");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK_CONTAINS(logged, "data: the residuals of x are ");
  CHECK_CONTAINS(logged, text);
  fitting_close(ctx, &f);
}

static const char model_text[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .unit = \"m\", .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"p\", .unit = \"m/s\"}, {\"size\", .start = "
    "7}, "
    "{0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"line\", .states = states,\n"
    "    .parameters = parameters, .derivatives = slope, .stop_time = 10};\n";

// An FMU of the model whose description has more variables, with value references it has already.
static void make_fmu_with(cpl_context* ctx, const char* more) {
  static const char end[] = "  </ModelVariables>";
  int code = 0;
  cpl_build_def def = cpl_default_build_def();
  write_bytes("line.c", model_text, strlen(model_text));
  def.model = "line.c", def.fmi_version = 2, def.output = "line.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
  zip_t* zip = zip_open("line.fmu", 0, &code);
  assert_non_null(zip);
  zip_stat_t about;
  CHECK_INT(zip_stat(zip, "modelDescription.xml", 0, &about), 0);
  char* text = calloc(about.size + 1, 1);
  zip_file_t* file = zip_fopen(zip, "modelDescription.xml", 0);
  assert_non_null(file);
  CHECK_INT(zip_fread(file, text, about.size), about.size);
  zip_fclose(file);
  char* at = strstr(text, end);
  assert_non_null(at);
  char* changed = malloc(about.size + strlen(more) + 1);
  sprintf(changed, "%.*s%s%s", (int)(at - text), text, more, at);
  zip_source_t* source = zip_source_buffer(zip, changed, strlen(changed), 0);
  CHECK(zip_file_add(zip, "modelDescription.xml", source, ZIP_FL_OVERWRITE) >= 0);
  CHECK_INT(zip_close(zip), 0);
  free(changed);
  free(text);
}

static void aliases_and_constants_of_fmus(void** state) {
  cpl_context* ctx = *state;
  static const char* const names[] = {"x", "position", "weight"};
  fitting f;
  cpl_open_def open = cpl_default_open_def();
  open.path = "line.fmu";
  make_rows();
  make_fmu_with(ctx,
                "<ScalarVariable name=\"position\" valueReference=\"2\" causality=\"local\" "
                "variability=\"continuous\"><Real unit=\"m\"/></ScalarVariable>"
                "<ScalarVariable name=\"weight\" valueReference=\"1\" causality=\"local\" "
                "variability=\"fixed\"><Real/></ScalarVariable>");
  fitting_open(ctx, &f, &many);
  cpl_source_destroy(f.source);
  CHECK_OK(ctx, cpl_open(ctx, &open, &f.source));
  f.settings.source = f.source;
  for (int i = 0; i < N; i++) values[2 * N + i] = 7;
  fitting_vary(ctx, &f, "p=1");
  fitting_vary(ctx, &f, "x");
  check_once(ctx, &f, names, 3, false);
  CHECK_CONTAINS(logged, "data: x and position are names of one variable: its values count once");
  CHECK_CONTAINS(logged, "data: weight does not change during a run, and its rows are no");
  CHECK_INT(f.fit->failed, 0);
  values[N + 4] += 1e-3;
  CHECK_INT(fitting_run(ctx, &f), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx),
                 "data: x and position are names of one variable, and differ at t=2: ");
  CHECK_CONTAINS(cpl_context_error(ctx), "measurements by two instruments are two data sets");
  fitting_close(ctx, &f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_measurement_counts_once),
      cmocka_unit_test(two_instruments_count_twice),
      cmocka_unit_test(the_same_data_twice_are_mentioned),
      cmocka_unit_test(something_is_left),
      cmocka_unit_test(a_model_that_does_not_follow_is_mentioned),
      cmocka_unit_test(aliases_and_constants_of_fmus),
  };
  return cmocka_run_group_tests(tests, make_logging_context, drop_context);
}
