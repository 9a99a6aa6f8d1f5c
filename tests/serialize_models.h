// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models in C as files, for systems whose states become bytes.
#pragma once

#include "serialize_run.h"

// m x'' = F - d v; `hits` counts where x becomes negative.
static const char mass_c[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .output = true}, {\"v\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration inputs[] = {{\"F\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"m\", .start = 1.7}, {\"d\", .start = 0.05}, "
    "{0}};\n"
    "static const cpl_declaration discrete[] = {{\"hits\", .type = CPL_INTEGER, .output = true}, "
    "{0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->x[1];\n"
    "  dx[1] = (v->u[0] - v->p[1] * v->x[1]) / v->p[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int indicators(const cpl_values* v, double* z) { z[0] = v->x[0]; return CPL_MODEL_OK; "
    "}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  if (a->crossed[0] < 0) a->w[0] = v->w[0] + 1;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"mass\", .states = states, .inputs = inputs,\n"
    "    .parameters = parameters, .discrete = discrete, .n_indicators = 1,\n"
    "    .derivatives = derivatives, .indicators = indicators, .event = event};\n";

// F = -k (x - y), and a sampled output: x at multiples of 0.13 s, with its time as a text.
static const char spring_c[] =
    "#include <couplet/model.h>\n"
    "#include <math.h>\n"
    "static const cpl_declaration inputs[] = {{\"x\"}, {\"y\"}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 6.5}, {0}};\n"
    "static const cpl_declaration discrete[] = {{\"seen\", .output = true}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"F\"}, {\"G\"}, {0}};\n"
    "static int output_values(const cpl_values* v, double* y) {\n"
    "  y[0] = -v->p[0] * (v->u[0] - v->u[1]);\n"
    "  y[1] = -y[0] + 0.01 * v->w[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  int* count = v->memory;\n"
    "  if (v->t >= 0.13 * *count) a->w[0] = v->u[0], (*count)++;\n"
    "  a->next_time = 0.13 * *count;\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"spring\", .inputs = inputs,\n"
    "    .parameters = parameters, .discrete = discrete, .outputs = outputs, .event = event,\n"
    "    .output_values = output_values, .memory_size = sizeof(int)};\n";

// Keeps a pointer: its state does not become bytes.
static const char pointer_c[] =
    "#include <couplet/model.h>\n"
    "#include <stdlib.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static int derivatives(const cpl_values* v, double* dx) { dx[0] = -v->x[0]; return 0; }\n"
    "static int initialize(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)a;\n"
    "  *(void**)v->memory = malloc(8);\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static void release(const cpl_values* v) { free(*(void**)v->memory); }\n"
    "const cpl_model_def couplet_model = {.name = \"pointer\", .states = states,\n"
    "    .derivatives = derivatives, .initialize = initialize, .release = release,\n"
    "    .memory_size = sizeof(void*)};\n";

static inline void write_models(void) {
  write_file("mass.c", mass_c);
  write_file("spring.c", spring_c);
  write_file("pointer.c", pointer_c);
}

// The system can be saved, but not as bytes, and the message names the model that cannot.
static inline void check_refusal(const char* path, const char* part) {
  built b = build(path, "-", 0);
  cpl_snapshot saved = {0};
  cpl_binary bytes = {0};
  begin(&b);
  CHECK(cpl_component_capabilities(b.c).save_restore);
  CHECK(!cpl_component_capabilities(b.c).serialize);
  CHECK_OK(b.ctx, cpl_component_save(b.c, &saved));
  CHECK_INT(cpl_component_serialize(b.c, &saved, &bytes), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(b.ctx), part);
  CHECK_INT(cpl_component_deserialize(b.c, &bytes, &saved), CPL_ERR_UNSUPPORTED);
  cpl_component_forget(b.c, &saved);
  drop(&b);
}
