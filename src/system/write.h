// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition as the text of a system file.
#pragma once

#include <stdio.h>

#include "system/definition.h"

// What to write, and how. Items with a true in one of the arrays are left out, because another file
// has them (the parts of an SSP package that the standard can express).
typedef struct cpli_write_def {
  /// The path of a file as it shall stand in the text; `out` has PATH_MAX bytes.
  cpl_status (*path)(void* user, const cpli_located_text* path, char* out);
  void* user;
  bool without_models;                            // the section is left out
  bool without_times;                             // start and stop of the experiment
  const bool *parameters, *inputs, *connections;  // Nullable
  const bool* outputs;                            // Nullable
} cpli_write_def;

/// Fails with a message when the definition has parts that exist in a program only.
/// Owned: *out by the caller, who calls free().
cpl_status cpli_def_to_text(const cpl_system_def* def, const cpli_write_def* how, char** out,
                            size_t* size);

/// The path from a folder to a file, both without links; `out` has PATH_MAX bytes. An empty folder
/// is the present one.
cpl_status cpli_relative_path(cpl_context* ctx, const char* folder, const char* path, char* out);
