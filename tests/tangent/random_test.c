// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Tangent functions of random models: expressions, branches, loops, arrays, structs, tables and
// helper functions. The same text, compiled with long double in place of double, is the reference:
// its differences, extrapolated, have about 15 digits.
#include <dlfcn.h>

#include "tangent/compare.h"

enum { MODELS = 12, FUNCTIONS = 4, POINTS = 4, N = 3 };

typedef struct writer {
  FILE* out;
  uint64_t random;
  int depth, n_helpers;
  bool in_helper;
} writer;

static int pick(writer* w, int n) { return (int)((next_random(&w->random) + 1) / 2 * (n - 1e-9)); }

//------------------------------------ expressions ------------------------------------

static void expression(writer* w);

static void leaf(writer* w) {
  static const char* const names[] = {"a",    "b",     "c",        "s[1]",
                                      "s[k]", "r.one", "r.two[k]", "t[k + 1]"};
  if (pick(w, 4) == 0) fprintf(w->out, "(%.3f)", 2 * next_random(&w->random));
  else fputs(names[pick(w, (int)CPLI_COUNT(names))], w->out);
}

static void call(writer* w) {
  // defined for all arguments, and smooth
  static const char* const forms[] = {"SIN(%)",
                                      "COS(%)",
                                      "TANH(%)",
                                      "ATAN(%)",
                                      "EXP(-SQUARE(%))",
                                      "SQRT(1 + SQUARE(%))",
                                      "LOG(2 + SIN(%))",
                                      "CBRT(3 + SIN(%))",
                                      "SINH(SIN(%))",
                                      "ERF(%)",
                                      "FABS(%)",
                                      "ASIN(0.9 * SIN(%))",
                                      "POW(2 + SIN(%), 1.7)",
                                      "HYPOT(%, 1.5)",
                                      "ATAN2(%, 2.5)",
                                      "FMAX(%, 0.1)",
                                      "FMIN(0.2, %)",
                                      "POW(1.3, SIN(%))"};
  for (const char* f = forms[pick(w, (int)CPLI_COUNT(forms))]; *f != '\0'; f++) {
    if (*f == '%') expression(w);
    else fputc(*f, w->out);
  }
}

static void expression(writer* w) {
  if (++w->depth > 4) {
    leaf(w);
    w->depth--;
    return;
  }
  const int kind = pick(w, 10);
  if (kind < 2) {
    leaf(w);
  } else if (kind < 6) {
    fputc('(', w->out);
    expression(w);
    fputs((const char*[]){" + ", " - ", " * "}[pick(w, 3)], w->out);
    expression(w);
    fputc(')', w->out);
  } else if (kind == 6) {
    fputs("(", w->out);
    expression(w);
    fputs(" / (2 + SQUARE(", w->out);
    expression(w);
    fputs(")))", w->out);
  } else if (kind == 7) {
    fputs("(", w->out);
    leaf(w);
    fputs(" > ", w->out);
    leaf(w);
    fputs(" ? ", w->out);
    expression(w);
    fputs(" : -", w->out);
    leaf(w);
    fputs(")", w->out);
  } else if (kind == 8 && w->n_helpers > 0) {
    fprintf(w->out, "h%d(%s, ", pick(w, w->n_helpers), pick(w, 2) ? "s" : "t");
    expression(w);
    fputs(", k)", w->out);
  } else {
    call(w);
  }
  w->depth--;
}

//------------------------------------ statements ------------------------------------

static void statements(writer* w, int n, int level) {
  static const char* const targets[] = {"a", "b", "c", "s[k]", "s[2]", "r.one", "r.two[k]", "*q"};
  static const char* const signs[] = {" = ", " += ", " -= ", " *= 0.3 * "};
  for (int i = 0; i < n; i++) {
    const int kind = level > 1 ? 0 : pick(w, 8);
    if (kind == 5) {
      fputs("for (int k = 0; k < 2; k++) {\n", w->out);
      statements(w, 2, level + 1);
      fputs("}\n", w->out);
    } else if (kind == 6) {
      fputs("if (", w->out);
      expression(w);
      fputs(" > 0.1) {\n", w->out);
      statements(w, 2, level + 1);
      fputs("} else {\n", w->out);
      statements(w, 1, level + 1);
      fputs("}\n", w->out);
    } else if (kind == 7) {
      fputs((const char*[]){"q = &s[k];\n", "q = r.two + k;\n", "r = mix(r, c);\n",
                            "turn(s, &r);\n"}[pick(w, 4)],
            w->out);
    } else {
      fputs(targets[pick(w, (int)CPLI_COUNT(targets))], w->out);
      fputs(signs[pick(w, (int)CPLI_COUNT(signs))], w->out);
      expression(w);
      fputs(";\n", w->out);
    }
  }
}

static const char begin[] =
    "#include <couplet/model.h>\n#include <math.h>\n"
    "#ifdef LONG\n#define NUMBER long double\n#define F(f) f##l\n"
    "#else\n#define NUMBER double\n#define F(f) f\n#endif\n"
    "#define SIN F(sin)\n#define COS F(cos)\n#define TANH F(tanh)\n#define ATAN F(atan)\n"
    "#define EXP F(exp)\n#define SQRT F(sqrt)\n#define LOG F(log)\n#define CBRT F(cbrt)\n"
    "#define SINH F(sinh)\n#define ERF F(erf)\n#define FABS F(fabs)\n#define ASIN F(asin)\n"
    "#define POW F(pow)\n#define HYPOT F(hypot)\n#define ATAN2 F(atan2)\n#define FMAX F(fmax)\n"
    "#define FMIN F(fmin)\n#define SQUARE square\n"
    "typedef NUMBER number;\n"
    "typedef struct part { number one; int n; number two[2]; } part;\n"
    "static const number t[4] = {0.5, -0.25, 1.5, 2};\n"
    "static number square(number a) { return a * a; }\n"
    "static part mix(part r, number c) { r.two[0] += c * r.one; return (part){r.two[0], 1, "
    "{r.two[1], c}}; }\n"
    "static void turn(number* s, part* r) { number c = s[0]; s[0] = s[1]; s[1] = s[2]; s[2] = "
    "c; r->one *= c; }\n";

static const char variables[] =
    "  number s[3] = {x[0] * u[0], x[1], x[2] - p[0]};\n"
    "  part r = {.one = x[0], .two = {p[1] * x[2], 1}};\n"
    "  number* q = &s[0];\n  int k = 1;\n  (void)k, (void)q;\n";

static void helper(writer* w, int number) {
  fprintf(w->out,
          "static number h%d(const number* x, number a, int k) {\n"
          "  number b = x[0] * a, c = x[k] - b, s[3] = {a, x[1], 0.3}, *q = &c;\n"
          "  part r = {b, 0, {x[2], a * b}};\n",
          number);
  statements(w, 3, 1);
  fputs("  return ", w->out);
  expression(w);
  fputs(";\n}\n", w->out);
}

static void write_model(const char* path, uint64_t seed) {
  writer w = {.out = fopen(path, "wb"), .random = seed * 977};
  assert_non_null(w.out);
  fputs(begin, w.out);
  for (int i = 0; i < FUNCTIONS; i++) {
    helper(&w, i);
    w.n_helpers++;
  }
  fputs(
      "static void g(const number* x, const number* u, const number* p, number* out) {\n"
      "  number a = x[0], b = u[1], c = p[0] * x[1];\n",
      w.out);
  fputs(variables, w.out);
  statements(&w, 8, 0);
  for (int i = 0; i < N; i++) {
    fprintf(w.out, "  out[%d] = ", i);
    expression(&w);
    fputs(";\n", w.out);
  }
  fputs(
      "}\n"
      "#ifdef LONG\n__attribute__((visibility(\"default\"))) void reference(const number* x, "
      "const number* u, const number* p, number* out) {\n  g(x, u, p, out);\n}\n#else\n"
      "static const cpl_declaration xs[] = {{\"x\", .size = 3}, {0}};\n"
      "static const cpl_declaration us[] = {{\"u\", .size = 3}, {0}};\n"
      "static const cpl_declaration ps[] = {{\"p\", .size = 3}, {0}};\n"
      "static const cpl_declaration zs[] = {{\"z\", .size = 3}, {0}};\n"
      "static int f(const cpl_values* v, double* dx) {\n  g(v->x, v->u, v->p, dx);\n"
      "  return CPL_MODEL_OK;\n}\n"
      "static int r(const cpl_values* v, double* out) {\n  g(v->z, v->u, v->p, out);\n"
      "  return CPL_MODEL_OK;\n}\n"
      "const cpl_model_def couplet_model = {.name = \"m\", .states = xs, .inputs = us,\n"
      "  .parameters = ps, .derivatives = f, .algebraics = zs, .residuals = r};\n#endif\n",
      w.out);
  assert_int_equal(fclose(w.out), 0);
}

//------------------------------------ reference ------------------------------------

typedef void reference_fn(const long double*, const long double*, const long double*, long double*);

static reference_fn* open_reference(const char* path, void** library) {
  char command[4096];
  const char* compiler = getenv("CC") != NULL ? getenv("CC") : "cc";
  snprintf(command, sizeof command,
           "%s -std=c17 -O1 -w -shared -fPIC -DLONG -I '%s' -o ref.so %s -lm", compiler,
           test_path("include"), path);
  assert_int_equal(system(command), 0);
  *library = dlopen("./ref.so", RTLD_NOW | RTLD_LOCAL);
  assert_non_null(*library);
  reference_fn* f;
  *(void**)&f = dlsym(*library, "reference");
  assert_non_null(f);
  return f;
}

typedef struct where {
  double x[N], u[N], p[N];
} where;

// Central differences of orders 2, 4, 6 and 8; two steps that differ tell a kink near by.
static long double slope_at(reference_fn* f, const where* at, const where* d, int i, double h) {
  static const long double weights[] = {4 / 5.0L, -1 / 5.0L, 4 / 105.0L, -1 / 280.0L};
  long double sum = 0;
  for (int side = -4; side <= 4; side++) {
    long double x[N], u[N], p[N], out[N];
    if (side == 0) continue;
    for (int k = 0; k < N; k++) {
      x[k] = at->x[k] + (long double)h * side * d->x[k];
      u[k] = at->u[k] + (long double)h * side * d->u[k];
      p[k] = at->p[k] + (long double)h * side * d->p[k];
    }
    f(x, u, p, out);
    sum += (side > 0 ? 1 : -1) * weights[abs(side) - 1] * out[i];
  }
  return sum / h;
}

// Derivatives; residuals, which are the same function of the algebraic variables.
static int compare_point(const cpl_model_tangent* t, reference_fn* f, const where* at,
                         const where* d, bool all, uint64_t seed) {
  int n = 0;
  double dx[N], d_dx[N], g[N], d_g[N];
  const cpl_values v = {.x = at->x, .u = at->u, .p = at->p, .z = at->x};
  const cpl_values s = {.x = d->x, .u = d->u, .p = d->p, .z = d->x};
  assert_int_equal((all ? t->derivatives_all : t->derivatives)(&v, &s, dx, d_dx), 0);
  assert_int_equal((all ? t->residuals_all : t->residuals)(&v, &s, g, d_g), 0);
  assert_memory_equal(dx, g, sizeof dx);
  assert_memory_equal(d_dx, d_g, sizeof d_dx);
  for (int i = 0; i < N; i++) {
    const long double coarse = slope_at(f, at, d, i, 4e-4), fine = slope_at(f, at, d, i, 3e-4);
    const double size = fmax(1, fabs((double)fine));
    if (!(fabsl(coarse - fine) <= 1e-12L * size)) continue;  // a kink, or hardly smooth
    if (!(fabs(d_dx[i] - (double)fine) <= 1e-11 * size))
      fail_msg("model %llu: derivative %d is %.17g, reference %.17g", (unsigned long long)seed, i,
               d_dx[i], (double)fine);
    n++;
  }
  return n;
}

static void random_models(void** state) {
  int compared_values = 0;
  for (uint64_t seed = 1; seed <= MODELS; seed++) {
    cpl_source* source = NULL;
    void* library = NULL;
    char name[64];
    snprintf(name, sizeof name, "random_%llu.c", (unsigned long long)seed);
    write_model(name, seed);
    CHECK_OK(*state, cpl_c_open(*state, name, &source));
    const cpl_model_tangent* t = cpli_c_tangent(source);
    if (t == NULL || t->why != NULL) fail_msg("%s: %s", name, t != NULL ? t->why : "nothing");
    reference_fn* f = open_reference(name, &library);
    uint64_t random = seed;
    for (int k = 0; k < POINTS; k++) {
      where at, d;
      const bool all = k % 2 != 0;
      for (int i = 0; i < N; i++) {
        at.x[i] = next_random(&random), d.x[i] = next_random(&random);
        at.u[i] = next_random(&random), d.u[i] = next_random(&random);
        at.p[i] = next_random(&random), d.p[i] = all ? next_random(&random) : 0;
      }
      compared_values += compare_point(t, f, &at, &d, all, seed);
    }
    source->ops->destroy(source);
    dlclose(library);
  }
  print_message("%d derivatives of %d models\n", compared_values, MODELS);
  assert_true(compared_values > MODELS * POINTS);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(random_models)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
