// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The names a shared library exports, or an object file defines, read from the bytes of the file
// without loading it.
#pragma once

#include "base/base.h"

/// Put every exported name into `names` (keys point into `bytes`, values are 0). False: this is no
/// 64-bit little-endian ELF file with a table of dynamic symbols, or there is no memory.
/// Owned: *names by the caller, who calls cpli_names_free(), also after false.
bool cpli_elf_exports(cpl_context* ctx, const char* bytes, size_t size, cpli_names* names);

/// The same of an object file: the names with external linkage that it defines, weak ones except.
/// No two files of one program can define the same one.
bool cpli_elf_defines(cpl_context* ctx, const char* bytes, size_t size, cpli_names* names);
