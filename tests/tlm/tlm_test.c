// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "lines.h"

//------------------------------------ two masses ------------------------------------

typedef struct two {
  double delay, alpha;
  bool stepper, compensate;
  cpl_tlm_hold hold;
  cpl_solver_kind solver;
  int substeps, threads;
  bool processes;
} two;

// Two masses of 1 kg, the left one with v = 1, on a line that is a spring of 1000 N/m.
static bench two_masses(const two* how) {
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &mass_model, i == 0 ? "left" : "right");
    if (i == 0) bench_start(b.ctx, &m->base, "v", 1);
    int32_t part = bench_part(&b, m, how->stepper);
    b.parts[part].hold = how->hold;
    b.parts[part].substeps = how->substeps;
    b.parts[part].solver.kind = how->solver;
    ends[i] = bench_interface(&b, part, "end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], how->delay, 1000 * how->delay, how->alpha);
  b.lines[0].compensate = how->compensate;
  b.def.threads = how->threads;
  b.def.processes = how->processes;
  return b;
}

// The largest error of the speed over 1 s, against the spring without mass.
static double spring_error(const two* how, double stiffness) {
  bench b = two_masses(how);
  double worst = 0, w = sqrt(2 * stiffness);
  bench_begin(&b, 1);
  for (int i = 1; i <= 200; i++) {
    double t = i * 0.005;
    bench_step(&b, t);
    worst = fmax(worst, fabs(bench_value(&b, "left.v") - (0.5 + 0.5 * cos(w * t))));
    worst = fmax(worst, fabs(bench_value(&b, "right.v") - (0.5 - 0.5 * cos(w * t))));
  }
  bench_end(&b);
  return worst;
}

static void check_second_order(two how, double coarse, double fine) {
  how.delay = 1e-3;
  double first = spring_error(&how, 1000);
  how.delay = 1e-4;
  double second = spring_error(&how, 1000);
  print_message("errors %.3g %.3g\n", first, second);
  CHECK(first <= coarse);
  CHECK(second <= fine);
  CHECK(first / second > 90 && first / second < 110);
}

static void models_are_second_order(void** state) {
  (void)state;
  check_second_order((two){0}, 2e-3, 2e-5);
}

static void held_in_the_middle_is_second_order(void** state) {
  (void)state;
  check_second_order((two){.stepper = true}, 2e-3, 2e-5);
}

static void input_derivatives_are_second_order(void** state) {
  (void)state;
  check_second_order((two){.stepper = true, .hold = CPL_TLM_HOLD_LINEAR}, 2.5e-3, 2.5e-5);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(models_are_second_order),
    cmocka_unit_test(held_in_the_middle_is_second_order),
    cmocka_unit_test(input_derivatives_are_second_order),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
