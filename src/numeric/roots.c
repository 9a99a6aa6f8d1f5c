// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Newton's method is damped by the natural monotonicity test (P. Deuflhard), a bracket is reduced
// by secants and bisection, and the homotopy is followed by pseudo-arclength continuation (H.
// Keller) with bordered matrices.
#include "numeric/roots.h"

#include <float.h>
#include <math.h>

#include "numeric/lu.h"

enum { MAX_ITERATIONS = 60, MAX_BISECTIONS = 400, MAX_CURVE_STEPS = 500, MAX_CALLS = 50000 };
static const double enough = 1e-11;        // change of a value, relative to its magnitude
static const double shortest_part = 1e-5;  // of a Newton step
static const double shortest_arc = 1e-7;   // of a step along the homotopy, in units of the values

typedef struct search {
  cpl_context* ctx;
  const cpli_roots* p;
  int32_t n, calls;
  double *s, *r, *trial, *r_trial, *step, *next, *size, *matrix, *row, *column;
  double *start, *curve, *ahead, *tangent, *before, *bordered;  // of the homotopy: n + 1 each
  int32_t* pivot;
} search;

//------------------------------------ residuals ------------------------------------

// r = f(s) - s. CPL_RETRY also where it is not finite.
static cpl_status residual(search* k, const double* s, double* r) {
  if (++k->calls > (k->p->max_calls > 0 ? k->p->max_calls : MAX_CALLS)) return CPL_RETRY;
  cpl_status st = k->p->image(k->p->user, s, r);
  for (int32_t i = 0; i < k->n && st == CPL_OK; i++) {
    r[i] -= s[i];
    if (!isfinite(r[i])) st = CPL_RETRY;
  }
  return st;
}

// dr/ds by differences with increments relative to size[], factorised after equilibration.
static cpl_status differentiate(search* k, const double* s, const double* r, double* matrix) {
  memcpy(k->trial, s, (size_t)k->n * sizeof *s);
  for (int32_t j = 0; j < k->n; j++) {
    double* column = matrix + (size_t)j * (size_t)k->n;
    double h = sqrt(DBL_EPSILON) * fmax(fabs(s[j]), k->size[j]);
    cpl_status st = CPL_RETRY;
    for (int side = 0; side < 2 && st == CPL_RETRY; side++, h = -h) {
      k->trial[j] = s[j] + h;
      st = residual(k, k->trial, column);
    }
    if (st != CPL_OK) return st;
    double width = k->trial[j] - s[j];
    for (int32_t i = 0; i < k->n; i++) column[i] = (column[i] - r[i]) / width;
    k->trial[j] = s[j];
  }
  return CPL_OK;
}

static bool factor(search* k, double* matrix, int32_t n) {
  cpli_lu_equilibrate(matrix, n, k->row, k->column);
  return cpli_lu_factor(matrix, k->pivot, n) < 0;
}

// b = matrix^-1 b
static void apply(const search* k, const double* matrix, int32_t n, double* b) {
  for (int32_t i = 0; i < n; i++) b[i] *= k->row[i];
  cpli_lu_solve(matrix, k->pivot, n, b);
  for (int32_t i = 0; i < n; i++) b[i] *= k->column[i];
}

static void correction(const search* k, const double* r, double* step) {
  for (int32_t i = 0; i < k->n; i++) step[i] = -r[i];
  apply(k, k->matrix, k->n, step);
}

//------------------------------------ Newton's method ------------------------------------

// Largest entry of a vector, in units of the current values.
static double measure(const search* k, const double* v, const double* s, bool own_only) {
  double max = 0;
  for (int32_t i = 0; i < k->n; i++) {
    double unit = own_only ? fabs(s[i]) : fmax(fabs(s[i]), k->size[i]);
    double part = v[i] == 0 ? 0 : fabs(v[i]) / unit;
    if (!(part <= max)) max = part;
  }
  return max;
}

// Whether a remaining residual is rounding inside f: along the correction f keeps its bits, and
// where it changes, it jumps by the residual, and again farther on: a staircase. A single jump is
// not rounding.
static cpl_status test_resolution_of(search* k, int32_t i) {
  enum { FIRST = -60, LAST = 6, FARTHER = 4 };
  double jump = 0, change = 0;
  int farther = LAST;
  if (fabs(k->r[i]) > 1e-9 * fmax(fabs(k->s[i]), k->p->nominal[i])) return CPL_RETRY;
  for (int power = FIRST; power <= farther; power++) {
    for (int32_t j = 0; j < k->n; j++) k->trial[j] = k->s[j] + ldexp(k->step[j], power);
    cpl_status st = residual(k, k->trial, k->r_trial);
    if (st != CPL_OK) return st;
    change = fabs(k->r_trial[i] + k->trial[i] - (k->r[i] + k->s[i]));
    if (jump > 0 || change == 0) continue;
    if (change < 0.25 * fabs(k->r[i])) return CPL_RETRY;
    jump = change;
    farther = power + FARTHER;
  }
  return jump > 0 && change >= 2 * jump ? CPL_OK : CPL_RETRY;
}

static cpl_status test_resolution(search* k) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < k->n && st == CPL_OK; i++) {
    if (fabs(k->r[i]) > enough * fabs(k->s[i])) st = test_resolution_of(k, i);
  }
  return st;
}

// Line search along the correction until the next one is shorter. *part: the fraction; 0: none.
static cpl_status move(search* k, double size, double* part) {
  for (*part = 1; *part >= shortest_part; *part /= 2) {
    for (int32_t i = 0; i < k->n; i++) k->trial[i] = k->s[i] + *part * k->step[i];
    cpl_status st = residual(k, k->trial, k->r_trial);
    if (st < 0) return st;
    if (st != CPL_OK) continue;
    correction(k, k->r_trial, k->next);
    if (!(measure(k, k->next, k->trial, false) <= (1 - *part / 2) * size)) continue;
    memcpy(k->s, k->trial, (size_t)k->n * sizeof *k->s);
    memcpy(k->r, k->r_trial, (size_t)k->n * sizeof *k->r);
    return CPL_OK;
  }
  *part = 0;
  return CPL_OK;
}

// From k->s, which is then the end of the search.
static cpl_status newton(search* k) {
  cpl_status st = residual(k, k->s, k->r);
  for (int i = 0; i < MAX_ITERATIONS && st == CPL_OK; i++) {
    double part;
    st = differentiate(k, k->s, k->r, k->matrix);
    if (st != CPL_OK) return st;
    if (!factor(k, k->matrix, k->n)) return CPL_RETRY;
    correction(k, k->r, k->step);
    if (measure(k, k->step, k->s, true) <= enough) {
      for (int32_t j = 0; j < k->n; j++) k->s[j] += k->step[j];
      return CPL_OK;
    }
    st = move(k, measure(k, k->step, k->s, false), &part);
    if (st == CPL_OK && part == 0) return test_resolution(k);
  }
  return st < 0 ? st : CPL_RETRY;
}

//------------------------------------ one unknown ------------------------------------

typedef struct bracket {
  double a, b, ra, rb;
} bracket;

static bool has_sign_change(const bracket* k) { return (k->ra < 0) != (k->rb < 0); }

// The next sample: the secant, restricted to the inner fraction of the bracket; the midpoint when
// the secant did not halve the bracket. Ends of different magnitude are halved by their exponents.
static double choose_point(const bracket* k, bool halve) {
  double middle = k->a + (k->b - k->a) / 2;
  double low = fabs(k->a), high = fabs(k->b);
  if (low > high) low = k->b, high = fabs(k->a);
  if (halve && k->a * k->b > 0 && high > 16 * low && low > 0)
    return copysign(sqrt(low) * sqrt(high), k->a);
  if (halve) return middle;
  double x = k->b - k->rb * ((k->b - k->a) / (k->rb - k->ra));
  double edge = 1e-3 * fabs(k->b - k->a);
  bool inside = x > fmin(k->a, k->b) && x < fmax(k->a, k->b);
  if (!inside) return middle;
  if (fabs(x - k->a) < edge || fabs(x - k->b) < edge) {  // overshoot beyond the root
    double beyond = x + (fabs(x - k->a) < fabs(x - k->b) ? 1 : -1) * copysign(1, k->b - k->a) *
                            fmin(2 * fmin(fabs(x - k->a), fabs(x - k->b)), edge);
    if (beyond > fmin(k->a, k->b) && beyond < fmax(k->a, k->b)) return beyond;
  }
  return x;
}

// Reduces a bracket to rounding. CPL_RETRY: f jumps there, or has no value.
static cpl_status bisect(search* k, bracket b) {
  double coarse = INFINITY;  // difference of the residuals of the wide bracket
  bool halve = false;
  for (int i = 0; i < MAX_BISECTIONS; i++) {
    double width = fabs(b.b - b.a), size = fmax(fabs(b.a), fabs(b.b));
    if (b.ra == 0 || b.rb == 0) break;
    if (width <= 4 * DBL_EPSILON * size) break;
    if (width <= 1e-8 * size && isinf(coarse)) coarse = fabs(b.rb - b.ra);
    double x = choose_point(&b, halve), r;
    if (x == b.a || x == b.b) break;
    cpl_status st = residual(k, &x, &r);
    if (st != CPL_OK) return st;
    bool left = (r < 0) == (b.ra < 0);
    if (left) b.a = x, b.ra = r;
    else b.b = x, b.rb = r;
    halve = !halve && fabs(b.b - b.a) > width / 2;
  }
  double width = fabs(b.b - b.a), size = fmax(fabs(b.a), fabs(b.b));
  bool narrow = width <= 1e-13 * size || size < DBL_MIN || width <= 1e-14 * k->size[0];
  bool exact = b.ra == 0 || b.rb == 0;
  if (!exact && (!narrow || !(fabs(b.rb - b.ra) <= 0.5 * coarse ||
                              fabs(b.rb - b.ra) <= 16 * DBL_EPSILON * size)))
    return CPL_RETRY;
  k->s[0] = fabs(b.ra) < fabs(b.rb) ? b.a : b.b;
  return CPL_OK;
}

// Searches for a change of sign on both sides of the start, with growing steps.
static cpl_status bracket_search(search* k, double start) {
  double at[2] = {start, start}, r[2], unit = fmax(fabs(start), k->size[0]);
  cpl_status st = residual(k, &start, &r[0]);
  if (st != CPL_OK) return st;
  bool open[2] = {true, true};
  r[1] = r[0];
  double reach = (k->p->near_only ? 0.3 : 1e15) * unit;
  for (double far = 1e-4 * unit; far < reach; far *= 1.5) {
    for (int side = 0; side < 2; side++) {
      double x = side == 0 ? start + far : start - far, value;
      if (!open[side]) continue;
      st = residual(k, &x, &value);
      if (st < 0) return st;
      if (st != CPL_OK) {
        open[side] = false;  // the end of the domain of f
        continue;
      }
      bracket b = {at[side], x, r[side], value};
      st = has_sign_change(&b) ? bisect(k, b) : CPL_RETRY;
      if (st != CPL_RETRY) return st;
      at[side] = x, r[side] = value;
    }
  }
  return CPL_RETRY;
}

//------------------------------------ continuation ------------------------------------

// The homotopy (1 - q) (s - start) - q r(s), with s in units of size[]; y is s and q. A curve leads
// from q = 0, where start solves it, to q = 1, also through folds, if f is bounded or grows less
// than s.
static cpl_status homotopy(search* k, const double* y, double* g) {
  double q = y[k->n];
  for (int32_t i = 0; i < k->n; i++) k->s[i] = k->start[i] + k->size[i] * y[i];
  cpl_status st = residual(k, k->s, k->r);
  for (int32_t i = 0; i < k->n && st == CPL_OK; i++)
    g[i] = (1 - q) * y[i] - q * k->r[i] / k->size[i];
  return st;
}

// The derivatives of the homotopy, bordered by a last row that makes the matrix square; factorised.
static cpl_status border(search* k, const double* y, const double* last) {
  int32_t n = k->n;
  size_t n1 = (size_t)n + 1;
  double q = y[n];
  cpl_status st = homotopy(k, y, k->next);
  if (st == CPL_OK) st = differentiate(k, k->s, k->r, k->matrix);
  if (st != CPL_OK) return st;
  for (int32_t j = 0; j < n; j++) {
    double* column = k->bordered + (size_t)j * n1;
    for (int32_t i = 0; i < n; i++) {
      double d = k->matrix[(size_t)j * (size_t)n + (size_t)i] * k->size[j] / k->size[i];
      column[i] = (1 - q) * (i == j) - q * d;
    }
    column[n] = last[j];
  }
  double* column = k->bordered + (size_t)n * n1;
  for (int32_t i = 0; i < n; i++) column[i] = -y[i] - k->r[i] / k->size[i];
  column[n] = last[n];
  return factor(k, k->bordered, n + 1) ? CPL_OK : CPL_RETRY;
}

static double length(const double* v, int32_t n) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += v[i] * v[i];
  return sqrt(sum);
}

// k->tangent at y, oriented as before.
static cpl_status find_tangent(search* k, const double* y) {
  int32_t n1 = k->n + 1;
  cpl_status st = border(k, y, k->before);
  if (st != CPL_OK) return st;
  for (int32_t i = 0; i < n1; i++) k->tangent[i] = i == k->n;
  apply(k, k->bordered, n1, k->tangent);
  double size = length(k->tangent, n1);
  if (!(size > 0) || !isfinite(size)) return CPL_RETRY;
  for (int32_t i = 0; i < n1; i++) k->tangent[i] /= size;
  return CPL_OK;
}

// Corrector: from k->ahead back to the curve, orthogonal to the tangent. *rounds: iterations.
static cpl_status return_to_curve(search* k, int* rounds) {
  enum { MAX_ROUNDS = 8 };
  int32_t n1 = k->n + 1;
  double last = INFINITY;
  for (*rounds = 1; *rounds <= MAX_ROUNDS; ++*rounds) {
    cpl_status st = border(k, k->ahead, k->tangent);
    if (st != CPL_OK) return st;
    for (int32_t i = 0; i < k->n; i++) k->next[i] = -k->next[i];
    k->next[k->n] = 0;
    apply(k, k->bordered, n1, k->next);
    double size = length(k->next, n1), whole = length(k->ahead, n1);
    if (!(size <= 0.7 * last)) return CPL_RETRY;
    last = size;
    for (int32_t i = 0; i < n1; i++) k->ahead[i] += k->next[i];
    if (size <= 1e-7 * fmax(1, whole)) return CPL_OK;
  }
  return CPL_RETRY;
}

// The curve has passed q = 1 between k->curve and k->ahead: Newton's method from the intersection.
static cpl_status land(search* k) {
  double q0 = k->curve[k->n], q1 = k->ahead[k->n], part = (1 - q0) / (q1 - q0);
  for (int32_t i = 0; i < k->n; i++) {
    double y = k->curve[i] + part * (k->ahead[i] - k->curve[i]);
    k->s[i] = k->start[i] + k->size[i] * y;
  }
  return newton(k);
}

// From k->start.
static cpl_status follow_curve(search* k) {
  int32_t n1 = k->n + 1;
  double arc = 0.1;
  for (int32_t i = 0; i < n1; i++) k->curve[i] = 0, k->before[i] = i == k->n;
  cpl_status st = find_tangent(k, k->curve);
  for (int i = 0; i < MAX_CURVE_STEPS && st == CPL_OK; i++) {
    int rounds = 0;
    for (;;) {
      for (int32_t j = 0; j < n1; j++) k->ahead[j] = k->curve[j] + arc * k->tangent[j];
      st = return_to_curve(k, &rounds);
      double gone = 0;
      for (int32_t j = 0; j < n1; j++) {
        double d = k->ahead[j] - k->curve[j];
        gone += d * d;
      }
      if (st == CPL_OK && sqrt(gone) > 2 * arc) st = CPL_RETRY;  // another curve
      if (st < 0 || st == CPL_OK) break;
      arc /= 2;
      if (arc < shortest_arc) return CPL_RETRY;
    }
    if (st < 0) return st;
    if (k->ahead[k->n] >= 1) {
      st = land(k);
      if (st != CPL_RETRY) return st;
      arc /= 4;  // a shorter step
      if (arc < shortest_arc) return CPL_RETRY;
      st = CPL_OK;
      continue;
    }
    memcpy(k->curve, k->ahead, (size_t)n1 * sizeof *k->curve);
    memcpy(k->before, k->tangent, (size_t)n1 * sizeof *k->before);
    if (k->curve[k->n] < -0.5 || length(k->curve, n1) > 1e8) return CPL_RETRY;  // it diverges
    if (rounds <= 3) arc = fmin(1.8 * arc, fmax(0.5, 0.3 * length(k->curve, n1)));
    st = find_tangent(k, k->curve);
  }
  return st < 0 ? st : CPL_RETRY;
}

//------------------------------------ the whole ------------------------------------

static bool allocate(search* k) {
  size_t n = (size_t)k->n, n1 = n + 1;
  size_t total = 6 * n + 9 * n1 + n * n + n1 * n1;
  double* next = cpli_alloc(k->ctx, total, sizeof *next);
  k->pivot = cpli_alloc(k->ctx, n1, sizeof *k->pivot);
  k->s = next;
  if (next == NULL || k->pivot == NULL) return false;
  double** of_n[] = {&k->s, &k->r, &k->trial, &k->r_trial, &k->size, &k->start};
  double** of_n1[] = {&k->step,  &k->next,  &k->row,     &k->column,
                      &k->curve, &k->ahead, &k->tangent, &k->before};
  for (size_t i = 0; i < CPLI_COUNT(of_n); i++, next += n) *of_n[i] = next;
  for (size_t i = 0; i < CPLI_COUNT(of_n1); i++, next += n1) *of_n1[i] = next;
  k->matrix = next;
  k->bordered = next + n * n;
  return true;
}

// All methods from one start point.
static cpl_status search_from(search* k, const double* start) {
  size_t bytes = (size_t)k->n * sizeof *start;
  memcpy(k->start, start, bytes);
  memcpy(k->s, start, bytes);
  cpl_status st = newton(k);
  if (st == CPL_RETRY && k->n == 1) st = bracket_search(k, k->start[0]);
  if (st == CPL_RETRY && !k->p->near_only) st = follow_curve(k);
  return st;
}

// The magnitude of a value of a loop is that of f(s); where that is zero, of the next iterates. The
// nominal is used for the others.
static void take_own_sizes(search* k, const double* start) {
  enum { ROUNDS = 4 };
  for (int32_t i = 0; i < k->n; i++) k->trial[i] = start[i], k->size[i] = fabs(start[i]);
  bool missing = true;
  for (int round = 0; round < ROUNDS && missing; round++) {
    if (residual(k, k->trial, k->r) != CPL_OK) break;
    missing = false;
    for (int32_t i = 0; i < k->n; i++) {
      if (round == 0) k->size[i] = fmax(k->size[i], fabs(k->r[i]));
      else if (k->size[i] == 0) k->size[i] = fabs(k->trial[i] + k->r[i]);
      k->trial[i] += k->r[i];
      missing = missing || k->size[i] == 0;
    }
  }
  for (int32_t i = 0; i < k->n; i++) {
    if (!(k->size[i] > 0) || !isfinite(k->size[i])) k->size[i] = k->p->nominal[i];
  }
}

static void take_nominal_sizes(search* k) {
  memcpy(k->size, k->p->nominal, (size_t)k->n * sizeof *k->size);
}

static cpl_status search_everywhere(search* k, const double* start, double* at) {
  static const double multiples[] = {1, -1, 100, -100};
  bool zero = true;  // the start point is zero
  take_own_sizes(k, start);
  cpl_status st = search_from(k, start);
  for (int32_t i = 0; i < k->n; i++) at[i] = 0, zero = zero && start[i] == 0;
  if (st == CPL_RETRY) {
    take_nominal_sizes(k);
    st = search_from(k, start);
  }
  if (st == CPL_RETRY && !zero && !k->p->near_only) {
    take_own_sizes(k, at);
    st = search_from(k, at);
  }
  for (int sizes = 0; sizes < 2; sizes++) {
    for (size_t m = 0; m < CPLI_COUNT(multiples) && st == CPL_RETRY && !k->p->near_only; m++) {
      memset(at, 0, (size_t)k->n * sizeof *at);
      if (sizes == 0) take_own_sizes(k, at);
      else take_nominal_sizes(k);
      for (int32_t i = 0; i < k->n; i++) at[i] = multiples[m] * k->size[i];
      st = search_from(k, at);
    }
  }
  return st;
}

cpl_status cpli_roots_solve(cpl_context* ctx, const cpli_roots* p, double* s) {
  search k = {.ctx = ctx, .p = p, .n = p->n};
  double* at = cpli_alloc(ctx, (size_t)p->n, sizeof *at);
  cpl_status st = allocate(&k) && at != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = search_everywhere(&k, s, at);
  if (st == CPL_OK) memcpy(s, k.s, (size_t)p->n * sizeof *s);
  cpli_free(ctx, at);
  cpli_free(ctx, k.s);
  cpli_free(ctx, k.pivot);
  return st;
}
