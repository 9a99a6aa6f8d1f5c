// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sections measures and study of a system file, as lines: a line that begins with + is a
// factor, any other a measure. The measures are those of a run with an event, and a second run
// gives the same values.
#include <math.h>

#include "couplet/component.h"
#include "couplet/design.h"
#include "couplet/solver.h"
#include "fuzz_model.h"
#include "run/run.h"
#include "study/measure.h"

enum { MOST = 8 };

static cpl_status on_row(void* user, double t, const cpl_value* values) {
  return cpli_meter_row(user, t, values);
}

static bool run_once(cpl_context* ctx, cpl_stepper* s, cpl_simulation* sim, cpli_meter* meter,
                     double* out) {
  cpli_meter_start(meter);
  cpl_status st = cpl_simulation_start(sim);
  if (st >= 0) st = cpl_simulation_advance(sim, 1);
  if (st >= 0) st = cpl_simulation_finish(sim, NULL);
  if (st >= 0) st = cpli_meter_finish(meter, out);
  if (st >= 0) st = s->base.ops->reset(&s->base);
  cpli_run_rewind(sim);
  return fuzz_fine(ctx, st);
}

static void measure(cpl_context* ctx, const cpli_measures* m) {
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def run = cpl_default_run_def();
  cpl_stepper* s = NULL;
  cpl_simulation* sim = NULL;
  cpli_meter* meter = NULL;
  cpl_model* model = NULL;
  double first[MOST], second[MOST];
  solver.kind = CPL_SOLVER_DOPRI5;
  run.stop_time = 1;
  run.interval = 0.25;
  run.record = m->vars;
  run.n_record = m->n_vars;
  run.on_point = on_row;
  FUZZ_CHECK(cpli_meter_create(m, &meter) >= 0);
  run.user = meter;
  FUZZ_CHECK(cpl_source_make_model(fuzz_source(), "mass", &model) >= 0);
  FUZZ_CHECK(cpl_integrate(model, &solver, &s) >= 0);
  if (fuzz_fine(ctx, cpl_simulation_create(s, &run, &sim)) &&
      fuzz_fine(ctx, cpli_meter_attach(meter, sim)) && run_once(ctx, s, sim, meter, first)) {
    FUZZ_CHECK(run_once(ctx, s, sim, meter, second));
    for (size_t i = 0; i < m->n; i++)
      FUZZ_CHECK(first[i] == second[i] || (isnan(first[i]) && isnan(second[i])));
  }
  cpl_simulation_destroy(sim);
  cpl_stepper_destroy(s);
  cpli_meter_destroy(meter);
}

// What is printed is read as the same factor.
static void read_factor(cpl_context* ctx, const char* text) {
  static char printed[1 << 16];
  cpl_factor f, again;
  if (!fuzz_fine(ctx, cpl_factor_read(ctx, text, NULL, &f))) return;
  const size_t n = cpl_factor_print(&f, printed, sizeof printed);
  if (strstr(printed, "=table:") == NULL && n < sizeof printed) {
    FUZZ_CHECK(cpl_factor_read(ctx, printed, NULL, &again) >= 0);
    FUZZ_CHECK(strcmp(again.name, f.name) == 0 && again.kind == f.kind && again.n == f.n);
    FUZZ_CHECK(again.a == f.a && again.b == f.b && again.c == f.c);
    cpl_factor_free(ctx, &again);
  }
  cpl_factor_free(ctx, &f);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const names[MOST] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  cpl_context* ctx = fuzz_context();
  char* text = fuzz_text(data, size);
  cpl_measure_def defs[MOST];
  size_t n = 0;
  char *rest = text, *line = strtok_r(text, "\n", &rest);
  for (; line != NULL && n < MOST; line = strtok_r(NULL, "\n", &rest)) {
    if (line[0] == '+') {
      read_factor(ctx, line + 1);
      continue;
    }
    defs[n] = (cpl_measure_def){.name = names[n], .text = line, .file = "f", .line = 3};
    n++;
  }
  cpli_measures* m = NULL;
  if (fuzz_fine(ctx, cpli_measures_parse(ctx, defs, n, fuzz_source()->desc, 0, 1, &m)))
    measure(ctx, m);
  cpli_measures_destroy(m);
  free(text);
  return 0;
}
