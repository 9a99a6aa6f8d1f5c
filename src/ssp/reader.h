// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A package being read. Files are documents of a package, which is an archive or a folder; each is
// read once, however often it is referred to. Findings are reported through the reader, which
// decides whether reading goes on. Functions that read return a negative status to stop; where
// reading goes on after an error, their result is NULL or empty.
#pragma once

#include "format/zip.h"
#include "ssp/ssp.h"

typedef enum cpli_ssp_kind {
  CPLI_SSP_DESCRIPTION,  // .ssd
  CPLI_SSP_VALUES,       // .ssv
  CPLI_SSP_MAPPING,      // .ssm
  CPLI_SSP_SIGNALS,      // .ssb
} cpli_ssp_kind;

// A package, an FMU, or the folder of a single .ssd.
typedef struct cpli_ssp_package {
  struct cpli_ssp_package* next;
  const char* path;    // on disk
  const char* shown;   // in messages
  cpli_zip* zip;       // NULL: a folder on disk
  const char* folder;  // of its files on disk, with a final '/'; of an archive NULL until needed
  bool is_open;        // a folder whose files may refer to others outside: that of a single .ssd
  struct cpli_ssp_used* used;  // files that were given by their path; the first one last
} cpli_ssp_package;

typedef struct cpli_ssp_used {
  struct cpli_ssp_used* next;
  const char *name, *path;
} cpli_ssp_used;

// One file, or one of these inline in another one.
typedef struct cpli_ssp_document {
  cpli_ssp_file file;
  struct cpli_ssp_document* next;
  struct cpli_ssp_document* outer;  // the .ssd that refers to this one, while it is read
  cpli_ssp_package* package;
  const char* name;  // inside the package; in an open folder perhaps with ".." or absolute
  const cpli_xml_node* root;
  cpli_ssp_kind kind;
  bool is_inline;     // its tree belongs to another document
  bool is_read;       // the content was read; it is NULL where the file is in error
  bool is_reading;    // an .ssd whose elements are being read
  cpli_names warned;  // units and enumerations that were reported
  // the content, by kind
  cpli_ssp_element* system;
  cpli_names ids;  // of systems, as indices in with_id
  cpli_ssp_element** with_id;
  size_t n_with_id, cap_with_id;
  struct cpli_ssp_pending* pending;  // components of source "#id"
  const cpli_ssp_parameter_set* set;
  const cpli_ssp_mapping* mapping;
  const cpli_ssp_entry* entries;
  size_t n_entries;
} cpli_ssp_document;

typedef struct cpli_ssp_pending {
  struct cpli_ssp_pending* next;
  cpli_ssp_element* component;
  const char* id;
} cpli_ssp_pending;

struct cpli_ssp_storage {
  cpli_ssp_package* packages;    // the first one last
  cpli_ssp_document* documents;  // all; the first one last
  cpli_names index;              // of documents by kind and path, as indices in by_index
  cpli_ssp_document** by_index;
  size_t n_index, cap_index;
  cpli_ssp_package* main;
  cpli_ssp_element* system;  // the same as cpli_ssp.system
};

typedef struct cpli_ssp_reader {
  cpl_context* ctx;
  cpli_ssp* ssp;
  struct cpli_ssp_storage* storage;
  const cpli_ssp_findings* findings;  // Nullable
  cpli_ssp_document* innermost;       // the .ssd that is being read. Nullable
  int depth;                          // number of .ssd that are being read
  int n_logged;                       // warnings
  bool has_error;
  cpli_source_loc error_loc;  // of the first error, where all are reported
  const char* error_text;
} cpli_ssp_reader;

//------------------------------------ findings (reader.c) ------------------------------------

/// Report an error or a warning; returns a negative status where reading must stop.
CPL_PRINTF(3, 4)
cpl_status cpli_ssp_error(cpli_ssp_reader* r, const cpli_source_loc* loc, const char* fmt, ...);
CPL_PRINTF(3, 4)
cpl_status cpli_ssp_warn(cpli_ssp_reader* r, const cpli_source_loc* loc, const char* fmt, ...);
/// A failure with a message becomes an error that is reported, where it is one of the input.
cpl_status cpli_ssp_caught(cpli_ssp_reader* r, cpl_status st);

cpli_source_loc cpli_ssp_loc(const cpli_ssp_document* doc, const cpli_xml_node* node);
/// A text or an array in the arena of the package; NULL: no memory.
CPL_PRINTF(2, 3) char* cpli_ssp_text(cpli_ssp_reader* r, const char* fmt, ...);
void* cpli_ssp_array(cpli_ssp_reader* r, size_t n, size_t size);

//------------------------------------ files (package.c, uri.c, document.c) --------------------

/// Open an archive or a folder, once. `shown` names it in messages.
cpl_status cpli_ssp_package_open(cpli_ssp_reader* r, const char* path, const char* shown,
                                 cpli_ssp_package** out);
void cpli_ssp_package_close(cpl_context* ctx, cpli_ssp_package* package);
bool cpli_ssp_package_has(const cpli_ssp_package* package, const char* name);
cpl_status cpli_ssp_package_read(cpl_context* ctx, const cpli_ssp_package* package,
                                 const char* name, size_t limit, char** out, size_t* size);
/// The path of a file on disk, extracted where necessary.
cpl_status cpli_ssp_package_extract(cpli_ssp_reader* r, cpli_ssp_package* package, const char* name,
                                    const char** out);
/// The name of a file in messages; NULL: no memory.
const char* cpli_ssp_package_shown(cpli_ssp_reader* r, const cpli_ssp_package* package,
                                   const char* name);
/// All files, sorted by name; at the root only, or all of them.
/// Owned: *out by the caller, who calls cpli_free() for each and for the array.
cpl_status cpli_ssp_package_list(cpl_context* ctx, const cpli_ssp_package* package, bool root_only,
                                 char*** out, size_t* n);

// A resolved reference. name NULL: same document, or the reference was in error (is_error).
typedef struct cpli_ssp_target {
  cpli_ssp_package* package;
  const char* name;
  const char* fragment;  // after '#'. Nullable
  bool is_error;         // reported
} cpli_ssp_target;

/// Resolve a relative URI in a file of a package, and check that the file exists. `what` begins
/// messages: "component 'motor'".
cpl_status cpli_ssp_resolve(cpli_ssp_reader* r, cpli_ssp_package* package, const char* base,
                            const char* uri, const char* what, const cpli_source_loc* loc,
                            cpli_ssp_target* out);

/// A document that was opened before; NULL: none.
cpli_ssp_document* cpli_ssp_document_find(const struct cpli_ssp_storage* storage,
                                          const cpli_ssp_package* package, const char* name);
/// The tree of a file of a package, read once; *out NULL: in error.
cpl_status cpli_ssp_document_open(cpli_ssp_reader* r, cpli_ssp_package* package, const char* name,
                                  cpli_ssp_kind kind, cpli_ssp_document** out);
/// The same of an element inside another document.
cpl_status cpli_ssp_document_inline(cpli_ssp_reader* r, const cpli_ssp_document* outer,
                                    const cpli_xml_node* root, cpli_ssp_kind kind,
                                    cpli_ssp_document** out);
/// Check a document and read its content, once.
cpl_status cpli_ssp_document_read(cpli_ssp_reader* r, cpli_ssp_document* doc);
void cpli_ssp_document_free(cpl_context* ctx, cpli_ssp_document* doc);

//------------------------------------ rules (rules.c) ------------------------------------

/// Check a document against the schema; *fine: its root element is the right one.
cpl_status cpli_ssp_check(cpli_ssp_reader* r, const cpli_ssp_document* doc, bool* fine);

//------------------------------------ contents ------------------------------------

// types.c
cpl_status cpli_ssp_read_units(cpli_ssp_reader* r, cpli_ssp_document* doc, const char* space);
cpl_status cpli_ssp_read_type(cpli_ssp_reader* r, cpli_ssp_document* doc, const cpli_xml_node* node,
                              const char* space, cpli_ssp_type* out,
                              const cpli_xml_node** type_node);
cpl_status cpli_ssp_read_dimensions(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                    const cpli_xml_node* node, const cpli_ssp_dimension** out,
                                    size_t* n);
cpl_status cpli_ssp_read_transform(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                   const cpli_xml_node* node, cpli_ssp_transform* out);

// values.c
cpl_status cpli_ssp_read_set(cpli_ssp_reader* r, cpli_ssp_document* doc);
cpl_status cpli_ssp_read_mapping(cpli_ssp_reader* r, cpli_ssp_document* doc);
cpl_status cpli_ssp_read_entries(cpli_ssp_reader* r, cpli_ssp_document* doc);

// bindings.c
cpl_status cpli_ssp_read_bindings(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                  cpli_ssp_element* element);
cpl_status cpli_ssp_read_dictionaries(cpli_ssp_reader* r, cpli_ssp_document* doc,
                                      cpli_ssp_element* system);

// connections.c
/// Unique names of elements and connectors, and the ends of connections.
cpl_status cpli_ssp_read_connections(cpli_ssp_reader* r, const cpli_ssp_document* doc,
                                     cpli_ssp_element* system);

// system.c
/// Read the elements of an .ssd that was opened.
cpl_status cpli_ssp_read_description(cpli_ssp_reader* r, cpli_ssp_document* doc);

// open.c
/// The .ssd of a package by the name of its file or of its root element, NULL: the default one;
/// *out NULL: in error.
cpl_status cpli_ssp_choose(cpli_ssp_reader* r, cpli_ssp_package* package, const char* variant,
                           const char* what, const cpli_source_loc* loc, cpli_ssp_document** out);

/// Reports a name that was added before.
cpl_status cpli_ssp_unique(cpli_ssp_reader* r, cpli_names* names, const char* name,
                           const cpli_source_loc* loc, const char* what);
size_t cpli_ssp_count_children(const cpli_xml_node* node, const char* uri, const char* name);
