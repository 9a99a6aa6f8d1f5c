// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A stiff plate of 10,000 temperatures in one model, and a rod of as many in 1,000 coupled models:
// rest points against the harmonic functions they are, eigenvalues against their cosines.
#include "base/base.h"
#include "base/complex.h"
#include "couplet/frequency.h"
#include "couplet/spectrum.h"
#include "couplet/steady.h"
#include "models.h"

#undef I

enum { SIDE = 100, N = SIDE * SIDE };
static const double conduction = 1e6;

static cpl_context* ctx;

// The temperature of the surroundings, harmonic on the grid: x y, up to a factor.
static double outside(int i, int j) { return 0.01 * (i + 1) * (j + 1); }

static double at(const double* x, int i, int j) {
  bool inside = i >= 0 && i < SIDE && j >= 0 && j < SIDE;
  return inside ? x[i * SIDE + j] : outside(i, j);
}

static int conduct(const cpl_values* v, double* dx) {
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      double sum =
          at(v->x, i - 1, j) + at(v->x, i + 1, j) + at(v->x, i, j - 1) + at(v->x, i, j + 1);
      dx[i * SIDE + j] = conduction * (sum - 4 * at(v->x, i, j));
    }
  }
  return CPL_MODEL_OK;
}

// der(T[k]) depends on its neighbours.
static cpl_dependency* plate_dependencies(void) {
  cpl_dependency* list = calloc(N + 1, sizeof *list);
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      int k = i * SIDE + j;
      char *of = malloc(40), *on = malloc(200);
      snprintf(of, 40, "der(T[%d])", k + 1);
      int n = snprintf(on, 200, "T[%d]", k + 1);
      if (i > 0) n += snprintf(on + n, 200 - (size_t)n, " T[%d]", k + 1 - SIDE);
      if (i < SIDE - 1) n += snprintf(on + n, 200 - (size_t)n, " T[%d]", k + 1 + SIDE);
      if (j > 0) n += snprintf(on + n, 200 - (size_t)n, " T[%d]", k);
      if (j < SIDE - 1) snprintf(on + n, 200 - (size_t)n, " T[%d]", k + 2);
      list[k] = (cpl_dependency){.of = of, .on = on};
    }
  }
  return list;
}

static cpl_model* begun(cpl_source* source) {
  cpl_model* m = NULL;
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {0};
  CHECK_OK(ctx, cpl_source_make_model(source, "plate", &m));
  CHECK_OK(ctx, cpl_component_setup(&m->base, &setup));
  CHECK_OK(ctx, cpl_component_enter_init(&m->base));
  CHECK_OK(ctx, cpl_component_exit_init(&m->base));
  CHECK_OK(ctx, cpl_model_event_update(m, &info));
  CHECK_OK(ctx, cpl_model_enter_continuous(m));
  return m;
}

static double eigenvalue(int p, int q) {
  double x = sin(p * M_PI / (2 * (SIDE + 1))), y = sin(q * M_PI / (2 * (SIDE + 1)));
  return -4 * conduction * (x * x + y * y);
}

static void a_plate_is_at_rest(void** state) {
  (void)state;
  static const cpl_declaration states[] = {{"T", .start = 20, .size = N}, END_OF_LIST};
  cpl_dependency* dependencies = plate_dependencies();
  cpl_model_def plate = {
      .name = "plate", .states = states, .derivatives = conduct, .dependencies = dependencies};
  cpl_source* source = NULL;
  cpl_steady* s = NULL;
  cpl_spectrum* e = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &plate, &source));
  cpl_model* m = begun(source);
  double since = cpli_now();
  CHECK_OK(ctx, cpl_steady_create(m, NULL, &s));
  double found = cpli_now();
  CHECK_OK(ctx, cpl_spectrum_create(m, NULL, &e));
  print_message("rest point: %.2f s, eigenvalues: %.2f s\n", found - since, cpli_now() - found);
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) CHECK_NEAR(s->x[i * SIDE + j], outside(i, j), 1e-9);
  }
  CHECK_INT(s->n_undetermined, 0);
  CHECK_INT(e->stability, CPL_STABLE);
  CHECK(!e->complete);
  CHECK(e->n_modes >= 5);
  // those of (p, q) and (q, p) are equal: one of them is certain to be found
  static const int order[][2] = {{1, 1}, {1, 2}, {2, 2}, {1, 3}};
  double last = 0;
  int k = 0;
  for (int n = 0; n < e->n_modes && k < 4; n++) {
    if (n > 0 && fabs(e->modes[n].re / last - 1) < 1e-5) continue;
    last = e->modes[n].re;
    CHECK_NEAR(last / eigenvalue(order[k][0], order[k][1]), 1, 1e-6);
    k++;
  }
  CHECK_INT(k, 4);
  cpl_spectrum_destroy(e);
  cpl_steady_destroy(s);
  cpl_model_destroy(m);
  cpl_source_destroy(source);
  for (int i = 0; i < N; i++) free((char*)dependencies[i].of), free((char*)dependencies[i].on);
  free(dependencies);
}

//------------------------------------ many models ------------------------------------

enum { ROWS = 1000, PER_ROW = 10 };

// Ten temperatures in a row; heat flows to the next row by inputs.
static int row_derivatives(const cpl_values* v, double* dx) {
  for (int j = 0; j < PER_ROW; j++) {
    double left = j > 0 ? v->x[j - 1] : v->u[0], right = j + 1 < PER_ROW ? v->x[j + 1] : v->u[1];
    dx[j] = conduction * (left - 2 * v->x[j] + right);
  }
  return CPL_MODEL_OK;
}
static int row_directional(const cpl_values* v, const double* d_x, const double* d_u, double* d_dx,
                           double* d_y) {
  const cpl_values d = {.x = d_x, .u = d_u};
  (void)v;
  if (d_dx != NULL) row_derivatives(&d, d_dx);
  if (d_y != NULL) d_y[0] = d_x[0], d_y[1] = d_x[PER_ROW - 1];
  return CPL_MODEL_OK;
}
static int row_outputs(const cpl_values* v, double* y) {
  y[0] = v->x[0];
  y[1] = v->x[PER_ROW - 1];
  return CPL_MODEL_OK;
}
static const cpl_declaration row_states[] = {{"T", .start = 20, .size = PER_ROW}, END_OF_LIST};
static const cpl_declaration row_inputs[] = {{"before"}, {"behind"}, END_OF_LIST};
static const cpl_declaration row_outputs_list[] = {{"first"}, {"last"}, END_OF_LIST};
static const cpl_model_def row_model = {.name = "row",
                                        .states = row_states,
                                        .inputs = row_inputs,
                                        .outputs = row_outputs_list,
                                        .derivatives = row_derivatives,
                                        .directional = row_directional,
                                        .output_values = row_outputs};

// From the temperature before the rod to the k-th: sinh((N + 1 - k) q) / sinh((N + 1) q), with
// 2 cosh(q) = 2 + s / conduction.
static double complex rod_at(double omega, int k) {
  double complex q = 2 * casinh(csqrt(CMPLX(0, omega) / (4 * conduction)));
  return cexp(-k * q) * (1 - cexp(-2 * (N + 1 - k) * q)) / (1 - cexp(-2 * (N + 1) * q));
}

static void check_response(cpl_model* m) {
  cpl_frequency_def def = cpl_default_frequency_def();
  cpl_frequency* f = NULL;
  def.from = "w", def.to = "r0001.last";
  def.low = 1e-2, def.high = 1e6, def.per_decade = 10;
  double since = cpli_now();
  CHECK_OK(ctx, cpl_frequency_create(m, &def, &f));
  print_message("%d frequencies: %.2f s\n", f->n, cpli_now() - since);
  for (int i = 0; i < f->n; i++) {
    double complex known = rod_at(f->points[i].omega, 2 * PER_ROW);
    CHECK_NEAR(f->points[i].re, creal(known), 1e-9 * cabs(known));
    CHECK_NEAR(f->points[i].im, cimag(known), 1e-9 * cabs(known));
  }
  cpl_frequency_destroy(f);
}

// A rod between 0 and 1 degrees: the temperature is linear at rest.
static void many_models_are_at_rest(void** state) {
  (void)state;
  cpl_source *row = NULL, *source = NULL;
  cpl_system_def* def = NULL;
  cpl_steady* s = NULL;
  cpl_spectrum* e = NULL;
  char name[40], target[60], from[60];
  CHECK_OK(ctx, cpl_c_define(ctx, &row_model, &row));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  for (int i = 0; i < ROWS; i++) {
    cpl_member_def member = cpl_default_member_def();
    snprintf(name, sizeof name, "r%04d", i);
    member.name = name;
    member.source = row;
    CHECK_OK(ctx, cpl_system_def_add_model(def, &member));
  }
  for (int i = 0; i < ROWS; i++) {
    snprintf(target, sizeof target, "r%04d.before", i);
    snprintf(from, sizeof from, "r%04d.last", i - 1);
    CHECK_OK(ctx, cpl_system_def_connect(def, target, i > 0 ? from : "w"));
    snprintf(target, sizeof target, "r%04d.behind", i);
    snprintf(from, sizeof from, "r%04d.first", i + 1);
    CHECK_OK(ctx, cpl_system_def_connect(def, target, i + 1 < ROWS ? from : "1"));
  }
  cpl_input_def in = cpl_default_input_def();
  in.name = "w", in.start = "0";
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK_OK(ctx, cpl_system_build(ctx, def, &source));
  cpl_model* m = begun(source);
  double since = cpli_now();
  CHECK_OK(ctx, cpl_steady_create(m, NULL, &s));
  double found = cpli_now();
  CHECK_OK(ctx, cpl_spectrum_create(m, NULL, &e));
  print_message("rest point: %.2f s, eigenvalues: %.2f s\n", found - since, cpli_now() - found);
  for (int i = 0; i < N; i++) CHECK_NEAR(s->x[i], (i + 1.0) / (N + 1), 1e-8);
  double half = sin(M_PI / (2 * (N + 1.0)));
  CHECK_NEAR(e->modes[0].re / (-4 * conduction * half * half), 1, 1e-6);
  CHECK_INT(e->stability, CPL_STABLE);
  check_response(m);
  cpl_spectrum_destroy(e);
  cpl_steady_destroy(s);
  cpl_model_destroy(m);
  cpl_source_destroy(source);
  cpl_system_def_destroy(def);
  cpl_source_destroy(row);
}

int main(void) {
  ctx = cpl_context_create(NULL);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plate_is_at_rest),
      cmocka_unit_test(many_models_are_at_rest),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
