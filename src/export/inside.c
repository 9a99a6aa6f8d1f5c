// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Looks into FMUs of systems: at the system file inside, and for errors in the system and in its
// FMUs, which are unpacked for that.
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "couplet/check.h"
#include "couplet/export.h"
#include "export/plan.h"
#include "format/file.h"
#include "format/folder.h"
#include "format/zip.h"

enum { LARGEST_TEXT = 1 << 26, LARGEST_PLAN = 1 << 30 };
static const char plan_name[] = "resources/" CPLI_PLAN_FILE;
static const char system_name[] = "resources/system.yaml";

cpl_status cpl_fmu_system_text(cpl_context* ctx, const char* fmu, char** out) {
  cpli_zip* zip = NULL;
  char* text = NULL;
  size_t size = 0;
  *out = NULL;
  if (!cpli_ends_with(fmu, ".fmu")) return CPL_OK;
  cpl_status st = cpli_zip_open(ctx, fmu, NULL, &zip);
  if (st >= 0 && cpli_zip_has(zip, plan_name) && cpli_zip_has(zip, system_name))
    st = cpli_zip_read(zip, system_name, LARGEST_TEXT, &text, &size);
  if (st >= 0 && text != NULL) {
    *out = strdup(text);
    if (*out == NULL) st = cpli_nomem(ctx);
  }
  cpli_free(ctx, text);
  cpli_zip_close(zip);
  return st;
}

//------------------------------------ findings ------------------------------------

typedef struct inside {
  const cpl_check_def* def;
  const char* folder;  // of the unpacked system
} inside;

// Names the file as it is in the FMU.
static void pass_on(void* user, const cpl_finding* given) {
  const inside* in = user;
  cpl_finding f = *given;
  char file[2 * PATH_MAX], text[4096];
  size_t n = strlen(in->folder);
  const char* below = f.file != NULL ? f.file : "";
  if (strncmp(below, in->folder, n) == 0) below += n;
  snprintf(file, sizeof file, "%s/resources%s", in->def->path, below);
  f.file = file;
  const char* path = strstr(f.text, in->folder);  // the folder is gone when the text is read
  if (path != NULL) {
    snprintf(text, sizeof text, "%.*sresources%s", (int)(path - f.text), f.text, path + n);
    f.text = text;
  }
  if (in->def->on_finding != NULL) in->def->on_finding(in->def->user, &f);
}

typedef struct one_file {
  const inside* in;
  const char* path;
} one_file;

static void name_file(void* user, const cpl_finding* given) {
  const one_file* one = user;
  cpl_finding f = *given;
  char file[PATH_MAX + 32];
  snprintf(file, sizeof file, "%s%s", one->path,
           cpli_ends_with(one->path, ".fmu") && f.line > 0 ? "/modelDescription.xml" : "");
  if (f.file == NULL) f.file = file;
  pass_on((void*)one->in, &f);
}

static cpl_status check_one(cpl_context* ctx, const inside* in, const char* name) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", in->folder, name) >= (int)sizeof path) return CPL_OK;
  one_file one = {in, path};
  cpl_check_def def = *in->def;
  def.path = path;
  def.on_finding = name_file;
  def.user = &one;
  return cpl_check(ctx, &def, NULL);
}

static cpl_status check_fmus(cpl_context* ctx, const inside* in) {
  char folder[PATH_MAX];
  struct dirent** entries = NULL;
  snprintf(folder, sizeof folder, "%s/fmus", in->folder);
  int n = scandir(folder, &entries, NULL, alphasort);  // -1: the system has none
  cpl_status st = CPL_OK;
  for (int i = 0; i < n; i++) {
    char name[512];
    snprintf(name, sizeof name, "fmus/%s", entries[i]->d_name);
    if (st >= 0 && cpli_ends_with(name, ".fmu")) st = check_one(ctx, in, name);
    free(entries[i]);
  }
  free(entries);
  return st;
}

// The binary reads the plan, not the system file.
static cpl_status check_plan(cpl_context* ctx, const cpl_check_def* def) {
  cpli_zip* zip = NULL;
  char* bytes = NULL;
  size_t size = 0;
  cpli_arena arena;
  cpli_plan plan;
  cpli_arena_init(&arena, ctx);
  cpl_status st = cpli_zip_open(ctx, def->path, NULL, &zip);
  if (st >= 0) st = cpli_zip_read(zip, plan_name, LARGEST_PLAN, &bytes, &size);
  if (st >= 0) st = cpli_plan_read(ctx, &arena, (const unsigned char*)bytes, size, &plan);
  cpli_free(ctx, bytes);
  cpli_zip_close(zip);
  cpli_arena_free(&arena);
  if (st >= 0 || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  char file[PATH_MAX];
  snprintf(file, sizeof file, "%s/%s", def->path, plan_name);
  cpl_finding f = {.error = true, .rule = "plan", .text = cpl_context_error(ctx), .file = file};
  if (def->on_finding != NULL) def->on_finding(def->user, &f);
  return CPL_OK;
}

cpl_status cpl_fmu_check_system(cpl_context* ctx, const cpl_check_def* given) {
  char* text = NULL;
  char* folder = NULL;
  cpl_check_def def = cpl_default_check_def();
  cpl_status st = cpli_read_def(ctx, "cpl_check_def", given, &def, sizeof def);
  if (st >= 0) st = cpl_fmu_system_text(ctx, def.path, &text);
  if (st < 0 || text == NULL) return st;
  free(text);
  st = cpli_temp_folder_make(ctx, &folder);
  if (st < 0) return st;
  const inside in = {&def, folder};
  st = check_plan(ctx, &def);
  if (st >= 0) st = cpl_fmu_unpack(ctx, def.path, folder);
  if (st >= 0) st = check_one(ctx, &in, "system.yaml");
  if (st >= 0) st = check_fmus(ctx, &in);
  cpli_temp_folder_remove(ctx, folder);
  cpli_free(ctx, folder);
  return st;
}
