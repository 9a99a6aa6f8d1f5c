// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The order of a step. Nodes are the steps of parts, single outputs and single links. A part whose
// outputs follow its inputs without a step is stepped at any time and its outputs wait for its
// inputs; of any other part the step itself waits for the inputs that feed its outputs. The one
// part that may stop early and can neither be rolled back nor predict is stepped before those that
// predict and cannot be rolled back. Blocks of the same level do not need each other.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "master/planning.h"

static bool follows(const cpli_master* m, cpli_step_plan_kind kind, int32_t part) {
  return kind == CPLI_PLAN_INITIAL || m->parts[part].follows;
}

//------------------------------------ dependencies ------------------------------------

typedef cpl_status pair_fn(void* user, int32_t link, int32_t out, bool assumed);

// Indices by variable of a part.
typedef struct lookup {
  int32_t* link;  // into it, from 1; 0: none
  int32_t* row;   // of its structure, from 1; 0: none; -1: a state, which needs no input
} lookup;

static bool make_lookup(const cpli_master* m, const cpli_master_part* p, lookup* k) {
  const cpl_description* d = p->s->base.desc;
  k->link = cpli_alloc(m->base.base.ctx, 2 * (size_t)d->n_vars, sizeof *k->link);
  if (k->link == NULL) return false;
  k->row = k->link + d->n_vars;
  for (int32_t l = p->first_link; l < p->first_link + p->n_links; l++)
    k->link[m->links[l].var] = l + 1;
  for (int32_t i = 0; i < d->n_states; i++) {
    if (d->states[i] >= 0) k->row[d->states[i]] = -1;
  }
  for (int32_t i = 0; i < d->structure.n_outputs; i++) k->row[d->structure.outputs[i].var] = i + 1;
  return true;
}

// Every pair of a link into a part and an output of it that depends on it directly.
static cpl_status each_pair(cpli_master* m, const cpli_master_part* p, pair_fn* fn, void* user) {
  const cpl_structure* s = &p->s->base.desc->structure;
  lookup k;
  if (p->n_links == 0 || p->n_outs == 0) return CPL_OK;
  if (!make_lookup(m, p, &k)) return cpli_nomem(m->base.base.ctx);
  cpl_status st = CPL_OK;
  for (int32_t o = p->first_out; o < p->first_out + p->n_outs && st >= 0; o++) {
    int32_t row = k.row[m->outs[o].var];
    bool all = row == 0 || (row > 0 && s->outputs[row - 1].count < 0);
    for (int32_t l = p->first_link; l < p->first_link + p->n_links && all && st >= 0; l++)
      st = fn(user, l, o, true);
    for (int32_t i = 0; row > 0 && i < s->outputs[row - 1].count && st >= 0; i++) {
      int32_t l = k.link[s->deps[s->outputs[row - 1].first + i]];
      if (l > 0) st = fn(user, l - 1, o, false);
    }
  }
  cpli_free(m->base.base.ctx, k.link);
  return st;
}

// Outputs without connections count here, too: they may be recorded.
static cpl_status note_feeds(cpli_master* m, const cpli_master_part* p) {
  const cpl_structure* s = &p->s->base.desc->structure;
  lookup k;
  if (p->n_links == 0 || p->s->base.can.samples) return CPL_OK;
  if (!make_lookup(m, p, &k)) return cpli_nomem(m->base.base.ctx);
  bool all = false;
  for (int32_t o = p->first_out; o < p->first_out + p->n_outs; o++)
    all = all || k.row[m->outs[o].var] == 0;
  for (int32_t i = 0; i < s->n_outputs; i++) {
    // a clock ticks at events: at the end of a step it depends on no input
    bool clock = p->s->base.desc->vars[s->outputs[i].var].type == CPL_CLOCK;
    all = all || (s->outputs[i].count < 0 && !clock);
    for (int32_t j = 0; j < s->outputs[i].count; j++) {
      int32_t l = k.link[s->deps[s->outputs[i].first + j]];
      if (l > 0) m->links[l - 1].feeds = true;
    }
  }
  for (int32_t l = p->first_link; l < p->first_link + p->n_links && all; l++) {
    m->links[l].assumed = !m->links[l].feeds;
    m->links[l].feeds = true;
  }
  cpli_free(m->base.base.ctx, k.link);
  return CPL_OK;
}

static cpl_status link_to_out(void* user, int32_t link, int32_t out, bool assumed) {
  cpli_planner* b = user;
  if (assumed && b->declared_only) return CPL_OK;
  return cpli_graph_edge(&b->graph, cpli_link_node(b->m, link), cpli_out_node(b->m, out));
}

cpl_status cpli_planner_edges(cpli_planner* b) {
  cpli_master* m = b->m;
  bool steps = b->kind == CPLI_PLAN_STEP;
  cpl_status st = CPL_OK;
  for (int32_t o = 0; o < m->n_outs && st >= 0 && steps; o++)
    st = cpli_graph_edge(&b->graph, m->outs[o].part, cpli_out_node(m, o));
  for (int32_t i = 0; i < m->n_links && st >= 0; i++) {
    const cpli_master_link* l = &m->links[i];
    if (!l->delayed || !steps) {
      st = cpli_graph_edge(&b->graph, cpli_out_node(m, l->out), cpli_link_node(m, i));
    }
    if (st < 0 || !steps) continue;
    if (l->with_step && l->assumed && b->declared_only) continue;
    if (l->with_step) st = cpli_graph_edge(&b->graph, cpli_link_node(m, i), l->part);
    else if (m->parts[l->part].follows)
      st = cpli_graph_edge(&b->graph, l->part, cpli_link_node(m, i));
  }
  for (int32_t i = 0; i < m->n_links && st >= 0 && b->kind == CPLI_PLAN_INITIAL; i++) {
    const cpli_master_part* p = &m->parts[m->links[i].part];
    if (!m->links[i].parameter) continue;
    for (int32_t o = p->first_out; o < p->first_out + p->n_outs && st >= 0; o++)
      st = link_to_out(b, i, o, false);
  }
  for (int32_t p = 0; p < m->n_parts && st >= 0; p++) {
    if (follows(m, b->kind, p)) st = each_pair(m, &m->parts[p], link_to_out, b);
  }
  return st;
}

static bool is_last(const cpli_master_part* p) {
  return p->kind == CPLI_PREDICTS && !p->can_restore;
}

static cpl_status add_precedence(cpli_planner* b) {
  const cpli_master* m = b->m;
  cpl_status st = CPL_OK;
  for (int32_t p = 0; p < m->n_parts && st >= 0 && b->legacy >= 0; p++) {
    if (is_last(&m->parts[p])) st = cpli_graph_edge(&b->graph, b->legacy, p);
  }
  return st;
}

//------------------------------------ facts ------------------------------------

static cpl_status add_fact(cpli_master* m, cpl_master_fact kind, const char* text) {
  size_t n = m->n_facts[kind];
  const char* copy = cpli_arena_strdup(&m->arena, text);
  if ((n & (n - 1)) == 0) {  // full at every power of two
    const char** list = cpli_arena_alloc(&m->arena, n > 0 ? 2 * n : 1, sizeof *list);
    if (list == NULL) return cpli_nomem(m->base.base.ctx);
    if (n > 0) memcpy(list, m->facts[kind], n * sizeof *list);
    m->facts[kind] = list;
  }
  if (copy == NULL) return cpli_nomem(m->base.base.ctx);
  m->facts[kind][n] = copy;
  m->n_facts[kind] = n + 1;
  return CPL_OK;
}

//------------------------------------ the legacy part ------------------------------------

// The one part that may stop before the end of a step without notice and cannot be rolled back.
// With several of them no order helps: when one stops, the others may have passed an event.
static int32_t legacy_of(const cpli_master* m) {
  int32_t found = -1;
  for (int32_t p = 0; p < m->n_parts; p++) {
    if (m->parts[p].kind != CPLI_LEGACY) continue;
    if (found >= 0) return -1;
    found = p;
  }
  return found >= 0 && m->parts[found].s->base.can.stops_early ? found : -1;
}

static const char* first_last(const cpli_master* m) {
  for (int32_t p = 0; p < m->n_parts; p++) {
    if (is_last(&m->parts[p])) return m->parts[p].s->base.name;
  }
  return "";
}

static cpl_status delay_input(cpli_master* m, cpli_master_link* l) {
  char text[512], lag[64];
  l->with_step = false;
  if (!l->feeds) return CPL_OK;
  l->delayed = true;
  cpli_link_print(m, l, text, sizeof text);
  cpl_log(
      m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
      "%s lags one communication step%s behind: %s can stop early and neither be rolled back nor "
      "predict its steps, so it is stepped before those that predict and cannot be rolled back "
      "(%s); a shorter step makes the lag smaller",
      text, cpli_lag_print(m, lag, sizeof lag), m->parts[l->part].s->base.name, first_last(m));
  return add_fact(m, CPL_FACT_DELAYED, text);
}

// The step of the legacy part must not wait for the end of a step of a part that comes after it:
// such inputs are extrapolated. The graph has no precedence edges yet.
static cpl_status free_legacy(cpli_planner* b) {
  cpli_master* m = b->m;
  const cpli_master_part* p = &m->parts[b->legacy];
  bool* marked = cpli_alloc(m->base.base.ctx, (size_t)b->graph.n, sizeof *marked);
  if (marked == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < m->n_parts; i++) marked[i] = is_last(&m->parts[i]);
  cpl_status st = cpli_graph_reach(&b->graph, marked);
  bool cut = false;
  for (int32_t l = p->first_link; l < p->first_link + p->n_links && st >= 0; l++) {
    if (!m->links[l].with_step || !marked[cpli_link_node(m, l)]) continue;
    st = delay_input(m, &m->links[l]);
    cut = true;
  }
  cpli_free(m->base.base.ctx, marked);
  if (st < 0 || !cut) return st;
  int32_t n = b->graph.n;
  cpli_graph_free(&b->graph);
  cpli_graph_init(&b->graph, m->base.base.ctx, n);
  return cpli_planner_edges(b);
}

static cpl_status find_blocks(cpli_planner* b) {
  cpli_master* m = b->m;
  cpl_context* ctx = m->base.base.ctx;
  int32_t n = m->n_parts + m->n_outs + m->n_links;
  bool* may_tear = cpli_alloc(ctx, (size_t)n, sizeof *may_tear);
  if (may_tear == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < m->n_links; i++) may_tear[cpli_link_node(m, i)] = true;
  cpl_status st = CPL_OK;
  for (int pass = 0; pass < 2 && st >= 0; pass++) {
    b->declared_only = pass == 1;
    cpli_graph_init(&b->graph, ctx, n);
    st = cpli_planner_edges(b);
    if (st >= 0 && b->legacy >= 0 && pass == 0) st = free_legacy(b);
    if (st >= 0) st = add_precedence(b);
    if (st >= 0) st = cpli_blocks_find(&b->graph, may_tear, pass == 0 ? &b->blocks : &b->declared);
    cpli_graph_free(&b->graph);
  }
  cpli_free(ctx, may_tear);
  return st;
}

//------------------------------------ loops ------------------------------------

static void print_loop(const cpli_master* m, const cpli_blocks* bl, int32_t block, bool torn_only,
                       char* text, size_t size) {
  size_t used = 0;
  int32_t first = bl->first[block];
  int32_t n = torn_only ? bl->n_torn[block] : bl->first[block + 1] - first;
  text[0] = '\0';
  for (int32_t k = 0; k < n && used < size; k++) {
    int32_t link = bl->order[first + k] - m->n_parts - m->n_outs;
    if (link < 0) continue;
    if (used > 0) used += (size_t)snprintf(text + used, size - used, ", ");
    if (used < size) used += (size_t)cpli_link_print(m, &m->links[link], text + used, size - used);
  }
}

// The part in a loop that must be stepped and cannot be rolled back; NULL: the loop can be
// iterated.
static const cpli_master_part* stuck_in(const cpli_master* m, const cpli_blocks* bl,
                                        int32_t block) {
  for (int32_t k = bl->first[block]; k < bl->first[block + 1]; k++) {
    int32_t node = bl->order[k];
    if (node < m->n_parts && !m->parts[node].can_restore) return &m->parts[node];
  }
  return NULL;
}

static cpl_status delay_loop(cpli_master* m, const cpli_blocks* bl, int32_t block,
                             const cpli_master_part* stuck) {
  char text[1024], lag[64];
  cpl_status st = CPL_OK;
  print_loop(m, bl, block, true, text, sizeof text);
  cpli_lag_print(m, lag, sizeof lag);
  const char* lags = bl->n_torn[block] == 1 ? "s" : "";
  if (stuck != NULL) {
    cpl_log(
        m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
        "algebraic loop: %s lag%s one communication step%s behind: %s cannot be rolled back, so "
        "the loop cannot be solved; a shorter step makes the lag smaller",
        text, lags, lag, stuck->s->base.name);
  } else {
    cpl_log(m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
            "algebraic loop: %s lag%s one communication step%s behind (on-loop: delay)", text, lags,
            lag);
  }
  for (int32_t k = 0; k < bl->n_torn[block] && st >= 0; k++) {
    int32_t link = bl->order[bl->first[block] + k] - m->n_parts - m->n_outs;
    m->links[link].delayed = true;
    m->links[link].with_step = false;
    cpli_link_print(m, &m->links[link], text, sizeof text);
    st = add_fact(m, CPL_FACT_DELAYED, text);
  }
  return st;
}

// Treats a loop as the definition says. *cut: links were delayed, so that the graph has changed.
static cpl_status treat_loop(cpli_master* m, const cpli_blocks* bl, int32_t block, bool* cut) {
  const cpli_master_part* stuck = stuck_in(m, bl, block);
  cpl_context* ctx = m->base.base.ctx;
  char text[1024];
  print_loop(m, bl, block, false, text, sizeof text);
  switch (m->def.on_loop) {
    case CPL_LOOP_ERROR:
      return cpl_fail_in(ctx, CPL_ERR_INPUT, m->base.base.name, NULL, NAN, "algebraic loop over %s",
                         text);
    case CPL_LOOP_ITERATE:
      if (stuck == NULL) return add_fact(m, CPL_FACT_LOOP, text);
      return cpl_fail_in(ctx, CPL_ERR_INPUT, m->base.base.name, NULL, NAN,
                         "the loop over %s cannot be iterated: %s cannot be rolled back", text,
                         stuck->s->base.name);
    case CPL_LOOP_AUTO:
      if (stuck == NULL) return add_fact(m, CPL_FACT_LOOP, text);
      break;
    case CPL_LOOP_DELAY: break;
  }
  *cut = true;
  return delay_loop(m, bl, block, stuck);
}

static cpl_status treat_loops(cpli_master* m, const cpli_blocks* bl, bool* cut) {
  cpl_status st = CPL_OK;
  size_t loops = m->n_facts[CPL_FACT_LOOP];
  for (int32_t i = 0; i < bl->n_blocks && st >= 0; i++) {
    if (bl->n_torn[i] > 0) st = treat_loop(m, bl, i, cut);
  }
  if (*cut) m->n_facts[CPL_FACT_LOOP] = loops;  // the next round finds the remaining ones
  return st;
}

//------------------------------------ operations ------------------------------------

typedef struct unit {  // unit of sorting: a block, or a node inside a loop
  int32_t level, kind, rank, part, item, block;
} unit;

static int by_level(const void* x, const void* y) {
  const unit *a = x, *b = y;
  if (a->level != b->level) return a->level < b->level ? -1 : 1;
  if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->part != b->part) return a->part < b->part ? -1 : 1;
  return a->item < b->item ? -1 : a->item > b->item;
}

static unit unit_of(const cpli_master* m, int32_t node, int32_t level) {
  if (node < m->n_parts)
    return (unit){level, CPLI_OP_STEP, (int32_t)m->parts[node].kind, node, node, -1};
  if (node < m->n_parts + m->n_outs) {
    int32_t out = node - m->n_parts;
    return (unit){level, CPLI_OP_GET, 0, m->outs[out].part, out, -1};
  }
  int32_t link = node - m->n_parts - m->n_outs;
  return (unit){level, CPLI_OP_SET, 0, m->links[link].part, link, -1};
}

typedef struct writer {
  const cpli_planner* b;
  cpli_step_plan* plan;
  int32_t n_items, cap_ops;
} writer;

static cpli_step_op* last_op(writer* w) {
  return w->plan->n_ops > 0 ? &w->plan->ops[w->plan->n_ops - 1] : NULL;
}

// Adjacent nodes of one kind and part become one call.
static void write_unit(writer* w, const unit* u, int32_t floor) {
  cpli_master* m = w->b->m;
  bool is_set = u->kind == CPLI_OP_SET, is_step = u->kind == CPLI_OP_STEP;
  if (is_step && w->b->kind != CPLI_PLAN_STEP && w->b->kind != CPLI_PLAN_EVENT) return;
  if (is_set && (!follows(m, w->b->kind, u->part) ||
                 (w->b->kind == CPLI_PLAN_STEP && m->links[u->item].with_step)))
    return;  // set by the step of its part
  cpli_step_op* op = w->plan->n_ops > floor ? last_op(w) : NULL;
  if (op == NULL || is_step || (int32_t)op->kind != u->kind || op->part != u->part ||
      op->level != u->level) {
    op = &w->plan->ops[w->plan->n_ops++];
    *op = (cpli_step_op){.kind = (cpli_step_op_kind)u->kind,
                         .level = u->level,
                         .part = u->part,
                         .first = w->n_items};
  }
  if (is_step) return;
  w->plan->items[w->n_items++] = u->item;
  op->n++;
}

// Whether a loop exists only because parts declare no dependencies.
static bool is_assumed(const cpli_planner* b, int32_t block) {
  for (int32_t k = b->blocks->first[block]; k < b->blocks->first[block + 1]; k++) {
    if (b->declared->n_torn[b->declared->block[b->blocks->order[k]]] > 0) return false;
  }
  return true;
}

// Torn links first, as unknowns; then the others in the order of the block, and the torn ones again
// where their parts have direct feedthrough.
static void write_loop(writer* w, const unit* u) {
  const cpli_blocks* bl = w->b->blocks;
  cpli_master* m = w->b->m;
  int32_t at = w->plan->n_ops++, first = bl->first[u->block], n_torn = bl->n_torn[u->block];
  w->plan->ops[at] = (cpli_step_op){.kind = CPLI_OP_LOOP, .level = u->level, .torn = w->n_items};
  for (int32_t k = 0; k < n_torn; k++)
    w->plan->items[w->n_items++] = bl->order[first + k] - m->n_parts - m->n_outs;
  for (int32_t k = 0; k < bl->first[u->block + 1] - first; k++) {
    unit one = unit_of(m, bl->order[first + k], u->level);
    write_unit(w, &one, at + 1);
  }
  w->plan->ops[at].n_torn = n_torn;
  w->plan->ops[at].assumed = is_assumed(w->b, u->block);
  w->plan->ops[at].n = w->plan->n_ops - at - 1;
  if (n_torn > m->max_torn) m->max_torn = n_torn;
}

#ifdef NDEBUG
#define check_plan(w) ((void)0)
#else
// plan invariants: 1 in plans with steps each part is stepped once; 2 each out is read once, and
// each link is set once unless the step of its part sets it; 3 levels do not descend; 4 where the
// plan is for a step or for values at one time: an out is read after the step of its part, and a
// link is set, or its part stepped with it, after its source is read, unless it is delayed or torn.
typedef struct positions {  // of operations, from 1; 0: none
  int32_t *step, *get, *set;
  bool* torn;
} positions;

static void note_op(const writer* w, int32_t i, const positions* at) {
  const cpli_step_op* op = &w->plan->ops[i];
  const int32_t* items = w->plan->items;
  const cpli_master* m = w->b->m;
  if (i > 0) assert(op[-1].level <= op->level);
  for (int32_t k = 0; k < op->n_torn; k++) at->torn[items[op->torn + k]] = true;
  if (op->kind == CPLI_OP_LOOP) assert(op->n_torn > 0 && i + op->n < w->plan->n_ops);
  if (op->kind == CPLI_OP_LOOP) return;
  assert(op->part >= 0 && op->part < m->n_parts);
  if (op->kind == CPLI_OP_STEP) assert(at->step[op->part] == 0);
  if (op->kind == CPLI_OP_STEP) at->step[op->part] = i + 1;
  for (int32_t k = op->first; k < op->first + op->n; k++) {
    bool get = op->kind == CPLI_OP_GET;
    assert(items[k] >= 0 && items[k] < (get ? m->n_outs : m->n_links));
    assert((get ? m->outs[items[k]].part : m->links[items[k]].part) == op->part);
    int32_t* place = get ? &at->get[items[k]] : &at->set[items[k]];
    assert(*place == 0);
    *place = i + 1;
  }
}

static void check_order(const writer* w, const positions* at) {
  const cpli_master* m = w->b->m;
  bool steps = w->b->kind == CPLI_PLAN_STEP;
  for (int32_t o = 0; o < m->n_outs && steps; o++) assert(at->step[m->outs[o].part] < at->get[o]);
  for (int32_t i = 0; i < m->n_links; i++) {
    const cpli_master_link* l = &m->links[i];
    if (at->torn[i]) continue;
    if (steps && at->set[i] > 0) assert(at->step[l->part] < at->set[i]);
    if (steps && l->delayed) continue;
    if (at->set[i] > 0) assert(at->get[l->out] < at->set[i]);
    if (steps && l->with_step) assert(at->get[l->out] < at->step[l->part]);
  }
}

static void check_plan(const writer* w) {
  const cpli_master* m = w->b->m;
  cpli_step_plan_kind kind = w->b->kind;
  size_t np = (size_t)m->n_parts, no = (size_t)m->n_outs, nl = (size_t)m->n_links;
  positions at = {.step = calloc(np + no + nl + 1, sizeof(int32_t)), .torn = calloc(nl + 1, 1)};
  if (at.step != NULL && at.torn != NULL) {
    at.get = at.step + np;
    at.set = at.get + no;
    for (int32_t i = 0; i < w->plan->n_ops; i++) note_op(w, i, &at);
    bool steps = kind == CPLI_PLAN_STEP || kind == CPLI_PLAN_EVENT;
    for (size_t p = 0; p < np; p++) assert((at.step[p] > 0) == steps);
    for (size_t o = 0; o < no; o++) assert(at.get[o] > 0);
    for (size_t i = 0; i < nl; i++) {
      const cpli_master_link* l = &m->links[i];
      bool by_step = kind == CPLI_PLAN_STEP && l->with_step;
      assert((at.set[i] > 0) == (follows(m, kind, l->part) && !by_step));
    }
    if (kind != CPLI_PLAN_EVENT) check_order(w, &at);
  }
  free(at.step);
  free(at.torn);
}
#endif

// Blocks in the order of their levels.
static cpl_status write_plan(cpli_planner* b, const int32_t* level, cpli_step_plan* plan) {
  cpli_master* m = b->m;
  const cpli_blocks* bl = b->blocks;
  size_t n = (size_t)(m->n_parts + m->n_outs + m->n_links);
  cpl_context* ctx = m->base.base.ctx;
  unit* units = cpli_alloc(ctx, (size_t)bl->n_blocks, sizeof *units);
  plan->ops = cpli_arena_alloc(&m->arena, n + (size_t)bl->n_blocks, sizeof *plan->ops);
  plan->items = cpli_arena_alloc(&m->arena, 2 * n, sizeof *plan->items);
  plan->n_ops = 0;
  if (units == NULL || plan->ops == NULL || plan->items == NULL) {
    cpli_free(ctx, units);
    return cpli_nomem(ctx);
  }
  for (int32_t i = 0; i < bl->n_blocks; i++) {
    units[i] = unit_of(m, bl->order[bl->first[i]], level[i]);
    units[i].block = i;
    if (bl->n_torn[i] > 0) units[i].kind = CPLI_OP_LOOP;
  }
  qsort(units, (size_t)bl->n_blocks, sizeof *units, by_level);
  writer w = {.b = b, .plan = plan};
  for (int32_t i = 0; i < bl->n_blocks; i++) {
    if (units[i].kind == CPLI_OP_LOOP) write_loop(&w, &units[i]);
    else write_unit(&w, &units[i], 0);
  }
  check_plan(&w);
  cpli_free(ctx, units);
  return CPL_OK;
}

static cpl_status write_updates(cpli_planner* b, cpli_step_plan* plan) {
  cpli_master* m = b->m;
  int32_t* level = cpli_alloc(m->base.base.ctx, (size_t)b->blocks->n_blocks, sizeof *level);
  cpl_status st = level != NULL ? cpli_update_levels(b, level) : cpli_nomem(m->base.base.ctx);
  if (st >= 0) st = write_plan(b, level, plan);
  cpli_free(m->base.base.ctx, level);
  if (st < 0) return st;
  plan->done = cpli_arena_alloc(&m->arena, (size_t)plan->n_ops, sizeof *plan->done);
  return plan->done != NULL ? CPL_OK : cpli_nomem(m->base.base.ctx);
}

// Loops are treated once, in the plan of steps; at a communication point and in initialisation
// values follow without a step, so that every remaining loop can be solved.
static cpl_status make_plan(cpli_master* m, cpli_step_plan_kind kind) {
  cpl_status st = CPL_OK;
  for (bool cut = true; cut && st >= 0;) {
    cpli_planner b = {.m = m, .kind = kind, .legacy = kind == CPLI_PLAN_STEP ? legacy_of(m) : -1};
    cut = false;
    st = find_blocks(&b);
    if (st >= 0 && kind == CPLI_PLAN_STEP) st = treat_loops(m, b.blocks, &cut);
    if (st >= 0 && !cut && kind != CPLI_PLAN_EVENT)
      st = write_plan(&b, b.blocks->level, &m->plans[kind]);
    if (st >= 0 && kind == CPLI_PLAN_EVENT) st = write_updates(&b, &m->plans[kind]);
    cpli_blocks_destroy(b.blocks);
    cpli_blocks_destroy(b.declared);
  }
  return st;
}

//------------------------------------ the algorithms ------------------------------------

static bool must_wait(const cpli_master* m, const cpli_master_link* l) {
  return l->feeds && !m->parts[l->part].follows;
}

static cpl_status blocks_of_parts(cpli_master* m, bool waiting_only, cpli_blocks** out) {
  cpli_graph g;
  cpl_status st = CPL_OK;
  cpli_graph_init(&g, m->base.base.ctx, m->n_parts);
  for (int32_t i = 0; i < m->n_links && st >= 0; i++) {
    const cpli_master_link* l = &m->links[i];
    if (!waiting_only || must_wait(m, l)) st = cpli_graph_edge(&g, m->outs[l->out].part, l->part);
  }
  if (st >= 0) st = cpli_blocks_find(&g, NULL, out);
  cpli_graph_free(&g);
  return st;
}

// Gauss-Seidel: parts in the order of their links; a link against that order carries the value of
// the previous step. Among parts that depend on each other, links that feed outputs directly
// decide.
static cpl_status order_parts(cpli_master* m, int64_t* position) {
  cpli_blocks *all = NULL, *waiting = NULL;
  cpl_status st = blocks_of_parts(m, false, &all);
  if (st >= 0) st = blocks_of_parts(m, true, &waiting);
  for (int32_t p = 0; p < m->n_parts && st >= 0; p++)
    position[p] = (int64_t)all->block[p] * m->n_parts + waiting->position[p];
  cpli_blocks_destroy(all);
  cpli_blocks_destroy(waiting);
  return st;
}

// Jacobi: reports how many links lag, and the first of them.
static cpl_status report_lags(cpli_master* m) {
  enum { MAX_NAMED = 3 };
  size_t n = m->n_facts[CPL_FACT_DELAYED], used = 0;
  char names[1024] = "", lag[64];
  for (size_t i = 0; i < n && i < MAX_NAMED && used < sizeof names; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "",
                             m->facts[CPL_FACT_DELAYED][i]);
  if (n == 0) return CPL_OK;
  cpl_log(
      m->base.base.ctx, CPL_LOG_WARNING, m->base.base.name,
      "jacobi: %zu input%s that outputs depend on directly lag%s one communication step%s behind: "
      "%s%s; algorithm: determinate does not lag",
      n, n == 1 ? "" : "s", n == 1 ? "s" : "", cpli_lag_print(m, lag, sizeof lag), names,
      n > MAX_NAMED ? ", ..." : "");
  return CPL_OK;
}

static cpl_status choose_links(cpli_master* m) {
  int64_t* position = cpli_alloc(m->base.base.ctx, (size_t)m->n_parts, sizeof *position);
  if (position == NULL) return cpli_nomem(m->base.base.ctx);
  cpl_status st = m->def.algorithm == CPL_MASTER_GAUSS_SEIDEL ? order_parts(m, position) : CPL_OK;
  for (int32_t i = 0; i < m->n_links && st >= 0; i++) {
    cpli_master_link* l = &m->links[i];
    bool feeds = must_wait(m, l);
    bool forward = position[m->outs[l->out].part] < position[l->part];
    switch (m->def.algorithm) {
      case CPL_MASTER_DETERMINATE: l->with_step = feeds; break;
      case CPL_MASTER_JACOBI: break;
      case CPL_MASTER_GAUSS_SEIDEL: l->with_step = feeds || forward; break;
      case CPL_MASTER_ITERATIVE: l->with_step = true; break;
    }
    if (m->parts[l->part].s->base.can.samples) l->with_step = false;
    bool asked = m->def.algorithm == CPL_MASTER_ITERATIVE ||
                 (m->def.algorithm == CPL_MASTER_GAUSS_SEIDEL && forward);
    l->assumed = l->assumed && !asked;
    char text[512];
    if (m->def.algorithm != CPL_MASTER_JACOBI || !feeds) continue;
    cpli_link_print(m, l, text, sizeof text);
    st = add_fact(m, CPL_FACT_DELAYED, text);
  }
  cpli_free(m->base.base.ctx, position);
  return st < 0 || m->def.algorithm != CPL_MASTER_JACOBI ? st : report_lags(m);
}

// A part that is stepped after one that cannot be rolled back is probed beforehand.
static cpl_status find_probes(cpli_master* m) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_STEP];
  bool after = false;
  m->probes = cpli_arena_alloc(&m->arena, (size_t)m->n_parts, sizeof *m->probes);
  if (m->probes == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < plan->n_ops; i++) {
    if (plan->ops[i].kind == CPLI_OP_LOOP) m->iterates = true;
    if (plan->ops[i].kind != CPLI_OP_STEP) continue;
    const cpli_master_part* p = &m->parts[plan->ops[i].part];
    if (!p->can_restore) after = true;
    else if (after && p->kind == CPLI_ROLLS_BACK) m->probes[m->n_probes++] = plan->ops[i].part;
  }
  return CPL_OK;
}

// Parts that sample their inputs once per time wait for those that are updated before them.
static void rank_parts(cpli_master* m) {
  const cpli_step_plan* plan = &m->plans[CPLI_PLAN_EVENT];
  for (int32_t i = 0; i < plan->n_ops; i++) {
    if (plan->ops[i].kind != CPLI_OP_STEP) continue;
    cpli_master_part* p = &m->parts[plan->ops[i].part];
    p->rank = i;
    m->samples = m->samples || p->samples;
  }
}

cpl_status cpli_master_plan(cpli_master* m) {
  cpl_status st = CPL_OK;
  for (int32_t p = 0; p < m->n_parts && st >= 0; p++) st = note_feeds(m, &m->parts[p]);
  if (st >= 0) st = choose_links(m);
  if (st >= 0) st = make_plan(m, CPLI_PLAN_STEP);
  if (st >= 0) st = make_plan(m, CPLI_PLAN_SETTLE);
  if (st >= 0) st = make_plan(m, CPLI_PLAN_INITIAL);
  if (st >= 0) st = make_plan(m, CPLI_PLAN_EVENT);
  if (st >= 0) rank_parts(m);
  return st < 0 ? st : find_probes(m);
}
