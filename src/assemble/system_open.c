// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file becomes a system. FMUs of systems have all of this room but this file: they read no
// files.
#include "couplet/assemble.h"

cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out) {
  cpl_system_def* def = NULL;
  *out = NULL;
  cpl_status st = cpl_system_def_read(ctx, path, &def);
  return st < 0 ? st : cpl_system_build_owned(ctx, def, out);
}
