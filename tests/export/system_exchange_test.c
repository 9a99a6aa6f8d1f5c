// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Model exchange of FMUs of systems by the calls of FMI 2.0 and 3.0: time events and state events,
// what an event says of states and of the next event, parameters set at events, states saved around
// them. The importer is here: Runge and Kutta's method, events located by bisection; all solutions
// are known in closed form.
#include "driver.h"
#include "driver3.h"
#include "sampled_system.h"

enum { MOST = 8 };

typedef struct importer {
  bool three;  // FMI 3.0
  driver two_d;
  driver3 three_d;
  void* c;
  size_t nx, nz;
  // where the integration is
  double t, x[MOST], z[MOST];
  double next;  // time event; INFINITY: none
} importer;

#define OK(m, two_call, three_call)                   \
  do {                                                \
    if ((m)->three) CHECK_FMI3((three_call), fmi3OK); \
    else CHECK_FMI((two_call), fmi2OK);               \
  } while (0)
#define TWO   m->two_d
#define THREE m->three_d

//------------------------------------ calls ------------------------------------

static size_t count(const char* xml, const char* what) {
  size_t n = 0;
  for (const char* at = xml; (at = strstr(at, what)) != NULL; at++) n++;
  return n;
}

static void open_importer(importer* m, const char* file, const char* name, bool three) {
  *m = (importer){.three = three};
  if (three) {
    driver3_open_file(&THREE, file, name);
  } else {
    driver_build_file(&TWO, file, name);
    driver_extract(&TWO);
    m->nx = count(TWO.xml, " derivative=\"");
    const char* at = strstr(TWO.xml, "numberOfEventIndicators=\"");
    CHECK(at != NULL && sscanf(at, "numberOfEventIndicators=\"%zu\"", &m->nz) == 1);
  }
}

static void close_importer(importer* m) {
  if (m->three) driver3_close(&THREE);
  else driver_close(&TWO);
}

static void* new_instance(importer* m) {
  return m->three ? driver3_start(&THREE, NULL, NULL, 0)
                  : driver_start(&TWO, fmi2ModelExchange, NULL, 0);
}

static void free_instance(importer* m) {
  if (m->three) THREE.FreeInstance(m->c);
  else TWO.fmi2FreeInstance(m->c);
}

static void place(importer* m, double t, const double* x) {
  OK(m, TWO.fmi2SetTime(m->c, t), THREE.SetTime(m->c, t));
  OK(m, TWO.fmi2SetContinuousStates(m->c, x, m->nx), THREE.SetContinuousStates(m->c, x, m->nx));
}

static void slopes(importer* m, double t, const double* x, double* dx) {
  place(m, t, x);
  OK(m, TWO.fmi2GetDerivatives(m->c, dx, m->nx),
     THREE.GetContinuousStateDerivatives(m->c, dx, m->nx));
}

static void indicators(importer* m, double* z) {
  OK(m, TWO.fmi2GetEventIndicators(m->c, z, m->nz), THREE.GetEventIndicators(m->c, z, m->nz));
}

static void enter_event(importer* m) {
  OK(m, TWO.fmi2EnterEventMode(m->c), THREE.EnterEventMode(m->c));
}

// All rounds of an event; returns whether states have other values.
static bool update(importer* m) {
  fmi2EventInfo info = {.newDiscreteStatesNeeded = fmi2True};
  bool again = true, end, nominals, states, defined, changed = false;
  double next = 0;
  for (int rounds = 0; again; rounds++) {
    CHECK(rounds < 10);
    if (m->three) {
      CHECK_FMI3(
          THREE.UpdateDiscreteStates(m->c, &again, &end, &nominals, &states, &defined, &next),
          fmi3OK);
    } else {
      CHECK_FMI(TWO.fmi2NewDiscreteStates(m->c, &info), fmi2OK);
      again = info.newDiscreteStatesNeeded, end = info.terminateSimulation;
      nominals = info.nominalsOfContinuousStatesChanged;
      states = info.valuesOfContinuousStatesChanged;
      defined = info.nextEventTimeDefined, next = info.nextEventTime;
    }
    CHECK(!end && !nominals);
    changed = changed || states;
  }
  m->next = defined ? next : INFINITY;
  return changed;
}

static void enter_continuous(importer* m) {
  OK(m, TWO.fmi2EnterContinuousTimeMode(m->c), THREE.EnterContinuousTimeMode(m->c));
  OK(m, TWO.fmi2GetContinuousStates(m->c, m->x, m->nx),
     THREE.GetContinuousStates(m->c, m->x, m->nx));
  indicators(m, m->z);
}

static void begin(importer* m) {
  m->c = new_instance(m);
  m->t = 0;
  if (m->three) {
    CHECK_FMI3(THREE.GetNumberOfContinuousStates(m->c, &m->nx), fmi3OK);
    CHECK_FMI3(THREE.GetNumberOfEventIndicators(m->c, &m->nz), fmi3OK);
  }
  CHECK(m->nx <= MOST && m->nz <= MOST);
  update(m);
  enter_continuous(m);
}

static double real_of(importer* m, const char* name) {
  return m->three ? driver3_real(&THREE, m->c, name) : driver_real(&TWO, m->c, name);
}

static int integer_of(importer* m, const char* name) {
  int value = -1;
  if (m->three) {
    fmi3ValueReference ref = driver3_ref(&THREE, name);
    CHECK_FMI3(THREE.GetInt32(m->c, &ref, 1, &value, 1), fmi3OK);
  } else {
    fmi2ValueReference ref = driver_ref(&TWO, name);
    CHECK_FMI(TWO.fmi2GetInteger(m->c, &ref, 1, &value), fmi2OK);
  }
  return value;
}

static bool boolean_of(importer* m, const char* name) {
  if (m->three) {
    fmi3ValueReference ref = driver3_ref(&THREE, name);
    bool value = false;
    CHECK_FMI3(THREE.GetBoolean(m->c, &ref, 1, &value, 1), fmi3OK);
    return value;
  }
  fmi2ValueReference ref = driver_ref(&TWO, name);
  fmi2Boolean value = fmi2False;
  CHECK_FMI(TWO.fmi2GetBoolean(m->c, &ref, 1, &value), fmi2OK);
  return value != fmi2False;
}

static void set_real(importer* m, const char* name, double value) {
  OK(m, driver_set_real(&TWO, m->c, name, value), driver3_set_real(&THREE, m->c, name, value));
}

//------------------------------------ integration ------------------------------------

static void runge_kutta(importer* m, double h, double* x) {
  double k[4][MOST], at[MOST];
  slopes(m, m->t, m->x, k[0]);
  for (int i = 1; i < 4; i++) {
    double part = i < 3 ? h / 2 : h;
    for (size_t n = 0; n < m->nx; n++) at[n] = m->x[n] + part * k[i - 1][n];
    slopes(m, m->t + part, at, k[i]);
  }
  for (size_t n = 0; n < m->nx; n++)
    x[n] = m->x[n] + h / 6 * (k[0][n] + 2 * k[1][n] + 2 * k[2][n] + k[3][n]);
}

// The model is at the end of a step of this size; returns whether an indicator has changed.
static bool try_step(importer* m, double h, double* x) {
  double z[MOST];
  bool crossed = false;
  runge_kutta(m, h, x);
  place(m, m->t + h, x);
  indicators(m, z);
  for (size_t i = 0; i < m->nz; i++) crossed = crossed || (z[i] > 0) != (m->z[i] > 0);
  return crossed;
}

// To t_end or to the first event; returns whether there is one. It waits for event mode.
static bool integrate(importer* m, double t_end) {
  const double longest = 1.0 / 256;
  double end = fmin(t_end, m->next), x[MOST];
  bool crossed = false;
  while (!crossed && m->t < end) {
    double h = fmin(longest, end - m->t), low = 0;
    double to = end - m->t <= longest ? end : m->t + h;
    crossed = try_step(m, h, x);
    while (crossed && h - low > 1e-12) {
      double middle = (low + h) / 2;
      if (try_step(m, middle, x)) h = middle;
      else low = middle;
    }
    if (crossed) try_step(m, h, x), to = m->t + h;
    m->t = to;
    memcpy(m->x, x, sizeof x);
    place(m, m->t, m->x);
    bool wanted = false, stop = false;
    if (m->three) {
      CHECK_FMI3(THREE.CompletedIntegratorStep(m->c, true, &wanted, &stop), fmi3OK);
    } else {
      fmi2Boolean event, terminate;
      CHECK_FMI(TWO.fmi2CompletedIntegratorStep(m->c, fmi2True, &event, &terminate), fmi2OK);
      wanted = event, stop = terminate;
    }
    CHECK(!wanted && !stop);
  }
  if (!crossed && m->t < m->next) indicators(m, m->z);
  return crossed || m->t >= m->next;
}

//------------------------------------ the sampled system ------------------------------------

static const char* part_name(const sampled_kind* kind, int part, const char* name) {
  static char full[128];
  snprintf(full, sizeof full, "%s%s", kind->prefix[part], name);
  return full;
}

static void check_all(importer* m, const sampled_kind* kind, const sampled_parts* truth) {
  for (int i = 0; i < truth->n; i++) {
    const sampled* one = &truth->s[i];
    CHECK_NEAR(real_of(m, part_name(kind, i, "lag.x")), one->x, 1e-8);
    CHECK_NEAR(real_of(m, part_name(kind, i, "lag.u")), one->level, 0);
    CHECK_INT(integer_of(m, part_name(kind, i, "counter.n")), one->n);
    CHECK_INT(integer_of(m, part_name(kind, i, "watch.crossings")), one->crossings);
    CHECK_INT(boolean_of(m, part_name(kind, i, "watch.high")), one->high);
  }
}

// The event that the importer has reached.
static void handle(importer* m, const sampled_kind* kind, sampled_parts* truth) {
  double tick, next = sampled_first(truth, &tick);
  CHECK_NEAR(m->t, next, next == tick ? 0 : 1e-8);
  sampled_parts before = *truth;
  sampled_move(&before, next);
  check_all(m, kind, &before);
  enter_event(m);
  check_all(m, kind, &before);
  CHECK(!update(m));
  sampled_happen(truth, next);
  check_all(m, kind, truth);
  sampled_first(truth, &tick);
  CHECK_NEAR(m->next, tick, 0);
  enter_continuous(m);
  check_all(m, kind, truth);
  for (int i = 0; i < truth->n; i++) truth->s[i].t = m->t;
}

static void run_events(importer* m, const sampled_kind* kind, sampled_parts* truth, int n) {
  for (int i = 0; i < n; i++) {
    CHECK(integrate(m, m->t + 2));
    handle(m, kind, truth);
  }
}

// A new gain counts from the next tick on, a new limit at once.
static void change_parameters(importer* m, const sampled_kind* kind, sampled_parts* truth) {
  sampled* one = &truth->s[0];
  while (one->n % 3 != 1) run_events(m, kind, truth, 1);
  CHECK(!integrate(m, m->t + 0.01));
  sampled_move(truth, m->t);
  CHECK(!one->high && one->x > 0.1);
  enter_event(m);
  set_real(m, part_name(kind, 0, "counter.gain"), 1.5);
  set_real(m, part_name(kind, 0, "watch.limit"), 0.1);
  CHECK(!update(m));
  one->gain = 1.5;
  one->limit = 0.1;
  sampled_event(one, false);
  check_all(m, kind, truth);
  enter_continuous(m);
}

//------------------------------------ saved states ------------------------------------

static void* save(importer* m) {
  void* state = NULL;
  OK(m, TWO.fmi2GetFMUstate(m->c, &state), THREE.GetFMUState(m->c, &state));
  return state;
}

static void restore(importer* m, void* state) {
  OK(m, TWO.fmi2SetFMUstate(m->c, state), THREE.SetFMUState(m->c, state));
}

static void forget(importer* m, void** state) {
  OK(m, TWO.fmi2FreeFMUstate(m->c, state), THREE.FreeFMUState(m->c, state));
}

// The bytes of a state, in another instance.
static void* carry(importer* m, void* state, void* into) {
  size_t size = 0;
  void* copy = NULL;
  OK(m, TWO.fmi2SerializedFMUstateSize(m->c, state, &size),
     THREE.SerializedFMUStateSize(m->c, state, &size));
  char* bytes = malloc(size);
  OK(m, TWO.fmi2SerializeFMUstate(m->c, state, bytes, size),
     THREE.SerializeFMUState(m->c, state, (fmi3Byte*)bytes, size));
  OK(m, TWO.fmi2DeSerializeFMUstate(into, bytes, size, &copy),
     THREE.DeserializeFMUState(into, (const fmi3Byte*)bytes, size, &copy));
  free(bytes);
  return copy;
}

enum { EVENTS = 5 };

static void record(importer* m, double* out) {
  for (int i = 0; i < EVENTS; i++) {
    CHECK(integrate(m, m->t + 2));
    enter_event(m);
    update(m);
    enter_continuous(m);
    out[3 * i] = m->t;
    out[3 * i + 1] = m->x[0];
    out[3 * i + 2] = m->next;
  }
}

// Saved while an event waits, in event mode, and after it: the same bits follow, also in another
// instance.
static void save_around_an_event(importer* m, const sampled_kind* kind, sampled_parts* truth) {
  enum { WAITS, OPEN, AFTER, N };
  void* state[N];
  double first[3 * EVENTS], again[3 * EVENTS];
  run_events(m, kind, truth, 1);
  CHECK(integrate(m, m->t + 2));
  importer at_event = *m;
  state[WAITS] = save(m);
  enter_event(m);
  state[OPEN] = save(m);
  update(m);
  enter_continuous(m);
  state[AFTER] = save(m);
  importer after = *m;
  record(m, first);
  void *one = m->c, *other = new_instance(m);
  for (int k = 0; k < 2 * N; k++) {
    void* used = k < N ? state[k] : carry(m, state[k - N], other);
    *m = k % N == AFTER ? after : at_event;
    m->c = k < N ? one : other;
    restore(m, used);
    if (k % N == WAITS) enter_event(m);
    if (k % N <= OPEN) {
      update(m);
      enter_continuous(m);
    }
    record(m, again);
    CHECK(memcmp(first, again, sizeof first) == 0);
    if (k >= N) forget(m, &used);
    m->c = one;
  }
  for (int k = 0; k < N; k++) forget(m, &state[k]);
  m->c = other;
  free_instance(m);
  m->c = one;
}

static void check_kind(const sampled_kind* kind) {
  for (int three = 0; three < 2; three++) {
    importer m;
    sampled_parts truth = sampled_begin(kind);
    write_sampled(kind);
    open_importer(&m, "system.yaml", kind->name, three != 0);
    begin(&m);
    double tick;
    sampled_first(&truth, &tick);
    CHECK_NEAR(m.next, tick, 0);
    run_events(&m, kind, &truth, 14);
    change_parameters(&m, kind, &truth);
    run_events(&m, kind, &truth, 12);
    save_around_an_event(&m, kind, &truth);
    free_instance(&m);
    close_importer(&m);
  }
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

//------------------------------------ states that jump ------------------------------------

// A ball beside the counter: only its impacts change states, and each event says so.
static void a_ball(void** state) {
  static const char text[] =
      "couplet: 1\nname: ball and counter\nmodels:\n  ball: {c: %s}\n  counter: {c: counter.c}\n"
      "parameters: {rate: 2}\nconnections: {}\n";
  char yaml[8192];
  (void)state;
  write_sampled(&sampled_model);
  snprintf(yaml, sizeof yaml, text, test_path("examples/bouncing_ball/bouncing_ball.c"));
  write_text("ball.yaml", yaml);
  for (int three = 0; three < 2; three++) {
    importer m;
    open_importer(&m, "ball.yaml", "ball", three != 0);
    begin(&m);
    int impacts = 0, ticks = 0;
    while (impacts < 4) {
      CHECK(integrate(&m, m.t + 2));
      bool tick = m.t >= 0.5 * (ticks + 1);
      double height, speed, fast = real_of(&m, "ball.v");
      enter_event(&m);
      bool changed = update(&m);
      enter_continuous(&m);
      ball_exact(m.t, &height, &speed);
      if (tick) {
        CHECK(!changed);
        CHECK_NEAR(m.t, 0.5 * ++ticks, 0);
        CHECK_INT(integer_of(&m, "counter.n"), ticks);
        CHECK_NEAR(m.next, 0.5 * (ticks + 1), 0);
        CHECK_NEAR(real_of(&m, "ball.h"), height, 1e-8);
      } else if (fabs(m.t - ball_impact(impacts + 1)) < 1e-7) {
        CHECK(changed);
        impacts++;
        CHECK_NEAR(real_of(&m, "ball.v"), -0.8 * fast, 1e-12);
        CHECK_NEAR(real_of(&m, "ball.v"), sqrt(2 * 9.81) * pow(0.8, impacts), 1e-7);
      } else {
        CHECK(!changed);  // the ball leaves the ground
      }
    }
    CHECK(ticks >= 4);
    free_instance(&m);
    close_importer(&m);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_model),
      cmocka_unit_test(a_nested_system),
      cmocka_unit_test(independent_systems),
      cmocka_unit_test(a_ball),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
