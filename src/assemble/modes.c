// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with modes: every mode is built as a system of its own, whose transitions are events
// that stop it; observed variables are outputs that modes share.

#include "assemble/assemble.h"

//----------------------------------- shared variables of modes -----------------------------------

static cpl_status share(cpli_modes_plan* p, const char* name, cpl_mode_variable* out) {
  int32_t* vars = cpli_arena_alloc(&p->arena, (size_t)p->n, sizeof *vars);
  if (vars == NULL) return cpli_nomem(p->ctx);
  for (int32_t k = 0; k < p->n; k++) vars[k] = cpl_find_variable(p->modes[k].source->desc, name);
  *out = (cpl_mode_variable){name, vars};
  return CPL_OK;
}

static cpl_status share_all(cpli_modes_plan* p, const cpl_system_def* def) {
  cpl_status st = CPL_OK;
  p->observed = cpli_arena_alloc(&p->arena, def->n_observed, sizeof *p->observed);
  p->inputs = cpli_arena_alloc(&p->arena, def->n_inputs, sizeof *p->inputs);
  p->parameters = cpli_arena_alloc(&p->arena, def->n_parameters, sizeof *p->parameters);
  if (p->observed == NULL || p->inputs == NULL || p->parameters == NULL) return cpli_nomem(p->ctx);
  for (size_t i = 0; i < def->n_observed && st >= 0; i++)
    st = share(p, def->observed[i].name.text, &p->observed[p->n_observed++]);
  for (size_t i = 0; i < def->n_inputs && st >= 0; i++) {
    if (def->inputs[i].kind == CPLI_INPUT_FREE)
      st = share(p, def->inputs[i].name.text, &p->inputs[p->n_inputs++]);
  }
  for (size_t i = 0; i < def->n_parameters && st >= 0; i++)
    st = share(p, def->parameters[i].name.text, &p->parameters[p->n_parameters++]);
  return st;
}

void cpli_modes_fill(const cpli_built* b, const cpli_modes_plan* p, cpl_mode* modes,
                     cpl_modes_def* out) {
  *out = cpl_default_modes_def();
  out->name = b->name;
  out->modes = modes;
  out->n_modes = p->n;
  out->start = p->start;
  out->observed = p->observed;
  out->n_observed = p->n_observed;
  out->inputs = p->inputs;
  out->n_inputs = p->n_inputs;
  out->parameters = p->parameters;
  out->n_parameters = p->n_parameters;
  for (int32_t k = 0; k < p->n; k++) {
    modes[k].name = p->modes[k].def->name.text;
    modes[k].leave = p->modes[k].leave;
    modes[k].n_leave = p->modes[k].n_leave;
  }
}

//------------------------------------ building ------------------------------------

static cpl_status describe(cpli_built* b, cpli_modes_plan* p) {
  cpl_modes_def def;
  cpl_mode* modes = cpli_alloc(p->ctx, (size_t)p->n, sizeof *modes);
  const cpl_description** descs = cpli_alloc(p->ctx, (size_t)p->n, sizeof(cpl_description*));
  cpl_status st = modes != NULL && descs != NULL ? CPL_OK : cpli_nomem(p->ctx);
  for (int32_t k = 0; k < p->n && st >= 0; k++) descs[k] = p->modes[k].source->desc;
  if (st >= 0) cpli_modes_fill(b, p, modes, &def);
  if (st >= 0) st = cpli_modes_describe(p->ctx, &def, descs, &p->shared_desc);
  cpli_free(p->ctx, modes);
  cpli_free(p->ctx, descs);
  return st;
}

static cpl_status build_mode(cpli_built* b, cpli_modes_plan* p, int32_t k,
                             const cpli_chain* chain) {
  cpli_mode_plan* mode = &p->modes[k];
  const cpl_system_def* def = b->def;
  cpli_known_starts known = {0};
  cpli_chain inner = *chain;
  cpl_status st = cpli_def_of_mode(def, (size_t)k, &mode->def);
  if (st >= 0) st = cpli_known_starts_of_mode(b, def->modes[k].name.text, &known);
  inner.starts = known.items;
  inner.n_starts = known.n;
  if (st >= 0) st = cpli_system_build(p->ctx, mode->def, &inner, &mode->source);
  cpli_known_starts_free(b, &known);
  return st < 0 ? cpl_fail_prefix(p->ctx, st, "mode %s", def->modes[k].name.text) : st;
}

static cpl_status make_transitions(cpli_modes_plan* p, const cpl_system_def* def) {
  double since = cpli_now();
  int64_t n = 0;
  cpl_status st = CPL_OK;
  for (int32_t k = 0; k < p->n && st >= 0; k++) {
    st = cpli_transitions_make(p, def, k);
    for (int32_t i = 0; i < p->modes[k].n_leave && st >= 0; i++)
      n += p->modes[k].leave[i].n_copies + p->modes[k].leave[i].n_targets;
  }
  if (st >= 0)
    cpl_log(p->ctx, CPL_LOG_INFO, def->file != NULL ? def->file : "",
            "found %lld values that transitions set in %.3f ms", (long long)n,
            1e3 * (cpli_now() - since));
  return st;
}

cpl_status cpli_modes_add_note(cpli_modes_plan* p, char* text) {
  bool room = text != NULL &&
              cpli_grow(p->ctx, (void**)&p->notes, &p->cap_notes, p->n_notes, sizeof(char*));
  if (!room) {
    cpli_free(p->ctx, text);
    return cpli_nomem(p->ctx);
  }
  p->notes[p->n_notes++] = text;
  return CPL_OK;
}

// `next` has room for all modes.
static void reach(const cpli_modes_plan* p, bool* reached, int32_t* next) {
  int32_t n = 0;
  reached[p->start] = true;
  next[n++] = p->start;
  while (n > 0) {
    const cpli_mode_plan* mode = &p->modes[next[--n]];
    for (int32_t i = 0; i < mode->n_leave; i++) {
      int32_t to = mode->leave[i].to;
      if (!reached[to]) reached[to] = true, next[n++] = to;
    }
  }
}

static cpl_status note_unreached(cpli_modes_plan* p) {
  bool* reached = cpli_alloc(p->ctx, (size_t)p->n, sizeof *reached);
  int32_t* next = cpli_alloc(p->ctx, (size_t)p->n, sizeof *next);
  cpl_status st = reached != NULL && next != NULL ? CPL_OK : cpli_nomem(p->ctx);
  if (st >= 0) reach(p, reached, next);
  for (int32_t k = 0; k < p->n && st >= 0; k++) {
    const cpli_located_text* name = &p->modes[k].def->name;
    char location[CPLI_LOC_SIZE];
    if (!reached[k])
      st = cpli_modes_add_note(
          p, cpli_printf(p->ctx, "%smode %s is never entered: no transition leads there",
                         cpli_source_loc_text(&name->loc, location), name->text));
  }
  cpli_free(p->ctx, reached);
  cpli_free(p->ctx, next);
  return st;
}

cpl_status cpli_modes_plan_make(cpli_built* b, const cpli_chain* chain, cpli_modes_plan** out) {
  const cpl_system_def* def = b->def;
  cpl_context* ctx = b->base.ctx;
  *out = NULL;
  cpl_status st = cpli_def_check_modes(def);
  cpli_modes_plan* p = st >= 0 ? cpli_alloc(ctx, 1, sizeof *p) : NULL;
  if (p == NULL) return st < 0 ? st : cpli_nomem(ctx);
  p->ctx = ctx;
  cpli_arena_init(&p->arena, ctx);
  p->modes = cpli_arena_alloc(&p->arena, def->n_modes, sizeof *p->modes);
  st = p->modes != NULL ? CPL_OK : cpli_nomem(ctx);
  for (size_t k = 0; k < def->n_modes && st >= 0; k++) {
    p->n++;
    st = build_mode(b, p, (int32_t)k, chain);
  }
  if (st >= 0) p->start = cpli_def_find_mode(def, def->start_mode.text);
  if (st >= 0) st = make_transitions(p, def);
  if (st >= 0) st = note_unreached(p);
  if (st >= 0) st = share_all(p, def);
  if (st >= 0) st = describe(b, p);
  if (st < 0) cpli_modes_plan_free(p);
  else *out = p;
  return st;
}

void cpli_modes_plan_free(cpli_modes_plan* p) {
  if (p == NULL) return;
  cpli_transitions_free(p);
  for (int32_t k = 0; k < p->n; k++) {
    cpl_source* source = p->modes[k].source;
    if (source != NULL) source->ops->destroy(source);
    cpl_system_def_destroy(p->modes[k].def);
  }
  cpli_shared_desc_release((cpli_shared_desc*)p->shared_desc);
  for (size_t i = 0; i < p->n_notes; i++) cpli_free(p->ctx, p->notes[i]);
  cpli_free(p->ctx, p->notes);
  cpli_arena_free(&p->arena);
  cpli_free(p->ctx, p);
}

// Its own notes, then those of systems inside; *left counts down to the requested one.
static const char* find_note(const cpli_built* b, size_t* left) {
  const cpli_modes_plan* p = b->modes;
  const char* found = NULL;
  if (p != NULL && *left < p->n_notes) return p->notes[*left];
  if (p != NULL) *left -= p->n_notes;
  for (int32_t k = 0; p != NULL && k < p->n && found == NULL; k++)
    found = find_note((const cpli_built*)p->modes[k].source, left);
  for (size_t i = 0; p == NULL && i < b->def->n_models && found == NULL; i++) {
    if (!b->borrowed[i] && cpl_system_definition(b->sources[i]) != NULL)
      found = find_note((const cpli_built*)b->sources[i], left);
  }
  return found;
}

const char* cpl_system_note(const cpl_source* system, size_t i) {
  return cpl_system_definition(system) != NULL ? find_note((const cpli_built*)system, &i) : NULL;
}

//------------------------------------ instances ------------------------------------

typedef struct maker {
  cpl_source* source;
  cpl_stepper_def def;
} maker;

static cpl_status make_mode(void* user, cpl_stepper** out) {
  const maker* m = user;
  cpl_stepper_def def = m->def;
  cpl_status st = cpli_take_solver(cpl_system_definition(m->source), &def.solver);
  return st < 0 ? st : cpl_system_stepper(m->source, &def, out);
}

// A mode has one solver: a transition stops all of it.
static maker* new_maker(cpli_modes_plan* p, int32_t k, const cpl_stepper_def* def) {
  maker* m = cpli_arena_alloc(&p->arena, 1, sizeof *m);
  if (m == NULL) return NULL;
  *m = (maker){p->modes[k].source, *def};
  m->def.name = p->modes[k].def->name.text;
  m->def.solver.one_solver = true;
  return m;
}

cpl_status cpli_modes_stepper(cpli_built* b, const cpl_stepper_def* def, cpl_stepper** out) {
  cpli_modes_plan* p = b->modes;
  cpl_modes_def whole;
  cpl_mode* modes = cpli_alloc(p->ctx, (size_t)p->n, sizeof *modes);
  if (modes == NULL) return cpli_nomem(p->ctx);
  cpl_status st = CPL_OK;
  cpli_modes_fill(b, p, modes, &whole);
  if (def->name != NULL) whole.name = def->name;
  for (int32_t k = 0; k < p->n && st >= 0; k++) {
    maker* m = new_maker(p, k, def);
    modes[k].make = make_mode;
    modes[k].user = m;
    st = m == NULL ? cpli_nomem(p->ctx) : make_mode(m, &modes[k].stepper);
  }
  if (st >= 0) {
    st = cpli_modes_create(p->ctx, &whole, p->shared_desc, out);
  } else {
    for (int32_t k = 0; k < p->n; k++) {
      if (modes[k].stepper != NULL) modes[k].stepper->base.ops->destroy(&modes[k].stepper->base);
    }
  }
  cpli_free(p->ctx, modes);
  return st;
}
