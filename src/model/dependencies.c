// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which output and derivative of a C model depends on which state and input: as declared, or
// detected by evaluating the model at many points and comparing the results when one variable
// changes. Detection varies parameters, discrete variables and time too, so that a dependency that
// exists in one mode only is found; one that is effective only in a region without samples must be
// declared.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/cmodel.h"

enum { POINTS = 24 };
static const double max_work = 4e8;  // evaluated values; above it everything depends on everything

typedef struct pattern {
  cpli_cmodel* cm;
  bool residuals;  // of the form with residuals
  // derivatives, outputs, algebraic variables; states, inputs. With residuals: derivatives,
  // outputs, residuals; states, inputs, algebraic variables
  uint32_t rows, columns;
  uint8_t** kind;     // per row its columns: 0 none, else 1 + cpl_dependency_kind; NULL: all 0
  uint8_t* all;       // memory of all rows; NULL: each row has its own
  bool* known;        // rows: false, depends on everything
  uint32_t* outputs;  // scratch: their references
  cpl_origin origin;
} pattern;

// Of a row that is there.
static uint8_t* cell(pattern* p, uint32_t row, uint32_t column) { return &p->kind[row][column]; }

// Rows are allocated when they are needed: large models without dependencies have none.
static cpl_status make_row(pattern* p, uint32_t row) {
  if (p->kind[row] == NULL) p->kind[row] = cpli_alloc(p->cm->ctx, p->columns, 1);
  return p->kind[row] != NULL ? CPL_OK : cpli_nomem(p->cm->ctx);
}

static cpl_status make_all_rows(pattern* p) {
  p->all = cpli_alloc(p->cm->ctx, (size_t)p->rows * p->columns, 1);
  if (p->all == NULL) return cpli_nomem(p->cm->ctx);
  for (uint32_t row = 0; row < p->rows; row++) p->kind[row] = p->all + (size_t)row * p->columns;
  return CPL_OK;
}

// Every reference has a variable.
static int32_t var_of_ref(const cpli_cmodel* cm, uint32_t ref) {
  for (int32_t i = 0; i < cm->desc.n_vars; i++) {
    if (cm->desc.vars[i].type != CPL_STRING && cm->desc.vars[i].ref == ref) return i;
  }
  return -1;
}

//------------------------------------ detection ------------------------------------

static double uniform(uint64_t* seed) {  // 0 <= r < 1; splitmix64
  uint64_t z = (*seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static double sample(const cpl_variable* v, uint64_t* seed, bool vary) {
  double r = uniform(seed), size = uniform(seed);
  if (!vary) return v->start;
  if (v->type == CPL_BOOLEAN) return r < 0.5 ? 0 : 1;
  if (v->type != CPL_REAL) {
    double low = isfinite(v->min) ? v->min : 0, high = isfinite(v->max) ? v->max : low + 4;
    return floor(low + r * (high - low + 1));
  }
  double scale = fmax(v->nominal, fabs(v->start)) * pow(10, -2 + 3 * size);
  double value = v->start + scale * (2 * r - 1);
  return fmin(fmax(value, v->min), v->max);
}

// The first points keep the parameters (a model may reject others), the later ones vary everything.
static cpl_status go_to_point(pattern* p, cpl_model* m, int point, double* x) {
  const cpl_description* d = &p->cm->desc;
  uint64_t seed = (uint64_t)point * 7919;
  cpl_component* c = &m->base;
  cpl_setup setup = {.size = sizeof(cpl_setup), .start_time = p->cm->def->start_time};
  cpli_cmodel_give_algebraics(m, false);
  cpl_status st = c->ops->reset(c);
  bool all = point >= POINTS / 3;
  for (int32_t i = 0; i < d->n_vars && st == CPL_OK; i++) {
    const cpl_variable* v = &d->vars[i];
    bool settable = v->type != CPL_STRING && v->has_start && v->derivative_of < 0;
    if (!settable) continue;
    double value = sample(v, &seed, point > 0 && (all || v->causality != CPL_CAUSALITY_PARAMETER));
    st = c->ops->set_real(c, &v->ref, 1, &value);
  }
  if (st == CPL_OK) st = c->ops->setup(c, &setup);
  if (st == CPL_OK) st = c->ops->enter_init(c);
  if (st == CPL_OK) st = c->ops->exit_init(c);
  if (st == CPL_OK && p->cm->at.nx > 0) st = m->ops->get_states(m, x);
  cpli_cmodel_give_algebraics(m, p->residuals);
  return st;
}

static cpl_status evaluate(pattern* p, cpl_model* m, double* out) {
  const cpli_layout* at = &p->cm->at;
  cpl_status st = m->ops->get_derivatives(m, out);
  if (st == CPL_OK) st = m->base.ops->get_real(&m->base, p->outputs, at->ny, out + at->nx);
  if (st == CPL_OK && p->residuals) st = m->ops->dae->get_residuals(m, out + at->nx + at->ny);
  return st;
}

static bool differs(double a, double b) {
  return memcmp(&a, &b, sizeof a) != 0 && !(isnan(a) && isnan(b));
}

static uint32_t column_ref(const pattern* p, uint32_t column) {
  const cpli_layout* at = &p->cm->at;
  if (column < at->nx) return at->x + column;
  column -= at->nx;
  return column < at->nu ? at->u + column : at->a + column - at->nu;
}

static void try_column(pattern* p, cpl_model* m, uint32_t column, const double* base, double* moved,
                       uint64_t* seed) {
  uint32_t ref = column_ref(p, column);
  int32_t var = column < p->cm->at.nx ? p->cm->desc.states[column] : var_of_ref(p->cm, ref);
  const cpl_variable* v = &p->cm->desc.vars[var];
  double before, scale = fmax(v->nominal, fabs(v->start));
  m->base.ops->get_real(&m->base, &ref, 1, &before);
  static const double sizes[] = {1e-3, 1, 10, 100};  // the first one exact, the others at random
  int trials = v->type == CPL_REAL ? (int)CPLI_COUNT(sizes) : 1;
  for (int trial = 0; trial < trials; trial++) {
    double after = before + scale * sizes[trial] * (trial == 0 ? 1 : 2 * uniform(seed) - 1);
    if (v->type != CPL_REAL) after = before == 0 ? 1 : before - 1;
    if (m->base.ops->set_real(&m->base, &ref, 1, &after) == CPL_OK &&
        evaluate(p, m, moved) == CPL_OK) {
      for (uint32_t row = 0; row < p->rows; row++) {
        if (differs(base[row], moved[row])) *cell(p, row, column) = 1 + CPL_KIND_DEPENDENT;
      }
    }
  }
  m->base.ops->set_real(&m->base, &ref, 1, &before);
}

static cpl_status detect(pattern* p) {
  const cpli_layout* at = &p->cm->at;
  cpl_context* ctx = p->cm->ctx;
  cpl_model* m = NULL;
  int good = 0;
  double* work = cpli_alloc(ctx, at->nx + 2 * (size_t)p->rows, sizeof *work);
  p->outputs = cpli_alloc(ctx, at->ny, sizeof *p->outputs);
  cpl_status st = work != NULL && p->outputs != NULL
                      ? cpli_cmodel_instance(p->cm, ctx, p->cm->desc.name, &m)
                      : cpli_nomem(ctx);
  if (st < 0) goto done;
  for (uint32_t i = 0; i < at->ny; i++) p->outputs[i] = at->y + i;
  double *x = work, *base = x + at->nx, *moved = base + p->rows;
  for (int point = 0; point < POINTS; point++) {
    uint64_t seed = (uint64_t)point + 1;
    st = go_to_point(p, m, point, x);
    if (st == CPL_ERR_NOMEM) goto done;
    if (st == CPL_OK && evaluate(p, m, base) == CPL_OK) {  // else: outside of the domain
      good++;
      for (uint32_t column = 0; column < p->columns; column++)
        try_column(p, m, column, base, moved, &seed);
    }
    if (cpli_cancelled(ctx)) {
      st = cpli_interrupted(ctx, p->cm->desc.name, NAN);
      goto done;
    }
  }
  for (uint32_t row = 0; row < p->rows; row++) p->known[row] = good >= 2;
  if (good >= 2) p->origin = CPL_ORIGIN_DETECTED;
  st = CPL_OK;
done:
  if (m != NULL) m->base.ops->destroy(&m->base);
  cpli_free(ctx, work);
  cpli_free(ctx, p->outputs);
  p->outputs = NULL;
  return st;
}

//------------------------------------ declarations ------------------------------------

static cpl_status bad(pattern* p, const char* of, const char* what, const char* name) {
  return cpl_fail(p->cm->ctx, CPL_ERR_INPUT, "model %s: dependencies of %s: %s \"%s\"",
                  p->cm->def->name, of, what, name);
}

// Calls `use` for the variable of that name, or for every element of the array of that name.
static cpl_status for_each_named(pattern* p, const char* of, const char* name, size_t len,
                                 cpl_status (*use)(pattern*, const char* of, int32_t var,
                                                   void* user),
                                 void* user) {
  char text[512];
  bool any = false;
  snprintf(text, sizeof text, "%.*s", (int)len, name);
  int32_t var = cpli_names_find(&p->cm->names, text);
  if (var >= 0) return use(p, of, var, user);
  bool derivative = strncmp(text, "der(", 4) == 0;
  for (int element = 1;; element++) {
    char indexed[600];
    if (derivative)
      snprintf(indexed, sizeof indexed, "%.*s[%d])", (int)strcspn(text, ")"), text, element);
    else snprintf(indexed, sizeof indexed, "%s[%d]", text, element);
    var = cpli_names_find(&p->cm->names, indexed);
    if (var < 0) break;
    any = true;
    cpl_status st = use(p, of, var, user);
    if (st < 0) return st;
  }
  return any ? CPL_OK : bad(p, of, "there is no variable", text);
}

typedef struct target {
  uint8_t kind;
  uint32_t row;
  const cpl_dependency* dep;
} target;

static cpl_status mark_column(pattern* p, const char* of, int32_t var, void* user) {
  const target* t = user;
  const cpli_layout* at = &p->cm->at;
  const cpl_variable* v = &p->cm->desc.vars[var];
  bool state = v->ref >= at->x && v->ref < at->dx, input = v->ref >= at->u && v->ref < at->x;
  if (v->type == CPL_STRING || !(state || input))
    return bad(p, of, "neither a state nor an input:", v->name);
  *cell(p, t->row, state ? v->ref - at->x : at->nx + v->ref - at->u) = t->kind;
  return CPL_OK;
}

static cpl_status mark_row(pattern* p, const char* of, int32_t var, void* user) {
  target* t = user;
  const cpli_layout* at = &p->cm->at;
  const cpl_variable* v = &p->cm->desc.vars[var];
  if (v->type == CPL_STRING || v->ref < at->dx || v->ref >= at->g)
    return bad(p, of, "neither an output nor a derivative:", v->name);
  t->row = v->ref - at->dx;
  p->known[t->row] = true;
  if (cpli_cancelled(p->cm->ctx)) return cpli_interrupted(p->cm->ctx, p->cm->def->name, NAN);
  cpl_status made = make_row(p, t->row);
  if (made < 0) return made;
  const char* name = t->dep->on != NULL ? t->dep->on : "";
  for (name += strspn(name, " \t\n"); *name != '\0'; name += strspn(name, " \t\n")) {
    size_t len = strcspn(name, " \t\n");
    cpl_status st = for_each_named(p, of, name, len, mark_column, t);
    if (st < 0) return st;
    name += len;
  }
  return CPL_OK;
}

static cpl_status read_declared(pattern* p) {
  p->origin = CPL_ORIGIN_DECLARED;
  static const char* const kinds[] = {"dependent", "constant", "fixed", "tunable", "discrete"};
  for (const cpl_dependency* d = p->cm->def->dependencies; d->of != NULL; d++) {
    target t = {.kind = 1 + CPL_KIND_DEPENDENT, .dep = d};
    if (d->kind != NULL) {
      size_t k = 0;
      while (k < CPLI_COUNT(kinds) && strcmp(d->kind, kinds[k]) != 0) k++;
      if (k == CPLI_COUNT(kinds)) return bad(p, d->of, "unknown kind", d->kind);
      t.kind = (uint8_t)(1 + k);
    }
    cpl_status st = for_each_named(p, d->of, d->of, strlen(d->of), mark_row, &t);
    if (st < 0) return st;
  }
  return CPL_OK;
}

//------------------------------------ structure ------------------------------------

typedef struct writer {
  pattern* p;
  int32_t* deps;
  uint8_t* kinds;
  int32_t* column_vars;
  int32_t n;
} writer;

static cpl_unknown write_row(writer* w, int32_t var, uint32_t row) {
  cpl_unknown u = {.var = var, .first = w->n, .count = -1};
  if (!w->p->known[row]) return u;
  assert(w->p->kind[row] != NULL);
  for (uint32_t column = 0; column < w->p->columns; column++) {
    uint8_t kind = *cell(w->p, row, column);
    if (kind == 0) continue;
    w->deps[w->n] = w->column_vars[column];
    w->kinds[w->n++] = (uint8_t)(kind - 1);
  }
  u.count = w->n - u.first;
  return u;
}

static cpl_status make_writer(pattern* p, size_t extra, writer* w) {
  cpli_arena* arena = &p->cm->arena;
  size_t cells = extra;
  for (uint32_t row = 0; row < p->rows; row++) {
    for (uint32_t c = 0; p->kind[row] != NULL && c < p->columns; c++)
      cells += *cell(p, row, c) != 0;
  }
  *w = (writer){.p = p,
                .deps = cpli_arena_alloc(arena, cells, sizeof *w->deps),
                .kinds = cpli_arena_alloc(arena, cells, 1),
                .column_vars = cpli_arena_alloc(arena, p->columns, sizeof *w->column_vars)};
  if (w->deps == NULL || w->kinds == NULL || w->column_vars == NULL) return cpli_nomem(p->cm->ctx);
  for (uint32_t c = 0; c < p->columns; c++) {  // those of one list are adjacent
    uint32_t ref = column_ref(p, c);
    bool next = c > 0 && ref == column_ref(p, c - 1) + 1;
    w->column_vars[c] = next ? w->column_vars[c - 1] + 1 : var_of_ref(p->cm, ref);
  }
  return CPL_OK;
}

static cpl_status write_structure(pattern* p) {
  cpli_cmodel* cm = p->cm;
  const cpli_layout* at = &cm->at;
  cpl_structure* s = &cm->desc.structure;
  int32_t n_outputs = 0;
  for (int32_t i = 0; i < cm->desc.n_vars; i++)
    n_outputs += cm->desc.vars[i].causality == CPL_CAUSALITY_OUTPUT;
  // initial unknowns: computed outputs and derivatives, with the same dependencies unless there is
  // an `initialize`, which may make anything depend on anything
  size_t unknowns = (size_t)n_outputs + 2 * (size_t)at->nx + at->ny + at->na;
  cpl_unknown* rows = cpli_arena_alloc(&cm->arena, unknowns, sizeof *rows);
  writer w;
  cpl_status st = make_writer(p, (size_t)n_outputs, &w);
  if (st < 0 || rows == NULL) return cpli_nomem(cm->ctx);
  *s = (cpl_structure){.deps = w.deps,
                       .kinds = w.kinds,
                       .outputs = rows,
                       .derivatives = rows + n_outputs,
                       .initial = rows + n_outputs + at->nx,
                       .origin = p->origin};
  cpl_unknown* initial = rows + n_outputs + at->nx;
  for (int32_t i = 0; i < cm->desc.n_vars; i++) {
    const cpl_variable* v = &cm->desc.vars[i];
    if (v->causality != CPL_CAUSALITY_OUTPUT) continue;
    cpl_unknown u = {.var = i, .first = w.n, .count = 0};
    if (v->type != CPL_STRING && v->ref >= at->y) {
      u = write_row(&w, i, v->ref - at->dx);
      initial[s->n_initial++] = u;
    } else if (v->type != CPL_STRING && v->ref >= at->x) {  // a state that is an output
      w.deps[w.n] = i;
      w.kinds[w.n++] = CPL_KIND_CONSTANT;
      u.count = 1;
    }
    rows[s->n_outputs++] = u;
  }
  for (uint32_t k = 0; k < at->nx; k++) {
    cpl_unknown u = write_row(&w, cm->desc.derivatives[k], k);
    rows[n_outputs + s->n_derivatives++] = u;
    initial[s->n_initial++] = u;
  }
  for (int32_t i = 0; cm->def->initialize != NULL && i < s->n_initial; i++) initial[i].count = -1;
  return CPL_OK;
}

static cpl_status write_residual_structure(pattern* p) {
  cpli_cmodel* cm = p->cm;
  const cpli_layout* at = &cm->at;
  cpl_structure* s = cpli_arena_alloc(&cm->arena, 1, sizeof *s);
  cpl_unknown* rows = cpli_arena_alloc(&cm->arena, p->rows, sizeof *rows);
  writer w;
  cpl_status st = make_writer(p, 0, &w);
  if (st < 0 || s == NULL || rows == NULL) return cpli_nomem(cm->ctx);
  for (uint32_t k = 0; k < at->nx; k++) rows[k] = write_row(&w, cm->desc.derivatives[k], k);
  for (uint32_t k = 0; k < at->na; k++)
    rows[at->nx + k] = write_row(&w, cm->desc.residuals[k], at->nx + at->ny + k);
  *s = (cpl_structure){.deps = w.deps,
                       .kinds = w.kinds,
                       .derivatives = rows,
                       .n_derivatives = (int32_t)at->nx,
                       .outputs = rows + at->nx,
                       .n_outputs = (int32_t)at->na,
                       .origin = p->origin};
  cm->desc.residual_structure = s;
  return CPL_OK;
}

//------------------------------------ through algebraic variables ------------------------------

// Algebraic variables with a common residual form a set: `with` leads to one of each set.
static uint32_t set_of(const uint32_t* with, uint32_t i) {
  while (with[i] != i) i = with[i];
  return i;
}

static void join(pattern* q, uint32_t* with) {
  const cpli_layout* at = &q->cm->at;
  for (uint32_t r = 0; r < at->na; r++) {
    const uint8_t* of = cell(q, at->nx + at->ny + r, at->nx + at->nu);
    uint32_t first = at->na;
    for (uint32_t k = 0; k < at->na; k++) {
      if (of[k] == 0) continue;
      if (first == at->na) first = k;
      with[set_of(with, k)] = set_of(with, first);
    }
  }
}

static void add_all(uint8_t* to, const uint8_t* from, uint32_t n) {
  for (uint32_t c = 0; c < n; c++) to[c] = from[c] > to[c] ? from[c] : to[c];
}

// A row of `q` without algebraic variables: they are replaced by their dependencies.
static void see_through(pattern* q, uint32_t row, const uint32_t* with, const uint8_t* reach,
                        uint8_t* out) {
  const cpli_layout* at = &q->cm->at;
  uint32_t n = at->nx + at->nu;
  add_all(out, cell(q, row, 0), n);
  for (uint32_t k = 0; k < at->na; k++) {
    if (*cell(q, row, n + k) != 0) add_all(out, reach + (size_t)set_of(with, k) * n, n);
  }
}

// The dependencies when the model solves for its algebraic variables, from those of the form with
// residuals: exact where those are, and no equation is solved to find them.
static cpl_status solve_pattern(pattern* q, pattern* p) {
  const cpli_layout* at = &q->cm->at;
  if (q->all == NULL) return CPL_OK;  // they are not known
  uint32_t n = p->columns, residuals = at->nx + at->ny;
  cpl_status made = make_all_rows(p);
  if (made < 0) return made;
  uint32_t* with = cpli_alloc(q->cm->ctx, at->na, sizeof *with);
  uint8_t* reach = cpli_alloc(q->cm->ctx, (size_t)at->na * n, 1);
  cpl_status st = with != NULL && reach != NULL ? CPL_OK : cpli_nomem(q->cm->ctx);
  for (uint32_t k = 0; st >= 0 && k < at->na; k++) with[k] = k;
  if (st >= 0) join(q, with);
  for (uint32_t r = 0; st >= 0 && r < at->na; r++) {
    for (uint32_t k = 0; k < at->na; k++) {
      if (*cell(q, residuals + r, n + k) == 0) continue;
      add_all(reach + (size_t)set_of(with, k) * n, cell(q, residuals + r, 0), n);
    }
  }
  for (uint32_t r = 0; st >= 0 && r < residuals; r++) see_through(q, r, with, reach, cell(p, r, 0));
  for (uint32_t k = 0; st >= 0 && k < at->na; k++)
    add_all(cell(p, residuals + k, 0), reach + (size_t)set_of(with, k) * n, n);
  memcpy(p->known, q->known, p->rows * sizeof *p->known);
  p->origin = q->origin;
  cpli_free(q->cm->ctx, with);
  cpli_free(q->cm->ctx, reach);
  return st;
}

//------------------------------------ the whole ------------------------------------

static cpl_status make_pattern(cpli_cmodel* cm, bool residuals, pattern* p) {
  const cpli_layout* at = &cm->at;
  *p = (pattern){.cm = cm,
                 .residuals = residuals,
                 .rows = at->nx + at->ny + at->na,
                 .columns = at->nx + at->nu + (residuals ? at->na : 0)};
  p->kind = cpli_alloc(cm->ctx, p->rows, sizeof *p->kind);
  p->known = cpli_alloc(cm->ctx, p->rows, sizeof *p->known);
  return p->kind != NULL && p->known != NULL ? CPL_OK : cpli_nomem(cm->ctx);
}

static void free_pattern(pattern* p) {
  for (uint32_t row = 0; p->kind != NULL && p->all == NULL && row < p->rows; row++)
    cpli_free(p->cm->ctx, p->kind[row]);
  cpli_free(p->cm->ctx, p->all);
  cpli_free(p->cm->ctx, p->kind);
  cpli_free(p->cm->ctx, p->known);
}

// The pattern as bytes, for another process.
static size_t pattern_size(const pattern* p) {
  return (size_t)p->rows * p->columns + p->rows * sizeof *p->known + sizeof p->origin;
}

static cpl_status detect_and_write(void* user, void* result) {
  pattern* p = user;
  char* to = result;
  size_t cells = (size_t)p->rows * p->columns, rows = p->rows * sizeof *p->known;
  cpl_status st = detect(p);
  memcpy(to, &p->origin, sizeof p->origin);
  memcpy(to + sizeof p->origin, p->all, cells);
  memcpy(to + sizeof p->origin + cells, p->known, rows);
  return st;
}

static cpl_status detect_in_child(pattern* p) {
  size_t cells = (size_t)p->rows * p->columns, rows = p->rows * sizeof *p->known;
  char* from = cpli_alloc(p->cm->ctx, pattern_size(p), 1);
  if (from == NULL) return cpli_nomem(p->cm->ctx);
  cpl_status st = p->cm->host.in_child(p->cm, detect_and_write, p, from, pattern_size(p));
  if (st >= 0) {
    memcpy(&p->origin, from, sizeof p->origin);
    memcpy(p->all, from + sizeof p->origin, cells);
    memcpy(p->known, from + sizeof p->origin + cells, rows);
  }
  cpli_free(p->cm->ctx, from);
  return st;
}

static cpl_status detect_if(pattern* p, bool wanted) {
  double work = 4.0 * POINTS * (double)p->columns * (double)(p->rows + p->columns);
  if (!wanted || work > max_work) return CPL_OK;
  cpl_status st = make_all_rows(p);
  if (st < 0) return st;
  return p->cm->host.in_child != NULL ? detect_in_child(p) : detect(p);
}

cpl_status cpli_cmodel_structure(cpli_cmodel* cm, bool detect_them) {
  bool form = cm->at.na > 0 && detect_them, declared = cm->def->dependencies != NULL;
  pattern p, q = {.cm = cm};
  cpl_status st = make_pattern(cm, false, &p);
  if (st >= 0 && form) st = make_pattern(cm, true, &q);
  if (st >= 0 && form) st = detect_if(&q, true);
  if (st >= 0 && form) st = write_residual_structure(&q);
  if (st >= 0 && declared) st = read_declared(&p);
  else if (st >= 0 && form) st = solve_pattern(&q, &p);
  else if (st >= 0 && cm->at.na == 0) st = detect_if(&p, detect_them);
  if (st >= 0) st = write_structure(&p);
  free_pattern(&p);
  free_pattern(&q);
  return st;
}
