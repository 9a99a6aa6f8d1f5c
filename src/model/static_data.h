// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Variables of a compiled model that all of its instances share.
#pragma once

#include <stdbool.h>
#include <stddef.h>

/// Whether a shared object has variables outside of functions, or static ones, that are not
/// constant, and the name of the first. Those of single threads do not count. A file that is no
/// object of this machine, or has no names, has none.
bool cpli_static_data(const char* path, char* name, size_t size);
