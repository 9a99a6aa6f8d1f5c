// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "tlm": models or steppers and delay lines between them become one stepper. What
// leaves one end of a line arrives at the other one a delay later, so that each side runs by itself
// with its own solver for as long, and the physics stays stable. Results are the same to the bit
// whatever runs side by side.
#pragma once

#include "couplet/interface.h"
#include "couplet/solver.h"
#include "couplet/tlm_net.h"

#ifdef __cplusplus
extern "C" {
#endif

/// What an interface carries. Effort and flow of the domains:
/// translational: F = c - Zf v, the force on the model and the speed of its end; rotational: torque
/// and angular speed; hydraulic: p = c + Zf q, the pressure and the flow out of the model, into the
/// line; electric: voltage and current into the line, likewise.
typedef enum cpl_tlm_kind {
  CPL_TLM_TRANSLATIONAL,
  CPL_TLM_ROTATIONAL,
  CPL_TLM_HYDRAULIC,
  CPL_TLM_ELECTRIC,
  CPL_TLM_3D,      ///< three forces and three torques
  CPL_TLM_SIGNAL,  ///< a value that arrives later, in one direction
} cpl_tlm_kind;

CPL_API const char* cpl_tlm_kind_name(cpl_tlm_kind kind);  ///< "translational", ...
CPL_API bool cpl_tlm_kind_by_name(const char* name, cpl_tlm_kind* out);

/// What a stepper that only takes values at communication points is told of a force.
typedef enum cpl_tlm_hold {
  CPL_TLM_HOLD_MIDDLE,  ///< its value in the middle of the step, as far as it is known
  CPL_TLM_HOLD_LINEAR,  ///< a straight line over the step (input derivatives), where it can
  CPL_TLM_HOLD_START,   ///< its value at the beginning: first order, for comparisons
} cpl_tlm_hold;

CPL_API const char* cpl_tlm_hold_name(cpl_tlm_hold hold);  ///< "middle", "linear", "start"
CPL_API bool cpl_tlm_hold_by_name(const char* name, cpl_tlm_hold* out);

/// One side of the lines: a model, which gets a solver, or a stepper.
typedef struct cpl_tlm_part {
  const char* name;       ///< for messages. Nullable: that of the model or stepper
  cpl_model* model;       ///< its solver sees F(t, v). Nullable: a stepper
  cpl_stepper* stepper;   ///< Nullable: a model
  cpl_solver_def solver;  ///< of a model
  int32_t substeps;       ///< of a stepper, for half of its shortest delay; 0: 2
  cpl_tlm_hold hold;      ///< of a stepper
  bool plain_names;       ///< its variables keep their names; else the part's is their prefix
} cpl_tlm_part;

enum { CPL_TLM_WIDTH = 6 };  ///< components of a line in three dimensions

/// Where a line can be fixed to. Variables are indices into the description of the part; -1: none.
/// Start from cpl_default_tlm_interface(), then change what you need.
typedef struct cpl_tlm_interface {
  const char* name;
  int32_t part;
  cpl_tlm_kind kind;
  int32_t position[3];           ///< to check how things are placed at the start; may be missing
  int32_t orientation[9];        ///< row by row; likewise
  int32_t speed[CPL_TLM_WIDTH];  ///< 1D: the first; 3D: speeds, then angular speeds; a signal that
                                 ///< is sent: its value
  int32_t force[CPL_TLM_WIDTH];  ///< inputs: forces, then torques; a signal that is received
  bool takes_wave;  ///< `force` are inputs for the waves c: the model computes its forces itself
  double sign;      ///< what the inputs get is sign times the force on the model; 0 counts as 1
  double start_force[CPL_TLM_WIDTH];  ///< on the model before time starts; NaN: as the model says
  double origin[3], rotation[9];  ///< of the part's frame in the common one; rotation row by row:
                                  ///< common = rotation * own
} cpl_tlm_interface;

CPL_API cpl_tlm_interface cpl_default_tlm_interface(void);

typedef struct cpl_tlm_line {
  int32_t from, to;  ///< interfaces
  double delay;      ///< [s]
  double zf;         ///< impedance: a spring of stiffness zf / delay
  double zfr;        ///< the same for rotations of 3D lines; 0: zf
  double alpha;      ///< damping, from 0 to less than 1
  bool compensate;   ///< scale the impedances so that alpha leaves the stiffness as it is
  bool apart;        ///< 3D: the ends need not be in the same place at the start
} cpl_tlm_line;

/// How to couple. Start from cpl_default_tlm_def(), then change what you need.
typedef struct cpl_tlm_def {
  const char* name;
  const cpl_tlm_part* parts;
  int32_t n_parts;
  const cpl_tlm_interface* interfaces;
  int32_t n_interfaces;
  const cpl_tlm_line* lines;
  int32_t n_lines;
  int32_t threads;  ///< so many; 0: as many as there are processors, where they pay; 1: none but
                    ///< the caller's
  bool processes;   ///< every part in a process of its own
  double call_timeout;  ///< [s]: with processes, a step that takes longer ends the run; 0: never
  const cpl_tlm_serve_def* serve;  ///< the parts are run by others who join. Nullable
  const cpl_tlm_join* join;        ///< run one part of what others serve. Nullable
  uint64_t files;  ///< of both: must be the same number, as what it was made of must be the same
} cpl_tlm_def;

CPL_API cpl_tlm_def cpl_default_tlm_def(void);

/// It rolls back where all parts do: models whose solver has restart_each_step, and steppers that
/// can; none in processes of their own.
/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The models and steppers belong to
///           it from here on, also when this function fails.
/// Borrowed: def and what it points to, during the call.
CPL_API cpl_status cpl_tlm(cpl_context* ctx, const cpl_tlm_def* def, cpl_stepper** out);

//------------------------------------ what it did ------------------------------------

typedef struct cpl_tlm_part_stats {
  const char* name;
  double step;     ///< longest: half of the shortest delay; INFINITY: no line
  int64_t pieces;  ///< of waves that it sent
  int64_t events;  ///< updates, its own and where a wave jumped
} cpl_tlm_part_stats;

/// How many parts it has; 0: it was not made by cpl_tlm().
CPL_API int32_t cpl_tlm_count(const cpl_stepper* s);
CPL_API cpl_tlm_part_stats cpl_tlm_part_stats_at(const cpl_stepper* s, int32_t i);

/// What a line adds to the system, for people.
typedef struct cpl_tlm_facts {
  double factor;               ///< of alpha: 1 + 1.5 alpha / (1 - alpha)
  double stiffness;            ///< at low frequency: zf / delay, divided by the factor
  double mass;                 ///< parasitic: zf * delay, times the factor
  double stiffness_r, mass_r;  ///< the same of rotations (3D)
  double frequency;            ///< first standing wave: 1 / (2 delay) [Hz]
} cpl_tlm_facts;

/// What is wrong with a line, by itself and for the interfaces it joins; NULL: nothing.
CPL_API const char* cpl_tlm_line_fault(const cpl_tlm_line* line,
                                       const cpl_tlm_interface* interfaces);

CPL_API cpl_tlm_facts cpl_tlm_line_facts(const cpl_tlm_line* line);

#ifdef __cplusplus
}
#endif
