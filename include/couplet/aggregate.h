// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "aggregate": models and the couplings between them become one model. Couplings are
// satisfied at every evaluation of its derivatives. System files describe aggregates as text
// (couplet/system.h); this header is for programs that have models already.
//
//   cpl_model* models[] = {left, right};
//   cpl_coupling couplings[] = {{.target = {0, left_F}, .source = {1, right_F}},
//                               {.target = {1, right_s}, .source = {0, left_x}}};
//   cpl_aggregate_def def = cpl_default_aggregate_def();
//   def.name = "pair", def.parts = models, def.n_parts = 2;
//   def.couplings = couplings, def.n_couplings = 2;
//   cpl_model* pair = NULL;
//   cpl_status st = cpl_aggregate(ctx, &def, &pair);  // owns left and right from here on
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A variable of a component, or a signal of the aggregate itself.
typedef struct cpl_port {
  int32_t part;  ///< index in cpl_aggregate_def.parts; -1: a signal
  int32_t var;   ///< index of the variable in the component's description, or of the signal
} cpl_port;

/// State that a function keeps between events; copied when the aggregate's state is saved. It is
/// part of the bytes that a saved state becomes, so it has no pointers, and a function does not
/// trust an index in it.
typedef struct cpl_function_memory {
  void* data;
  size_t size;
} cpl_function_memory;

/// A function of several values, as couplings, conditions and assignments use it. `value` writes
/// one result, for assignments one per target. Nullable: gradient (differences are used) and all
/// functions after it.
typedef struct cpl_function {
  const cpl_port* sources;
  int32_t n_sources;
  cpl_status (*value)(void* user, double t, const double* sources, double* out);
  /// d value / d sources, for functions with one result.
  cpl_status (*gradient)(void* user, double t, const double* sources, double* out);
  bool linear;  ///< the gradient is constant
  /// Comparisons inside the function are constant between events: each has an indicator whose
  /// change of sign is an event. settle evaluates the comparisons at the present point; *changed
  /// becomes true when one of them changed.
  int32_t n_indicators;
  cpl_status (*indicators)(void* user, double t, const double* sources, double* z);
  cpl_status (*settle)(void* user, double t, const double* sources, bool* changed);
  /// Called after every accepted step.
  cpl_status (*accept)(void* user, double t, const double* sources);
  /// The next time at which settle must be called without a change of an indicator; called after
  /// events.
  double (*next_time)(void* user, double t, const double* sources);
  /// The next kink after t.
  cpl_break (*next_break)(void* user, double t, double tolerance);
  /// Called when a run begins; discards the state of an earlier run.
  void (*begin)(void* user);
  void* user;
  cpl_function_memory memory[2];
  const char* text;        ///< for messages: source location and expression. Nullable.
  const char* expression;  ///< without the source location. Nullable.
  /// The same function at n points at once (at most CPL_MAX_POINTS), for functions with one result
  /// and without memory: source k of point i is sources[k * n + i]. CPL_RETRY: not at all of these
  /// points; they are then evaluated by `value`, one by one. Nullable.
  cpl_status (*values)(void* user, double t, size_t n, const double* sources, double* out);
  /// Functions with equal `values` and equal numbers compute the same of their sources, so that one
  /// of them can be evaluated for all; 0: there are no others.
  int32_t alike;
} cpl_function;

enum { CPL_MAX_POINTS = 32 };  ///< of one call of cpl_function.values

/// A signal: a named value of the aggregate itself.
typedef enum cpl_signal_kind {
  CPL_SIGNAL_INNER,      ///< computed by a coupling, not visible outside
  CPL_SIGNAL_INPUT,      ///< set from outside
  CPL_SIGNAL_OUTPUT,     ///< computed by a coupling, visible outside
  CPL_SIGNAL_PARAMETER,  ///< set before the start, constant from then on
} cpl_signal_kind;

typedef struct cpl_signal {
  const char* name;
  cpl_signal_kind kind;
  double start;             ///< of an input
  const char* unit;         ///< Nullable
  const char* description;  ///< Nullable
  const cpl_unit* meaning;  ///< definition of a unit that is not known by name. Nullable.
  bool relative_quantity;   ///< a difference: the offsets of units do not apply
  bool discrete;            ///< of an input: it changes at events only
} cpl_signal;

/// An input of a component, or an inner or output signal, as a function of other values: a single
/// source scaled by factor and offset (unit conversion), or a function of several sources.
typedef struct cpl_coupling {
  cpl_port target;
  cpl_port source;        ///< without a function
  double factor, offset;  ///< factor 0 counts as 1
  cpl_function function;  ///< function.value NULL: the source itself
} cpl_coupling;

/// An event defined by the aggregate, not by a component. It fires when its condition changes from
/// false to true, or at given times.
typedef struct cpl_external_event {
  const char* name;
  /// value > 0: the condition is true. value NULL: the event fires at `times` only; sources, if
  /// any, then name further values that the event belongs to.
  cpl_function condition;
  const double* times;  ///< ascending
  int32_t n_times;
  const cpl_port* targets;  ///< states, uncoupled inputs and tunable parameters of components
  int32_t n_targets;
  cpl_function assign;  ///< one result per target, all computed before any is set
  /// > 0: the aggregate requests termination with this number (cpl_event_info.stop) when the event
  /// fires; of several the lowest.
  int32_t stop;
  bool at_start;  ///< it fires at once when the condition is true at the start
} cpl_external_event;

/// A constraint of the aggregate: a signal that is zero, or equal to its value at the start, for
/// the exact solution. Solvers project the states back onto it.
typedef struct cpl_constraint {
  int32_t signal;
  bool at_start;
} cpl_constraint;

/// What to couple. Start from cpl_default_aggregate_def(), then change what you need.
typedef struct cpl_aggregate_def {
  size_t size;  ///< set by cpl_default_aggregate_def()
  const char* name;
  cpl_model* const* parts;  ///< their names (base.name) become prefixes of variables: "left.x1"
  int32_t n_parts;
  const cpl_signal* signals;
  int32_t n_signals;
  const cpl_coupling* couplings;
  int32_t n_couplings;
  const cpl_external_event* events;
  int32_t n_events;
  const cpl_constraint* constraints;  ///< numbered after those of the components
  int32_t n_constraints;
} cpl_aggregate_def;

CPL_DEFAULTS(aggregate_def)  ///< cpl_default_aggregate_def()

/// Owned:    *out by the caller, who calls cpl_model_destroy(). The models in def->parts belong to
///           the aggregate from here on, also when this function fails.
/// Borrowed: def during the call; the `user` data of its functions for the life of *out.
CPL_API cpl_status cpl_aggregate(cpl_context* ctx, const cpl_aggregate_def* def, cpl_model** out);

/// The models of an aggregate, in the order of their names; they still belong to it. A count of 0:
/// the model is no aggregate.
CPL_API int32_t cpl_aggregate_count(const cpl_model* m);
/// Returns: NULL when there is no such model.
CPL_API cpl_model* cpl_aggregate_part(const cpl_model* m, int32_t i);

#ifdef __cplusplus
}
#endif
