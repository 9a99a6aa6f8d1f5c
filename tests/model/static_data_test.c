// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Variables that all instances of a model in C share are found: its instances are called in one
// thread, and a warning says so. Constants, and variables of single threads, are not shared.
#include "model/static_data.h"

#include "base/base.h"
#include "model/compiled.h"
#include "testing.h"

static void write_model(const char* path, const char* before, const char* body) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fprintf(f,
          "#include <couplet/model.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1}, {0}};\n%s\n"
          "static int f(const cpl_values* v, double* dx) {\n%s\n  return 0;\n}\n"
          "const cpl_model_def couplet_model = {.name = \"m\", .states = x, .derivatives = f};\n",
          before, body);
  fclose(f);
}

static const struct {
  const char *before, *body, *name;  // "": nothing is shared
} cases[] = {
    {"static double work[9];",
     "for (int i = 0; i < 9; i++) work[i] = v->x[0] * i;\n"
     "dx[0] = 0;\nfor (int i = 0; i < 9; i++) dx[0] += work[i];",
     "work"},
    {"", "static int calls = 3;\ndx[0] = ++calls * v->x[0];", "calls"},
    {"double* scratch;", "dx[0] = scratch != 0 ? scratch[0] : v->x[0];", "scratch"},
    {"static const double table[] = {1, 2, 3};\n"
     "static const char* const texts[] = {\"one\", \"two\"};\n"
     "static double (*const functions[])(double) = {__builtin_sin, __builtin_cos};",
     "const int i = v->x[0] > 0;\ndx[0] = table[i] * functions[texts[i][0] & 1](v->x[0]);", ""},
    {"static _Thread_local double mine[3];", "mine[1] = v->x[0];\ndx[0] = mine[v->t > 1];", ""},
};

static int warnings;
static char latest[2000];

static void note_warning(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  if (level != CPL_LOG_WARNING) return;
  warnings++;
  snprintf(latest, sizeof latest, "%s: %s", who, text);
}

static void one_thread_calls_instances_that_share_data(void** state) {
  (void)state;
  cpl_context_def def = cpl_default_context_def();
  def.log = note_warning;
  cpl_context* ctx = cpl_context_create(&def);
  assert_non_null(ctx);
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    const bool shared = cases[i].name[0] != '\0';
    cpl_source* source = NULL;
    cpl_model *a = NULL, *b = NULL, *c = NULL;
    warnings = 0;
    write_model("m.c", cases[i].before, cases[i].body);
    CHECK_OK(ctx, cpl_c_open(ctx, "m.c", &source));
    CHECK_OK(ctx, cpl_source_make_model(source, "a", &a));
    CHECK_INT(warnings, 0);
    CHECK_OK(ctx, cpl_source_make_model(source, "b", &b));
    CHECK_OK(ctx, cpl_source_make_model(source, "c", &c));
    CHECK_INT(warnings, shared);
    if (shared) CHECK_CONTAINS(latest, cases[i].name);
    if (shared) CHECK_CONTAINS(latest, "a, b and other instances of this file share it");
    CHECK_INT(a->base.can.own_thread, shared);
    CHECK_INT(c->base.can.own_thread, shared);
    a->base.ops->destroy(&a->base);
    b->base.ops->destroy(&b->base);
    c->base.ops->destroy(&c->base);
    source->ops->destroy(source);
  }
  cpl_context_destroy(ctx);
}

// Objects that end early, or say that they are elsewhere.
static void damaged_objects_have_none(void** state) {
  static unsigned char bytes[200000];
  char name[80], *path = NULL;
  write_model("m.c", cases[0].before, cases[0].body);
  CHECK_OK(*state, cpli_compiled(*state, "m.c", &path));
  assert_true(cpli_static_data(path, name, sizeof name));
  CHECK_STR(name, "work");
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  const size_t n = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  assert_true(n > 1000 && n < sizeof bytes);
  for (size_t k = 0; k < 400; k++) {
    const size_t at = k < 64 ? k : k * 7919 % n;  // the head, and anywhere
    const unsigned char before = bytes[at];
    bytes[at] = (unsigned char)~before;
    f = fopen("damaged.so", "wb");
    fwrite(bytes, 1, k % 5 == 0 ? k * n / 400 : n, f);
    fclose(f);
    cpli_static_data("damaged.so", name, sizeof name);  // does not crash
    bytes[at] = before;
  }
  assert_false(cpli_static_data("m.c", name, sizeof name));
  assert_false(cpli_static_data("missing", name, sizeof name));
  cpli_free(*state, path);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(one_thread_calls_instances_that_share_data),
      cmocka_unit_test(damaged_objects_have_none),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
