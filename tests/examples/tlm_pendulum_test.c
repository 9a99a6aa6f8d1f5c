// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The example tlm_double_pendulum against the pendulum in one piece.
#include "lines_running.h"

// Writes variant.xml with another line.
static void change_line(const char* delay, const char* zf, const char* zfr) {
  char command[512];
  snprintf(command, sizeof command,
           "sed 's/Zf=\"[^\"]*\"/Zf=\"%s\"/; s/Zfr=\"[^\"]*\"/Zfr=\"%s\"/; "
           "s/Delay=\"[^\"]*\"/Delay=\"%s\"/' "
           "tlm_double_pendulum/doublePendulum.xml > tlm_double_pendulum/variant.xml",
           zf, zfr, delay);
  CHECK_INT(system(command), 0);
}

// Of the pendulum in one piece, by t.
static double first_angle(int t) { return t == 1 ? -1.350261778 : -0.810277537; }
static double second_angle(int t) { return t == 1 ? -1.878478451 : -2.469504376; }

// The errors of the second angle at t = 1 and at `stop`.
static void pendulum_errors(cpl_context* ctx, const char* delay, const char* zf, const char* zfr,
                            int stop, const char* options, double* out) {
  change_line(delay, zf, zfr);
  if (couplet("run tlm_double_pendulum/variant.xml -o out.csv --stop-time %d --interval 0.1 %s",
              stop, options) != 0)
    check_message("\n\n");
  cpl_table* t = read_table(ctx, "out.csv");
  for (int i = 0; i < 2; i++) {
    int when = i == 0 ? 1 : stop;
    out[i] = fabs(at(t, "doublePendulum2.phi2", when) - second_angle(when));
    CHECK_NEAR(at(t, "doublePendulum1.phi", when), first_angle(when), 0.9 * out[i] + 1e-3);
  }
  cpl_table_destroy(t);
}

static void pendulum(void** state) {
  double coarse[2], fine[2];
  prepare_pendulum();
  pendulum_errors(*state, "1e-4", "100", "1", 1, "--rtol 1e-8", coarse);
  pendulum_errors(*state, "5e-5", "100", "1", 1, "--rtol 1e-8", fine);
  CHECK_NEAR(coarse[0], 5e-3, 5e-4);
  CHECK_NEAR(coarse[0] / fine[0], 2, 0.1);
  check_same_bytes("tlm_double_pendulum/variant.xml",
                   "--stop-time 1 --interval 0.1 --rtol 1e-8 --threads 2");
}

// Both halves as models, by a method with a fixed step: as accurate, and faster. The line adds a
// mass of Zf delay and gives way by delay / Zf: the error is a sum of the two.
static void pendulum_errors_follow_theory(void** state) {
  static const char run[] = "--solver RungeKutta";
  double soft[2], middle[2], stiff[2], fine[2], finest[2];
  prepare_pendulum();
  CHECK_INT(system("sed -i /substeps/d tlm_double_pendulum/doublePendulum1/fmi.config"), 0);
  pendulum_errors(*state, "1e-4", "10", "0.1", 1, run, soft);
  pendulum_errors(*state, "1e-4", "1000", "10", 1, run, stiff);
  pendulum_errors(*state, "1e-4", "100", "1", 3, run, middle);
  pendulum_errors(*state, "5e-5", "100", "1", 3, run, fine);
  pendulum_errors(*state, "2e-5", "30", "0.3", 3, run, finest);
  double mass = (stiff[0] - 0.01 * soft[0]) / (0.1 - 1e-5), give = (soft[0] - 0.001 * mass) / 1e-5;
  print_message("errors at 1: %.3g Zf delay + %.3g delay / Zf; at 3: %.3g %.3g %.3g\n", mass, give,
                middle[1], fine[1], finest[1]);
  CHECK_NEAR(middle[0] / (0.01 * mass + 1e-6 * give), 1, 0.04);
  CHECK_NEAR(middle[0] / fine[0], 2, 0.02);
  CHECK_NEAR(middle[1] / fine[1], 2, 0.05);
  CHECK(fabs(2 * fine[1] - middle[1]) < 2e-3);  // without the first order
  CHECK(finest[1] < 1.3e-2);
}

// The values of the framework's report add 1 kg: with short steps of the half rod it runs, with
// long ones it is said why not.
static void pendulum_of_the_report(void** state) {
  prepare_pendulum();
  double error[2];
  change_line("1e-4", "10000", "100");
  CHECK_INT(couplet("run tlm_double_pendulum/variant.xml -o out.csv --stop-time 1"), 1);
  check_message("doublePendulum1.tlm oscillates with growing amplitude");
  CHECK_INT(
      system("sed -i 's/substeps, 2/substeps, 10/' tlm_double_pendulum/doublePendulum1/fmi.config"),
      0);
  pendulum_errors(*state, "1e-4", "10000", "100", 1, "", error);
  CHECK_NEAR(error[0], 0.356, 0.01);
  CHECK_INT(couplet("tlm inspect tlm_double_pendulum/variant.xml"), 0);
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "warning: the line adds a mass of 1 kg");
  free(text);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(pendulum, make_context, drop_context),
    cmocka_unit_test_setup_teardown(pendulum_errors_follow_theory, make_context, drop_context),
    cmocka_unit_test_setup_teardown(pendulum_of_the_report, make_context, drop_context),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
