// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in C that change the modes of floating-point arithmetic change them for themselves only.
#include "base/float_modes.h"

#include <fenv.h>
#include <float.h>

#include "couplet/model.h"
#include "testing.h"

static const char text[] =
    "#include <couplet/model.h>\n"
    "#include <fenv.h>\n"
    "static const cpl_declaration x[] = {{\"x\", .start = 1}, {0}};\n"
    "static const cpl_declaration y[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration p[] = {{\"up\"}, {0}};\n"
    "static double third(const cpl_values* v) {\n"
    "  volatile double one = v->x[0], three = 3, ratio;\n"
    "  if (v->p[0] > 0) fesetround(FE_UPWARD);\n"
    "  ratio = one / three;\n"
    "  return ratio;\n"
    "}\n"
    "static int f(const cpl_values* v, double* dx) { return dx[0] = third(v), 0; }\n"
    "static int g(const cpl_values* v, double* y) { return y[0] = third(v), 0; }\n"
    "const cpl_model_def couplet_model = {.name = \"m\", .states = x, .outputs = y,\n"
    "    .parameters = p, .derivatives = f, .output_values = g};\n";

static void write_text(const char* path) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static cpl_model* make(cpl_context* ctx, cpl_source* source, double up) {
  cpl_model* m = NULL;
  cpl_event_info info = {0};
  const cpl_setup setup = cpl_default_setup();
  CHECK_OK(ctx, cpl_source_make_model(source, "m", &m));
  const uint32_t ref = source->desc->vars[cpl_find_variable(source->desc, "up")].ref;
  CHECK_OK(ctx, cpl_component_set_real(&m->base, &ref, 1, &up));
  CHECK_OK(ctx, cpl_component_setup(&m->base, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(&m->base));
  CHECK_OK(ctx, cpl_component_exit_init(&m->base));
  CHECK_OK(ctx, cpl_model_event_update(m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(m));
  return m;
}

// The third model divides as it would if it were alone, and so does this program.
static void each_model_has_its_own_rounding(void** state) {
  (void)state;
  enum { N = 3 };
  static const double up[N] = {0, 1, 0};
  cpl_context* ctx = test_context();
  cpl_source* source = NULL;
  cpl_model* models[N];
  double x[N] = {1, 1, 1}, dx[N], values[N], wanted[N];
  write_text("m.c");
  CHECK_OK(ctx, cpl_c_open(ctx, "m.c", &source));  // which tries other parameters
  CHECK_INT(fegetround(), FE_TONEAREST);
  for (int i = 0; i < N; i++) {
    models[i] = make(ctx, source, up[i]);
    wanted[i] = up[i] > 0 ? 0x1.5555555555556p-2 : 0x1.5555555555555p-2;
  }
  const uint32_t y = source->desc->vars[cpl_find_variable(source->desc, "y")].ref;
  for (int i = 0; i < N; i++) {
    CHECK_OK(ctx, cpl_model_set_time(models[i], 1));
    CHECK_OK(ctx, cpl_model_set_states(models[i], x));
    CHECK_OK(ctx, cpl_model_get_derivatives(models[i], &dx[i]));
    CHECK_OK(ctx, cpl_component_get_real(&models[i]->base, &y, 1, &values[i]));
    CHECK_NEAR(dx[i], wanted[i], 0);
    CHECK_NEAR(values[i], wanted[i], 0);
    CHECK_INT(fegetround(), FE_TONEAREST);
    dx[i] = values[i] = NAN;
  }
  const int32_t first[N + 1] = {0, 1, 2, 3};
  const uint32_t outputs[N] = {y, y, y};
  size_t done = 0;
  const cpl_evaluation e = {
      .t = 2, .x = x, .outputs = outputs, .y = values, .first = first, .dx = dx};
  CHECK_OK(ctx, models[0]->ops->evaluate(models, N, &e, &done));
  CHECK_INT(done, N);
  CHECK_INT(fegetround(), FE_TONEAREST);
  for (int i = 0; i < N; i++) {
    CHECK_NEAR(dx[i], wanted[i], 0);
    CHECK_NEAR(values[i], wanted[i], 0);
    cpl_model_destroy(models[i]);
  }
  cpl_source_destroy(source);
  cpl_context_destroy(ctx);
}

// Compilers link code with -ffast-math that flushes small numbers when a library is loaded.
static void fast_models_flush_no_numbers_of_others(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_source* source = NULL;
  const uint32_t before = cpli_float_modes();
  write_text("fast.c");
  setenv("CC", "cc -ffast-math", 1);
  CHECK_OK(ctx, cpl_c_open(ctx, "fast.c", &source));
  unsetenv("CC");
  volatile double small = DBL_MIN;
  small /= 4;
  CHECK(small > 0);
  CHECK_INT(cpli_float_modes(), before);
  cpl_source_destroy(source);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_model_has_its_own_rounding),
      cmocka_unit_test(fast_models_flush_no_numbers_of_others),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
