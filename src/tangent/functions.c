// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The derivatives of functions as text that is put into models. At a kink (fabs, fmin, floor, ...)
// the derivative is that of the branch that is taken.
#include "tangent/functions.h"

#include <assert.h>

const char cpli_tan_prelude[] =
    "typedef struct cpl_dual { double v, d; } cpl_dual;\n"
    "static inline cpl_dual cpl_dual_of(double v, double d) {\n"
    "  cpl_dual r; r.v = v; r.d = d; return r; }\n"
    "static inline cpl_dual cpl_dual_neg(cpl_dual a) { return cpl_dual_of(-a.v, -a.d); }\n"
    "static inline cpl_dual cpl_dual_add(cpl_dual a, cpl_dual b) {\n"
    "  return cpl_dual_of(a.v + b.v, a.d + b.d); }\n"
    "static inline cpl_dual cpl_dual_add_r(cpl_dual a, double b) {\n"
    "  return cpl_dual_of(a.v + b, a.d); }\n"
    "static inline cpl_dual cpl_dual_r_add(double a, cpl_dual b) {\n"
    "  return cpl_dual_of(a + b.v, b.d); }\n"
    "static inline cpl_dual cpl_dual_sub(cpl_dual a, cpl_dual b) {\n"
    "  return cpl_dual_of(a.v - b.v, a.d - b.d); }\n"
    "static inline cpl_dual cpl_dual_sub_r(cpl_dual a, double b) {\n"
    "  return cpl_dual_of(a.v - b, a.d); }\n"
    "static inline cpl_dual cpl_dual_r_sub(double a, cpl_dual b) {\n"
    "  return cpl_dual_of(a - b.v, -b.d); }\n"
    "static inline cpl_dual cpl_dual_mul(cpl_dual a, cpl_dual b) {\n"
    "  return cpl_dual_of(a.v * b.v, a.d * b.v + a.v * b.d); }\n"
    "static inline cpl_dual cpl_dual_mul_r(cpl_dual a, double b) {\n"
    "  return cpl_dual_of(a.v * b, a.d * b); }\n"
    "static inline cpl_dual cpl_dual_r_mul(double a, cpl_dual b) {\n"
    "  return cpl_dual_of(a * b.v, a * b.d); }\n"
    "static inline cpl_dual cpl_dual_div(cpl_dual a, cpl_dual b) {\n"
    "  double q = a.v / b.v; return cpl_dual_of(q, (a.d - q * b.d) / b.v); }\n"
    "static inline cpl_dual cpl_dual_div_r(cpl_dual a, double b) {\n"
    "  return cpl_dual_of(a.v / b, a.d / b); }\n"
    "static inline cpl_dual cpl_dual_r_div(double a, cpl_dual b) {\n"
    "  double q = a / b.v; return cpl_dual_of(q, -q * b.d / b.v); }\n"
    "static inline cpl_dual cpl_dual_set(double* v, double* d, cpl_dual a) {\n"
    "  *v = a.v; *d = a.d; return a; }\n"
    "static inline void cpl_dual_clear(void* to, unsigned long long n) {\n"
    "  for (unsigned char* c = (unsigned char*)to; n > 0; n--) *c++ = 0; }\n";

#define ONE(name, code) \
  { #name, CPLI_TAN_SMOOTH, 1, code }
#define TWO(name, code) \
  { #name, CPLI_TAN_SMOOTH, 2, code }
#define FLAT(name) \
  { #name, CPLI_TAN_STEP, 1, NULL }
#define HARMLESS(name) \
  { #name, CPLI_TAN_HARMLESS, 0, NULL }

// `r` is the value; `a`, `b`, `c` are the arguments. A slope that is infinite times no change is no
// change.
static const cpli_tan_function functions[] = {
    ONE(sqrt, "r > 0 || a.d != 0 ? a.d / (2 * r) : 0"),
    ONE(cbrt, "r != 0 || a.d != 0 ? a.d / (3 * r * r) : 0"),
    ONE(exp, "r * a.d"),
    ONE(exp2, "r * 0.69314718055994530942 * a.d"),
    ONE(expm1, "(r + 1) * a.d"),
    ONE(log, "a.d / a.v"),
    ONE(log2, "a.d / (a.v * 0.69314718055994530942)"),
    ONE(log10, "a.d / (a.v * 2.30258509299404568402)"),
    ONE(log1p, "a.d / (1 + a.v)"),
    ONE(sin, "cos(a.v) * a.d"),
    ONE(cos, "-sin(a.v) * a.d"),
    ONE(tan, "(1 + r * r) * a.d"),
    ONE(asin, "a.d / sqrt((1 - a.v) * (1 + a.v))"),
    ONE(acos, "-a.d / sqrt((1 - a.v) * (1 + a.v))"),
    ONE(atan, "a.d / (1 + a.v * a.v)"),
    ONE(sinh, "cosh(a.v) * a.d"),
    ONE(cosh, "sinh(a.v) * a.d"),
    ONE(tanh, "(1 - r * r) * a.d"),
    ONE(asinh, "a.d / sqrt(a.v * a.v + 1)"),
    ONE(acosh, "a.d / sqrt((a.v - 1) * (a.v + 1))"),
    ONE(atanh, "a.d / ((1 - a.v) * (1 + a.v))"),
    ONE(erf, "1.12837916709551257390 * exp(-a.v * a.v) * a.d"),
    ONE(erfc, "-1.12837916709551257390 * exp(-a.v * a.v) * a.d"),
    ONE(fabs, "a.v < 0 ? -a.d : a.d"),
    TWO(fmax, "a.v >= b.v || b.v != b.v ? a.d : b.d"),
    TWO(fmin, "a.v <= b.v || b.v != b.v ? a.d : b.d"),
    TWO(fdim, "a.v > b.v ? a.d - b.d : 0"),
    TWO(hypot, "r > 0 ? a.v / r * a.d + b.v / r * b.d : hypot(a.d, b.d)"),
    TWO(atan2, "a.d != 0 || b.d != 0 ? (b.v * a.d - a.v * b.d) / (a.v * a.v + b.v * b.v) : 0"),
    TWO(fmod, "b.d != 0 ? a.d - trunc(a.v / b.v) * b.d : a.d"),
    TWO(remainder, "b.d != 0 ? a.d - rint((a.v - r) / b.v) * b.d : a.d"),
    TWO(copysign, "r == a.v ? a.d : -a.d"),
    TWO(pow,
        "(a.d == 0 ? 0 : a.v != 0 && r != 0 && r - r == 0 ? b.v * (r / a.v) * a.d\n"
        "                     : b.v == 0 ? 0 : b.v * pow(a.v, b.v - 1) * a.d) +\n"
        "      (b.d == 0 ? 0 : r == 0 ? 0 : r * log(a.v) * b.d)"),
    {"fma", CPLI_TAN_SMOOTH, 3, "a.d * b.v + a.v * b.d + c.d"},
    FLAT(floor),
    FLAT(ceil),
    FLAT(round),
    FLAT(trunc),
    FLAT(rint),
    FLAT(nearbyint),
    {"memcpy", CPLI_TAN_COPY, 3, NULL},
    {"memmove", CPLI_TAN_COPY, 3, NULL},
    {"memset", CPLI_TAN_FILL, 3, NULL},
    HARMLESS(cpl_model_error),
    HARMLESS(__assert_fail),
    HARMLESS(abort),
    HARMLESS(memcmp),
    HARMLESS(strcmp),
    HARMLESS(strncmp),
    HARMLESS(strlen),
    HARMLESS(strchr),
    HARMLESS(expect),
    HARMLESS(unreachable),
};

static const cpli_tan_builtin builtins[] = {
    {"inff", TYPE_FLOAT},        {"inf", TYPE_REAL},       {"huge_val", TYPE_REAL},
    {"huge_valf", TYPE_FLOAT},   {"nan", TYPE_REAL},       {"nanf", TYPE_FLOAT},
    {"isnan", TYPE_WHOLE},       {"isinf", TYPE_WHOLE},    {"isinf_sign", TYPE_WHOLE},
    {"isfinite", TYPE_WHOLE},    {"isnormal", TYPE_WHOLE}, {"signbit", TYPE_WHOLE},
    {"isgreater", TYPE_WHOLE},   {"isless", TYPE_WHOLE},   {"isgreaterequal", TYPE_WHOLE},
    {"islessequal", TYPE_WHOLE}, {"expect", TYPE_WHOLE},   {"unreachable", TYPE_VOID},
};

static const char prefix[] = "__builtin_";

static const char* plain_name(const char* name) {
  return strncmp(name, prefix, sizeof prefix - 1) == 0 ? name + sizeof prefix - 1 : name;
}

const cpli_tan_function* cpli_tan_function_of(const char* name) {
  const char* plain = plain_name(name);
  for (size_t i = 0; i < CPLI_COUNT(functions); i++) {
    if (strcmp(functions[i].name, plain) == 0) return &functions[i];
  }
  return NULL;
}

const cpli_tan_function* cpli_tan_function_at(size_t number) { return &functions[number]; }

static_assert(CPLI_COUNT(functions) <= CPLI_TAN_MAX_FUNCTIONS, "for a list of those in use");
size_t cpli_tan_function_number(const cpli_tan_function* f) { return (size_t)(f - functions); }

const cpli_tan_builtin* cpli_tan_builtin_of(const char* name) {
  static const cpli_tan_builtin number = {"", TYPE_REAL}, nothing = {"", TYPE_VOID};
  const char* plain = plain_name(name);
  if (plain == name) return NULL;
  for (size_t i = 0; i < CPLI_COUNT(builtins); i++) {
    if (strcmp(builtins[i].name, plain) == 0) return &builtins[i];
  }
  const cpli_tan_function* f = cpli_tan_function_of(name);
  if (f == NULL) return NULL;
  return f->effect == CPLI_TAN_SMOOTH || f->effect == CPLI_TAN_STEP ? &number : &nothing;
}
