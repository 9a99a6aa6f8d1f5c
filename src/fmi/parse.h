// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The parser of modelDescription.xml. The driver (description.c) walks the elements by
// the table of an FMI version (fmiN_description.c; parts.c has the common functions), whose
// functions collect drafts: names not yet looked up, numbers not yet references. When all is read,
// resolve.c makes the description of them, the same way for every version; where references of the
// file are not those of the description (arrays, negated aliases), expand.c has given every element
// its own.
#pragma once

#include "fmi/fmu.h"
#include "format/xml.h"

typedef struct cpli_parse cpli_parse;

// One element: its name, the parent it may have, and its functions. Elements without a rule are
// skipped with their content, with a remark unless `ignored`.
typedef struct cpli_rule {
  const char* element;
  uint8_t parent;  // index of a rule; rule 0 is the root
  bool ignored;
  cpl_status (*begin)(cpli_parse* p);
  cpl_status (*end)(cpli_parse* p);
  uint8_t as;           // the rule whose children it has; 0: its own
  uint8_t type, width;  // for begin: p->rule->type
  bool foreign;         // other elements in it are not checked
} cpli_rule;

typedef struct cpli_rules {
  const cpli_rule* rules;
  size_t n;
  cpl_status (*text)(cpli_parse* p, const char* text, size_t len);  // Nullable
  /// Before the drafts are resolved: references become indices from 1. Nullable.
  cpl_status (*prepare)(cpli_parse* p);
} cpli_rules;

extern const cpli_rules cpli_fmi1_rules, cpli_fmi2_rules, cpli_fmi3_rules;

// Attributes shared by declared types and variables; `given` has a bit for each that is present.
enum {
  CPLI_HAS_MIN = 1,
  CPLI_HAS_MAX = 2,
  CPLI_HAS_NOMINAL = 4,
  CPLI_HAS_RELATIVE = 8,
  CPLI_HAS_UNBOUNDED = 16,
  CPLI_HAS_VARIABILITY = 32,
  CPLI_HAS_INITIAL = 64,
  CPLI_HAS_TYPE = 128,  // the element of the type was read
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
  bool negated;  // FMI 1.0
  int32_t more;  // FMI 3.0: in mores, from 1; 0: nothing more is known
} cpli_var_draft;

// Attributes that only few variables of FMI 3.0 have.
typedef struct cpli_more {
  uint32_t derivative, previous;  // references
  bool has_derivative, has_previous, intermediate_update;
  int32_t alias_to;               // index of a draft from 1; 0: this is no alias
  int32_t first_size, n_sizes;    // in sizes
  int32_t first_start, n_starts;  // in starts or start_texts
  int32_t first_clock, n_clocks;  // in clock_refs
  const char* mime_type;
  uint64_t max_size;
} cpli_more;

// The size of an array in one direction: a number or the reference of a structural parameter.
typedef struct cpli_size {
  uint64_t number;
  uint32_t ref;
  bool by_ref;
} cpli_size;

enum {
  CPLI_OUTPUTS,
  CPLI_DERIVATIVES,
  CPLI_INITIAL_UNKNOWNS,
  CPLI_INDICATORS,
  CPLI_CLOCKED_STATES,
  CPLI_N_LISTS
};

typedef struct cpli_row_draft {
  cpl_unknown row;  // row.var: index from 1, or in FMI 3.0 a reference until it is mapped
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

  const cpli_rule* rule;  // whose function is called

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
  CPLI_LIST(int32_t) deps;  // indices from 1, or references
  CPLI_LIST(uint8_t) kinds;
  CPLI_LIST(const char*) categories;
  CPLI_LIST(const char*) category_texts;
  CPLI_LIST(const char*) files[2];  // sources of model exchange, of co-simulation
  bool has_list[CPLI_N_LISTS];
  int32_t structure_line;

  // FMI 3.0: arrays and clocks
  const cpl_start* given;  // start values of the user
  size_t n_given;
  int32_t open_var;  // whose element is open: aliases may follow it in vars
  CPLI_LIST(cpli_more) mores;
  CPLI_LIST(cpli_size) sizes;
  CPLI_LIST(double) starts;
  CPLI_LIST(const char*) start_texts;
  CPLI_LIST(uint32_t) clock_refs;
  CPLI_LIST(cpli_clock) clocks;
  CPLI_LIST(cpl_array) arrays;
  CPLI_LIST(cpli_slot) slots;
  CPLI_LIST(cpli_clocked) clocked;
  CPLI_LIST(cpli_extra) extras;

  // FMI 1.0: an output's dependencies by name
  CPLI_LIST(const char*) dep_names;
  char* text;  // inside an element
  size_t text_len, text_cap;
  bool takes_text, has_negated;
};

#define CPLI_PUSH(p, list)                                                                     \
  (cpli_grow((p)->ctx, (void**)&(list).items, &(list).cap, (list).count, sizeof *(list).items) \
       ? (memset(&(list).items[(list).count], 0, sizeof *(list).items),                        \
          &(list).items[(list).count++])                                                       \
       : NULL)

//------------------------------------ attributes ------------------------------------

/// Records "where:line: text".
CPL_PRINTF(2, 3) cpl_status cpli_parse_fail(cpli_parse* p, const char* fmt, ...);

/// The value, stored as long as the FMU; NULL: not given. `once`: for texts that repeat.
const char* cpli_element_text(cpli_parse* p, const char* name);
const char* cpli_text_once(cpli_parse* p, const char* name);
const char* cpli_text_or_empty(cpli_parse* p, const char* name);

/// False: not given, or not readable, which is a finding.
bool cpli_real(cpli_parse* p, const char* name, double* out);
bool cpli_integer(cpli_parse* p, const char* name, int64_t min, int64_t max, int64_t* out);
bool cpli_boolean(cpli_parse* p, const char* name, bool* out);
bool cpli_choice(cpli_parse* p, const char* name, const char* const* names, size_t n, uint8_t* out);

/// An integer of that width as a double; wide ones lose digits beyond 2^53.
bool cpli_whole(cpli_parse* p, const char* name, cpl_width width, double* out);
bool cpli_fits(cpl_width width, double value);

//------------------------------------ parts ------------------------------------

// Elements that several versions share (parts.c).
cpl_status cpli_part_head(cpli_parse* p, const char* kind, const char* token);
cpl_status cpli_part_indicators(cpli_parse* p);
cpl_status cpli_part_experiment(cpli_parse* p);
cpl_status cpli_part_category(cpli_parse* p);
cpl_status cpli_part_kind(cpli_parse* p, cpli_fmu_kind* kind, const char* element);
cpl_status cpli_part_file(cpli_parse* p, int which);
cpl_status cpli_part_unit(cpli_parse* p, const char* attribute);
cpl_status cpli_part_base_unit(cpli_parse* p);
cpl_status cpli_part_display_unit(cpli_parse* p, const char* attribute, const char* factor);
void cpli_part_real_range(cpli_parse* p, cpli_range* r);
void cpli_part_integer_range(cpli_parse* p, cpli_range* r, cpl_width width);
cpl_status cpli_part_type(cpli_parse* p, const char* element);
cpl_status cpli_part_item(cpli_parse* p);
/// The attributes of the extension for constraints, at any of their positions.
cpl_status cpli_part_constraints(cpli_parse* p);
cpl_status cpli_part_unknown(cpli_parse* p, int list, bool refs);

/// Name, description, reference and line.
cpl_status cpli_part_variable(cpli_parse* p, const char* element, cpl_variable* v);
cpl_status cpli_push_variable(cpli_parse* p, const cpl_variable* v, const cpli_var_draft* draft);
void cpli_take_range(cpl_variable* v, cpli_var_draft* draft, const cpli_range* r);

//------------------------------------ references ------------------------------------

// A map from references (or other numbers) to indices.
typedef struct cpli_refs {
  cpl_context* ctx;
  uint64_t* keys;  // key + 1; 0: free
  int32_t* values;
  size_t cap;
} cpli_refs;

/// Owned: by the caller, who calls cpli_refs_free(), also after a failure.
cpl_status cpli_refs_init(cpli_refs* map, cpl_context* ctx, size_t expected);
void cpli_refs_free(cpli_refs* map);
/// Returns the value already stored under that key, or `value` when the key is new.
int32_t cpli_refs_add(cpli_refs* map, uint64_t key, int32_t value);
int32_t cpli_refs_find(const cpli_refs* map, uint64_t key);  // -1: not there

//------------------------------------ resolve ------------------------------------

/// expand.c: references of FMI 3.0 become indices of drafts; dangling ones are findings.
cpl_status cpli_map_references(cpli_parse* p);
/// expand.c: arrays become elements, every element gets a slot; drafts are resolved before.
cpl_status cpli_expand(cpli_parse* p);
/// A copy in the FMU's arena; NULL when there is nothing, or no memory (p->no_memory).
void* cpli_freeze(cpli_parse* p, const void* items, size_t count, size_t size);

/// Make the description of the drafts.
cpl_status cpli_resolve(cpli_parse* p);
