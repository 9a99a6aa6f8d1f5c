// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Updates of an event follow the data flow: as many as there are models, in chains of any length,
// and only loops take more rounds. The models count their updates themselves.
#include <sys/stat.h>

#include "archive.h"
#include "couplet/export.h"
#include "testing.h"

// n counts time events, one every 0.4.
static const char head[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration w[] = {{\"n\", .type = CPL_INTEGER, .output = true}, {0}};\n"
    "static int begin(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v, a->next_time = 0.4;\n"
    "  return 0;\n"
    "}\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  (void)v;\n"
    "  if (a->time_event) a->w[0] += 1, a->next_time = 0.4 * (a->w[0] + 1);\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"head\", .discrete = w, .initialize = begin,\n"
    "  .event = event};\n";

// y = u + 2 from the update on that sees u; a real number as well, of a continuous input.
static const char mode_dependent[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration u[] = {{\"u\", .type = CPL_INTEGER}, {\"r\"}, {0}};\n"
    "static const cpl_declaration w[] = {{\"y\", .type = CPL_INTEGER, .output = true},\n"
    "  {\"s\", .output = true}, {\"updates\", .type = CPL_INTEGER, .output = true}, {0}};\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->w[0] = v->u[0] + 2, a->w[1] = v->u[1] + 0.5, a->w[2] += 1;\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"link\", .inputs = u, .discrete = w,\n"
    "  .event = event};\n";

static const char inverter[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration u[] = {{\"u\", .type = CPL_BOOLEAN}, {0}};\n"
    "static const cpl_declaration w[] = {{\"y\", .type = CPL_BOOLEAN, .output = true}, {0}};\n"
    "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
    "  a->w[0] = v->u[0] == 0;\n"
    "  return 0;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"inverter\", .inputs = u, .discrete = w,\n"
    "  .event = event};\n";

static int setup(void** state) {
  write_bytes("head.c", head, strlen(head));
  write_bytes("link.c", mode_dependent, strlen(mode_dependent));
  write_bytes("inverter.c", inverter, strlen(inverter));
  return make_context(state);
}

static void build(cpl_context* ctx, const char* model, int version, const char* output) {
  cpl_build_def def = cpl_default_build_def();
  def.model = model;
  def.fmi_version = version;
  def.output = output;
  CHECK_OK(ctx, cpl_fmu_build(ctx, &def, NULL, 0));
}

static cpl_status run_file(cpl_context* ctx, const char* const* record, int32_t n, double* last,
                           cpl_status (*look)(void*, double, const cpl_value*)) {
  cpl_source* system = NULL;
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 1.5, run.interval = 0.5;
  run.record = record, run.n_record = (size_t)n;
  run.on_point = look, run.user = last;
  CHECK_OK(ctx, cpl_system_open(ctx, "s.yaml", &system));
  CHECK_OK(ctx, system->ops->make_model(system, "system", &model));
  CHECK_OK(ctx, cpl_integrate(model, &solver, &stepper));
  cpl_status st = cpl_run(stepper, &run, NULL);
  stepper->base.ops->destroy(&stepper->base);
  system->ops->destroy(system);
  return st;
}

//------------------------------------ chains ------------------------------------

static cpl_status keep_four(void* user, double t, const cpl_value* v) {
  double* last = user;
  (void)t;
  last[0] = (double)v[0].integer, last[1] = v[1].real;
  last[2] = (double)v[2].integer, last[3] = (double)v[3].integer;
  return CPL_OK;
}

static cpl_status keep_system(void* user, double t, const cpl_value* v) {
  double* last = user;
  (void)t;
  last[0] = v[0].real, last[1] = v[1].real;
  last[2] = (double)v[2].integer, last[3] = (double)v[3].integer;
  return CPL_OK;
}

// Models are sorted by name: every second one in the order of the data flow, the others against it.
static int name_of(int i, int n) { return i % 2 == 1 ? i : n - n % 2 + 2 - i; }

static void write_chain(int n, const char* how, const char* coupling) {
  FILE* f = fopen("s.yaml", "w");
  CHECK(f != NULL);
  fprintf(f, "couplet: 1\nmodels:\n  zero: {c: head.c}\n");
  for (int i = 1; i <= n; i++) fprintf(f, "  m%d: {%s}\n", name_of(i, n), how);
  fprintf(f, "connections:\n  m%d.u: zero.n\n  m%d.r: zero.n\n", name_of(1, n), name_of(1, n));
  for (int i = 2; i <= n; i++) {
    int from = name_of(i - 1, n), to = name_of(i, n);
    fprintf(f, "  m%d.u: m%d.y\n  m%d.r: ", to, from, to);
    fprintf(f, coupling, from);
    fprintf(f, "\n");
  }
  fclose(f);
}

// Three events and the start: y = 3 + 2 n and s = 3 + n / 2 at the end. Each model is updated at
// most twice an event, however long the chain is.
static void check_chain(cpl_context* ctx, int n) {
  char y[32], s[32], first[32], last[32];
  double end[4] = {0};
  snprintf(y, sizeof y, "m%d.y", name_of(n, n));
  snprintf(s, sizeof s, "m%d.s", name_of(n, n));
  snprintf(first, sizeof first, "m%d.updates", name_of(1, n));
  snprintf(last, sizeof last, "m%d.updates", name_of(n, n));
  const char* record[] = {y, s, first, last};
  CHECK_OK(ctx, run_file(ctx, record, 4, end, keep_four));
  CHECK_NEAR(end[0], 3 + 2 * n, 0);
  CHECK_NEAR(end[1], 3 + 0.5 * n, 0);
  CHECK(end[2] >= 4 && end[2] <= 8);
  CHECK(end[3] >= 4 && end[3] <= 8);
}

static void chains_take_one_round(void** state) {
  static const int lengths[] = {3, 40, 1400};
  for (size_t i = 0; i < 3; i++) {
    write_chain(lengths[i], "c: link.c", "m%d.s");
    check_chain(*state, lengths[i]);
  }
}

// Comparisons in couplings turn on the way.
static void comparisons_turn_in_order(void** state) {
  write_chain(60, "c: link.c", "'if m%1$d.s > 0.2 then m%1$d.s else -9'");
  check_chain(*state, 60);
}

static void fmus_take_one_round(void** state) {
  build(*state, "link.c", 2, "link2.fmu");
  build(*state, "link.c", 3, "link3.fmu");
  write_chain(24, "fmu: link2.fmu, as: me", "m%d.s");
  check_chain(*state, 24);
  write_chain(24, "fmu: link3.fmu, as: me", "m%d.s");
  check_chain(*state, 24);
}

// Systems in a system, whose inputs and outputs do not say that they are discrete.
static void systems_take_one_round(void** state) {
  static const char inner[] =
      "couplet: 1\ninputs: {u: {start: 0}, r: {start: 0}}\n"
      "models: {b: {c: link.c}, a: {c: link.c}}\n"
      "connections: {a.u: {from: u, convert: true}, a.r: r, b.u: a.y, b.r: a.s}\n"
      "outputs: {y: b.y, s: b.s}\n";
  static const char* const record[] = {"m7.s", "m7.b.s", "m1.a.updates", "m7.b.updates"};
  double end[4] = {0};
  write_bytes("inner.yaml", inner, strlen(inner));
  write_chain(7, "system: inner.yaml, as: me", "m%d.s");
  CHECK_OK(*state, run_file(*state, record, 4, end, keep_system));
  CHECK_NEAR(end[0], 3 + 7, 0);  // two models each
  CHECK_NEAR(end[1], 3 + 7, 0);
  CHECK(end[2] >= 4 && end[2] <= 12);  // one more for the round inside
  CHECK(end[3] >= 4 && end[3] <= 12);
}

//------------------------------------ loops ------------------------------------

static cpl_status keep_two(void* user, double t, const cpl_value* v) {
  double* last = user;
  (void)t;
  last[0] = (double)v[0].integer, last[1] = (double)v[1].integer;
  return CPL_OK;
}

static void write_ring(const char* how, int n) {
  FILE* f = fopen("s.yaml", "w");
  CHECK(f != NULL);
  fprintf(f, "couplet: 1\nmodels:\n");
  for (int i = 0; i < n; i++) fprintf(f, "  r%d: {%s}\n", i, how);
  fprintf(f, "connections:\n");
  for (int i = 0; i < n; i++) fprintf(f, "  r%d.u: r%d.y\n", i, (i + 1) % n);
  fclose(f);
}

// An even number of inverters has two stable states, an odd one none.
static void rings_settle_where_they_can(void** state) {
  static const char* const record[] = {"r0.y", "r1.y"};
  static const char* const kinds[] = {"c: inverter.c", "fmu: inverter2.fmu, as: me",
                                      "fmu: inverter3.fmu, as: me"};
  cpl_context* ctx = *state;
  build(ctx, "inverter.c", 2, "inverter2.fmu");
  build(ctx, "inverter.c", 3, "inverter3.fmu");
  for (size_t i = 0; i < 3; i++) {
    double last[2] = {-1, -1};
    write_ring(kinds[i], 2);
    CHECK_OK(ctx, run_file(ctx, record, 2, last, keep_two));
    CHECK(last[0] + last[1] == 1);
  }
  double last[2];
  write_ring(kinds[0], 4);
  CHECK_OK(ctx, run_file(ctx, record, 2, last, keep_two));
  CHECK(last[0] + last[1] == 1);
  write_ring(kinds[0], 3);
  CHECK(run_file(ctx, record, 2, last, keep_two) == CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(ctx), "the event at t=0 does not settle");
  CHECK_CONTAINS(cpl_context_error(ctx), "r0.u (");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(chains_take_one_round), cmocka_unit_test(comparisons_turn_in_order),
      cmocka_unit_test(fmus_take_one_round), cmocka_unit_test(systems_take_one_round),
      cmocka_unit_test(rings_settle_where_they_can)};
  return cmocka_run_group_tests(tests, setup, drop_context);
}
