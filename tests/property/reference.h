// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An integrator for hybrid systems that shares nothing with couplet: extrapolation of the modified
// midpoint rule (Gragg, Bulirsch, Stoer) to order 10 with short steps, guards located by bisection
// over repeated steps, and a restart at every event. Its results serve as the truth of tests.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { REF_MAX_STATES = 40, REF_MAX_GUARDS = 48, REF_MAX_EVENTS = 60 };

/// x' = f(t, x) between events. A guard is watched for the side it is on: positive or not. Between
/// events f must be smooth: whatever switches there keeps its side until `update` is called.
typedef struct ref_system {
  int n_states, n_guards;
  void* user;
  void (*f)(void* user, double t, const double* x, double* dx);
  void (*guards)(void* user, double t, const double* x, double* g);
  /// The next time at which `update` must be called; INFINITY: none.
  double (*next_time)(void* user);
  /// An event at t: changes x and what the system remembers. `crossed` has +1 or -1 for guards that
  /// changed their side. Called again, with the guards that this call moved, until none changes.
  void (*update)(void* user, double t, double* x, const int8_t* crossed, bool time_event);
  /// A point of the result: an output point (event < 0), or the left or right side of an event.
  void (*point)(void* user, double t, const double* x, int event, bool right);
} ref_system;

typedef struct ref_options {
  double tolerance;     ///< of a step, relative to the largest value that a state had so far
  double longest;       ///< step
  const double* times;  ///< of output points, ascending; the first is the start
  int n_times;
  /// Nullable. Changes x at some moments, to see how the result depends on errors.
  void (*disturb)(void* user, double t, double* x);
  int n_disturbed;  ///< so many moments, equally spaced from the start
} ref_options;

typedef enum ref_status {
  REF_OK,
  REF_TOO_MANY_EVENTS,
  REF_NO_PROGRESS,  ///< steps become too short, or the event iteration does not end
  REF_NOT_FINITE,
} ref_status;

/// Integrates x from the first to the last of the output times. *n_events gets the number of event
/// points.
ref_status ref_integrate(const ref_system* s, const ref_options* o, double* x, int* n_events);
