// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --input: a table, and which variables its columns are for.
#include <stdio.h>

#include "cli.h"

cpl_status cli_read_table(cpl_context* ctx, const char* path, cpl_table** out) {
  if (!cli_ends_with(path, ".mat")) return cpl_table_read(ctx, path, out);
  cpl_status st = cpl_results_read(ctx, path, out);
  if (st >= 0) st = cpl_table_check(ctx, *out, path);
  if (st < 0) {
    cpl_table_destroy(*out);
    *out = NULL;
  }
  return st;
}

// A name that itself ends in brackets looks as if it had a unit: it is tried first.
cpl_status cli_variable_of_column(const cpl_source* source, const cpl_table* table, size_t column,
                                  const char** out) {
  const cpl_description* d = source->desc;
  const char* unit = table->units[column];
  char heading[1024];
  int32_t var = -1;
  int n =
      unit != NULL ? snprintf(heading, sizeof heading, "%s [%s]", table->names[column], unit) : -1;
  if (n > 0 && (size_t)n < sizeof heading) var = cpl_find_variable(d, heading);
  cpl_status st =
      var >= 0 ? CPL_OK : cpl_require_variable(source->ctx, d, table->names[column], &var);
  if (st >= 0) *out = d->vars[var].name;
  return st;
}
