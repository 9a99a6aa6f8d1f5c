// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The forms that a system is converted to.
#pragma once

#include "couplet/export.h"

/// An SSP package of any system: a package is written again as it is.
cpl_status cpli_package_build(cpl_context* ctx, const cpl_convert_def* def);
/// An SSP package of a system file.
cpl_status cpli_ssp_build(cpl_context* ctx, const cpl_convert_def* def);

/// A system file of any system.
cpl_status cpli_system_file_build(cpl_context* ctx, const cpl_convert_def* def);

enum { CPLI_LARGEST_FILE = 1 << 30 };  // bytes of a file that is copied

/// The name of a path without folders and ending.
void cpli_stem_of(const char* path, char* out, size_t size);

/// Replaces by '_' what names of files in archives cannot have everywhere: control characters,
/// bytes that are no UTF-8, and characters that are something else on other systems.
void cpli_make_portable(char* name);

/// "folder/stem.ending", or with a number, "folder/stem_2.ending", where `is_taken`. `out` has
/// PATH_MAX bytes.
void cpli_free_name(const char* folder, const char* stem, const char* ending,
                    bool (*is_taken)(const void* user, const char* name), const void* user,
                    char* out);
