// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/stat.h>

#include "fmi/probe.h"

static void follows_the_state_machine(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  probe_record(&p);
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  uint32_t k = K, y = Y;
  double value = 9, x[2] = {0.5, 0.25}, dx[2], z[1];
  bool event, end;
  cpl_event_info info;
  CHECK_OK(p.ctx, c->ops->set_real(c, &k, 1, &value));
  CHECK_OK(p.ctx, probe_init(c));
  CHECK_OK(p.ctx, m->ops->event_update(m, &info));
  CHECK(info.again && !info.states_changed && info.next_time == 0.5);
  CHECK_OK(p.ctx, m->ops->event_update(m, &info));
  CHECK(!info.again && info.states_changed);
  CHECK_OK(p.ctx, m->ops->enter_continuous(m));
  CHECK_OK(p.ctx, m->ops->set_time(m, 0.1));
  CHECK_OK(p.ctx, m->ops->set_states(m, x));
  CHECK_OK(p.ctx, m->ops->get_derivatives(m, dx));
  CHECK(dx[0] == 0.25 && dx[1] == -4.5);
  CHECK_OK(p.ctx, m->ops->get_indicators(m, z));
  CHECK_OK(p.ctx, c->ops->get_real(c, &y, 1, &value));
  CHECK(value == 0.5);
  CHECK_OK(p.ctx, m->ops->completed_step(m, &event, &end));
  CHECK(!event && !end);
  CHECK_OK(p.ctx, m->ops->enter_event(m));
  CHECK_OK(p.ctx, m->ops->event_update(m, &info));
  CHECK(info.nominals_changed && !info.terminate);
  CHECK_OK(p.ctx, m->ops->event_update(m, &info));
  CHECK(info.terminate);
  CHECK_OK(p.ctx, m->ops->event_update(m, &info));
  CHECK(isinf(info.next_time));
  CHECK_OK(p.ctx, c->ops->terminate(c));
  CHECK_OK(p.ctx, c->ops->terminate(c));  // once is enough
  c->ops->destroy(c);

  char expected[8192];
  char folder[4096];
  CHECK(realpath(p.folder, folder) != NULL);
  snprintf(expected, sizeof expected,
           "- left fmi2GetVersion() -> fmi2OK \"2.0\"\n"
           "- left fmi2GetTypesPlatform() -> fmi2OK \"default\"\n"
           "- left fmi2Instantiate(\"left\", 0, \"{probe}\", \"file://%s%s/resources\", 0, 0)"
           " -> fmi2OK\n"
           "- left fmi2SetReal([4], [9]) -> fmi2OK\n"
           "0 left fmi2SetupExperiment(0, 0, 0, 1, 10) -> fmi2OK\n"
           "0 left fmi2SetReal([4], [9]) -> fmi2OK\n"
           "0 left fmi2EnterInitializationMode() -> fmi2OK\n"
           "0 left fmi2ExitInitializationMode() -> fmi2OK\n"
           "0 left fmi2NewDiscreteStates() -> fmi2OK 1 0 0 0 1 0.5\n"
           "0 left fmi2NewDiscreteStates() -> fmi2OK 0 0 0 1 1 0.5\n"
           "0 left fmi2EnterContinuousTimeMode() -> fmi2OK\n"
           "0.1 left fmi2SetTime(0.1) -> fmi2OK\n"
           "0.1 left fmi2SetContinuousStates([0.5, 0.25]) -> fmi2OK\n"
           "0.1 left fmi2GetDerivatives() -> fmi2OK [0.25, -4.5]\n"
           "0.1 left fmi2GetEventIndicators() -> fmi2OK [0.5]\n"
           "0.1 left fmi2GetReal([6]) -> fmi2OK [0.5]\n"
           "0.1 left fmi2CompletedIntegratorStep(1) -> fmi2OK 0 0\n"
           "0.1 left fmi2EnterEventMode() -> fmi2OK\n"
           "0.1 left fmi2NewDiscreteStates() -> fmi2OK 0 0 1 0 1 0.5\n"
           "0.1 left fmi2NewDiscreteStates() -> fmi2OK 0 1 0 0 1 0.5\n"
           "0.1 left fmi2NewDiscreteStates() -> fmi2OK 0 1 0 0 0 0.5\n"
           "0.1 left fmi2Terminate() -> fmi2OK\n"
           "0.1 left fmi2FreeInstance() -> fmi2OK\n",
           is_windows() ? "/Z:" : "", folder);
  CHECK_STR(probe_calls(), expected);
  probe_close(&p);
}

// The FMU gives all variables their start values in fmi2SetupExperiment.
static void values_set_before_the_setup_count(void** state) {
  (void)state;
  probe_fmu p;
  setenv("PROBE_STARTS_LATE", "1", 1);
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  uint32_t refs[] = {K, U, K}, n_ref = 1, zero = 0;
  double values[] = {9, 2, 7};
  int64_t n = 100, flag = 1;
  const char* text = "hello";
  for (int run = 0; run < 2; run++) {
    CHECK_OK(p.ctx, c->ops->set_real(c, refs, 1, values));
    CHECK_OK(p.ctx, c->ops->set_integer(c, CPL_INTEGER, &n_ref, 1, &n));
    CHECK_OK(p.ctx, c->ops->set_real(c, refs + 1, 2, values + 1));  // the last one counts
    CHECK_OK(p.ctx, c->ops->set_integer(c, CPL_BOOLEAN, &zero, 1, &flag));
    CHECK_OK(p.ctx, c->ops->set_string(c, &zero, 1, &text));
    CHECK_OK(p.ctx, probe_init(c));
    double found[] = {0, 0};
    int64_t integers[] = {0, 0};
    const char* label = NULL;
    CHECK_OK(p.ctx, c->ops->get_real(c, refs, 2, found));
    CHECK_OK(p.ctx, c->ops->get_integer(c, CPL_INTEGER, &n_ref, 1, &integers[0]));
    CHECK_OK(p.ctx, c->ops->get_integer(c, CPL_BOOLEAN, &zero, 1, &integers[1]));
    CHECK_OK(p.ctx, c->ops->get_string(c, &zero, 1, &label));
    CHECK(found[0] == 7 && found[1] == 2 && integers[0] == 100 && integers[1] == 1);
    CHECK_STR(label, "hello");
    CHECK_OK(p.ctx, c->ops->terminate(c));
    CHECK_OK(p.ctx, c->ops->reset(c));
  }
  // what was set before a reset does not count
  CHECK_OK(p.ctx, c->ops->set_real(c, refs, 1, values));
  CHECK_OK(p.ctx, c->ops->reset(c));
  CHECK_OK(p.ctx, probe_init(c));
  CHECK_OK(p.ctx, c->ops->get_real(c, refs, 1, values));
  CHECK(values[0] == 4);
  c->ops->destroy(c);
  probe_close(&p);
  unsetenv("PROBE_STARTS_LATE");
}

static void reset_leads_back_to_the_start(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  uint32_t k = K;
  double value = 9;
  CHECK_OK(p.ctx, c->ops->set_real(c, &k, 1, &value));
  CHECK_OK(p.ctx, probe_init(c));
  CHECK_OK(p.ctx, c->ops->terminate(c));
  CHECK_OK(p.ctx, c->ops->reset(c));
  CHECK_OK(p.ctx, c->ops->get_real(c, &k, 1, &value));
  CHECK(value == 4);
  CHECK_OK(p.ctx, probe_init(c));
  c->ops->destroy(c);
  probe_close(&p);
}

static void all_types_travel(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  uint32_t refs[9] = {1, 1, 1, 1, 1, 1, 1, 1, 2};  // more than there are variables: in pieces
  int64_t in[9] = {0, 0, 0, 0, 0, 0, 0, INT32_MIN, INT32_MAX}, out[9];
  CHECK_OK(p.ctx, c->ops->set_integer(c, CPL_INTEGER, refs, 9, in));
  CHECK_OK(p.ctx, c->ops->get_integer(c, CPL_ENUMERATION, refs, 9, out));
  CHECK_INT(out[0], INT32_MIN);
  CHECK_INT(out[8], INT32_MAX);
  in[8] = (int64_t)INT32_MAX + 1;
  CHECK_INT(c->ops->set_integer(c, CPL_ENUMERATION, refs, 9, in), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(p.ctx),
            "left: mode cannot be set to 2147483648: FMI 2.0 has integers of 32 bits only");
  uint32_t zero = 0, one = 1;
  int64_t flag = 7;
  CHECK_OK(p.ctx, c->ops->set_integer(c, CPL_BOOLEAN, &zero, 1, &flag));
  CHECK_OK(p.ctx, c->ops->get_integer(c, CPL_BOOLEAN, &zero, 1, &flag));
  CHECK_INT(flag, 1);
  const char* text = "gr\xc3\xbc\xc3\x9f";
  CHECK_OK(p.ctx, c->ops->set_string(c, &zero, 1, &text));
  CHECK_OK(p.ctx, c->ops->get_string(c, &zero, 1, &text));
  CHECK_STR(text, "gr\xc3\xbc\xc3\x9f");
  CHECK_OK(p.ctx, c->ops->get_string(c, &one, 1, &text));  // the FMU answers NULL
  CHECK_STR(text, "");
  c->ops->destroy(c);
  probe_close(&p);
}

static void empty_arrays_make_no_call(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  p.fmu.desc.n_states = p.fmu.desc.n_indicators = 0;
  p.fmu.me.can.completed_step = false;
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  CHECK_OK(p.ctx, probe_init(c));
  probe_record(&p);
  bool event = true, end = true;
  CHECK_OK(p.ctx, c->ops->get_real(c, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->set_real(c, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->get_integer(c, CPL_INTEGER, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->set_integer(c, CPL_BOOLEAN, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->get_string(c, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->set_string(c, NULL, 0, NULL));
  CHECK_OK(p.ctx, c->ops->directional(c, NULL, 0, NULL, 0, NULL, NULL));
  CHECK_OK(p.ctx, m->ops->set_states(m, NULL));
  CHECK_OK(p.ctx, m->ops->get_states(m, NULL));
  CHECK_OK(p.ctx, m->ops->get_nominals(m, NULL));
  CHECK_OK(p.ctx, m->ops->get_derivatives(m, NULL));
  CHECK_OK(p.ctx, m->ops->get_indicators(m, NULL));
  CHECK_OK(p.ctx, m->ops->completed_step(m, &event, &end));
  CHECK(!event && !end);
  CHECK_STR(probe_calls(), "");
  c->ops->destroy(c);
  probe_close(&p);
}

static void odd_nominals_are_not_believed(void** state) {
  (void)state;
  for (int64_t mode = 1; mode <= 3; mode++) {  // 10 and a denormal; zeros; NaN
    probe_fmu p;
    probe_open(&p, "probe");
    cpl_model* m = probe_model(&p);
    uint32_t ref = 2;
    double nominals[2];
    CHECK_OK(p.ctx, m->base.ops->set_integer(&m->base, CPL_ENUMERATION, &ref, 1, &mode));
    CHECK_OK(p.ctx, m->ops->get_nominals(m, nominals));
    CHECK(nominals[0] == (mode == 1 ? 10 : 1) && nominals[1] == 1);
    m->base.ops->destroy(&m->base);
    probe_close(&p);
  }
}

static void saved_states_come_back(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  cpl_snapshot snapshot = {NULL};
  double x[2] = {3, 4};
  bool event, end;
  CHECK(c->can.save_restore && !c->can.serialize);  // promised, but not exported
  CHECK_OK(p.ctx, probe_init(c));
  CHECK_OK(p.ctx, m->ops->enter_continuous(m));
  CHECK_OK(p.ctx, c->ops->save(c, &snapshot));
  CHECK_OK(p.ctx, m->ops->set_time(m, 1));
  CHECK_OK(p.ctx, m->ops->set_states(m, x));
  probe_record(&p);
  CHECK_OK(p.ctx, m->ops->completed_step(m, &event, &end));
  CHECK_STR(probe_calls(), "1 left fmi2CompletedIntegratorStep(0) -> fmi2OK 0 0\n");
  CHECK_OK(p.ctx, c->ops->restore(c, &snapshot));
  CHECK_OK(p.ctx, m->ops->get_states(m, x));
  CHECK(x[0] == 1 && x[1] == 0);
  CHECK_OK(p.ctx, c->ops->save(c, &snapshot));  // again into the same
  c->ops->forget(c, &snapshot);
  CHECK(snapshot.data == NULL);
  CHECK_OK(p.ctx, m->ops->completed_step(m, &event, &end));
  CHECK_CONTAINS(probe_calls(), "0 left fmi2CompletedIntegratorStep(1)");
  c->ops->destroy(c);
  probe_close(&p);
}

static void directional_derivatives(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  CHECK_OK(p.ctx, probe_init(c));
  const uint32_t unknowns[] = {DX1, DX2, Y}, knowns[] = {X1, U};
  const double seed[] = {1, 10};
  double result[3] = {7, 7, 7};
  CHECK_OK(p.ctx, c->ops->directional(c, unknowns, 3, knowns, 2, seed, result));
  CHECK(result[0] == 0 && result[1] == 6 && result[2] == 21);
  CHECK_OK(p.ctx, c->ops->directional(c, unknowns, 3, NULL, 0, NULL, result));
  CHECK(result[0] == 0 && result[1] == 0 && result[2] == 0);
  c->ops->destroy(c);
  probe_close(&p);
}

static void what_is_not_exported_is_not_offered(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe_bare");
  cpl_model* m = probe_model(&p);
  cpl_component* c = &m->base;
  CHECK(c->ops->save == NULL && c->ops->restore == NULL && c->ops->forget == NULL);
  CHECK(c->ops->directional == NULL);
  CHECK(!c->can.save_restore && !c->can.directional);
  CHECK_OK(p.ctx, probe_init(c));
  uint32_t ref = 0;
  int64_t value;
  CHECK_INT(c->ops->get_integer(c, CPL_INTEGER, &ref, 1, &value), CPL_ERR_UNSUPPORTED);
  CHECK_STR(cpl_context_error(p.ctx), "left: the FMU does not export fmi2GetInteger");
  c->ops->destroy(c);
  probe_close(&p);
}

static void two_instances_are_apart(void** state) {
  (void)state;
  probe_fmu p;
  probe_open(&p, "probe");
  cpl_model *a = probe_model(&p), *b = probe_model(&p);
  uint32_t k = K;
  double one = 1, two = 2;
  CHECK_OK(p.ctx, a->base.ops->set_real(&a->base, &k, 1, &one));
  CHECK_OK(p.ctx, b->base.ops->set_real(&b->base, &k, 1, &two));
  CHECK_OK(p.ctx, a->base.ops->get_real(&a->base, &k, 1, &one));
  CHECK(one == 1);
  a->base.ops->destroy(&a->base);
  CHECK_OK(p.ctx, b->base.ops->get_real(&b->base, &k, 1, &two));
  CHECK(two == 2);
  b->base.ops->destroy(&b->base);
  probe_close(&p);
}

static void one_instance_where_only_one_is_allowed(void** state) {
  (void)state;
  probe_fmu p;
  if (is_other_platform()) skip();  // each instance has a process of its own
  probe_open(&p, "probe");
  p.fmu.me.can.once_per_process = true;
  cpl_model *a = probe_model(&p), *b = NULL;
  CHECK_INT(cpli_fmi2_make_model(&p.fmu.base, "right", &b), CPL_ERR_UNSUPPORTED);
  CHECK(b == NULL);
  CHECK_STR(cpl_context_error(p.ctx),
            "right: probe.fmu can be instantiated only once per process, and there is an instance "
            "already");
  a->base.ops->destroy(&a->base);
  a = probe_model(&p);  // one after the other is fine
  a->base.ops->destroy(&a->base);
  probe_close(&p);
}

static void resources_are_a_uri(void** state) {
  (void)state;
  probe_fmu p;
  if (is_windows()) skip();  // these names are not possible there
  probe_open(&p, "probe");
  const char* folder = "a b%\xc3\xa4#?";
  char binaries[4200], link[4200];
  snprintf(binaries, sizeof binaries, "%s/binaries", p.folder);
  snprintf(link, sizeof link, "%s/binaries", folder);
  mkdir(folder, 0700);
  unlink(link);
  CHECK_INT(symlink(binaries, link), 0);
  snprintf(p.folder, sizeof p.folder, "%s", folder);  // relative: the URI is absolute
  probe_record(&p);
  cpl_model* m = probe_model(&p);
  m->base.ops->destroy(&m->base);
  CHECK_CONTAINS(probe_calls(), "\"{probe}\", \"file:///");
  CHECK_CONTAINS(probe_calls(), "/a%20b%25%C3%A4%23%3F/resources\", 0, 0)");
  probe_close(&p);
  unlink(link);
  rmdir(folder);
}

// The whole way from a file to both kinds of components, with the call log of the public interface.
static void opened_like_any_other(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = getenv("COUPLET_PROBE");
  def.call_log = "opened.txt";
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, src->ops->make_model(src, "left", &m));
  CHECK_OK(ctx, src->ops->make_stepper(src, "right", &s));
  CHECK(m->base.can.completed_step && m->base.can.save_restore && m->base.can.directional);
  CHECK_OK(ctx, probe_init(&m->base));
  CHECK_OK(ctx, probe_init(&s->base));
  cpl_step_result r;
  double dx[2];
  CHECK_OK(ctx, s->ops->step(s, 0.5, 0.5, &r));
  CHECK_OK(ctx, m->ops->get_derivatives(m, dx));
  CHECK(dx[0] == 0 && dx[1] == -4);
  m->base.ops->destroy(&m->base);
  s->base.ops->destroy(&s->base);
  src->ops->destroy(src);
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    probe_fmu p;
    probe_open(&p, "probe");
    p.heap.fail_at = p.heap.calls + n;
    cpl_model* m = NULL;
    cpl_status st = cpli_fmi2_make_model(&p.fmu.base, "left", &m);
    cpl_snapshot snapshot = {NULL};
    if (st == CPL_OK) st = m->base.ops->save(&m->base, &snapshot);
    if (m != NULL) {
      m->base.ops->forget(&m->base, &snapshot);
      m->base.ops->destroy(&m->base);
    }
    probe_close(&p);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
    CHECK(n < 100);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(follows_the_state_machine),
      cmocka_unit_test(values_set_before_the_setup_count),
      cmocka_unit_test(reset_leads_back_to_the_start),
      cmocka_unit_test(all_types_travel),
      cmocka_unit_test(empty_arrays_make_no_call),
      cmocka_unit_test(odd_nominals_are_not_believed),
      cmocka_unit_test(saved_states_come_back),
      cmocka_unit_test(directional_derivatives),
      cmocka_unit_test(what_is_not_exported_is_not_offered),
      cmocka_unit_test(two_instances_are_apart),
      cmocka_unit_test(one_instance_where_only_one_is_allowed),
      cmocka_unit_test(resources_are_a_uri),
      cmocka_unit_test(opened_like_any_other),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
