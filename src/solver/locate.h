// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Where root functions first change their sign within a step, for solvers that take shorter steps
// from its beginning to find out.
#pragma once

#include "solver/solver.h"

typedef struct cpli_search {
  size_t n;      // root functions
  double high;   // the step, at whose end some have changed; then: the shortest such step found
  double tiny;   // no closer than that
  double guess;  // the first try; 0: none
  double* z0;    // at the beginning
  double* z1;    // at the end; then: at the end of the shortest step
  double *low_z, *try_z;  // scratch
  void* user;
  /// A step of length h, and the root functions at its end.
  cpl_status (*attempt)(void* user, double h, double* z);
} cpli_search;

bool cpli_changed_sign(const double* a, const double* b, size_t n);
/// Shortens k->high until a step any shorter than by k->tiny changes no sign, and says which did.
cpl_status cpli_locate(cpli_search* k, int8_t* crossed);
