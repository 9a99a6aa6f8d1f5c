// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Looks for errors in FMUs, models in C and systems.
//
//   cpl_check_def def = cpl_default_check_def();
//   def.path = "pump.fmu";
//   def.on_finding = print_finding;
//   cpl_status st = cpl_check(ctx, &def, NULL);
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A finding about a file. Texts are valid during the call only.
typedef struct cpl_finding {
  bool error;        ///< the file cannot be simulated; false: a warning
  int32_t line;      ///< in modelDescription.xml or the system file; 0: the file as a whole
  int32_t column;    ///< 0: none
  const char* rule;  ///< a short fixed word: "alias", "start", ...; "open": it cannot be opened
  const char* text;
  const char* file;  ///< of the line: a file of a package. Nullable: the checked file
} cpl_finding;

typedef void cpl_finding_fn(void* user, const cpl_finding* finding);

/// What to check. Start from cpl_default_check_def(), then change what you need.
typedef struct cpl_check_def {
  size_t size;  ///< set by cpl_default_check_def()
  const char* path;
  bool strict;                    ///< also warn about defaults that are used
  bool isolate;                   ///< models run in processes of their own
  double call_timeout;            ///< of their calls [s]; isolates; 0: no limit
  cpl_finding_fn* on_finding;     ///< called for every finding. Nullable
  void* user;                     ///< passed to on_finding
  const char* variant;            ///< of an SSP package (see cpl_ssp_def). Nullable
  const char* const* parameters;  ///< likewise
  size_t n_parameters;
} cpl_check_def;

CPL_DEFAULTS(check_def)  ///< cpl_default_check_def()

/// Check the description of an FMU by the rules of the standard, or open a model in C or a system,
/// whose names, types, units and expressions are checked. A file that cannot be opened has one
/// finding, the cause; *out is then NULL.
/// Owned:    *out, the opened file, by the caller, who calls cpl_source_destroy().
/// Nullable: out
/// Returns:  a failure only where the check itself cannot be made: out of memory, cancelled.
CPL_API cpl_status cpl_check(cpl_context* ctx, const cpl_check_def* def, cpl_source** out);

/// The failure to open a file as a finding about it. Borrowed: its text, from the failure.
CPL_API cpl_finding cpl_finding_of_error(const char* path, const cpl_error* error);

#ifdef __cplusplus
}
#endif
