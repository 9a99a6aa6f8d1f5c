// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens a file by its name: a model, or a system, which is built.
#include "assemble/assemble.h"
#include "base/base.h"
#include "couplet/experiment.h"
#include "format/file.h"
#include "ssp/ssp.h"

bool cpl_is_system_path(const char* path) {
  return cpli_ends_with(path, ".yaml") || cpli_ends_with(path, ".yml") ||
         cpli_ends_with(path, ".xml") || strcmp(path, "tlm.config") == 0 ||
         cpli_ends_with(path, "/tlm.config") || cpli_is_ssp(path);
}

static cpl_status open_definition(cpl_context* ctx, const cpl_open_def* open,
                                  cpl_system_def** out) {
  const bool ssp = cpli_is_ssp(open->path);
  if (!ssp && (open->variant != NULL || open->n_parameters > 0))
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: only an SSP package has variants and parameter files",
                    open->path);
  if (!ssp) return cpl_system_def_read(ctx, open->path, out);
  cpl_ssp_def def = cpl_default_ssp_def();
  def.path = open->path;
  def.variant = open->variant;
  def.parameters = open->parameters;
  def.n_parameters = open->n_parameters;
  return cpl_system_def_read_ssp(ctx, &def, out);
}

static cpl_status open_system(cpl_context* ctx, const cpl_open_def* open, cpl_source** out) {
  cpl_system_def* def = NULL;
  cpl_status st = open_definition(ctx, open, &def);
  if (st >= 0 && open->isolate) st = cpl_system_def_isolate(def, true, open->call_timeout);
  if (st >= 0 && open->call_log != NULL) st = cpl_system_def_call_log(def, open->call_log);
  if (st < 0) {
    cpl_system_def_destroy(def);
    return st;
  }
  st = cpli_system_build_owned(ctx, def, open->starts, open->n_starts, out);
  return st < 0 ? st : cpli_system_keep_checked(out);
}

cpl_status cpl_open_any(cpl_context* ctx, const cpl_open_def* given, cpl_source** out) {
  *out = NULL;
  cpl_open_def def = cpl_default_open_def();
  cpl_status st = cpli_read_def(ctx, "cpl_open_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.path == NULL) return cpl_fail(ctx, CPL_ERR_INPUT, "there is no file to open");
  if (!(def.call_timeout >= 0))
    return cpl_fail(ctx, CPL_ERR_INPUT, "the call timeout must be positive, not %g",
                    def.call_timeout);
  if (cpl_is_system_path(def.path)) return open_system(ctx, &def, out);
  if (def.variant != NULL || def.n_parameters > 0)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: only an SSP package has variants and parameter files",
                    def.path);
  return cpl_open(ctx, &def, out);
}
