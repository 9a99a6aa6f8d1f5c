// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The headers of a model are found by the dependency rule that the compiler writes (-MM), and the
// include of couplet/model.h is renamed in the copies. Files of a folder are sorted by their bytes,
// so that the archive does not depend on the locale.
#include "export/sources.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/process.h"
#include "format/file.h"

enum { LARGEST = 64 << 20 };  // bytes of a source file

void cpli_source_files_free(cpli_source_files* files) {
  for (size_t i = 0; i < files->n; i++) {
    cpli_free(files->ctx, files->items[i].name);
    cpli_free(files->ctx, files->items[i].text);
  }
  cpli_free(files->ctx, files->items);
  files->items = NULL;
  files->n = files->cap = 0;
}

// Takes the text over, also when it fails.
static cpl_status add(cpli_source_files* files, const char* name, char* text, size_t size) {
  char* kept = cpli_strdup(files->ctx, name);
  if (text == NULL || kept == NULL ||
      !cpli_grow(files->ctx, (void**)&files->items, &files->cap, files->n, sizeof *files->items)) {
    cpli_free(files->ctx, kept);
    cpli_free(files->ctx, text);
    return cpli_nomem(files->ctx);
  }
  files->items[files->n++] = (cpli_source_file){kept, text, size};
  return CPL_OK;
}

cpl_status cpli_collect_text(cpli_source_files* files, const char* name, const char* text) {
  return add(files, name, cpli_strdup(files->ctx, text), strlen(text));
}

//------------------------------------ the model ------------------------------------

// In an FMU couplet's header is in the folder of the model, under another name.
static void rewrite_includes(char* text, size_t* size) {
  static const char* const old[] = {"<couplet/model.h>", "\"couplet/model.h\""};
  static const char fresh[] = "\"couplet_model.h\"";
  size_t n = sizeof fresh - 1;
  for (size_t k = 0; k < CPLI_COUNT(old); k++) {
    for (char* at = strstr(text, old[k]); at != NULL; at = strstr(at + n, old[k])) {
      memcpy(at, fresh, n);  // of the same length
    }
  }
  *size = strlen(text);
}

static cpl_status add_own(cpli_source_files* files, const char* path, const char* name) {
  char* text = NULL;
  size_t size = 0;
  cpl_status st = cpli_file_read(files->ctx, path, LARGEST, &text, &size);
  if (st < 0) return st;
  rewrite_includes(text, &size);
  return add(files, name, text, size);
}

// The next name in a rule that the compiler wrote for make: blanks in names have a backslash.
static bool next_name(char** at, char* name, size_t size) {
  char* s = *at;
  size_t n = 0;
  while (*s == ' ' || *s == '\n' || (*s == '\\' && s[1] == '\n')) s++;
  while (*s != '\0' && *s != ' ' && *s != '\n') {
    if (*s == '\\' && (s[1] == ' ' || s[1] == '#' || s[1] == ':')) s++;
    if (*s == '$' && s[1] == '$') s++;
    if (n + 1 < size) name[n++] = *s;
    s++;
  }
  name[n] = '\0';
  *at = s;
  return n > 0;
}

// Adds the headers that the model includes from its own folder. Others could not keep their names.
static cpl_status add_headers(cpli_source_files* files, char* rule, const char* model,
                              const char* include) {
  char name[PATH_MAX], path[PATH_MAX], folder[PATH_MAX], ours[PATH_MAX];
  if (realpath(model, folder) == NULL || realpath(include, ours) == NULL) return CPL_OK;
  *strrchr(folder, '/') = '\0';
  size_t n = strlen(folder), n_ours = strlen(ours);
  char* at = strchr(rule, ':');
  at = at != NULL ? at + 1 : rule;
  next_name(&at, name, sizeof name);  // the model itself
  while (next_name(&at, name, sizeof name)) {
    if (realpath(name, path) == NULL) continue;
    if (strncmp(path, ours, n_ours) == 0 && path[n_ours] == '/') continue;
    if (strncmp(path, folder, n) != 0 || path[n] != '/') {
      cpl_log(files->ctx, CPL_LOG_WARNING, model,
              "%s lies outside of the model's folder and is not put into the FMU's sources", name);
      continue;
    }
    cpl_status st = add_own(files, path, path + n + 1);
    if (st < 0) return st;
  }
  return CPL_OK;
}

cpl_status cpli_collect_model(cpli_source_files* files, const char* model, const char* include,
                              const char* work_folder) {
  char rule_path[PATH_MAX];
  char* rule = NULL;
  size_t size = 0;
  const char* slash = strrchr(model, '/');
  snprintf(rule_path, sizeof rule_path, "%s/headers.d", work_folder);
  char* argument = cpli_file_argument(files->ctx, model);
  if (argument == NULL) return cpli_nomem(files->ctx);
  const char* args[] = {"-std=c17", "-MM", "-MT",     "model",  "-I",
                        include,    "-o",  rule_path, argument, NULL};
  cpl_status st = add_own(files, model, slash != NULL ? slash + 1 : model);
  if (st >= 0) st = cpli_run_compiler(files->ctx, model, args);
  if (st >= 0) st = cpli_file_read(files->ctx, rule_path, LARGEST, &rule, &size);
  if (st >= 0) st = add_headers(files, rule, model, include);
  cpli_free(files->ctx, rule);
  cpli_free(files->ctx, argument);
  return st;
}

//------------------------------------ the runtime ------------------------------------

static int not_hidden(const struct dirent* entry) { return entry->d_name[0] != '.'; }

// Compares bytes, independently of the locale.
static int by_bytes(const struct dirent** a, const struct dirent** b) {
  return strcmp((*a)->d_name, (*b)->d_name);
}

static bool is_wanted(const char* name, const char* only, const char* without) {
  return (only == NULL || strstr(name, only) != NULL) &&
         (without == NULL || strstr(name, without) == NULL);
}

cpl_status cpli_collect_folder(cpli_source_files* files, const char* folder, const char* only,
                               const char* without) {
  struct dirent** entries = NULL;
  int n = scandir(folder, &entries, not_hidden, by_bytes);
  if (n < 0) {
    return cpl_fail(files->ctx, CPL_ERR_IO, "%s cannot be read: %s", folder, strerror(errno));
  }
  cpl_status st = CPL_OK;
  for (int i = 0; i < n; i++) {
    char path[PATH_MAX + 256];
    char* text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    bool wanted = st >= 0 && is_wanted(entries[i]->d_name, only, without);
    if (wanted) st = cpli_file_read(files->ctx, path, LARGEST, &text, &size);
    if (wanted && st >= 0) st = add(files, entries[i]->d_name, text, size);
    free(entries[i]);
  }
  free(entries);
  return st;
}
