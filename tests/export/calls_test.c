// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values of every type, and calls that must not be: each is refused with a word.
#include "export/driver.h"

static void refused_with(heard* h, fmi2Status status, const char* text) {
  CHECK_INT(status, fmi2Error);
  CHECK_CONTAINS(h->text, text);
  h->text[0] = '\0';
}

static void instantiation_is_checked(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  heard h = {0};
  fmi2CallbackFunctions callbacks = {log_to_heard, calloc, free, NULL, &h};
  CHECK_STR(d.fmi2GetVersion(), "2.0");
  CHECK_STR(d.fmi2GetTypesPlatform(), "default");
  CHECK(d.fmi2Instantiate("i", fmi2ModelExchange, "{other}", "", &callbacks, 0, 0) == NULL);
  CHECK_CONTAINS(h.text, "GUID");
  CHECK(d.fmi2Instantiate("", fmi2ModelExchange, d.guid, "", &callbacks, 0, 0) == NULL);
  CHECK(d.fmi2Instantiate(NULL, fmi2ModelExchange, NULL, NULL, NULL, 0, 0) == NULL);
  CHECK(d.fmi2Instantiate("i", (fmi2Type)7, d.guid, "", &callbacks, 0, 0) == NULL);
  fmi2Component c = d.fmi2Instantiate("i", fmi2ModelExchange, d.guid, NULL, NULL, 0, 0);
  assert_non_null(c);
  CHECK_FMI(d.fmi2Terminate(c), fmi2Error);  // no logger: nothing to say it with
  d.fmi2FreeInstance(c);
  d.fmi2FreeInstance(NULL);
  CHECK_FMI(d.fmi2Reset(NULL), fmi2Error);
  driver_close(&d);
}

static void the_order_of_calls_is_checked(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  heard h = {0};
  fmi2Component c = driver_instance(&d, fmi2ModelExchange, &h);
  fmi2EventInfo info;
  double x[3];
  refused_with(&h, d.fmi2ExitInitializationMode(c), "before initialization");
  refused_with(&h, d.fmi2EnterEventMode(c), "before initialization");
  refused_with(&h, d.fmi2DoStep(c, 0, 1, fmi2True), "must not be called");
  refused_with(&h, d.fmi2SetupExperiment(c, fmi2False, 0, 1, fmi2True, 0), "stop time");
  refused_with(&h, d.fmi2SetupExperiment(c, fmi2True, -1, 0, fmi2False, 0), "tolerance");
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);  // setupExperiment may be left out
  refused_with(&h, d.fmi2SetupExperiment(c, 0, 0, 0, 0, 0), "in Initialization Mode");
  refused_with(&h, d.fmi2SetTime(c, 1), "in Initialization Mode");
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  refused_with(&h, d.fmi2CompletedIntegratorStep(c, 1, NULL, NULL), "in Event Mode");
  CHECK_FMI(d.fmi2NewDiscreteStates(c, &info), fmi2OK);
  CHECK_FMI(d.fmi2EnterContinuousTimeMode(c), fmi2OK);
  refused_with(&h, d.fmi2NewDiscreteStates(c, &info), "in Continuous-Time Mode");
  refused_with(&h, d.fmi2GetContinuousStates(c, x, 2), "2 elements instead of 3");
  CHECK_FMI(d.fmi2GetContinuousStates(c, x, 3), fmi2OK);
  refused_with(&h, d.coupletStopAtEvents(c, fmi2True), "not for co-simulation");
  CHECK_FMI(d.fmi2Terminate(c), fmi2OK);
  refused_with(&h, d.fmi2Terminate(c), "after termination");
  CHECK_NEAR(driver_real(&d, c, "y[1]"), 2, 0);
  CHECK_FMI(d.fmi2Reset(c), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  d.fmi2FreeInstance(c);

  c = driver_start(&d, fmi2CoSimulation, &h, 0);
  refused_with(&h, d.fmi2SetTime(c, 1), "must not be called");
  refused_with(&h, d.fmi2DoStep(c, 0.5, 0.1, fmi2True), "does not begin where");
  refused_with(&h, d.fmi2DoStep(c, 0, -1, fmi2True), "negative");
  refused_with(&h, d.fmi2DoStep(c, 0, NAN, fmi2True), "finite");
  refused_with(&h, d.fmi2CancelStep(c), "asynchronous");
  CHECK_FMI(d.fmi2DoStep(c, 0, 0, fmi2True), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 0.1, fmi2True), fmi2OK);
  d.fmi2FreeInstance(c);

  c = driver_instance(&d, fmi2CoSimulation, &h);
  CHECK_FMI(d.fmi2SetupExperiment(c, fmi2False, 0, 0, fmi2True, 1), fmi2OK);
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  refused_with(&h, d.fmi2DoStep(c, 0, 1.5, fmi2True), "past the stop time");
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void values_are_checked(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  heard h = {0};
  fmi2Component c = driver_instance(&d, fmi2ModelExchange, &h);
  fmi2ValueReference none = 1000, count = driver_ref(&d, "count_in");
  fmi2ValueReference gear = driver_ref(&d, "gear_in"), said = driver_ref(&d, "said");
  fmi2ValueReference out = driver_ref(&d, "count_out");
  double real = 0;
  fmi2Integer whole = 2000;
  fmi2String text = NULL;
  refused_with(&h, d.fmi2GetReal(c, &none, 1, &real), "no Real with value reference 1000");
  refused_with(&h, d.fmi2GetReal(c, &count, 1, &real), "no Real");
  refused_with(&h, d.fmi2SetInteger(c, &count, 1, &whole), "not between -1000 and 1000");
  refused_with(&h, d.fmi2SetInteger(c, &out, 1, &whole), "computed by the model");
  whole = 4;
  refused_with(&h, d.fmi2SetInteger(c, &gear, 1, &whole), "not between 1 and 3");
  refused_with(&h, d.fmi2GetBoolean(c, &count, 1, &whole), "no Boolean");
  refused_with(&h, d.fmi2GetString(c, &none, 1, &text), "no String with value reference");
  refused_with(&h, d.fmi2SetString(c, &said, 1, &text), "NULL");
  CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
  CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
  refused_with(&h, driver_set_real(&d, c, "x[1]", 1), "after initialization");
  CHECK_FMI(driver_set_real(&d, c, "scale", 3), fmi2OK);
  CHECK_FMI(d.fmi2EnterContinuousTimeMode(c), fmi2OK);
  CHECK_FMI(driver_set_real(&d, c, "u[1]", 3), fmi2OK);
  refused_with(&h, driver_set_real(&d, c, "scale", 3), "only be set in Event Mode");
  whole = 1;
  refused_with(&h, d.fmi2SetInteger(c, &count, 1, &whole), "only be set in Event Mode");
  CHECK_NEAR(driver_real(&d, c, "y[3]"), 3, 0);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

static void every_type_comes_through(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/types/types.c", "types");
  for (int type = fmi2ModelExchange; type <= fmi2CoSimulation; type++) {
    fmi2Component c = driver_instance(&d, (fmi2Type)type, NULL);
    fmi2ValueReference ints[2] = {driver_ref(&d, "count_in"), driver_ref(&d, "gear_in")};
    fmi2ValueReference outs[2] = {driver_ref(&d, "count_out"), driver_ref(&d, "gear_out")};
    fmi2ValueReference on = driver_ref(&d, "switch_in"), off = driver_ref(&d, "switch_out");
    fmi2ValueReference heard_ref = driver_ref(&d, "heard"), said[2] = {2, 3};
    fmi2Integer values[2] = {-7, 3};
    fmi2Boolean yes = fmi2True, no = fmi2True;
    fmi2String words = "hello!", spoken[2];
    CHECK_FMI(d.fmi2EnterInitializationMode(c), fmi2OK);
    CHECK_FMI(d.fmi2GetString(c, said, 2, spoken), fmi2OK);
    CHECK_STR(spoken[0], "Polly");
    CHECK_FMI(d.fmi2ExitInitializationMode(c), fmi2OK);
    CHECK_FMI(d.fmi2SetInteger(c, ints, 2, values), fmi2OK);
    CHECK_FMI(d.fmi2SetBoolean(c, &on, 1, &yes), fmi2OK);
    CHECK_FMI(d.fmi2SetString(c, &heard_ref, 1, &words), fmi2OK);
    if (type == fmi2ModelExchange) {
      fmi2EventInfo info;
      CHECK_FMI(d.fmi2NewDiscreteStates(c, &info), fmi2OK);
    } else {
      CHECK_FMI(d.fmi2DoStep(c, 0, 0.1, fmi2True), fmi2OK);
    }
    CHECK_FMI(d.fmi2GetInteger(c, outs, 2, values), fmi2OK);
    CHECK_INT(values[0], 3);
    CHECK_INT(values[1], 3);
    CHECK_FMI(d.fmi2GetBoolean(c, &off, 1, &no), fmi2OK);
    CHECK_INT(no, fmi2False);
    CHECK_FMI(d.fmi2GetString(c, said, 2, spoken), fmi2OK);
    CHECK_STR(spoken[0], "hello!");
    CHECK_STR(spoken[1], "excited");
    d.fmi2FreeInstance(c);
  }
  driver_close(&d);
}

static void logging_can_be_chosen(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/bouncing_ball/bouncing_ball.c", "bouncing_ball");
  heard h = {0};
  fmi2Component c = driver_start(&d, fmi2CoSimulation, &h, 0);
  fmi2String category = "logStatusDiscard", unknown = "logNothing";
  CHECK_FMI(d.fmi2SetDebugLogging(c, fmi2False, 0, NULL), fmi2OK);
  CHECK_FMI(d.fmi2SetDebugLogging(c, fmi2True, 1, &category), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 0, 1, fmi2True), fmi2OK);
  CHECK_INT(h.n, 0);
  category = "logEvents";
  CHECK_FMI(d.fmi2SetDebugLogging(c, fmi2True, 1, &category), fmi2OK);
  CHECK_FMI(d.fmi2DoStep(c, 1, 1, fmi2True), fmi2OK);
  CHECK(h.n > 0);
  CHECK_FMI(d.fmi2SetDebugLogging(c, fmi2True, 1, &unknown), fmi2Warning);
  d.fmi2FreeInstance(c);
  driver_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instantiation_is_checked), cmocka_unit_test(the_order_of_calls_is_checked),
      cmocka_unit_test(values_are_checked),       cmocka_unit_test(every_type_comes_through),
      cmocka_unit_test(logging_can_be_chosen),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
