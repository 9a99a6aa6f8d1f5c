// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The page of an exported FMU: start values of Enumerations are shown by the names of their items.
#include "export/description.h"
#include "testing.h"

static void items_are_found_by_value(void** state) {
  (void)state;
  static const cpl_enum_item items[] = {
      {.name = "low", .value = -4}, {.name = "middle", .value = 2}, {.name = "high", .value = 9}};
  static const cpl_type_def types[] = {
      {.name = "level", .quantity = "", .type = CPL_ENUMERATION, .items = items, .n_items = 3}};
  const double starts[] = {9, 2, -4, 3};
  static const char* const shown[] = {"<td>high</td>", "<td>middle</td>", "<td>low</td>",
                                      "<td>3</td>"};
  for (size_t i = 0; i < CPLI_COUNT(starts); i++) {
    cpl_variable v = {.name = "gear",
                      .description = "",
                      .type = CPL_ENUMERATION,
                      .causality = CPL_CAUSALITY_PARAMETER,
                      .unit = -1,
                      .declared_type = 0,
                      .has_start = true,
                      .start = starts[i]};
    cpl_description d = {
        .name = "box", .description = "", .vars = &v, .n_vars = 1, .types = types, .n_types = 1};
    cpl_context* ctx = test_context();
    cpli_writer page = {.ctx = ctx};
    cpli_fmu_facts facts = {.fmi = 2, .desc = &d, .identifier = "box", .guid = "{2}"};
    CHECK_OK(ctx, cpli_write_page(&page, &facts));
    CHECK_CONTAINS(page.text, shown[i]);
    cpli_writer_free(&page);
    cpl_context_destroy(ctx);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(items_are_found_by_value)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
