// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to open a model file. Start from cpl_default_open_def(), then change what you need.
typedef struct cpl_open_def {
  const char* path;  ///< .fmu (or a folder with its files) or .c
  const char*
      call_log;  ///< FMUs: file that records every FMI call with arguments and result. Nullable.
} cpl_open_def;

CPL_API cpl_open_def cpl_default_open_def(void);

/// Open a model file by the ending of its name.
/// Owned:    *out by the caller, who destroys it through its ops after all instances are gone.
CPL_API cpl_status cpl_open(cpl_context* ctx, const cpl_open_def* def, cpl_source** out);

#ifdef __cplusplus
}
#endif
