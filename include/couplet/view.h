// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A result among others.
typedef struct cpl_view_result {
  const cpl_table* table;
  const char* name;          ///< of the file
  const char* const* texts;  ///< what the columns mean. Nullable, and each may be NULL.
} cpl_view_result;

/// How to show results. Start from cpl_default_view_def(), then change what you need.
typedef struct cpl_view_def {
  const char* path;         ///< .html (a page that needs nothing else) or .svg
  const char* title;        ///< Nullable
  const char* const* only;  ///< columns to show first: names, or patterns with * and ?. Nullable.
  size_t n_only;            ///< 0: every column that changes
  const char* across;       ///< with `up`: two columns drawn against each other first. Nullable.
  const char* up;
  const char* name;          ///< of the result among others; Nullable: the title
  const char* const* texts;  ///< what the columns mean, in a page. Nullable, and each may be NULL.
  const cpl_view_result* others;  ///< results to compare with, in a page
  size_t n_others;
  const char* report;  ///< of the run, in a page: a JSON array of {"title", "rows": [[...], ...],
                       ///< "head": [...], "text"}. Nullable.
} cpl_view_def;

CPL_API cpl_view_def cpl_default_view_def(void);

/// Write a page (.html) with every column of a table, in which plots are put together, or a picture
/// (.svg) of columns over time: one panel a unit, at most 64 columns; before them `up` over
/// `across`, to the same scale where they have the same unit. Names, units and title are text in
/// the page, whatever they hold. The page is made of files in lib/couplet.
/// Returns: CPL_ERR_INPUT when one of `only`, `across` or `up` matches nothing, CPL_ERR_IO when the
/// file cannot be made.
CPL_API cpl_status cpl_view_write(cpl_context* ctx, const cpl_table* table,
                                  const cpl_view_def* def);

#ifdef __cplusplus
}
#endif
