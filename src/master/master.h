// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A master as it runs: its parts, the values they give (outs), the links that carry them to inputs,
// and plans, which say in what order values are read, handed over and parts stepped. Parts stand in
// the order of their names and everything else in the order of parts, so that the order of a file
// changes no bit.
#pragma once

#include "base/base.h"
#include "couplet/master.h"
#include "master/merged.h"

enum { CPLI_SAMPLES = 3, CPLI_MESSAGE_SIZE = 2048 };

// A value of a part that someone needs. Reals are in `real`, Strings and Binaries in `bytes`, all
// others in `integer`.
typedef struct cpli_out {
  int32_t part, var;
  uint32_t ref;
  uint8_t type;
  bool changed;        // by the last look at it
  int64_t changed_at;  // in an event: cpli_master.changes
  uint32_t version;    // of bytes: how often they changed; of a clock: the step it ticked in
  double real;
  int64_t integer;
  char* bytes;
  size_t size, cap;
} cpli_out;

// An input and where it comes from.
typedef struct cpli_master_link {
  int32_t out;
  int32_t part, var;
  uint32_t ref;
  uint8_t type;
  bool discrete;     // set only when it changes
  bool parameter;    // of its part: all outputs may follow it
  bool fixed;        // a parameter that is set before time starts only
  bool feeds;        // an output that is needed depends on it directly
  bool assumed;      // it waits for it only because the part declares no dependencies
  bool with_step;    // its value at the end of a step is known before its part takes the step
  bool delayed;      // cut from a loop: it follows the values of the steps before
  bool guessed;      // its value at the end of the step is the unknown of a loop
  bool fresh;        // must be set even when it looks unchanged
  uint32_t version;  // of the bytes, or of the tick, that were sent last,
  uint32_t kept;     // and where the snapshot of its part was taken
  double factor, offset;
  double nominal;
  double next;            // at the end of the step
  double seen;            // in an event: what it carried in the last update of its part,
  uint32_t seen_version;  // and which bytes or which tick
  double sent;            // what the part was told last (held inputs)
  double noise;           // a residual of its loop that could not be made smaller
  double past_t[CPLI_SAMPLES], past[CPLI_SAMPLES];  // values of communication points, newest first
  int32_t n_past;
} cpli_master_link;

typedef struct cpli_master_part {
  cpl_stepper* s;
  cpl_master_class kind;
  bool can_restore, plain;
  bool follows;                 // outputs follow inputs without a step
  bool keeps_own;               // its step cannot vary: it has a grid of its own
  bool samples;                 // it, or a part of it, takes inputs once at a time in events
  int32_t rank;                 // in the order of event updates
  int32_t first_link, n_links;  // links into it
  int32_t first_out, n_outs;
  int32_t order;            // of the polynomials its inputs follow
  double step;              // of its own grid; 0: none
  double kink;              // the next one of its outputs by themselves
  double t;                 // where it is
  double own_t;             // as it says itself, which may differ by rounding
  double saved_t, first_t;  // the same where the snapshots below were taken
  bool due, stepped;        // in this step
  bool predicted;           // it told how far it will go
  bool jumped;              // its outputs are those after an event that ended the step
  bool kept;                // it stopped where all others are taken to now
  double accepted;          // the farthest point it reached in this step without a word
  bool given;               // an input from outside since the last update
  int64_t touched;          // in an event: cpli_master.changes when it was set or updated last
  uint32_t calls;           // steps and updates so far: a clock that ticked shows it until the next
  bool early;     // inputs of the end of the step, held over it, make an event at its beginning
  double margin;  // of that event: cpl_stepper_ops.wants_update
  bool pending;   // an event of it waits
  cpl_step_result result;
  cpl_snapshot saved, first;  // where the step began; where a step that is tried twice began
  uint32_t* in_refs;  // held inputs on their way; of its own, since parts are stepped side by side
  double* in_values;
  cpl_status st;
  cpl_master_part_stats stats;
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
  bool assumed;          // LOOP: it is there only because parts declare no dependencies
  bool given_up;         // LOOP: it has no solution and lags behind
} cpli_step_op;

typedef struct cpli_step_plan {
  cpli_step_op* ops;
  int32_t n_ops;
  int32_t* items;
  int64_t* done;  // of the plan for events: cpli_master.changes when each op was carried out last
} cpli_step_plan;

// What the nodes of a plan are and which edges it has.
typedef enum cpli_step_plan_kind {
  CPLI_PLAN_INITIAL,  // all parts are in initialisation: their outputs follow inputs
  CPLI_PLAN_SETTLE,   // at a communication point: those that can, follow
  CPLI_PLAN_STEP,
  CPLI_PLAN_EVENT,  // values and event updates in the order of the data flow
  CPLI_PLANS
} cpli_step_plan_kind;

// How far conditions over values of parts were from their change at the last communication points,
// the newest first.
typedef struct cpli_trace {
  double t[CPLI_SAMPLES], margin[CPLI_SAMPLES];
  int32_t n;
  int32_t extra;  // steps that were made shorter to come close to a change
} cpli_trace;

typedef struct cpli_master {
  cpl_stepper base;
  cpl_component_ops component_ops;
  cpl_stepper_ops stepper_ops;
  char* name;
  cpli_arena arena;
  cpl_master_def def;
  struct cpli_merged* merged;  // the description
  cpli_master_part* parts;
  cpli_out* outs;
  cpli_master_link* links;
  int32_t n_parts, n_outs, n_links;
  // continuous links into parts that are given values only, in the order of part and reference
  int32_t* held;
  int32_t n_held;
  cpli_step_plan plans[CPLI_PLANS];
  int32_t* probes;  // parts that must be asked before someone who cannot go back takes the step
  int32_t n_probes;
  struct cpli_thread_pool* pool;  // threads; NULL: none
  char* messages;                 // of parts that fail on them
  double cost;                    // of a step of a part, as measured lately [s]

  double t, t_start;
  double h;      // of the next step, when it varies
  double reach;  // how far this step can go, as far as is known
  double kink;   // the next one of all parts, where steps follow their error; NAN: not known
  double t_stop;
  int32_t limiter;  // the part that made the last step shorter than it was to be; -1: none
  cpli_pace pace;
  bool running, ended;
  bool pending;       // an event at t waits for its update
  int32_t rounds;     // of updates of an event that is not over
  int64_t changes;    // a counter of what was changed in events
  bool halved;        // the present step was, for what it switches
  double short_step;  // such a step; the next are not much longer. 0: none
  bool initializes;   // between enter_init and exit_init
  bool touched;       // inputs were given from outside since the last step
  bool iterates;      // a loop repeats steps
  bool watches;       // parts may have conditions over their inputs
  bool samples;       // a part takes its inputs once at a time: cpli_master_part.samples,
  bool sampling;      // and it may do so in this round of an event
  bool crossed;       // such a condition changed in the last step,
  bool early;         // and the event was at the beginning of the step already,
  int32_t crosser;    // of this part;
  double margin;      // how far indicators are beyond it: cpl_stepper_ops.wants_update,
  double margin_t;    // at this time
  cpli_trace trace;
  bool told;       // that the time of such a change is not known exactly
  bool told_late;  // that an input jumped inside of a step
  bool blind;      // in this step, parts that can go back have extrapolated inputs
  bool saves;      // snapshots are taken before each step
  uint32_t* refs;  // scratch of the longest list of one part
  double* reals;
  int64_t* integers;
  cpl_binary* binaries;
  const char** strings;
  double* work;                  // of loops
  cpli_master_link* kept_links;  // before a step that may be taken back
  cpli_out* kept_outs;
  double* assumed;     // what each link was assumed to carry at the end of the step
  struct cpli_watch {  // outputs whose error is estimated, part after part, whoever takes them
    int32_t n;
    int32_t* first;  // n_parts + 1: of each part
    uint32_t* refs;
    double *nominal, *begin, *coarse, *now;
    double* link_begin;  // what links carried where the step began
  } watch;
  double way;       // how far values went in the step, relative to their size; 1: does not matter
  bool told_least;  // that the error is too large at the shortest step
  int64_t n_inaccurate;   // steps that were accepted with too large an error,
  double worst, worst_t;  // the largest of these errors, in units of the tolerance, and its time
  struct cpli_bond {
    int32_t effort, flow;  // links
  } * bonds;
  int32_t n_bonds;
  int32_t max_torn;
  cpl_master_stats stats;
  const char** facts[2];
  size_t n_facts[2];
} cpli_master;

//------------------------------------ master.c ------------------------------------

/// Give it its operations, by what it can do.
void cpli_master_equip(cpli_master* m);
void cpli_master_destroy(cpl_component* c);
const cpli_master* cpli_as_master(const cpl_stepper* s);  // NULL: it is something else
/// The smallest tolerance of communication steps that follow their error, in it or in a part of it;
/// 0: there are none.
double cpli_master_tolerance(const cpl_stepper* s);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_master_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_master_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_master_forget(cpl_component* c, cpl_snapshot* snapshot);

//------------------------------------ plan.c ------------------------------------

/// Find out which inputs feed which outputs, cut or keep loops as the definition says, make the
/// plans.
cpl_status cpli_master_plan(cpli_master* m);

//------------------------------------ names.c ------------------------------------

/// "a.y -> b.u"; returns its length, which may be more than there is room for.
int cpli_link_print(const cpli_master* m, const cpli_master_link* l, char* out, size_t size);
/// How long one communication step is, as " (0.1 s)", or nothing when nobody knows; returns `out`.
const char* cpli_lag_print(const cpli_master* m, char* out, size_t size);

//------------------------------------ values.c ------------------------------------

/// Read outs of one part: `items` are indices of outs, all of that part.
cpl_status cpli_master_get(cpli_master* m, int32_t part, const int32_t* items, int32_t n);
/// What a link carries now.
double cpli_link_value(const cpli_master* m, const cpli_master_link* l);
/// Hand links over as they are now (at a communication point), all of them into one part.
cpl_status cpli_master_set(cpli_master* m, int32_t part, const int32_t* items, int32_t n);
/// Tell a part what its inputs do from its time to t_end.
cpl_status cpli_master_inputs(cpli_master* m, cpli_master_part* p, double t_end);
/// Inputs of a part that holds them over each step, as they are at the communication point.
void cpli_master_show_cached(const cpli_master* m, int32_t part, const uint32_t* refs, size_t n,
                             double* values);
/// Forget what a link carried before t.
void cpli_link_jump(const cpli_master* m, cpli_master_link* l, double t);
/// Remember what links carry at t; `jump`: what was before does not count any more.
void cpli_master_sample(cpli_master* m, double t, bool jump);
/// The polynomial of a link seen from t, that is given back at t_end when `known`.
cpl_curve cpli_link_curve(const cpli_master* m, const cpli_master_link* l, double t, double t_end,
                          bool known);
double cpli_curve_at(const cpl_curve* c, double t);

//------------------------------------ step.c ------------------------------------

/// Take all parts from m->t to `target`, or to the first point before it where one of them stops;
/// m->t tells. The state before stays in the snapshots of all parts that can go back.
cpl_status cpli_master_step(cpli_master* m, double target);
/// Carry out ops first to end - 1 of a plan. CPL_RETRY: a part stopped before t_end; m->reach
/// tells where.
cpl_status cpli_master_walk(cpli_master* m, const cpli_step_plan* plan, int32_t first, int32_t end,
                            double t_end);
/// Which parts have an event at m->t because of their inputs: pending, crossed, margin.
cpl_status cpli_master_ask(cpli_master* m);
/// Set a part back to where the step began.
cpl_status cpli_master_rewind(cpli_master* m, cpli_master_part* p);

//------------------------------------ loop.c ------------------------------------

/// Solve one loop of a plan. CPL_RETRY: a part refused the step; its result tells.
cpl_status cpli_master_loop(cpli_master* m, const cpli_step_plan* plan, const cpli_step_op* loop,
                            double t_end);

//------------------------------------ events.c ------------------------------------

/// Hands values on in an initialisation.
cpl_status cpli_master_propagate(cpli_master* m);
cpl_status cpli_master_initialize(cpli_master* m);
int32_t cpli_master_stop(const cpli_master* m);  // the lowest number of who wishes to stop
/// Values that follow inputs from outside, at m->t, before a step.
cpl_status cpli_master_settle(cpli_master* m);
/// Event updates at m->t until no values change any more; `once`: one round of them, and m->pending
/// says that there must be another.
cpl_status cpli_master_update(cpli_master* m, bool once);

//------------------------------------ locate.c ------------------------------------

/// One controlled step that ends where a condition over values of parts changes.
cpl_status cpli_master_located_step(cpli_master* m, double target);

//------------------------------------ approach.c ------------------------------------

/// Before a step to *target that cannot be taken back: make it shorter where a condition is
/// predicted to change in it.
cpl_status cpli_master_approach(cpli_master* m, double* target);
/// After it: note how far conditions are from their change.
void cpli_master_trace(cpli_master* m);
/// When the condition changed in the last step, which began at `begin`, by interpolation; NAN: not
/// known. *error: about how exactly.
double cpli_master_crossing(const cpli_master* m, double begin, double* error);

//------------------------------------ estimate.c ------------------------------------

// What a step changes in the master itself, beside values and links.
typedef struct cpli_moment {
  double t;
  bool pending, ended;
} cpli_moment;

cpli_moment cpli_master_now(const cpli_master* m);
/// Keep what links carry, before a step that may be taken back.
void cpli_master_keep(cpli_master* m);
/// Whether a step can be taken back.
bool cpli_master_can_return(const cpli_master* m);
/// Who is in the way of that, and why.
const char* cpli_master_without_return(const cpli_master* m, const char** why);
/// Take the last step back, which began there.
cpl_status cpli_master_return(cpli_master* m, const cpli_moment* begin);

/// Before the start: which outputs are watched.
cpl_status cpli_master_watch(cpli_master* m);
/// The next time at which outputs have a kink by themselves, or INFINITY.
double cpli_master_kink(cpli_master* m, double tolerance);
/// At m->kink: what values were before tells nothing of what they will be.
void cpli_master_pass_kink(cpli_master* m);
/// At the end: how many steps were accepted with too large an error.
void cpli_master_tell_inaccurate(const cpli_master* m);
/// One step of a size the error allows, not past `target`.
cpl_status cpli_master_controlled_step(cpli_master* m, double target);

//------------------------------------ thread_pool.c ------------------------------------

// Threads that step parts of one level at the same time.
typedef struct cpli_thread_pool cpli_thread_pool;
cpl_status cpli_thread_pool_create(cpl_context* ctx, int32_t threads, cpli_thread_pool** out);
void cpli_thread_pool_destroy(cpli_thread_pool* pool);        // Nullable
int32_t cpli_thread_pool_size(const cpli_thread_pool* pool);  // the caller's thread included
/// Call work(user, i) for i from 0 to n - 1, on any thread, and wait for all of them.
void cpli_thread_pool_run(cpli_thread_pool* pool, int32_t n, void (*work)(void* user, int32_t i),
                          void* user);
