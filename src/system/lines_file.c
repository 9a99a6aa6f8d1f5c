// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads both sections from YAML by tables of keys; the message about an unknown key suggests the
// nearest ones.
#include <stdio.h>

#include "system/lines.h"

//------------------------------------ keys ------------------------------------

// A key and where its value goes: one text, a list of texts, or yes and no.
typedef struct key {
  const char* name;
  cpli_located_text* text;
  cpli_list* list;
  bool* flag;
} key;

typedef struct reading {
  cpl_system_def* def;
  const cpli_yaml_file* yaml;
  const key* keys;
  size_t n;
} reading;

static const char* key_at(const void* user, size_t i) { return ((const key*)user)[i].name; }

static cpli_source_loc loc_of(const cpl_system_def* def, const cpli_yaml* node) {
  return (cpli_source_loc){.file = def->file, .line = node->line, .column = node->column};
}

static cpli_located_text text_of(const reading* r, const char* text, const cpli_yaml* node) {
  return cpli_def_text(r->def, text, loc_of(r->def, node));
}

static cpl_status unknown_key(const reading* r, const cpli_yaml* node) {
  char near[512];
  cpli_source_loc loc = loc_of(r->def, node);
  cpli_did_you_mean(node->text, key_at, r->keys, r->n, near, sizeof near);
  size_t used = strlen(near);
  for (size_t i = 0; used < sizeof near && i < r->n && (i > 0 || used == 0); i++)
    used += (size_t)snprintf(near + used, sizeof near - used, "%s%s%s", i == 0 ? " (known: " : ", ",
                             r->keys[i].name, i + 1 == r->n ? ")" : "");
  return cpli_fail_at(r->def->ctx, CPL_ERR_INPUT, &loc, "unknown key %s%s", node->text, near);
}

// A single text is a list of one.
static cpl_status read_list(const reading* r, const cpli_yaml* node, cpli_list* out) {
  const char* text;
  bool one = node->kind == CPLI_YAML_SCALAR;
  size_t n = one ? 1 : node->count, k = 0;
  cpl_status st = one ? CPL_OK : cpli_yaml_strings(r->yaml, node, node->key->text);
  cpli_located_text* items = st >= 0 ? cpli_def_array(r->def, n, sizeof *items) : NULL;
  if (st >= 0 && n > 0 && items == NULL) return cpli_nomem(r->def->ctx);
  for (const cpli_yaml* c = one ? node : node->first; c != NULL && st >= 0;
       c = one ? NULL : c->next) {
    st = cpli_yaml_string(r->yaml, c, node->key->text, &text);
    if (st >= 0) items[k++] = text_of(r, text, c);
  }
  *out = (cpli_list){items, k};
  return st;
}

static cpl_status read_key(const reading* r, const cpli_yaml* node, const key* k) {
  const char* text;
  if (k->list != NULL) return read_list(r, node, k->list);
  if (k->flag != NULL) return cpli_yaml_boolean(r->yaml, node, k->name, k->flag);
  cpl_status st = cpli_yaml_string(r->yaml, node, k->name, &text);
  if (st >= 0) *k->text = text_of(r, text, node);
  return st;
}

static cpl_status read_keys(const reading* r, const cpli_yaml* node, const char* what) {
  cpl_status st = cpli_yaml_mapping(r->yaml, node, what);
  if (st < 0) return st;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) {
    size_t i = 0;
    while (i < r->n && strcmp(r->keys[i].name, c->key->text) != 0) i++;
    st = i < r->n ? read_key(r, c, &r->keys[i]) : unknown_key(r, c->key);
  }
  return st;
}

//------------------------------------ sections ------------------------------------

// "end" of the model "left" is "left.end".
static cpli_located_text interface_name(const reading* r, const char* model, const cpli_yaml* at) {
  if (model == NULL) return text_of(r, at->text, at);
  size_t size = strlen(model) + strlen(at->text) + 2;
  char* name = cpli_def_array(r->def, size, 1);
  if (name != NULL) snprintf(name, size, "%s.%s", model, at->text);
  return text_of(r, name != NULL ? name : "", at);
}

cpl_status cpli_read_interface(cpl_system_def* def, const cpli_yaml_file* yaml, const char* model,
                               const cpli_yaml* node) {
  cpli_interface item = {0};
  cpli_list* l = item.lists;
  const key of_interface[] = {{"kind", &item.kind, NULL, NULL},
                              {"position", NULL, &l[CPLI_LIST_POSITION], NULL},
                              {"orientation", NULL, &l[CPLI_LIST_ORIENTATION], NULL},
                              {"speed", NULL, &l[CPLI_LIST_SPEED], NULL},
                              {"angular-speed", NULL, &l[CPLI_LIST_ANGULAR_SPEED], NULL},
                              {"force", NULL, &l[CPLI_LIST_FORCE], NULL},
                              {"torque", NULL, &l[CPLI_LIST_TORQUE], NULL},
                              {"value", NULL, &l[CPLI_LIST_VALUE], NULL},
                              {"sign", &item.sign, NULL, NULL}};
  const key of_model[] = {{"solver", &item.solver, NULL, NULL},
                          {"hold", &item.hold, NULL, NULL},
                          {"substeps", &item.substeps, NULL, NULL},
                          {"origin", NULL, &l[CPLI_LIST_ORIGIN], NULL},
                          {"angles", NULL, &l[CPLI_LIST_ANGLES], NULL}};
  bool whole = model == NULL && strchr(node->key->text, '.') == NULL;
  reading r = {def, yaml, whole ? of_model : of_interface,
               whole ? CPLI_COUNT(of_model) : CPLI_COUNT(of_interface)};
  item.name = interface_name(&r, model, node->key);
  cpl_status st = read_keys(&r, node, node->key->text);
  if (st >= 0 && !whole && item.kind.text == NULL)
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item.name.loc,
                        "the interface %s needs a kind, such as translational or signal",
                        item.name.text);
  return st < 0 ? st : cpli_def_add_interface(def, &item);
}

cpl_status cpli_read_line(cpl_system_def* def, const cpli_yaml_file* yaml, const cpli_yaml* node) {
  cpli_line item = {.loc = loc_of(def, node)};
  const key keys[] = {{"from", &item.from, NULL, NULL},
                      {"to", &item.to, NULL, NULL},
                      {"delay", &item.delay, NULL, NULL},
                      {"Zf", &item.zf, NULL, NULL},
                      {"Zfr", &item.zfr, NULL, NULL},
                      {"alpha", &item.alpha, NULL, NULL},
                      {"compensate", NULL, NULL, &item.compensate},
                      {"apart", NULL, NULL, &item.apart}};
  reading r = {def, yaml, keys, CPLI_COUNT(keys)};
  cpl_status st = read_keys(&r, node, "a line");
  if (st >= 0 && (item.from.text == NULL || item.to.text == NULL || item.delay.text == NULL))
    return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item.loc,
                        "a line needs `from` and `to`, the interfaces it joins, and its `delay`");
  return st < 0 ? st : cpli_def_add_line(def, &item);
}

size_t cpli_model_of_end(const cpl_system_def* def, const char* end) {
  const char* interface;
  const int32_t model = cpli_split_name(def, end, &interface);
  return model >= 0 ? (size_t)model : def->n_models - 1;
}
