// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Waves that run away end a run, which names part, interface and time; forces that grow in a sound
// run do not.
#include <math.h>

#include "base/base.h"
#include "lines.h"

//------------------------------------ running away ------------------------------------

enum { LONGEST = 1000 };

// Two masses without any source of energy: nothing may grow. Explicit Euler makes it.
static bench masses_of_size(cpl_solver_kind kind, double size) {
  static const double delay = 1.5e-3;
  bench b = bench_make();
  int32_t ends[2];
  for (int i = 0; i < 2; i++) {
    cpl_model* one = bench_model(&b, &mass_model, i == 0 ? "left" : "right");
    bench_start(b.ctx, &one->base, "m", size * (i == 0 ? 0.02 : 0.07));
    if (i == 0) bench_start(b.ctx, &one->base, "v", 0.4);
    int32_t part = bench_part(&b, one, false);
    b.parts[part].solver.kind = i == 0 ? CPL_SOLVER_DOPRI5 : kind;
    if (i == 1) b.parts[part].solver.step = 0.25 * delay;
    ends[i] = bench_interface(&b, part, i == 0 ? "left.end" : "right.end", CPL_TLM_TRANSLATIONAL,
                              "v", "F");
  }
  bench_line(&b, ends[0], ends[1], delay, 60 * size, 0);
  return b;
}

static bench two_masses(cpl_solver_kind kind) { return masses_of_size(kind, 1); }

// The message with which the run ends.
static void run_away(bench* b, double until, char* message) {
  cpl_step_result r;
  CHECK(b->s->ops->step(b->s, until, until, &r) == CPL_ERR_MODEL);
  snprintf(message, LONGEST, "%s", cpl_context_error(b->ctx));
}

static void growing_swings_end_the_run(void** state) {
  (void)state;
  char message[LONGEST], other[LONGEST];
  double t = 0;
  bench b = two_masses(CPL_SOLVER_EULER);
  b.def.threads = 1;
  bench_begin(&b, 5);
  run_away(&b, 5, message);
  print_message("%s\n", message);
  CHECK(sscanf(message, "left: at t=%lf: the solution runs away", &t) == 1 && t > 0 && t < 1);
  CHECK(strstr(message, "the waves from left.end to right.end oscillate with an amplitude") !=
        NULL);
  bench_end(&b);
  for (int i = 0; i < 2; i++) {  // whoever computes it: in the same words, so at the same time
    b = two_masses(CPL_SOLVER_EULER);
    b.def.threads = 2;
    b.def.processes = i == 1;
    bench_begin(&b, 5);
    run_away(&b, 5, other);
    CHECK_STR(other, message);
    bench_end(&b);
  }
}

// Masses and line that are smaller or larger by the same factor move alike, and only forces differ:
// the run ends at the same time, after the same growth.
static void the_unit_of_force_does_not_matter(void** state) {
  (void)state;
  static const double sizes[] = {1, 3e-9, 5e8};
  double end[3] = {0}, width[3] = {0};
  for (int i = 0; i < 3; i++) {
    char message[LONGEST];
    bench b = masses_of_size(CPL_SOLVER_EULER, sizes[i]);
    bench_begin(&b, 5);
    run_away(&b, 5, message);
    CHECK(sscanf(message, "left: at t=%lf: the solution runs away", &end[i]) == 1);
    const char* by = strstr(message, ", by ");
    CHECK(by != NULL && sscanf(by, ", by %lf", &width[i]) == 1);
    CHECK_NEAR(end[i], end[0], 1e-9);
    CHECK_NEAR(width[i] / sizes[i], width[0], 0.02 * width[0]);  // three digits are printed
    bench_end(&b);
  }
}

static void short_steps_of_the_caller_change_nothing(void** state) {
  (void)state;
  char message[LONGEST], other[LONGEST];
  bench b = two_masses(CPL_SOLVER_EULER);
  bench_begin(&b, 5);
  run_away(&b, 5, message);
  bench_end(&b);
  b = two_masses(CPL_SOLVER_EULER);
  bench_begin(&b, 5);
  cpl_step_result r;
  cpl_status st = CPL_OK;
  for (int i = 1; st >= 0 && i < 10000; i++) st = b.s->ops->step(b.s, 5e-4 * i, 5e-4 * i, &r);
  snprintf(other, sizeof other, "%s", cpl_context_error(b.ctx));
  CHECK_STR(other, message);
  bench_end(&b);
}

static void going_back_forgets_swings(void** state) {
  (void)state;
  char message[LONGEST], other[LONGEST];
  bench b = two_masses(CPL_SOLVER_EULER);
  cpl_snapshot saved = {0};
  for (int i = 0; i < 2; i++) b.parts[i].solver.restart_each_step = true;  // else none is saved
  bench_begin(&b, 5);
  cpl_component* c = &b.s->base;
  bench_step(&b, 0.03);
  CHECK_OK(b.ctx, c->ops->save(c, &saved));
  run_away(&b, 5, message);
  CHECK_OK(b.ctx, c->ops->restore(c, &saved));
  bench_step(&b, 0.04);
  run_away(&b, 5, other);
  CHECK_STR(other, message);
  c->ops->forget(c, &saved);
  bench_end(&b);
}

static void a_better_solver_goes_on(void** state) {
  (void)state;
  bench b = two_masses(CPL_SOLVER_RK4);
  bench_begin(&b, 1);
  bench_step(&b, 1);
  CHECK(fabs(bench_value(&b, "left.v")) < 0.5 && fabs(bench_value(&b, "right.v")) < 0.5);
  bench_end(&b);
}

//------------------------------------ growing soundly ------------------------------------

// m v' = F + b v - c v^3, and a sin(w (t - from)) from then until a time
static int driven_derivatives(const cpl_values* v, double* dx) {
  const double *p = v->p, s = v->x[1];
  double push = v->t >= p[5] && v->t < p[6] ? p[1] * sin(p[2] * (v->t - p[5])) : 0;
  dx[0] = s;
  dx[1] = (v->u[0] + push + p[3] * s - p[4] * s * s * s) / p[0];
  return CPL_MODEL_OK;
}
static const cpl_declaration driven_parameters[] = {
    {"m", .start = 1}, {"a"}, {"w"}, {"b"}, {"c"}, {"from"}, {"until", .start = 1e9}, END_OF_LIST};
static const cpl_model_def driven_model = {.name = "driven",
                                           .states = mass_states,
                                           .inputs = mass_inputs,
                                           .parameters = driven_parameters,
                                           .derivatives = driven_derivatives};

typedef struct setting {
  const char* name;
  double value;
} setting;

// The model at one end of a line, at the other one a mass that hardly moves.
static bench against_wall(const setting* s, size_t n, double delay, double z) {
  bench b = bench_make();
  cpl_model* one = bench_model(&b, &driven_model, "driven");
  cpl_model* wall = bench_model(&b, &mass_model, "wall");
  for (size_t i = 0; i < n; i++) bench_start(b.ctx, &one->base, s[i].name, s[i].value);
  bench_start(b.ctx, &wall->base, "m", 1e9);
  int32_t left = bench_part(&b, one, false), right = bench_part(&b, wall, false);
  for (int i = 0; i < 2; i++) b.parts[i].solver.kind = CPL_SOLVER_DOPRI5;
  int32_t from = bench_interface(&b, left, "driven.end", CPL_TLM_TRANSLATIONAL, "v", "F");
  int32_t to = bench_interface(&b, right, "wall.end", CPL_TLM_TRANSLATIONAL, "v", "F");
  bench_line(&b, from, to, delay, z, 0);
  return b;
}

// The largest |v| from one time to another.
static double largest(bench* b, double from, double to, double by) {
  double most = 0;
  int n = (int)((to - from) / by + 0.5);
  for (int i = 1; i <= n; i++) {
    bench_step(b, from + i * by);
    most = fmax(most, fabs(bench_value(b, "driven.v")));
  }
  return most;
}

// A light mass in front of a line that is held at its other end, driven with the frequency at which
// m w = Z / tan(w Td): without damping its speed is a t / (m + Z Td / sin(w Td)^2), growing for
// ever. Here over 200 round trips.
static void a_resonance_grows_as_it_should(void** state) {
  (void)state;
  static const double delay = 1e-3, z = 40, m = 2e-3, a = 500;
  double low = 1, high = 1.5 / delay;
  for (int i = 0; i < 200; i++) {
    double w = 0.5 * (low + high);
    if (m * w < z / tan(w * delay)) low = w;
    else high = w;
  }
  const setting s[] = {{"m", m}, {"a", a}, {"w", low}};
  bench b = against_wall(s, CPLI_COUNT(s), delay, z);
  bench_begin(&b, 0.4);
  bench_step(&b, 0.39);
  double rate = a / (m + z * delay / pow(sin(low * delay), 2));
  double most = largest(&b, 0.39, 0.4, 1e-4);
  print_message("%g, to be %g\n", most, rate * 0.4);
  CHECK(fabs(most / (rate * 0.4) - 1) < 0.02);
  bench_end(&b);
}

// An unstable equilibrium: from nearly nothing to the size at which c v^2 uses up what b gives.
static void self_excitation_ends_by_itself(void** state) {
  (void)state;
  const setting s[] = {{"m", 1e-3}, {"b", 2}, {"c", 8}, {"v", 1e-9}};
  bench b = against_wall(s, CPLI_COUNT(s), 1e-3, 10);
  bench_begin(&b, 1);
  CHECK(largest(&b, 0, 0.01, 1e-4) < 1e-7);
  double most = largest(&b, 0.01, 1, 1e-4);
  print_message("%g\n", most);
  CHECK(most > 0.4 && most < 2);  // b v = c v^3 at 0.5
  bench_end(&b);
}

// The same of bodies as heavy as ships: forces of 1e9 N are nothing there.
static void self_excitation_of_large_bodies_does_so_too(void** state) {
  (void)state;
  const setting s[] = {{"m", 2e5}, {"b", 3e8}, {"c", 12e8}, {"v", 1e-9}};
  bench b = against_wall(s, CPLI_COUNT(s), 1e-3, 15e8);
  bench_begin(&b, 1);
  CHECK(largest(&b, 0, 0.01, 1e-4) < 1e-7);
  double most = largest(&b, 0.01, 1, 1e-4);
  print_message("%g\n", most);
  CHECK(most > 0.4 && most < 2);  // b v = c v^3 at 0.5
  bench_end(&b);
}

// The stroke of a hammer, half a sine of 0.5 ms, on a bar that rings by next to nothing: at once it
// rings by 1e5 N, and has no more energy than it got: v is at most 2 a / m w.
static void a_stroke_goes_on(void** state) {
  (void)state;
  static const double a = 3e4, m = 2, w = 3.14159265358979 / 5e-4;
  const setting s[] = {{"m", m},    {"a", a},       {"w", w},
                       {"v", 1e-9}, {"from", 0.05}, {"until", 0.0505}};
  bench b = against_wall(s, CPLI_COUNT(s), 1e-3, 4e4);
  bench_begin(&b, 0.4);
  double before = largest(&b, 0, 0.05, 1e-4), most = largest(&b, 0.05, 0.4, 1e-4);
  print_message("%g, then %g\n", before, most);
  CHECK(before < 1e-8 && most > 0.3 * a / m / w && most < 2 * a / m / w);
  bench_end(&b);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(growing_swings_end_the_run),
    cmocka_unit_test(the_unit_of_force_does_not_matter),
    cmocka_unit_test(short_steps_of_the_caller_change_nothing),
    cmocka_unit_test(going_back_forgets_swings),
    cmocka_unit_test(a_better_solver_goes_on),
    cmocka_unit_test(a_resonance_grows_as_it_should),
    cmocka_unit_test(self_excitation_ends_by_itself),
    cmocka_unit_test(self_excitation_of_large_bodies_does_so_too),
    cmocka_unit_test(a_stroke_goes_on),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
