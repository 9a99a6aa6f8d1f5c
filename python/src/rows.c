// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rows of a run in memory, of all types, and blocks of memory that numpy uses without a copy.
#include <stdlib.h>
#include <string.h>

#include "core.h"

//------------------------------------ blocks ------------------------------------

typedef struct block {
  PyObject_HEAD void* data;
  Py_ssize_t size;
} block;

static PyObject* block_type;

static int block_buffer(PyObject* self, Py_buffer* view, int flags) {
  block* b = (block*)self;
  return PyBuffer_FillInfo(view, self, b->data, b->size, 0, flags);
}

static void block_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  free(((block*)self)->data);
  PyObject_Free(self);
  Py_DECREF(type);
}

static PyType_Slot block_slots[] = {
    {Py_bf_getbuffer, block_buffer},
    {Py_tp_dealloc, block_dealloc},
    {Py_tp_doc, "Memory with the buffer protocol."},
    {0, NULL},
};

static PyType_Spec block_spec = {
    .name = "couplet._core.Block",
    .basicsize = sizeof(block),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = block_slots,
};

PyObject* core_block(size_t size, void** data) {
  block* b = PyObject_New(block, (PyTypeObject*)block_type);
  if (b == NULL) return NULL;
  b->size = (Py_ssize_t)size;
  *data = b->data = calloc(size > 0 ? size : 1, 1);
  if (b->data != NULL) return (PyObject*)b;
  Py_DECREF(b);
  return PyErr_NoMemory();
}

//------------------------------------ recording ------------------------------------

static void free_columns(core_rows* rows) {
  for (size_t i = 0; rows->columns != NULL && i < rows->n; i++) {
    free((char*)rows->columns[i].name);
    free((char*)rows->columns[i].unit);
    free((char*)rows->columns[i].description);
  }
  free(rows->columns);
  rows->columns = NULL;
}

cpl_status core_rows_begin(core_rows* rows, const cpl_column* columns, size_t n) {
  core_rows_free(rows);
  rows->columns = calloc(n + 1, sizeof *rows->columns);
  if (rows->columns == NULL) return CPL_ERR_NOMEM;
  rows->n = n;
  bool fine = true;
  for (size_t i = 0; i < n; i++) {
    cpl_column* c = &rows->columns[i];
    *c = columns[i];
    c->name = strdup(columns[i].name);
    c->unit = columns[i].unit != NULL ? strdup(columns[i].unit) : NULL;
    c->description = strdup(columns[i].description);
    fine = fine && c->name != NULL && c->description != NULL;
  }
  return fine ? CPL_OK : CPL_ERR_NOMEM;
}

static bool grow(void** list, size_t n, size_t* cap, size_t size) {
  if (n < *cap) return true;
  size_t more = *cap > 0 ? 2 * *cap : 64;
  void* memory = realloc(*list, more * size);
  if (memory == NULL) return false;
  *list = memory;
  *cap = more;
  return true;
}

// The value of a String: the text of the row before where it is the same.
static const char* keep_text(core_rows* rows, size_t column, const char* text) {
  const size_t width = rows->n + 1;
  const char* last =
      rows->n_rows > 0 ? rows->cells[(rows->n_rows - 1) * width + column + 1].string : NULL;
  if (last != NULL && strcmp(last, text) == 0) return last;
  if (!grow((void**)&rows->texts, rows->n_texts, &rows->cap_texts, sizeof *rows->texts))
    return NULL;
  char* copy = strdup(text);
  if (copy != NULL) rows->texts[rows->n_texts++] = copy;
  return copy;
}

cpl_status core_rows_add(core_rows* rows, double t, const cpl_value* values) {
  const size_t width = rows->n + 1;
  if (!grow((void**)&rows->cells, rows->n_rows, &rows->cap, width * sizeof *rows->cells))
    return CPL_ERR_NOMEM;
  cpl_value* row = rows->cells + rows->n_rows * width;
  row[0].real = t;
  memcpy(row + 1, values, rows->n * sizeof *row);
  for (size_t i = 0; i < rows->n; i++) {
    if (rows->columns[i].type != CPL_STRING) continue;
    row[i + 1].string = keep_text(rows, i, values[i].string);
    if (row[i + 1].string == NULL) return CPL_ERR_NOMEM;
  }
  rows->n_rows++;
  return CPL_OK;
}

void core_rows_free(core_rows* rows) {
  free_columns(rows);
  for (size_t i = 0; i < rows->n_texts; i++) free(rows->texts[i]);
  free(rows->texts);
  free(rows->cells);
  *rows = (core_rows){0};
}

//------------------------------------ as Python ------------------------------------

static PyObject* columns_list(const core_rows* rows) {
  PyObject* list = PyList_New((Py_ssize_t)rows->n);
  for (size_t i = 0; i < rows->n && list != NULL; i++) {
    const cpl_column* c = &rows->columns[i];
    PyObject* item = Py_BuildValue("(NNNsNN)", core_str(c->name), core_str(c->unit),
                                   core_str(c->description), cpl_type_name(c->type),
                                   PyBool_FromLong(c->is_unsigned), PyBool_FromLong(c->constant));
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* text_list(const core_rows* rows, size_t column) {
  PyObject* list = PyList_New((Py_ssize_t)rows->n_rows);
  for (size_t row = 0; row < rows->n_rows && list != NULL; row++) {
    PyObject* item = core_str(rows->cells[row * (rows->n + 1) + column + 1].string);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)row, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* texts_dict(const core_rows* rows) {
  PyObject* dict = PyDict_New();
  for (size_t i = 0; i < rows->n && dict != NULL; i++) {
    if (rows->columns[i].type != CPL_STRING) continue;
    if (!core_put(dict, rows->columns[i].name, text_list(rows, i))) Py_CLEAR(dict);
  }
  return dict;
}

// Column after column, in tiles, so that both sides stay in the cache.
static void transpose(const core_rows* rows, cpl_value* to) {
  enum { TILE = 32 };
  const size_t width = rows->n + 1, n = rows->n_rows;
  for (size_t r = 0; r < n; r += TILE) {
    const size_t end = r + TILE < n ? r + TILE : n;
    for (size_t c = 0; c < width; c++) {
      for (size_t i = r; i < end; i++) to[c * n + i] = rows->cells[i * width + c];
    }
  }
  for (size_t c = 0; c < rows->n; c++) {
    if (rows->columns[c].type == CPL_STRING)
      memset(to + (c + 1) * n, 0, n * sizeof *to);  // addresses are no values
  }
}

PyObject* core_rows_data(const core_rows* rows) {
  void* data = NULL;
  PyObject* memory = core_block((rows->n + 1) * rows->n_rows * sizeof(cpl_value), &data);
  if (memory == NULL) return NULL;
  transpose(rows, data);
  return Py_BuildValue("(NNN)", columns_list(rows), memory, texts_dict(rows));
}

bool core_add_rows(PyObject* module) {
  block_type = PyType_FromSpec(&block_spec);
  return block_type != NULL && PyModule_AddObjectRef(module, "Block", block_type) == 0;
}
