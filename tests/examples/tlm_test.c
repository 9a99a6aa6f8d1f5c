// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems with delay lines: tlm_spring, tlm_tree, tlm_drive_train and tlm_hydraulic, against
// equations integrated here or written down.
#include "lines_running.h"

static void run_example(const char* name, const char* options) {
  copy_example(name);
  if (couplet("run %s/%s.yaml -o out.csv %s", name, name, options) != 0) check_message("\n\n");
}

static void spring(void** state) {
  run_example("tlm_spring", "");
  cpl_table* t = read_table(*state, "out.csv");
  double worst = 0;
  for (size_t i = 0; i < t->n_rows; i++)
    worst = fmax(worst, fabs(column(t, "left.v")[i] - 0.5 - 0.5 * cos(sqrt(2000) * t->time[i])));
  CHECK(worst > 1e-6 && worst < 2e-5);
  cpl_table_destroy(t);
  CHECK_INT(couplet("tlm inspect tlm_spring/tlm_spring.yaml"), 0);
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "stiffness k = Zf / delay     1000 N/m");
  CHECK_CONTAINS(text, "parasitic mass Zf * delay    1e-05 kg");
  CHECK_CONTAINS(text, "first standing wave          5000 Hz");
  CHECK_CONTAINS(text, "mass felt at its ends        1, 1 kg");
  CHECK(strstr(text, "warning") == NULL);
  free(text);
}

//------------------------------------ tree ------------------------------------

enum { NODES = 20 };

static void tree_rates(const double* s, double* d) {
  memset(d, 0, 2 * NODES * sizeof *d);
  for (int i = 0; i < NODES; i++) d[i] = s[NODES + i];
  for (int i = 2; i <= NODES; i++) {
    double f = 1000 * (s[i - 1] - s[i / 2 - 1]);
    d[NODES + i / 2 - 1] += f;
    d[NODES + i - 1] -= f;
  }
}

static void rk4(double* s, int n, double h, void (*rates)(const double*, double*)) {
  double k[4][64], x[64];
  static const double part[] = {0, 0.5, 0.5, 1};
  for (int i = 0; i < 4; i++) {
    for (int j = 0; j < n; j++) x[j] = s[j] + (i > 0 ? part[i] * h * k[i - 1][j] : 0);
    rates(x, k[i]);
  }
  for (int j = 0; j < n; j++) s[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
}

// Second order: a tenth of the delay, a hundredth of the error.
static void tree(void** state) {
  double s[2 * NODES] = {[NODES] = 1}, error[2];
  for (int i = 0; i < 1000; i++) rk4(s, 2 * NODES, 1e-3, tree_rates);
  run_example("tlm_tree", "");
  check_same_bytes("tlm_tree/tlm_tree.yaml", "--threads 4");
  check_same_bytes("tlm_tree/tlm_tree.yaml", "--threads 1");
  check_same_bytes("tlm_tree/tlm_tree.yaml", "--processes");
  for (int fine = 0; fine < 2; fine++) {
    if (fine == 1) {
      CHECK_INT(system("sed -i 's/delay: 1e-3/delay: 2e-4/' tlm_tree/tlm_tree.yaml"), 0);
      CHECK_INT(couplet("run tlm_tree/tlm_tree.yaml -o out.csv"), 0);
    }
    cpl_table* t = read_table(*state, "out.csv");
    error[fine] =
        fmax(fabs(at(t, "m01.v", 1) - s[NODES]),
             fmax(fabs(at(t, "m10.v", 1) - s[NODES + 9]), fabs(at(t, "m20.v", 1) - s[NODES + 19])));
    cpl_table_destroy(t);
  }
  CHECK(error[0] < 5e-3);
  CHECK(error[0] / error[1] > 20 && error[0] / error[1] < 30);
}

//------------------------------------ drive train ------------------------------------

enum { STEPS = 100000 };
static double heard;  // the speed of the engine, 0.02 s ago
static bool locked;

// Engine, discs, twist of the shaft; its stiffness is Zf / delay.
static void train_rates(const double* s, double* d) {
  double torque = 1e4 * s[3], throttle = fmin(1, fmax(0, (60 - heard) / 20));
  d[0] = (100 * throttle - torque) / 0.2;
  d[1] = locked ? torque / 1.05 : (torque - 150) / 0.05;
  d[2] = locked ? torque / 1.05 : 150;
  d[3] = s[0] - s[1];
}

static void drive_train(void** state) {
  static double past[STEPS + 1];
  double s[4] = {50, 50, 0, 0}, when = 0;
  locked = false;
  for (int i = 0; i < STEPS; i++) {
    past[i] = s[0];
    heard = i < 2000 ? 50 : past[i - 2000];
    rk4(s, 4, 1e-5, train_rates);
    if (!locked && s[1] <= s[2]) {
      locked = true;
      when = i * 1e-5;
      s[1] = s[2] = (0.05 * s[1] + s[2]) / 1.05;
    }
  }
  run_example("tlm_drive_train", "");
  check_same_bytes("tlm_drive_train/tlm_drive_train.yaml", "--threads 3");
  cpl_table* t = read_table(*state, "out.csv");
  check_same_bytes("tlm_drive_train/tlm_drive_train.yaml", "--processes");
  CHECK_NEAR(at(t, "clutch.w_out", 1), s[2], 0.1);
  CHECK(at(t, "clutch.w_in", 1) == at(t, "clutch.w_out", 1) ||
        fabs(at(t, "clutch.w_in", 1) - at(t, "clutch.w_out", 1)) < 1e-9);
  size_t i = 0;
  while (i < t->n_rows && column(t, "clutch.locked")[i] == 0) i++;
  CHECK(i < t->n_rows);
  CHECK_NEAR(t->time[i], when, 0.0101);
  cpl_table_destroy(t);
}

// The manual shows the example as it is.
static void the_manual_is_right(void** state) {
  (void)state;
  size_t n;
  char* example = read_all(test_path("examples/tlm_drive_train/tlm_drive_train.yaml"), &n);
  char* manual = read_all(test_path("docs/delay-lines.md"), &n);
  CHECK(strstr(manual, example) != NULL);
  free(example);
  free(manual);
}

//------------------------------------ hydraulics ------------------------------------

static void hydraulic(void** state) {
  run_example("tlm_hydraulic", "");
  cpl_table* t = read_table(*state, "out.csv");
  const double there = 4.0 / 6, back = 1.0 / 3;
  for (size_t i = 0; i < t->n_rows; i++) {
    double p = 0, share = 1e7 / 3 * (1 + there);
    bool jump = false;
    for (int n = 0; n < 20; n++, share *= there * back) {
      double arrives = 0.005 + (2 * n + 1) * 0.01;
      jump = jump || fabs(t->time[i] - arrives) < 1e-9;
      if (arrives < t->time[i]) p += share;
    }
    if (!jump) CHECK_NEAR(column(t, "load.p")[i], p, 1e-3);
  }
  cpl_table_destroy(t);
}

//------------------------------------ parts that fail ------------------------------------

static void write_mean_model(const char* deed) {
  char command[1024];
  snprintf(
      command, sizeof command,
      "sed -e 's|^enum.*|#define _GNU_SOURCE\\n#include <signal.h>\\n#include <unistd.h>\\n&|' -e "
      "'s|  dx.X. = v->x.V.;|  if (v->t > 0.5) %s;\\n&|' tlm_spring/mass.c > tlm_spring/mean.c",
      deed);
  CHECK_INT(system(command), 0);
  CHECK_INT(system("sed 's/right: {c: mass.c}/right: {c: mean.c}/; s/delay: 1e-4/delay: 1e-3/' "
                   "tlm_spring/tlm_spring.yaml > "
                   "tlm_spring/mean.yaml"),
            0);
}

static void a_killed_part_is_named(void** state) {
  copy_example("tlm_spring");
  write_mean_model("raise(SIGKILL)");
  CHECK_INT(couplet("run tlm_spring/mean.yaml --processes -o out.csv"), 1);
  check_message("right: at t=0.");
  check_message("signal 9");
  cpl_table* t = read_table(*state, "out.csv");  // what was computed is kept
  CHECK(t->time[t->n_rows - 1] >= 0.49 && t->time[t->n_rows - 1] <= 0.51);
  cpl_table_destroy(t);
}

static void a_part_that_stalls_ends_the_run(void** state) {
  (void)state;
  copy_example("tlm_spring");
  write_mean_model("pause()");
  CHECK_INT(couplet("run tlm_spring/mean.yaml --processes --call-timeout 2 -o out.csv"), 1);
  check_message("right: at t=0.");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(spring, make_context, drop_context),
    cmocka_unit_test_setup_teardown(tree, make_context, drop_context),
    cmocka_unit_test_setup_teardown(drive_train, make_context, drop_context),
    cmocka_unit_test(the_manual_is_right),
    cmocka_unit_test_setup_teardown(hydraulic, make_context, drop_context),
    cmocka_unit_test_setup_teardown(a_killed_part_is_named, make_context, drop_context),
    cmocka_unit_test(a_part_that_stalls_ends_the_run),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
