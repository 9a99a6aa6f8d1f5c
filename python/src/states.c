// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checkpoints of a Run. Its rows are in memory: they are part of what is written, and of what a run
// begins with that resumes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

//------------------------------------ rows as bytes ------------------------------------

static const char mark[8] = "rows 1\n";

// Writes where `to` is not NULL; counts in any case.
typedef struct writer {
  unsigned char* to;
  size_t size;
} writer;

static void put(writer* w, const void* data, size_t n) {
  if (w->to != NULL && n > 0) memcpy(w->to + w->size, data, n);
  w->size += n;
}

static const char* text_at(const core_rows* rows, size_t row, size_t column) {
  return rows->cells[row * (rows->n + 1) + column + 1].string;
}

// A String that is that of the row before has no bytes.
static void put_texts(writer* w, const core_rows* rows, size_t column) {
  for (size_t i = 0; i < rows->n_rows; i++) {
    const char* text = text_at(rows, i, column);
    const bool same = i > 0 && text == text_at(rows, i - 1, column);
    const uint64_t n = same ? 0 : strlen(text) + 1;
    put(w, &n, sizeof n);
    put(w, text, n);
  }
}

static void put_rows(writer* w, const core_rows* rows) {
  const uint64_t sizes[] = {rows->n, rows->n_rows};
  put(w, mark, sizeof mark);
  put(w, sizes, sizeof sizes);
  for (size_t i = 0; i < rows->n; i++) put(w, &rows->columns[i].type, sizeof rows->columns[i].type);
  put(w, rows->cells, rows->n_rows * (rows->n + 1) * sizeof *rows->cells);
  for (size_t i = 0; i < rows->n; i++)
    if (rows->columns[i].type == CPL_STRING) put_texts(w, rows, i);
}

cpl_status core_rows_pack(const core_rows* rows, unsigned char** bytes, size_t* size) {
  writer w = {NULL, 0};
  put_rows(&w, rows);
  *size = w.size;
  *bytes = malloc(w.size);
  if (*bytes == NULL) return CPL_ERR_NOMEM;
  w = (writer){*bytes, 0};
  put_rows(&w, rows);
  return CPL_OK;
}

typedef struct reader {
  const unsigned char* at;
  size_t left;
} reader;

static const void* take(reader* r, size_t n) {
  const void* at = r->at;
  if (n > r->left) return NULL;
  r->at += n;
  r->left -= n;
  return at;
}

static bool get(reader* r, void* data, size_t n) {
  const void* from = take(r, n);
  if (from != NULL && n > 0) memcpy(data, from, n);
  return from != NULL;
}

// The texts of one column, which replace the addresses in its cells.
static bool get_texts(reader* r, size_t n_rows, size_t width, size_t column, cpl_value* cells) {
  const char* last = NULL;
  for (size_t i = 0; i < n_rows; i++) {
    uint64_t n;
    if (!get(r, &n, sizeof n) || n > r->left || (n == 0 && last == NULL)) return false;
    const char* text = n > 0 ? take(r, (size_t)n) : last;
    if (n > 0 && text[n - 1] != '\0') return false;
    cells[i * width + column + 1].string = last = text;
  }
  return true;
}

static bool same_columns(reader* r, const core_rows* rows) {
  for (size_t i = 0; i < rows->n; i++) {
    cpl_column one = {0};
    if (!get(r, &one.type, sizeof one.type) || one.type != rows->columns[i].type) return false;
  }
  return true;
}

cpl_status core_rows_unpack(core_rows* rows, const unsigned char* bytes, size_t size) {
  reader r = {bytes, size};
  char own[sizeof mark];
  uint64_t sizes[2];
  const size_t width = rows->n + 1;
  if (!get(&r, own, sizeof own) || memcmp(own, mark, sizeof mark) != 0 ||
      !get(&r, sizes, sizeof sizes) || sizes[0] != rows->n || !same_columns(&r, rows) ||
      sizes[1] > r.left / (width * sizeof(cpl_value)))
    return CPL_ERR_INPUT;
  const size_t n_rows = (size_t)sizes[1];
  cpl_value* cells = malloc((n_rows * width + 1) * sizeof *cells);
  if (cells == NULL) return CPL_ERR_NOMEM;
  bool fine = get(&r, cells, n_rows * width * sizeof *cells);
  for (size_t i = 0; i < rows->n && fine; i++)
    if (rows->columns[i].type == CPL_STRING) fine = get_texts(&r, n_rows, width, i, cells);
  cpl_status st = fine && r.left == 0 ? CPL_OK : CPL_ERR_INPUT;
  for (size_t i = 0; i < n_rows && st >= 0; i++)
    st = core_rows_add(rows, cells[i * width].real, cells + i * width + 1);
  free(cells);
  return st;
}

//------------------------------------ a run ------------------------------------

static cpl_status pack(void* user, cpl_binary* extra) {
  core_run* run = user;
  size_t size = 0;
  free(run->states.packed);
  run->states.packed = NULL;
  cpl_status st = core_rows_pack(&run->rows, &run->states.packed, &size);
  *extra = (cpl_binary){run->states.packed, size};
  return st < 0 ? cpl_fail(run->session.ctx, st, "out of memory: %zu rows", run->rows.n_rows) : st;
}

cpl_status core_states_read(core_run* run) {
  const core_places* p = core_settings_places(run->settings);
  const char* path = p->resume != NULL ? p->resume : p->start_from;
  if (path == NULL) return CPL_OK;
  cpl_status st = cpl_checkpoint_read(run->session.ctx, path, &run->states.from);
  if (st >= 0 && p->start_from != NULL)
    core_settings_start_at(run->settings,
                           isnan(p->at) ? cpl_checkpoint_time(run->states.from) : p->at);
  return st;
}

// That of the experiment, and of what it does not know: functions, and systems without a file.
static cpl_status identify(core_run* run, const char* content) {
  core_states* k = &run->states;
  const char* own = NULL;
  cpl_status st = cpl_experiment_identity(run->experiment, &own);
  if (st < 0) return st;
  const size_t n = strlen(own), size = n + strlen(content) + 32;
  free(k->identity);
  k->identity = malloc(size);
  if (k->identity == NULL) return cpl_fail(run->session.ctx, CPL_ERR_NOMEM, "out of memory");
  memcpy(k->identity, own, n + 1);
  if (content[0] != '\0') snprintf(k->identity + n, size - n, "content in Python: %s\n", content);
  k->def.identity = k->identity;
  return CPL_OK;
}

cpl_status core_states_begin(core_run* run) {
  const core_places* p = core_settings_places(run->settings);
  core_states* k = &run->states;
  cpl_run_def* def = cpl_experiment_run_def(run->experiment);
  k->def = cpl_default_checkpoints_def();
  if (p->checkpoint == NULL && k->from == NULL) return CPL_OK;
  cpl_status st = identify(run, p->content != NULL ? p->content : "");
  if (st >= 0 && k->from != NULL)
    st = cpl_checkpoint_check(k->from, k->identity, p->start_from != NULL);
  if (st < 0) return st;
  k->def.on_checkpoint = pack;
  k->def.user = run;
  if (p->start_from != NULL) def->start_from = k->from;
  else def->resume = k->from;
  if (p->checkpoint == NULL) return CPL_OK;
  k->def.path = p->checkpoint;
  if (!isnan(p->every)) k->def.every = p->every;
  def->checkpoints = &k->def;
  return CPL_OK;
}

cpl_status core_states_rows(core_run* run) {
  const core_places* p = core_settings_places(run->settings);
  if (p->resume == NULL || run->states.from == NULL) return CPL_OK;
  const cpl_binary extra = cpl_checkpoint_extra(run->states.from);
  cpl_status st = core_rows_unpack(&run->rows, extra.data, extra.size);
  if (st == CPL_ERR_INPUT)
    return cpl_fail(run->session.ctx, st,
                    "%s: this checkpoint has no rows of a run in Python; results of the command "
                    "\"couplet run\" go on in their file, and start_from takes its states",
                    p->resume);
  return st < 0 ? cpl_fail(run->session.ctx, st, "out of memory") : st;
}

void core_states_close(core_run* run) {
  cpl_checkpoint_destroy(run->states.from);
  free(run->states.packed);
  free(run->states.identity);
  run->states.identity = NULL;
  run->states.from = NULL;
  run->states.packed = NULL;
}

PyObject* core_run_checkpoint(PyObject* self, PyObject* args) {
  core_run* run = (core_run*)self;
  PyObject* path;
  const char* content;
  if (!PyArg_ParseTuple(args, "Os", &path, &content)) return NULL;
  const char* text = core_text(path);
  if (text == NULL || !core_run_check(run) || !core_begin(&run->session)) return NULL;
  cpl_checkpoints_def def = cpl_default_checkpoints_def();
  cpl_status st = core_run_start(run);
  if (st >= 0) st = identify(run, content);
  def.path = text;
  def.identity = run->states.identity;
  def.on_checkpoint = pack;
  def.user = run;
  if (st >= 0) st = cpl_simulation_checkpoint(run->sim, &def);
  if (!core_end(&run->session, st)) return NULL;
  Py_RETURN_NONE;
}
