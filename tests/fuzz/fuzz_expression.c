// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An expression of a system file: parsed, evaluated, differentiated, its relations settled and
// followed. A point where everything is settled has one value, whichever way it is asked for.
#include <math.h>

#include "expr/expr.h"
#include "fuzz.h"

static const struct {
  const char* name;
  cpl_type type;
} names[] = {{"x", CPL_REAL},           {"y", CPL_REAL},        {"left.y1", CPL_REAL},
             {"v[1]", CPL_REAL},        {"m.der(h)", CPL_REAL}, {"i", CPL_INTEGER},
             {"mode", CPL_ENUMERATION}, {"on", CPL_BOOLEAN},    {"label", CPL_STRING}};
enum { N_NAMES = sizeof names / sizeof names[0], MOST = CPLI_EXPR_SIZE };

static int32_t resolve(void* user, const char* name, cpl_type* type) {
  (void)user;
  for (int32_t i = 0; i < N_NAMES; i++) {
    if (strcmp(names[i].name, name) != 0) continue;
    *type = names[i].type;
    return i;
  }
  return -1;
}

static const char* candidate(const void* user, size_t i) {
  (void)user;
  return names[i].name;
}

// Values of slots at several points; those of Integers are whole, those of Booleans 0 or 1.
static const double points[][N_NAMES] = {
    {0.5, -1.25, 2, 1e-3, -7, 3, 2, 1, 0},
    {0, 0, 0, 0, 0, 0, 1, 0, 0},
    {-1e300, 1e300, 1e-300, 3, 0.5, -9007199254740993., 4, 1, 0},
    {(double)INFINITY, (double)NAN, -3, -(double)INFINITY, 1, 17, 3, 0, 0},
};

static bool same(double a, double b) { return a == b || (isnan(a) && isnan(b)); }

static void relations(const cpli_expr* e, cpl_context* ctx, double t, const double* values,
                      const double* frozen) {
  static double z[MOST], sizes[MOST];
  static cpli_relation list[MOST];
  size_t n = cpli_expr_slots(e, NULL);
  cpli_mover movers[N_NAMES];
  for (size_t i = 0; i < n; i++) movers[i] = (cpli_mover)(i % (CPLI_MOVED + 1));
  fuzz_fine(ctx, cpli_expr_indicators(e, ctx, t, values, frozen, z));
  fuzz_fine(ctx, cpli_expr_sizes(e, ctx, t, values, sizes));
  cpli_expr_movers(e, movers, list);
  for (size_t i = 0; i < cpli_expr_relations(e); i++) {
    double when;
    bool after;
    if (list[i].comparison && list[i].mover == CPLI_MOVED_BY_TIME)
      cpli_expr_turns(e, &list[i], values, &when, &after);
  }
}

static void evaluate(const cpli_expr* e, cpl_context* ctx, double t, const double* at) {
  static double frozen[MOST];
  double values[N_NAMES], gradient[N_NAMES], fresh = 0, held = 0, again = 0, by_time;
  const int32_t* slots;
  size_t n = cpli_expr_slots(e, &slots);
  for (size_t i = 0; i < n; i++) values[i] = at[slots[i]];
  memset(frozen, 0, cpli_expr_relations(e) * sizeof *frozen);
  if (cpli_expr_value(e, ctx, t, values, NULL, &fresh) != CPL_OK) return;
  FUZZ_CHECK(cpli_expr_settle(e, ctx, t, values, frozen) == CPL_OK);
  FUZZ_CHECK(cpli_expr_value(e, ctx, t, values, frozen, &held) == CPL_OK);
  FUZZ_CHECK(same(fresh, held));
  if (cpli_expr_gradient(e, ctx, t, values, frozen, &again, gradient, &by_time) == CPL_OK)
    FUZZ_CHECK(same(held, again));
  relations(e, ctx, t, values, frozen);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const cpli_scope scope = {resolve, candidate, N_NAMES, NULL};
  static const bool fixed[N_NAMES] = {[1] = true, [3] = true};
  cpl_context* ctx = fuzz_context();
  char* text = fuzz_text(data, size);
  cpli_expr* e = NULL;
  if (fuzz_fine(ctx, cpli_expr_parse(ctx, (cpli_source_loc){"fuzz", 1, 1}, text, &scope, &e))) {
    cpli_expr_type(e);
    cpli_expr_is_constant(e);
    cpli_expr_linearity(e, NULL);
    cpli_expr_linearity(e, fixed);
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++)
      evaluate(e, ctx, 0.75 * (double)i, points[i]);
  }
  cpli_expr_destroy(e);
  free(text);
  return 0;
}
