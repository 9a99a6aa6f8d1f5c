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
static const double contradiction =
    1e-6;  // residuals beyond it, relative to the largest of their terms

//------------------------------------ free variables ------------------------------------

static const cpl_variable* variable(const cpli_rest* r, int32_t var) {
  return &r->m->base.desc->vars[var];
}

const char* cpli_rest_name(const cpli_rest* r, int32_t i) {
  const cpl_description* d = r->m->base.desc;
  if (i < r->n) return d->vars[d->states[i]].name;
  return variable(r, r->free_vars[i - r->n])->name;
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

static cpl_status get_targets(cpli_rest* r, const double* p, double* h) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_free && r->holds_free; i++) h[i] = p[i] - r->held[i];
  if (r->holds_free) return CPL_OK;
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
  if (st == CPL_OK) st = get_targets(r, p, h);
  double sum = 0;
  for (int32_t i = 0; i < r->n && st == CPL_OK; i++) sum += f[i] - f[i];
  for (int32_t i = 0; i < r->n_targets && st == CPL_OK; i++) sum += h[i] - h[i];
  return st == CPL_OK && sum != 0 ? CPL_RETRY : st;
}

cpl_status cpli_rest_residuals(void* rest, const double* z, double* g) {
  cpli_rest* r = rest;
  if (cpli_cancelled(r->ctx)) return cpli_interrupted(r->ctx, r->m->base.name, r->def->time);
  cpl_status st = values_at(r, z, z + r->n, g, g + r->n);
  if (st != CPL_OK || r->n_constraints == 0) return st;
  return r->m->ops->constraints->get(r->m, r->residues);
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

// M: columns of the descriptor with the shift, then of the freed variables.
static cpl_status fill_matrix(cpli_rest* r, const double* columns, cpli_triplets* t) {
  const cpli_descriptor* d = r->d;
  int32_t targets = d->n, constraints = d->n + r->n_targets, height = r->n + r->n_targets;
  cpl_status st = CPL_OK;
  for (int32_t c = 0; c < d->n && st >= 0; c++) {
    for (int32_t e = d->j.first[c]; e < d->j.first[c + 1] && st >= 0; e++)
      st = cpli_triplets_add(t, d->j.row[e], c, d->j.entries[e]);
    if (c < r->n && st >= 0) st = cpli_triplets_add(t, c, c, -r->shift);
  }
  for (int32_t i = 0; i < r->n_targets && st >= 0 && !r->holds_free; i++) {
    if (d->outputs[i] >= 0) st = cpli_triplets_add(t, targets + i, d->outputs[i], 1);
  }
  for (int32_t i = 0; i < r->n_free && st >= 0; i++) {
    for (int32_t k = 0; k < height && st >= 0; k++) {
      double value = columns[(size_t)i * (size_t)height + (size_t)k];
      int32_t row = k < r->n ? k : targets + k - r->n;
      if (value != 0) st = cpli_triplets_add(t, row, d->n + i, value);
    }
  }
  for (int32_t i = 0; i < r->n_constraints && st >= 0; i++) {
    for (int32_t j = 0; j < r->n && st >= 0; j++) {
      double value = r->gradients[(size_t)i * (size_t)r->n + (size_t)j];
      if (value != 0) st = cpli_triplets_add(t, constraints + i, j, value);
    }
  }
  return st;
}

// Equations of nodes hold exactly; the others are those of the least squares.
static bool is_exact(const cpli_rest* r, int32_t row) { return row >= r->n && row < r->d->n; }

// The augmented system: residuals of all equations, unknowns, and equations that hold exactly have
// multipliers in the place of their residuals.
static cpl_status fill_augmented(cpli_rest* r, cpli_triplets* t) {
  const cpli_compressed* m = &r->matrix;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < r->n_rows; i++) r->weights[i] = 0;
  for (int32_t e = 0; e < m->first[m->n]; e++)
    r->weights[m->row[e]] = fmax(r->weights[m->row[e]], fabs(m->entries[e]));
  for (int32_t i = 0; i < r->n_rows && st >= 0; i++) {
    r->weights[i] = r->weights[i] > 0 ? 1 / r->weights[i] : 1;
    st = cpli_triplets_add(t, i, i, is_exact(r, i) ? 0 : -1);
  }
  for (int32_t c = 0; c < m->n && st >= 0; c++) {
    for (int32_t e = m->first[c]; e < m->first[c + 1] && st >= 0; e++) {
      double value = m->entries[e] * r->weights[m->row[e]];
      st = cpli_triplets_add(t, m->row[e], r->n_rows + c, value);
      if (st >= 0) st = cpli_triplets_add(t, r->n_rows + c, m->row[e], value);
    }
  }
  return st;
}

static void forget_matrix(cpli_rest* r) {
  cpli_descriptor_destroy(r->d);
  cpli_sparse_destroy(r->factors);
  cpli_compressed_free(r->ctx, &r->matrix);
  cpli_compressed_free(r->ctx, &r->system);
  cpli_free(r->ctx, r->weights);
  cpli_free(r->ctx, r->b);
  r->d = NULL, r->factors = NULL;
  r->weights = r->b = NULL;
}

// M as it is, or the augmented system of it.
static cpl_status make_system(cpli_rest* r, const double* columns) {
  cpli_triplets t = {.ctx = r->ctx};
  r->n_rows = r->d->n + r->n_targets + r->n_constraints;
  cpl_status st = fill_matrix(r, columns, &t);
  bool square = r->n_constraints == 0;
  if (st >= 0)
    st = cpli_triplets_compress(&t, r->n_rows, r->d->n + r->n_free,
                                square ? &r->system : &r->matrix);
  if (st >= 0 && !square) {
    t.n = 0;
    r->weights = cpli_alloc(r->ctx, (size_t)r->n_rows, sizeof *r->weights);
    st = r->weights != NULL ? fill_augmented(r, &t) : cpli_nomem(r->ctx);
    int32_t size = r->n_rows + r->matrix.n;
    if (st >= 0) st = cpli_triplets_compress(&t, size, size, &r->system);
  }
  cpli_triplets_free(&t);
  if (st < 0) return st;
  r->b = cpli_alloc(r->ctx, (size_t)r->system.n, sizeof *r->b);
  if (r->b == NULL) return cpli_nomem(r->ctx);
  return cpli_sparse_make(r->ctx, r->system.n, r->system.first, r->system.row, false, &r->factors);
}

static cpl_status make_matrix(cpli_rest* r, const double* z) {
  size_t height = (size_t)r->n + (size_t)r->n_targets;
  double* columns = cpli_alloc(r->ctx, height * (size_t)r->n_free, sizeof *columns);
  if (columns == NULL) return cpli_nomem(r->ctx);
  forget_matrix(r);
  cpl_status st = r->n_free > 0 ? difference_free(r, z, columns) : CPL_OK;
  if (st == CPL_OK) st = cpli_constraint_gradients(r->m, z, r->n_constraints, r->gradients);
  if (st == CPL_OK)
    st = cpli_descriptor_make(r->m, z, NULL, 0, r->target_vars, r->n_targets, &r->d);
  if (st == CPL_OK) st = make_system(r, columns);
  cpli_free(r->ctx, columns);
  return st;
}

// algebra.h calls this at the point of the last residuals, which is where the model is.
cpl_status cpli_rest_factor(void* rest) {
  cpli_rest* r = rest;
  double* z = cpli_alloc(r->ctx, (size_t)r->all, sizeof *z);
  if (z == NULL) return cpli_nomem(r->ctx);
  cpl_status st = r->n > 0 ? r->m->ops->get_states(r->m, z) : CPL_OK;
  memcpy(z + r->n, r->at, (size_t)r->n_free * sizeof *z);
  if (st == CPL_OK) st = make_matrix(r, z);
  cpli_free(r->ctx, z);
  if (st != CPL_OK) return st;
  return r->system.n == 0 || cpli_sparse_factor(r->factors, r->system.entries) ? CPL_OK : CPL_RETRY;
}

// Equations of the descriptor behind those of the states have no residuals.
cpl_status cpli_rest_solve(void* rest, const double* g, double* step) {
  cpli_rest* r = rest;
  size_t n = (size_t)r->n, f = (size_t)r->n_free, c = (size_t)r->n_constraints;
  if (r->system.n == 0) return CPL_OK;
  size_t d = (size_t)r->d->n, unknowns = c > 0 ? (size_t)r->n_rows : 0;
  memset(r->b, 0, (size_t)r->system.n * sizeof *r->b);
  memcpy(r->b, g, n * sizeof *g);
  memcpy(r->b + d, g + n, f * sizeof *g);
  if (c > 0) memcpy(r->b + d + f, r->residues, c * sizeof *g);
  for (size_t i = 0; i < unknowns; i++) r->b[i] *= r->weights[i];
  cpli_sparse_solve(r->factors, r->b);
  memcpy(step, r->b + unknowns, n * sizeof *step);
  memcpy(step + n, r->b + unknowns + d, f * sizeof *step);
  return CPL_OK;
}

// The largest term of an equation: an entry of M times the magnitude of its unknown. That of a node
// is not known, and 1 here.
static void note_terms(const cpli_rest* r, const double* z, double* terms) {
  memset(terms, 0, (size_t)r->n_rows * sizeof *terms);
  for (int32_t c = 0; c < r->matrix.n; c++) {
    int32_t unknown = c < r->n ? c : c >= r->d->n ? c - r->d->n + r->n : -1;
    double size = unknown < 0 ? 1 : fmax(fabs(z[unknown]), r->nominal[unknown]);
    for (int32_t e = r->matrix.first[c]; e < r->matrix.first[c + 1]; e++) {
      double* term = &terms[r->matrix.row[e]];
      *term = fmax(*term, fabs(r->matrix.entries[e]) * size);
    }
  }
}

cpl_status cpli_rest_holds(cpli_rest* r, const double* z, const double* g, bool* holds) {
  *holds = true;
  if (r->n_constraints == 0 || r->matrix.n == 0) return CPL_OK;
  double* terms = cpli_alloc(r->ctx, (size_t)r->n_rows, sizeof *terms);
  if (terms == NULL) return cpli_nomem(r->ctx);
  note_terms(r, z, terms);
  for (int32_t i = 0; i < r->n_rows && *holds; i++) {
    int32_t target = i - r->d->n, constraint = target - r->n_targets;
    double residual = i < r->n          ? g[i]
                      : is_exact(r, i)  ? 0
                      : constraint >= 0 ? r->residues[constraint]
                                        : g[r->n + target];
    *holds = fabs(residual) <= contradiction * terms[i];
  }
  cpli_free(r->ctx, terms);
  return CPL_OK;
}

//------------------------------------ what is not determined ------------------------------------

// Whether M annihilates these unknowns, to the rounding errors of the terms. What the inverse
// iteration has not taken part in is smaller by the cube of its shift.
static bool annihilates(const cpli_rest* r, const cpli_compressed* m, const double* w, double* sum,
                        double* size) {
  memset(sum, 0, (size_t)r->n_rows * sizeof *sum);
  memset(size, 0, (size_t)r->n_rows * sizeof *size);
  for (int32_t c = 0; c < m->n; c++) {
    if (fabs(w[c]) < 1e-22) continue;
    for (int32_t e = m->first[c]; e < m->first[c + 1]; e++) {
      sum[m->row[e]] += m->entries[e] * w[c];
      size[m->row[e]] += fabs(m->entries[e] * w[c]);
    }
  }
  for (int32_t i = 0; i < r->n_rows; i++) {
    if (!(fabs(sum[i]) <= rounding * size[i])) return false;
  }
  return true;
}

static bool normalise(double* b, int32_t n) {
  double max = 0;
  for (int32_t i = 0; i < n; i++) max = fmax(max, fabs(b[i]));
  if (!(max > 0) || !isfinite(max)) return false;
  for (int32_t i = 0; i < n; i++) b[i] /= max;
  return true;
}

// The diagonal of all unknowns of states minus something that is small compared with all entries.
static cpl_status factor_almost(cpli_rest* r, const cpli_compressed* m, bool* fine) {
  const cpli_compressed* all = &r->system;
  int32_t offset = r->n_constraints > 0 ? r->n_rows : 0;
  double max = 0;
  for (int32_t e = 0; e < m->first[m->n]; e++) max = fmax(max, fabs(m->entries[e]));
  cpli_triplets t = {.ctx = r->ctx};
  cpli_compressed shifted = {0};
  cpli_sparse* factors = NULL;
  cpl_status st = CPL_OK;
  for (int32_t c = 0; c < all->n && st >= 0; c++) {
    for (int32_t e = all->first[c]; e < all->first[c + 1] && st >= 0; e++)
      st = cpli_triplets_add(&t, all->row[e], c, all->entries[e]);
    bool state = c >= offset && c < offset + r->n;
    if (state && st >= 0) st = cpli_triplets_add(&t, c, c, max > 0 ? -1e-13 * max : -1);
  }
  if (st >= 0) st = cpli_triplets_compress(&t, all->n, all->n, &shifted);
  cpli_triplets_free(&t);
  if (st >= 0)
    st = cpli_sparse_make(r->ctx, shifted.n, shifted.first, shifted.row, false, &factors);
  *fine = st >= 0 && cpli_sparse_factor(factors, shifted.entries);
  for (int32_t i = 0; i < all->n && *fine; i++) {
    bool unknown = i >= offset && i < offset + m->n;
    r->b[i] = unknown ? 1 + 0.37 * (double)(i * (int64_t)7919 % 101) / 101 : 0;
  }
  for (int pass = 0; pass < 3 && *fine; pass++) {  // inverse iteration
    cpli_sparse_solve(factors, r->b);
    for (int32_t i = 0; i < all->n; i++) r->b[i] *= i >= offset && i < offset + m->n;
    *fine = normalise(r->b, all->n);
  }
  cpli_sparse_destroy(factors);
  cpli_compressed_free(r->ctx, &shifted);
  return st;
}

cpl_status cpli_rest_null_vector(cpli_rest* r, const double* z, double* v, bool* none) {
  bool fine = false;
  *none = true;
  if (r->n == 0) return CPL_OK;
  r->shift = 0;
  cpl_status st = make_matrix(r, z);
  const cpli_compressed* m = r->n_constraints > 0 ? &r->matrix : &r->system;
  if (st == CPL_OK) st = factor_almost(r, m, &fine);
  if (st != CPL_OK) return st;
  double* room = cpli_alloc(r->ctx, 2 * (size_t)r->n_rows, sizeof *room);
  if (room == NULL) return cpli_nomem(r->ctx);
  const double* w = r->b + (r->n_constraints > 0 ? r->n_rows : 0);
  *none = !fine || !annihilates(r, m, w, room, room + r->n_rows);
  for (int32_t i = 0; i < r->n && !*none; i++) v[i] = w[i];
  for (int32_t i = 0; i < r->n_free && !*none; i++) v[r->n + i] = w[r->d->n + i];
  cpli_free(r->ctx, room);
  return CPL_OK;
}

//------------------------------------ life ------------------------------------

static cpl_status allocate(cpli_rest* r) {
  const cpl_description* d = r->m->base.desc;
  size_t n = (size_t)r->n, f = (size_t)r->n_free, t = (size_t)r->n_targets;
  size_t vars = (size_t)d->n_vars, z = (size_t)d->n_indicators, c = (size_t)d->n_constraints;
  double* numbers =
      cpli_arena_alloc(&r->arena, 2 * n + 3 * f + t + vars + n * c + c + z, sizeof *numbers);
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
  r->held = r->targets + t;
  r->kept = r->held + f;
  r->gradients = r->kept + vars;
  r->residues = r->gradients + n * c;
  r->indicators = r->residues + c;
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
  r->all = r->n + r->n_free;
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
  if (st >= 0 && r->n > 0) memcpy(r->settled, z, (size_t)r->n * sizeof *z);
  return st >= 0 ? get_signs(r, NULL) : st;
}
