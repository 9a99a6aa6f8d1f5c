// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the definition of a system to an aggregate. A built system is a source: its models are
// opened once, and every instance is assembled from instances of them, with functions of its own.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "aggregate/aggregate.h"
#include "assemble/function.h"
#include "couplet/assemble.h"
#include "format/number.h"
#include "model/start.h"
#include "system/definition.h"

// What one instance needs as long as it lives.
typedef struct assembly {
  struct assembly* next;
  cpli_functions functions;
} assembly;

typedef struct built {
  cpl_source base;
  const cpl_system_def* def;
  cpl_system_def* owned;   // when read from a file
  cpl_system_def** inner;  // definitions of nested systems that were read
  cpl_source** sources;    // one per model
  bool* borrowed;          // that source belongs to the program
  double* parameters;      // values
  bool* known;             // which of them have been computed; all, once the system is built
  cpli_resolver resolver;
  cpli_links links;
  assembly* assemblies;
  cpl_model* prototype;  // the first instance, until someone asks for it
  cpli_box* box;         // holds its description
  cpl_description desc;  // a copy of it, with the experiment of the definition
  char* name;
} built;

//------------------------------------ opening the models ------------------------------------

static cpl_status build(cpl_context* ctx, const cpl_system_def* def, const cpli_chain* outer,
                        cpl_source** out);

static cpl_status open_member(built* b, size_t i, const cpli_chain* chain) {
  const cpli_member* m = &b->def->models[i];
  cpl_context* ctx = b->base.ctx;
  if (m->source != NULL) {
    b->sources[i] = m->source;
    b->borrowed[i] = true;
    return CPL_OK;
  }
  if (m->kind == CPL_MEMBER_SYSTEM) {
    const cpl_system_def* inner = NULL;
    cpl_status st = cpli_def_enter(ctx, chain, m, &inner, &b->inner[i]);
    return st < 0 ? st : build(ctx, inner, chain, &b->sources[i]);
  }
  cpl_open_def open = cpl_default_open_def();
  open.path = m->path.text;
  cpl_start* starts = cpli_alloc(ctx, m->n_starts, sizeof *starts);
  if (starts == NULL) return cpli_nomem(ctx);
  for (size_t k = 0; k < m->n_starts; k++)  // structural parameters size arrays
    starts[k] = (cpl_start){m->starts[k].name.text, m->starts[k].value.text};
  open.starts = starts;
  open.n_starts = m->n_starts;
  cpl_status st = cpl_open(ctx, &open, &b->sources[i]);
  cpli_free(ctx, starts);
  if (st < 0) {
    char place[CPLI_PLACE_SIZE];
    cpl_fail_prefix(ctx, st, "%smodel %s", cpli_place_text(&m->path.place, place), m->name.text);
  }
  return st;
}

static cpl_status check_kind(built* b, size_t i) {
  const cpli_member* m = &b->def->models[i];
  if (m->as != CPL_AS_CO_SIMULATION && b->sources[i]->ops->make_model != NULL) return CPL_OK;
  return cpli_fail_at(b->base.ctx, CPL_ERR_UNSUPPORTED,
                      m->as == CPL_AS_CO_SIMULATION ? &m->as_place : &m->name.place,
                      "model %s: co-simulation in a system is not supported yet; a system takes "
                      "model exchange FMUs, "
                      "models in C and systems",
                      m->name.text);
}

// Models of the same file share one source: it is opened, parsed and compiled once.
static cpl_status open_members(built* b, const cpli_chain* chain) {
  cpli_names opened;
  cpl_status st = cpli_names_init(&opened, b->base.ctx, b->def->n_models);
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const char* path = b->def->models[i].path.text;
    int32_t same = path != NULL ? cpli_names_add(&opened, path, (int32_t)i) : (int32_t)i;
    if (same == CPL_ERR_NOMEM) return cpli_names_free(&opened), cpli_nomem(b->base.ctx);
    if (same == (int32_t)i) st = open_member(b, i, chain);
    else b->sources[i] = b->sources[same], b->borrowed[i] = true;
    if (st >= 0) st = check_kind(b, i);
  }
  cpli_names_free(&opened);
  return st;
}

//------------------------------------ parameters ------------------------------------

// Parameters may use each other in any order: rounds go on as long as one more becomes known.
static cpl_status evaluate_parameters(built* b, cpli_functions* f) {
  size_t n = b->def->n_parameters;
  cpl_status st = CPL_OK;
  bool progress = true;
  bool* known = b->known;
  while (progress && st >= 0) {
    progress = false;
    for (size_t i = 0; i < n && st >= 0; i++) {
      if (known[i]) continue;
      cpl_status one = cpli_constant_of_text(f, &b->def->parameters[i].value, b->parameters, known,
                                             &b->parameters[i]);
      if (one < 0) st = one;
      known[i] = one == CPL_OK;
      progress = progress || known[i];
    }
  }
  for (size_t i = 0; i < n && st >= 0; i++) {
    if (known[i]) continue;
    const cpli_parameter* p = &b->def->parameters[i];
    st = cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &p->value.place,
                      "the parameter %s depends on itself", p->name.text);
  }
  return st;
}

//------------------------------------ start values ------------------------------------

// A number, an item, a text, a value with a unit; or a constant expression over parameters.
static cpl_status set_start(built* b, cpli_functions* f, const cpli_setting* s, cpl_component* c) {
  char number[CPLI_NUMBER_SIZE];
  double value;
  int32_t index = cpl_find_variable(c->desc, s->name.text);
  cpl_type type = index >= 0 ? (cpl_type)c->desc->vars[index].type : CPL_REAL;
  const char* text = s->value.text;
  bool plain =
      cpli_parse_double(text, strlen(text), &value) || (type != CPL_REAL && type != CPL_INTEGER);
  bool with_unit = !plain && strchr("0123456789.+-", text[0]) != NULL && strchr(text, ' ') != NULL;
  if (!plain) {
    cpl_status st = cpli_constant_of_text(f, &s->value, b->parameters, b->known, &value);
    if (st < 0 && !with_unit) return st;
    if (st >= 0) cpli_format_double(number, value), text = number;
  }
  cpl_start start = {s->name.text, text};
  cpl_status st = cpli_set_starts(c, &start, 1);
  if (st < 0) {
    char place[CPLI_PLACE_SIZE];
    cpl_fail_prefix(b->base.ctx, st, "%smodel %s", cpli_place_text(&s->name.place, place), c->name);
  }
  return st;
}

typedef struct named {
  const char* name;
  size_t index;
} named;

static int by_name(const void* x, const void* y) {
  return strcmp(((const named*)x)->name, ((const named*)y)->name);
}

// In the order of names, which is the order the aggregate walks them in: neighbours in time are
// neighbours in memory.
static cpl_status make_parts(built* b, cpli_functions* f, cpl_model** parts) {
  cpl_status st = CPL_OK;
  size_t n = b->def->n_models;
  named* order = cpli_alloc(b->base.ctx, n, sizeof *order);
  if (order == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < n; i++) order[i] = (named){b->def->models[i].name.text, i};
  qsort(order, n, sizeof *order, by_name);
  for (size_t j = 0; j < n && st >= 0; j++) {
    size_t i = order[j].index;
    const cpli_member* m = &b->def->models[i];
    st = b->sources[i]->ops->make_model(b->sources[i], m->name.text, &parts[i]);
    for (size_t k = 0; k < m->n_starts && st >= 0; k++)
      st = set_start(b, f, &m->starts[k], &parts[i]->base);
  }
  cpli_free(b->base.ctx, order);
  return st;
}

// The aggregate hears of start values of inputs too: a loop begins to iterate from them.
static cpl_status set_guesses(built* b, cpli_functions* f, cpl_model* aggregate) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const cpli_member* m = &b->def->models[i];
    const cpl_description* d = b->sources[i]->desc;
    for (size_t k = 0; k < m->n_starts && st >= 0; k++) {
      int32_t var = cpl_find_variable(d, m->starts[k].name.text);
      if (var < 0 || d->vars[var].causality != CPL_INPUT || d->vars[var].type != CPL_REAL) continue;
      char name[1024];
      int n = snprintf(name, sizeof name, "%s.%s", m->name.text, m->starts[k].name.text);
      if (n < 0 || (size_t)n >= sizeof name) continue;
      cpli_setting s = m->starts[k];
      s.name.text = name;
      st = set_start(b, f, &s, &aggregate->base);
    }
  }
  return st;
}

//------------------------------------ signals and couplings ------------------------------------

typedef struct lists {
  cpl_signal* signals;
  cpl_coupling* couplings;
  cpl_external_event* events;
  int32_t n_signals, n_couplings, n_events;
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

static cpl_status column_of(built* b, const cpli_input* in, const cpl_table* table, size_t* out) {
  const char* name = in->column.text != NULL ? in->column.text : in->name.text;
  ptrdiff_t column = cpl_table_find(table, name);
  const cpli_text* where = in->column.text != NULL ? &in->column : &in->name;
  if (column < 0)
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &where->place, "the table has no column %s",
                        name);
  *out = (size_t)column;
  return CPL_OK;
}

static cpl_status add_table(built* b, cpli_functions* f, lists* l, const cpli_input* in) {
  cpl_status st = CPL_OK;
  const cpl_table* table = in->table;
  if (in->kind == CPLI_INPUT_FILE) {
    cpl_table* read = NULL;
    st = cpl_table_read(b->base.ctx, in->file.text, &read);
    if (st < 0) {
      char place[CPLI_PLACE_SIZE];
      return cpl_fail_prefix(b->base.ctx, st, "%sinput %s", cpli_place_text(&in->file.place, place),
                             in->name.text);
    }
    table = read;
    st = cpli_keep_table(f, read);
  }
  size_t column = 0;
  const double* jumps = NULL;
  int32_t n_jumps = 0;
  if (st >= 0) st = column_of(b, in, table, &column);
  if (st >= 0) {
    st = cpli_function_of_table(f, table, column, in->interpolation == CPL_HOLD,
                                &couple_signal(l)->function, &jumps, &n_jumps);
  }
  if (st >= 0 && n_jumps > 0) {  // an event at every jump, which changes nothing itself
    l->events[l->n_events++] =
        (cpl_external_event){.name = in->name.text, .times = jumps, .n_times = n_jumps};
  }
  return st;
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

static cpl_status add_input(built* b, cpli_functions* f, lists* l, const cpli_input* in) {
  cpl_signal* s = add_signal(l, in->name.text,
                             in->kind == CPLI_INPUT_FREE ? CPL_SIGNAL_INPUT : CPL_SIGNAL_INNER);
  switch (in->kind) {
    case CPLI_INPUT_FREE:
      if (in->start.text == NULL) return CPL_OK;
      return cpli_constant_of_text(f, &in->start, b->parameters, b->known, &s->start);
    case CPLI_INPUT_EXPRESSION:
      return cpli_function_of_text(f, &in->expression, &couple_signal(l)->function, NULL);
    case CPLI_INPUT_FILE:
    case CPLI_INPUT_TABLE: return add_table(b, f, l, in);
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
      ports[k++] = (cpl_port){(int32_t)m, s->outputs[o].var};
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
  return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &c->source.place, "%s is %s, but %s gives %s",
                      c->target.text, cpl_type_name(to), c->source.text, cpl_type_name(from));
}

static cpl_status add_connection(built* b, cpli_functions* f, lists* l, size_t i) {
  const cpli_link* link = &b->links.items[i];
  const cpli_connection* c = &b->def->connections[link->connection];
  cpl_coupling* out = &l->couplings[l->n_couplings++];
  *out = (cpl_coupling){
      .target = {link->model, link->var}, .factor = link->factor, .offset = link->offset};
  if (c->coupling != NULL) return add_program(b, f, c, &out->function);
  if (link->source.kind != CPLI_REF_NONE) {
    out->source = cpli_port_of(f, link->source);
    return CPL_OK;
  }
  cpl_type type = CPL_REAL;
  cpl_status st = cpli_function_of_text(f, &c->source, &out->function, &type);
  return st < 0 ? st
                : check_type(b, c, (cpl_type)b->sources[link->model]->desc->vars[link->var].type,
                             type);
}

static cpl_status add_output(built* b, cpli_functions* f, lists* l, const cpli_output* o) {
  cpli_ref ref;
  cpl_signal* s = add_signal(l, o->name.text, CPL_SIGNAL_OUTPUT);
  cpl_coupling* c = couple_signal(l);
  if (!cpli_resolver_find(&b->resolver, o->source.text, &ref))
    return cpli_function_of_text(f, &o->source, &c->function, NULL);
  const cpl_variable* v = cpli_ref_variable(&b->resolver, ref);
  if (v != NULL && v->unit >= 0) s->unit = b->sources[ref.model]->desc->units[v->unit].name;
  if (v != NULL) s->description = v->description;
  c->source = cpli_port_of(f, ref);
  return CPL_OK;
}

//------------------------------------ events ------------------------------------

static cpl_status event_times(built* b, cpli_functions* f, const cpli_event* e,
                              cpl_external_event* out) {
  cpl_status st = CPL_OK;
  double* times = cpli_arena_alloc(&f->arena, e->n_at, sizeof *times);
  if (times == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < e->n_at && st >= 0; i++) {
    double t;
    st = cpli_constant_of_text(f, &e->at[i], b->parameters, b->known, &t);
    size_t k = i;
    for (; st >= 0 && k > 0 && times[k - 1] > t; k--)
      times[k] = times[k - 1];  // ascending, whatever the file says
    if (st >= 0) times[k] = t;
  }
  out->times = times;
  out->n_times = (int32_t)e->n_at;
  return st;
}

static cpl_status add_event(built* b, cpli_functions* f, lists* l, const cpli_event* e) {
  cpl_external_event* out = &l->events[l->n_events++];
  *out = (cpl_external_event){.name = e->name.text, .n_targets = (int32_t)e->n_sets};
  cpl_type type = CPL_BOOLEAN;
  cpl_status st =
      e->when.text != NULL ? cpli_function_of_text(f, &e->when, &out->condition, &type) : CPL_OK;
  if (st >= 0 && type != CPL_BOOLEAN) {
    st = cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &e->when.place,
                      "%s is no condition: it is neither true nor false", e->when.text);
  }
  if (st >= 0 && e->n_at > 0) st = event_times(b, f, e, out);
  cpl_port* targets = cpli_arena_alloc(&f->arena, e->n_sets, sizeof *targets);
  cpli_text* values = cpli_arena_alloc(&f->arena, e->n_sets, sizeof *values);
  if (targets == NULL || values == NULL) return cpli_nomem(b->base.ctx);
  for (size_t i = 0; i < e->n_sets && st >= 0; i++) {
    cpli_ref ref;
    st = cpli_resolve_set(&b->resolver, &b->links, &e->sets[i].name, &ref);
    if (st >= 0) targets[i] = cpli_port_of(f, ref);
    values[i] = e->sets[i].value;
  }
  out->targets = targets;
  if (st >= 0 && e->n_sets > 0) st = cpli_function_of_texts(f, values, e->n_sets, &out->assign);
  return st;
}

//------------------------------------ instances ------------------------------------

static cpl_status allocate_lists(const built* b, cpli_functions* f, lists* l) {
  const cpl_system_def* d = b->def;
  l->signals =
      cpli_arena_alloc(&f->arena, d->n_parameters + d->n_inputs + d->n_outputs, sizeof *l->signals);
  l->couplings = cpli_arena_alloc(&f->arena, d->n_inputs + b->links.count + d->n_outputs,
                                  sizeof *l->couplings);
  l->events = cpli_arena_alloc(&f->arena, d->n_inputs + d->n_events, sizeof *l->events);
  return l->signals != NULL && l->couplings != NULL && l->events != NULL ? CPL_OK
                                                                         : cpli_nomem(b->base.ctx);
}

static cpl_status fill_lists(built* b, cpli_functions* f, lists* l) {
  const cpl_system_def* d = b->def;
  cpl_status st = allocate_lists(b, f, l);
  for (size_t i = 0; i < d->n_parameters && st >= 0; i++) {
    add_signal(l, d->parameters[i].name.text, CPL_SIGNAL_PARAMETER)->start = b->parameters[i];
  }
  for (size_t i = 0; i < d->n_inputs && st >= 0; i++) st = add_input(b, f, l, &d->inputs[i]);
  for (size_t i = 0; i < b->links.count && st >= 0; i++) st = add_connection(b, f, l, i);
  for (size_t i = 0; i < d->n_outputs && st >= 0; i++) st = add_output(b, f, l, &d->outputs[i]);
  for (size_t i = 0; i < d->n_events && st >= 0; i++) st = add_event(b, f, l, &d->events[i]);
  return st;
}

static cpl_status assemble(built* b, const char* name, cpl_model** out) {
  const cpl_system_def* d = b->def;
  cpl_context* ctx = b->base.ctx;
  lists l = {0};
  assembly* one = cpli_alloc(ctx, 1, sizeof *one);
  cpl_model** parts = cpli_alloc(ctx, d->n_models, sizeof *parts);
  *out = NULL;
  if (one == NULL || parts == NULL) {
    cpli_free(ctx, one);
    cpli_free(ctx, parts);
    return cpli_nomem(ctx);
  }
  one->next = b->assemblies;
  b->assemblies = one;
  one->functions = (cpli_functions){
      .ctx = ctx, .resolver = &b->resolver, .first_input = (int32_t)d->n_parameters};
  cpli_arena_init(&one->functions.arena, ctx);
  cpl_status st = make_parts(b, &one->functions, parts);
  if (st >= 0) st = fill_lists(b, &one->functions, &l);
  if (st >= 0) {
    cpl_aggregate_def def = {.name = name,
                             .parts = parts,
                             .n_parts = (int32_t)d->n_models,
                             .signals = l.signals,
                             .n_signals = l.n_signals,
                             .couplings = l.couplings,
                             .n_couplings = l.n_couplings,
                             .events = l.events,
                             .n_events = l.n_events};
    st = cpl_aggregate(ctx, &def, out);
    if (st >= 0) st = set_guesses(b, &one->functions, *out);
    if (st < 0 && *out != NULL) {
      (*out)->base.ops->destroy(&(*out)->base);
      *out = NULL;
    }
  } else {
    for (size_t i = 0; i < d->n_models; i++) {
      if (parts[i] != NULL) parts[i]->base.ops->destroy(&parts[i]->base);
    }
  }
  cpli_free(ctx, parts);
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
  while (b->assemblies != NULL) {
    assembly* one = b->assemblies;
    b->assemblies = one->next;
    cpli_functions_free(&one->functions);
    cpli_free(ctx, one);
  }
  cpli_box_release(b->box);
  cpli_links_free(&b->links);
  for (size_t i = 0; i < n && b->sources != NULL; i++) {
    if (b->sources[i] != NULL && !b->borrowed[i]) b->sources[i]->ops->destroy(b->sources[i]);
  }
  for (size_t i = 0; i < n && b->inner != NULL; i++) cpl_system_def_destroy(b->inner[i]);
  cpli_free(ctx, b->sources);
  cpli_free(ctx, b->borrowed);
  cpli_free(ctx, b->inner);
  cpli_free(ctx, b->parameters);
  cpli_free(ctx, b->known);
  cpli_free(ctx, b->name);
  cpl_system_def_destroy(b->owned);
  cpli_free(ctx, b);
}

static const cpl_source_ops ops = {.kind = "system", .destroy = destroy, .make_model = make_model};

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
}

static cpl_status allocate(built* b) {
  cpl_context* ctx = b->base.ctx;
  size_t n = b->def->n_models;
  const char* name = b->def->name.text != NULL ? b->def->name.text : "system";
  b->sources = cpli_alloc(ctx, n, sizeof *b->sources);
  b->borrowed = cpli_alloc(ctx, n, sizeof *b->borrowed);
  b->inner = cpli_alloc(ctx, n, sizeof *b->inner);
  b->parameters = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->parameters);
  b->known = cpli_alloc(ctx, b->def->n_parameters, sizeof *b->known);
  b->name = cpli_strdup(ctx, name);
  bool fine = b->sources != NULL && b->borrowed != NULL && b->inner != NULL &&
              b->parameters != NULL && b->known != NULL && b->name != NULL;
  return fine ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status resolve_all(built* b) {
  cpli_functions scratch = {
      .ctx = b->base.ctx, .resolver = &b->resolver, .first_input = (int32_t)b->def->n_parameters};
  cpli_arena_init(&scratch.arena, b->base.ctx);
  cpl_status st =
      cpli_resolver_init(&b->resolver, b->base.ctx, b->def, (const cpl_source* const*)b->sources);
  if (st >= 0) st = cpli_links_init(&b->links, &b->resolver);
  if (st >= 0) st = cpli_check_starts(&b->resolver);
  if (st >= 0) cpli_warn_unconnected(&b->resolver, &b->links);
  if (st >= 0) st = evaluate_parameters(b, &scratch);
  cpli_functions_free(&scratch);
  return st;
}

static cpl_status build(cpl_context* ctx, const cpl_system_def* def, const cpli_chain* outer,
                        cpl_source** out) {
  *out = NULL;
  built* b = cpli_alloc(ctx, 1, sizeof *b);
  if (b == NULL) return cpli_nomem(ctx);
  b->base = (cpl_source){
      .ops = &ops, .desc = &b->desc, .ctx = ctx, .path = def->file != NULL ? def->file : ""};
  b->def = def;
  cpli_chain chain = {.outer = outer, .def = def};
  cpl_status st = allocate(b);
  if (st >= 0) st = open_members(b, &chain);
  if (st >= 0) st = resolve_all(b);
  if (st >= 0) st = assemble(b, b->name, &b->prototype);
  if (st < 0) {
    destroy(&b->base);
    return st;
  }
  b->box = cpli_box_hold(b->prototype);
  b->desc = b->box->desc;
  b->desc.kind = "system";
  take_experiment(b);
  *out = &b->base;
  return CPL_OK;
}

cpl_status cpl_system_build(cpl_context* ctx, const cpl_system_def* def, cpl_source** out) {
  return build(ctx, def, NULL, out);
}

cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out) {
  cpl_system_def* def = NULL;
  *out = NULL;
  cpl_status st = cpl_system_def_read(ctx, path, &def);
  if (st >= 0) st = build(ctx, def, NULL, out);
  if (st >= 0) ((built*)*out)->owned = def;
  else cpl_system_def_destroy(def);
  return st;
}

const cpl_system_def* cpl_system_definition(const cpl_source* source) {
  return source->ops == &ops ? ((const built*)source)->def : NULL;
}

size_t cpl_system_record(const cpl_system_def* def, const char** out, size_t n) {
  for (size_t i = 0; i < def->n_record && i < n; i++) out[i] = def->record[i].text;
  return def->n_record;
}
