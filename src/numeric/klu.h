// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// KLU, which factorises sparse matrices: a shared library that is loaded when it is first needed
// (its licence is the LGPL). Without its header at build time or the library at run time,
// numeric/sparse.c uses factors of our own.
#pragma once

#include "base/base.h"

#ifdef CPL_KLU
#include <klu.h>

#define CPLI_KLU_FUNCTIONS(X) \
  X(klu_defaults)             \
  X(klu_analyze)              \
  X(klu_analyze_given)        \
  X(klu_factor)               \
  X(klu_refactor)             \
  X(klu_rcond)                \
  X(klu_flops)                \
  X(klu_solve)                \
  X(klu_tsolve)               \
  X(klu_z_factor)             \
  X(klu_z_refactor)           \
  X(klu_z_rcond)              \
  X(klu_z_solve)              \
  X(klu_free_symbolic)        \
  X(klu_free_numeric)         \
  X(klu_z_free_numeric)

typedef struct cpli_klu {
#define X(name) __typeof__(&name) name;
  CPLI_KLU_FUNCTIONS(X)
#undef X
} cpli_klu;
#else
typedef struct cpli_klu cpli_klu;
#endif

/// The functions of the library; NULL: not available, or disabled. Thread-safe.
const cpli_klu* cpli_klu_load(void);
/// Whether cpli_klu_load() returns the library from here on, for tests.
void cpli_klu_use(bool use);
/// "1.3.9 (libklu.so.1)", or the reason why it is not available.
const char* cpli_klu_version(void);
