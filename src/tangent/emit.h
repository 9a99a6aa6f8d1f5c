// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The text of generated functions. A variable with a derivative gets a second one of the same type
// beside it, its shadow, in which every number is the derivative of the number at the same place:
// pointers, arrays and structs work as in the original. Expressions become calls of functions on
// pairs of a value and its derivative (cpl_dual), which compilers inline.
#pragma once

#include "tangent/active.h"

typedef struct tan_text {
  cpl_context* ctx;
  char* text;
  size_t size, cap;
  bool failed;
} tan_text;

typedef struct emitter {
  source* s;
  analysis* a;
  tan_text heads, bodies, *out;
  variant* v;  // of the function that is written
  variant* waiting;
  int32_t n_temporaries;
  int32_t keeps;  // the temporary variable for the result of the next call; 0: none
  bool alone;     // a step of a pointer moves this pointer only, not its shadow
  bool in_use[CPLI_TAN_MAX_FUNCTIONS];
} emitter;

CPL_PRINTF(2, 3) void cpli_tan_put(emitter* x, const char* fmt, ...);
void cpli_tan_put_tokens(emitter* x, range r);
/// Tokens with the name at `at` replaced.
CPL_PRINTF(4, 5)
void cpli_tan_put_renamed(emitter* x, range r, uint32_t at, const char* fmt, ...);
/// Writes the variant, later.
void cpli_tan_demand(emitter* x, variant* w);
/// Writes all that are demanded.
void cpli_tan_write_demanded(emitter* x);

/// The expression itself.
void cpli_tan_value(emitter* x, const expr* e);
/// Where its derivative is: of pointers, structs and what can be assigned.
void cpli_tan_shadow(emitter* x, const expr* e);
/// A cpl_dual of a number.
void cpli_tan_dual(emitter* x, const expr* e);
/// The expression as a statement.
void cpli_tan_effect(emitter* x, const expr* e);
/// A call of the variant. The shadow of a result that is a pointer or struct is written to the
/// temporary variable x->keeps.
void cpli_tan_call(emitter* x, const expr* e);
/// The variant that is called. Nullable: the function is not defined in the text
variant* cpli_tan_variant_of(emitter* x, const expr* call);
/// Braces with the shadows of the elements.
void cpli_tan_shadow_list(emitter* x, const expr* list);
/// Whether it changes anything that has a derivative, or has a value computed before.
bool cpli_tan_has_effects(emitter* x, const expr* e);

static inline bool cpli_tan_is_active(emitter* x, const expr* e) {
  return cpli_tan_active(x->a, x->v, e);
}
static inline bool cpli_tan_is_place(const expr* e) {
  return e->kind == EXPR_NAME || e->kind == EXPR_INDEX || e->kind == EXPR_MEMBER ||
         (e->kind == EXPR_UNARY && e->sign == '*');
}
