// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Operation tables of other versions: smaller ones are used as if the missing operations were not
// there, a table without a size is refused.
#include "couplet/aggregate.h"
#include "couplet/component.h"
#include "couplet/csource.h"
#include "couplet/isolate.h"
#include "couplet/master.h"
#include "couplet/modes.h"
#include "couplet/run.h"
#include "testing.h"

// x' = u - 2 x
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - 2 * v->x[0];
  return CPL_MODEL_OK;
}
static int constraints(const cpl_values* v, double* c) {
  c[0] = v->x[0] < 1e9 ? 0 : 1;
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 3, .output = true}, {0}};
static const cpl_declaration inputs[] = {{"u", .start = 1}, {0}};
static const cpl_model_def lag = {.name = "lag",
                                  .states = states,
                                  .inputs = inputs,
                                  .derivatives = derivatives,
                                  .n_constraints = 1,
                                  .constraints = constraints};

typedef struct setting {
  test_heap heap;
  cpl_context* ctx;
  cpl_source* source;
  cpl_model* m;
  void* tables[3];
} setting;

static void open_it(setting* w) {
  *w = (setting){.heap = {.fail_at = -1}};
  w->ctx = test_context_with_heap(&w->heap);
  CHECK_OK(w->ctx, cpl_c_define(w->ctx, &lag, &w->source));
  CHECK_OK(w->ctx, cpl_source_make_model(w->source, "lag", &w->m));
}

static void close_it(setting* w) {
  for (int i = 0; i < 3; i++) free(w->tables[i]);
  cpl_source_destroy(w->source);
  cpl_context_destroy(w->ctx);
  CHECK_INT(w->heap.live, 0);
}

// A copy of the first `size` bytes; what is behind it is no pointer.
static void* shortened(setting* w, int i, const void* table, size_t size) {
  unsigned char* out = w->tables[i] = malloc(size + 512);
  memset(out, 0xa5, size + 512);
  memcpy(out, table, size);
  memcpy(out, &size, sizeof size);
  return out;
}

static void shorten(setting* w) {
  w->m->base.ops = shortened(w, 0, w->m->base.ops, offsetof(cpl_component_ops, save));
  w->m->ops = shortened(w, 1, w->m->ops, offsetof(cpl_model_ops, newton));
}

static void older_tables_serve(void** state) {
  (void)state;
  setting w;
  open_it(&w);
  shorten(&w);
  // by themselves
  cpl_snapshot saved = {0};
  cpl_inspection in;
  size_t n = 7;
  double c;
  CHECK(!cpl_component_capabilities(&w.m->base).save_restore);
  CHECK_INT(cpl_component_save(&w.m->base, &saved), CPL_ERR_UNSUPPORTED);
  CHECK_OK(w.ctx, cpl_component_inspect(&w.m->base, -1, &in));
  CHECK_INT(in.n_counters, 0);
  CHECK_OK(w.ctx, cpl_model_count_constraints(w.m, &n));
  CHECK_INT(n, 0);
  CHECK_INT(cpl_model_get_constraints(w.m, &c), CPL_ERR_UNSUPPORTED);
  // in a stepper
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = 1e-9;
  CHECK_OK(w.ctx, cpl_integrate(w.m, &solver, &s));
  CHECK(w.m->ops->size == sizeof(cpl_model_ops) && w.m->ops->constraints == NULL);
  cpl_run_def run = cpl_default_run_def();
  CHECK_OK(w.ctx, cpl_run(s, &run, NULL));
  const uint32_t ref = s->base.desc->vars[cpl_find_variable(s->base.desc, "x")].ref;
  double x;
  CHECK_OK(w.ctx, cpl_component_get_real(&s->base, &ref, 1, &x));
  CHECK_NEAR(x, 0.5 + 2.5 * exp(-2), 1e-7);
  CHECK_INT(cpl_component_save(&s->base, &saved), CPL_ERR_UNSUPPORTED);
  cpl_stepper_destroy(s);
  close_it(&w);
}

static void an_older_table_in_a_table(void** state) {
  (void)state;
  setting w;
  open_it(&w);
  cpl_model_ops whole = *w.m->ops;
  const size_t size = offsetof(cpl_constraint_ops, get);
  whole.constraints = shortened(&w, 2, whole.constraints, size);
  w.m->ops = &whole;
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(w.ctx, cpl_integrate(w.m, &solver, &s));
  CHECK(w.m->ops->constraints->count != NULL && w.m->ops->constraints->get == NULL);
  cpl_stepper_destroy(s);
  close_it(&w);
}

// A newer component has operations that nobody here knows.
static void newer_tables_serve(void** state) {
  (void)state;
  setting w;
  open_it(&w);
  cpl_component_ops ops = *w.m->base.ops;
  ops.size += 5 * sizeof(void*);
  w.m->base.ops = &ops;
  cpl_stepper* s = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(w.ctx, cpl_integrate(w.m, &solver, &s));
  cpl_stepper_destroy(s);
  close_it(&w);
}

static void check_refused(cpl_context* ctx, cpl_status st, const char* table) {
  CHECK_INT(st, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), table);
  CHECK_CONTAINS(cpl_context_error(ctx), "has size");
}

static void zeroed_tables_are_refused(void** state) {
  (void)state;
  static const cpl_component_ops no_component;
  static const cpl_model_ops no_model;
  static const cpl_stepper_ops no_stepper;
  static const cpl_source_ops no_source;
  setting w;
  open_it(&w);
  cpl_context* ctx = w.ctx;
  cpl_stepper* s = NULL;
  cpl_model* m = NULL;
  cpl_source* source = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  const cpl_setup setup = cpl_default_setup();
  const cpl_model proper = *w.m;
  w.m->base.ops = &no_component;
  check_refused(ctx, cpl_component_setup(&w.m->base, &setup), "lag: its cpl_component_ops");
  check_refused(ctx, cpl_integrate(w.m, &solver, &s), "lag: its cpl_component_ops");
  cpl_aggregate_def all = {.size = sizeof all, .name = "all", .parts = &w.m, .n_parts = 1};
  check_refused(ctx, cpl_aggregate(ctx, &all, &m), "lag: its cpl_component_ops");
  w.m->base.ops = proper.base.ops;

  cpl_stepper broken = {.base = proper.base, .ops = &no_stepper};
  cpl_component_ops idle = *proper.base.ops;
  idle.size = 0;  // refused components are not touched
  broken.base.ops = &idle;
  cpl_master_part part = {.stepper = &broken};
  cpl_master_def master = cpl_default_master_def();
  master.name = "m", master.parts = &part, master.n_parts = 1;
  check_refused(ctx, cpl_master(ctx, &master, &s), "lag: its cpl_component_ops");
  cpl_mode mode = {.name = "one", .stepper = &broken};
  cpl_modes_def modes = cpl_default_modes_def();
  modes.modes = &mode, modes.n_modes = 1;
  check_refused(ctx, cpl_modes(ctx, &modes, &s), "lag: its cpl_component_ops");
  broken.base.ops = proper.base.ops;
  cpl_run_def run = cpl_default_run_def();
  check_refused(ctx, cpl_run(&broken, &run, NULL), "lag: its cpl_stepper_ops");

  cpl_source nothing = {.ops = &no_source, .desc = proper.base.desc, .ctx = ctx, .path = "here"};
  check_refused(ctx, cpl_isolate(&nothing, NULL, &source), "here: its cpl_source_ops");
  w.m->ops = &no_model;
  check_refused(ctx, cpl_integrate(w.m, &solver, &s), "lag: its cpl_model_ops");  // destroys it
  CHECK(s == NULL && m == NULL && source == NULL);
  close_it(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(older_tables_serve), cmocka_unit_test(an_older_table_in_a_table),
      cmocka_unit_test(newer_tables_serve), cmocka_unit_test(zeroed_tables_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
