// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "model/table.h"

#include "testing.h"

static const char path[] = "input.csv";

static void write_text(const char* text) {
  FILE* f = fopen(path, "wb");
  assert_non_null(f);
  fputs(text, f);
  fclose(f);
}

static cpl_table* read_text(cpl_context* ctx, const char* text) {
  write_text(text);
  cpl_table* table;
  CHECK_OK(ctx, cpl_table_read(ctx, path, &table));
  return table;
}

//------------------------------------ reading ------------------------------------

static void reads_columns_and_units(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_table* t = read_text(ctx,
                           "# from a bench\n\"u [V]\",\"Time [s]\",on,\"x[1,2]\",\n"
                           "1.5,0,true,-1,\n2.5,1,FALSE,1e3,\n");
  CHECK_INT(t->n_rows, 2);
  CHECK_INT(t->n_columns, 3);
  CHECK_STR(t->names[0], "u");
  CHECK_STR(t->units[0], "V");
  CHECK_STR(t->names[2], "x[1,2]");
  CHECK(t->units[2] == NULL);
  CHECK(t->time[0] == 0 && t->time[1] == 1);
  const double expected[] = {1.5, 2.5, 1, 0, -1, 1000};
  for (int i = 0; i < 6; i++) CHECK(t->values[i] == expected[i]);
  CHECK_INT(cpl_table_find(t, "on"), 1);
  CHECK_INT(cpl_table_find(t, "x[1,2]"), 2);
  CHECK_INT(cpl_table_find(t, "u [V]"), 0);
  CHECK_INT(cpl_table_find(t, "u [A]"), -1);
  CHECK_INT(cpl_table_find(t, "y"), -1);
  cpl_table_destroy(t);
  cpl_table_destroy(NULL);
  cpl_context_destroy(ctx);
}

static void refuses_bad_files(void** state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "input.csv: is empty"},
      {"t,u\n0,1\n", "input.csv:1:1: there is no column \"time\"; the columns are: t, u"},
      {"time,u\n", "input.csv: has no rows"},
      {"time,u\n0,1\n1,x\n", "input.csv:3:3: u: \"x\" is not a number"},
      {"time;u\n0;1,5\n",
       "input.csv:2:3: u: \"1,5\" is not a number (decimals have a point, no comma)"},
      {"time,u\n0,1\n1,\n", "input.csv:3:3: u has no value here"},
      {"time,u\n0,nan\n", "input.csv:2:3: u is not finite"},
      {"time,u\ninf,0\n", "input.csv:2:1: time is not finite"},
      {"time,u\n1,0\n0.5,0\n", "input.csv:3:1: time goes back from 1 to 0.5"},
      {"time,u\n1,0,3\n", "input.csv:2:5: more fields than the 2 names of the header"},
      {"time,u,v\n1,0\n", "input.csv:2:3: the row has 2 fields, the header has 3"},
      {"time,u,u\n1,0,0\n", "input.csv:1:8: there are two columns \"u\""},
      {"time,\"u\n1,0,0\n", "input.csv:1:6: the quote is not closed"},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    write_text(cases[i].text);
    cpl_table* t = (cpl_table*)1;
    CHECK_INT(cpl_table_read(ctx, path, &t), CPL_ERR_INPUT);
    CHECK_STR(cpl_context_error(ctx), cases[i].message);
    CHECK(t == NULL);
  }
  cpl_context_destroy(ctx);
}

static void checks_arrays_of_the_caller(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  double time[] = {0, 1, 2}, values[] = {1, 2, 3};
  const char* names[] = {"u"};
  cpl_table t = {3, 1, names, NULL, time, values};
  CHECK_OK(ctx, cpl_table_check(ctx, &t, "arrays"));
  values[1] = (double)NAN;
  CHECK_INT(cpl_table_check(ctx, &t, "arrays"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "arrays: row 2: u is not finite");
  time[2] = 0.5;
  CHECK_INT(cpl_table_check(ctx, &t, "arrays"), CPL_ERR_INPUT);
  CHECK_STR(cpl_context_error(ctx), "arrays: row 3: time goes back from 1 to 0.5");
  time[0] = (double)-INFINITY;
  CHECK_INT(cpl_table_check(ctx, &t, "arrays"), CPL_ERR_INPUT);
  t.n_rows = 0;
  CHECK_INT(cpl_table_check(ctx, &t, "arrays"), CPL_ERR_INPUT);
  cpl_context_destroy(ctx);
}

static void reading_survives_failed_allocations(void** state) {
  (void)state;
  write_text("time,u,v\n0,1,2\n1,2,3\n");
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = CPL_ERR_NOMEM;
    if (ctx != NULL) {
      cpl_table* t;
      st = cpl_table_read(ctx, path, &t);
      CHECK(st < 0 ? t == NULL : t != NULL);
      cpl_table_destroy(t);
      cpl_context_destroy(ctx);
    }
    CHECK_INT(heap.live, 0);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

// Whatever the file holds, nothing outside of it is read (for the sanitizers and valgrind).
static void broken_files_do_no_harm(void** state) {
  (void)state;
  static const char bits[] = "time,,;;\t\"\"\n\n\r# 0123456789.e-+\xEF[]truenan";
  cpl_context* ctx = test_context();
  uint32_t seed = 7;
  for (int round = 0; round < 2000; round++) {
    char text[128] = "time,u\n0,1\n";
    const size_t start = round % 2 != 0 ? strlen(text) : 0;
    for (size_t i = start; i < sizeof text - 1; i++) {
      seed = seed * 1664525 + 1013904223;
      text[i] = bits[(seed >> 8) % (sizeof bits - 1)];
    }
    write_text(text);
    for (int lenient = 0; lenient < 2; lenient++) {
      cpl_table* t;
      if (cpli_table_from_csv(ctx, path, lenient != 0, &t) >= 0) cpl_table_destroy(t);
    }
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ evaluation ------------------------------------

typedef struct fixture {
  cpl_context* ctx;
  cpl_table table;
  cpli_curve curve;
} fixture;

static void curve_of(fixture* f, const double* time, const double* values, size_t n, bool held) {
  f->ctx = test_context();
  f->table = (cpl_table){.n_rows = n, .n_columns = 1, .time = time, .values = values};
  CHECK_OK(f->ctx, cpli_curve_init(&f->curve, f->ctx, &f->table, 0, held, NULL));
}

static void done_with(fixture* f) {
  cpli_curve_free(&f->curve);
  cpl_context_destroy(f->ctx);
}

static void linear_between_rows_held_outside(void** state) {
  (void)state;
  static const double time[] = {0, 1, 3}, values[] = {0, 10, 0.3};
  fixture f;
  curve_of(&f, time, values, 3, false);
  cpli_cursor c = cpli_cursor_at(&f.curve, 0);
  CHECK(cpli_cursor_value(&c, -5) == 0);
  CHECK(cpli_cursor_value(&c, 0.25) == 2.5);
  CHECK(cpli_cursor_value(&c, 1) == 10);
  CHECK_NEAR(cpli_cursor_value(&c, 2), 5.15, 1e-15);
  CHECK(cpli_cursor_value(&c, 3) == 0.3);
  CHECK(cpli_cursor_value(&c, 99) == 0.3);
  CHECK(cpli_cursor_value(&c, 0.5) == 5);  // back again
  CHECK(cpli_cursor_slope(&c, 0.5) == 10);
  CHECK_NEAR(cpli_cursor_slope(&c, 1), -4.85, 1e-15);
  CHECK_NEAR(cpli_cursor_slope(&c, 3), -4.85, 1e-15);
  CHECK(cpli_cursor_slope(&c, 0) == 10);
  CHECK_NEAR(cpli_cursor_slope(&c, 1.5), -4.85, 1e-15);
  CHECK(cpli_cursor_slope(&c, 4) == 0);
  CHECK(cpli_cursor_next_jump(&c) == (double)INFINITY);
  CHECK(!cpli_cursor_pass(&c, 2));
  cpl_curve curve = cpli_curve_table(&c);
  CHECK(curve.value(curve.user, 0.75) == 7.5);
  done_with(&f);
}

static void stays_left_of_a_jump_until_it_passes(void** state) {
  (void)state;
  static const double time[] = {0, 1, 1, 2, 2, 2, 3, 3, 4};
  static const double values[] = {0, 1, 5, 6, 9, 6, 7, -7, -8};
  fixture f;
  curve_of(&f, time, values, 9, false);
  cpli_cursor c = cpli_cursor_at(&f.curve, 0);
  CHECK(cpli_cursor_next_jump(&c) == 1);
  CHECK(cpli_cursor_value(&c, 1) == 1);
  CHECK(cpli_cursor_value(&c, 1.1) == 1);  // asked too far: held
  CHECK(cpli_cursor_pass(&c, 1));
  CHECK(cpli_cursor_value(&c, 1) == 5);
  CHECK(cpli_cursor_value(&c, 0.9) == 5);
  CHECK(cpli_cursor_next_jump(&c) == 3);  // 6, 9, 6 at 2 is no jump
  CHECK(cpli_cursor_value(&c, 2) == 6);
  CHECK(cpli_cursor_value(&c, 2.5) == 6.5);
  CHECK(cpli_cursor_value(&c, 2) == 6);
  CHECK(!cpli_cursor_pass(&c, 2));
  CHECK(cpli_cursor_value(&c, 3) == 7);
  const cpli_cursor saved = c;
  CHECK(cpli_cursor_pass(&c, 3));
  CHECK(cpli_cursor_value(&c, 3) == -7);
  CHECK(cpli_cursor_next_jump(&c) == (double)INFINITY);
  c = saved;
  CHECK(cpli_cursor_value(&c, 3) == 7);
  CHECK(cpli_cursor_pass(&c, 0.5));  // rolled back over a jump
  CHECK(cpli_cursor_value(&c, 0.5) == 0.5);
  CHECK(cpli_cursor_pass(&c, 3.5));  // over two at once
  CHECK(cpli_cursor_value(&c, 3.5) == -7.5);
  c = cpli_cursor_at(&f.curve, 1);  // starts right of a jump
  CHECK(cpli_cursor_value(&c, 1) == 5);
  done_with(&f);
}

static void a_jump_in_the_first_row(void** state) {
  (void)state;
  static const double time[] = {0, 0, 1}, values[] = {0, 5, 5};
  for (int held = 0; held < 2; held++) {
    fixture f;
    curve_of(&f, time, values, 3, held != 0);
    cpli_cursor c = cpli_cursor_at(&f.curve, -1);
    CHECK(cpli_cursor_value(&c, -1) == 0);
    CHECK(cpli_cursor_next_jump(&c) == 0);
    CHECK(cpli_cursor_value(&c, 0) == 0);
    CHECK(cpli_cursor_pass(&c, 0));
    CHECK(cpli_cursor_value(&c, 0) == 5);
    c = cpli_cursor_at(&f.curve, 0);
    CHECK(cpli_cursor_value(&c, 0) == 5);
    CHECK(cpli_cursor_next_jump(&c) == (double)INFINITY);
    done_with(&f);
  }
}

static void held_columns_jump_at_every_change(void** state) {
  (void)state;
  static const double time[] = {0, 1, 2, 3, 3, 4};
  static const double values[] = {1, 1, 2, 2, 3, 3};
  fixture f;
  curve_of(&f, time, values, 6, true);
  cpli_cursor c = cpli_cursor_at(&f.curve, 0.5);
  CHECK(cpli_cursor_value(&c, 1.5) == 1);
  CHECK(cpli_cursor_next_jump(&c) == 2);
  CHECK(cpli_cursor_value(&c, 2) == 1);
  CHECK(cpli_cursor_slope(&c, 1) == 0);
  CHECK(cpli_cursor_pass(&c, 2));
  CHECK(cpli_cursor_value(&c, 2) == 2);
  CHECK(cpli_cursor_next_jump(&c) == 3);
  CHECK(cpli_cursor_pass(&c, 3));
  CHECK(cpli_cursor_value(&c, 3) == 3);
  CHECK(cpli_cursor_next_jump(&c) == (double)INFINITY);
  done_with(&f);
}

// A million rows with jumps walked through forwards: quick only when nothing is searched anew.
static void long_tables_are_walked_once(void** state) {
  (void)state;
  enum { N = 1000000 };
  double* time = malloc(N * sizeof *time);
  double* values = malloc(N * sizeof *values);
  assert_true(time != NULL && values != NULL);
  for (int i = 0; i < N; i++) {
    time[i] = (i / 2) * 0.5;
    values[i] = i % 2 != 0 ? time[i] + 1 : time[i];
  }
  for (int held = 0; held < 2; held++) {
    fixture f;
    curve_of(&f, time, values, N, held != 0);
    cpli_cursor c = cpli_cursor_at(&f.curve, -1);
    int jumps = 0;
    for (double t; isfinite(t = cpli_cursor_next_jump(&c)); jumps++) {
      cpli_cursor_pass(&c, t);
      CHECK(cpli_cursor_value(&c, t) == t + 1);
    }
    CHECK_INT(jumps, N / 2);
    done_with(&f);
  }
  free(time);
  free(values);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_columns_and_units),
      cmocka_unit_test(refuses_bad_files),
      cmocka_unit_test(checks_arrays_of_the_caller),
      cmocka_unit_test(reading_survives_failed_allocations),
      cmocka_unit_test(broken_files_do_no_harm),
      cmocka_unit_test(linear_between_rows_held_outside),
      cmocka_unit_test(stays_left_of_a_jump_until_it_passes),
      cmocka_unit_test(a_jump_in_the_first_row),
      cmocka_unit_test(held_columns_jump_at_every_change),
      cmocka_unit_test(long_tables_are_walked_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
