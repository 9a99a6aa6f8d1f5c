// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Folders: a private temporary folder of this user, and its removal. Removing never
// follows a symbolic link, so that nothing outside the folder can be harmed.
#pragma once

#include "base/base.h"

/// $TMPDIR where it is an absolute path, otherwise /tmp.
const char* cpli_temp_base(void);

/// A new folder under cpli_temp_base() that only this user may enter. Its path is absolute. What
/// processes of this user that were killed have left there is removed on this occasion.
/// Owned:    *out by the caller: cpli_temp_folder_remove(), then cpli_free().
cpl_status cpli_temp_folder_make(cpl_context* ctx, char** out);

/// Remove a folder and all that is in it. Returns CPL_ERR_IO when something stays.
/// Nullable: path
cpl_status cpli_temp_folder_remove(cpl_context* ctx, const char* path);

/// The same without a context, for the end of a program. Returns: 0, or the reason as in errno.
int cpli_temp_folder_erase(const char* path);

/// Create the parent folders of the file `path`, mode 0700.
/// `path` is changed during the call and restored.
cpl_status cpli_make_parents(cpl_context* ctx, char* path);
