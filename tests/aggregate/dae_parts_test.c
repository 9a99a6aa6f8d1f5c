// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Differential-algebraic models as parts of a system: their residuals are rows of the integrator's
// system, beside the loops between models. The reference solves the scalar cubic equation for the
// flow and integrates the difference of the two levels.
#include "base/base.h"
#include "couplet/aggregate.h"
#include "models.h"

// x' = z, 0 = z + z^3 - 3 (u - x)
static int cell_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->z[0];
  return CPL_MODEL_OK;
}
static int cell_residuals(const cpl_values* v, double* g) {
  double z = v->z[0];
  g[0] = z + z * z * z - 3 * (v->u[0] - v->x[0]);
  return CPL_MODEL_OK;
}
static const cpl_declaration cell_states[] = {{"x", .start = 0.5, .output = true}, END_OF_LIST};
static const cpl_declaration cell_algebraics[] = {{"z", .output = true}, END_OF_LIST};
static const cpl_declaration cell_inputs[] = {{"u"}, END_OF_LIST};
static const cpl_model_def cell_model = {.name = "cell",
                                         .states = cell_states,
                                         .algebraics = cell_algebraics,
                                         .inputs = cell_inputs,
                                         .derivatives = cell_derivatives,
                                         .residuals = cell_residuals};

// w' = -q, and w grows by 1 at t = 0.7
static int tank_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -v->u[0];
  return CPL_MODEL_OK;
}
static int tank_start(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  a->next_time = 0.7;
  return CPL_MODEL_OK;
}
static int tank_event(const cpl_values* v, cpl_event_actions* a) {
  if (a->time_event) a->x[0] = v->x[0] + 1;
  a->next_time = v->t < 0.7 ? 0.7 : INFINITY;
  return CPL_MODEL_OK;
}
static const cpl_declaration tank_states[] = {{"w", .start = 3, .output = true}, END_OF_LIST};
static const cpl_declaration tank_inputs[] = {{"q"}, END_OF_LIST};
static const cpl_model_def tank_model = {.name = "tank",
                                         .states = tank_states,
                                         .inputs = tank_inputs,
                                         .initialize = tank_start,
                                         .event = tank_event,
                                         .derivatives = tank_derivatives};

// u = w + share z is a loop while the cell solves for z itself; q = z.
static const double share = 0.2;

static cpl_status level(void* user, double t, const double* from, double* out) {
  (void)user, (void)t;
  *out = from[0] + share * from[1];
  return CPL_OK;
}

enum { CELL, TANK };

typedef struct fixture {
  cpl_source* sources[2];
  cpl_model* m;
} fixture;

static fixture make(cpl_context* ctx, bool looped) {
  static const cpl_model_def* const defs[] = {&cell_model, &tank_model};
  static const char* const names[] = {"cell", "tank"};
  fixture f = {0};
  cpl_model* parts[2];
  int32_t u = 0, x = 0;
  for (int i = 0; i < 2; i++) {
    CHECK_OK(ctx, cpl_c_define(ctx, defs[i], &f.sources[i]));
    CHECK_OK(ctx, f.sources[i]->ops->make_model(f.sources[i], names[i], &parts[i]));
  }
  const cpl_description *c = f.sources[CELL]->desc, *t = f.sources[TANK]->desc;
  u = cpl_find_variable(c, "u");
  x = cpl_find_variable(t, "w");
  cpl_port both[] = {{TANK, x}, {CELL, cpl_find_variable(c, "z")}};
  cpl_coupling couplings[] = {{.target = {CELL, u}, .source = {TANK, x}},
                              {.target = {TANK, cpl_find_variable(t, "q")}, .source = both[1]}};
  if (looped)
    couplings[0] = (cpl_coupling){.target = {CELL, u},
                                  .function = {.sources = both, .n_sources = 2, .value = level}};
  cpl_aggregate_def def = {.size = sizeof def,
                           .name = "pair",
                           .parts = parts,
                           .n_parts = 2,
                           .couplings = couplings,
                           .n_couplings = 2};
  CHECK_OK(ctx, cpl_aggregate(ctx, &def, &f.m));
  return f;
}

static void drop(fixture* f) {
  for (int i = 0; i < 2; i++) f->sources[i]->ops->destroy(f->sources[i]);
}

// z + z^3 = 3 (d + part z)
static double flow(double d, double part) {
  double z = d;
  for (int i = 0; i < 40; i++)
    z -= ((1 - 3 * part) * z + z * z * z - 3 * d) / (1 - 3 * part + 3 * z * z);
  return z;
}

// d = w - x falls by 2 z.
static double fall(double d, double part, double time) {
  double h = time / 2000;
  for (int i = 0; i < 2000; i++) {
    double a = -2 * flow(d, part), b = -2 * flow(d + h / 2 * a, part);
    double c = -2 * flow(d + h / 2 * b, part), e = -2 * flow(d + h * c, part);
    d += h / 6 * (a + 2 * b + 2 * c + e);
  }
  return d;
}

static void residuals_of_parts_are_rows(void** state) {
  cpl_context* ctx = *state;
  static const char* const columns[] = {"cell.x", "cell.z", "tank.w"};
  for (int k = 0; k < 4; k++) {
    bool looped = k % 2 == 1, as_rows = k < 2;
    double part = looped ? share : 0;
    fixture f = make(ctx, looped);
    cpl_solver_def solver = cpl_default_solver_def();
    solver.kind = CPL_SOLVER_IDA;
    solver.rtol = 1e-8;
    solver.form = as_rows ? CPL_FORM_DAE : CPL_FORM_ODE;
    recording* r = recording_by(ctx, f.m, 2, &solver, columns, 3);
    CHECK_OK(ctx, cpl_run(r->stepper, &r->run, &r->stats));
    CHECK_INT(r->stats.solver.algebraics, as_rows ? 1 + looped : 0);
    double d = fall(fall(2.5, part, 0.7) + 1, part, 1.3);
    CHECK_NEAR(last_of(r)[2] - last_of(r)[0], d, 1e-6);
    CHECK_NEAR(last_of(r)[1], flow(d, part), 1e-6);
    for (size_t i = 0; i < r->n; i++) {
      double before = r->value[i][2] - r->value[i][0];
      CHECK_NEAR(r->value[i][1], flow(before, part), 1e-6);
      CHECK_NEAR(r->value[i][0] + r->value[i][2], r->t[i] < 0.7 || i == 0 ? 3.5 : 4.5,
                 r->t[i] == 0.7 ? 1.1 : 1e-7);
    }
    drop_run(r);
    drop(&f);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(residuals_of_parts_are_rows),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
