// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Finds columns that are no measurements of their own, from residuals and derivatives.
#include "fit/redundant.h"

#include <math.h>

// Relative differences up to which two columns are the same: of derivatives, where these are exact,
// and of residuals, whose values may be rounded in a file.
static const double same_derivatives = 1e-4, same_residuals = 1e-2;

// How much the values of a column vary; that they are not zero counts only where they are constant.
static double spread(const double* values, size_t n) {
  double mean = 0, squares = 0, all = 0;
  for (size_t i = 0; i < n; i++) mean += values[i] / (double)n;
  for (size_t i = 0; i < n; i++) {
    squares += (values[i] - mean) * (values[i] - mean);
    all += values[i] * values[i];
  }
  return sqrt(squares > 1e-24 * all ? squares : all);
}

static double influence(const cpli_told* t, const cpli_column_rows* c, size_t j) {
  const double* d = t->derivatives + j * t->m + c->first;
  double squares = 0;
  for (size_t i = 0; i < c->n; i++) squares += d[i] * d[i];
  return sqrt(squares) * t->sizes[j];
}

bool cpli_without_influence(const cpli_told* t, size_t column) {
  const cpli_column_rows* c = &t->columns[column];
  const double least = t->noise * spread(t->results + c->first, c->n);
  for (size_t j = 0; j < t->n; j++)
    if (influence(t, c, j) > least) return false;
  return true;
}

// sums of products of the derivatives of two columns
static double product(const cpli_told* t, const cpli_column_rows* a, const cpli_column_rows* b) {
  double sum = 0;
  for (size_t j = 0; j < t->n; j++) {
    const double* d = t->derivatives + j * t->m;
    for (size_t i = 0; i < a->n; i++)
      sum += t->sizes[j] * d[a->first + i] * t->sizes[j] * d[b->first + i];
  }
  return sum;
}

static double residual(const cpli_told* t, size_t row) {
  return t->results[row] - t->measured[row];
}

// b - factor a, relative to b, is this small in all derivatives and residuals.
static bool is_multiple(const cpli_told* t, const cpli_column_rows* a, const cpli_column_rows* b) {
  const double factor = product(t, a, b) / product(t, a, a), all = product(t, b, b);
  double derivatives = 0, residuals = 0, all_residuals = 0;
  for (size_t j = 0; j < t->n; j++) {
    const double* d = t->derivatives + j * t->m;
    for (size_t i = 0; i < a->n; i++) {
      const double off = t->sizes[j] * (d[b->first + i] - factor * d[a->first + i]);
      derivatives += off * off;
    }
  }
  for (size_t i = 0; i < a->n; i++) {
    const double r = residual(t, b->first + i), off = r - factor * residual(t, a->first + i);
    residuals += off * off;
    all_residuals += r * r;
  }
  const double tolerance = fmax(same_derivatives, 10 * t->noise);
  return derivatives <= tolerance * tolerance * all &&
         residuals <= same_residuals * same_residuals * all_residuals;
}

ptrdiff_t cpli_repeats_column(const cpli_told* t, size_t column) {
  const cpli_column_rows* b = &t->columns[column];
  for (size_t k = 0; k < column && b->n > 1; k++)
    if (t->columns[k].data == b->data && is_multiple(t, &t->columns[k], b)) return (ptrdiff_t)k;
  return -1;
}
