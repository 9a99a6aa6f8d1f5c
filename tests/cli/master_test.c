// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems of steppers as a user runs them: same bits in any order and on any number of threads,
// every algorithm, chains, nested masters, values of all types, and what is said about them.
#include "command.h"

//------------------------------------ models ------------------------------------

// x'' = -x + F, with work that makes a step worth a thread
static const char mass[] = MODEL(
    "mass",
    "static const cpl_declaration x[] = {{.name = \"x\", .start = 1, .output = true},\n"
    "                                    {.name = \"v\", .output = true}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"F\"}, {0}};\n"
    "static const cpl_declaration p[] = {{.name = \"c\", .start = 1}, {.name = \"work\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  double extra = 0;\n"
    "  for (int i = 0; i < (int)v->p[1]; i++) extra += sin(v->x[0] + i);\n"
    "  dx[0] = v->x[1] + 1e-9 * extra;\n"
    "  dx[1] = -v->p[0] * v->x[0] + v->u[0];\n"
    "  return 0;\n"
    "}",
    ".states = x, .inputs = u, .parameters = p, .derivatives = f, .stop_time = 2,\n"
    ".tolerance = 1e-8");

// F = k (a - b)
static const char spring[] =
    MODEL("spring",
          "static const cpl_declaration u[] = {{.name = \"a\"}, {.name = \"b\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"F\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"k\", .start = 4}, {0}};\n"
          "static int g(const cpl_values* v, double* y_) {\n"
          "  y_[0] = v->p[0] * (v->u[0] - v->u[1]);\n"
          "  return 0;\n"
          "}",
          ".inputs = u, .outputs = y, .parameters = p, .output_values = g, .stop_time = 2");

// Every 0.3 s another text, number and truth value.
static const char speaker[] = MODEL(
    "speaker",
    "static const cpl_string_declaration s[] = {{\"text\", \"none\", CPL_STRING_OUTPUT}, {0}};\n"
    "static const cpl_declaration w[] = {{.name = \"n\", .type = CPL_INTEGER, .output = true},\n"
    "  {.name = \"odd\", .type = CPL_BOOLEAN, .output = true}, {0}};\n"
    "static int init(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->next_time = v->t + 0.3;\n"
    "  return 0;\n"
    "}\n"
    "static int speak(const cpl_values* v, cpl_event_actions* a) {\n"
    "  static const char* const words[] = {\"none\", \"one\", \"two, three\", \"a "
    "\\\"quote\\\"\"};\n"
    "  if (!a->time_event) return 0;\n"
    "  a->w[0] += 1;\n"
    "  a->w[1] = (int)a->w[0] % 2;\n"
    "  a->s[0] = words[(int)a->w[0] % 4];\n"
    "  a->next_time = v->t + 0.3;\n"
    "  return 0;\n"
    "}",
    ".strings = s, .discrete = w, .initialize = init, .event = speak, .stop_time = 1");

// Says what it heard.
static const char listener[] = MODEL(
    "listener",
    "static const cpl_string_declaration s[] = {{\"heard\", \"\", CPL_STRING_INPUT},\n"
    "  {\"said\", \"\", CPL_STRING_OUTPUT}, {0}};\n"
    "static const cpl_declaration u[] = {{.name = \"n\", .type = CPL_INTEGER},\n"
    "  {.name = \"odd\", .type = CPL_BOOLEAN}, {0}};\n"
    "static const cpl_declaration w[] = {{.name = \"sum\", .type = CPL_INTEGER, .output = true},\n"
    "  {.name = \"last\", .type = CPL_INTEGER}, {.name = \"even\", .type = CPL_BOOLEAN,\n"
    "  .output = true}, {0}};\n"
    "static int hear(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (v->u[0] != a->w[1]) a->w[0] += (int)v->u[0];\n"
    "  a->w[1] = v->u[0];\n"
    "  a->w[2] = v->u[1] == 0;\n"
    "  a->s[1] = v->s[0];\n"
    "  return 0;\n"
    "}",
    ".strings = s, .inputs = u, .discrete = w, .event = hear, .stop_time = 1");

static const char gain[] =
    MODEL("gain",
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"bias\"}, {0}};\n"
          "static int g(const cpl_values* v, double* y_) {\n"
          "  y_[0] = v->p[0] + v->u[0];\n"
          "  return 0;\n"
          "}",
          ".inputs = u, .outputs = y, .parameters = p, .output_values = g, .stop_time = 1");

// x' = 1, y = x
static const char ramp[] =
    MODEL("ramp",
          "static const cpl_declaration x[] = {{.name = \"x\", .output = true}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  (void)v;\n"
          "  dx[0] = 1;\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f, .stop_time = 1");

static int prepare(void** state) {
  (void)state;
  static const struct {
    const char *name, *text;
    bool fmi3;
  } models[] = {{"mass", mass, true},         {"spring", spring, false}, {"speaker", speaker, true},
                {"listener", listener, true}, {"gain", gain, true},      {"ramp", ramp, false}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    char source[64], fmu[64], fmu3[64];
    snprintf(source, sizeof source, "%s.c", models[i].name);
    snprintf(fmu, sizeof fmu, "%s.fmu", models[i].name);
    snprintf(fmu3, sizeof fmu3, "%s3.fmu", models[i].name);
    write_text(source, models[i].text);
    CHECK_CODE(0, "build", source, "-q", "-o", fmu);
    if (models[i].fmi3) CHECK_CODE(0, "build", source, "--fmi", "3", "-q", "-o", fmu3);
  }
  return 0;
}

//------------------------------------ the same bits ------------------------------------

enum { MEMBERS = 6, LINKS = 8 };

// Masses in a row with springs between them; kinds are mixed.
static const char* const members[MEMBERS] = {
    "  m1: {fmu: mass.fmu, as: cs, start: {work: 100}}\n",
    "  m2: {fmu: mass3.fmu, as: cs, start: {x: 0, work: 100}}\n",
    "  m3: {c: mass.c, as: cs, start: {x: 0, work: 100}}\n",
    "  m4: {c: mass.c, start: {x: -0.5, work: 100}}\n",
    "  s12: {fmu: spring.fmu, as: cs}\n",
    "  s23: {c: spring.c, as: cs}\n",
};
static const char* const links[LINKS] = {
    "  s12.a: m1.x\n",          "  s12.b: m2.x\n",           "  s23.a: m2.x\n",
    "  s23.b: m3.x\n",          "  m1.F: -s12.F\n",          "  m2.F: s12.F - s23.F\n",
    "  m3.F: s23.F - 2*m4.x\n", "  m4.F: m3.x - 0.1*m1.v\n",
};

// The k-th arrangement of n things: a step through the list that meets each once.
static int arranged(int k, int i, int n) {
  static const int strides[] = {1, 5, 1, 5};
  int at = (i * strides[k % 4] + k) % n;
  return k % 3 == 2 ? n - 1 - at : at;
}

static void write_row(int k, const char* master) {
  FILE* f = fopen("row.yaml", "w");
  assert_non_null(f);
  fputs("couplet: 1\nname: row\nmodels:\n", f);
  for (int i = 0; i < MEMBERS; i++) fputs(members[arranged(k, i, MEMBERS)], f);
  fputs("connections:\n", f);
  for (int i = 0; i < LINKS; i++) fputs(links[(i * 3 + k) % LINKS], f);
  fprintf(f, "master: {%s}\nrecord: [m1.x, m2.x, m3.x, m4.x, s12.F, s23.F]\n", master);
  fputs("experiment: {stop: 0.5, rtol: 1e-8}\n", f);
  fclose(f);
}

static void order_and_threads_change_no_bit(void** state) {
  (void)state;
  static const char* const masters[] = {"step: 0.05",
                                        "step: 0.05, algorithm: jacobi, order: 1",
                                        "step: 0.05, algorithm: gauss-seidel",
                                        "step: 0.05, algorithm: iterative",
                                        "step: 0.05, tolerance: 1e-4, order: 1",
                                        "step: 0.05, tolerance: 1e-4, estimate: richardson",
                                        "step: 0.05, steps: {m2: 0.1, m3: 0.025}"};
  for (size_t a = 0; a < sizeof masters / sizeof masters[0]; a++) {
    char first[1 << 16] = "";
    for (int k = 0; k < 4; k++) {
      char how[256];
      snprintf(how, sizeof how, "%s, threads: %d", masters[a], 1 << k % 3);
      write_row(k, how);
      CHECK_CODE(0, "run", "row.yaml", "-q", "-o", "row.csv");
      if (k == 0) snprintf(first, sizeof first, "%s", text_of("row.csv"));
      else if (strcmp(first, text_of("row.csv")) != 0)
        fail_msg("%s: arrangement %d gives other results", how, k);
    }
    CHECK(strlen(first) > 500);
  }
}

//------------------------------------ chains ------------------------------------

// A ramp through a hundred FMUs that add 1 each, named against their direction.
static void write_chain(const char* fmu, const char* master) {
  enum { HOPS = 100 };
  FILE* f = fopen("chain.yaml", "w");
  assert_non_null(f);
  fputs("couplet: 1\nmodels:\n  ramp: {fmu: ramp.fmu, as: cs}\n", f);
  for (int i = 1; i <= HOPS; i++)
    fprintf(f, "  g%03d: {fmu: %s, as: cs, start: {bias: 1}}\n", 200 - i, fmu);
  fputs("connections:\n  g199.u: ramp.x\n", f);
  for (int i = 2; i <= HOPS; i++) fprintf(f, "  g%03d.u: g%03d.y\n", 200 - i, 201 - i);
  fprintf(f, "master: {%s}\nrecord: [ramp.x, g100.y]\nexperiment: {stop: 1}\n", master);
  fclose(f);
}

// An FMU as a folder, with one attribute of its description less or another one.
static void alter(const char* fmu, const char* folder, const char* edit) {
  char command[512];
  snprintf(command, sizeof command,
           "rm -rf %s && python3 -m zipfile -e %s %s && sed -i '%s' %s/modelDescription.xml",
           folder, fmu, folder, edit, folder);
  CHECK_INT(system(command), 0);
}

static void a_chain_of_a_hundred_does_not_lag(void** state) {
  (void)state;
  static const char* const fmus[] = {"gain.fmu", "gain3.fmu"};
  static const char* const masters[] = {"step: 0.1", "step: 0.1, algorithm: gauss-seidel",
                                        "step: 0.1, algorithm: iterative"};
  for (int i = 0; i < 2; i++) {
    for (int a = i; a < 3; a += 1 + i) {
      write_chain(fmus[i], masters[a]);
      CHECK_CODE(0, "run", "chain.yaml", "-o", "chain.csv");
      CHECK_STR(complained, "");
      CHECK_INT(count_rows("chain.csv"), 11);
      CHECK_NEAR(last_value("chain.csv", 1), 1, 1e-9);
      CHECK_NEAR(last_value("chain.csv", 2), 101, 1e-9);
    }
  }
  // outputs that follow inputs without a step do not lag with jacobi either
  write_chain("gain.fmu", "step: 0.1, algorithm: jacobi");
  CHECK_CODE(0, "run", "chain.yaml", "-o", "chain.csv");
  CHECK_STR(complained, "");
  CHECK_NEAR(last_value("chain.csv", 2), 101, 1e-9);
  // others do, and it says so
  alter("gain3.fmu", "plain_gain", "s/hasEventMode=\"true\"//");
  write_chain("plain_gain", "step: 0.1, algorithm: jacobi");
  CHECK_CODE(0, "run", "chain.yaml", "-o", "chain.csv");
  CHECK_CONTAINS(complained, "jacobi: 100 inputs that outputs depend on directly lag");
  CHECK_CONTAINS(complained, "(0.1 s) behind: g101.y -> g100.u, ");
  CHECK(last_value("chain.csv", 2) < 100.5);
}

//------------------------------------ all types ------------------------------------

static void values_of_all_types_are_handed_over(void** state) {
  (void)state;
  static const char* const kinds[] = {"c: %s.c, as: cs", "fmu: %s.fmu, as: cs",
                                      "fmu: %s3.fmu, as: cs", "c: %s.c"};
  for (int from = 0; from < 4; from++) {
    for (int to = 0; to < 4; to++) {
      if (from == 3 && to == 3) continue;  // no steppers
      char a[64], b[64], text[512];
      snprintf(a, sizeof a, kinds[from], "speaker");
      snprintf(b, sizeof b, kinds[to], "listener");
      snprintf(text, sizeof text,
               "couplet: 1\nmodels:\n  a: {%s}\n  b: {%s}\n"
               "connections: {b.heard: a.text, b.n: a.n, b.odd: a.odd}\n"
               "master: {step: 0.1}\nrecord: [a.n, b.said, b.sum, b.even]\n"
               "experiment: {stop: 1}\n",
               a, b);
      write_text("talk.yaml", text);
      CHECK_CODE(0, "run", "talk.yaml", "-q", "-o", "talk.csv");
      CHECK_CONTAINS(last_row("talk.csv"), "1,3,\"a \"\"quote\"\"\",6,");
      CHECK_CONTAINS(text_of("talk.csv"), "two, three");
    }
  }
}

//------------------------------------ nesting ------------------------------------

static void masters_nest(void** state) {
  (void)state;
  write_text("inner.yaml",
             "couplet: 1\nmodels:\n  m: {fmu: mass.fmu, as: cs}\n  s: {fmu: spring.fmu, as: cs}\n"
             "inputs: {other: {start: 0}}\n"
             "connections: {s.a: m.x, s.b: other, m.F: -s.F}\n"
             "outputs: {F: s.F, x: m.x}\n"
             "master: {step: 0.001, algorithm: iterative}\n");
  write_text("outer.yaml",
             "couplet: 1\nmodels:\n  left: {system: inner.yaml}\n"
             "  right: {fmu: mass.fmu, as: cs, start: {x: 0}}\n"
             "connections: {left.other: right.x, right.F: left.F}\n"
             "master: {step: 0.002, algorithm: iterative}\nrecord: [left.x, right.x]\n"
             "experiment: {stop: 2, rtol: 1e-9}\n");
  CHECK_CODE(0, "run", "outer.yaml", "--stats", "-o", "outer.csv");
  // two masses with c = 1 and k = 4: see examples/two_mass_cosimulation
  CHECK_NEAR(last_value("outer.csv", 1), 0.5 * cos(2) + 0.5 * cos(6), 2e-4);
  CHECK_NEAR(last_value("outer.csv", 2), 0.5 * cos(2) - 0.5 * cos(6), 2e-4);
  CHECK_CONTAINS(printed, "\n  left: ");
  CHECK_CONTAINS(printed, "\n    m: ");
  CHECK_CODE(0, "graph", "outer.yaml");
  CHECK_CONTAINS(printed, "master iterative, order 1, step 0.002");
  CHECK_CONTAINS(printed, "master iterative, order 1, step 0.001");
  CHECK_CODE(0, "graph", "outer.yaml", "--dot");
  CHECK_CONTAINS(printed, "subgraph \"cluster_left.\"");
  CHECK_CODE(0, "graph", "outer.yaml", "--json");
  CHECK_CONTAINS(printed, "\"class\": ");
  CHECK_CODE(0, "run", "outer.yaml", "--json", "-q", "-o", "outer.csv");
  CHECK_CONTAINS(printed, "\"loop_iterations\": ");
  CHECK_CONTAINS(printed, "\"rollbacks\": ");
}

// A ball in a system of its own, with a finer step: its bounces stop the outer system, too.
static void events_come_out_of_nested_masters(void** state) {
  (void)state;
  static const char* const balls[] = {"c: ball.c, as: cs", "fmu: ball3.fmu, as: cs"};
  char text[8192];
  read_text(test_path("examples/ball_and_counter/ball.c"), text, sizeof text);
  write_text("ball.c", text);
  read_text(test_path("examples/ball_and_counter/turns.c"), text, sizeof text);
  write_text("turns.c", text);
  CHECK_CODE(0, "build", "ball.c", "--fmi", "3", "-q", "-o", "ball3.fmu");
  for (int i = 0; i < 2; i++) {
    snprintf(text, sizeof text,
             "couplet: 1\nmodels:\n  ball: {%s}\noutputs: {v: ball.v, side: ball.side}\n"
             "master: {step: 0.02}\n",
             balls[i]);
    write_text("inside.yaml", text);
    write_text("outside.yaml",
               "couplet: 1\nmodels:\n  inner: {system: inside.yaml}\n"
               "  watch: {c: turns.c, as: cs}\nconnections: {watch.v: inner.v}\n"
               "master: {step: 0.7}\nrecord: [watch.turns, inner.ball.bounces]\n"
               "experiment: {stop: 3}\n");
    CHECK_CODE(0, "run", "outside.yaml", "-q", "-o", "outside.csv");
    CHECK_NEAR(last_value("outside.csv", 1), 6, 0);
    CHECK_NEAR(last_value("outside.csv", 2), 6, 0);
    CHECK_CODE(0, "check", "--rollback", "outside.yaml");
  }
}

static void slow_steppers_have_steps_of_their_own(void** state) {
  (void)state;
  write_text("rates.yaml",
             "couplet: 1\nmodels:\n  fast: {fmu: mass.fmu, as: cs}\n"
             "  slow: {fmu: mass.fmu, as: cs, start: {c: 0.01}}\n"
             "connections: {fast.F: 0.1*slow.x, slow.F: 0.01*fast.x}\n"
             "master: {step: 0.01, steps: {slow: 0.1}}\nexperiment: {stop: 1}\n");
  CHECK_CODE(0, "run", "rates.yaml", "--stats", "-o", "rates.csv");
  CHECK_CONTAINS(printed, "fast: predicts, 100 steps");
  CHECK_CONTAINS(printed, "slow: predicts, 10 steps");
}

// Models that are aggregated and steppers in one system, against the exact solution.
static void model_exchange_and_co_simulation_mix(void** state) {
  (void)state;
  static const char* const kinds[][2] = {{"fmu: mass.fmu", "fmu: mass.fmu, as: cs"},
                                         {"fmu: mass3.fmu, as: cs", "c: mass.c"},
                                         {"fmu: mass3.fmu", "c: mass.c, as: cs"}};
  for (int i = 0; i < 3; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels:\n  left: {%s}\n  right: {%s, start: {x: 0}}\n"
             "connections: {left.F: 4*(right.x - left.x), right.F: 4*(left.x - right.x)}\n"
             "master: {step: 0.001, algorithm: iterative}\nrecord: [left.x, right.x]\n"
             "experiment: {stop: 2, rtol: 1e-9}\n",
             kinds[i][0], kinds[i][1]);
    write_text("mixed.yaml", text);
    CHECK_CODE(0, "run", "mixed.yaml", "-q", "-o", "mixed.csv");
    CHECK_NEAR(last_value("mixed.csv", 1), 0.5 * cos(2) + 0.5 * cos(6), 1e-5);
    CHECK_NEAR(last_value("mixed.csv", 2), 0.5 * cos(2) - 0.5 * cos(6), 1e-5);
  }
}

// What is computed from values of steppers, and what is given from outside.
static void formulas_follow_steppers(void** state) {
  (void)state;
  write_text("push.csv", "time,push\n0,0\n0.5,0\n0.5,1\n1,1\n");
  static const char* const kinds[] = {"fmu: mass.fmu, as: cs", "c: mass.c, as: cs",
                                      "fmu: mass3.fmu, as: cs"};
  for (int i = 0; i < 3; i++) {
    char text[512];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels:\n  left: {%s}\ninputs: {push: {start: 0}}\n"
             "connections: {left.F: push}\noutputs: {twice: 2*left.x}\nmaster: {step: 0.01}\n"
             "record: [left.x, twice]\nexperiment: {stop: 1, rtol: 1e-9}\n",
             kinds[i]);
    write_text("push.yaml", text);
    CHECK_CODE(0, "run", "push.yaml", "--input", "push.csv", "-q", "-o", "pushed.csv");
    double x = last_value("pushed.csv", 1);
    CHECK(last_value("pushed.csv", 2) == 2 * x);
    CHECK_NEAR(x, cos(1) + 1 - cos(0.5), 1e-6);
  }
}

// Followers of a ball that jumps: every kind of ball and every algorithm against one aggregate.
static void values_that_jump_keep_the_order(void** state) {
  (void)state;
  static const char* const balls[] = {"c: %s, as: cs", "fmu: ball.fmu, as: cs",
                                      "fmu: ball3.fmu, as: cs", "c: %s"};
  static const struct {
    const char* master;
    double tolerance;  // of f.x and g.x
  } ways[] = {{"step: 0.01, algorithm: iterative", 2e-4},
              {"step: 0.01, order: 1", 2e-3},
              {"step: 0.01, algorithm: gauss-seidel", 6e-2},
              {"step: 0.05, tolerance: 1e-4, order: 1", 1e-3}};
  const char* model = test_path("examples/ball_and_counter/ball.c");
  write_text("decay.c", decay_model);
  CHECK_CODE(0, "build", model, "-q", "-o", "ball.fmu");
  CHECK_CODE(0, "build", model, "--fmi", "3", "-q", "-o", "ball3.fmu");
  CHECK_CODE(0, "build", "decay.c", "-q", "-o", "decay.fmu");
  CHECK_CODE(0, "build", "decay.c", "--fmi", "3", "-q", "-o", "decay3.fmu");
  char ball[4200], text[8192];
  const char* format =
      "couplet: 1\nmodels:\n  ball: {%s}\n  f: {%s}\n  g: {%s}\n"
      "connections: {f.u: ball.h, g.u: f.x + ball.v}\n%s%s%s"
      "record: [f.x, g.x, ball.bounces]\nexperiment: {stop: 3, rtol: 1e-9}\n";
  snprintf(ball, sizeof ball, balls[3], model);
  snprintf(text, sizeof text, format, ball, "c: decay.c", "c: decay.c", "", "", "");
  write_text("jumps.yaml", text);
  CHECK_CODE(0, "run", "jumps.yaml", "-q", "-o", "jumps.csv");
  double f = last_value("jumps.csv", 1), g = last_value("jumps.csv", 2);
  for (int b = 0; b < 4; b++) {
    snprintf(ball, sizeof ball, balls[b], model);
    for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
      snprintf(text, sizeof text, format, ball, "fmu: decay.fmu, as: cs", "fmu: decay3.fmu, as: cs",
               "master: {", ways[w].master, "}\n");
      write_text("jumps.yaml", text);
      CHECK_CODE(0, "run", "jumps.yaml", "-q", "-o", "jumps.csv");
      CHECK_NEAR(last_value("jumps.csv", 1), f, ways[w].tolerance);
      CHECK_NEAR(last_value("jumps.csv", 2), g, ways[w].tolerance);
      CHECK_NEAR(last_value("jumps.csv", 3), 6, 0);
    }
  }
}

//------------------------------------ who can do nothing ------------------------------------

static void one_may_do_nothing_but_step(void** state) {
  (void)state;
  static const char legacy[] = "s/can[A-Za-z]*FMUstate=\"true\"//g";
  CHECK_CODE(0, "build", test_path("examples/ball_and_counter/ball.c"), "-q", "-o", "ball.fmu");
  CHECK_CODE(0, "build", test_path("examples/ball_and_counter/counter.c"), "-q", "-o",
             "counter.fmu");
  alter("ball.fmu", "old_ball", legacy);
  alter("mass.fmu", "stiff_mass",
        "s/canHandleVariableCommunicationStepSize=\"true\"/"
        "canHandleVariableCommunicationStepSize=\"false\"/");
  // it stops at its bounces, all others go back there; the one with a fixed step keeps its grid
  write_text("old.yaml",
             "couplet: 1\nmodels:\n  ball: {fmu: old_ball, as: cs}\n"
             "  counter: {fmu: counter.fmu, as: cs}\n  grid: {fmu: stiff_mass, as: cs}\n"
             "  m: {c: mass.c, as: cs}\nconnections: {counter.side: ball.side}\n"
             "master: {step: 0.7}\nrecord: [counter.count]\nexperiment: {stop: 3}\n");
  CHECK_CODE(0, "run", "old.yaml", "--stats", "-o", "old.csv");
  CHECK_STR(complained, "");
  CHECK_NEAR(last_value("old.csv", 1), 6, 0);
  CHECK_CONTAINS(printed, "ball: legacy");
  CHECK_CONTAINS(printed, "grid: predicts, 4 steps");
  // two of them are warned of, and the first bounce ends the run
  write_text("old.yaml",
             "couplet: 1\nmodels:\n  one: {fmu: old_ball, as: cs}\n"
             "  two: {fmu: old_ball, as: cs, start: {h: 2}}\nmaster: {step: 0.7}\n"
             "experiment: {stop: 3}\n");
  CHECK_CODE(1, "run", "old.yaml", "-o", "old.csv");
  CHECK_CONTAINS(complained, "2 steppers can neither be rolled back nor predict");
  CHECK_CONTAINS(complained, "one stopped at t=0.45152364");
  write_text("old.yaml",
             "couplet: 1\nmodels:\n  one: {fmu: old_ball, as: cs}\n"
             "  two: {fmu: old_ball, as: cs}\nmaster: {step: 0.7, legacy: error}\n");
  CHECK_FAILS_WITH(2, "at most one is allowed: one, two", "run", "old.yaml", "-o", "old.csv");
  // a loop through one that cannot go back is delayed with a word about it, or refused
  alter("gain3.fmu", "old_gain", "s/can[A-Za-z]*FMUState=\"true\"//g; s/hasEventMode=\"true\"//");
  static const char loop[] =
      "couplet: 1\nmodels:\n  a: {fmu: old_gain, as: cs, start: {bias: 1}}\n"
      "  b: {c: spring.c, as: cs, start: {k: 0.5}}\nconnections: {a.u: b.F, b.a: a.y}\n"
      "record: [a.y]\nexperiment: {stop: 1}\nmaster: {step: 0.01%s}\n";
  char text[512];
  snprintf(text, sizeof text, loop, "");
  write_text("old.yaml", text);
  CHECK_CODE(0, "run", "old.yaml", "-o", "old.csv");
  CHECK_CONTAINS(complained, "one communication step (0.01 s) behind: a cannot be rolled back");
  CHECK_NEAR(last_value("old.csv", 1), 2, 1e-9);  // a fixed point of the delayed loop, too
  snprintf(text, sizeof text, loop, ", on-loop: iterate");
  write_text("old.yaml", text);
  CHECK_FAILS_WITH(2, "cannot be iterated: a cannot be rolled back", "run", "old.yaml");
}

//------------------------------------ other verbs ------------------------------------

static void verbs_know_systems_of_steppers(void** state) {
  (void)state;
  write_row(0, "step: 0.05");
  CHECK_CODE(0, "info", "row.yaml");
  CHECK_CONTAINS(printed, "m1.x");
  CHECK_CODE(0, "check", "row.yaml");
  CHECK_CONTAINS(printed, "no findings");
  CHECK_FAILS_WITH(2, "only co-simulation", "linearize", "row.yaml");
  CHECK_CODE(0, "graph", "row.yaml");
  CHECK_CONTAINS(printed, "m1 (fmi2-cs): predicts");
  CHECK_CONTAINS(printed, "m3 (integrate): rolls back");
  CHECK_CONTAINS(printed, "A communication step");
}

static void rollback_is_checked(void** state) {
  (void)state;
  CHECK_CODE(0, "check", "--rollback", "mass.fmu", "mass3.fmu", "speaker.fmu", "mass.c",
             "speaker.c");
  write_row(0, "step: 0.05");
  CHECK_CODE(0, "check", "--rollback", "row.yaml");
  CHECK_CONTAINS(printed, "no findings");
  // keeps something outside of what it saves
  write_text("forgetful.c",
             MODEL("forgetful",
                   "static int calls;\n"
                   "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
                   "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
                   "static int f(const cpl_values* v, double* dx) {\n"
                   "  dx[0] = -v->x[0] + 1e-3 * ++calls;\n"
                   "  return 0;\n"
                   "}\n"
                   "static int g(const cpl_values* v, double* y_) {\n"
                   "  y_[0] = v->x[0];\n"
                   "  return 0;\n"
                   "}",
                   ".states = x, .outputs = y, .derivatives = f, .output_values = g,\n"
                   ".stop_time = 1"));
  CHECK_CODE(0, "build", "forgetful.c", "-q", "-o", "forgetful.fmu");
  CHECK_CODE(2, "check", "--rollback", "forgetful.fmu");
  CHECK_CONTAINS(printed, "y differs when the step from t=0");
  CHECK_CONTAINS(printed, "[rollback]");
}

static void runs_keep_step_with_the_clock(void** state) {
  (void)state;
  write_row(0, "step: 0.05");
  struct timespec since, now;
  clock_gettime(CLOCK_MONOTONIC, &since);
  CHECK_CODE(0, "run", "row.yaml", "--real-time", "4", "--stats", "-o", "row.csv");
  clock_gettime(CLOCK_MONOTONIC, &now);
  double spent = (double)(now.tv_sec - since.tv_sec) + 1e-9 * (double)(now.tv_nsec - since.tv_nsec);
  CHECK(spent >= 0.125);  // never faster; how much slower is the machine's business
  CHECK_CONTAINS(printed, "overruns");
  CHECK_CONTAINS(printed, " of 10 steps");
  CHECK_CODE(0, "run", "row.yaml", "--real-time", "1e9", "--json", "-o", "row.csv");
  CHECK_CONTAINS(printed, "\"overruns\": 10");
  CHECK_FAILS_WITH(2, "--real-time must be positive", "run", "row.yaml", "--real-time", "0");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_and_threads_change_no_bit),
      cmocka_unit_test(a_chain_of_a_hundred_does_not_lag),
      cmocka_unit_test(values_of_all_types_are_handed_over),
      cmocka_unit_test(masters_nest),
      cmocka_unit_test(events_come_out_of_nested_masters),
      cmocka_unit_test(slow_steppers_have_steps_of_their_own),
      cmocka_unit_test(model_exchange_and_co_simulation_mix),
      cmocka_unit_test(formulas_follow_steppers),
      cmocka_unit_test(values_that_jump_keep_the_order),
      cmocka_unit_test(one_may_do_nothing_but_step),
      cmocka_unit_test(verbs_know_systems_of_steppers),
      cmocka_unit_test(rollback_is_checked),
      cmocka_unit_test(runs_keep_step_with_the_clock),
  };
  return cmocka_run_group_tests(tests, prepare, NULL);
}
