// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The XML files of an FMU. The first byte says which: t terminals, b buildDescription, l a layered
// standard, anything else modelDescription.xml.
#include "fmi/check.h"
#include "fmi/companions.h"
#include "fuzz.h"

static void read_description(cpl_fmu* fmu, const char* text, size_t size) {
  static const cpl_start starts[] = {{"n", "3"}};
  fmu->platform = cpli_fmu_platform();
  fmu->given = starts;
  fmu->n_given = 1;
  if (cpli_fmu_parse(fmu, "fuzz", text, size) < 0) return;
  cpli_findings found;
  cpli_fmu_check(fmu, &found);
  cpli_findings_free(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  cpl_context* ctx = fuzz_context();
  cpl_fmu fmu = {.base = {.ctx = ctx, .path = "fuzz"}};
  cpli_arena_init(&fmu.arena, ctx);
  cpli_findings_init(&fmu.findings, ctx);
  char* text = fuzz_text(data + 1, size - 1);
  const char* companion = data[0] == 't'   ? "terminalsAndIcons/terminalsAndIcons.xml"
                          : data[0] == 'b' ? "sources/buildDescription.xml"
                          : data[0] == 'l' ? "extra/x/fmi-ls-manifest.xml"
                                           : NULL;
  if (companion != NULL) {
    fuzz_fine(ctx, cpli_companion_parse(&fmu, companion, text, size - 1));
  } else {
    read_description(&fmu, text, size - 1);
  }
  cpli_findings_free(&fmu.findings);
  cpli_names_free(&fmu.names);
  cpli_arena_free(&fmu.arena);
  free(text);
  return 0;
}
