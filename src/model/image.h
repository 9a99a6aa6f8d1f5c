// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The description of a component as an image (format/image.h), which is read without parsing.
#pragma once

#include "couplet/interface.h"
#include "format/image.h"

/// Tables for structs that have descriptions and units as members.
extern const cpli_image_type cpli_description_image, cpli_unit_image, cpli_capabilities_image,
    cpli_start_image;

/// To be called when a description has been read: its indices are checked and `names`, to which it
/// points from now on, is filled.
/// Owned: *names by the caller, who calls cpli_names_free(), also after a failure.
cpl_status cpli_description_complete(cpl_context* ctx, cpl_description* desc, cpli_names* names);

/// Owned: out->bytes by the caller, who calls cpli_free().
cpl_status cpli_description_write_image(cpl_context* ctx, const cpl_description* desc,
                                        cpli_image* out);

/// Everything that the description points to is in the arena, but `names`.
/// Owned: *names as above.
cpl_status cpli_description_read_image(cpl_context* ctx, const unsigned char* bytes, size_t size,
                                       cpli_arena* arena, cpli_names* names, cpl_description* out);
