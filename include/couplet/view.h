// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "couplet/run.h"

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
/// the page, whatever they hold. The page is made of files in lib/couplet. It appears whole or not
/// at all.
/// Returns: CPL_ERR_INPUT when one of `only`, `across` or `up` matches nothing or the file cannot
/// be made, CPL_ERR_IO when it cannot be written.
CPL_API cpl_status cpl_view_write(cpl_context* ctx, const cpl_table* table,
                                  const cpl_view_def* def);

//------------------------------------ live ------------------------------------

/// How to let people watch a run. Start from cpl_default_live_def(), then change what you need.
typedef struct cpl_live_def {
  const char* title;    ///< Nullable
  const char* address;  ///< to listen on, of IPv4; "127.0.0.1" is this machine only
  int port;             ///< 0: any that is free
  double start_time, stop_time;
  const cpl_column* columns;
  size_t n_columns;
  volatile int* stop;  ///< becomes 1 when someone presses the stop button. Nullable.
  /// Called in place of setting `stop`, once and in the thread of the server, by programs that end
  /// a run in more than one way: it makes `stop` positive. Nullable.
  void (*on_stop)(void* user);
  void* user;
} cpl_live_def;

CPL_API cpl_live_def cpl_default_live_def(void);

typedef struct cpl_live cpl_live;

/// Serve a page with curves that grow. Only who knows the whole address sees it.
/// Order:    open, then record and progress any number of times, then finish, then close.
/// Owned:    *out by the caller, who calls cpl_live_close().
/// Borrowed: def and columns only during the call; stop until it is closed.
CPL_API cpl_status cpl_live_open(cpl_context* ctx, const cpl_live_def* def, cpl_live** out);
CPL_API const char* cpl_live_url(const cpl_live* live);  ///< "http://127.0.0.1:PORT/TOKEN/"
/// Nothing is allocated: of a long run fewer and fewer points are kept.
CPL_API void cpl_live_record(cpl_live* live, double t, const cpl_value* values);
CPL_API void cpl_live_progress(cpl_live* live, double t, int64_t events);
/// The run is over: hand the page of its result to who watches, and come back when they have it, or
/// when nobody has asked for three seconds. Nullable: result, a file.
CPL_API void cpl_live_finish(cpl_live* live, const char* result);
CPL_API void cpl_live_close(cpl_live* live);  ///< Nullable: live

#ifdef __cplusplus
}
#endif
