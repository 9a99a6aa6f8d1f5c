// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Event updates of steppers follow the data flow: a number of updates proportional to the length of
// a chain, every event of one instant delivered, and only loops take more rounds. Expected values
// are counted by hand.
#include "../examples/running.h"

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

#define MODEL "#include <couplet/model.h>\n"
#define EVENT "static int event(const cpl_values* v, cpl_event_actions* a) {\n  (void)v;\n"

// At 0.3 and 0.9 it counts: at the second time three times, one after the other.
static const char source[] = MODEL
    "static const cpl_declaration w[] = {{\"n\", .type = CPL_INTEGER, .output = true}, {0}};\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v, a->next_time = 0.3;\n  return 0;\n}\n" EVENT
    "  if (v->t < 0.3 || a->w[0] == 4 || (a->w[0] >= 1 && v->t < 0.9)) {\n"
    "    if (a->w[0] >= 1 && a->w[0] < 4) a->next_time = 0.9;\n    return 0;\n  }\n"
    "  a->w[0] += 1;\n"
    "  if (v->t < 0.9) a->next_time = 0.9;\n"
    "  else a->again = a->w[0] < 4;\n"
    "  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"source\", .discrete = w,\n"
    "  .initialize = begin, .event = event};\n";

// y = u + 3 from the update on that sees u; changes: how many values of u it has seen.
static const char mode_dependent[] = MODEL
    "static const cpl_declaration u[] = {{\"u\", .type = CPL_INTEGER}, {0}};\n"
    "static const cpl_declaration w[] = {{\"y\", .type = CPL_INTEGER, .output = true},\n"
    "  {\"updates\", .type = CPL_INTEGER, .output = true},\n"
    "  {\"changes\", .type = CPL_INTEGER, .output = true}, {\"last\", .start = -1}, {0}};\n" EVENT
    "  a->w[0] = v->u[0] + 3, a->w[1] += 1;\n"
    "  if (v->u[0] != a->w[3]) a->w[2] += 1, a->w[3] = v->u[0];\n"
    "  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"mode_dependent\", .inputs = u, .discrete = w,\n"
    "  .event = event};\n";

static const char inverter[] = MODEL
    "static const cpl_declaration u[] = {{\"u\", .type = CPL_BOOLEAN}, {0}};\n"
    "static const cpl_declaration w[] = {{\"y\", .type = CPL_BOOLEAN, .output = true}, "
    "{0}};\n" EVENT
    "  a->w[0] = v->u[0] == 0;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"inverter\", .inputs = u, .discrete = w,\n"
    "  .event = event};\n";

// A state that jumps to 7 at 0.4, and a part that compares it with a level in its updates only.
static const char jump[] = MODEL
    "static const cpl_declaration x[] = {{\"x\", .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) { (void)v, dx[0] = 0.5; return 0; }\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v, a->next_time = 0.4;\n  return 0;\n}\n" EVENT
    "  if (a->time_event) a->x[0] = 7;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"jump\", .states = x, .derivatives = f,\n"
    "  .initialize = begin, .event = event};\n";

static const char level[] = MODEL
    "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration w[] = {{\"since\", .start = -1, .output = true}, {0}};\n" EVENT
    "  if (v->u[0] > 4 && a->w[0] < 0) a->w[0] = v->t;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"level\", .inputs = u, .discrete = w,\n"
    "  .event = event};\n";

static int setup(void** state) {
  write_file("source.c", source);
  write_file("mode_dependent.c", mode_dependent);
  write_file("inverter.c", inverter);
  write_file("jump.c", jump);
  write_file("level.c", level);
  must_do("build -q mode_dependent.c -o passing2.fmu");
  must_do("build -q --fmi 3 mode_dependent.c -o passing3.fmu");
  must_do("build -q --fmi 3 level.c -o level3.fmu");
  return make_context(state);
}

static double last(const cpl_table* t, const char* name) { return column(t, name)[t->n_rows - 1]; }

//------------------------------------ chains ------------------------------------

// Parts are sorted by name: every second one in the order of the data flow, the others against it.
static int name_of(int i, int n) { return i % 2 == 1 ? i : n - n % 2 + 2 - i; }

static void write_chain(int n, const char* const* kinds, int n_kinds, const char* master) {
  FILE* f = fopen("chain.yaml", "w");
  CHECK(f != NULL);
  fprintf(f, "couplet: 1\nmodels:\n  s: {c: source.c, as: cs}\n");
  for (int i = 1; i <= n; i++) fprintf(f, "  m%d: {%s}\n", name_of(i, n), kinds[i % n_kinds]);
  fprintf(f, "connections:\n  m%d.u: s.n\n", name_of(1, n));
  for (int i = 2; i <= n; i++) fprintf(f, "  m%d.u: m%d.y\n", name_of(i, n), name_of(i - 1, n));
  fprintf(f, "master: {%s}\nrecord: [m%d.y, m%d.updates, m%d.changes]\n", master, name_of(n, n),
          name_of(n, n), name_of(n, n));
  fprintf(f, "experiment: {stop: 1, interval: 0.5}\n");
  fclose(f);
}

// The start, one event and three updates of another: y = 4 + 3 n at the end, and every model has
// seen 0, 1, 2, 3 and 4 (plus what is before it), those at 0.9 one after the other.
static void check_chain(cpl_context* ctx, int n) {
  char y[32], updates[32], changes[32];
  snprintf(y, sizeof y, "m%d.y", name_of(n, n));
  snprintf(updates, sizeof updates, "m%d.updates", name_of(n, n));
  snprintf(changes, sizeof changes, "m%d.changes", name_of(n, n));
  must_do("run chain.yaml -q -o out.csv");
  cpl_table* t = read_table(ctx, "out.csv");
  CHECK_NEAR(column(t, y)[0], 3 * n, 0);
  CHECK_NEAR(last(t, y), 4 + 3 * n, 0);
  CHECK(last(t, changes) >= 5 && last(t, changes) <= 6);  // the first may be the start value
  CHECK(last(t, updates) <= 12);
  cpl_table_destroy(t);
}

static void chains_settle_in_the_order_of_the_data_flow(void** state) {
  static const char* const kinds[] = {"c: mode_dependent.c, as: cs", "fmu: passing2.fmu, as: cs",
                                      "fmu: passing3.fmu, as: cs"};
  static const char* const masters[] = {"step: 0.2", "step: 0.07, algorithm: gauss-seidel",
                                        "step: 0.2, algorithm: jacobi", "step: 5, threads: 2"};
  for (int k = 0; k < 4; k++) {
    write_chain(12, k < 3 ? &kinds[k] : kinds, k < 3 ? 1 : 3, masters[k]);
    check_chain(*state, 12);
  }
  write_chain(400, kinds, 1, masters[0]);
  check_chain(*state, 400);
}

// Every third model of the chain is a system with a master of its own.
static void chains_go_through_masters(void** state) {
  write_file(
      "inner.yaml",
      "couplet: 1\nmodels: {p: {c: mode_dependent.c, as: cs}, q: {c: mode_dependent.c, as: cs}}\n"
      "connections: {q.u: p.y}\nmaster: {step: 0.1}\n");
  write_file("outer.yaml",
             "couplet: 1\nmodels: {s: {c: source.c, as: cs}, a: {system: inner.yaml},\n"
             "  b: {c: mode_dependent.c, as: cs}, c: {system: inner.yaml}}\n"
             "connections: {c.p.u: s.n, b.u: c.q.y, a.p.u: b.y}\n"
             "master: {step: 0.2}\nrecord: [a.q.y, a.q.changes, a.q.updates]\n"
             "experiment: {stop: 1, interval: 0.5}\n");
  must_do("run outer.yaml -q -o out.csv");
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(last(t, "a.q.y"), 4 + 15, 0);
  CHECK(last(t, "a.q.changes") >= 5);
  CHECK(last(t, "a.q.updates") <= 24);
  cpl_table_destroy(t);
}

//------------------------------------ loops ------------------------------------

static void write_ring(int n) {
  FILE* f = fopen("ring.yaml", "w");
  CHECK(f != NULL);
  fprintf(f, "couplet: 1\nmodels:\n");
  for (int i = 0; i < n; i++) fprintf(f, "  r%d: {c: inverter.c, as: cs}\n", i);
  fprintf(f, "connections:\n");
  for (int i = 0; i < n; i++) fprintf(f, "  r%d.u: r%d.y\n", i, (i + 1) % n);
  fprintf(f, "master: {step: 0.5}\nexperiment: {stop: 1}\n");
  fclose(f);
}

// An even number of inverters has two stable states, an odd one none.
static void rings_settle_where_they_can(void** state) {
  for (int n = 2; n <= 4; n += 2) {
    write_ring(n);
    must_do("run ring.yaml -q -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK(last(t, "r0.y") + last(t, "r1.y") == 1);
    cpl_table_destroy(t);
  }
  write_ring(3);
  CHECK(couplet("run ring.yaml -q -o out.csv") != 0);
  check_message("the event at t=0 does not settle: 1000 rounds of updates, and these go on: r");
  check_message(".u (");
}

//------------------------------------ levels ------------------------------------

static void a_level_is_compared_again_when_a_state_jumps(void** state) {
  static const char* const ways[] = {"{c: jump.c, as: cs}", "{c: level.c, as: cs}",
                                     "{c: jump.c, as: cs}", "{fmu: level3.fmu, as: cs}",
                                     "{c: jump.c}",         "{c: level.c}",
                                     "{c: jump.c, as: cs}", "{c: level.c}",
                                     "{c: jump.c}",         "{fmu: level3.fmu, as: me}"};
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i += 2) {
    char text[512];
    bool models = strstr(ways[i], "cs") == NULL;
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: %s, b: %s}\nconnections: {b.u: a.x}\n%s"
             "record: [b.since]\nexperiment: {stop: 1, interval: 0.25}\n",
             ways[i], ways[i + 1], models ? "" : "master: {step: 0.25}\n");
    write_file("level.yaml", text);
    must_do("run level.yaml -q -o out.csv");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK_NEAR(last(t, "b.since"), 0.4, 1e-15);
    cpl_table_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_settle_in_the_order_of_the_data_flow),
      cmocka_unit_test(chains_go_through_masters),
      cmocka_unit_test(rings_settle_where_they_can),
      cmocka_unit_test(a_level_is_compared_again_when_a_state_jumps),
  };
  return cmocka_run_group_tests(tests, setup, drop_context);
}
