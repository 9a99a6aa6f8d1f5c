// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A step that is asked to end does so after the present pieces, also where no part has a solver
// that could see it.
#include <signal.h>
#include <unistd.h>

#include "lines.h"

// A mass that asks for the end when 0.1 s have passed, by a signal to the process of the test.
static cpl_context* cancelled;
static pid_t process;
static void cancel(int signal_number) {
  (void)signal_number;
  cpl_context_cancel(cancelled);
}
static int asking_derivatives(const cpl_values* v, double* dx) {
  if (v->t > 0.1) kill(process, SIGUSR1);
  return mass_derivatives(v, dx);
}
static const cpl_model_def asking_model = {.name = "asking",
                                           .states = mass_states,
                                           .inputs = mass_inputs,
                                           .parameters = mass_parameters,
                                           .derivatives = asking_derivatives};

static void run_cancelled(int32_t threads, bool processes) {
  bench b = {.ctx = test_context(), .def = cpl_default_tlm_def()};
  cancelled = b.ctx;
  int32_t ends[2];
  process = getpid();
  signal(SIGUSR1, cancel);
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, i == 0 ? &asking_model : &mass_model, i == 0 ? "a" : "b");
    int32_t part = bench_part(&b, m, true);
    ends[i] =
        bench_interface(&b, part, i == 0 ? "a.end" : "b.end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], 1e-3, 5, 0);
  b.def.threads = threads;
  b.def.processes = processes;
  bench_begin(&b, 1e9);
  cpl_step_result r;
  CHECK_INT(b.s->ops->step(b.s, 1e9, 1e9, &r), CPL_ERR_CANCELLED);
  CHECK_CONTAINS(cpl_context_error(b.ctx), ": interrupted at t=");
  signal(SIGUSR1, SIG_IGN);
  bench_end(&b);
}

static void steppers_end_when_asked(void** state) {
  (void)state;
  run_cancelled(1, false);
  run_cancelled(2, false);
  run_cancelled(2, true);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(steppers_end_when_asked)};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
