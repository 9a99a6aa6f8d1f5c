// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A recursive-descent parser over tables of symbols and SI prefixes. Conversions go through the SI
// base units.
#include "model/units.h"

#include <math.h>

enum { KG, M, S, A, K, MOL, CD, RAD, BASES };

typedef struct symbol {
  const char* name;
  double factor;
  int8_t exponents[BASES];  // kg m s A K mol cd rad
  bool prefixes;            // takes prefixes of SI
  double offset;
} symbol;

static const symbol symbols[] = {
    {"1", 1, {0}, false, 0},
    {"m", 1, {[M] = 1}, true, 0},
    {"s", 1, {[S] = 1}, true, 0},
    {"kg", 1, {[KG] = 1}, false, 0},
    {"g", 1e-3, {[KG] = 1}, true, 0},
    {"t", 1e3, {[KG] = 1}, false, 0},
    {"A", 1, {[A] = 1}, true, 0},
    {"K", 1, {[K] = 1}, true, 0},
    {"mol", 1, {[MOL] = 1}, true, 0},
    {"cd", 1, {[CD] = 1}, true, 0},
    {"rad", 1, {[RAD] = 1}, true, 0},
    {"deg", 3.14159265358979323846 / 180, {[RAD] = 1}, false, 0},
    {"rev", 2 * 3.14159265358979323846, {[RAD] = 1}, false, 0},
    {"rpm", 3.14159265358979323846 / 30, {[RAD] = 1, [S] = -1}, false, 0},
    {"sr", 1, {0}, false, 0},
    {"Hz", 1, {[S] = -1}, true, 0},
    {"N", 1, {[KG] = 1, [M] = 1, [S] = -2}, true, 0},
    {"Pa", 1, {[KG] = 1, [M] = -1, [S] = -2}, true, 0},
    {"bar", 1e5, {[KG] = 1, [M] = -1, [S] = -2}, true, 0},
    {"J", 1, {[KG] = 1, [M] = 2, [S] = -2}, true, 0},
    {"Wh", 3600, {[KG] = 1, [M] = 2, [S] = -2}, true, 0},
    {"W", 1, {[KG] = 1, [M] = 2, [S] = -3}, true, 0},
    {"C", 1, {[A] = 1, [S] = 1}, true, 0},
    {"V", 1, {[KG] = 1, [M] = 2, [S] = -3, [A] = -1}, true, 0},
    {"F", 1, {[KG] = -1, [M] = -2, [S] = 4, [A] = 2}, true, 0},
    {"Ohm", 1, {[KG] = 1, [M] = 2, [S] = -3, [A] = -2}, true, 0},
    {"ohm", 1, {[KG] = 1, [M] = 2, [S] = -3, [A] = -2}, true, 0},
    {"\xce\xa9", 1, {[KG] = 1, [M] = 2, [S] = -3, [A] = -2}, true, 0},      // Greek omega
    {"\xe2\x84\xa6", 1, {[KG] = 1, [M] = 2, [S] = -3, [A] = -2}, true, 0},  // ohm sign
    {"S", 1, {[KG] = -1, [M] = -2, [S] = 3, [A] = 2}, true, 0},
    {"Wb", 1, {[KG] = 1, [M] = 2, [S] = -2, [A] = -1}, true, 0},
    {"T", 1, {[KG] = 1, [S] = -2, [A] = -1}, true, 0},
    {"H", 1, {[KG] = 1, [M] = 2, [S] = -2, [A] = -2}, true, 0},
    {"lm", 1, {[CD] = 1}, true, 0},
    {"lx", 1, {[CD] = 1, [M] = -2}, true, 0},
    {"l", 1e-3, {[M] = 3}, true, 0},
    {"L", 1e-3, {[M] = 3}, true, 0},
    {"min", 60, {[S] = 1}, false, 0},
    {"h", 3600, {[S] = 1}, false, 0},
    {"d", 86400, {[S] = 1}, false, 0},
    {"degC", 1, {[K] = 1}, false, 273.15},
    {"degF", 5.0 / 9, {[K] = 1}, false, 459.67 * 5 / 9},
    {"%", 1e-2, {0}, false, 0},
};

static const struct prefix {
  const char* name;
  double factor;
} prefixes[] = {{"Y", 1e24}, {"Z", 1e21},  {"E", 1e18},  {"P", 1e15}, {"T", 1e12},
                {"G", 1e9},  {"M", 1e6},   {"k", 1e3},   {"h", 1e2},  {"da", 1e1},
                {"d", 1e-1}, {"c", 1e-2},  {"m", 1e-3},  {"u", 1e-6}, {"\xc2\xb5", 1e-6},
                {"n", 1e-9}, {"p", 1e-12}, {"f", 1e-15}, {"a", 1e-18}};

static const symbol* find_symbol(const char* text, size_t len) {
  for (size_t i = 0; i < CPLI_COUNT(symbols); i++) {
    if (strlen(symbols[i].name) == len && memcmp(symbols[i].name, text, len) == 0)
      return &symbols[i];
  }
  return NULL;
}

// A symbol alone, or after a prefix.
static const symbol* find_unit(const char* text, size_t len, double* prefix) {
  const symbol* s = find_symbol(text, len);
  *prefix = 1;
  for (size_t i = 0; s == NULL && i < CPLI_COUNT(prefixes); i++) {
    size_t n = strlen(prefixes[i].name);
    if (n >= len || memcmp(prefixes[i].name, text, n) != 0) continue;
    s = find_symbol(text + n, len - n);
    if (s != NULL && !s->prefixes) s = NULL;
    *prefix = prefixes[i].factor;
  }
  return s;
}

typedef struct sum {
  int exponents[BASES];
  double factor, offset;
  int n_factors;
} sum;

static void multiply(sum* total, const sum* by, int power) {
  for (int i = 0; i < BASES; i++) total->exponents[i] += power * by->exponents[i];
  total->factor *= pow(by->factor, power);
  total->offset += by->offset;
  total->n_factors += by->n_factors > 1 || power != 1 ? 2 : by->n_factors;
}

// An exponent after a factor: "2", "-1", "^2"; 1 when there is none.
static int read_exponent(const char** at) {
  const char* p = *at;
  int sign = 1, value = 0;
  if (*p == '^') p++;
  if (*p == '-' || *p == '+') sign = *p++ == '-' ? -1 : 1;
  if (*p < '0' || *p > '9') return 1;
  while (*p >= '0' && *p <= '9' && value < 100) value = 10 * value + (*p++ - '0');
  *at = p;
  return sign * value;
}

static bool read_product(const char** at, int depth, sum* out);

static bool read_factor(const char** at, int depth, sum* out) {
  *out = (sum){.factor = 1};
  if (**at == '(') {
    (*at)++;
    if (depth > 8 || !read_product(at, depth + 1, out) || **at != ')') return false;
    (*at)++;
  } else if (**at == '1') {
    (*at)++;
    out->n_factors = 1;
    return true;
  } else {
    size_t len = strcspn(*at, "0123456789.*/()^+- ");
    double prefix;
    const symbol* s = find_unit(*at, len, &prefix);
    if (s == NULL) return false;
    for (int i = 0; i < BASES; i++) out->exponents[i] = s->exponents[i];
    out->factor = prefix * s->factor;
    out->offset = s->offset;
    out->n_factors = 1;
    *at += len;
  }
  sum plain = *out;
  int power = read_exponent(at);
  if (power == 1) return true;
  *out = (sum){.factor = 1};
  multiply(out, &plain, power);
  return true;
}

static bool read_product(const char** at, int depth, sum* out) {
  *out = (sum){.factor = 1};
  int power = 1;
  for (;;) {
    sum one;
    if (!read_factor(at, depth, &one)) return false;
    multiply(out, &one, power);
    if (**at != '.' && **at != '*' && **at != '/') return true;
    power = **at == '/' ? -1 : 1;
    (*at)++;
  }
}

bool cpli_unit_parse(const char* text, cpl_unit* out) {
  sum total;
  const char* at = strcmp(text, "-") == 0 ? "1" : text;  // as many tools write it
  if (!read_product(&at, 0, &total) || *at != '\0' || !isfinite(total.factor)) return false;
  for (int i = 0; i < BASES; i++) {
    if (total.exponents[i] < -100 || total.exponents[i] > 100) return false;
  }
  // "degC/s": a change of temperature has no offset
  out->offset = total.n_factors == 1 ? total.offset : 0;
  out->factor = total.factor;
  for (int i = 0; i < BASES; i++) out->exponents[i] = (int8_t)total.exponents[i];
  out->has_base = true;
  return true;
}

//------------------------------------ conversion ------------------------------------

static bool with_base(const cpl_unit* given, cpl_unit* out) {
  *out = *given;
  return given->has_base || cpli_unit_parse(given->name, out);
}

// The relation of two units; *a and *b get their meanings.
static cpli_unit_relation compare(const cpl_unit* from, const cpl_unit* to, bool difference,
                                  cpl_unit* a, cpl_unit* b) {
  if (strcmp(from->name, to->name) == 0) return CPLI_UNITS_SAME;
  if (!with_base(from, a) || !with_base(to, b)) return CPLI_UNITS_UNKNOWN;
  if (memcmp(a->exponents, b->exponents, RAD) != 0) return CPLI_UNITS_DIFFER;
  // V.s/rad is N.m/A. But rad/s is not Hz, and a stiffness in N.m/deg is not one in N.m.
  bool rad_is_one = (a->exponents[KG] != 0 || a->exponents[A] != 0) && a->factor == b->factor;
  if (a->exponents[RAD] != b->exponents[RAD] && !rad_is_one) return CPLI_UNITS_ANGLE;
  bool same = a->factor == b->factor && (difference || a->offset == b->offset);
  return same ? CPLI_UNITS_SAME : CPLI_UNITS_CONVERT;
}

cpli_unit_relation cpli_relate_units(const cpl_unit* from, const cpl_unit* to, bool difference,
                                     double* factor, double* offset) {
  cpl_unit a, b;
  *factor = 1;
  *offset = 0;
  cpli_unit_relation found = compare(from, to, difference, &a, &b);
  if (found != CPLI_UNITS_CONVERT) return found;
  if (a.factor != b.factor) *factor = a.factor / b.factor;
  if (!difference) *offset = (a.offset - b.offset) / b.factor;
  return found;
}

cpli_unit_relation cpli_unit_conversion(const cpl_unit* from, const cpl_unit* to, bool difference,
                                        cpli_conversion* out) {
  cpl_unit a, b;
  *out = (cpli_conversion){.factor = 1, .to_factor = 1};
  cpli_unit_relation found = compare(from, to, difference, &a, &b);
  if (found != CPLI_UNITS_CONVERT && found != CPLI_UNITS_ANGLE) return found;
  *out = (cpli_conversion){.factor = a.factor, .to_factor = b.factor};
  if (!difference) out->offset = a.offset, out->to_offset = b.offset;
  return found;
}

cpli_unit_relation cpli_relate_to_variable(const cpl_description* d, const cpl_variable* v,
                                           const char* from, cpli_conversion* out) {
  const cpl_unit* own = &d->units[v->unit];
  cpl_unit given = {.name = from};
  *out = (cpli_conversion){.factor = 1, .to_factor = 1};
  if (strcmp(own->name, from) == 0) return CPLI_UNITS_SAME;
  for (int32_t i = 0; i < d->n_units; i++) {
    const cpl_unit* u = &d->units[i];
    if (strcmp(u->name, from) != 0) continue;
    if (u->display_of < 0 && u->has_base) given = *u;
    if (u->display_of != v->unit) continue;
    // display = factor * own + offset
    *out = (cpli_conversion){.factor = u->inverse ? u->factor : 1,
                             .to_factor = u->inverse ? 1 : u->factor,
                             .to_offset = v->relative_quantity ? 0 : u->offset,
                             .inverse = u->inverse};
    return CPLI_UNITS_CONVERT;
  }
  return cpli_unit_conversion(&given, own, v->relative_quantity, out);
}

double cpli_convert(const cpli_conversion* c, double value) {
  if (c->inverse) return c->factor / value;
  return (c->factor * value + c->offset - c->to_offset) / c->to_factor;
}
