// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A relay whose input comes from another model and from itself. Where inputs are held at their
// values of the end of a step, they make an event shortly after its beginning that is not there in
// a shorter step. Masters, also nested ones, pass such events in a few steps, and the relay
// switches when it does in the coupled equations.
#include "examples/running.h"

static const char model[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"a\", .start = 1}, {\"b\", .start = 9}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"on\", .start = -1, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] * (v->w[0] - v->x[0]);\n  return 0;\n}\n"
    "static int z(const cpl_values* v, double* z) {\n"
    "  z[0] = v->w[0] > 0 ? v->u[0] + v->p[1] : v->u[0] - v->p[1];\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (v->w[0] > 0 && v->u[0] <= -v->p[1]) a->w[0] = -1;\n"
    "  if (v->w[0] < 0 && v->u[0] > v->p[1]) a->w[0] = 1;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"relay\", .states = states, .inputs = inputs, "
    ".parameters = parameters, .discrete = discrete, .n_indicators = 1, .derivatives = f, "
    ".indicators = z, .event = e};\n";

static const char* const algorithms[] = {"determinate", "jacobi", "gauss-seidel", "iterative"};

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("relay.c", model);
  return make_context(state);
}

// r: x' = 4 (on - x), x(0) = -0.3, on = -1 until u = -0.6 x + s(t) reaches 0.35, then 1.
static double exact(double (*s)(double), double stop) {
  double low = 0, high = stop;
  while (high - low > 1e-14) {
    double t = (low + high) / 2, x = -1 + 0.7 * exp(-4 * t);
    if (-0.6 * x + s(t) > 0.35) high = t;
    else low = t;
  }
  return 1 + (-2 + 0.7 * exp(-4 * low)) * exp(-4 * (stop - low));
}

static double ramp(double t) { return 0.9 * t - 0.5; }
static double other(double t) { return 1.1 * (1 - exp(-t)) - 0.55; }

// The value at the end, which tells when it switched; communication steps, with those that were
// taken back, are not many more than the 50 that are asked for.
static void check_run(cpl_context* ctx, const char* prefix, double (*s)(double)) {
  char name[60];
  double end = exact(s, 1);
  size_t size;
  must_do("run s.yaml -o out.csv --stats");
  cpl_table* t = read_table(ctx, "out.csv");
  snprintf(name, sizeof name, "%sr.on", prefix);
  const double* on = column(t, name);
  snprintf(name, sizeof name, "%sr.x", prefix);
  CHECK_NEAR(column(t, name)[t->n_rows - 1], end, 0.02);
  CHECK_NEAR(on[t->n_rows - 1], 1, 0);
  cpl_table_destroy(t);
  char* text = read_all("out.txt", &size);
  const char* at = strstr(text, "communication steps");
  assert_non_null(at);
  CHECK(atoi(at + strlen("communication steps")) < 200);
  free(text);
}

// The feedback of the relay is inside of a group that is integrated as one.
static void an_input_that_moves_within_the_step(void** state) {
  for (size_t i = 0; i < 4; i++) {
    char text[1000];
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {stop: 1, interval: 0.25, rtol: 1e-8}\n"
             "models: {o: {c: relay.c, as: cs, start: {on: 1}}, "
             "r: {c: relay.c, start: {a: 4, b: 0.35, x: -0.3}}}\n"
             "connections: {r.u: -0.6*r.x + 1.1*o.x - 0.55}\n"
             "master: {algorithm: %s, order: 0, step: 0.02}\n",
             algorithms[i]);
    put("s.yaml", text);
    check_run(*state, "", other);
  }
}

// The feedback is inside of another master.
static void an_input_of_a_nested_master(void** state) {
  for (size_t i = 0; i < 16; i += i % 4 == 0 ? 3 : 1) {  // determinate or iterative inside
    char text[1000];
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {r: {c: relay.c, as: cs, start: {a: 4, b: 0.35, x: -0.3}}}\n"
             "connections: {r.u: -0.6*r.x + s}\ninputs: {s: {start: 0}}\n"
             "master: {algorithm: %s, order: 0, step: 0.02}\n",
             algorithms[i % 4]);
    put("box.yaml", text);
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {stop: 1, interval: 0.25, rtol: 1e-8}\n"
             "models: {o: {c: relay.c, as: cs}, box: {system: box.yaml}}\n"
             "connections: {o.u: sin(time), box.s: 0.9*time - 0.5}\n"
             "master: {algorithm: %s, order: 0, step: 0.02}\n",
             algorithms[i / 4]);
    put("s.yaml", text);
    check_run(*state, "box.", ramp);
  }
}

// A thousand times slower, and far from time 0: no values agree over a step in which the relay
// switches, however short, until the step is a few roundings of time.
static void a_switch_far_from_time_zero(void** state) {
  for (size_t i = 0; i < 4; i++) {
    char text[1000];
    snprintf(text, sizeof text,
             "couplet: 1\nexperiment: {start: 650000, stop: 651000, interval: 250, rtol: 1e-8}\n"
             "models: {o: {c: relay.c, as: cs, start: {a: 0.001}}, "
             "r: {c: relay.c, as: cs, start: {a: 0.004, b: 0.35, x: -0.3}}}\n"
             "connections: {o.u: r.x, r.u: -0.6*r.x + 0.0009*(time - 650000) - 0.5}\n"
             "master: {algorithm: %s, order: 0, step: 20}\n",
             algorithms[i]);
    put("s.yaml", text);
    check_run(*state, "", ramp);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_input_that_moves_within_the_step),
      cmocka_unit_test(an_input_of_a_nested_master),
      cmocka_unit_test(a_switch_far_from_time_zero),
  };
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
