// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Libraries of Windows (DLLs), read from their bytes without loading them.
#pragma once

#include "base/base.h"

/// The word size of a DLL for x86 processors, 64 or 32; 0: this is no such file.
int cpli_pe_bits(cpl_context* ctx, const char* path);

/// The names of the libraries that a DLL needs at its start, directly or by others in its folder,
/// and that are neither in its folder nor in the folder `system`: "a.dll, b.dll", "" where there
/// are none. Names are compared as Windows does, without case.
void cpli_pe_missing(cpl_context* ctx, const char* path, const char* system, char* out,
                     size_t size);
