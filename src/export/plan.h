// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The plan of an FMU that is made of a system, the file resources/plan: the definitions of the
// system and of those inside it, and the models they consist of, as they were read and opened when
// the FMU was built. So the FMU needs neither XML nor YAML nor archives.
#pragma once

#include "format/image.h"
#include "system/definition.h"

enum { CPLI_PLAN_DEEPEST = 16 };  // FMUs of systems inside each other

#define CPLI_PLAN_FILE "plan"

// A model: the files and the description of an FMU, or a compiled model in C.
typedef struct cpli_plan_source {
  const char* name;     // for messages: its file, as the system file names it
  const char* path;     // below resources/: the folder of the FMU, the library of the model in C
  uint32_t kind;        // cpl_member_kind: FMU or C
  bool isolated;        // instances run in processes of their own
  double call_timeout;  // of isolated ones [s]; 0: none
  uint8_t* image;       // of the FMU (fmi/image.h), or of the description of the model
  uint64_t image_size;
} cpli_plan_source;

// A definition, and what it does not hold itself, in the order of cpli_plan_walk().
typedef struct cpli_plan_system {
  uint8_t* image;  // system/image.h
  uint64_t image_size;
  int32_t* members;  // of each model: its number in the sources; of systems -1 - their number
  uint64_t n_members;
  const char** tables;  // below resources/: the files that inputs follow
  uint64_t n_tables;
} cpli_plan_system;

typedef struct cpli_plan {
  const char* guid;
  uint32_t depth;  // 1 and more: FMUs of systems inside each other
  cpli_plan_source* sources;
  uint64_t n_sources;
  cpli_plan_system* systems;  // the first one is the whole
  uint64_t n_systems;
} cpli_plan;

/// Owned: out->bytes by the caller, who calls cpli_free().
cpl_status cpli_plan_write(cpl_context* ctx, const cpli_plan* plan, cpli_image* out);
cpl_status cpli_plan_read(cpl_context* ctx, cpli_arena* arena, const unsigned char* bytes,
                          size_t size, cpli_plan* out);

typedef struct cpli_plan_walker {
  void (*member)(void* user, cpli_member* m);
  void (*table)(void* user, cpli_input* in);  // of inputs with a file. Nullable
  void* user;
} cpli_plan_walker;

/// Visits the models of a definition and of its modes.
void cpli_plan_walk(cpl_system_def* def, const cpli_plan_walker* w);

/// The system of a plan, opened in an FMU.
typedef struct cpli_packed cpli_packed;

// Where the models and tables of a plan are: in files, or in the program. Memory of the arena lives
// as long as the system.
typedef struct cpli_plan_parts {
  cpl_status (*open)(void* user, cpli_arena* arena, size_t number, const cpli_plan_source* source,
                     cpl_source** out);
  /// Gives an input its table, by its name in the plan.
  cpl_status (*table)(void* user, cpli_arena* arena, const char* name, cpli_input* in);
  void* user;
  const char* place;  // for messages
} cpli_plan_parts;

/// Owned:    *out by the caller, who calls cpli_packed_close() after all instances are gone.
/// Borrowed: plan and parts, only during the call.
cpl_status cpli_packed_make(cpl_context* ctx, const unsigned char* plan, size_t size,
                            const cpli_plan_parts* parts, cpli_packed** out);
/// The same of the files in the folder of resources.
cpl_status cpli_packed_open(cpl_context* ctx, const char* resources, cpli_packed** out);
/// The stored description of a model in C, for its structure.
cpl_status cpli_plan_structure(cpl_context* ctx, cpli_arena* arena, const cpli_plan_source* s,
                               const cpl_description** out);
void cpli_packed_close(cpli_packed* p);  // Nullable
cpl_source* cpli_packed_source(const cpli_packed* p);
const char* cpli_packed_guid(const cpli_packed* p);
/// The name of a model in it that can be instantiated only once per process. Nullable: there is
/// none
const char* cpli_packed_single(const cpli_packed* p);
/// A stepper of a system for co-simulation, with the settings of its definition. rtol: the relative
/// tolerance; 0: that of the definition.
cpl_status cpli_packed_stepper(cpl_source* source, const char* name, double rtol,
                               cpl_stepper** out);
