// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// `couplet bode` against the transfer function of its plant; its files.
#include "base/complex.h"
#include "command.h"

#undef I

static double number_of(const char* text, const char* key) {
  char quoted[200];
  double value = NAN;
  snprintf(quoted, sizeof quoted, "\"%s\": ", key);
  const char* at = strstr(text, quoted);
  if (at == NULL) fail_msg("there is no %s in %s", key, text);
  if (strncmp(at + strlen(quoted), "null", 4) == 0) return NAN;
  CHECK_INT(sscanf(at + strlen(quoted), "%lf", &value), 1);
  return value;
}

static void copy_plant(void) {
  static const char* const files[] = {"tank.c", "servo.c", "tank_level.yaml"};
  for (int i = 0; i < 3; i++) {
    char path[100];
    snprintf(path, sizeof path, "examples/tank_level/%s", files[i]);
    write_text(files[i], text_of(test_path(path)));
  }
}

// From the command to the level, where the tank rests at h.
static double complex plant(double omega, double h) {
  double complex s = CMPLX(0, omega);
  return 0.25 / (s * s + 2 * 0.7 * 0.5 * s + 0.25) * 0.02 /
         (0.5 * s + 0.003 * sqrt(9.81 / (2 * h)));
}

static const double level = (0.02 * 0.5 / 0.003) * (0.02 * 0.5 / 0.003) / (2 * 9.81);

static void a_plant_responds(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "bode", "tank_level.yaml", "--at", "steady", "--from", "command", "--to", "level",
             "-o", "plant.csv");
  CHECK_STR(printed, "");
  FILE* f = fopen("plant.csv", "r");
  char line[400];
  int n = 0;
  assert_non_null(f);
  assert_non_null(fgets(line, sizeof line, f));
  CHECK_STR(line, "omega [rad/s],frequency [Hz],re,im,gain,gain_db,phase [deg]\n");
  while (fgets(line, sizeof line, f) != NULL) {
    double w, hertz, re, im, gain, db, phase;
    CHECK_INT(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%lf", &w, &hertz, &re, &im, &gain, &db, &phase),
              7);
    double complex known = plant(w, level);
    CHECK_NEAR(re, creal(known), 1e-12 * cabs(known));
    CHECK_NEAR(im, cimag(known), 1e-12 * cabs(known));
    CHECK_NEAR(hertz, w / (2 * M_PI), 1e-12 * w);
    CHECK_NEAR(gain, cabs(known), 1e-12 * cabs(known));
    CHECK_NEAR(db, 20 * log10(cabs(known)), 1e-9);
    double turns = (phase - carg(known) * 180 / M_PI) / 360;
    CHECK_NEAR(turns, round(turns), 1e-9);
    CHECK(phase < 0 && phase > -270);
    n++;
  }
  fclose(f);
  CHECK(n > 50);
}

static void margins_are_those_of_the_loop(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "bode", "tank_level.yaml", "--at", "steady", "--from", "command", "--to", "level",
             "--json");
  CHECK_STR(complained, "");
  double w = number_of(printed, "gain_margin_omega");
  CHECK_NEAR(cimag(plant(w, level)), 0, 1e-12);
  CHECK_NEAR(number_of(printed, "gain_margin"), 1 / cabs(plant(w, level)), 1e-9);
  w = number_of(printed, "phase_margin_omega");
  CHECK_NEAR(cabs(plant(w, level)), 1, 1e-12);
  double margin = number_of(printed, "phase_margin");
  CHECK_NEAR(margin, 180 + carg(plant(w, level)) * 180 / M_PI, 1e-9);
  CHECK_NEAR(number_of(printed, "delay_margin"), margin * M_PI / 180 / w, 1e-9);
  CHECK_NEAR(number_of(printed, "gain_at_zero"), creal(plant(0, level)), 1e-11);
  CHECK(printed[0] == '{' && strcmp(printed + strlen(printed) - 2, "}\n") == 0);
  CHECK_CODE(0, "bode", "tank_level.yaml", "--at", "steady", "--from", "command", "--to", "level");
  CHECK_CONTAINS(printed, "from command to level");
  CHECK_CONTAINS(printed, "log10(omega) [rad/s]");
  CHECK_CONTAINS(printed, "phase margin");
  CHECK_CODE(0, "bode", "tank_level.yaml", "--from", "command", "--to", "servo.position", "--omega",
             "0", "--omega", "0.5", "--json");
  CHECK_CONTAINS(printed, "\"omega\": [0, 0.5]");
  CHECK(isnan(number_of(printed, "gain_margin")));
}

static void pictures_and_pages(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "bode", "tank.c", "--from", "opening", "--to", "level", "-o", "tank.svg", "--range",
             "1e-4:10");
  CHECK_CONTAINS(text_of("tank.svg"), "angular frequency [rad/s]");
  CHECK_CONTAINS(text_of("tank.svg"), ">0.001</text>");
  CHECK_CONTAINS(text_of("tank.svg"), "dB");
  CHECK_CODE(0, "bode", "tank.c", "--from", "opening", "--to", "level", "-o", "tank.html");
  CHECK_CONTAINS(text_of("tank.html"), "<title>tank: from opening to level</title>");
  CHECK_CONTAINS(text_of("tank.html"), "<td>phase margin</td>");
  CHECK_CONTAINS(text_of("tank.html"), "</svg>");
}

static void fmus_respond(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(0, "build", "tank.c", "-o", "tank.fmu");
  CHECK_CODE(0, "bode", "tank.fmu", "--at", "steady", "--from", "opening", "--to", "level",
             "--omega", "0.02", "--json");
  double complex known = 0.02 / (0.5 * CMPLX(0, 0.02) + 0.003 * sqrt(9.81 / (2 * level)));
  double re = NAN, im = NAN;
  CHECK_INT(sscanf(strstr(printed, "\"re\": [") + 7, "%lf", &re), 1);
  CHECK_INT(sscanf(strstr(printed, "\"im\": [") + 7, "%lf", &im), 1);
  CHECK_NEAR(re, creal(known), 1e-11);
  CHECK_NEAR(im, cimag(known), 1e-11);
}

static void bad_requests_are_told(void** state) {
  (void)state;
  copy_plant();
  CHECK_CODE(2, "bode", "tank.c");
  CHECK_CONTAINS(complained, "--from INPUT and --to OUTPUT are needed");
  CHECK_CODE(2, "bode", "tank.c", "--from", "openin", "--to", "level");
  CHECK_CONTAINS(complained, "is it opening?");
  CHECK_CODE(2, "bode", "tank.c", "--from", "area", "--to", "level");
  CHECK_CONTAINS(complained, "area is not a continuous Real input");
  CHECK_CODE(2, "bode", "tank.c", "--from", "opening", "--to", "level", "-o", "x.txt");
  CHECK_CONTAINS(complained, ".csv, .json, .svg or .html");
  CHECK_CODE(2, "bode", "tank.c", "--from", "opening", "--to", "level", "--range", "1");
  CHECK_CONTAINS(complained, "expected LOW:HIGH");
  CHECK_CODE(2, "bode", "tank.c", "--from", "opening", "--to", "level", "--range", "2:1");
  CHECK_CONTAINS(complained, "is empty");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plant_responds),      cmocka_unit_test(margins_are_those_of_the_loop),
      cmocka_unit_test(pictures_and_pages),    cmocka_unit_test(fmus_respond),
      cmocka_unit_test(bad_requests_are_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
