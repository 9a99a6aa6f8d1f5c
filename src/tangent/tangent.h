// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Automatic differentiation of models in C: from the preprocessed source of a model the text of
// functions is made that compute its directional derivatives (its tangent functions), to be
// compiled behind the source. A function of the model becomes one that computes values and
// derivatives together (forward mode), statement by statement, so that branches, loops and tables
// are those of the original. Whatever is not understood is refused with its place.
#pragma once

#include "base/base.h"

typedef struct cpli_tangent_text {
  char* text;  // C; defines couplet_model_tangent, at least with the reason why there is nothing
  bool any;    // it has functions
} cpli_tangent_text;

/// Owned:   out->text by the caller, who calls cpli_free().
/// Returns: CPL_ERR_NOMEM only. A model that is not understood gets the reason.
cpl_status cpli_tangent_make(cpl_context* ctx, const char* preprocessed, size_t size,
                             cpli_tangent_text* out);

/// The text for a model without tangent functions, for this reason.
cpl_status cpli_tangent_none(cpl_context* ctx, const char* reason, cpli_tangent_text* out);
