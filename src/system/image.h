// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition as an image (format/image.h): everything that a system file can express, with the
// source locations of all items, so that messages are those of the file.
#pragma once

#include "format/image.h"
#include "system/definition.h"

/// Not written: opened sources and definitions of models (cpli_member.source, .system), which the
/// reader of the image sets; the call log; the package that the definition was made from.
/// Returns: CPL_ERR_UNSUPPORTED with the name of an item that exists in a program only: an input
///          that is a table or a function, a connection by a function.
/// portable: for use at another place; paths are written without their folders.
/// Owned: out->bytes by the caller, who calls cpli_free().
cpl_status cpli_def_write_image(cpl_context* ctx, const cpl_system_def* def, bool portable,
                                cpli_image* out);

/// Items pass the checks of cpli_def_add_...(); a model may have neither a path nor a source.
/// Owned: *out by the caller, who calls cpl_system_def_destroy().
cpl_status cpli_def_read_image(cpl_context* ctx, const unsigned char* bytes, size_t size,
                               cpl_system_def** out);

/// The table of a definition, for tests that change bytes (cpli_image_seal).
const cpli_image_type* cpli_def_image_type(void);
