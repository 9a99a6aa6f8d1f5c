// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The option --solver: one solver for everything, or MODEL=SOLVER for single models of a system
// with delay lines.
#include "run_solvers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static cpl_status read_one(cpl_context* ctx, const char* item, run_solvers* out) {
  const char* equals = strchr(item, '=');
  const char* name = equals != NULL ? equals + 1 : item;
  cpl_model_solver one = {0};
  char where[256];
  snprintf(where, sizeof where, "--solver %s", item);
  cpl_status st = cli_find_solver(ctx, where, name, &one.kind);
  if (st < 0) return st;
  if (equals == NULL) {
    out->all = name;
    return CPL_OK;
  }
  one.model = strndup(item, (size_t)(equals - item));
  if (one.model == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  out->models[out->n++] = one;
  return CPL_OK;
}

cpl_status run_solvers_read(cpl_context* ctx, const cli_list* items, run_solvers* out) {
  cpl_status st = CPL_OK;
  *out = (run_solvers){.models = calloc(items->n + 1, sizeof *out->models)};
  if (out->models == NULL) return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
  for (size_t i = 0; i < items->n && st >= 0; i++) st = read_one(ctx, items->items[i], out);
  return st;
}

void run_solvers_free(run_solvers* s) {
  for (int32_t i = 0; i < s->n; i++) free((char*)s->models[i].model);
  free(s->models);
}
