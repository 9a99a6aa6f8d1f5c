// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The runtime of an FMU that couplet builds: an instance of its content, and the functions of FMI
// independently of the version; fmi2_*.c and fmi3_*.c add the signatures of the standard. The
// content is a model in C or a whole system: whatever has a description. Model exchange uses a
// model of it, co-simulation a stepper. Nothing is global, so that instances can be used in several
// threads.
// These files are also shipped as sources for model exchange: they need a C compiler, the standard
// FMI headers and nothing else. Co-simulation has CVODE inside and is in the binary only.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"
#include "export/runtime/references.h"

//------------------------------------ content ------------------------------------

/// What the FMU is made of. A binary has one of these: c_model.c (a model in C) or system.c.
typedef struct fmu_content {
  cpl_source* source;  // its description, whose references are the value references, and its models
  const char* guid;    // or instantiation token
  void* self;          // private to the file that opened it
  bool sets_starts;    // models and steppers begin with other values than a reset gives them
} fmu_content;

/// Opens it. Nullable: resources, the path of the FMU's folder of that name.
cpl_status fmu_content_open(cpl_context* ctx, const char* resources, fmu_content* out);
void fmu_content_close(fmu_content* c);  // accepts one that is all zero
/// A stepper of it for co-simulation with this relative tolerance; 0: the content's own.
cpl_status fmu_content_stepper(const fmu_content* c, const char* name, double rtol,
                               cpl_stepper** out);

//------------------------------------ basics ------------------------------------

// Results of functions; the values are those of fmi2Status and fmi3Status.
typedef enum fmu_status { FMU_OK, FMU_WARNING, FMU_DISCARD, FMU_ERROR } fmu_status;

// The states of an instance in the standard's state machine; functions name the states they may be
// called in.
enum {
  FMU_INSTANTIATED = 1,
  FMU_INITIALIZING = 2,
  FMU_EVENT = 4,
  FMU_CONTINUOUS = 8,
  FMU_STEPPED = 16,      // co-simulation: a step is complete
  FMU_STEP_FAILED = 32,  // a step was discarded
  FMU_TERMINATED = 64,
  FMU_FAILED = 128,
  FMU_INTERMEDIATE = 256,  // a callback of the importer during a step
  FMU_RUNNING = FMU_EVENT | FMU_CONTINUOUS | FMU_STEPPED | FMU_STEP_FAILED,
  FMU_ANY = 511,
  FMU_SETTABLE = FMU_INSTANTIATED | FMU_INITIALIZING | FMU_EVENT | FMU_CONTINUOUS | FMU_STEPPED,
  FMU_AT_REST = FMU_ANY & ~FMU_INTERMEDIATE,
};

// The categories of the model description, in its order.
enum { FMU_LOG_EVENTS, FMU_LOG_WARNING, FMU_LOG_DISCARD, FMU_LOG_ERROR, FMU_LOG_ALL, FMU_LOGS };

enum { FMU_ORDERS = 3 };  // of derivatives of inputs

// The importer, as a version of FMI shows it.
typedef struct fmu_host {
  /// Hands a message to the importer.
  void (*send)(const struct fmu_host* host, const char* instance, fmu_status status,
               const char* category, const char* text);
  /// Calls the importer at an event inside a step; true: it requests the end of the step, at
  /// *until, or here when that is not later. Nullable.
  bool (*look_in)(const struct fmu_host* host, double t, bool may_return, double* until);
  void* environment;
  void (*logger)(void);        // of the version's type. Nullable.
  void (*intermediate)(void);  // likewise
} fmu_host;

// A model or stepper, and what keeps it: the instance uses the first of the list, later ones are
// kept as long as there are saved states that only they can restore.
typedef struct fmu_part {
  cpl_model* model;      // for model exchange. Nullable
  cpl_stepper* stepper;  // for co-simulation. Nullable
  double rtol;           // of the stepper, as requested
  bool dae;              // the model has the form with residuals
  size_t n_states;       // saved ones
  struct fmu_part* next;
} fmu_part;

// What the description says of a variable, so that nothing has to be searched.
typedef struct fmu_role {
  int32_t input;       // number of a continuous Real input; -1: it is none
  int32_t derivative;  // of a state: variable of its derivative; -1: it is no state
  bool known;          // a state or Real input: derivatives with respect to it are offered
  bool algebraic;
  bool start;  // can be set before initialisation
} fmu_role;

typedef struct cpl_fmu_instance {
  char* name;
  bool stepping;  // for co-simulation, else for model exchange
  fmu_host host;
  bool log_on[FMU_LOGS];
  unsigned state;  // one of FMU_...
  cpl_context* ctx;
  // the content and its description
  fmu_content content;
  const cpl_description* desc;
  cpli_refs3 refs3;
  int32_t* number_of_ref;  // variable by value reference of all but Strings; -1: none
  uint32_t* kind_of_ref;   // fmu_kind_of() the same; 0: none
  int32_t* string_of_ref;  // the same for Strings
  int32_t* extent;         // by variable: elements in FMI 3.0
  fmu_role* roles;         // by variable
  uint32_t nu;             // continuous Real inputs
  uint32_t* input_refs;
  // the component
  fmu_part* part;
  cpl_model* model;      // that of the part
  cpl_stepper* stepper;  // that of the part
  cpl_setup setup;
  unsigned char* start;  // values set since instantiation or reset, for another component
  size_t start_size, start_cap;
  struct fmu_saved* saved;  // list of saved states
  double time;              // of the model; co-simulation: of the last communication point
  double next_time;         // model exchange: the next time event
  // constraints of model exchange
  bool importer_projects;      // it has called a function of the extension in this run
  bool projection_wanted;      // an event was requested for it
  bool not_projected;          // a projection failed: the importer was told so
  bool ahead;                  // in Event Mode, but the model is in continuous time already
  bool warned_of_differences;  // in place of directional derivatives that fail
  double* slopes;              // sizes of the gradients of n_slopes constraints; Nullable
  size_t n_slopes;
  // values of arrays, by FMI 3.0
  uint32_t* scratch;
  size_t cap_scratch;
  double* indicators;  // scratch
  // configuration, by FMI 3.0
  bool configuring;  // in configuration mode
  bool dae;          // algebraic variables are set from outside
  // co-simulation
  double reached;  // of the last step, successful or not
  // FMU_ORDERS times nu: derivatives of each input where the next step begins, the first one first
  double* input_derivatives;
  double* input_values;  // nu: scratch
  bool* has_curve;       // nu: the stepper has a curve for this input
  bool* has_slope;       // nu: and it is not flat
  bool event_mode;       // the importer handles events
  bool early_return;     // steps may end before the requested time
  bool stop_at_events;   // a step ends at its first event, after the update
  bool leave_events;     // a step ends at its first event, before the update
  bool update_due;       // in event mode: the update of this event is still to be made
  bool end_wanted;       // the model requested the end of the simulation
} fmu;

//------------------------------------ instance ------------------------------------

typedef struct fmu_birth {
  const char *function, *name, *guid;
  bool stepping, logging;
  const char* resources;  // path. Nullable
} fmu_birth;

/// NULL after a failure, which was reported to the host.
fmu* fmu_create(const fmu_birth* birth, const fmu_host* host);
void fmu_destroy(fmu* f);  // accepts NULL

/// The instance when `c` is one and is in one of these states; otherwise NULL and a message.
fmu* fmu_enter(void* c, const char* function, unsigned states);
/// The same for functions of model exchange (`stepping` false) or co-simulation.
fmu* fmu_enter_kind(void* c, const char* function, unsigned states, bool stepping);

/// The component that has the values. NULL: making it failed.
cpl_component* fmu_component(const fmu* f);

CPL_PRINTF(4, 5) void fmu_log(fmu* f, fmu_status status, int category, const char* fmt, ...);
/// Logs and returns FMU_ERROR; the instance stays usable, since nothing was done.
CPL_PRINTF(3, 4) fmu_status fmu_refuse(fmu* f, const char* function, const char* fmt, ...);
/// The result of a call of the model: logged when it is not OK; a failure ends the instance's use.
fmu_status fmu_result(fmu* f, const char* function, cpl_status st);

fmu_status fmu_set_logging(fmu* f, const char* function, bool on, size_t n,
                           const char* const names[]);
fmu_status fmu_set_up(fmu* f, const char* function, const cpl_setup* setup);
fmu_status fmu_enter_init(fmu* f, const char* function);
fmu_status fmu_exit_init(fmu* f, const char* function);
fmu_status fmu_terminate(fmu* f, const char* function);
fmu_status fmu_reset(fmu* f, const char* function);
/// The end of configuration mode.
fmu_status fmu_configured(fmu* f, const char* function);

/// Another model or stepper with the values that were set; the old one stays as long as it has
/// saved states.
cpl_status fmu_remake(fmu* f);
/// Uses another part of the list; one without saved states that is no longer used goes.
void fmu_use(fmu* f, fmu_part* part);
/// A part has one saved state less.
void fmu_release(fmu* f, fmu_part* part);

//------------------------------------ start values ------------------------------------

// An access to values of one type.
typedef struct fmu_values {
  cpl_type type;
  const uint32_t* refs;
  size_t n;
  const void* values;  // double, int64_t, const char* or cpl_binary
} fmu_values;

/// Keeps values that were set before initialisation.
cpl_status fmu_keep_start(fmu* f, const fmu_values* v);
/// Sets all that were kept.
cpl_status fmu_set_start(fmu* f);
/// Replaces them by those of a saved state. Returns: CPL_ERR_INPUT: the bytes are no such values.
cpl_status fmu_replace_start(fmu* f, const unsigned char* bytes, size_t size);

//------------------------------------ values ------------------------------------

/// FMI 3.0: the number of elements of a variable; 0: no variable has this value reference.
uint32_t fmu_extent3(const fmu* f, uint32_t ref);

// The types of integers in memory.
typedef enum fmu_width {
  FMU_INT8,
  FMU_UINT8,
  FMU_INT16,
  FMU_UINT16,
  FMU_INT32,
  FMU_UINT32,
  FMU_INT64,
  FMU_UINT64,
  FMU_BOOL
} fmu_width;

// What a function reads or writes: a set of types and widths, one bit for each.
#define FMU_REAL_OF(width)    (1u << CPL_WIDTH_##width)
#define FMU_INTEGER_OF(width) (1u << (CPL_WIDTH_##width + 11))
enum {
  FMU_REAL = 0x7ff,
  FMU_INTEGER = FMU_REAL << 11,
  FMU_BOOLEAN = 1 << 22,
  FMU_ENUMERATION = 1 << 23,
  FMU_BINARY = 1 << 24,
};

/// The bit of a variable; 0: of a type that has no functions here.
static inline uint32_t fmu_kind_of(const cpl_variable* v) {
  switch (v->type) {
    case CPL_REAL: return 1u << v->width;
    case CPL_INTEGER: return 1u << (v->width + 11);
    case CPL_BOOLEAN: return FMU_BOOLEAN;
    case CPL_ENUMERATION: return FMU_ENUMERATION;
    case CPL_BINARY: return FMU_BINARY;
    default: return 0;
  }
}

typedef struct fmu_kinds {
  uint32_t set;
  const char* title;  // for messages
} fmu_kinds;

typedef struct fmu_integers {
  fmu_kinds kinds;
  fmu_width width;  // of the values
} fmu_integers;

fmu_status fmu_get_reals(fmu* f, const char* function, const fmu_kinds* kinds, const uint32_t* refs,
                         size_t n, double* values);
fmu_status fmu_set_reals(fmu* f, const char* function, const fmu_kinds* kinds, const uint32_t* refs,
                         size_t n, const double* values);
/// First derivatives of outputs that are states, with respect to time.
fmu_status fmu_get_output_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                      double* values);
fmu_status fmu_get_integers(fmu* f, const char* function, const fmu_integers* kind,
                            const uint32_t* refs, size_t n, void* values);
fmu_status fmu_set_integers(fmu* f, const char* function, const fmu_integers* kind,
                            const uint32_t* refs, size_t n, const void* values);
fmu_status fmu_get_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char** values);
fmu_status fmu_set_strings(fmu* f, const char* function, const uint32_t* refs, size_t n,
                           const char* const* values);
fmu_status fmu_get_binaries(fmu* f, const char* function, const uint32_t* refs, size_t n,
                            cpl_binary* values);
fmu_status fmu_set_binaries(fmu* f, const char* function, const uint32_t* refs, size_t n,
                            const cpl_binary* values);

// A direction in the space of the knowns, and the change of the unknowns along it.
typedef struct fmu_derivative {
  const uint32_t *unknowns, *knowns;
  size_t n_unknowns, n_knowns;
  const double* seed;
  double* sensitivity;
} fmu_derivative;

fmu_status fmu_directional(fmu* f, const char* function, const fmu_derivative* d);
/// The seed is of the unknowns, the sensitivity of the knowns.
fmu_status fmu_adjoint(fmu* f, const char* function, const fmu_derivative* d);

/// The number of a variable other than a String; -1: there is none.
static inline int32_t fmu_number(const fmu* f, uint32_t ref) {
  return ref < f->refs3.n_numbers ? f->number_of_ref[ref] : -1;
}
/// The number of a String; -1: there is none.
static inline int32_t fmu_string(const fmu* f, uint32_t ref) {
  return ref < f->refs3.n_strings ? f->string_of_ref[ref] : -1;
}

//------------------------------------ states ------------------------------------

fmu_status fmu_save(fmu* f, const char* function, void** state);
fmu_status fmu_restore(fmu* f, const char* function, void* state);
fmu_status fmu_forget(fmu* f, void** state);
fmu_status fmu_state_size(fmu* f, const char* function, void* state, size_t* size);
fmu_status fmu_write_state(fmu* f, const char* function, void* state, unsigned char* bytes,
                           size_t size);
fmu_status fmu_read_state(fmu* f, const char* function, const unsigned char* bytes, size_t size,
                          void** state);

/// Saved states are no longer valid, since the instance goes.
void fmu_orphan_states(fmu* f);

//------------------------------------ model exchange ------------------------------------

/// One round of the event iteration.
fmu_status fmu_update(fmu* f, const char* function, cpl_event_info* info);
fmu_status fmu_enter_event(fmu* f, const char* function);
fmu_status fmu_enter_continuous(fmu* f, const char* function);
fmu_status fmu_completed_step(fmu* f, const char* function, bool* event, bool* end);
fmu_status fmu_set_time(fmu* f, const char* function, double time);
fmu_status fmu_set_states(fmu* f, const char* function, const double* x, size_t n);

// Vectors that are read as a whole.
typedef enum fmu_vector { FMU_STATES, FMU_DERIVATIVES, FMU_NOMINALS, FMU_INDICATORS } fmu_vector;
fmu_status fmu_get_vector(fmu* f, const char* function, fmu_vector which, double* values, size_t n);

//------------------------------------ constraints ------------------------------------

fmu_status fmu_count_constraints(fmu* f, const char* function, size_t* n);
fmu_status fmu_constraints(fmu* f, const char* function, double* c);
fmu_status fmu_constraint_jacobian(fmu* f, const char* function, double* jac);
fmu_status fmu_projection_step(fmu* f, const char* function, double* change);
fmu_status fmu_projection(fmu* f, const char* function, double tolerance, size_t limit, bool apply,
                          double* change);

/// Evaluates many instances of model exchange, which have the same variables, in continuous time,
/// as cpl_model_ops.evaluate does. FMU_WARNING: the ordinary calls are needed for instance *done,
/// and say why; other than FMU_OK: it failed. *done is up to date at any time.
fmu_status fmu_evaluate(const char* function, void* const* instances, size_t n,
                        const cpl_evaluation* e, size_t* done);

/// After a completed step: *due: the states are away from the constraints by more than the
/// tolerance, and the importer does not project them itself.
cpl_status fmu_projection_due(fmu* f, bool* due);
/// At the end of an event: the states are put onto the constraints where that is due; *moved.
cpl_status fmu_project_at_event(fmu* f, bool* moved);
/// From continuous time back to the event that the importer has not left yet.
cpl_status fmu_back_to_event(fmu* f);

//------------------------------------ co-simulation ------------------------------------

// co_simulation.c; a build without it has stubs that fail with a message (instance.c).

/// Continuous inputs have these values from here on, those that the stepper has no curve for
/// except.
cpl_status fmu_hold_inputs(fmu* f, const double* values);
/// A continuous input of a stepper has this value from here on.
cpl_status fmu_set_input(fmu* f, uint32_t input, double value);
/// The highest order of derivatives of inputs that the stepper uses.
int32_t fmu_input_order(const fmu* f);
/// Derivatives of continuous inputs at the beginning of the next step, for which they hold.
fmu_status fmu_set_input_derivatives(fmu* f, const char* function, const uint32_t* refs, size_t n,
                                     const int32_t* orders, const double* values);
/// *wanted: the inputs set since the last step cause an event; *margin: the distance of indicators
/// beyond it.
fmu_status fmu_input_event(fmu* f, const char* function, bool* wanted, double* margin);

/// From a time by a step; result->time is where it ended, result->end why. An event that waits for
/// the importer (f->event_mode, f->leave_events) is CPL_STEP_EVENT without event_handled.
fmu_status fmu_step(fmu* f, const char* function, double from, double h, cpl_step_result* result);
/// The importer handles an event: the update of a stepper.
fmu_status fmu_step_update(fmu* f, const char* function, cpl_event_info* info);
fmu_status fmu_max_step(fmu* f, const char* function, double* size);
/// The next time event that is known; INFINITY: none.
double fmu_next_event(fmu* f);
