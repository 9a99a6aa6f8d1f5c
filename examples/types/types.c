// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Variables of every type in every role, and arrays: what a parrot does with what it hears.
#include <couplet/model.h>
#include <string.h>

enum { N = 3 };  // elements of the arrays

// doc:begin types
static const char* const gears[] = {"reverse", "neutral", "drive", NULL};
// doc:end

static const cpl_declaration states[] = {
    {"x", .size = N, .start = 1, .unit = "m", .description = "positions"}, {0}};

// doc:begin inputs
static const cpl_declaration inputs[] = {
    {"u", .size = N, .unit = "m/s", .description = "velocities"},
    {"count_in", .type = CPL_INTEGER, .start = 1, .min = -1000, .max = 1000},
    {"switch_in", .type = CPL_BOOLEAN},
    {"gear_in", .type = CPL_ENUMERATION, .start = 2, .items = gears},
    {0}};
// doc:end

static const cpl_declaration parameters[] = {
    {"scale", .start = 2, .tunable = true, .description = "of the outputs"},
    {"offset", .type = CPL_INTEGER, .start = 10},
    {"invert", .type = CPL_BOOLEAN, .start = 1},
    {"first_gear", .type = CPL_ENUMERATION, .start = 3, .items = gears},
    {0}};

static const cpl_declaration outputs[] = {
    {"y", .size = N, .unit = "m", .description = "scaled positions"},
    {"count_out", .type = CPL_INTEGER, .description = "count_in + offset"},
    {"switch_out", .type = CPL_BOOLEAN, .description = "switch_in, inverted or not"},
    {"gear_out", .type = CPL_ENUMERATION, .items = gears, .description = "gear_in"},
    {0}};

static const cpl_declaration discrete[] = {
    {"events", .type = CPL_INTEGER, .description = "handled so far", .output = true},
    {"gear", .type = CPL_ENUMERATION, .start = 2, .items = gears, .description = "kept"},
    {0}};

static const cpl_string_declaration strings[] = {
    {"name", "Polly", CPL_STRING_PARAMETER, "of the parrot"},
    {"heard", "", CPL_STRING_INPUT, "what is said to it"},
    {"said", "", CPL_STRING_OUTPUT, "what it says"},
    {"mood", "calm", CPL_STRING_LOCAL, "calm or excited"},
    {0}};
enum { NAME, HEARD, SAID, MOOD };

static int derivatives(const cpl_values* v, double* dx) {
  for (int i = 0; i < N; i++) dx[i] = v->u[i] - v->x[i];
  return CPL_MODEL_OK;
}

static int output_values(const cpl_values* v, double* y) {
  for (int i = 0; i < N; i++) y[i] = v->p[0] * v->x[i];
  y[N] = v->u[N] + v->p[1];
  y[N + 1] = (v->u[N + 1] != 0) != (v->p[2] != 0);
  y[N + 2] = v->u[N + 2];
  return CPL_MODEL_OK;
}

static int initialize(const cpl_values* v, cpl_event_actions* a) {
  a->w[1] = v->p[3];
  a->s[SAID] = v->s[NAME];
  return CPL_MODEL_OK;
}

static int event(const cpl_values* v, cpl_event_actions* a) {
  a->w[0] += 1;
  a->w[1] = v->u[N + 2];
  if (v->s[HEARD][0] != '\0') a->s[SAID] = v->s[HEARD];
  a->s[MOOD] = strchr(v->s[HEARD], '!') != NULL ? "excited" : "calm";
  return CPL_MODEL_OK;
}

const cpl_model_def couplet_model = {
    .name = "types",
    .description = "Variables of every type in every role",
    .states = states,
    .inputs = inputs,
    .outputs = outputs,
    .parameters = parameters,
    .discrete = discrete,
    .strings = strings,
    .derivatives = derivatives,
    .output_values = output_values,
    .initialize = initialize,
    .event = event,
    .stop_time = 1,
    .step_size = 0.1,
};
