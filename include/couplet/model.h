// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in C: a model is one file that includes this header only and defines
// `const cpl_model_def couplet_model`. `couplet run model.c` simulates it, `couplet build model.c`
// makes an FMU of it. docs/models-in-c.md explains an example step by step.
//
// Every value is a double, also of an Integer, Boolean or Enumeration; only Strings are texts. The
// lists of declarations give the order: the third parameter is v->p[2]. An array of n elements
// takes n consecutive values.
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CPL_MODEL_EXPORT            __attribute__((visibility("default")))
#define CPL_MODEL_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define CPL_MODEL_EXPORT
#define CPL_MODEL_PRINTF(fmt, args)
#endif

/// The version of this header. A model is refused by a couplet with another one.
#define CPL_MODEL_VERSION 1

typedef enum cpl_type {
  CPL_REAL,
  CPL_INTEGER,
  CPL_BOOLEAN,
  CPL_ENUMERATION,
  CPL_STRING,
  CPL_BINARY,  ///< bytes; like Clocks not available in models written in C
  CPL_CLOCK,   ///< active (1) or not (0) at an event
} cpl_type;

/// The largest number of values of a model: variables and elements of arrays.
enum { CPL_MAX_MODEL_VALUES = 5000000 };

/// One variable, or an array of them. Only the name is required.
typedef struct cpl_declaration {
  const char* name;         ///< "h"; with size 3, "x" declares x[1], x[2], x[3]
  double start;             ///< start value of all but Strings
  const char* unit;         ///< "m/s"; Nullable
  const char* description;  ///< Nullable
  int size;                 ///< 0: a scalar, n: an array of n elements, each with a name
  cpl_type type;            ///< CPL_REAL by default; states are always Real
  /// Both 0: no limits. A positive min alone means no max, a negative max alone no min; zero is a
  /// limit only together with the other one: .min = 0, .max = INFINITY; .min = -0.0, .max = 0 for
  /// both.
  double min, max;
  double nominal;            ///< 0: not given
  bool output;               ///< also an output of the model (states and discrete variables)
  bool tunable;              ///< a parameter that may change at events; others are fixed
  bool discrete;             ///< an input or output that changes only at events (not Real: always)
  const char* text;          ///< start value of a String; Nullable: ""
  const char* const* items;  ///< names of an Enumeration's items 1, 2, ..., NULL at the end
} cpl_declaration;

/// The role of a String; a parameter by default.
typedef enum cpl_string_role {
  CPL_STRING_PARAMETER,
  CPL_STRING_INPUT,
  CPL_STRING_OUTPUT,
  CPL_STRING_LOCAL,
} cpl_string_role;

typedef struct cpl_string_declaration {
  const char* name;
  const char* start;  ///< Nullable: ""
  cpl_string_role role;
  const char* description;  ///< Nullable
} cpl_string_declaration;

/// The simulator's side of a model; models use cpl_model_error().
typedef struct cpl_model_host {
  void (*report)(const struct cpl_model_host* host, const char* text);
} cpl_model_host;

/// The arguments of a model function. Pointers are valid during the call only.
typedef struct cpl_values {
  double t;
  const double* x;       ///< continuous states
  const double* u;       ///< inputs
  const double* p;       ///< parameters
  const double* w;       ///< discrete variables: constant between events
  const char* const* s;  ///< Strings
  void* memory;          ///< def.memory_size bytes, zeroed at the start
  const cpl_model_host* host;
  const double* z;  ///< algebraic variables; while `initialize` runs: start values
  void* user;       ///< of models that are part of a program (cpl_c_define_version()), else NULL
} cpl_values;

/// What an event handler may change.
typedef struct cpl_event_actions {
  double* x;              ///< states, e.g. a velocity that jumps
  double* w;              ///< discrete variables, e.g. switches
  const char** s;         ///< Strings; set to a literal or to text in memory
  const int8_t* crossed;  ///< per indicator: +1 or -1 when its sign changed upwards or downwards in
                          ///< the last step, else 0
  bool time_event;        ///< the time set as next_time is reached
  double next_time;       ///< set it to request a time event; INFINITY: none
  bool again;             ///< set it to be called once more at this time
  bool terminate;         ///< set it to end the simulation
} cpl_event_actions;

/// Results of model functions.
enum {
  CPL_MODEL_OK = 0,
  CPL_MODEL_RETRY = 1,   ///< cannot be evaluated here (a logarithm of a negative trial value)
  CPL_MODEL_ERROR = -1,  ///< ends the run
};

/// Reports why a function returns CPL_MODEL_ERROR or CPL_MODEL_RETRY. Returns CPL_MODEL_ERROR.
CPL_MODEL_PRINTF(2, 3)
static inline int cpl_model_error(const cpl_values* v, const char* fmt, ...) {
  char text[512];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  v->host->report(v->host, text);
  return CPL_MODEL_ERROR;
}

/// A declared dependency: `of` is an output or "der(state)"; `on` lists names of states and inputs,
/// separated by blanks (the name of an array means all its elements). `kind` is the variability of
/// the partial derivative: NULL (the general case), "constant", "fixed", "tunable" or "discrete".
typedef struct cpl_dependency {
  const char* of;
  const char* on;
  const char* kind;
} cpl_dependency;

/// A constraint that is a residual before index reduction.
typedef struct cpl_formulation {
  int residual;  ///< its number, from 0
  int index;     ///< of the constraint: 2 when it was differentiated once, 3 when twice
} cpl_formulation;

/// The model. States, inputs, parameters, ... are lists ended by a declaration without a name.
typedef struct cpl_model_def {
  const char* name;
  const char* description;  ///< Nullable

  const cpl_declaration* states;  ///< Nullable, as all lists
  const cpl_declaration* inputs;
  const cpl_declaration* outputs;  ///< values that output_values computes
  const cpl_declaration* parameters;
  const cpl_declaration* discrete;  ///< values kept between events: switches, counters, samples
  const cpl_string_declaration* strings;
  int n_indicators;    ///< number of event indicators
  size_t memory_size;  ///< bytes of v->memory

  /// dx = f(t, x, u, p, w). Required with states.
  int (*derivatives)(const cpl_values* v, double* dx);
  /// y = g(t, x, u, p, w). Required with outputs.
  int (*output_values)(const cpl_values* v, double* y);
  /// An event happens where one of z changes between positive and not positive.
  int (*indicators)(const cpl_values* v, double* z);
  /// Called once parameters, inputs and start values are set, before time starts. a->x and a->w may
  /// be changed; next_time requests the first time event.
  int (*initialize)(const cpl_values* v, cpl_event_actions* a);
  /// Called at every event. Nullable: events change nothing.
  int (*event)(const cpl_values* v, cpl_event_actions* a);
  /// Called after every accepted step; set *event to request a step event. Nullable.
  int (*completed_step)(const cpl_values* v, bool* event);
  /// Directional derivatives: d_dx = df/dx*d_x + df/du*d_u, d_y likewise. d_dx or d_y is NULL when
  /// it is not needed. Nullable: differences are used.
  int (*directional)(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                     double* d_y);
  /// Releases what initialize put into v->memory. Nullable. With it, states of the model do not
  /// become bytes, since v->memory may have pointers.
  void (*release)(const cpl_values* v);

  /// Ended by an entry without `of`. NULL: detected. An output or derivative that is not named in a
  /// given list depends on everything.
  const cpl_dependency* dependencies;

  double start_time, stop_time, tolerance, step_size;  ///< default experiment; 0: not given
  const char *author, *version, *license;              ///< Nullable

  // Constraints 0 = c(t, x, u, p, w): equations that the exact solution satisfies by itself and the
  // numerical one drifts away from (a length, an energy). The solver projects the states back.
  int n_constraints;  ///< maximum number that is active at a time
  /// The number of active constraints, which come first; called after every event. Nullable: all.
  int (*active_constraints)(const cpl_values* v);
  /// Required with constraints.
  int (*constraints)(const cpl_values* v, double* c);
  /// dc/dx, row after row: jac[i * number of states + j]. Nullable: differences are used.
  int (*constraint_jacobian)(const cpl_values* v, double* jac);
  /// The model's own projection: the change dx of the states. Nullable: the solver projects with
  /// the smallest change in units of the tolerances, which is usually better.
  int (*projection)(const cpl_values* v, double* dx);

  // Algebraic variables z, defined by as many residuals 0 = g(t, x, z, u, p, w) that can be solved
  // for them. With `--solver ida` they are integrated together with the states; otherwise, and at
  // events, they are solved for in every evaluation.
  const cpl_declaration* algebraics;  ///< start values are guesses; nominals scale the iteration
  /// Required with algebraic variables.
  int (*residuals)(const cpl_values* v, double* g);
  /// One per constraint, where constraints are residuals before index reduction. Nullable: they are
  /// unrelated to the residuals.
  const cpl_formulation* formulations;
} cpl_model_def;

extern CPL_MODEL_EXPORT const cpl_model_def couplet_model;

#ifdef CPL_RECORD_MODEL_VERSION  // defined by couplet where it compiles a model
extern CPL_MODEL_EXPORT const int couplet_model_version;
__attribute__((weak)) const int couplet_model_version = CPL_MODEL_VERSION;
#endif

#ifdef __cplusplus
}
#endif
