// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Shows results as an HTML page or an SVG picture, and a running simulation as a live page.
//
//   cpl_view_def def = cpl_default_view_def();
//   def.path = "pair.html", def.title = "two masses";
//   cpl_status st = cpl_view_write(ctx, table, &def);
#pragma once

#include "couplet/fit.h"
#include "couplet/frequency.h"
#include "couplet/run.h"

#ifdef __cplusplus
extern "C" {
#endif

/// A further result, for comparison.
typedef struct cpl_view_result {
  const cpl_table* table;
  const char* name;          ///< of the file
  const char* const* texts;  ///< descriptions of the columns. Nullable, and each may be NULL.
} cpl_view_result;

/// How to show results. Start from cpl_default_view_def(), then change what you need.
typedef struct cpl_view_def {
  size_t size;              ///< set by cpl_default_view_def()
  const char* path;         ///< .html (a self-contained page) or .svg
  const char* title;        ///< Nullable
  const char* const* only;  ///< columns of any result to show first: names, or patterns with * and
                            ///< ?. Nullable.
  size_t n_only;            ///< 0: every column that changes
  const char* across;       ///< with `up`: two columns drawn against each other first. Nullable.
  const char* up;
  const char* name;          ///< of the result, next to `others`; Nullable: the title
  const char* const* texts;  ///< descriptions of the columns, in a page. Nullable, as each of them.
  const cpl_view_result* others;  ///< results to compare with, in a page
  size_t n_others;
  const char* report;  ///< of the run, in a page: a JSON array of {"title", "rows": [[...], ...],
                       ///< "head": [...], "text"}. Nullable.
} cpl_view_def;

CPL_DEFAULTS(view_def)  ///< cpl_default_view_def()

/// Write a page (.html) with every column of a table and interactive plots, or a picture (.svg) of
/// columns over time: one panel per unit, at most 64 columns; before them `up` over `across`, with
/// equal scales where they have the same unit. Names, units and title are escaped. The page is made
/// from files in lib/couplet. The file is written completely or not at all.
/// Returns: CPL_ERR_INPUT when one of `only` matches nothing, no result has both `across` and `up`,
/// or the file cannot be created, CPL_ERR_IO when it cannot be written.
CPL_API cpl_status cpl_view_write(cpl_context* ctx, const cpl_table* table,
                                  const cpl_view_def* def);

/// Write a frequency response as a picture (.svg): gain and phase over the frequency; or as a page
/// (.html) with the picture and its figures.
CPL_API cpl_status cpl_frequency_write(cpl_context* ctx, const cpl_frequency* f, const char* path,
                                       const char* title);

//------------------------------------ studies ------------------------------------

/// Write a page with the results of a study (couplet/study.h): curves of all cases with quantiles,
/// scatter plots, parallel coordinates, the influence of the factors, statistics of the measures,
/// failed cases. Factors and measures are exact; curves are rounded to single precision, and of
/// very large studies only every k-th case has them, which is logged as a warning. `file` is the
/// NetCDF file of the study; it is read by the library netcdf. Of `def` are used: path
/// (.html), title (NULL: the name of the file), only (factors, measures and curves to show first),
/// across and up (factors or measures of the first scatter plot).
/// Returns: CPL_ERR_UNSUPPORTED without the library netcdf; CPL_ERR_INPUT when the file is damaged,
/// not that of a study, or too large for a page, or when one of `only`, `across` and `up` matches
/// nothing; otherwise as cpl_view_write().
CPL_API cpl_status cpl_view_study(cpl_context* ctx, const char* file, const cpl_view_def* def);

//------------------------------------ fits ------------------------------------

/// Write a page with a fit (couplet/fit.h): its parameters, the data with what was fitted, and the
/// residuals. data: names of the data. Of `def` are used: path (.html) and title.
/// Returns: as cpl_view_write().
CPL_API cpl_status cpl_fit_write(cpl_context* ctx, const cpl_fit* fit, const char* const* data,
                                 const cpl_view_def* def);

//------------------------------------ systems ------------------------------------

typedef enum cpl_diagram_form {
  CPL_DIAGRAM_PAGE,  ///< an interactive page (.html)
  CPL_DIAGRAM_SVG,
} cpl_diagram_form;

/// Draw a system: its models, connections and loops, its modes or its delay lines; or what is
/// inside a model. The models are instantiated. The file is written completely or not at all.
CPL_API cpl_status cpl_diagram_write(cpl_source* source, const char* path, cpl_diagram_form form);

//------------------------------------ live ------------------------------------

/// How to serve a live page. Start from cpl_default_live_def(), then change what you need.
typedef struct cpl_live_def {
  size_t size;          ///< set by cpl_default_live_def()
  const char* title;    ///< Nullable
  const char* address;  ///< IPv4 address to listen on; "127.0.0.1" is this machine only
  int port;             ///< 0: any free port
  double start_time, stop_time;
  const cpl_column* columns;
  size_t n_columns;
  /// Called once, in the server's thread, when the stop button is pressed: it must cancel the
  /// context. Nullable: cpl_context_cancel() is called.
  void (*on_stop)(void* user);
  void* user;
} cpl_live_def;

CPL_DEFAULTS(live_def)  ///< cpl_default_live_def()

typedef struct cpl_live cpl_live;

/// Serve a page with the curves of a running simulation. Its address contains a secret token.
/// Order:    open, then record and progress any number of times, then finish, then close.
/// Owned:    *out by the caller, who calls cpl_live_close().
/// Borrowed: def and columns only during the call.
CPL_API cpl_status cpl_live_open(cpl_context* ctx, const cpl_live_def* def, cpl_live** out);
CPL_API const char* cpl_live_url(const cpl_live* live);  ///< "http://127.0.0.1:PORT/TOKEN/"
/// Record a point. Nothing is allocated: long runs are thinned out.
CPL_API void cpl_live_record(cpl_live* live, double t, const cpl_value* values);
CPL_API void cpl_live_progress(cpl_live* live, double t, int64_t events);
/// End the run: serve the page `result` to the browsers that watch, and return when they have it,
/// or after three seconds without a request.
/// Nullable: result
CPL_API void cpl_live_finish(cpl_live* live, const char* result);
CPL_API void cpl_live_close(cpl_live* live);  ///< Nullable: live

#ifdef __cplusplus
}
#endif
