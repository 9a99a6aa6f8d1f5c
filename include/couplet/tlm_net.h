// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Delay lines across machines: one process is the manager, which sees the parts as if they were its
// own; each part runs in another process, wherever that is, and sends its waves straight to its
// neighbours. Every connection is encrypted, and nobody without one of the keys of a run gets in.
// Results are the same to the byte as in one process.
//
// The manager builds the system as always, with cpl_tlm_def.serve (or cpl_stepper_def.serve); the
// others open the same files, with cpl_tlm_def.join, and then run their part:
//   cpl_tlm_join(ctx, &def, &join); ... cpl_system_stepper(source, &stepper_def, &s);
//   cpl_tlm_join_run(join, s);
#pragma once

#include "couplet/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ the manager ------------------------------------

/// How to serve. Start from cpl_default_tlm_serve_def(), then change what you need.
typedef struct cpl_tlm_serve_def {
  const char* address;  ///< "HOST:PORT" or "HOST": where to listen; Nullable: on this machine only,
                        ///< at any port
  const char* watch_address;  ///< the same for who watches. Nullable: any port at the same host
  const char* folder;         ///< where join files go: PART.join and observer.join
  bool overwrite;             ///< join files that are there already
  const char* system;         ///< the system file, as join files name it. Nullable
  double start_limit;         ///< [s] until all parts have joined
  double call_timeout;        ///< [s]: a part not heard of for longer ends the run; 0: none does
  double watch_interval;      ///< [s] between what observers are told, at least
  cpl_solver_def solver;      ///< what parts build with; cpl_system_stepper() sets these five
  double step, usual_step;
  const cpl_model_solver* solvers;  ///< of single models
  int32_t n_solvers;
  /// Join files are written: whoever is to join may be started. Nullable.
  cpl_status (*on_ready)(void* user, const char* const* parts, int32_t n, const char* address);
  /// Called now and then until all have joined; `missing` has names with commas between them. A
  /// negative answer ends it. Nullable.
  cpl_status (*on_waiting)(void* user, const char* missing, double seconds);
  void* user;  ///< handed to both
} cpl_tlm_serve_def;

CPL_API cpl_tlm_serve_def cpl_default_tlm_serve_def(void);

/// The path of the join file of a part, as it is written; false: it does not fit.
CPL_API bool cpl_tlm_join_file(const char* folder, const char* part, char* out, size_t size);

//------------------------------------ a part ------------------------------------

/// How to join. Start from cpl_default_tlm_join_def(), then change what you need.
typedef struct cpl_tlm_join_def {
  const char* key_file;  ///< PART.join
  const char* listen;    ///< "HOST:PORT" or "HOST": where neighbours find it. Nullable: the address
                         ///< of this machine that the manager sees, at any port
  double start_limit;    ///< [s] until the manager has answered
} cpl_tlm_join_def;

CPL_API cpl_tlm_join_def cpl_default_tlm_join_def(void);

typedef struct cpl_tlm_join cpl_tlm_join;

/// Read the join file, connect, and hear how to build the system.
/// Owned:    *out by the caller, who calls cpl_tlm_join_close() after the stepper is gone.
/// Returns:  CPL_ERR_INPUT for a bad file, or when the manager does not want the key.
CPL_API cpl_status cpl_tlm_join_open(cpl_context* ctx, const cpl_tlm_join_def* def,
                                     cpl_tlm_join** out);
CPL_API void cpl_tlm_join_close(cpl_tlm_join* join);  ///< Nullable: join

CPL_API const char* cpl_tlm_join_part(const cpl_tlm_join* join);    ///< its name
CPL_API const char* cpl_tlm_join_system(const cpl_tlm_join* join);  ///< the file; "": not said

/// How the manager wants the system to be built: for cpl_stepper_def, beside `join`.
CPL_API void cpl_tlm_join_settings(const cpl_tlm_join* join, cpl_solver_def* solver, double* step,
                                   double* usual_step);
/// And the solvers of single models; they belong to `join`. Returns how many.
CPL_API int32_t cpl_tlm_join_solvers(const cpl_tlm_join* join, const cpl_model_solver** out);

/// Run the part until the manager ends it. `s` was made by cpl_tlm(), or by cpl_system_stepper() of
/// a system with delay lines, from the same files as the manager's and with `join` in its
/// definition.
/// Returns: CPL_OK when the run was completed, CPL_ERR_CANCELLED when the manager broke it off.
CPL_API cpl_status cpl_tlm_join_run(cpl_tlm_join* join, cpl_stepper* s);

//------------------------------------ who watches ------------------------------------

/// What is known of an interface at a time. Vectors as in couplet/tlm.h: 1D the first item only.
typedef struct cpl_tlm_observation {
  const char* interface;
  double time;
  int32_t width;      ///< 1 or 6
  bool has_position;  ///< position[0 .. 2] in 3D, else the first
  double position[3];
  double speed[6], force[6];  ///< of a signal: its value is the speed where it leaves, the force
                              ///< where it arrives
} cpl_tlm_observation;

typedef cpl_status cpl_tlm_observe_fn(void* user, const cpl_tlm_observation* seen);

/// Hear of the interfaces of a run, until it ends; the key of observer.join opens nothing else.
/// Returns: CPL_OK when the run has ended; what `seen` returned when that was negative.
CPL_API cpl_status cpl_tlm_watch(cpl_context* ctx, const cpl_tlm_join_def* def,
                                 cpl_tlm_observe_fn* seen, void* user);

#ifdef __cplusplus
}
#endif
