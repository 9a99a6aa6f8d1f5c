// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `modes:`, `observe:`, `solver:` and `count:` of a system file.
#include <ctype.h>
#include <stdio.h>

#include "system/reader.h"

enum { MAX_COPIES = 1000000 };

//------------------------------------ modes ------------------------------------

static cpl_status check_leave(const cpli_reader* r, const cpli_yaml* node, const cpli_yaml* when,
                              const cpli_yaml* at, const cpli_transition_def* l) {
  if (l->to.text == NULL)
    return cpli_fail_node(r, node, "leave: `to` is missing: the mode it leads to");
  if (when != NULL && at != NULL)
    return cpli_fail_node(r, at->key, "leave: give either `when` or `at`");
  if (at != NULL && l->terminate)
    return cpli_fail_node(r, at->key, "leave: give either `at` or `on`");
  if (when == NULL && at == NULL && !l->terminate)
    return cpli_fail_node(r, node, "leave: it needs `when`, `at` or `on: terminate`");
  if (when != NULL && when->text[0] == '\0')
    return cpli_fail_node(r, when, "when: the condition is empty");
  return CPL_OK;
}

static cpl_status read_leave(cpli_reader* r, const cpli_yaml* node, cpli_mode_def* mode,
                             cpl_system_def* outer) {
  static const char* const keys[] = {"when", "at", "on", "to", "set", "entry"};
  cpli_transition_def l = {.loc = cpli_reader_loc(r, node)};
  cpl_status st = cpli_yaml_mapping(r->yaml, node, "leave");
  if (st >= 0) st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  if (st < 0) return st;
  const cpli_yaml *when = cpli_yaml_get(node, "when"), *at = cpli_yaml_get(node, "at");
  const cpli_yaml *on = cpli_yaml_get(node, "on"), *to = cpli_yaml_get(node, "to");
  const cpli_yaml *set = cpli_yaml_get(node, "set"), *entry = cpli_yaml_get(node, "entry");
  cpli_event times = {0};
  cpli_setting* sets = NULL;
  if (to != NULL) st = cpli_read_text(r, to, "to", &l.to);
  if (st >= 0 && when != NULL) st = cpli_read_text(r, when, "when", &l.when);
  if (st >= 0 && at != NULL) st = cpli_read_times(r, at, &times);
  if (st >= 0 && entry != NULL) st = cpli_read_text(r, entry, "entry", &l.on_entry);
  if (st >= 0 && set != NULL) st = cpli_read_settings(r, set, "set", &sets, &l.n_sets);
  if (st >= 0 && on != NULL) {
    l.terminate = on->text != NULL && strcmp(on->text, "terminate") == 0;
    if (!l.terminate) return cpli_fail_node(r, on, "on: only `terminate` is known");
  }
  l.at = times.at;
  l.n_at = times.n_at;
  l.sets = sets;
  if (st >= 0) st = check_leave(r, node, when, at, &l);
  return st < 0 ? st : cpli_def_add_transition(outer, mode, l);
}

static cpl_status read_leaves(cpli_reader* r, const cpli_yaml* node, cpli_mode_def* mode,
                              cpl_system_def* outer) {
  cpl_status st = cpli_yaml_sequence(r->yaml, node, "leave");
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next)
    st = read_leave(r, c, mode, outer);
  return st;
}

static cpl_status check_mode_keys(const cpli_reader* r, const cpli_yaml* node) {
  static const char* const inside[] = {"models", "parameters",  "inputs", "connections", "outputs",
                                       "events", "constraints", "master", "solver",      "leave"};
  static const char whole[] = "belongs to the whole";
  static const char lines[] =
      "is not possible inside of a mode; a system with modes can be a model at the end of a line";
  static const struct {
    const char *key, *why;
  } outside[] = {
      {"couplet", whole},
      {"name", whole},
      {"experiment", whole},
      {"record", whole},
      {"observe", whole},
      {"tlm", lines},
      {"interfaces", lines},
      {"modes", "belongs to the whole; for modes inside of a mode take a model with `system:`"}};
  for (const cpli_yaml* c = node->first; c != NULL; c = c->next) {
    for (size_t i = 0; i < CPLI_COUNT(outside); i++) {
      if (strcmp(c->key->text, outside[i].key) == 0)
        return cpli_fail_node(r, c->key, "mode \"%s\": `%s` %s", node->key->text, outside[i].key,
                              outside[i].why);
    }
  }
  return cpli_check_keys(r, node, inside, CPLI_COUNT(inside));
}

static cpl_status read_mode(cpli_reader* r, const cpli_yaml* node) {
  cpl_system_def* inner = NULL;
  cpl_status st = cpli_yaml_mapping(r->yaml, node, node->key->text);
  if (st >= 0) st = check_mode_keys(r, node);
  if (st >= 0) st = cpli_def_add_mode(r->def, cpli_read_key(r, node), &inner);
  if (st < 0) return st;
  cpli_reader own = *r;
  own.def = inner;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) {
    cpli_mode_def* mode = &r->def->modes[r->def->n_modes - 1];
    st = strcmp(c->key->text, "leave") == 0 ? read_leaves(&own, c, mode, r->def)
                                            : cpli_read_section(&own, c);
  }
  if (st >= 0 && inner->n_models == 0)
    return cpli_fail_node(r, node->key, "mode \"%s\" has no models", node->key->text);
  if (st >= 0 && inner->no_memory) st = cpli_nomem(r->ctx);
  return st;
}

cpl_status cpli_read_modes(cpli_reader* r, const cpli_yaml* node) {
  cpl_status st = CPL_OK;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) {
    st = strcmp(c->key->text, "start") == 0 ? cpli_read_text(r, c, "start", &r->def->start_mode)
                                            : read_mode(r, c);
  }
  if (st >= 0 && r->def->n_modes == 0)
    return cpli_fail_node(r, node->key, "modes: there is no mode");
  if (st >= 0 && r->def->start_mode.text == NULL)
    return cpli_fail_node(r, node->key, "modes: `start` is missing: the mode to begin with");
  return st;
}

cpl_status cpli_read_observed(cpli_reader* r, const cpli_yaml* node) {
  cpli_observed o = {.name = cpli_read_key(r, node)};
  cpli_setting* in = NULL;
  cpl_status st = node->kind == CPLI_YAML_MAPPING
                      ? cpli_read_settings(r, node, node->key->text, &in, &o.n_in)
                      : cpli_read_text(r, node, node->key->text, &o.all);
  o.in = in;
  return st < 0 ? st : cpli_def_add_observed(r->def, o);
}

//------------------------------------ solver ------------------------------------

cpl_status cpli_read_experiment(cpli_reader* r, const cpli_yaml* node, bool of_solver) {
  const char* names[CPLI_EXPERIMENT_COUNT];
  int keys[CPLI_EXPERIMENT_COUNT];
  size_t n = 0;
  cpli_experiment e = {.values = cpl_default_experiment_def()};
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++) {
    const cpli_experiment_key* key = &cpli_experiment_keys[i];
    names[n] = of_solver ? key->of_solver : key->name;
    keys[n] = i;
    n += names[n] != NULL;
  }
  cpl_status st = cpli_check_keys(r, node, names, n);
  for (size_t i = 0; i < n && st >= 0; i++) {
    const cpli_yaml* value = cpli_yaml_get(node, names[i]);
    void* to = (char*)&e.values + cpli_experiment_keys[keys[i]].offset;
    cpli_located_text text;
    if (value == NULL) continue;
    e.locs[keys[i]] = cpli_reader_loc(r, value);
    if (keys[i] < CPLI_SOLVER) {
      st = cpli_yaml_number(r->yaml, value, names[i], to);
    } else {
      st = cpli_read_text(r, value, names[i], &text);
      if (st >= 0) *(const char**)to = text.text;
    }
  }
  return st < 0 ? st : cpli_def_set_experiment(r->def, &e);
}

//------------------------------------ count ------------------------------------

static bool word_at(const char* text, const char* at, size_t n) {
  bool before = at > text && (isalnum((unsigned char)at[-1]) || strchr("_.'", at[-1]) != NULL);
  return !before && !isalnum((unsigned char)at[n]) && at[n] != '_' && at[n] != '.';
}

// The word `index` becomes the number of the copy.
static const char* with_index(cpl_system_def* def, const char* text, int32_t index) {
  static const char word[] = "index";
  const size_t n = sizeof word - 1;
  if (strstr(text, word) == NULL) return text;
  char* out = cpli_def_array(def, 3 * strlen(text) + 16, 1);
  size_t used = 0;
  for (const char* at = text; out != NULL && *at != '\0';) {
    bool found = strncmp(at, word, n) == 0 && word_at(text, at, n);
    if (found) used += (size_t)sprintf(out + used, "%d", index), at += n;
    else out[used++] = *at++;
  }
  return out != NULL ? out : text;
}

static cpl_status add_copy(cpli_reader* r, const cpli_member* m, int32_t index) {
  cpli_member one = *m;
  char name[256];
  snprintf(name, sizeof name, "%s[%d]", m->name.text, index);
  one.name = cpli_def_text(r->def, name, m->name.loc);
  one.starts = cpli_def_array(r->def, m->n_starts, sizeof *one.starts);
  for (size_t i = 0; i < m->n_starts && one.starts != NULL; i++) {
    one.starts[i] = m->starts[i];
    one.starts[i].value.text = with_index(r->def, m->starts[i].value.text, index);
  }
  return cpli_def_add_model(r->def, one);
}

cpl_status cpli_read_count(cpli_reader* r, const cpli_yaml* node, cpli_member member) {
  double count = 0;
  cpl_status st = cpli_yaml_number(r->yaml, node, "count", &count);
  if (st < 0) return st;
  if (!(count >= 1) || count > MAX_COPIES || count != (int32_t)count)
    return cpli_fail_node(r, node, "count must be a whole number from 1 to %d, not %s", MAX_COPIES,
                          node->text);
  if (member.name.text == NULL || strlen(member.name.text) > 190)
    return cpli_fail_node(r, node, "the name is too long to be counted");
  for (int32_t i = 1; i <= (int32_t)count && st >= 0; i++) st = add_copy(r, &member, i);
  return st;
}
