// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of cminpack (least squares) and NLopt (minimization) that couplet uses, loaded when
// a fit or an optimization begins. They are declared here, as their manuals document them, so that
// neither their headers are needed to build couplet nor the libraries to run it.
#pragma once

#include "base/base.h"

/// Residuals (iflag 1) or their Jacobian (iflag 2, column after column) at x. A negative result
/// ends lmder(), which returns it.
typedef int cpli_minpack_fn(void* user, int m, int n, const double* x, double* fvec, double* fjac,
                            int ldfjac, int iflag);

typedef struct cpli_minpack {
  int (*lmder)(cpli_minpack_fn* fn, void* user, int m, int n, double* x, double* fvec, double* fjac,
               int ldfjac, double ftol, double xtol, double gtol, int maxfev, double* diag,
               int mode, double factor, int nprint, int* nfev, int* njev, int* ipvt, double* qtf,
               double* wa1, double* wa2, double* wa3, double* wa4);
} cpli_minpack;

/// The value at x, and its gradient where `gradient` is not NULL.
typedef double cpli_nlopt_fn(unsigned n, const double* x, double* gradient, void* user);

typedef struct cpli_nlopt {
  int (*nlopt_algorithm_from_string)(const char* name);
  void* (*nlopt_create)(int algorithm, unsigned n);
  void (*nlopt_destroy)(void* opt);
  int (*nlopt_set_min_objective)(void* opt, cpli_nlopt_fn* fn, void* user);
  int (*nlopt_add_inequality_constraint)(void* opt, cpli_nlopt_fn* fn, void* user, double tol);
  int (*nlopt_add_equality_constraint)(void* opt, cpli_nlopt_fn* fn, void* user, double tol);
  int (*nlopt_set_lower_bounds)(void* opt, const double* lower);
  int (*nlopt_set_upper_bounds)(void* opt, const double* upper);
  int (*nlopt_set_initial_step)(void* opt, const double* steps);
  int (*nlopt_set_xtol_rel)(void* opt, double tol);
  int (*nlopt_set_ftol_rel)(void* opt, double tol);
  int (*nlopt_set_maxeval)(void* opt, int most);
  int (*nlopt_optimize)(void* opt, double* x, double* value);
  int (*nlopt_force_stop)(void* opt);
} cpli_nlopt;

/// The functions of a library.
/// Returns: CPL_ERR_UNSUPPORTED, with what to install, when it cannot be loaded.
cpl_status cpli_minpack_load(cpl_context* ctx, const cpli_minpack** out);
cpl_status cpli_nlopt_load(cpl_context* ctx, const cpli_nlopt** out);
