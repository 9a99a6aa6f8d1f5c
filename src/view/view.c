// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// cpl_view_write(): checks that the columns named by a view exist, and writes a page or a picture,
// depending on the ending of the file name.
#include "view/view.h"
#include "format/source_loc.h"

#include <strings.h>

void cpl_init_view_def(cpl_view_def* def, size_t size) {
  const cpl_view_def all = {.path = "results.html"};
  cpli_init_def(def, size, &all, sizeof all);
}

bool cpli_view_changes(const cpl_table* t, size_t column) {
  const double* v = t->values + column * t->n_rows;
  for (size_t i = 1; i < t->n_rows; i++) {
    if (v[i] != v[0] && (v[i] == v[i] || v[0] == v[0])) return true;
  }
  return false;
}

// The results of a page: the first one, then those to compare with.
static const cpl_table* table_at(const cpl_table* first, const cpl_view_def* def, size_t i) {
  return i == 0 ? first : def->others[i - 1].table;
}

static const char* name_at(const void* user, size_t i) {
  return ((const cpl_table*)user)->names[i];
}

// The message proposes names of the first result.
static cpl_status unknown_column(cpl_context* ctx, const cpl_table* t, const char* name) {
  char near[256];
  cpli_nearest(name, name_at, t, t->n_columns, near, sizeof near);
  return cpl_fail(ctx, CPL_ERR_INPUT, "no column matches \"%s\"%s%s%s", name,
                  near[0] != '\0' ? " (is it " : "", near, near[0] != '\0' ? "?)" : "");
}

static bool matches(const cpl_table* t, const char* pattern) {
  for (size_t c = 0; c < t->n_columns; c++) {
    if (cpli_glob(pattern, t->names[c])) return true;
  }
  return false;
}

static cpl_status check_plane(cpl_context* ctx, const cpl_table* t, const cpl_view_def* def) {
  const char* missing = def->across;
  for (size_t i = 0; i <= def->n_others; i++) {
    const cpl_table* one = table_at(t, def, i);
    if (cpl_table_find(one, def->across) < 0) continue;
    if (cpl_table_find(one, def->up) >= 0) return CPL_OK;
    missing = def->up;
  }
  return unknown_column(ctx, t, missing);
}

// Every pattern must match something in one of the results: a misspelt name is not to go unnoticed.
static cpl_status check_names(cpl_context* ctx, const cpl_table* t, const cpl_view_def* def) {
  for (size_t i = 0; i < def->n_only; i++) {
    bool found = false;
    for (size_t k = 0; k <= def->n_others && !found; k++)
      found = matches(table_at(t, def, k), def->only[i]);
    if (!found) return unknown_column(ctx, t, def->only[i]);
  }
  return def->across == NULL || def->up == NULL ? CPL_OK : check_plane(ctx, t, def);
}

static bool ends_in(const char* path, const char* ending) {
  const size_t n = strlen(path), m = strlen(ending);
  return n >= m && strcasecmp(path + n - m, ending) == 0;
}

bool cpli_is_page(const char* path) { return ends_in(path, ".html") || ends_in(path, ".htm"); }

cpl_status cpl_view_write(cpl_context* ctx, const cpl_table* table, const cpl_view_def* given) {
  cpl_view_def def = cpl_default_view_def();
  cpl_status st = cpli_read_def(ctx, "cpl_view_def", given, &def, sizeof def);
  if (st < 0) return st;
  const bool svg = ends_in(def.path, ".svg");
  if (!svg && !cpli_is_page(def.path)) {
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def.path,
                          "pages are written to files that end in .html or .svg");
  }
  if (svg && def.n_others > 0) {
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def.path, "results are compared in a page (.html)");
  }
  st = check_names(ctx, table, &def);
  if (st < 0) return st;
  return svg ? cpli_view_picture(ctx, table, &def) : cpli_view_page(ctx, table, &def);
}
