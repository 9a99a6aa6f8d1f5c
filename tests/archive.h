// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Archives made by tests, good and hostile ones.
#pragma once

#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "testing.h"

typedef struct archive_entry {
  const char* name;
  const char* text;
  size_t size;         // 0: strlen(text)
  unsigned unix_mode;  // 0: not said
  bool encrypted;
} archive_entry;

// Entries end with one without a name.
static inline void make_archive(const char* path, const archive_entry* entries) {
  int code = 0;
  zip_t* zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(zip);
  for (const archive_entry* e = entries; e->name != NULL; e++) {
    size_t size = e->size > 0 ? e->size : strlen(e->text);
    zip_source_t* source = zip_source_buffer(zip, e->text, size, 0);
    assert_non_null(source);
    zip_int64_t i = zip_file_add(zip, e->name, source, ZIP_FL_ENC_UTF_8);
    if (i < 0) fail_msg("%s: %s", e->name, zip_strerror(zip));
    if (e->unix_mode != 0) {
      zip_file_set_external_attributes(zip, (zip_uint64_t)i, 0, ZIP_OPSYS_UNIX,
                                       (zip_uint32_t)e->unix_mode << 16);
    }
    if (e->encrypted) {
      CHECK_INT(zip_file_set_encryption(zip, (zip_uint64_t)i, ZIP_EM_AES_128, "secret"), 0);
    }
  }
  if (zip_close(zip) != 0) fail_msg("%s: %s", path, zip_strerror(zip));
}

static inline char* read_bytes(const char* path, size_t* size) {
  FILE* file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  char* bytes = malloc(*size + 1);
  assert_non_null(bytes);
  CHECK_INT(fread(bytes, 1, *size, file), *size);
  bytes[*size] = '\0';
  fclose(file);
  return bytes;
}

static inline void write_bytes(const char* path, const char* bytes, size_t size) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  CHECK_INT(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

// Replace every occurrence of `from` by `to`, of the same length: what no archiver would write.
static inline void patch_archive(const char* path, const char* from, const char* to) {
  size_t size, len = strlen(from);
  char* bytes = read_bytes(path, &size);
  CHECK_INT(strlen(to), len);
  for (size_t i = 0; i + len <= size; i++)
    if (memcmp(bytes + i, from, len) == 0) memcpy(bytes + i, to, len);
  write_bytes(path, bytes, size);
  free(bytes);
}
