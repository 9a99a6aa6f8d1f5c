// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet run under mpirun: the same bytes as without it for any number of ranks, and what happens
// when a model or a rank fails.
#include <signal.h>

#include "mpirun.h"

// x' = -k x + u / 10 + sin(10 t). what: 1: it crashes after t=1; 2: it ends its process; 3: it
// kills its process; 4: it does not return, and says so in the file `hangs`; 5: it fails.
static const char slow[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "#include <signal.h>\n"
    "#include <stdio.h>\n"
    "#include <stdlib.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1}, {\"what\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  const double what = v->t > 1 ? v->p[1] : 0;\n"
    "  if (what == 1) *(volatile int*)0 = 1;\n"
    "  if (what == 2) exit(7);\n"
    "  if (what == 3) kill(getpid(), SIGKILL);\n"
    "  if (what == 4) {\n"
    "    fclose(fopen(\"hangs\", \"w\"));\n"
    "    for (;;) pause();\n"
    "  }\n"
    "  if (what == 5) return cpl_model_error(v, \"x is %g\", v->x[0]);\n"
    "  dx[0] = -v->p[0]*v->x[0] + 0.1*v->u[0] + sin(10*v->t);\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"slow\", .states = states, .inputs = inputs,\n"
    "  .parameters = parameters, .derivatives = f};\n";

static const char ring[] =
    "couplet: 1\n"
    "name: ring\n"
    "models: {a: {c: slow.c}, b: {c: slow.c}, c: {c: slow.c}, d: {c: slow.c}}\n"
    "connections: {b.u: a.x, c.u: b.x, d.u: c.x, a.u: d.x}\n"
    "experiment: {stop: 2, interval: 0.1}\n";

// FMUs of both kinds, a nested system, text and a rollback of steps.
static const char mixed[] =
    "couplet: 1\n"
    "name: mixed\n"
    "models:\n"
    "  p: {fmu: slow.fmu, as: cs}\n"
    "  q: {fmu: slow.fmu, as: cs}\n"
    "  inner: {system: ring.yaml}\n"
    "  r: {fmu: slow.fmu, as: me, start: {k: 3}}\n"
    "connections: {p.u: r.x, q.u: p.x, r.u: q.x}\n"
    "master: {step: 0.01}\n"
    "experiment: {stop: 0.2, interval: 0.05}\n";

// With all types, a state event, time events and texts.
static const char probes[] =
    "couplet: 1\n"
    "name: probes\n"
    "models:\n"
    "  left: {fmu: probe.fmu, start: {n: 100, x1: 2, label: a text}}\n"
    "  right: {fmu: probe.fmu, start: {n: 100}}\n"
    "connections: {left.u: 0.3*(right.x1 - left.x1)}\n"
    "experiment: {stop: 2, interval: 0.01}\n";

static void write_systems(void) {
  use_folders();
  write_text("slow.c", slow);
  write_text("ring.yaml", ring);
  write_text("mixed.yaml", mixed);
}

static int run_ranks(int ranks, const char* args) {
  char all[2048];
  snprintf(all, sizeof all, "-n %d %%s run %s", ranks, args);
  return mpirun(all);
}

// Where rank 0 has told what it has to tell when it ends: mpirun need not wait for the others.
#define AT_ONCE "--mca odls_base_sigkill_timeout 0 "

static int run_ranks_at_once(int ranks, const char* args) {
  char all[2048];
  snprintf(all, sizeof all, AT_ONCE "-n %d %%s run %s", ranks, args);
  return mpirun(all);
}

//------------------------------------ the same bytes ------------------------------------

static void check_file(const char* file, const char* options, const int* ranks, int n) {
  char args[1024];
  snprintf(args, sizeof args, "'%s' run %s %s -q -o alone.csv", getenv("COUPLET"), file, options);
  if (system(args) != 0) fail_msg("%s fails", args);
  char* expected = strdup(text_of("alone.csv"));
  CHECK(count_of(expected, "\n") > 3);
  for (int i = 0; i < n; i++) {
    unlink("ranks.csv");
    snprintf(args, sizeof args, "%s %s -o ranks.csv --progress none", file, options);
    const int code = run_ranks(ranks[i], args);
    if (code != 0)
      fail_msg("%s with %d ranks: exit code %d: %s", file, ranks[i], code, text_of("mpi.err"));
    if (strcmp(text_of("ranks.csv"), expected) != 0)
      fail_msg("%s: other results with %d ranks", file, ranks[i]);
    CHECK_INT(count_of(text_of("mpi.out"), "-> ranks.csv"), 1);
    CHECK_STR(text_of("mpi.err"), "");
  }
  free(expected);
}

static void the_same_bytes_for_any_number_of_ranks(void** state) {
  (void)state;
  static const int some[] = {1, 2, 5}, two[] = {2}, numbers[] = {2, 3, 5};
  static const struct {
    const char *file, *options;
  } examples[] = {
      {"two_masses/two_masses.yaml", "--stop 2"},  // models in C with events
      {"pendulum_on_cart/pendulum_on_cart.yaml", "--stop 0.1 --interval 0.01"},
      {"cs_loop/steppers.yaml", "--stop 1"},  // a master with a loop
      {"tlm_spring/tlm_spring.yaml", "--stop 0.02"},
      {"ball_on_table/ball_on_table.yaml", "--stop 1"},  // modes in an aggregate
      {"loops/as_rows.yaml", "--stop 0.1 --interval 0.01"},
  };
  if (!have_mpi()) return;
  write_systems();
  CHECK_INT(COUPLET("build", "slow.c", "-o", "slow.fmu", "-q"), 0);
  check_file("mixed.yaml", "--record '*'", some, 3);
  check_file("ring.yaml", "--threads 2", two, 1);
  make_probe("probe.fmu", "probe", NULL);
  write_text("probes.yaml", probes);
  check_file("probes.yaml", "--record '*'", two, 1);
  check_file("probes.yaml", "--record '*' --isolate", two, 1);
  for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
    char file[4200];
    snprintf(file, sizeof file, "%s/examples/%s", getenv("COUPLET_SOURCE_DIR"), examples[i].file);
    if (access(file, F_OK) != 0) fail_msg("there is no %s", file);
    check_file(file, examples[i].options, &numbers[i % 3], 1);
  }
}

//------------------------------------ at the same time ------------------------------------

// A mass that, after t=0.5, waits for another one that does the same: calls of both must overlap.
static const char meet[] =
    "#include <couplet/model.h>\n"
    "#include <stdio.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {\"v\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration inputs[] = {{\"F\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"me\"}, {\"other\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  char name[64];\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = v->u[0] - v->x[0];\n"
    "  if (v->p[0] == 0 || v->t < 0.5) return CPL_MODEL_OK;\n"
    "  snprintf(name, sizeof name, \"here.%d\", (int)v->p[0]);\n"
    "  fclose(fopen(name, \"w\"));\n"
    "  snprintf(name, sizeof name, \"here.%d\", (int)v->p[1]);\n"
    "  for (int i = 0; access(name, F_OK) != 0; i++) {\n"
    "    if (i == 60000) return cpl_model_error(v, \"nobody came\");\n"
    "    usleep(1000);\n"
    "  }\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"meet\", .states = states, .inputs = inputs,\n"
    "  .parameters = parameters, .derivatives = f};\n";

// The first one is in rank 0.
#define MASSES                                                                                    \
  "couplet: 1\nname: masses\nmodels:\n  a: {c: meet.c}\n  b: {c: meet.c%s}\n  c: {c: meet.c%s}\n" \
  "experiment: {stop: 1, interval: 0.1}\n"

static void calls_of_several_ranks_overlap(void** state) {
  (void)state;
  static const char ends[] = "{kind: translational, position: x, speed: v, force: F}";
  static const char* const how[] = {"", ", as: cs", ""};
  if (!have_mpi()) return;
  write_systems();
  write_text("meet.c", meet);
  for (int i = 0; i < 3; i++) {
    char system[2048];
    int n = snprintf(system, sizeof system, MASSES, how[i], how[i]);
    const char* more = i == 2 ? "interfaces:\n  b.end: %s\n  c.end: %s\n"
                                "tlm:\n  - {from: b.end, to: c.end, delay: 0.1, Zf: 1}\n"
                              : "connections: {b.F: a.x, c.F: a.x}\n";
    snprintf(system + n, sizeof system - (size_t)n, more, ends, ends);
    write_text("masses.yaml", system);
    unlink("here.1"), unlink("here.2");
    const int code = run_ranks(3,
                               "masses.yaml --threads 1 --set b.me=1 --set b.other=2 --set c.me=2 "
                               "--set c.other=1 --one-solver -o x.csv --progress none");
    if (code != 0) fail_msg("%s: exit code %d: %s", system, code, text_of("mpi.err"));
  }
  unlink("x.csv");
}

//------------------------------------ where models live ------------------------------------

// Two models that take more than 1,000 times as long as the others, one of them in a system inside.
static const char heavy[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  double s = v->x[0];\n"
    "  for (int i = 0; i < 20000; i++) s = sin(s + 1);\n"
    "  dx[0] = -v->x[0] + 1e-3*s;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"heavy\", .states = states, .derivatives = "
    "f};\n";

static const char unequal[] =
    "couplet: 1\n"
    "name: unequal\n"
    "models: {a: {c: slow.c}, b: {c: slow.c}, c: {c: slow.c}, d: {c: slow.c}, e: {c: slow.c},\n"
    "  m: {c: heavy.c}, inner: {system: inner.yaml}}\n"
    "experiment: {stop: 0.02, interval: 0.01}\n";

static void models_are_spread_by_their_cost(void** state) {
  (void)state;
  int models, n_light = 0, n_loaded = 0;
  double share;
  if (!have_mpi()) return;
  write_systems();
  write_text("heavy.c", heavy);
  write_text("unequal.yaml", unequal);
  write_text("inner.yaml", "couplet: 1\nname: inner\nmodels: {h: {c: heavy.c}, k: {c: slow.c}}\n");
  CHECK_INT(COUPLET("run", "unequal.yaml", "-q", "-o", "alone.csv"), 0);
  char* expected = strdup(text_of("alone.csv"));
  CHECK_INT(run_ranks(3, "unequal.yaml -o ranks.csv --progress none --log-level info"), 0);
  CHECK_STR(text_of("ranks.csv"), expected);
  free(expected);
  const char* reported = text_of("mpi.err");
  CHECK_CONTAINS(reported, "heavy.c: ");
  for (int rank = 0; rank < 3; rank++) {
    char text[32];
    snprintf(text, sizeof text, "ranks: rank %d: ", rank);
    const char* line = strstr(reported, text);
    if (line == NULL || sscanf(line + strlen(text), "%d model%*[s,] %lf", &models, &share) != 2)
      fail_msg("%s is not reported: %s", text, reported);
    if (share < 10) n_light += models;
    else n_loaded++;
  }
  CHECK_INT(n_loaded, 2);  // the two that are heavy are apart
  CHECK(n_light >= 5);     // the other one of the system inside was made before
}

//------------------------------------ failures ------------------------------------

// In rank `rank` of 3: models are spread in the order of their names, from rank 0 on.
static const char* const names[] = {"a", "b", "c"};

static void failures_of_models_are_those_of_one_process(void** state) {
  (void)state;
  char args[256], expected[1 << 14], results[1 << 14];
  if (!have_mpi()) return;
  write_systems();
  static const int kinds[] = {1, 2, 5};
  for (int i = 0; i < 3; i++) {
    snprintf(args, sizeof args, "%s.what=%d", names[1 + i % 2], kinds[i]);
    CHECK_INT(COUPLET("run", "ring.yaml", "--set", args, "-o", "alone.csv"), 1);
    snprintf(expected, sizeof expected, "%s", complained);
    *strchr(expected, '\n') = '\0';
    snprintf(results, sizeof results, "%s", text_of("alone.csv"));
    snprintf(args, sizeof args, "ring.yaml --set %s.what=%d -o ranks.csv --progress none",
             names[1 + i % 2], kinds[i]);
    CHECK_INT(run_ranks_at_once(3, args), 1);
    CHECK_CONTAINS(text_of("mpi.err"), expected);
    CHECK_INT(count_of(text_of("mpi.err"), "couplet: "), 1);
    CHECK_STR(text_of("ranks.csv"), results);
  }
}

static void messages_of_models_come_from_rank_0(void** state) {
  (void)state;
  if (!have_mpi()) return;
  write_systems();
  make_probe("probe.fmu", "probe", NULL);
  write_text("probes.yaml", probes);
  setenv("PROBE_FAULT", "fmi2GetDerivatives:20:warning", 1);
  const int code = run_ranks(2, "probes.yaml -o ranks.csv --progress none");
  unsetenv("PROBE_FAULT");
  CHECK_INT(code, 0);
  CHECK_INT(count_of(text_of("mpi.err"), "couplet: warning: right: "), 1);
  CHECK_CONTAINS(text_of("mpi.err"), "fmi2GetDerivatives was told to fail");
}

static void a_rank_that_dies_is_named_and_results_are_kept(void** state) {
  (void)state;
  char args[256], expected[256];
  if (!have_mpi()) return;
  write_systems();
  for (int rank = 1; rank < 3; rank++) {
    snprintf(args, sizeof args, "ring.yaml --set %s.what=3 -o ranks.csv --progress none",
             names[rank]);
    CHECK(run_ranks(3, args) != 0);
    snprintf(expected, sizeof expected, "rank %d on ", rank);
    CHECK_CONTAINS(text_of("mpi.err"), expected);
    CHECK_CONTAINS(text_of("mpi.err"), " has ended");
    snprintf(expected, sizeof expected, "couplet: %s: ", names[rank]);
    CHECK_CONTAINS(text_of("mpi.err"), expected);
    CHECK_CONTAINS(text_of("ranks.csv"), "\n0.9,");
  }
}

static void a_signal_keeps_the_results(void** state) {
  (void)state;
  if (!have_mpi()) return;
  write_systems();
  unlink("hangs");
  const pid_t pid =
      start_mpirun("-n 3 %s run ring.yaml --set b.what=4 -o ranks.csv --progress none");
  for (int i = 0; access("hangs", F_OK) != 0 && i < 60000; i++) usleep(1000);
  CHECK(access("hangs", F_OK) == 0);
  kill(pid, SIGINT);
  int how = 0;
  CHECK_INT(waitpid(pid, &how, 0), pid);
  CHECK(!WIFEXITED(how) || WEXITSTATUS(how) != 0);
  CHECK_CONTAINS(text_of("mpi.err"), "interrupted at t=1");
  CHECK_CONTAINS(text_of("ranks.csv"), "\n0.9,");
}

//------------------------------------ what is refused ------------------------------------

static void ranks_with_other_files_are_refused(void** state) {
  (void)state;
  if (!have_mpi()) return;
  write_systems();
  write_text("other.yaml", "couplet: 1\nname: other\nmodels: {a: {c: other.c}}\n");
  char* other = strdup(slow);
  memcpy(strstr(other, "\"what\""), "\"much\"", 6);
  write_text("other.c", other);
  free(other);
  CHECK(mpirun(AT_ONCE "-n 1 %s run ring.yaml -o x.csv : -n 1 %s run other.yaml -o x.csv") != 0);
  CHECK_CONTAINS(text_of("mpi.err"), "rank 1 has other models than rank 0");
  CHECK(mpirun(AT_ONCE "-n 1 %s run ring.yaml -o x.csv : -n 1 %s run none.yaml -o x.csv") != 0);
  CHECK_CONTAINS(text_of("mpi.err"), "rank 1 on ");
  CHECK_CONTAINS(text_of("mpi.err"), "none.yaml");
  CHECK(run_ranks_at_once(2, "none.yaml") != 0);
  CHECK_INT(count_of(text_of("mpi.err"), "couplet: none.yaml: "), 1);
  CHECK(run_ranks_at_once(2, "ring.yaml --call-log log.txt") != 0);
  CHECK_INT(count_of(text_of("mpi.err"), "--call-log does not work with several ranks"), 1);
  CHECK(access("x.csv", F_OK) != 0);
}

static void ranks_that_do_not_see_each_other_are_refused(void** state) {
  (void)state;
  write_systems();
  char command[4096];  // MPI may leave something in the temporary folder
  snprintf(command, sizeof command,
           "SLURM_STEP_NUM_TASKS=4 '%s' run ring.yaml -o x.csv >mpi.out 2>mpi.err",
           getenv("COUPLET"));
  CHECK(system(command) != 0);
  CHECK_CONTAINS(text_of("mpi.err"), "srun --mpi=pmix");
  CHECK(access("x.csv", F_OK) != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_bytes_for_any_number_of_ranks),
      cmocka_unit_test(calls_of_several_ranks_overlap),
      cmocka_unit_test(models_are_spread_by_their_cost),
      cmocka_unit_test(failures_of_models_are_those_of_one_process),
      cmocka_unit_test(messages_of_models_come_from_rank_0),
      cmocka_unit_test(a_rank_that_dies_is_named_and_results_are_kept),
      cmocka_unit_test(a_signal_keeps_the_results),
      cmocka_unit_test(ranks_with_other_files_are_refused),
      cmocka_unit_test(ranks_that_do_not_see_each_other_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
