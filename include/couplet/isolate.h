// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Isolation: instances of a source run in separate processes, so that a crash of a model ends only
// its own process.
//
//   cpl_source* isolated = NULL;
//   cpl_isolate_def def = cpl_default_isolate_def();
//   def.call_timeout = 10;
//   cpl_status st = cpl_isolate(fmu, &def, &isolated);  // owns fmu from here on
//   if (st >= 0) st = cpl_source_make_model(isolated, "pump", &model);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to isolate instances. Start from cpl_default_isolate_def(), then change what you need.
typedef struct cpl_isolate_def {
  size_t size;          ///< set by cpl_default_isolate_def()
  double call_timeout;  ///< [s]: a call that takes longer ends the instance; 0: no limit
} cpl_isolate_def;

CPL_DEFAULTS(isolate_def)  ///< cpl_default_isolate_def()

/// Make a source whose instances run in one process each and communicate by shared memory. Effects
/// of an instance on its process (a crash, exit(), the working folder, the floating-point
/// environment, the locale, signal handlers) are confined to it. When the process ends, the call
/// fails with CPL_ERR_MODEL and the cause. Results are identical to the byte.
/// The processes end with their instances, and with the thread that made them.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone;
///           it owns `inner`, which must have no instances. After a failure the caller still does.
/// Nullable: def
CPL_API cpl_status cpl_isolate(cpl_source* inner, const cpl_isolate_def* def, cpl_source** out);

#ifdef __cplusplus
}
#endif
