// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fuzz targets: each reads bytes nobody vouches for and must come back without a crash or a leak.
// With clang's libFuzzer they search (make fuzz); with any compiler they replay their corpus.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
