// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "export/description.h"

#include "testing.h"

static int zero(const cpl_values* v, double* out) {
  (void)v;
  out[0] = out[1] = 0;
  return CPL_MODEL_OK;
}

static const cpl_declaration states[] = {
    {"a \"state\"", .unit = "no such unit", .start = INFINITY, .min = -1, .max = 1e300},
    {"b\x01\xff", .description = "line\nline", .nominal = 1e-3},
    {0}};
static const cpl_declaration outputs[] = {{.name = "y"}, {"n", .type = CPL_INTEGER}, {0}};
static const cpl_declaration parameters[] = {
    {"time", .type = CPL_INTEGER, .size = 2}, {.name = "time_event"}, {0}};
static const cpl_model_def model = {.name = "<&>",
                                    .states = states,
                                    .outputs = outputs,
                                    .parameters = parameters,
                                    .derivatives = zero,
                                    .output_values = zero};

static void write_both(cpl_context* ctx, int fmi, cpli_writer* xml, cpli_writer* page,
                       cpl_status* st) {
  cpl_source* source = NULL;
  *xml = *page = (cpli_writer){.ctx = ctx};
  *st = cpl_c_define(ctx, &model, &source);
  if (*st >= 0) {
    cpli_fmu_facts facts = {.fmi = fmi,
                            .model_exchange = true,
                            .co_simulation = true,
                            .time_events = true,
                            .desc = source->desc,
                            .identifier = "id",
                            .guid = "{1}"};
    *st = cpli_write_description(xml, &facts);
    if (*st >= 0 && fmi == 3) *st = cpli_write_build_description(xml, &facts);
    if (*st >= 0) *st = cpli_write_page(page, &facts);
    source->ops->destroy(source);
  }
}

static void odd_names_and_values_are_written_well(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_writer xml, page;
  cpl_status st;
  write_both(ctx, 2, &xml, &page, &st);
  CHECK_OK(ctx, st);
  CHECK_CONTAINS(xml.text, "modelName=\"&lt;&amp;&gt;\"");
  CHECK_CONTAINS(xml.text, "variableNamingConvention=\"flat\"");
  CHECK_CONTAINS(xml.text, "name=\"a &quot;state&quot;\"");
  CHECK_CONTAINS(xml.text, "min=\"-1\" max=\"1e300\" start=\"INF\"");
  CHECK_CONTAINS(xml.text, "name=\"b\xef\xbf\xbd\xef\xbf\xbd\"");
  CHECK_CONTAINS(xml.text, "description=\"line&#10;line\"");
  CHECK_CONTAINS(xml.text, "<Unit name=\"no such unit\"/>");
  CHECK_CONTAINS(page.text, "<h1>&lt;&amp;&gt;</h1>");
  // initial unknowns stand in the order of variables
  CHECK_CONTAINS(xml.text, "<InitialUnknowns>\n      <Unknown index=\"6\"");
  cpli_writer_free(&xml);
  cpli_writer_free(&page);
  cpl_context_destroy(ctx);
}

static void extra_variables_of_fmi3_get_names_of_their_own(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_writer xml, page;
  cpl_status st;
  write_both(ctx, 3, &xml, &page, &st);
  CHECK_OK(ctx, st);
  CHECK_CONTAINS(xml.text, "fmiVersion=\"3.0\"");
  CHECK_CONTAINS(xml.text, "name=\"a &quot;state&quot;\"");
  CHECK_CONTAINS(xml.text, "min=\"-1\" max=\"1e300\" start=\"INF\"");
  // an array and a scalar have the names already
  CHECK_CONTAINS(xml.text, "<Int32 name=\"time\"");
  CHECK_CONTAINS(xml.text, "<Float64 name=\"time_\"");
  CHECK_CONTAINS(xml.text, "<Dimension start=\"2\"/>");
  CHECK_CONTAINS(xml.text, "<Clock name=\"time_event_\"");
  CHECK_CONTAINS(page.text, "FMI 3.0 for model exchange");
  cpli_writer_free(&xml);
  cpli_writer_free(&page);
  cpl_context_destroy(ctx);
}

static void survive_failed_allocations(int fmi) {
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    if (ctx == NULL) continue;
    cpli_writer xml, page;
    cpl_status st;
    write_both(ctx, fmi, &xml, &page, &st);
    cpli_writer_free(&xml);
    cpli_writer_free(&page);
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

static void every_failed_allocation_is_survived(void** state) {
  (void)state;
  survive_failed_allocations(2);
  survive_failed_allocations(3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(odd_names_and_values_are_written_well),
      cmocka_unit_test(extra_variables_of_fmi3_get_names_of_their_own),
      cmocka_unit_test(every_failed_allocation_is_survived)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
