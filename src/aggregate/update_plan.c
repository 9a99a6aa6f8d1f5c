// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of event updates in the data flow. An update of a component comes after its inputs are
// set and before its outputs are read; between updates only the values needed are computed.
// Vertices are the blocks of the plan for events and one update of each component. Where updates
// depend on each other the edges of continuous outputs are left out, so that discrete values still
// propagate in order through components that are coupled in both directions; remaining loops are
// cut at one update after the other.
#include <assert.h>
#include <stdlib.h>

#include "aggregate/aggregate.h"
#include "aggregate/updates.h"

typedef struct item {
  int32_t level, loop;          // in the graph of all edges; loop -1: none
  int32_t inner, inner_loop;    // in the graph without continuous outputs, inside a loop
  int32_t update;               // 1: the update of a component, 0: a block of values
  int32_t part, type, node, v;  // node: the first of a block
} item;

typedef struct lists {  // successors of each vertex
  int32_t *first, *to;
} lists;

typedef struct maker {
  cpli_aggregate* a;
  cpl_context* ctx;
  const cpli_eval_plan* events;
  cpli_updates* out;
  cpli_graph all, strong;
  cpli_blocks *loops, *inner;  // of those graphs
  item *items, *batch;
  int32_t n_items;
  int32_t *waiting, *position, *ready, *nodes, *loop_of;  // by vertex; place: in items, from 1
  lists next;                                             // in the graph `strong`
} maker;

//------------------------------------ edges ------------------------------------

static bool is_text(const cpli_node* node) {
  return node->type == CPL_STRING || node->type == CPL_BINARY;
}

static cpl_status edge(maker* k, int32_t from, int32_t to, bool strong) {
  if (from == to) return CPL_OK;
  cpl_status st = cpli_graph_edge(&k->all, from, to);
  return st >= 0 && strong ? cpli_graph_edge(&k->strong, from, to) : st;
}

// Ticks of clocks are visible before the update that ends them.
static cpl_status edges_of_node(maker* k, int32_t i) {
  const cpli_node* node = &k->a->nodes[i];
  int32_t block = k->events->blocks->block[i], update = k->events->blocks->n_blocks + node->part;
  if (node->part < 0 || node->fixed || is_text(node)) return CPL_OK;
  if (node->kind == CPLI_NODE_INPUT || node->type == CPL_CLOCK) return edge(k, block, update, true);
  const cpl_variable* v = &k->a->parts[node->part].m->base.desc->vars[node->var];
  return v->variability < CPL_VARIABILITY_DISCRETE ? CPL_OK
                                                   : edge(k, update, block, k->out->jumping[i]);
}

static cpl_status add_edges(maker* k, const cpli_graph* values) {
  const cpli_blocks* b = k->events->blocks;
  cpl_status st = CPL_OK;
  for (size_t e = 0; e < values->n_edges && st >= 0; e++)
    st = edge(k, b->block[values->from[e]], b->block[values->to[e]], true);
  for (int32_t i = 0; i < k->a->n_nodes && st >= 0; i++) st = edges_of_node(k, i);
  for (int32_t i = 0; i < k->a->n_texts && st >= 0; i++) {
    const cpli_coupling_edge* l = &k->a->links[k->a->texts[i]];
    st = edge(k, b->n_blocks + k->a->nodes[l->sources[0]].part,
              b->n_blocks + k->a->nodes[l->target].part, true);
  }
  return st;
}

static bool list_successors(maker* k) {
  const cpli_graph* g = &k->strong;
  k->next.first = cpli_alloc(k->ctx, (size_t)g->n + 2, sizeof(int32_t));
  k->next.to = cpli_alloc(k->ctx, g->n_edges, sizeof(int32_t));
  if (k->next.first == NULL || k->next.to == NULL) return false;
  for (size_t e = 0; e < g->n_edges; e++) k->next.first[g->from[e] + 2]++;
  for (int32_t v = 0; v < g->n; v++) k->next.first[v + 2] += k->next.first[v + 1];
  for (size_t e = 0; e < g->n_edges; e++) k->next.to[k->next.first[g->from[e] + 1]++] = g->to[e];
  return true;
}

//------------------------------------ steps ------------------------------------

static int by_order(const void* x, const void* y) {
  const int32_t *a = (const int32_t*)x, *b = (const int32_t*)y;
  for (size_t i = 0; i < sizeof(item) / sizeof *a; i++) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

static cpl_status add_loop(maker* k, int32_t block) {
  cpli_eval_plan* p = k->out->values;
  if (!cpli_grow(k->ctx, (void**)&p->ops, &p->cap_ops, p->n_ops, sizeof *p->ops))
    return cpli_nomem(k->ctx);
  p->ops[p->n_ops++] = (cpli_eval_op){.kind = CPLI_OP_LOOP, .part = -1, .first = k->loop_of[block]};
  return CPL_OK;
}

// Vertices that are independent of each other: their values, then their updates.
static cpl_status add_batch(maker* k, item* items, int32_t n) {
  cpli_updates* u = k->out;
  int32_t n_nodes = 0;
  cpl_status st = CPL_OK;
  cpli_sort(items, (size_t)n, sizeof *items, by_order);
  for (int32_t i = 0; i < n && st >= 0; i++) {
    if (items[i].update) u->parts[u->n_parts++] = items[i].part;
    else if (k->loop_of[items[i].v] >= 0) st = add_loop(k, items[i].v);
    else k->nodes[n_nodes++] = items[i].node;
  }
  if (st >= 0 && n_nodes > 0)
    st = cpli_plan_extend(k->a, u->values, u->values->n_ops, k->nodes, (size_t)n_nodes);
  if (st < 0) return st;
  if (!cpli_grow(k->ctx, (void**)&u->steps, &u->cap_steps, u->n_steps, sizeof *u->steps))
    return cpli_nomem(k->ctx);
  u->steps[u->n_steps++] = (cpli_update_step){u->values->n_ops, u->n_parts};
  return CPL_OK;
}

// Per vertex: number of predecessors in its own loop.
static void count_waiting(maker* k, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end; i++) k->position[k->items[i].v] = i + 1;
  for (int32_t i = begin; i < end; i++) {
    int32_t v = k->items[i].v;
    for (int32_t e = k->next.first[v]; e < k->next.first[v + 1]; e++)
      k->waiting[k->next.to[e]] += k->position[k->next.to[e]] > 0;
  }
}

// Appends the vertices that become ready after these.
static int32_t next_batch(maker* k, int32_t n) {
  int32_t n_ready = 0;
  for (int32_t i = 0; i < n; i++) {
    int32_t v = k->batch[i].v;
    for (int32_t e = k->next.first[v]; e < k->next.first[v + 1]; e++) {
      int32_t w = k->next.to[e];
      if (k->position[w] > 0 && --k->waiting[w] == 0) k->ready[n_ready++] = k->position[w] - 1;
    }
  }
  for (int32_t i = 0; i < n_ready; i++) k->batch[i] = k->items[k->ready[i]];
  return n_ready;
}

// A loop, items[begin] to items[end - 1]. Whenever no vertex is ready, the next component is
// updated with its current values.
static cpl_status add_cyclic(maker* k, int32_t begin, int32_t end) {
  cpl_status st = CPL_OK;
  int32_t n = 0;
  count_waiting(k, begin, end);
  for (int32_t cut = begin, left = end - begin; left > 0 && st >= 0; left -= n) {
    n = next_batch(k, n);
    for (; n == 0 && cut < end; cut++) {  // every cycle has an update
      if (k->items[cut].update && k->position[k->items[cut].v] > 0) k->batch[n++] = k->items[cut];
    }
    if (n == 0) break;
    for (int32_t i = 0; i < n; i++) k->position[k->batch[i].v] = 0;
    st = add_batch(k, k->batch, n);
  }
  return st;
}

static void list_items(maker* k) {
  const cpli_blocks *b = k->events->blocks, *all = k->loops, *strong = k->inner;
  int32_t n_blocks = b->n_blocks;
  for (int32_t v = 0; v < k->all.n; v++) {
    bool update = v >= n_blocks;
    int32_t node = update ? -1 : b->order[b->first[v]];
    if (!update && (k->a->nodes[node].fixed || is_text(&k->a->nodes[node]))) continue;
    int32_t outer = all->block[v], inner = strong->block[v];
    item it = {.level = all->level[outer], .loop = -1, .inner_loop = -1, .update = update, .v = v};
    if (all->n_torn[outer] > 0) {
      it.loop = outer;
      it.inner = strong->level[inner];
      if (strong->n_torn[inner] > 0) it.inner_loop = inner;
    }
    it.part = update ? v - n_blocks : k->a->nodes[node].part;
    it.type = update ? 0 : k->a->nodes[node].type;
    it.node = node;
    k->items[k->n_items++] = it;
  }
  cpli_sort(k->items, (size_t)k->n_items, sizeof *k->items, by_order);
}

static bool same_batch(const item* x, const item* y) {
  return x->level == y->level && x->loop == y->loop && x->inner == y->inner &&
         x->inner_loop == y->inner_loop;
}

static cpl_status add_steps(maker* k) {
  cpl_status st = CPL_OK;
  for (int32_t i = 0, j; i < k->n_items && st >= 0; i = j) {
    for (j = i + 1; j < k->n_items && same_batch(&k->items[i], &k->items[j]);) j++;
    st = k->items[i].inner_loop >= 0 ? add_cyclic(k, i, j) : add_batch(k, k->items + i, j - i);
  }
  return st;
}

//------------------------------------ make ------------------------------------

static bool allocate(maker* k, size_t n) {
  cpli_updates* u = k->out;
  u->values = cpli_alloc(k->ctx, 1, sizeof *u->values);
  if (u->values != NULL) u->values->ctx = k->ctx;
  u->parts = cpli_alloc(k->ctx, (size_t)k->a->n_parts, sizeof *u->parts);
  k->items = cpli_alloc(k->ctx, 2 * n, sizeof *k->items);
  k->waiting = cpli_alloc(k->ctx, 5 * n, sizeof *k->waiting);
  if (u->values == NULL || u->parts == NULL || k->items == NULL || k->waiting == NULL) return false;
  k->batch = k->items + n;
  k->position = k->waiting + n;
  k->ready = k->position + n;
  k->nodes = k->ready + n;
  k->loop_of = k->nodes + n;
  for (size_t i = 0; i < n; i++) k->loop_of[i] = -1;
  for (size_t i = 0; i < k->events->n_loops; i++)
    k->loop_of[cpli_loop_block(k->events->loops[i])] = (int32_t)i;
  return true;
}

// Discrete values, and those computed from one, jump without a jump of a state. The outputs of a
// composite may depend on discrete values of its components.
static bool may_jump(const cpli_aggregate* a, const cpli_node* node) {
  if (!cpli_is_smooth(node)) return true;
  if (node->kind != CPLI_NODE_OUTPUT || !a->parts[node->part].composite) return false;
  return !a->is_state[a->parts[node->part].first_var + node->var];
}

static cpl_status mark_jumping(maker* k, const cpli_graph* values) {
  const cpli_aggregate* a = k->a;
  k->out->jumping = cpli_alloc(k->ctx, (size_t)a->n_nodes, sizeof *k->out->jumping);
  if (k->out->jumping == NULL) return cpli_nomem(k->ctx);
  for (int32_t i = 0; i < a->n_nodes; i++) k->out->jumping[i] = may_jump(a, &a->nodes[i]);
  return cpli_graph_reach(values, k->out->jumping);
}

#ifdef NDEBUG
#define check_updates(k) ((void)0)
#else
// updates invariants: 1 each component is updated once in a round; 2 steps are consecutive ranges
// of all operations and all updates; 3 every loop is solved once.
static void check_updates(const maker* k) {
  const cpli_updates* u = k->out;
  cpli_update_step last = {0};
  size_t loops = 0;
  bool* updated = calloc((size_t)k->a->n_parts + 1, sizeof *updated);
  assert(u->n_parts == k->a->n_parts);
  for (int32_t i = 0; i < u->n_parts && updated != NULL; i++) {
    assert(u->parts[i] >= 0 && u->parts[i] < k->a->n_parts && !updated[u->parts[i]]);
    updated[u->parts[i]] = true;
  }
  for (size_t i = 0; i < u->n_steps; i++) {
    assert(u->steps[i].end_op >= last.end_op && u->steps[i].end_part >= last.end_part);
    last = u->steps[i];
  }
  assert(last.end_op == u->values->n_ops && last.end_part == u->n_parts);
  for (size_t i = 0; i < u->values->n_ops; i++) loops += u->values->ops[i].kind == CPLI_OP_LOOP;
  assert(loops == k->events->n_loops);
  free(updated);
}
#endif

static cpl_status make(maker* k, const cpli_graph* values) {
  if (!allocate(k, (size_t)k->all.n)) return cpli_nomem(k->ctx);
  cpl_status st = mark_jumping(k, values);
  if (st >= 0) st = add_edges(k, values);
  if (st >= 0) st = cpli_blocks_find(&k->all, NULL, &k->loops);
  if (st >= 0) st = cpli_blocks_find(&k->strong, NULL, &k->inner);
  if (st >= 0 && !list_successors(k)) st = cpli_nomem(k->ctx);
  if (st < 0) return st;
  list_items(k);
  st = add_steps(k);
  if (st < 0) return st;
  check_updates(k);
  k->out->done = cpli_alloc(k->ctx, k->out->values->n_ops, sizeof *k->out->done);
  return k->out->done != NULL ? CPL_OK : cpli_nomem(k->ctx);
}

cpl_status cpli_updates_make(cpli_aggregate* a, const cpli_eval_plan* events,
                             const cpli_graph* values, cpli_updates** out) {
  cpl_context* ctx = a->base.base.ctx;
  *out = NULL;
  maker k = {.a = a, .ctx = ctx, .events = events, .out = cpli_alloc(ctx, 1, sizeof **out)};
  if (k.out == NULL) return cpli_nomem(ctx);
  k.out->ctx = ctx;
  int32_t n = events->blocks->n_blocks + a->n_parts;
  cpli_graph_init(&k.all, ctx, n);
  cpli_graph_init(&k.strong, ctx, n);
  cpl_status st = make(&k, values);
  cpli_graph_free(&k.all);
  cpli_graph_free(&k.strong);
  cpli_blocks_destroy(k.loops);
  cpli_blocks_destroy(k.inner);
  cpli_free(ctx, k.items);
  cpli_free(ctx, k.waiting);
  cpli_free(ctx, k.next.first);
  cpli_free(ctx, k.next.to);
  if (st < 0) cpli_updates_destroy(k.out);
  else *out = k.out;
  return st;
}

void cpli_updates_destroy(cpli_updates* u) {
  if (u == NULL) return;
  cpli_plan_destroy(u->values);
  cpli_free(u->ctx, u->steps);
  cpli_free(u->ctx, u->parts);
  cpli_free(u->ctx, u->done);
  cpli_free(u->ctx, u->jumping);
  cpli_free(u->ctx, u);
}
