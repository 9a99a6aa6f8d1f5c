// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "tlm/tlm.h"
#include "lines.h"

//------------------------------------ two masses ------------------------------------

typedef struct two {
  double delay, alpha;
  bool stepper, compensate;
  cpl_tlm_hold hold;
  cpl_solver_kind solver;
  int substeps, threads;
  bool processes;
} two;

// Two masses of 1 kg, the left one with v = 1, on a line that is a spring of 1000 N/m.
static bench two_masses(const two* how) {
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &mass_model, i == 0 ? "left" : "right");
    if (i == 0) bench_start(b.ctx, &m->base, "v", 1);
    int32_t part = bench_part(&b, m, how->stepper);
    b.parts[part].hold = how->hold;
    b.parts[part].substeps = how->substeps;
    b.parts[part].solver.kind = how->solver;
    ends[i] = bench_interface(&b, part, "end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], how->delay, 1000 * how->delay, how->alpha);
  b.lines[0].compensate = how->compensate;
  b.def.threads = how->threads;
  b.def.processes = how->processes;
  return b;
}

// The largest error of the speed over 1 s, against the spring without mass.
static double spring_error(const two* how, double stiffness) {
  bench b = two_masses(how);
  double worst = 0, w = sqrt(2 * stiffness);
  bench_begin(&b, 1);
  for (int i = 1; i <= 200; i++) {
    double t = i * 0.005;
    bench_step(&b, t);
    worst = fmax(worst, fabs(bench_value(&b, "left.v") - (0.5 + 0.5 * cos(w * t))));
    worst = fmax(worst, fabs(bench_value(&b, "right.v") - (0.5 - 0.5 * cos(w * t))));
  }
  bench_end(&b);
  return worst;
}

static void check_second_order(two how, double coarse, double fine) {
  how.delay = 1e-3;
  double first = spring_error(&how, 1000);
  how.delay = 1e-4;
  double second = spring_error(&how, 1000);
  print_message("errors %.3g %.3g\n", first, second);
  CHECK(first <= coarse);
  CHECK(second <= fine);
  CHECK(first / second > 90 && first / second < 110);
}

static void models_are_second_order(void** state) {
  (void)state;
  check_second_order((two){0}, 2e-3, 2e-5);
}

static void held_in_the_middle_is_second_order(void** state) {
  (void)state;
  check_second_order((two){.stepper = true}, 2e-3, 2e-5);
}

static void input_derivatives_are_second_order(void** state) {
  (void)state;
  check_second_order((two){.stepper = true, .hold = CPL_TLM_HOLD_LINEAR}, 2.5e-3, 2.5e-5);
}

static void solvers_agree(void** state) {
  (void)state;
  static const cpl_solver_kind kinds[] = {CPL_SOLVER_CVODE,  CPL_SOLVER_ADAMS, CPL_SOLVER_RK4,
                                          CPL_SOLVER_DOPRI5, CPL_SOLVER_RADAU, CPL_SOLVER_IDA};
  for (size_t i = 0; i < CPLI_COUNT(kinds); i++)
    CHECK_NEAR(spring_error(&(two){.delay = 1e-3, .solver = kinds[i]}, 1000), 1.77e-3, 2e-5);
}

// Held at the beginning of steps: first order, and a hundred times worse.
static void held_at_the_start_is_first_order(void** state) {
  (void)state;
  two how = {.stepper = true, .hold = CPL_TLM_HOLD_START, .delay = 1e-4, .substeps = 1};
  double error = spring_error(&how, 1000);
  CHECK(error > 1e-2 && error < 2e-2);
  how.substeps = 8;
  CHECK(spring_error(&how, 1000) < error / 4);
}

// Zf h / m > 1: what is held overshoots. It is said, instead of numbers without end.
static void steps_too_long_for_a_force_are_told(void** state) {
  (void)state;
  two how = {.stepper = true, .delay = 0.1, .substeps = 1};
  bench b = two_masses(&how);
  cpl_step_result r;
  b.lines[0].zf = 30;
  bench_begin(&b, 100);
  CHECK_INT(b.s->ops->step(b.s, 100, 100, &r), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(b.ctx), "oscillates with growing amplitude");
  CHECK_CONTAINS(cpl_context_error(b.ctx), "more than 1 substeps");
  bench_end(&b);
  b = two_masses(&(two){.stepper = true, .delay = 0.1, .substeps = 4});
  b.lines[0].zf = 30;
  bench_begin(&b, 100);
  bench_step(&b, 100);
  CHECK_NEAR(bench_value(&b, "left.v") + bench_value(&b, "right.v"), 1, 0.9);
  bench_end(&b);
}

//------------------------------------ reflections ------------------------------------

enum { SOURCE_R = 200000000, LOAD_R = 500000000, LINE_Z = 100000000, STEP = 10000000 };

static int source_outputs(const cpl_values* v, double* y) {
  y[0] = (v->w[0] - v->u[0]) / (SOURCE_R + v->p[1]);
  return CPL_MODEL_OK;
}
static int source_initialize(const cpl_values* v, cpl_event_actions* a) {
  a->next_time = v->p[0];
  return CPL_MODEL_OK;
}
static int source_event(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->time_event) a->w[0] = STEP, a->next_time = INFINITY;
  return CPL_MODEL_OK;
}
static int load_outputs(const cpl_values* v, double* y) {
  y[0] = -v->u[0] / (LOAD_R + v->p[1]);
  return CPL_MODEL_OK;
}
static int source_directional(const cpl_values* v, const double* d_x, const double* d_u,
                              double* d_dx, double* d_y) {
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = -d_u[0] / (SOURCE_R + v->p[1]);
  return CPL_MODEL_OK;
}
static int load_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  (void)d_x, (void)d_dx;
  if (d_y != NULL) d_y[0] = -d_u[0] / (LOAD_R + v->p[1]);
  return CPL_MODEL_OK;
}
static const cpl_declaration flow[] = {{"q"}, END_OF_LIST}, pressure[] = {{"p"}, END_OF_LIST},
                             opens[] = {{"ts"}, {"z"}, END_OF_LIST},
                             level[] = {{"ps"}, END_OF_LIST};
static const cpl_model_def source_model = {.name = "source",
                                           .inputs = pressure,
                                           .outputs = flow,
                                           .parameters = opens,
                                           .discrete = level,
                                           .output_values = source_outputs,
                                           .directional = source_directional,
                                           .initialize = source_initialize,
                                           .event = source_event};
static const cpl_model_def load_model = {.name = "load",
                                         .inputs = pressure,
                                         .outputs = flow,
                                         .parameters = opens,
                                         .output_values = load_outputs,
                                         .directional = load_directional};

// Pressure at the load: each round trip adds its share.
static double load_pressure(double t, double opens_at, double delay) {
  const double z = LINE_Z, there = (LOAD_R - z) / (LOAD_R + z),
               back = (SOURCE_R - z) / (SOURCE_R + z);
  double p = 0, share = STEP * z / (z + SOURCE_R) * (1 + there);
  for (int n = 0; opens_at + (2 * n + 1) * delay <= t; n++, share *= there * back) p += share;
  return p;
}

// `inside`: the models take the wave c and know of the line, q = (ps - c) / (R + Z); else the
// line's p = c + Z q is solved with theirs.
static void check_reflections(double opens_at, int threads, bool inside) {
  const double delay = 0.01;
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m =
        bench_model(&b, i == 0 ? &source_model : &load_model, i == 0 ? "source" : "load");
    bench_start(b.ctx, &m->base, "ts", opens_at);
    if (inside) bench_start(b.ctx, &m->base, "z", LINE_Z);
    ends[i] = bench_interface(&b, bench_part(&b, m, false), "port", CPL_TLM_HYDRAULIC, "q", "p");
    b.interfaces[ends[i]].takes_wave = inside;
  }
  bench_line(&b, ends[0], ends[1], delay, LINE_Z, 0);
  b.def.threads = threads;
  bench_begin(&b, 1);
  for (int i = 1; i <= 97; i++) {  // never where the pressure jumps
    double t = 0.0101237 * i;
    bench_step(&b, t);
    double expected = load_pressure(t, opens_at, delay);
    CHECK_NEAR(-bench_value(&b, "load.q") * LOAD_R / STEP, expected / STEP, inside ? 1e-14 : 2e-11);
    if (!inside) CHECK_NEAR(bench_value(&b, "load.p") / STEP, expected / STEP, 2e-11);
  }
  bench_end(&b);
}

static void reflections_are_exact(void** state) {
  (void)state;
  static const double times[] = {0.02, 0.01, 0.0137, 0.00213};  // where pieces end, and inside
  for (size_t i = 0; i < CPLI_COUNT(times); i++) {
    for (int inside = 0; inside < 2; inside++) check_reflections(times[i], 1 + i % 2, inside == 1);
  }
}

//------------------------------------ damping ------------------------------------

static int push_outputs(const cpl_values* v, double* y) {
  y[0] = v->t < 0.1 ? pow(sin(10 * 3.14159265358979324 * v->t), 2) * v->p[0] : 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration speed[] = {{"v"}, END_OF_LIST}, force_in[] = {{"F"}, END_OF_LIST},
                             height[] = {{"top"}, END_OF_LIST};
static const cpl_model_def push_model = {.name = "push",
                                         .inputs = force_in,
                                         .outputs = speed,
                                         .parameters = height,
                                         .output_values = push_outputs};

// One end is pushed in by 0.05 and stays there, the other one does not move: what force remains?
static double remaining_force(double alpha, bool compensate) {
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* m = bench_model(&b, &push_model, i == 0 ? "left" : "right");
    bench_start(b.ctx, &m->base, "top", i == 0);
    ends[i] = bench_interface(&b, bench_part(&b, m, false), "end", CPL_TLM_TRANSLATIONAL, "v", "F");
  }
  bench_line(&b, ends[0], ends[1], 1e-3, 1, alpha);
  b.lines[0].compensate = compensate;
  bench_begin(&b, 2);
  bench_step(&b, 2);
  double f = bench_value(&b, "right.F");
  CHECK_NEAR(bench_value(&b, "left.F"), -f, 1e-6 * f);
  bench_end(&b);
  return f;
}

static void alpha_softens_as_predicted(void** state) {
  (void)state;
  const double exact = 1000 * 0.05;  // k x
  CHECK_NEAR(remaining_force(0.2, false) / exact, 1 / 1.375, 2e-5);
  CHECK_NEAR(remaining_force(0.5, false) / exact, 1 / 2.5, 2e-5);
  CHECK_NEAR(remaining_force(0.2, true) / exact, 1, 2e-5);
  cpl_tlm_facts f = cpl_tlm_line_facts(&(cpl_tlm_line){.delay = 1e-4, .zf = 1e4, .alpha = 0.2});
  CHECK_NEAR(f.factor, 1.375, 1e-15);
  CHECK_NEAR(f.mass, 1.375, 1e-15);
  CHECK_NEAR(f.stiffness, 1e8 / 1.375, 1e-6);
  CHECK_NEAR(f.frequency, 5000, 1e-9);
}

static void compensated_damping_keeps_the_frequency(void** state) {
  (void)state;
  two how = {.delay = 1e-4, .alpha = 0.2};
  CHECK(spring_error(&how, 1000) > 0.9);
  CHECK(spring_error(&how, 1000 / 1.375) < 2e-2);
  how.compensate = true;
  CHECK(spring_error(&how, 1000) < 1.5e-2);
}

//------------------------------------ the same bytes ------------------------------------

typedef struct trace {
  double values[400];
} trace;

static trace trace_of(const two* how) {
  trace out;
  bench b = two_masses(how);
  bench_begin(&b, 1);
  for (int i = 0; i < 200; i++) {
    bench_step(&b, 0.0013 * (i + 1));
    out.values[2 * i] = bench_value(&b, "left.v");
    out.values[2 * i + 1] = bench_value(&b, "right.x");
  }
  bench_end(&b);
  return out;
}

static void threads_and_processes_change_no_bit(void** state) {
  (void)state;
  two how = {.delay = 1e-3, .alpha = 0.1};
  for (int stepper = 0; stepper < 2; stepper++) {
    how.stepper = stepper == 1;
    how.threads = 1, how.processes = false;
    trace alone = trace_of(&how);
    for (int threads = 2; threads <= 8; threads *= 2) {
      how.threads = threads;
      trace beside = trace_of(&how);
      assert_memory_equal(&alone, &beside, sizeof alone);
    }
    how.processes = true;
    trace apart = trace_of(&how);
    assert_memory_equal(&alone, &apart, sizeof alone);
  }
}

// Where results are asked for does not change them.
static void output_points_change_no_bit(void** state) {
  (void)state;
  two how = {.delay = 1e-3};
  double last[2];
  for (int often = 0; often < 2; often++) {
    bench b = two_masses(&how);
    bench_begin(&b, 1);
    for (int i = 1; i <= 777 && often == 1; i++) bench_step(&b, i / 1000.0);
    bench_step(&b, 0.9);
    last[often] = bench_value(&b, "left.v");
    bench_end(&b);
  }
  CHECK(last[0] == last[1]);
}

// x' = 1: what arrives changes nothing.
static int clock_derivatives(const cpl_values* v, double* dx) {
  dx[0] = 1 + 0 * v->u[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration clock_states[] = {{"x", .output = true}, END_OF_LIST};
static const cpl_declaration clock_inputs[] = {{"u"}, {"w"}, END_OF_LIST};
static const cpl_model_def clock_model = {.name = "clock",
                                          .states = clock_states,
                                          .inputs = clock_inputs,
                                          .derivatives = clock_derivatives};

// Delays of which none is a multiple of another: at an output point every component is there,
// though the interval of one may begin before it with waves of one that ends after it.
static void components_with_other_delays_reach_output_points(void** state) {
  (void)state;
  static const double delays[] = {0.088, 0.066, 0.05};
  double last[2] = {0};
  for (int often = 0; often < 2; often++) {
    bench b = bench_make();
    for (int i = 0; i < 3; i++) {
      int32_t part =
          bench_part(&b, bench_model(&b, &clock_model, (char[]){'a' + (char)i, 0}), false);
      b.parts[part].solver.kind = CPL_SOLVER_CVODE;
    }
    for (int i = 0; i < 3; i++) {  // a ring
      int32_t from = bench_interface(&b, i, "out", CPL_TLM_SIGNAL, "x", NULL);
      int32_t to = bench_interface(&b, (i + 1) % 3, "in", CPL_TLM_SIGNAL, NULL, "u");
      bench_line(&b, from, to, delays[i], 0, 0);
    }
    bench_begin(&b, 2);
    for (int i = 1; i <= 360 && often == 1; i++) {
      double t = i * 0.0055;
      bench_step(&b, t);
      CHECK_NEAR(bench_value(&b, "a.x"), t, 1e-9);
      CHECK_NEAR(bench_value(&b, "b.x"), t, 1e-9);
      CHECK_NEAR(bench_value(&b, "c.x"), t, 1e-9);
    }
    bench_step(&b, 2);
    last[often] = bench_value(&b, "a.x");
    bench_end(&b);
  }
  CHECK(last[0] == last[1]);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(models_are_second_order),
    cmocka_unit_test(held_in_the_middle_is_second_order),
    cmocka_unit_test(input_derivatives_are_second_order),
    cmocka_unit_test(solvers_agree),
    cmocka_unit_test(held_at_the_start_is_first_order),
    cmocka_unit_test(steps_too_long_for_a_force_are_told),
    cmocka_unit_test(reflections_are_exact),
    cmocka_unit_test(alpha_softens_as_predicted),
    cmocka_unit_test(compensated_damping_keeps_the_frequency),
    cmocka_unit_test(threads_and_processes_change_no_bit),
    cmocka_unit_test(output_points_change_no_bit),
    cmocka_unit_test(components_with_other_delays_reach_output_points),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
