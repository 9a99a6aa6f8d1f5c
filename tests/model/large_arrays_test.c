// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Models with large arrays: memory grows with their number of elements, too large ones are refused,
// and opening them can be interrupted.
#include <limits.h>

#include "couplet/csource.h"
#include "testing.h"

enum { STATES = 40000, MEMORY = 256 * 1024 * 1024 };

static int decay(const cpl_values* v, double* dx) {
  for (int i = 0; i < STATES; i++) dx[i] = -v->x[i];
  return CPL_MODEL_OK;
}

static int first_of_all(const cpl_values* v, double* y) {
  for (int i = 0; i < STATES; i++) y[i] = v->x[0];
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {{"x", .size = STATES, .start = 1, .unit = "m"}, {0}};
static const cpl_declaration outputs[] = {{"y", .size = STATES}, {0}};

// Counts what is allocated, and refuses more than MEMORY.
typedef struct budget {
  size_t used;
} budget;

static void* limited_realloc(void* user, void* ptr, size_t size) {
  budget* b = user;
  size_t* block = ptr != NULL ? (size_t*)ptr - 2 : NULL;
  const size_t before = block != NULL ? *block : 0;
  if (size > 0 && b->used - before + size > MEMORY) return NULL;
  b->used = b->used - before + size;
  if (size == 0) {
    free(block);
    return NULL;
  }
  block = realloc(block, size + 2 * sizeof *block);
  if (block == NULL) return NULL;
  *block = size;
  return block + 2;
}

static cpl_context* limited_context(budget* b) {
  cpl_context_def def = cpl_default_context_def();
  def.realloc = limited_realloc;
  def.user = b;
  cpl_context* ctx = cpl_context_create(&def);
  assert_non_null(ctx);
  return ctx;
}

static void memory_is_linear(void** state) {
  (void)state;
  const cpl_model_def def = {.name = "large",
                             .states = states,
                             .outputs = outputs,
                             .derivatives = decay,
                             .output_values = first_of_all};
  budget b = {0};
  cpl_context* ctx = limited_context(&b);
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &def, &src));
  CHECK_INT(src->desc->n_states, STATES);
  CHECK_INT(src->desc->structure.derivatives[7].count, -1);  // on everything
  CHECK_INT(src->desc->n_arrays, 2);
  int32_t last = cpl_find_variable(src->desc, "der(x[40000])");
  CHECK(last >= 0);
  CHECK_STR(src->desc->units[src->desc->vars[last].unit].name, "m/s");
  cpl_source_destroy(src);
  cpl_context_destroy(ctx);
  CHECK_INT(b.used, 0);
}

// Rows without a declaration depend on everything, and take no memory.
static void declared_rows_only(void** state) {
  (void)state;
  static const cpl_dependency dependencies[] = {
      {"y[3]", "x[1] x[40000]", NULL}, {"der(x[40000])", "x[40000]", "constant"}, {0}};
  const cpl_model_def def = {.name = "declared",
                             .states = states,
                             .outputs = outputs,
                             .derivatives = decay,
                             .output_values = first_of_all,
                             .dependencies = dependencies};
  budget b = {0};
  cpl_context* ctx = limited_context(&b);
  cpl_source* src = NULL;
  CHECK_OK(ctx, cpl_c_define(ctx, &def, &src));
  const cpl_structure* s = &src->desc->structure;
  const cpl_unknown* y = &s->outputs[2];
  CHECK_INT(y->count, 2);
  CHECK_INT(s->deps[y->first], cpl_find_variable(src->desc, "x[1]"));
  CHECK_INT(s->deps[y->first + 1], cpl_find_variable(src->desc, "x[40000]"));
  CHECK_INT(s->outputs[1].count, -1);
  CHECK_INT(s->derivatives[STATES - 1].count, 1);
  CHECK_INT(s->kinds[s->derivatives[STATES - 1].first], CPL_KIND_CONSTANT);
  cpl_source_destroy(src);
  cpl_context_destroy(ctx);
}

static void too_large_is_refused(void** state) {
  (void)state;
  const cpl_declaration inputs[] = {
      {"a", .size = INT_MAX}, {"b", .size = INT_MAX}, {"c", .size = 3}, {0}};
  const cpl_declaration parameters[] = {{"p", .size = CPL_MAX_MODEL_VALUES}, {"q"}, {0}};
  const cpl_model_def wide = {.name = "wide", .inputs = inputs};
  const cpl_model_def table = {.name = "table", .parameters = parameters};
  cpl_context* ctx = test_context();
  cpl_source* src = NULL;
  CHECK_INT(cpl_c_define(ctx, &wide, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "model wide: 4294967297 variables");
  CHECK_CONTAINS(cpl_context_error(ctx), "(2147483647 of them in a) are too many");
  CHECK_INT(cpl_c_define(ctx, &table, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "model table: 5000001 variables");
  CHECK_CONTAINS(cpl_context_error(ctx), "at most 5000000 are supported");
  CHECK(src == NULL);
  cpl_context_destroy(ctx);
}

static void can_be_interrupted(void** state) {
  (void)state;
  const cpl_declaration parameters[] = {{"p", .size = 1000000}, {0}};
  const cpl_model_def def = {.name = "table", .parameters = parameters};
  cpl_context* ctx = test_context();
  cpl_source* src = NULL;
  cpl_context_cancel(ctx);
  CHECK_INT(cpl_c_define(ctx, &def, &src), CPL_ERR_CANCELLED);
  CHECK(src == NULL);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_linear),
      cmocka_unit_test(declared_rows_only),
      cmocka_unit_test(too_large_is_refused),
      cmocka_unit_test(can_be_interrupted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
