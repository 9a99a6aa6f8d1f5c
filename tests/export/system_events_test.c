// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Co-simulation of FMUs of systems by FMI 3.0, call by call: event mode, early return, intermediate
// updates, the next event, parameters set at events, saved states around events. The system has a
// solution in closed form (sampled_system.h); it is a model, a nested system and a master.
#include "driver3.h"
#include "sampled_system.h"

typedef struct subject {
  driver3 d;
  const sampled_kind* kind;
  fmi3Instance c;
} subject;

static void open_kind(subject* s, const sampled_kind* kind) {
  write_sampled(kind);
  s->kind = kind;
  driver3_open_file(&s->d, "system.yaml", kind->name);
}

static fmi3ValueReference ref_of(subject* s, int part, const char* name) {
  char full[128];
  snprintf(full, sizeof full, "%s%s", s->kind->prefix[part], name);
  return driver3_ref(&s->d, full);
}

static double real_of(subject* s, int part, const char* name) {
  fmi3ValueReference ref = ref_of(s, part, name);
  double value = NAN;
  CHECK_FMI3(s->d.GetFloat64(s->c, &ref, 1, &value, 1), fmi3OK);
  return value;
}

static int integer_of(subject* s, int part, const char* name) {
  fmi3ValueReference ref = ref_of(s, part, name);
  fmi3Int32 value = -1;
  CHECK_FMI3(s->d.GetInt32(s->c, &ref, 1, &value, 1), fmi3OK);
  return value;
}

static bool is_high(subject* s, int part) {
  fmi3ValueReference ref = ref_of(s, part, "watch.high");
  fmi3Boolean value = false;
  CHECK_FMI3(s->d.GetBoolean(s->c, &ref, 1, &value, 1), fmi3OK);
  return value;
}

static fmi3Status set_real(subject* s, const char* name, double value) {
  fmi3ValueReference ref = ref_of(s, 0, name);
  return s->d.SetFloat64(s->c, &ref, 1, &value, 1);
}

static void check_all(subject* s, const sampled_parts* truth) {
  for (int i = 0; i < truth->n; i++) {
    const sampled* one = &truth->s[i];
    CHECK_NEAR(real_of(s, i, "lag.x"), one->x, s->kind->accuracy);
    CHECK_NEAR(real_of(s, i, "lag.u"), one->level, 0);
    CHECK_NEAR(real_of(s, i, "counter.level"), one->level, 0);
    CHECK_INT(integer_of(s, i, "counter.n"), one->n);
    CHECK_INT(integer_of(s, i, "watch.crossings"), one->crossings);
    CHECK_INT(is_high(s, i), one->high);
  }
}

// What an event update said, through all its rounds.
typedef struct update3 {
  bool end, nominals, states, defined;
  double next;
} update3;

static update3 update(subject* s) {
  update3 u;
  bool again = true;
  for (int rounds = 0; again; rounds++) {
    CHECK(rounds < 10);
    CHECK_FMI3(s->d.UpdateDiscreteStates(s->c, &again, &u.end, &u.nominals, &u.states, &u.defined,
                                         &u.next),
               fmi3OK);
  }
  CHECK(!u.end);
  return u;
}

static void start(subject* s, const cs_options* options, heard3* heard) {
  s->c = driver3_start(&s->d, options, heard, 1e-10);
  if (!options->event_mode) return;
  update3 u = update(s);
  double tick;
  sampled_parts truth = sampled_begin(s->kind);
  sampled_first(&truth, &tick);
  CHECK(u.defined && u.next == tick);  // known from the beginning
  CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
}

static const cs_options with_events = {.event_mode = true, .early_return = true};

//------------------------------------ events ------------------------------------

// One step to the next event and the event itself, against the truth; returns its time.
static double step_to_event(subject* s, sampled_parts* truth) {
  double tick, next = sampled_first(truth, &tick);
  step3 r = driver3_step(&s->d, s->c, truth->s[0].t, 0.7);  // longer than a period: it ends early
  CHECK(r.event && r.early && !r.end);
  CHECK_NEAR(r.time, next, next == tick ? 0 : s->kind->accuracy);
  CHECK_NEAR(driver3_real(&s->d, s->c, "time"), r.time, 0);
  sampled_parts before = *truth;
  sampled_move(&before, next);
  check_all(s, &before);  // the event waits
  CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
  check_all(s, &before);
  update3 u = update(s);
  sampled_happen(truth, next);
  check_all(s, truth);
  sampled_first(truth, &tick);
  CHECK(u.defined && !u.states && !u.nominals);
  CHECK_NEAR(u.next, tick, 0);
  CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
  check_all(s, truth);
  for (int i = 0; i < truth->n; i++) truth->s[i].t = r.time;
  return r.time;
}

static void events_end_steps(subject* s) {
  sampled_parts truth = sampled_begin(s->kind);
  start(s, &with_events, NULL);
  for (int i = 0; i < 30; i++) step_to_event(s, &truth);
  for (int i = 0; i < truth.n; i++) CHECK(truth.s[i].n >= 6 && truth.s[i].crossings >= 3);
  s->d.FreeInstance(s->c);
}

// Only an event at the end of a step waits, where steps may not end early.
static void events_inside_are_handled(subject* s) {
  const cs_options late = {.event_mode = true};
  sampled_parts truth = sampled_begin(s->kind);
  start(s, &late, NULL);
  for (int i = 1; i <= 30; i++) {
    step3 r = driver3_step(&s->d, s->c, (i - 1) * 0.25, 0.25);
    double tick = 0, t = i * 0.25;
    while (sampled_first(&truth, &tick) < t) sampled_happen(&truth, sampled_first(&truth, &tick));
    bool waits = tick == t;
    CHECK(r.event == waits && !r.early && r.time == i * 0.25);
    if (waits) {
      CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
      update3 u = update(s);
      sampled_happen(&truth, t);
      sampled_first(&truth, &tick);
      CHECK(u.defined && u.next == tick);
      CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
    }
    sampled_go(&truth, t);
    check_all(s, &truth);
  }
  s->d.FreeInstance(s->c);
}

// Without event mode steps end where they should, and no event shows.
static void events_do_not_show(subject* s) {
  const cs_options plain = {.event_mode = false};
  sampled_parts truth = sampled_begin(s->kind);
  start(s, &plain, NULL);
  for (int i = 1; i <= 20; i++) {
    step3 r = driver3_step(&s->d, s->c, (i - 1) * 0.4, 0.4);
    CHECK(!r.event && !r.early && r.time == (i - 1) * 0.4 + 0.4);
    sampled_go(&truth, i * 0.4 + 1e-12);
    check_all(s, &truth);
  }
  CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3Error);
  s->d.FreeInstance(s->c);
}

//------------------------------------ parameters ------------------------------------

// A new gain counts from the next tick on, a new limit at once: the lag passes it in the event.
static void parameters_change_at_events(subject* s) {
  sampled_parts truth = sampled_begin(s->kind);
  start(s, &with_events, NULL);
  sampled* one = &truth.s[0];
  while (one->n < 4) step_to_event(s, &truth);
  step3 r = driver3_step(&s->d, s->c, one->t, 0.01);
  CHECK(!r.event && !r.early);
  sampled_move(&truth, r.time);
  check_all(s, &truth);
  CHECK(!one->high && one->x > 0.2);  // between the new limit and the old one
  CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
  CHECK_FMI3(set_real(s, "counter.gain", 1.5), fmi3OK);
  CHECK_FMI3(set_real(s, "watch.limit", 0.2), fmi3OK);
  update3 u = update(s);
  double tick;
  sampled_first(&truth, &tick);
  CHECK(u.defined && u.next == tick);
  one->gain = 1.5;
  one->limit = 0.2;
  sampled_event(one, false);
  check_all(s, &truth);
  CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
  for (int i = 0; i < 12; i++) step_to_event(s, &truth);
  CHECK(one->n > 6);
  s->d.FreeInstance(s->c);
}

//------------------------------------ intermediate updates ------------------------------------

typedef struct watcher {
  heard3 heard;  // first: the logger's
  subject* s;
  sampled_parts truth;
  int looks;
  double return_at;  // INFINITY: never
} watcher;

// The values are those at the event, before its update.
static void look(fmi3InstanceEnvironment environment, fmi3Float64 t, fmi3Boolean set_requested,
                 fmi3Boolean get_allowed, fmi3Boolean finished, fmi3Boolean may_return,
                 fmi3Boolean* wanted, fmi3Float64* at) {
  watcher* w = environment;
  double tick, next = sampled_first(&w->truth, &tick);
  sampled_parts before = w->truth;
  CHECK(!set_requested && get_allowed && finished && may_return);
  w->looks++;
  CHECK_NEAR(t, next, w->s->kind->accuracy);
  CHECK_NEAR(driver3_real(&w->s->d, w->s->c, "time"), t, 0);
  sampled_move(&before, next);
  check_all(w->s, &before);
  CHECK_FMI3(set_real(w->s, "counter.gain", 7), fmi3Error);
  sampled_happen(&w->truth, next);
  *wanted = isfinite(w->return_at);
  *at = fmax(w->return_at, t);
}

static void the_importer_looks_in(subject* s) {
  static const cs_options options = {.early_return = true, .look = look};
  watcher w = {.s = s, .truth = sampled_begin(s->kind), .return_at = INFINITY};
  start(s, &options, &w.heard);
  step3 r = driver3_step(&s->d, s->c, 0, 3.1);
  CHECK(!r.early && !r.event && r.time == 3.1);
  sampled_parts whole = sampled_begin(s->kind);
  double next, tick;
  int n = 0;
  for (; next = sampled_first(&whole, &tick), next < 3.1; n++) sampled_happen(&whole, next);
  sampled_move(&whole, 3.1);
  CHECK_INT(w.looks, n);
  check_all(s, &whole);

  w.return_at = 4.2;  // it requests a return after the next event
  r = driver3_step(&s->d, s->c, 3.1, 5);
  CHECK(r.early && !r.event && r.time == 4.2);
  sampled_go(&whole, 4.2);
  check_all(s, &whole);

  w.return_at = 0;  // and at the event itself, whose update is made then
  r = driver3_step(&s->d, s->c, 4.2, 5);
  CHECK(r.early && !r.event);
  next = sampled_first(&whole, &tick);
  CHECK_NEAR(r.time, next, s->kind->accuracy);
  sampled_happen(&whole, next);
  check_all(s, &whole);
  s->d.FreeInstance(s->c);
}

//------------------------------------ saved states ------------------------------------

enum { LATER = 6 };

// What follows an event: values at later points, event by event.
static void record(subject* s, double t, double* out) {
  for (int i = 0; i < LATER; i++) {
    step3 r = driver3_step(&s->d, s->c, t, 0.3);
    t = r.time;
    out[4 * i] = t;
    out[4 * i + 1] = real_of(s, 0, "lag.x");
    if (r.event) {
      CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
      out[4 * i + 2] = update(s).next;
      CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
    } else {
      out[4 * i + 2] = NAN;
    }
    out[4 * i + 3] = integer_of(s, 0, "counter.n") + 100 * integer_of(s, 0, "watch.crossings");
  }
}

static fmi3FMUState through_bytes(subject* s, fmi3FMUState state, fmi3Instance into) {
  size_t size = 0;
  fmi3FMUState copy = NULL;
  CHECK_FMI3(s->d.SerializedFMUStateSize(s->c, state, &size), fmi3OK);
  fmi3Byte* bytes = malloc(size);
  CHECK_FMI3(s->d.SerializeFMUState(s->c, state, bytes, size), fmi3OK);
  CHECK_FMI3(s->d.DeserializeFMUState(into, bytes, size, &copy), fmi3OK);
  free(bytes);
  return copy;
}

// Saved before an event, while it waits, in event mode, and after it. All lead to the same bits,
// also in another instance.
static void states_are_saved_around_events(subject* s) {
  enum { BEFORE, WAITS, OPEN, AFTER, N };
  sampled_parts truth = sampled_begin(s->kind);
  fmi3FMUState state[N] = {NULL};
  double first[4 * LATER], again[4 * LATER];
  start(s, &with_events, NULL);
  for (int i = 0; i < 4; i++) step_to_event(s, &truth);
  double begin = truth.s[0].t;
  CHECK_FMI3(s->d.GetFMUState(s->c, &state[BEFORE]), fmi3OK);
  step3 r = driver3_step(&s->d, s->c, begin, 0.7);
  CHECK(r.event);
  CHECK_FMI3(s->d.GetFMUState(s->c, &state[WAITS]), fmi3OK);
  CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
  CHECK_FMI3(s->d.GetFMUState(s->c, &state[OPEN]), fmi3OK);
  update(s);
  CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
  CHECK_FMI3(s->d.GetFMUState(s->c, &state[AFTER]), fmi3OK);
  record(s, r.time, first);
  fmi3Instance one = s->c, other = driver3_start(&s->d, &with_events, NULL, 1e-10);
  for (int k = 0; k < 2 * N; k++) {
    fmi3FMUState used = k < N ? state[k] : through_bytes(s, state[k - N], other);
    s->c = k < N ? one : other;
    CHECK_FMI3(s->d.SetFMUState(s->c, used), fmi3OK);
    if (k % N == BEFORE) CHECK(driver3_step(&s->d, s->c, begin, 0.7).time == r.time);
    if (k % N <= WAITS) CHECK_FMI3(s->d.EnterEventMode(s->c), fmi3OK);
    if (k % N <= OPEN) {
      update(s);
      CHECK_FMI3(s->d.EnterStepMode(s->c), fmi3OK);
    }
    record(s, r.time, again);
    CHECK(memcmp(first, again, sizeof first) == 0);
    if (k >= N) CHECK_FMI3(s->d.FreeFMUState(other, &used), fmi3OK);
    s->c = one;
  }
  for (int k = 0; k < N; k++) CHECK_FMI3(s->d.FreeFMUState(one, &state[k]), fmi3OK);
  s->d.FreeInstance(other);
  s->d.FreeInstance(one);
}

//------------------------------------ modes ------------------------------------

// The lag rises to 1 and falls until the next whole second: a switch by a state, one by the time,
// which is known.
static const char modes_text[] =
    "couplet: 1\nname: switched\nmodes:\n  start: rising\n"
    "  rising:\n    models: {a: {c: lag.c, start: {u: 2}}}\n"
    "    leave: [{when: a.x > 1, to: falling, set: {b.x: a.x}}]\n"
    "  falling:\n    models: {b: {c: lag.c, start: {u: 0}}}\n"
    "    leave: [{at: [1, 2, 3, 4, 5, 6], to: rising, set: {a.x: b.x}}]\n"
    "observe: {x: {rising: a.x, falling: b.x}}\nexperiment: {stop: 10, rtol: 1e-10}\n";

static int mode_of(subject* s) {
  fmi3ValueReference ref = driver3_ref(&s->d, "mode");
  fmi3Int64 value = -1;
  CHECK_FMI3(s->d.GetInt64(s->c, &ref, 1, &value, 1), fmi3OK);
  return (int)value;
}

static void modes(void** state) {
  const sampled_kind kind = {.name = "modes", .prefix = {""}, .text = modes_text};
  subject s;
  (void)state;
  open_kind(&s, &kind);
  CHECK_CONTAINS(s.d.xml, "hasEventMode=\"true\"");
  s.c = driver3_start(&s.d, &with_events, NULL, 1e-10);
  CHECK(!update(&s).defined);
  CHECK_FMI3(s.d.EnterStepMode(s.c), fmi3OK);
  double t = 0, x = 0;
  for (int i = 0; i < 10; i++) {
    bool rising = i % 2 == 0;
    double end = rising ? t + log(2 - x) / 2 : floor(t) + 1;
    double middle = (t + end) / 2;
    x = rising ? 2 + (x - 2) * exp(-2 * (middle - t)) : x * exp(-2 * (middle - t));
    step3 r = driver3_step(&s.d, s.c, t, middle - t);
    CHECK(!r.event && !r.early);
    CHECK_NEAR(driver3_real(&s.d, s.c, "x"), x, 1e-7);
    r = driver3_step(&s.d, s.c, middle, 3);
    CHECK(r.event && r.early);
    CHECK_NEAR(r.time, end, rising ? 1e-7 : 0);
    x = rising ? 1 : x * exp(-2 * (end - middle));
    CHECK_NEAR(driver3_real(&s.d, s.c, "x"), x, 1e-7);
    CHECK_INT(mode_of(&s), rising ? 1 : 2);
    CHECK_FMI3(s.d.EnterEventMode(s.c), fmi3OK);
    update3 u = update(&s);
    CHECK_INT(mode_of(&s), rising ? 2 : 1);
    CHECK_NEAR(driver3_real(&s.d, s.c, "x"), x, 1e-7);
    CHECK(u.defined == rising);
    if (rising) CHECK_NEAR(u.next, floor(end) + 1, 0);
    CHECK_FMI3(s.d.EnterStepMode(s.c), fmi3OK);
    t = r.time;
  }
  s.d.FreeInstance(s.c);
  driver3_close(&s.d);
}

// Parts at delay lines handle their events themselves, at times of their own: there is no event
// mode, and no step ends early.
static void delay_lines(void** state) {
  (void)state;
  subject s;
  driver3_open(&s.d, "examples/tlm_spring/tlm_spring.yaml", "tlm_spring");
  CHECK(strstr(s.d.xml, "hasEventMode") == NULL);
  CHECK(strstr(s.d.xml, "mightReturnEarlyFromDoStep") == NULL);
  s.c = driver3_start(&s.d, &(cs_options){.early_return = true}, NULL, 0);
  for (int i = 0; i < 10; i++) {
    step3 r = driver3_step(&s.d, s.c, i * 0.125, 0.125);
    CHECK(!r.event && !r.early && r.time == (i + 1) * 0.125);
  }
  s.d.FreeInstance(s.c);
  driver3_close(&s.d);
}

//------------------------------------ tests ------------------------------------

static void check_kind(const sampled_kind* kind) {
  subject s;
  open_kind(&s, kind);
  CHECK_CONTAINS(s.d.xml, "hasEventMode=\"true\"");
  CHECK_CONTAINS(s.d.xml, "providesIntermediateUpdate=\"true\"");
  events_end_steps(&s);
  events_inside_are_handled(&s);
  events_do_not_show(&s);
  parameters_change_at_events(&s);
  the_importer_looks_in(&s);
  if (strstr(s.d.xml, "canGetAndSetFMUState") != NULL) states_are_saved_around_events(&s);
  driver3_close(&s.d);
}

static void a_model(void** state) {
  (void)state;
  check_kind(&sampled_model);
}

static void a_nested_system(void** state) {
  (void)state;
  check_kind(&sampled_nested);
}

static void independent_systems(void** state) {
  (void)state;
  check_kind(&sampled_pair);
}

static void independent_masters(void** state) {
  (void)state;
  check_kind(&sampled_masters);
}

static void a_master_of_fmus(void** state) {
  (void)state;
  check_kind(&sampled_fmus);
}

static void a_master(void** state) {
  (void)state;
  check_kind(&sampled_master);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model),
      cmocka_unit_test(a_nested_system),
      cmocka_unit_test(independent_systems),
      cmocka_unit_test(independent_masters),
      cmocka_unit_test(a_master),
      cmocka_unit_test(a_master_of_fmus),
      cmocka_unit_test(modes),
      cmocka_unit_test(delay_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
