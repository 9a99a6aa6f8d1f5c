// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Components without a path between them do not need a common solver. The groups are found by
// union-find over couplings and events; then the aggregate is split into one model per group.
#include "aggregate/aggregate.h"

//------------------------------------ which parts belong together --------------------------------

static int32_t root(int32_t* parent, int32_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
}

static void join(int32_t* parent, int32_t i, int32_t k) {
  int32_t x = root(parent, i), y = root(parent, k);
  if (x < y) parent[y] = x;
  else parent[x] = y;
}

typedef struct finder {
  const cpli_aggregate* a;
  bool* shared;     // signals that may be copied
  int32_t* parent;  // of components, then signals
} finder;

// A function of time, parameters and inputs of the whole without memory may be computed in several
// groups. One with memory (a comparison, a table with jumps) would be changed by all of them.
static bool may_copy(const finder* f, const cpli_coupling_edge* l) {
  if (l->def.function.settle != NULL) return false;
  for (int32_t k = 0; k < l->n_sources; k++) {
    const cpli_node* from = &f->a->nodes[l->sources[k]];
    if (from->part >= 0 || !f->shared[from->var]) return false;
  }
  return true;
}

// In the order of evaluation, so that the sources of a signal are decided before it.
static void find_shared(finder* f) {
  const cpli_aggregate* a = f->a;
  const cpli_blocks* b = a->plans[CPLI_PLAN_EVENT]->blocks;
  for (int32_t i = 0; i < a->n_signals; i++) f->shared[i] = true;
  for (int32_t i = 0; i < a->n_outside; i++) {
    const cpl_external_event* e = &a->outside[i].def;
    for (int32_t k = 0; k < e->n_targets; k++) {
      if (e->targets[k].part < 0) f->shared[e->targets[k].var] = false;
    }
  }
  for (int32_t k = 0; k < b->n_blocks; k++) {
    for (int32_t i = b->first[k]; i < b->first[k + 1]; i++) {
      const cpli_node* node = &a->nodes[b->order[i]];
      if (node->part >= 0 || node->coupling < 0) continue;
      f->shared[node->var] = b->n_torn[k] == 0 && may_copy(f, &a->links[node->coupling]);
    }
  }
}

// The element of a node; -1: none, a shared signal.
static int32_t element(const finder* f, int32_t part, int32_t var) {
  if (part >= 0) return part;
  return f->shared[var] ? -1 : f->a->n_parts + var;
}

static void join_element(finder* f, int32_t e, int32_t* first) {
  if (e < 0) return;
  if (*first < 0) *first = e;
  join(f->parent, *first, e);
}

static void join_nodes(finder* f, const int32_t* nodes, int32_t n, int32_t* first) {
  for (int32_t i = 0; i < n; i++) {
    const cpli_node* node = &f->a->nodes[nodes[i]];
    join_element(f, element(f, node->part, node->var), first);
  }
}

static int32_t join_event(finder* f, const cpli_outside* o) {
  int32_t first = -1;
  join_nodes(f, o->condition, o->n_condition, &first);
  join_nodes(f, o->assign, o->n_assign, &first);
  for (int32_t k = 0; k < o->def.n_targets; k++)
    join_element(f, element(f, o->def.targets[k].part, o->def.targets[k].var), &first);
  if (o->def.condition.value == NULL && o->def.condition.n_sources > 0)
    join_element(f, element(f, -1, o->def.condition.sources[0].var), &first);
  return first;
}

// Numbers the groups. Signals and events without components go to the first group.
static void number(finder* f, cpli_groups* g) {
  const cpli_aggregate* a = f->a;
  for (int32_t i = 0; i < a->n_signals; i++) g->of_signal[i] = f->shared[i] ? -1 : 0;
  for (int32_t k = 0; k < a->n_parts; k++) {
    int32_t at = root(f->parent, k);  // the smallest of its group, so a component seen before
    g->of_part[k] = at == k ? g->n++ : g->of_part[at];
  }
  for (int32_t i = 0; i < a->n_signals; i++) {
    int32_t at = root(f->parent, a->n_parts + i);
    if (at < a->n_parts) g->of_signal[i] = g->of_part[at];
  }
  for (int32_t i = 0; i < a->n_outside; i++) {
    int32_t at = g->of_event[i] >= 0 ? root(f->parent, g->of_event[i]) : a->n_parts;
    g->of_event[i] = at < a->n_parts ? g->of_part[at] : 0;
  }
}

static void find(finder* f, cpli_groups* g) {
  const cpli_aggregate* a = f->a;
  for (int32_t i = 0; i < a->n_parts + a->n_signals; i++) f->parent[i] = i;
  find_shared(f);
  for (int32_t i = 0; i < a->n_links; i++) {
    const cpli_coupling_edge* l = &a->links[i];
    int32_t first = element(f, a->nodes[l->target].part, a->nodes[l->target].var);
    if (first >= 0) join_nodes(f, l->sources, l->n_sources, &first);
  }
  for (int32_t i = 0; i < a->n_outside; i++) g->of_event[i] = join_event(f, &a->outside[i]);
  number(f, g);
}

cpl_status cpli_groups_find(const cpli_aggregate* a, cpli_groups* out) {
  cpl_context* ctx = a->base.base.ctx;
  size_t parts = (size_t)a->n_parts, signals = (size_t)a->n_signals;
  finder f = {.a = a,
              .shared = cpli_alloc(ctx, signals, sizeof *f.shared),
              .parent = cpli_alloc(ctx, parts + signals, sizeof *f.parent)};
  *out = (cpli_groups){.ctx = ctx,
                       .of_part = cpli_alloc(ctx, parts, sizeof *out->of_part),
                       .of_signal = cpli_alloc(ctx, signals, sizeof *out->of_signal),
                       .of_event = cpli_alloc(ctx, (size_t)a->n_outside, sizeof *out->of_event)};
  bool fine = f.shared != NULL && f.parent != NULL && out->of_part != NULL &&
              out->of_signal != NULL && out->of_event != NULL;
  if (fine) find(&f, out);
  cpli_free(ctx, f.shared);
  cpli_free(ctx, f.parent);
  if (fine) return CPL_OK;
  cpli_groups_free(out);
  return cpli_nomem(ctx);
}

void cpli_groups_free(cpli_groups* g) {
  cpli_free(g->ctx, g->of_part);
  cpli_free(g->ctx, g->of_signal);
  cpli_free(g->ctx, g->of_event);
  g->of_part = g->of_signal = g->of_event = NULL;
}

//------------------------------------ one model a group ------------------------------------

// Items sorted by group: those of group g are items[first[g]] and following.
typedef struct sorted {
  int32_t *first, *items;
} sorted;

// Scratch while an aggregate is split; all in its arena.
typedef struct splitter {
  cpli_aggregate* a;
  cpli_groups groups;
  sorted parts, links, events, signals;
  int32_t* local;       // number of each signal in the current group
  int32_t* seen_in;     // the group it was numbered in; -1: none yet
  int32_t* local_part;  // number of each component in its group
  int32_t* used;        // signals of the current group, in the order of their numbers
  int32_t n_used;
  cpl_route* signal_refs;  // locations of signals, in the order of occurrence
  int32_t* signal_of;      // the signal of each location
  size_t n_refs, cap_refs, cap_of;
  bool no_memory;
} splitter;

static void* get(splitter* s, size_t n, size_t size) {
  void* memory = cpli_arena_alloc(&s->a->arena, n, size);
  if (memory == NULL) s->no_memory = true;
  return memory;
}

// group[i] < 0: in none.
static sorted sort(splitter* s, const int32_t* group, int32_t n) {
  sorted out = {get(s, (size_t)s->groups.n + 2, sizeof(int32_t)),
                get(s, (size_t)n, sizeof(int32_t))};
  if (s->no_memory) return out;
  int32_t* next = out.first + 1;  // finally one group ahead of its begin
  for (int32_t i = 0; i < n; i++) {
    if (group[i] >= 0) next[group[i] + 1]++;
  }
  for (int32_t g = 0; g < s->groups.n; g++) next[g + 1] += next[g];
  for (int32_t i = 0; i < n; i++) {
    if (group[i] >= 0) out.items[next[group[i]]++] = i;
  }
  return out;
}

static bool prepare(splitter* s) {
  cpli_aggregate* a = s->a;
  int32_t* of_link = get(s, (size_t)a->n_links, sizeof *of_link);
  s->local = get(s, (size_t)a->n_signals, sizeof *s->local);
  s->seen_in = get(s, (size_t)a->n_signals, sizeof *s->seen_in);
  s->used = get(s, (size_t)a->n_signals, sizeof *s->used);
  s->local_part = get(s, (size_t)a->n_parts, sizeof *s->local_part);
  if (s->no_memory) return false;
  for (int32_t i = 0; i < a->n_signals; i++) s->seen_in[i] = -1;
  for (int32_t i = 0; i < a->n_links; i++) {
    const cpli_node* to = &a->nodes[a->links[i].target];
    of_link[i] = to->part >= 0 ? s->groups.of_part[to->part] : s->groups.of_signal[to->var];
  }
  s->parts = sort(s, s->groups.of_part, a->n_parts);
  s->signals = sort(s, s->groups.of_signal, a->n_signals);
  s->links = sort(s, of_link, a->n_links);
  s->events = sort(s, s->groups.of_event, a->n_outside);
  return !s->no_memory;
}

// The number of a signal in group g, which uses it.
static int32_t use(splitter* s, int32_t g, int32_t signal) {
  if (s->seen_in[signal] == g) return s->local[signal];
  s->seen_in[signal] = g;
  s->used[s->n_used] = signal;
  return s->local[signal] = s->n_used++;
}

static cpl_port port_at(splitter* s, int32_t g, int32_t part, int32_t var) {
  return part >= 0 ? (cpl_port){s->local_part[part], var} : (cpl_port){-1, use(s, g, var)};
}

static const cpl_port* ports_at(splitter* s, int32_t g, const int32_t* nodes, int32_t n) {
  cpl_port* ports = get(s, (size_t)n, sizeof *ports);
  for (int32_t i = 0; i < n && !s->no_memory; i++) {
    const cpli_node* node = &s->a->nodes[nodes[i]];
    ports[i] = port_at(s, g, node->part, node->var);
  }
  return ports;
}

static cpl_coupling coupling_at(splitter* s, int32_t g, const cpli_coupling_edge* l) {
  cpl_coupling c = l->def;
  const cpli_node* to = &s->a->nodes[l->target];
  const cpl_port* ports = ports_at(s, g, l->sources, l->n_sources);
  c.target = port_at(s, g, to->part, to->var);
  if (c.function.value != NULL) c.function.sources = ports;
  else if (!s->no_memory) c.source = ports[0];
  return c;
}

static cpl_external_event event_at(splitter* s, int32_t g, const cpli_outside* o) {
  cpl_external_event e = o->def;
  cpl_port* targets = get(s, (size_t)e.n_targets, sizeof *targets);
  e.targets = targets;
  for (int32_t k = 0; k < e.n_targets && !s->no_memory; k++)
    targets[k] = port_at(s, g, o->def.targets[k].part, o->def.targets[k].var);
  if (e.condition.value != NULL) e.condition.sources = ports_at(s, g, o->condition, o->n_condition);
  else e.condition = (cpl_function){.memory = {o->def.condition.memory[0]}};
  if (e.n_targets > 0) e.assign.sources = ports_at(s, g, o->assign, o->n_assign);
  return e;
}

// The contents of a group. Couplings of shared signals are added as signals occur, and may add
// others.
static bool define(splitter* s, int32_t g, cpl_aggregate_def* def) {
  cpli_aggregate* a = s->a;
  int32_t n_links = s->links.first[g + 1] - s->links.first[g];
  int32_t n_events = s->events.first[g + 1] - s->events.first[g];
  cpl_external_event* events = get(s, (size_t)n_events, sizeof *events);
  s->n_used = 0;
  for (int32_t i = s->signals.first[g]; i < s->signals.first[g + 1]; i++)
    use(s, g, s->signals.items[i]);
  for (int32_t i = 0; i < a->n_signals && g == 0; i++) {
    if (s->seen_in[i] < 0) use(s, 0, i);  // unused by others: the first group comes last
  }
  size_t cap = (size_t)n_links;
  cpl_coupling* couplings = cpli_alloc(a->base.base.ctx, cap, sizeof *couplings);
  s->no_memory = s->no_memory || couplings == NULL;
  for (int32_t i = 0; i < n_links && !s->no_memory; i++)
    couplings[i] = coupling_at(s, g, &a->links[s->links.items[s->links.first[g] + i]]);
  for (int32_t i = 0; i < n_events && !s->no_memory; i++)
    events[i] = event_at(s, g, &a->outside[s->events.items[s->events.first[g] + i]]);
  for (int32_t i = 0; i < s->n_used && !s->no_memory; i++) {
    int32_t coupling = a->nodes[a->first_signal + s->used[i]].coupling;
    if (coupling < 0 || s->groups.of_signal[s->used[i]] >= 0) continue;
    if (!cpli_grow(a->base.base.ctx, (void**)&couplings, &cap, (size_t)n_links, sizeof *couplings))
      s->no_memory = true;
    else couplings[n_links++] = coupling_at(s, g, &a->links[coupling]);
  }
  cpl_constraint* constraints = get(s, (size_t)a->n_constraints, sizeof *constraints);
  def->constraints = constraints;
  for (int32_t i = 0; i < a->n_constraints && !s->no_memory; i++) {
    int32_t signal = a->constraints[i].signal, of = s->groups.of_signal[signal];
    if (of != g && !(of < 0 && g == 0)) continue;
    constraints[def->n_constraints++] =
        (cpl_constraint){use(s, g, signal), a->constraints[i].at_start};
  }
  cpl_signal* signals = get(s, (size_t)s->n_used, sizeof *signals);
  for (int32_t i = 0; i < s->n_used && !s->no_memory; i++) signals[i] = a->signals[s->used[i]];
  def->couplings = couplings;
  def->n_couplings = n_links;
  def->events = events;
  def->n_events = n_events;
  def->signals = signals;
  def->n_signals = s->n_used;
  return !s->no_memory;
}

static bool note_signals(splitter* s, int32_t g, uint32_t first) {
  cpl_context* ctx = s->a->base.base.ctx;
  for (int32_t i = 0; i < s->n_used; i++) {
    if (!cpli_grow(ctx, (void**)&s->signal_refs, &s->cap_refs, s->n_refs, sizeof *s->signal_refs) ||
        !cpli_grow(ctx, (void**)&s->signal_of, &s->cap_of, s->n_refs, sizeof *s->signal_of))
      return false;
    s->signal_refs[s->n_refs] = (cpl_route){g, first + (uint32_t)i};
    s->signal_of[s->n_refs++] = s->used[i];
  }
  return true;
}

// Values set so far are copied: values of signals, and initial guesses of loops.
static void carry_values(const splitter* s, int32_t g, cpl_model* subsystem) {
  const cpli_aggregate* a = s->a;
  cpli_aggregate* to = (cpli_aggregate*)subsystem;
  for (int32_t i = 0; i < s->n_used; i++)
    to->value[to->first_signal + i] = a->value[a->first_signal + s->used[i]];
  for (int32_t i = 0; i < to->n_nodes; i++) {
    const cpli_node* node = &to->nodes[i];
    if (node->part < 0) continue;
    int32_t part = s->parts.items[s->parts.first[g] + node->part];
    to->settled[i] = a->settled[a->node_of[a->parts[part].first_var + node->var]];
  }
}

static cpl_status make_piece(splitter* s, int32_t g, const cpl_aggregate_def* content,
                             cpl_model** parts, cpl_model** out) {
  cpli_aggregate* a = s->a;
  cpl_aggregate_def def = *content;
  int32_t first = s->parts.first[g], n_vars = 0;
  def.name = a->name;
  def.n_parts = s->parts.first[g + 1] - first;
  def.parts = parts;
  for (int32_t i = 0; i < def.n_parts; i++) {
    cpli_part* part = &a->parts[s->parts.items[first + i]];
    parts[i] = part->m;
    n_vars += part->m->base.desc->n_vars;
  }
  if (!note_signals(s, g, (uint32_t)n_vars)) return cpli_nomem(a->base.base.ctx);
  for (int32_t i = 0; i < def.n_parts; i++) a->parts[s->parts.items[first + i]].m = NULL;
  if (def.n_parts == 1 && def.n_couplings == 0 && def.n_events == 0 && def.n_signals == 0) {
    *out = parts[0];  // a single model needs no aggregate
    return CPL_OK;
  }
  cpl_status st = cpl_aggregate(a->base.base.ctx, &def, out);
  if (st >= 0) carry_values(s, g, *out);
  return st;
}

// Locations of components and their variables: group, and index there.
static void note_parts(splitter* s, int32_t* first, cpl_route* refs) {
  const cpli_aggregate* a = s->a;
  for (int32_t g = 0; g < s->groups.n; g++) {
    uint32_t next = 0;
    for (int32_t i = s->parts.first[g]; i < s->parts.first[g + 1]; i++) {
      int32_t k = s->parts.items[i];
      int32_t begin = a->parts[k].first_var;
      int32_t end = k + 1 < a->n_parts ? a->parts[k + 1].first_var : a->n_part_vars;
      s->local_part[k] = i - s->parts.first[g];
      for (int32_t v = begin; v < end; v++) refs[v] = (cpl_route){g, next++};
    }
  }
  for (int32_t v = 0; v <= a->n_part_vars; v++) first[v] = v;
}

// Signals follow the variables of components, all locations of one signal together, in the order of
// groups.
static bool finish_refs(splitter* s, cpl_subsystems* out, int32_t* first, cpl_route* part_refs) {
  const cpli_aggregate* a = s->a;
  int32_t n = a->n_part_vars;
  cpl_route* refs = get(s, (size_t)n + s->n_refs, sizeof *refs);
  if (s->no_memory) return false;
  for (int32_t v = 0; v < n; v++) {  // a single model has references of its own
    const cpl_route* at = &part_refs[v];
    refs[v] = (cpl_route){at->component, out->models[at->component]->base.desc->vars[at->ref].ref};
  }
  for (size_t i = 0; i < s->n_refs; i++) first[n + 1 + s->signal_of[i]]++;
  for (int32_t i = 0; i < a->n_signals; i++) {
    first[n + i + 1] += first[n + i];
    s->local[i] = first[n + i + 1];
  }
  for (size_t i = 0; i < s->n_refs; i++)  // groups were made from the last to the first
    refs[--s->local[s->signal_of[i]]] = s->signal_refs[i];
  out->first = first;
  out->refs = refs;
  out->n_refs = (uint32_t)(n + a->n_signals);
  return true;
}

static void destroy_pieces(cpl_subsystems* p) {
  for (int32_t i = 0; i < p->n; i++) {
    if (p->models[i] != NULL) p->models[i]->base.ops->destroy(&p->models[i]->base);
  }
  *p = (cpl_subsystems){0};
}

static cpl_status take_apart(splitter* s, cpl_subsystems* out) {
  cpli_aggregate* a = s->a;
  cpl_context* ctx = a->base.base.ctx;
  size_t n = (size_t)a->n_part_vars;
  if (!prepare(s)) return cpli_nomem(ctx);
  cpl_model** parts = get(s, (size_t)a->n_parts, sizeof *parts);
  cpl_route* refs = get(s, n, sizeof *refs);
  int32_t* first = get(s, n + (size_t)a->n_signals + 2, sizeof *first);
  out->models = get(s, (size_t)s->groups.n, sizeof *out->models);
  if (s->no_memory) return cpli_nomem(ctx);
  out->n = s->groups.n;
  note_parts(s, first, refs);
  cpl_status st = CPL_OK;
  for (int32_t g = s->groups.n - 1; g >= 0 && st >= 0; g--) {
    cpl_aggregate_def def = cpl_default_aggregate_def();
    st = define(s, g, &def) ? make_piece(s, g, &def, parts, &out->models[g]) : cpli_nomem(ctx);
    cpli_free(ctx, (void*)def.couplings);
  }
  if (st >= 0 && !finish_refs(s, out, first, refs)) st = cpli_nomem(ctx);
  return st;
}

cpl_status cpli_aggregate_split(cpl_model* m, cpl_subsystems* out) {
  splitter s = {.a = (cpli_aggregate*)m};
  *out = (cpl_subsystems){0};
  cpl_status st = cpli_groups_find(s.a, &s.groups);
  if (st >= 0 && s.groups.n > 1) st = take_apart(&s, out);
  if (out->n > 0) out->starter = s.a->starter;
  if (st < 0) destroy_pieces(out);
  cpli_free(m->base.ctx, s.signal_refs);
  cpli_free(m->base.ctx, s.signal_of);
  cpli_groups_free(&s.groups);
  return st;
}
