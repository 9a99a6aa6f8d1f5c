// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// cpl_open(): opens a model by the ending of its name, .fmu or .c, or as a folder with an unpacked
// FMU, and isolates it on request.
#include <errno.h>
#include <sys/stat.h>

#include "base/base.h"
#include "couplet/csource.h"
#include "couplet/fmi.h"
#include "couplet/isolate.h"
#include "couplet/system.h"
#include "format/source_loc.h"
#include "model/probe.h"

static cpl_status open_fmu(cpl_context* ctx, const cpl_open_def* def, cpl_source** out) {
  cpl_fmu_def fmu = cpl_default_fmu_def();
  fmu.path = def->path;
  fmu.call_log = def->call_log;
  fmu.calls = def->calls;
  fmu.calls_prefix = def->calls_prefix;
  fmu.starts = def->starts;
  fmu.n_starts = def->n_starts;
  fmu.call_timeout = def->call_timeout;
  return cpl_fmu_open(ctx, &fmu, out);
}

static cpl_status open_c(cpl_context* ctx, const cpl_open_def* def, cpl_source** out) {
  if (def->call_log != NULL)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def->path, "only the calls of FMUs can be recorded");
  return def->isolate ? cpli_c_open_isolated(ctx, def->path, def->call_timeout, out)
                      : cpl_c_open(ctx, def->path, out);
}

typedef struct format {
  const char* ending;
  cpl_status (*open)(cpl_context* ctx, const cpl_open_def* def, cpl_source** out);
} format;

static const format formats[] = {{".fmu", open_fmu}, {".c", open_c}};

void cpl_init_open_def(cpl_open_def* def, size_t size) {
  const cpl_open_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpl_status open_file(cpl_context* ctx, const cpl_open_def* def, cpl_source** out) {
  struct stat info;
  if (stat(def->path, &info) != 0)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def->path, "%s", strerror(errno));
  if (S_ISDIR(info.st_mode)) return open_fmu(ctx, def, out);
  const char* ending = strrchr(def->path, '.');
  for (size_t i = 0; ending != NULL && i < CPLI_COUNT(formats); i++) {
    if (strcmp(ending, formats[i].ending) == 0) return formats[i].open(ctx, def, out);
  }
  return cpli_fail_file(
      ctx, CPL_ERR_INPUT, def->path,
      "the name ends in none of .fmu, .c, .yaml, .xml, .ssp and .ssd: what is it?");
}

// Instances that run in processes of their own anyway.
static bool is_apart(const cpl_source* source) {
  return strncmp(source->desc->kind, "FMI ", 4) == 0 && cpl_fmu_is_foreign(source);
}

cpl_status cpl_open(cpl_context* ctx, const cpl_open_def* given, cpl_source** out) {
  *out = NULL;
  cpl_open_def def = cpl_default_open_def();
  cpl_status st = cpli_read_def(ctx, "cpl_open_def", given, &def, sizeof def);
  if (st >= 0) st = open_file(ctx, &def, out);
  if (st < 0 || !def.isolate || is_apart(*out)) return st;
  cpl_isolate_def isolate = cpl_default_isolate_def();
  isolate.call_timeout = def.call_timeout;
  cpl_source* inner = *out;
  st = cpl_isolate(inner, &isolate, out);
  if (st < 0) inner->ops->destroy(inner);
  return st;
}
