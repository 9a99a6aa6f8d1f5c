// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Delay lines as they run. A part goes ahead piece by piece: over a piece, at most half of its
// shortest delay, the waves that arrive are one polynomial each; when it is done the waves it sends
// are published as polynomials, too. A piece may begin when the waves it needs are published,
// whoever is slower or faster: what a part computes depends on nothing else.
#pragma once

#include "base/base.h"
#include "master/master.h"
#include "tlm/ends.h"

enum { CPLI_NODES = 4, CPLI_WIDTH = CPL_TLM_WIDTH };
#define CPLI_JUMP 1e-14  // of a wave, relative to it: more than rounding

//------------------------------------ wave.c ------------------------------------

// A polynomial over time: value(t) = sum c[k] (t - from)^k.
typedef struct cpli_segment {
  double from, to;
  bool jump;  // it does not begin where the one before ended
  double c[CPLI_WIDTH][CPLI_NODES];
} cpli_segment;

// Segments without gaps, oldest first.
typedef struct cpli_wave {
  cpl_context* ctx;
  cpli_segment* items;
  size_t cap, first, n;  // a ring
  bool shared;           // its memory is seen by other processes, and it cannot grow
} cpli_wave;

cpl_status cpli_wave_init(cpli_wave* w, cpl_context* ctx);
/// One for several processes, with room for `least` segments.
cpl_status cpli_wave_init_shared(cpli_wave* w, cpl_context* ctx, size_t least);
void cpli_wave_free(cpli_wave* w);
cpl_status cpli_wave_add(cpli_wave* w, const cpli_segment* s);
void cpli_wave_clear(cpli_wave* w);
/// What was added last; there is something.
const cpli_segment* cpli_wave_last(const cpli_wave* w);
/// Drop what ended before t.
void cpli_wave_forget(cpli_wave* w, double t);
/// The first jump after t and before `until`; INFINITY: there is none.
double cpli_wave_next_jump(const cpli_wave* w, double t, double until);
/// Whether a jump is at t, give or take `near`.
bool cpli_wave_jumps_at(const cpli_wave* w, double t, double near);
/// The wave from `from` to `to` as one polynomial; `near`: what ends so close to an end of the span
/// ends there. The span lies inside what is known.
void cpli_wave_span(const cpli_wave* w, double from, double to, double near, int32_t width,
                    cpli_segment* out);

double cpli_segment_at(const cpli_segment* s, int32_t component, double t);
/// The polynomial of degree n - 1 through n points, seen from `from`.
void cpli_fit(const double* t, const double* v, int32_t n, double from, double* c);
/// The same polynomial seen from elsewhere.
void cpli_shift(double* c, double by);

//------------------------------------ parts and ends ------------------------------------

typedef struct cpli_sample {
  double t;
  double v[CPLI_WIDTH];  // speeds in the common frame
} cpli_sample;

// How one component of a wave goes up and down; see watch.c.
typedef struct cpli_swing {
  double turned_at, extreme;   // values where it turned last, and farthest from there since
  double width, width_before;  // of the widest swing, in the present window and the one before
  double seen, calm;           // largest value so far, and when the swings began to grow
  double reference;            // width when it last doubled
  int32_t turns;               // in the present window
  int32_t age;                 // windows since the last doubling
  int32_t doublings;
} cpli_swing;

// An interface with a line.
typedef struct cpli_tlm_end {
  const char* name;
  int32_t part, peer;  // the other end
  cpl_tlm_kind kind;
  int32_t width;
  bool sends, takes;  // both, but for signals
  bool takes_wave;
  double sigma;  // 1: F = c - Z v; -1: p = c + Z q
  double z[CPLI_WIDTH];
  double delay, alpha;
  double sign;
  bool turned;  // rotation is not the identity
  double rotation[9], origin[3];
  uint32_t out_refs[CPLI_WIDTH], in_refs[CPLI_WIDTH];
  int64_t position[3], orientation[9];  // references; -1: none
  double start_force[CPLI_WIDTH];
  bool checked;                     // how the ends are placed at the start
  cpli_sample samples[CPLI_NODES];  // newest last
  int32_t n_samples;
  int32_t fresh;            // samples since the last piece that was published, its end included
  cpli_wave sent;           // by this end, in its time
  cpli_wave filtered;       // arrived here and damped, in the time of arrival; only with alpha
  cpli_segment now;         // what arrives over the present piece
  double last[CPLI_WIDTH];  // what was sent at the end of the last piece
  double speed[CPLI_WIDTH], slope[CPLI_WIDTH];  // of a stepper, at the end of its last step
  double growth[CPLI_WIDTH];  // of swings from step to step, as long as they get wider
  double scale;               // of the waves, to tell jumps from rounding
  cpli_swing swings[CPLI_WIDTH];
  double window;  // where the present one of the swings began
} cpli_tlm_end;

typedef struct cpli_tlm_part {
  cpl_stepper* s;      // what others talk to
  cpl_stepper* inner;  // what is stepped: the same, unless it lives in another process
  bool apart;          // it does
  bool is_model;
  cpl_tlm_hold hold;
  int32_t substeps;
  cpl_solver_def solver;      // of a model
  int32_t first_end, n_ends;  // ends stand by part
  double h;                   // longest piece
  int64_t grid;               // points of its grid that have passed
  double t;                   // where it is
  double published;           // waves are known up to here
  double begin, end;          // of the present piece
  int32_t node;               // of the present piece, next to be reached
  bool open;                  // a piece has begun
  bool dirty;                 // somebody set a value
  bool restarted;             // the samples begin here anew
  bool ended;                 // it asked to stop
  bool busy;                  // somebody steps it
  cpl_status st;
  cpl_tlm_part_stats stats;
} cpli_tlm_part;

typedef struct cpli_tlm {
  cpl_stepper base;
  char* name;
  cpli_arena arena;
  cpl_tlm_def def;
  cpli_merged* merged;
  cpl_model* whole;      // what the parts were split from; it is destroyed after them. Nullable
  const int32_t* first;  // by variable of the description: in refs
  const cpl_subsystem_ref* refs;
  cpli_tlm_part* parts;
  cpli_tlm_end* ends;
  int32_t n_parts, n_ends;
  cpl_source** sources;        // of parts in processes of their own
  struct cpli_remote* remote;  // parts are run by others. Nullable
  size_t shared;               // bytes parts and ends take in memory those share; 0: none
  struct cpli_common* common;  // what they share besides. Nullable

  char* messages;
  double t, t_start, t_stop;
  bool running;
  struct cpli_thread_pool* crew;
  struct cpli_pool* pool;
} cpli_tlm;

/// NULL: it was not made by cpl_tlm().
cpli_tlm* cpli_tlm_of(cpl_stepper* s);

//------------------------------------ part.c ------------------------------------

/// Whether the next piece of a part can begin, as far as waves go.
bool cpli_part_ready(const cpli_tlm* m, const cpli_tlm_part* p, double until);
/// Whether waves of a part, -1: of any, are missing for that.
bool cpli_part_lacks(const cpli_tlm* m, const cpli_tlm_part* p, double until, int32_t whose);
bool cpli_part_done(const cpli_tlm* m, const cpli_tlm_part* p, double until);
/// Take over the waves of the next piece; nobody else may touch lines meanwhile.
cpl_status cpli_part_begin(cpli_tlm* m, cpli_tlm_part* p, double until);
/// Step to the end of the piece or to `until`. Touches nothing but the part and its ends.
cpl_status cpli_part_step(cpli_tlm* m, cpli_tlm_part* p, double until);
/// The same, where the part lives.
cpl_status cpli_part_work(cpli_tlm* m, cpli_tlm_part* p, double until);
/// Tell a model the waves of its present piece.
cpl_status cpli_part_give_curves(cpli_tlm* m, cpli_tlm_part* p);
/// Publish the waves of the piece, if it has been stepped to its end.
cpl_status cpli_part_publish(cpli_tlm* m, cpli_tlm_part* p);

//------------------------------------ watch.c ------------------------------------

void cpli_watch_start(cpli_tlm_end* e, double t);
/// What the end has sent up to t, e->last. It fails when the waves of the line run away.
cpl_status cpli_watch_wave(cpli_tlm* m, cpli_tlm_end* e, double t);

//------------------------------------ start.c ------------------------------------

/// Forces before time starts, while the parts are initialised.
cpl_status cpli_tlm_preset(cpli_tlm* m);
/// Check how things are placed; fill the lines.
cpl_status cpli_tlm_start(cpli_tlm* m);
cpl_status cpli_end_speeds(cpl_stepper* s, const cpli_tlm_end* e, double* v);

//------------------------------------ apart.c ------------------------------------

void cpli_processes_start(cpli_tlm* m);
/// All parts to `until`, each in its process; `worker` of `n` looks after every n-th of them.
cpl_status cpli_processes_run(cpli_tlm* m, int32_t worker, int32_t n, double until,
                              int32_t* failed);

//------------------------------------ pool.c ------------------------------------

cpl_status cpli_pool_create(cpli_tlm* m);
void cpli_pool_destroy(cpli_tlm* m);
bool cpli_tlm_cancelled(const cpli_tlm* m);
/// All parts to `until`, as far as they can go.
cpl_status cpli_pool_run(cpli_tlm* m, double until);
