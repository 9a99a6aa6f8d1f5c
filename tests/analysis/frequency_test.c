// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Frequency responses and margins against closed forms, with and without KLU.
#include "couplet/frequency.h"

#include "base/complex.h"
#include "models.h"
#include "numeric/klu.h"

#undef I
#define J CMPLX(0, 1)

static cpl_context* ctx;

//------------------------------------ models ------------------------------------

// k / ((s + 1) (s + 2) (s + 3)) as a chain, with an output of its own for the first lag, and
// u + 2 x1 passed through.
static int lags_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->u[0] - v->x[0];
  dx[1] = v->x[0] - 2 * v->x[1];
  dx[2] = v->x[1] - 3 * v->x[2];
  return CPL_MODEL_OK;
}
static int lags_outputs(const cpl_values* v, double* y) {
  y[0] = v->p[0] * v->x[2];
  y[1] = v->u[0] + 2 * v->x[0];
  y[2] = 7;
  return CPL_MODEL_OK;
}
static int lags_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                            double* d_y) {
  (void)v;
  if (d_dx != NULL) {
    d_dx[0] = d_u[0] - d_x[0];
    d_dx[1] = d_x[0] - 2 * d_x[1];
    d_dx[2] = d_x[1] - 3 * d_x[2];
  }
  if (d_y != NULL) d_y[0] = v->p[0] * d_x[2], d_y[1] = d_u[0] + 2 * d_x[0], d_y[2] = 0;
  return CPL_MODEL_OK;
}
static const cpl_declaration lags_states[] = {{"x", .size = 3}, END_OF_LIST};
static const cpl_declaration lags_inputs[] = {{"u"}, {"n", .discrete = true}, END_OF_LIST};
static const cpl_declaration lags_output_list[] = {{"y"}, {"z"}, {"c"}, END_OF_LIST};
static const cpl_declaration lags_parameters[] = {{"k", .start = 20}, END_OF_LIST};
static const cpl_model_def lags = {.name = "lags",
                                   .states = lags_states,
                                   .inputs = lags_inputs,
                                   .outputs = lags_output_list,
                                   .parameters = lags_parameters,
                                   .derivatives = lags_derivatives,
                                   .output_values = lags_outputs,
                                   .directional = lags_directional};

// w^2 / (s^2 + 2 d w s + w^2), hardly damped: a peak of 1/(2 d sqrt(1 - d^2)).
static int swing_derivatives(const cpl_values* v, double* dx) {
  dx[0] = v->x[1];
  dx[1] = 900 * (v->u[0] - v->x[0]) - 2 * 1e-4 * 30 * v->x[1];
  return CPL_MODEL_OK;
}
static const cpl_declaration swing_states[] = {{"y", .output = true}, {"v"}, END_OF_LIST};
static const cpl_model_def swing = {.name = "swing",
                                    .states = swing_states,
                                    .inputs = gain_inputs,
                                    .derivatives = swing_derivatives};

//------------------------------------ helpers ------------------------------------

typedef struct built {
  cpl_source* source;
  cpl_model* m;
} built;

static void start(built* b) {
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {0};
  CHECK_OK(ctx, cpl_source_make_model(b->source, "m", &b->m));
  CHECK_OK(ctx, cpl_component_setup(&b->m->base, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(&b->m->base));
  CHECK_OK(ctx, cpl_component_exit_init(&b->m->base));
  CHECK_OK(ctx, cpl_model_event_update(b->m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(b->m));
}

static built begin(const cpl_model_def* def) {
  built b = {0};
  CHECK_OK(ctx, cpl_c_define(ctx, def, &b.source));
  start(&b);
  return b;
}

static void end(built* b) {
  cpl_model_destroy(b->m);
  cpl_source_destroy(b->source);
}

static cpl_frequency* response(built* b, const char* from, const char* to, double low,
                               double high) {
  cpl_frequency* f = NULL;
  cpl_frequency_def def = cpl_default_frequency_def();
  def.from = from, def.to = to;
  def.low = low, def.high = high;
  CHECK_OK(ctx, cpl_frequency_create(b->m, &def, &f));
  return f;
}

static void check_near(const cpl_frequency_point* p, double complex known, double tolerance) {
  CHECK_NEAR(p->re, creal(known), tolerance * cabs(known));
  CHECK_NEAR(p->im, cimag(known), tolerance * cabs(known));
}

//------------------------------------ tests ------------------------------------

static double complex lags_at(double w) {
  double complex s = J * w;
  return 20 / ((s + 1) * (s + 2) * (s + 3));
}

static void a_chain_of_lags_responds(void** state) {
  (void)state;
  for (int with = 0; with < 2; with++) {
    cpli_klu_use(with == 0);
    built b = begin(&lags);
    cpl_frequency* f = response(&b, "u", "y", NAN, NAN);
    CHECK_NEAR(f->points[0].omega, 0.1, 1e-9);
    CHECK_NEAR(f->points[f->n - 1].omega, 30, 1e-7);
    for (int i = 0; i < f->n; i++) {
      check_near(&f->points[i], lags_at(f->points[i].omega), 1e-12);
      CHECK(i == 0 || f->points[i].omega > f->points[i - 1].omega);
    }
    CHECK_NEAR(f->at_zero, 20.0 / 6, 1e-12);
    // the phase goes on below -180 degrees
    CHECK_NEAR(f->points[f->n - 1].phase, -(atan(30) + atan(15) + atan(10)) * 180 / M_PI, 1e-8);
    // -180 degrees at w^2 = 11, where the gain is 20 / 60
    CHECK_NEAR(f->margins.gain, 3, 1e-10);
    CHECK_NEAR(f->margins.gain_omega, sqrt(11), 1e-10);
    // gain 1: (w^2 + 1) (w^2 + 4) (w^2 + 9) = 400
    double w = f->margins.phase_omega;
    CHECK_NEAR((w * w + 1) * (w * w + 4) * (w * w + 9), 400, 1e-9);
    double margin = M_PI - atan(w) - atan(w / 2) - atan(w / 3);
    CHECK_NEAR(f->margins.phase, margin * 180 / M_PI, 1e-9);
    CHECK_NEAR(f->margins.delay, margin / w, 1e-10);
    // bandwidth: the gain falls to 1/sqrt(2) of that at zero
    w = f->bandwidth;
    CHECK_NEAR((w * w + 1) * (w * w + 4) * (w * w + 9), 72, 1e-9);
    cpl_frequency_destroy(f);
    end(&b);
    cpli_klu_use(true);
  }
}

static void what_is_passed_through_responds(void** state) {
  (void)state;
  built b = begin(&lags);
  cpl_frequency* f = response(&b, "u", "z", 0.01, 100);
  for (int i = 0; i < f->n; i++)
    check_near(&f->points[i], 1 + 2 / (J * f->points[i].omega + 1), 1e-12);
  CHECK(isnan(f->margins.gain) && isnan(f->margins.phase));
  cpl_frequency_destroy(f);
  f = response(&b, "u", "u", 0.01, 100);
  for (int i = 0; i < f->n; i++) check_near(&f->points[i], 1, 1e-15);
  cpl_frequency_destroy(f);
  f = response(&b, "u", "c", 0.01, 100);
  for (int i = 0; i < f->n; i++) CHECK(f->points[i].re == 0 && f->points[i].im == 0);
  cpl_frequency_destroy(f);
  f = response(&b, "u", "x[2]", 0.01, 100);
  for (int i = 0; i < f->n; i++) {
    double complex s = J * f->points[i].omega;
    check_near(&f->points[i], 1 / ((s + 1) * (s + 2)), 1e-12);
  }
  cpl_frequency_destroy(f);
  end(&b);
}

static void narrow_peaks_are_seen(void** state) {
  (void)state;
  built b = begin(&swing);
  cpl_frequency* f = response(&b, "u", "y", NAN, NAN);
  for (int i = 0; i < f->n; i++) {
    double complex s = J * f->points[i].omega;
    check_near(&f->points[i], 900 / (s * s + 2 * 1e-4 * 30 * s + 900), 1e-6);
  }
  CHECK_NEAR(f->peak, 1 / (2e-4 * sqrt(1 - 1e-8)), 1e-8 / 2e-4);
  CHECK_NEAR(f->peak_omega, 30 * sqrt(1 - 2e-8), 1e-6);
  for (int i = 1; i < f->n; i++) CHECK_NEAR(f->points[i].phase, f->points[i - 1].phase, 20);
  cpl_frequency_destroy(f);
  end(&b);
}

// The largest gain is that of the response, not of the points.
static void peaks_lie_between_points(void** state) {
  (void)state;
  static const double omegas[] = {0, 20, 29, 40};
  built b = begin(&swing);
  cpl_frequency_def def = cpl_default_frequency_def();
  cpl_frequency* f = NULL;
  def.from = "u", def.to = "y", def.omegas = omegas, def.n_omegas = 4;
  CHECK_OK(ctx, cpl_frequency_create(b.m, &def, &f));
  CHECK_INT(f->n, 4);
  CHECK_NEAR(f->peak, 1 / (2e-4 * sqrt(1 - 1e-8)), 1e-8 / 2e-4);
  cpl_frequency_destroy(f);
  def.n_omegas = 2;  // no neighbour above: the largest in the range
  CHECK_OK(ctx, cpl_frequency_create(b.m, &def, &f));
  CHECK_NEAR(f->peak, 900 / hypot(500, 2 * 1e-4 * 30 * 20), 1e-9);
  CHECK_NEAR(f->peak_omega, 20, 1e-12);
  cpl_frequency_destroy(f);
  end(&b);
}

static void chosen_frequencies_are_kept(void** state) {
  (void)state;
  static const double omegas[] = {0, 0.3, 3, 4000};
  built b = begin(&lags);
  cpl_frequency_def def = cpl_default_frequency_def();
  cpl_frequency* f = NULL;
  def.from = "u", def.to = "y", def.omegas = omegas, def.n_omegas = 4;
  CHECK_OK(ctx, cpl_frequency_create(b.m, &def, &f));
  CHECK_INT(f->n, 4);
  for (int i = 0; i < 4; i++) {
    CHECK_NEAR(f->points[i].omega, omegas[i], 0);
    check_near(&f->points[i], lags_at(omegas[i]), 1e-12);
  }
  cpl_frequency_destroy(f);
  end(&b);
}

// Two lags in a ring with a nested system: h = g / (1 + g), g = 20 / (...), closed by a formula.
static void coupled_systems_respond(void** state) {
  (void)state;
  cpl_source *source = NULL, *inner = NULL;
  cpl_system_def *def = NULL, *within = NULL;
  cpl_member_def member = cpl_default_member_def();
  cpl_input_def in = cpl_default_input_def();
  CHECK_OK(ctx, cpl_c_define(ctx, &lags, &source));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &within));
  member.name = "lags", member.source = source;
  CHECK_OK(ctx, cpl_system_def_add_model(within, &member));
  in.name = "e", in.start = "0";
  CHECK_OK(ctx, cpl_system_def_add_input(within, &in));
  CHECK_OK(ctx, cpl_system_def_connect(within, "lags.u", "2*e"));
  CHECK_OK(ctx, cpl_system_def_add_output(within, "y", "lags.y/2"));
  CHECK_OK(ctx, cpl_system_build(ctx, within, &inner));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  member = cpl_default_member_def();
  member.name = "plant", member.source = inner;
  CHECK_OK(ctx, cpl_system_def_add_model(def, &member));
  in.name = "r";
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK_OK(ctx, cpl_system_def_connect(def, "plant.e", "r - plant.y"));
  CHECK_OK(ctx, cpl_system_def_add_output(def, "out", "plant.y"));
  built b = {0};
  CHECK_OK(ctx, cpl_system_build(ctx, def, &b.source));
  start(&b);
  cpl_frequency* f = response(&b, "r", "out", 0.01, 100);
  for (int i = 0; i < f->n; i++) {
    double complex g = lags_at(f->points[i].omega);
    check_near(&f->points[i], g / (1 + g), 1e-11);
  }
  cpl_frequency_destroy(f);
  f = response(&b, "r", "plant.lags.x[1]", 0.01, 100);
  for (int i = 0; i < f->n; i++) {
    double complex s = J * f->points[i].omega, g = lags_at(f->points[i].omega);
    check_near(&f->points[i], 2 / (s + 1) / (1 + g), 1e-11);
  }
  cpl_frequency_destroy(f);
  end(&b);
  cpl_source_destroy(inner);
  cpl_source_destroy(source);
  cpl_system_def_destroy(def);
  cpl_system_def_destroy(within);
}

static void bad_requests_are_told(void** state) {
  (void)state;
  static const double descending[] = {2, 1};
  static const struct {
    const char *from, *to, *message;
    double low, high;
    const double* omegas;
  } cases[] = {
      {"w", "y", "w", NAN, NAN, NULL},
      {"u", "Y", "Y", NAN, NAN, NULL},
      {"k", "y", "k is not a continuous Real input", NAN, NAN, NULL},
      {"n", "y", "n is not a continuous Real input", NAN, NAN, NULL},
      {"u", "k", "k is not a continuous Real", NAN, NAN, NULL},
      {"u", "y", "is empty", 3, 2, NULL},
      {"u", "y", "is empty", -1, 2, NULL},
      {"u", "y", "frequencies ascend", NAN, NAN, descending},
      {NULL, "y", "from an input to an output", NAN, NAN, NULL},
  };
  built b = begin(&lags);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    cpl_frequency_def def = cpl_default_frequency_def();
    cpl_frequency* f = NULL;
    def.from = cases[i].from, def.to = cases[i].to;
    def.low = cases[i].low, def.high = cases[i].high;
    def.omegas = cases[i].omegas, def.n_omegas = 2;
    CHECK_INT(cpl_frequency_create(b.m, &def, &f), CPL_ERR_INPUT);
    CHECK(f == NULL);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
  }
  end(&b);
  static const double zero = 0;
  b = begin(&gain_model);  // an integrator
  cpl_frequency_def def = cpl_default_frequency_def();
  cpl_frequency* f = NULL;
  def.from = "u", def.to = "x", def.omegas = &zero, def.n_omegas = 1;
  CHECK_INT(cpl_frequency_create(b.m, &def, &f), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "infinite at 0 rad/s");
  f = response(&b, "u", "x", NAN, NAN);
  for (int i = 0; i < f->n; i++) check_near(&f->points[i], 1 / (J * f->points[i].omega), 1e-12);
  CHECK(isnan(f->at_zero));
  CHECK_NEAR(f->margins.phase, 90, 1e-9);
  cpl_frequency_destroy(f);
  end(&b);
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* outer = ctx;
    ctx = test_context_with_heap(&heap);
    built b = begin(&lags);
    cpl_frequency_def def = cpl_default_frequency_def();
    cpl_frequency* f = NULL;
    def.from = "u", def.to = "y";
    heap.fail_at = heap.calls + n;
    cpl_status st = cpl_frequency_create(b.m, &def, &f);
    heap.fail_at = -1;
    cpl_frequency_destroy(f);
    end(&b);
    cpl_context_destroy(ctx);
    ctx = outer;
    CHECK_INT(heap.live, 0);
    if (st >= 0) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_chain_of_lags_responds),
      cmocka_unit_test(what_is_passed_through_responds),
      cmocka_unit_test(narrow_peaks_are_seen),
      cmocka_unit_test(peaks_lie_between_points),
      cmocka_unit_test(chosen_frequencies_are_kept),
      cmocka_unit_test(coupled_systems_respond),
      cmocka_unit_test(bad_requests_are_told),
      cmocka_unit_test(every_failed_allocation_is_survived),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
