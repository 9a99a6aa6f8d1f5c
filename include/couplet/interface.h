// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The two interfaces of couplet: a model gives derivatives and does not advance time, a stepper
// advances itself to a given time. Both are components: they have a description (variables,
// structure, capabilities), a life cycle, and values that are read and written by reference.
//
// Programs call components with the functions of couplet/component.h. The tables of operations
// below are for implementing a kind of component:
//
//   static const cpl_component_ops component_ops = {
//       .size = sizeof component_ops, .kind = "mine", .destroy = mine_destroy, ...};
//   static const cpl_stepper_ops stepper_ops = {.size = sizeof stepper_ops, .step = mine_step};
//   mine->stepper = (cpl_stepper){.base = {&component_ops, desc, ctx, name}, .ops = &stepper_ops};
//
// Compatibility: every table begins with its size. New operations are optional and are appended to
// the end of a table, never inserted. A table that was compiled with an older version of this
// header is smaller; operations beyond its end are absent. The functions that take over a component
// from a program (cpl_integrate, cpl_aggregate, cpl_master, cpl_modes, cpl_tlm, cpl_run,
// cpl_isolate, ...) check this once and refuse a table of size zero or without room for the
// required operations.
#pragma once

#include "couplet/base.h"
#include "couplet/model.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ description ------------------------------------

typedef enum cpl_causality {
  CPL_CAUSALITY_PARAMETER,
  CPL_CAUSALITY_CALCULATED_PARAMETER,
  CPL_CAUSALITY_INPUT,
  CPL_CAUSALITY_OUTPUT,
  CPL_CAUSALITY_LOCAL,
  CPL_CAUSALITY_INDEPENDENT,
} cpl_causality;

typedef enum cpl_variability {
  CPL_VARIABILITY_CONSTANT,
  CPL_VARIABILITY_FIXED,
  CPL_VARIABILITY_TUNABLE,
  CPL_VARIABILITY_DISCRETE,
  CPL_VARIABILITY_CONTINUOUS,
} cpl_variability;

typedef enum cpl_initial {
  CPL_INITIAL_NONE,
  CPL_INITIAL_EXACT,
  CPL_INITIAL_APPROX,
  CPL_INITIAL_CALCULATED,
} cpl_initial;

/// The storage type of a Real or Integer in the model, where it differs from the default (double
/// and 32 bits signed). Values are passed as double and int64_t regardless; UInt64 as the same
/// bits.
typedef enum cpl_width {
  CPL_WIDTH_OWN,
  CPL_WIDTH_FLOAT32,
  CPL_WIDTH_FLOAT64,
  CPL_WIDTH_INT8,
  CPL_WIDTH_UINT8,
  CPL_WIDTH_INT16,
  CPL_WIDTH_UINT16,
  CPL_WIDTH_INT32,
  CPL_WIDTH_UINT32,
  CPL_WIDTH_INT64,
  CPL_WIDTH_UINT64,
} cpl_width;

CPL_API const char* cpl_type_name(cpl_type type);                       ///< "Real", ...
CPL_API const char* cpl_width_name(cpl_width width);                    ///< "Float32", ...; own: ""
CPL_API const char* cpl_causality_name(cpl_causality causality);        ///< "parameter", ...
CPL_API const char* cpl_variability_name(cpl_variability variability);  ///< "continuous", ...

/// A unit: value in base units = factor * value + offset.
typedef struct cpl_unit {
  const char* name;
  bool has_base;        ///< exponents, factor and offset are given
  int8_t exponents[8];  ///< kg m s A K mol cd rad
  double factor, offset;
  bool inverse;  ///< of a display unit: value = factor / of
  /// A display unit of the unit with this index: value = factor * of + offset; -1: a unit.
  int32_t display_of;
} cpl_unit;

typedef struct cpl_enum_item {
  const char* name;
  const char* description;  ///< never NULL
  int64_t value;
} cpl_enum_item;

/// A declared type, e.g. Modelica.Units.SI.Angle, or the items of an Enumeration.
typedef struct cpl_type_def {
  const char* name;
  const char* quantity;  ///< never NULL
  cpl_type type;
  const cpl_enum_item* items;
  int32_t n_items;
} cpl_type_def;

typedef struct cpl_variable {
  const char* name;
  const char* description;  ///< never NULL
  uint32_t ref;       ///< for get and set, one space per basic type; aliases of one model share it
  uint8_t type;       ///< cpl_type
  uint8_t causality;  ///< cpl_causality
  uint8_t variability;  ///< cpl_variability
  uint8_t initial;      ///< cpl_initial
  uint8_t width;        ///< cpl_width
  bool structural;      ///< a parameter that sizes of arrays depend on: fixed once opened
  bool has_start;
  bool has_nominal;
  bool can_set_several_times;  ///< false: canHandleMultipleSetPerTimeInstant="false"
  bool inner_output;           ///< an output of a model in an aggregate: recorded by default
  bool reinit;                 ///< the model may reinitialise this state at events
  bool relative_quantity;      ///< a difference: the offsets of units do not apply
  bool unbounded;              ///< may grow without limit (an angle): for error control
  bool mode_dependent;         ///< exists in some structures of the model only; NaN in the others
  int32_t unit;                ///< index in units; -1: none
  int32_t display_unit;        ///< index in units; -1: none
  int32_t declared_type;       ///< index in types; -1: none
  int32_t derivative_of;       ///< variable whose derivative this is; -1: none
  int32_t alias_of;        ///< the first variable of the same type and value; -1: this is the first
  int32_t array;           ///< an element of the array with this number, from 1; 0: a scalar
  int32_t line;            ///< in the description file; 0: unknown
  double start, min, max;  ///< of all but Strings; min -INFINITY, max INFINITY when not given
  double nominal;          ///< 1 when not given
  const char* start_text;  ///< of a String; of a Binary in hexadecimal digits; Nullable
  const char* quantity;    ///< "Torque"; Nullable
} cpl_variable;

/// An array. Its elements are variables of their own, named x[1,2], contiguous, with the last index
/// running fastest.
typedef struct cpl_array {
  const char* name;
  int32_t first;  ///< variable of its first element
  int32_t count;  ///< of elements; may be 0
  const int32_t* sizes;
  int32_t n_sizes;
} cpl_array;

typedef enum cpl_dependency_kind {
  CPL_KIND_DEPENDENT,
  CPL_KIND_CONSTANT,
  CPL_KIND_FIXED,
  CPL_KIND_TUNABLE,
  CPL_KIND_DISCRETE,
} cpl_dependency_kind;

/// One row of the structure: an output, derivative or initial unknown, and its dependencies.
typedef struct cpl_unknown {
  int32_t var;
  int32_t first;  ///< in deps and kinds
  int32_t count;  ///< -1: unknown, depends on all
} cpl_unknown;

/// The origin of the structure of a model.
typedef enum cpl_origin {
  CPL_ORIGIN_ASSUMED,   ///< unknown: everything depends on everything
  CPL_ORIGIN_DECLARED,  ///< by the model or its FMU
  CPL_ORIGIN_DETECTED,  ///< by evaluating the model at many points
} cpl_origin;

CPL_API const char* cpl_origin_name(cpl_origin origin);  ///< "assumed", "declared", "detected"

/// Dependencies between variables. Derivatives are in the order of the states.
typedef struct cpl_structure {
  const cpl_unknown *outputs, *derivatives, *initial;
  int32_t n_outputs, n_derivatives, n_initial;
  const int32_t* deps;   ///< variable indices
  const uint8_t* kinds;  ///< cpl_dependency_kind, one per dep
  cpl_origin origin;     ///< of rows with known dependencies; those with count -1 are assumed
} cpl_structure;

/// What a component can do, as data. A composed component has what all its components have.
typedef struct cpl_capabilities {
  bool directional;       ///< directional derivatives
  bool save_restore;      ///< can roll back
  bool serialize;         ///< saved states can be converted to bytes
  bool once_per_process;  ///< may be instantiated only once in a process
  bool needs_tool;        ///< needs an execution tool
  bool completed_step;    ///< must be notified of completed steps (models)
  bool variable_step;     ///< the step size may vary (steppers, as the rest)
  bool zero_step;         ///< a step of size zero is an event update
  bool stops_early;       ///< may stop at events before the end of a step
  bool predicts;          ///< gives the largest step that it will accept
  bool get_after_set;     ///< outputs follow inputs without a step
  bool dense_output;      ///< outputs inside the last step
  bool samples;           ///< reads inputs and writes outputs only at events, once per instant
  bool own_thread;        ///< is called by the thread that calls the library, and by no other
  /// 1: some of its components are in other processes; 2: it is. Calls of several of these overlap.
  uint8_t remote;
  /// Directional derivatives also with respect to Reals that are constant between events
  /// (parameters, discrete variables). 2: derivatives and continuous outputs depend on nothing else
  /// that is Real; 1: there are components without, which refuse theirs.
  uint8_t parameter_directions;
  int32_t input_derivatives;   ///< highest order of input derivatives it interpolates with
  int32_t output_derivatives;  ///< highest order of output derivatives it gives
} cpl_capabilities;

typedef struct cpl_default_experiment {
  bool has_start, has_stop, has_tolerance, has_step;
  double start, stop, tolerance, step;
} cpl_default_experiment;

/// Everything that is known of a component before it is instantiated. Immutable, shared by all
/// instances.
typedef struct cpl_description {
  const char* name;  ///< of the model
  const char* kind;  ///< its format: "FMI 2.0", "C"
  const char *description, *author, *version, *copyright, *license, *tool, *date;  ///< never NULL
  cpl_default_experiment experiment;
  const cpl_variable* vars;
  int32_t n_vars;
  const cpl_array* arrays;
  int32_t n_arrays;
  const int32_t* states;       ///< variable index of each continuous state; -1: hidden
  const int32_t* derivatives;  ///< variable index of each derivative
  int32_t n_states;
  int32_t n_indicators;
  int32_t n_constraints;  ///< maximum number that is active at a time
  /// Of the DAE form that use_residuals selects: variable index of each algebraic variable and of
  /// each residual; -1: hidden. None: the model is an ODE by default, even where it offers the DAE
  /// form.
  const int32_t* algebraics;
  const int32_t* residuals;
  int32_t n_algebraics;
  /// Dependencies in that form: derivatives, and residuals instead of outputs. Nullable: everything
  /// depends on everything.
  const cpl_structure* residual_structure;
  /// Residuals before index reduction, which are the constraints.
  const cpl_formulation* formulations;
  const int32_t* formulation_vars;  ///< variable index of each
  int32_t n_formulations;
  const char* form_error;  ///< why the DAE form cannot be used although it exists. Nullable.
  cpl_structure structure;
  const cpl_unit* units;
  int32_t n_units;
  const cpl_type_def* types;
  int32_t n_types;
  const void* names;  ///< private: name lookup
} cpl_description;

/// The index of a variable; -1: there is none of that name.
CPL_API int32_t cpl_find_variable(const cpl_description* desc, const char* name);

/// Like cpl_find_variable, but fails with a message that suggests similar names.
CPL_API cpl_status cpl_require_variable(cpl_context* ctx, const cpl_description* desc,
                                        const char* name, int32_t* out);

//------------------------------------ component ------------------------------------

/// Settings of the run that a component gets before it is initialised.
typedef struct cpl_setup {
  size_t size;  ///< set by cpl_default_setup()
  double start_time;
  bool has_stop_time;
  double stop_time;
  bool has_tolerance;
  double tolerance;  ///< relative; for steppers that control their own error
} cpl_setup;

/// A start value or parameter: "1.2", "true", an item of an Enumeration, a text; a number may be
/// followed by a unit of the model ("30 deg") and is converted.
typedef struct cpl_start {
  const char* name;
  const char* value;
} cpl_start;

typedef struct cpl_component cpl_component;

/// The value of a Binary.
typedef struct cpl_binary {
  const uint8_t* data;  ///< Nullable when size is 0
  size_t size;
} cpl_binary;

/// A saved state. Made by save, used by restore any number of times, released by forget.
typedef struct cpl_snapshot {
  void* data;  ///< private to the component; NULL: nothing saved yet (save makes it, or reuses it)
} cpl_snapshot;

/// A number that a component counts or measures, such as its steps.
typedef struct cpl_counter {
  const char* name;  ///< "rhs_evals", ...
  const char* unit;  ///< "s"; "": none
  double value;
  bool maximum;  ///< of several components together: the largest value instead of the sum
} cpl_counter;

enum { CPL_MAX_COUNTERS = 32 };

/// What a component reports of itself or of one of its children. The layout is fixed: new facts
/// become counters.
typedef struct cpl_inspection {
  const char* kind;  ///< cpl_component_ops.kind
  const char* name;  ///< of the instance
  const char* role;  ///< of a child in its composer: "rolls back"; of a master: its algorithm; ""
  cpl_component* component;  ///< the inspected one; NULL: it is in another process
  void* self;                ///< private to the implementation of this kind
  int32_t n_children;        ///< components that it is made of
  int32_t n_counters;
  cpl_counter counters[CPL_MAX_COUNTERS];  ///< of a child: those that its composer keeps of it
} cpl_inspection;

/// Operations common to models and steppers.
/// Order: [set starts] setup, enter_init, [set inputs, get], exit_init, ... , terminate, destroy.
/// Failures are recorded in the component's context.
typedef struct cpl_component_ops {
  size_t size;
  const char* kind;  ///< "fmi2-me", "c", "integrate", ...
  // required
  void (*destroy)(cpl_component* c);  // accepts NULL
  cpl_status (*setup)(cpl_component* c, const cpl_setup* setup);
  cpl_status (*enter_init)(cpl_component* c);
  cpl_status (*exit_init)(cpl_component* c);
  cpl_status (*terminate)(cpl_component* c);
  cpl_status (*reset)(cpl_component* c);  // back to before setup
  // values by reference (cpl_variable.ref); Integer, Boolean, Enumeration, Clock are integers
  cpl_status (*get_real)(cpl_component* c, const uint32_t* refs, size_t n, double* values);
  cpl_status (*set_real)(cpl_component* c, const uint32_t* refs, size_t n, const double* values);
  cpl_status (*get_integer)(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                            int64_t* values);
  cpl_status (*set_integer)(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                            const int64_t* values);
  // strings are borrowed until the next call of this component
  cpl_status (*get_string)(cpl_component* c, const uint32_t* refs, size_t n, const char** values);
  cpl_status (*set_string)(cpl_component* c, const uint32_t* refs, size_t n,
                           const char* const* values);
  // optional: NULL means "cannot"
  /// Bytes are borrowed until the next call of this component.
  cpl_status (*get_binary)(cpl_component* c, const uint32_t* refs, size_t n, cpl_binary* values);
  cpl_status (*set_binary)(cpl_component* c, const uint32_t* refs, size_t n,
                           const cpl_binary* values);
  cpl_status (*save)(cpl_component* c, cpl_snapshot* snapshot);  // save, restore and forget
  cpl_status (*restore)(cpl_component* c, const cpl_snapshot* snapshot);  // come together
  void (*forget)(cpl_component* c, cpl_snapshot* snapshot);
  /// Convert a saved state to bytes, borrowed until the next call, and back. Bytes are not trusted:
  /// CPL_ERR_INPUT leaves the component and the snapshot unchanged. The component that reads them
  /// may be another one, in another process, that was built alike and need not be initialised.
  cpl_status (*serialize)(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
  cpl_status (*deserialize)(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot);
  /// Change of the unknowns (derivatives, outputs, and cpl_variable.inner_output) when the knowns
  /// (states and continuous inputs) change by seed, at the present point. With
  /// can.parameter_directions Reals that are constant between events are knowns, too: each changes
  /// by its own seed, also where the model, or a coupling, computes it from others at events.
  cpl_status (*directional)(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                            const uint32_t* knowns, size_t n_knowns, const double* seed,
                            double* sensitivity);
  /// Add what is known to `out`, which has the kind, the name and the component itself so far.
  /// child: -1: the component; otherwise one of its children: n_children is set in any case, and
  /// nothing else where there is no such child. A proxy calls this operation of the
  /// component it represents. NULL: there are neither counters nor children.
  cpl_status (*inspect)(const cpl_component* c, int32_t child, cpl_inspection* out);
  /// What a snapshot leaves out and a continued run depends on, such as the history of a solver, as
  /// bytes: together with a snapshot of the same instant it continues with the same bits as if
  /// nothing had been saved. get_history changes nothing; set_history is called when the snapshot
  /// has been saved or restored. *complete: false where something has no history; the bytes are a
  /// text then that names it. NULL, both: a model leaves out nothing; a stepper may have left out
  /// anything. Borrowed: *bytes until the next call of this component.
  cpl_status (*get_history)(cpl_component* c, cpl_binary* bytes, bool* complete);
  cpl_status (*set_history)(cpl_component* c, const cpl_binary* bytes);
} cpl_component_ops;

/// The head of every model and stepper.
struct cpl_component {
  const cpl_component_ops* ops;
  const cpl_description* desc;
  cpl_context* ctx;
  const char* name;  ///< of the instance, for messages
  cpl_capabilities can;
};

//------------------------------------ model ------------------------------------

/// The result of an event update.
typedef struct cpl_event_info {
  bool again;              ///< another update is needed at this time
  bool terminate;          ///< the model requests the end of the run
  bool states_changed;     ///< values of states: read them
  bool nominals_changed;   ///< read them
  bool structure_changed;  ///< base.desc may be another one: see cpl_model_ops.structure
  double next_time;        ///< next time event; INFINITY: none
  int32_t stop;            ///< with terminate: number of the request, from 1; 0: it has none
} cpl_event_info;

/// A kink: a time at which a slope jumps and no value does. It is no event; a solver ends a step
/// there.
typedef struct cpl_break {
  double time;  ///< INFINITY: no kink is relevant at the given relative tolerance
  double size;  ///< error of a step across it, relative to the range of the value
} cpl_break;

typedef struct cpl_model cpl_model;

/// Where a variable of a composed component is found.
typedef struct cpl_route {
  int32_t component;  ///< its number, e.g. of a subsystem
  uint32_t ref;       ///< in that component
} cpl_route;

/// A model split into subsystems, which do not influence each other.
typedef struct cpl_subsystems {
  cpl_model** models;
  int32_t n;
  /// The variable with reference r is refs[first[r]] to refs[first[r + 1] - 1]: one of them is
  /// read, all are set (a parameter that several subsystems use).
  const int32_t* first;
  const cpl_route* refs;
  uint32_t n_refs;
  void* starter;  ///< private to models of the library. Nullable
} cpl_subsystems;

/// Constraints as a border of the linear system of Newton's method: one row and one unknown per
/// constraint after those of the model, solved by one factorisation. With A the model's own system,
///     [ A   gamma B ] [ dx ]   [ r ]
///     [ C           ] [ dm ] = [ c ]
typedef struct cpl_border {
  size_t n;               ///< constraints
  size_t n_shaped;        ///< number of constraints with entries, which come first
  const int32_t* first;   ///< n_shaped + 1: where each begins in the arrays below
  const int32_t* column;  ///< the state of each entry
  const double* rows;     ///< C
  const double* columns;  ///< B
  const bool* taken;      ///< n: constraints in use; the row of the others is dm = c
} cpl_border;

/// The linear system of Newton's method, (I - gamma J) dx = r, with J the Jacobian of the
/// derivatives at the present point.
typedef struct cpl_newton_ops {
  size_t size;
  // required
  /// Factorise it (`fresh`: with a new J); then it is solved any number of times.
  cpl_status (*setup)(cpl_model* m, double gamma, bool fresh);
  cpl_status (*solve)(cpl_model* m, const double* r, double* dx);
  // optional
  /// Add constraints to both from here on; their vectors then have n more values. The arrays of b
  /// are borrowed until the next call. b NULL: the rows are dm = c until it is set again.
  cpl_status (*border)(cpl_model* m, const cpl_border* b);
} cpl_newton_ops;

/// Constraints 0 = c(t, x, u), which the exact solution satisfies by itself.
typedef struct cpl_constraint_ops {
  size_t size;
  // required
  /// The number of active constraints; changes at events only.
  cpl_status (*count)(cpl_model* m, size_t* n);
  // optional
  /// Their residuals at the present point; the arrays here and below have room for the
  /// description's n_constraints.
  cpl_status (*get)(cpl_model* m, double* c);
  /// dc/dx at the present point, row after row. NULL: differences are used.
  cpl_status (*jacobian)(cpl_model* m, double* out);
  /// The sparsity pattern of dc/dx: active constraint i depends on the states column[first[i]] to
  /// column[first[i + 1] - 1]. The arrays are valid until count is called again. Required with
  /// entries; both are used instead of jacobian.
  cpl_status (*pattern)(cpl_model* m, const int32_t** first, const int32_t** column);
  /// The entries of dc/dx at the present point, in the order of the pattern.
  cpl_status (*entries)(cpl_model* m, double* entries);
  /// Projection by the model itself: the change of the states that leads from the present point
  /// onto the constraints; nothing is set. CPL_RETRY: not found within `most` iterations.
  cpl_status (*projection)(cpl_model* m, double tolerance, size_t most, double* change);
  /// One iteration of such a projection.
  cpl_status (*projection_step)(cpl_model* m, double* change);
  /// Write a name of an active constraint into `out`, for messages.
  void (*name)(const cpl_model* m, size_t constraint, char* out, size_t size);
} cpl_constraint_ops;

/// The model as a differential-algebraic system, x' = f(t, x, z) and 0 = g(t, x, z), with as many
/// residuals g as algebraic variables z. All are required.
typedef struct cpl_dae_ops {
  size_t size;
  /// Select that form, before setup. *n gets the number of algebraic variables; 0: the model has no
  /// such form and is unchanged. From here on derivatives, outputs, indicators and constraints are
  /// functions of the z that were set, and the Newton system, if any, includes z:
  /// (I - gamma f_x) dx - gamma f_z dz = r, g_x dx + g_z dz = s, where s follows r and dz follows
  /// dx in the vectors; gamma 0 gives a system for z alone.
  cpl_status (*use_residuals)(cpl_model* m, size_t* n);
  cpl_status (*set_algebraics)(cpl_model* m, const double* z);
  /// The model's values after initialisation or an event, consistent or a guess.
  cpl_status (*get_algebraics)(cpl_model* m, double* z);
  cpl_status (*get_algebraic_nominals)(cpl_model* m, double* nominals);
  cpl_status (*get_residuals)(cpl_model* m, double* g);
} cpl_dae_ops;

/// Several models of one kind at one time, for cpl_model_ops.evaluate. Values of the models follow
/// each other: those of model i are first[i] to first[i + 1] - 1.
typedef struct cpl_evaluation {
  double t;
  const double* x;         ///< states of all models; NULL: time and states have been set
  const uint32_t* inputs;  ///< references of Reals to be set. Nullable: none
  const double* u;
  const uint32_t* outputs;  ///< references of Reals to be got. Nullable: none
  double* y;
  const int32_t* first;  ///< in inputs or outputs, of which one is given
  double* dx;            ///< receives the derivatives of all models. Nullable: not needed
} cpl_evaluation;

/// Directional derivatives of several models of one kind at their present points, for
/// cpl_model_ops.directions.
typedef struct cpl_directions {
  /// The changes of model i begin at first_seed[i]: those of its states, then those of its inputs
  /// other than Strings, in the order of the description; 0: no change, or none that is smooth.
  const double* seed;
  const int32_t* first_seed;
  /// References of derivatives and outputs: those of model i are first[i] to first[i + 1] - 1.
  /// NULL: the derivatives of all states, which for model i begin at first[i] in the result.
  const uint32_t* unknowns;
  const int32_t* first;
  double* sensitivity;  ///< receives the changes of the unknowns
} cpl_directions;

/// Operations of a model. After exit_init it is in event mode; enter_continuous switches to
/// continuous time, enter_event back. The caller sets time, states and inputs, then gets
/// derivatives, outputs and indicators; a model caches values whose arguments have not changed.
typedef struct cpl_model_ops {
  size_t size;
  // required
  cpl_status (*enter_event)(cpl_model* m);
  /// One event update; repeated until info->again is false in all models.
  cpl_status (*event_update)(cpl_model* m, cpl_event_info* info);
  cpl_status (*enter_continuous)(cpl_model* m);
  cpl_status (*set_time)(cpl_model* m, double t);
  cpl_status (*set_states)(cpl_model* m, const double* x);
  cpl_status (*get_states)(cpl_model* m, double* x);
  cpl_status (*get_nominals)(cpl_model* m, double* nominals);
  cpl_status (*get_derivatives)(cpl_model* m, double* dx);
  cpl_status (*get_indicators)(cpl_model* m, double* z);
  /// Called after every accepted step, with the model at the end of it.
  cpl_status (*completed_step)(cpl_model* m, bool* enter_event, bool* terminate);
  // optional
  const cpl_newton_ops* newton;
  const cpl_constraint_ops* constraints;
  const cpl_dae_ops* dae;
  /// out = J v at the present point, without forming J; not in the form that dae selects.
  cpl_status (*jacobian_times)(cpl_model* m, const double* v, double* out);
  /// Write a name of an indicator into `out`, for messages. NULL: indicators are only numbered.
  void (*name_indicator)(const cpl_model* m, size_t indicator, char* out, size_t size);
  /// The next kink of derivatives after t.
  cpl_break (*next_break)(cpl_model* m, double t, double tolerance);
  /// Split the model into subsystems before its setup; they take over start values that were set.
  /// n < 2: it has a single subsystem and is unchanged. Otherwise the only call allowed from here
  /// on is destroy, after the caller has destroyed the subsystems, which it owns; the arrays and
  /// the description live as long as the model.
  cpl_status (*split)(cpl_model* m, cpl_subsystems* out);
  /// Of a model of variable structure: its i-th possible description, so that callers can prepare
  /// for it; NULL after the last one, and for i = 0 when there are too many. Descriptions have the
  /// same variables with the same references; states, indicators and dependencies differ. They live
  /// as long as the model, one per structure. base.desc is that of the present structure: it
  /// changes only in event_update (with structure_changed), setup, reset and restore.
  const cpl_description* (*structure)(cpl_model* m, int32_t i);
  /// For each of several models in continuous time that have this operation and the same
  /// base.desc: what set_time, set_states, set_real, get_real and get_derivatives do, in this
  /// order. Stops at the first model that fails or asks for another point; *done is its number, or
  /// n.
  cpl_status (*evaluate)(cpl_model* const* models, size_t n, const cpl_evaluation* e, size_t* done);
  /// What directional does, for each of several models after initialisation that have this
  /// operation and the same base.desc, in which no states and inputs are aliases. Stops at the
  /// first model that fails or asks for another point.
  cpl_status (*directions)(cpl_model* const* models, size_t n, const cpl_directions* d);
} cpl_model_ops;

struct cpl_model {
  cpl_component base;
  const cpl_model_ops* ops;
};

//------------------------------------ stepper ------------------------------------

/// An input over a step, as a function of time between communication points.
typedef struct cpl_curve {
  /// The value at t; valid from `from` to `until`. Nullable: the polynomial below.
  double (*value)(const void* user, double t);
  const void* user;
  double from;
  int32_t order;          ///< of the polynomial: 0 constant, 1 linear, ...
  double coefficient[4];  ///< value(t) = sum coefficient[k] * (t - from)^k
  /// The next kink after t. Nullable: the value is smooth.
  cpl_break (*next_break)(const void* user, double t, double tolerance);
} cpl_curve;

typedef enum cpl_step_end {
  CPL_STEP_DONE,       ///< reached t_end
  CPL_STEP_EVENT,      ///< stopped at an event before t_end; call step() again to continue
  CPL_STEP_REFUSED,    ///< stopped before t_end because the step was too long
  CPL_STEP_TERMINATE,  ///< the model ended the simulation here
} cpl_step_end;

typedef struct cpl_step_result {
  cpl_step_end end;
  double time;  ///< reached; outputs belong to it
  /// An event update took place where the step began; one of size zero ends with its outputs.
  bool event_handled;
  int32_t stop;  ///< CPL_STEP_TERMINATE: cpl_event_info.stop of the request
  /// After a step of size zero that ended with CPL_STEP_EVENT: the event iteration has not
  /// converged, and another update at the same time is needed. Outputs are those of this update,
  /// and inputs may be set before the next one; a step to a later time makes all remaining updates.
  bool again;
} cpl_step_result;

typedef struct cpl_stepper cpl_stepper;

typedef struct cpl_stepper_ops {
  size_t size;
  // required
  /// Advance from the present time to t_end. Inputs are valid up to t_limit >= t_end: a stepper
  /// with dense output may integrate that far ahead; others ignore it.
  cpl_status (*step)(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result);
  // optional
  /// Set the curve of an input for the following steps. NULL: inputs are constant (set_real).
  cpl_status (*set_curve)(cpl_stepper* s, uint32_t ref, const cpl_curve* curve);
  /// The largest step that will be accepted from here; INFINITY: any; NAN: unknown.
  cpl_status (*max_step)(cpl_stepper* s, double* h);
  /// Integrate ahead towards t_end, at most to t_limit, without changing the outputs: from here on
  /// steps up to *until need no further integration and meet no event. *until may be the present
  /// time when an event is due. Where t_end lies before the time reached, conditions are evaluated
  /// there: two changes of sign within the interval, which its ends do not show, may make *until
  /// smaller.
  cpl_status (*ahead)(cpl_stepper* s, double t_end, double t_limit, double* until);
  /// Write continuous states between steps, by their number in the description; the next step
  /// begins with an event update.
  cpl_status (*set_states)(cpl_stepper* s, const int32_t* states, size_t n, const double* values);
  /// Whether a step of size zero is due, because inputs set since the last step cause an event.
  /// *margin: how far the event indicators are past their change of sign, in their own units;
  /// negative: none has changed; NAN: unknown, or no indicator depends on the inputs.
  cpl_status (*wants_update)(cpl_stepper* s, bool* wanted, double* margin);
  /// For a stepper that can step to any time although some of its values are updated at times of
  /// their own: the time of a value, and that of its next update (INFINITY: unknown). NULL: all
  /// values belong to the time reached.
  cpl_status (*value_time)(cpl_stepper* s, uint32_t ref, double* since, double* next);
  /// The next time at which outputs have a kink that no input causes, such as that of a table;
  /// INFINITY: none is known.
  double (*next_break)(cpl_stepper* s, double tolerance);
  /// The derivatives of continuous Real outputs with respect to time, at the time reached; NAN: not
  /// known now. Offered with can.output_derivatives > 0.
  cpl_status (*get_output_derivatives)(cpl_stepper* s, const uint32_t* refs, size_t n,
                                       double* values);
  /// The time of the next time event, the present one if it is due; INFINITY: none is known. *sure:
  /// no event of another kind can come before it.
  cpl_status (*next_event)(cpl_stepper* s, double* time, bool* sure);
  /// The event indicators at the time reached, n_indicators of the description.
  cpl_status (*get_indicators)(cpl_stepper* s, double* z);
} cpl_stepper_ops;

struct cpl_stepper {
  cpl_component base;
  const cpl_stepper_ops* ops;
};

//------------------------------------ source ------------------------------------

typedef struct cpl_source cpl_source;

/// An opened .fmu or a compiled .c: a description and a factory of instances.
typedef struct cpl_source_ops {
  size_t size;
  const char* kind;
  void (*destroy)(cpl_source* src);  // accepts NULL; instances must be gone
  // optional: NULL means "the source has no component of this kind"
  cpl_status (*make_model)(cpl_source* src, const char* name, cpl_model** out);
  cpl_status (*make_stepper)(cpl_source* src, const char* name, cpl_stepper** out);
  /// Create all files that instances need; called before an instance is made in a process of its
  /// own. *keep gets a file descriptor that instances write to, or -1.
  cpl_status (*prepare)(cpl_source* src, int* keep);
} cpl_source_ops;

struct cpl_source {
  const cpl_source_ops* ops;
  const cpl_description* desc;
  cpl_context* ctx;
  const char* path;
  bool once_per_process;  ///< its instances cannot share a process with each other
};

#ifdef __cplusplus
}
#endif
