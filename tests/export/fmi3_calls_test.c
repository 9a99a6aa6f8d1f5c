// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMI 3.0: values of every type, calls that must not be, and what is in the archive.
#include "base/process.h"
#include "export/driver3.h"

// Built once for all tests that use it.
static driver3 types;

static int set_up(void** state) {
  (void)state;
  driver3_open(&types, "examples/types/types.c", "types");
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  driver3_close(&types);
  return 0;
}

static const cs_options plain = {.event_mode = false};
static const cs_options with_events = {.event_mode = true, .early_return = true};

static void refused_with(heard3* h, fmi3Status status, const char* text) {
  CHECK_INT(status, fmi3Error);
  CHECK_CONTAINS(h->text, text);
  CHECK_STR(h->category, "logStatusError");
  h->text[0] = '\0';
}

static void instantiation_is_checked(void** state) {
  (void)state;
  driver3 d = types;
  heard3 h = {0};
  CHECK_STR(d.GetVersion(), "3.0");
  CHECK(d.InstantiateModelExchange("i", "{other}", "", 0, 0, &h, log_to_heard3) == NULL);
  CHECK_CONTAINS(h.text, "GUID");
  CHECK(d.InstantiateModelExchange("", d.token, "", 0, 0, &h, log_to_heard3) == NULL);
  CHECK(d.InstantiateModelExchange(NULL, NULL, NULL, 0, 0, NULL, NULL) == NULL);
  CHECK(d.InstantiateCoSimulation("i", "", "", 0, 0, 0, 0, NULL, 0, &h, log_to_heard3, NULL) ==
        NULL);
  CHECK(d.InstantiateScheduledExecution("i", d.token, "", 0, 0, &h, log_to_heard3, NULL, NULL,
                                        NULL) == NULL);
  CHECK_CONTAINS(h.text, "model exchange and co-simulation only");
  fmi3Instance c = driver3_instance(&d, NULL, NULL);
  CHECK_FMI3(d.Terminate(c), fmi3Error);  // no logger: nothing to say it with
  d.FreeInstance(c);
  d.FreeInstance(NULL);
  CHECK_FMI3(d.Reset(NULL), fmi3Error);
}

static fmi3Status update(driver3* d, fmi3Instance c) {
  return d->UpdateDiscreteStates(c, NULL, NULL, NULL, NULL, NULL, NULL);
}

static void the_order_of_calls_is_checked_in_model_exchange(void** state) {
  (void)state;
  driver3 d = types;
  heard3 h = {0};
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  double x[3];
  refused_with(&h, d.ExitInitializationMode(c), "before initialization");
  refused_with(&h, d.EnterEventMode(c), "before initialization");
  refused_with(&h, d.EnterConfigurationMode(c), "no structural parameters");
  refused_with(&h, d.ExitConfigurationMode(c), "no structural parameters");
  refused_with(&h, d.EnterInitializationMode(c, false, 0, 1, true, 0), "stop time");
  refused_with(&h, d.EnterInitializationMode(c, true, -1, 0, false, 0), "tolerance");
  refused_with(&h, d.EnterInitializationMode(c, false, 0, NAN, false, 0), "start time");
  CHECK_FMI3(d.EnterInitializationMode(c, false, 0, 0, false, 0), fmi3OK);
  refused_with(&h, d.EnterInitializationMode(c, false, 0, 0, false, 0), "in Initialization Mode");
  refused_with(&h, d.SetTime(c, 1), "in Initialization Mode");
  CHECK_FMI3(d.ExitInitializationMode(c), fmi3OK);
  refused_with(&h, d.CompletedIntegratorStep(c, 1, NULL, NULL), "in Event Mode");
  refused_with(&h, d.EvaluateDiscreteStates(c), "not offered");
  refused_with(&h, d.EnterStepMode(c), "not for co-simulation");
  CHECK_FMI3(update(&d, c), fmi3OK);
  CHECK_FMI3(d.EnterContinuousTimeMode(c), fmi3OK);
  refused_with(&h, update(&d, c), "in Continuous-Time Mode");
  refused_with(&h, d.GetContinuousStates(c, x, 2), "2 elements instead of 3");
  refused_with(&h, d.SetTime(c, NAN), "not a time");
  refused_with(&h, d.DoStep(c, 0, 1, true, NULL, NULL, NULL, NULL), "must not be called");
  refused_with(&h, d.ActivateModelPartition(c, 0, 0), "scheduled execution");
  CHECK_FMI3(d.Terminate(c), fmi3OK);
  refused_with(&h, d.Terminate(c), "after termination");
  CHECK_FMI3(d.Reset(c), fmi3OK);
  driver3_initialize(&d, c, 0);
  d.FreeInstance(c);
}

static void the_order_of_calls_is_checked_in_co_simulation(void** state) {
  (void)state;
  driver3 d = types;
  heard3 h = {0};
  double x[3];
  fmi3Int32 order = 1;
  fmi3ValueReference y = driver3_ref(&d, "y");
  fmi3Instance c = driver3_start(&d, &plain, &h, 0);
  refused_with(&h, d.SetTime(c, 1), "must not be called");
  refused_with(&h, d.GetContinuousStates(c, x, 3), "must not be called");
  refused_with(&h, d.EnterEventMode(c), "without event mode");
  refused_with(&h, d.EnterStepMode(c), "after a completed step");
  refused_with(&h, update(&d, c), "after a completed step");
  refused_with(&h, d.DoStep(c, 0.5, 0.1, true, NULL, NULL, NULL, NULL), "does not begin where");
  refused_with(&h, d.DoStep(c, 0, -1, true, NULL, NULL, NULL, NULL), "negative");
  refused_with(&h, d.DoStep(c, 0, NAN, true, NULL, NULL, NULL, NULL), "finite");
  refused_with(&h, d.GetOutputDerivatives(c, &y, 1, &order, x, 3), "not offered");
  CHECK_FMI3(d.DoStep(c, 0, 0.1, true, NULL, NULL, NULL, NULL), fmi3OK);
  d.FreeInstance(c);

  c = driver3_start(&d, &with_events, &h, 0);
  refused_with(&h, d.DoStep(c, 0, 0.1, true, NULL, NULL, NULL, NULL), "in Event Mode");
  CHECK_FMI3(d.EnterStepMode(c), fmi3OK);
  refused_with(&h, d.EnterStepMode(c), "after a completed step");
  d.FreeInstance(c);

  c = driver3_instance(&d, &plain, &h);
  CHECK_FMI3(d.EnterInitializationMode(c, false, 0, 0, true, 1), fmi3OK);
  CHECK_FMI3(d.ExitInitializationMode(c), fmi3OK);
  refused_with(&h, d.DoStep(c, 0, 1.5, true, NULL, NULL, NULL, NULL), "past the stop time");
  d.FreeInstance(c);
}

static void values_are_checked(void** state) {
  (void)state;
  driver3 d = types;
  heard3 h = {0};
  fmi3Instance c = driver3_instance(&d, NULL, &h);
  fmi3ValueReference none = 1000, count = driver3_ref(&d, "count_in");
  fmi3ValueReference gear = driver3_ref(&d, "gear_in"), said = driver3_ref(&d, "said");
  fmi3ValueReference out = driver3_ref(&d, "count_out"), on = driver3_ref(&d, "switch_in");
  double real = 0;
  float single = 0;
  int32_t whole = 2000;
  int64_t item = 4;
  bool flag = true;
  fmi3String text = NULL;
  size_t size = 0;
  fmi3Binary bytes = NULL;
  refused_with(&h, d.GetFloat64(c, &none, 1, &real, 1), "no Float64 with value reference 1000");
  refused_with(&h, d.GetFloat64(c, &count, 1, &real, 1), "no Float64");
  refused_with(&h, d.GetFloat32(c, &count, 1, &single, 1), "no Float32");
  CHECK_FMI3(d.GetFloat32(c, NULL, 0, NULL, 0), fmi3OK);
  refused_with(&h, d.SetInt32(c, &count, 1, &whole, 1), "not between -1000 and 1000");
  refused_with(&h, d.SetInt32(c, &out, 1, &whole, 1), "computed by the model");
  refused_with(&h, d.GetInt32(c, &gear, 1, &whole, 1), "no Int32");
  refused_with(&h, d.GetInt64(c, &count, 1, &item, 1), "no Int64");
  refused_with(&h, d.SetInt64(c, &gear, 1, &item, 1), "not between 1 and 3");
  refused_with(&h, d.GetBoolean(c, &count, 1, &flag, 1), "no Boolean");
  refused_with(&h, d.GetString(c, &on, 1, &text, 1), "no String");
  refused_with(&h, d.SetString(c, &said, 1, &text, 1), "NULL");
  refused_with(&h, d.GetString(c, &said, 1, &text, 2), "1 values, not 2");
  refused_with(&h, d.GetBinary(c, &on, 1, &size, &bytes, 1), "no Binary");
  refused_with(&h, d.GetClock(c, &on, 1, &flag), "before initialization");
  driver3_initialize(&d, c, 0);
  refused_with(&h, d.GetClock(c, &on, 1, &flag), "no Clock");
  refused_with(&h, d.SetClock(c, &on, 1, &flag), "triggered output");
  refused_with(&h, d.GetIntervalDecimal(c, &on, 1, &real, NULL), "triggered output");
  refused_with(&h, d.GetNumberOfVariableDependencies(c, on, &size), "not offered");
  CHECK_FMI3(driver3_set_real(&d, c, "scale", 3), fmi3OK);
  CHECK_FMI3(d.EnterContinuousTimeMode(c), fmi3OK);
  refused_with(&h, driver3_set_real(&d, c, "scale", 3), "only be set in Event Mode");
  whole = 1;
  refused_with(&h, d.SetInt32(c, &count, 1, &whole, 1), "only be set in Event Mode");
  d.FreeInstance(c);
}

static void every_type_comes_through(void** state) {
  (void)state;
  driver3 d = types;
  const cs_options* kinds[] = {NULL, &plain, &with_events};
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    fmi3Instance c = driver3_instance(&d, kinds[k], NULL);
    fmi3ValueReference count = driver3_ref(&d, "count_in"), total = driver3_ref(&d, "count_out");
    fmi3ValueReference gear = driver3_ref(&d, "gear_in"), chosen = driver3_ref(&d, "gear_out");
    fmi3ValueReference on = driver3_ref(&d, "switch_in"), off = driver3_ref(&d, "switch_out");
    fmi3ValueReference heard = driver3_ref(&d, "heard");
    fmi3ValueReference said[2] = {driver3_ref(&d, "said"), driver3_ref(&d, "mood")};
    int32_t whole = -7;
    int64_t item = 3;
    bool yes = true, no = true;
    fmi3String words = "hello!", spoken[2];
    CHECK_FMI3(d.EnterInitializationMode(c, false, 0, 0, false, 0), fmi3OK);
    CHECK_FMI3(d.GetString(c, said, 2, spoken, 2), fmi3OK);
    CHECK_STR(spoken[0], "Polly");
    CHECK_FMI3(d.ExitInitializationMode(c), fmi3OK);
    CHECK_FMI3(d.SetInt32(c, &count, 1, &whole, 1), fmi3OK);
    CHECK_FMI3(d.SetInt64(c, &gear, 1, &item, 1), fmi3OK);
    CHECK_FMI3(d.SetBoolean(c, &on, 1, &yes, 1), fmi3OK);
    CHECK_FMI3(d.SetString(c, &heard, 1, &words, 1), fmi3OK);
    if (kinds[k] == &plain) driver3_step(&d, c, 0, 0.1);
    else CHECK_FMI3(update(&d, c), fmi3OK);
    item = 0;
    CHECK_FMI3(d.GetInt32(c, &total, 1, &whole, 1), fmi3OK);
    CHECK_FMI3(d.GetInt64(c, &chosen, 1, &item, 1), fmi3OK);
    CHECK_FMI3(d.GetBoolean(c, &off, 1, &no, 1), fmi3OK);
    CHECK_INT(whole, 3);
    CHECK_INT(item, 3);
    CHECK_INT(no, false);
    CHECK_FMI3(d.GetString(c, said, 2, spoken, 2), fmi3OK);
    CHECK_STR(spoken[0], "hello!");
    CHECK_STR(spoken[1], "excited");
    d.FreeInstance(c);
  }
}

//------------------------------------ archive ------------------------------------

static char* output_of(cpl_context* ctx, const char* const* argv) {
  char* output = NULL;
  int code = 0;
  CHECK_OK(ctx, cpli_run_program(ctx, argv, &output, &code));
  if (code != 0) fail_msg("%s: %s", argv[0], output);
  return output;
}

static void only_fmi_functions_are_exported(void** state) {
  (void)state;
  driver3 d;
  char library[4096];
  driver3_open(&d, "examples/van_der_pol/van_der_pol.c", "van_der_pol");
  snprintf(library, sizeof library, "%s/binaries/x86_64-linux/van_der_pol.so", d.folder);
  const char* argv[] = {"nm", "-D", "--defined-only", "--format=posix", library, NULL};
  char* symbols = output_of(d.ctx, argv);
  int n = 0, known = 0;
  for (char* line = strtok(symbols, "\n"); line != NULL; line = strtok(NULL, "\n"), n++) {
    line[strcspn(line, " ")] = '\0';
#define X(name) known += strcmp(line, "fmi3" #name) == 0;
    DRIVER3_FUNCTIONS(X)
    X(GetNumberOfConstraints)
    X(Constraint)
    X(ConstraintJacobian)
    X(ProjectionStep)
    X(Projection)
#undef X
    known += strcmp(line, "coupletInputEvent3") == 0;
    known += strcmp(line, "coupletSetInputDerivatives3") == 0;
    if (known != n + 1) fail_msg("%s is exported", line);
  }
  free(symbols);
  driver3_close(&d);
}

// The sources that buildDescription.xml lists, and nothing else, become a model exchange FMU.
static void sources_are_enough_for_model_exchange(void** state) {
  (void)state;
  driver3 d, s = {0};
  char command[8192], library[4096];
  driver3_open(&d, "tests/export/stopper.c", "_2_stops___more");
  snprintf(library, sizeof library, "%s/alone.so", d.folder);
  snprintf(command, sizeof command,
           "cd '%s/sources' && cc -std=c11 -Wall -Werror -Wno-format-truncation -shared -fPIC "
           "-I. -o ../alone.so "
           "$(sed -n 's/.*<SourceFile name=\"\\(.*\\)\".*/\\1/p' buildDescription.xml) -lm "
           "-Wl,-z,defs",
           d.folder);
  const char* argv[] = {"sh", "-c", command, NULL};
  free(output_of(d.ctx, argv));
  memcpy(s.token, d.token, sizeof s.token);
  s.library = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  assert_non_null(s.library);
  dlclose(s.library);
  driver3_load(&s, library);
  heard3 h = {0};
  CHECK(s.InstantiateCoSimulation("cs", s.token, "", 0, 0, 0, 0, NULL, 0, &h, log_to_heard3,
                                  NULL) == NULL);
  CHECK_CONTAINS(h.text, "model exchange only");
  fmi3Instance c = driver3_start(&s, NULL, &h, 0);
  CHECK_FMI3(update(&s, c), fmi3OK);
  CHECK_FMI3(s.EnterContinuousTimeMode(c), fmi3OK);
  s.FreeInstance(c);
  dlclose(s.library);
  driver3_close(&d);
}

static void other_versions_are_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_build_def def = cpl_default_build_def();
  CHECK_INT(def.fmi_version, 2);
  def.model = test_path("examples/types/types.c");
  def.fmi_version = 1;
  CHECK_INT(cpl_fmu_build(ctx, &def, NULL, 0), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "FMI 1.0 cannot be written");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(instantiation_is_checked),
      cmocka_unit_test(the_order_of_calls_is_checked_in_model_exchange),
      cmocka_unit_test(the_order_of_calls_is_checked_in_co_simulation),
      cmocka_unit_test(values_are_checked),
      cmocka_unit_test(every_type_comes_through),
      cmocka_unit_test(only_fmi_functions_are_exported),
      cmocka_unit_test(sources_are_enough_for_model_exchange),
      cmocka_unit_test(other_versions_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
