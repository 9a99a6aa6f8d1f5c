// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Every choice of a system file has a name, and the name gives the choice back.
#include "couplet/couplet.h"
#include "testing.h"

// Each value from 0 to `last` has the name at that index of the list, and no other text is one.
#define CHECK_NAMES(type, name_of, by_name, last, ...)                     \
  do {                                                                     \
    const char* const expected[] = {__VA_ARGS__};                          \
    CHECK_INT((int)(sizeof expected / sizeof *expected), (int)(last) + 1); \
    for (int i = 0; i <= (int)(last); i++) {                               \
      type value = (type)((i + 1) % ((int)(last) + 1));                    \
      CHECK_STR(name_of((type)i), expected[i]);                            \
      CHECK(by_name(expected[i], &value));                                 \
      CHECK_INT((int)value, i);                                            \
    }                                                                      \
    type value = (type)(last);                                             \
    CHECK(!by_name("", &value) && !by_name("none of them", &value));       \
    CHECK_INT((int)value, (int)(last)); /* unchanged */                    \
  } while (0)

static void names_of_solvers(void** state) {
  (void)state;
  CHECK_NAMES(cpl_linear_solver, cpl_linear_solver_name, cpl_linear_solver_by_name,
              CPL_LINEAR_GMRES, "direct", "gmres");
  CHECK_NAMES(cpl_form, cpl_form_name, cpl_form_by_name, CPL_FORM_DAE, "auto", "ode", "dae");
  CHECK_NAMES(cpl_projection, cpl_projection_name, cpl_projection_by_name, CPL_PROJECT_NEVER,
              "auto", "lazy", "every", "events", "off");
}

static void names_of_masters(void** state) {
  (void)state;
  CHECK_NAMES(cpl_master_algorithm, cpl_master_algorithm_name, cpl_master_algorithm_by_name,
              CPL_MASTER_ITERATIVE, "determinate", "jacobi", "gauss-seidel", "iterative");
  CHECK_NAMES(cpl_on_loop, cpl_on_loop_name, cpl_on_loop_by_name, CPL_LOOP_ERROR, "auto", "iterate",
              "delay", "error");
  CHECK_NAMES(cpl_step_estimate, cpl_step_estimate_name, cpl_step_estimate_by_name,
              CPL_ESTIMATE_ENERGY, "predictor", "richardson", "energy");
}

static void names_of_modes_and_lines(void** state) {
  (void)state;
  CHECK_NAMES(cpl_on_entry, cpl_on_entry_name, cpl_on_entry_by_name, CPL_ENTRY_WAIT, "follow",
              "error", "wait");
  CHECK_NAMES(cpl_tlm_hold, cpl_tlm_hold_name, cpl_tlm_hold_by_name, CPL_TLM_HOLD_START, "middle",
              "linear", "start");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(names_of_solvers),
      cmocka_unit_test(names_of_masters),
      cmocka_unit_test(names_of_modes_and_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
