// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fits and optimizations: functions of the module, each with a session of its own.
#include <stdlib.h>
#include <string.h>

#include "core.h"

// What both have.
typedef struct search {
  core_session session;
  core_settings* settings;
  cpl_vary* vary;
  size_t n_vary;
  PyObject* on_progress;  // borrowed. Nullable
} search;

static void search_close(search* s) {
  for (size_t i = 0; s->vary != NULL && i < s->n_vary; i++)
    cpl_vary_free(s->session.ctx, &s->vary[i]);
  free(s->vary);
  core_settings_destroy(s->settings);
  core_session_close(&s->session);
}

static bool read_vary(search* s, PyObject* texts) {
  const Py_ssize_t n = PyTuple_Size(texts);
  s->vary = n >= 0 ? calloc((size_t)n + 1, sizeof *s->vary) : NULL;
  if (s->vary == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < n; i++) {
    const char* text = core_text(PyTuple_GetItem(texts, i));
    if (text == NULL) return false;
    const cpl_status st = cpl_vary_read(s->session.ctx, text, &s->vary[i]);
    if (st < 0) return (core_raise_last(&s->session, st), false);
    s->n_vary++;
  }
  return true;
}

static bool search_open(search* s, PyObject* dict, PyObject* vary, PyObject* progress) {
  PyObject* level = PyDict_GetItemString(dict, "log_level");
  const long value = level != NULL ? PyLong_AsLong(level) : CPL_LOG_WARNING;
  *s = (search){.on_progress = progress != Py_None ? progress : NULL};
  if (PyErr_Occurred() || !core_session_open(&s->session, (cpl_log_level)value)) return false;
  s->settings = core_settings_create(&s->session, dict);
  if (s->settings != NULL && read_vary(s, vary)) return true;
  search_close(s);
  return false;
}

static void on_progress(void* user, const cpl_search_progress* p) {
  search* s = user;
  PyGILState_STATE state = core_enter();
  core_poll(&s->session);
  if (!PyErr_Occurred() && s->on_progress != NULL) {
    PyObject* done = PyObject_CallFunction(s->on_progress, "{sLsLsd}", "runs", (long long)p->runs,
                                           "failed", (long long)p->failed, "value", p->value);
    Py_XDECREF(done);
  }
  core_leave(&s->session, state);
}

//------------------------------------ results ------------------------------------

static PyObject* doubles(const double* values, size_t n) {
  return PyBytes_FromStringAndSize((const char*)values, (Py_ssize_t)(n * sizeof *values));
}

// (name, unit, value, guess, least, greatest, at_bound, deviation, low, high, undetermined)
static PyObject* list_varied(const cpl_varied* list, size_t n) {
  PyObject* out = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n && out != NULL; i++) {
    const cpl_varied* v = &list[i];
    PyObject* item = Py_BuildValue("(NNddddidddO)", core_str(v->name), core_str(v->unit), v->value,
                                   v->guess, v->least, v->greatest, (int)v->at_bound, v->deviation,
                                   v->low, v->high, v->undetermined ? Py_True : Py_False);
    if (item == NULL || PyList_SetItem(out, (Py_ssize_t)i, item) != 0) Py_CLEAR(out);
  }
  return out;
}

// (name, unit, data, time, measured, fitted, sigma, estimated, rms)
static PyObject* list_columns(const cpl_fit* f) {
  PyObject* out = PyList_New((Py_ssize_t)f->n_columns);
  for (size_t i = 0; i < f->n_columns && out != NULL; i++) {
    const cpl_fit_column* c = &f->columns[i];
    PyObject* item =
        Py_BuildValue("(NNnNNNNOd)", core_str(c->name), core_str(c->unit), (Py_ssize_t)c->data,
                      doubles(c->time, c->n), doubles(c->measured, c->n), doubles(c->fitted, c->n),
                      doubles(c->sigma, c->n), c->estimated ? Py_True : Py_False, c->rms);
    if (item == NULL || PyList_SetItem(out, (Py_ssize_t)i, item) != 0) Py_CLEAR(out);
  }
  return out;
}

// (ratio, singular, parts)
static PyObject* list_directions(const cpl_fit* f) {
  PyObject* out = PyList_New((Py_ssize_t)f->n_directions);
  for (size_t i = 0; i < f->n_directions && out != NULL; i++) {
    const cpl_fit_direction* d = &f->directions[i];
    PyObject* item = Py_BuildValue("(dON)", d->ratio, d->singular ? Py_True : Py_False,
                                   doubles(d->parts, f->n_parameters));
    if (item == NULL || PyList_SetItem(out, (Py_ssize_t)i, item) != 0) Py_CLEAR(out);
  }
  return out;
}

static PyObject* fit_tuple(const cpl_fit* f) {
  const size_t n = f->n_parameters;
  return Py_BuildValue("(NNNNdddsLLN)", list_varied(f->parameters, n),
                       doubles(f->correlation, n * n), list_columns(f), list_directions(f),
                       f->squares, f->variance, f->freedom, f->derivatives, (long long)f->runs,
                       (long long)f->failed, core_str(f->failure));
}

// (text, excess, active)
static PyObject* optimum_tuple(const cpl_optimum* o) {
  PyObject* constraints = PyList_New((Py_ssize_t)o->n_constraints);
  for (size_t i = 0; i < o->n_constraints && constraints != NULL; i++) {
    const cpl_optimum_constraint* c = &o->constraints[i];
    PyObject* item =
        Py_BuildValue("(NdO)", core_str(c->text), c->excess, c->active ? Py_True : Py_False);
    if (item == NULL || PyList_SetItem(constraints, (Py_ssize_t)i, item) != 0)
      Py_CLEAR(constraints);
  }
  return Py_BuildValue("(NdNLLN)", list_varied(o->parameters, o->n_parameters), o->value,
                       constraints, (long long)o->runs, (long long)o->failed, core_str(o->failure));
}

//------------------------------------ fit ------------------------------------

typedef struct fit_words {
  cpl_fit_data* data;
  cpl_start* starts;  // of all data
  cpl_fit_sigma* sigmas;
} fit_words;

// (path, ((name, text), ...), weight) of each
static bool read_data(fit_words* w, PyObject* tuple, cpl_fit_def* def) {
  size_t n_starts = 0;
  const Py_ssize_t n = PyTuple_Size(tuple);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* starts = PyTuple_GetItem(PyTuple_GetItem(tuple, i), 1);
    const Py_ssize_t count = starts != NULL ? PyTuple_Size(starts) : -1;
    if (count < 0) return false;
    n_starts += (size_t)count;
  }
  w->data = calloc((size_t)n + 1, sizeof *w->data);
  w->starts = calloc(n_starts + 1, sizeof *w->starts);
  if (w->data == NULL || w->starts == NULL) return (PyErr_NoMemory(), false);
  cpl_start* next = w->starts;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* starts;
    cpl_fit_data* d = &w->data[i];
    if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "yO!d", &d->path, &PyTuple_Type, &starts,
                          &d->weight))
      return false;
    d->starts = next;
    d->n_starts = (size_t)PyTuple_Size(starts);
    for (size_t k = 0; k < d->n_starts; k++, next++)
      if (!PyArg_ParseTuple(PyTuple_GetItem(starts, (Py_ssize_t)k), "ss", &next->name,
                            &next->value))
        return false;
  }
  def->data = w->data;
  def->n_data = (size_t)n;
  return true;
}

static bool read_sigmas(fit_words* w, PyObject* tuple, cpl_fit_def* def) {
  const Py_ssize_t n = PyTuple_Size(tuple);
  w->sigmas = calloc((size_t)n + 1, sizeof *w->sigmas);
  if (w->sigmas == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < n; i++)
    if (!PyArg_ParseTuple(PyTuple_GetItem(tuple, i), "sd", &w->sigmas[i].name, &w->sigmas[i].value))
      return false;
  def->sigmas = w->sigmas;
  def->n_sigmas = (size_t)n;
  return true;
}

static PyObject* run_fit(search* s, cpl_fit_def* def) {
  PyObject* result = NULL;
  cpl_fit* fit = NULL;
  if (!core_begin(&s->session)) return NULL;
  cpl_status st = core_settings_read(s->settings, s->session.ctx);
  def->experiment = core_settings_get(s->settings);
  def->vary = s->vary, def->n_vary = s->n_vary;
  def->on_progress = on_progress, def->user = s;
  if (st >= 0) st = cpl_fit_run(s->session.ctx, def, &fit);
  if (core_end(&s->session, st)) result = fit_tuple(fit);
  cpl_fit_destroy(fit);
  return result;
}

// fit(settings, vary, data, sigmas, loss, scale, confidence, ignore_extra, differences, max_runs,
// workers, progress)
PyObject* core_fit(PyObject* module, PyObject* args) {
  PyObject *dict, *vary, *data, *sigmas, *progress, *result = NULL;
  const char* loss;
  int ignore_extra, differences, max_runs;
  search s;
  fit_words w = {0};
  cpl_fit_def def = cpl_default_fit_def();
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!O!O!zddppiiO", &PyDict_Type, &dict, &PyTuple_Type, &vary,
                        &PyTuple_Type, &data, &PyTuple_Type, &sigmas, &loss, &def.scale,
                        &def.confidence, &ignore_extra, &differences, &max_runs, &def.workers,
                        &progress))
    return NULL;
  if (loss != NULL && !cpl_loss_by_name(loss, &def.loss))
    return PyErr_Format(PyExc_ValueError, "loss is squares, huber, soft_l1 or cauchy, not %s",
                        loss);
  def.ignore_extra = ignore_extra, def.differences = differences, def.max_runs = max_runs;
  if (!search_open(&s, dict, vary, progress)) return NULL;
  if (read_data(&w, data, &def) && read_sigmas(&w, sigmas, &def)) result = run_fit(&s, &def);
  search_close(&s);
  free(w.data);
  free(w.starts);
  free(w.sigmas);
  return result;
}

//------------------------------------ optimize ------------------------------------

typedef struct optimize_words {
  cpl_measure_def* measures;
  const char** subject_to;
} optimize_words;

static bool read_expressions(optimize_words* w, PyObject* measures, PyObject* subject_to,
                             cpl_optimize_def* def) {
  const Py_ssize_t n = PyTuple_Size(measures), n_subject_to = PyTuple_Size(subject_to);
  w->measures = calloc((size_t)n + 1, sizeof *w->measures);
  w->subject_to = calloc((size_t)n_subject_to + 1, sizeof *w->subject_to);
  if (w->measures == NULL || w->subject_to == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < n; i++)
    if (!PyArg_ParseTuple(PyTuple_GetItem(measures, i), "ss", &w->measures[i].name,
                          &w->measures[i].text))
      return false;
  for (Py_ssize_t i = 0; i < n_subject_to; i++) {
    w->subject_to[i] = core_text(PyTuple_GetItem(subject_to, i));
    if (w->subject_to[i] == NULL) return false;
  }
  def->measures = w->measures, def->n_measures = (size_t)n;
  def->subject_to = w->subject_to, def->n_subject_to = (size_t)n_subject_to;
  return true;
}

static PyObject* run_optimize(search* s, cpl_optimize_def* def) {
  PyObject* result = NULL;
  cpl_optimum* optimum = NULL;
  if (!core_begin(&s->session)) return NULL;
  cpl_status st = core_settings_read(s->settings, s->session.ctx);
  def->experiment = core_settings_get(s->settings);
  def->vary = s->vary, def->n_vary = s->n_vary;
  def->on_progress = on_progress, def->user = s;
  if (st >= 0) st = cpl_optimize_run(s->session.ctx, def, &optimum);
  if (core_end(&s->session, st)) result = optimum_tuple(optimum);
  cpl_optimum_destroy(optimum);
  return result;
}

// optimize(settings, vary, objective, maximize, measures, subject_to, method, tolerance,
// constraint_tolerance, max_runs, workers, progress)
PyObject* core_optimize(PyObject* module, PyObject* args) {
  PyObject *dict, *vary, *measures, *subject_to, *progress, *result = NULL;
  const char* method;
  int maximize, max_runs;
  search s;
  optimize_words w = {0};
  cpl_optimize_def def = cpl_default_optimize_def();
  (void)module;
  if (!PyArg_ParseTuple(args, "O!O!spO!O!sddiiO", &PyDict_Type, &dict, &PyTuple_Type, &vary,
                        &def.minimize, &maximize, &PyTuple_Type, &measures, &PyTuple_Type,
                        &subject_to, &method, &def.tolerance, &def.constraint_tolerance, &max_runs,
                        &def.workers, &progress))
    return NULL;
  if (!cpl_optimizer_by_name(method, &def.method))
    return PyErr_Format(PyExc_ValueError, "method is slsqp or cobyla, not %s", method);
  def.maximize = maximize, def.max_runs = max_runs;
  if (!search_open(&s, dict, vary, progress)) return NULL;
  if (read_expressions(&w, measures, subject_to, &def)) result = run_optimize(&s, &def);
  search_close(&s);
  free(w.measures);
  free(w.subject_to);
  return result;
}
