// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Unpacked archives that are not in use, kept for the next time that this process opens the same
// archive. Only files are kept: binaries are unloaded after a run and loaded again in the next one,
// so that their data begin anew. A folder has one user at a time, since two users would share the
// data of the binary. A folder in which anything has changed is not used again.
#pragma once

#include "base/base.h"
#include "format/zip.h"

/// After an archive was unpacked into `folder`: prepares it to be kept. Returns: whether it can be;
/// not when nothing is to be kept, or the archive was written so recently that a second change of
/// it might go unnoticed.
bool cpli_unpacked_prepare(const cpli_zip_id* archive, const char* folder);

/// The unpacked files of an archive. *out is NULL: there are none.
/// Owned: *out by the caller, who calls cpli_unpacked_keep() or removes it, then cpli_free().
cpl_status cpli_unpacked_take(cpl_context* ctx, const cpli_zip_id* archive, char** out);

/// Keeps a folder that was prepared or taken. Returns: false: it cannot be kept and must be
/// removed.
bool cpli_unpacked_keep(const cpli_zip_id* archive, const char* folder);
