// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cost of a run, or of one with sensitivities: "sensitivities FILE SOLVER STOP RTOL RUNS N
// NAME..." differentiates the last NAME with respect to the first N of the others, in RUNS runs of
// one stepper. N < 0: the first -N by differences. It prints the evaluations of the solver in a run
// and the last value.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "couplet/couplet.h"
#include "couplet/sensitivity.h"

static cpl_status run_once(cpl_stepper* s, double stop) {
  cpl_component* c = cpl_stepper_component(s);
  cpl_setup setup = cpl_default_setup();
  cpl_step_result result = {.time = 0};
  setup.has_stop_time = true;
  setup.stop_time = stop;
  cpl_status st = cpl_component_reset(c);
  if (st >= 0) st = cpl_component_setup(c, &setup);
  if (st >= 0) st = cpl_component_enter_init(c);
  if (st >= 0) st = cpl_component_exit_init(c);
  while (st >= 0 && result.time < stop) st = cpl_stepper_step(s, stop, stop, &result);
  return st;
}

static double evaluations(const cpl_component* c) {
  cpl_inspection facts = {0};
  if (cpl_component_inspect(c, -1, &facts) < 0) return 0;
  for (int32_t i = 0; i < facts.n_counters; i++) {
    if (strcmp(facts.counters[i].name, "rhs_evals") == 0) return facts.counters[i].value;
  }
  return 0;
}

int main(int argc, char** argv) {
  if (argc < 8)
    return fprintf(stderr, "usage: %s FILE SOLVER STOP RTOL RUNS N NAME... OF\n", argv[0]), 2;
  const int n = atoi(argv[6]), runs = atoi(argv[5]);
  const double stop = atof(argv[3]);
  const char* of = argv[argc - 1];
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_experiment* e = NULL;
  cpl_experiment_def def = cpl_default_experiment_def();
  def.solver = argv[2];
  def.rtol = atof(argv[4]);
  cpl_sensitivity_def sensitivity = cpl_default_sensitivity_def();
  sensitivity.of = &of, sensitivity.n_of = 1;
  sensitivity.to = (const char* const*)argv + 7, sensitivity.n_to = (size_t)abs(n);
  sensitivity.differences = n < 0;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = argv[1];
  settings.one_solver = true;
  settings.experiment = &def;
  if (n != 0) settings.sensitivity = &sensitivity;
  cpl_status st = cpl_experiment_create(ctx, &settings, &e);
  if (st >= 0) st = cpl_experiment_prepare(e);
  cpl_stepper* s = st >= 0 ? cpl_experiment_stepper(e) : NULL;
  for (int i = 0; i < runs && st >= 0; i++) st = run_once(s, stop);
  const cpl_component* c = st >= 0 ? cpl_stepper_component(s) : NULL;
  int32_t var = 0;
  double last = 0;
  char name[400];
  snprintf(name, sizeof name, n != 0 ? "d%s/d%s" : "%s", of, argv[7]);
  if (st >= 0) st = cpl_require_variable(ctx, cpl_component_description(c), name, &var);
  if (st >= 0)
    st = cpl_component_get_real(cpl_stepper_component(s),
                                &cpl_component_description(c)->vars[var].ref, 1, &last);
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  else printf("%g evaluations, %s = %.17g\n", evaluations(c) / runs, name, last);
  cpl_experiment_destroy(e);
  cpl_context_destroy(ctx);
  return st < 0;
}
