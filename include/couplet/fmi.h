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
  double call_timeout;       ///< of calls of binaries for other platforms [s]; 0: no limit
} cpl_fmu_def;

CPL_DEFAULTS(fmu_def)  ///< cpl_default_fmu_def()

/// Open an .fmu: read its archive and description. Nothing is extracted or loaded before the first
/// instance is made.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_fmu_open(cpl_context* ctx, const cpl_fmu_def* def, cpl_source** out);

/// Binaries for other platforms (docs/foreign-fmus.md): an FMU that has neither a binary for this
/// platform nor sources that can be compiled is run by a host program, in a process of its own, and
/// where that is a program of Windows, by Wine. From this call on FMUs that are opened use their
/// binary for `platform`, "win64", "linux64" or a name of FMI 3.0 like "x86_64-windows", and those
/// without it fail. Holds for the whole process. Nullable: platform, the usual choice.
/// Returns: CPL_ERR_INPUT where there is no such platform.
CPL_API cpl_status cpl_fmu_use_platform(cpl_context* ctx, const char* platform);

/// Whether instances of this FMU run in processes of their own, since it has no other binary than
/// one for another platform, or since that one is requested.
CPL_API bool cpl_fmu_is_foreign(const cpl_source* fmu);

/// Whether the binaries of an FMU for a platform run here, as a text: "runs through Wine 8.0",
/// "does not run: ..." with what to install. `platform`: a folder below binaries/.
CPL_API void cpl_fmu_platform_text(const cpl_source* fmu, const char* platform, char* out,
                                   size_t size);

/// The binaries for other platforms that this process has used so far: "win64 binary, through Wine
/// 8.0"; empty: none.
CPL_API void cpl_fmu_platforms_used(cpl_context* ctx, char* out, size_t size);

/// Keep the unpacked files of up to `n` FMUs that are no longer open (at most 16), for the next
/// time that this process opens the same file, and remove them when the program ends: for programs
/// that run the same FMUs many times. Without this call they are removed as soon as an FMU is
/// destroyed. Binaries are unloaded in any case. Holds for the whole process, not for those that it
/// forks.
CPL_API void cpl_fmu_keep_unpacked(int32_t n);

#ifdef __cplusplus
}
#endif
