// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Couplings of one operation are independent of each other. Those whose functions compute the same
// of different sources, as in a grid of equal models, are sorted into batches and evaluated by one
// call for many of them.
#include <assert.h>
#include <stdlib.h>

#include "aggregate/aggregate.h"

enum { SMALLEST = 4, MAX_SOURCES = 16 };  // of a batch

static const cpl_function* function_of(const cpli_aggregate* a, int32_t node) {
  return &a->links[a->nodes[node].coupling].def.function;  // value NULL: a plain coupling
}

//------------------------------------ make ------------------------------------

typedef struct item {
  cpl_status (*values)(void*, double, size_t, const double*, double*);
  int32_t alike, n_sources;
  int32_t group;  // position of the first that computes the same
  int32_t at;     // position in the operation
  int32_t node;
} item;

static bool same(const item* x, const item* y) {
  return x->alike == y->alike && x->values == y->values && x->n_sources == y->n_sources;
}

static int by_alike(const void* x, const void* y) {
  const item *a = x, *b = y;
  if (a->alike != b->alike) return a->alike < b->alike ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

static int by_group(const void* x, const void* y) {
  const item *a = x, *b = y;
  if (a->group != b->group) return a->group < b->group ? -1 : 1;
  return a->at < b->at ? -1 : a->at > b->at;
}

// Numbers depend on the order of the file, positions do not. Those without a batch come last.
static void find_groups(item* items, int32_t n) {
  cpli_sort(items, (size_t)n, sizeof *items, by_alike);
  for (int32_t i = 0, end; i < n; i = end) {
    for (end = i + 1; end < n && same(&items[i], &items[end]);) end++;
    bool batch = items[i].values != NULL && end - i >= SMALLEST;
    for (int32_t k = i; k < end; k++) items[k].group = batch ? items[i].at : INT32_MAX;
  }
  cpli_sort(items, (size_t)n, sizeof *items, by_group);
}

static cpl_status add_sources(cpli_aggregate* a, cpli_eval_plan* p, const item* items, int32_t n) {
  for (int32_t begin = 0; begin < n; begin += CPL_MAX_POINTS) {
    int32_t end = n - begin < CPL_MAX_POINTS ? n : begin + CPL_MAX_POINTS;
    for (int32_t k = 0; k < items[0].n_sources; k++) {
      for (int32_t i = begin; i < end; i++) {
        if (!cpli_grow(p->ctx, (void**)&p->batch_sources, &p->cap_batch_sources, p->n_batch_sources,
                       sizeof *p->batch_sources))
          return cpli_nomem(p->ctx);
        p->batch_sources[p->n_batch_sources++] =
            a->links[a->nodes[items[i].node].coupling].sources[k];
      }
    }
  }
  return CPL_OK;
}

// Gradients of linear functions may have parameters as factors, which differ from one to the other.
static bool all_linear(const cpli_aggregate* a, const item* items, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const cpli_coupling_edge* l = &a->links[a->nodes[items[i].node].coupling];
    if (!l->def.function.linear || l->def.function.gradient == NULL) return false;
    if (!cpli_is_smooth(&a->nodes[items[i].node])) return false;
    for (int32_t k = 0; k < l->n_sources; k++)
      if (cpli_is_held_node(a, &a->nodes[l->sources[k]])) return false;
  }
  return true;
}

static cpl_status add_batches(cpli_aggregate* a, cpli_eval_plan* p, cpli_eval_op* op,
                              const item* items, int32_t n) {
  cpl_status st = CPL_OK;
  op->first_batch = (int32_t)p->n_batches;
  for (int32_t i = 0, end; i < n && items[i].group < INT32_MAX && st >= 0; i = end) {
    for (end = i + 1; end < n && items[end].group == items[i].group;) end++;
    if (!cpli_grow(p->ctx, (void**)&p->batches, &p->cap_batches, p->n_batches, sizeof *p->batches))
      return cpli_nomem(p->ctx);
    p->batches[p->n_batches++] = (cpli_batch){op->first + i, end - i, (int32_t)p->n_batch_sources,
                                              all_linear(a, items + i, end - i)};
    op->n_batches++;
    st = add_sources(a, p, items + i, end - i);
  }
  return st;
}

// Returns the number of items that may be in a batch.
static int32_t list_items(const cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                          int32_t n, item* items) {
  int32_t fitting = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t node = p->nodes[op->first + i];
    const cpl_function* f = function_of(a, node);
    bool fits = f->values != NULL && f->alike != 0 && f->settle == NULL && f->n_sources > 0 &&
                f->n_sources <= MAX_SOURCES;
    items[i] = (item){.at = i, .node = node};
    if (!fits) continue;
    items[i].values = f->values;
    items[i].alike = f->alike;
    items[i].n_sources = f->n_sources;
    fitting++;
  }
  return fitting;
}

static cpl_status batch(cpli_aggregate* a, cpli_eval_plan* p, cpli_eval_op* op) {
  int32_t n = op->count - op->merged;
  if (n < SMALLEST) return CPL_OK;
  item* items = cpli_alloc(p->ctx, (size_t)n, sizeof *items);
  cpli_wire* wires = cpli_alloc(p->ctx, (size_t)n, sizeof *wires);
  cpl_status st = items != NULL && wires != NULL ? CPL_OK : cpli_nomem(p->ctx);
  if (st >= 0 && list_items(a, p, op, n, items) >= SMALLEST) {
    find_groups(items, n);
    memcpy(wires, p->wires + op->first, (size_t)n * sizeof *wires);
    for (int32_t i = 0; i < n; i++) {
      p->nodes[op->first + i] = items[i].node;
      p->refs[op->first + i] = a->nodes[items[i].node].ref;
      p->wires[op->first + i] = wires[items[i].at];
    }
    st = add_batches(a, p, op, items, n);
  }
  cpli_free(p->ctx, wires);
  cpli_free(p->ctx, items);
  return st;
}

cpl_status cpli_plan_batch(cpli_aggregate* a, cpli_eval_plan* p) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < p->n_ops && st >= 0; i++) {
    if (p->ops[i].kind == CPLI_OP_COUPLE) st = batch(a, p, &p->ops[i]);
  }
  return st;
}

//------------------------------------ use ------------------------------------

static cpl_status one_by_one(cpli_aggregate* a, const int32_t* nodes, int32_t n) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st == CPL_OK; i++)
    st = cpli_coupling_value(a, &a->links[a->nodes[nodes[i]].coupling], &a->value[nodes[i]]);
  return st;
}

cpl_status cpli_batch_evaluate(cpli_aggregate* a, const cpli_eval_plan* p, const cpli_batch* b) {
  double values[MAX_SOURCES * CPL_MAX_POINTS], out[CPL_MAX_POINTS];
  const cpl_function* f = function_of(a, p->nodes[b->first]);
  const int32_t* sources = p->batch_sources + b->sources;
  assert(f->n_sources <= MAX_SOURCES);
  for (int32_t begin = 0; begin < b->count; begin += CPL_MAX_POINTS) {
    const int32_t* nodes = p->nodes + b->first + begin;
    int32_t n = b->count - begin < CPL_MAX_POINTS ? b->count - begin : CPL_MAX_POINTS;
    cpli_gather(a, sources, f->n_sources * n, values);
    sources += f->n_sources * n;
    cpl_status st = f->values(f->user, a->t, (size_t)n, values, out);
    if (st == CPL_OK) {
      for (int32_t i = 0; i < n; i++) a->value[nodes[i]] = out[i];
      continue;
    }
    if (st == CPL_RETRY) st = one_by_one(a, nodes, n);
    if (st != CPL_OK) return st;
  }
  return CPL_OK;
}
