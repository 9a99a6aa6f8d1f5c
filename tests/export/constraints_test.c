// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Constraints of an exported FMU, as another tool would ask for them.
#include "driver.h"

static fmi2Component start(driver* d, heard* h, double x, double y, double vx, double vy) {
  fmi2Component c = driver_start(d, fmi2ModelExchange, h, 0);
  fmi2EventInfo info = {0};
  CHECK_INT(d->fmi2NewDiscreteStates(c, &info), fmi2OK);
  CHECK_INT(d->fmi2EnterContinuousTimeMode(c), fmi2OK);
  double states[] = {x, y, vx, vy};
  CHECK_INT(d->fmi2SetContinuousStates(c, states, 4), fmi2OK);
  return c;
}

static void residuals_and_their_jacobian(driver* d) {
  heard h = {0};
  size_t n = 0;
  double r[3], jac[12];
  fmi2Component c = start(d, &h, 0.5, -1, 2, 0.25);
  CHECK_INT(d->fmi2GetNumberOfConstraints(c, &n), fmi2OK);
  CHECK_INT(n, 2);
  CHECK_INT(d->fmi2Constraint(c, r), fmi2OK);
  CHECK_NEAR(r[0], 0.25, 1e-15);
  CHECK_NEAR(r[1], 0.75, 1e-15);
  CHECK_INT(d->fmi2ConstraintJacobian(c, jac), fmi2OK);
  static const double exact[] = {1, -2, 0, 0, 2, 0.25, 0.5, -1};
  for (int i = 0; i < 8; i++) CHECK_NEAR(jac[i], exact[i], 1e-12);
  d->fmi2FreeInstance(c);
}

// S = -D' (D D')^-1 C: it meets D S = -C and is a combination of the rows of D.
static void steps_are_the_shortest(driver* d) {
  heard h = {0};
  double r[3], jac[12], s[4];
  fmi2Component c = start(d, &h, 0.6, -0.9, 2, 1.5);
  CHECK_INT(d->fmi2Constraint(c, r), fmi2OK);
  CHECK_INT(d->fmi2ConstraintJacobian(c, jac), fmi2OK);
  CHECK_INT(d->fmi2ProjectionStep(c, s), fmi2OK);
  for (int k = 0; k < 2; k++) {
    double sum = 0;
    for (int i = 0; i < 4; i++) sum += jac[4 * k + i] * s[i];
    CHECK_NEAR(sum, -r[k], 1e-12);
  }
  // what is orthogonal to both rows: the tangent (y, -x) of the position, with its velocity
  const double *a = jac, *b = jac + 4;
  double one[4] = {a[1], -a[0], 0, 0};
  double along = (b[0] * one[0] + b[1] * one[1]) / (b[2] * b[2] + b[3] * b[3]);
  one[2] = -along * b[2];
  one[3] = -along * b[3];
  double two[4] = {0, 0, b[3], -b[2]};
  double first = 0, second = 0;
  for (int i = 0; i < 4; i++) first += one[i] * s[i], second += two[i] * s[i];
  CHECK_NEAR(first, 0, 1e-12);
  CHECK_NEAR(second, 0, 1e-12);
  d->fmi2FreeInstance(c);
}

// In the pivot the gradient of the length vanishes, and no step leads to it.
static void without_gradients_there_is_no_step(driver* d) {
  heard h = {0};
  double x[4], s[4];
  fmi2Component c = start(d, &h, 0, 0, 0, 0);
  CHECK_INT(d->fmi2ProjectionStep(c, s), fmi2Discard);
  CHECK_INT(d->fmi2Projection(c, s, 1e-8, 10, fmi2True), fmi2Discard);
  CHECK_INT(d->fmi2GetContinuousStates(c, x, 4), fmi2OK);
  for (int i = 0; i < 4; i++) CHECK_NEAR(x[i], 0, 0);
  x[1] = -0.8;
  CHECK_INT(d->fmi2SetContinuousStates(c, x, 4), fmi2OK);
  CHECK_INT(d->fmi2ProjectionStep(c, s), fmi2OK);
  CHECK_NEAR(s[1], -0.225, 1e-12);
  d->fmi2FreeInstance(c);
}

static void projections_end_on_the_constraints(driver* d) {
  heard h = {0};
  double x[4], p[4], r[3];
  fmi2Component c = start(d, &h, 0.6, -0.9, 2, 1.5);
  CHECK_INT(d->fmi2Projection(c, p, 1e-10, 10, fmi2False), fmi2OK);
  CHECK_INT(d->fmi2GetContinuousStates(c, x, 4), fmi2OK);
  CHECK_NEAR(x[0], 0.6, 0);  // only told
  CHECK_INT(d->fmi2Projection(c, p, 1e-10, 10, fmi2True), fmi2OK);
  CHECK_INT(d->fmi2GetContinuousStates(c, x, 4), fmi2OK);
  CHECK_NEAR(x[0], 0.6 + p[0], 1e-15);
  CHECK_INT(d->fmi2Constraint(c, r), fmi2OK);
  CHECK_NEAR(r[0], 0, 1e-10);
  CHECK_NEAR(r[1], 0, 1e-10);

  // too few iterations: discarded, and nothing has moved
  double start_at[] = {3, -4, 20, 5};
  CHECK_INT(d->fmi2SetContinuousStates(c, start_at, 4), fmi2OK);
  CHECK_INT(d->fmi2Projection(c, p, 1e-10, 1, fmi2True), fmi2Discard);
  CHECK_INT(d->fmi2GetContinuousStates(c, x, 4), fmi2OK);
  for (int i = 0; i < 4; i++) CHECK_NEAR(x[i], start_at[i], 0);
  // the last iteration may be the one that converges
  CHECK_INT(d->fmi2Projection(c, p, 1e-10, 20, fmi2True), fmi2OK);
  CHECK_INT(d->fmi2Projection(c, p, 0, 20, fmi2True), fmi2Error);
  CHECK_CONTAINS(h.text, "the tolerance is 0");
  d->fmi2FreeInstance(c);
}

static void an_fmu_answers_about_its_constraints(void** state) {
  (void)state;
  driver d;
  driver_open(&d, "examples/drift/pendulum.c", "pendulum");
  CHECK_CONTAINS(d.xml, "<Constraints maxNumberOfConstraints=\"3\" providesProjection=\"true\"");
  residuals_and_their_jacobian(&d);
  steps_are_the_shortest(&d);
  without_gradients_there_is_no_step(&d);
  projections_end_on_the_constraints(&d);
  driver_close(&d);
}

static void a_model_without_says_so(void** state) {
  (void)state;
  driver d;
  heard h = {0};
  size_t n = 7;
  double c[8];
  driver_open(&d, "examples/van_der_pol/van_der_pol.c", "van_der_pol");
  fmi2Component v = driver_instance(&d, fmi2ModelExchange, &h);
  CHECK_INT(d.fmi2SetupExperiment(v, fmi2False, 0, 0, fmi2False, 0), fmi2OK);
  CHECK_INT(d.fmi2EnterInitializationMode(v), fmi2OK);
  CHECK_INT(d.fmi2GetNumberOfConstraints(v, &n), fmi2OK);
  CHECK_INT(n, 0);
  CHECK_INT(d.fmi2Constraint(v, c), fmi2Error);
  CHECK_CONTAINS(h.text, "the model has no constraints");
  CHECK(strstr(d.xml, "Constraints") == NULL);
  d.fmi2FreeInstance(v);
  driver_close(&d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_fmu_answers_about_its_constraints),
      cmocka_unit_test(a_model_without_says_so),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
