// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The QR iteration follows the algorithms of EISPACK (balanc, hqr: J. H. Wilkinson and C. Reinsch,
// "Handbook for Automatic Computation", 1971), which are in the public domain.
#include "numeric/eigen.h"

#include <float.h>
#include <math.h>

#include "numeric/complex_lu.h"

//------------------------------------ all of a dense matrix ------------------------------------

#define A(i, j) a[(size_t)(j) * (size_t)n + (size_t)(i)]

// Scale rows and columns by powers of two until they have similar sizes.
static void balance(int32_t n, double* a) {
  bool done = false;
  for (int pass = 0; pass < 100 && !done; pass++) {
    done = true;
    for (int32_t i = 0; i < n; i++) {
      double c = 0, r = 0;
      for (int32_t j = 0; j < n; j++) {
        if (j == i) continue;
        c += fabs(A(j, i));
        r += fabs(A(i, j));
      }
      if (c == 0 || r == 0) continue;
      int power = (int)lround(0.5 * log2(r / c));
      double f = ldexp(1, power);
      if (power == 0 || (c * f + r / f) >= 0.95 * (c + r)) continue;
      done = false;
      for (int32_t j = 0; j < n; j++) A(i, j) /= f;
      for (int32_t j = 0; j < n; j++) A(j, i) *= f;
    }
  }
}

// H A H with a reflection that makes column k zero below its subdiagonal.
static void reflect(int32_t n, double* a, int32_t k) {
  double scale = 0, sum = 0;
  for (int32_t i = k + 1; i < n; i++) scale = fmax(scale, fabs(A(i, k)));
  if (k + 2 >= n || scale == 0) return;
  for (int32_t i = k + 1; i < n; i++) sum += (A(i, k) / scale) * (A(i, k) / scale);
  double alpha = -copysign(scale * sqrt(sum), A(k + 1, k));
  // v is kept in the column itself
  A(k + 1, k) -= alpha;
  double norm = 0;
  for (int32_t i = k + 1; i < n; i++) norm += (A(i, k) / scale) * (A(i, k) / scale);
  for (int32_t j = k + 1; j < n && norm > 0; j++) {
    double dot = 0;
    for (int32_t i = k + 1; i < n; i++) dot += A(i, k) / scale * A(i, j);
    dot *= 2 / norm / scale;
    for (int32_t i = k + 1; i < n; i++) A(i, j) -= dot * A(i, k);
  }
  for (int32_t i = 0; i < n && norm > 0; i++) {
    double dot = 0;
    for (int32_t j = k + 1; j < n; j++) dot += A(j, k) / scale * A(i, j);
    dot *= 2 / norm / scale;
    for (int32_t j = k + 1; j < n; j++) A(i, j) -= dot * A(j, k);
  }
  A(k + 1, k) = alpha;
  for (int32_t i = k + 2; i < n; i++) A(i, k) = 0;
}

// The row at which the active block that ends at `end` begins.
static int32_t find_block(int32_t n, double* a, int32_t end, double norm) {
  int32_t l = end;
  for (; l > 0; l--) {
    double size = fabs(A(l - 1, l - 1)) + fabs(A(l, l));
    if (size == 0) size = norm;
    if (fabs(A(l, l - 1)) <= DBL_EPSILON * size) {
      A(l, l - 1) = 0;
      break;
    }
  }
  return l;
}

static void two_by_two(double p, double q, double w, double x, double shift, double* re,
                       double* im) {
  double z = sqrt(fabs(q));
  x += shift;
  if (q >= 0) {
    z = p + copysign(z, p);
    re[0] = re[1] = x + z;
    if (z != 0) re[1] = x - w / z;
    im[0] = im[1] = 0;
  } else {
    re[0] = re[1] = x + p;
    im[0] = z, im[1] = -z;
  }
}

typedef struct shift {
  double x, y, w;
} shift;

// One double step on rows l to end.
static void francis(int32_t n, double* a, int32_t l, int32_t end, shift s) {
  double p = 0, q = 0, r = 0;
  int32_t m = end - 2;
  for (; m >= l; m--) {  // two small subdiagonal entries in a row
    double z = A(m, m);
    double rr = s.x - z, ss = s.y - z;
    p = (rr * ss - s.w) / A(m + 1, m) + A(m, m + 1);
    q = A(m + 1, m + 1) - z - rr - ss;
    r = A(m + 2, m + 1);
    double sum = fabs(p) + fabs(q) + fabs(r);
    p /= sum, q /= sum, r /= sum;
    if (m == l) break;
    double u = fabs(A(m, m - 1)) * (fabs(q) + fabs(r));
    double v = fabs(p) * (fabs(A(m - 1, m - 1)) + fabs(z) + fabs(A(m + 1, m + 1)));
    if (u <= DBL_EPSILON * v) break;
  }
  for (int32_t i = m + 2; i <= end; i++) {
    A(i, i - 2) = 0;
    if (i > m + 2) A(i, i - 3) = 0;
  }
  for (int32_t k = m; k < end; k++) {
    bool last = k == end - 1;
    double x = 1;
    if (k != m) {
      p = A(k, k - 1);
      q = A(k + 1, k - 1);
      r = last ? 0 : A(k + 2, k - 1);
      x = fabs(p) + fabs(q) + fabs(r);
      if (x == 0) continue;
      p /= x, q /= x, r /= x;
    }
    double t = copysign(sqrt(p * p + q * q + r * r), p);
    if (t == 0) continue;
    if (k != m) A(k, k - 1) = -t * x;
    else if (l != m) A(k, k - 1) = -A(k, k - 1);
    p += t;
    double px = p / t, py = q / t, pz = r / t;
    q /= p, r /= p;
    for (int32_t j = k; j <= end; j++) {
      double sum = A(k, j) + q * A(k + 1, j) + (last ? 0 : r * A(k + 2, j));
      if (!last) A(k + 2, j) -= sum * pz;
      A(k + 1, j) -= sum * py;
      A(k, j) -= sum * px;
    }
    int32_t bottom = end < k + 3 ? end : k + 3;
    for (int32_t i = l; i <= bottom; i++) {
      double sum = px * A(i, k) + py * A(i, k + 1) + (last ? 0 : pz * A(i, k + 2));
      if (!last) A(i, k + 2) -= sum * r;
      A(i, k + 1) -= sum * q;
      A(i, k) -= sum;
    }
  }
}

static bool iterate(int32_t n, double* a, double* re, double* im) {
  double norm = 0, total = 0;  // the shifts that were subtracted
  for (int32_t j = 0; j < n; j++) {
    for (int32_t i = 0; i <= j + 1 && i < n; i++) norm += fabs(A(i, j));
  }
  int32_t end = n - 1;
  int rounds = 0;
  while (end >= 0) {
    int32_t l = find_block(n, a, end, norm);
    shift s = {.x = A(end, end)};
    if (l == end) {
      re[end] = s.x + total, im[end] = 0;
      end--, rounds = 0;
      continue;
    }
    s.y = A(end - 1, end - 1);
    s.w = A(end, end - 1) * A(end - 1, end);
    if (l == end - 1) {
      double p = 0.5 * (s.y - s.x);
      two_by_two(p, p * p + s.w, s.w, s.x, total, re + end - 1, im + end - 1);
      end -= 2, rounds = 0;
      continue;
    }
    if (rounds == 60) return false;
    if (rounds % 10 == 0 && rounds > 0) {  // an exceptional shift
      total += s.x;
      for (int32_t i = 0; i <= end; i++) A(i, i) -= s.x;
      double size = fabs(A(end, end - 1)) + fabs(A(end - 1, end - 2));
      s = (shift){0.75 * size, 0.75 * size, -0.4375 * size * size};
    }
    rounds++;
    francis(n, a, l, end, s);
  }
  return true;
}

bool cpli_eigenvalues(int32_t n, double* a, double* re, double* im) {
  double sum = 0;
  for (size_t i = 0; i < (size_t)n * (size_t)n; i++) sum += a[i] - a[i];
  if (sum != 0) return false;
  balance(n, a);
  for (int32_t k = 0; k + 2 < n; k++) reflect(n, a, k);
  return iterate(n, a, re, im);
}

#undef A

//------------------------------------ vectors ------------------------------------

// A start vector without symmetries, always the same.
static void scatter(int32_t n, double* v) {
  uint64_t state = 88172645463325252u;
  for (int32_t i = 0; i < n; i++) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    v[i] = 0.5 + (double)(state >> 11) * 0x1p-53;
  }
}

static double length(int32_t n, const double* re, const double* im) {
  double max = 0, sum = 0;
  for (int32_t i = 0; i < n; i++) max = fmax(max, fmax(fabs(re[i]), im != NULL ? fabs(im[i]) : 0));
  if (max == 0 || !isfinite(max)) return max;
  for (int32_t i = 0; i < n; i++) {
    sum += (re[i] / max) * (re[i] / max);
    if (im != NULL) sum += (im[i] / max) * (im[i] / max);
  }
  return max * sqrt(sum);
}

void cpli_eigenvector(int32_t n, const double* a, double re, double im, bool left, double* v_re,
                      double* v_im, double* work, size_t* pivot) {
  size_t size = (size_t)n * (size_t)n;
  double *m_re = work, *m_im = work + size, norm = 0;
  for (size_t i = 0; i < size; i++) norm = fmax(norm, fabs(a[i]));
  for (int32_t i = 0; i < n; i++) {
    for (int32_t j = 0; j < n; j++) {
      size_t to = (size_t)j * (size_t)n + (size_t)i;
      m_re[to] = left ? a[(size_t)i * (size_t)n + (size_t)j] : a[to];
      m_im[to] = 0;
    }
  }
  // a shift next to the eigenvalue, so that the matrix is regular
  double off = fmax(1e-10 * hypot(re, im), 1e-14 * norm);
  for (int32_t i = 0; i < n; i++) {
    m_re[(size_t)i * (size_t)n + (size_t)i] -= re + off;
    m_im[(size_t)i * (size_t)n + (size_t)i] -= im;
  }
  scatter(n, v_re);
  memset(v_im, 0, (size_t)n * sizeof *v_im);
  if (!cpli_clu_factor((size_t)n, m_re, m_im, pivot)) return;
  for (int pass = 0; pass < 3; pass++) {
    cpli_clu_solve((size_t)n, m_re, m_im, pivot, v_re, v_im);
    double size_of = length(n, v_re, v_im);
    if (!(size_of > 0) || !isfinite(size_of)) return;
    for (int32_t i = 0; i < n; i++) v_re[i] /= size_of, v_im[i] /= size_of;
  }
}

//------------------------------------ Arnoldi ------------------------------------

typedef struct arnoldi {
  cpl_context* ctx;
  const cpli_operator* op;
  int32_t n, m, most;  // dimension, that of the Krylov space, its limit
  double *v, *h;       // n x (most + 1); (most + 1) x most
  double *small, *re, *im, *work, *s_re, *s_im;
  size_t* pivot;
  int32_t* order;
  bool closed;  // the space is invariant
} arnoldi;

static double dot(int32_t n, const double* a, const double* b) {
  double sum = 0;
  for (int32_t i = 0; i < n; i++) sum += a[i] * b[i];
  return sum;
}

static void extend(arnoldi* k, int32_t to) {
  size_t n = (size_t)k->n, height = (size_t)k->most + 1;
  for (; k->m < to && !k->closed; k->m++) {
    double *next = k->v + (size_t)(k->m + 1) * n, *h = k->h + (size_t)k->m * height;
    k->op->apply(k->op->user, k->v + (size_t)k->m * n, next);
    double before = length(k->n, next, NULL);
    for (int pass = 0; pass < 2; pass++) {  // twice is enough
      for (int32_t i = 0; i <= k->m; i++) {
        double part = dot(k->n, k->v + (size_t)i * n, next);
        h[i] += part;
        for (size_t r = 0; r < n; r++) next[r] -= part * k->v[(size_t)i * n + r];
      }
    }
    double left = length(k->n, next, NULL);
    k->closed = !(left > 1e-13 * before) || k->m + 1 == k->n;
    h[k->m + 1] = k->closed ? 0 : left;
    for (size_t r = 0; r < n && !k->closed; r++) next[r] /= left;
  }
}

static int by_magnitude(const arnoldi* k, int32_t a, int32_t b) {
  double x = hypot(k->re[a], k->im[a]), y = hypot(k->re[b], k->im[b]);
  return x != y ? (x > y ? -1 : 1) : a - b;
}

// Eigenvalues of the small matrix, largest first.
static bool project(arnoldi* k) {
  for (int32_t j = 0; j < k->m; j++) {
    for (int32_t i = 0; i < k->m; i++)
      k->small[(size_t)j * (size_t)k->m + (size_t)i] =
          i <= j + 1 ? k->h[(size_t)j * ((size_t)k->most + 1) + (size_t)i] : 0;
  }
  memcpy(k->work, k->small, (size_t)k->m * (size_t)k->m * sizeof *k->work);
  if (!cpli_eigenvalues(k->m, k->work, k->re, k->im)) return false;
  for (int32_t i = 0; i < k->m; i++) {  // insertion: m is small
    int32_t at = i;
    for (; at > 0 && by_magnitude(k, i, k->order[at - 1]) < 0; at--)
      k->order[at] = k->order[at - 1];
    k->order[at] = i;
  }
  return true;
}

// The eigenvalue at a place in the order: its vector in the small space, and whether it has
// converged.
static bool is_converged(arnoldi* k, int32_t place) {
  int32_t i = k->order[place];
  double size = hypot(k->re[i], k->im[i]);
  cpli_eigenvector(k->m, k->small, k->re[i], k->im[i], false, k->s_re, k->s_im, k->work, k->pivot);
  if (k->closed) return true;
  double rest = k->h[(size_t)(k->m - 1) * ((size_t)k->most + 1) + (size_t)k->m];
  return rest * hypot(k->s_re[k->m - 1], k->s_im[k->m - 1]) <= 1e-9 * size;
}

static void take(arnoldi* k, int32_t place, cpli_ritz* out) {
  size_t n = (size_t)k->n;
  double *re = out->v_re + (size_t)out->n * n, *im = out->v_im + (size_t)out->n * n;
  out->re[out->n] = k->re[k->order[place]];
  out->im[out->n] = k->im[k->order[place]];
  memset(re, 0, n * sizeof *re);
  memset(im, 0, n * sizeof *im);
  for (int32_t j = 0; j < k->m; j++) {
    for (size_t r = 0; r < n; r++) {
      re[r] += k->s_re[j] * k->v[(size_t)j * n + r];
      im[r] += k->s_im[j] * k->v[(size_t)j * n + r];
    }
  }
  out->n++;
}

static cpl_status allocate(arnoldi* k, int32_t most, cpli_ritz* out) {
  size_t n = (size_t)k->n, m = (size_t)k->most;
  k->v = cpli_alloc(k->ctx, n * (m + 1), sizeof *k->v);
  k->h = cpli_alloc(k->ctx, (m + 1) * m, sizeof *k->h);
  k->small = cpli_alloc(k->ctx, 5 * m * m + 8 * m, sizeof *k->small);
  k->pivot = cpli_alloc(k->ctx, m, sizeof *k->pivot);
  k->order = cpli_alloc(k->ctx, m, sizeof *k->order);
  out->re = cpli_alloc(k->ctx, 2 * (size_t)most, sizeof *out->re);
  out->v_re = cpli_alloc(k->ctx, 2 * n * (size_t)most, sizeof *out->v_re);
  if (k->v == NULL || k->h == NULL || k->small == NULL || k->pivot == NULL || k->order == NULL ||
      out->re == NULL || out->v_re == NULL)
    return cpli_nomem(k->ctx);
  k->work = k->small + m * m;
  k->re = k->work + 4 * m * m + 2 * m;
  k->im = k->re + m;
  k->s_re = k->im + m;
  k->s_im = k->s_re + m;
  out->im = out->re + most;
  out->v_im = out->v_re + n * (size_t)most;
  scatter(k->n, k->v);
  double size = length(k->n, k->v, NULL);
  for (size_t i = 0; i < n; i++) k->v[i] /= size;
  return CPL_OK;
}

cpl_status cpli_arnoldi(cpl_context* ctx, const cpli_operator* op, int32_t most, cpli_ritz* out) {
  enum { FACTOR = 8 };
  *out = (cpli_ritz){0};
  most = most < op->n ? most : op->n;
  arnoldi k = {.ctx = ctx, .op = op, .n = op->n};
  k.most = FACTOR * most + 20 < op->n ? FACTOR * most + 20 : op->n;
  if (op->n == 0) return CPL_OK;
  cpl_status st = allocate(&k, most, out);
  for (int32_t to = 2 * most + 20; st >= 0 && out->n < most; to *= 2) {
    extend(&k, to < k.most ? to : k.most);
    out->n = 0;
    if (!project(&k)) break;
    for (int32_t i = 0; i < k.m && out->n < most; i++) {
      if (!is_converged(&k, i)) break;
      take(&k, i, out);
    }
    if (k.closed || k.m == k.most) break;
  }
  cpli_free(ctx, k.v);
  cpli_free(ctx, k.h);
  cpli_free(ctx, k.small);
  cpli_free(ctx, k.pivot);
  cpli_free(ctx, k.order);
  return st;
}

void cpli_ritz_free(cpl_context* ctx, cpli_ritz* r) {
  cpli_free(ctx, r->re);
  cpli_free(ctx, r->v_re);
  *r = (cpli_ritz){0};
}
