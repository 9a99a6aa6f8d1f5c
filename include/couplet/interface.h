// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The two interfaces everything is made of: a model gives derivatives and takes no time itself, a
// stepper can be asked to advance to a time. Both are components: they have a description
// (variables, structure, capabilities), a life cycle, and values that are read and written by
// reference.
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

/// How a Real or Integer is stored in the model, where that is narrower or wider than the basic
/// type's own form (double, and 32 bits with a sign). Values are handed over as double and int64_t
/// all the same; those of UInt64 by their bits.
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
  int32_t
      display_of;  ///< a display unit of that unit (then value = factor * of + offset); -1: a unit
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
  uint32_t ref;         ///< reference for get and set: aliases share it; one space per basic type
  uint8_t type;         ///< cpl_type
  uint8_t causality;    ///< cpl_causality
  uint8_t variability;  ///< cpl_variability
  uint8_t initial;      ///< cpl_initial
  uint8_t width;        ///< cpl_width
  bool structural;      ///< a parameter that sizes of arrays depend on: fixed once opened
  bool has_start;
  bool has_nominal;
  bool can_set_several_times;  ///< false: canHandleMultipleSetPerTimeInstant="false"
  bool inner_output;       ///< an output of a part of an aggregate: recorded unless told otherwise
  bool reinit;             ///< the model may reinitialise this state at events
  bool relative_quantity;  ///< a difference: the offsets of units do not apply
  bool unbounded;          ///< may grow without limit (an angle): for error control
  bool mode_dependent;     ///< there in some structures of the model only; else it is NaN
  int32_t unit;            ///< index in units; -1: none
  int32_t display_unit;    ///< index in units; -1: none
  int32_t declared_type;   ///< index in types; -1: none
  int32_t derivative_of;   ///< variable whose derivative this is; -1: none
  int32_t alias_of;        ///< the first variable with the same type and ref; -1: this is the first
  int32_t array;           ///< an element of the array with this number, from 1; 0: a scalar
  int32_t line;            ///< in the description file; 0: not known
  double start, min, max;  ///< of all but Strings; min -INFINITY, max INFINITY when not given
  double nominal;          ///< 1 when not given
  const char* start_text;  ///< of a String; of a Binary in hexadecimal digits; Nullable
  const char* quantity;    ///< "Torque"; Nullable
} cpl_variable;

/// An array. Its elements are variables of their own, named x[1,2], next to each other, the last
/// index running fastest.
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

/// One row of the structure: an output, derivative or initial unknown, and what it depends on.
typedef struct cpl_unknown {
  int32_t var;
  int32_t first;  ///< in deps and kinds
  int32_t count;  ///< -1: not known, depends on all
} cpl_unknown;

/// Where the structure of a model comes from.
typedef enum cpl_origin {
  CPL_ORIGIN_ASSUMED,   ///< nothing is known: everything depends on everything
  CPL_ORIGIN_DECLARED,  ///< by the model or its FMU
  CPL_ORIGIN_DETECTED,  ///< by evaluating the model at many points
} cpl_origin;

CPL_API const char* cpl_origin_name(cpl_origin origin);  ///< "assumed", "declared", "detected"

/// Who depends on whom. Derivatives are in the order of the states.
typedef struct cpl_structure {
  const cpl_unknown *outputs, *derivatives, *initial;
  int32_t n_outputs, n_derivatives, n_initial;
  const int32_t* deps;   ///< variable indices
  const uint8_t* kinds;  ///< cpl_dependency_kind, one per dep
  cpl_origin origin;     ///< of what is known; rows whose count is -1 are assumed in any case
} cpl_structure;

/// What a component can do, as data. A composed one has the weakest of its parts.
typedef struct cpl_capabilities {
  bool directional;            ///< directional derivatives
  bool save_restore;           ///< rolls back
  bool serialize;              ///< saved states become bytes
  bool once_per_process;       ///< may be instantiated only once in a process
  bool needs_tool;             ///< needs an execution tool
  bool completed_step;         ///< wants to hear of completed steps (models)
  bool variable_step;          ///< the step size may vary (steppers, as the rest)
  bool zero_step;              ///< a step of size zero is an event update
  bool stops_early;            ///< may stop at events before the end of a step
  bool predicts;               ///< knows the largest step it will accept
  bool get_after_set;          ///< outputs follow inputs without a step
  bool dense_output;           ///< outputs inside the last step
  bool samples;                ///< takes inputs and gives outputs only at events, once at a time
  int32_t input_derivatives;   ///< highest order of input derivatives it interpolates with
  int32_t output_derivatives;  ///< highest order of output derivatives it gives
} cpl_capabilities;

typedef struct cpl_default_experiment {
  bool has_start, has_stop, has_tolerance, has_step;
  double start, stop, tolerance, step;
} cpl_default_experiment;

/// All that is known before a component is instantiated. Immutable, shared by all instances.
typedef struct cpl_description {
  const char* name;  ///< of the model
  const char* kind;  ///< where it comes from: "FMI 2.0", "C"
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
  int32_t n_constraints;  ///< most that can be active at a time
  /// Of the form with residuals, where use_residuals turns to it: variable index of each algebraic
  /// variable and of each residual; -1: hidden. None: the model is meant to be an ODE, even when
  /// it offers the other form.
  const int32_t* algebraics;
  const int32_t* residuals;
  int32_t n_algebraics;
  /// Who depends on whom in that form: derivatives, and residuals in the place of outputs.
  /// Nullable: everything on all.
  const cpl_structure* residual_structure;
  /// Residuals before they were differentiated: they are the constraints then.
  const cpl_formulation* formulations;
  const int32_t* formulation_vars;  ///< variable index of each
  int32_t n_formulations;
  const char* form_error;  ///< why that form cannot be used although there is one. Nullable.
  cpl_structure structure;
  const cpl_unit* units;
  int32_t n_units;
  const cpl_type_def* types;
  int32_t n_types;
  const void* names;  ///< private: name lookup
} cpl_description;

/// The index of a variable; -1: there is none of that name.
CPL_API int32_t cpl_find_variable(const cpl_description* desc, const char* name);

/// Like cpl_find_variable, but fails with a message that offers the nearest names.
CPL_API cpl_status cpl_require_variable(cpl_context* ctx, const cpl_description* desc,
                                        const char* name, int32_t* out);

//------------------------------------ component ------------------------------------

/// What a component is told about the run before it is initialised.
typedef struct cpl_setup {
  double start_time;
  bool has_stop_time;
  double stop_time;
  bool has_tolerance;
  double tolerance;  ///< relative; for steppers that control their own error
} cpl_setup;

/// A start value or parameter: "1.2", "true", an item of an Enumeration, a text; a number may be
/// followed by a unit the model knows ("30 deg") and is converted.
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

/// Operations common to models and steppers.
/// Order: [set starts] setup, enter_init, [set inputs, get], exit_init, ... , terminate, destroy.
/// Failures are recorded in the component's context.
typedef struct cpl_component_ops {
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
  /// A saved state as bytes, borrowed until the next call; and a saved state made of such bytes.
  cpl_status (*serialize)(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
  cpl_status (*deserialize)(cpl_component* c, const cpl_binary* bytes, cpl_snapshot* snapshot);
  cpl_status (*directional)(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                            const uint32_t* knowns, size_t n_knowns, const double* seed,
                            double* sensitivity);
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

/// What an event update changed.
typedef struct cpl_event_info {
  bool again;              ///< another update is wanted at this time
  bool terminate;          ///< the model wants to stop
  bool states_changed;     ///< values of states: read them
  bool nominals_changed;   ///< read them
  bool structure_changed;  ///< base.desc may be another one: see cpl_model_ops.structure
  double next_time;        ///< next time event; INFINITY: none
  int32_t stop;            ///< with terminate: which wish it was, from 1; 0: it has no number
} cpl_event_info;

/// A kink: a time where a slope jumps, but no value. Nothing happens there, but a solver ends a
/// step.
typedef struct cpl_break {
  double time;  ///< INFINITY: there is none that matters for the relative tolerance asked with
  double size;  ///< what is lost by mode_dependent over it, relative to the range of the value
} cpl_break;

typedef struct cpl_model cpl_model;

/// Where a variable of a model is in one of its pieces.
typedef struct cpl_subsystem_ref {
  int32_t piece;
  uint32_t ref;
} cpl_subsystem_ref;

/// A model taken apart into models that do not influence each other.
typedef struct cpl_subsystems {
  cpl_model** models;
  int32_t n;
  /// The variable with reference r is what refs[first[r]] to refs[first[r + 1] - 1] name: one
  /// of them is read, all are set (a parameter that several pieces use).
  const int32_t* first;
  const cpl_subsystem_ref* refs;
  uint32_t n_refs;
} cpl_subsystems;

/// Constraints in the linear system of Newton's method: as many rows and unknowns behind those of
/// the model, so that one factorisation serves all. With A the model's own system,
///     [ A   gamma B ] [ dx ]   [ r ]
///     [ C           ] [ dm ] = [ c ]
typedef struct cpl_border {
  size_t n;               ///< constraints
  size_t n_shaped;        ///< the first so many have entries
  const int32_t* first;   ///< n_shaped + 1: where each begins in the arrays below
  const int32_t* column;  ///< the state an entry belongs to
  const double* rows;     ///< C
  const double* columns;  ///< B
  const bool* taken;      ///< n: of others the row is dm = c
} cpl_border;

/// Operations of a model. After exit_init it is in event mode; enter_continuous leads to continuous
/// time, enter_event back. Times, states and inputs are set, then derivatives, outputs and
/// indicators are asked for; a model caches what has not changed.
typedef struct cpl_model_ops {
  // required
  cpl_status (*enter_event)(cpl_model* m);
  /// One round of the event iteration: call it until info->again is false everywhere.
  cpl_status (*event_update)(cpl_model* m, cpl_event_info* info);
  cpl_status (*enter_continuous)(cpl_model* m);
  cpl_status (*set_time)(cpl_model* m, double t);
  cpl_status (*set_states)(cpl_model* m, const double* x);
  cpl_status (*get_states)(cpl_model* m, double* x);
  cpl_status (*get_nominals)(cpl_model* m, double* nominals);
  cpl_status (*get_derivatives)(cpl_model* m, double* dx);
  cpl_status (*get_indicators)(cpl_model* m, double* z);
  /// After every accepted step, with the model set to its end.
  cpl_status (*completed_step)(cpl_model* m, bool* enter_event, bool* terminate);
  // optional
  /// Who an indicator belongs to, for messages: writes text into `out`. NULL: they are only
  /// numbered.
  void (*name_indicator)(const cpl_model* m, size_t indicator, char* out, size_t size);
  /// Take the model apart, before its setup: start values that were set go along. n < 2: it is all
  /// of one piece and stays as it is. Otherwise it must only be destroyed from here on, after its
  /// pieces, which the caller owns; the arrays live as long as it does, and so does its
  /// description.
  cpl_status (*split)(cpl_model* m, cpl_subsystems* out);
  /// A model of variable structure: the descriptions it can have, one after the other, so that who
  /// uses it can prepare; NULL behind the last one, and at once when there are too many. They have
  /// the same variables with the same references; states, indicators and dependencies differ. They
  /// live as long as the model, and one structure has always the same one. base.desc is that of the
  /// present structure: it changes in event_update (which says so), setup, reset and restore only.
  const cpl_description* (*structure)(cpl_model* m, int32_t i);
  // optional: both or none
  /// The linear system of Newton's method, (I - gamma J) dx = r with J the derivatives by the
  /// states at the present point: prepare it (`fresh`: with a new J), then solve it any number of
  /// times.
  cpl_status (*newton_setup)(cpl_model* m, double gamma, bool fresh);
  cpl_status (*newton_solve)(cpl_model* m, const double* r, double* dx);
  // optional, with these two
  /// Constraints for both from here on, whose vectors then have n more values; what b points to is
  /// borrowed until the next call. b NULL: the rows are dm = c until it is set again.
  cpl_status (*newton_border)(cpl_model* m, const cpl_border* b);
  // optional
  /// out = J v at the present point, without J.
  cpl_status (*jacobian_times)(cpl_model* m, const double* v, double* out);
  // optional: constraints 0 = c(t, x, u), which the exact solution satisfies by itself
  /// How many are active; changes at events only. Required with any of those below.
  cpl_status (*count_constraints)(cpl_model* m, size_t* n);
  /// Their residuals at the present point; the arrays here and below have room for the
  /// description's n_constraints.
  cpl_status (*get_constraints)(cpl_model* m, double* c);
  /// dc/dx at the present point, row after row. NULL: differences are used.
  cpl_status (*constraint_jacobian)(cpl_model* m, double* out);
  /// Where dc/dx may be other than zero: active constraint i depends on the states
  /// column[first[i]] to column[first[i + 1] - 1]. The arrays live until count_constraints is
  /// called again. Comes with constraint_entries, and is used in place of the above.
  cpl_status (*constraint_pattern)(cpl_model* m, const int32_t** first, const int32_t** column);
  /// dc/dx at the present point: those entries only, in that order.
  cpl_status (*constraint_entries)(cpl_model* m, double* entries);
  /// The change of the states that leads from the present point onto the constraints, by the
  /// model's own means; nothing is set. CPL_RETRY: there is none within `most` iterations.
  cpl_status (*projection)(cpl_model* m, double tolerance, size_t most, double* change);
  /// One step of such a projection: a change that leads closer.
  cpl_status (*projection_step)(cpl_model* m, double* change);
  // optional: all five or none: the model as a differential-algebraic system, x' = f(t, x, z) and
  // 0 = g(t, x, z), with as many residuals g as algebraic variables z
  /// Turn to that form, before setup. *n gets the number of algebraic variables; 0: there is
  /// nothing to turn and the model stays as it is. From here on derivatives, outputs, indicators
  /// and constraints follow the z that were set, and newton_setup and newton_solve, where they are
  /// there, are for both: (I - gamma f_x) dx - gamma f_z dz = r, g_x dx + g_z dz = s, where r, s
  /// and dx, dz stand one after the other; gamma 0 makes a system for z alone.
  cpl_status (*use_residuals)(cpl_model* m, size_t* n);
  cpl_status (*set_algebraics)(cpl_model* m, const double* z);
  /// After initialisation or an event: what the model has, consistent or a guess.
  cpl_status (*get_algebraics)(cpl_model* m, double* z);
  cpl_status (*get_algebraic_nominals)(cpl_model* m, double* nominals);
  cpl_status (*get_residuals)(cpl_model* m, double* g);
  /// optional: the next kink of derivatives after t.
  cpl_break (*next_break)(cpl_model* m, double t, double tolerance);
  /// optional: which of the active constraints it is, for messages.
  void (*name_constraint)(const cpl_model* m, size_t constraint, char* out, size_t size);
} cpl_model_ops;

struct cpl_model {
  cpl_component base;
  const cpl_model_ops* ops;
};

//------------------------------------ stepper ------------------------------------

/// An input over a step: a function of time between the communication points.
typedef struct cpl_curve {
  /// The value at t; valid from `from` to `until`. Nullable: the polynomial below.
  double (*value)(const void* user, double t);
  const void* user;
  double from;
  int32_t order;          ///< of the polynomial: 0 held, 1 linear, ...
  double coefficient[4];  ///< value(t) = sum coefficient[k] * (t - from)^k
  /// The next kink after t. Nullable: the value is smooth.
  cpl_break (*next_break)(const void* user, double t, double tolerance);
} cpl_curve;

typedef enum cpl_step_end {
  CPL_STEP_DONE,       ///< reached the time asked for
  CPL_STEP_EVENT,      ///< stopped at an event before it; ask again to go on
  CPL_STEP_REFUSED,    ///< stopped before it because the step was too long
  CPL_STEP_TERMINATE,  ///< the model ended the simulation here
} cpl_step_end;

typedef struct cpl_step_result {
  cpl_step_end end;
  double time;         ///< reached; outputs belong to it
  bool event_handled;  ///< an event update took place at `time`; outputs are those after it
  int32_t stop;        ///< CPL_STEP_TERMINATE: cpl_event_info.stop of the wish to end
  /// After a step of size zero that ended with CPL_STEP_EVENT: the event is not over, the stepper
  /// asks for another update at the same time. Outputs are those of this update, and inputs may be
  /// set before the next one; a step to a later time makes all updates that are left.
  bool again;
} cpl_step_result;

typedef struct cpl_stepper cpl_stepper;

typedef struct cpl_stepper_ops {
  // required
  /// From the present time to t_end. Inputs are known up to t_limit >= t_end: a stepper that has
  /// dense output may look ahead so far; others ignore it.
  cpl_status (*step)(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result);
  // optional
  /// The curve of an input for the steps that follow. NULL: inputs are held (set_real).
  cpl_status (*set_curve)(cpl_stepper* s, uint32_t ref, const cpl_curve* curve);
  /// The largest step that will be accepted from here; INFINITY: any; NAN: it cannot tell.
  cpl_status (*max_step)(cpl_stepper* s, double* h);
  /// Work ahead without moving the outputs, not past t_limit: from here on steps up to *until need
  /// no further work, and nothing stops them before it. *until may be where it is: something is
  /// due. When it is called with an earlier t_limit than it has come to, conditions are compared
  /// there: two changes that show at neither end of its work may make *until smaller.
  cpl_status (*ahead)(cpl_stepper* s, double t_limit, double* until);
  /// Write continuous states between steps, by their number in the description; the next step
  /// begins with an event update.
  cpl_status (*set_states)(cpl_stepper* s, const int32_t* states, size_t n, const double* values);
  /// Whether a step of size zero is due here, because inputs that were given since the last step
  /// make an event. *margin: how far the event indicators are beyond their change, in their own
  /// units; negative: none has changed; NAN: it is not known, or no indicator is concerned.
  cpl_status (*wants_update)(cpl_stepper* s, bool* wanted, double* margin);
  /// For a stepper that can be stepped to any time although some of its values keep points of their
  /// own: the time a value belongs to, and when it is renewed next (INFINITY: not known). NULL: all
  /// values belong to the time reached.
  cpl_status (*value_time)(cpl_stepper* s, uint32_t ref, double* since, double* next);
  /// The next time after the present one at which outputs have a kink by themselves, as those of a
  /// table have, not because of an input; INFINITY: none is known.
  double (*next_break)(cpl_stepper* s, double tolerance);
} cpl_stepper_ops;

struct cpl_stepper {
  cpl_component base;
  const cpl_stepper_ops* ops;
};

//------------------------------------ source ------------------------------------

typedef struct cpl_source cpl_source;

/// An opened .fmu or a compiled .c: a description and a factory of instances.
typedef struct cpl_source_ops {
  const char* kind;
  void (*destroy)(cpl_source* src);  // accepts NULL; instances must be gone
  // optional: NULL means "this kind of component is not in there"
  cpl_status (*make_model)(cpl_source* src, const char* name, cpl_model** out);
  cpl_status (*make_stepper)(cpl_source* src, const char* name, cpl_stepper** out);
  /// Make all files that instances need: called before an instance is made in a process of its
  /// own. *keep gets a descriptor that instances write to, or -1.
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
