// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models written in C against couplet/model.h. A definition becomes a description once
// (cpli_cmodel), and any number of instances, which are cpl_models. The same two files are compiled
// into exported FMUs, so that a C model and the FMU made of it compute identical results.
#pragma once

#include "base/base.h"
#include "couplet/interface.h"
#include "model/tangent_type.h"

// All numbers of an instance are in one array; a reference (cpl_variable.ref) is an index into it.
typedef struct cpli_layout {
  uint32_t p, w, u, x, dx, y;  // begin of each group
  uint32_t a, g, c;            // algebraic variables, residuals, undifferentiated residuals
  uint32_t n;                  // the number of all
  uint32_t np, nw, nu, nx, ny, nz, ns, na, nc;
} cpli_layout;

struct cpli_cmodel;
typedef cpl_status cpli_probe_fn(void* user, void* result);

// How the host program calls the functions of a model; all zero in an FMU.
typedef struct cpli_cmodel_host {
  /// Runs a function of that name; a crash in it is returned as a text; NULL: no crash.
  const char* (*call)(const char* function, void (*run)(void* user), void* user);
  /// What a call with that text did: "crashed". Given where `call` is.
  const char* (*verb)(const char* crash);
  /// The modes of floating-point arithmetic, and back to them; `call` puts them back, too. Given
  /// where it is.
  uint32_t (*modes)(void);
  void (*put_back)(uint32_t modes);
  /// Runs work(user, result), which calls the model before it runs, in another process, and returns
  /// what it wrote to result[size]. Nullable: it is run in this one.
  cpl_status (*in_child)(struct cpli_cmodel* cm, cpli_probe_fn* work, void* user, void* result,
                         size_t size);
  double call_timeout;               // limit of a call in the other process [s]; 0: none
  void* user;                        // cpl_values.user
  bool shares_data;                  // instances share variables: one thread calls all of them
  const cpl_model_tangent* tangent;  // made of the source. Nullable
} cpli_cmodel_host;

typedef struct cpli_cmodel {
  const cpl_model_def* def;
  cpli_cmodel_host host;
  cpl_description desc;
  cpli_layout at;
  bool* discrete_output;  // ny: changes only at events
  bool any_discrete_output;
  const cpl_model_tangent* tangent;  // the host's, where it covers this model. Nullable
  bool has_directional;              // by it or by the definition
  bool covers_all;                   // it covers parameters and discrete variables, too
  cpl_context* ctx;
  cpli_arena arena;
  cpli_names names;
} cpli_cmodel;

/// Describe a definition. `def` and its strings must outlive *out. Dependencies that are not
/// declared are detected when `detect` is set (at the cost of evaluations of the model), else
/// everything depends on everything.
cpl_status cpli_cmodel_create(cpl_context* ctx, const cpl_model_def* def, bool detect,
                              cpli_cmodel** out);
/// The same for a definition whose functions are called by `host`. Nullable: host
cpl_status cpli_cmodel_create_hosted(cpl_context* ctx, const cpl_model_def* def, bool detect,
                                     const cpli_cmodel_host* host, cpli_cmodel** out);
void cpli_cmodel_destroy(cpli_cmodel* cm);

/// An instance; destroyed through its ops. `cm` must outlive it.
cpl_status cpli_cmodel_instance(const cpli_cmodel* cm, cpl_context* ctx, const char* name,
                                cpl_model** out);

/// Finds out where derivatives come from (cmodel_directional.c).
void cpli_cmodel_find_tangent(cpli_cmodel* cm);
/// The same as a text.
const char* cpli_cmodel_derivatives(const cpli_cmodel* cm);

/// Whether the solver sets its algebraic variables in continuous time; before setup.
void cpli_cmodel_as_residuals(cpl_model* m, bool as_residuals);
/// From here on they have the values set by the caller in every mode: to detect dependencies on
/// them.
void cpli_cmodel_give_algebraics(cpl_model* m, bool given);

/// The next time event an instance has requested; INFINITY: none. It is due when that is not later
/// than the instance's time.
double cpli_cmodel_next_time(const cpl_model* m);

/// Fill cm->desc.structure: declared dependencies, or detected ones (dependencies.c).
cpl_status cpli_cmodel_structure(cpli_cmodel* cm, bool detect);
