// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/assemble.h"
#include "fmi/probes.h"

static cpl_status run(cpl_stepper* s, double stop, double step) {
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = stop;
  def.interval = def.step = step;
  return cpl_run(s, &def, NULL);
}

// The FMU checks the order of calls itself. Its third update, at t=1, pushes x2 by 1.
static void order_of_calls(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  cpl_model* m = model_in(&o);
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = 1e-9;
  CHECK_OK(o.ctx, cpl_integrate(m, &solver, &s));
  CHECK_OK(o.ctx, run(s, 1.25, 0.25));
  double t = 1.25, tau = 0.25;
  CHECK_NEAR(real_in(&o, &s->base, "x1"), cos(2 * t) + sin(2 * tau) / 2, 1e-6);
  CHECK_INT(integer_in(&o, &s->base, "count"), 3);
  CHECK_INT(calls_of("fmiInitialize("), 1);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

static void ends_when_it_wants(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  cpl_model* m = model_in(&o);
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(o.ctx, try_integer(&o, &m->base, "n", 1));
  CHECK_OK(o.ctx, cpl_integrate(m, &solver, &s));
  CHECK_INT(run(s, 5, 0.25), CPL_TERMINATE);
  s->base.ops->destroy(&s->base);
  close_probe(&o);
}

// Inputs that are known before the first value is read are there when the FMU is initialised.
static void initialisation_is_one_call(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  cpl_setup setup = {.start_time = 2};
  CHECK_OK(o.ctx, c->ops->setup(c, &setup));
  CHECK_OK(o.ctx, c->ops->enter_init(c));
  put_real(&o, c, "u", 3);
  CHECK_INT(calls_of("fmiInitialize("), 0);
  CHECK_NEAR(real_in(&o, c, "y"), 7, 0);
  CHECK_INT(calls_of("fmiInitialize("), 1);
  put_real(&o, c, "u", 4);
  CHECK_OK(o.ctx, c->ops->exit_init(c));
  CHECK_INT(calls_of("fmiInitialize("), 1);
  CHECK_INT(calls_of("fmiSetTime(2)"), 1);
  c->ops->destroy(c);
  close_probe(&o);
}

static void aliases_and_types(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  const char* text = NULL;
  uint32_t label = ref_of(&o, "label");
  CHECK_OK(o.ctx, c->ops->set_string(c, &label, 1, (const char*[]){"hello"}));
  CHECK_OK(o.ctx, initialize(c));
  put_real(&o, c, "minus_u", -2);
  CHECK_NEAR(real_in(&o, c, "u"), 2, 0);
  CHECK_NEAR(real_in(&o, c, "minus_u"), -2, 0);
  uint32_t refs[] = {ref_of(&o, "y"), ref_of(&o, "minus_y"), ref_of(&o, "k")};
  double values[3];
  CHECK_OK(o.ctx, c->ops->get_real(c, refs, 3, values));
  CHECK_NEAR(values[0], 5, 0);
  CHECK_NEAR(values[1], -5, 0);
  CHECK_NEAR(values[2], 4, 0);
  uint32_t both[] = {ref_of(&o, "k"), ref_of(&o, "minus_u"), ref_of(&o, "x2")};
  CHECK_OK(o.ctx, c->ops->set_real(c, both, 3, (double[]){9, 1, 8}));
  CHECK_NEAR(real_in(&o, c, "u"), -1, 0);
  CHECK_NEAR(real_in(&o, c, "x2"), 8, 0);
  CHECK_OK(o.ctx, try_integer(&o, c, "flag", 1));
  CHECK_INT(integer_in(&o, c, "flag"), 1);
  CHECK_INT(integer_in(&o, c, "not_flag"), 0);
  CHECK_INT(try_integer(&o, c, "n", INT64_C(1) << 40), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "n cannot be set to 1099511627776: FMI 1.0 has");
  CHECK_OK(o.ctx, c->ops->get_string(c, &label, 1, &text));
  CHECK_STR(text, "hello");
  double nominals[2] = {-7, -7};
  CHECK_OK(o.ctx, m->ops->get_nominals(m, nominals));
  CHECK_NEAR(nominals[0], 1, 0);
  CHECK_NEAR(nominals[1], 1, 0);
  c->ops->destroy(c);
  close_probe(&o);
}

static void failures_have_words(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  want_fault("fmiGetDerivatives", 1, "error");
  cpl_model* m = model_in(&o);
  double dx[2];
  CHECK_OK(o.ctx, initialize(&m->base));
  CHECK_INT(m->ops->get_derivatives(m, dx), CPL_ERR_MODEL);
  CHECK_STR(cpl_context_error(o.ctx),
            "left: fmiGetDerivatives at t=0 returned fmiError: fmiGetDerivatives was told to fail, "
            "k = 4");
  m->base.ops->destroy(&m->base);
  close_probe(&o);
}

// There is no reset in model exchange: another instance takes the place.
static void reset(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "1_me");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  CHECK_OK(o.ctx, initialize(c));
  put_real(&o, c, "x1", 5);
  CHECK_OK(o.ctx, c->ops->reset(c));
  CHECK_OK(o.ctx, initialize(c));
  CHECK_NEAR(real_in(&o, c, "x1"), 1, 0);
  c->ops->destroy(c);
  close_probe(&o);
}

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fprintf(f, text, getenv("COUPLET_PROBE"), getenv("COUPLET_PROBE"));
  fclose(f);
}

static double end_of_run(cpl_context* ctx, const char* path, const char* name, double t) {
  cpl_source* source = NULL;
  cpl_stepper* s = NULL;
  cpl_stepper_def def = cpl_default_stepper_def();
  double value = 0;
  def.solver.rtol = 1e-9;
  CHECK_OK(ctx, cpl_system_open(ctx, path, &source));
  CHECK_OK(ctx, cpl_system_stepper(source, &def, &s));
  CHECK_OK(ctx, run(s, t, t / 4));
  const cpl_description* d = s->base.desc;
  uint32_t ref = d->vars[cpl_find_variable(d, name)].ref;
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &ref, 1, &value));
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
  return value;
}

// Its derivatives are no variables: whoever takes a system of such FMUs as a part has to get along
// without.
static void systems_of_it_are_parts_of_others(void** state) {
  (void)state;
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  write_text("inner.yaml",
             "couplet: 1\nmodels: {a: {fmu: %s1_me}, b: {fmu: %s1_me}}\n"
             "connections: {b.u: a.x1}\noutputs: {y: a.x1 + b.x1}\n");
  write_text("outer.yaml",
             "couplet: 1\nmodels: {i: {system: inner.yaml}, p: {fmu: %s1_me}}\n"
             "connections: {p.u: i.y}\n");
  write_text("modes.yaml",
             "couplet: 1\nmodes:\n  start: one\n  one: {models: {i: {system: inner.yaml}, "
             "p: {fmu: %s1_me}}}\nobserve: {x: i.a.x1}\n");
  CHECK_NEAR(end_of_run(ctx, "outer.yaml", "i.a.x1", 0.75), cos(1.5), 1e-6);
  CHECK_NEAR(end_of_run(ctx, "modes.yaml", "x", 0.75), cos(1.5), 1e-6);
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(order_of_calls),
      cmocka_unit_test(ends_when_it_wants),
      cmocka_unit_test(initialisation_is_one_call),
      cmocka_unit_test(aliases_and_types),
      cmocka_unit_test(failures_have_words),
      cmocka_unit_test(reset),
      cmocka_unit_test(systems_of_it_are_parts_of_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
