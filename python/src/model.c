// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Classes of Python as models: a definition as of a model in C whose functions call methods. Their
// argument is an object with arrays over memory of ours, into which the values are copied before
// each call. An exception becomes a failure of the model, and the cause of the error that is raised
// in the end.
//
// A stepper (a class with `step`) is such a model without states in a proxy: a step is an event
// update of the model, in which the method is called; outputs are kept in the memory of the model,
// so that a saved state of the model is one of the stepper.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

enum { X, U, P, W, Y, CROSSED, N_BLOCKS };
enum { MAX_VALUES = 100000000 };  // of one list
enum { STATES, INPUTS, OUTPUTS, PARAMETERS, DISCRETE, N_LISTS };
static const char* const list_names[] = {"states", "inputs", "outputs", "parameters", "discrete"};

struct core_model {
  core_session* session;
  PyObject* spec;    // a dict, which is kept for its texts and methods
  PyObject* values;  // argument of the methods that may change values
  PyObject* seen;    // argument of those that may not
  cpl_model_def def;
  cpl_declaration* lists[N_LISTS];
  size_t n[N_LISTS];  // values
  PyObject* blocks[N_BLOCKS];
  void* data[N_BLOCKS];
  cpl_source* inner;  // the model
  cpl_source proxy;   // of a stepper; first used in core_model_source()
  double h;           // size of the step that is made; NAN: none
  char failed[512];   // reason why the method step failed; "": it did not
};

//------------------------------------ values ------------------------------------

static bool set_number(PyObject* object, const char* name, double value) {
  PyObject* number = PyFloat_FromDouble(value);
  bool fine = number != NULL && PyObject_SetAttrString(object, name, number) == 0;
  Py_XDECREF(number);
  return fine;
}

static bool set_flag(PyObject* object, const char* name, bool value) {
  return PyObject_SetAttrString(object, name, value ? Py_True : Py_False) == 0;
}

static bool get_number(PyObject* object, const char* name, double* value) {
  PyObject* number = PyObject_GetAttrString(object, name);
  if (number == NULL) return false;
  *value = PyFloat_AsDouble(number);
  Py_DECREF(number);
  return !PyErr_Occurred();
}

static bool get_flag(PyObject* object, const char* name, bool* value) {
  PyObject* flag = PyObject_GetAttrString(object, name);
  int truth = flag != NULL ? PyObject_IsTrue(flag) : -1;
  Py_XDECREF(flag);
  *value = truth == 1;
  return truth >= 0;
}

static void copy(double* to, const double* from, size_t n) {
  if (n > 0) memcpy(to, from, n * sizeof *to);
}

// The arguments of a function, as the methods see them.
static bool show(core_model* m, PyObject* values, const cpl_values* v) {
  copy(m->data[X], v->x, m->n[STATES]);
  copy(m->data[U], v->u, m->n[INPUTS]);
  copy(m->data[P], v->p, m->n[PARAMETERS]);
  copy(m->data[W], v->w, m->n[DISCRETE]);
  return set_number(values, "t", v->t);
}

// A number of any type but complex, whose imaginary part would be lost.
bool core_read_double(PyObject* from, double* to) {
  if (PyComplex_Check(from)) {
    PyErr_Format(PyExc_TypeError, "must be real number, not complex: %R", from);
    return false;
  }
  *to = PyFloat_AsDouble(from);
  return !PyErr_Occurred();
}

static bool read_sequence(PyObject* from, const char* method, double* to, size_t n) {
  Py_ssize_t count = PySequence_Size(from);
  if (count < 0) return false;
  if ((size_t)count != n) {
    PyErr_Format(PyExc_ValueError, "%s: %zd values, where %zu are needed", method, count, n);
    return false;
  }
  for (size_t i = 0; i < n; i++) {
    PyObject* item = PySequence_GetItem(from, (Py_ssize_t)i);
    bool fine = item != NULL && core_read_double(item, &to[i]);
    Py_XDECREF(item);
    if (!fine) return false;
  }
  return true;
}

// The result of a method: a number, a sequence of numbers, or an array of doubles.
bool core_read_doubles(PyObject* from, const char* method, double* to, size_t n) {
  Py_buffer view;
  if (from == Py_None) {
    PyErr_Format(PyExc_TypeError, "%s: None, where %zu values are needed", method, n);
    return false;
  }
  if (n == 1 && !PySequence_Check(from)) return core_read_double(from, to);
  if (PyBytes_Check(from) || PyByteArray_Check(from)) {
    PyErr_Format(PyExc_TypeError, "%s: bytes, where %zu values are needed", method, n);
    return false;
  }
  if (!PyObject_CheckBuffer(from)) return read_sequence(from, method, to, n);
  if (PyObject_GetBuffer(from, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return read_sequence(from, method, to, n);
  }
  const bool doubles = view.format != NULL && strcmp(view.format, "d") == 0;
  const bool fits = doubles && view.len == (Py_ssize_t)(n * sizeof(double)) && view.ndim <= 1;
  if (fits && n > 0) memcpy(to, view.buf, (size_t)view.len);
  PyBuffer_Release(&view);
  if (fits) return true;
  if (n == 1 && view.ndim == 0) return core_read_double(from, to);  // an array of numpy
  return read_sequence(from, method, to, n);
}

//------------------------------------ calls ------------------------------------

// The text of the exception is the reason of the failure; the exception itself is kept.
static int fail(core_model* m, const cpl_values* v) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* reason = core_exception_text(type, value);
  const char* text = reason != NULL ? core_text(reason) : "an exception of Python";
  if (isnan(m->h)) cpl_model_error(v, "%s", text);
  else snprintf(m->failed, sizeof m->failed, "%s", text);
  Py_XDECREF(reason);
  PyErr_Restore(type, value, trace);
  core_keep_cause(m->session);
  return CPL_MODEL_ERROR;
}

static PyObject* method_of(const core_model* m, const char* name) {
  return PyDict_GetItemString(m->spec, name);  // borrowed
}

static int evaluate(const cpl_values* v, const char* name, double* to, size_t n) {
  core_model* m = v->user;
  PyGILState_STATE state = core_enter();
  PyObject* result =
      show(m, m->seen, v) ? PyObject_CallFunctionObjArgs(method_of(m, name), m->seen, NULL) : NULL;
  bool fine = result != NULL && core_read_doubles(result, name, to, n);
  Py_XDECREF(result);
  int code = fine ? CPL_MODEL_OK : fail(m, v);
  core_exit(m->session, state);
  return code;
}

static int derivatives(const cpl_values* v, double* dx) {
  const core_model* m = v->user;
  return evaluate(v, "derivatives", dx, m->n[STATES]);
}

static int output_values(const cpl_values* v, double* y) {
  const core_model* m = v->user;
  return evaluate(v, "output_values", y, m->n[OUTPUTS]);
}

static int kept_outputs(const cpl_values* v, double* y) {
  const core_model* m = v->user;
  copy(y, v->memory, m->n[OUTPUTS]);
  return CPL_MODEL_OK;
}

static int indicators(const cpl_values* v, double* z) {
  const core_model* m = v->user;
  return evaluate(v, "indicators", z, (size_t)m->def.n_indicators);
}

static bool show_event(core_model* m, const cpl_event_actions* a) {
  PyObject* v = m->values;
  if (m->def.n_indicators > 0 && a->crossed != NULL)
    memcpy(m->data[CROSSED], a->crossed, (size_t)m->def.n_indicators);
  else memset(m->data[CROSSED], 0, (size_t)m->def.n_indicators);
  return set_flag(v, "time_event", a->time_event) && set_number(v, "next_time", a->next_time) &&
         set_flag(v, "again", false) && set_flag(v, "terminate", false);
}

static bool read_event(const core_model* m, cpl_event_actions* a) {
  copy(a->x, m->data[X], m->n[STATES]);
  copy(a->w, m->data[W], m->n[DISCRETE]);
  return get_number(m->values, "next_time", &a->next_time) &&
         get_flag(m->values, "again", &a->again) && get_flag(m->values, "terminate", &a->terminate);
}

// The methods initialize, event and, of steppers, start change arrays in place.
static int handle(const cpl_values* v, cpl_event_actions* a, const char* name) {
  core_model* m = v->user;
  PyGILState_STATE state = core_enter();
  PyObject* method = method_of(m, name);
  bool fine = show(m, m->values, v) && show_event(m, a);
  PyObject* result = fine ? PyObject_CallFunctionObjArgs(method, m->values, NULL) : NULL;
  fine = result != NULL && read_event(m, a);
  Py_XDECREF(result);
  int code = fine ? CPL_MODEL_OK : fail(m, v);
  core_exit(m->session, state);
  return code;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  return handle(v, a, "initialize");
}
static int event(const cpl_values* v, cpl_event_actions* a) { return handle(v, a, "event"); }

//------------------------------------ steppers ------------------------------------

static bool keep_outputs(const core_model* m, const cpl_values* v) {
  copy(v->memory, m->data[Y], m->n[OUTPUTS]);
  return true;
}

// The method may return the outputs or set them in place.
static bool call_step(core_model* m, const char* name, const cpl_values* v, PyObject* size) {
  copy(m->data[Y], v->memory, m->n[OUTPUTS]);
  PyObject* result = PyObject_CallFunctionObjArgs(method_of(m, name), m->values, size, NULL);
  bool fine = result != NULL;
  if (fine && result != Py_None) fine = core_read_doubles(result, name, m->data[Y], m->n[OUTPUTS]);
  Py_XDECREF(result);
  return fine && keep_outputs(m, v);
}

static int start_stepper(const cpl_values* v, cpl_event_actions* a) {
  core_model* m = v->user;
  PyGILState_STATE state = core_enter();
  bool fine = show(m, m->values, v) && show_event(m, a);
  if (fine && method_of(m, "initialize") != NULL) fine = call_step(m, "initialize", v, NULL);
  fine = fine && read_event(m, a);
  a->next_time = (double)INFINITY;
  int code = fine ? CPL_MODEL_OK : fail(m, v);
  core_exit(m->session, state);
  return code;
}

static int step_inside(const cpl_values* v, cpl_event_actions* a) {
  core_model* m = v->user;
  if (isnan(m->h)) return CPL_MODEL_OK;
  PyGILState_STATE state = core_enter();
  PyObject* size = PyFloat_FromDouble(m->h);
  bool fine = size != NULL && show(m, m->values, v) && show_event(m, a) &&
              set_number(m->values, "t", v->t - m->h) && call_step(m, "step", v, size) &&
              read_event(m, a);
  Py_XDECREF(size);
  a->again = false;
  a->next_time = (double)INFINITY;
  int code = fine ? CPL_MODEL_OK : fail(m, v);
  core_exit(m->session, state);
  return code;
}

typedef struct stepper {
  cpl_stepper base;
  core_model* model;
  cpl_model* inner;
  double t;
} stepper;

static cpl_component* inner_of(cpl_component* c) {
  return cpl_model_component(((stepper*)c)->inner);
}

static void destroy_stepper(cpl_component* c) {
  if (c == NULL) return;
  cpl_model_destroy(((stepper*)c)->inner);
  free(c);
}

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  ((stepper*)c)->t = s->start_time;
  return cpl_component_setup(inner_of(c), s);
}
static cpl_status enter_init(cpl_component* c) { return cpl_component_enter_init(inner_of(c)); }

static cpl_status exit_init(cpl_component* c) {
  stepper* s = (stepper*)c;
  cpl_event_info info = {0};
  cpl_status st = cpl_component_exit_init(inner_of(c));
  s->model->h = (double)NAN;
  return st < 0 ? st : cpl_model_event_update(s->inner, &info);
}

static cpl_status terminate(cpl_component* c) { return cpl_component_terminate(inner_of(c)); }
static cpl_status reset(cpl_component* c) { return cpl_component_reset(inner_of(c)); }

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return cpl_component_get_real(inner_of(c), refs, n, values);
}
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  return cpl_component_set_real(inner_of(c), refs, n, values);
}
static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  return cpl_component_get_integer(inner_of(c), type, refs, n, values);
}
static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  return cpl_component_set_integer(inner_of(c), type, refs, n, values);
}
static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  return cpl_component_get_string(inner_of(c), refs, n, values);
}
static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  return cpl_component_set_string(inner_of(c), refs, n, values);
}

// A saved state: that of the model, and the time.
typedef struct saved {
  cpl_snapshot inner;
  double t;
} saved;

static cpl_status save(cpl_component* c, cpl_snapshot* snapshot) {
  saved* s = snapshot->data;
  if (s == NULL) s = snapshot->data = calloc(1, sizeof *s);
  if (s == NULL) return cpl_fail(c->ctx, CPL_ERR_NOMEM, "out of memory");
  s->t = ((stepper*)c)->t;
  return cpl_component_save(inner_of(c), &s->inner);
}

static cpl_status restore(cpl_component* c, const cpl_snapshot* snapshot) {
  const saved* s = snapshot->data;
  ((stepper*)c)->t = s->t;
  return cpl_component_restore(inner_of(c), &s->inner);
}

static void forget(cpl_component* c, cpl_snapshot* snapshot) {
  saved* s = snapshot->data;
  if (s != NULL) cpl_component_forget(inner_of(c), &s->inner);
  free(s);
  snapshot->data = NULL;
}

static cpl_status step(cpl_stepper* base, double t_end, double t_limit, cpl_step_result* result) {
  stepper* s = (stepper*)base;
  cpl_event_info info = {0};
  (void)t_limit;
  *result = (cpl_step_result){.end = CPL_STEP_DONE, .time = t_end};
  if (t_end <= s->t) return CPL_OK;
  s->model->h = t_end - s->t;
  s->model->failed[0] = '\0';
  cpl_status st = cpl_model_set_time(s->inner, t_end);
  if (st >= 0) st = cpl_model_event_update(s->inner, &info);
  s->model->h = (double)NAN;
  // the failed call is a step, not the event update of the model by which it is made
  if (s->model->failed[0] != '\0')
    return cpl_fail_in(base->base.ctx, CPL_ERR_MODEL, base->base.name, NULL, s->t,
                       "step from t=%.12g to t=%.12g failed: %s", s->t, t_end, s->model->failed);
  s->t = t_end;
  if (info.terminate) result->end = CPL_STEP_TERMINATE;
  return st;
}

#define OPS                                                                                        \
  .size = sizeof(cpl_component_ops), .kind = "python", .destroy = destroy_stepper, .setup = setup, \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset,        \
  .get_real = get_real, .set_real = set_real, .get_integer = get_integer,                          \
  .set_integer = set_integer, .get_string = get_string, .set_string = set_string
static const cpl_component_ops plain_ops = {OPS};
static const cpl_component_ops rolling_ops = {OPS, .save = save, .restore = restore,
                                              .forget = forget};
static const cpl_stepper_ops stepper_ops = {.size = sizeof(cpl_stepper_ops), .step = step};

static core_model* model_of_proxy(cpl_source* src) {
  return (core_model*)(void*)((char*)src - offsetof(core_model, proxy));
}

static cpl_status make_stepper(cpl_source* src, const char* name, cpl_stepper** out) {
  core_model* m = model_of_proxy(src);
  stepper* s = calloc(1, sizeof *s);
  *out = NULL;
  if (s == NULL) return cpl_fail(src->ctx, CPL_ERR_NOMEM, "out of memory");
  s->model = m;
  cpl_status st = cpl_source_make_model(m->inner, name, &s->inner);
  if (st < 0) {
    free(s);
    return st;
  }
  const cpl_component* inner = cpl_model_component(s->inner);
  PyGILState_STATE state = core_enter();
  const bool rolls = method_of(m, "rolls_back") != NULL;
  core_exit(m->session, state);
  s->base.base =
      (cpl_component){.ops = rolls ? &rolling_ops : &plain_ops,
                      .desc = inner->desc,
                      .ctx = inner->ctx,
                      .name = inner->name,
                      .can = {.variable_step = true, .save_restore = rolls, .own_thread = true}};
  s->base.ops = &stepper_ops;
  *out = &s->base;
  return CPL_OK;
}

static void leave_proxy(cpl_source* src) { (void)src; }  // it belongs to the model of Python

static const cpl_source_ops proxy_ops = {.size = sizeof(cpl_source_ops),
                                         .kind = "python",
                                         .destroy = leave_proxy,
                                         .make_stepper = make_stepper};

//------------------------------------ declarations ------------------------------------

static const char* text_or_null(PyObject* object) {
  return object == NULL || object == Py_None ? NULL : core_text(object);
}

// (name, start, unit, description, size, type, min, max, nominal, output, tunable, discrete)
static bool read_declaration(PyObject* from, cpl_declaration* d) {
  PyObject *name, *unit, *description;
  int size, type, output, tunable, discrete;
  if (!PyArg_ParseTuple(from, "OdOOiidddppp", &name, &d->start, &unit, &description, &size, &type,
                        &d->min, &d->max, &d->nominal, &output, &tunable, &discrete))
    return false;
  if (type < CPL_REAL || type > CPL_BOOLEAN)
    return (PyErr_Format(PyExc_ValueError, "there is no type %d", type), false);
  d->name = core_text(name);
  d->unit = text_or_null(unit);
  d->description = text_or_null(description);
  d->size = size;
  d->type = (cpl_type)type;
  d->output = output, d->tunable = tunable, d->discrete = discrete;
  return !PyErr_Occurred();
}

static bool read_list(core_model* m, int which) {
  PyObject* list = PyDict_GetItemString(m->spec, list_names[which]);
  if (list != NULL && !PyTuple_Check(list))
    return (PyErr_Format(PyExc_TypeError, "%s: not a tuple", list_names[which]), false);
  Py_ssize_t n = list != NULL ? PyTuple_Size(list) : 0;
  m->lists[which] = calloc((size_t)n + 1, sizeof **m->lists);
  if (m->lists[which] == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < n; i++) {
    cpl_declaration* d = &m->lists[which][i];
    PyObject* row = PyTuple_GetItem(list, i);
    if (!PyTuple_Check(row))
      return (PyErr_Format(PyExc_TypeError, "%s: not a tuple", list_names[which]), false);
    if (!read_declaration(row, d)) return false;
    m->n[which] += d->size > 0 ? (size_t)d->size : 1;
    if (d->size < 0 || m->n[which] > MAX_VALUES)
      return (PyErr_Format(PyExc_ValueError, "%s: there cannot be %d of them", d->name, d->size),
              false);
  }
  return true;
}

static bool read_experiment(core_model* m) {
  const struct {
    const char* key;
    double* to;
  } numbers[] = {{"start_time", &m->def.start_time},
                 {"stop_time", &m->def.stop_time},
                 {"tolerance", &m->def.tolerance},
                 {"step_size", &m->def.step_size}};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
    PyObject* value = PyDict_GetItemString(m->spec, numbers[i].key);
    if (value == NULL) continue;
    *numbers[i].to = PyFloat_AsDouble(value);
    if (PyErr_Occurred()) return false;
  }
  PyObject* count = PyDict_GetItemString(m->spec, "n_indicators");
  const long n = count != NULL ? PyLong_AsLong(count) : 0;
  if (!PyErr_Occurred() && (n < 0 || n > MAX_VALUES))
    PyErr_Format(PyExc_ValueError, "there cannot be %ld indicators", n);
  m->def.n_indicators = PyErr_Occurred() ? 0 : (int)n;
  m->def.name = text_or_null(PyDict_GetItemString(m->spec, "name"));
  m->def.description = text_or_null(PyDict_GetItemString(m->spec, "description"));
  return !PyErr_Occurred();
}

static void define(core_model* m) {
  cpl_model_def* d = &m->def;
  d->states = m->lists[STATES], d->inputs = m->lists[INPUTS], d->outputs = m->lists[OUTPUTS];
  d->parameters = m->lists[PARAMETERS], d->discrete = m->lists[DISCRETE];
  if (method_of(m, "step") != NULL) {
    d->memory_size = m->n[OUTPUTS] * sizeof(double);
    d->output_values = m->n[OUTPUTS] > 0 ? kept_outputs : NULL;
    d->initialize = start_stepper;
    d->event = step_inside;
    return;
  }
  if (method_of(m, "derivatives") != NULL) d->derivatives = derivatives;
  if (method_of(m, "output_values") != NULL) d->output_values = output_values;
  if (method_of(m, "indicators") != NULL) d->indicators = indicators;
  if (method_of(m, "initialize") != NULL) d->initialize = initialize;
  if (method_of(m, "event") != NULL) d->event = event;
}

// The arrays of the argument of all methods.
static bool make_values(core_model* m) {
  const size_t sizes[] = {m->n[STATES] * 8,
                          m->n[INPUTS] * 8,
                          m->n[PARAMETERS] * 8,
                          m->n[DISCRETE] * 8,
                          m->def.event == step_inside ? m->n[OUTPUTS] * 8 : 0,
                          (size_t)m->def.n_indicators};
  PyObject* blocks = PyTuple_New(N_BLOCKS);
  if (blocks == NULL) return false;
  for (int i = 0; i < N_BLOCKS; i++) {
    PyObject* block = core_block(sizes[i], &m->data[i]);
    if (block == NULL) break;
    m->blocks[i] = block;
    Py_INCREF(block);
    PyTuple_SetItem(blocks, i, block);
  }
  PyObject* make = PyErr_Occurred() ? NULL : PyDict_GetItemString(m->spec, "values");
  if (make == NULL && !PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "values is missing");
  if (make != NULL) m->values = PyObject_CallFunctionObjArgs(make, blocks, Py_True, NULL);
  if (m->values != NULL) m->seen = PyObject_CallFunctionObjArgs(make, blocks, Py_False, NULL);
  Py_DECREF(blocks);
  return m->seen != NULL;
}

//------------------------------------ life ------------------------------------

// Without the lock: the functions of the model are called.
static cpl_status open_model(core_model* m) {
  cpl_context* ctx = m->session->ctx;
  cpl_status st = cpl_c_define_version(ctx, &m->def, CPL_MODEL_VERSION, m, &m->inner);
  if (st < 0) return st;
  m->proxy =
      (cpl_source){.ops = &proxy_ops, .desc = m->inner->desc, .ctx = ctx, .path = m->inner->path};
  return CPL_OK;
}

core_model* core_model_create(core_session* session, PyObject* spec) {
  core_model* m = calloc(1, sizeof *m);
  if (m == NULL) return (PyErr_NoMemory(), NULL);
  m->session = session;
  m->h = (double)NAN;
  Py_INCREF(spec);
  m->spec = spec;
  bool fine = read_experiment(m);
  for (int i = 0; i < N_LISTS && fine; i++) fine = read_list(m, i);
  if (fine) define(m);
  // a model that is too large is refused before its arrays are made
  size_t n = 0;
  for (int i = 0; i < N_LISTS; i++) n += m->n[i];
  if (fine && n <= CPL_MAX_MODEL_VALUES) fine = make_values(m);
  if (fine && core_begin(session) && core_end(session, open_model(m))) return m;
  core_model_destroy(m);
  return NULL;
}

// Models and runs may refer to each other.
int core_model_traverse(const core_model* m, visitproc visit, void* arg) {
  Py_VISIT(m->values);
  Py_VISIT(m->seen);
  Py_VISIT(m->spec);
  return 0;
}

void core_model_destroy(core_model* m) {
  if (m == NULL) return;
  cpl_source_destroy(m->inner);
  for (int i = 0; i < N_LISTS; i++) free(m->lists[i]);
  for (int i = 0; i < N_BLOCKS; i++) Py_XDECREF(m->blocks[i]);
  Py_XDECREF(m->values);
  Py_XDECREF(m->seen);
  Py_XDECREF(m->spec);
  free(m);
}

cpl_source* core_model_source(const core_model* m) {
  return m->def.event == step_inside ? (cpl_source*)&m->proxy : m->inner;
}
