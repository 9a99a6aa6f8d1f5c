// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The FMUs of all examples, of both versions: couplet check finds nothing to say.
#include <glob.h>

#include "command.h"

static void no_findings(void** state) {
  (void)state;
  static const char* const versions[] = {"2", "3"};
  static const char* const files[] = {"two.fmu", "three.fmu"};
  glob_t examples;
  CHECK_INT(glob(test_path("examples/*/*.c"), 0, NULL, &examples), 0);
  CHECK(examples.gl_pathc >= 20);
  for (size_t i = 0; i < examples.gl_pathc; i++) {
    pid_t building[2];
    for (int k = 0; k < 2; k++) {
      const char* args[] = {
          "build", examples.gl_pathv[i], "--fmi", versions[k], "-o", files[k], "-q", NULL};
      building[k] = start_couplet(args, -1, -1);
    }
    for (int k = 0; k < 2; k++) CHECK_INT(end_of(building[k]), 0);
    CHECK_CODE(0, "check", "two.fmu", "three.fmu");
    if (strcmp(printed, "two.fmu: no findings\nthree.fmu: no findings\n") != 0)
      fail_msg("%s: %s", examples.gl_pathv[i], printed);
  }
  globfree(&examples);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(no_findings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
