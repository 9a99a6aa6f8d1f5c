// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The section `constraints:`.
#include <ctype.h>
#include <stdio.h>

#include "system/definition.h"

// The sign between both sides: one that is no part of a comparison. *more: there is a second one.
static const char* find_equals(const char* text, bool* more) {
  const char* found = NULL;
  *more = false;
  bool quoted = false;
  for (const char* c = text; *c != '\0'; c++) {
    if (*c == '\'') quoted = !quoted;
    if (quoted || *c != '=') continue;
    bool compares = c[1] == '=' || (c > text && strchr("=<>!", c[-1]) != NULL);
    if (compares) continue;
    *more = found != NULL;
    if (found == NULL) found = c;
  }
  return found;
}

// "at" and then something else: a mistake, for no name may stand before another.
static bool begins_with_at(const char* text) {
  while (isspace((unsigned char)*text)) text++;
  if (strncmp(text, "at", 2) != 0 || !isspace((unsigned char)text[2])) return false;
  for (text += 2; isspace((unsigned char)*text);) text++;
  return isalpha((unsigned char)*text);
}

// "at start", with any blanks.
static bool is_at_start(const char* text) {
  static const char* const words[] = {"at", "start"};
  for (size_t i = 0; i < 2; i++) {
    while (isspace((unsigned char)*text)) text++;
    size_t n = strlen(words[i]);
    if (strncmp(text, words[i], n) != 0) return false;
    text += n;
    if (i == 0 && !isspace((unsigned char)*text)) return false;
  }
  while (isspace((unsigned char)*text)) text++;
  return *text == '\0';
}

static bool is_blank(const char* text, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (!isspace((unsigned char)text[i])) return false;
  }
  return true;
}

// "(left)-(right)": source locations in the left side are unchanged.
static cpli_located_text difference_of(cpl_system_def* def, const cpli_located_text* equation,
                                       size_t left, const char* right) {
  size_t size = left + (right != NULL ? strlen(right) : 0) + 8;
  char* text = cpli_def_array(def, size, 1);
  if (text == NULL) return (cpli_located_text){.loc = equation->loc};
  snprintf(text, size, right != NULL ? "(%.*s)-(%s)" : "(%.*s)", (int)left, equation->text, right);
  cpli_located_text out = {text, equation->loc};
  if (out.loc.column > 1) out.loc.column--;
  return out;
}

static cpl_status name_is_taken(const cpl_system_def* def, const cpli_located_text* name) {
  bool taken = cpli_names_find(&def->value_names, name->text) >= 0 ||
               cpli_names_find(&def->output_names, name->text) >= 0;
  for (size_t i = 0; i < def->n_constraints && !taken; i++)
    taken = strcmp(def->constraints[i].name.text, name->text) == 0;
  if (!taken) return CPL_OK;
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &name->loc,
                      "constraint \"%s\": a constraint, parameter, input or output has this name "
                      "already",
                      name->text);
}

static cpl_status bad(const cpl_system_def* def, const cpli_located_text* at, const char* why) {
  return cpli_fail_at(def->ctx, CPL_ERR_INPUT, &at->loc, "constraint: %s", why);
}

cpl_status cpli_def_take_constraint(cpl_system_def* def, cpli_constraint item) {
  if (!cpli_grow(def->ctx, (void**)&def->constraints, &def->cap_constraints, def->n_constraints,
                 sizeof item))
    return cpli_nomem(def->ctx);
  def->constraints[def->n_constraints++] = item;
  return CPL_OK;
}

cpl_status cpli_def_add_constraint(cpl_system_def* def, cpli_located_text name,
                                   cpli_located_text equation) {
  bool more = false;
  if (def->no_memory) return cpli_nomem(def->ctx);
  if (name.text == NULL || name.text[0] == '\0') return bad(def, &name, "it needs a name");
  if (equation.text == NULL || is_blank(equation.text, strlen(equation.text)))
    return bad(def, &name, "it needs an equation");
  const char* equals = find_equals(equation.text, &more);
  const char* right = equals != NULL ? equals + 1 : NULL;
  size_t left = equals != NULL ? (size_t)(equals - equation.text) : strlen(equation.text);
  if (more) return bad(def, &equation, "it has more than one =");
  if (is_blank(equation.text, left) || (right != NULL && is_blank(right, strlen(right))))
    return bad(def, &equation, "a side of its equation is empty");
  cpl_status st = name_is_taken(def, &name);
  if (st < 0) return st;
  bool at_start = right != NULL && is_at_start(right);
  if ((right != NULL && !at_start && begins_with_at(right)) || begins_with_at(equation.text))
    return bad(def, &equation, "on its right stands an expression, or `at start`");
  if (equals == NULL && strstr(equation.text, "==") != NULL)
    return bad(def, &equation, "left = right, with one =");
  cpli_constraint item = {name, difference_of(def, &equation, left, at_start ? NULL : right),
                          at_start};
  return item.difference.text != NULL ? cpli_def_take_constraint(def, item) : cpli_nomem(def->ctx);
}
