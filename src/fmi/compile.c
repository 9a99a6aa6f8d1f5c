// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs that come as source code: compiled with the system's compiler into the place where a binary
// would have been.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/data.h"
#include "base/process.h"
#include "fmi/library.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/source_loc.h"

typedef struct command {
  cpli_arena arena;
  char** args;
  size_t n, cap;
  bool failed;
} command;

static void add(command* cmd, const char* text) {
  char* copy = cpli_arena_strdup(&cmd->arena, text);
  if (copy == NULL ||
      !cpli_grow(cmd->arena.ctx, (void**)&cmd->args, &cmd->cap, cmd->n + 1, sizeof *cmd->args)) {
    cmd->failed = true;
    return;
  }
  cmd->args[cmd->n++] = copy;
  cmd->args[cmd->n] = NULL;
}

// `before` is an option, or "": the path is then never taken for one.
static void add_path(command* cmd, const char* before, const char* folder, const char* name) {
  const bool alone = before[0] == '\0' && (folder[0] == '-' || folder[0] == '@');
  char* text = cpli_printf(cmd->arena.ctx, "%s%s/%s", alone ? "./" : before, folder, name);
  if (text == NULL) cmd->failed = true;
  if (text != NULL) add(cmd, text);
  cpli_free(cmd->arena.ctx, text);
}

static void add_option(command* cmd, const char* option, const char* value) {
  char* text = cpli_printf(cmd->arena.ctx, "%s%s", option, value);
  if (text == NULL) cmd->failed = true;
  if (text != NULL) add(cmd, text);
  cpli_free(cmd->arena.ctx, text);
}

static void add_include(command* cmd, const cpl_fmu* fmu, const char* folder) {
  char* text = cpli_printf(cmd->arena.ctx, "-I%s/sources", fmu->folder);
  if (text == NULL) cmd->failed = true;
  if (text != NULL) add_path(cmd, "", text, folder);
  cpli_free(cmd->arena.ctx, text);
}

static bool is_cpp(const char* name) {
  return cpli_ends_with(name, ".cpp") || cpli_ends_with(name, ".cc") ||
         cpli_ends_with(name, ".cxx");
}

static int by_name(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

// Older FMUs do not list their source files: all of them, unless one includes the others.
static void add_unlisted(command* cmd, const char* folder) {
  DIR* dir = opendir(folder);
  if (dir == NULL) return;
  size_t first = cmd->n;
  for (struct dirent* entry = readdir(dir); entry != NULL; entry = readdir(dir)) {
    if (strcmp(entry->d_name, "all.c") == 0) {
      cmd->n = first;
      add_path(cmd, "", folder, entry->d_name);
      break;
    }
    if (cpli_ends_with(entry->d_name, ".c") || is_cpp(entry->d_name)) {
      add_path(cmd, "", folder, entry->d_name);
    }
  }
  closedir(dir);
  if (!cmd->failed) qsort(cmd->args + first, cmd->n - first, sizeof *cmd->args, by_name);
}

static void add_sources(command* cmd, const cpl_fmu* fmu, const cpli_fmu_kind* kind) {
  char* folder = cpli_printf(cmd->arena.ctx, "%s/sources", fmu->folder);
  if (folder == NULL) {
    cmd->failed = true;
    return;
  }
  size_t first = cmd->n;
  for (int32_t i = 0; i < kind->n_source_files; i++) {
    const char* name = kind->source_files[i];
    if (cpli_ends_with(name, ".c") || is_cpp(name)) add_path(cmd, "", folder, name);
  }
  if (cmd->n == first) add_unlisted(cmd, folder);
  cpli_free(cmd->arena.ctx, folder);
}

static void fill(command* cmd, const cpl_fmu* fmu, const cpli_fmu_kind* kind, const char* data,
                 const char* path) {
  static const char* const options[] = {"-shared",
                                        "-fPIC",
                                        "-O2",
                                        "-w",  // other people's warnings
                                        "-ffp-contract=off",
                                        "-DFMI2_OVERRIDE_FUNCTION_PREFIX",
                                        "-DFMI3_OVERRIDE_FUNCTION_PREFIX"};
  for (size_t i = 0; i < CPLI_COUNT(options); i++) add(cmd, options[i]);
  for (int32_t i = 0; i < kind->definitions.n; i++) {
    add_option(cmd, "-D", kind->definitions.items[i]);
  }
  add_path(cmd, "-I", fmu->folder, "sources");
  for (int32_t i = 0; i < kind->include_dirs.n; i++)
    add_include(cmd, fmu, kind->include_dirs.items[i]);
  add_path(cmd, "-I", data, "include/fmi");
  size_t first = cmd->n;
  add_sources(cmd, fmu, kind);
  bool cpp = false;
  for (size_t i = first; i < cmd->n; i++) cpp = cpp || is_cpp(cmd->args[i]);
  add(cmd, "-o");
  add(cmd, path);
  if (cpp) add(cmd, "-lstdc++");
  add(cmd, "-lm");
}

// An FMU may list source files and not have them.
static cpl_status check_sources(const cpl_fmu* fmu, const cpli_fmu_kind* kind) {
  cpl_context* ctx = fmu->base.ctx;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < kind->n_source_files && st >= 0; i++) {
    const char* name = kind->source_files[i];
    if (!cpli_ends_with(name, ".c") && !is_cpp(name)) continue;
    char* path = cpli_printf(ctx, "%s/sources/%s", fmu->folder, name);
    if (path == NULL) st = cpli_nomem(ctx);
    else if (access(path, F_OK) != 0)
      st = cpli_fail_file(ctx, CPL_ERR_UNSUPPORTED, fmu->base.path,
                          "no binary for this platform (%s), and of the source code sources/%s is "
                          "listed but not there: it cannot be compiled",
                          fmu->platform, name);
    cpli_free(ctx, path);
  }
  return st;
}

cpl_status cpli_library_compile(const cpl_fmu* fmu, const cpli_fmu_kind* kind, char* path) {
  cpl_context* ctx = fmu->base.ctx;
  const char* data = cpli_data_folder(ctx);
  if (data == NULL) return CPL_ERR_IO;
  cpl_status there = check_sources(fmu, kind);
  if (there < 0) return there;
  command cmd = {.failed = false};
  cpli_arena_init(&cmd.arena, ctx);
  fill(&cmd, fmu, kind, data, path);
  cpl_status st = CPL_OK;
  if (cmd.failed) {
    st = cpli_nomem(ctx);
    goto done;
  }
  st = cpli_make_parents(ctx, path);
  if (st < 0) goto done;
  cpl_log(ctx, CPL_LOG_INFO, fmu->base.path, "compiling the sources of %s", kind->identifier);
  char what[512];
  snprintf(what, sizeof what, "%s: there is no binary for %s, and its source code", fmu->base.path,
           fmu->platform);
  st = cpli_run_compiler(ctx, what, (const char* const*)cmd.args);
done:
  cpli_free(ctx, cmd.args);
  cpli_arena_free(&cmd.arena);
  return st;
}
