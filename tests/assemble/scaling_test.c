// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Factor and offset of connections, after the conversion of units: between models, between
// steppers, and between both.
#include "couplet/assemble.h"
#include "testing.h"

static const char source_c[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration outputs[] = {{\"p\", .unit = \"bar\"},\n"
    "    {\"n\", .type = CPL_INTEGER}, {0}};\n"
    "static int values(const cpl_values* v, double* y) {\n"
    "  y[0] = 2 + v->t;\n"
    "  y[1] = 3;\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"source\", .outputs = outputs,\n"
    "    .output_values = values};\n";

static const char sink_c[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"p\", .unit = \"Pa\"},\n"
    "    {\"n\", .type = CPL_INTEGER}, {0}};\n"
    "static int slopes(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->u[0];\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"sink\", .states = states, .inputs = inputs,\n"
    "    .derivatives = slopes};\n";

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static cpl_status open_system(cpl_context* ctx, const char* connection, const char* a,
                              const char* b, cpl_source** out) {
  char text[1024];
  snprintf(text, sizeof text,
           "couplet: 1\nmodels:\n  a: {c: source.c%s}\n  b: {c: sink.c%s}\nconnections:\n  %s\n", a,
           b, connection);
  write_text("system.yaml", text);
  return cpl_system_open(ctx, "system.yaml", out);
}

static cpl_status keep_last(void* user, double t, const cpl_value* values) {
  (void)t;
  *(double*)user = values[0].real;
  return CPL_OK;
}

static double last_pressure(const char* connection, const char* a, const char* b) {
  cpl_context* ctx = test_context();
  cpl_source* source = NULL;
  cpl_stepper* stepper = NULL;
  double last = NAN;
  CHECK_OK(ctx, open_system(ctx, connection, a, b, &source));
  cpl_stepper_def def = cpl_default_stepper_def();
  def.step = 0.25;
  CHECK_OK(ctx, cpl_system_stepper(source, &def, &stepper));
  const char* names[] = {"b.p"};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 1;
  run.step = 0.25;
  run.interval = 0.5;
  run.record = names;
  run.n_record = 1;
  run.on_point = keep_last;
  run.user = &last;
  cpl_run_stats stats;
  CHECK_OK(ctx, cpl_run(stepper, &run, &stats));
  cpl_stepper_destroy(stepper);
  cpl_source_destroy(source);
  cpl_context_destroy(ctx);
  return last;
}

static void units_first_then_factor_and_offset(void** state) {
  (void)state;
  static const char* const kinds[][2] = {{"", ""}, {"", ", as: cs"}, {", as: cs", ", as: cs"}};
  for (int i = 0; i < 3; i++) {
    const char *a = kinds[i][0], *b = kinds[i][1];
    CHECK_NEAR(last_pressure("b.p: {from: a.p, factor: 0.5, offset: 100}", a, b), 150100, 1e-9);
    CHECK_NEAR(last_pressure("b.p: {from: a.p, offset: -1}", a, b), 299999, 1e-9);
    CHECK_NEAR(last_pressure("b.p: {from: a.p, factor: 4, convert-units: false}", a, b), 12, 1e-12);
    CHECK_NEAR(last_pressure("b.p: a.p", a, b), 3e5, 1e-9);
  }
}

static void what_cannot_be_scaled_is_refused(void** state) {
  (void)state;
  static const struct {
    const char *connection, *message;
  } wrong[] = {{"b.n: {from: a.n, factor: 2}", "a factor and an offset need Reals"},
               {"b.p: {from: 2*a.p, factor: 2}", "factor and offset belong into the expression"},
               {"b.p: {from: a.p, factor: 0}", "factor must be a finite number other than 0"},
               {"b.p: {from: a.p, offset: .inf}", "offset"}};
  for (size_t i = 0; i < 4; i++) {
    cpl_context* ctx = test_context();
    cpl_source* source = NULL;
    CHECK_INT(open_system(ctx, wrong[i].connection, "", "", &source), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), wrong[i].message);
    CHECK_CONTAINS(cpl_context_error(ctx), "system.yaml:6:");
    cpl_context_destroy(ctx);
  }
}

static int write_models(void** state) {
  (void)state;
  write_text("source.c", source_c);
  write_text("sink.c", sink_c);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(units_first_then_factor_and_offset),
      cmocka_unit_test(what_cannot_be_scaled_is_refused),
  };
  return cmocka_run_group_tests(tests, write_models, NULL);
}
