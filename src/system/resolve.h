// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// From the texts of a definition to variables of its opened models. A name is "model.variable"
// (see cpli_split_name()), an input or a parameter of the system. A text that is
// exactly a known name is that name; any other is an expression and none of this room's business,
// but its names are resolved here. Failures have the source location and similar known names.
#pragma once

#include "model/units.h"
#include "system/definition.h"

//------------------------------------ names ------------------------------------

typedef enum cpli_ref_kind {
  CPLI_REF_NONE,
  CPLI_REF_VARIABLE,   // of a model
  CPLI_REF_INPUT,      // of the system
  CPLI_REF_PARAMETER,  // of the system
} cpli_ref_kind;

typedef struct cpli_ref {
  cpli_ref_kind kind;
  int32_t model;  // VARIABLE: index in def->models; else -1
  int32_t index;  // of the variable, or in def->inputs or def->parameters
} cpli_ref;

typedef struct cpli_resolver {
  cpl_context* ctx;
  const cpl_system_def* def;        // borrowed
  const cpl_source* const* models;  // borrowed: the opened models, one per def->models
  const cpl_unit* input_units;      // borrowed: one per def->inputs; name NULL: none. Nullable
  char near[CPLI_NEAREST][512];     // known names near the one last not found; "" when fewer
} cpli_resolver;

/// Returns: CPL_ERR_INPUT when an input or parameter is named as if it belonged to a model.
cpl_status cpli_resolver_init(cpli_resolver* r, cpl_context* ctx, const cpl_system_def* def,
                              const cpl_source* const* models);

/// Whether `name` is exactly a known name; else *out is {NONE, -1, -1} and nothing is recorded.
bool cpli_resolver_find(const cpli_resolver* r, const char* name, cpli_ref* out);

/// Like cpli_resolver_find(), but fails with the source location and suggests similar names.
cpl_status cpli_resolver_require(cpli_resolver* r, const cpli_located_text* name, cpli_ref* out);

/// For a parser that reports unknown names itself: cpli_resolver_miss() after a name was not found,
/// then cpli_resolver_candidate(r, i) for i < CPLI_NEAREST are the names to offer.
void cpli_resolver_miss(cpli_resolver* r, const char* name);
const char* cpli_resolver_candidate(const void* resolver, size_t i);

/// The variable a reference names; NULL: it is an input or parameter of the system.
const cpl_variable* cpli_ref_variable(const cpli_resolver* r, cpli_ref ref);

//------------------------------------ connections ------------------------------------

typedef struct cpli_link {
  int32_t connection;     // index in def->connections
  int32_t model, var;     // target
  cpli_ref source;        // of a bare reference; NONE: an expression or a coupling
  double factor, offset;  // bare references: target = factor * source + offset
} cpli_link;

typedef struct cpli_links {
  cpl_context* ctx;
  cpli_link* items;    // in the order of def->connections; one per element where arrays are joined
  int32_t* by_target;  // indices of items in order of model and variable (the first of aliases)
  size_t count;
} cpli_links;

/// Find the targets of all connections and the sources of the bare ones. Targets are inputs of
/// models, each connected once (aliases count as one); types and units of bare references agree, or
/// every value can be converted without loss, or the connection says that loss is fine. Doubtful
/// units are logged as warnings. Owned: links by the caller, who calls cpli_links_free() (also fine
/// after a failure).
cpl_status cpli_links_init(cpli_links* links, cpli_resolver* r);
void cpli_links_free(cpli_links* links);

/// How the value of one reference becomes that of another, both bare: units are converted, those of
/// different dimensions are an error, doubtful ones a warning. Without a unit nothing is done.
cpl_status cpli_relate_refs(const cpli_resolver* r, const cpli_source_loc* loc, cpli_ref target,
                            cpli_ref source, double* factor, double* offset);

/// The same for a value that passes connectors. Nullable: target of kind CPLI_REF_NONE
cpl_status cpli_transform_refs(const cpli_resolver* r, const cpli_source_loc* loc,
                               const cpli_transform* t, cpli_ref target, cpli_ref source,
                               double* factor, double* offset);

/// The link of an input or one of its aliases; -1: it is not connected.
int32_t cpli_links_find(const cpli_links* links, const cpli_resolver* r, int32_t model,
                        int32_t var);

//------------------------------------ the rest ------------------------------------

/// Start values name variables of their models.
cpl_status cpli_check_starts(cpli_resolver* r);

/// Warn of inputs that are neither connected nor have a start value.
void cpli_warn_unconnected(const cpli_resolver* r, const cpli_links* links);

/// The target of an event's `set`: a state, an input that is not connected, or a tunable parameter.
cpl_status cpli_resolve_set(cpli_resolver* r, const cpli_links* links,
                            const cpli_located_text* target, cpli_ref* out);
