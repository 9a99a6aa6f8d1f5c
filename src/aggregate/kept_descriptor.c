// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Keeps what the descriptor form is made of (descriptor.c): a list of steps that compute all
// derivatives again, and for each term of the matrix where its value is and to which entry it is
// added.
#include "aggregate/kept_descriptor.h"

#include "aggregate/aggregate.h"
#include "model/jacobian.h"

// One step of a refresh: an aggregate is evaluated, a Jacobian, or a gradient.
typedef struct step {
  cpli_aggregate* a;      // of an aggregate, or of the coupling
  cpli_coupling_edge* l;  // Nullable
  cpl_jacobian* jac;      // Nullable
  const double* x;
  double* values;
} step;

typedef struct item {
  const double* from;  // Nullable: constant
  double constant;
  int32_t entry;
} item;

struct cpli_kept_descriptor {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_descriptor* d;
  step* steps;
  size_t n_steps, cap_steps;
  cpli_kept_rows* rows;
  size_t n_rows, cap_rows;
  item* items;
  size_t n_items, cap_items;
};

//------------------------------------ build ------------------------------------

static cpl_status add_step(cpli_kept_descriptor* k, step s) {
  if (!cpli_grow(k->ctx, (void**)&k->steps, &k->cap_steps, k->n_steps, sizeof *k->steps))
    return cpli_nomem(k->ctx);
  k->steps[k->n_steps++] = s;
  return CPL_OK;
}

cpl_status cpli_kept_aggregate(cpli_kept_descriptor* k, cpli_aggregate* a) {
  return add_step(k, (step){.a = a});
}

cpl_status cpli_kept_coupling(cpli_kept_descriptor* k, cpli_aggregate* a, cpli_coupling_edge* l) {
  return add_step(k, (step){.a = a, .l = l});
}

cpl_status cpli_kept_block(cpli_kept_descriptor* k, cpl_jacobian* jac, const double* x,
                           double* values, cpl_status st) {
  cpl_status added = add_step(k, (step){.jac = jac, .x = x, .values = values});
  if (added < 0) {
    cpl_jacobian_destroy(jac);
    cpli_free(k->ctx, values);
  }
  return st != CPL_OK ? st : added;
}

static const int32_t* copy(cpli_kept_descriptor* k, const int32_t* list, int32_t n) {
  int32_t* out = cpli_arena_alloc(&k->arena, (size_t)n, sizeof *out);
  if (out != NULL && n > 0) memcpy(out, list, (size_t)n * sizeof *out);
  return out;
}

cpl_status cpli_kept_rows_add(cpli_kept_descriptor* k, const cpli_kept_rows* given) {
  cpli_kept_rows r = *given;
  if (r.n == 0) return CPL_OK;
  r.vars = copy(k, given->vars, r.n);
  r.targets = copy(k, given->targets, r.n);
  r.twice = copy(k, given->twice, r.n);
  r.inputs = copy(k, given->inputs, r.n_inputs);
  if (r.vars == NULL || r.targets == NULL || r.twice == NULL || r.inputs == NULL ||
      !cpli_grow(k->ctx, (void**)&k->rows, &k->cap_rows, k->n_rows, sizeof *k->rows))
    return cpli_nomem(k->ctx);
  k->rows[k->n_rows++] = r;
  return CPL_OK;
}

cpl_status cpli_kept_entry(cpli_kept_descriptor* k, size_t i, const double* from) {
  if (!cpli_grow(k->ctx, (void**)&k->items, &k->cap_items, i, sizeof *k->items))
    return cpli_nomem(k->ctx);
  k->items[i] = (item){.from = from};
  k->n_items = i + 1;
  return CPL_OK;
}

// The entry of a row in a column, whose rows are ascending.
static int32_t find(const cpli_compressed* j, int32_t column, int32_t row) {
  int32_t low = j->first[column], high = j->first[column + 1] - 1;
  while (low < high) {
    int32_t middle = low + (high - low) / 2;
    if (j->row[middle] < row) low = middle + 1;
    else high = middle;
  }
  return low;
}

cpl_status cpli_kept_places(cpli_kept_descriptor* k, const cpli_triplets* t,
                            const cpli_compressed* j) {
  for (size_t i = 0; i < t->n; i++) {
    k->items[i].constant = t->items[i].value;
    k->items[i].entry = find(j, t->items[i].column, t->items[i].row);
  }
  return CPL_OK;
}

//------------------------------------ operations ------------------------------------

cpl_status cpli_kept_descriptor_make(cpl_model* m, const double* x, const int32_t* outputs,
                                     int32_t n_outputs, cpli_kept_descriptor** out) {
  cpli_kept_descriptor* k = *out = cpli_alloc(m->base.ctx, 1, sizeof *k);
  if (k == NULL) return cpli_nomem(m->base.ctx);
  k->ctx = m->base.ctx;
  cpli_arena_init(&k->arena, k->ctx);
  return cpli_descriptor_build(m, x, NULL, 0, outputs, n_outputs, k, &k->d);
}

void cpli_kept_descriptor_destroy(cpli_kept_descriptor* k) {
  if (k == NULL) return;
  cpl_context* ctx = k->ctx;
  for (size_t i = 0; i < k->n_steps; i++) {
    cpl_jacobian_destroy(k->steps[i].jac);
    cpli_free(ctx, k->steps[i].values);
  }
  cpli_descriptor_destroy(k->d);
  cpli_free(ctx, k->steps);
  cpli_free(ctx, k->rows);
  cpli_free(ctx, k->items);
  cpli_arena_free(&k->arena);
  cpli_free(ctx, k);
}

const cpli_descriptor* cpli_kept_descriptor_of(const cpli_kept_descriptor* k) { return k->d; }

const cpli_kept_rows* cpli_kept_descriptor_rows(const cpli_kept_descriptor* k, size_t* n) {
  *n = k->n_rows;
  return k->rows;
}

cpl_status cpli_kept_descriptor_refresh(cpli_kept_descriptor* k) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < k->n_steps && st == CPL_OK; i++) {
    const step* s = &k->steps[i];
    st = s->jac != NULL ? cpli_jacobian_entries(s->jac, s->x, s->values)
         : s->l != NULL ? cpli_coupling_gradient(s->a, s->l)
                        : cpli_evaluate(s->a);
  }
  if (st != CPL_OK) return st;
  cpli_compressed* j = &k->d->j;
  memset(j->entries, 0, (size_t)j->first[j->n] * sizeof *j->entries);
  for (size_t i = 0; i < k->n_items; i++) {
    const item* t = &k->items[i];
    j->entries[t->entry] += t->from != NULL ? *t->from : t->constant;
  }
  return CPL_OK;
}

void cpli_aggregate_keep_guesses(cpl_model* m) {
  cpli_aggregate* a = cpli_as_aggregate(&m->base);
  if (a == NULL) return;
  memcpy(a->settled, a->value, (size_t)a->n_nodes * sizeof *a->value);
  for (int32_t k = 0; k < a->n_parts; k++) cpli_aggregate_keep_guesses(a->parts[k].m);
}

//------------------------------------ owners ------------------------------------

cpl_model* cpli_aggregate_owner(cpl_model* m, int32_t var, int32_t* local) {
  for (;;) {
    cpli_aggregate* a = cpli_as_aggregate(&m->base);
    *local = var;
    if (a == NULL) return m;
    int32_t k = var < a->n_part_vars ? cpli_part_of(a, var) : -1;
    if (k < 0 || a->node_of[var] >= 0) return NULL;
    for (int32_t i = 0; i < a->n_nodes; i++) {
      const cpli_node* node = &a->nodes[i];
      if (node->part == k && node->kind == CPLI_NODE_OUTPUT && !cpli_is_smooth(node)) return NULL;
    }
    m = a->parts[k].m;
    var -= a->parts[k].first_var;
  }
}
