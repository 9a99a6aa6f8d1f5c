// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The module couplet._core.
#include "core.h"

#include "couplet/fmi.h"

enum { KEPT = 8 };  // unpacked FMUs

// Workers of multiprocessing end without the functions that are registered for the end of a
// program, and would leave files behind.
static bool is_worker(void) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "multiprocessing.process");
  PyObject* parent = module != NULL ? PyObject_CallMethod(module, "parent_process", NULL) : NULL;
  bool worker = module != NULL && parent != Py_None;
  Py_XDECREF(parent);
  PyErr_Clear();
  return worker;
}

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "couplet._core", .m_doc = "The library of couplet.",
    .m_size = -1,          .m_methods = core_verbs,
};

PyMODINIT_FUNC PyInit__core(void);  // called by Python
PyMODINIT_FUNC PyInit__core(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  cpl_fmu_keep_unpacked(is_worker() ? 0 : KEPT);
  if (core_session_init() && core_add_rows(module) && core_add_run(module) &&
      core_add_children(module) && core_add_component(module) && core_add_study(module) &&
      PyModule_AddStringConstant(module, "__version__", cpl_version()) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
