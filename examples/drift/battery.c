// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A battery of 99 cells in series that delivers a given power. The current I solves
// I U(soc, temperature, I) = P, which is differentiated, so that I is a state: the equation itself
// becomes a constraint. Cells differ a little, warm up by their resistance, conduct heat to their
// neighbours and lose some to the air.
#include <couplet/model.h>
#include <math.h>

enum { CELLS = 99 };
enum { SOC = 0, TEMPERATURE = CELLS, POWER = 2 * CELLS, CURRENT };  // states
enum { CAPACITY, RESISTANCE, HEAT, LOSS, CONDUCTANCE, AMBIENT, FILTER };

// Open-circuit voltage of a LiFePO4 cell: flat, but for both ends.
static double open_voltage(double soc) {
  return 3.25 + 0.1 * soc - 0.35 * exp(-25 * soc) + 0.1 * exp(-25 * (1 - soc));
}
static double open_slope(double soc) {
  return 0.1 + 8.75 * exp(-25 * soc) + 2.5 * exp(-25 * (1 - soc));
}

static double spread(int cell) { return 1 + 0.02 * sin(1.7 * cell); }

static double resistance(const cpl_values* v, int cell) {  // falls with the temperature
  return v->p[RESISTANCE] * spread(cell) * exp(-0.02 * (v->x[TEMPERATURE + cell] - v->p[AMBIENT]));
}

typedef struct sums {
  double open, resistance;
} sums;

static sums of_cells(const cpl_values* v) {
  sums s = {0, 0};
  for (int i = 0; i < CELLS; i++) {
    s.open += open_voltage(v->x[SOC + i]);
    s.resistance += resistance(v, i);
  }
  return s;
}

static double heat_flow(const cpl_values* v, int cell) {
  const double *t = v->x + TEMPERATURE, *p = v->p;
  double flow = -p[LOSS] * (t[cell] - p[AMBIENT]);
  if (cell > 0) flow += p[CONDUCTANCE] * (t[cell - 1] - t[cell]);
  if (cell < CELLS - 1) flow += p[CONDUCTANCE] * (t[cell + 1] - t[cell]);
  return flow;
}

static int derivatives(const cpl_values* v, double* dx) {
  double current = v->x[CURRENT], changes = 0;
  for (int i = 0; i < CELLS; i++) {
    double r = resistance(v, i);
    dx[SOC + i] = -current / (3600 * v->p[CAPACITY] * spread(i + 50));
    dx[TEMPERATURE + i] = (current * current * r + heat_flow(v, i)) / v->p[HEAT];
    changes += current * open_slope(v->x[SOC + i]) * dx[SOC + i] +
               current * current * 0.02 * r * dx[TEMPERATURE + i];
  }
  sums s = of_cells(v);
  double by_current = s.open - 2 * current * s.resistance;
  if (!(by_current > 0)) {
    cpl_model_error(v, "the battery cannot deliver %g W", v->x[POWER]);
    return CPL_MODEL_RETRY;
  }
  dx[POWER] = (v->u[0] - v->x[POWER]) / v->p[FILTER];
  dx[CURRENT] = (dx[POWER] - changes) / by_current;
  return CPL_MODEL_OK;
}

static double residual(const cpl_values* v) {
  sums s = of_cells(v);
  return v->x[CURRENT] * (s.open - v->x[CURRENT] * s.resistance) - v->x[POWER];
}

static int output_values(const cpl_values* v, double* y) {
  double soc = 0, hottest = v->x[TEMPERATURE];
  for (int i = 0; i < CELLS; i++) {
    soc += v->x[SOC + i] / CELLS;
    hottest = fmax(hottest, v->x[TEMPERATURE + i]);
  }
  sums s = of_cells(v);
  y[0] = soc;
  y[1] = hottest;
  y[2] = s.open - v->x[CURRENT] * s.resistance;
  y[3] = v->x[CURRENT];
  y[4] = residual(v);
  return CPL_MODEL_OK;
}

static int constraints(const cpl_values* v, double* c) {
  c[0] = residual(v) / 1000;  // kW
  return CPL_MODEL_OK;
}

static int constraint_jacobian(const cpl_values* v, double* jac) {
  double current = v->x[CURRENT];
  for (int i = 0; i < CELLS; i++) {
    jac[SOC + i] = current * open_slope(v->x[SOC + i]) / 1000;
    jac[TEMPERATURE + i] = current * current * 0.02 * resistance(v, i) / 1000;
  }
  sums s = of_cells(v);
  jac[POWER] = -1.0 / 1000;
  jac[CURRENT] = (s.open - 2 * current * s.resistance) / 1000;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"soc", .start = 0.9, .size = CELLS},
                                         {"temperature", .start = 25, .size = CELLS, .nominal = 25},
                                         {"power", .unit = "W", .nominal = 1000},
                                         {"current", .unit = "A", .nominal = 10},
                                         {0}};
static const cpl_declaration inputs[] = {{"demand", .unit = "W"}, {0}};
static const cpl_declaration outputs[] = {{"charge", .description = "mean state of charge"},
                                          {"hottest", .description = "hottest cell in Celsius"},
                                          {"voltage", .unit = "V"},
                                          {"amperes", .unit = "A"},
                                          {"residual", .unit = "W"},
                                          {0}};
static const cpl_declaration parameters[] = {{"capacity", .start = 40, .description = "in Ah"},
                                             {"resistance", .start = 1.5e-3, .unit = "Ohm"},
                                             {"heat", .start = 900, .unit = "J/K"},
                                             {"loss", .start = 0.5, .unit = "W/K"},
                                             {"conductance", .start = 2, .unit = "W/K"},
                                             {"ambient", .start = 25},
                                             {"filter", .start = 1, .unit = "s"},
                                             {0}};

const cpl_model_def couplet_model = {.name = "battery",
                                     .description = "99 cells in series deliver a power",
                                     .states = states,
                                     .inputs = inputs,
                                     .outputs = outputs,
                                     .parameters = parameters,
                                     .derivatives = derivatives,
                                     .output_values = output_values,
                                     .n_constraints = 1,
                                     .constraints = constraints,
                                     .constraint_jacobian = constraint_jacobian,
                                     .stop_time = 760};
