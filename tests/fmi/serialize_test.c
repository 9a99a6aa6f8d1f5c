// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states of FMUs as bytes and back.
#include "testing.h"

static void build(const char* version, const char* path) {
  char command[8192];
  snprintf(command, sizeof command, "'%s' build '%s' --fmi %s -q -o %s", getenv("COUPLET"),
           test_path("examples/ball_and_counter/ball.c"), version, path);
  CHECK_INT(system(command), 0);
}

static double height(cpl_context* ctx, cpl_component* c) {
  double h;
  int32_t var = cpl_find_variable(c->desc, "h");
  CHECK(var >= 0);
  CHECK_OK(ctx, c->ops->get_real(c, &c->desc->vars[var].ref, 1, &h));
  return h;
}

// Past events; the stepper stops at each.
static void run_to(cpl_context* ctx, cpl_stepper* s, double t) {
  cpl_step_result r = {0};
  while (r.time < t) {
    CHECK_OK(ctx, s->ops->step(s, t, t, &r));
    if (r.end == CPL_STEP_EVENT && s->base.can.zero_step)
      CHECK_OK(ctx, s->ops->step(s, r.time, r.time, &r));
  }
}

static void check_version(const char* version) {
  cpl_context* ctx = test_context();
  cpl_fmu_def def = cpl_default_fmu_def();
  cpl_source* source;
  cpl_stepper* s;
  build(version, "ball.fmu");
  def.path = "ball.fmu";
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &source));
  CHECK_OK(ctx, source->ops->make_stepper(source, "ball", &s));
  cpl_component* c = &s->base;
  cpl_setup setup = {.has_stop_time = true, .stop_time = 3};
  CHECK(c->can.serialize && c->ops->serialize != NULL);
  CHECK_OK(ctx, c->ops->setup(c, &setup));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  run_to(ctx, s, 0.5);
  cpl_snapshot saved = {0}, copy = {0};
  cpl_binary bytes;
  CHECK_OK(ctx, c->ops->save(c, &saved));
  double before = height(ctx, c);
  CHECK_OK(ctx, c->ops->serialize(c, &saved, &bytes));
  CHECK(bytes.size > 16);
  run_to(ctx, s, 1.4);
  double after = height(ctx, c);
  CHECK(before != after);
  for (int i = 0; i < 2; i++) {  // the second one takes the place of the first
    CHECK_OK(ctx, c->ops->deserialize(c, &bytes, &copy));
    CHECK_OK(ctx, c->ops->restore(c, &copy));
    CHECK(height(ctx, c) == before);
    run_to(ctx, s, 1.4);
    CHECK(height(ctx, c) == after);
  }
  c->ops->forget(c, &copy);
  // bytes that are none
  cpl_binary cut = {bytes.data, 7};
  CHECK(c->ops->deserialize(c, &cut, &copy) < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "no saved state");
  c->ops->forget(c, &saved);
  c->ops->destroy(c);
  source->ops->destroy(source);
  cpl_context_destroy(ctx);
}

static void states_become_bytes_and_come_back(void** state) {
  (void)state;
  check_version("2");
  check_version("3");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(states_become_bytes_and_come_back)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
