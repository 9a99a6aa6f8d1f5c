// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Waves as piecewise cubic polynomials in a ring buffer, which may lie in memory shared by
// processes: interpolation by Newton's divided differences, jumps, and one polynomial for a span of
// several segments.
#include <assert.h>
#include <math.h>
#include <sys/mman.h>

#include "tlm/tlm.h"

//------------------------------------ polynomials ------------------------------------

double cpli_segment_at(const cpli_segment* s, int32_t component, double t) {
  const double* c = s->c[component];
  double x = t - s->from;
  return ((c[3] * x + c[2]) * x + c[1]) * x + c[0];
}

// The same polynomial in powers of a time shifted by `by`.
static void shift(double* c, double by) {
  c[0] += by * (c[1] + by * (c[2] + by * c[3]));
  c[1] += by * (2 * c[2] + 3 * by * c[3]);
  c[2] += 3 * by * c[3];
}

// Newton's divided differences, then powers of (t - from).
static inline void fit(const double* t, const double* v, int32_t n, double from, double* c) {
  double d[CPLI_NODES], power[CPLI_NODES] = {0};
  memcpy(d, v, (size_t)n * sizeof *d);
  for (int32_t k = 1; k < n; k++) {
    for (int32_t i = n - 1; i >= k; i--) d[i] = (d[i] - d[i - 1]) / (t[i] - t[i - k]);
  }
  for (int32_t i = n - 1; i >= 0; i--) {  // power = power * (x - x_i) + d_i
    double x = t[i] - from;
    for (int32_t k = n - 1; k > 0; k--) power[k] = power[k - 1] - x * power[k];
    power[0] = d[i] - x * power[0];
  }
  memcpy(c, power, sizeof power);
}

// Mostly of all nodes, where the loops have constant limits.
void cpli_fit(const double* t, const double* v, int32_t n, double from, double* c) {
  assert(n > 0 && n <= CPLI_NODES);
  if (n == CPLI_NODES) fit(t, v, CPLI_NODES, from, c);
  else fit(t, v, n, from, c);
}

//------------------------------------ a ring of segments ------------------------------------

cpl_status cpli_wave_init(cpli_wave* w, cpl_context* ctx) {
  *w = (cpli_wave){.ctx = ctx, .cap = 16};
  w->items = cpli_alloc(ctx, w->cap, sizeof *w->items);
  return w->items != NULL ? CPL_OK : cpli_nomem(ctx);
}

cpl_status cpli_wave_init_shared(cpli_wave* w, cpl_context* ctx, size_t min_cap) {
  *w = (cpli_wave){.ctx = ctx, .cap = 1024, .shared = true};
  while (w->cap < min_cap) w->cap *= 2;
  void* items = mmap(NULL, w->cap * sizeof *w->items, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (items == MAP_FAILED) return cpli_nomem(ctx);
  w->items = items;
  return CPL_OK;
}

void cpli_wave_free(cpli_wave* w) {
  if (w->items != NULL && w->shared) munmap(w->items, w->cap * sizeof *w->items);
  else if (w->items != NULL) cpli_free(w->ctx, w->items);
  w->items = NULL;
}

void cpli_wave_clear(cpli_wave* w) { w->first = w->n = 0; }

static cpli_segment* at(const cpli_wave* w, size_t i) {
  return &w->items[(w->first + i) & (w->cap - 1)];
}

#ifdef NDEBUG
#define check_wave(w) ((void)0)
#else
// wave invariants: 1 the capacity is a power of two, and at most that many segments are in the
// ring; 2 a segment has a length; 3 segments begin in the order of time, without gaps. Where they
// overlap the later one counts: an event has ended the interval of a damped wave early. The ring is
// checked where it changes: at its ends.
static void check_wave(const cpli_wave* w) {
  assert(w->cap > 0 && (w->cap & (w->cap - 1)) == 0);
  assert(w->first < w->cap && w->n <= w->cap);
  if (w->n > 0) assert(at(w, 0)->from < at(w, 0)->to);
  if (w->n > 1) assert(at(w, w->n - 1)->from <= at(w, w->n - 2)->to);
  if (w->n > 1) assert(at(w, w->n - 2)->from <= at(w, w->n - 1)->from);
  if (w->n > 1) assert(at(w, w->n - 1)->from < at(w, w->n - 1)->to);
}
#endif

// Only events make it grow: without them a line holds a known number of segments.
static cpl_status make_room(cpli_wave* w) {
  if (w->shared)
    return cpl_fail(
        w->ctx, CPL_ERR_UNSUPPORTED,
        "more than %zu segments of a wave are in transit at once: too many jumps for a line "
        "between processes",
        w->cap);
  cpli_segment* items = cpli_alloc(w->ctx, 2 * w->cap, sizeof *items);
  if (items == NULL) return cpli_nomem(w->ctx);
  for (size_t i = 0; i < w->n; i++) items[i] = *at(w, i);
  cpli_free(w->ctx, w->items);
  w->items = items;
  w->first = 0;
  w->cap *= 2;
  for (size_t i = 1; i < w->n; i++) assert(at(w, i)->from <= at(w, i - 1)->to);
  return CPL_OK;
}

cpl_status cpli_wave_reserve(cpli_wave* w, size_t n) {
  cpl_status st = CPL_OK;
  while (w->cap < n && st >= 0) st = make_room(w);
  return st;
}

cpl_status cpli_wave_add(cpli_wave* w, const cpli_segment* s) {
  if (w->n == w->cap) {
    cpl_status st = make_room(w);
    if (st < 0) return st;
  }
  *at(w, w->n++) = *s;
  check_wave(w);
  return CPL_OK;
}

const cpli_segment* cpli_wave_last(const cpli_wave* w) {
  assert(w->n > 0);
  return at(w, w->n - 1);
}

void cpli_wave_forget(cpli_wave* w, double t) {
  while (w->n > 1 && at(w, 0)->to < t) {
    w->first = (w->first + 1) & (w->cap - 1);
    w->n--;
  }
  check_wave(w);
}

double cpli_wave_next_jump(const cpli_wave* w, double t, double until) {
  for (size_t i = 0; i < w->n; i++) {
    const cpli_segment* s = at(w, i);
    if (s->from >= until) break;
    if (s->jump && s->from > t) return s->from;
  }
  return (double)INFINITY;
}

bool cpli_wave_jumps_at(const cpli_wave* w, double t, double near) {
  for (size_t i = 0; i < w->n && at(w, i)->from <= t + near; i++) {
    if (at(w, i)->jump && at(w, i)->from >= t - near) return true;
  }
  return false;
}

// The segment for t inside a span, whose ends count as inside.
static const cpli_segment* find(const cpli_wave* w, double t, double from, double to, double near) {
  const cpli_segment* best = at(w, 0);
  for (size_t i = 1; i < w->n; i++) {
    const cpli_segment* s = at(w, i);
    if (s->from >= to - near || (s->from > t && s->from > from + near)) break;
    best = s;
  }
  return best;
}

void cpli_wave_span(const cpli_wave* w, double from, double to, double near, int32_t width,
                    cpli_segment* out) {
  assert(w->n > 0 && width > 0 && width <= CPLI_WIDTH && from <= to);
  assert(at(w, 0)->from <= from + near && to <= cpli_wave_last(w)->to + near);
  const cpli_segment* first = find(w, from, from, to, near);
  *out = (cpli_segment){.from = from, .to = to};
  if (first->to >= to - near) {
    for (int32_t k = 0; k < width; k++) {
      memcpy(out->c[k], first->c[k], sizeof out->c[k]);
      shift(out->c[k], from - first->from);
    }
    return;
  }
  double t[CPLI_NODES], v[CPLI_NODES];
  for (int32_t k = 0; k < width; k++) {
    for (int32_t i = 0; i < CPLI_NODES; i++) {
      t[i] = i < CPLI_NODES - 1 ? from + (to - from) * i / (CPLI_NODES - 1) : to;
      v[i] = cpli_segment_at(find(w, t[i], from, to, near), k, t[i]);
    }
    cpli_fit(t, v, CPLI_NODES, from, out->c[k]);
  }
}
