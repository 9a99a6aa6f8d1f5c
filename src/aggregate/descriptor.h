// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The descriptor form of a model at a point: E dw' = J dw + K du for small deviations. The unknowns
// w are the states and behind them algebraic ones: what couplings and outputs of components have as
// values, and each requested output. E is one for states and zero for the others, J and K are one
// sparse matrix. Aggregates in aggregates are taken apart, so it stays sparse whatever its size;
// the matrices A, B, C, D follow from it by elimination of the algebraic unknowns.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"
#include "numeric/triplets.h"

typedef struct cpli_descriptor {
  cpl_context* ctx;
  int32_t n_states, n_inputs, n_outputs;
  int32_t n;          // unknowns, states first; as many equations, derivatives first
  cpli_compressed j;  // n unknowns, then the inputs
  int32_t* outputs;   // the column of each output: an unknown or an input; -1: it is constant
} cpli_descriptor;

/// At the present point of the model, in continuous time, which is restored afterwards; x are its
/// states. Inputs and outputs are variables of the model; a state may be among the inputs, which
/// then stands for that state. Derivatives are those of the models where they give directional
/// ones, else central differences.
/// Owned:   *out by the caller, who calls cpli_descriptor_destroy(), also after a failure.
/// Returns: CPL_ERR_MODEL when an algebraic loop is singular, CPL_ERR_UNSUPPORTED when a state has
///          no variable.
cpl_status cpli_descriptor_make(cpl_model* m, const double* x, const int32_t* inputs,
                                int32_t n_inputs, const int32_t* outputs, int32_t n_outputs,
                                cpli_descriptor** out);
void cpli_descriptor_destroy(cpli_descriptor* d);  // Nullable: d

/// The change of the unknowns and derivatives by one column, a state or (from n on) an input: the
/// solutions of the algebraic equations. To be made once per descriptor.
typedef struct cpli_responses cpli_responses;
/// Owned:   *out by the caller, who calls cpli_responses_destroy(), also after a failure.
/// Returns: CPL_ERR_MODEL when the algebraic equations are singular.
cpl_status cpli_responses_make(const cpli_descriptor* d, const char* name, cpli_responses** out);
void cpli_responses_destroy(cpli_responses* r);  // Nullable: r
/// dx[n_states] (Nullable) and y[n_outputs] (Nullable) by a unit change of that column alone.
void cpli_responses_of(cpli_responses* r, int32_t column, double* dx, double* y);
