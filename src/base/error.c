// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Failures as data. The texts of a failure are stored one after the other: message, file,
// component, variable, unknown name, similar names. Up to 2 KB need no allocation, so that a model
// may request shorter steps (CPL_RETRY) in every step; longer texts take memory of the context.
#include "base/error.h"

#include <math.h>
#include <stdio.h>

#undef cpl_fail
#undef cpl_fail_in
#undef cpl_fail_prefix

enum { N_TEXTS = 6, LOCATION = 1024 };

//------------------------------------ storing ------------------------------------

// "file:3:14: ", as messages begin.
static void print_location(const cpl_error* e, char out[LOCATION]) {
  out[0] = '\0';
  if (e->file[0] == '\0') return;
  if (e->line <= 0) snprintf(out, LOCATION, "%s: ", e->file);
  else if (e->column <= 0) snprintf(out, LOCATION, "%s:%d: ", e->file, e->line);
  else snprintf(out, LOCATION, "%s:%d:%d: ", e->file, e->line, e->column);
}

void cpli_error_unpack(cpl_error* e, char* texts, size_t size) {
  const char** members[N_TEXTS] = {&e->text,     &e->file,    &e->component,
                                   &e->variable, &e->unknown, &e->similar};
  char location[LOCATION];
  char* last = texts + size - 1;
  *last = '\0';
  for (int i = 0; i < N_TEXTS; i++) {
    *members[i] = texts;
    texts += strlen(texts);
    if (texts < last) texts++;
  }
  print_location(e, location);
  size_t n = strlen(location);
  e->message = strncmp(e->text, location, n) == 0 ? e->text + n : e->text;
}

size_t cpli_error_packed_size(const cpl_error* e) {
  return strlen(e->text) + strlen(e->file) + strlen(e->component) + strlen(e->variable) +
         strlen(e->unknown) + strlen(e->similar) + N_TEXTS;
}

void cpli_error_pack(const cpl_error* e, char* out, size_t size) {
  const char* texts[N_TEXTS] = {e->text,     e->file,    e->component,
                                e->variable, e->unknown, e->similar};
  size_t left = size - N_TEXTS;
  for (int i = 0; i < N_TEXTS; i++) {
    size_t n = strlen(texts[i]);
    if (n > left) n = left;
    memcpy(out, texts[i], n);
    out[n] = '\0';
    out += n + 1;
    left -= n;
  }
}

void cpli_error_clear(cpli_error* e, cpl_context* ctx) {
  cpli_free(ctx, e->large);
  e->large = NULL;
  e->small[0] = '\0';
  const char* none = e->small;
  e->data = (cpl_error){.text = none,
                        .message = none,
                        .file = none,
                        .component = none,
                        .variable = none,
                        .unknown = none,
                        .similar = none,
                        .time = (double)NAN};
}

void cpli_error_set(cpli_error* e, cpl_context* ctx, const cpl_error* from) {
  char small[CPLI_ERROR_SIZE];
  size_t size = cpli_error_packed_size(from);
  char* large = size > sizeof small ? cpli_realloc(ctx, NULL, size, 1) : NULL;
  if (large == NULL && size > sizeof small) size = sizeof small;
  cpli_error_pack(from, large != NULL ? large : small, size);
  cpli_free(ctx, e->large);
  e->data = *from;
  e->large = large;
  if (large == NULL) memcpy(e->small, small, size);
  cpli_error_unpack(&e->data, large != NULL ? large : e->small, size);
}

//------------------------------------ recording ------------------------------------

// "before", the formatted text and ": after" in `small` where they fit, else in memory of the
// context; cut where there is none. Only `fmt` and `after` may have line ends: names become one
// line. Nullable: after
static char* compose(cpl_context* ctx, char small[CPLI_ERROR_SIZE], const char* before,
                     const char* after, const char* fmt, va_list args) {
  va_list again;
  va_copy(again, args);
  int n = vsnprintf(small, CPLI_ERROR_SIZE, fmt, args);
  size_t size = strlen(before) + (n > 0 ? (size_t)n : 0) + 1;
  if (after != NULL) size += strlen(after) + 2;
  char* out = size > CPLI_ERROR_SIZE ? cpli_realloc(ctx, NULL, size, 1) : small;
  if (out == NULL) {
    out = small;
    size = CPLI_ERROR_SIZE;
  }
  snprintf(out, size, "%s", before);
  size_t at = strlen(out);
  vsnprintf(out + at, size - at, fmt, again);
  va_end(again);
  cpli_one_line(out, fmt);
  at += strlen(out + at);
  if (after != NULL && after[0] != '\0') snprintf(out + at, size - at, ": %s", after);
  return out;
}

cpl_status cpli_vfail(cpl_context* ctx, cpl_status st, const cpl_error* at, bool prefix,
                      const char* fmt, va_list args) {
  char small[CPLI_ERROR_SIZE], location[LOCATION] = "";
  cpl_error e = {.file = "",
                 .component = "",
                 .variable = "",
                 .unknown = "",
                 .similar = "",
                 .time = (double)NAN};
  if (prefix) e = cpli_last_error(ctx)->data;
  e.status = st;
  if (at != NULL && at->file != NULL) {
    e.file = at->file;
    e.line = at->line;
    e.column = at->column;
    print_location(&e, location);
  } else if (at != NULL && at->component != NULL) {
    e.component = at->component;
    if (at->variable != NULL) e.variable = at->variable;
    e.time = at->time;
    snprintf(location, sizeof location, "%s: ", at->component);
  }
  char* text = compose(ctx, small, location, prefix ? e.text : NULL, fmt, args);
  e.text = text;
  cpli_error_set(cpli_last_error(ctx), ctx, &e);
  if (text != small) cpli_free(ctx, text);
  return st;
}

cpl_status cpl_fail(cpl_context* ctx, cpl_status st, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, NULL, false, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpl_fail_prefix(cpl_context* ctx, cpl_status st, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, NULL, true, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpl_fail_in(cpl_context* ctx, cpl_status st, const char* component, const char* variable,
                       double time, const char* fmt, ...) {
  const cpl_error at = {.component = component, .variable = variable, .time = time};
  va_list args;
  va_start(args, fmt);
  cpli_vfail(ctx, st, &at, false, fmt, args);
  va_end(args);
  return st;
}

cpl_status cpli_fail_where(cpl_context* ctx, cpl_status st, const char* component,
                           const char* variable, double time) {
  cpl_error e = cpli_last_error(ctx)->data;
  e.status = st;
  if (e.component[0] == '\0' && component != NULL) e.component = component;
  if (e.variable[0] == '\0' && variable != NULL) e.variable = variable;
  if (isnan(e.time)) e.time = time;
  return cpli_fail_again(ctx, &e);
}

cpl_status cpli_fail_unknown(cpl_context* ctx, cpl_status st, const char* name,
                             const char* (*at)(const void* user, size_t i), const void* user,
                             size_t n) {
  const char* best[CPLI_NEAREST];
  size_t found = cpli_nearest_few(name, at, user, n, best), used = 0;
  char similar[CPLI_ERROR_SIZE / 2] = "";
  for (size_t i = 0; i < found; i++) {
    size_t size = strlen(best[i]) + 1;
    if (used + size >= sizeof similar) break;
    snprintf(similar + used, sizeof similar - used, "%s%s", i > 0 ? "\n" : "", best[i]);
    used += strlen(similar + used);
  }
  cpl_error e = cpli_last_error(ctx)->data;
  e.status = st;
  e.unknown = name;
  e.similar = similar;
  return cpli_fail_again(ctx, &e);
}

cpl_status cpli_fail_again(cpl_context* ctx, const cpl_error* error) {
  cpli_error_set(cpli_last_error(ctx), ctx, error);
  return error->status;
}
