// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Curves of an input that several subsystems share: a curve that begins at another value than the
// one before ends at is a jump, and each subsystem whose condition changes has an event there.
// Reference: the integrals of the curves by hand, and the changes of sign at their ends.
#include "models.h"

// x' = u; n counts the changes of the sign of u - level, and `when` is the time of the last one.
enum { N, WHEN };
static int gate_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0];
  return CPL_MODEL_OK;
}
static int gate_indicators(const cpl_values* v, double* z) {
  z[0] = v->u[0] - v->p[0];
  return CPL_MODEL_OK;
}
static int gate_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] == 0) return CPL_MODEL_OK;
  a->w[N] = v->w[N] + 1;
  a->w[WHEN] = v->t;
  return CPL_MODEL_OK;
}
static const cpl_declaration gate_states[] = {{"x"}, END_OF_LIST};
static const cpl_declaration gate_inputs[] = {{"u"}, END_OF_LIST};
static const cpl_declaration gate_parameters[] = {{"level"}, END_OF_LIST};
static const cpl_declaration gate_discrete[] = {{"n"}, {"when"}, END_OF_LIST};
static const cpl_model_def gate_model = {.name = "gate",
                                         .states = gate_states,
                                         .inputs = gate_inputs,
                                         .parameters = gate_parameters,
                                         .discrete = gate_discrete,
                                         .n_indicators = 1,
                                         .derivatives = gate_derivatives,
                                         .indicators = gate_indicators,
                                         .event = gate_event};

typedef struct bench {
  cpl_context* ctx;
  cpl_source *gate, *ball, *system;
  cpl_system_def* def;
  cpl_stepper* s;
} bench;

static void add(bench* b, const char* name, cpl_source* source) {
  cpl_member_def member = cpl_default_member_def();
  member.name = name;
  member.source = source;
  CHECK_OK(b->ctx, cpl_system_def_add_model(b->def, &member));
}

// Two gates of different levels follow the input u; a ball that bounces has events of its own.
static void begin(bench* b, cpl_solver_kind kind, bool restart) {
  cpl_model* m = NULL;
  *b = (bench){.ctx = test_context()};
  CHECK_OK(b->ctx, cpl_system_def_create(b->ctx, &b->def));
  CHECK_OK(b->ctx, cpl_c_define(b->ctx, &gate_model, &b->gate));
  CHECK_OK(b->ctx, cpl_c_define(b->ctx, &ball_model, &b->ball));
  add(b, "low", b->gate);
  add(b, "high", b->gate);
  add(b, "ball", b->ball);
  CHECK_OK(b->ctx, cpl_system_def_set(b->def, "low.level", "0.5"));
  CHECK_OK(b->ctx, cpl_system_def_set(b->def, "high.level", "0.93"));
  CHECK_OK(b->ctx, cpl_system_def_set(b->def, "ball.h", "0.2"));
  cpl_input_def input = cpl_default_input_def();
  input.name = "u";
  CHECK_OK(b->ctx, cpl_system_def_add_input(b->def, &input));
  CHECK_OK(b->ctx, cpl_system_def_connect(b->def, "low.u", "u"));
  CHECK_OK(b->ctx, cpl_system_def_connect(b->def, "high.u", "u"));
  CHECK_OK(b->ctx, cpl_system_build(b->ctx, b->def, &b->system));
  CHECK_OK(b->ctx, cpl_source_make_model(b->system, "s", &m));
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = kind;
  def.rtol = 1e-9;
  def.restart_each_step = restart;
  CHECK_OK(b->ctx, cpl_integrate(m, &def, &b->s));
  CHECK_NEAR(cpl_component_counter(&b->s->base, "groups"), 3, 0);
}

static void end(bench* b) {
  cpl_stepper_destroy(b->s);
  cpl_source_destroy(b->system);
  cpl_system_def_destroy(b->def);
  cpl_source_destroy(b->gate);
  cpl_source_destroy(b->ball);
  cpl_context_destroy(b->ctx);
}

static uint32_t ref_of(const bench* b, const char* name) {
  const cpl_description* d = b->s->base.desc;
  return d->vars[cpl_find_variable(d, name)].ref;
}

static double value_of(const bench* b, const char* name) {
  uint32_t ref = ref_of(b, name);
  double value = NAN;
  CHECK_OK(b->ctx, cpl_component_get_real(&b->s->base, &ref, 1, &value));
  return value;
}

// Inputs are known up to t: they may jump there.
static void advance(bench* b, double t) {
  cpl_step_result r = {0};
  do {
    CHECK_OK(b->ctx, cpl_stepper_step(b->s, t, t, &r));
    double at = r.time;
    while (r.end == CPL_STEP_EVENT) CHECK_OK(b->ctx, cpl_stepper_step(b->s, at, at, &r));
  } while (r.time < t);
}

// u = value + slope * (t - from) in four intervals of 0.3 s.
static const struct {
  double value, slope;
  int low, high;  // changes of sign so far
  double low_when, high_when;
} parts[] = {{0.2, 0.1, 0, 0, 0, 0},         // up to 0.23
             {0.9, -0.2, 1, 0, 0.3, 0},      // a jump above the lower level, down to 0.84
             {0.3, 0, 2, 0, 0.6, 0},         // a jump below it
             {0.95, -0.1, 3, 2, 0.9, 1.1}};  // above both; the upper one is crossed at 1.1

static void check_jumps(cpl_solver_kind kind, bool restart) {
  bench b;
  begin(&b, kind, restart);
  cpl_setup setup = cpl_default_setup();
  setup.has_stop_time = true, setup.stop_time = 1.2;
  uint32_t u = ref_of(&b, "u");
  CHECK_OK(b.ctx, cpl_component_setup(&b.s->base, &setup));
  CHECK_OK(b.ctx, cpl_component_enter_init(&b.s->base));
  CHECK_OK(b.ctx, cpl_component_set_real(&b.s->base, &u, 1, &parts[0].value));
  CHECK_OK(b.ctx, cpl_component_exit_init(&b.s->base));
  double x = 0;
  for (int i = 0; i < 4; i++) {
    cpl_curve curve = {
        .from = 0.3 * i, .order = 1, .coefficient = {parts[i].value, parts[i].slope}};
    CHECK_OK(b.ctx, cpl_stepper_set_curve(b.s, u, &curve));
    advance(&b, 0.3 * (i + 1));
    x += 0.3 * parts[i].value + 0.045 * parts[i].slope;
    CHECK_NEAR(value_of(&b, "low.x"), x, 1e-8);
    CHECK_NEAR(value_of(&b, "high.x"), x, 1e-8);
    CHECK_NEAR(value_of(&b, "low.n"), parts[i].low, 0);
    CHECK_NEAR(value_of(&b, "high.n"), parts[i].high, 0);
    CHECK_NEAR(value_of(&b, "low.when"), parts[i].low_when, 1e-9);
    CHECK_NEAR(value_of(&b, "high.when"), parts[i].high_when, 1e-7);
  }
  end(&b);
}

static void a_jump_is_an_event_of_each_subsystem_it_concerns(void** state) {
  (void)state;
  check_jumps(CPL_SOLVER_CVODE, false);
  check_jumps(CPL_SOLVER_CVODE, true);
  check_jumps(CPL_SOLVER_DOPRI5, false);
  check_jumps(CPL_SOLVER_RADAU, true);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_jump_is_an_event_of_each_subsystem_it_concerns),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
