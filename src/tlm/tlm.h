// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Delay lines at run time. A part advances by intervals of at most half of its shortest delay. In
// an interval each arriving wave is one polynomial; at its end the sent waves are published as
// polynomials, too. A multistep method may take steps over a pair of intervals; methods of one step
// would lose their order where two polynomials meet. An interval, or a pair, may begin when all
// waves that arrive in it are published, regardless of the order of the parts: the result of a part
// depends on nothing else.
#pragma once

#include "base/base.h"
#include "master/master.h"
#include "model/router.h"
#include "tlm/ends.h"

enum { CPLI_NODES = 4, CPLI_WIDTH = CPL_TLM_WIDTH };
#define CPLI_JUMP 1e-14  // of a wave, relative to its size: more than rounding

//------------------------------------ wave.c ------------------------------------

// A polynomial over time: value(t) = sum c[k] (t - from)^k.
typedef struct cpli_segment {
  double from, to;
  bool jump;  // it does not continue the segment before
  double c[CPLI_WIDTH][CPLI_NODES];
} cpli_segment;

// Segments without gaps, oldest first. Where two overlap the later one counts.
typedef struct cpli_wave {
  cpl_context* ctx;
  cpli_segment* items;
  size_t cap, first, n;  // a ring
  bool shared;           // in memory shared by processes: it cannot grow
} cpli_wave;

cpl_status cpli_wave_init(cpli_wave* w, cpl_context* ctx);
/// A wave shared by several processes, with room for `min_cap` segments.
cpl_status cpli_wave_init_shared(cpli_wave* w, cpl_context* ctx, size_t min_cap);
void cpli_wave_free(cpli_wave* w);
cpl_status cpli_wave_add(cpli_wave* w, const cpli_segment* s);
/// Room for n segments.
cpl_status cpli_wave_reserve(cpli_wave* w, size_t n);
void cpli_wave_clear(cpli_wave* w);
/// The last segment; there is one.
const cpli_segment* cpli_wave_last(const cpli_wave* w);
/// Drops segments that ended before t.
void cpli_wave_forget(cpli_wave* w, double t);
/// The first jump after t and before `until`; INFINITY: none.
double cpli_wave_next_jump(const cpli_wave* w, double t, double until);
/// Whether there is a jump at t, within `near`.
bool cpli_wave_jumps_at(const cpli_wave* w, double t, double near);
/// The wave from `from` to `to` as one polynomial; `near`: a segment that ends so close to an end
/// of the span ends there. The span is inside the known wave.
void cpli_wave_span(const cpli_wave* w, double from, double to, double near, int32_t width,
                    cpli_segment* out);

double cpli_segment_at(const cpli_segment* s, int32_t component, double t);
/// The polynomial of degree n - 1 through n points, in powers of t - from.
void cpli_fit(const double* t, const double* v, int32_t n, double from, double* c);

//------------------------------------ parts and ends ------------------------------------

typedef struct cpli_sample {
  double t;
  double v[CPLI_WIDTH];  // speeds in the common frame
} cpli_sample;

// One component of an arriving wave over a whole pair, in the frame of the part: a polynomial for
// each interval.
typedef struct cpli_arriving {
  double from[2];
  double c[2][CPLI_NODES];
} cpli_arriving;

// Oscillation of one component of a wave; see watch.c.
typedef struct cpli_swing {
  double turned_at, extreme;  // values at the last turning point, and farthest from it since
  // of the widest oscillation, in the present window and the one before
  double width, width_before;
  // largest value so far, and at the time the oscillation began to grow
  double seen, calm;
  double reference;  // width when it last doubled
  int32_t turns;     // in the present window
  int32_t age;       // windows since the last doubling
  int32_t doublings;
} cpli_swing;

// An interface with a line: the end of the line.
typedef struct cpli_tlm_end {
  const char* name;
  int32_t part, peer;  // the other end
  cpl_tlm_kind kind;
  int32_t width;
  bool sends, takes;  // both, except for signals
  bool takes_wave;
  double sigma;  // 1: F = c - Z v; -1: p = c + Z q
  double z[CPLI_WIDTH];
  double delay, alpha;
  double sign;
  bool rotated;  // rotation is not the identity
  double rotation[9], origin[3];
  uint32_t out_refs[CPLI_WIDTH], in_refs[CPLI_WIDTH];
  int64_t position[3], orientation[9];  // references; -1: none
  double start_force[CPLI_WIDTH];
  double usual[CPLI_WIDTH];         // size of a wave: that of the nominal speed
  bool checked;                     // positions and orientations are checked at the start
  cpli_sample samples[CPLI_NODES];  // newest last
  int32_t n_samples;
  int32_t fresh;       // samples since the last published interval, its end included
  cpli_wave sent;      // by this end, in its own time
  cpli_wave filtered;  // arrived here and damped, in the time of arrival; only with alpha
  cpli_segment now;    // the arriving wave of the present interval
  cpli_segment next;   // of the next one of the pair, where the solver may go over all of it
  cpli_arriving arriving[CPLI_WIDTH];           // both, for the solver
  double last[CPLI_WIDTH];                      // the sent value at the end of the last interval
  double speed[CPLI_WIDTH], slope[CPLI_WIDTH];  // of a stepper, at the end of its last step
  double growth[CPLI_WIDTH];  // of oscillations from step to step, while they grow
  double scale;               // size of the waves, to distinguish jumps from rounding
  cpli_swing swings[CPLI_WIDTH];
  double window;  // beginning of the present window of the oscillations
} cpli_tlm_end;

typedef struct cpli_tlm_part {
  cpl_stepper* s;       // the stepper that callers use
  cpl_stepper* inner;   // the stepper that is stepped: the same, unless it runs in another process
  bool out_of_process;  // it runs in another process
  bool is_model;
  bool in_pairs;  // its solver may step over two intervals
  cpl_tlm_hold hold;
  int32_t substeps;
  cpl_solver_def solver;         // of a model
  struct cpli_sampler* sampler;  // of all speeds, inside of the solver's steps. Nullable
  double* sampled;               // its values at the nodes of an interval
  size_t n_sampled;              // at each
  int32_t first_end, n_ends;     // ends are in the order of parts
  double h;                      // longest interval
  int64_t grid;                  // number of grid points passed
  double t;                      // its time
  double published;              // waves are known up to here
  double begin, end;             // of the present interval
  double horizon;                // the solver may go so far: the end of the interval or of the pair
  bool ahead;                    // its inputs are those of a whole pair
  int32_t node;                  // of the present interval, the next to be reached
  bool open;                     // an interval has begun
  bool dirty;                    // a value was set
  bool restarted;                // the samples start anew here
  bool ended;                    // it requested to stop
  bool busy;                     // a thread steps it
  cpl_status st;
  const char* name;
  int64_t n_pieces;  // wave segments sent
  int64_t n_events;  // updates, its own and those where a wave jumped
} cpli_tlm_part;

typedef struct cpli_tlm {
  cpl_stepper base;
  char* name;
  cpli_arena arena;
  cpl_tlm_def def;
  cpli_shared_desc* merged;
  cpli_starter* starter;  // borrowed. Nullable
  cpl_model* whole;    // the model that the parts were split from; destroyed after them. Nullable
  cpli_router router;  // of the variables of the description
  cpli_tlm_part* parts;
  cpli_tlm_end* ends;
  int32_t n_parts, n_ends;
  cpl_source** sources;        // of parts in processes of their own
  struct cpli_remote* remote;  // parts are run by peers. Nullable
  size_t shared;               // bytes of parts and ends in shared memory; 0: none
  struct cpli_common* common;  // other shared data of the processes. Nullable

  cpli_error* errors;
  double t, t_start, t_stop;
  bool running;
  struct cpli_thread_pool* threads;
  struct cpli_pool* pool;
  cpli_serial_room bytes;  // of the last saved state that became bytes
} cpli_tlm;

/// NULL: another kind of stepper.
cpli_tlm* cpli_tlm_of(cpl_stepper* s);

//------------------------------------ part.c ------------------------------------

/// Whether the waves for the next interval of a part are there.
bool cpli_part_ready(const cpli_tlm* m, const cpli_tlm_part* p, double until);
/// Whether waves of a part, -1: of any, are missing for that.
bool cpli_part_lacks(const cpli_tlm* m, const cpli_tlm_part* p, double until, int32_t whose);
bool cpli_part_done(const cpli_tlm* m, const cpli_tlm_part* p, double until);
/// Takes over the waves of the next interval; the caller has the lock of the lines.
cpl_status cpli_part_begin(cpli_tlm* m, cpli_tlm_part* p, double until);
/// Steps to the end of the interval or to `until`. Accesses only the part and its ends.
cpl_status cpli_part_step(cpli_tlm* m, cpli_tlm_part* p, double until);
/// The same, in the process of the part.
cpl_status cpli_part_work(cpli_tlm* m, cpli_tlm_part* p, double until);
/// Sets the waves of the present interval as inputs of a model; s: its stepper, as it is seen by
/// the process that calls.
cpl_status cpli_part_give_curves(cpli_tlm* m, const cpli_tlm_part* p, cpl_stepper* s);
/// Whether that must be done before a saved state of the model is restored: as functions of time
/// the waves are not in it.
bool cpli_part_sets_again(const cpli_tlm_part* p);
/// Publishes the waves of the interval, if it has been stepped to its end.
cpl_status cpli_part_publish(cpli_tlm* m, cpli_tlm_part* p);

//------------------------------------ watch.c ------------------------------------

void cpli_watch_start(cpli_tlm_end* e, double t);
/// Checks the wave sent up to t, e->last. Fails when the waves of the line grow without bound.
cpl_status cpli_watch_wave(cpli_tlm* m, cpli_tlm_end* e, double t);

//------------------------------------ start.c ------------------------------------

/// Sets forces before the start, while the parts are initialised.
cpl_status cpli_tlm_preset(cpli_tlm* m);
/// Checks positions and orientations; fills the lines.
cpl_status cpli_tlm_start(cpli_tlm* m);
cpl_status cpli_end_speeds(cpl_stepper* s, const cpli_tlm_end* e, double* v);

//------------------------------------ processes.c ------------------------------------

void cpli_processes_start(cpli_tlm* m);
/// Runs all parts to `until`, each in its process; `worker` of `n` serves every n-th of them.
cpl_status cpli_processes_run(cpli_tlm* m, int32_t worker, int32_t n, double until,
                              int32_t* failed);

//------------------------------------ pool.c ------------------------------------

cpl_status cpli_pool_create(cpli_tlm* m);
void cpli_pool_destroy(cpli_tlm* m);
bool cpli_tlm_cancelled(const cpli_tlm* m);
/// Runs all parts to `until`, as far as they can go.
cpl_status cpli_pool_run(cpli_tlm* m, double until);
