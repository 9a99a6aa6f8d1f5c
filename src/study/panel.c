// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Expressions along a segment of a run: interpolation, quadrature, extrema and changes of
// conditions. Variables are interpolated, and expressions are evaluated with interpolated
// variables, so that abs(x) and x^2 are as accurate as x.
#include <assert.h>
#include <math.h>

#include "study/measure.h"

const double cpli_panel_nodes[CPLI_PANEL_POINTS - 2] = {0.11747233803526765, 0.35738424175967745,
                                                        0.64261575824032255, 0.88252766196473235};

// Gauss and Lobatto's weights for an interval of length one.
static const double rule[CPLI_PANEL_POINTS] = {
    1.0 / 30, 0.18923747814892349, 0.27742918851774317, 0.27742918851774317, 0.18923747814892349,
    1.0 / 30};

// Sums with these give the coefficients of a function's fifth and fourth Legendre polynomial.
static const double tail5[CPLI_PANEL_POINTS] = {
    -1.0 / 6,           0.3971119470091983,  -0.4808232423993798,
    0.4808232423993798, -0.3971119470091983, 1.0 / 6};
static const double tail4[CPLI_PANEL_POINTS] = {
    0.3, -0.5468626966596886, 0.2468626966596886, 0.2468626966596886, -0.5468626966596886, 0.3};

//------------------------------------ interpolation ------------------------------------

// The weights are needed for values between the points only.
static void find_weights(cpli_panel* p) {
  assert(p->n >= 2 && p->n <= CPLI_PANEL_POINTS);
  if (p->has_weights) return;
  p->has_weights = true;
  const double length = p->t[p->n - 1] - p->t[0];
  for (size_t i = 0; i < p->n; i++) {
    double product = 1;
    for (size_t k = 0; k < p->n; k++)
      if (k != i) product *= (p->t[i] - p->t[k]) / length;
    p->weights[i] = 1 / product;
  }
}

// The share of each point in the values at t.
static void shares_at(cpli_panel* p, double t, double* shares) {
  double sum = 0;
  find_weights(p);
  for (size_t i = 0; i < p->n; i++) {
    if (t == p->t[i]) {
      for (size_t k = 0; k < p->n; k++) shares[k] = k == i;
      return;
    }
    shares[i] = p->weights[i] / (t - p->t[i]);
    sum += shares[i];
  }
  for (size_t i = 0; i < p->n; i++) shares[i] /= sum;
}

static double interpolated(const cpli_panel* p, const double* shares, int32_t var) {
  const double* value = p->values + var;
  if (p->held[var]) return value[0];
  double sum = 0;
  for (size_t i = 0; i < p->n; i++) sum += shares[i] * value[i * p->n_vars];
  return sum;
}

double cpli_panel_tail(const cpli_panel* p, size_t var) {
  if (!p->standard || p->held[var]) return 0;
  double five = 0, four = 0, largest = 0;
  for (size_t i = 0; i < p->n; i++) {
    const double x = p->values[i * p->n_vars + var];
    five += tail5[i] * x;
    four += tail4[i] * x;
    largest = fmax(largest, fabs(x));
  }
  // coefficients decrease about as a geometric sequence
  const double next = five * five / fmax(fabs(four), fabs(five));
  return largest > 0 && isfinite(next) ? next / largest : 0;
}

//------------------------------------ expressions ------------------------------------

// Variables of one expression; more are not read at once.
enum { MAX_SLOTS = 64 };

static double evaluate(cpli_course* c, double t, const double* values) {
  double out = NAN;
  if (c->of->plain) return values[0];
  const cpl_status st = cpli_expr_value(c->of->expr, c->ctx, t, values, NULL, &out);
  if (st != CPL_OK && c->st >= 0) c->st = st == CPL_RETRY ? CPL_ERR_MODEL : st;
  return st == CPL_OK ? out : NAN;
}

static double value_at_point(cpli_course* c, size_t point) {
  const cpli_panel* p = c->panel;
  double values[MAX_SLOTS];
  for (size_t s = 0; s < c->of->n_slots; s++) {
    const int32_t var = c->of->vars[s];
    values[s] = p->values[(p->held[var] ? 0 : point * p->n_vars) + (size_t)var];
  }
  return evaluate(c, p->t[point], values);
}

cpl_status cpli_course_begin(cpli_course* c, cpl_context* ctx, cpli_panel* panel,
                             const cpli_reduction* of) {
  assert(of->n_slots <= MAX_SLOTS);
  c->panel = panel;
  c->of = of;
  c->ctx = ctx;
  c->st = CPL_OK;
  for (size_t i = 0; i < panel->n; i++) c->at[i] = value_at_point(c, i);
  return c->st;
}

double cpli_course_value(cpli_course* c, double t) {
  double shares[CPLI_PANEL_POINTS], values[MAX_SLOTS];
  shares_at(c->panel, t, shares);
  for (size_t s = 0; s < c->of->n_slots; s++)
    values[s] = interpolated(c->panel, shares, c->of->vars[s]);
  return evaluate(c, t, values);
}

//------------------------------------ integrals ------------------------------------

static double by_rule(const double* values, bool squared, double length) {
  double sum = 0;
  for (size_t i = 0; i < CPLI_PANEL_POINTS; i++)
    sum += rule[i] * (squared ? values[i] * values[i] : values[i]);
  return sum * length;
}

// The rule on the interval from a to b, whose ends have known values.
static double rule_between(cpli_course* c, bool squared, double a, double b, double at_a,
                           double at_b) {
  double values[CPLI_PANEL_POINTS] = {at_a, 0, 0, 0, 0, at_b};
  for (size_t i = 1; i + 1 < CPLI_PANEL_POINTS; i++)
    values[i] = cpli_course_value(c, a + cpli_panel_nodes[i - 1] * (b - a));
  return by_rule(values, squared, b - a);
}

typedef struct interval {
  double a, b, at_a, at_b, sum;  // and the integral by the rule
} interval;

enum { MAX_DEPTH = 40 };

// Halves the interval until both halves together agree with the whole.
static double halved(cpli_course* c, bool squared, interval whole, double tolerance, int depth) {
  const double middle = whole.a + (whole.b - whole.a) / 2;
  if (!(middle > whole.a && middle < whole.b)) return whole.sum;
  const double at = cpli_course_value(c, middle);
  const interval left = {whole.a, middle, whole.at_a, at,
                         rule_between(c, squared, whole.a, middle, whole.at_a, at)};
  const interval right = {middle, whole.b, at, whole.at_b,
                          rule_between(c, squared, middle, whole.b, at, whole.at_b)};
  const double sum = left.sum + right.sum;
  if (depth == MAX_DEPTH || !(fabs(sum - whole.sum) > tolerance)) return sum;
  return halved(c, squared, left, tolerance, depth + 1) +
         halved(c, squared, right, tolerance, depth + 1);
}

// Whether the rule is exact, or nearly so: Legendre coefficients beyond the fifth are negligible.
static bool is_smooth(const cpli_course* c, double largest) {
  double five = 0, four = 0;
  for (size_t i = 0; i < CPLI_PANEL_POINTS; i++) {
    five += tail5[i] * c->at[i];
    four += tail4[i] * c->at[i];
  }
  return fabs(five) + fabs(four) <= 1e-5 * largest;
}

double cpli_course_integral(cpli_course* c, bool squared) {
  static const double tolerance = 1e-12;  // relative to the largest value
  const cpli_panel* p = c->panel;
  const double a = p->t[0], b = p->t[p->n - 1];
  double largest = 0;
  for (size_t i = 0; i < p->n; i++) largest = fmax(largest, fabs(c->at[i]));
  // a polynomial of at most the fifth degree, or a function that is close to one
  const bool polynomial = c->of->plain && !squared;
  if (p->standard && (polynomial || is_smooth(c, largest))) return by_rule(c->at, squared, b - a);
  const double scale = squared ? largest * largest : largest;
  const interval whole = {a, b, c->at[0], c->at[p->n - 1],
                          rule_between(c, squared, a, b, c->at[0], c->at[p->n - 1])};
  if (polynomial) return whole.sum;
  return halved(c, squared, whole, tolerance * scale * (b - a), 0);
}

//------------------------------------ extrema ------------------------------------

// The slope of the polynomial through the values at a point.
static double slope_at(const cpli_course* c, size_t point) {
  cpli_panel* p = c->panel;
  double sum = 0;
  find_weights(p);
  for (size_t k = 0; k < p->n; k++) {
    if (k == point) continue;
    const double share = p->weights[k] / p->weights[point] / (p->t[point] - p->t[k]);
    sum += share * (c->at[k] - c->at[point]);
  }
  return sum;
}

// Golden section.
static void search(cpli_course* c, double sign, double a, double b, double* best, double* when) {
  static const double ratio = 0.6180339887498949;
  double left = b - ratio * (b - a), right = a + ratio * (b - a);
  double at_left = sign * cpli_course_value(c, left), at_right = sign * cpli_course_value(c, right);
  for (int i = 0; i < 40 && right > left; i++) {
    if (at_left > at_right) {
      b = right, right = left, at_right = at_left;
      left = b - ratio * (b - a);
      at_left = sign * cpli_course_value(c, left);
    } else {
      a = left, left = right, at_left = at_right;
      right = a + ratio * (b - a);
      at_right = sign * cpli_course_value(c, right);
    }
  }
  const bool is_left = at_left > at_right;
  const double value = sign * (is_left ? at_left : at_right);
  if (!(sign * value > sign * *best)) return;
  *best = value;
  *when = is_left ? left : right;
}

void cpli_course_extremum(cpli_course* c, double sign, double* best, double* when) {
  const cpli_panel* p = c->panel;
  const size_t last = p->n - 1;
  double low = INFINITY, high = -INFINITY;
  for (size_t i = 0; i <= last; i++) {
    const double value = sign * c->at[i];
    low = fmin(low, value);
    high = fmax(high, value);
    if (!(value > sign * *best) && !isnan(*best)) continue;
    *best = c->at[i];
    *when = p->t[i];
  }
  const double margin = high - low;  // the polynomial exceeds the points by less
  for (size_t i = 0; i <= last; i++) {
    const double value = sign * c->at[i];
    if (value + margin <= sign * *best) continue;
    if (i > 0 && sign * c->at[i - 1] > value) continue;
    if (i < last && sign * c->at[i + 1] > value) continue;
    if (i == 0 && sign * slope_at(c, i) <= 0) continue;
    if (i == last && sign * slope_at(c, i) >= 0) continue;
    search(c, sign, p->t[i > 0 ? i - 1 : 0], p->t[i < last ? i + 1 : last], best, when);
  }
}

//------------------------------------ conditions ------------------------------------

static double bisected(cpli_course* c, double a, double b, bool at_b) {
  for (int i = 0; i < 60; i++) {
    const double middle = a + (b - a) / 2;
    if (!(middle > a && middle < b)) break;
    if ((cpli_course_value(c, middle) != 0) == at_b) b = middle;
    else a = middle;
  }
  return b;
}

bool cpli_course_change(cpli_course* c, double* t, bool* value) {
  const cpli_panel* p = c->panel;
  for (size_t i = 0; i + 1 < p->n; i++) {
    if (p->t[i + 1] <= *t) continue;
    const double middle = p->t[i] + (p->t[i + 1] - p->t[i]) / 2;
    const double ends[2] = {middle, p->t[i + 1]};
    for (int half = 0; half < 2; half++) {
      const double begin = fmax(*t, half == 0 ? p->t[i] : middle);
      if (!(begin < ends[half])) continue;
      const bool at_end = (half == 0 ? cpli_course_value(c, middle) : c->at[i + 1]) != 0;
      if (at_end == *value) continue;
      *t = bisected(c, begin, ends[half], at_end);
      *value = at_end;
      return true;
    }
  }
  return false;
}
