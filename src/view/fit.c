// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The result of a fit as a page: tables of the parameters, data with the fit, and residuals.
#include <math.h>
#include <stdio.h>

#include "couplet/fit.h"
#include "view/page_file.h"
#include "view/view.h"

typedef struct shown {
  const cpl_fit* fit;
  const cpl_view_def* def;
  const char* const* data;
} shown;

static void put_numbers(cpli_page* p, const char* key, const double* v, size_t n) {
  cpli_page_put(p, ",\"");
  cpli_page_put(p, key);
  cpli_page_put(p, "\":[");
  for (size_t i = 0; i < n; i++) {
    if (i > 0) cpli_page_put(p, ",");
    cpli_page_number(p, v[i]);
  }
  cpli_page_put(p, "]");
}

static void put_column(cpli_page* p, const cpl_fit_column* c) {
  cpli_page_put(p, "\n{\"name\":");
  cpli_page_string(p, c->name);
  cpli_page_member(p, "unit", c->unit);
  cpli_page_put(p, ",\"data\":");
  cpli_page_index(p, c->data);
  put_numbers(p, "time", c->time, c->n);
  put_numbers(p, "measured", c->measured, c->n);
  put_numbers(p, "fitted", c->fitted, c->n);
  put_numbers(p, "sigma", c->sigma, c->n);
  cpli_page_put(p, "}");
}

// A row of a table: a name, then numbers with seven digits or so, and texts.
static void put_number(cpli_page* p, double v, const char* format) {
  char text[40];
  snprintf(text, sizeof text, format, v);
  cpli_page_put(p, ",");
  if (isfinite(v)) cpli_page_put(p, text);
  else cpli_page_put(p, "null");
}

static void put_parameters(cpli_page* p, const cpl_fit* f) {
  char head[160];
  snprintf(
      head, sizeof head,
      "{\"title\":\"Parameters\",\"head\":[\"parameter\",\"value\",\"deviation\",\"%g %% from\","
      "\"to\",\"unit\",\"\"],\"rows\":[",
      100 * f->confidence);
  cpli_page_put(p, head);
  for (size_t i = 0; i < f->n_parameters; i++) {
    const cpl_varied* v = &f->parameters[i];
    cpli_page_put(p, i > 0 ? ",\n[" : "\n[");
    cpli_page_string(p, v->name);
    put_number(p, v->value, "%.8g");
    put_number(p, v->deviation, "%.4g");
    put_number(p, v->low, "%.8g");
    put_number(p, v->high, "%.8g");
    cpli_page_put(p, ",");
    cpli_page_string(p, v->unit);
    cpli_page_put(p, v->at_bound < 0   ? ",\"held at its least value\"]"
                     : v->at_bound > 0 ? ",\"held at its greatest value\"]"
                     : v->undetermined ? ",\"not determined by the data\"]"
                                       : ",\"\"]");
  }
  cpli_page_put(p, "]}");
}

static void put_correlation(cpli_page* p, const cpl_fit* f) {
  const size_t n = f->n_parameters;
  if (n < 2 || f->correlation == NULL) return;
  cpli_page_put(p, ",{\"title\":\"Correlation\",\"head\":[\"\"");
  for (size_t i = 0; i < n; i++) {
    cpli_page_put(p, ",");
    cpli_page_string(p, f->parameters[i].name);
  }
  cpli_page_put(p, "],\"rows\":[");
  for (size_t i = 0; i < n; i++) {
    cpli_page_put(p, i > 0 ? ",\n[" : "\n[");
    cpli_page_string(p, f->parameters[i].name);
    for (size_t k = 0; k < n; k++) put_number(p, f->correlation[i * n + k], "%.4f");
    cpli_page_put(p, "]");
  }
  cpli_page_put(p, "]}");
}

static void put_directions(cpli_page* p, const cpl_fit* f) {
  if (f->n_directions == 0) return;
  cpli_page_put(p, ",{\"title\":\"What the data hardly determine\",\"rows\":[");
  for (size_t i = 0; i < f->n_directions; i++) {
    const cpl_fit_direction* d = &f->directions[i];
    char text[80];
    if (d->singular) snprintf(text, sizeof text, "changes nothing");
    else snprintf(text, sizeof text, "%.1g of the most influential change", d->ratio);
    cpli_page_put(p, i > 0 ? ",[" : "[");
    cpli_page_string(p, d->text);
    cpli_page_put(p, ",");
    cpli_page_string(p, text);
    cpli_page_put(p, "]");
  }
  cpli_page_put(p, "]}");
}

static void put_facts(cpli_page* p, const cpl_fit* f) {
  char text[400];
  snprintf(text, sizeof text,
           ",{\"title\":\"Fit\",\"rows\":[[\"points\",%zu],[\"degrees of freedom\",%.0f],"
           "[\"runs\",%lld],[\"failed runs\",%lld],[\"derivatives\",\"%s\"]",
           f->n_points, f->freedom, (long long)f->runs, (long long)f->failed, f->derivatives);
  cpli_page_put(p, text);
  cpli_page_put(p, ",[\"sum of squares in standard deviations\"");
  put_number(p, f->squares, "%.8g");
  cpli_page_put(p, "]]}");
}

static void fill(cpli_page* p, const void* user) {
  const shown* s = user;
  const cpl_fit* f = s->fit;
  size_t n_data = 0;
  cpli_page_put(p, "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION
                   "\",\"title\":");
  cpli_page_string(p, s->def->title != NULL ? s->def->title : "couplet");
  cpli_page_put(p, ",\"report\":[");
  put_parameters(p, f);
  put_correlation(p, f);
  put_directions(p, f);
  put_facts(p, f);
  cpli_page_put(p, "],\"columns\":[");
  for (size_t i = 0; i < f->n_columns; i++) {
    if (i > 0) cpli_page_put(p, ",");
    put_column(p, &f->columns[i]);
    if (f->columns[i].data + 1 > n_data) n_data = f->columns[i].data + 1;
  }
  cpli_page_put(p, "],\"data\":[");
  for (size_t i = 0; i < n_data; i++) {
    if (i > 0) cpli_page_put(p, ",");
    cpli_page_string(p, s->data[i]);
  }
  cpli_page_put(p, "]}</script>\n");
}

cpl_status cpl_fit_write(cpl_context* ctx, const cpl_fit* fit, const char* const* data,
                         const cpl_view_def* def) {
  cpl_view_def read = cpl_default_view_def();
  cpl_status st = cpli_read_def(ctx, "cpl_view_def", def, &read, sizeof read);
  if (st < 0) return st;
  if (!cpli_is_page(read.path))
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: a fit is shown as a page (.html)", read.path);
  cpli_page p = {.ctx = ctx, .path = read.path, .text = {.ctx = ctx}};
  return cpli_page_fill(&p, "fit.html", read.title, fill, &(shown){fit, &read, data});
}
