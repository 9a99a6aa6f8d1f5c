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
#include <sys/stat.h>

#include "base/process.h"
#include "export/convert.h"
#include "format/file.h"
#include "format/source_loc.h"
#include "format/zip.h"
#include "model/compiled.h"
#include "model/csource.h"
#include "tangent/result.h"
#include "tangent/tangent.h"

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

cpl_status cpli_collect_bytes(cpli_source_files* files, const char* name, char* bytes,
                              size_t size) {
  return add(files, name, bytes, size);
}

// What every FMU has does not replace what the model has.
static cpl_status check_free(const cpli_source_files* files, const char* name) {
  for (size_t i = 0; i < files->n; i++) {
    if (strcmp(files->items[i].name, name) == 0)
      return cpl_fail(files->ctx, CPL_ERR_INPUT,
                      "%s is also the name of a file that every FMU has: rename that of the model",
                      name);
  }
  return CPL_OK;
}

cpl_status cpli_collect_text(cpli_source_files* files, const char* name, const char* text) {
  cpl_status st = check_free(files, name);
  if (st < 0) return st;
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

static cpl_status add_own(cpli_source_files* files, const char* path, const char* name,
                          bool rename_include) {
  char* text = NULL;
  size_t size = 0;
  cpl_status st = cpli_file_read(files->ctx, path, LARGEST, &text, &size);
  if (st < 0) return st;
  if (rename_include) rewrite_includes(text, &size);
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
                              const char* include, bool rename_include) {
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
    cpl_status st = add_own(files, path, path + n + 1, rename_include);
    if (st < 0) return st;
  }
  return CPL_OK;
}

cpl_status cpli_collect_model(cpli_source_files* files, const char* model, const char* include,
                              const char* work_folder, bool rename_include) {
  char rule_path[PATH_MAX], name[NAME_MAX + 1];
  char* rule = NULL;
  size_t size = 0;
  const char* slash = strrchr(model, '/');
  snprintf(rule_path, sizeof rule_path, "%s/headers.d", work_folder);
  snprintf(name, sizeof name, "%s", slash != NULL ? slash + 1 : model);
  cpli_make_portable(name);
  char* argument = cpli_file_argument(files->ctx, model);
  if (argument == NULL) return cpli_nomem(files->ctx);
  const char* args[] = {"-std=c17", "-MM", "-MT",     "model",  "-I",
                        include,    "-o",  rule_path, argument, NULL};
  cpl_status st = add_own(files, model, name, rename_include);
  if (st >= 0) st = cpli_run_compiler(files->ctx, model, args);
  if (st >= 0) st = cpli_file_read(files->ctx, rule_path, LARGEST, &rule, &size);
  if (st >= 0) st = add_headers(files, rule, model, include, rename_include);
  cpli_free(files->ctx, rule);
  cpli_free(files->ctx, argument);
  return st;
}

//------------------------------------ its tangent functions ------------------------------------

// What macros of <math.h> became when the source was preprocessed is macros again.
static void use_macros(char* text) {
  static const struct {
    const char *from, *to;
  } macros[] = {{"__builtin_inff ( )", "INFINITY"},
                {"__builtin_inf ( )", "INFINITY"},
                {"__builtin_huge_val ( )", "HUGE_VAL"},
                {"__builtin_nanf ( \"\" )", "NAN"},
                {"__builtin_isinf_sign", "isinf"},
                {CPLI_TANGENT_VISIBLE, "CPL_MODEL_EXPORT"},
                {"__builtin_", ""}};
  char* to = text;
  for (const char* from = text; *from != '\0';) {
    size_t i = 0;
    while (i < CPLI_COUNT(macros) && strncmp(from, macros[i].from, strlen(macros[i].from)) != 0)
      i++;
    if (i == CPLI_COUNT(macros)) {
      *to++ = *from++;
      continue;
    }
    const size_t n = strlen(macros[i].to);
    memcpy(to, macros[i].to, n);
    to += n;
    from += strlen(macros[i].from);
  }
  *to = '\0';
}

cpl_status cpli_model_tangent_text(const cpl_source* model, char** out) {
  const cpl_model_tangent* t = cpli_c_tangent(model);
  *out = NULL;
  if (t == NULL || t->why != NULL) {
    cpli_tangent_text none;
    cpl_status st = cpli_tangent_none(model->ctx, t != NULL ? t->why : "differences", &none);
    *out = none.text;
    return st;
  }
  cpl_status st = cpli_compiled_tangent(model->ctx, model->path, out);
  if (st >= 0) use_macros(*out);
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
    if (wanted) st = check_free(files, entries[i]->d_name);
    if (wanted && st >= 0) st = cpli_file_read(files->ctx, path, LARGEST, &text, &size);
    if (wanted && st >= 0) st = add(files, entries[i]->d_name, text, size);
    free(entries[i]);
  }
  free(entries);
  return st;
}

//------------------------------------ trees ------------------------------------

static cpl_status add_below(cpli_source_files* files, const char* below, const char* name,
                            char* bytes, size_t size) {
  char* whole = cpli_printf(files->ctx, "%s/%s", below, name);
  if (whole == NULL) cpli_free(files->ctx, bytes);
  cpl_status st = whole != NULL ? add(files, whole, bytes, size) : cpli_nomem(files->ctx);
  cpli_free(files->ctx, whole);
  return st;
}

cpl_status cpli_collect_archive(cpli_source_files* files, const char* path, const char* below) {
  cpli_zip* zip = NULL;
  cpli_names known = {0};  // some archives have an entry twice
  cpl_status st = cpli_zip_open(files->ctx, path, NULL, &zip);
  if (st >= 0) st = cpli_names_init(&known, files->ctx, cpli_zip_count(zip));
  for (size_t i = 0; st >= 0 && i < cpli_zip_count(zip); i++) {
    const char* name = cpli_zip_name(zip, i);
    char* bytes = NULL;
    size_t size = 0;
    if (name[0] == '\0' || name[strlen(name) - 1] == '/') continue;
    int32_t first = cpli_names_add(&known, name, (int32_t)i);
    if (first == CPL_ERR_NOMEM) st = cpli_nomem(files->ctx);
    if (first != (int32_t)i) continue;
    st = cpli_zip_read(zip, name, CPLI_LARGEST_FILE, &bytes, &size);
    if (st >= 0) st = add_below(files, below, name, bytes, size);
  }
  cpli_names_free(&known);
  cpli_zip_close(zip);
  return st;
}

static cpl_status add_entry(cpli_source_files* files, const char* path, const char* below,
                            const char* name, int depth);

static cpl_status add_folder(cpli_source_files* files, const char* folder, const char* below,
                             int depth) {
  enum { DEEPEST = 64 };
  struct dirent** entries = NULL;
  int n = depth < DEEPEST ? scandir(folder, &entries, NULL, by_bytes) : -1;
  if (n < 0)
    return cpli_fail_file(files->ctx, CPL_ERR_INPUT, folder, "cannot be read: %s",
                          depth < DEEPEST ? strerror(errno) : "folders inside each other");
  cpl_status st = CPL_OK;
  for (int i = 0; i < n; i++) {
    const char* name = entries[i]->d_name;
    bool real = strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    char* path = real && st >= 0 ? cpli_printf(files->ctx, "%s/%s", folder, name) : NULL;
    if (real && st >= 0)
      st = path != NULL ? add_entry(files, path, below, name, depth) : cpli_nomem(files->ctx);
    cpli_free(files->ctx, path);
    free(entries[i]);
  }
  free(entries);
  return st;
}

static cpl_status add_entry(cpli_source_files* files, const char* path, const char* below,
                            const char* name, int depth) {
  struct stat info;
  char* bytes = NULL;
  size_t size = 0;
  if (stat(path, &info) != 0)
    return cpli_fail_file(files->ctx, CPL_ERR_INPUT, path, "%s", strerror(errno));
  if (S_ISDIR(info.st_mode)) {
    char* deeper = cpli_printf(files->ctx, "%s/%s", below, name);
    cpl_status st =
        deeper != NULL ? add_folder(files, path, deeper, depth + 1) : cpli_nomem(files->ctx);
    cpli_free(files->ctx, deeper);
    return st;
  }
  cpl_status st = cpli_file_read(files->ctx, path, CPLI_LARGEST_FILE, &bytes, &size);
  return st < 0 ? st : add_below(files, below, name, bytes, size);
}

cpl_status cpli_collect_tree(cpli_source_files* files, const char* folder, const char* below) {
  return add_folder(files, folder, below, 0);
}
