// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Small packages of SSP, made by the tests: archives and single files, with all elements of the
// standard or with one mistake. FMUs in them are archives without a model, since none is opened.
#pragma once

#include <errno.h>

#include "archive.h"
#include "ssp/ssp.h"

#define SPACES                                                                \
  " xmlns:ssd='http://ssp-standard.org/SSP1/SystemStructureDescription'"      \
  " xmlns:ssc='http://ssp-standard.org/SSP1/SystemStructureCommon'"           \
  " xmlns:ssv='http://ssp-standard.org/SSP1/SystemStructureParameterValues'"  \
  " xmlns:ssm='http://ssp-standard.org/SSP1/SystemStructureParameterMapping'" \
  " xmlns:ssb='http://ssp-standard.org/SSP1/SystemStructureSignalDictionary'"

// A whole .ssd of version 2.0 in one line, and one with a root system of that content.
#define SSD_NAMED(name, content)                                                     \
  "<ssd:SystemStructureDescription version='2.0' name='" name "'" SPACES ">" content \
  "</ssd:SystemStructureDescription>"
#define SSD(content)      SSD_NAMED("test", content)
#define SYSTEM(content)   SSD("<ssd:System name='root'>" content "</ssd:System>")
#define ELEMENTS(content) "<ssd:Elements>" content "</ssd:Elements>"
#define COMPONENT(name, content) \
  "<ssd:Component name='" name "' source='m.fmu'>" content "</ssd:Component>"
#define CONNECTORS(content)  "<ssd:Connectors>" content "</ssd:Connectors>"
#define CONNECTIONS(content) "<ssd:Connections>" content "</ssd:Connections>"
#define IN(name)             "<ssd:Connector name='" name "' kind='input'/>"
#define OUT(name)            "<ssd:Connector name='" name "' kind='output'/>"
#define SSV(content)                                                              \
  "<ssv:ParameterSet version='2.0' name='set'" SPACES "><ssv:Parameters>" content \
  "</ssv:Parameters></ssv:ParameterSet>"
#define SSM(content) \
  "<ssm:ParameterMapping version='2.0'" SPACES ">" content "</ssm:ParameterMapping>"
#define SSB(content) \
  "<ssb:SignalDictionary version='2.0'" SPACES ">" content "</ssb:SignalDictionary>"
#define BINDING(attributes, content)                                     \
  "<ssd:ParameterBindings><ssd:ParameterBinding " attributes ">" content \
  "</ssd:ParameterBinding></ssd:ParameterBindings>"

//------------------------------------ files ------------------------------------

static inline void write_text(const char* path, const char* text) {
  write_bytes(path, text, strlen(text));
}

static inline void make_folder(const char* path) {
  if (mkdir(path, 0700) != 0 && errno != EEXIST) fail_msg("%s: %s", path, strerror(errno));
}

// An archive as bytes, for one inside another. To be freed.
static inline char* archive_bytes(const archive_entry* entries, size_t* size) {
  make_archive("inner.tmp", entries);
  char* bytes = read_bytes("inner.tmp", size);
  remove("inner.tmp");
  return bytes;
}

// A package "t.ssp" of an .ssd, with an FMU m.fmu, and one more file. Nullable: name
static inline void make_ssp(const char* ssd, const char* name, const char* text) {
  size_t size;
  char* fmu = archive_bytes(
      (archive_entry[]){{"modelDescription.xml", "<x/>"},
                        {"resources/inside.ssv",
                         SSV("<ssv:Parameter name='k'><ssv:Real value='7'/></ssv:Parameter>")},
                        {NULL}},
      &size);
  make_archive(
      "t.ssp",
      (archive_entry[]){
          {"SystemStructure.ssd", ssd}, {"m.fmu", fmu, .size = size}, {name, text}, {NULL}});
  free(fmu);
}

//------------------------------------ findings ------------------------------------

// All findings as "E file:line: text\n" or "W ...".
typedef struct collected {
  char text[16384];
  size_t n;
  int errors, warnings;
  int stop_after;  // findings; 0: never
} collected;

static inline bool collect(void* user, bool is_error, const cpli_source_loc* loc,
                           const char* text) {
  collected* c = user;
  char where[CPLI_LOC_SIZE];
  c->n += (size_t)snprintf(c->text + c->n, sizeof c->text - c->n, "%s %s%s\n", is_error ? "E" : "W",
                           cpli_source_loc_text(loc, where), text);
  if (c->n >= sizeof c->text) c->n = sizeof c->text - 1;
  if (is_error) c->errors++;
  else c->warnings++;
  return c->errors + c->warnings != c->stop_after;
}

static inline cpl_status open_collecting(cpl_context* ctx, const char* path, collected* c,
                                         cpli_ssp** out) {
  *c = (collected){.stop_after = c->stop_after};
  return cpli_ssp_open(ctx, path, NULL, &(cpli_ssp_findings){collect, c}, out);
}

// A package without findings.
static inline cpli_ssp* open_fine(cpl_context* ctx, const char* path) {
  static collected c;
  cpli_ssp* ssp = NULL;
  CHECK_OK(ctx, open_collecting(ctx, path, &c, &ssp));
  CHECK_STR(c.text, "");
  return ssp;
}

// One whose findings are exactly these; NULL where there is an error.
static inline cpli_ssp* open_found(cpl_context* ctx, const char* path, const char* findings) {
  static collected c;
  cpli_ssp* ssp = NULL;
  cpl_status st = open_collecting(ctx, path, &c, &ssp);
  CHECK_STR(c.text, findings);
  CHECK_INT(st, c.errors > 0 ? CPL_ERR_INPUT : CPL_OK);
  CHECK((ssp == NULL) == (st < 0));
  if (c.errors == 0) return ssp;
  // without a report the first error is the failure, and the same text
  cpli_ssp* strict = NULL;
  char first[4096];
  snprintf(first, sizeof first, "%s", cpl_context_error(ctx));
  CHECK_INT(cpli_ssp_open(ctx, path, NULL, NULL, &strict), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), first);
  CHECK(strict == NULL);
  return NULL;
}

//------------------------------------ everything ------------------------------------

// Every element and attribute of the standard, in the order of the schema.
static const char everything_ssd[] =
    "<?xml version='1.0' encoding='UTF-8'?>\n"
    "<!-- before -->\n"
    "<ssd:SystemStructureDescription version='2.0' name='all' id='top' description='d' author='a'"
    " fileversion='1' copyright='c' license='l' generationTool='t'"
    " generationDateAndTime='2026-01-01T00:00:00Z'" SPACES
    " xmlns:xsi='u:xsi' xsi:hint='x'>\n"
    "<ssd:System name='root' id='root' description='&#10;line &quot;2&quot;'>\n"
    "<ssd:Connectors>"
    "<ssd:Connector name='in put' kind='input' id='c1' description='d'><ssc:Real unit='bar'/>"
    "<ssd:ConnectorGeometry x='0' y='0.5' systemInnerX='1' systemInnerY='-1e3'/>"
    "<ssd:Annotations><ssc:Annotation type='x'>text</ssc:Annotation></ssd:Annotations>"
    "</ssd:Connector>"
    "<ssd:Connector name='y' kind='output'><ssc:Float64/></ssd:Connector>"
    "<ssd:Connector name='p' kind='parameter'><ssc:Float32 unit='K'/></ssd:Connector>"
    "<ssd:Connector name='cp' kind='calculatedParameter'><ssc:Integer/></ssd:Connector>"
    "<ssd:Connector name='n' kind='structuralParameter'><ssc:UInt64/></ssd:Connector>"
    "<ssd:Connector name='k' kind='constant'><ssc:Int8/></ssd:Connector>"
    "<ssd:Connector name='l' kind='local'><ssc:UInt8/></ssd:Connector>"
    "<ssd:Connector name='io' kind='inout'><ssc:Int16/></ssd:Connector>"
    "<ssd:Connector name='un' kind='unspecified'><ssc:UInt16/></ssd:Connector>"
    "<ssd:Connector name='i32' kind='input'><ssc:Int32/></ssd:Connector>"
    "<ssd:Connector name='u32' kind='input'><ssc:UInt32/></ssd:Connector>"
    "<ssd:Connector name='i64' kind='input'><ssc:Int64/></ssd:Connector>"
    "<ssd:Connector name='b' kind='input'><ssc:Boolean/></ssd:Connector>"
    "<ssd:Connector name='s' kind='input'><ssc:String/></ssd:Connector>"
    "<ssd:Connector name='e' kind='input'><ssc:Enumeration name='gear'/></ssd:Connector>"
    "<ssd:Connector name='bin' kind='input'><ssc:Binary mime-type='a/b'/></ssd:Connector>"
    "<ssd:Connector name='clk' kind='input'><ssc:Clock intervalVariability='constant'"
    " intervalDecimal='0.1' shiftDecimal='0' supportsFraction='false' resolution='10'"
    " intervalCounter='1' shiftCounter='0' priority='3'/></ssd:Connector>"
    "<ssd:Connector name='arr' kind='output'><ssc:Real/><ssc:Dimension size='3'/>"
    "<ssc:Dimension sizeConnector='n'/><ssc:Dimension/><ssd:Clock name='clk'/></ssd:Connector>"
    "<ssd:Connector name='no type' kind='output'/>"
    "</ssd:Connectors>\n"
    "<ssd:ElementGeometry x1='0' y1='0' x2='100' y2='50.5' rotation='90' iconSource='i.png'"
    " iconRotation='0' iconFlip='true' iconFixedAspectRatio='0'/>\n"
    "<ssd:ParameterBindings>"
    "<ssd:ParameterBinding source='resources/a%20b.ssv' sourceBase='SSD' prefix='motor.'"
    " type='application/x-ssp-parameter-set' id='b1' description='d'>"
    "<ssd:ParameterMapping source='resources/m.ssm' type='application/x-ssp-parameter-mapping'"
    " sourceBase='SSD' id='m1' description='d'/>"
    "<ssc:MetaData kind='general' type='t' source='documentation/index.html' sourceBase='file'>"
    "<ssc:Content><p/>t</ssc:Content>"
    "<ssc:Signature role='authenticity' type='t'><ssc:Content/></ssc:Signature></ssc:MetaData>"
    "<ssc:Signature role='suitability' type='t' source='s' sourceBase='metaData'/>"
    "<ssd:Annotations><ssc:Annotation type='x'/></ssd:Annotations></ssd:ParameterBinding>"
    "<ssd:ParameterBinding><ssd:ParameterValues>"
    "<ssv:ParameterSet version='1.0' name='inline'><ssv:Parameters>"
    "<ssv:Parameter name='p'><ssv:Real value='1.5' unit='degC'/></ssv:Parameter></ssv:Parameters>"
    "<ssv:Units><ssc:Unit name='degC'><ssc:BaseUnit K='1' offset='273.15'/></ssc:Unit></ssv:Units>"
    "</ssv:ParameterSet></ssd:ParameterValues>"
    "<ssd:ParameterMapping><ssm:ParameterMapping version='1.0'>"
    "<ssm:MappingEntry source='p' target='q' suppressUnitConversion='true'>"
    "<ssc:LinearTransformation factor='2' offset='-1'/></ssm:MappingEntry>"
    "</ssm:ParameterMapping></ssd:ParameterMapping></ssd:ParameterBinding>"
    "</ssd:ParameterBindings>\n"
    "<ssc:MetaData kind='quality' type='t'/><ssc:Signature role='authenticity' type='t'/>\n"
    "<ssd:Elements>\n"
    "<ssd:Component name='motor' source='resources/m.fmu' implementation='CoSimulation'"
    " type='application/x-fmu-sharedlibrary'>"
    "<ssd:Connectors><ssd:Connector name='u' kind='input'/><ssd:Connector name='y' kind='output'/>"
    "<ssd:Connector name='vec[1]' kind='input'><ssc:Real/><ssc:Dimension size='3'/></ssd:Connector>"
    "<ssd:Connector name='B' kind='output'><ssc:Boolean/></ssd:Connector></ssd:Connectors>"
    "<ssd:ParameterBindings><ssd:ParameterBinding source='resources/inside.ssv'"
    " sourceBase='component'/></ssd:ParameterBindings>"
    "<ssd:Annotations><ssc:Annotation type='org.example'><o:Step xmlns:o='u:o' size='1'/>"
    "</ssc:Annotation></ssd:Annotations></ssd:Component>\n"
    "<ssd:Component name='spare'/>\n"
    "<ssd:Component name='twin' source='#sub' type='application/x-ssp-definition'>"
    "<ssd:Connectors><ssd:Connector name='u' kind='input'/></ssd:Connectors></ssd:Component>\n"
    "<ssd:Component name='file' source='inner.ssd' type='application/x-ssp-definition'/>\n"
    "<ssd:Component name='pack' source='resources/sub.ssp#B.ssd' "
    "type='application/x-ssp-package'/>\n"
    "<ssd:Component name='modelica' source='x.mo' type='text/x-modelica; path=A.B'/>\n"
    "<ssd:SignalDictionaryReference name='bus' dictionary='signals'>"
    "<ssd:Connectors><ssd:Connector name='speed' kind='inout'><ssc:Real unit='rad/s'/>"
    "</ssd:Connector></ssd:Connectors></ssd:SignalDictionaryReference>\n"
    "<ssd:System name='sub' id='sub'><ssd:Connectors><ssd:Connector name='u' kind='input'/>"
    "</ssd:Connectors><ssd:Elements><ssd:SignalDictionaryReference name='bus'"
    " dictionary='signals'><ssd:Connectors><ssd:Connector name='gear' kind='output'/>"
    "</ssd:Connectors></ssd:SignalDictionaryReference></ssd:Elements></ssd:System>\n"
    "</ssd:Elements>\n"
    "<ssd:Connections>\n"
    "<ssd:Connection startConnector='in put' endElement='motor' endConnector='u'"
    " suppressUnitConversion='true' id='k1' description='d'>"
    "<ssc:LinearTransformation factor='1e-3'/>"
    "<ssd:ConnectionGeometry pointsX='1 2' pointsY='3 4.5'/>"
    "<ssd:Annotations><ssc:Annotation type='x'/></ssd:Annotations></ssd:Connection>\n"
    "<ssd:Connection startElement='motor' startConnector='y' endConnector='y'/>\n"
    "<ssd:Connection startConnector='arr' startIndices='3 1 2' endElement='motor'"
    " endConnector='vec[1]' endIndices='2'/>\n"
    "<ssd:Connection startElement='motor' startConnector='B' endConnector='b'>"
    "<ssc:BooleanMappingTransformation><ssc:MapEntry source='true' target='0'/>"
    "<ssc:MapEntry source='false' "
    "target='1'/></ssc:BooleanMappingTransformation></ssd:Connection>\n"
    "<ssd:Connection startConnector='i32' endConnector='cp'>"
    "<ssc:IntegerMappingTransformation><ssc:MapEntry source='-9223372036854775808'"
    " target='18446744073709551615'/></ssc:IntegerMappingTransformation></ssd:Connection>\n"
    "<ssd:Connection startConnector='e' endConnector='e'>"
    "<ssc:EnumerationMappingTransformation><ssc:MapEntry source='first' target='one'/>"
    "</ssc:EnumerationMappingTransformation></ssd:Connection>\n"
    "</ssd:Connections>\n"
    "<ssd:SignalDictionaries><ssd:SignalDictionary name='signals' source='resources/s.ssb'"
    " type='application/x-ssp-signal-dictionary' id='sd' description='d'/>"
    "<ssd:SignalDictionary name='inline'><ssb:SignalDictionary version='2.0'>"
    "<ssb:DictionaryEntry name='x'><ssc:Boolean/></ssb:DictionaryEntry></ssb:SignalDictionary>"
    "</ssd:SignalDictionary></ssd:SignalDictionaries>\n"
    "<ssd:SystemGeometry x1='0' y1='0' x2='1' y2='1'/>\n"
    "<ssd:GraphicalElements><ssd:Note x1='0' y1='0' x2='1' y2='1' text='a&#10;b'/>"
    "</ssd:GraphicalElements>\n"
    "<ssd:Annotations><ssc:Annotation type='x'><ssd:Whatever odd='1'/></ssc:Annotation>"
    "</ssd:Annotations>\n"
    "</ssd:System>\n"
    "<ssd:Enumerations><ssc:Enumeration name='gear' id='e1' description='d'>"
    "<ssc:Item name='first' value='1'/><ssc:Item name='top' value='-9223372036854775808'/>"
    "<ssc:Annotations><ssc:Annotation type='x'/></ssc:Annotations></ssc:Enumeration>"
    "</ssd:Enumerations>\n"
    "<ssd:Units><ssc:Unit name='bar' id='u1' description='d'><ssc:BaseUnit kg='1' m='-1' s='-2'"
    " A='0' mol='0' cd='0' rad='0' factor='1e5' offset='0'/><ssc:Annotations>"
    "<ssc:Annotation type='x'/></ssc:Annotations></ssc:Unit>"
    "<ssc:Unit name='K'><ssc:BaseUnit K='1'/></ssc:Unit>"
    "<ssc:Unit name='rad/s'><ssc:BaseUnit rad='1' s='-1'/></ssc:Unit></ssd:Units>\n"
    "<ssd:DefaultExperiment startTime='0.5' stopTime='12'><ssd:Annotations>"
    "<ssc:Annotation type='x'/></ssd:Annotations></ssd:DefaultExperiment>\n"
    "<ssc:MetaData kind='general' type='t'/><ssc:Signature role='authenticity' type='t'/>\n"
    "<ssd:Annotations><ssc:Annotation type='com.example'><v:Fixed xmlns:v='u:v' step='0.1'/>"
    "</ssc:Annotation></ssd:Annotations>\n"
    "</ssd:SystemStructureDescription>\n";

static const char everything_ssv[] =
    "<ssv:ParameterSet version='2.0' name='values'" SPACES
    "><ssv:Parameters>"
    "<ssv:Parameter name='r' id='p1' description='d'><ssv:Real value='1e-3' unit='mm'/>"
    "<ssv:Annotations><ssc:Annotation type='x'/></ssv:Annotations></ssv:Parameter>"
    "<ssv:Parameter name='f64'><ssv:Float64 value='INF'/></ssv:Parameter>"
    "<ssv:Parameter name='f32'><ssv:Float32 value='1 2&#10;3 4 5 6'/>"
    "<ssc:Dimension size='2'/><ssc:Dimension size='3'/></ssv:Parameter>"
    "<ssv:Parameter name='i'><ssv:Integer value='-7'/></ssv:Parameter>"
    "<ssv:Parameter name='i8'><ssv:Int8 value='-128'/></ssv:Parameter>"
    "<ssv:Parameter name='u8'><ssv:UInt8 value='255'/></ssv:Parameter>"
    "<ssv:Parameter name='i16'><ssv:Int16 value='32767'/></ssv:Parameter>"
    "<ssv:Parameter name='u16'><ssv:UInt16 value='65535'/></ssv:Parameter>"
    "<ssv:Parameter name='i32'><ssv:Int32 value='-2147483648'/></ssv:Parameter>"
    "<ssv:Parameter name='u32'><ssv:UInt32 value='4294967295'/></ssv:Parameter>"
    "<ssv:Parameter name='i64'><ssv:Int64 value='9223372036854775807'/></ssv:Parameter>"
    "<ssv:Parameter name='u64'><ssv:UInt64 value='18446744073709551615'/></ssv:Parameter>"
    "<ssv:Parameter name='b'><ssv:Boolean value='true 0'/></ssv:Parameter>"
    "<ssv:Parameter name='s'><ssv:String value=' with blanks '/></ssv:Parameter>"
    "<ssv:Parameter name='ss'><ssv:String><ssv:Value value='a b'/><ssv:Value value=''/>"
    "</ssv:String></ssv:Parameter>"
    "<ssv:Parameter name='e'><ssv:Enumeration value='low' name='level'/></ssv:Parameter>"
    "<ssv:Parameter name='bin'><ssv:Binary value='00fF' mime-type='a/b'/></ssv:Parameter>"
    "<ssv:Parameter name='bins'><ssv:Binary><ssv:Value value='01'/></ssv:Binary></ssv:Parameter>"
    "</ssv:Parameters>"
    "<ssv:Enumerations><ssc:Enumeration name='level'><ssc:Item name='low' value='0'/>"
    "</ssc:Enumeration></ssv:Enumerations>"
    "<ssv:Units><ssc:Unit name='mm'><ssc:BaseUnit m='1' factor='1e-3'/></ssc:Unit></ssv:Units>"
    "<ssc:MetaData kind='general' type='t'/><ssc:Signature role='authenticity' type='t'/>"
    "<ssv:Annotations><ssc:Annotation type='x'/></ssv:Annotations></ssv:ParameterSet>";

static const char everything_ssm[] =
    "<ssm:ParameterMapping version='2.0' id='m' description='d' author='a'" SPACES
    ">"
    "<ssm:MappingEntry source='motor.r' target='a' id='e1' description='d'><ssm:Annotations>"
    "<ssc:Annotation type='x'/></ssm:Annotations></ssm:MappingEntry>"
    "<ssm:MappingEntry source='motor.i' target='b'><ssc:IntegerMappingTransformation>"
    "<ssc:MapEntry source='1' target='2'/></ssc:IntegerMappingTransformation></ssm:MappingEntry>"
    "<ssc:MetaData kind='general' type='t'/>"
    "<ssm:Annotations><ssc:Annotation type='x'/></ssm:Annotations></ssm:ParameterMapping>";

static const char everything_ssb[] =
    "<ssb:SignalDictionary version='2.0'" SPACES
    ">"
    "<ssb:DictionaryEntry name='speed' id='e1' description='d'><ssc:Real unit='rpm'/>"
    "<ssc:Dimension size='2'/><ssb:Annotations><ssc:Annotation type='x'/></ssb:Annotations>"
    "</ssb:DictionaryEntry>"
    "<ssb:DictionaryEntry name='gear'><ssc:Enumeration name='gears'/></ssb:DictionaryEntry>"
    "<ssb:Enumerations><ssc:Enumeration name='gears'><ssc:Item name='R' value='-1'/>"
    "</ssc:Enumeration></ssb:Enumerations>"
    "<ssb:Units><ssc:Unit name='rpm'><ssc:BaseUnit rad='1' s='-1' factor='0.10471975511965977'/>"
    "</ssc:Unit></ssb:Units>"
    "<ssc:Signature role='authenticity' type='t'/>"
    "<ssb:Annotations><ssc:Annotation type='x'/></ssb:Annotations></ssb:SignalDictionary>";

static inline void make_everything(const char* path) {
  size_t fmu_size, sub_size;
  char* fmu = archive_bytes(
      (archive_entry[]){{"modelDescription.xml", "<x/>"},
                        {"resources/inside.ssv",
                         SSV("<ssv:Parameter name='k'><ssv:Real value='7'/></ssv:Parameter>")},
                        {NULL}},
      &fmu_size);
  char* sub =
      archive_bytes((archive_entry[]){{"SystemStructure.ssd", SSD("<ssd:System name='A'/>")},
                                      {"B.ssd", SSD_NAMED("b", "<ssd:System name='B'/>")},
                                      {NULL}},
                    &sub_size);
  make_archive(path, (archive_entry[]){{"SystemStructure.ssd", everything_ssd},
                                       {"inner.ssd", SSD_NAMED("inner", "<ssd:System name='I'/>")},
                                       {"resources/m.fmu", fmu, .size = fmu_size},
                                       {"resources/sub.ssp", sub, .size = sub_size},
                                       {"resources/a b.ssv", everything_ssv},
                                       {"resources/m.ssm", everything_ssm},
                                       {"resources/s.ssb", everything_ssb},
                                       {"documentation/index.html", "<html>\n"},
                                       {"extra/org.example/\xc3\xa9.txt", "any"},
                                       {NULL}});
  free(fmu);
  free(sub);
}
