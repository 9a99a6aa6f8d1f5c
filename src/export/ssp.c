// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An SSP package of a system file: its description, and every file that it needs in resources/.
// Models in C become FMUs, nested systems become packages.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "couplet/component.h"
#include "couplet/export.h"
#include "export/convert.h"
#include "export/ssd.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/zip_writer.h"
#include "ssp/ssp.h"

// A file in the package.
typedef struct resource {
  char* origin;  // canonical path of the file that it was made of
  char* name;    // "resources/pump.fmu"
  char* bytes;
  size_t size;
} resource;

typedef struct package {
  cpl_context* ctx;
  const cpl_convert_def* def;
  char* folder;  // temporary
  resource* items;
  size_t n, cap;
} package;

// What becomes of a file: the key of the model in a package, and the ending of its name.
static const struct form {
  const char *kind, *in_package, *ending;
} forms[] = {{"fmu", "fmu", ".fmu"}, {"c", "fmu", ".fmu"}, {"system", "system", ".ssp"}};

//------------------------------------ names ------------------------------------

static bool has_file(const void* user, const char* name) {
  const package* p = user;
  size_t i = 0;
  while (i < p->n && strcmp(p->items[i].name, name) != 0) i++;
  return i < p->n;
}

// Characters that need an escape in a URI are replaced.
static void make_name(const package* p, const char* path, const char* ending, char* out) {
  char stem[200];
  const char* dot = strrchr(path, '.');
  cpli_stem_of(path, stem, sizeof stem);
  for (char* c = stem; *c != '\0'; c++) {
    bool plain = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
                 strchr("-_.", *c) != NULL;
    if (!plain) *c = '_';
  }
  if (ending == NULL) ending = dot != NULL && strlen(dot) < 8 ? dot : "";
  cpli_free_name("resources", stem, ending, has_file, p, out);
}

//------------------------------------ files ------------------------------------

// Makes the file that goes into the package; `out` has PATH_MAX bytes.
static cpl_status convert(package* p, const struct form* form, const char* path, char* out) {
  snprintf(out, PATH_MAX, "%s/%zu%s", p->folder, p->n, form->ending);
  if (strcmp(form->kind, "c") == 0) {
    cpl_build_def build = cpl_default_build_def();
    build.model = path;
    build.fmi_version = p->def->fmi_version;
    build.output = out;
    return cpl_fmu_build(p->ctx, &build, NULL, 0);
  }
  cpl_convert_def nested = *p->def;
  nested.input = path;
  nested.output = out;
  return cpli_package_build(p->ctx, &nested);
}

// Takes over `origin`.
static cpl_status add(package* p, const struct form* form, const char* path, char* origin) {
  char made[PATH_MAX], name[PATH_MAX];
  cpl_status st = CPL_OK;
  bool as_it_is = form == NULL || strcmp(form->kind, "fmu") == 0;
  if (!cpli_grow(p->ctx, (void**)&p->items, &p->cap, p->n, sizeof *p->items))
    st = cpli_nomem(p->ctx);
  if (st >= 0 && !as_it_is) st = convert(p, form, path, made);
  resource item = {.origin = origin};
  if (st >= 0)
    st = cpli_file_read(p->ctx, as_it_is ? path : made, CPLI_LARGEST_FILE, &item.bytes, &item.size);
  make_name(p, path, form != NULL ? form->ending : NULL, name);
  item.name = strdup(name);
  if (st >= 0 && item.name == NULL) st = cpli_nomem(p->ctx);
  if (st >= 0) {
    p->items[p->n++] = item;
    return CPL_OK;
  }
  cpli_free(p->ctx, item.bytes);
  free(item.name);
  free(origin);
  return st;
}

static cpl_status file_in_package(void* user, const char** kind, const cpli_located_text* path,
                                  char* out) {
  package* p = user;
  const struct form* form = NULL;
  for (size_t i = 0; *kind != NULL && i < CPLI_COUNT(forms); i++) {
    if (strcmp(forms[i].kind, *kind) == 0) form = &forms[i];
  }
  // behind a '#' is a variant of a package
  char file[PATH_MAX];
  const char* variant = cpli_is_ssp(path->text) ? strchr(path->text, '#') : NULL;
  size_t n = variant != NULL ? (size_t)(variant - path->text) : strlen(path->text), i = 0;
  snprintf(file, sizeof file, "%.*s", (int)n, path->text);
  char* origin = realpath(file, NULL);
  if (origin == NULL)
    return cpli_fail_at(p->ctx, CPL_ERR_INPUT, &path->loc, "%s: %s", file, strerror(errno));
  while (i < p->n && strcmp(p->items[i].origin, origin) != 0) i++;
  cpl_status st = CPL_OK;
  if (i == p->n) st = add(p, form, file, origin);
  else free(origin);
  if (st < 0) return st;
  snprintf(out, PATH_MAX, "%s%s", p->items[i].name, variant != NULL ? variant : "");
  if (form != NULL) *kind = form->in_package;
  return CPL_OK;
}

//------------------------------------ the package ------------------------------------

static cpl_status write_package(package* p, const char* ssd, size_t size) {
  cpli_zip_entry* entries = cpli_alloc(p->ctx, p->n + 1, sizeof *entries);
  if (entries == NULL) return cpli_nomem(p->ctx);
  entries[0] = (cpli_zip_entry){.name = "SystemStructure.ssd", .bytes = ssd, .size = size};
  for (size_t i = 0; i < p->n; i++)
    entries[i + 1] = (cpli_zip_entry){
        .name = p->items[i].name, .bytes = p->items[i].bytes, .size = p->items[i].size};
  cpl_status st = cpli_zip_write(p->ctx, p->def->output, entries, p->n + 1);
  cpli_free(p->ctx, entries);
  return st;
}

static cpl_status build(package* p, const cpl_source* system) {
  char name[200];
  cpli_writer text = {.ctx = p->ctx};
  cpli_stem_of(p->def->input, name, sizeof name);
  cpli_ssd_def def = {
      .system = (const cpli_built*)system, .name = name, .file = file_in_package, .user = p};
  cpl_status st = cpli_temp_folder_make(p->ctx, &p->folder);
  if (st >= 0) st = cpli_ssd_write(&text, &def);
  if (st >= 0) st = write_package(p, text.text, text.len);
  cpli_writer_free(&text);
  cpli_temp_folder_remove(p->ctx, p->folder);
  cpli_free(p->ctx, p->folder);
  for (size_t i = 0; i < p->n; i++) {
    cpli_free(p->ctx, p->items[i].bytes);
    free(p->items[i].name);
    free(p->items[i].origin);
  }
  cpli_free(p->ctx, p->items);
  return st;
}

cpl_status cpli_ssp_build(cpl_context* ctx, const cpl_convert_def* def) {
  cpl_source* system = NULL;
  cpl_status st = cpl_system_open(ctx, def->input, &system);
  package p = {.ctx = ctx, .def = def};
  if (st >= 0) st = build(&p, system);
  cpl_source_destroy(system);
  return st;
}
