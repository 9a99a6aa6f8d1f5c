// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The call log of a system: one file for all its FMUs, which the outermost system opens.
#include <errno.h>
#include <stdio.h>

#include "assemble/assemble.h"
#include "format/source_loc.h"

cpl_status cpli_calls_open(cpli_built* b, cpli_chain* chain) {
  const char* path = b->def->call_log.text;
  if (path == NULL || chain->calls != NULL) return CPL_OK;
  b->calls = fopen(path, "we");
  if (b->calls == NULL)
    return cpli_fail_file(b->base.ctx, CPL_ERR_INPUT, path, "cannot be written: %s",
                          strerror(errno));
  chain->calls = b->calls;
  chain->n_calls = &b->n_calls;
  return CPL_OK;
}

void cpli_calls_join(const cpli_built* b, const cpli_chain* chain, cpl_open_def* fmu) {
  if (chain->calls == NULL) return;
  fmu->calls = chain->calls;
  fmu->calls_prefix = b->path;
  ++*chain->n_calls;
}

cpl_status cpli_calls_check(const cpli_built* b) {
  if (b->calls == NULL || b->n_calls > 0) return CPL_OK;
  return cpli_fail_file(b->base.ctx, CPL_ERR_INPUT, b->base.path,
                        "it contains no FMU, and only the calls of FMUs can be recorded");
}
