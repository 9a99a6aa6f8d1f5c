// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// State events of all methods. After each step the indicators are compared at its beginning, at its
// end and, where a parabola through neighbouring values comes close to zero, at points inside the
// step, on the dense output of the method: two crossings within one step are visible at neither
// end. Output points are compared as well when they are served, so that no recorded row contradicts
// an indicator. The first change of sign found is located on dense output; a method whose steps are
// more accurate than its dense output repeats its step with other lengths (cpli_solver_ops.again).
#include <assert.h>
#include <float.h>
#include <math.h>

#include "solver/integrated.h"
#include "solver/locate.h"

enum {
  MAX_DEPTH = 12,      // nested subdivisions
  MAX_SAMPLES = 1000,  // per step
  LOOKS = 500,         // minimum number of samples per run, at output points or in addition to them
  SCRATCH = MAX_DEPTH + 6,
};
static const double margin = 2;   // safety factor on the curvature estimated from neighbours
static const double growth = 3;   // neighbours closer by this factor say little about an interval
static const double quiet = 0.1;  // unless an indicator changes by a smaller fraction of its value

typedef struct point {
  double t;
  double* z;
  bool scratch;  // z belongs to `free`
} point;

struct cpli_crossings {
  point begin, end;  // of the last step
  point before;      // the preceding sample: begin of the step before, or the last sample inside it
  bool has_before, stepped;  // since the start
  bool sampled;              // before is inside the last step
  double longest;            // longest interval without a sample
  double seen;               // no change of sign between begin and this time
  double* x;
  double* memory;
  double* free[SCRATCH];
  int n_free;
};

cpl_status cpli_crossings_make(cpli_integrate* s) {
  if (s->nz == 0) return CPL_OK;
  cpl_context* ctx = s->base.base.ctx;
  struct cpli_crossings* k = s->crossings = cpli_alloc(ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(ctx);
  *k = (struct cpli_crossings){0};
  k->memory = cpli_alloc(ctx, (SCRATCH + 3) * s->nz + s->all, sizeof(double));
  if (k->memory == NULL) return cpli_nomem(ctx);
  double** targets[] = {&k->before.z, &k->begin.z, &k->end.z};
  for (size_t i = 0; i < 3; i++) *targets[i] = k->memory + i * s->nz;
  for (size_t i = 0; i < SCRATCH; i++) k->free[i] = k->memory + (i + 3) * s->nz;
  k->x = k->memory + (SCRATCH + 3) * s->nz;
  k->n_free = SCRATCH;
  return CPL_OK;
}

void cpli_crossings_destroy(cpli_integrate* s) {
  if (s->crossings == NULL) return;
  cpli_free(s->base.base.ctx, s->crossings->memory);
  cpli_free(s->base.base.ctx, s->crossings);
}

static cpl_status not_evaluated(cpli_integrate* s, double t) {
  return cpl_fail_prefix(s->base.base.ctx, CPL_ERR_MODEL,
                         "%s: the event indicators cannot be evaluated at t=%.12g",
                         s->base.base.name, t);
}

static cpl_status evaluate(cpli_integrate* s, double t, const double* x, double* z) {
  cpl_status st = cpli_indicators(s, t, x, z);
  return st == CPL_RETRY ? not_evaluated(s, t) : st;
}

cpl_status cpli_crossings_start(cpli_integrate* s) {
  struct cpli_crossings* k = s->crossings;
  if (k == NULL) return CPL_OK;
  k->has_before = k->stepped = false;
  k->begin.t = k->seen = s->t;
  return evaluate(s, s->t, s->x, k->begin.z);
}

static void list_point(cpli_serial* s, point* p, size_t nz) {
  cpli_serial_real(s, &p->t);
  cpli_serial_reals(s, p->z, nz);
}

void cpli_crossings_list(cpli_integrate* s, cpli_serial* serial) {
  struct cpli_crossings* k = s->crossings;
  if (k == NULL) return;
  list_point(serial, &k->begin, s->nz);
  list_point(serial, &k->end, s->nz);
  list_point(serial, &k->before, s->nz);
  bool* flags[] = {&k->has_before, &k->stepped, &k->sampled};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_bool(serial, flags[i]);
  cpli_serial_real(serial, &k->longest);
  cpli_serial_real(serial, &k->seen);
  bool ordered = k->begin.t <= k->seen && (!k->stepped || k->seen <= k->end.t) &&
                 (!k->has_before || k->sampled || k->before.t <= k->begin.t);
  if (serial->st >= 0 && !ordered) cpli_serial_refuse(serial, "its times are not in order");
}

//------------------------------------ between two points ------------------------------------

#ifdef NDEBUG
#define check_crossings(k) ((void)0)
#else
// crossings invariants, between steps: 1 all scratch memory is free; 2 the points are in the order
// of time: before, begin, end; 3 what has been seen is between the last two.
static void check_crossings(const struct cpli_crossings* k) {
  assert(k->n_free == SCRATCH);
  assert(!k->stepped || k->begin.t <= k->end.t);
  assert(!k->has_before || k->sampled || k->before.t <= k->begin.t);
  assert(k->begin.t <= k->seen && (!k->stepped || k->seen <= k->end.t));
}
#endif

static void drop(struct cpli_crossings* k, point* p) {
  assert(!p->scratch || k->n_free < SCRATCH);
  if (p->scratch) k->free[k->n_free++] = p->z;
  *p = (point){0};
}

// The largest curvature (half the second derivative) estimated from three neighbours on either
// side; negative: unknown.
static double curvature(const point* p, const point* a, const point* b, const point* n, size_t i) {
  double slope = (b->z[i] - a->z[i]) / (b->t - a->t), max = -1;
  if (p->z != NULL) {
    double left = (a->z[i] - p->z[i]) / (a->t - p->t);
    max = fabs(slope - left) / (b->t - p->t);
  }
  if (n != NULL) {
    double right = (n->z[i] - b->z[i]) / (n->t - b->t);
    max = fmax(max, fabs(right - slope) / (n->t - a->t));
  }
  return max;
}

// Whether an indicator may touch zero between a and b and return, and the best point for a sample:
// the extremum of the parabola that bends towards zero. An indicator with the other sign at b may
// have changed earlier if it is not monotone. p and n: neighbours.
static bool is_suspicious(const cpli_integrate* s, const point* p, const point* a, const point* b,
                          const point* n, double* where) {
  double worst = 0, h = b->t - a->t;
  double nearest = fmax(p->z != NULL ? a->t - p->t : 0, n != NULL ? n->t - b->t : 0);
  bool far = h > growth * nearest;
  *where = 0.5;
  if (h > s->crossings->longest) return true;
  for (size_t i = 0; i < s->nz; i++) {
    double bend = margin * h * h * curvature(p, a, b, n, i);
    if (bend < 0) return true;  // no curvature is known yet
    double za = fabs(a->z[i]), zb = (a->z[i] > 0) == (b->z[i] > 0) ? fabs(b->z[i]) : -fabs(b->z[i]);
    if (far && fabs(zb - za) + bend > quiet * fmin(za, fabs(zb))) return true;
    if (!(bend > fabs(zb - za))) continue;  // monotone
    double at = 0.5 - (zb - za) / (2 * bend), low = za - bend * at * at;
    if (low >= worst * bend) continue;
    worst = low / bend;
    *where = fmin(fmax(at, 0.1), 0.9);
  }
  return worst < 0;
}

//------------------------------------ locating ------------------------------------

typedef struct attempts {
  cpli_integrate* s;
  double from;
} attempts;

static cpl_status dense_point(void* user, double h, double* z) {
  const attempts* a = user;
  double* x = a->s->crossings->x;
  cpl_status st = cpli_solution_at(a->s, a->from + h, x);
  return st == CPL_OK ? cpli_indicators(a->s, a->from + h, x, z) : st;
}

static cpl_status real_step(void* user, double h, double* z) {
  const attempts* a = user;
  double* x = a->s->crossings->x;
  cpl_status st = a->s->solver->ops->again(a->s->solver, h, x);
  return st == CPL_OK ? cpli_indicators(a->s, a->from + h, x, z) : st;
}

// Algebraic variables are interpolated less accurately than they follow from the states, and after
// the event they follow from the states: an event that only their interpolation shows would not be
// confirmed.
static cpl_status consistent_point(void* user, double h, double* z) {
  const attempts* a = user;
  double* x = a->s->crossings->x;
  cpl_status st = cpli_solution_at(a->s, a->from + h, x);
  if (st == CPL_OK) st = cpli_dae_solve(a->s, a->from + h, x);
  if (st == CPL_RETRY)
    cpl_fail(a->s->base.base.ctx, st, "no algebraic variables are consistent with the states");
  return st == CPL_OK ? cpli_indicators(a->s, a->from + h, x, z) : st;
}

// An event is this much later than its crossing, so that a value that differs by rounding in
// another model has crossed, too. The solver's time starts with the run and may have the coarser
// resolution.
static double rounding(const cpli_integrate* s, const point* a, const point* b) {
  return 4 * DBL_EPSILON * fmax(fmax(fabs(a->t), fabs(b->t)), b->t - s->t_start);
}

// The state just past the located crossing, by a length *h between k->high and `max`. Where the
// iteration or rounding leaves it before the crossing, the length grows.
static cpl_status go_past(cpli_integrate* s, const cpli_search* k, double max, double* h) {
  double past = k->tiny;
  cpl_status st = CPL_OK;
  for (bool shown = false; st == CPL_OK && !shown; past *= 4) {
    *h = fmin(k->high + past, max);
    st = k->attempt(k->user, *h, k->try_z);
    shown = *h == max || cpli_changed_sign(k->z0, k->try_z, k->n);
  }
  memcpy(s->x, s->crossings->x, s->all * sizeof(double));
  return st;
}

// On dense output, between `from` and `to`. *when is just past the crossing, where the step `ends`.
static cpl_status locate_dense(cpli_integrate* s, const point* from, const point* to, double* when,
                               bool ends) {
  struct cpli_crossings* k = s->crossings;
  attempts user = {s, from->t};
  assert(k->n_free >= 3);
  double* z1 = k->free[k->n_free - 3];
  memcpy(z1, to->z, s->nz * sizeof(double));
  cpli_search search = {.n = s->nz,
                        .high = to->t - from->t,
                        .tiny = rounding(s, from, to),
                        .z0 = from->z,
                        .z1 = z1,
                        .low_z = k->free[k->n_free - 1],
                        .try_z = k->free[k->n_free - 2],
                        .user = &user,
                        .attempt = dense_point};
  cpl_status st = cpli_locate(&search, s->crossed);
  double h = search.high;
  if (st == CPL_OK && ends) st = go_past(s, &search, to->t - from->t, &h);
  *when = h < to->t - from->t ? from->t + h : to->t;
  return st;
}

// By evaluations that are more accurate than dense output, from the beginning of the last step:
// repeated steps of the method, or solved algebraic variables. `to` is changed; *found: false where
// only dense output shows a change.
static cpl_status locate_accurately(cpli_integrate* s, const point* to, double guess, bool* found) {
  struct cpli_crossings* k = s->crossings;
  attempts user = {s, k->begin.t};
  assert(k->n_free >= 3);
  double* z1 = k->free[k->n_free - 3];
  double whole = k->end.t - k->begin.t, high = to->t - k->begin.t;
  bool by_steps = s->solver->ops->again != NULL;
  cpl_status (*attempt)(void*, double, double*) = by_steps ? real_step : consistent_point;
  cpl_status st = CPL_OK;
  if (by_steps && to->z == k->end.z) memcpy(z1, to->z, s->nz * sizeof(double));
  else st = attempt(&user, high, z1);
  if (st != CPL_OK) return st;
  *found = cpli_changed_sign(k->begin.z, z1, s->nz);
  if (!*found) {
    memcpy(to->z, z1, s->nz * sizeof(double));
    return by_steps ? s->solver->ops->again(s->solver, whole, s->x) : CPL_OK;
  }
  double accuracy = 1e-9 * s->def.rtol * whole;
  cpli_search search = {.n = s->nz,
                        .high = high,
                        .tiny = fmax(rounding(s, &k->begin, to), accuracy),
                        .guess = guess - k->begin.t,
                        .z0 = k->begin.z,
                        .z1 = z1,
                        .low_z = k->free[k->n_free - 1],
                        .try_z = k->free[k->n_free - 2],
                        .user = &user,
                        .attempt = attempt};
  st = cpli_locate(&search, s->crossed);
  double h = search.high;
  if (st == CPL_OK) st = go_past(s, &search, high, &h);
  s->t_step = h < whole ? k->begin.t + h : k->end.t;
  return st;
}

// The step ends just past the first change between `from` and `to`.
static cpl_status end_step(cpli_integrate* s, const point* from, const point* to, bool* found) {
  double when;
  bool dense = s->solver->ops->again == NULL && s->na == 0;
  cpl_status st = locate_dense(s, from, to, &when, dense);
  *found = true;
  if (st == CPL_OK && dense) s->t_step = when;
  if (st == CPL_OK && !dense) st = locate_accurately(s, to, when, found);
  return st == CPL_RETRY ? not_evaluated(s, to->t) : st;
}

//------------------------------------ steps ------------------------------------

static point take_sample(cpli_integrate* s, double t, cpl_status* st) {
  struct cpli_crossings* k = s->crossings;
  attempts user = {s, t};
  assert(k->n_free > 0);
  point p = {.t = t, .z = k->free[--k->n_free], .scratch = true};
  *st = dense_point(&user, 0, p.z);
  if (*st != CPL_OK) drop(k, &p);
  return p;
}

// Scans the step from left to right. Later points are kept on a stack; an interval that may contain
// a crossing is divided.
static cpl_status search(cpli_integrate* s, bool* found) {
  struct cpli_crossings* k = s->crossings;
  point ahead[MAX_DEPTH + 1] = {k->end}, before = {0}, left = k->begin;
  int top = 0, samples = 0;
  double min = fmax(1e-6 * (k->end.t - k->begin.t), 4 * rounding(s, &k->begin, &k->end)), where;
  cpl_status st = CPL_OK;
  if (k->has_before) before = k->before;
  while (top >= 0 && st >= 0 && !*found) {
    point* right = &ahead[top];
    assert(left.t < right->t && (top == 0 || right->t < right[-1].t));
    bool divides = top < MAX_DEPTH && samples < MAX_SAMPLES && right->t - left.t > min &&
                   is_suspicious(s, &before, &left, right, top > 0 ? right - 1 : NULL, &where);
    if (divides) {
      point p = take_sample(s, left.t + where * (right->t - left.t), &st);
      samples++;
      if (p.z != NULL) {
        ahead[++top] = p;
        continue;
      }
      if (st == CPL_RETRY) st = CPL_OK;
    }
    if (cpli_changed_sign(k->begin.z, right->z, s->nz)) {
      st = end_step(s, &left, right, found);
      if (*found || st < 0) break;
    }
    drop(k, &before);
    before = left, left = ahead[top--];
  }
  k->sampled = top < 0 && before.scratch;
  if (k->sampled) {  // the neighbour of the next step
    memcpy(k->before.z, before.z, s->nz * sizeof(double));
    k->before.t = before.t;
  }
  drop(k, &before);
  drop(k, &left);
  for (; top >= 0; top--) drop(k, &ahead[top]);
  return st;
}

static void swap(point* a, point* b) {
  point kept = *a;
  *a = *b;
  *b = kept;
}

cpl_status cpli_crossings_step(cpli_integrate* s, double next_output, bool* found) {
  struct cpli_crossings* k = s->crossings;
  *found = false;
  if (k == NULL) return CPL_OK;
  double spacing = (s->t_stop - s->t_start) / LOOKS;
  k->longest = next_output - s->t > 2 * spacing ? spacing : INFINITY;
  cpl_status st = k->stepped ? cpli_check_order(s, k->end.t) : CPL_OK;
  if (st != CPL_OK) return st;
  if (k->stepped && k->end.t > k->begin.t) {
    if (!k->sampled) swap(&k->before, &k->begin);
    k->has_before = true;
  }
  k->sampled = false;
  if (k->stepped) swap(&k->begin, &k->end);
  k->stepped = true;
  k->end.t = s->t_step;
  st = evaluate(s, s->t_step, s->x, k->end.z);
  if (st == CPL_OK && k->end.t > k->begin.t) st = search(s, found);
  k->seen = k->begin.t;
  check_crossings(k);
  return st;
}

cpl_status cpli_crossings_at(cpli_integrate* s, bool* found) {
  struct cpli_crossings* k = s->crossings;
  *found = false;
  if (k == NULL || !(s->t > k->seen) || !(s->t < s->t_step)) return CPL_OK;
  point here = {.t = s->t, .z = k->free[--k->n_free], .scratch = true};
  cpl_status st = cpli_indicators_here(s, s->t, here.z);
  if (st == CPL_OK && cpli_changed_sign(k->begin.z, here.z, s->nz)) {
    point from = {.t = k->seen, .z = k->begin.z};
    st = end_step(s, &from, &here, found);
    if (st == CPL_OK && !*found)
      st = cpli_set_point(s, s->t, s->x_at);  // root finding has moved the model
  }
  if (st == CPL_OK && !*found) k->seen = s->t;
  drop(k, &here);
  check_crossings(k);
  return st == CPL_RETRY ? not_evaluated(s, s->t) : st;
}
