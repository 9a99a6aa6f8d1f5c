// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// fmi.config, read for a composite model with two sub-models and a line between them.
#include "fuzz_system.h"

static const char composite[] =
    "<Model Name=\"m\"><SubModels>"
    "<SubModel Name=\"l\" ModelFile=\"m.c\" Position=\"0,0,0\" Angle321=\"0,0,0\"/>"
    "<SubModel Name=\"r\" ModelFile=\"m.c\"/>"
    "</SubModels><Connections>"
    "<Connection From=\"l.a\" To=\"r.a\" Delay=\"1e-2\" Zf=\"10\" Zfr=\"1\" alpha=\"0.1\"/>"
    "</Connections><SimulationParams StopTime=\"1\" StartTime=\"0\"/></Model>";

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static bool ready;
  if (!ready) fuzz_file("m.c", "", 0);
  ready = true;
  fuzz_file("fmi.config", data, size);
  fuzz_read_system(fuzz_file("fuzz.xml", composite, sizeof composite - 1));
  return 0;
}
