// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Samples inside of a step have the values that the stepper has when it goes there, to the bit, and
// reading them does not change what it does.
#include "solver/sample.h"
#include "testing.h"

// x'' = -9 x - u, where u is an input that is a curve; y = x^2 + u is no state
static int swing(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = -9 * v->x[0] - v->u[0];
  return CPL_MODEL_OK;
}

static int square(const cpl_values* v, double* y) {
  y[0] = v->x[0] * v->x[0] + v->u[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .start = 1}, {"v"}, {0}};
static const cpl_declaration inputs[] = {{"u"}, {0}};
static const cpl_declaration outputs[] = {{"y"}, {0}};
static const cpl_model_def model_def = {.name = "swing",
                                        .states = states,
                                        .inputs = inputs,
                                        .outputs = outputs,
                                        .derivatives = swing,
                                        .output_values = square};

static double push(const void* user, double t) {
  (void)user;
  return 0.3 * sin(2 * t);
}

typedef struct fixture {
  cpl_context* ctx;
  cpl_source* source;
  cpl_stepper* s;
  uint32_t refs[3];  // y, x, v
} fixture;

static void begin(fixture* f, cpl_solver_kind kind) {
  static const char* const names[] = {"y", "x", "v"};
  static const cpl_curve curve = {.value = push};
  cpl_model* model = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = kind;
  f->ctx = cpl_context_create(NULL);
  CHECK_OK(f->ctx, cpl_c_define(f->ctx, &model_def, &f->source));
  CHECK_OK(f->ctx, cpl_source_make_model(f->source, "swing", &model));
  CHECK_OK(f->ctx, cpl_integrate(model, &def, &f->s));
  const cpl_description* d = f->s->base.desc;
  for (int i = 0; i < 3; i++) f->refs[i] = d->vars[cpl_find_variable(d, names[i])].ref;
  const uint32_t u = d->vars[cpl_find_variable(d, "u")].ref;
  cpl_component* c = &f->s->base;
  const cpl_setup setup = {
      .size = sizeof setup, .start_time = 0, .has_stop_time = true, .stop_time = 5};
  CHECK_OK(f->ctx, c->ops->setup(c, &setup));
  CHECK_OK(f->ctx, c->ops->enter_init(c));
  CHECK_OK(f->ctx, f->s->ops->set_curve(f->s, u, &curve));
  CHECK_OK(f->ctx, c->ops->exit_init(c));
}

static void end(fixture* f) {
  cpl_stepper_destroy(f->s);
  cpl_source_destroy(f->source);
  cpl_context_destroy(f->ctx);
}

static void read_here(const fixture* f, double* values) {
  CHECK_OK(f->ctx, f->s->base.ops->get_real(&f->s->base, f->refs, 3, values));
}

static void step_to(const fixture* f, double t) {
  cpl_step_result r;
  CHECK_OK(f->ctx, f->s->ops->step(f->s, t, 5, &r));
  CHECK(r.time == t);
}

enum { N = 3, STEPS = 25 };
static const double fractions[N] = {0.1, 0.5, 0.9};

// One stepper is sampled, the other one goes to the same times.
static void check_method(cpl_solver_kind kind) {
  fixture a, b;
  cpli_sampler* sampler = NULL;
  double t = 0;
  begin(&a, kind);
  begin(&b, kind);
  CHECK_OK(a.ctx, cpli_sampler_create(a.s, a.refs, 3, &sampler));
  CHECK(sampler != NULL);
  for (int k = 0; k < STEPS && t < 5; k++) {
    double until, same, times[N], rows[3 * N], here[3], there[3];
    CHECK_OK(a.ctx, a.s->ops->ahead(a.s, 5, 5, &until));
    CHECK_OK(b.ctx, b.s->ops->ahead(b.s, 5, 5, &same));
    CHECK(until == same && until > t);
    for (int i = 0; i < N; i++) times[i] = t + fractions[i] * (until - t);
    CHECK_INT(cpli_sampler_read(sampler, times, N, rows), CPL_OK);
    for (int i = 0; i < N; i++) {
      step_to(&b, times[i]);
      read_here(&b, here);
      CHECK(memcmp(here, rows + 3 * i, sizeof here) == 0);
    }
    step_to(&a, until);
    step_to(&b, until);
    read_here(&a, there);
    read_here(&b, here);
    CHECK(memcmp(here, there, sizeof here) == 0);
    t = until;
  }
  cpli_sampler_destroy(sampler);
  end(&a);
  end(&b);
}

static void samples_are_the_values_of_outputs(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RADAU,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_ERK8,  CPL_SOLVER_IDA};
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) check_method(kinds[i]);
}

static void times_outside_of_the_step_are_refused(void** state) {
  (void)state;
  fixture f;
  cpli_sampler* sampler = NULL;
  double until, rows[6];
  begin(&f, CPL_SOLVER_CVODE);
  CHECK_OK(f.ctx, cpli_sampler_create(f.s, f.refs, 3, &sampler));
  CHECK_INT(cpli_sampler_read(sampler, (double[]){0.1}, 1, rows), CPL_RETRY);  // no step yet
  CHECK_OK(f.ctx, f.s->ops->ahead(f.s, 5, 5, &until));
  const double inside = 0.5 * until;
  CHECK_INT(cpli_sampler_read(sampler, &inside, 1, rows), CPL_OK);
  CHECK_INT(cpli_sampler_read(sampler, (double[]){inside, until}, 2, rows), CPL_RETRY);
  CHECK_INT(cpli_sampler_read(sampler, (double[]){0, inside}, 2, rows), CPL_RETRY);
  CHECK_INT(cpli_sampler_read(sampler, NULL, 0, rows), CPL_OK);
  cpli_sampler_destroy(sampler);
  cpli_sampler_destroy(NULL);
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(samples_are_the_values_of_outputs),
      cmocka_unit_test(times_outside_of_the_step_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
