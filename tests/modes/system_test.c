// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Modes as a user writes them: small system files, run by the command.
#include "examples/running.h"

// x' = a x + b with an output, a limit of its own and a word about where to go.
static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\", .unit = \"m/s\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"double_x\", .unit = \"m\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"a\"}, {\"b\", .start = 1}, {\"limit\", .start "
    "= 1e9}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"switch_to\", .type = CPL_INTEGER, .output = "
    "true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] * v->x[0] + v->p[1] + v->u[0];\n  return 0;\n}\n"
    "static int y(const cpl_values* v, double* y) {\n  y[0] = 2 * v->x[0];\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n  z[0] = v->x[0] - v->p[2];\n  return 0;\n}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] > 0) a->w[0] = 2, a->terminate = v->p[2] < 1e8;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = states, .inputs = inputs, "
    ".outputs = outputs, .parameters = parameters, .discrete = discrete, .n_indicators = 1, "
    ".derivatives = f, .output_values = y, .indicators = z, .event = event};\n";

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  fclose(f);
}

static int setup(void** state) {
  write_file("m.c", model);
  return make_context(state);
}

#define HEAD "couplet: 1\nname: s\nexperiment: {stop: 10, interval: 0.5, rtol: 1e-9}\n"

// Runs a file; its results, or NULL when it failed as it should.
static cpl_table* run_text(cpl_context* ctx, const char* text, int code) {
  write_file("s.yaml", text);
  int got = couplet("run s.yaml -o out.csv --log-level info");
  if (got != code) check_message("\n\n");
  return code == 0 ? read_table(ctx, "out.csv") : NULL;
}

static void fails(const char* text, int code, const char* message) {
  run_text(NULL, text, code);
  check_message(message);
}

static double at_end(const cpl_table* t, const char* name) {
  return column(t, name)[t->n_rows - 1];
}

// When the column `mode` takes this value for the first time.
static double entered(const cpl_table* t, int mode) {
  const double* m = column(t, "mode");
  for (size_t i = 0; i < t->n_rows; i++)
    if (m[i] == mode) return t->time[i];
  return INFINITY;
}

//------------------------------------ guards ------------------------------------

static void of_several_guards_the_first_wins(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n    leave:\n"
                          "      - {when: m.x > 30, to: b}\n"
                          "      - {when: m.x > 3, to: c, set: {m.x: m.x}}\n"
                          "      - {when: m.x > 3, to: b, set: {m.x: m.x}}\n"
                          "  b: {models: {m: {c: m.c}}}\n"
                          "  c: {models: {m: {c: m.c, start: {b: 0}}}}\n"
                          "observe: {x: m.x}\n",
                          0);
  CHECK_NEAR(entered(t, 3), 2, 1e-8);
  CHECK(entered(t, 2) == INFINITY);
  CHECK_NEAR(at_end(t, "x"), 3, 1e-8);
  cpl_table_destroy(t);
}

#define ENTRY(how)                                                                          \
  HEAD "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n    leave:\n"                  \
       "      - {when: m.x > 3, to: b, set: {m.x: m.x}}\n  b:\n    models: {m: {c: m.c}}\n" \
       "    leave: [{when: m.x > 2, to: c, set: {m.x: 0}" how                               \
       "}]\n"                                                                               \
       "  c:\n    models: {m: {c: m.c}}\n"                                                  \
       "observe: {x: m.x}\n"

static void a_guard_true_on_entry_is_followed_or_reported(void** state) {
  cpl_table* t = run_text(*state, ENTRY(""), 0);
  CHECK_NEAR(entered(t, 2), 2, 1e-8);
  CHECK_NEAR(entered(t, 3), 2, 1e-8);
  CHECK_NEAR(at_end(t, "x"), 8, 1e-8);
  cpl_table_destroy(t);
  t = run_text(*state, ENTRY(", entry: follow"), 0);
  CHECK_NEAR(entered(t, 3), 2, 1e-8);
  cpl_table_destroy(t);
  t = run_text(*state, ENTRY(", entry: wait"), 0);
  CHECK(entered(t, 3) == INFINITY);
  CHECK_NEAR(at_end(t, "x"), 11, 1e-8);
  cpl_table_destroy(t);
  fails(ENTRY(", entry: error"), 1, "this guard is true already when mode b is entered at t=");
  fails(ENTRY(", entry: maybe"), 2, "entry: maybe is not known (follow, error, wait)");
}

static void a_guard_true_at_the_very_start_is_followed(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n"
                          "    leave: [{when: m.x > 0.5, to: b, set: {m.x: 10*m.x}}]\n"
                          "  b: {models: {m: {c: m.c}}}\nobserve: {x: m.x}\n",
                          0);
  CHECK(entered(t, 1) == 0 && entered(t, 2) == 0);
  CHECK_NEAR(at_end(t, "x"), 20, 1e-8);
  cpl_table_destroy(t);
}

static void times_are_met_exactly_and_only_once(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n"
                          "    leave: [{at: [7, 1.3, pi], to: a, set: {m.x: 0}}]\n"
                          "observe: {x: m.x}\n",
                          0);
  const double* x = column(t, "x");
  int n = 0;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (x[i] >= x[i - 1]) continue;
    CHECK(t->time[i] == (n == 0 ? 1.3 : n == 1 ? M_PI : 7));
    n++;
  }
  CHECK_INT(n, 3);
  CHECK_NEAR(at_end(t, "x"), 3, 1e-8);
  cpl_table_destroy(t);
}

static void the_model_itself_can_ask_for_it(void** state) {
  // its discrete variable turns at the limit 4: a guard over an Integer
  cpl_table* t =
      run_text(*state,
               HEAD
               "modes:\n  start: a\n  a:\n"
               "    models: {m: {c: m.c, start: {limit: 4}}}\n"
               "    leave:\n      - {on: terminate, when: m.switch_to == 3, to: c}\n"
               "      - {on: terminate, when: m.switch_to == 2, to: b, set: {m.x: m.x}}\n"
               "  b: {models: {m: {c: m.c, start: {b: 0}}}}\n"
               "  c: {models: {m: {c: m.c}}}\nobserve: {x: m.x}\n",
               0);
  CHECK_NEAR(entered(t, 2), 3, 1e-8);
  CHECK_NEAR(at_end(t, "x"), 4, 1e-8);
  cpl_table_destroy(t);
}

static void a_discrete_variable_can_be_a_guard(void** state) {
  char text[sizeof model + 100];
  const char* at = strstr(model, ", a->terminate");  // without the wish to end
  CHECK(at != NULL);
  snprintf(text, sizeof text, "%.*s%s", (int)(at - model), model, strchr(at, ';'));
  write_file("d.c", text);
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: d.c, start: {limit: 4}}}\n"
                          "    leave: [{when: m.switch_to == 2, to: b, set: {m.x: m.x}}]\n"
                          "  b: {models: {m: {c: m.c, start: {b: 0}}}}\nobserve: {x: m.x}\n",
                          0);
  CHECK_NEAR(entered(t, 2), 3, 1e-8);
  CHECK_NEAR(at_end(t, "x"), 4, 1e-8);
  cpl_table_destroy(t);
}

static void a_wish_to_end_nobody_follows_ends_the_run(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a: {models: {m: {c: m.c, start: {limit: 4}}}}\n"
                          "observe: {x: m.x}\n",
                          0);
  CHECK_NEAR(t->time[t->n_rows - 1], 3, 1e-8);
  cpl_table_destroy(t);
}

//------------------------------------ without end ------------------------------------

static void a_cycle_at_one_time_is_reported(void** state) {
  (void)state;
  fails(HEAD
        "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n"
        "    leave: [{when: m.x > 2, to: b, set: {m.x: m.x}}]\n"
        "  b:\n    models: {m: {c: m.c}}\n"
        "    leave: [{when: m.x > 1, to: a, set: {m.x: m.x + 1}}]\n",
        1, "switches at the same time (a -> b -> a)");
}

static void switches_that_accumulate_are_reported(void** state) {
  (void)state;
  copy_example("elastic_ball");
  fails(HEAD
        "modes:\n  start: f\n  f:\n    models: {b: {c: elastic_ball/ball.c}}\n"
        "    leave: [{when: b.h < 0, to: f, set: {b.h: 0, b.v: -0.5*b.v}}]\n",
        1, "follow each other ever faster and accumulate at t=1.354");
}

// The switches accumulate at 3 sqrt(2/9.81); the run ends a tenth of a microsecond before.
static void a_run_may_end_before_switches_accumulate(void** state) {
  char text[1000];
  double end = 3 * sqrt(2 / 9.81);
  copy_example("elastic_ball");
  snprintf(text, sizeof text,
           "couplet: 1\nname: s\nexperiment: {stop: %.17g, interval: 1, rtol: 1e-9}\n"
           "modes:\n  start: f\n  f:\n    models: {b: {c: elastic_ball/ball.c}}\n"
           "    leave: [{when: b.h < 0, to: f, set: {b.h: 0, b.v: -0.5*b.v}}]\n"
           "observe: {h: b.h}\n",
           end - 1e-7);
  cpl_table* t = run_text(*state, text, 0);
  CHECK_NEAR(t->time[t->n_rows - 1], end - 1e-7, 1e-12);
  CHECK_NEAR(at_end(t, "h"), 0, 1e-9);
  cpl_table_destroy(t);
}

//------------------------------------ what is set ------------------------------------

static void mappings_see_everything_the_old_mode_knew(void** state) {
  cpl_table* t =
      run_text(*state,
               HEAD
               "parameters: {k: 3}\n"
               "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n"
               "    leave: [{at: 2, to: b, set: {m.x: k*m.double_x + time + m.b, m.b: '-m.b'}}]\n"
               "  b:\n    models: {m: {c: m.c, start: {x: 5}}}\n"
               "    leave: [{at: 3, to: c, set: {m.x: a.m.x + m.x}}]\n"
               "  c:\n    models: {m: {c: m.c, start: {b: 0}}}\n"
               "observe: {x: m.x, b: m.b}\n",
               0);
  // x(2) = 3, then 3*6 + 2 + 1 = 21, x(3) = 20, then 3 + 20
  CHECK_NEAR(at_end(t, "x"), 23, 1e-7);
  const double *x = column(t, "x"), *b = column(t, "b");
  for (size_t i = 0; i < t->n_rows; i++) {
    if (t->time[i] != 2.5) continue;
    CHECK_NEAR(x[i], 20.5, 1e-7);
    CHECK_NEAR(b[i], -1, 0);
  }
  cpl_table_destroy(t);
}

static void what_is_not_mapped_takes_its_start_value(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: m.c, start: {x: 4}}}\n"
                          "    leave: [{at: [1, 2, 3, 4], to: a}]\nobserve: {x: m.x}\n",
                          0);
  const double* x = column(t, "x");
  for (size_t i = 0; i < t->n_rows; i++)
    if (t->time[i] == 3.5) CHECK_NEAR(x[i], 4.5, 1e-8);
  cpl_table_destroy(t);
  CHECK_INT(couplet("check s.yaml"), 0);
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "from mode a to mode a: leaves to their start values: m.x");
  free(text);
}

static void check_tells_of_modes_that_are_never_entered(void** state) {
  (void)state;
  write_file(
      "s.yaml", HEAD
      "modes:\n  start: a\n  a: {models: {m: {c: m.c}}, leave: [{at: 1, to: c, set: {m.x: 1}}]}\n"
      "  b: {models: {m: {c: m.c}}, leave: [{at: 1, to: a, set: {m.x: 1}}]}\n"
      "  c: {models: {m: {c: m.c}}}\n");
  CHECK_INT(couplet("check s.yaml"), 0);
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "s.yaml:7:3: mode b is never entered: no transition leads there [switch]");
  CHECK_CONTAINS(text, "0 errors, 1 warning");
  free(text);
}

#define MAPPING(set)                                                       \
  HEAD "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n    leave:\n" \
       "      - {at: 1, to: b, set: " set "}\n  b: {models: {m: {c: m.c}, n: {c: m.c}}}\n"

#define MANY(formula)                                                                       \
  HEAD "modes:\n  start: a\n  a:\n    models: {m: {c: m.c, count: 4, start: {x: index}}}\n" \
       "    leave:\n      - {when: time >= 2, to: b, set: {'m[*].x': \"" formula            \
       "\"}}\n"                                                                             \
       "  b: {models: {m: {c: m.c, count: 4, start: {b: 0}}}}\n"                            \
       "observe: {x1: \"'m[1].x'\", x2: \"'m[2].x'\", x4: \"'m[4].x'\"}\n"

// x[i] = i + 2 where it is left. What stands for the same in the first match does not in the next.
static void a_pattern_is_a_formula_for_each(void** state) {
  cpl_table* t = run_text(*state, MANY("2*'m[*].x' - 'm[1].x' + 0*'m[*].double_x'"), 0);
  CHECK_NEAR(at_end(t, "x1"), 3, 1e-8);
  CHECK_NEAR(at_end(t, "x2"), 5, 1e-8);
  CHECK_NEAR(at_end(t, "x4"), 9, 1e-8);
  cpl_table_destroy(t);
  fails(MANY("sqrt(4.5 - 'm[*].x')"), 1, "m[3].x: s.yaml:9:");
  fails(MANY("-'m[*].y'"), 2, "s.yaml:9:");
  check_message("m[*].y");
}

static void mistakes_in_mappings_have_a_place(void** state) {
  (void)state;
  fails(MAPPING("{m.y: 1}"), 2, "s.yaml:9:30: mode b has no variable m.y (did you mean m.");
  fails(MAPPING("{m.x: m.xx}"), 2, "did you mean m.x");
  fails(MAPPING("{m.double_x: 1}"), 2, "m.double_x cannot be set when mode b is entered");
  fails(MAPPING("{m.switch_to: m.x}"), 2, "m.switch_to is Integer, but");
  fails(MAPPING("{m.x: m.x > 1}"), 2, "m.x is Real, but m.x > 1 gives Boolean");
  fails(MAPPING("{'q*': '*'}"), 2, "no variable that can be set in mode b matches q*");
  fails(MAPPING("{m.u: m.x}"), 2, "the units differ: m.x is in m, m.u of the new mode in m/s");
  fails(MAPPING("{m.x: n.m.x}"), 2, "n.m.x");
}

static void bad_sections_have_a_place(void** state) {
  (void)state;
#define MODE "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}}\n"
  const struct {
    const char *text, *message;
  } bad[] = {
      {"modes:\n  a: {models: {m: {c: m.c}}}\n", "s.yaml:4:1: modes: `start` is missing"},
      {"modes:\n  start: b\n  a: {models: {m: {c: m.c}}}\n", "s.yaml:5:10: there is no mode b"},
      {MODE "    leave: {}\n", "s.yaml:8:12: leave needs a list"},
      {MODE "    leave: [{when: m.x > 1}]\n", "leave: `to` is missing"},
      {MODE "    leave: [{when: m.x > 1, to: b}]\n", "there is no mode b (did you mean a"},
      {MODE "    leave: [{to: a}]\n", "it needs `when`, `at` or `on: terminate`"},
      {MODE "    leave: [{to: a, when: m.x > 1, at: 2}]\n", "give either `when` or `at`"},
      {MODE "    leave: [{to: a, on: fire}]\n", "only `terminate` is known"},
      {MODE "    leave: [{to: a, whenn: m.x > 1}]\n", "unknown key whenn (did you mean when"},
      {MODE "    leave: [{to: a, when: m.x}]\n", "m.x is not a condition"},
      {MODE "    leave: [{to: a, when: q.x > 1}]\n",
       "mode a: s.yaml:8:27: unknown name \"q.x\" (did you mean m.x"},
      {MODE "    leaves: [{to: a, when: m.x > 1}]\n", "unknown key leaves (did you mean leave?)"},
      {MODE "    tlm: []\n", "`tlm` is not possible inside of a mode"},
      {"modes:\n  start: a\n  a:\n    models: {m: {c: m.c, interfaces: {e: {kind: translational, "
       "speed: x, force: u}}}}\n",
       "s.yaml:6:3: mode \"a\": there are no delay lines inside of a mode"},
      {MODE "constraints: {c: m.x = 1}\n", "constraints inside of the modes"},
      {MODE "    experiment: {stop: 1}\n", "`experiment` belongs to the whole"},
      {MODE "    modes: {}\n", "for modes inside of a mode take a model with `system:`"},
      {MODE "  start.b: {models: {m: {c: m.c}}}\n", "a name of a mode has no dots"},
      {MODE "models: {m: {c: m.c}}\n", "a system with modes has its models"},
      {MODE "  b: {}\n", "mode \"b\" has no models"},
      {MODE "observe: {mode: m.x}\n", "the name mode is reserved"},
      {MODE "observe: {x: {b: m.x}}\n", "there is no mode b"},
      {MODE "observe: {x: m.y}\n", "m.y"},
      {MODE "    solver: {nam: cvode}\n", "unknown key nam (did you mean name"},
      {"models: {m: {c: m.c, count: 0}}\n", "count must be a whole number from 1"},
      {"models: {m: {c: m.c, count: 2.5}}\n", "count must be a whole number from 1"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    char text[2000];
    snprintf(text, sizeof text, HEAD "%s", bad[i].text);
    fails(text, 2, bad[i].message);
  }
}

//------------------------------------ as a component ------------------------------------

static void inputs_reach_every_mode(void** state) {
  write_file("in.csv", "time,u\n0,1\n10,1\n");
  write_file("s.yaml", HEAD
             "inputs: {u: {start: 0}}\n"
             "modes:\n  start: a\n  a:\n    models: {m: {c: m.c, start: {b: 0}}}\n"
             "    connections: {m.u: u}\n    leave: [{at: 4, to: b, set: {m.x: m.x}}]\n"
             "  b:\n    models: {m: {c: m.c, start: {b: 0}}}\n    connections: {m.u: 2*u}\n"
             "observe: {x: m.x}\n");
  if (couplet("run s.yaml --input in.csv -o out.csv") != 0) check_message("\n\n");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(at_end(t, "x"), 1 + 4 + 12, 1e-7);
  cpl_table_destroy(t);
}

static void write_switcher(void) {
  write_file("switcher.yaml",
             "couplet: 1\nname: switcher\ninputs: {u: {start: 0}}\n"
             "modes:\n  start: up\n  up:\n    models: {m: {c: m.c}}\n"
             "    leave: [{when: m.x > 2, to: down, set: {m.x: m.x}}]\n"
             "  down:\n    models: {m: {c: m.c, start: {b: -1}}}\n"
             "    leave: [{when: m.x < 1, to: up, set: {m.x: m.x}}]\n"
             "observe: {x: m.x}\n");
}

// A triangle between 1 and 2, and its integral over whole periods.
static void a_system_with_modes_is_coupled_like_any_other(void** state) {
  write_switcher();
  cpl_table* t = run_text(*state,
                          HEAD
                          "models:\n  s: {system: switcher.yaml}\n"
                          "  i: {c: m.c, start: {x: 0, b: 0}}\nconnections: {i.u: 1*s.x}\n"
                          "master: {step: 0.01}\nrecord: [s.mode, s.x, i.x]\n",
                          0);
  CHECK_NEAR(at_end(t, "s.x"), 1, 1e-6);
  CHECK_NEAR(at_end(t, "i.x"), 15, 0.05);
  cpl_table_destroy(t);
}

static void modes_stand_inside_of_modes(void** state) {
  write_switcher();
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {s: {system: switcher.yaml}}\n"
                          "    leave: [{at: 3.5, to: b, set: {m.x: s.x}}]\n"
                          "  b: {models: {m: {c: m.c}}}\n"
                          "observe: {x: {a: s.x, b: m.x}}\nrecord: [mode, x, a.s.mode]\n",
                          0);
  const double* inner = column(t, "a.s.mode");
  CHECK(inner[0] == 1 && isnan(inner[t->n_rows - 1]));
  CHECK_NEAR(entered(t, 2), 3.5, 1e-9);
  CHECK_NEAR(at_end(t, "x"), 1.5 + 6.5, 1e-6);  // it is on its way down then
  cpl_table_destroy(t);
}

static void components_side_by_side_have_their_own_modes(void** state) {
  write_switcher();
  cpl_table* t = run_text(*state,
                          HEAD
                          "models:\n  s: {system: switcher.yaml, count: 3, start: {up.m.x: "
                          "1 + 0.25*index}}\n  m: {c: m.c}\n",
                          0);
  for (int k = 1; k <= 3; k++) {
    char name[20];
    snprintf(name, sizeof name, "s[%d].x", k);
    const double *x = column(t, name), phase = 0.25 * k;
    for (size_t i = 0; i < t->n_rows; i++) {
      double p = fmod(t->time[i] + phase, 2);
      CHECK_NEAR(x[i], p < 1 ? 1 + p : 3 - p, 1e-7);
    }
  }
  CHECK_NEAR(at_end(t, "m.x"), 11, 1e-7);
  cpl_table_destroy(t);
}

static void events_and_connections_work_inside_of_a_mode(void** state) {
  cpl_table* t = run_text(*state,
                          HEAD
                          "modes:\n  start: a\n  a:\n    models: {m: {c: m.c}, n: {c: m.c, start: "
                          "{b: 0, x: 0}}}\n    connections: {n.u: 2*m.x}\n"
                          "    events: {kick: {at: 1, set: {m.x: m.x + 10}}}\n"
                          "    leave: [{when: n.x > 30, to: b, set: {n.x: n.x}}]\n"
                          "  b: {models: {n: {c: m.c, start: {b: 0}}}}\nobserve: {x: n.x}\n",
                          0);
  // n = 2 t + t^2, after the kick plus 20 (t - 1): 30 at t = -11 + sqrt(171)
  CHECK_NEAR(entered(t, 2), -11 + sqrt(171), 1e-8);
  CHECK_NEAR(at_end(t, "x"), 30, 1e-6);
  cpl_table_destroy(t);
}

// A point on a circle, entered anew on one of twice the radius at t = 5. `at start` is where the
// mode began.
#define CIRCLE(solver)                                                                   \
  HEAD "modes:\n  start: a\n  a:\n    models: {p: {c: m.c, start: {b: 0}}, q: {c: m.c, " \
       "start: {b: 0, x: 0}}}\n    connections: {p.u: -1*q.x, q.u: 1*p.x}\n"             \
       "    constraints: {radius: p.x^2 + q.x^2 = at start}\n    solver: {" solver       \
       "}\n    leave: [{at: 5, to: a, set: {p.x: 2*p.x, q.x: 2*q.x}}]\n"                 \
       "observe: {r: sqrt(p.x^2 + q.x^2)}\n"

static double largest_drift(cpl_context* ctx, const char* text) {
  cpl_table* t = run_text(ctx, text, 0);
  const double* r = column(t, "r");
  size_t turned = 0;
  double most = 0;
  while (turned + 1 < t->n_rows && t->time[turned] < t->time[turned + 1]) turned++;
  CHECK_NEAR(t->time[turned], 5, 0);
  for (size_t i = 0; i < t->n_rows; i++) most = fmax(most, fabs(r[i] / (i > turned ? 2 : 1) - 1));
  cpl_table_destroy(t);
  return most;
}

static void constraints_hold_inside_of_a_mode(void** state) {
  CHECK(largest_drift(*state, CIRCLE("name: radau, rtol: 1e-3, projection: off")) > 1e-4);
  CHECK(largest_drift(*state, CIRCLE("name: radau, rtol: 1e-3, projection: every")) < 1e-7);
  CHECK(largest_drift(*state, CIRCLE("rtol: 1e-3")) < 1e-6);
  CHECK_INT(couplet("run s.yaml -o out.csv --stats"), 0);
  size_t n;
  char* said = read_all("out.txt", &n);
  CHECK_CONTAINS(said, "projections");
  free(said);
  fails(CIRCLE("projection: of"), 2, "s.yaml:10:26: of is not known (auto, lazy, every");
}

// The same as two_modes.yaml, made by calls.
static void a_program_can_define_modes(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def *def, *one, *two;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  CHECK_OK(ctx, cpl_system_def_add_number(def, "when", 0.7));
  CHECK_OK(ctx, cpl_system_def_add_mode(def, "one", &one));
  CHECK_OK(ctx, cpl_system_def_add_mode(def, "two", &two));
  CHECK_OK(ctx, cpl_system_def_set_start_mode(def, "one"));
  const cpl_assignment fast[] = {{"a", "2"}, {"b", "1"}}, slow[] = {{"a", "1"}, {"b", "-1"}};
  cpl_member_def m = cpl_default_member_def();
  m.name = "m", m.kind = CPL_MEMBER_C, m.path = "m.c", m.n_starts = 2;
  m.starts = fast;
  CHECK_OK(ctx, cpl_system_def_add_model(one, &m));
  m.starts = slow;
  CHECK_OK(ctx, cpl_system_def_add_model(two, &m));
  const cpl_assignment sets[] = {{"m.x", "m.x"}};
  const char* times[] = {"when"};
  cpl_transition_def leave = cpl_default_transition_def();
  leave.to = "two", leave.at = times, leave.n_at = 1, leave.sets = sets, leave.n_sets = 1;
  CHECK_OK(ctx, cpl_system_def_add_transition(def, "one", &leave));
  CHECK_OK(ctx, cpl_system_def_observe(def, "x", "m.x", NULL, 0));
  leave.n_at = 0;
  CHECK_INT(cpl_system_def_add_transition(def, "one", &leave), CPL_ERR_INPUT);
  CHECK_INT(cpl_system_def_add_transition(def, "three", &leave), CPL_ERR_INPUT);
  CHECK_INT(cpl_system_def_add_mode(def, "one", &one), CPL_ERR_INPUT);

  cpl_source* source;
  cpl_stepper* s;
  CHECK_OK(ctx, cpl_system_build_owned(ctx, def, &source));
  cpl_stepper_def how = cpl_default_stepper_def();
  how.solver.rtol = 1e-10;
  CHECK_OK(ctx, cpl_system_stepper(source, &how, &s));
  cpl_run_def run = cpl_default_run_def();
  cpl_run_stats stats;
  double x;
  uint32_t ref = s->base.desc->vars[cpl_find_variable(s->base.desc, "x")].ref;
  for (int k = 0; k < 2; k++) {  // and once more
    CHECK_OK(ctx, cpl_run(s, &run, &stats));
    CHECK_INT(s->base.ops->get_real(&s->base, &ref, 1, &x), CPL_OK);
    CHECK_NEAR(x, 1 + (1.5 * exp(1.4) - 1.5) * exp(0.3), 1e-7);
    CHECK_OK(ctx, s->base.ops->reset(&s->base));
  }
  CHECK_INT(stats.switches, 2);
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
}

//------------------------------------ files ------------------------------------

static void check_printed(const char* part) {
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, part);
  free(text);
}

static void graph_shows_the_state_chart(void** state) {
  (void)state;
  copy_example("breaking_pendulum");
  CHECK_INT(couplet("graph breaking_pendulum/breaking_pendulum.yaml"), 0);
  check_printed("2 modes, 2 transitions; begins with swinging");
  check_printed("  falling: 1 model, 4 states\n    -> swinging  when m.x^2 + m.y^2 > L^2\n");
  check_printed("         p.phi = atan2(m.x, -m.y)\n");
  CHECK_INT(couplet("graph breaking_pendulum/breaking_pendulum.yaml --dot"), 0);
  check_printed("\"(start)\" -> \"swinging\";");
  check_printed("\"swinging\" -> \"falling\" [label=\"when p.rope_force < 0\"];");
  CHECK_INT(couplet("graph breaking_pendulum/breaking_pendulum.yaml --json"), 0);
  check_printed("\"start\": \"swinging\"");
  check_printed("\"condition\": \"when p.rope_force < 0\"");
}

// A file with bytes changed, lost or doubled is read or refused, and nothing worse.
static void survives_mutations(void** state) {
  cpl_context* ctx = *state;
  size_t size;
  char* text = read_all(test_path("examples/nail_pendulum/nail_pendulum.yaml"), &size);
  unsigned seed = 1;
  for (int k = 0; k < 1000; k++) {
    char* copy = malloc(2 * size);
    size_t n = size;
    memcpy(copy, text, size);
    for (int i = 0; i < 3; i++) {
      seed = seed * 1103515245u + 12345u;
      size_t at = (seed >> 8) % n, len = (seed >> 4) % 40;
      if (len > n - at) len = n - at;
      if (seed % 3 == 0) copy[at] = (char)(seed >> 16);
      else if (seed % 3 == 1) memmove(copy + at, copy + at + len, n - at - len), n -= len;
      else if (n + len < 2 * size) memmove(copy + at + len, copy + at, n - at), n += len;
      if (n == 0) break;
    }
    FILE* f = fopen("mutated.yaml", "wb");
    fwrite(copy, 1, n, f);
    fclose(f);
    free(copy);
    cpl_system_def* def = NULL;
    cpl_status st = cpl_system_def_read(ctx, "mutated.yaml", &def);
    CHECK(st >= 0 || def == NULL);
    cpl_system_def_destroy(def);
  }
  free(text);
}

int main(void) {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, drop_context)
  const struct CMUnitTest tests[] = {
      T(of_several_guards_the_first_wins),
      T(a_guard_true_on_entry_is_followed_or_reported),
      T(a_guard_true_at_the_very_start_is_followed),
      T(times_are_met_exactly_and_only_once),
      T(the_model_itself_can_ask_for_it),
      T(a_discrete_variable_can_be_a_guard),
      T(a_wish_to_end_nobody_follows_ends_the_run),
      T(a_cycle_at_one_time_is_reported),
      T(switches_that_accumulate_are_reported),
      T(a_run_may_end_before_switches_accumulate),
      T(mappings_see_everything_the_old_mode_knew),
      T(what_is_not_mapped_takes_its_start_value),
      T(check_tells_of_modes_that_are_never_entered),
      T(a_pattern_is_a_formula_for_each),
      T(mistakes_in_mappings_have_a_place),
      T(bad_sections_have_a_place),
      T(inputs_reach_every_mode),
      T(a_system_with_modes_is_coupled_like_any_other),
      T(modes_stand_inside_of_modes),
      T(components_side_by_side_have_their_own_modes),
      T(events_and_connections_work_inside_of_a_mode),
      T(constraints_hold_inside_of_a_mode),
      T(a_program_can_define_modes),
      T(graph_shows_the_state_chart),
      T(survives_mutations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
