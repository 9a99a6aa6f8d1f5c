// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writing a zip archive whose bytes depend on its content only: no times, no owners.
#pragma once

#include "base/base.h"

typedef struct cpli_zip_entry {
  const char* name;
  const char* bytes;
  size_t size;
  bool executable;
  bool stored;  ///< as it is: larger, but unpacked several times as fast
} cpli_zip_entry;

/// Write an archive in one go. A file that is there is replaced; when anything fails it stays as it
/// was.
cpl_status cpli_zip_write(cpl_context* ctx, const char* path, const cpli_zip_entry* entries,
                          size_t n);
