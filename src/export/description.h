// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the documents of an exported FMU: modelDescription.xml, buildDescription.xml, the manifest
// of FMI-LS-DAE, and a page for readers. The facts are a description, of a model in C or of a whole
// system, and the capabilities of its instances.
#pragma once

#include "couplet/interface.h"
#include "export/runtime/references.h"
#include "export/writer.h"

struct cpl_fmu;

// An FMU in a system.
typedef struct cpli_inner_fmu {
  const char* name;  // "left", in a nested system "front.left"
  const struct cpl_fmu* fmu;
} cpli_inner_fmu;

typedef struct cpli_fmu_facts {
  int fmi;  // version: 2 or 3
  const cpl_description* desc;
  bool model_exchange, co_simulation;
  cpl_capabilities can;        // of the model
  cpl_capabilities step_can;   // of the stepper
  bool constraint_jacobian;    // of the model
  bool constraint_attributes;  // instead of an annotation
  bool time_events;            // a time event is requested at the start, and next ones are known
  const bool* exposed;         // by variable. Nullable: all; what model exchange needs is added
  const char* identifier;
  const char* guid;
  const char* const* source_files;  // for model exchange
  size_t n_source_files;
  const cpli_inner_fmu* inner;  // FMUs in the system
  size_t n_inner;
} cpli_fmu_facts;

/// modelDescription.xml.
/// Returns: CPL_ERR_UNSUPPORTED: model exchange needs variables that the description does not have.
cpl_status cpli_write_description(cpli_writer* w, const cpli_fmu_facts* facts);
/// sources/buildDescription.xml of FMI 3.0.
cpl_status cpli_write_build_description(cpli_writer* w, const cpli_fmu_facts* facts);
/// extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml of FMI 3.0, for models with algebraic
/// variables.
cpl_status cpli_write_manifest(cpli_writer* w, const cpli_fmu_facts* facts);
/// terminalsAndIcons/terminalsAndIcons.xml of FMI 3.0; nothing is written where no signals are
/// grouped.
cpl_status cpli_write_terminals(cpli_writer* w, const cpli_fmu_facts* facts);
/// documentation/index.html.
cpl_status cpli_write_page(cpli_writer* w, const cpli_fmu_facts* facts);

//------------------------------------ numbering ------------------------------------

/// The variables that are written, and their numbers in a version. In FMI 3.0 an array is one
/// variable.
typedef struct cpli_numbering {
  int fmi;
  bool model_exchange;
  const cpl_description* desc;
  cpli_refs3 refs;  // FMI 3.0
  int32_t* extent;  // by variable: elements of the XML variable that begins with it; 1: a scalar,
                    // 0: inside an array
  bool* written;    // by variable
  bool* is_state;   // by variable: of a model
  uint32_t* index;  // FMI 2.0, by variable: its position, from 1
  // units and types in the XML, by index in the description
  const char** units;   // names, also of display units; NULL: not written
  int32_t* unit_of;     // the first unit that is the same
  int32_t* displays;    // list of the display units of a unit; -1: its end
  const char** types;   // names; NULL: not written
  int32_t* type_of;     // the first type that is the same
  uint8_t* type_width;  // of the first one: cpl_width of its variables
  cpli_arena arena;
} cpli_numbering;

/// Owned: the contents of *out by the caller, who calls cpli_numbering_free(), also after a
/// failure.
cpl_status cpli_numbering_make(cpl_context* ctx, const cpli_fmu_facts* facts, cpli_numbering* out);
void cpli_numbering_free(cpli_numbering* n);
/// Why a variable that is exposed is not written: "is a Clock"; NULL: it is written or not exposed.
const char* cpli_why_left_out(const cpli_fmu_facts* facts, int32_t var);
/// The variable itself, or the first element of the array that is one variable in FMI 3.0.
int32_t cpli_number_head(const cpli_numbering* n, int32_t var);
/// An index (FMI 2.0) or value reference (FMI 3.0) for the structure.
uint32_t cpli_number_of(const cpli_numbering* n, int32_t var);
/// The value reference of a variable.
uint32_t cpli_reference_of(const cpli_numbering* n, const cpl_variable* v);

//------------------------------------ terminals ------------------------------------

enum { CPLI_PASSED = INT32_MAX };

typedef struct cpli_passed {
  cpli_arena* arena;
  cpli_names* names;  // of terminals -> CPLI_PASSED
} cpli_passed;

/// "before.name" in the arena; `name` where `before` is NULL. NULL: no memory
const char* cpli_inner_name(cpli_arena* arena, const char* before, const char* name);

/// Write the terminals of the FMUs of a system that are terminals of the whole, too.
cpl_status cpli_pass_terminals(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n,
                               cpli_passed* passed);

//------------------------------------ parts ------------------------------------

/// The name of a type in a version: "Real", "Float32". `named`: an Enumeration has a declared type.
const char* cpli_xml_type(int fmi, cpl_type type, cpl_width width, bool named);
/// Choose the names of units and types (cpli_numbering_make calls it).
cpl_status cpli_name_types(cpli_numbering* n);
void cpli_write_types(cpli_writer* w, const cpli_numbering* n);
void cpli_write_variables(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n);
cpl_status cpli_write_structure(cpli_writer* w, const cpli_fmu_facts* facts,
                                const cpli_numbering* n);

void cpli_write_flag(cpli_writer* w, const char* name, bool value);
/// Write a number in the format of XML Schema.
void cpli_write_real(cpli_writer* w, double value);
void cpli_write_real_attribute(cpli_writer* w, const char* name, double value);
