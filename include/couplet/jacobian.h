// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Jacobians of models: blocks of partial derivatives, by the model's directional derivatives or by
// finite differences with colouring.
//
//   cpl_jacobian* a = NULL;
//   cpl_status st = cpl_state_space(model, CPL_STATE_SPACE_A, &a);
//   if (st >= 0) st = cpl_jacobian_evaluate(a, x, entries);  // n_states * n_states, by columns
//   cpl_jacobian_destroy(a);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Partial derivatives of chosen outputs and derivatives of a model with respect to chosen states
/// and inputs, such as the matrices A, B, C, D of the linearised model.
typedef struct cpl_jacobian cpl_jacobian;

/// What to differentiate. Start from cpl_default_jacobian_def(), then change what you need.
typedef struct cpl_jacobian_def {
  size_t size;          ///< set by cpl_default_jacobian_def()
  const int32_t* rows;  ///< variables: outputs or derivatives
  int32_t n_rows;
  const int32_t* columns;  ///< variables: states or inputs
  int32_t n_columns;
  bool central;      ///< central differences: more accurate, twice the evaluations
  bool differences;  ///< do not use the model's own directional derivatives
  bool algebraics;   ///< the model is in DAE form: residuals may be rows, too, and algebraic
                     ///< variables columns, all of them
} cpl_jacobian_def;

CPL_DEFAULTS(jacobian_def)  ///< cpl_default_jacobian_def()

/// The model's own directional derivatives are used when it offers them, else differences whose
/// step follows value and nominal of each column; columns that share no row are evaluated together.
/// Owned:    *out by the caller, who calls cpl_jacobian_destroy() before the model is gone.
/// Borrowed: def only during the call.
CPL_API cpl_status cpl_jacobian_create(cpl_model* m, const cpl_jacobian_def* def,
                                       cpl_jacobian** out);
CPL_API void cpl_jacobian_destroy(cpl_jacobian* j);  ///< Nullable: j

/// Evaluate at the present point of the model (time, states `x`, inputs), which is restored
/// afterwards. out[column * n_rows + row]. Allocates nothing.
CPL_API cpl_status cpl_jacobian_evaluate(cpl_jacobian* j, const double* x, double* out);

/// The number of model evaluations per cpl_jacobian_evaluate().
CPL_API int32_t cpl_jacobian_cost(const cpl_jacobian* j);

/// The four blocks of a linearisation.
typedef enum cpl_state_space_block {
  CPL_STATE_SPACE_A,  ///< derivatives by states
  CPL_STATE_SPACE_B,  ///< derivatives by inputs
  CPL_STATE_SPACE_C,  ///< outputs by states
  CPL_STATE_SPACE_D,  ///< outputs by inputs
} cpl_state_space_block;

/// One of the four blocks. Only continuous Real inputs and outputs are included.
CPL_API cpl_status cpl_state_space(cpl_model* m, cpl_state_space_block block, cpl_jacobian** out);

/// Lists of the variables of a linearisation.
typedef enum cpl_variable_list {
  CPL_VARIABLES_STATES,
  CPL_VARIABLES_DERIVATIVES,
  CPL_VARIABLES_INPUTS,   ///< continuous Reals
  CPL_VARIABLES_OUTPUTS,  ///< continuous Reals
} cpl_variable_list;

/// Returns the number of variables in a list; writes at most `n` of them.
CPL_API int32_t cpl_list_variables(const cpl_description* desc, cpl_variable_list which,
                                   int32_t* out, int32_t n);

#ifdef __cplusplus
}
#endif
