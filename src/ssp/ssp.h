// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A package of the standard SSP (System Structure and Parameterization, 1.0 and 2.0) as it is read:
// a tree of systems, components and references to signal dictionaries, with everything that belongs
// to them. Parameter sets, mappings, dictionaries and nested packages are read and attached where
// they are used. What a connection means, and which value a parameter gets in the end, is decided
// in system/ssp.h.
#pragma once

#include "couplet/interface.h"
#include "format/source_loc.h"
#include "format/xml_tree.h"

// Name spaces of the standard.
#define CPLI_SSD "http://ssp-standard.org/SSP1/SystemStructureDescription"
#define CPLI_SSC "http://ssp-standard.org/SSP1/SystemStructureCommon"
#define CPLI_SSV "http://ssp-standard.org/SSP1/SystemStructureParameterValues"
#define CPLI_SSM "http://ssp-standard.org/SSP1/SystemStructureParameterMapping"
#define CPLI_SSB "http://ssp-standard.org/SSP1/SystemStructureSignalDictionary"

//------------------------------------ files ------------------------------------

typedef struct cpli_ssp_enumeration {
  const char* name;
  const cpl_enum_item* items;
  size_t n_items;
} cpli_ssp_enumeration;

// One file (.ssd, .ssv, .ssm, .ssb, or one of these inline in another one). Its units and
// enumerations are known in this file only.
typedef struct cpli_ssp_file {
  const char* path;  // for messages: "plant.ssp/resources/motor.ssv"
  cpli_xml_tree* tree;
  const cpl_unit* units;
  const cpli_ssp_enumeration* enumerations;
  size_t n_units, n_enumerations;
} cpli_ssp_file;

const cpl_unit* cpli_ssp_find_unit(const cpli_ssp_file* file, const char* name);  // NULL: none
const cpli_ssp_enumeration* cpli_ssp_find_enumeration(const cpli_ssp_file* file, const char* name);

//------------------------------------ types, transformations ------------------------------------

typedef struct cpli_ssp_type {
  bool given;  // otherwise it is that of the component's variable
  cpl_type type;
  cpl_width width;          // CPL_WIDTH_OWN: Real, Integer
  const char* unit;         // Nullable
  const char* enumeration;  // ENUMERATION. Nullable
  const char* mime_type;    // BINARY. Nullable
} cpli_ssp_type;

typedef struct cpli_ssp_dimension {
  int64_t size;                // when size_connector is NULL; -1: not given
  const char* size_connector;  // Nullable
} cpli_ssp_dimension;

typedef enum cpli_ssp_transform_kind {
  CPLI_SSP_IDENTITY,
  CPLI_SSP_LINEAR,
  CPLI_SSP_BOOLEAN_MAP,
  CPLI_SSP_INTEGER_MAP,
  CPLI_SSP_ENUMERATION_MAP,
} cpli_ssp_transform_kind;

typedef struct cpli_ssp_map_entry {
  const char *source, *target;  // as written, checked to be of the map's type
} cpli_ssp_map_entry;

typedef struct cpli_ssp_transform {
  cpli_ssp_transform_kind kind;
  double factor, offset;  // LINEAR
  const cpli_ssp_map_entry* entries;
  size_t n_entries;
  bool keep_units;  // suppressUnitConversion
} cpli_ssp_transform;

//------------------------------------ parameters ------------------------------------

typedef struct cpli_ssp_parameter {
  const char* name;
  cpli_ssp_type type;
  const char* const* values;  // as written, checked to be of the type; one, unless it is an array
  const cpli_ssp_dimension* dimensions;
  size_t n_values, n_dimensions;
  cpli_source_loc loc;
} cpli_ssp_parameter;

typedef struct cpli_ssp_parameter_set {
  const cpli_ssp_file* file;
  const char* name;
  const cpli_ssp_parameter* parameters;  // of two with the same name the last one applies
  size_t n_parameters;
} cpli_ssp_parameter_set;

typedef struct cpli_ssp_mapping_entry {
  const char *source, *target;
  cpli_ssp_transform transform;
  cpli_source_loc loc;
} cpli_ssp_mapping_entry;

typedef struct cpli_ssp_mapping {
  const cpli_ssp_file* file;
  const cpli_ssp_mapping_entry* entries;
  size_t n_entries;
} cpli_ssp_mapping;

typedef struct cpli_ssp_binding {
  const char* prefix;  // "" when not given
  const cpli_ssp_parameter_set* set;
  const cpli_ssp_mapping* mapping;  // Nullable: names are as they are in the set
  cpli_source_loc loc;
} cpli_ssp_binding;

//------------------------------------ signal dictionaries ------------------------------------

typedef struct cpli_ssp_entry {
  const char* name;
  cpli_ssp_type type;
  const cpli_ssp_dimension* dimensions;
  size_t n_dimensions;
  cpli_source_loc loc;
} cpli_ssp_entry;

typedef struct cpli_ssp_dictionary {
  const cpli_ssp_file* file;
  const char* name;  // of the SignalDictionary in the system
  const cpli_ssp_entry* entries;
  size_t n_entries;
  cpli_source_loc loc;
} cpli_ssp_dictionary;

//------------------------------------ systems ------------------------------------

typedef enum cpli_ssp_connector_kind {
  CPLI_SSP_INPUT,
  CPLI_SSP_OUTPUT,
  CPLI_SSP_PARAMETER,
  CPLI_SSP_CALCULATED_PARAMETER,
  CPLI_SSP_INOUT,
  CPLI_SSP_STRUCTURAL_PARAMETER,
  CPLI_SSP_CONSTANT,
  CPLI_SSP_LOCAL,
  CPLI_SSP_UNSPECIFIED,
} cpli_ssp_connector_kind;

extern const char* const cpli_ssp_kind_names[CPLI_SSP_UNSPECIFIED + 1];  // as in files

typedef struct cpli_ssp_connector {
  const char* name;
  cpli_ssp_connector_kind kind;
  cpli_ssp_type type;
  const cpli_ssp_dimension* dimensions;
  const char* const* clocks;  // names of associated clocks
  size_t n_dimensions, n_clocks;
  cpli_source_loc loc;
} cpli_ssp_connector;

typedef struct cpli_ssp_end {
  const char* element;  // NULL: the connector belongs to the system itself
  const char* connector;
  const int64_t* indices;  // of an element of an array
  size_t n_indices;        // 0: the whole
} cpli_ssp_end;

typedef struct cpli_ssp_connection {
  cpli_ssp_end start, end;  // the direction of the data follows from the kinds
  cpli_ssp_transform transform;
  cpli_source_loc loc;
} cpli_ssp_connection;

typedef enum cpli_ssp_element_kind {
  CPLI_SSP_SYSTEM,
  CPLI_SSP_COMPONENT,
  CPLI_SSP_DICTIONARY_REFERENCE,
} cpli_ssp_element_kind;

typedef enum cpli_ssp_implementation {
  CPLI_SSP_ANY,
  CPLI_SSP_MODEL_EXCHANGE,
  CPLI_SSP_CO_SIMULATION,
  CPLI_SSP_SCHEDULED_EXECUTION,
} cpli_ssp_implementation;

// element invariants: 1 names of elements of one system are unique and not empty; 2 names of the
// connectors of one element are unique; 3 of `fmu` and `inner` a component has at most one, and
// none only where it has no source or is of a type that is not known here; 4 no element contains
// itself, `total` is at most CPLI_SSP_MAX_ELEMENTS and `levels` at most CPLI_SSP_MAX_LEVELS.
enum { CPLI_SSP_MAX_ELEMENTS = 1000000, CPLI_SSP_MAX_LEVELS = 256 };

typedef struct cpli_ssp_element {
  cpli_ssp_element_kind kind;
  const char* name;
  const cpli_ssp_file* file;  // that it stands in
  const cpli_xml_node* node;
  cpli_source_loc loc;
  const cpli_ssp_connector* connectors;
  const cpli_ssp_binding* bindings;
  size_t n_connectors, n_bindings;
  // SYSTEM
  struct cpli_ssp_element* elements;
  const cpli_ssp_connection* connections;
  const cpli_ssp_dictionary* dictionaries;
  size_t n_elements, n_connections, n_dictionaries;
  size_t total;   // the number of elements in it, those of inner systems included, and itself
  size_t levels;  // how deep they are nested; 1: there are none
  // COMPONENT
  const char* type;                      // MIME type; never NULL
  const char* source;                    // as written. Nullable: no implementation
  const char* fmu;                       // path on disk. Nullable
  const struct cpli_ssp_element* inner;  // the system of a nested .ssd, .ssp or "#id". Nullable
  cpli_ssp_implementation implementation;
  // DICTIONARY_REFERENCE
  const char* dictionary;  // its name, looked up in the enclosing systems
} cpli_ssp_element;

//------------------------------------ packages ------------------------------------

typedef struct cpli_ssp_variant {
  const char *file, *name;  // "SystemStructure.ssd" and the attribute of its root element
} cpli_ssp_variant;

typedef struct cpli_ssp {
  cpl_context* ctx;
  cpli_arena arena;           // of all texts and arrays
  const char* path;           // as given
  const cpli_ssp_file* file;  // the chosen .ssd
  const char *name, *version;
  const cpli_ssp_element* system;
  double start, stop;         // of the default experiment; NAN: not given
  const cpli_xml_node* root;  // for annotations
  const cpli_ssp_variant* variants;
  size_t n_variants;
  struct cpli_ssp_storage* storage;  // temporary folders and trees
} cpli_ssp;

// What to do with a rule of the standard that a file does not follow.
typedef struct cpli_ssp_findings {
  /// Called for each finding; the text has no location. Returns false to stop reading.
  bool (*report)(void* user, bool is_error, const cpli_source_loc* loc, const char* text);
  void* user;
} cpli_ssp_findings;

/// Read a package (.ssp), a single file (.ssd) or the folder of an unpacked package. "path#name" is
/// a variant by the name of its root element, "path#Other.ssd" by its file. Packages are unpacked
/// into a temporary folder, which lives as long as *out. No binary is loaded. Files of a package
/// refer to files inside it only, a single .ssd to any file on disk.
/// Owned:    *out by the caller, who calls cpli_ssp_close().
/// Nullable: variant (the name of one; NULL: as in the path, or SystemStructure.ssd), findings
///           (NULL: the first error is the failure, and warnings are logged)
/// Returns:  CPL_ERR_INPUT where there was an error, with the text of the first one, also when all
///           were reported; *out is then NULL.
cpl_status cpli_ssp_open(cpl_context* ctx, const char* path, const char* variant,
                         const cpli_ssp_findings* findings, cpli_ssp** out);
void cpli_ssp_close(cpli_ssp* ssp);  // Nullable: ssp

/// Is it a path that cpli_ssp_open() reads, by the ending of its name (before a '#') or, for a
/// folder, by a file SystemStructure.ssd in it?
bool cpli_is_ssp(const char* path);

/// Read a further parameter set (.ssv) that is bound to the system as a whole, after its own ones.
cpl_status cpli_ssp_add_parameters(cpli_ssp* ssp, const char* path);

/// The path by which a .ssd can be opened again: "/tmp/x/sub.ssp#SystemStructure.ssd". It is valid
/// as long as the package. NULL: out of memory.
const char* cpli_ssp_path_of(cpli_ssp* ssp, const cpli_ssp_file* ssd);
/// Unpack all files of the package that a file is in; *folder, with a final '/', has them as long
/// as `ssp` is open.
cpl_status cpli_ssp_unpack(cpli_ssp* ssp, const cpli_ssp_file* file, const char** folder);
/// Whether a file lies in a temporary folder, because its package is an archive.
bool cpli_ssp_is_unpacked(const cpli_ssp* ssp, const char* path);

/// Write the package again as an archive (.ssp): all files that were read from their trees, all
/// others as they are. Of a single .ssd the files that it refers to are added.
cpl_status cpli_ssp_write(const cpli_ssp* ssp, const char* path);
