// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// tlm.config beside the model it is for.
#include "fuzz_system.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool ready;
  if (!ready) {
    fuzz_file("m.c", "", 0);
    fuzz_file("fmi.config", "substeps, 4\n", 12);
    ready = true;
  }
  fuzz_read_system(fuzz_file("tlm.config", data, size));
  return 0;
}
