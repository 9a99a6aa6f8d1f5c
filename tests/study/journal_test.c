// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The journal of a study: what was written is read, in the order of the cases; what is damaged,
// incomplete or of others counts as not done or is refused.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "study/journal.h"
#include "testing.h"

enum { N_VALUES = 2, SLOT = 24 + 8 * N_VALUES };

static const char path[] = "a.journal";
static const cpli_journal_def def = {path, 100, N_VALUES, "system: a\nover: k\n"};

// Cases whose number is a multiple of 10 fail.
static void write_case(cpl_context* ctx, cpli_journal* j, int64_t i) {
  struct {
    uint64_t checksum;
    uint32_t state, text_length;
    uint64_t text_at;
    double values[N_VALUES];
  } slot = {.state = CPLI_SLOT_DONE, .values = {(double)i, -0.5 * (double)i}};
  char record[64] = "";
  const bool fails = i % 10 == 0;
  if (fails) {
    const int n = sprintf(record + 8, "case %d failed", (int)i);
    slot.state = CPLI_SLOT_FAILED;
    slot.text_length = (uint32_t)n;
    slot.values[0] = slot.values[1] = 0;
  }
  const size_t size = fails ? cpli_text_record_size(slot.text_length) : 0;
  CHECK_OK(ctx, cpli_journal_write(j, i, 1, &slot, record, size));
}

static void check_result(const cpli_case_result* r, int64_t i) {
  char text[64];
  CHECK_INT(r->i, i);
  sprintf(text, "case %d failed", (int)i);
  if (i % 10 == 0) {
    CHECK(r->values == NULL);
    CHECK_STR(r->failure, text);
  } else {
    CHECK(r->failure == NULL && r->values[0] == (double)i && r->values[1] == -0.5 * (double)i);
  }
}

static cpli_journal* open_write(cpl_context* ctx, bool resume) {
  cpli_journal* j = NULL;
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &def, resume, &j));
  return j;
}

static void write_all(cpl_context* ctx) {
  cpli_journal* j = open_write(ctx, false);
  for (int64_t i = 0; i < def.n; i++) write_case(ctx, j, (i * 37 + 5) % def.n);  // in any order
  CHECK_OK(ctx, cpli_journal_close(j));
}

// The cases that are read are right; returns their number.
static int64_t read_all(cpl_context* ctx, bool* has) {
  cpli_journal* j = NULL;
  cpli_case_result r;
  int64_t n = 0, last = -1;
  memset(has, 0, (size_t)def.n * sizeof *has);
  CHECK_OK(ctx, cpli_journal_open_read(ctx, path, &j));
  for (;; n++) {
    CHECK_OK(ctx, cpli_journal_next(j, &r));
    if (r.i < 0) break;
    CHECK(r.i > last && r.i < def.n);
    check_result(&r, r.i);
    has[r.i] = true;
    last = r.i;
  }
  int64_t done, failed;
  CHECK_OK(ctx, cpli_journal_count(j, &done, &failed));
  CHECK_INT(done, n);
  CHECK_OK(ctx, cpli_journal_close(j));
  return n;
}

static char* load(size_t* size) {
  struct stat info;
  const int fd = open(path, O_RDONLY);
  CHECK(fd >= 0 && fstat(fd, &info) == 0);
  *size = (size_t)info.st_size;
  char* bytes = malloc(*size + 1);
  CHECK(read(fd, bytes, *size) == (ssize_t)*size);
  close(fd);
  return bytes;
}

static void store(const char* bytes, size_t size) {
  unlink(path);  // a file that is truncated and written again is flushed to the disk
  const int fd = open(path, O_WRONLY | O_CREAT, 0600);
  CHECK(fd >= 0 && write(fd, bytes, size) == (ssize_t)size);
  close(fd);
}

//------------------------------------ tests ------------------------------------

static void what_was_written_is_read_in_order(void** state) {
  bool has[100];
  unlink(path);
  write_all(*state);
  CHECK_INT(read_all(*state, has), def.n);
  cpli_journal* j = NULL;
  CHECK_OK(*state, cpli_journal_open_read(*state, path, &j));
  CHECK_STR(cpli_journal_about(j)->identity, def.identity);
  CHECK_INT(cpli_journal_about(j)->n_values, N_VALUES);
  cpli_journal_close(j);
  CHECK_OK(*state, cpli_journal_close(open_write(*state, false)));  // begins anew
  CHECK_INT(read_all(*state, has), 0);
}

// Gaps are exactly what is not done, for any pattern.
static void gaps_are_found(void** state) {
  cpl_context* ctx = *state;
  for (unsigned seed = 1; seed < 30; seed++) {
    bool done[100], gap[100] = {0};
    unlink(path);
    cpli_journal* j = open_write(ctx, false);
    srand(seed);
    for (int i = 0; i < 100; i++) {
      done[i] = rand() % 30 < (int)seed;
      if (done[i]) write_case(ctx, j, i);
    }
    cpli_journal_close(j);
    j = open_write(ctx, true);
    int64_t first, end, last = 0;
    for (;;) {
      CHECK_OK(ctx, cpli_journal_next_gap(j, &first, &end));
      if (first == end) break;
      CHECK(first >= last && end > first && end <= 100);
      for (int64_t i = first; i < end; i++) gap[i] = true;
      last = end;
    }
    for (int i = 0; i < 100; i++) CHECK(gap[i] != done[i]);
    cpli_journal_close(j);
  }
}

static void a_large_journal_is_sparse(void** state) {
  cpl_context* ctx = *state;
  const cpli_journal_def large = {"large.journal", INT64_C(1000000000), N_VALUES, "large"};
  cpli_journal* j = NULL;
  struct stat info;
  int64_t done, failed, first, end;
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &large, false, &j));
  write_case(ctx, j, 999999999);
  write_case(ctx, j, 500000000);
  CHECK_OK(ctx, cpli_journal_close(j));
  CHECK(stat(large.path, &info) == 0);
  CHECK(info.st_size >= large.n * SLOT);
  CHECK(512 * info.st_blocks < 1 << 20);
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &large, true, &j));
  CHECK_OK(ctx, cpli_journal_count(j, &done, &failed));
  CHECK_INT(done, 2);
  CHECK_INT(failed, 1);
  int64_t gaps = 0, left = 0;
  for (; gaps < 20; gaps++) {
    CHECK_OK(ctx, cpli_journal_next_gap(j, &first, &end));
    if (first == end) break;
    left += end - first;
  }
  CHECK(gaps < 20);
  CHECK_INT(left, large.n - 2);
  cpli_journal_close(j);
  unlink(large.path);
}

// Cut at any place, the rest is right, and is completed.
static void truncated_journals_go_on(void** state) {
  cpl_context* ctx = *state;
  size_t size;
  bool has[100];
  unlink(path);
  write_all(ctx);
  char* bytes = load(&size);
  for (size_t n = 0; n < size; n += 1 + n / 40) {
    store(bytes, n);
    cpli_journal* j = NULL;
    cpl_status st = cpli_journal_open_write(ctx, &def, true, &j);
    if (st < 0) {  // inside the header
      CHECK(n > 0 && n < 128);
      CHECK_INT(st, CPL_ERR_INPUT);
      CHECK_CONTAINS(cpl_context_error(ctx), "a.journal: it is no journal of a study: ");
      continue;
    }
    int64_t first, end, left = 0;
    for (;;) {
      CHECK_OK(ctx, cpli_journal_next_gap(j, &first, &end));
      for (int64_t i = first; i < end; i++, left++) write_case(ctx, j, i);
      if (first == end) break;
    }
    CHECK(left > 0);
    cpli_journal_close(j);
    CHECK_INT(read_all(ctx, has), def.n);
  }
  free(bytes);
}

// Any byte may be wrong: results are right or missing, never wrong.
static void damaged_journals_have_no_wrong_results(void** state) {
  cpl_context* ctx = *state;
  size_t size;
  bool has[100];
  unlink(path);
  write_all(ctx);
  char* bytes = load(&size);
  const int fd = open(path, O_WRONLY);
  for (size_t at = 0; at < size; at++) {
    const char damaged = (char)(bytes[at] ^ (1 << at % 8));
    CHECK(pwrite(fd, &damaged, 1, (off_t)at) == 1);
    cpli_journal* j = NULL;
    const cpl_status st = cpli_journal_open_read(ctx, path, &j);
    cpli_journal_close(j);
    if (st < 0) {
      CHECK(at < 128);
      CHECK_INT(st, CPL_ERR_INPUT);
    } else {
      const int64_t n = read_all(ctx, has);
      CHECK(n == def.n || (n == def.n - 1 && at >= 128));
    }
    CHECK(pwrite(fd, bytes + at, 1, (off_t)at) == 1);
  }
  close(fd);
  free(bytes);
}

// A slot of one case is not a result of another, nor one of another study.
static void slots_are_bound_to_their_case_and_study(void** state) {
  cpl_context* ctx = *state;
  size_t size;
  bool has[100];
  unlink(path);
  write_all(ctx);
  char* bytes = load(&size);
  const size_t slots = 128;  // header and identity
  char slot[SLOT];
  memcpy(slot, bytes + slots + 11 * SLOT, SLOT);
  memcpy(bytes + slots + 12 * SLOT, slot, SLOT);
  store(bytes, size);
  CHECK_INT(read_all(ctx, has), def.n - 1);
  CHECK(has[11] && !has[12]);
  free(bytes);
  cpli_journal* j = NULL;
  cpli_journal_def other = def;
  int64_t done, failed;
  other.path = "b.journal";
  other.identity = "system: b\nover: k\n";
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &other, false, &j));
  const int fd = open(other.path, O_WRONLY);
  CHECK(fd >= 0 && pwrite(fd, slot, SLOT, (off_t)(slots + 11 * SLOT)) == SLOT);
  close(fd);
  CHECK_OK(ctx, cpli_journal_count(j, &done, &failed));
  CHECK_INT(done, 0);
  cpli_journal_close(j);
}

static void expect_refused(cpl_context* ctx, const cpli_journal_def* d, bool resume,
                           const char* why) {
  cpli_journal* j = NULL;
  CHECK_INT(cpli_journal_open_write(ctx, d, resume, &j), CPL_ERR_INPUT);
  CHECK(j == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), why);
}

static void files_of_others_are_not_overwritten(void** state) {
  cpl_context* ctx = *state;
  cpli_journal_def d = def;
  size_t size;
  store("time,x\n0,1\n", 11);
  expect_refused(ctx, &d, false,
                 "a.journal: it is no journal of a study: it begins with something");
  expect_refused(ctx, &d, true, "it is no journal of a study");
  char* bytes = load(&size);
  CHECK(size == 11 && memcmp(bytes, "time,x\n0,1\n", 11) == 0);
  free(bytes);
  d.path = ".";
  expect_refused(ctx, &d, false, "cannot be written: Is a directory");
  d.path = "/dev/null";
  expect_refused(ctx, &d, false, "a journal has to be a regular file");
  d.path = "no/such/folder";
  expect_refused(ctx, &d, false, "cannot be written: No such file or directory");
  cpli_journal* j = NULL;
  CHECK_INT(cpli_journal_open_read(ctx, "no-such-file", &j), CPL_ERR_INPUT);
  CHECK_INT(cpli_journal_open_read(ctx, "/dev/null", &j), CPL_ERR_INPUT);
  unlink(path);
  d = def;
  d.n = INT64_MAX / 8;
  expect_refused(ctx, &d, false, "cases of 2 values is too large");
}

static void what_differs_is_named(void** state) {
  cpl_context* ctx = *state;
  cpli_journal_def d = def;
  unlink(path);
  write_all(ctx);
  d.identity = "system: a\nover: k\nseed: 7\n";
  expect_refused(ctx, &d, true, "there \"\", here \"seed: 7\"");
  d.identity = "system: a";
  expect_refused(ctx, &d, true, "there \"over: k\", here \"\"");
  d.identity = "system: ab\nover: k\n";
  expect_refused(ctx, &d, true, "there \"system: a\", here \"system: ab\"");
  d.identity = def.identity;
  d.n = 99;
  expect_refused(ctx, &d, true, "of 100 cases, while this one has 99");
}

static void every_failed_allocation_is_reported(void** state) {
  (void)state;
  unlink(path);
  for (long n = 0;; n++) {
    test_heap heap = {.fail_at = -1};
    cpl_context* ctx = test_context_with_heap(&heap);
    const long live = heap.live;
    heap.calls = 0;
    heap.fail_at = n;
    cpli_journal* j = NULL;
    cpl_status st = cpli_journal_open_write(ctx, &def, true, &j);
    cpli_journal_close(j);
    CHECK_INT(heap.live, live);
    cpl_context_destroy(ctx);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_written_is_read_in_order),
      cmocka_unit_test(gaps_are_found),
      cmocka_unit_test(a_large_journal_is_sparse),
      cmocka_unit_test(truncated_journals_go_on),
      cmocka_unit_test(damaged_journals_have_no_wrong_results),
      cmocka_unit_test(slots_are_bound_to_their_case_and_study),
      cmocka_unit_test(files_of_others_are_not_overwritten),
      cmocka_unit_test(what_differs_is_named),
      cmocka_unit_test(every_failed_allocation_is_reported),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
