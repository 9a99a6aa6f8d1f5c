// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file with other start values than those of a file.
#include <string.h>

#include "base/base.h"
#include "cli.h"

static bool is_system_file(const char* path) {
  return cpl_is_system_path(path) && !cli_ends_with(path, ".ssp") && !cli_ends_with(path, ".ssd");
}

// The definition of the file, or one with the model alone. *prefix: before the names of variables.
static cpl_status define(cpl_context* ctx, const char* path, cpl_system_def** def,
                         const char** prefix) {
  *prefix = "";
  if (is_system_file(path)) return cpl_system_def_read(ctx, path, def);
  if (cpl_is_system_path(path))
    return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                    "--write: start values of an SSP package are not written; `couplet convert %s "
                    "plant.yaml` makes a system file of it",
                    path);
  cpl_status st = cpl_system_def_create(ctx, def);
  cpl_member_def member = cpl_default_member_def();
  member.name = *prefix = "model";
  member.path = path;
  member.kind = cli_ends_with(path, ".c") ? CPL_MEMBER_C : CPL_MEMBER_FMU;
  return st < 0 ? st : cpl_system_def_add_model(*def, &member);
}

static cpl_status set_value(cpl_context* ctx, cpl_system_def* def, const char* prefix,
                            const cpl_start* start) {
  char* full = cpli_printf(ctx, "%s%s%s", prefix, prefix[0] != '\0' ? "." : "", start->name);
  if (full == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  cpl_status st = cpl_system_def_set(def, full, start->value);
  cpli_free(ctx, full);
  return st;
}

cpl_status cli_write_system(cpl_context* ctx, const char* path, const cpl_start* starts, size_t n,
                            const char* out) {
  cpl_system_def* def = NULL;
  const char* prefix = "";
  cpl_status st = define(ctx, path, &def, &prefix);
  for (size_t i = 0; i < n && st >= 0; i++) st = set_value(ctx, def, prefix, &starts[i]);
  if (st >= 0) st = cpl_system_def_write(def, out);
  cpl_system_def_destroy(def);
  return st;
}
