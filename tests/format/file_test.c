// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Files in the making: they appear whole or not at all, an earlier file stays until then, and a
// process that is killed leaves nothing behind.
#include "format/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

static int entries(const char* folder) {
  int n = 0;
  DIR* d = opendir(folder);
  assert_non_null(d);
  for (const struct dirent* e; (e = readdir(d)) != NULL;)
    n += e->d_name[0] != '.' || e->d_name[1] == 'c';
  closedir(d);
  return n;
}

static bool has_nameless_files(const char* folder) {
  int fd = open(folder, O_WRONLY | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

static void check_content(cpl_context* ctx, const char* path, const char* wanted) {
  char* text = NULL;
  size_t len = 0;
  CHECK_OK(ctx, cpli_file_read(ctx, path, 1000, &text, &len));
  CHECK_STR(text, wanted);
  cpli_free(ctx, text);
}

static void an_earlier_file_stays_until_the_new_one_is_whole(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  mkdir("whole", 0755);
  CHECK_OK(ctx, cpli_file_make(ctx, "whole/a", "old", 3));
  CHECK_INT(chmod("whole/a", 0640), 0);
  cpli_new_file f;
  CHECK_OK(ctx, cpli_new_file_open(ctx, "whole/a", 0, &f));
  CHECK_INT(cpli_file_write(f.fd, "new", 3), 3);
  check_content(ctx, "whole/a", "old");
  CHECK_OK(ctx, cpli_new_file_commit(&f));
  check_content(ctx, "whole/a", "new");
  struct stat info;
  CHECK_INT(stat("whole/a", &info), 0);
  CHECK_INT(info.st_mode & 0777, 0640);

  CHECK_OK(ctx, cpli_new_file_open(ctx, "whole/a", 0, &f));
  CHECK_INT(cpli_file_write(f.fd, "never", 5), 5);
  cpli_new_file_discard(&f);
  check_content(ctx, "whole/a", "new");
  CHECK_INT(entries("whole"), 1);
  cpl_context_destroy(ctx);
}

static void a_new_file_replaces_none(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  mkdir("only", 0755);
  cpli_new_file first, second;
  CHECK_OK(ctx, cpli_new_file_open(ctx, "only/a", CPLI_FILE_NEW | CPLI_FILE_SYNC, &first));
  CHECK_OK(ctx, cpli_new_file_open(ctx, "only/a", CPLI_FILE_NEW | CPLI_FILE_SECRET, &second));
  CHECK_INT(cpli_file_write(second.fd, "2", 1), 1);
  CHECK_OK(ctx, cpli_new_file_commit(&second));
  CHECK_INT(cpli_new_file_commit(&first), CPL_ERR_IO);
  check_content(ctx, "only/a", "2");
  struct stat info;
  CHECK_INT(stat("only/a", &info), 0);
  CHECK_INT(info.st_mode & 0777, 0600);
  CHECK_INT(cpli_new_file_open(ctx, "only/a", CPLI_FILE_NEW, &first), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "only/a");
  CHECK_INT(entries("only"), 1);
  cpl_context_destroy(ctx);
}

static void a_killed_process_leaves_nothing(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  mkdir("killed", 0755);
  if (!has_nameless_files("killed")) skip();  // there a hidden file stays
  CHECK_OK(ctx, cpli_file_make(ctx, "killed/a", "old", 3));
  pid_t child = fork();
  if (child == 0) {
    cpli_new_file f;
    if (cpli_new_file_open(ctx, "killed/a", 0, &f) < 0) _exit(1);
    if (cpli_file_write(f.fd, "new", 3) != 3) _exit(1);
    raise(SIGKILL);
  }
  int status = 0;
  CHECK_INT(waitpid(child, &status, 0), child);
  CHECK(WIFSIGNALED(status));
  CHECK_INT(entries("killed"), 1);
  check_content(ctx, "killed/a", "old");
  cpl_context_destroy(ctx);
}

static void names_without_a_folder_and_of_full_length(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char name[256];
  memset(name, 'n', 255);
  name[255] = '\0';
  CHECK_OK(ctx, cpli_file_make(ctx, name, "x", 1));
  check_content(ctx, name, "x");
  CHECK_INT(unlink(name), 0);
  CHECK_INT(cpli_file_make(ctx, "no/such/folder", "x", 1), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "No such file or directory");
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_earlier_file_stays_until_the_new_one_is_whole),
      cmocka_unit_test(a_new_file_replaces_none),
      cmocka_unit_test(a_killed_process_leaves_nothing),
      cmocka_unit_test(names_without_a_folder_and_of_full_length),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
