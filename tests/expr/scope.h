// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Names for expressions in tests, and short ways to parse and evaluate.
#pragma once

#include "expr/expr.h"
#include "testing.h"

static const struct {
  const char* name;
  cpl_type type;
} known_names[] = {
    {"x", CPL_REAL},       {"y", CPL_REAL},           {"k", CPL_REAL},
    {"left.y1", CPL_REAL}, {"right.y1", CPL_REAL},    {"m.der(h)", CPL_REAL},
    {"v[1]", CPL_REAL},    {"m.'a b'", CPL_REAL},     {"i", CPL_INTEGER},
    {"j", CPL_INTEGER},    {"mode", CPL_ENUMERATION}, {"on", CPL_BOOLEAN},
    {"off", CPL_BOOLEAN},  {"label", CPL_STRING},     {"a", CPL_REAL},
    {"b", CPL_REAL},       {"c", CPL_REAL},           {"d", CPL_REAL},
    {"w", CPL_REAL},       {"w2", CPL_REAL},          {"min", CPL_REAL},
};

static inline int32_t test_resolve(void* user, const char* name, cpl_type* type) {
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
static const cpli_source_loc test_place = {.file = "system.yaml", .line = 12, .column = 10};

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
