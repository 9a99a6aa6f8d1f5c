// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/folder.h"

#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static void touch(const char* path) {
  FILE* file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static void a_temporary_folder_is_private(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char* path = NULL;
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &path));
  CHECK(path[0] == '/');
  struct stat info;
  CHECK_INT(stat(path, &info), 0);
  CHECK_INT(info.st_mode & 0777, 0700);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, path));
  CHECK(stat(path, &info) != 0);
  cpli_free(ctx, path);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, NULL));
  cpl_context_destroy(ctx);
}

static void follows_TMPDIR(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char here[4096], *path = NULL;
  assert_non_null(getcwd(here, sizeof here));
  const char* before = getenv("TMPDIR");
  char* kept = before != NULL ? strdup(before) : NULL;
  setenv("TMPDIR", here, 1);
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &path));
  CHECK(strncmp(path, here, strlen(here)) == 0);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, path));
  cpli_free(ctx, path);
  setenv("TMPDIR", "/no/such/folder", 1);
  CHECK_INT(cpli_temp_folder_make(ctx, &path), CPL_ERR_IO);
  CHECK_CONTAINS(cpl_context_error(ctx), "/no/such/folder");
  if (kept != NULL) setenv("TMPDIR", kept, 1);
  if (kept == NULL) unsetenv("TMPDIR");
  free(kept);
  cpl_context_destroy(ctx);
}

static void removing_leaves_the_target_of_a_link_alone(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char *folder = NULL, *outside = NULL, path[8192], kept[8192];
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &folder));
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &outside));
  snprintf(kept, sizeof kept, "%s/keep", outside);
  touch(kept);
  snprintf(path, sizeof path, "%s/deep/er/file", folder);
  CHECK_OK(ctx, cpli_make_parents(ctx, path));
  touch(path);
  snprintf(path, sizeof path, "%s/deep/link", folder);
  CHECK_INT(symlink(outside, path), 0);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, folder));
  CHECK_INT(access(kept, F_OK), 0);
  CHECK_INT(symlink(outside, folder), 0);  // the folder itself a link: refused
  CHECK_INT(cpli_temp_folder_remove(ctx, folder), CPL_ERR_IO);
  CHECK_INT(access(kept, F_OK), 0);
  unlink(folder);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, outside));
  cpli_free(ctx, folder);
  cpli_free(ctx, outside);
  cpl_context_destroy(ctx);
}

//------------------------------------ killed processes ------------------------------------

static int count_in(const char* path) {
  DIR* dir = opendir(path);
  assert_non_null(dir);
  int n = -2;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n;
}

// A process with a temporary folder, with a file and a link in it, that waits until it is killed.
static pid_t start_process(void) {
  int ready[2];
  char c = 0;
  CHECK_INT(pipe(ready), 0);
  pid_t pid = fork();
  if (pid == 0) {
    cpl_context* ctx = test_context();
    char *path = NULL, file[8192];
    if (cpli_temp_folder_make(ctx, &path) < 0) _exit(1);
    snprintf(file, sizeof file, "%s/file", path);
    touch(file);
    snprintf(file, sizeof file, "%s/link", path);
    if (symlink("/", file) != 0) _exit(1);
    if (write(ready[1], "x", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(ready[1]);
  CHECK_INT(read(ready[0], &c, 1), 1);
  close(ready[0]);
  return pid;
}

static void end_process(pid_t pid) {
  kill(pid, SIGKILL);
  CHECK_INT(waitpid(pid, NULL, 0), pid);
}

static void what_killed_processes_left_is_removed(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char here[4096], tmp[4200], *path = NULL;
  assert_non_null(getcwd(here, sizeof here));
  snprintf(tmp, sizeof tmp, "%s/left", here);
  CHECK_INT(system("rm -rf left outside"), 0);
  mkdir("left", 0700);
  mkdir("outside", 0700);
  touch("outside/keep");
  setenv("TMPDIR", tmp, 1);
  pid_t living = start_process(), killed = start_process();
  CHECK_INT(count_in("left"), 2);
  end_process(killed);
  // what looks like ours and is not stays: links, files, folders of other names
  CHECK_INT(symlink("../outside", "left/couplet-run-abcdef"), 0);
  touch("left/couplet-run-file");
  mkdir("left/couplet-else", 0700);
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &path));
  CHECK_INT(count_in("left"), 5);  // these three, the living one and ours
  CHECK_INT(access("outside/keep", F_OK), 0);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, path));
  cpli_free(ctx, path);
  CHECK_INT(count_in("left"), 4);
  end_process(living);
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &path));
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, path));
  cpli_free(ctx, path);
  CHECK_INT(count_in("left"), 3);
  unsetenv("TMPDIR");
  cpl_context_destroy(ctx);
}

// Many processes make and remove folders, and clean up after those that are killed, at one time.
static void nobody_removes_what_is_in_use(void** state) {
  (void)state;
  enum { PROCESSES = 8, ROUNDS = 60 };
  char here[4096], tmp[4200];
  assert_non_null(getcwd(here, sizeof here));
  snprintf(tmp, sizeof tmp, "%s/many", here);
  CHECK_INT(system("rm -rf many"), 0);
  mkdir("many", 0700);
  setenv("TMPDIR", tmp, 1);
  pid_t pids[PROCESSES];
  for (int i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    if (pids[i] != 0) continue;
    cpl_context* ctx = test_context();
    for (int k = 0; k < ROUNDS; k++) {
      char *a = NULL, *b = NULL, file[8192];
      if (cpli_temp_folder_make(ctx, &a) < 0 || cpli_temp_folder_make(ctx, &b) < 0) _exit(1);
      snprintf(file, sizeof file, "%s/file", b);
      FILE* f = fopen(file, "w");
      if (f == NULL) _exit(2);
      fclose(f);
      if (fork() == 0) {  // it leaves a folder, now and then
        if (cpli_temp_folder_remove(ctx, a) < 0) _exit(1);
        cpli_free(ctx, a);
        if (k % 4 == 0 && cpli_temp_folder_make(ctx, &a) >= 0) cpli_free(ctx, a);
        _exit(0);
      }
      int status = 0;
      wait(&status);
      if (status != 0 || access(file, F_OK) != 0) _exit(3);
      if (cpli_temp_folder_remove(ctx, b) < 0) _exit(4);
      cpli_free(ctx, a);
      cpli_free(ctx, b);
    }
    _exit(0);
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = 0;
    CHECK_INT(waitpid(pids[i], &status, 0), pids[i]);
    CHECK_INT(status, 0);
  }
  cpl_context* ctx = test_context();
  char* path = NULL;
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &path));
  CHECK_INT(count_in("many"), 1);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, path));
  CHECK_INT(count_in("many"), 0);
  cpli_free(ctx, path);
  unsetenv("TMPDIR");
  cpl_context_destroy(ctx);
}

static void an_empty_TMPDIR_is_none(void** state) {
  (void)state;
  setenv("TMPDIR", "", 1);
  CHECK_STR(cpli_temp_base(), "/tmp");
  setenv("TMPDIR", "relative", 1);
  CHECK_STR(cpli_temp_base(), "/tmp");
  unsetenv("TMPDIR");
  CHECK_STR(cpli_temp_base(), "/tmp");
}

static void parents_that_cannot_be_made_are_named(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char path[] = "/proc/no/such";
  CHECK_INT(cpli_make_parents(ctx, path), CPL_ERR_IO);
  CHECK_STR(path, "/proc/no/such");
  CHECK_CONTAINS(cpl_context_error(ctx), "/proc/no");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_temporary_folder_is_private),
      cmocka_unit_test(follows_TMPDIR),
      cmocka_unit_test(removing_leaves_the_target_of_a_link_alone),
      cmocka_unit_test(what_killed_processes_left_is_removed),
      cmocka_unit_test(nobody_removes_what_is_in_use),
      cmocka_unit_test(an_empty_TMPDIR_is_none),
      cmocka_unit_test(parents_that_cannot_be_made_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
