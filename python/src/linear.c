// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Linearisations of the model of a run, also with fewer states, and poles and zeros of matrices.
#include <stdlib.h>

#include "core.h"
#include "couplet/transfer.h"

static PyObject* names_tuple(const char* const* names, int32_t n) {
  PyObject* tuple = PyTuple_New(n);
  for (int32_t i = 0; i < n && tuple != NULL; i++) {
    PyObject* name = core_str(names[i]);
    if (name == NULL || PyTuple_SetItem(tuple, i, name) != 0) Py_CLEAR(tuple);
  }
  return tuple;
}

static PyObject* numbers(const double* values, int32_t n) {
  return PyBytes_FromStringAndSize((const char*)values, (Py_ssize_t)n * (Py_ssize_t)sizeof(double));
}

// Names, values and the matrices, column after column, as bytes. Nullable: l
static PyObject* linear_tuple(const cpl_linear* l) {
  if (l == NULL) return Py_NewRef(Py_None);
  const int32_t n = l->n_states, m = l->n_inputs, k = l->n_outputs;
  return Py_BuildValue("(NNNNNNNNNNN)", names_tuple(l->states, n), names_tuple(l->inputs, m),
                       names_tuple(l->outputs, k), numbers(l->x, n), numbers(l->dx, n),
                       numbers(l->u, m), numbers(l->y, k), numbers(l->a, n * n),
                       numbers(l->b, n * m), numbers(l->c, k * n), numbers(l->d, k * m));
}

static PyObject* reduced_tuple(const cpl_reduced* r) {
  return Py_BuildValue("(NNid)", linear_tuple(r->linear), numbers(r->hankel, r->n_hankel),
                       (int)r->n_kept, r->bound);
}

// What is requested: the matrices (of all states, between the inputs and outputs that `only`
// names), and with order >= 0 those with that many states.
typedef struct request {
  cpl_linearize_def def;
  int order;
  cpl_linear *linear, *whole;
  cpl_reduced* reduced;
} request;

static cpl_status find(request* q, core_run* run, cpl_model* model) {
  cpl_status st = cpl_linearize(model, &q->def, &q->linear);
  q->def.all_states = q->def.lenient = true;
  if (st >= 0 && q->def.n_only > 0) st = cpl_linearize(model, &q->def, &q->whole);
  const cpl_linear* of = q->whole != NULL ? q->whole : q->linear;
  return st >= 0 && q->order >= 0 ? cpl_linear_reduce(run->session.ctx, of, q->order, &q->reduced)
                                  : st;
}

// (only, order or -1): the matrices; those of all states, where `only` leaves some out, or None;
// those with fewer states, singular values, number of kept poles, bound, or None.
PyObject* core_run_linearize(PyObject* self, PyObject* args) {
  core_run* run = (core_run*)self;
  request q = {.def = cpl_default_linearize_def(), .order = -1};
  PyObject *only = NULL, *result = NULL;
  if (!core_run_check(run) || !PyArg_ParseTuple(args, "Oi", &only, &q.order)) return NULL;
  const Py_ssize_t n = PyTuple_Size(only);
  if (n < 0) return NULL;
  cpl_model* model = cpl_experiment_model(run->experiment);
  if (model == NULL)
    return core_raise(CPL_ERR_INPUT, "a co-simulation has no states to linearise by");
  const char** names = calloc((size_t)n + 1, sizeof *names);
  if (names == NULL) return PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
    names[i] = core_text(PyTuple_GetItem(only, i));
  q.def.only = names;
  q.def.n_only = (size_t)n;
  if (!PyErr_Occurred() && core_begin(&run->session)) {
    cpl_status st = core_run_start(run);
    if (st >= 0) st = find(&q, run, model);
    if (core_end(&run->session, st))
      result = Py_BuildValue("(NNN)", linear_tuple(q.linear), linear_tuple(q.whole),
                             q.reduced != NULL ? reduced_tuple(q.reduced) : Py_NewRef(Py_None));
  }
  cpl_reduced_destroy(q.reduced);
  cpl_linear_destroy(q.whole);
  cpl_linear_destroy(q.linear);
  free(names);
  return result;
}

static PyObject* roots_list(const cpl_root* roots, int32_t n) {
  PyObject* list = PyList_New(n);
  for (int32_t i = 0; i < n && list != NULL; i++) {
    PyObject* root = PyComplex_FromDoubles(roots[i].re, roots[i].im);
    if (root == NULL || PyList_SetItem(list, i, root) != 0) Py_CLEAR(list);
  }
  return list;
}

// (zeros, n, m, k, A, B, C, D as bytes): the poles, or the zeros.
PyObject* core_roots(PyObject* module, PyObject* args) {
  cpl_linear l = {0};
  const char* of[4];
  Py_ssize_t size[4];
  int zeros = 0;
  (void)module;
  if (!PyArg_ParseTuple(args, "piiiy#y#y#y#", &zeros, &l.n_states, &l.n_inputs, &l.n_outputs,
                        &of[0], &size[0], &of[1], &size[1], &of[2], &size[2], &of[3], &size[3]))
    return NULL;
  const int32_t n = l.n_states, m = l.n_inputs, k = l.n_outputs;
  const int64_t wanted[] = {(int64_t)n * n, (int64_t)n * m, (int64_t)k * n, (int64_t)k * m};
  const double** to[] = {&l.a, &l.b, &l.c, &l.d};
  for (int i = 0; i < 4; i++) {
    if (n < 0 || m < 0 || k < 0 || size[i] != wanted[i] * (int64_t)sizeof(double))
      return core_raise(CPL_ERR_INPUT, "the matrices do not fit together");
    *to[i] = (const double*)(const void*)of[i];
  }
  core_session s;
  if (!core_session_open(&s, CPL_LOG_WARNING)) return NULL;
  cpl_root* roots = NULL;
  PyObject* list = NULL;
  int32_t count = 0;
  if (core_begin(&s)) {
    cpl_status st = zeros ? cpl_linear_zeros(s.ctx, &l, &roots, &count, NULL)
                          : cpl_linear_poles(s.ctx, &l, &roots, &count);
    if (core_end(&s, st)) list = roots_list(roots, count);
  }
  cpl_roots_free(s.ctx, roots);
  core_session_close(&s);
  return list;
}
