// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Uses Expat, with document type declarations refused, so that there are no entities but the five
// predefined ones. Name spaces are resolved here, since Expat refuses prefixes that are not
// declared, which some tools write.
#include "format/xml.h"

#include <expat.h>
#include <iconv.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>

#include "format/source_loc.h"

enum { MAX_ATTRIBUTES = 64, MAX_DEPTH = 256, MAX_PREFIXES = 256, MAX_SCOPES = 256 };

typedef struct attribute {
  const char* prefix;        // Nullable
  const char *name, *value;  // Expat's
  bool used;
} attribute;

// A prefix that is declared, as long as its element is open.
typedef struct scope {
  const char* prefix;  // NULL: the default
  char* uri;
  int depth;
} scope;

struct cpli_xml {
  cpl_context* ctx;
  const char* where;
  const cpli_xml_handler* handler;
  void* user;
  XML_Parser parser;
  cpl_status status;
  int depth;
  char* prefixes[MAX_PREFIXES];  // every one that was met, once
  int n_prefixes;
  scope scopes[MAX_SCOPES];
  int n_scopes, first_scope;  // first_scope: of the element that begins
  cpli_xml_item element;
  attribute attributes[MAX_ATTRIBUTES];  // of the element that begins
  int n_attributes;
};

//------------------------------------ errors ------------------------------------

// Remembers the first failure, which ends the parser.
static void stop(cpli_xml* xml, cpl_status st) {
  if (st >= 0 || xml->status < 0) return;
  xml->status = st;
  XML_StopParser(xml->parser, XML_FALSE);
}

CPL_PRINTF(2, 3) static cpl_status fail_here(const cpli_xml* xml, const char* fmt, ...) {
  char text[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  cpli_source_loc loc = {.file = xml->where, .line = cpli_xml_line(xml)};
  return cpli_fail_at(xml->ctx, CPL_ERR_INPUT, &loc, "%s", text);
}

// Declarations are refused as a whole: no format here has one, and entities live there.
static void on_doctype(void* user, const XML_Char* name, const XML_Char* system,
                       const XML_Char* public, int has_subset) {
  (void)name, (void)system, (void)public, (void)has_subset;
  stop(user, fail_here(user, "a document type declaration (<!DOCTYPE ...>) is not allowed here"));
}

//------------------------------------ name spaces ------------------------------------

// The part of a name before its colon, the same text for the same prefix; *out NULL: there is none.
static cpl_status take_prefix(cpli_xml* xml, const char* name, size_t n, const char** out) {
  *out = NULL;
  for (int i = 0; i < xml->n_prefixes; i++) {
    if (strncmp(xml->prefixes[i], name, n) != 0 || xml->prefixes[i][n] != '\0') continue;
    *out = xml->prefixes[i];
    return CPL_OK;
  }
  if (xml->n_prefixes == MAX_PREFIXES)
    return fail_here(xml, "more than %d prefixes of name spaces", MAX_PREFIXES);
  char* kept = cpli_alloc(xml->ctx, n + 1, 1);
  if (kept == NULL) return cpli_nomem(xml->ctx);
  memcpy(kept, name, n);
  *out = xml->prefixes[xml->n_prefixes++] = kept;
  return CPL_OK;
}

static cpl_status split(cpli_xml* xml, const char* full, const char** prefix, const char** name) {
  const char* colon = strchr(full, ':');
  *prefix = NULL;
  *name = full;
  if (colon == NULL || colon == full || colon[1] == '\0') return CPL_OK;
  *name = colon + 1;
  return take_prefix(xml, full, (size_t)(colon - full), prefix);
}

// NULL: the prefix is not declared, or there is no default.
static const char* uri_of(const cpli_xml* xml, const char* prefix) {
  for (int i = xml->n_scopes - 1; i >= 0; i--) {
    const scope* s = &xml->scopes[i];
    if (s->prefix == prefix) return s->uri[0] != '\0' ? s->uri : NULL;
  }
  bool is_xml = prefix != NULL && strcmp(prefix, "xml") == 0;
  return is_xml ? "http://www.w3.org/XML/1998/namespace" : NULL;
}

// xmlns="value" or xmlns:prefix="value".
static cpl_status declare(cpli_xml* xml, const char* prefix, const char* value) {
  if (xml->n_scopes == MAX_SCOPES)
    return fail_here(xml, "more than %d declarations of name spaces inside each other", MAX_SCOPES);
  char* uri = cpli_alloc(xml->ctx, strlen(value) + 1, 1);
  if (uri == NULL) return cpli_nomem(xml->ctx);
  strcpy(uri, value);
  xml->scopes[xml->n_scopes++] = (scope){prefix, uri, xml->depth};
  return CPL_OK;
}

static void leave_scopes(cpli_xml* xml, int depth) {
  while (xml->n_scopes > 0 && xml->scopes[xml->n_scopes - 1].depth >= depth)
    cpli_free(xml->ctx, xml->scopes[--xml->n_scopes].uri);
}

//------------------------------------ elements ------------------------------------

static cpl_status take_attribute(cpli_xml* xml, const char* full, const char* value) {
  const char *prefix, *name;
  if (strcmp(full, "xmlns") == 0) return declare(xml, NULL, value);
  if (strncmp(full, "xmlns:", 6) == 0) {
    cpl_status st = take_prefix(xml, full + 6, strlen(full + 6), &prefix);
    return st < 0 ? st : declare(xml, prefix, value);
  }
  cpl_status st = split(xml, full, &prefix, &name);
  if (st >= 0)
    xml->attributes[xml->n_attributes++] = (attribute){prefix, name, value, prefix != NULL};
  return st;
}

// Expat gives names and values in turn.
static cpl_status begin_element(cpli_xml* xml, const char* full, const char** attributes) {
  cpl_status st = CPL_OK;
  xml->n_attributes = 0;
  xml->first_scope = xml->n_scopes;
  if (++xml->depth > MAX_DEPTH) return fail_here(xml, "elements are nested too deeply");
  for (int i = 0; attributes[i] != NULL && st >= 0; i += 2) {
    if (i == 2 * MAX_ATTRIBUTES) return fail_here(xml, "more than %d attributes", MAX_ATTRIBUTES);
    st = take_attribute(xml, attributes[i], attributes[i + 1]);
  }
  xml->element = (cpli_xml_item){0};
  if (st >= 0) st = split(xml, full, &xml->element.prefix, &xml->element.name);
  xml->element.uri = uri_of(xml, xml->element.prefix);
  return st < 0 ? st : xml->handler->begin(xml->user, xml, xml->element.name);
}

static void on_begin(void* user, const XML_Char* name, const XML_Char** attributes) {
  cpli_xml* xml = user;
  if (xml->status >= 0) stop(xml, begin_element(xml, name, attributes));
}

static void on_end(void* user, const XML_Char* full) {
  cpli_xml* xml = user;
  const char *prefix, *name;
  if (xml->status < 0) return;
  xml->n_attributes = 0;
  xml->first_scope = xml->n_scopes;
  cpl_status st = split(xml, full, &prefix, &name);
  stop(xml, st < 0 ? st : xml->handler->end(xml->user, xml, name));
  leave_scopes(xml, xml->depth--);
}

static void on_text(void* user, const XML_Char* text, int len) {
  cpli_xml* xml = user;
  if (xml->status >= 0) stop(xml, xml->handler->text(xml->user, xml, text, (size_t)len));
}

static void on_comment(void* user, const XML_Char* text) {
  cpli_xml* xml = user;
  if (xml->status >= 0) stop(xml, xml->handler->comment(xml->user, xml, text));
}

static const char* find_attribute(cpli_xml* xml, const char* name, bool foreign) {
  for (int i = 0; i < xml->n_attributes; i++) {
    attribute* a = &xml->attributes[i];
    if ((a->prefix != NULL) != foreign || strcmp(a->name, name) != 0) continue;
    a->used = true;
    return a->value;
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
    if (xml->attributes[i].used) continue;
    xml->attributes[i].used = true;
    return xml->attributes[i].name;
  }
  return NULL;
}

cpli_xml_item cpli_xml_element(const cpli_xml* xml) { return xml->element; }

bool cpli_xml_attribute_at(const cpli_xml* xml, int i, cpli_xml_item* out) {
  if (i >= xml->n_attributes) return false;
  const attribute* a = &xml->attributes[i];
  *out = (cpli_xml_item){a->prefix, a->prefix != NULL ? uri_of(xml, a->prefix) : NULL, a->name,
                         a->value};
  return true;
}

bool cpli_xml_declaration_at(const cpli_xml* xml, int i, cpli_xml_item* out) {
  if (xml->first_scope + i >= xml->n_scopes) return false;
  const scope* s = &xml->scopes[xml->first_scope + i];
  *out = (cpli_xml_item){.name = s->prefix, .value = s->uri};
  return true;
}

int32_t cpli_xml_line(const cpli_xml* xml) {
  XML_Size line = XML_GetCurrentLineNumber(xml->parser);
  return line < INT32_MAX ? (int32_t)line : INT32_MAX;
}

//------------------------------------ encodings ------------------------------------

// An encoding that Expat does not know, with one byte per character.
static int on_encoding(void* user, const XML_Char* name, XML_Encoding* info) {
  cpli_xml* xml = user;
  iconv_t how = iconv_open("UTF-32LE", name);
  if (how == (iconv_t)-1) {
    xml->status = fail_here(xml, "the encoding %s is not known", name);
    return XML_STATUS_ERROR;
  }
  for (int i = 0; i < 256; i++) {
    char byte = (char)i, *from = &byte;
    unsigned char code[8];
    char* to = (char*)code;
    size_t left = 1, room = sizeof code;
    bool known = iconv(how, &from, &left, &to, &room) != (size_t)-1 && room == 4;
    info->map[i] = known ? code[0] | code[1] << 8 | code[2] << 16 : -1;
    iconv(how, NULL, NULL, NULL, NULL);
  }
  iconv_close(how);
  return XML_STATUS_OK;
}

// Some tools declare UTF-16 and write single bytes. NULL: as the document says.
static const char* true_encoding(const char* text, size_t size) {
  static const char declared[] = "encoding=";
  size_t head = size < 100 ? size : 100;
  if (size < 5 || memcmp(text, "<?xml", 5) != 0) return NULL;
  const char* at = memmem(text, head, declared, sizeof declared - 1);
  if (at == NULL || (size_t)(text + head - at) < sizeof declared + 6) return NULL;
  return strncasecmp(at + sizeof declared, "utf-16", 6) == 0 ? "UTF-8" : NULL;
}

//------------------------------------ parse ------------------------------------

static cpl_status malformed(cpli_xml* xml) {
  enum XML_Error code = XML_GetErrorCode(xml->parser);
  return code == XML_ERROR_NO_MEMORY
             ? cpli_nomem(xml->ctx)
             : fail_here(xml, "not well-formed XML: %s", XML_ErrorString(code));
}

cpl_status cpli_xml_parse(cpl_context* ctx, const char* where, const char* text, size_t size,
                          const cpli_xml_handler* handler, void* user) {
  if (size == 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s:1: the file is empty", where);
  if (size >= INT_MAX) return cpli_fail_file(ctx, CPL_ERR_INPUT, where, "larger than 2 GiB");
  cpli_xml* xml = cpli_alloc(ctx, 1, sizeof *xml);
  if (xml == NULL) return cpli_nomem(ctx);
  *xml = (cpli_xml){.ctx = ctx, .where = where, .handler = handler, .user = user};
  xml->parser = XML_ParserCreate(true_encoding(text, size));
  if (xml->parser == NULL) {
    cpli_free(ctx, xml);
    return cpli_nomem(ctx);
  }
  XML_SetUserData(xml->parser, xml);
  XML_SetElementHandler(xml->parser, on_begin, on_end);
  if (handler->text != NULL) XML_SetCharacterDataHandler(xml->parser, on_text);
  if (handler->comment != NULL) XML_SetCommentHandler(xml->parser, on_comment);
  XML_SetStartDoctypeDeclHandler(xml->parser, on_doctype);
  XML_SetUnknownEncodingHandler(xml->parser, on_encoding, xml);
  enum XML_Status done = XML_Parse(xml->parser, text, (int)size, XML_TRUE);
  cpl_status st = xml->status;
  if (st >= 0 && done != XML_STATUS_OK) st = malformed(xml);
  leave_scopes(xml, 0);
  for (int i = 0; i < xml->n_prefixes; i++) cpli_free(ctx, xml->prefixes[i]);
  XML_ParserFree(xml->parser);
  cpli_free(ctx, xml);
  return st;
}
