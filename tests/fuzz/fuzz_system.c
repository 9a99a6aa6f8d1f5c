// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system file, with a nested system and a table beside it.
#include "fuzz_system.h"

static const char inner[] =
    "couplet: 1\n"
    "inputs: {u: {start: 1, unit: N}, w: sin(time)}\n"
    "parameters: {k: 2}\n"
    "outputs: {y: k*u + w, z: if u > 0 then u else 0}\n";
static const char table[] = "time,a,b [cm]\n0,1,2\n1,2,3\n1,4,3\n2,1,1\n";

// libfyaml 0.7 itself loses 4 KB where a long quoted text is not ended.
const char* __lsan_default_suppressions(void);
const char* __lsan_default_suppressions(void) { return "leak:libfyaml\n"; }

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool ready;
  if (!ready) {
    fuzz_file("inner.yaml", inner, sizeof inner - 1);
    fuzz_file("t.csv", table, sizeof table - 1);
    ready = true;
  }
  fuzz_read_system(fuzz_file("fuzz.yaml", data, size));
  return 0;
}
