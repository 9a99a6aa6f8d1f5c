// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition as the text of a system file.
#pragma once

#include <stdio.h>

#include "system/definition.h"

// The annotation of an SSP package that has what the standard cannot express.
#define CPLI_SSP_ANNOTATION "org.couplet"
#define CPLI_SSP_NAMESPACE  "urn:couplet:system"

// What to write, and how. Items with a true in one of the arrays are left out, because the
// description of an SSP package has them.
typedef struct cpli_write_def {
  /// The path of a file as it shall stand in the text. `kind`, the key of a model ("fmu", "c",
  /// "system"; NULL: a table), may become another one. `out` has PATH_MAX bytes.
  cpl_status (*path)(void* user, const char** kind, const cpli_located_text* path, char* out);
  void* user;
  /// For an annotation of a package: without name, times, and models. Of these only isolation is
  /// written, and start values for which keeps_start() is true.
  bool in_package;
  bool without_fit;   // the section `fit` is not written: its data are not where the text goes
  bool needs_master;  // the section `master` is written even if it is empty: steps are not chosen
  bool (*keeps_start)(const void* user, size_t model, const cpli_setting* start);
  const bool *parameters, *inputs, *connections, *outputs;  // Nullable
} cpli_write_def;

/// Fails with a message when the definition has parts that exist in a program only.
/// Owned: *out by the caller, who calls free().
cpl_status cpli_def_to_text(const cpl_system_def* def, const cpli_write_def* how, char** out,
                            size_t* size);

/// Reads such an annotation into a definition that has what the package says itself. Paths in it
/// begin at `folder`, which ends with a slash, and its first line is line `line` of the file.
cpl_status cpli_def_read_annotation(cpl_system_def* def, const char* text, int32_t line,
                                    const char* folder);

/// The path from a folder to a file, both without links; `out` has PATH_MAX bytes. An empty folder
/// is the present one.
cpl_status cpli_relative_path(cpl_context* ctx, const char* folder, const char* path, char* out);
