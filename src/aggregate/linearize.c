// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Partial derivatives of a whole model: selected rows (derivatives, outputs, any other variable)
// with respect to selected columns (states, inputs). Those of an aggregate follow from the blocks
// of its components: with the nodes v as unknowns, (I - M) v = b, where M has the feed-through of
// the components and the gradients of the couplings and b is the direct effect of the column on the
// nodes. One sparse factorisation serves all columns. Components that are aggregates give their
// blocks in the same way.

#include "aggregate/linearize.h"
#include "aggregate/aggregate.h"
#include "numeric/sparse.h"

// out[column * n_rows + row], initially zero
typedef struct request {
  const int32_t *rows, *columns;  // variables
  int32_t n_rows, n_columns;
  double* out;
} request;

static cpl_status block_of(cpl_model* m, const double* x, const request* q);

//------------------------------------ one model ------------------------------------

// Some rows of the request by one Jacobian.
static cpl_status some_rows(cpl_model* m, const double* x, const request* q, const int32_t* chosen,
                            int32_t n, bool differences) {
  cpl_context* ctx = m->base.ctx;
  if (n == 0 || q->n_columns == 0) return CPL_OK;
  cpl_jacobian_def def = cpl_default_jacobian_def();
  cpl_jacobian* jac = NULL;
  int32_t* rows = cpli_alloc(ctx, (size_t)n, sizeof *rows);
  double* values = cpli_alloc(ctx, (size_t)n * (size_t)q->n_columns, sizeof *values);
  cpl_status st = rows != NULL && values != NULL ? CPL_OK : cpli_nomem(ctx);
  for (int32_t i = 0; i < n && st >= 0; i++) rows[i] = q->rows[chosen[i]];
  def.rows = rows;
  def.n_rows = n;
  def.columns = q->columns;
  def.n_columns = q->n_columns;
  def.central = true;
  def.differences = differences;
  if (st >= 0) st = cpl_jacobian_create(m, &def, &jac);
  if (st >= 0) st = cpl_jacobian_evaluate(jac, x, values);
  for (int32_t c = 0; c < q->n_columns && st >= 0; c++) {
    for (int32_t i = 0; i < n; i++)
      q->out[(size_t)c * (size_t)q->n_rows + (size_t)chosen[i]] =
          values[(size_t)c * (size_t)n + (size_t)i];
  }
  cpl_jacobian_destroy(jac);
  cpli_free(ctx, rows);
  cpli_free(ctx, values);
  return st;
}

enum { IS_ITSELF = 1, IS_UNKNOWN = 2 };  // states and inputs; outputs and derivatives

static void classify(const cpl_description* d, uint8_t* what) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    bool continuous = d->vars[i].variability == CPL_VARIABILITY_CONTINUOUS;
    if (d->vars[i].inner_output && d->vars[i].type == CPL_REAL && continuous) what[i] = IS_UNKNOWN;
  }
  for (int32_t i = 0; i < d->structure.n_outputs; i++)
    what[d->structure.outputs[i].var] = IS_UNKNOWN;
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->derivatives[k] >= 0) what[d->derivatives[k]] = IS_UNKNOWN;
    if (d->states[k] >= 0) what[d->states[k]] = IS_ITSELF;
  }
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_CAUSALITY_INPUT) what[i] = IS_ITSELF;
  }
}

// A model can be asked for directional derivatives of its outputs, those of its components and
// state derivatives only; those of a state are trivial, and every other variable is differenced.
static cpl_status block_of_one(cpl_model* m, const double* x, const request* q) {
  const cpl_description* d = m->base.desc;
  cpl_context* ctx = m->base.ctx;
  int32_t n_known = 0, n_other = 0;
  uint8_t* what = cpli_alloc(ctx, (size_t)d->n_vars, sizeof *what);
  int32_t* chosen = cpli_alloc(ctx, 2 * (size_t)q->n_rows, sizeof *chosen);
  cpl_status st = what != NULL && chosen != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) classify(d, what);
  for (int32_t r = 0; r < q->n_rows && st >= 0; r++) {
    const cpl_variable* v = &d->vars[q->rows[r]];
    if (what[q->rows[r]] == IS_ITSELF) {
      for (int32_t c = 0; c < q->n_columns; c++) {
        if (q->columns[c] == q->rows[r]) q->out[(size_t)c * (size_t)q->n_rows + (size_t)r] = 1;
      }
    } else if (what[q->rows[r]] == IS_UNKNOWN) {
      chosen[n_known++] = r;
    } else if (v->type == CPL_REAL && v->variability == CPL_VARIABILITY_CONTINUOUS) {
      chosen[q->n_rows + n_other++] = r;
    }
  }
  if (st >= 0) st = some_rows(m, x, q, chosen, n_known, false);
  if (st >= 0) st = some_rows(m, x, q, chosen + q->n_rows, n_other, true);
  cpli_free(ctx, what);
  cpli_free(ctx, chosen);
  return st;
}

//------------------------------------ an aggregate ------------------------------------

typedef struct share {  // a component's block
  int32_t *rows, *columns;
  int32_t n_rows, n_columns;
  double* values;
  int32_t *inputs, n_inputs;  // its nodes that are inputs
} share;

typedef struct whole {
  cpli_aggregate* a;
  cpl_context* ctx;
  const request* q;
  share* shares;
  int32_t* memory;                // of all lists of the shares
  int32_t *row_of, *column_of;    // of each variable, in the share of its component; -1: none
  int32_t *input_node, *unknown;  // coupled input of each variable; each node's unknown. -1: none
  int32_t n;                      // unknowns
  int32_t *first, *index;         // (I - M) transposed, compressed columns
  int32_t* position;  // position of each unknown among the entries of the current column
  double *entries, *b;
  size_t n_entries, cap_index, cap_entries;
  cpli_sparse* factors;
} whole;

static int32_t var_of(const cpli_aggregate* a, const cpli_node* node) {
  return a->parts[node->part].first_var + node->var;
}

static cpl_status allocate(whole* w) {
  const cpli_aggregate* a = w->a;
  size_t vars = (size_t)a->n_part_vars, nodes = (size_t)a->n_nodes;
  w->shares = cpli_alloc(w->ctx, (size_t)a->n_parts, sizeof *w->shares);
  w->memory = cpli_alloc(w->ctx, 5 * vars + 3 * nodes, sizeof *w->memory);
  w->first = cpli_alloc(w->ctx, nodes + 1, sizeof *w->first);
  w->b = cpli_alloc(w->ctx, nodes, sizeof *w->b);
  if (w->shares == NULL || w->memory == NULL || w->first == NULL || w->b == NULL)
    return cpli_nomem(w->ctx);
  w->row_of = w->memory;
  w->column_of = w->row_of + vars;
  w->input_node = w->column_of + vars;
  w->position = w->input_node + vars;
  w->unknown = w->position + nodes;
  for (size_t i = 0; i < 3 * vars; i++) w->memory[i] = -1;
  return CPL_OK;
}

// Which variables of components are rows and columns (marked by 0), and which nodes are unknowns.
static void mark(whole* w) {
  const cpli_aggregate* a = w->a;
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    w->unknown[i] = cpli_is_smooth(node) ? w->n++ : -1;
    if (node->part < 0 || !cpli_is_smooth(node)) continue;
    int32_t var = var_of(a, node);
    if (node->kind == CPLI_NODE_INPUT) w->column_of[var] = 0, w->input_node[var] = i;
    else w->row_of[var] = 0;
  }
  for (int32_t i = 0; i < w->q->n_rows; i++) {
    int32_t var = w->q->rows[i];
    if (var < a->n_part_vars && w->input_node[var] < 0) w->row_of[var] = 0;
  }
  for (int32_t i = 0; i < w->q->n_columns; i++) {
    if (w->q->columns[i] < a->n_part_vars) w->column_of[w->q->columns[i]] = 0;
  }
}

static cpl_status make_shares(whole* w) {
  const cpli_aggregate* a = w->a;
  int32_t* lists = w->unknown + a->n_nodes;  // rows and columns of all components, then input nodes
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < a->n_parts && st >= 0; k++) {
    share* s = &w->shares[k];
    const cpl_description* d = a->parts[k].m->base.desc;
    int32_t first = a->parts[k].first_var;
    s->rows = lists;
    for (int32_t i = 0; i < d->n_vars; i++) {
      if (w->row_of[first + i] < 0) continue;
      s->rows[w->row_of[first + i] = s->n_rows++] = i;
    }
    s->columns = lists += s->n_rows;
    for (int32_t i = 0; i < d->n_vars; i++) {
      if (w->column_of[first + i] < 0) continue;
      s->columns[w->column_of[first + i] = s->n_columns++] = i;
    }
    lists += s->n_columns;
    s->values = cpli_alloc(w->ctx, (size_t)s->n_rows * (size_t)s->n_columns, sizeof *s->values);
    if (s->values == NULL) return cpli_nomem(w->ctx);
    request q = {s->rows, s->columns, s->n_rows, s->n_columns, s->values};
    st = block_of(a->parts[k].m, a->x + a->parts[k].first_state, &q);
  }
  int32_t* inputs = w->unknown + a->n_nodes + 2 * a->n_part_vars;
  for (int32_t k = 0; k < a->n_parts; k++) {
    share* s = &w->shares[k];
    s->inputs = inputs;
    for (int32_t c = 0; c < s->n_columns; c++) {
      int32_t node = w->input_node[a->parts[k].first_var + s->columns[c]];
      if (node >= 0) s->inputs[s->n_inputs++] = node;
    }
    inputs += s->n_inputs;
  }
  return st;
}

//------------------------------------ matrix ------------------------------------

// A value that occurs twice in a formula, or a component under two names, is one entry.
static bool add_entry(whole* w, int32_t column, int32_t row, double value) {
  int32_t there = w->position[row];
  if (there >= w->first[column] && there < (int32_t)w->n_entries && w->index[there] == row) {
    w->entries[there] += value;
    return true;
  }
  if (!cpli_grow(w->ctx, (void**)&w->index, &w->cap_index, w->n_entries, sizeof *w->index) ||
      !cpli_grow(w->ctx, (void**)&w->entries, &w->cap_entries, w->n_entries, sizeof *w->entries))
    return false;
  w->position[row] = (int32_t)w->n_entries;
  w->index[w->n_entries] = row;
  w->entries[w->n_entries++] = value;
  return true;
}

static double entry(const share* s, int32_t row, int32_t column) {
  return s->values[(size_t)column * (size_t)s->n_rows + (size_t)row];
}

// The transposed matrix by columns: each is the equation of one node.
static cpl_status assemble(whole* w) {
  const cpli_aggregate* a = w->a;
  bool fine = true;
  for (int32_t i = 0; i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    int32_t me = w->unknown[i];
    if (me < 0) continue;
    w->first[me] = (int32_t)w->n_entries;
    fine = fine && add_entry(w, me, me, 1);
    if (node->coupling >= 0) {
      cpli_coupling_edge* l = &a->links[node->coupling];
      cpl_status st = cpli_coupling_gradient(w->a, l);
      if (st != CPL_OK) return st;
      for (int32_t k = 0; k < l->n_sources && fine; k++) {
        int32_t source = w->unknown[l->sources[k]];
        if (source >= 0 && l->gradient[k] != 0) fine = add_entry(w, me, source, -l->gradient[k]);
      }
    } else if (node->part >= 0 && node->kind == CPLI_NODE_OUTPUT) {
      const share* s = &w->shares[node->part];
      int32_t row = w->row_of[var_of(a, node)];
      for (int32_t k = 0; k < s->n_inputs && fine; k++) {
        double value = entry(s, row, w->column_of[var_of(a, &a->nodes[s->inputs[k]])]);
        if (value != 0) fine = add_entry(w, me, w->unknown[s->inputs[k]], -value);
      }
    }
  }
  w->first[w->n] = (int32_t)w->n_entries;
  return fine ? CPL_OK : cpli_nomem(w->ctx);
}

static const char* name_of(const cpli_aggregate* a, const cpli_node* node) {
  return node->part >= 0 ? a->desc->vars[var_of(a, node)].name : a->signals[node->var].name;
}

static cpl_status singular(const whole* w, int32_t node) {
  const char* name = node >= 0 ? name_of(w->a, &w->a->nodes[node]) : "";
  return cpl_fail_in(w->ctx, CPL_ERR_MODEL, w->a->name, NULL, w->a->t,
                     "cannot be linearised at t=%.17g: an algebraic loop is singular%s%s", w->a->t,
                     name[0] != '\0' ? ", near " : "", name);
}

// Only loops can make the matrix singular, and each loop detects that independently of the units of
// its values; pivots of the whole cannot.
static cpl_status check_loops(whole* w) {
  const cpli_eval_plan* p = w->a->plans[w->a->phase];
  for (size_t i = 0; i < p->n_loops; i++) {
    bool fine = true;
    cpl_status st = cpli_loop_check(w->a, p->loops[i], &fine);
    if (st != CPL_OK) return st;
    if (!fine) return singular(w, cpli_loop_torn(p->loops[i]).nodes[0]);
  }
  return CPL_OK;
}

static cpl_status factorise(whole* w) {
  if (w->n == 0) return CPL_OK;
  cpl_status st = check_loops(w);
  if (st != CPL_OK) return st;
  st = cpli_sparse_make(w->ctx, w->n, w->first, w->index, true, &w->factors);
  if (st < 0 || cpli_sparse_factor(w->factors, w->entries)) return st;
  int32_t node = -1;
  for (int32_t i = 0; i < w->a->n_nodes; i++) {
    if (w->unknown[i] == cpli_sparse_singular(w->factors)) node = i;
  }
  return singular(w, node);
}

//------------------------------------ columns ------------------------------------

// The change of all nodes by one column of the request.
static cpl_status move_nodes(whole* w, int32_t var) {
  const cpli_aggregate* a = w->a;
  int32_t part = cpli_part_of(a, var);
  memset(w->b, 0, (size_t)w->n * sizeof *w->b);
  if (part < 0) {
    int32_t at = w->unknown[a->first_signal + var - a->n_part_vars];
    if (at >= 0) w->b[at] = 1;
  }
  for (int32_t i = 0; part >= 0 && i < a->n_nodes; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->part != part || node->kind != CPLI_NODE_OUTPUT || w->unknown[i] < 0) continue;
    w->b[w->unknown[i]] = entry(&w->shares[part], w->row_of[var_of(a, node)], w->column_of[var]);
  }
  if (w->n > 0) cpli_sparse_solve(w->factors, w->b);
  return CPL_OK;
}

static double at_node(const whole* w, int32_t node) {
  return w->unknown[node] >= 0 ? w->b[w->unknown[node]] : 0;
}

static void fill_column(const whole* w, int32_t var, double* out) {
  const cpli_aggregate* a = w->a;
  int32_t mover = cpli_part_of(a, var);
  for (int32_t i = 0; i < w->q->n_rows; i++) {
    int32_t row = w->q->rows[i], part = cpli_part_of(a, row);
    if (part < 0) {
      out[i] = at_node(w, a->first_signal + row - a->n_part_vars);
      continue;
    }
    if (w->input_node[row] >= 0) {
      out[i] = at_node(w, w->input_node[row]);
      continue;
    }
    const share* s = &w->shares[part];
    out[i] = part == mover ? entry(s, w->row_of[row], w->column_of[var]) : 0;
    for (int32_t k = 0; k < s->n_inputs; k++) {
      int32_t column = w->column_of[var_of(a, &a->nodes[s->inputs[k]])];
      out[i] += entry(s, w->row_of[row], column) * at_node(w, s->inputs[k]);
    }
  }
}

static void release(whole* w) {
  cpli_sparse_destroy(w->factors);
  for (int32_t k = 0; k < w->a->n_parts && w->shares != NULL; k++)
    cpli_free(w->ctx, w->shares[k].values);
  cpli_free(w->ctx, w->shares);
  cpli_free(w->ctx, w->memory);
  cpli_free(w->ctx, w->first);
  cpli_free(w->ctx, w->index);
  cpli_free(w->ctx, w->entries);
  cpli_free(w->ctx, w->b);
}

static cpl_status block_of_aggregate(cpli_aggregate* a, const request* q) {
  whole w = {.a = a, .ctx = a->base.base.ctx, .q = q};
  cpl_status st = cpli_evaluate(a);
  if (st == CPL_OK) st = allocate(&w);
  if (st == CPL_OK) {
    mark(&w);
    st = make_shares(&w);
  }
  if (st == CPL_OK) st = assemble(&w);
  if (st == CPL_OK) st = factorise(&w);
  for (int32_t c = 0; c < q->n_columns && st == CPL_OK; c++) {
    st = move_nodes(&w, q->columns[c]);
    if (st == CPL_OK) fill_column(&w, q->columns[c], q->out + (size_t)c * (size_t)q->n_rows);
  }
  release(&w);
  return st;
}

static cpl_status block_of(cpl_model* m, const double* x, const request* q) {
  cpli_aggregate* a = cpli_as_aggregate(&m->base);
  return a != NULL ? block_of_aggregate(a, q) : block_of_one(m, x, q);
}

cpl_status cpli_partials(cpl_model* m, const double* x, const int32_t* rows, int32_t n_rows,
                         const int32_t* columns, int32_t n_columns, double* out) {
  request q = {rows, columns, n_rows, n_columns, out};
  memset(out, 0, (size_t)n_rows * (size_t)n_columns * sizeof *out);
  return n_rows > 0 && n_columns > 0 ? block_of(m, x, &q) : CPL_OK;
}
