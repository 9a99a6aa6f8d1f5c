// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads what is varied from its text, NAME=GUESS:LEAST:GREATEST.
#include <math.h>

#include "base/base.h"
#include "fit/section.h"
#include "model/start.h"

static char* plain(char* text) {
  text += strspn(text, " ");
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == ' ') text[--n] = '\0';
  return text;
}

typedef struct reader {
  cpl_context* ctx;
  const char* text;
  const char* unit;  // Nullable: none so far
} reader;

// An empty number is `none`.
static cpl_status read_number(reader* r, char* text, const char* what, double none, double* out) {
  const char* unit = "";
  text = plain(text);
  *out = none;
  if (text[0] == '\0') return CPL_OK;
  if (!cpli_split_number(text, out, &unit))
    return cpl_fail(r->ctx, CPL_ERR_INPUT, "%s: %s is \"%s\", not a finite number", r->text, what,
                    text);
  if (unit[0] == '\0') return CPL_OK;
  if (strpbrk(unit, ",;'=") != NULL)
    return cpl_fail(r->ctx, CPL_ERR_INPUT,
                    "%s: %s is \"%s\"; write it as NAME=GUESS:LEAST:GREATEST", r->text, what, text);
  if (r->unit != NULL && strcmp(r->unit, unit) != 0)
    return cpl_fail(r->ctx, CPL_ERR_INPUT, "%s: all its numbers have one unit, not %s and %s",
                    r->text, r->unit, unit);
  r->unit = unit;
  return CPL_OK;
}

static cpl_status read_numbers(reader* r, char* at, cpl_vary* out) {
  static const char* const names[] = {"the guess", "the least value", "the greatest value"};
  const double none[] = {NAN, -INFINITY, INFINITY};
  double* values[] = {&out->guess, &out->least, &out->greatest};
  size_t n = 0;
  cpl_status st = CPL_OK;
  for (char* next = at; next != NULL && st >= 0; n++) {
    if (n == CPLI_COUNT(values))
      return cpl_fail(r->ctx, CPL_ERR_INPUT, "%s: more than NAME=GUESS:LEAST:GREATEST", r->text);
    at = next;
    next = strchr(at, ':');
    if (next != NULL) *next++ = '\0';
    st = read_number(r, at, names[n], none[n], values[n]);
  }
  if (st < 0 || n != 2) return st;
  return cpl_fail(r->ctx, CPL_ERR_INPUT,
                  "%s: the greatest value is missing: NAME=GUESS:LEAST:GREATEST, and an empty "
                  "value is none",
                  r->text);
}

// Nullable: numbers, which are changed
static cpl_status read_parts(reader* r, const char* name, char* numbers, cpl_vary* out) {
  *out = (cpl_vary){.guess = NAN, .least = -INFINITY, .greatest = INFINITY};
  cpl_status st = numbers != NULL ? read_numbers(r, numbers, out) : CPL_OK;
  if (st < 0) return st;
  out->name = cpli_strdup(r->ctx, name);
  out->unit = r->unit != NULL ? cpli_strdup(r->ctx, r->unit) : NULL;
  if (out->name != NULL && (r->unit == NULL || out->unit != NULL)) return CPL_OK;
  cpl_vary_free(r->ctx, out);
  return cpli_nomem(r->ctx);
}

cpl_status cpl_vary_read(cpl_context* ctx, const char* text, cpl_vary* out) {
  reader r = {.ctx = ctx, .text = text};
  *out = (cpl_vary){0};
  char* copy = cpli_strdup(ctx, text);
  if (copy == NULL) return cpli_nomem(ctx);
  char* equals = strchr(copy, '=');
  if (equals != NULL) *equals = '\0';
  const char* name = plain(copy);
  cpl_status st = name[0] == '\0'
                      ? cpl_fail(ctx, CPL_ERR_INPUT,
                                 "\"%s\": there is no name: NAME=GUESS:LEAST:GREATEST", text)
                      : read_parts(&r, name, equals != NULL ? equals + 1 : NULL, out);
  cpli_free(ctx, copy);
  return st;
}

cpl_status cpli_vary_read(cpl_context* ctx, const char* name, const char* numbers, cpl_vary* out) {
  reader r = {.ctx = ctx, .text = name};
  *out = (cpl_vary){0};
  char* copy = cpli_strdup(ctx, numbers);
  if (copy == NULL) return cpli_nomem(ctx);
  const cpl_status st = read_parts(&r, name, copy[0] != '\0' ? copy : NULL, out);
  cpli_free(ctx, copy);
  return st;
}

void cpl_vary_free(cpl_context* ctx, cpl_vary* vary) {
  if (vary == NULL) return;
  cpli_free(ctx, (void*)vary->name);
  cpli_free(ctx, (void*)vary->unit);
  *vary = (cpl_vary){0};
}
