// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Many instances of an FMU of couplet in one aggregate, which evaluates up to 64 of them by one
// call (coupletEvaluate): the same bits as with the calls of the standard, also where models
// remember their calls and ask for other points; a failure and a crash name the instance, the
// function and the time. Without the call, or with a call log, the standard's are used.
#include <math.h>

#include "archive.h"
#include "couplet/aggregate.h"
#include "couplet/export.h"
#include "couplet/fmi.h"
#include "couplet/run.h"
#include "couplet/solver.h"
#include "testing.h"

enum { N = 70 };

// Counts its calls, and adds their number to its derivative. how: 1: asks for another point now and
// then, 2: fails, 3: crashes.
static const char text[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration x[] = {{\"x\", .start = 1}, {\"v\"}, {0}}, u[] = {{\"u\"}, "
    "{0}};\n"
    "static const cpl_declaration y[] = {{\"y\"}, {0}};\n"
    "static const cpl_declaration p[] = {{\"k\", .start = 1}, {\"how\"}, {0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) {\n"
    "  double* calls = v->memory;\n"
    "  *calls += 1;\n"
    "  dx[0] = v->x[1] + 1e-9 * *calls;\n"
    "  dx[1] = v->p[0] * (v->u[0] - v->x[0]) - 0.1 * v->x[1];\n"
    "  if (v->p[1] == 1) return v->t > 0.2 && (int)*calls % 89 == (int)v->p[0] ? CPL_MODEL_RETRY : "
    "0;\n"
    "  if (v->t < 1 || (v->p[0] != 3 && v->p[0] != 5)) return CPL_MODEL_OK;\n"
    "  if (v->p[1] == 2) return cpl_model_error(v, \"it is worn out\");\n"
    "  if (v->p[1] == 3) *(volatile int*)8 = 0;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int outputs(const cpl_values* v, double* y) {\n"
    "  y[0] = v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"many\", .states = x, .inputs = u, .outputs = "
    "y,\n"
    "  .parameters = p, .memory_size = sizeof(double), .derivatives = derivatives,\n"
    "  .output_values = outputs};\n";

static int setup(void** state) {
  make_context(state);
  write_bytes("many.c", text, strlen(text));
  cpl_build_def def = cpl_default_build_def();
  def.model = "many.c", def.output = "many.fmu";
  CHECK_OK(*state, cpl_fmu_build(*state, &def, NULL, 0));
  return 0;
}

typedef struct result {
  double last[N + 2];
  int64_t rows;
  cpl_status st;
  char error[1024];
} result;

static cpl_status keep(void* user, double t, const cpl_value* values) {
  result* r = user;
  r->last[N] = t;
  r->last[N + 1] += values[1].real * sin(t);
  for (int i = 0; i < N; i++) r->last[i] = values[i].real;
  r->rows++;
  return CPL_OK;
}

static uint32_t ref_of(const cpl_source* s, const char* name) {
  return s->desc->vars[cpl_find_variable(s->desc, name)].ref;
}

// A ring of springs. `plainly`: the calls of the standard.
static cpl_model* make(cpl_context* ctx, cpl_source* src, int how, bool plainly) {
  static cpl_model_ops plain;
  cpl_model *parts[N], *m = NULL;
  cpl_coupling couplings[N];
  memset(couplings, 0, sizeof couplings);
  const int32_t u = cpl_find_variable(src->desc, "u"), y = cpl_find_variable(src->desc, "y");
  const uint32_t refs[] = {ref_of(src, "k"), ref_of(src, "how")};
  for (int i = 0; i < N; i++) {
    char name[8];
    const double values[] = {i == 2 ? 3 : i == 67 ? 5 : 1 + i % 2, how};
    snprintf(name, sizeof name, "m%02d", i);
    CHECK_OK(ctx, cpl_source_make_model(src, name, &parts[i]));
    CHECK(parts[i]->ops->evaluate != NULL);
    plain = *parts[i]->ops;
    plain.evaluate = NULL;
    if (plainly) parts[i]->ops = &plain;
    CHECK_OK(ctx, cpl_component_set_real(&parts[i]->base, refs, 2, values));
    couplings[i].target = (cpl_port){i, u};
    couplings[i].source = (cpl_port){(i + 9) % N, y};
    couplings[i].factor = 0.5;
  }
  cpl_aggregate_def def = cpl_default_aggregate_def();
  def.name = "ring", def.parts = parts, def.n_parts = N;
  def.couplings = couplings, def.n_couplings = N;
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &m));
  return m;
}

static result run(int how, bool plainly, int threads, const char* call_log) {
  result r = {.rows = 0};
  static char names[N][8];
  const char* record[N];
  cpl_context* ctx = test_context();
  cpl_fmu_def fmu = cpl_default_fmu_def();
  cpl_source* src = NULL;
  cpl_stepper* s = NULL;
  fmu.path = "many.fmu", fmu.call_log = call_log;
  cpl_context_use_threads(ctx, threads);
  CHECK_OK(ctx, cpl_fmu_open(ctx, &fmu, &src));
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(ctx, cpl_integrate(make(ctx, src, how, plainly), &solver, &s));
  for (int i = 0; i < N; i++) snprintf(names[i], sizeof *names, "m%02d.x", i), record[i] = names[i];
  cpl_run_def def = cpl_default_run_def();
  def.stop_time = 2, def.interval = 0.1, def.record = record, def.n_record = N;
  def.on_point = keep, def.user = &r;
  r.st = cpl_run(s, &def, NULL);
  snprintf(r.error, sizeof r.error, "%s", r.st < 0 ? cpl_context_error(ctx) : "");
  cpl_stepper_destroy(s);
  cpl_source_destroy(src);
  cpl_context_destroy(ctx);
  return r;
}

static void results_are_those_of_the_standard(void** state) {
  (void)state;
  for (int how = 0; how < 2; how++) {
    const result plain = run(how, true, 1, NULL);
    CHECK_INT(plain.st, CPL_OK);
    CHECK_INT(plain.rows, 21);
    for (int threads = 1; threads <= 3; threads++) {
      const result many = run(how, false, threads, NULL);
      CHECK_INT(many.st, CPL_OK);
      CHECK(memcmp(plain.last, many.last, sizeof plain.last) == 0);
    }
    if (how == 1) continue;
    const result logged = run(how, false, 1, "calls.log");
    CHECK(memcmp(plain.last, logged.last, sizeof plain.last) == 0);
  }
}

static void a_call_log_has_the_calls_of_the_standard(void** state) {
  char line[4096];
  long n = 0;
  (void)state;
  FILE* f = fopen("calls.log", "r");
  CHECK(f != NULL);
  while (fgets(line, sizeof line, f) != NULL) {
    n += strstr(line, "fmi2GetDerivatives") != NULL;
    CHECK(strstr(line, "coupletEvaluate") == NULL);
  }
  fclose(f);
  CHECK(n > 20 * N);
}

static void check_failure(int how, const char* why) {
  const result plain = run(how, true, 1, NULL), many = run(how, false, 1, NULL);
  CHECK_INT(many.st, CPL_ERR_MODEL);
  CHECK_INT(plain.st, CPL_ERR_MODEL);
  CHECK_CONTAINS(many.error, "m02");
  CHECK_CONTAINS(many.error, "fmi2GetDerivatives at t=1");
  CHECK_CONTAINS(many.error, why);
  CHECK_STR(many.error, plain.error);
  CHECK_INT(many.rows, plain.rows);
}

static void the_instance_that_fails_is_named(void** state) {
  (void)state;
  check_failure(2, "it is worn out");
}

static void the_instance_that_crashes_is_named(void** state) {
  (void)state;
  cpl_guard_crashes();
  check_failure(3, "SIGSEGV");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_are_those_of_the_standard),
      cmocka_unit_test(a_call_log_has_the_calls_of_the_standard),
      cmocka_unit_test(the_instance_that_fails_is_named),
      cmocka_unit_test(the_instance_that_crashes_is_named),
  };
  return cmocka_run_group_tests_name("export/many_instances", tests, setup, drop_context);
}
