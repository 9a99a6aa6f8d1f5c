// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parses start values from text by the type of the variable (number with unit, Boolean, item of an
// enumeration, hexadecimal digits, list for an array), checks limits and causality, and sets them
// in a component.
#include "model/start.h"

#include <math.h>
#include <stdio.h>

#include "base/base.h"
#include "format/number.h"
#include "model/description.h"
#include "model/units.h"

static cpl_status bad(cpl_component* c, const cpl_start* s, const char* what) {
  return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->desc->name, s->name, NAN,
                     "%s cannot be set to \"%s\": %s", s->name, s->value, what);
}

//------------------------------------ units ------------------------------------

// value in the unit `from` -> value in the variable's unit
static cpl_status convert(cpl_component* c, const cpl_variable* v, const cpl_start* s,
                          const char* from, double* value) {
  cpli_conversion how;
  if (v->unit < 0) return bad(c, s, "it has no unit");
  cpli_unit_relation found = cpli_relate_to_variable(c->desc, v, from, &how);
  if (found == CPLI_UNITS_SAME) return CPL_OK;
  if (found == CPLI_UNITS_CONVERT) {
    *value = cpli_convert(&how, *value);
    return isfinite(*value) ? CPL_OK : bad(c, s, "this is not finite in its own unit");
  }
  char text[256];
  snprintf(text, sizeof text, "its unit is %s, and there is no conversion from \"%s\"",
           c->desc->units[v->unit].name, from);
  return bad(c, s, text);
}

// The number of bytes of a text that form a number, whether or not it fits a double.
static size_t number_length(const char* text) {
  static const char digits[] = "0123456789";
  size_t n = strspn(text, "+-"), mantissa = strspn(text + n, "0123456789.");
  n += mantissa;
  if (mantissa > 0 && (text[n] == 'e' || text[n] == 'E')) {
    size_t sign = strspn(text + n + 1, "+-"), exponent = strspn(text + n + 1 + sign, digits);
    if (sign <= 1 && exponent > 0) n += 1 + sign + exponent;
  }
  return n;
}

bool cpli_split_number(const char* text, double* value, const char** rest) {
  text += strspn(text, " ");
  size_t len = number_length(text);
  *rest = text + len + strspn(text + len, " ");
  return len > 0 && cpli_parse_double(text, len, value);
}

// A number and optionally a unit, with or without blanks between them.
static cpl_status parse_number(cpl_component* c, const cpl_variable* v, const cpl_start* s,
                               double* value) {
  const char* text = s->value + strspn(s->value, " ");
  size_t len = number_length(text);
  if (len == 0) len = strcspn(text, " ");  // nan, inf
  const char* unit = text + len + strspn(text + len, " ");
  *value = (double)NAN;
  bool number = cpli_parse_double(text, len, value),
       overflow = len > 0 && len == number_length(text);
  if (!number && !overflow) return bad(c, s, "this is not a number");
  if (*unit == ',') return bad(c, s, "this is not a number (decimals have a point)");
  if (!isfinite(*value)) return bad(c, s, "this is not a finite number");
  return unit[0] != '\0' ? convert(c, v, s, unit, value) : CPL_OK;
}

cpl_status cpli_start_number(const cpl_component* c, int32_t unit, const cpl_start* s,
                             double* value) {
  cpl_component shown = *c;
  cpl_variable v = cpli_blank_variable;
  v.unit = unit;
  return parse_number(&shown, &v, s, value);
}

//------------------------------------ values of a type ------------------------------------

static bool parse_boolean(const char* text, int64_t* value) {
  bool yes = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
  *value = yes;
  return yes || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

static bool parse_item(const cpl_description* d, const cpl_variable* v, const char* text,
                       int64_t* value) {
  const cpl_type_def* type = v->declared_type >= 0 ? &d->types[v->declared_type] : NULL;
  for (int32_t i = 0; type != NULL && i < type->n_items; i++) {
    if (strcmp(type->items[i].name, text) != 0) continue;
    *value = type->items[i].value;
    return true;
  }
  return false;
}

// "it is one of off, on, half on"
static cpl_status no_item(cpl_component* c, const cpl_variable* v, const cpl_start* s) {
  char text[256] = "it has no such item";
  const cpl_type_def* type = v->declared_type >= 0 ? &c->desc->types[v->declared_type] : NULL;
  size_t used = 0;
  for (int32_t i = 0; type != NULL && i < type->n_items && used < sizeof text; i++) {
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s",
                             i > 0 ? ", " : "it is one of ", type->items[i].name);
  }
  if (used >= sizeof text) strcpy(text + sizeof text - 4, "...");
  return bad(c, s, text);
}

static bool has_item(const cpl_description* d, const cpl_variable* v, int64_t value) {
  const cpl_type_def* type = v->declared_type >= 0 ? &d->types[v->declared_type] : NULL;
  for (int32_t i = 0; type != NULL && i < type->n_items; i++) {
    if (type->items[i].value == value) return true;
  }
  return type == NULL;
}

// All digits of 64 bits, which a double cannot represent; those of UInt64 as unsigned.
static bool parse_digits(const cpl_variable* v, const char* text, int64_t* value) {
  bool negative = text[0] == '-';
  const char* digits = text + negative;
  uint64_t size = 0, maximum = v->width == CPL_WIDTH_UINT64 ? UINT64_MAX : INT64_MAX;
  if (digits[0] == '\0' || digits[strspn(digits, "0123456789")] != '\0') return false;
  for (; *digits != '\0'; digits++) {
    uint64_t digit = (uint64_t)(*digits - '0');
    if (size > (maximum - digit) / 10) return false;
    size = 10 * size + digit;
  }
  if (negative && v->width == CPL_WIDTH_UINT64 && size > 0) return false;
  *value = (int64_t)(negative ? 0 - size : size);
  return true;
}

static cpl_status parse_integer(cpl_component* c, const cpl_variable* v, const cpl_start* s,
                                int64_t* value) {
  double number;
  if (v->type == CPL_BOOLEAN)
    return parse_boolean(s->value, value) ? CPL_OK : bad(c, s, "a Boolean is true or false");
  if (v->type == CPL_ENUMERATION && parse_item(c->desc, v, s->value, value)) return CPL_OK;
  bool exact = parse_digits(v, s->value, value);
  if (exact && v->type != CPL_ENUMERATION) return CPL_OK;
  if (!cpli_parse_double(s->value, strlen(s->value), &number) || number != floor(number) ||
      fabs(number) > 9e15 || (v->width == CPL_WIDTH_UINT64 && number < 0)) {
    return v->type == CPL_ENUMERATION ? no_item(c, v, s) : bad(c, s, "this is not an integer");
  }
  *value = (int64_t)number;
  if (v->type == CPL_ENUMERATION && !has_item(c->desc, v, *value)) return no_item(c, v, s);
  return CPL_OK;
}

const char* cpli_beyond_limit(const cpl_description* d, const cpl_variable* v, double value,
                              char* text, size_t size) {
  if (value >= v->min && value <= v->max) return NULL;
  const char* unit = v->unit >= 0 ? d->units[v->unit].name : "";
  if (strcmp(unit, "1") == 0 || strcmp(unit, "-") == 0) unit = "";
  snprintf(text, size, "its %s is %g%s%s", value < v->min ? "minimum" : "maximum",
           value < v->min ? v->min : v->max, unit[0] != '\0' ? " " : "", unit);
  return text;
}

static cpl_status check_limits(cpl_component* c, const cpl_variable* v, const cpl_start* s,
                               double value) {
  char text[128];
  const char* why = cpli_beyond_limit(c->desc, v, value, text, sizeof text);
  return why == NULL ? CPL_OK : bad(c, s, why);
}

const char* cpli_not_settable(const cpl_variable* v) {
  if (v->variability == CPL_VARIABILITY_CONSTANT) return "it is a constant";
  if (v->causality == CPL_CAUSALITY_INDEPENDENT) return "it is the time";
  bool calculated =
      v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER && v->initial != CPL_INITIAL_APPROX;
  bool computed = calculated || v->initial == CPL_INITIAL_CALCULATED;
  return v->causality != CPL_CAUSALITY_INPUT && computed ? "the model computes it" : NULL;
}

static cpl_status check_settable(cpl_component* c, const cpl_variable* v, const cpl_start* s) {
  const char* why = cpli_not_settable(v);
  return why == NULL ? CPL_OK : bad(c, s, why);
}

static int digit(char c) {
  static const char digits[] = "0123456789abcdef0123456789ABCDEF";
  const char* at = c != '\0' ? strchr(digits, c) : NULL;
  return at != NULL ? (int)(at - digits) % 16 : -1;
}

// Hexadecimal digits, as in descriptions.
static cpl_status set_binary(cpl_component* c, const cpl_variable* v, const cpl_start* s) {
  size_t n = strlen(s->value);
  if (c->ops->set_binary == NULL) return bad(c, s, "the model takes no binaries");
  uint8_t* bytes = cpli_alloc(c->ctx, n / 2 + 1, 1);
  if (bytes == NULL) return cpli_nomem(c->ctx);
  bool fine = n % 2 == 0;
  for (size_t i = 0; i < n && fine; i++) {
    int value = digit(s->value[i]);
    fine = value >= 0;
    bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | value);
  }
  cpl_binary binary = {bytes, n / 2};
  cpl_status st = fine ? c->ops->set_binary(c, &v->ref, 1, &binary)
                       : bad(c, s, "a Binary is given as pairs of hexadecimal digits");
  cpli_free(c->ctx, bytes);
  return st;
}

// Structural parameters are set when the model is opened: they determine the sizes of arrays.
static cpl_status check_structural(cpl_component* c, const cpl_variable* v, const cpl_start* s) {
  int64_t value = 0;
  double number = 0;
  const bool real = v->type == CPL_REAL;
  cpl_status st = real ? parse_number(c, v, s, &number) : parse_integer(c, v, s, &value);
  if (st < 0 || (real ? number : (double)value) == v->start) return st;
  return bad(c, s,
             real ? "it determines what is fixed when the system is built (delays, steps, sizes), "
                    "and must be given when it is opened"
                  : "it determines sizes of arrays and must be given when the model is opened");
}

static cpl_status set_start(cpl_component* c, const cpl_start* s) {
  int32_t index;
  cpl_status st = cpl_require_variable(c->ctx, c->desc, s->name, &index);
  if (st < 0) return st;
  const cpl_variable* v = &c->desc->vars[index];
  st = check_settable(c, v, s);
  if (st < 0) return st;
  if (v->structural) return check_structural(c, v, s);
  if (v->type == CPL_STRING) return c->ops->set_string(c, &v->ref, 1, &s->value);
  if (v->type == CPL_BINARY) return set_binary(c, v, s);
  if (v->type == CPL_CLOCK) return bad(c, s, "a Clock has no start value");
  if (v->type == CPL_REAL) {
    double value;
    st = parse_number(c, v, s, &value);
    if (st >= 0) st = check_limits(c, v, s, value);
    return st < 0 ? st : c->ops->set_real(c, &v->ref, 1, &value);
  }
  int64_t value;
  st = parse_integer(c, v, s, &value);
  if (st >= 0) st = check_limits(c, v, s, (double)value);
  return st < 0 ? st : c->ops->set_integer(c, (cpl_type)v->type, &v->ref, 1, &value);
}

//------------------------------------ arrays ------------------------------------

static const cpl_array* find_array(const cpl_description* d, const char* name) {
  for (int32_t i = 0; i < d->n_arrays; i++)
    if (strcmp(d->arrays[i].name, name) == 0) return &d->arrays[i];
  return NULL;
}

// All elements of an array: one value for each, "[1, 2, 3]", or the same for all.
static cpl_status set_array(cpl_component* c, const cpl_array* array, const cpl_start* s) {
  const char* text = s->value + strspn(s->value, " ");
  bool list = text[0] == '[';
  if (list) text++;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < array->count && st >= 0; i++) {
    char value[256];
    size_t len = list ? strcspn(text, ",]") : strlen(text);
    bool last = i + 1 == array->count;
    if (list && text[len] != (last ? ']' : ',')) {
      char why[64];
      snprintf(why, sizeof why, "it has %d elements", array->count);
      return bad(c, s, why);
    }
    if (len >= sizeof value) return bad(c, s, "a value in it is too long");
    memcpy(value, text, len);
    value[len] = '\0';
    while (len > 0 && value[len - 1] == ' ') value[--len] = '\0';
    if (list) text += strcspn(text, ",]") + 1;
    const char* name = c->desc->vars[array->first + i].name;
    st = set_start(c, &(cpl_start){name, value + strspn(value, " ")});
  }
  return st;
}

cpl_status cpli_set_starts(cpl_component* c, const cpl_start* starts, size_t n) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++) {
    bool scalar = cpl_find_variable(c->desc, starts[i].name) >= 0;
    const cpl_array* array = scalar ? NULL : find_array(c->desc, starts[i].name);
    st = array != NULL ? set_array(c, array, &starts[i]) : set_start(c, &starts[i]);
  }
  return st;
}
