// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file becomes a system, and what it wants to be recorded is checked. FMUs of systems have
// all of this room but this file: they read no files.
#include "couplet/assemble.h"

#include "assemble/assemble.h"
#include "couplet/component.h"
#include "model/distribution.h"

//------------------------------------ what is recorded ------------------------------------

static const char* variable_name(const void* user, size_t i) {
  return ((const cpl_description*)user)->vars[i].name;
}

static bool matches_any(const cpl_description* d, const char* pattern) {
  int32_t i = 0;
  if (cpl_find_variable(d, pattern) >= 0) return true;
  while (i < d->n_vars && !cpli_glob(pattern, d->vars[i].name)) i++;
  return i < d->n_vars;
}

static cpl_status check_record(const cpl_source* system) {
  const cpl_system_def* def = cpl_system_definition(system);
  const cpl_description* d = system->desc;
  for (size_t i = 0; i < def->n_record; i++) {
    const cpli_located_text* item = &def->record[i];
    char near[512];
    if (matches_any(d, item->text)) continue;
    if (strpbrk(item->text, "*?") != NULL)
      return cpli_fail_at(system->ctx, CPL_ERR_INPUT, &item->loc,
                          "record: no variable matches \"%s\"", item->text);
    return cpli_fail_at(
        system->ctx, CPL_ERR_INPUT, &item->loc, "record: there is no variable \"%s\"%s", item->text,
        cpli_did_you_mean(item->text, variable_name, d, (size_t)d->n_vars, near, sizeof near));
  }
  return CPL_OK;
}

cpl_status cpli_system_keep_checked(cpl_source** system) {
  if (cpli_distribution_serves((*system)->ctx)) return CPL_OK;  // it is not described here
  cpl_status st = check_record(*system);
  if (st >= 0) return st;
  cpl_source_destroy(*system);
  *system = NULL;
  return st;
}

//------------------------------------ opening ------------------------------------

cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out) {
  cpl_system_def* def = NULL;
  *out = NULL;
  cpl_status st = cpl_system_def_read(ctx, path, &def);
  if (st >= 0) st = cpl_system_build_owned(ctx, def, out);
  return st < 0 ? st : cpli_system_keep_checked(out);
}
