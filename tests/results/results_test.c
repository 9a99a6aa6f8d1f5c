// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "couplet/results.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static const cpl_column columns[] = {
    {.name = "ball.h", .unit = "m", .description = "height", .type = CPL_REAL},
    {.name = "der(\"a\",b)", .unit = NULL, .description = "", .type = CPL_REAL},
    {.name = "n", .unit = "", .description = "count", .type = CPL_INTEGER},
    {.name = "on", .unit = NULL, .description = "", .type = CPL_BOOLEAN},
    {.name = "text", .unit = NULL, .description = "", .type = CPL_STRING},
    {.name = "g", .unit = "m/s2", .description = "", .type = CPL_REAL, .constant = true},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };

static cpl_status record(cpl_results* res, double t, double h, const char* text) {
  const cpl_value values[N_COLUMNS] = {
      {.real = h},    {.real = -0.1},   {.integer = -7},
      {.integer = 1}, {.string = text}, {.real = 9.81},
  };
  return cpl_results_record(res, t, values);
}

static cpl_results* open_file(cpl_context* ctx, const char* path) {
  cpl_results_def def = cpl_default_results_def();
  def.path = path;
  cpl_results* res;
  CHECK_OK(ctx, cpl_results_open(ctx, &def, columns, N_COLUMNS, &res));
  return res;
}

static void check_file(const char* path, const char* expected) {
  static char text[4096];
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, sizeof text - 1, f)] = '\0';
  fclose(f);
  CHECK_STR(text, expected);
}

static cpl_table* read_back(cpl_context* ctx, const char* path) {
  cpl_table* t;
  CHECK_OK(ctx, cpl_results_read(ctx, path, &t));
  return t;
}

static double at(const cpl_table* t, const char* name, size_t row) {
  ptrdiff_t i = cpl_table_find(t, name);
  if (i < 0) fail_msg("no column %s", name);
  return t->values[(size_t)i * t->n_rows + row];
}

//------------------------------------ formats ------------------------------------

static void csv_is_exact_and_quoted(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results* res = open_file(ctx, "a.csv");
  CHECK_OK(ctx, record(res, 0, 0.1, "say \"hi\", you"));
  CHECK_OK(ctx, record(res, 0.5, (double)NAN, NULL));
  CHECK_OK(ctx, record(res, 0.5, (double)-INFINITY, ""));
  CHECK_OK(ctx, cpl_results_close(res));
  check_file("a.csv",
             "time,ball.h,\"der(\"\"a\"\",b)\",n,on,text,g\n"
             "0,0.1,-0.1,-7,1,\"say \"\"hi\"\", you\",9.81\n"
             "0.5,nan,-0.1,-7,1,,9.81\n"
             "0.5,-inf,-0.1,-7,1,\"\",9.81\n");
  cpl_table* t = read_back(ctx, "a.csv");
  CHECK_INT(t->n_rows, 3);
  CHECK_INT(t->n_columns, 5);  // without the text
  CHECK(at(t, "ball.h", 0) == 0.1 && isnan(at(t, "ball.h", 1)));
  CHECK(at(t, "der(\"a\",b)", 2) == -0.1);
  CHECK(at(t, "g", 2) == 9.81);
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

static void csv_names_may_have_units(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results_def def = cpl_default_results_def();
  def.path = "units.csv";
  def.units = true;
  cpl_results* res;
  CHECK_OK(ctx, cpl_results_open(ctx, &def, columns, 3, &res));
  CHECK_OK(ctx, record(res, 0, 1, NULL));
  CHECK_OK(ctx, cpl_results_close(res));
  check_file("units.csv", "time [s],ball.h [m],\"der(\"\"a\"\",b)\",n\n0,1,-0.1,-7\n");
  cpl_table* t = read_back(ctx, "units.csv");
  CHECK_STR(t->names[0], "ball.h");
  CHECK_STR(t->units[0], "m");
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

static void mat_reads_back(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results* res = open_file(ctx, "a.MAT");
  for (int i = 0; i < 50000; i++) CHECK_OK(ctx, record(res, i * 0.01, i * 0.3, "x"));
  CHECK_OK(ctx, record(res, 500, (double)NAN, "x"));
  CHECK_OK(ctx, cpl_results_close(res));
  cpl_table* t = read_back(ctx, "a.MAT");
  CHECK_INT(t->n_rows, 50001);
  CHECK_INT(t->n_columns, 5);
  for (size_t i = 0; i < 50000; i++) {
    CHECK(t->time[i] == (double)i * 0.01 && at(t, "ball.h", i) == (double)i * 0.3);
  }
  CHECK(isnan(at(t, "ball.h", 50000)));
  CHECK(at(t, "n", 7) == -7 && at(t, "on", 7) == 1 && at(t, "g", 50000) == 9.81);
  CHECK_STR(t->units[0], "m");
  CHECK_STR(t->units[cpl_table_find(t, "g")], "m/s2");
  CHECK(t->units[cpl_table_find(t, "n")] == NULL);
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

// The bytes other tools look for.
static void mat_has_the_layout_of_modelica_tools(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results* res = open_file(ctx, "layout.mat");
  CHECK_OK(ctx, record(res, 2, 3, ""));
  CHECK_OK(ctx, record(res, 4, 5, ""));
  CHECK_OK(ctx, cpl_results_close(res));
  static unsigned char f[4096];
  FILE* file = fopen("layout.mat", "rb");
  size_t len = fread(f, 1, sizeof f, file);
  fclose(file);
  const int32_t class_header[] = {51, 4, 11, 0, 7};
  assert_memory_equal(f, class_header, 20);
  assert_memory_equal(f + 20, "Aclass\0A1 bt. ir1 na  Tj  re  ac  nt  so   r   y   ", 51);
  const int32_t name_header[] = {51, 10, 6, 0, 5};
  assert_memory_equal(f + 71, name_header, 20);
  assert_memory_equal(f + 91, "name\0time\0\0\0\0\0\0ball.h\0\0\0\0der(\"a\",b)", 35);
  // data_1: time and g at the beginning and end; data_2: five rows, two points
  const double data_1[] = {2, 9.81, 4, 9.81}, data_2[] = {2, 3, -0.1, -7, 1, 4, 5, -0.1, -7, 1};
  const int32_t data_2_header[] = {0, 5, 2, 0, 7};
  assert_memory_equal(f + len - 80, data_2, 80);
  assert_memory_equal(f + len - 87, "data_2", 7);
  assert_memory_equal(f + len - 107, data_2_header, 20);
  assert_memory_equal(f + len - 139, data_1, 32);
  cpl_context_destroy(ctx);
}

static void count_warnings(void* user, cpl_log_level level, const char* who, const char* text) {
  CHECK_INT(level, CPL_LOG_WARNING);
  CHECK_STR(who, "w.mat");
  CHECK_CONTAINS(text, "text is a String");
  ++*(int*)user;
}

static void mat_warns_of_strings(void** state) {
  (void)state;
  int warnings = 0;
  cpl_context_def def = cpl_default_context_def();
  def.log = count_warnings;
  def.user = &warnings;
  cpl_context* ctx = cpl_context_create(&def);
  CHECK_OK(ctx, cpl_results_close(open_file(ctx, "w.mat")));
  CHECK_INT(warnings, 1);
  cpl_table* t = read_back(ctx, "w.mat");  // no rows, and still whole
  CHECK_INT(t->n_rows, 0);
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

static void rows_longer_than_the_buffer(void** state) {
  (void)state;
  enum { N = 40000 };
  static cpl_column many[N];
  static cpl_value values[N];
  static char names[N][16];
  static char long_text[600001];
  memset(long_text, '"', sizeof long_text - 1);
  for (int i = 0; i < N; i++) {
    snprintf(names[i], sizeof names[i], "v%d", i);
    many[i] = (cpl_column){.name = names[i], .description = "", .type = CPL_REAL};
  }
  cpl_context* ctx = test_context();
  static const char* const paths[] = {"long.csv", "long.mat"};
  for (int k = 0; k < 2; k++) {
    many[1].type = k == 0 ? CPL_STRING : CPL_REAL;
    cpl_results_def def = {.size = sizeof def, .path = paths[k]};
    cpl_results* res;
    CHECK_OK(ctx, cpl_results_open(ctx, &def, many, N, &res));
    for (int row = 0; row < 5; row++) {
      for (int i = 0; i < N; i++) values[i].real = row + i * 1e-6;
      if (k == 0) values[1].string = long_text;
      CHECK_OK(ctx, cpl_results_record(res, row, values));
    }
    CHECK_OK(ctx, cpl_results_close(res));
    cpl_table* t = read_back(ctx, paths[k]);
    CHECK_INT(t->n_rows, 5);
    CHECK_INT(t->n_columns, N - (k == 0));
    CHECK(at(t, "v39999", 4) == 4 + 39999 * 1e-6);
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

//------------------------------------ interruption and failure ------------------------------------

static void an_interrupted_writer_leaves_a_readable_file(void** state) {
  (void)state;
  static const char* const paths[] = {"cut.csv", "cut.mat"};
  for (int k = 0; k < 2; k++) {
    pid_t pid = fork();
    if (pid == 0) {
      cpl_context* ctx = test_context();
      cpl_results* res = open_file(ctx, paths[k]);
      for (int i = 0; i < 30000; i++) record(res, i, i, "x");
      kill(getpid(), SIGKILL);
    }
    int status;
    waitpid(pid, &status, 0);
    CHECK(WIFSIGNALED(status));
    cpl_context* ctx = test_context();
    cpl_table* t = read_back(ctx, paths[k]);
    CHECK(t->n_rows > 10000 && t->n_rows <= 30000);
    for (size_t i = 0; i < t->n_rows; i++) CHECK(at(t, "ball.h", i) == (double)i);
    cpl_table_destroy(t);
    cpl_context_destroy(ctx);
  }
}

static void the_first_row_and_flushed_rows_are_there(void** state) {
  (void)state;
  static const char* const paths[] = {"now.csv", "now.mat"};
  cpl_context* ctx = test_context();
  for (int k = 0; k < 2; k++) {
    unlink(paths[k]);
    cpl_results* res = open_file(ctx, paths[k]);
    for (size_t n = 1; n < 4; n++) {
      CHECK_OK(ctx, record(res, (double)n, 1, ""));
      if (n > 1) CHECK_OK(ctx, cpl_results_flush(res));
      cpl_table* t = read_back(ctx, paths[k]);
      CHECK_INT(t->n_rows, n);
      cpl_table_destroy(t);
    }
    usleep(600 * 1000);
    CHECK_OK(ctx, record(res, 9, 1, ""));  // half a second has passed
    cpl_table* t = read_back(ctx, paths[k]);
    CHECK_INT(t->n_rows, 4);
    cpl_table_destroy(t);
    CHECK_OK(ctx, cpl_results_close(res));
  }
  cpl_context_destroy(ctx);
}

// A limit on file size fails like a full disk: some bytes are written, then none.
static void a_full_disk_leaves_whole_rows(void** state) {
  (void)state;
  signal(SIGXFSZ, SIG_IGN);
  static const char* const paths[] = {"full.csv", "full.mat"};
  cpl_context* ctx = test_context();
  for (int k = 0; k < 2; k++) {
    cpl_results* res = open_file(ctx, paths[k]);
    struct rlimit old, small;
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = 300001;
    setrlimit(RLIMIT_FSIZE, &small);
    cpl_status st = CPL_OK;
    for (int i = 0; i < 1000000 && st >= 0; i++) st = record(res, i, i, "x");
    CHECK_INT(st, CPL_ERR_IO);
    CHECK_INT(record(res, 1e9, 0, ""), CPL_ERR_IO);  // and stays so
    CHECK_INT(cpl_results_flush(res), CPL_ERR_IO);
    CHECK_INT(cpl_results_close(res), CPL_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &old);
    CHECK_CONTAINS(cpl_context_error(ctx), paths[k]);
    CHECK_CONTAINS(cpl_context_error(ctx), "File too large");
    cpl_table* t = read_back(ctx, paths[k]);
    CHECK(t->n_rows > 1000);
    for (size_t i = 0; i < t->n_rows; i++) CHECK(at(t, "ball.h", i) == (double)i);
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

static void fails_to_open(cpl_context* ctx, const char* path, cpl_status expected,
                          const char* message) {
  cpl_results_def def = {.size = sizeof def, .path = path};
  cpl_results* res = (cpl_results*)1;
  CHECK_INT(cpl_results_open(ctx, &def, columns, N_COLUMNS, &res), expected);
  CHECK(res == NULL);
  CHECK_STR(cpl_context_error(ctx), message);
}

static void says_why_a_file_cannot_be_made(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  mkdir("dir.csv", 0777);
  unlink("dev.csv");
  unlink("dev.mat");
  unlink("fifo.mat");
  assert_int_equal(symlink("/dev/full", "dev.csv"), 0);
  assert_int_equal(symlink("/dev/full", "dev.mat"), 0);
  assert_int_equal(mkfifo("fifo.mat", 0666), 0);
  fails_to_open(ctx, "out.txt", CPL_ERR_INPUT,
                "out.txt: results are written to files that end in .csv or .mat");
  fails_to_open(ctx, "dir.csv", CPL_ERR_INPUT, "dir.csv: cannot be written: Is a directory");
  fails_to_open(ctx, "no/such/dir.mat", CPL_ERR_INPUT,
                "no/such/dir.mat: cannot be written: No such file or directory");
  fails_to_open(ctx, "dev.csv", CPL_ERR_IO, "dev.csv: cannot be written: No space left on device");
  fails_to_open(ctx, "dev.mat", CPL_ERR_IO, "dev.mat: cannot be written: No space left on device");
  int reader = open("fifo.mat", O_RDONLY | O_NONBLOCK);
  fails_to_open(ctx, "fifo.mat", CPL_ERR_INPUT, "fifo.mat: cannot be written: Illegal seek");
  close(reader);
  CHECK_OK(ctx, cpl_results_close(NULL));
  cpl_context_destroy(ctx);
}

// Standard output is swapped for a pipe for as long as `res` lives.
static void writes_to_standard_output(void** state) {
  (void)state;
  signal(SIGPIPE, SIG_IGN);
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  dup2(ends[1], STDOUT_FILENO);
  close(ends[1]);
  cpl_context* ctx = test_context();
  cpl_results_def def = cpl_default_results_def();
  cpl_results* res = NULL;
  cpl_status opened = cpl_results_open(ctx, &def, columns, 1, &res);
  cpl_status first = opened < 0 ? opened : record(res, 1, 2, NULL);
  char text[64] = "";
  ssize_t n = read(ends[0], text, sizeof text - 1);
  close(ends[0]);
  cpl_status flushed = record(res, 2, 3, NULL);
  if (flushed >= 0) flushed = cpl_results_flush(res);
  cpl_results_close(res);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  CHECK_INT(opened, CPL_OK);
  CHECK_INT(first, CPL_OK);
  CHECK(n > 0);
  CHECK_STR(text, "time,ball.h\n1,2\n");
  CHECK_INT(flushed, CPL_ERR_IO);
  CHECK_STR(cpl_context_error(ctx), "standard output: cannot be written: Broken pipe");
  cpl_context_destroy(ctx);
}

static void survives_failed_allocations(void** state) {
  (void)state;
  static const char* const paths[] = {"heap.csv", "heap.mat"};
  for (int k = 0; k < 2; k++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = n};
      cpl_context* ctx = test_context_with_heap(&heap);
      cpl_status st = CPL_ERR_NOMEM;
      if (ctx != NULL) {
        cpl_results_def def = {.size = sizeof def, .path = paths[k]};
        cpl_results* res = NULL;
        cpl_table* t = NULL;
        st = cpl_results_open(ctx, &def, columns, N_COLUMNS, &res);
        const long calls = heap.calls;
        if (st >= 0) st = record(res, 0, 1, "x");
        if (st >= 0) st = record(res, 1, 1, "x");
        CHECK_INT(heap.calls, calls);  // recording allocates nothing
        cpl_results_close(res);
        if (st >= 0) st = cpl_results_read(ctx, paths[k], &t);
        cpl_table_destroy(t);
        cpl_context_destroy(ctx);
      }
      CHECK_INT(heap.live, 0);
      if (st == CPL_OK) break;
      CHECK_INT(st, CPL_ERR_NOMEM);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(csv_is_exact_and_quoted),
      cmocka_unit_test(csv_names_may_have_units),
      cmocka_unit_test(mat_reads_back),
      cmocka_unit_test(mat_has_the_layout_of_modelica_tools),
      cmocka_unit_test(mat_warns_of_strings),
      cmocka_unit_test(rows_longer_than_the_buffer),
      cmocka_unit_test(an_interrupted_writer_leaves_a_readable_file),
      cmocka_unit_test(the_first_row_and_flushed_rows_are_there),
      cmocka_unit_test(a_full_disk_leaves_whole_rows),
      cmocka_unit_test(says_why_a_file_cannot_be_made),
      cmocka_unit_test(writes_to_standard_output),
      cmocka_unit_test(survives_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
