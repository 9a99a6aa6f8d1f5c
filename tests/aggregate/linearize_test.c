// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The matrices of the whole against known ones, and against central differences of its right-hand
// side and outputs; and the structure that cpl_graph_create() tells.
#include <math.h>

#include "models.h"

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// x' = a x + b u, y = c x + d u
static int linear_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->p[0] * v->x[0] + v->p[1] * v->u[0];
  return CPL_MODEL_OK;
}
static int linear_outputs(const cpl_values* v, double* y) {
  y[0] = v->p[2] * v->x[0] + v->p[3] * v->u[0];
  return CPL_MODEL_OK;
}
static int linear_directional(const cpl_values* v, const double* d_x, const double* d_u,
                              double* d_dx, double* d_y) {
  if (d_dx != NULL) d_dx[0] = v->p[0] * d_x[0] + v->p[1] * d_u[0];
  if (d_y != NULL) d_y[0] = v->p[2] * d_x[0] + v->p[3] * d_u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration linear_x[] = {{"x", .start = 1}, END_OF_LIST};
static const cpl_declaration linear_p[] = {
    {"a", .start = -1}, {"b", .start = 1}, {"c", .start = 1}, {"d", .start = -1}, END_OF_LIST};
static const cpl_dependency linear_dependencies[] = {{.of = "y", .on = "x u", .kind = "fixed"},
                                                     {.of = "der(x)", .on = "x u", .kind = "fixed"},
                                                     END_OF_LIST};
static const cpl_model_def linear_model = {.name = "linear",
                                           .states = linear_x,
                                           .inputs = gain_inputs,
                                           .outputs = gain_output_list,
                                           .parameters = linear_p,
                                           .derivatives = linear_derivatives,
                                           .output_values = linear_outputs,
                                           .directional = linear_directional,
                                           .dependencies = linear_dependencies};

// x' = -x^3 + sin(u), y = x u + u^2 / 2
static int curved_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->x[0] * v->x[0] * v->x[0] + sin(v->u[0]);
  return CPL_MODEL_OK;
}
static int curved_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0] * v->u[0] + 0.5 * v->u[0] * v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration curved_x[] = {{"x", .start = 0.3}, END_OF_LIST};
static const cpl_model_def curved_model = {.name = "curved",
                                           .states = curved_x,
                                           .inputs = gain_inputs,
                                           .outputs = gain_output_list,
                                           .derivatives = curved_derivatives,
                                           .output_values = curved_outputs};

//------------------------------------ systems ------------------------------------

typedef struct built {
  cpl_source *linear, *curved, *source, *inner_source;
  cpl_system_def *def, *inner;
  cpl_model* m;
} built;

static void add(cpl_system_def* def, const char* name, cpl_source* source,
                const cpl_assignment* starts, size_t n) {
  cpl_member_def member = cpl_default_member_def();
  member.name = name;
  member.source = source;
  member.starts = starts;
  member.n_starts = n;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &member));
}

static void begin(built* b) {
  *b = (built){0};
  CHECK_OK(ctx, cpl_c_define(ctx, &linear_model, &b->linear));
  CHECK_OK(ctx, cpl_c_define(ctx, &curved_model, &b->curved));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b->def));
}

static void start_source(built* b) {
  cpl_setup setup = {0};
  cpl_event_info info = {0};
  CHECK_OK(ctx, b->source->ops->make_model(b->source, "whole", &b->m));
  CHECK_OK(ctx, b->m->base.ops->setup(&b->m->base, &setup));
  CHECK_OK(ctx, b->m->base.ops->enter_init(&b->m->base));
  CHECK_OK(ctx, b->m->base.ops->exit_init(&b->m->base));
  CHECK_OK(ctx, b->m->ops->event_update(b->m, &info));
  CHECK_OK(ctx, b->m->ops->enter_continuous(b->m));
}

static void start(built* b) {
  CHECK_OK(ctx, cpl_system_build(ctx, b->def, &b->source));
  start_source(b);
}

static void end(built* b) {
  if (b->m != NULL) b->m->base.ops->destroy(&b->m->base);
  if (b->source != NULL) b->source->ops->destroy(b->source);
  cpl_system_def_destroy(b->def);
  if (b->inner_source != NULL) b->inner_source->ops->destroy(b->inner_source);
  cpl_system_def_destroy(b->inner);
  b->linear->ops->destroy(b->linear);
  b->curved->ops->destroy(b->curved);
}

// Section 4.2: A is -1, 1, 1, -1; B is -1, 1, 0, 1/2; each feeds the other.
static void loop_system(built* b) {
  static const cpl_assignment half[] = {{"c", "0"}, {"d", "0.5"}};
  begin(b);
  add(b->def, "A", b->linear, NULL, 0);
  add(b->def, "B", b->linear, half, 2);
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "A.u", "B.y"));
  CHECK_OK(ctx, cpl_system_def_connect(b->def, "B.u", "A.y"));
}

// An input w of the whole, a loop through a formula, and outputs.
static void curved_system(cpl_system_def* def, cpl_source* linear, cpl_source* curved) {
  static const cpl_assignment half[] = {{"d", "0.5"}};
  cpl_input_def w = cpl_default_input_def();
  w.name = "w";
  w.start = "0.2";
  add(def, "c", curved, NULL, 0);
  add(def, "l", linear, half, 1);
  CHECK_OK(ctx, cpl_system_def_add_input(def, &w));
  CHECK_OK(ctx, cpl_system_def_connect(def, "c.u", "sin(l.y) + w^2 + 0.1"));
  CHECK_OK(ctx, cpl_system_def_connect(def, "l.u", "c.y*c.x + w"));
  CHECK_OK(ctx, cpl_system_def_add_output(def, "sum", "c.y + l.y*w"));
  CHECK_OK(ctx, cpl_system_def_add_output(def, "input", "c.u"));
}

//------------------------------------ differences ------------------------------------

static cpl_linear* linearized(cpl_model* m, const char* const* only, size_t n) {
  cpl_linearize_def def = cpl_default_linearize_def();
  cpl_linear* l = NULL;
  def.only = only;
  def.n_only = n;
  CHECK_OK(ctx, cpl_linearize(m, &def, &l));
  return l;
}

static void evaluate(cpl_model* m, const cpl_linear* l, const double* x, const double* u,
                     double* out) {
  cpl_component* c = &m->base;
  CHECK_OK(ctx, m->ops->set_states(m, x));
  for (int32_t i = 0; i < l->n_inputs; i++) {
    const cpl_variable* v = &c->desc->vars[cpl_find_variable(c->desc, l->inputs[i])];
    CHECK_OK(ctx, c->ops->set_real(c, &v->ref, 1, &u[i]));
  }
  CHECK_OK(ctx, m->ops->get_derivatives(m, out));
  for (int32_t i = 0; i < l->n_outputs; i++) {
    const cpl_variable* v = &c->desc->vars[cpl_find_variable(c->desc, l->outputs[i])];
    CHECK_OK(ctx, c->ops->get_real(c, &v->ref, 1, &out[l->n_states + i]));
  }
}

static double entry(const cpl_linear* l, int32_t row, int32_t column) {
  bool d = row < l->n_states, s = column < l->n_states;
  int32_t r = d ? row : row - l->n_states, c = s ? column : column - l->n_states;
  const double* block = d ? (s ? l->a : l->b) : (s ? l->c : l->d);
  return block[c * (d ? l->n_states : l->n_outputs) + r];
}

enum { MOST = 16 };

// Every entry against central differences of the whole.
static void check_differences(cpl_model* m, double tolerance) {
  cpl_linear* l = linearized(m, NULL, 0);
  double x[MOST], u[MOST], plus[MOST], minus[MOST], h = 1e-5;
  int32_t rows = l->n_states + l->n_outputs, columns = l->n_states + l->n_inputs;
  assert_true(rows <= MOST && columns <= MOST);
  memcpy(x, l->x, (size_t)l->n_states * sizeof *x);
  memcpy(u, l->u, (size_t)l->n_inputs * sizeof *u);
  for (int32_t c = 0; c < columns; c++) {
    double* moved = c < l->n_states ? &x[c] : &u[c - l->n_states];
    double at = *moved;
    *moved = at + h;
    evaluate(m, l, x, u, plus);
    *moved = at - h;
    evaluate(m, l, x, u, minus);
    *moved = at;
    for (int32_t r = 0; r < rows; r++)
      CHECK_NEAR(entry(l, r, c), (plus[r] - minus[r]) / (2 * h), tolerance);
  }
  evaluate(m, l, x, u, plus);
  for (int32_t r = 0; r < l->n_states; r++) CHECK_NEAR(l->dx[r], plus[r], 1e-9);
  for (int32_t r = 0; r < l->n_outputs; r++) CHECK_NEAR(l->y[r], plus[l->n_states + r], 1e-9);
  cpl_linear_destroy(l);
}

//------------------------------------ linearize ------------------------------------

// y_A = x_A - u_A and u_A = y_A / 2 give u_A = x_A / 3, so that x_A' = -2/3 x_A and
// x_B' = -x_B + 2/3 x_A: eigenvalues -2/3 and -1.
static void the_linear_loop_has_the_known_matrix(void** state) {
  (void)state;
  built b;
  loop_system(&b);
  start(&b);
  cpl_linear* l = linearized(b.m, NULL, 0);
  CHECK_INT(l->n_states, 2);
  CHECK_INT(l->n_inputs, 0);
  CHECK_INT(l->n_outputs, 2);  // those of the models, as the system has none
  CHECK_STR(l->states[0], "A.x");
  CHECK_STR(l->outputs[1], "B.y");
  CHECK_NEAR(l->a[0], -2.0 / 3, 1e-14);
  CHECK_NEAR(l->a[1], 2.0 / 3, 1e-14);
  CHECK_NEAR(l->a[2], 0, 1e-14);
  CHECK_NEAR(l->a[3], -1, 1e-14);
  CHECK_NEAR(l->c[0], 2.0 / 3, 1e-14);
  CHECK_NEAR(l->c[1], 1.0 / 3, 1e-14);
  cpl_linear_destroy(l);
  check_differences(b.m, 1e-8);
  end(&b);
}

static void an_example_agrees_with_differences(void** state) {
  (void)state;
  built b;
  begin(&b);
  CHECK_OK(ctx, cpl_system_open(ctx, test_path("examples/two_masses/two_masses.yaml"), &b.source));
  start_source(&b);
  check_differences(b.m, 1e-8);
  cpl_linear* l = linearized(b.m, (const char* const[]){"left.v", "right.x", "stretch"}, 3);
  CHECK_NEAR(l->a[2], 10, 1e-7);  // k / m, from right.x to left.v
  CHECK_NEAR(l->c[1], 1, 1e-12);
  cpl_linear_destroy(l);
  end(&b);
}

// Every other example whose models are in C, at its start.
static void all_examples_agree_with_differences(void** state) {
  (void)state;
  static const char* const files[] = {"algebraic_loop/algebraic_loop.yaml",
                                      "simple_coupling/simple_coupling.yaml",
                                      "loops/chain.yaml",
                                      "loops/two_loops.yaml",
                                      "loops/branch.yaml",
                                      "loops/fold.yaml",
                                      "loops/singular.yaml",
                                      "loops/turns.yaml",
                                      "nonlinear_loop/nonlinear_loop.yaml",
                                      "nonlinear_loop/other_branch.yaml",
                                      "pendulums_cartesian/pendulums_cartesian.yaml",
                                      "pendulums_polar/pendulums_polar.yaml",
                                      "pendulums_walls/pendulums_walls.yaml"};
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    char path[128];
    built b;
    begin(&b);
    snprintf(path, sizeof path, "examples/%s", files[i]);
    CHECK_OK(ctx, cpl_system_open(ctx, test_path(path), &b.source));
    start_source(&b);
    check_differences(b.m, 1e-6);
    end(&b);
  }
}

static void a_curved_loop_agrees_with_differences(void** state) {
  (void)state;
  built b;
  begin(&b);
  curved_system(b.def, b.linear, b.curved);
  start(&b);
  cpl_linear* l = linearized(b.m, NULL, 0);
  CHECK_INT(l->n_inputs, 1);
  CHECK_STR(l->inputs[0], "w");
  CHECK_INT(l->n_outputs, 2);
  cpl_linear_destroy(l);
  check_differences(b.m, 1e-6);
  end(&b);
}

// The outer system closes another loop around the inner one and reads inside it.
static void a_nested_system_agrees_with_differences(void** state) {
  (void)state;
  built b;
  begin(&b);
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b.inner));
  curved_system(b.inner, b.linear, b.curved);
  CHECK_OK(ctx, cpl_system_build(ctx, b.inner, &b.inner_source));
  add(b.def, "sub", b.inner_source, NULL, 0);
  add(b.def, "top", b.linear, NULL, 0);
  cpl_input_def v = cpl_default_input_def();
  v.name = "v";
  v.start = "0.1";
  CHECK_OK(ctx, cpl_system_def_add_input(b.def, &v));
  CHECK_OK(ctx, cpl_system_def_connect(b.def, "sub.w", "0.3*top.y + v"));
  CHECK_OK(ctx, cpl_system_def_connect(b.def, "top.u", "0.2*sub.sum + sub.c.x"));
  CHECK_OK(ctx, cpl_system_def_add_output(b.def, "deep", "sub.l.u"));
  start(&b);
  CHECK_INT(cpl_aggregate_count(b.m), 2);
  CHECK_INT(cpl_aggregate_count(cpl_aggregate_part(b.m, 0)), 2);
  CHECK_INT(cpl_aggregate_count(cpl_aggregate_part(b.m, 1)), 0);
  cpl_linear* l = linearized(b.m, NULL, 0);
  CHECK_INT(l->n_states, 3);
  cpl_linear_destroy(l);
  check_differences(b.m, 1e-6);
  end(&b);
}

static void only_restricts_rows_and_columns(void** state) {
  (void)state;
  built b;
  loop_system(&b);
  start(&b);
  cpl_linear* l = linearized(b.m, (const char* const[]){"B.*"}, 1);
  CHECK_INT(l->n_states, 1);
  CHECK_INT(l->n_outputs, 1);
  CHECK_STR(l->states[0], "B.x");
  CHECK_NEAR(l->a[0], -1, 1e-9);
  CHECK_NEAR(l->c[0], 0, 1e-9);
  cpl_linear_destroy(l);
  cpl_linearize_def def = cpl_default_linearize_def();
  const char* const none[] = {"C.*"};
  def.only = none;
  def.n_only = 1;
  CHECK_INT(cpl_linearize(b.m, &def, &l), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "C.*");
  assert_null(l);
  end(&b);
}

static void a_single_model_is_linearised(void** state) {
  (void)state;
  built b;
  loop_system(&b);
  start(&b);
  cpl_linearize_def def = cpl_default_linearize_def();
  cpl_linear* l = NULL;
  def.prefix = "B.";
  CHECK_OK(ctx, cpl_linearize(cpl_aggregate_part(b.m, 1), &def, &l));
  CHECK_STR(l->states[0], "B.x");
  CHECK_STR(l->inputs[0], "B.u");
  CHECK_NEAR(l->a[0], -1, 1e-9);
  CHECK_NEAR(l->b[0], 1, 1e-9);
  CHECK_NEAR(l->c[0], 0, 1e-9);
  CHECK_NEAR(l->d[0], 0.5, 1e-9);
  cpl_linear_destroy(l);
  end(&b);
}

static int no_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                          double* d_y) {
  linear_directional(v, d_x, d_u, d_dx, d_y);
  if (d_dx != NULL && d_u[0] != 0) d_dx[0] = NAN;
  return CPL_MODEL_OK;
}

static void derivatives_that_are_no_numbers_are_an_error(void** state) {
  (void)state;
  cpl_model_def def = linear_model;
  cpl_source* source = NULL;
  built b;
  def.directional = no_directional;
  begin(&b);
  CHECK_OK(ctx, cpl_c_define(ctx, &def, &source));
  add(b.def, "A", source, NULL, 0);
  start(&b);
  cpl_linearize_def what = cpl_default_linearize_def();
  cpl_linear* l = NULL;
  CHECK_INT(cpl_linearize(b.m, &what, &l), CPL_ERR_MODEL);
  CHECK(l == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the derivative of der(A.x) with respect to A.u is nan");
  end(&b);
  cpl_source_destroy(source);
}

static void a_singular_loop_is_an_error(void** state) {
  (void)state;
  static const cpl_assignment one[] = {{"d", "1"}};
  built b;
  begin(&b);
  add(b.def, "A", b.linear, one, 1);
  CHECK_OK(ctx, cpl_system_def_connect(b.def, "A.u", "A.y - A.x"));
  CHECK_OK(ctx, cpl_system_build(ctx, b.def, &b.source));
  CHECK_OK(ctx, b.source->ops->make_model(b.source, "whole", &b.m));
  cpl_linearize_def def = cpl_default_linearize_def();
  cpl_linear* l = NULL;
  cpl_status st = cpl_linearize(b.m, &def, &l);  // it cannot even be initialised
  CHECK(st < 0);
  CHECK_CONTAINS(cpl_context_error(ctx), "singular");
  end(&b);
}

static void linearisation_survives_every_failed_allocation(void** state) {
  (void)state;
  cpl_context* kept = ctx;
  test_heap heap = {.fail_at = -1};
  ctx = test_context_with_heap(&heap);
  built b;
  begin(&b);
  curved_system(b.def, b.linear, b.curved);
  start(&b);
  cpl_linearize_def def = cpl_default_linearize_def();
  long live = heap.live;
  for (int n = 0;; n++) {
    cpl_linear* l = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpl_linearize(b.m, &def, &l);
    heap.fail_at = -1;
    cpl_linear_destroy(l);
    CHECK_INT(heap.live, live);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  for (int n = 0;; n++) {
    cpl_graph* g = NULL;
    heap.fail_at = heap.calls + n;
    cpl_status st = cpl_graph_create(&b.m->base, &g);
    heap.fail_at = -1;
    cpl_graph_destroy(g);
    CHECK_INT(heap.live, live);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  end(&b);
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
  ctx = kept;
}

//------------------------------------ graph ------------------------------------

static void the_graph_tells_loops_and_groups(void** state) {
  (void)state;
  built b;
  loop_system(&b);
  add(b.def, "alone", b.curved, NULL, 0);
  start(&b);
  cpl_graph* g = NULL;
  CHECK_OK(ctx, cpl_graph_create(&b.m->base, &g));
  CHECK_INT(g->n_models, 3);
  CHECK_INT(g->n_groups, 2);
  CHECK_INT(g->models[0].group, g->models[1].group);
  CHECK_INT(g->models[0].feed_through, CPL_ORIGIN_DECLARED);
  CHECK_STR(g->models[2].name, "alone");
  CHECK_INT(g->models[2].feed_through, CPL_ORIGIN_DETECTED);
  CHECK_INT(g->models[2].group, 1);
  CHECK_INT(g->n_loops, 1);
  CHECK_INT(g->loops[0].n_values, 4);
  CHECK_INT(g->loops[0].n_torn, 1);
  CHECK(g->loops[0].linear);  // dependencies are declared as fixed
  CHECK_INT(g->connections[0].loop, 0);
  CHECK_STR(g->connections[0].text, "B.y");
  CHECK_INT(g->n_unconnected, 1);
  CHECK_STR(g->unconnected[0].input.name, "alone.u");
  CHECK_INT(g->n_steps, 1);
  CHECK_INT(g->steps[0].kind, CPL_GRAPH_LOOP);
  cpl_graph_destroy(g);
  CHECK_OK(ctx, cpl_graph_create(&cpl_aggregate_part(b.m, 2)->base, &g));
  CHECK_INT(g->n_models, 1);
  CHECK_INT(g->n_unconnected, 1);
  CHECK_STR(g->unconnected[0].input.name, "u");
  cpl_graph_destroy(g);
  end(&b);
}

// A function of time that both hear joins nobody; an event that names both does.
static void events_join_groups_and_time_does_not(void** state) {
  (void)state;
  for (int with_event = 0; with_event < 2; with_event++) {
    static const cpl_assignment sets[] = {{"B.x", "A.x"}};
    cpl_input_def w = cpl_default_input_def();
    cpl_event_def event = cpl_default_event_def();
    built b;
    begin(&b);
    add(b.def, "A", b.curved, NULL, 0);
    add(b.def, "B", b.curved, NULL, 0);
    w.name = "w";
    w.expression = "sin(time)";
    CHECK_OK(ctx, cpl_system_def_add_input(b.def, &w));
    CHECK_OK(ctx, cpl_system_def_connect(b.def, "A.u", "w"));
    CHECK_OK(ctx, cpl_system_def_connect(b.def, "B.u", "2*w"));
    event.name = "e";
    event.at = (const char* const[]){"0.5"};
    event.n_at = 1;
    event.sets = sets;
    event.n_sets = 1;
    if (with_event) CHECK_OK(ctx, cpl_system_def_add_event(b.def, &event));
    start(&b);
    cpl_graph* g = NULL;
    CHECK_OK(ctx, cpl_graph_create(&b.m->base, &g));
    CHECK_INT(g->n_groups, with_event ? 1 : 2);
    CHECK_INT(g->n_loops, 0);
    cpl_graph_destroy(g);
    end(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_linear_loop_has_the_known_matrix),
      cmocka_unit_test(an_example_agrees_with_differences),
      cmocka_unit_test(all_examples_agree_with_differences),
      cmocka_unit_test(a_curved_loop_agrees_with_differences),
      cmocka_unit_test(a_nested_system_agrees_with_differences),
      cmocka_unit_test(only_restricts_rows_and_columns),
      cmocka_unit_test(a_single_model_is_linearised),
      cmocka_unit_test(derivatives_that_are_no_numbers_are_an_error),
      cmocka_unit_test(a_singular_loop_is_an_error),
      cmocka_unit_test(linearisation_survives_every_failed_allocation),
      cmocka_unit_test(the_graph_tells_loops_and_groups),
      cmocka_unit_test(events_join_groups_and_time_does_not),
  };
  ctx = test_context();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
