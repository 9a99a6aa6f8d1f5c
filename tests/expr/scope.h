// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Names for expressions in tests, and short ways to parse and evaluate.
#pragma once

#include "expr/expr.h"
#include "testing.h"

static const struct {
  const char* name;
  cpli_type type;
} known_names[] = {
    {"x", CPLI_REAL},       {"y", CPLI_REAL},           {"k", CPLI_REAL},
    {"left.y1", CPLI_REAL}, {"right.y1", CPLI_REAL},    {"m.der(h)", CPLI_REAL},
    {"v[1]", CPLI_REAL},    {"m.'a b'", CPLI_REAL},     {"i", CPLI_INTEGER},
    {"j", CPLI_INTEGER},    {"mode", CPLI_ENUMERATION}, {"on", CPLI_BOOLEAN},
    {"off", CPLI_BOOLEAN},  {"label", CPLI_STRING},     {"a", CPLI_REAL},
    {"b", CPLI_REAL},       {"c", CPLI_REAL},           {"d", CPLI_REAL},
    {"w", CPLI_REAL},       {"w2", CPLI_REAL},          {"min", CPLI_REAL},
};

static inline int32_t test_resolve(void* user, const char* name, cpli_type* type) {
  (void)user;
  for (size_t i = 0; i < CPLI_COUNT(known_names); i++) {
    if (strcmp(known_names[i].name, name) != 0) continue;
    *type = known_names[i].type;
    return (int32_t)(100 + i);
  }
  return -1;
}

static inline const char* test_candidate(const void* user, size_t i) {
  (void)user;
  return known_names[i].name;
}

static const cpli_scope test_scope = {.resolve = test_resolve,
                                      .candidate = test_candidate,
                                      .n_candidates = sizeof known_names / sizeof known_names[0]};
static const cpli_place test_place = {.file = "system.yaml", .line = 12, .column = 10};

static inline cpli_expr* parse(cpl_context* ctx, const char* text) {
  cpli_expr* e = NULL;
  cpl_status st = cpli_expr_parse(ctx, test_place, text, &test_scope, &e);
  if (st < 0) fail_msg("\"%s\": %s", text, cpl_context_error(ctx));
  return e;
}

// The value with fresh relations; values in order of first use.
static inline double value_at(cpl_context* ctx, const char* text, double t, const double* values) {
  cpli_expr* e = parse(ctx, text);
  double v = NAN;
  cpl_status st = cpli_expr_value(e, ctx, t, values, NULL, &v);
  if (st != CPL_OK) fail_msg("\"%s\": %s", text, cpl_context_error(ctx));
  cpli_expr_destroy(e);
  return v;
}

static inline uint64_t next_random(uint64_t* s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  *s ^= *s << 17;
  return *s;
}

static inline double random_between(uint64_t* s, double low, double high) {
  return low + (high - low) * (double)(next_random(s) >> 11) * 0x1p-53;
}
