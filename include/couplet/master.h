// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "master": steppers and the links between them become one stepper. Values are
// exchanged at communication points; between them inputs are extrapolated. All steppers reach every
// communication point and every event together; results depend neither on the order of the steppers
// nor on the number of threads.
//
//   cpl_master_part parts[] = {{.stepper = left}, {.stepper = right}};
//   cpl_master_link links[] = {{0, left_x, 1, right_s}, {1, right_F, 0, left_F}};
//   cpl_master_def def = cpl_default_master_def();
//   def.parts = parts, def.n_parts = 2, def.links = links, def.n_links = 2;
//   def.step = 0.01;
//   cpl_stepper* pair = NULL;
//   cpl_status st = cpl_master(ctx, &def, &pair);  // owns left and right from here on
#pragma once

#include "couplet/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum cpl_master_algorithm {
  CPL_MASTER_DETERMINATE,   ///< finds the step that all accept, by rollback
  CPL_MASTER_JACOBI,        ///< all at once, inputs from the previous step, no rollback
  CPL_MASTER_GAUSS_SEIDEL,  ///< one after the other, inputs from this step where available
  CPL_MASTER_ITERATIVE,     ///< steps are repeated until inputs and outputs agree
} cpl_master_algorithm;

/// Treatment of algebraic loops.
typedef enum cpl_on_loop {
  CPL_LOOP_AUTO,     ///< iterate where all steppers in the loop can, else delay with a warning
  CPL_LOOP_ITERATE,  ///< solve it
  CPL_LOOP_DELAY,    ///< use the value of the last step, with a warning
  CPL_LOOP_ERROR,    ///< reject the system
} cpl_on_loop;

/// How the error of a communication step is estimated.
typedef enum cpl_step_estimate {
  CPL_ESTIMATE_PREDICTOR,   ///< difference of extrapolated and actual inputs
  CPL_ESTIMATE_RICHARDSON,  ///< one step against two of half the size; needs rollback
  CPL_ESTIMATE_ENERGY,      ///< energy that power bonds generate or dissipate
} cpl_step_estimate;

/// One stepper of a master.
typedef struct cpl_master_part {
  cpl_stepper* stepper;  ///< its name becomes the prefix of its variables: "left.y"
  bool plain_names;      ///< its variables keep their names; those that are taken are hidden
  double step;           ///< of its own, a multiple of the master's; 0: the master's
} cpl_master_part;

/// target = factor * source + offset. Variables are indices into the steppers' descriptions.
typedef struct cpl_master_link {
  int32_t source_part, source_var;
  int32_t target_part, target_var;
  double factor, offset;  ///< factor 0 counts as 1
} cpl_master_link;

/// A power bond: two linked inputs whose product is a power, such as a force and a velocity. The
/// powers at both sides should be equal; their difference is an error of the step.
typedef struct cpl_master_bond {
  int32_t effort_part, effort_var;  ///< an input
  int32_t flow_part, flow_var;      ///< the input of the other side
} cpl_master_bond;

/// How to couple steppers. Start from cpl_default_master_def(), then change what you need.
typedef struct cpl_master_def {
  size_t size;  ///< set by cpl_default_master_def()
  const char* name;
  const cpl_master_part* parts;
  int32_t n_parts;
  const cpl_master_link* links;
  int32_t n_links;
  cpl_master_algorithm algorithm;
  cpl_on_loop on_loop;
  int32_t order;     ///< of extrapolation, 0 to 2; -1: 2 with a tolerance, 1 when iterative, else 0
  double step;       ///< maximum communication step; 0: each step() is one communication step
  double tolerance;  ///< relative, of the communication step; 0: the step is fixed
  double min_step;   ///< 0: a millionth of step
  cpl_step_estimate estimate;
  const cpl_master_bond* bonds;  ///< for CPL_ESTIMATE_ENERGY
  int32_t n_bonds;
  double loop_tolerance;  ///< of loops, relative to the size of each value; 0: 1e-9
  int32_t max_iterations;
  /// Number of iterations of loops per step, without a test of convergence; 0: until they converge.
  /// At the start and at events they are iterated until they converge in any case.
  int32_t fixed_iterations;
  bool strict;  ///< at most one stepper that neither rolls back nor predicts
  /// Number of threads that step; 0: one per processor, where steps cost enough; 1: only the
  /// caller's thread.
  int32_t threads;
  /// Inputs follow the derivatives of outputs as well, where steppers give them: the polynomials
  /// have one order more than `order`, and need less history after events.
  bool output_derivatives;
} cpl_master_def;

CPL_DEFAULTS(master_def)  ///< cpl_default_master_def()

/// Owned:    *out by the caller, who calls cpl_stepper_destroy(). The steppers belong to the master
///           from here on, also when this function fails.
/// Borrowed: def and what it points to, during the call.
CPL_API cpl_status cpl_master(cpl_context* ctx, const cpl_master_def* def, cpl_stepper** out);

//------------------------------ statistics and inspection ------------------------------

// Counters and steppers: cpl_component_inspect(); the role of a stepper is "rolls back", "predicts"
// or "legacy" (neither). The functions below serve other steppers, too: they have no parts.

/// Its communication step; 0: that of step(), or not made by cpl_master().
CPL_API double cpl_master_step_size(const cpl_stepper* s);
/// The number of its steppers; 0: it was not made by cpl_master().
CPL_API int32_t cpl_master_count(const cpl_stepper* s);
/// Returns: NULL when there is no such stepper.
CPL_API cpl_stepper* cpl_master_part_at(const cpl_stepper* s, int32_t i);

/// Delayed links and iterated loops, as texts for users. Returns their number; writes at most n.
typedef enum cpl_master_fact { CPL_FACT_DELAYED, CPL_FACT_LOOP } cpl_master_fact;
CPL_API size_t cpl_master_facts(const cpl_stepper* s, cpl_master_fact kind, const char** out,
                                size_t n);

/// The definition it was made from, without the lists. *out is a definition with its size; it is
/// unchanged where the stepper was not made by cpl_master().
CPL_API void cpl_master_get_settings(const cpl_stepper* s, cpl_master_def* out);
static inline cpl_master_def cpl_master_settings(const cpl_stepper* s) {
  cpl_master_def out = cpl_default_master_def();
  cpl_master_get_settings(s, &out);
  return out;
}

/// A link as the master executes it.
typedef struct cpl_master_link_info {
  int32_t source_part, target_part;
  const char *source, *target;  ///< variables of these steppers
  double factor, offset;
  bool delayed;   ///< an output that depends on it lags one communication step behind
  bool iterated;  ///< an unknown of a loop
} cpl_master_link_info;
CPL_API int32_t cpl_master_link_count(const cpl_stepper* s);
CPL_API cpl_master_link_info cpl_master_link_at(const cpl_stepper* s, int32_t i);

/// The calls of a communication step, in their order; calls of the same level are independent.
typedef struct cpl_master_call {
  const char* kind;  ///< "step", "get", "set", "loop"
  int32_t level;
  int32_t part;  ///< -1: a loop
  int32_t n;     ///< values of a get or set; calls that follow and belong to a loop
} cpl_master_call;
CPL_API int32_t cpl_master_call_count(const cpl_stepper* s);
CPL_API cpl_master_call cpl_master_call_at(const cpl_stepper* s, int32_t i);

/// Names as in a system file. The functions by name return false for any other name.
CPL_API bool cpl_master_algorithm_by_name(const char* name, cpl_master_algorithm* out);
CPL_API const char* cpl_master_algorithm_name(cpl_master_algorithm algorithm);
CPL_API bool cpl_on_loop_by_name(const char* name, cpl_on_loop* out);
CPL_API const char* cpl_on_loop_name(cpl_on_loop on_loop);
CPL_API bool cpl_step_estimate_by_name(const char* name, cpl_step_estimate* out);
CPL_API const char* cpl_step_estimate_name(cpl_step_estimate estimate);

#ifdef __cplusplus
}
#endif
