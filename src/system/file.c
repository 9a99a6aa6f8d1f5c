// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The system file: YAML -> definition. Every section has a table of its keys; what a text names or
// computes is not looked at here.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "system/composite.h"
#include "system/reader.h"
#include "system/ssp.h"
#include "system/tlm_config.h"

typedef cpli_reader reader;

//------------------------------------ source locations, texts ------------------------------------

cpli_source_loc cpli_reader_loc(const reader* r, const cpli_yaml* node) {
  return (cpli_source_loc){
      .file = r->def->file, .line = r->lines + node->line, .column = node->column};
}

cpl_status cpli_fail_node(const reader* r, const cpli_yaml* node, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  cpli_source_loc loc = cpli_reader_loc(r, node);
  return cpli_fail_at(r->ctx, CPL_ERR_INPUT, &loc, "%s", text);
}

// Copies the text of a scalar, with its source location, into the definition.
cpl_status cpli_read_text(reader* r, const cpli_yaml* node, const char* what,
                          cpli_located_text* out) {
  const char* text;
  cpl_status st = cpli_yaml_string(r->yaml, node, what, &text);
  if (st >= 0) *out = cpli_def_text(r->def, text, cpli_reader_loc(r, node));
  return st;
}

cpli_located_text cpli_read_key(reader* r, const cpli_yaml* child) {
  return cpli_def_text(r->def, child->key->text, cpli_reader_loc(r, child->key));
}

static bool leads_outside(const char* path) {
  if (path[0] == '/') return true;
  for (const char* part = path; part != NULL; part = strchr(part, '/')) {
    part += *part == '/';
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return true;
  }
  return false;
}

// A path, relative to the folder of the file.
static cpl_status read_path(reader* r, const cpli_yaml* node, const char* what,
                            cpli_located_text* out) {
  const char* text;
  cpl_status st = cpli_yaml_string(r->yaml, node, what, &text);
  if (st < 0) return st;
  if (text[0] == '\0') return cpli_fail_node(r, node, "%s: the path is empty", what);
  if (r->inside && leads_outside(text))
    return cpli_fail_node(r, node, "%s: %s leads out of the package", what, text);
  size_t folder = text[0] == '/' ? 0 : strlen(r->folder), n = strlen(text);
  out->loc = cpli_reader_loc(r, node);
  char* path = cpli_def_array(r->def, folder + n + 1, 1);
  out->text = path;
  if (path == NULL) return CPL_OK;  // reported when the item is added
  memcpy(path, r->folder, folder);
  memcpy(path + folder, text, n + 1);
  return CPL_OK;
}

//------------------------------------ keys ------------------------------------

static const char* text_at(const void* user, size_t i) { return ((const char* const*)user)[i]; }

// "unknown ... (did you mean ...?)" or "(known: ...)".
static cpl_status unknown(const reader* r, const cpli_yaml* node, const char* what,
                          const char* const* known, size_t n) {
  char near[512];
  cpli_did_you_mean(node->text, text_at, known, n, near, sizeof near);
  bool list = near[0] == '\0';
  size_t used = 0;
  for (size_t i = 0; list && i < n && used < sizeof near; i++)
    used += (size_t)snprintf(near + used, sizeof near - used, "%s%s%s", i == 0 ? " (known: " : ", ",
                             known[i], i + 1 == n ? ")" : "");
  return cpli_fail_node(r, node, "unknown %s %s%s", what, node->text, near);
}

cpl_status cpli_check_keys(const reader* r, const cpli_yaml* mapping, const char* const* known,
                           size_t n) {
  for (const cpli_yaml* c = mapping->first; c != NULL; c = c->next) {
    size_t i = 0;
    while (i < n && strcmp(known[i], c->key->text) != 0) i++;
    if (i == n) return unknown(r, c->key, "key", known, n);
  }
  return CPL_OK;
}

// The index of a text among known ones.
static cpl_status read_choice(const reader* r, const cpli_yaml* node, const char* what,
                              const char* const* known, size_t n, size_t* out) {
  const char* text;
  cpl_status st = cpli_yaml_string(r->yaml, node, what, &text);
  if (st < 0) return st;
  for (*out = 0; *out < n; (*out)++) {
    if (strcmp(known[*out], text) == 0) return CPL_OK;
  }
  return unknown(r, node, what, known, n);
}

static size_t count_values(const cpli_yaml* node) {
  size_t n = 0;
  if (node->kind != CPLI_YAML_SEQUENCE) return 1;
  for (const cpli_yaml* c = node->first; c != NULL; c = c->next) n += count_values(c);
  return n;
}

// A list for all elements of an array: x: [1, 2] is x[1]: 1 and x[2]: 2, and lists in it are rows.
// `head` is the name of an element up to its last index.
static cpl_status read_list(reader* r, const cpli_yaml* list, const char* head, char bracket,
                            cpli_setting* out, size_t* n) {
  char name[512];
  cpl_status st = CPL_OK;
  size_t i = 1;
  for (const cpli_yaml* c = list->first; c != NULL && st >= 0; c = c->next, i++) {
    int len = snprintf(name, sizeof name, "%s%c%zu", head, bracket, i);
    if (len + 2 > (int)sizeof name)
      return cpli_fail_node(r, c, "the name of the array is too long");
    if (c->kind == CPLI_YAML_SEQUENCE) {
      st = read_list(r, c, name, ',', out, n);
      continue;
    }
    strcat(name, "]");
    out[*n].name = cpli_def_text(r->def, name, cpli_reader_loc(r, c));
    st = cpli_read_text(r, c, name, &out[(*n)++].value);
  }
  return st;
}

// Names and values, each a text or a list of texts.
cpl_status cpli_read_settings(reader* r, const cpli_yaml* node, const char* what,
                              cpli_setting** out, size_t* n) {
  cpl_status st = cpli_yaml_mapping(r->yaml, node, what);
  if (st < 0) return st;
  size_t most = 0;
  for (const cpli_yaml* c = node->first; c != NULL; c = c->next) most += count_values(c);
  *out = cpli_def_array(r->def, most, sizeof **out);
  if (*out == NULL) return CPL_OK;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) {
    if (c->kind == CPLI_YAML_SEQUENCE) {
      st = read_list(r, c, c->key->text, '[', *out, n);
      continue;
    }
    (*out)[*n].name = cpli_read_key(r, c);
    st = cpli_read_text(r, c, c->key->text, &(*out)[(*n)++].value);
  }
  return st;
}

//------------------------------------ sections ------------------------------------

static cpl_status read_name(reader* r, const cpli_yaml* node) {
  return cpli_read_text(r, node, "name", &r->def->name);
}

static cpl_status read_own_interfaces(reader* r, const cpli_yaml* model) {
  const cpli_yaml* list = cpli_yaml_get(model, "interfaces");
  if (list == NULL) return CPL_OK;
  if (cpli_yaml_get(model, "count") != NULL)
    return cpli_fail_node(
        r, list->key,
        "model \"%s\" is there several times: name the interfaces of each in the section "
        "interfaces (\"%s[1].end\": ...)",
        model->key->text, model->key->text);
  cpl_status st = cpli_yaml_mapping(r->yaml, list, "interfaces");
  for (const cpli_yaml* c = st >= 0 ? list->first : NULL; c != NULL && st >= 0; c = c->next)
    st = cpli_read_interface(r->def, r->yaml, model->key->text, c);
  return st;
}

static cpl_status read_model(reader* r, const cpli_yaml* node) {
  static const char* const keys[] = {"fmu",   "c",       "system", "as",
                                     "start", "isolate", "count",  "interfaces"};
  static const char* const kinds[] = {"me", "cs"};
  cpli_member m = {.name = cpli_read_key(r, node)};
  if (strchr(node->key->text, '.') != NULL) r->def->hierarchical = true;
  cpl_status st = cpli_yaml_mapping(r->yaml, node, node->key->text);
  if (st >= 0) st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  int given = 0;
  for (size_t i = CPL_MEMBER_FMU; i <= CPL_MEMBER_SYSTEM && st >= 0; i++) {
    const cpli_yaml* path = cpli_yaml_get(node, keys[i]);
    if (path == NULL) continue;
    if (given++ > 0)
      return cpli_fail_node(r, path->key, "model \"%s\" has more than one of fmu, c and system",
                            node->key->text);
    m.kind = (cpl_member_kind)i;
    st = read_path(r, path, keys[i], &m.path);
  }
  if (st >= 0 && given == 0)
    return cpli_fail_node(r, node->key, "model \"%s\" needs one of fmu, c and system",
                          node->key->text);

  const cpli_yaml* as = st >= 0 ? cpli_yaml_get(node, "as") : NULL;
  if (as != NULL) {
    size_t choice = 0;
    st = read_choice(r, as, "as", kinds, CPLI_COUNT(kinds), &choice);
    m.as = choice == 0 ? CPL_AS_MODEL_EXCHANGE : CPL_AS_CO_SIMULATION;
    m.as_place = cpli_reader_loc(r, as);
  }
  const cpli_yaml* isolate = st >= 0 ? cpli_yaml_get(node, "isolate") : NULL;
  if (isolate != NULL) st = cpli_yaml_boolean(r->yaml, isolate, "isolate", &m.isolate);
  const cpli_yaml* start = st >= 0 ? cpli_yaml_get(node, "start") : NULL;
  if (start != NULL) st = cpli_read_settings(r, start, "start", &m.starts, &m.n_starts);
  m.cap_starts = m.n_starts;
  if (st >= 0) st = read_own_interfaces(r, node);
  const cpli_yaml* count = st >= 0 ? cpli_yaml_get(node, "count") : NULL;
  if (count != NULL) return cpli_read_count(r, count, m);
  return st < 0 ? st : cpli_def_add_model(r->def, m);
}

static cpl_status read_parameter(reader* r, const cpli_yaml* node) {
  cpli_parameter p = {.name = cpli_read_key(r, node)};
  cpl_status st = cpli_read_text(r, node, node->key->text, &p.value);
  return st < 0 ? st : cpli_def_add_parameter(r->def, p);
}

static cpl_status read_input(reader* r, const cpli_yaml* node) {
  static const char* const keys[] = {"file", "column", "interpolation", "start", "unit"};
  static const char* const kinds[] = {"linear", "hold"};
  cpli_input in = {.name = cpli_read_key(r, node), .kind = CPLI_INPUT_EXPRESSION};
  cpl_status st = CPL_OK;
  if (node->kind != CPLI_YAML_MAPPING) {
    st = cpli_read_text(r, node, node->key->text, &in.expression);
    if (st >= 0 && node->text[0] == '\0')
      st = cpli_fail_node(r, node, "input \"%s\": the expression is empty", node->key->text);
    return st < 0 ? st : cpli_def_add_input(r->def, in);
  }
  st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  if (st < 0) return st;
  const cpli_yaml *file = cpli_yaml_get(node, "file"), *column = cpli_yaml_get(node, "column");
  const cpli_yaml *how = cpli_yaml_get(node, "interpolation"),
                  *start = cpli_yaml_get(node, "start");
  const cpli_yaml* lost = column != NULL ? column : how;
  if (file == NULL && lost != NULL)
    return cpli_fail_node(r, lost->key, "%s needs `file`", lost->key->text);
  if (file != NULL && start != NULL)
    return cpli_fail_node(r, start->key, "an input that follows a file has no start value");
  if (file == NULL && start == NULL)
    return cpli_fail_node(r, node, "input \"%s\" needs `file` or `start`", node->key->text);

  in.kind = file != NULL ? CPLI_INPUT_FILE : CPLI_INPUT_FREE;
  size_t choice = 0;
  if (file != NULL) st = read_path(r, file, "file", &in.file);
  if (st >= 0 && column != NULL) st = cpli_read_text(r, column, "column", &in.column);
  if (st >= 0 && how != NULL)
    st = read_choice(r, how, "interpolation", kinds, CPLI_COUNT(kinds), &choice);
  in.interpolation = choice == 0 ? CPL_INTERPOLATE_LINEAR : CPL_INTERPOLATE_HOLD;
  if (st >= 0 && start != NULL) st = cpli_read_text(r, start, "start", &in.start);
  const cpli_yaml* unit = st >= 0 ? cpli_yaml_get(node, "unit") : NULL;
  if (unit != NULL) st = cpli_read_text(r, unit, "unit", &in.unit);
  return st < 0 ? st : cpli_def_add_input(r->def, in);
}

// `factor` and `offset` of a connection.
static cpl_status read_scaling(reader* r, const cpli_yaml* node, cpli_connection* c) {
  const cpli_yaml *by = cpli_yaml_get(node, "factor"), *plus = cpli_yaml_get(node, "offset");
  double factor = 1, offset = 0;
  cpl_status st = by != NULL ? cpli_yaml_number(r->yaml, by, "factor", &factor) : CPL_OK;
  if (st >= 0 && plus != NULL) st = cpli_yaml_number(r->yaml, plus, "offset", &offset);
  if (st >= 0 && (factor == 0 || !isfinite(factor)))
    st = cpli_fail_node(r, by, "factor must be a finite number other than 0, not %g", factor);
  if (st >= 0 && !isfinite(offset))
    st = cpli_fail_node(r, plus, "offset must be finite, not %g", offset);
  if (st >= 0) c->transform = cpli_def_scaling(r->def, factor, offset, c->keep_units);
  return st;
}

static cpl_status read_connection(reader* r, const cpli_yaml* node) {
  static const char* const keys[] = {"from", "convert", "convert-units", "factor", "offset"};
  cpli_connection c = {.target = cpli_read_key(r, node)};
  if (node->kind != CPLI_YAML_MAPPING) {
    cpl_status st = cpli_read_text(r, node, node->key->text, &c.source);
    return st < 0 ? st : cpli_def_add_connection(r->def, c);
  }
  cpl_status st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  if (st < 0) return st;
  const cpli_yaml *from = cpli_yaml_get(node, "from"), *how = cpli_yaml_get(node, "convert");
  if (from == NULL)
    return cpli_fail_node(r, node, "connection \"%s\" needs `from`", node->key->text);
  if (how != NULL) st = cpli_yaml_boolean(r->yaml, how, "convert", &c.convert);
  const cpli_yaml* units = cpli_yaml_get(node, "convert-units");
  bool convert_units = true;
  if (st >= 0 && units != NULL)
    st = cpli_yaml_boolean(r->yaml, units, "convert-units", &convert_units);
  c.keep_units = !convert_units;
  if (st >= 0) st = read_scaling(r, node, &c);
  if (st >= 0) st = cpli_read_text(r, from, "from", &c.source);
  return st < 0 ? st : cpli_def_add_connection(r->def, c);
}

static cpl_status read_output(reader* r, const cpli_yaml* node) {
  cpli_output o = {.name = cpli_read_key(r, node)};
  cpl_status st = cpli_read_text(r, node, node->key->text, &o.source);
  return st < 0 ? st : cpli_def_add_output(r->def, o);
}

static cpl_status read_constraint(reader* r, const cpli_yaml* node) {
  cpli_located_text equation;
  cpl_status st = cpli_read_text(r, node, node->key->text, &equation);
  return st < 0 ? st : cpli_def_add_constraint(r->def, cpli_read_key(r, node), equation);
}

// One time or a list of them.
cpl_status cpli_read_times(reader* r, const cpli_yaml* node, cpli_event* e) {
  bool list = node->kind == CPLI_YAML_SEQUENCE;
  cpl_status st = CPL_OK;
  if (list && node->count == 0) return cpli_fail_node(r, node, "at: the list is empty");
  cpli_located_text* times = cpli_def_array(r->def, list ? node->count : 1, sizeof *times);
  e->at = times;
  if (times == NULL) return cpli_nomem(r->ctx);
  for (const cpli_yaml* c = list ? node->first : node; c != NULL && st >= 0; c = c->next) {
    st = cpli_read_text(r, c, "at", &times[e->n_at++]);
    if (st >= 0 && c->text[0] == '\0') st = cpli_fail_node(r, c, "at: a time is empty");
    if (!list) break;
  }
  return st;
}

static cpl_status read_event(reader* r, const cpli_yaml* node) {
  static const char* const keys[] = {"when", "at", "set"};
  cpli_event e = {.name = cpli_read_key(r, node)};
  cpl_status st = cpli_yaml_mapping(r->yaml, node, node->key->text);
  if (st >= 0) st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  if (st < 0) return st;
  const cpli_yaml *when = cpli_yaml_get(node, "when"), *at = cpli_yaml_get(node, "at");
  const cpli_yaml* set = cpli_yaml_get(node, "set");
  if ((when != NULL) == (at != NULL))
    return cpli_fail_node(r, when != NULL ? at->key : node->key,
                          "event \"%s\" needs either `when` or `at`", node->key->text);
  if (set == NULL)
    return cpli_fail_node(r, node->key, "event \"%s\" needs something to `set`", node->key->text);

  cpli_setting* sets = NULL;
  if (when != NULL) st = cpli_read_text(r, when, "when", &e.when);
  if (st >= 0 && when != NULL && when->text[0] == '\0')
    st = cpli_fail_node(r, when, "when: the condition is empty");
  if (st >= 0 && at != NULL) st = cpli_read_times(r, at, &e);
  if (st >= 0) st = cpli_read_settings(r, set, "set", &sets, &e.n_sets);
  e.sets = sets;
  return st < 0 ? st : cpli_def_add_event(r->def, e);
}

static cpl_status read_record(reader* r, const cpli_yaml* node) {
  cpli_located_text text;
  cpl_status st = cpli_read_text(r, node, "record", &text);
  return st < 0 ? st : cpli_def_add_record(r->def, text);
}

static cpl_status read_experiment(reader* r, const cpli_yaml* node) {
  return cpli_read_experiment(r, node, false);
}

static cpl_status read_solver(reader* r, const cpli_yaml* node) {
  return cpli_read_experiment(r, node, true);
}

static cpl_status read_bonds(reader* r, const cpli_yaml* node, cpli_cosimulation* m) {
  static const char* const keys[] = {"effort", "flow"};
  cpl_status st = cpli_yaml_sequence(r->yaml, node, "bonds");
  cpli_setting* bonds = st >= 0 ? cpli_def_array(r->def, node->count, sizeof *bonds) : NULL;
  m->bonds = bonds;
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next) {
    st = cpli_yaml_mapping(r->yaml, c, "a bond");
    if (st >= 0) st = cpli_check_keys(r, c, keys, CPLI_COUNT(keys));
    const cpli_yaml *effort = cpli_yaml_get(c, "effort"), *flow = cpli_yaml_get(c, "flow");
    if (st >= 0 && (effort == NULL || flow == NULL))
      return cpli_fail_node(
          r, c, "a bond needs `effort` and `flow`: the two inputs that carry its power");
    if (st >= 0 && bonds == NULL) return cpli_nomem(r->ctx);
    if (st >= 0) st = cpli_read_text(r, effort, "effort", &bonds[m->n_bonds].name);
    if (st >= 0) st = cpli_read_text(r, flow, "flow", &bonds[m->n_bonds++].value);
  }
  return st;
}

static cpl_status read_master(reader* r, const cpli_yaml* node) {
  cpli_cosimulation m = cpli_default_cosimulation();
  const struct {
    const char* key;
    cpli_located_text* text;
    double* number;
  } values[] = {{"algorithm", &m.algorithm, NULL}, {"on-loop", &m.on_loop, NULL},
                {"estimate", &m.estimate, NULL},   {"legacy", &m.legacy, NULL},
                {"step", NULL, &m.step},           {"tolerance", NULL, &m.tolerance},
                {"min-step", NULL, &m.min_step},   {"loop-tolerance", NULL, &m.loop_tolerance},
                {"order", NULL, &m.order},         {"iterations", NULL, &m.iterations},
                {"threads", NULL, &m.threads},     {"fixed-iterations", NULL, &m.fixed_iterations}};
  enum { VALUES = CPLI_COUNT(values) };
  const char* keys[VALUES + 3] = {
      [VALUES] = "steps", [VALUES + 1] = "bonds", [VALUES + 2] = "output-derivatives"};
  for (size_t i = 0; i < VALUES; i++) keys[i] = values[i].key;
  cpl_status st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  for (size_t i = 0; i < VALUES && st >= 0; i++) {
    const cpli_yaml* value = cpli_yaml_get(node, keys[i]);
    if (value == NULL) continue;
    if (values[i].text != NULL) st = cpli_read_text(r, value, keys[i], values[i].text);
    else st = cpli_yaml_number(r->yaml, value, keys[i], values[i].number);
  }
  const cpli_yaml *steps = cpli_yaml_get(node, "steps"), *bonds = cpli_yaml_get(node, "bonds"),
                  *slopes = cpli_yaml_get(node, "output-derivatives");
  cpli_setting* list = NULL;
  if (st >= 0 && steps != NULL) st = cpli_read_settings(r, steps, "steps", &list, &m.n_steps);
  m.steps = list;
  if (st >= 0 && bonds != NULL) st = read_bonds(r, bonds, &m);
  if (st >= 0 && slopes != NULL)
    st = cpli_yaml_boolean(r->yaml, slopes, "output-derivatives", &m.output_derivatives);
  m.loc = cpli_reader_loc(r, node->key);
  return st < 0 ? st : cpli_def_set_cosimulation(r->def, &m);
}

static cpl_status read_measures(reader* r, const cpli_yaml* node) {
  cpli_setting* list = NULL;
  cpl_status st = cpli_read_settings(r, node, "measures", &list, &r->def->n_measures);
  r->def->measures = list;
  return st;
}

static cpl_status read_study(reader* r, const cpli_yaml* node) {
  cpli_study_texts* study = &r->def->study;
  const struct {
    const char* key;
    cpli_located_text* text;
  } texts[] = {{"design", &study->design},
               {"sample", &study->sample},
               {"seed", &study->seed},
               {"table", &study->table}};
  enum { TEXTS = CPLI_COUNT(texts) };
  const char* keys[TEXTS + 1] = {[TEXTS] = "over"};
  for (size_t i = 0; i < TEXTS; i++) keys[i] = texts[i].key;
  cpl_status st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  for (size_t i = 0; i < TEXTS && st >= 0; i++) {
    const cpli_yaml* value = cpli_yaml_get(node, keys[i]);
    if (value != NULL) st = cpli_read_text(r, value, keys[i], texts[i].text);
  }
  const cpli_yaml* over = cpli_yaml_get(node, "over");
  cpli_setting* list = NULL;
  if (st >= 0 && over != NULL) st = cpli_read_settings(r, over, "over", &list, &study->n_over);
  study->over = list;
  return st;
}

//------------------------------------ fit ------------------------------------

static cpl_status read_positive(const reader* r, const cpli_yaml* node, const char* what,
                                double* out) {
  cpl_status st = cpli_yaml_number(r->yaml, node, what, out);
  if (st >= 0 && !(*out > 0))
    return cpli_fail_node(r, node, "%s must be greater than 0, not %g", what, *out);
  return st;
}

// A file, or a mapping with one.
static cpl_status read_fit_set(reader* r, const cpli_yaml* node, cpli_fit_set* out) {
  static const char* const keys[] = {"file", "start", "weight"};
  if (node->kind == CPLI_YAML_SCALAR) return read_path(r, node, "data", &out->file);
  cpl_status st = cpli_yaml_mapping(r->yaml, node, "data");
  if (st >= 0) st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  if (st < 0) return st;
  const cpli_yaml *file = cpli_yaml_get(node, "file"), *start = cpli_yaml_get(node, "start"),
                  *weight = cpli_yaml_get(node, "weight");
  if (file == NULL) return cpli_fail_node(r, node, "data need `file`: that of the measurements");
  st = read_path(r, file, "file", &out->file);
  cpli_setting* starts = NULL;
  if (st >= 0 && start != NULL) st = cpli_read_settings(r, start, "start", &starts, &out->n_starts);
  out->starts = starts;
  return st < 0 || weight == NULL ? st : read_positive(r, weight, "weight", &out->weight);
}

static cpl_status read_fit_data(reader* r, const cpli_yaml* node, cpli_fit_texts* fit) {
  const bool several = node->kind == CPLI_YAML_SEQUENCE;
  cpli_fit_set* sets = cpli_def_array(r->def, several ? node->count : 1, sizeof *sets);
  fit->data = sets;
  if (sets == NULL) return CPL_OK;  // an empty list, or it is reported at the end
  if (!several) return read_fit_set(r, node, &sets[fit->n_data++]);
  cpl_status st = CPL_OK;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next)
    st = read_fit_set(r, c, &sets[fit->n_data++]);
  return st;
}

// Names, or names with their values, which may be nothing.
static cpl_status read_vary(reader* r, const cpli_yaml* node, cpli_fit_texts* fit) {
  const bool list = node->kind == CPLI_YAML_SEQUENCE;
  cpl_status st = list ? CPL_OK : cpli_yaml_mapping(r->yaml, node, "vary");
  cpli_setting* vary = st >= 0 ? cpli_def_array(r->def, node->count, sizeof *vary) : NULL;
  fit->vary = vary;
  if (vary == NULL) return st;
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) {
    cpli_setting* one = &vary[fit->n_vary++];
    const bool nothing = c->kind == CPLI_YAML_SCALAR && c->text[0] == '\0';
    if (list) st = cpli_read_text(r, c, "vary", &one->name);
    else one->name = cpli_read_key(r, c);
    if (list || nothing) one->value = cpli_def_text(r->def, "", cpli_reader_loc(r, c));
    else st = cpli_read_text(r, c, c->key->text, &one->value);
  }
  return st;
}

static cpl_status read_fit(reader* r, const cpli_yaml* node) {
  static const char* const keys[] = {"data", "vary", "sigma", "loss", "scale", "confidence"};
  const cpli_yaml* values[CPLI_COUNT(keys)];
  cpli_fit_texts* fit = &r->def->fit;
  cpli_setting* sigma = NULL;
  cpl_status st = cpli_check_keys(r, node, keys, CPLI_COUNT(keys));
  for (size_t i = 0; i < CPLI_COUNT(keys); i++) values[i] = cpli_yaml_get(node, keys[i]);
  if (st >= 0 && values[0] != NULL) st = read_fit_data(r, values[0], fit);
  if (st >= 0 && values[1] != NULL) st = read_vary(r, values[1], fit);
  if (st >= 0 && values[2] != NULL)
    st = cpli_read_settings(r, values[2], keys[2], &sigma, &fit->n_sigma);
  fit->sigma = sigma;
  if (st >= 0 && values[3] != NULL) st = cpli_read_text(r, values[3], keys[3], &fit->loss);
  if (st >= 0 && values[4] != NULL) st = read_positive(r, values[4], keys[4], &fit->scale);
  if (st >= 0 && values[5] != NULL) st = read_positive(r, values[5], keys[5], &fit->confidence);
  if (st >= 0 && fit->confidence >= 1)
    st = cpli_fail_node(r, values[5], "confidence must be less than 1, not %g", fit->confidence);
  return st;
}

static cpl_status read_interface(reader* r, const cpli_yaml* node) {
  return cpli_read_interface(r->def, r->yaml, NULL, node);
}

static cpl_status read_tlm(reader* r, const cpli_yaml* node) {
  return cpli_read_line(r->def, r->yaml, node);
}

//------------------------------------ file ------------------------------------

typedef enum form { ONE, EACH_KEY, EACH_ITEM, MAPPING, VERSION } form;

static const struct section {
  const char* name;
  form form;
  cpl_status (*read)(reader* r, const cpli_yaml* node);  // of the whole, or of each child
} sections[] = {
    {"couplet", VERSION, NULL},
    {"name", ONE, read_name},
    {"models", EACH_KEY, read_model},
    {"parameters", EACH_KEY, read_parameter},
    {"inputs", EACH_KEY, read_input},
    {"connections", EACH_KEY, read_connection},
    {"outputs", EACH_KEY, read_output},
    {"events", EACH_KEY, read_event},
    {"record", EACH_ITEM, read_record},
    {"experiment", MAPPING, read_experiment},
    {"measures", MAPPING, read_measures},
    {"study", MAPPING, read_study},
    {"fit", MAPPING, read_fit},
    {"master", MAPPING, read_master},
    {"modes", MAPPING, cpli_read_modes},
    {"observe", EACH_KEY, cpli_read_observed},
    {"solver", MAPPING, read_solver},
    {"tlm", EACH_ITEM, read_tlm},
    {"constraints", EACH_KEY, read_constraint},
    {"interfaces", EACH_KEY, read_interface},
};

// Names for messages: those that can be used now.
static cpl_status unknown_section(const reader* r, const cpli_yaml* key) {
  const char* known[CPLI_COUNT(sections)];
  size_t n = 0;
  for (size_t i = 0; i < CPLI_COUNT(sections); i++) {
    known[n++] = sections[i].name;
  }
  return unknown(r, key, "key", known, n);
}

static cpl_status read_section(reader* r, const struct section* s, const cpli_yaml* node) {
  cpl_status st = CPL_OK;
  if (s->form == VERSION) return CPL_OK;
  if (s->form == ONE) return s->read(r, node);
  bool nothing = node->kind == CPLI_YAML_SCALAR && node->text[0] == '\0' && !node->quoted;
  if (nothing) return CPL_OK;
  st = s->form == EACH_ITEM ? cpli_yaml_sequence(r->yaml, node, s->name)
                            : cpli_yaml_mapping(r->yaml, node, s->name);
  if (s->form == MAPPING) return st < 0 ? st : s->read(r, node);
  for (const cpli_yaml* c = node->first; c != NULL && st >= 0; c = c->next) st = s->read(r, c);
  return st;
}

cpl_status cpli_read_section(reader* r, const cpli_yaml* node) {
  size_t i = 0;
  while (i < CPLI_COUNT(sections) && strcmp(sections[i].name, node->key->text) != 0) i++;
  return i < CPLI_COUNT(sections) ? read_section(r, &sections[i], node)
                                  : unknown_section(r, node->key);
}

static cpl_status check_version(reader* r, const cpli_yaml* root) {
  const cpli_yaml* version = cpli_yaml_get(root, "couplet");
  char got[64];
  if (version == NULL)
    return cpli_fail_node(r, root, "this is no system file: the key `couplet: 1` is missing");
  if (version->kind == CPLI_YAML_SCALAR && strcmp(version->text, "1") == 0) return CPL_OK;
  return cpli_fail_node(r, version, "couplet: this version reads files of version 1, not %s",
                        cpli_yaml_what(version, got));
}

static cpl_status read_root(reader* r, const cpli_yaml* root) {
  cpl_status st = cpli_yaml_mapping(r->yaml, root, "a system file");
  if (st >= 0) st = check_version(r, root);
  for (const cpli_yaml* c = root->first; c != NULL && st >= 0; c = c->next)
    st = cpli_read_section(r, c);
  if (st >= 0 && r->def->n_modes > 0) return cpli_def_check_modes(r->def);
  if (st < 0 || r->def->n_models > 0 || r->nested) return st;
  const cpli_yaml* models = cpli_yaml_get(root, "models");
  return cpli_fail_node(r, models != NULL ? models->key : root, "the system has no models");
}

// Where the file is, for messages and cycles.
static cpl_status keep_path(cpl_system_def* def, const char* path) {
  char* real = realpath(path, NULL);
  def->file = cpli_arena_strdup(&def->arena, path);
  if (real != NULL) def->canonical = cpli_arena_strdup(&def->arena, real);
  bool lost = def->file == NULL || (real != NULL && def->canonical == NULL);
  free(real);
  return lost ? cpli_nomem(def->ctx) : CPL_OK;
}

// A file of the TLM framework.
static cpl_status read_framework(cpl_context* ctx, const char* path,
                                 cpl_status (*fill)(cpl_system_def*), cpl_system_def** out) {
  cpl_system_def* def = NULL;
  cpl_status st = cpl_system_def_create(ctx, &def);
  if (st >= 0) st = keep_path(def, path);
  if (st >= 0) st = fill(def);
  if (st >= 0 && def->no_memory) st = cpli_nomem(ctx);
  if (st >= 0) *out = def;
  else cpl_system_def_destroy(def);
  return st;
}

cpl_status cpl_system_def_read(cpl_context* ctx, const char* path, cpl_system_def** out) {
  return cpli_def_read(ctx, path, false, out);
}

cpl_status cpli_def_read(cpl_context* ctx, const char* path, bool nested, cpl_system_def** out) {
  cpli_yaml_file* yaml = NULL;
  cpl_system_def* def = NULL;
  *out = NULL;
  if (cpli_is_ssp(path)) {
    cpl_ssp_def package = cpl_default_ssp_def();
    package.path = path;
    return cpli_def_read_ssp(ctx, &package, NULL, out);
  }
  if (cpli_is_composite(path)) return read_framework(ctx, path, cpli_composite_read, out);
  if (cpli_is_tlm_config(path)) return read_framework(ctx, path, cpli_tlm_config_system, out);
  cpl_status st = cpli_yaml_read(ctx, path, &yaml);
  if (st >= 0) st = cpl_system_def_create(ctx, &def);
  if (st >= 0) st = keep_path(def, path);
  if (st >= 0) {
    char* folder = cpli_arena_strdup(&def->arena, path);
    if (folder != NULL) folder[strrchr(path, '/') != NULL ? strrchr(path, '/') - path + 1 : 0] = 0;
    reader r = {.ctx = ctx, .def = def, .yaml = yaml, .folder = folder, .nested = nested};
    st = folder != NULL ? read_root(&r, yaml->root) : cpli_nomem(ctx);
  }
  cpli_yaml_close(yaml);
  if (st >= 0 && def->no_memory) st = cpli_nomem(ctx);
  if (st < 0) {
    cpl_system_def_destroy(def);
    return st;
  }
  *out = def;
  return CPL_OK;
}
