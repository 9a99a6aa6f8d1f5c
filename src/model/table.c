// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Creates and checks tables, and relates their columns to the units of variables.
#include "model/table.h"

#include <math.h>
#include <stdio.h>

#include "format/number.h"

//------------------------------------ making ------------------------------------

cpl_status cpli_table_create(cpl_context* ctx, size_t n_columns, size_t n_rows, cpli_table** out) {
  *out = NULL;
  cpli_table* t = cpli_alloc(ctx, 1, sizeof *t);
  if (t == NULL) return cpli_nomem(ctx);
  cpli_arena_init(&t->arena, ctx);
  t->names = cpli_arena_alloc(&t->arena, n_columns, sizeof *t->names);
  t->units = cpli_arena_alloc(&t->arena, n_columns, sizeof *t->units);
  t->rounded = cpli_arena_alloc(&t->arena, n_columns, sizeof *t->rounded);
  const bool fits = n_rows == 0 || n_columns + 1 <= SIZE_MAX / sizeof(double) / n_rows;
  if (fits) t->time = cpli_realloc(ctx, NULL, (n_columns + 1) * n_rows, sizeof(double));
  if (t->names == NULL || t->units == NULL || t->rounded == NULL || t->time == NULL) {
    cpl_table_destroy(&t->table);
    return cpli_nomem(ctx);
  }
  t->values = t->time + n_rows;
  t->table = (cpl_table){.n_rows = n_rows,
                         .n_columns = n_columns,
                         .names = t->names,
                         .units = t->units,
                         .time = t->time,
                         .values = t->values,
                         .rounded = t->rounded};
  *out = t;
  return CPL_OK;
}

void cpl_table_destroy(cpl_table* table) {
  if (table == NULL) return;
  cpli_table* t = (cpli_table*)table;
  cpl_context* ctx = t->arena.ctx;
  cpli_free(ctx, t->time);
  cpli_arena_free(&t->arena);
  cpli_free(ctx, t);
}

const char* cpli_unit_in_name(const char* name, size_t len) {
  if (len < 4 || name[len - 1] != ']') return NULL;
  for (size_t i = len - 1; i > 1; i--) {
    if (name[i - 1] == '[') return i > 2 && name[i - 2] == ' ' && i < len - 1 ? name + i - 2 : NULL;
  }
  return NULL;
}

//------------------------------------ units ------------------------------------

bool cpli_time_unit(const char* unit, cpli_conversion* out) {
  const cpl_unit from = {.name = unit}, seconds = {.name = "s"};
  return cpli_unit_conversion(&from, &seconds, false, out) <= CPLI_UNITS_CONVERT;
}

const char* cpli_column_unit(const cpl_table* table, size_t column, const char* variable) {
  const char* unit = table->units != NULL ? table->units[column] : NULL;
  if (unit == NULL) return NULL;
  const size_t n = strlen(variable), m = strlen(unit);
  const char* own = cpli_unit_in_name(variable, n);
  const bool heading = own != NULL && strlen(own) == m + 3 && strncmp(own + 2, unit, m) == 0;
  return heading ? NULL : unit;
}

const char* cpli_column_text(const cpl_table* table, size_t column, char* out, size_t size) {
  const char* unit = table->units != NULL ? table->units[column] : NULL;
  const char* name = table->names != NULL ? table->names[column] : "";
  snprintf(out, size, "%s%scolumn \"%s%s%s%s\"", table->path != NULL ? table->path : "",
           table->path != NULL ? ": " : "", name, unit != NULL ? " [" : "",
           unit != NULL ? unit : "", unit != NULL ? "]" : "");
  return out;
}

cpl_status cpli_column_conversion(cpl_context* ctx, const cpl_table* table, size_t column,
                                  const char* unit, const cpl_description* desc,
                                  const cpl_variable* v, cpli_conversion* out, bool* convert) {
  char text[512];
  *convert = false;
  if (unit == NULL) return CPL_OK;
  cpli_column_text(table, column, text, sizeof text);
  if (v->unit < 0) {
    cpl_log(ctx, CPL_LOG_WARNING, desc->name,
            "%s: %s has no unit in the model, so the numbers are taken as they are", text, v->name);
    return CPL_OK;
  }
  const char* own = desc->units[v->unit].name;
  switch (cpli_relate_to_variable(desc, v, unit, out)) {
    case CPLI_UNITS_SAME: return CPL_OK;
    case CPLI_UNITS_CONVERT: *convert = true; return CPL_OK;
    case CPLI_UNITS_ANGLE:
      if (out->factor != out->to_factor) break;
      cpl_log(ctx, CPL_LOG_WARNING, desc->name,
              "%s: %s is in %s, which differs in rad: the numbers are taken as they are", text,
              v->name, own);
      return CPL_OK;
    case CPLI_UNITS_DIFFER:
      return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s is in %s, and %s is none of its units", text,
                      v->name, own, unit);
    case CPLI_UNITS_UNKNOWN: break;
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s is in %s, and %s cannot be converted to that", text,
                  v->name, own, unit);
}

//------------------------------------ public ------------------------------------

ptrdiff_t cpl_table_find(const cpl_table* table, const char* name) {
  for (size_t i = 0; i < table->n_columns; i++) {
    if (strcmp(table->names[i], name) == 0) return (ptrdiff_t)i;
  }
  // a name that itself ends in brackets was parsed as one with a unit
  const char* unit = cpli_unit_in_name(name, strlen(name));
  for (size_t i = 0; unit != NULL && table->units != NULL && i < table->n_columns; i++) {
    const char* u = table->units[i];
    const size_t n = (size_t)(unit - name), m = strlen(unit) - 3;
    if (u != NULL && strlen(u) == m && strncmp(u, unit + 2, m) == 0 &&
        strlen(table->names[i]) == n && strncmp(table->names[i], name, n) == 0) {
      return (ptrdiff_t)i;
    }
  }
  return -1;
}

cpl_status cpl_table_check(cpl_context* ctx, const cpl_table* table, const char* who) {
  char a[CPLI_NUMBER_SIZE], b[CPLI_NUMBER_SIZE];
  if (table->n_rows == 0) return cpl_fail_in(ctx, CPL_ERR_INPUT, who, NULL, NAN, "has no rows");
  for (size_t i = 0; i < table->n_rows; i++) {
    if (!isfinite(table->time[i])) {
      return cpl_fail_in(ctx, CPL_ERR_INPUT, who, NULL, NAN, "row %zu: time is not finite", i + 1);
    }
    if (i > 0 && table->time[i] < table->time[i - 1]) {
      cpli_format_double(a, table->time[i]);
      cpli_format_double(b, table->time[i - 1]);
      return cpl_fail_in(ctx, CPL_ERR_INPUT, who, NULL, NAN,
                         "row %zu: time goes back from %s to %s", i + 1, b, a);
    }
  }
  for (size_t i = 0; i < table->n_columns * table->n_rows; i++) {
    if (!isfinite(table->values[i])) {
      return cpl_fail_in(ctx, CPL_ERR_INPUT, who, NULL, NAN, "row %zu: %s is not finite",
                         i % table->n_rows + 1, table->names[i / table->n_rows]);
    }
  }
  return CPL_OK;
}
