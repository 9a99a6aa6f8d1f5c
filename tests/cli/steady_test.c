// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet steady`, runs that begin at rest, and linearisations there.
#include "command.h"

// The number behind "key": in JSON.
static double number_of(const char* text, const char* key) {
  char quoted[200];
  double value = NAN;
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(text, quoted);
  if (at == NULL) fail_msg("there is no %s in %s", key, text);
  CHECK_INT(sscanf(at + strlen(quoted), "%lf", &value), 1);
  return value;
}

// The plant, in the present folder.
static void copy_plant(void) {
  static const char* const files[] = {"tank.c", "servo.c", "tank_level.yaml"};
  for (int i = 0; i < 3; i++) {
    char path[100];
    snprintf(path, sizeof path, "examples/tank_level/%s", files[i]);
    write_text(files[i], text_of(test_path(path)));
  }
}

static const double level_at_half = (0.02 * 0.5 / 0.003) * (0.02 * 0.5 / 0.003) / (2 * 9.81);
static const double command_at_two = 0.003 / 0.02 * 6.264183905346330;  // sqrt(2 * 9.81 * 2)

static void a_plant_is_at_rest(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "steady", "tank_level.yaml", "--json");
  CHECK_STR(complained, "");
  CHECK_NEAR(number_of(printed, "tank.level"), level_at_half, 1e-12);
  CHECK_NEAR(number_of(printed, "servo.position"), 0.5, 1e-13);
  CHECK_CONTAINS(printed, "\"stability\": \"stable\"");
  CHECK_CONTAINS(printed, "\"undetermined\": []");
  CHECK_NEAR(number_of(printed, "re"), -0.003 * sqrt(9.81 / (2 * level_at_half)) / 0.5, 1e-12);
  CHECK_NEAR(number_of(strstr(printed, "\"frequency\""), "damping"), 0.7, 1e-9);
  CHECK(printed[0] == '{' && strcmp(printed + strlen(printed) - 2, "}\n") == 0);
  CHECK_CODE(0, "steady", "tank_level.yaml");
  CHECK_CONTAINS(printed, "at rest at t = 0: 3 states, stable");
  CHECK_CONTAINS(printed, "0.56631555 m");
  CHECK_CONTAINS(printed, "servo.position 50 %");
}

static void an_input_and_a_parameter_are_trimmed(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "steady", "tank_level.yaml", "--free", "command", "--such-that", "level=2",
             "--json", "--write", "at_two.yaml");
  CHECK_NEAR(number_of(printed, "command"), command_at_two, 1e-11);
  CHECK_NEAR(number_of(printed, "tank.level"), 2, 1e-10);
  // a run of the file that was written stays where it is
  CHECK_CODE(0, "run", "at_two.yaml", "-o", "two.csv", "--quiet");
  CHECK_CODE(0, "steady", "at_two.yaml", "--json");
  CHECK_NEAR(number_of(printed, "tank.level"), 2, 1e-10);
  double last = NAN;
  const char* text = text_of("two.csv");
  CHECK_INT(sscanf(strrchr(text, ',') + 1, "%lf", &last), 1);
  CHECK_NEAR(last, 2, 1e-8);
  // a parameter that is fixed during a run
  CHECK_CODE(0, "steady", "tank_level.yaml", "--free", "tank.drain", "--such-that", "tank.level=2",
             "--json");
  CHECK_NEAR(number_of(printed, "tank.drain"), 0.01 / 6.264183905346330, 1e-12);
  CHECK_CODE(1, "steady", "tank_level.yaml", "--free", "tank.area", "--such-that", "level=2");
  CHECK_CONTAINS(complained, "no rest point with level=2 is found");
  CHECK_CODE(2, "steady", "tank_level.yaml", "--free", "command");
  CHECK_CONTAINS(complained, "1 free variable and 0 values to reach");
  CHECK_CODE(2, "steady", "tank_level.yaml", "--free", "tank.opening", "--such-that", "level=2");
  CHECK_CONTAINS(complained, "tank.opening cannot be free: it is neither an input");
  CHECK_CODE(2, "steady", "tank_level.yaml", "--free", "comand", "--such-that", "level=2");
  CHECK_CONTAINS(complained, "is it command?");
  CHECK_CODE(2, "steady", "tank_level.yaml", "--free", "command", "--such-that", "level");
  CHECK_CONTAINS(complained, "expected NAME=NUMBER");
}

static void single_models_are_written_as_systems(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "steady", "tank.c", "--set", "drain=0.006", "--write", "rest.yaml");
  CHECK_CONTAINS(text_of("rest.yaml"), "drain: 0.006");
  CHECK_CODE(0, "run", "rest.yaml", "-o", "rest.csv", "--quiet");
  double last = NAN;
  CHECK_INT(sscanf(strrchr(text_of("rest.csv"), ',') + 1, "%lf", &last), 1);
  CHECK_NEAR(last, level_at_half / 4, 1e-6);
  CHECK_CODE(2, "steady", "tank.c", "--write", "rest.txt");
}

static void fmus_and_systems_of_fmus_rest(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "build", "tank.c", "-o", "tank.fmu");
  CHECK_CODE(0, "build", "servo.c", "-o", "servo.fmu");
  CHECK_CODE(0, "steady", "tank.fmu", "--json", "--free", "drain", "--such-that", "level=2");
  CHECK_NEAR(number_of(printed, "drain"), 0.01 / 6.264183905346330, 1e-12);
  write_text("fmus.yaml",
             "couplet: 1\nmodels: {servo: {fmu: servo.fmu}, tank: {fmu: tank.fmu}}\n"
             "inputs: {command: {start: 0.5}}\n"
             "connections: {servo.command: command, tank.opening: servo.position}\n"
             "outputs: {level: tank.level}\n");
  CHECK_CODE(0, "steady", "fmus.yaml", "--json", "--free", "command", "--such-that", "level=2");
  CHECK_NEAR(number_of(printed, "command"), command_at_two, 1e-11);
  CHECK_CODE(2, "steady", "tank.fmu", "--free", "level", "--such-that", "opening=1");
}

// A relay that opens a bypass above 0.8 m, and a loop through a formula: q = 0.01 - 0.2 * q *
// level.
static void events_and_loops_settle(void** state) {
  (void)state;
  copy_plant();
  write_text(
      "relay.c",
      "#include <couplet/model.h>\n"
      "static const cpl_declaration inputs[] = {{\"level\"}, {0}};\n"
      "static const cpl_declaration discrete[] = {{\"open\", .output = true}, {0}};\n"
      "static int indicators(const cpl_values* v, double* z) {\n"
      "  z[0] = v->u[0] - 0.8; return CPL_MODEL_OK;\n"
      "}\n"
      "static int event(const cpl_values* v, cpl_event_actions* a) {\n"
      "  a->w[0] = v->u[0] > 0.8; return CPL_MODEL_OK;\n"
      "}\n"
      "const cpl_model_def couplet_model = {.name = \"relay\", .inputs = inputs,\n"
      "  .discrete = discrete, .n_indicators = 1, .indicators = indicators, .event = event};\n");
  write_text("gain.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration inputs[] = {{\"u\"}, {0}};\n"
             "static const cpl_declaration outputs[] = {{\"y\"}, {0}};\n"
             "static int output_values(const cpl_values* v, double* y) {\n"
             "  y[0] = 0.5 * v->u[0]; return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"gain\", .inputs = inputs,\n"
             "  .outputs = outputs, .output_values = output_values};\n");
  // opening = 0.5 * u, u = 1 - opening * opening - 0.6 * open: a loop
  write_text("loop.yaml",
             "couplet: 1\nmodels:\n  tank: {c: tank.c, start: {level: 5}}\n  relay: {c: relay.c}\n"
             "  gain: {c: gain.c}\n"
             "connections:\n  gain.u: 1 - gain.y^2 - 0.6*relay.open\n  tank.opening: gain.y\n"
             "  relay.level: tank.level\n");
  CHECK_CODE(0, "steady", "loop.yaml", "--json");
  double y = sqrt(2) - 1, level = (0.02 * y / 0.003) * (0.02 * y / 0.003) / (2 * 9.81);
  CHECK_NEAR(number_of(printed, "tank.level"), level, 1e-12);  // 0.389 m, below the relay
  // with more supply it would rest above 0.8 m closed and below 0.8 m open: nowhere
  CHECK_CODE(1, "steady", "loop.yaml", "--set", "tank.supply=0.03");
  CHECK_CONTAINS(complained, "discrete parts keep switching");
}

static void what_has_no_rest_point_is_told(void** state) {
  (void)state;
  write_text("drift.c",
             "#include <couplet/model.h>\n"
             "static const cpl_declaration states[] = {{\"x\"}, {\"v\", .start = 2}, {0}};\n"
             "static const cpl_declaration inputs[] = {{\"F\"}, {0}};\n"
             "static int move(const cpl_values* v, double* dx) {\n"
             "  dx[0] = v->x[1]; dx[1] = v->u[0] - v->x[1]; return CPL_MODEL_OK;\n"
             "}\n"
             "const cpl_model_def couplet_model = {.name = \"drift\", .states = states,\n"
             "  .inputs = inputs, .derivatives = move};\n");
  CHECK_CODE(1, "steady", "drift.c", "--set", "F=1");
  CHECK_CONTAINS(complained, "no rest point is found at t=0");
  CHECK_CONTAINS(complained, "x (derivative 1)");
  CHECK_STR(printed, "");
  // without a force it rolls until friction stops it, two metres on
  CHECK_CODE(0, "steady", "drift.c", "--json");
  CHECK_CONTAINS(complained, "there are many rest points: nothing determines x.");
  CHECK_CONTAINS(printed, "\"undetermined\": [\"x\"]");
  CHECK_CONTAINS(printed, "\"stability\": \"marginal\"");
  CHECK_NEAR(number_of(printed, "x"), 2, 1e-9);
  // with a place to be it is determined, by the start value of nothing
  CHECK_CODE(1, "steady", "drift.c", "--free", "F", "--such-that", "v=1");
}

static void runs_begin_at_rest(void** state) {
  (void)state;
  copy_plant();
  write_text("rest.yaml",
             "couplet: 1\nmodels: {servo: {c: servo.c}, tank: {c: tank.c}}\n"
             "inputs: {command: \"if time < 1 then 0.5 else 0.6\"}\n"
             "connections: {servo.command: command, tank.opening: servo.position}\n"
             "experiment: {stop: 2, interval: 1, steady: true}\nrecord: [tank.level]\n");
  double first = NAN, second = NAN;
  CHECK_CODE(0, "run", "rest.yaml", "-o", "rest.csv");
  CHECK_CONTAINS(complained, "a time event at t=1 may end the rest");
  CHECK_INT(sscanf(strchr(text_of("rest.csv"), '\n'), " 0,%lf 1,%lf", &first, &second), 2);
  CHECK_NEAR(first, level_at_half, 1e-12);
  CHECK_NEAR(second, level_at_half, 1e-9);
  CHECK_CODE(0, "run", "tank_level.yaml", "--steady", "--stop", "1", "--interval", "1", "--record",
             "tank.level", "-o", "rest.csv", "--quiet");
  CHECK_INT(sscanf(strchr(text_of("rest.csv"), '\n'), " 0,%lf 1,%lf", &first, &second), 2);
  CHECK_NEAR(first, level_at_half, 1e-12);
  CHECK_NEAR(second, level_at_half, 1e-9);
  write_text("wrong.yaml",
             "couplet: 1\nmodels: {tank: {c: tank.c}}\nexperiment: {steady: maybe}\n");
  CHECK_CODE(2, "run", "wrong.yaml", "-o", "rest.csv");
  CHECK_CONTAINS(complained, "steady is true or false, not \"maybe\"");
  CHECK_CODE(2, "run", "tank.c", "--as", "cs", "--steady", "-o", "rest.csv");
  CHECK_CONTAINS(complained, "steady: the rest point of a stepper cannot be searched");
}

static void linearisations_at_rest(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "linearize", "tank.c", "--at", "steady", "--json");
  double a = NAN;
  CHECK_INT(sscanf(strchr(strstr(printed, "\"A\""), '-'), "%lf", &a), 1);
  CHECK_NEAR(a, -0.003 * sqrt(9.81 / (2 * level_at_half)) / 0.5, 1e-12);
  CHECK_CODE(2, "linearize", "tank.c", "--at", "stead");
  CHECK_CONTAINS(complained, "--at stead: neither a time nor steady");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plant_is_at_rest),
      cmocka_unit_test(an_input_and_a_parameter_are_trimmed),
      cmocka_unit_test(single_models_are_written_as_systems),
      cmocka_unit_test(fmus_and_systems_of_fmus_rest),
      cmocka_unit_test(events_and_loops_settle),
      cmocka_unit_test(what_has_no_rest_point_is_told),
      cmocka_unit_test(runs_begin_at_rest),
      cmocka_unit_test(linearisations_at_rest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
