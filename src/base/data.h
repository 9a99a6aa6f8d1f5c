// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Files that couplet needs at run time: headers for models in C, sources and archives for exported
// FMUs. They are in lib/couplet of the installation, and likewise of the build tree.
#pragma once

#include "base/base.h"

/// The folder; NULL (and a message) when it cannot be found. Valid until the program ends.
const char* cpli_data_folder(cpl_context* ctx);
