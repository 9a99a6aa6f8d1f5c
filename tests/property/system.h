// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A random system: models of the pool, formulas between them, signals, events and modes. It can be
// written as a system file (write.c) and integrated as one by the reference (whole.c).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "couplet/model.h"
#include "random.h"

enum {
  MAX_MODELS = 7,
  MAX_NODES = 400,
  MAX_RELATIONS = 8,
  MAX_SIGNALS = 3,
  MAX_EVENTS = 3,
  MAX_TIMES = 3,
  MAX_KNOTS = 10,
  MAX_PARAMETERS = 6,
  MAX_OF = 3,  // states, inputs, outputs and discrete variables of one model
  MAX_TEARS = 2,
  MAX_OBSERVED = 3,
  EVERY_MODE = -1,
  N_POOL = 18,
};

/// A model of the pool.
typedef struct pool_model {
  const char* name;
  const cpl_model_def* def;  ///< its equations, for the reference
  int n_states, n_inputs, n_outputs, n_parameters, n_discrete;
  bool unannounced;  ///< has jumps or kinks that no event announces
  bool has_events;
  bool counts;          ///< its events depend on which indicator crossed, not on values alone
  bool scaled[MAX_OF];  ///< discrete variables that are as large as the states
  bool shown[MAX_OF];   ///< discrete variables that are outputs of the model in couplet
} pool_model;

extern pool_model pool[N_POOL];
void pool_prepare(void);
const pool_model* pool_find(const char* name);

//------------------------------------ formulas ------------------------------------

typedef enum node_kind {
  NODE_CONSTANT,
  NODE_TIME,  ///< since the start
  NODE_STATE,
  NODE_OUTPUT,
  NODE_DISCRETE,
  NODE_SIGNAL,
  NODE_ADD,
  NODE_MULTIPLY,
  NODE_SIN,
  NODE_ATAN,
  NODE_IF,
  NODE_OBSERVED,  ///< a in the first mode, b in the second; seen from outside of the modes
} node_kind;

typedef struct node {
  node_kind kind;
  int a, b;          ///< operands
  int relation;      ///< NODE_IF
  int model, index;  ///< NODE_STATE, NODE_OUTPUT, NODE_DISCRETE; NODE_SIGNAL, NODE_OBSERVED: index
  double value;      ///< NODE_CONSTANT
} node;

/// left > right
typedef struct relation {
  int left, right;
} relation;

//------------------------------------ parts ------------------------------------

typedef enum model_form { FORM_C, FORM_FMI2, FORM_FMI3 } model_form;

typedef struct instance {
  const pool_model* kind;
  char name[12];
  int mode;
  bool boxed;  ///< stands in the nested system
  double scale;
  double p[MAX_PARAMETERS], x0[MAX_OF];
  int input[MAX_OF];  ///< formulas
  model_form form;
  bool steps;  ///< as: cs
} instance;

typedef struct signal_def {
  int formula;  ///< -1: a table
  bool hold;
  int n;
  double t[MAX_KNOTS], y[MAX_KNOTS];  ///< a time that stands twice is a jump
} signal_def;

typedef struct assignment {
  int model, state, formula;
} assignment;

typedef struct event_def {
  int mode;
  int relation;  ///< `when`; -1: `at`
  int n_times;
  double times[MAX_TIMES];
  int n_sets;
  assignment sets[2];
} event_def;

/// From one mode to the other.
typedef struct transition {
  int relation;
  int n_sets;
  assignment sets[MAX_OF];
} transition;

typedef struct random_system {
  uint64_t seed;
  int n_modes;
  bool beside;                 ///< the modes are a nested system beside models of every mode
  bool box;                    ///< there is a nested system, called `box`
  bool box_steps, box_master;  ///< it is a stepper by its word; has a section `master`
  int observed[MAX_OBSERVED];  ///< nodes
  int n_observed;
  transition leave[2];
  instance models[MAX_MODELS];
  int n_models;
  node nodes[MAX_NODES];
  int n_nodes;
  relation relations[MAX_RELATIONS];
  int relation_mode[MAX_RELATIONS];
  int n_relations;
  signal_def signals[MAX_SIGNALS];
  int n_signals;
  event_def events[MAX_EVENTS];
  int n_events;
  int tear_model[MAX_TEARS], tear_input[MAX_TEARS];
  int n_tears;
  double start, stop, tau;
  int n_intervals;
  double rtol, atol;
  bool steppers;  ///< has models with solvers of their own
  const char* algorithm;
  int order;
  double step, tolerance;  ///< of the master; tolerance 0: fixed steps
  double scale;            ///< the smallest of the models
  bool unannounced;
} random_system;

/// What a system may have: a set of these.
typedef enum feature {
  FEATURE_EVENTS = 1,       ///< models with indicators and time events
  FEATURE_WHEN = 2,         ///< events of the system file
  FEATURE_LOOPS = 4,        ///< linear and nonlinear
  FEATURE_UNANNOUNCED = 8,  ///< jumps and kinks without events
  FEATURE_TABLES = 16,
  FEATURE_CONDITIONS = 32,    ///< if ... then ... else in formulas
  FEATURE_SIZES = 64,         ///< states of 1e-6 and 1e6, fast and slow times
  FEATURE_START_TIMES = 128,  ///< not zero
  FEATURE_MODES = 256,
  FEATURE_STEPPERS = 512,  ///< co-simulation
  FEATURE_FMUS = 1024,
  FEATURE_MASTER_TOLERANCE = 2048,
  FEATURE_STEPPER_EVENTS = 4096,  ///< events, loops and jumps in systems with steppers
  FEATURE_ERK8 = 8192,
  FEATURE_SAME_FORMS = 16384,  ///< C, FMI 2.0 and FMI 3.0 have the same bits
  FEATURE_NESTED = 32768,
  FEATURE_MODES_BESIDE = 65536,    ///< models beside a nested system with modes
  FEATURE_MODE_STEPPERS = 131072,  ///< steppers in modes and beside them
} feature;

void system_generate(random_system* s, uint64_t seed, unsigned features);

//------------------------------------ the file ------------------------------------

typedef struct variant {
  uint64_t permutation;  ///< 0: the order of the system
  int form;              ///< -1: each as it says; else a model_form for all
  bool isolate;
  int threads;  ///< of the master; 0: not given
  double step;  ///< of the master; 0: the system's
} variant;

/// Writes the system file, and the tables beside it, into a folder.
bool system_write(const random_system* s, const variant* v, const char* folder);
/// Names of all variables that can be recorded, one after the other; `model.x` etc.
int system_columns(const random_system* s, char (*names)[40], int most);
