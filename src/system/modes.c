// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Modes in a definition: each is a definition of its own, with transitions.
#include <stdio.h>

#include "system/definition.h"

static const cpli_source_loc nowhere = {0};

//------------------------------------ adding ------------------------------------

int32_t cpli_def_find_mode(const cpl_system_def* def, const char* name) {
  for (size_t i = 0; i < def->n_modes; i++) {
    if (strcmp(def->modes[i].name.text, name) == 0) return (int32_t)i;
  }
  return -1;
}

static cpl_status check_name(const cpl_system_def* def, const cpli_located_text* name) {
  if (name->text == NULL || name->text[0] == '\0')
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "a mode needs a name");
  if (strcmp(name->text, "start") == 0)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                        "a mode cannot be called start: that names the first one");
  if (strpbrk(name->text, ".'") != NULL)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                        "mode \"%s\": a name of a mode has no dots or quotes", name->text);
  if (cpli_def_find_mode(def, name->text) >= 0)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "mode \"%s\" stands twice",
                        name->text);
  return CPL_OK;
}

cpl_status cpli_def_add_mode(cpl_system_def* def, cpli_located_text name, cpl_system_def** out) {
  cpl_system_def* inner = NULL;
  cpl_status st = check_name(def, &name);
  if (st >= 0 &&
      !cpli_grow(def->ctx, (void**)&def->modes, &def->cap_modes, def->n_modes, sizeof *def->modes))
    st = cpli_nomem(def->ctx);
  if (st >= 0) st = cpl_system_def_create(def->ctx, &inner);
  if (st < 0) return st;
  inner->file = def->file;
  inner->canonical = def->canonical;
  inner->name = name;
  def->modes[def->n_modes++] = (cpli_mode_def){.name = name, .def = inner};
  *out = inner;
  return CPL_OK;
}

cpl_status cpli_def_add_transition(cpl_system_def* def, cpli_mode_def* mode,
                                   cpli_transition_def item) {
  if (!cpli_grow(def->ctx, (void**)&mode->leaves, &mode->cap_leaves, mode->n_leaves,
                 sizeof *mode->leaves))
    return cpli_nomem(def->ctx);
  mode->leaves[mode->n_leaves++] = item;
  return CPL_OK;
}

cpl_status cpli_def_add_observed(cpl_system_def* def, cpli_observed item) {
  for (size_t i = 0; i < def->n_observed; i++) {
    if (strcmp(def->observed[i].name.text, item.name.text) == 0)
      return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item.name.loc, "observe: %s stands twice",
                          item.name.text);
  }
  if (!cpli_grow(def->ctx, (void**)&def->observed, &def->cap_observed, def->n_observed,
                 sizeof *def->observed))
    return cpli_nomem(def->ctx);
  def->observed[def->n_observed++] = item;
  return CPL_OK;
}

void cpli_def_free_modes(cpl_system_def* def) {
  for (size_t i = 0; i < def->n_modes; i++) {
    cpl_system_def_destroy(def->modes[i].def);
    cpli_free(def->ctx, def->modes[i].leaves);
  }
  cpli_free(def->ctx, def->modes);
  cpli_free(def->ctx, def->observed);
}

//------------------------------------ names of modes ------------------------------------

static const char* mode_name(const void* user, size_t i) {
  return ((const cpl_system_def*)user)->modes[i].name.text;
}

static cpl_status require_mode(const cpl_system_def* def, const cpli_located_text* name) {
  char near[512];
  if (cpli_def_find_mode(def, name->text) >= 0) return CPL_OK;
  cpli_did_you_mean(name->text, mode_name, def, def->n_modes, near, sizeof near);
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "there is no mode %s%s", name->text,
                      near);
}

// Components at a line are at different times, and waves in transit are no states to set.
static cpl_status check_lines(const cpl_system_def* def, const cpli_mode_def* m) {
  if (m->def->n_lines + m->def->n_interfaces == 0) return CPL_OK;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &m->name.loc,
                      "mode \"%s\": there are no delay lines inside of a mode; a system with modes "
                      "can be a model at the end of a line",
                      m->name.text);
}

cpl_status cpli_def_check_modes(const cpl_system_def* def) {
  if (def->n_models + def->n_connections + def->n_events + def->n_outputs + def->n_constraints +
          def->n_interfaces + def->n_lines >
      0)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &def->modes[0].name.loc,
                        "a system with modes has its models, connections, outputs, events and "
                        "constraints inside of the modes");
  cpl_status st = def->start_mode.text == NULL
                      ? cpli_fail_at(def->ctx, CPL_ERR_INPUT, &def->modes[0].name.loc,
                                     "modes: `start` is missing: the mode to begin with")
                      : require_mode(def, &def->start_mode);
  for (size_t i = 0; i < def->n_modes && st >= 0; i++) {
    const cpli_mode_def* m = &def->modes[i];
    st = check_lines(def, m);
    for (size_t k = 0; k < m->n_leaves && st >= 0; k++) st = require_mode(def, &m->leaves[k].to);
  }
  for (size_t i = 0; i < def->n_observed && st >= 0; i++) {
    const cpli_observed* o = &def->observed[i];
    if (strcmp(o->name.text, "mode") == 0)
      st = cpli_fail_at(def->ctx, CPL_ERR_INPUT, &o->name.loc,
                        "observe: the name mode is reserved: it is the active mode");
    for (size_t k = 0; k < o->n_in && st >= 0; k++) st = require_mode(def, &o->in[k].name);
  }
  return st;
}

//------------------------------------ a mode as a system ------------------------------------

// Items are shared with the definition they come from: all texts and arrays live there.
static cpl_status copy_items(const cpl_system_def* from, cpl_system_def* to) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < from->n_models && st >= 0; i++)
    st = cpli_def_add_model(to, from->models[i]);
  for (size_t i = 0; i < from->n_parameters && st >= 0; i++)
    st = cpli_def_add_parameter(to, from->parameters[i]);
  for (size_t i = 0; i < from->n_inputs && st >= 0; i++)
    st = cpli_def_add_input(to, from->inputs[i]);
  for (size_t i = 0; i < from->n_connections && st >= 0; i++)
    st = cpli_def_add_connection(to, from->connections[i]);
  for (size_t i = 0; i < from->n_outputs && st >= 0; i++)
    st = cpli_def_add_output(to, from->outputs[i]);
  for (size_t i = 0; i < from->n_events && st >= 0; i++)
    st = cpli_def_add_event(to, from->events[i]);
  for (size_t i = 0; i < from->n_constraints && st >= 0; i++)
    st = cpli_def_take_constraint(to, from->constraints[i]);
  to->cosimulation = from->cosimulation;
  to->experiment = from->experiment;
  to->isolate = from->isolate;
  to->call_timeout = from->call_timeout;
  return st;
}

// The mode's own items have priority.
static cpl_status inherit(const cpl_system_def* outer, cpl_system_def* to) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < outer->n_parameters && st >= 0; i++) {
    if (cpli_names_find(&to->value_names, outer->parameters[i].name.text) < 0)
      st = cpli_def_add_parameter(to, outer->parameters[i]);
  }
  for (size_t i = 0; i < outer->n_inputs && st >= 0; i++) {
    if (cpli_names_find(&to->value_names, outer->inputs[i].name.text) < 0)
      st = cpli_def_add_input(to, outer->inputs[i]);
  }
  if (!to->cosimulation.given) to->cosimulation = outer->cosimulation;
  return st;
}

static const cpli_located_text* observed_in(const cpli_observed* o, const char* mode) {
  for (size_t k = 0; k < o->n_in; k++) {
    if (strcmp(o->in[k].name.text, mode) == 0) return &o->in[k].value;
  }
  return o->all.text != NULL ? &o->all : NULL;
}

static cpl_status add_observed(const cpl_system_def* outer, const char* mode, cpl_system_def* to) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < outer->n_observed && st >= 0; i++) {
    const cpli_located_text* source = observed_in(&outer->observed[i], mode);
    bool there = cpli_names_find(&to->output_names, outer->observed[i].name.text) >= 0;
    if (source != NULL && !there)
      st = cpli_def_add_output(to, (cpli_output){outer->observed[i].name, *source});
  }
  return st;
}

static cpl_status add_way_out(const cpli_transition_def* l, int32_t number, cpl_system_def* to) {
  char name[300];
  snprintf(name, sizeof name, "%d: to mode %.250s", number, l->to.text);
  bool wait = l->on_entry.text != NULL && strcmp(l->on_entry.text, "wait") == 0;
  return cpli_def_add_event(to, (cpli_event){.name = cpli_def_text(to, name, nowhere),
                                             .when = l->when,
                                             .at = l->at,
                                             .n_at = l->n_at,
                                             .stop = number,
                                             .at_start = l->when.text != NULL && !wait});
}

cpl_status cpli_def_of_mode(const cpl_system_def* def, size_t mode, cpl_system_def** out) {
  const cpli_mode_def* m = &def->modes[mode];
  cpl_system_def* to = NULL;
  *out = NULL;
  cpl_status st = cpl_system_def_create(def->ctx, &to);
  if (st < 0) return st;
  to->file = m->def->file;
  to->canonical = m->def->canonical;
  to->name = m->name;
  st = copy_items(m->def, to);
  if (st >= 0) st = inherit(def, to);
  if (st >= 0) st = add_observed(def, m->name.text, to);
  for (size_t k = 0; k < m->n_leaves && st >= 0; k++) {
    if (!m->leaves[k].terminate) st = add_way_out(&m->leaves[k], (int32_t)k + 1, to);
  }
  if (st < 0) cpl_system_def_destroy(to);
  else *out = to;
  return st;
}

//------------------------------------ for programs ------------------------------------

static cpli_located_text keep(cpl_system_def* def, const char* text) {
  return cpli_def_text(def, text, nowhere);
}

static cpli_setting* keep_settings(cpl_system_def* def, const cpl_assignment* given, size_t n) {
  cpli_setting* kept = cpli_def_array(def, n, sizeof *kept);
  for (size_t i = 0; kept != NULL && i < n; i++)
    kept[i] = (cpli_setting){keep(def, given[i].name), keep(def, given[i].value)};
  return kept;
}

static cpl_status check_kept(cpl_system_def* def) {
  if (!def->no_memory) return CPL_OK;
  def->no_memory = false;
  return cpli_nomem(def->ctx);
}

cpl_status cpl_system_def_add_mode(cpl_system_def* def, const char* name, cpl_system_def** mode) {
  *mode = NULL;
  cpli_located_text kept = keep(def, name);
  cpl_status st = check_kept(def);
  return st < 0 ? st : cpli_def_add_mode(def, kept, mode);
}

cpl_status cpl_system_def_set_start_mode(cpl_system_def* def, const char* name) {
  def->start_mode = keep(def, name);
  return check_kept(def);
}

void cpl_init_transition_def(cpl_transition_def* def, size_t size) {
  const cpl_transition_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_system_def_add_transition(cpl_system_def* def, const char* mode,
                                         const cpl_transition_def* given) {
  cpl_transition_def leave = cpl_default_transition_def();
  cpl_status st = cpli_read_def(def->ctx, "cpl_transition_def", given, &leave, sizeof leave);
  if (st < 0) return st;
  int32_t found = cpli_def_find_mode(def, mode);
  if (found < 0) return cpl_fail(def->ctx, CPL_ERR_INPUT, "there is no mode %s", mode);
  bool fine = leave.to != NULL && (leave.when == NULL || leave.n_at == 0) &&
              (leave.on_terminate ? leave.n_at == 0 : leave.when != NULL || leave.n_at > 0);
  if (!fine)
    return cpl_fail(def->ctx, CPL_ERR_INPUT,
                    "mode %s: a transition needs `to`, and one of `when`, `at` and on_terminate",
                    mode);
  cpli_located_text* at = cpli_def_array(def, leave.n_at, sizeof *at);
  for (size_t i = 0; at != NULL && i < leave.n_at; i++) at[i] = keep(def, leave.at[i]);
  cpli_transition_def item = {.to = keep(def, leave.to),
                              .when = keep(def, leave.when),
                              .at = at,
                              .n_at = leave.n_at,
                              .terminate = leave.on_terminate,
                              .on_entry = keep(def, leave.entry),
                              .sets = keep_settings(def, leave.sets, leave.n_sets),
                              .n_sets = leave.n_sets};
  st = check_kept(def);
  return st < 0 ? st : cpli_def_add_transition(def, &def->modes[found], item);
}

cpl_status cpl_system_def_observe(cpl_system_def* def, const char* name, const char* source,
                                  const cpl_assignment* in, size_t n_in) {
  cpli_observed item = {.name = keep(def, name),
                        .all = keep(def, source),
                        .in = keep_settings(def, in, n_in),
                        .n_in = n_in};
  cpl_status st = check_kept(def);
  return st < 0 ? st : cpli_def_add_observed(def, item);
}

void cpli_transition_text(const cpli_transition_def* l, char* out, size_t size) {
  size_t used = (size_t)snprintf(out, size, "%s", l->terminate ? "on terminate" : "");
  if (l->when.text != NULL && used < size)
    used +=
        (size_t)snprintf(out + used, size - used, "%swhen %s", used > 0 ? " " : "", l->when.text);
  for (size_t i = 0; i < l->n_at && used < size; i++)
    used += (size_t)snprintf(out + used, size - used, "%s%s", i == 0 ? "at " : ", ", l->at[i].text);
}
