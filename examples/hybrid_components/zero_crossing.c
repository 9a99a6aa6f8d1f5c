// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Zero-crossing detector: an event where its input becomes positive.
#include <couplet/model.h>

enum { N };  // discrete variables

static const cpl_declaration inputs[] = {{"x"}, {0}};
static const cpl_declaration discrete[] = {
    {"n", .type = CPL_INTEGER, .description = "events so far", .output = true}, {0}};

static int side(const cpl_values* v, double* z) {
  z[0] = v->u[0];
  return CPL_MODEL_OK;
}

static int detect(const cpl_values* v, cpl_event_actions* a) {
  (void)v;
  if (a->crossed[0] > 0) a->w[N] += 1;
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {.name = "zero_crossing",
                                     .description = "Events where a value becomes positive",
                                     .inputs = inputs,
                                     .discrete = discrete,
                                     .n_indicators = 1,
                                     .indicators = side,
                                     .event = detect};
