// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The part of histories that several rooms have: factors, whose pivots depend on earlier matrices.
#pragma once

#include "model/jacobian.h"
#include "model/serial.h"
#include "numeric/sparse.h"
#include "numeric/sparse_lu.h"

/// The factors of the matrix with these entries; they are computed again when they are read.
void cpli_serial_factors(cpli_serial* s, cpli_sparse* factors, bool complex, double* entries);
void cpli_serial_sparse_lu(cpli_serial* s, cpli_sparse_lu* lu, bool complex);
/// The steps that are being counted.
void cpli_serial_pace(cpli_serial* s, cpli_pace* pace);
