// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Connections made by a program are those of a file, with what they convert.
#include "system/definitions.h"

static void calls_say_what_files_say(void** state) {
  cpl_context* ctx = *state;
  cpl_system_def *file = NULL, *made = NULL;
  CHECK_OK(ctx, read_as(ctx, "c.yaml",
                        "couplet: 1\nmodels: {a: {c: a.c}, b: {c: b.c}}\nconnections:\n"
                        "  a.u: b.y\n  a.n: {from: b.y, convert: true}\n"
                        "  b.v: {from: 2*a.x, convert-units: false}\n",
                        &file));
  CHECK_OK(ctx, cpl_system_def_create(ctx, &made));
  cpl_connection_def c = cpl_default_connection_def();
  c.target = "a.n", c.source = "b.y", c.convert = true;
  CHECK_OK(ctx, cpl_system_def_connect(made, "a.u", "b.y"));
  CHECK_OK(ctx, cpl_system_def_add_connection(made, &c));
  c = (cpl_connection_def){
      .size = sizeof(cpl_connection_def), .target = "b.v", .source = "2*a.x", .keep_units = true};
  CHECK_OK(ctx, cpl_system_def_add_connection(made, &c));
  CHECK_INT(made->n_connections, file->n_connections);
  for (size_t i = 0; i < file->n_connections; i++) {
    const cpli_connection *x = &file->connections[i], *y = &made->connections[i];
    assert_string_equal(x->target.text, y->target.text);
    assert_string_equal(x->source.text, y->source.text);
    CHECK(x->convert == y->convert && x->keep_units == y->keep_units);
    CHECK(x->convert == (i == 1) && x->keep_units == (i == 2));
  }
  cpl_system_def_destroy(file);
  cpl_system_def_destroy(made);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(calls_say_what_files_say)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
