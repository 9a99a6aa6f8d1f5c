// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The tangent functions of a model in C: cpl_model_tangent.
#pragma once

#include "couplet/model.h"
#include "tangent/result.h"

CPLI_TANGENT_TYPE;
