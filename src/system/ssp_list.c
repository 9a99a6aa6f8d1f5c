// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Lists what a package contains, and the values that its parameter sets give.
#include <stdio.h>

#include "system/ssp_flat.h"

typedef struct list {
  cpl_ssp_item_fn* each;
  void* user;
} list;

static void add(const list* l, cpl_ssp_item item, const cpli_source_loc* loc) {
  item.file = loc->file;
  item.line = loc->line;
  l->each(l->user, &item);
}

static void list_element(const list* l, const cpli_ssp_element* e, const char* path, int depth) {
  const cpli_ssp_element* system = e->inner != NULL ? e->inner : e;
  const cpl_ssp_item_kind kind = e->kind == CPLI_SSP_SYSTEM      ? CPL_SSP_SYSTEM
                                 : e->kind == CPLI_SSP_COMPONENT ? CPL_SSP_COMPONENT
                                                                 : CPL_SSP_DICTIONARY;
  const char* text = kind == CPL_SSP_COMPONENT ? e->source : e->dictionary;
  add(l, (cpl_ssp_item){kind, depth, path, text != NULL ? text : "", NULL, NULL, 0}, &e->loc);
  for (size_t i = 0; i < system->n_connectors; i++) {
    const cpli_ssp_connector* c = &system->connectors[i];
    add(l,
        (cpl_ssp_item){CPL_SSP_CONNECTOR, depth + 1, c->name, cpli_ssp_kind_names[c->kind],
                       c->type.unit, NULL, 0},
        &c->loc);
  }
  for (size_t i = 0; i < system->n_elements; i++) {
    char inner[1024];
    snprintf(inner, sizeof inner, "%s%s%s", depth > 0 ? path : "", depth > 0 ? "." : "",
             system->elements[i].name);
    list_element(l, &system->elements[i], inner, depth + 1);
  }
}

static void list_value(const list* l, const char* name, const cpli_located_text* value,
                       const cpl_unit* unit) {
  if (value->text != NULL)
    add(l,
        (cpl_ssp_item){CPL_SSP_VALUE, 0, name, value->text, unit != NULL ? unit->name : NULL, NULL,
                       0},
        &value->loc);
}

void cpl_system_def_list_ssp(const cpl_system_def* def, cpl_ssp_item_fn* each, void* user) {
  const cpli_ssp* ssp = def->ssp;
  const list l = {each, user};
  if (ssp == NULL) return;
  const cpli_source_loc none = {0};
  for (size_t i = 0; i < ssp->n_variants; i++)
    add(&l,
        (cpl_ssp_item){CPL_SSP_VARIANT, 0, ssp->variants[i].name, ssp->variants[i].file, NULL, NULL,
                       0},
        &none);
  list_element(&l, ssp->system, ssp->system->name, 0);
  for (size_t i = 0; i < def->n_parameters; i++)
    list_value(&l, def->parameters[i].name.text, &def->parameters[i].value,
               def->parameters[i].unit);
  for (size_t i = 0; i < def->n_inputs; i++)
    list_value(&l, def->inputs[i].name.text, &def->inputs[i].start, def->inputs[i].meaning);
  for (size_t i = 0; i < def->n_models; i++) {
    const cpli_member* m = &def->models[i];
    for (size_t k = 0; k < m->n_starts; k++) {
      char name[1024];
      const cpli_transform* t = m->starts[k].transform;
      snprintf(name, sizeof name, "%s.%s", m->name.text, m->starts[k].name.text);
      list_value(&l, name, &m->starts[k].value, t != NULL ? t->unit : NULL);
    }
  }
}
