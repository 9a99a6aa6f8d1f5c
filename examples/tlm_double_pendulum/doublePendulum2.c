// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The second half of the first rod (0.5 kg, 0.25 m) and the second rod (1 kg, 0.5 m) hinged to it.
// The free end of the half rod is the interface; nothing else holds the two. Angles are measured
// from the downward vertical. -f and -t act on the half rod, as in the other part.
#include <math.h>

#include "couplet/model.h"

enum { X, Y, PHI1, PHI2, VX, VY, W1, W2, N_STATES, N = 4 };
enum { R, A = R + 3, V = A + 9, OMEGA = V + 3 };

static const double m1 = 0.5, a = 0.25, m2 = 1, l = 0.5, g = 9.81;

// Gauss with pivots; the mass matrix is never singular.
static void solve(double m[N][N], double* b) {
  for (int k = 0; k < N; k++) {
    int p = k;
    for (int i = k + 1; i < N; i++) p = fabs(m[i][k]) > fabs(m[p][k]) ? i : p;
    for (int j = 0; j < N; j++) {
      double t = m[k][j];
      m[k][j] = m[p][j], m[p][j] = t;
    }
    double t = b[k];
    b[k] = b[p], b[p] = t;
    for (int i = k + 1; i < N; i++) {
      double f = m[i][k] / m[k][k];
      for (int j = k; j < N; j++) m[i][j] -= f * m[k][j];
      b[i] -= f * b[k];
    }
  }
  for (int k = N - 1; k >= 0; k--) {
    for (int j = k + 1; j < N; j++) b[k] -= m[k][j] * b[j];
    b[k] /= m[k][k];
  }
}

// Lagrange's equations for the place of the interface and the two angles. Along a rod points
// (sin, -cos), across it (cos, sin).
static int derivatives(const cpl_values* v, double* dx) {
  const double* x = v->x;
  double s1 = sin(x[PHI1]), c1 = cos(x[PHI1]), s2 = sin(x[PHI2]), c2 = cos(x[PHI2]);
  double w1 = x[W1] * x[W1], w2 = x[W2] * x[W2];
  double k1 = m1 * a / 2 + m2 * a, k2 = m2 * l / 2;
  double same = c1 * c2 + s1 * s2, turned = c1 * s2 - s1 * c2;  // cos, sin of phi2 - phi1
  double m[N][N] = {{m1 + m2, 0, k1 * c1, k2 * c2},
                    {0, m1 + m2, k1 * s1, k2 * s2},
                    {k1 * c1, k1 * s1, m1 * a * a / 3 + m2 * a * a, k2 * a * same},
                    {k2 * c2, k2 * s2, k2 * a * same, m2 * l * l / 3}};
  double b[N] = {-v->u[0] + k1 * s1 * w1 + k2 * s2 * w2,
                 -v->u[1] - k1 * c1 * w1 - k2 * c2 * w2 - (m1 + m2) * g,
                 -v->u[5] - g * s1 * k1 + k2 * a * turned * w2,
                 -g * s2 * k2 - k2 * a * turned * w1};
  solve(m, b);
  for (int i = 0; i < N; i++) dx[i] = x[VX + i], dx[VX + i] = b[i];
  return CPL_MODEL_OK;
}

static int outputs(const cpl_values* v, double* y) {
  double s = sin(v->x[PHI1]), c = cos(v->x[PHI1]);
  for (int i = 0; i < OMEGA + 3; i++) y[i] = 0;
  y[R] = v->x[X], y[R + 1] = v->x[Y];
  y[A] = s, y[A + 1] = c, y[A + 3] = -c, y[A + 4] = s, y[A + 8] = 1;
  y[V] = v->x[VX], y[V + 1] = v->x[VY];
  y[OMEGA + 2] = v->x[W1];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x"},
                                         {"y"},
                                         {"phi1", .start = 1.5707963267948966, .output = true},
                                         {"phi2", .start = 1.5707963267948966, .output = true},
                                         {"vx"},
                                         {"vy"},
                                         {"w1"},
                                         {"w2"},
                                         {0}};
static const cpl_declaration inputs[] = {{"f", .size = 3}, {"t", .size = 3}, {0}};
static const cpl_declaration output_list[] = {
    {"r", .size = 3}, {"A", .size = 9}, {"v", .size = 3}, {"w", .size = 3}, {0}};
static const cpl_dependency dependencies[] = {
    {"r", "x y", NULL},        {"A", "phi1", NULL},       {"v", "vx vy", NULL},
    {"w", "w1", NULL},         {"der(x)", "vx", NULL},    {"der(y)", "vy", NULL},
    {"der(phi1)", "w1", NULL}, {"der(phi2)", "w2", NULL}, {0}};

CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = "doublePendulum2",
                                                      .states = states,
                                                      .inputs = inputs,
                                                      .outputs = output_list,
                                                      .derivatives = derivatives,
                                                      .output_values = outputs,
                                                      .dependencies = dependencies,
                                                      .tolerance = 1e-8,
                                                      .stop_time = 3};
