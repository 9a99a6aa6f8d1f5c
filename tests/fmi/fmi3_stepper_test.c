// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/probes.h"

// Steps end where clocks tick; the event is the first deed of the next step, or of a step of zero.
static void stops_at_ticks(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(c));
  CHECK(c->can.zero_step && c->can.stops_early && c->can.predicts);
  CHECK_INT(integer_in(&o, c, "n_tunable"), 1);  // at the start
  CHECK_OK(o.ctx, s->ops->step(s, 0.06, 0.06, &r));
  CHECK_INT(r.end, CPL_STEP_EVENT);
  CHECK_NEAR(r.time, 0.05, 1e-15);
  CHECK_INT(integer_in(&o, c, "n_constant"), 0);
  CHECK_OK(o.ctx, s->ops->step(s, r.time, r.time, &r));
  CHECK(r.event_handled);
  CHECK_INT(integer_in(&o, c, "n_constant"), 1);
  CHECK_OK(o.ctx, s->ops->step(s, 0.06, 0.06, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  CHECK_NEAR(r.time, 0.06, 0);
  double h = 0;
  CHECK_OK(o.ctx, s->ops->max_step(s, &h));
  CHECK_NEAR(h, 0.02, 1e-15);  // a clock ticks before the 0.125 that the FMU allows
  c->ops->destroy(c);
  close_probe(&o);
}

// Discrete inputs are set in event mode, and only when they change.
static void discrete_inputs(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  CHECK_OK(o.ctx, initialize(c));
  int before = calls_of("fmi3EnterEventMode");
  CHECK_OK(o.ctx, try_integer(&o, c, "i32_in", 7));
  CHECK_OK(o.ctx, try_integer(&o, c, "b_in", 1));
  CHECK_INT(integer_in(&o, c, "i32_out"), 7);
  CHECK_INT(integer_in(&o, c, "b_out"), 1);
  CHECK_INT(calls_of("fmi3EnterEventMode"), before + 1);
  CHECK_OK(o.ctx, try_integer(&o, c, "i32_in", 7));
  CHECK_INT(calls_of("fmi3EnterEventMode"), before + 1);
  CHECK_OK(o.ctx, try_integer(&o, c, "trigger", 1));
  CHECK_INT(integer_in(&o, c, "n_trigger"), 1);
  c->ops->destroy(c);
  close_probe(&o);
}

static cpl_step_result step_with(opened* o, const char* fault, cpl_stepper** out) {
  open_probe(o, "3");
  want_fault("fmi3DoStep", 1, fault);
  cpl_stepper* s = *out = stepper_in(o);
  cpl_step_result r;
  CHECK_OK(o->ctx, initialize(&s->base));
  CHECK_OK(o->ctx, s->ops->step(s, 0.04, 0.04, &r));
  return r;
}

static void early_return(void** state) {
  (void)state;
  static const struct {
    const char* fault;
    cpl_step_end end;
    double time;
  } cases[] = {{"early", CPL_STEP_EVENT, 0.02},
               {"end", CPL_STEP_TERMINATE, 0.04},
               {"discard", CPL_STEP_REFUSED, 0.02}};
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    opened o;
    cpl_stepper* s;
    cpl_step_result r = step_with(&o, cases[i].fault, &s);
    CHECK_INT(r.end, cases[i].end);
    CHECK_NEAR(r.time, cases[i].time, 1e-15);
    s->base.ops->destroy(&s->base);
    close_probe(&o);
  }
}

static void times_outside_of_the_step_are_named(void** state) {
  (void)state;
  static const char* const bad[] = {"beyond", "infinite", "before", "notime"};
  for (int i = 0; i < 4; i++) {
    opened o;
    open_probe(&o, "3");
    want_fault("fmi3DoStep", 1, bad[i]);
    cpl_stepper* s = stepper_in(&o);
    cpl_step_result r;
    CHECK_OK(o.ctx, initialize(&s->base));
    cpl_status st = s->ops->step(s, 0.04, 0.04, &r);
    if (i < 2) {
      CHECK_INT(st, CPL_ERR_MODEL);
      CHECK_CONTAINS(cpl_context_error(o.ctx), "left: the step from t=0 to t=0.04");
      CHECK_CONTAINS(cpl_context_error(o.ctx), i == 0 ? "Time is 0.08" : "Time is inf");
    } else {
      CHECK(st == CPL_OK && r.end == CPL_STEP_EVENT && r.time == 0);
      CHECK_CONTAINS(o.logged, i == 2 ? "lastSuccessfulTime is -1" : "lastSuccessfulTime is nan");
    }
    s->base.ops->destroy(&s->base);
    close_probe(&o);
  }
}

static void a_prediction_that_is_none_is_named(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  want_fault("fmi3GetMaxStepSize", 1, "negative");
  cpl_stepper* s = stepper_in(&o);
  double h = 0;
  CHECK_OK(o.ctx, initialize(&s->base));
  CHECK_OK(o.ctx, s->ops->max_step(s, &h));
  CHECK_CONTAINS(o.logged, "fmi3GetMaxStepSize says at t=0 that the longest step is -1");
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void ends_in_an_event(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  want_fault("fmi3UpdateDiscreteStates", 3, "end");
  cpl_stepper* s = stepper_in(&o);
  cpl_run_def def = cpl_default_run_def();
  cpl_run_stats stats;
  def.stop_time = 1;
  def.step = 0.5;
  CHECK_INT(cpl_run(s, &def, &stats), CPL_TERMINATE);
  CHECK(stats.reached < 0.2);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void without_event_mode(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  ((cpl_fmu*)o.source)->cs.event_mode = false;
  cpl_stepper* s = stepper_in(&o);
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(&s->base));
  CHECK(!s->base.can.zero_step);
  CHECK_OK(o.ctx, try_integer(&o, &s->base, "i32_in", 3));
  CHECK_OK(o.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  CHECK_NEAR(real_in(&o, &s->base, "x[1]"), cos(2), 1e-12);
  CHECK_INT(calls_of("fmi3EnterEventMode"), 0);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

// One that promises an event mode and refuses it goes on without.
static void refused_event_mode(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  setenv("PROBE3_NO_EVENTS", "1", 1);
  cpl_stepper* s = stepper_in(&o);
  unsetenv("PROBE3_NO_EVENTS");
  CHECK(!s->base.can.zero_step);
  CHECK_CONTAINS(o.logged, "promises an event mode, but the FMU refuses it (no event mode here)");
  cpl_step_result r;
  CHECK_OK(o.ctx, initialize(&s->base));
  CHECK_OK(o.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_INT(r.end, CPL_STEP_DONE);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(stops_at_ticks),
      cmocka_unit_test(discrete_inputs),
      cmocka_unit_test(early_return),
      cmocka_unit_test(times_outside_of_the_step_are_named),
      cmocka_unit_test(a_prediction_that_is_none_is_named),
      cmocka_unit_test(ends_in_an_event),
      cmocka_unit_test(without_event_mode),
      cmocka_unit_test(refused_event_mode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
