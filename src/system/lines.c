// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adds interfaces and lines to a definition.
#include "system/lines.h"

cpl_status cpli_def_add_interface(cpl_system_def* def, const cpli_interface* item) {
  if (!cpli_grow(def->ctx, (void**)&def->interfaces, &def->cap_interfaces, def->n_interfaces,
                 sizeof *item) ||
      def->no_memory)
    return cpli_nomem(def->ctx);
  for (size_t i = 0; i < def->n_interfaces; i++) {
    if (strcmp(def->interfaces[i].name.text, item->name.text) == 0)
      return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &item->name.loc,
                          "the interface %s is there twice", item->name.text);
  }
  def->interfaces[def->n_interfaces++] = *item;
  return CPL_OK;
}

cpl_status cpli_def_add_line(cpl_system_def* def, const cpli_line* item) {
  if (!cpli_grow(def->ctx, (void**)&def->lines, &def->cap_lines, def->n_lines, sizeof *item) ||
      def->no_memory)
    return cpli_nomem(def->ctx);
  def->lines[def->n_lines++] = *item;
  return CPL_OK;
}
