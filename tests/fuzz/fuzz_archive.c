// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A whole .fmu: the archive, what is in it, and its check.
#include "couplet/fmi.h"
#include "fmi/check.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = fuzz_file("fuzz.fmu", data, size);
  cpl_source* src = NULL;
  if (fuzz_fine(ctx, cpl_fmu_open(ctx, &def, &src))) {
    cpli_findings found;
    fuzz_fine(ctx, cpli_fmu_check((cpl_fmu*)src, &found));
    cpli_findings_free(&found);
    src->ops->destroy(src);
  }
  return 0;
}
