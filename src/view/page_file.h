// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A page in the making: a template of lib/couplet/view, into which data are written. The data are
// JSON in an element that is no script, and numbers as base64 in elements of their own, so that
// nothing that a model says can become markup.
#pragma once

#include "format/file.h"
#include "format/markup.h"

/// A page of lib/couplet/view, as text in three parts: up to its title, up to its data, the rest.
typedef struct cpli_template {
  char* text;
  const char* parts[3];
  size_t sizes[3];
} cpli_template;

/// Owned: out->text by the caller, who calls cpli_free().
cpl_status cpli_template_read(cpl_context* ctx, const char* name, cpli_template* out);

// A page can be hundreds of megabytes, so that it is never whole in memory.
typedef struct cpli_page {
  cpl_context* ctx;
  const char* path;
  cpli_new_file file;  // it appears when it is whole
  cpl_status st;
  cpli_text text;  // waits to be written
} cpli_page;

/// Write a page of the template `name` to p->file, which is open: fill() writes its data.
cpl_status cpli_page_write_open(cpli_page* p, const char* name, const char* title,
                                void (*fill)(cpli_page* p, const void* user), const void* user);

/// The same with a file that is made at p->path.
cpl_status cpli_page_fill(cpli_page* p, const char* name, const char* title,
                          void (*fill)(cpli_page* p, const void* user), const void* user);

//------------------------------------ data ------------------------------------

void cpli_page_put(cpli_page* p, const char* s);
void cpli_page_index(cpli_page* p, size_t i);
void cpli_page_number(cpli_page* p, double v);  // null where it is not finite
/// A text as JSON, with nothing in it that could end the element it stands in.
void cpli_page_string(cpli_page* p, const char* s);
/// `,"key":"text"`; nothing for an empty text. Nullable: text
void cpli_page_member(cpli_page* p, const char* key, const char* text);
/// JSON of the caller: "<" stands in texts only, where it may be written as a number.
void cpli_page_json(cpli_page* p, const char* json);

typedef enum cpli_page_kind {
  CPLI_PAGE_F64,
  CPLI_PAGE_F32,
  CPLI_PAGE_I32,
  CPLI_PAGE_I8
} cpli_page_kind;

const char* cpli_page_kind_text(cpli_page_kind k);  // "f64", ...
/// The smallest type that holds every value exactly.
cpli_page_kind cpli_page_kind_of(const double* v, size_t n);
/// Numbers in an element of that id. CPLI_PAGE_F32 rounds values that it does not hold exactly.
void cpli_page_block(cpli_page* p, const char* id, cpli_page_kind k, const double* v, size_t n);
