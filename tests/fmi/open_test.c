// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#include "archive.h"
#include "descriptions.h"
#include "fmi/fmu.h"

static const char path[] = "model.fmu";

static void make_fmu(const char* xml) {
  make_archive(path, (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                                       {.name = "binaries/linux64/every_me.so", .text = "me"},
                                       {.name = "binaries/linux64/every_cs.so", .text = "cs"},
                                       {.name = "binaries/linux64/libs/helper.so", .text = "h"},
                                       {.name = "binaries/win64/every_me.dll", .text = "x"},
                                       {.name = "resources/deep/data.txt", .text = "data"},
                                       {.name = "sources/a.c", .text = "int a;"},
                                       {.name = "documentation/index.html", .text = "<html>"},
                                       {0}});
}

static cpl_status open_path(cpl_context* ctx, const char* file, cpl_source** out) {
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = file;
  return cpl_fmu_open(ctx, &def, out);
}

static bool extracted(const cpl_fmu* fmu, const char* name) {
  char file[8192];
  snprintf(file, sizeof file, "%s/%s", fmu->folder, name);
  return access(file, R_OK) == 0;
}

static void opens_without_extracting(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_fmu(everything_xml);
  cpl_source* src = NULL;
  CHECK_OK(ctx, open_path(ctx, path, &src));
  const cpl_fmu* fmu = (cpl_fmu*)src;
  CHECK_STR(src->desc->name, "Every & thing");
  CHECK_STR(src->path, path);
  CHECK_STR(src->ops->kind, "FMI 2.0");
  CHECK(src->ops->make_model != NULL && src->ops->make_stepper != NULL);
  CHECK_INT(fmu->n_platforms, 2);
  CHECK_STR(fmu->platforms[0], "linux64");
  CHECK_STR(fmu->platforms[1], "win64");
  CHECK(fmu->has_sources);
  CHECK(fmu->folder == NULL);
  src->ops->destroy(src);
  src = NULL;
  cpl_context_destroy(ctx);
}

static void extracts_what_instances_need(void** state) {
  (void)state;
  if (strcmp(cpli_fmu_platform(), "linux64") != 0) skip();
  cpl_context* ctx = test_context();
  make_fmu(everything_xml);
  cpl_source* src = NULL;
  CHECK_OK(ctx, open_path(ctx, path, &src));
  cpl_fmu* fmu = (cpl_fmu*)src;
  CHECK(cpli_fmu_has_binary(fmu, "every_me"));
  CHECK(!cpli_fmu_has_binary(fmu, "every"));
  CHECK_OK(ctx, cpli_fmu_extract(fmu));
  char* folder = strdup(fmu->folder);
  CHECK_OK(ctx, cpli_fmu_extract(fmu));  // once
  CHECK_STR(fmu->folder, folder);
  CHECK(folder[0] == '/');
  CHECK(extracted(fmu, "binaries/linux64/every_me.so"));
  CHECK(extracted(fmu, "binaries/linux64/libs/helper.so"));
  CHECK(extracted(fmu, "resources/deep/data.txt"));
  CHECK(extracted(fmu, "modelDescription.xml"));
  CHECK(!extracted(fmu, "binaries/win64/every_me.dll"));
  CHECK(!extracted(fmu, "sources/a.c"));
  CHECK(!extracted(fmu, "documentation/index.html"));
  src->ops->destroy(src);
  CHECK(access(folder, F_OK) != 0);
  free(folder);
  cpl_context_destroy(ctx);
}

static void sources_come_along_when_a_binary_is_missing(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_archive(path, (archive_entry[]){{.name = "modelDescription.xml", .text = MD("")},
                                       {.name = "sources/m.c", .text = "int m;"},
                                       {0}});
  cpl_source* src = NULL;
  CHECK_OK(ctx, open_path(ctx, path, &src));
  CHECK(src->ops->make_model != NULL && src->ops->make_stepper == NULL);
  CHECK_OK(ctx, cpli_fmu_extract((cpl_fmu*)src));
  CHECK(extracted((cpl_fmu*)src, "sources/m.c"));
  src->ops->destroy(src);
  cpl_context_destroy(ctx);
}

static void opens_an_unpacked_folder(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  mkdir("unpacked", 0700);
  mkdir("unpacked/binaries", 0700);
  mkdir("unpacked/binaries/linux64", 0700);
  mkdir("unpacked/sources", 0700);
  unlink("unpacked/modelDescription.xml");
  cpl_source* src = NULL;
  CHECK_INT(open_path(ctx, "unpacked", &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "unpacked: not an FMU: no modelDescription.xml");
  write_bytes("unpacked/modelDescription.xml", everything_xml, sizeof everything_xml - 1);
  write_bytes("unpacked/binaries/linux64/every_me.so", "x", 1);
  write_bytes("unpacked/sources/all.c", "x", 1);
  CHECK_OK(ctx, open_path(ctx, "unpacked", &src));
  cpl_fmu* fmu = (cpl_fmu*)src;
  CHECK_INT(fmu->n_platforms, 1);
  CHECK_INT(fmu->n_binaries, strcmp(cpli_fmu_platform(), "linux64") == 0 ? 1 : 0);
  CHECK(fmu->has_sources);
  CHECK_OK(ctx, cpli_fmu_extract(fmu));
  CHECK(fmu->folder[0] == '/');
  CHECK(extracted(fmu, "modelDescription.xml"));
  src->ops->destroy(src);
  CHECK(access("unpacked/modelDescription.xml", F_OK) == 0);  // not ours to remove
  cpl_context_destroy(ctx);
}

static void failures_name_file_and_cause(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpl_source* src = NULL;
  CHECK_INT(open_path(ctx, "no/such.fmu", &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no/such.fmu: No such file");
  CHECK_INT(open_path(ctx, NULL, &src), CPL_ERR_INPUT);
  write_bytes(path, "PK but not really", 17);
  CHECK_INT(open_path(ctx, path, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "model.fmu: not a zip archive");
  make_archive(path, (archive_entry[]){{.name = "readme.txt", .text = "hello"}, {0}});
  CHECK_INT(open_path(ctx, path, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "model.fmu: not an FMU: no modelDescription.xml inside");
  make_fmu("<fmiModelDescription>\n<");
  CHECK_INT(open_path(ctx, path, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "model.fmu/modelDescription.xml:");
  make_archive(path, (archive_entry[]){{.name = "modelDescription.xml", .text = MD("")},
                                       {.name = "../outside", .text = "x"},
                                       {0}});
  CHECK_INT(open_path(ctx, path, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "outside");
  CHECK(src == NULL);
  cpl_context_destroy(ctx);
}

static void the_call_log_is_made(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_fmu(everything_xml);
  cpl_fmu_def def = cpl_default_fmu_def();
  def.path = path;
  def.call_log = "no/such/calls.txt";
  cpl_source* src = NULL;
  CHECK_INT(cpl_fmu_open(ctx, &def, &src), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "no/such/calls.txt");
  def.call_log = "calls.txt";
  CHECK_OK(ctx, cpl_fmu_open(ctx, &def, &src));
  CHECK(((cpl_fmu*)src)->call_log != NULL);
  src->ops->destroy(src);
  CHECK_INT(access("calls.txt", F_OK), 0);
  cpl_context_destroy(ctx);
}

// Folders named couplet-... below `folder`.
static int temporary_folders(const char* folder) {
  int n = 0;
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir))
    n += strncmp(e->d_name, "couplet-", 8) == 0;
  closedir(dir);
  return n;
}

static cpl_status open_and_extract(cpl_context* ctx, const char* file) {
  cpl_source* src = NULL;
  cpl_status st = open_path(ctx, file, &src);
  if (st >= 0) st = cpli_fmu_extract((cpl_fmu*)src);
  if (src != NULL) src->ops->destroy(src);
  return st;
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  static const char* const files[] = {"model.fmu", "unpacked"};
  char here[4096];
  assert_non_null(getcwd(here, sizeof here));
  setenv("TMPDIR", here, 1);
  make_fmu(everything_xml);
  for (size_t k = 0; k < 2; k++) {
    for (long n = 0;; n++) {
      test_heap heap = {.fail_at = n};
      cpl_context* ctx = test_context_with_heap(&heap);
      cpl_status st = ctx != NULL ? open_and_extract(ctx, files[k]) : CPL_ERR_NOMEM;
      cpl_context_destroy(ctx);
      CHECK_INT(heap.live, 0);
      CHECK_INT(temporary_folders(here), 0);
      if (st == CPL_OK) break;
      CHECK_INT(st, CPL_ERR_NOMEM);
    }
  }
  unsetenv("TMPDIR");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(opens_without_extracting),
      cmocka_unit_test(extracts_what_instances_need),
      cmocka_unit_test(sources_come_along_when_a_binary_is_missing),
      cmocka_unit_test(opens_an_unpacked_folder),
      cmocka_unit_test(failures_name_file_and_cause),
      cmocka_unit_test(the_call_log_is_made),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
