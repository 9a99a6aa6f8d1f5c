// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "tlm" (transmission line modelling): models or steppers and delay lines between them
// become one stepper. A wave that enters a line leaves it a delay later, so that the components at
// its ports are independent within the delay and each has its own solver; the coupling is
// numerically stable. Results are bit-identical on any number of threads and processes.
//
//   cpl_tlm_part parts[] = {{.model = mass, .solver = solver}, {.stepper = spring}};
//   cpl_tlm_interface ports[2] = {cpl_default_tlm_interface(), cpl_default_tlm_interface()};
//   ports[0].name = "mass.end", ports[0].part = 0, ports[0].speed[0] = v, ports[0].force[0] = F;
//   ...
//   cpl_tlm_line line = {.from = 0, .to = 1, .delay = 1e-4, .zf = 100};
//   cpl_tlm_def def = cpl_default_tlm_def();
//   def.parts = parts, def.n_parts = 2, def.interfaces = ports, def.n_interfaces = 2;
//   def.lines = &line, def.n_lines = 1;
//   cpl_status st = cpl_tlm(ctx, &def, &stepper);  // owns mass and spring from here on
#pragma once

#include "couplet/interface.h"
#include "couplet/solver.h"
#include "couplet/tlm_net.h"

#ifdef __cplusplus
extern "C" {
#endif

/// The physical domains of interfaces: constant, name, sigma, and the units of the stiffness
/// Zf/delay and of the parasitic mass Zf delay. The effort at an end is c - sigma Zf flow:
/// translational: F = c - Zf v, the force on the model and the speed of its port; rotational:
/// torque and angular speed; hydraulic: p = c + Zf q, the pressure and the flow out of the model,
/// into the line; electric: voltage and current into the line, likewise; thermal: temperature and
/// heat flow into the line, likewise; 3d: three forces and three torques; signal: a value that
/// arrives later, in one direction.
#define CPL_TLM_KIND_LIST(X)                                 \
  X(CPL_TLM_TRANSLATIONAL, "translational", 1, "N/m", "kg")  \
  X(CPL_TLM_ROTATIONAL, "rotational", 1, "N m/rad", "kg m2") \
  X(CPL_TLM_HYDRAULIC, "hydraulic", -1, "Pa/m3", "Pa s2/m3") \
  X(CPL_TLM_ELECTRIC, "electric", -1, "V/C", "H")            \
  X(CPL_TLM_3D, "3d", 1, "N/m", "kg")                        \
  X(CPL_TLM_SIGNAL, "signal", 1, "", "")                     \
  X(CPL_TLM_THERMAL, "thermal", -1, "K/J", "K s2/J")

typedef enum cpl_tlm_kind {
#define X(kind, name, sigma, stiffness, mass) kind,
  CPL_TLM_KIND_LIST(X)
#undef X
} cpl_tlm_kind;

CPL_API const char* cpl_tlm_kind_name(cpl_tlm_kind kind);  ///< "translational", ...
CPL_API bool cpl_tlm_kind_by_name(const char* name, cpl_tlm_kind* out);
CPL_API const char* cpl_tlm_kind_names(void);  ///< all, separated by commas, for messages

/// How a force is set for a stepper whose inputs change at communication points only.
typedef enum cpl_tlm_hold {
  CPL_TLM_HOLD_MIDDLE,  ///< its value in the middle of the step, as far as it is known
  CPL_TLM_HOLD_LINEAR,  ///< linear over the step (input derivatives), where the stepper can
  CPL_TLM_HOLD_START,   ///< its value at the beginning: first order, for comparisons
} cpl_tlm_hold;

CPL_API const char* cpl_tlm_hold_name(cpl_tlm_hold hold);  ///< "middle", "linear", "start"
CPL_API bool cpl_tlm_hold_by_name(const char* name, cpl_tlm_hold* out);

/// One component of a system with delay lines: a model, which gets a solver, or a stepper.
typedef struct cpl_tlm_part {
  const char* name;       ///< for messages. Nullable: that of the model or stepper
  cpl_model* model;       ///< its solver evaluates F(t, v). Nullable: a stepper
  cpl_stepper* stepper;   ///< Nullable: a model
  cpl_solver_def solver;  ///< of a model
  int32_t substeps;       ///< of a stepper, for half of its shortest delay; 0: 2
  cpl_tlm_hold hold;      ///< of a stepper
  bool plain_names;       ///< its variables keep their names; else its name is their prefix
} cpl_tlm_part;

enum { CPL_TLM_WIDTH = 6 };  ///< components of a line in three dimensions

/// A port for a line. Variables are indices into the description of the component; -1: none.
/// Start from cpl_default_tlm_interface(), then change what you need.
typedef struct cpl_tlm_interface {
  const char* name;
  int32_t part;
  cpl_tlm_kind kind;
  int32_t position[3];           ///< to check the alignment at the start; optional
  int32_t orientation[9];        ///< row by row; optional
  int32_t speed[CPL_TLM_WIDTH];  ///< 1D: the first; 3D: speeds, then angular speeds; a signal that
                                 ///< is sent: its value
  int32_t force[CPL_TLM_WIDTH];  ///< inputs: forces, then torques; a signal that is received
  bool takes_wave;  ///< `force` are inputs for the waves c: the model computes its forces itself
  double sign;      ///< the inputs get sign times the force on the model; 0 counts as 1
  double start_force[CPL_TLM_WIDTH];  ///< on the model before time starts; NaN: the model's own
  double origin[3], rotation[9];  ///< of the component's frame in the common one; rotation row by
                                  ///< row: common = rotation * own
} cpl_tlm_interface;

CPL_API cpl_tlm_interface cpl_default_tlm_interface(void);

typedef struct cpl_tlm_line {
  int32_t from, to;  ///< interfaces
  double delay;      ///< [s]
  double zf;         ///< impedance: a spring of stiffness zf / delay
  double zfr;        ///< the same for rotations of 3D lines; 0: zf
  double alpha;      ///< damping, from 0 to less than 1
  bool compensate;   ///< scale the impedances so that alpha does not change the stiffness
  bool apart;        ///< 3D: the ports need not coincide at the start
} cpl_tlm_line;

/// How to couple. Start from cpl_default_tlm_def(), then change what you need.
typedef struct cpl_tlm_def {
  size_t size;  ///< set by cpl_default_tlm_def()
  const char* name;
  const cpl_tlm_part* parts;
  int32_t n_parts;
  const cpl_tlm_interface* interfaces;
  int32_t n_interfaces;
  const cpl_tlm_line* lines;
  int32_t n_lines;
  int32_t threads;  ///< 0: one per processor, where that makes the run faster; 1: only the caller's
  bool processes;   ///< every component in a process of its own
  double call_timeout;  ///< [s]: with processes, a step that takes longer ends the run; 0: never
  const cpl_tlm_serve_def* serve;  ///< the components are run by peers that join. Nullable
  const cpl_tlm_join* join;        ///< run one component of a manager's system. Nullable
  uint64_t files;  ///< hash of the system's files, which must be equal at manager and peers
} cpl_tlm_def;

CPL_DEFAULTS(tlm_def)  ///< cpl_default_tlm_def()

/// Rollback needs components that all roll back: models whose solver has restart_each_step, and
/// steppers with that capability, none of them in another process.
/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The models and steppers belong to
///           it from here on, also when this function fails.
/// Borrowed: def and everything it points to, during the call.
CPL_API cpl_status cpl_tlm(cpl_context* ctx, const cpl_tlm_def* def, cpl_stepper** out);

//------------------------------------ statistics ------------------------------------

// cpl_component_inspect() gives for each component: longest_step (half of the shortest delay;
// INFINITY: no line), pieces (wave segments sent) and events (its own and those of waves that
// jump).

/// The physical effect of a line, for display to users.
typedef struct cpl_tlm_facts {
  double factor;               ///< of alpha: 1 + 1.5 alpha / (1 - alpha)
  double stiffness;            ///< at low frequency: zf / delay, divided by the factor
  double mass;                 ///< parasitic: zf * delay, times the factor
  double stiffness_r, mass_r;  ///< the same of rotations (3D)
  double frequency;            ///< first standing wave: 1 / (2 delay) [Hz]
} cpl_tlm_facts;

/// The fault of a line, by itself or for the interfaces it connects; NULL: none.
CPL_API const char* cpl_tlm_line_fault(const cpl_tlm_line* line,
                                       const cpl_tlm_interface* interfaces);

CPL_API cpl_tlm_facts cpl_tlm_line_facts(const cpl_tlm_line* line);

#ifdef __cplusplus
}
#endif
