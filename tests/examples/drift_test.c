// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// examples/drift as a user runs it: constraints of C models, FMUs and system files.
#include "format/zip.h"
#include "running.h"

static double largest(const cpl_table* t, const char* name) {
  const double* v = column(t, name);
  double most = 0;
  for (size_t i = 0; i < t->n_rows; i++) most = fmax(most, fabs(v[i]));
  return most;
}

static double last(const cpl_table* t, const char* name) { return column(t, name)[t->n_rows - 1]; }

static cpl_table* result(cpl_context* ctx) { return read_table(ctx, "out.csv"); }

// The number behind a word in what --stats printed.
static double stat(const char* word) {
  size_t n;
  char* text = read_all("out.txt", &n);
  char* at = strstr(text, word);
  if (at == NULL) fail_msg("no %s in %s", word, text);
  double value = strtod(at + strlen(word), NULL);
  free(text);
  return value;
}

static void coupled_pendulums_keep_their_lengths(void** state) {
  static const char* const names[] = {"length_left", "length_right", "along_left", "along_right"};
  copy_example("drift");
  static const char* const how[] = {"", "--projection lazy", "--solver radau"};
  for (size_t k = 0; k < 3; k++) {
    CHECK_INT(couplet("run drift/coupled.yaml %s -o out.csv", how[k]), 0);
    cpl_table* t = result(*state);
    CHECK_NEAR(t->time[t->n_rows - 1], 100, 0);
    for (size_t i = 0; i < 4; i++) CHECK(largest(t, names[i]) <= 1e-8);
    cpl_table_destroy(t);
    if (k > 0) continue;
    must_do("build drift/driven.c -o drift/driven.fmu");  // from here on one is an FMU
    CHECK_INT(system("sed -i '/left:/s/c: driven.c/fmu: driven.fmu/' drift/coupled.yaml"), 0);
    CHECK_INT(system("grep -q 'fmu: driven.fmu' drift/coupled.yaml"), 0);
  }
  CHECK_INT(couplet("run drift/coupled.yaml --projection off -o out.csv"), 0);
  cpl_table* t = result(*state);
  CHECK(largest(t, "length_left") > 1e-4);
  cpl_table_destroy(t);
}

static void invariants_can_be_added_from_outside(void** state) {
  copy_example("drift");
  CHECK_INT(couplet("run drift/energy.yaml --stats -o out.csv"), 0);
  cpl_table* t = result(*state);
  CHECK(largest(t, "drift") <= 1e-5);
  CHECK(largest(t, "total") <= 1e-5);
  CHECK(stat("projections") > 10);
  cpl_table_destroy(t);
  CHECK_INT(couplet("run drift/energy.yaml --projection off -o out.csv"), 0);
  t = result(*state);
  CHECK(largest(t, "total") > 1e-4);
  cpl_table_destroy(t);
  CHECK_INT(couplet("run drift/energy.yaml --projection sometimes"), 2);
  check_message("--projection takes auto|lazy|every|events|off");
}

// Times as in the breaking pendulum of DySMo, with the tangential velocity kept.
static void a_rope_goes_slack_and_taut(void** state) {
  copy_example("drift");
  static const char* const how[] = {"drift/rope.c --solver cvode", "drift/rope.c --solver radau",
                                    "drift/rope.c --solver dopri5", "rope.fmu --solver cvode",
                                    "rope.fmu --solver radau"};
  must_do("build drift/rope.c -o rope.fmu");
  for (size_t k = 0; k < sizeof how / sizeof *how; k++) {
    must_do("run %s --rtol 1e-9 -o out.csv", how[k]);
    cpl_table* t = result(*state);
    const double *taut = column(t, "taut"), *x = column(t, "x"), *y = column(t, "y");
    double slack = 0, again = 0;
    for (size_t i = 1; i < t->n_rows; i++) {
      if (taut[i] == 0 && taut[i - 1] == 1 && slack == 0) slack = t->time[i];
      if (taut[i] == 1 && taut[i - 1] == 0) again = t->time[i];
      if (taut[i] == 1) CHECK_NEAR(hypot(x[i], y[i]), 2, 1e-8);
    }
    CHECK_NEAR(slack, 1.198645040320, 1e-6);
    CHECK_NEAR(again, 2.104838836980, 1e-6);
    cpl_table_destroy(t);
  }
}

static void redundant_rods_do_no_harm(void** state) {
  copy_example("drift");
  CHECK_INT(couplet("run drift/pendulum.c --solver radau --projection every --rtol 1e-8 "
                    "--stop-time 20 -o out.csv"),
            0);
  cpl_table* t = result(*state);
  double x = last(t, "x"), y = last(t, "y");
  cpl_table_destroy(t);
  static const char* const how[] = {"cvode --projection every", "radau", "dopri5"};
  for (size_t k = 0; k < 3; k++) {
    CHECK_INT(couplet("run drift/parallelogram.c --solver %s --rtol 1e-8 --stop-time 20 -o out.csv",
                      how[k]),
              0);
    t = result(*state);
    CHECK(largest(t, "drift") <= 1e-8);
    CHECK(largest(t, "phi") <= 1e-6);
    CHECK_NEAR(last(t, "x"), x, 2e-5);
    CHECK_NEAR(last(t, "y"), y, 2e-5);
    cpl_table_destroy(t);
  }
}

// But at the kinks of its table, at 5, 10, ... 25 s.
static void a_battery_needs_no_restarts(void** state) {
  copy_example("drift");
  CHECK_INT(couplet("run drift/battery.yaml --stop-time 30 --stats -o out.csv"), 0);
  double rhs = stat("right-hand sides"), jacobians = stat("Jacobians");
  CHECK_NEAR(stat("solver restarts"), 6, 0);
  cpl_table* t = result(*state);
  CHECK(largest(t, "battery.residual") < 1e-6);
  double charge = last(t, "battery.charge");
  CHECK(charge < 0.9 && charge > 0.8);
  cpl_table_destroy(t);
  CHECK_INT(couplet("run drift/battery.yaml --stop-time 30 --projection events --stats -o out.csv"),
            0);
  CHECK(stat("right-hand sides") > 4 * rhs);
  CHECK(stat("Jacobians") > 20 * jacobians);
  t = result(*state);
  CHECK_NEAR(last(t, "battery.charge"), charge, 1e-4);
  cpl_table_destroy(t);
}

static void fmus_bring_their_constraints(void** state) {
  copy_example("drift");
  CHECK_INT(couplet("run drift/pendulum.c --solver radau --stop-time 30 -o out.csv"), 0);
  cpl_table* t = result(*state);
  double x = last(t, "x");
  cpl_table_destroy(t);
  static const char* const how[] = {"--fmi 2", "--fmi 3", "--fmi 2 --constraint-attributes",
                                    "--fmi 3 --constraint-attributes"};
  for (size_t k = 0; k < 4; k++) {
    CHECK_INT(couplet("build drift/pendulum.c %s -o p.fmu", how[k]), 0);
    CHECK_INT(couplet("check p.fmu"), 0);
    CHECK_INT(couplet("run p.fmu --solver radau --stop-time 30 --stats -o out.csv"), 0);
    t = result(*state);
    CHECK(largest(t, "drift") <= 1e-4);
    CHECK_NEAR(last(t, "x"), x, 1e-2);
    CHECK(stat("projections") > 3);
    cpl_table_destroy(t);
    CHECK_INT(couplet("run p.fmu --isolate --projection every --stop-time 10 -o out.csv"), 0);
    t = result(*state);
    CHECK(largest(t, "drift") <= 1e-8);
    cpl_table_destroy(t);
    CHECK_INT(couplet("run p.fmu --solver radau --projection off --stop-time 30 -o out.csv"), 0);
    t = result(*state);
    CHECK(largest(t, "drift") > 1e-3);  // as in a tool that does not know the extension
    cpl_table_destroy(t);
    CHECK_INT(couplet("run p.fmu --as cs --stop-time 10 -o out.csv"), 0);
    t = result(*state);
    CHECK(largest(t, "drift") <= 1e-8);  // its own solver projects
    cpl_table_destroy(t);
  }
}

typedef struct numbers {
  double drift, energy;  // largest
  double position;       // off at the end, if that is at 300 s
  double evaluations;    // right-hand sides
  double all;            // with those for Jacobians, of which each needs one a state
} numbers;

static numbers measure(cpl_context* ctx, const char* what, const char* how) {
  static const double x = -0.510365605188, y = -0.859957527464;  // as the angle moves, by RK4
  must_do("run %s %s --stats -o out.csv", what, how);
  cpl_table* t = result(ctx);
  numbers n = {.drift = largest(t, "drift"),
               .energy = largest(t, "energy"),
               .position = hypot(last(t, "x") - x, last(t, "y") - y),
               .evaluations = stat("right-hand sides")};
  n.all = n.evaluations + 4 * stat("Jacobians");
  cpl_table_destroy(t);
  return n;
}

#define FINE " --rtol 1e-5 --atol 1e-5 --step 0.1 --stop-time 300 --projection "

// As a C model and as an FMU of both versions; the points of the results lie between the steps.
static void the_numbers_of_the_document(void** state) {
  static const char* const what[] = {"drift/pendulum.c", "p2.fmu", "p3.fmu"};
  copy_example("drift");
  must_do("build drift/pendulum.c --fmi 2 -o p2.fmu");
  must_do("build drift/pendulum.c --fmi 3 -o p3.fmu");
  for (size_t k = 0; k < 3; k++) {
    numbers off = measure(*state, what[k], "--solver radau --projection off");
    numbers lazy = measure(*state, what[k], "--solver radau --projection lazy");
    CHECK(lazy.drift <= 1e-4);
    CHECK(off.drift >= 100 * lazy.drift);
    CHECK(lazy.evaluations <= 1.05 * off.evaluations);
    CHECK(measure(*state, what[k], "--solver radau" FINE "lazy").energy <= 9e-3);
    numbers three = measure(*state, what[k], "--solver radau --set constrained=3" FINE "lazy");
    CHECK(three.energy <= 1e-5);
    three = measure(*state, what[k], "--solver radau --set constrained=3" FINE "every");
    CHECK(three.drift <= 1e-9);
    CHECK(three.energy <= 1e-8);
    CHECK(three.position <= 3e-5);
  }
}

// The ratio grows with the tolerance's inverse: 51 here, 45 at 1.2e-5; with the evaluations that
// Jacobians need after every restart it is 72.
static void step_events_cost_fifty_times_as_much(void** state) {
  copy_example("drift");
  must_do("build drift/pendulum.c -o p.fmu");
  numbers inside = measure(*state, "p.fmu", "--solver cvode" FINE "every");
  CHECK(inside.drift <= 1e-9);
  must_do("run p.fmu --solver cvode" FINE "events --stats --record drift -o many.csv");
  double evaluations = stat("right-hand sides"), all = evaluations + 4 * stat("Jacobians");
  CHECK(evaluations >= 50 * inside.evaluations);
  CHECK(all >= 60 * inside.all);
}

// Whatever an FMU offers is used: the same FMU, unpacked, with other words in its description.
static void less_is_offered(cpl_context* ctx, const char* attributes, double most) {
  char command[1024];
  snprintf(command, sizeof command,
           "sed -i 's/providesProjection=.*providesConstraints=\"[a-zA-Z]*\"/%s/' "
           "unpacked/modelDescription.xml",
           attributes);
  CHECK_INT(system(command), 0);
  static const char* const solvers[] = {"radau", "cvode"};
  for (size_t k = 0; k < 2; k++) {
    CHECK_INT(
        couplet("run unpacked --solver %s --projection every --stop-time 20 --stats -o out.csv",
                solvers[k]),
        0);
    CHECK(stat("projections") > 100);
    cpl_table* t = result(ctx);
    CHECK(largest(t, "drift") <= most);
    CHECK(largest(t, "along") <= most);
    cpl_table_destroy(t);
  }
}

// Without residuals nobody sees how far the drift is.
static void steps_alone_keep_the_tolerance(cpl_context* ctx) {
  CHECK_INT(
      couplet("run unpacked --solver radau --rtol 1e-4 --atol 1e-4 --stop-time 60 -o out.csv"), 0);
  cpl_table* t = result(ctx);
  CHECK(largest(t, "drift") <= 1e-4);
  CHECK(largest(t, "along") <= 1e-4);
  cpl_table_destroy(t);
}

static void an_fmu_of_another_size(void** state) {
  cpl_context* ctx = *state;
  static const char* const solvers[] = {"radau", "cvode", "dopri5"};
  copy_example("drift");
  CHECK_INT(couplet("build drift/pendulum.c -o p.fmu"), 0);
  for (size_t k = 0; k < CPLI_COUNT(solvers); k++) {
    CHECK_INT(
        couplet("run p.fmu --solver %s --projection every --set L=3e5 --set x=3e5 --set g=2e6 "
                "--set constrained=3 --stop-time 20 -o out.csv",
                solvers[k]),
        0);
    cpl_table* t = result(ctx);
    CHECK(largest(t, "drift") <= 1e-12 * 9e10);
    cpl_table_destroy(t);
  }
}

static void the_best_that_is_offered_is_used(void** state) {
  cpl_context* ctx = *state;
  cpli_zip* zip = NULL;
  const char* everything[] = {""};
  copy_example("drift");
  CHECK_INT(couplet("build drift/pendulum.c -o p.fmu"), 0);
  CHECK_INT(system("rm -rf unpacked && mkdir unpacked"), 0);
  CHECK_OK(ctx, cpli_zip_open(ctx, "p.fmu", NULL, &zip));
  CHECK_OK(ctx, cpli_zip_extract(zip, everything, 1, "unpacked"));
  cpli_zip_close(zip);
  less_is_offered(ctx, "providesProjection=\"true\" providesConstraints=\"false\"", 1e-6);
  less_is_offered(ctx,
                  "providesProjection=\"false\" providesProjectionStep=\"true\" "
                  "providesConstraints=\"false\"",
                  1e-6);
  steps_alone_keep_the_tolerance(ctx);
  less_is_offered(ctx, "providesProjection=\"false\" providesConstraints=\"withJacobian\"", 1e-12);
  less_is_offered(ctx, "providesProjection=\"false\" providesConstraints=\"true\"", 1e-12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(coupled_pendulums_keep_their_lengths),
      cmocka_unit_test(invariants_can_be_added_from_outside),
      cmocka_unit_test(a_rope_goes_slack_and_taut),
      cmocka_unit_test(redundant_rods_do_no_harm),
      cmocka_unit_test(a_battery_needs_no_restarts),
      cmocka_unit_test(fmus_bring_their_constraints),
      cmocka_unit_test(the_numbers_of_the_document),
      cmocka_unit_test(step_events_cost_fifty_times_as_much),
      cmocka_unit_test(the_best_that_is_offered_is_used),
      cmocka_unit_test(an_fmu_of_another_size),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
