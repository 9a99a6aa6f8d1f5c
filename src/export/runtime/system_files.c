// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// In the FMU of a system all models were opened from its plan. These functions replace those of the
// library that open files, which need readers of YAML, XML and archives.
#include "base/base.h"
#include "couplet/system.h"
#include "ssp/ssp.h"
#include "system/definition.h"

void cpl_init_open_def(cpl_open_def* def, size_t size) {
  const cpl_open_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_open(cpl_context* ctx, const cpl_open_def* def, cpl_source** out) {
  *out = NULL;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "%s is not part of the plan", def->path);
}

cpl_status cpli_def_read(cpl_context* ctx, const char* path, bool nested, cpl_system_def** out) {
  (void)nested;
  *out = NULL;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED, "%s is not part of the plan", path);
}

bool cpli_is_ssp(const char* path) {
  (void)path;
  return false;
}

void cpli_ssp_close(cpli_ssp* ssp) { (void)ssp; }
