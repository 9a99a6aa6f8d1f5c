// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Directional derivatives of a ring of many equal models, which are asked together, against their
// closed form: with all of them changing, some, a parameter of one, and one that fails.
#include <math.h>
#include <stdlib.h>

#include "couplet/couplet.h"
#include "testing.h"

enum { N = 150 };  // more than one call asks for

// x' = -k x^2 + a + 2 b + c x, y = 3 x, q = a x. The Boolean is an input among the others.
static const char cell_c[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\"}, {0}}, parameters[] = {{\"k\", .start = 2,\n"
    "  .tunable = true}, {0}}, outputs[] = {{\"y\"}, {\"q\"}, {0}}, inputs[] = {{\"a\"},\n"
    "  {\"on\", .type = CPL_BOOLEAN}, {\"b\"}, {\"c\", .start = 0.25}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  const double x = v->x[0];\n"
    "  if (x > 100) return cpl_model_error(v, \"too large\");\n"
    "  dx[0] = -v->p[0] * x * x + v->u[0] + 2 * v->u[2] + v->u[3] * x;\n"
    "  return CPL_MODEL_OK;\n}\n"
    "static int g(const cpl_values* v, double* y) {\n"
    "  y[0] = 3 * v->x[0];\n  y[1] = v->u[0] * v->x[0];\n  return CPL_MODEL_OK;\n}\n"
    "const cpl_model_def couplet_model = {.name = \"cell\", .states = states, .inputs = inputs,\n"
    "  .outputs = outputs, .parameters = parameters, .derivatives = f, .output_values = g};\n";

typedef struct ring {
  cpl_source* source;
  cpl_model* m;
  double x[N];
} ring;

// a = y of the one before less its own, halved, by a formula; b = y of the next one.
static void write_ring(void) {
  FILE *model = fopen("cell.c", "wb"), *f = fopen("ring.yaml", "wb");
  assert_true(model != NULL && f != NULL);
  fputs(cell_c, model);
  fclose(model);
  fputs("couplet: 1\nmodels:\n", f);
  for (int i = 0; i < N; i++) fprintf(f, "  m%03d: {c: cell.c}\n", i);
  fputs("connections:\n", f);
  for (int i = 0; i < N; i++) {
    fprintf(f, "  m%03d.a: 0.5*(m%03d.y - m%03d.y)\n", i, (i + N - 1) % N, i);
    fprintf(f, "  m%03d.b: m%03d.y\n", i, (i + 1) % N);
  }
  fclose(f);
}

static ring open_ring(cpl_context* ctx) {
  ring r = {0};
  cpl_setup setup = cpl_default_setup();
  cpl_open_def def = cpl_default_open_def();
  cpl_event_info info = {.again = true};
  write_ring();
  def.path = "ring.yaml";
  CHECK_OK(ctx, cpl_open_any(ctx, &def, &r.source));
  CHECK_OK(ctx, cpl_source_make_model(r.source, "ring", &r.m));
  CHECK_OK(ctx, r.m->base.ops->setup(&r.m->base, &setup));
  CHECK_OK(ctx, r.m->base.ops->enter_init(&r.m->base));
  CHECK_OK(ctx, r.m->base.ops->exit_init(&r.m->base));
  while (info.again) CHECK_OK(ctx, r.m->ops->event_update(r.m, &info));
  CHECK_OK(ctx, r.m->ops->enter_continuous(r.m));
  for (int i = 0; i < N; i++) r.x[i] = sin(1.0 + i);
  CHECK_OK(ctx, r.m->ops->set_states(r.m, r.x));
  return r;
}

static void close_ring(ring* r) {
  r->m->base.ops->destroy(&r->m->base);
  r->source->ops->destroy(r->source);
}

static uint32_t ref_of(const ring* r, const char* what, int i) {
  char name[64];
  int32_t var = -1;
  snprintf(name, sizeof name, what, i);
  CHECK_OK(r->m->base.ctx, cpl_require_variable(r->m->base.ctx, r->m->base.desc, name, &var));
  return r->m->base.desc->vars[var].ref;
}

// The change of x' and q of cell i where states change by s, and c and k of one cell by dc and dk.
static double change(const ring* r, const double* s, int i, int of, double dc, double dk, bool q) {
  const int before = (i + N - 1) % N, next = (i + 1) % N;
  const double a = 1.5 * (r->x[before] - r->x[i]), da = 1.5 * (s[before] - s[i]);
  if (q) return a * s[i] + da * r->x[i];
  const double extra = i == of ? dc * r->x[i] - dk * r->x[i] * r->x[i] : 0;
  return -4 * r->x[i] * s[i] + da + 6 * s[next] + 0.25 * s[i] + extra;
}

static void check(const ring* r, const double* s, int of, double dc, double dk) {
  uint32_t known[N + 2], unknown[3 * N];
  double seed[N + 2], got[3 * N];
  size_t n = N;
  for (int i = 0; i < N; i++) {
    known[i] = ref_of(r, "m%03d.x", i), seed[i] = s[i];
    unknown[i] = ref_of(r, "m%03d.der(x)", i);
    unknown[N + i] = ref_of(r, "m%03d.q", N - 1 - i);
    unknown[2 * N + i] = ref_of(r, "m%03d.y", i);
  }
  if (dc != 0) known[n] = ref_of(r, "m%03d.c", of), seed[n++] = dc;
  if (dk != 0) known[n] = ref_of(r, "m%03d.k", of), seed[n++] = dk;
  cpl_component* c = &r->m->base;
  CHECK_OK(c->ctx, c->ops->directional(c, unknown, 3 * (size_t)N, known, n, seed, got));
  for (int i = 0; i < N; i++) {
    CHECK_NEAR(got[i], change(r, s, i, of, dc, dk, false), 4e-15 * 20);
    CHECK_NEAR(got[N + i], change(r, s, N - 1 - i, of, dc, dk, true), 4e-15 * 20);
    CHECK_NEAR(got[2 * N + i], 3 * s[i], 0);
  }
}

static void changes_of_a_ring(void** state) {
  ring r = open_ring(*state);
  double s[N];
  CHECK(r.m->base.can.directional && r.m->base.can.parameter_directions == 2);
  for (int i = 0; i < N; i++) s[i] = cos(3.0 * i);
  check(&r, s, -1, 0, 0);
  check(&r, s, 70, 0.5, 0);  // an input that is free
  check(&r, s, 71, 0, -0.25);
  check(&r, s, 70, 0.5, 0.75);
  for (int i = 0; i < N; i++) s[i] = i < 30 || i % 17 == 0 ? s[i] : 0;  // some do not change
  check(&r, s, -1, 0, 0);
  check(&r, s, 71, 0, 1);
  for (int i = 0; i < N; i++) s[i] = i == 3;
  check(&r, s, -1, 0, 0);
  close_ring(&r);
}

static void one_that_fails_is_named(void** state) {
  ring r = open_ring(*state);
  uint32_t known[N], unknown[N];
  double seed[N], got[N];
  cpl_component* c = &r.m->base;
  for (int i = 0; i < N; i++) {
    known[i] = ref_of(&r, "m%03d.x", i), unknown[i] = ref_of(&r, "m%03d.der(x)", i), seed[i] = 1;
  }
  r.x[77] = 101;
  CHECK_OK(*state, r.m->ops->set_states(r.m, r.x));
  CHECK(c->ops->directional(c, unknown, N, known, N, seed, got) < 0);
  CHECK_CONTAINS(cpl_context_error(*state), "m077");
  CHECK_CONTAINS(cpl_context_error(*state), "too large");
  r.x[77] = 1;
  CHECK_OK(*state, r.m->ops->set_states(r.m, r.x));
  for (int i = 0; i < N; i++) seed[i] = 0.5;
  check(&r, seed, -1, 0, 0);
  close_ring(&r);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(changes_of_a_ring),
                                     cmocka_unit_test(one_that_fails_is_named)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
