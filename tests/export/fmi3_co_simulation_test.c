// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation by FMI 3.0: with and without event mode, early return, intermediate updates.
#include "export/driver.h"
#include "export/driver3.h"

// Built once for all tests that use it.
static driver3 ball;

static int set_up(void** state) {
  (void)state;
  driver3_open(&ball, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  driver3_close(&ball);
  return 0;
}

static const cs_options plain = {.event_mode = false};
static const cs_options with_events = {.event_mode = true, .early_return = true};

//------------------------------------ without event mode ------------------------------------

// The same steps by both versions give the same bits, events inside included.
static void both_versions_compute_the_same_bits(void** state) {
  (void)state;
  static const char* const models[][4] = {
      {"examples/bouncing_ball/bouncing_ball.c", "bouncing_ball", "h", "0.13"},
      {"examples/van_der_pol/van_der_pol.c", "van_der_pol", "x", "10"},
      {"examples/sampler/sampler.c", "sampler", "T", "25"}};
  for (size_t k = 0; k < CPLI_COUNT(models); k++) {
    driver two;
    driver3 three;
    double h = strtod(models[k][3], NULL);
    driver_open(&two, models[k][0], models[k][1]);
    driver3_open(&three, models[k][0], models[k][1]);
    fmi2Component a = driver_start(&two, fmi2CoSimulation, NULL, 1e-8);
    fmi3Instance b = driver3_start(&three, &plain, NULL, 1e-8);
    for (int i = 0; i < 20; i++) {
      CHECK_FMI(two.fmi2DoStep(a, i * h, h, fmi2True), fmi2OK);
      step3 s = driver3_step(&three, b, i * h, h);
      CHECK(!s.event && !s.end && !s.early && s.time == i * h + h);
      CHECK_NEAR(driver3_real(&three, b, models[k][2]), driver_real(&two, a, models[k][2]), 0);
      CHECK_NEAR(driver3_real(&three, b, "time"), i * h + h, 0);
    }
    two.fmi2FreeInstance(a);
    three.FreeInstance(b);
    driver_close(&two);
    driver3_close(&three);
  }
}

// Without leave to return early, event mode gets only what lies at the end of a step.
static void events_inside_are_handled_when_steps_may_not_end_early(void** state) {
  (void)state;
  driver3 d = ball;
  cs_options cs = {.event_mode = true, .early_return = false};
  fmi3Instance c = driver3_start(&d, &cs, NULL, 1e-8);
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  for (int i = 0; i < 8; i++) {
    double height, speed;
    step3 s = driver3_step(&d, c, i * 0.35, 0.35);
    CHECK(!s.event && !s.early);
    ball_exact((i + 1) * 0.35, &height, &speed);
    CHECK_NEAR(driver3_real(&d, c, "h"), height, 1e-5);
  }
  d.FreeInstance(c);
}

//------------------------------------ event mode ------------------------------------

typedef struct update3 {
  bool again, end, nominals, states, defined;
  double next;
} update3;

static update3 update(driver3* d, fmi3Instance c) {
  update3 u;
  CHECK_FMI3(
      d->UpdateDiscreteStates(c, &u.again, &u.end, &u.nominals, &u.states, &u.defined, &u.next),
      fmi3OK);
  return u;
}

static void steps_end_at_events(void** state) {
  (void)state;
  driver3 d = ball;
  fmi3Instance c = driver3_start(&d, &with_events, NULL, 1e-10);
  double t = 0;
  int impacts = 0;
  update(&d, c);  // of the initialisation
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  while (impacts < 5) {
    double most;
    CHECK_FMI3(d.GetMaxStepSize(c, &most), fmi3Discard);  // it depends on the states
    step3 s = driver3_step(&d, c, t, 10);
    CHECK(s.event && s.early && !s.end && s.time >= t);
    t = s.time;
    CHECK_NEAR(driver3_real(&d, c, "time"), t, 0);
    double before = driver3_real(&d, c, "v");
    CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
    CHECK_NEAR(driver3_real(&d, c, "v"), before, 0);  // the event waits for the update
    update3 u = update(&d, c);
    CHECK(!u.again && !u.end && !u.defined);
    CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
    if (fabs(t - ball_impact(impacts + 1)) > 1e-6) continue;  // the ball leaves the ground
    impacts++;
    CHECK_NEAR(driver3_real(&d, c, "v"), sqrt(2 * 9.81) * pow(0.8, impacts), 1e-6);
    CHECK_NEAR(before, -driver3_real(&d, c, "v") / 0.8, 1e-9);
  }
  d.FreeInstance(c);
}

// The sampler's recursion, every sample an event that the importer handles; its clock ticks there.
static void time_events_tick(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "examples/sampler/sampler.c", "sampler");
  fmi3Instance c = driver3_start(&d, &with_events, NULL, 1e-9);
  fmi3ValueReference clock = driver3_ref(&d, "time_event");
  CHECK_CONTAINS(d.xml, "intervalVariability=\"triggered\"");
  double T = 10, heat = 0, integral = 0, wanted = 20, decay = exp(-60 * 100 / 2e5), t = 0;
  fmi3Clock tick = true;
  CHECK_FMI3(d.GetClock(c, &clock, 1, &tick), fmi3OK);
  CHECK(!tick);
  update3 u = update(&d, c);
  CHECK(u.defined && u.next == 60);
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  for (int k = 0; k < 50; k++) {
    step3 s = driver3_step(&d, c, t, k % 2 == 0 ? 60 : 100);  // at its end, or inside
    CHECK(s.event && s.early == (k % 2 == 1));
    t = s.time;
    CHECK_NEAR(t, 60.0 * (k + 1), 0);
    double rest = 5 + heat / 100;
    T = rest + (T - rest) * decay;
    CHECK_NEAR(driver3_real(&d, c, "heat"), heat, 1e-3);  // still the one before
    CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
    CHECK_FMI3(d.GetClock(c, &clock, 1, &tick), fmi3OK);
    CHECK(tick);
    if (k == 20) {
      wanted = 22;
      CHECK_FMI3(driver3_set_real(&d, c, "T_wanted", wanted), fmi3OK);
    }
    u = update(&d, c);
    CHECK(u.defined && u.next == 60.0 * (k + 2));
    CHECK_FMI3(d.GetClock(c, &clock, 1, &tick), fmi3OK);
    CHECK(!tick);
    CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
    heat = fmax(0, 200 * (wanted - T + integral / 1200));
    integral += 60 * (wanted - T);
    CHECK_NEAR(driver3_real(&d, c, "T"), T, 1e-6);
    CHECK_NEAR(driver3_real(&d, c, "heat"), heat, 1e-3);
  }
  d.FreeInstance(c);
  driver3_close(&d);
}

static int32_t events_of(driver3* d, fmi3Instance c) {
  fmi3ValueReference ref = driver3_ref(d, "events");
  int32_t n = -1;
  CHECK_FMI3(d->GetInt32(c, &ref, 1, &n, 1), fmi3OK);
  return n;
}

// An update is made once for every event, and not at all where nothing happened.
static void every_event_is_updated_once(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "examples/types/types.c", "types");
  heard3 h = {0};
  fmi3Instance c = driver3_start(&d, &with_events, &h, 0);
  fmi3ValueReference count = driver3_ref(&d, "count_in"), out = driver3_ref(&d, "count_out");
  int32_t value = 5;
  CHECK_INT(events_of(&d, c), 1);  // of the initialisation
  update(&d, c);
  update(&d, c);
  CHECK_INT(events_of(&d, c), 1);
  CHECK_FMI3(d.SetInt32(c, &count, 1, &value, 1), fmi3OK);
  update(&d, c);
  CHECK_INT(events_of(&d, c), 2);
  CHECK_FMI3(d.GetInt32(c, &out, 1, &value, 1), fmi3OK);
  CHECK_INT(value, 15);
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  CHECK_FMI3(d.SetInt32(c, &count, 1, &value, 1), fmi3Error);
  CHECK_CONTAINS(h.text, "only be set in Event Mode");
  driver3_step(&d, c, 0, 0.1);
  CHECK_INT(events_of(&d, c), 2);
  CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
  update(&d, c);
  CHECK_INT(events_of(&d, c), 3);
  d.FreeInstance(c);
  driver3_close(&d);
}

//------------------------------------ intermediate updates ------------------------------------

typedef struct watcher {
  heard3 heard;  // first: the logger's
  driver3* d;
  fmi3Instance c;
  int looks;
  double first, height, return_at;
  bool return_wanted, may_return;
  fmi3Status set;
} watcher;

static void look(fmi3InstanceEnvironment environment, fmi3Float64 t, fmi3Boolean set_requested,
                 fmi3Boolean get_allowed, fmi3Boolean finished, fmi3Boolean may_return,
                 fmi3Boolean* wanted, fmi3Float64* at) {
  watcher* w = environment;
  CHECK(!set_requested && get_allowed && finished);
  if (w->looks++ == 0) {
    w->first = t;
    w->height = driver3_real(w->d, w->c, "h");
    CHECK_NEAR(driver3_real(w->d, w->c, "time"), t, 0);
    w->set = driver3_set_real(w->d, w->c, "g", 1);
    CHECK_FMI3(w->d->Reset(w->c), fmi3Error);
  }
  w->may_return = may_return;
  *wanted = w->return_wanted;
  *at = w->return_at > t ? w->return_at : t;
}

static step3 watched_step(driver3* d, watcher* w, bool early) {
  cs_options cs = {.early_return = early, .look = look};
  w->d = d;
  w->c = driver3_start(d, &cs, &w->heard, 1e-8);
  step3 s = driver3_step(d, w->c, 0, 1);
  CHECK_INT(w->may_return, early);
  CHECK_NEAR(w->first, ball_impact(1), 1e-6);
  CHECK_NEAR(w->height, 0, 1e-6);
  CHECK_INT(w->set, fmi3Error);
  return s;
}

static void the_importer_can_look_in_and_return(void** state) {
  (void)state;
  driver3 d = ball;
  double height, speed;
  for (int early = 0; early < 2; early++) {     // it only looks
    watcher w = {.return_wanted = early == 0};  // the wish counts only where it is allowed
    step3 s = watched_step(&d, &w, early != 0);
    CHECK(!s.early && !s.event && s.time == 1);
    ball_exact(1, &height, &speed);
    CHECK_NEAR(driver3_real(&d, w.c, "h"), height, 1e-6);
    d.FreeInstance(w.c);
  }

  watcher w = {.return_wanted = true};  // at the event itself, which is handled
  step3 s = watched_step(&d, &w, true);
  CHECK(s.early && !s.event && s.time == w.first);
  CHECK_INT(w.looks, 1);
  CHECK_NEAR(driver3_real(&d, w.c, "v"), 0.8 * sqrt(2 * 9.81), 1e-6);
  w.return_wanted = false;
  s = driver3_step(&d, w.c, s.time, 0.1);
  CHECK(!s.early && s.time == w.first + 0.1);
  d.FreeInstance(w.c);

  w = (watcher){.return_wanted = true, .return_at = 0.7};  // later
  s = watched_step(&d, &w, true);
  CHECK(s.early && s.time == 0.7);
  ball_exact(0.7, &height, &speed);
  CHECK_NEAR(driver3_real(&d, w.c, "h"), height, 1e-6);
  d.FreeInstance(w.c);
}

//------------------------------------ states ------------------------------------

static void record(driver3* d, fmi3Instance c, double from, double* out) {
  for (int i = 0; i < 15; i++) {
    driver3_step(d, c, from + i * 0.07, 0.07);
    out[2 * i] = driver3_real(d, c, "h");
    out[2 * i + 1] = driver3_real(d, c, "v");
  }
}

static void going_back_changes_no_bit(void** state) {
  (void)state;
  driver3 d = ball;
  fmi3Instance c = driver3_start(&d, &plain, NULL, 1e-8);
  fmi3FMUState saved = NULL, again = NULL;
  double one[30], two[30], three[30];
  size_t size = 0;
  for (int i = 0; i < 10; i++) driver3_step(&d, c, i * 0.05, 0.05);
  CHECK_FMI3(d.GetFMUState(c, &saved), fmi3OK);
  record(&d, c, 0.5, one);
  CHECK_FMI3(d.SetFMUState(c, saved), fmi3OK);
  record(&d, c, 0.5, two);
  CHECK(memcmp(one, two, sizeof one) == 0);

  CHECK_FMI3(d.SerializedFMUStateSize(c, saved, &size), fmi3OK);
  fmi3Byte* bytes = malloc(size);
  CHECK_FMI3(d.SerializeFMUState(c, saved, bytes, size), fmi3OK);
  CHECK_FMI3(d.SerializeFMUState(c, saved, bytes, size - 1), fmi3Error);
  fmi3Instance other = driver3_start(&d, &plain, NULL, 1e-8);
  CHECK_FMI3(d.DeserializeFMUState(other, bytes, size - 8, &again), fmi3Error);
  CHECK_FMI3(d.DeserializeFMUState(other, bytes, size, &again), fmi3OK);
  CHECK_FMI3(d.SetFMUState(other, again), fmi3OK);
  record(&d, other, 0.5, three);
  CHECK(memcmp(one, three, sizeof one) == 0);
  free(bytes);
  CHECK_FMI3(d.FreeFMUState(other, &again), fmi3OK);
  CHECK_FMI3(d.FreeFMUState(c, &saved), fmi3OK);
  CHECK(saved == NULL && again == NULL);
  d.FreeInstance(other);
  d.FreeInstance(c);
}

// A state saved between a step that ended at an event and the event mode that handles it.
static void a_waiting_event_is_saved(void** state) {
  (void)state;
  driver3 d = ball;
  fmi3Instance c = driver3_start(&d, &with_events, NULL, 1e-8);
  fmi3FMUState step = NULL, event = NULL;
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  double t = driver3_step(&d, c, 0, 1).time, speed[3];
  CHECK_FMI3(d.GetFMUState(c, &step), fmi3OK);
  for (int i = 0; i < 3; i++) {
    if (i == 2) CHECK_FMI3(d.SetFMUState(c, event), fmi3OK);  // inside event mode
    else CHECK_FMI3(d.SetFMUState(c, step), fmi3OK);
    if (i < 2) CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
    if (i == 0) CHECK_FMI3(d.GetFMUState(c, &event), fmi3OK);
    update(&d, c);
    CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
    speed[i] = driver3_real(&d, c, "v");
    driver3_step(&d, c, t, 0.01);
  }
  CHECK(speed[0] > 3 && speed[0] == speed[1] && speed[1] == speed[2]);
  CHECK_FMI3(d.FreeFMUState(c, &step), fmi3OK);
  CHECK_FMI3(d.FreeFMUState(c, &event), fmi3OK);
  d.FreeInstance(c);
}

//------------------------------------ ends ------------------------------------

static void a_model_can_end_the_simulation(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "tests/export/stopper.c", "_2_stops___more");
  heard3 h = {0};
  fmi3Instance c = driver3_start(&d, &plain, &h, 0);
  CHECK(!driver3_step(&d, c, 0, 0.75).end);
  step3 s = driver3_step(&d, c, 0.75, 0.75);
  CHECK(s.end && !s.early && !s.event);
  CHECK_NEAR(s.time, 1, 1e-6);
  CHECK_FMI3(d.DoStep(c, 1.5, 0.75, true, &s.event, &s.end, &s.early, &s.time), fmi3Error);
  CHECK_FMI3(d.Terminate(c), fmi3OK);
  d.FreeInstance(c);

  c = driver3_start(&d, &with_events, &h, 0);
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  s = driver3_step(&d, c, 0, 5);
  CHECK(s.event && s.early && !s.end);
  CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
  CHECK(update(&d, c).end);
  CHECK_FMI3(d.EnterStepMode(c), fmi3Error);
  CHECK_FMI3(d.Terminate(c), fmi3OK);
  d.FreeInstance(c);
  driver3_close(&d);
}

static void a_failing_model_is_an_error_with_its_words(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "tests/export/stopper.c", "_2_stops___more");
  heard3 h = {0};
  fmi3Instance c = driver3_instance(&d, &plain, &h);
  step3 s;
  CHECK_FMI3(driver3_set_real(&d, c, "stop_at", 100), fmi3OK);
  CHECK_FMI3(driver3_set_real(&d, c, "fail_at", 0.5), fmi3OK);
  driver3_initialize(&d, c, 0);
  CHECK_FMI3(d.DoStep(c, 0, 1, true, &s.event, &s.end, &s.early, &s.time), fmi3Error);
  CHECK_STR(h.category, "logStatusError");
  CHECK_CONTAINS(h.text, "100% too far");
  CHECK_FMI3(d.DoStep(c, 0, 1, true, &s.event, &s.end, &s.early, &s.time), fmi3Error);
  CHECK_CONTAINS(h.text, "after an error");
  CHECK_FMI3(d.Reset(c), fmi3OK);
  driver3_initialize(&d, c, 0);
  driver3_step(&d, c, 0, 0.5);
  d.FreeInstance(c);
  driver3_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(both_versions_compute_the_same_bits),
      cmocka_unit_test(events_inside_are_handled_when_steps_may_not_end_early),
      cmocka_unit_test(steps_end_at_events),
      cmocka_unit_test(time_events_tick),
      cmocka_unit_test(every_event_is_updated_once),
      cmocka_unit_test(the_importer_can_look_in_and_return),
      cmocka_unit_test(going_back_changes_no_bit),
      cmocka_unit_test(a_waiting_event_is_saved),
      cmocka_unit_test(a_model_can_end_the_simulation),
      cmocka_unit_test(a_failing_model_is_an_error_with_its_words),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
