// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The settings of a run from a dict: tables of keys and members, lists of names, and inputs, which
// are tables (copied) or functions of Python. Texts are borrowed from the dict, which is kept.
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

// An input that is a function of Python.
typedef struct input_function {
  core_session* session;
  PyObject* function;  // borrowed from the dict
} input_function;

struct core_settings {
  PyObject* dict;
  cpl_experiment_settings settings;
  cpl_experiment_def experiment;
  cpl_model_solver* solvers;
  cpl_start* starts;
  const char** record;
  const char** parameters;
  cpl_sensitivity_def sensitivity;
  const char **of, **to;  // of it
  cpl_table* table;       // read from input_path
  const char* input_path;
  cpl_table* tables;   // one of all columns, then one per input with times of its own
  double** memory;     // of each
  const char** names;  // of columns of the first
  const char** units;
  size_t n_tables;
  cpl_input* inputs;
  input_function* functions;
  size_t n_functions;
  core_system* system;  // of a model that is no file. Nullable
  core_places places;
};

//------------------------------------ single values ------------------------------------

typedef struct member {
  const char* key;
  char kind;  // d: double, s: text, b: bool, i: int32_t
  size_t at;
} member;

#define AT(name)         offsetof(core_settings, settings.name)
#define EXPERIMENT(name) offsetof(core_settings, experiment.name)
#define PLACE(name)      offsetof(core_settings, places.name)
static const member members[] = {
    {"path", 's', AT(path)},
    {"start", 'd', EXPERIMENT(start)},
    {"stop", 'd', EXPERIMENT(stop)},
    {"interval", 'd', EXPERIMENT(interval)},
    {"step", 'd', EXPERIMENT(step)},
    {"rtol", 'd', EXPERIMENT(rtol)},
    {"atol", 'd', EXPERIMENT(atol)},
    {"solver", 's', EXPERIMENT(solver)},
    {"linear", 's', EXPERIMENT(linear)},
    {"projection", 's', EXPERIMENT(projection)},
    {"loops", 's', EXPERIMENT(loops)},
    {"steady", 's', EXPERIMENT(steady)},
    {"input", 's', offsetof(core_settings, input_path)},
    {"table_name", 's', AT(table_name)},
    {"input_ignore_extra", 'b', AT(ignore_extra)},
    {"one_solver", 'b', AT(one_solver)},
    {"timing", 'b', AT(timing)},
    {"saves", 'b', AT(saves)},
    {"no_ad", 'b', AT(no_ad)},
    {"isolate", 'b', AT(isolate)},
    {"call_timeout", 'd', AT(call_timeout)},
    {"call_log", 's', AT(call_log)},
    {"variant", 's', AT(variant)},
    {"processes", 'b', AT(processes)},
    {"threads", 'i', AT(threads)},
    {"checkpoint", 's', PLACE(checkpoint)},
    {"resume", 's', PLACE(resume)},
    {"start_from", 's', PLACE(start_from)},
    {"every", 'd', PLACE(every)},
    {"at", 'd', PLACE(at)},
    {"content", 's', PLACE(content)},
};

static bool read_member(core_settings* s, const member* m, PyObject* value) {
  char* at = (char*)s + m->at;
  long number;
  switch (m->kind) {
    case 'd':
      *(double*)(void*)at = PyFloat_AsDouble(value);
      if (!PyErr_Occurred() && isnan(*(double*)(void*)at))
        PyErr_Format(PyExc_ValueError, "%s cannot be nan", m->key);
      break;
    case 's': *(const char**)(void*)at = core_text(value); break;
    case 'b': *(bool*)(void*)at = PyObject_IsTrue(value) == 1; break;
    default:
      number = PyLong_AsLong(value);
      if (!PyErr_Occurred() && (number < 0 || number > 1000000))
        PyErr_Format(PyExc_ValueError, "%s cannot be %ld", m->key, number);
      *(int32_t*)(void*)at = (int32_t)number;
  }
  return !PyErr_Occurred();
}

static bool read_members(core_settings* s) {
  for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
    PyObject* value = PyDict_GetItemString(s->dict, members[i].key);
    if (value != NULL && value != Py_None && !read_member(s, &members[i], value)) return false;
  }
  return true;
}

static bool read_choices(core_settings* s) {
  PyObject* as = PyDict_GetItemString(s->dict, "as_");
  PyObject* form = PyDict_GetItemString(s->dict, "form");
  const char* text = as != NULL && as != Py_None ? core_text(as) : "";
  if (text == NULL) return false;
  if (strcmp(text, "me") == 0) s->settings.as = CPL_AS_MODEL_EXCHANGE;
  else if (strcmp(text, "cs") == 0) s->settings.as = CPL_AS_CO_SIMULATION;
  else if (text[0] != '\0')
    return (core_raise(CPL_ERR_INPUT, "as_ is \"me\" (model exchange) or \"cs\" (co-simulation)"),
            false);
  text = form != NULL && form != Py_None ? core_text(form) : "auto";
  if (text == NULL) return false;
  if (cpl_form_by_name(text, &s->settings.form)) return true;
  return (core_raise(CPL_ERR_INPUT, "form is \"auto\", \"ode\" or \"dae\""), false);
}

//------------------------------------ lists ------------------------------------

// The tuple of a key; *n its length. NULL without an exception: there is none.
static PyObject* tuple_of(const core_settings* s, const char* key, size_t* n) {
  PyObject* value = PyDict_GetItemString(s->dict, key);
  *n = 0;
  if (value == NULL || value == Py_None) return NULL;
  if (!PyTuple_Check(value)) {
    PyErr_Format(PyExc_TypeError, "%s is no tuple", key);
    return NULL;
  }
  *n = (size_t)PyTuple_Size(value);
  return value;
}

static const char* text_at(PyObject* tuple, size_t i) {
  PyObject* item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
  return item != NULL ? core_text(item) : NULL;
}

static PyObject* tuple_at(PyObject* tuple, size_t i, Py_ssize_t size) {
  PyObject* item = PyTuple_GetItem(tuple, (Py_ssize_t)i);
  if (item == NULL || (PyTuple_Check(item) && PyTuple_Size(item) == size)) return item;
  PyErr_SetString(PyExc_TypeError, "a setting has the wrong form");
  return NULL;
}

static bool read_starts(core_settings* s) {
  size_t n;
  PyObject* list = tuple_of(s, "set", &n);
  s->starts = calloc(n + 1, sizeof *s->starts);
  for (size_t i = 0; i < n && s->starts != NULL; i++) {
    PyObject* pair = tuple_at(list, i, 2);
    if (pair == NULL) return false;
    s->starts[i] = (cpl_start){text_at(pair, 0), text_at(pair, 1)};
    if (PyErr_Occurred()) return false;
  }
  s->settings.starts = s->starts;
  s->settings.n_starts = n;
  return s->starts != NULL && !PyErr_Occurred();
}

// A tuple of texts. Owned: *out by the settings.
static bool read_texts(core_settings* s, const char* key, const char*** out, size_t* n) {
  PyObject* list = tuple_of(s, key, n);
  const char** texts = *out = calloc(*n + 1, sizeof *texts);
  for (size_t i = 0; i < *n && texts != NULL; i++) {
    texts[i] = text_at(list, i);
    if (texts[i] == NULL) return false;
  }
  return texts != NULL && !PyErr_Occurred();
}

static bool read_record(core_settings* s) {
  bool fine = read_texts(s, "record", &s->record, &s->settings.n_record) &&
              read_texts(s, "parameters", &s->parameters, &s->settings.n_parameters);
  s->settings.record = s->record;
  s->settings.parameters = s->parameters;
  return fine;
}

static bool read_sensitivity(core_settings* s) {
  cpl_sensitivity_def* d = &s->sensitivity;
  *d = cpl_default_sensitivity_def();
  bool fine = read_texts(s, "sensitivity_of", &s->of, &d->n_of) &&
              read_texts(s, "sensitivity_to", &s->to, &d->n_to);
  d->of = s->of;
  d->to = s->to;
  d->adjoint = PyDict_GetItemString(s->dict, "sensitivity_adjoint") == Py_True;
  if (PyDict_GetItemString(s->dict, "sensitivity_of") != NULL) s->settings.sensitivity = d;
  return fine;
}

static bool read_solvers(core_settings* s) {
  size_t n;
  PyObject* list = tuple_of(s, "solvers", &n);
  s->solvers = calloc(n + 1, sizeof *s->solvers);
  for (size_t i = 0; i < n && s->solvers != NULL; i++) {
    PyObject* pair = tuple_at(list, i, 2);
    if (pair == NULL) return false;
    s->solvers[i].model = text_at(pair, 0);
    const char* name = text_at(pair, 1);
    if (PyErr_Occurred()) return false;
    if (!cpl_solver_by_name(name, &s->solvers[i].kind)) {
      char text[512];
      snprintf(text, sizeof text, "there is no solver %.100s; solvers are %s", name,
               cpl_solver_names());
      return (core_raise(CPL_ERR_INPUT, text), false);
    }
  }
  s->settings.solvers = s->solvers;
  s->settings.n_solvers = (int32_t)n;
  return s->solvers != NULL && !PyErr_Occurred();
}

//------------------------------------ inputs ------------------------------------

// Copies doubles from an object with the buffer protocol; `expected` values, or any number: -1.
static bool copy_doubles(PyObject* from, Py_ssize_t expected, double** to, size_t* n) {
  Py_buffer view;
  if (PyObject_GetBuffer(from, &view, PyBUF_C_CONTIGUOUS) != 0) return false;
  Py_ssize_t count = view.len / (Py_ssize_t)sizeof(double);
  bool fits = expected < 0 || count == expected;
  if (!fits) PyErr_SetString(PyExc_ValueError, "times and values of an input differ in number");
  if (fits && *to == NULL) *to = malloc((size_t)count * sizeof(double) + 1);
  if (fits && *to == NULL) PyErr_NoMemory();
  if (fits && *to != NULL) memcpy(*to, view.buf, (size_t)count * sizeof(double));
  *n = (size_t)count;
  PyBuffer_Release(&view);
  return !PyErr_Occurred();
}

// Time and columns, one after the other, into memory of their own.
static bool fill_table(core_settings* s, size_t which, PyObject* time, PyObject* columns) {
  cpl_table* t = &s->tables[which];
  Py_ssize_t width = columns != NULL ? PyTuple_Size(columns) : 0;
  double* times = NULL;
  size_t n = 0;
  if (width < 0 || !copy_doubles(time, -1, &times, &n)) return false;
  double* all = malloc(((size_t)width + 1) * n * sizeof *all + 1);
  if (all != NULL) memcpy(all, times, n * sizeof *all);
  free(times);
  if (all == NULL) {
    PyErr_NoMemory();
    return false;
  }
  s->memory[which] = all;
  for (Py_ssize_t i = 0; i < width; i++) {
    double* to = all + ((size_t)i + 1) * n;
    if (!copy_doubles(PyTuple_GetItem(columns, i), (Py_ssize_t)n, &to, &n)) return false;
  }
  *t = (cpl_table){.n_rows = n,
                   .n_columns = (size_t)width,
                   .names = s->names,
                   .units = s->units,
                   .time = all,
                   .values = all + n};
  return true;
}

// "table": (names, units, time, columns): columns by their names, units in brackets or None.
static bool read_table(core_settings* s) {
  PyObject* names = NULL;
  PyObject* units = NULL;
  size_t n;
  PyObject* value = tuple_of(s, "table", &n);
  if (value == NULL) return !PyErr_Occurred();
  if (n != 4) return (PyErr_Format(PyExc_TypeError, "a table has the wrong form"), false);
  names = PyTuple_GetItem(value, 0);
  units = PyTuple_GetItem(value, 1);
  if (!PyTuple_Check(names) || !PyTuple_Check(units) ||
      PyTuple_Size(units) != PyTuple_Size(names) || !PyTuple_Check(PyTuple_GetItem(value, 3)) ||
      PyTuple_Size(PyTuple_GetItem(value, 3)) != PyTuple_Size(names))
    return (PyErr_Format(PyExc_TypeError, "a table has the wrong form"), false);
  Py_ssize_t width = PyTuple_Size(names);
  s->names = calloc((size_t)width + 1, sizeof *s->names);
  s->units = calloc((size_t)width + 1, sizeof *s->units);
  if (s->names == NULL || s->units == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < width; i++) {
    PyObject* unit = PyTuple_GetItem(units, i);
    s->names[i] = text_at(names, (size_t)i);
    s->units[i] = unit != NULL && unit != Py_None ? core_text(unit) : NULL;
    if (PyErr_Occurred()) return false;
  }
  if (!fill_table(s, 0, PyTuple_GetItem(value, 2), PyTuple_GetItem(value, 3))) return false;
  s->settings.table = &s->tables[0];
  return true;
}

// The value of an input that is a function of Python.
static double call_function(const void* user, double t) {
  const input_function* f = user;
  double result = (double)NAN;
  PyGILState_STATE state = core_enter();
  if (f->session->type == NULL) {
    PyObject* value = PyObject_CallFunction(f->function, "d", t);
    if (value != NULL) core_read_double(value, &result);
    Py_XDECREF(value);
  }
  core_leave(f->session, state);
  return result;
}

// "inputs": (name, (time, (values,))), or (name, function).
static bool read_inputs(core_settings* s, core_session* session) {
  size_t n;
  PyObject* list = tuple_of(s, "inputs", &n);
  if (PyErr_Occurred()) return false;
  s->tables = calloc(n + 1, sizeof *s->tables);
  s->memory = calloc(n + 1, sizeof *s->memory);
  s->inputs = calloc(n + 1, sizeof *s->inputs);
  s->functions = calloc(n + 1, sizeof *s->functions);
  if (s->tables == NULL || s->memory == NULL || s->inputs == NULL || s->functions == NULL)
    return (PyErr_NoMemory(), false);
  s->n_tables = n + 1;
  if (!read_table(s)) return false;
  for (size_t i = 0; i < n; i++) {
    PyObject* pair = tuple_at(list, i, 2);
    PyObject* what = pair != NULL ? PyTuple_GetItem(pair, 1) : NULL;
    if (what == NULL) return false;
    cpl_input* input = &s->inputs[i];
    input->name = text_at(pair, 0);
    if (input->name == NULL) return false;
    if (PyTuple_Check(what)) {
      if (PyTuple_Size(what) != 2 || !PyTuple_Check(PyTuple_GetItem(what, 1)))
        return (PyErr_Format(PyExc_TypeError, "wrong input"), false);
      cpl_table* table = &s->tables[i + 1];
      if (!fill_table(s, i + 1, PyTuple_GetItem(what, 0), PyTuple_GetItem(what, 1))) return false;
      table->names = &input->name;
      table->units = NULL;
      input->table = table;
    } else {
      s->functions[i] = (input_function){session, what};
      input->value = call_function;
      input->user = &s->functions[i];
    }
  }
  s->settings.inputs = s->inputs;
  s->settings.n_inputs = n;
  return true;
}

cpl_status core_settings_read(core_settings* s, cpl_context* ctx) {
  cpl_status st = CPL_OK;
  cpl_context_use_threads(ctx, s->settings.threads);
  cpl_context_use_differences(ctx, s->settings.no_ad);
  if (s->system != NULL) st = core_system_build(s->system, &s->settings);
  if (st >= 0 && s->input_path != NULL) {
    st = cpl_input_table_read(ctx, s->input_path, &s->table);
    s->settings.table = s->table;
    if (s->settings.table_name == NULL) s->settings.table_name = s->input_path;
  } else if (st >= 0 && s->settings.table != NULL) {
    st = cpl_table_check(ctx, s->settings.table, "input");
  }
  for (size_t i = 0; i < s->settings.n_inputs && st >= 0; i++) {
    if (s->inputs[i].table != NULL)
      st = cpl_table_check(ctx, s->inputs[i].table, s->inputs[i].name);
  }
  return st;
}

//------------------------------------ life ------------------------------------

core_settings* core_settings_create(core_session* session, PyObject* dict) {
  core_settings* s = calloc(1, sizeof *s);
  if (s == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  s->settings = cpl_default_experiment_settings();
  s->experiment = cpl_default_experiment_def();
  s->places.every = s->places.at = (double)NAN;
  s->settings.experiment = &s->experiment;
  s->dict = PyDict_Copy(dict);
  bool fine = s->dict != NULL && read_members(s) && read_choices(s) && read_starts(s) &&
              read_record(s) && read_sensitivity(s) && read_solvers(s) && read_inputs(s, session);
  PyObject* system = fine ? PyDict_GetItemString(s->dict, "system") : NULL;
  if (system != NULL) s->system = core_system_create(session, system);
  fine = fine && (system == NULL || s->system != NULL);
  if (fine && s->settings.path == NULL) PyErr_SetString(PyExc_TypeError, "the model is missing");
  if (fine && s->settings.path != NULL) return s;
  if (!PyErr_Occurred()) PyErr_NoMemory();
  core_settings_destroy(s);
  return NULL;
}

void core_settings_destroy(core_settings* s) {
  if (s == NULL) return;
  core_system_destroy(s->system);
  for (size_t i = 0; i < s->n_tables; i++) free(s->memory[i]);
  cpl_table_destroy(s->table);
  free(s->solvers);
  free(s->starts);
  free(s->record);
  free(s->of);
  free(s->to);
  free(s->parameters);
  free(s->tables);
  free(s->memory);
  free(s->names);
  free(s->units);
  free(s->inputs);
  free(s->functions);
  Py_XDECREF(s->dict);
  free(s);
}

const cpl_experiment_settings* core_settings_get(const core_settings* s) { return &s->settings; }

const core_places* core_settings_places(const core_settings* s) { return &s->places; }

void core_settings_start_at(core_settings* s, double t) { s->experiment.start = t; }

int core_settings_traverse(const core_settings* s, visitproc visit, void* arg) {
  if (s == NULL) return 0;
  Py_VISIT(s->dict);
  return s->system != NULL ? core_system_traverse(s->system, visit, arg) : 0;
}

PyObject* core_settings_progress(const core_settings* s) {
  PyObject* progress = PyDict_GetItemString(s->dict, "progress");
  return progress == Py_None ? NULL : progress;
}
