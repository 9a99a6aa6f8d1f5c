// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The data of a master: its parts, their output values (outs), the links that carry these to
// inputs, and the plans, which give the order of reading values, setting inputs and stepping parts.
// Parts are in the order of their names and everything else in the order of parts, so that the
// order of a file changes no bit.
#pragma once

#include "base/error.h"
#include "couplet/master.h"
#include "master/merged.h"
#include "model/input_curve.h"
#include "model/serial.h"
#include "model/starter.h"

enum { CPLI_SAMPLES = 3 };

// An output of a part that is the source of a link. Reals are in `real`, Strings and Binaries in
// `bytes`, all others in `integer`.
typedef struct cpli_out {
  int32_t part, var;
  uint32_t ref;
  uint8_t type;
  bool changed;        // by the last read
  int64_t changed_at;  // in an event: cpli_master.changes
  uint32_t version;    // of bytes: how often they changed; of a clock: the step it ticked in
  bool has_slope;      // its part gives its derivative
  uint32_t slope_ref;  // of the variable that the derivative is read from
  double real;
  double slope;  // the derivative with respect to time; NAN: not known
  int64_t integer;
  char* bytes;
  size_t size, cap;
} cpli_out;

// What a discrete input was set to last.
typedef struct cpli_sent {
  double value;
  uint32_t version;  // of the bytes, or of the tick
  bool fresh;        // it must be set even if it appears unchanged
} cpli_sent;

// An input and its source.
typedef struct cpli_master_link {
  int32_t out;
  int32_t part, var;
  uint32_t ref;
  uint8_t type;
  bool discrete;          // set only when it changes
  bool parameter;         // of its part: all outputs may depend on it
  bool fixed;             // a parameter that can be set before the start only
  bool feeds;             // a used output depends on it directly
  bool assumed;           // it feeds only because the part declares no dependencies
  bool with_step;         // its value at the end of a step is known before its part takes the step
  bool delayed;           // cut from a loop: it is extrapolated from the previous steps
  bool guessed;           // its value at the end of the step is the unknown of a loop
  cpli_sent sent, saved;  // now, and at the snapshot of its part
  double factor, offset;
  double nominal;
  double next;            // at the end of the step
  double seen;            // in an event: its value in the last update of its part,
  uint32_t seen_version;  // and the version of its bytes or tick
  double noise;           // a residual of its loop that could not be reduced
  double past_t[CPLI_SAMPLES], past[CPLI_SAMPLES];  // values of communication points, newest first
  double past_slope[CPLI_SAMPLES];                  // and their derivatives; NAN: not known
  int32_t n_past;
} cpli_master_link;

typedef enum cpli_master_class {
  CPLI_ROLLS_BACK,
  CPLI_LEGACY,  // neither rolls back nor predicts
  CPLI_PREDICTS,
} cpli_master_class;

typedef struct cpli_master_part {
  cpl_stepper* s;
  cpli_master_class kind;
  bool can_restore, plain;
  bool follows;                 // outputs follow inputs without a step
  bool keeps_own;               // its step cannot vary: it has a grid of its own
  bool samples;                 // it, or a component in it, samples inputs once per time in events
  int32_t rank;                 // in the order of event updates
  int32_t first_link, n_links;  // links into it
  int32_t first_out, n_outs;
  // its part of cpli_master.constant_links
  int32_t first_constant, n_constant;
  int32_t order;            // of the polynomials of its inputs through values alone
  int32_t max_order;        // and the highest order that it takes
  bool slopes;              // some of its outs have slopes
  double step;              // of its own grid; 0: none
  double kink;              // the next one that its outputs have without their inputs
  double t;                 // its time
  double own_t;             // its time as it reports it, which may differ by rounding
  double saved_t, first_t;  // the same where the snapshots below were taken
  bool due, stepped;        // in this step
  bool gets;                // in a list of outputs that are got at the same time
  bool predicted;           // it predicted how far it will go
  bool jumped;              // its outputs are those after an event that ended the step
  bool stays;               // it stopped where all others are stepped to now
  double accepted;          // the farthest point it reached in this step without refusing
  bool given;               // an input from outside since the last update
  bool kinks;               // in an event: its outputs may have a jump or a kink
  int64_t touched;          // in an event: cpli_master.changes when it was set or updated last
  // number of steps and updates; a clock that ticked shows it until the next one
  uint32_t calls;
  // inputs of the end of the step, constant over it, cause an event at its beginning
  bool early;
  double margin;  // of that event: cpl_stepper_ops.wants_update
  bool pending;   // an event of it awaits its update
  cpl_step_result result;
  // at the beginning of the step; at the beginning of a step that is tried twice
  cpl_snapshot saved, first;
  uint32_t* in_refs;  // scratch for constant inputs; per part, since parts are stepped in parallel
  double* in_values;
  cpl_status st;
  int64_t n_steps;     // accepted
  int64_t n_rejected;  // steps that it did not complete
  int64_t n_rollbacks;
  int64_t n_updates;  // steps of size zero
} cpli_master_part;

typedef enum cpli_step_op_kind {
  CPLI_OP_STEP,
  CPLI_OP_GET,
  CPLI_OP_SET,
  CPLI_OP_LOOP
} cpli_step_op_kind;

typedef struct cpli_step_op {
  cpli_step_op_kind kind;
  int32_t level;
  int32_t part;          // STEP, GET, SET
  int32_t first, n;      // in plan->items: outs (GET), links (SET); LOOP: ops that follow
  int32_t torn, n_torn;  // LOOP: links, in plan->items
  bool assumed;          // LOOP: it exists only because parts declare no dependencies
  bool given_up;         // LOOP: it has no solution; its values lag one step
} cpli_step_op;

typedef struct cpli_step_plan {
  cpli_step_op* ops;
  int32_t n_ops;
  int32_t* items;
  int64_t* done;  // of the plan for events: cpli_master.changes when each op was last executed
} cpli_step_plan;

// The kind of a plan: its nodes and edges.
typedef enum cpli_step_plan_kind {
  CPLI_PLAN_INITIAL,  // all parts are in initialisation: their outputs follow inputs
  CPLI_PLAN_SETTLE,   // at a communication point: outputs of parts that can, follow
  CPLI_PLAN_STEP,
  CPLI_PLAN_EVENT,  // values and event updates in the order of the data flow
  CPLI_PLANS
} cpli_step_plan_kind;

// Margins of conditions over values of parts at the last communication points, newest first.
typedef struct cpli_trace {
  double t[CPLI_SAMPLES], margin[CPLI_SAMPLES];
  int32_t n;
  int32_t extra;  // steps that were shortened to approach a change
} cpli_trace;

typedef struct cpli_master {
  cpl_stepper base;
  cpl_component_ops component_ops;
  cpl_stepper_ops stepper_ops;
  char* name;
  cpli_arena arena;
  cpl_master_def def;
  struct cpli_shared_desc* merged;  // the description
  cpli_starter* starter;            // borrowed. Nullable
  cpli_master_part* parts;
  cpli_out* outs;
  cpli_master_link* links;
  int32_t n_parts, n_outs, n_links;
  // continuous links into parts that take only values, in the order of part and reference
  int32_t* constant_links;
  int32_t n_constant;
  cpli_step_plan plans[CPLI_PLANS];
  int32_t* probes;  // parts that are probed before a part that cannot be rolled back takes the step
  int32_t n_probes;
  struct cpli_thread_pool* pool;  // NULL: one thread
  int32_t threads;
  bool threads_always;  // an explicit number of threads is used without measuring
  cpli_error* errors;   // of parts that fail on threads of the pool. Nullable.
  double cost;          // of a step of a part, as measured recently [s]
  int32_t n_remote;     // parts whose calls overlap

  double t, t_start;
  double h;      // of the next step, with error control
  double reach;  // how far this step can go, as far as is known
  double kink;   // the next one of all parts, with error control; NAN: not known
  double t_stop;
  int32_t limiter;  // the part that shortened the last step; -1: none
  cpli_pace pace;
  bool running, ended;
  bool pending;       // an event at t awaits its update
  int32_t rounds;     // of updates of the present event
  int64_t changes;    // counts changes in events
  bool halved;        // the present step was halved because a loop switches in it
  double short_step;  // the length of such a step; the next ones are not much longer. 0: none
  bool initializes;   // between enter_init and exit_init
  bool touched;       // inputs were set from outside since the last step
  bool iterates;      // a loop repeats steps
  bool end_slopes;    // inputs follow derivatives at the end of the step as well
  bool watches;       // parts may have conditions over their inputs
  bool samples;       // a part samples its inputs once per time: cpli_master_part.samples,
  bool sampling;      // and it may do so in this round of an event
  bool crossed;       // such a condition changed in the last step,
  bool early;         // and the event was at the beginning of the step already,
  int32_t crosser;    // of this part;
  double margin;      // of the indicators: cpl_stepper_ops.wants_update,
  double margin_t;    // at this time
  cpli_trace trace;
  bool warned;       // a warning was given that the time of such a change is not known exactly
  bool warned_late;  // a warning was given that an input jumped within a step
  bool blind;        // in this step, parts that can be rolled back have extrapolated inputs
  bool saves;        // snapshots are taken before each step
  uint32_t* refs;    // scratch of the longest list of one part
  double* reals;
  int64_t* integers;
  cpl_binary* binaries;
  const char** strings;
  double* work;                  // of loops
  cpli_master_link* kept_links;  // before a step that may be rolled back
  cpli_out* kept_outs;
  double* assumed;     // the assumed value of each link at the end of the step
  struct cpli_watch {  // outputs whose error is estimated, by part, whether connected or not
    int32_t n;
    int32_t* first;  // n_parts + 1: of each part
    uint32_t* refs;
    double *nominal, *begin, *coarse, *now;
    double* link_begin;  // values of links at the beginning of the step
  } watch;
  double moved;           // relative change of the values in the step; 1: does not matter
  bool warned_shortest;   // a warning was given that the error is too large at the shortest step
  int64_t n_inaccurate;   // steps that were accepted with too large an error,
  double worst, worst_t;  // the largest of these errors, in units of the tolerance, and its time
  struct cpli_bond {
    int32_t effort, flow;  // links
  } * bonds;
  int32_t n_bonds;
  int32_t max_torn;
  int64_t n_steps;       // communication steps
  int64_t n_repeated;    // after a rejection by a stepper or a failed error test
  int64_t n_iterations;  // of loops
  int64_t n_events;
  const char** facts[2];
  size_t n_facts[2];
  cpli_serial_room bytes;  // of the last saved state that became bytes
} cpli_master;

//------------------------------------ master.c ------------------------------------

/// Sets its operations according to its capabilities.
void cpli_master_equip(cpli_master* m);
void cpli_master_destroy(cpl_component* c);
const cpli_master* cpli_as_master(const cpl_stepper* s);  // NULL: it is another kind of stepper
extern const char cpli_master_kind[];
/// The smallest tolerance of error control in it or in a part of it; 0: none.
double cpli_master_tolerance(const cpl_stepper* s);

//------------------------------------ report.c ------------------------------------

cpl_status cpli_master_inspect(const cpl_component* c, int32_t child, cpl_inspection* out);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_master_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_master_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_master_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_master_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
cpl_status cpli_master_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                  cpl_snapshot* snapshot);

//------------------------------------ history.c ------------------------------------

cpl_status cpli_master_get_history(cpl_component* c, cpl_binary* bytes, bool* complete);
cpl_status cpli_master_set_history(cpl_component* c, const cpl_binary* bytes);

//------------------------------------ plan.c ------------------------------------

/// Finds the inputs that feed outputs, cuts or keeps loops as the definition says, makes the plans.
cpl_status cpli_master_plan(cpli_master* m);

//------------------------------------ names.c ------------------------------------

/// "a.y -> b.u"; returns its length, which may exceed `size`.
int cpli_link_print(const cpli_master* m, const cpli_master_link* l, char* out, size_t size);
/// The length of a communication step as " (0.1 s)", or "" when it is unknown; returns `out`.
const char* cpli_lag_print(const cpli_master* m, char* out, size_t size);

//------------------------------------ values.c ------------------------------------

/// Reads outs of one part: `items` are indices of outs, all of that part.
cpl_status cpli_master_get(cpli_master* m, int32_t part, const int32_t* items, int32_t n);
/// The present value of a link.
double cpli_link_value(const cpli_master* m, const cpli_master_link* l);
/// Its derivative with respect to time; NAN: not known.
double cpli_link_slope(const cpli_master* m, const cpli_master_link* l);
/// Sets inputs of one part to the present values of their links (at a communication point).
cpl_status cpli_master_set(cpli_master* m, int32_t part, const int32_t* items, int32_t n);
/// Sets the inputs of a part from its time to t_end: curves or constant values.
cpl_status cpli_master_inputs(cpli_master* m, cpli_master_part* p, double t_end);
/// Inputs that a part keeps constant over each step: their values at the communication point.
void cpli_master_show_cached(const cpli_master* m, int32_t part, const uint32_t* refs, size_t n,
                             double* values);
/// Whether a continuous value changed by more than rounding and the residuals of loops, relative to
/// its size now, then and at the last communication points.
bool cpli_link_jumped(const cpli_master_link* l, double now, double then);
/// Discards the values of a link before t.
void cpli_link_jump(const cpli_master* m, cpli_master_link* l, double t);
/// Stores the value of a link in an event at t. Earlier values are discarded if it jumped, or if it
/// has a kink.
void cpli_link_renew(const cpli_master* m, cpli_master_link* l, double t, bool kink);
/// Reads the derivatives of the outs of a part that gives them.
cpl_status cpli_master_get_slopes(cpli_master* m, int32_t part);
/// Stores the values and derivatives of links at t; `jump`: discards earlier ones.
cpl_status cpli_master_sample(cpli_master* m, double t, bool jump);
/// The order of the polynomial that extrapolates a link.
int32_t cpli_link_order(const cpli_master* m, const cpli_master_link* l);
/// The polynomial of a link from t on; `known`: it ends in the value at t_end.
cpl_curve cpli_link_curve(const cpli_master* m, const cpli_master_link* l, double t, double t_end,
                          bool known);

//------------------------------------ step.c ------------------------------------

/// Steps all parts from m->t to `target`, or to the first point before it where one of them stops;
/// sets m->t. The previous state stays in the snapshots of all parts that can be rolled back.
cpl_status cpli_master_step(cpli_master* m, double target);
/// Executes ops first to end - 1 of a plan. CPL_RETRY: a part stopped before t_end, at m->reach.
cpl_status cpli_master_walk(cpli_master* m, const cpli_step_plan* plan, int32_t first, int32_t end,
                            double t_end);
/// Finds the parts that have an event at m->t because of their inputs: pending, crossed, margin.
cpl_status cpli_master_ask(cpli_master* m);
/// Rolls a part back to the beginning of the step.
cpl_status cpli_master_rewind(cpli_master* m, cpli_master_part* p);

//------------------------------------ loop.c ------------------------------------

/// Solves one loop of a plan. CPL_RETRY: a part refused the step; see its result.
cpl_status cpli_master_loop(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* loop,
                            double t_end);

//------------------------------------ events.c ------------------------------------

/// Propagates values in an initialisation.
cpl_status cpli_master_propagate(cpli_master* m);
cpl_status cpli_master_initialize(cpli_master* m);
// the lowest stop number of the parts that request to stop; 0: none
int32_t cpli_master_stop(const cpli_master* m);
/// Propagates inputs from outside at m->t, before a step.
cpl_status cpli_master_settle(cpli_master* m);
/// Event updates at m->t until no value changes; `once`: one round of them; m->pending then says
/// whether another one is needed.
cpl_status cpli_master_update(cpli_master* m, bool once);

//------------------------------------ locate.c ------------------------------------

/// One step with error control that ends where a condition over values of parts changes.
cpl_status cpli_master_located_step(cpli_master* m, double target);

//------------------------------------ approach.c ------------------------------------

/// Before a step to *target that cannot be rolled back: shortens it where a condition is predicted
/// to change in it.
cpl_status cpli_master_approach(cpli_master* m, double* target);
/// After it: stores the margins of conditions.
void cpli_master_trace(cpli_master* m);
/// The time of the change in the last step, which began at `begin`, by interpolation; NAN: not
/// known. *error: an estimate of its error.
double cpli_master_crossing(const cpli_master* m, double begin, double* error);

//------------------------------------ estimate.c ------------------------------------

// The state of the master itself that a step changes, besides values and links.
typedef struct cpli_moment {
  double t;
  bool pending, ended;
} cpli_moment;

cpli_moment cpli_master_now(const cpli_master* m);
/// Saves the values of links before a step that may be rolled back.
void cpli_master_keep(cpli_master* m);
/// Whether a step can be rolled back.
bool cpli_master_can_return(const cpli_master* m);
/// The part that prevents rollback, and why.
const char* cpli_master_without_return(const cpli_master* m, const char** why);
/// Rolls back the last step, which began at `begin`.
cpl_status cpli_master_return(cpli_master* m, const cpli_moment* begin);

/// Before the start: chooses the outputs whose error is estimated.
cpl_status cpli_master_watch(cpli_master* m);
/// The next time at which outputs have a kink without their inputs, or INFINITY.
double cpli_master_kink(cpli_master* m, double tolerance);
/// At m->kink: discards earlier values for extrapolation.
void cpli_master_pass_kink(cpli_master* m);
/// At the end: reports how many steps were accepted with too large an error.
void cpli_master_report_inaccurate(const cpli_master* m);
/// One step of a size the error allows, not past `target`.
cpl_status cpli_master_controlled_step(cpli_master* m, double target);
