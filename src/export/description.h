// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes the documents of an exported FMU: modelDescription.xml, buildDescription.xml, the manifest
// of FMI-LS-DAE, and a page for readers.
#pragma once

#include "couplet/interface.h"
#include "export/runtime/references.h"
#include "export/writer.h"

typedef struct cpli_fmu_facts {
  int fmi;  // version: 2 or 3
  const cpl_description* desc;
  cpl_capabilities can;        // of the model
  bool constraint_jacobian;    // of the model
  bool constraint_attributes;  // instead of an annotation
  bool time_events;            // the model requests a time event when it starts
  const char* identifier;
  const char* guid;
  const char* const* source_files;  // for model exchange
  size_t n_source_files;
} cpli_fmu_facts;

/// modelDescription.xml.
cpl_status cpli_write_description(cpli_writer* w, const cpli_fmu_facts* facts);
/// sources/buildDescription.xml of FMI 3.0.
cpl_status cpli_write_build_description(cpli_writer* w, const cpli_fmu_facts* facts);
/// extra/org.fmi-standard.fmi-ls-dae/fmi-ls-manifest.xml of FMI 3.0, for models with algebraic
/// variables.
cpl_status cpli_write_manifest(cpli_writer* w, const cpli_fmu_facts* facts);
/// documentation/index.html.
cpl_status cpli_write_page(cpli_writer* w, const cpli_fmu_facts* facts);

//------------------------------------ parts ------------------------------------

/// The numbers of variables in a version, and the variables that begin an element of the XML.
typedef struct cpli_numbering {
  int fmi;
  const cpl_description* desc;
  cpli_refs3 refs;  // FMI 3.0
  int32_t* extent;  // by variable: elements of the XML variable that begins with it; 1: a scalar,
                    // 0: inside an array
} cpli_numbering;

/// Owned: the contents of *out by the caller, who calls cpli_numbering_free(), also after a
/// failure.
cpl_status cpli_numbering_make(cpl_context* ctx, const cpli_fmu_facts* facts, cpli_numbering* out);
void cpli_numbering_free(cpl_context* ctx, cpli_numbering* n);
/// The variable itself, or the first element of the array that is one variable in FMI 3.0.
int32_t cpli_number_head(const cpli_numbering* n, int32_t var);
/// An index (FMI 2.0) or value reference (FMI 3.0) for the structure.
uint32_t cpli_number_of(const cpli_numbering* n, int32_t var);

void cpli_write_variables(cpli_writer* w, const cpli_fmu_facts* facts, const cpli_numbering* n);
cpl_status cpli_write_structure(cpli_writer* w, const cpli_fmu_facts* facts,
                                const cpli_numbering* n);

void cpli_write_flag(cpli_writer* w, const char* name, bool value);
/// Write a number in the format of XML Schema.
void cpli_write_real(cpli_writer* w, double value);
void cpli_write_real_attribute(cpli_writer* w, const char* name, double value);
