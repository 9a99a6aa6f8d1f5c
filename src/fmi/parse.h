// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// How modelDescription.xml becomes a description. The driver (description.c) walks the elements by
// the table of an FMI version (fmi2_description.c), whose functions collect drafts: names not yet
// looked up, numbers not yet references. When all is read, resolve.c makes the description of them,
// the same way for every version.
#pragma once

#include "fmi/fmu.h"
#include "format/xml.h"

typedef struct cpli_parse cpli_parse;

// One element: what may stand below which parent, and what to do with it. Elements that are in no
// rule are skipped with all that is in them, with a remark unless `ignored`.
typedef struct cpli_rule {
  const char* element;
  uint8_t parent;  // index of a rule; rule 0 is the root
  bool ignored;
  cpl_status (*begin)(cpli_parse* p);
  cpl_status (*end)(cpli_parse* p);
} cpli_rule;

typedef struct cpli_rules {
  const cpli_rule* rules;
  size_t n;
} cpli_rules;

extern const cpli_rules cpli_fmi2_rules;

// Attributes shared by declared types and variables; `given` says which are there.
enum {
  CPLI_HAS_MIN = 1,
  CPLI_HAS_MAX = 2,
  CPLI_HAS_NOMINAL = 4,
  CPLI_HAS_RELATIVE = 8,
  CPLI_HAS_UNBOUNDED = 16,
  CPLI_HAS_VARIABILITY = 32,
  CPLI_HAS_INITIAL = 64,
  CPLI_HAS_TYPE = 128,  // the element that says the type has been seen
};

typedef struct cpli_range {
  const char *unit, *display_unit, *quantity;  // Nullable
  double min, max, nominal;
  bool relative, unbounded;
  uint8_t given;
} cpli_range;

typedef struct cpli_type_draft {
  cpl_type_def def;
  cpli_range range;
  int32_t line, first_item;
} cpli_type_draft;

typedef struct cpli_var_draft {
  const char *unit, *display_unit, *declared_type;  // Nullable
  int32_t derivative;                               // index from 1; 0: none
  uint8_t given;
} cpli_var_draft;

enum { CPLI_OUTPUTS, CPLI_DERIVATIVES, CPLI_INITIAL_UNKNOWNS, CPLI_N_LISTS };

typedef struct cpli_row_draft {
  cpl_unknown row;  // row.var: index from 1
  int32_t line;
  uint8_t list;
} cpli_row_draft;

// An array of drafts in the making.
#define CPLI_LIST(type) \
  struct {              \
    type* items;        \
    size_t count, cap;  \
  }

struct cpli_parse {
  cpl_context* ctx;
  cpl_fmu* fmu;
  const char* where;
  cpli_xml* xml;  // during a rule's function
  const cpli_rules* rules;
  bool no_memory;  // a helper below failed; the driver reports it

  uint8_t stack[256];
  int depth, skipped;  // skipped: levels below an unknown element

  cpli_names texts;  // texts that repeat are kept once: text -> index in often
  CPLI_LIST(const char*) often;
  CPLI_LIST(cpl_variable) vars;
  CPLI_LIST(cpli_var_draft) var_drafts;
  CPLI_LIST(cpl_unit) units;
  CPLI_LIST(cpli_type_draft) types;
  CPLI_LIST(cpl_enum_item) items;
  CPLI_LIST(cpli_row_draft) rows;
  CPLI_LIST(int32_t) deps;  // indices from 1
  CPLI_LIST(uint8_t) kinds;
  CPLI_LIST(const char*) categories;
  CPLI_LIST(const char*) category_texts;
  CPLI_LIST(const char*) files[2];  // sources of model exchange, of co-simulation
  bool has_list[CPLI_N_LISTS];
  int32_t structure_line;
};

#define CPLI_PUSH(p, list)                                                                     \
  (cpli_grow((p)->ctx, (void**)&(list).items, &(list).cap, (list).count, sizeof *(list).items) \
       ? (memset(&(list).items[(list).count], 0, sizeof *(list).items),                        \
          &(list).items[(list).count++])                                                       \
       : NULL)

//------------------------------------ attributes ------------------------------------

/// Records "where:line: text".
CPL_PRINTF(2, 3) cpl_status cpli_parse_fail(cpli_parse* p, const char* fmt, ...);

/// The value kept as long as the FMU; NULL: not given. `once`: for texts that repeat.
const char* cpli_text(cpli_parse* p, const char* name);
const char* cpli_text_once(cpli_parse* p, const char* name);
const char* cpli_text_or_empty(cpli_parse* p, const char* name);

/// False: not given, or not readable, which is a finding.
bool cpli_real(cpli_parse* p, const char* name, double* out);
bool cpli_integer(cpli_parse* p, const char* name, int64_t min, int64_t max, int64_t* out);
bool cpli_boolean(cpli_parse* p, const char* name, bool* out);
bool cpli_choice(cpli_parse* p, const char* name, const char* const* names, size_t n, uint8_t* out);

//------------------------------------ resolve ------------------------------------

/// Make the description of the drafts.
cpl_status cpli_resolve(cpli_parse* p);

// What the standard allows for a causality and a variability.
typedef struct cpli_initial_rule {
  bool legal;
  uint8_t normal;   // cpl_initial when not given
  uint8_t allowed;  // bits: 1 << cpl_initial
} cpli_initial_rule;

cpli_initial_rule cpli_initial_of(cpl_causality causality, cpl_variability variability);
