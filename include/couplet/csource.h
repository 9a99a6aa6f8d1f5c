// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sources from models written in C (couplet/model.h): from a .c file, which is compiled, or from a
// definition in the calling program.
//
//   cpl_source* ball = NULL;
//   cpl_status st = cpl_c_open(ctx, "bouncing_ball.c", &ball);
//   if (st >= 0) st = cpl_source_make_model(ball, "ball", &model);
//   ...
//   cpl_model_destroy(model);
//   cpl_source_destroy(ball);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Compile a model with the system's compiler ($CC or cc) and load it. The binary is cached in
/// $XDG_CACHE_HOME/couplet by the content of the source.
/// Owned: *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_c_open(cpl_context* ctx, const char* path, cpl_source** out);

/// A model whose definition is part of the calling program. `version` is that of the header which
/// the program was compiled with: CPL_MODEL_VERSION. `user` is passed to the functions of the model
/// as cpl_values.user; since all instances share it, models with it stay in the caller's thread.
/// Borrowed: def and user for the life of *out.
/// Nullable: user
CPL_API cpl_status cpl_c_define_version(cpl_context* ctx, const cpl_model_def* def, int version,
                                        void* user, cpl_source** out);
static inline cpl_status cpl_c_define(cpl_context* ctx, const cpl_model_def* def,
                                      cpl_source** out) {
  return cpl_c_define_version(ctx, def, CPL_MODEL_VERSION, NULL, out);
}

#ifdef __cplusplus
}
#endif
