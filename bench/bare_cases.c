// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for studies: a loop over the calls of the library that set and step one case after the
// other, without measures, results, journal or workers. "bare_cases FILE NAME FIRST LAST N STOP
// OUTPUT" sets the parameter NAME to N values and prints the sum of the last values of OUTPUT.
#include <stdio.h>
#include <stdlib.h>

#include "couplet/couplet.h"

typedef struct bare {
  cpl_stepper* stepper;
  cpl_component* c;
  uint32_t parameter, output;
} bare;

static cpl_status run_case(const bare* b, double value, double stop, double* last) {
  cpl_setup setup = cpl_default_setup();
  cpl_step_result result = {.time = 0};
  setup.has_stop_time = true;
  setup.stop_time = stop;
  cpl_status st = cpl_component_reset(b->c);
  if (st >= 0) st = cpl_component_set_real(b->c, &b->parameter, 1, &value);
  if (st >= 0) st = cpl_component_setup(b->c, &setup);
  if (st >= 0) st = cpl_component_enter_init(b->c);
  if (st >= 0) st = cpl_component_exit_init(b->c);
  while (st >= 0 && result.time < stop) st = cpl_stepper_step(b->stepper, stop, stop, &result);
  return st < 0 ? st : cpl_component_get_real(b->c, &b->output, 1, last);
}

static cpl_status reference_of(const bare* b, const char* name, uint32_t* out) {
  const cpl_description* desc = cpl_component_description(b->c);
  int32_t i;
  cpl_status st = cpl_require_variable(cpl_component_context(b->c), desc, name, &i);
  if (st >= 0) *out = desc->vars[i].ref;
  return st;
}

int main(int argc, char** argv) {
  if (argc != 8)
    return fprintf(stderr, "usage: %s FILE NAME FIRST LAST N STOP OUTPUT\n", argv[0]), 2;
  const double first = atof(argv[3]), span = atof(argv[4]) - first, stop = atof(argv[6]);
  const int n = atoi(argv[5]);
  double sum = 0;
  cpl_context* ctx = cpl_context_create(NULL);
  cpl_experiment* e = NULL;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = argv[1];
  cpl_status st = cpl_experiment_create(ctx, &settings, &e);
  if (st >= 0) st = cpl_experiment_prepare(e);
  bare b = {.stepper = st >= 0 ? cpl_experiment_stepper(e) : NULL};
  if (st >= 0) {
    b.c = cpl_stepper_component(b.stepper);
    st = reference_of(&b, argv[2], &b.parameter);
  }
  if (st >= 0) st = reference_of(&b, argv[7], &b.output);
  for (int i = 0; i < n && st >= 0; i++) {
    double last = 0;
    st = run_case(&b, first + span * i / (n - 1), stop, &last);
    sum += last;
  }
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  else printf("%.17g\n", sum);
  cpl_experiment_destroy(e);
  cpl_context_destroy(ctx);
  return st < 0;
}
