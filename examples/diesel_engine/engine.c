// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The cylinders of a diesel engine, averaged over their cycles: pressure and temperature follow
// what compression and combustion make of the air that comes in, at a speed that goes up and down.
#include <couplet/model.h>
#include <math.h>

enum { P, T };  // states
enum { P_IN };  // input
enum { FLOW };  // output
enum { VD, ETA, RT, T_IN, RATIO, KAPPA, HEAT, TAU_P, TAU_T, N0, N1, F };

static const cpl_declaration states[] = {{"p", .start = 50e5, .unit = "Pa", .nominal = 1e6,
                                          .description = "cylinder pressure", .output = true},
                                         {"T", .start = 900, .unit = "K", .nominal = 1e3,
                                          .description = "cylinder temperature", .output = true},
                                         {0}};
static const cpl_declaration inputs[] = {
    {"p_in", .start = 1e5, .unit = "Pa", .description = "pressure of the air that comes in"}, {0}};
static const cpl_declaration outputs[] = {
    {"flow", .unit = "kg/s", .description = "air that is taken"}, {0}};
static const cpl_declaration parameters[] = {
    {"Vd", .start = 2e-3, .unit = "m3", .description = "displacement"},
    {"eta", .start = 0.9, .description = "volumetric efficiency"},
    {"RT", .start = 86100, .unit = "J/kg"},
    {"T_in", .start = 300, .unit = "K"},
    {"ratio", .start = 18, .description = "compression ratio"},
    {"kappa", .start = 1.35},
    {"heat", .start = 800, .unit = "K",
     .description = "temperature gained by combustion, at 1 bar"},
    {"tau_p", .start = 0.05, .unit = "s"},
    {"tau_T", .start = 0.5, .unit = "s"},
    {"n0", .start = 25, .unit = "1/s", .description = "mean speed"},
    {"n1", .start = 5, .unit = "1/s", .description = "its amplitude"},
    {"f", .start = 0.4, .unit = "1/s", .description = "its frequency"},
    {0}};

static double speed(const cpl_values* v) {
  return v->p[N0] + v->p[N1] * sin(2 * 3.14159265358979323846 * v->p[F] * v->t);
}

static int burn(const cpl_values* v, double* dx) {
  const double* p = v->p;
  double load = speed(v) / p[N0], air = v->u[P_IN] / 1e5;
  double hot = p[T_IN] * pow(p[RATIO], p[KAPPA] - 1);
  double peak = hot + p[HEAT] * load / air;  // the same fuel heats less air more
  dx[P] = (v->u[P_IN] * p[RATIO] * peak / p[T_IN] - v->x[P]) / p[TAU_P];
  dx[T] = (0.5 * (hot + peak) - v->x[T]) / p[TAU_T];
  return CPL_MODEL_OK;
}

static int breathe(const cpl_values* v, double* y) {
  const double* p = v->p;
  y[FLOW] = p[ETA] * p[VD] * speed(v) / 2 * v->u[P_IN] / p[RT];
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "engine",
                                     .description = "Cylinders of a diesel engine",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = burn,
                                     .output_values = breathe};
