// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A master takes a step back and repeats it in two halves. Whatever a solver keeps from one step to
// the next (step sizes, Jacobians, histories, distances of events) must not show in the result: it
// has the bits of a run that took the halves at once, and an error that follows the tolerance. The
// model is stiff and has events; its solution is known in closed form.
#include "models.h"

static const double STOP = 2.4;  // end of the run
enum { STEPS = 16 };

// x' = -60 (x - cos 2t) - 2 sin 2t, so that x = cos 2t; y' = side, which turns at y = +-0.35; y is
// a triangle wave.
static int rates(const cpl_values* v, double* dx) {
  dx[0] = -60 * (v->x[0] - cos(2 * v->t)) - 2 * sin(2 * v->t);
  dx[1] = v->w[0];
  return CPL_MODEL_OK;
}
static int sides(const cpl_values* v, double* z) {
  z[0] = 0.35 - v->w[0] * v->x[1];
  return CPL_MODEL_OK;
}
static int turn(const cpl_values* v, cpl_event_actions* a) {
  if (a->crossed[0] < 0) a->w[0] = -v->w[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration states[] = {{"x", .start = 1}, {"y"}, END_OF_LIST};
static const cpl_declaration discrete[] = {{"side", .start = 1}, END_OF_LIST};
static const cpl_model_def model = {.name = "both",
                                    .states = states,
                                    .discrete = discrete,
                                    .n_indicators = 1,
                                    .derivatives = rates,
                                    .indicators = sides,
                                    .event = turn};

static double triangle(double t) {
  double phase = fmod(t + 0.35, 1.4);
  return phase < 0.7 ? phase - 0.35 : 1.05 - phase;
}

typedef struct run {
  cpl_source* source;
  cpl_stepper* s;
} run;

static run begin(cpl_context* ctx, cpl_solver_kind kind, double rtol) {
  run r;
  cpl_model* m;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = kind;
  def.rtol = rtol;
  def.step = kind == CPL_SOLVER_RK4 || kind == CPL_SOLVER_EULER ? STOP / 960 : 0;
  def.restart_each_step = true;
  CHECK_OK(ctx, cpl_c_define(ctx, &model, &r.source));
  CHECK_OK(ctx, r.source->ops->make_model(r.source, "both", &m));
  CHECK_OK(ctx, cpl_integrate(m, &def, &r.s));
  CHECK_OK(ctx, r.s->base.ops->setup(&r.s->base, &(cpl_setup){0}));
  CHECK_OK(ctx, r.s->base.ops->enter_init(&r.s->base));
  CHECK_OK(ctx, r.s->base.ops->exit_init(&r.s->base));
  return r;
}

static void end(run* r) {
  r->s->base.ops->destroy(&r->s->base);
  r->source->ops->destroy(r->source);
}

// Through the events on the way.
static void advance(cpl_context* ctx, run* r, double t) {
  cpl_step_result result = {0};
  for (int i = 0; i < 20 && (i == 0 || result.time < t); i++)
    CHECK_OK(ctx, r->s->ops->step(r->s, t, t, &result));
  CHECK_NEAR(result.time, t, 0);
}

static void values(cpl_context* ctx, run* r, double* out) {
  const cpl_description* d = r->s->base.desc;
  uint32_t refs[] = {d->vars[cpl_find_variable(d, "x")].ref,
                     d->vars[cpl_find_variable(d, "y")].ref};
  CHECK_OK(ctx, r->s->base.ops->get_real(&r->s->base, refs, 2, out));
}

static void check_halves(cpl_context* ctx, cpl_solver_kind kind, double rtol, double allowed) {
  run plain = begin(ctx, kind, rtol), halved = begin(ctx, kind, rtol);
  cpl_component* c = &halved.s->base;
  cpl_snapshot snapshot = {0};
  for (int k = 0; k < STEPS; k++) {
    double t = STOP * k / STEPS, middle = STOP * (k + 0.5) / STEPS, next = STOP * (k + 1) / STEPS;
    double a[2], b[2];
    advance(ctx, &plain, middle);
    advance(ctx, &plain, next);
    CHECK_OK(ctx, c->ops->save(c, &snapshot));
    advance(ctx, &halved, next + (k % 3) * 0.4 * (next - t));  // also longer ones
    CHECK_OK(ctx, c->ops->restore(c, &snapshot));
    advance(ctx, &halved, middle);
    advance(ctx, &halved, next);
    values(ctx, &plain, a);
    values(ctx, &halved, b);
    if (memcmp(a, b, sizeof a) != 0)
      fail_msg("%s, rtol %g, t = %g: %.17g, %.17g and %.17g, %.17g", cpl_solver_name(kind), rtol,
               next, a[0], a[1], b[0], b[1]);
    double error = fmax(fabs(b[0] - cos(2 * next)), fabs(b[1] - triangle(next)));
    if (!(error < allowed))
      fail_msg("%s, rtol %g, t = %g: error %g", cpl_solver_name(kind), rtol, next, error);
  }
  c->ops->forget(c, &snapshot);
  end(&plain);
  end(&halved);
}

static void halves_have_no_memory(void** state) {
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS,   CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_ESDIRK5, CPL_SOLVER_ERK8,
                                          CPL_SOLVER_IDA};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    for (double rtol = 1e-4; rtol > 1e-9; rtol *= 1e-2) check_halves(*state, kinds[i], rtol, rtol);
  }
  check_halves(*state, CPL_SOLVER_RK4, 1e-6, 1e-5);    // of order 4 in the step
  check_halves(*state, CPL_SOLVER_EULER, 1e-6, 3e-3);  // of order 1
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
      cmocka_unit_test_setup_teardown(halves_have_no_memory, set_up, tear_down)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
