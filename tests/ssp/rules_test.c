// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Each rule of the schemas with the message about a file that breaks it.
#include "packages.h"

#define OTHER_SPACE                                                       \
  "<ssd:SystemStructureDescription version='1.0' name='n'"                \
  " xmlns:ssd='http://ssp-standard.org/SSP2/SystemStructureDescription'>" \
  "<ssd:System name='r'/></ssd:SystemStructureDescription>"
#define VERSION(version, content)                                                                \
  "<ssd:SystemStructureDescription " version " name='n'" SPACES "><ssd:System name='r'>" content \
  "</ssd:System></ssd:SystemStructureDescription>"
#define AT "t.ssp/SystemStructure.ssd:1: "
#define CONNECTOR(content) \
  SYSTEM(CONNECTORS("<ssd:Connector name='u' kind='input'>" content "</ssd:Connector>"))
#define TRANSFORM(content)                         \
  SYSTEM(CONNECTORS(IN("a") OUT("b")) CONNECTIONS( \
      "<ssd:Connection startConnector='a' endConnector='b'>" content "</ssd:Connection>"))

typedef struct rule_case {
  const char *ssd, *findings;
} rule_case;

static void check_cases(cpl_context* ctx, const rule_case* cases, size_t n) {
  for (size_t i = 0; i < n; i++) {
    make_ssp(cases[i].ssd, "m.ssv", SSV(""));
    cpli_ssp_close(open_found(ctx, "t.ssp", cases[i].findings));
  }
}

static void name_spaces_are_checked(void** state) {
  static const rule_case cases[] = {
      {OTHER_SPACE, "E " AT "'SystemStructureDescription' has the name space "
                    "\"http://ssp-standard.org/SSP2/SystemStructureDescription\" instead of "
                    "\"http://ssp-standard.org/SSP1/SystemStructureDescription\"\n"},
      {"<SystemStructureDescription version='1.0' name='n'/>",
       "E " AT "'SystemStructureDescription' has the name space \"\" instead of "
       "\"http://ssp-standard.org/SSP1/SystemStructureDescription\"\n"},
      {SSV(""), "E " AT "the root element is 'ParameterSet' instead of "
                "'SystemStructureDescription'\n"},
      {CONNECTOR("<ssd:Real/>"),
       "E " AT "Connector 'u': 'Real' has the name space "
       "\"http://ssp-standard.org/SSP1/SystemStructureDescription\" instead of "
       "\"http://ssp-standard.org/SSP1/SystemStructureCommon\" (ssc)\n"},
      {SYSTEM("<Connectors/>"),
       "E " AT "System 'root': 'Connectors' has the name space \"\" instead of "
       "\"http://ssp-standard.org/SSP1/SystemStructureDescription\" (ssd)\n"},
      {SYSTEM(BINDING("", "<ssd:ParameterValues><ParameterSet/></ssd:ParameterValues>")),
       "E " AT "ParameterValues: 'ParameterSet' has the name space \"\" instead of "
       "\"http://ssp-standard.org/SSP1/SystemStructureParameterValues\" (ssv)\n"
       "E " AT "ParameterBinding of 'root' has neither a source nor a ParameterSet inside\n"},
      // any prefix will do
      {"<SystemStructureDescription version='1.0' name='n' "
       "xmlns='http://ssp-standard.org/SSP1/SystemStructureDescription'><System name='r'>"
       "<Connectors><Connector name='u' kind='input'><z:Real "
       "xmlns:z='http://ssp-standard.org/SSP1/SystemStructureCommon'/></Connector></Connectors>"
       "</System></SystemStructureDescription>",
       ""},
  };
  check_cases(*state, cases, CPLI_COUNT(cases));
}

static void unknown_names_are_errors(void** state) {
  static const rule_case cases[] = {
      {SYSTEM("<ssd:Element/>"),
       "E " AT "System 'root': unknown element 'Element' (did you mean Elements?)\n"},
      {SYSTEM("\n<ssd:Connectors><ssd:Conector name='u'/></ssd:Connectors>"),
       "E t.ssp/SystemStructure.ssd:2: Connectors: unknown element 'Conector' (did you mean "
       "Connector?)\n"
       "W t.ssp/SystemStructure.ssd:2: Connectors is empty; it should be left out\n"},
      {SYSTEM(ELEMENTS("<ssd:Component name='a' sorce='m.fmu'/>")),
       "E " AT "Component 'a': unknown attribute 'sorce' (did you mean source?)\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='u' kind='input' causality='input'/>")),
       "E " AT "Connector 'u': unknown attribute 'causality'\n"},
      {SYSTEM("<o:Extra xmlns:o='u:o'><o:More/></o:Extra>"),
       "W " AT "System 'root': 'Extra' is not part of the standard and is ignored\n"},
      {SYSTEM("text"), "W " AT "System 'root': the text in it is ignored\n"},
      {SYSTEM("<!-- comment --> \n\t"), ""},
      {"<ssd:SystemStructureDescription version='1.0' name='n' o:x='1' xmlns:o='u:o'" SPACES
       "><ssd:System name='r' o:y='2'/></ssd:SystemStructureDescription>",
       ""},
  };
  check_cases(*state, cases, CPLI_COUNT(cases));
}

static void versions_are_checked(void** state) {
  static const rule_case cases[] = {
      {VERSION("version='1.0'", ""), ""},
      {VERSION("version='1.1'", ""), ""},
      {VERSION("version='2.0'", ""), ""},
      {VERSION("version='3.0'", ""), "W " AT "version '3.0' is not known; it is read as 2.0\n"},
      {VERSION("version='Draft'", ""), "W " AT "version 'Draft' is not known; it is read as 2.0\n"},
      {VERSION("", ""),
       "E " AT "SystemStructureDescription 'n': the attribute 'version' is missing\n"},
      {VERSION("version='1.0'",
               CONNECTORS("<ssd:Connector name='u' kind='input'><ssc:Int8/></ssd:Connector>")),
       "W " AT "Connector 'u': 'Int8' belongs to version 2.0 of the standard\n"},
      {VERSION("version='1.0'", "<ssc:MetaData kind='general' type='t'/>"),
       "W " AT "System 'r': 'MetaData' belongs to version 2.0 of the standard\n"},
      {VERSION("version='1.0'", ELEMENTS("<ssd:Component name='a'/>")),
       "W " AT "Component 'a': the attribute 'source' is missing, which requires "
       "version=\"2.0\"\n"},
      // an inline file has a version of its own
      {VERSION("version='1.0'",
               BINDING("",
                       "<ssd:ParameterValues><ssv:ParameterSet version='2.0' name='s'>"
                       "<ssv:Parameters><ssv:Parameter name='p'><ssv:Int8 value='1'/>"
                       "</ssv:Parameter></ssv:Parameters></ssv:ParameterSet>"
                       "</ssd:ParameterValues>")),
       ""},
  };
  check_cases(*state, cases, CPLI_COUNT(cases));
}

static void numbers_of_children_are_checked(void** state) {
  static const rule_case cases[] = {
      {SSD(""), "E " AT "SystemStructureDescription 'test': System is missing\n"},
      {SSD("<ssd:System name='a'/><ssd:System name='b'/>"),
       "E " AT "SystemStructureDescription 'test': 'System' is one too many\n"},
      {SYSTEM(CONNECTORS(IN("u")) CONNECTORS(IN("v"))),
       "E " AT "System 'root': 'Connectors' is one too many\n"},
      {SYSTEM("<ssd:Connectors/><ssd:Elements/>"),
       "W " AT "Connectors is empty; it should be left out\n"
       "W " AT "Elements is empty; it should be left out\n"},
      {SYSTEM(BINDING("source='m.ssv'", "") BINDING("source='m.ssv'", "")),
       "W " AT "System 'root': 'ParameterBindings' is one too many\n"},
      {CONNECTOR("<ssc:Real/><ssc:Integer/>"),
       "E " AT "Connector 'u': 'Integer' is one too many\n"},
      {TRANSFORM("<ssc:LinearTransformation/><ssc:BooleanMappingTransformation>"
                 "<ssc:MapEntry source='1' target='0'/></ssc:BooleanMappingTransformation>"),
       "E " AT "Connection: 'BooleanMappingTransformation' is one too many\n"},
      {TRANSFORM("<ssc:BooleanMappingTransformation/>"),
       "E " AT "BooleanMappingTransformation: MapEntry is missing\n"},
      {SSD("<ssd:System name='a'/><ssd:Units><ssc:Unit name='m'/></ssd:Units>"),
       "E " AT "Unit 'm': BaseUnit is missing\n"},
      {SSD("<ssd:System name='a'/><ssd:Enumerations><ssc:Enumeration name='m'/>"
           "</ssd:Enumerations>"),
       "E " AT "Enumeration 'm': Item is missing\n"},
      {SYSTEM("<ssd:SignalDictionaries><ssd:SignalDictionary name='d'>" SSB(
           "<ssb:DictionaryEntry name='e'/>") "</ssd:SignalDictionary></ssd:SignalDictionaries>"),
       "E " AT "DictionaryEntry 'e': a type such as Real is missing\n"},
      {SYSTEM(BINDING(
           "", "<ssd:ParameterValues>" SSV("<ssv:Parameter name='p'/>") "</ssd:ParameterValues>")),
       "E " AT "Parameter 'p': a type such as Real is missing\n"},
      {SYSTEM(ELEMENTS("<ssd:System name='a'/>") CONNECTORS(IN("u"))),
       "W " AT "System 'root': 'Connectors' must be before 'Elements'\n"},
      {CONNECTOR("<ssd:ConnectorGeometry x='1' y='1'/><ssc:Real/>"),
       "W " AT "Connector 'u': 'Real' must be before 'ConnectorGeometry'\n"},
      {SYSTEM(ELEMENTS("<ssd:System name='a'/>" COMPONENT("b", "") "<ssd:System name='c'/>")), ""},
  };
  check_cases(*state, cases, CPLI_COUNT(cases));
}

static void attributes_are_checked(void** state) {
  static const rule_case cases[] = {
      {SYSTEM(CONNECTORS("<ssd:Connector kind='input'/>")),
       "E " AT "Connector: the attribute 'name' is missing\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='u'/>")),
       "E " AT "Connector 'u': the attribute 'kind' is missing\n"},
      {SYSTEM(CONNECTORS("<ssd:Connector name='u' kind='inputs'/>")),
       "E " AT "Connector 'u': kind=\"inputs\": expected input, output, parameter, "
       "calculatedParameter, structuralParameter, constant, local, inout or unspecified (did you "
       "mean input or inout?)\n"},
      {SYSTEM(ELEMENTS("<ssd:System name=''/>")),
       "E " AT "System '': name=\"\": expected a text that is not empty\n"},
      {SYSTEM(ELEMENTS("<ssd:Component name='a' source='m.fmu' implementation='coSimulation'/>")),
       "E " AT "Component 'a': implementation=\"coSimulation\": expected any, ModelExchange, "
       "CoSimulation or ScheduledExecution (did you mean CoSimulation?)\n"},
      {SYSTEM(CONNECTIONS("<ssd:Connection/>")),
       "E " AT "Connection: the attribute 'startConnector' is missing\n"
       "E " AT "Connection: the attribute 'endConnector' is missing\n"},
      {TRANSFORM("<ssc:LinearTransformation factor='1,5' offset=''/>"),
       "E " AT "LinearTransformation: factor=\"1,5\": expected a number\n"
       "E " AT "LinearTransformation: offset=\"\": expected a number\n"},
      {TRANSFORM("<ssc:LinearTransformation factor='INF'/>"),
       "E " AT "LinearTransformation: factor and offset must be finite\n"},
      {TRANSFORM("<ssc:BooleanMappingTransformation><ssc:MapEntry source='yes' target='0'/>"
                 "</ssc:BooleanMappingTransformation>"),
       "E " AT "MapEntry: source=\"yes\": expected true or false\n"},
      {TRANSFORM("<ssc:IntegerMappingTransformation><ssc:MapEntry source='1.5' "
                 "target='18446744073709551616'/></ssc:IntegerMappingTransformation>"),
       "E " AT "MapEntry: source=\"1.5\": expected an integer\n"
       "E " AT "MapEntry: target=\"18446744073709551616\": expected an integer\n"},
      {TRANSFORM("<ssc:EnumerationMappingTransformation><ssc:MapEntry source='a'/>"
                 "</ssc:EnumerationMappingTransformation>"),
       "E " AT "MapEntry: the attribute 'target' is missing\n"},
      {TRANSFORM("<ssc:BooleanMappingTransformation><ssc:MapEntry source='true' target='0'/>\n"
                 "<ssc:MapEntry source='1' target='1'/></ssc:BooleanMappingTransformation>"),
       "E t.ssp/SystemStructure.ssd:2: the source 'true' is there twice, also in line 1\n"},
      {CONNECTOR("<ssc:Enumeration/>"), "E " AT "Enumeration: the attribute 'name' is missing\n"},
      {CONNECTOR("<ssc:Real/><ssc:Dimension size='-1'/>"),
       "E " AT "Dimension: size=\"-1\": expected an integer that is not negative\n"},
      {CONNECTOR("<ssc:Real/><ssc:Dimension size='1' sizeConnector='u'/>"),
       "E " AT "a Dimension has either size or sizeConnector\n"},
      {CONNECTOR("<ssc:Integer unit='m'/>"), "E " AT "Integer: unknown attribute 'unit'\n"},
      {SYSTEM("<ssd:SystemGeometry x1='0' y1='0' x2='1'/>"),
       "E " AT "SystemGeometry: the attribute 'y2' is missing\n"},
      {SYSTEM("<ssd:ElementGeometry x1='0' y1='0' x2='1' y2='1' iconFlip='maybe'/>"),
       "E " AT "ElementGeometry: iconFlip=\"maybe\": expected true or false\n"},
      {SYSTEM("<ssd:Annotations><ssc:Annotation><x/></ssc:Annotation></ssd:Annotations>"),
       "E " AT "Annotation: the attribute 'type' is missing\n"},
      {SSD("<ssd:System name='r'/><ssd:DefaultExperiment startTime='now'/>"),
       "E " AT "DefaultExperiment: startTime=\"now\": expected a number\n"},
      {SSD("<ssd:System name='r'/><ssd:DefaultExperiment stepSize='1'/>"),
       "E " AT "DefaultExperiment: unknown attribute 'stepSize' (did you mean stopTime?)\n"},
      {SSD("<ssd:System name='r'/><ssd:Units><ssc:Unit name='m'><ssc:BaseUnit m='1.5'/></ssc:Unit>"
           "</ssd:Units>"),
       "E " AT "BaseUnit: m=\"1.5\": expected an integer of 32 bits\n"},
      {SYSTEM(ELEMENTS("<ssd:System name='a' id='i'/>\n<ssd:System name='b' id='i'/>")),
       "E t.ssp/SystemStructure.ssd:2: the id 'i' is there twice, also in line 1\n"},
      {SYSTEM(BINDING("source='a.ssv' sourceBase='FMU'", "")),
       "E " AT "ParameterBinding: sourceBase=\"FMU\": expected SSD or component\n"
       "E " AT "ParameterBinding of 'root': there is no file t.ssp/a.ssv (did you mean m.ssv?)\n"},
  };
  check_cases(*state, cases, CPLI_COUNT(cases));
}

static void values_have_their_type(void** state) {
  cpl_context* ctx = *state;
  static const struct {
    const char *value, *message;  // NULL: fine
  } cases[] = {
      {"<ssv:Real value='1'/>", NULL},
      {"<ssv:Real value=' -1e-3 '/>", NULL},
      {"<ssv:Real value='1e'/>", "Real: value=\"1e\": expected a number, or several of them"},
      {"<ssv:Real value='0x10'/>", "Real: value=\"0x10\": expected a number, or several of them"},
      {"<ssv:Real/>", "Real: the attribute 'value' is missing"},
      {"<ssv:Integer value='1.0'/>",
       "Integer: value=\"1.0\": expected an integer of 32 bits, or several of them"},
      {"<ssv:Integer value='2147483648'/>",
       "Integer: value=\"2147483648\": expected an integer of 32 bits, or several of them"},
      {"<ssv:Int8 value='127 128'/>",
       "Int8: value=\"127 128\": expected an integer from -128 to 127, or several of them"},
      {"<ssv:UInt8 value='-1'/>",
       "UInt8: value=\"-1\": expected an integer from 0 to 255, or several of them"},
      {"<ssv:Int16 value='32768'/>",
       "Int16: value=\"32768\": expected an integer from -32768 to 32767, or several of them"},
      {"<ssv:UInt16 value='65536'/>",
       "UInt16: value=\"65536\": expected an integer from 0 to 65535, or several of them"},
      {"<ssv:UInt32 value='4294967296'/>",
       "UInt32: value=\"4294967296\": expected an integer from 0 to 4294967295, or several of "
       "them"},
      {"<ssv:Int64 value='9223372036854775808'/>",
       "Int64: value=\"9223372036854775808\": expected an integer of 64 bits, or several of them"},
      {"<ssv:UInt64 value='000018446744073709551615'/>", NULL},
      {"<ssv:UInt64 value='18446744073709551616'/>",
       "UInt64: value=\"18446744073709551616\": expected an integer from 0 to "
       "18446744073709551615, or several of them"},
      {"<ssv:Boolean value='True'/>",
       "Boolean: value=\"True\": expected true or false, or several of them"},
      {"<ssv:Binary value='0g'/>",
       "Binary: value=\"0g\": expected hexadecimal digits, two per byte"},
      {"<ssv:Binary value='012'/>",
       "Binary: value=\"012\": expected hexadecimal digits, two per byte"},
      {"<ssv:Binary><ssv:Value value='x'/></ssv:Binary>",
       "Value: value=\"x\": expected hexadecimal digits, two per byte"},
      {"<ssv:String value='&#10;'/>", NULL},
      {"<ssv:Text value='a'/>", "Parameter 'p': unknown element 'Text'"},
  };
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    char ssv[2048];
    snprintf(ssv, sizeof ssv, SSV("<ssv:Parameter name='p'>%s</ssv:Parameter>"), cases[i].value);
    make_ssp(SYSTEM(BINDING("source='a.ssv'", "")), "a.ssv", ssv);
    cpli_ssp* ssp = NULL;
    cpl_status st = cpli_ssp_open(ctx, "t.ssp", NULL, NULL, &ssp);
    if (cases[i].message == NULL) {
      CHECK_OK(ctx, st);
    } else {
      CHECK_INT(st, CPL_ERR_INPUT);
      CHECK_CONTAINS(cpl_context_error(ctx), "t.ssp/a.ssv:1: ");
      CHECK_CONTAINS(cpl_context_error(ctx), cases[i].message);
    }
    cpli_ssp_close(ssp);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(name_spaces_are_checked), cmocka_unit_test(unknown_names_are_errors),
      cmocka_unit_test(versions_are_checked),    cmocka_unit_test(numbers_of_children_are_checked),
      cmocka_unit_test(attributes_are_checked),  cmocka_unit_test(values_have_their_type),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
