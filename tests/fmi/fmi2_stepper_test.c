// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/probe.h"

static cpl_stepper* ready_stepper(probe_fmu* p, const char* identifier) {
  probe_open(p, identifier);
  cpl_stepper* s = probe_stepper(p);
  CHECK_OK(p->ctx, probe_init(&s->base));
  probe_record(p);
  return s;
}

static void done(probe_fmu* p, cpl_stepper* s) {
  s->base.ops->destroy(&s->base);
  probe_close(p);
}

static void steps_are_exact(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(p.ctx, s->ops->step(s, i * 0.1, i * 0.1, &r));
    CHECK(r.end == CPL_STEP_DONE && r.time == i * 0.1);
  }
  CHECK_OK(p.ctx, s->ops->step(s, r.time, r.time, &r));  // of size zero: no call
  CHECK(r.end == CPL_STEP_DONE && r.time == 3 * 0.1);
  CHECK_INT(s->ops->step(s, 0.1, 0.1, &r), CPL_ERR_INPUT);
  CHECK_OK(p.ctx, s->base.ops->terminate(&s->base));
  CHECK_STR(probe_calls(),
            "0 left fmi2DoStep(0, 0.1, 1) -> fmi2OK\n"
            "0.1 left fmi2DoStep(0.1, 0.1, 1) -> fmi2OK\n"
            "0.2 left fmi2DoStep(0.2, 0.10000000000000003, 1) -> fmi2OK\n"
            "0.30000000000000004 left fmi2Terminate() -> fmi2OK\n");
  CHECK(s->ops->max_step == NULL && !s->base.can.predicts && !s->base.can.stops_early);
  done(&p, s);
}

static void a_discarded_step_tells_how_far_it_came(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  probe_fault("fmi2DoStep", 1, "discard");
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_REFUSED && r.time == 0.5);
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_DONE && r.time == 1);
  CHECK_STR(probe_calls(),
            "0 left fmi2DoStep(0, 1, 1) -> fmi2Discard\n"
            "0 left fmi2GetRealStatus(2) -> fmi2OK 0.5\n"
            "0 left fmi2GetBooleanStatus(3) -> fmi2OK 0\n"
            "0.5 left fmi2DoStep(0.5, 0.5, 1) -> fmi2OK\n");
  done(&p, s);
}

// A time that cannot be: behind the step it is an error, otherwise no answer and said once.
static void times_outside_of_the_step_are_named(void** state) {
  (void)state;
  static const char* const beyond[] = {"beyond", "infinite"};
  static const char* const before[] = {"before", "notime"};
  for (int i = 0; i < 2; i++) {
    probe_fmu p;
    cpl_stepper* s = ready_stepper(&p, "probe");
    cpl_step_result r;
    probe_fault("fmi2DoStep", 1, beyond[i]);
    CHECK_INT(s->ops->step(s, 0.25, 0.25, &r), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(p.ctx), "left: the step from t=0 to t=0.25");
    CHECK_CONTAINS(cpl_context_error(p.ctx), i == 0 ? "LastSuccessfulTime is 0.5" : "is inf");
    done(&p, s);
  }
  for (int i = 0; i < 2; i++) {
    probe_fmu p;
    cpl_stepper* s = ready_stepper(&p, "probe");
    cpl_step_result r;
    probe_fault("fmi2DoStep", 1, before[i]);
    CHECK_OK(p.ctx, s->ops->step(s, 0.25, 0.25, &r));
    CHECK(r.end == CPL_STEP_REFUSED && r.time == 0);
    CHECK_CONTAINS(p.logged, i == 0 ? "fmi2LastSuccessfulTime is -1" : "LastSuccessfulTime is nan");
    size_t said = strlen(p.logged);
    probe_fault("fmi2DoStep", 1, before[i]);
    CHECK_OK(p.ctx, s->ops->step(s, 0.25, 0.25, &r));
    CHECK_INT(strlen(p.logged), said);
    done(&p, s);
  }
}

static void a_prediction_that_is_none_is_named(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe_extras");
  double h = 0;
  probe_fault("fmi2GetMaxStepSize", 1, "nan");
  CHECK_OK(p.ctx, s->ops->max_step(s, &h));
  CHECK(isnan(h));
  CHECK_CONTAINS(p.logged, "fmi2GetMaxStepSize says at t=0 that the longest step is nan");
  CHECK_OK(p.ctx, s->ops->max_step(s, &h));
  CHECK(h == 0.125);
  done(&p, s);
}

// One warning, then inputs are held.
static void derivatives_that_fail_are_left_out(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  cpl_curve line = {.from = 0, .order = 1, .coefficient = {1, 2}};
  probe_fault("fmi2SetRealInputDerivatives", 1, "error");
  CHECK_OK(p.ctx, s->ops->set_curve(s, U, &line));
  CHECK_CONTAINS(p.logged, "fmi2SetRealInputDerivatives at t=0 returned fmi2Error");
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_OK(p.ctx, s->ops->set_curve(s, U, &line));
  CHECK_STR(probe_calls(),
            "0 left fmi2SetReal([5], [1]) -> fmi2OK\n"
            "0 left fmi2SetRealInputDerivatives([5, 5], [1, 2], [2, 0]) -> fmi2Error\n"
            "0 left fmi2DoStep(0, 1, 1) -> fmi2OK\n"
            "1 left fmi2SetReal([5], [3]) -> fmi2OK\n");
  done(&p, s);
}

static int count_calls(const char* function) {
  int n = 0;
  for (const char* at = probe_calls(); (at = strstr(at, function)) != NULL; at++) n++;
  return n;
}

// One warning, then they are unknown.
static void derivatives_of_outputs(void** state) {
  (void)state;
  probe_fmu p;
  const uint32_t refs[20] = {0};
  double d[20];
  probe_open(&p, "probe");
  p.fmu.cs.can.output_derivatives = 1;
  cpl_stepper* s = probe_stepper(&p);
  CHECK_OK(p.ctx, probe_init(&s->base));
  probe_record(&p);
  CHECK_OK(p.ctx, s->ops->get_output_derivatives(s, refs, 20, d));
  CHECK(d[0] == d[19] && isfinite(d[0]));
  CHECK_INT(count_calls("fmi2GetRealOutputDerivatives"), 2);  // the orders of a call are limited
  probe_fault("fmi2GetRealOutputDerivatives", 1, "error");
  CHECK_OK(p.ctx, s->ops->get_output_derivatives(s, refs, 1, d));
  CHECK(isnan(d[0]));
  CHECK_CONTAINS(p.logged, "fmi2GetRealOutputDerivatives at t=0 returned fmi2Error");
  CHECK_CONTAINS(p.logged, "derivatives of its outputs are not used");
  size_t logged = strlen(p.logged);
  CHECK_OK(p.ctx, s->ops->get_output_derivatives(s, refs, 1, d));
  CHECK(isnan(d[0]));
  CHECK_INT(strlen(p.logged), logged);
  CHECK_INT(count_calls("fmi2GetRealOutputDerivatives"), 3);
  done(&p, s);

  s = ready_stepper(&p, "probe");  // the description does not offer them
  CHECK(s->ops->get_output_derivatives == NULL);
  done(&p, s);
}

static void a_model_may_end_the_simulation(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  probe_fault("fmi2DoStep", 1, "terminate");
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_TERMINATE && r.time == 0.5);
  done(&p, s);
}

static void no_answer_is_an_answer(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe_bare");
  cpl_step_result r;
  probe_fault("fmi2DoStep", 1, "discard");
  CHECK(s->ops->set_curve == NULL);
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_REFUSED && r.time == 0);
  done(&p, s);
}

static void events_stop_a_stepper_that_can(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe_extras");
  probe_record(&p);
  cpl_stepper* s = probe_stepper(&p);
  CHECK(s->base.can.stops_early && s->base.can.predicts);
  CHECK_CONTAINS(probe_calls(), "- left coupletStopAtEvents(1) -> fmi2OK\n");
  CHECK_OK(p.ctx, probe_init(&s->base));
  cpl_step_result r;
  double h;
  CHECK_OK(p.ctx, s->ops->max_step(s, &h));
  CHECK(h == 0.125);
  probe_fault("fmi2DoStep", 1, "discard");
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_EVENT && r.time == 0.5);
  done(&p, s);
}

static void pending_steps_are_awaited(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  probe_fault("fmi2DoStep", 1, "pending");
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.end == CPL_STEP_DONE && r.time == 1);
  CHECK_STR(probe_calls(),
            "0 left fmi2DoStep(0, 1, 1) -> fmi2Pending\n"
            "0 left fmi2GetStatus(0) -> fmi2OK 5\n"
            "0 left fmi2GetStatus(0) -> fmi2OK 5\n"
            "0 left fmi2GetStatus(0) -> fmi2OK 0\n");
  done(&p, s);
}

static void inputs_are_curves(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_step_result r;
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  cpl_curve cubic = {.from = 0, .order = 3, .coefficient = {1, 2, 3, 4}};  // at t=1
  CHECK_OK(p.ctx, s->ops->set_curve(s, U, &cubic));
  cpl_curve held = {.from = 1, .order = 0, .coefficient = {5}};
  CHECK_OK(p.ctx, s->ops->set_curve(s, U, &held));
  CHECK_STR(probe_calls(),
            "0 left fmi2DoStep(0, 1, 1) -> fmi2OK\n"
            "1 left fmi2SetReal([5], [10]) -> fmi2OK\n"
            "1 left fmi2SetRealInputDerivatives([5, 5], [1, 2], [20, 30]) -> fmi2OK\n"
            "1 left fmi2SetReal([5], [5]) -> fmi2OK\n"
            "1 left fmi2SetRealInputDerivatives([5, 5], [1, 2], [0, 0]) -> fmi2OK\n");
  done(&p, s);
}

static void time_comes_back_with_the_state(void** state) {
  (void)state;
  probe_fmu p;
  cpl_stepper* s = ready_stepper(&p, "probe");
  cpl_component* c = &s->base;
  cpl_step_result r;
  cpl_snapshot snapshot = {NULL};
  uint32_t x1 = X1;
  double first, second;
  CHECK_OK(p.ctx, s->ops->step(s, 0.5, 0.5, &r));
  CHECK_OK(p.ctx, c->ops->save(c, &snapshot));
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_OK(p.ctx, c->ops->get_real(c, &x1, 1, &first));
  CHECK_OK(p.ctx, c->ops->restore(c, &snapshot));
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK_OK(p.ctx, c->ops->get_real(c, &x1, 1, &second));
  CHECK(first == second);
  CHECK_CONTAINS(probe_calls(), "0.5 left fmi2DoStep(0.5, 0.5, 0) -> fmi2OK\n");

  // an error is mended by going back
  probe_fault("fmi2DoStep", 1, "error");
  CHECK_INT(s->ops->step(s, 2, 2, &r), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(p.ctx),
            "left: fmi2DoStep at t=1 returned fmi2Error: fmi2DoStep was told to fail, k = 4");
  CHECK_INT(s->ops->step(s, 2, 2, &r), CPL_ERR_MODEL);
  CHECK_OK(p.ctx, c->ops->restore(c, &snapshot));
  CHECK_OK(p.ctx, s->ops->step(s, 1, 1, &r));
  CHECK(r.time == 1);
  c->ops->forget(c, &snapshot);
  done(&p, s);
}

static void crashes_end_it(void** state) {
  (void)state;
  static const char* const functions[] = {"fmi2DoStep", "fmi2GetRealStatus",
                                          "fmi2GetBooleanStatus"};
  cpl_guard_crashes();
  for (int i = 0; i < 3; i++) {
    probe_fmu p;
    cpl_stepper* s = ready_stepper(&p, "probe");
    cpl_step_result r;
    probe_fault(functions[i], 1, "segv");
    cpl_status st = s->ops->step(s, 1, 1, &r);
    if (i == 0) {
      CHECK_INT(st, CPL_ERR_MODEL);
      CHECK_CONTAINS(cpl_context_error(p.ctx), "left: fmi2DoStep at t=0 ");
      CHECK_CONTAINS(cpl_context_error(p.ctx), crash_text());
    }
    done(&p, s);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_are_exact),
      cmocka_unit_test(a_discarded_step_tells_how_far_it_came),
      cmocka_unit_test(times_outside_of_the_step_are_named),
      cmocka_unit_test(a_prediction_that_is_none_is_named),
      cmocka_unit_test(derivatives_that_fail_are_left_out),
      cmocka_unit_test(derivatives_of_outputs),
      cmocka_unit_test(a_model_may_end_the_simulation),
      cmocka_unit_test(no_answer_is_an_answer),
      cmocka_unit_test(events_stop_a_stepper_that_can),
      cmocka_unit_test(pending_steps_are_awaited),
      cmocka_unit_test(inputs_are_curves),
      cmocka_unit_test(time_comes_back_with_the_state),
      cmocka_unit_test(crashes_end_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
