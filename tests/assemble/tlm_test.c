// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is wrong in the sections `interfaces:` and `tlm:` is said with its place; what is right is
// built, and nothing is left behind whatever allocation fails.
#include "couplet/component.h"
#include "testing.h"

static const char head[] =
    "couplet: 1\n"
    "models:\n"
    "  left: {c: %s/examples/tlm_spring/mass.c, start: {v: 1, F: 2}}\n"
    "  right: {c: %s/examples/tlm_spring/mass.c}\n";

static void write_system(const char* rest) {
  FILE* f = fopen("system.yaml", "w");
  assert_non_null(f);
  const char* from = getenv("COUPLET_SOURCE_DIR");
  fprintf(f, head, from, from);
  fputs(rest, f);
  fclose(f);
}

#define ENDS                                                \
  "interfaces:\n"                                           \
  "  left.end: {kind: translational, speed: v, force: F}\n" \
  "  right.end: {kind: translational, speed: v, force: F}\n"
#define LINE "tlm:\n  - {from: left.end, to: right.end, delay: 1e-3, Zf: 1}\n"

static void faults_are_told_with_their_place(void** state) {
  (void)state;
  static const struct {
    const char *rest, *message;
  } faults[] = {
      {"interfaces:\n  left.end: {speed: v}\n",
       "system.yaml:6:3: the interface left.end needs a kind"},
      {"interfaces:\n  left.end: {kind: linear, sped: v}\n", "system.yaml:6:28: unknown key sped"},
      {"interfaces:\n  left.end: {kind: linear}\n" LINE,
       "system.yaml:6:20: kind: linear is not known"},
      {"interfaces:\n  left.end: {kind: signal}\n  left.end2: 3\n", "left.end2"},
      {"interfaces:\n  middle.end: {kind: signal}\n" LINE, "there is no model middle"},
      {ENDS "tlm:\n  - {from: left.end, to: right.end}\n", "system.yaml:9:5: a line needs"},
      {ENDS "tlm:\n  - {from: left.end, to: right.endd, delay: 1, Zf: 1}\n",
       "there is no interface right.endd"},
      {ENDS "tlm:\n  - {from: left.end, to: right.end, delay: 0, Zf: 1}\n",
       "the line from left.end to right.end: its delay must be positive"},
      {ENDS "tlm:\n  - {from: left.end, to: right.end, delay: 1, Zf: 1, alpha: 1}\n", "alpha"},
      {ENDS "tlm:\n  - {from: left.end, to: left.end, delay: 1, Zf: 1}\n", "the same interface"},
      {ENDS "tlm:\n  - {from: left.end, to: right.end, delay: nonsense, Zf: 1}\n", "nonsense"},
      {ENDS "  left: {solver: fast}\n" LINE, "solver: fast is not known"},
      {ENDS "  left: {hold: firmly}\n" LINE, "hold: firmly is not known"},
      {ENDS "  left: {substeps: 1.5}\n" LINE, "substeps: 1.5 is not a positive integer"},
      {ENDS "  left: {origin: [1, 2]}\n" LINE, "origin has three numbers"},
      {"interfaces:\n  left.end: {kind: translational, speed: v, force: x}\n"
       "  right.end: {kind: translational, speed: v, force: F}\n" LINE,
       "x is not an input of the model"},
      {"interfaces:\n  left.end: {kind: translational, speed: vv, force: F}\n"
       "  right.end: {kind: translational, speed: v, force: F}\n" LINE,
       "system.yaml:6:42: left.end: "},
      {"interfaces:\n  left.end: {kind: signal, value: v}\n"
       "  right.end: {kind: translational, speed: v, force: F}\n" LINE,
       "different kinds"},
      {ENDS "  left.other: {kind: translational, speed: v, force: F}\n" LINE
            "  - {from: left.end, to: left.other, delay: 1, Zf: 1}\n",
       "twice"},
      {"interfaces:\n  left.end: {kind: 3d, speed: [v, v], force: F}\n" LINE,
       "3 variables are needed here, not 2"},
      {ENDS LINE "connections:\n  left.F: 2*right.x\n", "twice"},
  };
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    cpl_context* ctx = test_context();
    cpl_source* source = NULL;
    write_system(faults[i].rest);
    cpl_status st = cpl_system_open(ctx, "system.yaml", &source);
    if (st >= 0 && source->ops->make_stepper != NULL) {
      cpl_stepper* s = NULL;
      st = source->ops->make_stepper(source, "x", &s);
      if (s != NULL) s->base.ops->destroy(&s->base);
    }
    if (st >= 0) fail_msg("no error, but: %s", faults[i].message);
    CHECK_CONTAINS(cpl_context_error(ctx), faults[i].message);
    if (source != NULL) source->ops->destroy(source);
    cpl_context_destroy(ctx);
  }
}

static double value(cpl_context* ctx, cpl_stepper* s, const char* name) {
  int32_t var;
  double v;
  CHECK_OK(ctx, cpl_require_variable(ctx, s->base.desc, name, &var));
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, &s->base.desc->vars[var].ref, 1, &v));
  return v;
}

// The start value of a force is what the line begins with: nothing jumps.
static void lines_begin_with_the_force_of_the_file(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_source* source = NULL;
  cpl_stepper* s = NULL;
  cpl_step_result r;
  cpl_setup setup = {.has_stop_time = true, .stop_time = 1};
  write_system(ENDS LINE);
  CHECK_OK(ctx, cpl_system_open(ctx, "system.yaml", &source));
  CHECK_INT(cpl_system_line_count(source), 1);
  CHECK_OK(ctx, source->ops->make_stepper(source, "x", &s));
  cpl_inspection in;
  CHECK_OK(ctx, cpl_component_inspect(&s->base, 0, &in));
  CHECK_STR(in.name, "left");
  CHECK_OK(ctx, cpl_component_inspect(&s->base, 1, &in));
  CHECK_STR(in.name, "right");
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_NEAR(value(ctx, s, "left.F"), 2, 1e-14);
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  CHECK_NEAR(value(ctx, s, "left.F"), 2, 1e-14);
  CHECK_OK(ctx, s->ops->step(s, 1e-5, 1e-5, &r));
  CHECK_NEAR(value(ctx, s, "left.F"), 2, 0.05);
  CHECK_OK(ctx, s->ops->step(s, 1, 1, &r));
  CHECK_OK(ctx, cpl_component_inspect(&s->base, 0, &in));
  CHECK_INT(cpl_inspection_counter(&in, "pieces"), 2000);
  CHECK(cpl_inspection_counter(&in, "longest_step") == 0.5e-3);
  // a second life is the same
  double before = value(ctx, s, "left.v"), after;
  CHECK_OK(ctx, s->base.ops->terminate(&s->base));
  CHECK_OK(ctx, s->base.ops->reset(&s->base));
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  CHECK_OK(ctx, s->ops->step(s, 1, 1, &r));
  after = value(ctx, s, "left.v");
  CHECK(fabs(before) <= 1 && isfinite(after));
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
  cpl_context_destroy(ctx);
}

static cpl_status build_and_step(test_heap* heap) {
  cpl_context_def def = cpl_default_context_def();
  def.realloc = heap_realloc;
  def.user = heap;
  cpl_context* ctx = cpl_context_create(&def);
  if (ctx == NULL) return CPL_ERR_NOMEM;
  cpl_source* source = NULL;
  cpl_stepper* s = NULL;
  cpl_step_result r;
  cpl_setup setup = {.has_stop_time = true, .stop_time = 0.01};
  cpl_status st = cpl_system_open(ctx, "system.yaml", &source);
  if (st >= 0) st = source->ops->make_stepper(source, "x", &s);
  if (st >= 0) st = s->base.ops->setup(&s->base, &setup);
  if (st >= 0) st = s->base.ops->enter_init(&s->base);
  if (st >= 0) st = s->base.ops->exit_init(&s->base);
  if (st >= 0) st = s->ops->step(s, 0.01, 0.01, &r);
  if (s != NULL) s->base.ops->destroy(&s->base);
  if (source != NULL) source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return st;
}

static void check_allocations(long stride) {
  for (long n = 0;; n += n < 100 ? 1 : stride) {
    test_heap heap = {.fail_at = n};
    cpl_status st = build_and_step(&heap);
    if (heap.live != 0) fail_msg("allocation %ld: %ld blocks are left", n, heap.live);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  write_system(ENDS
               "  left: {solver: rk4}\n"
               "tlm:\n  - {from: left.end, to: right.end, delay: 1e-3, Zf: 1, alpha: 0.1}\n");
  check_allocations(3);
  // a model and a co-simulation model as one part
  FILE* f = fopen("system.yaml", "w");
  assert_non_null(f);
  const char* from = getenv("COUPLET_SOURCE_DIR");
  fprintf(f, head, from, from);
  fprintf(f, "  third: {c: %s/examples/tlm_spring/mass.c, as: cs}\n", from);
  fputs(ENDS LINE "connections: {third.F: '-left.x - third.v'}\n", f);
  fclose(f);
  check_allocations(17);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(faults_are_told_with_their_place),
    cmocka_unit_test(lines_begin_with_the_force_of_the_file),
    cmocka_unit_test(every_failed_allocation_is_survived),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
