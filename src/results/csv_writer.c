// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results as CSV (RFC 4180): a header with the exact names, then one row per time point. Reals are
// printed so that they read back to the same bits. Lines end with LF alone, as every tool takes it.
#include "format/csv.h"
#include "format/number.h"
#include "results/writer.h"

static bool put_escaped(cpl_results* res, const char* text) {
  for (const char* quote; (quote = strchr(text, '"')) != NULL; text = quote + 1) {
    if (!cpli_results_put(res, text, (size_t)(quote - text)) || !cpli_results_put(res, "\"\"", 2))
      return false;
  }
  return cpli_results_put(res, text, strlen(text));
}

static bool put_quoted(cpl_results* res, const char* text) {
  return cpli_results_put(res, "\"", 1) && put_escaped(res, text) && cpli_results_put(res, "\"", 1);
}

// `name` or `name [unit]`, in quotes when it needs them.
static bool put_name(cpl_results* res, const char* name, const char* unit) {
  const bool has_unit = unit != NULL && unit[0] != '\0';
  const bool quoted = cpli_csv_needs_quotes(name) || (has_unit && cpli_csv_needs_quotes(unit));
  return (!quoted || cpli_results_put(res, "\"", 1)) && put_escaped(res, name) &&
         (!has_unit || (cpli_results_put(res, " [", 2) && put_escaped(res, unit) &&
                        cpli_results_put(res, "]", 1))) &&
         (!quoted || cpli_results_put(res, "\"", 1));
}

static cpl_status csv_begin(cpl_results* res, const cpl_results_def* def,
                            const cpl_column* columns) {
  bool ok = put_name(res, "time", def->units ? "s" : NULL);
  for (size_t i = 0; i < res->n_columns && ok; i++) {
    ok = cpli_results_put(res, ",", 1) &&
         put_name(res, columns[i].name, def->units ? columns[i].unit : NULL);
  }
  return ok && cpli_results_put(res, "\n", 1) ? CPL_OK : res->failed;
}

static cpl_status csv_row(cpl_results* res, double t, const cpl_value* values) {
  char* p = cpli_results_room(res, CPLI_NUMBER_SIZE);
  if (p == NULL) return res->failed;
  res->used += cpli_format_double(p, t);
  for (size_t i = 0; i < res->n_columns; i++) {
    p = cpli_results_room(res, CPLI_NUMBER_SIZE + 1);
    if (p == NULL) return res->failed;
    *p = ',';
    res->used++;
    if (res->types[i] == CPL_REAL) {
      res->used += cpli_format_double(p + 1, values[i].real);
    } else if (res->types[i] == CPL_STRING) {
      const char* text = values[i].string;
      if (text != NULL && !put_quoted(res, text)) return res->failed;
    } else if (res->is_unsigned[i]) {
      res->used += cpli_format_unsigned(p + 1, (uint64_t)values[i].integer);
    } else {
      res->used += cpli_format_integer(p + 1, values[i].integer);
    }
  }
  return cpli_results_put(res, "\n", 1) ? CPL_OK : res->failed;
}

static void csv_end(cpl_results* res) { (void)res; }

const cpli_writer_ops cpli_csv_writer = {
    .ending = ".csv", .begin = csv_begin, .row = csv_row, .end = csv_end};
