// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Grids and quantiles of factors. The normal quantile is found by Halley's method on the
// distribution function of the C library, so that its accuracy is that of erf and erfc.
#include "study/distribution.h"

#include <math.h>

static const double sqrt_half = 0.70710678118654752440;
static const double sqrt_two_pi = 2.50662827463100050242;

// Near the median: erf(x / sqrt(2)) = 2 q for q = p - 1/2, |q| <= 1/4. The start is the series of
// the inverse; three steps of third order reach rounding.
static double central_quantile(double q) {
  double x = sqrt_two_pi * q * (1 + 1.0471975511965976 * q * q);
  for (int i = 0; i < 3; i++) {
    const double step = (0.5 * erf(x * sqrt_half) - q) * sqrt_two_pi * exp(0.5 * x * x);
    x -= step / (1 + 0.5 * x * step);
  }
  return x;
}

// Below p = 1/4: the root of log(Phi(x)) = log(p). The logarithm is concave and nearly a parabola,
// for which Newton's method from the asymptotic series converges in a few steps at any p.
static double tail_quantile(double p) {
  const double log_p = log(p), t = sqrt(-2 * log_p);
  double x = -(t - (log(t) + 0.9189385332046727) / t);
  for (int i = 0; i < 5; i++) {
    const double phi = 0.5 * erfc(-x * sqrt_half);
    const double slope = exp(-0.5 * x * x) / (sqrt_two_pi * phi);
    // log(phi / p) loses nothing near 1, where a difference of logarithms would
    const double off = phi > 0 && isfinite(phi / p) ? log(phi / p) : log(phi) - log_p;
    const double step = off / slope;
    const double halley = 1 + 0.5 * step * (x + slope);  // second derivative: -slope * (x + slope)
    x -= halley > 0.5 ? step / halley : step;
  }
  return x;
}

double cpli_normal_quantile(double p) {
  if (!(p >= 0 && p <= 1)) return (double)NAN;
  if (p == 0) return -(double)INFINITY;
  if (p == 1) return (double)INFINITY;
  if (fabs(p - 0.5) <= 0.25) return central_quantile(p - 0.5);
  return p < 0.5 ? tail_quantile(p) : -tail_quantile(1 - p);
}

// The continued fraction of the incomplete beta function, by Lentz's method.
static double beta_fraction(double a, double b, double x) {
  const double tiny = 1e-300;
  double c = 1, d = 1 - (a + b) * x / (a + 1);
  d = 1 / (fabs(d) < tiny ? tiny : d);
  double value = d;
  for (int m = 1; m < 10000; m++) {
    const double terms[] = {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))};
    double change = 1;
    for (int k = 0; k < 2; k++) {
      d = 1 + terms[k] * d;
      c = 1 + terms[k] / c;
      d = 1 / (fabs(d) < tiny ? tiny : d);
      c = fabs(c) < tiny ? tiny : c;
      value *= change = d * c;
    }
    if (fabs(change - 1) < 1e-16) break;
  }
  return value;
}

// The regularized incomplete beta function.
static double incomplete_beta(double a, double b, double x) {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const double front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
  return x < (a + 1) / (a + b + 2) ? front * beta_fraction(a, b, x) / a
                                   : 1 - front * beta_fraction(b, a, 1 - x) / b;
}

// P(T > t), for t >= 0.
static double student_tail(double t, double freedom) {
  return 0.5 * incomplete_beta(0.5 * freedom, 0.5, freedom / (freedom + t * t));
}

double cpli_student_quantile(double p, double freedom) {
  if (!(p > 0 && p < 1) || !(freedom < 1e10)) return cpli_normal_quantile(p);
  if (p < 0.5) return -cpli_student_quantile(1 - p, freedom);
  double low = 0, high = 1;
  while (student_tail(high, freedom) > 1 - p && high < 1e300) high *= 2;
  for (int i = 0; i < 200 && high - low > 1e-15 * high; i++) {
    const double middle = 0.5 * (low + high);
    if (student_tail(middle, freedom) > 1 - p) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

double cpli_sorted_quantile(const double* sorted, int64_t n, double p) {
  const double at = p * (double)(n - 1);
  int64_t i = (int64_t)at;
  if (i > n - 2) i = n - 2;
  if (i < 0) return sorted[0];
  const double left = sorted[i], right = sorted[i + 1], part = at - (double)i;
  if (part <= 0 || left == right) return left;
  return part >= 1 ? right : left * (1 - part) + right * part;
}

static double triangular_quantile(const cpl_factor* f, double p) {
  const double range = f->c - f->a, rise = f->b - f->a, fall = f->c - f->b;
  if (p * range < rise) return f->a + sqrt(p * range) * sqrt(rise);
  return f->c - sqrt((1 - p) * range) * sqrt(fall);
}

// Between a and b, both exactly at the ends; the difference may exceed the largest number.
static double between(double a, double b, double part) {
  return part >= 1 ? b : a * (1 - part) + b * part;
}

// By powers of ten, which are exact where the exponents are whole numbers.
static double log_between(double a, double b, double part) {
  if (part <= 0) return a;
  if (part >= 1) return b;
  const double value = pow(10, between(log10(a), log10(b), part));
  return fmin(fmax(value, fmin(a, b)), fmax(a, b));
}

int64_t cpl_factor_levels(const cpl_factor* f) {
  switch (f->kind) {
    case CPL_FACTOR_VALUE: return 1;
    case CPL_FACTOR_LIST:
    case CPL_FACTOR_GRID:
    case CPL_FACTOR_LOG_GRID: return f->n;
    default: return 0;
  }
}

double cpl_factor_level(const cpl_factor* f, int64_t i) {
  const double last = (double)(f->n - 1);
  switch (f->kind) {
    case CPL_FACTOR_VALUE: return f->a;
    case CPL_FACTOR_LIST: return f->values[i];
    case CPL_FACTOR_GRID: {
      if (i == 0) return f->a;
      if (i == f->n - 1) return f->b;
      const double value = (f->a * (last - (double)i) + f->b * (double)i) / last;
      return isfinite(value) ? value : between(f->a, f->b, (double)i / last);
    }
    case CPL_FACTOR_LOG_GRID: {
      if (i == 0) return f->a;
      if (i == f->n - 1) return f->b;
      const double exponent = (log10(f->a) * (last - (double)i) + log10(f->b) * (double)i) / last;
      return fmin(fmax(pow(10, exponent), fmin(f->a, f->b)), fmax(f->a, f->b));
    }
    default: return (double)NAN;
  }
}

double cpl_factor_quantile(const cpl_factor* f, double p) {
  switch (f->kind) {
    case CPL_FACTOR_VALUE: return f->a;
    case CPL_FACTOR_LIST: {
      const int64_t i = (int64_t)(p * (double)f->n);
      return f->values[i < f->n ? i : f->n - 1];
    }
    case CPL_FACTOR_GRID:
    case CPL_FACTOR_UNIFORM: return between(f->a, f->b, p);
    case CPL_FACTOR_LOG_GRID:
    case CPL_FACTOR_LOG_UNIFORM: return log_between(f->a, f->b, p);
    case CPL_FACTOR_NORMAL: return f->a + f->b * cpli_normal_quantile(p);
    case CPL_FACTOR_LOGNORMAL: return exp(f->a + f->b * cpli_normal_quantile(p));
    case CPL_FACTOR_TRIANGULAR: return triangular_quantile(f, p);
    case CPL_FACTOR_SAMPLES: return cpli_sorted_quantile(f->values, f->n, p);
  }
  return (double)NAN;
}
