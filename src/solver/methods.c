// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One row per method. The names are in couplet/solver.h, the coefficients of fixed-step methods in
// fixed.c.
#include <assert.h>

#include "solver/solver.h"

#ifdef CPL_FMU_PARTS  // FMUs contain fewer methods
#define OF_LIBRARY(create) NULL
#else
#define OF_LIBRARY(create) create
#endif

static const cpli_method methods[] = {
    [CPL_SOLVER_CVODE] = {cpli_cvode_create, .implicit = true, .takes_systems = true,
                          .projects = true, .multistep = true, .one_step = CPL_SOLVER_RADAU},
    [CPL_SOLVER_ADAMS] = {cpli_cvode_create, cpli_shifted_create, .multistep = true,
                          .one_step = CPL_SOLVER_DOPRI5},
    [CPL_SOLVER_RK4] = {cpli_fixed_create, .fixed = true},
    [CPL_SOLVER_EULER] = {cpli_fixed_create, .fixed = true},
    [CPL_SOLVER_HEUN] = {cpli_fixed_create, .fixed = true},
    [CPL_SOLVER_RADAU] = {cpli_radau_create, .implicit = true},
    [CPL_SOLVER_DOPRI5] = {OF_LIBRARY(cpli_arkode_create)},
    [CPL_SOLVER_ERK8] = {OF_LIBRARY(cpli_arkode_create), .not_dense = true},
    [CPL_SOLVER_ESDIRK5] = {OF_LIBRARY(cpli_arkode_create), .implicit = true,
                            .takes_systems = true},
    [CPL_SOLVER_IDA] = {OF_LIBRARY(cpli_ida_create), .implicit = true, .takes_systems = true,
                        .residuals = true, .multistep = true, .one_step = CPL_SOLVER_RADAU},
};

const cpli_method* cpli_method_of(cpl_solver_kind kind) {
  assert((size_t)kind < CPLI_COUNT(methods));
  return &methods[kind];
}

//------------------------------------ names ------------------------------------

static const char* const names[] = {
#define X(kind, name, text) [kind] = name,
    CPL_SOLVER_LIST(X)
#undef X
};
static_assert(CPLI_COUNT(names) == CPLI_COUNT(methods), "one row per solver");

// The names in the TLM framework.
static const struct {
  const char* name;
  cpl_solver_kind kind;
} other_names[] = {{"CVODE", CPL_SOLVER_CVODE},
                   {"IDA", CPL_SOLVER_IDA},
                   {"RungeKutta", CPL_SOLVER_RK4},
                   {"Euler", CPL_SOLVER_EULER}};

bool cpl_solver_by_name(const char* name, cpl_solver_kind* out) {
  for (size_t i = 0; i < CPLI_COUNT(other_names); i++) {
    if (strcmp(name, other_names[i].name) != 0) continue;
    *out = other_names[i].kind;
    return true;
  }
  int32_t i = cpli_find_text(names, CPLI_COUNT(names), name);
  if (i >= 0) *out = (cpl_solver_kind)i;
  return i >= 0;
}

int32_t cpl_solver_count(void) { return (int32_t)CPLI_COUNT(names); }
const char* cpl_solver_name(cpl_solver_kind kind) { return names[kind]; }
bool cpl_solver_is_fixed_step(cpl_solver_kind kind) { return methods[kind].fixed; }

const char* cpl_solver_names(void) {
#define X(kind, name, text) ", " name
  return &CPL_SOLVER_LIST(X)[2];
#undef X
}
