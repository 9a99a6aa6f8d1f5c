// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The program of docs/library.md: library SYSTEM.yaml. It is tested with examples/simple_coupling,
// whose solution is known: a.x = 9 exp(-t).
#include <couplet/couplet.h>
#include <math.h>
#include <stdio.h>

// doc:begin log
static void print_message(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  fprintf(stderr, "%s: %s: %s\n", level == CPL_LOG_WARNING ? "warning" : "message", who, text);
}

static cpl_context* make_context(void) {
  cpl_context_def def = cpl_default_context_def();
  def.log = print_message;
  return cpl_context_create(&def);
}
// doc:end

// doc:begin open
static cpl_status open_system(cpl_context* ctx, const char* path, cpl_source** system,
                              cpl_stepper** stepper) {
  cpl_status st = cpl_system_open(ctx, path, system);
  cpl_stepper_def def = cpl_default_stepper_def();
  def.solver.rtol = 1e-8;
  return st < 0 ? st : cpl_system_stepper(*system, &def, stepper);
}
// doc:end

// doc:begin file
typedef struct output {
  cpl_context* ctx;
  cpl_results* results;
} output;

static cpl_status open_file(void* user, const cpl_column* columns, size_t n) {
  output* out = user;
  cpl_results_def def = cpl_default_results_def();
  def.path = "result.csv";
  return cpl_results_open(out->ctx, &def, columns, n, &out->results);
}

static cpl_status write_row(void* user, double t, const cpl_value* values) {
  output* out = user;
  return cpl_results_record(out->results, t, values);
}

static cpl_status run_into_file(cpl_context* ctx, cpl_stepper* stepper) {
  output out = {.ctx = ctx};
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 2;
  run.interval = 0.1;
  run.on_columns = open_file;
  run.on_point = write_row;
  run.user = &out;
  cpl_status st = cpl_run(stepper, &run, NULL);
  cpl_status closed = cpl_results_close(out.results);
  return st < 0 ? st : closed;
}
// doc:end

// doc:begin steps
static cpl_status step_by_hand(cpl_stepper* stepper, double* at_one) {
  const cpl_table* rows = NULL;
  cpl_simulation* sim = NULL;
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 2;
  run.interval = 0.1;
  cpl_status st = cpl_simulation_create(stepper, &run, &sim);
  if (st >= 0) st = cpl_simulation_start(sim);
  if (st >= 0) st = cpl_simulation_advance(sim, 1);
  if (st >= 0) st = cpl_simulation_get(sim, "a.x", at_one);
  if (st >= 0) st = cpl_simulation_advance(sim, 2);
  if (st >= 0) st = cpl_simulation_finish(sim, NULL);
  if (st >= 0) st = cpl_simulation_table(sim, &rows);
  if (st >= 0) {
    size_t column = (size_t)cpl_table_find(rows, "a.x"), n = rows->n_rows;
    printf("%zu rows, a.x ends at %.6f\n", n, rows->values[column * n + n - 1]);
  }
  cpl_simulation_destroy(sim);
  return st;
}
// doc:end

int main(int argc, char** argv) {
  double at_one = NAN;
  if (argc != 2) return 2;
  // doc:begin main
  cpl_context* ctx = make_context();
  cpl_source* system = NULL;
  cpl_stepper* stepper = NULL;
  cpl_status st = open_system(ctx, argv[1], &system, &stepper);
  if (st >= 0) st = run_into_file(ctx, stepper);
  if (st >= 0) st = cpl_component_reset(cpl_stepper_component(stepper));
  if (st >= 0) st = step_by_hand(stepper, &at_one);
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  cpl_stepper_destroy(stepper);
  cpl_source_destroy(system);
  cpl_context_destroy(ctx);
  // doc:end
  printf("a.x(1) = %.6f\n", at_one);
  return st < 0 || !(fabs(at_one - 9 * exp(-1)) < 1e-6);
}
