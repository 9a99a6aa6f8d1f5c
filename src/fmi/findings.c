// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A growing list of findings; a failed allocation is remembered, and sorting by line keeps the
// order of addition within a line.
#include "fmi/findings.h"

#include <stdlib.h>
#include <string.h>

void cpli_findings_init(cpli_findings* findings, cpl_context* ctx) {
  *findings = (cpli_findings){.ctx = ctx};
}

void cpli_findings_free(cpli_findings* findings) {
  if (findings->ctx == NULL) return;
  for (size_t i = 0; i < findings->count; i++) {
    cpli_free(findings->ctx, findings->items[i].text);
    cpli_free(findings->ctx, findings->items[i].file);
  }
  cpli_free(findings->ctx, findings->items);
  *findings = (cpli_findings){.ctx = findings->ctx};
}

// A finding is one line, whatever names from a file are in it.
static void put_into_one_line(char* text) {
  for (char* c = strpbrk(text, "\n\r\t"); c != NULL; c = strpbrk(c, "\n\r\t")) *c = ' ';
}

void cpli_findings_add(cpli_findings* findings, cpli_severity severity, int32_t line,
                       const char* rule, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  char* text = cpli_vprintf(findings->ctx, fmt, args);
  va_end(args);
  if (text == NULL || !cpli_grow(findings->ctx, (void**)&findings->items, &findings->cap,
                                 findings->count, sizeof *findings->items)) {
    cpli_free(findings->ctx, text);
    findings->incomplete = true;
    return;
  }
  put_into_one_line(text);
  findings->items[findings->count] = (cpli_finding){
      .severity = severity, .line = line, .rule = rule, .text = text, .order = findings->count};
  findings->count++;
}

static int by_line(const void* a, const void* b) {
  const cpli_finding *f = a, *g = b;
  if (f->line != g->line) return f->line < g->line ? -1 : 1;
  return (f->order > g->order) - (f->order < g->order);  // qsort need not be stable
}

void cpli_findings_sort(cpli_findings* findings) {
  if (findings->count > 0) {
    qsort(findings->items, findings->count, sizeof *findings->items, by_line);
  }
}
