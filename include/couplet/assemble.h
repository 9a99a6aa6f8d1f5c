// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the definition of a system to what can be simulated: the models are opened, and the
// composers make one of them.
#pragma once

#include "couplet/interface.h"
#include "couplet/solver.h"
#include "couplet/system.h"
#include "couplet/tlm.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Build a system: open its models, find the names in its texts, aggregate.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone.
/// Borrowed: def as long as *out lives.
/// Returns:  CPL_ERR_INPUT with file, line and column of what is wrong.
CPL_API cpl_status cpl_system_build(cpl_context* ctx, const cpl_system_def* def, cpl_source** out);

/// The same, but *out owns the definition; after a failure it is gone, too.
CPL_API cpl_status cpl_system_build_owned(cpl_context* ctx, cpl_system_def* def, cpl_source** out);

/// Read a system file and build it. *out owns the definition.
CPL_API cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out);

/// The definition a system was built from; NULL: the source is no system.
CPL_API const cpl_system_def* cpl_system_definition(const cpl_source* source);

/// What the definition says should be recorded. Returns how many; writes at most `n` of them.
CPL_API size_t cpl_system_record(const cpl_system_def* def, const char** out, size_t n);

/// What building the system found that a user may want to know, such as what a switch between modes
/// leaves unset; NULL: there are no more. It belongs to the system.
CPL_API const char* cpl_system_note(const cpl_source* system, size_t i);

/// How to make a stepper of a system. Start from cpl_default_stepper_def(), then change what you
/// need.
typedef struct cpl_stepper_def {
  const char* name;       ///< of the instance. Nullable: the system's
  cpl_solver_def solver;  ///< of models; a system with steppers restarts it at every step
  double step;            ///< communication step; 0: as the definition says
  double usual_step;      ///< when neither the definition nor an FMU says one
  // of systems with delay lines
  int32_t threads;      ///< 0: as many as there are processors, where they pay
  bool processes;       ///< every part in a process of its own
  double call_timeout;  ///< with processes [s]: a step that takes longer ends the run; 0: never
  bool one_master;      ///< also for members that nothing is connected to
  const cpl_model_solver* solvers;  ///< of single models; they count more than the definition's
  int32_t n_solvers;
  const cpl_tlm_serve_def* serve;  ///< parts are run by others (couplet/tlm_net.h). Nullable
  const cpl_tlm_join* join;        ///< one part of what others serve. Nullable
} cpl_stepper_def;

CPL_API cpl_stepper_def cpl_default_stepper_def(void);

/// A stepper of a built system, whatever it is made of: models are integrated, steppers are coupled
/// by a master.
/// Owned: *out by the caller, who calls cpl_stepper_destroy().
CPL_API cpl_status cpl_system_stepper(cpl_source* system, const cpl_stepper_def* def,
                                      cpl_stepper** out);

//------------------------------------ delay lines ------------------------------------

typedef struct cpl_system_line {
  const char* ends[2];  ///< names of its interfaces
  cpl_tlm_kind kind;
  cpl_tlm_line line;
  double mass[2], inertia[2];  ///< felt at its ends at the start; INFINITY: none moves it; NAN: not
                               ///< known (co-simulation)
} cpl_system_line;

/// Lines of a built system, in the order of its file.
CPL_API int32_t cpl_system_line_count(const cpl_source* system);
CPL_API cpl_system_line cpl_system_line_at(const cpl_source* system, int32_t i);

/// Where an interface is at the start, in the common frame.
typedef struct cpl_system_pose {
  const char* name;
  cpl_tlm_kind kind;
  bool has_position, has_orientation;
  double position[3];     ///< 1D: the first
  double orientation[9];  ///< 3D: row by row
  double angles[3];       ///< the same as Angle321: about x, y, z; turned about z first
} cpl_system_pose;

/// Interfaces of a built system that has lines, in the order of its file.
CPL_API int32_t cpl_system_interface_count(const cpl_source* system);
/// Initialises an instance and asks it; out has room for all interfaces.
/// Returns: also after a failure to align the ends of lines `out` is filled.
CPL_API cpl_status cpl_system_poses(cpl_source* system, cpl_system_pose* out);

#ifdef __cplusplus
}
#endif
