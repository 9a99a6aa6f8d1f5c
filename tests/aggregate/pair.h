// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system of two models that are defined in the test.
#pragma once

#include "models.h"

typedef struct bench {
  cpl_source *parts[2], *system;
  cpl_system_def* def;
} bench;

static inline void begin_pair(cpl_context* ctx, bench* b, const char* const names[2],
                              const cpl_model_def* const models[2]) {
  CHECK_OK(ctx, cpl_system_def_create(ctx, &b->def));
  for (int i = 0; i < 2; i++) {
    cpl_member_def member = cpl_default_member_def();
    CHECK_OK(ctx, cpl_c_define(ctx, models[i], &b->parts[i]));
    member.name = names[i];
    member.source = b->parts[i];
    CHECK_OK(ctx, cpl_system_def_add_model(b->def, &member));
  }
}

static inline cpl_model* build_pair(cpl_context* ctx, bench* b) {
  cpl_model* m = NULL;
  CHECK_OK(ctx, cpl_system_build(ctx, b->def, &b->system));
  CHECK_OK(ctx, cpl_source_make_model(b->system, "s", &m));
  return m;
}

static inline void drop(bench* b) {
  cpl_source_destroy(b->system);
  cpl_system_def_destroy(b->def);
  for (int i = 0; i < 2; i++) cpl_source_destroy(b->parts[i]);
}
