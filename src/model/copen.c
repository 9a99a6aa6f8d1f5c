// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens a model in C by its source: it is compiled (compiled.c) and loaded (csource.c).
#include <errno.h>
#include <unistd.h>

#include "couplet/csource.h"
#include "format/source_loc.h"
#include "model/compiled.h"
#include "model/csource.h"
#include "model/probe.h"

static cpl_status open_hosted(cpl_context* ctx, const char* path, cpli_cmodel_host host,
                              cpl_source** out) {
  char* library = NULL;
  *out = NULL;
  if (access(path, R_OK) != 0)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path, "%s", strerror(errno));
  cpl_status st = cpli_compiled(ctx, path, &library);
  cpli_c_library from = {.path = path, .library = library, .host = host};
  if (st >= 0) st = cpli_c_open_library(ctx, &from, out);
  cpli_free(ctx, library);
  return st;
}

cpl_status cpl_c_open(cpl_context* ctx, const char* path, cpl_source** out) {
  return open_hosted(ctx, path, (cpli_cmodel_host){0}, out);
}

cpl_status cpli_c_open_isolated(cpl_context* ctx, const char* path, double call_timeout,
                                cpl_source** out) {
  return open_hosted(
      ctx, path, (cpli_cmodel_host){.in_child = cpli_probe_isolated, .call_timeout = call_timeout},
      out);
}
