// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A source of a model in C that has been compiled to a shared library.
#pragma once

#include "model/cmodel.h"

typedef struct cpli_c_library {
  const char* path;     // of the model, for messages
  const char* library;  // the compiled model
  cpli_cmodel_host host;
  /// The description from an earlier opening, whose dependencies are used. Nullable: those that
  /// are not declared are detected.
  const cpl_description* known;
} cpli_c_library;

/// The tangent functions of a model, or the reason why there are none. NULL: not compiled here.
const cpl_model_tangent* cpli_c_tangent(const cpl_source* source);

/// Owned:    *out by the caller, who calls its operation destroy after all instances are gone.
/// Borrowed: known, as long as *out lives.
cpl_status cpli_c_open_library(cpl_context* ctx, const cpli_c_library* from, cpl_source** out);
