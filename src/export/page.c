// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes documentation/index.html of an exported FMU, with one table per group of variables:
// inputs, outputs, parameters, states and others.
#include <math.h>

#include "export/description.h"

static const char style[] =
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60em;margin:2em auto;padding:0 1em}"
    "table{border-collapse:collapse;width:100%;margin-bottom:2em}"
    "th,td{text-align:left;padding:.3em .8em .3em 0;border-bottom:1px solid #ccc}"
    "td:nth-child(1){font-family:monospace}";

static bool in_group(const cpl_variable* v, int group) {
  bool state_like = v->causality == CPL_CAUSALITY_LOCAL && v->initial == CPL_INITIAL_EXACT;
  switch (group) {
    case 0: return v->causality == CPL_CAUSALITY_INPUT;
    case 1: return v->causality == CPL_CAUSALITY_OUTPUT;
    case 2: return v->causality == CPL_CAUSALITY_PARAMETER;
    case 3: return state_like;
    default:
      return !state_like && v->causality != CPL_CAUSALITY_INPUT &&
             v->causality != CPL_CAUSALITY_OUTPUT && v->causality != CPL_CAUSALITY_PARAMETER;
  }
}

static void cell(cpli_writer* w, const char* text) {
  cpli_write(w, "<td>");
  cpli_write_escaped(w, text);
  cpli_write(w, "</td>");
}

// The name of an item of an Enumeration; NULL: the value is not that of an item.
static const char* item_name(const cpl_description* d, const cpl_variable* v) {
  const cpl_type_def* type = v->declared_type >= 0 ? &d->types[v->declared_type] : NULL;
  for (int32_t i = 0; type != NULL && i < type->n_items; i++)
    if ((double)type->items[i].value == v->start) return type->items[i].name;
  return NULL;
}

static void start_cell(cpli_writer* w, const cpl_description* d, const cpl_variable* v) {
  cpli_write(w, "<td>");
  if (!v->has_start) {
  } else if (v->type == CPL_STRING) {
    cpli_write_escaped(w, v->start_text != NULL ? v->start_text : "");
  } else if (v->type == CPL_BOOLEAN) {
    cpli_write(w, v->start != 0 ? "true" : "false");
  } else if (item_name(d, v) != NULL) {
    cpli_write_escaped(w, item_name(d, v));
  } else {
    cpli_write_number(w, v->start);
  }
  cpli_write(w, "</td>");
}

static void write_group(cpli_writer* w, const cpl_description* d, int group, const char* title) {
  bool any = false;
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (!in_group(v, group)) continue;
    if (!any) {
      cpli_writef(w,
                  "<h2>%s</h2>\n<table>\n<tr><th>Name</th><th>Type</th><th>Start</th>"
                  "<th>Unit</th><th>Description</th></tr>\n",
                  title);
    }
    any = true;
    cpli_write(w, "<tr>");
    cell(w, v->name);
    cell(w, cpl_type_name((cpl_type)v->type));
    start_cell(w, d, v);
    cell(w, v->unit >= 0 ? d->units[v->unit].name : "");
    cell(w, v->description);
    cpli_write(w, "</tr>\n");
  }
  if (any) cpli_write(w, "</table>\n");
}

cpl_status cpli_write_page(cpli_writer* w, const cpli_fmu_facts* facts) {
  static const char* const titles[] = {"Inputs", "Outputs", "Parameters", "States",
                                       "Other variables"};
  const cpl_description* d = facts->desc;
  cpli_write(w, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>");
  cpli_write_escaped(w, d->name);
  cpli_writef(w, "</title>\n<style>%s</style>\n</head>\n<body>\n<h1>", style);
  cpli_write_escaped(w, d->name);
  cpli_write(w, "</h1>\n<p>");
  cpli_write_escaped(w, d->description);
  cpli_writef(w,
              "</p>\n<p>FMI %d.0 for %s%s%s; %d continuous states, %d "
              "event indicators. Made by couplet %s.</p>\n",
              facts->fmi, facts->model_exchange ? "model exchange" : "",
              facts->model_exchange && facts->co_simulation ? " and " : "",
              facts->co_simulation ? "co-simulation" : "", (int)d->n_states, (int)d->n_indicators,
              CPL_VERSION);
  for (int group = 0; group < (int)CPLI_COUNT(titles); group++) {
    write_group(w, d, group, titles[group]);
  }
  cpli_write(w, "</body>\n</html>\n");
  return cpli_writer_status(w);
}
