// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What becomes of result files when a run fails, when two runs have one file, and when a writer is
// killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "results/writer.h"
#include "testing.h"

static const cpl_column columns[] = {{.name = "a", .description = ""},
                                     {.name = "b", .description = ""}};
static const char* const endings[] = {"csv", "mat"};

static cpl_results* begin(cpl_context* ctx, const char* path) {
  cpl_results_def def = cpl_default_results_def();
  def.path = path;
  cpl_results* res = NULL;
  CHECK_OK(ctx, cpl_results_open(ctx, &def, columns, 2, &res));
  return res;
}

static cpl_status row(cpl_results* res, double t) {
  const cpl_value values[] = {{.real = 3 * t}, {.real = -t}};
  return cpl_results_record(res, t, values);
}

// A file of an earlier run, of n rows.
static void make_earlier(cpl_context* ctx, const char* path, int n) {
  unlink(path);
  cpl_results* res = begin(ctx, path);
  for (int i = 0; i < n; i++) CHECK_OK(ctx, row(res, 0.25 * i));
  CHECK_OK(ctx, cpl_results_close(res));
}

static size_t rows_of(cpl_context* ctx, const char* path) {
  cpl_table* t = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, path, &t));
  const size_t n = t->n_rows;
  for (size_t i = 0; i < n; i++) CHECK(t->values[i] == 3 * t->time[i]);
  cpl_table_destroy(t);
  return n;
}

static void a_failure_before_the_first_step_leaves_the_earlier_file(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (int k = 0; k < 2; k++) {
    char path[64];
    cpl_results_kept kept;
    snprintf(path, sizeof path, "earlier.%s", endings[k]);
    make_earlier(ctx, path, 40);
    cpl_results* res = begin(ctx, path);
    CHECK_INT(rows_of(ctx, path), 40);
    for (int i = 0; i < 3; i++) CHECK_OK(ctx, row(res, 7));  // sides of events at the start
    CHECK_INT(rows_of(ctx, path), 40);
    CHECK_OK(ctx, cpl_results_finish(res, true, &kept));
    CHECK_INT(rows_of(ctx, path), 40);
    CHECK_INT(kept.rows, 0);
    // from the first step on the rows are there at once
    res = begin(ctx, path);
    CHECK_OK(ctx, row(res, 7));
    CHECK_OK(ctx, row(res, 7));
    CHECK_OK(ctx, row(res, 7.5));
    CHECK_INT(rows_of(ctx, path), 3);
    CHECK_OK(ctx, row(res, 8));
    CHECK_OK(ctx, cpl_results_finish(res, true, &kept));
    CHECK_INT(rows_of(ctx, path), 4);
    CHECK_INT(kept.rows, 4);
    CHECK(kept.last_time == 8);
    // a run that ends where it starts
    make_earlier(ctx, path, 40);
    res = begin(ctx, path);
    CHECK_OK(ctx, row(res, 1));
    CHECK_OK(ctx, cpl_results_close(res));
    CHECK_INT(rows_of(ctx, path), 1);
  }
  cpl_context_destroy(ctx);
}

static void where_nothing_was_there_the_first_row_is_kept(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results_kept kept;
  unlink("fresh.csv");
  cpl_results* res = begin(ctx, "fresh.csv");
  CHECK_OK(ctx, row(res, 2));
  CHECK_INT(rows_of(ctx, "fresh.csv"), 1);
  CHECK_OK(ctx, cpl_results_finish(res, true, &kept));
  CHECK_INT(kept.rows, 1);
  CHECK(kept.last_time == 2);
  cpl_context_destroy(ctx);
}

static void a_second_run_into_a_file_is_refused(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_results_def def = cpl_default_results_def();
  cpl_results* second = NULL;
  def.path = "shared.csv";
  make_earlier(ctx, "shared.csv", 5);
  cpl_results* first = begin(ctx, "shared.csv");
  CHECK_INT(cpl_results_open(ctx, &def, columns, 2, &second), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "shared.csv: another run is writing its results there");
  CHECK_INT(rows_of(ctx, "shared.csv"), 5);
  for (int i = 0; i < 9; i++) CHECK_OK(ctx, row(first, i));
  CHECK_INT(cpl_results_open(ctx, &def, columns, 2, &second), CPL_ERR_INPUT);
  // under another name, too
  unlink("link.csv");
  CHECK_INT(symlink("shared.csv", "link.csv"), 0);
  def.path = "link.csv";
  CHECK_INT(cpl_results_open(ctx, &def, columns, 2, &second), CPL_ERR_INPUT);
  // a process that a model has started does not keep the file when the run is over
  int ends[2];
  CHECK_INT(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    char c;
    close(ends[1]);
    _exit(read(ends[0], &c, 1) == 0 ? 0 : 1);
  }
  close(ends[0]);
  CHECK_OK(ctx, cpl_results_close(first));
  CHECK_INT(rows_of(ctx, "shared.csv"), 9);
  CHECK_OK(ctx, cpl_results_open(ctx, &def, columns, 2, &second));
  CHECK_OK(ctx, cpl_results_close(second));
  close(ends[1]);
  CHECK_INT(waitpid(pid, NULL, 0), pid);
  cpl_context_destroy(ctx);
}

static void long_rows_are_written_whole(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  static char text[700001];
  const cpl_column strings[] = {{.name = "s", .description = "", .type = CPL_STRING},
                                {.name = "x", .description = ""}};
  cpl_results_def def = cpl_default_results_def();
  cpl_results* res = NULL;
  memset(text, 'q', sizeof text - 1);
  def.path = "long.csv";
  unlink(def.path);
  CHECK_OK(ctx, cpl_results_open(ctx, &def, strings, 2, &res));
  for (int i = 0; i < 5; i++) {
    const cpl_value values[] = {{.string = text}, {.real = i}};
    CHECK_OK(ctx, cpl_results_record(res, i, values));
    struct stat info;
    CHECK_INT(stat("long.csv", &info), 0);
    // "time,s,x" and rows "0,"...",0", of 6 characters beside the text
    CHECK_INT((info.st_size - 9) % (off_t)(sizeof text + 6), 0);
  }
  CHECK_OK(ctx, cpl_results_close(res));
  cpl_table* t = NULL;
  CHECK_OK(ctx, cpl_results_read(ctx, "long.csv", &t));
  CHECK_INT(t->n_rows, 5);
  CHECK(t->values[4] == 4);
  cpl_table_destroy(t);
  cpl_context_destroy(ctx);
}

//------------------------------------ killed writers ------------------------------------

static char said[4096];
static int n_said;

static void remember(void* user, cpl_log_level level, const char* who, const char* text) {
  (void)user;
  (void)level;
  snprintf(said, sizeof said, "%s: %s", who, text);
  n_said++;
}

static void a_last_row_that_is_cut_is_named(void** state) {
  (void)state;
  static const char whole[] = "time,a,b\n0,1.5,2.25\n0.5,-3.5,41.75\n";
  const size_t first = strlen("time,a,b\n0,1.5,2.25\n");
  cpl_context_def def = cpl_default_context_def();
  def.log = remember;
  cpl_context* ctx = cpl_context_create(&def);
  assert_non_null(ctx);
  for (size_t n = first; n < sizeof whole; n++) {
    FILE* f = fopen("cut.csv", "wb");
    fwrite(whole, 1, n, f);
    fclose(f);
    cpl_table* t = NULL;
    n_said = 0;
    CHECK_OK(ctx, cpl_results_read(ctx, "cut.csv", &t));
    const bool all = n == first || n == sizeof whole - 1;
    CHECK_INT(t->n_rows, n == sizeof whole - 1 ? 2 : 1);
    CHECK_INT(n_said, all ? 0 : 1);
    if (!all) CHECK_CONTAINS(said, "cut.csv: line 3: the last row has no line end");
    if (!all) CHECK_CONTAINS(said, "left out");
    cpl_table_destroy(t);
  }
  cpl_context_destroy(ctx);
}

// The rows of a MAT file are counted after they were written: those of the first buffer are when
// the file has grown beyond the second one.
static void a_killed_writer_leaves_what_can_be_read(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  for (int i = 0; i < 10; i++) {
    char path[64];
    snprintf(path, sizeof path, "killed.%s", endings[i % 2]);
    unlink(path);
    const pid_t pid = fork();
    if (pid == 0) {
      cpl_results* res = begin(ctx, path);
      for (int k = 0;; k++) row(res, k * 0.001);
    }
    struct stat info;
    do usleep(2000);
    while (stat(path, &info) != 0 || info.st_size < 2 * CPLI_RESULTS_BUFFER + 100000 * (1 + i));
    kill(pid, SIGKILL);
    CHECK_INT(waitpid(pid, NULL, 0), pid);
    CHECK(rows_of(ctx, path) > 1000);
    make_earlier(ctx, path, 3);  // it left no lock
  }
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_failure_before_the_first_step_leaves_the_earlier_file),
      cmocka_unit_test(where_nothing_was_there_the_first_row_is_kept),
      cmocka_unit_test(a_second_run_into_a_file_is_refused),
      cmocka_unit_test(long_rows_are_written_whole),
      cmocka_unit_test(a_last_row_that_is_cut_is_named),
      cmocka_unit_test(a_killed_writer_leaves_what_can_be_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
