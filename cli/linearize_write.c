// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Writes linearisations as text, as JSON, as CSV with one block per matrix, and as MAT files of
// level 4.
#include <ctype.h>
#include <math.h>
#include <string.h>

#include "format/csv.h"
#include "format/json.h"
#include "format/mat4.h"
#include "format/number.h"
#include "format/text.h"
#include "linearize.h"

// One of A, B, C, D with the names of its rows and columns.
typedef struct block {
  char letter;
  const char* says;
  int32_t n_rows, n_columns;
  const char *const *rows, *const *columns;
  const double* values;
} block;

static block block_at(const cpl_linear* l, int i) {
  static const char* const says[] = {"derivatives by states", "derivatives by inputs",
                                     "outputs by states", "outputs by inputs"};
  const double* const values[] = {l->a, l->b, l->c, l->d};
  bool derivatives = i < 2, states = i % 2 == 0;
  return (block){.letter = "ABCD"[i],
                 .says = says[i],
                 .n_rows = derivatives ? l->n_states : l->n_outputs,
                 .n_columns = states ? l->n_states : l->n_inputs,
                 .rows = derivatives ? l->states : l->outputs,
                 .columns = states ? l->states : l->inputs,
                 .values = values[i]};
}

static double entry(const block* b, int32_t row, int32_t column) {
  double value = b->values[(size_t)column * (size_t)b->n_rows + (size_t)row];
  return value == 0 ? 0 : value;  // not -0
}

//------------------------------------ text ------------------------------------

enum { WIDTH = 80, NUMBER = 12 };

static size_t widest(const char* const* names, int32_t n, size_t least, size_t most) {
  size_t width = least;
  for (int32_t i = 0; i < n; i++) {
    size_t k = cpli_text_width(names[i]);
    if (k > width) width = k;
  }
  return width < most ? width : most;
}

static void put_right(FILE* out, const char* text, size_t width) {
  size_t n = cpli_text_width(text);
  if (n < width) fprintf(out, "%*s", (int)(width - n), "");
  cpli_print_text(out, text, width);
}

static void put_left(FILE* out, const char* text, size_t width) {
  size_t n = cpli_print_text(out, text, width);
  fprintf(out, "%*s", (int)(width - n), "");
}

// Blocks of as many columns as fit on a line.
static void text_block(FILE* out, const block* b) {
  if (b->n_rows == 0 || b->n_columns == 0) return;
  size_t head = widest(b->rows, b->n_rows, 4, 26);
  size_t width = widest(b->columns, b->n_columns, NUMBER, 24);
  int32_t fit = (int32_t)((WIDTH - 2 - head) / (width + 1));
  fprintf(out, "\n%c, %s\n", b->letter, b->says);
  for (int32_t from = 0; from < b->n_columns; from += fit) {
    int32_t to = from + fit < b->n_columns ? from + fit : b->n_columns;
    fprintf(out, "  %*s", (int)head, "");
    for (int32_t c = from; c < to; c++) {
      fputc(' ', out);
      put_right(out, b->columns[c], width);
    }
    fputc('\n', out);
    for (int32_t r = 0; r < b->n_rows; r++) {
      fputs("  ", out);
      put_left(out, b->rows[r], head);
      for (int32_t c = from; c < to; c++) fprintf(out, " %*.6g", (int)width, entry(b, r, c));
      fputc('\n', out);
    }
  }
}

static void text_one(FILE* out, const cpl_linear* l) {
  for (int i = 0; i < 4; i++) {
    block b = block_at(l, i);
    text_block(out, &b);
  }
}

static void text_sizes(FILE* out, const cpl_linear* l) {
  fprintf(out, "%d state%s, %d input%s, %d output%s\n", l->n_states, l->n_states == 1 ? "" : "s",
          l->n_inputs, l->n_inputs == 1 ? "" : "s", l->n_outputs, l->n_outputs == 1 ? "" : "s");
}

static void text_roots(FILE* out, const char* what, const cpl_root* roots, int32_t n) {
  if (n < 0) return;
  fprintf(out, "\n%s [1/s]%s\n", what, n == 0 ? ": none" : "");
  for (int32_t i = 0; i < n; i++) {
    fprintf(out, "  %14.8g", roots[i].re);
    if (roots[i].im != 0) fprintf(out, " %c %.8gi", roots[i].im > 0 ? '+' : '-', fabs(roots[i].im));
    fputc('\n', out);
  }
}

static void text_reduced(FILE* out, const cpl_reduced* r) {
  if (r == NULL) return;
  int32_t left = r->linear->n_states - r->n_kept;  // of those that decay
  fprintf(out, "\nreduced from %d states", r->n_kept + r->n_decaying);
  if (r->n_kept > 0) fprintf(out, "; %d poles that do not decay are kept", r->n_kept);
  fprintf(out,
          "\n  largest change of the transfer function: %.4g\n  Hankel singular values:", r->bound);
  for (int32_t i = 0; i < r->n_hankel; i++)
    fprintf(out, "%s%s %.4g", i > 0 && i % 6 == 0 ? "\n    " : "", i == left ? " |" : "",
            r->hankel[i]);
  fputc('\n', out);
}

void linearize_text(FILE* out, const linearized* l) {
  cpli_print_text(out, l->name, 0);
  fprintf(out, "\n  t = %g: ", l->time);
  text_sizes(out, l->whole);
  text_one(out, l->whole);
  text_reduced(out, l->reduced);
  text_roots(out, "poles", l->poles, l->n_poles);
  text_roots(out, "zeros", l->zeros, l->n_zeros);
  for (int32_t i = 0; i < l->n_models; i++) {
    const cpl_linear* m = l->models[i];
    fputc('\n', out);
    cpli_print_text(out, l->model_names[i], 0);
    fputs(": ", out);
    text_sizes(out, m);
    text_one(out, m);
  }
}

//------------------------------------ JSON ------------------------------------

static void json_names(cpli_json* j, const char* key, const char* const* names, int32_t n) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) cpli_json_text(j, NULL, names[i]);
  cpli_json_close(j, ']');
}

static void json_numbers(cpli_json* j, const char* key, const double* values, int32_t n) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) cpli_json_real(j, NULL, values[i]);
  cpli_json_close(j, ']');
}

static void json_one(cpli_json* j, const cpl_linear* l) {
  json_names(j, "states", l->states, l->n_states);
  json_names(j, "inputs", l->inputs, l->n_inputs);
  json_names(j, "outputs", l->outputs, l->n_outputs);
  json_numbers(j, "x", l->x, l->n_states);
  json_numbers(j, "dx", l->dx, l->n_states);
  json_numbers(j, "u", l->u, l->n_inputs);
  json_numbers(j, "y", l->y, l->n_outputs);
  for (int i = 0; i < 4; i++) {
    block b = block_at(l, i);
    char key[2] = {b.letter, '\0'};
    cpli_json_array(j, key);
    for (int32_t r = 0; r < b.n_rows; r++) {
      cpli_json_array(j, NULL);
      for (int32_t c = 0; c < b.n_columns; c++) cpli_json_real(j, NULL, entry(&b, r, c));
      cpli_json_close(j, ']');
    }
    cpli_json_close(j, ']');
  }
}

static void json_roots(cpli_json* j, const char* key, const cpl_root* roots, int32_t n) {
  if (n < 0) return;
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) {
    cpli_json_array(j, NULL);
    cpli_json_real(j, NULL, roots[i].re);
    cpli_json_real(j, NULL, roots[i].im);
    cpli_json_close(j, ']');
  }
  cpli_json_close(j, ']');
}

void linearize_json(FILE* out, const linearized* l) {
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = l->n_models > 0 ? 4 : 3;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", l->file);
  cpli_json_text(j, "name", l->name);
  cpli_json_real(j, "time", l->time);
  json_one(j, l->whole);
  if (l->reduced != NULL) {
    cpli_json_integer(j, "kept", l->reduced->n_kept);
    cpli_json_real(j, "bound", l->reduced->bound);
    json_numbers(j, "hankel", l->reduced->hankel, l->reduced->n_hankel);
  }
  json_roots(j, "poles", l->poles, l->n_poles);
  json_roots(j, "zeros", l->zeros, l->n_zeros);
  if (l->n_models > 0) {
    cpli_json_array(j, "models");
    for (int32_t i = 0; i < l->n_models; i++) {
      cpli_json_object(j, NULL);
      cpli_json_text(j, "name", l->model_names[i]);
      json_one(j, l->models[i]);
      cpli_json_close(j, '}');
    }
    cpli_json_close(j, ']');
  }
  cpli_json_close(j, '}');
  cpli_json_end(j);
}

//------------------------------------ CSV ------------------------------------

static void csv_field(FILE* out, const char* text) {
  bool quoted = cpli_csv_needs_quotes(text);
  if (quoted) fputc('"', out);
  for (; *text != '\0'; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  if (quoted) fputc('"', out);
}

// Blocks separated by an empty line; the first cell names the matrix, "A" or "left:A".
static void csv_one(FILE* out, const char* model, const cpl_linear* l, bool* begun) {
  for (int i = 0; i < 4; i++) {
    block b = block_at(l, i);
    char corner[512], number[CPLI_NUMBER_SIZE];
    if (*begun) fputc('\n', out);
    *begun = true;
    snprintf(corner, sizeof corner, "%s%s%c", model, model[0] != '\0' ? ":" : "", b.letter);
    csv_field(out, corner);
    for (int32_t c = 0; c < b.n_columns; c++) {
      fputc(',', out);
      csv_field(out, b.columns[c]);
    }
    fputc('\n', out);
    for (int32_t r = 0; r < b.n_rows; r++) {
      csv_field(out, b.rows[r]);
      for (int32_t c = 0; c < b.n_columns; c++) {
        cpli_format_double(number, entry(&b, r, c));
        fprintf(out, ",%s", number);
      }
      fputc('\n', out);
    }
  }
}

static void csv_roots(FILE* out, const char* what, const cpl_root* roots, int32_t n) {
  char re[CPLI_NUMBER_SIZE], im[CPLI_NUMBER_SIZE];
  if (n < 0) return;
  fprintf(out, "\n%s,re,im\n", what);
  for (int32_t i = 0; i < n; i++) {
    cpli_format_double(re, roots[i].re);
    cpli_format_double(im, roots[i].im);
    fprintf(out, "%d,%s,%s\n", i + 1, re, im);
  }
}

void linearize_csv(FILE* out, const linearized* l) {
  bool begun = false;
  csv_one(out, "", l->whole, &begun);
  for (int32_t i = 0; l->reduced != NULL && i < l->reduced->n_hankel; i++) {
    char number[CPLI_NUMBER_SIZE];
    cpli_format_double(number, l->reduced->hankel[i]);
    fprintf(out, "%s%d,%s\n", i == 0 ? "\nhankel,value\n" : "", i + 1, number);
  }
  csv_roots(out, "poles", l->poles, l->n_poles);
  csv_roots(out, "zeros", l->zeros, l->n_zeros);
  for (int32_t i = 0; i < l->n_models; i++) csv_one(out, l->model_names[i], l->models[i], &begun);
}

//------------------------------------ MAT ------------------------------------

static void mat_header(FILE* out, const char* prefix, const char* name, int32_t type, int32_t rows,
                       int32_t columns) {
  char full[128];
  snprintf(full, sizeof full, "%s%s", prefix, name);
  const int32_t order = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1000 : 0;
  const cpli_mat_header h = {order + type, rows, columns, 0, (int32_t)strlen(full) + 1};
  fwrite(&h, sizeof h, 1, out);
  fwrite(full, 1, strlen(full) + 1, out);
}

static void mat_numbers(FILE* out, const char* prefix, const char* name, const double* values,
                        int32_t rows, int32_t columns) {
  mat_header(out, prefix, name, CPLI_MAT_DOUBLE, rows, columns);
  for (size_t i = 0; i < (size_t)rows * (size_t)columns; i++) {
    double value = values[i] == 0 ? 0 : values[i];
    fwrite(&value, sizeof value, 1, out);
  }
}

// One name per row, padded with blanks.
static void mat_names(FILE* out, const char* prefix, const char* name, const char* const* names,
                      int32_t n) {
  size_t longest = 0;
  for (int32_t i = 0; i < n; i++) {
    if (strlen(names[i]) > longest) longest = strlen(names[i]);
  }
  mat_header(out, prefix, name, CPLI_MAT_TEXT, n, (int32_t)longest);
  for (size_t k = 0; k < longest; k++) {
    for (int32_t i = 0; i < n; i++) fputc(k < strlen(names[i]) ? names[i][k] : ' ', out);
  }
}

static void mat_one(FILE* out, const char* prefix, const cpl_linear* l) {
  for (int i = 0; i < 4; i++) {
    block b = block_at(l, i);
    char name[2] = {b.letter, '\0'};
    mat_numbers(out, prefix, name, b.values, b.n_rows, b.n_columns);
  }
  mat_names(out, prefix, "states", l->states, l->n_states);
  mat_names(out, prefix, "inputs", l->inputs, l->n_inputs);
  mat_names(out, prefix, "outputs", l->outputs, l->n_outputs);
  mat_numbers(out, prefix, "x", l->x, l->n_states, 1);
  mat_numbers(out, prefix, "dx", l->dx, l->n_states, 1);
  mat_numbers(out, prefix, "u", l->u, l->n_inputs, 1);
  mat_numbers(out, prefix, "y", l->y, l->n_outputs, 1);
}

// Real parts in the first column, imaginary parts in the second.
static void mat_roots(FILE* out, const char* name, const cpl_root* roots, int32_t n) {
  if (n < 0) return;
  mat_header(out, "", name, CPLI_MAT_DOUBLE, n, 2);
  for (int32_t i = 0; i < n; i++) fwrite(&roots[i].re, sizeof(double), 1, out);
  for (int32_t i = 0; i < n; i++) fwrite(&roots[i].im, sizeof(double), 1, out);
}

void linearize_mat(FILE* out, const linearized* l) {
  mat_numbers(out, "", "time", &l->time, 1, 1);
  mat_one(out, "", l->whole);
  if (l->reduced != NULL)
    mat_numbers(out, "", "hankel", l->reduced->hankel, l->reduced->n_hankel, 1);
  mat_roots(out, "poles", l->poles, l->n_poles);
  mat_roots(out, "zeros", l->zeros, l->n_zeros);
  for (int32_t i = 0; i < l->n_models; i++) {  // names of variables: letters, digits, underscores
    char prefix[64];
    int n = snprintf(prefix, sizeof prefix - 1, "%s", l->model_names[i]);
    if (n > (int)sizeof prefix - 2) n = (int)sizeof prefix - 2;
    for (int k = 0; k < n; k++) {
      if (!isalnum((unsigned char)prefix[k])) prefix[k] = '_';
    }
    if (n > 0 && isdigit((unsigned char)prefix[0])) prefix[0] = '_';
    prefix[n] = '_';
    prefix[n + 1] = '\0';
    mat_one(out, prefix, l->models[i]);
  }
}
