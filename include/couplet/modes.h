// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "modes": steppers and transitions between them become one stepper with a variable
// structure, and models one model. One mode is active at a time. When the guard (the condition) of
// a transition becomes true, the next mode is initialised from the final values of this one. System
// files describe modes with the key `modes:` (couplet/system.h); this header is for programs that
// have steppers or models already.
//
//   cpl_transition bounce = {.to = 1, .stop = 1, .copies = copies, .n_copies = 2};
//   cpl_mode modes[] = {{.name = "flight", .stepper = flight, .leave = &bounce, .n_leave = 1},
//                       {.name = "contact", .stepper = contact}};
//   cpl_modes_def def = cpl_default_modes_def();
//   def.name = "ball", def.modes = modes, def.n_modes = 2;
//   cpl_status st = cpl_modes(ctx, &def, &ball);  // owns flight and contact from here on
#pragma once

#include "couplet/interface.h"
#include "couplet/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Treatment of a guard that is already true when its mode is entered.
typedef enum cpl_on_entry {
  CPL_ENTRY_FOLLOW,  ///< the transition is taken at once
  CPL_ENTRY_ERROR,   ///< the run ends with an error
  CPL_ENTRY_WAIT,    ///< the guard must become false and true again
} cpl_on_entry;

/// "follow", "error", "wait". Returns false for any other name.
CPL_API bool cpl_on_entry_by_name(const char* name, cpl_on_entry* out);
CPL_API const char* cpl_on_entry_name(cpl_on_entry on_entry);

/// A value of a mode: of the old one, or of another one at its last end.
typedef struct cpl_mode_value {
  int32_t mode;  ///< -1: the old mode
  int32_t var;   ///< in the description of its stepper
} cpl_mode_value;

/// The variable `to` of the new mode becomes factor * the variable `from` of the old one + offset;
/// both are of the same type.
typedef struct cpl_mode_copy {
  int32_t from, to;
  double factor, offset;  ///< of Reals
} cpl_mode_copy;

/// A transition: its guard, the new mode, and the initial values of that. All values are computed
/// from those at the end of the old mode. Variables without an assignment take their start value.
typedef struct cpl_transition {
  int32_t to;  ///< the new mode; may be the old one
  /// The request to stop that triggers it (cpl_step_result.stop: the number of an external event of
  /// an aggregate); 0: a request of the model itself.
  int32_t stop;
  /// With stop 0: whether the transition is taken, from `sources`. Nullable: always.
  cpl_status (*when)(void* user, double t, const double* sources, bool* holds);
  cpl_on_entry on_entry;
  const cpl_mode_copy* copies;  ///< of any type
  int32_t n_copies;
  const cpl_mode_value* sources;  ///< numbers that `when` and `map` get
  int32_t n_sources;
  const int32_t* targets;  ///< variables of the new mode that `map` sets
  int32_t n_targets;
  cpl_status (*map)(void* user, double t, const double* sources, double* targets);  ///< Nullable
  void* user;        ///< passed to when and map
  const char* text;  ///< for messages: source location. Nullable.
} cpl_transition;

/// A start value, set again each time a mode is entered.
typedef struct cpl_mode_start {
  int32_t var;
  double number;     ///< of a Real
  int64_t integer;   ///< of an Integer, a Boolean (0 or 1), an Enumeration
  const char* text;  ///< of a String
} cpl_mode_start;

typedef struct cpl_mode {
  const char* name;
  cpl_stepper* stepper;  ///< for cpl_modes(): not set up yet
  cpl_model* model;      ///< for cpl_modes_model(), likewise
  /// Makes another instance, for a component that cannot be reset. Nullable.
  cpl_status (*make)(void* user, cpl_stepper** out);
  cpl_status (*make_model)(void* user, cpl_model** out);
  void* user;  ///< passed to both
  const cpl_mode_start* starts;
  int32_t n_starts;
  const cpl_transition* leave;  ///< in the order of priority
  int32_t n_leave;
} cpl_mode;

/// A variable with one name in all modes: an observed variable, an input or a parameter.
typedef struct cpl_mode_variable {
  const char* name;
  const int32_t* vars;  ///< one per mode; -1: the mode has none
} cpl_mode_variable;

/// Start from cpl_default_modes_def(), then change what you need.
typedef struct cpl_modes_def {
  size_t size;  ///< set by cpl_default_modes_def()
  const char* name;
  const cpl_mode* modes;
  int32_t n_modes;
  int32_t start;                      ///< the first mode
  const cpl_mode_variable* observed;  ///< numbers; become outputs
  int32_t n_observed;
  const cpl_mode_variable* inputs;  ///< Reals
  int32_t n_inputs;
  const cpl_mode_variable* parameters;  ///< Reals; set from outside before the start
  int32_t n_parameters;
  /// Allowed difference of an assigned value and its value after initialisation of the new mode,
  /// relative to its size or its nominal; more is reported as a warning.
  double tolerance;
} cpl_modes_def;

CPL_DEFAULTS(modes_def)  ///< cpl_default_modes_def()

/// Variables of the result: `mode` (an Enumeration), the inputs, the observed ones, and all
/// variables of all modes as "mode.variable", NaN (a String: empty) while another mode is active.
/// A step stops where a guard becomes true, with the values before the transition; a step of size
/// zero, or the beginning of the next step, makes the transition.
/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The steppers belong to it from
///           here on, also when this function fails.
/// Borrowed: `user` data and the texts of transitions for the life of *out; def and everything else
///           it points to during the call.
CPL_API cpl_status cpl_modes(cpl_context* ctx, const cpl_modes_def* def, cpl_stepper** out);

/// The same for models: the result is one model of variable structure (cpl_model_ops.structure),
/// for cpl_integrate() or for an aggregate with other models. Its states, indicators and
/// dependencies are those of the active mode. A guard is a request to stop (cpl_event_info.stop),
/// which does not end the run: the event update makes the transition and sets structure_changed,
/// and the next one completes the initialisation of the new mode with the inputs set by then. Modes
/// must not have a variable structure themselves.
/// Owned, borrowed: as with cpl_modes(); the models belong to the result from here on.
CPL_API cpl_status cpl_modes_model(cpl_context* ctx, const cpl_modes_def* def, cpl_model** out);

#ifdef __cplusplus
}
#endif
