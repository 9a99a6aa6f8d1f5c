// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An opened .fmu: its description, parsed from modelDescription.xml, and where its files are. It is
// a cpl_source; the adapters (fmiN_model.c, fmiN_stepper.c) make models and steppers of it.
#pragma once

#include "base/base.h"
#include "couplet/fmi.h"
#include "couplet/interface.h"
#include "fmi/findings.h"

// A list of texts; NULL when it is empty.
typedef struct cpli_texts {
  const char** items;
  int32_t n;
} cpli_texts;

// The values of providesConstraints.
typedef enum cpli_provides { CPLI_NO, CPLI_YES, CPLI_WITH_JACOBIAN } cpli_provides;

// One interface type in an FMU: model exchange, co-simulation or scheduled execution.
typedef struct cpli_fmu_kind {
  bool present;
  const char* identifier;  // modelIdentifier: name of the binary and prefix
  cpl_capabilities can;
  bool no_memory_functions;   // canNotUseMemoryManagementFunctions (FMI 2.0)
  bool asynchronous;          // canRunAsynchronuously (co-simulation of FMI 1.0 and 2.0)
  int32_t line;               // of its element in the description
  const char** source_files;  // names below sources/
  int32_t n_source_files;
  cpli_texts definitions;   // for the compiler, NAME or NAME=VALUE (sources/buildDescription.xml)
  cpli_texts include_dirs;  // below sources/
  // model exchange: constraints, an extension
  int32_t max_constraints;  // maxNumberOfConstraints
  bool projection;          // providesProjection
  bool projection_step;     // providesProjectionStep
  uint8_t constraints;      // providesConstraints: cpli_provides
  // FMI 1.0
  bool tool_coupling;  // CoSimulation_Tool: runs inside its tool only
  // FMI 3.0
  bool adjoint;                  // providesAdjointDerivatives
  bool per_element;              // providesPerElementDependencies
  bool evaluate_discrete;        // providesEvaluateDiscreteStates
  bool event_mode;               // hasEventMode (co-simulation)
  bool early_return;             // mightReturnEarlyFromDoStep
  bool early_return_on_request;  // canReturnEarlyAfterIntermediateUpdate
  bool intermediate_update;      // providesIntermediateUpdate
  double fixed_step;             // fixedInternalStepSize; 0: not given
  int32_t input_smoothness;      // recommendedIntermediateInputSmoothness
} cpli_fmu_kind;

// The meaning of a reference of the description that is not simply a value reference of the FMU: an
// element of an array (FMI 3.0), a negated alias (FMI 1.0).
typedef struct cpli_slot {
  uint32_t value_ref;
  int32_t element;  // in the array of value_ref, from 0; 0 for scalars
  int32_t count;    // of elements value_ref has; 1 for scalars
  uint8_t width;    // cpl_width
  bool negated;
} cpli_slot;

typedef enum cpli_interval {
  CPLI_INTERVAL_CONSTANT,
  CPLI_INTERVAL_FIXED,
  CPLI_INTERVAL_CALCULATED,
  CPLI_INTERVAL_TUNABLE,
  CPLI_INTERVAL_CHANGING,
  CPLI_INTERVAL_COUNTDOWN,
  CPLI_INTERVAL_TRIGGERED,
} cpli_interval;

const char* cpli_interval_name(cpli_interval interval);  // "constant", ...

// A Clock of FMI 3.0. Times in seconds, or in ticks of 1/resolution with supportsFraction.
typedef struct cpli_clock {
  int32_t var;       // in desc.vars; its causality is input or output
  uint32_t ref;      // of the description
  uint8_t interval;  // cpli_interval
  bool can_be_deactivated;
  bool supports_fraction;
  bool has_interval;  // interval_decimal is given
  double interval_decimal, shift_decimal;
  bool has_counter;  // interval_counter and resolution are given
  uint64_t resolution, interval_counter, shift_counter;
  bool has_priority;
  uint32_t priority;
} cpli_clock;

// One clock of a clocked variable; sorted by variable.
typedef struct cpli_clocked {
  int32_t var;
  int32_t clock;  // in clocks
} cpli_clocked;

// Attributes of FMI 3.0 that cpl_variable lacks; a variable without any of them has no entry.
typedef struct cpli_extra {
  int32_t var;
  int32_t previous;          // variable with the value of the last tick; -1: none
  bool intermediate_update;  // may be set or read during intermediate updates
  const char* mime_type;     // of a Binary; Nullable
  uint64_t max_size;         // of a Binary; 0: not given
} cpli_extra;

// A terminal of terminalsAndIcons.xml: variables that are connected together.
typedef struct cpli_terminal {
  const char *name, *kind, *rule, *description;  // never NULL
  const char* icon;                              // file without its ending. Nullable.
  int32_t parent;                                // in terminals; -1: none
  int32_t count;                                 // of its members, not counting terminals in it
} cpli_terminal;

typedef struct cpli_terminal_member {
  const char *variable, *member, *kind;  // never NULL
  int32_t terminal;
} cpli_terminal_member;

// A layered standard that the FMU declares.
typedef struct cpli_layer {
  const char *name, *version, *description;  // never NULL
} cpli_layer;

// One build configuration of the sources, from buildDescription.xml.
typedef struct cpli_build {
  const char *identifier, *platform, *description;  // platform "": any; never NULL
  const char *language, *compiler, *options;        // of the first set that has them; never NULL
  cpli_texts files, definitions, include_dirs, libraries;
} cpli_build;

// The form with residuals, from the manifest of FMI-LS-DAE; which variables are what is in the
// description.
typedef struct cpli_fmu_dae {
  bool present;
  int32_t enable;           // variable that selects it; -1: the FMU has no other form
  const int32_t* nominals;  // per algebraic variable: the variable with its nominal; -1: none
  int32_t n_residuals;
} cpli_fmu_dae;

struct cpli_platform;
struct cpli_hosted;

// Operations for which archives and the compiler are needed. Sources that call FMUs reach them by
// this table only, so that they can be linked without.
typedef struct cpli_fmu_loader {
  cpl_status (*unpack)(cpl_fmu* fmu);  // makes fmu->folder; not called for an unpacked folder
  void (*remove)(cpl_fmu* fmu);        // the files of that folder, when the FMU is destroyed
  /// Makes `path` from the sources of `kind`.
  cpl_status (*compile)(const cpl_fmu* fmu, const cpli_fmu_kind* kind, char* path);
  /// Loads the binary `path` of another platform into a process of its own. Owned: *out by the
  /// caller, who calls its close().
  cpl_status (*open_foreign)(cpl_fmu* fmu, const cpli_fmu_kind* kind,
                             const struct cpli_platform* platform, const char* path,
                             struct cpli_hosted** out);
} cpli_fmu_loader;

struct cpl_fmu {
  cpl_source base;  // base.desc == &desc
  cpl_description desc;
  cpli_arena arena;  // holds everything the description points to
  cpli_names names;  // variable names
  int version;       // major FMI version: 1, 2, 3
  const char* version_text;
  const char* guid;
  cpli_fmu_kind me, cs, se;  // se: scheduled execution, used when there is nothing else
  const cpli_slot* slots;    // by reference of the description; NULL: they are value references
  uint32_t n_slots;
  const cpli_clock* clocks;
  int32_t n_clocks;
  const cpli_clocked* clocked;
  int32_t n_clocked;
  const cpli_extra* extras;  // by variable
  int32_t n_extras;
  const cpl_start* starts;  // the start values of structural parameters the arrays were sized with
  size_t n_starts;
  const cpli_terminal* terminals;
  int32_t n_terminals;
  const cpli_terminal_member* terminal_members;
  int32_t n_terminal_members;
  const cpli_layer* layers;
  int32_t n_layers;
  cpli_fmu_dae dae;
  const cpli_build* builds;
  int32_t n_builds;
  bool has_icon;
  const char** log_categories;
  const char** log_descriptions;  // one per category, never NULL
  int32_t n_log_categories;
  const char** platforms;  // folders below binaries/
  int32_t n_platforms;
  const char* platform;   // folder of this platform, "linux64" or "x86_64-linux", as found inside
  const char** binaries;  // files of this platform, names below binaries/PLATFORM/
  int32_t n_binaries;
  cpli_texts foreign_binaries;          // files of platforms that hosts can run, "win64/x.dll"
  const struct cpli_platform* foreign;  // the one that would be used; NULL: none (platform.h)
  const char *foreign_folder, *foreign_suffix;  // its folder below binaries/
  bool foreign_forced;                          // it is used in any case
  double call_timeout;                          // of calls in other processes [s]; 0: no limit
  const cpl_start* given;  // by the user, while the description is read; borrowed
  size_t n_given;
  cpli_texts companions;  // smaller XML files, names as in the archive
  cpli_texts files;       // all below sources/ and terminalsAndIcons/, names as in the archive
  bool has_sources;
  bool is_folder;                 // opened from an unpacked folder: nothing to extract or remove
  cpli_findings findings;         // what the parser noticed and could live with
  char* folder;                   // where the archive was extracted, absolute; NULL: not yet
  const cpli_fmu_loader* loader;  // Nullable: of an image
  void* call_log;                 // FILE* of the call log; NULL: none
  bool shares_log;                // it belongs to the caller
  const char* log_prefix;         // of the names of instances in it
  int live_instances;
  bool logging;                    // instances log debug messages (loggingOn)
  struct cpli_library* libraries;  // loaded binaries; library.h
};

/// Fill fmu->desc and the rest from the text of modelDescription.xml, which a zero byte follows.
/// `where` is used in messages
/// ("model.fmu/modelDescription.xml"), which then give the line.
cpl_status cpli_fmu_parse(cpl_fmu* fmu, const char* where, const char* text, size_t size);

/// An FMU without a description. size: of a struct that begins with a cpl_fmu. NULL: out of memory.
/// Owned: the result by the caller, who calls cpli_fmu_destroy().
cpl_fmu* cpli_fmu_create(cpl_context* ctx, const char* path, size_t size);
void cpli_fmu_destroy(cpl_source* src);  // Nullable: src
/// To be called when the description has been read: gives the source its operations.
cpl_status cpli_fmu_complete(cpl_fmu* fmu);

/// Extract the files that instances need (binaries of this platform, resources, sources when there
/// is no binary) into a temporary folder that destroying the FMU removes. Does nothing the second
/// time.
cpl_status cpli_fmu_extract(cpl_fmu* fmu);

/// The usual name of this platform's folder below binaries/, e.g. "linux64" (FMI 1.0 and 2.0) or
/// "x86_64-linux" (FMI 3.0); fmu->platform is the one that exists. The suffix of its libraries.
const char* cpli_fmu_platform(void);
const char* cpli_fmu_platform_tuple(void);
const char* cpli_fmu_library_suffix(void);
/// True when binaries/PLATFORM/identifier.so exists in it.
bool cpli_fmu_has_binary(const cpl_fmu* fmu, const char* identifier);

/// The binary of this kind for another platform that hosts can run, in binaries/FOLDER. False:
/// there is none. Nullable: folder
bool cpli_fmu_has_foreign(const cpl_fmu* fmu, const struct cpli_platform* platform,
                          const char* identifier, const char** folder);

/// fmiN_model.c and fmiN_stepper.c; source.c has the table of those that are there.
cpl_status cpli_fmi1_make_model(cpl_source* src, const char* name, cpl_model** out);
cpl_status cpli_fmi1_make_stepper(cpl_source* src, const char* name, cpl_stepper** out);
cpl_status cpli_fmi2_make_model(cpl_source* src, const char* name, cpl_model** out);
cpl_status cpli_fmi2_make_stepper(cpl_source* src, const char* name, cpl_stepper** out);
cpl_status cpli_fmi3_make_model(cpl_source* src, const char* name, cpl_model** out);
cpl_status cpli_fmi3_make_stepper(cpl_source* src, const char* name, cpl_stepper** out);
cpl_status cpli_fmi3_make_scheduled(cpl_source* src, const char* name, cpl_stepper** out);
