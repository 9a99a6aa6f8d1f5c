// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An event is over when every part has seen the values that the others came to.
#include <sys/stat.h>

#include "archive.h"
#include "testing.h"

// A cart that rolls out; a push in its direction of more than it can take makes it stop.
static const char cart[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration x[] = {{\"v\", .start = -2, .output = true}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) { dx[0] = v->x[0] < 0 ? 0.5 : 0; return 0; }\n"
    "static int z(const cpl_values* v, double* out) { out[0] = -v->x[0]; return 0; }\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (v->x[0] > 0) a->x[0] = 0;\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"cart\", .states = x, .n_indicators = 1,\n"
    "  .derivatives = f, .indicators = z, .event = event};\n";

// high: whether u is above 0.3
static const char watch[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration w[] = {{\"high\", .output = true}, {0}};\n"
    "static int z(const cpl_values* v, double* out) { out[0] = v->u[0] - 0.3; return 0; }\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->w[0] = v->u[0] > 0.3;\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"watch\", .inputs = u, .discrete = w,\n"
    "  .n_indicators = 1, .indicators = z, .event = event};\n";

// The push brings v from -1 to 0.6, where the watch is high, and the cart stops at 0, where it is
// not.
static const char file[] =
    "couplet: 1\n"
    "models: {a: {c: watch.c}, cart: {c: cart.c}, z: {c: watch.c}}\n"
    "connections: {a.u: cart.v + 0.1, z.u: cart.v + 0.1}\n"
    "events: {push: {when: cart.v > -1, set: {cart.v: cart.v + 1.6}}}\n"
    "record: [cart.v, a.u, a.high, z.u, z.high]\n"
    "experiment: {stop: 4, interval: 0.5}\n";

typedef struct seen {
  int rows, pushed;
} seen;

static cpl_status look(void* user, double t, const cpl_value* v) {
  seen* s = user;
  (void)t;
  s->rows++;
  s->pushed += v[0].real == 0;
  for (int i = 1; i < 5; i += 2)  // no row contradicts the watch
    CHECK((v[i].real > 0.3) == (v[i + 1].real > 0));
  return CPL_OK;
}

static void no_part_keeps_what_was_on_the_way(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RADAU, CPL_SOLVER_DOPRI5};
  cpl_context* ctx = *state;
  write_bytes("cart.c", cart, strlen(cart));
  write_bytes("watch.c", watch, strlen(watch));
  write_bytes("s.yaml", file, strlen(file));
  for (size_t i = 0; i < 3; i++) {
    cpl_source* system = NULL;
    cpl_model* model = NULL;
    cpl_stepper* stepper = NULL;
    seen s = {0};
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = kinds[i];
    static const char* const record[] = {"cart.v", "a.u", "a.high", "z.u", "z.high"};
    cpl_run_def run = cpl_default_run_def();
    run.stop_time = 4, run.interval = 0.5;
    run.record = record, run.n_record = 5;
    run.on_point = look, run.user = &s;
    CHECK_OK(ctx, cpl_system_open(ctx, "s.yaml", &system));
    CHECK_OK(ctx, system->ops->make_model(system, "system", &model));
    CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
    CHECK_OK(ctx, cpl_run(stepper, &run, NULL));
    CHECK(s.pushed >= 4 && s.rows > s.pushed);
    stepper->base.ops->destroy(&stepper->base);
    system->ops->destroy(system);
  }
}

// Keeps its input at 0.5, 1, 1.5, ...
static const char store[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration u[] = {{\"u\"}, {0}};\n"
    "static const cpl_declaration w[] = {{\"y\", .output = true}, {\"k\"}, {0}};\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v, a->w[1] = 1, a->next_time = 0.5;\n"
    "  return 0;\n"
    "}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (!a->time_event) return 0;\n"
    "  a->w[0] = v->u[0], a->w[1] += 1, a->next_time = 0.5 * a->w[1];\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"store\", .inputs = u, .discrete = w,\n"
    "  .initialize = begin, .event = event};\n";

static cpl_status keep(void* user, double t, const cpl_value* v) {
  double* last = user;
  (void)t;
  for (int i = 0; i < 3; i++) last[i] = v[i].real;
  return CPL_OK;
}

// Events of their own at one instant see what led to it, in whatever order models stand: stores in
// a row hand on what the one before had until then. After three times 1.5, 1 and 0.5 stand there.
static void events_at_one_instant_see_the_values_before(void** state) {
  static const char* const record[] = {"m.y", "b.y", "x.y"};
  cpl_context* ctx = *state;
  cpl_source* system = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  double last[3] = {0};
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def run = cpl_default_run_def();
  const char* text =
      "couplet: 1\n"
      "models: {b: {c: store.c}, m: {c: store.c}, x: {c: store.c}}\n"
      "connections: {m.u: time, b.u: m.y, x.u: b.y}\n";
  write_bytes("store.c", store, strlen(store));
  write_bytes("r.yaml", text, strlen(text));
  run.stop_time = 1.7, run.interval = 1.7;
  run.record = record, run.n_record = 3;
  run.on_point = keep, run.user = last;
  CHECK_OK(ctx, cpl_system_open(ctx, "r.yaml", &system));
  CHECK_OK(ctx, system->ops->make_model(system, "system", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
  CHECK_OK(ctx, cpl_run(stepper, &run, NULL));
  for (int i = 0; i < 3; i++) CHECK_NEAR(last[i], 1.5 - 0.5 * i, 1e-12);
  stepper->base.ops->destroy(&stepper->base);
  system->ops->destroy(system);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_part_keeps_what_was_on_the_way),
                                     cmocka_unit_test(events_at_one_instant_see_the_values_before)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
