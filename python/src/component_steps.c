// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Component, continued: the operations of models and of steppers, and inputs that follow a table.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "component.h"

//------------------------------------ tables of inputs ------------------------------------

// The values of an input over time, without discontinuities: linear between rows, constant before
// the first and after the last one.
struct core_input {
  core_input* next;
  uint32_t ref;
  size_t n, row;  // row: of the last value
  double range;   // of the values
  const double *time, *values;
  double data[];  // of both
};

void core_inputs_free(core_component* c) {
  while (c->inputs != NULL) {
    core_input* input = c->inputs;
    c->inputs = input->next;
    free(input);
  }
}

// The last row that is not after t, found from the last position.
static size_t row_at(core_input* in, double t) {
  while (in->row > 0 && in->time[in->row] > t) in->row--;
  while (in->row + 1 < in->n && in->time[in->row + 1] <= t) in->row++;
  return in->row;
}

static double value_at(const void* user, double t) {
  core_input* in = (core_input*)user;  // only the position changes
  const size_t i = row_at(in, t);
  if (i + 1 == in->n || t <= in->time[i]) return in->values[i];
  const double part = (t - in->time[i]) / (in->time[i + 1] - in->time[i]);
  return in->values[i] + (in->values[i + 1] - in->values[i]) * part;
}

// The distance of a value from the line between its neighbours.
static double off_the_line(const core_input* in, size_t i) {
  if (i == 0) return in->n > 1 ? fabs(in->values[1] - in->values[0]) : 0;
  if (i + 1 == in->n) return fabs(in->values[i] - in->values[i - 1]);
  const double left = in->time[i] - in->time[i - 1], right = in->time[i + 1] - in->time[i];
  const double dl = in->values[i] - in->values[i - 1], dr = in->values[i + 1] - in->values[i];
  return fabs(dr * left - dl * right) / (left + right);
}

static cpl_break break_after(const void* user, double t, double tolerance) {
  core_input* in = (core_input*)user;
  for (size_t i = row_at(in, t); i < in->n; i++) {
    const double off = in->time[i] > t ? off_the_line(in, i) : 0;
    if (off > tolerance * in->range) return (cpl_break){in->time[i], off / in->range};
  }
  return (cpl_break){(double)INFINITY, 0};
}

static core_input* new_input(uint32_t ref, const void* time, const void* values, size_t n) {
  core_input* in = calloc(1, sizeof *in + 2 * n * sizeof(double));
  if (in == NULL) return NULL;
  memcpy(in->data, time, n * sizeof(double));
  memcpy(in->data + n, values, n * sizeof(double));
  in->ref = ref;
  in->n = n;
  in->time = in->data;
  in->values = in->data + n;
  double low = in->values[0], high = low;
  for (size_t i = 1; i < n; i++) {
    low = fmin(low, in->values[i]);
    high = fmax(high, in->values[i]);
  }
  in->range = high - low;
  return in;
}

static cpl_status follow(core_component* c, core_input* in) {
  const cpl_curve curve = {
      .value = value_at, .user = in, .from = in->time[0], .next_break = break_after};
  cpl_status st = cpl_stepper_set_curve(c->stepper, in->ref, &curve);
  core_input** at = &c->inputs;  // of the same variable, which nothing uses any more
  while (*at != NULL && (*at)->ref != in->ref) at = &(*at)->next;
  core_input* former = *at;
  if (former != NULL) *at = former->next;
  free(former);
  in->next = c->inputs;
  c->inputs = in;
  return st;
}

//------------------------------------ steppers ------------------------------------

static bool begin_stepper(core_component* c) {
  if (c->component == NULL || c->stepper != NULL) return core_component_begin(c);
  PyErr_SetString(PyExc_TypeError, "this instance is a model: it makes no steps");
  return false;
}

static PyObject* set_table(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  unsigned ref;
  const char *time, *values;
  Py_ssize_t n_time, n_values;
  if (!PyArg_ParseTuple(args, "Iy#y#", &ref, &time, &n_time, &values, &n_values)) return NULL;
  const size_t n = (size_t)n_time / sizeof(double);
  if (n == 0 || n_time != n_values)
    return PyErr_Format(PyExc_ValueError, "a table needs a value for every time");
  core_input* in = new_input(ref, time, values, n);
  if (in == NULL) return PyErr_NoMemory();
  if (begin_stepper(c)) return core_component_none(c, follow(c, in));
  free(in);
  return NULL;
}

static PyObject* set_polynomial(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  unsigned ref;
  cpl_curve curve = {0};
  int order = 0;
  if (!PyArg_ParseTuple(args, "Idid|ddd", &ref, &curve.from, &order, &curve.coefficient[0],
                        &curve.coefficient[1], &curve.coefficient[2], &curve.coefficient[3]) ||
      !begin_stepper(c))
    return NULL;
  curve.order = order < 0 ? 0 : order > 3 ? 3 : order;
  return core_component_none(c, cpl_stepper_set_curve(c->stepper, ref, &curve));
}

// (end, time, event_handled, again)
static PyObject* step(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  double end, limit = (double)NAN;
  cpl_step_result r = {0};
  if (!PyArg_ParseTuple(args, "d|d", &end, &limit) || !begin_stepper(c)) return NULL;
  if (!(limit >= end)) limit = end;
  if (!core_component_end(c, cpl_stepper_step(c->stepper, end, limit, &r))) return NULL;
  return Py_BuildValue("idNN", (int)r.end, r.time, PyBool_FromLong(r.event_handled),
                       PyBool_FromLong(r.again));
}

static PyObject* output_derivatives(PyObject* self, PyObject* object) {
  core_component* c = (core_component*)self;
  char* refs;
  Py_ssize_t size;
  core_array a;
  if (PyBytes_AsStringAndSize(object, &refs, &size) < 0) return NULL;
  const size_t n = (size_t)size / sizeof(uint32_t);
  if (core_room(&a, n, sizeof(double)) == NULL) return NULL;
  PyObject* result = NULL;
  if (begin_stepper(c) &&
      core_component_end(c, cpl_stepper_get_output_derivatives(
                                c->stepper, (const uint32_t*)(const void*)refs, n, a.values))) {
    result = core_real_list(a.values, n);
  }
  core_room_free(&a);
  return result;
}

// All states of an integrated model, in their order.
static cpl_status set_all_states(core_component* c, const double* x, size_t n) {
  int32_t* numbers = calloc(n + 1, sizeof *numbers);
  if (numbers == NULL) return CPL_ERR_NOMEM;
  for (size_t i = 0; i < n; i++) numbers[i] = (int32_t)i;
  cpl_status st = cpl_stepper_set_states(c->stepper, numbers, n, x);
  free(numbers);
  return st;
}

static PyObject* write_states(PyObject* self, PyObject* object) {
  core_component* c = (core_component*)self;
  core_array x;
  if (c->stepper == NULL) {
    begin_stepper(c);  // sets the exception
    return NULL;
  }
  const size_t n = (size_t)cpl_component_description(c->component)->n_states;
  if (!core_reals_of(object, n, &x)) return NULL;
  PyObject* result = NULL;
  if (begin_stepper(c)) result = core_component_none(c, set_all_states(c, x.values, n));
  core_room_free(&x);
  return result;
}

//------------------------------------ models ------------------------------------

static bool begin_model(core_component* c) {
  if (c->component == NULL || c->model != NULL) return core_component_begin(c);
  PyErr_SetString(PyExc_TypeError, c->as_stepper
                                       ? "this instance is for co-simulation"
                                       : "a solver integrates this instance: reset it first");
  return false;
}

static cpl_status integrate_model(core_component* c, const cpl_solver_def* def) {
  cpl_model* model = c->model;
  c->model = NULL;
  c->component = NULL;
  cpl_status st = cpl_integrate(model, def, &c->stepper);
  if (st >= 0) c->component = cpl_stepper_component(c->stepper);
  return st;
}

static PyObject* integrate(PyObject* self, PyObject* args) {
  core_component* c = (core_component*)self;
  const char* name;
  cpl_solver_def def = cpl_default_solver_def();
  if (!PyArg_ParseTuple(args, "sdd", &name, &def.rtol, &def.step)) return NULL;
  def.one_solver = true;
  if (!cpl_solver_by_name(name, &def.kind))
    return PyErr_Format(PyExc_ValueError, "there is no solver \"%s\"", name);
  return begin_model(c) ? core_component_none(c, integrate_model(c, &def)) : NULL;
}

static PyObject* call(PyObject* self, cpl_status (*function)(cpl_model*)) {
  core_component* c = (core_component*)self;
  return begin_model(c) ? core_component_none(c, function(c->model)) : NULL;
}

static PyObject* enter_event(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, cpl_model_enter_event);
}

static PyObject* enter_continuous(PyObject* self, PyObject* unused) {
  (void)unused;
  return call(self, cpl_model_enter_continuous);
}

static PyObject* set_time(PyObject* self, PyObject* time) {
  core_component* c = (core_component*)self;
  const double t = PyFloat_AsDouble(time);
  if (PyErr_Occurred() || !begin_model(c)) return NULL;
  return core_component_none(c, cpl_model_set_time(c->model, t));
}

// (again, terminate, nominals_changed, states_changed, next_time)
static PyObject* event_update(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  cpl_event_info info = {0};
  (void)unused;
  if (!begin_model(c)) return NULL;
  if (!core_component_end(c, cpl_model_event_update(c->model, &info))) return NULL;
  return Py_BuildValue("NNNNd", PyBool_FromLong(info.again), PyBool_FromLong(info.terminate),
                       PyBool_FromLong(info.nominals_changed), PyBool_FromLong(info.states_changed),
                       info.next_time);
}

// (enter_event, terminate)
static PyObject* completed_step(PyObject* self, PyObject* unused) {
  core_component* c = (core_component*)self;
  bool event = false, end = false;
  (void)unused;
  if (!begin_model(c)) return NULL;
  if (!core_component_end(c, cpl_model_completed_step(c->model, &event, &end))) return NULL;
  return Py_BuildValue("NN", PyBool_FromLong(event), PyBool_FromLong(end));
}

static PyObject* get_array(core_component* c, cpl_status (*get)(cpl_model*, double*),
                           bool of_indicators) {
  if (!begin_model(c)) return NULL;
  const cpl_description* d = cpl_component_description(c->component);
  const size_t n = (size_t)(of_indicators ? d->n_indicators : d->n_states);
  double* values = calloc(n + 1, sizeof *values);
  bool fine = core_component_end(c, values != NULL ? get(c->model, values) : CPL_ERR_NOMEM);
  PyObject* result = fine ? core_real_list(values, n) : NULL;
  free(values);
  return result;
}

static PyObject* get_states(PyObject* self, PyObject* unused) {
  (void)unused;
  return get_array((core_component*)self, cpl_model_get_states, false);
}

static PyObject* get_nominals(PyObject* self, PyObject* unused) {
  (void)unused;
  return get_array((core_component*)self, cpl_model_get_nominals, false);
}

static PyObject* get_derivatives(PyObject* self, PyObject* unused) {
  (void)unused;
  return get_array((core_component*)self, cpl_model_get_derivatives, false);
}

static PyObject* get_indicators(PyObject* self, PyObject* unused) {
  (void)unused;
  return get_array((core_component*)self, cpl_model_get_indicators, true);
}

static PyObject* set_states(PyObject* self, PyObject* object) {
  core_component* c = (core_component*)self;
  core_array x;
  if (c->model == NULL) {
    begin_model(c);  // sets the exception
    return NULL;
  }
  const size_t n = (size_t)cpl_component_description(c->component)->n_states;
  if (!core_reals_of(object, n, &x)) return NULL;
  PyObject* result = NULL;
  if (begin_model(c)) result = core_component_none(c, cpl_model_set_states(c->model, x.values));
  core_room_free(&x);
  return result;
}

//------------------------------------ methods ------------------------------------

const PyMethodDef core_step_methods[] = {
    {"set_table", set_table, METH_VARARGS, "An input over time: (reference, times, values)."},
    {"set_polynomial", set_polynomial, METH_VARARGS,
     "An input over time: (reference, from, order, coefficients...)."},
    {"step", step, METH_VARARGS, "(end, limit) -> (end, time, event_handled, again)."},
    {"output_derivatives", output_derivatives, METH_O, "First derivatives of outputs."},
    {"write_states", write_states, METH_O, "Set the states of an integrated model."},
    {"integrate", integrate, METH_VARARGS, "Give a model a solver: (name, rtol, step)."},
    {"enter_event", enter_event, METH_NOARGS, "Begin an event."},
    {"enter_continuous", enter_continuous, METH_NOARGS, "End an event."},
    {"event_update", event_update, METH_NOARGS,
     "(again, terminate, nominals_changed, states_changed, next_time)."},
    {"set_time", set_time, METH_O, "Set the time."},
    {"set_states", set_states, METH_O, "Set the states."},
    {"get_states", get_states, METH_NOARGS, "The states."},
    {"get_nominals", get_nominals, METH_NOARGS, "Nominal values of the states."},
    {"get_derivatives", get_derivatives, METH_NOARGS, "Derivatives of the states."},
    {"get_indicators", get_indicators, METH_NOARGS, "Event indicators."},
    {"completed_step", completed_step, METH_NOARGS, "(enter_event, terminate)."},
    {NULL, NULL, 0, NULL},
};
