// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The type Run: a simulation from its settings to its statistics.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

PyObject* core_run_type;

//------------------------------------ children ------------------------------------

void core_run_adopt(core_run* run, core_child* child) {
  child->next = run->children;
  child->at = &run->children;
  if (child->next != NULL) child->next->at = &child->next;
  run->children = child;
}

static void unlink_child(core_child* child) {
  *child->at = child->next;
  if (child->next != NULL) child->next->at = child->at;
  child->at = NULL;
}

static void destroy_child(core_run* run, core_child* child) {
  cpl_selection_destroy(child->selection);
  child->selection = NULL;
  if (run->sim != NULL) cpl_simulation_forget(run->sim, &child->snapshot);
}

static void empty_garbage(core_run* run) {
  while (run->garbage != NULL) {
    core_child* child = run->garbage;
    run->garbage = child->next;
    destroy_child(run, child);
    free(child);
  }
}

void core_run_release(core_run* run, core_child* child) {
  if (child->at != NULL) {
    unlink_child(child);
    if (core_session_is_forked(&run->session)) return;
    if (run->session.busy) {
      child->next = run->garbage;
      run->garbage = child;
      return;
    }
    destroy_child(run, child);
  }
  free(child);
}

//------------------------------------ callbacks ------------------------------------

// Without the interpreter lock, in the thread that called the library.

static cpl_status on_columns(void* user, const cpl_column* columns, size_t n) {
  core_run* run = user;
  cpl_status st = core_rows_begin(&run->rows, columns, n);
  return st < 0 ? cpl_fail(run->session.ctx, st, "out of memory") : core_states_rows(run);
}

static cpl_status on_point(void* user, double t, const cpl_value* values) {
  core_run* run = user;
  cpl_status st = core_rows_add(&run->rows, t, values);
  return st < 0 ? cpl_fail(run->session.ctx, st, "out of memory: %zu rows", run->rows.n_rows) : st;
}

static void on_step(void* user, double t, double h) {
  core_run* run = user;
  PyGILState_STATE state = core_enter();
  core_poll(&run->session);
  PyObject* progress = core_settings_progress(run->settings);
  if (!PyErr_Occurred() && progress != NULL) {
    PyObject* done = PyObject_CallFunction(progress, "dd", t, h);
    Py_XDECREF(done);
  }
  core_leave(&run->session, state);
}

//------------------------------------ life ------------------------------------

static cpl_status open_simulation(core_run* run) {
  cpl_context* ctx = run->session.ctx;
  cpl_status st = core_settings_read(run->settings, ctx);
  if (st >= 0) st = core_states_read(run);
  if (st >= 0) st = cpl_experiment_create(ctx, core_settings_get(run->settings), &run->experiment);
  if (st >= 0) st = cpl_experiment_prepare(run->experiment);
  if (st >= 0) st = core_states_begin(run);
  if (st < 0) return st;
  cpl_run_def* def = cpl_experiment_run_def(run->experiment);
  def->on_columns = on_columns;
  def->on_point = on_point;
  def->on_step = on_step;
  def->user = run;
  return cpl_simulation_create(cpl_experiment_stepper(run->experiment), def, &run->sim);
}

static PyObject* run_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject* dict;
  if (kwargs != NULL && PyDict_Size(kwargs) > 0)
    return PyErr_Format(PyExc_TypeError, "Run takes a dict of settings");
  if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict)) return NULL;
  PyObject* level = PyDict_GetItemString(dict, "log_level");
  long value = level != NULL ? PyLong_AsLong(level) : CPL_LOG_WARNING;
  if (PyErr_Occurred()) return NULL;
  core_run* run = (core_run*)PyType_GenericAlloc(type, 0);
  if (run == NULL) return NULL;
  bool fine = core_session_open(&run->session, (cpl_log_level)value);
  if (fine) run->settings = core_settings_create(&run->session, dict);
  fine = fine && run->settings != NULL && core_begin(&run->session);
  if (fine) fine = core_end(&run->session, open_simulation(run));
  if (fine) return (PyObject*)run;
  Py_DECREF(run);
  return NULL;
}

// With the interpreter lock, which protects the list. The objects remain.
static void destroy_children(core_run* run) {
  empty_garbage(run);
  while (run->children != NULL) {
    core_child* child = run->children;
    destroy_child(run, child);
    unlink_child(child);
  }
}

static void close_run(core_run* run) {
  PyObject *type, *value, *trace;
  if (run->session.ctx == NULL || run->session.busy || run->experiment == NULL) return;
  PyErr_Fetch(&type, &value, &trace);
  destroy_children(run);
  if (core_begin(&run->session)) {
    if (run->started && !run->finished) cpl_simulation_finish(run->sim, &run->stats);
    run->finished = true;
    cpl_simulation_destroy(run->sim);
    cpl_experiment_destroy(run->experiment);
    run->sim = NULL;
    run->experiment = NULL;
    core_states_close(run);
    if (!core_end(&run->session, CPL_OK)) PyErr_Clear();
  }
  PyErr_Restore(type, value, trace);
}

static int run_traverse(PyObject* self, visitproc visit, void* arg) {
  const core_run* run = (core_run*)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(run->session.value);
  return core_settings_traverse(run->settings, visit, arg);
}

// The simulation uses texts and functions of the settings.
static int run_clear(PyObject* self) {
  core_run* run = (core_run*)self;
  if (core_session_is_forked(&run->session)) return 0;
  close_run(run);
  core_settings_destroy(run->settings);
  run->settings = NULL;
  return 0;
}

static void run_dealloc(PyObject* self) {
  core_run* run = (core_run*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  run_clear(self);
  core_states_close(run);
  core_rows_free(&run->rows);
  core_session_close(&run->session);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

bool core_run_check(core_run* run) {
  if (!core_session_check(&run->session)) return false;
  if (run->sim == NULL) {
    PyErr_SetString(PyExc_ValueError, "this run is closed");
    return false;
  }
  if (run->garbage != NULL) empty_garbage(run);
  return true;
}

cpl_status core_run_start(core_run* run) {
  if (run->started) return CPL_OK;
  cpl_status st = cpl_simulation_start(run->sim);
  run->started = st >= 0;
  return st;
}

//------------------------------------ time ------------------------------------

// Adds what was computed to the exception.
static PyObject* fail_with_result(core_run* run) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  PyObject* done = PyObject_CallMethod((PyObject*)run, "_failed", "O", value);
  if (done == NULL) PyErr_Clear();
  Py_XDECREF(done);
  PyErr_Restore(type, value, trace);
  return NULL;
}

static cpl_status advance(core_run* run, double until) {
  cpl_status st = core_run_start(run);
  if (st >= 0) st = cpl_simulation_advance(run->sim, until);
  run->terminated = run->terminated || st == CPL_TERMINATE;
  return st;
}

static PyObject* ended(const core_run* run, const char* why) {
  char text[160];
  snprintf(text, sizeof text, why, cpl_simulation_time(run->sim));
  return core_raise(CPL_ERR_INPUT, text);
}

// A run that begins with a checkpoint has its time once it is started.
static bool has_time(core_run* run) {
  if (!core_run_check(run)) return false;
  if (run->started || run->states.from == NULL) return true;
  if (!core_begin(&run->session)) return false;
  return core_end(&run->session, core_run_start(run)) || fail_with_result(run) != NULL;
}

static PyObject* advance_to(core_run* run, double until, double least) {
  if (!has_time(run)) return NULL;
  const double stop = cpl_experiment_run_def(run->experiment)->stop_time;
  const double t = cpl_simulation_time(run->sim);
  if (run->finished) return ended(run, "the run was finished at t=%.12g");
  if (run->terminated && until > t) return ended(run, "the model ended the run at t=%.12g");
  if (until > t && t >= stop)
    return ended(run, "the run has reached its stop time, t=%.12g: open it with a later one");
  if (!(until >= least) || !(until >= t)) {
    return PyErr_Format(PyExc_ValueError, "a run can only advance to a later time");
  }
  if (!core_begin(&run->session)) return NULL;
  if (!core_end(&run->session, advance(run, until))) return fail_with_result(run);
  return PyFloat_FromDouble(cpl_simulation_time(run->sim));
}

static PyObject* run_step(PyObject* self, PyObject* size) {
  core_run* run = (core_run*)self;
  const double h = PyFloat_AsDouble(size);
  if (PyErr_Occurred() || !has_time(run)) return NULL;
  if (!(h > 0)) return PyErr_Format(PyExc_ValueError, "a step must be positive");
  const double t = cpl_simulation_time(run->sim);
  return advance_to(run, t + h, t);
}

static PyObject* run_advance(PyObject* self, PyObject* until) {
  const double t = PyFloat_AsDouble(until);
  return PyErr_Occurred() ? NULL : advance_to((core_run*)self, t, -INFINITY);
}

static PyObject* run_start(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (!core_run_check(run) || !core_begin(&run->session)) return NULL;
  if (!core_end(&run->session, core_run_start(run))) return fail_with_result(run);
  Py_RETURN_NONE;
}

static cpl_status finish(core_run* run) {
  if (run->finished || !run->started) return CPL_OK;
  run->finished = true;
  cpl_status st = cpl_simulation_finish(run->sim, &run->stats);
  run->terminated = run->terminated || run->stats.terminated;
  return st;
}

// From start to stop.
static PyObject* run_all(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (!core_run_check(run) || !core_begin(&run->session)) return NULL;
  cpl_status st = advance(run, cpl_experiment_run_def(run->experiment)->stop_time);
  if (st >= 0) st = finish(run);
  if (!core_end(&run->session, st)) return fail_with_result(run);
  Py_RETURN_NONE;
}

static PyObject* run_finish(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (!core_run_check(run) || !core_begin(&run->session)) return NULL;
  if (!core_end(&run->session, finish(run))) return fail_with_result(run);
  Py_RETURN_NONE;
}

static PyObject* run_close(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (run->sim != NULL) {
    if (!core_session_check(&run->session)) return NULL;
    close_run(run);
  }
  Py_RETURN_NONE;
}

//------------------------------------ values ------------------------------------

static const cpl_description* description_of(const core_run* run) {
  return cpl_component_description(cpl_stepper_component(cpl_experiment_stepper(run->experiment)));
}

static const cpl_variable* find(const core_run* run, const char* name) {
  const cpl_description* d = description_of(run);
  int32_t i = cpl_find_variable(d, name);
  return i >= 0 ? &d->vars[i] : NULL;
}

static bool is_array(const core_run* run, const char* name) {
  const cpl_description* d = description_of(run);
  for (int32_t i = 0; i < d->n_arrays; i++) {
    if (strcmp(d->arrays[i].name, name) == 0) return true;
  }
  return false;
}

static PyObject* number_of(const cpl_variable* v, double value, int64_t integer) {
  if (v->type == CPL_REAL) return PyFloat_FromDouble(value);
  if (v->type == CPL_BOOLEAN || v->type == CPL_CLOCK) return PyBool_FromLong(integer != 0);
  if (v->width == CPL_WIDTH_UINT64) return PyLong_FromUnsignedLongLong((uint64_t)integer);
  return PyLong_FromLongLong(integer);
}

static PyObject* run_get(PyObject* self, PyObject* key) {
  core_run* run = (core_run*)self;
  const char* name = core_text(key);
  if (name == NULL || !core_run_check(run)) return NULL;
  const cpl_variable* v = find(run, name);
  if (v == NULL && is_array(run, name)) return PyObject_CallMethod(self, "_get_array", "O", key);
  cpl_component* c = cpl_stepper_component(cpl_experiment_stepper(run->experiment));
  const bool is_text = v != NULL && v->type == CPL_STRING;
  double value = (double)NAN;
  int64_t integer = 0;
  const char* borrowed = "";
  char* text = NULL;
  if (!core_begin(&run->session)) return NULL;
  cpl_status st = core_run_start(run);
  if (st >= 0 && is_text) st = cpl_simulation_get_text(run->sim, name, &borrowed);
  else if (st >= 0) st = cpl_simulation_get(run->sim, name, &value);
  if (st >= 0 && !is_text && v->type != CPL_REAL)  // exact, where a double is not
    st = cpl_component_get_integer(c, (cpl_type)v->type, &v->ref, 1, &integer);
  if (is_text) text = strdup(borrowed);
  PyObject* result = NULL;
  if (core_end(&run->session, st)) result = is_text ? core_str(text) : number_of(v, value, integer);
  free(text);
  return result;
}

// Integers that a double does not hold are refused rather than rounded.
static bool is_exact(PyObject* value, double number) {
  if (!PyLong_Check(value) || fabs(number) < 0x1p53) return true;
  PyObject* back = PyLong_FromDouble(number);
  int same = back != NULL ? PyObject_RichCompareBool(value, back, Py_EQ) : -1;
  Py_XDECREF(back);
  if (same == 0) core_raise(CPL_ERR_INPUT, "this integer cannot be set exactly during a run");
  return same == 1;
}

static int set_text(core_run* run, const char* name, PyObject* value) {
  const char* text = core_text(value);
  if (text == NULL || !core_begin(&run->session)) return -1;
  return core_end(&run->session, cpl_simulation_set_text(run->sim, name, text)) ? 0 : -1;
}

static int run_set(PyObject* self, PyObject* key, PyObject* value) {
  core_run* run = (core_run*)self;
  if (value == NULL) {
    PyErr_SetString(PyExc_TypeError, "variables cannot be deleted");
    return -1;
  }
  const char* name = core_text(key);
  if (name == NULL || !core_run_check(run)) return -1;
  if (PyUnicode_Check(value)) return set_text(run, name, value);
  if (find(run, name) == NULL && is_array(run, name)) {
    PyObject* done = PyObject_CallMethod(self, "_set_array", "OO", key, value);
    Py_XDECREF(done);
    return done != NULL ? 0 : -1;
  }
  const double number = PyFloat_AsDouble(value);
  if (PyErr_Occurred() || !is_exact(value, number) || !core_begin(&run->session)) return -1;
  return core_end(&run->session, cpl_simulation_set(run->sim, name, number)) ? 0 : -1;
}

//------------------------------------ results ------------------------------------

static PyObject* run_rows(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  return core_session_check(&run->session) ? core_rows_data(&run->rows) : NULL;
}

static bool put_counters(PyObject* dict, const cpl_inspection* in) {
  for (int32_t i = 0; i < in->n_counters; i++) {
    const double value = in->counters[i].value;
    const bool whole = in->counters[i].unit[0] == '\0' && value == floor(value);
    PyObject* number = whole ? PyLong_FromDouble(value) : PyFloat_FromDouble(value);
    if (!core_put(dict, in->counters[i].name, number)) return false;
  }
  return true;
}

static bool put_stats(PyObject* dict, const core_run* run) {
  const cpl_run_stats* s = &run->stats;
  bool fine = core_put(dict, "rows", PyLong_FromSize_t(run->rows.n_rows)) &&
              core_put(dict, "terminated", PyBool_FromLong(run->terminated));
  if (!run->finished || !fine) return fine;
  return core_put(dict, "reached", PyFloat_FromDouble(s->reached)) &&
         core_put(dict, "communication_steps", PyLong_FromLongLong(s->communication_steps)) &&
         core_put(dict, "refused_steps", PyLong_FromLongLong(s->refused_steps)) &&
         core_put(dict, "wall_s", PyFloat_FromDouble(s->wall_s)) &&
         core_put(dict, "in_output_s", PyFloat_FromDouble(s->in_output_s));
}

static PyObject* run_stats(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (!core_run_check(run)) return NULL;
  cpl_inspection in;
  cpl_component* c = cpl_stepper_component(cpl_experiment_stepper(run->experiment));
  PyObject* dict = PyDict_New();
  bool fine = dict != NULL && put_stats(dict, run);
  if (fine && cpl_component_inspect(c, -1, &in) >= 0) fine = put_counters(dict, &in);
  if (!fine) Py_CLEAR(dict);
  return dict;
}

static PyObject* run_names(PyObject* self, PyObject* unused) {
  core_run* run = (core_run*)self;
  (void)unused;
  if (!core_run_check(run)) return NULL;
  const cpl_description* d = description_of(run);
  PyObject* names = PyTuple_New(d->n_vars);
  for (int32_t i = 0; i < d->n_vars && names != NULL; i++) {
    PyObject* name = core_str(d->vars[i].name);
    if (name == NULL || PyTuple_SetItem(names, i, name) != 0) Py_CLEAR(names);
  }
  return names;
}

//------------------------------------ type ------------------------------------

enum { TIME, START, STOP, STARTED, FINISHED, TERMINATED, CLOSED };

static PyObject* run_property(PyObject* self, void* which) {
  core_run* run = (core_run*)self;
  switch ((intptr_t)which) {
    case STARTED: return PyBool_FromLong(run->started);
    case FINISHED: return PyBool_FromLong(run->finished);
    case TERMINATED: return PyBool_FromLong(run->terminated);
    case CLOSED: return PyBool_FromLong(run->sim == NULL);
    default: break;
  }
  if (core_session_is_forked(&run->session) || run->sim == NULL) {
    core_run_check(run);
    return NULL;
  }
  const cpl_run_def* def = cpl_experiment_run_def(run->experiment);
  double value = (intptr_t)which == START  ? def->start_time
                 : (intptr_t)which == STOP ? def->stop_time
                                           : cpl_simulation_time(run->sim);
  return PyFloat_FromDouble(value);
}

static PyMethodDef run_methods[] = {
    {"start", run_start, METH_NOARGS, "Initialise."},
    {"step", run_step, METH_O,
     "Advance by h seconds, at most to the stop time. Returns the time reached."},
    {"advance", run_advance, METH_O,
     "Advance to a time, at most to the stop time. Returns the time reached."},
    {"_run", run_all, METH_NOARGS, "From start to stop."},
    {"finish", run_finish, METH_NOARGS, "End the run: the last rows and the statistics."},
    {"_checkpoint", core_run_checkpoint, METH_VARARGS,
     "Write the state of the whole run to a file."},
    {"close", run_close, METH_NOARGS, "Release the models. A closed run has only its result."},
    {"_rows", run_rows, METH_NOARGS, "The rows so far."},
    {"_stats", run_stats, METH_NOARGS, "Statistics."},
    {"_names", run_names, METH_NOARGS, "Names of all variables."},
    {"_linearize", core_run_linearize, METH_VARARGS, "The matrices at the present point."},
    {"_frequency", core_run_frequency, METH_VARARGS,
     "The frequency response at the present point."},
    {"_steady", core_run_steady, METH_VARARGS, "The rest point, from the present one."},
    {NULL, NULL, 0, NULL},
};

#define PROPERTY(name, doc, which) \
  { name, run_property, NULL, doc, (void*)(intptr_t)(which) }
static PyGetSetDef run_properties[] = {
    PROPERTY("time", "The simulated time that the run has reached [s].", TIME),
    PROPERTY("start_time", "The start time [s].", START),
    PROPERTY("stop_time", "The stop time [s]; infinity: there is none.", STOP),
    PROPERTY("started", "Whether the models are initialised.", STARTED),
    PROPERTY("finished", "Whether the run was ended.", FINISHED),
    PROPERTY("terminated", "Whether a model ended the run.", TERMINATED),
    PROPERTY("closed", "Whether the run was closed.", CLOSED),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot run_slots[] = {
    {Py_tp_new, run_new},
    {Py_tp_dealloc, run_dealloc},
    {Py_tp_traverse, run_traverse},
    {Py_tp_clear, run_clear},
    {Py_tp_methods, run_methods},
    {Py_tp_getset, run_properties},
    {Py_mp_subscript, run_get},
    {Py_mp_ass_subscript, run_set},
    {Py_tp_doc, "A simulation that is advanced by its caller."},
    {0, NULL},
};

static PyType_Spec run_spec = {
    .name = "couplet._core.Run",
    .basicsize = sizeof(core_run),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .slots = run_slots,
};

bool core_add_run(PyObject* module) {
  core_run_type = PyType_FromSpec(&run_spec);
  return core_run_type != NULL && PyModule_AddObjectRef(module, "Run", core_run_type) == 0;
}
