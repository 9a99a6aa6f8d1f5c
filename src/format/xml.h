// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A parser of untrusted XML with one callback per element. A handler is called where each element
// begins and ends and reads its attributes; texts between elements are optional. There is no
// network, no document type declaration, hence no entities, and nothing is printed.
#pragma once

#include "base/base.h"

typedef struct cpli_xml cpli_xml;

/// Handlers return a negative status to stop. Names and attributes are valid during the call only.
typedef struct cpli_xml_handler {
  cpl_status (*begin)(void* user, cpli_xml* xml, const char* element);
  cpl_status (*end)(void* user, cpli_xml* xml, const char* element);
  /// A fragment of the text inside an element, without a final '\0'. Nullable.
  cpl_status (*text)(void* user, cpli_xml* xml, const char* text, size_t len);
  /// The text of a comment, also of one outside the first element. Nullable.
  cpl_status (*comment)(void* user, cpli_xml* xml, const char* text);
} cpli_xml_handler;

/// Walk through a document. `where` names it in messages: "where:line: text".
cpl_status cpli_xml_parse(cpl_context* ctx, const char* where, const char* text, size_t size,
                          const cpli_xml_handler* handler, void* user);

/// The value of an attribute of the element that begins; NULL: it has none of that name.
const char* cpli_xml_attribute(cpli_xml* xml, const char* name);
/// An attribute that was not read yet, for findings about misspelt ones; NULL: none left.
/// Attributes of other name spaces (xsi:...) are ignored.
const char* cpli_xml_unused_attribute(cpli_xml* xml);
/// An attribute of another name space by its name without prefix; NULL: it has none of that name.
const char* cpli_xml_foreign_attribute(cpli_xml* xml, const char* name);
int32_t cpli_xml_line(const cpli_xml* xml);

//------------------------------------ name spaces ------------------------------------

/// A name and its name space. An attribute: its value; a declaration xmlns:name="value": name NULL
/// is the default name space.
typedef struct cpli_xml_item {
  const char *prefix, *uri;  // Nullable
  const char *name, *value;
} cpli_xml_item;

/// The prefix and the name space of the element that begins, value NULL; prefix without uri: the
/// prefix was not declared.
cpli_xml_item cpli_xml_element(const cpli_xml* xml);
/// Attribute i of the element that begins, without regard to what was read; false: no more.
bool cpli_xml_attribute_at(const cpli_xml* xml, int i, cpli_xml_item* out);
/// Declaration i of a name space at the element that begins; false: no more.
bool cpli_xml_declaration_at(const cpli_xml* xml, int i, cpli_xml_item* out);
