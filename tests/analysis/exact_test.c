// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sensitivities by directional derivatives of models: closed forms, what they contain (parameters
// of couplings, values that follow from parameters, sampled values), where they are not used, and
// sensitivities so large that perturbed instances are far apart.
#include "analysis/sensitivity.h"
#include "archive.h"
#include "couplet/couplet.h"
#include "testing.h"

static cpl_context* ctx;

static void write_text(const char* path, const char* text) {
  write_bytes(path, text, strlen(text));
}

typedef struct request {
  const char* path;
  const char *y[4], *k[4];
  double stop, rtol;
  bool differences;
  cpl_start start;
} request;

typedef struct outcome {
  double values[16];
  bool direct[4];  // whether directional derivatives were used at the end
} outcome;

static cpl_model* made;

static cpl_status note_model(void* user, cpl_model* m) {
  (void)user;
  made = m;
  return CPL_OK;
}

static size_t count(const char* const* names) {
  size_t n = 0;
  while (n < 4 && names[n] != NULL) n++;
  return n;
}

// The last point, y by y, k running fastest. Without k: the values themselves.
static outcome run(const request* q) {
  outcome out = {0};
  cpl_experiment* e = NULL;
  cpl_sensitivity_def def = cpl_default_sensitivity_def();
  def.of = q->y, def.n_of = count(q->y);
  def.to = q->k, def.n_to = count(q->k);
  def.differences = q->differences;
  cpl_experiment_def times = cpl_default_experiment_def();
  times.stop = q->stop, times.rtol = q->rtol > 0 ? q->rtol : 1e-11;
  cpl_experiment_settings settings = cpl_default_experiment_settings();
  settings.path = q->path;
  settings.experiment = &times;
  settings.on_model = note_model;
  settings.starts = &q->start, settings.n_starts = q->start.name != NULL;
  if (def.n_to > 0) settings.sensitivity = &def;
  CHECK_OK(ctx, cpl_experiment_create(ctx, &settings, &e));
  CHECK_OK(ctx, cpl_experiment_prepare(e));
  CHECK_OK(ctx, cpl_run(cpl_experiment_stepper(e), cpl_experiment_run_def(e), NULL));
  cpl_component* c = cpl_stepper_component(cpl_experiment_stepper(e));
  size_t n_k = def.n_to > 0 ? def.n_to : 1;
  for (size_t i = 0; i < def.n_of * n_k; i++) {
    char name[100];
    int32_t var = -1;
    if (def.n_to > 0) snprintf(name, sizeof name, "d%s/d%s", q->y[i / n_k], q->k[i % n_k]);
    else snprintf(name, sizeof name, "%s", q->y[i]);
    CHECK_OK(ctx, cpl_require_variable(ctx, c->desc, name, &var));
    CHECK_OK(ctx, cpl_component_get_real(c, &c->desc->vars[var].ref, 1, &out.values[i]));
  }
  for (size_t k = 0; k < def.n_to; k++) out.direct[k] = cpli_sens_of(made)->to[k].direct;
  cpl_experiment_destroy(e);
  return out;
}

// The same by directional derivatives and by differences.
static void check(request q, const double* expected, size_t n, double tolerance) {
  for (int way = 0; way < 2; way++) {
    q.differences = way == 1;
    outcome o = run(&q);
    for (size_t i = 0; i < n; i++)
      CHECK_NEAR(o.values[i], expected[i], tolerance * fmax(1, fabs(expected[i])));
    for (size_t k = 0; k < count(q.k); k++) CHECK_INT(o.direct[k], way == 0);
  }
}

#define HEAD "#include <couplet/model.h>\n#include <math.h>\n"

static void write_models(void) {
  write_text("decay.c", HEAD
             "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
             "static const cpl_declaration parameters[] = {{\"k\", .start = 2}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->p[0] * v->x[0]; return CPL_MODEL_OK;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"decay\", .states = states,\n"
             "  .parameters = parameters, .derivatives = derivatives};\n");
  write_text("sum.c", HEAD
             "static const cpl_declaration states[] = {{\"x\"}, {0}};\n"
             "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->u[0]; return CPL_MODEL_OK;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"sum\", .states = states,\n"
             "  .inputs = inputs, .derivatives = derivatives};\n");
  write_text("sampled.c", HEAD
             "static const cpl_declaration states[] = {{\"x\", .start = 1}, {0}};\n"
             "static const cpl_declaration discrete[] = {{\"hold\"}, {\"n\"}, {0}};\n"
             "static const cpl_declaration parameters[] = {{\"k\", .start = 2},\n"
             "  {\"gain\", .start = 0.5}, {\"period\", .start = 0.3}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->p[0] * (v->x[0] - v->w[0]); return CPL_MODEL_OK;\n}\n"
             "static int initialize(const cpl_values* v, cpl_event_actions* a) {\n"
             "  a->w[0] = v->p[1] * v->x[0]; a->next_time = v->p[2]; return CPL_MODEL_OK;\n}\n"
             "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
             "  if (!a->time_event) return CPL_MODEL_OK;\n"
             "  a->w[0] = v->p[1] * v->x[0]; a->w[1] = v->w[1] + 1;\n"
             "  a->next_time = (a->w[1] + 1) * v->p[2]; return CPL_MODEL_OK;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"sampled\", .states = states,\n"
             "  .discrete = discrete, .parameters = parameters, .derivatives = derivatives,\n"
             "  .initialize = initialize, .event = event};\n");
}

// x = exp(-k t) with k = sqrt(g); p' = g x^2, l' = g x.
static void couplings_with_parameters(void** state) {
  (void)state;
  write_models();
  write_text("parts.yaml",
             "couplet: 1\nparameters: {g: 3}\n"
             "models:\n  a: {c: decay.c, start: {k: sqrt(g)}}\n  p: {c: sum.c}\n  l: {c: sum.c}\n"
             "connections: {p.u: g*a.x^2, l.u: g*a.x}\noutputs: {y: g*l.x}\n"
             "experiment: {stop: 1, atol: 1e-13}\n");
  write_text("outer.yaml",
             "couplet: 1\nparameters: {h: 1.5}\n"
             "models: {s: {system: parts.yaml, start: {g: 2*h}}, q: {c: sum.c}}\n"
             "connections: {q.u: h*s.y}\nexperiment: {stop: 1, atol: 1e-13}\n");
  double r = sqrt(3), e = exp(-r), e2 = e * e, l = r * (1 - e);
  double dx = -e / (2 * r), dp = (1 - e2) / (4 * r) + e2 / 2, dl = (1 - e) / (2 * r) + e / 2;
  check((request){.path = "parts.yaml", .y = {"a.x", "p.x", "l.x", "y"}, .k = {"g"}, .stop = 1},
        (const double[]){dx, dp, dl, l + 3 * dl}, 4, 1e-9);
  check((request){.path = "outer.yaml", .y = {"s.p.x", "s.y"}, .k = {"h", "s.a.x"}, .stop = 1},
        (const double[]){2 * dp, r * (1 - e2), 2 * (l + 3 * dl), 3 * r * (1 - e)}, 4, 1e-9);
}

// As in sensitivity_test.c; here the model has tangent functions, and held values are directions.
static double sampled_at(const double* p, double t) {
  double x = p[3];
  for (; t > p[2]; t -= p[2]) x = p[1] * x + (x - p[1] * x) * exp(-p[0] * p[2]);
  return p[1] * x + (x - p[1] * x) * exp(-p[0] * t);
}

static void sampled_values_are_directions(void** state) {
  (void)state;
  double expected[4];
  for (int i = 0; i < 4; i++) {
    double d[2];
    for (int l = 0; l < 2; l++) {
      double h = (l + 1) * 1e-3, a[] = {2, 0.5, 0.3, 1}, b[] = {2, 0.5, 0.3, 1};
      a[i] += h, b[i] -= h;
      d[l] = (sampled_at(a, 1) - sampled_at(b, 1)) / (2 * h);
    }
    expected[i] = (4 * d[0] - d[1]) / 3;
  }
  write_models();
  check((request){.path = "sampled.c", .y = {"x"}, .k = {"k", "gain", "period", "x"}, .stop = 1},
        expected, 4, 1e-9);
}

// An FMU has no derivatives with respect to parameters and sampled values.
static void an_fmu_with_sampled_values(void** state) {
  (void)state;
  write_models();
  cpl_build_def def = cpl_default_build_def();
  def.model = "sampled.c", def.output = "sampled.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
  request q = {.path = "sampled.fmu", .y = {"x"}, .k = {"x", "gain"}, .stop = 0.25};
  outcome o = run(&q);
  CHECK(!o.direct[0] && !o.direct[1]);  // hold depends on the start value
  CHECK_NEAR(o.values[0], 0.5 + 0.5 * exp(-0.5), 1e-9);
  CHECK_NEAR(o.values[1], 1 - exp(-0.5), 1e-9);
}

// c follows y at once: its slope is a small rest of large terms, whose rounding errors are those of
// the differences that derivatives are compared with. z' = -z, y' = z - y, c' = rate (y - c).
static void rounding_is_no_disagreement(void** state) {
  (void)state;
  write_text("follower.c", HEAD
             "static const cpl_declaration states[] = {{\"z\", .start = 1}, {\"y\", .start = 30},\n"
             "  {\"c\", .start = 30, .output = true}, {0}};\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->x[0]; dx[1] = v->x[0] - v->x[1];\n"
             "  dx[2] = 1e6 * (v->x[1] - v->x[2]); return CPL_MODEL_OK;\n}\n"
             "const cpl_model_def couplet_model = {.name = \"follower\", .states = states,\n"
             "  .derivatives = derivatives};\n");
  cpl_build_def def = cpl_default_build_def();
  def.model = "follower.c", def.output = "follower.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
  double stop = 0.01, rate = 1e6, b = rate / (rate - 1);
  outcome o = run(&(request){.path = "follower.fmu", .y = {"c"}, .k = {"z"}, .stop = stop});
  CHECK(o.direct[0]);
  CHECK_NEAR(o.values[0], b * (stop - 1 / (rate - 1)) * exp(-stop), 1e-9);
}

// Just after a jump of the relaxation, x changes by 1e5 of what mu does.
static void large_sensitivities(void** state) {
  (void)state;
  const char* path = test_path("examples/van_der_pol/van_der_pol.c");
  request q = {.path = path, .y = {"x"}, .stop = 2000};
  double x[2];
  for (int i = 0; i < 2; i++) {
    q.start = (cpl_start){"mu", i == 0 ? "1000.1" : "999.9"};
    x[i] = run(&q).values[0];
  }
  q.start = (cpl_start){0};
  q.k[0] = "mu";
  for (int way = 0; way < 2; way++) {
    q.differences = way == 1;
    q.rtol = 1e-10;  // differences have errors of 1e-11
    CHECK_NEAR(run(&q).values[0], (x[0] - x[1]) / 0.2, 2e-5);
  }
}

int main(void) {
  ctx = test_context();
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(couplings_with_parameters),  cmocka_unit_test(sampled_values_are_directions),
      cmocka_unit_test(an_fmu_with_sampled_values), cmocka_unit_test(rounding_is_no_disagreement),
      cmocka_unit_test(large_sensitivities),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  cpl_context_destroy(ctx);
  return failed;
}
