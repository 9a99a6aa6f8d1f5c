// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The rest point of the model of a run, and its eigenvalues.
#include <math.h>
#include <stdlib.h>

#include "core.h"

typedef struct request {
  const char** free;
  cpl_target* targets;
  Py_ssize_t n_free, n_targets;
} request;

// The arguments: names, and pairs of a name and a value.
static bool read_request(request* q, PyObject* free_names, PyObject* targets) {
  q->n_free = PyTuple_Size(free_names);
  q->n_targets = PyTuple_Size(targets);
  if (q->n_free < 0 || q->n_targets < 0) return false;
  q->free = calloc((size_t)q->n_free + 1, sizeof *q->free);
  q->targets = calloc((size_t)q->n_targets + 1, sizeof *q->targets);
  if (q->free == NULL || q->targets == NULL) return PyErr_NoMemory(), false;
  for (Py_ssize_t i = 0; i < q->n_free && !PyErr_Occurred(); i++)
    q->free[i] = core_text(PyTuple_GetItem(free_names, i));
  for (Py_ssize_t i = 0; i < q->n_targets && !PyErr_Occurred(); i++) {
    PyObject* pair = PyTuple_GetItem(targets, i);
    q->targets[i].name = core_text(PyTuple_GetItem(pair, 0));
    q->targets[i].value = PyFloat_AsDouble(PyTuple_GetItem(pair, 1));
  }
  return !PyErr_Occurred();
}

static PyObject* dict_of(const char* const* names, const double* values, int32_t n) {
  PyObject* dict = PyDict_New();
  for (int32_t i = 0; i < n && dict != NULL; i++) {
    if (!core_put(dict, names[i], PyFloat_FromDouble(values[i]))) Py_CLEAR(dict);
  }
  return dict;
}

static PyObject* list_of(const cpl_steady* s) {
  PyObject* list = PyList_New(0);
  for (int32_t i = 0; i < s->n_undetermined && list != NULL; i++) {
    PyObject* name = core_str(s->names[s->undetermined[i]]);
    if (name == NULL || PyList_Append(list, name) != 0) Py_CLEAR(list);
    Py_XDECREF(name);
  }
  return list;
}

// (eigenvalue, {state: share})
static PyObject* modes_of(const cpl_steady* s, const cpl_spectrum* p) {
  PyObject* list = PyList_New(0);
  for (int32_t i = 0; i < p->n_modes && list != NULL; i++) {
    const cpl_eigen_mode* m = &p->modes[i];
    PyObject* states = PyDict_New();
    for (int32_t k = 0; k < m->n_states && states != NULL; k++) {
      if (!core_put(states, s->names[m->states[k].state], PyFloat_FromDouble(m->states[k].share)))
        Py_CLEAR(states);
    }
    PyObject* mode =
        states != NULL ? Py_BuildValue("(NN)", PyComplex_FromDoubles(m->re, m->im), states) : NULL;
    if (mode == NULL || PyList_Append(list, mode) != 0) Py_CLEAR(list);
    Py_XDECREF(mode);
  }
  return list;
}

static PyObject* result_of(const cpl_steady* s, const cpl_spectrum* p) {
  return Py_BuildValue("(NNNOdNsO)", dict_of(s->names, s->x, s->n_states),
                       dict_of(s->free_names, s->free, s->n_free), list_of(s),
                       s->time_dependent ? Py_True : Py_False, s->until, modes_of(s, p),
                       cpl_stability_name(p->stability), p->complete ? Py_True : Py_False);
}

PyObject* core_run_steady(PyObject* self, PyObject* args) {
  core_run* run = (core_run*)self;
  PyObject *free_names = NULL, *targets = NULL, *result = NULL;
  request q = {0};
  if (!core_run_check(run) ||
      !PyArg_ParseTuple(args, "O!O!", &PyTuple_Type, &free_names, &PyTuple_Type, &targets))
    return NULL;
  cpl_model* model = cpl_experiment_model(run->experiment);
  if (model == NULL)
    return core_raise(CPL_ERR_INPUT, "a co-simulation has no states to search a rest point of");
  const cpl_run_def* def = cpl_experiment_run_def(run->experiment);
  cpl_setup setup = cpl_default_setup();
  cpl_steady_def wanted = cpl_default_steady_def();
  cpl_steady* steady = NULL;
  cpl_spectrum* spectrum = NULL;
  if (read_request(&q, free_names, targets) && core_begin(&run->session)) {
    cpl_status st = core_run_start(run);
    setup.start_time = wanted.time = cpl_simulation_time(run->sim);
    wanted.free = q.free, wanted.n_free = (int32_t)q.n_free;
    wanted.targets = q.targets, wanted.n_targets = (int32_t)q.n_targets;
    wanted.setup = &setup;
    wanted.starts = def->starts, wanted.n_starts = def->n_starts;
    if (st >= 0) st = cpl_steady_create(model, &wanted, &steady);
    if (st >= 0) cpl_steady_warn(steady);
    if (st >= 0) st = cpl_spectrum_create(model, NULL, &spectrum);
    if (core_end(&run->session, st)) result = result_of(steady, spectrum);
  }
  cpl_spectrum_destroy(spectrum);
  cpl_steady_destroy(steady);
  free(q.free);
  free(q.targets);
  return result;
}
