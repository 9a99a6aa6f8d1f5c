// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The annotation of an SSP package: a system file without `models`, whose components the package
// describes. `start` and `isolate` add to these.
#include "system/reader.h"
#include "system/write.h"

static cpl_status find_model(const cpli_reader* r, const cpli_yaml* node, const char* name,
                             cpli_member** out) {
  int32_t i = cpli_names_find(&r->def->model_names, name);
  if (i < 0) return cpli_fail_node(r, node, "there is no component %s", name);
  *out = &r->def->models[i];
  return CPL_OK;
}

static cpl_status read_isolated(cpli_reader* r, const cpli_yaml* node) {
  cpl_status st = cpli_yaml_strings(r->yaml, node, "isolate");
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next) {
    cpli_member* m = NULL;
    st = find_model(r, c, c->text, &m);
    if (st >= 0) m->isolate = true;
  }
  return st;
}

// A value that the package has, too, is replaced.
static cpl_status add_starts(cpli_reader* r, cpli_member* m, const cpli_setting* added, size_t n) {
  cpli_setting* all = cpli_def_array(r->def, m->n_starts + n, sizeof *all);
  if (all == NULL) return n == 0 ? CPL_OK : cpli_nomem(r->ctx);
  size_t count = 0;
  for (size_t i = 0; i < m->n_starts; i++) {
    bool again = false;
    for (size_t k = 0; k < n && !again; k++)
      again = strcmp(added[k].name.text, m->starts[i].name.text) == 0;
    if (!again) all[count++] = m->starts[i];
  }
  for (size_t k = 0; k < n; k++) all[count++] = added[k];
  m->starts = all;
  m->n_starts = m->cap_starts = count;
  return CPL_OK;
}

static cpl_status read_starts(cpli_reader* r, const cpli_yaml* node) {
  cpl_status st = cpli_yaml_mapping(r->yaml, node, "start");
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next) {
    cpli_member* m = NULL;
    cpli_setting* added = NULL;
    size_t n = 0;
    st = find_model(r, c->key, c->key->text, &m);
    if (st >= 0) st = cpli_read_settings(r, c, c->key->text, &added, &n);
    if (st >= 0) st = add_starts(r, m, added, n);
  }
  return st;
}

static cpl_status read_section(cpli_reader* r, const cpli_yaml* node) {
  static const struct {
    const char* name;
    cpl_status (*read)(cpli_reader* r, const cpli_yaml* node);
  } own[] = {{"isolate", read_isolated}, {"start", read_starts}};
  for (size_t i = 0; i < CPLI_COUNT(own); i++) {
    if (strcmp(node->key->text, own[i].name) == 0) return own[i].read(r, node);
  }
  if (strcmp(node->key->text, "models") == 0)
    return cpli_fail_node(r, node->key, "the components of a package are in its description");
  return cpli_read_section(r, node);
}

cpl_status cpli_def_read_annotation(cpl_system_def* def, const char* text, int32_t line,
                                    const char* folder) {
  cpli_yaml_file* yaml = NULL;
  cpl_status st = cpli_yaml_parse(def->ctx, def->file, text, strlen(text), &yaml);
  if (st < 0) return st;
  cpli_reader r = {.ctx = def->ctx,
                   .def = def,
                   .yaml = yaml,
                   .folder = folder,
                   .lines = line - 1,
                   .inside = true};
  st = cpli_yaml_mapping(yaml, yaml->root, "an annotation " CPLI_SSP_ANNOTATION);
  for (const cpli_yaml* c = st >= 0 ? yaml->root->first : NULL; c != NULL && st >= 0; c = c->next)
    st = read_section(&r, c);
  if (st >= 0 && def->n_modes > 0) st = cpli_def_check_modes(def);
  cpli_yaml_close(yaml);
  return st < 0 ? st : def->no_memory ? cpli_nomem(def->ctx) : CPL_OK;
}
