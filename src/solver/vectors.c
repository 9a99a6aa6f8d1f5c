// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Operations of CVODE's vectors. Each has one loop and few branches before it, and combinations of
// several vectors are one call. Components are computed by the operations, and in the order, of the
// serial vectors of SUNDIALS: results have the same bits.
#include "solver/vectors.h"

#include <math.h>

#include "base/base.h"

static inline double* data(N_Vector v) { return NV_DATA_S(v); }
static inline size_t length(N_Vector v) { return (size_t)NV_LENGTH_S(v); }

// Models with one or two states: what is done before a vectorised loop would cost more than it.
#define FOR_EACH(i, n, statement)               \
  if ((n) == 1 || (n) == 2) {                   \
    size_t i = 0;                               \
    statement;                                  \
    if ((n) == 2) {                             \
      i = 1;                                    \
      statement;                                \
    }                                           \
  } else {                                      \
    for (size_t i = 0; i < (n); i++) statement; \
  }

// SUNDIALS factors out equal factors, and those of opposite sign, unless they are 1 or -1: then
// nothing is rounded by the products.
static void linear_sum(realtype a, N_Vector x, realtype b, N_Vector y, N_Vector z) {
  const double *u = data(x), *v = data(y);
  double* w = data(z);
  size_t n = length(z);
  bool factors_out = fabs(a) == fabs(b) && fabs(a) != 1;
  if (!factors_out) {
    FOR_EACH(i, n, w[i] = a * u[i] + b * v[i])
  } else if (a == b) {
    for (size_t i = 0; i < n; i++) w[i] = a * (u[i] + v[i]);
  } else {
    for (size_t i = 0; i < n; i++) w[i] = a * (u[i] - v[i]);
  }
}

static void scale(realtype c, N_Vector x, N_Vector z) {
  const double* u = data(x);
  double* w = data(z);
  size_t n = length(z);
  FOR_EACH(i, n, w[i] = c * u[i])
}

// The sum of the first vector is the product itself; the others are added one after the other.
static int linear_combination(int count, realtype* c, N_Vector* x, N_Vector z) {
  double* w = data(z);
  size_t n = length(z);
  scale(c[0], x[0], z);
  for (int k = 1; k < count; k++) {
    const double *u = data(x[k]), factor = c[k];
    FOR_EACH(i, n, w[i] = factor * u[i] + w[i])
  }
  return 0;
}

static int scale_add_multi(int count, realtype* a, N_Vector x, N_Vector* y, N_Vector* z) {
  const double* u = data(x);
  size_t n = length(x);
  for (int k = 0; k < count; k++) {
    const double *v = data(y[k]), factor = a[k];
    double* w = data(z[k]);
    FOR_EACH(i, n, w[i] = factor * u[i] + v[i])
  }
  return 0;
}

static int scale_array(int count, realtype* c, N_Vector* x, N_Vector* z) {
  for (int k = 0; k < count; k++) scale(c[k], x[k], z[k]);
  return 0;
}

static realtype wrms_norm(N_Vector x, N_Vector w) {
  const double *u = data(x), *v = data(w);
  size_t n = length(x);
  double sum = 0;
  for (size_t i = 0; i < n; i++) {
    double product = u[i] * v[i];
    sum += product * product;
  }
  return sqrt(sum / (double)n);
}

N_Vector cpli_sun_vector(size_t n, SUNContext sun) {
  N_Vector v = N_VNew_Serial((sunindextype)n, sun);
  if (v == NULL) return NULL;
  v->ops->nvlinearsum = linear_sum;
  v->ops->nvscale = scale;
  v->ops->nvwrmsnorm = wrms_norm;
  v->ops->nvlinearcombination = linear_combination;
  v->ops->nvscaleaddmulti = scale_add_multi;
  v->ops->nvscalevectorarray = scale_array;
  return v;
}
