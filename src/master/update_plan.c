// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Orders event updates along the data flow, as aggregate/update_plan.c does for models. An update
// of a part comes after its inputs are known and before its outputs are read. Vertices are the
// blocks of values and one update per part. Where updates depend on each other the edges from an
// update to continuous outputs are left out, so that discrete values still propagate in order
// through parts that are coupled in both directions; remaining loops are cut at one update after
// the other, those of parts that sample their inputs once per time last.
#include <stdlib.h>

#include "master/planning.h"

typedef struct item {
  int32_t level, loop;        // in the graph of all edges; loop -1: none
  int32_t inner, inner_loop;  // in the graph without continuous outputs, inside of a loop
  int32_t v;
} item;

typedef struct maker {
  cpli_planner* b;
  cpl_context* ctx;
  int32_t n, turn;
  int32_t* level;              // the result
  cpli_graph all, strong;      // of blocks
  cpli_blocks *loops, *inner;  // of those graphs
  item* items;
  int32_t *first, *to;               // successors of each vertex in `strong`
  int32_t *waiting, *member, *next;  // by vertex: how many it waits for, in which loop it is
} maker;

//------------------------------------ edges ------------------------------------

static cpl_status edge(maker* k, int32_t from, int32_t to, bool strong) {
  int32_t a = k->b->blocks->block[from], b = k->b->blocks->block[to];
  if (a == b) return CPL_OK;
  cpl_status st = cpli_graph_edge(&k->all, a, b);
  return st >= 0 && strong ? cpli_graph_edge(&k->strong, a, b) : st;
}

// Marks discrete values, and those that follow one without a step.
static cpl_status mark_discrete(const maker* k, bool* marked) {
  const cpli_master* m = k->b->m;
  for (int32_t o = 0; o < m->n_outs; o++) {
    const cpl_variable* v = &m->parts[m->outs[o].part].s->base.desc->vars[m->outs[o].var];
    marked[cpli_out_node(m, o)] =
        v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS;
  }
  return cpli_graph_reach(&k->b->graph, marked);
}

static cpl_status add_edges(maker* k, const bool* discrete) {
  const cpli_graph* values = &k->b->graph;
  const cpli_master* m = k->b->m;
  cpl_status st = CPL_OK;
  for (size_t e = 0; e < values->n_edges && st >= 0; e++)
    st = edge(k, values->from[e], values->to[e], true);
  for (int32_t i = 0; i < m->n_links && st >= 0; i++)
    st = edge(k, cpli_link_node(m, i), m->links[i].part, true);
  for (int32_t o = 0; o < m->n_outs && st >= 0; o++) {
    int32_t node = cpli_out_node(m, o);
    st = edge(k, m->outs[o].part, node, discrete[node]);
  }
  return st;
}

static cpl_status make_graphs(maker* k) {
  cpli_planner* b = k->b;
  int32_t nodes = b->m->n_parts + b->m->n_outs + b->m->n_links;
  bool* discrete = cpli_alloc(k->ctx, (size_t)nodes, sizeof *discrete);
  if (discrete == NULL) return cpli_nomem(k->ctx);
  b->declared_only = false;
  cpli_graph_init(&b->graph, k->ctx, nodes);
  cpl_status st = cpli_planner_edges(b);
  if (st >= 0) st = mark_discrete(k, discrete);
  if (st >= 0) st = add_edges(k, discrete);
  cpli_graph_free(&b->graph);
  cpli_free(k->ctx, discrete);
  if (st >= 0) st = cpli_blocks_find(&k->all, NULL, &k->loops);
  return st < 0 ? st : cpli_blocks_find(&k->strong, NULL, &k->inner);
}

static bool list_successors(maker* k) {
  const cpli_graph* g = &k->strong;
  k->first = cpli_alloc(k->ctx, (size_t)g->n + 2, sizeof *k->first);
  k->to = cpli_alloc(k->ctx, g->n_edges, sizeof *k->to);
  if (k->first == NULL || k->to == NULL) return false;
  for (size_t e = 0; e < g->n_edges; e++) k->first[g->from[e] + 2]++;
  for (int32_t v = 0; v < g->n; v++) k->first[v + 2] += k->first[v + 1];
  for (size_t e = 0; e < g->n_edges; e++) k->to[k->first[g->from[e] + 1]++] = g->to[e];
  return true;
}

//------------------------------------ order ------------------------------------

static bool is_update(const maker* k, int32_t v, bool samples) {
  const cpli_blocks* b = k->b->blocks;
  const cpli_master* m = k->b->m;
  int32_t node = b->order[b->first[v]];
  return node < m->n_parts && m->parts[node].samples == samples;
}

// Gives vertex v the next position; vertices of its loop that wait for nothing else become ready.
static int32_t take_turn(maker* k, int32_t v, int32_t n_ready) {
  int32_t loop = k->member[v];
  k->level[v] = k->turn++;
  k->member[v] = 0;
  for (int32_t e = k->first[v]; e < k->first[v + 1]; e++) {
    int32_t w = k->to[e];
    if (k->member[w] == loop && --k->waiting[w] == 0) k->next[n_ready++] = w;
  }
  return n_ready;
}

// Orders a loop. Whenever each vertex waits for another, the next part is updated with its present
// values.
static void order_loop(maker* k, const item* items, int32_t n) {
  int32_t mark = items[0].inner_loop + 1, n_ready = 0, at = 0;
  for (int32_t i = 0; i < n; i++) k->member[items[i].v] = mark;
  for (int32_t i = 0; i < n; i++) {
    int32_t v = items[i].v;
    for (int32_t e = k->first[v]; e < k->first[v + 1]; e++)
      k->waiting[k->to[e]] += k->member[k->to[e]] == mark;
  }
  for (int32_t cut = 0; cut < 2 * n; cut++) {  // every cycle has an update
    int32_t v = items[cut % n].v;
    if (k->member[v] == mark && is_update(k, v, cut >= n)) n_ready = take_turn(k, v, n_ready);
    while (at < n_ready) {
      v = k->next[at++];
      if (k->member[v] == mark) n_ready = take_turn(k, v, n_ready);
    }
  }
}

static int by_order(const void* x, const void* y) {
  const int32_t *a = (const int32_t*)x, *b = (const int32_t*)y;
  for (size_t i = 0; i < sizeof(item) / sizeof *a; i++) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

static bool same_turn(const item* x, const item* y) {
  return x->level == y->level && x->loop == y->loop && x->inner == y->inner &&
         x->inner_loop == y->inner_loop;
}

static void order_all(maker* k) {
  for (int32_t v = 0; v < k->n; v++) {
    int32_t outer = k->loops->block[v], inner = k->inner->block[v];
    bool loop = k->loops->n_torn[outer] > 0;
    k->items[v] = (item){.level = k->loops->level[outer],
                         .loop = loop ? outer : -1,
                         .inner = loop ? k->inner->level[inner] : 0,
                         .inner_loop = loop && k->inner->n_torn[inner] > 0 ? inner : -1,
                         .v = v};
  }
  qsort(k->items, (size_t)k->n, sizeof *k->items, by_order);
  for (int32_t i = 0, j; i < k->n; i = j) {
    for (j = i + 1; j < k->n && same_turn(&k->items[i], &k->items[j]);) j++;
    if (k->items[i].inner_loop >= 0) order_loop(k, k->items + i, j - i);
    for (int32_t l = i; l < j && k->items[i].inner_loop < 0; l++) k->level[k->items[l].v] = k->turn;
    k->turn++;
  }
}

cpl_status cpli_update_levels(cpli_planner* b, int32_t* level) {
  maker k = {.b = b, .ctx = b->m->base.base.ctx, .n = b->blocks->n_blocks, .level = level};
  cpli_graph_init(&k.all, k.ctx, k.n);
  cpli_graph_init(&k.strong, k.ctx, k.n);
  k.items = cpli_alloc(k.ctx, (size_t)k.n, sizeof *k.items);
  k.waiting = cpli_alloc(k.ctx, 3 * (size_t)k.n, sizeof *k.waiting);
  cpl_status st = k.items == NULL || k.waiting == NULL ? cpli_nomem(k.ctx) : make_graphs(&k);
  if (st >= 0 && !list_successors(&k)) st = cpli_nomem(k.ctx);
  if (st >= 0) {
    k.member = k.waiting + k.n;
    k.next = k.member + k.n;
    order_all(&k);
  }
  cpli_graph_free(&k.all);
  cpli_graph_free(&k.strong);
  cpli_blocks_destroy(k.loops);
  cpli_blocks_destroy(k.inner);
  cpli_free(k.ctx, k.items);
  cpli_free(k.ctx, k.waiting);
  cpli_free(k.ctx, k.first);
  cpli_free(k.ctx, k.to);
  return st;
}
