// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sources from FMUs of FMI 1.0, 2.0 and 3.0. cpl_open() (couplet/system.h) opens any model file by
// the ending of its name; this header is for FMUs only.
//
//   cpl_source* pump = NULL;
//   cpl_fmu_def def = cpl_default_fmu_def();
//   def.path = "pump.fmu";
//   cpl_status st = cpl_fmu_open(ctx, &def, &pump);
//   if (st >= 0) st = cpl_source_make_stepper(pump, "p1", &stepper);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cpl_fmu cpl_fmu;

/// How to open an FMU. Start from cpl_default_fmu_def(), then change what you need.
typedef struct cpl_fmu_def {
  size_t size;  ///< set by cpl_default_fmu_def()
  const char* path;
  const char* call_log;  ///< file that records every FMI call with arguments and result. Nullable.
  const cpl_start* starts;  ///< start values that will be set: those of structural parameters
                            ///< determine the sizes of arrays, others are ignored. Nullable.
  size_t n_starts;
  void* calls;  ///< FILE* instead of call_log, borrowed, shared by several FMUs. Nullable.
  const char* calls_prefix;  ///< prepended to the names of instances in it. Nullable.
  bool debug_logging;        ///< instances are asked to log debug messages (loggingOn)
} cpl_fmu_def;

CPL_DEFAULTS(fmu_def)  ///< cpl_default_fmu_def()

/// Open an .fmu: read its archive and description. Nothing is extracted or loaded before the first
/// instance is made.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_fmu_open(cpl_context* ctx, const cpl_fmu_def* def, cpl_source** out);

/// Keep the unpacked files of up to `n` FMUs that are no longer open (at most 16), for the next
/// time that this process opens the same file, and remove them when the program ends: for programs
/// that run the same FMUs many times. Without this call they are removed as soon as an FMU is
/// destroyed. Binaries are unloaded in any case. Holds for the whole process, not for those that it
/// forks.
CPL_API void cpl_fmu_keep_unpacked(int32_t n);

#ifdef __cplusplus
}
#endif
