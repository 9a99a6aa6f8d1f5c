// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// All suspicious columns are moved at once to the other side of the point, each by another fraction
// of its increment. Where a row does not follow its entries, their columns are differenced there
// again, one evaluation per colour.
#include "model/jumps.h"

#include <float.h>
#include <math.h>

static const double grown = 8;  // ratio to previous magnitude from which an entry is suspicious
static const double forgotten = 0.5;  // decay of the largest entry observed, per Jacobian
static const double noticed = 1e-7;   // change of a row by one increment, relative to the row
static const double wrong = 0.25;  // fraction of the predicted change: the function does not follow
static const double nearer = 0.25;  // increment on the other side, relative to the first one
static const double smooth = 0.2;   // of an entry: the other side has no jump; a parabola has more

struct cpli_jumps {
  cpl_context* ctx;
  const cpli_pattern* pattern;
  double* seen;  // per entry: the recent maximum
  double* shift;
  double *foreseen, *size;  // per row: its change and the sum of its terms
  double* there;
  bool *looked_at, *broken;  // columns; rows
};

cpl_status cpli_jumps_make(cpl_context* ctx, const cpli_pattern* pattern, cpli_jumps** out) {
  size_t rows = (size_t)pattern->n_rows, columns = (size_t)pattern->n_columns;
  size_t entries = (size_t)pattern->n_entries;
  cpli_jumps* k = *out = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  *k = (cpli_jumps){.ctx = ctx, .pattern = pattern};
  k->seen = cpli_alloc(ctx, entries + columns + 3 * rows, sizeof *k->seen);
  k->looked_at = cpli_alloc(ctx, columns + rows, sizeof *k->looked_at);
  if (k->seen == NULL || k->looked_at == NULL) return cpli_nomem(ctx);
  k->shift = k->seen + entries;
  k->foreseen = k->shift + columns;
  k->size = k->foreseen + rows;
  k->there = k->size + rows;
  k->broken = k->looked_at + columns;
  return CPL_OK;
}

void cpli_jumps_forget(cpli_jumps* k) {
  if (k != NULL) memset(k->seen, 0, (size_t)k->pattern->n_entries * sizeof *k->seen);
}

double* cpli_jumps_memory(cpli_jumps* k, size_t* n) {
  *n = k != NULL ? (size_t)k->pattern->n_entries : 0;
  return k != NULL ? k->seen : NULL;
}

void cpli_jumps_destroy(cpli_jumps* k) {
  if (k == NULL) return;
  cpli_free(k->ctx, k->seen);
  cpli_free(k->ctx, k->looked_at);
  cpli_free(k->ctx, k);
}

static double* entry(const cpli_jumps* k, const cpli_jump_probe* q, int32_t column, int32_t e) {
  size_t r = (size_t)k->pattern->row[e];
  return q->out + (q->entries ? (size_t)e : (size_t)column * q->height + r);
}

// An entry that is much larger than before, and large enough to matter: a function that changes by
// less than this over an increment is not steep, whatever its derivative was before.
static bool suspicious(const cpli_jumps* k, const cpli_jump_probe* q, int32_t column, int32_t e) {
  double value = fabs(*entry(k, q, column, e));
  return value > grown * k->seen[e] &&
         value * fabs(q->h[column]) > noticed * fabs(q->base[k->pattern->row[e]]);
}

static void remember(cpli_jumps* k, const cpli_jump_probe* q) {
  for (int32_t c = 0; c < k->pattern->n_columns; c++) {
    for (int32_t e = k->pattern->first[c]; e < k->pattern->first[c + 1]; e++)
      k->seen[e] = fmax(fabs(*entry(k, q, c, e)), forgotten * k->seen[e]);
  }
}

bool cpli_jumps_grown(cpli_jumps* k, const cpli_jump_probe* q) {
  for (int32_t c = 0; c < k->pattern->n_columns; c++) {
    for (int32_t e = k->pattern->first[c]; e < k->pattern->first[c + 1]; e++) {
      if (fabs(*entry(k, q, c, e)) > grown * k->seen[e]) return true;
    }
  }
  remember(k, q);
  return false;
}

static bool look(cpli_jumps* k, const cpli_jump_probe* q) {
  bool any = false;
  for (int32_t c = 0; c < k->pattern->n_columns; c++) {
    k->looked_at[c] = false;
    for (int32_t e = k->pattern->first[c]; e < k->pattern->first[c + 1]; e++)
      k->looked_at[c] = k->looked_at[c] || suspicious(k, q, c, e);
    any = any || k->looked_at[c];
  }
  return any;
}

// All suspicious columns move at once to the other side, each by another fraction of its increment,
// so that the effects of two of them do not cancel.
static void shift_all(cpli_jumps* k, const cpli_jump_probe* q) {
  const cpli_pattern* p = k->pattern;
  memset(k->foreseen, 0, (size_t)p->n_rows * sizeof *k->foreseen);
  memset(k->size, 0, (size_t)p->n_rows * sizeof *k->size);
  for (int32_t c = 0; c < p->n_columns; c++) {
    double part = nearer * (0.5 + 0.5 * fmod(0.618 * c, 1));
    k->shift[c] = k->looked_at[c] ? -part * q->h[c] : 0;
    for (int32_t e = p->first[c]; e < p->first[c + 1] && k->looked_at[c]; e++) {
      double change = *entry(k, q, c, e) * k->shift[c];
      k->foreseen[p->row[e]] += change;
      k->size[p->row[e]] += fabs(change);
    }
  }
}

// Rows that do not follow their entries.
static bool compare(cpli_jumps* k, const cpli_jump_probe* q) {
  bool any = false;
  for (int32_t r = 0; r < k->pattern->n_rows; r++) {
    double noise = 64 * DBL_EPSILON * fmax(fabs(q->base[r]), fabs(k->there[r]));
    double off = fabs(k->there[r] - q->base[r] - k->foreseen[r]);
    k->broken[r] = off > wrong * k->size[r] + noise;
    any = any || k->broken[r];
  }
  return any;
}

static bool needs_mending(const cpli_jumps* k, const cpli_jump_probe* q, int32_t column) {
  const cpli_pattern* p = k->pattern;
  for (int32_t e = p->first[column]; e < p->first[column + 1] && k->looked_at[column]; e++) {
    if (k->broken[p->row[e]] && suspicious(k, q, column, e)) return true;
  }
  return false;
}

// The difference quotients of a colour from the other side.
static cpl_status mend_colour(cpli_jumps* k, const cpli_jump_probe* q, int32_t colour) {
  const cpli_pattern* p = k->pattern;
  bool any = false;
  for (int32_t c = 0; c < p->n_columns; c++) {
    bool moves = p->colour[c] == colour && needs_mending(k, q, c);
    k->shift[c] = moves ? -nearer * q->h[c] : 0;
    any = any || moves;
  }
  if (!any) return CPL_OK;
  cpl_status st = q->rows(q->user, k->shift, k->there);
  for (int32_t c = 0; c < p->n_columns && st == CPL_OK; c++) {
    for (int32_t e = p->first[c]; e < p->first[c + 1] && k->shift[c] != 0; e++) {
      double* value = entry(k, q, c, e);
      double other = (k->there[p->row[e]] - q->base[p->row[e]]) / k->shift[c];
      if (k->broken[p->row[e]] && suspicious(k, q, c, e) && fabs(other) < smooth * fabs(*value))
        *value = other;
    }
  }
  return st;
}

static cpl_status mend(cpli_jumps* k, const cpli_jump_probe* q) {
  shift_all(k, q);
  cpl_status st = q->rows(q->user, k->shift, k->there);
  if (st != CPL_OK || !compare(k, q)) return st;
  for (int32_t colour = 0; colour < k->pattern->n_colours && st == CPL_OK; colour++)
    st = mend_colour(k, q, colour);
  return st;
}

cpl_status cpli_jumps_mend(cpli_jumps* k, const cpli_jump_probe* q) {
  cpl_status st = look(k, q) ? mend(k, q) : CPL_OK;
  remember(k, q);
  return st == CPL_RETRY ? CPL_OK : st;  // outside of its domain a function gives no information
}
