// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Experiments: where times, tolerances and solvers come from, inputs from tables, and what is
// refused; against analytic solutions.
#include <math.h>

#include "couplet/couplet.h"
#include "testing.h"

// x' = u - k x
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->p[0] * v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 3, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration parameters[] = {{"k", .start = 0.25}, {0}};
static const cpl_model_def leak = {.name = "leak",
                                   .states = states,
                                   .inputs = inputs,
                                   .parameters = parameters,
                                   .derivatives = derivatives,
                                   .start_time = 1,
                                   .stop_time = 5,
                                   .tolerance = 1e-9};

typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_experiment_def def;
  cpl_experiment_settings settings;
  cpl_experiment* experiment;
} fixture;

static void fails(cpl_context* ctx, cpl_status st, const char* message) {
  CHECK_INT(st, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), message);
}

static void begin(fixture* f, cpl_context* ctx) {
  *f = (fixture){.ctx = ctx,
                 .def = cpl_default_experiment_def(),
                 .settings = cpl_default_experiment_settings()};
  CHECK_OK(ctx, cpl_c_define(ctx, &leak, &f->source));
  f->settings.source = f->source;
  f->settings.experiment = &f->def;
}

static cpl_status prepare(fixture* f) {
  cpl_status st = cpl_experiment_create(f->ctx, &f->settings, &f->experiment);
  return st < 0 ? st : cpl_experiment_prepare(f->experiment);
}

static void end(fixture* f) {
  cpl_experiment_destroy(f->experiment);
  cpl_source_destroy(f->source);
}

// The value of x at the end.
static double run(fixture* f) {
  cpl_simulation* sim = NULL;
  double x = NAN;
  CHECK_OK(f->ctx, prepare(f));
  cpl_run_def* def = cpl_experiment_run_def(f->experiment);
  CHECK_OK(f->ctx, cpl_simulation_create(cpl_experiment_stepper(f->experiment), def, &sim));
  CHECK_OK(f->ctx, cpl_simulation_start(sim));
  CHECK_OK(f->ctx, cpl_simulation_advance(sim, INFINITY));
  CHECK_OK(f->ctx, cpl_simulation_get(sim, "x", &x));
  CHECK_NEAR(cpl_simulation_time(sim), def->stop_time, 0);
  CHECK_OK(f->ctx, cpl_simulation_finish(sim, NULL));
  cpl_simulation_destroy(sim);
  return x;
}

static void defaults_of_the_model(void** state) {
  fixture f;
  begin(&f, *state);
  f.settings.experiment = NULL;
  CHECK_NEAR(run(&f), 3 * exp(-0.25 * 4), 3e-8);
  CHECK_NEAR(cpl_experiment_solver(f.experiment)->rtol, 1e-9, 0);
  CHECK_INT(cpl_experiment_solver(f.experiment)->kind, CPL_SOLVER_CVODE);
  CHECK(cpl_experiment_model(f.experiment) != NULL);
  CHECK(cpl_experiment_source(f.experiment) == f.source);
  end(&f);
}

static void settings_come_first(void** state) {
  const cpl_start starts[] = {{"k", "0.5"}, {"x", "2"}};
  fixture f;
  begin(&f, *state);
  f.def.start = -1, f.def.stop = 2, f.def.solver = "rk4", f.def.step = 0.01, f.def.interval = 0.5;
  f.settings.starts = starts, f.settings.n_starts = 2;
  CHECK_NEAR(run(&f), 2 * exp(-1.5), 1e-9);
  const cpl_run_def* def = cpl_experiment_run_def(f.experiment);
  CHECK_NEAR(def->interval, 0.5, 0);
  CHECK_NEAR(cpl_experiment_solver(f.experiment)->step, 0.01, 0);
  end(&f);
}

// A stepper holds its inputs between communication points; the solver's own step stays free.
static void as_a_stepper(void** state) {
  const cpl_start starts[] = {{"u", "1"}};
  fixture f;
  begin(&f, *state);
  f.settings.as = CPL_AS_CO_SIMULATION;
  f.settings.starts = starts, f.settings.n_starts = 1;
  f.def.step = 0.5;
  CHECK_NEAR(run(&f), 4 + (3 - 4) * exp(-1), 1e-8);
  CHECK_NEAR(cpl_experiment_run_def(f.experiment)->step, 0.5, 0);
  CHECK_NEAR(cpl_experiment_solver(f.experiment)->step, 0, 0);
  fails(f.ctx, cpl_experiment_prepare(f.experiment), "leak: this experiment is prepared already");
  end(&f);
}

static double sine(const void* user, double t) { return *(const double*)user * sin(t); }

// x' = a sin t - k x
static void inputs_as_functions(void** state) {
  const double a = 2, k = 0.25, t0 = 1, t1 = 5;
  const cpl_input input = {.name = "u", .value = sine, .user = &a};
  fixture f;
  begin(&f, *state);
  f.settings.inputs = &input, f.settings.n_inputs = 1;
  const double p0 = a * (k * sin(t0) - cos(t0)) / (k * k + 1);
  const double p1 = a * (k * sin(t1) - cos(t1)) / (k * k + 1);
  CHECK_NEAR(run(&f), p1 + (3 - p0) * exp(-k * (t1 - t0)), 1e-7);
  end(&f);
}

// One definition, and a number of the program for each of two sources.
static int times_user(const cpl_values* v, double* dx) {
  dx[0] = *(const double*)v->user * v->x[0];
  return CPL_MODEL_OK;
}

static void data_of_the_program(void** state) {
  cpl_model_def growth = leak;
  growth.derivatives = times_user;
  double rates[] = {0.5, -0.125};
  for (int i = 0; i < 2; i++) {
    fixture f;
    begin(&f, *state);
    cpl_source_destroy(f.source);
    CHECK_OK(f.ctx, cpl_c_define_version(f.ctx, &growth, CPL_MODEL_VERSION, &rates[i], &f.source));
    f.settings.source = f.source;
    CHECK_NEAR(run(&f), 3 * exp(4 * rates[i]), 5e-6);
    end(&f);
  }
}

static void inputs_from_tables(void** state) {
  fixture f;
  cpl_table* table = NULL;
  begin(&f, *state);
  FILE* file = fopen("in.csv", "w");
  CHECK(file != NULL);
  fputs("time,u,extra\n0,0,7\n1,0,7\n5,4,7\n", file);
  CHECK(fclose(file) == 0);
  CHECK_OK(f.ctx, cpl_input_table_read(f.ctx, "in.csv", &table));
  f.settings.table = table, f.settings.table_name = "in.csv";
  fails(f.ctx, prepare(&f), "in.csv: leak: there is no input \"extra\"");
  CHECK(f.experiment == NULL);
  f.settings.ignore_extra = true;  // u = t - 1: x = 4 (t - 1) - 16 + 19 exp(-(t - 1)/4)
  CHECK_NEAR(run(&f), 19 * exp(-1), 1e-7);
  end(&f);
  cpl_table_destroy(table);
}

static void refused(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    cpl_experiment_def def;
    const char* message;
  } cases[] = {
      {{.interval = -1}, "interval must be positive, not -1"},
      {{.step = -0.5}, "step must be positive, not -0.5"},
      {{.solver = "radua"}, "leak: there is no solver radua (did you mean radau?); solvers are"},
      {{.solver = "radau", .linear = "gmres"},
       "leak: solver radau has no linear systems for gmres"},
      {{.linear = "magic"}, "leak: there is no linear solver magic (direct, gmres)"},
      {{.projection = "never"}, "leak: there is no projection never"},
      {{.loops = "as-rows"}, "leak: loops as-rows are a matter of solver ida"},
      {{.loops = "tied"}, "leak: algebraic loops can be solved nested or as-rows, not \"tied\""},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    fixture f;
    begin(&f, ctx);
    const cpl_experiment_def* d = &cases[i].def;
    if (d->interval != 0) f.def.interval = d->interval;
    if (d->step != 0) f.def.step = d->step;
    f.def.solver = d->solver, f.def.linear = d->linear;
    f.def.projection = d->projection, f.def.loops = d->loops;
    fails(ctx, prepare(&f), cases[i].message);
    end(&f);
  }
  fixture f;
  begin(&f, ctx);
  const cpl_model_solver one = {"leak", CPL_SOLVER_RK4};
  f.settings.solvers = &one, f.settings.n_solvers = 1;
  fails(ctx, prepare(&f), "only models of systems with tlm lines");
  f.settings = (cpl_experiment_settings){0};
  fails(ctx, prepare(&f), "cpl_experiment_settings");
  end(&f);
}

static void any_file(void** state) {
  cpl_context* ctx = *state;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  cpl_experiment* e = NULL;
  fails(ctx, cpl_experiment_create(ctx, &settings, &e), "there is no file to open");
  settings.path = "missing.fmu";
  fails(ctx, cpl_experiment_create(ctx, &settings, &e), "missing.fmu");
  CHECK(e == NULL);
  CHECK(cpl_is_system_path("a.yaml") && cpl_is_system_path("b/tlm.config"));
  CHECK(!cpl_is_system_path("a.fmu") && !cpl_is_system_path(".yaml"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(defaults_of_the_model),
      cmocka_unit_test(settings_come_first),
      cmocka_unit_test(as_a_stepper),
      cmocka_unit_test(inputs_as_functions),
      cmocka_unit_test(data_of_the_program),
      cmocka_unit_test(inputs_from_tables),
      cmocka_unit_test(refused),
      cmocka_unit_test(any_file),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
