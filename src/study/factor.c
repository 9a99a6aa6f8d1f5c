// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads factors from their texts, and checks and prints them.
#include "study/factor.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/number.h"
#include "format/scan.h"
#include "format/source_loc.h"
#include "model/start.h"

enum { MAX_FIELDS = 6, LEAST_SAMPLES = 2 };

// A kind in a text: its numbers, and what is expected after "NAME=".
typedef struct form {
  const char* word;
  const char* usage;
  int least, most;  // number of fields behind the word
} form;

typedef enum form_index {
  LIST,
  LOG,
  UNIFORM,
  NORMAL,
  LOGNORMAL,
  TRIANGULAR,
  TABLE,
  N_FORMS
} form_index;

static const form forms[] = {
    [LIST] = {"list", "list:VALUE,VALUE,...", 1, 1},
    [LOG] = {"log", "log:FIRST:LAST:COUNT, or log:LEAST:GREATEST for samples", 2, 3},
    [UNIFORM] = {"uniform", "uniform:LEAST:GREATEST", 2, 2},
    [NORMAL] = {"normal", "normal:MEAN:DEVIATION", 2, 2},
    [LOGNORMAL] = {"lognormal", "lognormal:MU:SIGMA, mean and deviation of the logarithm", 2, 2},
    [TRIANGULAR] = {"triangular", "triangular:LEAST:MODE:GREATEST", 3, 3},
    [TABLE] = {"table", "table:FILE or table:FILE:COLUMN", 1, 2},
};
static_assert(CPLI_COUNT(forms) == N_FORMS, "one row per form");

static const char* form_at(const void* user, size_t i) { return ((const form*)user)[i].word; }

// A factor being read. Texts point into `copy`, which is cut into pieces.
typedef struct reader {
  cpl_context* ctx;
  const char* text;  // the whole, for messages
  const char* folder;
  char* copy;
  char* name;
  char* field[MAX_FIELDS + 1];
  int n;
  const char* unit;  // NULL: none so far
} reader;

CPL_PRINTF(2, 3) static cpl_status bad(const reader* r, const char* fmt, ...) {
  char message[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return cpl_fail(r->ctx, CPL_ERR_INPUT, "%s: %s", r->text, message);
}

//------------------------------------ pieces ------------------------------------

// The next separator outside of single quotes, or the end.
static char* piece_end(char* at, char separator) {
  bool quoted = false;
  for (; *at != '\0' && (quoted || *at != separator); at++) quoted ^= *at == '\'';
  return at;
}

// Removes blanks at both ends, and the quotes of a text that is quoted as a whole.
static char* plain(char* text) {
  text += strspn(text, " ");
  size_t n = strlen(text);
  while (n > 0 && text[n - 1] == ' ') text[--n] = '\0';
  if (n < 2 || text[0] != '\'' || text[n - 1] != '\'') return text;
  size_t used = 0;
  char* out = text + 1;
  for (size_t i = 0; i + 2 < n; i++) {
    if (out[i] == '\'' && (i + 3 == n || out[++i] != '\'')) return text;  // as in 'a'.'b'
  }
  for (size_t i = 0; i + 2 < n; i++) {
    out[used++] = out[i];
    if (out[i] == '\'') i++;  // the second of a pair
  }
  out[used] = '\0';
  return out;
}

static cpl_status split(reader* r) {
  char* equals = piece_end(r->copy, '=');
  if (*equals == '\0') {
    const bool quote = strchr(r->text, '\'') != NULL && strchr(r->text, '=') != NULL;
    return bad(r, quote ? "the single quote is not closed before \"=\""
                        : "write it as NAME=VALUES, as in k=1:10:4 or k=normal:10:1");
  }
  *equals = '\0';
  r->name = plain(r->copy);
  if (r->name[0] == '\0') return bad(r, "there is no name before \"=\"");
  for (char* at = equals + 1;;) {
    if (r->n > MAX_FIELDS) return bad(r, "there are too many parts between colons");
    char* end = piece_end(at, ':');
    const bool last = *end == '\0';
    *end = '\0';
    r->field[r->n++] = at;
    if (last) break;
    at = end + 1;
  }
  for (int i = 0; i < r->n; i++) r->field[i] = plain(r->field[i]);
  return CPL_OK;
}

//------------------------------------ numbers ------------------------------------

static cpl_status read_unit(reader* r, const char* unit) {
  if (unit[0] == '\0') return CPL_OK;
  if (strpbrk(unit, "':") != NULL)
    return bad(r, "there is no unit %s: quotes and colons are not part of units", unit);
  if (r->unit != NULL && strcmp(r->unit, unit) != 0)
    return bad(r, "all its numbers have one unit, not %s and %s", r->unit, unit);
  r->unit = unit;
  return CPL_OK;
}

static cpl_status read_number(reader* r, const char* what, const char* text, double* out) {
  const char* rest = "";
  bool yes = false;
  if (text[0] == '\0') return bad(r, "%s is missing", what);
  if (strcmp(text, "true") == 0 || (yes = strcmp(text, "false") == 0)) {
    *out = yes ? 0 : 1;
    return CPL_OK;
  }
  if (!cpli_split_number(text, out, &rest)) {
    double value;
    const bool number = cpli_parse_double(text, strlen(text), &value);
    return bad(r, "%s is \"%s\", not a%s number", what, text, number ? " finite" : "");
  }
  if (*rest == ',') return bad(r, "%s is \"%s\": decimals have a point, no comma", what, text);
  return read_unit(r, rest);
}

static cpl_status read_count(reader* r, const char* text, int64_t* out) {
  double value = 0;
  if (text[0] == '\0') return bad(r, "the number of values is missing: FIRST:LAST:COUNT");
  if (!cpli_parse_double(text, strlen(text), &value) || value != floor(value))
    return bad(r, "the number of values is \"%s\", not a whole number: FIRST:LAST:COUNT", text);
  if (value < 1) return bad(r, "the range is empty: it has %s values", text);
  if (value > 1e15) return bad(r, "%s values are too many", text);
  *out = (int64_t)value;
  return CPL_OK;
}

// Numbers of consecutive fields, each with its description.
static cpl_status read_numbers(reader* r, int first, const char* const* what, int n, double** out) {
  cpl_status st = CPL_OK;
  for (int i = 0; st >= 0 && i < n; i++) st = read_number(r, what[i], r->field[first + i], out[i]);
  return st;
}

static cpl_status read_list(reader* r, char* text, cpl_factor* f) {
  f->kind = CPL_FACTOR_LIST;
  size_t count = 1;
  for (const char* p = text; *p != '\0'; p++) count += *p == ',';
  double* values = cpli_alloc(r->ctx, count, sizeof *values);
  f->values = values;
  if (values == NULL) return cpli_nomem(r->ctx);
  for (char* at = text; at != NULL;) {
    char* comma = strchr(at, ',');
    if (comma != NULL) *comma = '\0';
    char what[64];
    snprintf(what, sizeof what, "value %lld", (long long)f->n + 1);
    cpl_status st = read_number(r, what, plain(at), &values[f->n++]);
    if (st < 0) return st;
    at = comma != NULL ? comma + 1 : NULL;
  }
  return CPL_OK;
}

//------------------------------------ samples ------------------------------------

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static cpl_status read_samples(reader* r, cpl_factor* f) {
  const char* column = r->n > 2 ? r->field[2] : r->name;
  const bool relative = r->folder != NULL && r->field[1][0] != '/';
  if (r->field[1][0] == '\0') return bad(r, "the file is missing: %s", forms[TABLE].usage);
  char* path = relative ? cpli_printf(r->ctx, "%s/%s", r->folder, r->field[1])
                        : cpli_strdup(r->ctx, r->field[1]);
  if (path == NULL) return cpli_nomem(r->ctx);
  cpli_columns columns = {0};
  cpl_status st = cpli_columns_read(r->ctx, path, column, &columns);
  if (st < 0) st = cpl_fail_prefix(r->ctx, st, "%s", r->text);
  if (st >= 0 && columns.rows < LEAST_SAMPLES)
    st = bad(r, "%s has one sample; a distribution needs at least %d", path, LEAST_SAMPLES);
  if (st >= 0) {
    f->kind = CPL_FACTOR_SAMPLES;
    f->n = columns.rows;
    f->values = columns.values;
    qsort(columns.values, (size_t)columns.rows, sizeof(double), by_size);
    columns.values = NULL;
    if (columns.units[0] != NULL) {
      f->unit = cpli_strdup(r->ctx, columns.units[0]);
      if (f->unit == NULL) st = cpli_nomem(r->ctx);
    }
  }
  cpli_columns_free(&columns);
  cpli_free(r->ctx, path);
  return st;
}

//------------------------------------ kinds ------------------------------------

// Ranges, from field `first` on: two ends, and a number of values on a grid.
static cpl_status read_range(reader* r, int first, cpl_factor_kind grid, cpl_factor_kind samples,
                             cpl_factor* f) {
  static const char* const what[] = {"the first value", "the last value"};
  const bool counted = r->n - first == 3;
  f->kind = counted ? grid : samples;
  cpl_status st = read_numbers(r, first, what, 2, (double*[]){&f->a, &f->b});
  if (st >= 0 && counted) st = read_count(r, r->field[first + 2], &f->n);
  return st;
}

static cpl_status read_form(reader* r, form_index kind, cpl_factor* f) {
  const form* expected = &forms[kind];
  if (r->n - 1 < expected->least || r->n - 1 > expected->most)
    return bad(r, "write it as %s=%s", r->name, expected->usage);
  switch (kind) {
    case LIST: return read_list(r, r->field[1], f);
    case LOG: return read_range(r, 1, CPL_FACTOR_LOG_GRID, CPL_FACTOR_LOG_UNIFORM, f);
    case UNIFORM: return read_range(r, 1, CPL_FACTOR_GRID, CPL_FACTOR_UNIFORM, f);
    case NORMAL:
      f->kind = CPL_FACTOR_NORMAL;
      return read_numbers(r, 1, (const char*[]){"the mean", "the deviation"}, 2,
                          (double*[]){&f->a, &f->b});
    case LOGNORMAL:
      f->kind = CPL_FACTOR_LOGNORMAL;
      return read_numbers(r, 1, (const char*[]){"the mean of the logarithm", "its deviation"}, 2,
                          (double*[]){&f->a, &f->b});
    case TRIANGULAR:
      f->kind = CPL_FACTOR_TRIANGULAR;
      return read_numbers(r, 1,
                          (const char*[]){"the least value", "the mode", "the greatest value"}, 3,
                          (double*[]){&f->a, &f->b, &f->c});
    default: return read_samples(r, f);
  }
}

// Without a word: one value, a list, or a range.
static cpl_status read_plain(reader* r, cpl_factor* f) {
  char* first = r->field[0];
  if (r->n == 1 && strchr(first, ',') != NULL) return read_list(r, first, f);
  if (r->n == 1) {
    f->kind = CPL_FACTOR_VALUE;
    return read_number(r, "the value", first, &f->a);
  }
  if (r->n > 3) return bad(r, "a range is FIRST:LAST:COUNT, or LEAST:GREATEST for samples");
  return read_range(r, 0, CPL_FACTOR_GRID, CPL_FACTOR_UNIFORM, f);
}

// Whether a text begins like a kind and not like a number.
static bool is_word(const char* text) {
  double value;
  if (cpli_parse_double(text, strlen(text), &value)) return false;  // nan, inf
  if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0) return false;
  return (text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z');
}

static cpl_status read_values(reader* r, cpl_factor* f) {
  const char* word = r->field[0];
  if (r->n == 1 && word[0] == '\0') return bad(r, "there are no values behind \"=\"");
  if (!is_word(word) || (r->n == 1 && strchr(word, ',') != NULL)) return read_plain(r, f);
  for (size_t i = 0; i < N_FORMS; i++) {
    if (strcmp(word, forms[i].word) == 0) return read_form(r, (form_index)i, f);
  }
  char near[400];
  return bad(r,
             "\"%s\" is neither a number nor list, log, uniform, normal, lognormal, triangular "
             "or table%s",
             word, cpli_did_you_mean(word, form_at, forms, N_FORMS, near, sizeof near));
}

cpl_status cpl_factor_read(cpl_context* ctx, const char* text, const char* folder,
                           cpl_factor* out) {
  reader r = {.ctx = ctx, .text = text, .folder = folder};
  cpl_factor f = {0};
  *out = f;
  r.copy = cpli_strdup(ctx, text);
  cpl_status st = r.copy != NULL ? split(&r) : cpli_nomem(ctx);
  if (st >= 0) st = read_values(&r, &f);
  if (st >= 0) {
    f.name = cpli_strdup(ctx, r.name);
    if (r.unit != NULL) f.unit = cpli_strdup(ctx, r.unit);
    if (f.name == NULL || (r.unit != NULL && f.unit == NULL)) st = cpli_nomem(ctx);
  }
  if (st >= 0) st = cpli_factor_check(ctx, &f, text);
  if (st < 0) {
    cpl_factor_free(ctx, &f);
  } else {
    *out = f;
  }
  cpli_free(ctx, r.copy);
  return st;
}

void cpl_factor_free(cpl_context* ctx, cpl_factor* f) {
  if (f == NULL) return;
  cpli_free(ctx, (char*)f->name);
  cpli_free(ctx, (char*)f->unit);
  cpli_free(ctx, (double*)f->values);
  *f = (cpl_factor){0};
}

cpl_status cpli_factor_copy(cpl_context* ctx, const cpl_factor* f, cpl_factor* out) {
  *out = *f;
  const bool has_values = f->kind == CPL_FACTOR_LIST || f->kind == CPL_FACTOR_SAMPLES;
  double* values = has_values ? cpli_alloc(ctx, (size_t)f->n, sizeof *values) : NULL;
  if (values != NULL) memcpy(values, f->values, (size_t)f->n * sizeof *values);
  out->values = values;
  out->name = cpli_strdup(ctx, f->name);
  out->unit = f->unit != NULL ? cpli_strdup(ctx, f->unit) : NULL;
  if ((has_values && values == NULL) || out->name == NULL || (f->unit != NULL && out->unit == NULL))
    return cpli_nomem(ctx);
  return CPL_OK;
}

//------------------------------------ checks ------------------------------------

// Quantiles of samples are at most this many deviations from the mean.
static const double farthest = 8.3;

static cpl_status fails(cpl_context* ctx, const char* who, const char* fmt, double value) {
  char message[256], number[CPLI_NUMBER_SIZE];
  snprintf(message, sizeof message, fmt, cpli_print_real(value, number));  // NOLINT: one %s
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: %s", who, message);
}

static cpl_status check_grid(cpl_context* ctx, const cpl_factor* f, const char* who) {
  const bool log = f->kind == CPL_FACTOR_LOG_GRID;
  if (log && !(f->a > 0 && f->b > 0))
    return fails(ctx, who, "the ends of a logarithmic range are positive, not %s",
                 f->a > 0 ? f->b : f->a);
  if (f->n < 1) return fails(ctx, who, "the range is empty: it has %s values", (double)f->n);
  if (f->n == 1 && f->a != f->b)
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s: one value cannot be both the first and the last of the range", who);
  if (f->n > 1 && f->a == f->b)
    return fails(ctx, who, "all values of the range would be %s; write one value without colons",
                 f->a);
  return CPL_OK;
}

static cpl_status check_range(cpl_context* ctx, const cpl_factor* f, const char* who) {
  if (f->kind == CPL_FACTOR_LOG_UNIFORM && !(f->a > 0 && f->b > 0))
    return fails(ctx, who, "the ends of a logarithmic range are positive, not %s",
                 f->a > 0 ? f->b : f->a);
  if (!(f->a < f->b)) return fails(ctx, who, "the least value is not below the greatest, %s", f->b);
  return CPL_OK;
}

static cpl_status check_values(cpl_context* ctx, const cpl_factor* f, const char* who) {
  if (f->n < 1 || f->values == NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: there are no values", who);
  for (int64_t i = 0; i < f->n; i++) {
    if (!isfinite(f->values[i])) return fails(ctx, who, "a value is %s, not finite", f->values[i]);
    if (f->kind == CPL_FACTOR_SAMPLES && i > 0 && f->values[i] < f->values[i - 1])
      return cpl_fail(ctx, CPL_ERR_INPUT, "%s: the samples do not increase", who);
  }
  return CPL_OK;
}

cpl_status cpli_factor_check(cpl_context* ctx, const cpl_factor* f, const char* who) {
  if (f->name == NULL || f->name[0] == '\0')
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: the factor has no name", who);
  if (!isfinite(f->a) || !isfinite(f->b) || !isfinite(f->c))
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: its numbers are not finite", who);
  switch (f->kind) {
    case CPL_FACTOR_VALUE: return CPL_OK;
    case CPL_FACTOR_LIST:
    case CPL_FACTOR_SAMPLES: return check_values(ctx, f, who);
    case CPL_FACTOR_GRID:
    case CPL_FACTOR_LOG_GRID: return check_grid(ctx, f, who);
    case CPL_FACTOR_UNIFORM:
    case CPL_FACTOR_LOG_UNIFORM: return check_range(ctx, f, who);
    case CPL_FACTOR_NORMAL:
    case CPL_FACTOR_LOGNORMAL: {
      if (!(f->b > 0)) return fails(ctx, who, "the deviation is positive, not %s", f->b);
      const double most = fabs(f->a) + farthest * f->b;
      const bool log = f->kind == CPL_FACTOR_LOGNORMAL;
      if (!isfinite(log ? exp(most) : most))
        return cpl_fail(ctx, CPL_ERR_INPUT, "%s: samples would exceed the largest number", who);
      return CPL_OK;
    }
    case CPL_FACTOR_TRIANGULAR:
      if (!(f->a < f->c))
        return fails(ctx, who, "the least value is not below the greatest, %s", f->c);
      if (!(f->a <= f->b && f->b <= f->c))
        return fails(ctx, who, "the mode %s is not between the least and the greatest value", f->b);
      return CPL_OK;
  }
  return cpl_fail(ctx, CPL_ERR_INPUT, "%s: the factor has no known kind", who);
}

//------------------------------------ texts ------------------------------------

typedef struct printer {
  char* out;
  size_t size, len;
} printer;

static void put(printer* p, const char* text) {
  for (; *text != '\0'; text++, p->len++) {
    if (p->len + 1 < p->size) p->out[p->len] = *text;
  }
}

static void put_number(printer* p, const char* before, const cpl_factor* f, double value) {
  char number[CPLI_NUMBER_SIZE];
  put(p, before);
  put(p, cpli_print_real(value, number));
  if (f->unit == NULL) return;
  put(p, " ");
  put(p, f->unit);
}

static void put_count(printer* p, const char* before, int64_t n) {
  char number[CPLI_NUMBER_SIZE];
  cpli_format_integer(number, n);
  put(p, before);
  put(p, number);
}

static void put_name(printer* p, const char* name) {
  const bool quoted = strpbrk(name, "='") != NULL;
  if (quoted) put(p, "'");
  for (; *name != '\0'; name++) {
    const char c[] = {name[0], name[0] == '\'' && quoted ? '\'' : '\0', '\0'};
    put(p, c);
  }
  put(p, quoted ? "'=" : "=");
}

size_t cpl_factor_print(const cpl_factor* f, char* out, size_t size) {
  static const char* const words[] = {
      [CPL_FACTOR_VALUE] = "",
      [CPL_FACTOR_LIST] = "list:",
      [CPL_FACTOR_GRID] = "",
      [CPL_FACTOR_LOG_GRID] = "log:",
      [CPL_FACTOR_UNIFORM] = "uniform:",
      [CPL_FACTOR_LOG_UNIFORM] = "log:",
      [CPL_FACTOR_NORMAL] = "normal:",
      [CPL_FACTOR_LOGNORMAL] = "lognormal:",
      [CPL_FACTOR_TRIANGULAR] = "triangular:",
      [CPL_FACTOR_SAMPLES] = "table:",
  };
  printer p = {out, size, 0};
  put_name(&p, f->name);
  if (f->kind == CPL_FACTOR_SAMPLES) {
    put_count(&p, "table:", f->n);
  } else if (f->kind == CPL_FACTOR_LIST) {
    for (int64_t i = 0; i < f->n; i++) put_number(&p, i > 0 ? "," : "list:", f, f->values[i]);
  } else {
    put_number(&p, words[f->kind], f, f->a);
    if (f->kind != CPL_FACTOR_VALUE) put_number(&p, ":", f, f->b);
    if (f->kind == CPL_FACTOR_TRIANGULAR) put_number(&p, ":", f, f->c);
    if (f->kind == CPL_FACTOR_GRID || f->kind == CPL_FACTOR_LOG_GRID) put_count(&p, ":", f->n);
  }
  if (size > 0) out[p.len < size ? p.len : size - 1] = '\0';
  return p.len;
}
