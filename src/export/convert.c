// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// cpl_convert(): the endings of both names say what becomes what.
#include "export/convert.h"

#include "assemble/assemble.h"

void cpl_init_convert_def(cpl_convert_def* def, size_t size) {
  const cpl_convert_def all = {.fmi_version = 2};
  cpli_init_def(def, size, &all, sizeof all);
}

static bool ends_with(const char* path, const char* ending) {
  size_t n = strlen(path), m = strlen(ending);
  return n > m && strcmp(path + n - m, ending) == 0;
}

static cpl_status write_system_file(cpl_context* ctx, const cpl_convert_def* def) {
  cpl_system_def* system = NULL;
  cpl_status st = cpl_system_def_read(ctx, def->input, &system);
  if (st >= 0) st = cpl_system_def_write(system, def->output);
  cpl_system_def_destroy(system);
  return st;
}

static const struct form {
  const char* ending;
  cpl_status (*write)(cpl_context* ctx, const cpl_convert_def* def);
} forms[] = {{".ssp", cpli_ssp_build}, {".yaml", write_system_file}, {".yml", write_system_file}};

cpl_status cpl_convert(cpl_context* ctx, const cpl_convert_def* given) {
  cpl_convert_def def = cpl_default_convert_def();
  cpl_status st = cpli_read_def(ctx, "cpl_convert_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.input == NULL || def.output == NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "cpl_convert() needs an input and an output");
  for (size_t i = 0; i < CPLI_COUNT(forms); i++) {
    if (ends_with(def.output, forms[i].ending)) return forms[i].write(ctx, &def);
  }
  return cpli_fail_file(ctx, CPL_ERR_INPUT, def.output,
                        "the name ends neither in .ssp nor in .yaml: what is to be written?");
}
