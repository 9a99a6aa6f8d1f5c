// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Findings about an FMU: warnings about an FMU that can be simulated, and errors of one that
// cannot. A finding has a line in the description, the name of its rule, and a text with a remedy.
#pragma once

#include "base/base.h"

typedef enum cpli_severity { CPLI_WARNING, CPLI_ERROR } cpli_severity;

typedef struct cpli_finding {
  cpli_severity severity;
  int32_t line;      // in modelDescription.xml or the system file; 0: the file as a whole
  int32_t column;    // 0: none
  const char* rule;  // a short fixed word: "alias", "start", ...
  char* text;
  char* file;    // of the line. Nullable: the description or the system file
  size_t order;  // in which it was added
} cpli_finding;

typedef struct cpli_findings {
  cpl_context* ctx;
  cpli_finding* items;
  size_t count, cap;
  bool incomplete;  // memory ran out while adding one
} cpli_findings;

void cpli_findings_init(cpli_findings* findings, cpl_context* ctx);
void cpli_findings_free(cpli_findings* findings);

/// Running out of memory is not reported here but in `incomplete`, so that rules stay readable.
CPL_PRINTF(5, 6)
void cpli_findings_add(cpli_findings* findings, cpli_severity severity, int32_t line,
                       const char* rule, const char* fmt, ...);

/// Sort by line; findings of one line stay in the order in which they were added.
void cpli_findings_sort(cpli_findings* findings);
