// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Common code of the solvers of SUNDIALS, mostly for those with one step at a time (ARKODE, IDA).
#pragma once

#include <nvector/nvector_serial.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>

#include "solver/solver.h"

typedef struct cpli_sun {
  cpli_solver base;
  cpli_ode ode;
  double rtol;
  SUNContext sun;
  N_Vector x, atol, lent;  // lent: an array of the caller
  SUNMatrix matrix;
  SUNLinearSolver linear;
  bool own_system;     // the equation solves its linear systems itself: the two above are empty
  cpl_status failure;  // last status other than success of a function of the equation
  double t, max_step;
  int stuck;     // consecutive steps that did not advance the time
  bool unmoved;  // the last step was a few roundings long and was skipped: there is no history
} cpli_sun;

/// An empty matrix and a solver that delegates to `solve`. False: no memory; the caller owns what
/// was made even then.
bool cpli_sun_empty_solver(SUNContext sun,
                           int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype),
                           void* content, SUNMatrix* matrix, SUNLinearSolver* linear);

/// Reasons of a failure by flag; models_fault: the last message of the model is the cause.
typedef struct cpli_sun_cause {
  int flag;
  const char* text;
  bool models_fault;
} cpli_sun_cause;

/// The vectors, the context and, with `implicit`, the matrix and its solver. solve: for an equation
/// that solves its linear systems itself.
bool cpli_sun_set_up(cpli_sun* s, bool implicit,
                     int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype));
void cpli_sun_free(cpli_sun* s);
/// SUNDIALS wants 0, positive (recoverable) or negative.
int cpli_sun_passed_on(cpli_sun* s, cpl_status st);
/// The step of size h failed. otherwise: the message for a flag that is not among the causes.
cpl_status cpli_sun_failed(cpli_sun* s, double h, int flag, const cpli_sun_cause* causes, size_t n,
                           const char* otherwise);
/// After a start SUNDIALS takes no step as short as some roundings, or only a fraction of it: a
/// time within 100 roundings of the stop time counts as reached.
bool cpli_sun_too_close(double t, double t_limit);
/// Such a step, along the slopes: an event located that close is found again when the step is
/// repeated.
cpl_status cpli_sun_skipped(cpli_sun* s, double t_limit, double* t, double* x);
/// The same for `at`; x is set to it, too.
void cpli_move_along(const cpli_ode* ode, double t, double h, double* at, double* x);
/// A step to `reached`: *t and x; a failure when the time does not advance.
cpl_status cpli_sun_reached(cpli_sun* s, double reached, double* t, double* x);
// A member of a private structure, as it is in memory.
#define CPLI_LIST(s, member) cpli_serial_bytes(s, &(member), sizeof(member))

struct cpli_serial;
void cpli_sun_list_vector(struct cpli_serial* serial, N_Vector v);
/// For a history: what all of them have; the matrix with its factors, unless it is the equation's.
void cpli_sun_list(cpli_sun* s, struct cpli_serial* serial);
void cpli_sun_list_dense(cpli_sun* s, struct cpli_serial* serial);
void cpli_sun_message(int code, const char* module, const char* function, char* text, void* user);
