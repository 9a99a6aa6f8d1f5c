// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Packages for tests: an FMU of one block with variables of all types, files of SSP around it, and
// runs that return the last values.
#pragma once

#include "archive.h"
#include "couplet/experiment.h"
#include "couplet/export.h"
#include "testing.h"

// y = k*u + c (in K), s follows ds = y - s; yn = ki*n, yb = not b, ye is the other item of e than
// the one given, w = k*v.
static const char block_c[] =
    "#include <couplet/model.h>\n"
    "static const char* const items[] = {\"slow\", \"fast\", \"halt\", 0};\n"
    "static const cpl_declaration states[] = {{\"s\", .output = true}, {0}};\n"
    "static const cpl_declaration inputs[] = {{\"u\", .unit = \"K\", .start = 1},\n"
    "    {\"n\", .type = CPL_INTEGER, .start = 1}, {\"b\", .type = CPL_BOOLEAN},\n"
    "    {\"e\", .type = CPL_ENUMERATION, .items = items, .start = 1}, {\"v\", .size = 3}, {0}};\n"
    "static const cpl_declaration outputs[] = {{\"y\", .unit = \"K\"},\n"
    "    {\"yn\", .type = CPL_INTEGER}, {\"yb\", .type = CPL_BOOLEAN},\n"
    "    {\"ye\", .type = CPL_ENUMERATION, .items = items, .start = 1}, {\"w\", .size = 3}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 2}, {\"c\", .unit = \"K\"},\n"
    "    {\"ki\", .type = CPL_INTEGER, .start = 3}, {\"on\", .type = CPL_BOOLEAN},\n"
    "    {\"mode\", .type = CPL_ENUMERATION, .items = items, .start = 1},\n"
    "    {\"a\", .size = 3}, {\"my par[1].x\", .start = 4}, {0}};\n"
    "static const cpl_string_declaration strings[] = {{\"label\", \"none\"}, {0}};\n"
    "static int values(const cpl_values* v, double* y) {\n"
    "  y[0] = v->p[0] * v->u[0] + v->p[1];\n"
    "  y[1] = v->p[2] * v->u[1];\n"
    "  y[2] = v->u[2] == 0;\n"
    "  y[3] = v->u[3] == 1 ? 2 : 1;\n"
    "  for (int i = 0; i < 3; i++) y[4 + i] = v->p[0] * v->u[4 + i];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "static int slopes(const cpl_values* v, double* dx) {\n"
    "  dx[0] = v->p[0] * v->u[0] + v->p[1] - v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"block\", .states = states, .inputs = inputs,\n"
    "    .outputs = outputs, .parameters = parameters, .strings = strings,\n"
    "    .derivatives = slopes, .output_values = values};\n";

static inline void write_text(const char* path, const char* text) {
  write_bytes(path, text, strlen(text));
}

// block.fmu (FMI 2.0) and block3.fmu (FMI 3.0, with arrays) in the current folder, for model
// exchange and co-simulation.
static inline int make_block(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_text("block.c", block_c);
  cpl_build_def def = cpl_default_build_def();
  def.model = "block.c";
  def.output = "block.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
  def.fmi_version = 3;
  def.output = "block3.fmu";
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
  cpl_context_destroy(ctx);
  return 0;
}

//------------------------------------ texts ------------------------------------

#define SSD_BEGIN                                                                 \
  "<?xml version=\"1.0\"?>\n"                                                     \
  "<ssd:SystemStructureDescription version=\"2.0\" name=\"test\"\n"               \
  " xmlns:ssd=\"http://ssp-standard.org/SSP1/SystemStructureDescription\"\n"      \
  " xmlns:ssc=\"http://ssp-standard.org/SSP1/SystemStructureCommon\"\n"           \
  " xmlns:ssv=\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\"\n"  \
  " xmlns:ssm=\"http://ssp-standard.org/SSP1/SystemStructureParameterMapping\"\n" \
  " xmlns:ssb=\"http://ssp-standard.org/SSP1/SystemStructureSignalDictionary\">\n"
#define SSD_END "</ssd:SystemStructureDescription>\n"
#define UNITS                                                                       \
  "<ssd:Units><ssc:Unit name=\"K\"><ssc:BaseUnit K=\"1\"/></ssc:Unit>"              \
  "<ssc:Unit name=\"celsius\"><ssc:BaseUnit K=\"1\" offset=\"273.15\"/></ssc:Unit>" \
  "<ssc:Unit name=\"mK\"><ssc:BaseUnit K=\"1\" factor=\"0.001\"/></ssc:Unit></ssd:Units>\n"
#define EXPERIMENT "<ssd:DefaultExperiment startTime=\"0\" stopTime=\"1\"/>\n"
#define CONNECTOR(name, kind, type) \
  "<ssd:Connector name=\"" name "\" kind=\"" kind "\">" type "</ssd:Connector>\n"
#define REAL          "<ssc:Real/>"
#define REAL_IN(unit) "<ssc:Real unit=\"" unit "\"/>"
#define BLOCK_CONNECTORS                                       \
  CONNECTOR("u", "input", REAL)                                \
  CONNECTOR("y", "output", REAL)                               \
  CONNECTOR("s", "output", REAL)                               \
  CONNECTOR("k", "parameter", REAL)                            \
  CONNECTOR("n", "input", "<ssc:Integer/>")                    \
  CONNECTOR("yn", "output", "<ssc:Integer/>")                  \
  CONNECTOR("b", "input", "<ssc:Boolean/>")                    \
  CONNECTOR("yb", "output", "<ssc:Boolean/>")                  \
  CONNECTOR("e", "input", "<ssc:Enumeration name=\"speed\"/>") \
  CONNECTOR("ye", "output", "<ssc:Enumeration name=\"speed\"/>")
#define SPEEDS                                                                              \
  "<ssd:Enumerations><ssc:Enumeration name=\"speed\"><ssc:Item name=\"slow\" value=\"1\"/>" \
  "<ssc:Item name=\"fast\" value=\"2\"/><ssc:Item name=\"halt\" value=\"3\"/>"              \
  "</ssc:Enumeration></ssd:Enumerations>\n"
#define BLOCK_WITH(name, more)  \
  "<ssd:Component name=\"" name \
  "\" source=\"block.fmu\">\n"  \
  "<ssd:Connectors>" BLOCK_CONNECTORS "</ssd:Connectors>" more "</ssd:Component>\n"
#define BLOCK(name) BLOCK_WITH(name, "")
#define CONNECT(a, ac, b, bc, more)                                                  \
  "<ssd:Connection startElement=\"" a "\" startConnector=\"" ac "\" endElement=\"" b \
  "\" endConnector=\"" bc "\"" more
#define SET(values)                                                                          \
  "<ssd:ParameterBinding><ssd:ParameterValues><ssv:ParameterSet version=\"2.0\" name=\"p\">" \
  "<ssv:Parameters>" values                                                                  \
  "</ssv:Parameters></ssv:ParameterSet></ssd:ParameterValues>"                               \
  "</ssd:ParameterBinding>\n"
#define BIND(values)        "<ssd:ParameterBindings>" SET(values) "</ssd:ParameterBindings>\n"
#define VALUE(name, type)   "<ssv:Parameter name=\"" name "\">" type "</ssv:Parameter>"
#define NUMBER(name, value) VALUE(name, "<ssv:Real value=\"" value "\"/>")

//------------------------------------ runs ------------------------------------

typedef struct ssp_run {
  const char* path;
  const char* variant;
  const char* parameters;  // a file. Nullable
  cpl_start starts[4];
  double step;  // of communication; 0: default
  // results
  size_t n;
  bool whole[16];  // which are no Reals
  double values[16];
  char log[8192];  // warnings
  double stop;
} ssp_run;

static inline void keep_log(void* user, cpl_log_level level, const char* who, const char* text) {
  ssp_run* r = user;
  const size_t n = strlen(r->log);
  if (level <= CPL_LOG_WARNING)
    snprintf(r->log + n, sizeof r->log - n, "%s%s%s\n", who, who[0] != '\0' ? ": " : "", text);
}

static inline cpl_status keep_point(void* user, double t, const cpl_value* values) {
  ssp_run* r = user;
  r->stop = t;
  for (size_t i = 0; i < r->n; i++)
    r->values[i] = r->whole[i] ? (double)values[i].integer : values[i].real;
  return CPL_OK;
}

static inline cpl_context* run_context(ssp_run* r) {
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_log;
  def.user = r;
  return cpl_context_create(&def);
}

// Runs and keeps the last values of the variables `names`, which end with NULL. The message of a
// failure is in r->log.
static inline cpl_status try_ssp(ssp_run* r, const char* const* names) {
  r->log[0] = '\0';
  cpl_context* ctx = run_context(r);
  cpl_experiment* e = NULL;
  cpl_experiment_settings s = cpl_default_experiment_settings();
  cpl_experiment_def times = cpl_default_experiment_def();
  s.path = r->path;
  s.variant = r->variant;
  s.parameters = &r->parameters;
  s.n_parameters = r->parameters != NULL;
  s.starts = r->starts;
  while (s.n_starts < 4 && r->starts[s.n_starts].name != NULL) s.n_starts++;
  s.record = names;
  while (names[s.n_record] != NULL) s.n_record++;
  r->n = s.n_record;
  if (r->step > 0) times.step = r->step;
  s.experiment = &times;
  cpl_status st = cpl_experiment_create(ctx, &s, &e);
  for (size_t i = 0; i < r->n && st >= 0; i++) {
    const cpl_description* d = cpl_experiment_source(e)->desc;
    const int32_t v = cpl_find_variable(d, names[i]);
    r->whole[i] = v >= 0 && d->vars[v].type != CPL_REAL;
  }
  if (st >= 0) st = cpl_experiment_prepare(e);
  if (st >= 0) {
    cpl_run_def* run = cpl_experiment_run_def(e);
    cpl_run_stats stats;
    run->on_point = keep_point;
    run->user = r;
    st = cpl_run(cpl_experiment_stepper(e), run, &stats);
  }
  if (st < 0) snprintf(r->log, sizeof r->log, "%s", cpl_context_error(ctx));
  cpl_experiment_destroy(e);
  cpl_context_destroy(ctx);
  return st;
}

static inline void run_ssp(ssp_run* r, const char* const* names) {
  if (try_ssp(r, names) < 0) fail_msg("%s: %s", r->path, r->log);
}

// A package that must not run; the message contains both texts.
static inline void refuse_ssp(const char* text, const char* a, const char* b) {
  ssp_run r = {.path = "refused.ssd"};
  const char* const names[] = {NULL};
  write_text(r.path, text);
  if (try_ssp(&r, names) >= 0) fail_msg("it runs, but \"%s\" is expected", a);
  CHECK_CONTAINS(r.log, a);
  CHECK_CONTAINS(r.log, b);
}

#define NAMES(...) ((const char* const[]){__VA_ARGS__, NULL})
