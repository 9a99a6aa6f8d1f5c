// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Locates where root functions first change their sign in an interval at whose end some of them
// have changed.
#pragma once

#include "base/base.h"

typedef struct cpli_search {
  size_t n;          // root functions
  double high;       // length of the interval; then: the shortest length found that shows a change
  double tiny;       // accuracy of it
  double guess;      // the first try; 0: none
  const double* z0;  // at the beginning
  double* z1;        // at the end; then: at the shortest length
  double *low_z, *try_z;  // scratch
  void* user;
  /// The root functions at the length h.
  cpl_status (*attempt)(void* user, double h, double* z);
} cpli_search;

bool cpli_changed_sign(const double* a, const double* b, size_t n);
/// Shortens k->high until a length any shorter than by k->tiny changes no sign, and tells which
/// functions did.
cpl_status cpli_locate(cpli_search* k, int8_t* crossed);
