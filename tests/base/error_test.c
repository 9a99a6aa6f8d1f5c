// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Failures as data: whole texts of any length, source locations, component, variable and time, also
// over processes and threads; short messages allocate nothing.
#include "testing.h"

enum { LONG = 9000 };

static char* long_word(char c) {
  static char words[2][LONG + 1];
  char* word = words[c == 'b'];
  memset(word, c, LONG);
  return word;
}

static void texts_are_whole(void** state) {
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  (void)state;
  CHECK_INT(cpl_context_last_error(ctx)->status, CPL_OK);
  CHECK_STR(cpl_context_error(ctx), "");
  cpl_fail_prefix(ctx, CPL_ERR_MODEL, "outputs");  // without a reason
  CHECK_STR(cpl_context_error(ctx), "outputs");
  CHECK_INT(cpl_fail_in(ctx, CPL_ERR_MODEL, "pump", "flow", 2.5, "%s", long_word('a')),
            CPL_ERR_MODEL);
  CHECK_INT(cpl_fail_prefix(ctx, CPL_ERR_SOLVER, "%s", long_word('b')), CPL_ERR_SOLVER);
  const cpl_error* e = cpl_context_last_error(ctx);
  CHECK_INT(strlen(e->text), 2 * LONG + strlen(": pump: "));
  CHECK(e->text[0] == 'b' && e->text[strlen(e->text) - 1] == 'a');
  CHECK_INT(e->status, CPL_ERR_SOLVER);
  CHECK_STR(e->component, "pump");
  CHECK_STR(e->variable, "flow");
  CHECK(e->time == 2.5);
  CHECK_STR(e->file, "");
  // arguments may be texts of the failure before, and the next failure begins anew
  cpl_fail(ctx, CPL_ERR_INPUT, "again %s of %s", e->variable, e->component);
  e = cpl_context_last_error(ctx);
  CHECK_STR(e->text, "again flow of pump");
  CHECK_STR(e->component, "");
  CHECK(isnan(e->time));
  cpl_context_destroy(ctx);
  CHECK_INT(heap.live, 0);
}

static void keep_text(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)level, (void)who;
  snprintf(user, 64, "%s", text);
}

// Names from files may have line ends; a message has those of its format only.
static void names_make_no_lines(void** state) {
  (void)state;
  char logged[64] = "";
  cpl_context_def def = cpl_default_context_def();
  def.log = keep_text;
  def.user = logged;
  cpl_context* ctx = cpl_context_create(&def);
  cpl_fail_in(ctx, CPL_ERR_MODEL, "a\nb", NULL, NAN, "no %s", "c\r\nd");
  CHECK_STR(cpl_context_error(ctx), "a b: no c  d");
  cpl_fail(ctx, CPL_ERR_INPUT, "the compiler:\n%s", "1\n2");
  cpl_fail_prefix(ctx, CPL_ERR_INPUT, "%s", "e\nf");
  CHECK_STR(cpl_context_error(ctx), "e f: the compiler:\n1\n2");
  cpl_log(ctx, CPL_LOG_WARNING, "who", "%s is strange", "g\nh");
  CHECK_STR(logged, "g h is strange");
  cpl_context_destroy(ctx);
}

static void short_texts_need_no_memory(void** state) {
  test_heap heap = {.fail_at = -1};
  cpl_context* ctx = test_context_with_heap(&heap);
  (void)state;
  const long calls = heap.calls;
  for (int i = 0; i < 3; i++) {
    cpl_fail_in(ctx, CPL_RETRY, "tank", "level", i, "the level is %d", -i);
    cpl_fail_prefix(ctx, CPL_ERR_MODEL, "the step to t=%d", i + 1);
  }
  CHECK_INT(heap.calls, calls);
  CHECK_STR(cpl_context_error(ctx), "the step to t=3: tank: the level is -2");
  cpl_context_destroy(ctx);
}

static void without_memory_a_text_is_cut(void** state) {
  (void)state;
  for (int n = 0; n < 3; n++) {
    test_heap heap = {.fail_at = 1 + n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_fail_in(ctx, CPL_ERR_MODEL, "pump", NULL, (double)NAN, "%s", long_word('a'));
    CHECK(strncmp(cpl_context_error(ctx), "pump: aaaa", 10) == 0);
    CHECK(strlen(cpl_context_error(ctx)) > 2000);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
  }
}

static void files_have_locations(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  FILE* f = fopen("wrong.yaml", "w");
  fputs("couplet: 1\nmodels:\n  b: { d: b.c }\n", f);
  fclose(f);
  CHECK_INT(cpl_system_open(ctx, "wrong.yaml", &source), CPL_ERR_INPUT);
  const cpl_error* e = cpl_context_last_error(ctx);
  CHECK_STR(e->file, "wrong.yaml");
  CHECK_INT(e->line, 3);
  CHECK_INT(e->column, 8);
  CHECK(strncmp(e->text, "wrong.yaml:3:8: ", 16) == 0);
  CHECK_STR(e->message, e->text + 16);

  // a model of the system: the location is that of the system file, with which the text begins
  f = fopen("wrong.yaml", "w");
  fputs("couplet: 1\nmodels: { a: { c: missing.c } }\n", f);
  fclose(f);
  CHECK(cpl_system_open(ctx, "wrong.yaml", &source) < 0);
  e = cpl_context_last_error(ctx);
  CHECK_STR(e->file, "wrong.yaml");
  CHECK_INT(e->line, 2);
  CHECK(strncmp(e->message, "model a: missing.c: ", 20) == 0);

  cpl_table* table = NULL;
  f = fopen("wrong.csv", "w");
  fputs("time,u\n0,1\n1,x\n", f);
  fclose(f);
  CHECK(cpl_table_read(ctx, "wrong.csv", &table) < 0);
  e = cpl_context_last_error(ctx);
  CHECK_STR(e->file, "wrong.csv");
  CHECK_INT(e->line, 3);
  CHECK_INT(e->column, 3);
}

// The name and those that resemble it, nearest first.
static void unknown_names_have_similar_ones(void** state) {
  cpl_context* ctx = *state;
  static const cpl_declaration list[] = {{"flow"}, {"flown"}, {"level"}, {"Flows"}, {0}};
  static const cpl_model_def def = {.name = "names", .inputs = list};
  cpl_source* source = NULL;
  int32_t found = 0;
  CHECK_OK(ctx, cpl_c_define(ctx, &def, &source));
  const cpl_description* d = cpl_source_description(source);
  CHECK_INT(cpl_require_variable(ctx, d, "flows", &found), CPL_ERR_INPUT);
  const cpl_error* e = cpl_context_last_error(ctx);
  CHECK_STR(e->unknown, "flows");
  CHECK_STR(e->similar, "Flows\nflow\nflown");
  cpl_fail_prefix(ctx, e->status, "here");
  CHECK_STR(cpl_context_last_error(ctx)->unknown, "flows");
  CHECK_INT(cpl_require_variable(ctx, d, "z", &found), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_last_error(ctx)->unknown, "z");
  CHECK_STR(cpl_context_last_error(ctx)->similar, "");
  cpl_fail(ctx, CPL_ERR_INPUT, "something else");
  CHECK_STR(cpl_context_last_error(ctx)->unknown, "");
  cpl_source_destroy(source);
}

//------------------------------------ runs ------------------------------------

// x' = 1 until the limit; beyond it the model fails, or with `nan` x' is not a number.
static int limited(const cpl_values* v, double* dx) {
  dx[0] = v->t > v->p[0] && v->p[1] != 0 ? (double)NAN : 1;
  return v->t > v->p[0] && v->p[1] == 0 ? cpl_model_error(v, "too late") : CPL_MODEL_OK;
}

static const cpl_model_def limited_def = {
    .name = "limited",
    .states = (const cpl_declaration[]){{.name = "x", .output = true}, {0}},
    .parameters = (const cpl_declaration[]){{.name = "limit", .start = 100}, {.name = "nan"}, {0}},
    .derivatives = limited,
};

static cpl_stepper* limited_stepper(cpl_context* ctx, cpl_source* source, const char* name,
                                    double limit, bool nan) {
  cpl_model* model = NULL;
  cpl_stepper* stepper = NULL;
  cpl_solver_def def = cpl_default_solver_def();
  def.kind = CPL_SOLVER_RK4;
  def.step = 0.125;
  CHECK_OK(ctx, cpl_source_make_model(source, name, &model));
  const double values[] = {limit, nan};
  uint32_t refs[2];
  const cpl_description* d = cpl_source_description(source);
  refs[0] = d->vars[cpl_find_variable(d, "limit")].ref;
  refs[1] = d->vars[cpl_find_variable(d, "nan")].ref;
  CHECK_OK(ctx, cpl_component_set_real(cpl_model_component(model), refs, 2, values));
  CHECK_OK(ctx, cpl_integrate(model, &def, &stepper));
  return stepper;
}

static const cpl_error* failed_run(cpl_context* ctx, cpl_stepper* stepper) {
  cpl_run_def run = cpl_default_run_def();
  run.stop_time = 4;
  run.interval = 0.5;
  CHECK(cpl_run(stepper, &run, NULL) < 0);
  return cpl_context_last_error(ctx);
}

static void failed_calls_have_component_and_time(void** state) {
  cpl_context* ctx = *state;
  cpl_source *source = NULL, *apart = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &limited_def, &source));
  cpl_isolate_def isolate = cpl_default_isolate_def();
  for (int isolated = 0; isolated < 2; isolated++) {
    if (isolated) CHECK_OK(ctx, cpl_isolate(source, &isolate, &apart));
    cpl_stepper* s = limited_stepper(ctx, isolated ? apart : source, "late", 1.3, false);
    const cpl_error* e = failed_run(ctx, s);
    CHECK_INT(e->status, CPL_ERR_MODEL);
    CHECK_STR(e->component, "late");
    CHECK(e->time > 1.3 && e->time <= 1.5);
    CHECK_CONTAINS(e->text, "too late");
    cpl_stepper_destroy(s);
  }
  cpl_source_destroy(apart);
}

static void failed_solutions_have_a_variable(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &limited_def, &source));
  cpl_stepper* s = limited_stepper(ctx, source, "odd", 2.2, true);
  const cpl_error* e = failed_run(ctx, s);
  CHECK_STR(e->component, "odd");
  CHECK_STR(e->variable, "der(x)");
  CHECK(e->time > 2.2 && e->time <= 2.5);
  cpl_stepper_destroy(s);
  cpl_source_destroy(source);
}

static void threads_keep_their_failures(void** state) {
  cpl_context* ctx = *state;
  cpl_source* source = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &limited_def, &source));
  cpl_master_part parts[3] = {{.stepper = limited_stepper(ctx, source, "fine", 100, false)},
                              {.stepper = limited_stepper(ctx, source, "first", 2.1, false)},
                              {.stepper = limited_stepper(ctx, source, "second", 2.1, false)}};
  cpl_master_def def = cpl_default_master_def();
  def.name = "three";
  def.parts = parts;
  def.n_parts = 3;
  def.step = 0.5;
  def.threads = 3;
  cpl_stepper* s = NULL;
  CHECK_OK(ctx, cpl_master(ctx, &def, &s));
  const cpl_error* e = failed_run(ctx, s);
  CHECK_STR(e->component, "first");
  CHECK(e->time > 2.1 && e->time <= 2.5);
  cpl_stepper_destroy(s);
  cpl_source_destroy(source);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(texts_are_whole),
      cmocka_unit_test(names_make_no_lines),
      cmocka_unit_test(short_texts_need_no_memory),
      cmocka_unit_test(without_memory_a_text_is_cut),
      cmocka_unit_test(files_have_locations),
      cmocka_unit_test(unknown_names_have_similar_ones),
      cmocka_unit_test(failed_calls_have_component_and_time),
      cmocka_unit_test(failed_solutions_have_a_variable),
      cmocka_unit_test(threads_keep_their_failures),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
