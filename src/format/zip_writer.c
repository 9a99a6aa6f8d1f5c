// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "format/zip_writer.h"

#include <zip.h>

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

cpl_status cpli_zip_write(cpl_context* ctx, const char* path, const cpli_zip_entry* entries,
                          size_t n) {
  zip_error_t error;
  int code = 0;
  zip_t* zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  zip_error_init_with_code(&error, code);
  if (zip == NULL) return failed(ctx, path, &error);
  bool good = true;
  for (size_t i = 0; i < n && good; i++) good = add(zip, &entries[i]);
  if (good && zip_close(zip) == 0) {  // this writes a new file and then renames it
    zip_error_fini(&error);
    return CPL_OK;
  }
  int system = zip_error_code_system(zip_get_error(zip));
  zip_error_set(&error, zip_error_code_zip(zip_get_error(zip)), system);
  zip_discard(zip);
  return failed(ctx, path, &error);
}
