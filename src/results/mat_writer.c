// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Results in the trajectory format of Modelica tools: six matrices in a MAT file of level 4.
//
//   Aclass       what it is; "binTrans": a column of data_2 is a point in time, so that rows of
//   ours
//                are appended to the file as they come
//   name         names of all variables, time first, one a column, padded with zeros
//   description  "text [unit]" likewise
//   dataInfo     per variable: data_1 or data_2 (0: both, time), its row there, linear, held
//   outside data_1       constants, at the first and at the last time data_2       the others; its
//   number of columns in the header is mended after every flush
#include <assert.h>
#include <math.h>

#include "format/mat4.h"
#include "format/source_loc.h"
#include "results/writer.h"

enum { VARYING, CONSTANT, LEFT_OUT };

typedef struct mat {
  uint8_t* kind;      // of each column
  double* constants;  // time, then the constants: one column of data_1
  size_t n_constants, n_varying;
  double last_time;
  off_t data_1, data_2;  // where their numbers begin
  off_t data_2_columns;  // where the number of columns stands
  size_t longest_name, longest_description;
} mat;

static const char time_name[] = "time";
static const size_t max_description = 255;  // one long text would widen the column of everyone

static mat* mat_of(cpl_results* res) { return res->format; }

//------------------------------------ header ------------------------------------

static cpl_status emit(cpl_results* res, const void* bytes, size_t n) {
  return cpli_results_put(res, bytes, n) ? CPL_OK : res->failed;
}

static off_t position(const cpl_results* res) { return res->file_size + (off_t)res->used; }

static cpl_status header(cpl_results* res, const char* name, int32_t type, size_t rows,
                         size_t columns) {
  const int32_t len = (int32_t)strlen(name) + 1;
  const int32_t big_endian = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 1000 : 0;
  if (rows > INT32_MAX || columns > INT32_MAX || rows * columns > INT32_MAX) {
    return cpli_fail_file(res->ctx, CPL_ERR_UNSUPPORTED, res->path,
                          "too many or too long names for a MAT file; write CSV");
  }
  const cpli_mat_header h = {big_endian + type, (int32_t)rows, (int32_t)columns, 0, len};
  cpl_status st = emit(res, &h, sizeof h);
  return st < 0 ? st : emit(res, name, (size_t)len);
}

// The class is a matrix of four rows, so that its columns are written.
static cpl_status write_class(cpl_results* res) {
  static const char rows[4][12] = {"Atrajectory", "1.1        ", "           ", "binTrans   "};
  char text[44];
  for (size_t i = 0; i < sizeof text; i++) text[i] = rows[i % 4][i / 4];
  cpl_status st = header(res, "Aclass", CPLI_MAT_TEXT, 4, 11);
  return st < 0 ? st : emit(res, text, sizeof text);
}

// A text cut so that no UTF-8 character is halved.
static size_t cut(const char* text, size_t limit) {
  size_t n = strnlen(text, limit + 1);
  if (n <= limit) return n;
  for (n = limit; n > 0 && ((unsigned char)text[n] & 0xC0) == 0x80; n--) {
  }
  return n;
}

// "text [unit]" into `out` of `size` zeroed bytes, or only measured when it is NULL.
static size_t describe(const char* text, const char* unit, char* out) {
  const size_t n = cut(text, max_description);
  if (out != NULL) memcpy(out, text, n);
  if (unit == NULL || unit[0] == '\0') return n;
  const size_t start = n > 0 ? n + 1 : 0, m = cut(unit, 40);
  if (out != NULL) {
    if (n > 0) out[n] = ' ';
    out[start] = '[';
    memcpy(out + start + 1, unit, m);
    out[start + 1 + m] = ']';
  }
  return start + m + 2;
}

static cpl_status write_names(cpl_results* res, const cpl_column* columns, size_t n, char* line) {
  const size_t width = mat_of(res)->longest_name;
  cpl_status st = header(res, "name", CPLI_MAT_TEXT, width, n);
  memset(line, 0, width);
  memcpy(line, time_name, strlen(time_name));
  if (st >= 0) st = emit(res, line, width);
  for (size_t i = 0; i < res->n_columns && st >= 0; i++) {
    if (mat_of(res)->kind[i] == LEFT_OUT) continue;
    memset(line, 0, width);
    memcpy(line, columns[i].name, strlen(columns[i].name));
    st = emit(res, line, width);
  }
  return st;
}

static cpl_status write_descriptions(cpl_results* res, const char* time_text,
                                     const cpl_column* columns, size_t n, char* line) {
  const size_t width = mat_of(res)->longest_description;
  cpl_status st = header(res, "description", CPLI_MAT_TEXT, width, n);
  memset(line, 0, width);
  describe(time_text, "s", line);
  if (st >= 0) st = emit(res, line, width);
  for (size_t i = 0; i < res->n_columns && st >= 0; i++) {
    if (mat_of(res)->kind[i] == LEFT_OUT) continue;
    memset(line, 0, width);
    describe(columns[i].description, columns[i].unit, line);
    st = emit(res, line, width);
  }
  return st;
}

static cpl_status write_info(cpl_results* res, size_t n) {
  cpl_status st = header(res, "dataInfo", CPLI_MAT_INT32, 4, n);
  const int32_t time[4] = {0, 1, 0, -1};
  if (st >= 0) st = emit(res, time, sizeof time);
  int32_t next[2] = {2, 2};  // row in data_2 and data_1
  for (size_t i = 0; i < res->n_columns && st >= 0; i++) {
    const uint8_t kind = mat_of(res)->kind[i];
    if (kind == LEFT_OUT) continue;
    const int32_t info[4] = {kind == CONSTANT ? 1 : 2, next[kind]++, 0, -1};
    st = emit(res, info, sizeof info);
  }
  return st;
}

static cpl_status write_data(cpl_results* res) {
  mat* m = mat_of(res);
  const size_t bytes = (m->n_constants + 1) * sizeof(double);
  cpl_status st = header(res, "data_1", CPLI_MAT_DOUBLE, m->n_constants + 1, 2);
  m->data_1 = position(res);
  // not known before the first row
  for (size_t i = 0; i <= m->n_constants; i++) m->constants[i] = (double)NAN;
  for (int i = 0; i < 2 && st >= 0; i++) st = emit(res, m->constants, bytes);
  if (st < 0) return st;
  m->data_2_columns = position(res) + (off_t)offsetof(cpli_mat_header, columns);
  st = header(res, "data_2", CPLI_MAT_DOUBLE, m->n_varying + 1, 0);
  m->data_2 = position(res);
  return st;
}

//------------------------------------ operations ------------------------------------

// Sort the columns and measure their texts.
static cpl_status plan(cpl_results* res, const cpl_column* columns, const char* time_text) {
  mat* m = mat_of(res);
  m->longest_name = strlen(time_name);
  m->longest_description = describe(time_text, "s", NULL);
  for (size_t i = 0; i < res->n_columns; i++) {
    if (columns[i].type == CPL_STRING) {
      m->kind[i] = LEFT_OUT;
      cpl_log(res->ctx, CPL_LOG_WARNING, res->path, "%s is a String, which MAT files cannot hold",
              columns[i].name);
      continue;
    }
    m->kind[i] = columns[i].constant ? CONSTANT : VARYING;
    m->n_constants += columns[i].constant;
    m->n_varying += !columns[i].constant;
    const size_t name = strlen(columns[i].name);
    const size_t text = describe(columns[i].description, columns[i].unit, NULL);
    if (name > m->longest_name) m->longest_name = name;
    if (text > m->longest_description) m->longest_description = text;
  }
  m->constants = cpli_alloc(res->ctx, m->n_constants + 1, sizeof(double));
  return m->constants != NULL ? CPL_OK : cpli_nomem(res->ctx);
}

static cpl_status mat_begin(cpl_results* res, const cpl_results_def* def,
                            const cpl_column* columns) {
  mat* m = res->format = cpli_alloc(res->ctx, 1, sizeof *m);
  if (m == NULL) return cpli_nomem(res->ctx);
  m->kind = cpli_alloc(res->ctx, res->n_columns, sizeof *m->kind);
  if (m->kind == NULL) return cpli_nomem(res->ctx);
  const bool comment = def->comment != NULL && def->comment[0] != '\0';
  char* text = cpli_printf(res->ctx, "Simulation time%s%s [s]", comment ? ": " : "",
                           comment ? def->comment : "");
  char* line = NULL;
  cpl_status st = text != NULL ? plan(res, columns, text) : cpli_nomem(res->ctx);
  if (st < 0) goto done;
  line = cpli_alloc(res->ctx, m->longest_name + m->longest_description, 1);
  if (line == NULL) {
    st = cpli_nomem(res->ctx);
    goto done;
  }
  const size_t n = 1 + m->n_constants + m->n_varying;
  st = write_class(res);
  if (st >= 0) st = write_names(res, columns, n, line);
  if (st >= 0) st = write_descriptions(res, text, columns, n, line);
  if (st >= 0) st = write_info(res, n);
  if (st >= 0) st = write_data(res);
done:
  cpli_free(res->ctx, line);
  cpli_free(res->ctx, text);
  return st;
}

static void mat_end(cpl_results* res) {
  mat* m = mat_of(res);
  if (m == NULL) return;
  cpli_free(res->ctx, m->constants);
  cpli_free(res->ctx, m->kind);
  cpli_free(res->ctx, m);
}

static double number(const cpl_results* res, size_t i, const cpl_value* values) {
  if (res->types[i] == CPL_REAL) return values[i].real;
  return res->is_unsigned[i] ? (double)(uint64_t)values[i].integer : (double)values[i].integer;
}

static cpl_status write_constants(cpl_results* res, double t, const cpl_value* values) {
  mat* m = mat_of(res);
  size_t n = 0;
  m->constants[n++] = t;
  for (size_t i = 0; i < res->n_columns; i++) {
    if (m->kind[i] == CONSTANT) m->constants[n++] = number(res, i, values);
  }
  cpl_status st = cpli_results_patch(res, m->data_1, m->constants, n * sizeof(double));
  if (st < 0) return st;
  return cpli_results_patch(res, m->data_1 + (off_t)(n * sizeof(double)), m->constants,
                            n * sizeof(double));
}

static cpl_status mat_row(cpl_results* res, double t, const cpl_value* values) {
  mat* m = mat_of(res);
  if (res->rows == 0) {
    cpl_status st = write_constants(res, t, values);
    if (st < 0) return st;
  }
  char* p = cpli_results_room(res, sizeof t);
  if (p == NULL) return res->failed;
  memcpy(p, &t, sizeof t);
  res->used += sizeof t;
  for (size_t i = 0; i < res->n_columns; i++) {
    if (m->kind[i] != VARYING) continue;
    const double v = number(res, i, values);
    p = cpli_results_room(res, sizeof v);
    if (p == NULL) return res->failed;
    memcpy(p, &v, sizeof v);
    res->used += sizeof v;
  }
  m->last_time = t;
  return CPL_OK;
}

// The rows are in the file: count them.
static cpl_status mat_appended(cpl_results* res) {
  mat* m = mat_of(res);
  const off_t row = (off_t)((m->n_varying + 1) * sizeof(double));
  const off_t rows = (res->file_size - m->data_2) / row;
  assert(res->file_size >= m->data_2 && (res->file_size - m->data_2) % row == 0);
  if (rows > INT32_MAX) {
    res->failed = cpli_fail_file(res->ctx, CPL_ERR_UNSUPPORTED, res->path,
                                 "a MAT file holds at most 2147483647 rows");
    return res->failed;
  }
  const int32_t count = (int32_t)rows;
  cpl_status st = cpli_results_patch(res, m->data_2_columns, &count, sizeof count);
  if (st < 0) return st;
  const off_t stop = m->data_1 + (off_t)((m->n_constants + 1) * sizeof(double));
  return cpli_results_patch(res, stop, &m->last_time, sizeof m->last_time);
}

// Of the file that is continued.
static void mat_resumed(cpl_results* res, const cpl_results_mark* mark, char* header) {
  mat* m = mat_of(res);
  const int32_t count = (int32_t)mark->rows;
  const off_t stop = m->data_1 + (off_t)((m->n_constants + 1) * sizeof(double));
  m->last_time = mark->last_time;
  memcpy(header + m->data_2_columns, &count, sizeof count);
  memcpy(header + stop, &mark->last_time, sizeof mark->last_time);
}

const cpli_writer_ops cpli_mat_writer = {.ending = ".mat",
                                         .needs_seek = true,
                                         .begin = mat_begin,
                                         .row = mat_row,
                                         .end = mat_end,
                                         .appended = mat_appended,
                                         .resumed = mat_resumed};
