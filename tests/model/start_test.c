// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Start values of arrays and of structural parameters, on a component that only remembers.
#include "model/start.h"

#include "base/base.h"
#include "testing.h"

typedef struct remembering {
  cpl_component base;
  double values[4];
} remembering;

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  for (size_t i = 0; i < n; i++) ((remembering*)c)->values[refs[i]] = values[i];
  return CPL_OK;
}

static const cpl_component_ops ops = {
    .size = sizeof(cpl_component_ops), .kind = "remembering", .set_real = set_real};

#define REAL(name_, ref_)                                                                         \
  {                                                                                               \
    .name = name_, .ref = ref_, .type = CPL_REAL, .causality = CPL_CAUSALITY_PARAMETER,           \
    .variability = CPL_VARIABILITY_FIXED, .unit = -1, .declared_type = -1, .array = 1, .min = -9, \
    .max = 9                                                                                      \
  }

typedef struct fixture {
  cpl_description desc;
  cpli_names names;
  remembering r;
} fixture;

static void begin(fixture* f) {
  static const cpl_variable vars[] = {
      REAL("x[1]", 0),
      REAL("x[2]", 1),
      REAL("x[3]", 2),
      {.name = "n",
       .type = CPL_INTEGER,
       .causality = CPL_CAUSALITY_PARAMETER,
       .variability = CPL_VARIABILITY_FIXED,
       .structural = true,
       .has_start = true,
       .start = 3,
       .unit = -1,
       .declared_type = -1,
       .min = 0,
       .max = 9},
  };
  static const int32_t sizes[] = {3};
  static const cpl_array arrays[] = {{.name = "x", .count = 3, .sizes = sizes, .n_sizes = 1}};
  cpl_context* ctx = test_context();
  *f = (fixture){.desc = {.name = "m", .vars = vars, .n_vars = 4, .arrays = arrays, .n_arrays = 1}};
  CHECK_OK(ctx, cpli_names_init(&f->names, ctx, 4));
  for (int32_t i = 0; i < 4; i++) cpli_names_add(&f->names, vars[i].name, i);
  f->desc.names = &f->names;
  f->r.base = (cpl_component){.ops = &ops, .desc = &f->desc, .ctx = ctx, .name = "m"};
}

static void end(fixture* f) {
  cpli_names_free(&f->names);
  cpl_context_destroy(f->r.base.ctx);
}

static cpl_status set(fixture* f, const char* name, const char* value) {
  return cpli_set_starts(&f->r.base, &(cpl_start){name, value}, 1);
}

static void expect(const fixture* f, double a, double b, double c) {
  CHECK_NEAR(f->r.values[0], a, 0);
  CHECK_NEAR(f->r.values[1], b, 0);
  CHECK_NEAR(f->r.values[2], c, 0);
}

static void sets_arrays(void** state) {
  (void)state;
  fixture f;
  begin(&f);
  CHECK_OK(f.r.base.ctx, set(&f, "x", "[1, 2.5,3 ]"));
  expect(&f, 1, 2.5, 3);
  CHECK_OK(f.r.base.ctx, set(&f, "x[2]", "4"));
  expect(&f, 1, 4, 3);
  CHECK_OK(f.r.base.ctx, set(&f, "x", "7"));
  expect(&f, 7, 7, 7);
  static const char* const bad[] = {"[1, 2]", "[1, 2, 3, 4]", "[1, 2, 3"};
  for (size_t i = 0; i < CPLI_COUNT(bad); i++) {
    CHECK_INT(set(&f, "x", bad[i]), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(f.r.base.ctx), "it has 3 elements");
  }
  CHECK_INT(set(&f, "x", "[1, 2, 10]"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.r.base.ctx), "x[3]");
  end(&f);
}

static void structural_parameters_are_settled(void** state) {
  (void)state;
  fixture f;
  begin(&f);
  CHECK_OK(f.r.base.ctx, set(&f, "n", "3"));
  CHECK_INT(set(&f, "n", "4"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.r.base.ctx), "when the model is opened");
  end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(sets_arrays),
                                     cmocka_unit_test(structural_parameters_are_settled)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
