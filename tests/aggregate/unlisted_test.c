// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Jacobians with rows that no structure lists: states that are no outputs.
#include "couplet/jacobian.h"
#include "models.h"

enum { N = 40 };

static int rods_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < N; i++) dx[i] = -(i + 1) * v->x[i];
  return CPL_MODEL_OK;
}
static int asked;  // directional derivatives of outputs and derivatives only
static int rods_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  (void)v, (void)d_u, (void)d_y;
  asked++;
  for (int i = 0; i < N; i++) d_dx[i] = -(i + 1) * d_x[i];
  return CPL_MODEL_OK;
}
static const cpl_declaration rods_states[] = {{"x", .start = 2, .size = N}, END_OF_LIST};
static cpl_model_def rods_model = {
    .name = "rods", .states = rods_states, .derivatives = rods_derivatives};

// Rows: all derivatives, and two states by themselves, which are not outputs.
static void check_rows(cpl_context* ctx, bool directional) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  rods_model.directional = directional ? rods_directional : NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &rods_model, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &(cpl_setup){0}));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
  const cpl_description* d = m->base.desc;
  int32_t rows[N + 2];
  for (int i = 0; i < N; i++) rows[i] = d->derivatives[i];
  rows[N] = d->states[7], rows[N + 1] = d->states[0];
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = rows, def.n_rows = N + 2;
  def.columns = d->states, def.n_columns = N;
  cpl_jacobian* j = NULL;
  CHECK_OK(ctx, cpl_jacobian_create(m, &def, &j));
  CHECK(cpl_jacobian_cost(j) <= 2);
  double x[N], out[N * (N + 2)];
  CHECK_OK(ctx, m->ops->get_states(m, x));
  CHECK_OK(ctx, cpl_jacobian_evaluate(j, x, out));
  for (int c = 0; c < N; c++) {
    for (int r = 0; r < N + 2; r++) {
      double expected = r == c ? -(c + 1) : r == N ? c == 7 : r == N + 1 ? c == 0 : 0;
      CHECK_NEAR(out[c * (N + 2) + r], expected, 1e-6);
    }
  }
  CHECK_INT(asked, directional ? 1 : 0);
  cpl_jacobian_destroy(j);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

static void a_state_that_is_no_output_has_one_entry(void** state) {
  asked = 0;
  check_rows(*state, false);
  check_rows(*state, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_state_that_is_no_output_has_one_entry),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
