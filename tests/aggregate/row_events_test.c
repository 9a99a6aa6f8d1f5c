// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Events that the unknown of a loop shows, where loops are rows of IDA's system: they are where the
// solution of the loop has them, however coarse the tolerance is, and happen once.
#include "aggregate/pair.h"

// y = u between the limits, w = -1, 0, 1 says where it is.
static int limit_output(const cpl_values* v, double* y) {
  y[0] = v->w[0] < 0 ? v->p[0] : v->w[0] > 0 ? v->p[1] : v->u[0];
  return CPL_MODEL_OK;
}
static int limit_indicators(const cpl_values* v, double* z) {
  for (int i = 0; i < 2; i++) z[i] = v->u[0] - v->p[i];
  return CPL_MODEL_OK;
}
static int limit_event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] = v->u[0] <= v->p[0] ? -1 : v->u[0] > v->p[1] ? 1 : 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration limit_inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration limit_outputs[] = {{"y"}, END_OF_LIST};
static const cpl_declaration limit_parameters[] = {
    {"low", .start = -0.31}, {"high", .start = 0.44}, END_OF_LIST};
static const cpl_declaration limit_discrete[] = {{"side", .output = true}, END_OF_LIST};
static const cpl_model_def limit_model = {.name = "limit",
                                          .inputs = limit_inputs,
                                          .outputs = limit_outputs,
                                          .parameters = limit_parameters,
                                          .discrete = limit_discrete,
                                          .n_indicators = 2,
                                          .output_values = limit_output,
                                          .indicators = limit_indicators,
                                          .event = limit_event};

// u = 0.9 sin(1.7 t) - 0.3 y, y = limited u: at a limit L, 0.9 sin(1.7 t) = 1.3 L.
static cpl_model* build(cpl_context* ctx, bench* b) {
  static const cpl_model_def* const models[] = {&limit_model, &decay_model};
  static const char* const names[] = {"limit", "decay"};
  begin_pair(ctx, b, names, models);
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "limit.u", "0.9*sin(1.7*time) - 0.3*limit.y"));
  return build_pair(ctx, b);
}

// When it enters and leaves the limits for the first time.
static void events_are_where_the_loop_has_them(void** state) {
  static const char* const record[] = {"limit.side"};
  static const double pi = 3.14159265358979323846;
  cpl_context* ctx = *state;
  double high = asin(1.3 * 0.44 / 0.9), low = asin(1.3 * 0.31 / 0.9);
  double exact[] = {high / 1.7, (pi - high) / 1.7, (pi + low) / 1.7, (2 * pi - low) / 1.7};
  for (double rtol = 1e-3; rtol > 1e-9; rtol *= 1e-2) {
    bench b = {0};
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = CPL_SOLVER_IDA;
    solver.form = CPL_FORM_DAE;
    solver.one_solver = true;
    solver.rtol = solver.atol = rtol;
    recording* r = recording_by(ctx, build(ctx, &b), 3.69, &solver, record, 1);
    r->run.interval = 0.41;
    CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
    CHECK_INT(r->stats.solver.algebraics, 1);
    CHECK_INT(r->stats.solver.state_events, 4);
    int n = 0;
    for (size_t i = 1; i < r->n; i++) {
      if (r->value[i][0] == r->value[i - 1][0]) continue;
      CHECK(n < 4);
      CHECK_NEAR(r->t[i], exact[n], 1e-9);
      n++;
    }
    CHECK_INT(n, 4);
    drop_run(r);
    drop(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(events_are_where_the_loop_has_them)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
