// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An opened .fmu: its description, parsed from modelDescription.xml, and where its files are. It is
// a cpl_source; the adapters (fmi2_model.c, fmi2_stepper.c) make models and steppers of it.
#pragma once

#include "base/base.h"
#include "couplet/fmi.h"
#include "couplet/interface.h"
#include "fmi/findings.h"

// One interface type in an FMU: model exchange or co-simulation.
typedef struct cpli_fmu_kind {
  bool present;
  const char* identifier;  // modelIdentifier: name of the binary and prefix
  cpl_capabilities can;
  bool no_memory_functions;   // canNotUseMemoryManagementFunctions
  bool asynchronous;          // canRunAsynchronuously (co-simulation)
  int32_t line;               // of its element in the description
  const char** source_files;  // names below sources/
  int32_t n_source_files;
} cpli_fmu_kind;

// What a reference of the description stands for in the FMU, where it is not simply a value
// reference: an element of an array (FMI 3.0), a negated alias (FMI 1.0).
typedef struct cpli_slot {
  uint32_t value_ref;
  int32_t element;  // in the array of value_ref, from 0; 0 for scalars
  int32_t count;    // of elements value_ref has; 1 for scalars
  uint8_t width;    // cpl_width
  bool negated;
} cpli_slot;

struct cpl_fmu {
  cpl_source base;  // base.desc == &desc
  cpl_description desc;
  cpli_arena arena;  // holds everything the description points to
  cpli_names names;  // variable names
  int version;       // major FMI version: 1, 2, 3
  const char* version_text;
  const char* guid;
  cpli_fmu_kind me, cs, se;  // se: scheduled execution, described only
  const cpli_slot* slots;    // by reference of the description; NULL: they are value references
  uint32_t n_slots;
  const char** log_categories;
  const char** log_descriptions;  // one per category, never NULL
  int32_t n_log_categories;
  const char** platforms;  // folders below binaries/
  int32_t n_platforms;
  const char** binaries;  // files of this platform, names below binaries/PLATFORM/
  int32_t n_binaries;
  bool has_sources;
  bool is_folder;          // opened from an unpacked folder: nothing to extract or remove
  cpli_findings findings;  // what the parser noticed and could live with
  char* folder;            // where the archive was extracted, absolute; NULL: not yet
  void* call_log;          // FILE* of the call log; NULL: none
  int live_instances;
  bool logging;                    // ask instances for debug messages (loggingOn)
  struct cpli_library* libraries;  // loaded binaries; library.h
};

/// Fill fmu->desc and the rest from the text of modelDescription.xml. `where` is used in messages
/// ("model.fmu/modelDescription.xml"), which then give the line.
cpl_status cpli_fmu_parse(cpl_fmu* fmu, const char* where, const char* xml, size_t size);

/// Extract what instances need (binaries of this platform, resources, sources when there is no
/// binary) into a temporary folder that destroying the FMU removes. Does nothing the second time.
cpl_status cpli_fmu_extract(cpl_fmu* fmu);

/// The name of this platform's folder below binaries/, e.g. "linux64"; the suffix of its libraries.
const char* cpli_fmu_platform(void);
const char* cpli_fmu_library_suffix(void);
/// Is binaries/PLATFORM/identifier.so inside?
bool cpli_fmu_has_binary(const cpl_fmu* fmu, const char* identifier);

/// fmi2_model.c and fmi2_stepper.c
cpl_status cpli_fmi2_make_model(cpl_source* src, const char* name, cpl_model** out);
cpl_status cpli_fmi2_make_stepper(cpl_source* src, const char* name, cpl_stepper** out);
