// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Descriptions of FMI 1.0 and 3.0 that use every element; they are also the seeds of the fuzz
// targets, which is why a byte stands before them.
#include "archive.h"
#include "fmi/fmu.h"

typedef struct fixture {
  cpl_fmu fmu;
  char* bytes;
} fixture;

static cpl_status parse_file(cpl_context* ctx, fixture* f, const char* name,
                             const cpl_start* starts, size_t n) {
  size_t size;
  f->bytes = read_bytes(test_path(name), &size);
  f->fmu = (cpl_fmu){.given = starts, .n_given = n};
  cpli_arena_init(&f->fmu.arena, ctx);
  cpli_findings_init(&f->fmu.findings, ctx);
  return cpli_fmu_parse(&f->fmu, name, f->bytes + 1, size - 1);
}

static void release(fixture* f) {
  cpli_findings_free(&f->fmu.findings);
  cpli_names_free(&f->fmu.names);
  cpli_arena_free(&f->fmu.arena);
  free(f->bytes);
}

static const char fmi1[] = "tests/fuzz/corpus/xml/fmi1.xml";
static const char fmi3[] = "tests/fuzz/corpus/xml/fmi3.xml";

static const cpl_variable* var(const fixture* f, const char* name) {
  int32_t i = cpl_find_variable(&f->fmu.desc, name);
  if (i < 0) fail_msg("there is no %s", name);
  return &f->fmu.desc.vars[i];
}

static void no_findings(const fixture* f) {
  if (f->fmu.findings.count > 0) fail_msg("%s", f->fmu.findings.items[0].text);
}

//------------------------------------ FMI 1.0 ------------------------------------

static void kinds_of_values_1(const fixture* f) {
  static const struct {
    const char* name;
    int causality, variability, initial;
  } wanted[] = {
      {"phi", CPL_CAUSALITY_OUTPUT, CPL_VARIABILITY_CONTINUOUS, CPL_INITIAL_EXACT},
      {"minus_phi", CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS, CPL_INITIAL_CALCULATED},
      {"u", CPL_CAUSALITY_INPUT, CPL_VARIABILITY_CONTINUOUS, CPL_INITIAL_NONE},
      {"v", CPL_CAUSALITY_INPUT, CPL_VARIABILITY_DISCRETE, CPL_INITIAL_NONE},
      {"p", CPL_CAUSALITY_PARAMETER, CPL_VARIABILITY_FIXED, CPL_INITIAL_EXACT},
      {"q", CPL_CAUSALITY_CALCULATED_PARAMETER, CPL_VARIABILITY_FIXED, CPL_INITIAL_CALCULATED},
      {"c", CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONSTANT, CPL_INITIAL_EXACT},
      {"guess", CPL_CAUSALITY_LOCAL, CPL_VARIABILITY_CONTINUOUS, CPL_INITIAL_APPROX},
      {"on", CPL_CAUSALITY_OUTPUT, CPL_VARIABILITY_DISCRETE, CPL_INITIAL_CALCULATED},
  };
  for (size_t i = 0; i < CPLI_COUNT(wanted); i++) {
    const cpl_variable* v = var(f, wanted[i].name);
    CHECK_INT(v->causality, wanted[i].causality);
    CHECK_INT(v->variability, wanted[i].variability);
    CHECK_INT(v->initial, wanted[i].initial);
  }
}

static void slots_1(const fixture* f) {
  const cpl_variable *phi = var(f, "phi"), *minus = var(f, "minus_phi");
  CHECK_INT(var(f, "also_phi")->ref, phi->ref);
  CHECK_INT(cpl_find_variable(&f->fmu.desc, "phi"), var(f, "also_phi")->alias_of);
  CHECK(minus->ref != phi->ref);
  CHECK_INT(f->fmu.slots[phi->ref].value_ref, 1);
  CHECK_INT(f->fmu.slots[minus->ref].value_ref, 1);
  CHECK(!f->fmu.slots[phi->ref].negated);
  CHECK(f->fmu.slots[minus->ref].negated);
  CHECK_INT(minus->alias_of, -1);
  // one space per basic type in the file, one for all in the description
  CHECK_INT(f->fmu.slots[var(f, "on")->ref].value_ref, 1);
  CHECK(var(f, "on")->ref != phi->ref);
}

static void structure_1(const fixture* f) {
  const cpl_description* d = &f->fmu.desc;
  CHECK_INT(d->n_states, 2);
  CHECK_INT(d->states[1], -1);
  CHECK_INT(d->derivatives[0], -1);
  CHECK_INT(d->n_indicators, 1);
  CHECK_INT(d->structure.n_outputs, 3);
  const cpl_unknown* rows = d->structure.outputs;
  CHECK_STR(d->vars[rows[0].var].name, "phi");
  CHECK_INT(rows[0].count, 2);
  CHECK_STR(d->vars[d->structure.deps[rows[0].first]].name, "u");
  CHECK_STR(d->vars[d->structure.deps[rows[0].first + 1]].name, "v");
  CHECK_STR(d->vars[rows[1].var].name, "on");
  CHECK_INT(rows[1].count, 0);
  CHECK_STR(d->vars[rows[2].var].name, "out");
  CHECK_INT(rows[2].count, -1);
}

static void reads_fmi_1(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fixture f;
  CHECK_OK(ctx, parse_file(ctx, &f, fmi1, NULL, 0));
  no_findings(&f);
  CHECK_INT(f.fmu.version, 1);
  CHECK_STR(f.fmu.desc.kind, "FMI 1.0");
  CHECK(f.fmu.cs.present && !f.fmu.me.present && !f.fmu.cs.tool_coupling);
  CHECK_STR(f.fmu.cs.identifier, "m");
  CHECK(f.fmu.cs.can.variable_step && f.fmu.cs.can.once_per_process);
  CHECK_INT(f.fmu.cs.can.output_derivatives, 1);
  kinds_of_values_1(&f);
  slots_1(&f);
  structure_1(&f);
  const cpl_variable* gear = var(&f, "gear");
  CHECK_STR(f.fmu.desc.types[gear->declared_type].items[1].name, "high");
  CHECK_INT(f.fmu.desc.types[gear->declared_type].items[1].value, 2);
  const cpl_variable* phi = var(&f, "phi");
  CHECK_STR(f.fmu.desc.units[phi->display_unit].name, "deg");
  CHECK_NEAR(f.fmu.desc.units[phi->display_unit].factor, 57.29577951308232, 0);
  CHECK_NEAR(f.fmu.desc.experiment.tolerance, 1e-4, 0);
  release(&f);
  cpl_context_destroy(ctx);
}

//------------------------------------ FMI 3.0 ------------------------------------

static void capabilities_3(const fixture* f) {
  const cpli_fmu_kind *me = &f->fmu.me, *cs = &f->fmu.cs;
  CHECK(me->present && cs->present && f->fmu.se.present);
  CHECK(me->adjoint && me->per_element && me->evaluate_discrete && me->can.completed_step);
  CHECK(cs->event_mode && cs->early_return && cs->early_return_on_request);
  CHECK(cs->intermediate_update && !cs->adjoint);
  CHECK_NEAR(cs->fixed_step, 0.01, 0);
  CHECK_INT(cs->input_smoothness, 2);
  CHECK_STR(f->fmu.guid, "{t}");
}

static void arrays_3(const fixture* f) {
  const cpl_description* d = &f->fmu.desc;
  const cpl_variable* a = var(f, "A[2,1]");  // the last index runs fastest
  CHECK_INT(a->array, var(f, "A[1,1]")->array);
  const cpl_array* array = &d->arrays[a->array - 1];
  CHECK_STR(array->name, "A");
  CHECK_INT(array->n_sizes, 2);
  CHECK_INT(array->sizes[0], 2);
  CHECK_INT(array->sizes[1], 3);
  CHECK_INT(array->count, 6);
  CHECK_INT(&d->vars[array->first] - d->vars + 3, a - d->vars);
  CHECK_INT(f->fmu.slots[a->ref].value_ref, 4);
  CHECK_INT(f->fmu.slots[a->ref].element, 3);
  CHECK_INT(f->fmu.slots[a->ref].count, 6);
  CHECK_INT(f->fmu.slots[a->ref].width, CPL_WIDTH_FLOAT32);
  CHECK_NEAR(a->start, 0.5, 0);  // one value for all
  CHECK_NEAR(var(f, "x[2]")->start, 2, 0);
  CHECK_INT(var(f, "speed[2]")->ref, var(f, "x[2]")->ref);
  CHECK_INT(var(f, "speed[2]")->alias_of, cpl_find_variable(d, "x[2]"));
  CHECK_STR(d->units[var(f, "speed[1]")->display_unit].name, "s/rad");
  CHECK_STR(d->units[var(f, "x[1]")->display_unit].name, "rpm");
  CHECK_STR(var(f, "texts[2]")->start_text, "b < c");
  CHECK_NEAR(var(f, "flags[1]")->start, 1, 0);
  CHECK_NEAR(var(f, "flags[2]")->start, 0, 0);
}

static void structure_3(const fixture* f) {
  const cpl_description* d = &f->fmu.desc;
  CHECK_INT(d->n_states, 2);
  CHECK_STR(d->vars[d->states[1]].name, "x[2]");
  CHECK_STR(d->vars[d->derivatives[1]].name, "der(x)[2]");
  CHECK_INT(d->n_indicators, 2);
  CHECK_INT(d->structure.n_outputs, 3);
  const cpl_unknown* y2 = &d->structure.outputs[1];
  CHECK_STR(d->vars[y2->var].name, "y[2]");
  CHECK_INT(y2->count, 3);  // x[1], x[2], u
  CHECK_STR(d->vars[d->structure.deps[y2->first + 1]].name, "x[2]");
  CHECK_INT(d->structure.kinds[y2->first + 1], CPL_KIND_CONSTANT);
  CHECK_STR(d->vars[d->structure.deps[y2->first + 2]].name, "u");
  CHECK_INT(d->structure.kinds[y2->first + 2], CPL_KIND_DEPENDENT);
  CHECK_INT(d->structure.outputs[2].count, 0);
  CHECK_INT(d->structure.n_derivatives, 2);
  CHECK_INT(d->structure.derivatives[1].count, 2 + 6 + 1);
}

static void clocks_3(const fixture* f) {
  const cpl_fmu* fmu = &f->fmu;
  CHECK_INT(fmu->n_clocks, 2);
  CHECK_STR(fmu->desc.vars[fmu->clocks[0].var].name, "tick");
  CHECK_INT(fmu->clocks[0].ref, var(f, "tick")->ref);
  CHECK_INT(fmu->clocks[0].interval, CPLI_INTERVAL_CONSTANT);
  CHECK_NEAR(fmu->clocks[0].interval_decimal, 0.1, 0);
  CHECK_NEAR(fmu->clocks[0].shift_decimal, 0.05, 0);
  CHECK(fmu->clocks[0].has_priority);
  CHECK_INT(fmu->clocks[1].interval, CPLI_INTERVAL_COUNTDOWN);
  CHECK(fmu->clocks[1].supports_fraction && fmu->clocks[1].can_be_deactivated);
  CHECK_INT(fmu->clocks[1].resolution, 1000);
  CHECK_INT(fmu->clocks[1].interval_counter, 100);
  CHECK_INT(fmu->clocks[1].shift_counter, 3);
  CHECK_INT(fmu->n_clocked, 3);
  CHECK_STR(fmu->desc.vars[fmu->clocked[2].var].name, "last");
  CHECK_INT(fmu->clocked[2].clock, 1);
}

static void extras_3(const fixture* f) {
  const cpl_fmu* fmu = &f->fmu;
  const cpli_extra *u = NULL, *blob = NULL, *count = NULL;
  for (int32_t i = 0; i < fmu->n_extras; i++) {
    const char* name = fmu->desc.vars[fmu->extras[i].var].name;
    if (strcmp(name, "u") == 0) u = &fmu->extras[i];
    if (strcmp(name, "blob") == 0) blob = &fmu->extras[i];
    if (strcmp(name, "count") == 0) count = &fmu->extras[i];
  }
  CHECK(u != NULL && u->intermediate_update);
  CHECK(blob != NULL && blob->max_size == 16);
  CHECK_STR(blob->mime_type, "application/x");
  CHECK_STR(var(f, "blob")->start_text, "00ff");
  CHECK(count != NULL && count->previous == cpl_find_variable(&fmu->desc, "last"));
}

static void reads_fmi_3(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fixture f;
  CHECK_OK(ctx, parse_file(ctx, &f, fmi3, NULL, 0));
  no_findings(&f);
  CHECK_INT(f.fmu.version, 3);
  capabilities_3(&f);
  arrays_3(&f);
  structure_3(&f);
  clocks_3(&f);
  extras_3(&f);
  CHECK(var(&f, "n")->structural && var(&f, "n")->causality == CPL_CAUSALITY_PARAMETER);
  CHECK_INT(var(&f, "i8")->width, CPL_WIDTH_INT8);
  CHECK_NEAR(var(&f, "i8")->max, 100, 0);  // of its type
  CHECK_NEAR(var(&f, "u64")->start, 18446744073709551615.0, 0);
  CHECK_NEAR(var(&f, "i64")->start, -9e9, 0);
  CHECK_INT(f.fmu.desc.types[var(&f, "gear")->declared_type].items[0].value, -9000000000);
  release(&f);
  cpl_context_destroy(ctx);
}

static void structural_parameters_size_arrays(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fixture f;
  const cpl_start starts[] = {{"u", "5"}, {"n", "3"}};
  CHECK_OK(ctx, parse_file(ctx, &f, fmi3, starts, 2));
  CHECK_INT(f.fmu.desc.n_states, 3);
  CHECK_NEAR(var(&f, "n")->start, 3, 0);
  CHECK_STR(f.fmu.desc.vars[f.fmu.desc.states[2]].name, "x[3]");
  CHECK(!var(&f, "x[3]")->has_start);  // the file has two
  CHECK(var(&f, "A[3,3]")->has_start);
  CHECK_INT(f.fmu.n_starts, 1);
  CHECK_STR(f.fmu.starts[0].value, "3");
  release(&f);
  static const char* const bad[] = {"-1", "1.5", "many", "10", "1e99"};  // max is 9
  for (size_t i = 0; i < CPLI_COUNT(bad); i++) {
    const cpl_start one = {"n", bad[i]};
    CHECK_INT(parse_file(ctx, &f, fmi3, &one, 1), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "structural parameter n");
    CHECK_CONTAINS(cpl_context_error(ctx), bad[i]);
    release(&f);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ both ------------------------------------

static void survives_every_failed_allocation(void** state) {
  (void)state;
  const char* const files[] = {fmi1, fmi3};
  const cpl_start starts[] = {{"n", "3"}};
  for (size_t i = 0; i < CPLI_COUNT(files); i++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = n};
      cpl_context* ctx = test_context_with_heap(&heap);
      cpl_status st = CPL_ERR_NOMEM;
      if (ctx != NULL) {
        fixture f;
        st = parse_file(ctx, &f, files[i], starts, 1);
        release(&f);
        cpl_context_destroy(ctx);
      }
      CHECK_INT(heap.live, 0);
      if (st == CPL_OK) break;
      CHECK_INT(st, CPL_ERR_NOMEM);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_fmi_1),
      cmocka_unit_test(reads_fmi_3),
      cmocka_unit_test(structural_parameters_size_arrays),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
