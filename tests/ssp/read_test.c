// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is read of every element, and the messages about names that do not fit together.
#include "packages.h"

static const cpli_ssp_connector* connector(const cpli_ssp_element* e, const char* name) {
  for (size_t i = 0; i < e->n_connectors; i++)
    if (strcmp(e->connectors[i].name, name) == 0) return &e->connectors[i];
  fail_msg("no connector %s", name);
  return NULL;
}

static const cpli_ssp_element* element(const cpli_ssp_element* e, const char* name) {
  for (size_t i = 0; i < e->n_elements; i++)
    if (strcmp(e->elements[i].name, name) == 0) return &e->elements[i];
  fail_msg("no element %s", name);
  return NULL;
}

static const cpli_ssp_parameter* parameter(const cpli_ssp_parameter_set* s, const char* name) {
  for (size_t i = 0; i < s->n_parameters; i++)
    if (strcmp(s->parameters[i].name, name) == 0) return &s->parameters[i];
  fail_msg("no parameter %s", name);
  return NULL;
}

//------------------------------------ everything ------------------------------------

static void reads_what_belongs_to_the_whole(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  CHECK_STR(ssp->name, "all");
  CHECK_STR(ssp->version, "2.0");
  CHECK_NEAR(ssp->start, 0.5, 0);
  CHECK_NEAR(ssp->stop, 12, 0);
  CHECK_STR(ssp->path, "all.ssp");
  CHECK_STR(ssp->file->path, "all.ssp/SystemStructure.ssd");
  CHECK_INT(ssp->n_variants, 2);
  CHECK_STR(ssp->variants[0].file, "SystemStructure.ssd");
  CHECK_STR(ssp->variants[1].name, "inner");
  CHECK_STR(ssp->root->name, "SystemStructureDescription");
  CHECK_STR(ssp->system->name, "root");
  CHECK_INT(ssp->system->loc.line, 4);

  const cpl_unit* bar = cpli_ssp_find_unit(ssp->file, "bar");
  CHECK(bar != NULL && bar->has_base && bar->display_of == -1);
  static const int8_t pressure[8] = {1, -1, -2, 0, 0, 0, 0, 0};
  CHECK(memcmp(bar->exponents, pressure, sizeof pressure) == 0);
  CHECK_NEAR(bar->factor, 1e5, 0);
  CHECK_NEAR(bar->offset, 0, 0);
  CHECK(cpli_ssp_find_unit(ssp->file, "mm") == NULL);  // of another file
  const cpli_ssp_enumeration* gear = cpli_ssp_find_enumeration(ssp->file, "gear");
  CHECK_INT(gear->n_items, 2);
  CHECK_STR(gear->items[1].name, "top");
  CHECK(gear->items[1].value == INT64_MIN);
  CHECK(cpli_ssp_find_enumeration(ssp->file, "gears") == NULL);
  cpli_ssp_close(ssp);
}

static void reads_connectors(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char* name;
    cpli_ssp_connector_kind kind;
    cpl_type type;
    cpl_width width;
  } expected[] = {
      {"in put", CPLI_SSP_INPUT, CPL_REAL, CPL_WIDTH_OWN},
      {"y", CPLI_SSP_OUTPUT, CPL_REAL, CPL_WIDTH_FLOAT64},
      {"p", CPLI_SSP_PARAMETER, CPL_REAL, CPL_WIDTH_FLOAT32},
      {"cp", CPLI_SSP_CALCULATED_PARAMETER, CPL_INTEGER, CPL_WIDTH_OWN},
      {"n", CPLI_SSP_STRUCTURAL_PARAMETER, CPL_INTEGER, CPL_WIDTH_UINT64},
      {"k", CPLI_SSP_CONSTANT, CPL_INTEGER, CPL_WIDTH_INT8},
      {"l", CPLI_SSP_LOCAL, CPL_INTEGER, CPL_WIDTH_UINT8},
      {"io", CPLI_SSP_INOUT, CPL_INTEGER, CPL_WIDTH_INT16},
      {"un", CPLI_SSP_UNSPECIFIED, CPL_INTEGER, CPL_WIDTH_UINT16},
      {"i32", CPLI_SSP_INPUT, CPL_INTEGER, CPL_WIDTH_INT32},
      {"u32", CPLI_SSP_INPUT, CPL_INTEGER, CPL_WIDTH_UINT32},
      {"i64", CPLI_SSP_INPUT, CPL_INTEGER, CPL_WIDTH_INT64},
      {"b", CPLI_SSP_INPUT, CPL_BOOLEAN, CPL_WIDTH_OWN},
      {"s", CPLI_SSP_INPUT, CPL_STRING, CPL_WIDTH_OWN},
      {"e", CPLI_SSP_INPUT, CPL_ENUMERATION, CPL_WIDTH_OWN},
      {"bin", CPLI_SSP_INPUT, CPL_BINARY, CPL_WIDTH_OWN},
      {"clk", CPLI_SSP_INPUT, CPL_CLOCK, CPL_WIDTH_OWN},
      {"arr", CPLI_SSP_OUTPUT, CPL_REAL, CPL_WIDTH_OWN},
  };
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  CHECK_INT(ssp->system->n_connectors, CPLI_COUNT(expected) + 1);
  for (size_t i = 0; i < CPLI_COUNT(expected); i++) {
    const cpli_ssp_connector* c = &ssp->system->connectors[i];
    CHECK_STR(c->name, expected[i].name);
    CHECK_INT(c->kind, expected[i].kind);
    CHECK(c->type.given);
    CHECK_INT(c->type.type, expected[i].type);
    CHECK_INT(c->type.width, expected[i].width);
  }
  const cpli_ssp_element* root = ssp->system;
  CHECK(!connector(root, "no type")->type.given);
  CHECK_STR(connector(root, "in put")->type.unit, "bar");
  CHECK(connector(root, "y")->type.unit == NULL);
  CHECK_STR(connector(root, "e")->type.enumeration, "gear");
  CHECK_STR(connector(root, "bin")->type.mime_type, "a/b");
  const cpli_ssp_connector* arr = connector(root, "arr");
  CHECK_INT(arr->n_dimensions, 3);
  CHECK(arr->dimensions[0].size == 3 && arr->dimensions[0].size_connector == NULL);
  CHECK_STR(arr->dimensions[1].size_connector, "n");
  CHECK(arr->dimensions[2].size == -1 && arr->dimensions[2].size_connector == NULL);
  CHECK_INT(arr->n_clocks, 1);
  CHECK_STR(arr->clocks[0], "clk");
  cpli_ssp_close(ssp);
}

static void reads_elements(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  const cpli_ssp_element *root = ssp->system, *motor = element(root, "motor");
  CHECK_INT(root->n_elements, 8);
  CHECK(root->elements[0].kind == CPLI_SSP_COMPONENT);
  CHECK_INT(motor->implementation, CPLI_SSP_CO_SIMULATION);
  CHECK_STR(motor->source, "resources/m.fmu");
  CHECK(access(motor->fmu, R_OK) == 0 && motor->fmu[0] == '/' && motor->inner == NULL);
  CHECK_STR(motor->type, "application/x-fmu-sharedlibrary");
  const cpli_ssp_element* spare = element(root, "spare");
  CHECK(spare->source == NULL && spare->fmu == NULL && spare->inner == NULL);
  CHECK_INT(spare->implementation, CPLI_SSP_ANY);
  CHECK(element(root, "twin")->inner == element(root, "sub"));
  CHECK_STR(element(root, "file")->inner->name, "I");
  CHECK_STR(element(root, "file")->inner->file->path, "all.ssp/inner.ssd");
  CHECK_STR(element(root, "pack")->inner->name, "B");
  CHECK_STR(element(root, "pack")->inner->file->path, "all.ssp/resources/sub.ssp/B.ssd");
  const cpli_ssp_element* modelica = element(root, "modelica");
  CHECK(modelica->fmu == NULL && modelica->inner == NULL);
  CHECK_STR(modelica->type, "text/x-modelica; path=A.B");
  const cpli_ssp_element* bus = element(root, "bus");
  CHECK_INT(bus->kind, CPLI_SSP_DICTIONARY_REFERENCE);
  CHECK_STR(bus->dictionary, "signals");
  CHECK_INT(element(root, "sub")->kind, CPLI_SSP_SYSTEM);
  // root, 8 elements, the bus in sub; twin has sub and its bus, file and pack a system each
  CHECK_INT(root->total, 1 + 8 + 1 + 2 + 1 + 1);
  CHECK_INT(root->levels, 4);
  cpli_ssp_close(ssp);
}

static void reads_connections(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  const cpli_ssp_connection* c = ssp->system->connections;
  CHECK_INT(ssp->system->n_connections, 6);
  CHECK(c[0].start.element == NULL);
  CHECK_STR(c[0].start.connector, "in put");
  CHECK_STR(c[0].end.element, "motor");
  CHECK_INT(c[0].transform.kind, CPLI_SSP_LINEAR);
  CHECK_NEAR(c[0].transform.factor, 1e-3, 0);
  CHECK_NEAR(c[0].transform.offset, 0, 0);
  CHECK(c[0].transform.keep_units && !c[1].transform.keep_units);
  CHECK_INT(c[1].transform.kind, CPLI_SSP_IDENTITY);
  CHECK_INT(c[2].start.n_indices, 3);
  CHECK(c[2].start.indices[0] == 3 && c[2].start.indices[2] == 2);
  CHECK(c[2].end.n_indices == 1 && c[2].end.indices[0] == 2);
  CHECK_INT(c[3].transform.kind, CPLI_SSP_BOOLEAN_MAP);
  CHECK_INT(c[3].transform.n_entries, 2);
  CHECK_STR(c[3].transform.entries[1].target, "1");
  CHECK_INT(c[4].transform.kind, CPLI_SSP_INTEGER_MAP);
  CHECK_STR(c[4].transform.entries[0].target, "18446744073709551615");
  CHECK_INT(c[5].transform.kind, CPLI_SSP_ENUMERATION_MAP);
  CHECK_STR(c[5].transform.entries[0].source, "first");
  cpli_ssp_close(ssp);
}

static void reads_bindings(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  CHECK_INT(ssp->system->n_bindings, 2);
  const cpli_ssp_binding* b = ssp->system->bindings;
  CHECK_STR(b[0].prefix, "motor.");
  CHECK_STR(b[0].set->name, "values");
  CHECK_STR(b[0].set->file->path, "all.ssp/resources/a b.ssv");
  CHECK_STR(b[0].mapping->file->path, "all.ssp/resources/m.ssm");
  CHECK_INT(b[0].mapping->n_entries, 2);
  CHECK_STR(b[0].mapping->entries[1].source, "motor.i");
  CHECK_INT(b[0].mapping->entries[1].transform.kind, CPLI_SSP_INTEGER_MAP);

  static const struct {
    const char* name;
    cpl_type type;
    cpl_width width;
    size_t n;
    const char *first, *last;
  } expected[] = {
      {"r", CPL_REAL, CPL_WIDTH_OWN, 1, "1e-3", "1e-3"},
      {"f64", CPL_REAL, CPL_WIDTH_FLOAT64, 1, "INF", "INF"},
      {"f32", CPL_REAL, CPL_WIDTH_FLOAT32, 6, "1", "6"},
      {"i", CPL_INTEGER, CPL_WIDTH_OWN, 1, "-7", "-7"},
      {"i8", CPL_INTEGER, CPL_WIDTH_INT8, 1, "-128", "-128"},
      {"u64", CPL_INTEGER, CPL_WIDTH_UINT64, 1, "18446744073709551615", "18446744073709551615"},
      {"b", CPL_BOOLEAN, CPL_WIDTH_OWN, 2, "true", "0"},
      {"s", CPL_STRING, CPL_WIDTH_OWN, 1, " with blanks ", " with blanks "},
      {"ss", CPL_STRING, CPL_WIDTH_OWN, 2, "a b", ""},
      {"e", CPL_ENUMERATION, CPL_WIDTH_OWN, 1, "low", "low"},
      {"bin", CPL_BINARY, CPL_WIDTH_OWN, 1, "00fF", "00fF"},
      {"bins", CPL_BINARY, CPL_WIDTH_OWN, 1, "01", "01"},
  };
  for (size_t i = 0; i < CPLI_COUNT(expected); i++) {
    const cpli_ssp_parameter* p = parameter(b[0].set, expected[i].name);
    CHECK_INT(p->type.type, expected[i].type);
    CHECK_INT(p->type.width, expected[i].width);
    CHECK_INT(p->n_values, expected[i].n);
    CHECK_STR(p->values[0], expected[i].first);
    CHECK_STR(p->values[p->n_values - 1], expected[i].last);
  }
  CHECK_INT(parameter(b[0].set, "f32")->n_dimensions, 2);
  CHECK_STR(parameter(b[0].set, "r")->type.unit, "mm");
  CHECK_NEAR(cpli_ssp_find_unit(b[0].set->file, "mm")->factor, 1e-3, 0);

  // inline: units are those of the inner element
  CHECK_STR(b[1].set->name, "inline");
  CHECK_STR(b[1].prefix, "");
  CHECK_NEAR(cpli_ssp_find_unit(b[1].set->file, "degC")->offset, 273.15, 0);
  CHECK(cpli_ssp_find_unit(b[1].set->file, "bar") == NULL);
  CHECK_INT(b[1].mapping->entries[0].transform.kind, CPLI_SSP_LINEAR);
  CHECK(b[1].mapping->entries[0].transform.keep_units);

  // inside the FMU
  const cpli_ssp_element* motor = element(ssp->system, "motor");
  CHECK_INT(motor->n_bindings, 1);
  CHECK_STR(motor->bindings[0].set->parameters[0].values[0], "7");
  CHECK_STR(motor->bindings[0].set->file->path, "all.ssp/resources/m.fmu/resources/inside.ssv");
  CHECK(motor->bindings[0].mapping == NULL);
  cpli_ssp_close(ssp);
}

static void reads_dictionaries(void** state) {
  cpl_context* ctx = *state;
  make_everything("all.ssp");
  cpli_ssp* ssp = open_fine(ctx, "all.ssp");
  CHECK_INT(ssp->system->n_dictionaries, 2);
  const cpli_ssp_dictionary* d = ssp->system->dictionaries;
  CHECK_STR(d[0].name, "signals");
  CHECK_INT(d[0].n_entries, 2);
  CHECK_STR(d[0].entries[0].type.unit, "rpm");
  CHECK_INT(d[0].entries[0].n_dimensions, 1);
  CHECK_STR(d[0].entries[1].type.enumeration, "gears");
  CHECK_INT(cpli_ssp_find_enumeration(d[0].file, "gears")->items[0].value, -1);
  CHECK_STR(d[1].entries[0].name, "x");
  CHECK_INT(d[1].entries[0].type.type, CPL_BOOLEAN);
  cpli_ssp_close(ssp);
}

static void files_of_version_1_are_read(void** state) {
  cpl_context* ctx = *state;
  make_ssp("<ssd:SystemStructureDescription version='1.0' name='old'" SPACES
           "><ssd:System name='root'>" ELEMENTS(COMPONENT(
               "a", CONNECTORS(OUT("y")))) "</ssd:System></ssd:SystemStructureDescription>",
           NULL, NULL);
  cpli_ssp* ssp = open_fine(ctx, "t.ssp");
  CHECK_STR(ssp->version, "1.0");
  CHECK(isnan(ssp->start) && isnan(ssp->stop));
  cpli_ssp_close(ssp);
}

//------------------------------------ names ------------------------------------

#define PAIR                                                           \
  ELEMENTS("\n" COMPONENT("pump", CONNECTORS(OUT("flow") IN("speed"))) \
               COMPONENT("tank", CONNECTORS(IN("inflow"))))

static void names_must_fit_together(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *ssd, *findings;
  } cases[] = {
      {SYSTEM(PAIR CONNECTIONS("\n<ssd:Connection startElement='pomp' startConnector='flow'"
                               " endElement='tank' endConnector='inflow'/>")),
       "E t.ssp/SystemStructure.ssd:3: connection: system 'root' has no element 'pomp' (did you "
       "mean pump?)\n"},
      {SYSTEM(PAIR CONNECTIONS("<ssd:Connection startElement='pump' startConnector='flow'\n"
                               " endElement='tank' endConnector='inflo'/>")),
       "E t.ssp/SystemStructure.ssd:2: connection: 'tank' has no connector 'inflo' (did you mean "
       "inflow?)\n"},
      {SYSTEM(PAIR CONNECTIONS("<ssd:Connection startElement='pump' startConnector='flow'"
                               " endConnector='y'/>")),
       "E t.ssp/SystemStructure.ssd:2: connection: 'root' has no connector 'y'\n"},
      {SYSTEM(ELEMENTS(COMPONENT("a", "") "\n" COMPONENT("a", ""))),
       "E t.ssp/SystemStructure.ssd:2: system 'root' has two elements 'a', also in line 1\n"},
      {SYSTEM(CONNECTORS(IN("u") "\n" OUT("u"))),
       "E t.ssp/SystemStructure.ssd:2: 'root' has two connectors 'u', also in line 1\n"},
      {SYSTEM(CONNECTORS(IN("u") "<ssd:Connector name='v' kind='input'><ssc:Real/>"
                                 "<ssc:Dimension sizeConnector='m'/></ssd:Connector>")),
       "E t.ssp/SystemStructure.ssd:1: connector 'v': 'root' has no connector 'm' (did you mean u "
       "or v?)\n"},
      {SYSTEM(CONNECTORS(
           IN("clock") "<ssd:Connector name='v' kind='input'><ssc:Real/><ssd:Clock name='clk'/>"
                       "</ssd:Connector>")),
       "E t.ssp/SystemStructure.ssd:1: connector 'v': 'root' has no connector 'clk' (did you mean "
       "clock?)\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='w' kind='input'><ssc:Real/></ssd:Connector>"
                         "<ssd:Connector name='v' kind='input'><ssc:Real/><ssd:Clock name='w'/>"
                         "</ssd:Connector>")),
       "E t.ssp/SystemStructure.ssd:1: connector 'v': 'w' is not a clock\n"},
      {SYSTEM(ELEMENTS("<ssd:SignalDictionaryReference name='bus' dictionary='d'/>")),
       "E t.ssp/SystemStructure.ssd:1: 'bus': there is no signal dictionary 'd' in the systems "
       "around\n"},
      {SYSTEM(ELEMENTS("<ssd:SignalDictionaryReference name='bus' dictionary='d'>" CONNECTORS(
           IN("sped")) "</ssd:SignalDictionaryReference>") "<ssd:SignalDictionaries><ssd:"
                                                           "SignalDictionary "
                                                           "name='d'><ssb:SignalDictionary "
                                                           "version='1.0'>\n<ssb:DictionaryEntry "
                                                           "name='speed'><ssc:Real/></"
                                                           "ssb:DictionaryEntry>"
                                                           "</ssb:SignalDictionary></"
                                                           "ssd:SignalDictionary></"
                                                           "ssd:SignalDictionaries>"),
       "E t.ssp/SystemStructure.ssd:1: 'bus': the signal dictionary 'd' has no entry 'sped' (did "
       "you mean speed?)\n"},
      {SYSTEM("<ssd:SignalDictionaries><ssd:SignalDictionary name='d'><ssb:SignalDictionary "
              "version='1.0'/></ssd:SignalDictionary>\n<ssd:SignalDictionary name='d'>"
              "<ssb:SignalDictionary version='1.0'/></ssd:SignalDictionary>"
              "</ssd:SignalDictionaries>"),
       "E t.ssp/SystemStructure.ssd:2: SignalDictionary 'd' is there twice, also in line 1\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='w' kind='input'><ssc:Real unit='barr'/>"
                         "</ssd:Connector><ssd:Connector name='x' kind='input'>"
                         "<ssc:Real unit='barr'/></ssd:Connector>")),
       "W t.ssp/SystemStructure.ssd:1: the file does not define the unit 'barr'\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='w' kind='input'><ssc:Enumeration name='g'/>"
                         "</ssd:Connector>")),
       "W t.ssp/SystemStructure.ssd:1: the file does not define the enumeration 'g'\n"},
      {SSD("<ssd:System name='r'/><ssd:Units><ssc:Unit name='a'><ssc:BaseUnit/></ssc:Unit>\n"
           "<ssc:Unit name='a'><ssc:BaseUnit factor='0'/></ssc:Unit></ssd:Units>"),
       "E t.ssp/SystemStructure.ssd:2: unit 'a' is there twice, also in line 1\n"
       "E t.ssp/SystemStructure.ssd:2: unit 'a': factor and offset must be finite, and factor not "
       "0\n"},
      {SSD("<ssd:System name='r'/><ssd:Units><ssc:Unit name='a'><ssc:BaseUnit m='300'/></ssc:Unit>"
           "</ssd:Units>"),
       "E t.ssp/SystemStructure.ssd:1: unit 'a': the exponent of m is too large\n"},
      {SSD("<ssd:System name='r'/><ssd:DefaultExperiment startTime='3' stopTime='1'/>"),
       "W t.ssp/SystemStructure.ssd:1: DefaultExperiment: stopTime must be after startTime, which "
       "must be finite; both are ignored\n"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    make_ssp(cases[i].ssd, NULL, NULL);
    cpli_ssp_close(open_found(ctx, "t.ssp", cases[i].findings));
  }
}

static void indices_must_fit(void** state) {
  cpl_context* ctx = *state;
#define ARRAY(connection)                                                                    \
  SYSTEM(                                                                                    \
      CONNECTORS("<ssd:Connector name='v' kind='input'><ssc:Real/><ssc:Dimension size='3'/>" \
                 "<ssc:Dimension size='2'/></ssd:Connector>" OUT("y"))                       \
          CONNECTIONS("<ssd:Connection startConnector='v' endConnector='y' " connection "/>"))
  static const struct {
    const char *ssd, *findings;
  } cases[] = {
      {ARRAY("startIndices='3 2'"), ""},
      {ARRAY("startIndices='3'"),
       "E t.ssp/SystemStructure.ssd:1: connector 'v' has 2 dimensions, but 1 indices are given\n"},
      {ARRAY("startIndices='4 1'"),
       "E t.ssp/SystemStructure.ssd:1: index 4 is outside dimension 1 of connector 'v', whose size "
       "is 3\n"},
      {ARRAY("endIndices='1'"),
       "E t.ssp/SystemStructure.ssd:1: connector 'y' has 0 dimensions, but 1 indices are given\n"},
      {ARRAY("startIndices='a'"),
       "E t.ssp/SystemStructure.ssd:1: Connection: startIndices=\"a\": expected an integer that is "
       "not negative, or several of them\n"
       "E t.ssp/SystemStructure.ssd:1: connector 'v' has 2 dimensions, but 0 indices are given\n"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    make_ssp(cases[i].ssd, NULL, NULL);
    cpli_ssp_close(open_found(ctx, "t.ssp", cases[i].findings));
  }
}

static void bindings_must_have_content(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *ssd, *name, *text, *findings;
  } cases[] = {
      {SYSTEM(BINDING("", "")), NULL, NULL,
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root' has neither a source nor a "
       "ParameterSet inside\n"},
      {SYSTEM(BINDING("source='a.ssv'", "<ssd:ParameterValues>" SSV("") "</ssd:ParameterValues>")),
       "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root' has both a source and a "
       "ParameterSet inside\n"},
      {SYSTEM(BINDING("source='b.ssv'", "")), "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root': there is no file t.ssp/b.ssv "
       "(did you mean a.ssv?)\n"},
      {SYSTEM(BINDING("source='a.csv' type='text/csv'", "")), "a.csv", "x",
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root': the type 'text/csv' is not "
       "known; only application/x-ssp-parameter-set can be read\n"},
      {SYSTEM(BINDING("source='a.ssv' sourceBase='component'", "")), "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root': sourceBase=\"component\" "
       "requires a component with a source\n"},
      {SYSTEM(ELEMENTS(COMPONENT("m", BINDING("source='x.ssv' sourceBase='component'", "")))), NULL,
       NULL,
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'm': there is no file "
       "t.ssp/m.fmu/x.ssv\n"},
      {SYSTEM(BINDING("source='a.ssv'", "<ssd:ParameterMapping/>")), "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:1: ParameterMapping of 'root' has neither a source nor a "
       "ParameterMapping inside\n"},
      {SYSTEM(BINDING("source='a.ssv#x'", "")), "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:1: ParameterBinding of 'root': source 'a.ssv#x': a fragment "
       "('#') has no meaning here\n"},
      {SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv", "<ssv:ParameterSet",
       "E t.ssp/a.ssv:1: not well-formed XML: unclosed token\n"},
      {SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv", SSM(""),
       "E t.ssp/a.ssv:1: the root element is 'ParameterMapping' instead of 'ParameterSet'\n"},
      {SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv",
       SSV("<ssv:Parameter name='p'><ssv:Real value='1'/></ssv:Parameter>\n"
           "<ssv:Parameter name='p'><ssv:Real value='2'/></ssv:Parameter>"),
       "W t.ssp/a.ssv:2: parameter 'p' is there twice, also in line 1; the last value applies\n"},
      {SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv",
       SSV("<ssv:Parameter name='p'><ssv:Real value='1 2'/><ssc:Dimension size='3'/>"
           "</ssv:Parameter><ssv:Parameter name='q'><ssv:String/></ssv:Parameter>"),
       "E t.ssp/a.ssv:1: parameter 'p' has 2 values, its dimensions require 3\n"
       "E t.ssp/a.ssv:1: parameter 'q' has no value\n"},
      {SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv",
       "<ssv:ParameterSet version='2.0' name='set'" SPACES "><ssv:Parameters>"
       "<ssv:Parameter name='p'><ssv:Enumeration value='lo' name='e'/></ssv:Parameter>"
       "<ssv:Parameter name='q'><ssv:Enumeration value='1' name='e'/></ssv:Parameter>"
       "</ssv:Parameters><ssv:Enumerations><ssc:Enumeration name='e'><ssc:Item name='low'"
       " value='1'/></ssc:Enumeration></ssv:Enumerations></ssv:ParameterSet>",
       "E t.ssp/a.ssv:1: parameter 'p': enumeration 'e' has no item 'lo' (did you mean low?)\n"},
      {SYSTEM(BINDING(
           "source='a.ssv'",
           "<ssd:ParameterMapping>" SSM(
               "<ssm:MappingEntry source='a' target='x'/>\n"
               "<ssm:MappingEntry source='b' target='x'>"
               "<ssc:IntegerMappingTransformation><ssc:MapEntry source='1' target='2'/>"
               "<ssc:MapEntry source='1' target='3'/>"
               "</ssc:IntegerMappingTransformation></ssm:MappingEntry>") "</"
                                                                         "ssd:ParameterMapping>")),
       "a.ssv", SSV(""),
       "E t.ssp/SystemStructure.ssd:2: the source '1' is there twice, also in line 2\n"
       "E t.ssp/SystemStructure.ssd:2: the target 'x' is there twice, also in line 1\n"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    make_ssp(cases[i].ssd, cases[i].name, cases[i].text);
    cpli_ssp_close(open_found(ctx, "t.ssp", cases[i].findings));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_belongs_to_the_whole),
      cmocka_unit_test(reads_connectors),
      cmocka_unit_test(reads_elements),
      cmocka_unit_test(reads_connections),
      cmocka_unit_test(reads_bindings),
      cmocka_unit_test(reads_dictionaries),
      cmocka_unit_test(files_of_version_1_are_read),
      cmocka_unit_test(names_must_fit_together),
      cmocka_unit_test(indices_must_fit),
      cmocka_unit_test(bindings_must_have_content),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
