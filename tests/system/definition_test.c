// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/base.h"
#include "system/definitions.h"

static const char file_text[] =
    "couplet: 1\n"
    "name: two\n"
    "models:\n"
    "  left: {fmu: a.fmu, as: me, start: {x: 1, y: 2*k}}\n"
    "  right: {c: b.c}\n"
    "  inner: {system: sub.yaml}\n"
    "parameters: {k: 0.1, a: 2*k}\n"
    "inputs:\n"
    "  w: sin(time)\n"
    "  road: {file: road.csv, column: height, interpolation: hold}\n"
    "  u: {start: 3}\n"
    "connections: {left.u: right.y, right.u: -left.y}\n"
    "outputs: {y: left.y}\n"
    "events:\n"
    "  hit: {when: left.x < 0, set: {left.v: -left.v}}\n"
    "  kick: {at: [1, 2], set: {right.x: 0, left.x: 1}}\n"
    "record: [left.x]\n"
    "experiment: {stop: 5, solver: cvode, rtol: 1e-6}\n";

static cpl_status define_models(cpl_system_def* def) {
  const cpl_assignment starts[] = {{"x", "1"}, {"y", "2*k"}};
  cpl_member_def m = cpl_default_member_def();
  m.name = "left";
  m.path = "a.fmu";
  m.as = CPL_AS_MODEL_EXCHANGE;
  m.starts = starts;
  m.n_starts = CPLI_COUNT(starts);
  cpl_status st = cpl_system_def_add_model(def, &m);
  m = (cpl_member_def){
      .size = sizeof(cpl_member_def), .name = "right", .kind = CPL_MEMBER_C, .path = "b.c"};
  if (st >= 0) st = cpl_system_def_add_model(def, &m);
  m = (cpl_member_def){.size = sizeof(cpl_member_def),
                       .name = "inner",
                       .kind = CPL_MEMBER_SYSTEM,
                       .path = "sub.yaml"};
  return st < 0 ? st : cpl_system_def_add_model(def, &m);
}

static cpl_status define_inputs(cpl_system_def* def) {
  cpl_input_def w = cpl_default_input_def(), road = w, u = w;
  w.name = "w";
  w.expression = "sin(time)";
  road.name = "road";
  road.file = "road.csv";
  road.column = "height";
  road.interpolation = CPL_INTERPOLATE_HOLD;
  u.name = "u";
  u.start = "3";
  cpl_status st = cpl_system_def_add_number(def, "k", 0.1);
  if (st >= 0) st = cpl_system_def_add_parameter(def, "a", "2*k");
  if (st >= 0) st = cpl_system_def_add_input(def, &w);
  if (st >= 0) st = cpl_system_def_add_input(def, &road);
  return st < 0 ? st : cpl_system_def_add_input(def, &u);
}

static cpl_status define_events(cpl_system_def* def) {
  const cpl_assignment turn[] = {{"left.v", "-left.v"}};
  const cpl_assignment both[] = {{"right.x", "0"}, {"left.x", "1"}};
  const char* const times[] = {"1", "2"};
  cpl_event_def hit = cpl_default_event_def(), kick = hit;
  hit.name = "hit";
  hit.when = "left.x < 0";
  hit.sets = turn;
  hit.n_sets = 1;
  kick.name = "kick";
  kick.at = times;
  kick.n_at = 2;
  kick.sets = both;
  kick.n_sets = 2;
  cpl_status st = cpl_system_def_add_event(def, &hit);
  return st < 0 ? st : cpl_system_def_add_event(def, &kick);
}

static cpl_status define(cpl_context* ctx, cpl_system_def** out) {
  cpl_status st = cpl_system_def_create(ctx, out);
  if (st >= 0) st = cpl_system_def_set_name(*out, "two");
  if (st >= 0) st = define_models(*out);
  if (st >= 0) st = define_inputs(*out);
  if (st >= 0) st = cpl_system_def_connect(*out, "left.u", "right.y");
  if (st >= 0) st = cpl_system_def_connect(*out, "right.u", "-left.y");
  if (st >= 0) st = cpl_system_def_add_output(*out, "y", "left.y");
  if (st >= 0) st = define_events(*out);
  if (st >= 0) st = cpl_system_def_add_record(*out, "left.x");
  cpl_experiment_def e = cpl_default_experiment_def();
  e.stop = 5;
  e.solver = "cvode";
  e.rtol = 1e-6;
  return st < 0 ? st : cpl_system_def_set_experiment(*out, &e);
}

static void a_program_says_the_same_as_a_file(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def *read, *made;
  CHECK_OK(ctx, read_as(ctx, "same.yaml", file_text, &read));
  CHECK_OK(ctx, define(ctx, &made));
  dump a = {0}, b = {0};
  dump_definition(read, &a);
  dump_definition(made, &b);
  CHECK_STR(b.text, a.text);
  CHECK(made->file == NULL && made->models[0].name.loc.file == NULL);
  cpl_system_def_destroy(read);
  cpl_system_def_destroy(made);
  cpl_context_destroy(ctx);
}

static double ramp(void* user, double t) {
  (void)user;
  return t;
}

static int sum(void* user, double t, const double* y, double* u) {
  (void)user, (void)t;
  *u = y[0] + y[1];
  return 0;
}

static void a_program_can_give_functions_and_objects(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def *def, *inner;
  int user = 0;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &def));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &inner));
  const char* reads[] = {"left.y", "k"};
  cpl_coupling_def c = cpl_default_coupling_def();
  c.reads = reads;
  c.n_reads = 2;
  c.value = sum;
  c.constant = true;
  c.user = &user;
  CHECK_OK(ctx, cpl_system_def_couple(def, "left.u", &c));
  const cpli_coupling* kept = def->connections[0].coupling;
  CHECK(kept->value == sum && kept->gradient == NULL && kept->constant && kept->user == &user);
  CHECK_INT(kept->n_reads, 2);
  CHECK_STR(kept->reads[1].text, "k");
  CHECK(def->connections[0].source.text == NULL);
  c = (cpl_coupling_def){.size = sizeof(cpl_coupling_def), .reads_all = true, .value = sum};
  CHECK_OK(ctx, cpl_system_def_couple(def, "left.v", &c));
  CHECK(def->connections[1].coupling->reads_all);

  cpl_table table = {0};
  cpl_input_def in = {.size = sizeof in, .name = "r", .value = ramp, .user = &user};
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  in = (cpl_input_def){.size = sizeof(cpl_input_def), .name = "s", .table = &table, .column = "c"};
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  in = (cpl_input_def){.size = sizeof(cpl_input_def), .name = "free"};
  CHECK_OK(ctx, cpl_system_def_add_input(def, &in));
  CHECK(def->inputs[0].kind == CPLI_INPUT_CALLBACK && def->inputs[0].value == ramp);
  CHECK(def->inputs[1].kind == CPLI_INPUT_TABLE && def->inputs[1].table == &table);
  CHECK(def->inputs[2].kind == CPLI_INPUT_FREE && def->inputs[2].start.text == NULL);

  cpl_source source = {0};
  cpl_member_def m = {.size = sizeof m, .name = "a", .kind = CPL_MEMBER_C, .source = &source};
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  m = (cpl_member_def){
      .size = sizeof(cpl_member_def), .name = "b", .kind = CPL_MEMBER_SYSTEM, .system = inner};
  CHECK_OK(ctx, cpl_system_def_add_model(def, &m));
  m = (cpl_member_def){
      .size = sizeof(cpl_member_def), .name = "back", .kind = CPL_MEMBER_SYSTEM, .system = def};
  CHECK_OK(ctx, cpl_system_def_add_model(inner, &m));
  CHECK_OK(ctx, cpl_system_def_set_name(inner, "inner"));
  cpli_chain outer = {NULL, def}, chain = {&outer, inner};
  const cpl_system_def* found;
  cpl_system_def* owned;
  CHECK_OK(ctx, cpli_def_enter(ctx, &outer, &def->models[1], &found, &owned));
  CHECK(found == inner && owned == NULL);
  CHECK_INT(cpli_def_enter(ctx, &chain, &inner->models[0], &found, &owned), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx),
            "model \"back\" closes a cycle of systems: a system -> inner -> a system");
  cpl_system_def_destroy(inner);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

#define CHECK_FAILS(call, message)                   \
  do {                                               \
    CHECK_INT(call, CPL_ERR_INPUT);                  \
    CHECK_CONTAINS(cpl_context_error(ctx), message); \
  } while (0)

static void bad_calls_are_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def* def;
  CHECK_OK(ctx, define(ctx, &def));
  cpl_member_def m = {.size = sizeof m, .name = "left", .path = "a.fmu"};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "model \"left\" stands twice");
  m = (cpl_member_def){.size = sizeof(cpl_member_def), .path = "a.fmu"};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "model needs a name");
  m = (cpl_member_def){.size = sizeof(cpl_member_def), .name = "n"};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "needs one of fmu, c and system");
  m = (cpl_member_def){.size = sizeof(cpl_member_def), .name = "n", .path = "x", .system = def};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "model \"n\": ");
  m = (cpl_member_def){
      .size = sizeof(cpl_member_def), .name = "n", .kind = CPL_MEMBER_SYSTEM, .system = def};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "it would hold itself");
  cpl_assignment half = {"x", NULL};
  m = (cpl_member_def){
      .size = sizeof(cpl_member_def), .name = "n", .path = "x", .starts = &half, .n_starts = 1};
  CHECK_FAILS(cpl_system_def_add_model(def, &m), "a name or a value is missing");
  CHECK_FAILS(cpl_system_def_add_parameter(def, "w", "1"), "parameter \"w\" stands twice");
  CHECK_FAILS(cpl_system_def_add_parameter(def, "z", NULL), "it needs a value");
  cpl_input_def in = {.size = sizeof in, .name = "z", .expression = "1", .start = "2"};
  CHECK_FAILS(cpl_system_def_add_input(def, &in), "it needs only one of");
  CHECK_FAILS(cpl_system_def_connect(def, "", "x"), "a connection needs a target");
  CHECK_FAILS(cpl_system_def_connect(def, "left.u", NULL), "it needs a source");
  cpl_coupling_def c = {.size = sizeof c, .reads_all = true};
  CHECK_FAILS(cpl_system_def_couple(def, "left.u", &c), "a coupling needs a function");
  CHECK_FAILS(cpl_system_def_add_output(def, "y", "x"), "output \"y\" stands twice");
  cpl_event_def e = {.size = sizeof e,
                     .name = "hit",
                     .when = "x",
                     .sets = &(cpl_assignment){"a", "1"},
                     .n_sets = 1};
  CHECK_FAILS(cpl_system_def_add_event(def, &e), "event \"hit\" stands twice");
  CHECK_FAILS(cpl_system_def_add_record(def, NULL), "record: a name is empty");
  cpl_experiment_def x = cpl_default_experiment_def();
  x.start = 6;
  CHECK_FAILS(cpl_system_def_set_experiment(def, &x), "stop (5) is before start (6)");
  CHECK(isnan(cpl_system_def_experiment(def).start));
  x.start = -INFINITY;
  CHECK_FAILS(cpl_system_def_set_experiment(def, &x), "start must be finite");
  char name[300];
  memset(name, 'n', 299);
  name[299] = '\0';
  CHECK_FAILS(cpl_system_def_add_output(def, name, "x"), "longer than 200 bytes");
  CHECK_INT(def->n_models, 3);
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

static void values_can_be_changed(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_system_def* def;
  CHECK_OK(ctx, define(ctx, &def));
  CHECK_OK(ctx, cpl_system_def_set(def, "k", "7"));
  CHECK_STR(def->parameters[0].value.text, "7");
  CHECK_OK(ctx, cpl_system_def_set(def, "u", "8"));
  CHECK_STR(def->inputs[2].start.text, "8");
  CHECK_OK(ctx, cpl_system_def_set(def, "w", "9"));
  CHECK_STR(def->inputs[0].expression.text, "9");
  CHECK_OK(ctx, cpl_system_def_set(def, "left.x", "10"));
  CHECK_STR(def->models[0].starts[0].value.text, "10");
  for (int i = 0; i < 20; i++) {
    char name[32];
    sprintf(name, "right.p[%d].q", i);
    CHECK_OK(ctx, cpl_system_def_set(def, name, "1"));
  }
  CHECK_INT(def->models[1].n_starts, 20);
  CHECK_STR(def->models[1].starts[19].name.text, "p[19].q");
  CHECK_FAILS(cpl_system_def_set(def, "road", "1"), "input \"road\" follows a table");
  CHECK_FAILS(cpl_system_def_set(def, "lef.x", "1"), "lef (did you mean left?)");
  CHECK_FAILS(cpl_system_def_set(def, "left", "1"), "left: there is no");
  cpl_system_def_destroy(def);
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_system_def* def = NULL;
    cpl_status st = ctx != NULL ? define(ctx, &def) : CPL_ERR_NOMEM;
    if (st >= 0) st = cpl_system_def_set(def, "right.x", "1");
    cpl_system_def_destroy(def);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_program_says_the_same_as_a_file),
      cmocka_unit_test(a_program_can_give_functions_and_objects),
      cmocka_unit_test(bad_calls_are_refused),
      cmocka_unit_test(values_can_be_changed),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
