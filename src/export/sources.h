// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sources of an FMU: the model, the headers in its folder that it includes, and the
// runtime, whose files are in couplet's data folder with their folders in their names
// (base/base.h is base_base.h there), so that one folder is enough.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"

typedef struct cpli_source_file {
  char* name;  // below sources/
  char* text;
  size_t size;
} cpli_source_file;

typedef struct cpli_source_files {
  cpl_context* ctx;
  cpli_source_file* items;
  size_t n, cap;
} cpli_source_files;

void cpli_source_files_free(cpli_source_files* files);

/// The model and its own headers. `include` is the folder that has couplet/model.h; in sources that
/// are compiled without it, its include gets another name.
cpl_status cpli_collect_model(cpli_source_files* files, const char* model, const char* include,
                              const char* work_folder, bool rename_include);
/// The tangent functions of a model in C, to be compiled behind its source, also by compilers that
/// were not asked when they were made.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_model_tangent_text(const cpl_source* model, char** out);
/// The files of a folder, in the order of names: those whose name contains `only` and does not
/// contain `without`. Nullable: both
cpl_status cpli_collect_folder(cpli_source_files* files, const char* folder, const char* only,
                               const char* without);
/// A text made elsewhere; it is copied.
cpl_status cpli_collect_text(cpli_source_files* files, const char* name, const char* text);
/// Bytes made elsewhere; they are taken over, also when it fails.
cpl_status cpli_collect_bytes(cpli_source_files* files, const char* name, char* bytes, size_t size);
/// All files of an archive, or of a folder and those in it, as "below/name".
cpl_status cpli_collect_archive(cpli_source_files* files, const char* path, const char* below);
cpl_status cpli_collect_tree(cpli_source_files* files, const char* folder, const char* below);
