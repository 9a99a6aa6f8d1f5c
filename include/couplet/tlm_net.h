// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Delay lines across machines: the manager hosts the run; each component runs in a peer, a process
// on any machine, and exchanges waves directly with its neighbours. Every connection is encrypted
// and authenticated by a key of the run. Results are bit-identical to those of a run in one
// process.
//
// The manager builds the system with cpl_tlm_def.serve (or cpl_stepper_def.serve). A peer opens the
// same files with cpl_tlm_def.join and runs its component:
//
//   cpl_tlm_join_def def = cpl_default_tlm_join_def();
//   def.key_file = "mass.join";
//   cpl_status st = cpl_tlm_join_open(ctx, &def, &join);
//   stepper_def.join = join;
//   if (st >= 0) st = cpl_system_stepper(source, &stepper_def, &stepper);
//   if (st >= 0) st = cpl_tlm_join_run(join, stepper);
//   cpl_stepper_destroy(stepper);
//   cpl_tlm_join_close(join);
#pragma once

#include "couplet/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

//------------------------------------ the manager ------------------------------------

/// How to serve. Start from cpl_default_tlm_serve_def(), then change what you need.
typedef struct cpl_tlm_serve_def {
  size_t size;          ///< set by cpl_default_tlm_serve_def()
  const char* address;  ///< endpoint, "HOST:PORT" or "HOST"; Nullable: this machine only, any port
  const char* watch_address;  ///< endpoint for observers. Nullable: any port at the same host
  const char* folder;         ///< where join files go: PART.join and observer.join
  bool overwrite;             ///< existing join files
  const char* system;         ///< path of the system file in join files. Nullable
  double start_limit;         ///< [s] until all peers have joined
  double call_timeout;        ///< [s]: a peer silent for longer ends the run; 0: no limit
  double watch_interval;      ///< minimum time between messages to observers [s]
  cpl_solver_def solver;      ///< settings for peers; cpl_system_stepper() sets these five
  double step, usual_step;
  const cpl_model_solver* solvers;  ///< of single models
  int32_t n_solvers;
  /// Called when join files are written and peers may be started. Nullable.
  cpl_status (*on_ready)(void* user, const char* const* parts, int32_t n, const char* address);
  /// Called repeatedly until all peers have joined; `missing` has names separated by commas. A
  /// negative result ends the run. Nullable.
  cpl_status (*on_waiting)(void* user, const char* missing, double seconds);
  void* user;  ///< passed to both
} cpl_tlm_serve_def;

CPL_DEFAULTS(tlm_serve_def)  ///< cpl_default_tlm_serve_def()

/// The path of the join file of a component; false: `out` is too small.
CPL_API bool cpl_tlm_join_file(const char* folder, const char* part, char* out, size_t size);

//------------------------------------ a peer ------------------------------------

/// How to join. Start from cpl_default_tlm_join_def(), then change what you need.
typedef struct cpl_tlm_join_def {
  size_t size;           ///< set by cpl_default_tlm_join_def()
  const char* key_file;  ///< PART.join
  const char* listen;    ///< endpoint for neighbours, "HOST:PORT" or "HOST". Nullable: the address
                         ///< from which the manager is reached, any port
  double start_limit;    ///< [s] until the manager has answered
} cpl_tlm_join_def;

CPL_DEFAULTS(tlm_join_def)  ///< cpl_default_tlm_join_def()

typedef struct cpl_tlm_join cpl_tlm_join;

/// Read the join file, connect, and receive the settings of the system.
/// Owned:    *out by the caller, who calls cpl_tlm_join_close() after the stepper is gone.
/// Returns:  CPL_ERR_INPUT for a bad file, or when the manager rejects the key.
CPL_API cpl_status cpl_tlm_join_open(cpl_context* ctx, const cpl_tlm_join_def* def,
                                     cpl_tlm_join** out);
CPL_API void cpl_tlm_join_close(cpl_tlm_join* join);  ///< Nullable: join

CPL_API const char* cpl_tlm_join_part(const cpl_tlm_join* join);    ///< its name
CPL_API const char* cpl_tlm_join_system(const cpl_tlm_join* join);  ///< the file; "": not given

/// The manager's settings of the system, for cpl_stepper_def together with `join`.
CPL_API void cpl_tlm_join_settings(const cpl_tlm_join* join, cpl_solver_def* solver, double* step,
                                   double* usual_step);
/// The solvers of single models; they belong to `join`. Returns their number.
CPL_API int32_t cpl_tlm_join_solvers(const cpl_tlm_join* join, const cpl_model_solver** out);

/// Run the component until the manager ends the run. `s` was made by cpl_tlm(), or by
/// cpl_system_stepper() of a system with delay lines, from the same files as the manager's and with
/// `join` in its definition.
/// Returns: CPL_OK when the run was completed, CPL_ERR_CANCELLED when the manager aborted it.
CPL_API cpl_status cpl_tlm_join_run(cpl_tlm_join* join, cpl_stepper* s);

//------------------------------------ observers ------------------------------------

/// The values of an interface at a time. Vectors as in couplet/tlm.h: in 1D the first element only.
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

/// Receive the values of the interfaces of a run until it ends. The key in observer.join permits
/// nothing else.
/// Returns: CPL_OK when the run has ended; the result of `seen` when that was negative.
CPL_API cpl_status cpl_tlm_watch(cpl_context* ctx, const cpl_tlm_join_def* def,
                                 cpl_tlm_observe_fn* seen, void* user);

#ifdef __cplusplus
}
#endif
