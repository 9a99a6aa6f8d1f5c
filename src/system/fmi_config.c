// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// fmi.config: lines "key, value, value, ...". `substeps` is for the whole model; `name` opens an
// interface, what follows belongs to it.
#include <stdio.h>
#include <strings.h>

#include "format/file.h"
#include "format/source_loc.h"
#include "system/composite.h"

enum { MAX_VALUES = 9 };

typedef struct line {
  char key[64];
  cpli_located_text values[MAX_VALUES];
  size_t n;
} line;

typedef struct config {
  cpl_system_def* def;
  const char* model;
  cpli_source_loc loc;
  cpli_interface* whole;
  cpli_interface item;  // the one that is open
  bool open;
  char dimensions[8], causality[32], domain[32];
} config;

//------------------------------------ kinds ------------------------------------

static bool same(const char* a, const char* b) { return strcasecmp(a, b) == 0; }

static const char* kind_of(const config* c) {
  if (!same(c->causality, "bidirectional")) return "signal";
  if (strcmp(c->dimensions, "6") == 0) return "3d";
  static const char* const domains[][2] = {{"mechanical", "translational"},
                                           {"rotational", "rotational"},
                                           {"hydraulic", "hydraulic"},
                                           {"electric", "electric"},
                                           {"signal", "signal"}};
  for (size_t i = 0; i < CPLI_COUNT(domains); i++) {
    if (same(c->domain, domains[i][0])) return domains[i][1];
  }
  return NULL;
}

// The older key for dimensions, causality and domain together.
static bool take_type(config* c, const char* type) {
  static const char* const types[][4] = {{"SignalInput", "1", "Input", "Signal"},
                                         {"SignalOutput", "1", "Output", "Signal"},
                                         {"1D", "1", "Bidirectional", "Mechanical"},
                                         {"3D", "6", "Bidirectional", "Mechanical"},
                                         {"Rotational", "1", "Bidirectional", "Rotational"},
                                         {"Hydraulic", "1", "Bidirectional", "Hydraulic"},
                                         {"Electric", "1", "Bidirectional", "Electric"}};
  for (size_t i = 0; i < CPLI_COUNT(types); i++) {
    if (!same(types[i][0], type)) continue;
    snprintf(c->dimensions, sizeof c->dimensions, "%s", types[i][1]);
    snprintf(c->causality, sizeof c->causality, "%s", types[i][2]);
    snprintf(c->domain, sizeof c->domain, "%s", types[i][3]);
    return true;
  }
  return false;
}

static cpl_status close_interface(config* c) {
  if (!c->open) return CPL_OK;
  c->open = false;
  const char* kind = kind_of(c);
  if (kind == NULL)
    return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->item.name.loc,
                        "interface %s: the domain %s with %s dimensions is not known",
                        c->item.name.text, c->domain, c->dimensions);
  c->item.kind = cpli_def_text(c->def, kind, c->item.name.loc);
  // there, a force acts on the interface, not on the model
  bool turned = strcmp(kind, "hydraulic") != 0 && strcmp(kind, "electric") != 0 &&
                strcmp(kind, "signal") != 0;
  if (turned) c->item.sign = cpli_def_text(c->def, "-1", c->item.name.loc);
  return cpli_def_add_interface(c->def, &c->item);
}

//------------------------------------ lines ------------------------------------

static cpl_status open_interface(config* c, const line* l) {
  cpl_status st = close_interface(c);
  char text[512];
  snprintf(text, sizeof text, "%s.%s", c->model, l->values[0].text);
  c->item = (cpli_interface){.name = cpli_def_text(c->def, text, c->loc)};
  c->open = true;
  take_type(c, "3D");
  return st;
}

static cpl_status take_list(config* c, const line* l, int which) {
  cpli_located_text* items = cpli_def_array(c->def, l->n, sizeof *items);
  if (items == NULL) return cpli_nomem(c->def->ctx);
  for (size_t i = 0; i < l->n; i++) {
    char text[80];
    const char* digits = l->values[i].text;
    if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0')
      return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->loc, "%s: %s is no value reference",
                          l->key, digits);
    snprintf(text, sizeof text, "#%s", digits);
    items[i] = cpli_def_text(c->def, text, c->loc);
  }
  c->item.lists[which] = (cpli_list){items, l->n};
  return CPL_OK;
}

static cpl_status take_word(char* out, size_t size, const line* l) {
  snprintf(out, size, "%s", l->values[0].text);
  return CPL_OK;
}

static cpl_status take_line(config* c, const line* l) {
  static const struct {
    const char* key;
    int list;
  } lists[] = {{"position", CPLI_LIST_POSITION}, {"orientation", CPLI_LIST_ORIENTATION},
               {"speed", CPLI_LIST_SPEED},       {"ang_speed", CPLI_LIST_ANGULAR_SPEED},
               {"force", CPLI_LIST_FORCE},       {"value", CPLI_LIST_VALUE}};
  if (l->n == 0)
    return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->loc, "%s: there is no value", l->key);
  if (strcmp(l->key, "substeps") == 0) return c->whole->substeps = l->values[0], CPL_OK;
  if (strcmp(l->key, "name") == 0) return open_interface(c, l);
  if (!c->open)
    return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->loc,
                        "%s: it belongs to no interface: `name` comes first", l->key);
  if (strcmp(l->key, "dimensions") == 0) return take_word(c->dimensions, sizeof c->dimensions, l);
  if (strcmp(l->key, "causality") == 0) return take_word(c->causality, sizeof c->causality, l);
  if (strcmp(l->key, "domain") == 0) return take_word(c->domain, sizeof c->domain, l);
  if (strcmp(l->key, "type") == 0 && take_type(c, l->values[0].text)) return CPL_OK;
  for (size_t i = 0; i < CPLI_COUNT(lists); i++) {
    if (strcmp(l->key, lists[i].key) == 0) return take_list(c, l, lists[i].list);
  }
  return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->loc, "unknown key %s", l->key);
}

// Blanks around the texts between commas are ignored.
static cpl_status split(config* c, char* text, line* l) {
  *l = (line){0};
  for (size_t i = 0; text != NULL; i++) {
    char* next = strchr(text, ',');
    if (next != NULL) *next++ = '\0';
    text += strspn(text, " \t\r");
    size_t n = strlen(text);
    while (n > 0 && strchr(" \t\r", text[n - 1]) != NULL) text[--n] = '\0';
    if (i == 0) snprintf(l->key, sizeof l->key, "%s", text);
    else if (l->n == MAX_VALUES)
      return cpli_fail_at(c->def->ctx, CPL_ERR_INPUT, &c->loc, "%s: more than %d values", l->key,
                          (int)MAX_VALUES);
    else l->values[l->n++] = cpli_def_text(c->def, text, c->loc);
    text = next;
  }
  return CPL_OK;
}

cpl_status cpli_fmi_config_read(cpl_system_def* def, const char* path, const char* model,
                                cpli_interface* whole) {
  char* bytes = NULL;
  size_t size = 0;
  cpl_status st = cpli_file_read(def->ctx, path, 1 << 20, &bytes, &size);
  if (st < 0) return st;
  config c = {.def = def, .model = model, .whole = whole};
  c.loc.file = cpli_def_text(def, path, (cpli_source_loc){0}).text;
  if (memchr(bytes, '\0', size) != NULL)
    st = cpli_fail_file(def->ctx, CPL_ERR_INPUT, path, "there are zero bytes in it");
  for (char* text = bytes; st >= 0 && text < bytes + size;) {
    char* end = memchr(text, '\n', (size_t)(bytes + size - text));
    line l;
    if (end == NULL) end = bytes + size;
    *end = '\0';
    c.loc.line++;
    st = split(&c, text, &l);
    if (st >= 0 && def->no_memory) st = cpli_nomem(def->ctx);
    if (st >= 0 && l.key[0] != '\0' && l.key[0] != '#') st = take_line(&c, &l);
    text = end + 1;
  }
  if (st >= 0) st = close_interface(&c);
  cpli_free(def->ctx, bytes);
  return st;
}
