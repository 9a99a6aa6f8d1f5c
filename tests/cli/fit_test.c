// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet fit`: what it prints and writes, and what is wrong with arguments that are refused.
#include "command.h"

static const char decay[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 2, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5, .unit = \"1/s\"}, {0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  dx[0] = -v->p[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states,\n"
    "    .parameters = parameters, .derivatives = slope, .stop_time = 5};\n";

// x = 3 exp(-0.8 t), in millimetres and minutes
static void write_files(void) {
  FILE* f = fopen("data.csv", "w");
  assert_non_null(f);
  fprintf(f, "time [min],x [mm]\n");
  for (int i = 1; i <= 20; i++)
    fprintf(f, "%.17g,%.17g\n", 0.2 * i / 60, 3000 * exp(-0.8 * 0.2 * i) + (i % 2 != 0 ? 2 : -2));
  fclose(f);
  write_text("decay.c", decay);
}

static double number_of(const char* text, const char* key) {
  char quoted[200];
  double value = NAN;
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(text, quoted);
  if (at == NULL) fail_msg("there is no %s in %s", key, text);
  CHECK_INT(sscanf(at + strlen(quoted), "%lf", &value), 1);
  return value;
}

static void parameters_are_printed_and_written(void** state) {
  (void)state;
  write_files();
  CHECK_CODE(0, "fit", "decay.c", "--data", "data.csv", "--vary", "k=0.5:0.1:2", "--vary", "x",
             "--write", "fitted.yaml");
  CHECK_STR(complained, "");
  CHECK_CONTAINS(printed, "decay.c: fitted by ");
  CHECK_CONTAINS(printed, "95 % interval");
  CHECK_CONTAINS(printed, "data.csv: x, 20 points, root mean square of the residuals 0.00");
  CHECK_CODE(0, "fit", "decay.c", "--data", "data.csv", "--vary", "k", "--vary", "x=300 cm",
             "--json");
  CHECK_STR(complained, "");
  CHECK_CONTAINS(printed, "\"parameters\": {\"k\": {\"value\": ");
  CHECK_NEAR(number_of(strstr(printed, "\"k\""), "value"), 0.8, 2e-3);
  CHECK_NEAR(number_of(strstr(printed, "\"x\""), "value"), 3, 5e-3);
  CHECK_CONTAINS(printed, "\"status\": \"ok\"");
  CHECK(printed[0] == '{' && strcmp(printed + strlen(printed) - 2, "}\n") == 0);
  // the system that was written begins with what was found
  CHECK_CODE(0, "run", "fitted.yaml", "--stop", "1", "-o", "-");
  double x = NAN;
  CHECK_INT(sscanf(strstr(printed, "\n0,") + 3, "%lf", &x), 1);
  CHECK_NEAR(x, 3, 5e-3);
}

static void two_experiments_share_a_parameter(void** state) {
  (void)state;
  write_files();
  write_text("second.csv", "time,x\n1,0.44932896\n2,0.20189652\n3,0.09071795\n");
  CHECK_CODE(0, "fit", "decay.c", "--data", "data.csv,x=3 m,weight=2", "--data", "second.csv,x=1",
             "--vary", "k", "--json");
  CHECK_NEAR(number_of(strstr(printed, "\"k\""), "value"), 0.8, 2e-3);
  write_text("own.csv", "time,x,sigma(x)\n1,0.449,0.01\n2,0.201,0.01\n3,0.09,0.02\n");
  CHECK_CODE(0, "fit", "decay.c", "--data", "own.csv,x=1", "--vary", "k", "--json");
  CHECK_CONTAINS(printed, "\"sigma_estimated\": false, \"sigma\": null}");
  // a comma may be part of a name
  CHECK_INT(rename("second.csv", "second,x=2.csv"), 0);
  CHECK_CODE(0, "fit", "decay.c", "--data", "second,x=2.csv", "--vary", "k", "--vary", "x",
             "--json");
  CHECK_NEAR(number_of(strstr(printed, "\"x\""), "value"), 1, 1e-3);
}

static void mistakes_are_explained(void** state) {
  (void)state;
  write_files();
  write_text("names.csv", "time,y\n1,1\n2,2\n3,3\n");
  write_text("empty.csv", "time,x\n1,1\n2,\n3,3\n");
  write_text("nan.csv", "time,x\n1,1\n2,nan\n3,3\n");
  write_text("late.csv", "time,x\n1,1\n2,1\n30,3\n");
  write_text("none.csv", "time,x\n");
  const struct {
    const char *data, *vary, *message;
  } bad[] = {
      {"data.csv", "kk", "(is it k?)"},
      {"names.csv", "k", "names.csv: decay: there is no variable \"y\""},
      {"empty.csv", "k", "empty.csv:3"},
      {"nan.csv", "k", "nan.csv:3"},
      {"late.csv", "k",
       "late.csv: the data at t=30 are outside of the run, which goes from 0 to 5"},
      {"none.csv", "k", "none.csv"},
      {"missing.csv", "k", "missing.csv"},
      {"data.csv,x", "k", "NAME=VALUE is expected"},
      {"data.csv,weight=0", "k", "its weight must be positive"},
      {"data.csv,k=1", "k", "data.csv: k is varied"},
      {"data.csv", "k=3:1:2", "its guess 3 is above its greatest value 2"},
      {"data.csv", "k=a", "the guess is \"a\""},
      {"data.csv", NULL, "no parameter varies"},
      {NULL, "k", "there are no data"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    const char* args[8] = {"fit", "decay.c"};
    int n = 2;
    if (bad[i].data != NULL) args[n++] = "--data", args[n++] = bad[i].data;
    if (bad[i].vary != NULL) args[n++] = "--vary", args[n++] = bad[i].vary;
    CHECK_INT(run_couplet(args), 2);
    CHECK_CONTAINS(complained, bad[i].message);
    CHECK_STR(printed, "");
  }
  CHECK_CODE(2, "fit", "decay.c", "--data", "data.csv", "--vary", "k", "--sigma", "xx=1");
  CHECK_CONTAINS(complained, "(is it x?)");
  CHECK_CODE(2, "fit", "decay.c", "--data", "data.csv", "--vary", "k", "--loss", "abs");
  CHECK_CONTAINS(complained, "--loss takes squares|huber|soft_l1|cauchy");
  CHECK_CODE(2, "fit", "decay.c", "--data", "data.csv", "--vary", "k", "--set", "k=1");
  CHECK_CONTAINS(complained, "k cannot vary: it is set to a value");
  write_text("more.csv", "time,y,x\n1,0,0.9\n2,0,0.4\n3,0,0.2\n");
  CHECK_CODE(2, "fit", "decay.c", "--data", "more.csv", "--vary", "k");
  CHECK_CODE(0, "fit", "decay.c", "--data", "more.csv", "--vary", "k", "--ignore-extra");
  // residuals that overflow: the least squares of the library would never end
  static const char* const sigmas[] = {"1e-320", "1e-200", "1e-120"};
  for (size_t i = 0; i < sizeof sigmas / sizeof sigmas[0]; i++) {
    char text[100];
    snprintf(text, sizeof text, "time,x,sigma(x)\n1,0.9,%s\n2,0.5,1e300\n", sigmas[i]);
    write_text("deviations.csv", text);
    CHECK_CODE(2, "fit", "decay.c", "--data", "deviations.csv", "--vary", "k");
    CHECK_CONTAINS(complained, "standard deviations with the guesses");
  }
  // x is 2/e with the guess: the residual is small, its derivative is not
  write_text("deviations.csv", "time,x,sigma(x)\n2,0.73575888234288467,1e-101\n3,0.4,1\n");
  CHECK_CODE(1, "fit", "decay.c", "--data", "deviations.csv", "--vary", "k");
  CHECK_CONTAINS(complained, "the derivative of a residual is");
}

//------------------------------------ the section fit ------------------------------------

// A system in a folder of its own, with the data below it, and this section.
static void write_system(const char* section) {
  char text[1024];
  write_files();
  mkdir("plant", 0700);
  mkdir("plant/data", 0700);
  CHECK_INT(rename("data.csv", "plant/data/long.csv"), 0);
  CHECK_INT(rename("decay.c", "plant/decay.c"), 0);
  const char* const head =
      "couplet: 1\n"
      "models: {d: {c: decay.c}}\n"
      "outputs: {x: d.x}\n"
      "experiment: {stop: 5}\n";
  CHECK(snprintf(text, sizeof text, "%s%s", head, section) < (int)sizeof text);
  write_text("plant/system.yaml", text);
}

static const char* const short_rows =
    "time,x\n1,0.44932896\n2,0.20189652\n3,0.09071795\n";  // exp(-0.8 t)

static void a_system_file_says_what_to_fit(void** state) {
  (void)state;
  write_system(
      "fit:\n"
      "  data: [{file: data/long.csv, start: {d.x: 3 m}, weight: 2}, {file: data/short.csv, start: "
      "{d.x: 1}}]\n"
      "  vary: {d.k: '0.5:0.1:2'}\n"
      "  loss: huber\n"
      "  scale: 2\n"
      "  confidence: 0.5\n");
  write_text("plant/data/short.csv", short_rows);
  CHECK_CODE(0, "fit", "plant/system.yaml", "--json");
  CHECK_STR(complained, "");
  const double value = number_of(strstr(printed, "\"d.k\""), "value");
  CHECK_NEAR(value, 0.8, 2e-3);
  CHECK_NEAR(number_of(printed, "confidence"), 0.5, 0);
  CHECK_CONTAINS(printed, "\"data\": \"plant/data/long.csv\"");
  CHECK_CONTAINS(printed, "\"data\": \"plant/data/short.csv\"");
  // the same as options
  char* of_file = strdup(printed);
  CHECK_CODE(0, "fit", "plant/system.yaml", "--data", "plant/data/long.csv,d.x=3 m,weight=2",
             "--data", "plant/data/short.csv,d.x=1", "--vary", "d.k=0.5:0.1:2", "--loss", "huber",
             "--scale", "2", "--confidence", "0.5", "--json");
  CHECK_STR(printed, of_file);
  free(of_file);
  // a system with the values found, in another folder, fits the same data
  CHECK_CODE(0, "fit", "plant/system.yaml", "-w", "fitted.yaml");
  CHECK_CODE(0, "fit", "fitted.yaml", "--json");
  CHECK_NEAR(number_of(strstr(printed, "\"d.k\""), "value"), value, 1e-7);
}

static void options_replace_the_section(void** state) {
  (void)state;
  write_system(
      "fit: {data: data/long.csv, vary: {d.k: 0.5, d.x: }, sigma: {x: 0.01}, loss: cauchy, scale: "
      "5}\n");
  CHECK_CODE(0, "fit", "plant/system.yaml", "--json");
  CHECK_CONTAINS(printed, "\"sigma_estimated\": false, \"sigma\": 0.01");
  CHECK_NEAR(number_of(strstr(printed, "\"d.x\""), "value"), 3, 5e-3);
  // standard deviations by name; the scale belongs to the loss
  CHECK_CODE(0, "fit", "plant/system.yaml", "--sigma", "x=0.02", "--loss", "squares", "--json");
  CHECK_CONTAINS(printed, "\"sigma_estimated\": false, \"sigma\": 0.02");
  const double squares = number_of(printed, "squares");
  CHECK_NEAR(squares, 20 * 0.002 * 0.002 / (0.02 * 0.02), 0.05);
  CHECK_CODE(0, "fit", "plant/system.yaml", "--sigma", "x=0.02", "--loss", "huber", "--json");
  CHECK_NEAR(number_of(printed, "squares"), squares, 1e-6);
  // what varies, and the data, as a whole
  write_text("short.csv", short_rows);
  CHECK_CODE(0, "fit", "plant/system.yaml", "--vary", "d.k", "--data", "short.csv,d.x=1", "--loss",
             "squares", "--json");
  CHECK(strstr(printed, "\"d.x\"") == NULL);
  CHECK_CONTAINS(printed, "\"data\": \"short.csv\"");
}

static void mistakes_in_the_section_have_a_place(void** state) {
  (void)state;
  const struct {
    const char *section, *message;
  } bad[] = {
      {"fit: {data: data/long.csv}\n",
       "no parameter varies: say which (--vary, or the section fit"},
      {"fit: {vary: {d.k: }}\n", "there are no data to fit to (--data, or the section fit"},
      {"fit: {data: data/none.csv, vary: {d.k: }}\n",
       "plant/system.yaml:5:13: fit: data: plant/data/none.csv: "},
      {"fit: {data: [data/long.csv, {file: decay.c}], vary: {d.k: }}\n",
       "plant/system.yaml:5:36: fit: data: plant/decay.c"},
      {"fit: {data: {file: data/long.csv, start: {d.k: 1}}, vary: {d.k: }}\n",
       "plant/system.yaml:5:20: fit: data: plant/data/long.csv: d.k is varied"},
      {"fit: {data: data/long.csv, vary: {d.kk: }}\n", "plant/system.yaml:5:35: fit: vary: "},
      {"fit: {data: data/long.csv, vary: {d.k: much}}\n",
       "plant/system.yaml:5:40: fit: vary: d.k: the guess is \"much\", not a finite number"},
      {"fit: {data: data/long.csv, vary: {d.k: '1:2'}}\n",
       "plant/system.yaml:5:41: fit: vary: d.k: the greatest value is missing"},
      {"fit: {data: data/long.csv, vary: {d.k: '1:2:3:4'}}\n",
       "plant/system.yaml:5:41: fit: vary: d.k: more than NAME=GUESS:LEAST:GREATEST"},
      {"fit: {data: data/long.csv, vary: {d.k: '3:1:2'}}\n",
       "plant/system.yaml:5:35: fit: vary: system: d.k cannot vary: its guess 3 is above its "
       "greatest"},
      {"fit: {data: data/long.csv, vary: {d.k: 1 kg}}\n",
       "plant/system.yaml:5:35: fit: vary: system: d.k cannot vary in \"kg\": its unit is 1/s"},
      {"fit: {data: data/long.csv, vary: {d.k: , 'd.k ': }}\n", "plant/system.yaml:5:"},
      {"fit: {data: data/long.csv, vary: {d.k: }, sigma: {y: 1}}\n",
       "plant/system.yaml:5:54: fit: sigma: the standard deviation of y: no column"},
      {"fit: {data: data/long.csv, vary: {d.k: }, sigma: {x: 0}}\n",
       "plant/system.yaml:5:54: fit: sigma: the standard deviation of x is 0, not positive"},
      {"fit: {data: data/long.csv, vary: {d.k: }, sigma: {x: 1 m}}\n",
       "plant/system.yaml:5:54: fit: sigma: the standard deviation of x is \"1 m\", not a number"},
      {"fit: {data: data/long.csv, vary: {d.k: }, loss: huver}\n",
       "plant/system.yaml:5:49: fit: there is no loss huver (did you mean huber?)"},
      {"fit: {data: data/long.csv, vary: {d.k: }, scale: 0}\n",
       "plant/system.yaml:5:50: scale must be greater than 0"},
      {"fit: [data/long.csv]\n", "plant/system.yaml:5:6: fit needs"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    write_system(bad[i].section);
    CHECK_CODE(2, "fit", "plant/system.yaml");
    CHECK_CONTAINS(complained, bad[i].message);
    CHECK_STR(printed, "");
  }
  write_system("fit: {data: data/long.csv, vary: [d.k]}\n");
  CHECK_CODE(2, "fit", "plant/system.yaml", "--set", "d.k=1");
  CHECK_CONTAINS(complained, "5:35: fit: vary: system: d.k cannot vary: it is set to a value");
}

static void what_is_not_determined_is_warned_of(void** state) {
  (void)state;
  write_files();
  write_text("product.yaml",
             "couplet: 1\n"
             "models: {decay: {c: decay.c, start: {k: a*b}}}\n"
             "parameters: {a: 0.5, b: 1}\n"
             "experiment: {stop: 5}\n");
  write_text("product.csv", "time,decay.x\n1,0.9\n2,0.4\n3,0.2\n4,0.08\n");
  CHECK_CODE(0, "fit", "product.yaml", "--data", "product.csv", "--vary", "a", "--vary", "b");
  CHECK_CONTAINS(complained, "warning: the data do not determine: a +1 %, b -1 %");
  CHECK_CONTAINS(printed, "not determined by the data");
}

// A library that cannot be loaded is found before the one of the system.
static void a_missing_library_is_named(void** state) {
  (void)state;
  write_files();
  mkdir("broken", 0700);
  write_text("broken/libcminpack.so.1", "no library");
  write_text("broken/libcminpack.so", "no library");
  setenv("LD_LIBRARY_PATH", "broken", 1);
  CHECK_CODE(2, "fit", "decay.c", "--data", "data.csv", "--vary", "k");
  unsetenv("LD_LIBRARY_PATH");
  CHECK_CONTAINS(complained, "fits need the library cminpack (Debian: libcminpack1)");
}

static const char slow[] =
    "#include <couplet/model.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 2, .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 0.5}, {0}};\n"
    "static int slope(const cpl_values* v, double* dx) {\n"
    "  usleep(500);\n"
    "  dx[0] = -v->p[0] * v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"slow\", .states = states,\n"
    "    .parameters = parameters, .derivatives = slope, .stop_time = 5};\n";

// Whether progress was reported with a sum of squares.
static bool has_value(const char* text) {
  static const char key[] = "\"value\": ";
  for (const char* at = text; (at = strstr(at, key)) != NULL; at++)
    if (strchr("0123456789", at[strlen(key)]) != NULL && at[strlen(key)] != '\0') return true;
  return false;
}

static void an_interruption_prints_the_best_so_far(void** state) {
  (void)state;
  write_files();
  write_text("slow.c", slow);
  const char* const args[] = {"fit",        "slow.c", "--data",        "data.csv",
                              "--vary",     "k=0.01", "--vary",        "x=1",
                              "--progress", "json",   "--differences", NULL};
  int out = open("out.txt", O_CREAT | O_RDWR | O_TRUNC, 0600), err[2];
  CHECK_INT(pipe(err), 0);
  const pid_t pid = start_couplet(args, out, err[1]);
  close(err[1]);
  char text[4096] = "";
  for (size_t n = 0; !has_value(text);) {
    CHECK(n < sizeof text - 1);
    const ssize_t got = read(err[0], text + n, sizeof text - 1 - n);
    if (got <= 0) fail_msg("it ended early: %s", text);
    n += (size_t)got;
    text[n] = '\0';
  }
  kill(pid, SIGINT);
  while (read(err[0], text, sizeof text) > 0) {
  }
  int status = 0;
  CHECK_INT(waitpid(pid, &status, 0), pid);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
  close(out);
  close(err[0]);
  CHECK_CONTAINS(text_of("out.txt"), "slow.c: the best values of ");
}

static void any_number_of_workers_prints_the_same(void** state) {
  static const char* const numbers[] = {"1", "2", "5"};
  (void)state;
  write_files();
  write_text("short.csv", short_rows);
  for (int d = 0; d < 2; d++) {
    char* first = NULL;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
      CHECK_CODE(0, "fit", "decay.c", "--data", "data.csv,x=3", "--data", "short.csv,x=1", "--vary",
                 "k=0.3", "--json", "-j", numbers[i], "-o", "rows.csv",
                 d == 0 ? "--quiet" : "--differences");
      CHECK_STR(complained, "");
      const char* text = text_of("rows.csv");
      if (first == NULL) first = strdup(text);
      CHECK_STR(text, first);
    }
    free(first);
  }
  CHECK_CODE(2, "fit", "decay.c", "--data", "data.csv", "--vary", "k", "-j", "0");
  CHECK_CONTAINS(complained, "--workers takes a number from 1 on, not 0");
  CHECK_CODE(2, "optimize", "decay.c", "--minimize", "final(x)", "--vary", "k", "-j", "1.5");
  CHECK_CONTAINS(complained, "--workers takes a number from 1 on, not 1.5");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(parameters_are_printed_and_written),
      cmocka_unit_test(two_experiments_share_a_parameter),
      cmocka_unit_test(mistakes_are_explained),
      cmocka_unit_test(a_system_file_says_what_to_fit),
      cmocka_unit_test(options_replace_the_section),
      cmocka_unit_test(mistakes_in_the_section_have_a_place),
      cmocka_unit_test(what_is_not_determined_is_warned_of),
      cmocka_unit_test(a_missing_library_is_named),
      cmocka_unit_test(an_interruption_prints_the_best_so_far),
      cmocka_unit_test(any_number_of_workers_prints_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
