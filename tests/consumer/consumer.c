// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A program of someone else: a model of its own, integrated with couplet as it is installed.
#include <couplet/couplet.h>
#include <math.h>
#include <stdio.h>

static const cpl_declaration states[] = {{"x", .start = 1, .output = true}, {0}};

static int decay(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_model_def decay_def = {.name = "decay", .states = states, .derivatives = decay};

static cpl_status keep_last(void* user, double t, const cpl_value* values) {
  (void)t;
  *(double*)user = values[0].real;
  return CPL_OK;
}

// doc:begin consumer
static cpl_status simulate(cpl_context* ctx, double* x_end) {
  cpl_source* source = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_status st = cpl_c_define(ctx, &decay_def, &source);
  if (st >= 0) st = cpl_source_make_model(source, "decay", &model);

  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = 1e-9;
  if (st >= 0) st = cpl_integrate(model, &solver, &stepper);

  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 1;
  run.on_point = keep_last;
  run.user = x_end;
  if (st >= 0) st = cpl_run(stepper, &run, NULL);

  cpl_stepper_destroy(stepper);
  cpl_source_destroy(source);
  return st;
}
// doc:end

int main(void) {
  double x_end = NAN;
  cpl_context* ctx = cpl_context_create(NULL);
  if (ctx == NULL) return 1;
  cpl_status st = simulate(ctx, &x_end);
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  cpl_context_destroy(ctx);
  printf("couplet %s: x(1) = %.6f\n", cpl_version(), x_end);
  return st < 0 || !(fabs(x_end - exp(-1)) < 1e-7);
}
