// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reading a system file, for the files that share the work: file.c walks the sections, modes_file.c
// reads those about modes.
#pragma once

#include "format/yaml.h"
#include "system/definition.h"

typedef struct cpli_reader {
  cpl_context* ctx;
  cpl_system_def* def;
  const cpli_yaml_file* yaml;
  const char* folder;  // where relative paths begin: "" or with a slash at its end
  int32_t lines;       // before the text in its file
  bool inside;         // paths must not lead out of the folder
  bool nested;         // inside of another system it may be empty
} cpli_reader;

//------------------------------------ file.c ------------------------------------

cpli_source_loc cpli_reader_loc(const cpli_reader* r, const cpli_yaml* node);
CPL_PRINTF(3, 4)
cpl_status cpli_fail_node(const cpli_reader* r, const cpli_yaml* node, const char* fmt, ...);
/// Copies the text of a scalar, with its source location, into the definition.
cpl_status cpli_read_text(cpli_reader* r, const cpli_yaml* node, const char* what,
                          cpli_located_text* out);
cpli_located_text cpli_read_key(cpli_reader* r, const cpli_yaml* child);
cpl_status cpli_check_keys(const cpli_reader* r, const cpli_yaml* mapping, const char* const* known,
                           size_t n);
/// Names and values, each a text.
cpl_status cpli_read_settings(cpli_reader* r, const cpli_yaml* node, const char* what,
                              cpli_setting** out, size_t* n);
/// One time or a list of them, into e->at.
cpl_status cpli_read_times(cpli_reader* r, const cpli_yaml* node, cpli_event* e);
/// A section of a system, by its key.
cpl_status cpli_read_section(cpli_reader* r, const cpli_yaml* node);

//------------------------------------ modes_file.c ------------------------------------

cpl_status cpli_read_modes(cpli_reader* r, const cpli_yaml* node);
cpl_status cpli_read_observed(cpli_reader* r, const cpli_yaml* node);
/// The section `experiment`, or `solver` of a mode or a nested system.
cpl_status cpli_read_experiment(cpli_reader* r, const cpli_yaml* node, bool of_solver);
/// `count:` of a model: the number of instances name[1], name[2], ...
cpl_status cpli_read_count(cpli_reader* r, const cpli_yaml* node, cpli_member member);
