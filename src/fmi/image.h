// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An opened FMU as an image (format/image.h), so that it is opened again from its unpacked folder
// without reading its XML files.
#pragma once

#include "couplet/fmi.h"
#include "format/image.h"

/// Everything that instances need; not what only `couplet info` and `couplet check` show: findings,
/// terminals, icons, layered standards, build configurations and lists of files.
/// Owned: out->bytes by the caller, who calls cpli_free().
cpl_status cpli_fmu_write_image(cpl_context* ctx, const cpl_fmu* fmu, cpli_image* out);

/// `folder` has the unpacked files of the FMU; a binary for this platform must be among them. It
/// stays as it is.
/// Owned: *out by the caller, as from cpl_fmu_open().
cpl_status cpli_fmu_open_image(cpl_context* ctx, const char* folder, const unsigned char* bytes,
                               size_t size, cpl_source** out);

/// The table of an FMU, for tests that change bytes (cpli_image_seal).
const cpli_image_type* cpli_fmu_image_type(void);
