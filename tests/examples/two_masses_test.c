// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The example of the system file against the same equations written out by hand.
#include "testing.h"

enum { XL, VL, XR, VR, N };
static const double step = 1e-5;

static void rhs(double t, const double* x, double* dx) {
  const double k = 10, d = 2 * sqrt(k) / 100, push = t < 1 ? sin(acos(-1) * t) : 0;
  dx[XL] = x[VL];
  dx[VL] = -k * x[XL] - d * x[VL] + k * (x[XR] - x[XL]) + push;
  dx[XR] = x[VR];
  dx[VR] = -k * (x[XR] - x[XL]) / 2;
}

static void rk4(double t, double h, double* x) {
  double k[4][N], at[N];
  rhs(t, x, k[0]);
  for (int i = 0; i < N; i++) at[i] = x[i] + h / 2 * k[0][i];
  rhs(t + h / 2, at, k[1]);
  for (int i = 0; i < N; i++) at[i] = x[i] + h / 2 * k[1][i];
  rhs(t + h / 2, at, k[2]);
  for (int i = 0; i < N; i++) at[i] = x[i] + h * k[2][i];
  rhs(t + h, at, k[3]);
  for (int i = 0; i < N; i++) x[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

// One step of the reference, through the wall if it is met on the way.
static void advance(long i, double* x) {
  double t = (double)i * step, before = x[XR], start[N];
  memcpy(start, x, sizeof start);
  if (i == 500000) x[VL] = start[VL] += 0.5;
  rk4(t, step, x);
  if (!(before <= 0.15 && x[XR] > 0.15)) return;
  double part = step * (0.15 - before) / (x[XR] - before);  // the path is straight within a step
  memcpy(x, start, sizeof start);
  rk4(t, part, x);
  x[VR] = -x[VR];
  rk4(t + part, step - part, x);
}

static void the_system_follows_the_equations(void** state) {
  (void)state;
  char command[8192];
  snprintf(command, sizeof command, "'%s' run '%s' -q --rtol 1e-10 -o masses.csv",
           getenv("COUPLET"), test_path("examples/two_masses/two_masses.yaml"));
  CHECK_INT(system(command), 0);
  cpl_context* ctx = test_context();
  cpl_table* table;
  CHECK_OK(ctx, cpl_results_read(ctx, "masses.csv", &table));
  const double* left = table->values + (size_t)cpl_table_find(table, "left.x") * table->n_rows;
  const double* right = table->values + (size_t)cpl_table_find(table, "right.x") * table->n_rows;
  double x[N] = {0.1, 0, 0, 0};
  long i = 0;
  size_t compared = 0;
  for (size_t row = 0; row < table->n_rows; row++) {
    long at = lround(table->time[row] / step);
    if (fabs(table->time[row] - (double)at * step) > 1e-12) continue;  // an event between the steps
    for (; i < at; i++) advance(i, x);
    CHECK_NEAR(left[row], x[XL], 3e-7);
    CHECK_NEAR(right[row], x[XR], 3e-7);
    compared++;
  }
  CHECK(compared > 1000);
  cpl_table_destroy(table);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_system_follows_the_equations)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
