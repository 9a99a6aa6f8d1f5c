// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Covariance by singular values of the Jacobian, whose columns are scaled to the same norm first,
// so that units of parameters do not matter.
#include "fit/covariance.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "numeric/matrix.h"

// Of a unit vector: smaller parts do not belong to a direction. A direction in which the results
// change by less than this, relative to the most influential one, is mentioned.
static const double least_part = 1e-3, nearly = 1e-3;
static const double least_shown = 5e-3;  // of a direction whose largest part is 1

typedef struct maker {
  cpli_covariance* out;
  const double* jacobian;
  size_t m;
  const cpl_varied* parameters;
  double noise;
  size_t* list;  // parameters that are not held and have an influence
  size_t k;
  double *a, *s, *v, *norms;
} maker;

static double norm(const double* v, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++) sum += v[i] * v[i];
  return sqrt(sum);
}

//------------------------------------ directions ------------------------------------

static bool has_part(const maker* w, size_t direction, size_t i) {
  return fabs(w->v[direction * w->k + i]) > least_part;
}

// Relative to the values of the parameters, where they are not 0.
static double relative_part(const maker* w, size_t direction, size_t i) {
  const size_t j = w->list[i];
  const double value = w->parameters[j].value;
  const double change = w->v[direction * w->k + i] / w->norms[i];
  return value != 0 ? change / value : change;
}

static char* describe(const maker* w, const double* parts) {
  char* text = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  const char* before = "";
  for (size_t j = 0; j < w->out->n; j++) {
    if (fabs(parts[j]) < least_shown) continue;
    fprintf(out, "%s%s %+.2g %%", before, w->parameters[j].name, parts[j]);
    before = ", ";
  }
  const bool fine = ferror(out) == 0;
  if (fclose(out) != 0 || !fine) {
    free(text);
    return NULL;
  }
  char* kept = cpli_strdup(w->out->ctx, text);
  free(text);
  return kept;
}

static cpl_status add_direction(const maker* w, double* parts, double ratio, bool singular) {
  cpli_covariance* c = w->out;
  double largest = 0;
  for (size_t j = 0; j < c->n; j++) largest = fmax(largest, fabs(parts[j]));
  size_t first = 0;  // it is positive
  while (first + 1 < c->n && !(fabs(parts[first]) >= least_shown * largest)) first++;
  const double scale = parts[first] < 0 ? -largest : largest;
  for (size_t j = 0; j < c->n && largest > 0; j++) parts[j] /= scale;
  cpl_fit_direction* d = &c->directions[c->n_directions++];
  *d = (cpl_fit_direction){
      .ratio = ratio, .singular = singular, .parts = parts, .text = describe(w, parts)};
  return d->text != NULL ? CPL_OK : cpli_nomem(c->ctx);
}

static cpl_status add_singular(const maker* w, size_t direction, double ratio) {
  cpli_covariance* c = w->out;
  const bool singular = ratio < w->noise;
  double* parts = cpli_alloc(c->ctx, c->n, sizeof *parts);
  if (parts == NULL) return cpli_nomem(c->ctx);
  for (size_t i = 0; i < w->k; i++) {
    if (!has_part(w, direction, i)) continue;
    parts[w->list[i]] = relative_part(w, direction, i);
    if (singular) c->undetermined[w->list[i]] = true;
  }
  return add_direction(w, parts, ratio, singular);
}

// A parameter without any influence is a direction of its own.
static cpl_status add_without_influence(const maker* w, size_t j) {
  cpli_covariance* c = w->out;
  double* parts = cpli_alloc(c->ctx, c->n, sizeof *parts);
  if (parts == NULL) return cpli_nomem(c->ctx);
  parts[j] = 1;
  c->undetermined[j] = true;
  return add_direction(w, parts, 0, true);
}

//------------------------------------ matrix ------------------------------------

static void fill_matrix(const maker* w) {
  cpli_covariance* c = w->out;
  for (size_t d = 0; d < w->k; d++) {
    if (!(w->s[d] > w->noise * w->s[0])) continue;
    const double* v = w->v + d * w->k;
    for (size_t i = 0; i < w->k; i++)
      for (size_t l = 0; l < w->k; l++)
        c->matrix[w->list[i] * c->n + w->list[l]] +=
            v[i] * v[l] / (w->s[d] * w->s[d] * w->norms[i] * w->norms[l]);
  }
}

// What a column of a parameter is measured with: changes of the results when it doubles.
static double influence(const maker* w, size_t j) {
  const double value = fabs(w->parameters[j].value);
  return norm(w->jacobian + j * w->m, w->m) * (value > 0 ? value : 1);
}

static cpl_status choose(maker* w, const int32_t* held) {
  cpli_covariance* c = w->out;
  double largest = 0;
  cpl_status st = CPL_OK;
  for (size_t j = 0; j < c->n; j++) largest = fmax(largest, influence(w, j));
  for (size_t j = 0; j < c->n && st >= 0; j++) {
    if (held[j] != 0) continue;
    if (!(influence(w, j) > 1e-9 * w->noise * largest)) st = add_without_influence(w, j);
    else w->list[w->k++] = j;
  }
  return st;
}

static cpl_status decompose(maker* w) {
  const size_t m = w->m;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < w->k; i++) {
    const double* column = w->jacobian + w->list[i] * m;
    w->norms[i] = norm(column, m);
    for (size_t r = 0; r < m; r++) w->a[i * m + r] = column[r] / w->norms[i];
  }
  cpli_singular_values((int32_t)m, (int32_t)w->k, w->a, w->v, w->s);
  for (size_t d = 0; d < w->k && st >= 0; d++)
    if (w->s[d] < nearly * w->s[0]) st = add_singular(w, d, w->s[d] / w->s[0]);
  fill_matrix(w);
  return st;
}

cpl_status cpli_covariance_make(cpl_context* ctx, const double* jacobian, size_t m,
                                const cpl_varied* parameters, const int32_t* held, size_t n,
                                double noise, cpli_covariance* out) {
  *out = (cpli_covariance){.ctx = ctx, .n = n};
  maker w = {.out = out, .jacobian = jacobian, .m = m, .parameters = parameters, .noise = noise};
  out->matrix = cpli_alloc(ctx, n * n, sizeof *out->matrix);
  out->undetermined = cpli_alloc(ctx, n, sizeof *out->undetermined);
  out->directions = cpli_alloc(ctx, n, sizeof *out->directions);
  double* memory = cpli_alloc(ctx, m * n + n * n + 2 * n, sizeof *memory);
  w.list = cpli_alloc(ctx, n, sizeof *w.list);
  const bool fine = out->matrix != NULL && out->undetermined != NULL && out->directions != NULL &&
                    memory != NULL && w.list != NULL;
  cpl_status st = fine ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) {
    w.a = memory, w.v = w.a + m * n, w.s = w.v + n * n, w.norms = w.s + n;
    st = choose(&w, held);
  }
  if (st >= 0) st = decompose(&w);
  cpli_free(ctx, memory);
  cpli_free(ctx, w.list);
  return st;
}

void cpli_covariance_free(cpli_covariance* c) {
  if (c->ctx == NULL) return;
  for (size_t i = 0; i < c->n_directions; i++) {
    cpli_free(c->ctx, (void*)c->directions[i].parts);
    cpli_free(c->ctx, (void*)c->directions[i].text);
  }
  cpli_free(c->ctx, c->matrix);
  cpli_free(c->ctx, c->undetermined);
  cpli_free(c->ctx, c->directions);
  *c = (cpli_covariance){0};
}
