// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// cpl_convert(): the endings of both names say what becomes what.
#include "export/convert.h"

#include <limits.h>
#include <stdio.h>

#include "format/encoding.h"
#include "format/file.h"
#include "format/source_loc.h"
#include "ssp/ssp.h"

void cpl_init_convert_def(cpl_convert_def* def, size_t size) {
  const cpl_convert_def all = {.fmi_version = 2};
  cpli_init_def(def, size, &all, sizeof all);
}

void cpli_stem_of(const char* path, char* out, size_t size) {
  const char* slash = strrchr(path, '/');
  const char* name = slash != NULL ? slash + 1 : path;
  const char* dot = strrchr(name, '.');
  size_t n = dot != NULL && dot > name ? (size_t)(dot - name) : strlen(name);
  snprintf(out, size, "%.*s", (int)n, name);
}

void cpli_make_portable(char* name) {
  const size_t size = strlen(name);
  for (size_t i = 0; i < size; i++)
    if (strchr("\\:*?\"<>|#", name[i]) != NULL || (unsigned char)name[i] < ' ' || name[i] == 0x7f)
      name[i] = '_';
  for (size_t i = 0; (i += cpli_utf8_prefix(name + i, size - i)) < size; i++) name[i] = '_';
}

void cpli_free_name(const char* folder, const char* stem, const char* ending,
                    bool (*is_taken)(const void* user, const char* name), const void* user,
                    char* out) {
  snprintf(out, PATH_MAX, "%s/%s%s", folder, stem, ending);
  for (int number = 2; is_taken(user, out); number++)
    snprintf(out, PATH_MAX, "%s/%s_%d%s", folder, stem, number, ending);
}

cpl_status cpli_package_build(cpl_context* ctx, const cpl_convert_def* def) {
  cpli_ssp* ssp = NULL;
  if (!cpli_is_ssp(def->input)) return cpli_ssp_build(ctx, def);
  cpl_status st = cpli_ssp_open(ctx, def->input, NULL, NULL, &ssp);
  if (st >= 0) st = cpli_ssp_write(ssp, def->output);
  cpli_ssp_close(ssp);
  return st;
}

static const struct form {
  const char* ending;
  cpl_status (*write)(cpl_context* ctx, const cpl_convert_def* def);
} forms[] = {{".ssp", cpli_package_build},
             {".yaml", cpli_system_file_build},
             {".yml", cpli_system_file_build}};

cpl_status cpl_convert(cpl_context* ctx, const cpl_convert_def* given) {
  cpl_convert_def def = cpl_default_convert_def();
  cpl_status st = cpli_read_def(ctx, "cpl_convert_def", given, &def, sizeof def);
  if (st < 0) return st;
  if (def.input == NULL || def.output == NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "cpl_convert() needs an input and an output");
  bool selects = def.variant != NULL || def.n_parameters > 0;
  if (selects && (!cpli_is_ssp(def.input) || cpli_ends_with(def.output, ".ssp")))
    return cpli_fail_file(
        ctx, CPL_ERR_INPUT, def.input,
        "a variant and parameters are taken where an SSP package becomes a system "
        "file only; packages are written with all of theirs");
  for (size_t i = 0; i < CPLI_COUNT(forms); i++) {
    if (cpli_ends_with(def.output, forms[i].ending)) return forms[i].write(ctx, &def);
  }
  return cpli_fail_file(ctx, CPL_ERR_INPUT, def.output,
                        "the name ends neither in .ssp nor in .yaml: what is to be written?");
}
