// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which variables have a derivative. A function is examined once for each set of arguments that
// have one: a variant. Variables that pointers may connect form a class, which has a derivative as
// a whole; classes grow until nothing changes any more.
#pragma once

#include "tangent/functions.h"
#include "tangent/tree.h"

// Classes beside those of the local variables.
typedef enum special {
  SPECIAL_VALUES,   // v->x, v->u, v->z, ...: what derivatives are taken with respect to
  SPECIAL_IDLE,     // v->p, ...: the others
  SPECIAL_MEMORY,   // v->memory
  SPECIAL_LASTING,  // what else outlives the call: variables that are not constant
  SPECIAL_RESULT,   // what the function returns
  N_SPECIAL
} special;

enum { MAX_PARAMETERS = 63, MAX_GLOBALS = 64, MAX_VARIANTS = 5000 };

typedef struct variant {
  function* of;
  bool all;        // with respect to everything else, too
  uint64_t given;  // the arguments that have a derivative, as bits
  int32_t number;  // in the generated text
  bool busy, done, written, changed;
  int32_t* parent;         // of each class; a root is its own parent
  bool *active, *lasting;  // of the roots
  int32_t n_globals;
  symbol* globals[MAX_GLOBALS];  // constants that have a class, behind the special ones
  // what callers have to know
  uint64_t writes;            // arguments through which numbers with derivatives are written
  uint64_t stores;            // arguments through which anything is written
  uint64_t result_of;         // arguments that the result may point to
  bool result_in[N_SPECIAL];  // special classes that it may point to
  bool result_active, entangles;
  bool stores_memory, reads_memory, memory_active;  // v->memory
  bool loads_pointer;                               // a pointer that is in v->memory
  struct variant *next, *waiting;
} variant;

typedef struct analysis {
  source* s;
  int32_t n_variants;
  int64_t work;
} analysis;

/// The variant of a function for these arguments, examined. NULL: refused.
variant* cpli_tan_variant(analysis* a, function* f, bool all, uint64_t given);

/// Of a variant that is examined: whether an expression has a derivative, or points to numbers
/// that have one.
bool cpli_tan_active(analysis* a, const variant* v, const expr* e);
/// Whether a local variable has one.
bool cpli_tan_active_local(const variant* v, const symbol* s);
/// The arguments of a call that have one, as bits. The call is of a function that is defined.
uint64_t cpli_tan_given(analysis* a, const variant* v, const expr* call);
/// The class of what a pointer points to; -1: of nothing that is known, such as NULL.
int32_t cpli_tan_class(analysis* a, variant* v, const expr* e);
/// The function of the C library that is called. Nullable: it is another one
const cpli_tan_function* cpli_tan_known(const analysis* a, const expr* call);
/// The function that is called and defined in the text. Nullable
function* cpli_tan_callee(const expr* call);
