// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A whole XML document as a tree, for formats whose unknown parts must survive reading and writing.
// Elements and attributes have the URI of their name space; prefixes have no meaning but are kept.
// A prefix without URI was not declared, which is a mistake in the document that is not reported.
// The limits of format/xml.h hold. Texts keep their blanks; processing instructions are dropped.
#pragma once

#include "base/base.h"

typedef struct cpli_xml_attr {
  struct cpli_xml_attr* next;
  const char *prefix, *uri;  // Nullable: no name space
  const char *name, *value;
} cpli_xml_attr;

typedef struct cpli_xml_node {
  struct cpli_xml_node *parent, *first, *last, *next;
  const char *prefix, *uri;  // Nullable
  const char* name;          // NULL: a text or a comment
  const char* text;          // of a text or a comment
  bool is_comment;
  cpli_xml_attr* attributes;
  cpli_xml_attr* prefixes;  // declared here: name (NULL: the default) and value, the URI
  int32_t line;
} cpli_xml_node;

typedef struct cpli_xml_tree {
  cpl_context* ctx;
  cpli_arena arena;
  cpli_xml_node* root;       // its siblings are the comments after it; it has no parent
  cpli_xml_node* beginning;  // the comments before it, as siblings. Nullable
} cpli_xml_tree;

/// `where` names the document in messages: "where:line: text".
/// Owned: *out by the caller, who calls cpli_xml_tree_free().
cpl_status cpli_xml_tree_read(cpl_context* ctx, const char* where, const char* text, size_t size,
                              cpli_xml_tree** out);
void cpli_xml_tree_free(cpli_xml_tree* tree);  // Nullable: tree

/// Do both have the same elements, attributes (in any order), texts and comments? Prefixes, their
/// declarations and lines do not count.
bool cpli_xml_node_equal(const cpli_xml_node* a, const cpli_xml_node* b);

/// The value of an attribute without a name space; NULL: there is none.
const char* cpli_xml_node_attribute(const cpli_xml_node* node, const char* name);
/// The first child element of that name, and the next sibling of the same name; NULL: none.
const cpli_xml_node* cpli_xml_child(const cpli_xml_node* node, const char* uri, const char* name);
const cpli_xml_node* cpli_xml_sibling(const cpli_xml_node* node);

/// The document as a text in UTF-8, which cpli_xml_tree_read() reads as the same tree.
/// Owned: *out by the caller, who calls cpli_free().
cpl_status cpli_xml_tree_write(const cpli_xml_tree* tree, char** out, size_t* size);
