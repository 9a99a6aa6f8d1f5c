// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connectors of the components of an SSP package against the variables of their FMUs.
#include <stdio.h>

#include "assemble/assemble.h"
#include "couplet/check.h"
#include "experiment/experiment.h"
#include "ssp/ssp.h"

// Whether a connector fits the variable of its name.
static void check_connector(const cpl_check_def* def, const cpl_description* d, const char* path,
                            const cpli_ssp_connector* c) {
  static const int causalities[] = {[CPLI_SSP_INPUT] = CPL_CAUSALITY_INPUT,
                                    [CPLI_SSP_OUTPUT] = CPL_CAUSALITY_OUTPUT,
                                    [CPLI_SSP_PARAMETER] = CPL_CAUSALITY_PARAMETER};
  const int32_t var = cpl_find_variable(d, c->name);
  bool array = false;
  for (int32_t i = 0; i < d->n_arrays && !array; i++)
    array = strcmp(d->arrays[i].name, c->name) == 0;
  char text[1024] = "";
  if (var < 0 && !array) {
    snprintf(text, sizeof text, "component %s has a connector %s, but its FMU has no such variable",
             path, c->name);
  } else if (var >= 0 && c->kind <= CPLI_SSP_PARAMETER &&
             (int)d->vars[var].causality != causalities[c->kind]) {
    snprintf(text, sizeof text,
             "the connector %s of component %s is of another kind in the FMU: %s", c->name, path,
             cpl_causality_name((cpl_causality)d->vars[var].causality));
  }
  if (text[0] == '\0' || def->on_finding == NULL) return;
  def->on_finding(def->user, &(cpl_finding){.line = c->loc.line,
                                            .column = c->loc.column,
                                            .rule = "connector",
                                            .text = text,
                                            .file = c->loc.file});
}

// Connectors of the components of a package.
static void check_elements(const cpl_check_def* def, const cpl_source* source,
                           const cpli_ssp_element* e, const char* path) {
  const cpl_system_def* system = cpl_system_definition(source);
  const cpli_ssp_element* inside = e->inner != NULL ? e->inner : e;
  const int32_t model = e->fmu != NULL ? cpli_names_find(&system->model_names, path) : -1;
  for (size_t i = 0; i < e->n_connectors && model >= 0; i++)
    check_connector(def, cpli_member_description(source, (size_t)model), path, &e->connectors[i]);
  for (size_t i = 0; i < inside->n_elements; i++) {
    char name[1024];
    snprintf(name, sizeof name, "%s%s%s", path, path[0] != '\0' ? "." : "",
             inside->elements[i].name);
    check_elements(def, source, &inside->elements[i], name);
  }
}

void cpli_check_connectors(const cpl_source* source, const cpl_check_def* def) {
  const cpl_system_def* system = cpl_system_definition(source);
  if (system != NULL && system->ssp != NULL) check_elements(def, source, system->ssp->system, "");
}
