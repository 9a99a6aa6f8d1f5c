// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fits of FMUs against a closed form: for model exchange and for co-simulation, of FMI 2.0 and 3.0,
// with one instance per process, and in processes of their own.
#include <couplet/fit.h>

#include "archive.h"
#include "models.h"

enum { N = 40 };

static double times[N], values[N];

static const char model_text[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 2, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5, .unit = \"1/s\"}, {0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->p[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states,\n"
    "    .parameters = parameters, .derivatives = slope, .stop_time = 5};\n";

// x = 3 exp(-0.8 t)
static void make_data(void) {
  for (int i = 0; i < N; i++) {
    times[i] = 0.125 * (i + 1);
    values[i] = 3 * exp(-0.8 * times[i]);
  }
}

static void build_fmu(cpl_context* ctx, int version) {
  cpl_build_def def = cpl_default_build_def();
  write_bytes("decay.c", model_text, strlen(model_text));
  def.model = "decay.c", def.fmi_version = version, def.output = "decay.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
}

static void open_fmu(cpl_context* ctx, fitting* f, cpl_member_as as, bool isolate) {
  cpl_open_def open = cpl_default_open_def();
  *f = (fitting){.settings = cpl_default_experiment_settings(), .def = cpl_default_fit_def()};
  open.path = "decay.fmu";
  open.isolate = isolate;
  CHECK_OK(ctx, cpl_open(ctx, &open, &f->source));
  f->settings.source = f->source;
  f->settings.as = as;
  f->def.experiment = &f->settings;
  f->def.vary = f->vary;
  f->def.data = f->data;
}

static void check_fit(cpl_context* ctx, cpl_member_as as, bool isolate, double tolerance) {
  static const char* const x[] = {"x"};
  fitting f;
  make_data();
  const cpl_table t = {.n_rows = N, .n_columns = 1, .names = x, .time = times, .values = values};
  open_fmu(ctx, &f, as, isolate);
  cpl_experiment_def e = cpl_default_experiment_def();
  e.interval = 0.125;  // steps of co-simulation end at rows
  f.settings.experiment = &e;
  fitting_vary(ctx, &f, "k=0.3:0.1:3");
  fitting_vary(ctx, &f, "x=1");
  fitting_add(&f, &t);
  CHECK_OK(ctx, fitting_run(ctx, &f));
  CHECK(f.fit->converged);
  CHECK_NEAR(f.fit->parameters[0].value, 0.8, tolerance);
  CHECK_NEAR(f.fit->parameters[1].value, 3, tolerance);
  CHECK_STR(f.fit->derivatives, as == CPL_AS_CO_SIMULATION ? "differences" : "sensitivities");
  fitting_close(ctx, &f);
}

static void fmus_are_fitted(void** state) {
  for (int version = 2; version <= 3; version++) {
    build_fmu(*state, version);
    check_fit(*state, CPL_AS_MODEL_EXCHANGE, false, 1e-7);
    check_fit(*state, CPL_AS_MODEL_EXCHANGE, true, 1e-7);
    check_fit(*state, CPL_AS_CO_SIMULATION, false, 1e-5);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(fmus_are_fitted)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
