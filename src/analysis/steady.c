// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The search for a rest point: Newton's method (numeric/algebra.h); where it fails or the equations
// do not determine all states, implicit Euler with growing steps (pseudo-transient continuation,
// which keeps what the system keeps); for targets that are too far away, continuation of the
// targets. Then events are iterated at the point, and both are repeated until neither changes
// anything.
#include "couplet/steady.h"

#include <math.h>
#include <stdio.h>

#include "analysis/rest.h"
#include "base/error.h"
#include "model/adopt.h"
#include "numeric/algebra.h"

enum { MAX_SETTLINGS = 50, MAX_STEPS = 1000 };
static const double relevant = 1e-3;  // values below this fraction of their nominal count as zero

typedef struct search {
  cpl_steady shown;
  cpli_rest r;
  cpli_algebra a;
  cpl_context* ctx;
  double *z, *start, *kept, *g, *g_next, *step;
  double* scale;  // of the unknowns: magnitude at the start
  bool continued, determined;
  cpli_arena arena;
} search;

void cpl_init_steady_def(cpl_steady_def* def, size_t size) {
  const cpl_steady_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

//------------------------------------ messages ------------------------------------

// The states whose derivatives are largest, compared with their magnitudes: "x (der 3), y (der 1)";
// those that change a thousand times slower are at rest beside them.
static void name_moving(const search* s, const double* f, char* out, size_t size) {
  double first = 0, before = INFINITY;
  int32_t last = -1;
  out[0] = '\0';
  for (int k = 0; k < 3; k++) {
    int32_t best = -1;
    double most = 0;
    for (int32_t i = 0; i < s->r.n; i++) {
      double speed = fabs(f[i]) / s->scale[i];
      bool named = speed > before || (speed == before && i <= last);
      if (speed > most && !named) most = speed, best = i;
    }
    if (best < 0 || most < 1e-3 * first) return;
    if (k == 0) first = most;
    before = most, last = best;
    size_t n = strlen(out);
    snprintf(out + n, size - n, "%s%s (derivative %.4g)", k > 0 ? ", " : "",
             cpli_rest_name(&s->r, best), f[best]);
  }
}

static cpl_status none_found(search* s, const char* why) {
  char moving[512];
  name_moving(s, s->g, moving, sizeof moving);
  return cpl_fail_in(s->ctx, CPL_ERR_MODEL, s->r.m->base.name, NULL, s->r.def->time,
                     "no rest point is found at t=%.12g: %s%s%s", s->r.def->time, why,
                     moving[0] != '\0' ? "; these states keep changing: " : "", moving);
}

//------------------------------------ Newton's method ------------------------------------

static cpl_status newton(search* s, double* z) {
  s->a.ready = false;
  s->r.shift = 0;
  bool holds = false;
  cpl_status st = cpli_algebra_solve(&s->a, z);
  if (st == CPL_OK) st = cpli_rest_holds(&s->r, z, s->a.g, &holds);
  return st == CPL_OK && !holds ? CPL_RETRY : st;
}

//------------------------------------ pseudo-transient continuation -------------------------------

static double speed_of(const search* s, const double* f) {
  double max = 0;
  for (int32_t i = 0; i < s->r.n; i++) max = fmax(max, fabs(f[i]) / s->scale[i]);
  return max;
}

// How far the derivatives at the end of a step are from those that implicit Euler expects there.
static double deviation(const search* s, double tau) {
  double max = 0;
  for (int32_t i = 0; i < s->r.n; i++)
    max = fmax(max, fabs(s->g_next[i] + s->step[i] / tau) / s->scale[i]);
  return max;
}

static bool has_run_away(const search* s, const double* z) {
  for (int32_t i = 0; i < s->r.n; i++) {
    if (fabs(z[i]) > 1e8 * s->scale[i]) return true;
  }
  return false;
}

static double change_of(const search* s) {
  double max = 0;
  for (int32_t i = 0; i < s->r.n; i++) max = fmax(max, fabs(s->step[i]) / s->scale[i]);
  return max;
}

// One step from z, where s->g belongs. *tau: its length, and that of the next one. CPL_RETRY: it
// was too long.
static cpl_status euler_step(search* s, double* z, double* tau, double speed) {
  cpl_status st = cpli_rest_residuals(&s->r, z, s->g);
  s->r.shift = 1 / *tau;
  if (st == CPL_OK) st = cpli_rest_factor(&s->r);
  if (st == CPL_OK) st = cpli_rest_solve(&s->r, s->g, s->step);
  if (st != CPL_OK) return st;
  for (int32_t i = 0; i < s->r.all; i++) s->kept[i] = z[i] - s->step[i];
  st = cpli_rest_residuals(&s->r, s->kept, s->g_next);
  if (st != CPL_OK) return st;
  double error = deviation(s, *tau);
  if (!(error <= 0.5 * speed)) return CPL_RETRY;
  memcpy(z, s->kept, (size_t)s->r.all * sizeof *z);
  memcpy(s->g, s->g_next, (size_t)s->r.all * sizeof *z);
  *tau *= fmin(10, fmax(1, 0.1 * speed / fmax(error, 1e-300)));
  return CPL_OK;
}

// Newton's method from here, where the equations determine the point.
static cpl_status finish(search* s, double* z, bool* done) {
  double* copy = cpli_alloc(s->ctx, (size_t)s->r.all, sizeof *copy);
  if (copy == NULL) return cpli_nomem(s->ctx);
  memcpy(copy, z, (size_t)s->r.all * sizeof *z);
  cpl_status st = newton(s, copy);
  bool near = st == CPL_OK;
  for (int32_t i = 0; i < s->r.n && near; i++)
    near = fabs(copy[i] - z[i]) <= 0.1 * fmax(fabs(z[i]), s->scale[i]);
  if (near) memcpy(z, copy, (size_t)s->r.all * sizeof *z);
  cpli_free(s->ctx, copy);
  *done = near;
  if (st < 0) return st;
  return near ? CPL_OK : cpli_rest_residuals(&s->r, z, s->g);
}

// With the matrix of the equations themselves, without the one of the last step.
static cpl_status check_end(search* s, const double* z, bool* holds) {
  if (s->r.n_constraints == 0) return CPL_OK;
  s->r.shift = 0;
  cpl_status st = cpli_rest_factor(&s->r);
  if (st == CPL_OK || st == CPL_RETRY) st = cpli_rest_residuals(&s->r, z, s->g);
  return st == CPL_OK ? cpli_rest_holds(&s->r, z, s->g, holds) : st;
}

static cpl_status pseudo_transient(search* s, double* z) {
  cpl_status st = cpli_rest_residuals(&s->r, z, s->g);
  if (st == CPL_RETRY) return none_found(s, "derivatives are not finite at the start values");
  double speed = st == CPL_OK ? speed_of(s, s->g) : 0, tried = speed;
  double tau = speed > 0 ? 0.1 / speed : 1, shortest = 1e-12 * tau;
  bool done = speed == 0;
  s->continued = true;
  for (int i = 0; i < MAX_STEPS && st == CPL_OK && !done; i++) {
    bool crossed = false;
    st = euler_step(s, z, &tau, speed);
    if (st == CPL_RETRY) {
      tau /= 4;
      if (tau < shortest) return none_found(s, "the search became stuck");
      st = cpli_rest_residuals(&s->r, z, s->g);
      continue;
    }
    if (st == CPL_OK) st = cpli_rest_settle(&s->r, z, &crossed);
    if (st == CPL_OK) st = cpli_rest_residuals(&s->r, z, s->g);
    if (st != CPL_OK) break;
    if (has_run_away(s, z)) return none_found(s, "the solution runs away");
    if (crossed) tau = fmax(shortest, fmin(tau, 0.1 / fmax(speed_of(s, s->g), 1e-300)));
    speed = speed_of(s, s->g);
    done = speed == 0 || (!crossed && change_of(s) <= 1e-12);
    if (!done && s->determined && speed <= 1e-3 * tried) {
      tried = speed;
      st = finish(s, z, &done);
    }
  }
  bool holds = true;
  if (st == CPL_OK && done) st = check_end(s, z, &holds);
  if (st != CPL_OK) return st == CPL_RETRY ? none_found(s, "derivatives are not finite") : st;
  if (!holds) return none_found(s, "the constraints do not hold where the derivatives are zero");
  return done ? CPL_OK : none_found(s, "the search took too many steps");
}

//------------------------------------ targets ------------------------------------

// Where the model rests with the free variables as they are given. z stays where there is none.
static cpl_status rest_as_given(search* s, double* z) {
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(s->ctx, &ignored);
  memcpy(s->r.held, z + s->r.n, (size_t)s->r.n_free * sizeof *z);
  s->r.holds_free = true;
  cpl_status st = newton(s, z);
  if (st == CPL_RETRY) {
    memcpy(z, s->start, (size_t)s->r.all * sizeof *z);
    st = pseudo_transient(s, z);
  }
  s->r.holds_free = false;
  if (st != CPL_OK) memcpy(z, s->start, (size_t)s->r.all * sizeof *z);
  cpli_end_diversion(before);
  cpli_error_clear(&ignored, s->ctx);
  return cpli_cancelled(s->ctx) ? cpli_interrupted(s->ctx, s->r.m->base.name, s->r.def->time)
         : st == CPL_ERR_NOMEM  ? cpli_nomem(s->ctx)
                                : CPL_OK;
}

// Targets move from the values at the rest point of the given free variables to the requested ones.
static cpl_status move_targets(search* s, double* z) {
  int32_t n = s->r.n_targets, first = s->r.n;
  double* wanted = cpli_alloc(s->ctx, 2 * (size_t)n + (size_t)s->r.all, sizeof *wanted);
  if (wanted == NULL) return cpli_nomem(s->ctx);
  double *from = wanted + n, *copy = from + n, part = 0, length = 0.25;
  memcpy(wanted, s->r.targets, (size_t)n * sizeof *wanted);
  cpl_status st = rest_as_given(s, z);
  if (st == CPL_OK) st = cpli_rest_residuals(&s->r, z, s->g);
  for (int32_t i = 0; i < n; i++) from[i] = s->g[first + i] + wanted[i];
  while (st == CPL_OK && part < 1 && length > 1e-4) {
    double next = fmin(1, part + length);
    for (int32_t i = 0; i < n; i++) s->r.targets[i] = from[i] + next * (wanted[i] - from[i]);
    memcpy(copy, z, (size_t)s->r.all * sizeof *z);
    st = newton(s, copy);
    if (st == CPL_OK) memcpy(z, copy, (size_t)s->r.all * sizeof *z), part = next, length *= 2;
    else if (st == CPL_RETRY) st = CPL_OK, length /= 4;
  }
  memcpy(s->r.targets, wanted, (size_t)n * sizeof *wanted);
  if (st == CPL_OK) st = cpli_rest_residuals(&s->r, z, s->g);
  cpli_free(s->ctx, wanted);
  if (st < 0 || part >= 1) return st;
  char text[400];
  int used = 0;
  for (int32_t i = 0; i < n && used < 300; i++)
    used += snprintf(text + used, sizeof text - (size_t)used, "%s%s=%g", i > 0 ? ", " : "",
                     s->r.def->targets[i].name, s->r.targets[i]);
  return cpl_fail_in(s->ctx, CPL_ERR_MODEL, s->r.m->base.name, NULL, s->r.def->time,
                     "no rest point with %s is found: the search stops at %.3g of the way, where "
                     "%s=%.6g; the free variables may have no influence, or the value is out of "
                     "reach",
                     text, part, cpli_rest_name(&s->r, first), z[first]);
}

//------------------------------------ one search ------------------------------------

// With discrete parts as they are.
static cpl_status solve(search* s, double* z) {
  memcpy(s->start, z, (size_t)s->r.all * sizeof *z);
  cpli_error ignored = {0};
  cpli_error* before = cpli_divert_errors(s->ctx, &ignored);
  cpl_status st = s->determined ? newton(s, z) : CPL_RETRY;
  cpli_end_diversion(before);
  if (st < 0) cpli_fail_again(s->ctx, &ignored.data);
  cpli_error_clear(&ignored, s->ctx);
  if (st != CPL_RETRY || s->r.def->newton_only) return st;
  memcpy(z, s->start, (size_t)s->r.all * sizeof *z);
  return s->r.n_targets > 0 ? move_targets(s, z) : pseudo_transient(s, z);
}

static bool is_same(const search* s, const double* a, const double* b) {
  for (int32_t i = 0; i < s->r.all; i++) {
    if (!(fabs(a[i] - b[i]) <= 1e-10 * fmax(fabs(a[i]), relevant * s->r.nominal[i]))) return false;
  }
  return true;
}

// Points with discrete parts settled, until one stays where it is.
static cpl_status settle(search* s, double* z) {
  size_t size = (size_t)s->r.all * sizeof *z;
  double* last = cpli_alloc(s->ctx, 2 * (size_t)s->r.all, sizeof *last);
  if (last == NULL) return cpli_nomem(s->ctx);
  double* g = last + s->r.all;
  bool same = false;
  cpl_status st = solve(s, z);
  for (int i = 0; i < MAX_SETTLINGS && st == CPL_OK && !same; i++) {
    memcpy(last, z, size);
    memcpy(g, s->a.g, size);
    st = cpli_rest_settle(&s->r, z, NULL);
    if (st == CPL_OK) st = cpli_rest_residuals(&s->r, z, s->g);
    if (st != CPL_OK) break;
    same = memcmp(last, z, size) == 0 && memcmp(g, s->g, size) == 0;
    if (same) break;
    st = solve(s, z);
    same = st == CPL_OK && is_same(s, z, last);
  }
  cpli_free(s->ctx, last);
  if (st != CPL_OK || same) return st;
  return none_found(s,
                    "discrete parts keep switching at the points where the derivatives are zero");
}

// Where the equations leave something open, Newton's method may have gone anywhere along it: the
// search begins again with steps in time.
static cpl_status check_determined(search* s, const double* begin) {
  double* v = cpli_alloc(s->ctx, (size_t)s->r.all, sizeof *v);
  int32_t* list = cpli_arena_alloc(&s->arena, (size_t)s->r.n, sizeof *list);
  if (v == NULL || list == NULL) {
    cpli_free(s->ctx, v);
    return cpli_nomem(s->ctx);
  }
  double max = 0;
  int32_t n = 0;
  bool none = true;
  cpl_status st = cpli_rest_null_vector(&s->r, s->z, v, &none);
  for (int32_t i = 0; i < s->r.n + s->r.n_free && st == CPL_OK && !none; i++)
    max = fmax(max, fabs(v[i]) / s->r.nominal[i]);
  for (int32_t i = 0; i < s->r.n && max > 0; i++) {
    if (fabs(v[i]) / s->r.nominal[i] >= 0.05 * max) list[n++] = i;
  }
  if (st == CPL_OK && !none && s->r.n_free > 0) {
    st = cpl_fail_in(s->ctx, CPL_ERR_MODEL, s->r.m->base.name, NULL, s->r.def->time,
                     "there are many rest points with these values: they do not determine %s",
                     n > 0 ? cpli_rest_name(&s->r, list[0]) : cpli_rest_name(&s->r, s->r.n));
  } else if (st == CPL_OK && !none && !s->r.def->newton_only) {
    s->shown.undetermined = list;
    s->shown.n_undetermined = n;
    bool again = s->determined && !s->continued;
    s->determined = false;
    if (again) {
      memcpy(s->z, begin, (size_t)s->r.all * sizeof *s->z);
      st = settle(s, s->z);
    }
  }
  cpli_free(s->ctx, v);
  return st;
}

// Whether derivatives change with time alone.
static cpl_status test_time(search* s) {
  double t = s->r.def->time, later = t + 1e-3 * fmax(fabs(t), 1);
  if (s->r.n == 0) return CPL_OK;
  cpl_status st = cpli_rest_residuals(&s->r, s->z, s->g);
  if (st == CPL_OK) st = s->r.m->ops->set_time(s->r.m, later);
  if (st == CPL_OK) st = s->r.m->ops->set_states(s->r.m, s->z);
  if (st == CPL_OK) st = s->r.m->ops->get_derivatives(s->r.m, s->g_next);
  for (int32_t i = 0; i < s->r.n && st == CPL_OK; i++) {
    if (fabs(s->g_next[i] - s->g[i]) > 1e-9 * s->scale[i]) s->shown.time_dependent = true;
  }
  if (st >= 0) st = s->r.m->ops->set_time(s->r.m, t);
  return st >= 0 ? cpli_rest_residuals(&s->r, s->z, s->g) : st;
}

//------------------------------------ result ------------------------------------

static cpl_status show(search* s) {
  cpl_steady* o = &s->shown;
  const char** names =
      cpli_arena_alloc(&s->arena, (size_t)s->r.n + (size_t)s->r.n_free, sizeof *names);
  if (names == NULL) return cpli_nomem(s->ctx);
  for (int32_t i = 0; i < s->r.all; i++) {
    names[i] = cpli_arena_strdup(&s->arena, cpli_rest_name(&s->r, i));
    if (names[i] == NULL) return cpli_nomem(s->ctx);
    if (s->z[i] == 0) s->z[i] = 0;  // not -0
  }
  o->time = s->r.def->time;
  o->n_states = s->r.n;
  o->n_free = s->r.n_free;
  o->names = names;
  o->free_names = names + s->r.n;
  o->x = s->z;
  o->free = s->z + s->r.n;
  o->continued = s->continued;
  o->until = s->r.until;
  o->iterations = s->r.evaluations;
  o->updates = s->r.updates;
  return CPL_OK;
}

static cpl_status allocate(search* s) {
  size_t n = (size_t)s->r.all;
  s->z = cpli_arena_alloc(&s->arena, 7 * n, sizeof *s->z);
  if (s->z == NULL) return cpli_nomem(s->ctx);
  s->start = s->z + n;
  s->kept = s->start + n;
  s->g = s->kept + n;
  s->g_next = s->g + n;
  s->step = s->g_next + n;
  s->scale = s->step + n;
  s->a = (cpli_algebra){.n = n,
                        .user = &s->r,
                        .residuals = cpli_rest_residuals,
                        .factor = cpli_rest_factor,
                        .solve = cpli_rest_solve,
                        .relevant = relevant};
  return cpli_algebra_init(&s->a, s->ctx);
}

static cpl_status search_from(search* s, const double* begin) {
  for (int32_t i = 0; i < s->r.all; i++) {
    s->a.nominal[i] = s->r.nominal[i] > 0 ? s->r.nominal[i] : 1;
    s->scale[i] = fmax(fabs(s->z[i]), s->a.nominal[i]);
  }
  cpl_status st = settle(s, s->z);
  if (st == CPL_OK) st = check_determined(s, begin);
  if (st == CPL_OK) st = test_time(s);
  if (st == CPL_RETRY) st = none_found(s, "Newton's method does not converge");
  return st < 0 ? st : show(s);
}

cpl_status cpl_steady_create(cpl_model* m, const cpl_steady_def* given, cpl_steady** out) {
  *out = NULL;
  cpl_context* ctx = m->base.ctx;
  cpl_steady_def def = cpl_default_steady_def();
  cpl_status st =
      given != NULL ? cpli_read_def(ctx, "cpl_steady_def", given, &def, sizeof def) : CPL_OK;
  if (st >= 0) st = cpli_adopt_model(m);
  if (st < 0) return st;
  search* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  double* begin = NULL;
  s->ctx = ctx;
  s->determined = true;
  cpli_arena_init(&s->arena, ctx);
  st = cpli_rest_init(&s->r, m, &def);
  if (st >= 0) st = allocate(s);
  if (st >= 0) st = cpli_rest_start(&s->r, s->z);
  if (st >= 0) begin = cpli_arena_alloc(&s->arena, (size_t)s->r.all, sizeof *begin);
  if (st >= 0 && begin == NULL) st = cpli_nomem(ctx);
  if (st >= 0) {
    memcpy(begin, s->z, (size_t)s->r.all * sizeof *begin);
    st = search_from(s, begin);
  }
  s->r.def = NULL;
  if (st < 0) cpl_steady_destroy(&s->shown);
  else *out = &s->shown;
  return st == CPL_RETRY ? CPL_ERR_MODEL : st;
}

void cpl_steady_warn(const cpl_steady* shown) {
  const search* s = (const search*)shown;
  const char* who = s->r.m->base.name;
  char text[512];
  size_t n = 0;
  text[0] = '\0';
  for (int32_t i = 0; i < shown->n_undetermined && n < sizeof text - 1; i++) {
    if (i == 5) {
      snprintf(text + n, sizeof text - n, ", ... (%d states)", shown->n_undetermined);
      break;
    }
    n += (size_t)snprintf(text + n, sizeof text - n, "%s%s", i > 0 ? ", " : "",
                          shown->names[shown->undetermined[i]]);
  }
  if (text[0] != '\0')
    cpl_log(s->ctx, CPL_LOG_WARNING, who,
            "there are many rest points: nothing determines %s. This is the one that is reached "
            "from the start values",
            text);
  if (shown->time_dependent)
    cpl_log(s->ctx, CPL_LOG_WARNING, who,
            "it is at rest at t=%.12g only: derivatives change with time alone", shown->time);
  if (isfinite(shown->until))
    cpl_log(s->ctx, CPL_LOG_WARNING, who, "a time event at t=%.12g may end the rest", shown->until);
}

cpl_status cpl_steady_start(cpl_model* m, double t, double* next_time) {
  cpl_steady_def def = cpl_default_steady_def();
  cpl_steady* s = NULL;
  def.time = t;
  cpl_status st = cpl_steady_create(m, &def, &s);
  if (st < 0) return st;
  *next_time = s->until;
  cpl_steady_warn(s);
  cpl_steady_destroy(s);
  return CPL_OK;
}

void cpl_steady_destroy(cpl_steady* shown) {
  if (shown == NULL) return;
  search* s = (search*)shown;
  cpl_context* ctx = s->ctx;
  cpli_algebra_free(&s->a);
  cpli_rest_free(&s->r);
  cpli_arena_free(&s->arena);
  cpli_free(ctx, s);
}
