// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Going back changes no bit.
#include <math.h>

#include "base/base.h"
#include "lines.h"

//------------------------------------ a mass that is pushed ------------------------------------

// From t = 0.01 on, every 7 ms, its speed is turned around when it is faster than 0.2.
static int turn_event(const cpl_values* v, cpl_event_actions* a) {
  if (!a->time_event) return CPL_MODEL_OK;
  a->next_time = v->t + 0.007;
  if (fabs(v->x[1]) > 0.2) a->x[1] = -v->x[1];
  return CPL_MODEL_OK;
}
static int turn_begin(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 0.01;
  return CPL_MODEL_OK;
}
static int turn_indicators(const cpl_values* v, double* z) {
  z[0] = v->x[0] - 0.004;
  return CPL_MODEL_OK;
}
static const cpl_model_def turning_model = {.name = "turning",
                                            .states = mass_states,
                                            .inputs = mass_inputs,
                                            .parameters = mass_parameters,
                                            .derivatives = mass_derivatives,
                                            .indicators = turn_indicators,
                                            .n_indicators = 1,
                                            .initialize = turn_begin,
                                            .event = turn_event};

// Three masses in a row; the one in the middle is a stepper.
static bench three_masses(cpl_solver_kind kind, bool restarts, bool processes) {
  bench b = bench_make();
  static const char* const names[] = {"a", "b", "c"};
  int32_t parts[3], ends[4];
  for (int i = 0; i < 3; i++) {
    cpl_model* m = bench_model(&b, i == 0 ? &turning_model : &mass_model, names[i]);
    if (i == 0) bench_start(b.ctx, &m->base, "v", 1);
    cpl_tlm_part* p = &b.parts[b.def.n_parts];
    p->solver = cpl_default_solver_def();
    p->solver.kind = i == 1 ? CPL_SOLVER_RK4 : kind;
    p->solver.step = i == 1 ? 1 : 0;
    p->solver.restart_each_step = restarts;
    if (i == 1) CHECK_OK(b.ctx, cpl_integrate(m, &p->solver, &p->stepper));
    else p->model = m;
    parts[i] = b.def.n_parts++;
  }
  ends[0] = bench_interface(&b, parts[0], "a.right", CPL_TLM_TRANSLATIONAL, "v", "F");
  ends[1] = bench_interface(&b, parts[1], "b.left", CPL_TLM_TRANSLATIONAL, "v", "F");
  ends[2] = bench_interface(&b, parts[0], "a.v", CPL_TLM_SIGNAL, "v", NULL);
  ends[3] = bench_interface(&b, parts[2], "c.F", CPL_TLM_SIGNAL, NULL, "F");
  bench_line(&b, ends[0], ends[1], 1e-3, 1, 0.1);
  bench_line(&b, ends[2], ends[3], 2.3e-3, 0, 0);
  b.def.processes = processes;
  return b;
}

enum { STEPS = 60, VALUES = 6 };
typedef struct trace {
  double v[STEPS][VALUES];
} trace;

static void note(bench* b, double* out) {
  static const char* const names[] = {"a.x", "a.v", "b.x", "b.v", "c.x", "c.v"};
  for (int i = 0; i < VALUES; i++) out[i] = bench_value(b, names[i]);
}

// Inside pieces, at their ends and over several of them.
static double time_of(int step) { return 0.00037 * step + (step % 7 == 0 ? 1e-4 : 0); }

static trace plain_run(bench* b) {
  trace t;
  bench_begin(b, 1);
  for (int i = 0; i < STEPS; i++) {
    bench_step(b, time_of(i + 1));
    note(b, t.v[i]);
  }
  bench_end(b);
  return t;
}

// Every few steps it goes ahead by some, back, and ahead by others before it goes back again.
static trace run_with_ways_back(bench* b) {
  trace t;
  cpl_component* c;
  cpl_snapshot one = {0}, other = {0};
  bench_begin(b, 1);
  c = &b->s->base;
  for (int i = 0; i < STEPS; i++) {
    double before[VALUES], after[VALUES];
    note(b, before);
    CHECK_OK(b->ctx, c->ops->save(c, &one));
    for (int k = 1; k < 1 + i % 9; k++) bench_step(b, time_of(i) + k * 0.0011);
    CHECK_OK(b->ctx, c->ops->save(c, &other));
    CHECK_OK(b->ctx, c->ops->restore(c, &one));
    note(b, after);
    assert_memory_equal(before, after, sizeof before);
    if (i % 3 == 0) {
      CHECK_OK(b->ctx, c->ops->restore(c, &other));
      bench_step(b, time_of(i) + 0.015);
      CHECK_OK(b->ctx, c->ops->restore(c, &one));
    }
    bench_step(b, time_of(i + 1));
    note(b, t.v[i]);
  }
  c->ops->forget(c, &one);
  c->ops->forget(c, &other);
  bench_end(b);
  return t;
}

static void going_back_changes_no_bit(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_RK4, CPL_SOLVER_DOPRI5,
                                          CPL_SOLVER_RADAU};
  for (size_t i = 0; i < 2 * CPLI_COUNT(kinds); i++) {
    bool processes = i % 2 == 1;  // also with each part in a process of its own
    bench b = three_masses(kinds[i / 2], true, processes);
    trace plain = plain_run(&b);
    b = three_masses(kinds[i / 2], true, processes);
    trace back = run_with_ways_back(&b);
    assert_memory_equal(&plain, &back, sizeof plain);
    CHECK(plain.v[STEPS - 1][4] != 0);
  }
}

// A solver that remembers cannot go back.
static void who_cannot_says_so(void** state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    bench b = three_masses(CPL_SOLVER_CVODE, false, i == 1);
    bench_couple(&b);
    CHECK(!b.s->base.can.save_restore && b.s->base.ops->save == NULL);
    bench_end(&b);
  }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(going_back_changes_no_bit),
    cmocka_unit_test(who_cannot_says_so),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
