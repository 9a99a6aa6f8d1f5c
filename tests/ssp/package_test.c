// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "ssp/ssp.h"

#include "archive.h"

#define SSD                                                            \
  "<d:SystemStructureDescription name='n' version='1.0'"               \
  " xmlns:d='http://ssp-standard.org/SSP1/SystemStructureDescription'" \
  " xmlns:c='http://ssp-standard.org/SSP1/SystemStructureCommon'>"

static void opens_a_package(void** state) {
  cpl_context* ctx = *state;
  make_archive("a.ssp",
               (archive_entry[]){{"SystemStructure.ssd", SSD "<d:System name='root'/>"
                                                             "</d:SystemStructureDescription>"},
                                 {NULL}});
  cpli_ssp* ssp = NULL;
  CHECK_OK(ctx, cpli_ssp_open(ctx, "a.ssp", NULL, NULL, &ssp));
  CHECK_STR(ssp->system->name, "root");
  cpli_ssp_close(ssp);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(opens_a_package)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
