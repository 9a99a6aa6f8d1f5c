// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Compares results with a reference by a tolerance in value and in time, in both directions: the
// share of the reference's points that the results miss, and the share of the time in which the
// results are off the reference. The larger one counts.
#include "couplet/match.h"

#include <math.h>

#include "base/base.h"
#include "model/units.h"

void cpl_init_match_def(cpl_match_def* def, size_t size) {
  const cpl_match_def all = {
      .size = sizeof(cpl_match_def), .value = 0.02, .time = 0.002, .share = 0.99, .stop = INFINITY};
  cpli_init_def(def, size, &all, sizeof all);
}

// For a constant reference its value replaces the range, but not below this.
static const double least_range = 1e-3;

// One variable over time. Values at infinite distance count for nothing in its range.
typedef struct series {
  size_t n;
  const double *time, *values;
  bool convert;
  cpli_conversion how;  // to the unit of the series it is compared with
} series;

static double value_at(const series* s, size_t i) {
  return s->convert ? cpli_convert(&s->how, s->values[i]) : s->values[i];
}

static double tolerance_of(const series* s, double part) {
  double least = INFINITY, greatest = -INFINITY;
  for (size_t i = 0; i < s->n; i++) {
    if (!isfinite(value_at(s, i))) continue;
    least = fmin(least, value_at(s, i));
    greatest = fmax(greatest, value_at(s, i));
  }
  double range = greatest - least;
  if (!(range >= 0)) range = 0;  // nothing is finite
  return part * (range > 0 ? range : fmax(isfinite(least) ? fabs(least) : 0, least_range));
}

// The first row at or after t.
static size_t row_from(const series* s, double t) {
  size_t low = 0, high = s->n;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (s->time[middle] < t) low = middle + 1;
    else high = middle;
  }
  return low;
}

static double interpolate(const series* s, double t) {
  size_t after = row_from(s, t);
  if (after == 0) return value_at(s, 0);
  if (after == s->n) return value_at(s, after - 1);
  double t0 = s->time[after - 1], t1 = s->time[after];
  double part = t1 > t0 ? (t - t0) / (t1 - t0) : 1;
  return value_at(s, after - 1) + (value_at(s, after) - value_at(s, after - 1)) * part;
}

//------------------------------------ the reference in the results ------------------------------

// Whether the results pass within `tolerance` of a value some time from `from` to `until`.
static bool is_near(const series* results, double from, double until, double value,
                    double tolerance) {
  double first = interpolate(results, from), last = interpolate(results, until);
  double least = fmin(first, last), greatest = fmax(first, last);
  bool defined = !isnan(first) && !isnan(last);
  for (size_t i = row_from(results, from); i < results->n && results->time[i] <= until; i++) {
    defined = defined && !isnan(value_at(results, i));
    least = fmin(least, value_at(results, i));
    greatest = fmax(greatest, value_at(results, i));
  }
  return defined && value >= least - tolerance && value <= greatest + tolerance;
}

// The part of the reference's points that the results do not pass. Results that end before the
// reference, or begin after it, say nothing of its points there; a shift leaves some over, too.
static double points_missed(const series* reference, const series* results,
                            const cpl_match_def* def, double tolerance, double window) {
  size_t off = 0, n = 0;
  double shift = def->shift, begin = results->time[0] - fabs(shift) - window;
  double end = results->time[results->n - 1] + fabs(shift) + window;
  for (size_t i = 0; i < reference->n; i++) {
    double t = reference->time[i] + shift;
    if (t > def->stop + window) break;
    n++;
    if (isnan(value_at(reference, i))) continue;
    off += t < begin || t > end ||
           !is_near(results, t - window, t + window, value_at(reference, i), tolerance);
  }
  return n > 0 ? (double)off / (double)n : 1;
}

//------------------------------------ the results in the reference ------------------------------

// How far row i lies from the line through its neighbours: this is the order of what the reference
// does between its points, where nobody knows it. A time that stands twice is a jump that is known.
static double bend(const series* s, size_t i) {
  if (i == 0 || i + 1 >= s->n) return 0;
  double t0 = s->time[i - 1], t1 = s->time[i], t2 = s->time[i + 1];
  if (!(t0 < t1 && t1 < t2)) return 0;
  double line =
      value_at(s, i - 1) + (value_at(s, i + 1) - value_at(s, i - 1)) * (t1 - t0) / (t2 - t0);
  return fabs(value_at(s, i) - line);
}

// Whether a result lies within what the reference does from `from` to `until`. All rows of the
// reference that touch this time count, since its values between them are not known.
static bool is_within(const series* reference, double from, double until, double value,
                      double tolerance) {
  size_t first = row_from(reference, from), end = row_from(reference, until);
  if (first > 0) first--;
  while (end < reference->n && reference->time[end] == until) end++;
  if (end < reference->n) end++;
  double least = INFINITY, greatest = -INFINITY, slack = 0;
  for (size_t i = first; i < end; i++) {
    if (isnan(value_at(reference, i))) return true;  // the reference does not say
    least = fmin(least, value_at(reference, i));
    greatest = fmax(greatest, value_at(reference, i));
    slack = fmax(slack, bend(reference, i));
  }
  return value >= least - slack - tolerance && value <= greatest + slack + tolerance;
}

// The part of the time of the reference in which the results are beside it. Each point stands for
// half of the time to its neighbours, so that rows that crowd at events do not count more.
static double time_beside(const series* reference, const series* results, double shift,
                          double tolerance, double window) {
  double begin = reference->time[0] + shift, end = reference->time[reference->n - 1] + shift;
  if (!(end > begin)) return 0;
  double off = 0;
  for (size_t i = row_from(results, begin); i < results->n && results->time[i] <= end; i++) {
    double t = results->time[i];
    double left = i > 0 ? fmax(begin, (results->time[i - 1] + t) / 2) : t;
    double right = i + 1 < results->n ? fmin(end, (results->time[i + 1] + t) / 2) : t;
    bool within = is_within(reference, t - shift - window, t - shift + window, value_at(results, i),
                            tolerance);
    if (!within) off += right - left;
  }
  return off / (end - begin);
}

static double part_off(const series* reference, const series* results, const cpl_match_def* def) {
  double tolerance = tolerance_of(reference, def->value);
  double window = def->time * (reference->time[reference->n - 1] - reference->time[0]);
  double missed = points_missed(reference, results, def, tolerance, window);
  return fmax(missed, time_beside(reference, results, def->shift, tolerance, window));
}

static series series_of(const cpl_table* table, size_t column) {
  return (series){
      .n = table->n_rows, .time = table->time, .values = table->values + column * table->n_rows};
}

static const char* unit_of(const cpl_table* table, size_t column) {
  return table->units != NULL ? table->units[column] : NULL;
}

// Where both have a unit the reference is converted to that of the results; false: it cannot be.
static bool relate(const char* reference, const char* results, series* s) {
  if (reference == NULL || results == NULL) return true;
  const cpl_unit from = {.name = reference}, to = {.name = results};
  cpli_unit_relation found = cpli_unit_conversion(&from, &to, false, &s->how);
  s->convert = found == CPLI_UNITS_CONVERT;
  return found <= CPLI_UNITS_CONVERT;
}

cpl_match_result cpl_match(const cpl_table* reference, const cpl_table* results,
                           const cpl_match_def* given) {
  cpl_match_def def = cpl_default_match_def();
  if (!cpli_copy_def(given, &def, sizeof def))
    return (cpl_match_result){.refused = true, .worst = -1};
  cpl_match_result r = {.matches = true, .worst = -1};
  for (size_t i = 0; i < reference->n_columns && reference->n_rows > 0; i++) {
    ptrdiff_t column = cpl_table_find(results, reference->names[i]);
    bool missing = column < 0 || results->n_rows == 0, units = false;
    double off = 1;
    if (!missing) {
      series a = series_of(reference, i), b = series_of(results, (size_t)column);
      units = !relate(unit_of(reference, i), unit_of(results, (size_t)column), &a);
      if (!units) off = part_off(&a, &b, &def);
    }
    if (off <= 1 - def.share + 1e-12 || off <= r.off) continue;
    r = (cpl_match_result){.worst = (ptrdiff_t)i, .off = off, .missing = missing, .units = units};
  }
  return r;
}
