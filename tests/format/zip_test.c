// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/zip.h"

#include "archive.h"
#include "format/folder.h"

static const char archive[] = "test.zip";

static cpl_status open_one(cpl_context* ctx, const archive_entry* entries,
                           const cpli_zip_limits* limits) {
  make_archive(archive, entries);
  cpli_zip* zip = NULL;
  cpl_status st = cpli_zip_open(ctx, archive, limits, &zip);
  cpli_zip_close(zip);
  return st;
}

static void reads_entries(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_archive(archive, (archive_entry[]){{.name = "a.txt", .text = "hello"},
                                          {.name = "./b/c.txt", .text = "world"},
                                          {.name = "empty", .text = ""},
                                          {0}});
  cpli_zip* zip = NULL;
  CHECK_OK(ctx, cpli_zip_open(ctx, archive, NULL, &zip));
  CHECK_INT(cpli_zip_count(zip), 3);
  CHECK_STR(cpli_zip_name(zip, 1), "b/c.txt");
  CHECK(cpli_zip_has(zip, "a.txt"));
  CHECK(!cpli_zip_has(zip, "a"));
  char* text = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_zip_read(zip, "b/c.txt", 100, &text, &size));
  CHECK_STR(text, "world");
  CHECK_INT(size, 5);
  cpli_free(ctx, text);
  CHECK_OK(ctx, cpli_zip_read(zip, "empty", 100, &text, &size));
  CHECK_INT(size, 0);
  cpli_free(ctx, text);
  CHECK_INT(cpli_zip_read(zip, "nothing", 100, &text, &size), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "test.zip: no nothing inside");
  CHECK_INT(cpli_zip_read(zip, "a.txt", 4, &text, &size), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "too large");
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static void extracts_what_is_asked_for(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_archive(archive, (archive_entry[]){{.name = "docs/x.txt", .text = "no"},
                                          {.name = "binaries/linux64/m.so", .text = "library"},
                                          {.name = "resources/", .text = "", .unix_mode = 040755},
                                          {.name = "resources/deep/data.txt", .text = "data"},
                                          {0}});
  cpli_zip* zip = NULL;
  char *folder = NULL, path[4096];
  CHECK_OK(ctx, cpli_temp_folder_make(ctx, &folder));
  CHECK_OK(ctx, cpli_zip_open(ctx, archive, NULL, &zip));
  const char* prefixes[] = {"binaries/linux64/", "resources/"};
  CHECK_OK(ctx, cpli_zip_extract(zip, prefixes, 2, folder));
  snprintf(path, sizeof path, "%s/binaries/linux64/m.so", folder);
  CHECK_INT(access(path, R_OK | X_OK), 0);
  snprintf(path, sizeof path, "%s/resources/deep/data.txt", folder);
  size_t size = 0;
  char* bytes = read_bytes(path, &size);
  CHECK_STR(bytes, "data");
  free(bytes);
  snprintf(path, sizeof path, "%s/docs", folder);
  CHECK(access(path, F_OK) != 0);
  CHECK_INT(cpli_zip_extract(zip, prefixes, 2, folder), CPL_ERR_IO);  // nothing is overwritten
  cpli_zip_close(zip);
  CHECK_OK(ctx, cpli_temp_folder_remove(ctx, folder));
  cpli_free(ctx, folder);
  cpl_context_destroy(ctx);
}

static void takes_backslashes_for_slashes(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  make_archive(archive,
               (archive_entry[]){{.name = "binaries\\linux64\\m.so", .text = "machine"}, {0}});
  CHECK_OK(ctx, cpli_zip_open(ctx, archive, NULL, &zip));
  char* text = NULL;
  size_t size = 0;
  CHECK_OK(ctx, cpli_zip_read(zip, "binaries/linux64/m.so", 100, &text, &size));
  CHECK_INT(size, 7);
  cpli_free(ctx, text);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static void refuses_names_that_lead_elsewhere(void** state) {
  (void)state;
  static const struct {
    const char *name, *why;
  } cases[] = {
      {"../evil", "outside"},        {"a/../../evil", "outside"},
      {"a/..", "outside"},           {"/etc/evil", "absolute"},
      {"..\\evil", "leads outside"}, {"a\\..\\..\\evil", "leads outside"},
      {"\\evil", "absolute"},        {"c:/evil", "drive letter"},
      {"a//b", "empty folder"},      {"a/./b", "'.'"},
      {"./../evil", "outside"},
  };
  cpl_context* ctx = test_context();
  for (size_t i = 0; i < CPLI_COUNT(cases); i++) {
    CHECK_INT(
        open_one(ctx,
                 (archive_entry[]){
                     {.name = "good", .text = ""}, {.name = cases[i].name, .text = "bad"}, {0}},
                 NULL),
        CPL_ERR_INPUT);
    CHECK_CONTAINS(cpl_context_error(ctx), cases[i].why);
    CHECK_CONTAINS(cpl_context_error(ctx), "test.zip: entry 2");
    CHECK(strchr(cpl_context_error(ctx), '\x1b') == NULL);
  }
  cpl_context_destroy(ctx);
}

// Whatever is done with them, none gets through.
static void control_characters_do_not_get_through(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_archive(archive, (archive_entry[]){{.name = "an_entry", .text = "x"}, {0}});
  patch_archive(archive, "an_entry", "an\x1b[2Jx\x07");
  cpli_zip* zip = NULL;
  cpl_status st = cpli_zip_open(ctx, archive, NULL, &zip);
  const char* shown = st < 0 ? cpl_context_error(ctx) : cpli_zip_name(zip, 0);
  for (; *shown != '\0'; shown++) CHECK((unsigned char)*shown >= 0x20);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static void refuses_links_and_devices(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  archive_entry link[] = {{.name = "resources", .text = "/etc", .unix_mode = S_IFLNK | 0777}, {0}};
  CHECK_INT(open_one(ctx, link, NULL), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "link");
  link[0].unix_mode = S_IFIFO | 0600;
  CHECK_INT(open_one(ctx, link, NULL), CPL_ERR_INPUT);
  link[0].unix_mode = S_IFREG | 0644;
  CHECK_OK(ctx, open_one(ctx, link, NULL));
  cpl_context_destroy(ctx);
}

static void refuses_encryption_and_duplicates(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  CHECK_INT(
      open_one(ctx, (archive_entry[]){{.name = "a", .text = "x", .encrypted = true}, {0}}, NULL),
      CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "encrypted");
  make_archive(archive, (archive_entry[]){
                            {.name = "twin1", .text = "x"}, {.name = "twin2", .text = "y"}, {0}});
  patch_archive(archive, "twin2", "twin1");
  cpli_zip* zip = NULL;
  CHECK_INT(cpli_zip_open(ctx, archive, NULL, &zip), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "twice");
  cpl_context_destroy(ctx);
}

static void keeps_to_its_limits(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  archive_entry entries[] = {
      {.name = "a", .text = "12345678"}, {.name = "b", .text = "12345678"}, {0}};
  cpli_zip_limits limits = {.entries = 2, .entry_size = 8, .total_size = 16};
  CHECK_OK(ctx, open_one(ctx, entries, &limits));
  limits.entries = 1;
  CHECK_INT(open_one(ctx, entries, &limits), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "too many entries");
  limits = (cpli_zip_limits){.entries = 2, .entry_size = 7, .total_size = 16};
  CHECK_INT(open_one(ctx, entries, &limits), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "entry 1 (a) is too large");
  limits = (cpli_zip_limits){.entries = 2, .entry_size = 8, .total_size = 15};
  CHECK_INT(open_one(ctx, entries, &limits), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "more than 15 bytes");
  cpl_context_destroy(ctx);
}

// An entry that says it is small and unpacks to a megabyte.
static void a_bomb_does_not_go_off(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  enum { SIZE = 1 << 20 };
  char* zeros = calloc(1, SIZE);
  make_archive(archive, (archive_entry[]){{.name = "bomb", .text = zeros, .size = SIZE}, {0}});
  free(zeros);
  size_t size = 0;
  char* bytes = read_bytes(archive, &size);
  const char promise[4] = {16, 0, 0, 0};
  for (size_t i = 0; i + 46 <= size; i++) {
    if (memcmp(bytes + i, "PK\1\2", 4) == 0) memcpy(bytes + i + 24, promise, 4);
    if (memcmp(bytes + i, "PK\3\4", 4) == 0) memcpy(bytes + i + 22, promise, 4);
  }
  write_bytes(archive, bytes, size);
  free(bytes);
  cpli_zip* zip = NULL;
  char* text = NULL;
  cpl_status st = cpli_zip_open(ctx, archive, NULL, &zip);
  if (st >= 0) st = cpli_zip_read(zip, "bomb", 1000, &text, &size);
  CHECK_INT(st, CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "test.zip");
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

static void says_what_is_no_archive(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  CHECK_INT(cpli_zip_open(ctx, "no/such.zip", NULL, &zip), CPL_ERR_IO);
  CHECK_CONTAINS(cpl_context_error(ctx), "no/such.zip: no such file");
  write_bytes(archive, "this is no archive", 18);
  CHECK_INT(cpli_zip_open(ctx, archive, NULL, &zip), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "not a zip archive");
  write_bytes(archive, "", 0);
  CHECK(cpli_zip_open(ctx, archive, NULL, &zip) < 0 || cpli_zip_count(zip) == 0);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

// Cut at every length: never a crash, and what opens either reads right or says that it cannot.
static void survives_every_truncation(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  make_archive(archive, (archive_entry[]){{.name = "a.txt", .text = "some text, some text"}, {0}});
  size_t size = 0;
  char* bytes = read_bytes(archive, &size);
  for (size_t n = 1; n < size; n++) {
    write_bytes(archive, bytes, n);
    cpli_zip* zip = NULL;
    char* text = NULL;
    size_t len = 0;
    cpl_status st = cpli_zip_open(ctx, archive, NULL, &zip);
    if (st >= 0) st = cpli_zip_read(zip, "a.txt", 100, &text, &len);
    if (st >= 0) CHECK_STR(text, "some text, some text");
    if (n < size / 2) CHECK(st < 0);
    cpli_free(ctx, text);
    cpli_zip_close(zip);
  }
  free(bytes);
  cpl_context_destroy(ctx);
}

static cpl_status walk(cpl_context* ctx, const char* folder) {
  cpli_zip* zip = NULL;
  char* text = NULL;
  size_t size = 0;
  const char* prefix = "b/";
  cpl_status st = cpli_zip_open(ctx, archive, NULL, &zip);
  if (st >= 0) st = cpli_zip_read(zip, "a", 100, &text, &size);
  if (st >= 0) st = cpli_zip_extract(zip, &prefix, 1, folder);
  cpli_free(ctx, text);
  cpli_zip_close(zip);
  return st;
}

static void survives_every_failed_allocation(void** state) {
  (void)state;
  make_archive(archive,
               (archive_entry[]){{.name = "a", .text = "text"}, {.name = "b/c", .text = "t"}, {0}});
  cpl_context* own = test_context();
  for (long n = 0;; n++) {
    char* folder = NULL;
    CHECK_OK(own, cpli_temp_folder_make(own, &folder));
    test_heap heap = {.fail_at = n};
    cpl_context* ctx = test_context_with_heap(&heap);
    cpl_status st = ctx != NULL ? walk(ctx, folder) : CPL_ERR_NOMEM;
    cpl_context_destroy(ctx);
    CHECK_INT(heap.live, 0);
    CHECK_OK(own, cpli_temp_folder_remove(own, folder));
    cpli_free(own, folder);
    if (st == CPL_OK) break;
    CHECK_INT(st, CPL_ERR_NOMEM);
  }
  cpl_context_destroy(own);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_entries),
      cmocka_unit_test(extracts_what_is_asked_for),
      cmocka_unit_test(takes_backslashes_for_slashes),
      cmocka_unit_test(refuses_names_that_lead_elsewhere),
      cmocka_unit_test(control_characters_do_not_get_through),
      cmocka_unit_test(refuses_links_and_devices),
      cmocka_unit_test(refuses_encryption_and_duplicates),
      cmocka_unit_test(keeps_to_its_limits),
      cmocka_unit_test(a_bomb_does_not_go_off),
      cmocka_unit_test(says_what_is_no_archive),
      cmocka_unit_test(survives_every_truncation),
      cmocka_unit_test(survives_every_failed_allocation),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
