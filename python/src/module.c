// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The module couplet._core.
#include "core.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "couplet._core", .m_doc = "The library of couplet.",
    .m_size = -1,          .m_methods = core_verbs,
};

PyMODINIT_FUNC PyInit__core(void);  // called by Python
PyMODINIT_FUNC PyInit__core(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  if (core_session_init() && core_add_rows(module) && core_add_run(module) &&
      core_add_children(module) && core_add_component(module) &&
      PyModule_AddStringConstant(module, "__version__", cpl_version()) == 0)
    return module;
  Py_DECREF(module);
  return NULL;
}
