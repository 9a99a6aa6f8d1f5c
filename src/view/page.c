// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fills the page of results. Names stand in it once, as JSON; the numbers of each column stand in
// an element of their own, in the smallest type that holds every one of them exactly.
#include <math.h>

#include "view/page_file.h"
#include "view/view.h"

//------------------------------------ results ------------------------------------

static void put_column(cpli_page* p, const cpl_view_result* r, size_t c) {
  const cpl_table* t = r->table;
  const double* v = t->values + c * t->n_rows;
  cpli_page_put(p, c > 0 ? ",\n{\"name\":" : "\n{\"name\":");
  cpli_page_string(p, t->names[c]);
  cpli_page_member(p, "unit", t->units != NULL ? t->units[c] : NULL);
  cpli_page_member(p, "text", r->texts != NULL ? r->texts[c] : NULL);
  if (!cpli_view_changes(t, c)) {
    cpli_page_put(p, ",\"value\":");
    cpli_page_number(p, t->n_rows > 0 ? v[0] : (double)NAN);
  } else {
    cpli_page_member(p, "kind", cpli_page_kind_text(cpli_page_kind_of(v, t->n_rows)));
  }
  cpli_page_put(p, "}");
}

static void put_result(cpli_page* p, const cpl_view_result* r, const char* before) {
  cpli_page_put(p, before);
  cpli_page_put(p, "\n{\"name\":");
  cpli_page_string(p, r->name != NULL ? r->name : "results");
  cpli_page_put(p, ",\"rows\":");
  cpli_page_index(p, r->table->n_rows);
  cpli_page_put(p, ",\"columns\":[");
  for (size_t c = 0; c < r->table->n_columns; c++) put_column(p, r, c);
  cpli_page_put(p, "]}");
}

static void put_blocks(cpli_page* p, const cpl_view_result* r, size_t index) {
  const cpl_table* t = r->table;
  char id[64];
  snprintf(id, sizeof id, "t%zu", index);
  if (t->n_rows > 0) cpli_page_block(p, id, CPLI_PAGE_F64, t->time, t->n_rows);
  for (size_t c = 0; c < t->n_columns; c++) {
    if (!cpli_view_changes(t, c)) continue;
    const double* v = t->values + c * t->n_rows;
    snprintf(id, sizeof id, "d%zu.%zu", index, c);
    cpli_page_block(p, id, cpli_page_kind_of(v, t->n_rows), v, t->n_rows);
  }
}

// Whether a result has a column of the name of column c of another: mostly at the same place.
static bool has_column(const cpl_table* t, const cpl_table* other, size_t c) {
  const char* name = other->names[c];
  return (c < t->n_columns && strcmp(t->names[c], name) == 0) || cpl_table_find(t, name) >= 0;
}

// Names of one result that match a pattern and that the first result does not have.
static void put_matches(cpli_page* p, const cpl_table* t, const cpl_table* first,
                        const cpl_view_def* def, const char** before) {
  for (size_t c = 0; c < t->n_columns; c++) {
    bool wanted = false;
    for (size_t i = 0; i < def->n_only; i++)
      wanted = wanted || cpli_glob(def->only[i], t->names[c]);
    if (!wanted || (t != first && has_column(first, t, c))) continue;
    cpli_page_put(p, *before);
    cpli_page_string(p, t->names[c]);
    *before = ",";
  }
}

static void put_choice(cpli_page* p, const cpl_table* t, const cpl_view_def* def) {
  if (def->n_only > 0) {
    const char* before = ",\"show\":[";
    put_matches(p, t, t, def, &before);
    for (size_t i = 0; i < def->n_others; i++) {
      if (def->others[i].table != t) put_matches(p, def->others[i].table, t, def, &before);
    }
    cpli_page_put(p, "]");
  }
  if (def->across == NULL || def->up == NULL) return;
  cpli_page_put(p, ",\"xy\":[");
  cpli_page_string(p, def->across);
  cpli_page_put(p, ",");
  cpli_page_string(p, def->up);
  cpli_page_put(p, "]");
}

static void put_data(cpli_page* p, const cpl_table* table, const cpl_view_def* def) {
  const cpl_view_result first = {table, def->name != NULL ? def->name : def->title, def->texts};
  cpli_page_put(p, "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION
                   "\",\"title\":");
  cpli_page_string(p, def->title != NULL ? def->title : "couplet");
  put_choice(p, table, def);
  if (def->report != NULL) {
    cpli_page_put(p, ",\"report\":");
    cpli_page_json(p, def->report);
  }
  put_result(p, &first, ",\"results\":[");
  for (size_t i = 0; i < def->n_others; i++) put_result(p, &def->others[i], ",");
  cpli_page_put(p, "]}</script>\n");
  put_blocks(p, &first, 0);
  for (size_t i = 0; i < def->n_others; i++) put_blocks(p, &def->others[i], i + 1);
}

typedef struct shown {
  const cpl_table* table;
  const cpl_view_def* def;
} shown;

static void fill_results(cpli_page* p, const void* user) {
  const shown* s = user;
  put_data(p, s->table, s->def);
}

cpl_status cpli_view_page(cpl_context* ctx, const cpl_table* table, const cpl_view_def* def) {
  cpli_page p = {.ctx = ctx, .path = def->path, .text = {.ctx = ctx}};
  return cpli_page_fill(&p, "results.html", def->title, fill_results, &(shown){table, def});
}

static void fill_json(cpli_page* p, const void* user) {
  cpli_page_put(p, "<script type=\"application/json\" id=\"data\">");
  cpli_page_json(p, user);
  cpli_page_put(p, "</script>\n");
}

cpl_status cpli_page_write(cpl_context* ctx, const char* name, const char* path, const char* title,
                           const char* json) {
  cpli_page p = {.ctx = ctx, .path = path, .text = {.ctx = ctx}};
  return cpli_page_fill(&p, name, title, fill_json, json);
}

// In memory: it is small.
cpl_status cpli_live_page(cpl_context* ctx, const cpl_live_def* def, char** out, size_t* size) {
  cpli_template template;
  cpli_page p = {.ctx = ctx, .text = {.ctx = ctx}};
  cpl_status st = cpli_template_read(ctx, "live.html", &template);
  *out = NULL;
  if (st < 0) return st;
  const char* title = def->title != NULL ? def->title : "couplet";
  cpli_text_bytes(&p.text, template.parts[0], template.sizes[0]);
  cpli_text_escaped(&p.text, title, 200);
  cpli_text_bytes(&p.text, template.parts[1], template.sizes[1]);
  cpli_page_put(&p, "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION
                    "\",\"live\":true,\"title\":");
  cpli_page_string(&p, title);
  cpli_page_put(&p, ",\"results\":[{\"name\":\"live\",\"rows\":0,\"columns\":[");
  for (size_t i = 0; i < def->n_columns; i++) {
    cpli_page_put(&p, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
    cpli_page_string(&p, def->columns[i].name);
    cpli_page_member(&p, "unit", def->columns[i].unit);
    cpli_page_member(&p, "text", def->columns[i].description);
    cpli_page_put(&p, "}");
  }
  cpli_page_put(&p, "]}]}</script>\n");
  cpli_text_bytes(&p.text, template.parts[2], template.sizes[2]);
  cpli_free(ctx, template.text);
  if (p.text.failed) {
    cpli_text_free(&p.text);
    return cpli_nomem(ctx);
  }
  *out = p.text.data;
  *size = p.text.len;
  return CPL_OK;
}
