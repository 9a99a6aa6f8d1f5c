// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "models.h"

// Two states, two inputs, two outputs, all blocks full of something to differentiate:
// x1' = x2 u1, x2' = -sin(x1) + u2^2, y1 = x1 x2 + u1, y2 = exp(-x2)
static int full_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1] * v->u[0];
  dx[1] = -sin(v->x[0]) + v->u[1] * v->u[1];
  return CPL_MODEL_OK;
}
static int full_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] * v->x[1] + v->u[0];
  y[1] = exp(-v->x[1]);
  return CPL_MODEL_OK;
}
static int full_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  if (d_dx != NULL) {
    d_dx[0] = d_x[1] * v->u[0] + v->x[1] * d_u[0];
    d_dx[1] = -cos(v->x[0]) * d_x[0] + 2 * v->u[1] * d_u[1];
  }
  if (d_y != NULL) {
    d_y[0] = d_x[0] * v->x[1] + v->x[0] * d_x[1] + d_u[0];
    d_y[1] = -exp(-v->x[1]) * d_x[1];
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration full_states[] = {
    {"x1", .start = 0.7}, {"x2", .start = -1.3}, END_OF_LIST};
static const cpl_declaration full_inputs[] = {{"u1", .start = 2}, {"u2", .start = 3}, END_OF_LIST};
static const cpl_declaration full_output_list[] = {{.name = "y1"}, {.name = "y2"}, END_OF_LIST};
static const cpl_model_def full_model = {.name = "full",
                                         .states = full_states,
                                         .inputs = full_inputs,
                                         .outputs = full_output_list,
                                         .derivatives = full_derivatives,
                                         .output_values = full_outputs};

static const double x[] = {0.7, -1.3};

typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_model* m;
} fixture;

static fixture set_up(const cpl_model_def* def) {
  fixture f = {.ctx = test_context()};
  CHECK_OK(f.ctx, cpl_c_define(f.ctx, def, &f.source));
  CHECK_OK(f.ctx, f.source->ops->make_model(f.source, "m", &f.m));
  cpl_component* c = &f.m->base;
  CHECK_OK(f.ctx, c->ops->setup(c, &(cpl_setup){0}));
  CHECK_OK(f.ctx, c->ops->enter_init(c));
  CHECK_OK(f.ctx, c->ops->exit_init(c));
  CHECK_OK(f.ctx, f.m->ops->enter_continuous(f.m));
  return f;
}

static void tear_down(fixture* f) {
  f->m->base.ops->destroy(&f->m->base);
  f->source->ops->destroy(f->source);
  cpl_context_destroy(f->ctx);
}

static void check_blocks(const cpl_model_def* def, double tolerance) {
  const double exact[4][4] = {
      // columns one after the other
      {0, -cos(0.7), 2, 0},
      {-1.3, 0, 0, 6},
      {-1.3, 0, 0.7, -exp(1.3)},
      {1, 0, 0, 0},
  };
  fixture f = set_up(def);
  for (int k = 0; k < 4; k++) {
    cpl_jacobian* j;
    double got[4];
    CHECK_OK(f.ctx, cpl_state_space(f.m, (cpl_state_space_block)k, &j));
    CHECK_OK(f.ctx, cpl_jacobian_evaluate(j, x, got));
    for (int i = 0; i < 4; i++) CHECK_NEAR(got[i], exact[k][i], tolerance);
    cpl_jacobian_destroy(j);
  }
  tear_down(&f);
}

static void blocks_by_differences(void** state) {
  (void)state;
  check_blocks(&full_model, 1e-9);
}

static void blocks_by_directional_derivatives(void** state) {
  (void)state;
  cpl_model_def def = full_model;
  def.directional = full_directional;
  check_blocks(&def, 1e-15);
}

static void the_model_is_where_it_was(void** state) {
  (void)state;
  fixture f = set_up(&full_model);
  cpl_jacobian* j;
  double got[4], before[2], after[2];
  CHECK_OK(f.ctx, f.m->ops->get_derivatives(f.m, before));
  for (cpl_state_space_block block = CPL_STATE_SPACE_A; block <= CPL_STATE_SPACE_D; block++) {
    CHECK_OK(f.ctx, cpl_state_space(f.m, block, &j));
    CHECK_OK(f.ctx, cpl_jacobian_evaluate(j, x, got));
    cpl_jacobian_destroy(j);
  }
  CHECK_OK(f.ctx, f.m->ops->get_derivatives(f.m, after));
  CHECK(memcmp(before, after, sizeof before) == 0);
  tear_down(&f);
}

static void chosen_rows_and_columns(void** state) {
  (void)state;
  fixture f = set_up(&full_model);
  const int32_t rows[] = {cpl_find_variable(f.source->desc, "der(x2)"),
                          cpl_find_variable(f.source->desc, "y1")};
  const int32_t columns[] = {cpl_find_variable(f.source->desc, "u2"),
                             cpl_find_variable(f.source->desc, "x1"),
                             cpl_find_variable(f.source->desc, "u1")};
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = rows;
  def.n_rows = 2;
  def.columns = columns;
  def.n_columns = 3;
  cpl_jacobian* j;
  double got[6];
  CHECK_OK(f.ctx, cpl_jacobian_create(f.m, &def, &j));
  CHECK_OK(f.ctx, cpl_jacobian_evaluate(j, x, got));
  const double exact[] = {6, 0, -cos(0.7), -1.3, 0, 1};
  for (int i = 0; i < 6; i++) CHECK_NEAR(got[i], exact[i], 1e-6);
  cpl_jacobian_destroy(j);
  const int32_t wrong[] = {cpl_find_variable(f.source->desc, "y2")};
  def.columns = wrong;
  def.n_columns = 1;
  CHECK_INT(cpl_jacobian_create(f.m, &def, &j), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "y2 is neither a state nor a Real input");
  tear_down(&f);
}

// A chain: every state sees its neighbours, so three colours do for any length.
enum { LINKS = 60 };
static int chain_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < LINKS; i++) {
    double left = i > 0 ? v->x[i - 1] : 0, right = i + 1 < LINKS ? v->x[i + 1] : 0;
    dx[i] = left - 2 * v->x[i] + right * right;
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration chain_states[] = {{"x", .start = 0.5, .size = LINKS}, END_OF_LIST};
static const cpl_model_def chain_model = {
    .name = "chain", .states = chain_states, .derivatives = chain_derivatives};

static void columns_that_share_no_row_are_evaluated_together(void** state) {
  (void)state;
  fixture f = set_up(&chain_model);
  cpl_jacobian* j;
  static double got[LINKS * LINKS], at[LINKS];
  for (int i = 0; i < LINKS; i++) at[i] = 0.5;
  CHECK_OK(f.ctx, cpl_state_space(f.m, CPL_STATE_SPACE_A, &j));
  CHECK_INT(cpl_jacobian_cost(j), 6);  // three colours, both sides
  CHECK_OK(f.ctx, cpl_jacobian_evaluate(j, at, got));
  for (int c = 0; c < LINKS; c++) {
    for (int r = 0; r < LINKS; r++) {
      double exact = r == c ? -2 : r == c + 1 ? 1 : r + 1 == c ? 2 * 0.5 : 0;
      CHECK_NEAR(got[c * LINKS + r], exact, 1e-9);
    }
  }
  cpl_jacobian_destroy(j);
  tear_down(&f);
}

static void lists_of_variables(void** state) {
  (void)state;
  fixture f = set_up(&full_model);
  int32_t list[4];
  CHECK_INT(cpl_list_variables(f.source->desc, CPL_VARIABLES_STATES, list, 4), 2);
  CHECK_STR(f.source->desc->vars[list[1]].name, "x2");
  CHECK_INT(cpl_list_variables(f.source->desc, CPL_VARIABLES_DERIVATIVES, list, 4), 2);
  CHECK_STR(f.source->desc->vars[list[0]].name, "der(x1)");
  CHECK_INT(cpl_list_variables(f.source->desc, CPL_VARIABLES_INPUTS, list, 1),
            2);  // writes no more than there is room for
  CHECK_STR(f.source->desc->vars[list[0]].name, "u1");
  CHECK_INT(cpl_list_variables(f.source->desc, CPL_VARIABLES_OUTPUTS, NULL, 0), 2);
  tear_down(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_by_differences),
      cmocka_unit_test(blocks_by_directional_derivatives),
      cmocka_unit_test(the_model_is_where_it_was),
      cmocka_unit_test(chosen_rows_and_columns),
      cmocka_unit_test(columns_that_share_no_row_are_evaluated_together),
      cmocka_unit_test(lists_of_variables),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
