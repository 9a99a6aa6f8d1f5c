// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Internals of a stepper made by cpl_integrate(), shared by several files: point.c evaluates the
// model for the solver, linear.c solves linear systems of large models, dae.c and dae_jacobian.c
// handle algebraic variables, multipliers.c handles constraints with IDA, crossings.c finds state
// events, watch.c detects chattering, saved.c saves and restores, structures.c follows a model of
// variable structure, integrate.c steps; subsystems.c makes one stepper per subsystem.
#pragma once

#include "couplet/jacobian.h"
#include "model/serial.h"
#include "solver/integrate.h"
#include "solver/projection.h"
#include "solver/solver.h"

typedef enum cpli_cause { NO_EVENT, STATE_EVENT, TIME_EVENT, STEP_EVENT, INPUT_EVENT } cpli_cause;

enum { CPLI_MAX_ROUNDS = 1000 };  // per event iteration

typedef struct cpli_integrate {
  cpl_stepper base;
  cpl_model* m;
  cpl_solver_def def;
  cpl_solver_stats stats;
  cpli_solver* solver;
  cpl_jacobian* jac;
  struct cpli_linear* linear;          // Nullable: the model or the solver has linear systems
  struct cpli_projection* projection;  // Nullable
  double* projected;                 // projected states for the evaluation of indicators; Nullable
  struct cpli_dae* dae;              // Nullable: all unknowns of the solver are states
  struct cpli_dae_columns* columns;  // Nullable: no Jacobian of all unknowns is needed
  struct cpli_multipliers* multipliers;  // Nullable: no multipliers
  size_t n, na, nm, all;                 // states, algebraic variables, multipliers; their sum
  size_t nz;
  double *x, *x_at, *atol, *nominal, *x_kept;  // of all three, in this order
  int8_t* crossed;
  struct cpli_crossings* crossings;  // Nullable: the model has no indicators

  double t;                // output time
  double t_step;           // end of the solver's last step; x belongs to it
  double t_solver;         // the same in the solver's time
  double t_start, t_stop;  // the solver's time is the model's minus t_start
  double next_time;        // next time event of the model
  cpl_break kink;          // next kink of an input or of the model
  bool multistep;          // the method has a history
  bool running;            // between exit_init and terminate
  bool in_event;           // the model is in event mode
  int32_t rounds;          // updates so far of the event in progress
  bool ended;              // the model requested the end of the run
  int32_t stop;            // with this number
  bool step_open;          // the model has not been notified of the solver's last step yet
  cpli_cause at_end;       // what is due at t_step
  cpli_cause pending;      // the event at t whose update is pending

  // inputs that are functions of time
  cpl_curve* curves;
  uint32_t* curve_refs;
  double* curve_values;
  size_t n_curves, cap_curves, last_curve;
  bool moved, stale;  // curves were set since the last step; the model has not got their values yet
  double* z_before;   // indicators before the curves were set, and after

  // accumulating events, per indicator and direction
  struct cpli_trail {
    double last;             // time of the last event
    double distance, begin;  // the last distance, and where distances began to shrink
    double end;              // the accumulation point, as far as distances were accurate
    int32_t close, shrunk;   // consecutive events that were close, or closer than the one before
  } * trails;                // 2 nz
  double careful_until, careful_step;
  double stuck_since;
  int32_t stuck;
  cpli_pace pace;                // of the solver's steps
  bool refused;                  // the model could not be evaluated at some point since then
  bool stops_at_ends;            // def.stop_at_steps_end as requested: a method may force it
  cpli_serial_room bytes;        // of the last saved state that became bytes
  const cpl_snapshot* restored;  // of the model, of the state that was restored last. Nullable
  struct cpli_structures*
      structures;  // structures so far of a model of variable structure. Nullable: none yet
} cpli_integrate;

static inline cpl_component* cpli_model_of(cpl_component* c) {
  return &((cpli_integrate*)c)->m->base;
}
static inline double cpli_clock_if(const cpli_integrate* s) {
  return s->def.timing ? cpli_now() : 0;
}
static inline void cpli_account(cpli_integrate* s, double since) {
  if (s->def.timing) s->stats.in_models_s += cpli_now() - since;
}

//------------------------------------ integrate.c ------------------------------------

/// The solution at a time of the model, inside the solver's last step.
cpl_status cpli_solution_at(cpli_integrate* s, double t, double* x);
/// The same as outputs have it: accurate, and on the constraints. CPL_RETRY is passed on.
cpl_status cpli_solution_for_output(cpli_integrate* s, double t, double* x);
/// The stepper itself, also behind a proxy; NULL: it is of another kind.
cpli_integrate* cpli_integrate_of(cpl_stepper* s);
/// Discard the solver's history, and what it did beyond the output time.
cpl_status cpli_integrate_restart(cpl_stepper* s);

/// A stepper for the model as a whole.
cpl_status cpli_integrate_one(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out);

/// Memory, projection and solver for the current structure of the model.
cpl_status cpli_integrate_fit(cpli_integrate* s);
void cpli_integrate_unfit(cpli_integrate* s);

//------------------------------------ structures.c ------------------------------------

/// The model may have changed its structure: continue with the solver of the current one.
cpl_status cpli_structures_follow(cpli_integrate* s);
void cpli_structures_forget(cpli_integrate* s);   // chattering statistics of all structures
void cpli_structures_destroy(cpli_integrate* s);  // all but the current one
void cpli_structures_list(cpli_integrate* s, cpli_serial* serial);  // for the history

//------------------------------------ subsystems.c ------------------------------------

/// A stepper for a model that was split into subsystems. It owns both from here on, also on
/// failure.
cpl_status cpli_integrate_subsystems(cpl_model* whole, const cpl_subsystems* subsystems,
                                     const cpl_solver_def* def, cpl_stepper** out);

//------------------------------------ point.c ------------------------------------

cpl_status cpli_set_inputs(cpli_integrate* s, double t);                  // inputs that are curves
cpl_status cpli_set_point(cpli_integrate* s, double t, const double* x);  // of the model
/// After an event, with the states that the model has set: a failure that names the first one that
/// is not finite.
cpl_status cpli_check_states(cpli_integrate* s);
/// A failure that names the first state that is not finite, if there is one.
cpl_status cpli_run_away(cpli_integrate* s);
/// The end of the last step against its begin: times of the solver are rounded when they become
/// times of the model; one that is earlier by more is of a history that was damaged in its file.
cpl_status cpli_check_order(cpli_integrate* s, double begin);
cpl_status cpli_integrate_make_solver(cpli_integrate* s);  // with its Jacobian, if any
/// The event indicators at a point; the model stays there. Clamped away from zero and from
/// extremes; zero counts as not positive, as in FMI.
cpl_status cpli_indicators(cpli_integrate* s, double t, const double* x, double* z);
cpl_status cpli_indicators_here(cpli_integrate* s, double t, double* z);

//------------------------------------ linear.c ------------------------------------

/// Linear systems of a large model with few dependencies; smaller or fuller ones are left to the
/// solver.
cpl_status cpli_linear_make(cpli_integrate* s, cpli_ode* ode);
void cpli_linear_destroy(cpli_integrate* s);
/// Its next factorisation does not depend on earlier ones.
void cpli_linear_forget(cpli_integrate* s);
/// For the history.
void cpli_linear_list(cpli_integrate* s, cpli_serial* serial);

//------------------------------------ dae.c ------------------------------------

/// Switch the model to its form with residuals where requested: s->na.
cpl_status cpli_dae_use(cpli_integrate* s);
/// The data of that form, once the sizes are known.
cpl_status cpli_dae_make(cpli_integrate* s);
void cpli_dae_destroy(cpli_integrate* s);
void cpli_dae_list(cpli_integrate* s, cpli_serial* serial);  // for the history
/// Algebraic variables in x consistent with its states at t. CPL_RETRY: none were found.
cpl_status cpli_dae_solve(cpli_integrate* s, double t, double* x);
/// Algebraic variables in s->x consistent with its states at s->t; the model is at that point then.
cpl_status cpli_dae_consistent(cpli_integrate* s);
/// Their slopes, written to dx behind the given slopes of the states. Multipliers are left
/// unchanged.
cpl_status cpli_dae_slopes(void* user, double t, const double* x, double* dx);

//------------------------------------ dae_jacobian.c ------------------------------------

cpl_status cpli_dae_jacobian_make(cpli_integrate* s);
void cpli_dae_jacobian_destroy(cpli_integrate* s);
void cpli_dae_jacobian_list(cpli_integrate* s, cpli_serial* serial);  // for the history
void cpli_dae_jacobian_forget(cpli_integrate* s);                     // earlier runs
/// The sparsity pattern. NULL: full.
const cpli_pattern* cpli_dae_pattern(const cpli_integrate* s);
/// Derivatives of all equations with respect to all unknowns, by columns.
cpl_status cpli_dae_jacobian(void* user, double t, const double* x, double* out);
/// Only the entries of the pattern, in its order.
cpl_status cpli_dae_entries(void* user, double t, const double* x, double* out);

//------------------------------------ multipliers.c ------------------------------------

/// The number of multipliers needed to keep the constraints: the number of constraints, or zero.
size_t cpli_multipliers_count(const cpli_integrate* s);
cpl_status cpli_multipliers_make(cpli_integrate* s);
void cpli_multipliers_destroy(cpli_integrate* s);
void cpli_multipliers_list(cpli_integrate* s, cpli_serial* serial);  // for the history
/// Before a step: their directions at s->x.
cpl_status cpli_multipliers_look(cpli_integrate* s);
/// At the start and after an event.
void cpli_multipliers_start(cpli_integrate* s);
/// Their contribution to the equations at x, where the model is.
cpl_status cpli_multipliers_apply(cpli_integrate* s, const double* x, double* dx);
/// Their rows and columns of the Jacobian.
cpl_status cpli_multipliers_jacobian(cpli_integrate* s, double t, const double* x, double* out);
/// The linear system including them, solved by means of the model's own.
cpl_status cpli_multipliers_setup(void* user, double t, const double* x, double gamma, bool fresh);
cpl_status cpli_multipliers_solve(void* user, const double* r, double* dx);
/// The model's own system without them, until the next setup.
void cpli_multipliers_leave(cpli_integrate* s);

//------------------------------------ curves.c ------------------------------------

/// The curve of an input; NULL: it has none.
const cpl_curve* cpli_curves_find(const cpli_integrate* s, uint32_t ref);
/// The Real with that reference, which can be a curve where it can be set; NULL: there is none.
const cpl_variable* cpli_curves_input(const cpli_integrate* s, uint32_t ref);
/// Memory for n curves.
cpl_status cpli_curves_reserve(cpli_integrate* s, size_t n);
/// The stepper's set_curve.
cpl_status cpli_curves_set(cpl_stepper* base, uint32_t ref, const cpl_curve* curve);
/// Outputs follow the curves that were set since the last step.
cpl_status cpli_curves_refresh(cpli_integrate* s);
/// Before a step: is the difference between the start of new curves and the end of those before an
/// event? *margin: as in wants_update.
cpl_status cpli_curves_begin(cpli_integrate* s, bool* jumped, double* margin);
/// The stepper's wants_update.
cpl_status cpli_curves_want_update(cpl_stepper* base, bool* wanted, double* margin);

//------------------------------------ crossings.c ------------------------------------

cpl_status cpli_crossings_make(cpli_integrate* s);
void cpli_crossings_destroy(cpli_integrate* s);
/// The solver restarts at (s->t, s->x).
cpl_status cpli_crossings_start(cpli_integrate* s);
/// The solver made a step to (s->t_step, s->x). *found: an indicator changed its sign; the step now
/// ends just past the change, and s->crossed tells which indicators changed. next_output: the next
/// output point to be served.
cpl_status cpli_crossings_step(cpli_integrate* s, double next_output, bool* found);
/// The same for an output point s->t inside the step, where the model is.
cpl_status cpli_crossings_at(cpli_integrate* s, bool* found);

/// For the history.
void cpli_crossings_list(cpli_integrate* s, cpli_serial* serial);

//------------------------------------ watch.c ------------------------------------

/// After a step of the solver: does time advance at all?
cpl_status cpli_watch_step(cpli_integrate* s, double length);
void cpli_watch_begin(cpli_integrate* s);  // no history of any indicator
/// Inputs that jumped changed the sign of an indicator: its events so far do not accumulate.
void cpli_watch_turned(cpli_integrate* s, size_t indicator);
void cpli_watch_forget(cpli_integrate* s);
/// An event stops the stepper at s->t: does it exceed the limits for chattering?
cpl_status cpli_watch_event(cpli_integrate* s, cpli_cause why);
/// Logs which event occurred (--log-level debug).
void cpli_log_event(cpli_integrate* s, cpli_cause why);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_integrate_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_integrate_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_integrate_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_integrate_to_bytes(cpl_component* c, const cpl_snapshot* snapshot,
                                   cpl_binary* bytes);
cpl_status cpli_integrate_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                     cpl_snapshot* snapshot);

void cpli_serial_trail(cpli_serial* s, struct cpli_trail* k);

//------------------------------------ history.c ------------------------------------

cpl_status cpli_integrate_get_history(cpl_component* c, cpl_binary* bytes, bool* complete);
cpl_status cpli_integrate_set_history(cpl_component* c, const cpl_binary* bytes);
