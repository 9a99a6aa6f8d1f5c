// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

/// How to show results. Start from cpl_default_view_def(), then change what you need.
typedef struct cpl_view_def {
  const char* path;         ///< .html (a page that needs nothing else) or .svg
  const char* title;        ///< Nullable
  const char* const* only;  ///< columns to show: names, or patterns with * and ?. Nullable.
  size_t n_only;            ///< 0: every column that changes
  const char* across;       ///< with `up`: two columns drawn against each other first. Nullable.
  const char* up;
} cpl_view_def;

CPL_API cpl_view_def cpl_default_view_def(void);

/// Draw columns of a table over time: one panel a unit, at most 64 columns; before them `up` over
/// `across`, to the same scale where they have the same unit. Names, units and title are text in
/// the page, whatever they hold. Returns: CPL_ERR_INPUT when one of `only`, `across` or `up`
/// matches nothing, CPL_ERR_IO when the file cannot be made.
CPL_API cpl_status cpl_view_write(cpl_context* ctx, const cpl_table* table,
                                  const cpl_view_def* def);

#ifdef __cplusplus
}
#endif
