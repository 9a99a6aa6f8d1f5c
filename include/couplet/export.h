// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to make an FMU. Start from cpl_default_build_def(), then change what you need.
typedef struct cpl_build_def {
  const char* model;           ///< path of the model in C
  int fmi_version;             ///< 2 (default) or 3
  bool constraint_attributes;  ///< say what constraints there are by attributes instead of an
                               ///< annotation; validating importers refuse them
  const char* output;  ///< path of the FMU. Nullable: the model's name with .fmu, in this folder.
} cpl_build_def;

CPL_API cpl_build_def cpl_default_build_def(void);

/// Make an FMU of a model in C, for model exchange and co-simulation: description, binary of this
/// platform (compiled with $CC or cc), sources for model exchange, a page of documentation. The
/// same model gives the same bytes. Nullable: output; else its `size` bytes receive the path of the
/// FMU.
CPL_API cpl_status cpl_fmu_build(cpl_context* ctx, const cpl_build_def* def, char* output,
                                 size_t size);

#ifdef __cplusplus
}
#endif
