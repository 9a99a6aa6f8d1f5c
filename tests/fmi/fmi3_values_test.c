// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "fmi/probes.h"

// The ends of each type go in and come out as they are.
static void every_type(void** state) {
  (void)state;
  static const struct {
    const char* name;
    int64_t low, high;
  } types[] = {{"i8", INT8_MIN, INT8_MAX},
               {"u8", 0, UINT8_MAX},
               {"i16", INT16_MIN, INT16_MAX},
               {"u16", 0, UINT16_MAX},
               {"i32", INT32_MIN, INT32_MAX},
               {"u32", 0, UINT32_MAX},
               {"i64", INT64_MIN, INT64_MAX},
               {"u64", 0, -1},
               {"b", 0, 1},
               {"e", 1, 2}};
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  CHECK_OK(o.ctx, initialize(c));
  for (size_t i = 0; i < CPLI_COUNT(types); i++) {
    char in[16], out[16];
    snprintf(in, sizeof in, "%s_in", types[i].name);
    snprintf(out, sizeof out, "%s_out", types[i].name);
    CHECK_OK(o.ctx, try_integer(&o, c, in, types[i].low));
    CHECK_INT(integer_in(&o, c, out), types[i].low);
    CHECK_OK(o.ctx, try_integer(&o, c, in, types[i].high));
    CHECK_INT(integer_in(&o, c, out), types[i].high);
  }
  put_real(&o, c, "f32_in", 0.1);
  CHECK_NEAR(real_in(&o, c, "f32_out"), (double)0.1f, 0);
  c->ops->destroy(c);
  close_probe(&o);
}

static void out_of_range(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  CHECK_INT(try_integer(&o, &m->base, "i8_in", 128), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(o.ctx), "left: i8_in cannot be set to 128: it is of type Int8");
  CHECK_INT(try_integer(&o, &m->base, "u16_in", -1), CPL_ERR_INPUT);
  CHECK_INT(try_integer(&o, &m->base, "u32_in", INT64_C(1) << 32), CPL_ERR_INPUT);
  m->base.ops->destroy(&m->base);
  close_probe(&o);
}

static void strings_and_binaries(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  const char* text = NULL;
  cpl_binary bytes = {(const uint8_t*)"\0\1\2", 3}, got = {0};
  uint32_t in = ref_of(&o, "bin_in"), out = ref_of(&o, "bin_out"), s_out = ref_of(&o, "s_out");
  CHECK_OK(o.ctx,
           c->ops->set_string(c, (uint32_t[]){ref_of(&o, "s_in")}, 1, (const char*[]){"hello"}));
  CHECK_OK(o.ctx, c->ops->set_binary(c, &in, 1, &bytes));
  CHECK_OK(o.ctx, initialize(c));
  CHECK_OK(o.ctx, c->ops->get_string(c, &s_out, 1, &text));
  CHECK_STR(text, "hello");
  CHECK_OK(o.ctx, c->ops->get_binary(c, &out, 1, &got));
  CHECK_INT(got.size, 3);
  CHECK(memcmp(got.data, "\0\1\2", 3) == 0);
  c->ops->destroy(c);
  close_probe(&o);
}

// One element of an array of texts: the other stays what it was.
static void part_of_a_string_array(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  uint32_t refs[] = {ref_of(&o, "names[1]"), ref_of(&o, "names[2]")};
  const char* got[2];
  CHECK_OK(o.ctx, c->ops->set_string(c, &refs[1], 1, (const char*[]){"second"}));
  CHECK_OK(o.ctx, c->ops->get_string(c, refs, 2, got));
  CHECK_STR(got[0], "a");
  CHECK_STR(got[1], "second");
  c->ops->destroy(c);
  close_probe(&o);
}

static void arrays(void** state) {
  (void)state;
  opened o;
  open_probe(&o, "3");
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  CHECK_OK(o.ctx, initialize(c));
  put_real(&o, c, "u[2]", 3);  // u[1] keeps its start value
  CHECK_NEAR(real_in(&o, c, "y[2]"), 0 + 2 * 3, 0);
  CHECK_NEAR(real_in(&o, c, "y[1]"), 1, 0);
  put_real(&o, c, "u[1]", 5);
  CHECK_NEAR(real_in(&o, c, "u[2]"), 3, 0);
  CHECK_NEAR(real_in(&o, c, "y[1]"), 11, 0);

  // neighbours are one call with one reference, in whatever order
  uint32_t all[] = {ref_of(&o, "y[2]"), ref_of(&o, "y[1]"), ref_of(&o, "k"), ref_of(&o, "x[1]"),
                    ref_of(&o, "x[2]")};
  double values[5];
  int before = calls_of("fmi3GetFloat64");
  CHECK_OK(o.ctx, c->ops->get_real(c, all, 5, values));
  CHECK_INT(calls_of("fmi3GetFloat64"), before + 1);
  CHECK_INT(calls_of("fmi3GetFloat64([5, 3, 1]) -> fmi3OK [11, 6, 4, 1, 0]"), 1);
  double expected[] = {6, 11, 4, 1, 0};
  for (int i = 0; i < 5; i++) CHECK_NEAR(values[i], expected[i], 0);
  CHECK_OK(o.ctx, c->ops->set_real(c, (uint32_t[]){ref_of(&o, "u[1]"), ref_of(&o, "u[2]")}, 2,
                                   (double[]){7, 8}));
  CHECK_INT(calls_of("fmi3SetFloat64([4], [7, 8])"), 1);

  // restoring brings back what was set, also for the next element
  cpl_snapshot snapshot = {NULL};
  CHECK_OK(o.ctx, c->ops->save(c, &snapshot));
  put_real(&o, c, "u[1]", -1);
  CHECK_OK(o.ctx, c->ops->restore(c, &snapshot));
  put_real(&o, c, "u[2]", 9);
  CHECK_NEAR(real_in(&o, c, "u[1]"), 7, 0);
  c->ops->forget(c, &snapshot);
  c->ops->destroy(c);
  close_probe(&o);
}

// d y / d (x, u), d der(x) / d (x, u), by seeds and by the adjoint, against the formulas.
static void derivatives(void** state) {
  (void)state;
  for (int adjoint = 0; adjoint < 2; adjoint++) {
    opened o;
    open_probe(&o, "3");
    cpl_fmu* fmu = (cpl_fmu*)o.source;
    if (adjoint) fmu->me.can.directional = false;
    CHECK(fmu->me.adjoint);
    cpl_model* m = model_in(&o);
    cpl_component* c = &m->base;
    CHECK_OK(o.ctx, initialize(c));
    uint32_t rows[] = {ref_of(&o, "der(x)[2]"), ref_of(&o, "y[2]"), ref_of(&o, "der(x)[1]")};
    uint32_t columns[] = {ref_of(&o, "x[1]"), ref_of(&o, "u[2]"), ref_of(&o, "x[2]")};
    double seed[] = {1, 10, 100}, out[3];
    CHECK_OK(o.ctx, c->ops->directional(c, rows, 3, columns, 3, seed, out));
    CHECK_NEAR(out[0], -4 * 1 + 10, 1e-15);
    CHECK_NEAR(out[1], 100 + 2 * 10, 1e-15);
    CHECK_NEAR(out[2], 100, 1e-15);
    CHECK_INT(calls_of("fmi3GetAdjointDerivative") > 0, adjoint);
    CHECK_INT(calls_of("fmi3GetDirectionalDerivative") > 0, !adjoint);
    c->ops->destroy(c);
    close_probe(&o);
  }
}

// A structural parameter is set in configuration mode; the description is made for its value.
static void structural_parameter(void** state) {
  (void)state;
  opened o;
  cpl_start start = {"m", "3"};
  open_probe_with(&o, "3", &start, 1);
  CHECK(cpl_find_variable(o.source->desc, "w[3]") >= 0);
  cpl_model* m = model_in(&o);
  cpl_component* c = &m->base;
  for (int i = 1; i <= 3; i++) {
    char name[16];
    snprintf(name, sizeof name, "w[%d]", i);
    put_real(&o, c, name, 10 * i);
  }
  CHECK_OK(o.ctx, initialize(c));
  CHECK_NEAR(real_in(&o, c, "w_sum"), 60, 0);
  CHECK_INT(calls_of("fmi3EnterConfigurationMode"), 1);
  CHECK_INT(calls_of("fmi3ExitConfigurationMode"), 1);
  CHECK_OK(o.ctx, c->ops->reset(c));  // and once more
  CHECK_INT(calls_of("fmi3SetUInt64([40], [3])"), 2);
  c->ops->destroy(c);
  close_probe(&o);
}

static void other_number_of_states(void** state) {
  (void)state;
  opened o;
  cpl_start start = {"m", "7"};
  open_probe_with(&o, "3", &start, 1);
  cpl_model* m = NULL;
  CHECK_INT(o.source->ops->make_model(o.source, "left", &m), CPL_ERR_MODEL);
  CHECK_CONTAINS(cpl_context_error(o.ctx), "there are 3 states");
  close_probe(&o);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_type),
      cmocka_unit_test(out_of_range),
      cmocka_unit_test(strings_and_binaries),
      cmocka_unit_test(part_of_a_string_array),
      cmocka_unit_test(arrays),
      cmocka_unit_test(derivatives),
      cmocka_unit_test(structural_parameter),
      cmocka_unit_test(other_number_of_states),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
