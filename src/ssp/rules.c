// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The schemas of the standard as a table of elements: which attributes and children they have. It
// is that of version 2.0; what 1.0 does not have is marked. Names are compared with their name
// space. Content of other name spaces is allowed inside annotations and the like, and otherwise
// ignored with a warning.
#include "ssp/rules.h"

#include "ssp/reader.h"

//------------------------------------ table ------------------------------------

enum { SPACE_SSD, SPACE_SSC, SPACE_SSV, SPACE_SSM, SPACE_SSB, N_SPACES };

static const char* const uris[N_SPACES] = {CPLI_SSD, CPLI_SSC, CPLI_SSV, CPLI_SSM, CPLI_SSB};
static const char* const prefixes[N_SPACES] = {"ssd", "ssc", "ssv", "ssm", "ssb"};

typedef enum rule_id {
  NO_RULE,  // the content is not checked
  DESCRIPTION,
  SYSTEM,
  COMPONENT,
  REFERENCE,
  ELEMENTS,
  CONNECTORS,
  CONNECTOR,
  CLOCK_NAME,
  CONNECTOR_GEOMETRY,
  ELEMENT_GEOMETRY,
  SYSTEM_GEOMETRY,
  CONNECTIONS,
  CONNECTION,
  CONNECTION_GEOMETRY,
  GRAPHICS,
  NOTE,
  DICTIONARIES,
  DICTIONARY_USE,
  BINDINGS,
  BINDING,
  VALUES_USE,
  MAPPING_USE,
  EXPERIMENT,
  UNITS,
  UNIT,
  BASE_UNIT,
  ENUMERATIONS,
  ENUMERATION,
  ITEM,
  ANNOTATIONS,
  ANNOTATION,
  META_DATA,
  SIGNATURE,
  CONTENT,
  TYPE_REAL,
  TYPE_PLAIN,
  TYPE_ENUMERATION,
  TYPE_BINARY,
  TYPE_CLOCK,
  DIMENSION,
  LINEAR,
  BOOLEAN_MAP,
  INTEGER_MAP,
  ENUMERATION_MAP,
  BOOLEAN_ENTRY,
  INTEGER_ENTRY,
  ENUMERATION_ENTRY,
  PARAMETER_SET,
  PARAMETERS,
  PARAMETER,
  VALUE_REAL,
  VALUE_INT8,
  VALUE_UINT8,
  VALUE_INT16,
  VALUE_UINT16,
  VALUE_INT32,
  VALUE_UINT32,
  VALUE_INT64,
  VALUE_UINT64,
  VALUE_BOOLEAN,
  VALUE_STRING,
  VALUE_ENUMERATION,
  VALUE_BINARY,
  ONE_TEXT,
  ONE_BINARY,
  PARAMETER_MAPPING,
  MAPPING_ENTRY,
  SIGNAL_DICTIONARY,
  DICTIONARY_ENTRY,
  N_RULES,
} rule_id;

enum {
  REQUIRED = 1,
  SINCE_2 = 2,     // not in version 1.0
  MANY = 4,        // of a child: any number of it
  REQUIRED_1 = 8,  // in version 1.0 only
  TOLERATED = 16,  // several are only warned of
  LISTED = 32,     // of a list, which should not be empty
};

typedef struct attribute_rule {
  const char* name;
  cpli_ssp_form form;
  int flags;
  const char* choices;  // "a|b|c" of a choice
} attribute_rule;

// Of the children with the same group there is at most one, and with REQUIRED exactly one.
typedef struct child_rule {
  int space;
  const char* name;
  rule_id rule;
  int flags;
  int group;
} child_rule;

enum {
  HAS_ID = 1,    // attributes id and description
  IS_TOP = 2,    // attributes of the root of a file
  ANYTHING = 4,  // further content of any kind
};

typedef struct element_rule {
  int flags;
  const attribute_rule* attributes;  // ended by one without a name. Nullable
  const child_rule* children;        // in the order of the schema, ended likewise. Nullable
} element_rule;

#define ATTRIBUTES (const attribute_rule[])
#define CHILDREN   (const child_rule[])
#define END \
  { 0 }
#define ANNOTATED(space) \
  { space, "Annotations", ANNOTATIONS, 0, 0 }
#define META_CHILDREN                                      \
  {SPACE_SSC, "MetaData", META_DATA, MANY | SINCE_2, 0}, { \
    SPACE_SSC, "Signature", SIGNATURE, MANY | SINCE_2, 0   \
  }

#define TYPES(flags)                                                                               \
  {SPACE_SSC, "Real", TYPE_REAL, flags, 1}, {SPACE_SSC, "Float64", TYPE_REAL, SINCE_2, 1},         \
      {SPACE_SSC, "Float32", TYPE_REAL, SINCE_2, 1}, {SPACE_SSC, "Integer", TYPE_PLAIN, 0, 1},     \
      {SPACE_SSC, "Int8", TYPE_PLAIN, SINCE_2, 1}, {SPACE_SSC, "UInt8", TYPE_PLAIN, SINCE_2, 1},   \
      {SPACE_SSC, "Int16", TYPE_PLAIN, SINCE_2, 1}, {SPACE_SSC, "UInt16", TYPE_PLAIN, SINCE_2, 1}, \
      {SPACE_SSC, "Int32", TYPE_PLAIN, SINCE_2, 1}, {SPACE_SSC, "UInt32", TYPE_PLAIN, SINCE_2, 1}, \
      {SPACE_SSC, "Int64", TYPE_PLAIN, SINCE_2, 1}, {SPACE_SSC, "UInt64", TYPE_PLAIN, SINCE_2, 1}, \
      {SPACE_SSC, "Boolean", TYPE_PLAIN, 0, 1}, {SPACE_SSC, "String", TYPE_PLAIN, 0, 1},           \
      {SPACE_SSC, "Enumeration", TYPE_ENUMERATION, 0, 1},                                          \
      {SPACE_SSC, "Binary", TYPE_BINARY, 0, 1}, {                                                  \
    SPACE_SSC, "Clock", TYPE_CLOCK, SINCE_2, 1                                                     \
  }

#define TRANSFORMATIONS                                                  \
  {SPACE_SSC, "LinearTransformation", LINEAR, 0, 1},                     \
      {SPACE_SSC, "BooleanMappingTransformation", BOOLEAN_MAP, 0, 1},    \
      {SPACE_SSC, "IntegerMappingTransformation", INTEGER_MAP, 0, 1}, {  \
    SPACE_SSC, "EnumerationMappingTransformation", ENUMERATION_MAP, 0, 1 \
  }

#define ELEMENT_CHILDREN                                      \
  {SPACE_SSD, "Connectors", CONNECTORS, 0, 0},                \
      {SPACE_SSD, "ElementGeometry", ELEMENT_GEOMETRY, 0, 0}, \
      {SPACE_SSD, "ParameterBindings", BINDINGS, TOLERATED, 0}, META_CHILDREN

#define RECTANGLE                                                                 \
  {"x1", CPLI_FORM_REAL, REQUIRED, NULL}, {"y1", CPLI_FORM_REAL, REQUIRED, NULL}, \
      {"x2", CPLI_FORM_REAL, REQUIRED, NULL}, {                                   \
    "y2", CPLI_FORM_REAL, REQUIRED, NULL                                          \
  }

#define MAP_OF(entry) \
  { SPACE_SSC, "MapEntry", entry, REQUIRED | MANY, 0 }
#define ENTRY_OF(form) \
  { 0, ATTRIBUTES{{"source", form, REQUIRED, NULL}, {"target", form, REQUIRED, NULL}, END}, NULL }
#define VALUES_OF(form) \
  { 0, ATTRIBUTES{{"value", form, REQUIRED | CPLI_FORM_LIST, NULL}, END}, NULL }

static const element_rule rules[N_RULES] = {
    [DESCRIPTION] = {HAS_ID | IS_TOP,
                     ATTRIBUTES{{"version", CPLI_FORM_VERSION, REQUIRED, NULL},
                                {"name", CPLI_FORM_TEXT, REQUIRED, NULL},
                                END},
                     CHILDREN{{SPACE_SSD, "System", SYSTEM, REQUIRED, 0},
                              {SPACE_SSD, "Enumerations", ENUMERATIONS, 0, 0},
                              {SPACE_SSD, "Units", UNITS, 0, 0},
                              {SPACE_SSD, "DefaultExperiment", EXPERIMENT, 0, 0},
                              META_CHILDREN,
                              ANNOTATED(SPACE_SSD),
                              END}},
    [SYSTEM] = {HAS_ID, ATTRIBUTES{{"name", CPLI_FORM_NAME, REQUIRED, NULL}, END},
                CHILDREN{ELEMENT_CHILDREN,
                         {SPACE_SSD, "Elements", ELEMENTS, 0, 0},
                         {SPACE_SSD, "Connections", CONNECTIONS, 0, 0},
                         {SPACE_SSD, "SignalDictionaries", DICTIONARIES, 0, 0},
                         {SPACE_SSD, "SystemGeometry", SYSTEM_GEOMETRY, 0, 0},
                         {SPACE_SSD, "GraphicalElements", GRAPHICS, 0, 0},
                         ANNOTATED(SPACE_SSD),
                         END}},
    [COMPONENT] = {HAS_ID,
                   ATTRIBUTES{{"name", CPLI_FORM_NAME, REQUIRED, NULL},
                              {"type", CPLI_FORM_TEXT, 0, NULL},
                              {"source", CPLI_FORM_TEXT, REQUIRED_1, NULL},
                              {"implementation", CPLI_FORM_CHOICE, 0,
                               "any|ModelExchange|CoSimulation|ScheduledExecution"},
                              END},
                   CHILDREN{ELEMENT_CHILDREN, ANNOTATED(SPACE_SSD), END}},
    [REFERENCE] = {HAS_ID,
                   ATTRIBUTES{{"name", CPLI_FORM_NAME, REQUIRED, NULL},
                              {"dictionary", CPLI_FORM_TEXT, REQUIRED, NULL},
                              END},
                   CHILDREN{ELEMENT_CHILDREN, ANNOTATED(SPACE_SSD), END}},
    [ELEMENTS] = {0, NULL,
                  CHILDREN{{SPACE_SSD, "Component", COMPONENT, MANY | LISTED, 1},
                           {SPACE_SSD, "SignalDictionaryReference", REFERENCE, MANY, 1},
                           {SPACE_SSD, "System", SYSTEM, MANY, 1},
                           END}},
    [CONNECTORS] = {0, NULL, CHILDREN{{SPACE_SSD, "Connector", CONNECTOR, MANY | LISTED, 0}, END}},
    [CONNECTOR] = {HAS_ID,
                   ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL},
                              {"kind", CPLI_FORM_CHOICE, REQUIRED,
                               "input|output|parameter|calculatedParameter|structuralParameter|"
                               "constant|local|inout|unspecified"},
                              END},
                   CHILDREN{TYPES(0),
                            {SPACE_SSC, "Dimension", DIMENSION, MANY | SINCE_2, 0},
                            {SPACE_SSD, "Clock", CLOCK_NAME, MANY | SINCE_2, 0},
                            {SPACE_SSD, "ConnectorGeometry", CONNECTOR_GEOMETRY, 0, 0},
                            ANNOTATED(SPACE_SSD),
                            END}},
    [CLOCK_NAME] = {0, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END}, NULL},
    [CONNECTOR_GEOMETRY] = {0,
                            ATTRIBUTES{{"x", CPLI_FORM_REAL, REQUIRED, NULL},
                                       {"y", CPLI_FORM_REAL, REQUIRED, NULL},
                                       {"systemInnerX", CPLI_FORM_REAL, 0, NULL},
                                       {"systemInnerY", CPLI_FORM_REAL, 0, NULL},
                                       END},
                            NULL},
    [ELEMENT_GEOMETRY] = {0,
                          ATTRIBUTES{RECTANGLE,
                                     {"rotation", CPLI_FORM_REAL, 0, NULL},
                                     {"iconSource", CPLI_FORM_TEXT, 0, NULL},
                                     {"iconRotation", CPLI_FORM_REAL, 0, NULL},
                                     {"iconFlip", CPLI_FORM_BOOLEAN, 0, NULL},
                                     {"iconFixedAspectRatio", CPLI_FORM_BOOLEAN, 0, NULL},
                                     END},
                          NULL},
    [SYSTEM_GEOMETRY] = {0, ATTRIBUTES{RECTANGLE, END}, NULL},
    [CONNECTIONS] = {0, NULL,
                     CHILDREN{{SPACE_SSD, "Connection", CONNECTION, MANY | LISTED, 0}, END}},
    [CONNECTION] = {HAS_ID,
                    ATTRIBUTES{{"startElement", CPLI_FORM_TEXT, 0, NULL},
                               {"startConnector", CPLI_FORM_TEXT, REQUIRED, NULL},
                               {"startIndices", CPLI_FORM_SIZE, SINCE_2 | CPLI_FORM_LIST, NULL},
                               {"endElement", CPLI_FORM_TEXT, 0, NULL},
                               {"endConnector", CPLI_FORM_TEXT, REQUIRED, NULL},
                               {"endIndices", CPLI_FORM_SIZE, SINCE_2 | CPLI_FORM_LIST, NULL},
                               {"suppressUnitConversion", CPLI_FORM_BOOLEAN, 0, NULL},
                               END},
                    CHILDREN{TRANSFORMATIONS,
                             {SPACE_SSD, "ConnectionGeometry", CONNECTION_GEOMETRY, 0, 0},
                             ANNOTATED(SPACE_SSD),
                             END}},
    [CONNECTION_GEOMETRY] = {0,
                             ATTRIBUTES{
                                 {"pointsX", CPLI_FORM_REAL, REQUIRED | CPLI_FORM_LIST, NULL},
                                 {"pointsY", CPLI_FORM_REAL, REQUIRED | CPLI_FORM_LIST, NULL},
                                 END},
                             NULL},
    [GRAPHICS] = {0, NULL, CHILDREN{{SPACE_SSD, "Note", NOTE, MANY | LISTED, 0}, END}},
    [NOTE] = {0, ATTRIBUTES{RECTANGLE, {"text", CPLI_FORM_TEXT, REQUIRED, NULL}, END}, NULL},
    [DICTIONARIES] = {0, NULL,
                      CHILDREN{{SPACE_SSD, "SignalDictionary", DICTIONARY_USE, MANY | LISTED, 0},
                               END}},
    [DICTIONARY_USE] = {HAS_ID | ANYTHING,
                        ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL},
                                   {"type", CPLI_FORM_TEXT, 0, NULL},
                                   {"source", CPLI_FORM_TEXT, 0, NULL},
                                   END},
                        CHILDREN{{SPACE_SSB, "SignalDictionary", SIGNAL_DICTIONARY, 0, 0},
                                 META_CHILDREN,
                                 END}},
    [BINDINGS] = {0, NULL,
                  CHILDREN{{SPACE_SSD, "ParameterBinding", BINDING, MANY | LISTED, 0}, END}},
    [BINDING] = {HAS_ID,
                 ATTRIBUTES{{"type", CPLI_FORM_TEXT, 0, NULL},
                            {"source", CPLI_FORM_TEXT, 0, NULL},
                            {"sourceBase", CPLI_FORM_CHOICE, 0, "SSD|component"},
                            {"prefix", CPLI_FORM_TEXT, 0, NULL},
                            END},
                 CHILDREN{{SPACE_SSD, "ParameterValues", VALUES_USE, 0, 0},
                          {SPACE_SSD, "ParameterMapping", MAPPING_USE, 0, 0},
                          META_CHILDREN,
                          ANNOTATED(SPACE_SSD),
                          END}},
    [VALUES_USE] = {ANYTHING, NULL,
                    CHILDREN{{SPACE_SSV, "ParameterSet", PARAMETER_SET, 0, 0}, END}},
    [MAPPING_USE] = {HAS_ID | ANYTHING,
                     ATTRIBUTES{{"type", CPLI_FORM_TEXT, 0, NULL},
                                {"source", CPLI_FORM_TEXT, 0, NULL},
                                {"sourceBase", CPLI_FORM_CHOICE, 0, "SSD|component"},
                                END},
                     CHILDREN{{SPACE_SSM, "ParameterMapping", PARAMETER_MAPPING, 0, 0},
                              META_CHILDREN,
                              END}},
    [EXPERIMENT] = {0,
                    ATTRIBUTES{{"startTime", CPLI_FORM_REAL, 0, NULL},
                               {"stopTime", CPLI_FORM_REAL, 0, NULL},
                               END},
                    CHILDREN{ANNOTATED(SPACE_SSD), END}},
    [UNITS] = {0, NULL, CHILDREN{{SPACE_SSC, "Unit", UNIT, MANY | LISTED, 0}, END}},
    [UNIT] = {HAS_ID, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END},
              CHILDREN{{SPACE_SSC, "BaseUnit", BASE_UNIT, REQUIRED, 0}, ANNOTATED(SPACE_SSC), END}},
    [BASE_UNIT] = {0,
                   ATTRIBUTES{{"kg", CPLI_FORM_INT32, 0, NULL},
                              {"m", CPLI_FORM_INT32, 0, NULL},
                              {"s", CPLI_FORM_INT32, 0, NULL},
                              {"A", CPLI_FORM_INT32, 0, NULL},
                              {"K", CPLI_FORM_INT32, 0, NULL},
                              {"mol", CPLI_FORM_INT32, 0, NULL},
                              {"cd", CPLI_FORM_INT32, 0, NULL},
                              {"rad", CPLI_FORM_INT32, 0, NULL},
                              {"factor", CPLI_FORM_REAL, 0, NULL},
                              {"offset", CPLI_FORM_REAL, 0, NULL},
                              END},
                   NULL},
    [ENUMERATIONS] = {0, NULL,
                      CHILDREN{{SPACE_SSC, "Enumeration", ENUMERATION, MANY | LISTED, 0}, END}},
    [ENUMERATION] = {HAS_ID, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END},
                     CHILDREN{
                         {SPACE_SSC, "Item", ITEM, REQUIRED | MANY, 0}, ANNOTATED(SPACE_SSC), END}},
    [ITEM] = {0,
              ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL},
                         {"value", CPLI_FORM_INT64, REQUIRED, NULL},
                         END},
              NULL},
    [ANNOTATIONS] = {0, NULL,
                     CHILDREN{{SPACE_SSC, "Annotation", ANNOTATION, MANY | LISTED, 0}, END}},
    [ANNOTATION] = {ANYTHING, ATTRIBUTES{{"type", CPLI_FORM_TEXT, REQUIRED, NULL}, END}, NULL},
    [META_DATA] = {HAS_ID,
                   ATTRIBUTES{{"kind", CPLI_FORM_CHOICE, REQUIRED, "general|quality"},
                              {"type", CPLI_FORM_TEXT, REQUIRED, NULL},
                              {"source", CPLI_FORM_TEXT, 0, NULL},
                              {"sourceBase", CPLI_FORM_CHOICE, 0, "file|resource"},
                              END},
                   CHILDREN{{SPACE_SSC, "Content", CONTENT, 0, 0},
                            {SPACE_SSC, "Signature", SIGNATURE, MANY, 0},
                            END}},
    [SIGNATURE] = {HAS_ID,
                   ATTRIBUTES{{"role", CPLI_FORM_CHOICE, REQUIRED, "authenticity|suitability"},
                              {"type", CPLI_FORM_TEXT, REQUIRED, NULL},
                              {"source", CPLI_FORM_TEXT, 0, NULL},
                              {"sourceBase", CPLI_FORM_CHOICE, 0, "file|resource|metaData"},
                              END},
                   CHILDREN{{SPACE_SSC, "Content", CONTENT, 0, 0}, END}},
    [CONTENT] = {HAS_ID | ANYTHING, NULL, NULL},
    [TYPE_REAL] = {0, ATTRIBUTES{{"unit", CPLI_FORM_TEXT, 0, NULL}, END}, NULL},
    [TYPE_ENUMERATION] = {0, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END}, NULL},
    [TYPE_BINARY] = {0, ATTRIBUTES{{"mime-type", CPLI_FORM_TEXT, 0, NULL}, END}, NULL},
    [TYPE_CLOCK] = {0,
                    ATTRIBUTES{{"intervalVariability", CPLI_FORM_CHOICE, 0,
                                "constant|fixed|tunable|changing|countdown|triggered"},
                               {"intervalDecimal", CPLI_FORM_REAL, 0, NULL},
                               {"shiftDecimal", CPLI_FORM_REAL, 0, NULL},
                               {"supportsFraction", CPLI_FORM_BOOLEAN, 0, NULL},
                               {"resolution", CPLI_FORM_UINT64, 0, NULL},
                               {"intervalCounter", CPLI_FORM_UINT64, 0, NULL},
                               {"shiftCounter", CPLI_FORM_UINT64, 0, NULL},
                               {"priority", CPLI_FORM_UINT32, 0, NULL},
                               END},
                    NULL},
    [DIMENSION] = {0,
                   ATTRIBUTES{{"size", CPLI_FORM_SIZE, 0, NULL},
                              {"sizeConnector", CPLI_FORM_TEXT, 0, NULL},
                              END},
                   NULL},
    [LINEAR] = {0,
                ATTRIBUTES{
                    {"factor", CPLI_FORM_REAL, 0, NULL}, {"offset", CPLI_FORM_REAL, 0, NULL}, END},
                NULL},
    [BOOLEAN_MAP] = {0, NULL, CHILDREN{MAP_OF(BOOLEAN_ENTRY), END}},
    [INTEGER_MAP] = {0, NULL, CHILDREN{MAP_OF(INTEGER_ENTRY), END}},
    [ENUMERATION_MAP] = {0, NULL, CHILDREN{MAP_OF(ENUMERATION_ENTRY), END}},
    [BOOLEAN_ENTRY] = ENTRY_OF(CPLI_FORM_BOOLEAN),
    [INTEGER_ENTRY] = ENTRY_OF(CPLI_FORM_INTEGER),
    [ENUMERATION_ENTRY] = ENTRY_OF(CPLI_FORM_TEXT),
    [PARAMETER_SET] = {HAS_ID | IS_TOP,
                       ATTRIBUTES{{"version", CPLI_FORM_VERSION, REQUIRED, NULL},
                                  {"name", CPLI_FORM_TEXT, REQUIRED, NULL},
                                  END},
                       CHILDREN{{SPACE_SSV, "Parameters", PARAMETERS, REQUIRED, 0},
                                {SPACE_SSV, "Enumerations", ENUMERATIONS, 0, 0},
                                {SPACE_SSV, "Units", UNITS, 0, 0},
                                META_CHILDREN,
                                ANNOTATED(SPACE_SSV),
                                END}},
    [PARAMETERS] = {0, NULL, CHILDREN{{SPACE_SSV, "Parameter", PARAMETER, MANY, 0}, END}},
    [PARAMETER] = {HAS_ID, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END},
                   CHILDREN{{SPACE_SSV, "Real", VALUE_REAL, REQUIRED, 1},
                            {SPACE_SSV, "Float64", VALUE_REAL, SINCE_2, 1},
                            {SPACE_SSV, "Float32", VALUE_REAL, SINCE_2, 1},
                            {SPACE_SSV, "Integer", VALUE_INT32, 0, 1},
                            {SPACE_SSV, "Int8", VALUE_INT8, SINCE_2, 1},
                            {SPACE_SSV, "UInt8", VALUE_UINT8, SINCE_2, 1},
                            {SPACE_SSV, "Int16", VALUE_INT16, SINCE_2, 1},
                            {SPACE_SSV, "UInt16", VALUE_UINT16, SINCE_2, 1},
                            {SPACE_SSV, "Int32", VALUE_INT32, SINCE_2, 1},
                            {SPACE_SSV, "UInt32", VALUE_UINT32, SINCE_2, 1},
                            {SPACE_SSV, "Int64", VALUE_INT64, SINCE_2, 1},
                            {SPACE_SSV, "UInt64", VALUE_UINT64, SINCE_2, 1},
                            {SPACE_SSV, "Boolean", VALUE_BOOLEAN, 0, 1},
                            {SPACE_SSV, "String", VALUE_STRING, 0, 1},
                            {SPACE_SSV, "Enumeration", VALUE_ENUMERATION, 0, 1},
                            {SPACE_SSV, "Binary", VALUE_BINARY, 0, 1},
                            {SPACE_SSC, "Dimension", DIMENSION, MANY | SINCE_2, 0},
                            ANNOTATED(SPACE_SSV),
                            END}},
    [VALUE_REAL] = {0,
                    ATTRIBUTES{{"value", CPLI_FORM_REAL, REQUIRED | CPLI_FORM_LIST, NULL},
                               {"unit", CPLI_FORM_TEXT, 0, NULL},
                               END},
                    NULL},
    [VALUE_INT8] = VALUES_OF(CPLI_FORM_INT8),
    [VALUE_UINT8] = VALUES_OF(CPLI_FORM_UINT8),
    [VALUE_INT16] = VALUES_OF(CPLI_FORM_INT16),
    [VALUE_UINT16] = VALUES_OF(CPLI_FORM_UINT16),
    [VALUE_INT32] = VALUES_OF(CPLI_FORM_INT32),
    [VALUE_UINT32] = VALUES_OF(CPLI_FORM_UINT32),
    [VALUE_INT64] = VALUES_OF(CPLI_FORM_INT64),
    [VALUE_UINT64] = VALUES_OF(CPLI_FORM_UINT64),
    [VALUE_BOOLEAN] = VALUES_OF(CPLI_FORM_BOOLEAN),
    [VALUE_STRING] = {0, ATTRIBUTES{{"value", CPLI_FORM_TEXT, REQUIRED_1, NULL}, END},
                      CHILDREN{{SPACE_SSV, "Value", ONE_TEXT, MANY | SINCE_2, 0}, END}},
    [VALUE_ENUMERATION] = {0,
                           ATTRIBUTES{{"value", CPLI_FORM_TEXT, REQUIRED_1, NULL},
                                      {"name", CPLI_FORM_TEXT, 0, NULL},
                                      END},
                           CHILDREN{{SPACE_SSV, "Value", ONE_TEXT, MANY | SINCE_2, 0}, END}},
    [VALUE_BINARY] = {0,
                      ATTRIBUTES{{"value", CPLI_FORM_HEX, REQUIRED_1, NULL},
                                 {"mime-type", CPLI_FORM_TEXT, 0, NULL},
                                 END},
                      CHILDREN{{SPACE_SSV, "Value", ONE_BINARY, MANY | SINCE_2, 0}, END}},
    [ONE_TEXT] = {0, ATTRIBUTES{{"value", CPLI_FORM_TEXT, REQUIRED, NULL}, END}, NULL},
    [ONE_BINARY] = {0, ATTRIBUTES{{"value", CPLI_FORM_HEX, REQUIRED, NULL}, END}, NULL},
    [PARAMETER_MAPPING] = {HAS_ID | IS_TOP,
                           ATTRIBUTES{{"version", CPLI_FORM_VERSION, REQUIRED, NULL}, END},
                           CHILDREN{{SPACE_SSM, "MappingEntry", MAPPING_ENTRY, MANY, 0},
                                    META_CHILDREN,
                                    ANNOTATED(SPACE_SSM),
                                    END}},
    [MAPPING_ENTRY] = {HAS_ID,
                       ATTRIBUTES{{"source", CPLI_FORM_TEXT, REQUIRED, NULL},
                                  {"target", CPLI_FORM_TEXT, REQUIRED, NULL},
                                  {"suppressUnitConversion", CPLI_FORM_BOOLEAN, 0, NULL},
                                  END},
                       CHILDREN{TRANSFORMATIONS, ANNOTATED(SPACE_SSM), END}},
    [SIGNAL_DICTIONARY] = {HAS_ID | IS_TOP,
                           ATTRIBUTES{{"version", CPLI_FORM_VERSION, REQUIRED, NULL}, END},
                           CHILDREN{{SPACE_SSB, "DictionaryEntry", DICTIONARY_ENTRY, MANY, 0},
                                    {SPACE_SSB, "Enumerations", ENUMERATIONS, 0, 0},
                                    {SPACE_SSB, "Units", UNITS, 0, 0},
                                    META_CHILDREN,
                                    ANNOTATED(SPACE_SSB),
                                    END}},
    [DICTIONARY_ENTRY] = {HAS_ID, ATTRIBUTES{{"name", CPLI_FORM_TEXT, REQUIRED, NULL}, END},
                          CHILDREN{TYPES(REQUIRED),
                                   {SPACE_SSC, "Dimension", DIMENSION, MANY | SINCE_2, 0},
                                   ANNOTATED(SPACE_SSB),
                                   END}},
};

static const attribute_rule base_attributes[] = {
    {"id", CPLI_FORM_TEXT, 0, NULL}, {"description", CPLI_FORM_TEXT, 0, NULL}, END};
static const attribute_rule top_attributes[] = {{"author", CPLI_FORM_TEXT, 0, NULL},
                                                {"fileversion", CPLI_FORM_TEXT, 0, NULL},
                                                {"copyright", CPLI_FORM_TEXT, 0, NULL},
                                                {"license", CPLI_FORM_TEXT, 0, NULL},
                                                {"generationTool", CPLI_FORM_TEXT, 0, NULL},
                                                {"generationDateAndTime", CPLI_FORM_TEXT, 0, NULL},
                                                END};

//------------------------------------ walk ------------------------------------

typedef struct walk {
  cpli_ssp_reader* r;
  const cpli_ssp_document* doc;
  cpli_names ids;
  int version;  // 1 or 2, of the present root
} walk;

static bool same(const char* a, const char* b) { return a != NULL && strcmp(a, b) == 0; }

// "Connector 'u'" or "Connections", for messages.
static const char* title(const cpli_xml_node* node, char out[256]) {
  const char* name = cpli_xml_node_attribute(node, "name");
  snprintf(out, 256, name != NULL ? "%.100s '%.140s'" : "%.100s", node->name, name);
  return out;
}

//------------------------------------ attributes ------------------------------------

// The attributes of an element: its own ones, and those of its groups.
typedef struct attribute_lists {
  const attribute_rule* lists[3];
} attribute_lists;

static attribute_lists lists_of(const element_rule* rule) {
  attribute_lists l = {{rule->attributes, NULL, NULL}};
  if (rule->flags & HAS_ID) l.lists[1] = base_attributes;
  if (rule->flags & IS_TOP) l.lists[2] = top_attributes;
  return l;
}

static const attribute_rule* attribute_rule_at(const attribute_lists* l, size_t i) {
  for (size_t k = 0; k < CPLI_COUNT(l->lists); k++)
    for (const attribute_rule* a = l->lists[k]; a != NULL && a->name != NULL; a++)
      if (i-- == 0) return a;
  return NULL;
}

static const char* attribute_name_at(const void* user, size_t i) {
  return attribute_rule_at(user, i)->name;
}

static cpl_status check_attribute(walk* w, const cpli_xml_node* node, const attribute_lists* l,
                                  const cpli_xml_attr* a) {
  char who[256], text[512];
  const cpli_source_loc loc = cpli_ssp_loc(w->doc, node);
  const attribute_rule* rule = NULL;
  size_t n = 0;
  for (const attribute_rule* each; (each = attribute_rule_at(l, n)) != NULL; n++)
    if (strcmp(each->name, a->name) == 0) rule = each;
  if (rule == NULL) {
    cpli_did_you_mean(a->name, attribute_name_at, l, n, text, sizeof text);
    return cpli_ssp_error(w->r, &loc, "%s: unknown attribute '%s'%s", title(node, who), a->name,
                          text);
  }
  if (rule->form == CPLI_FORM_VERSION) {
    if (strncmp(a->value, "1.", 2) == 0 || strcmp(a->value, "2.0") == 0) return CPL_OK;
    return cpli_ssp_warn(w->r, &loc, "version '%s' is not known; it is read as 2.0", a->value);
  }
  if (!cpli_ssp_has_form(rule->form, (rule->flags & CPLI_FORM_LIST) != 0, rule->choices, a->value,
                         text, sizeof text))
    return cpli_ssp_error(w->r, &loc, "%s: %s=\"%.200s\": %s", title(node, who), a->name, a->value,
                          text);
  if (!(rule->flags & SINCE_2) || w->version >= 2) return CPL_OK;
  return cpli_ssp_warn(w->r, &loc, "%s: the attribute '%s' belongs to version 2.0 of the standard",
                       title(node, who), a->name);
}

static cpl_status check_missing(walk* w, const cpli_xml_node* node, const attribute_rule* a) {
  char who[256];
  const bool only_1 = !(a->flags & REQUIRED);
  if (only_1 && (!(a->flags & REQUIRED_1) || w->version >= 2)) return CPL_OK;
  if (cpli_xml_node_attribute(node, a->name) != NULL) return CPL_OK;
  const cpli_source_loc loc = cpli_ssp_loc(w->doc, node);
  if (!only_1)
    return cpli_ssp_error(w->r, &loc, "%s: the attribute '%s' is missing", title(node, who),
                          a->name);
  return cpli_ssp_warn(w->r, &loc,
                       "%s: the attribute '%s' is missing, which requires version=\"2.0\"",
                       title(node, who), a->name);
}

static cpl_status check_attributes(walk* w, const cpli_xml_node* node, const element_rule* rule) {
  const attribute_lists l = lists_of(rule);
  cpl_status st = CPL_OK;
  for (const cpli_xml_attr* a = node->attributes; st >= 0 && a != NULL; a = a->next) {
    if (a->prefix != NULL) continue;  // of another name space
    st = check_attribute(w, node, &l, a);
    if (st < 0 || !(rule->flags & HAS_ID) || strcmp(a->name, "id") != 0) continue;
    const cpli_source_loc loc = cpli_ssp_loc(w->doc, node);
    st = cpli_ssp_unique(w->r, &w->ids, a->value, &loc, "the id");
  }
  for (const attribute_rule* a = rule->attributes; st >= 0 && a != NULL && a->name != NULL; a++)
    st = check_missing(w, node, a);
  return st;
}

//------------------------------------ children ------------------------------------

static int space_of(const cpli_xml_node* node) {
  for (int i = 0; i < N_SPACES; i++)
    if (same(node->uri, uris[i])) return i;
  return -1;
}

static const char* child_name_at(const void* user, size_t i) {
  return ((const child_rule*)user)[i].name;
}

static cpl_status unknown_child(walk* w, const cpli_xml_node* node, const element_rule* rule,
                                const cpli_xml_node* child) {
  char who[256], similar[256];
  const cpli_source_loc loc = cpli_ssp_loc(w->doc, child);
  size_t n = 0;
  for (const child_rule* c = rule->children; c != NULL && c->name != NULL; c++, n++) {
    if (strcmp(c->name, child->name) != 0) continue;
    return cpli_ssp_error(w->r, &loc, "%s: '%s' has the name space \"%s\" instead of \"%s\" (%s)",
                          title(node, who), child->name, child->uri != NULL ? child->uri : "",
                          uris[c->space], prefixes[c->space]);
  }
  if (rule->flags & ANYTHING) return CPL_OK;
  if (space_of(child) < 0)
    return cpli_ssp_warn(w->r, &loc, "%s: '%s' is not part of the standard and is ignored",
                         title(node, who), child->name);
  cpli_did_you_mean(child->name, child_name_at, rule->children, n, similar, sizeof similar);
  return cpli_ssp_error(w->r, &loc, "%s: unknown element '%s'%s", title(node, who), child->name,
                        similar);
}

// The index of a child in the rule; the first one of its group counts for all of them.
static int find_child(const element_rule* rule, const cpli_xml_node* child, int* first) {
  for (int i = 0; rule->children != NULL && rule->children[i].name != NULL; i++) {
    const child_rule* c = &rule->children[i];
    if (strcmp(c->name, child->name) != 0 || !same(child->uri, uris[c->space])) continue;
    *first = i;
    for (int k = i; c->group != 0 && k >= 0; k--)
      if (rule->children[k].group == c->group) *first = k;
    return i;
  }
  return -1;
}

enum { MAX_CHILDREN = 32 };

static cpl_status check_node(walk* w, const cpli_xml_node* node, rule_id id);

// One child: how often it is there, in which order, and its content.
// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status check_child(walk* w, const cpli_xml_node* node, const element_rule* rule,
                              const cpli_xml_node* child, int counts[MAX_CHILDREN], int* last) {
  int first = 0;
  const int i = find_child(rule, child, &first);
  if (i < 0) return unknown_child(w, node, rule, child);
  const child_rule* c = &rule->children[i];
  const cpli_source_loc loc = cpli_ssp_loc(w->doc, child);
  char who[256];
  cpl_status st = CPL_OK;
  if (counts[first]++ > 0 && !(c->flags & MANY))
    st = (c->flags & TOLERATED ? cpli_ssp_warn : cpli_ssp_error)(
        w->r, &loc, "%s: '%s' is one too many", title(node, who), child->name);
  if (st >= 0 && first < *last && !(rule->flags & ANYTHING))
    st = cpli_ssp_warn(w->r, &loc, "%s: '%s' must be before '%s'", title(node, who), child->name,
                       rule->children[*last].name);
  if (first > *last) *last = first;
  if (st >= 0 && (c->flags & SINCE_2) && w->version < 2)
    st = cpli_ssp_warn(w->r, &loc, "%s: '%s' belongs to version 2.0 of the standard",
                       title(node, who), child->name);
  return st >= 0 ? check_node(w, child, c->rule) : st;
}

static bool is_blank(const char* text) { return text[strspn(text, " \t\r\n")] == '\0'; }

// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status check_children(walk* w, const cpli_xml_node* node, const element_rule* rule) {
  int counts[MAX_CHILDREN] = {0}, last = 0;
  char who[256];
  cpl_status st = CPL_OK;
  for (const cpli_xml_node* c = node->first; st >= 0 && c != NULL; c = c->next) {
    if (c->name != NULL) {
      st = check_child(w, node, rule, c, counts, &last);
    } else if (!c->is_comment && !(rule->flags & ANYTHING) && !is_blank(c->text)) {
      const cpli_source_loc loc = cpli_ssp_loc(w->doc, c);
      st = cpli_ssp_warn(w->r, &loc, "%s: the text in it is ignored", title(node, who));
    }
  }
  for (int i = 0; st >= 0 && rule->children != NULL && rule->children[i].name != NULL; i++) {
    const child_rule* c = &rule->children[i];
    if (!(c->flags & (REQUIRED | LISTED)) || counts[i] > 0) continue;
    const cpli_source_loc loc = cpli_ssp_loc(w->doc, node);
    if (c->flags & LISTED)
      st = cpli_ssp_warn(w->r, &loc, "%s is empty; it should be left out", title(node, who));
    else
      st = cpli_ssp_error(w->r, &loc, "%s: %s%s is missing", title(node, who),
                          c->group != 0 ? "a type such as " : "", c->name);
  }
  return st;
}

// NOLINTNEXTLINE(misc-no-recursion): the XML parser limits the depth
static cpl_status check_node(walk* w, const cpli_xml_node* node, rule_id id) {
  if (id == NO_RULE) return CPL_OK;
  const element_rule* rule = &rules[id];
  const int version = w->version;
  if (rule->flags & IS_TOP) {
    const char* text = cpli_xml_node_attribute(node, "version");
    w->version = text != NULL && text[0] == '1' ? 1 : 2;
  }
  cpl_status st = check_attributes(w, node, rule);
  if (st >= 0) st = check_children(w, node, rule);
  w->version = version;
  return st;
}

//------------------------------------ root ------------------------------------

static const struct {
  int space;
  const char* name;
  rule_id rule;
} roots[] = {
    [CPLI_SSP_DESCRIPTION] = {SPACE_SSD, "SystemStructureDescription", DESCRIPTION},
    [CPLI_SSP_VALUES] = {SPACE_SSV, "ParameterSet", PARAMETER_SET},
    [CPLI_SSP_MAPPING] = {SPACE_SSM, "ParameterMapping", PARAMETER_MAPPING},
    [CPLI_SSP_SIGNALS] = {SPACE_SSB, "SignalDictionary", SIGNAL_DICTIONARY},
};

cpl_status cpli_ssp_check(cpli_ssp_reader* r, const cpli_ssp_document* doc, bool* fine) {
  const cpli_xml_node* root = doc->root;
  const cpli_source_loc loc = cpli_ssp_loc(doc, root);
  const char* name = roots[doc->kind].name;
  const char* uri = uris[roots[doc->kind].space];
  *fine = false;
  if (strcmp(root->name, name) != 0)
    return cpli_ssp_error(r, &loc, "the root element is '%s' instead of '%s'", root->name, name);
  if (!same(root->uri, uri))
    return cpli_ssp_error(r, &loc, "'%s' has the name space \"%s\" instead of \"%s\"", name,
                          root->uri != NULL ? root->uri : "", uri);
  *fine = true;
  walk w = {.r = r, .doc = doc, .ids = {.ctx = r->ctx}, .version = 2};
  cpl_status st = check_node(&w, root, roots[doc->kind].rule);
  cpli_names_free(&w.ids);
  return st;
}
