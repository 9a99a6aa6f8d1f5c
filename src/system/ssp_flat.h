// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A package while it is translated. Elements become nodes, one per instance; connectors become
// ports. Connections become edges from a source to a sink, and references to dictionaries join
// ports. The source of a sink is found by following edges backwards (a trail), with the
// transformations on the way. Parameter sets leave values at ports and models.
#pragma once

#include "ssp/ssp.h"
#include "system/definition.h"

typedef struct cpli_flat_node cpli_flat_node;
typedef struct cpli_flat_port cpli_flat_port;

// A value of a parameter set, and what a mapping does to it.
typedef struct cpli_flat_value {
  const cpli_ssp_parameter* parameter;
  const cpli_ssp_file* file;            // for its units and enumerations
  const cpli_ssp_transform* transform;  // Nullable
} cpli_flat_value;

// A connection to a port, by which it gets its value. Without a connection it is that of a
// connector on the other side of a component, or of a dictionary.
typedef struct cpli_flat_edge {
  struct cpli_flat_edge* next;
  cpli_flat_port* source;
  const cpli_ssp_connection* connection;  // Nullable
  const cpli_ssp_end *from, *to;          // its ends. Nullable
} cpli_flat_edge;

typedef enum cpli_flat_side {
  CPLI_FLAT_VARIABLE,   // of an FMU
  CPLI_FLAT_SYSTEM,     // a connector of a system
  CPLI_FLAT_REFERENCE,  // a connector of a reference to a dictionary
  CPLI_FLAT_ENTRY,      // an entry of a dictionary
} cpli_flat_side;

struct cpli_flat_port {
  cpli_flat_node* node;  // that it belongs to
  cpli_flat_side side;
  cpli_ssp_connector_kind kind;
  const char* name;       // in its element
  const char* full_name;  // "plant.T"
  cpli_ssp_type type;
  const cpl_unit* unit;       // Nullable
  const cpli_ssp_file* file;  // for its enumeration
  const cpli_ssp_dimension* dimensions;
  size_t n_dimensions;
  cpli_source_loc loc;
  cpli_flat_edge* in;                      // one, or one per element of an array
  cpli_flat_port* entry;                   // REFERENCE. Nullable
  cpli_flat_value* value;                  // Nullable
  bool is_hidden;                          // the same connector outside of a component is shown
  bool is_used;                            // without an edge: something gets its value from here
  bool is_parameter, is_input, is_pushed;  // without an edge: what it is in the definition
};

struct cpli_flat_node {
  const cpli_ssp_element* element;
  const cpli_ssp_element* system;  // with its content: itself or the inner one; NULL: no system
  cpli_flat_node* parent;          // Nullable: the root
  const char* path;                // "plant.motor"; "" of the root
  bool is_model;                   // an FMU, or a package that is a system of its own
  const char* own_system;          // path of that package. Nullable
  cpli_flat_node* children;
  size_t n_children;
  cpli_names child_names;
  cpli_flat_port* ports;
  size_t n_ports;
  cpli_names port_names;
  cpli_flat_port* outer;  // connectors of a component whose units differ from those inside
  size_t n_outer;
  cpli_names outer_names;
  cpli_flat_port** entries;  // per dictionary
  cpli_names* entry_names;
  cpli_setting* starts;  // of a model
  size_t n_starts, cap_starts;
  cpli_names start_names;
};

typedef struct cpli_flat {
  cpl_context* ctx;
  cpl_system_def* def;
  cpli_ssp* ssp;
  const cpli_ssp_findings* findings;  // Nullable
  size_t n_errors;
  char first_error[1024];
  cpli_flat_node root;
  cpli_flat_node** models;   // in the order of their names
  cpli_flat_port** systems;  // connectors of all systems, in the order of their names
  size_t n_models, n_systems, cap_models, cap_systems;
} cpli_flat;

/// An error or a warning. Without `findings` an error is the failure and a warning is logged;
/// otherwise both are reported, and the work goes on as long as the receiver agrees.
CPL_PRINTF(4, 5)
cpl_status cpli_flat_report(cpli_flat* f, bool is_error, const cpli_source_loc* loc,
                            const char* fmt, ...);
/// What a file may contain without being wrong: a warning in `findings`, else logged as
/// information.
CPL_PRINTF(3, 4)
cpl_status cpli_flat_note(cpli_flat* f, const cpli_source_loc* loc, const char* fmt, ...);
/// A text that lives as long as the definition. NULL: out of memory.
CPL_PRINTF(2, 3) const char* cpli_flat_text(cpli_flat* f, const char* fmt, ...);

//------------------------------------ ssp_tree.c ------------------------------------

cpl_status cpli_flat_tree(cpli_flat* f);
void cpli_flat_free(cpli_flat* f);
/// A connector of an element, seen from the system around it. NULL: there is none.
cpli_flat_port* cpli_flat_outside(cpli_flat_node* node, const char* connector);
cpli_flat_port* cpli_flat_inside(cpli_flat_node* node, const char* connector);

/// A unit of a file. One that the file does not define is known by its name, or not at all: NULL.
/// Nullable: name
const cpl_unit* cpli_flat_unit(cpli_flat* f, const cpli_ssp_file* file, const char* name);

//------------------------------------ ssp_edges.c ------------------------------------

/// All connections as edges, in the direction that the kinds of their connectors give.
cpl_status cpli_flat_edges(cpli_flat* f);

//------------------------------------ ssp_values.c ------------------------------------

/// All parameter sets.
cpl_status cpli_flat_values(cpli_flat* f);
/// A start value of a model, by which earlier ones are replaced.
cpl_status cpli_flat_set(cpli_flat* f, cpli_flat_node* model, const char* variable,
                         const cpl_unit* unit, const cpli_flat_value* value);
/// The i-th number or text of a value, as a map of its binding makes it.
const char* cpli_flat_value_at(const cpli_flat_value* value, size_t i);
/// A number in the unit of the connector `to`, or in its own unit, which *unit is then. False: it
/// is no number.
bool cpli_flat_number(cpli_flat* f, const cpli_flat_value* value, const cpli_flat_port* to,
                      const cpl_unit** unit, double* out, cpl_status* st);
/// The number of an item of an Enumeration by the enumeration of the connector, or else by that of
/// the parameter set. NULL: it is not known.
const char* cpli_flat_item_number(cpli_flat* f, const cpli_flat_value* value,
                                  const cpli_flat_port* to, const char* item);

//------------------------------------ ssp_maps.c ------------------------------------

/// The enumeration of a connector. NULL: it has none.
const cpli_ssp_enumeration* cpli_flat_enumeration(const cpli_flat_port* p);

/// A value as a map makes it; the value itself where no entry is for it.
const char* cpli_flat_mapped(const cpli_ssp_transform* map, const char* value);
/// The same for a value that connections map: items of Enumerations are numbers.
/// Nullable: the enumerations of both ends
cpl_status cpli_flat_map_value(cpli_flat* f, const cpli_ssp_transform* map,
                               const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                               const cpli_source_loc* loc, const char** value);
/// An expression of a Boolean or an Integer as an expression of the map. Enumerations are numbers.
/// Nullable: the enumerations of both ends
cpl_status cpli_flat_map_text(cpli_flat* f, const cpli_ssp_transform* map, const char* source,
                              const cpli_ssp_enumeration* from, const cpli_ssp_enumeration* to,
                              const cpli_source_loc* loc, const char** out);

//------------------------------------ ssp_emit.c ------------------------------------

/// Models, inputs, parameters, connections and outputs of the definition.
cpl_status cpli_flat_emit(cpli_flat* f);

//------------------------------------ ssp_annotation.c ------------------------------------

/// Whether the system is a package with an annotation of ours.
bool cpli_flat_has_own(const cpli_ssp_element* system);
/// Reads the annotation of the package, if it has one.
cpl_status cpli_flat_annotation(cpli_flat* f);

//------------------------------------ ssp_hints.c ------------------------------------

/// Steps, tolerances and times: the default experiment, and what other tools write.
cpl_status cpli_flat_hints(cpli_flat* f);
