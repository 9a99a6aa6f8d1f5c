// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Adjoint gradients: a function of the module with a session of its own.
#include <stdlib.h>

#include "core.h"

static PyObject* doubles(const double* values, size_t n) {
  return PyBytes_FromStringAndSize((const char*)values, (Py_ssize_t)(n * sizeof *values));
}

static cpl_status compute(core_session* session, core_settings* settings, double* gradients,
                          double* values, cpl_gradient_stats* stats) {
  cpl_experiment* e = NULL;
  cpl_status st = core_settings_read(settings, session->ctx);
  if (st >= 0) st = cpl_experiment_create(session->ctx, core_settings_get(settings), &e);
  if (st >= 0) st = cpl_experiment_gradients(e, gradients, values, stats);
  cpl_experiment_destroy(e);
  return st;
}

// (gradients, values, time, points, instances)
static PyObject* run_gradients(core_session* session, core_settings* settings, size_t n_of,
                               size_t n_to) {
  cpl_gradient_stats stats;
  PyObject* result = NULL;
  double* gradients = calloc(n_of * n_to + n_of + 1, sizeof *gradients);
  double* values = gradients + n_of * n_to;
  if (gradients == NULL) return PyErr_NoMemory();
  if (core_begin(session) &&
      core_end(session, compute(session, settings, gradients, values, &stats)))
    result = Py_BuildValue("(NNdLi)", doubles(gradients, n_of * n_to), doubles(values, n_of),
                           stats.reached, (long long)stats.points, (int)stats.instances);
  free(gradients);
  return result;
}

PyObject* core_gradients(PyObject* module, PyObject* args) {
  PyObject *dict, *result = NULL;
  core_session session;
  (void)module;
  if (!PyArg_ParseTuple(args, "O!", &PyDict_Type, &dict)) return NULL;
  PyObject* level = PyDict_GetItemString(dict, "log_level");
  PyObject* of = PyDict_GetItemString(dict, "sensitivity_of");
  PyObject* to = PyDict_GetItemString(dict, "sensitivity_to");
  const Py_ssize_t n_of = of != NULL ? PyTuple_Size(of) : 0,
                   n_to = to != NULL ? PyTuple_Size(to) : 0;
  const long value = level != NULL ? PyLong_AsLong(level) : CPL_LOG_WARNING;
  if (n_of < 0 || n_to < 0 || PyErr_Occurred()) return NULL;
  if (!core_session_open(&session, (cpl_log_level)value)) return NULL;
  core_settings* settings = core_settings_create(&session, dict);
  if (settings != NULL) result = run_gradients(&session, settings, (size_t)n_of, (size_t)n_to);
  core_settings_destroy(settings);
  core_session_close(&session);
  return result;
}
