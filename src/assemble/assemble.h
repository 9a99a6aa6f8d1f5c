// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A built system. Its models are opened once; every instance is assembled from instances of them,
// with functions of its own. Members that are models become one aggregate, which also computes all
// expressions. Members that are steppers remain separate: an output of theirs enters the aggregate
// as an input signal, an expression for an input of theirs leaves it as an output signal (bridges),
// and routes carry other connections; a master couples them all.
#pragma once

#include "aggregate/aggregate.h"
#include "assemble/function.h"
#include "couplet/assemble.h"
#include "master/merged.h"
#include "modes/modes.h"
#include "system/definition.h"

// A signal of the aggregate for a variable of a stepper.
typedef struct cpli_bridge {
  int32_t model, var;
  bool leaves;    // an expression for an input of the stepper; otherwise an output of it
  bool discrete;  // it changes at communication points, and its change is an event
  const char* name;
} cpli_bridge;

// A link of the master. `name`: a variable of the aggregate; NULL: one of a model.
typedef struct cpli_route_end {
  int32_t model, var;
  const char* name;
} cpli_route_end;

typedef struct cpli_route {
  cpli_route_end source, target;
  double factor, offset;
} cpli_route;

// The data of one instance during its lifetime.
typedef struct cpli_assembly {
  struct cpli_assembly* next;
  cpli_functions functions;
  int32_t* part_of_model;  // in the aggregate; -1: a stepper
  int32_t first_bridge;    // its signal
  cpli_bridge* bridges;
  size_t n_bridges, cap_bridges;
  int32_t* bridge_of;  // by variable of steppers, from 1; 0: none yet
  int32_t* first_var;  // of each model in bridge_of
  double** times;      // of each event of the definition; NULL: it has none
  cpli_route* routes;
  size_t n_routes, cap_routes;
  bool no_memory;
} cpli_assembly;

// The members of one instance before they are composed. For a member outside of the aggregate
// exactly one of models[i] and steppers[i] is set.
typedef struct cpli_members {
  cpli_assembly* assembly;
  cpl_model* inner;  // the aggregate; NULL: it would be empty
  cpl_model** models;
  cpl_stepper** steppers;
} cpli_members;

// A mode of a system: a system of its own, and its transitions.
typedef struct cpli_mode_plan {
  cpl_system_def* def;
  cpl_source* source;
  cpl_transition* leave;
  int32_t n_leave;
} cpli_mode_plan;

typedef struct cpli_modes_plan {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_mode_plan* modes;
  int32_t n, start;
  cpl_mode_variable *observed, *inputs, *parameters;
  int32_t n_observed, n_inputs, n_parameters;
  cpli_modes_desc* shared_desc;
  struct cpli_transition_plan* transition_plans;  // with what must be destroyed
  char** notes;                                   // notes for the user
  size_t n_notes, cap_notes;
} cpli_modes_plan;

// The table column that an input follows.
typedef struct cpli_input_table {
  const cpl_table* table;  // NULL: none
  cpl_table* owned;        // when read from a file
  size_t column;
  bool convert;
  cpli_conversion conversion;
} cpli_input_table;

typedef struct cpli_built {
  cpl_source base;
  const cpl_system_def* def;
  cpl_system_def* owned;   // when read from a file
  cpl_system_def** inner;  // definitions of nested systems that were read
  cpl_source** sources;    // one per model
  bool* borrowed;          // that source belongs to the program
  bool* is_stepper;        // that member is not in the aggregate
  bool varies;             // it is a model of variable structure
  size_t n_steppers;
  double* parameters;       // values
  bool* known;              // which of them have been computed; all, once the system is built
  int32_t* order;           // parameters in an order in which they can be computed
  bool* fixed;              // which of them determine what is fixed when the system is built
  const cpl_start* starts;  // given from outside, while the system is built
  size_t n_starts;
  struct cpli_follow* follow;  // what follows from parameters
  cpli_input_table* tables;    // one per input
  cpl_unit* input_units;       // one per input; name NULL: none
  bool* differences;           // inputs that are differences: offsets of units do not apply
  cpli_resolver resolver;
  cpli_links links;
  int32_t* first_links;  // of parameters, then inputs: the first link with a start value; -1: none
  cpli_assembly* assemblies;
  cpl_model* prototype;           // the first instance, until it is requested
  cpli_members* draft;            // the same of a system with steppers
  cpli_shared_desc* shared_desc;  // owner of its description
  cpli_modes_plan* modes;         // of a system with modes
  struct cpli_tlm_plan* tlm;      // delay lines. Nullable
  cpl_description desc;           // a copy of it, with the experiment of the definition
  char* name;
  char* path;   // prefix of the names in it: "", "outer.inner."
  void* calls;  // FILE* of the call log, when it is the outermost system. Nullable
  int32_t n_calls;
} cpli_built;

//------------------------------------ system_open.c ------------------------------------

/// Checks the names under `record`, whose lines are known here, so that `check` finds what a run
/// would refuse. After a failure the system is destroyed, and *system is NULL.
cpl_status cpli_system_keep_checked(cpl_source** system);

//------------------------------------ open.c ------------------------------------

/// Opens the sources of all models of the definition, and determines which are steppers.
cpl_status cpli_open_members(cpli_built* b, const cpli_chain* chain);

//------------------------------------ build.c ------------------------------------

/// cpl_system_build() of a nested system.
cpl_status cpli_system_build(cpl_context* ctx, const cpl_system_def* def, const cpli_chain* outer,
                             cpl_source** out);
/// cpl_system_build_owned() with start values that will be set: those of parameters that determine
/// what is fixed when the system is built count from here on. Borrowed: starts during the call
cpl_status cpli_system_build_owned(cpl_context* ctx, cpl_system_def* def, const cpl_start* starts,
                                   size_t n_starts, cpl_source** out);
/// Whether a variable of a source can only be set when it is opened, since it determines what is
/// fixed then: a program that changes it opens the source again, with its value among the starts.
bool cpli_system_needs_build(const cpl_source* source, const char* variable);
/// Inserts a time into n ascending ones.
void cpli_sort_in(double* times, size_t n, double t);
/// The members of another instance. Owned: *out by the caller, who calls cpli_members_free().
cpl_status cpli_members_make(cpli_built* b, const char* name, cpli_members** out);
void cpli_members_free(cpli_built* b, cpli_members* draft);  // with all members. Nullable

//------------------------------------ starts.c ------------------------------------

cpl_status cpli_set_start(cpli_built* b, cpli_functions* f, const cpli_setting* s,
                          cpl_component* c);
/// Warns of targets of one parameter or input without a value whose start values differ: they
/// cannot all keep theirs. Order: after cpli_evaluate_parameters()
cpl_status cpli_warn_of_targets(cpli_built* b, cpli_functions* f);
/// Finds b->first_links. Order: after cpli_links_init()
cpl_status cpli_find_first_links(cpli_built* b);
/// The start value of the first variable that an input or a parameter of the system is connected
/// to, as that of the input; *out is unchanged when there is none.
cpl_status cpli_start_of_target(cpli_built* b, cpli_functions* f, cpli_ref_kind kind, int32_t index,
                                double* out);
/// The text of a start value in the unit of its variable; *out NULL: it is ignored.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_start_text(const cpli_built* b, size_t model, const cpli_setting* s, char** out);
/// Computes the parameters of the system; they may depend on each other in any order.
cpl_status cpli_evaluate_parameters(cpli_built* b, cpli_functions* f);
/// Writes start values of members into the description of the aggregate.
cpl_status cpli_note_starts(cpli_built* b, cpli_functions* f, cpl_model* aggregate);
/// The same for the description of a system of steppers.
cpl_status cpli_note_member_starts(cpli_built* b);
/// Warns of unused start values of connected inputs. Nullable: aggregate
void cpli_warn_starts(const cpli_built* b, const cpl_model* aggregate);

//------------------------------------ fixed.c ------------------------------------

/// Finds the parameters that determine what cannot change once the system is built: delay lines,
/// steps of a master, sizes of arrays, and the same in systems inside. Order: after the models are
/// opened
cpl_status cpli_find_fixed(cpli_built* b, cpli_functions* f);
/// The start values of a model that are known before it is opened, of the definition and from
/// outside. Owned: by the caller, who calls cpli_known_starts_free().
typedef struct cpli_known_starts {
  cpl_start* items;
  size_t n;
  char* numbers;  // of expressions
} cpli_known_starts;
cpl_status cpli_known_starts_of(cpli_built* b, const cpli_member* m, cpli_known_starts* out);
/// Those of a mode.
cpl_status cpli_known_starts_of_mode(cpli_built* b, const char* mode, cpli_known_starts* out);
void cpli_known_starts_free(const cpli_built* b, cpli_known_starts* k);
/// The text from outside for a variable; `model` Nullable: a parameter of the system. NULL: none
const char* cpli_given_start(const cpli_built* b, const char* model, const char* name);
/// The value of a parameter that is given from outside; *out is unchanged when it is not.
cpl_status cpli_given_parameter(const cpli_built* b, size_t i, double* out, bool* given);

//------------------------------------ follow.c ------------------------------------

/// Finds the start values that follow from parameters, in a description of the whole.
cpl_status cpli_follow_make(cpli_built* b, const cpl_description* whole);
void cpli_follow_free(cpli_built* b);
/// Marks in a description what follows from parameters, and what cannot be set any more.
void cpli_follow_mark(const cpli_built* b, cpl_description* whole);
/// The starter of an instance. Owned: by the assembly.
cpl_status cpli_follow_starter(cpli_built* b, cpli_assembly* one, cpli_starter** out);

//------------------------------------ inputs.c ------------------------------------

/// Reads the tables of the inputs and finds the units of their columns.
/// Owned: by the system, which calls cpli_inputs_release() (also fine after a failure).
cpl_status cpli_inputs_prepare(cpli_built* b);
void cpli_inputs_release(cpli_built* b);
/// The first table file of a system, or one inside it, for which `is` is true; NULL: none, or
/// `source` is no system.
const char* cpli_inputs_find_file(const cpl_source* source,
                                  bool (*is)(const char* path, const void* user), const void* user);
/// Inputs of the whole take the units of the variables they are connected to.
cpl_status cpli_inputs_infer_units(cpli_built* b);
/// Sets the unit of the signal of an input.
void cpli_inputs_mark(const cpli_built* b, size_t i, cpl_signal* s);
/// A constant expression, or a number with a unit that is converted to `unit`. `what` names the
/// variable in messages. Nullable: unit
cpl_status cpli_constant_in_unit(cpli_built* b, cpli_functions* f, const cpli_located_text* text,
                                 const char* what, const cpl_unit* unit, bool difference,
                                 double* out);
/// The start value of an input of the whole; *out is unchanged when it has none.
cpl_status cpli_input_start(cpli_built* b, cpli_functions* f, size_t i, double* out);

//------------------------------------ bridges.c ------------------------------------

cpl_status cpli_bridges_init(cpli_built* b, cpli_assembly* one);
/// The port of the aggregate for a variable of a stepper.
cpl_port cpli_bridge_in(void* assembly, cpli_ref ref);
/// Notes that the port of a stepper's variable is connected to `target`.
void cpli_bridge_to(cpli_assembly* one, cpl_port port, const cpl_variable* target);
/// The output signal of an expression for an input of a stepper.
cpl_port cpli_bridge_out(cpli_assembly* one, const cpli_built* b, int32_t model, int32_t var);
cpl_status cpli_add_route(cpli_assembly* one, cpli_route route);

//------------------------------------ calls.c ------------------------------------

/// Opens the file the definition names, unless an outer system has opened one.
cpl_status cpli_calls_open(cpli_built* b, cpli_chain* chain);
/// Makes an FMU write to it.
void cpli_calls_join(const cpli_built* b, const cpli_chain* chain, cpl_open_def* fmu);
/// Fails when no FMU writes to it.
cpl_status cpli_calls_check(const cpli_built* b);

//------------------------------------ cosimulation.c ------------------------------------

/// The members of a system with steppers; everything that is not a stepper is one part, with a name
/// of its own: "system.models", or "system.expressions" when it only computes expressions.
cpl_status cpli_group_make(cpli_built* b, const char* name, cpli_members** out);
cpl_status cpli_members_describe(cpli_built* b, cpli_members* draft);
/// Combines the settings of the definition and of `def` for a master.
cpl_status cpli_take_master(cpli_built* b, const cpl_stepper_def* def, cpl_master_def* out);

//------------------------------------ modes.c ------------------------------------

cpl_status cpli_modes_plan_make(cpli_built* b, const cpli_chain* chain, cpli_modes_plan** out);
void cpli_modes_plan_free(cpli_modes_plan* p);  // Nullable
cpl_status cpli_modes_stepper(cpli_built* b, const cpl_stepper_def* def, cpl_stepper** out);
/// Settings of a nested system take precedence over those of the outer one.
cpl_status cpli_take_solver(const cpl_system_def* def, cpl_solver_def* solver);

/// Fills the definition of the whole; modes[]: the data that all instances share.
void cpli_modes_fill(const cpli_built* b, const cpli_modes_plan* p, cpl_mode* modes,
                     cpl_modes_def* out);

//------------------------------------ varying.c ------------------------------------

/// Determines which members with modes are models of the aggregate.
cpl_status cpli_varying_choose(cpli_built* b);
bool cpli_varying_is(const cpl_source* source);  // a system with modes
/// The modes of a system. NULL: it has none, or the source is no system.
cpli_modes_plan* cpli_modes_of(const cpl_source* source);
cpl_status cpli_varying_make(cpl_source* source, const char* name, cpl_model** out);

//------------------------------------ transitions.c ------------------------------------

/// Makes the transitions of a mode: resolves the names they set in the modes they connect.
cpl_status cpli_transitions_make(cpli_modes_plan* p, const cpl_system_def* def, int32_t mode);
/// For cpl_system_note(). Owned: text by the plan. Nullable: out of memory.
cpl_status cpli_modes_add_note(cpli_modes_plan* p, char* text);
void cpli_transitions_free(cpli_modes_plan* p);

//-------------------------------- cosimulation.c, for other files --------------------------------

/// The model of each part of the description, -1 for the aggregate: at most n_models + 1 numbers.
cpl_status cpli_members_order(cpli_built* b, const cpli_members* draft, int32_t* models);
/// The stepper of a member outside of the aggregate. `coupled`: it may be rolled back.
cpl_status cpli_member_stepper(cpli_built* b, cpli_members* draft, int32_t model,
                               const cpl_stepper_def* def, bool coupled, cpl_stepper** out);

//------------------------------------ tlm_resolve.c, tlm.c ------------------------------------

/// Resolves the sections `interfaces:` and `tlm:`; b->tlm stays NULL without lines.
cpl_status cpli_tlm_resolve(cpli_built* b, cpli_functions* functions);
void cpli_tlm_plan_free(cpli_built* b);
/// The number of waves that arrive at models; adds them and their forces to the lists.
int32_t cpli_tlm_waves(const cpli_built* b);
cpl_status cpli_tlm_add_waves(cpli_built* b, cpli_functions* f, cpl_signal* signals,
                              int32_t* n_signals, cpl_coupling* couplings, int32_t* n_couplings);
/// Removes inputs that lines provide from the inputs of the whole.
void cpli_tlm_hide(cpli_built* b);
cpl_status cpli_members_lines(cpli_built* b, cpli_members* draft, const cpl_stepper_def* def,
                              cpli_starter* starter, cpl_stepper** out);

//------------------------------------ for pictures and lists ------------------------------------

// Of a built system: its i-th model, and its k-th mode.
static inline const cpl_description* cpli_member_description(const cpl_source* system, size_t i) {
  return ((const cpli_built*)system)->sources[i]->desc;
}
static inline const char* cpli_member_kind(const cpl_source* system, size_t i) {
  return ((const cpli_built*)system)->is_stepper[i] ? "co-simulation" : "model exchange";
}
static inline const cpl_description* cpli_mode_description(const cpl_source* system, size_t k) {
  return ((const cpli_built*)system)->modes->modes[k].source->desc;
}
