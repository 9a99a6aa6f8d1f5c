// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Operations of sources, models and steppers: one function per operation. The tables of function
// pointers in interface.h are needed only to implement a new kind of component. A call that an
// object does not implement returns CPL_ERR_UNSUPPORTED with a message.
//
//   cpl_source* source = NULL;
//   cpl_stepper* stepper = NULL;
//   cpl_open_def open = cpl_default_open_def();
//   open.path = "pump.fmu";
//   cpl_status st = cpl_open(ctx, &open, &source);
//   if (st >= 0) st = cpl_source_make_stepper(source, "pump", &stepper);
//   ...
//   cpl_stepper_destroy(stepper);
//   cpl_source_destroy(source);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ sources ------------------------------------

CPL_API void cpl_source_destroy(cpl_source* source);  ///< Nullable: source; instances must be gone
CPL_API const cpl_description* cpl_source_description(const cpl_source* source);
CPL_API const char* cpl_source_kind(const cpl_source* source);  ///< "fmi2", "c", "system", ...
CPL_API bool cpl_source_has_model(const cpl_source* source);    ///< model exchange
CPL_API bool cpl_source_has_stepper(const cpl_source* source);  ///< co-simulation

/// Make an instance.
/// Owned:    *out by the caller, who destroys it before the source.
/// Borrowed: name only during the call.
CPL_API cpl_status cpl_source_make_model(cpl_source* source, const char* name, cpl_model** out);
CPL_API cpl_status cpl_source_make_stepper(cpl_source* source, const char* name, cpl_stepper** out);

//------------------------------------ components ------------------------------------

// Models and steppers are components; operations that both have take the component.
CPL_API cpl_component* cpl_model_component(cpl_model* model);
CPL_API cpl_component* cpl_stepper_component(cpl_stepper* stepper);

CPL_API const char* cpl_component_name(const cpl_component* c);  ///< of the instance
CPL_API const char* cpl_component_kind(const cpl_component* c);  ///< "integrate", "master", ...
CPL_API const cpl_description* cpl_component_description(const cpl_component* c);
CPL_API cpl_capabilities cpl_component_capabilities(const cpl_component* c);
CPL_API cpl_context* cpl_component_context(const cpl_component* c);
CPL_API void cpl_component_destroy(cpl_component* c);  ///< Nullable: c

// Order: [set starts] setup, enter_init, [set inputs, get], exit_init, ... , terminate, destroy.
CPL_DEFAULTS(setup)  ///< cpl_default_setup()
CPL_API cpl_status cpl_component_setup(cpl_component* c, const cpl_setup* setup);
CPL_API cpl_status cpl_component_enter_init(cpl_component* c);
CPL_API cpl_status cpl_component_exit_init(cpl_component* c);
CPL_API cpl_status cpl_component_terminate(cpl_component* c);
CPL_API cpl_status cpl_component_reset(cpl_component* c);  ///< back to before setup

// Values by reference (cpl_variable.ref). Integers, Booleans, Enumerations and Clocks are integers.
CPL_API cpl_status cpl_component_get_real(cpl_component* c, const uint32_t* refs, size_t n,
                                          double* values);
CPL_API cpl_status cpl_component_set_real(cpl_component* c, const uint32_t* refs, size_t n,
                                          const double* values);
CPL_API cpl_status cpl_component_get_integer(cpl_component* c, cpl_type type, const uint32_t* refs,
                                             size_t n, int64_t* values);
CPL_API cpl_status cpl_component_set_integer(cpl_component* c, cpl_type type, const uint32_t* refs,
                                             size_t n, const int64_t* values);
/// Borrowed: the texts, until the next call of this component.
CPL_API cpl_status cpl_component_get_string(cpl_component* c, const uint32_t* refs, size_t n,
                                            const char** values);
CPL_API cpl_status cpl_component_set_string(cpl_component* c, const uint32_t* refs, size_t n,
                                            const char* const* values);
CPL_API cpl_status cpl_component_get_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                            cpl_binary* values);
CPL_API cpl_status cpl_component_set_binary(cpl_component* c, const uint32_t* refs, size_t n,
                                            const cpl_binary* values);

/// Save the present state. A zeroed snapshot is allocated, a used one is overwritten; released by
/// cpl_component_forget().
CPL_API cpl_status cpl_component_save(cpl_component* c, cpl_snapshot* snapshot);
CPL_API cpl_status cpl_component_restore(cpl_component* c, const cpl_snapshot* snapshot);
CPL_API void cpl_component_forget(cpl_component* c, cpl_snapshot* snapshot);  ///< also a zeroed one
/// Convert a saved state to bytes and back, also in another process that has built the same
/// component, whether it is initialised or not. Inputs that are functions of time are not part of
/// the bytes: cpl_stepper_set_curve() sets them before the state is restored.
/// Borrowed: *bytes until the next call of this component.
/// Returns:  CPL_ERR_INPUT when the bytes are not of this component, whose state and *snapshot are
///           unchanged then; CPL_ERR_UNSUPPORTED when it, or a component in it, which the message
///           names, does not offer it.
CPL_API cpl_status cpl_component_serialize(cpl_component* c, const cpl_snapshot* snapshot,
                                           cpl_binary* bytes);
CPL_API cpl_status cpl_component_deserialize(cpl_component* c, const cpl_binary* bytes,
                                             cpl_snapshot* snapshot);
/// Directional derivatives of unknowns with respect to knowns, both given by reference.
CPL_API cpl_status cpl_component_directional(cpl_component* c, const uint32_t* unknowns,
                                             size_t n_unknowns, const uint32_t* knowns,
                                             size_t n_knowns, const double* seed,
                                             double* sensitivity);

/// Statistics and children. child: -1: the component itself; 0 to n_children - 1: one of those it
/// is made of, as its composer describes it (its own counters: inspect out->component).
/// Borrowed: the texts, until the next call of this component.
/// Returns:  CPL_ERR_INPUT when there is no such child.
CPL_API cpl_status cpl_component_inspect(const cpl_component* c, int32_t child,
                                         cpl_inspection* out);
/// The value of a counter; NAN: there is none of this name.
CPL_API double cpl_component_counter(const cpl_component* c, const char* name);
CPL_API double cpl_inspection_counter(const cpl_inspection* inspection, const char* name);
/// For implementations of cpl_component_ops.inspect: add a counter, or add to that of this name.
CPL_API void cpl_inspection_add(cpl_inspection* inspection, cpl_counter counter);

//------------------------------------ models ------------------------------------

CPL_API void cpl_model_destroy(cpl_model* m);  ///< Nullable: m

// After cpl_component_exit_init() a model is in event mode.
CPL_API cpl_status cpl_model_enter_event(cpl_model* m);
/// One event update; repeat it until info->again is false.
CPL_API cpl_status cpl_model_event_update(cpl_model* m, cpl_event_info* info);
CPL_API cpl_status cpl_model_enter_continuous(cpl_model* m);
CPL_API cpl_status cpl_model_set_time(cpl_model* m, double t);
CPL_API cpl_status cpl_model_set_states(cpl_model* m, const double* x);
CPL_API cpl_status cpl_model_get_states(cpl_model* m, double* x);
CPL_API cpl_status cpl_model_get_nominals(cpl_model* m, double* nominals);
CPL_API cpl_status cpl_model_get_derivatives(cpl_model* m, double* dx);
CPL_API cpl_status cpl_model_get_indicators(cpl_model* m, double* z);
CPL_API cpl_status cpl_model_completed_step(cpl_model* m, bool* enter_event, bool* terminate);
/// Constraints 0 = c(t, x, u): the number of active ones (0 for a model without constraints), and
/// their residuals.
CPL_API cpl_status cpl_model_count_constraints(cpl_model* m, size_t* n);
CPL_API cpl_status cpl_model_get_constraints(cpl_model* m, double* c);

//------------------------------------ steppers ------------------------------------

CPL_API void cpl_stepper_destroy(cpl_stepper* s);  ///< Nullable: s

/// Advance from the present time to t_end, or to an event before it. Inputs are valid up to
/// t_limit >= t_end. A step of size zero is one event update.
CPL_API cpl_status cpl_stepper_step(cpl_stepper* s, double t_end, double t_limit,
                                    cpl_step_result* result);
/// Set the curve of an input for the following steps. A stepper without input curves gets the value
/// at curve->from.
CPL_API cpl_status cpl_stepper_set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve);
/// The largest step that will be accepted from here; INFINITY: any; NAN: unknown.
CPL_API cpl_status cpl_stepper_max_step(cpl_stepper* s, double* h);
/// The derivatives of continuous Real outputs with respect to time; NAN: not known.
CPL_API cpl_status cpl_stepper_get_output_derivatives(cpl_stepper* s, const uint32_t* refs,
                                                      size_t n, double* values);
/// Write continuous states between steps, by their number in the description.
CPL_API cpl_status cpl_stepper_set_states(cpl_stepper* s, const int32_t* states, size_t n,
                                          const double* values);

#ifdef __cplusplus
}
#endif
