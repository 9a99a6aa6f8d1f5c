// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a run makes: selections, whose values are memory that numpy uses, and snapshots. They keep
// the run alive; when the run is closed first, they remain as objects that refuse every call.
#include <stdlib.h>

#include "core.h"

typedef struct selection {
  PyObject_HEAD core_run* run;
  core_child* child;
  PyObject* block;  // the memory of the values; arrays keep it, and not the run
  double* values;
  Py_ssize_t n;
} selection;

typedef struct snapshot {
  PyObject_HEAD core_run* run;
  core_child* child;
  double time;
  size_t n_rows;  // recorded when it was saved
} snapshot;

PyObject *core_selection_type, *core_snapshot_type;

//------------------------------------ selections ------------------------------------

static const char** names_of(PyObject* tuple, Py_ssize_t* n) {
  *n = PyTuple_Size(tuple);
  if (*n < 0) return NULL;
  const char** names = calloc((size_t)*n + 1, sizeof *names);
  if (names == NULL) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < *n && names != NULL; i++) {
    names[i] = core_text(PyTuple_GetItem(tuple, i));
    if (names[i] != NULL) continue;
    free(names);
    return NULL;
  }
  return names;
}

static PyObject* selection_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* keys[] = {"run", "names", NULL};
  PyObject *run, *tuple;
  Py_ssize_t n;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!", keys, core_run_type, &run, &PyTuple_Type,
                                   &tuple) ||
      !core_run_check((core_run*)run))
    return NULL;
  const char** names = names_of(tuple, &n);
  core_child* child = names != NULL ? calloc(1, sizeof *child) : NULL;
  selection* s = child != NULL ? (selection*)PyType_GenericAlloc(type, 0) : NULL;
  if (s == NULL) {
    free(names);
    free(child);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  core_run* r = s->run = (core_run*)Py_NewRef(run);
  cpl_status st = CPL_ERR_INPUT;
  if (core_begin(&r->session)) {
    st = cpl_selection_create(r->sim, names, (size_t)n, &child->selection);
    if (!core_end(&r->session, st)) st = CPL_ERR_INPUT;
  }
  free(names);
  if (child->selection != NULL) {
    s->child = child;
    core_run_adopt(r, child);
    s->n = (Py_ssize_t)cpl_selection_count(child->selection);
    void* memory = NULL;
    s->block = core_block((size_t)s->n * sizeof *s->values, &memory);
    s->values = memory;
  } else {
    free(child);
  }
  if (!PyErr_Occurred()) return (PyObject*)s;
  Py_DECREF(s);
  return NULL;
}

static int selection_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject*)((selection*)self)->run);
  return 0;
}

static void selection_dealloc(PyObject* self) {
  selection* s = (selection*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (s->child != NULL) core_run_release(s->run, s->child);
  Py_XDECREF(s->block);
  Py_XDECREF((PyObject*)s->run);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static int selection_buffer(PyObject* self, Py_buffer* view, int flags) {
  return PyObject_GetBuffer(((selection*)self)->block, view, flags);
}

static PyObject* selection_get(PyObject* self, PyObject* unused) {
  selection* s = (selection*)self;
  (void)unused;
  if (!core_run_check(s->run) || !core_begin(&s->run->session)) return NULL;
  cpl_status st = core_run_start(s->run);
  if (st >= 0) st = cpl_selection_get(s->child->selection, s->values);
  if (!core_end(&s->run->session, st)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* selection_set(PyObject* self, PyObject* unused) {
  selection* s = (selection*)self;
  (void)unused;
  if (!core_run_check(s->run) || !core_begin(&s->run->session)) return NULL;
  cpl_status st = cpl_selection_set(s->child->selection, s->values);
  if (!core_end(&s->run->session, st)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* selection_names(PyObject* self, void* unused) {
  selection* s = (selection*)self;
  (void)unused;
  if (!core_run_check(s->run)) return NULL;
  PyObject* names = PyTuple_New(s->n);
  for (Py_ssize_t i = 0; i < s->n && names != NULL; i++) {
    PyObject* name = core_str(cpl_selection_variable(s->child->selection, (size_t)i)->name);
    if (name == NULL || PyTuple_SetItem(names, i, name) != 0) Py_CLEAR(names);
  }
  return names;
}

static PyMethodDef selection_methods[] = {
    {"get", selection_get, METH_NOARGS, "Read all values into the memory."},
    {"set", selection_set, METH_NOARGS, "Set all values from the memory."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef selection_properties[] = {
    {"names", selection_names, NULL, "Names of the variables, elements of arrays included.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot selection_slots[] = {
    {Py_tp_new, selection_new},
    {Py_tp_dealloc, selection_dealloc},
    {Py_tp_traverse, selection_traverse},
    {Py_bf_getbuffer, selection_buffer},
    {Py_tp_methods, selection_methods},
    {Py_tp_getset, selection_properties},
    {Py_tp_doc, "Selection(run, names): variables that are read and set together."},
    {0, NULL},
};

static PyType_Spec selection_spec = {
    .name = "couplet._core.Selection",
    .basicsize = sizeof(selection),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = selection_slots,
};

//------------------------------------ snapshots ------------------------------------

static PyObject* snapshot_new(PyTypeObject* type, PyObject* args, PyObject* kwargs) {
  static char* keys[] = {"run", NULL};
  PyObject* run;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!", keys, core_run_type, &run) ||
      !core_run_check((core_run*)run))
    return NULL;
  core_child* child = calloc(1, sizeof *child);
  snapshot* s = child != NULL ? (snapshot*)PyType_GenericAlloc(type, 0) : NULL;
  if (s == NULL) {
    free(child);
    return PyErr_Occurred() ? NULL : PyErr_NoMemory();
  }
  core_run* r = s->run = (core_run*)Py_NewRef(run);
  s->child = child;
  core_run_adopt(r, child);
  bool fine = core_begin(&r->session);
  if (fine) {
    cpl_status st = core_run_start(r);
    if (st >= 0) st = cpl_simulation_save(r->sim, &child->snapshot);
    s->time = cpl_simulation_time(r->sim);
    s->n_rows = r->rows.n_rows;
    fine = core_end(&r->session, st);
  }
  if (fine) return (PyObject*)s;
  Py_DECREF(s);
  return NULL;
}

static int snapshot_traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  Py_VISIT((PyObject*)((snapshot*)self)->run);
  return 0;
}

static void snapshot_dealloc(PyObject* self) {
  snapshot* s = (snapshot*)self;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (s->child != NULL) core_run_release(s->run, s->child);
  Py_XDECREF((PyObject*)s->run);
  PyObject_GC_Del(self);
  Py_DECREF(type);
}

static PyObject* snapshot_restore(PyObject* self, PyObject* run) {
  snapshot* s = (snapshot*)self;
  if (run != (PyObject*)s->run) {
    core_raise(CPL_ERR_INPUT, "this state was saved by another run");
    return NULL;
  }
  if (!core_run_check(s->run) || !core_begin(&s->run->session)) return NULL;
  core_run* r = s->run;
  cpl_status st = cpl_simulation_restore(r->sim, &s->child->snapshot);
  if (st >= 0) {
    if (r->rows.n_rows > s->n_rows) r->rows.n_rows = s->n_rows;
    r->terminated = false;
  }
  if (!core_end(&r->session, st)) return NULL;
  Py_RETURN_NONE;
}

static PyObject* snapshot_time(PyObject* self, void* unused) {
  (void)unused;
  return PyFloat_FromDouble(((snapshot*)self)->time);
}

static PyMethodDef snapshot_methods[] = {
    {"restore", snapshot_restore, METH_O, "Return the run to this state."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef snapshot_properties[] = {
    {"time", snapshot_time, NULL, "The simulated time of this state [s].", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot snapshot_slots[] = {
    {Py_tp_new, snapshot_new},
    {Py_tp_dealloc, snapshot_dealloc},
    {Py_tp_traverse, snapshot_traverse},
    {Py_tp_methods, snapshot_methods},
    {Py_tp_getset, snapshot_properties},
    {Py_tp_doc, "A saved state of a run; made by Run.save()."},
    {0, NULL},
};

static PyType_Spec snapshot_spec = {
    .name = "couplet._core.Snapshot",
    .basicsize = sizeof(snapshot),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .slots = snapshot_slots,
};

bool core_add_children(PyObject* module) {
  core_selection_type = PyType_FromSpec(&selection_spec);
  core_snapshot_type = PyType_FromSpec(&snapshot_spec);
  return core_selection_type != NULL && core_snapshot_type != NULL &&
         PyModule_AddObjectRef(module, "Selection", core_selection_type) == 0 &&
         PyModule_AddObjectRef(module, "Snapshot", core_snapshot_type) == 0;
}
