// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adds items to a definition one by one and checks names, duplicates and ranges; every failure has
// the source location of its item.
#include "system/definition.h"

#include <math.h>
#include <stddef.h>

#include "ssp/ssp.h"

enum { LONGEST_NAME = 200, LONGEST_PATH = 800, NAMES_AT_FIRST = 16 };

static cpl_experiment_def no_experiment(void) {
  return (cpl_experiment_def){sizeof(cpl_experiment_def), NAN, NAN, NAN, NAN, NAN, NAN, NULL};
}

cpl_status cpl_system_def_create(cpl_context* ctx, cpl_system_def** out) {
  *out = NULL;
  cpl_system_def* def = cpli_alloc(ctx, 1, sizeof *def);
  if (def == NULL) return cpli_nomem(ctx);
  def->ctx = ctx;
  cpli_arena_init(&def->arena, ctx);
  def->experiment.values = no_experiment();
  cpl_status st = cpli_names_init(&def->model_names, ctx, NAMES_AT_FIRST);
  if (st >= 0) st = cpli_names_init(&def->group_names, ctx, 0);
  if (st >= 0) st = cpli_names_init(&def->value_names, ctx, NAMES_AT_FIRST);
  if (st >= 0) st = cpli_names_init(&def->output_names, ctx, NAMES_AT_FIRST);
  if (st >= 0) st = cpli_names_init(&def->event_names, ctx, NAMES_AT_FIRST);
  if (st < 0) {
    cpl_system_def_destroy(def);
    return st;
  }
  *out = def;
  return CPL_OK;
}

void cpl_system_def_destroy(cpl_system_def* def) {
  if (def == NULL) return;
  cpl_context* ctx = def->ctx;
  cpli_names_free(&def->model_names);
  cpli_names_free(&def->group_names);
  cpli_names_free(&def->value_names);
  cpli_names_free(&def->output_names);
  cpli_names_free(&def->event_names);
  cpli_free(ctx, def->models);
  cpli_free(ctx, def->parameters);
  cpli_free(ctx, def->inputs);
  cpli_free(ctx, def->connections);
  cpli_free(ctx, def->outputs);
  cpli_free(ctx, def->events);
  cpli_free(ctx, def->constraints);
  cpli_free(ctx, def->record);
  cpli_def_free_modes(def);
  cpli_free(ctx, def->interfaces);
  cpli_free(ctx, def->lines);
  cpli_arena_free(&def->arena);
  cpli_ssp_close(def->ssp);
  cpli_free(ctx, def);
}

//------------------------------------ texts ------------------------------------

cpli_located_text cpli_def_text(cpl_system_def* def, const char* text, cpli_source_loc loc) {
  cpli_located_text kept = {.loc = loc};
  if (text == NULL) return kept;
  kept.text = cpli_arena_strdup(&def->arena, text);
  if (kept.text == NULL) def->no_memory = true;
  return kept;
}

void* cpli_def_array(cpl_system_def* def, size_t n, size_t size) {
  if (n == 0) return NULL;
  void* array = cpli_arena_alloc(&def->arena, n, size);
  if (array == NULL) def->no_memory = true;
  return array;
}

// After a failure the definition can be used again.
static cpl_status check_memory(cpl_system_def* def) {
  if (!def->no_memory) return CPL_OK;
  def->no_memory = false;
  return cpli_nomem(def->ctx);
}

//------------------------------------ names ------------------------------------

static cpl_status bad_name(const cpl_system_def* def, const char* what,
                           const cpli_located_text* name, const char* why) {
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "%s \"%s\": %s", what, name->text, why);
}

static cpl_status check_name(const cpl_system_def* def, const char* what,
                             const cpli_located_text* name) {
  const char* text = name->text;
  size_t n = text != NULL ? strlen(text) : 0;
  if (n == 0) return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "%s needs a name", what);
  const size_t most = def->hierarchical ? LONGEST_PATH : LONGEST_NAME;
  if (n > most)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                        "the name of %s is longer than %zu bytes", what, most);
  for (size_t i = 0; i < n; i++) {
    if ((unsigned char)text[i] < 0x20 || text[i] == '\'' || text[i] == 0x7f)
      return bad_name(def, what, name, "a name has no quotes or control characters");
  }
  if (text[0] == ' ' || text[n - 1] == ' ')
    return bad_name(def, what, name, "a name begins and ends without blanks");
  return CPL_OK;
}

static cpl_status check_not_reserved(const cpl_system_def* def, const char* what,
                                     const cpli_located_text* name) {
  static const char* const reserved[] = {"time", "pi",   "true", "false", "if",
                                         "then", "else", "and",  "or",    "not"};
  for (size_t i = 0; i < CPLI_COUNT(reserved); i++) {
    if (strcmp(name->text, reserved[i]) == 0)
      return bad_name(def, what, name, "this word has a meaning in expressions");
  }
  return CPL_OK;
}

static cpl_status stands_twice(const cpl_system_def* def, const char* what,
                               const cpli_located_text* name, const cpli_located_text* first) {
  char text[CPLI_LOC_SIZE];
  size_t n = strlen(cpli_source_loc_text(&first->loc, text));
  if (n > 2) text[n - 2] = '\0';
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc, "%s \"%s\" stands twice%s%s%s", what,
                      name->text, n > 0 ? " (first at " : "", text, n > 0 ? ")" : "");
}

// Room for one more, then its name. *index is that of the one that has the name already, or -1.
static cpl_status append_name(cpl_system_def* def, cpli_names* names, const char* name,
                              int32_t value, int32_t* taken) {
  int32_t found = cpli_names_add(names, name, value);
  if (found < 0) return cpli_nomem(def->ctx);
  *taken = found != value ? found : -1;
  return CPL_OK;
}

static const cpli_located_text* value_name(const cpl_system_def* def, int32_t value) {
  return value % 2 == 0 ? &def->parameters[value / 2].name : &def->inputs[value / 2].name;
}

static cpl_status grow(cpl_system_def* def, void* items, size_t* cap, size_t count, size_t size) {
  void** at = items;
  return cpli_grow(def->ctx, at, cap, count, size) ? CPL_OK : cpli_nomem(def->ctx);
}

//------------------------------------ items ------------------------------------

static cpl_status check_member(const cpl_system_def* def, const cpli_member* m) {
  int given = (m->path.text != NULL) + (m->source != NULL) + (m->system != NULL);
  const char* why = NULL;
  if (given == 0) why = "it needs one of fmu, c and system";
  if (given > 1) why = "it needs only one of path, source and system";
  if (m->path.text != NULL && m->path.text[0] == '\0') why = "the path is empty";
  if (m->system != NULL && m->kind != CPL_MEMBER_SYSTEM) why = "a definition makes a system";
  if (m->system == def) why = "it would hold itself";
  if (m->isolate && m->source != NULL) why = "isolate an opened model by cpl_isolate()";
  if (why != NULL) return bad_name(def, "model", &m->name, why);
  return CPL_OK;
}

int32_t cpli_split_name(const cpl_system_def* def, const char* name, const char** variable) {
  char model[LONGEST_PATH + 1];
  for (const char* dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    const size_t n = (size_t)(dot - name);
    if (n >= sizeof model) return -1;
    memcpy(model, name, n);
    model[n] = '\0';
    *variable = dot + 1;
    const int32_t found = cpli_names_find(&def->model_names, model);
    if (found >= 0 || !def->hierarchical) return found;
  }
  return -1;
}

static cpl_status names_overlap(const cpl_system_def* def, const cpli_located_text* name,
                                int32_t other) {
  char text[CPLI_LOC_SIZE];
  const cpli_located_text* first = &def->models[other].name;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                      "names of variables of \"%s\" and of \"%s\" (%s...) could be the same",
                      name->text, first->text, cpli_source_loc_text(&first->loc, text));
}

// No model's name is the beginning of another's up to a dot, so that one model only is meant by
// the beginning of a variable's name.
static cpl_status check_dots(cpl_system_def* def, const cpli_located_text* name) {
  char group[LONGEST_PATH + 1];
  const char* rest;
  if (strchr(name->text, '.') != NULL && !def->hierarchical)
    return bad_name(def, "model", name, "the name of a model has no dots");
  if (!def->hierarchical) return CPL_OK;
  int32_t other = cpli_split_name(def, name->text, &rest);
  if (other < 0) other = cpli_names_find(&def->group_names, name->text);
  if (other >= 0) return names_overlap(def, name, other);
  for (const char* dot = strchr(name->text, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
    const size_t n = (size_t)(dot - name->text);
    memcpy(group, name->text, n);
    group[n] = '\0';
    if (cpli_names_find(&def->group_names, group) >= 0) continue;
    const char* kept = cpli_arena_strdup(&def->arena, group);
    if (kept == NULL || cpli_names_add(&def->group_names, kept, (int32_t)def->n_models) < 0)
      return cpli_nomem(def->ctx);
  }
  return CPL_OK;
}

cpl_status cpli_def_take_model(cpl_system_def* def, cpli_member item) {
  int32_t taken = -1;
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "model", &item.name);
  if (st >= 0) st = check_dots(def, &item.name);
  if (st >= 0) st = grow(def, &def->models, &def->cap_models, def->n_models, sizeof item);
  if (st >= 0)
    st = append_name(def, &def->model_names, item.name.text, (int32_t)def->n_models, &taken);
  if (st >= 0 && taken >= 0) st = stands_twice(def, "model", &item.name, &def->models[taken].name);
  if (st >= 0) def->models[def->n_models++] = item;
  return st;
}

cpl_status cpli_def_add_model(cpl_system_def* def, cpli_member item) {
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "model", &item.name);
  if (st >= 0) st = check_member(def, &item);
  return st < 0 ? st : cpli_def_take_model(def, item);
}

cpl_status cpli_def_add_parameter(cpl_system_def* def, cpli_parameter item) {
  int32_t taken = -1;
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "parameter", &item.name);
  if (st >= 0) st = check_not_reserved(def, "parameter", &item.name);
  if (st >= 0 && (item.value.text == NULL ? !def->hierarchical : item.value.text[0] == '\0'))
    st = bad_name(def, "parameter", &item.name, "it needs a value");
  if (st >= 0)
    st = grow(def, &def->parameters, &def->cap_parameters, def->n_parameters, sizeof item);
  if (st >= 0)
    st =
        append_name(def, &def->value_names, item.name.text, 2 * (int32_t)def->n_parameters, &taken);
  if (st >= 0 && taken >= 0)
    st = stands_twice(def, "parameter", &item.name, value_name(def, taken));
  if (st >= 0) def->parameters[def->n_parameters++] = item;
  return st;
}

cpl_status cpli_def_add_input(cpl_system_def* def, cpli_input item) {
  int32_t taken = -1;
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "input", &item.name);
  if (st >= 0) st = check_not_reserved(def, "input", &item.name);
  if (st >= 0) st = grow(def, &def->inputs, &def->cap_inputs, def->n_inputs, sizeof item);
  if (st >= 0)
    st =
        append_name(def, &def->value_names, item.name.text, 2 * (int32_t)def->n_inputs + 1, &taken);
  if (st >= 0 && taken >= 0) st = stands_twice(def, "input", &item.name, value_name(def, taken));
  if (item.column.text == NULL) item.column = item.name;
  if (st >= 0) def->inputs[def->n_inputs++] = item;
  return st;
}

cpl_status cpli_def_add_connection(cpl_system_def* def, cpli_connection item) {
  cpl_status st = check_memory(def);
  bool text = item.source.text != NULL && item.source.text[0] != '\0';
  if (st >= 0 && (item.target.text == NULL || item.target.text[0] == '\0'))
    st = cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item.target.loc, "a connection needs a target");
  if (st >= 0 && !text && item.coupling == NULL)
    st = bad_name(def, "connection of", &item.target, "it needs a source");
  if (st >= 0)
    st = grow(def, &def->connections, &def->cap_connections, def->n_connections, sizeof item);
  if (st >= 0) def->connections[def->n_connections++] = item;
  return st;
}

cpl_status cpli_def_add_output(cpl_system_def* def, cpli_output item) {
  int32_t taken = -1;
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "output", &item.name);
  if (st >= 0 && (item.source.text == NULL || item.source.text[0] == '\0'))
    st = bad_name(def, "output", &item.name, "it needs a source");
  if (st >= 0) st = grow(def, &def->outputs, &def->cap_outputs, def->n_outputs, sizeof item);
  if (st >= 0)
    st = append_name(def, &def->output_names, item.name.text, (int32_t)def->n_outputs, &taken);
  if (st >= 0 && taken >= 0)
    st = stands_twice(def, "output", &item.name, &def->outputs[taken].name);
  if (st >= 0) def->outputs[def->n_outputs++] = item;
  return st;
}

cpl_status cpli_def_add_event(cpl_system_def* def, cpli_event item) {
  int32_t taken = -1;
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_name(def, "event", &item.name);
  if (st >= 0 && (item.when.text != NULL) == (item.n_at > 0))
    st = bad_name(def, "event", &item.name, "it needs either `when` or `at`");
  if (st >= 0 && item.n_sets == 0 && item.stop == 0)
    st = bad_name(def, "event", &item.name, "it needs something to `set`");
  if (st >= 0) st = grow(def, &def->events, &def->cap_events, def->n_events, sizeof item);
  if (st >= 0)
    st = append_name(def, &def->event_names, item.name.text, (int32_t)def->n_events, &taken);
  if (st >= 0 && taken >= 0) st = stands_twice(def, "event", &item.name, &def->events[taken].name);
  if (st >= 0) def->events[def->n_events++] = item;
  return st;
}

cpl_status cpli_def_add_record(cpl_system_def* def, cpli_located_text item) {
  cpl_status st = check_memory(def);
  if (st >= 0 && (item.text == NULL || item.text[0] == '\0'))
    st = cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item.loc, "record: a name is empty");
  if (st >= 0) st = grow(def, &def->record, &def->cap_record, def->n_record, sizeof item);
  if (st >= 0) def->record[def->n_record++] = item;
  return st;
}

//------------------------------------ experiment ------------------------------------

const cpli_experiment_key cpli_experiment_keys[] = {
#define X(key, member, of_solver, positive) \
  [key] = {#member, of_solver, offsetof(cpl_experiment_def, member), positive},
    CPLI_EXPERIMENT_NUMBERS(X) CPLI_EXPERIMENT_TEXTS(X)
#undef X
};

static void merge_experiment(cpli_experiment* to, const cpli_experiment* from) {
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++) {
    size_t offset = cpli_experiment_keys[i].offset;
    const void* given = (const char*)&from->values + offset;
    void* old = (char*)&to->values + offset;
    bool is_number = i < CPLI_SOLVER;
    if (is_number ? isnan(*(const double*)given) : *(const char* const*)given == NULL) continue;
    memcpy(old, given, is_number ? sizeof(double) : sizeof(const char*));
    to->locs[i] = from->locs[i];
  }
}

static cpl_status check_experiment(cpl_context* ctx, const cpli_experiment* e) {
  const cpl_experiment_def* v = &e->values;
  for (int i = 0; i < CPLI_SOLVER; i++) {
    const cpli_experiment_key* key = &cpli_experiment_keys[i];
    double value = *(const double*)((const char*)v + key->offset);
    if (isinf(value))
      return cpli_fail_at(ctx, CPL_ERR_INPUT, &e->locs[i], "%s must be finite", key->name);
    if (key->positive && value <= 0)
      return cpli_fail_at(ctx, CPL_ERR_INPUT, &e->locs[i], "%s must be greater than 0, not %g",
                          key->name, value);
  }
  if (v->stop < v->start)  // false when one is not given
    return cpli_fail_at(ctx, CPL_ERR_INPUT, &e->locs[CPLI_STOP], "stop (%g) is before start (%g)",
                        v->stop, v->start);
  return CPL_OK;
}

cpl_status cpli_def_set_experiment(cpl_system_def* def, const cpli_experiment* item) {
  cpli_experiment next = def->experiment;
  merge_experiment(&next, item);
  cpl_status st = check_memory(def);
  if (st >= 0) st = check_experiment(def->ctx, &next);
  if (st >= 0) def->experiment = next;
  return st;
}

void cpl_init_experiment_def(cpl_experiment_def* def, size_t size) {
  const cpl_experiment_def all = no_experiment();
  cpli_init_def(def, size, &all, sizeof all);
}
