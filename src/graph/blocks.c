// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tarjan's algorithm for strongly connected components, without recursion. The nodes of a loop are
// ordered by repeated removal of those without predecessors; where none is left, one with many
// successors is torn. Edges are sorted first, so that the order of their addition has no effect.
#include "graph/blocks.h"

#include <assert.h>

//------------------------------------ graph ------------------------------------

void cpli_graph_init(cpli_graph* g, cpl_context* ctx, int32_t n) {
  *g = (cpli_graph){.ctx = ctx, .n = n};
}

void cpli_graph_free(cpli_graph* g) {
  if (g->ctx == NULL) return;
  cpli_free(g->ctx, g->from);
  cpli_free(g->ctx, g->to);
  *g = (cpli_graph){0};
}

cpl_status cpli_graph_edge(cpli_graph* g, int32_t from, int32_t to) {
  assert(from >= 0 && from < g->n && to >= 0 && to < g->n);
  if (!cpli_grow(g->ctx, (void**)&g->from, &g->cap_from, g->n_edges, sizeof *g->from) ||
      !cpli_grow(g->ctx, (void**)&g->to, &g->cap_to, g->n_edges, sizeof *g->to)) {
    return cpli_nomem(g->ctx);
  }
  g->from[g->n_edges] = from;
  g->to[g->n_edges++] = to;
  return CPL_OK;
}

// Successors (or predecessors) of every node, concatenated, each list in ascending order: the order
// in which edges were added has no effect.
typedef struct lists {
  int32_t *first, *item;
} lists;

// The edges in ascending order of `key`, those of equal keys in the order of `before` (NULL: of
// addition). count[n + 2] becomes the begin of each key.
static void sort_edges(const cpli_graph* g, const int32_t* key, const int32_t* before,
                       int32_t* count, int32_t* order) {
  for (size_t e = 0; e < g->n_edges; e++) count[key[e] + 2]++;
  for (int32_t i = 0; i < g->n; i++) count[i + 2] += count[i + 1];
  for (size_t i = 0; i < g->n_edges; i++) {
    int32_t e = before != NULL ? before[i] : (int32_t)i;
    order[count[key[e] + 1]++] = e;
  }
}

static bool lists_make(const cpli_graph* g, const int32_t* key, const int32_t* value, lists* out) {
  size_t n = (size_t)g->n + 2;
  out->first = cpli_alloc(g->ctx, n, sizeof *out->first);
  out->item = cpli_alloc(g->ctx, g->n_edges, sizeof *out->item);
  int32_t* scratch = cpli_alloc(g->ctx, n + g->n_edges, sizeof *scratch);
  bool fine = out->first != NULL && out->item != NULL && scratch != NULL;
  if (fine) {
    int32_t* by_value = scratch + n;
    sort_edges(g, value, NULL, scratch, by_value);
    sort_edges(g, key, by_value, out->first, out->item);
    for (size_t i = 0; i < g->n_edges; i++) out->item[i] = value[out->item[i]];
  }
  cpli_free(g->ctx, scratch);
  return fine;
}

static void lists_free(cpl_context* ctx, lists* l) {
  cpli_free(ctx, l->first);
  cpli_free(ctx, l->item);
}

cpl_status cpli_graph_reach(const cpli_graph* g, bool* marked) {
  lists next = {0};
  int32_t* stack = cpli_alloc(g->ctx, (size_t)g->n, sizeof *stack);
  bool good = stack != NULL && lists_make(g, g->from, g->to, &next);
  int32_t n = 0;
  for (int32_t v = 0; v < g->n && good; v++) {
    if (marked[v]) stack[n++] = v;
  }
  while (n > 0) {
    int32_t v = stack[--n];
    for (int32_t i = next.first[v]; i < next.first[v + 1]; i++) {
      int32_t w = next.item[i];
      if (marked[w]) continue;
      marked[w] = true;
      stack[n++] = w;
    }
  }
  lists_free(g->ctx, &next);
  cpli_free(g->ctx, stack);
  return good ? CPL_OK : cpli_nomem(g->ctx);
}

//------------------------------------ Tarjan ------------------------------------

// Without recursion: a chain of 100,000 models must not need a stack of that depth.
typedef struct search {
  lists next;
  int32_t *index, *low, *edge, *path, *stack;
  bool* on_stack;
  int32_t n_path, n_stack, counter;
} search;

static bool search_make(const cpli_graph* g, search* s) {
  size_t n = (size_t)g->n;
  s->index = cpli_alloc(g->ctx, 5 * n, sizeof *s->index);
  s->on_stack = cpli_alloc(g->ctx, n, sizeof *s->on_stack);
  if (s->index == NULL || s->on_stack == NULL) return false;
  s->low = s->index + n;
  s->edge = s->low + n;
  s->path = s->edge + n;
  s->stack = s->path + n;
  return lists_make(g, g->from, g->to, &s->next);
}

static void search_free(cpl_context* ctx, search* s) {
  lists_free(ctx, &s->next);
  cpli_free(ctx, s->index);
  cpli_free(ctx, s->on_stack);
}

static void enter(search* s, int32_t v) {
  s->index[v] = s->low[v] = ++s->counter;  // 0: not visited yet
  s->edge[v] = s->next.first[v];
  s->path[s->n_path++] = v;
  s->stack[s->n_stack++] = v;
  s->on_stack[v] = true;
}

// Blocks are found in reverse order; they are written from the end of order[].
static void leave(search* s, cpli_blocks* b, int32_t* free_place) {
  int32_t v = s->path[--s->n_path];
  if (s->n_path > 0) {
    int32_t above = s->path[s->n_path - 1];
    if (s->low[v] < s->low[above]) s->low[above] = s->low[v];
  }
  if (s->low[v] != s->index[v]) return;
  int32_t w;
  do {
    w = s->stack[--s->n_stack];
    s->on_stack[w] = false;
    b->block[w] = b->n_blocks;
    b->order[--*free_place] = w;
  } while (w != v);
  b->n_blocks++;
}

static void find_blocks(search* s, cpli_blocks* b) {
  int32_t free_place = b->n;
  for (int32_t root = b->n - 1; root >= 0; root--) {
    if (s->index[root] != 0) continue;
    enter(s, root);
    while (s->n_path > 0) {
      int32_t v = s->path[s->n_path - 1];
      if (s->edge[v] == s->next.first[v + 1]) {
        leave(s, b, &free_place);
        continue;
      }
      int32_t w = s->next.item[s->edge[v]++];
      if (s->index[w] == 0) enter(s, w);
      else if (s->on_stack[w] && s->index[w] < s->low[v]) s->low[v] = s->index[w];
    }
  }
  // number the blocks in their order, and find the begin of each
  for (int32_t i = 0; i < b->n; i++) b->block[i] = b->n_blocks - 1 - b->block[i];
  for (int32_t i = 0; i < b->n; i++) b->first[b->block[b->order[i]] + 1] = i + 1;
}

//------------------------------------ tearing ------------------------------------

// Orders a loop's nodes by repeated removal of those without remaining predecessors; when none is
// left, the node with the largest number of successors in the loop that may be torn is cut.
typedef struct tearing {
  const lists* next;
  int32_t* waiting;  // predecessors of a node in its loop that are not ordered yet
  int32_t* reach;    // successors in the loop
  int32_t* ready;
  int32_t* placed;  // the new order
  bool* done;
} tearing;

static void append_node(tearing* t, const cpli_blocks* b, int32_t v, int32_t* n_ready) {
  t->done[v] = true;
  for (int32_t e = t->next->first[v]; e < t->next->first[v + 1]; e++) {
    int32_t w = t->next->item[e];
    if (b->block[w] == b->block[v] && --t->waiting[w] == 0 && !t->done[w])
      t->ready[(*n_ready)++] = w;
  }
}

static void tear(tearing* t, cpli_blocks* b, int32_t k, const bool* may_tear) {
  int32_t begin = b->first[k], end = b->first[k + 1], n_ready = 0, torn = 0, ordered = 0,
          n = end - begin;
  for (int32_t i = begin; i < end; i++) {
    int32_t v = b->order[i];
    for (int32_t e = t->next->first[v]; e < t->next->first[v + 1]; e++) {
      int32_t w = t->next->item[e];
      if (b->block[w] != k) continue;
      t->waiting[w]++;
      t->reach[v]++;
    }
  }
  int32_t* cut = t->placed;          // torn nodes from the front,
  int32_t* rest = t->placed + b->n;  // others in a second half
  int32_t candidate = begin;         // only moves forward, which keeps this linear for rings
  while (torn + ordered < n) {
    while (n_ready > 0) {
      int32_t v = t->ready[--n_ready];
      if (t->done[v]) continue;
      rest[ordered++] = v;
      append_node(t, b, v, &n_ready);
    }
    if (torn + ordered == n) break;
    int32_t best = -1;
    for (int32_t i = candidate; i < end && (best < 0 || i < candidate + 64); i++) {
      int32_t v = b->order[i];
      if (t->done[v] || (may_tear != NULL && !may_tear[v])) continue;
      if (best < 0 || t->reach[v] > t->reach[best]) best = v;
    }
    while (candidate < end && t->done[b->order[candidate]]) candidate++;
    assert(best >= 0);
    if (best < 0) break;  // a cycle without a node that may be torn: excluded by the precondition
    cut[torn++] = best;
    append_node(t, b, best, &n_ready);
  }
  b->n_torn[k] = torn;
  memcpy(b->order + begin, cut, (size_t)torn * sizeof *cut);
  memcpy(b->order + begin + torn, rest, (size_t)ordered * sizeof *rest);
}

static cpl_status tear_loops(const cpli_graph* g, const search* s, cpli_blocks* b,
                             const bool* may_tear) {
  cpl_status st = CPL_OK;
  size_t n = (size_t)g->n;
  tearing t = {.next = &s->next};
  t.waiting = cpli_alloc(g->ctx, 5 * n, sizeof *t.waiting);
  t.done = cpli_alloc(g->ctx, n, sizeof *t.done);
  bool* self = cpli_alloc(g->ctx, n, sizeof *self);
  if (t.waiting == NULL || t.done == NULL || self == NULL) {
    st = cpli_nomem(g->ctx);
    goto done;
  }
  t.reach = t.waiting + n;
  t.ready = t.reach + n;
  t.placed = t.ready + n;
  for (size_t e = 0; e < g->n_edges; e++)
    self[g->from[e]] = self[g->from[e]] || g->from[e] == g->to[e];
  for (int32_t k = 0; k < b->n_blocks; k++) {
    if (b->first[k + 1] - b->first[k] > 1 || self[b->order[b->first[k]]]) tear(&t, b, k, may_tear);
  }
done:
  cpli_free(g->ctx, t.waiting);
  cpli_free(g->ctx, t.done);
  cpli_free(g->ctx, self);
  return st;
}

//------------------------------------ the whole ------------------------------------

static void find_levels(const lists* next, cpli_blocks* b) {
  for (int32_t i = 0; i < b->n; i++) {
    int32_t v = b->order[i], level = b->level[b->block[v]];
    for (int32_t e = next->first[v]; e < next->first[v + 1]; e++) {
      int32_t k = b->block[next->item[e]];
      if (k != b->block[v] && b->level[k] <= level) b->level[k] = level + 1;
    }
  }
}

// From the largest level that each may have.
static void lower_late_levels(const lists* next, cpli_blocks* b) {
  for (int32_t i = b->n - 1; i >= 0; i--) {
    int32_t v = b->order[i], mine = b->block[v];
    for (int32_t e = next->first[v]; e < next->first[v + 1]; e++) {
      int32_t k = b->block[next->item[e]];
      if (k != mine && b->late[mine] >= b->late[k]) b->late[mine] = b->late[k] - 1;
    }
  }
}

static void find_late_levels(const lists* next, cpli_blocks* b) {
  int32_t last = 0;
  for (int32_t k = 0; k < b->n_blocks; k++) last = b->level[k] > last ? b->level[k] : last;
  for (int32_t k = 0; k < b->n_blocks; k++) b->late[k] = last;
  lower_late_levels(next, b);
}

#ifdef NDEBUG
#define check_blocks(g, b, may_tear) ((void)0)
#else
// The invariants of graph/blocks.h; seen from the levels: 5 a block comes on a later level than
// those it depends on, both the early and the late one, and late is not before early.
static void check_blocks(const cpli_graph* g, const cpli_blocks* b, const bool* may_tear) {
  assert(b->first[0] == 0 && b->first[b->n_blocks] == b->n);
  for (int32_t k = 0; k < b->n_blocks; k++) {
    int32_t size = b->first[k + 1] - b->first[k];
    assert(size == 1 || (size > 1 && b->n_torn[k] > 0));                             // 3
    assert(b->n_torn[k] >= 0 && b->n_torn[k] <= size && b->level[k] <= b->late[k]);  // 5
    for (int32_t i = b->first[k]; i < b->first[k + 1]; i++) {
      int32_t v = b->order[i];
      assert(v >= 0 && v < b->n && b->position[v] == i && b->block[v] == k);  // 1
      if (i < b->first[k] + b->n_torn[k]) assert(may_tear == NULL || may_tear[v]);
    }
  }
  for (size_t e = 0; e < g->n_edges; e++) {
    int32_t from = b->block[g->from[e]], to = b->block[g->to[e]];
    if (from != to) assert(from < to);                                                     // 2
    if (from != to) assert(b->level[from] < b->level[to] && b->late[from] < b->late[to]);  // 5
    if (from == to && b->position[g->to[e]] >= b->first[to] + b->n_torn[to])
      assert(b->position[g->from[e]] < b->position[g->to[e]]);  // 4
  }
}
#endif

cpl_status cpli_blocks_find(const cpli_graph* g, const bool* may_tear, cpli_blocks** out) {
  cpl_status st = CPL_OK;
  search s = {0};
  size_t n = (size_t)g->n;
  *out = NULL;
  cpli_blocks* b = cpli_alloc(g->ctx, 1, sizeof *b);
  if (b == NULL) return cpli_nomem(g->ctx);
  *b = (cpli_blocks){.ctx = g->ctx, .n = g->n};
  b->order = cpli_alloc(g->ctx, 7 * n + 2, sizeof *b->order);
  if (b->order == NULL || !search_make(g, &s)) {
    st = cpli_nomem(g->ctx);
    goto done;
  }
  b->block = b->order + n;
  b->n_torn = b->block + n;
  b->level = b->n_torn + n;
  b->late = b->level + n;
  b->position = b->late + n;
  b->first = b->position + n;
  find_blocks(&s, b);
  st = tear_loops(g, &s, b, may_tear);
  if (st >= 0) {
    find_levels(&s.next, b);
    find_late_levels(&s.next, b);
  }
  for (int32_t i = 0; i < b->n; i++) b->position[b->order[i]] = i;
  if (st >= 0) check_blocks(g, b, may_tear);
done:
  search_free(g->ctx, &s);
  if (st < 0) cpli_blocks_destroy(b);
  else *out = b;
  return st;
}

cpl_status cpli_blocks_follow_late(const cpli_graph* g, cpli_blocks* b) {
  lists next = {0};
  const bool fine = lists_make(g, g->from, g->to, &next);
  if (fine) lower_late_levels(&next, b);
  lists_free(g->ctx, &next);
  if (fine) check_blocks(g, b, NULL);
  return fine ? CPL_OK : cpli_nomem(g->ctx);
}

void cpli_blocks_destroy(cpli_blocks* b) {
  if (b == NULL) return;
  cpli_free(b->ctx, b->order);
  cpli_free(b->ctx, b);
}
