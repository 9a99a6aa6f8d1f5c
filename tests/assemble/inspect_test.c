// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A master by itself, with a clock around it, and in another process: the same statistics of it and
// of its components. Accessors of masters and aggregates serve other components, too.
#include "couplet/component.h"
#include "couplet/experiment.h"
#include "couplet/isolate.h"
#include "model/timed.h"
#include "models.h"

// x' = -3 (x - u), driven by the height of the ball
static int follow(const cpl_values* v, double* dx) {
  dx[0] = -3 * (v->x[0] - v->u[0]);
  return CPL_MODEL_OK;
}
static const cpl_declaration follower_states[] = {{"x", .output = true}, END_OF_LIST};
static const cpl_declaration follower_inputs[] = {{"u"}, END_OF_LIST};
static const cpl_model_def follower_model = {.name = "follower",
                                             .states = follower_states,
                                             .inputs = follower_inputs,
                                             .derivatives = follow};

typedef struct setting {
  cpl_context* ctx;
  cpl_source *ball, *follower, *system;
  cpl_system_def* def;
  cpl_stepper* s;
} setting;

static void add(setting* w, const char* name, const cpl_model_def* model, cpl_source** source) {
  CHECK_OK(w->ctx, cpl_c_define(w->ctx, model, source));
  cpl_member_def m = cpl_default_member_def();
  m.name = name, m.kind = CPL_MEMBER_C, m.source = *source, m.as = CPL_AS_CO_SIMULATION;
  CHECK_OK(w->ctx, cpl_system_def_add_model(w->def, &m));
}

static void open_system(setting* w) {
  *w = (setting){.ctx = cpl_context_create(NULL)};
  CHECK_OK(w->ctx, cpl_system_def_create(w->ctx, &w->def));
  add(w, "ball", &ball_model, &w->ball);
  add(w, "follower", &follower_model, &w->follower);
  CHECK_OK(w->ctx, cpl_system_def_connect(w->def, "follower.u", "ball.h"));
  cpl_cosimulation_def how = cpl_default_cosimulation_def();
  how.step = 0.025;
  CHECK_OK(w->ctx, cpl_system_def_set_cosimulation(w->def, &how));
  CHECK_OK(w->ctx, cpl_system_build(w->ctx, w->def, &w->system));
}

static void close_system(setting* w) {
  cpl_stepper_destroy(w->s);
  cpl_source_destroy(w->system);
  cpl_system_def_destroy(w->def);
  cpl_source_destroy(w->ball);
  cpl_source_destroy(w->follower);
  cpl_context_destroy(w->ctx);
}

typedef struct part {
  char name[32], role[32], kind[32];
  double steps, rejected, rollbacks;
} part;

typedef struct numbers {
  char kind[32], role[32];
  double steps, repeated, events, missing;
  int32_t n;
  part parts[2];
} numbers;

static void read_part(const cpl_component* c, int32_t i, part* out) {
  cpl_inspection in;
  CHECK_OK(c->ctx, cpl_component_inspect(c, i, &in));
  snprintf(out->name, sizeof out->name, "%s", in.name);
  snprintf(out->role, sizeof out->role, "%s", in.role);
  snprintf(out->kind, sizeof out->kind, "%s", in.kind);
  out->steps = cpl_inspection_counter(&in, "steps");
  out->rejected = cpl_inspection_counter(&in, "rejected");
  out->rollbacks = cpl_inspection_counter(&in, "rollbacks");
}

static numbers read_numbers(const cpl_component* c) {
  cpl_inspection in;
  numbers out = {0};
  CHECK_OK(c->ctx, cpl_component_inspect(c, -1, &in));
  snprintf(out.kind, sizeof out.kind, "%s", in.kind);
  snprintf(out.role, sizeof out.role, "%s", in.role);
  out.steps = cpl_inspection_counter(&in, "communication_steps");
  out.repeated = cpl_inspection_counter(&in, "repeated_steps");
  out.events = cpl_inspection_counter(&in, "events");
  out.n = in.n_children;
  CHECK(in.component == c);
  CHECK(isnan(cpl_inspection_counter(&in, "dances")));
  CHECK_INT(in.n_children, 2);
  for (int32_t i = 0; i < 2; i++) read_part(c, i, &out.parts[i]);
  CHECK_INT(cpl_component_inspect(c, 2, &in), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(c->ctx), "there is no component 2 of 2");
  return out;
}

static numbers run_it(setting* w) {
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 1.5, run.interval = 0.05;
  CHECK_OK(w->ctx, cpl_run(w->s, &run, NULL));
  return read_numbers(&w->s->base);
}

static void proxies_have_the_same_counters(void** state) {
  (void)state;
  setting plain, clocked, apart;
  open_system(&plain);
  CHECK_OK(plain.ctx, cpl_source_make_stepper(plain.system, "whole", &plain.s));
  const numbers expected = run_it(&plain);
  CHECK_STR(expected.kind, "master");
  CHECK_STR(expected.parts[0].name, "ball");
  CHECK_STR(expected.parts[1].name, "follower");
  CHECK_STR(expected.parts[1].kind, "integrate");
  CHECK(expected.steps >= 60 && expected.events > 0 && expected.parts[0].rejected > 0);

  open_system(&clocked);
  CHECK_OK(clocked.ctx, cpl_source_make_stepper(clocked.system, "whole", &clocked.s));
  CHECK_OK(clocked.ctx, cpli_time_stepper(clocked.s));
  const numbers timed = run_it(&clocked);
  CHECK(memcmp(&timed, &expected, sizeof timed) == 0);
  CHECK(cpl_component_counter(&clocked.s->base, "calls") >= expected.steps / 2);
  CHECK(cpl_component_counter(&clocked.s->base, "in_calls_s") > 0);
  CHECK(isnan(cpl_component_counter(&plain.s->base, "calls")));
  CHECK_INT(cpl_master_count(clocked.s), 2);
  CHECK_INT(cpl_master_link_count(clocked.s), 1);
  CHECK_STR(cpl_master_part_at(clocked.s, 1)->base.name, "follower");

  open_system(&apart);
  CHECK_OK(apart.ctx, cpl_isolate(apart.system, NULL, &apart.system));
  CHECK_OK(apart.ctx, cpl_source_make_stepper(apart.system, "whole", &apart.s));
  const numbers isolated = run_it(&apart);
  CHECK(memcmp(&isolated, &expected, sizeof isolated) == 0);
  CHECK_INT(cpl_master_count(apart.s), 0);  // its components are in the other process
  close_system(&plain);
  close_system(&clocked);
  close_system(&apart);
}

static void accessors_refuse_other_kinds(void** state) {
  (void)state;
  setting w;
  open_system(&w);
  cpl_model* m = NULL;
  CHECK_OK(w.ctx, cpl_source_make_model(w.ball, "ball", &m));
  CHECK_INT(cpl_aggregate_count(m), 0);
  CHECK(cpl_aggregate_part(m, 0) == NULL);
  cpl_solver_def solver = cpl_default_solver_def();
  CHECK_OK(w.ctx, cpl_integrate(m, &solver, &w.s));
  CHECK_INT(cpl_master_count(w.s), 0);
  CHECK(cpl_master_part_at(w.s, 0) == NULL);
  CHECK(cpl_master_settings(w.s).step == 0 && cpl_master_step_size(w.s) == 0);
  CHECK_INT(cpl_master_link_at(w.s, 0).source_part, -1);
  CHECK_INT(cpl_master_call_at(w.s, 3).part, -1);
  CHECK_INT(cpl_master_facts(w.s, CPL_FACT_LOOP, NULL, 0), 0);
  cpl_stepper_destroy(w.s);
  CHECK_OK(w.ctx, cpl_source_make_stepper(w.system, "whole", &w.s));
  CHECK(cpl_master_part_at(w.s, -1) == NULL && cpl_master_part_at(w.s, 2) == NULL);
  CHECK_INT(cpl_master_link_at(w.s, 1).target_part, -1);
  close_system(&w);
}

// Of every component of a tree: its children are there, and no more. Returns: how many there are.
static int check_children(const cpl_component* c) {
  cpl_inspection in;
  CHECK_OK(c->ctx, cpl_component_inspect(c, -1, &in));
  const int32_t n = in.n_children;
  int found = n;
  CHECK_INT(cpl_component_inspect(c, n, &in), CPL_ERR_INPUT);
  CHECK_INT(cpl_component_inspect(c, INT32_MAX, &in), CPL_ERR_INPUT);
  for (int32_t i = 0; i < n; i++) {
    CHECK_OK(c->ctx, cpl_component_inspect(c, i, &in));
    CHECK(in.component != NULL && in.kind != NULL && in.name != NULL);
    found += check_children(in.component);
  }
  return found;
}

static void composers_have_the_children_that_they_say(void** state) {
  (void)state;
  static const struct {
    const char* path;
    int children;  // at least
  } all[] = {{"two_masses/two_masses.yaml", 3},
             {"quarter_car/quarter_car.c", 1},
             {"breaking_pendulum/breaking_pendulum.yaml", 4},
             {"ball_on_table/ball_on_table.yaml", 3},
             {"two_mass_cosimulation/steppers.yaml", 4},
             {"tlm_spring/tlm_spring.yaml", 4}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    cpl_context* ctx = cpl_context_create(NULL);
    cpl_experiment_settings settings = cpl_default_experiment_settings();
    cpl_experiment* e = NULL;
    char path[200];
    snprintf(path, sizeof path, "examples/%s", all[i].path);
    settings.path = test_path(path);
    CHECK_OK(ctx, cpl_experiment_create(ctx, &settings, &e));
    CHECK_OK(ctx, cpl_experiment_prepare(e));
    const int n = check_children(&cpl_experiment_stepper(e)->base);
    if (n < all[i].children) fail_msg("%s: %d components", all[i].path, n);
    cpl_experiment_destroy(e);
    cpl_context_destroy(ctx);
  }
}

// A composer that sums up the counters of its children does so when it is inspected itself.
typedef struct summing {
  cpl_component base;
  int sums;
} summing;

static cpl_status sum_up(const cpl_component* c, int32_t child, cpl_inspection* out) {
  out->n_children = 3;
  ((summing*)c)->sums += child < 0;
  return CPL_OK;
}

static void a_child_is_inspected_without_totals(void** state) {
  (void)state;
  static const cpl_component_ops ops = {.size = sizeof ops, .kind = "summing", .inspect = sum_up};
  summing c = {.base = {.ops = &ops, .ctx = cpl_context_create(NULL), .name = "c"}};
  cpl_inspection in;
  for (int32_t i = 0; i < 3; i++) CHECK_OK(c.base.ctx, cpl_component_inspect(&c.base, i, &in));
  CHECK_INT(cpl_component_inspect(&c.base, 3, &in), CPL_ERR_INPUT);
  CHECK_INT(c.sums, 0);
  CHECK_OK(c.base.ctx, cpl_component_inspect(&c.base, -1, &in));
  CHECK_INT(c.sums, 1);
  cpl_context_destroy(c.base.ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(proxies_have_the_same_counters),
                                     cmocka_unit_test(accessors_refuse_other_kinds),
                                     cmocka_unit_test(composers_have_the_children_that_they_say),
                                     cmocka_unit_test(a_child_is_inspected_without_totals)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
