// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A definition as plain arrays in the order of the file, for the builder to walk. Every item and
// every text keeps its source location for messages. Texts are as written: what they name is found
// by system/resolve.h, what they compute by expr.
#pragma once

#include "couplet/system.h"
#include "format/source_loc.h"

// A name or an expression, and where it stands.
typedef struct cpli_located_text {
  const char* text;  // Nullable where a comment says so
  cpli_source_loc loc;
} cpli_located_text;

// A value on its way to a variable: it passes connectors, which have units and may scale it.
typedef struct cpli_transform_step {
  const cpl_unit* unit;   // of the connector. Nullable: of the last one that of the variable, of
                          // others the one that the value has
  bool keep_units;        // the value is not converted to that unit
  double factor, offset;  // after the conversion
} cpli_transform_step;

typedef struct cpli_transform {
  const cpl_unit* unit;  // of the source. Nullable: that of its variable
  const cpli_transform_step* steps;
  size_t n_steps;  // at least 1
} cpli_transform;

typedef struct cpli_setting {
  cpli_located_text name, value;
  const cpli_transform* transform;  // of a start value that is a number. Nullable
  const char* number;  // of the item that `value` names, for variables without it. Nullable
  bool optional;       // ignored where there is no such variable
} cpli_setting;

typedef struct cpli_member {
  cpli_located_text name;
  cpl_member_kind kind;
  cpli_located_text path;        // resolved against the file's folder. Nullable: source or system.
  const char* shown;             // the path in a package. Nullable: as `path`
  cpl_source* source;            // borrowed. Nullable.
  const cpl_system_def* system;  // borrowed. Nullable.
  cpl_member_as as;
  bool exactly_as;  // the file itself must contain that kind
  bool scheduled;   // with CPL_AS_CO_SIMULATION: scheduled execution
  cpli_source_loc as_place;
  bool isolate;               // instances run in processes of their own
  bool prefers_steps;         // co-simulation, where it has both
  cpli_located_text command;  // another program runs it (composite models). Nullable
  cpli_setting* starts;
  size_t n_starts, cap_starts;
} cpli_member;

typedef struct cpli_parameter {
  cpli_located_text name;
  cpli_located_text value;  // Nullable: that of the first parameter of a model it is connected to
  const cpl_unit* unit;     // Nullable
} cpli_parameter;

typedef enum cpli_input_kind {
  CPLI_INPUT_FREE,  // an input of the whole
  CPLI_INPUT_EXPRESSION,
  CPLI_INPUT_FILE,
  CPLI_INPUT_TABLE,
  CPLI_INPUT_CALLBACK,
} cpli_input_kind;

typedef struct cpli_input {
  cpli_located_text name;
  cpli_input_kind kind;
  cpli_located_text expression;  // EXPRESSION
  cpli_located_text file;        // FILE: resolved against the file's folder
  const cpl_table* table;        // TABLE: borrowed
  cpli_located_text column;      // FILE, TABLE: the input's name when not given
  cpl_interpolation interpolation;
  double (*value)(void* user, double t);  // CALLBACK
  void* user;
  cpli_located_text start;  // FREE. Nullable.
  cpli_located_text unit;   // of its values. Nullable: that of the column, or of what it leads to
  const cpl_unit* meaning;  // definition of `unit`. Nullable: it is known by its name
} cpli_input;

typedef struct cpli_coupling {
  const cpli_located_text* reads;
  size_t n_reads;
  bool reads_all, constant;
  int (*value)(void* user, double t, const double* y, double* u);
  int (*gradient)(void* user, double t, const double* y, double* du);  // Nullable
  void* user;
} cpli_coupling;

typedef struct cpli_connection {
  cpli_located_text target;
  cpli_located_text source;         // Nullable: coupling
  const cpli_coupling* coupling;    // Nullable: source
  bool convert;                     // numbers may be rounded
  bool warn_of_loss;                // with `convert`: where values can be lost
  bool keep_units;                  // no unit conversion
  const cpli_transform* transform;  // of a bare source. Nullable
} cpli_connection;

typedef struct cpli_output {
  cpli_located_text name, source;
  const cpli_transform* transform;  // of a bare source. Nullable
} cpli_output;

// An equation that holds all the time. "energy = at start" has no right side.
typedef struct cpli_constraint {
  cpli_located_text name;
  cpli_located_text difference;  // of both sides, as an expression
  bool at_start;
} cpli_constraint;

typedef struct cpli_event {
  cpli_located_text name;
  cpli_located_text when;       // Nullable: at
  const cpli_located_text* at;  // times, constant expressions
  size_t n_at;
  const cpli_setting* sets;
  size_t n_sets;
  int32_t stop;   // > 0: number of the request to stop when it fires
  bool at_start;  // it fires when it is true at the start
} cpli_event;

// `leave:` of a mode: when, for which other one, and with what.
typedef struct cpli_transition_def {
  cpli_source_loc loc;
  cpli_located_text to;
  cpli_located_text when;       // Nullable: at, or terminate alone
  const cpli_located_text* at;  // times, constant expressions
  size_t n_at;
  bool terminate;              // when the model requests termination (and `when` is true)
  cpli_located_text on_entry;  // Nullable
  const cpli_setting* sets;
  size_t n_sets;
} cpli_transition_def;

typedef struct cpli_mode_def {
  cpli_located_text name;
  cpl_system_def* def;
  cpli_transition_def* leaves;
  size_t n_leaves, cap_leaves;
} cpli_mode_def;

// `observe:`: one expression for all modes, or one for each that has it.
typedef struct cpli_observed {
  cpli_located_text name;
  cpli_located_text all;  // Nullable
  const cpli_setting* in;
  size_t n_in;
} cpli_observed;

// The keys of `experiment`: constant, member of cpl_experiment_def, its name in the section
// `solver` of a mode or a nested system (NULL: not there), and whether it must be positive. Numbers
// are NaN and texts NULL where they are not given.
#define CPLI_EXPERIMENT_NUMBERS(X)       \
  X(CPLI_START, start, NULL, false)      \
  X(CPLI_STOP, stop, NULL, false)        \
  X(CPLI_INTERVAL, interval, NULL, true) \
  X(CPLI_STEP, step, "step", true)       \
  X(CPLI_RTOL, rtol, "rtol", true)       \
  X(CPLI_ATOL, atol, "atol", true)
#define CPLI_EXPERIMENT_TEXTS(X)                          \
  X(CPLI_SOLVER, solver, "name", false)                   \
  X(CPLI_LINEAR_KEY, linear, "linear", false)             \
  X(CPLI_PROJECTION_KEY, projection, "projection", false) \
  X(CPLI_LOOPS_KEY, loops, "loops", false)                \
  X(CPLI_STEADY_KEY, steady, NULL, false)

enum {
#define X(key, member, of_solver, positive) key,
  CPLI_EXPERIMENT_NUMBERS(X) CPLI_EXPERIMENT_TEXTS(X)
#undef X
      CPLI_EXPERIMENT_COUNT
};

typedef struct cpli_experiment_key {
  const char *name, *of_solver;
  size_t offset;  // in cpl_experiment_def
  bool positive;
} cpli_experiment_key;
extern const cpli_experiment_key cpli_experiment_keys[CPLI_EXPERIMENT_COUNT];

// locs[] has the source locations of the values.
typedef struct cpli_experiment {
  cpl_experiment_def values;
  cpli_source_loc locs[CPLI_EXPERIMENT_COUNT];
} cpli_experiment;

// `master:`. Texts are Nullable, numbers NAN and -1 when not given.
typedef struct cpli_cosimulation {
  bool given;
  bool
      automatic;  // not given: steps follow from the tolerance of the solver where that is possible
  cpli_source_loc loc;
  cpli_located_text algorithm, on_loop, estimate, legacy;
  double step, tolerance, min_step, loop_tolerance;
  double order, iterations, fixed_iterations, threads;
  const cpli_setting *steps, *bonds;
  size_t n_steps, n_bonds;
  bool output_derivatives;
} cpli_cosimulation;

// The section `study`: texts as on the command line, which the room study reads.
typedef struct cpli_study_texts {
  const cpli_setting* over;  // factors
  size_t n_over;
  cpli_located_text design, sample, seed, table;  // Nullable
} cpli_study_texts;

// Measurements of one experiment, in the section `fit`.
typedef struct cpli_fit_set {
  cpli_located_text file;
  const cpli_setting* starts;
  size_t n_starts;
  double weight;  // 0: not given
} cpli_fit_set;

// The section `fit`, with texts as on the command line, which the room fit reads.
typedef struct cpli_fit_texts {
  const cpli_fit_set* data;
  const cpli_setting *vary, *sigma;
  size_t n_data, n_vary, n_sigma;
  cpli_located_text loss;    // Nullable
  double scale, confidence;  // 0: not given
} cpli_fit_texts;

// definition invariants: 1 names of models are unique, and without dots unless the definition is
// hierarchical; then none is the beginning of another one up to a dot; 2 parameters and inputs
// share one space of unique names; 3 names of outputs and of events are unique; 4 a target is not
// empty, but may stand twice when a program adds it so.
struct cpl_system_def {
  cpl_context* ctx;
  bool hierarchical;       // models of nested systems are models of this one: "plant.motor"
  const char* root;        // hierarchical: a name that may stand before all others. Nullable
  cpli_arena arena;        // all texts
  bool no_memory;          // cpli_def_text() or cpli_def_array() failed
  const char* file;        // as given, for messages. Nullable: made by a program.
  const char* canonical;   // absolute path without links, for cycles. Nullable.
  cpli_located_text name;  // Nullable
  cpli_member* models;
  cpli_parameter* parameters;
  cpli_input* inputs;
  cpli_connection* connections;
  cpli_output* outputs;
  cpli_event* events;
  cpli_constraint* constraints;
  size_t n_constraints, cap_constraints;
  cpli_located_text* record;
  size_t n_models, n_parameters, n_inputs, n_connections, n_outputs, n_events, n_record;
  size_t cap_models, cap_parameters, cap_inputs, cap_connections, cap_outputs, cap_events,
      cap_record;
  cpli_mode_def* modes;  // there are either models or modes
  cpli_observed* observed;
  cpli_located_text start_mode;
  size_t n_modes, n_observed, cap_modes, cap_observed;
  const cpli_setting* measures;  // names and expressions over a run
  size_t n_measures;
  cpli_study_texts study;
  cpli_fit_texts fit;
  cpli_experiment experiment;
  int32_t manager_port;  // of a composite model; 0: not given
  cpli_cosimulation cosimulation;
  struct cpli_interface* interfaces;  // system/lines.h
  struct cpli_line* lines;
  size_t n_interfaces, cap_interfaces, n_lines, cap_lines;
  bool isolate;                // all models, those of nested systems too
  double call_timeout;         // of isolated ones [s]; 0: none
  cpli_located_text call_log;  // file; NULL: none
  struct cpli_ssp* ssp;        // the package that it was made from, which it owns. Nullable
  cpli_names model_names;      // -> index in models
  cpli_names group_names;      // hierarchical: beginnings of names of models up to a dot -> index
  cpli_names value_names;      // parameters: 2 * index, inputs: 2 * index + 1
  cpli_names output_names;     // -> index in outputs
  cpli_names event_names;      // -> index in events
};

//------------------------------------ adding items ------------------------------------

// The public functions with source locations: they check the item and append it. All texts and
// arrays of an item live in the definition's arena already; cpli_def_text() puts them there, and
// running out of memory there is reported by the next cpli_def_add_...().
cpli_located_text cpli_def_text(cpl_system_def* def, const char* text,
                                cpli_source_loc loc);              // Nullable: text
void* cpli_def_array(cpl_system_def* def, size_t n, size_t size);  // n = 0 gives NULL

cpl_status cpli_def_add_model(cpl_system_def* def, cpli_member item);
/// One that need not have a path, a source or a definition yet.
cpl_status cpli_def_take_model(cpl_system_def* def, cpli_member item);
cpl_status cpli_def_add_parameter(cpl_system_def* def, cpli_parameter item);
cpl_status cpli_def_add_input(cpl_system_def* def, cpli_input item);
cpl_status cpli_def_add_connection(cpl_system_def* def, cpli_connection item);
cpl_status cpli_def_add_output(cpl_system_def* def, cpli_output item);
/// `equation` is as written: "a = b", "a = at start", or "a", which is to stay zero.
cpl_status cpli_def_add_constraint(cpl_system_def* def, cpli_located_text name,
                                   cpli_located_text equation);
/// One of another definition, which has checked it.
cpl_status cpli_def_take_constraint(cpl_system_def* def, cpli_constraint item);
cpl_status cpli_def_add_event(cpl_system_def* def, cpli_event item);
cpl_status cpli_def_add_record(cpl_system_def* def, cpli_located_text item);
/// Checks that times and tolerances are consistent with earlier settings.
cpl_status cpli_def_set_experiment(cpl_system_def* def, const cpli_experiment* item);
cpl_status cpli_def_set_cosimulation(cpl_system_def* def, const cpli_cosimulation* item);
cpli_cosimulation cpli_default_cosimulation(void);

/// One step that multiplies by a factor and adds an offset. NULL: out of memory, or neither is
/// needed.
const cpli_transform* cpli_def_scaling(cpl_system_def* def, double factor, double offset,
                                       bool keep_units);

/// The model of a name "model.variable" and the variable behind it; -1: there is no such model.
int32_t cpli_split_name(const cpl_system_def* def, const char* name, const char** variable);

//------------------------------------ modes ------------------------------------

/// A definition with the file and source location of another one, for a mode.
cpl_status cpli_def_add_mode(cpl_system_def* def, cpli_located_text name, cpl_system_def** out);
cpl_status cpli_def_add_transition(cpl_system_def* def, cpli_mode_def* mode,
                                   cpli_transition_def item);
cpl_status cpli_def_add_observed(cpl_system_def* def, cpli_observed item);
int32_t cpli_def_find_mode(const cpl_system_def* def, const char* name);  // -1: there is none
/// The number of the model of an end "model.interface" of a line.
size_t cpli_model_of_end(const cpl_system_def* def, const char* end);
/// When a transition takes place: "when ...", "at ...", "on terminate when ...".
void cpli_transition_text(const cpli_transition_def* l, char* out, size_t size);
/// The transitions and `start` name modes, `observe` too.
cpl_status cpli_def_check_modes(const cpl_system_def* def);
/// A mode as a system of its own: with the parameters and inputs of the whole, what is observed as
/// outputs, and one event per transition. Its data belong to `def`.
/// Owned: *out by the caller, who calls cpl_system_def_destroy().
cpl_status cpli_def_of_mode(const cpl_system_def* def, size_t mode, cpl_system_def** out);
void cpli_def_free_modes(cpl_system_def* def);

//------------------------------------ nested files ------------------------------------

// The definitions around the present one, innermost first.
typedef struct cpli_chain {
  const struct cpli_chain* outer;  // Nullable
  const cpl_system_def* def;
  bool isolate;             // set in an outer definition or here: all models are isolated
  double call_timeout;      // of isolated models; 0: none
  const char* path;         // before the names of models in messages: "", "outer.inner."
  const char* member;       // the name of the system that is entered. Nullable
  void* calls;              // FILE* of the call log. Nullable
  int32_t* n_calls;         // FMUs that write to it
  const cpl_start* starts;  // values that the system that is entered will get
  size_t n_starts;
} cpli_chain;

/// What cpl_system_def_read() does; a nested system may be empty.
cpl_status cpli_def_read(cpl_context* ctx, const char* path, bool nested, cpl_system_def** out);

/// The definition of a model of kind CPL_MEMBER_SYSTEM: the one a program gave, or the file, which
/// is read. A system that holds itself, directly or through others, is an error that names the
/// cycle. chain->def is the definition the model stands in.
/// Owned: *owned by the caller, who calls cpl_system_def_destroy(); NULL when *inner is borrowed.
cpl_status cpli_def_enter(cpl_context* ctx, const cpli_chain* chain, const cpli_member* member,
                          const cpl_system_def** inner, cpl_system_def** owned);
