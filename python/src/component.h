// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The type couplet._core.Component: component.c has its life, its values and its saved states,
// component_steps.c the operations of models and of steppers. A model becomes a stepper by
// integrate(), and a model again by reset().
#pragma once

#include "core.h"

typedef struct core_input core_input;

typedef struct core_component {
  PyObject_HEAD core_session session;
  cpl_source* source;        // NULL: freed
  cpl_model* model;          // NULL: a stepper, or owned by the stepper that integrates it
  cpl_stepper* stepper;      // NULL: a model
  cpl_component* component;  // of either
  char* name;
  bool as_stepper;      // made as a stepper, not from a model
  core_child* states;   // saved
  core_child* garbage;  // released by their objects during a call
  core_input* inputs;   // tables that drive inputs
  PyObject* on_call;    // is called with every line of the log of calls. Nullable.
  FILE* calls;
  char* line;
  size_t n_line, cap_line;
} core_component;

/// References of variables; borrowed from bytes.
typedef struct core_refs {
  const uint32_t* at;
  size_t n;
} core_refs;

/// Room for the values of a call, without malloc() for few of them.
typedef struct core_array {
  void* values;
  max_align_t own[16];
} core_array;

/// NULL: an exception is set, and nothing is to be freed.
void* core_room(core_array* a, size_t n, size_t size);
void core_room_free(core_array* a);
/// n numbers of a sequence. false: an exception is set, and nothing is to be freed.
bool core_reals_of(PyObject* object, size_t n, core_array* out);
PyObject* core_real_list(const double* values, size_t n);

/// core_begin() of an instance that exists.
bool core_component_begin(core_component* c);
/// core_end(); a discarded call is a failure.
bool core_component_end(core_component* c, cpl_status st);
/// The same for methods without a result. Returns: None, or NULL with an exception.
PyObject* core_component_none(core_component* c, cpl_status st);

// component_steps.c
extern const PyMethodDef core_step_methods[];
void core_inputs_free(core_component* c);
