// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens model files, and defines systems of models: read from a system file (docs/system-file.md),
// made by calls, or both. couplet/assemble.h builds a definition.
//
//   cpl_system_def* def = NULL;
//   cpl_status st = cpl_system_def_create(ctx, &def);
//   cpl_member_def left = cpl_default_member_def();
//   left.name = "left", left.kind = CPL_MEMBER_FMU, left.path = "left.fmu";
//   if (st >= 0) st = cpl_system_def_add_model(def, &left);
//   ...
//   if (st >= 0) st = cpl_system_def_connect(def, "left.F", "right.F");
//   if (st >= 0) st = cpl_system_build_owned(ctx, def, &source);  // couplet/assemble.h
#pragma once

#include "couplet/interface.h"
#include "couplet/table.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ opening a file ------------------------------------

/// How to open a model file. Start from cpl_default_open_def(), then change what you need.
typedef struct cpl_open_def {
  size_t size;       ///< set by cpl_default_open_def()
  const char* path;  ///< .fmu (or a folder with its files) or .c
  /// FMUs: file that records every FMI call with arguments and result. Nullable.
  const char* call_log;
  /// Start values that will be set: those of structural parameters of FMUs (see cpl_fmu_def) and of
  /// parameters that determine what is fixed when a system is built count from here on. Nullable.
  const cpl_start* starts;
  size_t n_starts;
  bool isolate;                   ///< instances run in processes of their own (couplet/isolate.h)
  double call_timeout;            ///< of isolated instances, per call [s]; 0: no limit
  void* calls;                    ///< FMUs: see cpl_fmu_def. Nullable.
  const char* calls_prefix;       ///< likewise
  const char* variant;            ///< of an SSP package (see cpl_ssp_def). Nullable
  const char* const* parameters;  ///< likewise
  size_t n_parameters;
} cpl_open_def;

CPL_DEFAULTS(open_def)  ///< cpl_default_open_def()

/// Open a model file by the ending of its name.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone.
CPL_API cpl_status cpl_open(cpl_context* ctx, const cpl_open_def* def, cpl_source** out);

//------------------------------------ definition of a system ------------------------------------

/// Models and connections as in a system file (docs/system-file.md): texts that are checked against
/// the models when the system is built. All texts passed to the functions below are copied.
typedef struct cpl_system_def cpl_system_def;

/// Owned: *out by the caller, who calls cpl_system_def_destroy().
CPL_API cpl_status cpl_system_def_create(cpl_context* ctx, cpl_system_def** out);
CPL_API void cpl_system_def_destroy(cpl_system_def* def);  ///< Nullable: def

/// Read a system file, without its nested systems, or an SSP package.
/// Owned:   *out by the caller, who calls cpl_system_def_destroy().
/// Returns: CPL_ERR_INPUT with file, line and column of what is wrong; *out is then NULL.
CPL_API cpl_status cpl_system_def_read(cpl_context* ctx, const char* path, cpl_system_def** out);

/// An SSP package (docs/ssp.md). Start from cpl_default_ssp_def(), then change what you need.
typedef struct cpl_ssp_def {
  size_t size;          ///< set by cpl_default_ssp_def()
  const char* path;     ///< .ssp, .ssd or a folder with SystemStructure.ssd; with "#name" a variant
  const char* variant;  ///< the name of one. Nullable: as in the path, or SystemStructure.ssd
  const char* const* parameters;  ///< files (.ssv) with values that replace those of the package
  size_t n_parameters;
} cpl_ssp_def;

CPL_DEFAULTS(ssp_def)  ///< cpl_default_ssp_def()

/// Read an SSP package; cpl_system_def_read() does the same without variant and parameters.
/// Owned:   *out by the caller, who calls cpl_system_def_destroy().
/// Returns: CPL_ERR_INPUT with file and line of what is wrong; *out is then NULL.
CPL_API cpl_status cpl_system_def_read_ssp(cpl_context* ctx, const cpl_ssp_def* package,
                                           cpl_system_def** out);

/// Name the system.
CPL_API cpl_status cpl_system_def_set_name(cpl_system_def* def, const char* name);

/// "name: value". Values are numbers or expressions, of Strings and Enumerations also texts.
typedef struct cpl_assignment {
  const char* name;
  const char* value;
} cpl_assignment;

typedef enum cpl_member_kind {
  CPL_MEMBER_FMU,
  CPL_MEMBER_C,
  CPL_MEMBER_SYSTEM,
} cpl_member_kind;

typedef enum cpl_member_as {
  CPL_AS_DEFAULT,         ///< what the file has; model exchange where it has both
  CPL_AS_MODEL_EXCHANGE,  ///< `as: me`
  CPL_AS_CO_SIMULATION,   ///< `as: cs`: a model without a solver of its own gets one
} cpl_member_as;

/// A model of the system. Start from cpl_default_member_def(), then change what you need.
typedef struct cpl_member_def {
  size_t size;       ///< set by cpl_default_member_def()
  const char* name;  ///< without dots
  cpl_member_kind kind;
  const char* path;              ///< Nullable when `source` or `system` is given
  cpl_source* source;            ///< an opened model instead of a path. Nullable.
  const cpl_system_def* system;  ///< CPL_MEMBER_SYSTEM: a definition instead of a path. Nullable.
  cpl_member_as as;
  bool isolate;                  ///< run it in a process of its own (couplet/isolate.h)
  const cpl_assignment* starts;  ///< of its variables
  size_t n_starts;
} cpl_member_def;

CPL_DEFAULTS(member_def)  ///< cpl_default_member_def()

/// Borrowed: source and system, for the life of the definition and of systems built from it.
CPL_API cpl_status cpl_system_def_add_model(cpl_system_def* def, const cpl_member_def* member);

/// Run all models, including those of nested systems, in processes of their own (`all`), or only
/// members with `isolate`. A call that takes longer than call_timeout [s] ends the run; 0: no
/// limit.
CPL_API cpl_status cpl_system_def_isolate(cpl_system_def* def, bool all, double call_timeout);

/// Record every call of every FMU, including nested systems, in a file that is created when the
/// system is built. Building a system without FMUs then fails.
CPL_API cpl_status cpl_system_def_call_log(cpl_system_def* def, const char* path);

/// A constant that expressions may use; its value may be an expression of other parameters.
CPL_API cpl_status cpl_system_def_add_parameter(cpl_system_def* def, const char* name,
                                                const char* value);
CPL_API cpl_status cpl_system_def_add_number(cpl_system_def* def, const char* name, double value);

typedef enum cpl_interpolation {
  CPL_INTERPOLATE_LINEAR,
  CPL_INTERPOLATE_HOLD,
} cpl_interpolation;

/// An input of the system: one of expression, file, table or callback; without any of them it is an
/// external input, which an enclosing system sets.
/// Start from cpl_default_input_def(), then change what you need.
typedef struct cpl_input_def {
  size_t size;  ///< set by cpl_default_input_def()
  const char* name;
  const char* expression;                 ///< of time, parameters and other inputs. Nullable.
  const char* file;                       ///< a CSV file. Nullable.
  const cpl_table* table;                 ///< Nullable
  const char* column;                     ///< of file or table. Nullable: the input's name.
  cpl_interpolation interpolation;        ///< of file or table
  double (*value)(void* user, double t);  ///< a smooth function. Nullable.
  void* user;                             ///< passed to value
  const char* start;                      ///< of an external input. Nullable.
  const char* unit;  ///< of its values. Nullable: that of the column or of the connected variable
} cpl_input_def;

CPL_DEFAULTS(input_def)  ///< cpl_default_input_def()

/// Borrowed: table and user, for the life of the definition and of systems built from it.
CPL_API cpl_status cpl_system_def_add_input(cpl_system_def* def, const cpl_input_def* input);

/// A coupling function u = c(t, y) of a program. Functions return 0; 1 when they cannot be
/// evaluated at this point (a shorter step may help); or a negative number, which ends the run.
/// Start from cpl_default_coupling_def(), then change what you need.
typedef struct cpl_coupling_def {
  size_t size;  ///< set by cpl_default_coupling_def()
  /// Names of the values it reads, "model.variable", inputs and parameters, in the order of y.
  const char* const* reads;
  size_t n_reads;
  /// `reads` is not given: y holds every output of every model, models in the order in which they
  /// were added, outputs in the order of their descriptions.
  bool reads_all;
  int (*value)(void* user, double t, const double* y, double* u);
  /// du[i] is the derivative of u in y[i]. Nullable: differences are used.
  int (*gradient)(void* user, double t, const double* y, double* du);
  bool constant;  ///< the gradient is constant: it is evaluated once
  void* user;     ///< passed to both
} cpl_coupling_def;

CPL_DEFAULTS(coupling_def)  ///< cpl_default_coupling_def()

/// A connection. Start from cpl_default_connection_def(), then change what you need.
typedef struct cpl_connection_def {
  size_t size;         ///< set by cpl_default_connection_def()
  const char* target;  ///< an input, "model.input"
  const char* source;  ///< a name, or an expression over outputs, inputs and parameters
  bool convert;        ///< `convert: true`: types may differ; numbers are rounded
  bool keep_units;     ///< `convert-units: false`: no unit conversion
  /// target = factor * source + offset, after the conversion of units, where the source is the name
  /// of a Real; a factor 0 counts as 1
  double factor, offset;
} cpl_connection_def;

CPL_DEFAULTS(connection_def)  ///< cpl_default_connection_def()
CPL_API cpl_status cpl_system_def_add_connection(cpl_system_def* def,
                                                 const cpl_connection_def* connection);
/// The same with the defaults: no lossy conversion of types.
CPL_API cpl_status cpl_system_def_connect(cpl_system_def* def, const char* target,
                                          const char* source);
/// Connect an input to a function of the program.
/// Borrowed: user, for the life of the definition and of systems built from it.
CPL_API cpl_status cpl_system_def_couple(cpl_system_def* def, const char* target,
                                         const cpl_coupling_def* coupling);

/// An equation that the exact solution satisfies: "p.x^2 + p.y^2 = 1", "energy = at start" (equal
/// to its initial value), or an expression that stays zero. The states are projected onto it.
CPL_API cpl_status cpl_system_def_add_constraint(cpl_system_def* def, const char* name,
                                                 const char* equation);

/// An output of the system, for an enclosing system.
CPL_API cpl_status cpl_system_def_add_output(cpl_system_def* def, const char* name,
                                             const char* source);

/// An event of the system: when a condition becomes true, or at given times.
/// Start from cpl_default_event_def(), then change what you need.
typedef struct cpl_event_def {
  size_t size;  ///< set by cpl_default_event_def()
  const char* name;
  const char* when;       ///< a condition. Nullable: `at`.
  const char* const* at;  ///< times: numbers or constant expressions. Nullable: `when`.
  size_t n_at;
  const cpl_assignment* sets;  ///< all at once, from the values before the event
  size_t n_sets;
} cpl_event_def;

CPL_DEFAULTS(event_def)  ///< cpl_default_event_def()
CPL_API cpl_status cpl_system_def_add_event(cpl_system_def* def, const cpl_event_def* event);

/// Record a variable: a name, or a pattern with * and ?. Without any: every output and state.
CPL_API cpl_status cpl_system_def_add_record(cpl_system_def* def, const char* name);

/// How to simulate; NAN and NULL: not given. Start from cpl_default_experiment_def(). Choices are
/// the texts of a system file, which are checked when the system is built, with their location in
/// the file; a program can use cpl_solver_name(CPL_SOLVER_IDA) and the like.
typedef struct cpl_experiment_def {
  size_t size;  ///< set by cpl_default_experiment_def()
  double start, stop;
  double interval;         ///< between output points
  double step;             ///< fixed-step solvers: the step; others: the maximum step
  double rtol, atol;       ///< tolerances
  const char* solver;      ///< a name of CPL_SOLVER_LIST. Nullable
  const char* linear;      ///< how cvode solves its linear systems: "direct", "gmres". Nullable
  const char* projection;  ///< "auto", "lazy", "every", "events", "off". Nullable
  const char* loops;       ///< algebraic loops: "nested", "as-rows". Nullable
  const char* steady;      ///< "true": the run begins at its rest point; "false". Nullable
} cpl_experiment_def;

CPL_DEFAULTS(experiment_def)  ///< cpl_default_experiment_def()

/// Set the members that are given; the others are unchanged.
CPL_API cpl_status cpl_system_def_set_experiment(cpl_system_def* def,
                                                 const cpl_experiment_def* experiment);
CPL_API void cpl_system_def_get_experiment(const cpl_system_def* def, cpl_experiment_def* out);
static inline cpl_experiment_def cpl_system_def_experiment(const cpl_system_def* def) {
  cpl_experiment_def out = cpl_default_experiment_def();
  cpl_system_def_get_experiment(def, &out);
  return out;
}
/// ManagerPort of a composite model; 0: not given.
CPL_API int32_t cpl_system_def_manager_port(const cpl_system_def* def);

/// How steppers in the system are coupled (terms as in couplet/master.h); NAN, -1 and NULL: not
/// given. Start from cpl_default_cosimulation_def(), then change what you need. Choices are texts,
/// as in cpl_experiment_def: cpl_master_algorithm_name(CPL_MASTER_JACOBI) and the like.
typedef struct cpl_cosimulation_def {
  size_t size;            ///< set by cpl_default_cosimulation_def()
  const char* algorithm;  ///< "determinate", "jacobi", "gauss-seidel", "iterative"
  const char* on_loop;    ///< "auto", "iterate", "delay", "error"
  const char* estimate;   ///< "predictor", "richardson", "energy"
  const char* legacy;     ///< "warn", "error"
  double step, tolerance, min_step, loop_tolerance;
  int32_t order, iterations, threads;
  int32_t fixed_iterations;  ///< of loops, without a test of convergence; -1: until they converge
  const cpl_assignment* steps;  ///< steps of single models: name, number
  size_t n_steps;
  const cpl_assignment* bonds;  ///< power bonds: the input with the effort, the one with the flow
  size_t n_bonds;
  bool output_derivatives;  ///< inputs follow derivatives of outputs, where models give them
} cpl_cosimulation_def;

CPL_DEFAULTS(cosimulation_def)  ///< cpl_default_cosimulation_def()

/// Replaces earlier settings. All texts are copied.
CPL_API cpl_status cpl_system_def_set_cosimulation(cpl_system_def* def,
                                                   const cpl_cosimulation_def* how);

/// Write a system file (docs/system-file.md) that defines the same system; paths of models and
/// tables are written relative to its folder. Parts that exist in a program only (functions, opened
/// models, tables in memory) are an error that names them.
CPL_API cpl_status cpl_system_def_write(const cpl_system_def* def, const char* path);

//------------------------------------ inspection ------------------------------------

typedef struct cpl_member_info {
  const char* name;
  const char* path;     ///< Nullable: it has no file
  const char* command;  ///< of a composite model: the program that runs it. Nullable: couplet
} cpl_member_info;

/// The i-th model of a definition; false: there are no more.
CPL_API bool cpl_system_def_member(const cpl_system_def* def, size_t i, cpl_member_info* out);

/// What an SSP package contains.
typedef enum cpl_ssp_item_kind {
  CPL_SSP_VARIANT,     ///< name, and its file as text
  CPL_SSP_SYSTEM,      ///< hierarchical name
  CPL_SSP_COMPONENT,   ///< hierarchical name, and its source as text
  CPL_SSP_DICTIONARY,  ///< a reference to the signal dictionary that the text names
  CPL_SSP_CONNECTOR,   ///< of the element before it: name, its kind as text, its unit
  CPL_SSP_VALUE,       ///< of a variable, as the parameter sets give it: name, value as text, unit
} cpl_ssp_item_kind;

typedef struct cpl_ssp_item {
  cpl_ssp_item_kind kind;
  int32_t depth;  ///< of elements, from 0
  const char *name, *text;
  const char* unit;  ///< Nullable
  const char* file;  ///< where it stands. Nullable
  int32_t line;
} cpl_ssp_item;

typedef void cpl_ssp_item_fn(void* user, const cpl_ssp_item* item);

/// Calls `each` for variants, elements with their connectors, and values, in this order; not at all
/// when the definition was not read from a package. Texts are valid as long as the definition.
CPL_API void cpl_system_def_list_ssp(const cpl_system_def* def, cpl_ssp_item_fn* each, void* user);

//------------------------------------ modes ------------------------------------

/// Add a mode to a system of variable structure; such a system has no models, connections, outputs
/// and events of its own. *mode is filled like any definition and belongs to `def`.
CPL_API cpl_status cpl_system_def_add_mode(cpl_system_def* def, const char* name,
                                           cpl_system_def** mode);
/// Set the initial mode.
CPL_API cpl_status cpl_system_def_set_start_mode(cpl_system_def* def, const char* name);

/// A transition. Start from cpl_default_transition_def(), then change what you need.
typedef struct cpl_transition_def {
  size_t size;            ///< set by cpl_default_transition_def()
  const char* to;         ///< the mode that follows
  const char* when;       ///< a condition. Nullable: `at`, or on_terminate alone.
  const char* const* at;  ///< times: numbers or constant expressions. Nullable.
  size_t n_at;
  bool on_terminate;           ///< when the model requests termination (and `when` is true)
  const char* entry;           ///< "follow", "error", "wait". Nullable: "follow"
  const cpl_assignment* sets;  ///< of the new mode, from values of the old one
  size_t n_sets;
} cpl_transition_def;

CPL_DEFAULTS(transition_def)  ///< cpl_default_transition_def()
CPL_API cpl_status cpl_system_def_add_transition(cpl_system_def* def, const char* mode,
                                                 const cpl_transition_def* leave);

/// An output of the system: `source` in every mode, or one source per mode (`in`: mode, source).
/// Nullable: source, or in
CPL_API cpl_status cpl_system_def_observe(cpl_system_def* def, const char* name, const char* source,
                                          const cpl_assignment* in, size_t n_in);

//------------------------------------ changes ------------------------------------

/// Change the start value of "model.variable", or the value of a parameter or an external input.
CPL_API cpl_status cpl_system_def_set(cpl_system_def* def, const char* name, const char* value);

#ifdef __cplusplus
}
#endif
