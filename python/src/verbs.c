// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Functions of the module: what a file contains, building FMUs, writing, reading and showing
// results.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

//------------------------------------ info ------------------------------------

static PyObject* experiment_dict(const cpl_default_experiment* e) {
  PyObject* dict = PyDict_New();
  bool fine = dict != NULL;
  if (fine && e->has_start) fine = core_put(dict, "start", PyFloat_FromDouble(e->start));
  if (fine && e->has_stop) fine = core_put(dict, "stop", PyFloat_FromDouble(e->stop));
  if (fine && e->has_tolerance) fine = core_put(dict, "rtol", PyFloat_FromDouble(e->tolerance));
  if (fine && e->has_step) fine = core_put(dict, "step", PyFloat_FromDouble(e->step));
  if (!fine) Py_CLEAR(dict);
  return dict;
}

static PyObject* start_of(const cpl_variable* v) {
  if (v->type == CPL_STRING || v->type == CPL_BINARY) return core_str(v->start_text);
  if (!v->has_start) Py_RETURN_NONE;
  if (v->type == CPL_REAL) return PyFloat_FromDouble(v->start);
  if (v->type == CPL_BOOLEAN) return PyBool_FromLong(v->start != 0);
  return PyLong_FromDouble(v->start);
}

static PyObject* unit_of(const cpl_description* d, int32_t unit) {
  return core_str(unit >= 0 ? d->units[unit].name : NULL);
}

static PyObject* items_of(const cpl_description* d, const cpl_variable* v) {
  PyObject* dict = PyDict_New();
  if (v->type != CPL_ENUMERATION || v->declared_type < 0 || dict == NULL) return dict;
  const cpl_type_def* type = &d->types[v->declared_type];
  for (int32_t i = 0; i < type->n_items && dict != NULL; i++) {
    if (!core_put(dict, type->items[i].name, PyLong_FromLongLong(type->items[i].value)))
      Py_CLEAR(dict);
  }
  return dict;
}

static PyObject* variable_tuple(const cpl_description* d, const cpl_variable* v) {
  const char* of = v->derivative_of >= 0 ? d->vars[v->derivative_of].name : NULL;
  return Py_BuildValue("(NNNNNsssNddNNNN)", core_str(v->name), core_str(v->description),
                       unit_of(d, v->unit), unit_of(d, v->display_unit), core_str(v->quantity),
                       cpl_type_name((cpl_type)v->type),
                       cpl_causality_name((cpl_causality)v->causality),
                       cpl_variability_name((cpl_variability)v->variability), start_of(v), v->min,
                       v->max, v->has_nominal ? PyFloat_FromDouble(v->nominal) : core_str(NULL),
                       core_str(of), items_of(d, v), core_str(cpl_width_name((cpl_width)v->width)));
}

static PyObject* variables_list(const cpl_description* d) {
  PyObject* list = PyList_New(d->n_vars);
  for (int32_t i = 0; i < d->n_vars && list != NULL; i++) {
    PyObject* item = variable_tuple(d, &d->vars[i]);
    if (item == NULL || PyList_SetItem(list, i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* states_tuple(const cpl_description* d) {
  PyObject* tuple = PyTuple_New(d->n_states);
  for (int32_t i = 0; i < d->n_states && tuple != NULL; i++) {
    PyObject* name = core_str(d->states[i] >= 0 ? d->vars[d->states[i]].name : NULL);
    if (name == NULL || PyTuple_SetItem(tuple, i, name) != 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject* arrays_dict(const cpl_description* d) {
  PyObject* dict = PyDict_New();
  for (int32_t i = 0; i < d->n_arrays && dict != NULL; i++) {
    const cpl_array* a = &d->arrays[i];
    PyObject* sizes = PyTuple_New(a->n_sizes);
    for (int32_t k = 0; k < a->n_sizes && sizes != NULL; k++)
      PyTuple_SetItem(sizes, k, PyLong_FromLong(a->sizes[k]));
    if (!core_put(dict, a->name, sizes)) Py_CLEAR(dict);
  }
  return dict;
}

static PyObject* info_dict(const cpl_source* source) {
  const cpl_description* d = cpl_source_description(source);
  const struct {
    const char *key, *text;
  } texts[] = {{"name", d->name},
               {"kind", d->kind},
               {"author", d->author},
               {"version", d->version},
               {"copyright", d->copyright},
               {"license", d->license},
               {"generation_tool", d->tool},
               {"generation_date", d->date},
               {"description", d->description}};
  PyObject* dict = PyDict_New();
  bool fine = dict != NULL;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0] && fine; i++)
    fine = core_put(dict, texts[i].key, core_str(texts[i].text));
  fine = fine && core_put(dict, "has_model", PyBool_FromLong(cpl_source_has_model(source))) &&
         core_put(dict, "has_stepper", PyBool_FromLong(cpl_source_has_stepper(source))) &&
         core_put(dict, "is_system", PyBool_FromLong(cpl_system_definition(source) != NULL)) &&
         core_put(dict, "experiment", experiment_dict(&d->experiment)) &&
         core_put(dict, "variables", variables_list(d)) &&
         core_put(dict, "states", states_tuple(d)) && core_put(dict, "arrays", arrays_dict(d)) &&
         core_put(dict, "n_indicators", PyLong_FromLong(d->n_indicators)) &&
         core_put(dict, "n_constraints", PyLong_FromLong(d->n_constraints));
  if (!fine) Py_CLEAR(dict);
  return dict;
}

static PyObject* info(PyObject* module, PyObject* args) {
  const char* path;
  int level, isolate;
  core_session s;
  cpl_source* source = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "ypi", &path, &isolate, &level) ||
      !core_session_open(&s, (cpl_log_level)level))
    return NULL;
  cpl_open_def def = cpl_default_open_def();
  def.path = path;
  def.isolate = isolate;
  PyObject* result = NULL;
  if (core_begin(&s)) {
    cpl_status st = cpl_open_any(s.ctx, &def, &source);
    if (core_end(&s, st)) result = info_dict(source);
  }
  cpl_source_destroy(source);
  core_session_close(&s);
  return result;
}

//------------------------------------ check ------------------------------------

typedef struct checking {
  core_session session;
  PyObject* list;
} checking;

static void add_finding(void* user, const cpl_finding* f) {
  checking* c = user;
  PyGILState_STATE state = core_enter();
  char place[4096] = "";
  if (f->file != NULL) snprintf(place, sizeof place, "%s:%d: ", f->file, (int)f->line);
  PyObject* text = core_str(f->text);
  PyObject* before = core_str(place);
  PyObject* whole = text != NULL && before != NULL ? PyUnicode_Concat(before, text) : NULL;
  PyObject* item = Py_BuildValue("(siisN)", f->error ? "error" : "warning", (int)f->line,
                                 (int)f->column, f->rule, whole);
  Py_XDECREF(text);
  Py_XDECREF(before);
  if (item != NULL) PyList_Append(c->list, item);
  Py_XDECREF(item);
  core_leave(&c->session, state);
}

static PyObject* check(PyObject* module, PyObject* args) {
  int strict, isolate;
  cpl_check_def def = cpl_default_check_def();
  checking c;
  (void)module;
  if (!PyArg_ParseTuple(args, "yppd", &def.path, &strict, &isolate, &def.call_timeout) ||
      !core_session_open(&c.session, CPL_LOG_ERROR))
    return NULL;
  def.strict = strict;
  def.isolate = isolate;
  def.on_finding = add_finding;
  def.user = &c;
  c.list = PyList_New(0);
  bool fine = c.list != NULL && core_begin(&c.session);
  if (fine) fine = core_end(&c.session, cpl_check(c.session.ctx, &def, NULL));
  if (!fine) Py_CLEAR(c.list);
  core_session_close(&c.session);
  return c.list;
}

//------------------------------------ build ------------------------------------

static PyObject* build(PyObject* module, PyObject* args) {
  const char *model, *output = NULL;
  PyObject* path_of_output;
  int fmi, interface, sources, level;
  char path[4096] = "";
  core_session s;
  (void)module;
  if (!PyArg_ParseTuple(args, "yOippi", &model, &path_of_output, &fmi, &interface, &sources,
                        &level))
    return NULL;
  if (path_of_output != Py_None) output = core_text(path_of_output);
  if (PyErr_Occurred() || !core_session_open(&s, (cpl_log_level)level)) return NULL;
  cpl_build_def def = cpl_default_build_def();
  def.model = model;
  def.output = output;
  def.fmi_version = fmi;
  def.expose = interface ? CPL_EXPOSE_INTERFACE : CPL_EXPOSE_ALL;
  def.sources = sources;
  PyObject* result = NULL;
  if (core_begin(&s)) {
    cpl_status st = cpl_fmu_build(s.ctx, &def, path, sizeof path);
    if (core_end(&s, st)) result = PyUnicode_DecodeFSDefault(path);
  }
  core_session_close(&s);
  return result;
}

static PyObject* unpack(PyObject* module, PyObject* args) {
  const char *fmu, *folder;
  int level;
  core_session s;
  (void)module;
  if (!PyArg_ParseTuple(args, "yyi", &fmu, &folder, &level) ||
      !core_session_open(&s, (cpl_log_level)level))
    return NULL;
  bool fine = core_begin(&s);
  if (fine) fine = core_end(&s, cpl_fmu_unpack(s.ctx, fmu, folder));
  core_session_close(&s);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

static PyObject* convert(PyObject* module, PyObject* args) {
  cpl_convert_def def = cpl_default_convert_def();
  int fmi, level;
  core_session s;
  (void)module;
  if (!PyArg_ParseTuple(args, "yyii", &def.input, &def.output, &fmi, &level) ||
      !core_session_open(&s, (cpl_log_level)level))
    return NULL;
  def.fmi_version = fmi;
  bool fine = core_begin(&s);
  if (fine) fine = core_end(&s, cpl_convert(s.ctx, &def));
  core_session_close(&s);
  if (!fine) return NULL;
  Py_RETURN_NONE;
}

//------------------------------------ results ------------------------------------

// Columns of Python: their descriptions, and their values as memory or as lists of texts.
typedef struct frame {
  cpl_column* columns;
  Py_buffer* views;  // time, then the columns; of Strings: none
  PyObject** texts;  // borrowed lists. Nullable.
  size_t n, n_rows;
} frame;

static bool type_by_name(const char* name, cpl_type* out) {
  for (int i = CPL_REAL; i <= CPL_CLOCK; i++) {
    if (strcmp(cpl_type_name((cpl_type)i), name) != 0) continue;
    *out = (cpl_type)i;
    return true;
  }
  return false;
}

static bool read_column(cpl_column* c, PyObject* tuple) {
  const char* type;
  int is_unsigned, constant;
  if (!PyArg_ParseTuple(tuple, "szsspp", &c->name, &c->unit, &c->description, &type, &is_unsigned,
                        &constant))
    return false;
  c->is_unsigned = is_unsigned;
  c->constant = constant;
  if (!type_by_name(type, &c->type)) PyErr_Format(PyExc_ValueError, "unknown type %s", type);
  return !PyErr_Occurred();
}

static bool read_values(frame* f, size_t i, PyObject* value) {
  const size_t cell = sizeof(cpl_value);
  if (i > 0 && f->columns[i - 1].type == CPL_STRING) {
    f->texts[i] = value;
    if (!PyList_Check(value) || (size_t)PyList_Size(value) != f->n_rows)
      PyErr_SetString(PyExc_ValueError, "texts of a column have the wrong number");
    return !PyErr_Occurred();
  }
  if (PyObject_GetBuffer(value, &f->views[i], PyBUF_C_CONTIGUOUS) != 0) return false;
  if (i == 0) f->n_rows = (size_t)f->views[0].len / cell;
  if ((size_t)f->views[i].len != f->n_rows * cell)
    PyErr_SetString(PyExc_ValueError, "columns have different lengths");
  return !PyErr_Occurred();
}

static void close_frame(frame* f) {
  for (size_t i = 0; f->views != NULL && i <= f->n; i++) {
    if (f->views[i].obj != NULL) PyBuffer_Release(&f->views[i]);
  }
  free(f->columns);
  free(f->views);
  free(f->texts);
}

// `columns`: a list of tuples; `values`: a list: time, then each column.
static bool open_frame(frame* f, PyObject* columns, PyObject* values) {
  const Py_ssize_t n = PyList_Size(columns);
  *f = (frame){0};
  if (n < 0 || PyList_Size(values) != n + 1) {
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "columns and values differ in number");
    return false;
  }
  f->columns = calloc((size_t)n + 1, sizeof *f->columns);
  f->views = calloc((size_t)n + 1, sizeof *f->views);
  f->texts = calloc((size_t)n + 1, sizeof *f->texts);
  if (f->columns == NULL || f->views == NULL || f->texts == NULL) PyErr_NoMemory();
  else f->n = (size_t)n;
  bool fine = !PyErr_Occurred();
  for (Py_ssize_t i = 0; i < n && fine; i++)
    fine = read_column(&f->columns[i], PyList_GetItem(columns, i));
  for (Py_ssize_t i = 0; i <= n && fine; i++)
    fine = read_values(f, (size_t)i, PyList_GetItem(values, i));
  if (!fine) close_frame(f);
  return fine;
}

static const char* text_of(const frame* f, size_t column, size_t row) {
  const char* text = core_text(PyList_GetItem(f->texts[column], (Py_ssize_t)row));
  return text != NULL ? text : "";
}

static cpl_status write_rows(cpl_results* res, const frame* f) {
  cpl_value* row = calloc(f->n + 1, sizeof *row);
  if (row == NULL) return CPL_ERR_NOMEM;
  cpl_status st = CPL_OK;
  for (size_t r = 0; r < f->n_rows && st >= 0 && !PyErr_Occurred(); r++) {
    for (size_t i = 1; i <= f->n; i++) {
      if (f->texts[i] != NULL) row[i - 1].string = text_of(f, i, r);
      else row[i - 1] = ((const cpl_value*)f->views[i].buf)[r];
    }
    st = cpl_results_record(res, ((const double*)f->views[0].buf)[r], row);
  }
  free(row);
  return st;
}

// Texts of Python are used, so that the interpreter lock is kept.
static PyObject* save(PyObject* module, PyObject* args) {
  const char *path, *comment;
  PyObject *columns, *values;
  int units;
  core_session s;
  frame f;
  cpl_results* res = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "yOOpz", &path, &columns, &values, &units, &comment) ||
      !open_frame(&f, columns, values))
    return NULL;
  PyObject* result = NULL;
  if (core_session_open(&s, CPL_LOG_WARNING)) {
    cpl_results_def def = cpl_default_results_def();
    def.path = path;
    def.units = units;
    def.comment = comment;
    cpl_status st = cpl_results_open(s.ctx, &def, f.columns, f.n, &res);
    if (st >= 0) st = write_rows(res, &f);
    cpl_status closed = cpl_results_finish(res, st < 0, NULL);
    if (st >= 0) st = closed;
    if (!PyErr_Occurred() && core_begin(&s) && core_end(&s, st)) result = Py_NewRef(Py_None);
    core_session_close(&s);
  }
  close_frame(&f);
  return result;
}

static PyObject* table_columns(const cpl_table* t) {
  PyObject* list = PyList_New((Py_ssize_t)t->n_columns);
  for (size_t i = 0; i < t->n_columns && list != NULL; i++) {
    PyObject* item = Py_BuildValue("(NNssOO)", core_str(t->names[i]),
                                   core_str(t->units != NULL ? t->units[i] : NULL), "", "Real",
                                   Py_False, Py_False);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* table_data(const cpl_table* t) {
  void* data = NULL;
  PyObject* memory = core_block((t->n_columns + 1) * t->n_rows * sizeof(double), &data);
  if (memory == NULL) return NULL;
  double* to = data;
  memcpy(to, t->time, t->n_rows * sizeof *to);
  memcpy(to + t->n_rows, t->values, t->n_rows * t->n_columns * sizeof *to);
  return Py_BuildValue("(NNN)", table_columns(t), memory, PyDict_New());
}

static PyObject* read_results(PyObject* module, PyObject* args) {
  const char* path;
  core_session s;
  cpl_table* table = NULL;
  (void)module;
  if (!PyArg_ParseTuple(args, "y", &path) || !core_session_open(&s, CPL_LOG_WARNING)) return NULL;
  PyObject* result = NULL;
  if (core_begin(&s)) {
    cpl_status st = cpl_results_read(s.ctx, path, &table);
    if (core_end(&s, st)) result = table_data(table);
  }
  cpl_table_destroy(table);
  core_session_close(&s);
  return result;
}

//------------------------------------ view ------------------------------------

typedef struct shown {
  cpl_table table;
  const char **names, **units, **texts;
  double* values;
} shown;

static void close_shown(shown* s) {
  free(s->names);
  free(s->units);
  free(s->texts);
  free(s->values);
}

static double number_at(const cpl_column* c, cpl_value value) {
  if (c->type == CPL_REAL) return value.real;
  return c->is_unsigned ? (double)(uint64_t)value.integer : (double)value.integer;
}

// The numbers of a frame as a table; Strings are left out.
static bool open_shown(shown* s, const frame* f) {
  *s = (shown){.names = calloc(f->n + 1, sizeof(char*)),
               .units = calloc(f->n + 1, sizeof(char*)),
               .texts = calloc(f->n + 1, sizeof(char*)),
               .values = calloc(f->n * f->n_rows + 1, sizeof(double))};
  if (s->names == NULL || s->units == NULL || s->texts == NULL || s->values == NULL) {
    close_shown(s);
    PyErr_NoMemory();
    return false;
  }
  size_t k = 0;
  for (size_t i = 0; i < f->n; i++) {
    const cpl_value* from = f->views[i + 1].buf;
    if (f->texts[i + 1] != NULL) continue;
    s->names[k] = f->columns[i].name;
    s->units[k] = f->columns[i].unit;
    s->texts[k] = f->columns[i].description;
    for (size_t r = 0; r < f->n_rows; r++)
      s->values[k * f->n_rows + r] = number_at(&f->columns[i], from[r]);
    k++;
  }
  s->table = (cpl_table){.n_rows = f->n_rows,
                         .n_columns = k,
                         .names = s->names,
                         .units = s->units,
                         .time = f->views[0].buf,
                         .values = s->values};
  return true;
}

static PyObject* view_frame(const frame* f, const char* path, const char* title, PyObject* only) {
  core_session s;
  shown t;
  cpl_view_def def = cpl_default_view_def();
  const Py_ssize_t n = PyTuple_Size(only);
  const char** names = n >= 0 ? calloc((size_t)n + 1, sizeof *names) : NULL;
  PyObject* result = NULL;
  if (names == NULL || !open_shown(&t, f)) {
    free(names);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
    names[i] = core_text(PyTuple_GetItem(only, i));
  def.path = path;
  def.title = title;
  def.only = names;
  def.n_only = (size_t)n;
  def.texts = t.texts;
  if (!PyErr_Occurred() && core_session_open(&s, CPL_LOG_WARNING)) {
    if (core_begin(&s) && core_end(&s, cpl_view_write(s.ctx, &t.table, &def)))
      result = Py_NewRef(Py_None);
    core_session_close(&s);
  }
  close_shown(&t);
  free(names);
  return result;
}

static PyObject* view(PyObject* module, PyObject* args) {
  const char *path, *title;
  PyObject *columns, *values, *only;
  frame f;
  (void)module;
  if (!PyArg_ParseTuple(args, "yOOzO!", &path, &columns, &values, &title, &PyTuple_Type, &only) ||
      !open_frame(&f, columns, values))
    return NULL;
  PyObject* result = view_frame(&f, path, title, only);
  close_frame(&f);
  return result;
}

//------------------------------------ solvers ------------------------------------

static PyObject* solvers(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  const int32_t n = cpl_solver_count();
  PyObject* names = PyTuple_New(n);
  for (int32_t i = 0; i < n && names != NULL; i++)
    PyTuple_SetItem(names, i, core_str(cpl_solver_name((cpl_solver_kind)i)));
  return names;
}

PyMethodDef core_verbs[] = {
    {"info", info, METH_VARARGS, "info(path, isolate, log_level): what a file contains."},
    {"check", check, METH_VARARGS, "check(path, strict, isolate, call_timeout): findings."},
    {"build", build, METH_VARARGS,
     "build(model, output, fmi, interface, sources, log_level): an FMU of a C model or a system."},
    {"unpack", unpack, METH_VARARGS, "unpack(fmu, folder, log_level): the system of an FMU."},
    {"convert", convert, METH_VARARGS,
     "convert(input, output, fmi, log_level): SSP and system files."},
    {"save", save, METH_VARARGS, "save(path, columns, values, units, comment): a result file."},
    {"read", read_results, METH_VARARGS, "read(path): a result file."},
    {"view", view, METH_VARARGS, "view(path, columns, values, title, only): a page or a picture."},
    {"diagram", core_diagram, METH_VARARGS, "diagram(settings, path, svg, log_level): a picture."},
    {"fit", core_fit, METH_VARARGS, "Parameters from measurements."},
    {"gradients", core_gradients, METH_VARARGS, "Adjoint gradients at the end of a run."},
    {"optimize", core_optimize, METH_VARARGS, "Parameters that are best for a measure of a run."},
    {"statistics", core_statistics, METH_VARARGS,
     "statistics(results, probabilities): moments and quantiles."},
    {"roots", core_roots, METH_VARARGS, "Poles or zeros of matrices."},
    {"solvers", solvers, METH_NOARGS, "Names of the solvers."},
    {NULL, NULL, 0, NULL},
};
