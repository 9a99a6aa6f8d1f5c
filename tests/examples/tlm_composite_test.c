// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Composite models of the TLM framework: tlm_double_pendulum, its files with faults, and what the
// command line says about it.
#include "lines_running.h"

// Each time what is wrong is said, and exit code 2.
static void composites_with_faults(void** state) {
  (void)state;
  static const struct {
    const char *file, *change, *message;
  } faults[] = {
      {"doublePendulum.xml", "s/StartTLMFmiWrapper/StartTLMAdams/",
       "tlm serve --allow-command StartTLMAdams"},
      {"doublePendulum.xml", "s/ModelFile=\"doublePendulum2.fmu\"/ModelFile=\"no.fmu\"/",
       "no.fmu is neither in the folder doublePendulum2 nor in that of"},
      {"doublePendulum.xml", "s/Name=\"tlm\"/Name=\"tip\"/", "no interface tip"},
      {"doublePendulum.xml", "s/To=\"doublePendulum2.tlm\"/To=\"doublePendulum2.tml\"/",
       "doublePendulum2.tml"},
      {"doublePendulum.xml", "s/Zf=\"100\"/Zf=\"0\"/", "Zf must be positive"},
      {"doublePendulum.xml", "s/ManagerPort=\"11113\"/ManagerPort=\"70000\"/",
       "ManagerPort: 70000 is no port"},
      {"doublePendulum.xml", "s/Position=\"0.25,0,0\"/Position=\"0.25,0\"/", "three numbers"},
      {"doublePendulum1/fmi.config", "s/^force.*/force, 6, 1, 2, 3, 4, 5/", "phi is not an input"},
      {"doublePendulum1/fmi.config", "s/^force.*/force, 99, 1, 2, 3, 4, 5/", "value reference 99"},
      {"doublePendulum1/fmi.config", "s/^speed.*/speed, 22, 23/", "3 variables are needed"},
      {"doublePendulum1/fmi.config", "s/^name.*/speed, 22/", "belongs to no interface"},
      {"doublePendulum1/fmi.config", "s/^speed.*/sped, 22/", "unknown key sped"},
      {"doublePendulum1/fmi.config",
       "s/^orientation.*/orientation, 13, 13, 15, 16, 17, 18, 19, 20, 21/",
       "is not a rotation at the start"},
  };
  prepare_pendulum();
  CHECK_INT(system("cp -r tlm_double_pendulum good"), 0);
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    CHECK_INT(system("rm -rf tlm_double_pendulum && cp -r good tlm_double_pendulum"), 0);
    spoil(faults[i].file, faults[i].change);
    CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.01"), 2);
    check_message(faults[i].message);
  }
  // a frame that is turned, and a matrix by columns: the transpose fits
  CHECK_INT(system("rm -rf tlm_double_pendulum && cp -r good tlm_double_pendulum"), 0);
  spoil("doublePendulum2.c", "s/1.5707963267948966/1.2/g");
  spoil("doublePendulum1.c", "s/1.5707963267948966/1.2/g");
  for (int i = 1; i <= 2; i++)
    CHECK_INT(couplet("build tlm_double_pendulum/doublePendulum%d.c -o "
                      "tlm_double_pendulum/doublePendulum%d/doublePendulum%d.fmu",
                      i, i, i),
              0);
  CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.01"), 0);
  check_message("m apart at the start");
  spoil("doublePendulum2/fmi.config",
        "s/^orientation.*/orientation, 25, 28, 31, 26, 29, 32, 27, 30, 33/");
  CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.01"), 2);
  check_message("the transpose of one of them fits");
  CHECK_INT(system("rm -rf good"), 0);
}

// A reference that is a local variable first and an input after it means the input.
static void aliases_reach_the_input(void** state) {
  static const char script[] =
      "import re, zipfile\n"
      "name = 'tlm_double_pendulum/doublePendulum1/doublePendulum1.fmu'\n"
      "with zipfile.ZipFile(name) as z: files = [(i, z.read(i)) for i in z.infolist()]\n"
      "def later(m): return m[1] + ' '.join(str(int(x) + 1) for x in m[2].split()) + '\"'\n"
      "alias = ('<ModelVariables><ScalarVariable name=\"alias\" valueReference=\"0\" '\n"
      "         'causality=\"local\"><Real/></ScalarVariable>')\n"
      "with zipfile.ZipFile(name, 'w') as out:\n"
      "  for i, data in files:\n"
      "    if i.filename == 'modelDescription.xml':\n"
      "      data = re.sub(r'(\\b(?:index|derivative|dependencies)=\")([0-9 ]*)\"', later,\n"
      "                    data.decode()).replace('<ModelVariables>', alias).encode()\n"
      "    out.writestr(i, data)\n";
  double angle[2];
  prepare_pendulum();
  for (int i = 0; i < 2; i++) {
    must_do("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.1 --interval 0.1");
    cpl_table* t = read_table(*state, "out.csv");
    angle[i] = at(t, "doublePendulum1.phi", 0.1);
    cpl_table_destroy(t);
    if (i == 1)
      CHECK_INT(couplet("info tlm_double_pendulum/doublePendulum1/doublePendulum1.fmu"), 0);
    if (i == 1) break;
    FILE* f = fopen("alias.py", "w");
    CHECK(f != NULL);
    fputs(script, f);
    CHECK_INT(fclose(f), 0);
    CHECK_INT(system("python3 alias.py"), 0);
  }
  CHECK(angle[0] == angle[1]);
  size_t n;
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "29 (6 inputs");
  free(text);
}

// Both sub-models in a frame turned by 3-2-1 angles: the same motion in it, as long as the second
// one stands where the turned x axis leads. No warning says that they are apart.
static void turned_frames(void** state) {
  const double x = 0.4, y = -0.8, z = 1.1;
  double angle[2];
  char change[512];
  prepare_pendulum();
  for (int turned = 0; turned < 2; turned++) {
    if (turned == 1) {
      snprintf(change, sizeof change,
               "s/Angle321=\"0,0,0\">/Angle321=\"%.17g,%.17g,%.17g\">/; "
               "s/Position=\"0.25,0,0\"$/Position=\"%.17g,%.17g,%.17g\"/",
               x, y, z, 0.25 * cos(z) * cos(y), 0.25 * sin(z) * cos(y), -0.25 * sin(y));
      spoil("doublePendulum.xml", change);
    }
    must_do(
        "run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 1 --interval 0.5 --rtol "
        "1e-10");
    size_t n;
    char* told = read_all("err.txt", &n);
    CHECK(strstr(told, "apart") == NULL);
    free(told);
    cpl_table* t = read_table(*state, "out.csv");
    angle[turned] = at(t, "doublePendulum2.phi2", 0.5);
    cpl_table_destroy(t);
  }
  CHECK(angle[0] != angle[1]);
  CHECK_NEAR(angle[0], angle[1], 1e-6);
}

// Where interfaces are at the start, as the framework wants to know it; the frame of the second
// sub-model is turned about all three axes, so that its end shows how.
static void interfaces_are_told(void** state) {
  (void)state;
  size_t n;
  prepare_pendulum();
  CHECK_INT(couplet("tlm inspect tlm_double_pendulum/doublePendulum.xml"), 0);
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "doublePendulum1.tlm: 3d, position 0.25,0,0, Angle321 0,0,0");
  CHECK_CONTAINS(text, "doublePendulum2.tlm: 3d, position 0.25,0,0, Angle321 0,0,0");
  free(text);
  spoil("doublePendulum.xml",
        "s/Angle321=\"0,0,0\">/Angle321=\"0.1,0.2,-0.3\">/; "
        "0,/Angle321=\"0.1,0.2,-0.3\">/s//Angle321=\"0,0,0\">/");
  CHECK_INT(couplet("tlm inspect tlm_double_pendulum/doublePendulum.xml"), 2);
  check_message("are rotated relative to each other at the start by 0.3");
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "doublePendulum2.tlm: 3d, position 0.25,0,0, Angle321 0.1,0.2,-0.3");
  free(text);
  CHECK_INT(couplet("tlm inspect --json tlm_double_pendulum/doublePendulum.xml"), 2);
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "\"angle321\"");
  free(text);
}

static void write_config(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  CHECK(f != NULL);
  fputs(text, f);
  CHECK_INT(fclose(f), 0);
}

// A sub-model by itself, by the tlm.config beside it: its times, and steps below 1e-6 as they are.
static void tlm_configs(void** state) {
  static const char file[] = "tlm_double_pendulum/doublePendulum2/tlm.config";
  static const struct {
    const char *text, *message;
  } faults[] = {
      {"doublePendulum2\nlocalhost:1\n0\n1\n", ":5: line 5 is missing: the longest step"},
      {"doublePendulum2\nlocalhost\n0\n1\n1e-4\n", ":2: localhost is no server:port"},
      {"doublePendulum2\nlocalhost:70000\n0\n1\n1e-4\n", ":2: localhost:70000 is no server:port"},
      {"doublePendulum2\nlocalhost:1\n0\nlater\n1e-4\n", ":4: the stop time: later is no number"},
      {"doublePendulum2\nlocalhost:1\n2\n1\n1e-4\n",
       ":4: the stop time 1 is not after the start time 2"},
      {"doublePendulum2\nlocalhost:1\n0\n1\n0.000000\n",
       ":5: the longest step is 0.000000; it must be positive (was a shorter one written"},
      {"doublePendulum2\nlocalhost:1\n0\n1\n1e-4\n\nmore\n", ":7: there are more than five lines"},
      {"other\nlocalhost:1\n0\n1\n1e-4\n", NULL},  // the only FMU there is meant
  };
  prepare_pendulum();
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    bool wrong = faults[i].message != NULL;
    write_config(file, faults[i].text);
    CHECK_INT(couplet("run %s -o out.csv --stop-time 0.01", file), wrong ? 2 : 0);
    if (wrong) check_message(faults[i].message);
    if (!wrong) continue;
    // a composite model does not depend on it
    must_do("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.001");
    check_message("couplet: warning: doublePendulum2: ");
    check_message(faults[i].message);
  }
  write_config(file, "doublePendulum2\r\n[::1]:11113\r\n1\r\n1.00001\r\n7.5e-7\r\n");
  CHECK_INT(couplet("run %s -o out.csv --stats", file), 0);
  cpl_table* t = read_table(*state, "out.csv");
  CHECK_NEAR(t->time[0], 1, 0);
  CHECK_NEAR(t->time[t->n_rows - 1], 1.00001, 0);
  cpl_table_destroy(t);
  size_t n;
  char* text = read_all("out.txt", &n);
  const char* steps = strstr(text, "  steps ");
  CHECK(steps != NULL && atoi(steps + 8) >= 14 && atoi(steps + 8) < 40);
  free(text);
  // beside a composite model it decides nothing, but differences are said
  write_config(file, "doublePendulum\nlocalhost:11113\n0\n2\n1e-4\n");
  CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.01"), 0);
  check_message("the name is doublePendulum; here the sub-model is doublePendulum2");
  check_message("the stop time is 2; by the composite model it is 3");
  check_message("the longest step is 0.0001; by the composite model it is 5e-05");
}

//------------------------------------ solvers ------------------------------------

// A solver for one sub-model: the other one computes as before, to the bit where nothing reaches
// it, and the names of the framework are known.
static void solvers_by_model(void** state) {
  static const struct {
    const char *options, *message;
  } faults[] = {
      {"--solver lft=ida", "solver ida: there is no model lft (did you mean left?)"},
      {"--solver left=idda", "there is no solver idda (did you mean ida?)"},
      {"--solver left=ida --solver left=rk4", "left is integrated by one solver"},
  };
  copy_example("tlm_spring");
  for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
    CHECK_INT(couplet("run tlm_spring/tlm_spring.yaml -o out.csv %s", faults[i].options), 2);
    check_message(faults[i].message);
  }
  CHECK_INT(couplet("run tlm_spring/mass.c -o out.csv --solver mass=ida"), 2);
  check_message("only models of systems with tlm lines");
  static const char* const solvers[] = {"left=IDA", "left=RungeKutta", "right=ida", "IDA"};
  double v[4];
  for (int i = 0; i < 4; i++) {
    CHECK_INT(couplet("run tlm_spring/tlm_spring.yaml -o out.csv --solver %s", solvers[i]), 0);
    cpl_table* t = read_table(*state, "out.csv");
    v[i] = at(t, "left.v", 1);
    CHECK_NEAR(v[i], 0.5 + 0.5 * cos(sqrt(2000)), 3e-5);
    for (int k = 0; k < i; k++) CHECK(v[k] != v[i]);  // each has computed otherwise
    cpl_table_destroy(t);
  }
  prepare_pendulum();
  CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.1 "
                    "--solver doublePendulum2=IDA"),
            0);
  CHECK_INT(couplet("run tlm_double_pendulum/doublePendulum.xml -o out.csv --stop-time 0.1 "
                    "--solver doublePendulum1=IDA"),
            2);
  check_message("doublePendulum1 brings its own solver");
}

// The composite model as one FMU for co-simulation gives its values, and so does what is in it.
static void it_becomes_an_fmu(void** state) {
  static const char* const files[] = {"tlm_double_pendulum/doublePendulum.xml", "pendulum.fmu",
                                      "pendulum/system.yaml"};
  double angle[3];
  prepare_pendulum();
  must_do("build tlm_double_pendulum/doublePendulum.xml -o pendulum.fmu");
  must_do("check pendulum.fmu");
  CHECK_INT(system("rm -rf pendulum"), 0);
  must_do("build --unpack pendulum.fmu -o pendulum");
  for (int i = 0; i < 3; i++) {
    CHECK_INT(couplet("run %s -o out.csv --stop-time 0.5 --interval 0.1 --record "
                      "doublePendulum1.phi",
                      files[i]),
              0);
    cpl_table* t = read_table(*state, "out.csv");
    angle[i] = at(t, "doublePendulum1.phi", 0.5);
    cpl_table_destroy(t);
  }
  CHECK_NEAR(angle[1], angle[0], 1e-6);
  CHECK_NEAR(angle[2], angle[0], 1e-9);
  CHECK(fabs(angle[0]) > 0.01);
  spoil("doublePendulum.xml", "s/StartTLMFmiWrapper/StartTLMAdams/");
  CHECK_INT(couplet("build tlm_double_pendulum/doublePendulum.xml -o pendulum.fmu"), 2);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(composites_with_faults),
    cmocka_unit_test_setup_teardown(aliases_reach_the_input, make_context, drop_context),
    cmocka_unit_test_setup_teardown(turned_frames, make_context, drop_context),
    cmocka_unit_test(interfaces_are_told),
    cmocka_unit_test_setup_teardown(it_becomes_an_fmu, make_context, drop_context),
    cmocka_unit_test_setup_teardown(tlm_configs, make_context, drop_context),
    cmocka_unit_test_setup_teardown(solvers_by_model, make_context, drop_context),
};

int main(void) { return cmocka_run_group_tests(tests, NULL, NULL); }
