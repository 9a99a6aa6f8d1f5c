// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What files of the TLM framework can say: domains, signals, parameters of all types, and short
// delays as they stand.
#include <sys/stat.h>

#include "lines_running.h"

static void write_text(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  CHECK_INT(fclose(f), 0);
}

// v' = -F / m, when the Integer and the Boolean are as they should be; -F is what the framework
// writes. A pressure is written as it is, and a flow into the line makes it grow.
static void write_models(void) {
  mkdir("left", 0777), mkdir("right", 0777), mkdir("copy", 0777);
  write_text("mass.c",
             "#include \"couplet/model.h\"\n"
             "static int derivatives(const cpl_values* v, double* dx) {\n"
             "  dx[0] = -v->u[0] / v->p[0] * (v->p[1] == 3 && v->p[2] != 0 ? 1 : 100);\n"
             "  return 0;\n"
             "}\n"
             "static const cpl_declaration states[] = {{\"v\", .output = true}, {0}},\n"
             "  inputs[] = {{\"F\"}, {0}}, parameters[] = {{\"m\", .start = 7},\n"
             "  {\"n\", .type = CPL_INTEGER}, {\"flag\", .type = CPL_BOOLEAN}, {0}};\n"
             "CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = \"mass\",\n"
             "  .states = states, .inputs = inputs, .parameters = parameters,\n"
             "  .derivatives = derivatives};\n");
  write_text("copy/copy.c",
             "#include \"couplet/model.h\"\n"
             "static int outputs(const cpl_values* v, double* y) {\n"
             "  y[0] = v->u[0];\n"
             "  return 0;\n"
             "}\n"
             "static const cpl_declaration inputs[] = {{\"u\"}, {0}}, outs[] = {{\"y\"}, {0}};\n"
             "CPL_MODEL_EXPORT const cpl_model_def couplet_model = {.name = \"copy\",\n"
             "  .inputs = inputs, .outputs = outs, .output_values = outputs};\n");
  write_text("copy/fmi.config", "name, in\ntype, SignalInput\nvalue, 0\n");
}

static void write_composite(const char* delay, const char* zf) {
  static const char parameters[] =
      "<Parameter Name='m' Value='1'/><Parameter Name='n' Value='3'/>"
      "<Parameter Name='flag' Value='true'/>";
  FILE* f = fopen("two.xml", "w");
  CHECK(f != NULL);
  fprintf(f,
          "<Model Name='two'><SubModels>\n"
          "<SubModel Name='left' ModelFile='mass.c' StartCommand='StartTLMFmiWrapper'>%s\n"
          "<Parameter Name='v' Value='1'/><InterfacePoint Name='end'/></SubModel>\n"
          "<SubModel Name='right' ModelFile='mass.c' StartCommand='StartTLMFmiWrapper'>%s\n"
          "</SubModel>\n"
          "<SubModel Name='copy' ModelFile='copy.c' StartCommand='StartTLMFmiWrapper'/>\n"
          "</SubModels><Connections>\n"
          "<Connection From='left.end' To='right.end' Delay='%s' Zf='%s' alpha='0'/>\n"
          "<Connection From='left.out' To='copy.in' Delay='0.0125'/>\n"
          "</Connections><SimulationParams StartTime='0' StopTime='1'/></Model>\n",
          parameters, parameters, delay, zf);
  CHECK_INT(fclose(f), 0);
}

// In every domain it is a spring of 1000 between two masses: 0.5 + 0.5 cos(w t), the signal later.
static void domains_and_signals(void** state) {
  static const char* const kinds[] = {
      "dimensions, 1\ncausality, Bidirectional\ndomain, Mechanical\n",
      "type, 1D\n",
      "dimensions, 1\ndomain, Rotational\n",
      "dimensions, 1\ndomain, Hydraulic\n",
      "type, Electric\n",
  };
  write_models();
  write_composite("1e-4", "0.1");
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    char config[512];
    snprintf(config, sizeof config,
             "name, end\n%sspeed, 4\nforce, 3\nname, out\ntype, SignalOutput\nvalue, 4\n",
             kinds[i]);
    write_text("left/fmi.config", config);
    write_text("right/fmi.config", config);
    must_do("run two.xml -o out.csv --rtol 1e-9 --interval 0.0125");
    cpl_table* t = read_table(*state, "out.csv");
    CHECK(t->time[0] == 0);
    for (size_t k = 0; k < t->n_rows; k++) {
      double w = sqrt(2000), later = fmax(0, t->time[k] - 0.0125);
      CHECK_NEAR(column(t, "left.v")[k], 0.5 + 0.5 * cos(w * t->time[k]), 2e-5);
      CHECK_NEAR(column(t, "copy.y")[k], 0.5 + 0.5 * cos(w * later), 2e-5);
    }
    cpl_table_destroy(t);
  }
}

// With six decimals they would be 0.000002 and nothing.
static void short_delays_stay_as_they_are(void** state) {
  (void)state;
  static const char* const delays[][2] = {{"3e-6", "1.5e-06"}, {"1e-7", "5e-08"}};
  write_models();
  write_text("left/fmi.config",
             "name, end\ntype, 1D\nspeed, 4\nforce, 3\nname, out\n"
             "type, SignalOutput\nvalue, 4\n");
  CHECK_INT(system("cp left/fmi.config right/fmi.config"), 0);
  for (int i = 0; i < 2; i++) {
    write_composite(delays[i][0], "1");
    must_do("run two.xml -o out.csv --stop-time 1e-5 --stats");
    size_t n;
    char* text = read_all("out.txt", &n);
    CHECK_CONTAINS(text, delays[i][1]);
    free(text);
  }
}

static void parameters_nobody_has_are_told(void** state) {
  (void)state;
  write_models();
  write_text("left/fmi.config",
             "name, end\ntype, 1D\nspeed, 4\nforce, 3\nname, out\n"
             "type, SignalOutput\nvalue, 4\n");
  CHECK_INT(system("cp left/fmi.config right/fmi.config"), 0);
  write_composite("1e-4", "1");
  CHECK_INT(system("sed -i \"s/Name='flag'/Name='flog'/\" two.xml"), 0);
  CHECK_INT(couplet("run two.xml -o out.csv"), 2);
  check_message("two.xml:2: ");
  check_message("flog");
  write_composite("1e-4", "1");
  CHECK_INT(system("sed -i \"s/Value='3'/Value='three'/\" two.xml"), 0);
  CHECK_INT(couplet("run two.xml -o out.csv"), 2);
  check_message("three");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(domains_and_signals, make_context, drop_context),
    cmocka_unit_test(short_delays_stay_as_they_are),
    cmocka_unit_test(parameters_nobody_has_are_told),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
