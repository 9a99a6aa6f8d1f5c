// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sparsity pattern of the Jacobian of a model, from the dependencies in its description.
#pragma once

#include "couplet/interface.h"
#include "numeric/pattern.h"

/// A variable and its aliases are one unknown, represented by the first of them.
int32_t cpli_root_variable(const cpl_description* d, int32_t var);

/// Enters each row of a structure at its variable. Derivatives of FMI 1.0 are not variables and are
/// omitted.
void cpli_note_rows(const cpl_description* d, const cpl_unknown* list, int32_t n,
                    const cpl_unknown** of);

/// rows: variables that are outputs or derivatives; columns: variables that are states or inputs.
/// A row whose dependencies are not known depends on every column.
cpl_status cpli_pattern_of_model(cpl_context* ctx, const cpl_description* desc, const int32_t* rows,
                                 int32_t n_rows, const int32_t* columns, int32_t n_columns,
                                 cpli_pattern** out);
