// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The transfer function h(j omega) from the descriptor form E w' = J w + k u: one complex sparse
// factorisation of J - j omega E per frequency. A logarithmic grid with the frequencies of lightly
// damped eigenvalues is refined where gain or phase change much between neighbours; margins are
// located by bisection, the largest gain by golden section.
#include "couplet/frequency.h"

#include <math.h>
#include <stdlib.h>

#include "aggregate/descriptor.h"
#include "base/complex.h"
#include "couplet/spectrum.h"
#include "model/adopt.h"
#include "numeric/sparse.h"

#undef I

enum { MAX_POINTS = 20000, MAX_DEPTH = 12 };
static const double finest_gain = 0.12, finest_phase = 0.12;  // of neighbours: log of gain, radians

typedef struct response {
  cpl_frequency shown;
  cpl_context* ctx;
  cpl_model* m;
  cpl_frequency_def def;
  cpli_descriptor* d;
  cpli_compressed matrix;  // J with the diagonal of the states
  int32_t* diagonal;       // their entries
  double *entries, *b;     // complex: pairs
  cpli_sparse* factors;
  cpl_frequency_point* points;
  size_t n, cap;
} response;

void cpl_init_frequency_def(cpl_frequency_def* def, size_t size) {
  const cpl_frequency_def all = {.low = NAN, .high = NAN, .per_decade = 40};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ one frequency ------------------------------------

static cpl_status make_matrix(response* s) {
  const cpli_compressed* j = &s->d->j;
  cpli_triplets t = {.ctx = s->ctx};
  int32_t n = s->d->n;
  cpl_status st = CPL_OK;
  for (int32_t c = 0; c < n && st >= 0; c++) {
    for (int32_t e = j->first[c]; e < j->first[c + 1] && st >= 0; e++)
      st = cpli_triplets_add(&t, j->row[e], c, j->entries[e]);
    if (c < s->d->n_states && st >= 0) st = cpli_triplets_add(&t, c, c, 0);
  }
  if (st >= 0) st = cpli_triplets_compress(&t, n, n, &s->matrix);
  cpli_triplets_free(&t);
  if (st < 0) return st;
  s->diagonal = cpli_alloc(s->ctx, (size_t)s->d->n_states, sizeof *s->diagonal);
  s->entries = cpli_alloc(s->ctx, 2 * (size_t)s->matrix.first[n], sizeof *s->entries);
  s->b = cpli_alloc(s->ctx, 2 * (size_t)n, sizeof *s->b);
  if (s->diagonal == NULL || s->entries == NULL || s->b == NULL) return cpli_nomem(s->ctx);
  for (int32_t c = 0; c < n; c++) {
    for (int32_t e = s->matrix.first[c]; e < s->matrix.first[c + 1]; e++) {
      s->entries[2 * (size_t)e] = s->matrix.entries[e];
      if (c < s->d->n_states && s->matrix.row[e] == c) s->diagonal[c] = e;
    }
  }
  return cpli_sparse_make(s->ctx, n, s->matrix.first, s->matrix.row, false, &s->factors);
}

// false: J - j omega E is singular.
static bool evaluate(response* s, double omega, double complex* out) {
  const cpli_compressed* j = &s->d->j;
  int32_t at = s->d->outputs[0], n = s->d->n;
  *out = 0;
  if (at < 0) return true;
  if (at == n) return *out = 1, true;  // the input itself
  for (int32_t c = 0; c < s->d->n_states; c++) s->entries[2 * (size_t)s->diagonal[c] + 1] = -omega;
  memset(s->b, 0, 2 * (size_t)n * sizeof *s->b);
  for (int32_t e = j->first[n]; e < j->first[n + 1]; e++) s->b[2 * j->row[e]] = -j->entries[e];
  if (!cpli_sparse_factor_complex(s->factors, s->entries)) return false;
  cpli_sparse_solve_complex(s->factors, s->b);
  *out = CMPLX(s->b[2 * at], s->b[2 * at + 1]);
  return isfinite(creal(*out)) && isfinite(cimag(*out));
}

static cpl_status infinite(const response* s, double omega) {
  return cpl_fail_in(s->ctx, CPL_ERR_MODEL, s->m->base.name, NULL, NAN,
                     "the response from %s to %s is infinite at %.12g rad/s: an eigenvalue lies "
                     "there",
                     s->def.from, s->def.to, omega);
}

static cpl_status append(response* s, double omega, double complex h) {
  if (!cpli_grow(s->ctx, (void**)&s->points, &s->cap, s->n, sizeof *s->points))
    return cpli_nomem(s->ctx);
  s->points[s->n++] = (cpl_frequency_point){.omega = omega, .re = creal(h), .im = cimag(h)};
  return CPL_OK;
}

static double complex value_of(const cpl_frequency_point* p) { return CMPLX(p->re, p->im); }

//------------------------------------ grid ------------------------------------

// Between two points: the middle where the response bends, and so on.
static cpl_status refine(response* s, double from, double complex a, double to, double complex b,
                         int depth) {
  double gain = fabs(log(cabs(b) / cabs(a))), phase = fabs(carg(b / a));
  bool fine = !(gain > finest_gain) && !(phase > finest_phase);
  if (fine || a == 0 || b == 0 || depth == MAX_DEPTH || s->n > MAX_POINTS) return CPL_OK;
  double middle = sqrt(from) * sqrt(to);
  double complex h = 0;
  if (cpli_cancelled(s->ctx)) return cpli_interrupted(s->ctx, s->m->base.name, NAN);
  if (!(middle > from && middle < to)) return CPL_OK;
  if (!evaluate(s, middle, &h)) return CPL_OK;  // a pole on the axis is not among the points
  cpl_status st = refine(s, from, a, middle, h, depth + 1);
  if (st >= 0) st = append(s, middle, h);
  return st < 0 ? st : refine(s, middle, h, to, b, depth + 1);
}

static int by_value(const void* a, const void* b) {
  double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The range from the eigenvalues, and the frequencies of pairs in it.
typedef struct grid {
  double low, high, *list;
  int32_t n;
} grid;

static cpl_status read_spectrum(response* s, double* low, double* high, double* list, int32_t* n) {
  cpl_spectrum* p = NULL;
  cpl_status st = cpl_spectrum_create(s->m, NULL, &p);
  if (st == CPL_ERR_UNSUPPORTED) return CPL_OK;
  for (int32_t i = 0; st >= 0 && i < p->n_modes; i++) {
    double size = hypot(p->modes[i].re, p->modes[i].im);
    if (size == 0) continue;
    *low = fmin(*low, size), *high = fmax(*high, size);
    if (p->modes[i].im > 0 && *n < MAX_POINTS / 4) list[(*n)++] = p->modes[i].im;
  }
  cpl_spectrum_destroy(p);
  return st < 0 ? st : CPL_OK;
}

static cpl_status make_grid(response* s, grid* g) {
  double low = INFINITY, high = 0, *special = cpli_alloc(s->ctx, MAX_POINTS / 4, sizeof *special);
  int32_t n_special = 0;
  if (special == NULL) return cpli_nomem(s->ctx);
  cpl_status st = read_spectrum(s, &low, &high, special, &n_special);
  if (!(low <= high)) low = high = 1;
  g->low = isnan(s->def.low) ? low / 10 : s->def.low;
  g->high = isnan(s->def.high) ? high * 10 : s->def.high;
  if (st >= 0 && !(g->low > 0 && g->low < g->high && isfinite(g->high)))
    st = cpl_fail(s->ctx, CPL_ERR_INPUT,
                  "the range of frequencies from %g to %g rad/s is empty; both are positive",
                  g->low, g->high);
  double decades = st >= 0 ? log10(g->high / g->low) : 0;
  int32_t n = (int32_t)fmin(MAX_POINTS / 2, ceil(decades * s->def.per_decade)) + 1;
  if (n < 2) n = 2;
  g->list = st >= 0 ? cpli_alloc(s->ctx, (size_t)n + (size_t)n_special, sizeof *g->list) : NULL;
  if (st >= 0 && g->list == NULL) st = cpli_nomem(s->ctx);
  for (int32_t i = 0; i < n && st >= 0; i++)
    g->list[g->n++] = i == 0       ? g->low
                      : i == n - 1 ? g->high
                                   : g->low * pow(10, decades * i / (n - 1));
  for (int32_t i = 0; i < n_special && st >= 0; i++) {
    if (special[i] > g->low && special[i] < g->high) g->list[g->n++] = special[i];
  }
  if (st >= 0) qsort(g->list, (size_t)g->n, sizeof *g->list, by_value);
  cpli_free(s->ctx, special);
  return st;
}

static cpl_status sweep(response* s) {
  grid g = {0};
  cpl_status st = make_grid(s, &g);
  double complex last = 0, h = 0;
  double before = NAN;
  for (int32_t i = 0; i < g.n && st >= 0; i++) {
    if (i > 0 && g.list[i] == g.list[i - 1]) continue;
    if (cpli_cancelled(s->ctx)) st = cpli_interrupted(s->ctx, s->m->base.name, NAN);
    if (st < 0 || !evaluate(s, g.list[i], &h)) continue;
    if (!isnan(before)) st = refine(s, before, last, g.list[i], h, 0);
    if (st >= 0) st = append(s, g.list[i], h);
    before = g.list[i], last = h;
  }
  cpli_free(s->ctx, g.list);
  return st >= 0 && s->n == 0 ? infinite(s, s->def.low) : st;
}

static cpl_status take_list(response* s) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < s->def.n_omegas && st >= 0; i++) {
    double omega = s->def.omegas[i];
    double complex h = 0;
    bool ascends = i == 0 || omega > s->def.omegas[i - 1];
    if (!(omega >= 0) || !isfinite(omega) || !ascends)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "frequencies ascend from zero; %g rad/s does not",
                      omega);
    if (!evaluate(s, omega, &h)) return infinite(s, omega);
    st = append(s, omega, h);
  }
  return st;
}

static void unwrap(response* s) {
  double last = 0;
  for (size_t i = 0; i < s->n; i++) {
    double phase = carg(value_of(&s->points[i])) * 180 / M_PI;
    if (i > 0) phase -= 360 * round((phase - last) / 360);
    s->points[i].phase = last = phase;
  }
}

//------------------------------------ margins ------------------------------------

// Positive on one side of a crossing: the gain above one, or the imaginary part.
static double side_of(double complex h, bool phase) { return phase ? cimag(h) : log(cabs(h)); }

static double locate(response* s, double from, double to, bool phase, double complex* h) {
  double complex a = 0;
  if (!evaluate(s, from, &a)) return NAN;
  bool positive = side_of(a, phase) > 0;
  for (int i = 0; i < 60; i++) {
    double middle = sqrt(from) * sqrt(to);
    if (!(middle > from && middle < to) || !evaluate(s, middle, h)) break;
    if ((side_of(*h, phase) > 0) == positive) from = middle;
    else to = middle;
  }
  return evaluate(s, to, h) ? to : NAN;
}

static void take_phase_crossing(response* s, const cpl_frequency_point* p,
                                const cpl_frequency_point* q) {
  cpl_margins* k = &s->shown.margins;
  double complex h = 0;
  double omega = locate(s, p->omega, q->omega, true, &h);
  if (isnan(omega) || creal(h) >= 0) return;
  double margin = 1 / cabs(h);
  if (!isnan(k->gain) && fabs(log(margin)) >= fabs(log(k->gain))) return;
  k->gain = margin, k->gain_omega = omega;
}

static void take_gain_crossing(response* s, const cpl_frequency_point* p,
                               const cpl_frequency_point* q) {
  cpl_margins* k = &s->shown.margins;
  double complex h = 0;
  double omega = locate(s, p->omega, q->omega, false, &h);
  if (isnan(omega)) return;
  double margin = carg(-h) * 180 / M_PI;  // how far from -1, anticlockwise
  double delay = (margin >= 0 ? margin : margin + 360) * M_PI / 180 / omega;
  if (isnan(k->phase) || fabs(margin) < fabs(k->phase)) k->phase = margin, k->phase_omega = omega;
  if (isnan(k->delay) || delay < k->delay) k->delay = delay;
}

static void find_margins(response* s) {
  s->shown.margins = (cpl_margins){NAN, NAN, NAN, NAN, NAN};
  for (size_t i = 1; i < s->n; i++) {
    const cpl_frequency_point *p = &s->points[i - 1], *q = &s->points[i];
    double complex a = value_of(p), b = value_of(q);
    if (p->omega == 0) continue;
    if ((cabs(a) > 1) != (cabs(b) > 1)) take_gain_crossing(s, p, q);
    if ((cimag(a) > 0) != (cimag(b) > 0) && (creal(a) < 0 || creal(b) < 0))
      take_phase_crossing(s, p, q);
  }
}

// The gain at a frequency given by its logarithm, which may be the largest so far.
static double try_peak(response* s, double log_omega) {
  cpl_frequency* f = &s->shown;
  double omega = exp(log_omega);
  double complex h = 0;
  if (!evaluate(s, omega, &h)) return 0;
  if (cabs(h) > f->peak) f->peak = cabs(h), f->peak_omega = omega;
  return cabs(h);
}

// Between the neighbours of a point that is larger than they are, by golden section.
static void climb(response* s, size_t i) {
  static const double golden = 0.61803398874989485;
  double a = log(s->points[i > 0 ? i - 1 : i].omega);
  double b = log(s->points[i + 1 < s->n ? i + 1 : i].omega);
  if (!isfinite(a) || !(b > a)) return;
  double left = b - golden * (b - a), right = a + golden * (b - a);
  double at_left = try_peak(s, left), at_right = try_peak(s, right);
  while (b - a > 1e-8 && !cpli_cancelled(s->ctx)) {
    if (at_left > at_right) {
      b = right, right = left, at_right = at_left;
      at_left = try_peak(s, left = b - golden * (b - a));
    } else {
      a = left, left = right, at_left = at_right;
      at_right = try_peak(s, right = a + golden * (b - a));
    }
  }
}

// Neighbours differ by a factor of exp(finest_gain) at most: lower points lead to no higher peak.
static void find_peak(response* s) {
  cpl_frequency* f = &s->shown;
  f->peak = 0, f->peak_omega = NAN;
  for (size_t i = 0; i < s->n; i++) {
    double gain = cabs(value_of(&s->points[i]));
    if (gain > f->peak) f->peak = gain, f->peak_omega = s->points[i].omega;
  }
  double least = f->peak * exp(-finest_gain);
  for (size_t i = 0; i < s->n; i++) {
    double gain = cabs(value_of(&s->points[i]));
    bool top = (i == 0 || gain >= cabs(value_of(&s->points[i - 1]))) &&
               (i + 1 == s->n || gain > cabs(value_of(&s->points[i + 1])));
    if (top && gain > 0 && gain >= least) climb(s, i);
  }
}

static void find_figures(response* s) {
  cpl_frequency* f = &s->shown;
  double complex h = 0;
  f->at_zero = evaluate(s, 0, &h) ? creal(h) : NAN;
  f->bandwidth = NAN;
  find_peak(s);
  double limit = fabs(f->at_zero) * M_SQRT1_2;
  for (size_t i = 0; i < s->n && isnan(f->bandwidth) && limit > 0; i++) {
    if (cabs(value_of(&s->points[i])) > limit) continue;
    double from = i > 0 ? s->points[i - 1].omega : 0, to = s->points[i].omega;
    for (int k = 0; k < 60 && i > 0; k++) {
      double middle = 0.5 * (from + to);
      if (!evaluate(s, middle, &h)) break;
      if (cabs(h) > limit) from = middle;
      else to = middle;
    }
    if (i > 0) f->bandwidth = to;  // else it lies below the range
    break;
  }
}

//------------------------------------ the whole ------------------------------------

static cpl_status find_ports(response* s, int32_t* from, int32_t* to) {
  const cpl_description* d = s->m->base.desc;
  cpl_status st = CPL_OK;
  if (s->def.from == NULL || s->def.to == NULL)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "a frequency response is from an input to an output");
  st = cpl_require_variable(s->ctx, d, s->def.from, from);
  if (st >= 0) st = cpl_require_variable(s->ctx, d, s->def.to, to);
  if (st < 0) return st;
  const cpl_variable *u = &d->vars[*from], *y = &d->vars[*to];
  if (u->causality != CPL_CAUSALITY_INPUT || u->type != CPL_REAL ||
      u->variability != CPL_VARIABILITY_CONTINUOUS)
    return cpl_fail_in(s->ctx, CPL_ERR_INPUT, s->m->base.name, u->name, NAN,
                       "%s is not a continuous Real input that is free", u->name);
  if (y->type != CPL_REAL || y->variability != CPL_VARIABILITY_CONTINUOUS)
    return cpl_fail_in(s->ctx, CPL_ERR_INPUT, s->m->base.name, y->name, NAN,
                       "%s is not a continuous Real", y->name);
  return CPL_OK;
}

static cpl_status compute(response* s) {
  int32_t from = -1, to = -1, n = s->m->base.desc->n_states;
  cpl_status st = find_ports(s, &from, &to);
  double* x = st >= 0 ? cpli_alloc(s->ctx, (size_t)n, sizeof *x) : NULL;
  if (st >= 0 && x == NULL) st = cpli_nomem(s->ctx);
  if (st >= 0 && n > 0) st = s->m->ops->get_states(s->m, x);
  if (st == CPL_OK) st = cpli_descriptor_make(s->m, x, &from, 1, &to, 1, &s->d);
  cpli_free(s->ctx, x);
  if (st == CPL_OK) st = make_matrix(s);
  if (st == CPL_OK) st = s->def.omegas != NULL ? take_list(s) : sweep(s);
  if (st != CPL_OK) return st;
  unwrap(s);
  find_margins(s);
  find_figures(s);
  s->shown.points = s->points;
  s->shown.n = (int32_t)s->n;
  return CPL_OK;
}

cpl_status cpl_frequency_create(cpl_model* m, const cpl_frequency_def* given, cpl_frequency** out) {
  *out = NULL;
  cpl_context* ctx = m->base.ctx;
  cpl_frequency_def def = cpl_default_frequency_def();
  cpl_status st = cpli_read_def(ctx, "cpl_frequency_def", given, &def, sizeof def);
  if (st >= 0) st = cpli_adopt_model(m);
  if (st < 0) return st;
  response* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->ctx = ctx;
  s->m = m;
  s->def = def;
  st = compute(s);
  if (st < 0 || st == CPL_RETRY) cpl_frequency_destroy(&s->shown);
  else *out = &s->shown;
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

void cpl_frequency_destroy(cpl_frequency* f) {
  if (f == NULL) return;
  response* s = (response*)f;
  cpl_context* ctx = s->ctx;
  cpli_descriptor_destroy(s->d);
  cpli_sparse_destroy(s->factors);
  cpli_compressed_free(ctx, &s->matrix);
  cpli_free(ctx, s->diagonal);
  cpli_free(ctx, s->entries);
  cpli_free(ctx, s->b);
  cpli_free(ctx, s->points);
  cpli_free(ctx, s);
}
