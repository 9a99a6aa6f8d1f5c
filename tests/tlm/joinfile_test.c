// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Join files are read by programs that wait for them to appear: whatever is there is whole.
#include "tlm/joinfile.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "testing.h"

static cpli_join_file example(uint64_t session) {
  cpli_join_file f = {.address = "tcp://127.0.0.1:4711", .part = "axle", .session = session};
  memset(f.server_key, 'k', CPLI_KEY_SIZE - 1);
  memset(f.keys.public_key, 'p', CPLI_KEY_SIZE - 1);
  memset(f.keys.secret_key, 's', CPLI_KEY_SIZE - 1);
  snprintf(f.system, sizeof f.system, "/somewhere/%03000d.yaml", 7);
  return f;
}

static size_t read_whole(const char* path, char* text, size_t size) {
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, text, size);
  close(fd);
  return n > 0 ? (size_t)n : 1;
}

static int count_files(void) {
  DIR* dir = opendir(".");
  assert_non_null(dir);
  int n = 0;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n;
}

typedef struct writer {
  const char* path;
  int n;
  bool failed;
  atomic_bool seen, done;
} writer;

static void* write_often(void* user) {
  writer* w = user;
  cpl_context* ctx = test_context();
  cpli_written written;
  for (int i = 0; i < w->n || !w->seen; i++) {  // until it was read at least once
    cpli_join_file f = example((uint64_t)i);
    unlink(w->path);
    w->failed = w->failed || cpli_join_file_write(ctx, w->path, &f, i % 2 == 0, &written) < 0;
  }
  cpl_context_destroy(ctx);
  w->done = true;
  return NULL;
}

static void nobody_sees_a_part_of_it(void** state) {
  (void)state;
  static char whole[8192], text[8192];
  cpl_context* ctx = test_context();
  cpli_written written;
  cpli_join_file f = example(0);
  unlink("seen.join");
  const int before = count_files();
  CHECK_OK(ctx, cpli_join_file_write(ctx, "seen.join", &f, false, &written));
  const size_t size = read_whole("seen.join", whole, sizeof whole);
  CHECK(size > 3000);
  writer w = {.path = "seen.join", .n = 100};
  pthread_t thread;
  CHECK_INT(pthread_create(&thread, NULL, write_often, &w), 0);
  size_t parts = 0;
  while (!w.done) {
    const size_t n = read_whole("seen.join", text, sizeof text);
    if (n > 0) w.seen = true;
    parts += n > 0 && n != size;
  }
  pthread_join(thread, NULL);
  CHECK(!w.failed);
  CHECK_INT(parts, 0);
  unlink("seen.join");
  CHECK_INT(count_files(), before);  // and nothing else stays behind
  cpl_context_destroy(ctx);
}

// Appends the second half of a file a little later.
static void* write_rest(void* user) {
  static char whole[8192];
  const size_t n = read_whole("whole.join", whole, sizeof whole);
  usleep(100000);
  int fd = open(user, O_WRONLY | O_APPEND | O_CLOEXEC);
  bool fine = fd >= 0 && write(fd, whole + 40, n - 40) == (ssize_t)(n - 40);
  close(fd);
  return fine ? user : NULL;
}

static void the_rest_of_it_is_waited_for(void** state) {
  (void)state;
  static char whole[8192];
  cpl_context* ctx = test_context();
  cpli_written written;
  cpli_join_file f = example(17), got;
  CHECK_OK(ctx, cpli_join_file_write(ctx, "whole.join", &f, true, &written));
  CHECK(read_whole("whole.join", whole, sizeof whole) > 40);
  int fd = open("half.join", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  CHECK(fd >= 0 && write(fd, whole, 40) == 40);
  close(fd);
  pthread_t thread;
  void* fine = NULL;
  CHECK_INT(pthread_create(&thread, NULL, write_rest, (void*)"half.join"), 0);
  CHECK_OK(ctx, cpli_join_file_read(ctx, "half.join", &got));
  pthread_join(thread, &fine);
  CHECK(fine != NULL);
  CHECK_INT(got.session, 17);
  CHECK_STR(got.system, f.system);
  cpl_context_destroy(ctx);
}

static void the_waiting_can_be_ended(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_context_cancel(ctx);
  cpli_join_file got;
  int fd = open("cut.join", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  close(fd);
  CHECK_INT(cpli_join_file_read(ctx, "cut.join", &got), CPL_ERR_CANCELLED);
  // what is something else altogether is not waited for
  fd = open("cut.join", O_WRONLY | O_TRUNC | O_CLOEXEC);
  CHECK(write(fd, "models:\n", 8) == 8);
  close(fd);
  CHECK_INT(cpli_join_file_read(ctx, "cut.join", &got), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "is no join file");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nobody_sees_a_part_of_it),
      cmocka_unit_test(the_rest_of_it_is_waited_for),
      cmocka_unit_test(the_waiting_can_be_ended),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
