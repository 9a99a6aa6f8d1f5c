// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/mat4.h"
#include "testing.h"

static const char path[] = "read.mat";

static void put_matrix(FILE* f, const char* name, int32_t type, int32_t rows, int32_t columns,
                       const void* data, size_t bytes) {
  const cpli_mat_header h = {type, rows, columns, 0, (int32_t)strlen(name) + 1};
  fwrite(&h, sizeof h, 1, f);
  fwrite(name, strlen(name) + 1, 1, f);
  fwrite(data, bytes, 1, f);
}

// As Dymola saves a file: rows are points in time, floats, blanks as padding, negated aliases.
static void write_normal(const char* class_, const int32_t info[16]) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  put_matrix(f, "Aclass", CPLI_MAT_TEXT, 4, 11, class_, 44);
  put_matrix(f, "name", CPLI_MAT_TEXT, 4, 4, "Ttgmi   m   e   ", 16);
  put_matrix(f, "description", CPLI_MAT_TEXT, 4, 5, "[[ rasm  ]| ]  m    ]", 20);
  put_matrix(f, "dataInfo", CPLI_MAT_INT32, 4, 4, info, 64);
  const double data_1[] = {0, 1, 9.5, 9.5};
  put_matrix(f, "data_1", CPLI_MAT_DOUBLE, 2, 2, data_1, sizeof data_1);
  const float data_2[] = {0, 1, 1, 5, 6, 7};
  put_matrix(f, "data_2", CPLI_MAT_FLOAT, 3, 2, data_2, sizeof data_2);
  fclose(f);
}

static const char normal_class[] = "A1 bt. ir1 na  Nj  oe  rc  mt  ao  lr   y   ";
static const int32_t good_info[16] = {0, 2, 1, 2, 1, 2, 2, -2};

static void reads_files_of_other_tools(void** state) {
  (void)state;
  write_normal(normal_class, good_info);
  cpl_context* ctx = test_context();
  cpl_table* t;
  CHECK_OK(ctx, cpl_results_read(ctx, path, &t));
  CHECK_INT(t->n_rows, 3);
  CHECK_INT(t->n_columns, 3);
  CHECK_STR(t->names[0], "t");
  CHECK_STR(t->names[1], "g");
  CHECK_STR(t->names[2], "m");
  const double values[] = {5, 6, 7, 9.5, 9.5, 9.5, -5, -6, -7};
  for (int i = 0; i < 9; i++) CHECK(t->values[i] == values[i]);
  CHECK(t->time[2] == 1);
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

static void fails(cpl_context* ctx, const char* file, const char* message) {
  cpl_table* t = (cpl_table*)1;
  CHECK_INT(cpl_results_read(ctx, file, &t), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), message);
  CHECK(t == NULL);
}

static void refuses_what_is_no_trajectory(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  fails(ctx, "result.txt", "end in .csv or .mat");
  write_normal("A1 xt. ir1 na  Nj  oe  rc  mt  ao  lr   y   ", good_info);
  fails(ctx, path, "neither binTrans nor binNormal");
  const int32_t bad_row[16] = {0, 2, 1, 2, 1, 2, 2, -3};
  write_normal(normal_class, bad_row);
  fails(ctx, path, "rows that do not exist");
  FILE* f = fopen(path, "wb");
  put_matrix(f, "x", CPLI_MAT_DOUBLE, 1, 1, "12345678", 8);
  fclose(f);
  fails(ctx, path, "it has no matrix \"Aclass\"");
  f = fopen(path, "wb");
  fputs("this is no MAT file at all", f);
  fclose(f);
  fails(ctx, path, "is not a matrix");
  cpl_context_destroy(ctx);
}

// Whatever the bytes are, nothing outside of them is read (for the sanitizers and valgrind).
static void broken_bytes_do_no_harm(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  write_normal(normal_class, good_info);
  unsigned char bytes[1024];
  FILE* f = fopen(path, "rb");
  const size_t len = fread(bytes, 1, sizeof bytes, f);
  fclose(f);
  uint32_t seed = 1;
  for (int round = 0; round < 3000; round++) {
    unsigned char copy[1024];
    memcpy(copy, bytes, len);
    for (int k = 0; k < 3; k++) {
      seed = seed * 1664525 + 1013904223;
      copy[(seed >> 8) % len] = (unsigned char)(seed >> 24);
    }
    seed = seed * 1664525 + 1013904223;
    f = fopen(path, "wb");
    fwrite(copy, 1, round % 2 != 0 ? len : (seed >> 8) % len, f);
    fclose(f);
    cpl_table* t;
    cpl_results_read(ctx, path, &t);
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

static void half_a_row_at_the_end_does_not_count(void** state) {
  (void)state;
  static const char* const texts[] = {"time,a,b\n0,1,2\n1,", "time,a,b\n0,1,2\n1,3e-",
                                      "time,a,b\n0,1,2\n-", "time,a,b\n0,1,2\n1,\"x"};
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    FILE* f = fopen("half.csv", "wb");
    fputs(texts[i], f);
    fclose(f);
    cpl_table* t;
    CHECK_OK(ctx, cpl_results_read(ctx, "half.csv", &t));
    CHECK_INT(t->n_rows, 1);
    CHECK_INT(t->n_columns, 2);
    CHECK(t->values[0] == 1 && t->values[1] == 2);
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_files_of_other_tools),
      cmocka_unit_test(refuses_what_is_no_trajectory),
      cmocka_unit_test(broken_bytes_do_no_harm),
      cmocka_unit_test(half_a_row_at_the_end_does_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
