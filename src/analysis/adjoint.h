// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Gradients by the adjoint method: one scalar of a run by many parameters. The composer of the
// forward run is a model of the same states that records its trajectory and its events; perturbed
// instances, as those of sensitivities, follow the events. From it a model of the run backwards in
// time is made, whose states are the adjoint variables lambda = dJ/dx and the integrals of the
// gradients. adjoint.c makes the first one, adjoint_record.c records, adjoint_linear.c has the
// transposed linear system, adjoint_back.c the run backwards, adjoint_jump.c what events do to
// lambda. The driver is cpl_experiment_gradients().
#pragma once

#include "aggregate/kept_descriptor.h"
#include "analysis/sensitivity.h"
#include "couplet/aggregate.h"
#include "model/sparsity.h"
#include "numeric/sparse.h"

/// A scalar J: a variable at the end of the run, or its integral over the run.
typedef struct cpli_scalar {
  uint32_t ref;
  int32_t var;
  bool integral;
} cpli_scalar;

/// The start of the run, or an event; each begins a segment of the trajectory.
typedef struct cpli_jump {
  double t;
  double *before, *after;      // n: states
  double *f_before, *f_after;  // n: slopes
  double *y_before, *y_after;  // of the scalars
  double* by;                  // n * n_to: what the states after it change by with each group alone
  double* later;               // n_to: its time, likewise
  int8_t* crossed;             // nz
  bool crosses, due, changes;
  double step, longest, next;  // as in cpli_sens; the time event after it
  cpl_snapshot* saved;         // before it: of the model, then of the perturbed instances. Nullable
  size_t first_piece;          // of its segment
} cpli_jump;

/// One step of the solver: a polynomial through these points.
typedef struct cpli_tape_piece {
  size_t first, n;
} cpli_tape_piece;

typedef struct cpli_tape {
  double *t, *x;
  size_t n, cap_t, cap_x;
  cpli_tape_piece* pieces;
  size_t n_pieces, cap_pieces;
  size_t begun;  // the first point of the piece in progress
} cpli_tape;

enum { CPLI_TAPE_NODES = 6 };  // of a piece

/// Places inside a step of length 1 where its solution is recorded, beside its ends.
extern const double cpli_tape_nodes[CPLI_TAPE_NODES - 2];

typedef struct cpli_adjoint {
  cpli_sens s;               // n_to groups of parameters; no states of sensitivities
  cpli_sens_parameter* all;  // the parameters, in the order of `to`
  int32_t* group;            // of each
  int32_t* starts;           // the state that it is the start value of, in a group of several; -1
  bool* local;               // its model can be evaluated alone
  size_t n_all;
  cpli_scalar* scalars;
  double* y;        // scratch: of the scalars
  uint32_t* reals;  // discrete ones, which no adjoint variable follows
  size_t n_reals;
  bool grouped;   // a group has several parameters
  bool separate;  // why the run failed: it has to be repeated without such groups
  cpli_tape tape;
  cpli_jump* jumps;
  size_t n_jumps, cap_jumps;
  bool open;  // the last one has begun
  double t_end;
} cpli_adjoint;

/// The model of the run forwards. def->of: names, "final(NAME)" or "integral(NAME)". grouped:
/// parameters of different models share perturbed instances; such a run has no events.
/// Owned: *out by the caller; it is the model of a cpli_adjoint.
cpl_status cpli_adjoint_make(cpl_source* source, const cpl_sensitivity_def* def, bool grouped,
                             cpl_model** out);
/// Whether a model is one; NULL: it is not.
cpli_adjoint* cpli_as_adjoint(cpl_model* m);

/// Its parameter i, as its group has it.
static inline cpli_sens_parameter* cpli_adjoint_parameter(cpli_adjoint* a, size_t i) {
  cpli_sens_parameter* lead = &a->s.to[a->group[i]];
  return lead->var == a->all[i].var ? lead : &a->all[i];
}

/// The driver calls it with the model inside a step, in the order of time.
cpl_status cpli_adjoint_sample(cpli_adjoint* a);
/// At the end of the run.
cpl_status cpli_adjoint_end(cpli_adjoint* a);

//------------------------------------ adjoint_record.c ------------------------------------

cpl_status cpli_adjoint_enter_event(cpl_model* m);
cpl_status cpli_adjoint_event_update(cpl_model* m, cpl_event_info* info);
cpl_status cpli_adjoint_enter_continuous(cpl_model* m);
cpl_status cpli_adjoint_completed_step(cpl_model* m, bool* event, bool* end);
void cpli_adjoint_forget(cpli_adjoint* a);
/// The states at a time of a segment.
void cpli_tape_at(const cpli_adjoint* a, size_t segment, double t, double* x);
cpl_status cpli_adjoint_scalars(cpli_adjoint* a, cpl_model* m, double* y);
/// Brings the model and the instances back to before an event.
cpl_status cpli_adjoint_restore(cpli_adjoint* a, const cpli_jump* j);

//------------------------------------ adjoint_linear.c ------------------------------------

/// Products and solutions with the transposed descriptor form at a point.
typedef struct cpli_transposed {
  cpl_context* ctx;
  const char* name;
  cpli_kept_descriptor* kept;
  const cpli_descriptor* d;
  int32_t n, na;             // states, algebraic unknowns
  int32_t *first_a, *row_a;  // the algebraic equations by their unknowns
  double* entries_a;
  cpli_sparse* algebraic;
  int32_t *first, *row;  // Newton's matrix
  double* entries;
  cpli_sparse* newton;
  double gamma;  // of its factors
} cpli_transposed;

/// Owned: the contents by the caller, who calls cpli_transposed_free(), also after a failure.
cpl_status cpli_transposed_init(cpli_transposed* k, cpl_model* m, const double* x,
                                const int32_t* outputs, int32_t n_outputs);
void cpli_transposed_free(cpli_transposed* k);
/// At the present point of the model.
cpl_status cpli_transposed_refresh(cpli_transposed* k);
/// lambda: of all equations; those of states are given, the others are found, for a scalar of
/// weight w that is output number `output`. Then out[n] = f_x' lambda + w y_x.
void cpli_transposed_product(cpli_transposed* k, int32_t output, double w, double* lambda,
                             double* out);
/// (I - gamma f_x') lambda = r; r[n], lambda of all equations. False: it is singular.
bool cpli_transposed_factor(cpli_transposed* k, double gamma);
void cpli_transposed_solve(cpli_transposed* k, const double* r, double* lambda);

//------------------------------------ adjoint_back.c ------------------------------------

/// The run backwards, after cpli_adjoint_end(): a model in the time -t, from -end to -start.
/// Owned:    *out by the caller, who destroys it before the forward model.
cpl_status cpli_adjoint_back(cpli_adjoint* a, cpl_model** out);
/// At its end, once: n_of * n_to gradients, `to` running fastest, and the n_of scalars.
void cpli_adjoint_gradients(cpl_model* back, double* gradients, double* values);

//------------------------------------ adjoint_jump.c ------------------------------------

/// lambda after an event becomes that before it: n values per scalar, `stride` apart.
cpl_status cpli_adjoint_jump(cpli_adjoint* a, const cpli_jump* j, double* lambda, size_t stride);
