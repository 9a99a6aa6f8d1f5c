// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "aggregate": models and the couplings between them become one model, whose coupling
// relations hold at every evaluation of its derivatives. A system file is one way to describe an
// aggregate; this is the other one, for programs.
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A variable of a part, or a signal of the aggregate itself.
typedef struct cpl_port {
  int32_t part;  ///< index of the part; -1: a signal
  int32_t var;   ///< index of the variable in the part's description, or of the signal
} cpl_port;

/// Bytes a function remembers between events: copied when the aggregate's state is saved.
typedef struct cpl_function_memory {
  void* data;
  size_t size;
} cpl_function_memory;

/// A function of several values, the same in every use: couplings, conditions and assignments.
/// `value` writes n_values results. Nullable: gradient (differences are used) and everything about
/// relations.
typedef struct cpl_function {
  const cpl_port* sources;
  int32_t n_sources;
  cpl_status (*value)(void* user, double t, const double* sources, double* out);
  /// d value / d sources, for functions with one result.
  cpl_status (*gradient)(void* user, double t, const double* sources, double* out);
  bool linear;  ///< the gradient is constant
  /// Comparisons inside the function stand still between events: each has an indicator whose change
  /// of sign is an event, and settle takes over what they say at the present point; *changed tells
  /// whether any did.
  int32_t n_indicators;
  cpl_status (*indicators)(void* user, double t, const double* sources, double* z);
  cpl_status (*settle)(void* user, double t, const double* sources, bool* changed);
  /// After every accepted step.
  cpl_status (*accept)(void* user, double t, const double* sources);
  /// When settle is to be called next without an indicator that tells; asked after events.
  double (*next_time)(void* user, double t, const double* sources);
  /// The next kink after t.
  cpl_break (*next_break)(void* user, double t, double tolerance);
  /// A run begins: what was remembered of another one is forgotten.
  void (*begin)(void* user);
  void* user;
  cpl_function_memory memory[2];
  const char* text;        ///< for messages: where it stands and what it says. Nullable.
  const char* expression;  ///< what it says, without the place. Nullable.
} cpl_function;

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
  const cpl_unit* meaning;  ///< of a unit whose name does not say it. Nullable.
  bool relative_quantity;   ///< a difference: the offsets of units do not apply
  bool discrete;            ///< of an input: it changes at events only
} cpl_signal;

/// What an input of a part, or an inner or output signal, follows: the source itself (scaled by
/// factor and offset, as units need it), or a function of sources.
typedef struct cpl_coupling {
  cpl_port target;
  cpl_port source;        ///< without a function
  double factor, offset;  ///< factor 0 counts as 1
  cpl_function function;  ///< function.value NULL: the source itself
} cpl_coupling;

/// An event that no part knows of. It fires when its condition turns from false to true, or at
/// given times.
typedef struct cpl_external_event {
  const char* name;
  /// value > 0: it holds. value NULL: only at the times; sources, if any, then say what else the
  /// event belongs to.
  cpl_function condition;
  const double* times;  ///< ascending
  int32_t n_times;
  const cpl_port* targets;  ///< states of parts, inputs nothing is coupled to, tunable parameters
  int32_t n_targets;
  cpl_function assign;  ///< one result per target, all computed before any is set
  /// > 0: the aggregate wishes to stop when this event fires, and says this number; of several
  /// the lowest.
  int32_t stop;
  bool at_start;  ///< it fires at once when the condition is true at the start
} cpl_external_event;

/// A constraint of the whole: a signal that the exact solution keeps at zero, or at the value it
/// had at the start. Solvers bring the states back where step errors lead away from it.
typedef struct cpl_constraint {
  int32_t signal;
  bool at_start;
} cpl_constraint;

typedef struct cpl_aggregate_def {
  const char* name;
  cpl_model* const* parts;  ///< their names (base.name) become prefixes of variables: "left.x1"
  int32_t n_parts;
  const cpl_signal* signals;
  int32_t n_signals;
  const cpl_coupling* couplings;
  int32_t n_couplings;
  const cpl_external_event* events;
  int32_t n_events;
  const cpl_constraint* constraints;  ///< behind those of the parts
  int32_t n_constraints;
} cpl_aggregate_def;

/// Owned:    *out by the caller, who calls cpl_model_destroy(). The parts belong to the aggregate
/// from here on,
///           also when this function fails.
/// Borrowed: def during the call; what its functions' `user` point to for the life of *out.
CPL_API cpl_status cpl_aggregate(cpl_context* ctx, const cpl_aggregate_def* def, cpl_model** out);

/// The parts of an aggregate, in order of their names; 0: it is no aggregate. They still belong to
/// it.
CPL_API int32_t cpl_aggregate_count(const cpl_model* m);
CPL_API cpl_model* cpl_aggregate_part(const cpl_model* m, int32_t i);

#ifdef __cplusplus
}
#endif
