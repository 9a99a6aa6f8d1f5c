// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// --input: a table, and the variables that its columns drive.
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
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

// Variables that a column can drive.
static bool takes_a_table(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_INPUT ||
         (v->causality == CPL_CAUSALITY_PARAMETER && v->variability == CPL_VARIABILITY_TUNABLE);
}

typedef struct takers {
  const cpl_description* desc;
  const int32_t* vars;
} takers;

static const char* taker_at(const void* user, size_t i) {
  const takers* t = user;
  return t->desc->vars[t->vars[i]].name;
}

static cpl_status no_variable(const cpl_source* source, const char* name) {
  const cpl_description* d = source->desc;
  char near[512] = "";
  size_t n = 0;
  int32_t* vars = calloc((size_t)d->n_vars + 1, sizeof *vars);
  if (vars == NULL) return cpl_fail(source->ctx, CPL_ERR_NOMEM, "out of memory");
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (takes_a_table(&d->vars[i])) vars[n++] = i;
  }
  cpli_nearest(name, taker_at, &(takers){d, vars}, n, near, sizeof near);
  free(vars);
  const bool some = near[0] != '\0';
  return cpl_fail(
      source->ctx, CPL_ERR_INPUT,
      "%s: there is no input \"%s\"%s%s%s (couplet run --input-ignore-extra leaves such "
      "columns out)",
      d->name, name, some ? " (is it " : "", near, some ? "?)" : "");
}

// A name that itself ends in brackets looks like a name with a unit: the whole text is tried first.
cpl_status cli_variable_of_column(const cpl_source* source, const cpl_table* table, size_t column,
                                  const char** out) {
  const cpl_description* d = source->desc;
  const char* unit = table->units[column];
  char heading[1024];
  int32_t var = -1;
  int n =
      unit != NULL ? snprintf(heading, sizeof heading, "%s [%s]", table->names[column], unit) : -1;
  if (n > 0 && (size_t)n < sizeof heading) var = cpl_find_variable(d, heading);
  if (var < 0) var = cpl_find_variable(d, table->names[column]);
  *out = var >= 0 ? d->vars[var].name : NULL;
  return var >= 0 ? CPL_OK : no_variable(source, table->names[column]);
}
