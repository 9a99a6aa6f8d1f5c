// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An exported FMU with algebraic variables, driven as another tool would: x' = y, 0 = y + 2 z - x,
// 0 = y - 3 z - 2 x.
#include "export/driver3.h"

static driver3 hello;

static int set_up(void** state) {
  (void)state;
  driver3_open(&hello, "examples/dae/hello.c", "hello");
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  driver3_close(&hello);
  return 0;
}

static void refused_with(heard3* h, fmi3Status status, const char* text) {
  CHECK_INT(status, fmi3Error);
  CHECK_CONTAINS(h->text, text);
  h->text[0] = '\0';
}

static void configure(driver3* d, fmi3Instance c, bool on) {
  fmi3ValueReference dae = driver3_ref(d, "dae");
  CHECK_FMI3(d->EnterConfigurationMode(c), fmi3OK);
  CHECK_FMI3(d->SetBoolean(c, &dae, 1, &on, 1), fmi3OK);
  CHECK_FMI3(d->ExitConfigurationMode(c), fmi3OK);
}

static void start(driver3* d, fmi3Instance c) {
  CHECK_FMI3(d->EnterInitializationMode(c, false, 0, 0, false, 0), fmi3OK);
  CHECK_FMI3(d->ExitInitializationMode(c), fmi3OK);
  CHECK_FMI3(d->UpdateDiscreteStates(c, NULL, NULL, NULL, NULL, NULL, NULL), fmi3OK);
  CHECK_FMI3(d->EnterContinuousTimeMode(c), fmi3OK);
}

static double get(driver3* d, fmi3Instance c, const char* name) {
  fmi3ValueReference ref = driver3_ref(d, name);
  double value = NAN;
  CHECK_FMI3(d->GetFloat64(c, &ref, 1, &value, 1), fmi3OK);
  return value;
}

static fmi3Status set(driver3* d, fmi3Instance c, const char* name, double value) {
  fmi3ValueReference ref = driver3_ref(d, name);
  return d->SetFloat64(c, &ref, 1, &value, 1);
}

static void without_configuration_it_is_an_ode(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  double x = 10, dx = 0;
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  start(&d, c);
  refused_with(&h, set(&d, c, "y", 1), "cannot be set after initialization");
  CHECK_FMI3(d.SetContinuousStates(c, &x, 1), fmi3OK);
  CHECK_FMI3(d.GetContinuousStateDerivatives(c, &dx, 1), fmi3OK);
  CHECK_NEAR(dx, 14, 1e-12);
  CHECK_NEAR(get(&d, c, "z"), -2, 1e-12);
  CHECK_NEAR(get(&d, c, "residual_1"), 0, 1e-12);
  CHECK_NEAR(get(&d, c, "residual_2"), 0, 1e-12);
  d.FreeInstance(c);
}

static void algebraic_variables_are_set_from_outside(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  double x = 10, dx = 0;
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  configure(&d, c, true);
  start(&d, c);
  CHECK_NEAR(get(&d, c, "y"), 1.4, 1e-12);  // consistent at the start all the same
  CHECK_FMI3(d.SetContinuousStates(c, &x, 1), fmi3OK);
  CHECK_FMI3(set(&d, c, "y", 3), fmi3OK);
  CHECK_FMI3(set(&d, c, "z", 5), fmi3OK);
  CHECK_FMI3(d.GetContinuousStateDerivatives(c, &dx, 1), fmi3OK);
  CHECK_NEAR(dx, 3, 0);
  CHECK_NEAR(get(&d, c, "residual_1"), 3 + 10 - 10, 0);
  CHECK_NEAR(get(&d, c, "residual_2"), 3 - 15 - 20, 0);
  refused_with(&h, set(&d, c, "residual_1", 0), "cannot be set");
  CHECK_FMI3(d.EnterEventMode(c), fmi3OK);
  CHECK_FMI3(d.UpdateDiscreteStates(c, NULL, NULL, NULL, NULL, NULL, NULL), fmi3OK);
  CHECK_NEAR(get(&d, c, "y"), 14, 1e-12);  // events see consistent values
  d.FreeInstance(c);
}

static void configuration_has_its_place(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  fmi3ValueReference dae = driver3_ref(&d, "dae");
  bool yes = true, value = true;
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  CHECK_FMI3(d.GetBoolean(c, &dae, 1, &value, 1), fmi3OK);
  CHECK(!value);
  refused_with(&h, d.SetBoolean(c, &dae, 1, &yes, 1), "only be set in Configuration Mode");
  refused_with(&h, d.ExitConfigurationMode(c), "not in Configuration Mode");
  CHECK_FMI3(d.EnterConfigurationMode(c), fmi3OK);
  refused_with(&h, d.EnterConfigurationMode(c), "in Configuration Mode");
  refused_with(&h, d.EnterInitializationMode(c, false, 0, 0, false, 0), "in Configuration Mode");
  CHECK_FMI3(d.ExitConfigurationMode(c), fmi3OK);
  configure(&d, c, true);
  CHECK_FMI3(d.GetBoolean(c, &dae, 1, &value, 1), fmi3OK);
  CHECK(value);
  configure(&d, c, false);
  start(&d, c);
  refused_with(&h, d.EnterConfigurationMode(c), "in Continuous-Time Mode");
  refused_with(&h, set(&d, c, "y", 1), "cannot be set after initialization");
  d.FreeInstance(c);
}

static void a_reset_turns_it_off(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  double dx = 0;
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  configure(&d, c, true);
  start(&d, c);
  CHECK_FMI3(set(&d, c, "y", 3), fmi3OK);
  CHECK_FMI3(d.Reset(c), fmi3OK);
  start(&d, c);
  refused_with(&h, set(&d, c, "y", 1), "cannot be set after initialization");
  CHECK_FMI3(d.GetContinuousStateDerivatives(c, &dx, 1), fmi3OK);
  CHECK_NEAR(dx, 1.4, 1e-12);
  d.FreeInstance(c);
}

static void saved_states_hold_them(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  fmi3FMUState saved = NULL;
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  configure(&d, c, true);
  start(&d, c);
  CHECK_FMI3(set(&d, c, "y", 3), fmi3OK);
  CHECK_FMI3(d.GetFMUState(c, &saved), fmi3OK);
  CHECK_FMI3(set(&d, c, "y", 4), fmi3OK);
  CHECK_FMI3(d.SetFMUState(c, saved), fmi3OK);
  CHECK_NEAR(get(&d, c, "y"), 3, 0);
  CHECK_FMI3(d.FreeFMUState(c, &saved), fmi3OK);
  d.FreeInstance(c);
}

static void co_simulation_has_no_such_form(void** state) {
  (void)state;
  driver3 d = hello;
  heard3 h = {0};
  cs_options plain = {.event_mode = false};
  fmi3ValueReference dae = driver3_ref(&d, "dae");
  bool yes = true;
  fmi3Instance c = driver3_instance(&d, &plain, &h);
  CHECK_FMI3(d.EnterConfigurationMode(c), fmi3OK);
  refused_with(&h, d.SetBoolean(c, &dae, 1, &yes, 1), "in model exchange only");
  CHECK_FMI3(d.ExitConfigurationMode(c), fmi3OK);
  d.FreeInstance(c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_configuration_it_is_an_ode),
      cmocka_unit_test(algebraic_variables_are_set_from_outside),
      cmocka_unit_test(configuration_has_its_place),
      cmocka_unit_test(a_reset_turns_it_off),
      cmocka_unit_test(saved_states_hold_them),
      cmocka_unit_test(co_simulation_has_no_such_form),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
