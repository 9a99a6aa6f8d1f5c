// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Algebraic loops as rows of the integrator's system: the operations one by one.
#include "couplet/component.h"
#include "models.h"

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// Two states, two inputs, two outputs with feed-through:
//   x1' = x2, x2' = -x1 - 0.1 x2 + sin(u1) + u2, y1 = u1 / 4 + u2^2 / 8 + x1, y2 = u1 / 4 + x2
// and x1 jumps by 1 at t = 1.
static int derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -v->x[0] - 0.1 * v->x[1] + sin(v->u[0]) + v->u[1];
  return CPL_MODEL_OK;
}
static int outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0] / 4 + v->u[1] * v->u[1] / 8 + v->x[0];
  y[1] = v->u[0] / 4 + v->x[1];
  return CPL_MODEL_OK;
}
static int directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                       double* d_y) {
  if (d_dx != NULL) {
    d_dx[0] = d_x[1];
    d_dx[1] = -d_x[0] - 0.1 * d_x[1] + cos(v->u[0]) * d_u[0] + d_u[1];
  }
  if (d_y != NULL) {
    d_y[0] = d_u[0] / 4 + v->u[1] * d_u[1] / 4 + d_x[0];
    d_y[1] = d_u[0] / 4 + d_x[1];
  }
  return CPL_MODEL_OK;
}
static int initialize(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 1;
  return CPL_MODEL_OK;
}
static int jump(const cpl_values* v, cpl_event_actions* a) {
  if (a->time_event) a->x[0] = v->x[0] + 1;
  a->next_time = v->t < 1 ? 1 : INFINITY;
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x1", .start = 1}, {"x2", .start = 0.5}, END_OF_LIST};
static const cpl_declaration inputs[] = {{"u1", .nominal = 3}, {"u2", .nominal = 5}, END_OF_LIST};
static const cpl_declaration output_list[] = {{.name = "y1"}, {.name = "y2"}, END_OF_LIST};
static const cpl_model_def curved = {.name = "curved",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = output_list,
                                     .initialize = initialize,
                                     .event = jump,
                                     .derivatives = derivatives,
                                     .output_values = outputs,
                                     .directional = directional};

enum { TIES = 4, STATES = 4 };
static const double scaled = 0.75, shifted = 0.125;  // of the plain couplings
static cpl_source* source;

static bool plain;  // a.u1 follows b.y1; else b.y1 / 2 + sin(b.y2), a function without a gradient
static cpl_status mixed(void* user, double t, const double* from, double* out) {
  (void)user, (void)t;
  *out = from[0] / 2 + sin(from[1]);
  return CPL_OK;
}

static cpl_model* part(const char* name) {
  cpl_model* m = NULL;
  CHECK_OK(ctx, source->ops->make_model(source, name, &m));
  return m;
}

static int32_t var(const char* name) { return cpl_find_variable(source->desc, name); }

// Two of them, each output to the input of the other.
static cpl_model* make_pair(const cpl_model_def* def) {
  cpl_model *m = NULL, *parts[2];
  CHECK_OK(ctx, cpl_c_define(ctx, def, &source));
  parts[0] = part("a");
  parts[1] = part("b");
  static cpl_port both[2];
  both[0] = (cpl_port){1, var("y1")};
  both[1] = (cpl_port){1, var("y2")};
  cpl_coupling couplings[TIES] = {
      {.target = {0, var("u1")}, .function = {.sources = both, .n_sources = 2, .value = mixed}},
      {.target = {0, var("u2")}, .source = {1, var("y2")}, .factor = scaled, .offset = shifted},
      {.target = {1, var("u1")}, .source = {0, var("y1")}},
      {.target = {1, var("u2")}, .source = {0, var("y2")}},
  };
  if (plain) couplings[0] = (cpl_coupling){.target = {0, var("u1")}, .source = both[0]};
  for (int i = 0; i < TIES && plain; i++) couplings[i].factor = scaled;
  cpl_aggregate_def all = {.size = sizeof all,
                           .name = "pair",
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = TIES};
  CHECK_OK(ctx, cpl_aggregate(ctx, &all, &m));
  return m;
}

static void drop(cpl_model* m) {
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

static void update(cpl_model* m) {
  cpl_event_info info = {.again = true};
  while (info.again) CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
}

static void start(cpl_model* m) {
  cpl_setup setup = {0};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  update(m);
}

static size_t turn(cpl_model* m) {
  size_t n = 0;
  CHECK_OK(ctx, m->ops->dae->use_residuals(m, &n));
  return n;
}

static double value(cpl_model* m, const char* name) {
  double out = NAN;
  uint32_t ref = m->base.desc->vars[cpl_find_variable(m->base.desc, name)].ref;
  CHECK_OK(ctx, m->base.ops->get_real(&m->base, &ref, 1, &out));
  return out;
}

// By how much each input misses what it is coupled to.
static void misses(cpl_model* m, double* out) {
  double y1 = value(m, "b.y1"), y2 = value(m, "b.y2"), factor = plain ? scaled : 1;
  out[0] = value(m, "a.u1") - (plain ? scaled * y1 : y1 / 2 + sin(y2));
  out[1] = value(m, "a.u2") - scaled * y2 - shifted;
  out[2] = value(m, "b.u1") - factor * value(m, "a.y1");
  out[3] = value(m, "b.u2") - factor * value(m, "a.y2");
}

// A point of the differential-algebraic system: f and g there, one after the other.
static void evaluate(cpl_model* m, const double* at, double* out) {
  CHECK_OK(ctx, m->ops->set_states(m, at));
  CHECK_OK(ctx, m->ops->dae->set_algebraics(m, at + STATES));
  CHECK_OK(ctx, m->ops->get_derivatives(m, out));
  CHECK_OK(ctx, m->ops->dae->get_residuals(m, out + STATES));
}

//------------------------------------ values ------------------------------------

static void residuals_vanish_where_loops_are_solved(void** state) {
  (void)state;
  static const double points[][STATES] = {{1, 0.5, 1, 0.5}, {-2, 1, 0.3, 0.1}, {0, -3, 2, 0.7}};
  for (size_t k = 0; k < sizeof points / sizeof *points; k++) {
    cpl_model* nested = make_pair(&curved);
    cpl_source* first = source;
    cpl_model* rows = make_pair(&curved);
    double z[TIES], nominals[TIES], d_nested[STATES], out[STATES + TIES], missed[TIES];
    size_t n = turn(rows);
    CHECK(n >= 1 && n < TIES);  // torn
    start(nested);
    start(rows);
    CHECK_OK(ctx, rows->ops->dae->get_algebraic_nominals(rows, nominals));
    for (size_t i = 0; i < n; i++) CHECK(nominals[i] == 3 || nominals[i] == 5);
    CHECK_OK(ctx, nested->ops->set_states(nested, points[k]));
    CHECK_OK(ctx, nested->ops->get_derivatives(nested, d_nested));
    CHECK_OK(ctx, rows->ops->set_states(rows, points[k]));
    CHECK_OK(ctx, rows->ops->dae->get_algebraics(rows, z));
    double at[STATES + TIES];
    memcpy(at, points[k], sizeof points[k]);
    memcpy(at + STATES, z, n * sizeof *z);
    evaluate(rows, at, out);
    for (int i = 0; i < STATES; i++) CHECK_NEAR(out[i], d_nested[i], 1e-9);
    for (size_t i = 0; i < n; i++) CHECK_NEAR(out[STATES + i], 0, 1e-9);
    misses(rows, missed);
    for (int i = 0; i < TIES; i++) CHECK_NEAR(missed[i], 0, 1e-9);
    drop(rows);
    source = first;
    drop(nested);
  }
}

// Away from the solution all couplings hold but the torn ones, which miss by the residuals.
static void a_residual_is_what_a_coupling_misses(void** state) {
  (void)state;
  cpl_model* m = make_pair(&curved);
  double z[TIES], missed[TIES], out[STATES + TIES];
  size_t n = turn(m);
  start(m);
  CHECK_OK(ctx, m->ops->dae->get_algebraics(m, z));
  double at[STATES + TIES] = {1, 0.5, 1, 0.5};
  for (size_t i = 0; i < n; i++) at[STATES + i] = z[i] + 0.25 * (double)(i + 1);
  evaluate(m, at, out);
  misses(m, missed);
  size_t found = 0;
  for (int i = 0; i < TIES; i++) {
    bool torn = false;
    for (size_t k = 0; k < n; k++) torn = torn || fabs(missed[i] - out[STATES + k]) < 1e-12;
    found += torn && fabs(missed[i]) > 1e-3;
    CHECK(torn || fabs(missed[i]) < 1e-12);
  }
  CHECK_INT(found, n);
  // and the values that were given are those of torn inputs
  CHECK_OK(ctx, m->ops->dae->get_algebraics(m, z));
  CHECK(memcmp(z, at + STATES, n * sizeof *z) == 0);
  drop(m);
}

//------------------------------------ the linear system ------------------------------------

static void difference_jacobian(cpl_model* m, const double* at, size_t n, double* out) {
  double plus[STATES + TIES], minus[STATES + TIES], moved[STATES + TIES];
  const double h = 1e-5;
  for (size_t c = 0; c < n; c++) {
    memcpy(moved, at, n * sizeof *moved);
    moved[c] = at[c] + h;
    evaluate(m, moved, plus);
    moved[c] = at[c] - h;
    evaluate(m, moved, minus);
    for (size_t r = 0; r < n; r++) out[c * n + r] = (plus[r] - minus[r]) / (2 * h);
  }
}

// (I - gamma f_x) dx - gamma f_z dz = r, g_x dx + g_z dz = s
static void check_solution(const double* jacobian, size_t n, double gamma, const double* right,
                           const double* d, double tolerance) {
  for (size_t row = 0; row < n; row++) {
    double sum = row < STATES ? d[row] : 0;
    for (size_t c = 0; c < n; c++)
      sum += (row < STATES ? -gamma : 1) * jacobian[c * n + row] * d[c];
    CHECK_NEAR(sum, right[row], tolerance);
  }
}

static void systems_are_those_of_a_difference_jacobian(void** state) {
  (void)state;
  for (int kind = 0; kind < 4; kind++) {
    bool directions = kind % 2 == 1;
    plain = kind >= 2;
    cpl_model_def def = curved;
    if (!directions) def.directional = NULL;
    cpl_model* m = make_pair(&def);
    size_t n = STATES + turn(m);
    double jacobian[(STATES + TIES) * (STATES + TIES)], d[STATES + TIES], out[STATES + TIES];
    const double at[STATES + TIES] = {1, 0.5, -0.3, 0.7, 0.2, -0.4, 0.6};
    const double right[STATES + TIES] = {0.3, -1, 2, 0.5, 1, -0.7, 0.9};
    start(m);
    difference_jacobian(m, at, n, jacobian);
    evaluate(m, at, out);
    for (int k = 0; k < 2; k++) {  // the second time with the Jacobian of the first
      double gamma = k == 0 ? 0.3 : 1e-3;
      CHECK_OK(ctx, m->ops->newton->setup(m, gamma, k == 0));
      CHECK_OK(ctx, m->ops->newton->solve(m, right, d));
      check_solution(jacobian, n, gamma, right, d, directions ? 1e-8 : 1e-5);
    }
    drop(m);
  }
  plain = false;
}

//------------------------------------ events, saved states ------------------------------------

// Until the integrator gives values again, loops are solved: at the states after the event.
static void an_event_solves_the_loops_again(void** state) {
  (void)state;
  cpl_model* m = make_pair(&curved);
  double z[TIES] = {0}, out[STATES + TIES], x[STATES], missed[TIES];
  double at[STATES + TIES] = {1, 0.5, 1, 0.5, 7, -7, 7};
  turn(m);
  start(m);
  CHECK_OK(ctx, m->ops->set_time(m, 1));
  evaluate(m, at, out);
  misses(m, missed);
  double most = 0;
  for (int i = 0; i < TIES; i++) most = fmax(most, fabs(missed[i]));
  CHECK(most > 1);
  CHECK_OK(ctx, m->ops->enter_event(m));
  update(m);
  CHECK_OK(ctx, m->ops->get_states(m, x));
  CHECK_NEAR(x[0], 2, 0);
  CHECK_NEAR(x[2], 2, 0);
  misses(m, missed);
  for (int i = 0; i < TIES; i++) CHECK_NEAR(missed[i], 0, 1e-9);
  x[0] = 3;  // as a projection may move them
  CHECK_OK(ctx, m->ops->set_states(m, x));
  CHECK_OK(ctx, m->ops->dae->get_residuals(m, out));
  CHECK_NEAR(out[0], 0, 0);
  CHECK_OK(ctx, m->ops->dae->get_algebraics(m, z));
  memcpy(at, x, sizeof x);
  memcpy(at + STATES, z, sizeof z);
  misses(m, missed);
  for (int i = 0; i < TIES; i++) CHECK_NEAR(missed[i], 0, 1e-9);
  evaluate(m, at, out);
  misses(m, missed);
  for (int i = 0; i < TIES; i++) CHECK_NEAR(missed[i], 0, 1e-9);
  drop(m);
}

static void given_values_are_saved_and_restored(void** state) {
  (void)state;
  cpl_model* m = make_pair(&curved);
  cpl_snapshot solved = {0}, given = {0};
  double z[TIES], before[STATES + TIES], after[STATES + TIES], missed[TIES];
  const double here[STATES + TIES] = {1, 0.5, 1, 0.5, 0.1, 0.2, 0.3};
  const double there[STATES + TIES] = {2, 1.5, -1, 0.7, -5, 5, 1};
  size_t n = turn(m);
  start(m);
  CHECK_OK(ctx, m->base.ops->save(&m->base, &solved));
  evaluate(m, here, before);
  CHECK_OK(ctx, m->base.ops->save(&m->base, &given));
  evaluate(m, there, after);
  CHECK_OK(ctx, m->base.ops->restore(&m->base, &given));
  CHECK_OK(ctx, m->ops->dae->get_algebraics(m, z));
  CHECK(memcmp(z, here + STATES, n * sizeof *z) == 0);
  CHECK_OK(ctx, m->ops->get_derivatives(m, after));
  CHECK_OK(ctx, m->ops->dae->get_residuals(m, after + STATES));
  CHECK(memcmp(before, after, (STATES + n) * sizeof *before) == 0);
  CHECK_OK(ctx, m->base.ops->restore(&m->base, &solved));
  CHECK_OK(ctx, m->ops->set_states(m, there));
  misses(m, missed);
  for (int i = 0; i < TIES; i++) CHECK_NEAR(missed[i], 0, 1e-9);  // none were given
  m->base.ops->forget(&m->base, &solved);
  m->base.ops->forget(&m->base, &given);
  drop(m);
}

//------------------------------------ steppers ------------------------------------

static cpl_stepper* stepper_of(cpl_form form, double rtol, bool restart) {
  cpl_solver_def def = cpl_default_solver_def();
  cpl_stepper* s = NULL;
  def.kind = CPL_SOLVER_IDA;
  def.rtol = rtol;
  def.form = form;
  def.restart_each_step = restart;
  CHECK_OK(ctx, cpl_integrate(make_pair(&curved), &def, &s));
  cpl_setup setup = {0};
  CHECK_OK(ctx, s->base.ops->setup(&s->base, &setup));
  CHECK_OK(ctx, s->base.ops->enter_init(&s->base));
  CHECK_OK(ctx, s->base.ops->exit_init(&s->base));
  return s;
}

// Steps on to t, through events, and reads two states and two inputs in loops.
static void go(cpl_stepper* s, double t, double* out) {
  static const char* const names[] = {"a.x1", "b.x2", "a.u1", "b.u2"};
  cpl_step_result result = {0};
  while (result.time < t || result.end == CPL_STEP_EVENT)
    CHECK_OK(ctx, s->ops->step(s, t, t, &result));
  for (int i = 0; i < 4; i++) {
    uint32_t ref = s->base.desc->vars[cpl_find_variable(s->base.desc, names[i])].ref;
    CHECK_OK(ctx, s->base.ops->get_real(&s->base, &ref, 1, &out[i]));
  }
}

static void drop_stepper(cpl_stepper* s) {
  s->base.ops->destroy(&s->base);
  source->ops->destroy(source);
}

static void runs_over_events_agree_with_nested_loops(void** state) {
  (void)state;
  for (double rtol = 1e-5; rtol > 1e-10; rtol *= 1e-2) {
    double nested[4], rows[4];
    cpl_stepper* s = stepper_of(CPL_FORM_AS_FITS, 1e-12, false);
    go(s, 2.5, nested);
    CHECK_INT(cpl_component_counter(&s->base, "algebraic_variables"), 0);
    drop_stepper(s);
    s = stepper_of(CPL_FORM_DAE, rtol, false);
    go(s, 2.5, rows);
    CHECK(cpl_component_counter(&s->base, "algebraic_variables") > 0);
    CHECK_INT(cpl_component_counter(&s->base, "time_events"), 1);
    for (int i = 0; i < 4; i++) CHECK_NEAR(rows[i], nested[i], 100 * rtol);
    drop_stepper(s);
  }
}

static void going_back_changes_no_bit(void** state) {
  (void)state;
  double straight[4], back[4], other[4];
  cpl_stepper* s = stepper_of(CPL_FORM_DAE, 1e-7, true);
  cpl_snapshot kept = {0};
  for (int k = 1; k <= 20; k++) {  // saved as well: kept factorisations are dropped where it is
    CHECK_OK(ctx, s->base.ops->save(&s->base, &kept));
    go(s, 0.1 * k, straight);
  }
  s->base.ops->forget(&s->base, &kept);
  drop_stepper(s);
  s = stepper_of(CPL_FORM_DAE, 1e-7, true);
  for (int k = 1; k <= 20; k++) {
    CHECK_OK(ctx, s->base.ops->save(&s->base, &kept));
    go(s, 0.1 * k - 0.04, other);
    CHECK_OK(ctx, s->base.ops->restore(&s->base, &kept));
    go(s, 0.1 * k, back);
  }
  CHECK(memcmp(straight, back, sizeof back) == 0);
  s->base.ops->forget(&s->base, &kept);
  drop_stepper(s);
}

static void only_ida_has_rows(void** state) {
  (void)state;
  cpl_solver_def def = cpl_default_solver_def();
  cpl_stepper* s = NULL;
  def.form = CPL_FORM_DAE;
  CHECK_INT(cpl_integrate(make_pair(&curved), &def, &s), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "solver cvode cannot");
  source->ops->destroy(source);
  cpl_form form = CPL_FORM_ODE;
  CHECK(cpl_loops_by_name("nested", &form) && form == CPL_FORM_ODE);
  CHECK(cpl_loops_by_name("as-rows", &form) && form == CPL_FORM_DAE);
  CHECK(cpl_loops_by_name("nested", &form) && form == CPL_FORM_AS_FITS);
  CHECK(!cpl_loops_by_name("rows", &form));
}

//------------------------------------ who has no rows ------------------------------------

static cpl_model* couple_one(const cpl_model_def* def, const char* from) {
  cpl_model *m = NULL, *parts[1];
  CHECK_OK(ctx, cpl_c_define(ctx, def, &source));
  parts[0] = part("a");
  cpl_coupling tie = {.target = {0, var("u")}, .source = {0, var(from)}};
  cpl_aggregate_def all = {.size = sizeof all,
                           .name = "one",
                           .parts = parts,
                           .n_parts = 1,
                           .couplings = &tie,
                           .n_couplings = 1};
  CHECK_OK(ctx, cpl_aggregate(ctx, &all, &m));
  return m;
}

static int still_outputs(const cpl_values* v, double* y) {
  y[0] = 2 * v->u[0] + 1;
  return CPL_MODEL_OK;
}
static const cpl_model_def still = {.name = "still",
                                    .inputs = gain_inputs,
                                    .outputs = gain_output_list,
                                    .output_values = still_outputs};

static void without_loops_or_states_there_is_nothing_to_turn(void** state) {
  (void)state;
  cpl_model* m = couple_one(&gain_model, "x");
  CHECK_INT(turn(m), 0);
  drop(m);
  m = couple_one(&gain_model, "y");
  CHECK_INT(turn(m), 1);
  drop(m);
  m = couple_one(&still, "y");
  CHECK_INT(turn(m), 0);
  start(m);
  CHECK_NEAR(value(m, "a.y"), -1, 1e-10);
  drop(m);
}

static void running_out_of_memory_does_no_harm(void** state) {
  (void)state;
  cpl_context* whole = ctx;
  test_heap heap = {.fail_at = -1};
  cpl_context_def def = cpl_default_context_def();
  def.realloc = heap_realloc;
  def.user = &heap;
  ctx = cpl_context_create(&def);
  cpl_status st = CPL_ERR_NOMEM;
  for (long k = 0; st == CPL_ERR_NOMEM; k++) {
    cpl_model* m = make_pair(&curved);
    size_t n = 0;
    heap.fail_at = heap.calls + k;
    st = m->ops->dae->use_residuals(m, &n);
    heap.fail_at = -1;
    drop(m);
  }
  CHECK_INT(st, CPL_OK);
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
  ctx = whole;
}

// y2 follows u2 against its word: there are two loops where one was declared.
static int lying_outputs(const cpl_values* v, double* y) {
  y[0] = v->u[0] / 4 + v->x[0];
  y[1] = v->u[1] / 4 + v->x[1];
  return CPL_MODEL_OK;
}
static void loops_that_were_not_declared_are_refused(void** state) {
  (void)state;
  static const cpl_dependency said[] = {{.of = "y1", .on = "u1 x1"}, {.of = "y2", .on = "x2"}, {0}};
  cpl_model_def lying = curved;
  cpl_model *m = NULL, *parts[1];
  lying.output_values = lying_outputs;
  lying.directional = NULL;
  lying.dependencies = said;
  CHECK_OK(ctx, cpl_c_define(ctx, &lying, &source));
  parts[0] = part("a");
  cpl_coupling ties[2] = {{.target = {0, var("u1")}, .source = {0, var("y1")}},
                          {.target = {0, var("u2")}, .source = {0, var("y2")}}};
  cpl_aggregate_def all = {.size = sizeof all,
                           .name = "one",
                           .parts = parts,
                           .n_parts = 1,
                           .couplings = ties,
                           .n_couplings = 2};
  CHECK_OK(ctx, cpl_aggregate(ctx, &all, &m));
  CHECK_INT(turn(m), 1);
  cpl_setup setup = {0};
  cpl_event_info info = {0};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_INT(m->ops->enter_continuous(m), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "the algebraic loops differ from it");
  drop(m);
}

//------------------------------------ all ------------------------------------

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(residuals_vanish_where_loops_are_solved),
      cmocka_unit_test(a_residual_is_what_a_coupling_misses),
      cmocka_unit_test(systems_are_those_of_a_difference_jacobian),
      cmocka_unit_test(an_event_solves_the_loops_again),
      cmocka_unit_test(given_values_are_saved_and_restored),
      cmocka_unit_test(runs_over_events_agree_with_nested_loops),
      cmocka_unit_test(going_back_changes_no_bit),
      cmocka_unit_test(only_ida_has_rows),
      cmocka_unit_test(without_loops_or_states_there_is_nothing_to_turn),
      cmocka_unit_test(running_out_of_memory_does_no_harm),
      cmocka_unit_test(loops_that_were_not_declared_are_refused),
  };
  cpl_context_def def = cpl_default_context_def();
  ctx = cpl_context_create(&def);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
