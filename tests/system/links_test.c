// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which types of FMI 3.0 may be connected; tests/system/resolve_test.c has the rest.
#include "fmi/probes.h"

// Build a system of two probes with one connection.
static cpl_status connect(opened* o, const char* target, const char* source) {
  cpl_system_def* def = NULL;
  cpl_source* system = NULL;
  cpl_member_def member = cpl_default_member_def();
  CHECK_OK(o->ctx, cpl_system_def_create(o->ctx, &def));
  member.source = o->source;
  member.name = "a";
  CHECK_OK(o->ctx, cpl_system_def_add_model(def, &member));
  member.name = "b";
  CHECK_OK(o->ctx, cpl_system_def_add_model(def, &member));
  CHECK_OK(o->ctx, cpl_system_def_connect(def, target, source));
  cpl_status st = cpl_system_build(o->ctx, def, &system);
  if (system != NULL) system->ops->destroy(system);
  cpl_system_def_destroy(def);
  return st;
}

static void without_loss(void** state) {
  (void)state;
  static const char* const fine[][2] = {
      {"i32", "i8"}, {"i32", "u16"}, {"i64", "u32"}, {"u64", "u8"}, {"f32", "i16"},
      {"f32", "u8"}, {"s", "s"},     {"bin", "bin"}, {"e", "e"},    {"b", "b"},
  };
  static const char* const lossy[][2] = {{"i8", "i32"},  {"u8", "i8"},   {"i64", "u64"},
                                         {"f32", "i32"}, {"i32", "f32"}, {"b", "i8"},
                                         {"s", "i8"},    {"e", "i64"},   {"bin", "s"}};
  opened o;
  open_probe(&o, "3");
  for (size_t i = 0; i < CPLI_COUNT(fine) + CPLI_COUNT(lossy); i++) {
    bool good = i < CPLI_COUNT(fine);
    const char* const* pair = good ? fine[i] : lossy[i - CPLI_COUNT(fine)];
    char target[16], source[16];
    snprintf(target, sizeof target, "b.%s_in", pair[0]);
    snprintf(source, sizeof source, "a.%s_out", pair[1]);
    cpl_status st = connect(&o, target, source);
    if (st != (good ? CPL_OK : CPL_ERR_INPUT)) fail_msg("%s: %s gives %d", target, source, st);
  }
  CHECK_INT(connect(&o, "b.i8_in", "a.i32_out"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "the conversion can lose values: b.i8_in (Int8 input");
  CHECK_CONTAINS(cpl_context_error(o.ctx), " and a.i32_out (Int32 output");
  close_probe(&o);
}

static void arrays(void** state) {
  (void)state;
  opened o;
  cpl_start start = {"m", "3"};
  open_probe_with(&o, "3", &start, 1);
  CHECK_OK(o.ctx, connect(&o, "b.u", "a.y"));
  CHECK_OK(o.ctx, connect(&o, "b.u[2]", "a.w_sum"));
  CHECK_INT(connect(&o, "b.u", "a.w"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(o.ctx),
                 "the sizes of the arrays differ: b.u has 2 and a.w has 3");
  CHECK_INT(connect(&o, "b.y", "a.y"), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(o.ctx),
                 "only inputs and parameters can be connected to something");
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(without_loss),
      cmocka_unit_test(arrays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
