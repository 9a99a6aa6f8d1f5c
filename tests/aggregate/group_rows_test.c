// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rows at the events of one group have values of the others, too: between the ends of their steps,
// and as accurate as everything else.
#include "aggregate/pair.h"

static const double W = 2.3;  // angular frequency

// c = cos(W t), s = sin(W t)
static int turn(const cpl_values* v, double* dx) {
  dx[0] = -W * v->x[1];
  dx[1] = W * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration turn_states[] = {
    {"c", .start = 1, .output = true}, {"s", .output = true}, END_OF_LIST};
static const cpl_model_def turn_model = {
    .name = "turn", .states = turn_states, .derivatives = turn};

static cpl_model* build(cpl_context* ctx, bench* b) {
  static const cpl_model_def* const models[] = {&turn_model, &ball_model};
  static const char* const names[] = {"turn", "ball"};
  begin_pair(ctx, b, names, models);
  CHECK_OK(ctx, cpl_system_def_set(b->def, "ball.e", "1"));
  return build_pair(ctx, b);
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                        CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_ESDIRK5,
                                        CPL_SOLVER_IDA};

// The largest errors of rows: [0] at output points, [1] beside them.
static void worst_rows(cpl_context* ctx, cpl_solver_kind kind, double rtol, double worst[2]) {
  static const char* const record[] = {"turn.c", "turn.s"};
  bench b = {0};
  size_t n[2] = {0};
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = kind;
  solver.rtol = solver.atol = rtol;
  recording* r = recording_by(ctx, build(ctx, &b), 6, &solver, record, 2);
  r->run.interval = 1;
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_INT(r->stats.solver.groups, 2);
  worst[0] = worst[1] = 0;
  for (size_t i = 0; i < r->n; i++) {
    bool beside = fmod(r->t[i], 1) != 0;
    double x = r->value[i][0] - cos(W * r->t[i]), y = r->value[i][1] - sin(W * r->t[i]);
    worst[beside] = fmax(worst[beside], hypot(x, y));
    n[beside]++;
  }
  CHECK_INT(n[0], 7);
  CHECK(n[1] > 10);
  drop_run(r);
  drop(&b);
}

static void rows_at_events_of_others_are_as_accurate_as_others(void** state) {
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    for (double rtol = 1e-4; rtol > 1e-11; rtol *= 1e-3) {
      double worst[2];
      worst_rows(*state, kinds[k], rtol, worst);
      CHECK(worst[0] < 1000 * rtol);
      if (worst[1] > 2 * worst[0] + 10 * rtol)
        fail_msg("%s, rtol %g: a row is off by %g, others by %g", cpl_solver_name(kinds[k]), rtol,
                 worst[1], worst[0]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_at_events_of_others_are_as_accurate_as_others),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
