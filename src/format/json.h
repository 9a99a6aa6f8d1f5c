// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A writer of JSON: indented, always valid, whatever the texts contain. Inside an object every
// value has a key; inside an array the key is NULL.
#pragma once

#include <stdio.h>

#include "base/base.h"

typedef struct cpli_json {
  FILE* out;
  int depth;
  bool empty;    // nothing written yet on this level
  int one_line;  // objects and arrays from this depth on stay on one line; 0: none
} cpli_json;

void cpli_json_begin(cpli_json* json, FILE* out);
void cpli_json_end(cpli_json* json);  // a line end after the last bracket

void cpli_json_object(cpli_json* json, const char* key);  // until cpli_json_close('}')
void cpli_json_array(cpli_json* json, const char* key);   // until cpli_json_close(']')
void cpli_json_close(cpli_json* json, char bracket);

void cpli_json_text(cpli_json* json, const char* key, const char* value);  // NULL: null
void cpli_json_real(cpli_json* json, const char* key, double value);       // not finite: null
void cpli_json_integer(cpli_json* json, const char* key, int64_t value);
void cpli_json_boolean(cpli_json* json, const char* key, bool value);
