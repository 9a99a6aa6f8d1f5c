// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tangent functions of single constructs of C, against differences, and the reasons for models that
// get none.
#include "model/compiled.h"
#include "tangent/compare.h"

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

// A model of three states, two inputs and two parameters with this function and what is before it.
static void write_model(const char* path, const char* before, const char* body) {
  char text[8192];
  snprintf(text, sizeof text,
           "#include <couplet/model.h>\n#include <math.h>\n#include <string.h>\n%s\n"
           "static const cpl_declaration x[] = {{.name = \"x\", .size = 3}, {0}};\n"
           "static const cpl_declaration u[] = {{.name = \"u\", .size = 2}, {0}};\n"
           "static const cpl_declaration p[] = {{.name = \"p\", .size = 2}, {0}};\n"
           "typedef struct kept { double x[3], y[3]; bool known; } kept;\n"
           "static int f(const cpl_values* v, double* dx) {\n%s\n  return CPL_MODEL_OK;\n}\n"
           "const cpl_model_def couplet_model = {.name = \"m\", .states = x, .inputs = u,\n"
           "  .parameters = p, .derivatives = f, .memory_size = sizeof(kept)};\n",
           before, body);
  write_text(path, text);
}

static const cpl_model_tangent* open_text(cpl_context* ctx, const char* before, const char* body,
                                          cpl_source** source) {
  write_model("m.c", before, body);
  CHECK_OK(ctx, cpl_c_open(ctx, "m.c", source));
  const cpl_model_tangent* t = cpli_c_tangent(*source);
  assert_non_null(t);
  return t;
}

static void check_derivatives(cpl_context* ctx, const char* before, const char* body) {
  cpl_source* source = NULL;
  const cpl_model_tangent* t = open_text(ctx, before, body, &source);
  if (t->why != NULL) fail_msg("%s: %s", body, t->why);
  compared c = {.f = t->derivatives_of, .nx = 3, .nu = 2, .np = 2, .n_out = 3, .memory_size = 64};
  point_data at = make_point(&c), d = make_point(&c);
  uint64_t random = 3;
  int n = 0;
  for (int k = 0; k < 8; k++) {
    const bool all = k % 2 != 0 && t->derivatives_all != NULL;
    for (int i = 0; i < 3; i++) at.x[i] = next_random(&random), d.x[i] = next_random(&random);
    for (int i = 0; i < 2; i++) at.u[i] = next_random(&random), d.u[i] = next_random(&random);
    for (int i = 0; i < 2; i++) at.p[i] = 1.5 + next_random(&random), d.p[i] = all ? 1 + i : 0;
    at.v.t = next_random(&random), d.v.t = all ? 1 : 0;
    c.tangent = all ? t->derivatives_all : t->derivatives;
    n += compare(&c, &at, &d, 1e-8, body);
  }
  if (n < 12) fail_msg("%s: only %d values were compared", body, n);
  free_point(&at);
  free_point(&d);
  source->ops->destroy(source);
}

static const char helpers[] =
    "typedef struct vec { double a, b[2]; int n; } vec;\n"
    "typedef union both { double list[3]; struct { double x, y, z; } one; } both;\n"
    "static const double table[] = {1, 3, 2, 5, 4};\n"
    "static double square(double a) { return a * a; }\n"
    "static vec make(double a, double b) { return (vec){.a = a * b, .b = {sin(a), 2}, .n = 2}; }\n"
    "static void swap(double* a, double* b) { double c = *a; *a = *b; *b = c; }\n"
    "static const double* pick(const double* a, const double* b, int i) { return i ? a : b + 1; }\n"
    "static double look_up(const double* at, int n, double x) {\n"
    "  int i = 0;\n"
    "  x = (x + 1) * 2;\n"
    "  while (i < n - 2 && x > i + 1) i++;\n"
    "  return at[i] + (x - i) * (at[i + 1] - at[i]);\n}\n"
    "static int solve(double a, double b, double* out) {\n"
    "  if (a == 77) return 1;\n  *out = b / (2 + a * a);\n  return 0;\n}\n"
    "static double sum(const double* a, int n) {\n"
    "  double s = 0;\n  for (const double* end = a + n; a < end;) s += *a++;\n  return s;\n}\n";

static void constructs_of_the_language(void** state) {
  static const char* const bodies[] = {
      "dx[0] = v->x[0] * v->x[1] - v->u[0] / (v->x[2] + 3); dx[1] = -v->x[1]; dx[2] = 2;",
      "double a = v->x[0], b = a * a, c; c = b + a; a *= c; a += 1; a -= b; a /= 3 + b; dx[0] = a; "
      "dx[1] = dx[2] = c;",
      "const double *q = v->x, *r = &v->x[1]; dx[0] = q[1] * *r; dx[1] = r[1] * r[-1]; dx[2] = "
      "*(q + 2) * v->p[0];",
      "for (int i = 0; i < 3; i++) { dx[i] = 0; for (int k = 0; k <= i; k++) dx[i] += v->x[k] * "
      "v->x[i]; }",
      "double m[2][2] = {{v->x[0], 1}, {v->x[1] * v->x[1], 2}}; dx[0] = m[0][0] * m[1][0]; dx[1] = "
      "m[0][1]; dx[2] = m[1][0];",
      "dx[0] = v->x[0] > 0 ? sin(v->x[0]) : cos(v->x[0]); if (v->x[1] > v->x[2]) { dx[1] = "
      "v->x[1] * v->x[1]; } else if (v->x[1] > 0) dx[1] = v->x[2]; else dx[1] = -exp(v->x[2]); "
      "dx[2] = fabs(v->x[2]);",
      "vec a = make(v->x[0], v->x[1]), b = a; a.b[1] = v->x[2]; dx[0] = a.a * b.b[0]; dx[1] = "
      "a.b[1] * b.b[1]; a = make(v->x[2], a.a); dx[2] = a.a;",
      "dx[0] = make(v->x[0], v->x[1]).a; dx[1] = make(1, v->x[2]).b[0] * square(v->x[1]); dx[2] = "
      "square(make(v->x[0], 2).a) + make(3, 4).a;",
      "double a = v->x[0], b = square(v->x[1]); swap(&a, &b); dx[0] = a; dx[1] = b * a; dx[2] = 0;",
      "dx[0] = look_up(table, 5, v->x[0]); dx[1] = look_up(v->x, 3, v->x[1]); dx[2] = *pick(v->x, "
      "table, v->x[2] > 0);",
      "double out[3]; if (solve(v->x[0], v->x[1], &out[0]) != 0) return cpl_model_error(v, \"no "
      "%g\", v->x[0]); int failed = solve(v->x[2], out[0], out + 1); dx[0] = out[1]; dx[1] = "
      "failed; dx[2] = out[0];",
      "dx[0] = sum(v->x, 3); double t[3]; memcpy(t, v->x, sizeof t); t[1] *= t[0]; dx[1] = sum(t, "
      "3); memset(t, 0, sizeof t); t[0] = v->x[1]; dx[2] = sum(t, 3) * sum(table, 5);",
      "both b = {.list = {v->x[0], v->x[1] * 2, 3}}; b.one.z = b.one.x * b.one.y; dx[0] = "
      "b.list[2]; dx[1] = b.list[1]; dx[2] = b.list[0];",
      "double *out = dx; *out++ = v->x[0] * v->x[0]; *out++ = v->x[1]; *out = v->x[2] * v->u[1];",
      "int i = 0; double s = 0; do { s += v->x[i] * (i + 1); if (s > 100) break; i++; } while (i < "
      "3); dx[0] = s; switch (i) { case 3: dx[1] = s * s; break; default: dx[1] = 0; } goto end; "
      "end: dx[2] = s;",
      "double a, b; dx[0] = (a = v->x[0] * 2, b = a * a, a + b); dx[1] = (a > 0 ? b : -a); dx[2] = "
      "!(a > b) + (int)v->x[0] + (double)(v->x[1] > 0) + v->x[2];",
      "double* rows[2]; double data[4] = {v->x[0], v->x[1], v->x[2], 1}; rows[0] = data; rows[1] = "
      "data + 2; rows[1][1] = rows[0][0] * rows[0][1]; dx[0] = data[3]; dx[1] = *rows[0]; dx[2] = "
      "rows[1][0];",
      "cpl_values w = *v; double x[3] = {v->x[1], v->x[0] * 2, v->x[2]}; w.x = x; w.t = v->t * "
      "2; dx[0] = w.x[0] * w.x[1]; dx[1] = w.t * w.u[0]; dx[2] = w.p[1] * x[2];",
      "dx[0] = v->t * v->t + v->p[0] * v->x[0]; dx[1] = pow(v->p[0] + 2, v->x[1]); dx[2] = "
      "pow(v->x[2] + 3, v->p[1]);",
      "kept* k = v->memory; if (!k->known || memcmp(k->x, v->x, sizeof k->x) != 0) { memcpy(k->x, "
      "v->x, sizeof k->x); for (int i = 0; i < 3; i++) k->y[i] = sin(v->x[i]) * v->p[0]; k->known "
      "= true; } memcpy(dx, k->y, sizeof k->y);",
      "static const double k[2][2] = {{1, 2}, {3, 4}}; const double* row = v->x[0] > 0 ? k[1] : "
      "v->x; dx[0] = row[0] * v->x[1]; dx[1] = k[1][1] * v->x[2]; dx[2] = INFINITY > v->x[0] ? "
      "isnan(v->x[1]) : NAN;",
      "double i = 0; double s = 0; while (i < 3) { s += v->x[(int)i] * i; i++; } double a = s; "
      "a++; "
      "dx[0] = a; dx[1] = s--; dx[2] = s * -a;",
  };
  for (size_t i = 0; i < CPLI_COUNT(bodies); i++) check_derivatives(*state, helpers, bodies[i]);
}

static void functions_of_the_library(void** state) {
  static const char* const names[] = {"sqrt",  "cbrt",  "exp",   "exp2", "expm1", "log",   "log2",
                                      "log10", "log1p", "sin",   "cos",  "tan",   "asin",  "acos",
                                      "atan",  "sinh",  "cosh",  "tanh", "asinh", "atanh", "erf",
                                      "erfc",  "fabs",  "floor", "ceil", "round", "trunc", "rint"};
  static const char* const pairs[] = {"fmax",  "fmin", "fdim",      "hypot",
                                      "atan2", "fmod", "remainder", "copysign"};
  char body[512];
  for (size_t i = 0; i < CPLI_COUNT(names); i++) {
    const bool positive = strstr("sqrt log log2 log10", names[i]) != NULL;
    snprintf(body, sizeof body,
             "double a = %s; dx[0] = %s(a); dx[1] = %s(0.3) * a; dx[2] = __builtin_%s(a * a);",
             positive ? "1.1 + v->x[0]" : "0.9 * v->x[0]", names[i], names[i], names[i]);
    check_derivatives(*state, "", body);
  }
  check_derivatives(*state, "",
                    "dx[0] = acosh(2 + v->x[0]); dx[1] = fma(v->x[0], v->x[1], v->x[2]); dx[2] = "
                    "pow(v->x[0], 2) + pow(v->x[1], 3) + pow(2 + v->x[0], v->x[1]) + pow(2, "
                    "v->x[2]);");
  for (size_t i = 0; i < CPLI_COUNT(pairs); i++) {
    snprintf(body, sizeof body,
             "dx[0] = %s(v->x[0], v->x[1]); dx[1] = %s(v->x[1], 0.37); dx[2] = %s(2.3, v->x[2]);",
             pairs[i], pairs[i], pairs[i]);
    check_derivatives(*state, "", body);
  }
}

// Where the slope is infinite or unknown and nothing changes, the derivative is zero, not NaN.
static void no_change_is_none(void** state) {
  cpl_source* source = NULL;
  const cpl_model_tangent* t = open_text(
      *state, "",
      "dx[0] = sqrt(v->x[0]) + cbrt(v->x[0]) + pow(v->x[0], 0.5); dx[1] = hypot(v->x[0], v->x[1]) "
      "+ atan2(v->x[0], v->x[1]); dx[2] = pow(v->x[0], 2) + pow(v->x[0], 0) + fabs(v->x[0]);",
      &source);
  double x[3] = {0}, u[2] = {0}, p[2] = {0}, dx[3], d_dx[3] = {NAN, NAN, NAN};
  const cpl_values v = {.x = x, .u = u, .p = p}, d = {.x = u - 0, .u = u, .p = p};
  double none[3] = {0};
  cpl_values seed = d;
  seed.x = none;
  assert_int_equal(t->derivatives(&v, &seed, dx, d_dx), 0);
  for (int i = 0; i < 3; i++) assert_true(d_dx[i] == 0);
  source->ops->destroy(source);
}

static void check_refused(cpl_context* ctx, const char* before, const char* body,
                          const char* reason) {
  cpl_source* source = NULL;
  const cpl_model_tangent* t = open_text(ctx, before, body, &source);
  if (t->why == NULL) fail_msg("%s is not refused", body);
  CHECK_CONTAINS(t->why, reason);
  assert_null(t->derivatives);
  CHECK_CONTAINS(cpli_c_derivatives(source), "differences: ");
  source->ops->destroy(source);
}

static void what_is_not_understood_is_refused(void** state) {
  static const struct {
    const char *before, *body, *reason;
  } cases[] = {
      {"double j0(double);", "dx[0] = j0(v->x[0]); dx[1] = dx[2] = 0;",
       "call of j0(), which is not known, in m.c line 10"},
      {"", "float a = (float)v->x[0]; dx[0] = dx[1] = dx[2] = a;",
       "a number that is no double in m.c line 10"},
      {"static double last;", "last = v->x[0]; dx[0] = dx[1] = dx[2] = last;",
       "last outlives the call and is written in m.c line 10"},
      {"", "static double last; last += 1; dx[0] = dx[1] = dx[2] = last;",
       "the variable last, which outlives the call"},
      {"static double f2(double a, int n) { return n > 0 ? f2(a * a, n - 1) : a; }",
       "dx[0] = dx[1] = dx[2] = f2(v->x[0], 3);", "f2(), which calls itself"},
      {"static double half(double a) { return a / 2; }",
       "double (*g)(double) = half; dx[0] = dx[1] = dx[2] = g(v->x[0]);",
       "a call through a pointer"},
      {"", "dx[0] = dx[1] = dx[2] = ({ double a = v->x[0]; a * a; });",
       "statements in an expression"},
      {"", "int i = 0; dx[i++] = v->x[0]; dx[i++] = v->x[1]; dx[i] = 0;",
       "an effect inside of an expression in m.c line 10"},
      {"", "char text[9]; snprintf(text, 9, \"%g\", v->x[0]); dx[0] = dx[1] = dx[2] = text[0];",
       "call of snprintf(), which is not known"},
      {"typedef struct list { double* a; } list;",
       "list* l = v->memory; if (l->a != NULL) l->a[0] = v->x[0]; dx[0] = dx[1] = dx[2] = 0;",
       "a pointer in v->memory"},
      {"static double hidden[3]; static double* const at = hidden;",
       "at[0] = v->x[0]; dx[0] = dx[1] = dx[2] = at[0];", "outlives the call and is written"},
      {"",
       "const double* a = v->x[0] > 0 ? (const double*)v->memory : v->x; dx[0] = dx[1] = dx[2] = "
       "a[1];",
       "a pointer that leads to v->memory or to values"},
      {"static double cpl_d_x;", "dx[0] = dx[1] = dx[2] = v->x[0];", "cpl_d_x is reserved"},
      // bytes of numbers as something else: derivatives would not follow them
      {"union bits { double d; unsigned long long i; };",
       "union bits b; b.d = v->x[0]; b.i ^= 1ull << 63; dx[0] = dx[1] = dx[2] = b.d;",
       "a union of numbers and another type in m.c line 10"},
      {"struct any { int kind; union { double d; char c[8]; }; };",
       "struct any p = {.d = v->x[0]}, q; for (int i = 0; i < 8; i++) q.c[i] = p.c[i];\n"
       "dx[0] = dx[1] = dx[2] = q.d;",
       "a union of numbers and another type in m.c line 10"},
      {"", "double a = v->x[0], b; *(long*)&b = *(long*)&a; dx[0] = dx[1] = dx[2] = b;",
       "a pointer to numbers and to another type in m.c line 10"},
      {"static void copy(void* to, const void* from, unsigned long n) {\n"
       "  char* a = to;\n  const char* b = from;\n  while (n-- > 0) *a++ = *b++;\n}",
       "double a[3]; copy(a, v->x, sizeof a); dx[0] = dx[1] = dx[2] = a[0];",
       "a pointer to numbers and to another type in m.c line 6"},
      {"",
       "double a = v->x[0]; long i; memcpy(&i, &a, 8); i ^= 1; memcpy(&a, &i, 8);\n"
       "dx[0] = dx[1] = dx[2] = a;",
       "a pointer to numbers and to another type in m.c line 10"},
      {"",
       "double a = v->x[0]; unsigned long at = (unsigned long)&a;\n"
       "*(double*)at *= v->x[1]; dx[0] = dx[1] = dx[2] = a;",
       "a pointer made of a number in m.c line 11"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++)
    check_refused(*state, cases[i].before, cases[i].body, cases[i].reason);
}

static void the_model_may_refuse_them(void** state) {
  cpl_source* source = NULL;
  cpl_context* ctx = *state;
  cpl_context_use_differences(ctx, true);
  const cpl_model_tangent* t = open_text(ctx, "", "dx[0] = dx[1] = dx[2] = v->x[0];", &source);
  CHECK_STR(t->why, "differences: --no-ad");
  source->ops->destroy(source);
  cpl_context_use_differences(ctx, false);
  t = open_text(ctx, "", "dx[0] = dx[1] = dx[2] = v->x[0];", &source);
  assert_null(t->why);
  CHECK_STR(cpli_c_derivatives(source), "exact, made from its source");
  source->ops->destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(constructs_of_the_language),
      cmocka_unit_test(functions_of_the_library),
      cmocka_unit_test(no_change_is_none),
      cmocka_unit_test(what_is_not_understood_is_refused),
      cmocka_unit_test(the_model_may_refuse_them),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
