// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/folder.h"

#include <sys/stat.h>
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
      cmocka_unit_test(parents_that_cannot_be_made_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
