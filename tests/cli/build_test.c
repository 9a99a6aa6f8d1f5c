// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet build, and C models against the FMUs made of them.
#include <unistd.h>

#include "base/process.h"
#include "format/file.h"
#include "format/zip.h"
#include "testing.h"

static int couplet(cpl_context* ctx, char** output, const char* a, const char* b, const char* c,
                   const char* d, const char* e, const char* f) {
  const char* argv[] = {getenv("COUPLET"), a, b, c, d, e, f, NULL};
  int code = -1;
  CHECK_OK(ctx, cpli_run_program(ctx, argv, output, &code));
  return code;
}

static void usage_and_exit_codes(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char* output;
  unlink("types.fmu");
  const char* model = test_path("examples/types/types.c");
  CHECK_INT(couplet(ctx, &output, "build", model, NULL, NULL, NULL, NULL), 0);
  CHECK_STR(output, "types.fmu\n");
  free(output);
  CHECK_INT(couplet(ctx, &output, "build", model, "-o", "quiet.fmu", "--quiet", NULL), 0);
  CHECK_STR(output, "");
  free(output);
  CHECK_INT(couplet(ctx, &output, "build", model, "--fmi", "3", "-o", "three.fmu"), 0);
  CHECK_STR(output, "three.fmu\n");
  free(output);
  cpli_zip* zip = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_zip_open(ctx, "three.fmu", NULL, &zip));
  CHECK_OK(ctx, cpli_zip_read(zip, "modelDescription.xml", 1 << 20, &output, &size));
  cpli_zip_close(zip);
  CHECK_CONTAINS(output, "fmiVersion=\"3.0\"");
  free(output);
  CHECK_INT(couplet(ctx, &output, "build", model, "--fmi", "1", NULL, NULL), 2);
  CHECK_CONTAINS(output, "--fmi takes 2|3, not \"1\"");
  free(output);
  CHECK_INT(couplet(ctx, &output, "build", "missing.c", NULL, NULL, NULL, NULL), 2);
  CHECK_CONTAINS(output, "missing.c: No such file");
  free(output);
  CHECK_INT(couplet(ctx, &output, "build", model, "-o", "no/folder/x.fmu", NULL, NULL), 2);
  CHECK_CONTAINS(output, "no/folder/x.fmu");
  free(output);
  CHECK_INT(couplet(ctx, &output, "check", "types.fmu", NULL, NULL, NULL, NULL), 0);
  CHECK_CONTAINS(output, "no findings");
  free(output);
  cpl_context_destroy(ctx);
}

// The FMU is the model: not near it, but the same.
static void model_and_fmu_give_the_same_trajectory(void** state) {
  (void)state;
  static const char* const examples[] = {"bouncing_ball", "van_der_pol", "sampler", "types"};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(examples); i++) {
    char model[4096], fmu[64];
    char *output, *one, *two;
    size_t n = 0, m = 0;
    snprintf(model, sizeof model, "%s/%s/%s.c", test_path("examples"), examples[i], examples[i]);
    snprintf(fmu, sizeof fmu, "%s.fmu", examples[i]);
    CHECK_INT(couplet(ctx, &output, "build", model, "-o", fmu, NULL, NULL), 0);
    free(output);
    CHECK_INT(couplet(ctx, &output, "run", model, "-o", "model.csv", NULL, NULL), 0);
    free(output);
    CHECK_INT(couplet(ctx, &output, "run", fmu, "-o", "fmu.csv", NULL, NULL), 0);
    free(output);
    CHECK_OK(ctx, cpli_file_read(ctx, "model.csv", 1 << 24, &one, &n));
    CHECK_OK(ctx, cpli_file_read(ctx, "fmu.csv", 1 << 24, &two, &m));
    if (n != m || memcmp(one, two, n) != 0) fail_msg("%s: model and FMU differ", examples[i]);
    CHECK(n > 1000);
    free(one);
    free(two);
    CHECK_INT(couplet(ctx, &output, "run", fmu, "--as", "cs", "-o", "cs.csv"), 0);
    free(output);
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(usage_and_exit_codes),
                                     cmocka_unit_test(model_and_fmu_give_the_same_trajectory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
