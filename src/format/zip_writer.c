// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Uses libzip: the archive is built in memory, with fixed time stamps and modes, and then written
// as one file.
#include "format/zip_writer.h"

#include <zip.h>

#include "format/file.h"

static cpl_status failed(cpl_context* ctx, const char* path, zip_error_t* error) {
  cpl_status st =
      cpl_fail(ctx, zip_error_code_zip(error) == ZIP_ER_MEMORY ? CPL_ERR_NOMEM : CPL_ERR_IO,
               "%s cannot be written: %s", path, zip_error_strerror(error));
  zip_error_fini(error);
  return st;
}

static bool add(zip_t* zip, const cpli_zip_entry* e) {
  enum { FIRST_OF_1980 = 1 << 5 | 1 };  // where DOS time begins
  zip_source_t* source = zip_source_buffer(zip, e->bytes, e->size, 0);
  if (source == NULL) return false;
  zip_int64_t i = zip_file_add(zip, e->name, source, ZIP_FL_ENC_UTF_8);
  if (i < 0) {
    zip_source_free(source);
    return false;
  }
  zip_uint64_t index = (zip_uint64_t)i;
  zip_uint32_t mode = e->executable ? 0100755 : 0100644;
  return zip_file_set_dostime(zip, index, 0, FIRST_OF_1980, 0) == 0 &&
         zip_file_set_external_attributes(zip, index, 0, ZIP_OPSYS_UNIX, mode << 16) == 0;
}

// The archive in `memory`. It is small, and only a whole one is worth a file.
static cpl_status build(cpl_context* ctx, const char* path, zip_source_t* memory,
                        const cpli_zip_entry* entries, size_t n) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_keep(memory);  // closing the archive releases it once
  zip_t* zip = zip_open_from_source(memory, ZIP_TRUNCATE, &error);
  if (zip == NULL) {
    zip_source_free(memory);
    return failed(ctx, path, &error);
  }
  bool good = true;
  for (size_t i = 0; i < n && good; i++) good = add(zip, &entries[i]);
  if (good && zip_close(zip) == 0) {
    zip_error_fini(&error);
    return CPL_OK;
  }
  int system = zip_error_code_system(zip_get_error(zip));
  zip_error_set(&error, zip_error_code_zip(zip_get_error(zip)), system);
  zip_discard(zip);
  return failed(ctx, path, &error);
}

static cpl_status write_file(cpl_context* ctx, const char* path, zip_source_t* memory) {
  zip_stat_t info;
  char* bytes = NULL;
  cpl_status st = CPL_OK;
  if (zip_source_stat(memory, &info) != 0 || zip_source_open(memory) != 0)
    return cpl_fail(ctx, CPL_ERR_IO, "%s cannot be written", path);
  bytes = cpli_alloc(ctx, info.size, 1);
  if (bytes == NULL) st = cpli_nomem(ctx);
  else if (zip_source_read(memory, bytes, info.size) != (zip_int64_t)info.size)
    st = cpl_fail(ctx, CPL_ERR_IO, "%s cannot be written", path);
  else st = cpli_file_make(ctx, path, bytes, info.size);
  zip_source_close(memory);
  cpli_free(ctx, bytes);
  return st;
}

cpl_status cpli_zip_write(cpl_context* ctx, const char* path, const cpli_zip_entry* entries,
                          size_t n) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* memory = zip_source_buffer_create(NULL, 0, 0, &error);
  if (memory == NULL) return failed(ctx, path, &error);
  zip_error_fini(&error);
  cpl_status st = build(ctx, path, memory, entries, n);
  if (st >= 0) st = write_file(ctx, path, memory);
  zip_source_free(memory);
  return st;
}
