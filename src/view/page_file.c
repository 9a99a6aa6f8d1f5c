// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes pages: a template, JSON that is safe inside of it, and numbers as base64.
#include <errno.h>
#include <math.h>

#include "base/data.h"
#include "format/source_loc.h"
#include "format/text.h"
#include "view/page_file.h"

//------------------------------------ the template ------------------------------------

cpl_status cpli_template_read(cpl_context* ctx, const char* name, cpli_template* out) {
  static const char* const marks[] = {"@TITLE@", "@DATA@"};
  size_t len;
  *out = (cpli_template){0};
  const char* folder = cpli_data_folder(ctx);
  if (folder == NULL) return CPL_ERR_INPUT;
  char* path = cpli_printf(ctx, "%s/view/%s", folder, name);
  if (path == NULL) return cpli_nomem(ctx);
  cpl_status st = cpli_file_read(ctx, path, (size_t)64 << 20, &out->text, &len);
  const char* at = out->text;
  for (int i = 0; i < 2 && st >= 0; i++) {
    const char* mark = strstr(at, marks[i]);
    if (mark == NULL) {
      st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "is damaged: there is no %s in it", marks[i]);
      cpli_free(ctx, out->text);
      out->text = NULL;
      break;
    }
    out->parts[i] = at;
    out->sizes[i] = (size_t)(mark - at);
    at = mark + strlen(marks[i]);
  }
  if (st >= 0) {
    out->parts[2] = at;
    out->sizes[2] = len - (size_t)(at - out->text);
  }
  cpli_free(ctx, path);
  return st;
}

//------------------------------------ the file ------------------------------------

static void flush(cpli_page* p) {
  if (p->st >= 0 && p->text.failed) p->st = cpli_nomem(p->ctx);
  errno = 0;
  if (p->st >= 0 && cpli_file_write(p->file.fd, p->text.data, p->text.len) < p->text.len)
    p->st = cpli_fail_file(p->ctx, CPL_ERR_IO, p->path, "%s", strerror(errno));
  p->text.len = 0;
}

void cpli_page_put(cpli_page* p, const char* s) { cpli_text_put(&p->text, s); }

void cpli_page_number(cpli_page* p, double v) {
  if (isfinite(v)) cpli_text_number(&p->text, v);
  else cpli_page_put(p, "null");
}

void cpli_page_index(cpli_page* p, size_t i) { cpli_text_number(&p->text, (double)i); }

//------------------------------------ JSON ------------------------------------

void cpli_page_string(cpli_page* p, const char* s) {
  cpli_page_put(p, "\"");
  while (*s != '\0') {
    const char* begin = s;
    const uint32_t c = cpli_utf8_next(&s);
    char code[16];
    if (c == 0xfffd) {
      cpli_page_put(p, "\\ufffd");
    } else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' ||
               c == 0x2028 || c == 0x2029) {
      snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
      cpli_page_put(p, code);
    } else {
      cpli_text_bytes(&p->text, begin, (size_t)(s - begin));
    }
  }
  cpli_page_put(p, "\"");
}

void cpli_page_json(cpli_page* p, const char* json) {
  for (; *json != '\0'; json++) {
    if (*json == '<') cpli_page_put(p, "\\u003c");
    else cpli_text_bytes(&p->text, json, 1);
  }
}

void cpli_page_member(cpli_page* p, const char* key, const char* text) {
  if (text == NULL || text[0] == '\0') return;
  cpli_page_put(p, ",\"");
  cpli_page_put(p, key);
  cpli_page_put(p, "\":");
  cpli_page_string(p, text);
}

//------------------------------------ numbers ------------------------------------

const char* cpli_page_kind_text(cpli_page_kind k) {
  static const char* const texts[] = {"f64", "f32", "i32", "i8"};
  return texts[k];
}

static bool is_integer(double v, double low, double high) {
  return v >= low && v <= high && v == floor(v) && !(v == 0 && signbit(v));
}

cpli_page_kind cpli_page_kind_of(const double* v, size_t n) {
  bool f32 = true, i32 = true, i8 = true;
  for (size_t i = 0; i < n && (f32 || i32 || i8); i++) {
    f32 = f32 && (isnan(v[i]) || isinf(v[i]) || (fabs(v[i]) < 3e38 && (double)(float)v[i] == v[i]));
    i32 = i32 && is_integer(v[i], INT32_MIN, INT32_MAX);
    i8 = i8 && is_integer(v[i], INT8_MIN, INT8_MAX);
  }
  return i8 ? CPLI_PAGE_I8 : i32 ? CPLI_PAGE_I32 : f32 ? CPLI_PAGE_F32 : CPLI_PAGE_F64;
}

static size_t pack(cpli_page_kind k, const double* v, size_t n, unsigned char* out) {
  static const size_t sizes[] = {8, 4, 4, 1};
  for (size_t i = 0; i < n; i++) {
    const float f = k == CPLI_PAGE_F32 ? (float)v[i] : 0;
    const int32_t n32 = k == CPLI_PAGE_I32 ? (int32_t)v[i] : 0;
    const int8_t n8 = k == CPLI_PAGE_I8 ? (int8_t)v[i] : 0;
    const void* const from[] = {&v[i], &f, &n32, &n8};
    memcpy(out + i * sizes[k], from[k], sizes[k]);
  }
  return n * sizes[k];
}

static size_t encode(const unsigned char* in, size_t n, char* out) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  char* to = out;
  for (size_t i = 0; i < n; i += 3) {
    const uint32_t left = (uint32_t)(n - i);
    const uint32_t bits = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                          (left > 2 ? (uint32_t)in[i + 2] : 0);
    *to++ = digits[bits >> 18];
    *to++ = digits[bits >> 12 & 63];
    *to++ = left > 1 ? digits[bits >> 6 & 63] : '=';
    *to++ = left > 2 ? digits[bits & 63] : '=';
  }
  return (size_t)(to - out);
}

void cpli_page_block(cpli_page* p, const char* id, cpli_page_kind k, const double* v, size_t n) {
  enum { ROWS = 3072 };  // a multiple of three, so that only the last block is padded
  unsigned char bytes[ROWS * 8];
  char text[ROWS * 8 / 3 * 4];
  cpli_page_put(p, "<script type=\"text/plain\" id=\"");
  cpli_page_put(p, id);
  cpli_page_put(p, "\">");
  for (size_t i = 0; i < n; i += ROWS) {
    const size_t rows = n - i < ROWS ? n - i : ROWS;
    cpli_text_bytes(&p->text, text, encode(bytes, pack(k, v + i, rows, bytes), text));
    if (p->text.len > (size_t)1 << 20) flush(p);
  }
  cpli_page_put(p, "</script>\n");
}

cpl_status cpli_page_write_open(cpli_page* p, const char* name, const char* title,
                                void (*fill)(cpli_page* p, const void* user), const void* user) {
  cpli_template template;
  p->st = cpli_template_read(p->ctx, name, &template);
  if (p->st < 0) return p->st;
  cpli_text_bytes(&p->text, template.parts[0], template.sizes[0]);
  cpli_text_escaped(&p->text, title != NULL ? title : "couplet", 200);
  cpli_text_bytes(&p->text, template.parts[1], template.sizes[1]);
  fill(p, user);
  cpli_text_bytes(&p->text, template.parts[2], template.sizes[2]);
  flush(p);
  cpli_text_free(&p->text);
  cpli_free(p->ctx, template.text);
  return p->st;
}

cpl_status cpli_page_fill(cpli_page* p, const char* name, const char* title,
                          void (*fill)(cpli_page* p, const void* user), const void* user) {
  cpl_status st = cpli_new_file_open(p->ctx, p->path, 0, &p->file);
  if (st >= 0) st = cpli_page_write_open(p, name, title, fill, user);
  if (st >= 0) st = cpli_new_file_commit(&p->file);
  cpli_new_file_discard(&p->file);
  return st;
}
