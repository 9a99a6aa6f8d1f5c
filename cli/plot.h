// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Plots in the terminal, for verbs other than `plot`.
#pragma once

#include "cli.h"

// Draws every other column of a table over column `across`, one picture each.
cpl_status cli_plot_over(cpl_context* ctx, FILE* out, const cpl_table* table, size_t across);
