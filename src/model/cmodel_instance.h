// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Internals of an instance of a model in C, shared by several files: cmodel.c runs it,
// cmodel_batch.c evaluates many of them, cmodel_constraints.c has its constraints,
// cmodel_directional.c its derivatives, cmodel_residuals.c its algebraic variables, cmodel_saved.c
// its saved states.
#pragma once

#include "model/cmodel.h"
#include "model/serial.h"
#include "numeric/algebra.h"

typedef enum cpli_c_phase { BEFORE_INIT, IN_INIT, IN_EVENT, IN_CONTINUOUS } cpli_c_phase;

// Factors of the derivatives of the residuals with respect to the algebraic variables.
typedef struct cpli_c_factors {
  double *matrix, *row, *column;
  int32_t* pivot;
  bool ready;  // they belong to the present point
} cpli_c_factors;

typedef struct cpli_c_instance {
  cpl_model base;
  cpl_model_ops ops;
  cpl_model_host host;
  char* name;
  double next_time;
  double* start;       // x, w and algebraic variables as set before initialize
  double* guess;       // na: algebraic variables at the last accepted step or event
  double* sought;      // na: scratch of Newton's method
  double* fresh_y;     // ny: outputs before discrete ones are restored
  double* z;           // nz
  bool* positive;      // nz: the sign of each indicator before the last step
  bool* recent;        // nz: the sign at the last accepted step or event
  double recent_time;  // of that
  int8_t* crossed;     // nz
  double* d;  // of directional derivatives: changes of all numbers, in the layout cm->at; those of
              // states, inputs, parameters and discrete variables are zero but during a call
  double* computed;  // nx + ny + na + nc: what the tangent functions compute besides
  cpl_values tangent_values, tangent_seed;
  cpl_values given_seed;  // the same with changes of states and inputs from elsewhere
  char** text;            // ns: owned Strings
  const char** lent;      // ns: the Strings as passed to a handler
  unsigned char* memory;
  cpli_algebra algebra;
  cpli_c_factors exact;    // of directional derivatives
  cpli_serial_room bytes;  // of the last saved state that became bytes
  char message[512];       // of the model, in the current call
  // data of every evaluation, kept together: the numbers come behind it
  const cpli_cmodel* cm;
  double t;
  double* v;  // all numbers, in the layout cm->at: `numbers`
  cpli_c_phase phase;
  bool dx_known, y_known, a_known;
  bool as_residuals;  // in continuous time the solver sets the algebraic variables
  bool a_given;       // in every mode
  bool initialized;
  bool dead;          // a function of the model crashed
  cpl_values values;  // as the model sees them
  double numbers[];
} cpli_c_instance;

// One call of a function of the model: arguments and result.
typedef struct cpli_c_call {
  const cpl_model_def* def;
  const cpl_values* v;
  double* out;
  int (*handler)(const cpl_values*, cpl_event_actions*);
  cpl_event_actions* actions;
  bool* event;
  double* d_dx;
  cpl_model_tangent_fn* tangent;
  const cpl_values *at, *seed;  // of the tangent function
  int count;                    // of active constraints
  int result;
  bool early;  // algebraic variables need not be solved
} cpli_c_call;

/// Calls a function of the model through `run`. After a crash it is not called again.
cpl_status cpli_cmodel_invoke(cpli_c_instance* in, const char* function, void (*run)(void*),
                              cpli_c_call* c);
/// Whether a function may be called: the run is not cancelled, and the model has not crashed.
cpl_status cpli_cmodel_callable(const cpli_c_instance* in, const char* function);
/// The status of a call that returned a result or crashed. Nullable: crash
cpl_status cpli_cmodel_returned(cpli_c_instance* in, const char* function, const char* crash,
                                int result);
/// cpl_model_ops.evaluate (cmodel_batch.c); not of models with algebraic variables.
cpl_status cpli_cmodel_evaluate(cpl_model* const* models, size_t n, const cpl_evaluation* e,
                                size_t* done);
/// During initialisation, updates what initialize computes.
cpl_status cpli_cmodel_initialize_now(cpli_c_instance* in);
static inline cpl_status cpli_cmodel_initialize(cpli_c_instance* in) {
  return in->phase != IN_INIT || in->initialized ? CPL_OK : cpli_cmodel_initialize_now(in);
}

/// Results are computed again when they are read.
static inline void cpli_cmodel_forget_results(cpli_c_instance* in) {
  in->dx_known = in->y_known = in->a_known = in->exact.ready = false;
}
/// New outputs are in fresh_y: all but discrete ones become current.
static inline void cpli_cmodel_hold_discrete(cpli_c_instance* in) {
  for (uint32_t i = 0; i < in->cm->at.ny; i++) {
    if (!in->cm->discrete_output[i]) in->v[in->cm->at.y + i] = in->fresh_y[i];
  }
}
/// Sets a String. Nullable: text
cpl_status cpli_cmodel_set_text(cpli_c_instance* in, uint32_t i, const char* text);
/// The number of start values.
static inline size_t cpli_cmodel_n_start(const cpli_layout* at) {
  return (size_t)at->nx + at->nw + at->na;
}

/// Saved states, and as bytes.
cpl_status cpli_cmodel_save(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_cmodel_restore(cpl_component* c, const cpl_snapshot* snapshot);
void cpli_cmodel_forget(cpl_component* c, cpl_snapshot* snapshot);
cpl_status cpli_cmodel_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes);
cpl_status cpli_cmodel_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                  cpl_snapshot* snapshot);

/// Directional derivatives (cmodel_directional.c).
cpl_status cpli_cmodel_directional(cpl_component* c, const uint32_t* unknowns, size_t n_unknowns,
                                   const uint32_t* knowns, size_t n_knowns, const double* seed,
                                   double* sensitivity);
/// cpl_model_ops.directions (cmodel_batch.c); not of models with algebraic variables.
cpl_status cpli_cmodel_directions(cpl_model* const* models, size_t n, const cpl_directions* d);
/// The changes of derivatives and outputs in the direction in->d, where they are among these
/// unknowns; not of models with algebraic variables. `all`: parameters or discrete variables
/// change.
cpl_status cpli_cmodel_direct(cpli_c_instance* in, const uint32_t* unknowns, size_t n, bool all);
/// What tangent functions are called with: sets in->tangent_values.
void cpli_cmodel_prepare_tangent(cpli_c_instance* in);
/// The numbers of an instance that they need, and their place.
size_t cpli_cmodel_n_directional(const cpli_cmodel* cm);
void cpli_cmodel_place_directional(cpli_c_instance* in, double* at);
/// Of the model's memory, and of that of its tangent functions behind it.
size_t cpli_cmodel_memory_size(const cpli_cmodel* cm);

/// Whether algebraic variables are set from outside; otherwise the model solves for them itself.
static inline bool cpli_cmodel_algebraics_given(const cpli_c_instance* in) {
  return in->a_given || (in->as_residuals && in->phase == IN_CONTINUOUS);
}
/// CPL_RETRY: the residuals do not determine that algebraic variable.
cpl_status cpli_cmodel_undetermined(const cpli_c_instance* in, int32_t algebraic);
/// Update algebraic variables where the model solves for them itself.
cpl_status cpli_cmodel_solve_algebraics(cpli_c_instance* in);
static inline cpl_status cpli_cmodel_need_algebraics(cpli_c_instance* in) {
  return in->cm->at.na == 0 || in->a_known ? CPL_OK : cpli_cmodel_solve_algebraics(in);
}
/// Update residuals, differentiated or not.
cpl_status cpli_cmodel_need_residuals(cpli_c_instance* in);
/// The current values become the initial guess of the next solution.
void cpli_cmodel_keep_algebraics(cpli_c_instance* in);
/// Put the operations of algebraic variables into a table, and allocate memory for them.
cpl_status cpli_cmodel_residual_ops(cpli_c_instance* in, cpl_context* ctx);
void cpli_cmodel_residual_free(cpli_c_instance* in);

/// Put the operations of constraints that the definition has into a table.
void cpli_cmodel_constraint_ops(const cpl_model_def* def, cpl_model_ops* ops);
