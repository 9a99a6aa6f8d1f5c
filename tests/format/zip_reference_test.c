// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Archives that libzip writes are read, those that couplet writes are read by libzip, and of
// damaged ones nothing wrong is read. Archives of ZIP64 and of other methods are made by hand.
#include "archive.h"
#include "format/zip.h"
#include "format/zip_writer.h"

static const char archive[] = "reference.zip";

static uint32_t random_state = 7;
static uint32_t next_random(void) {
  random_state = random_state * 1664525u + 1013904223u;
  return random_state >> 8;
}

// Half of it can be compressed; larger than the pieces that are read at once.
enum { LARGE = 300001 };
static char* large_text(void) {
  char* text = malloc(LARGE);
  assert_non_null(text);
  for (size_t i = 0; i < LARGE; i++) text[i] = (char)(i / 1000 % 2 == 0 ? next_random() : i / 100);
  return text;
}

static void check_content(cpl_context* ctx, const char* name, const char* text, size_t size) {
  cpli_zip* zip = NULL;
  char* read = NULL;
  size_t n = 0;
  CHECK_OK(ctx, cpli_zip_open(ctx, archive, NULL, &zip));
  CHECK_OK(ctx, cpli_zip_read(zip, name, 1 << 20, &read, &n));
  CHECK_INT(n, size);
  CHECK(memcmp(read, text, size) == 0);
  cpli_free(ctx, read);
  cpli_zip_close(zip);
}

static void reads_what_libzip_writes(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char* text = large_text();
  make_archive(archive, (archive_entry[]){{.name = "first", .text = "1"},
                                          {.name = "large", .text = text, .size = LARGE},
                                          {.name = "last", .text = "22"},
                                          {0}});
  check_content(ctx, "large", text, LARGE);
  check_content(ctx, "last", "22", 2);

  // the same without compression, and with a comment behind the directory
  zip_t* zip = zip_open(archive, 0, NULL);
  CHECK_INT(zip_set_file_compression(zip, 1, ZIP_CM_STORE, 0), 0);
  CHECK_INT(zip_set_archive_comment(zip, "PK a comment", 12), 0);
  CHECK_INT(zip_close(zip), 0);
  check_content(ctx, "large", text, LARGE);
  free(text);
  cpl_context_destroy(ctx);
}

static void libzip_reads_what_is_written(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  char* text = large_text();
  const cpli_zip_entry entries[] = {{.name = "empty", .bytes = NULL},
                                    {.name = "a/\xc3\xa4.txt", .bytes = "hello", .size = 5},
                                    {.name = "large", .bytes = text, .size = LARGE},
                                    {.name = "run", .bytes = "xy", .size = 2, .executable = true}};
  CHECK_OK(ctx, cpli_zip_write(ctx, archive, entries, 4));
  int code = 0;
  zip_t* zip = zip_open(archive, ZIP_RDONLY | ZIP_CHECKCONS, &code);
  assert_non_null(zip);
  CHECK_INT(zip_get_num_entries(zip, 0), 4);
  for (zip_uint64_t i = 0; i < 4; i++) {
    CHECK_STR(zip_get_name(zip, i, 0), entries[i].name);
    char* bytes = malloc(LARGE + 1);
    zip_file_t* file = zip_fopen_index(zip, i, 0);
    CHECK_INT(zip_fread(file, bytes, LARGE + 1), entries[i].size);
    if (entries[i].size > 0) CHECK(memcmp(bytes, entries[i].bytes, entries[i].size) == 0);
    CHECK_INT(zip_fclose(file), 0);
    free(bytes);
    zip_uint8_t system = 0;
    zip_uint32_t attributes = 0;
    CHECK_INT(zip_file_get_external_attributes(zip, i, 0, &system, &attributes), 0);
    CHECK_INT(attributes >> 16, i == 3 ? 0100755 : 0100644);
  }
  zip_discard(zip);
  check_content(ctx, "large", text, LARGE);
  free(text);

  // the bytes depend on the content only
  size_t n = 0, m = 0;
  CHECK_OK(ctx, cpli_zip_write(ctx, "again.zip", entries, 2));
  CHECK_OK(ctx, cpli_zip_write(ctx, archive, entries, 2));
  char *second = read_bytes("again.zip", &m), *third = read_bytes(archive, &n);
  CHECK_INT(n, m);
  CHECK(memcmp(second, third, n) == 0);
  free(second);
  free(third);
  cpl_context_destroy(ctx);
}

// One byte is changed at a time: what can still be read is what was written.
static void damage_is_noticed(void** state) {
  (void)state;
  static const char text[] = "a text, a text, another text, and a text";
  cpl_context* ctx = test_context();
  make_archive(archive,
               (archive_entry[]){{.name = "a", .text = text}, {.name = "b/c", .text = "x"}, {0}});
  size_t size = 0, read = 0;
  char* bytes = read_bytes(archive, &size);
  for (size_t i = 0; i < size; i++) {
    for (int bit = (int)(i % 4); bit < 8; bit += 4) {
      bytes[i] = (char)(bytes[i] ^ 1 << bit);
      write_bytes(archive, bytes, size);
      bytes[i] = (char)(bytes[i] ^ 1 << bit);
      cpli_zip* zip = NULL;
      char* found = NULL;
      size_t n = 0;
      cpl_status st = cpli_zip_open(ctx, archive, NULL, &zip);
      if (st >= 0 && cpli_zip_has(zip, "a")) st = cpli_zip_read(zip, "a", 1 << 20, &found, &n);
      if (found != NULL) CHECK_STR(found, text);
      if (found != NULL) read++;
      if (st < 0) CHECK(st == CPL_ERR_INPUT || st == CPL_ERR_UNSUPPORTED);
      cpli_free(ctx, found);
      cpli_zip_close(zip);
    }
  }
  CHECK(read > size / 4 && read < 2 * size);
  free(bytes);
  cpl_context_destroy(ctx);
}

//------------------------------------ by hand ------------------------------------

typedef struct maker {
  char bytes[1024];
  size_t n;
} maker;

static void put(maker* m, uint64_t value, int size) {
  for (int i = 0; i < size; i++) m->bytes[m->n++] = (char)(value >> 8 * i & 0xff);
}

static void put_text(maker* m, const char* text) {
  memcpy(m->bytes + m->n, text, strlen(text));
  m->n += strlen(text);
}

// An entry "z" with the text "zip" and the numbers of ZIP64, as archivers write them when they do
// not know the size before.
static maker make_zip64(int method, uint64_t offset_of_end) {
  maker m = {.n = 0};
  const uint32_t crc = 0x421d9546;  // of "zip", checked below by libzip
  put(&m, 0x04034b50, 4), put(&m, 45, 2), put(&m, 0, 2), put(&m, (uint64_t)method, 2),
      put(&m, 0, 4);
  put(&m, crc, 4), put(&m, 3, 4), put(&m, 3, 4), put(&m, 1, 2), put(&m, 0, 2);
  put_text(&m, "zzip");
  const size_t directory = m.n;
  put(&m, 0x02014b50, 4), put(&m, 45, 2), put(&m, 45, 2), put(&m, 0, 2),
      put(&m, (uint64_t)method, 2);
  put(&m, 0, 4), put(&m, crc, 4), put(&m, UINT32_MAX, 4), put(&m, UINT32_MAX, 4), put(&m, 1, 2);
  put(&m, 4 + 2 + 4 + 24, 2), put(&m, 0, 2), put(&m, 0, 2), put(&m, 0, 2), put(&m, 0, 4);
  put(&m, UINT32_MAX, 4), put_text(&m, "z");
  put(&m, 0x7777, 2), put(&m, 2, 2), put(&m, 0, 2);  // a field of somebody else
  put(&m, 1, 2), put(&m, 24, 2), put(&m, 3, 8), put(&m, 3, 8), put(&m, 0, 8);
  const size_t end = m.n;
  put(&m, 0x06064b50, 4), put(&m, 44, 8), put(&m, 45, 2), put(&m, 45, 2), put(&m, 0, 4),
      put(&m, 0, 4);
  put(&m, 1, 8), put(&m, 1, 8), put(&m, end - directory, 8), put(&m, directory, 8);
  put(&m, 0x07064b50, 4), put(&m, 0, 4), put(&m, offset_of_end > 0 ? offset_of_end : end, 8),
      put(&m, 1, 4);
  put(&m, 0x06054b50, 4), put(&m, 0, 4), put(&m, UINT16_MAX, 2), put(&m, UINT16_MAX, 2);
  put(&m, UINT32_MAX, 4), put(&m, UINT32_MAX, 4), put(&m, 0, 2);
  return m;
}

static void reads_zip64(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  maker m = make_zip64(0, 0);
  write_bytes(archive, m.bytes, m.n);
  char text[4] = "";
  zip_t* zip = zip_open(archive, ZIP_RDONLY, NULL);
  assert_non_null(zip);
  zip_file_t* file = zip_fopen(zip, "z", 0);
  assert_non_null(file);
  CHECK_INT(zip_fread(file, text, sizeof text), 3);
  CHECK_STR(text, "zip");
  zip_fclose(file);
  zip_discard(zip);
  check_content(ctx, "z", "zip", 3);

  m = make_zip64(0, 100000);
  write_bytes(archive, m.bytes, m.n);
  cpli_zip* ours = NULL;
  CHECK_INT(cpli_zip_open(ctx, archive, NULL, &ours), CPL_ERR_INPUT);
  CHECK_CONTAINS(cpl_context_error(ctx), "reference.zip: damaged zip archive");
  cpl_context_destroy(ctx);
}

static void names_a_method_that_is_unknown(void** state) {
  (void)state;
  cpl_context* ctx = test_context();
  cpli_zip* zip = NULL;
  char* text = NULL;
  size_t size = 0;
  maker m = make_zip64(93, 0);
  write_bytes(archive, m.bytes, m.n);
  CHECK_OK(ctx, cpli_zip_open(ctx, archive, NULL, &zip));
  CHECK_INT(cpli_zip_read(zip, "z", 100, &text, &size), CPL_ERR_UNSUPPORTED);
  CHECK_CONTAINS(cpl_context_error(ctx), "z is compressed by method 93");
  CHECK(text == NULL);
  cpli_zip_close(zip);
  cpl_context_destroy(ctx);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(reads_what_libzip_writes),
      cmocka_unit_test(libzip_reads_what_is_written),
      cmocka_unit_test(damage_is_noticed),
      cmocka_unit_test(reads_zip64),
      cmocka_unit_test(names_a_method_that_is_unknown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
