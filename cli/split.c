// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The option --per-model: a column goes to the file of the model that its name begins with.
#include "split.h"

#include <stdlib.h>
#include <string.h>

#include "system/definition.h"

// The file of a column, "model.variable" or "signal"; *name is what the column is called in it.
static size_t file_of(const cpl_system_def* system, const char* column, const char** name) {
  const int32_t i = cpli_split_name(system, column, name);
  if (i < 0) *name = column;
  return (size_t)(i + 1);
}

// "out.csv" -> "out.MODEL.csv"; characters that file names cannot contain become "_".
static char* path_of(const char* whole, const char* model) {
  size_t n = strlen(whole), m = strlen(model);
  const char* dot = strrchr(whole, '.');
  char* path = malloc(n + m + 2);
  if (path == NULL) return NULL;
  size_t head = dot != NULL ? (size_t)(dot - whole) : n;
  memcpy(path, whole, head);
  path[head] = '.';
  for (size_t i = 0; i < m; i++) {
    unsigned char c = (unsigned char)model[i];
    path[head + 1 + i] = c == '/' || c < 0x20 ? '_' : model[i];
  }
  memcpy(path + head + 1 + m, whole + head, n - head + 1);
  return path;
}

static cpl_status no_memory(cpl_context* ctx) {
  return cpl_fail(ctx, CPL_ERR_NOMEM, "out of memory");
}

// Assigns columns to files.
static cpl_status deal(split* s, cpl_context* ctx, const cpl_system_def* system,
                       const cpl_column* columns, size_t n) {
  const char* name;
  for (size_t i = 0; i < n; i++) s->files[file_of(system, columns[i].name, &name)].n++;
  for (size_t k = 0; k < s->n; k++) {
    split_file* f = &s->files[k];
    f->places = calloc(f->n + 1, sizeof *f->places);
    f->row = calloc(f->n + 1, sizeof *f->row);
    if (f->places == NULL || f->row == NULL) return no_memory(ctx);
    f->n = 0;
  }
  for (size_t i = 0; i < n; i++) {
    split_file* f = &s->files[file_of(system, columns[i].name, &name)];
    f->places[f->n++] = i;
  }
  return CPL_OK;
}

static cpl_status check_paths(const split* s, cpl_context* ctx) {
  for (size_t k = 0; k < s->n; k++) {
    for (size_t i = 0; i < k && s->files[k].path != NULL; i++) {
      if (s->files[i].path != NULL && strcmp(s->files[i].path, s->files[k].path) == 0)
        return cpl_fail(ctx, CPL_ERR_INPUT, "--per-model: two models would share the file %s",
                        s->files[k].path);
    }
  }
  return CPL_OK;
}

static cpl_status open_one(split_file* f, cpl_context* ctx, const cpl_system_def* system,
                           const cpl_results_def* def, const cpl_column* columns) {
  cpl_column* own = calloc(f->n + 1, sizeof *own);
  if (own == NULL) return no_memory(ctx);
  for (size_t i = 0; i < f->n; i++) {
    own[i] = columns[f->places[i]];
    file_of(system, own[i].name, &own[i].name);
  }
  cpl_results_def mine = *def;
  mine.path = f->path;
  cpl_status st = cpl_results_open(ctx, &mine, own, f->n, &f->results);
  free(own);
  return st;
}

cpl_status split_open(split* s, cpl_context* ctx, const cpl_system_def* system,
                      const cpl_results_def* def, const cpl_column* columns, size_t n) {
  s->n = system->n_models + 1;
  s->files = calloc(s->n, sizeof *s->files);
  if (s->files == NULL) return no_memory(ctx);
  cpl_status st = deal(s, ctx, system, columns, n);
  for (size_t k = 0; k < s->n && st >= 0; k++) {
    split_file* f = &s->files[k];
    if (f->n == 0 && !(k == 0 && n == 0)) continue;
    f->model = k > 0 ? system->models[k - 1].name.text : NULL;
    f->path = k > 0 ? path_of(def->path, f->model) : strdup(def->path);
    if (f->path == NULL) st = no_memory(ctx);
  }
  if (st >= 0) st = check_paths(s, ctx);
  for (size_t k = 0; k < s->n && st >= 0; k++) {
    if (s->files[k].path != NULL) st = open_one(&s->files[k], ctx, system, def, columns);
  }
  return st;
}

cpl_status split_record(split* s, double t, const cpl_value* values) {
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < s->n && st >= 0; k++) {
    split_file* f = &s->files[k];
    if (f->results == NULL) continue;
    for (size_t i = 0; i < f->n; i++) f->row[i] = values[f->places[i]];
    st = cpl_results_record(f->results, t, f->row);
  }
  return st;
}

cpl_status split_close(split* s, bool failed, cpl_results_kept* kept) {
  cpl_status st = CPL_OK;
  for (size_t k = 0; k < s->n && s->files != NULL; k++) {
    cpl_results* results = s->files[k].results;
    cpl_results_kept one;
    s->files[k].results = NULL;
    if (results == NULL) continue;
    cpl_status closed = cpl_results_finish(results, failed, &one);
    if (closed < 0) st = closed;
    if (one.rows > kept->rows) *kept = one;
  }
  return st;
}

void split_free(split* s) {
  for (size_t k = 0; k < s->n && s->files != NULL; k++) {
    free(s->files[k].path);
    free(s->files[k].places);
    free(s->files[k].row);
  }
  free(s->files);
  *s = (split){0};
}
