// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A composite model of the TLM framework; sub-models share one fmi.config beside it.
#include "fuzz_system.h"

static const char config[] =
    "name, a\ntype, 1D\nposition, 2\nspeed, 3\nforce, 1\n"
    "name, b\ndimensions, 1\ncausality, Output\ndomain, Signal\nvalue, 3\n"
    "name, c\ntype, SignalInput\nvalue, 1\n";

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool ready;
  if (!ready) {
    fuzz_file("fmi.config", config, sizeof config - 1);
    fuzz_file("m.c", "", 0);
    ready = true;
  }
  fuzz_read_system(fuzz_file("fuzz.xml", data, size));
  return 0;
}
