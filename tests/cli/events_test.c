// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Events of systems as a user writes them, against solutions by hand.
#include "../examples/running.h"

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static const char* const solvers[] = {"cvode", "adams",   "radau", "dopri5",
                                      "erk8",  "esdirk5", "ida",   "rk4 --step 0.3"};
enum { N_SOLVERS = sizeof solvers / sizeof *solvers };

static const char integrator[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return CPL_MODEL_OK; }\n"
    "const cpl_model_def couplet_model = {.name = \"i\", .states = states, .inputs = inputs,\n"
    "                                     .derivatives = f};\n";

static double last(const cpl_table* t, const char* name) { return column(t, name)[t->n_rows - 1]; }

//------------------------------------ two crossings in a step ------------------------------------

// Conditions that nobody's steps are short for: of time by itself, of time through a signal, and of
// a state. Three groups with solvers of their own, or one solver for all.
static void conditions_are_looked_at_inside_of_steps(void** state) {
  cpl_context* ctx = *state;
  write_file("i.c", integrator);
  write_file("pulses.yaml",
             "couplet: 1\n"
             "models: {a: {c: i.c}, b: {c: i.c}, n: {c: i.c}, m: {c: i.c}, k: {c: i.c}}\n"
             "inputs: {w: cos(1.5*time)}\n"
             "connections:\n"
             "  a.u: 1\n"
             "  b.u: if 6*a.x - a.x*a.x > 8.4 then 1 else 0\n"
             "  n.u: if sin(3*time) > 0.95 then 1 else 0\n"
             "  m.u: if w < -0.9 then 1 else 0\n"
             "  k.u: 0\n"
             "events: {e: {when: sin(1.1*time) > 0.98, set: {k.x: k.x + 2}}}\n"
             "outputs: {z: 6*a.x - a.x*a.x - 8.4, y: sin(3*time) - 0.95}\n"
             "record: [b.x, n.x, m.x, k.x, b.u, n.u, z, y]\n"
             "experiment: {stop: 5.9, interval: 0.25}\n");
  double third = acos(0.95) * 2 / 3, wave = acos(0.9) * 2 / 1.5;
  for (size_t k = 0; k < 2 * N_SOLVERS; k++) {
    must_do("run pulses.yaml -q -o out.csv --solver %s %s", solvers[k / 2],
            k % 2 == 0 ? "" : "--one-solver");
    cpl_table* t = read_table(ctx, "out.csv");
    CHECK_NEAR(last(t, "b.x"), 2 * sqrt(0.6), 1e-6);
    CHECK_NEAR(last(t, "n.x"), 3 * third, 1e-6);
    CHECK_NEAR(last(t, "m.x"), wave, 1e-6);
    CHECK_NEAR(last(t, "k.x"), 2, 1e-9);
    for (size_t i = 1; i + 1 < t->n_rows; i++) {  // rows at events show both sides
      if (t->time[i] == t->time[i - 1] || t->time[i] == t->time[i + 1]) continue;
      CHECK_INT(column(t, "b.u")[i], column(t, "z")[i] > 0);
      CHECK_INT(column(t, "n.u")[i], column(t, "y")[i] > 0);
    }
    cpl_table_destroy(t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(conditions_are_looked_at_inside_of_steps),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
