// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer of sensitivities: a model becomes a model whose states are x and, for each parameter
// k, s = dx/dk. Two perturbed instances per parameter, with k a little larger and smaller, are
// evaluated at x + s dk and x - s dk; their difference is every derivative that is needed: slopes,
// variables, constraints, and states after an event. Where the model has directional derivatives,
// they replace the differences between events. sensitivity.c makes it and has the values,
// sensitivity_describe.c the variables, sensitivity_point.c continuous time, sensitivity_exact.c
// directional derivatives, sensitivity_newton.c the linear system, sensitivity_events.c the events.
#pragma once

#include "couplet/jacobian.h"
#include "couplet/sensitivity.h"
#include "model/router.h"
#include "model/shared_desc.h"
#include "numeric/sparse_lu.h"

typedef enum cpli_sens_phase { SENS_MADE, SENS_INIT, SENS_EVENT, SENS_CONTINUOUS } cpli_sens_phase;

/// Where a variable of the whole is found (cpl_route.component).
enum { SENS_MODEL, SENS_PAIR, SENS_STATE, SENS_SLOPE };

/// An instance with a parameter that is a little larger, or smaller.
typedef struct cpli_perturbed {
  cpl_model* m;
  double value;    // of the parameter
  double sign;     // 1 or -1
  double next;     // its next time event
  double shift;    // its event in progress is that much later
  bool again;      // it requests another update
  double* moved;   // n: its distance from the model before the event
  double* slopes;  // n: before the event
} cpli_perturbed;

typedef struct cpli_sens_parameter {
  int32_t var, named;  // the variable, and perhaps an alias of it by which it was named
  uint32_t ref;        // in the model
  bool is_state;
  double start;       // its value
  double scale;       // its magnitude,
  double least;       // at least this
  double width;       // between the two values
  int64_t placed_at;  // the point at which its instances are
  bool direct;        // directional derivatives are used until the next event
  uint32_t* known;    // states, and what has another value in the two instances
  double* seed;       // the direction
  size_t n_known;
  double* of_values;     // derivatives of the unknowns
  int64_t of_at;         // the point that they belong to
  cpli_perturbed of[2];  // above, below
  /// Another one that is changed in the same two instances (adjoint.h); its own have no model.
  struct cpli_sens_parameter* next;
} cpli_sens_parameter;

/// A structure of the model: most models have one.
typedef struct cpli_sens_form {
  const cpl_description* of;  // of the model
  cpl_description desc;
  int32_t* place;  // of each state with sensitivities: its number in this structure, or -1
} cpli_sens_form;

typedef struct cpli_sens {
  cpl_model base;
  cpl_source* source;
  cpl_model* m;
  cpli_shared_desc* desc;
  cpli_router router;
  cpl_model_ops ops;
  size_t n, nz, nc;                 // states, indicators, constraints of the model in its structure
  size_t n_most, nz_most, nc_most;  // in any
  cpli_sens_form* forms;
  size_t n_forms, n_named;  // n_named: states of all structures
  bool switched;            // the structure changes at the event in progress
  size_t n_of, n_to;
  cpli_sens_parameter* to;
  uint32_t* of;  // references in the model
  int32_t* of_vars;
  cpli_sens_phase phase;
  double t, t_start;
  double *x, *dx;                // n * (1 + n_to)
  double *at, *above, *below;    // n, of perturbed instances
  double *f, *before, *f_after;  // n: slopes at the event, states before it, slopes after it
  double* nominal;               // n: of the states, since the last event
  int64_t point;                 // number of the present point
  double *residual, *residuals[2];
  double* gradients;  // nc * n

  // directional derivatives
  bool only_differences;           // they are not wanted
  bool can_direct;                 // the model has some
  uint32_t* held;                  // references of what is constant between events, and of inputs
  size_t n_held, n_constant;       // n_constant: without inputs, which are last
  double* held_values;             // 2 * n_held
  uint32_t *derivative, *unknown;  // references: n; outputs among `of`
  size_t n_unknown;
  int32_t *of_state, *of_unknown;         // n_of: its place in the states or unknowns; -1: none
  double *slope, *difference, *rounding;  // n
  int64_t steps, next_check;              // since the last event

  // events
  double next;        // time event of the model
  double last, step;  // end of the last completed step or event; length of the last step
  double longest;     // step since the last event
  double crossed_at;  // time of `crossed`; NAN: none
  double shifted_at;  // time for which shifts were found; NAN: none
  int8_t *signs, *crossed;
  double *z, *z_at, *slopes;
  bool touches;      // an indicator has no slope at the event in progress
  size_t touching;   // that one
  bool has_slopes;   // those before the event in progress are known
  bool shifted;      // instances have, or had, their event at another time
  bool tells_steps;  // perturbed instances are to be told of completed steps
  bool began;        // the initialisation is over
  bool moves;        // an input has changed in continuous time since the last event
  int32_t n_discrete[CPL_CLOCK + 1];
  uint32_t* discrete[CPL_CLOCK + 1];
  int64_t *values, *others;  // of the largest list

  // Newton's matrix of a model that has none of its own
  cpl_jacobian* jac;
  cpli_sparse_lu* sparse;  // Nullable: dense
  double *entries, *matrix, *row, *column;
  int32_t* pivot;
  double gamma;
  cpli_arena arena;
} cpli_sens;

static inline cpli_sens* cpli_sens_of(cpl_model* m) { return (cpli_sens*)m; }

/// Every perturbed instance: for (CPLI_EACH_PERTURBED(s, k, p)) with parameter k.
#define CPLI_EACH_PERTURBED(s, k, p)        \
  cpli_sens_parameter* k = (s)->to;         \
  k != NULL&& k < (s)->to + (s)->n_to; k++)                        \
    for (cpli_perturbed* p = k->of; p < k->of + 2; p++

/// A parameter and the others that are changed together with it.
#define CPLI_EACH_MEMBER(k, member)  \
  cpli_sens_parameter* member = (k); \
  member != NULL;                    \
  member = member->next

/// The sensitivities of the states with respect to a parameter.
static inline double* cpli_sens_states(const cpli_sens* s, const cpli_sens_parameter* k) {
  return s->x + s->n * (size_t)(1 + (k - s->to));
}

//------------------------------------ sensitivity.c ------------------------------------

/// A set of values of the model, which reaches all instances.
cpl_status cpli_sens_set(cpli_sens* s, const cpli_access* a);
/// The life cycle of all instances.
cpl_status cpli_sens_setup(cpli_sens* s, const cpl_setup* setup);
cpl_status cpli_sens_enter_init(cpli_sens* s);
cpl_status cpli_sens_exit_init(cpli_sens* s);
cpl_status cpli_sens_terminate(cpli_sens* s);
cpl_status cpli_sens_reset(cpli_sens* s);
void cpli_sens_forget_run(cpli_sens* s);
/// Refuses sources without instances of their own.
cpl_status cpli_sens_check(cpl_context* ctx, const cpl_source* source,
                           const cpl_sensitivity_def* def);
cpl_status cpli_sens_make_instances(cpli_sens* s);
void cpli_sens_free(cpli_sens* s);  // all but the memory of s itself

//------------------------------------ sensitivity_describe.c ------------------------------------

/// The variables of `of` and `to`.
cpl_status cpli_sens_take_names(cpli_sens* s, const cpl_sensitivity_def* def);

/// The structures of the model, then its description in each of them.
cpl_status cpli_sens_describe(cpli_sens* s, const cpl_sensitivity_def* def);

/// Sizes and description follow the structure of the model.
cpl_status cpli_sens_follow(cpli_sens* s);

//------------------------------------ sensitivity_point.c ------------------------------------

/// The perturbed instances at the present point.
cpl_status cpli_sens_place(cpli_sens* s);
/// Differences of the slopes of the instances of one parameter.
cpl_status cpli_sens_differences(cpli_sens* s, cpli_sens_parameter* k, double* out);
/// The distance, in k, of the states that these are taken between.
double cpli_sens_width(const cpli_sens* s, const cpli_sens_parameter* k);
/// One of them at a time later by `shift`, with states later by that much.
cpl_status cpli_sens_move(cpli_sens* s, const cpli_sens_parameter* k, cpli_perturbed* p,
                          double shift);
cpl_status cpli_sens_pairs(cpli_sens* s, const uint32_t* pairs, size_t n, double* values);
cpl_status cpli_sens_slopes(cpli_sens* s, double* dx);
cpl_status cpli_sens_make_point(cpli_sens* s);

//------------------------------------ sensitivity_exact.c ------------------------------------

cpl_status cpli_sens_make_exact(cpli_sens* s);
/// The derivatives of the sensitivities to k, where k->direct. Where the model fails, k->direct
/// becomes false and differences are to be used.
cpl_status cpli_sens_direct(cpli_sens* s, cpli_sens_parameter* k, double* out);
/// The derivative of variable `of` number j, where cpli_sens_has_direct_value().
cpl_status cpli_sens_direct_value(cpli_sens* s, cpli_sens_parameter* k, size_t j, double* out);
bool cpli_sens_has_direct_value(const cpli_sens* s, const cpli_sens_parameter* k, size_t j);
/// In continuous time after an event: whether directional derivatives are used.
cpl_status cpli_sens_begin_direct(cpli_sens* s);
/// After a step: whether they are still right.
void cpli_sens_verify_direct(cpli_sens* s);

//------------------------------------ sensitivity_newton.c ------------------------------------

cpl_status cpli_sens_make_newton(cpli_sens* s);
void cpli_sens_free_newton(cpli_sens* s);

//------------------------------------ sensitivity_events.c ------------------------------------

cpl_status cpli_sens_make_events(cpli_sens* s);
/// After the initialisation: parameters have the values that they were given.
cpl_status cpli_sens_verify(cpli_sens* s);
cpl_status cpli_sens_enter_event(cpl_model* m);
cpl_status cpli_sens_event_update(cpl_model* m, cpl_event_info* info);
cpl_status cpli_sens_enter_continuous(cpl_model* m);
cpl_status cpli_sens_completed_step(cpl_model* m, bool* event, bool* end);
