// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fields are unquoted in place, so that nothing is allocated after the file has been read into
// memory.
#include "format/csv.h"
#include "format/source_loc.h"

#include <stdio.h>

#include "format/file.h"
#include "format/number.h"

static const size_t max_file = (size_t)4 << 30;

cpl_status cpli_csv_error(const cpli_csv* csv, size_t line, size_t column, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  const cpli_source_loc place = {csv->path, (int32_t)line, (int32_t)column};
  return cpli_fail_at(csv->ctx, CPL_ERR_INPUT, &place, "%s", text);
}

static size_t column_at(const cpli_csv* csv, const char* p) {
  return (size_t)(p - csv->line_start) + 1;
}

static bool is_line_end(char c) { return c == '\n' || c == '\r'; }

// Past the line end at `at`: LF, CR LF or a lone CR.
static void skip_line_end(cpli_csv* csv) {
  if (csv->at < csv->end && *csv->at == '\r') csv->at++;
  // a lone CR counts as a line end too, so LF is looked at only behind it
  if (csv->at < csv->end && *csv->at == '\n') csv->at++;
  csv->line++;
  csv->line_start = csv->at;
}

// The commonest separator outside of quotes in the first row.
static char find_separator(const cpli_csv* csv) {
  static const char separators[] = {',', ';', '\t'};
  size_t count[3] = {0}, best = 0;
  bool quoted = false;
  for (const char* p = csv->at; p < csv->end && (quoted || !is_line_end(*p)); p++) {
    if (*p == '"') quoted = !quoted;
    for (size_t i = 0; i < 3; i++) count[i] += !quoted && *p == separators[i];
  }
  for (size_t i = 1; i < 3; i++) {
    if (count[i] > count[best]) best = i;
  }
  return separators[best];
}

cpl_status cpli_csv_open(cpl_context* ctx, const char* path, cpli_csv* csv) {
  *csv = (cpli_csv){.ctx = ctx, .path = path, .line = 1};
  size_t len = 0;
  cpl_status st = cpli_file_read(ctx, path, max_file, &csv->text, &len);
  if (st < 0) return st;
  csv->at = csv->line_start = csv->text;
  csv->end = csv->text + len;

  const size_t text_len = strnlen(csv->text, len);
  if (text_len < len) {
    cpli_csv_close(csv);
    return cpli_fail_file(ctx, CPL_ERR_INPUT, path,
                          "is not a text file in UTF-8 (byte %zu is zero)", text_len + 1);
  }
  if (len >= 3 && memcmp(csv->at, "\xEF\xBB\xBF", 3) == 0) csv->at = csv->line_start += 3;
  if (cpli_csv_next_row(csv)) csv->separator = find_separator(csv);
  return CPL_OK;
}

void cpli_csv_close(cpli_csv* csv) {
  cpli_free(csv->ctx, csv->text);
  csv->text = NULL;
}

bool cpli_csv_next_row(cpli_csv* csv) {
  while (csv->at < csv->end) {
    const char* p = csv->at;
    while (p < csv->end && *p == ' ') p++;
    const bool blank = p == csv->end || is_line_end(*p);
    if (!blank && *csv->at != '#') return true;
    while (csv->at < csv->end && !is_line_end(*csv->at)) csv->at++;
    if (csv->at < csv->end) skip_line_end(csv);
  }
  return false;
}

// After a field: the separator, or the end of the row.
static void end_field(cpli_csv* csv, cpli_csv_field* field) {
  field->last = true;
  if (csv->at == csv->end) return;
  if (*csv->at == csv->separator) {
    csv->at++;
    field->last = false;
  } else {
    skip_line_end(csv);
  }
}

// The closing quote is found and doubled quotes are made single in place.
static cpl_status quoted_field(cpli_csv* csv, cpli_csv_field* field) {
  char* write = ++csv->at;
  field->text = write;
  field->quoted = true;
  for (;; csv->at++) {
    if (csv->at == csv->end) {
      return cpli_csv_error(csv, field->line, field->column, "the quote is not closed");
    }
    if (*csv->at == '"') {
      csv->at++;
      if (csv->at == csv->end || *csv->at != '"') break;
    } else if (*csv->at == '\n') {
      csv->line++;
      csv->line_start = csv->at + 1;
    }
    *write++ = *csv->at;
  }
  field->len = (size_t)(write - field->text);
  while (csv->at < csv->end && *csv->at == ' ') csv->at++;
  if (csv->at < csv->end && *csv->at != csv->separator && !is_line_end(*csv->at)) {
    return cpli_csv_error(csv, csv->line, column_at(csv, csv->at),
                          "text behind a closing quote (a quote inside is written twice)");
  }
  end_field(csv, field);
  return CPL_OK;
}

cpl_status cpli_csv_next_field(cpli_csv* csv, cpli_csv_field* field) {
  char *p = csv->at, *end = csv->end;
  const char separator = csv->separator;
  while (p < end && *p == ' ') p++;
  field->line = csv->line;
  field->column = column_at(csv, p);
  field->quoted = false;
  csv->at = p;
  if (p < end && *p == '"') return quoted_field(csv, field);

  while (p < end && *p != separator && !is_line_end(*p)) p++;
  field->text = csv->at;
  field->len = (size_t)(p - csv->at);
  while (field->len > 0 && field->text[field->len - 1] == ' ') field->len--;
  csv->at = p;
  end_field(csv, field);
  return CPL_OK;
}

static bool is_word(const cpli_csv_field* field, const char* word) {
  if (field->len != strlen(word)) return false;
  for (size_t i = 0; i < field->len; i++) {
    if ((field->text[i] | 0x20) != word[i]) return false;
  }
  return true;
}

bool cpli_csv_number(const cpli_csv_field* field, double* out) {
  if (cpli_parse_double(field->text, field->len, out)) return true;
  if (is_word(field, "true")) return *out = 1, true;
  if (is_word(field, "false")) return *out = 0, true;
  return false;
}

size_t cpli_csv_rows_left(const cpli_csv* csv) {
  size_t n = 0;
  // the text ends with a zero, so that there is always a character behind
  for (const char* p = csv->at; p < csv->end; p++) n += *p == '\n' || (*p == '\r' && p[1] != '\n');
  return n + 1;
}

bool cpli_csv_needs_quotes(const char* text) {
  const size_t len = strlen(text);
  if (len == 0) return true;
  if (text[0] == ' ' || text[0] == '#' || text[len - 1] == ' ') return true;
  return strpbrk(text, "\",;\t\r\n") != NULL;
}
