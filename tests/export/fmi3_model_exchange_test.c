// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Model exchange by FMI 3.0. The FMU must compute what the C model itself computes, so one run of
// the same steps is made with each, and the bits are compared.
#include "couplet/csource.h"
#include "export/driver.h"
#include "export/driver3.h"

enum { MOST = 8 };

// One importer for both: either an FMU or the C model.
typedef struct subject {
  driver3* d;  // NULL: the model
  fmi3Instance c;
  cpl_model* m;
  size_t nx, nz;
} subject;

static void place(subject* s, double t, const double* x) {
  if (s->d != NULL) {
    CHECK_FMI3(s->d->SetTime(s->c, t), fmi3OK);
    CHECK_FMI3(s->d->SetContinuousStates(s->c, x, s->nx), fmi3OK);
  } else {
    CHECK(s->m->ops->set_time(s->m, t) == CPL_OK && s->m->ops->set_states(s->m, x) == CPL_OK);
  }
}

static void derivatives(subject* s, double* dx) {
  if (s->d != NULL) CHECK_FMI3(s->d->GetContinuousStateDerivatives(s->c, dx, s->nx), fmi3OK);
  else CHECK(s->m->ops->get_derivatives(s->m, dx) == CPL_OK);
}

static void indicators(subject* s, double* z) {
  if (s->d != NULL) CHECK_FMI3(s->d->GetEventIndicators(s->c, z, s->nz), fmi3OK);
  else CHECK(s->m->ops->get_indicators(s->m, z) == CPL_OK);
}

static void completed(subject* s) {
  bool event, end;
  if (s->d != NULL) CHECK_FMI3(s->d->CompletedIntegratorStep(s->c, true, &event, &end), fmi3OK);
  else CHECK(s->m->ops->completed_step(s->m, &event, &end) == CPL_OK);
}

// Through event mode; returns the next time event.
static double handle_event(subject* s, bool enter, double* x) {
  cpl_event_info info = {.again = true};
  if (s->d == NULL) {
    if (enter) CHECK(s->m->ops->enter_event(s->m) == CPL_OK);
    while (info.again) CHECK(s->m->ops->event_update(s->m, &info) == CPL_OK);
    CHECK(s->m->ops->enter_continuous(s->m) == CPL_OK);
    CHECK(s->m->ops->get_states(s->m, x) == CPL_OK);
    return info.next_time;
  }
  bool defined = false;
  if (enter) CHECK_FMI3(s->d->EnterEventMode(s->c), fmi3OK);
  while (info.again) {
    CHECK_FMI3(
        s->d->UpdateDiscreteStates(s->c, &info.again, &info.terminate, &info.nominals_changed,
                                   &info.states_changed, &defined, &info.next_time),
        fmi3OK);
  }
  CHECK_FMI3(s->d->EnterContinuousTimeMode(s->c), fmi3OK);
  CHECK_FMI3(s->d->GetContinuousStates(s->c, x, s->nx), fmi3OK);
  return defined ? info.next_time : INFINITY;
}

// Explicit Euler; state events at the end of the step they lie in. The trace gets all states.
static int euler(subject* s, double h, int steps, double* trace) {
  double x[MOST] = {0}, dx[MOST], z[MOST] = {0}, before[MOST] = {0};
  double next = handle_event(s, false, x);
  int events = 0;
  indicators(s, before);
  for (int i = 0; i < steps; i++) {
    double t = (i + 1) * h;
    derivatives(s, dx);
    for (size_t k = 0; k < s->nx; k++) x[k] += h * dx[k];
    place(s, t, x);
    completed(s);
    indicators(s, z);
    bool event = t >= next;
    for (size_t k = 0; k < s->nz; k++) event = event || (z[k] > 0) != (before[k] > 0);
    if (event) {
      next = handle_event(s, true, x);
      indicators(s, z);
      events++;
    }
    memcpy(before, z, sizeof before);
    memcpy(trace + (size_t)i * s->nx, x, s->nx * sizeof *x);
  }
  return events;
}

static void an_fmu_computes_what_the_model_computes(const char* path, const char* name, size_t nx,
                                                    size_t nz, double h, int least_events) {
  enum { STEPS = 500 };
  static double by_fmu[STEPS * MOST], by_model[STEPS * MOST];
  driver3 d;
  cpl_source* source = NULL;
  cpl_setup setup = {.start_time = 0};
  driver3_open(&d, path, name);
  subject fmu = {.d = &d, .nx = nx, .nz = nz}, model = {.nx = nx, .nz = nz};
  fmu.c = driver3_start(&d, NULL, NULL, 0);
  size_t n = 0;
  CHECK_FMI3(d.GetNumberOfContinuousStates(fmu.c, &n), fmi3OK);
  CHECK_INT(n, nx);
  CHECK_FMI3(d.GetNumberOfEventIndicators(fmu.c, &n), fmi3OK);
  CHECK_INT(n, nz);
  CHECK_OK(d.ctx, cpl_c_open(d.ctx, test_path(path), &source));
  CHECK_OK(d.ctx, source->ops->make_model(source, "direct", &model.m));
  cpl_component* c = &model.m->base;
  CHECK_OK(d.ctx, c->ops->setup(c, &setup));
  CHECK_OK(d.ctx, c->ops->enter_init(c));
  CHECK_OK(d.ctx, c->ops->exit_init(c));
  int events = euler(&fmu, h, STEPS, by_fmu);
  CHECK(events >= least_events);
  CHECK_INT(euler(&model, h, STEPS, by_model), events);
  CHECK(memcmp(by_fmu, by_model, STEPS * nx * sizeof(double)) == 0);
  CHECK(by_fmu[(STEPS - 1) * nx] != by_fmu[0]);
  c->ops->destroy(c);
  source->ops->destroy(source);
  CHECK_FMI3(d.Terminate(fmu.c), fmi3OK);
  d.FreeInstance(fmu.c);
  driver3_close(&d);
}

static void the_same_bits_as_the_model(void** state) {
  (void)state;
  an_fmu_computes_what_the_model_computes("examples/bouncing_ball/bouncing_ball.c", "bouncing_ball",
                                          2, 1, 0.005, 5);
  an_fmu_computes_what_the_model_computes("examples/sampler/sampler.c", "sampler", 1, 0, 10, 80);
  an_fmu_computes_what_the_model_computes("examples/types/types.c", "types", 3, 0, 0.01, 0);
}

//------------------------------------ variables of FMI 3.0 ------------------------------------

static void arrays_come_in_whole(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "examples/types/types.c", "types");
  CHECK_CONTAINS(d.xml, "start=\"1 1 1\"><Dimension start=\"3\"/></Float64>");
  CHECK_CONTAINS(d.xml, "<Float64 name=\"der(x)\"");
  CHECK(strstr(d.xml, "x[1]") == NULL);
  heard3 h = {0};
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  fmi3ValueReference x = driver3_ref(&d, "x"), u = driver3_ref(&d, "u"), y = driver3_ref(&d, "y");
  fmi3ValueReference der = driver3_ref(&d, "der(x)"), scale = driver3_ref(&d, "scale");
  double start[3] = {1, 2, 3}, in[3] = {5, 7, 9};
  CHECK_FMI3(d.SetFloat64(c, &x, 1, start, 3), fmi3OK);
  CHECK_FMI3(d.SetFloat64(c, &u, 1, in, 3), fmi3OK);
  driver3_initialize(&d, c, 0);
  fmi3ValueReference mixed[4] = {y, scale, der, driver3_ref(&d, "time")};
  double values[8], expected[8] = {2, 4, 6, 2, 4, 5, 6, 0};
  CHECK_FMI3(d.GetFloat64(c, mixed, 4, values, 8), fmi3OK);
  for (int i = 0; i < 8; i++) CHECK_NEAR(values[i], expected[i], 0);
  CHECK_FMI3(d.GetFloat64(c, mixed, 4, values, 7), fmi3Error);
  CHECK_CONTAINS(h.text, "8 values, not 7");
  fmi3ValueReference inner = x + 1;  // an element is no variable
  CHECK_FMI3(d.GetFloat64(c, &inner, 1, values, 1), fmi3Error);
  CHECK_CONTAINS(h.text, "no variable with value reference");
  CHECK_FMI3(d.SetFloat64(c, &u, 1, in, 2), fmi3Error);
  d.FreeInstance(c);
  driver3_close(&d);
}

static void indicators_are_variables(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  heard3 h = {0};
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  fmi3ValueReference z = driver3_ref(&d, "event_indicator_1");
  char row[64];
  double value;
  snprintf(row, sizeof row, "<EventIndicator valueReference=\"%u\"/>", (unsigned)z);
  CHECK_CONTAINS(d.xml, row);
  CHECK_FMI3(d.GetFloat64(c, &z, 1, &value, 1), fmi3Error);
  CHECK_CONTAINS(h.text, "before initialization");
  CHECK_FMI3(driver3_set_real(&d, c, "h", 2.5), fmi3OK);
  driver3_initialize(&d, c, 0);
  CHECK_NEAR(driver3_real(&d, c, "event_indicator_1"), 2.5, 0);
  CHECK_FMI3(driver3_set_real(&d, c, "event_indicator_1", 1), fmi3Error);
  z++;
  CHECK_FMI3(d.GetFloat64(c, &z, 1, &value, 1), fmi3Error);
  CHECK_CONTAINS(h.text, "no Float64");
  d.FreeInstance(c);
  driver3_close(&d);
}

//------------------------------------ derivatives ------------------------------------

// x' = u - x and y = scale x: known by heart. They are made from the source of the model.
static void derivatives_in_a_direction_and_back(void** state) {
  (void)state;
  driver3 d;
  driver3_open(&d, "examples/types/types.c", "types");
  CHECK_CONTAINS(d.xml, "providesDirectionalDerivatives=\"true\"");
  fmi3Instance c = driver3_start(&d, NULL, NULL, 0);
  fmi3ValueReference unknowns[2] = {driver3_ref(&d, "der(x)"), driver3_ref(&d, "y")};
  fmi3ValueReference knowns[2] = {driver3_ref(&d, "x"), driver3_ref(&d, "u")};
  double seed[6] = {1, 2, 3, 10, 20, 30}, out[6];
  double expected[6] = {9, 18, 27, 2, 4, 6}, back[6] = {19, 38, 57, 1, 2, 3};
  CHECK_FMI3(d.GetDirectionalDerivative(c, unknowns, 2, knowns, 2, seed, 6, out, 6), fmi3OK);
  for (int i = 0; i < 6; i++) CHECK_NEAR(out[i], expected[i], 1e-7);
  CHECK_FMI3(d.GetAdjointDerivative(c, unknowns, 2, knowns, 2, seed, 6, out, 6), fmi3OK);
  for (int i = 0; i < 6; i++) CHECK_NEAR(out[i], back[i], 1e-7);
  CHECK_FMI3(d.GetDirectionalDerivative(c, unknowns, 2, knowns, 2, seed, 5, out, 6), fmi3Error);
  CHECK_FMI3(d.GetDirectionalDerivative(c, unknowns, 2, unknowns, 2, seed, 6, out, 6), fmi3Error);
  d.FreeInstance(c);
  driver3_close(&d);

  driver3_open(&d, "examples/van_der_pol/van_der_pol.c", "van_der_pol");
  CHECK_CONTAINS(d.xml, "providesDirectionalDerivatives=\"true\" providesAdjointDerivatives");
  c = driver3_start(&d, NULL, NULL, 0);
  double x = driver3_real(&d, c, "x"), y = driver3_real(&d, c, "y"), mu = driver3_real(&d, c, "mu");
  fmi3ValueReference of[2] = {driver3_ref(&d, "der(x)"), driver3_ref(&d, "der(y)")};
  fmi3ValueReference by[2] = {driver3_ref(&d, "x"), driver3_ref(&d, "y")};
  CHECK_FMI3(d.GetAdjointDerivative(c, of, 2, by, 2, seed, 2, out, 2), fmi3OK);
  CHECK_NEAR(out[0], 2 * (-2 * mu * x * y - 1), 1e-12 * mu);
  CHECK_NEAR(out[1], 1 + 2 * mu * (1 - x * x), 1e-12 * mu);
  d.FreeInstance(c);
  driver3_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_bits_as_the_model),
      cmocka_unit_test(arrays_come_in_whole),
      cmocka_unit_test(indicators_are_variables),
      cmocka_unit_test(derivatives_in_a_direction_and_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
