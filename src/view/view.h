// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results to look at: picture.c draws an SVG, page.c fills the page whose parts are in page/ (made
// into one file at build time, tools/bundle.py), live.c serves that page while a run goes on.
#pragma once

#include "base/base.h"
#include "couplet/view.h"
#include "format/markup.h"

/// Whether any value differs from the first.
bool cpli_view_changes(const cpl_table* table, size_t column);

/// Whether the name is that of a page (.html).
bool cpli_is_page(const char* path);

/// Draws the columns of a table over the decimal logarithms in its `time`, named `axis`.
void cpli_picture_draw(const cpl_table* table, const cpl_view_def* def, const char* axis,
                       cpli_text* out);

/// Both get a definition whose names were found in the table.
cpl_status cpli_view_picture(cpl_context* ctx, const cpl_table* table, const cpl_view_def* def);
cpl_status cpli_view_page(cpl_context* ctx, const cpl_table* table, const cpl_view_def* def);

/// A page of lib/couplet/view around one JSON object.
cpl_status cpli_page_write(cpl_context* ctx, const char* name, const char* path, const char* title,
                           const char* json);

/// Draw a diagram (page/diagram.js says what its JSON is) as a file.
cpl_status cpli_diagram_svg(cpl_context* ctx, const char* path, const char* json);

/// The page that watches a run, before there is anything to see.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_live_page(cpl_context* ctx, const cpl_live_def* def, char** out, size_t* size);
