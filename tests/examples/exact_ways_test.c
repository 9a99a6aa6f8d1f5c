// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Checkpoints of systems that run in other ways than by default: as FMUs made of them, in processes
// and threads, with one solver for all, with other linear solvers, forms, projections and
// tolerances, with inputs from tables.
#include "examples/interrupted.h"

// A model or system as an FMU, for model exchange and as a stepper.
static void check_fmu(cpl_context* ctx, const char* from, const char* options) {
  char path[200], name[300];
  snprintf(path, sizeof path, "%.*s.fmu", (int)(strrchr(from, '.') - from), from);
  must_do("build %s %s -o %s", from, options, path);
  snprintf(name, sizeof name, "%s %s", path, options);
  check_interrupted(ctx, name, &(interrupted_system){.path = path, .as = CPL_AS_MODEL_EXCHANGE});
  snprintf(name, sizeof name, "%s %s, ida", path, options);
  check_interrupted(
      ctx, name, &(interrupted_system){.path = path, .as = CPL_AS_MODEL_EXCHANGE, .solver = "ida"});
  snprintf(name, sizeof name, "%s %s, as cs", path, options);
  check_interrupted(ctx, name, &(interrupted_system){.path = path, .as = CPL_AS_CO_SIMULATION});
}

static void models_as_fmus(void** state) {
  static const char* const models[][2] = {
      {"dae", "chain.c"},       {"dae", "hello.c"},
      {"dae", "robertson.c"},   {"bouncing_ball", "bouncing_ball.c"},
      {"sampler", "sampler.c"}, {"types", "types.c"}};
  for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
    char path[100];
    copy_example(models[i][0]);
    snprintf(path, sizeof path, "%s/%s", models[i][0], models[i][1]);
    check_fmu(*state, path, "--fmi 3");
    if (strcmp(models[i][0], "dae") != 0) check_fmu(*state, path, "--fmi 2");
  }
  all_were_same();
}

static void systems_as_fmus(void** state) {
  static const char* const systems[][2] = {{"loops", "turns.yaml"},
                                           {"two_masses", "two_masses.yaml"},
                                           {"pendulums_polar", "pendulums_polar.yaml"},
                                           {"drift", "coupled.yaml"}};
  for (size_t i = 0; i < sizeof systems / sizeof systems[0]; i++) {
    char path[100];
    copy_example(systems[i][0]);
    snprintf(path, sizeof path, "%s/%s", systems[i][0], systems[i][1]);
    check_fmu(*state, path, "");
  }
  all_were_same();
}

static void processes(void** state) {
  static const char* const isolated[][2] = {{"loops", "turns.yaml"},
                                            {"nail_pendulum", "nail_pendulum.yaml"},
                                            {"dae", "chain.c"},
                                            {"two_mass_cosimulation", "steppers.yaml"},
                                            {"elastic_ball", "elastic_ball.yaml"}};
  static const char* const divided[][2] = {{"tlm_spring", "tlm_spring.yaml"},
                                           {"tlm_drive_train", "tlm_drive_train.yaml"},
                                           {"tlm_tree", "tlm_tree.yaml"}};
  copy_example("breaking_pendulum");  // nail_pendulum has its models
  for (size_t i = 0; i < sizeof isolated / sizeof isolated[0]; i++) {
    char path[100], name[200];
    copy_example(isolated[i][0]);
    snprintf(path, sizeof path, "%s/%s", isolated[i][0], isolated[i][1]);
    snprintf(name, sizeof name, "%s, isolated", path);
    check_interrupted(*state, name, &(interrupted_system){.path = path, .isolate = true});
  }
  for (size_t i = 0; i < sizeof divided / sizeof divided[0]; i++) {
    char path[100], name[200];
    copy_example(divided[i][0]);
    snprintf(path, sizeof path, "%s/%s", divided[i][0], divided[i][1]);
    snprintf(name, sizeof name, "%s, processes", path);
    check_interrupted(*state, name, &(interrupted_system){.path = path, .processes = true});
  }
  all_were_same();
}

static void other_settings(void** state) {
  static const interrupted_system all[] = {
      {.path = "loops/turns.yaml", .linear = "gmres"},
      {.path = "van_der_pol/van_der_pol.c", .linear = "gmres"},
      {.path = "two_masses/two_masses.yaml", .one_solver = true},
      {.path = "two_masses/two_masses.yaml", .rtol = 1e-10},
      {.path = "loops/turns.yaml", .solver = "ida", .loops = "as-rows"},
      {.path = "loops/two_loops.yaml", .solver = "ida", .loops = "as-rows", .rtol = 1e-9},
      {.path = "dae/chain.c", .solver = "ida", .form = CPL_FORM_ODE},
      {.path = "dae/chain.c", .solver = "radau"},
      {.path = "dae/robertson.c", .solver = "ida", .rtol = 1e-9},
      {.path = "dae/pendulum.c", .solver = "ida", .projection = "off"},
      {.path = "dae/pendulum.c", .solver = "ida", .as = CPL_AS_CO_SIMULATION},
      {.path = "nail_pendulum/nail_pendulum.yaml", .solver = "ida"},
      {.path = "nail_pendulum/nail_pendulum.yaml", .solver = "radau", .rtol = 1e-9},
      {.path = "nail_pendulum/nail_pendulum.yaml", .solver = "dopri5"},
      {.path = "pendulum_on_cart/pendulum_on_cart.yaml", .solver = "ida"},
      {.path = "pendulum_on_cart/pendulum_on_cart.yaml", .solver = "adams"},
      {.path = "two_modes/two_modes.yaml", .solver = "ida", .rtol = 1e-9},
      {.path = "elastic_ball/balls.yaml", .solver = "radau"},
      {.path = "slider_crank/slider_crank.c", .projection = "events", .stop = 0.5},
      {.path = "slider_crank/slider_crank.c", .projection = "off"},
      {.path = "slider_crank/slider_crank.c", .projection = "lazy"},
      {.path = "slider_crank/slider_crank.c", .solver = "dopri5", .projection = "every"},
      {.path = "slider_crank/slider_crank.c", .solver = "adams", .projection = "every"},
      {.path = "drift/coupled.yaml", .solver = "ida", .projection = "events", .stop = 2},
      {.path = "tank_level/tank.c", .table = "tank.csv", .solver = "adams"},
      {.path = "tank_level/tank.c", .table = "tank.csv", .solver = "ida"},
      {.path = "tank_level/tank.c", .table = "tank.csv", .solver = "rk4"},
  };
  static const char* const folders[] = {
      "loops",     "van_der_pol",  "two_masses",   "dae",   "nail_pendulum", "pendulum_on_cart",
      "two_modes", "elastic_ball", "slider_crank", "drift", "tank_level"};
  for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++) copy_example(folders[i]);
  FILE* f = fopen("tank.csv", "w");
  CHECK(f != NULL);
  fprintf(f, "time,opening\n0,0\n10,1\n10,0.2\n60,0.9\n61,0\n200,0.5\n");
  fclose(f);
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char name[300];
    snprintf(name, sizeof name, "%s, way %zu", all[i].path, i);
    check_interrupted(*state, name, &all[i]);
  }
  all_were_same();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(models_as_fmus),
      cmocka_unit_test(systems_as_fmus),
      cmocka_unit_test(processes),
      cmocka_unit_test(other_settings),
  };
  return cmocka_run_group_tests_name("examples/exact_ways", tests, make_context, drop_context);
}
