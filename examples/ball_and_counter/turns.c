// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Counts how often a velocity turns upwards, jumps included.
#include <couplet/model.h>

enum { TURNS, UP };  // discrete variables

static const cpl_declaration inputs[] = {{"v", .unit = "m/s"}, {0}};
static const cpl_declaration discrete[] = {
    {"turns", .type = CPL_INTEGER, .output = true}, {"up", .type = CPL_BOOLEAN}, {0}};

static int direction(const cpl_values* v, double* z) {
  z[0] = v->u[0];
  return CPL_MODEL_OK;
}

static int look(const cpl_values* v, cpl_event_actions* a) {
  bool up = v->u[0] > 0;
  if (up && a->w[UP] == 0) a->w[TURNS] += 1;
  a->w[UP] = up;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "turns",
    .description = "Counts turns upwards",
    .inputs = inputs,
    .discrete = discrete,
    .n_indicators = 1,
    .indicators = direction,
    .event = look,
    .stop_time = 3,
};
