// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The floor for large systems: a plate of cells or a grid of masses as one program, with CVODE and
// KLU, an analytic Jacobian, and the pattern of the whole. Cells of the plate are those of
// models/plate_cell.c, masses those of models/grid_mass.c.
//   bare_grid plate|masses WIDTH HEIGHT STOP POINTS RTOL OUT.csv INDEX...
#include <cvode/cvode.h>
#include <klu.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sundials/sundials_linearsolver.h>
#include <sundials/sundials_matrix.h>

static int width, height, cells, plate;  // plate: one state per cell; else position and speed
static int *first, *row;
static double *jacobian, *matrix;
static klu_common common;
static klu_symbolic* symbolic;
static klu_numeric* numeric;

enum { G = 50, K = 100, CUBIC = 10 };

static int neighbours(int i, int* out) {
  int x = i % width, y = i / width, n = 0;
  if (x > 0) out[n++] = i - 1;
  if (x + 1 < width) out[n++] = i + 1;
  if (y > 0) out[n++] = i - width;
  if (y + 1 < height) out[n++] = i + width;
  return n;
}

static int rhs(realtype t, N_Vector x_, N_Vector dx_, void* user) {
  const double* x = N_VGetArrayPointer(x_);
  double* dx = N_VGetArrayPointer(dx_);
  (void)t, (void)user;
  for (int i = 0; i < cells; i++) {
    int other[4], n = neighbours(i, other);
    double sum = 0;
    for (int k = 0; k < n; k++) {
      double d = plate ? x[other[k]] - x[i] : x[2 * other[k]] - x[2 * i];
      sum += plate ? G * d : K * d + CUBIC * d * d * d;
    }
    if (plate) {
      dx[i] = sum - 1e-10 * (x[i] * x[i] * x[i] * x[i] - 8.1e9);
    } else {
      dx[2 * i] = x[2 * i + 1];
      dx[2 * i + 1] = sum - 0.5 * x[2 * i + 1];
    }
  }
  return 0;
}

// Column by column: of a cell, or of the position and the speed of a mass. The diagonal is the
// first entry of each, so that KLU keeps it as the diagonal.
static void differentiate(const double* x, int fill) {
  int at = 0, states = plate ? 1 : 2;
  for (int i = 0; i < cells; i++) {
    int other[4], n = neighbours(i, other), diagonal = at, own = plate ? at : at + 1;
    double sum = 0;
    first[states * i] = at;
    row[at] = states * i, jacobian[at++] = 0;
    if (!plate) row[at++] = 2 * i + 1;
    for (int k = 0; k < n; k++) {
      double d = fill && !plate ? x[2 * other[k]] - x[2 * i] : 0;
      double slope = plate ? G : K + 3 * CUBIC * d * d;
      sum += slope;
      jacobian[at] = slope;
      row[at++] = plate ? other[k] : 2 * other[k] + 1;
    }
    jacobian[own] = -sum;
    if (plate) jacobian[diagonal] -= fill ? 4e-10 * x[i] * x[i] * x[i] : 0;
    if (plate) continue;
    first[2 * i + 1] = at;
    row[at] = 2 * i + 1, jacobian[at++] = -0.5;
    row[at] = 2 * i, jacobian[at++] = 1;
  }
  first[states * cells] = at;
}

static int set_up(realtype t, N_Vector x, N_Vector fx, SUNMatrix m, booleantype old,
                  booleantype* is_new, realtype gamma, void* user, N_Vector a, N_Vector b,
                  N_Vector c) {
  int n = plate ? cells : 2 * cells;
  (void)t, (void)fx, (void)m, (void)user, (void)a, (void)b, (void)c;
  *is_new = !old;
  if (!old) differentiate(N_VGetArrayPointer(x), 1);
  for (int j = 0; j < n; j++)
    for (int k = first[j]; k < first[j + 1]; k++) matrix[k] = (row[k] == j) - gamma * jacobian[k];
  if (numeric == NULL) numeric = klu_factor(first, row, matrix, symbolic, &common);
  else if (!klu_refactor(first, row, matrix, symbolic, numeric, &common)) return -1;
  return numeric == NULL;
}

static int solve(SUNLinearSolver s, SUNMatrix m, N_Vector x, N_Vector b, realtype tol) {
  int n = plate ? cells : 2 * cells;
  (void)s, (void)m, (void)tol;
  memcpy(N_VGetArrayPointer(x), N_VGetArrayPointer(b), (size_t)n * sizeof(double));
  return !klu_solve(symbolic, numeric, n, 1, N_VGetArrayPointer(x), &common);
}

static SUNLinearSolver_Type type_of(SUNLinearSolver s) { return (void)s, SUNLINEARSOLVER_DIRECT; }
static SUNMatrix_ID id_of(SUNMatrix m) { return (void)m, SUNMATRIX_CUSTOM; }
static int zero(SUNMatrix m) { return (void)m, 0; }

int main(int argc, char** argv) {
  if (argc < 8) return 2;
  plate = strcmp(argv[1], "plate") == 0;
  width = atoi(argv[2]), height = atoi(argv[3]), cells = width * height;
  double stop = atof(argv[4]), rtol = atof(argv[6]), t = 0;
  int points = atoi(argv[5]), n = plate ? cells : 2 * cells;
  first = calloc((size_t)n + 1, sizeof *first);
  row = calloc(7 * (size_t)n, sizeof *row);
  jacobian = calloc(7 * (size_t)n, sizeof *jacobian);
  matrix = calloc(7 * (size_t)n, sizeof *matrix);
  differentiate(NULL, 0);
  klu_defaults(&common);
  symbolic = klu_analyze(n, first, row, &common);
  SUNContext sun;
  SUNContext_Create(NULL, &sun);
  N_Vector x = N_VNew_Serial(n, sun), inside = N_VClone(x);
  for (int i = 0; i < cells; i++) {
    NV_Ith_S(x, plate ? i : 2 * i) = plate ? 300 + i % 17 * 10 : 0.1 * (i % 13);
    if (!plate) NV_Ith_S(x, 2 * i + 1) = 0;
  }
  void* cvode = CVodeCreate(CV_BDF, sun);
  CVodeInit(cvode, rhs, 0, x);
  CVodeSStolerances(cvode, rtol, rtol);
  CVodeSetMaxNumSteps(cvode, -1);
  CVodeSetStopTime(cvode, stop);
  SUNLinearSolver linear = SUNLinSolNewEmpty(sun);
  SUNMatrix empty = SUNMatNewEmpty(sun);
  linear->ops->gettype = type_of, linear->ops->solve = solve;
  empty->ops->getid = id_of, empty->ops->zero = zero;
  CVodeSetLinearSolver(cvode, linear, empty);
  CVodeSetLinSysFn(cvode, set_up);
  FILE* out = fopen(argv[7], "w");
  fprintf(out, "time");
  for (int k = 8; k < argc; k++) fprintf(out, ",m%s", argv[k]);
  for (int next = 0; next <= points;) {
    double when = next == points ? stop : stop / points * next;
    if (when > t) {
      if (CVode(cvode, stop, x, &t, CV_ONE_STEP) < 0) return 1;
      continue;
    }
    if (next > 0) CVodeGetDky(cvode, when, 0, inside);
    const double* values = N_VGetArrayPointer(next > 0 ? inside : x);
    fprintf(out, "\n%.17g", when);
    for (int k = 8; k < argc; k++)
      fprintf(out, ",%.17g", values[plate ? atoi(argv[k]) : 2 * atoi(argv[k])]);
    next++;
  }
  fprintf(out, "\n");
  fclose(out);
  if (getenv("BARE_STATISTICS") != NULL) {
    long steps, evaluations, iterations, setups;
    CVodeGetNumSteps(cvode, &steps), CVodeGetNumRhsEvals(cvode, &evaluations);
    CVodeGetNumNonlinSolvIters(cvode, &iterations), CVodeGetNumLinSolvSetups(cvode, &setups);
    fprintf(stderr, "%ld steps, %ld right-hand sides, %ld iterations, %ld factorisations\n", steps,
            evaluations, iterations, setups);
  }
  return 0;
}
