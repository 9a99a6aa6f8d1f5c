// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Root finding: locates the first change of sign of several functions in an interval at whose end
// some of them have changed.
#pragma once

#include "base/base.h"

typedef struct cpli_search {
  size_t n;          // number of root functions
  double high;       // length of the interval; on return: the shortest length found with a change
  double tiny;       // its accuracy
  double guess;      // initial guess; 0: none
  const double* z0;  // at the beginning
  double* z1;        // at the end; on return: at the shortest length
  double *low_z, *try_z;  // scratch
  void* user;
  /// The root functions at the length h.
  cpl_status (*attempt)(void* user, double h, double* z);
} cpli_search;

bool cpli_changed_sign(const double* a, const double* b, size_t n);
/// Shortens k->high until no length shorter by more than k->tiny changes a sign, and tells which
/// functions changed.
cpl_status cpli_locate(cpli_search* k, int8_t* crossed);
