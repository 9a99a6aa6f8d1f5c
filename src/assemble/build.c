// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds an aggregate from the definition of a system. A built system is a source: its models are
// opened once, and every instance is assembled from instances of them, with functions of its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "assemble/assemble.h"
#include "couplet/isolate.h"
#include "format/number.h"
#include "model/distribution.h"
#include "model/start.h"

typedef cpli_assembly assembly;
typedef cpli_built built;

//------------------------------------ members ------------------------------------

typedef struct named {
  const char* name;
  size_t index;
} named;

static int by_name(const void* x, const void* y) {
  return strcmp(((const named*)x)->name, ((const named*)y)->name);
}

// A system with steppers inside is composed when its solver is known.
static cpl_status make_member(built* b, size_t i, cpli_members* d) {
  cpl_source* source = b->sources[i];
  const char* name = b->def->models[i].name.text;
  if (!b->is_stepper[i] && cpli_varying_is(source))
    return cpli_varying_make(source, name, &d->models[i]);
  if (cpl_system_definition(source) != NULL && source->ops->make_model == NULL) return CPL_OK;
  if (b->is_stepper[i] && source->ops->make_stepper != NULL)
    return source->ops->make_stepper(source, name, &d->steppers[i]);
  return source->ops->make_model(source, name, &d->models[i]);
}

// Where there are several ranks: which of them has which member.
static cpl_status plan_members(built* b, const named* order) {
  size_t n = b->def->n_models;
  cpli_next_instance* wanted = cpli_alloc(b->base.ctx, n, sizeof *wanted);
  if (wanted == NULL) return cpli_nomem(b->base.ctx);
  for (size_t j = 0; j < n; j++) {
    const size_t i = order[j].index;
    wanted[j] = (cpli_next_instance){b->sources[i], !b->is_stepper[i]};
  }
  const cpl_status st = cpli_distribution_plan(b->base.ctx, wanted, n, b->path[0] == '\0');
  cpli_free(b->base.ctx, wanted);
  return st;
}

// In the order of names, in which the aggregate evaluates them: neighbours in time are neighbours
// in memory.
static cpl_status make_members(built* b, cpli_members* d) {
  cpl_status st = CPL_OK;
  size_t n = b->def->n_models;
  named* order = cpli_alloc(b->base.ctx, n, sizeof *order);
  if (order == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < n; i++) order[i] = (named){b->def->models[i].name.text, i};
  cpli_sort(order, n, sizeof *order, by_name);
  st = plan_members(b, order);
  for (size_t j = 0; j < n && st >= 0; j++) {
    size_t i = order[j].index;
    const cpli_member* m = &b->def->models[i];
    st = make_member(b, i, d);
    cpl_component* c = d->models[i] != NULL     ? &d->models[i]->base
                       : d->steppers[i] != NULL ? &d->steppers[i]->base
                                                : NULL;
    for (size_t k = 0; c != NULL && k < m->n_starts && st >= 0; k++)
      st = cpli_set_start(b, &d->assembly->functions, &m->starts[k], c);
  }
  cpli_free(b->base.ctx, order);
  return st;
}

//------------------------------------ signals and couplings ------------------------------------

typedef struct lists {
  assembly* one;
  cpl_signal* signals;
  cpl_coupling* couplings;
  cpl_external_event* events;
  int32_t n_signals, n_couplings, n_events, n_constraints;
  cpl_constraint* constraints;
} lists;

static cpl_signal* add_signal(lists* l, const char* name, cpl_signal_kind kind) {
  l->signals[l->n_signals] = (cpl_signal){.name = name, .kind = kind};
  return &l->signals[l->n_signals++];
}

// A coupling of the signal added last.
static cpl_coupling* couple_signal(lists* l) {
  cpl_coupling* c = &l->couplings[l->n_couplings++];
  *c = (cpl_coupling){.target = {-1, l->n_signals - 1}};
  return c;
}

static cpl_status add_table(built* b, cpli_functions* f, lists* l, size_t i) {
  const cpli_input* in = &b->def->inputs[i];
  const cpli_input_table* t = &b->tables[i];
  const double* jumps = NULL;
  int32_t n_jumps = 0;
  cpl_status st = cpli_function_of_table(
      f, t->table, t->column, in->interpolation == CPL_INTERPOLATE_HOLD,
      t->convert ? &t->conversion : NULL, &couple_signal(l)->function, &jumps, &n_jumps);
  if (st < 0 || n_jumps == 0) return st;
  cpl_port* signal = cpli_arena_alloc(&f->arena, 1, sizeof *signal);
  if (signal == NULL) return cpli_nomem(b->base.ctx);
  *signal = (cpl_port){-1, l->n_signals - 1};
  // an event at every jump, which changes nothing itself
  l->events[l->n_events++] = (cpl_external_event){.name = in->name.text,
                                                  .condition = {.sources = signal, .n_sources = 1},
                                                  .times = jumps,
                                                  .n_times = n_jumps};
  return CPL_OK;
}

typedef struct callback {
  double (*value)(void* user, double t);
  void* user;
} callback;

static cpl_status callback_value(void* user, double t, const double* sources, double* out) {
  const callback* c = user;
  (void)sources;
  *out = c->value(c->user, t);
  return CPL_OK;
}

static cpl_status add_input(built* b, cpli_functions* f, lists* l, size_t i) {
  const cpli_input* in = &b->def->inputs[i];
  cpl_signal* s = add_signal(l, in->name.text,
                             in->kind == CPLI_INPUT_FREE ? CPL_SIGNAL_INPUT : CPL_SIGNAL_INNER);
  cpli_inputs_mark(b, i, s);
  switch (in->kind) {
    case CPLI_INPUT_FREE: return cpli_input_start(b, f, i, &s->start);
    case CPLI_INPUT_EXPRESSION:
      return cpli_function_of_text(f, &in->expression, &couple_signal(l)->function, NULL);
    case CPLI_INPUT_FILE:
    case CPLI_INPUT_TABLE: return add_table(b, f, l, i);
    case CPLI_INPUT_CALLBACK: break;
  }
  callback* c = cpli_arena_alloc(&f->arena, 1, sizeof *c);
  if (c == NULL) return cpli_nomem(b->base.ctx);
  *c = (callback){in->value, in->user};
  couple_signal(l)->function = (cpl_function){.value = callback_value, .user = c};
  return CPL_OK;
}

// A coupling function of the program.
typedef struct program {
  const cpli_coupling* def;
  cpl_context* ctx;
  const char* target;
} program;

static cpl_status program_result(const program* p, double t, int result) {
  if (result == 0) return CPL_OK;
  return cpl_fail(p->ctx, result > 0 ? CPL_RETRY : CPL_ERR_MODEL,
                  "the coupling function of %s returned %d at t=%.17g", p->target, result, t);
}

static cpl_status program_value(void* user, double t, const double* y, double* u) {
  const program* p = user;
  return program_result(p, t, p->def->value(p->def->user, t, y, u));
}

static cpl_status program_gradient(void* user, double t, const double* y, double* du) {
  const program* p = user;
  return program_result(p, t, p->def->gradient(p->def->user, t, y, du));
}

static size_t count_outputs(const built* b) {
  size_t n = 0;
  for (size_t i = 0; i < b->def->n_models; i++)
    n += (size_t)b->sources[i]->desc->structure.n_outputs;
  return n;
}

static cpl_status add_program(built* b, cpli_functions* f, const cpli_connection* c,
                              cpl_function* out) {
  const cpli_coupling* def = c->coupling;
  size_t n = def->reads_all ? count_outputs(b) : def->n_reads;
  program* p = cpli_arena_alloc(&f->arena, 1, sizeof *p);
  cpl_port* ports = cpli_arena_alloc(&f->arena, n, sizeof *ports);
  if (p == NULL || ports == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < def->n_reads && !def->reads_all; i++) {
    cpli_ref ref;
    cpl_status st = cpli_resolver_require(&b->resolver, &def->reads[i], &ref);
    if (st < 0) return st;
    ports[i] = cpli_port_of(f, ref);
  }
  for (size_t m = 0, k = 0; m < b->def->n_models && def->reads_all; m++) {
    const cpl_structure* s = &b->sources[m]->desc->structure;
    for (int32_t o = 0; o < s->n_outputs; o++)
      ports[k++] = cpli_port_of(
          f,
          (cpli_ref){.kind = CPLI_REF_VARIABLE, .model = (int32_t)m, .index = s->outputs[o].var});
  }
  *p = (program){def, b->base.ctx, c->target.text};
  *out = (cpl_function){.sources = ports,
                        .n_sources = (int32_t)n,
                        .value = program_value,
                        .gradient = def->gradient != NULL ? program_gradient : NULL,
                        .linear = def->constant,
                        .user = p,
                        .text = c->target.text};
  return CPL_OK;
}

static bool is_number(cpl_type type) {
  return type == CPL_REAL || type == CPL_INTEGER || type == CPL_ENUMERATION;
}

static cpl_status check_type(built* b, const cpli_connection* c, cpl_type to, cpl_type from) {
  if (to == from || (to == CPL_REAL && is_number(from)) ||
      (is_number(to) && to != CPL_REAL && from == CPL_INTEGER))
    return CPL_OK;
  return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &c->source.loc, "%s is %s, but %s gives %s",
                      c->target.text, cpl_type_name(to), c->source.text, cpl_type_name(from));
}

// Connections between steppers, and of types other than Real, are links of the master.
static bool route_connection(built* b, assembly* one, const cpli_link* link, cpl_status* st) {
  if (link->source.kind != CPLI_REF_VARIABLE) return false;
  int32_t from = link->source.model, to = link->model;
  bool from_stepper = b->is_stepper[from], to_stepper = b->is_stepper[to];
  const cpl_variable* source = cpli_ref_variable(&b->resolver, link->source);
  const cpl_variable* target = &b->sources[to]->desc->vars[link->var];
  bool real = source->type == CPL_REAL && target->type == CPL_REAL;
  if (!from_stepper && !to_stepper) return false;
  if (!(from_stepper && to_stepper) && real) return false;
  cpli_route route = {.source = {from, link->source.index, NULL},
                      .target = {to, link->var, NULL},
                      .factor = link->factor,
                      .offset = link->offset};
  *st = cpli_add_route(one, route);
  return true;
}

static cpl_status add_connection(built* b, cpli_functions* f, lists* l, size_t i) {
  const cpli_link* link = &b->links.items[i];
  const cpli_connection* c = &b->def->connections[link->connection];
  cpl_status st = CPL_OK;
  if (c->coupling == NULL && route_connection(b, l->one, link, &st)) return st;
  cpl_coupling* out = &l->couplings[l->n_couplings++];
  *out = (cpl_coupling){.factor = link->factor, .offset = link->offset};
  out->target = b->is_stepper[link->model]
                    ? cpli_bridge_out(l->one, b, link->model, link->var)
                    : (cpl_port){l->one->part_of_model[link->model], link->var};
  if (c->coupling != NULL) return add_program(b, f, c, &out->function);
  if (link->source.kind != CPLI_REF_NONE) {
    out->source = cpli_port_of(f, link->source);
    cpli_bridge_to(l->one, out->source, &b->sources[link->model]->desc->vars[link->var]);
    return CPL_OK;
  }
  cpl_type type = CPL_REAL;
  st = cpli_function_of_text(f, &c->source, &out->function, &type);
  return st < 0 ? st
                : check_type(b, c, (cpl_type)b->sources[link->model]->desc->vars[link->var].type,
                             type);
}

// Gives a signal the unit of the variable it stands for.
static void mark_unit(const built* b, int32_t model, const cpl_variable* v, cpl_signal* s) {
  s->relative_quantity = v->relative_quantity;
  if (v->unit < 0) return;
  const cpl_unit* unit = &b->sources[model]->desc->units[v->unit];
  s->unit = unit->name;
  if (unit->has_base) s->meaning = unit;
}

// An output of a connector with a unit of its own, or behind some that scale.
static cpl_status transform_output(built* b, const cpli_output* o, cpli_ref source, cpl_signal* s,
                                   cpl_coupling* c) {
  if (o->transform == NULL) return CPL_OK;
  const cpli_ref none = {CPLI_REF_NONE, -1, -1};
  const cpl_unit* unit = o->transform->steps[o->transform->n_steps - 1].unit;
  if (unit != NULL) {
    s->unit = unit->name;
    s->meaning = unit->has_base ? unit : NULL;
  }
  cpl_status st = cpli_transform_refs(&b->resolver, &o->source.loc, o->transform, none, source,
                                      &c->factor, &c->offset);
  return st;
}

static cpl_status add_output(built* b, cpli_functions* f, lists* l, const cpli_output* o) {
  cpli_ref ref;
  cpl_signal* s = add_signal(l, o->name.text, CPL_SIGNAL_OUTPUT);
  cpl_coupling* c = couple_signal(l);
  if (!cpli_resolver_find(&b->resolver, o->source.text, &ref))
    return cpli_function_of_text(f, &o->source, &c->function, NULL);
  const cpl_variable* v = cpli_ref_variable(&b->resolver, ref);
  if (v != NULL && (v->type == CPL_STRING || v->type == CPL_BINARY))
    cpl_log(b->base.ctx, CPL_LOG_WARNING, b->def->file,
            "the output %s is always 0: outputs of systems are numbers, and %s is a %s",
            o->name.text, o->source.text, cpl_type_name((cpl_type)v->type));
  if (v != NULL) mark_unit(b, ref.model, v, s);
  if (v != NULL) s->description = v->description;
  if (ref.kind == CPLI_REF_INPUT) cpli_inputs_mark(b, (size_t)ref.index, s);
  c->source = cpli_port_of(f, ref);
  return transform_output(b, o, ref, s, c);
}

// The difference of both sides as a signal.
static cpl_status add_constraint(cpli_functions* f, lists* l, const cpli_constraint* c) {
  add_signal(l, c->name.text, CPL_SIGNAL_INNER);
  l->constraints[l->n_constraints++] = (cpl_constraint){l->n_signals - 1, c->at_start};
  return cpli_function_of_constraint(f, c, &couple_signal(l)->function);
}

//------------------------------------ events ------------------------------------

void cpli_sort_in(double* times, size_t n, double t) {
  for (; n > 0 && times[n - 1] > t; n--) times[n] = times[n - 1];
  times[n] = t;
}

// Times that follow from parameters are part of a saved state.
static cpl_status event_times(built* b, assembly* one, const cpli_event* e,
                              cpl_external_event* out) {
  cpl_status st = CPL_OK;
  cpli_functions* f = &one->functions;
  double* times = cpli_arena_alloc(&f->arena, e->n_at, sizeof *times);
  if (times == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < e->n_at && st >= 0; i++) {
    double t = 0;
    st = cpli_constant_of_text(f, &e->at[i], b->parameters, b->known, &t);
    if (st >= 0) cpli_sort_in(times, i, t);  // ascending, even if the file is not
  }
  if (b->def->n_parameters > 0)
    out->condition.memory[0] = (cpl_function_memory){times, e->n_at * sizeof *times};
  one->times[e - b->def->events] = times;
  out->times = times;
  out->n_times = (int32_t)e->n_at;
  return st;
}

// The value that an event assigns: an expression, or a bare name, whose unit is converted.
static cpl_status set_value(built* b, cpli_functions* f, cpli_ref target,
                            const cpli_located_text* value, cpli_located_text* out) {
  cpli_ref source;
  double factor, offset;
  *out = *value;
  if (!cpli_resolver_find(&b->resolver, value->text, &source)) return CPL_OK;
  cpl_status st = cpli_relate_refs(&b->resolver, &value->loc, target, source, &factor, &offset);
  if (st < 0 || (factor == 1 && offset == 0)) return st;
  *out = cpli_scaled_text(&f->arena, value, factor, offset);
  return out->text != NULL ? CPL_OK : cpli_nomem(b->base.ctx);
}

static cpl_status add_event(built* b, cpli_functions* f, lists* l, const cpli_event* e) {
  cpl_external_event* out = &l->events[l->n_events++];
  *out = (cpl_external_event){.name = e->name.text, .n_targets = (int32_t)e->n_sets};
  cpl_type type = CPL_BOOLEAN;
  cpl_status st =
      e->when.text != NULL ? cpli_function_of_text(f, &e->when, &out->condition, &type) : CPL_OK;
  if (st >= 0 && type != CPL_BOOLEAN) {
    st = cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &e->when.loc,
                      "%s is not a condition: it is neither true nor false", e->when.text);
  }
  out->stop = e->stop;
  out->at_start = e->at_start;
  if (st >= 0 && e->stop > 0 && e->when.text != NULL)
    cpli_function_is_guard(&out->condition, b->name, e->name.text);
  if (st >= 0 && e->n_at > 0) st = event_times(b, l->one, e, out);
  cpl_port* targets = cpli_arena_alloc(&f->arena, e->n_sets, sizeof *targets);
  cpli_located_text* values = cpli_arena_alloc(&f->arena, e->n_sets, sizeof *values);
  if (targets == NULL || values == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < e->n_sets && st >= 0; i++) {
    cpli_ref ref;
    st = cpli_resolve_set(&b->resolver, &b->links, &e->sets[i].name, &ref);
    if (st >= 0 && ref.kind == CPLI_REF_VARIABLE && b->is_stepper[ref.model])
      st = cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &e->sets[i].name.loc,
                        "%s belongs to a co-simulation model, which events cannot change",
                        e->sets[i].name.text);
    if (st >= 0) targets[i] = cpli_port_of(f, ref);
    if (st >= 0) st = set_value(b, f, ref, &e->sets[i].value, &values[i]);
  }
  out->targets = targets;
  if (st >= 0 && e->n_sets > 0) st = cpli_function_of_texts(f, values, e->n_sets, &out->assign);
  return st;
}

//------------------------------------ instances ------------------------------------

static cpl_status allocate_lists(const built* b, cpli_functions* f, lists* l) {
  const cpl_system_def* d = b->def;
  size_t waves = (size_t)cpli_tlm_waves(b);
  l->signals = cpli_arena_alloc(
      &f->arena, d->n_parameters + d->n_inputs + d->n_outputs + d->n_constraints + waves,
      sizeof *l->signals);
  l->couplings = cpli_arena_alloc(
      &f->arena, d->n_inputs + b->links.count + d->n_outputs + d->n_constraints + waves,
      sizeof *l->couplings);
  l->events = cpli_arena_alloc(&f->arena, d->n_inputs + d->n_events, sizeof *l->events);
  l->constraints = cpli_arena_alloc(&f->arena, d->n_constraints, sizeof *l->constraints);
  l->one->times = cpli_arena_alloc(&f->arena, d->n_events, sizeof *l->one->times);
  return l->one->times != NULL && l->constraints != NULL && l->signals != NULL &&
                 l->couplings != NULL && l->events != NULL
             ? CPL_OK
             : cpli_nomem(b->base.ctx);
}

static cpl_status fill_lists(built* b, cpli_functions* f, lists* l) {
  const cpl_system_def* d = b->def;
  cpl_status st = allocate_lists(b, f, l);
  for (size_t i = 0; i < d->n_parameters && st >= 0; i++) {
    cpl_signal* s = add_signal(l, d->parameters[i].name.text, CPL_SIGNAL_PARAMETER);
    const cpl_unit* unit = d->parameters[i].unit;
    s->start = b->parameters[i];
    if (unit != NULL) s->unit = unit->name;
    if (unit != NULL && unit->has_base) s->meaning = unit;
  }
  for (size_t i = 0; i < d->n_inputs && st >= 0; i++) st = add_input(b, f, l, i);
  for (size_t i = 0; i < b->links.count && st >= 0; i++) st = add_connection(b, f, l, i);
  for (size_t i = 0; i < d->n_outputs && st >= 0; i++) st = add_output(b, f, l, &d->outputs[i]);
  for (size_t i = 0; i < d->n_constraints && st >= 0; i++)
    st = add_constraint(f, l, &d->constraints[i]);
  if (st >= 0)
    st = cpli_tlm_add_waves(b, f, l->signals, &l->n_signals, l->couplings, &l->n_couplings);
  for (size_t i = 0; i < d->n_events && st >= 0; i++) st = add_event(b, f, l, &d->events[i]);
  return st;
}

// Signals from and to steppers, after all others.
static cpl_status add_bridges(built* b, lists* l) {
  assembly* one = l->one;
  if (one->no_memory) return cpli_nomem(b->base.ctx);
  size_t n = (size_t)l->n_signals + one->n_bridges;
  cpl_signal* all = cpli_arena_alloc(&one->functions.arena, n, sizeof *all);
  if (all == NULL) return cpli_nomem(b->base.ctx);
  if (l->n_signals > 0) memcpy(all, l->signals, (size_t)l->n_signals * sizeof *all);
  l->signals = all;
  for (size_t i = 0; i < one->n_bridges; i++) {
    const cpli_bridge* bridge = &one->bridges[i];
    const cpl_variable* v = &b->sources[bridge->model]->desc->vars[bridge->var];
    cpl_signal* s =
        add_signal(l, bridge->name, bridge->leaves ? CPL_SIGNAL_OUTPUT : CPL_SIGNAL_INPUT);
    s->start = v->has_start ? v->start : 0;
    s->discrete = bridge->discrete;
    mark_unit(b, bridge->model, v, s);
  }
  return CPL_OK;
}

static cpl_status make_inner(built* b, const char* name, const lists* l, cpli_members* draft) {
  cpl_context* ctx = b->base.ctx;
  int32_t n = 0;
  cpl_model** parts = cpli_alloc(ctx, b->def->n_models, sizeof *parts);
  if (parts == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < b->def->n_models; i++) {
    if (b->is_stepper[i]) continue;
    parts[n++] = draft->models[i];
    draft->models[i] = NULL;  // owned by the aggregate from here on
  }
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = name,
                           .parts = parts,
                           .n_parts = n,
                           .signals = l->signals,
                           .n_signals = l->n_signals,
                           .couplings = l->couplings,
                           .n_couplings = l->n_couplings,
                           .events = l->events,
                           .n_events = l->n_events,
                           .constraints = l->constraints,
                           .n_constraints = l->n_constraints};
  cpl_status st = cpl_aggregate(ctx, &def, &draft->inner);
  cpli_free(ctx, parts);
  return st < 0 ? st : cpli_note_starts(b, &draft->assembly->functions, draft->inner);
}

void cpli_members_free(cpli_built* b, cpli_members* d) {
  if (d == NULL) return;
  cpl_context* ctx = b->base.ctx;
  if (d->inner != NULL) d->inner->base.ops->destroy(&d->inner->base);
  for (size_t i = 0; i < b->def->n_models; i++) {
    if (d->models != NULL && d->models[i] != NULL)
      d->models[i]->base.ops->destroy(&d->models[i]->base);
    if (d->steppers != NULL && d->steppers[i] != NULL)
      d->steppers[i]->base.ops->destroy(&d->steppers[i]->base);
  }
  cpli_free(ctx, d->models);
  cpli_free(ctx, d->steppers);
  cpli_free(ctx, d);  // the assembly belongs to the system
}

static cpli_members* new_draft(built* b) {
  cpl_context* ctx = b->base.ctx;
  size_t n = b->def->n_models;
  cpli_members* d = cpli_alloc(ctx, 1, sizeof *d);
  if (d == NULL) return NULL;
  d->assembly = cpli_alloc(ctx, 1, sizeof *d->assembly);
  d->models = cpli_alloc(ctx, n, sizeof *d->models);
  d->steppers = cpli_alloc(ctx, n, sizeof *d->steppers);
  assembly* one = d->assembly;
  if (one == NULL || d->models == NULL || d->steppers == NULL) {
    cpli_free(ctx, one);
    d->assembly = NULL;
    cpli_members_free(b, d);
    return NULL;
  }
  one->next = b->assemblies;
  b->assemblies = one;
  one->functions = (cpli_functions){.ctx = ctx,
                                    .resolver = &b->resolver,
                                    .first_input = (int32_t)b->def->n_parameters,
                                    .bridge = cpli_bridge_in,
                                    .bridge_user = one};
  cpli_arena_init(&one->functions.arena, ctx);
  return d;
}

cpl_status cpli_members_make(cpli_built* b, const char* name, cpli_members** out) {
  const cpl_system_def* d = b->def;
  *out = NULL;
  cpli_members* draft = new_draft(b);
  if (draft == NULL) return cpli_nomem(b->base.ctx);
  lists l = {.one = draft->assembly};
  cpl_status st = cpli_bridges_init(b, draft->assembly);
  draft->assembly->functions.part_of_model = draft->assembly->part_of_model;
  if (st >= 0) st = make_members(b, draft);
  if (st >= 0) st = fill_lists(b, &draft->assembly->functions, &l);
  if (st >= 0) st = add_bridges(b, &l);
  bool idle = b->n_steppers > 0 && b->n_steppers == d->n_models &&
              d->n_parameters + d->n_inputs + d->n_outputs + d->n_events == 0 &&
              draft->assembly->n_bridges == 0;
  if (st >= 0 && !idle) st = make_inner(b, name, &l, draft);
  if (st < 0) cpli_members_free(b, draft);
  else *out = draft;
  return st;
}

// A system of models only.
static cpl_status assemble(built* b, const char* name, cpl_model** out) {
  cpli_members* draft = NULL;
  *out = NULL;
  cpl_status st = cpli_members_make(b, name, &draft);
  if (st < 0) return st;
  cpli_aggregate* a = (cpli_aggregate*)draft->inner;
  st = cpli_follow_make(b, a->desc);
  if (st >= 0) cpli_follow_mark(b, a->desc);
  if (st >= 0) st = cpli_follow_starter(b, draft->assembly, &a->starter);
  if (st >= 0) *out = draft->inner;
  if (st >= 0) draft->inner = NULL;
  cpli_members_free(b, draft);
  return st;
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  built* b = (built*)source;
  *out = b->prototype;
  b->prototype = NULL;
  if (*out == NULL) return assemble(b, name, out);
  if (strcmp((*out)->base.name, name) == 0) return CPL_OK;
  (*out)->base.ops->destroy(&(*out)->base);
  return assemble(b, name, out);
}

//------------------------------------ the source ------------------------------------

static void destroy(cpl_source* source) {
  if (source == NULL) return;
  built* b = (built*)source;
  cpl_context* ctx = source->ctx;
  size_t n = b->def != NULL ? b->def->n_models : 0;
  if (b->prototype != NULL) b->prototype->base.ops->destroy(&b->prototype->base);
  cpli_members_free(b, b->draft);
  cpli_modes_plan_free(b->modes);
  while (b->assemblies != NULL) {
    assembly* one = b->assemblies;
    b->assemblies = one->next;
    cpli_functions_free(&one->functions);
    cpli_free(ctx, one->bridges);
    cpli_free(ctx, one->routes);
    cpli_free(ctx, one);
  }
  cpli_follow_free(b);
  cpli_shared_desc_release(b->shared_desc);
  cpli_tlm_plan_free(b);
  cpli_links_free(&b->links);
  cpli_inputs_release(b);
  for (size_t i = 0; i < n && b->sources != NULL; i++) {
    if (b->sources[i] != NULL && !b->borrowed[i]) b->sources[i]->ops->destroy(b->sources[i]);
  }
  for (size_t i = 0; i < n && b->inner != NULL; i++) cpl_system_def_destroy(b->inner[i]);
  cpli_free(ctx, b->sources);
  cpli_free(ctx, b->borrowed);
  cpli_free(ctx, b->is_stepper);
  cpli_free(ctx, b->inner);
  cpli_free(ctx, b->parameters);
  cpli_free(ctx, b->first_links);
  cpli_free(ctx, b->known);
  cpli_free(ctx, b->order);
  cpli_free(ctx, b->fixed);
  cpli_free(ctx, b->name);
  cpli_free(ctx, b->path);
  if (b->calls != NULL) fclose(b->calls);
  cpl_system_def_destroy(b->owned);
  cpli_free(ctx, b);
}

static cpl_status make_stepper(cpl_source* source, const char* name, cpl_stepper** out) {
  cpl_stepper_def def = cpl_default_stepper_def();
  def.name = name;
  return cpl_system_stepper(source, &def, out);
}

static const cpl_source_ops ops = {
    .size = sizeof(cpl_source_ops), .kind = "system", .destroy = destroy, .make_model = make_model};
static const cpl_source_ops stepper_ops = {.size = sizeof(cpl_source_ops),
                                           .kind = "system",
                                           .destroy = destroy,
                                           .make_stepper = make_stepper};

static const cpl_default_experiment* member_experiment(const built* b, size_t i) {
  if (b->modes == NULL) return i < b->def->n_models ? &b->sources[i]->desc->experiment : NULL;
  return (int32_t)i < b->modes->n ? &b->modes->modes[i].source->desc->experiment : NULL;
}

// Without a stop time in the file, the longest of its models is used.
static void take_times_of_members(built* b) {
  cpl_default_experiment* e = &b->desc.experiment;
  const cpl_default_experiment* member;
  if (e->has_stop) return;
  for (size_t i = 0; !e->has_start && (member = member_experiment(b, i)) != NULL; i++) {
    if (member->has_start && member->has_stop)
      e->start = isnan(e->start) ? member->start : fmin(e->start, member->start);
  }
  e->has_start = !isnan(e->start);
  for (size_t i = 0; (member = member_experiment(b, i)) != NULL; i++) {
    if (member->has_stop && !(e->has_start && member->stop <= e->start))
      e->stop = isnan(e->stop) ? member->stop : fmax(e->stop, member->stop);
  }
  e->has_stop = !isnan(e->stop);
}

static void take_experiment(built* b) {
  cpl_experiment_def e = cpl_system_def_experiment(b->def);
  b->desc.experiment = (cpl_default_experiment){.has_start = !isnan(e.start),
                                                .has_stop = !isnan(e.stop),
                                                .has_tolerance = !isnan(e.rtol),
                                                .has_step = !isnan(e.step),
                                                .start = e.start,
                                                .stop = e.stop,
                                                .tolerance = e.rtol,
                                                .step = e.step};
  take_times_of_members(b);
}

// A nested system is named like its model, with the names of the outer systems.
static cpl_status allocate(built* b, const cpli_chain* outer) {
  cpl_context* ctx = b->base.ctx;
  size_t n = b->def->n_models;
  const char* before = outer != NULL && outer->path != NULL ? outer->path : "";
  const char* member = outer != NULL && outer->member != NULL ? outer->member : "";
  const char* name = b->def->name.text != NULL ? b->def->name.text : "system";
  b->sources = cpli_alloc(ctx, n, sizeof *b->sources);
  b->borrowed = cpli_alloc(ctx, n, sizeof *b->borrowed);
  b->is_stepper = cpli_alloc(ctx, n, sizeof *b->is_stepper);
  b->inner = cpli_alloc(ctx, n, sizeof *b->inner);
  b->parameters = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->parameters);
  b->known = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->known);
  b->order = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->order);
  b->fixed = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->fixed);
  b->name = cpli_strdup(ctx, member[0] != '\0' ? member : name);
  b->path = cpli_printf(ctx, "%s%s%s", before, member, member[0] != '\0' ? "." : "");
  bool fine = b->path != NULL && b->sources != NULL && b->borrowed != NULL &&
              b->is_stepper != NULL && b->inner != NULL && b->parameters != NULL &&
              b->known != NULL && b->order != NULL && b->fixed != NULL && b->name != NULL;
  return fine ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status resolve_all(built* b) {
  cpli_functions scratch = {
      .ctx = b->base.ctx, .resolver = &b->resolver, .first_input = (int32_t)b->def->n_parameters};
  cpli_arena_init(&scratch.arena, b->base.ctx);
  cpl_status st =
      cpli_resolver_init(&b->resolver, b->base.ctx, b->def, (const cpl_source* const*)b->sources);
  if (st >= 0) st = cpli_inputs_prepare(b);
  b->resolver.input_units = b->input_units;
  if (st >= 0) st = cpli_links_init(&b->links, &b->resolver);
  if (st >= 0) st = cpli_find_first_links(b);
  if (st >= 0) st = cpli_inputs_infer_units(b);
  if (st >= 0) st = cpli_check_starts(&b->resolver);
  if (st >= 0) cpli_warn_unconnected(&b->resolver, &b->links);
  if (st >= 0) st = cpli_find_fixed(b, &scratch);
  if (st >= 0) st = cpli_evaluate_parameters(b, &scratch);
  if (st >= 0) st = cpli_warn_of_targets(b, &scratch);
  if (st >= 0) st = cpli_tlm_resolve(b, &scratch);
  cpli_functions_free(&scratch);
  return st;
}

// A system with modes consists of one system per mode.
static cpl_status build_modes(built* b, const cpli_chain* chain, cpl_source** out) {
  cpl_status st = cpli_modes_plan_make(b, chain, &b->modes);
  if (st >= 0) st = cpli_calls_check(b);
  if (st < 0) {
    destroy(&b->base);
    return st;
  }
  b->base.ops = &stepper_ops;
  b->desc = b->modes->shared_desc->base.desc;
  b->desc.kind = "system";
  take_experiment(b);
  b->starts = NULL, b->n_starts = 0;
  *out = &b->base;
  return CPL_OK;
}

static cpl_status build_with(cpl_context* ctx, const cpl_system_def* def, const cpli_chain* outer,
                             const cpl_start* starts, size_t n_starts, cpl_source** out) {
  *out = NULL;
  built* b = cpli_alloc(ctx, 1, sizeof *b);
  if (b == NULL) return cpli_nomem(ctx);
  b->base = (cpl_source){
      .ops = &ops, .desc = &b->desc, .ctx = ctx, .path = def->file != NULL ? def->file : ""};
  b->def = def;
  b->starts = starts;
  b->n_starts = n_starts;
  cpli_chain chain = {.outer = outer,
                      .def = def,
                      .isolate = def->isolate || (outer != NULL && outer->isolate),
                      .call_timeout = def->call_timeout};
  if (chain.call_timeout == 0 && outer != NULL) chain.call_timeout = outer->call_timeout;
  if (outer != NULL) chain.calls = outer->calls, chain.n_calls = outer->n_calls;
  cpl_status st = allocate(b, outer);
  chain.path = b->path;
  if (st >= 0) st = cpli_calls_open(b, &chain);
  if (st >= 0 && def->n_modes > 0) return build_modes(b, &chain, out);
  if (st >= 0) st = cpli_open_members(b, &chain);
  if (st >= 0) st = cpli_calls_check(b);
  if (st >= 0 && outer == NULL && cpli_distribution_serves(ctx)) {
    *out = &b->base;  // rank 0 does the rest, and has the instances made
    return CPL_OK;
  }
  if (st >= 0) st = resolve_all(b);
  if (st >= 0) st = cpli_varying_choose(b);
  bool model = st >= 0 && b->n_steppers == 0 && b->tlm == NULL;
  if (model) st = assemble(b, b->name, &b->prototype);
  if (st >= 0 && !model) st = cpli_group_make(b, b->name, &b->draft);
  if (st >= 0 && !model) st = cpli_members_describe(b, b->draft);
  if (st >= 0 && !model) st = cpli_note_member_starts(b);
  if (st >= 0 && !model) st = cpli_follow_make(b, &b->shared_desc->desc);
  if (st >= 0 && !model) cpli_follow_mark(b, &b->shared_desc->desc);
  if (st >= 0 && b->tlm != NULL) cpli_tlm_hide(b);
  if (st < 0) {
    destroy(&b->base);
    return st;
  }
  cpli_warn_starts(b, model ? b->prototype : b->draft->inner);
  if (model) b->varies = b->prototype->ops->structure != NULL;
  if (model) b->shared_desc = cpli_shared_desc_retain(((cpli_aggregate*)b->prototype)->shared_desc);
  else b->base.ops = &stepper_ops;
  b->desc = b->shared_desc->desc;
  b->desc.kind = "system";
  take_experiment(b);
  b->starts = NULL, b->n_starts = 0;
  *out = &b->base;
  return CPL_OK;
}

cpl_status cpli_system_build(cpl_context* ctx, const cpl_system_def* def, const cpli_chain* outer,
                             cpl_source** out) {
  return build_with(ctx, def, outer, outer->starts, outer->n_starts, out);
}

cpl_status cpl_system_build(cpl_context* ctx, const cpl_system_def* def, cpl_source** out) {
  return build_with(ctx, def, NULL, NULL, 0, out);
}

cpl_status cpl_system_build_owned(cpl_context* ctx, cpl_system_def* def, cpl_source** out) {
  return cpli_system_build_owned(ctx, def, NULL, 0, out);
}

cpl_status cpli_system_build_owned(cpl_context* ctx, cpl_system_def* def, const cpl_start* starts,
                                   size_t n_starts, cpl_source** out) {
  cpl_status st = build_with(ctx, def, NULL, starts, n_starts, out);
  if (st >= 0) ((built*)*out)->owned = def;
  else cpl_system_def_destroy(def);
  return st;
}

const cpl_system_def* cpl_system_definition(const cpl_source* source) {
  return source->ops == &ops || source->ops == &stepper_ops ? ((const built*)source)->def : NULL;
}

size_t cpl_system_record(const cpl_system_def* def, const char** out, size_t n) {
  for (size_t i = 0; i < def->n_record && i < n; i++) out[i] = def->record[i].text;
  return def->n_record;
}
