// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The inputs of an experiment: a table, and the variables that its columns drive.
#include <stdio.h>

#include "base/error.h"
#include "experiment/experiment.h"

cpl_status cpl_input_table_read(cpl_context* ctx, const char* path, cpl_table** out) {
  const size_t n = strlen(path);
  if (n < 4 || strcmp(path + n - 4, ".mat") != 0) return cpl_table_read(ctx, path, out);
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

static cpl_status no_variable(cpl_context* ctx, const cpl_description* d, const char* name) {
  char near[512] = "";
  size_t n = 0;
  int32_t* vars = cpli_alloc(ctx, (size_t)d->n_vars, sizeof *vars);
  if (vars == NULL) return cpli_nomem(ctx);
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (takes_a_table(&d->vars[i])) vars[n++] = i;
  }
  cpli_nearest(name, taker_at, &(takers){d, vars}, n, near, sizeof near);
  const bool some = near[0] != '\0';
  cpl_fail(ctx, CPL_ERR_INPUT,
           "%s: there is no input \"%s\"%s%s%s (couplet run --input-ignore-extra leaves such "
           "columns out)",
           d->name, name, some ? " (is it " : "", near, some ? "?)" : "");
  cpli_fail_unknown(ctx, CPL_ERR_INPUT, name, taker_at, &(takers){d, vars}, n);
  cpli_free(ctx, vars);
  return CPL_ERR_INPUT;
}

// The name of the variable that a column drives. A name that itself ends in brackets looks like a
// name with a unit: the whole text is tried first.
static cpl_status variable_of_column(cpl_context* ctx, const cpl_description* d,
                                     const cpl_table* table, size_t column, const char** out) {
  const char* unit = table->units[column];
  char heading[1024];
  int32_t var = -1;
  int n =
      unit != NULL ? snprintf(heading, sizeof heading, "%s [%s]", table->names[column], unit) : -1;
  if (n > 0 && (size_t)n < sizeof heading) var = cpl_find_variable(d, heading);
  if (var < 0) var = cpl_find_variable(d, table->names[column]);
  *out = var >= 0 ? d->vars[var].name : NULL;
  return var >= 0 ? CPL_OK : no_variable(ctx, d, table->names[column]);
}

cpl_status cpli_experiment_inputs(cpl_experiment* e) {
  const cpl_experiment_settings* s = &e->settings;
  const size_t columns = s->table != NULL ? s->table->n_columns : 0;
  e->inputs = cpli_alloc(e->ctx, columns + s->n_inputs, sizeof *e->inputs);
  if (e->inputs == NULL) return cpli_nomem(e->ctx);
  size_t n = 0;
  for (size_t i = 0; i < columns; i++) {
    const char* name;
    cpl_status st = variable_of_column(e->ctx, e->source->desc, s->table, i, &name);
    if (st < 0 && s->ignore_extra && st != CPL_ERR_NOMEM) continue;
    if (st < 0)
      return s->table_name == NULL ? st : cpl_fail_prefix(e->ctx, st, "%s", s->table_name);
    e->inputs[n++] = (cpl_input){.name = name, .table = s->table, .column = i};
  }
  for (size_t i = 0; i < s->n_inputs; i++) e->inputs[n++] = s->inputs[i];
  e->run.inputs = e->inputs;
  e->run.n_inputs = n;
  return CPL_OK;
}
