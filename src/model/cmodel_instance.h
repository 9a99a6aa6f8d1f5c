// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Inside of an instance of a model in C, for the files that share the work: cmodel.c runs it,
// cmodel_constraints.c has its constraints, cmodel_residuals.c its algebraic variables.
#pragma once

#include "model/cmodel.h"
#include "numeric/algebra.h"

typedef enum cpli_c_phase { BEFORE_INIT, IN_INIT, IN_EVENT, IN_CONTINUOUS } cpli_c_phase;

typedef struct cpli_c_instance {
  cpl_model base;
  cpl_model_ops ops;
  cpl_model_host host;
  const cpli_cmodel* cm;
  char* name;
  // what every evaluation looks at stands together
  double t;
  double next_time;
  double* v;  // all numbers, laid out as cm->at says
  cpli_c_phase phase;
  bool dx_known, y_known, a_known;
  bool as_residuals;  // in continuous time others set the algebraic variables
  bool a_given;       // always
  bool initialized;
  bool dead;  // a function of the model crashed

  double* start;       // x, w and algebraic variables as they were set before initialize
  double* guess;       // na: algebraic variables at the last accepted step or event
  double* sought;      // na: scratch of the search for them
  double* fresh_y;     // ny: outputs before held ones are kept
  double* z;           // nz
  bool* positive;      // nz: the side each indicator was on before the step that led here
  bool* recent;        // nz: the side at the last accepted step or event
  double recent_time;  // of that
  int8_t* crossed;     // nz
  double *seed_x, *seed_u, *d_dx, *d_y;  // of directional
  char** text;                           // ns: owned Strings
  const char** lent;                     // ns: what a handler sees of them
  unsigned char* memory;
  cpli_algebra algebra;
  char message[512];  // of the model, in the call under way
} cpli_c_instance;

// One call of a function of the model: what goes in, and what it returned.
typedef struct cpli_c_call {
  const cpl_model_def* def;
  cpl_values v;
  double* out;
  int (*handler)(const cpl_values*, cpl_event_actions*);
  cpl_event_actions* actions;
  bool* event;
  double *d_x, *d_u, *d_dx, *d_y;
  int count;  // of active constraints
  int result;
  bool early;  // algebraic variables need not be known
} cpli_c_call;

/// Calls a function of the model through `run`. After a crash it is called no more.
cpl_status cpli_cmodel_invoke(cpli_c_instance* in, const char* function, void (*run)(void*),
                              cpli_c_call* c);
/// During initialisation, brings what initialize computes up to date.
cpl_status cpli_cmodel_initialize(cpli_c_instance* in);

/// Bring algebraic variables up to date where the model solves for them itself.
cpl_status cpli_cmodel_need_algebraics(cpli_c_instance* in);
/// Bring residuals, differentiated or not, up to date.
cpl_status cpli_cmodel_need_residuals(cpli_c_instance* in);
/// What is known now is where the next search begins.
void cpli_cmodel_keep_algebraics(cpli_c_instance* in);
/// Put the operations of algebraic variables into a table, and make room for them.
cpl_status cpli_cmodel_residual_ops(cpli_c_instance* in, cpl_context* ctx);
void cpli_cmodel_residual_free(cpli_c_instance* in);

/// Put the operations of constraints that the definition has into a table.
void cpli_cmodel_constraint_ops(const cpl_model_def* def, cpl_model_ops* ops);
