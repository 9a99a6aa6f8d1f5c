// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What the solvers of SUNDIALS have in common; most of it is for those with one step at a time
// (ARKODE, IDA).
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
  bool own_system;     // the linear systems are the equation's own: the two above are empty
  cpl_status failure;  // what a function of the equation returned last when it was no success
  double t, max_step;
  int stuck;     // steps in a row that did not advance the time
  bool unmoved;  // the last step was a few roundings long and not taken: there is no history
} cpli_sun;

/// An empty matrix and a solver that hands everything on to `solve`. False: no memory; what was
/// made is the caller's all the same.
bool cpli_sun_empty_solver(SUNContext sun,
                           int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype),
                           void* content, SUNMatrix* matrix, SUNLinearSolver* linear);

/// Why a solver gives up, by its flag; models_fault: what the model said last is the reason.
typedef struct cpli_sun_cause {
  int flag;
  const char* text;
  bool models_fault;
} cpli_sun_cause;

/// The vectors, the context and, with `implicit`, the matrix and its solver. solve: of an own
/// system.
bool cpli_sun_set_up(cpli_sun* s, bool implicit,
                     int (*solve)(SUNLinearSolver, SUNMatrix, N_Vector, N_Vector, realtype));
void cpli_sun_free(cpli_sun* s);
/// SUNDIALS wants 0, positive (recoverable) or negative.
int cpli_sun_passed_on(cpli_sun* s, cpl_status st);
/// The step of size h could not be made. otherwise: what is said when the flag is not among the
/// causes.
cpl_status cpli_sun_failed(cpli_sun* s, double h, int flag, const cpli_sun_cause* causes, size_t n,
                           const char* otherwise);
/// After a start SUNDIALS takes no step as short as some roundings, or a part of it only: what is
/// within 100 roundings of the stop time counts as being there.
bool cpli_sun_too_close(double t, double t_limit);
/// Such a step, along the slopes: events that were located so close are there when the step to them
/// is repeated.
cpl_status cpli_sun_skipped(cpli_sun* s, double t_limit, double* t, double* x);
/// The same for `at`; x gets it, too.
void cpli_move_along(const cpli_ode* ode, double t, double h, double* at, double* x);
/// A step to `reached`: *t and x; a failure when the time stands still.
cpl_status cpli_sun_reached(cpli_sun* s, double reached, double* t, double* x);
void cpli_sun_message(int code, const char* module, const char* function, char* text, void* user);
