// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inside of a stepper made by cpl_modes(), or a model made by cpl_modes_model(): describe.c its
// variables seen from outside, structures.c who depends on whom in each mode of a model, prepare.c
// turns transitions into lists of references, switch.c goes from one mode to another with them,
// watch.c finds switches that come too often, saved.c saves and restores, model.c has the
// operations of a model, modes.c is the rest. Nothing is looked up by name once it is made.
#pragma once

#include "base/base.h"
#include "couplet/modes.h"

// A value that is no Real.
typedef struct cpli_other {
  uint8_t type;
  uint32_t ref;
  int64_t integer;
  const char* text;
} cpli_other;

// Values that are set together when a mode is entered.
typedef struct cpli_starts {
  uint32_t* refs;
  double* values;
  size_t n, cap_refs, cap_values;
  cpli_other* others;
  size_t n_others, cap_others;
} cpli_starts;

// A number that is read from a mode, and where it goes.
typedef struct cpli_modes_read {
  uint8_t type;
  uint32_t ref;
  int32_t place;
} cpli_modes_read;

typedef struct cpli_transition {
  cpl_transition def;
  int32_t number;  // among those of its mode, for messages
  // Reals that are read at the end of a mode, and set before the next one is initialised, all at
  // once and in the order of their references: what belongs to one model comes together
  struct cpli_values {
    uint32_t* refs;
    int32_t* places;  // from 0: of a source or result; -1, -2, ...: of a copy
    double* values;
    int32_t n;
  } read, set;
  // copies: of Reals, and of others one by one
  double *factor, *offset, *copied;
  int32_t n_real;
  struct cpli_other_copy {
    uint8_t type;
    uint32_t from, to;
    int64_t integer;
    char* text;  // a String is borrowed only until the next call
  } * others;
  int32_t n_others;
  // sources and targets that are no Reals, one by one; sources of other modes are in the definition
  cpli_modes_read *source_others, *target_others;
  int32_t n_source_others, n_target_others;
  double *sources, *results;
  // states that can only be written after it
  int32_t *late_states, *late_targets;
  double *late_values, *late_room;  // room: for all states of a model
  int32_t n_late;
  double* seen;  // what the new mode made of what was set
  int32_t warned;
  // switches that come ever closer
  struct cpli_shrinking {
    double last, distance, began;  // when, how far apart, since when
    double ratio;                  // of the last two distances; NAN: not known
    double steadiness, end;        // how little it changed at best, and what it summed up to then
    int32_t shrunk, stuck;
  } watch;
} cpli_transition;

typedef struct cpli_mode {
  const char* name;
  union {  // whatever the whole is
    cpl_component* c;
    cpl_stepper* s;
    cpl_model* m;
  };
  cpl_status (*make)(void* user, cpl_stepper** out);
  cpl_status (*make_model)(void* user, cpl_model** out);
  void* user;
  cpli_starts starts;
  cpli_transition* leave;
  int32_t n_leave;
  bool used;     // it has been set up, and is reset before the next time
  int64_t stay;  // in which it is or was last; 0: none yet. No two stays have the same number.
  bool left;     // kept values are there
  // what transitions of other modes ask for, as it was when it was left
  cpli_modes_read* kept;
  double* kept_values;
  int32_t n_kept;
  size_t cap_kept;
} cpli_mode;

typedef enum cpli_seen_kind {
  CPLI_SEEN_MODE,  // the number of the active mode
  CPLI_SEEN_PARAMETER,
  CPLI_SEEN_INPUT,
  CPLI_SEEN_OBSERVED,
  CPLI_SEEN_INNER,  // of one mode
} cpli_seen_kind;

// Where a variable of the whole is.
typedef struct cpli_seen {
  uint8_t kind;
  uint8_t type;  // in its mode
  int32_t mode;  // of an inner one; else its number among those of its kind
  uint32_t ref;  // in that mode
} cpli_seen;

// The description, shared by all instances; it outlives any of them.
typedef struct cpli_modes_desc {
  cpl_context* ctx;
  int32_t holders;
  cpli_arena arena;
  cpli_names names;
  cpl_description desc;
  cpl_description* of_mode;  // of a model in each mode: the same variables
  cpli_seen* seen;           // by variable
} cpli_modes_desc;

typedef struct cpli_modes_shared {
  cpli_modes_read* at;  // by mode; place < 0: it is not there
  double value;         // of an input or a parameter, as it was set
  bool given, by_curve;
  cpl_curve curve;
} cpli_modes_shared;

typedef struct cpli_modes {
  union {  // both begin with a component
    cpl_stepper base;
    cpl_model model;
  };
  union {
    cpl_stepper_ops stepper_ops;
    cpl_model_ops model_ops;
  };
  bool is_model;
  cpli_arena arena;
  cpli_modes_desc* box;
  cpli_mode* modes;
  int32_t n_modes, start, active;
  cpli_modes_shared* shared[CPLI_SEEN_OBSERVED + 1];
  int32_t n_shared[CPLI_SEEN_OBSERVED + 1];
  double* before;  // of the observed variables, to tell of jumps
  int32_t left;    // the mode before the active one
  int64_t stays;   // so far, also those that were taken back
  double tolerance;
  cpl_setup setup;
  double t, entered;  // now; when the active mode was entered
  bool running, in_init, ended;
  cpli_transition* pending;   // waits to be followed
  cpli_transition* arriving;  // a model: led to the active mode, whose initialisation is not over
  bool wants_stop;            // a model: said so at the end of a step
  int32_t* trail;             // modes entered since time moved last
  int32_t n_trail;
  cpl_modes_stats stats;
} cpli_modes;

enum { CPLI_TRAIL = 100 };  // so many switches at one time are too many

static inline cpl_component* cpli_active(const cpli_modes* m) { return m->modes[m->active].c; }

/// One number of a component, whatever its type.
cpl_status cpli_get_number(cpl_component* c, const cpli_modes_read* from, double* out);
cpl_status cpli_set_number(cpl_component* c, const cpli_modes_read* to, double value);

//------------------------------------ describe.c ------------------------------------

/// The steppers of `def` are not looked at, but the descriptions they will have.
/// Owned: *out by the caller, who calls cpli_modes_release().
cpl_status cpli_modes_describe(cpl_context* ctx, const cpl_modes_def* def,
                               const cpl_description* const* descs, cpli_modes_desc** out);
cpli_modes_desc* cpli_modes_hold(cpli_modes_desc* box);
void cpli_modes_release(cpli_modes_desc* box);  // Nullable

//------------------------------------ modes.c ------------------------------------

/// cpl_modes() for who has the description already. Nullable: box
cpl_status cpli_modes_create(cpl_context* ctx, const cpl_modes_def* def, cpli_modes_desc* box,
                             cpl_stepper** out);
/// Likewise cpl_modes_model().
cpl_status cpli_modes_create_model(cpl_context* ctx, const cpl_modes_def* def, cpli_modes_desc* box,
                                   cpl_model** out);

/// A model has the description of its active mode.
void cpli_modes_show_structure(cpli_modes* m);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_modes_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_modes_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_modes_forget_saved(cpl_component* c, cpl_snapshot* snapshot);

//------------------------------------ model.c ------------------------------------

/// The operations of a model, as far as all modes have them.
void cpli_modes_make_model(cpli_modes* m);

//------------------------------------ structures.c ------------------------------------

/// Fills box->of_mode. at[k]: of each variable of mode k, its index in the whole; -1: none.
cpl_status cpli_modes_structures(cpli_modes_desc* box, const cpl_modes_def* def,
                                 const cpl_description* const* descs, int32_t* const* at);

//------------------------------------ prepare.c ------------------------------------

cpl_status cpli_modes_prepare(cpli_modes* m, const cpl_modes_def* def);
/// Reads of the same variable later win.
cpl_status cpli_starts_add(cpl_context* ctx, cpli_starts* s, cpli_other value, double real);

//------------------------------------ switch.c ------------------------------------

/// Start values, then those of the transition that led here, then setup. Nullable: from
cpl_status cpli_modes_setup(cpli_modes* m, cpli_transition* from);
/// From initialisation to a running mode.
cpl_status cpli_modes_begin(cpli_modes* m, cpli_transition* from);
/// From the active mode to the next one: to its initialisation, and on from there.
cpl_status cpli_modes_follow_transition(cpli_modes* m, cpli_transition* way);
cpl_status cpli_modes_arrive(cpli_modes* m, cpli_transition* way);
/// Both at once.
cpl_status cpli_modes_follow(cpli_modes* m, cpli_transition* way);
/// Which transition a stop asks for; *out is NULL when there is none.
cpl_status cpli_modes_choose(cpli_modes* m, int32_t stop, cpli_transition** out);

//------------------------------------ watch.c ------------------------------------

/// A switch is about to happen: is it one of too many?
cpl_status cpli_modes_watch(cpli_modes* m, cpli_transition* way);
void cpli_modes_forget(cpli_modes* m);
