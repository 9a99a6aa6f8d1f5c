// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Partial derivatives of an aggregate, or of any other model, for the linearisation and for
// aggregates around it.
#pragma once

#include "couplet/linearize.h"

/// Partial derivatives of variables (derivatives, outputs, others) with respect to states and
/// inputs, at the point the model is set to; x are its states. out[column * n_rows + row].
cpl_status cpli_partials(cpl_model* m, const double* x, const int32_t* rows, int32_t n_rows,
                         const int32_t* columns, int32_t n_columns, double* out);
