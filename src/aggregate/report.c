// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The report of an aggregate: a copy of its plan and couplings with names, for people and tools.
#include <stdio.h>

#include "aggregate/aggregate.h"
#include "couplet/graph.h"
#include "format/number.h"
#include "model/inspect.h"

typedef struct report {
  cpl_graph shown;
  cpli_arena arena;
  const cpli_aggregate* a;
  const cpli_eval_plan* plan;
  int32_t* loop_of;     // of each block; -1: none
  int32_t* input_node;  // of each variable of components; -1: none
  bool no_memory;
} report;

static void* get(report* r, size_t n, size_t size) {
  void* memory = cpli_arena_alloc(&r->arena, n, size);
  if (memory == NULL) r->no_memory = true;
  return memory;
}

static const char* copied(report* r, const char* text) {
  char* copy = cpli_arena_strdup(&r->arena, text);
  if (copy == NULL) r->no_memory = true;
  return copy;
}

//------------------------------------ values ------------------------------------

static cpl_graph_value value_at(report* r, int32_t index) {
  const cpli_aggregate* a = r->a;
  const cpli_node* node = &a->nodes[index];
  if (node->part < 0) {
    const char* name = copied(r, a->signals[node->var].name);
    return (cpl_graph_value){.name = name, .variable = name, .model = -1, .signal = node->var};
  }
  const cpli_part* part = &a->parts[node->part];
  const char* name = copied(r, a->desc->vars[part->first_var + node->var].name);
  return (cpl_graph_value){.name = name,
                           .variable = name != NULL ? name + strlen(part->m->base.name) + 1 : NULL,
                           .model = node->part,
                           .signal = -1};
}

static const cpl_graph_value* values_of(report* r, const int32_t* nodes, int32_t n) {
  cpl_graph_value* values = get(r, (size_t)n, sizeof *values);
  for (int32_t i = 0; i < n && !r->no_memory; i++) values[i] = value_at(r, nodes[i]);
  return values;
}

//------------------------------------ models ------------------------------------

static int32_t count(const cpl_description* d, cpl_causality which) {
  int32_t n = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n += d->vars[i].causality == which;
  return n;
}

static int32_t count_assumed(const cpl_description* d) {
  int32_t n = 0;
  for (int32_t i = 0; i < d->structure.n_outputs; i++) n += d->structure.outputs[i].count < 0;
  return n;
}

static cpl_graph_model model_of(report* r, const cpl_component* c) {
  const cpl_description* d = c->desc;
  bool inner = cpli_as_aggregate(c) != NULL;
  return (cpl_graph_model){.name = copied(r, c->name),
                           .kind = inner ? "system" : copied(r, d->kind),
                           .title = copied(r, d->name),
                           .n_states = d->n_states,
                           .n_inputs = count(d, CPL_CAUSALITY_INPUT),
                           .n_outputs = count(d, CPL_CAUSALITY_OUTPUT),
                           .n_indicators = d->n_indicators,
                           .directional = c->ops->directional != NULL,
                           .rolls_back = c->ops->save != NULL,
                           .feed_through = d->structure.origin,
                           .n_assumed = count_assumed(d)};
}

// The row of a variable in the structure; NULL: it has none.
static const cpl_unknown* row_of(const cpl_structure* s, int32_t var) {
  for (int32_t i = 0; i < s->n_outputs; i++) {
    if (s->outputs[i].var == var) return &s->outputs[i];
  }
  for (int32_t i = 0; i < s->n_derivatives; i++) {
    if (s->derivatives[i].var == var) return &s->derivatives[i];
  }
  return NULL;
}

static bool is_state(const cpl_description* d, int32_t var) {
  for (int32_t k = 0; k < d->n_states; k++) {
    if (d->states[k] == var) return true;
  }
  return false;
}

static void add_models(report* r) {
  const cpli_aggregate* a = r->a;
  cpl_graph_model* models = get(r, (size_t)a->n_parts, sizeof *models);
  for (int32_t k = 0; k < a->n_parts && !r->no_memory; k++)
    models[k] = model_of(r, &a->parts[k].m->base);
  for (int32_t i = 0; i < a->n_nodes && !r->no_memory; i++) {  // read, but not outputs
    const cpli_node* node = &a->nodes[i];
    if (node->kind != CPLI_NODE_OUTPUT) continue;
    const cpl_description* d = a->parts[node->part].m->base.desc;
    const cpl_variable* v = &d->vars[node->var];
    if (v->causality == CPL_CAUSALITY_OUTPUT || v->causality == CPL_CAUSALITY_INPUT ||
        v->variability < CPL_VARIABILITY_DISCRETE)
      continue;
    const cpl_unknown* row = row_of(&d->structure, node->var);
    if ((row == NULL && !is_state(d, node->var)) || (row != NULL && row->count < 0))
      models[node->part].n_assumed++;
  }
  r->shown.models = models;
  r->shown.n_models = a->n_parts;
}

//------------------------------------ groups ------------------------------------

static cpl_status add_groups(report* r) {
  cpl_graph_model* models = (cpl_graph_model*)r->shown.models;
  cpli_groups groups;
  cpl_status st = cpli_groups_find(r->a, &groups);
  if (st < 0) return st;
  for (int32_t k = 0; k < r->a->n_parts; k++) models[k].group = groups.of_part[k];
  r->shown.n_groups = groups.n;
  cpli_groups_free(&groups);
  return CPL_OK;
}

//------------------------------------ connections ------------------------------------

// "a.y", "1.8*a.T + 32"
static const char* plain_text(report* r, const cpli_coupling_edge* l) {
  char factor[CPLI_NUMBER_SIZE], offset[CPLI_NUMBER_SIZE], text[1024];
  const char* name = value_at(r, l->sources[0]).name;
  if (name == NULL) return NULL;
  cpli_format_double(factor, l->def.factor);
  cpli_format_double(offset, l->def.offset < 0 ? -l->def.offset : l->def.offset);
  bool scaled = l->def.factor != 1, moved = l->def.offset != 0;
  snprintf(text, sizeof text, "%s%s%s%s%s", scaled ? factor : "", scaled ? "*" : "", name,
           !moved              ? ""
           : l->def.offset < 0 ? " - "
                               : " + ",
           moved ? offset : "");
  return copied(r, text);
}

static void add_connections(report* r) {
  const cpli_aggregate* a = r->a;
  const cpli_blocks* b = r->plan->blocks;
  cpl_graph_connection* list = get(r, (size_t)a->n_links, sizeof *list);
  for (int32_t i = 0; i < a->n_links && !r->no_memory; i++) {
    const cpli_coupling_edge* l = &a->links[i];
    const cpl_function* f = &l->def.function;
    cpl_graph_connection* c = &list[i];
    c->target = value_at(r, l->target);
    c->text = f->value == NULL        ? plain_text(r, l)
              : f->expression != NULL ? copied(r, f->expression)
                                      : NULL;
    c->sources = values_of(r, l->sources, l->n_sources);
    c->n_sources = l->n_sources;
    c->linear = f->value == NULL || f->linear;
    c->loop = r->loop_of[b->block[l->target]];
  }
  r->shown.connections = list;
  r->shown.n_connections = a->n_links;
}

static void add_signals(report* r) {
  const cpli_aggregate* a = r->a;
  cpl_graph_signal* list = get(r, (size_t)a->n_signals, sizeof *list);
  for (int32_t i = 0; i < a->n_signals && !r->no_memory; i++)
    list[i] = (cpl_graph_signal){copied(r, a->signals[i].name), a->signals[i].kind};
  r->shown.signals = list;
  r->shown.n_signals = a->n_signals;
}

//------------------------------------ order ------------------------------------

// Whether a component's output is known to depend linearly on those of its inputs that are in the
// block.
static bool linear_output(const report* r, const cpli_node* node, int32_t block) {
  const cpli_aggregate* a = r->a;
  const cpl_structure* s = &a->parts[node->part].m->base.desc->structure;
  const cpl_unknown* row = row_of(s, node->var);
  if (row == NULL || row->count < 0) return false;
  for (int32_t k = row->first; k < row->first + row->count; k++) {
    int32_t input = r->input_node[a->parts[node->part].first_var + s->deps[k]];
    if (input >= 0 && r->plan->blocks->block[input] == block && s->kinds[k] == CPL_KIND_DEPENDENT)
      return false;
  }
  return true;
}

static bool linear_block(const report* r, int32_t block) {
  const cpli_aggregate* a = r->a;
  const cpli_blocks* b = r->plan->blocks;
  for (int32_t i = b->first[block]; i < b->first[block + 1]; i++) {
    const cpli_node* node = &a->nodes[b->order[i]];
    const cpl_function* f = node->coupling >= 0 ? &a->links[node->coupling].def.function : NULL;
    if (node->type != CPL_REAL || (f != NULL && f->value != NULL && !f->linear)) return false;
    if (node->kind == CPLI_NODE_OUTPUT && !linear_output(r, node, block)) return false;
  }
  return true;
}

static void add_loops(report* r) {
  const cpli_eval_plan* p = r->plan;
  const cpli_blocks* b = p->blocks;
  cpl_graph_loop* loops = get(r, p->n_loops, sizeof *loops);
  r->loop_of = get(r, (size_t)b->n_blocks, sizeof *r->loop_of);
  r->input_node = get(r, (size_t)r->a->n_part_vars, sizeof *r->input_node);
  if (r->no_memory) return;
  for (int32_t i = 0; i < r->a->n_part_vars; i++) r->input_node[i] = -1;
  for (int32_t i = 0; i < r->a->n_nodes; i++) {
    const cpli_node* node = &r->a->nodes[i];
    if (node->kind == CPLI_NODE_INPUT)
      r->input_node[r->a->parts[node->part].first_var + node->var] = i;
  }
  for (int32_t i = 0; i < b->n_blocks && !r->no_memory; i++) r->loop_of[i] = -1;
  for (size_t i = 0; i < p->n_loops && !r->no_memory; i++) {
    int32_t block = cpli_loop_block(p->loops[i]), n = b->first[block + 1] - b->first[block];
    r->loop_of[block] = (int32_t)i;
    loops[i] = (cpl_graph_loop){.values = values_of(r, b->order + b->first[block], n),
                                .n_values = n,
                                .n_torn = b->n_torn[block],
                                .linear = linear_block(r, block)};
  }
  r->shown.loops = loops;
  r->shown.n_loops = (int32_t)p->n_loops;
}

static void add_steps(report* r) {
  static const cpl_graph_step_kind kinds[] = {[CPLI_OP_GET] = CPL_GRAPH_GET,
                                              [CPLI_OP_SET] = CPL_GRAPH_SET,
                                              [CPLI_OP_COUPLE] = CPL_GRAPH_COUPLE,
                                              [CPLI_OP_LOOP] = CPL_GRAPH_LOOP};
  const cpli_eval_plan* p = r->plan;
  const cpli_blocks* b = p->blocks;
  cpl_graph_step* steps = get(r, p->n_ops, sizeof *steps);
  for (size_t i = 0; i < p->n_ops && !r->no_memory; i++) {
    const cpli_eval_op* op = &p->ops[i];
    cpl_graph_step* s = &steps[i];
    bool on_part = op->kind == CPLI_OP_GET || op->kind == CPLI_OP_SET;
    *s = (cpl_graph_step){.kind = kinds[op->kind], .model = on_part ? op->part : -1, .loop = -1};
    if (op->kind == CPLI_OP_LOOP) {
      s->loop = op->first;
      s->values = r->shown.loops[op->first].values;
      s->n_values = r->shown.loops[op->first].n_values;
      s->level = b->level[cpli_loop_block(p->loops[op->first])];
    } else {
      s->values = values_of(r, p->nodes + op->first, op->count);
      s->n_values = op->count;
      s->level = op->count > 0 ? b->level[b->block[p->nodes[op->first]]] : 0;
    }
  }
  r->shown.steps = steps;
  r->shown.n_steps = (int32_t)p->n_ops;
}

//------------------------------------ open inputs ------------------------------------

static void add_open(report* r, const cpl_description* d, int32_t model, const char* prefix,
                     const bool* fed) {
  cpl_graph_open* list = (cpl_graph_open*)r->shown.unconnected;
  for (int32_t i = 0; i < d->n_vars && !r->no_memory; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->causality != CPL_CAUSALITY_INPUT || fed[v->alias_of >= 0 ? v->alias_of : i]) continue;
    size_t n = prefix != NULL ? strlen(prefix) + 1 : 0;
    char* name = get(r, n + strlen(v->name) + 1, 1);
    if (name == NULL) return;
    if (n > 0) memcpy(name, prefix, n - 1), name[n - 1] = '.';
    memcpy(name + n, v->name, strlen(v->name) + 1);
    list[r->shown.n_unconnected++] = (cpl_graph_open){
        .input = {.name = name, .variable = name + n, .model = model, .signal = -1},
        .start = v->start,
        .has_start = v->has_start && v->type != CPL_STRING};
  }
}

static void find_open(report* r) {
  const cpli_aggregate* a = r->a;
  bool* fed = get(r, (size_t)a->n_part_vars, sizeof *fed);
  size_t n = 0;
  for (int32_t k = 0; k < a->n_parts; k++)
    n += (size_t)count(a->parts[k].m->base.desc, CPL_CAUSALITY_INPUT);
  r->shown.unconnected = get(r, n, sizeof *r->shown.unconnected);
  for (int32_t i = 0; i < a->n_nodes && !r->no_memory; i++) {
    const cpli_node* node = &a->nodes[i];
    if (node->kind != CPLI_NODE_INPUT) continue;
    const cpli_part* part = &a->parts[node->part];
    int32_t alias = part->m->base.desc->vars[node->var].alias_of;
    fed[part->first_var + (alias >= 0 ? alias : node->var)] = true;
  }
  for (int32_t k = 0; k < a->n_parts && !r->no_memory; k++) {
    const cpli_part* part = &a->parts[k];
    add_open(r, part->m->base.desc, k, part->m->base.name, fed + part->first_var);
  }
}

//------------------------------------ create ------------------------------------

static void describe_whole(report* r) {
  r->plan = r->a->plans[CPLI_PLAN_CONTINUOUS];
  add_models(r);
  if (!r->no_memory) r->no_memory = add_groups(r) < 0;
  if (!r->no_memory) add_signals(r);
  if (!r->no_memory) add_loops(r);
  if (!r->no_memory) add_connections(r);
  if (!r->no_memory) add_steps(r);
  if (!r->no_memory) find_open(r);
}

static void describe_one(report* r, const cpl_component* c) {
  cpl_graph_model* model = get(r, 1, sizeof *model);
  bool* fed = get(r, (size_t)c->desc->n_vars, sizeof *fed);
  r->shown.unconnected =
      get(r, (size_t)count(c->desc, CPL_CAUSALITY_INPUT), sizeof *r->shown.unconnected);
  if (r->no_memory) return;
  *model = model_of(r, c);
  r->shown.models = model;
  r->shown.n_models = r->shown.n_groups = 1;
  add_open(r, c->desc, 0, NULL, fed);
}

cpl_status cpl_graph_create(const cpl_component* c, cpl_graph** out) {
  *out = NULL;
  report* r = cpli_alloc(c->ctx, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(c->ctx);
  cpli_arena_init(&r->arena, c->ctx);
  r->a = cpli_as_aggregate(c);
  r->shown.name = copied(r, c->desc->name);
  r->shown.n_states = c->desc->n_states;
  r->shown.n_indicators = c->desc->n_indicators;
  if (r->a != NULL) describe_whole(r);
  else describe_one(r, c);
  if (r->no_memory) {
    cpl_graph_destroy(&r->shown);
    return cpli_nomem(c->ctx);
  }
  *out = &r->shown;
  return CPL_OK;
}

void cpl_graph_destroy(cpl_graph* g) {
  if (g == NULL) return;
  report* r = (report*)g;
  cpl_context* ctx = r->arena.ctx;
  cpli_arena_free(&r->arena);
  cpli_free(ctx, r);
}

//------------------------------------ the models ------------------------------------

const char cpli_aggregate_kind[] = "aggregate";

cpl_status cpli_aggregate_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_aggregate* a = (const cpli_aggregate*)c;
  out->self = (void*)a;
  out->n_children = a->n_parts;
  if (child >= 0 && child < a->n_parts) cpli_inspection_child(out, &a->parts[child].m->base);
  return CPL_OK;
}

cpli_aggregate* cpli_as_aggregate(const cpl_component* c) {
  return cpli_component_self(c, cpli_aggregate_kind);
}

int32_t cpl_aggregate_count(const cpl_model* m) {
  const cpli_aggregate* a = cpli_as_aggregate(&m->base);
  return a != NULL ? a->n_parts : 0;
}

cpl_model* cpl_aggregate_part(const cpl_model* m, int32_t i) {
  return i >= 0 && i < cpl_aggregate_count(m) ? cpli_as_aggregate(&m->base)->parts[i].m : NULL;
}

const char* cpl_graph_step_name(cpl_graph_step_kind kind) {
  static const char* const names[] = {"get", "set", "compute", "solve"};
  return names[kind];
}
