// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Derivatives in a direction: the product of the Jacobian with a vector, GMRES on top of it, and
// which directional derivatives are asked for when a model says that some are constant.
#include "aggregate/aggregate.h"
#include "models.h"

static cpl_context* ctx;
static int asked;            // calls of directional
static char warnings[2000];  // of the log
static double ramp;          // of the feed-through below; where it comes to 1 the loop is singular

//------------------------------------ models ------------------------------------

// Two states, two inputs, two outputs with feed-through:
//   x1' = x2, x2' = -x1 - 0.1 x2 + sin(u1) + u2, y1 = k u1 + u2^2 / 8 + x1, y2 = u1 / 4 + x2
// with k = 1/4; or, with a ramp, u2 in place of its square, no u in x2', and k = 1/4 + ramp t.
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] - 0.1 * v->x[1] + (ramp == 0 ? sin(v->u[0]) + v->u[1] : 0);
  return CPL_MODEL_OK;
}
static int outputs(const cpl_values* v, double* y) {
  y[0] = (0.25 + ramp * v->t) * v->u[0] + (ramp == 0 ? v->u[1] * v->u[1] / 8 : v->u[1]) + v->x[0];
  y[1] = v->u[0] / 4 + v->x[1];
  return CPL_MODEL_OK;
}
static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  asked++;
  if (d_dx != NULL) {
    d_dx[0] = d_x[1];
    d_dx[1] = -d_x[0] - 0.1 * d_x[1] + (ramp == 0 ? cos(v->u[0]) * d_u[0] + d_u[1] : 0);
  }
  if (d_y != NULL) {
    d_y[0] = (0.25 + ramp * v->t) * d_u[0] + (ramp == 0 ? v->u[1] * d_u[1] / 4 : d_u[1]) + d_x[0];
    d_y[1] = d_u[0] / 4 + d_x[1];
  }
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x1", .start = 1}, {"x2", .start = 0.5}, END_OF_LIST};
static const cpl_declaration inputs[] = {{.name = "u1"}, {.name = "u2"}, END_OF_LIST};
static const cpl_declaration output_list[] = {{.name = "y1"}, {.name = "y2"}, END_OF_LIST};
static const cpl_model_def curved = {.name = "curved",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = output_list,
                                     .derivatives = derivatives,
                                     .output_values = outputs,
                                     .directional = directional};

// x' = -a x + b u with y = x: all of it linear; its word about that is a matter of each test
static double bend;  // makes it nonlinear against its word
static int line_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -2 * v->x[0] + v->u[0] - bend * v->x[0] * v->x[0];
  return CPL_MODEL_OK;
}
static int line_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  return CPL_MODEL_OK;
}
static int line_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  asked++;
  if (d_dx != NULL) d_dx[0] = (-2 - 2 * bend * v->x[0]) * d_x[0] + d_u[0];
  if (d_y != NULL) d_y[0] = d_x[0];
  return CPL_MODEL_OK;
}
// an event in the middle: a time event that changes nothing
static int line_initialize(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 1;
  return CPL_MODEL_OK;
}
static int line_event(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->t < 1.5 ? 2 : INFINITY;
  return CPL_MODEL_OK;
}
static const cpl_declaration line_states[] = {{"x", .start = 1}, END_OF_LIST};
#define LINE(id, said)                                                                         \
  static const cpl_dependency id##_deps[] = {                                                  \
      {.of = "der(x)", .on = "x u", .kind = said}, {.of = "y", .on = "x", .kind = said}, {0}}; \
  static const cpl_model_def id = {.name = #id,                                                \
                                   .states = line_states,                                      \
                                   .inputs = gain_inputs,                                      \
                                   .outputs = gain_output_list,                                \
                                   .initialize = line_initialize,                              \
                                   .event = line_event,                                        \
                                   .derivatives = line_derivatives,                            \
                                   .output_values = line_outputs,                              \
                                   .directional = line_directional,                            \
                                   .dependencies = id##_deps}
LINE(varying, NULL);
LINE(constant, "constant");
LINE(fixed, "fixed");
LINE(tunable, "tunable");

//------------------------------------ help ------------------------------------

typedef struct pair {
  cpl_source* source;
  cpl_model* m;
} pair;

// Two instances of a model, each output to the input of the other.
static pair couple(const cpl_model_def* def, const char* const* in, const char* const* out, int n) {
  pair p = {0};
  cpl_model* parts[2];
  cpl_coupling couplings[4];
  CHECK_OK(ctx, cpl_c_define(ctx, def, &p.source));
  CHECK_OK(ctx, p.source->ops->make_model(p.source, "a", &parts[0]));
  CHECK_OK(ctx, p.source->ops->make_model(p.source, "b", &parts[1]));
  for (int i = 0; i < 2 * n; i++) {
    couplings[i] =
        (cpl_coupling){.target = {i / n, cpl_find_variable(p.source->desc, in[i % n])},
                       .source = {1 - i / n, cpl_find_variable(p.source->desc, out[i % n])}};
  }
  cpl_aggregate_def all = {.size = sizeof all,
                           .name = "pair",
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2 * n};
  CHECK_OK(ctx, cpl_aggregate(ctx, &all, &p.m));
  return p;
}

static pair curved_pair(void) {
  static const char* const in[] = {"u1", "u2"};
  static const char* const out[] = {"y1", "y2"};
  return couple(&curved, in, out, 2);
}

static void start(cpl_model* m) {
  cpl_setup setup = {0};
  cpl_event_info info = {0};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
}

//------------------------------------ products ------------------------------------

static void a_product_is_the_change_of_the_derivatives(void** state) {
  (void)state;
  pair p = curved_pair();
  double x[4] = {1, 0.5, -0.3, 0.7}, moved[4], plus[4], minus[4], product[4];
  const double v[4] = {0.3, -1, 2, 0.5}, h = 1e-5;
  start(p.m);
  assert_non_null(p.m->ops->jacobian_times);
  for (int side = -1; side <= 1; side += 2) {
    for (int i = 0; i < 4; i++) moved[i] = x[i] + side * h * v[i];
    CHECK_OK(ctx, p.m->ops->set_states(p.m, moved));
    CHECK_OK(ctx, p.m->ops->get_derivatives(p.m, side < 0 ? minus : plus));
  }
  CHECK_OK(ctx, p.m->ops->set_states(p.m, x));
  CHECK_OK(ctx, p.m->ops->jacobian_times(p.m, v, product));
  for (int i = 0; i < 4; i++) CHECK_NEAR(product[i], (plus[i] - minus[i]) / (2 * h), 1e-8);
  p.m->base.ops->destroy(&p.m->base);
  p.source->ops->destroy(p.source);
}

// x' = -x^2 / 1e-9 - x with states of 1e-9, whose part cannot tell directions any more.
static int tiny_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] * v->x[0] / 1e-9 - v->x[0];
  return CPL_MODEL_OK;
}
static int no_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                          double* d_y) {
  (void)v, (void)d_x, (void)d_u, (void)d_dx, (void)d_y;
  return CPL_MODEL_ERROR;
}
static cpl_status unsupported(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                              const uint32_t* knowns, size_t n_knowns, const double* seed,
                              double* sensitivity) {
  (void)c, (void)unknowns, (void)n_unknowns, (void)knowns, (void)n_knowns, (void)seed;
  (void)sensitivity;
  return CPL_ERR_UNSUPPORTED;
}
static void differences_in_a_direction_follow_the_size_of_states(void** state) {
  (void)state;
  static const cpl_declaration tiny_states[] = {{"x", .start = 2e-9, .nominal = 1e-9}, END_OF_LIST};
  const cpl_model_def tiny = {.name = "tiny",
                              .states = tiny_states,
                              .derivatives = tiny_derivatives,
                              .directional = no_directional};
  pair p = couple(&tiny, NULL, NULL, 0);
  double x[2] = {2e-9, -3e-9}, v[2] = {0.7, 1.1}, product[2];
  for (int i = 0; i < 2; i++) {
    cpl_component* part = &cpl_aggregate_part(p.m, i)->base;
    static cpl_component_ops ops[2];
    ops[i] = *part->ops;
    ops[i].directional = unsupported;
    part->ops = &ops[i];
  }
  start(p.m);
  CHECK_OK(ctx, p.m->ops->set_states(p.m, x));
  CHECK_OK(ctx, p.m->ops->jacobian_times(p.m, v, product));
  for (int i = 0; i < 2; i++) CHECK_NEAR(product[i], (-2 * x[i] / 1e-9 - 1) * v[i], 1e-5);
  CHECK_CONTAINS(warnings, "differences replace directional derivatives");
  warnings[0] = 0;
  p.m->base.ops->destroy(&p.m->base);
  p.source->ops->destroy(p.source);
}

static void a_part_without_directions_leaves_it_to_differences(void** state) {
  (void)state;
  cpl_model_def plain = curved;
  plain.directional = NULL;
  static const char* const in[] = {"u1", "u2"};
  static const char* const out[] = {"y1", "y2"};
  pair p = couple(&plain, in, out, 2);
  CHECK(p.m->ops->jacobian_times == NULL);
  p.m->base.ops->destroy(&p.m->base);
  p.source->ops->destroy(p.source);
}

static cpl_run_stats run_pair(cpl_linear_solver linear, bool directions, double* end) {
  cpl_model_def def = curved;
  if (!directions) def.directional = NULL;
  static const char* const in[] = {"u1", "u2"};
  static const char* const out[] = {"y1", "y2"};
  static const char* const record[] = {"a.x1", "a.x2", "b.x1", "b.y1"};
  pair p = couple(&def, in, out, 2);
  cpl_solver_def solver = cpl_default_solver_def();
  solver.rtol = 1e-9;
  solver.linear = linear;
  recording* r = recording_by(ctx, p.m, 3, &solver, record, 4);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  memcpy(end, last_of(r), 4 * sizeof *end);
  cpl_run_stats stats = r->stats;
  drop_run(r);
  p.source->ops->destroy(p.source);
  return stats;
}

static void gmres_gives_what_factorising_gives(void** state) {
  (void)state;
  double direct[4], gmres[4], differences[4];
  cpl_run_stats s = run_pair(CPL_LINEAR_DIRECT, true, direct);
  CHECK(s.solver.jac_evals > 0 && s.solver.linear_iters == 0 && s.solver.products == 0);
  s = run_pair(CPL_LINEAR_GMRES, true, gmres);
  CHECK(s.solver.jac_evals == 0 && s.solver.linear_iters > 0);
  CHECK(s.solver.products >= s.solver.linear_iters);
  s = run_pair(CPL_LINEAR_GMRES, false, differences);
  CHECK(s.solver.linear_iters > 0 && s.solver.products == 0);
  for (int i = 0; i < 4; i++) {
    CHECK_NEAR(gmres[i], direct[i], 1e-7);
    CHECK_NEAR(differences[i], direct[i], 1e-7);
  }
}

static void linear_solvers_have_names(void** state) {
  (void)state;
  cpl_linear_solver which = CPL_LINEAR_DIRECT;
  CHECK(cpl_linear_solver_by_name("gmres", &which));
  CHECK_INT(which, CPL_LINEAR_GMRES);
  CHECK(cpl_linear_solver_by_name("direct", &which));
  CHECK_INT(which, CPL_LINEAR_DIRECT);
  CHECK(!cpl_linear_solver_by_name("GMRES", &which));
}

//------------------------------------ constant derivatives ------------------------------------

// Jacobians of a run over two time events; `asked` becomes the number of directional derivatives
// for them. Before time starts everything depends on everything (there is an `initialize`): a loop,
// which asks each of the two once.
static int64_t jacobians_of(const cpl_model_def* def, double* end) {
  static const char* const in[] = {"u"};
  static const char* const out[] = {"y"};
  static const char* const record[] = {"a.x", "b.x"};
  pair p = couple(def, in, out, 1);
  recording* r = recording_of(ctx, p.m, 3, 1e-10, record, 2);
  asked = 0;
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  memcpy(end, last_of(r), 2 * sizeof *end);
  asked -= 2;
  int64_t jacobians = r->stats.solver.jac_evals;
  drop_run(r);
  p.source->ops->destroy(p.source);
  return jacobians;
}

static void constant_derivatives_are_asked_for_once(void** state) {
  (void)state;
  double general[2], kept[2];
  bend = 0;
  int64_t jacobians = jacobians_of(&varying, general);
  CHECK(jacobians > 4);  // some of them between events
  int each = asked / (int)jacobians;
  CHECK_INT(asked, each * (int)jacobians);  // always all
  // once, and once more for each check: the second Jacobian, the ninth
  int checks = jacobians >= 65 ? 3 : jacobians >= 9 ? 2 : 1;
  CHECK_INT(jacobians_of(&constant, kept), jacobians);
  CHECK_INT(asked, each * (1 + checks));
  CHECK(memcmp(general, kept, sizeof kept) == 0);
  CHECK_INT(jacobians_of(&fixed, kept), jacobians);
  CHECK_INT(asked, each * (1 + checks));
  // once after the start and each of the two events
  CHECK_INT(jacobians_of(&tunable, kept), jacobians);
  CHECK(asked >= 3 * each && asked <= each * (3 + checks));
  CHECK(memcmp(general, kept, sizeof kept) == 0);
  CHECK_STR(warnings, "");
}

static void a_wrong_word_is_found_and_costs_no_accuracy(void** state) {
  (void)state;
  double right[2], wrong[2];
  bend = 0.5;
  warnings[0] = '\0';
  jacobians_of(&varying, right);
  CHECK_STR(warnings, "");
  jacobians_of(&constant, wrong);
  CHECK_CONTAINS(warnings, "the derivative of der(x) by x changes, although the description says");
  for (int i = 0; i < 2; i++) CHECK_NEAR(wrong[i], right[i], 1e-6);
  bend = 0;
  warnings[0] = '\0';
}

//------------------------------------ singular loops ------------------------------------

// The loop has two torn values. a.u1 = k b.u1 + a.u1 / 4 + ... and the same with a and b exchanged:
// singular at k = 3/4, where t = 1.
static void a_loop_of_two_values_that_becomes_singular_is_named(void** state) {
  (void)state;
  static const char* const record[] = {"a.u1"};
  ramp = 0.5;
  pair p = curved_pair();
  recording* r = recording_of(ctx, p.m, 3, 1e-6, record, 1);
  r->run.interval = 0.5;
  cpl_status st = cpl_run(r->stepper, &r->run, &r->stats);
  ramp = 0;
  CHECK(st < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "the algebraic loop through ");
  CHECK_CONTAINS(cpl_context_error(ctx), "is singular: its equations do not determine its values");
  CHECK_CONTAINS(cpl_context_error(ctx), "a.u1");
  CHECK_CONTAINS(cpl_context_error(ctx), "b.y2");
  CHECK_CONTAINS(cpl_context_error(ctx), "at t=1");
  CHECK_NEAR(r->t[r->n - 1], 0.5, 0);  // what was recorded before
  drop_run(r);
  p.source->ops->destroy(p.source);
}

//------------------------------------ all ------------------------------------

static void keep_warning(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user, (void)level, (void)who;
  snprintf(warnings, sizeof warnings, "%s", text);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_product_is_the_change_of_the_derivatives),
      cmocka_unit_test(differences_in_a_direction_follow_the_size_of_states),
      cmocka_unit_test(a_part_without_directions_leaves_it_to_differences),
      cmocka_unit_test(gmres_gives_what_factorising_gives),
      cmocka_unit_test(linear_solvers_have_names),
      cmocka_unit_test(constant_derivatives_are_asked_for_once),
      cmocka_unit_test(a_wrong_word_is_found_and_costs_no_accuracy),
      cmocka_unit_test(a_loop_of_two_values_that_becomes_singular_is_named),
  };
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_warning;
  ctx = cpl_context_create(&def);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
