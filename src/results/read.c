// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads result files as tables: CSV by model/table.c, and MAT files of level 4 with the trajectory
// layout of Modelica tools (Aclass, name, description, dataInfo, data_1, data_2), transposed or
// not.
#include <math.h>
#include <stdio.h>
#include <strings.h>

#include "couplet/results.h"
#include "format/file.h"
#include "format/mat4.h"
#include "format/source_loc.h"
#include "model/table.h"

static const size_t max_file = (size_t)8 << 30;
// Constants become columns as long as the others; a file with very many is read without them.
static const size_t max_numbers = (size_t)1 << 27;

// The matrices of a trajectory.
typedef struct trajectory {
  cpli_mat class_, name, description, info, data[2];
  bool transposed;  // "binTrans": texts and points in time are columns
} trajectory;

static cpl_status bad(cpl_context* ctx, const char* path, const char* what) {
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is not a trajectory of a Modelica tool: %s",
                        what);
}

// A character of a text that may be stored in any number format.
static char character(const cpli_mat* m, size_t row, size_t column) {
  const double c = cpli_mat_number(m, row, column);
  return c >= 0 && c < 256 ? (char)(unsigned char)c : '?';
}

// One text of a matrix of texts, without the blanks or zeros it is padded with.
static size_t text_at(const trajectory* tr, const cpli_mat* m, size_t i, char* out) {
  const size_t width = tr->transposed ? m->rows : m->columns;
  size_t len = 0;
  for (size_t k = 0; k < width; k++) {
    out[k] = tr->transposed ? character(m, k, i) : character(m, i, k);
    if (out[k] == '\0') break;
    if (out[k] != ' ') len = k + 1;
  }
  return len;
}

static size_t n_texts(const trajectory* tr, const cpli_mat* m) {
  return tr->transposed ? m->columns : m->rows;
}

static size_t width(const trajectory* tr, const cpli_mat* m) {
  return tr->transposed ? m->rows : m->columns;
}

static cpl_status find_matrices(cpl_context* ctx, const char* path, const char* file, size_t len,
                                trajectory* tr) {
  const struct {
    const char* name;
    cpli_mat* out;
  } wanted[] = {{"Aclass", &tr->class_},           {"name", &tr->name},
                {"description", &tr->description}, {"dataInfo", &tr->info},
                {"data_1", &tr->data[0]},          {"data_2", &tr->data[1]}};
  for (size_t at = 0;;) {
    cpli_mat m;
    cpl_status st = cpli_mat_next(ctx, path, file, len, &at, &m);
    if (st < 0 && tr->data[1].name == NULL) return st;
    if (st < 0)
      cpl_log(
          ctx, CPL_LOG_WARNING, path,
          "behind its last counted row there is more, as its writer was stopped: it is left out");
    if (st < 0 || m.name == NULL) break;
    for (size_t i = 0; i < CPLI_COUNT(wanted); i++) {
      if (strcmp(m.name, wanted[i].name) == 0) *wanted[i].out = m;
    }
  }
  for (size_t i = 0; i < CPLI_COUNT(wanted); i++) {
    if (wanted[i].out->name != NULL || wanted[i].out == &tr->description) continue;
    char text[64];
    snprintf(text, sizeof text, "it has no matrix \"%s\"", wanted[i].name);
    return bad(ctx, path, text);
  }
  return CPL_OK;
}

static cpl_status check_layout(cpl_context* ctx, const char* path, trajectory* tr) {
  char kind[16] = "";
  const cpli_mat* c = &tr->class_;
  for (size_t k = 0; c->rows >= 4 && k < c->columns && k < sizeof kind - 1; k++) {
    kind[k] = character(c, 3, k);
  }
  tr->transposed = strncmp(kind, "binTrans", 8) == 0;
  if (!tr->transposed && strncmp(kind, "binNormal", 9) != 0) {
    return bad(ctx, path, "it is neither binTrans nor binNormal");
  }
  const size_t n = n_texts(tr, &tr->name);
  const size_t infos = tr->transposed ? tr->info.columns : tr->info.rows;
  const size_t fields = tr->transposed ? tr->info.rows : tr->info.columns;
  if (n == 0 || infos != n || fields < 2) return bad(ctx, path, "dataInfo does not fit to name");
  if (width(tr, &tr->data[1]) == 0) return bad(ctx, path, "data_2 has no time");
  return CPL_OK;
}

// Where variable i stands: matrix 0 or 1, its row there, its sign.
typedef struct place {
  size_t matrix, row;
  double sign;
} place;

static bool find_place(const trajectory* tr, size_t i, place* out) {
  const cpli_mat* m = &tr->info;
  const double set = tr->transposed ? cpli_mat_number(m, 0, i) : cpli_mat_number(m, i, 0);
  const double at = tr->transposed ? cpli_mat_number(m, 1, i) : cpli_mat_number(m, i, 1);
  out->matrix = set == 1 ? 0 : 1;
  out->sign = at < 0 ? -1 : 1;
  const double row = fabs(at);
  if (!(row >= 1 && row <= (double)width(tr, &tr->data[out->matrix]))) return false;
  out->row = (size_t)row - 1;
  return out->matrix == 1 || n_texts(tr, &tr->data[0]) > 0;
}

static double value_at(const trajectory* tr, const place* p, size_t point) {
  const cpli_mat* m = &tr->data[p->matrix];
  if (p->matrix == 0) point = 0;
  return p->sign *
         (tr->transposed ? cpli_mat_number(m, p->row, point) : cpli_mat_number(m, point, p->row));
}

// The unit is the last bracket of a description; NULL: there is none. `text` is room for it.
static const char* unit_at(const trajectory* tr, size_t i, char* text) {
  if (tr->description.name == NULL || i >= n_texts(tr, &tr->description)) return NULL;
  const size_t len = text_at(tr, &tr->description, i, text);
  if (len < 3 || text[len - 1] != ']') return NULL;
  text[len - 1] = '\0';
  char* open = strrchr(text, '[');
  if (open == NULL || open[1] == '\0') return NULL;
  // Dymola writes "unit|display unit" and ":#(type)" behind it
  open[1 + strcspn(open + 1, "|:")] = '\0';
  return open + 1;
}

static cpl_status name_column(const trajectory* tr, size_t i, cpli_table* t, size_t column,
                              char* text) {
  const size_t len = text_at(tr, &tr->name, i, text);
  t->names[column] = cpli_arena_strndup(&t->arena, text, len);
  if (t->names[column] == NULL) return cpli_nomem(t->arena.ctx);
  const char* unit = unit_at(tr, i, text);
  if (unit == NULL) return CPL_OK;
  t->units[column] = cpli_arena_strdup(&t->arena, unit);
  return t->units[column] != NULL ? CPL_OK : cpli_nomem(t->arena.ctx);
}

static cpl_status fill(cpl_context* ctx, const char* path, const trajectory* tr, bool constants,
                       char* text, cpli_table* t) {
  const size_t n_rows = t->table.n_rows;
  const place time = {1, 0, 1};
  cpli_conversion how;
  const char* unit = unit_at(tr, 0, text);
  bool convert = unit != NULL && cpli_time_unit(unit, &how) && how.factor != 1;
  for (size_t r = 0; r < n_rows; r++) {
    t->time[r] = value_at(tr, &time, r);
    if (convert) t->time[r] = cpli_convert(&how, t->time[r]);
    if (!isfinite(t->time[r]) || (r > 0 && t->time[r] < t->time[r - 1])) {
      return bad(ctx, path, "its times decrease or are not finite");
    }
  }
  size_t column = 0;
  for (size_t i = 1; i < n_texts(tr, &tr->name); i++) {
    place p;
    if (!find_place(tr, i, &p)) return bad(ctx, path, "dataInfo names rows that do not exist");
    if (p.matrix == 0 && !constants) continue;
    cpl_status st = name_column(tr, i, t, column, text);
    if (st < 0) return st;
    for (size_t r = 0; r < n_rows; r++) t->values[column * n_rows + r] = value_at(tr, &p, r);
    column++;
  }
  t->table.n_columns = column;
  return CPL_OK;
}

static cpl_status table_from(cpl_context* ctx, const char* path, const char* file, size_t len,
                             cpl_table** out) {
  trajectory tr = {0};
  cpl_status st = find_matrices(ctx, path, file, len, &tr);
  if (st >= 0) st = check_layout(ctx, path, &tr);
  if (st < 0) return st;

  const size_t n_rows = n_texts(&tr, &tr.data[1]), n = n_texts(&tr, &tr.name) - 1;
  size_t varying = 0;
  for (size_t i = 1; i <= n; i++) {
    place p;
    varying += find_place(&tr, i, &p) && p.matrix == 1;
  }
  const bool constants = n_rows == 0 || n <= max_numbers / n_rows;
  if (!constants) {
    cpl_log(ctx, CPL_LOG_WARNING, path, "%zu constants are left out, to save memory", n - varying);
  }
  // a file may name the same numbers many times (aliases)
  if (n_rows > 0 && varying > 16 * max_numbers / n_rows) return bad(ctx, path, "it is too large");
  cpli_table* t = NULL;
  const size_t a = width(&tr, &tr.name), b = width(&tr, &tr.description);
  char* text = cpli_alloc(ctx, (a > b ? a : b) + 1, 1);
  st = text != NULL ? cpli_table_create(ctx, constants ? n : varying, n_rows, &t) : cpli_nomem(ctx);
  if (st >= 0) st = fill(ctx, path, &tr, constants, text, t);
  cpli_free(ctx, text);
  if (st >= 0) {
    t->table.path = cpli_arena_strdup(&t->arena, path);
    *out = &t->table;
  } else if (t != NULL) {
    cpl_table_destroy(&t->table);
  }
  return st;
}

static cpl_status read_mat(cpl_context* ctx, const char* path, cpl_table** out) {
  char* file;
  size_t len;
  cpl_status st = cpli_file_read(ctx, path, max_file, &file, &len);
  if (st < 0) return st;
  st = table_from(ctx, path, file, len, out);
  cpli_free(ctx, file);
  return st;
}

cpl_status cpl_results_read(cpl_context* ctx, const char* path, cpl_table** out) {
  *out = NULL;
  const size_t len = strlen(path);
  const char* ending = len >= 4 ? path + len - 4 : "";
  if (strcasecmp(ending, ".csv") == 0) return cpli_table_from_csv(ctx, path, true, out);
  if (strcasecmp(ending, ".mat") == 0) return read_mat(ctx, path, out);
  return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                        "results are read from files that end in .csv or .mat");
}
