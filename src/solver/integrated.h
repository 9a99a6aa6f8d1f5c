// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inside of a stepper made by cpl_integrate(), for the files that share the work: point.c evaluates
// the model for the solver, linear.c solves linear systems of large ones, dae.c and dae_jacobian.c
// have what algebraic variables need, multipliers.c what constraints need with IDA, crossings.c
// finds state events, watch.c looks for those that come ever closer, saved.c saves and restores,
// structures.c follows a model whose structure varies, integrate.c steps; pieces.c steps several
// side by side.
#pragma once

#include "couplet/jacobian.h"
#include "solver/integrate.h"
#include "solver/projection.h"
#include "solver/solver.h"

typedef enum cpli_cause { NO_EVENT, STATE_EVENT, TIME_EVENT, STEP_EVENT, INPUT_EVENT } cpli_cause;

typedef struct cpli_integrate {
  cpl_stepper base;
  cpl_model* m;
  cpl_solver_def def;
  cpl_solver_stats stats;
  cpli_solver* solver;
  cpl_jacobian* jac;
  struct cpli_linear* linear;            // Nullable: the model or the solver has linear systems
  struct cpli_projection* projection;    // Nullable
  double* projected;                     // where indicators are evaluated; Nullable
  struct cpli_dae* dae;                  // Nullable: all unknowns of the solver are states
  struct cpli_dae_columns* columns;      // Nullable: no Jacobian of all unknowns is wanted
  struct cpli_multipliers* multipliers;  // Nullable: there are none
  size_t n, na, nm, all;                 // states, algebraic variables, multipliers; their sum
  size_t nz;
  double *x, *x_at, *atol, *nominal, *x_kept;  // of all three, in this order
  int8_t* crossed;
  struct cpli_crossings* crossings;  // Nullable: the model has no indicators

  double t;                // where outputs are
  double t_step;           // end of the solver's last step; x belongs to it
  double t_solver;         // the same, as the solver has it
  double t_start, t_stop;  // the solver's time is the model's less t_start
  double next_time;        // next time event of the model
  cpl_break kink;          // next kink of an input or of the model
  bool multistep;          // the method has a history
  bool running;            // between exit_init and terminate
  bool in_event;           // the model is in event mode
  int32_t rounds;          // updates of the event that is not over yet
  bool ended;              // the model asked to stop
  int32_t stop;            // and said this number
  bool step_open;          // the model has not heard of the solver's last step yet
  cpli_cause at_end;       // what waits at t_step
  cpli_cause pending;      // the event at t that waits for its update

  // inputs that are functions of time
  cpl_curve* curves;
  uint32_t* curve_refs;
  double* curve_values;
  size_t n_curves, cap_curves, last_curve;
  bool moved, stale;  // curves were given since the last step; the model has not seen them yet
  double* z_before;   // indicators before they were given, and after

  // events that come closer and closer, per indicator and direction
  struct cpli_trail {
    double last;             // when it happened last
    double distance, begin;  // the last distance, and where distances began to shrink
    double end;              // where they lead, as far as they were accurate
    int32_t close, shrunk;   // how many in a row were close, or closer than the one before
  } * trails;                // 2 nz
  double careful_until, careful_step;
  double stuck_since;
  int32_t stuck;
  cpli_pace pace;               // of its steps
  bool refused;                 // the model could not be evaluated at a point since then
  bool stops_at_ends;           // def.stop_at_steps_end as it was asked for: a method may need it
  struct cpli_structures* met;  // of a model of variable structure. Nullable: none yet
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

// One by one what step() does, for who steps several side by side. s->ended and s->pending say what
// came of it.

/// Whether the end of the solver's last step is still to be closed.
static inline bool cpli_integrate_open(const cpli_integrate* s) {
  return s->step_open || s->at_end != NO_EVENT;
}
/// Go to the end of the solver's last step: the model hears of it, and an event there stops us.
cpl_status cpli_integrate_close(cpli_integrate* s);
/// One step of the solver from where a closed one ended. Outputs up to s->t_step can be had then.
cpl_status cpli_integrate_ahead(cpli_integrate* s, double t_end, double t_limit);
/// Outputs at t, inside the solver's last step.
cpl_status cpli_integrate_at(cpli_integrate* s, double t);
/// The same, unless an indicator shows there that an event was missed in this step: it ends at the
/// event then (s->t_step), and outputs stay where they were.
cpl_status cpli_integrate_look(cpli_integrate* s, double t);
/// The solution at a time of the model, inside the solver's last step.
cpl_status cpli_solution_at(cpli_integrate* s, double t, double* x);
/// The event at s->t. `once`: one update of it; s->rounds > 0: it is not over.
cpl_status cpli_integrate_update(cpli_integrate* s, bool once);
/// Forget the solver's history.
cpl_status cpli_integrate_restart(cpli_integrate* s);

/// A stepper for the model as a whole.
cpl_status cpli_integrate_one(cpl_model* model, const cpl_solver_def* def, cpl_stepper** out);

/// Room, projection and solver for the present structure of the model.
cpl_status cpli_integrate_fit(cpli_integrate* s);
void cpli_integrate_unfit(cpli_integrate* s);

//------------------------------------ structures.c ------------------------------------

/// The model may have another structure than before: go on with the solver that belongs to it.
cpl_status cpli_structures_follow(cpli_integrate* s);
void cpli_structures_forget(cpli_integrate* s);   // what was watched in all of them
void cpli_structures_destroy(cpli_integrate* s);  // all but the present one

//------------------------------------ pieces.c ------------------------------------

/// A stepper for a model that was taken apart. Both belong to it from here on, also when it fails.
cpl_status cpli_integrate_subsystems(cpl_model* whole, const cpl_subsystems* pieces,
                                     const cpl_solver_def* def, cpl_stepper** out);
/// NULL: the stepper is something else.
const cpl_solver_stats* cpli_subsystems_stats(const cpl_stepper* s);

//------------------------------------ point.c ------------------------------------

cpl_status cpli_set_inputs(cpli_integrate* s, double t);                  // that are curves
cpl_status cpli_set_point(cpli_integrate* s, double t, const double* x);  // the model there
/// A failure that names the first state that is not finite, if there is one.
cpl_status cpli_run_away(cpli_integrate* s);
cpl_status cpli_integrate_make_solver(cpli_integrate* s);  // with its Jacobian, if any
/// The event indicators at a point, and where the model is; clamped away from zero and from
/// extremes, zero on the not-positive side, as in FMI.
cpl_status cpli_indicators(cpli_integrate* s, double t, const double* x, double* z);
cpl_status cpli_indicators_here(cpli_integrate* s, double t, double* z);

//------------------------------------ linear.c ------------------------------------

/// Linear systems of a large model with few dependencies; what is smaller or fuller is left to the
/// solver.
cpl_status cpli_linear_make(cpli_integrate* s, cpli_ode* ode);
void cpli_linear_destroy(cpli_integrate* s);

//------------------------------------ dae.c ------------------------------------

/// Turn the model to its form with residuals where that is wanted: s->na.
cpl_status cpli_dae_use(cpli_integrate* s);
/// What the form needs of its own, once the sizes are known.
cpl_status cpli_dae_make(cpli_integrate* s);
void cpli_dae_destroy(cpli_integrate* s);
/// Algebraic variables in x that belong to its states at t. CPL_RETRY: none were found.
cpl_status cpli_dae_solve(cpli_integrate* s, double t, double* x);
/// Algebraic variables in s->x that belong to its states at s->t; the model is there then.
cpl_status cpli_dae_consistent(cpli_integrate* s);
/// How fast they change: the part of dx behind the states, whose own part is given. Multipliers
/// stay.
cpl_status cpli_dae_slopes(void* user, double t, const double* x, double* dx);

//------------------------------------ dae_jacobian.c ------------------------------------

cpl_status cpli_dae_jacobian_make(cpli_integrate* s);
void cpli_dae_jacobian_destroy(cpli_integrate* s);
/// Where they may be other than zero. NULL: anywhere.
const cpli_pattern* cpli_dae_pattern(const cpli_integrate* s);
/// Derivatives of all equations by all unknowns, column after column.
cpl_status cpli_dae_jacobian(void* user, double t, const double* x, double* out);
/// Those of the pattern only, in its order.
cpl_status cpli_dae_entries(void* user, double t, const double* x, double* out);

//------------------------------------ multipliers.c ------------------------------------

/// How many the solver needs to keep the constraints: as many as there are, or none.
size_t cpli_multipliers_count(const cpli_integrate* s);
cpl_status cpli_multipliers_make(cpli_integrate* s);
void cpli_multipliers_destroy(cpli_integrate* s);
/// Before a step: where they lead from s->x.
cpl_status cpli_multipliers_look(cpli_integrate* s);
/// At the start and after an event.
void cpli_multipliers_start(cpli_integrate* s);
/// Their part of the equations at x, where the model is.
cpl_status cpli_multipliers_apply(cpli_integrate* s, const double* x, double* dx);
/// Their rows and columns of the Jacobian.
cpl_status cpli_multipliers_jacobian(cpli_integrate* s, double t, const double* x, double* out);
/// The linear system with them, by that of the model itself.
cpl_status cpli_multipliers_setup(void* user, double t, const double* x, double gamma, bool fresh);
cpl_status cpli_multipliers_solve(void* user, const double* r, double* dx);
/// The model's own system without them, until the next setup.
void cpli_multipliers_leave(cpli_integrate* s);

//------------------------------------ curves.c ------------------------------------

/// The stepper's set_curve.
cpl_status cpli_curves_set(cpl_stepper* base, uint32_t ref, const cpl_curve* curve);
/// Outputs follow curves that were given since the last step.
cpl_status cpli_curves_refresh(cpli_integrate* s);
/// Before a step: is it an event that curves begin elsewhere than those before them ended?
/// *margin: as wants_update has it.
cpl_status cpli_curves_begin(cpli_integrate* s, bool* jumped, double* margin);
/// The stepper's wants_update.
cpl_status cpli_curves_want_update(cpl_stepper* base, bool* wanted, double* margin);

//------------------------------------ crossings.c ------------------------------------

cpl_status cpli_crossings_make(cpli_integrate* s);
void cpli_crossings_destroy(cpli_integrate* s);
/// The solver begins anew at (s->t, s->x).
cpl_status cpli_crossings_start(cpli_integrate* s);
/// The solver made a step to (s->t_step, s->x). *found: an indicator changed its sign; the step
/// ends just past that now, and s->crossed tells which did. next_output: the next point to be
/// served.
cpl_status cpli_crossings_step(cpli_integrate* s, double next_output, bool* found);
/// The same for an output point s->t inside of the step, where the model is.
cpl_status cpli_crossings_at(cpli_integrate* s, bool* found);

//------------------------------------ watch.c ------------------------------------

/// After a step of the solver: does time advance at all?
cpl_status cpli_watch_step(cpli_integrate* s, double length);
void cpli_watch_begin(cpli_integrate* s);  // indicators nothing is known of
/// Inputs that jumped changed the side of an indicator: its events so far do not accumulate.
void cpli_watch_turned(cpli_integrate* s, size_t indicator);
void cpli_watch_forget(cpli_integrate* s);
/// An event stops the stepper at s->t: is it one of too many?
cpl_status cpli_watch_event(cpli_integrate* s, cpli_cause why);
/// Who fired, for people who look for it (--log-level debug).
void cpli_log_event(cpli_integrate* s, cpli_cause why);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_integrate_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_integrate_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_integrate_forget(cpl_component* c, cpl_snapshot* snapshot);
