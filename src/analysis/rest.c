// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Evaluates the equations of a rest point, sets the freed inputs and parameters, settles discrete
// parts, and assembles the sparse matrix of the equations.
#include "analysis/rest.h"

#include <float.h>
#include <math.h>

#include "model/start.h"

enum { MAX_ROUNDS = 1000 };            // of an event iteration
static const double rounding = 1e-10;  // of derivatives, relative to the sum of their terms

//------------------------------------ free variables ------------------------------------

static const cpl_variable* variable(const cpli_rest* r, int32_t var) {
  return &r->m->base.desc->vars[var];
}

const char* cpli_rest_name(const cpli_rest* r, int32_t i) {
  const cpl_description* d = r->m->base.desc;
  if (i < r->n) return d->vars[d->states[i]].name;
  return i < r->n + r->n_free ? variable(r, r->free_vars[i - r->n])->name : "a constraint";
}

static cpl_status refuse(const cpli_rest* r, int32_t var, const char* what, const char* why) {
  return cpl_fail_in(r->ctx, CPL_ERR_INPUT, r->m->base.name, variable(r, var)->name, NAN,
                     "%s cannot be %s: %s", variable(r, var)->name, what, why);
}

static bool is_state(const cpl_description* d, int32_t var) {
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] == var) return true;
  }
  return false;
}

static cpl_status take_free(cpli_rest* r, int32_t i) {
  int32_t var = r->free_vars[i];
  const cpl_variable* v = variable(r, var);
  const char* why = cpli_not_settable(v);
  if (is_state(r->m->base.desc, var))
    return refuse(r, var, "free", "it is a state, which is one of the unknowns anyway");
  if (v->type != CPL_REAL) return refuse(r, var, "free", "it is not Real");
  if (v->causality == CPL_CAUSALITY_INPUT) r->ways[i] = CPLI_WAY_INPUT;
  else if (v->causality != CPL_CAUSALITY_PARAMETER)
    return refuse(r, var, "free", why != NULL ? why : "it is neither an input nor a parameter");
  else if (v->variability == CPL_VARIABILITY_TUNABLE) r->ways[i] = CPLI_WAY_TUNABLE;
  else r->ways[i] = CPLI_WAY_FIXED;
  if (r->ways[i] == CPLI_WAY_FIXED && r->def->setup == NULL)
    return refuse(r, var, "free", "it is fixed once the model is initialised");
  r->any_tunable = r->any_tunable || r->ways[i] == CPLI_WAY_TUNABLE;
  r->any_fixed = r->any_fixed || r->ways[i] == CPLI_WAY_FIXED;
  return CPL_OK;
}

static cpl_status take_names(cpli_rest* r) {
  const cpl_description* d = r->m->base.desc;
  cpl_status st = CPL_OK;
  if (r->n_free != r->n_targets) {
    return cpl_fail_in(r->ctx, CPL_ERR_INPUT, r->m->base.name, NULL, NAN,
                       "%d free variable%s and %d value%s to reach: as many are needed of each",
                       r->n_free, r->n_free == 1 ? "" : "s", r->n_targets,
                       r->n_targets == 1 ? "" : "s");
  }
  for (int32_t i = 0; i < r->n_free && st >= 0; i++) {
    st = cpl_require_variable(r->ctx, d, r->def->free[i], &r->free_vars[i]);
    if (st >= 0) st = take_free(r, i);
  }
  for (int32_t i = 0; i < r->n_targets && st >= 0; i++) {
    st = cpl_require_variable(r->ctx, d, r->def->targets[i].name, &r->target_vars[i]);
    if (st < 0) return st;
    const cpl_variable* v = variable(r, r->target_vars[i]);
    if (v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS)
      return refuse(r, r->target_vars[i], "reached", "it is not a continuous Real");
    r->targets[i] = r->def->targets[i].value;
  }
  return st;
}

// Inputs that keep their values when the model is initialised again.
static cpl_status keep_inputs(cpli_rest* r) {
  const cpl_description* d = r->m->base.desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->causality == CPL_CAUSALITY_INPUT && v->type == CPL_REAL && v->alias_of < 0)
      r->kept_refs[r->n_kept++] = v->ref;
  }
  if (r->n_kept == 0) return CPL_OK;
  return r->m->base.ops->get_real(&r->m->base, r->kept_refs, (size_t)r->n_kept, r->kept);
}

static cpl_status set_free(cpli_rest* r, const double* p, cpli_way way) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_free && st >= 0; i++) {
    if (r->ways[i] != way) continue;
    st = r->m->base.ops->set_real(&r->m->base, &variable(r, r->free_vars[i])->ref, 1, &p[i]);
  }
  return st;
}

// Event updates until none is requested, then continuous time.
static cpl_status update(cpli_rest* r) {
  cpl_event_info info = {.again = true};
  cpl_status st = CPL_OK;
  r->updates++;
  for (int rounds = 0; st >= 0 && info.again; rounds++) {
    if (rounds == MAX_ROUNDS)
      return cpl_fail_in(r->ctx, CPL_ERR_MODEL, r->m->base.name, NULL, r->def->time,
                         "no rest point: the event there does not settle");
    info = (cpl_event_info){.next_time = INFINITY};
    st = r->m->ops->event_update(r->m, &info);
    if (st < 0) return st;
    if (info.terminate)
      return cpl_fail_in(r->ctx, CPL_ERR_MODEL, r->m->base.name, NULL, r->def->time,
                         "no rest point: the model ends the simulation on the way to it");
    if (info.structure_changed)
      return cpl_fail_in(r->ctx, CPL_ERR_UNSUPPORTED, r->m->base.name, NULL, r->def->time,
                         "the structure of the model changes on the way to its rest point: begin "
                         "in the structure in which it rests");
  }
  r->until = info.next_time;
  return st < 0 ? st : r->m->ops->enter_continuous(r->m);
}

static cpl_status initialise_again(cpli_rest* r, const double* p) {
  cpl_component* c = &r->m->base;
  cpl_status st = c->ops->reset(c);
  if (st >= 0) st = cpli_set_starts(c, r->def->starts, r->def->n_starts);
  if (st >= 0) st = set_free(r, p, CPLI_WAY_FIXED);
  if (st >= 0) st = set_free(r, p, CPLI_WAY_TUNABLE);
  if (st >= 0) st = c->ops->setup(c, r->def->setup);
  if (st >= 0) st = c->ops->enter_init(c);
  if (st >= 0 && r->n_kept > 0) st = c->ops->set_real(c, r->kept_refs, (size_t)r->n_kept, r->kept);
  if (st >= 0) st = set_free(r, p, CPLI_WAY_INPUT);
  if (st >= 0) st = c->ops->exit_init(c);
  if (st >= 0) st = update(r);
  if (st < 0 || r->n == 0) return st;
  // discrete parts as they were at the last point where they settled
  st = r->m->ops->set_states(r->m, r->settled);
  if (st == CPL_OK) st = r->m->ops->enter_event(r->m);
  return st == CPL_OK ? update(r) : st;
}

static cpl_status apply_free(cpli_rest* r, const double* p) {
  size_t size = (size_t)r->n_free * sizeof *p;
  if (r->n_free == 0 || memcmp(r->at, p, size) == 0) return CPL_OK;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_free; i++) {
    char text[200];
    const char* why =
        cpli_beyond_limit(r->m->base.desc, variable(r, r->free_vars[i]), p[i], text, sizeof text);
    if (!isfinite(p[i]) || why != NULL) return CPL_RETRY;
  }
  if (r->any_fixed) {
    st = initialise_again(r, p);
  } else if (r->any_tunable) {
    st = r->m->ops->enter_event(r->m);
    if (st >= 0) st = set_free(r, p, CPLI_WAY_INPUT);
    if (st >= 0) st = set_free(r, p, CPLI_WAY_TUNABLE);
    if (st >= 0) st = update(r);
  } else {
    st = set_free(r, p, CPLI_WAY_INPUT);
  }
  memcpy(r->at, p, size);
  for (int32_t i = 0; i < r->n_free && st >= 0; i++) {
    double value = NAN;
    st = r->m->base.ops->get_real(&r->m->base, &variable(r, r->free_vars[i])->ref, 1, &value);
    if (st >= 0 && !(fabs(value - p[i]) <= 1e-6 * fabs(p[i])))
      return refuse(r, r->free_vars[i], "free", "the system gives its value");
  }
  return st;
}

//------------------------------------ residuals ------------------------------------

static cpl_status get_targets(cpli_rest* r, double* h) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_targets && st == CPL_OK; i++) {
    st = r->m->base.ops->get_real(&r->m->base, &variable(r, r->target_vars[i])->ref, 1, &h[i]);
    h[i] -= r->targets[i];
  }
  return st;
}

// Of x and p: derivatives and targets.
static cpl_status values_at(cpli_rest* r, const double* x, const double* p, double* f, double* h) {
  r->evaluations++;
  cpl_status st = apply_free(r, p);
  if (st == CPL_OK && r->n > 0) st = r->m->ops->set_states(r->m, x);
  if (st == CPL_OK && r->n > 0) st = r->m->ops->get_derivatives(r->m, f);
  if (st == CPL_OK) st = get_targets(r, h);
  double sum = 0;
  for (int32_t i = 0; i < r->n && st == CPL_OK; i++) sum += f[i] - f[i];
  for (int32_t i = 0; i < r->n_targets && st == CPL_OK; i++) sum += h[i] - h[i];
  return st == CPL_OK && sum != 0 ? CPL_RETRY : st;
}

cpl_status cpli_rest_residuals(void* rest, const double* z, double* g) {
  cpli_rest* r = rest;
  const double* m = z + r->n + r->n_free;
  if (cpli_cancelled(r->ctx)) return cpli_interrupted(r->ctx, r->m->base.name, r->def->time);
  cpl_status st = values_at(r, z, z + r->n, g, g + r->n);
  if (st != CPL_OK || r->n_constraints == 0) return st;
  st = r->m->ops->constraints->get(r->m, g + r->n + r->n_targets);
  if (st == CPL_OK) st = cpli_constraint_gradients(r->m, z, r->n_constraints, r->gradients);
  for (int32_t i = 0; i < r->n_constraints && st == CPL_OK; i++) {
    for (int32_t j = 0; j < r->n; j++)
      g[j] -= r->gradients[(size_t)i * (size_t)r->n + (size_t)j] * m[i];
  }
  return st;
}

static void note_signs(cpli_rest* r, bool* crossed) {
  int32_t n = r->m->base.desc->n_indicators;
  for (int32_t i = 0; i < n; i++) {
    int8_t sign = r->indicators[i] > 0 ? 1 : -1;
    if (crossed != NULL && sign != r->signs[i]) *crossed = true;
    r->signs[i] = sign;
  }
}

static cpl_status get_signs(cpli_rest* r, bool* crossed) {
  if (r->m->base.desc->n_indicators == 0) return CPL_OK;
  cpl_status st = r->m->ops->get_indicators(r->m, r->indicators);
  if (st == CPL_OK) note_signs(r, crossed);
  return st;
}

cpl_status cpli_rest_settle(cpli_rest* r, double* z, bool* crossed) {
  bool event = false, end = false;
  cpl_status st = apply_free(r, z + r->n);
  if (st == CPL_OK && r->n > 0) st = r->m->ops->set_states(r->m, z);
  if (crossed != NULL) *crossed = false;
  if (st == CPL_OK) st = get_signs(r, crossed);
  if (st != CPL_OK || (crossed != NULL && !*crossed)) return st;
  st = r->m->ops->completed_step(r->m, &event, &end);
  if (st == CPL_OK) st = r->m->ops->enter_event(r->m);
  if (st == CPL_OK) st = update(r);
  if (st == CPL_OK && r->n > 0) st = r->m->ops->get_states(r->m, z);
  if (st == CPL_OK && r->n > 0) memcpy(r->settled, z, (size_t)r->n * sizeof *z);
  return st == CPL_OK ? get_signs(r, NULL) : st;
}

//------------------------------------ matrix ------------------------------------

// Values where a freed variable is *value; at a limit of its range, which this would be beyond,
// where it is.
static cpl_status beside(cpli_rest* r, const double* z, double* p, int32_t i, double* value,
                         double* out) {
  p[i] = *value;
  cpl_status st = values_at(r, z, p, out, out + r->n);
  if (st != CPL_RETRY) return st;
  p[i] = *value = z[r->n + i];
  return values_at(r, z, p, out, out + r->n);
}

// Columns of the freed variables by central differences: derivatives, then targets.
static cpl_status difference_free(cpli_rest* r, const double* z, double* out) {
  size_t height = (size_t)r->n + (size_t)r->n_targets;
  double* room = cpli_alloc(r->ctx, height + (size_t)r->n_free, sizeof *room);
  if (room == NULL) return cpli_nomem(r->ctx);
  double* p = room + height;
  memcpy(p, z + r->n, (size_t)r->n_free * sizeof *p);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_free && st == CPL_OK; i++) {
    double* column = out + (size_t)i * height;
    double h = cbrt(DBL_EPSILON) * fmax(fabs(p[i]), r->nominal[r->n + i]), before = p[i];
    double above = before + h, below = before - h;
    st = beside(r, z, p, i, &above, column);
    if (st == CPL_OK) st = beside(r, z, p, i, &below, room);
    double width = above - below;
    for (size_t k = 0; k < height && st == CPL_OK; k++) column[k] = (column[k] - room[k]) / width;
    p[i] = before;
  }
  if (st == CPL_OK) st = values_at(r, z, p, room, room + r->n);  // back
  cpli_free(r->ctx, room);
  return st;
}

typedef struct filling {
  cpli_rest* r;
  int32_t n;
} filling;

static void put(filling* f, int32_t row, double value) {
  f->r->row[f->n] = row;
  f->r->entries[f->n++] = value;
}

// Of the descriptor's column c: its own rows with the shift, targets, constraints.
static void fill_unknown(filling* f, int32_t c) {
  cpli_rest* r = f->r;
  const cpli_descriptor* d = r->d;
  bool diagonal = c >= r->n;
  for (int32_t e = d->first[c]; e < d->first[c + 1]; e++) {
    bool here = c < r->n && d->row[e] == c;
    diagonal = diagonal || here;
    put(f, d->row[e], d->entries[e] - (here ? r->shift : 0));
  }
  if (!diagonal) put(f, c, -r->shift);
  for (int32_t i = 0; i < r->n_targets; i++) {
    if (d->outputs[i] == c) put(f, d->n + i, 1);
  }
  for (int32_t i = 0; i < r->n_constraints && c < r->n; i++) {
    double value = r->gradients[(size_t)i * (size_t)r->n + (size_t)c];
    if (value != 0) put(f, d->n + r->n_targets + i, value);
  }
}

// Redundant constraints make the matrix singular, except for a small diagonal entry, which changes
// the iteration and not its solution.
static double weakest(const cpli_rest* r) {
  double gradient = 0, slope = 0;
  for (size_t i = 0; i < (size_t)r->n_constraints * (size_t)r->n; i++)
    gradient = fmax(gradient, fabs(r->gradients[i]));
  for (int32_t e = 0; e < r->d->first[r->n]; e++) slope = fmax(slope, fabs(r->d->entries[e]));
  return 1e-10 * gradient * gradient / fmax(slope, DBL_MIN);
}

static void fill_matrix(cpli_rest* r, const double* columns) {
  const cpli_descriptor* d = r->d;
  size_t height = (size_t)r->n + (size_t)r->n_targets;
  filling f = {.r = r};
  for (int32_t c = 0; c < d->n; c++) {
    r->first[c] = f.n;
    fill_unknown(&f, c);
  }
  for (int32_t i = 0; i < r->n_free; i++) {
    r->first[d->n + i] = f.n;
    for (size_t k = 0; k < height; k++) {
      double value = columns[(size_t)i * height + k];
      if (value != 0) put(&f, (int32_t)k < r->n ? (int32_t)k : d->n + (int32_t)k - r->n, value);
    }
  }
  double weak = r->n_constraints > 0 ? weakest(r) : 0;
  for (int32_t i = 0; i < r->n_constraints; i++) {
    r->first[d->n + r->n_free + i] = f.n;
    for (int32_t j = 0; j < r->n; j++) {
      double value = r->gradients[(size_t)i * (size_t)r->n + (size_t)j];
      if (value != 0) put(&f, j, -value);
    }
    put(&f, d->n + r->n_targets + i, -weak);
  }
  r->first[r->size] = f.n;
}

static void forget_matrix(cpli_rest* r) {
  cpli_descriptor_destroy(r->d);
  cpli_sparse_destroy(r->factors);
  cpli_free(r->ctx, r->first);
  cpli_free(r->ctx, r->row);
  cpli_free(r->ctx, r->entries);
  cpli_free(r->ctx, r->b);
  r->d = NULL, r->factors = NULL;
  r->first = r->row = NULL;
  r->entries = r->b = NULL;
}

static cpl_status make_matrix(cpli_rest* r, const double* z) {
  size_t height = (size_t)r->n + (size_t)r->n_targets;
  double* columns = cpli_alloc(r->ctx, height * (size_t)r->n_free, sizeof *columns);
  if (columns == NULL) return cpli_nomem(r->ctx);
  forget_matrix(r);
  cpl_status st = r->n_free > 0 ? difference_free(r, z, columns) : CPL_OK;
  if (st == CPL_OK)
    st = cpli_descriptor_make(r->m, z, NULL, 0, r->target_vars, r->n_targets, &r->d);
  if (st == CPL_OK) {
    r->size = r->d->n + r->n_free + r->n_constraints;
    size_t n = (size_t)r->d->first[r->d->n] + (size_t)r->n + (size_t)r->n_targets +
               height * (size_t)r->n_free + (size_t)r->n_constraints * (2 * (size_t)r->n + 1);
    r->first = cpli_alloc(r->ctx, (size_t)r->size + 1, sizeof *r->first);
    r->row = cpli_alloc(r->ctx, n, sizeof *r->row);
    r->entries = cpli_alloc(r->ctx, n, sizeof *r->entries);
    r->b = cpli_alloc(r->ctx, (size_t)r->size, sizeof *r->b);
    bool fine = r->first != NULL && r->row != NULL && r->entries != NULL && r->b != NULL;
    if (fine) fill_matrix(r, columns);
    st = fine ? cpli_sparse_make(r->ctx, r->size, r->first, r->row, false, &r->factors)
              : cpli_nomem(r->ctx);
  }
  cpli_free(r->ctx, columns);
  return st;
}

// algebra.h calls this at the point of the last residuals, which is where the model is.
cpl_status cpli_rest_factor(void* rest) {
  cpli_rest* r = rest;
  double* z = cpli_alloc(r->ctx, (size_t)r->n + (size_t)r->n_free, sizeof *z);
  if (z == NULL) return cpli_nomem(r->ctx);
  cpl_status st = r->n > 0 ? r->m->ops->get_states(r->m, z) : CPL_OK;
  memcpy(z + r->n, r->at, (size_t)r->n_free * sizeof *z);
  if (st == CPL_OK) st = make_matrix(r, z);
  cpli_free(r->ctx, z);
  if (st != CPL_OK) return st;
  return r->size == 0 || cpli_sparse_factor(r->factors, r->entries) ? CPL_OK : CPL_RETRY;
}

// Rows of the descriptor behind the states have no residuals.
cpl_status cpli_rest_solve(void* rest, const double* g, double* step) {
  cpli_rest* r = rest;
  size_t n = (size_t)r->n, f = (size_t)r->n_free, c = (size_t)r->n_constraints;
  if (r->size == 0) return CPL_OK;
  size_t d = (size_t)r->d->n;
  memset(r->b, 0, (size_t)r->size * sizeof *r->b);
  memcpy(r->b, g, n * sizeof *g);
  memcpy(r->b + d, g + n, (f + c) * sizeof *g);
  cpli_sparse_solve(r->factors, r->b);
  memcpy(step, r->b, n * sizeof *step);
  memcpy(step + n, r->b + d, (f + c) * sizeof *step);
  return CPL_OK;
}

//------------------------------------ what is not determined ------------------------------------

static double largest_entry(const cpli_rest* r) {
  double max = 0;
  for (int32_t e = 0; e < r->first[r->size]; e++) max = fmax(max, fabs(r->entries[e]));
  return max;
}

// Whether the matrix without its shift annihilates r->b, to the rounding errors of the terms.
static bool annihilates(cpli_rest* r, double* sum, double* size) {
  memset(sum, 0, (size_t)r->size * sizeof *sum);
  memset(size, 0, (size_t)r->size * sizeof *size);
  for (int32_t c = 0; c < r->size; c++) {
    for (int32_t e = r->first[c]; e < r->first[c + 1]; e++) {
      bool diagonal = c < r->n && r->row[e] == c;
      double value = (r->entries[e] + (diagonal ? r->shift : 0)) * r->b[c];
      sum[r->row[e]] += value;
      size[r->row[e]] += fabs(value);
    }
  }
  for (int32_t i = 0; i < r->size; i++) {
    if (!(fabs(sum[i]) <= rounding * size[i])) return false;
  }
  return true;
}

static bool normalise(cpli_rest* r) {
  double max = 0;
  for (int32_t i = 0; i < r->size; i++) max = fmax(max, fabs(r->b[i]));
  if (!(max > 0) || !isfinite(max)) return false;
  for (int32_t i = 0; i < r->size; i++) r->b[i] /= max;
  return true;
}

// Inverse iteration with a shift that is small compared with all entries.
cpl_status cpli_rest_null_vector(cpli_rest* r, const double* z, double* v, bool* none) {
  *none = true;
  if (r->n == 0) return CPL_OK;
  cpl_status st = make_matrix(r, z);
  if (st != CPL_OK) return st;
  double* room = cpli_alloc(r->ctx, 2 * (size_t)r->size, sizeof *room);
  if (room == NULL) return cpli_nomem(r->ctx);
  double max = largest_entry(r);
  r->shift = max > 0 ? 1e-13 * max : 1;
  for (int32_t c = 0; c < r->n; c++) {
    for (int32_t e = r->first[c]; e < r->first[c + 1]; e++)
      r->entries[e] -= r->row[e] == c ? r->shift : 0;
  }
  bool fine = cpli_sparse_factor(r->factors, r->entries);
  for (int32_t i = 0; i < r->size && fine; i++) r->b[i] = 1 + 0.37 * (double)(i * 7919 % 101) / 101;
  for (int pass = 0; pass < 3 && fine; pass++) {
    cpli_sparse_solve(r->factors, r->b);
    fine = normalise(r);
  }
  *none = !fine || !annihilates(r, room, room + r->size);
  for (int32_t i = 0; i < r->n && !*none; i++) v[i] = r->b[i];
  for (int32_t i = 0; i < r->n_free && !*none; i++) v[r->n + i] = r->b[r->d->n + i];
  r->shift = 0;
  cpli_free(r->ctx, room);
  return st;
}

//------------------------------------ life ------------------------------------

static cpl_status allocate(cpli_rest* r) {
  const cpl_description* d = r->m->base.desc;
  size_t n = (size_t)r->n, f = (size_t)r->n_free, t = (size_t)r->n_targets;
  size_t vars = (size_t)d->n_vars, z = (size_t)d->n_indicators, c = (size_t)d->n_constraints;
  double* numbers =
      cpli_arena_alloc(&r->arena, 2 * n + 2 * f + t + vars + n * c + z, sizeof *numbers);
  int32_t* lists = cpli_arena_alloc(&r->arena, f + t, sizeof *lists);
  r->ways = cpli_arena_alloc(&r->arena, f, sizeof *r->ways);
  r->kept_refs = cpli_arena_alloc(&r->arena, vars, sizeof *r->kept_refs);
  r->signs = cpli_arena_alloc(&r->arena, z, sizeof *r->signs);
  if (numbers == NULL || lists == NULL || r->ways == NULL || r->kept_refs == NULL ||
      r->signs == NULL)
    return cpli_nomem(r->ctx);
  r->free_vars = lists;
  r->target_vars = lists + f;
  r->nominal = numbers;
  r->settled = r->nominal + n + f;
  r->at = r->settled + n;
  r->targets = r->at + f;
  r->kept = r->targets + t;
  r->gradients = r->kept + vars;
  r->indicators = r->gradients + n * c;
  return CPL_OK;
}

static cpl_status count_constraints(cpli_rest* r) {
  size_t n = 0;
  cpl_status st = r->m->base.desc->n_constraints > 0 && r->m->ops->constraints != NULL
                      ? r->m->ops->constraints->count(r->m, &n)
                      : CPL_OK;
  r->n_constraints = (int32_t)n;
  return st;
}

cpl_status cpli_rest_init(cpli_rest* r, cpl_model* m, const cpl_steady_def* def) {
  *r = (cpli_rest){.ctx = m->base.ctx,
                   .m = m,
                   .def = def,
                   .n = m->base.desc->n_states,
                   .n_free = def->n_free,
                   .n_targets = def->n_targets,
                   .until = INFINITY};
  cpli_arena_init(&r->arena, r->ctx);
  for (int32_t k = 0; k < r->n; k++) {
    if (m->base.desc->states[k] >= 0 && m->base.desc->derivatives[k] >= 0) continue;
    return cpl_fail_in(r->ctx, CPL_ERR_UNSUPPORTED, m->base.name, NULL, NAN,
                       "state %d has no variable, so no rest point can be searched", k + 1);
  }
  cpl_status st = allocate(r);
  if (st >= 0) st = take_names(r);
  if (st >= 0) st = keep_inputs(r);
  if (st >= 0) st = count_constraints(r);
  r->all = r->n + r->n_free + r->n_constraints;
  return st;
}

void cpli_rest_free(cpli_rest* r) {
  if (r->ctx == NULL) return;
  forget_matrix(r);
  cpli_arena_free(&r->arena);
}

cpl_status cpli_rest_start(cpli_rest* r, double* z) {
  cpl_status st = r->n > 0 ? r->m->ops->get_states(r->m, z) : CPL_OK;
  if (st >= 0 && r->n > 0) st = r->m->ops->get_nominals(r->m, r->nominal);
  for (int32_t i = 0; i < r->n_free && st >= 0; i++) {
    const cpl_variable* v = variable(r, r->free_vars[i]);
    st = r->m->base.ops->get_real(&r->m->base, &v->ref, 1, &r->at[i]);
    z[r->n + i] = r->at[i];
    r->nominal[r->n + i] = v->nominal > 0 ? v->nominal : 1;
  }
  for (int32_t i = r->n + r->n_free; i < r->all; i++) z[i] = 0;
  if (st >= 0 && r->n > 0) memcpy(r->settled, z, (size_t)r->n * sizeof *z);
  return st >= 0 ? get_signs(r, NULL) : st;
}
