// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic variables that IDA integrates together with the states, or that the model solves for.
// References are formulas.
#include "base/base.h"
#include "models.h"

//------------------------------------ models ------------------------------------

// x' = y, 0 = y + 2 z - x, 0 = y - 3 z - 2 x: x = exp(7/5 t), y = 7/5 x, z = -x/5
static int hello_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->z[0];
  return CPL_MODEL_OK;
}
static int hello_residuals(const cpl_values* v, double* g) {
  g[0] = v->z[0] + 2 * v->z[1] - v->x[0];
  g[1] = v->z[0] - 3 * v->z[1] - 2 * v->x[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration hello_states[] = {{"x", .start = 1, .output = true}, END_OF_LIST};
static const cpl_declaration hello_algebraics[] = {
    {"y", .start = 5, .output = true}, {"z", .output = true}, END_OF_LIST};
static const cpl_model_def hello = {.name = "hello",
                                    .states = hello_states,
                                    .algebraics = hello_algebraics,
                                    .derivatives = hello_derivatives,
                                    .residuals = hello_residuals,
                                    .stop_time = 1};

// x' = -z, 0 = z + z^3 - x: t = ln(z0 / z) + 3/2 (z0^2 - z^2). Where z falls below 0.3, x jumps
// back to 2, and so z to 1.
static int cube_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->z[0];
  return CPL_MODEL_OK;
}
static int cube_residuals(const cpl_values* v, double* g) {
  g[0] = v->z[0] + v->z[0] * v->z[0] * v->z[0] - v->x[0];
  return CPL_MODEL_OK;
}
static int cube_indicators(const cpl_values* v, double* z) {
  z[0] = v->z[0] - 0.3;
  return CPL_MODEL_OK;
}
static int cube_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0 && v->z[0] < 0.31) a->x[0] = 2, a->w[0] = v->t;
  return CPL_MODEL_OK;
}
static const cpl_declaration cube_states[] = {{"x", .start = 2}, END_OF_LIST};
static const cpl_declaration cube_algebraics[] = {{"z", .start = 0}, END_OF_LIST};
static const cpl_declaration cube_discrete[] = {{"fell", .start = -1}, END_OF_LIST};
static const cpl_model_def cube = {.name = "cube",
                                   .states = cube_states,
                                   .algebraics = cube_algebraics,
                                   .discrete = cube_discrete,
                                   .n_indicators = 1,
                                   .derivatives = cube_derivatives,
                                   .residuals = cube_residuals,
                                   .indicators = cube_indicators,
                                   .event = cube_event,
                                   .stop_time = 3};
static double cube_time(double from, double to) {
  return log(from / to) + 1.5 * (from * from - to * to);
}

// x' = z, 0 = z - u cos(t): x = u sin(t)
static int swing_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->z[0];
  return CPL_MODEL_OK;
}
static int swing_residuals(const cpl_values* v, double* g) {
  g[0] = v->z[0] - v->u[0] * cos(v->t);
  return CPL_MODEL_OK;
}
static const cpl_declaration swing_states[] = {{"x"}, END_OF_LIST};
static const cpl_declaration swing_inputs[] = {{"u", .start = 1}, END_OF_LIST};
static const cpl_declaration swing_algebraics[] = {{"z"}, END_OF_LIST};
static const cpl_model_def swing = {.name = "swing",
                                    .states = swing_states,
                                    .inputs = swing_inputs,
                                    .algebraics = swing_algebraics,
                                    .derivatives = swing_derivatives,
                                    .residuals = swing_residuals,
                                    .stop_time = 2};

//------------------------------------ solutions ------------------------------------

static recording* run_model(cpl_context* ctx, const cpl_model_def* def, cpl_solver_kind kind,
                            double rtol, const char* const* columns, size_t n) {
  recording* r = recording_make(ctx, def);
  r->solver.kind = kind;
  r->solver.rtol = rtol;
  r->run.record = columns;
  r->run.n_record = n;
  CHECK_OK(ctx, recording_run(r));
  return r;
}

static void states_and_algebraic_variables_are_right(void** state) {
  static const char* const columns[] = {"x", "y", "z"};
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_IDA, CPL_SOLVER_CVODE, CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5};
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    recording* r = run_model(*state, &hello, kinds[k], 1e-8, columns, 3);
    CHECK_INT(r->stats.solver.algebraics, kinds[k] == CPL_SOLVER_IDA ? 2 : 0);
    for (size_t i = 0; i < r->n; i++) {  // between the solver's steps, too
      double x = exp(1.4 * r->t[i]);
      CHECK_NEAR(r->value[i][0], x, 5e-6);
      CHECK_NEAR(r->value[i][1], 1.4 * r->value[i][0], 1e-6);
      CHECK_NEAR(r->value[i][2], -r->value[i][0] / 5, 1e-6);
    }
    recording_free(r);
  }
}

static void the_error_follows_the_tolerance(void** state) {
  static const char* const columns[] = {"x"};
  double last = 1;
  for (double rtol = 1e-4; rtol > 1e-11; rtol *= 1e-2) {
    recording* r = run_model(*state, &hello, CPL_SOLVER_IDA, rtol, columns, 1);
    double error = fabs(last_of(r)[0] - exp(1.4));
    CHECK(error < 100 * rtol);
    CHECK(error < 0.2 * last);
    last = error;
    recording_free(r);
  }
}

static void the_form_can_be_chosen(void** state) {
  cpl_context* ctx = *state;
  recording* r = recording_make(ctx, &hello);
  r->solver.kind = CPL_SOLVER_IDA;
  r->solver.form = CPL_FORM_ODE;
  CHECK_OK(ctx, recording_run(r));
  CHECK_INT(r->stats.solver.algebraics, 0);
  CHECK_NEAR(last_of(r)[0], exp(1.4), 2e-6);
  recording_free(r);
  r = recording_make(ctx, &hello);
  r->solver.form = CPL_FORM_DAE;
  CHECK_INT(recording_run(r), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "solver cvode cannot integrate algebraic variables");
  recording_free(r);
  r = recording_make(ctx, &decay_model);  // has nothing of the kind
  r->solver.kind = CPL_SOLVER_IDA;
  r->solver.form = CPL_FORM_DAE;
  CHECK_INT(recording_run(r), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "has no algebraic variables");
  recording_free(r);
  cpl_form form;
  CHECK(cpl_form_by_name("dae", &form) && form == CPL_FORM_DAE);
  CHECK(!cpl_form_by_name("index", &form));
}

//------------------------------------ events ------------------------------------

// The guess is 0, so that the start is no solution; the event is one of z alone.
static void events_see_algebraic_variables(void** state) {
  static const char* const columns[] = {"x", "z", "fell"};
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_IDA, CPL_SOLVER_CVODE};
  double falls = cube_time(1, 0.3);
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    recording* r = run_model(*state, &cube, kinds[k], 1e-9, columns, 3);
    CHECK_NEAR(r->value[0][1], 1, 1e-12);
    CHECK_INT(r->stats.solver.state_events, 1);
    CHECK_NEAR(last_of(r)[2], falls, 1e-6);
    bool after = false;
    for (size_t i = 0; i < r->n; i++) {
      double x = r->value[i][0], z = r->value[i][1];
      CHECK_NEAR(z + z * z * z, x, 1e-7);
      after = after || (i > 0 && r->t[i] == r->t[i - 1]);  // both sides of the event
      CHECK_NEAR(r->t[i], (after ? falls : 0) + cube_time(1, z), 1e-6);
    }
    CHECK(after);
    recording_free(r);
  }
}

static void inputs_that_are_set_move_them(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_IDA;
  def.rtol = 1e-8;
  CHECK_OK(ctx, cpl_c_define(ctx, &swing, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  CHECK_OK(ctx, cpl_integrate(m, &def, &s));
  cpl_component* c = &s->base;
  cpl_setup setup = {.start_time = 0};
  CHECK_OK(ctx, c->ops->setup(c, &setup));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  uint32_t u = c->desc->vars[cpl_find_variable(c->desc, "u")].ref;
  uint32_t x = c->desc->vars[cpl_find_variable(c->desc, "x")].ref;
  uint32_t z = c->desc->vars[cpl_find_variable(c->desc, "z")].ref;
  double value;
  cpl_step_result result;
  CHECK_OK(ctx, s->ops->step(s, 1, 1, &result));
  CHECK_OK(ctx, c->ops->get_real(c, &x, 1, &value));
  CHECK_NEAR(value, sin(1), 1e-6);
  value = 3;
  CHECK_OK(ctx, c->ops->set_real(c, &u, 1, &value));
  CHECK_OK(ctx, s->ops->step(s, 1, 1, &result));  // the update
  CHECK_OK(ctx, c->ops->get_real(c, &z, 1, &value));
  CHECK_NEAR(value, 3 * cos(1), 1e-12);
  CHECK_OK(ctx, s->ops->step(s, 2, 2, &result));
  CHECK_OK(ctx, c->ops->get_real(c, &x, 1, &value));
  CHECK_NEAR(value, sin(1) + 3 * (sin(2) - sin(1)), 1e-6);
  cpl_curve curve = {.from = 2, .order = 1, .coefficient = {3, 1}};  // u = 3 + (t - 2)
  CHECK_OK(ctx, s->ops->set_curve(s, u, &curve));
  CHECK_OK(ctx, s->ops->step(s, 3, 3, &result));
  CHECK_OK(ctx, c->ops->get_real(c, &z, 1, &value));
  CHECK_NEAR(value, 4 * cos(3), 1e-6);
  CHECK(c->ops->directional == NULL && !c->can.get_after_set);
  c->ops->destroy(c);
  source->ops->destroy(source);
}

//------------------------------------ saved states ------------------------------------

static void going_back_changes_no_bit(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_IDA;
  def.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, &cube, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  CHECK_OK(ctx, cpl_integrate(m, &def, &s));
  cpl_component* c = &s->base;
  cpl_setup setup = {.start_time = 0};
  CHECK_OK(ctx, c->ops->setup(c, &setup));
  CHECK_OK(ctx, c->ops->enter_init(c));
  CHECK_OK(ctx, c->ops->exit_init(c));
  uint32_t refs[2] = {c->desc->vars[cpl_find_variable(c->desc, "x")].ref,
                      c->desc->vars[cpl_find_variable(c->desc, "z")].ref};
  cpl_snapshot snapshot = {NULL};
  cpl_step_result result;
  double once[2], again[2];
  CHECK_OK(ctx, s->ops->step(s, 1, 1, &result));
  CHECK_OK(ctx, c->ops->save(c, &snapshot));
  CHECK_OK(ctx, s->ops->step(s, 2, 2, &result));
  CHECK_OK(ctx, c->ops->get_real(c, refs, 2, once));
  CHECK_OK(ctx, c->ops->restore(c, &snapshot));
  CHECK_OK(ctx, s->ops->step(s, 2, 2, &result));
  CHECK_OK(ctx, c->ops->get_real(c, refs, 2, again));
  CHECK(memcmp(once, again, sizeof once) == 0);
  CHECK_NEAR(cube_time(1, again[1]), 2, 1e-4);
  c->ops->forget(c, &snapshot);
  c->ops->destroy(c);
  source->ops->destroy(source);
}

//------------------------------------ the model's own linear system ----------------------------

typedef struct own_system {
  double gamma;
  int setups, solves, for_z_alone;
} own_system;
static own_system own;

static cpl_status own_setup(cpl_model* m, double gamma, bool fresh) {
  (void)m, (void)fresh;
  own.gamma = gamma;
  own.setups++;
  own.for_z_alone += gamma == 0;
  return CPL_OK;
}
// dx - gamma dy = r, dy + 2 dz - dx = s0, dy - 3 dz - 2 dx = s1
static cpl_status own_solve(cpl_model* m, const double* r, double* d) {
  (void)m;
  double s0 = r[1], s1 = r[2], fixed = (3 * s0 + 2 * s1) / 5;
  d[0] = (r[0] + own.gamma * fixed) / (1 - 1.4 * own.gamma);
  d[1] = fixed + 1.4 * d[0];
  d[2] = (s0 - s1 - d[0]) / 5;
  own.solves++;
  return CPL_OK;
}

static void a_model_may_have_its_own_linear_system(void** state) {
  cpl_context* ctx = *state;
  static const char* const columns[] = {"x", "y", "z"};
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &hello, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  cpl_model_ops ops = *m->ops;
  static const cpl_newton_ops newton = {
      .size = sizeof newton, .setup = own_setup, .solve = own_solve};
  ops.newton = &newton;
  m->ops = &ops;
  own = (own_system){0};
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_IDA;
  def.rtol = 1e-8;
  recording* r = recording_by(ctx, m, 1, &def, columns, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_NEAR(last_of(r)[0], exp(1.4), 2e-6);
  CHECK_NEAR(last_of(r)[2], -exp(1.4) / 5, 1e-6);
  CHECK(own.setups > 3 && own.solves > 20);
  CHECK_INT(own.for_z_alone, 1);
  // a wrong matrix would still converge, but slowly
  CHECK((double)r->stats.solver.newton_iters < 2.5 * (double)r->stats.solver.steps);
  drop_run(r);
  source->ops->destroy(source);
}

//------------------------------------ Jacobians ------------------------------------

// x[i]' = -z[i], 0 = z[i] - (i + 1) x[i]: x[i] = exp(-(i + 1) t)
enum { MANY = 20 };
static int many_evaluations, many_directions;

static int many_derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < MANY; i++) dx[i] = -v->z[i];
  return CPL_MODEL_OK;
}
static int many_residuals(const cpl_values* v, double* g) {
  many_evaluations++;
  for (int i = 0; i < MANY; i++) g[i] = v->z[i] - (i + 1) * v->x[i];
  return CPL_MODEL_OK;
}
static const cpl_declaration many_states[] = {{"x", .start = 1, .size = MANY}, END_OF_LIST};
static const cpl_declaration many_algebraics[] = {{"z", .size = MANY}, END_OF_LIST};
static const cpl_model_def many = {.name = "many",
                                   .states = many_states,
                                   .algebraics = many_algebraics,
                                   .derivatives = many_derivatives,
                                   .residuals = many_residuals};

// References are x, der(x), z, residuals, MANY of each.
static cpl_status many_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                   const uint32_t* knowns, size_t n_knowns, const double* seed,
                                   double* sensitivity) {
  double x[MANY] = {0}, z[MANY] = {0};
  (void)c;
  many_directions++;
  for (size_t k = 0; k < n_knowns; k++) {
    if (knowns[k] < MANY) x[knowns[k]] += seed[k];
    else z[knowns[k] - 2 * MANY] += seed[k];
  }
  for (size_t k = 0; k < n_unknowns; k++) {
    uint32_t i = unknowns[k] % MANY;
    sensitivity[k] = unknowns[k] < 2 * MANY ? -z[i] : z[i] - (i + 1) * x[i];
  }
  return CPL_OK;
}

typedef struct costs {
  double evaluations, directions;  // per Jacobian
} costs;

static costs run_many(cpl_context* ctx, bool structured, bool directional) {
  static const char* const columns[] = {"x[1]", "x[20]", "z[20]"};
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &many, &source));
  CHECK_OK(ctx, source->ops->make_model(source, "m", &m));
  cpl_description desc = *m->base.desc;
  for (int i = 0; i < MANY; i++) {  // what was found out
    const cpl_structure* form = desc.residual_structure;
    CHECK_INT(desc.structure.derivatives[i].count, 1);  // by solving for z: x[i] alone
    CHECK_INT(desc.structure.deps[desc.structure.derivatives[i].first], desc.states[i]);
    CHECK_INT(form->derivatives[i].count, 1);
    CHECK_INT(form->deps[form->derivatives[i].first], desc.algebraics[i]);
    CHECK_INT(form->outputs[i].count, 2);
  }
  if (!structured) desc.residual_structure = NULL;
  cpl_component_ops ops = *m->base.ops;
  if (directional) ops.directional = many_directional;
  m->base.ops = &ops;
  m->base.desc = &desc;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_IDA;
  def.rtol = 1e-8;
  many_evaluations = many_directions = 0;
  recording* r = recording_by(ctx, m, 1, &def, columns, 3);
  CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
  CHECK_INT(r->stats.solver.algebraics, MANY);
  CHECK_NEAR(last_of(r)[0], exp(-1), 1e-6);
  CHECK_NEAR(last_of(r)[1], exp(-20), 1e-6);
  CHECK_NEAR(last_of(r)[2], 20 * last_of(r)[1], 1e-6);
  double n = (double)r->stats.solver.jac_evals;
  costs c = {.evaluations = (many_evaluations - (double)r->stats.solver.rhs_evals) / n,
             .directions = many_directions / n};
  drop_run(r);
  source->ops->destroy(source);
  return c;
}

static void columns_that_never_meet_are_evaluated_together(void** state) {
  costs plain = run_many(*state, false, false), coloured = run_many(*state, true, false);
  CHECK(plain.evaluations > 2 * MANY && plain.evaluations < 2 * MANY + 10);
  CHECK(coloured.evaluations > 3 && coloured.evaluations < 13);  // two colours and a base
  costs exact = run_many(*state, false, true), both = run_many(*state, true, true);
  CHECK_NEAR(exact.directions, 2 * MANY, 0);
  CHECK_NEAR(both.directions, 2, 0);
}

//------------------------------------ mistakes ------------------------------------

static int blind_residuals(const cpl_values* v, double* g) {
  g[0] = v->z[0] - v->x[0];
  g[1] = v->z[0] - 2 * v->x[0];
  return CPL_MODEL_OK;
}
static int no_root(const cpl_values* v, double* g) {
  g[0] = v->z[0] * v->z[0] + v->z[0] + v->x[0];
  return CPL_MODEL_OK;
}

static void residuals_that_cannot_be_solved_are_named(void** state) {
  cpl_context* ctx = *state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_IDA, CPL_SOLVER_CVODE};
  for (size_t k = 0; k < CPLI_COUNT(kinds); k++) {
    cpl_model_def blind = hello;
    blind.residuals = blind_residuals;
    recording* r = recording_make(ctx, &blind);
    r->solver.kind = kinds[k];
    CHECK_INT(recording_run(r), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(ctx), "the residuals do not determine z at t=0");
    recording_free(r);
    cpl_model_def rootless = cube;
    rootless.residuals = no_root;
    r = recording_make(ctx, &rootless);
    r->solver.kind = kinds[k];
    CHECK_INT(recording_run(r), CPL_ERR_MODEL);
    CHECK_CONTAINS(cpl_context_error(ctx), "no algebraic variables were found");
    recording_free(r);
  }
}

static void definitions_are_checked(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  cpl_model_def bad = hello;
  bad.residuals = NULL;
  CHECK_INT(cpl_c_define(ctx, &bad, &source), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "algebraic variables but no function `residuals`");
  static const cpl_formulation of_nothing[] = {{.residual = 2, .index = 2}};
  bad = hello;
  bad.n_constraints = 1;
  bad.constraints = hello_residuals;
  bad.formulations = of_nothing;
  CHECK_INT(cpl_c_define(ctx, &bad, &source), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "a formulation of a residual that does not exist");
  static const cpl_declaration whole[] = {{"n", .type = CPL_INTEGER}, {"z"}, END_OF_LIST};
  bad = hello;
  bad.algebraics = whole;
  CHECK_INT(cpl_c_define(ctx, &bad, &source), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "an algebraic variable is a Real");
}

static cpl_status run_with_heap(test_heap* heap, const cpl_model_def* model) {
  cpl_context_def on_heap = cpl_default_context_def();
  on_heap.realloc = heap_realloc;
  on_heap.user = heap;
  cpl_context* ctx = cpl_context_create(&on_heap);
  if (ctx == NULL) return CPL_ERR_NOMEM;
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_stepper* s = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_IDA;
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 0.1;
  cpl_status st = cpl_c_define(ctx, model, &source);
  if (st >= 0) st = source->ops->make_model(source, "m", &m);
  if (st >= 0) st = cpl_integrate(m, &def, &s);
  if (st >= 0) st = cpl_run(s, &run, NULL);
  if (s != NULL) s->base.ops->destroy(&s->base);
  if (source != NULL) source->ops->destroy(source);
  cpl_context_destroy(ctx);
  return st;
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_status st = run_with_heap(&heap, &hello);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(states_and_algebraic_variables_are_right),
      cmocka_unit_test(the_error_follows_the_tolerance),
      cmocka_unit_test(the_form_can_be_chosen),
      cmocka_unit_test(events_see_algebraic_variables),
      cmocka_unit_test(inputs_that_are_set_move_them),
      cmocka_unit_test(going_back_changes_no_bit),
      cmocka_unit_test(a_model_may_have_its_own_linear_system),
      cmocka_unit_test(columns_that_never_meet_are_evaluated_together),
      cmocka_unit_test(residuals_that_cannot_be_solved_are_named),
      cmocka_unit_test(definitions_are_checked),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
