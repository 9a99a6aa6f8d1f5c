// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A description in which every member has a value of its own is read back from its image; one with
// an index that is out of range is refused.
#include "model/image.h"

#include "model/same_description.h"

// Members may be changed by tests.
typedef struct made {
  cpl_unit units[2];
  cpl_enum_item items[2];
  cpl_type_def types[2];
  cpl_variable vars[3];
  int32_t sizes[2];
  cpl_array arrays[1];
  int32_t states[1], derivatives[1], algebraics[1], residuals[1], formulation_vars[1];
  cpl_unknown outputs[2], rows[1], initial[1];
  int32_t deps[3];
  uint8_t kinds[3];
  cpl_structure residual_structure;
  cpl_formulation formulations[1];
  cpl_description desc;
} made;

static void make(made* m) {
  *m = (made){
      .units = {{"K", true, {0, 0, 0, 0, 1, -7, 127, -128}, 2, 3, false, -1},
                {"degC", false, {0}, 1.5, -273.15, true, 0}},
      .items = {{"low", "slow", -5}, {"high", "", INT64_MAX}},
      .types = {{"Gear", "G", CPL_ENUMERATION, NULL, 2}, {"Angle", "", CPL_REAL, NULL, 0}},
      .sizes = {1, 2},
      .states = {-1},
      .derivatives = {2},
      .algebraics = {1},
      .residuals = {-1},
      .formulation_vars = {2},
      .outputs = {{0, 0, 2}, {1, 0, -1}},
      .rows = {{2, 2, 1}},
      .initial = {{1, 1, 2}},
      .deps = {2, 0, 1},
      .kinds = {CPL_KIND_DISCRETE, CPL_KIND_DEPENDENT, CPL_KIND_TUNABLE},
      .formulations = {{4, 3}},
  };
  m->types[0].items = m->items;
  m->vars[0] = (cpl_variable){.name = "x[1]",
                              .description = "of",
                              .ref = 4000000000u,
                              .type = CPL_CLOCK,
                              .causality = CPL_CAUSALITY_INDEPENDENT,
                              .variability = CPL_VARIABILITY_CONTINUOUS,
                              .initial = CPL_INITIAL_CALCULATED,
                              .width = CPL_WIDTH_UINT64,
                              .unit = 1,
                              .display_unit = 0,
                              .declared_type = 0,
                              .derivative_of = 2,
                              .alias_of = -1,
                              .array = 1,
                              .line = 17,
                              .start = -0.0,
                              .min = -INFINITY,
                              .max = 1e300,
                              .nominal = NAN,
                              .start_text = "00ff",
                              .quantity = "Q"};
  m->vars[1] = m->vars[2] = m->vars[0];
  m->vars[1].name = "x[2]";
  m->vars[1].alias_of = 0;
  m->vars[1].start_text = m->vars[1].quantity = NULL;
  m->vars[2].name = "z";
  m->vars[2].declared_type = m->vars[2].unit = m->vars[2].display_unit = -1;
  m->arrays[0] = (cpl_array){"x", 0, 2, m->sizes, 2};
  const cpl_structure structure = {m->outputs, m->rows,  m->initial,         2, 1, 1,
                                   m->deps,    m->kinds, CPL_ORIGIN_DETECTED};
  m->residual_structure = structure;
  m->residual_structure.kinds = NULL;
  m->residual_structure.origin = CPL_ORIGIN_DECLARED;
  m->desc = (cpl_description){.name = "n",
                              .kind = "k",
                              .description = "d",
                              .author = "a",
                              .version = "v",
                              .copyright = "c",
                              .license = "l",
                              .tool = "t",
                              .date = "2026",
                              .experiment = {true, true, true, true, 1, 2, 3, 4},
                              .vars = m->vars,
                              .n_vars = 3,
                              .arrays = m->arrays,
                              .n_arrays = 1,
                              .states = m->states,
                              .derivatives = m->derivatives,
                              .n_states = 1,
                              .n_indicators = 5,
                              .n_constraints = 6,
                              .algebraics = m->algebraics,
                              .residuals = m->residuals,
                              .n_algebraics = 1,
                              .residual_structure = &m->residual_structure,
                              .formulations = m->formulations,
                              .formulation_vars = m->formulation_vars,
                              .n_formulations = 1,
                              .form_error = "none",
                              .structure = structure,
                              .units = m->units,
                              .n_units = 2,
                              .types = m->types,
                              .n_types = 2};
}

static cpl_status read_back(cpl_context* ctx, const made* m, bool compare) {
  cpli_image image;
  cpli_arena arena;
  cpli_names names;
  cpl_description out, found = m->desc;
  cpli_arena_init(&arena, ctx);
  CHECK_OK(ctx, cpli_description_write_image(ctx, &m->desc, &image));
  cpl_status st = cpli_description_read_image(ctx, image.bytes, image.size, &arena, &names, &out);
  if (compare) {
    CHECK_OK(ctx, st);
    found.names = &names;
    same_description(&found, &out);
    CHECK_INT(cpl_find_variable(&out, "z"), 2);
  }
  cpli_free(ctx, image.bytes);
  cpli_names_free(&names);
  cpli_arena_free(&arena);
  return st;
}

// Each flag of a variable alone.
static void test_flags(void** state) {
  made m;
  make(&m);
  bool* flags[] = {&m.vars[0].structural,        &m.vars[0].has_start,
                   &m.vars[0].has_nominal,       &m.vars[0].can_set_several_times,
                   &m.vars[0].inner_output,      &m.vars[0].reinit,
                   &m.vars[0].relative_quantity, &m.vars[0].unbounded,
                   &m.vars[0].mode_dependent};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) {
    *flags[i] = true;
    read_back(*state, &m, true);
    *flags[i] = false;
  }
}

static void test_every_member(void** state) {
  made m;
  make(&m);
  read_back(*state, &m, true);
  m.desc.formulation_vars = NULL;
  m.desc.residual_structure = NULL;
  m.desc.form_error = NULL;
  read_back(*state, &m, true);
}

static void test_capabilities(void** state) {
  cpl_context* ctx = *state;
  cpl_capabilities can = {.input_derivatives = 3, .output_derivatives = 4};
  bool* flags[] = {&can.directional, &can.save_restore,   &can.serialize,     &can.once_per_process,
                   &can.needs_tool,  &can.completed_step, &can.variable_step, &can.zero_step,
                   &can.stops_early, &can.predicts,       &can.get_after_set, &can.dense_output,
                   &can.samples};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) {
    cpli_image image;
    cpli_arena arena;
    cpl_capabilities out = {0};
    cpli_arena_init(&arena, ctx);
    *flags[i] = true;
    CHECK_OK(ctx, cpli_image_write(ctx, &cpli_capabilities_image, &can, &image));
    CHECK_OK(ctx,
             cpli_image_read(ctx, &arena, &cpli_capabilities_image, image.bytes, image.size, &out));
    CHECK(memcmp(&can, &out, sizeof can) == 0);
    *flags[i] = false;
    cpli_free(ctx, image.bytes);
    cpli_arena_free(&arena);
  }
}

// The number is what `what` says, and the description is refused with it.
static void refused(cpl_context* ctx, made* m, int32_t* index, int32_t value, const char* what) {
  const int32_t before = *index;
  *index = value;
  CHECK_INT(read_back(ctx, m, false), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), what);
  *index = before;
}

static void test_impossible_indices(void** state) {
  cpl_context* ctx = *state;
  made m;
  make(&m);
  refused(ctx, &m, &m.vars[0].unit, 2, "a unit");
  refused(ctx, &m, &m.vars[0].display_unit, -2, "a unit");
  refused(ctx, &m, &m.units[0].display_of, 2, "a unit");
  refused(ctx, &m, &m.vars[0].declared_type, 2, "a type");
  refused(ctx, &m, &m.vars[0].derivative_of, 3, "a derivative");
  refused(ctx, &m, &m.vars[1].alias_of, 3, "an alias");
  refused(ctx, &m, &m.vars[0].alias_of, 1, "an alias");  // of an alias
  refused(ctx, &m, &m.vars[0].alias_of, 0, "an alias");  // of itself
  refused(ctx, &m, &m.vars[0].array, 2, "an array");
  refused(ctx, &m, &m.arrays[0].first, 2, "an array");
  refused(ctx, &m, &m.arrays[0].count, INT32_MAX, "an array");
  refused(ctx, &m, &m.states[0], 3, "a state");
  refused(ctx, &m, &m.derivatives[0], -2, "a state");
  refused(ctx, &m, &m.algebraics[0], 3, "an algebraic variable");
  refused(ctx, &m, &m.residuals[0], 3, "an algebraic variable");
  refused(ctx, &m, &m.outputs[1].var, 3, "a dependency");
  refused(ctx, &m, &m.outputs[1].count, -2, "a dependency");
  refused(ctx, &m, &m.deps[1], 3, "a dependency");
  refused(ctx, &m, &m.deps[1], -1, "a dependency");
  refused(ctx, &m, &m.desc.n_indicators, -1, "a number");
  refused(ctx, &m, &m.desc.n_constraints, -1, "a number");
  m.kinds[0] = CPL_KIND_DISCRETE + 1;
  CHECK_INT(read_back(ctx, &m, false), CPL_ERR_INPUT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_member),
      cmocka_unit_test(test_flags),
      cmocka_unit_test(test_capabilities),
      cmocka_unit_test(test_impossible_indices),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
