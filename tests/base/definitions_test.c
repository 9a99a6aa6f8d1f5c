// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The rule of definitions (couplet/base.h): zeroed ones are refused with a message, those of an
// earlier header are shorter and are accepted, those of a later one are refused.
#include "testing.h"

static int constant(const cpl_values* v, double* dx) {
  dx[0] = v->p[0];
  return CPL_MODEL_OK;
}

static const cpl_model_def constant_def = {
    .name = "constant",
    .states = (const cpl_declaration[]){{.name = "x", .output = true}, {0}},
    .parameters = (const cpl_declaration[]){{.name = "a", .start = 2}, {0}},
    .derivatives = constant,
};

static cpl_source* constant_source(cpl_context* ctx) {
  cpl_source* source = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &constant_def, &source));
  return source;
}

static cpl_model* constant_model(cpl_context* ctx, cpl_source* source) {
  cpl_model* model = NULL;
  CHECK_OK(ctx, cpl_source_make_model(source, "m", &model));
  return model;
}

static cpl_stepper* constant_stepper(cpl_context* ctx, cpl_source* source) {
  cpl_solver_def def = cpl_default_solver_def();
  cpl_stepper* stepper = NULL;
  CHECK_OK(ctx, cpl_integrate(constant_model(ctx, source), &def, &stepper));
  return stepper;
}

#define CHECK_REFUSED(ctx, type, call)                                                     \
  do {                                                                                     \
    cpl_##type def;                                                                        \
    memset(&def, 0, sizeof def);                                                           \
    CHECK_INT((call), CPL_ERR_INPUT);                                                      \
    CHECK_STR(cpl_context_error(ctx),                                                      \
              "cpl_" #type ": it is not initialised: begin with cpl_default_" #type "()"); \
    def = cpl_default_##type();                                                            \
    CHECK_INT(def.size, sizeof def);                                                       \
    def.size += sizeof(void*);                                                             \
    CHECK_INT((call), CPL_ERR_INPUT);                                                      \
    CHECK_CONTAINS(cpl_context_error(ctx), "a later version of couplet");                  \
  } while (0)

static void composers_refuse(void** state) {
  cpl_context* ctx = *state;
  cpl_source *source = constant_source(ctx), *s = NULL;
  cpl_model* m = NULL;
  cpl_stepper *out = NULL, *stepper = constant_stepper(ctx, source);
  cpl_simulation* sim = NULL;
  cpl_model* model = constant_model(ctx, source);
  cpl_component* c = cpl_model_component(model);
  cpl_jacobian* jacobian = NULL;
  cpl_linear* linear = NULL;
  CHECK_REFUSED(ctx, solver_def, cpl_integrate(constant_model(ctx, source), &def, &out));
  CHECK_REFUSED(ctx, aggregate_def, cpl_aggregate(ctx, &def, &m));
  CHECK_REFUSED(ctx, master_def, cpl_master(ctx, &def, &out));
  CHECK_REFUSED(ctx, modes_def, cpl_modes(ctx, &def, &out));
  CHECK_REFUSED(ctx, modes_def, cpl_modes_model(ctx, &def, &m));
  CHECK_REFUSED(ctx, tlm_def, cpl_tlm(ctx, &def, &out));
  CHECK_REFUSED(ctx, isolate_def, cpl_isolate(source, &def, &s));
  CHECK_REFUSED(ctx, jacobian_def, cpl_jacobian_create(model, &def, &jacobian));
  CHECK_REFUSED(ctx, linearize_def, cpl_linearize(model, &def, &linear));
  CHECK_REFUSED(ctx, setup, cpl_component_setup(c, &def));
  CHECK_REFUSED(ctx, run_def, cpl_run(stepper, &def, NULL));
  CHECK_REFUSED(ctx, run_def, cpl_simulation_create(stepper, &def, &sim));
  cpl_tlm_def tlm = cpl_default_tlm_def();
  CHECK_REFUSED(ctx, tlm_serve_def, (tlm.serve = &def, cpl_tlm(ctx, &tlm, &out)));
  cpl_stepper_destroy(stepper);
  cpl_model_destroy(model);
  cpl_source_destroy(source);
}

static void files_refuse(void** state) {
  cpl_context* ctx = *state;
  cpl_source* s = NULL;
  cpl_results* results = NULL;
  cpl_live* live = NULL;
  cpl_tlm_join* join = NULL;
  cpl_table table = {0};
  CHECK_REFUSED(ctx, open_def, cpl_open(ctx, &def, &s));
  CHECK_REFUSED(ctx, fmu_def, cpl_fmu_open(ctx, &def, &s));
  CHECK_REFUSED(ctx, build_def, cpl_fmu_build(ctx, &def, NULL, 0));
  CHECK_REFUSED(ctx, results_def, cpl_results_open(ctx, &def, NULL, 0, &results));
  CHECK_REFUSED(ctx, view_def, cpl_view_write(ctx, &table, &def));
  CHECK_REFUSED(ctx, live_def, cpl_live_open(ctx, &def, &live));
  CHECK_REFUSED(ctx, tlm_join_def, cpl_tlm_join_open(ctx, &def, &join));
  CHECK_REFUSED(ctx, tlm_join_def, cpl_tlm_watch(ctx, &def, NULL, NULL));
  cpl_match_def match = {0};
  CHECK(cpl_match(&table, &table, &match).refused);
  match = cpl_default_match_def();
  CHECK(!cpl_match(&table, &table, &match).refused);
}

static void systems_refuse(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def* system = NULL;
  CHECK_OK(ctx, cpl_system_def_create(ctx, &system));
  CHECK_REFUSED(ctx, member_def, cpl_system_def_add_model(system, &def));
  CHECK_REFUSED(ctx, input_def, cpl_system_def_add_input(system, &def));
  CHECK_REFUSED(ctx, connection_def, cpl_system_def_add_connection(system, &def));
  CHECK_REFUSED(ctx, coupling_def, cpl_system_def_couple(system, "a", &def));
  CHECK_REFUSED(ctx, event_def, cpl_system_def_add_event(system, &def));
  CHECK_REFUSED(ctx, experiment_def, cpl_system_def_set_experiment(system, &def));
  CHECK_REFUSED(ctx, cosimulation_def, cpl_system_def_set_cosimulation(system, &def));
  CHECK_REFUSED(ctx, transition_def, cpl_system_def_add_transition(system, "a", &def));
  cpl_system_def_destroy(system);
}

static void contexts_refuse(void** state) {
  (void)state;
  cpl_context_def def = {0};
  CHECK(cpl_context_create(&def) == NULL);
  def = cpl_default_context_def();
  cpl_context* ctx = cpl_context_create(&def);
  CHECK(ctx != NULL);
  cpl_context_destroy(ctx);
  CHECK_INT(cpl_abi_version(), CPL_ABI_VERSION);
}

static void never_called(void* user, double t) {
  (void)user, (void)t;
  fail_msg("a member behind the end of the definition was read");
}

// A program that was compiled when definitions had fewer members: what follows is not theirs.
static void earlier_definitions_are_accepted(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = constant_source(ctx);
  cpl_stepper* stepper = NULL;
  cpl_simulation* sim = NULL;
  cpl_solver_def solver = cpl_default_solver_def();
  solver.kind = CPL_SOLVER_RK4;
  solver.step = 0.25;
  solver.size = offsetof(cpl_solver_def, restart_each_step);
  solver.max_events = -17;
  CHECK_OK(ctx, cpl_integrate(constant_model(ctx, source), &solver, &stepper));
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 3;
  run.interval = 0.5;
  run.size = offsetof(cpl_run_def, on_progress);
  run.on_progress = never_called;
  CHECK_OK(ctx, cpl_simulation_create(stepper, &run, &sim));
  CHECK_OK(ctx, cpl_simulation_start(sim));
  CHECK_OK(ctx, cpl_simulation_advance(sim, 3));
  double x = 0;
  CHECK_OK(ctx, cpl_simulation_get(sim, "x", &x));
  CHECK_NEAR(x, 6, 1e-12);
  cpl_simulation_destroy(sim);
  cpl_stepper_destroy(stepper);
  cpl_source_destroy(source);
}

static void foreign_models_are_refused(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  CHECK_INT(cpl_c_define_version(ctx, &constant_def, CPL_MODEL_VERSION + 1, NULL, &source),
            CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "couplet/model.h of version 2");
  FILE* f = fopen("foreign.c", "w");
  fputs(
      "#undef CPL_RECORD_MODEL_VERSION\n"
      "#include <couplet/model.h>\n"
      "CPL_MODEL_EXPORT const int couplet_model_version = 41;\n"
      "const cpl_model_def couplet_model = {.name = \"foreign\"};\n",
      f);
  fclose(f);
  CHECK_INT(cpl_c_open(ctx, "foreign.c", &source), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx),
                 "foreign.c: it was compiled with a couplet/model.h of version 41");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(composers_refuse),
      cmocka_unit_test(files_refuse),
      cmocka_unit_test(systems_refuse),
      cmocka_unit_test(contexts_refuse),
      cmocka_unit_test(earlier_definitions_are_accepted),
      cmocka_unit_test(foreign_models_are_refused),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
