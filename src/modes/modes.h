// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Internals of a stepper made by cpl_modes(), or a model made by cpl_modes_model(): describe.c
// makes the variables of the whole, structures.c the dependencies in each mode of a model,
// prepare.c turns transitions into lists of references, switch.c performs transitions with them,
// watch.c detects Zeno behaviour, saved.c saves and restores, model.c has the operations of a
// model, modes.c everything else. Names are resolved at creation only.
#pragma once

#include "base/base.h"
#include "base/stopwatch.h"
#include "couplet/modes.h"
#include "model/serial.h"
#include "model/shared_desc.h"

// A value of a type other than Real.
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

// A number that is read from a mode, and the slot it is stored in.
typedef struct cpli_modes_read {
  uint8_t type;
  uint32_t ref;
  int32_t slot;
} cpli_modes_read;

typedef struct cpli_transition {
  cpl_transition def;
  int32_t number;  // among those of its mode, for messages
  // Reals that are read at the end of a mode, and set before the next one is initialised, all at
  // once and in the order of their references, so that those of one model are adjacent
  struct cpli_values {
    uint32_t* refs;
    int32_t* slots;  // from 0: of a source or result; -1, -2, ...: of a copy
    double* values;
    int32_t n;
  } read, set;
  // copies: of Reals, and of other types one by one
  double *factor, *offset, *copied;
  int32_t n_real;
  struct cpli_other_copy {
    uint8_t type;
    uint32_t from, to;
    int64_t integer;
    char* text;  // a String is borrowed only until the next call
  } * others;
  int32_t n_others;
  // sources and targets of other types, one by one; sources of other modes are in the definition
  cpli_modes_read *source_others, *target_others;
  int32_t n_source_others, n_target_others;
  double *sources, *results;
  // states that can only be written after the initialisation
  int32_t *late_states, *late_targets;
  double *late_values, *late_room;  // room: for all states of a model
  int32_t n_late;
  double* seen;  // values of the set variables after the initialisation of the new mode
  int32_t warned;
  // switches at decreasing intervals
  struct cpli_shrinking {
    // time of the last switch, interval before it, time of the first one
    double last, distance, began;
    double ratio;  // of the last two intervals; NAN: not known
    // smallest change of the ratio, and the predicted accumulation point at that time
    double steadiness, end;
    int32_t shrunk, stuck;
  } watch;
} cpli_transition;

typedef struct cpli_mode {
  const char* name;
  union {  // of the same kind as the whole
    cpl_component* c;
    cpl_stepper* s;
    cpl_model* m;
  };
  cpl_status (*make)(void* user, cpl_stepper** out);
  cpl_status (*make_model)(void* user, cpl_model** out);
  void* user;
  cpli_starts starts;
  size_t own_starts, own_others;  // of them those of the definition; the rest was set from outside
  cpli_transition* transitions;
  int32_t n_transitions;
  bool used;     // it has been set up, and is reset before it is entered again
  int64_t stay;  // number of the present or last stay in it, unique; 0: none yet
  bool left;     // kept values are valid
  // values that transitions of other modes use, as they were when it was left
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

// Route of a variable of the whole.
typedef struct cpli_seen {
  uint8_t kind;
  uint8_t type;  // in its mode
  int32_t mode;  // of an inner one; otherwise its index among those of its kind
  uint32_t ref;  // in that mode
} cpli_seen;

// The description, shared by all instances.
typedef struct cpli_modes_desc {
  cpli_shared_desc base;
  cpl_description* of_mode;  // of a model in each mode: the same variables
  cpli_seen* seen;           // by variable
} cpli_modes_desc;

typedef struct cpli_modes_shared {
  cpli_modes_read* at;  // by mode; slot < 0: the mode does not have it
  double value;         // of an input or a parameter, as it was set
  bool given, by_curve;
  bool set_again;  // of a saved state from bytes: the curve is the one that is set when it is
                   // restored
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
  cpli_modes_desc* shared_desc;
  cpli_mode* modes;
  int32_t n_modes, start, active;
  cpli_modes_shared* shared[CPLI_SEEN_OBSERVED + 1];
  int32_t n_shared[CPLI_SEEN_OBSERVED + 1];
  double* before;  // of the observed variables, to report jumps
  int32_t left;    // the mode before the active one
  int64_t stays;   // number of stays, including those rolled back
  double tolerance;
  cpl_setup setup;
  double t, entered;  // now; when the active mode was entered
  bool running, in_init, ended;
  cpli_transition* pending;  // will be followed by the next step
  // a model: led to the active mode, whose initialisation is not finished
  cpli_transition* arriving;
  bool wants_stop;  // a model: it requested a stop at the end of a step
  int32_t* trail;   // modes entered since time last advanced
  int32_t n_trail;
  int64_t switches;
  cpli_stopwatch in_switches;  // time spent in them
  cpli_stopwatch in_mapping;   // of which: reading, computing and setting values
  cpli_serial_room bytes;      // of the last saved state that became bytes
} cpli_modes;

enum { CPLI_TRAIL = 100 };  // max switches at one time

static inline cpl_component* cpli_active(const cpli_modes* m) { return m->modes[m->active].c; }

/// One number of a component, of any numeric type.
cpl_status cpli_get_number(cpl_component* c, const cpli_modes_read* from, double* out);
cpl_status cpli_set_number(cpl_component* c, const cpli_modes_read* to, double value);

//------------------------------------ describe.c ------------------------------------

/// Uses only the descriptions of the modes, not the steppers of `def`.
/// Owned: *out by the caller, who calls cpli_shared_desc_release() for its base.
cpl_status cpli_modes_describe(cpl_context* ctx, const cpl_modes_def* def,
                               const cpl_description* const* descs, cpli_modes_desc** out);

//------------------------------------ modes.c ------------------------------------

/// cpl_modes() with an existing description. Nullable: shared_desc
cpl_status cpli_modes_create(cpl_context* ctx, const cpl_modes_def* def,
                             cpli_modes_desc* shared_desc, cpl_stepper** out);
/// cpl_modes_model() with an existing description. Nullable: shared_desc
cpl_status cpli_modes_create_model(cpl_context* ctx, const cpl_modes_def* def,
                                   cpli_modes_desc* shared_desc, cpl_model** out);

/// Shows the description of the active mode, for a model.
void cpli_modes_show_structure(cpli_modes* m);

//------------------------------------ saved.c ------------------------------------

cpl_status cpli_modes_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_modes_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_modes_forget_saved(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_modes_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
cpl_status cpli_modes_from_bytes(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot);
cpl_status cpli_modes_get_history(cpl_component* c, cpl_binary* bytes, bool* complete);
cpl_status cpli_modes_set_history(cpl_component* c, const cpl_binary* bytes);

//------------------------------------ model.c ------------------------------------

/// Sets the operations of a model that all modes have.
void cpli_modes_make_model(cpli_modes* m);

//------------------------------------ structures.c ------------------------------------

/// Fills shared_desc->of_mode. at[k]: for each variable of mode k, its index in the whole; -1:
/// none.
cpl_status cpli_modes_structures(cpli_modes_desc* shared_desc, const cpl_modes_def* def,
                                 const cpl_description* const* descs, int32_t* const* at);

//------------------------------------ prepare.c ------------------------------------

cpl_status cpli_modes_prepare(cpli_modes* m, const cpl_modes_def* def);
/// A later start value of the same variable wins.
cpl_status cpli_starts_add(cpl_context* ctx, cpli_starts* s, cpli_other value, double real);

//------------------------------------ switch.c ------------------------------------

/// Sets the start values, then those of the transition that led here, then calls setup. Nullable:
/// from
cpl_status cpli_modes_setup(cpli_modes* m, cpli_transition* from);
/// Takes the active mode from initialisation to running.
cpl_status cpli_modes_begin(cpli_modes* m, cpli_transition* from);
/// The two phases of a transition: to the initialisation of the next mode, and out of it.
cpl_status cpli_modes_follow_transition(cpli_modes* m, cpli_transition* transition);
cpl_status cpli_modes_arrive(cpli_modes* m, cpli_transition* transition);
/// Both phases at once.
cpl_status cpli_modes_follow(cpli_modes* m, cpli_transition* transition);
/// The transition for a stop number; *out is NULL when there is none.
cpl_status cpli_modes_choose(cpli_modes* m, int32_t stop, cpli_transition** out);

//------------------------------------ watch.c ------------------------------------

/// Checks a switch that is about to happen for Zeno behaviour.
cpl_status cpli_modes_watch(cpli_modes* m, cpli_transition* transition);
void cpli_modes_forget(cpli_modes* m);
