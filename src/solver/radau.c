// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Radau IIA of order 5: three implicit stages, solved together by simplified Newton iterations that
// decouple into one real and one complex system, with an embedded formula of order 3 for the error
// and predictive step-size control (Hairer and Wanner, Solving Ordinary Differential Equations II,
// section IV.8). States at events are those of a step that ends there.
#include <float.h>
#include <math.h>

#include "model/serial.h"
#include "numeric/complex_lu.h"
#include "numeric/dense.h"
#include "solver/solver.h"
#ifndef CPL_FMU_PARTS  // FMUs have no KLU
#include "model/history.h"
#include "numeric/sparse_lu.h"
#endif

enum { MAX_ITERATIONS = 7, MAX_TRIES = 200 };

// Stages are at t + c[i] h.
static const double c[3] = {0.15505102572168219018, 0.64494897427831780982, 1};
// The transformation that diagonalises the inverse of the method's matrix, and its inverse.
static const double T[3][3] = {
    {9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02},
    {0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779},
    {0.96604818261509293619, 1, 0}};
static const double TI[3][3] = {
    {4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119},
    {-4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196},
    {-0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497}};
// Its eigenvalues: one real, one complex pair.
static const double real_value = 3.6378342527444957322, pair_re = 2.6810828736277521339,
                    pair_im = 3.0504301992474105694;
// The embedded formula, multiplied by h.
static const double dd[3] = {-10.048809399827415562, 1.3821427331607488958,
                             -0.33333333333333333333};
static const double safety = 0.9, fastest = 0.125, slowest = 5;  // limits of h / h_new
static const double keep_jacobian = 0.001;                       // up to this rate of convergence
static const double too_far = 10;  // longest projection accepted, in units of the tolerance
// A contraction observed in earlier steps does not predict a step into a jump: an iteration ends
// after its first change only where that is small itself.
static const double unseen = 0.001;

typedef struct radau {
  cpli_solver base;
  cpli_ode ode;
  double rtol;
  double reach;   // the tolerance of Newton's iteration
  double* block;  // all arrays of states
  double *atol, *scale;
  double t0, t1, *x0, *x1, *f0, *f1;  // the last step
  double before, *xb, *fb;            // beginning of the step before it
  double *z[3], *w[3], *k[3];         // stages less x0, transformed, and right-hand sides
  double *error, *rhs_error, *trial;
  double *p[3], *d[4];  // of the last step: the collocation polynomial and the Hermite polynomial
  struct {
    double before, begin, end;  // knots of the Hermite polynomial
    const double *x, *f;        // at its beginning
  } knots;
  double* jac;                    // full; sparse: the entries of the pattern
  double *real, *re, *im;         // dense
  double *row, *column;           // scaling factors of their rows and columns
  bool balanced;                  // scaling is in use
  struct cpli_sparse_lu* sparse;  // Nullable: dense
  int32_t* real_pivot;
  size_t* pair_pivot;
  double h;                  // of the next step
  double h_factored;         // step size of the factors; 0: none
  double rate, contraction;  // of Newton's iteration
  double accepted_h, accepted_error;
  double shorter;  // factor on a step whose iteration did not converge
  int iterations;
  bool f0_known, jac_known, jac_fresh, first, has_before;
  bool hermite_fits, hermite_was_closer;  // for the next step
  bool by_hermite;                        // initial guess of this iteration
  bool refused;  // the model could not be evaluated at some point of this step
  enum { NOT_LOOKED, HERMITE, COLLOCATION } dense;
} radau;

static cpl_status rhs(radau* s, double t, const double* x, double* dx) {
  s->base.stats->rhs_evals++;
  cpl_status st = s->ode.rhs(s->ode.user, t, x, dx);
  s->refused = s->refused || st == CPL_RETRY;
  return st;
}

static double norm(const radau* s, const double* v) {
  double sum = 0;
  for (size_t i = 0; i < s->ode.n; i++) sum += v[i] / s->scale[i] * (v[i] / s->scale[i]);
  return sqrt(sum / (double)s->ode.n);
}

// The embedded formula has a lower order than the method: its tolerance is larger.
static double rtol_of_error(const radau* s) { return 0.1 * pow(s->rtol, 2.0 / 3); }

static void set_scale(radau* s, const double* x) {
  double r = rtol_of_error(s);
  for (size_t i = 0; i < s->ode.n; i++) s->scale[i] = r * (s->atol[i] / s->rtol + fabs(x[i]));
}

//------------------------------------ linear systems ------------------------------------

static cpl_status evaluate_jacobian(radau* s) {
  s->base.stats->jac_evals++;
  cpl_status st = s->sparse != NULL ? s->ode.entries(s->ode.user, s->t0, s->x0, s->jac)
                                    : s->ode.jacobian(s->ode.user, s->t0, s->x0, s->jac);
  s->jac_known = s->jac_fresh = st == CPL_OK;
  s->h_factored = 0;
  return st;
}

static void fill_matrices(radau* s, double h) {
  size_t n = s->ode.n;
  for (size_t i = 0; i < n * n; i++) {
    s->real[i] = s->re[i] = -s->jac[i];
    s->im[i] = 0;
  }
  for (size_t i = 0; i < n; i++) {
    s->real[i * n + i] += real_value / h;
    s->re[i * n + i] += pair_re / h;
    s->im[i * n + i] = pair_im / h;
  }
}

static void balance_matrices(radau* s) {
  size_t n = s->ode.n;
  cpli_lu_equilibrate(s->real, (int32_t)n, s->row, s->column);
  for (size_t j = 0; j < n; j++) {
    for (size_t i = 0; i < n; i++) {
      s->re[j * n + i] *= s->row[i] * s->column[j];
      s->im[j * n + i] *= s->row[i] * s->column[j];
    }
  }
}

// States of very different magnitudes cause pivots that look like rounding errors; scaling to one
// avoids that.
static bool factorise_dense(radau* s, double h) {
  size_t n = s->ode.n;
  fill_matrices(s, h);
  bool fine = cpli_lu_factor(s->real, s->real_pivot, (int32_t)n) < 0;
  s->balanced = !fine;
  if (s->balanced) {
    fill_matrices(s, h);
    balance_matrices(s);
    fine = cpli_lu_factor(s->real, s->real_pivot, (int32_t)n) < 0;
  }
  return fine && cpli_clu_factor(n, s->re, s->im, s->pair_pivot);
}

static void scale(const radau* s, const double* factor, double* b) {
  for (size_t i = 0; i < s->ode.n && s->balanced; i++) b[i] *= factor[i];
}

static void solve_real_dense(radau* s, double* b) {
  scale(s, s->row, b);
  cpli_lu_solve(s->real, s->real_pivot, (int32_t)s->ode.n, b);
  scale(s, s->column, b);
}

static void solve_pair_dense(radau* s, double* re, double* im) {
  scale(s, s->row, re), scale(s, s->row, im);
  cpli_clu_solve(s->ode.n, s->re, s->im, s->pair_pivot, re, im);
  scale(s, s->column, re), scale(s, s->column, im);
}

#ifndef CPL_FMU_PARTS
static bool factorise_sparse(radau* s, double h) {
  return cpli_sparse_lu_factor(s->sparse, s->jac, real_value / h, pair_re / h, pair_im / h);
}
static void solve_real(radau* s, double* b) {
  if (s->sparse != NULL) cpli_sparse_lu_solve(s->sparse, b);
  else solve_real_dense(s, b);
}
static void solve_pair(radau* s, double* re, double* im) {
  if (s->sparse != NULL) cpli_sparse_lu_solve_pair(s->sparse, re, im);
  else solve_pair_dense(s, re, im);
}
static cpl_status choose_sparse(radau* s) {
  const cpli_pattern* p = s->ode.pattern;
  if (p == NULL || s->ode.entries == NULL || !cpli_pattern_is_sparse(p)) return CPL_OK;
  return cpli_sparse_lu_make(s->base.ctx, p, &s->sparse);
}
static void drop_sparse(radau* s) { cpli_sparse_lu_destroy(s->sparse); }
static void forget_pivots(radau* s) {
  if (s->sparse != NULL) cpli_sparse_lu_forget(s->sparse);
}
#else
static bool factorise_sparse(radau* s, double h) { return factorise_dense(s, h); }
static void solve_real(radau* s, double* b) { solve_real_dense(s, b); }
static void solve_pair(radau* s, double* re, double* im) { solve_pair_dense(s, re, im); }
static cpl_status choose_sparse(radau* s) { return (void)s, CPL_OK; }
static void drop_sparse(radau* s) { (void)s; }
static void forget_pivots(radau* s) { (void)s; }
#endif

static bool factorise(radau* s, double h) {
  if (s->h_factored == h) return true;
  bool fine = s->sparse != NULL ? factorise_sparse(s, h) : factorise_dense(s, h);
  s->h_factored = fine ? h : 0;
  return fine;
}

//------------------------------------ polynomials ------------------------------------

// The collocation polynomial of the last step minus its end, at `r` steps behind that end.
static double collocation(const radau* s, size_t i, double r) {
  return r * (s->p[0][i] + (r - (c[1] - 1)) * (s->p[1][i] + (r - (c[0] - 1)) * s->p[2][i]));
}

static void keep_collocation(radau* s) {
  for (size_t i = 0; i < s->ode.n; i++) {
    double z1 = s->z[0][i], z2 = s->z[1][i], z3 = s->z[2][i];
    double first = (z2 - z3) / (c[1] - 1), slope = (z1 - z2) / (c[0] - c[1]);
    double second = (slope - first) / (c[0] - 1);
    s->p[0][i] = first;
    s->p[1][i] = second;
    s->p[2][i] = second - (slope - z1 / c[0]) / c[1];
  }
}

// The Hermite polynomial through both ends of the step and, if known, the beginning of the step
// before it: order 5, where the collocation polynomial has 3.
static void make_hermite(radau* s) {
  double a = s->before, b = s->t0, e = s->t1, h = e - b, g = b - a;
  s->knots.before = a, s->knots.begin = b, s->knots.end = e;
  s->knots.x = s->x0, s->knots.f = s->f0;
  for (size_t i = 0; i < s->ode.n; i++) {
    double slope = (s->x1[i] - s->x0[i]) / h;
    double bbe = (slope - s->f0[i]) / h, bee = (s->f1[i] - slope) / h, bbee = (bee - bbe) / h;
    s->d[0][i] = bbe;
    s->d[1][i] = bbee;
    s->d[2][i] = s->d[3][i] = 0;
    if (!s->has_before) continue;
    double ab = (s->x0[i] - s->xb[i]) / g;
    double aab = (ab - s->fb[i]) / g, abb = (s->f0[i] - ab) / g;
    double aabb = (abb - aab) / g, abbe = (bbe - abb) / (e - a);
    double aabbe = (abbe - aabb) / (e - a), abbee = (bbee - abbe) / (e - a);
    s->d[2][i] = abbee;
    s->d[3][i] = (abbee - aabbe) / (e - a);
  }
}

static double hermite(const radau* s, size_t i, double t) {
  double u = t - s->knots.begin, v = t - s->knots.end;
  double more = s->d[2][i] + (t - s->knots.before) * s->d[3][i];
  return s->knots.x[i] + u * (s->knots.f[i] + u * (s->d[0][i] + v * (s->d[1][i] + v * more)));
}

// Derivatives of stiff components are useless for interpolation: a tiny error of the state is a
// large one of its derivative. The error is visible at the stages.
static void look_at_dense(radau* s) {
  double h = s->t1 - s->t0, worst = 0;
  make_hermite(s);
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < s->ode.n; i++)
      s->trial[i] = hermite(s, i, s->t0 + c[k] * h) - s->x0[i] - s->z[k][i];
    worst = fmax(worst, norm(s, s->trial));
  }
  s->dense = worst <= 1 ? HERMITE : COLLOCATION;
}

//------------------------------------ stages ------------------------------------

static void transform(const double m[3][3], size_t n, double* const* from, double* const* to) {
  for (size_t i = 0; i < n; i++) {
    double a = from[0][i], b = from[1][i], e = from[2][i];
    for (int r = 0; r < 3; r++) to[r][i] = m[r][0] * a + m[r][1] * b + m[r][2] * e;
  }
}

// The extrapolation of a polynomial of the last step to the stage at t0 + part h, minus x0.
static double guess(const radau* s, size_t i, double part, double h, bool by_hermite) {
  if (by_hermite) return hermite(s, i, s->t0 + part * h) - s->x0[i];
  return collocation(s, i, part * (s->accepted_h > 0 ? h / s->accepted_h : 1));
}

// The initial guess of the iteration: extrapolation of the last step's polynomial, or x0.
static void predict(radau* s, bool from_last, double h) {
  s->by_hermite = from_last && s->hermite_fits && s->hermite_was_closer;
  for (size_t i = 0; i < s->ode.n; i++) {
    for (int k = 0; k < 3; k++) s->z[k][i] = from_last ? guess(s, i, c[k], h, s->by_hermite) : 0;
  }
}

// Selects the polynomial that was closer to the converged iteration for the next initial guess.
static void compare_guesses(radau* s, double h) {
  double off[2];
  if (!s->hermite_fits) return;
  for (int k = 0; k < 2; k++) {
    for (size_t i = 0; i < s->ode.n; i++) s->trial[i] = guess(s, i, 1, h, k == 1) - s->z[2][i];
    off[k] = norm(s, s->trial);
  }
  s->hermite_was_closer = off[1] < off[0];
}

// The iteration error has the same sign in every step of an oscillation and accumulates. From the
// better initial guess it is three times smaller at the same cost.
static double reach(const radau* s) { return s->by_hermite ? 0.3 * s->reach : s->reach; }

static cpl_status stage_values(radau* s, double h) {
  for (int k = 0; k < 3; k++) {
    for (size_t i = 0; i < s->ode.n; i++) s->trial[i] = s->x0[i] + s->z[k][i];
    cpl_status st = rhs(s, s->t0 + c[k] * h, s->trial, s->k[k]);
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}

// One iteration: w changes by the result in k. Returns the norm of the change.
static double iterate(radau* s, double h) {
  size_t n = s->ode.n;
  double real = real_value / h, re = pair_re / h, im = pair_im / h, sum = 0;
  transform(TI, n, s->k, s->k);
  for (size_t i = 0; i < n; i++) {
    double b = s->w[1][i], e = s->w[2][i];
    s->k[0][i] -= real * s->w[0][i];
    s->k[1][i] -= re * b - im * e;
    s->k[2][i] -= re * e + im * b;
  }
  solve_real(s, s->k[0]);
  solve_pair(s, s->k[1], s->k[2]);
  for (int k = 0; k < 3; k++) {
    double part = norm(s, s->k[k]);
    sum += part * part;
    for (size_t i = 0; i < n; i++) s->w[k][i] += s->k[k][i];
  }
  transform(T, n, s->w, s->z);
  return sqrt(sum / 3);
}

// Whether the iteration will converge in time; if not, how much shorter the step should be.
static bool promising(radau* s, int round, double size, double before, double* last_rate) {
  double now = size / before;
  s->rate = round == 1 ? now : sqrt(now * *last_rate);
  *last_rate = now;
  s->shorter = 0.5;
  if (!(s->rate < 0.99)) return false;
  s->contraction = s->rate / (1 - s->rate);
  int left = MAX_ITERATIONS - 2 - round;
  double expected = s->contraction * size * pow(s->rate, left) / reach(s);
  if (expected < 1) return true;
  double q = fmax(1e-4, fmin(20, expected));
  s->shorter = 0.8 * pow(q, -1.0 / (4 + left));
  return false;
}

// CPL_RETRY: no convergence with this step size.
static cpl_status solve_stages(radau* s, double h) {
  double before = 0, last_rate = 0;
  s->shorter = 0.5;
  s->contraction = pow(fmax(s->contraction, DBL_EPSILON), 0.8);
  s->rate = keep_jacobian;
  transform(TI, s->ode.n, s->z, s->w);
  for (int round = 0; round < MAX_ITERATIONS; round++) {
    cpl_status st = stage_values(s, h);
    if (st != CPL_OK) return st;
    s->base.stats->newton_iters++;
    double size = iterate(s, h);
    if (!isfinite(size)) return CPL_RETRY;
    s->iterations = round + 1;
    if (round > 0 && round < MAX_ITERATIONS - 1 && !promising(s, round, size, before, &last_rate))
      return CPL_RETRY;
    before = fmax(size, DBL_EPSILON);
    double trusted = round > 0 ? s->contraction : fmax(s->contraction, unseen);
    if (trusted * size <= reach(s)) return CPL_OK;
  }
  return CPL_RETRY;
}

// The error of the step in units of the tolerance, by the embedded formula. A second evaluation
// removes the contribution of stiff components; any deviation of that evaluation from the
// linearisation, as at a jump, counts as an error, too.
static cpl_status estimate(radau* s, double h, bool careful, double* out) {
  size_t n = s->ode.n;
  for (size_t i = 0; i < n; i++) {
    s->rhs_error[i] = (dd[0] * s->z[0][i] + dd[1] * s->z[1][i] + dd[2] * s->z[2][i]) / h;
    s->error[i] = s->rhs_error[i] + s->f0[i];
  }
  solve_real(s, s->error);
  *out = fmax(norm(s, s->error), 1e-10);
  if (*out < 1 || !careful) return CPL_OK;
  double* foreseen = s->k[0];
  for (size_t i = 0; i < n; i++) {
    s->trial[i] = s->x0[i] + s->error[i];
    foreseen[i] = real_value / h * s->error[i];
  }
  cpl_status st = rhs(s, s->t0, s->trial, s->error);
  if (st != CPL_OK) return st;
  for (size_t i = 0; i < n; i++) {
    s->error[i] += s->rhs_error[i];
    foreseen[i] -= s->error[i];
  }
  solve_real(s, s->error);
  solve_real(s, foreseen);
  *out = fmax(fmax(norm(s, s->error), norm(s, foreseen)), 1e-10);
  return CPL_OK;
}

//------------------------------------ step size ------------------------------------

// Limited by `max`, the rest of the run as far as it is known: where nothing moves yet, there is
// no other time scale.
static cpl_status first_step(radau* s, double max) {
  double d0 = norm(s, s->x0), d1 = norm(s, s->f0), scale = isfinite(max) ? max : 1;
  bool still = d0 < 1e-5 || d1 * scale < 1e-5;  // in units of the tolerance
  double h = fmin(still ? 1e-6 * scale : 0.01 * d0 / d1, max);
  for (size_t i = 0; i < s->ode.n; i++) s->trial[i] = s->x0[i] + h * s->f0[i];
  cpl_status st = rhs(s, s->t0 + h, s->trial, s->error);
  if (st < 0) return st;
  for (size_t i = 0; i < s->ode.n; i++) s->error[i] -= s->f0[i];
  double change = fmax(h * d1, h * norm(s, s->error));
  double other = change > 1e-15 ? h * pow(0.01 / change, 0.25) : 100 * h;
  s->h = st == CPL_OK ? fmin(100 * h, other) : 1e-3 * h;
  return CPL_OK;
}

// h / h_new from the error and the cost of the step just tried.
static double quotient(const radau* s, double error) {
  double work = safety * (1 + 2 * MAX_ITERATIONS) / (s->iterations + 2 * MAX_ITERATIONS);
  return fmax(fastest, fmin(slowest, pow(error, 0.25) / fmin(safety, work)));
}

static void choose_next(radau* s, double h, double error, bool rejected_before) {
  double q = quotient(s, error);
  if (s->accepted_h > 0) {
    double g = s->accepted_h / h * pow(error * error / s->accepted_error, 0.25) / safety;
    q = fmax(q, fmax(fastest, fmin(slowest, g)));
  }
  s->accepted_h = h;
  s->accepted_error = fmax(1e-2, error);
  double next = h / q;
  if (rejected_before) next = fmin(next, h);
  // almost the same step size avoids a factorisation
  bool same = s->rate <= keep_jacobian && next >= h && next <= 1.2 * h;
  s->h = same ? h : next;
  s->jac_known = s->jac_known && s->rate <= keep_jacobian;
  s->jac_fresh = false;
}

//------------------------------------ steps ------------------------------------

static cpl_status start(cpli_solver* base, double t, const double* x, const double* atol) {
  radau* s = (radau*)base;
  s->t0 = s->t1 = t;
  memcpy(s->x1, x, s->ode.n * sizeof *x);
  memcpy(s->atol, atol, s->ode.n * sizeof *atol);
  s->f0_known = s->jac_known = s->has_before = false;
  s->hermite_fits = s->hermite_was_closer = false;
  s->first = true;
  s->h = s->accepted_h = s->h_factored = 0;
  s->contraction = 1;
  forget_pivots(s);
  base->stats->restarts++;
  return CPL_OK;
}

static void swap(double** a, double** b) {
  double* kept = *a;
  *a = *b;
  *b = kept;
}

// The last message recorded is that of the model, if it refused to be evaluated.
static cpl_status stuck(radau* s, double h) {
  const char* text = "%s: the solver stopped at t=%.12g (step %.3g): the step became too short";
  double now = cpli_solver_time(&s->base, s->t0);
  if (s->refused) return cpl_fail_prefix(s->base.ctx, CPL_ERR_MODEL, text, s->base.name, now, h);
  return cpl_fail(s->base.ctx, CPL_ERR_SOLVER, text, s->base.name, now, h);
}

// x1 and f1 of a step of length h whose stages are known.
static cpl_status finish(radau* s, double t_end) {
  for (size_t i = 0; i < s->ode.n; i++) s->x1[i] = s->x0[i] + s->z[2][i];
  s->t1 = t_end;
  cpl_status st = CPL_OK;
  if (s->ode.project != NULL) st = s->ode.project(s->ode.user, s->t1, s->x1, too_far);
  s->refused = s->refused || st == CPL_RETRY;
  return st == CPL_OK ? rhs(s, s->t1, s->x1, s->f1) : st;
}

// One attempt. CPL_RETRY: s->h is shorter now.
static cpl_status attempt(radau* s, double h, double t_end, bool* rejected) {
  cpl_status st = s->jac_known ? CPL_OK : evaluate_jacobian(s);
  if (st < 0) return st;
  double factor = 0.5, error = 0;
  if (st == CPL_OK && !factorise(s, h)) st = CPL_RETRY;
  if (st == CPL_OK) {
    predict(s, !s->first, h);
    st = solve_stages(s, h);
    if (st == CPL_RETRY) factor = s->shorter, s->jac_known = s->jac_fresh;
  }
  if (st == CPL_OK) st = estimate(s, h, s->first || *rejected, &error);
  if (st == CPL_OK && error >= 1) {
    factor = s->first ? 0.1 : 1 / quotient(s, error);
    s->jac_known = s->jac_fresh;
    st = CPL_RETRY;
  } else if (st == CPL_OK) {
    compare_guesses(s, h);
    st = finish(s, t_end);
  }
  if (st == CPL_OK) choose_next(s, h, error, *rejected);
  if (st != CPL_RETRY) return st;
  s->base.stats->rejected++;
  *rejected = true;
  s->h = factor * h;
  return CPL_RETRY;
}

static cpl_status begin_step(radau* s, double t_limit) {
  if (!s->first) {
    if (s->dense == NOT_LOOKED) look_at_dense(s);
    s->hermite_fits = s->has_before && s->dense == HERMITE;
    s->before = s->t0;
    s->has_before = true;
    swap(&s->xb, &s->x0);
    swap(&s->fb, &s->f0);
  }
  s->t0 = s->t1;
  swap(&s->x0, &s->x1);
  swap(&s->f0, &s->f1);
  s->dense = NOT_LOOKED;
  s->refused = false;
  cpl_status st = s->f0_known ? CPL_OK : rhs(s, s->t0, s->x0, s->f0);
  set_scale(s, s->x0);
  return st == CPL_OK && s->h == 0 ? first_step(s, t_limit - s->t0) : st;
}

// A step below the resolution of the solver's time, though not of the model's.
static cpl_status skip(radau* s, double t_limit, double* t, double* x) {
  s->t0 = s->t1;
  memcpy(s->x0, s->x1, s->ode.n * sizeof *x);
  memcpy(s->f0, s->f1, s->ode.n * sizeof *x);
  memcpy(x, s->x1, s->ode.n * sizeof *x);
  s->first = true;
  s->has_before = false;
  *t = t_limit;
  return CPL_OK;
}

static cpl_status step(cpli_solver* base, double t_limit, double max_step, double* t, double* x) {
  radau* s = (radau*)base;
  if (!(t_limit > s->t1)) return skip(s, t_limit, t, x);
  cpl_status st = begin_step(s, t_limit);
  if (st == CPL_RETRY)
    return cpl_fail_prefix(base->ctx, CPL_ERR_MODEL, "%s: at the beginning of a step", base->name);
  if (st < 0) return st;
  bool rejected = false;
  double full_h = 0;
  st = CPL_RETRY;
  for (int tries = 0; st == CPL_RETRY; tries++) {
    double h = fmin(s->h, max_step);
    // the first step of an interval of a few roundings is a fraction of it: time has to advance
    if (tries == 0) h = fmax(h, 4 * DBL_EPSILON * fabs(s->t0));
    double end = s->t0 + h;
    bool cut = s->t0 + 1.0001 * h >= t_limit;
    if (cut) full_h = s->h, end = t_limit, h = t_limit - s->t0;
    else full_h = 0;
    if (!(end > s->t0) || tries > MAX_TRIES) return stuck(s, h);
    st = attempt(s, h, end, &rejected);
  }
  if (st < 0) return st;
  if (full_h > 0 && !rejected)
    s->h = fmax(s->h, full_h);  // a step cut short says little about the next
  keep_collocation(s);
  s->f0_known = true;
  s->first = false;
  base->stats->steps++;
  *t = s->t1;
  memcpy(x, s->x1, s->ode.n * sizeof *x);
  return CPL_OK;
}

// The stages of the last step with another length, from its polynomial or without a guess.
static cpl_status solve_again(radau* s, double h, bool from_last) {
  double ratio = h / (s->t1 - s->t0);
  if (!factorise(s, h)) return CPL_RETRY;
  predict(s, false, h);
  for (size_t i = 0; i < s->ode.n && from_last; i++) {
    for (int k = 0; k < 3; k++)
      s->z[k][i] = s->x1[i] - s->x0[i] + collocation(s, i, c[k] * ratio - 1);
  }
  return solve_stages(s, h);
}

// The size of the next step is based on the whole step. An old Jacobian may not suffice, and where
// derivatives jump, neither may the guess.
static cpl_status again(cpli_solver* base, double h, double* x) {
  radau* s = (radau*)base;
  s->refused = false;
  cpl_status st = solve_again(s, h, true);
  if (st == CPL_RETRY && !s->jac_fresh) {
    st = evaluate_jacobian(s);
    if (st == CPL_OK) st = solve_again(s, h, true);
    s->jac_fresh = false;  // the next step starts elsewhere
  }
  if (st == CPL_RETRY) st = solve_again(s, h, false);
  if (st == CPL_RETRY && !s->refused)
    return cpl_fail(base->ctx, CPL_RETRY, "Newton's iteration does not converge in a step of %.3g",
                    h);
  if (st == CPL_OK) st = finish(s, s->t0 + h);
  if (st != CPL_OK) return st;
  s->dense = NOT_LOOKED;
  keep_collocation(s);
  memcpy(x, s->x1, s->ode.n * sizeof *x);
  return CPL_OK;
}

//------------------------------------ dense output ------------------------------------

static cpl_status interpolate(cpli_solver* base, double t, double* x) {
  radau* s = (radau*)base;
  double h = s->t1 - s->t0;
  if (!(h > 0)) {
    memcpy(x, s->x1, s->ode.n * sizeof *x);
    return CPL_OK;
  }
  if (s->dense == NOT_LOOKED) look_at_dense(s);
  for (size_t i = 0; i < s->ode.n; i++)
    x[i] = s->dense == HERMITE ? hermite(s, i, t)
                               : s->x0[i] + s->z[2][i] + collocation(s, i, (t - s->t1) / h);
  return CPL_OK;
}

//------------------------------------ create ------------------------------------

static void destroy(cpli_solver* base) {
  if (base == NULL) return;
  radau* s = (radau*)base;
  drop_sparse(s);
  void* all[] = {s->block, s->jac, s->real_pivot, s->pair_pivot};
  for (size_t i = 0; i < CPLI_COUNT(all); i++) cpli_free(base->ctx, all[i]);
  cpli_free(base->ctx, s);
}

#ifndef CPL_FMU_PARTS
// The polynomial refers to vectors, which change their places at every step.
static void list_knots(radau* s, cpli_serial* serial) {
  const double* vectors[] = {s->x0, s->x1, s->xb, s->f0, s->f1, s->fb};
  const double** refer[] = {&s->knots.x, &s->knots.f};
  cpli_serial_real(serial, &s->knots.before);
  cpli_serial_real(serial, &s->knots.begin);
  cpli_serial_real(serial, &s->knots.end);
  for (size_t k = 0; k < CPLI_COUNT(refer); k++) {
    int32_t which = -1;
    for (int32_t i = 0; i < (int32_t)CPLI_COUNT(vectors); i++)
      if (*refer[k] == vectors[i]) which = i;
    cpli_serial_int(serial, &which, -1, (int32_t)CPLI_COUNT(vectors) - 1);
    if (serial->st >= 0) *refer[k] = which >= 0 ? vectors[which] : NULL;
  }
}

// Factors follow from the Jacobian and the step; only the pivots of sparse ones do not.
static void list_factors(radau* s, cpli_serial* serial) {
  size_t n = s->ode.n;
  size_t entries = s->sparse != NULL ? (size_t)s->ode.pattern->n_entries : n * n;
  cpli_serial_same(serial, s->sparse != NULL);
  cpli_serial_reals(serial, s->jac, entries);
  cpli_serial_real(serial, &s->h_factored);
  if (s->sparse != NULL) {
    cpli_serial_sparse_lu(serial, s->sparse, true);
  } else if (serial->st >= 0 && cpli_serial_reads(serial) && s->h_factored != 0) {
    if (!factorise_dense(s, s->h_factored)) s->h_factored = 0;
  }
}

static void history(cpli_solver* base, cpli_serial* serial) {
  radau* s = (radau*)base;
  size_t n = s->ode.n;
  double* vectors[] = {s->atol, s->scale, s->x0,   s->x1,   s->f0,   s->f1,   s->xb,
                       s->fb,   s->z[0],  s->z[1], s->z[2], s->w[0], s->w[1], s->w[2],
                       s->p[0], s->p[1],  s->p[2], s->d[0], s->d[1], s->d[2], s->d[3]};
  double* numbers[] = {&s->t0,          &s->t1,         &s->before,         &s->h,      &s->rate,
                       &s->contraction, &s->accepted_h, &s->accepted_error, &s->shorter};
  bool* flags[] = {&s->f0_known,   &s->jac_known,    &s->jac_fresh,          &s->first,
                   &s->has_before, &s->hermite_fits, &s->hermite_was_closer, &s->by_hermite};
  int32_t iterations = s->iterations, dense = (int32_t)s->dense;
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) cpli_serial_reals(serial, vectors[i], n);
  for (size_t i = 0; i < CPLI_COUNT(numbers); i++) cpli_serial_real(serial, numbers[i]);
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(serial, flags[i]);
  cpli_serial_int(serial, &iterations, 0, MAX_ITERATIONS);
  cpli_serial_int(serial, &dense, NOT_LOOKED, COLLOCATION);
  s->iterations = iterations;
  if (dense == HERMITE) s->dense = HERMITE;
  else s->dense = dense == COLLOCATION ? COLLOCATION : NOT_LOOKED;
  list_knots(s, serial);
  list_factors(s, serial);
  bool fits =
      !(s->dense == HERMITE || s->hermite_fits) || (s->knots.x != NULL && s->knots.f != NULL);
  if (serial->st >= 0 && !fits) cpli_serial_refuse(serial, "the solver has no polynomial");
}
#define HISTORY history
#else
#define HISTORY NULL
#endif

static const cpli_solver_ops ops = {.destroy = destroy,
                                    .start = start,
                                    .step = step,
                                    .interpolate = interpolate,
                                    .again = again,
                                    .history = HISTORY};

static bool allocate(radau* s, cpl_context* ctx) {
  size_t n = s->ode.n;
  double** vectors[] = {&s->atol,  &s->scale, &s->x0,        &s->x1,   &s->f0,    &s->f1,
                        &s->xb,    &s->fb,    &s->z[0],      &s->z[1], &s->z[2],  &s->w[0],
                        &s->w[1],  &s->w[2],  &s->k[0],      &s->k[1], &s->k[2],  &s->p[0],
                        &s->p[1],  &s->p[2],  &s->d[0],      &s->d[1], &s->d[2],  &s->d[3],
                        &s->error, &s->trial, &s->rhs_error, &s->row,  &s->column};
  double** matrices[] = {&s->jac, &s->real, &s->re, &s->im};
  s->block = cpli_alloc(ctx, CPLI_COUNT(vectors) * n, sizeof(double));
  bool too_large = n > 0 && n > SIZE_MAX / n / 64;
  s->jac = s->sparse != NULL ? cpli_alloc(ctx, (size_t)s->ode.pattern->n_entries, sizeof(double))
           : too_large       ? NULL
                             : cpli_alloc(ctx, CPLI_COUNT(matrices) * n * n, sizeof(double));
  s->real_pivot = cpli_alloc(ctx, n, sizeof *s->real_pivot);
  s->pair_pivot = cpli_alloc(ctx, n, sizeof *s->pair_pivot);
  if (s->block == NULL || s->jac == NULL || s->real_pivot == NULL || s->pair_pivot == NULL)
    return false;
  double* matrix = s->jac;
  for (size_t i = 0; i < CPLI_COUNT(vectors); i++) *vectors[i] = s->block + i * n;
  for (size_t i = 0; i < CPLI_COUNT(matrices) && s->sparse == NULL; i++)
    *matrices[i] = matrix + i * n * n;
  return true;
}

cpl_status cpli_radau_create(cpl_context* ctx, const cpli_ode* ode, const cpl_solver_def* def,
                             cpl_solver_stats* stats, cpli_solver** out) {
  *out = NULL;
  radau* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  *s = (radau){.base = {.ops = &ops, .ctx = ctx, .name = "", .stats = stats},
               .ode = *ode,
               .rtol = def->rtol};
  double r = rtol_of_error(s);
  s->reach = fmax(10 * DBL_EPSILON / r, fmin(0.03, sqrt(r)));
  if (choose_sparse(s) < 0 || !allocate(s, ctx)) {
    destroy(&s->base);
    return cpli_nomem(ctx);
  }
  *out = &s->base;
  return CPL_OK;
}
