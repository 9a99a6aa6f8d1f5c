// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The example ssp_house: the solution that its README derives, from the folder and from an archive,
// with values of the command line and of a parameter file; and what info and check print.
#include "running.h"

static void build_models(void) {
  char command[8192];
  snprintf(command, sizeof command, "cp -r '%s'/examples/ssp_house/. .",
           getenv("COUPLET_SOURCE_DIR"));
  CHECK_INT(system(command), 0);
  must_do("build room.c -o house/resources/room.fmu");
  must_do("build heater.c -o house/resources/heater.fmu");
}

static void check_rows(cpl_context* ctx, const char* file, double gain, double wanted,
                       double outside) {
  cpl_table* t = read_table(ctx, file);
  const double* T = column(t, "T");
  const double* room = column(t, "room.T");
  const double end = (gain * wanted + 100 * outside) / (gain + 100);
  CHECK(t->n_rows > 100);
  CHECK_NEAR(t->time[t->n_rows - 1], 7200, 0);
  for (size_t i = 0; i < t->n_rows; i++) {
    const double exact = end + (10 - end) * exp(-t->time[i] * (gain + 100) / 2e5);
    CHECK_NEAR(T[i], exact, 1e-5);
    CHECK_NEAR(room[i], T[i] + 273.15, 1e-10);
  }
  cpl_table_destroy(t);
}

static void the_house_is_heated(void** state) {
  cpl_context* ctx = *state;
  build_models();
  must_do("run house --rtol 1e-9 -o house.csv");
  check_rows(ctx, "house.csv", 300, 21, -10);
  must_do("run house/SystemStructure.ssd --rtol 1e-9 -o ssd.csv");
  check_rows(ctx, "ssd.csv", 300, 21, -10);
  must_do("run house --set gain=0.5 --set house.T_outside='275.15 K' --rtol 1e-9 -o set.csv");
  check_rows(ctx, "set.csv", 500, 21, 2);
  FILE* f = fopen("mild.ssv", "w");
  assert_non_null(f);
  fputs(
      "<ssv:ParameterSet version='1.0' name='mild' "
      "xmlns:ssv='http://ssp-standard.org/SSP1/SystemStructureParameterValues'><ssv:Parameters>"
      "<ssv:Parameter name='T_outside'><ssv:Real value='4'/></ssv:Parameter>"
      "<ssv:Parameter name='heater.wanted'><ssv:Real value='18'/></ssv:Parameter>"
      "</ssv:Parameters></ssv:ParameterSet>",
      f);
  fclose(f);
  must_do("run house --parameters mild.ssv --set heater.wanted=19 --rtol 1e-9 -o mild.csv");
  check_rows(ctx, "mild.csv", 300, 19, 4);
}

static void info_shows_where_values_come_from(void** state) {
  (void)state;
  size_t n;
  must_do("info house");
  char* text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "T_outside = -10 degC   (house/resources/winter.ssv:6)");
  CHECK_CONTAINS(text, "room: resources/room.fmu");
  CHECK_CONTAINS(text, "house: SystemStructure.ssd");
  free(text);
  must_do("info house --json");
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "\"file\": \"house/resources/winter.ssv\", \"line\": 6");
  free(text);
  must_do("check house");
  must_do("info house --no-run");
  must_do("graph house");
  CHECK_INT(couplet("run house --variant other"), 2);
  CHECK_INT(couplet("run room.c --variant other"), 2);
  check_message("only an SSP package has variants");
  CHECK_INT(couplet("run house --set heatr.wanted=19"), 2);
  check_message("heater.wanted");
}

// All findings of a file, with their lines.
static void check_lists_all_findings(void** state) {
  (void)state;
  size_t n;
  char* text = read_all("house/SystemStructure.ssd", &n);
  char* first = strstr(text, "startConnector=\"P\"");
  char* second = strstr(text, "startConnector=\"gain\"");
  first[16] = 'Q';
  second[17] = 'x';
  FILE* f = fopen("house/wrong.ssd", "w");
  fputs(text, f);
  fclose(f);
  free(text);
  CHECK_INT(couplet("check house/wrong.ssd"), 2);
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text, "house/wrong.ssd:32: error: ");
  CHECK_CONTAINS(text, "house/wrong.ssd:35: error: ");
  CHECK_CONTAINS(text, "2 errors");
  free(text);
}

// Connectors are compared with the variables of the FMUs.
static void connectors_that_do_not_fit(void** state) {
  (void)state;
  size_t n;
  char* text = read_all("house/SystemStructure.ssd", &n);
  char* at = strstr(text,
                    "<ssd:Connector name=\"gain\" kind=\"parameter\"><ssc:Real/></ssd:Connector>\n "
                    "       </ssd:Connectors>");
  assert_non_null(at);
  FILE* f = fopen("house/more.ssd", "w");
  fprintf(f,
          "%.*s<ssd:Connector name=\"wanted\" kind=\"input\"/><ssd:Connector name=\"lost\" "
          "kind=\"local\"/>%s",
          (int)(at - text), text, at);
  fclose(f);
  free(text);
  must_do("check house/more.ssd");
  text = read_all("out.txt", &n);
  CHECK_CONTAINS(text,
                 "house/more.ssd:26: warning: component heater has a connector lost, but its FMU "
                 "has no such variable [connector]");
  CHECK_CONTAINS(
      text, "the connector wanted of component heater is of another kind in the FMU: parameter");
  CHECK_CONTAINS(text, "0 errors, 2 warnings");
  free(text);
}

static int begin(void** state) {
  *state = test_context();
  return 0;
}

static int end(void** state) {
  cpl_context_destroy(*state);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_house_is_heated),
      cmocka_unit_test(info_shows_where_values_come_from),
      cmocka_unit_test(check_lists_all_findings),
      cmocka_unit_test(connectors_that_do_not_fit),
  };
  return cmocka_run_group_tests(tests, begin, end);
}
