// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A descriptor form that is made once and refreshed at any number of points, without allocations:
// the Jacobians of the models, the couplings and the places of their derivatives in the matrix are
// kept. It also tells which equations of the whole contain the derivatives and outputs of each
// model, so that derivatives with respect to parameters of a model find their rows.
#pragma once

#include "aggregate/descriptor.h"
#include "couplet/jacobian.h"

struct cpli_aggregate;
struct cpli_coupling_edge;

/// Rows of one model that is no aggregate.
typedef struct cpli_kept_rows {
  cpl_model* m;
  int32_t n;
  const int32_t* vars;     // derivatives and outputs of the model
  const int32_t* targets;  // the equation of each
  const int32_t* twice;    // a second equation that contains it; -1: none
  int32_t n_inputs;
  const int32_t* inputs;  // coupled inputs of the model
} cpli_kept_rows;

typedef struct cpli_kept_descriptor cpli_kept_descriptor;

/// As cpli_descriptor_make(), without inputs. The pattern has all entries that may be other than
/// zero.
/// Owned:    *out by the caller, who calls cpli_kept_descriptor_destroy(), also after a failure.
/// Borrowed: x, as long as *out lives: the states at each refresh are read there.
cpl_status cpli_kept_descriptor_make(cpl_model* m, const double* x, const int32_t* outputs,
                                     int32_t n_outputs, cpli_kept_descriptor** out);
void cpli_kept_descriptor_destroy(cpli_kept_descriptor* k);  // Nullable: k
const cpli_descriptor* cpli_kept_descriptor_of(const cpli_kept_descriptor* k);
/// All rows; a model may have several entries.
const cpli_kept_rows* cpli_kept_descriptor_rows(const cpli_kept_descriptor* k, size_t* n);

/// The entries at the present point of the model. Allocates nothing.
cpl_status cpli_kept_descriptor_refresh(cpli_kept_descriptor* k);

/// The values at the present point become the initial guesses of algebraic loops, as at the end of
/// a step, but nothing else is completed: for a model that is evaluated along a known solution.
void cpli_aggregate_keep_guesses(cpl_model* m);

/// The model of the whole that has a variable, which is no aggregate; *local: the variable there.
/// NULL: it is a signal, or a coupling reads it or sets it, or values of the model that change at
/// events only are read by couplings.
cpl_model* cpli_aggregate_owner(cpl_model* m, int32_t var, int32_t* local);

//------------------------------------ descriptor.c ------------------------------------

/// As cpli_descriptor_make(). Nullable: kept
cpl_status cpli_descriptor_build(cpl_model* m, const double* x, const int32_t* inputs,
                                 int32_t n_inputs, const int32_t* outputs, int32_t n_outputs,
                                 cpli_kept_descriptor* kept, cpli_descriptor** out);

// What it reports while the descriptor is built, in the order in which a refresh repeats it.
cpl_status cpli_kept_aggregate(cpli_kept_descriptor* k, struct cpli_aggregate* a);
cpl_status cpli_kept_coupling(cpli_kept_descriptor* k, struct cpli_aggregate* a,
                              struct cpli_coupling_edge* l);
/// Takes over the Jacobian and its values, also after the failure st, which is returned.
cpl_status cpli_kept_block(cpli_kept_descriptor* k, cpl_jacobian* jac, const double* x,
                           double* values, cpl_status st);
cpl_status cpli_kept_rows_add(cpli_kept_descriptor* k, const cpli_kept_rows* rows);
/// Triplet number i has the value *from; NULL: a constant.
cpl_status cpli_kept_entry(cpli_kept_descriptor* k, size_t i, const double* from);
cpl_status cpli_kept_places(cpli_kept_descriptor* k, const cpli_triplets* t,
                            const cpli_compressed* j);
