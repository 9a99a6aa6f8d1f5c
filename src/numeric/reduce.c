// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// States are equilibrated; the part that is kept is separated from the one that decays; that part
// is balanced by the factors of its Gramians; its weak states are taken at rest.
#include "numeric/reduce.h"

#include <float.h>
#include <math.h>

#include "numeric/eigen.h"
#include "numeric/lu.h"
#include "numeric/matrix.h"

typedef cpli_state_space space;

static size_t area(int32_t rows, int32_t columns) { return (size_t)rows * (size_t)columns; }

static double* make(cpl_context* ctx, int32_t rows, int32_t columns) {
  return cpli_alloc(ctx, area(rows, columns) + 1, sizeof(double));
}

static cpl_status make_space(cpl_context* ctx, int32_t n, const space* like, space* out) {
  *out = (space){.n = n, .m = like->m, .p = like->p, .extra = like->extra};
  out->a = make(ctx, n, n);
  out->b = make(ctx, n, like->m);
  out->c = make(ctx, like->p, n);
  out->d = make(ctx, like->p, like->m);
  bool made = out->a != NULL && out->b != NULL && out->c != NULL && out->d != NULL;
  return made ? CPL_OK : cpli_nomem(ctx);
}

static void free_space(cpl_context* ctx, space* s) {
  cpli_free(ctx, s->a);
  cpli_free(ctx, s->b);
  cpli_free(ctx, s->c);
  cpli_free(ctx, s->d);
}

void cpli_balanced_free(cpl_context* ctx, cpli_balanced* r) {
  free_space(ctx, &r->s);
  cpli_free(ctx, r->hankel);
}

static void copy(double* to, const double* from, size_t n) {
  if (n > 0) memcpy(to, from, n * sizeof *to);
}

static double largest(const double* a, size_t n) {
  double most = 0;
  for (size_t i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
  return most;
}

//------------------------------------ scaling ------------------------------------

// Powers of two that make the rows and columns of each state similar: units do not matter.
static void equilibrate(space* s) {
  for (int pass = 0; pass < 20; pass++) {
    for (int32_t k = 0; k < s->n; k++) {
      double row = 0, column = 0;
      for (int32_t j = 0; j < s->n; j++) {
        row += j != k ? fabs(s->a[area(s->n, j) + (size_t)k]) : 0;
        column += j != k ? fabs(s->a[area(s->n, k) + (size_t)j]) : 0;
      }
      for (int32_t j = 0; j < s->m - s->extra; j++) row += fabs(s->b[area(s->n, j) + (size_t)k]);
      for (int32_t i = 0; i < s->p; i++) column += fabs(s->c[area(s->p, k) + (size_t)i]);
      int power = row > 0 && column > 0 ? (int)lround(0.5 * log2(row / column)) : 0;
      if (power == 0) continue;
      for (int32_t j = 0; j < s->n; j++) {
        double* entry = s->a + area(s->n, j) + (size_t)k;
        *entry = ldexp(*entry, -power);
      }
      for (int32_t j = 0; j < s->m; j++) {
        double* entry = s->b + area(s->n, j) + (size_t)k;
        *entry = ldexp(*entry, -power);
      }
      for (int32_t i = 0; i < s->n; i++) {
        double* entry = s->a + area(s->n, k) + (size_t)i;
        *entry = ldexp(*entry, power);
      }
      for (int32_t i = 0; i < s->p; i++) {
        double* entry = s->c + area(s->p, k) + (size_t)i;
        *entry = ldexp(*entry, power);
      }
    }
  }
}

//------------------------------------ the sign function ------------------------------------

// A left or right factor that the iteration carries along, of at most n columns.
typedef struct factor {
  int32_t columns;  // 0: there is none
  double* at;       // n x columns
} factor;

typedef struct sign_work {
  int32_t n;
  double *inverse, *lu, *wide, *r, *q, *product;  // n x n; wide 2 n x n, also r
  int32_t* pivot;
} sign_work;

static void free_sign(cpl_context* ctx, sign_work* w) {
  double* const all[] = {w->inverse, w->lu, w->wide, w->r, w->q, w->product};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) cpli_free(ctx, all[i]);
  cpli_free(ctx, w->pivot);
}

static cpl_status make_sign(cpl_context* ctx, int32_t n, sign_work* w) {
  *w = (sign_work){.n = n};
  w->inverse = make(ctx, n, n);
  w->lu = make(ctx, n, n);
  w->wide = make(ctx, n, 2 * n);
  w->r = make(ctx, n, 2 * n);
  w->q = make(ctx, 2 * n, n);
  w->product = make(ctx, n, n);
  w->pivot = cpli_alloc(ctx, (size_t)n + 1, sizeof *w->pivot);
  bool made = w->inverse != NULL && w->lu != NULL && w->wide != NULL && w->r != NULL &&
              w->q != NULL && w->product != NULL && w->pivot != NULL;
  return made ? CPL_OK : cpli_nomem(ctx);
}

// The inverse of a, and the scaling |det a|^(1/n) that speeds the iteration up; false: singular.
static bool invert(sign_work* w, const double* a, double* scale) {
  int32_t n = w->n;
  double sum = 0;
  copy(w->lu, a, area(n, n));
  if (cpli_lu_factor(w->lu, w->pivot, n) >= 0) return false;
  for (int32_t j = 0; j < n; j++) {
    double* column = w->inverse + area(n, j);
    sum += log(fabs(w->lu[area(n, j) + (size_t)j]));
    for (int32_t i = 0; i < n; i++) column[i] = i == j;
    cpli_lu_solve(w->lu, w->pivot, n, column);
  }
  *scale = exp(sum / n);
  return *scale > 0 && *scale < INFINITY;
}

// [F, scale inverse F] / sqrt(2 scale), with as many columns as its rank.
static void advance(sign_work* w, const double* inverse, double scale, factor* f) {
  int32_t n = w->n, twice = 2 * f->columns;
  if (f->columns == 0) return;
  copy(w->wide, f->at, area(n, f->columns));
  cpli_multiply(n, n, f->columns, inverse, f->at, w->wide + area(n, f->columns));
  double before = 1 / sqrt(2 * scale), after = sqrt(scale / 2);
  for (size_t i = 0; i < area(n, f->columns); i++) {
    w->wide[i] *= before;
    w->wide[area(n, f->columns) + i] *= after;
  }
  // F F' = R' Q' Q R, where Q R = F'
  cpli_transpose(n, twice, w->wide, w->r);
  copy(w->wide, w->r, area(n, twice));
  int32_t rank = cpli_basis(twice, n, w->wide, DBL_EPSILON, n, w->q, w->r);
  for (int32_t j = 0; j < rank; j++) {
    for (int32_t i = 0; i < n; i++) f->at[area(n, j) + (size_t)i] = w->r[area(n, i) + (size_t)j];
  }
  f->columns = rank;
}

// a becomes its sign. On the way factors of right-hand sides become those of the solutions of
// A X + X A' + R R' = 0 (reach) and A' X + X A + L' L = 0 (show), times sqrt(2).
static bool sign_of(sign_work* w, double* a, factor* reach, factor* show) {
  enum { MAX_ITERATIONS = 200 };
  int32_t n = w->n;
  size_t size = area(n, n);
  double last = INFINITY;
  for (int k = 0; k < MAX_ITERATIONS; k++) {
    double scale = 1, change = 0, most = 0;
    if (!invert(w, a, &scale)) return false;
    if (last < 0.1) scale = 1;  // converging quadratically
    advance(w, w->inverse, scale, reach);
    cpli_transpose(n, n, w->inverse, w->product);
    advance(w, w->product, scale, show);
    for (size_t i = 0; i < size; i++) {
      double next = 0.5 * (a[i] / scale + w->inverse[i] * scale);
      change = fmax(change, fabs(next - a[i]));
      most = fmax(most, fabs(next));
      a[i] = next;
    }
    if (!(most < INFINITY)) return false;
    change /= most;
    bool settled = change <= 10 * n * DBL_EPSILON || (last < 1e-6 && change >= last);
    if (settled) return true;
    last = change;
  }
  return false;
}

//------------------------------------ what decays ------------------------------------

// Poles whose real parts are not negative beyond rounding, and those that rounding has spread
// around zero with them; *shift moves the axis between them and the others.
static bool count_kept(const space* s, double* work, int32_t* kept, double* shift) {
  double *a = work, *re = work + area(s->n, s->n), *im = re + s->n, most = 0, slowest = 0;
  copy(a, s->a, area(s->n, s->n));
  if (!cpli_eigenvalues(s->n, a, re, im)) return false;
  for (int32_t i = 0; i < s->n; i++) most = fmax(most, hypot(re[i], im[i]));
  double zero = 1e-13 * most, radius = zero;
  for (int32_t i = 0; i < s->n; i++) {
    double size = hypot(re[i], im[i]);
    if (re[i] > -zero && size < 1e-7 * most) radius = fmax(radius, 1.5 * size);
  }
  *kept = 0;
  bool near_axis = false;
  for (int32_t i = 0; i < s->n; i++) {
    if (re[i] >= -radius) {
      *kept += 1;
      near_axis = near_axis || re[i] <= radius;
    } else if (slowest == 0 || -re[i] < slowest) {
      slowest = -re[i];
    }
  }
  *shift = near_axis ? slowest / 2 : 0;
  return true;
}

// T^-1 A T = [A1 0; 0 A2] with the poles that are kept in A1.
static cpl_status separate(cpl_context* ctx, space* s, int32_t kept, double shift) {
  int32_t n = s->n, found = 0;
  sign_work w;
  double *t = make(ctx, n, n), *sign = make(ctx, n, n), *room = make(ctx, n, n);
  factor none = {0};
  cpl_status st = make_sign(ctx, n, &w);
  if (st < 0 || t == NULL || sign == NULL || room == NULL) {
    st = cpli_nomem(ctx);
    goto done;
  }
  copy(sign, s->a, area(n, n));
  for (int32_t i = 0; i < n; i++) sign[area(n, i) + (size_t)i] += shift;
  bool fine = sign_of(&w, sign, &none, &none);
  for (int part = 0; part < 2 && fine; part++) {  // the ranges of I + S and of I - S
    copy(room, sign, area(n, n));
    for (size_t i = 0; i < area(n, n); i++) room[i] *= part == 0 ? 1 : -1;
    for (int32_t i = 0; i < n; i++) room[area(n, i) + (size_t)i] += 1;
    int32_t most = part == 0 ? kept : n - kept;
    found = cpli_basis(n, n, room, 0, most, t + area(n, part == 0 ? 0 : kept), NULL);
    fine = found == most;
  }
  copy(w.lu, t, area(n, n));
  fine = fine && cpli_lu_factor(w.lu, w.pivot, n) < 0;
  if (fine) {
    cpli_multiply(n, n, n, s->a, t, room);
    copy(s->a, room, area(n, n));
    for (int32_t j = 0; j < n; j++) cpli_lu_solve(w.lu, w.pivot, n, s->a + area(n, j));
    for (int32_t j = 0; j < s->m; j++) cpli_lu_solve(w.lu, w.pivot, n, s->b + area(n, j));
    cpli_multiply(s->p, n, n, s->c, t, room);
    copy(s->c, room, area(s->p, n));
    double size = largest(s->a, area(n, n));
    for (int32_t j = 0; j < n; j++) {
      for (int32_t i = 0; i < n; i++) {
        double* entry = s->a + area(n, j) + (size_t)i;
        if ((i < kept) == (j < kept)) continue;
        fine = fine && fabs(*entry) <= 1e-7 * size;
        *entry = 0;
      }
    }
  }
  if (!fine)
    st = cpl_fail(ctx, CPL_ERR_MODEL,
                  "the order cannot be reduced: poles that decay and poles that do not are too "
                  "close to each other");
done:
  free_sign(ctx, &w);
  cpli_free(ctx, t);
  cpli_free(ctx, sign);
  cpli_free(ctx, room);
  return st;
}

//------------------------------------ balancing ------------------------------------

typedef struct balance {
  int32_t n, rank;               // of the part that decays; singular values that are not zero
  double *reach, *show, *sigma;  // factors of the Gramians: T = reach, W = show
} balance;

static void free_balance(cpl_context* ctx, balance* b) {
  cpli_free(ctx, b->reach);
  cpli_free(ctx, b->show);
  cpli_free(ctx, b->sigma);
}

// Columns of T and W with W' T = I, in the order of the singular values.
static void project(const factor* f, const double* from, const double* sigma, int32_t n,
                    int32_t rank, double* to) {
  cpli_multiply(n, f->columns, rank, f->at, from, to);
  for (int32_t j = 0; j < rank; j++) {
    for (int32_t i = 0; i < n; i++) to[area(n, j) + (size_t)i] /= sqrt(sigma[j]);
  }
}

static void divide_columns(double* a, const double* by, int32_t rows, int32_t columns) {
  for (int32_t j = 0; j < columns; j++) {
    for (int32_t i = 0; i < rows; i++) a[area(rows, j) + (size_t)i] /= by[j];
  }
}

// a, b, c: those of the part that decays.
static cpl_status balance_part(cpl_context* ctx, const space* s, balance* out) {
  int32_t n = s->n, inputs = s->m - s->extra;
  sign_work w;
  int32_t side = n + s->m + s->p;
  factor reach = {inputs, make(ctx, n, side)}, show = {s->p, make(ctx, n, side)};
  double *a = make(ctx, n, n), *m = make(ctx, side, side), *v = make(ctx, side, side);
  *out = (balance){.n = n, .reach = make(ctx, n, n), .show = make(ctx, n, n)};
  out->sigma = make(ctx, side, 1);
  cpl_status st = make_sign(ctx, side, &w);
  w.n = n;
  if (st < 0 || reach.at == NULL || show.at == NULL || a == NULL || m == NULL || v == NULL ||
      out->reach == NULL || out->show == NULL || out->sigma == NULL) {
    st = cpli_nomem(ctx);
    goto done;
  }
  copy(a, s->a, area(n, n));
  copy(reach.at, s->b, area(n, inputs));
  cpli_transpose(s->p, n, s->c, show.at);
  if (!sign_of(&w, a, &reach, &show)) {
    st = cpl_fail(ctx, CPL_ERR_MODEL, "the order cannot be reduced: poles are too close to zero");
    goto done;
  }
  if (reach.columns > 0 && show.columns > 0) {  // show' reach = U Sigma V'
    cpli_transpose(n, show.columns, show.at, v);
    cpli_multiply(show.columns, n, reach.columns, v, reach.at, m);
    cpli_singular_values(show.columns, reach.columns, m, v, out->sigma);
    int32_t most = show.columns < reach.columns ? show.columns : reach.columns;
    while (out->rank < most && out->sigma[out->rank] > 4 * n * DBL_EPSILON * out->sigma[0])
      out->rank++;
    divide_columns(m, out->sigma, show.columns, out->rank);
    project(&reach, v, out->sigma, n, out->rank, out->reach);
    project(&show, m, out->sigma, n, out->rank, out->show);
    for (int32_t i = 0; i < out->rank; i++)
      out->sigma[i] /= 2;  // the factors are those of 2 P, 2 Q
  }
done:
  free_sign(ctx, &w);
  cpli_free(ctx, reach.at);
  cpli_free(ctx, show.at);
  cpli_free(ctx, a);
  cpli_free(ctx, m);
  cpli_free(ctx, v);
  return st;
}

//------------------------------------ the reduced system ------------------------------------

// Rows or columns `from`, `n` of them, of a matrix with `rows` rows.
static void take(double* to, int32_t to_rows, int32_t to_row, int32_t to_column, const double* from,
                 int32_t rows, int32_t row, int32_t column, int32_t n_rows, int32_t n_columns) {
  for (int32_t j = 0; j < n_columns; j++) {
    for (int32_t i = 0; i < n_rows; i++)
      to[area(to_rows, to_column + j) + (size_t)(to_row + i)] =
          from[area(rows, column + j) + (size_t)(row + i)];
  }
}

// The part that decays in balanced coordinates.
static cpl_status transform(cpl_context* ctx, const space* s, const balance* b, space* out) {
  cpl_status st = make_space(ctx, b->rank, s, out);
  double *at = make(ctx, s->n, b->rank), *w = make(ctx, b->rank, s->n);
  if (st < 0 || at == NULL || w == NULL) {
    st = cpli_nomem(ctx);
    goto done;
  }
  cpli_transpose(s->n, b->rank, b->show, w);
  cpli_multiply(s->n, s->n, b->rank, s->a, b->reach, at);
  cpli_multiply(b->rank, s->n, b->rank, w, at, out->a);
  cpli_multiply(b->rank, s->n, s->m, w, s->b, out->b);
  cpli_multiply(s->p, s->n, b->rank, s->c, b->reach, out->c);
  copy(out->d, s->d, area(s->p, s->m));
done:
  cpli_free(ctx, at);
  cpli_free(ctx, w);
  return st;
}

// States from `n` on are at rest: eliminated as unknowns of a linear system.
static cpl_status settle(cpl_context* ctx, const space* s, int32_t n, space* out) {
  int32_t rest = s->n - n, columns = n + s->m;
  cpl_status st = make_space(ctx, n, s, out);
  double *lu = make(ctx, rest, rest), *x = make(ctx, rest, columns);
  double *down = make(ctx, n + s->p, rest), *product = make(ctx, n + s->p, columns);
  int32_t* pivot = cpli_alloc(ctx, (size_t)rest + 1, sizeof *pivot);
  if (st < 0 || lu == NULL || x == NULL || down == NULL || product == NULL || pivot == NULL) {
    st = cpli_nomem(ctx);
    goto done;
  }
  take(lu, rest, 0, 0, s->a, s->n, n, n, rest, rest);
  take(x, rest, 0, 0, s->a, s->n, n, 0, rest, n);
  take(x, rest, 0, n, s->b, s->n, n, 0, rest, s->m);
  take(down, n + s->p, 0, 0, s->a, s->n, 0, n, n, rest);
  take(down, n + s->p, n, 0, s->c, s->p, 0, n, s->p, rest);
  if (rest > 0 && cpli_lu_factor(lu, pivot, rest) >= 0) {
    st = cpl_fail(ctx, CPL_ERR_MODEL, "the order cannot be reduced: weak states do not settle");
    goto done;
  }
  for (int32_t j = 0; j < columns && rest > 0; j++)
    cpli_lu_solve(lu, pivot, rest, x + area(rest, j));
  cpli_multiply(n + s->p, rest, columns, down, x, product);
  for (int32_t j = 0; j < columns; j++) {
    for (int32_t i = 0; i < n + s->p; i++) {
      bool state = i < n, by_state = j < n;
      int32_t row = state ? i : i - n, column = by_state ? j : j - n;
      const double* from = state ? (by_state ? s->a : s->b) : (by_state ? s->c : s->d);
      double* to = state ? (by_state ? out->a : out->b) : (by_state ? out->c : out->d);
      to[area(state ? n : s->p, column) + (size_t)row] =
          from[area(state ? s->n : s->p, column) + (size_t)row] -
          product[area(n + s->p, j) + (size_t)i];
    }
  }
done:
  cpli_free(ctx, lu);
  cpli_free(ctx, x);
  cpli_free(ctx, down);
  cpli_free(ctx, product);
  cpli_free(ctx, pivot);
  return st;
}

// The part that is kept beside the balanced one.
static cpl_status join(cpl_context* ctx, const space* s, int32_t kept, const space* balanced,
                       space* out) {
  int32_t n = kept + balanced->n;
  cpl_status st = make_space(ctx, n, s, out);
  if (st < 0) return st;
  memset(out->a, 0, area(n, n) * sizeof *out->a);
  take(out->a, n, 0, 0, s->a, s->n, 0, 0, kept, kept);
  take(out->a, n, kept, kept, balanced->a, balanced->n, 0, 0, balanced->n, balanced->n);
  take(out->b, n, 0, 0, s->b, s->n, 0, 0, kept, s->m);
  take(out->b, n, kept, 0, balanced->b, balanced->n, 0, 0, balanced->n, s->m);
  take(out->c, s->p, 0, 0, s->c, s->p, 0, 0, s->p, kept);
  take(out->c, s->p, 0, kept, balanced->c, s->p, 0, 0, s->p, balanced->n);
  copy(out->d, balanced->d, area(s->p, s->m));
  return CPL_OK;
}

static cpl_status split(cpl_context* ctx, space* s, int32_t* kept) {
  double shift = 0, *work = make(ctx, s->n, s->n + 2);
  if (work == NULL) return cpli_nomem(ctx);
  bool counted = count_kept(s, work, kept, &shift);
  cpli_free(ctx, work);
  if (!counted)
    return cpl_fail(ctx, CPL_ERR_MODEL, "the iteration for the poles does not converge");
  return *kept > 0 && *kept < s->n ? separate(ctx, s, *kept, shift) : CPL_OK;
}

// Rows and columns of the part that decays.
static cpl_status take_part(cpl_context* ctx, const space* s, int32_t kept, space* part) {
  int32_t n = s->n - kept;
  cpl_status st = make_space(ctx, n, s, part);
  if (st < 0) return st;
  take(part->a, n, 0, 0, s->a, s->n, kept, kept, n, n);
  take(part->b, n, 0, 0, s->b, s->n, kept, 0, n, s->m);
  take(part->c, s->p, 0, 0, s->c, s->p, 0, kept, s->p, n);
  copy(part->d, s->d, area(s->p, s->m));
  return CPL_OK;
}

static cpl_status reduce_part(cpl_context* ctx, const space* s, int32_t order, cpli_balanced* out) {
  space part = {0}, balanced = {0}, settled = {0};
  balance b = {0};
  cpl_status st = take_part(ctx, s, out->kept, &part);
  if (st >= 0 && part.n > 0) st = balance_part(ctx, &part, &b);
  if (st >= 0) st = transform(ctx, &part, &b, &balanced);
  int32_t wanted = order - out->kept < b.rank ? order - out->kept : b.rank;
  if (st >= 0) st = settle(ctx, &balanced, wanted, &settled);
  if (st >= 0) st = join(ctx, s, out->kept, &settled, &out->s);
  for (int32_t i = wanted; i < b.rank && st >= 0; i++) out->bound += 2 * b.sigma[i];
  if (st >= 0) {
    out->hankel = b.sigma;
    out->n_hankel = b.rank;
    b.sigma = NULL;
  }
  free_balance(ctx, &b);
  free_space(ctx, &part);
  free_space(ctx, &balanced);
  free_space(ctx, &settled);
  return st;
}

cpl_status cpli_reduce(cpl_context* ctx, const cpli_state_space* s, int32_t order,
                       cpli_balanced* out) {
  space work = {0};
  *out = (cpli_balanced){0};
  cpl_status st = make_space(ctx, s->n, s, &work);
  if (st >= 0) {
    copy(work.a, s->a, area(s->n, s->n));
    copy(work.b, s->b, area(s->n, s->m));
    copy(work.c, s->c, area(s->p, s->n));
    copy(work.d, s->d, area(s->p, s->m));
    equilibrate(&work);
    st = split(ctx, &work, &out->kept);
  }
  if (st >= 0 && out->kept > order)
    st = cpl_fail(ctx, CPL_ERR_INPUT,
                  "%d states are too few: %d poles do not decay, and all of them are kept", order,
                  out->kept);
  if (st >= 0) st = reduce_part(ctx, &work, order, out);
  free_space(ctx, &work);
  return st;
}
