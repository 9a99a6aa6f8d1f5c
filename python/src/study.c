// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The type Study: many cases of one experiment, their results as memory, and the influence of the
// factors on them. Cases run in worker processes, which are forked while the interpreter lock is
// released and which never call Python: models and functions of Python cannot be studied.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

typedef struct core_study {
  PyObject_HEAD core_session session;
  core_settings* settings;
  PyObject* words;  // the arguments, whose texts are borrowed
  cpl_study_def def;
  cpl_measure_def* measures;
  const char **over, **curves, **outputs;
  cpl_design* design;
  PyObject *on_progress, *on_case;  // during a call; borrowed. Nullable
  // results
  PyObject *columns, *table_block, *curves_block, *failures;  // NULL: none so far
  double *table, *courses;  // column after column; curve after curve, case after case
  int64_t n_cases;
} core_study;

static PyObject* study_type;

//------------------------------------ arguments ------------------------------------

// Owned: the list, whose texts are borrowed, by the study. NULL: an exception is set.
static const char** read_texts(PyObject* tuple, size_t* n) {
  const Py_ssize_t size = PyTuple_Size(tuple);
  const char** texts = size >= 0 ? calloc((size_t)size + 1, sizeof *texts) : NULL;
  if (size >= 0 && texts == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < size && texts != NULL && !PyErr_Occurred(); i++)
    texts[i] = core_text(PyTuple_GetItem(tuple, i));
  *n = size > 0 ? (size_t)size : 0;
  return texts;
}

static bool read_measures(core_study* s, PyObject* tuple) {
  const Py_ssize_t n = PyTuple_Size(tuple);
  s->measures = n >= 0 ? calloc((size_t)n + 1, sizeof *s->measures) : NULL;
  if (s->measures == NULL) return (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject* pair = PyTuple_GetItem(tuple, i);
    if (!PyTuple_Check(pair) ||
        !PyArg_ParseTuple(pair, "ss", &s->measures[i].name, &s->measures[i].text)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "a measure is (name, text)");
      return false;
    }
  }
  s->def.measures = s->measures;
  s->def.n_measures = (size_t)n;
  return true;
}

static const char* optional_text(PyObject* object) {
  return object == Py_None ? NULL : core_text(object);
}

static bool read_words(core_study* s, cpl_design_texts* texts) {
  PyObject *over, *measures, *curves, *outputs, *table, *journal;
  int resume, restart;
  int workers;
  if (!PyArg_ParseTuple(s->words, "O!O!O!O!zzzOOzppid", &PyTuple_Type, &over, &PyTuple_Type,
                        &measures, &PyTuple_Type, &curves, &PyTuple_Type, &outputs, &texts->design,
                        &texts->sample, &texts->seed, &table, &journal, &s->def.content, &resume,
                        &restart, &workers, &s->def.case_timeout))
    return false;
  s->over = read_texts(over, &texts->n_over);
  s->curves = read_texts(curves, &s->def.n_curves);
  s->outputs = read_texts(outputs, &s->def.n_outputs);
  texts->over = s->over;
  texts->table = optional_text(table);
  s->def.curves = s->curves;
  s->def.outputs = s->outputs;
  s->def.journal = optional_text(journal);
  s->def.resume = resume;
  s->def.restart = restart;
  s->def.workers = workers;
  return !PyErr_Occurred() && read_measures(s, measures);
}

//------------------------------------ life ------------------------------------

// The file is opened for its section `study`; workers open it again.
static cpl_status make_design(core_study* s, const cpl_design_texts* texts) {
  cpl_context* ctx = s->session.ctx;
  cpl_experiment* e = NULL;
  cpl_status st = core_settings_read(s->settings, ctx);
  if (st >= 0) st = cpl_experiment_create(ctx, core_settings_get(s->settings), &e);
  if (st >= 0) st = cpl_study_design(ctx, cpl_experiment_source(e), texts, &s->design);
  cpl_experiment_destroy(e);
  return st;
}

static PyObject* study_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  PyObject *dict, *words;
  if (kwargs != NULL && PyDict_Size(kwargs) > 0)
    return PyErr_Format(PyExc_TypeError, "Study takes a dict of settings and a tuple");
  if (!PyArg_ParseTuple(args, "O!O!", &PyDict_Type, &dict, &PyTuple_Type, &words)) return NULL;
  PyObject* level = PyDict_GetItemString(dict, "log_level");
  const long value = level != NULL ? PyLong_AsLong(level) : CPL_LOG_WARNING;
  if (PyErr_Occurred()) return NULL;
  core_study* s = (core_study*)PyType_GenericAlloc(type, 0);
  if (s == NULL) return NULL;
  cpl_design_texts texts = cpl_default_design_texts();
  s->def = cpl_default_study_def();
  s->words = Py_NewRef(words);
  bool fine = core_session_open(&s->session, (cpl_log_level)value) && read_words(s, &texts);
  if (fine) s->settings = core_settings_create(&s->session, dict);
  fine = fine && s->settings != NULL && core_begin(&s->session);
  if (fine && core_end(&s->session, make_design(s, &texts))) return (PyObject*)s;
  Py_DECREF(s);
  return NULL;
}

static void study_dealloc(PyObject* self) {
  core_study* s = (core_study*)self;
  PyTypeObject* type = Py_TYPE(self);
  if (s->session.ctx != NULL && !core_session_is_forked(&s->session)) {
    cpl_design_destroy(s->design);
    core_settings_destroy(s->settings);
    core_session_close(&s->session);
  }
  free(s->measures);
  free(s->over);
  free(s->curves);
  free(s->outputs);
  Py_XDECREF(s->words);
  Py_XDECREF(s->columns);
  Py_XDECREF(s->table_block);
  Py_XDECREF(s->curves_block);
  Py_XDECREF(s->failures);
  PyObject_Free(self);
  Py_DECREF(type);
}

//------------------------------------ columns ------------------------------------

// A list of (name, unit), or (name, unit, text).
static PyObject* names_list(const char* const* names, const char* const* units,
                            const char* const* texts, size_t n) {
  PyObject* list = PyList_New((Py_ssize_t)n);
  for (size_t i = 0; i < n && list != NULL; i++) {
    PyObject* unit = core_str(units[i][0] != '\0' ? units[i] : NULL);
    PyObject* item = texts != NULL
                         ? Py_BuildValue("(NNN)", core_str(names[i]), unit, core_str(texts[i]))
                         : Py_BuildValue("(NN)", core_str(names[i]), unit);
    if (item == NULL || PyList_SetItem(list, (Py_ssize_t)i, item) != 0) Py_CLEAR(list);
  }
  return list;
}

static PyObject* facts_dict(const cpl_study_columns* c) {
  PyObject* dict = PyDict_New();
  for (size_t i = 0; i < c->n_facts && dict != NULL; i++) {
    const cpl_study_fact* f = &c->facts[i];
    PyObject* value = f->text != NULL ? core_str(f->text) : PyFloat_FromDouble(f->number);
    if (!core_put(dict, f->name, value)) Py_CLEAR(dict);
  }
  return dict;
}

// The number of values of each factor of a grid; None for other designs.
static PyObject* shape_tuple(const cpl_design* design) {
  const cpl_design_def* d = cpl_design_definition(design);
  if (d->kind != CPL_DESIGN_GRID) Py_RETURN_NONE;
  PyObject* tuple = PyTuple_New((Py_ssize_t)d->n_factors);
  for (size_t i = 0; i < d->n_factors && tuple != NULL; i++)
    PyTuple_SetItem(tuple, (Py_ssize_t)i, PyLong_FromLongLong(cpl_factor_levels(&d->factors[i])));
  return tuple;
}

static PyObject* doubles(const double* values, size_t n) {
  return PyBytes_FromStringAndSize((const char*)values, (Py_ssize_t)(n * sizeof *values));
}

// Memory of rows * columns * n numbers.
static PyObject* block_of(double rows, double columns, double n, double** out) {
  const double size = rows * columns * n * sizeof(double);
  void* data = NULL;
  if (size > 0.5 * (double)PY_SSIZE_T_MAX) return PyErr_NoMemory();
  PyObject* block = core_block((size_t)size, &data);
  *out = data;
  return block;
}

// With the interpreter lock.
static void begin_results(core_study* s, const cpl_study_columns* c) {
  const double n = (double)s->n_cases, n_columns = (double)(c->n_factors + c->n_measures);
  s->failures = PyDict_New();
  s->table_block = block_of(n, n_columns, 1, &s->table);
  if (s->table_block != NULL && s->on_case == NULL && c->n_curves > 0)
    s->curves_block = block_of(n, (double)c->n_curves, (double)c->n_times, &s->courses);
  if (PyErr_Occurred()) return;
  s->columns =
      Py_BuildValue("(NNNNNN)", names_list(c->factors, c->factor_units, NULL, c->n_factors),
                    names_list(c->measures, c->measure_units, c->measure_texts, c->n_measures),
                    names_list(c->curves, c->curve_units, NULL, c->n_curves),
                    doubles(c->times, c->n_times), facts_dict(c), shape_tuple(s->design));
}

//------------------------------------ cases ------------------------------------

static void keep_numbers(core_study* s, const cpl_study_columns* c, const cpl_study_case* one) {
  const size_t n = (size_t)s->n_cases, i = (size_t)one->i;
  for (size_t k = 0; k < c->n_factors; k++) s->table[k * n + i] = one->factors[k];
  for (size_t k = 0; k < c->n_measures; k++)
    s->table[(c->n_factors + k) * n + i] = one->measures != NULL ? one->measures[k] : (double)NAN;
  for (size_t k = 0; s->courses != NULL && k < c->n_curves; k++) {
    double* to = s->courses + (k * n + i) * c->n_times;
    for (size_t t = 0; t < c->n_times; t++)
      to[t] = one->curves != NULL ? one->curves[k * c->n_times + t] : (double)NAN;
  }
}

static PyObject* optional_doubles(const double* values, size_t n) {
  if (values == NULL) Py_RETURN_NONE;
  return doubles(values, n);
}

// With the interpreter lock.
static void pass_case(core_study* s, const cpl_study_columns* c, const cpl_study_case* one) {
  PyObject* done = PyObject_CallFunction(
      s->on_case, "OLNNNN", s->columns, (long long)one->i, doubles(one->factors, c->n_factors),
      optional_doubles(one->measures, c->n_measures),
      optional_doubles(one->curves, c->n_curves * c->n_times), core_str(one->failure));
  Py_XDECREF(done);
}

static void keep_failure(core_study* s, const cpl_study_case* one) {
  PyObject* key = PyLong_FromLongLong(one->i);
  PyObject* text = core_str(one->failure);
  if (key != NULL && text != NULL) PyDict_SetItem(s->failures, key, text);
  Py_XDECREF(key);
  Py_XDECREF(text);
}

static cpl_status on_case(void* user, const cpl_study_columns* c, const cpl_study_case* one) {
  core_study* s = user;
  const bool first = s->columns == NULL;
  bool failed = false;
  if (first || one->failure != NULL || s->on_case != NULL || one->i % 65536 == 0) {
    PyGILState_STATE state = core_enter();
    core_poll(&s->session);
    if (first && !PyErr_Occurred()) begin_results(s, c);
    if (one->failure != NULL && !PyErr_Occurred()) keep_failure(s, one);
    if (s->on_case != NULL && !PyErr_Occurred()) pass_case(s, c, one);
    failed = PyErr_Occurred() != NULL;
    core_leave(&s->session, state);
  }
  if (failed) return CPL_ERR_CANCELLED;
  keep_numbers(s, c, one);
  return CPL_OK;
}

static PyObject* progress_dict(const cpl_study_progress* p) {
  return Py_BuildValue("{sLsLsLsLsLsdsdsi}", "total", (long long)p->total, "done",
                       (long long)p->done, "failed", (long long)p->failed, "resumed",
                       (long long)p->resumed, "repeated", (long long)p->repeated, "seconds",
                       p->seconds, "rate", p->rate, "workers", (int)p->workers);
}

static void on_progress(void* user, const cpl_study_progress* p) {
  core_study* s = user;
  PyGILState_STATE state = core_enter();
  core_poll(&s->session);
  if (!PyErr_Occurred() && s->on_progress != NULL) {
    PyObject* done = PyObject_CallFunction(s->on_progress, "N", progress_dict(p));
    Py_XDECREF(done);
  }
  core_leave(&s->session, state);
}

//------------------------------------ methods ------------------------------------

static cpl_status run_all(core_study* s, cpl_study_summary* summary) {
  s->def.experiment = core_settings_get(s->settings);
  s->def.design = s->design;
  s->def.on_progress = on_progress;
  s->def.on_case = on_case;
  s->def.user = s;
  s->n_cases = cpl_design_cases(s->design);
  return cpl_study_run(s->session.ctx, &s->def, summary);
}

// (columns, table, curves, failures, progress); None in a process of a cluster that has no results.
static PyObject* study_run(PyObject* self, PyObject* args) {
  core_study* s = (core_study*)self;
  PyObject *progress, *for_case;
  cpl_study_summary summary;
  if (!PyArg_ParseTuple(args, "OO", &progress, &for_case)) return NULL;
  if (s->columns != NULL || s->table_block != NULL || s->failures != NULL)
    return PyErr_Format(PyExc_RuntimeError, "a study runs once");
  if (!core_begin(&s->session)) return NULL;
  s->on_progress = progress != Py_None ? progress : NULL;
  s->on_case = for_case != Py_None ? for_case : NULL;
  const bool fine = core_end(&s->session, run_all(s, &summary));
  s->on_progress = s->on_case = NULL;
  if (!fine) return NULL;
  if (!summary.is_coordinator) Py_RETURN_NONE;
  PyObject* curves = s->curves_block != NULL ? s->curves_block : Py_None;
  return Py_BuildValue("(OOOON)", s->columns, s->table_block, curves, s->failures,
                       progress_dict(&summary.progress));
}

// One number per case. false: an exception is set.
static bool get_numbers(PyObject* from, Py_buffer* view, int64_t* n) {
  if (PyObject_GetBuffer(from, view, PyBUF_C_CONTIGUOUS) != 0) return false;
  *n = view->len / (Py_ssize_t)sizeof(double);
  if (view->itemsize == sizeof(double)) return true;
  PyBuffer_Release(view);
  PyErr_SetString(PyExc_ValueError, "results are numbers of type float64");
  return false;
}

static PyObject* influence_tuple(const core_study* s, const cpl_influence* in) {
  const size_t n = cpl_design_definition(s->design)->n_factors * in->n_columns;
  PyObject* names = PyTuple_New((Py_ssize_t)in->n_columns);
  for (size_t i = 0; i < in->n_columns && names != NULL; i++)
    PyTuple_SetItem(names, (Py_ssize_t)i, core_str(in->columns[i]));
  return Py_BuildValue("(sNNd)", in->method, names, doubles(in->values, n), in->r_squared);
}

// influence(results): (method, columns, values, r_squared).
static PyObject* study_influence(PyObject* self, PyObject* results) {
  core_study* s = (core_study*)self;
  Py_buffer view;
  int64_t n;
  cpl_influence in = {0};
  if (!get_numbers(results, &view, &n)) return NULL;
  PyObject* tuple = NULL;
  if (n != cpl_design_cases(s->design)) {
    PyErr_SetString(PyExc_ValueError, "there is one result per case");
  } else if (core_begin(&s->session)) {
    const cpl_status st = cpl_influence_make(s->design, view.buf, &in);
    if (core_end(&s->session, st)) tuple = influence_tuple(s, &in);
    cpl_influence_free(s->session.ctx, &in);
  }
  PyBuffer_Release(&view);
  return tuple;
}

static PyObject* statistics_of(core_session* session, const Py_buffer* y, const Py_buffer* p) {
  const int64_t n = y->len / (Py_ssize_t)sizeof(double);
  const size_t n_p = (size_t)p->len / sizeof(double);
  cpl_moments m = {0};
  PyObject* result = NULL;
  double* quantiles = calloc(n_p + 1, sizeof *quantiles);
  if (quantiles == NULL) return PyErr_NoMemory();
  if (core_begin(session)) {
    for (int64_t i = 0; i < n; i++) cpl_moments_add(&m, ((const double*)y->buf)[i]);
    const cpl_status st = cpl_quantiles(session->ctx, y->buf, n, p->buf, n_p, quantiles);
    if (core_end(session, st))
      result =
          Py_BuildValue("(LLddddN)", (long long)m.n, (long long)m.missing, m.mean,
                        cpl_moments_deviation(&m), m.least, m.greatest, doubles(quantiles, n_p));
  }
  free(quantiles);
  return result;
}

PyObject* core_statistics(PyObject* module, PyObject* args) {
  PyObject *results, *probabilities, *tuple = NULL;
  Py_buffer y, p;
  int64_t n;
  core_session session;
  (void)module;
  if (!PyArg_ParseTuple(args, "OO", &results, &probabilities) || !get_numbers(results, &y, &n))
    return NULL;
  if (get_numbers(probabilities, &p, &n)) {
    if (core_session_open(&session, CPL_LOG_WARNING)) {
      tuple = statistics_of(&session, &y, &p);
      core_session_close(&session);
    }
    PyBuffer_Release(&p);
  }
  PyBuffer_Release(&y);
  return tuple;
}

//------------------------------------ type ------------------------------------

static PyMethodDef study_methods[] = {
    {"run", study_run, METH_VARARGS, "run(progress, on_case): all cases, and their results."},
    {"influence", study_influence, METH_O, "The influence of the factors on a result."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot study_slots[] = {
    {Py_tp_new, study_new},
    {Py_tp_dealloc, study_dealloc},
    {Py_tp_methods, study_methods},
    {Py_tp_doc, "Many cases of one experiment."},
    {0, NULL},
};

static PyType_Spec study_spec = {
    .name = "couplet._core.Study",
    .basicsize = sizeof(core_study),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = study_slots,
};

bool core_add_study(PyObject* module) {
  study_type = PyType_FromSpec(&study_spec);
  return study_type != NULL && PyModule_AddObjectRef(module, "Study", study_type) == 0;
}
