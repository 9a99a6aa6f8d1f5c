// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Commas and indentation follow from the depth and from whether anything was written on the level;
// numbers that are not finite become null.
#include "format/json.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>

#include "format/scan.h"
#include "format/text.h"

void cpli_json_begin(cpli_json* json, FILE* out) { *json = (cpli_json){.out = out, .empty = true}; }

void cpli_json_end(cpli_json* json) {
  assert(json->depth == 0 && !json->empty);  // all levels are closed
  fputc('\n', json->out);
}

static void write_string(FILE* out, const char* text) {
  fputc('"', out);
  while (*text != '\0') {
    const char* begin = text;
    uint32_t c = cpli_utf8_next(&text);
    if (c == '"' || c == '\\') {
      fprintf(out, "\\%c", (int)c);
    } else if (c == '\n') {
      fputs("\\n", out);
    } else if (c < 0x10000 && (cpli_is_control(c) || c == 0xfffd)) {
      fprintf(out, "\\u%04" PRIx32, c);
    } else {
      fwrite(begin, 1, (size_t)(text - begin), out);
    }
  }
  fputc('"', out);
}

static bool on_one_line(const cpli_json* json) {
  return json->one_line > 0 && json->depth >= json->one_line;
}

static void new_line(cpli_json* json) {
  if (on_one_line(json)) return;
  fputc('\n', json->out);
  for (int i = 0; i < json->depth; i++) fputs("  ", json->out);
}

// The prefix of a value: comma, line, key.
static void lead_in(cpli_json* json, const char* key) {
  if (!json->empty) fputs(on_one_line(json) ? ", " : ",", json->out);
  if (json->depth > 0) new_line(json);
  json->empty = false;
  if (key == NULL) return;
  write_string(json->out, key);
  fputs(": ", json->out);
}

static void open_level(cpli_json* json, const char* key, char bracket) {
  lead_in(json, key);
  fputc(bracket, json->out);
  json->depth++;
  json->empty = true;
}

void cpli_json_object(cpli_json* json, const char* key) { open_level(json, key, '{'); }

void cpli_json_array(cpli_json* json, const char* key) { open_level(json, key, '['); }

void cpli_json_close(cpli_json* json, char bracket) {
  bool inline_level = on_one_line(json);
  assert(json->depth > 0 && (bracket == '}' || bracket == ']'));
  json->depth--;
  if (!json->empty && !inline_level) new_line(json);
  fputc(bracket, json->out);
  json->empty = false;
}

void cpli_json_text(cpli_json* json, const char* key, const char* value) {
  lead_in(json, key);
  if (value == NULL) {
    fputs("null", json->out);
  } else {
    write_string(json->out, value);
  }
}

void cpli_json_real(cpli_json* json, const char* key, double value) {
  char text[CPLI_NUMBER_SIZE];
  lead_in(json, key);
  fputs(isfinite(value) ? cpli_print_real(value, text) : "null", json->out);
}

void cpli_json_integer(cpli_json* json, const char* key, int64_t value) {
  lead_in(json, key);
  fprintf(json->out, "%" PRId64, value);
}

void cpli_json_boolean(cpli_json* json, const char* key, bool value) {
  lead_in(json, key);
  fputs(value ? "true" : "false", json->out);
}
