// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of models with algebraic variables against closed forms, to rounding:
// solved for by the model and set from outside, with respect to states, inputs, algebraic
// variables, parameters and discrete variables, of models in C and of FMUs made of them; rest
// points and linearisations there.
#include <math.h>

#include "couplet/experiment.h"
#include "couplet/fmi.h"
#include "couplet/linearize.h"
#include "couplet/steady.h"
#include "examples/running.h"
#include "model/cmodel.h"
#include "model/compiled.h"
#include "tangent/compare.h"

static const char curve_c[] =
    "#include <couplet/model.h>\n#include <math.h>\n"
    "typedef struct cache { double t, z0, cube; int known; } cache;\n"
    "static const cpl_declaration x[] = {{\"a\", .start = 0.7}, {\"b\", .start = 0.4}, {0}};\n"
    "static const cpl_declaration u[] = {{\"u\", .start = 1.3}, {0}};\n"
    "static const cpl_declaration p[] = {{\"p\", .start = 0.9, .size = 2, .tunable = 1}, {0}};\n"
    "static const cpl_declaration w[] = {{\"w\", .start = 1}, {0}};\n"
    "static const cpl_declaration z[] = {{\"z\", .size = 2, .output = 1}, {0}};\n"
    "static const cpl_declaration y[] = {{\"y\"}, {0}};\n"
    "static double cube(const cpl_values* v) {\n"
    "  cache* k = v->memory;\n"
    "  if (!k->known || k->t != v->t || k->z0 != v->z[0]) {\n"
    "    k->cube = v->z[0] * v->z[0] * v->z[0], k->t = v->t, k->z0 = v->z[0], k->known = 1;\n  }\n"
    "  return k->cube;\n}\n"
    "static int g(const cpl_values* v, double* out) {\n"
    "  out[0] = cube(v) + v->z[0] - v->p[0] * v->x[0] * v->u[0];\n"
    "  out[1] = (1 + v->x[1] * v->x[1]) * v->z[1] - v->z[0] - v->p[1] * v->w[0];\n"
    "  return CPL_MODEL_OK;\n}\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->z[0] + sin(v->x[1]) * v->z[1];\n"
    "  dx[1] = v->z[1] * v->z[1] * v->u[0] - v->x[1];\n  return CPL_MODEL_OK;\n}\n"
    "static int c(const cpl_values* v, double* out) {\n"
    "  out[0] = (1 + v->x[0]) * (cube(v) + v->z[0] - v->p[0] * v->x[0] * v->u[0]);\n"
    "  return CPL_MODEL_OK;\n}\n"
    "static int h(const cpl_values* v, double* y) {\n"
    "  y[0] = exp(v->z[0]) + v->x[0] * v->z[1];\n  return CPL_MODEL_OK;\n}\n"
    "static const cpl_formulation forms[] = {{.residual = 0, .index = 2}};\n"
    "const cpl_model_def couplet_model = {.name = \"curve\", .states = x, .inputs = u,\n"
    "  .parameters = p, .discrete = w, .algebraics = z, .outputs = y, .derivatives = f,\n"
    "  .residuals = g, .output_values = h, .memory_size = sizeof(cache), .stop_time = 1,\n"
    "#ifndef FREE\n  .n_constraints = 1, .constraints = c, .formulations = forms,\n#endif\n};\n";

//------------------------------------ the closed form ------------------------------------

// A point of the model above, or a change of it.
typedef struct point {
  double a, b, u, p[2], w, z[2];
} point;

enum { DA, DB, Y, Z0, Z1, G0, G1, C, N_RESULTS };
static const char* const results[N_RESULTS] = {
    "der(a)", "der(b)", "y", "z[1]", "z[2]", "residual_1", "residual_2", "residual_1_index_2"};

// The changes of all results. Where z follows from the rest, d->z is found.
static void change(const point* q, const point* given, bool solved, double* out) {
  point d = *given;
  const double steep = 3 * q->z[0] * q->z[0] + 1, wide = 1 + q->b * q->b;
  const double right = q->a * q->u * d.p[0] + q->p[0] * (q->u * d.a + q->a * d.u);
  const double forced = q->p[1] * d.w + q->w * d.p[1] - 2 * q->b * q->z[1] * d.b;
  if (solved) d.z[0] = right / steep, d.z[1] = (d.z[0] + forced) / wide;
  const double g = q->z[0] * q->z[0] * q->z[0] + q->z[0] - q->p[0] * q->a * q->u;
  out[DA] = -d.z[0] + cos(q->b) * q->z[1] * d.b + sin(q->b) * d.z[1];
  out[DB] = 2 * q->z[1] * q->u * d.z[1] + q->z[1] * q->z[1] * d.u - d.b;
  out[Y] = exp(q->z[0]) * d.z[0] + q->z[1] * d.a + q->a * d.z[1];
  out[Z0] = d.z[0];
  out[Z1] = d.z[1];
  out[G0] = solved ? 0 : steep * d.z[0] - right;
  out[G1] = solved ? 0 : wide * d.z[1] - d.z[0] - forced;
  out[C] = (1 + q->a) * (steep * d.z[0] - right) + d.a * g;
}

//------------------------------------ the model ------------------------------------

static uint32_t ref_of(const cpl_model* m, const char* name) {
  int32_t var = -1;
  CHECK_OK(m->base.ctx, cpl_require_variable(m->base.ctx, m->base.desc, name, &var));
  return m->base.desc->vars[var].ref;
}

static void start(cpl_model* m) {
  cpl_context* ctx = m->base.ctx;
  cpl_setup setup = cpl_default_setup();
  cpl_event_info info = {.again = true};
  CHECK_OK(ctx, m->base.ops->setup(&m->base, &setup));
  CHECK_OK(ctx, m->base.ops->enter_init(&m->base));
  CHECK_OK(ctx, m->base.ops->exit_init(&m->base));
  while (info.again) CHECK_OK(ctx, m->ops->event_update(m, &info));
  CHECK_OK(ctx, m->ops->enter_continuous(m));
}

static void set(cpl_model* m, const char* name, double value) {
  const uint32_t ref = ref_of(m, name);
  CHECK_OK(m->base.ctx, m->base.ops->set_real(&m->base, &ref, 1, &value));
}

static void place(cpl_model* m, point* q, bool dae) {
  const double x[] = {q->a, q->b};
  CHECK_OK(m->base.ctx, m->ops->set_states(m, x));
  set(m, "u", q->u);
  if (dae) CHECK_OK(m->base.ctx, m->ops->dae->set_algebraics(m, q->z));
  for (uint32_t i = 0; i < 2; i++) {
    const uint32_t ref = ref_of(m, i == 0 ? "z[1]" : "z[2]");
    CHECK_OK(m->base.ctx, m->base.ops->get_real(&m->base, &ref, 1, &q->z[i]));
  }
}

static double near_one(uint64_t* random) { return 1 + 0.5 * next_random(random); }

// The direction, in what may be given.
static void check_direction(cpl_model* m, const point* q, const point* d, bool dae, bool all,
                            const char* what) {
  static const char* const names[] = {"a", "b", "u", "z[1]", "z[2]", "p[1]", "p[2]", "w"};
  const double values[] = {d->a, d->b, d->u, d->z[0], d->z[1], d->p[0], d->p[1], d->w};
  uint32_t known[8], unknown[N_RESULTS];
  double seed[8], expected[N_RESULTS], got[N_RESULTS], before[2], after[2];
  size_t n = 0;
  const int first = dae ? 0 : DA;
  for (int i = 0; i < 8; i++) {
    const bool z = i == 3 || i == 4;
    if ((z && !dae) || (i > 4 && !all)) continue;
    known[n] = ref_of(m, names[i]);
    seed[n++] = values[i];
  }
  for (int i = first; i < N_RESULTS; i++) unknown[i] = ref_of(m, results[i]);
  CHECK_OK(m->base.ctx, m->ops->get_derivatives(m, before));
  CHECK_OK(m->base.ctx,
           m->base.ops->directional(&m->base, unknown, N_RESULTS, known, n, seed, got));
  change(q, d, !dae, expected);
  for (int i = first; i < N_RESULTS; i++) {
    const double size = fmax(1, fabs(expected[i]));
    if (!(fabs(got[i] - expected[i]) <= 2e-14 * size))
      fail_msg("%s: the change of %s is %.17g, not %.17g", what, results[i], got[i], expected[i]);
  }
  CHECK_OK(m->base.ctx, m->ops->get_derivatives(m, after));
  CHECK(memcmp(before, after, sizeof before) == 0);
}

static void check_model(cpl_source* source, bool dae, bool parameters, const char* what) {
  cpl_model* m = NULL;
  size_t n = 0;
  uint64_t random = 5;
  CHECK_OK(source->ctx, source->ops->make_model(source, "m", &m));
  CHECK(m->base.can.directional && m->base.ops->directional != NULL);
  CHECK(!parameters || m->base.can.parameter_directions == 2);
  if (dae) CHECK_OK(source->ctx, m->ops->dae->use_residuals(m, &n));
  CHECK_INT(n, dae ? 2 : 0);
  start(m);
  for (int k = 0; k < 10; k++) {
    const bool all = parameters && k % 2 != 0;
    point q = {near_one(&random), near_one(&random), near_one(&random), {0.9, 0.9}, 1, {0}};
    point d = {next_random(&random), next_random(&random), next_random(&random), {0}, 0, {0}};
    for (int i = 0; i < 2; i++) q.z[i] = next_random(&random);
    for (int i = 0; i < 2 && dae; i++) d.z[i] = next_random(&random);
    for (int i = 0; i < 2 && all; i++) d.p[i] = next_random(&random);
    d.w = all ? next_random(&random) : 0;
    place(m, &q, dae);
    check_direction(m, &q, &d, dae, all, what);
  }
  m->base.ops->destroy(&m->base);
}

static void write_text(const char* path, const char* before, const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(before, f);
  fputs(text, f);
  fclose(f);
}

static void write_curve(void) { write_text("curve.c", "", curve_c); }

//------------------------------------ tests ------------------------------------

static void models_in_c(void** state) {
  cpl_source* source = NULL;
  write_curve();
  CHECK_OK(*state, cpl_c_open(*state, "curve.c", &source));
  CHECK_STR(cpli_c_derivatives(source), "exact, made from its source, of algebraic variables, too");
  check_model(source, false, true, "solved");
  check_model(source, true, true, "given");
  source->ops->destroy(source);
}

static void fmus(void** state) {
  write_curve();
  must_do("build curve.c -o curve2.fmu");
  must_do("build curve.c --fmi 3 -o curve3.fmu");
  for (int fmi = 2; fmi <= 3; fmi++) {
    cpl_source* source = NULL;
    cpl_fmu_def def = cpl_default_fmu_def();
    def.path = fmi == 2 ? "curve2.fmu" : "curve3.fmu";
    CHECK_OK(*state, cpl_fmu_open(*state, &def, &source));
    check_model(source, false, false, fmi == 2 ? "FMI 2" : "FMI 3");
    if (fmi == 3) check_model(source, true, false, "FMI 3, residuals");
    source->ops->destroy(source);
  }
}

static void differences_on_request(void** state) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  write_curve();
  cpl_context_use_differences(*state, true);
  CHECK_OK(*state, cpl_c_open(*state, "curve.c", &source));
  CHECK_STR(cpli_c_derivatives(source), "differences: --no-ad");
  CHECK_OK(*state, source->ops->make_model(source, "m", &m));
  CHECK(m->base.ops->directional == NULL);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
  cpl_context_use_differences(*state, false);
}

// 0 = z^3 - x has a solution at x = 0, and no derivative.
static void undetermined_changes_are_named(void** state) {
  static const char text[] =
      "#include <couplet/model.h>\n"
      "static const cpl_declaration x[] = {{\"x\"}, {0}}, z[] = {{\"root\"}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) { dx[0] = v->z[0]; return 0; }\n"
      "static int g(const cpl_values* v, double* g) {\n"
      "  g[0] = v->z[0] * v->z[0] * v->z[0] - v->x[0]; return 0; }\n"
      "const cpl_model_def couplet_model = {.name = \"root\", .states = x, .algebraics = z,\n"
      "  .derivatives = f, .residuals = g};\n";
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  write_text("root.c", "", text);
  CHECK_OK(*state, cpl_c_open(*state, "root.c", &source));
  CHECK_OK(*state, source->ops->make_model(source, "root", &m));
  start(m);
  const uint32_t x = ref_of(m, "x"), dx = ref_of(m, "der(x)"), z = ref_of(m, "root");
  double seed = 1, got = 0;
  CHECK_INT(m->base.ops->directional(&m->base, &dx, 1, &x, 1, &seed, &got), CPL_RETRY);
  CHECK_CONTAINS(cpl_context_error(*state), "the residuals do not determine root at t=0");
  CHECK_OK(*state, m->base.ops->reset(&m->base));
  set(m, "x", 8);
  set(m, "root", 1);
  start(m);
  CHECK(m->base.ops->directional(&m->base, &dx, 1, &z, 1, &seed, &got) < 0);
  CHECK_CONTAINS(cpl_context_error(*state), "no derivative with respect to");
  CHECK_OK(*state, m->base.ops->directional(&m->base, &dx, 1, &x, 1, &seed, &got));
  CHECK_NEAR(got, 1.0 / 12, 1e-14);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

// Flows 0 = q + q^3 - k (T_before - T) between 200 cells, and their differences.
static void a_chain_of_200_cells(void** state) {
  enum { N = 200 };
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  uint32_t known[N], unknown[N];
  double T[N], q[N], seed[N], got[N], flow[N + 1] = {0};
  uint64_t random = 11;
  CHECK_OK(*state, cpl_c_open(*state, test_path("examples/dae/chain.c"), &source));
  CHECK_OK(*state, source->ops->make_model(source, "chain", &m));
  start(m);
  for (int i = 0; i < N; i++) {
    T[i] = 0.01 * next_random(&random), seed[i] = next_random(&random);
    known[i] = m->base.desc->vars[m->base.desc->states[i]].ref;
    unknown[i] = m->base.desc->vars[m->base.desc->derivatives[i]].ref;
  }
  CHECK_OK(*state, m->ops->set_states(m, T));
  CHECK_OK(*state, m->ops->dae->get_algebraics(m, q));
  CHECK_OK(*state, m->base.ops->directional(&m->base, unknown, N, known, N, seed, got));
  for (int i = 0; i < N; i++)
    flow[i] = 100 * ((i > 0 ? seed[i - 1] : 0) - seed[i]) / (1 + 3 * q[i] * q[i]);
  for (int i = 0; i < N; i++) CHECK_NEAR(got[i], flow[i] - flow[i + 1], 1e-12);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

// At rest: z1^2 u = b and sin(b) z1 = z0.
static void rest_points_and_linearisations(void** state) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_steady* s = NULL;
  cpl_linear* l = NULL;
  write_text("free.c", "#define FREE\n", curve_c);
  CHECK_OK(*state, cpl_c_open(*state, "free.c", &source));
  CHECK_OK(*state, source->ops->make_model(source, "m", &m));
  start(m);
  cpl_steady_def def = cpl_default_steady_def();
  cpl_linearize_def linear = cpl_default_linearize_def();
  CHECK_OK(*state, cpl_steady_create(m, &def, &s));
  point q = {s->x[0], s->x[1], 1.3, {0.9, 0.9}, 1, {0}};
  place(m, &q, false);
  CHECK_NEAR(q.z[1] * q.z[1] * q.u, q.b, 1e-9);
  CHECK_NEAR(sin(q.b) * q.z[1], q.z[0], 1e-9);
  CHECK_NEAR((1 + q.b * q.b) * q.z[1], q.z[0] + 0.9, 1e-12);
  CHECK_OK(*state, cpl_linearize(m, &linear, &l));
  CHECK_INT(l->n_states, 2);
  CHECK_INT(l->n_inputs, 1);
  CHECK_INT(l->n_outputs, 3);
  for (int column = 0; column < 3; column++) {
    const point d = {.a = column == 0, .b = column == 1, .u = column == 2};
    double expected[N_RESULTS];
    const double* dx = column < 2 ? l->a + 2 * (size_t)column : l->b;
    const double* out = column < 2 ? l->c + 3 * (size_t)column : l->d;
    change(&q, &d, true, expected);
    for (int i = 0; i < 2; i++) CHECK_NEAR(dx[i], expected[DA + i], 2e-14);
    for (int i = 0; i < 3; i++) {
      const bool y = strcmp(l->outputs[i], "y") == 0, z0 = strcmp(l->outputs[i], "z[1]") == 0;
      CHECK_NEAR(out[i], expected[y ? Y : z0 ? Z0 : Z1], 2e-14);
    }
  }
  cpl_linear_destroy(l);
  cpl_steady_destroy(s);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

static double value_of(cpl_model* m, const char* name) {
  const uint32_t ref = ref_of(m, name);
  double value = NAN;
  CHECK_OK(m->base.ctx, m->base.ops->get_real(&m->base, &ref, 1, &value));
  return value;
}

// Two of the models in a system: the output of the first is the input of the second.
static void systems_at_rest(void** state) {
  cpl_source* source = NULL;
  cpl_model* m = NULL;
  cpl_steady* s = NULL;
  cpl_linear* l = NULL;
  cpl_open_def open = cpl_default_open_def();
  cpl_steady_def def = cpl_default_steady_def();
  cpl_linearize_def linear = cpl_default_linearize_def();
  write_text("free.c", "#define FREE\n", curve_c);
  write_text("two.yaml", "",
             "couplet: 1\nmodels:\n  one: {c: free.c, start: {a: 0.9, b: 0.9}}\n"
             "  two: {c: free.c, start: {a: 0.4, b: 1.1}}\nconnections:\n  two.u: one.y\n");
  open.path = "two.yaml";
  CHECK_OK(*state, cpl_open_any(*state, &open, &source));
  CHECK_OK(*state, cpl_source_make_model(source, "two", &m));
  CHECK(m->base.can.directional && m->base.can.parameter_directions == 2);
  start(m);
  CHECK_OK(*state, cpl_steady_create(m, &def, &s));
  CHECK_OK(*state, m->ops->set_states(m, s->x));
  point q[2];
  for (int i = 0; i < 2; i++) {
    q[i] = (point){s->x[2 * i], s->x[2 * i + 1], 0, {0.9, 0.9}, 1, {0}};
    q[i].u = i == 0 ? 1.3 : value_of(m, "one.y");
    q[i].z[0] = value_of(m, i == 0 ? "one.z[1]" : "two.z[1]");
    q[i].z[1] = value_of(m, i == 0 ? "one.z[2]" : "two.z[2]");
    CHECK_NEAR(q[i].z[1] * q[i].z[1] * q[i].u, q[i].b, 1e-9);
    CHECK_NEAR(sin(q[i].b) * q[i].z[1], q[i].z[0], 1e-9);
  }
  CHECK_OK(*state, cpl_linearize(m, &linear, &l));
  CHECK_INT(l->n_states, 4);
  for (int column = 0; column < 4; column++) {
    const bool first = column < 2;
    point d = {.a = column % 2 == 0, .b = column % 2 == 1};
    double one[N_RESULTS] = {0}, two[N_RESULTS];
    if (first) change(&q[0], &d, true, one);
    if (first) d = (point){.u = one[Y]};
    change(&q[1], &d, true, two);
    const double* a = l->a + 4 * (size_t)column;
    for (int i = 0; i < 2; i++) CHECK_NEAR(a[i], one[DA + i], 5e-14);
    for (int i = 0; i < 2; i++) CHECK_NEAR(a[2 + i], two[DA + i], 5e-14);
  }
  cpl_linear_destroy(l);
  cpl_steady_destroy(s);
  m->base.ops->destroy(&m->base);
  source->ops->destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_in_c),
      cmocka_unit_test(fmus),
      cmocka_unit_test(differences_on_request),
      cmocka_unit_test(undetermined_changes_are_named),
      cmocka_unit_test(a_chain_of_200_cells),
      cmocka_unit_test(rest_points_and_linearisations),
      cmocka_unit_test(systems_at_rest),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
