// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A line without damping keeps energy: with F = c - Z v and w = 2 Z v - c what a mass gains is what
// arrived less what left, F v = (c^2 - w^2) / 4Z. So the energy of the masses and of the waves
// under way, the integral of w^2 / 4Z, is constant.
#include <math.h>

#include "lines.h"
#include "tlm/tlm.h"

// Gauss' rule is exact for the square of a cubic polynomial; pieces are half a delay long.
static double wave_energy(const cpli_tlm_end* e, double t) {
  static const double x[] = {-0.86113631159405258, -0.33998104358485626, 0.33998104358485626,
                             0.86113631159405258};
  static const double weight[] = {0.34785484513745386, 0.65214515486254614, 0.65214515486254614,
                                  0.34785484513745386};
  double sum = 0, half = 0.25 * e->delay;
  for (int i = 0; i < 8; i++) {
    double at = t - e->delay + (i < 4 ? 1 : 3) * half + x[i % 4] * half;
    cpli_segment s;
    cpli_wave_span(&e->sent, at, at + 1e-3 * half, 0, 1, &s);
    double w = cpli_segment_at(&s, 0, at);
    sum += weight[i % 4] * half * w * w / (4 * e->z[0]);
  }
  return sum;
}

// Two masses of 1 kg on a spring of 1000 N/m, the left one with v = 1, for 5 s: 35 periods. The
// largest deviation of the energy from what it was, 0.5 J in the mass and the profile in the line.
static double drift(cpl_solver_kind kind, double rtol, double delay) {
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &mass_model, i == 0 ? "left" : "right");
    if (i == 0) bench_start(b.ctx, &m->base, "v", 1);
    int32_t part = bench_part(&b, m, false);
    b.parts[part].solver.kind = kind;
    b.parts[part].solver.rtol = rtol;
    ends[i] = bench_interface(&b, part, "end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], delay, 1000 * delay, 0);
  bench_begin(&b, 5);
  const cpli_tlm* m = (const cpli_tlm*)b.s;
  double worst = 0, first = 0.5 + 2 * 1000 * delay * delay / 12;
  for (int i = 1; i <= 50; i++) {  // where pieces end: all waves are sent
    bench_step(&b, 0.1 * i);
    double left = bench_value(&b, "left.v"), right = bench_value(&b, "right.v");
    double energy = 0.5 * (left * left + right * right);
    for (int k = 0; k < 2; k++) energy += wave_energy(&m->ends[k], 0.1 * i);
    worst = fmax(worst, fabs(energy - first));
  }
  bench_end(&b);
  return worst;
}

// Methods of one step begin anew with every piece: what is left is the error of cubic waves. It is
// of fifth order in the delay.
static void energy_is_conserved_to_fifth_order(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    double coarse = drift(kinds[i], 1e-10, 1e-2), middle = drift(kinds[i], 1e-10, 5e-3),
           fine = drift(kinds[i], 1e-10, 1e-3);
    print_message("%s: %.3g %.3g %.3g\n", cpl_solver_name(kinds[i]), coarse, middle, fine);
    CHECK(coarse < 5e-6);
    CHECK(coarse / middle > 27 && coarse / middle < 37);
    CHECK(fine < 5e-11);
  }
}

// Methods that look back over several pieces, and step over two of them, find that derivatives jump
// where those meet, and control that error: it goes with the tolerance.
static void multistep_methods_lose_by_their_tolerance(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_ADAMS, CPL_SOLVER_IDA};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++) {
    double loose = drift(kinds[i], 1e-4, 1e-2), usual = drift(kinds[i], 1e-6, 1e-2),
           fine = drift(kinds[i], 1e-8, 1e-2);
    print_message("%s: %.3g %.3g %.3g\n", cpl_solver_name(kinds[i]), loose, usual, fine);
    CHECK(loose < 5e-2 && usual < 1.5e-3 && fine < 3e-5);
    CHECK(drift(kinds[i], 1e-12, 1e-3) < 5e-8);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(energy_is_conserved_to_fifth_order),
    cmocka_unit_test(multistep_methods_lose_by_their_tolerance),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
