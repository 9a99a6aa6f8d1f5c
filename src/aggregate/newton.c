// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The linear system of the integrator. The Jacobian of an aggregate, A + B L (I - D L)^-1 C, is
// full as soon as there is feed-through, so it is never formed: unknowns are the states and all
// nodes, and the matrix
//     [ I - gamma A   -gamma B ]
//     [     -C         I - D, -L ]
// is sparse with a fixed pattern; inputs that only follow an output are left out, unless they are
// unknowns of the integrator, whose right-hand sides then stand in their rows. Most other nodes are
// replaced by what they are sums of (substitute.h), once for each new Jacobian; the rest is
// analysed once and then refactorised (KLU). A small system without loops is the exception:
// eliminate.h.
#include <math.h>

#include "aggregate/aggregate.h"
#include "model/history.h"
#include "model/jacobian.h"
#include "numeric/eliminate.h"
#include "numeric/sparse.h"
#include "numeric/substitute.h"

typedef struct block {  // a component's partial derivatives
  cpl_jacobian* jac;
  double* values;    // its entries; rows: derivatives, outputs, residuals; columns: states, inputs,
                     // algebraic variables
  int32_t* outputs;  // node of each output row
  int32_t* inputs;   // node of each input column
  int32_t n_outputs, n_inputs;
  int32_t n_algebraics, first_algebraic;  // its own rows and columns behind these; their unknowns
  bool changed;                           // in the last evaluation
} block;

typedef cpli_term term;

// Owners of terms of the factorised matrix, beside -1.
enum {
  BORDER = INT32_MIN,  // a constraint
  REST,                // what the substitution has left; from: which of its entries
};

typedef struct term_list {
  term* items;
  size_t n, cap;
} term_list;

typedef struct border {
  cpl_border now;
  int32_t* shape;  // first[] and column[] of the shape that was analysed
  double* scale;   // per unknown: scales the entries of its column to 1 at most, times gamma
  bool on;         // rows are those of the constraints
} border;

typedef struct cpli_newton {
  cpl_context* ctx;
  int32_t n_states, n_all;
  int32_t n_moving;  // states and nodes; behind them stand algebraic variables of components
  int32_t* unknown;  // of each node; -1: it does not move with the states. A node that only follows
                     // another has that one's, times its weight.
  double* weight;
  block* blocks;
  int32_t n_blocks;
  cpli_parallel* parallel;  // over blocks. Nullable
  term_list terms;
  double* values;  // of the terms
  bool changed;    // the derivatives changed since their last use
  cpli_substitution* substitution;
  const int32_t* place;  // of each unknown in the factorised matrix; -1: replaced
  int32_t n;             // unknowns there, without those of constraints
  border border;
  cpli_elimination* dense;  // replaces all below. Nullable.
  term_list matrix;         // terms of the factorised matrix
  size_t n_own_terms;       // without those of constraints
  int32_t all;              // unknowns, with those of constraints
  int32_t *first, *row;
  double *entries, *b;
  cpli_sparse* factors;
  double gamma;  // of the factors; NaN: there are none
} newton;

//------------------------------------ make ------------------------------------

static bool append(newton* w, term_list* l, term t) {
  if (!cpli_grow(w->ctx, (void**)&l->items, &l->cap, l->n, sizeof *l->items)) return false;
  l->items[l->n++] = t;
  return true;
}

static bool add_term(newton* w, int32_t row, int32_t column, double weight, int32_t owner,
                     int32_t from) {
  return append(
      w, &w->terms,
      (term){.row = row, .column = column, .owner = owner, .from = from, .weight = weight});
}

static cpl_status make_block(cpli_aggregate* a, newton* w, int32_t k) {
  block* blk = &w->blocks[k];
  const cpli_part* part = &a->parts[k];
  const cpl_description* d = part->m->base.desc;
  size_t n = (size_t)part->n_states, in = (size_t)blk->n_inputs, out = (size_t)blk->n_outputs;
  size_t na = (size_t)blk->n_algebraics;
  int32_t* vars = cpli_alloc(w->ctx, 2 * n + in + out + 2 * na, sizeof *vars);
  if (vars == NULL) return cpli_nomem(w->ctx);
  int32_t *rows = vars, *columns = vars + n + out + na;
  for (size_t i = 0; i < na; i++)
    rows[n + out + i] = d->residuals[i], columns[n + in + i] = d->algebraics[i];
  for (size_t i = 0; i < n; i++) rows[i] = d->derivatives[i], columns[i] = d->states[i];
  for (size_t i = 0; i < out; i++) rows[n + i] = a->nodes[blk->outputs[i]].var;
  for (size_t i = 0; i < in; i++) columns[n + i] = a->nodes[blk->inputs[i]].var;
  cpl_jacobian_def def = cpl_default_jacobian_def();
  def.rows = rows;
  def.n_rows = (int32_t)(n + out + na);
  def.columns = columns;
  def.n_columns = (int32_t)(n + in + na);
  def.algebraics = na > 0;
  cpl_status st =
      def.n_rows > 0 && def.n_columns > 0 ? cpl_jacobian_create(part->m, &def, &blk->jac) : CPL_OK;
  cpli_free(w->ctx, vars);
  if (st < 0 || blk->jac == NULL) return st;
  size_t entries = (size_t)cpli_jacobian_pattern(blk->jac)->n_entries;
  blk->values = cpli_alloc(w->ctx, entries, sizeof *blk->values);
  return blk->values != NULL ? CPL_OK : cpli_nomem(w->ctx);
}

static bool moves(const cpli_aggregate* a, int32_t i) {
  bool set_from_outside = a->nodes[i].kind == CPLI_NODE_SIGNAL && a->nodes[i].coupling < 0;
  return cpli_is_smooth(&a->nodes[i]) && !set_from_outside;
}

// The node that this one is a copy of through plain couplings; itself: none.
static int32_t leader(const cpli_aggregate* a, int32_t i) {
  for (int32_t hops = 0; hops < a->n_nodes; hops++) {
    const cpli_coupling_edge* l =
        a->nodes[i].coupling >= 0 ? &a->links[a->nodes[i].coupling] : NULL;
    if (l == NULL || l->def.function.value != NULL || a->nodes[i].row) return i;
    i = l->sources[0];
  }
  return i;
}

// A node that only copies another is no unknown of its own.
static void follow(const cpli_aggregate* a, newton* w) {
  for (int32_t i = 0; i < a->n_nodes; i++) {
    int32_t to = leader(a, i);
    if (!cpli_is_smooth(&a->nodes[i]) || to == i) continue;
    w->unknown[i] = w->unknown[to];
    for (int32_t k = i; k != to; k = a->links[a->nodes[k].coupling].sources[0]) {
      w->weight[i] *= a->links[a->nodes[k].coupling].def.factor;
    }
  }
}

// Which nodes belong to which component.
static cpl_status sort_nodes(cpli_aggregate* a, newton* w) {
  w->blocks = cpli_alloc(w->ctx, (size_t)a->n_parts, sizeof *w->blocks);
  w->unknown = cpli_alloc(w->ctx, (size_t)a->n_nodes, sizeof *w->unknown);
  w->weight = cpli_alloc(w->ctx, (size_t)a->n_nodes, sizeof *w->weight);
  if (w->blocks == NULL || w->unknown == NULL || w->weight == NULL) return cpli_nomem(w->ctx);
  w->n_blocks = a->n_parts;
  w->n_all = w->n_states = a->n_states;
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    w->weight[i] = 1;
    w->unknown[i] = moves(a, i) && leader(a, i) == i ? w->n_all++ : -1;
    if (node->part < 0 || !cpli_is_smooth(node)) continue;
    block* blk = &w->blocks[node->part];
    if (node->kind == CPLI_NODE_OUTPUT) blk->n_outputs++;
    else blk->n_inputs++;
  }
  for (int32_t k = 0; k < a->n_parts; k++) {
    block* blk = &w->blocks[k];
    blk->outputs =
        cpli_alloc(w->ctx, (size_t)blk->n_outputs + (size_t)blk->n_inputs, sizeof *blk->outputs);
    if (blk->outputs == NULL) return cpli_nomem(w->ctx);
    blk->inputs = blk->outputs + blk->n_outputs;
    blk->n_outputs = blk->n_inputs = 0;
  }
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part < 0 || !cpli_is_smooth(node)) continue;
    block* blk = &w->blocks[node->part];
    if (node->kind == CPLI_NODE_OUTPUT) blk->outputs[blk->n_outputs++] = i;
    else blk->inputs[blk->n_inputs++] = i;
  }
  follow(a, w);
  w->n_moving = w->n_all;
  for (int32_t k = 0; a->rows != NULL && k < a->n_parts; k++) {
    w->blocks[k].first_algebraic = w->n_all;
    w->blocks[k].n_algebraics = a->rows->algebraics[k];
    w->n_all += a->rows->algebraics[k];
  }
  return CPL_OK;
}

// Of a row or column of a block: states, nodes, algebraic variables.
static int32_t unknown_of(const cpli_part* part, const block* blk, const newton* w,
                          const int32_t* nodes, int32_t n_nodes, int32_t i) {
  if (i < part->n_states) return part->first_state + i;
  i -= part->n_states;
  return i < n_nodes ? w->unknown[nodes[i]] : blk->first_algebraic + i - n_nodes;
}

static bool add_block_terms(const cpli_aggregate* a, newton* w, int32_t k) {
  const block* blk = &w->blocks[k];
  const cpli_part* part = &a->parts[k];
  if (blk->jac == NULL) return true;
  const cpli_pattern* p = cpli_jacobian_pattern(blk->jac);
  for (int32_t c = 0; c < p->n_columns; c++) {
    int32_t column = unknown_of(part, blk, w, blk->inputs, blk->n_inputs, c);
    int32_t input = c - part->n_states;
    if (column < 0) continue;
    double weight = input >= 0 && input < blk->n_inputs ? w->weight[blk->inputs[input]] : 1;
    for (int32_t e = p->first[c]; e < p->first[c + 1]; e++) {
      int32_t row = unknown_of(part, blk, w, blk->outputs, blk->n_outputs, p->row[e]);
      if (!add_term(w, row, column, weight, k, e)) return false;
    }
  }
  return true;
}

static bool has_row(const cpli_aggregate* a, const newton* w, const cpli_coupling_edge* link) {
  return w->unknown[link->target] >= 0 && leader(a, link->target) == link->target;
}

static bool add_all_terms(const cpli_aggregate* a, newton* w) {
  for (int32_t i = 0; i < w->n_moving; i++) {
    if (!add_term(w, i, i, 1, -1, 0)) return false;
  }
  for (int32_t k = 0; k < a->n_parts; k++) {
    if (!add_block_terms(a, w, k)) return false;
  }
  for (int32_t l = 0; l < a->n_links; l++) {
    const cpli_coupling_edge* link = &a->links[l];
    if (!has_row(a, w, link)) continue;
    for (int32_t s = 0; s < link->n_sources; s++) {
      int32_t row = w->unknown[link->target], column = w->unknown[link->sources[s]];
      double weight = w->weight[link->sources[s]];
      if (column >= 0 && !add_term(w, row, column, weight, -2 - l, s)) return false;
    }
  }
  return true;
}

// Compressed columns: terms are distributed to columns, rows sorted within each, equal positions
// merged.
static cpl_status compress(newton* w) {
  cpl_status st = CPL_OK;
  size_t n = (size_t)w->all;
  int32_t* start = cpli_alloc(w->ctx, n + 2, sizeof *start);
  int32_t* by_row = cpli_alloc(w->ctx, w->matrix.n, sizeof *by_row);
  int32_t* sorted = cpli_alloc(w->ctx, w->matrix.n, sizeof *sorted);
  w->first = cpli_alloc(w->ctx, n + 1, sizeof *w->first);
  w->row = cpli_alloc(w->ctx, w->matrix.n, sizeof *w->row);
  if (start == NULL || by_row == NULL || sorted == NULL || w->first == NULL || w->row == NULL) {
    st = cpli_nomem(w->ctx);
    goto done;
  }
  // two counting sorts: by row, then (stable) by column
  for (size_t i = 0; i < w->matrix.n; i++) start[w->matrix.items[i].row + 2]++;
  for (size_t i = 0; i < n; i++) start[i + 2] += start[i + 1];
  for (size_t i = 0; i < w->matrix.n; i++) by_row[start[w->matrix.items[i].row + 1]++] = (int32_t)i;
  memset(start, 0, (n + 2) * sizeof *start);
  for (size_t i = 0; i < w->matrix.n; i++) start[w->matrix.items[i].column + 2]++;
  for (size_t i = 0; i < n; i++) start[i + 2] += start[i + 1];
  for (size_t i = 0; i < w->matrix.n; i++)
    sorted[start[w->matrix.items[by_row[i]].column + 1]++] = by_row[i];
  int32_t entries = 0, column = -1, row = -1;
  for (size_t i = 0; i < w->matrix.n; i++) {
    term* t = &w->matrix.items[sorted[i]];
    while (column < t->column) w->first[++column] = entries, row = -1;
    if (t->row != row) w->row[entries++] = row = t->row;
    t->entry = entries - 1;
  }
  while (column < w->all) w->first[++column] = entries;
done:
  cpli_free(w->ctx, start);
  cpli_free(w->ctx, by_row);
  cpli_free(w->ctx, sorted);
  return st;
}

// With the current terms of the matrix.
static cpl_status analyse(newton* w) {
  cpli_sparse_destroy(w->factors);
  w->factors = NULL;
  cpli_free(w->ctx, w->first);
  cpli_free(w->ctx, w->row);
  cpli_free(w->ctx, w->entries);
  cpli_free(w->ctx, w->b);
  w->entries = w->b = NULL;
  w->first = w->row = NULL;
  w->gamma = NAN;
  cpl_status st = compress(w);
  if (st < 0) return st;
  w->entries = cpli_alloc(w->ctx, w->matrix.n, sizeof *w->entries);
  w->b = cpli_alloc(w->ctx, (size_t)w->all, sizeof *w->b);
  if (w->entries == NULL || w->b == NULL) return cpli_nomem(w->ctx);
  return cpli_sparse_make(w->ctx, w->all, w->first, w->row, false, &w->factors);
}

// Unknowns of the integrator stay, and so do algebraic variables: their rows are no sums.
static cpl_status substitute(const cpli_aggregate* a, newton* w) {
  bool* may_go = cpli_alloc(w->ctx, (size_t)w->n_all, sizeof *may_go);
  w->values = cpli_alloc(w->ctx, w->terms.n, sizeof *w->values);
  cpl_status st = may_go != NULL && w->values != NULL ? CPL_OK : cpli_nomem(w->ctx);
  for (int32_t i = w->n_states; i < w->n_moving && st >= 0; i++) may_go[i] = true;
  for (int32_t i = 0; a->rows != NULL && i < a->rows->n && st >= 0; i++)
    may_go[w->unknown[a->rows->nodes[i]]] = false;
  if (st >= 0)
    st = cpli_substitution_make(w->ctx, w->n_all, w->terms.items, w->terms.n, may_go,
                                &w->substitution);
  cpli_free(w->ctx, may_go);
  return st;
}

// The identity in the rows of states and nodes, and what the substitution has left.
static cpl_status fill_matrix(newton* w) {
  const cpli_substituted* rest = cpli_substitution_rest(w->substitution);
  bool fine = true;
  w->place = rest->place;
  w->n = w->all = rest->n;
  for (int32_t i = 0; i < w->n_moving && fine; i++) {
    term one = {.row = w->place[i], .column = w->place[i], .owner = -1};
    if (w->place[i] >= 0) fine = append(w, &w->matrix, one);
  }
  for (size_t i = 0; i < rest->n_entries && fine; i++) {
    term t = {.row = rest->row[i], .column = rest->column[i], .owner = REST, .from = (int32_t)i};
    fine = append(w, &w->matrix, t);
  }
  w->n_own_terms = w->matrix.n;
  return fine ? CPL_OK : cpli_nomem(w->ctx);
}

// Dense where that costs no more than the sparse factors with all that leads to them: they have as
// many entries.
static cpl_status make_dense(const cpli_aggregate* a, newton* w) {
  double n = w->n_states, removed = (double)cpli_substitution_rest(w->substitution)->n_removed;
  if (w->n == 0 || a->rows != NULL || n * n > cpli_sparse_fill(w->factors) + removed) return CPL_OK;
  return cpli_elimination_make(w->ctx, w->n_states, w->n_all, w->terms.items, w->terms.n,
                               &w->dense);
}

cpl_status cpli_newton_make(cpli_aggregate* a, struct cpli_newton** out) {
  cpl_context* ctx = a->base.base.ctx;
  newton* w = cpli_alloc(ctx, 1, sizeof *w);
  *out = w;
  if (w == NULL) return cpli_nomem(ctx);
  w->ctx = ctx;
  cpl_status st = sort_nodes(a, w);
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) st = make_block(a, w, k);
  if (st >= 0) st = cpli_parts_parallel(a, &w->parallel);
  if (st >= 0 && !add_all_terms(a, w)) st = cpli_nomem(ctx);
  if (st >= 0) st = substitute(a, w);
  if (st >= 0) st = fill_matrix(w);
  if (st >= 0) st = analyse(w);
  return st < 0 ? st : make_dense(a, w);
}

void cpli_newton_destroy(struct cpli_newton* w) {
  if (w == NULL) return;
  cpli_sparse_destroy(w->factors);
  cpli_parallel_destroy(w->parallel);
  for (int32_t k = 0; k < w->n_blocks; k++) {
    cpl_jacobian_destroy(w->blocks[k].jac);
    cpli_free(w->ctx, w->blocks[k].values);
    cpli_free(w->ctx, w->blocks[k].outputs);
  }
  cpli_free(w->ctx, w->blocks);
  cpli_free(w->ctx, w->unknown);
  cpli_free(w->ctx, w->weight);
  cpli_free(w->ctx, w->terms.items);
  cpli_free(w->ctx, w->matrix.items);
  cpli_free(w->ctx, w->first);
  cpli_free(w->ctx, w->row);
  cpli_free(w->ctx, w->entries);
  cpli_free(w->ctx, w->b);
  cpli_free(w->ctx, w->values);
  cpli_free(w->ctx, w->border.shape);
  cpli_free(w->ctx, w->border.scale);
  cpli_elimination_destroy(w->dense);
  cpli_substitution_destroy(w->substitution);
  cpli_free(w->ctx, w);
}

void cpli_newton_forget(newton* w) {
  if (w == NULL || w->factors == NULL) return;
  cpli_sparse_forget(w->factors);
  w->gamma = NAN;
}

void cpli_newton_forget_run(newton* w) {
  cpli_newton_forget(w);
  for (int32_t k = 0; w != NULL && k < w->n_blocks; k++) cpli_jacobian_forget(w->blocks[k].jac);
}

//------------------------------------ constraints ------------------------------------

static bool has_shape(const border* k, const cpl_border* b) {
  if (k->shape == NULL || k->now.n != b->n || k->now.n_shaped != b->n_shaped) return false;
  size_t n_first = b->n_shaped + 1, n = (size_t)b->first[b->n_shaped];
  return memcmp(k->shape, b->first, n_first * sizeof *k->shape) == 0 &&
         memcmp(k->shape + n_first, b->column, n * sizeof *k->shape) == 0;
}

// Terms of constraint j: its row and its column, which have the same entries, and their
// intersection.
static bool add_border_terms(newton* w, const cpl_border* b) {
  bool fine = true;
  for (size_t j = 0; j < b->n && fine; j++) {
    int32_t at = w->n + (int32_t)j, begin = j < b->n_shaped ? b->first[j] : 0;
    int32_t end = j < b->n_shaped ? b->first[j + 1] : 0;
    fine = append(w, &w->matrix, (term){.row = at, .column = at, .owner = BORDER});
    for (int32_t e = begin; e < end && fine; e++) {
      int32_t state = b->column[e];
      term row = {.row = at, .column = state, .owner = BORDER, .from = e};
      term column = {.row = state, .column = at, .owner = BORDER, .from = e};
      fine = append(w, &w->matrix, row) && append(w, &w->matrix, column);
    }
  }
  return fine;
}

static cpl_status shape_border(newton* w, const cpl_border* b) {
  border* k = &w->border;
  size_t n_first = b->n_shaped + 1, n = (size_t)b->first[b->n_shaped];
  cpli_free(w->ctx, k->shape);
  cpli_free(w->ctx, k->scale);
  k->shape = cpli_alloc(w->ctx, n_first + n, sizeof *k->shape);
  k->scale = cpli_alloc(w->ctx, b->n, sizeof *k->scale);
  w->matrix.n = w->n_own_terms;
  w->all = w->n + (int32_t)b->n;
  w->changed = true;  // the dense Jacobian may have been the only one that was kept
  if (k->shape == NULL || k->scale == NULL || !add_border_terms(w, b)) return cpli_nomem(w->ctx);
  memcpy(k->shape, b->first, n_first * sizeof *k->shape);
  memcpy(k->shape + n_first, b->column, n * sizeof *k->shape);
  return analyse(w);
}

cpl_status cpli_newton_border(cpl_model* m, const cpl_border* b) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  border* k = &a->newton->border;
  k->on = b != NULL;
  if (b == NULL) return CPL_OK;
  cpl_status st = has_shape(k, b) ? CPL_OK : shape_border(a->newton, b);
  k->now = *b;
  for (size_t j = 0; j < b->n && st >= 0; j++) {
    double max = 0;
    for (int32_t e = j < b->n_shaped ? b->first[j] : 0; j < b->n_shaped && e < b->first[j + 1]; e++)
      max = fmax(max, fabs(b->columns[e]));
    k->scale[j] = b->taken[j] && max > 0 ? 1 / max : 1;
  }
  return st;
}

// The amount subtracted from an entry, in the scaling of value_of().
static double border_value(const newton* w, const term* t) {
  const border* k = &w->border;
  int32_t j = (t->row >= w->n ? t->row : t->column) - w->n;
  bool taken = k->on && k->now.taken[j];
  if (t->row == t->column) return taken ? 0 : -1;
  if (!taken) return 0;
  return t->row >= w->n ? -k->now.rows[t->from] : -k->now.columns[t->from] * k->scale[j];
}

//------------------------------------ history ------------------------------------

// The shape that was analysed last; its entries are given again before the next factorisation.
static cpl_status take_border(newton* w, const cpl_border* b) {
  cpl_status st = has_shape(&w->border, b) ? CPL_OK : shape_border(w, b);
  w->border.now = (cpl_border){.n = b->n, .n_shaped = b->n_shaped};
  w->border.on = false;
  return st;
}

static bool border_fits(const newton* w, const cpl_border* b) {
  bool fits = b->first[0] == 0;
  for (size_t j = 0; j < b->n_shaped; j++) fits = fits && b->first[j] <= b->first[j + 1];
  for (int32_t e = 0; fits && e < b->first[b->n_shaped]; e++)
    fits = b->column[e] >= 0 && b->column[e] < w->n_states;
  return fits;
}

static void read_border(cpli_serial* s, newton* w, size_t n, size_t n_shaped, size_t n_entries) {
  size_t size = n_shaped + 1 + n_entries;
  int32_t* shape = cpli_alloc(w->ctx, size, sizeof *shape);
  if (shape == NULL) cpli_serial_nomem(s);
  if (shape != NULL) cpli_serial_bytes(s, shape, size * sizeof *shape);
  cpl_border b = {.n = n, .n_shaped = n_shaped, .first = shape, .column = shape + n_shaped + 1};
  if (s->st >= 0 && (shape[n_shaped] != (int32_t)n_entries || !border_fits(w, &b)))
    cpli_serial_refuse(s, "its constraints do not fit");
  if (s->st >= 0) s->st = take_border(w, &b);
  cpli_free(w->ctx, shape);
  if (s->st >= 0) cpli_serial_reals(s, w->border.scale, n);
}

// Constraints are part of the system once it has been set up with them.
static void list_border(cpli_serial* s, newton* w) {
  border* k = &w->border;
  size_t n = k->shape != NULL ? k->now.n : 0, n_shaped = k->shape != NULL ? k->now.n_shaped : 0;
  size_t n_entries = n > 0 ? (size_t)k->shape[n_shaped] : 0;
  cpli_serial_count(s, &n, sizeof(double));
  cpli_serial_count(s, &n_shaped, sizeof(int32_t));
  cpli_serial_count(s, &n_entries, sizeof(int32_t));
  if (s->st < 0 || n == 0) return;
  if (n > (size_t)s->c->desc->n_constraints || n_shaped > n || n_entries > INT32_MAX)
    cpli_serial_refuse(s, "it has other constraints");
  if (s->st < 0) return;
  if (cpli_serial_reads(s)) {
    read_border(s, w, n, n_shaped, n_entries);
    return;
  }
  cpli_serial_bytes(s, k->shape, (n_shaped + 1 + n_entries) * sizeof *k->shape);
  cpli_serial_reals(s, k->scale, n);
}

static void list_factors(cpli_serial* s, newton* w) {
  cpli_serial_factors(s, w->factors, false, w->entries);
  if (s->st < 0 || !cpli_serial_reads(s) || w->changed) return;
  cpli_substitution_refresh(w->substitution, w->values);
  if (w->dense == NULL || w->all > w->n) return;
  cpli_elimination_refresh(w->dense, w->values);
  if (!isnan(w->gamma) && cpli_elimination_factor(w->dense, w->gamma) >= 0)
    cpli_serial_refuse(s, "a matrix is singular");
}

void cpli_newton_list(cpli_serial* s, struct cpli_newton* w) {
  cpli_serial_same(s, (size_t)w->n_blocks);
  cpli_serial_same(s, w->terms.n);
  list_border(s, w);
  cpli_serial_same(s, (size_t)w->all);
  for (int32_t k = 0; k < w->n_blocks && s->st >= 0; k++) {
    block* b = &w->blocks[k];
    cpli_serial_jacobian(s, b->jac);
    if (b->jac != NULL)
      cpli_serial_reals(s, b->values, (size_t)cpli_jacobian_pattern(b->jac)->n_entries);
  }
  cpli_serial_reals(s, w->values, w->terms.n);
  cpli_serial_bool(s, &w->changed);
  cpli_serial_real(s, &w->gamma);
  if (s->st >= 0 && w->n > 0) list_factors(s, w);
}

//------------------------------------ use ------------------------------------

static cpl_status evaluate_block(void* user, int32_t k, int32_t worker) {
  cpli_aggregate* a = user;
  block* blk = &a->newton->blocks[k];
  (void)worker;
  blk->changed = false;
  if (blk->jac == NULL) return CPL_OK;
  return cpli_part_jacobian(a, k, blk->jac, true, blk->values, &blk->changed);
}

static cpl_status evaluate_blocks(cpli_aggregate* a, newton* w) {
  cpl_status st = cpli_evaluate(a);
  cpli_parallel_follow(w->parallel, cpli_segments_heaviest(a->plans[a->phase]));
  if (st == CPL_OK) st = cpli_each_part(a, w->parallel, evaluate_block, a);
  for (int32_t k = 0; k < w->n_blocks; k++) w->changed = w->changed || w->blocks[k].changed;
  for (int32_t l = 0; l < a->n_links && st == CPL_OK; l++) {
    if (!has_row(a, w, &a->links[l])) continue;
    w->changed = w->changed || !a->links[l].known;  // known ones are constant
    st = cpli_coupling_gradient(a, &a->links[l]);
  }
  if (st != CPL_OK) a->fresh = false;  // a component may have been left at another point
  return st;
}

static double value_of(const cpli_aggregate* a, const newton* w, const term* t) {
  if (t->owner == -1) return -1;
  return t->weight * (t->owner >= 0 ? w->blocks[t->owner].values[t->from]
                                    : a->links[-2 - t->owner].gradient[t->from]);
}

static void assemble(newton* w, double gamma) {
  const double* rest = cpli_substitution_rest(w->substitution)->values;
  memset(w->entries, 0, (size_t)w->first[w->all] * sizeof *w->entries);
  for (size_t i = 0; i < w->matrix.n; i++) {
    const term* t = &w->matrix.items[i];
    double value = t->owner == REST ? rest[t->from] : t->owner == -1 ? -1 : border_value(w, t);
    // only the states' rows carry gamma
    bool scaled = t->row < w->n_states && t->owner != -1;
    w->entries[t->entry] -= scaled ? gamma * value : value;
  }
}

static cpl_status singular(cpli_aggregate* a, newton* w, int32_t column) {
  const char* name = "";
  if (column >= 0 && column < w->n_states) {
    name = a->desc->states[column] >= 0 ? a->desc->vars[a->desc->states[column]].name : "a state";
  }
  for (int32_t i = 0; i < a->n_nodes && column >= w->n_states; i++) {
    if (w->unknown[i] >= 0 && w->place[w->unknown[i]] == column) name = cpli_node_name(a, i);
  }
  if (column >= w->n) name = "a constraint";
  for (int32_t k = 0; k < w->n_blocks && column >= w->n_states && column < w->n; k++) {
    const cpl_description* d = a->parts[k].m->base.desc;
    for (int32_t i = 0; i < w->blocks[k].n_algebraics; i++) {
      if (w->place[w->blocks[k].first_algebraic + i] == column)
        name = d->vars[d->algebraics[i]].name;
    }
  }
  return cpl_fail_in(w->ctx, CPL_RETRY, a->name, NULL, a->t,
                     "the coupled Jacobian is singular at t=%.17g, near %s", a->t, name);
}

static void refresh(const cpli_aggregate* a, newton* w, bool dense) {
  if (!w->changed) return;
  for (size_t i = 0; i < w->terms.n; i++) w->values[i] = value_of(a, w, &w->terms.items[i]);
  if (dense) cpli_elimination_refresh(w->dense, w->values);
  else cpli_substitution_refresh(w->substitution, w->values);
  w->changed = false;
  w->gamma = NAN;
}

// Equal factors are kept: the derivatives of a linear system do not change, nor does the step size
// of many steps.
cpl_status cpli_newton_setup(cpl_model* m, double gamma, bool fresh) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  newton* w = a->newton;
  cpl_status st = fresh ? evaluate_blocks(a, w) : CPL_OK;
  if (st != CPL_OK || w->n == 0) return st;
  bool bordered = w->all > w->n, dense = w->dense != NULL && !bordered;
  refresh(a, w, dense);
  if (gamma == w->gamma && !bordered) return CPL_OK;
  w->gamma = NAN;
  int32_t column = -1;
  if (dense) {
    column = cpli_elimination_factor(w->dense, gamma);
    if (column >= 0) return singular(a, w, column);
  } else {
    assemble(w, gamma);
    if (!cpli_sparse_factor(w->factors, w->entries))
      return singular(a, w, cpli_sparse_singular(w->factors));
  }
  w->gamma = gamma;
  return CPL_OK;
}

static int32_t place_of(const newton* w, const cpli_aggregate* a, int32_t row) {
  return w->place[w->unknown[a->rows->nodes[row]]];
}

cpl_status cpli_newton_solve(cpl_model* m, const double* r, double* dx) {
  cpli_aggregate* a = (cpli_aggregate*)m;
  newton* w = a->newton;
  int32_t n_rows = a->rows != NULL ? a->rows->n : 0, n_own = w->n_all - w->n_moving;
  if (w->n == 0) return CPL_OK;
  if (w->dense != NULL && w->all == w->n) {
    cpli_elimination_solve(w->dense, r, dx);
    return CPL_OK;
  }
  memcpy(w->b, r, (size_t)w->n_states * sizeof *r);
  memset(w->b + w->n_states, 0, (size_t)(w->n - w->n_states) * sizeof *r);
  int32_t own = w->n_states + n_rows + n_own, n_border = w->all - w->n;
  int32_t first_own = w->n - n_own;  // none of them was replaced
  for (int32_t i = 0; i < n_rows; i++) w->b[place_of(w, a, i)] = r[w->n_states + i];
  // rows of residuals have the opposite sign
  for (int32_t i = 0; i < n_own; i++) w->b[first_own + i] = -r[w->n_states + n_rows + i];
  memcpy(w->b + w->n, r + own, (size_t)n_border * sizeof *r);
  cpli_sparse_solve(w->factors, w->b);
  memcpy(dx, w->b, (size_t)w->n_states * sizeof *dx);
  for (int32_t i = 0; i < n_rows; i++) dx[w->n_states + i] = w->b[place_of(w, a, i)];
  for (int32_t i = 0; i < n_own; i++) dx[w->n_states + n_rows + i] = w->b[first_own + i];
  for (int32_t j = 0; j < n_border; j++) dx[own + j] = w->b[w->n + j] * w->border.scale[j];
  return CPL_OK;
}
