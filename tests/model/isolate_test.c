// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Operations through the process boundary, one by one: the same as without it.
#include "couplet/isolate.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

enum { X1, X2, DX1, DX2, K, U, Y };  // references of the probe's Reals

typedef struct setting {
  test_heap heap;
  cpl_context* ctx;
  cpl_source* source;
} setting;

static void open_probe(setting* s) {
  *s = (setting){.heap = {.fail_at = -1}};
  s->ctx = test_context_with_heap(&s->heap);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = getenv("COUPLET_PROBE");
  cpl_source* inner = NULL;
  CHECK_OK(s->ctx, cpl_fmu_open(s->ctx, &def, &inner));
  CHECK_OK(s->ctx, cpl_isolate(inner, NULL, &s->source));
}

// No memory, no process is left.
static void close_probe(setting* s) {
  s->source->ops->destroy(s->source);
  cpl_context_destroy(s->ctx);
  CHECK_INT(s->heap.live, 0);
  CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static cpl_model* make_model(setting* s) {
  cpl_model* m = NULL;
  CHECK_OK(s->ctx, s->source->ops->make_model(s->source, "left", &m));
  return m;
}

static void initialize(cpl_component* c) {
  cpl_setup setup = {.has_stop_time = true, .stop_time = 10};
  CHECK_OK(c->ctx, c->ops->setup(c, &setup));
  CHECK_OK(c->ctx, c->ops->enter_init(c));
  CHECK_OK(c->ctx, c->ops->exit_init(c));
}

static void values_of_all_types(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  cpl_model* m = make_model(&s);
  cpl_component* c = &m->base;
  CHECK_STR(c->ops->kind, "fmi2-me");
  CHECK_STR(c->name, "left");
  CHECK(c->can.directional && c->can.save_restore);
  CHECK(c->ops->get_binary == NULL && m->ops->newton == NULL);
  initialize(c);
  const uint32_t refs[] = {X1, K, Y}, zero = 0, one = 1;
  const double set[] = {3, 5};
  double got[3];
  CHECK_OK(s.ctx, c->ops->set_real(c, refs, 2, set));
  CHECK_OK(s.ctx, c->ops->get_real(c, refs, 3, got));
  CHECK(got[0] == 3 && got[1] == 5 && got[2] == 3);
  int64_t integer = 77;
  CHECK_OK(s.ctx, c->ops->set_integer(c, CPL_INTEGER, &one, 1, &integer));
  integer = 0;
  CHECK_OK(s.ctx, c->ops->get_integer(c, CPL_INTEGER, &one, 1, &integer));
  CHECK_INT(integer, 77);
  integer = INT64_C(1) << 40;
  CHECK_INT(c->ops->set_integer(c, CPL_INTEGER, &one, 1, &integer), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(s.ctx), "left: n cannot be set to 1099511627776");
  const char *text = "across the border", *read = NULL;
  CHECK_OK(s.ctx, c->ops->set_string(c, &zero, 1, &text));
  CHECK_OK(s.ctx, c->ops->get_string(c, &zero, 1, &read));
  CHECK_STR(read, text);
  c->ops->destroy(c);
  close_probe(&s);
}

static void states_and_events(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  cpl_model* m = make_model(&s);
  initialize(&m->base);
  cpl_event_info info;
  double x[2] = {0.5, 2}, dx[2], z = 0, nominals[2];
  CHECK_OK(s.ctx, m->ops->event_update(m, &info));
  CHECK_NEAR(info.next_time, 0.5, 0);
  CHECK_OK(s.ctx, m->ops->enter_continuous(m));
  CHECK_OK(s.ctx, m->ops->set_time(m, 0.25));
  CHECK_OK(s.ctx, m->ops->set_states(m, x));
  CHECK_OK(s.ctx, m->ops->get_derivatives(m, dx));
  CHECK(dx[0] == 2 && dx[1] == -2);
  CHECK_OK(s.ctx, m->ops->get_indicators(m, &z));
  CHECK_OK(s.ctx, m->ops->get_nominals(m, nominals));
  CHECK_OK(s.ctx, m->ops->get_states(m, x));
  CHECK(x[0] == 0.5 && x[1] == 2);
  const uint32_t unknown = DX2, known = X1;
  double seed = 2, slope = 0;
  CHECK_OK(s.ctx, m->base.ops->directional(&m->base, &unknown, 1, &known, 1, &seed, &slope));
  CHECK_NEAR(slope, -8, 0);
  bool event = true, end = true;
  CHECK_OK(s.ctx, m->ops->completed_step(m, &event, &end));
  CHECK(!event && !end);
  long before = s.heap.calls;
  for (int i = 0; i < 100; i++) CHECK_OK(s.ctx, m->ops->get_derivatives(m, dx));
  CHECK_INT(s.heap.calls, before);
  m->base.ops->destroy(&m->base);
  close_probe(&s);
}

static void saved_states(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  cpl_model* m = make_model(&s);
  cpl_component* c = &m->base;
  initialize(c);
  cpl_snapshot first = {0}, second = {0};
  const uint32_t ref = X1;
  double value = 11;
  CHECK_OK(s.ctx, c->ops->save(c, &first));
  CHECK_OK(s.ctx, c->ops->set_real(c, &ref, 1, &value));
  CHECK_OK(s.ctx, c->ops->save(c, &second));
  CHECK_OK(s.ctx, c->ops->restore(c, &first));
  CHECK_OK(s.ctx, c->ops->get_real(c, &ref, 1, &value));
  CHECK_NEAR(value, 1, 0);
  CHECK_OK(s.ctx, c->ops->restore(c, &second));
  CHECK_OK(s.ctx, c->ops->get_real(c, &ref, 1, &value));
  CHECK_NEAR(value, 11, 0);
  CHECK_OK(s.ctx, c->ops->save(c, &second));  // again into the same
  c->ops->forget(c, &second);
  CHECK(second.data == NULL);
  c->ops->forget(c, &first);
  c->ops->destroy(c);
  close_probe(&s);
}

static void steps(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  cpl_stepper* p = NULL;
  CHECK_OK(s.ctx, s.source->ops->make_stepper(s.source, "right", &p));
  initialize(&p->base);
  cpl_curve line = {.order = 1, .coefficient = {1, 2}};
  CHECK_OK(s.ctx, p->ops->set_curve(p, U, &line));
  cpl_step_result r;
  CHECK_OK(s.ctx, p->ops->step(p, 0.1, 0.1, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  CHECK_NEAR(r.time, 0.1, 0);
  CHECK_INT(p->ops->step(p, 0, 0, &r), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(s.ctx), "right: cannot step from t=0.1 back to t=0");
  CHECK_OK(s.ctx, p->base.ops->terminate(&p->base));
  p->base.ops->destroy(&p->base);
  close_probe(&s);
}

// Two instances do not know of each other; one that is gone says so, the other goes on.
static void one_of_two_ends(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  setenv("PROBE_FAULT", "fmi2GetDerivatives:3:kill", 1);  // each counts its own calls
  cpl_model *a = make_model(&s), *b = make_model(&s);
  unsetenv("PROBE_FAULT");
  double dx[2];
  cpl_snapshot snapshot = {0};
  initialize(&a->base);
  initialize(&b->base);
  CHECK_OK(s.ctx, a->base.ops->save(&a->base, &snapshot));
  for (int i = 0; i < 2; i++) CHECK_OK(s.ctx, a->ops->get_derivatives(a, dx));
  CHECK_INT(a->ops->get_derivatives(a, dx), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(s.ctx), "left: fmi2GetDerivatives at t=0 crashed (signal 9: Killed)");
  CHECK_INT(a->ops->set_time(a, 1), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(s.ctx),
            "left: set_time cannot be called any more: its process has ended");
  CHECK_INT(a->base.ops->terminate(&a->base), CPL_OK);
  for (int i = 0; i < 2; i++) CHECK_OK(s.ctx, b->ops->get_derivatives(b, dx));
  a->base.ops->forget(&a->base, &snapshot);
  a->base.ops->destroy(&a->base);
  b->base.ops->destroy(&b->base);
  close_probe(&s);
}

static void no_memory(void** state) {
  (void)state;
  setting s;
  bool made = false;
  for (long i = 0; !made && i < 100; i++) {
    open_probe(&s);
    s.heap.fail_at = s.heap.calls + i;
    cpl_model* m = NULL;
    cpl_status st = s.source->ops->make_model(s.source, "left", &m);
    s.heap.fail_at = -1;
    made = st >= 0;
    if (made) m->base.ops->destroy(&m->base);
    else CHECK(m == NULL);
    close_probe(&s);
  }
  CHECK(made);
}

static void bad_limit(void** state) {
  (void)state;
  setting s;
  open_probe(&s);
  cpl_source* more = NULL;
  CHECK_INT(
      cpl_isolate(s.source, &(cpl_isolate_def){.size = sizeof(cpl_isolate_def), .call_timeout = -1},
                  &more),
      CPL_ERR_INPUT);
  CHECK(more == NULL);
  close_probe(&s);
}

static int tear_down(void** state) {
  (void)state;
  unsetenv("PROBE_FAULT");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_of_all_types),
      cmocka_unit_test(states_and_events),
      cmocka_unit_test(saved_states),
      cmocka_unit_test(steps),
      cmocka_unit_test(no_memory),
      cmocka_unit_test(bad_limit),
      cmocka_unit_test_teardown(one_of_two_ends, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
