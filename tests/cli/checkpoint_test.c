// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run --checkpoint, --resume and --start-from: a run that was killed and goes on writes the
// bytes of one that was never stopped, which are also those of one without checkpoints; files that
// do not fit are refused; a run from a state with a changed parameter has the closed solution.
#include <math.h>

#include "command.h"

// A forced oscillator with events, stiff enough for an implicit method to have a history.
static const char swing_model[] = MODEL(
    "swing",
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {.name = \"v\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = 5 * (1 - v->x[0] * v->x[0]) * v->x[1] - v->x[0] + 0.1 * sin(3 * v->t);\n"
    "  return 0;\n"
    "}\n"
    "static int z(const cpl_values* v, double* out) {\n"
    "  out[0] = v->x[0];\n"
    "  return 0;\n"
    "}\n",
    ".states = x, .derivatives = f, .n_indicators = 1, .indicators = z, .stop_time = 20");

static int set_up(void** state) {
  (void)state;
  write_text("swing.c", swing_model);
  write_text("decay.c", decay_model);
  CHECK_CODE(0, "info", "swing.c");
  CHECK_CODE(0, "info", "decay.c");
  return 0;
}

// Every solver has checkpoints; those with a history are not changed by them.
static void checkpoints_do_not_change_results(void** state) {
  (void)state;
  static const char* const solvers[] = {"cvode",   "adams", "radau", "dopri5", "erk8",
                                        "esdirk5", "ida",   "rk4",   "heun",   "euler"};
  for (size_t i = 0; i < sizeof solvers / sizeof solvers[0]; i++) {
    const char* step = strcmp(solvers[i], "euler") == 0 ? "0.0005" : "0.01";
    CHECK_CODE(0, "run", "swing.c", "--solver", solvers[i], "--step", step, "-o", "plain.csv",
               "-q");
    CHECK_CODE(0, "run", "swing.c", "--solver", solvers[i], "--step", step, "-o", "all.csv", "-q",
               "--checkpoint", "c.state", "--every", "0.0000001");
    check_same_files("plain.csv", "all.csv");
  }
}

// Aggregates with loops and events, subsystems.
static void systems_are_not_changed(void** state) {
  (void)state;
  static const char* const systems[] = {"examples/loops/turns.yaml",
                                        "examples/two_masses/two_masses.yaml",
                                        "examples/pendulums_polar/pendulums_polar.yaml",
                                        "examples/ball_and_counter/ball_and_counter.yaml"};
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    const char* path = test_path(systems[i]);
    CHECK_CODE(0, "run", path, "-o", "plain.csv", "-q");
    CHECK_CODE(0, "run", path, "-o", "all.csv", "-q", "--checkpoint", "c.state", "--every",
               "0.0000001");
    check_same_files("plain.csv", "all.csv");
  }
}

// Runs until there is a checkpoint, and kills it there.
static void kill_during(const char* const* args, const char* checkpoint, double seconds) {
  unlink(checkpoint);
  int out = create("stdout.txt"), err = create("stderr.txt");
  pid_t pid = start_couplet(args, out, err);
  for (int i = 0; i < 6000 && access(checkpoint, R_OK) != 0; i++) pause_s(0.01);
  pause_s(seconds);
  kill(pid, SIGKILL);
  end_of(pid);
  close(out);
  close(err);
  CHECK(access(checkpoint, R_OK) == 0);
  CHECK(system("rm -rf tmp") == 0);  // of the process that was killed
}

static void killed_runs_resume(const char* model, const char* ending) {
  char plain[40], cut[40];
  snprintf(plain, sizeof plain, "plain.%s", ending);
  snprintf(cut, sizeof cut, "cut.%s", ending);
  CHECK_CODE(0, "run", model, "-o", plain, "-q");
  for (int i = 0; i < 4; i++) {
    unlink(cut);
    // paced by the clock, so that the run is in its middle somewhere
    kill_during((const char* const[]){"run", model, "-o", cut, "-q", "--checkpoint", "k.state",
                                      "--every", "0.0001", "--real-time", "10", NULL},
                "k.state", 0.2 * i + 0.05);
    CHECK_CODE(0, "run", model, "-o", cut, "-q", "--resume", "k.state");
    check_same_files(plain, cut);
  }
}

static void runs_resume_after_being_killed(void** state) {
  (void)state;
  killed_runs_resume("swing.c", "csv");
  killed_runs_resume("swing.c", "mat");
}

// Sampled controllers, events, delay lines, masters, tables of inputs, several forms of results.
// Each is killed, resumes and is killed again until it is done.
static const char* const killed[][8] = {
    {"examples/sampler/sampler.c"},
    {"examples/bouncing_ball/bouncing_ball.c", "--record", "*", "--units"},
    {"examples/tank_level/tank.c", "--input", "tank.csv", "--solver", "adams"},
    {"examples/tank_level/tank.c", "--input", "tank.csv", "--interval", "0.37", "--step", "0.1"},
    {"examples/dae/robertson.c", "--solver", "ida", "--rtol", "1e-8"},
    {"examples/diesel_engine/diesel_engine.yaml", "--record", "*"},
    {"examples/tlm_spring/tlm_spring.yaml"},
    {"examples/tlm_spring/tlm_spring.yaml", "--processes"},
    {"examples/two_mass_cosimulation/steppers.yaml"},
    {"examples/nail_pendulum/nail_pendulum.yaml"},
};

static void kill_until_done(size_t which, const char* ending) {
  const char* args[24];
  char plain[20], cut[20];
  int n = 2;
  snprintf(plain, sizeof plain, "plain.%s", ending);
  snprintf(cut, sizeof cut, "cut.%s", ending);
  args[0] = "run", args[1] = test_path(killed[which][0]);
  for (int i = 1; i < 8 && killed[which][i] != NULL; i++) args[n++] = killed[which][i];
  args[n++] = "-q", args[n++] = "-o", args[n++] = plain, args[n] = NULL;
  CHECK_INT(run_couplet(args), 0);
  unlink(cut);
  args[n - 1] = cut;
  static unsigned seed = 1;
  for (int i = 0; i < 3; i++) {
    static const char* const states[] = {"0.state", "1.state", "2.state"};
    int m = n;
    args[m++] = "--checkpoint", args[m++] = states[i];
    args[m++] = "--every", args[m++] = "0.001", args[m++] = "--real-time", args[m++] = "40";
    if (i > 0) args[m++] = "--resume", args[m++] = states[i - 1];
    args[m] = NULL;
    seed = seed * 1103515245u + 12345u;
    kill_during(args, states[i], (seed >> 16) % 100 * 1e-3);
  }
  args[n++] = "--resume", args[n++] = "2.state", args[n] = NULL;
  CHECK_INT(run_couplet(args), 0);
  check_same_files(plain, cut);
}

static void runs_are_killed_until_they_are_done(void** state) {
  (void)state;
  write_text("tank.csv", "time,opening\n0,0\n10,1\n10,0.2\n60,0.9\n61,0\n200,0.5\n");
  for (size_t i = 0; i < sizeof killed / sizeof killed[0]; i++)
    kill_until_done(i, i % 2 == 0 ? "csv" : "mat");
}

// Also in another file: the rows up to the checkpoint are copied.
static void results_may_go_elsewhere(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "swing.c", "-o", "plain.csv", "-q");
  kill_during((const char* const[]){"run", "swing.c", "-o", "cut.csv", "-q", "--checkpoint",
                                    "k.state", "--every", "0.0001", "--real-time", "10", NULL},
              "k.state", 0.3);
  CHECK_CODE(0, "run", "swing.c", "-o", "other.csv", "-q", "--resume", "k.state");
  check_same_files("plain.csv", "other.csv");
}

static void wrong_files_are_refused(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "swing.c", "-o", "all.csv", "-q", "--checkpoint", "c.state");
  size_t n;
  char* bytes = read_bytes("c.state", &n);
  for (size_t i = 0; i < n; i += n / 40 + 1) {
    bytes[i] ^= 0x10;
    write_bytes("bad.state", bytes, n);
    CHECK_CODE(2, "run", "swing.c", "-o", "all.csv", "-q", "--resume", "bad.state");
    CHECK(strlen(complained) > 0);
    bytes[i] ^= 0x10;
  }
  write_bytes("bad.state", bytes, n / 2);
  CHECK_FAILS_WITH(2, "is damaged", "run", "swing.c", "-o", "all.csv", "-q", "--resume",
                   "bad.state");
  free(bytes);
  CHECK_FAILS_WITH(2, "no checkpoint", "run", "swing.c", "-q", "--resume", "swing.c");
  CHECK_FAILS_WITH(2, "belongs to another run", "run", "decay.c", "-q", "--resume", "c.state");
  CHECK_FAILS_WITH(2, "solver: radau", "run", "swing.c", "-q", "--resume", "c.state", "--solver",
                   "radau");
  CHECK_FAILS_WITH(2, "rtol", "run", "swing.c", "-q", "--resume", "c.state", "--rtol", "1e-3");
  CHECK_FAILS_WITH(2, "derivatives: differences", "run", "swing.c", "-q", "--resume", "c.state",
                   "--no-ad");
  // the results were changed, or are not there
  CHECK_CODE(0, "run", "decay.c", "-o", "all.csv", "-q");
  CHECK_FAILS_WITH(2, "all.csv", "run", "swing.c", "-o", "all.csv", "-q", "--resume", "c.state");
  unlink("all.csv");
  CHECK_FAILS_WITH(2, "cannot go on", "run", "swing.c", "-o", "none.csv", "-q", "--resume",
                   "c.state");
}

static void options_are_checked(void** state) {
  (void)state;
  CHECK_FAILS_WITH(2, "--every", "run", "swing.c", "--every", "10min");
  CHECK_FAILS_WITH(2, "this is no time", "run", "swing.c", "--checkpoint", "c.state", "--every",
                   "soon");
  CHECK_FAILS_WITH(2, "--at", "run", "swing.c", "--at", "3");
  CHECK_FAILS_WITH(2, "standard output", "run", "swing.c", "--checkpoint", "c.state", "-o", "-");
  CHECK_FAILS_WITH(2, "/nowhere/c.state", "run", "swing.c", "--checkpoint", "/nowhere/c.state",
                   "-o", "all.csv");
}

// With u changed at t = 0.5: x' = -a x + u has the closed solution.
static void other_runs_start_from_a_state(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c", "-o", "warm.csv", "-q", "--stop", "0.4", "--rtol", "1e-10",
             "--checkpoint", "warm.state");
  CHECK_CODE(0, "run", "decay.c", "-o", "variant.csv", "-q", "--start-from", "warm.state", "--at",
             "0.5", "--stop", "2", "--set", "u=3", "--set", "a=2", "--rtol", "1e-10");
  const double x = exp(-0.5);
  CHECK_NEAR(last_value("variant.csv", 0), 2, 0);
  CHECK_NEAR(last_value("variant.csv", 1), 1.5 + (x - 1.5) * exp(-2 * 1.5), 1e-8);
  CHECK(strncmp(strchr(text_of("variant.csv"), '\n') + 1, "0.5,", 4) == 0);
  CHECK_FAILS_WITH(2, "cannot start from it", "run", "decay.c", "-q", "--start-from", "warm.state",
                   "--at", "0.3", "--rtol", "1e-10");
  CHECK_FAILS_WITH(2, "y is neither", "run", "decay.c", "-q", "--start-from", "warm.state", "--set",
                   "y=3", "--rtol", "1e-10");
}

// A run that has ended goes on beyond its stop time: the same steps where that is an end of a step.
static void a_warm_up_ends_anywhere(void** state) {
  (void)state;
  static const struct {
    const char *path, *middle, *stop;
    double accuracy;
  } cases[] = {{"examples/tlm_spring/tlm_spring.yaml", "0.1", "0.2", 0},
               {"examples/tlm_spring/tlm_spring.yaml", "0.10005", "0.2", 1e-6},
               {"examples/two_mass_cosimulation/steppers.yaml", "1", "2", 0},
               {"examples/two_modes/two_modes.yaml", "0.4", "2", 1e-6},
               {"examples/two_masses/two_masses.yaml", "1", "2", 1e-6}};
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const char* path = test_path(cases[i].path);
    CHECK_CODE(0, "run", path, "-o", "whole.csv", "-q", "--stop", cases[i].stop);
    CHECK_CODE(0, "run", path, "-o", "warm.csv", "-q", "--stop", cases[i].middle, "--checkpoint",
               "warm.state");
    CHECK_CODE(0, "run", path, "-o", "rest.csv", "-q", "--stop", cases[i].stop, "--start-from",
               "warm.state");
    for (int k = 0; k < 3; k++)
      CHECK_NEAR(last_value("rest.csv", k), last_value("whole.csv", k), cases[i].accuracy);
  }
}

// An FMU for co-simulation knows the stop time, and its state does, too.
static void fmus_go_on_beyond_their_stop_time(void** state) {
  (void)state;
  static const char* const versions[] = {"2", "3"};
  for (size_t i = 0; i < 2; i++) {
    CHECK_CODE(0, "build", "decay.c", "-o", "decay.fmu", "-q", "--fmi", versions[i]);
    CHECK_CODE(0, "run", "decay.fmu", "--as", "cs", "-o", "warm.csv", "-q", "--stop", "0.5",
               "--step", "0.1", "--rtol", "1e-10", "--checkpoint", "warm.state");
    CHECK_CODE(0, "run", "decay.fmu", "--as", "cs", "-o", "rest.csv", "-q", "--stop", "2", "--step",
               "0.1", "--rtol", "1e-10", "--start-from", "warm.state");
    CHECK_NEAR(last_value("rest.csv", 0), 2, 0);
    CHECK_NEAR(last_value("rest.csv", 1), exp(-2), 1e-7);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(checkpoints_do_not_change_results),
      cmocka_unit_test(systems_are_not_changed),
      cmocka_unit_test(runs_resume_after_being_killed),
      cmocka_unit_test(runs_are_killed_until_they_are_done),
      cmocka_unit_test(results_may_go_elsewhere),
      cmocka_unit_test(wrong_files_are_refused),
      cmocka_unit_test(options_are_checked),
      cmocka_unit_test(other_runs_start_from_a_state),
      cmocka_unit_test(a_warm_up_ends_anywhere),
      cmocka_unit_test(fmus_go_on_beyond_their_stop_time),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
