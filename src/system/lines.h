// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The sections `interfaces:` and `tlm:` of a definition: where delay lines can be fixed to models,
// and the lines. Texts are as written; what they mean is known to the room that assembles.
#pragma once

#include "format/yaml.h"
#include "system/definition.h"

// Lists of texts of an interface, by what they are.
enum {
  CPLI_LIST_POSITION,
  CPLI_LIST_ORIENTATION,
  CPLI_LIST_SPEED,
  CPLI_LIST_ANGULAR_SPEED,
  CPLI_LIST_FORCE,
  CPLI_LIST_TORQUE,
  CPLI_LIST_VALUE,
  CPLI_LIST_ORIGIN,  // of a model
  CPLI_LIST_ANGLES,  // of a model
  CPLI_LISTS,
};

typedef struct cpli_list {
  const cpli_located_text* items;
  size_t n;
} cpli_list;

// `left.end: {...}`: an interface; `left: {...}`: what all interfaces of a model share.
typedef struct cpli_interface {
  cpli_located_text name;
  cpli_located_text kind, sign;              // of an interface. Nullable
  cpli_located_text solver, hold, substeps;  // of a model. Nullable
  cpli_list lists[CPLI_LISTS];
} cpli_interface;

typedef struct cpli_line {
  cpli_source_loc loc;
  cpli_located_text from, to;
  cpli_located_text delay, zf, zfr, alpha;  // Nullable but the first
  bool compensate, apart;
} cpli_line;

cpl_status cpli_def_add_interface(cpl_system_def* def, const cpli_interface* item);
cpl_status cpli_def_add_line(cpl_system_def* def, const cpli_line* item);

/// `model`: whose it is; NULL: the key of the node says so ("left.end"; "left": what all of its
/// interfaces share).
cpl_status cpli_read_interface(cpl_system_def* def, const cpli_yaml_file* yaml, const char* model,
                               const cpli_yaml* node);
cpl_status cpli_read_line(cpl_system_def* def, const cpli_yaml_file* yaml, const cpli_yaml* node);
