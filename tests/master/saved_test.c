// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A state that is saved, left and restored gives the same bits as one that is only saved, and steps
// of a master that are rolled back leave no trace. Discrete
// inputs that did not change are not set again: that would be an event of a model, and loops would
// be solved once more.
#include "examples/running.h"

// A level that changes at every 0.4, and a state that does not matter.
static const char stairs[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 0.3, .output = true}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"level\", .start = 0.7, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n  dx[0] = -v->x[0];\n  return 0;\n}\n"
    "static int i(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n  a->next_time = 0.4;\n  return 0;\n}\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (!a->time_event) return 0;\n"
    "  a->w[0] = v->w[0] + 0.21;\n  a->next_time = v->t + 0.4;\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"stairs\", .states = states, "
    ".discrete = discrete, .derivatives = f, .initialize = i, .event = e};\n";

// y = 0.8 sin(u) + c; n is the number of events
static const char bend[] =
    "#include <couplet/model.h>\n#include <math.h>\n"
    "static const cpl_declaration inputs[] = {{\"u\"}, {\"c\"}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"n\", .output = true}, {0}};\n"
    "static int e(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->w[0] = v->w[0] + 1;\n  return 0;\n}\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  y[0] = 0.8 * sin(v->u[0]) + v->u[1];\n  return 0;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"bend\", .inputs = inputs, "
    ".outputs = outputs, .discrete = discrete, .output_values = g, .event = e};\n";

static const char system_text[] =
    "couplet: 1\nmodels: {s: {c: stairs.c, as: cs}, b: {c: bend.c}}\n"
    "connections: {b.u: 0.9*b.y + 0.05*s.x, b.c: 0.5*s.level + 0.1}\n"
    "master: {algorithm: %s, order: 0, step: 0.05}\n";

enum { STEPS = 24 };

static void put(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  CHECK(fputs(text, f) >= 0);
  CHECK_INT(fclose(f), 0);
}

static int make_files(void** state) {
  put("stairs.c", stairs), put("bend.c", bend);
  return make_context(state);
}

static void step_to(cpl_context* ctx, cpl_stepper* s, double end) {
  cpl_step_result r = {.time = -1};
  for (int k = 0; k < 100 && !(r.time >= end && r.end == CPL_STEP_DONE); k++)
    CHECK_OK(ctx, s->ops->step(s, end, end, &r));
  CHECK_NEAR(r.time, end, 0);
}

static void run(cpl_context* ctx, bool leave, double y[STEPS], double* events) {
  cpl_source* source = NULL;
  cpl_stepper* s = NULL;
  cpl_snapshot saved = {0};
  cpl_setup setup = {.start_time = 0, .has_stop_time = true, .stop_time = 2};
  cpl_stepper_def def = cpl_default_stepper_def();
  def.solver.restart_each_step = def.solver.one_solver = true;
  CHECK_OK(ctx, cpl_system_open(ctx, "s.yaml", &source));
  CHECK_OK(ctx, cpl_system_stepper(source, &def, &s));
  cpl_component* c = &s->base;
  uint32_t ref = c->desc->vars[cpl_find_variable(c->desc, "b.y")].ref;
  CHECK_OK(ctx, c->ops->setup(c, &setup));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  for (int i = 0; i < STEPS; i++) {
    bool saves = i % 7 == 3;
    if (saves) CHECK_OK(ctx, c->ops->save(c, &saved));
    for (int k = 1; k < 4 && saves && leave; k++) step_to(ctx, s, 0.07 * (i + k));
    if (saves && leave) CHECK_OK(ctx, c->ops->restore(c, &saved));
    step_to(ctx, s, 0.07 * (i + 1));
    CHECK_OK(ctx, c->ops->get_real(c, &ref, 1, &y[i]));
  }
  ref = c->desc->vars[cpl_find_variable(c->desc, "b.n")].ref;
  CHECK_OK(ctx, c->ops->get_real(c, &ref, 1, events));
  c->ops->forget(c, &saved);
  c->ops->destroy(c);
  source->ops->destroy(source);
}

// The solution of y = 0.8 sin(0.9 y + 0.05 x) + c
static double solve(double t) {
  double x = 0.3 * exp(-t), level = 0.5 * (0.7 + 0.21 * floor(t / 0.4)) + 0.1, y = level;
  for (int k = 0; k < 300; k++) y += 0.5 * (0.8 * sin(0.9 * y + 0.05 * x) + level - y);
  return y;
}

// At each step of the stairs the model has an event with the values before it, and one with the new
// level; the stairs' event rolls steps back where parts are stepped at once.
static void unchanged_inputs_are_not_set_again(void** state) {
  static const char* const algorithms[] = {"gauss-seidel", "determinate", "jacobi", "iterative"};
  for (int k = 0; k < 4; k++) {
    double plain[STEPS], with_detours[STEPS], events, events_with_detours;
    char text[1000];
    snprintf(text, sizeof text, system_text, algorithms[k]);
    put("s.yaml", text);
    run(*state, false, plain, &events);
    run(*state, true, with_detours, &events_with_detours);
    CHECK_NEAR(events, 1 + 2 * 4, 0);
    CHECK_NEAR(events_with_detours, events, 0);
    for (int i = 0; i < STEPS; i++) {
      CHECK_NEAR(plain[i], solve(0.07 * (i + 1)), 0.01);  // x is from the last communication point
      CHECK_NEAR(with_detours[i], plain[i], 0);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(unchanged_inputs_are_not_set_again)};
  return cmocka_run_group_tests(tests, make_files, drop_context);
}
