// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file of any definition. The files of a package are copied beside it.
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "couplet/component.h"
#include "couplet/experiment.h"
#include "export/convert.h"
#include "export/plain.h"
#include "format/file.h"
#include "ssp/ssp.h"

typedef struct conversion {
  cpl_context* ctx;
  const cpl_convert_def* def;
  const cpli_built* system;
  cpli_arena arena;
  char folder[PATH_MAX];  // of the output: "" or with a slash at its end
  char files[256];        // folder for copies of files of archives; others stay where they are
  struct copied {
    const char *path, *name;
  } * copied;
  size_t n_copied, cap_copied;
} conversion;

//------------------------------------ files ------------------------------------

static bool has_copy(const void* user, const char* name) {
  const conversion* p = user;
  size_t i = 0;
  while (i < p->n_copied && strcmp(p->copied[i].name, name) != 0) i++;
  return i < p->n_copied;
}

// The name of a copy: that of the file, unless another one has it already.
static cpl_status name_copy(conversion* p, const char* path, const char** out) {
  char text[PATH_MAX], stem[PATH_MAX];
  const char* ending = strrchr(path, '.');
  for (size_t i = 0; i < p->n_copied; i++) {
    *out = p->copied[i].name;
    if (strcmp(p->copied[i].path, path) == 0) return CPL_OK;
  }
  cpli_stem_of(path, stem, sizeof stem);
  if (ending == NULL || strchr(ending, '/') != NULL) ending = "";
  cpli_free_name(p->files, stem, ending, has_copy, p, text);
  if (!cpli_grow(p->ctx, (void**)&p->copied, &p->cap_copied, p->n_copied, sizeof *p->copied))
    return cpli_nomem(p->ctx);
  struct copied one = {cpli_arena_strdup(&p->arena, path), cpli_arena_strdup(&p->arena, text)};
  if (one.path == NULL || one.name == NULL) return cpli_nomem(p->ctx);
  p->copied[p->n_copied++] = one;
  *out = one.name;
  return CPL_OK;
}

static cpl_status write_copy(const conversion* p, const char* path, const char* name) {
  char target[PATH_MAX], *bytes = NULL;
  size_t size;
  if (snprintf(target, sizeof target, "%s%s", p->folder, name) >= (int)sizeof target)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, name, "the path is too long");
  char* end = strrchr(target, '/');
  *end = '\0';
  if (mkdir(target, 0777) != 0 && errno != EEXIST)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, target, "cannot make this folder: %s",
                          strerror(errno));
  *end = '/';
  cpl_status st = cpli_file_read(p->ctx, path, CPLI_LARGEST_FILE, &bytes, &size);
  if (st >= 0) st = cpli_file_make(p->ctx, target, bytes, size);
  cpli_free(p->ctx, bytes);
  return st;
}

// Copies a file of the package: "plant_files/motor.fmu". Behind a '#' is a variant.
static cpl_status copy_file(conversion* p, const char* path, char* out) {
  char file[PATH_MAX];
  const char* name = NULL;
  size_t n = strcspn(path, "#"), before = p->n_copied;
  snprintf(file, sizeof file, "%.*s", (int)n, path);
  cpl_status st = name_copy(p, file, &name);
  if (st >= 0 && p->n_copied > before) st = write_copy(p, file, name);
  if (st >= 0) snprintf(out, PATH_MAX, "%s%s", name, path + n);
  return st;
}

static cpl_status path_of(void* user, const char** kind, const cpli_located_text* path, char* out) {
  conversion* p = user;
  (void)kind;
  const cpli_ssp* ssp = p->system->def->ssp;
  return ssp != NULL && cpli_ssp_is_unpacked(ssp, path->text)
             ? copy_file(p, path->text, out)
             : cpli_relative_path(p->ctx, p->folder, path->text, out);
}

static cpl_status write(conversion* p, const char* output) {
  char stem[200], *text = NULL;
  const char* slash = strrchr(output, '/');
  size_t size = 0;
  cpli_write_def how = {.path = path_of, .user = p};
  if (slash != NULL && (size_t)(slash - output) + 2 > sizeof p->folder)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, output, "the path is too long");
  snprintf(p->folder, sizeof p->folder, "%.*s", slash != NULL ? (int)(slash - output) + 1 : 0,
           output);
  cpli_stem_of(output, stem, sizeof stem);
  snprintf(p->files, sizeof p->files, "%s_files", stem);
  cpl_status st = cpli_plain_text(p->system, &how, &text, &size);
  if (st >= 0) st = cpli_file_make(p->ctx, output, text, size);
  free(text);
  return st;
}

cpl_status cpli_system_file_build(cpl_context* ctx, const cpl_convert_def* def) {
  cpl_source* system = NULL;
  cpl_open_def open = cpl_default_open_def();
  open.path = def->input;
  open.variant = def->variant;
  open.parameters = def->parameters;
  open.n_parameters = def->n_parameters;
  cpl_status st = cpl_open_any(ctx, &open, &system);
  if (st < 0) return st;
  conversion* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p != NULL) {
    *p = (conversion){.ctx = ctx, .def = def, .system = (const cpli_built*)system};
    cpli_arena_init(&p->arena, ctx);
    st = write(p, def->output);
    cpli_arena_free(&p->arena);
    cpli_free(ctx, p->copied);
    cpli_free(ctx, p);
  } else {
    st = cpli_nomem(ctx);
  }
  cpl_source_destroy(system);
  return st;
}
