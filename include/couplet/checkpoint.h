// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checkpoints: the whole state of a run in a file, from which it goes on with the same results as
// if it had never stopped, also in another process after a crash, and from which other runs start.
//
//   cpl_checkpoint* saved = NULL;
//   cpl_status st = cpl_checkpoint_read(ctx, "car.ckpt", &saved);
//   cpl_run_def def = cpl_default_run_def();  // as that of the interrupted run
//   def.resume = saved;
//   if (st >= 0) st = cpl_run(stepper, &def, NULL);
//   cpl_checkpoint_destroy(saved);
//
// The stepper of a run that writes checkpoints, or goes on from one, is made with saved states:
// cpl_experiment_settings.saves, or cpl_solver_def.saves_states.
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Where and when checkpoints of a run are written (cpl_run_def.checkpoints). Start from
/// cpl_default_checkpoints_def(), then change what you need.
///
/// The first one is written right after the initialisation, the last one at the end; the others
/// between two steps of the run. A file is replaced by the next one as a whole: a crash or a full
/// disk leaves the earlier one as it was. Only the first one must succeed; when a later one cannot
/// be written there is a warning, and the run goes on. Until its end, the file is locked for a run.
///
/// Where every component can store its history, writing does not change the run. Otherwise the run
/// restarts its solvers at every hundredth of its simulated time, with a warning: it then differs
/// from a run without checkpoints by errors of the size of the tolerance, but neither when nor how
/// often it was interrupted has an influence.
typedef struct cpl_checkpoints_def {
  size_t size;  ///< set by cpl_default_checkpoints_def()
  const char* path;
  double every;  ///< [s] of computing time between two of them; 0: only the first and the last one
  /// What the results depend on, one line per property (cpl_experiment_identity()); a run can only
  /// resume with the same one. Nullable: everything is taken.
  const char* identity;
  /// Called before each is written: bytes of the caller that are to be part of it, such as how far
  /// its results are in their file. Borrowed: *extra until the next call. Nullable.
  cpl_status (*on_checkpoint)(void* user, cpl_binary* extra);
  void* user;
} cpl_checkpoints_def;

CPL_DEFAULTS(checkpoints_def)  ///< cpl_default_checkpoints_def()

/// A checkpoint that was read.
typedef struct cpl_checkpoint cpl_checkpoint;

/// Read a file.
/// Owned:   *out by the caller, who calls cpl_checkpoint_destroy().
/// Returns: CPL_ERR_INPUT when it is no checkpoint, is damaged, or another version of couplet has
///          written it.
CPL_API cpl_status cpl_checkpoint_read(cpl_context* ctx, const char* path, cpl_checkpoint** out);
CPL_API void cpl_checkpoint_destroy(cpl_checkpoint* checkpoint);        ///< Nullable: checkpoint
CPL_API double cpl_checkpoint_time(const cpl_checkpoint* checkpoint);   ///< simulated time
CPL_API double cpl_checkpoint_start(const cpl_checkpoint* checkpoint);  ///< of that run
CPL_API const char* cpl_checkpoint_identity(const cpl_checkpoint* checkpoint);  ///< "": none
/// Whether the run goes on from it with the same bits as if it had never stopped; otherwise with
/// those of a run that restarts its solvers there.
CPL_API bool cpl_checkpoint_is_exact(const cpl_checkpoint* checkpoint);
CPL_API cpl_binary cpl_checkpoint_extra(const cpl_checkpoint* checkpoint);

/// Whether a run with that identity can resume from a checkpoint. With `only_model` times, start
/// values, inputs and recorded variables may differ, as for cpl_run_def.start_from.
/// Returns: CPL_ERR_INPUT with the first property that differs.
CPL_API cpl_status cpl_checkpoint_check(const cpl_checkpoint* checkpoint, const char* identity,
                                        bool only_model);

#ifdef __cplusplus
}
#endif
