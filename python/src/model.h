// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models and steppers that are classes of Python, and systems, as the files of the extension see
// them.
#pragma once

#include "core.h"

/// A model of Python: its definition, and memory that its functions see as arrays.
typedef struct core_model core_model;

/// A source of the model that `spec` describes (couplet._model.describe()). With the lock, which
/// the functions of the model need; they are called once or more here.
/// Returns: NULL: an exception is set.
core_model* core_model_create(core_session* session, PyObject* spec);
int core_model_traverse(const core_model* m, visitproc visit, void* arg);
void core_model_destroy(core_model* m);  ///< Nullable: m; instances must be gone
cpl_source* core_model_source(const core_model* m);

/// A system from the steps of couplet.System, with what it borrows.
typedef struct core_system core_system;

/// The definition is made with the lock; a dict describes a single model. NULL: an exception is
/// set.
core_system* core_system_create(core_session* session, PyObject* steps);
/// Builds it as the source of settings; without the lock.
cpl_status core_system_build(core_system* system, cpl_experiment_settings* settings);
int core_system_traverse(const core_system* system, visitproc visit, void* arg);
void core_system_destroy(core_system* system);  ///< Nullable: system; instances must be gone

/// diagram(settings, path, svg, log_level)
PyObject* core_diagram(PyObject* self, PyObject* args);
