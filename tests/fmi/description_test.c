// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "descriptions.h"

#include <time.h>

#include "fmi/fmu.h"
#include "testing.h"

// A description on its own, without an archive around it.
typedef struct fixture {
  cpl_context* ctx;
  cpl_fmu fmu;
} fixture;

static cpl_status parse_with(cpl_context* ctx, fixture* f, const char* xml) {
  *f = (fixture){.ctx = ctx};
  cpli_arena_init(&f->fmu.arena, ctx);
  return cpli_fmu_parse(&f->fmu, "m.fmu/modelDescription.xml", xml, strlen(xml));
}

static void release(fixture* f) {
  cpli_findings_free(&f->fmu.findings);
  cpli_names_free(&f->fmu.names);
  cpli_arena_free(&f->fmu.arena);
}

static void begin(fixture* f, const char* xml) {
  cpl_context* ctx = test_context();
  CHECK_OK(ctx, parse_with(ctx, f, xml));
}

static void end(fixture* f) {
  release(f);
  cpl_context_destroy(f->ctx);
}

static const cpl_variable* var(const fixture* f, const char* name) {
  int32_t i = cpl_find_variable(&f->fmu.desc, name);
  if (i < 0) fail_msg("no variable %s", name);
  return &f->fmu.desc.vars[i];
}

// The text of the first finding of a rule; fails when there is none.
static const cpli_finding* finding(const fixture* f, const char* rule) {
  for (size_t i = 0; i < f->fmu.findings.count; i++)
    if (strcmp(f->fmu.findings.items[i].rule, rule) == 0) return &f->fmu.findings.items[i];
  fail_msg("no finding %s", rule);
  return NULL;
}

//------------------------------------ everything ------------------------------------

static void reads_the_head(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  const cpl_fmu* fmu = &f.fmu;
  const cpl_description* d = &fmu->desc;
  for (size_t i = 0; i < fmu->findings.count; i++)
    print_message("%s\n", fmu->findings.items[i].text);
  CHECK_INT(fmu->findings.count, 1);  // unit s is not defined
  CHECK_INT(fmu->version, 2);
  CHECK_STR(d->kind, "FMI 2.0");
  CHECK_STR(d->name, "Every & thing");
  CHECK_STR(fmu->guid, "{g}");
  CHECK_STR(d->description, "all of it");
  CHECK_STR(d->author, "A");
  CHECK_STR(d->version, "1.2");
  CHECK_STR(d->copyright, "C");
  CHECK_STR(d->license, "L");
  CHECK_STR(d->tool, "by hand");
  CHECK_STR(d->date, "2026-01-02T03:04:05Z");
  CHECK_INT(d->n_indicators, 3);
  CHECK(d->experiment.has_start && d->experiment.has_stop);
  CHECK_NEAR(d->experiment.start, 1, 0);
  CHECK_NEAR(d->experiment.stop, 2.5, 0);
  CHECK_NEAR(d->experiment.tolerance, 1e-4, 0);
  CHECK_NEAR(d->experiment.step, 0.01, 0);
  CHECK_INT(fmu->n_log_categories, 2);
  CHECK_STR(fmu->log_categories[0], "logEvents");
  CHECK_STR(fmu->log_descriptions[0], "events");
  CHECK_STR(fmu->log_descriptions[1], "");
  end(&f);
}

static void reads_the_kinds(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  const cpli_fmu_kind *me = &f.fmu.me, *cs = &f.fmu.cs;
  CHECK(me->present && cs->present);
  CHECK_STR(me->identifier, "every_me");
  CHECK_STR(cs->identifier, "every_cs");
  CHECK(me->can.directional && me->can.save_restore && me->can.serialize);
  CHECK(me->can.once_per_process && me->can.needs_tool && me->no_memory_functions);
  CHECK(!me->can.completed_step);
  CHECK(!cs->can.directional && !cs->can.needs_tool);
  CHECK(cs->can.variable_step && cs->asynchronous);
  CHECK_INT(cs->can.input_derivatives, 1);
  CHECK_INT(cs->can.output_derivatives, 2);
  CHECK_INT(me->n_source_files, 2);
  CHECK_STR(me->source_files[1], "b.c");
  CHECK_INT(cs->n_source_files, 1);
  CHECK_STR(cs->source_files[0], "c.c");
  end(&f);
}

static void reads_units_and_types(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  const cpl_description* d = &f.fmu.desc;
  CHECK_INT(d->n_units, 7);
  CHECK_STR(d->units[0].name, "rad");
  CHECK(d->units[0].has_base);
  CHECK_INT(d->units[0].exponents[7], 1);
  CHECK_INT(d->units[0].display_of, -1);
  CHECK_STR(d->units[2].name, "rev");
  CHECK_INT(d->units[2].display_of, 0);
  CHECK_NEAR(d->units[2].factor, 0.15915494309189535, 0);
  CHECK_NEAR(d->units[3].offset, 273.15, 0);
  CHECK_NEAR(d->units[4].factor, 1e5, 0);
  CHECK_INT(d->units[4].exponents[1], -1);
  CHECK_INT(d->units[4].exponents[2], -2);
  CHECK(!d->units[5].has_base);
  CHECK_STR(d->units[6].name, "s");
  CHECK_INT(d->n_types, 5);
  CHECK_STR(d->types[2].name, "Gear");
  CHECK_INT(d->types[2].type, CPL_ENUMERATION);
  CHECK_INT(d->types[2].n_items, 2);
  CHECK_STR(d->types[2].items[1].name, "high");
  CHECK_INT(d->types[2].items[1].value, 5);
  CHECK_STR(d->types[2].items[1].description, "fast");
  CHECK_STR(d->types[0].quantity, "Angle");
  end(&f);
}

static void reads_variables(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  CHECK_INT(f.fmu.desc.n_vars, 13);
  const cpl_variable* phi = var(&f, "phi");
  CHECK_STR(phi->description, "angle");
  CHECK_INT(phi->causality, CPL_CAUSALITY_OUTPUT);
  CHECK_INT(phi->variability, CPL_VARIABILITY_CONTINUOUS);
  CHECK_INT(phi->initial, CPL_INITIAL_EXACT);
  CHECK_NEAR(phi->start, 0.5, 0);
  CHECK_NEAR(phi->min, -100, 0);  // from the type
  CHECK_NEAR(phi->max, 50, 0);    // its own
  CHECK(phi->has_nominal && phi->nominal == 2);
  CHECK(phi->unbounded && phi->reinit && phi->can_set_several_times);
  CHECK_STR(f.fmu.desc.units[phi->unit].name, "rad");
  CHECK_STR(f.fmu.desc.units[phi->display_unit].name, "deg");
  CHECK_STR(phi->quantity, "Angle");
  CHECK_INT(phi->declared_type, 0);
  CHECK_INT(phi->line, 36);  // where its tag begins
  const cpl_variable* u = var(&f, "u");
  CHECK(!u->can_set_several_times && u->relative_quantity);
  CHECK_NEAR(u->nominal, 300, 0);
  CHECK_INT(u->initial, CPL_INITIAL_NONE);
  CHECK_INT(var(&f, "p")->initial, CPL_INITIAL_EXACT);
  CHECK_INT(var(&f, "q")->initial, CPL_INITIAL_CALCULATED);
  CHECK_INT(var(&f, "c")->initial, CPL_INITIAL_EXACT);
  CHECK_INT(var(&f, "on")->initial, CPL_INITIAL_CALCULATED);
  CHECK_INT(var(&f, "time")->initial, CPL_INITIAL_NONE);
  const cpl_variable* n = var(&f, "n");
  CHECK_INT(n->type, CPL_INTEGER);
  CHECK(n->start == 3 && n->min == 0 && n->max == 9);
  CHECK_INT(n->alias_of, -1);  // other type, same reference
  CHECK(var(&f, "gear")->start == 5);
  CHECK_STR(var(&f, "title")->start_text, "<hi>");
  CHECK_INT(var(&f, "der(phi)")->alias_of, 2);
  CHECK_INT(var(&f, "der(phi)")->derivative_of, 1);
  CHECK_INT(cpl_find_variable(&f.fmu.desc, "nothing"), -1);
  end(&f);
}

static void reads_the_structure(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  const cpl_description* d = &f.fmu.desc;
  const cpl_structure* s = &d->structure;
  CHECK_INT(d->n_states, 2);
  CHECK_INT(d->states[0], 1);
  CHECK_INT(d->states[1], 2);
  CHECK_INT(d->derivatives[1], 4);
  CHECK_INT(s->n_outputs, 2);
  CHECK_INT(s->outputs[0].var, 1);
  CHECK_INT(s->outputs[0].count, 1);
  CHECK_INT(s->kinds[s->outputs[0].first], CPL_KIND_CONSTANT);
  CHECK_INT(s->outputs[1].count, -1);
  CHECK_INT(s->n_derivatives, 2);
  const cpl_unknown* dw = &s->derivatives[1];
  CHECK_INT(dw->count, 3);
  CHECK_INT(s->deps[dw->first + 2], 5);
  CHECK_INT(s->kinds[dw->first], CPL_KIND_DEPENDENT);
  CHECK_INT(s->kinds[dw->first + 1], CPL_KIND_TUNABLE);
  CHECK_INT(s->kinds[dw->first + 2], CPL_KIND_DISCRETE);
  CHECK_INT(s->n_initial, 4);
  CHECK_INT(s->initial[1].count, 0);
  end(&f);
}

static void names_the_nearest_variables(void** state) {
  (void)state;
  fixture f;
  begin(&f, everything_xml);
  int32_t i = 0;
  CHECK_OK(f.ctx, cpl_require_variable(f.ctx, &f.fmu.desc, "gear", &i));
  CHECK_INT(i, 9);
  CHECK_INT(cpl_require_variable(f.ctx, &f.fmu.desc, "geer", &i), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(f.ctx), "no variable \"geer\" (is it gear?)");
  end(&f);
}

//------------------------------------ what is lived with ------------------------------------

typedef struct remark {
  const char *xml, *rule, *text;
  int line;
} remark;

#define REAL VAR("x", "1", "", "<Real/>")

static const remark remarks[] = {
    {MD(VAR("x", "1", "causality=\"output\"", "<Real/>") VAR("x", "2", "", "<Real/>")), "name",
     "there are two variables named x; the name is that of the first", 5},
    {MD(VAR("x", "1", "", "<Real start=\"one\"/>")), "value", "not a number", 4},
    {MD(VAR("x", "1", "", "<Real start=\"NaN\"/>")), "value", "not a number", 4},
    {MD(VAR("x", "1", "", "<Real start=\"1,5\"/>")), "value", "not a number", 4},
    {MD(VAR("x", "1", "variability=\"discrete\"", "<Integer start=\"2.0\"/>")), "value",
     "should be written as an integer: 2", 4},
    {MD(VAR("x", "1", "variability=\"discrete\"", "<Integer start=\"2.5\"/>")), "value",
     "not an integer", 4},
    {MD(VAR("x", "1", "variability=\"discrete\"", "<Boolean start=\"yes\"/>")), "value",
     "not true or false", 4},
    {MD(VAR("x", "1", "causality=\"none\"", "<Real/>")), "value", "not a known word", 4},
    {MD(VAR("x", "1", "colour=\"red\"", "<Real/>")), "unknown", "unknown attribute colour", 4},
    {MD(VAR("x", "1", "", "<Real/><Extra><a/></Extra>")), "unknown", "<Extra>", 4},
    {MD(VAR("x", "1", "", "<Real unit=\"parsec\"/>")), "unit", "\"parsec\" is used but not", 4},
    {MD(VAR("x", "1", "", "<Real displayUnit=\"deg\"/>")), "unit", "no unit", 4},
    {MD(VAR("x", "1", "", "<Real declaredType=\"T\"/>")), "type", "\"T\" of x is not defined", 4},
    {MD(VAR("x", "1", "variability=\"discrete\"", "<Enumeration start=\"1\"/>")), "type",
     "no declaredType", 4},
    {MD(VAR("x", "1", "", "<Real nominal=\"0\"/>")), "nominal", "must be positive", 4},
    {MD(VAR("x", "1", "", "<Integer/>")), "variability", "x is Integer and cannot be cont", 4},
    {MD(VAR("x", "1", "causality=\"parameter\"", "<Real start=\"1\"/>")), "variability",
     "taken as fixed", 4},
    {MD(VAR("x", "1", "causality=\"parameter\" variability=\"continuous\"", "<Real start=\"1\"/>")),
     "variability", "taken as tunable", 4},
    {MD(VAR("x", "1", "causality=\"input\" initial=\"exact\"", "<Real start=\"1\"/>")), "initial",
     "leave it out", 4},
    {MD_STRUCTURE(REAL, "<Outputs><Unknown index=\"1\"/></Outputs>"), "structure",
     "its causality is not output", 4},
    {MD(VAR("y", "1", "causality=\"output\"", "<Real/>")), "structure", "y is missing in <Outputs>",
     4},
    {MD_STRUCTURE(VAR("y", "1", "causality=\"output\"", "<Real/>"),
                  "<Outputs><Unknown index=\"1\"/><Unknown index=\"1\"/></Outputs>"),
     "structure", "twice", 4},
    {MD_STRUCTURE(VAR("y", "1", "causality=\"output\"", "<Real/>"),
                  "<Outputs><Unknown index=\"1\" dependencies=\"1\" "
                  "dependenciesKind=\"odd\"/></Outputs>"),
     "structure", "dependenciesKind", 7},
    {MD_ROOT MD_ME MD_VARS REAL "</ModelVariables></fmiModelDescription>", "structure",
     "<ModelStructure> is missing", 0},
    {MD_ROOT MD_ME
     "<DefaultExperiment stopTime=\"-1\" tolerance=\"0\" stepSize=\"-1\"/>" MD_VARS MD_REST,
     "experiment", "tolerance", 3},
    {"<fmiModelDescription fmiVersion=\"2.0.3\" modelName=\"m\" guid=\"g\">\n" MD_ME MD_VARS
         MD_REST,
     "version", "must be \"2.0\"", 1},
    {MD_ROOT MD_ME "<UnitDefinitions><Unit name=\"a\"><BaseUnit factor=\"0\"/></Unit>"
                   "</UnitDefinitions>" MD_VARS MD_REST,
     "unit", "factor", 3},
    {MD_ROOT MD_ME "<TypeDefinitions><SimpleType name=\"T\"/></TypeDefinitions>" MD_VARS MD_REST,
     "type", "T has no <Real>", 3},
};

static void findings_are_no_errors(void** state) {
  (void)state;
  for (size_t i = 0; i < CPLI_COUNT(remarks); i++) {
    fixture f;
    begin(&f, remarks[i].xml);
    const cpli_finding* found = finding(&f, remarks[i].rule);
    CHECK_CONTAINS(found->text, remarks[i].text);
    CHECK_INT(found->line, remarks[i].line);
    CHECK_INT(found->severity, CPLI_WARNING);
    end(&f);
  }
}

static void states_follow_from_derivative_attributes(void** state) {
  (void)state;
  fixture f;
  begin(&f, MD(VAR("u", "9", "causality=\"input\"", "<Real start=\"0\"/>")  //
               VAR("x", "1", "", "<Real/>")                                 //
               VAR("alias", "1", "", "<Real/>")                             //
               VAR("der(x)", "2", "", "<Real derivative=\"2\"/>")           //
               VAR("der(alias)", "2", "", "<Real derivative=\"3\"/>")       //
               VAR("der(u)", "3", "", "<Real derivative=\"1\"/>")           //
               VAR("y", "4", "causality=\"output\"", "<Real/>")));
  const cpl_description* d = &f.fmu.desc;
  CHECK_INT(d->n_states, 1);
  CHECK_INT(d->states[0], 1);
  CHECK_INT(d->derivatives[0], 3);
  CHECK_INT(d->structure.n_derivatives, 1);
  CHECK_INT(d->structure.derivatives[0].count, -1);
  CHECK_INT(d->structure.n_outputs, 1);
  CHECK_INT(d->structure.outputs[0].var, 6);
  CHECK_INT(d->structure.outputs[0].count, -1);
  end(&f);
}

static void a_structure_without_derivatives_has_no_states(void** state) {
  (void)state;
  fixture f;
  begin(&f, MD_STRUCTURE(VAR("x", "1", "causality=\"output\"", "<Real/>")
                             VAR("der(x)", "2", "", "<Real derivative=\"1\"/>"),
                         "<Outputs><Unknown index=\"1\"/></Outputs>"));
  CHECK_INT(f.fmu.desc.n_states, 0);
  CHECK_INT(f.fmu.findings.count, 0);
  end(&f);
}

static void a_derivative_without_its_state_is_hidden(void** state) {
  (void)state;
  fixture f;
  begin(&f, MD_STRUCTURE(REAL, "<Derivatives><Unknown index=\"1\"/></Derivatives>"));
  CHECK_INT(f.fmu.desc.n_states, 1);
  CHECK_INT(f.fmu.desc.states[0], -1);
  end(&f);
}

//------------------------------------ what is refused ------------------------------------

typedef struct refusal {
  const char *xml, *message;
} refusal;

static const refusal refusals[] = {
    {"<html/>", "xml:1: the root element is <html>"},
    {"<fmiModelDescription/>", "xml:1: <fmiModelDescription> has no fmiVersion"},
    {"<fmiModelDescription fmiVersion=\"4\"/>", "xml:1: fmiVersion=\"4\" is no known version"},
    {"<fmiModelDescription\nfmiVersion=\"2.0\" modelName=\"m\"/>", "xml:1: guid is missing"},
    {MD_ROOT MD_VARS MD_REST, "xml:4: neither <ModelExchange> nor <CoSimulation>"},
    {MD_ROOT "<ModelExchange/>", "xml:2: <ModelExchange> has no modelIdentifier"},
    {MD_ROOT "<CoSimulation modelIdentifier=\"../x\"/>", "xml:2: modelIdentifier=\"../x\""},
    {MD_ROOT MD_ME MD_ME, "xml:3: <ModelExchange> is there twice"},
    {MD(REAL VAR("x", "2", "causality=\"output\"", "<Real/>")),
     "xml:5: there are two variables named x; the first is in line 4"},
    {MD("<ScalarVariable valueReference=\"1\"><Real/></ScalarVariable>"), "xml:4: a <Scalar"},
    {MD("<ScalarVariable name=\"x\"><Real/></ScalarVariable>"), "xml:4: x has no valueReference"},
    {MD(VAR("x", "-1", "", "<Real/>")), "xml:4: valueReference=\"-1\" of x"},
    {MD(VAR("x", "4294967296", "", "<Real/>")), "xml:4: valueReference=\"4294967296\" of x"},
    {MD(VAR("x", "1", "", "")), "xml:4: x has no type"},
    {MD(VAR("x", "1", "", "<Real/><Integer/>")), "xml:4: x has two types"},
    {MD(VAR("x", "1", "", "<Real derivative=\"0\"/>")), "xml:4: derivative=\"0\" of x"},
    {MD(VAR("x", "1", "", "<Real derivative=\"2\"/>")), "xml:4: derivative=\"2\" of x: there are"},
    {MD_STRUCTURE(REAL, "<Outputs>\n<Unknown/></Outputs>"), "xml:8: an <Unknown> has no index"},
    {MD_STRUCTURE(REAL, "<Outputs><Unknown index=\"2\"/></Outputs>"), "xml:7: index=\"2\""},
    {MD_STRUCTURE(REAL, "<Outputs><Unknown index=\"0\"/></Outputs>"), "xml:7: index=\"0\""},
    {MD_STRUCTURE(REAL, "<Outputs><Unknown index=\"1\" dependencies=\"1 2\"/></Outputs>"),
     "xml:7: dependencies: 2 is no variable"},
    {MD_STRUCTURE(REAL, "<Outputs><Unknown index=\"1\" dependencies=\"1,1\"/></Outputs>"),
     "xml:7: dependencies: \"1,1\""},
    {MD_ROOT MD_ME "<TypeDefinitions><SimpleType/></TypeDefinitions>", "xml:3: a <SimpleType> has"},
    {MD_ROOT MD_ME "<UnitDefinitions><Unit/></UnitDefinitions>", "xml:3: a unit has no name"},
    {MD_ROOT MD_ME "<TypeDefinitions><SimpleType name=\"T\"><Enumeration><Item name=\"a\"/>"
                   "</Enumeration></SimpleType></TypeDefinitions>",
     "xml:3: an <Item> needs"},
    {MD_ROOT MD_ME MD_VARS REAL, "xml:5: "},
};

static void errors_have_a_line(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(refusals); i++) {
    fixture f;
    CHECK_INT(parse_with(ctx, &f, refusals[i].xml), CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), "m.fmu/modelDescription.xml:");
    CHECK_CONTAINS(cpl_context_error(ctx), refusals[i].message);
    release(&f);
  }
  cpl_context_destroy(ctx);
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (ctx != NULL) {
      fixture f;
      st = parse_with(ctx, &f, everything_xml);
      release(&f);
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

// Cut anywhere, it is an error and nothing worse.
static void survives_every_truncation(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  size_t whole = sizeof everything_xml - 2;  // the last character is a line end
  for (size_t n = 0; n < whole; n += 7) {
    fixture f = {.ctx = ctx};
    cpli_arena_init(&f.fmu.arena, ctx);
    CHECK_INT(cpli_fmu_parse(&f.fmu, "m", everything_xml, n), CPL_ERR_INPUT);
    release(&f);
  }
  cpl_context_destroy(ctx);
}

static void twenty_thousand_variables_are_quick(void** state) {
  (void)state;
  enum { N = 20000 };
  char* xml = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&xml, &size);
  fputs(MD_ROOT MD_ME MD_VARS, out);
  for (int i = 0; i < N; i++) {
    fprintf(out,
            "<ScalarVariable name=\"part[%d].position\" valueReference=\"%d\" description=\"where "
            "part %d is\" variability=\"continuous\">\n<Real start=\"%.17g\"/></ScalarVariable>\n",
            i, i, i, i / 7.0);
  }
  fputs(MD_REST, out);
  fclose(out);
  fixture f;
  clock_t t0 = clock();  // time of the processor: what else runs does not count
  begin(&f, xml);
  double seconds = (double)(clock() - t0) / CLOCKS_PER_SEC;
  print_message("%d variables, %.1f MB: %.0f ms\n", N, 1e-6 * (double)size, 1e3 * seconds);
  CHECK_INT(f.fmu.desc.n_vars, N);
  CHECK_INT(cpl_find_variable(&f.fmu.desc, "part[19999].position"), N - 1);
  CHECK(seconds < 2);  // it takes 0.03 s; tests also run under valgrind and sanitizers
  end(&f);
  free(xml);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_the_head),
      cmocka_unit_test(reads_the_kinds),
      cmocka_unit_test(reads_units_and_types),
      cmocka_unit_test(reads_variables),
      cmocka_unit_test(reads_the_structure),
      cmocka_unit_test(names_the_nearest_variables),
      cmocka_unit_test(findings_are_no_errors),
      cmocka_unit_test(states_follow_from_derivative_attributes),
      cmocka_unit_test(a_structure_without_derivatives_has_no_states),
      cmocka_unit_test(a_derivative_without_its_state_is_hidden),
      cmocka_unit_test(errors_have_a_line),
      cmocka_unit_test(survives_every_failed_allocation),
      cmocka_unit_test(survives_every_truncation),
      cmocka_unit_test(twenty_thousand_variables_are_quick),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
