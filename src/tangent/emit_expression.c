// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Expressions of generated functions. What has no derivative and no effect is copied.
#include <stdio.h>

#include "tangent/emit.h"

static const char* sign_text(uint32_t sign, char four[4]) {
  for (int i = 0; i < 4; i++) four[i] = (char)(sign >> 8 * i);
  return four;
}

variant* cpli_tan_variant_of(emitter* x, const expr* call) {
  if (cpli_tan_known(x->a, call) != NULL) return NULL;
  function* f = cpli_tan_callee(call);
  return f != NULL ? cpli_tan_variant(x->a, f, x->v->all, cpli_tan_given(x->a, x->v, call)) : NULL;
}

//------------------------------------ effects ------------------------------------

static bool call_has_effects(emitter* x, const expr* e) {
  const cpli_tan_function* known = cpli_tan_known(x->a, e);
  if (known != NULL) {
    const bool memory = known->effect == CPLI_TAN_COPY || known->effect == CPLI_TAN_FILL;
    return memory && cpli_tan_is_active(x, e->list);
  }
  const variant* w = cpli_tan_variant_of(x, e);
  return w != NULL && (w->writes != 0 || w->stores_memory);
}

bool cpli_tan_has_effects(emitter* x, const expr* e) {
  if (e == NULL) return false;
  if (e->temporary > 0) return true;
  if ((e->kind == EXPR_ASSIGN || e->kind == EXPR_STEP) && cpli_tan_is_active(x, e->a)) return true;
  if (e->kind == EXPR_CALL && call_has_effects(x, e)) return true;
  for (const expr* item = e->list; item != NULL; item = item->next)
    if (cpli_tan_has_effects(x, item)) return true;
  return cpli_tan_has_effects(x, e->a) || cpli_tan_has_effects(x, e->b) ||
         cpli_tan_has_effects(x, e->c);
}

// What is written twice must not change anything, except for steps of pointers that have a shadow,
// which are written once each.
static void check_repeatable(emitter* x, const expr* e, bool steps) {
  if (e == NULL || e->temporary > 0) return;
  const bool step =
      e->kind == EXPR_STEP && steps && is_pointer(e->type) && cpli_tan_is_active(x, e->a);
  const variant* w = e->kind == EXPR_CALL ? cpli_tan_variant_of(x, e) : NULL;
  if (e->kind == EXPR_ASSIGN || (e->kind == EXPR_STEP && !step) ||
      (w != NULL && (w->stores != 0 || w->writes != 0 || w->stores_memory)))
    cpli_tan_refuse(x->s, e->all.first, "an effect inside of an expression");
  for (const expr* item = e->list; item != NULL; item = item->next)
    check_repeatable(x, item, steps);
  check_repeatable(x, e->a, steps);
  check_repeatable(x, e->b, steps);
  check_repeatable(x, e->c, steps);
}

//------------------------------------ values ------------------------------------

// Without the shadow of a step.
static void value_alone(emitter* x, const expr* e) {
  const bool before = x->alone;
  x->alone = true;
  cpli_tan_value(x, e);
  x->alone = before;
}

static void shadow_alone(emitter* x, const expr* e) {
  const bool before = x->alone;
  x->alone = true;
  cpli_tan_shadow(x, e);
  x->alone = before;
}

static void list_value(emitter* x, const expr* list) {
  cpli_tan_put(x, "{");
  for (const expr* e = list->list; e != NULL; e = e->next) {
    cpli_tan_put_tokens(x, e->designator);
    cpli_tan_value(x, e);
    if (e->next != NULL) cpli_tan_put(x, ", ");
  }
  cpli_tan_put(x, "}");
}

static void put_type(emitter* x, const expr* e) {
  cpli_tan_put(x, "(");
  cpli_tan_put_tokens(x, e->type_name);
  cpli_tan_put(x, ")");
}

static void step_value(emitter* x, const expr* e) {
  char sign[4];
  const char* s = sign_text(e->sign, sign);
  const bool both = !x->alone && is_pointer(e->type) && cpli_tan_is_active(x, e->a);
  if (both) {
    check_repeatable(x, e->a, false);
    cpli_tan_put(x, "(");
    shadow_alone(x, e->a);
    cpli_tan_put(x, "%s, ", s);
  }
  cpli_tan_put(x, e->prefix ? "(%s" : "(", s);
  cpli_tan_value(x, e->a);
  cpli_tan_put(x, e->prefix ? ")" : "%s)", s);
  if (both) cpli_tan_put(x, ")");
}

static void call_value(emitter* x, const expr* e) {
  if (call_has_effects(x, e)) {
    const variant* w = cpli_tan_variant_of(x, e);
    cpli_tan_call(x, e);
    if (w != NULL && w->result_active) cpli_tan_put(x, ".v");
    return;
  }
  cpli_tan_value(x, e->a);
  cpli_tan_put(x, "(");
  for (const expr* arg = e->list; arg != NULL; arg = arg->next) {
    cpli_tan_value(x, arg);
    if (arg->next != NULL) cpli_tan_put(x, ", ");
  }
  cpli_tan_put(x, ")");
}

static void assigned_value(emitter* x, const expr* e) {
  if (!cpli_tan_is_active(x, e->a)) {
    char sign[4];
    cpli_tan_put(x, "(");
    cpli_tan_value(x, e->a);
    cpli_tan_put(x, " %s ", sign_text(e->sign, sign));
    cpli_tan_value(x, e->b);
    cpli_tan_put(x, ")");
  } else if (e->type->kind == TYPE_REAL) {
    cpli_tan_dual(x, e);
    cpli_tan_put(x, ".v");
  } else {
    cpli_tan_refuse(x->s, e->all.first, "an assignment inside of an expression");
  }
}

static void composed_value(emitter* x, const expr* e) {
  char sign[4];
  const char* s = sign_text(e->sign, sign);
  switch (e->kind) {
    case EXPR_INDEX:
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, "[");
      cpli_tan_value(x, e->b);
      cpli_tan_put(x, "]");
      break;
    case EXPR_MEMBER:
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, e->arrow ? "->%s" : ".%s", x->s->name_text[e->name]);
      break;
    case EXPR_UNARY:
      cpli_tan_put(x, "(%s ", s);
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, ")");
      break;
    case EXPR_CAST:
      cpli_tan_put(x, "(");
      put_type(x, e);
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, ")");
      break;
    case EXPR_BINARY:
      cpli_tan_put(x, "(");
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, " %s ", s);
      cpli_tan_value(x, e->b);
      cpli_tan_put(x, ")");
      break;
    case EXPR_CHOICE:
      cpli_tan_put(x, "(");
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, " ? ");
      cpli_tan_value(x, e->b);
      cpli_tan_put(x, " : ");
      cpli_tan_value(x, e->c);
      cpli_tan_put(x, ")");
      break;
    case EXPR_COMMA:
      cpli_tan_put(x, "(");
      cpli_tan_effect(x, e->a);
      cpli_tan_put(x, ", ");
      cpli_tan_value(x, e->b);
      cpli_tan_put(x, ")");
      break;
    case EXPR_LITERAL:
      put_type(x, e);
      list_value(x, e->a);
      break;
    default: break;
  }
}

void cpli_tan_value(emitter* x, const expr* e) {
  const bool place = e->kind == EXPR_NAME || e->kind == EXPR_NUMBER;
  const char* part = e->type->kind == TYPE_REAL ? ".v" : "";
  if (e->temporary > 0) cpli_tan_put(x, "cpl_t%d%s", (int)e->temporary, part);
  else if (e->kind == EXPR_LIST) list_value(x, e);
  else if (!cpli_tan_has_effects(x, e)) {
    if (!place) cpli_tan_put(x, "(");
    cpli_tan_put_tokens(x, e->all);
    if (!place) cpli_tan_put(x, ")");
  } else if (e->kind == EXPR_STEP) step_value(x, e);
  else if (e->kind == EXPR_CALL) call_value(x, e);
  else if (e->kind == EXPR_ASSIGN) assigned_value(x, e);
  else composed_value(x, e);
}

//------------------------------------ shadows ------------------------------------

void cpli_tan_shadow_list(emitter* x, const expr* list) {
  cpli_tan_put(x, "{");
  for (const expr* e = list->list; e != NULL; e = e->next) {
    cpli_tan_put_tokens(x, e->designator);
    const bool active = e->kind != EXPR_LIST && cpli_tan_is_active(x, e);
    if (e->kind == EXPR_LIST) cpli_tan_shadow_list(x, e);
    else if (e->temporary > 0)
      cpli_tan_put(x, e->type->kind == TYPE_REAL ? "cpl_t%d.d" : "cpl_t%d_d", (int)e->temporary);
    else if (e->type->kind == TYPE_RECORD && !active)
      cpli_tan_refuse(x->s, e->all.first, "a struct inside of a list");
    else if (!active) cpli_tan_put(x, "0");
    else if (e->type->kind != TYPE_REAL || cpli_tan_is_place(e)) {
      check_repeatable(x, e, false);
      cpli_tan_shadow(x, e);
    } else {
      check_repeatable(x, e, false);
      cpli_tan_dual(x, e);
      cpli_tan_put(x, ".d");
    }
    if (e->next != NULL) cpli_tan_put(x, ", ");
  }
  if (list->list == NULL) cpli_tan_put(x, "0");
  cpli_tan_put(x, "}");
}

static void shadow_pair(emitter* x, const expr* e) {
  const bool left = is_pointer(e->a->type);
  cpli_tan_put(x, "(");
  if (left) cpli_tan_shadow(x, e->a);
  else cpli_tan_value(x, e->a);
  cpli_tan_put(x, e->sign == '-' ? " - " : " + ");
  if (left) cpli_tan_value(x, e->b);
  else cpli_tan_shadow(x, e->b);
  cpli_tan_put(x, ")");
}

static void composed_shadow(emitter* x, const expr* e) {
  char sign[4];
  switch (e->kind) {
    case EXPR_INDEX:
      cpli_tan_shadow(x, e->a);
      cpli_tan_put(x, "[");
      cpli_tan_value(x, e->b);
      cpli_tan_put(x, "]");
      break;
    case EXPR_MEMBER:
      cpli_tan_shadow(x, e->a);
      cpli_tan_put(x, e->arrow ? "->%s" : ".%s", x->s->name_text[e->name]);
      break;
    case EXPR_UNARY:
      cpli_tan_put(x, "(%s", sign_text(e->sign, sign));
      cpli_tan_shadow(x, e->a);
      cpli_tan_put(x, ")");
      break;
    case EXPR_CAST:
      cpli_tan_put(x, "(");
      put_type(x, e);
      cpli_tan_shadow(x, e->a);
      cpli_tan_put(x, ")");
      break;
    case EXPR_STEP:
      if (!is_pointer(e->type)) {
        cpli_tan_shadow(x, e->a);
        break;
      }
      cpli_tan_put(x, e->prefix ? "(%s" : "(", sign_text(e->sign, sign));
      cpli_tan_shadow(x, e->a);
      cpli_tan_put(x, e->prefix ? ")" : "%s)", sign_text(e->sign, sign));
      break;
    case EXPR_BINARY: shadow_pair(x, e); break;
    case EXPR_CHOICE:
      cpli_tan_put(x, "(");
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, " ? ");
      cpli_tan_shadow(x, e->b);
      cpli_tan_put(x, " : ");
      cpli_tan_shadow(x, e->c);
      cpli_tan_put(x, ")");
      break;
    case EXPR_LITERAL:
      put_type(x, e);
      cpli_tan_shadow_list(x, e->a);
      break;
    case EXPR_CALL:
      cpli_tan_refuse(x->s, e->all.first, "the result of %s() where it cannot be kept",
                      x->s->name_text[e->name]);
      break;
    default: cpli_tan_refuse(x->s, e->all.first, "a pointer or struct inside of an expression");
  }
}

void cpli_tan_shadow(emitter* x, const expr* e) {
  if (e->temporary > 0) {
    cpli_tan_put(x, "cpl_t%d_d", (int)e->temporary);
    return;
  }
  const bool nowhere = is_pointer(e->type) && cpli_tan_class(x->a, x->v, e) < 0;
  const bool steps = e->kind == EXPR_STEP && !is_pointer(e->type);
  if (!cpli_tan_is_active(x, e) && !steps) {
    if (nowhere && e->kind != EXPR_CALL) cpli_tan_put(x, "0");
    else cpli_tan_refuse(x->s, e->all.first, "a pointer to constants among others");
    return;
  }
  if (e->kind == EXPR_NAME) cpli_tan_put(x, "cpl_d_%s", x->s->name_text[e->name]);
  else composed_shadow(x, e);
}

//------------------------------------ numbers ------------------------------------

// The value and the shadow of what can be assigned, or their addresses.
static void pair(emitter* x, const expr* e, const char* address) {
  check_repeatable(x, e, true);
  cpli_tan_put(x, "%s", address);
  value_alone(x, e);
  cpli_tan_put(x, ", %s", address);
  shadow_alone(x, e);
}

static void operation(emitter* x, const char* name, const expr* a, const expr* b) {
  const bool first = cpli_tan_is_active(x, a), second = cpli_tan_is_active(x, b);
  cpli_tan_put(x, "cpl_dual_%s%s%s(", first ? "" : "r_", name, second ? "" : "_r");
  if (first) cpli_tan_dual(x, a);
  else cpli_tan_value(x, a);
  cpli_tan_put(x, ", ");
  if (second) cpli_tan_dual(x, b);
  else cpli_tan_value(x, b);
  cpli_tan_put(x, ")");
}

static const char* operation_name(uint32_t sign) {
  return sign == '+' ? "add" : sign == '-' ? "sub" : sign == '*' ? "mul" : "div";
}

static void assigned_dual(emitter* x, const expr* e) {
  cpli_tan_put(x, "cpl_dual_set(");
  pair(x, e->a, "&");
  cpli_tan_put(x, ", ");
  if (e->sign == '=') {
    cpli_tan_dual(x, e->b);
  } else {
    const bool active = cpli_tan_is_active(x, e->b);
    check_repeatable(x, e->a, false);
    cpli_tan_put(x, "cpl_dual_%s%s(cpl_dual_of(", operation_name(e->sign & 0xff),
                 active ? "" : "_r");
    pair(x, e->a, "");
    cpli_tan_put(x, "), ");
    if (active) cpli_tan_dual(x, e->b);
    else cpli_tan_value(x, e->b);
    cpli_tan_put(x, ")");
  }
  cpli_tan_put(x, ")");
}

static void known_dual(emitter* x, const expr* e, const cpli_tan_function* known) {
  x->in_use[cpli_tan_function_number(known)] = true;
  cpli_tan_put(x, "cpl_dual_%s(", known->name);
  for (const expr* arg = e->list; arg != NULL; arg = arg->next) {
    cpli_tan_dual(x, arg);
    if (arg->next != NULL) cpli_tan_put(x, ", ");
  }
  cpli_tan_put(x, ")");
}

static void composed_dual(emitter* x, const expr* e) {
  const cpli_tan_function* known = e->kind == EXPR_CALL ? cpli_tan_known(x->a, e) : NULL;
  switch (e->kind) {
    case EXPR_UNARY:
      if (e->sign == '-') cpli_tan_put(x, "cpl_dual_neg(");
      cpli_tan_dual(x, e->a);
      if (e->sign == '-') cpli_tan_put(x, ")");
      break;
    case EXPR_BINARY: operation(x, operation_name(e->sign), e->a, e->b); break;
    case EXPR_CAST: cpli_tan_dual(x, e->a); break;
    case EXPR_CHOICE:
      cpli_tan_put(x, "(");
      cpli_tan_value(x, e->a);
      cpli_tan_put(x, " ? ");
      cpli_tan_dual(x, e->b);
      cpli_tan_put(x, " : ");
      cpli_tan_dual(x, e->c);
      cpli_tan_put(x, ")");
      break;
    case EXPR_COMMA:
      cpli_tan_put(x, "(");
      cpli_tan_effect(x, e->a);
      cpli_tan_put(x, ", ");
      cpli_tan_dual(x, e->b);
      cpli_tan_put(x, ")");
      break;
    case EXPR_ASSIGN: assigned_dual(x, e); break;
    case EXPR_CALL:
      if (known != NULL) known_dual(x, e, known);
      else cpli_tan_call(x, e);
      break;
    default: cpli_tan_refuse(x->s, e->all.first, "an expression");
  }
}

void cpli_tan_dual(emitter* x, const expr* e) {
  if (!cpli_tan_enter(x->s)) return;
  if (e->temporary > 0) {
    cpli_tan_put(x, "cpl_t%d", (int)e->temporary);
  } else if (!cpli_tan_is_active(x, e)) {
    cpli_tan_put(x, "cpl_dual_of(");
    cpli_tan_value(x, e);
    cpli_tan_put(x, ", 0)");
  } else if (cpli_tan_is_place(e)) {
    cpli_tan_put(x, "cpl_dual_of(");
    pair(x, e, "");
    cpli_tan_put(x, ")");
  } else if (e->kind == EXPR_STEP) {  // a step does not change the derivative
    check_repeatable(x, e->a, false);
    cpli_tan_put(x, "cpl_dual_of(");
    step_value(x, e);
    cpli_tan_put(x, ", ");
    cpli_tan_shadow(x, e->a);
    cpli_tan_put(x, ")");
  } else {
    composed_dual(x, e);
  }
  cpli_tan_leave(x->s);
}

//------------------------------------ calls ------------------------------------

void cpli_tan_call(emitter* x, const expr* e) {
  variant* w = cpli_tan_variant_of(x, e);
  const bool kept = is_pointer(e->type) || e->type->kind == TYPE_RECORD;
  if (w == NULL || (kept && w->result_active && x->keeps == 0)) {
    cpli_tan_refuse(x->s, e->all.first, "call of %s()", x->s->name_text[e->name]);
    return;
  }
  const uint64_t given = w->given;
  const symbol* p = w->of->parameters;
  int i = 0;
  cpli_tan_demand(x, w);
  cpli_tan_put(x, "cpl_f%d_%s(", (int)w->number, x->s->name_text[e->name]);
  for (const expr* arg = e->list; arg != NULL && p != NULL; arg = arg->next, p = p->next, i++) {
    const bool active = (given >> i & 1) != 0;
    if (i > 0) cpli_tan_put(x, ", ");
    if (active && p->type->kind == TYPE_REAL) cpli_tan_dual(x, arg);
    else if (active) pair(x, arg, "");
    else cpli_tan_value(x, arg);
  }
  if (kept && w->result_active) cpli_tan_put(x, "%s&cpl_t%d_d", i > 0 ? ", " : "", x->keeps);
  cpli_tan_put(x, ")");
}

//------------------------------------ statements ------------------------------------

// memcpy, memmove and memset of numbers with a derivative: the same of the shadows.
static void memory_effect(emitter* x, const expr* e) {
  const cpli_tan_function* known = cpli_tan_known(x->a, e);
  const expr *to = e->list, *from = to->next, *size = from->next;
  check_repeatable(x, e, false);
  cpli_tan_put(x, "(%s(", known->name);
  cpli_tan_value(x, to);
  cpli_tan_put(x, ", ");
  cpli_tan_value(x, from);
  cpli_tan_put(x, ", ");
  cpli_tan_value(x, size);
  cpli_tan_put(x, "), %s(", known->name);
  cpli_tan_shadow(x, to);
  cpli_tan_put(x, ", ");
  if (known->effect == CPLI_TAN_COPY) cpli_tan_shadow(x, from);
  else cpli_tan_put(x, "0");
  cpli_tan_put(x, ", ");
  cpli_tan_value(x, size);
  cpli_tan_put(x, "))");
}

static void record_effect(emitter* x, const expr* e) {
  const bool active = cpli_tan_is_active(x, e->b);
  check_repeatable(x, e->a, false);
  check_repeatable(x, e->b, false);
  cpli_tan_put(x, "(");
  cpli_tan_value(x, e->a);
  cpli_tan_put(x, " = ");
  cpli_tan_value(x, e->b);
  cpli_tan_put(x, active ? ", " : ", cpl_dual_clear(&");
  cpli_tan_shadow(x, e->a);
  cpli_tan_put(x, active ? " = " : ", sizeof ");
  cpli_tan_shadow(x, active ? e->b : e->a);
  cpli_tan_put(x, active ? ")" : "))");
}

static void pointer_effect(emitter* x, const expr* e) {
  char sign[4];
  const bool moves = e->sign != '=';
  check_repeatable(x, e->a, false);
  check_repeatable(x, e->b, !moves);
  cpli_tan_put(x, "(");
  cpli_tan_value(x, e->a);
  cpli_tan_put(x, " %s ", sign_text(e->sign, sign));
  value_alone(x, e->b);
  cpli_tan_put(x, ", ");
  cpli_tan_shadow(x, e->a);
  cpli_tan_put(x, " %s ", sign_text(e->sign, sign));
  if (moves) cpli_tan_value(x, e->b);
  else shadow_alone(x, e->b);
  cpli_tan_put(x, ")");
}

static void assignment_effect(emitter* x, const expr* e) {
  const type* t = e->a->type;
  if (!cpli_tan_is_active(x, e->a)) cpli_tan_value(x, e);
  else if (t->kind == TYPE_REAL) cpli_tan_dual(x, e);
  else if (t->kind == TYPE_RECORD) record_effect(x, e);
  else pointer_effect(x, e);
}

static void call_effect(emitter* x, const expr* e) {
  const cpli_tan_function* known = cpli_tan_known(x->a, e);
  if (!call_has_effects(x, e)) cpli_tan_value(x, e);
  else if (known != NULL) memory_effect(x, e);
  else cpli_tan_value(x, e);
}

void cpli_tan_effect(emitter* x, const expr* e) {
  if (e->temporary > 0) {
    cpli_tan_put(x, "(void)0");
  } else if (!cpli_tan_has_effects(x, e)) {
    cpli_tan_put_tokens(x, e->all);
  } else if (e->kind == EXPR_ASSIGN) {
    assignment_effect(x, e);
  } else if (e->kind == EXPR_CALL) {
    call_effect(x, e);
  } else if (e->kind == EXPR_COMMA) {
    cpli_tan_put(x, "(");
    cpli_tan_effect(x, e->a);
    cpli_tan_put(x, ", ");
    cpli_tan_effect(x, e->b);
    cpli_tan_put(x, ")");
  } else if (e->kind == EXPR_CHOICE) {
    cpli_tan_put(x, "(");
    cpli_tan_value(x, e->a);
    cpli_tan_put(x, " ? (void)");
    cpli_tan_effect(x, e->b);
    cpli_tan_put(x, " : (void)");
    cpli_tan_effect(x, e->c);
    cpli_tan_put(x, ")");
  } else if (e->kind == EXPR_CAST && e->type->kind == TYPE_VOID) {
    cpli_tan_put(x, "(void)");
    cpli_tan_effect(x, e->a);
  } else {
    cpli_tan_value(x, e);
  }
}
