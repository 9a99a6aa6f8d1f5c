// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of evaluation. Nodes are single inputs, outputs and signals; dependencies come from the
// couplings and from the structure of the components. Blocks of the same level are independent of
// each other, so all gets of one component on a level become one call, and so do all sets.
#include <assert.h>
#include <stdlib.h>

#include "aggregate/aggregate.h"
#include "aggregate/updates.h"
#include "model/sparsity.h"

static bool in_plan(const cpli_node* node, cpli_eval_plan_kind kind) {
  bool number = node->type != CPL_STRING && node->type != CPL_BINARY;
  if (node->fixed && kind != CPLI_PLAN_INITIAL) return false;
  return number && !(kind == CPLI_PLAN_CONTINUOUS && node->discrete);
}

//------------------------------------ dependencies ------------------------------------

typedef struct builder {
  cpli_aggregate* a;
  cpli_eval_plan_kind kind;
  cpli_graph graph;
  const cpl_unknown** row;   // of all variables of components; NULL: depends on everything
  int32_t* node_of;          // input node of each variable of components; -1: none
  int32_t* first_parameter;  // node of each component's first connected parameter; INT32_MAX: none
  bool* is_state;            // of all variables of components
} builder;

static cpl_status note_rows(builder* b) {
  cpl_context* ctx = b->a->base.base.ctx;
  size_t n = (size_t)b->a->n_part_vars;
  b->row = cpli_alloc(ctx, n, sizeof *b->row);
  b->node_of = cpli_alloc(ctx, n, sizeof *b->node_of);
  b->first_parameter = cpli_alloc(ctx, (size_t)b->a->n_parts, sizeof *b->first_parameter);
  b->is_state = cpli_alloc(ctx, n, sizeof *b->is_state);
  if (b->row == NULL || b->node_of == NULL || b->first_parameter == NULL || b->is_state == NULL)
    return cpli_nomem(ctx);
  for (int32_t k = 0; k < b->a->n_parts; k++) b->first_parameter[k] = INT32_MAX;
  for (size_t i = 0; i < n; i++) b->node_of[i] = -1;
  for (int32_t k = 0; k < b->a->n_parts; k++) {
    const cpli_part* part = &b->a->parts[k];
    const cpl_description* d = part->m->base.desc;
    const cpl_structure* s = &d->structure;
    for (int32_t i = 0; i < d->n_states; i++) {
      if (d->states[i] >= 0) b->is_state[part->first_var + d->states[i]] = true;
    }
    cpli_note_rows(d, s->derivatives, s->n_derivatives, b->row + part->first_var);
    cpli_note_rows(d, s->outputs, s->n_outputs, b->row + part->first_var);
    if (b->kind == CPLI_PLAN_INITIAL)
      cpli_note_rows(d, s->initial, s->n_initial, b->row + part->first_var);
  }
  for (int32_t i = 0; i < b->a->n_nodes; i++) {
    const cpli_node* node = &b->a->nodes[i];
    if (node->kind != CPLI_NODE_INPUT) continue;
    const cpli_part* part = &b->a->parts[node->part];
    b->node_of[part->first_var + cpli_root_variable(part->m->base.desc, node->var)] = i;
    if (node->parameter && i < b->first_parameter[node->part]) b->first_parameter[node->part] = i;
  }
  return CPL_OK;
}

static cpl_status edge_from_input(builder* b, int32_t input, int32_t output) {
  if (input < 0 || !in_plan(&b->a->nodes[input], b->kind)) return CPL_OK;
  return cpli_graph_edge(&b->graph, input, output);
}

// Descriptions do not list dependencies on parameters: they are assumed for everything that the
// component computes; for states before the run starts.
static cpl_status add_parameters(builder* b, int32_t i) {
  const cpli_node* node = &b->a->nodes[i];
  const cpli_part* part = &b->a->parts[node->part];
  cpl_status st = CPL_OK;
  bool initial = b->kind == CPLI_PLAN_INITIAL;
  if (b->first_parameter[node->part] == INT32_MAX) return CPL_OK;
  if (part->m->base.desc->vars[node->var].causality == CPL_CAUSALITY_PARAMETER) return CPL_OK;
  if (!initial && b->is_state[part->first_var + node->var]) return CPL_OK;
  for (int32_t k = b->first_parameter[node->part]; k < b->a->n_nodes && st >= 0; k++) {
    const cpli_node* other = &b->a->nodes[k];
    if (other->part != node->part || other->kind != CPLI_NODE_INPUT) break;
    if (other->parameter) st = edge_from_input(b, k, i);
  }
  return st;
}

static cpl_status add_output(builder* b, int32_t i) {
  const cpli_node* node = &b->a->nodes[i];
  const cpli_part* part = &b->a->parts[node->part];
  const cpl_description* d = part->m->base.desc;
  const cpl_unknown* row = b->row[part->first_var + cpli_root_variable(d, node->var)];
  cpl_status st = add_parameters(b, i);
  if (st < 0) return st;
  if (row == NULL && b->is_state[part->first_var + node->var]) return CPL_OK;
  if (row == NULL && d->vars[node->var].variability < CPL_VARIABILITY_DISCRETE)
    return CPL_OK;  // a parameter
  if (row != NULL && row->count >= 0 && !part->distrusted) {
    for (int32_t k = 0; k < row->count && st >= 0; k++) {
      int32_t var = cpli_root_variable(d, d->structure.deps[row->first + k]);
      st = edge_from_input(b, b->node_of[part->first_var + var], i);
    }
    return st;
  }
  for (int32_t var = 0; var < d->n_vars && st >= 0; var++) {
    st = edge_from_input(b, b->node_of[part->first_var + var], i);
  }
  return st;
}

static cpl_status add_link(builder* b, const cpli_coupling_edge* l) {
  cpl_status st = CPL_OK;
  if (!in_plan(&b->a->nodes[l->target], b->kind)) return CPL_OK;
  for (int32_t k = 0; k < l->n_sources && st >= 0; k++) {
    if (in_plan(&b->a->nodes[l->sources[k]], b->kind))
      st = cpli_graph_edge(&b->graph, l->sources[k], l->target);
  }
  return st;
}

static cpl_status find_blocks(builder* b, cpli_eval_plan* p) {
  cpli_aggregate* a = b->a;
  cpl_context* ctx = a->base.base.ctx;
  cpli_graph_init(&b->graph, ctx, a->n_nodes);
  bool* may_tear = cpli_alloc(ctx, (size_t)a->n_nodes, sizeof *may_tear);
  cpl_status st = may_tear != NULL ? note_rows(b) : cpli_nomem(ctx);
  for (int32_t i = 0; i < a->n_nodes && st >= 0; i++) {
    may_tear[i] = a->nodes[i].coupling >= 0;
    if (a->nodes[i].kind == CPLI_NODE_OUTPUT && in_plan(&a->nodes[i], b->kind))
      st = add_output(b, i);
  }
  for (int32_t i = 0; i < a->n_links && st >= 0; i++) st = add_link(b, &a->links[i]);
  if (st >= 0) st = cpli_blocks_find(&b->graph, may_tear, &p->blocks);
  cpli_free(ctx, may_tear);
  cpli_free(ctx, b->row);
  cpli_free(ctx, b->is_state);
  cpli_free(ctx, b->node_of);
  cpli_free(ctx, b->first_parameter);
  return st;
}

//------------------------------------ operations ------------------------------------

static bool add_op(cpli_eval_plan* p, cpli_eval_op op) {
  if (!cpli_grow(p->ctx, (void**)&p->ops, &p->cap_ops, p->n_ops, sizeof *p->ops)) return false;
  p->ops[p->n_ops++] = op;
  return true;
}

static bool add_node(const cpli_aggregate* a, cpli_eval_plan* p, int32_t node, bool set) {
  if (!cpli_grow(p->ctx, (void**)&p->nodes, &p->cap_nodes, p->n_nodes, sizeof *p->nodes) ||
      !cpli_grow(p->ctx, (void**)&p->refs, &p->cap_refs, p->n_nodes, sizeof *p->refs) ||
      !cpli_grow(p->ctx, (void**)&p->wires, &p->cap_wires, p->n_nodes, sizeof *p->wires)) {
    return false;
  }
  const cpli_coupling_edge* tie =
      a->nodes[node].coupling >= 0 ? &a->links[a->nodes[node].coupling] : NULL;
  bool plain = tie != NULL && tie->def.function.value == NULL;
  p->nodes[p->n_nodes] = node;
  p->refs[p->n_nodes] = a->nodes[node].ref;
  p->wires[p->n_nodes++] = plain && !set
                               ? (cpli_wire){tie->sources[0], tie->def.factor, tie->def.offset}
                               : (cpli_wire){.source = -1};
  return true;
}

/// Adds a node to the last operation when that is of the same kind, on the same component and not
/// older than `since`, else to a new one.
static bool extend(const cpli_aggregate* a, cpli_eval_plan* p, size_t since, cpli_eval_op_kind kind,
                   int32_t index) {
  const cpli_node* node = &a->nodes[index];
  bool on_part = kind == CPLI_OP_GET || kind == CPLI_OP_SET;
  cpli_eval_op* last = p->n_ops > since ? &p->ops[p->n_ops - 1] : NULL;
  bool same = last != NULL && last->kind == kind &&
              (!on_part || (last->part == node->part && last->type == node->type));
  if (!same) {
    cpli_eval_op op = {.kind = kind,
                       .part = on_part ? node->part : -1,
                       .type = node->type,
                       .first = (int32_t)p->n_nodes};
    if (!add_op(p, op)) return false;
  }
  p->ops[p->n_ops - 1].count++;
  return add_node(a, p, index, kind == CPLI_OP_SET);
}

static bool may_merge(const cpli_aggregate* a, int32_t node) {
  const cpli_node* k = &a->nodes[node];
  if (k->kind != CPLI_NODE_INPUT || k->type != CPL_REAL || k->coupling < 0) return false;
  return a->links[k->coupling].def.function.value == NULL;
}

cpl_status cpli_plan_extend(cpli_aggregate* a, cpli_eval_plan* p, size_t since,
                            const int32_t* nodes, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (a->nodes[nodes[i]].kind == CPLI_NODE_OUTPUT && !extend(a, p, since, CPLI_OP_GET, nodes[i]))
      return cpli_nomem(p->ctx);
  }
  for (size_t i = 0; i < 2 * n; i++) {  // those that a set can compute come last
    int32_t node = nodes[i % n];
    bool turn = may_merge(a, node) == (i >= n);
    if (turn && a->nodes[node].coupling >= 0 && !extend(a, p, since, CPLI_OP_COUPLE, node))
      return cpli_nomem(p->ctx);
  }
  for (size_t i = 0; i < n; i++) {
    if (a->nodes[nodes[i]].kind == CPLI_NODE_INPUT && !extend(a, p, since, CPLI_OP_SET, nodes[i]))
      return cpli_nomem(p->ctx);
  }
  return CPL_OK;
}

cpl_status cpli_plan_merge(cpli_aggregate* a, cpli_eval_plan* p) {
  int32_t* position =
      cpli_alloc(p->ctx, (size_t)a->n_nodes, sizeof *position);  // of its wire, plus one
  if (position == NULL) return cpli_nomem(p->ctx);
  for (size_t k = 0; k < p->n_ops; k++) {
    cpli_eval_op* op = &p->ops[k];
    int32_t end = op->first + op->count;
    while (op->kind == CPLI_OP_COUPLE && op->merged < op->count &&
           may_merge(a, p->nodes[end - 1 - op->merged]))
      position[p->nodes[end - 1 - op->merged]] = end - op->merged, op->merged++;
    for (int32_t i = op->first; op->kind == CPLI_OP_SET && i < end; i++) {
      if (position[p->nodes[i]] > 0) p->wires[i] = p->wires[position[p->nodes[i]] - 1];
    }
  }
  cpli_free(p->ctx, position);
  return CPL_OK;
}

//------------------------------------ levels ------------------------------------

typedef struct item {
  int32_t level, part, type, node, block;  // block >= 0: a loop
} item;

static cpl_status add_loop(cpli_aggregate* a, cpli_eval_plan* p, int32_t block) {
  if (!cpli_grow(p->ctx, (void**)&p->loops, &p->cap_loops, p->n_loops, sizeof *p->loops))
    return cpli_nomem(p->ctx);
  p->loops[p->n_loops] = NULL;
  cpli_eval_op op = {.kind = CPLI_OP_LOOP, .part = -1, .first = (int32_t)p->n_loops++};
  cpl_status st = cpli_loop_make(a, p, block, &p->loops[p->n_loops - 1]);
  if (st >= 0 && !add_op(p, op)) st = cpli_nomem(p->ctx);
  return st;
}

static int32_t key_of(const item* it, int pass) {
  return pass == 0 ? it->type : pass == 1 ? it->part + 1 : it->level;
}

// Stable, by one key that is not negative. start[] has room for all keys and two more.
static void sort_by(const item* from, size_t n, int pass, item* to, int32_t* start,
                    int32_t n_keys) {
  memset(start, 0, ((size_t)n_keys + 2) * sizeof *start);
  for (size_t i = 0; i < n; i++) start[key_of(&from[i], pass) + 1]++;
  for (int32_t k = 0; k < n_keys; k++) start[k + 1] += start[k];
  for (size_t i = 0; i < n; i++) to[start[key_of(&from[i], pass)]++] = from[i];
}

typedef struct sorter {
  item *items, *other;
  int32_t *start, n_start;
} sorter;

// Nodes outside of loops, and the loops, sorted by level, component, type and node.
static size_t list_items(const cpli_aggregate* a, const cpli_blocks* b, cpli_eval_plan_kind kind,
                         sorter* s) {
  size_t n = 0;
  for (int32_t node = 0; node < a->n_nodes; node++) {
    int32_t k = b->block[node];
    bool loop = b->n_torn[k] > 0;
    if (b->order[b->first[k]] != node || !in_plan(&a->nodes[node], kind)) continue;
    s->items[n++] = (item){b->level[k], loop ? -1 : a->nodes[node].part, a->nodes[node].type, node,
                           loop ? k : -1};
  }
  for (int pass = 0; pass < 3; pass++) {
    sort_by(s->items, n, pass, s->other, s->start, s->n_start);
    item* sorted = s->other;
    s->other = s->items;
    s->items = sorted;
  }
  return n;
}

static size_t count_calls(const cpli_aggregate* a, const item* items, size_t n) {
  size_t calls = 0;
  for (size_t i = 0, k; i < n; i = k) {
    bool get = false, set = false;
    for (k = i; k < n && items[k].level == items[i].level && items[k].part == items[i].part &&
                items[k].type == items[i].type;
         k++) {
      get = get || a->nodes[items[k].node].kind == CPLI_NODE_OUTPUT;
      set = set || a->nodes[items[k].node].kind == CPLI_NODE_INPUT;
    }
    if (items[i].part >= 0) calls += (size_t)get + (size_t)set;
  }
  return calls;
}

static void swap_levels(cpli_blocks* b) {
  int32_t* level = b->level;
  b->level = b->late;
  b->late = level;
}

// Inputs that only derivatives depend on, of components with other inputs on an earlier level: they
// are set together with these where they can be. Lowers late levels; *any: of some.
static cpl_status join_sets(builder* b, cpli_blocks* bl, bool* any) {
  const cpli_aggregate* a = b->a;
  const size_t n_nodes = (size_t)a->n_nodes;
  bool* leads = cpli_alloc(b->graph.ctx, n_nodes, sizeof *leads);              // somewhere
  int32_t* last = cpli_alloc(b->graph.ctx, (size_t)a->n_parts, sizeof *last);  // from 1; 0: none
  cpl_status st = leads != NULL && last != NULL ? CPL_OK : cpli_nomem(b->graph.ctx);
  for (size_t e = 0; e < b->graph.n_edges && st >= 0; e++) leads[b->graph.from[e]] = true;
  for (int32_t i = 0; i < a->n_nodes && st >= 0; i++) {
    const cpli_node* node = &a->nodes[i];
    const int32_t k = bl->block[i];
    if (node->kind != CPLI_NODE_INPUT || !leads[i] || bl->n_torn[k] > 0) continue;
    if (bl->late[k] >= last[node->part]) last[node->part] = bl->late[k] + 1;
  }
  *any = false;
  for (int32_t i = 0; i < a->n_nodes && st >= 0; i++) {
    const cpli_node* node = &a->nodes[i];
    const int32_t k = bl->block[i], to = node->part >= 0 ? last[node->part] - 1 : -1;
    if (node->kind != CPLI_NODE_INPUT || leads[i] || to < bl->level[k] || to >= bl->late[k])
      continue;
    bl->late[k] = to;
    *any = true;
  }
  cpli_free(b->graph.ctx, leads);
  cpli_free(b->graph.ctx, last);
  return st >= 0 && *any ? cpli_blocks_follow_late(&b->graph, bl) : st;
}

// A component that was set recomputes everything at the next get. So each value is computed as late
// as possible where that needs fewer calls than as early as possible.
static cpl_status choose_levels(builder* b, cpli_blocks* bl, sorter* s, size_t* n) {
  const cpli_aggregate* a = b->a;
  const size_t size = (size_t)bl->n_blocks * sizeof *bl->late;
  bool joined = false;
  *n = list_items(a, bl, b->kind, s);
  size_t early = count_calls(a, s->items, *n);
  swap_levels(bl);
  list_items(a, bl, b->kind, s);
  size_t late = count_calls(a, s->items, *n);
  swap_levels(bl);
  cpl_status st = CPL_OK;
  if (b->kind == CPLI_PLAN_CONTINUOUS) {
    int32_t* kept = cpli_alloc(b->graph.ctx, size, 1);
    st = kept != NULL ? CPL_OK : cpli_nomem(b->graph.ctx);
    if (st >= 0) memcpy(kept, bl->late, size);
    if (st >= 0) st = join_sets(b, bl, &joined);
    swap_levels(bl);
    if (st >= 0 && joined) list_items(a, bl, b->kind, s);
    const size_t together = st >= 0 && joined ? count_calls(a, s->items, *n) : late;
    swap_levels(bl);
    if (st >= 0 && !(together < late)) memcpy(bl->late, kept, size);
    if (together < late) late = together;
    cpli_free(b->graph.ctx, kept);
  }
  if (late < early) swap_levels(bl);
  list_items(a, bl, b->kind, s);
  return st;
}

static cpl_status schedule(builder* build, cpli_eval_plan* p) {
  cpli_aggregate* a = build->a;
  cpli_blocks* b = p->blocks;
  cpl_status st = CPL_OK;
  size_t n_blocks = (size_t)b->n_blocks, n = 0;
  item* room = cpli_alloc(p->ctx, 2 * n_blocks, sizeof *room);
  int32_t* nodes = cpli_alloc(p->ctx, n_blocks, sizeof *nodes);
  // keys: types, components, levels
  sorter s = {
      .items = room, .other = room != NULL ? room + n_blocks : NULL, .n_start = UINT8_MAX + 1};
  if (a->n_parts + 1 > s.n_start) s.n_start = a->n_parts + 1;
  if (b->n_blocks + 1 > s.n_start) s.n_start = b->n_blocks + 1;
  s.start = cpli_alloc(p->ctx, (size_t)s.n_start + 2, sizeof *s.start);
  if (room == NULL || nodes == NULL || s.start == NULL) st = cpli_nomem(p->ctx);
  if (st >= 0) st = choose_levels(build, b, &s, &n);
  const item* items = s.items;
  for (size_t i = 0; i < n && st >= 0;) {
    size_t count = 0, since = p->n_ops;
    int32_t level = items[i].level;
    for (; i < n && items[i].level == level && st >= 0; i++) {
      if (items[i].block >= 0) st = add_loop(a, p, items[i].block), since = p->n_ops;
      else nodes[count++] = items[i].node;
    }
    if (st >= 0) st = cpli_plan_extend(a, p, since, nodes, count);
  }
  cpli_free(p->ctx, room);
  cpli_free(p->ctx, nodes);
  cpli_free(p->ctx, s.start);
  return st;
}

static void find_rows(cpli_eval_plan* p) {
  for (size_t k = 0; k < p->n_ops; k++) {
    cpli_eval_op* op = &p->ops[k];
    op->in_row = (op->kind == CPLI_OP_GET || op->kind == CPLI_OP_SET) && op->type == CPL_REAL;
    for (int32_t i = op->first + 1; i < op->first + op->count && op->in_row; i++)
      op->in_row = p->nodes[i] == p->nodes[i - 1] + 1;
  }
}

// Components whose last operation is a set and not in a loop: all that their derivatives depend on
// is there after it.
static cpl_status plan_derivatives(const cpli_aggregate* a, cpli_eval_plan* p) {
  const cpli_blocks* b = p->blocks;
  bool* seen = cpli_alloc(p->ctx, (size_t)a->n_parts, sizeof *seen);
  p->derived = cpli_alloc(p->ctx, (size_t)a->n_parts, sizeof *p->derived);
  cpl_status st = seen != NULL && p->derived != NULL ? CPL_OK : cpli_nomem(p->ctx);
  for (size_t i = p->n_ops; i-- > 0 && st >= 0;) {
    cpli_eval_op* op = &p->ops[i];
    int32_t loop = op->kind == CPLI_OP_LOOP ? cpli_loop_block(p->loops[op->first]) : -1;
    for (int32_t k = loop >= 0 ? b->first[loop] : 0; loop >= 0 && k < b->first[loop + 1]; k++) {
      if (a->nodes[b->order[k]].part >= 0) seen[a->nodes[b->order[k]].part] = true;
    }
    if (op->part < 0 || seen[op->part]) continue;
    seen[op->part] = true;
    op->last = op->kind == CPLI_OP_SET && a->parts[op->part].n_states > 0;
    p->derived[op->part] = op->last;
  }
  p->derives_all = st >= 0;
  for (int32_t k = 0; k < a->n_parts && p->derives_all; k++)
    p->derives_all = p->derived[k] || a->parts[k].n_states == 0;
  cpli_free(p->ctx, seen);
  return st;
}

//------------------------------------ invariants ------------------------------------

#ifdef NDEBUG
#define check_plan(b, p) ((void)0)
#else
// plan invariants: 1 a get or set has nodes of one component and type, with their references; 2
// each node of the plan is read from its component, computed by its coupling and set once, and so
// is no other; 3 a value is there before an operation reads it.
static void check_op(const cpli_aggregate* a, const cpli_eval_plan* p, const cpli_eval_op* op,
                     int32_t at, int32_t* coupled, int32_t* written) {
  assert(op->first >= 0 && op->count > 0 && op->merged <= op->count);
  for (int32_t i = op->first; i < op->first + op->count; i++) {
    assert((size_t)i < p->n_nodes && p->nodes[i] >= 0 && p->nodes[i] < a->n_nodes);
    int32_t n = p->nodes[i];
    const cpli_node* node = &a->nodes[n];
    assert(op->kind == CPLI_OP_COUPLE || (op->part == node->part && op->type == node->type));
    assert(p->refs[i] == node->ref);
    switch (op->kind) {
      case CPLI_OP_GET: assert(node->kind == CPLI_NODE_OUTPUT && written[n] == 0); break;
      case CPLI_OP_SET:
        assert(node->kind == CPLI_NODE_INPUT && written[n] == 0);
        assert(node->coupling < 0 || coupled[n] > 0);
        break;
      default: assert(node->coupling >= 0 && coupled[n] == 0); coupled[n] = at;
    }
    if (op->kind != CPLI_OP_COUPLE || node->kind == CPLI_NODE_SIGNAL) written[n] = at;
  }
}

static void check_plan(const builder* b, const cpli_eval_plan* p) {
  const cpli_aggregate* a = b->a;
  const cpli_blocks* bl = p->blocks;
  int32_t* coupled = calloc(2 * (size_t)a->n_nodes + 1, sizeof *coupled);  // by which operation
  int32_t* written = coupled + a->n_nodes;
  for (size_t k = 0; k < p->n_ops && coupled != NULL; k++) {
    if (p->ops[k].kind != CPLI_OP_LOOP) {
      check_op(a, p, &p->ops[k], (int32_t)k + 1, coupled, written);
      continue;
    }
    int32_t block = cpli_loop_block(p->loops[p->ops[k].first]);
    for (int32_t i = bl->first[block]; i < bl->first[block + 1]; i++) {
      assert(written[bl->order[i]] == 0);
      written[bl->order[i]] = coupled[bl->order[i]] = (int32_t)k + 1;
    }
  }
  for (int32_t i = 0; i < a->n_nodes && coupled != NULL; i++) {
    bool from_outside = a->nodes[i].kind == CPLI_NODE_SIGNAL && a->nodes[i].coupling < 0;
    assert((written[i] > 0) == (in_plan(&a->nodes[i], b->kind) && !from_outside));
  }
  for (size_t e = 0; e < b->graph.n_edges && coupled != NULL; e++) {
    int32_t from = b->graph.from[e], to = b->graph.to[e];
    if (bl->block[from] == bl->block[to]) continue;  // in a loop
    bool reads = a->nodes[to].kind == CPLI_NODE_OUTPUT;
    assert(written[from] < (reads ? written[to] : coupled[to]));
  }
  free(coupled);
}
#endif

cpl_status cpli_plan_make(cpli_aggregate* a, cpli_eval_plan_kind kind, cpli_eval_plan** out) {
  cpl_context* ctx = a->base.base.ctx;
  *out = NULL;
  cpli_eval_plan* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  builder b = {.a = a, .kind = kind};
  cpl_status st = find_blocks(&b, p);
  if (st >= 0) st = schedule(&b, p);
  if (st >= 0) st = cpli_plan_merge(a, p);
  if (st >= 0) st = cpli_plan_batch(a, p);
  if (st >= 0) find_rows(p);
  if (st >= 0 && kind == CPLI_PLAN_CONTINUOUS) st = plan_derivatives(a, p);
  if (st >= 0) st = cpli_segments_make(a, p, kind == CPLI_PLAN_CONTINUOUS);
  if (st >= 0) check_plan(&b, p);
  if (st >= 0 && kind == CPLI_PLAN_EVENT) st = cpli_updates_make(a, p, &b.graph, &p->updates);
  cpli_graph_free(&b.graph);
  if (st < 0) cpli_plan_destroy(p);
  else *out = p;
  return st;
}

void cpli_plan_destroy(cpli_eval_plan* p) {
  if (p == NULL) return;
  for (size_t i = 0; i < p->n_loops; i++) cpli_loop_destroy(p->loops[i]);
  cpli_updates_destroy(p->updates);
  cpli_segments_free(p);
  cpli_blocks_destroy(p->blocks);
  cpli_free(p->ctx, p->ops);
  cpli_free(p->ctx, p->nodes);
  cpli_free(p->ctx, p->refs);
  cpli_free(p->ctx, p->wires);
  cpli_free(p->ctx, p->derived);
  cpli_free(p->ctx, p->batches);
  cpli_free(p->ctx, p->batch_sources);
  cpli_free(p->ctx, p->loops);
  cpli_free(p->ctx, p);
}
