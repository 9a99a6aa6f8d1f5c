// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Hand-written YAML as a tree with texts and their source locations. Features that make
// YAML surprising are errors with a source location: repeated keys, tags, anchors, aliases, keys
// that are no plain texts, a second document. Nothing is printed, and everything is linear in the
// file's size.
#pragma once

#include "format/source_loc.h"

typedef enum cpli_yaml_kind {
  CPLI_YAML_SCALAR,
  CPLI_YAML_SEQUENCE,
  CPLI_YAML_MAPPING,
} cpli_yaml_kind;

// A scalar has a text, the others have children, in the order of the file; the children of a
// mapping have keys.
typedef struct cpli_yaml {
  cpli_yaml_kind kind;
  bool quoted;           // a scalar in quotes or a block (| or >): never empty in the sense of YAML
  int32_t line, column;  // from 1; of the text itself, inside the quotes
  const char* text;      // of a scalar; "" when there is nothing
  const struct cpli_yaml *first, *next;  // child, sibling
  const struct cpli_yaml* key;           // of a child of a mapping: its key, a scalar
  size_t count;                          // of children
  const struct cpli_yaml** slots;        // private: children by hash of their keys
  size_t n_slots;
} cpli_yaml;

typedef struct cpli_yaml_file {
  cpli_arena arena;
  cpl_context* ctx;
  const char* path;
  const cpli_yaml* root;
} cpli_yaml_file;

enum { CPLI_YAML_DEPTH = 32, CPLI_YAML_MEGABYTES = 64 };

/// Read a file. Owned: *out by the caller, who calls cpli_yaml_close(); NULL after a failure.
cpl_status cpli_yaml_read(cpl_context* ctx, const char* path, cpli_yaml_file** out);
/// The same from memory; `path` names it in messages.
cpl_status cpli_yaml_parse(cpl_context* ctx, const char* path, const char* text, size_t len,
                           cpli_yaml_file** out);
void cpli_yaml_close(cpli_yaml_file* file);  // Nullable: file

/// The value of a key; NULL: the mapping has none of that name.
const cpli_yaml* cpli_yaml_get(const cpli_yaml* mapping, const char* key);

cpli_source_loc cpli_yaml_loc(const cpli_yaml_file* file, const cpli_yaml* node);

/// "a mapping", "a list", "nothing" or the text in quotes, cut short, for messages; returns `out`.
const char* cpli_yaml_what(const cpli_yaml* node, char out[64]);

//------------------------------------ values ------------------------------------

// `what` names the value in the message: "stop needs a number, not a list". All take scalars only,
// and return CPL_ERR_INPUT with the source location of the node.
cpl_status cpli_yaml_string(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                            const char** out);  // never empty unless quoted
cpl_status cpli_yaml_number(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                            double* out);  // finite
cpl_status cpli_yaml_boolean(const cpli_yaml_file* file, const cpli_yaml* node, const char* what,
                             bool* out);  // true or false

/// A mapping, or a list (also an empty one); else a failure.
cpl_status cpli_yaml_mapping(const cpli_yaml_file* file, const cpli_yaml* node, const char* what);
cpl_status cpli_yaml_sequence(const cpli_yaml_file* file, const cpli_yaml* node, const char* what);
/// A list whose items are texts.
cpl_status cpli_yaml_strings(const cpli_yaml_file* file, const cpli_yaml* node, const char* what);
