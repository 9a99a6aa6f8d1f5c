// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The statistics of a solver as named counters, and back.
#include <math.h>

#include "model/inspect.h"
#include "solver/integrate.h"

static const struct {
  const char *name, *unit;
  enum { INT64, INT32, REAL } type;
  bool maximum;
  size_t at;
} rows[] = {
#define ROW(name, unit, type, maximum, member) \
  { name, unit, type, maximum, offsetof(cpl_solver_stats, member) }
    ROW("steps", "", INT64, false, steps),
    ROW("rejected_steps", "", INT64, false, rejected),
    ROW("rhs_evals", "", INT64, false, rhs_evals),
    ROW("indicator_evals", "", INT64, false, indicator_evals),
    ROW("jacobians", "", INT64, false, jac_evals),
    ROW("newton_iterations", "", INT64, false, newton_iters),
    ROW("gmres_iterations", "", INT64, false, linear_iters),
    ROW("jacobian_products", "", INT64, false, products),
    ROW("state_events", "", INT64, false, state_events),
    ROW("time_events", "", INT64, false, time_events),
    ROW("step_events", "", INT64, false, step_events),
    ROW("restarts", "", INT64, false, restarts),
    ROW("projections", "", INT64, false, projections),
    ROW("largest_projection", "", REAL, true, largest_projection),
    ROW("largest_residual", "", REAL, true, largest_residual),
    ROW("algebraic_variables", "", INT32, false, algebraics),
    ROW("groups", "", INT32, false, groups),
    ROW("structure_changes", "", INT64, false, switches),
    ROW("structures", "", INT32, false, structures),
    ROW("in_models_s", "s", REAL, false, in_models_s),
#undef ROW
};

void cpli_solver_inspect(const cpl_solver_stats* stats, cpl_inspection* out) {
  for (size_t i = 0; i < CPLI_COUNT(rows); i++) {
    const void* at = (const char*)stats + rows[i].at;
    double value = rows[i].type == INT64   ? (double)*(const int64_t*)at
                   : rows[i].type == INT32 ? *(const int32_t*)at
                                           : *(const double*)at;
    cpl_inspection_add(out, (cpl_counter){rows[i].name, rows[i].unit, value, rows[i].maximum});
  }
}

void cpli_solver_stats_read(const cpl_inspection* in, cpl_solver_stats* stats) {
  for (size_t i = 0; i < CPLI_COUNT(rows); i++) {
    void* at = (char*)stats + rows[i].at;
    double value = cpl_inspection_counter(in, rows[i].name);
    if (isnan(value)) continue;
    if (rows[i].type == INT64) *(int64_t*)at = (int64_t)value;
    else if (rows[i].type == INT32) *(int32_t*)at = (int32_t)value;
    else *(double*)at = value;
  }
}
