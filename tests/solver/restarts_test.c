// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Steppers that begin anew at every step: the error follows the tolerance however short the steps
// are, and a step that is taken back changes no bit.
#include "models.h"

static const double W = 3, STOP = 2;  // angular frequency, end of the run

// x'' = -W^2 x: errors neither grow nor fade, they add up.
static int turn(const cpl_values* v, double* dx) {
  dx[0] = W * v->x[1];
  dx[1] = -W * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration turn_states[] = {{"c", .start = 1}, {"s"}, END_OF_LIST};
static const cpl_model_def turn_model = {
    .name = "turn", .states = turn_states, .derivatives = turn};

static cpl_stepper* begin(cpl_context* ctx, cpl_solver_kind kind, double rtol,
                          cpl_source** source) {
  cpl_model* m;
  cpl_stepper* s;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = kind;
  def.rtol = rtol;
  def.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, &turn_model, source));
  CHECK_OK(ctx, (*source)->ops->make_model(*source, "turn", &m));
  CHECK_OK(ctx, cpl_integrate(m, &def, &s));
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &(cpl_setup){0}));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  return s;
}

static void end(cpl_stepper* s, cpl_source* source) {
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
}

static void advance(cpl_context* ctx, cpl_stepper* s, double t) {
  cpl_step_result result;
  CHECK_OK(ctx, s->ops->step(s, t, t, &result));
  CHECK_NEAR(result.time, t, 0);
}

static void read_both(cpl_context* ctx, cpl_stepper* s, double* x) {
  const cpl_description* d = s->base.desc;
  uint32_t refs[] = {d->vars[cpl_find_variable(d, "c")].ref,
                     d->vars[cpl_find_variable(d, "s")].ref};
  CHECK_OK(ctx, s->base.ops->get_real(&s->base, refs, 2, x));
}

static double error_at_end(cpl_context* ctx, cpl_solver_kind kind, double rtol, int steps) {
  cpl_source* source;
  cpl_stepper* s = begin(ctx, kind, rtol, &source);
  double x[2];
  for (int k = 1; k <= steps; k++) advance(ctx, s, STOP * k / steps);
  read_both(ctx, s, x);
  end(s, source);
  return hypot(x[0] - cos(W * STOP), x[1] + sin(W * STOP));
}

static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE, CPL_SOLVER_ADAMS, CPL_SOLVER_IDA};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

static void short_steps_are_no_worse_than_long_ones(void** state) {
  cpl_context* ctx = *state;
  for (int i = 0; i < N_KINDS; i++) {
    for (double rtol = 1e-4; rtol > 1e-9; rtol *= 1e-2) {
      for (int steps = 7; steps < 20000; steps *= 7) {
        double error = error_at_end(ctx, kinds[i], rtol, steps);
        if (!(error < rtol))
          fail_msg("%s, rtol %g, %d steps: %g", cpl_solver_name(kinds[i]), rtol, steps, error);
      }
    }
  }
}

static void taking_steps_back_changes_no_bit(void** state) {
  cpl_context* ctx = *state;
  for (int i = 0; i < N_KINDS; i++) {
    cpl_source *one, *two;
    cpl_stepper* plain = begin(ctx, kinds[i], 1e-7, &one);
    cpl_stepper* rolled = begin(ctx, kinds[i], 1e-7, &two);
    cpl_snapshot snapshot = {0};
    for (int k = 1; k <= 40; k++) {
      double a[2], b[2], h = k % 3 == 0 ? 0.11 : 0.003;
      double t = 0.05 * k;
      advance(ctx, plain, t);
      CHECK_OK(ctx, rolled->base.ops->save(&rolled->base, &snapshot));
      advance(ctx, rolled, t - 0.05 + h);
      CHECK_OK(ctx, rolled->base.ops->restore(&rolled->base, &snapshot));
      advance(ctx, rolled, t);
      read_both(ctx, plain, a);
      read_both(ctx, rolled, b);
      CHECK(memcmp(a, b, sizeof a) == 0);
    }
    rolled->base.ops->forget(&rolled->base, &snapshot);
    end(plain, one);
    end(rolled, two);
  }
}

static int set_up(void** state) {
  *state = test_context();
  return *state == NULL;
}
static int tear_down(void** state) {
  cpl_context_destroy(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(short_steps_are_no_worse_than_long_ones, set_up, tear_down),
      cmocka_unit_test_setup_teardown(taking_steps_back_changes_no_bit, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
