// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Builds a system from its definition: opens its models and applies the composers (aggregate,
// master, modes, TLM), so that the result can be simulated.
//
//   cpl_source* source = NULL;
//   cpl_stepper* stepper = NULL;
//   cpl_stepper_def def = cpl_default_stepper_def();
//   cpl_status st = cpl_system_open(ctx, "pair.yaml", &source);
//   if (st >= 0) st = cpl_system_stepper(source, &def, &stepper);
//   if (st >= 0) st = cpl_run(stepper, &run, NULL);  // couplet/run.h
//   cpl_stepper_destroy(stepper);
//   cpl_source_destroy(source);
#pragma once

#include "couplet/interface.h"
#include "couplet/solver.h"
#include "couplet/system.h"
#include "couplet/tlm.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Build a system: open its models, resolve the names in its expressions, compose.
/// Owned:    *out by the caller, who calls cpl_source_destroy() after all instances are gone.
/// Borrowed: def as long as *out lives.
/// Returns:  CPL_ERR_INPUT with file, line and column of what is wrong.
CPL_API cpl_status cpl_system_build(cpl_context* ctx, const cpl_system_def* def, cpl_source** out);

/// The same, but *out owns the definition, which is destroyed after a failure, too.
CPL_API cpl_status cpl_system_build_owned(cpl_context* ctx, cpl_system_def* def, cpl_source** out);

/// Read a system file and build it. *out owns the definition.
CPL_API cpl_status cpl_system_open(cpl_context* ctx, const char* path, cpl_source** out);

/// The definition that a system was built from; NULL: the source is no system.
CPL_API const cpl_system_def* cpl_system_definition(const cpl_source* source);

/// The names and patterns that the definition records. Returns their number; writes at most `n`.
CPL_API size_t cpl_system_record(const cpl_system_def* def, const char** out, size_t n);

/// The i-th remark about the system, such as variables that a transition between modes leaves
/// unset; NULL: there are no more. The text belongs to the system.
CPL_API const char* cpl_system_note(const cpl_source* system, size_t i);

/// How to make a stepper of a system. Start from cpl_default_stepper_def(), then change what you
/// need.
typedef struct cpl_stepper_def {
  size_t size;            ///< set by cpl_default_stepper_def()
  const char* name;       ///< of the instance. Nullable: the system's
  cpl_solver_def solver;  ///< of models; a system with steppers restarts it at every step
  double step;            ///< communication step; 0: that of the definition
  double usual_step;      ///< when neither the definition nor an FMU gives one
  // of systems with delay lines
  int32_t threads;      ///< 0: one per processor, where that makes the run faster
  bool processes;       ///< every component in a process of its own
  double call_timeout;  ///< with processes [s]: a step that takes longer ends the run; 0: never
  bool one_master;      ///< also for independent steppers
  const cpl_model_solver* solvers;  ///< of single models; they override those of the definition
  int32_t n_solvers;
  const cpl_tlm_serve_def* serve;  ///< components are run by peers (couplet/tlm_net.h). Nullable
  const cpl_tlm_join* join;        ///< run one component of a manager's system. Nullable
} cpl_stepper_def;

CPL_DEFAULTS(stepper_def)  ///< cpl_default_stepper_def()

/// Make a stepper of a built system: models are integrated, steppers are coupled by a master.
/// Owned: *out by the caller, who calls cpl_stepper_destroy().
CPL_API cpl_status cpl_system_stepper(cpl_source* system, const cpl_stepper_def* def,
                                      cpl_stepper** out);

/// Make the component that shows all of a source: its model, or its stepper, with one master for
/// all steppers of a system. Owned: *out by the caller, who calls cpl_component_destroy(); it is
/// unchanged after a failure.
CPL_API cpl_status cpl_source_make_whole(cpl_source* source, cpl_component** out);

//------------------------------------ delay lines ------------------------------------

typedef struct cpl_system_line {
  const char* ends[2];  ///< names of its interfaces
  cpl_tlm_kind kind;
  cpl_tlm_line line;
  double mass[2], inertia[2];  ///< effective at its ports at the start; INFINITY: immovable; NAN:
                               ///< unknown (co-simulation)
} cpl_system_line;

/// Lines of a built system, in the order of its file.
CPL_API int32_t cpl_system_line_count(const cpl_source* system);
CPL_API cpl_system_line cpl_system_line_at(const cpl_source* system, int32_t i);

/// Position and orientation of an interface at the start, in the common frame.
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
/// Initialise an instance and read the poses of its interfaces; out has room for all of them.
/// Returns: a failure when the ports of a line are not aligned; `out` is filled nevertheless.
CPL_API cpl_status cpl_system_poses(cpl_source* system, cpl_system_pose* out);

#ifdef __cplusplus
}
#endif
