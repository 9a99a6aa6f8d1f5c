// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs that tell the next time event only in the first of the updates of an event.
#include "fmi/probes.h"

// With clocks, which have times of their own, the log of calls shows what the FMU itself told.
static void check_version(const char* which, bool clocks) {
  opened o;
  setenv("PROBE_TELLS_ONCE", "1", 1);
  open_probe(&o, which);
  cpl_model* m = NULL;
  cpl_event_info info;
  CHECK_OK(o.ctx, o.source->ops->make_model(o.source, "m", &m));
  cpl_component* c = &m->base;
  CHECK_OK(o.ctx, c->ops->setup(c, &(cpl_setup){.has_stop_time = true, .stop_time = 10}));
  CHECK_OK(o.ctx, c->ops->enter_init(c));
  CHECK_OK(o.ctx, c->ops->exit_init(c));
  for (int event = 0; event < 2; event++) {
    CHECK_OK(o.ctx, m->ops->event_update(m, &info));
    CHECK(info.again);
    double next = info.next_time;
    CHECK(isfinite(next));
    for (int round = 0; round < 5 && info.again; round++)
      CHECK_OK(o.ctx, m->ops->event_update(m, &info));
    CHECK(!info.again);
    if (!clocks) CHECK_NEAR(info.next_time, next, 0);
    CHECK_OK(o.ctx, m->ops->enter_continuous(m));
    CHECK_OK(o.ctx, m->ops->set_time(m, 0.5));
    CHECK_OK(o.ctx, m->ops->enter_event(m));
  }
  c->ops->destroy(c);
  unsetenv("PROBE_TELLS_ONCE");
  close_probe(&o);
}

static void fmi1_tells_once(void** state) {
  (void)state;
  check_version("1_me", false);
}
static void fmi2_tells_once(void** state) {
  (void)state;
  check_version("", false);
}
static void fmi3_tells_once(void** state) {
  (void)state;
  check_version("3", true);
  char text[65536];
  FILE* f = fopen("calls.txt", "r");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  CHECK_CONTAINS(text, "fmi3UpdateDiscreteStates() -> fmi3OK 1 0 0 0 0.77");
  CHECK_CONTAINS(text, "fmi3UpdateDiscreteStates() -> fmi3OK 0 0 0 0 0.77");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fmi1_tells_once),
      cmocka_unit_test(fmi2_tells_once),
      cmocka_unit_test(fmi3_tells_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
