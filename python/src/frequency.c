// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The frequency response of the model of a run.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

// The values of one member of all points, as bytes.
static PyObject* column(const cpl_frequency* f, size_t member) {
  PyObject* bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)f->n * sizeof(double)));
  char* to = bytes != NULL ? PyBytes_AsString(bytes) : NULL;
  for (int32_t i = 0; i < f->n && to != NULL; i++)
    memcpy(to + (size_t)i * sizeof(double), (const char*)&f->points[i] + member, sizeof(double));
  return bytes;
}

static PyObject* result_of(const cpl_frequency* f) {
  const cpl_margins* k = &f->margins;
  return Py_BuildValue(
      "(NNNNddddddddd)", column(f, offsetof(cpl_frequency_point, omega)),
      column(f, offsetof(cpl_frequency_point, re)), column(f, offsetof(cpl_frequency_point, im)),
      column(f, offsetof(cpl_frequency_point, phase)), f->at_zero, f->peak, f->peak_omega,
      f->bandwidth, k->gain, k->gain_omega, k->phase, k->phase_omega, k->delay);
}

// (from, to, low, high, points per decade, frequencies as doubles or None)
PyObject* core_run_frequency(PyObject* self, PyObject* args) {
  core_run* run = (core_run*)self;
  PyObject *from = NULL, *to = NULL, *omegas = NULL, *result = NULL;
  cpl_frequency_def def = cpl_default_frequency_def();
  int per_decade = 0;
  if (!core_run_check(run) ||
      !PyArg_ParseTuple(args, "OOddiO", &from, &to, &def.low, &def.high, &per_decade, &omegas))
    return NULL;
  cpl_model* model = cpl_experiment_model(run->experiment);
  if (model == NULL)
    return core_raise(CPL_ERR_INPUT, "a co-simulation has no states to respond by");
  const Py_ssize_t n = omegas != Py_None ? PySequence_Size(omegas) : 0;
  double* list = n >= 0 ? calloc((size_t)n + 1, sizeof *list) : NULL;
  if (n < 0) return NULL;
  if (list == NULL) return PyErr_NoMemory();
  def.from = core_text(from);
  def.to = def.from != NULL ? core_text(to) : NULL;
  def.per_decade = per_decade;
  cpl_frequency* f = NULL;
  bool fine =
      def.to != NULL && (omegas == Py_None || core_read_doubles(omegas, "omega", list, (size_t)n));
  if (omegas != Py_None) def.omegas = list, def.n_omegas = (int32_t)n;
  if (fine && core_begin(&run->session)) {
    cpl_status st = core_run_start(run);
    if (st >= 0) st = cpl_frequency_create(model, &def, &f);
    if (core_end(&run->session, st)) result = result_of(f);
  }
  cpl_frequency_destroy(f);
  free(list);
  return result;
}
