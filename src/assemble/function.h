// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Texts of a system file as functions of an aggregate: an expression with its sources and the state
// of its comparisons, a table over time, several expressions that are assigned at once.
#pragma once

#include "couplet/aggregate.h"
#include "expr/expr.h"
#include "model/table.h"
#include "system/resolve.h"

// Owner of functions, and the mapping from references of the system to ports of the aggregate.
typedef struct cpli_functions {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_resolver* resolver;
  int32_t first_parameter, first_input;  // signals
  struct cpli_kept* kept;                // objects to be destroyed
  // Indices of models in the aggregate. NULL: as in the file; -1: not in it, `bridge` makes a port
  // for their variables.
  const int32_t* part_of_model;
  cpl_port (*bridge)(void* user, cpli_ref ref);
  void* bridge_user;
  bool* used;  // by parameter: whether a constant expression depends on it. Nullable: not noted
  cpli_names keys;  // expressions that compute the same: cpli_expr_key(), their number
} cpli_functions;

void cpli_functions_free(cpli_functions* f);

cpl_port cpli_port_of(const cpli_functions* f, cpli_ref ref);

/// An expression over names of the system. *type, Nullable, gets its type.
cpl_status cpli_function_of_text(cpli_functions* f, const cpli_located_text* text,
                                 cpl_function* out, cpl_type* type);

/// The difference of both sides, for models whose states can be projected.
cpl_status cpli_function_of_constraint(cpli_functions* f, const cpli_constraint* c,
                                       cpl_function* out);

/// Marks the function as the guard of a transition: the mode may be entered close to where the
/// guard turns true, and then it has not fired yet. For messages: the names of the mode and of the
/// transition, which must outlive the function.
void cpli_function_is_guard(cpl_function* f, const char* mode, const char* transition);

/// Several expressions at once.
cpl_status cpli_function_of_texts(cpli_functions* f, const cpli_located_text* texts, size_t n,
                                  cpl_function* out);

/// A column of a table over time; *jumps: the times at which it is discontinuous. Warns where the
/// table begins after the start of the run, or a linear column ends before its end.
/// Borrowed: table until cpli_functions_free()
/// Nullable: how, a conversion of every value
cpl_status cpli_function_of_table(cpli_functions* f, const cpl_table* table, size_t column,
                                  bool held, const cpli_conversion* how, cpl_function* out,
                                  const double** jumps, int32_t* n_jumps);

/// A bare name times a factor plus an offset, as an expression. Owned: by the arena. text NULL: out
/// of memory.
cpli_located_text cpli_scaled_text(cpli_arena* arena, const cpli_located_text* name, double factor,
                                   double offset);

/// A constant expression over parameters of the system.
typedef struct cpli_constant {
  const cpli_expr* expr;
  const int32_t* parameters;  // that it depends on
  size_t n;
} cpli_constant;

/// Owned: *out by f.
cpl_status cpli_constant_parse(cpli_functions* f, const cpli_located_text* text,
                               cpli_constant* out);
/// scratch: room for n numbers.
cpl_status cpli_constant_value(const cpli_constant* c, cpl_context* ctx, const double* parameters,
                               double* scratch, double* out);

/// The value of a constant expression over known parameters. CPL_RETRY: one is not known yet.
cpl_status cpli_constant_of_text(cpli_functions* f, const cpli_located_text* text,
                                 const double* parameters, const bool* known, double* out);
