// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Findings about files, for programs: what cannot be opened has one finding, the cause; a system
// has notes, and warnings about defaults where they are requested.
#include <stdio.h>

#include "couplet/couplet.h"
#include "testing.h"

typedef struct found {
  int errors, warnings;
  char rule[32], text[512];
  int32_t line, column;
} found;

static void keep(void* user, const cpl_finding* f) {
  found* all = user;
  all->errors += f->error;
  all->warnings += !f->error;
  snprintf(all->rule, sizeof all->rule, "%s", f->rule);
  snprintf(all->text, sizeof all->text, "%s", f->text);
  all->line = f->line;
  all->column = f->column;
}

static found check(cpl_context* ctx, const char* path, bool strict, cpl_source** out) {
  found all = {0};
  cpl_check_def def = cpl_default_check_def();
  def.path = path;
  def.strict = strict;
  def.on_finding = keep;
  def.user = &all;
  CHECK_OK(ctx, cpl_check(ctx, &def, out));
  return all;
}

static void write_file(const char* path, const char* text) {
  FILE* f = fopen(path, "w");
  fputs(text, f);
  fclose(f);
}

static void causes_are_findings(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  found f = check(ctx, "missing.fmu", false, &source);
  CHECK(f.errors == 1 && f.warnings == 0 && source == NULL);
  CHECK_STR(f.rule, "open");
  write_file("wrong.yaml", "couplet: 1\nname: w\nmodels: { a: { e: a.c } }\n");
  f = check(ctx, "wrong.yaml", false, NULL);
  CHECK_INT(f.errors, 1);
  CHECK_INT(f.line, 3);
  CHECK(f.column > 0);
  CHECK(strstr(f.text, "wrong.yaml") == NULL);  // reports add the file
}

static void defaults_are_findings_where_requested(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  write_file("alone.c",
             "#include <couplet/model.h>\n"
             "static int f(const cpl_values* v, double* dx) { dx[0] = v->u[0]; return 0; }\n"
             "static const cpl_declaration x[] = {{\"x\"}, {0}}, u[] = {{\"u\"}, {0}};\n"
             "const cpl_model_def couplet_model = {.name = \"alone\", .states = x, .inputs = u,\n"
             "                                     .derivatives = f};\n");
  write_file("fine.yaml", "couplet: 1\nmodels: { a: { c: alone.c } }\n");
  found f = check(ctx, "fine.yaml", false, &source);
  CHECK(f.errors == 0 && f.warnings == 0 && source != NULL);
  CHECK(cpl_find_variable(cpl_source_description(source), "a.x") >= 0);
  cpl_source_destroy(source);
  f = check(ctx, "fine.yaml", true, NULL);
  CHECK_INT(f.errors, 0);
  CHECK(f.warnings > 0);  // the input is not connected, times are not given
  CHECK_INT(cpl_check(ctx, &(cpl_check_def){0}, NULL), CPL_ERR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(causes_are_findings),
      cmocka_unit_test(defaults_are_findings_where_requested),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
