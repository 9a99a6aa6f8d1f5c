// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The type Component: one instance of a model file, with the operations of couplet/component.h, for
// programs that call the functions of the FMI themselves (couplet.compat). References are passed as
// bytes, an array of uint32_t, so that they are converted once and not at every call.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"

//------------------------------------ arrays ------------------------------------

void* core_room(core_array* a, size_t n, size_t size) {
  a->values = n * size <= sizeof a->own ? a->own : malloc(n * size);
  if (a->values == NULL) PyErr_NoMemory();
  return a->values;
}

void core_room_free(core_array* a) {
  if (a->values != a->own) free(a->values);
}

static bool refs_of(PyObject* object, core_refs* refs) {
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return false;
  refs->at = (const uint32_t*)(const void*)data;
  refs->n = (size_t)size / sizeof *refs->at;
  return true;
}

// The values of a sequence as a tuple with n entries.
static PyObject* values_of(PyObject* object, size_t n) {
  PyObject* tuple = PySequence_Tuple(object);
  if (tuple == NULL || (size_t)PyTuple_Size(tuple) == n) return tuple;
  PyErr_Format(PyExc_ValueError, "%zd values for %zu variables", PyTuple_Size(tuple), n);
  Py_DECREF(tuple);
  return NULL;
}

bool core_reals_of(PyObject* object, size_t n, core_array* out) {
  PyObject* tuple = values_of(object, n);
  double* values = tuple != NULL ? core_room(out, n, sizeof *values) : NULL;
  for (size_t i = 0; i < n && values != NULL; i++)
    values[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, (Py_ssize_t)i));
  Py_XDECREF(tuple);
  if (values != NULL && PyErr_Occurred()) core_room_free(out);
  return values != NULL && !PyErr_Occurred();
}

PyObject* core_real_list(const double* values, size_t n) {
  PyObject* list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n && list != NULL; i++) {
    PyObject* value = PyFloat_FromDouble(values[i]);
    if (value != NULL) PyList_SetItem(list, (Py_ssize_t)i, value);
    else Py_CLEAR(list);
  }
  return list;
}

//------------------------------------ calls of the FMI ------------------------------------

// Called without the interpreter lock, in the thread that called the library.
static void report_call(core_component* c) {
  PyGILState_STATE state = core_enter();
  core_poll(&c->session);  // messages of the call come first
  PyObject* done =
      PyErr_Occurred() ? NULL : PyObject_CallFunction(c->on_call, "N", core_str(c->line));
  Py_XDECREF(done);
  core_leave(&c->session, state);
}

// The call log of the library, line by line. Without memory a line is lost.
static ssize_t write_calls(void* user, const char* text, size_t size) {
  core_component* c = user;
  for (size_t i = 0; i < size; i++) {
    if (c->n_line + 1 >= c->cap_line) {
      size_t cap = c->cap_line > 0 ? 2 * c->cap_line : 256;
      char* more = realloc(c->line, cap);
      if (more == NULL) return (ssize_t)size;
      c->line = more;
      c->cap_line = cap;
    }
    if (text[i] != '\n') {
      c->line[c->n_line++] = text[i];
      continue;
    }
    c->line[c->n_line] = '\0';
    c->n_line = 0;
    report_call(c);
  }
  return (ssize_t)size;
}

//------------------------------------ life ------------------------------------

static cpl_status make_instance(core_component* c) {
  cpl_status st = c->as_stepper ? cpl_source_make_stepper(c->source, c->name, &c->stepper)
                                : cpl_source_make_model(c->source, c->name, &c->model);
  if (st < 0) return st;
  c->component = c->as_stepper ? cpl_stepper_component(c->stepper) : cpl_model_component(c->model);
  return st;
}

static cpl_status open_component(core_component* c, const char* path, bool debug) {
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  def.debug_logging = debug;
  def.calls = c->calls;
  cpl_status st = cpl_fmu_open(c->session.ctx, &def, &c->source);
  return st < 0 ? st : make_instance(c);
}

static void destroy_instance(core_component* c) {
  cpl_stepper_destroy(c->stepper);
  cpl_model_destroy(c->model);
  c->stepper = NULL;
  c->model = NULL;
  c->component = NULL;
  core_inputs_free(c);
}

static void unlink_state(core_child* child) {
  *child->at = child->next;
  if (child->next != NULL) child->next->at = child->at;
  child->at = NULL;
}

// States are forgotten by the instance that made them. Their objects remain.
static void forget_states(core_component* c) {
  while (c->garbage != NULL) {
    core_child* child = c->garbage;
    c->garbage = child->next;
    cpl_component_forget(c->component, &child->snapshot);
    free(child);
  }
  while (c->states != NULL) {
    core_child* child = c->states;
    cpl_component_forget(c->component, &child->snapshot);
    unlink_state(child);
  }
}

static void close_component(core_component* c) {
  PyObject *type, *value, *trace;
  if (c->source == NULL || c->session.busy) return;
  PyErr_Fetch(&type, &value, &trace);
  if (core_begin(&c->session)) {
    if (c->component != NULL) forget_states(c);
    destroy_instance(c);
    cpl_source_destroy(c->source);
    c->source = NULL;
    if (!core_end(&c->session, CPL_OK)) PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
}

static PyObject* component_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* keys[] = {"path",    "name",       "stepper", "log_level",
                         "on_call", "on_message", "debug",   NULL};
  const char *path, *name;
  PyObject *on_call = Py_None, *on_message = Py_None;
  int stepper = 0, level = CPL_LOG_WARNING, debug = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "yspi|OOp", keys, &path, &name, &stepper, &level,
                                   &on_call, &on_message, &debug))
    return NULL;
  core_component* c = (core_component*)PyType_GenericAlloc(type, 0);
  if (c == NULL) return NULL;
  c->as_stepper = stepper != 0;
  bool fine = core_session_open(&c->session, (cpl_log_level)level);
  if (on_message != Py_None) c->session.deliver = Py_NewRef(on_message);
  if (on_call != Py_None) {
    c->on_call = Py_NewRef(on_call);
    c->calls = fopencookie(c, "w", (cookie_io_functions_t){.write = write_calls});
  }
  c->name = strdup(name);
  if (fine && (c->name == NULL || (c->on_call != NULL && c->calls == NULL))) {
    PyErr_NoMemory();
    fine = false;
  }
  fine = fine && core_begin(&c->session);
  if (fine) fine = core_end(&c->session, open_component(c, path, debug != 0));
  if (fine) return (PyObject*)c;
  Py_DECREF(c);
  return NULL;
}

static int component_traverse(PyObject* self, visitproc visit, void* arg) {
  const core_component* c = (core_component*)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(c->on_call);
  Py_VISIT(c->session.deliver);
  Py_VISIT(c->session.value);
  return 0;
}

static int component_clear(PyObject* self) {
  core_component* c = (core_component*)self;
  if (core_session_is_forked(&c->session)) return 0;
  close_component(c);
  if (c->calls != NULL && c->source == NULL) fclose(c->calls);
  c->calls = c->source == NULL ? NULL : c->calls;
  Py_CLEAR(c->on_call);
  Py_CLEAR(c->session.deliver);
  return 0;
}

static void component_dealloc(PyObject* self) {
  core_component* c = (core_component*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  component_clear(self);
  free(c->name);
  free(c->line);
  core_session_close(&c->session);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

bool core_component_begin(core_component* c) {
  if (!core_session_check(&c->session)) return false;
  if (c->component != NULL) return core_begin(&c->session);
  PyErr_SetString(PyExc_ValueError, "this instance was freed");
  return false;
}

bool core_component_end(core_component* c, cpl_status st) {
  if (st == CPL_RETRY) st = CPL_ERR_MODEL;  // with the message of the call that was discarded
  return core_end(&c->session, st);
}

PyObject* core_component_none(core_component* c, cpl_status st) {
  return core_component_end(c, st) ? Py_NewRef(Py_None) : NULL;
}

static PyObject* component_close(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  (void)unused;
  if (c->source != NULL) {
    if (!core_session_check(&c->session)) return NULL;
    close_component(c);
  }
  Py_RETURN_NONE;
}

// The solver of an integrated model is gone afterwards.
static cpl_status reset(core_component* c) {
  if (c->as_stepper || c->model != NULL) return cpl_component_reset(c->component);
  forget_states(c);
  destroy_instance(c);
  return make_instance(c);
}

static PyObject* component_reset(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  (void)unused;
  return core_component_begin(c) ? core_component_none(c, reset(c)) : NULL;
}

static PyObject* component_setup(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  cpl_setup s = cpl_default_setup();
  PyObject *stop, *tolerance;
  if (!PyArg_ParseTuple(args, "dOO", &s.start_time, &stop, &tolerance)) return NULL;
  s.has_stop_time = stop != Py_None;
  s.has_tolerance = tolerance != Py_None;
  if (s.has_stop_time) s.stop_time = PyFloat_AsDouble(stop);
  if (s.has_tolerance) s.tolerance = PyFloat_AsDouble(tolerance);
  if (PyErr_Occurred() || !core_component_begin(c)) return NULL;
  return core_component_none(c, cpl_component_setup(c->component, &s));
}

static PyObject* call(PyObject* self, cpl_status (*function)(cpl_component*)) {
  core_component* c = (core_component*)self;
  return core_component_begin(c) ? core_component_none(c, function(c->component)) : NULL;
}

static PyObject* enter_init(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, cpl_component_enter_init);
}

static PyObject* exit_init(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, cpl_component_exit_init);
}

static PyObject* terminate(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, cpl_component_terminate);
}

//------------------------------------ values ------------------------------------

static PyObject* get_real(PyObject* self, PyObject* object) {
  core_component* c = (core_component*)self;
  core_refs refs;
  core_array a;
  if (!refs_of(object, &refs) || core_room(&a, refs.n, sizeof(double)) == NULL) return NULL;
  PyObject* result = NULL;
  if (core_component_begin(c) &&
      core_component_end(c, cpl_component_get_real(c->component, refs.at, refs.n, a.values))) {
    result = core_real_list(a.values, refs.n);
  }
  core_room_free(&a);
  return result;
}

static PyObject* set_real(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject *object, *values, *result = NULL;
  core_refs refs;
  core_array a;
  if (!PyArg_ParseTuple(args, "OO", &object, &values) || !refs_of(object, &refs) ||
      !core_reals_of(values, refs.n, &a))
    return NULL;
  if (core_component_begin(c)) {
    result =
        core_component_none(c, cpl_component_set_real(c->component, refs.at, refs.n, a.values));
  }
  core_room_free(&a);
  return result;
}

static PyObject* integer_list(const int64_t* values, size_t n) {
  PyObject* list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n && list != NULL; i++) {
    PyObject* value = PyLong_FromLongLong(values[i]);
    if (value != NULL) PyList_SetItem(list, (Py_ssize_t)i, value);
    else Py_CLEAR(list);
  }
  return list;
}

static PyObject* get_integer(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  int type;
  PyObject *object, *result = NULL;
  core_refs refs;
  core_array a;
  if (!PyArg_ParseTuple(args, "iO", &type, &object) || !refs_of(object, &refs) ||
      core_room(&a, refs.n, sizeof(int64_t)) == NULL)
    return NULL;
  if (core_component_begin(c) &&
      core_component_end(
          c, cpl_component_get_integer(c->component, (cpl_type)type, refs.at, refs.n, a.values))) {
    result = integer_list(a.values, refs.n);
  }
  core_room_free(&a);
  return result;
}

static PyObject* set_integer(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  int type;
  PyObject *object, *values, *result = NULL;
  core_refs refs;
  core_array a;
  if (!PyArg_ParseTuple(args, "iOO", &type, &object, &values) || !refs_of(object, &refs))
    return NULL;
  PyObject* tuple = values_of(values, refs.n);
  int64_t* integers = tuple != NULL ? core_room(&a, refs.n, sizeof *integers) : NULL;
  for (size_t i = 0; i < refs.n && integers != NULL; i++)
    integers[i] = PyLong_AsLongLong(PyTuple_GetItem(tuple, (Py_ssize_t)i));
  Py_XDECREF(tuple);
  if (integers == NULL) return NULL;
  if (!PyErr_Occurred() && core_component_begin(c)) {
    result = core_component_none(
        c, cpl_component_set_integer(c->component, (cpl_type)type, refs.at, refs.n, integers));
  }
  core_room_free(&a);
  return result;
}

// What is borrowed from an instance is copied before messages are delivered, since a logger may
// call the instance.

static PyObject* take_list(cpl_binary* copies, size_t n, bool fine) {
  PyObject* list = fine ? PyList_New((Py_ssize_t)n) : NULL;
  for (size_t i = 0; i < n && list != NULL; i++) {
    PyObject* block =
        PyBytes_FromStringAndSize((const char*)copies[i].data, (Py_ssize_t)copies[i].size);
    if (block != NULL) PyList_SetItem(list, (Py_ssize_t)i, block);
    else Py_CLEAR(list);
  }
  for (size_t i = 0; i < n; i++) free((void*)copies[i].data);
  return list;
}

// Replaces what is borrowed by copies.
static cpl_status copy_blocks(cpl_binary* blocks, size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n; i++) {
    void* copy = malloc(blocks[i].size + 1);
    if (copy == NULL) st = CPL_ERR_NOMEM;
    else if (blocks[i].size > 0) memcpy(copy, blocks[i].data, blocks[i].size);
    blocks[i] = (cpl_binary){copy, copy != NULL ? blocks[i].size : 0};
  }
  return st;
}

static cpl_status read_strings(core_component* c, const core_refs* refs, cpl_binary* blocks) {
  const char** texts = calloc(refs->n + 1, sizeof *texts);
  if (texts == NULL) return CPL_ERR_NOMEM;
  cpl_status st = cpl_component_get_string(c->component, refs->at, refs->n, texts);
  if (st == CPL_OK) {
    for (size_t i = 0; i < refs->n; i++)
      blocks[i] = (cpl_binary){(const uint8_t*)texts[i], strlen(texts[i])};
    st = copy_blocks(blocks, refs->n);
  }
  free(texts);
  return st;
}

static cpl_status read_binaries(core_component* c, const core_refs* refs, cpl_binary* blocks) {
  cpl_status st = cpl_component_get_binary(c->component, refs->at, refs->n, blocks);
  if (st == CPL_OK) return copy_blocks(blocks, refs->n);
  memset(blocks, 0, refs->n * sizeof *blocks);
  return st;
}

static PyObject* get_blocks(PyObject* self, PyObject* object,
                            cpl_status (*get)(core_component*, const core_refs*, cpl_binary*)) {
  core_component* c = (core_component*)self;
  core_refs refs;
  if (!refs_of(object, &refs)) return NULL;
  cpl_binary* blocks = calloc(refs.n + 1, sizeof *blocks);
  if (blocks == NULL) return PyErr_NoMemory();
  bool fine = core_component_begin(c) && core_component_end(c, get(c, &refs, blocks));
  PyObject* list = take_list(blocks, refs.n, fine);
  free(blocks);
  return list;
}

// Bytes: texts of FMUs are not always UTF-8.
static PyObject* get_string(PyObject* self, PyObject* object) {
  return get_blocks(self, object, read_strings);
}

static PyObject* get_binary(PyObject* self, PyObject* object) {
  return get_blocks(self, object, read_binaries);
}

static PyObject* set_string(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject *object, *values, *result = NULL;
  core_refs refs;
  core_array a;
  if (!PyArg_ParseTuple(args, "OO", &object, &values) || !refs_of(object, &refs)) return NULL;
  PyObject* tuple = values_of(values, refs.n);
  const char** texts = tuple != NULL ? core_room(&a, refs.n, sizeof *texts) : NULL;
  for (size_t i = 0; i < refs.n && texts != NULL && !PyErr_Occurred(); i++)
    texts[i] = core_text(PyTuple_GetItem(tuple, (Py_ssize_t)i));
  if (texts != NULL && !PyErr_Occurred() && core_component_begin(c))
    result = core_component_none(c, cpl_component_set_string(c->component, refs.at, refs.n, texts));
  if (texts != NULL) core_room_free(&a);
  Py_XDECREF(tuple);
  return result;
}

static PyObject* set_binary(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject *object, *values, *result = NULL;
  core_refs refs;
  core_array a;
  if (!PyArg_ParseTuple(args, "OO", &object, &values) || !refs_of(object, &refs)) return NULL;
  PyObject* tuple = values_of(values, refs.n);
  cpl_binary* blocks = tuple != NULL ? core_room(&a, refs.n, sizeof *blocks) : NULL;
  for (size_t i = 0; i < refs.n && blocks != NULL && !PyErr_Occurred(); i++) {
    char* data = NULL;
    Py_ssize_t size = 0;
    PyBytes_AsStringAndSize(PyTuple_GetItem(tuple, (Py_ssize_t)i), &data, &size);
    blocks[i] = (cpl_binary){(const uint8_t*)data, (size_t)size};
  }
  if (blocks != NULL && !PyErr_Occurred() && core_component_begin(c))
    result =
        core_component_none(c, cpl_component_set_binary(c->component, refs.at, refs.n, blocks));
  if (blocks != NULL) core_room_free(&a);
  Py_XDECREF(tuple);
  return result;
}

static PyObject* directional(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject *of, *by, *seed, *result = NULL;
  core_refs unknowns, knowns;
  core_array a, out;
  if (!PyArg_ParseTuple(args, "OOO", &of, &by, &seed) || !refs_of(of, &unknowns) ||
      !refs_of(by, &knowns) || !core_reals_of(seed, knowns.n, &a))
    return NULL;
  if (core_room(&out, unknowns.n, sizeof(double)) != NULL) {
    if (core_component_begin(c) &&
        core_component_end(
            c, cpl_component_directional(c->component, unknowns.at, unknowns.n, knowns.at, knowns.n,
                                         a.values, out.values))) {
      result = core_real_list(out.values, unknowns.n);
    }
    core_room_free(&out);
  }
  core_room_free(&a);
  return result;
}

//------------------------------------ states ------------------------------------

typedef struct state {
  PyObject_HEAD core_component* component;
  core_child* child;
} state;

static PyObject* state_type;

static PyObject* new_state(core_component* c) {
  core_child* child = calloc(1, sizeof *child);
  if (child == NULL) return PyErr_NoMemory();
  state* s = (state*)PyType_GenericAlloc((PyTypeObject*)state_type, 0);
  if (s == NULL) {
    free(child);
    return NULL;
  }
  s->component = (core_component*)Py_NewRef((PyObject*)c);
  s->child = child;
  child->next = c->states;
  child->at = &c->states;
  if (child->next != NULL) child->next->at = &child->next;
  c->states = child;
  return (PyObject*)s;
}

// The memory of a state is released when no call is under way.
static void release_state(core_component* c, core_child* child) {
  if (child->at == NULL) {
    free(child);
    return;
  }
  unlink_state(child);
  if (core_session_is_forked(&c->session)) return;
  if (c->session.busy) {
    child->next = c->garbage;
    c->garbage = child;
    return;
  }
  cpl_component_forget(c->component, &child->snapshot);
  free(child);
}

static void state_dealloc(PyObject* self) {
  state* s = (state*)self;
  PyTypeObject* type = Py_TYPE(self);
  release_state(s->component, s->child);
  Py_DECREF((PyObject*)s->component);
  PyObject_Free(self);
  Py_DECREF(type);
}

// false, and an exception: the state was forgotten, or another instance has made it.
static bool check_state(const core_component* c, const state* s) {
  if (s->component == c && s->child->at != NULL) return true;
  PyErr_SetString(PyExc_ValueError,
                  s->component == c ? "this state was freed" : "this state is of another instance");
  return false;
}

static PyObject* save(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  (void)unused;
  PyObject* made = c->component != NULL ? new_state(c) : NULL;
  if (made == NULL && PyErr_Occurred()) return NULL;
  if (!core_component_begin(c) ||
      !core_component_end(c, cpl_component_save(c->component, &((state*)made)->child->snapshot)))
    Py_CLEAR(made);
  return made;
}

static PyObject* restore(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject* from;
  if (!PyArg_ParseTuple(args, "O!", state_type, &from) || !check_state(c, (state*)from) ||
      !core_component_begin(c))
    return NULL;
  return core_component_none(c,
                             cpl_component_restore(c->component, &((state*)from)->child->snapshot));
}

static PyObject* forget(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject* from;
  if (!PyArg_ParseTuple(args, "O!", state_type, &from) || !check_state(c, (state*)from) ||
      !core_component_begin(c))
    return NULL;
  core_child* child = ((state*)from)->child;
  cpl_component_forget(c->component, &child->snapshot);
  unlink_state(child);
  return core_component_none(c, CPL_OK);
}

static PyObject* serialize(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  PyObject* from;
  cpl_binary bytes = {NULL, 0};
  if (!PyArg_ParseTuple(args, "O!", state_type, &from) || !check_state(c, (state*)from) ||
      !core_component_begin(c))
    return NULL;
  cpl_status st = cpl_component_serialize(c->component, &((state*)from)->child->snapshot, &bytes);
  if (st == CPL_OK) st = copy_blocks(&bytes, 1);
  else bytes = (cpl_binary){NULL, 0};
  PyObject* result = NULL;
  if (core_component_end(c, st))
    result = PyBytes_FromStringAndSize((const char*)bytes.data, (Py_ssize_t)bytes.size);
  free((void*)bytes.data);
  return result;
}

static PyObject* deserialize(PyObject* self, PyObject* object) {
  core_component* c = (core_component*)self;
  char* data;
  Py_ssize_t size;
  if (PyBytes_AsStringAndSize(object, &data, &size) < 0) return NULL;
  const cpl_binary bytes = {(const uint8_t*)data, (size_t)size};
  PyObject* made = c->component != NULL ? new_state(c) : NULL;
  if (made == NULL && PyErr_Occurred()) return NULL;
  if (!core_component_begin(c) ||
      !core_component_end(
          c, cpl_component_deserialize(c->component, &bytes, &((state*)made)->child->snapshot)))
    Py_CLEAR(made);
  return made;
}

//------------------------------------ description ------------------------------------

// ([(name, type, reference)], {array: (first, count)})
static PyObject* variables(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  (void)unused;
  if (!core_component_begin(c)) return NULL;
  const cpl_description* d = cpl_component_description(c->component);
  if (!core_component_end(c, CPL_OK)) return NULL;
  PyObject* list = PyList_New(d->n_vars);
  PyObject* arrays = PyDict_New();
  bool fine = list != NULL && arrays != NULL;
  for (int32_t i = 0; i < d->n_vars && fine; i++) {
    const cpl_variable* v = &d->vars[i];
    PyObject* entry = Py_BuildValue("NiI", core_str(v->name), (int)v->type, (unsigned)v->ref);
    fine = entry != NULL && PyList_SetItem(list, i, entry) == 0;
  }
  for (int32_t i = 0; i < d->n_arrays && fine; i++) {
    const cpl_array* a = &d->arrays[i];
    fine = core_put(arrays, a->name, Py_BuildValue("ii", (int)a->first, (int)a->count));
  }
  if (fine) return Py_BuildValue("NN", list, arrays);
  Py_XDECREF(list);
  Py_XDECREF(arrays);
  return NULL;
}

static PyObject* capabilities(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  (void)unused;
  if (!core_component_begin(c)) return NULL;
  const cpl_capabilities can = cpl_component_capabilities(c->component);
  if (!core_component_end(c, CPL_OK)) return NULL;
  return Py_BuildValue(
      "{s:N,s:N,s:N,s:N,s:N,s:i,s:i}", "save_restore", PyBool_FromLong(can.save_restore),
      "serialize", PyBool_FromLong(can.serialize), "zero_step", PyBool_FromLong(can.zero_step),
      "variable_step", PyBool_FromLong(can.variable_step), "dense_output",
      PyBool_FromLong(can.dense_output), "input_derivatives", (int)can.input_derivatives,
      "output_derivatives", (int)can.output_derivatives);
}

//------------------------------------ type ------------------------------------

static PyMethodDef value_methods[] = {
    {"close", component_close, METH_NOARGS, "Free the instance."},
    {"reset", component_reset, METH_NOARGS, "Back to before setup()."},
    {"setup", component_setup, METH_VARARGS, "Times and tolerance: (start, stop, tolerance)."},
    {"enter_init", enter_init, METH_NOARGS, "Begin the initialisation."},
    {"exit_init", exit_init, METH_NOARGS, "End the initialisation."},
    {"terminate", terminate, METH_NOARGS, "End the simulation."},
    {"get_real", get_real, METH_O, "Values of Reals by their references."},
    {"set_real", set_real, METH_VARARGS, "Set Reals: (references, values)."},
    {"get_integer", get_integer, METH_VARARGS, "Values of integers: (type, references)."},
    {"set_integer", set_integer, METH_VARARGS, "Set integers: (type, references, values)."},
    {"get_string", get_string, METH_O, "Values of Strings, as bytes."},
    {"set_string", set_string, METH_VARARGS, "Set Strings: (references, values)."},
    {"get_binary", get_binary, METH_O, "Values of Binaries."},
    {"set_binary", set_binary, METH_VARARGS, "Set Binaries: (references, values)."},
    {"directional", directional, METH_VARARGS, "(unknowns, knowns, seed) -> sensitivities."},
    {"save", save, METH_NOARGS, "Save the present state."},
    {"restore", restore, METH_VARARGS, "Go back to a saved state."},
    {"forget", forget, METH_VARARGS, "Release a saved state."},
    {"serialize", serialize, METH_VARARGS, "A saved state as bytes."},
    {"deserialize", deserialize, METH_O, "A saved state from bytes."},
    {"variables", variables, METH_NOARGS, "Variables and arrays, with their references."},
    {"capabilities", capabilities, METH_NOARGS, "What the instance can do."},
    {NULL, NULL, 0, NULL},
};

// The methods of both files; the type borrows the table.
static PyMethodDef* all_methods(void) {
  static PyMethodDef all[64];
  size_t n = 0;
  for (const PyMethodDef* m = value_methods; m->ml_name != NULL; m++) all[n++] = *m;
  for (const PyMethodDef* m = core_step_methods; m->ml_name != NULL; m++) all[n++] = *m;
  return all;
}

static PyType_Slot state_slots[] = {
    {Py_tp_dealloc, state_dealloc},
    {Py_tp_doc, "A saved state of a Component."},
    {0, NULL},
};

static PyType_Spec state_spec = {
    .name = "couplet._core.ComponentState",
    .basicsize = sizeof(state),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = state_slots,
};

bool core_add_component(PyObject* module) {
  PyType_Slot slots[] = {
      {Py_tp_new, component_new},
      {Py_tp_dealloc, component_dealloc},
      {Py_tp_traverse, component_traverse},
      {Py_tp_clear, component_clear},
      {Py_tp_methods, all_methods()},
      {Py_tp_doc, "An instance of an FMU, whose functions the caller calls."},
      {0, NULL},
  };
  PyType_Spec spec = {
      .name = "couplet._core.Component",
      .basicsize = sizeof(core_component),
      .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
      .slots = slots,
  };
  state_type = PyType_FromSpec(&state_spec);
  PyObject* type = PyType_FromSpec(&spec);
  bool fine = state_type != NULL && type != NULL &&
              PyModule_AddObjectRef(module, "ComponentState", state_type) == 0 &&
              PyModule_AddObjectRef(module, "Component", type) == 0;
  Py_XDECREF(type);
  return fine;
}
