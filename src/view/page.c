// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fills the page of results. Names stand in it once, as JSON in an element that is no script; the
// numbers of each column stand in an element of their own, as base64, each column in the smallest
// type that holds every one of them exactly.
#include <errno.h>
#include <math.h>

#include "base/data.h"
#include "format/file.h"
#include "format/markup.h"
#include "format/source_loc.h"
#include "format/text.h"
#include "view/view.h"

//------------------------------------ the template ------------------------------------

// Owned: out->text by the caller, who calls cpli_free().
static cpl_status read_template(cpl_context* ctx, const char* name, cpli_template* out) {
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

// A page can be hundreds of megabytes, so that it is never whole in memory.
typedef struct page {
  cpl_context* ctx;
  const char* path;
  cpli_new_file file;  // it appears when it is whole
  cpl_status st;
  cpli_text text;  // waits to be written
} page;

static void flush(page* p) {
  if (p->st >= 0 && p->text.failed) p->st = cpli_nomem(p->ctx);
  errno = 0;
  if (p->st >= 0 && cpli_file_write(p->file.fd, p->text.data, p->text.len) < p->text.len)
    p->st = cpli_fail_file(p->ctx, CPL_ERR_IO, p->path, "%s", strerror(errno));
  p->text.len = 0;
}

static void put(page* p, const char* s) { cpli_text_put(&p->text, s); }

static void put_index(page* p, size_t i) { cpli_text_number(&p->text, (double)i); }

//------------------------------------ JSON ------------------------------------

// Valid JSON, and nothing in it that could end the element it stands in.
static void put_string(page* p, const char* s) {
  put(p, "\"");
  while (*s != '\0') {
    const char* begin = s;
    const uint32_t c = cpli_utf8_next(&s);
    char code[16];
    if (c == 0xfffd) {
      put(p, "\\ufffd");
    } else if (c < 0x20 || c == 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' ||
               c == 0x2028 || c == 0x2029) {
      snprintf(code, sizeof code, "\\u%04x", (unsigned)c);
      put(p, code);
    } else {
      cpli_text_bytes(&p->text, begin, (size_t)(s - begin));
    }
  }
  put(p, "\"");
}

// JSON of the caller: "<" stands in texts only, where it may be written as a number.
static void put_json(page* p, const char* json) {
  for (; *json != '\0'; json++) {
    if (*json == '<') put(p, "\\u003c");
    else cpli_text_bytes(&p->text, json, 1);
  }
}

static void put_member(page* p, const char* key, const char* text) {
  if (text == NULL || text[0] == '\0') return;
  put(p, ",\"");
  put(p, key);
  put(p, "\":");
  put_string(p, text);
}

//------------------------------------ numbers ------------------------------------

typedef enum kind { F64, F32, I32, I8 } kind;

static bool is_integer(double v, double low, double high) {
  return v >= low && v <= high && v == floor(v) && !(v == 0 && signbit(v));
}

// The smallest type that holds every value exactly.
static kind kind_of(const double* v, size_t n) {
  bool f32 = true, i32 = true, i8 = true;
  for (size_t i = 0; i < n && (f32 || i32 || i8); i++) {
    f32 = f32 && (isnan(v[i]) || isinf(v[i]) || (fabs(v[i]) < 3e38 && (double)(float)v[i] == v[i]));
    i32 = i32 && is_integer(v[i], INT32_MIN, INT32_MAX);
    i8 = i8 && is_integer(v[i], INT8_MIN, INT8_MAX);
  }
  return i8 ? I8 : i32 ? I32 : f32 ? F32 : F64;
}

static size_t pack(kind k, const double* v, size_t n, unsigned char* out) {
  static const size_t sizes[] = {8, 4, 4, 1};
  for (size_t i = 0; i < n; i++) {
    const float f = k == F32 ? (float)v[i] : 0;
    const int32_t n32 = k == I32 ? (int32_t)v[i] : 0;
    const int8_t n8 = k == I8 ? (int8_t)v[i] : 0;
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

static void put_block(page* p, const char* id, kind k, const double* v, size_t n) {
  enum { ROWS = 3072 };  // a multiple of three, so that only the last block is padded
  unsigned char bytes[ROWS * 8];
  char text[ROWS * 8 / 3 * 4];
  put(p, "<script type=\"text/plain\" id=\"");
  put(p, id);
  put(p, "\">");
  for (size_t i = 0; i < n; i += ROWS) {
    const size_t rows = n - i < ROWS ? n - i : ROWS;
    cpli_text_bytes(&p->text, text, encode(bytes, pack(k, v + i, rows, bytes), text));
    if (p->text.len > (size_t)1 << 20) flush(p);
  }
  put(p, "</script>\n");
}

//------------------------------------ results ------------------------------------

static void put_column(page* p, const cpl_view_result* r, size_t c) {
  static const char* const kinds[] = {"f64", "f32", "i32", "i8"};
  const cpl_table* t = r->table;
  const double* v = t->values + c * t->n_rows;
  put(p, c > 0 ? ",\n{\"name\":" : "\n{\"name\":");
  put_string(p, t->names[c]);
  put_member(p, "unit", t->units != NULL ? t->units[c] : NULL);
  put_member(p, "text", r->texts != NULL ? r->texts[c] : NULL);
  if (!cpli_view_changes(t, c)) {
    put(p, ",\"value\":");
    if (t->n_rows > 0 && isfinite(v[0])) cpli_text_number(&p->text, v[0]);
    else put(p, "null");
  } else {
    put_member(p, "kind", kinds[kind_of(v, t->n_rows)]);
  }
  put(p, "}");
}

static void put_result(page* p, const cpl_view_result* r, const char* before) {
  put(p, before);
  put(p, "\n{\"name\":");
  put_string(p, r->name != NULL ? r->name : "results");
  put(p, ",\"rows\":");
  put_index(p, r->table->n_rows);
  put(p, ",\"columns\":[");
  for (size_t c = 0; c < r->table->n_columns; c++) put_column(p, r, c);
  put(p, "]}");
}

static void put_blocks(page* p, const cpl_view_result* r, size_t index) {
  const cpl_table* t = r->table;
  char id[64];
  snprintf(id, sizeof id, "t%zu", index);
  if (t->n_rows > 0) put_block(p, id, F64, t->time, t->n_rows);
  for (size_t c = 0; c < t->n_columns; c++) {
    if (!cpli_view_changes(t, c)) continue;
    const double* v = t->values + c * t->n_rows;
    snprintf(id, sizeof id, "d%zu.%zu", index, c);
    put_block(p, id, kind_of(v, t->n_rows), v, t->n_rows);
  }
}

// Whether a result has a column of the name of column c of another: mostly at the same place.
static bool has_column(const cpl_table* t, const cpl_table* other, size_t c) {
  const char* name = other->names[c];
  return (c < t->n_columns && strcmp(t->names[c], name) == 0) || cpl_table_find(t, name) >= 0;
}

// Names of one result that match a pattern and that the first result does not have.
static void put_matches(page* p, const cpl_table* t, const cpl_table* first,
                        const cpl_view_def* def, const char** before) {
  for (size_t c = 0; c < t->n_columns; c++) {
    bool wanted = false;
    for (size_t i = 0; i < def->n_only; i++)
      wanted = wanted || cpli_glob(def->only[i], t->names[c]);
    if (!wanted || (t != first && has_column(first, t, c))) continue;
    put(p, *before);
    put_string(p, t->names[c]);
    *before = ",";
  }
}

static void put_choice(page* p, const cpl_table* t, const cpl_view_def* def) {
  if (def->n_only > 0) {
    const char* before = ",\"show\":[";
    put_matches(p, t, t, def, &before);
    for (size_t i = 0; i < def->n_others; i++) {
      if (def->others[i].table != t) put_matches(p, def->others[i].table, t, def, &before);
    }
    put(p, "]");
  }
  if (def->across == NULL || def->up == NULL) return;
  put(p, ",\"xy\":[");
  put_string(p, def->across);
  put(p, ",");
  put_string(p, def->up);
  put(p, "]");
}

static void put_data(page* p, const cpl_table* table, const cpl_view_def* def) {
  const cpl_view_result first = {table, def->name != NULL ? def->name : def->title, def->texts};
  put(p,
      "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION "\",\"title\":");
  put_string(p, def->title != NULL ? def->title : "couplet");
  put_choice(p, table, def);
  if (def->report != NULL) {
    put(p, ",\"report\":");
    put_json(p, def->report);
  }
  put_result(p, &first, ",\"results\":[");
  for (size_t i = 0; i < def->n_others; i++) put_result(p, &def->others[i], ",");
  put(p, "]}</script>\n");
  put_blocks(p, &first, 0);
  for (size_t i = 0; i < def->n_others; i++) put_blocks(p, &def->others[i], i + 1);
}

// Fills a template with data written by a callback.
static cpl_status write_page(page* p, const char* name, const char* title,
                             void (*fill)(page* p, const void* user), const void* user) {
  cpli_template template;
  cpl_status st = read_template(p->ctx, name, &template);
  if (st < 0) return st;
  p->st = cpli_new_file_open(p->ctx, p->path, 0, &p->file);
  if (p->st >= 0) {
    cpli_text_bytes(&p->text, template.parts[0], template.sizes[0]);
    cpli_text_escaped(&p->text, title != NULL ? title : "couplet", 200);
    cpli_text_bytes(&p->text, template.parts[1], template.sizes[1]);
    fill(p, user);
    cpli_text_bytes(&p->text, template.parts[2], template.sizes[2]);
    flush(p);
  }
  if (p->st >= 0) p->st = cpli_new_file_commit(&p->file);
  cpli_new_file_discard(&p->file);
  cpli_text_free(&p->text);
  cpli_free(p->ctx, template.text);
  return p->st;
}

typedef struct shown {
  const cpl_table* table;
  const cpl_view_def* def;
} shown;

static void fill_results(page* p, const void* user) {
  const shown* s = user;
  put_data(p, s->table, s->def);
}

cpl_status cpli_view_page(cpl_context* ctx, const cpl_table* table, const cpl_view_def* def) {
  page p = {.ctx = ctx, .path = def->path, .text = {.ctx = ctx}};
  return write_page(&p, "results.html", def->title, fill_results, &(shown){table, def});
}

static void fill_json(page* p, const void* user) {
  put(p, "<script type=\"application/json\" id=\"data\">");
  put_json(p, user);
  put(p, "</script>\n");
}

cpl_status cpli_page_write(cpl_context* ctx, const char* name, const char* path, const char* title,
                           const char* json) {
  page p = {.ctx = ctx, .path = path, .text = {.ctx = ctx}};
  return write_page(&p, name, title, fill_json, json);
}

// In memory: it is small.
cpl_status cpli_live_page(cpl_context* ctx, const cpl_live_def* def, char** out, size_t* size) {
  cpli_template template;
  page p = {.ctx = ctx, .text = {.ctx = ctx}};
  cpl_status st = read_template(ctx, "live.html", &template);
  *out = NULL;
  if (st < 0) return st;
  const char* title = def->title != NULL ? def->title : "couplet";
  cpli_text_bytes(&p.text, template.parts[0], template.sizes[0]);
  cpli_text_escaped(&p.text, title, 200);
  cpli_text_bytes(&p.text, template.parts[1], template.sizes[1]);
  put(&p, "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION
          "\",\"live\":true,\"title\":");
  put_string(&p, title);
  put(&p, ",\"results\":[{\"name\":\"live\",\"rows\":0,\"columns\":[");
  for (size_t i = 0; i < def->n_columns; i++) {
    put(&p, i > 0 ? ",\n{\"name\":" : "\n{\"name\":");
    put_string(&p, def->columns[i].name);
    put_member(&p, "unit", def->columns[i].unit);
    put_member(&p, "text", def->columns[i].description);
    put(&p, "}");
  }
  put(&p, "]}]}</script>\n");
  cpli_text_bytes(&p.text, template.parts[2], template.sizes[2]);
  cpli_free(ctx, template.text);
  if (p.text.failed) {
    cpli_text_free(&p.text);
    return cpli_nomem(ctx);
  }
  *out = p.text.data;
  *size = p.text.len;
  return CPL_OK;
}
