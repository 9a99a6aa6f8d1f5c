// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Uses the SAX interface of libxml2, with network access and document type declarations refused.
// Attributes are counted before parsing, since libxml2 compares each one of an element with all
// others.
#include "format/xml.h"
#include "format/source_loc.h"

#include <libxml/SAX2.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <limits.h>
#include <stdio.h>

enum { MAX_ATTRIBUTES = 64 };

struct cpli_xml {
  cpl_context* ctx;
  const char* where;
  const cpli_xml_handler* handler;
  void* user;
  xmlParserCtxtPtr parser;
  cpl_status status;
  int32_t line_hint;  // line of the first fatal error
  char problem[512];  // its text
  // attributes of the present element
  const char* names[MAX_ATTRIBUTES];
  size_t values[MAX_ATTRIBUTES];  // offsets in text
  bool used[MAX_ATTRIBUTES];
  bool foreign[MAX_ATTRIBUTES];  // of another name space
  int n_attributes;
  cpli_xml_item element;
  const xmlChar** attributes;  // as libxml2 gives them
  const xmlChar** declarations;
  int n_declarations;
  char* text;  // all values, each ended by a zero byte
  size_t text_cap;
};

//------------------------------------ errors ------------------------------------

static void stop(cpli_xml* xml, cpl_status st) {
  if (xml->status >= 0) xml->status = st;
  xmlStopParser(xml->parser);
}

#if LIBXML_VERSION >= 21200
static void on_error(void* user, const xmlError* error) {
#else
static void on_error(void* user, xmlErrorPtr error) {
#endif
  cpli_xml* xml = user;
  if (error->level < XML_ERR_ERROR || xml->problem[0] != '\0') return;
  if (error->domain == XML_FROM_NAMESPACE) return;  // an undeclared prefix is harmless
  snprintf(xml->problem, sizeof xml->problem, "%s",
           error->message != NULL ? error->message : "not well-formed");
  xml->problem[strcspn(xml->problem, "\r\n")] = '\0';
  xml->line_hint = error->line;
}

// Declarations are refused as a whole: no format here has one, and entities live there.
static void on_doctype(void* user, const xmlChar* name, const xmlChar* external,
                       const xmlChar* system) {
  (void)name, (void)external, (void)system;
  cpli_xml* xml = user;
  if (xml->status < 0) return;
  stop(xml,
       cpli_fail_at(xml->ctx, CPL_ERR_INPUT, &(cpli_source_loc){xml->where, cpli_xml_line(xml)},
                    "a document type declaration (<!DOCTYPE ...>) is not allowed here"));
}

//------------------------------------ elements ------------------------------------

// libxml2 gives five pointers an attribute: name, prefix, name space, begin and end of the value.
static cpl_status take_attributes(cpli_xml* xml, int n, const xmlChar** attributes) {
  size_t total = 0;
  xml->n_attributes = 0;
  for (int i = 0; i < n; i++) total += (size_t)(attributes[5 * i + 4] - attributes[5 * i + 3]) + 1;
  if (total > xml->text_cap) {
    size_t cap = total > SIZE_MAX / 2 ? total : 2 * total;
    char* moved = cpli_realloc(xml->ctx, xml->text, cap, 1);
    if (moved == NULL) return cpli_nomem(xml->ctx);
    xml->text = moved;
    xml->text_cap = cap;
  }
  size_t at = 0;
  for (int i = 0; i < n; i++) {
    const xmlChar** a = attributes + 5 * i;
    if (xml->n_attributes == MAX_ATTRIBUTES) {
      return cpli_fail_at(xml->ctx, CPL_ERR_INPUT,
                          &(cpli_source_loc){xml->where, cpli_xml_line(xml)},
                          "more than %d attributes", MAX_ATTRIBUTES);
    }
    size_t len = (size_t)(a[4] - a[3]);
    int k = xml->n_attributes++;
    xml->names[k] = (const char*)a[0];
    xml->values[k] = at;
    xml->used[k] = xml->foreign[k] = a[1] != NULL;
    memcpy(xml->text + at, a[3], len);
    xml->text[at + len] = '\0';
    at += len + 1;
  }
  return CPL_OK;
}

static void on_begin(void* user, const xmlChar* name, const xmlChar* prefix, const xmlChar* uri,
                     int n_spaces, const xmlChar** spaces, int n, int n_defaulted,
                     const xmlChar** attributes) {
  (void)n_defaulted;
  cpli_xml* xml = user;
  if (xml->status < 0) return;
  xml->element = (cpli_xml_item){(const char*)prefix, (const char*)uri, (const char*)name, NULL};
  xml->attributes = attributes;
  xml->declarations = spaces;
  xml->n_declarations = n_spaces;
  cpl_status st = take_attributes(xml, n, attributes);
  if (st >= 0) st = xml->handler->begin(xml->user, xml, (const char*)name);
  if (st < 0) stop(xml, st);
}

static void on_end(void* user, const xmlChar* name, const xmlChar* prefix, const xmlChar* uri) {
  (void)prefix, (void)uri;
  cpli_xml* xml = user;
  if (xml->status < 0) return;
  xml->n_attributes = xml->n_declarations = 0;
  cpl_status st = xml->handler->end(xml->user, xml, (const char*)name);
  if (st < 0) stop(xml, st);
}

static void on_text(void* user, const xmlChar* text, int len) {
  cpli_xml* xml = user;
  if (xml->status < 0) return;
  cpl_status st = xml->handler->text(xml->user, xml, (const char*)text, (size_t)len);
  if (st < 0) stop(xml, st);
}

static void on_comment(void* user, const xmlChar* text) {
  cpli_xml* xml = user;
  if (xml->status < 0) return;
  cpl_status st = xml->handler->comment(xml->user, xml, (const char*)text);
  if (st < 0) stop(xml, st);
}

static const char* find_attribute(cpli_xml* xml, const char* name, bool foreign) {
  for (int i = 0; i < xml->n_attributes; i++) {
    if (xml->foreign[i] != foreign || strcmp(xml->names[i], name) != 0) continue;
    xml->used[i] = true;
    return xml->text + xml->values[i];
  }
  return NULL;
}

const char* cpli_xml_attribute(cpli_xml* xml, const char* name) {
  return find_attribute(xml, name, false);
}

const char* cpli_xml_foreign_attribute(cpli_xml* xml, const char* name) {
  return find_attribute(xml, name, true);
}

const char* cpli_xml_unused_attribute(cpli_xml* xml) {
  for (int i = 0; i < xml->n_attributes; i++) {
    if (xml->used[i]) continue;
    xml->used[i] = true;
    return xml->names[i];
  }
  return NULL;
}

cpli_xml_item cpli_xml_element(const cpli_xml* xml) { return xml->element; }

bool cpli_xml_attribute_at(const cpli_xml* xml, int i, cpli_xml_item* out) {
  if (i >= xml->n_attributes) return false;
  const xmlChar** a = xml->attributes + 5 * i;
  *out = (cpli_xml_item){(const char*)a[1], (const char*)a[2], xml->names[i],
                         xml->text + xml->values[i]};
  return true;
}

bool cpli_xml_declaration_at(const cpli_xml* xml, int i, cpli_xml_item* out) {
  if (i >= xml->n_declarations) return false;
  const char** d = (const char**)xml->declarations + 2 * i;
  *out = (cpli_xml_item){NULL, NULL, d[0], d[1] != NULL ? d[1] : ""};
  return true;
}

int32_t cpli_xml_line(const cpli_xml* xml) { return xmlSAX2GetLineNumber(xml->parser); }

//------------------------------------ parse ------------------------------------

// The end of a comment, a section of characters or a processing instruction; NULL: `at` begins
// none.
static const char* skip_section(const char* at, const char* end) {
  static const char* const sections[][2] = {{"<!--", "-->"}, {"<![CDATA[", "]]>"}, {"<?", "?>"}};
  for (size_t i = 0; i < CPLI_COUNT(sections); i++) {
    const size_t n = strlen(sections[i][0]), m = strlen(sections[i][1]);
    if ((size_t)(end - at) < n || memcmp(at, sections[i][0], n) != 0) continue;
    const char* close = memmem(at + n, (size_t)(end - at) - n, sections[i][1], m);
    return close != NULL ? close + m : end;
  }
  return NULL;
}

// libxml2 compares every attribute of an element with all others before it tells us of any: too
// many are refused before. Zero bytes are those of UTF-16; what is no XML libxml2 finds out.
static cpl_status count_attributes(cpl_context* ctx, const char* where, const char* text,
                                   size_t size) {
  const char* end = text + size;
  int32_t line = 1;
  for (const char* at = text; at < end; at++) {
    if (*at == '\n') line++;
    const char* after = *at == '<' ? skip_section(at, end) : NULL;
    for (; after != NULL && at < after - 1; at++) line += *at == '\n';
    if (*at != '<' || after != NULL) continue;
    int equals = 0;
    char quote = 0;
    for (; at < end && (quote != 0 || *at != '>'); at++) {
      if (quote == 0 && (*at == '"' || *at == '\'')) quote = *at;
      else if (*at == quote) quote = 0;
      else if (quote == 0 && *at == '=') equals++;
      line += *at == '\n';
      if (equals > MAX_ATTRIBUTES)
        return cpli_fail_at(ctx, CPL_ERR_INPUT, &(cpli_source_loc){where, line},
                            "more than %d attributes", MAX_ATTRIBUTES);
    }
  }
  return CPL_OK;
}

cpl_status cpli_xml_parse(cpl_context* ctx, const char* where, const char* text, size_t size,
                          const cpli_xml_handler* handler, void* user) {
  if (size == 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s:1: the file is empty", where);
  if (size >= INT_MAX) return cpli_fail_file(ctx, CPL_ERR_INPUT, where, "larger than 2 GiB");
  cpl_status counted = count_attributes(ctx, where, text, size);
  if (counted < 0) return counted;
  xmlInitParser();
  cpli_xml xml = {.ctx = ctx, .where = where, .handler = handler, .user = user};
  xml.parser = xmlCreateMemoryParserCtxt(text, (int)size);
  if (xml.parser == NULL) return cpli_nomem(ctx);

  // without XML_PARSE_HUGE libxml2 limits depth (256), names and attribute values (10 MB)
  // NOENT turns &amp; in attributes into & (else SAX hears "&#38;"); there are no other entities,
  // as declarations are refused before they are read
  xmlCtxtUseOptions(xml.parser, XML_PARSE_NONET | XML_PARSE_NOENT);
  memset(xml.parser->sax, 0, sizeof *xml.parser->sax);
  xml.parser->sax->initialized = XML_SAX2_MAGIC;
  xml.parser->sax->startElementNs = on_begin;
  xml.parser->sax->endElementNs = on_end;
  if (handler->text != NULL) {
    xml.parser->sax->characters = xml.parser->sax->cdataBlock = on_text;
    xml.parser->sax->ignorableWhitespace = on_text;
  }
  if (handler->comment != NULL) xml.parser->sax->comment = on_comment;
  xml.parser->sax->internalSubset = on_doctype;
  xml.parser->sax->serror = on_error;
  xml.parser->userData = &xml;

  // errors of encodings know no parser and would be printed
  void* old_user = xmlStructuredErrorContext;
  xmlStructuredErrorFunc old = xmlStructuredError;
  xmlSetStructuredErrorFunc(&xml, on_error);
  xmlParseDocument(xml.parser);
  xmlSetStructuredErrorFunc(old_user, old);
  cpl_status st = xml.status;
  if (st >= 0 && !xml.parser->wellFormed) {
    st = cpli_fail_at(ctx, CPL_ERR_INPUT,
                      &(cpli_source_loc){where, xml.line_hint > 0 ? xml.line_hint : 1}, "%s",
                      xml.problem[0] != '\0' ? xml.problem : "not well-formed XML");
  }
  xmlFreeParserCtxt(xml.parser);
  cpli_free(ctx, xml.text);
  return st;
}
