// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Vectors of SUNDIALS with short operations: a step of a small system spends more time between the
// loops over components than in them. The bits are those of its serial vectors.
#pragma once

#include <nvector/nvector_serial.h>

/// A serial vector, whose clones have the operations of this file. NULL: no memory.
N_Vector cpli_sun_vector(size_t n, SUNContext sun);
