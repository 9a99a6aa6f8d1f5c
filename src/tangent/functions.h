// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The functions of the C library that models call, with their derivatives.
#pragma once

#include "tangent/tree.h"

typedef enum cpli_tan_sort {
  CPLI_TAN_SMOOTH,    // a function of numbers, with a derivative
  CPLI_TAN_STEP,      // a function of numbers whose derivative is zero
  CPLI_TAN_HARMLESS,  // any arguments, nothing with a derivative
  CPLI_TAN_COPY,      // memcpy, memmove
  CPLI_TAN_FILL,      // memset
} cpli_tan_sort;

typedef struct cpli_tan_function {
  const char* name;
  cpli_tan_sort effect;
  int arguments;     // of smooth ones
  const char* code;  // of smooth ones: the derivative
} cpli_tan_function;

/// By its name, with or without __builtin_. Nullable: it is not known.
const cpli_tan_function* cpli_tan_function_of(const char* name);
/// Its number in the list of all.
size_t cpli_tan_function_number(const cpli_tan_function* f);
const cpli_tan_function* cpli_tan_function_at(size_t number);
enum { CPLI_TAN_MAX_FUNCTIONS = 128 };

typedef struct cpli_tan_builtin {
  const char* name;
  type_kind kind;  // of the result
} cpli_tan_builtin;

/// A function that compilers know without a declaration. Nullable
const cpli_tan_builtin* cpli_tan_builtin_of(const char* name);

/// The text before all generated functions: numbers with a derivative.
extern const char cpli_tan_prelude[];
