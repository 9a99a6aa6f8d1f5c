// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Ticks of every kind of clock in one second: how many, and when the last one was.
#include "fmi/probes.h"

static const struct {
  const char* name;
  int ticks;
  double last;
} expected[] = {
    {"constant", 10, 0.95},   // 0.05, 0.15, ...
    {"fixed", 5, 0.9},        // 0.1, 0.3, ...
    {"calculated", 5, 1},     // 0, 0.25, ...
    {"tunable", 6, 1},        // 0, 0.2, ...
    {"changing", 4, 1},       // 0.1, 0.3, 0.6, 1
    {"countdown", 10, 0.98},  // 0.03 after each tick of `constant`
    {"trigger", 0, -1},       // no one does
};

static void check_ticks(opened* o, cpl_component* c) {
  for (size_t i = 0; i < CPLI_COUNT(expected); i++) {
    char count[32], time[32];
    snprintf(count, sizeof count, "n_%s", expected[i].name);
    snprintf(time, sizeof time, "t_%s", expected[i].name);
    CHECK_INT(integer_in(o, c, count), expected[i].ticks);
    CHECK_NEAR(real_in(o, c, time), expected[i].last, 1e-12);
  }
}

static cpl_status run(cpl_stepper* s, double stop, double step) {
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = stop;
  def.interval = def.step = step;
  return cpl_run(s, &def, NULL);
}

static void model_exchange(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(o.ctx, cpl_integrate(m, &solver, &s));
  CHECK_OK(o.ctx, run(s, 1, 0.5));
  check_ticks(&o, &s->base);
  CHECK_NEAR(real_in(&o, &s->base, "x[1]"), cos(2), 1e-3);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void co_simulation(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  CHECK_OK(o.ctx, run(s, 1, 0.5));
  check_ticks(&o, &s->base);
  CHECK_NEAR(real_in(&o, &s->base, "x[1]"), cos(2), 1e-12);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

// An interval that is changed counts from the event in which it is.
static void tuned(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  cpl_event_info info;
  CHECK_OK(o.ctx, initialize(c));
  do CHECK_OK(o.ctx, m->ops->event_update(m, &info));
  while (info.again);
  CHECK_NEAR(info.next_time, 0.05, 1e-15);
  CHECK_INT(integer_in(&o, c, "n_tunable"), 1);
  CHECK_OK(o.ctx, m->ops->enter_continuous(m));
  CHECK_OK(o.ctx, m->ops->set_time(m, 0.01));
  CHECK_OK(o.ctx, m->ops->enter_event(m));
  put_real(&o, c, "period", 0.02);
  CHECK_OK(o.ctx, m->ops->event_update(m, &info));
  CHECK_NEAR(info.next_time, 0.03, 1e-15);
  c->ops->destroy(c);
  close_probe(&o);
}

// The alarm of one FMU is the trigger of another: every second tick of `fixed`, at 0.3 and 0.7.
static void check_connection(cpl_member_as as) {
  opened o;
  open_probe(&o, "3");
  cpl_system_def* def = NULL;
  CHECK_OK(o.ctx, cpl_system_def_create(o.ctx, &def));
  cpl_member_def member = cpl_default_member_def();
  member.source = o.source;
  member.as = as;
  member.name = "a";
  CHECK_OK(o.ctx, cpl_system_def_add_model(def, &member));
  member.name = "b";
  CHECK_OK(o.ctx, cpl_system_def_add_model(def, &member));
  CHECK_OK(o.ctx, cpl_system_def_connect(def, "b.trigger", "a.alarm"));
  CHECK_OK(o.ctx, cpl_system_def_connect(def, "b.u", "a.y"));
  CHECK_OK(o.ctx, cpl_system_def_connect(def, "b.bin_in", "a.bin_out"));
  cpl_source* system = NULL;
  cpl_stepper* s = NULL;
  cpl_stepper_def how = cpl_default_stepper_def();
  CHECK_OK(o.ctx, cpl_system_build(o.ctx, def, &system));
  CHECK_OK(o.ctx, cpl_system_stepper(system, &how, &s));
  CHECK_OK(o.ctx, run(s, 1, 0.5));
  double at = 0, y = 0, u = 0;
  int64_t n = 0, own = 0;
  cpl_component* c = &s->base;
  const cpl_description* d = system->desc;
#define REF(name) (uint32_t[]){d->vars[cpl_find_variable(d, name)].ref}
  CHECK_OK(o.ctx, c->ops->get_integer(c, CPL_INTEGER, REF("b.n_trigger"), 1, &n));
  CHECK_OK(o.ctx, c->ops->get_integer(c, CPL_INTEGER, REF("a.n_trigger"), 1, &own));
  CHECK_OK(o.ctx, c->ops->get_real(c, REF("b.t_trigger"), 1, &at));
  CHECK_OK(o.ctx, c->ops->get_real(c, REF("a.y[2]"), 1, &y));
  CHECK_OK(o.ctx, c->ops->get_real(c, REF("b.u[2]"), 1, &u));
  CHECK_INT(n, 2);
  CHECK_INT(own, 0);
  CHECK_NEAR(at, 0.7, 1e-12);
  CHECK_NEAR(u, y, 0);
  c->ops->destroy(c);
  system->ops->destroy(system);
  cpl_system_def_destroy(def);
  close_probe(&o);
}

static void over_a_connection(void** state) {
  (void)state;
  check_connection(CPL_AS_MODEL_EXCHANGE);
}

// Steps of half a second: every tick stops both FMUs where it happens.
static void over_a_master(void** state) {
  (void)state;
  check_connection(CPL_AS_CO_SIMULATION);
}

// Clocked variables are read and set when their clock ticks, and only then: what was set before
// waits, what is read later is what it was. The FMU refuses all else.
static void clocked_variables(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r;
  put_real(&o, c, "c_in", 4);
  CHECK_OK(o.ctx, initialize(c));
  CHECK_NEAR(real_in(&o, c, "c_out"), 8, 0);  // set in initialisation mode
  put_real(&o, c, "c_in", 5);
  CHECK_NEAR(real_in(&o, c, "c_in"), 5, 0);
  CHECK_NEAR(real_in(&o, c, "c_out"), 8, 0);
  CHECK_INT(calls_of("fmi3EnterEventMode"), 0);
  CHECK_OK(o.ctx, s->ops->step(s, 0.1, 0.1, &r));
  CHECK_NEAR(r.time, 0.05, 1e-15);
  CHECK_NEAR(real_in(&o, c, "c_out"), 8, 0);  // the tick is still to come
  CHECK_OK(o.ctx, s->ops->step(s, r.time, r.time, &r));
  CHECK_NEAR(real_in(&o, c, "c_out"), 10, 0);
  CHECK_INT(integer_in(&o, c, "n_alarm"), 0);
  c->ops->destroy(c);
  close_probe(&o);
}

static void put_texts(opened* o, cpl_component* c, const char* text) {
  uint32_t string = ref_of(o, "c_s_in"), binary = ref_of(o, "c_bin_in");
  cpl_binary bytes = {(const uint8_t*)text, strlen(text)};
  CHECK_OK(o->ctx, c->ops->set_string(c, &string, 1, &text));
  CHECK_OK(o->ctx, c->ops->set_binary(c, &binary, 1, &bytes));
}

static void check_texts(opened* o, cpl_component* c, bool inputs, const char* wanted) {
  uint32_t string = ref_of(o, inputs ? "c_s_in" : "c_s_out");
  uint32_t binary = ref_of(o, inputs ? "c_bin_in" : "c_bin_out");
  const char* text = NULL;
  cpl_binary bytes = {0};
  CHECK_OK(o->ctx, c->ops->get_string(c, &string, 1, &text));
  CHECK_STR(text, wanted);
  CHECK_OK(o->ctx, c->ops->get_binary(c, &binary, 1, &bytes));
  CHECK(bytes.size == strlen(wanted) && memcmp(bytes.data, wanted, bytes.size) == 0);
}

// Strings and Binaries wait for the tick as numbers do, and come back with a saved state.
static void clocked_texts(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  cpl_component* c = &s->base;
  cpl_step_result r;
  cpl_snapshot saved = {NULL};
  put_texts(&o, c, "one");
  CHECK_OK(o.ctx, initialize(c));
  check_texts(&o, c, false, "one");  // set in initialisation mode
  put_texts(&o, c, "another one");
  check_texts(&o, c, true, "another one");
  check_texts(&o, c, false, "one");
  CHECK_OK(o.ctx, s->ops->step(s, 0.1, 0.1, &r));
  CHECK_NEAR(r.time, 0.05, 1e-15);
  check_texts(&o, c, false, "one");  // the tick is still to come
  CHECK_OK(o.ctx, c->ops->save(c, &saved));
  CHECK_OK(o.ctx, s->ops->step(s, r.time, r.time, &r));
  check_texts(&o, c, false, "another one");
  put_texts(&o, c, "a third one, which is longer than those before");
  CHECK_OK(o.ctx, c->ops->restore(c, &saved));
  check_texts(&o, c, false, "one");
  check_texts(&o, c, true, "another one");
  CHECK_OK(o.ctx, s->ops->step(s, 0.05, 0.05, &r));
  check_texts(&o, c, false, "another one");
  CHECK_OK(o.ctx, c->ops->save(c, &saved));  // more than what was saved there before
  c->ops->forget(c, &saved);
  c->ops->destroy(c);
  close_probe(&o);
}

// One that belongs to a clock of the FMU itself.
static void clocked_by_the_fmu(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(o.ctx, cpl_integrate(m, &solver, &s));
  CHECK_OK(o.ctx, run(s, 1, 0.5));
  CHECK_INT(integer_in(&o, &s->base, "n_alarm"), 2);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

//------------------------------------ rollback ------------------------------------

enum { N_SEEN = 2 * CPLI_COUNT(expected) + 6 };

static void look(opened* o, cpl_component* c, double* seen) {
  for (size_t i = 0; i < CPLI_COUNT(expected); i++) {
    char count[32], time[32];
    snprintf(count, sizeof count, "n_%s", expected[i].name);
    snprintf(time, sizeof time, "t_%s", expected[i].name);
    *seen++ = (double)integer_in(o, c, count);
    *seen++ = real_in(o, c, time);
  }
  *seen++ = real_in(o, c, "c_out");
  *seen++ = (double)integer_in(o, c, "n_alarm");
  *seen++ = real_in(o, c, "x[1]");
  *seen++ = real_in(o, c, "x[2]");
  *seen++ = real_in(o, c, "y[1]");
  *seen++ = real_in(o, c, "y[2]");
}

// Steps to t, events included; the number of steps.
static int go_to(opened* o, cpl_stepper* s, double t) {
  int n = 0;
  cpl_step_result r = {.end = CPL_STEP_EVENT};
  for (; r.time < t || r.end == CPL_STEP_EVENT; n++) {
    CHECK_OK(o->ctx, s->ops->step(s, r.end == CPL_STEP_EVENT && n > 0 ? r.time : t, t, &r));
    CHECK(n < 1000);
  }
  return n;
}

static int seen_bits(opened* o, cpl_stepper* s, double t, double* seen) {
  int n = go_to(o, s, t);
  look(o, &s->base, seen);
  return n;
}

// Back to a time between ticks, right after one and at one that waits: the same bits again. An
// element that is set alone afterwards leaves the others as they were then.
static void check_rollback(opened* o, cpl_stepper* s) {
  static const double times[] = {0, 0.21, 0.3, 0.36, 0.77};
  cpl_component* c = &s->base;
  CHECK(c->can.save_restore);
  CHECK_OK(o->ctx, initialize(c));
  for (size_t i = 0; i < CPLI_COUNT(times); i++) {
    double first[N_SEEN], again[N_SEEN];
    cpl_snapshot snapshot = {0};
    if (times[i] > 0) go_to(o, s, times[i]);
    CHECK_OK(o->ctx, c->ops->save(c, &snapshot));
    int n = seen_bits(o, s, 1.4, first);
    put_real(o, c, "u[1]", 5);
    put_real(o, c, "u[2]", 6);
    CHECK_OK(o->ctx, c->ops->restore(c, &snapshot));
    CHECK_INT(seen_bits(o, s, 1.4, again), n);
    CHECK(memcmp(first, again, sizeof first) == 0);
    CHECK_OK(o->ctx, c->ops->restore(c, &snapshot));
    c->ops->forget(c, &snapshot);
  }
  put_real(o, c, "u[1]", 0.5);
  CHECK_NEAR(real_in(o, c, "u[2]"), 0, 0);
}

static void rollback_of_co_simulation(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = stepper_in(&o);
  check_rollback(&o, s);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void rollback_of_model_exchange(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.restart_each_step = true;
  CHECK_OK(o.ctx, cpl_integrate(model_in(&o), &solver, &s));
  check_rollback(&o, s);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(model_exchange),
      cmocka_unit_test(co_simulation),
      cmocka_unit_test(tuned),
      cmocka_unit_test(over_a_connection),
      cmocka_unit_test(over_a_master),
      cmocka_unit_test(clocked_variables),
      cmocka_unit_test(clocked_texts),
      cmocka_unit_test(clocked_by_the_fmu),
      cmocka_unit_test(rollback_of_co_simulation),
      cmocka_unit_test(rollback_of_model_exchange),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
