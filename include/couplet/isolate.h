// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to keep the instances of a source apart. Start from cpl_default_isolate_def(), then change
/// what you need.
typedef struct cpl_isolate_def {
  double call_timeout;  ///< [s]: a call that takes longer ends the instance; 0: any time is fine
} cpl_isolate_def;

CPL_API cpl_isolate_def cpl_default_isolate_def(void);

/// A source whose instances run in processes of their own, one each, behind shared memory. What an
/// instance does to its process (a crash, exit(), the working folder, the floating-point
/// environment, the locale, signal handlers) stays there; when the process ends, the call fails
/// with CPL_ERR_MODEL and says how. Results are the same to the byte.
/// The processes end with their instances, and with the thread that made them.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone;
///           it owns `inner`, which must have no instances. After a failure the caller still does.
/// Nullable: def
CPL_API cpl_status cpl_isolate(cpl_source* inner, const cpl_isolate_def* def, cpl_source** out);

#ifdef __cplusplus
}
#endif
