// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A thermal line between two bodies, one of which is heated. The reference is the delay
// differential equation of the line, integrated here by the method of steps; and heat is conserved.
#include "lines.h"

// C Tb' = P - Q, R (Q + tau Q') = Tb - T: heat flows into the line through a resistance, after
// Cattaneo; E' = Q
static int body_derivatives(const cpl_values* v, double* dx) {
  dx[0] = (v->p[1] - v->x[1]) / v->p[0];
  dx[1] = ((v->x[0] - v->u[0]) / 0.3 - v->x[1]) / 0.8;
  dx[2] = v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration body_states[] = {
    {"Tb", .start = 293}, {"Q", .output = true}, {"E"}, END_OF_LIST};
static const cpl_declaration body_inputs[] = {{"T", .start = 293}, END_OF_LIST};
static const cpl_declaration body_parameters[] = {{"C", .start = 40}, {"P"}, END_OF_LIST};
static const cpl_model_def body_model = {.name = "body",
                                         .states = body_states,
                                         .inputs = body_inputs,
                                         .parameters = body_parameters,
                                         .derivatives = body_derivatives};

enum { DELAYS = 60, STEPS = 100, POINTS = DELAYS * STEPS };
static const double delay = 0.4, zf = 0.7, power = 150, start = 293;
static const double capacity[2] = {40, 25};

// Temperature and flow (x, with slopes d) of both bodies at multiples of delay / STEPS. At an end
// T = c + zf Q, and what arrives is c1(t) = (T2 + zf Q2)(t - delay) = (c2 + 2 zf Q2)(t - delay).
typedef struct reference {
  double x[2][POINTS + 1][2], d[2][POINTS + 1][2];
} reference;

// The wave at a point, or in the middle of the interval after it (cubic Hermite).
static double wave(const reference* f, int i, int k, bool middle) {
  if (k < STEPS) return start;  // in equilibrium before the start
  int o = 1 - i, j = k - STEPS;
  double h = delay / STEPS, q = f->x[o][j][1];
  if (middle) q = (q + f->x[o][j + 1][1]) / 2 + h / 8 * (f->d[o][j][1] - f->d[o][j + 1][1]);
  return wave(f, o, j, middle) + 2 * zf * q;
}

static void slopes(const reference* f, int i, int k, bool middle, const double* x, double* d) {
  double t = wave(f, i, k, middle) + zf * x[1];
  d[0] = ((i == 0 ? power : 0) - x[1]) / capacity[i];
  d[1] = ((x[0] - t) / 0.3 - x[1]) / 0.8;
}

// The classical Runge-Kutta method; waves are known one delay ahead.
static void integrate(reference* f) {
  double h = delay / STEPS;
  for (int i = 0; i < 2; i++) f->x[i][0][0] = start;
  for (int k = 0; k <= POINTS; k++) {
    for (int i = 0; i < 2; i++) slopes(f, i, k, false, f->x[i][k], f->d[i][k]);
    for (int i = 0; i < 2 && k < POINTS; i++) {
      const double *x = f->x[i][k], *a = f->d[i][k];
      double y[2], b[2], c[2], d[2];
      for (int n = 0; n < 2; n++) y[n] = x[n] + h / 2 * a[n];
      slopes(f, i, k, true, y, b);
      for (int n = 0; n < 2; n++) y[n] = x[n] + h / 2 * b[n];
      slopes(f, i, k, true, y, c);
      for (int n = 0; n < 2; n++) y[n] = x[n] + h * c[n];
      slopes(f, i, k + 1, false, y, d);
      for (int n = 0; n < 2; n++)
        f->x[i][k + 1][n] = x[n] + h / 6 * (a[n] + 2 * b[n] + 2 * c[n] + d[n]);
    }
  }
}

static void the_bodies_follow_the_delay_equation(void** state) {
  (void)state;
  static reference f;
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &body_model, i == 0 ? "hot" : "cold");
    bench_start(b.ctx, &m->base, "C", capacity[i]);
    if (i == 0) bench_start(b.ctx, &m->base, "P", power);
    ends[i] = bench_interface(&b, bench_part(&b, m, false), "port", CPL_TLM_THERMAL, "Q", "T");
  }
  bench_line(&b, ends[0], ends[1], delay, zf, 0);
  integrate(&f);
  bench_begin(&b, DELAYS * delay);
  double worst = 0;
  for (int k = STEPS / 4; k <= POINTS; k += STEPS / 4) {
    double t = k * delay / STEPS;
    bench_step(&b, t);
    double hot = bench_value(&b, "hot.Tb"), cold = bench_value(&b, "cold.Tb");
    worst = fmax(worst, fabs(hot - f.x[0][k][0]));
    worst = fmax(worst, fabs(cold - f.x[1][k][0]));
    // what the bodies have and what they gave is what was heated
    double heat = capacity[0] * (hot - start) + capacity[1] * (cold - start) +
                  bench_value(&b, "hot.E") + bench_value(&b, "cold.E");
    CHECK_NEAR(heat, power * t, 1e-6 * power * t);
  }
  print_message("largest error %.3g K, hot body + %.3g K\n", worst, f.x[0][POINTS][0] - start);
  CHECK(worst < 1e-5);
  CHECK(f.x[1][POINTS][0] > start + 20);
  bench_end(&b);
}

// C Tb' = -Q through a resistance: Q = (Tb - T) / R follows the temperature of the line directly
static int film_derivatives(const cpl_values* v, double* dx) {
  dx[0] = -(v->x[0] - v->u[0]) / (v->p[0] * 12);
  return CPL_MODEL_OK;
}
static int film_outputs(const cpl_values* v, double* y) {
  y[0] = (v->x[0] - v->u[0]) / v->p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration film_states[] = {{"Tb", .start = 310}, END_OF_LIST};
static const cpl_declaration film_inputs[] = {{"T", .start = 310}, END_OF_LIST};
static const cpl_declaration film_parameters[] = {{"R", .start = 0.05}, END_OF_LIST};
static const cpl_declaration film_flow[] = {{"Q"}, END_OF_LIST};
static const cpl_model_def film_model = {.name = "film",
                                         .states = film_states,
                                         .inputs = film_inputs,
                                         .parameters = film_parameters,
                                         .outputs = film_flow,
                                         .derivatives = film_derivatives,
                                         .output_values = film_outputs};

// Bodies as warm as the line between them stay so, whatever the resistances are.
static void what_is_in_equilibrium_stays_there(void** state) {
  (void)state;
  static const double resistance[][2] = {{0.05, 0.05}, {3, 0.01}, {1e-3, 40}};
  for (int r = 0; r < 3; r++) {
    bench b = bench_make();
    int32_t ends[2];
    for (int i = 0; i < 2; i++) {
      cpl_model* m = bench_model(&b, &film_model, i == 0 ? "left" : "right");
      bench_start(b.ctx, &m->base, "R", resistance[r][i]);
      ends[i] = bench_interface(&b, bench_part(&b, m, false), "port", CPL_TLM_THERMAL, "Q", "T");
    }
    bench_line(&b, ends[0], ends[1], 0.5, 0.7, 0);
    bench_begin(&b, 5);
    for (double t = 0.5; t <= 5; t += 0.5) {
      bench_step(&b, t);
      CHECK_NEAR(bench_value(&b, "left.Tb"), 310, 1e-8);
      CHECK_NEAR(bench_value(&b, "right.Tb"), 310, 1e-8);
    }
    bench_end(&b);
  }
}

// A flow that is another one at every evaluation
static int restless_outputs(const cpl_values* v, double* y) {
  static unsigned n;
  n = n * 1103515245u + 12345u;
  y[0] = n >> 16 & 127;
  (void)v;
  return CPL_MODEL_OK;
}

static void keep_warning(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)who;
  if (level == CPL_LOG_WARNING) snprintf(user, 300, "%s", text);
}

static void a_wave_that_is_not_found_is_reported(void** state) {
  (void)state;
  char warning[300] = "";
  cpl_model_def def = film_model;
  def.output_values = restless_outputs;
  bench b = bench_make();
  cpl_context_destroy(b.ctx);
  cpl_context_def how = cpl_default_context_def();
  how.log = keep_warning, how.user = warning;
  b.ctx = cpl_context_create(&how);
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, i == 0 ? &def : &film_model, i == 0 ? "left" : "right");
    ends[i] = bench_interface(&b, bench_part(&b, m, false), i == 0 ? "restless" : "port",
                              CPL_TLM_THERMAL, "Q", "T");
  }
  bench_line(&b, ends[0], ends[1], 0.5, 0.7, 0);
  b.def.parts = b.parts, b.def.interfaces = b.interfaces, b.def.lines = b.lines;
  CHECK_OK(b.ctx, cpl_tlm(b.ctx, &b.def, &b.s));
  cpl_setup setup = cpl_default_setup();
  CHECK_OK(b.ctx, cpl_component_setup(&b.s->base, &setup));
  CHECK_OK(b.ctx, cpl_component_enter_init(&b.s->base));
  CHECK_CONTAINS(warning, "restless: the wave that gives its effort at the start is not found");
  bench_end(&b);
}

static void the_kind_has_a_name(void** state) {
  (void)state;
  cpl_tlm_kind kind;
  CHECK(cpl_tlm_kind_by_name("thermal", &kind) && kind == CPL_TLM_THERMAL);
  CHECK_STR(cpl_tlm_kind_name(kind), "thermal");
  CHECK_CONTAINS(cpl_tlm_kind_names(), "electric, 3d, signal, thermal");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_bodies_follow_the_delay_equation),
      cmocka_unit_test(what_is_in_equilibrium_stays_there),
      cmocka_unit_test(a_wave_that_is_not_found_is_reported),
      cmocka_unit_test(the_kind_has_a_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
