// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/match.h"

#include <math.h>

#include "base/base.h"

cpl_match_def cpl_default_match_def(void) {
  return (cpl_match_def){.value = 0.02, .time = 0.002, .share = 0.99};
}

// Of a constant reference the value stands in for the range, but not below this.
static const double least_range = 1e-3;

static double tolerance_of(const double* values, size_t n, double part) {
  double least = INFINITY, greatest = -INFINITY;
  for (size_t i = 0; i < n; i++) {
    least = fmin(least, values[i]);
    greatest = fmax(greatest, values[i]);
  }
  double range = greatest - least;
  return part * (range > 0 ? range : fmax(fabs(least), least_range));
}

// The first row at or after t.
static size_t row_from(const cpl_table* table, double t) {
  size_t low = 0, high = table->n_rows;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (table->time[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

static double interpolate(const cpl_table* table, const double* values, double t) {
  size_t after = row_from(table, t);
  if (after == 0) return values[0];
  if (after == table->n_rows) return values[after - 1];
  double t0 = table->time[after - 1], t1 = table->time[after];
  return values[after - 1] + (values[after] - values[after - 1]) * (t - t0) / (t1 - t0);
}

// Whether the results pass within `tolerance` of a value some time from `from` to `until`.
static bool is_near(const cpl_table* table, const double* values, double from, double until,
                    double value, double tolerance) {
  double first = interpolate(table, values, from), last = interpolate(table, values, until);
  double least = fmin(first, last), greatest = fmax(first, last);
  bool defined = !isnan(first) && !isnan(last);
  for (size_t i = row_from(table, from); i < table->n_rows && table->time[i] <= until; i++) {
    defined = defined && !isnan(values[i]);
    least = fmin(least, values[i]);
    greatest = fmax(greatest, values[i]);
  }
  return defined && value >= least - tolerance && value <= greatest + tolerance;
}

static double part_off(const cpl_table* reference, size_t column, const cpl_table* results,
                       const double* values, const cpl_match_def* def) {
  const size_t n = reference->n_rows;
  const double* wanted = reference->values + column * n;
  double tolerance = tolerance_of(wanted, n, def->value);
  double window = def->time * (reference->time[n - 1] - reference->time[0]);
  size_t off = 0;
  for (size_t i = 0; i < n; i++) {
    double t = reference->time[i] + def->shift;
    if (isnan(wanted[i])) continue;
    off += !is_near(results, values, t - window, t + window, wanted[i], tolerance);
  }
  return (double)off / (double)n;
}

cpl_match_result cpl_match(const cpl_table* reference, const cpl_table* results,
                           const cpl_match_def* def) {
  cpl_match_result r = {.matches = true, .worst = -1};
  for (size_t i = 0; i < reference->n_columns && reference->n_rows > 0; i++) {
    ptrdiff_t column = cpl_table_find(results, reference->names[i]);
    bool missing = column < 0 || results->n_rows == 0;
    double off = missing ? 1
                         : part_off(reference, i, results,
                                    results->values + (size_t)column * results->n_rows, def);
    if (off <= 1 - def->share + 1e-12 || off <= r.off) continue;
    r = (cpl_match_result){.worst = (ptrdiff_t)i, .off = off, .missing = missing};
  }
  return r;
}
