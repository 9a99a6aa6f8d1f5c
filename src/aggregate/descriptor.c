// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds the descriptor form from the Jacobians of the models and the gradients of the couplings.
// Entries are collected as triplets; while the number of unknowns is not known, inputs have
// negative columns.
#include "aggregate/descriptor.h"

#include <math.h>

#include "aggregate/aggregate.h"
#include "aggregate/kept_descriptor.h"
#include "model/jacobian.h"
#include "numeric/sparse.h"

enum { CONSTANT = -1 };  // the column of what depends on no unknown and no input

// The temporary column of an input, and back.
static int32_t of_input(int32_t i) { return -2 - i; }

typedef struct builder {
  cpl_context* ctx;
  int32_t n;  // unknowns so far
  cpli_triplets triplets;
  cpli_kept_descriptor* kept;  // Nullable: the descriptor is made once
} builder;

// A model in the whole: where its states begin, and the column of each of its variables that is an
// input from around it (CONSTANT: none).
typedef struct scope {
  cpl_model* m;
  const double* x;
  int32_t first_state;
  const int32_t* column;
} scope;

static cpl_status add_model(builder* b, const scope* s, const int32_t* wanted, int32_t n,
                            int32_t* columns);

// from: where the value is read from when the descriptor is refreshed; NULL: it is constant.
static cpl_status add(builder* b, int32_t row, int32_t column, double value, const double* from) {
  if ((value == 0 && b->kept == NULL) || column == CONSTANT) return CPL_OK;
  if (b->kept != NULL) {
    cpl_status st = cpli_kept_entry(b->kept, b->triplets.n, from);
    if (st < 0) return st;
  }
  return cpli_triplets_add(&b->triplets, row, column, value);
}

// A new algebraic unknown v: its equation 0 = -v + ... begins.
static cpl_status add_unknown(builder* b, int32_t* out) {
  *out = b->n++;
  return add(b, *out, *out, -1, NULL);
}

//------------------------------------ one model ------------------------------------

typedef struct leaf {
  const scope* s;
  int32_t *state_of, *derivative_of;  // by variable; -1: none
  bool* asked;                        // directional derivatives exist for them
  int32_t *rows, *targets, *twice;    // of the Jacobian: variables, equations, and second equations
  int32_t *columns, *sources;         // variables, and their columns in the whole
  int32_t n_rows, n_columns;
} leaf;

static void classify(leaf* l) {
  const cpl_description* d = l->s->m->base.desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    bool continuous = d->vars[i].variability == CPL_VARIABILITY_CONTINUOUS;
    l->state_of[i] = l->derivative_of[i] = -1;
    l->asked[i] = d->vars[i].inner_output && d->vars[i].type == CPL_REAL && continuous;
  }
  for (int32_t i = 0; i < d->structure.n_outputs; i++) l->asked[d->structure.outputs[i].var] = true;
  for (int32_t k = 0; k < d->n_states; k++) {
    l->state_of[d->states[k]] = k;
    l->derivative_of[d->derivatives[k]] = k;
  }
}

static cpl_status check_states(const cpl_model* m) {
  const cpl_description* d = m->base.desc;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] >= 0 && d->derivatives[k] >= 0) continue;
    return cpl_fail_in(m->base.ctx, CPL_ERR_UNSUPPORTED, m->base.name, NULL, NAN,
                       "state %d has no variable, so the model cannot be linearised", k + 1);
  }
  return CPL_OK;
}

// A model with directional derivatives gives those of its derivatives and outputs; rows of other
// variables are differenced. Returns which of both a requested variable is; neither: it is a state,
// an input, or constant.
typedef enum method { NEITHER, ASKED, DIFFERENCED } method;

static method method_of(const leaf* l, int32_t var) {
  const cpl_variable* v = &l->s->m->base.desc->vars[var];
  bool smooth = v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS;
  if (l->derivative_of[var] >= 0) return ASKED;
  if (l->state_of[var] >= 0 || v->causality == CPL_CAUSALITY_INPUT) return NEITHER;
  return l->asked[var] ? ASKED : smooth ? DIFFERENCED : NEITHER;
}

// For derivatives with respect to parameters: the equations of the rows, and the coupled inputs.
static cpl_status keep_rows(builder* b, const leaf* l) {
  cpli_kept_rows rows = {.m = l->s->m,
                         .n = l->n_rows,
                         .vars = l->rows,
                         .targets = l->targets,
                         .twice = l->twice,
                         .n_inputs = l->n_columns - l->s->m->base.desc->n_states,
                         .inputs = l->columns + l->s->m->base.desc->n_states};
  return cpli_kept_rows_add(b->kept, &rows);
}

static cpl_status differentiate(builder* b, const leaf* l, bool differences) {
  cpl_jacobian_def def = cpl_default_jacobian_def();
  cpl_jacobian* jac = NULL;
  double* values = NULL;
  cpl_status noted = b->kept != NULL ? keep_rows(b, l) : CPL_OK;
  if (noted < 0 || l->n_rows == 0 || l->n_columns == 0) return noted;
  def.rows = l->rows, def.n_rows = l->n_rows;
  def.columns = l->columns, def.n_columns = l->n_columns;
  def.central = true;
  def.differences = differences;
  cpl_status st = cpl_jacobian_create(l->s->m, &def, &jac);
  if (st >= 0) {
    const cpli_pattern* p = cpli_jacobian_pattern(jac);
    values = cpli_alloc(b->ctx, (size_t)p->n_entries, sizeof *values);
    st = values != NULL ? cpli_jacobian_entries(jac, l->s->x, values) : cpli_nomem(b->ctx);
    for (int32_t c = 0; c < p->n_columns && st == CPL_OK; c++) {
      for (int32_t e = p->first[c]; e < p->first[c + 1] && st == CPL_OK; e++) {
        int32_t r = p->row[e];
        st = add(b, l->targets[r], l->sources[c], values[e], values + e);
        if (st == CPL_OK && l->twice[r] >= 0)
          st = add(b, l->twice[r], l->sources[c], values[e], values + e);
      }
    }
  }
  if (b->kept != NULL && values != NULL) return cpli_kept_block(b->kept, jac, l->s->x, values, st);
  cpl_jacobian_destroy(jac);
  cpli_free(b->ctx, values);
  return st;
}

static void list_columns(leaf* l) {
  const cpl_description* d = l->s->m->base.desc;
  for (int32_t k = 0; k < d->n_states; k++) {
    l->columns[l->n_columns] = d->states[k];
    l->sources[l->n_columns++] = l->s->first_state + k;
  }
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (l->s->column[i] == CONSTANT || l->state_of[i] >= 0) continue;
    l->columns[l->n_columns] = i;
    l->sources[l->n_columns++] = l->s->column[i];
  }
}

// Rows of the requested variables of one method, behind those of the states.
static cpl_status list_rows(builder* b, leaf* l, method which, const int32_t* wanted, int32_t n,
                            int32_t* columns) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st == CPL_OK; i++) {
    int32_t var = wanted[i], k = l->derivative_of[var];
    if (method_of(l, var) != which || columns[i] != CONSTANT) continue;
    st = add_unknown(b, &columns[i]);
    if (k >= 0 && which == ASKED && l->twice[k] < 0) {
      l->twice[k] = columns[i];
      continue;
    }
    l->rows[l->n_rows] = var;
    l->twice[l->n_rows] = -1;
    l->targets[l->n_rows++] = columns[i];
  }
  return st;
}

static cpl_status add_rows(builder* b, leaf* l, const int32_t* wanted, int32_t n,
                           int32_t* columns) {
  const cpl_description* d = l->s->m->base.desc;
  for (int32_t i = 0; i < n; i++) {
    columns[i] = l->state_of[wanted[i]] >= 0 ? l->s->first_state + l->state_of[wanted[i]]
                                             : l->s->column[wanted[i]];
    if (method_of(l, wanted[i]) != NEITHER) columns[i] = CONSTANT;  // until it gets an unknown
  }
  list_columns(l);
  for (int32_t k = 0; k < d->n_states; k++) {
    l->rows[l->n_rows] = d->derivatives[k];
    l->twice[l->n_rows] = -1;
    l->targets[l->n_rows++] = l->s->first_state + k;
  }
  cpl_status st = list_rows(b, l, ASKED, wanted, n, columns);
  if (st == CPL_OK) st = differentiate(b, l, false);
  l->n_rows = 0;
  if (st == CPL_OK) st = list_rows(b, l, DIFFERENCED, wanted, n, columns);
  return st == CPL_OK ? differentiate(b, l, true) : st;
}

static cpl_status add_leaf(builder* b, const scope* s, const int32_t* wanted, int32_t n,
                           int32_t* columns) {
  const cpl_description* d = s->m->base.desc;
  size_t vars = (size_t)d->n_vars, states = (size_t)d->n_states, rows = states + (size_t)n;
  leaf l = {.s = s};
  cpl_status st = check_states(s->m);
  if (st < 0) return st;
  int32_t* lists = cpli_alloc(b->ctx, 4 * vars + 2 * states + 3 * rows, sizeof *lists);
  l.asked = cpli_alloc(b->ctx, vars, sizeof *l.asked);
  if (lists != NULL && l.asked != NULL) {
    l.state_of = lists;
    l.derivative_of = l.state_of + vars;
    l.columns = l.derivative_of + vars;
    l.sources = l.columns + vars + states;
    l.rows = l.sources + vars + states;
    l.targets = l.rows + rows;
    l.twice = l.targets + rows;
    classify(&l);
    st = add_rows(b, &l, wanted, n, columns);
  } else {
    st = cpli_nomem(b->ctx);
  }
  cpli_free(b->ctx, lists);
  cpli_free(b->ctx, l.asked);
  return st;
}

//------------------------------------ an aggregate ------------------------------------

typedef struct whole {
  builder* b;
  cpli_aggregate* a;
  const scope* s;
  int32_t* node;    // the column of each node
  int32_t* column;  // of each variable of the components that is an input
  int32_t* wanted;  // requested variables of components, by component
  int32_t* given;   // their columns
  int32_t* place;   // of each variable of the components, in `given`; -1: it is not requested
  int32_t n_wanted;
} whole;

static bool is_computed(const cpli_aggregate* a, int32_t i) {
  return cpli_is_smooth(&a->nodes[i]) && a->nodes[i].coupling >= 0;
}

// Coupled values are unknowns; signals and inputs without a coupling come from outside.
static cpl_status number_nodes(whole* w) {
  const cpli_aggregate* a = w->a;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_part_vars; i++) {
    w->column[i] = w->s->column[i];
    w->place[i] = -1;
  }
  for (int32_t i = 0; i < a->n_nodes && st == CPL_OK; i++) {
    const cpli_node* node = &a->nodes[i];
    int32_t var =
        node->part >= 0 ? a->parts[node->part].first_var + node->var : a->n_part_vars + node->var;
    w->node[i] = CONSTANT;
    if (is_computed(a, i)) st = add_unknown(w->b, &w->node[i]);
    else if (cpli_is_smooth(node) && node->kind != CPLI_NODE_OUTPUT) w->node[i] = w->s->column[var];
    if (node->part >= 0 && node->kind == CPLI_NODE_INPUT) w->column[var] = w->node[i];
  }
  return st;
}

static void request(whole* w, int32_t var) {
  if (w->place[var] >= 0) return;
  w->place[var] = 0;
  w->n_wanted++;
}

static bool from_part(const whole* w, int32_t var) {
  const cpli_aggregate* a = w->a;
  if (var >= a->n_part_vars) return false;
  int32_t node = a->node_of[var];
  return node < 0 || a->nodes[node].kind == CPLI_NODE_OUTPUT;
}

static cpl_status add_parts(whole* w, const int32_t* wanted, int32_t n) {
  const cpli_aggregate* a = w->a;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part >= 0 && node->kind == CPLI_NODE_OUTPUT && cpli_is_smooth(node))
      request(w, a->parts[node->part].first_var + node->var);
  }
  for (int32_t i = 0; i < n; i++) {
    if (from_part(w, wanted[i])) request(w, wanted[i]);
  }
  w->n_wanted = 0;
  for (int32_t k = 0; k < a->n_parts && st == CPL_OK; k++) {
    const cpli_part* part = &a->parts[k];
    int32_t first = w->n_wanted, end = part->first_var + part->m->base.desc->n_vars;
    for (int32_t var = part->first_var; var < end; var++) {
      if (w->place[var] < 0) continue;
      w->wanted[w->n_wanted] = var - part->first_var;
      w->place[var] = w->n_wanted++;
    }
    scope s = {.m = part->m,
               .x = a->x + part->first_state,
               .first_state = w->s->first_state + part->first_state,
               .column = w->column + part->first_var};
    st = add_model(w->b, &s, w->wanted + first, w->n_wanted - first, w->given + first);
  }
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part >= 0 && node->kind == CPLI_NODE_OUTPUT && cpli_is_smooth(node))
      w->node[i] = w->given[w->place[a->parts[node->part].first_var + node->var]];
  }
  return st;
}

static cpl_status add_couplings(whole* w) {
  cpli_aggregate* a = w->a;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < a->n_nodes && st == CPL_OK; i++) {
    if (!is_computed(a, i)) continue;
    cpli_coupling_edge* l = &a->links[a->nodes[i].coupling];
    st = cpli_coupling_gradient(a, l);
    if (st == CPL_OK && w->b->kept != NULL) st = cpli_kept_coupling(w->b->kept, a, l);
    for (int32_t k = 0; k < l->n_sources && st == CPL_OK; k++)
      st = add(w->b, w->node[i], w->node[l->sources[k]], l->gradient[k], l->gradient + k);
  }
  return st;
}

static int32_t column_of(const whole* w, int32_t var) {
  const cpli_aggregate* a = w->a;
  if (var >= a->n_part_vars) return w->node[a->first_signal + var - a->n_part_vars];
  return from_part(w, var) ? w->given[w->place[var]] : w->node[a->node_of[var]];
}

static cpl_status singular(const cpli_aggregate* a, int32_t node) {
  return cpl_fail_in(a->base.base.ctx, CPL_ERR_MODEL, a->name, NULL, a->t,
                     "cannot be linearised at t=%.17g: an algebraic loop is singular, near %s",
                     a->t, cpli_node_name(a, node));
}

// Each loop detects whether it is singular independently of the units of its values; pivots of the
// whole cannot.
static cpl_status check_loops(cpli_aggregate* a) {
  const cpli_eval_plan* p = a->plans[a->phase];
  for (size_t i = 0; i < p->n_loops; i++) {
    bool fine = true;
    cpl_status st = cpli_loop_check(a, p->loops[i], &fine);
    if (st != CPL_OK) return st;
    if (!fine) return singular(a, cpli_loop_torn(p->loops[i]).nodes[0]);
  }
  return CPL_OK;
}

static cpl_status add_aggregate(builder* b, const scope* s, const int32_t* wanted, int32_t n,
                                int32_t* columns) {
  cpli_aggregate* a = cpli_as_aggregate(&s->m->base);
  size_t vars = (size_t)a->n_part_vars;
  cpl_status st = cpli_evaluate(a);
  if (st == CPL_OK) st = check_loops(a);
  if (st == CPL_OK && b->kept != NULL) st = cpli_kept_aggregate(b->kept, a);
  if (st != CPL_OK) return st;
  int32_t* memory = cpli_alloc(b->ctx, 4 * vars + (size_t)a->n_nodes, sizeof *memory);
  if (memory == NULL) return cpli_nomem(b->ctx);
  whole w = {.b = b,
             .a = a,
             .s = s,
             .column = memory,
             .wanted = memory + vars,
             .given = memory + 2 * vars,
             .place = memory + 3 * vars,
             .node = memory + 4 * vars};
  st = number_nodes(&w);
  if (st == CPL_OK) st = add_parts(&w, wanted, n);
  if (st == CPL_OK) st = add_couplings(&w);
  for (int32_t i = 0; i < n && st == CPL_OK; i++) columns[i] = column_of(&w, wanted[i]);
  cpli_free(b->ctx, memory);
  return st;
}

static cpl_status add_model(builder* b, const scope* s, const int32_t* wanted, int32_t n,
                            int32_t* columns) {
  return cpli_as_aggregate(&s->m->base) != NULL ? add_aggregate(b, s, wanted, n, columns)
                                                : add_leaf(b, s, wanted, n, columns);
}

//------------------------------------ the whole ------------------------------------

// The column of each variable that is an input of the descriptor.
static cpl_status mark_inputs(const cpl_model* m, const int32_t* inputs, int32_t n, int32_t** out) {
  cpl_context* ctx = m->base.ctx;
  size_t vars = (size_t)m->base.desc->n_vars;
  int32_t* column = *out = cpli_alloc(ctx, vars, sizeof *column);
  if (column == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < vars; i++) column[i] = CONSTANT;
  for (int32_t i = 0; i < n; i++) column[inputs[i]] = of_input(i);
  return CPL_OK;
}

cpl_status cpli_descriptor_build(cpl_model* m, const double* x, const int32_t* inputs,
                                 int32_t n_inputs, const int32_t* outputs, int32_t n_outputs,
                                 cpli_kept_descriptor* kept, cpli_descriptor** out) {
  cpl_context* ctx = m->base.ctx;
  int32_t n = m->base.desc->n_states, *column = NULL;
  cpli_descriptor* d = *out = cpli_alloc(ctx, 1, sizeof *d);
  if (d == NULL) return cpli_nomem(ctx);
  *d = (cpli_descriptor){.ctx = ctx, .n_states = n, .n_inputs = n_inputs, .n_outputs = n_outputs};
  d->outputs = cpli_alloc(ctx, (size_t)n_outputs, sizeof *d->outputs);
  builder b = {.ctx = ctx, .n = n, .triplets = {.ctx = ctx}, .kept = kept};
  cpl_status st = d->outputs != NULL ? mark_inputs(m, inputs, n_inputs, &column) : cpli_nomem(ctx);
  scope s = {.m = m, .x = x, .column = column};
  if (st >= 0) st = add_model(&b, &s, outputs, n_outputs, d->outputs);
  d->n = b.n;
  for (int32_t i = 0; i < n_outputs && st == CPL_OK; i++) {
    if (d->outputs[i] < CONSTANT) d->outputs[i] = d->n - 2 - d->outputs[i];
  }
  for (size_t i = 0; i < b.triplets.n && st == CPL_OK; i++) {
    int32_t* at = &b.triplets.items[i].column;
    if (*at < CONSTANT) *at = d->n - 2 - *at;
  }
  if (st == CPL_OK) st = cpli_triplets_compress(&b.triplets, d->n, d->n + n_inputs, &d->j);
  if (st == CPL_OK && kept != NULL) st = cpli_kept_places(kept, &b.triplets, &d->j);
  cpli_free(ctx, column);
  cpli_triplets_free(&b.triplets);
  return st;
}

cpl_status cpli_descriptor_make(cpl_model* m, const double* x, const int32_t* inputs,
                                int32_t n_inputs, const int32_t* outputs, int32_t n_outputs,
                                cpli_descriptor** out) {
  return cpli_descriptor_build(m, x, inputs, n_inputs, outputs, n_outputs, NULL, out);
}

void cpli_descriptor_destroy(cpli_descriptor* d) {
  if (d == NULL) return;
  cpli_compressed_free(d->ctx, &d->j);
  cpli_free(d->ctx, d->outputs);
  cpli_free(d->ctx, d);
}

//------------------------------------ responses ------------------------------------

struct cpli_responses {
  const cpli_descriptor* d;
  int32_t n, *first, *row;  // the algebraic equations by their unknowns
  double *entries, *v;
  cpli_sparse* factors;
};

cpl_status cpli_responses_make(const cpli_descriptor* d, const char* name, cpli_responses** out) {
  cpli_responses* r = *out = cpli_alloc(d->ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(d->ctx);
  size_t entries = (size_t)d->j.first[d->n];
  r->d = d;
  r->n = d->n - d->n_states;
  r->first = cpli_alloc(d->ctx, (size_t)r->n + 1, sizeof *r->first);
  r->row = cpli_alloc(d->ctx, entries, sizeof *r->row);
  r->entries = cpli_alloc(d->ctx, entries, sizeof *r->entries);
  r->v = cpli_alloc(d->ctx, (size_t)r->n, sizeof *r->v);
  if (r->first == NULL || r->row == NULL || r->entries == NULL || r->v == NULL)
    return cpli_nomem(d->ctx);
  int32_t n = 0;
  for (int32_t c = 0; c < r->n; c++) {
    for (int32_t e = d->j.first[d->n_states + c]; e < d->j.first[d->n_states + c + 1]; e++) {
      if (d->j.row[e] < d->n_states) continue;
      r->row[n] = d->j.row[e] - d->n_states;
      r->entries[n++] = d->j.entries[e];
    }
    r->first[c + 1] = n;
  }
  cpl_status st = cpli_sparse_make(d->ctx, r->n, r->first, r->row, false, &r->factors);
  if (st < 0 || r->n == 0 || cpli_sparse_factor(r->factors, r->entries)) return st;
  return cpl_fail_in(d->ctx, CPL_ERR_MODEL, name, NULL, NAN,
                     "cannot be linearised: its algebraic equations are singular");
}

void cpli_responses_destroy(cpli_responses* r) {
  if (r == NULL) return;
  cpl_context* ctx = r->d->ctx;
  cpli_sparse_destroy(r->factors);
  cpli_free(ctx, r->first);
  cpli_free(ctx, r->row);
  cpli_free(ctx, r->entries);
  cpli_free(ctx, r->v);
  cpli_free(ctx, r);
}

void cpli_responses_of(cpli_responses* r, int32_t column, double* dx, double* y) {
  const cpli_descriptor* d = r->d;
  if (r->n > 0) memset(r->v, 0, (size_t)r->n * sizeof *r->v);
  if (dx != NULL && d->n_states > 0) memset(dx, 0, (size_t)d->n_states * sizeof *dx);
  for (int32_t e = d->j.first[column]; e < d->j.first[column + 1]; e++) {
    if (d->j.row[e] >= d->n_states) r->v[d->j.row[e] - d->n_states] -= d->j.entries[e];
    else if (dx != NULL) dx[d->j.row[e]] += d->j.entries[e];
  }
  if (r->n > 0) cpli_sparse_solve(r->factors, r->v);
  for (int32_t i = 0; i < d->n_outputs && y != NULL; i++) {
    int32_t at = d->outputs[i];
    bool algebraic = at >= d->n_states && at < d->n;
    y[i] = algebraic ? r->v[at - d->n_states] : at == column ? 1 : 0;
  }
  for (int32_t c = 0; c < r->n && dx != NULL; c++) {
    if (r->v[c] == 0) continue;
    for (int32_t e = d->j.first[d->n_states + c]; e < d->j.first[d->n_states + c + 1]; e++) {
      if (d->j.row[e] < d->n_states) dx[d->j.row[e]] += d->j.entries[e] * r->v[c];
    }
  }
}
