// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems of Python: couplet.System keeps the calls that made it as a tuple of tuples, each with
// the name of a row of the table below and its arguments. For every run the definition is made anew
// in the context of that run, so that one system serves several runs.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

// A coupling function or an input.
typedef struct callback {
  struct callback* next;
  core_session* session;
  const char* variable;           // that it sets
  PyObject *function, *gradient;  // borrowed from the steps, as the name
  PyObject* block;                // memory of y
  double* y;
  size_t n;
  PyObject* array;  // y, as functions see it
} callback;

typedef struct owned_model {
  struct owned_model* next;
  core_model* model;
} owned_model;

typedef struct owned_table {
  struct owned_table* next;
  cpl_table table;
  double* memory;
  const char* name;
} owned_table;

struct core_system {
  core_session* session;
  PyObject* steps;
  cpl_system_def* def;  // NULL: built
  cpl_source* source;
  cpl_source* alone;  // a single model of Python in place of a system. Nullable
  struct nested {
    struct nested* next;
    cpl_system_def* def;
  } * nested;
  callback* callbacks;
  owned_model* models;
  owned_table* tables;
};

//------------------------------------ arguments ------------------------------------

// A text; None is NULL.
static const char* text(PyObject* object) {
  return object == NULL || object == Py_None ? NULL : core_text(object);
}

static PyObject* item(PyObject* tuple, Py_ssize_t i) { return PyTuple_GetItem(tuple, i); }

// The pairs of a tuple, which the caller frees. NULL: an exception is set.
static cpl_assignment* read_pairs(PyObject* tuple, size_t* n) {
  Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return NULL;
  cpl_assignment* out = calloc((size_t)count + 1, sizeof *out);
  if (out == NULL) return (cpl_assignment*)(void*)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject* pair = item(tuple, i);
    out[i] = (cpl_assignment){text(item(pair, 0)), text(item(pair, 1))};
    if (PyErr_Occurred()) {
      free(out);
      return NULL;
    }
  }
  *n = (size_t)count;
  return out;
}

static const char** read_texts(PyObject* tuple, size_t* n) {
  Py_ssize_t count = PyTuple_Size(tuple);
  if (count < 0) return NULL;
  const char** out = calloc((size_t)count + 1, sizeof *out);
  if (out == NULL) return (const char**)(void*)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < count; i++) {
    out[i] = text(item(tuple, i));
    if (PyErr_Occurred()) {
      free(out);
      return NULL;
    }
  }
  *n = (size_t)count;
  return out;
}

//------------------------------------ callbacks ------------------------------------

// After an exception that ends the run, functions are called no more.
static bool is_over(const callback* c) { return c->session->type != NULL && !c->session->is_cause; }

static int failed(callback* c, PyGILState_STATE state, double t) {
  core_fail_function(c->session, state, "the coupling function of", c->variable, t);
  return -1;
}

static int call_value(void* user, double t, const double* y, double* u) {
  callback* c = user;
  if (c->n > 0) memcpy(c->y, y, c->n * sizeof *y);
  if (is_over(c)) return -1;
  PyGILState_STATE state = core_enter();
  PyObject* result = PyObject_CallFunction(c->function, "dO", t, c->array);
  if (result != NULL) core_read_double(result, u);
  Py_XDECREF(result);
  if (PyErr_Occurred()) return failed(c, state, t);
  core_exit(c->session, state);
  return 0;
}

static int call_gradient(void* user, double t, const double* y, double* du) {
  callback* c = user;
  if (c->n > 0) memcpy(c->y, y, c->n * sizeof *y);
  if (is_over(c)) return -1;
  PyGILState_STATE state = core_enter();
  PyObject* result = PyObject_CallFunction(c->gradient, "dO", t, c->array);
  if (result != NULL) core_read_doubles(result, "the gradient", du, c->n);
  Py_XDECREF(result);
  if (PyErr_Occurred()) return failed(c, state, t);
  core_exit(c->session, state);
  return 0;
}

static double call_input(void* user, double t) {
  callback* c = user;
  double value = (double)NAN;
  if (is_over(c)) return value;
  PyGILState_STATE state = core_enter();
  PyObject* result = PyObject_CallFunction(c->function, "d", t);
  if (result != NULL) core_read_double(result, &value);
  Py_XDECREF(result);
  if (PyErr_Occurred()) core_fail_function(c->session, state, "the input", c->variable, t);
  else core_exit(c->session, state);
  return value;
}

static callback* add_callback(core_system* s, const char* variable, PyObject* function) {
  callback* c = calloc(1, sizeof *c);
  if (c == NULL) return (callback*)(void*)PyErr_NoMemory();
  c->session = s->session;
  c->variable = variable;
  c->function = function;
  c->next = s->callbacks;
  s->callbacks = c;
  return c;
}

//------------------------------------ steps ------------------------------------

// Functions of the table return a status; with an exception set, any.
typedef struct building {
  core_system* system;
  cpl_system_def* def;
} building;

static cpl_status fill(core_system* s, cpl_system_def* def, PyObject* steps);

static cpl_status set_name(building* b, PyObject* a) {
  return cpl_system_def_set_name(b->def, text(item(a, 1)));
}

static cpl_source* make_model(core_system* s, PyObject* spec) {
  owned_model* m = calloc(1, sizeof *m);
  if (m == NULL) return (cpl_source*)(void*)PyErr_NoMemory();
  m->model = core_model_create(s->session, spec);
  if (m->model == NULL) {
    free(m);
    return NULL;
  }
  m->next = s->models;
  s->models = m;
  return core_model_source(m->model);
}

static const cpl_system_def* make_nested(core_system* s, PyObject* steps) {
  struct nested* n = calloc(1, sizeof *n);
  if (n == NULL) return (cpl_system_def*)(void*)PyErr_NoMemory();
  n->next = s->nested;
  s->nested = n;
  cpl_status st = cpl_system_def_create(s->session->ctx, &n->def);
  if (st >= 0) st = fill(s, n->def, steps);
  if (st < 0 && !PyErr_Occurred()) core_raise_last(s->session, st);
  return PyErr_Occurred() ? NULL : n->def;
}

// ("model", name, kind, path, spec or steps, as, isolate, starts)
static cpl_status add_model(building* b, PyObject* a) {
  cpl_member_def def = cpl_default_member_def();
  PyObject* what = item(a, 4);
  def.name = text(item(a, 1));
  def.kind = (cpl_member_kind)PyLong_AsLong(item(a, 2));
  def.path = text(item(a, 3));
  def.as = (cpl_member_as)PyLong_AsLong(item(a, 5));
  def.isolate = PyObject_IsTrue(item(a, 6)) == 1;
  if (PyErr_Occurred()) return CPL_ERR_INPUT;
  if ((unsigned)def.kind > CPL_MEMBER_SYSTEM || (unsigned)def.as > CPL_AS_CO_SIMULATION)
    return (PyErr_SetString(PyExc_ValueError, "there is no such kind of models"), CPL_ERR_INPUT);
  if (PyDict_Check(what)) def.source = make_model(b->system, what);
  else if (PyTuple_Check(what)) def.system = make_nested(b->system, what);
  if (PyErr_Occurred()) return CPL_ERR_INPUT;
  cpl_assignment* starts = read_pairs(item(a, 7), &def.n_starts);
  if (starts == NULL) return CPL_ERR_INPUT;
  def.starts = starts;
  cpl_status st = cpl_system_def_add_model(b->def, &def);
  free(starts);
  return st;
}

// ("connect", target, source, convert, keep_units, factor, offset)
static cpl_status connect(building* b, PyObject* a) {
  cpl_connection_def def = cpl_default_connection_def();
  def.target = text(item(a, 1));
  def.source = text(item(a, 2));
  def.convert = PyObject_IsTrue(item(a, 3)) == 1;
  def.keep_units = PyObject_IsTrue(item(a, 4)) == 1;
  def.factor = PyFloat_AsDouble(item(a, 5));
  def.offset = PyFloat_AsDouble(item(a, 6));
  return PyErr_Occurred() ? CPL_ERR_INPUT : cpl_system_def_add_connection(b->def, &def);
}

// ("couple", target, function, reads, gradient or None, array): array makes the argument of the
// functions from memory.
static cpl_status couple(building* b, PyObject* a) {
  cpl_coupling_def def = cpl_default_coupling_def();
  const char* target = text(item(a, 1));
  void* y = NULL;
  const char** reads = read_texts(item(a, 3), &def.n_reads);
  callback* c = reads != NULL ? add_callback(b->system, target, item(a, 2)) : NULL;
  if (c != NULL) c->block = core_block(def.n_reads * sizeof(double), &y);
  if (c != NULL && c->block != NULL)
    c->array = PyObject_CallFunctionObjArgs(item(a, 5), c->block, NULL);
  cpl_status st = CPL_ERR_INPUT;
  if (!PyErr_Occurred()) {
    c->y = y;
    c->n = def.n_reads;
    c->gradient = item(a, 4);
    def.reads = reads;
    def.value = call_value;
    def.gradient = c->gradient != Py_None ? call_gradient : NULL;
    def.user = c;
    st = cpl_system_def_couple(b->def, target, &def);
  }
  free(reads);
  return st;
}

static cpl_status add_parameter(building* b, PyObject* a) {
  return cpl_system_def_add_parameter(b->def, text(item(a, 1)), text(item(a, 2)));
}

static owned_table* add_table(core_system* s, PyObject* time, PyObject* values, const char* name) {
  owned_table* t = calloc(1, sizeof *t);
  if (t == NULL) return (owned_table*)(void*)PyErr_NoMemory();
  t->next = s->tables;
  s->tables = t;
  Py_ssize_t n = PySequence_Size(time);
  if (n < 0) return NULL;
  t->memory = calloc(2 * (size_t)n + 1, sizeof(double));
  if (t->memory == NULL) return (owned_table*)(void*)PyErr_NoMemory();
  if (!core_read_doubles(time, "time", t->memory, (size_t)n) ||
      !core_read_doubles(values, "values", t->memory + n, (size_t)n))
    return NULL;
  t->name = name;
  t->table = (cpl_table){.n_rows = (size_t)n,
                         .n_columns = 1,
                         .names = &t->name,
                         .time = t->memory,
                         .values = t->memory + n};
  return t;
}

// ("input", name, expression, file, column, hold, function, table or None, start, unit)
static cpl_status add_input(building* b, PyObject* a) {
  cpl_input_def def = cpl_default_input_def();
  def.name = text(item(a, 1));
  def.expression = text(item(a, 2));
  def.file = text(item(a, 3));
  def.column = text(item(a, 4));
  if (PyObject_IsTrue(item(a, 5)) == 1) def.interpolation = CPL_INTERPOLATE_HOLD;
  PyObject *function = item(a, 6), *table = item(a, 7);
  if (PyErr_Occurred()) return CPL_ERR_INPUT;
  if (function != Py_None) {
    def.user = add_callback(b->system, def.name, function);
    def.value = call_input;
  }
  if (table != Py_None) {
    owned_table* t = add_table(b->system, item(table, 0), item(table, 1), def.name);
    if (t == NULL) return CPL_ERR_INPUT;
    def.table = &t->table;
  }
  def.start = text(item(a, 8));
  def.unit = text(item(a, 9));
  return PyErr_Occurred() ? CPL_ERR_INPUT : cpl_system_def_add_input(b->def, &def);
}

static cpl_status add_output(building* b, PyObject* a) {
  return cpl_system_def_add_output(b->def, text(item(a, 1)), text(item(a, 2)));
}
static cpl_status add_constraint(building* b, PyObject* a) {
  return cpl_system_def_add_constraint(b->def, text(item(a, 1)), text(item(a, 2)));
}
static cpl_status add_record(building* b, PyObject* a) {
  return cpl_system_def_add_record(b->def, text(item(a, 1)));
}

// ("event", name, when, at, sets)
static cpl_status add_event(building* b, PyObject* a) {
  cpl_event_def def = cpl_default_event_def();
  def.name = text(item(a, 1));
  def.when = text(item(a, 2));
  if (PyErr_Occurred()) return CPL_ERR_INPUT;
  const char** at = read_texts(item(a, 3), &def.n_at);
  cpl_assignment* sets = at != NULL ? read_pairs(item(a, 4), &def.n_sets) : NULL;
  def.at = def.n_at > 0 ? at : NULL;
  def.sets = sets;
  cpl_status st = sets != NULL ? cpl_system_def_add_event(b->def, &def) : CPL_ERR_INPUT;
  free(at);
  free(sets);
  return st;
}

// A dict of numbers (float or int members) and texts.
typedef struct member {
  const char* key;
  char kind;  // d: double, s: text, i: int32_t, b: bool
  size_t at;
} member;

static int32_t read_count(const char* key, PyObject* value) {
  const long number = PyLong_AsLong(value);
  if (!PyErr_Occurred() && (number < INT32_MIN || number > INT32_MAX))
    PyErr_Format(PyExc_ValueError, "%s cannot be %ld", key, number);
  return (int32_t)number;
}

static double read_number(const char* key, PyObject* value) {
  const double number = PyFloat_AsDouble(value);
  if (!PyErr_Occurred() && isnan(number)) PyErr_Format(PyExc_ValueError, "%s cannot be nan", key);
  return number;
}

static cpl_status read_members(PyObject* dict, const member* members, size_t n, void* to) {
  for (size_t i = 0; i < n; i++) {
    PyObject* value = PyDict_GetItemString(dict, members[i].key);
    void* at = (char*)to + members[i].at;
    if (value == NULL || value == Py_None) continue;
    if (members[i].kind == 'd') *(double*)at = read_number(members[i].key, value);
    else if (members[i].kind == 's') *(const char**)at = text(value);
    else if (members[i].kind == 'b') *(bool*)at = PyObject_IsTrue(value) == 1;
    else *(int32_t*)at = read_count(members[i].key, value);
    if (PyErr_Occurred()) return CPL_ERR_INPUT;
  }
  return CPL_OK;
}

#define EXPERIMENT(kind, name) \
  { #name, kind, offsetof(cpl_experiment_def, name) }
static const member experiment_members[] = {
    EXPERIMENT('d', start),  EXPERIMENT('d', stop),   EXPERIMENT('d', interval),
    EXPERIMENT('d', step),   EXPERIMENT('d', rtol),   EXPERIMENT('d', atol),
    EXPERIMENT('s', solver), EXPERIMENT('s', linear), EXPERIMENT('s', projection),
    EXPERIMENT('s', loops),  EXPERIMENT('s', steady),
};

static cpl_status set_experiment(building* b, PyObject* a) {
  cpl_experiment_def def = cpl_default_experiment_def();
  const size_t n = sizeof experiment_members / sizeof experiment_members[0];
  cpl_status st = read_members(item(a, 1), experiment_members, n, &def);
  return st < 0 ? st : cpl_system_def_set_experiment(b->def, &def);
}

#define MASTER(kind, name) \
  { #name, kind, offsetof(cpl_cosimulation_def, name) }
static const member master_members[] = {
    MASTER('s', algorithm),
    MASTER('s', on_loop),
    MASTER('s', estimate),
    MASTER('s', legacy),
    MASTER('d', step),
    MASTER('d', tolerance),
    MASTER('d', min_step),
    MASTER('d', loop_tolerance),
    MASTER('i', order),
    MASTER('i', iterations),
    MASTER('i', threads),
    MASTER('i', fixed_iterations),
    MASTER('b', output_derivatives),
};

// ("master", dict, steps, bonds)
static cpl_status set_master(building* b, PyObject* a) {
  cpl_cosimulation_def def = cpl_default_cosimulation_def();
  const size_t n = sizeof master_members / sizeof master_members[0];
  cpl_status st = read_members(item(a, 1), master_members, n, &def);
  if (st < 0) return st;
  cpl_assignment* steps = read_pairs(item(a, 2), &def.n_steps);
  cpl_assignment* bonds = steps != NULL ? read_pairs(item(a, 3), &def.n_bonds) : NULL;
  def.steps = steps;
  def.bonds = bonds;
  st = bonds != NULL ? cpl_system_def_set_cosimulation(b->def, &def) : CPL_ERR_INPUT;
  free(steps);
  free(bonds);
  return st;
}

// `types` has one letter per argument: s str, z str or None, b bool, i int, r number, d dict, f
// callable, g callable or None, t tuple of str, p tuple of pairs of str, a pair or None, c contents
// of a model.
static const struct {
  const char* name;
  const char* types;
  cpl_status (*run)(building* b, PyObject* arguments);
} rows[] = {
    {"name", "s", set_name},
    {"model", "sizcibp", add_model},
    {"connect", "ssbbrr", connect},
    {"couple", "sftgf", couple},
    {"input", "szzzbgazz", add_input},
    {"parameter", "ss", add_parameter},
    {"output", "ss", add_output},
    {"event", "sztp", add_event},
    {"constraint", "ss", add_constraint},
    {"record", "s", add_record},
    {"master", "dpp", set_master},
    {"experiment", "d", set_experiment},
};

static bool is_tuple_of(PyObject* object, char type, Py_ssize_t size);

static bool has_type(PyObject* object, char type) {
  const bool none = object == Py_None;
  switch (type) {
    case 's': return PyUnicode_Check(object) || PyBytes_Check(object);
    case 'z': return none || PyUnicode_Check(object) || PyBytes_Check(object);
    case 'b': return PyBool_Check(object);
    case 'i': return PyLong_Check(object);
    case 'r': return PyFloat_Check(object) || PyLong_Check(object);
    case 'd': return PyDict_Check(object);
    case 'f': return PyCallable_Check(object);
    case 'g': return none || PyCallable_Check(object);
    case 't': return is_tuple_of(object, 's', -1);
    case 'p': return is_tuple_of(object, '2', -1);
    case '2': return is_tuple_of(object, 's', 2);
    case 'a': return none || is_tuple_of(object, 'o', 2);
    case 'c': return none || PyDict_Check(object) || PyTuple_Check(object);
    default: return true;
  }
}

// A tuple of `size` items, or of any number: -1.
static bool is_tuple_of(PyObject* object, char type, Py_ssize_t size) {
  if (!PyTuple_Check(object) || (size >= 0 && PyTuple_Size(object) != size)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_Size(object); i++) {
    if (!has_type(item(object, i), type)) return false;
  }
  return true;
}

static cpl_status check_step(PyObject* a, const char* name, const char* types) {
  if (PyTuple_Size(a) != (Py_ssize_t)strlen(types) + 1) {
    PyErr_Format(PyExc_TypeError, "%s has %zu arguments, not %R", name, strlen(types), a);
    return CPL_ERR_INPUT;
  }
  for (size_t i = 0; types[i] != '\0'; i++) {
    PyObject* object = item(a, (Py_ssize_t)i + 1);
    if (has_type(object, types[i])) continue;
    if (types[i] == 's' || types[i] == 'z') text(object);
    else PyErr_Format(PyExc_TypeError, "%s: the argument %R has the wrong type", name, object);
    return CPL_ERR_INPUT;
  }
  return CPL_OK;
}

static cpl_status take_step(building* b, PyObject* a) {
  if (!PyTuple_Check(a) || PyTuple_Size(a) == 0 || !PyUnicode_Check(item(a, 0))) {
    PyErr_Format(PyExc_TypeError, "a step of a system is a tuple that begins with a name, not %R",
                 a);
    return CPL_ERR_INPUT;
  }
  const char* name = text(item(a, 0));
  if (name == NULL) return CPL_ERR_INPUT;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    if (strcmp(rows[i].name, name) != 0) continue;
    cpl_status st = check_step(a, name, rows[i].types);
    return st < 0 ? st : rows[i].run(b, a);
  }
  PyErr_Format(PyExc_ValueError, "systems have no step %s", name);
  return CPL_ERR_INPUT;
}

static cpl_status fill(core_system* s, cpl_system_def* def, PyObject* steps) {
  building b = {s, def};
  cpl_status st = CPL_OK;
  for (Py_ssize_t i = 0; i < PyTuple_Size(steps) && st >= 0; i++) {
    st = take_step(&b, item(steps, i));
    if (PyErr_Occurred()) return CPL_ERR_INPUT;
  }
  return st;
}

//------------------------------------ life ------------------------------------

core_system* core_system_create(core_session* session, PyObject* steps) {
  core_system* s = calloc(1, sizeof *s);
  if (s == NULL) return (core_system*)(void*)PyErr_NoMemory();
  s->session = session;
  Py_INCREF(steps);
  s->steps = steps;
  cpl_status st = CPL_OK;
  if (!PyDict_Check(steps) && !PyTuple_Check(steps)) {
    PyErr_Format(PyExc_TypeError, "a system is a tuple of steps or a dict, not %R", steps);
  } else if (PyDict_Check(steps)) {
    s->alone = make_model(s, steps);
  } else {
    st = cpl_system_def_create(session->ctx, &s->def);
    if (st >= 0) st = fill(s, s->def, steps);
  }
  if (st < 0 && !PyErr_Occurred()) core_raise_last(session, st);
  if (!PyErr_Occurred()) return s;
  core_system_destroy(s);
  return NULL;
}

cpl_status core_system_build(core_system* s, cpl_experiment_settings* settings) {
  cpl_status st = CPL_OK;
  if (s->alone != NULL) {
    settings->source = s->alone;
    return st;
  }
  if (settings->isolate || settings->call_timeout > 0)
    st = cpl_system_def_isolate(s->def, true, settings->call_timeout);
  if (st >= 0 && settings->call_log != NULL)
    st = cpl_system_def_call_log(s->def, settings->call_log);
  if (st < 0) return st;
  cpl_system_def* def = s->def;
  s->def = NULL;
  st = cpl_system_build_owned(s->session->ctx, def, &s->source);
  settings->source = s->source;
  return st;
}

static void free_callbacks(callback* c) {
  while (c != NULL) {
    callback* next = c->next;
    Py_XDECREF(c->array);
    Py_XDECREF(c->block);
    free(c);
    c = next;
  }
}

// What can refer to the run: models and functions.
int core_system_traverse(const core_system* s, visitproc visit, void* arg) {
  for (const owned_model* m = s->models; m != NULL; m = m->next) {
    const int found = core_model_traverse(m->model, visit, arg);
    if (found != 0) return found;
  }
  for (const callback* c = s->callbacks; c != NULL; c = c->next) Py_VISIT(c->array);
  Py_VISIT(s->steps);
  return 0;
}

void core_system_destroy(core_system* s) {
  if (s == NULL) return;
  cpl_source_destroy(s->source);
  cpl_system_def_destroy(s->def);
  while (s->nested != NULL) {
    struct nested* next = s->nested->next;
    cpl_system_def_destroy(s->nested->def);
    free(s->nested);
    s->nested = next;
  }
  while (s->models != NULL) {
    owned_model* next = s->models->next;
    core_model_destroy(s->models->model);
    free(s->models);
    s->models = next;
  }
  while (s->tables != NULL) {
    owned_table* next = s->tables->next;
    free(s->tables->memory);
    free(s->tables);
    s->tables = next;
  }
  free_callbacks(s->callbacks);
  Py_XDECREF(s->steps);
  free(s);
}
