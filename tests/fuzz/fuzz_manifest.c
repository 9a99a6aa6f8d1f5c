// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manifest of FMI-LS-DAE, over a description with an array, and the check of both.
#include "fmi/check.h"
#include "fmi/companions.h"
#include "fuzz.h"

static const char description[] =
    "<fmiModelDescription fmiVersion=\"3.0\" modelName=\"m\" instantiationToken=\"t\">"
    "<ModelExchange modelIdentifier=\"m\"/><ModelVariables>"
    "<Float64 name=\"time\" valueReference=\"0\" causality=\"independent\"/>"
    "<Boolean name=\"dae\" valueReference=\"1\" causality=\"structuralParameter\" start=\"false\"/>"
    "<Float64 name=\"x\" valueReference=\"2\" start=\"1\" initial=\"exact\"/>"
    "<Float64 name=\"dx\" valueReference=\"3\" derivative=\"2\"/>"
    "<Float64 name=\"z\" valueReference=\"4\"><Dimension start=\"2\"/></Float64>"
    "<Float64 name=\"g\" valueReference=\"5\"><Dimension start=\"2\"/></Float64>"
    "<Float64 name=\"h\" valueReference=\"6\"/><Float64 name=\"big\" valueReference=\"7\"/>"
    "<Int32 name=\"i\" valueReference=\"8\"/>"
    "</ModelVariables><ModelStructure>"
    "<ContinuousStateDerivative valueReference=\"3\" dependencies=\"2\"/>"
    "<InitialUnknown valueReference=\"3\"/></ModelStructure></fmiModelDescription>";

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  cpl_fmu fmu = {.base = {.ctx = ctx, .path = "fuzz"}, .platform = cpli_fmu_platform()};
  char* text = fuzz_text(data, size);
  cpli_arena_init(&fmu.arena, ctx);
  cpli_findings_init(&fmu.findings, ctx);
  FUZZ_CHECK(cpli_fmu_parse(&fmu, "fuzz", description, sizeof description - 1) >= 0);
  fuzz_fine(ctx, cpli_companion_parse(&fmu, "extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml",
                                      text, size));
  cpli_findings found;
  fuzz_fine(ctx, cpli_fmu_check(&fmu, &found));
  cpli_findings_free(&found);
  cpli_findings_free(&fmu.findings);
  cpli_names_free(&fmu.names);
  cpli_arena_free(&fmu.arena);
  free(text);
  return 0;
}
