// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The archive is built in memory, with fixed time stamps and modes, and then written as one file.
// Entries are compressed by zlib where that makes them smaller and is wanted.
#include "format/zip_writer.h"

#include <zlib.h>

#include "format/file.h"
#include "format/source_loc.h"

enum {
  FIRST_OF_1980 = 1 << 5 | 1,  // where DOS time begins
  VERSION = 20,                // of readers that are needed: 2.0
  MADE_BY = 3 << 8 | VERSION,  // on Unix
  TEXT_IS_UTF8 = 1 << 11,
  STORED = 0,
  DEFLATED = 8,
};

typedef struct bytes {
  char* data;
  size_t n, cap;
} bytes;

typedef struct writer {
  cpl_context* ctx;
  const char* path;
  bytes file, directory;
} writer;

// Room for `n` more bytes; NULL: no memory.
static char* reserve(cpl_context* ctx, bytes* b, size_t n) {
  if (n > b->cap - b->n) {
    size_t cap = 2 * b->cap + n;
    char* more = cpli_realloc(ctx, b->data, cap, 1);
    if (more == NULL) return NULL;
    b->data = more;
    b->cap = cap;
  }
  return b->data + b->n;
}

static char* put(char* at, uint64_t value, int size) {
  for (int i = 0; i < size; i++) *at++ = (char)(value >> 8 * i & 0xff);
  return at;
}

static cpl_status store(writer* w, const cpli_zip_entry* e, size_t* packed, int* method) {
  char* to = reserve(w->ctx, &w->file, e->size);
  if (to == NULL) return cpli_nomem(w->ctx);
  if (e->size > 0) memcpy(to, e->bytes, e->size);
  w->file.n += e->size;
  *packed = e->size;
  *method = STORED;
  return CPL_OK;
}

// The bytes of an entry behind its header: compressed where that makes them smaller. Returns their
// number.
static cpl_status pack(writer* w, const cpli_zip_entry* e, size_t* packed, int* method) {
  z_stream z = {0};
  if (deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
    return cpli_nomem(w->ctx);
  size_t bound = deflateBound(&z, e->size);
  char* to = reserve(w->ctx, &w->file, bound);
  if (to == NULL) {
    deflateEnd(&z);
    return cpli_nomem(w->ctx);
  }
  z.next_in = (Bytef*)e->bytes;
  z.avail_in = (uInt)e->size;
  z.next_out = (Bytef*)to;
  z.avail_out = (uInt)bound;
  bool smaller = deflate(&z, Z_FINISH) == Z_STREAM_END && z.total_out < e->size;
  deflateEnd(&z);
  if (!smaller) return store(w, e, packed, method);
  w->file.n += z.total_out;
  *packed = z.total_out;
  *method = DEFLATED;
  return CPL_OK;
}

// The members that the two headers of an entry have in common.
static char* put_common(char* at, const cpli_zip_entry* e, size_t packed, int method) {
  uint32_t crc = (uint32_t)crc32(0, (const Bytef*)e->bytes, (uInt)e->size);
  at = put(at, VERSION, 2);
  at = put(at, TEXT_IS_UTF8, 2);
  at = put(at, (uint64_t)method, 2);
  at = put(at, 0, 2);  // time
  at = put(at, FIRST_OF_1980, 2);
  at = put(at, crc, 4);
  at = put(at, packed, 4);
  at = put(at, e->size, 4);
  at = put(at, strlen(e->name), 2);
  return put(at, 0, 2);  // no extra fields
}

static cpl_status add(writer* w, const cpli_zip_entry* e) {
  enum { LOCAL_SIZE = 30, CENTRAL_SIZE = 46, LARGEST = 1 << 30 };
  const size_t len = strlen(e->name), offset = w->file.n;
  if (len > UINT16_MAX || e->size > LARGEST || offset > LARGEST)
    return cpli_fail_file(w->ctx, CPL_ERR_UNSUPPORTED, w->path, "%s is too large for an archive",
                          e->name);
  if (reserve(w->ctx, &w->file, LOCAL_SIZE + len) == NULL) return cpli_nomem(w->ctx);
  w->file.n += LOCAL_SIZE + len;
  size_t packed = 0;
  int method = STORED;
  cpl_status st = (e->stored ? store : pack)(w, e, &packed, &method);
  if (st < 0) return st;
  char* at = put(w->file.data + offset, 0x04034b50, 4);
  memcpy(put_common(at, e, packed, method), e->name, len);

  at = reserve(w->ctx, &w->directory, CENTRAL_SIZE + len);
  if (at == NULL) return cpli_nomem(w->ctx);
  at = put(at, 0x02014b50, 4);
  at = put(at, MADE_BY, 2);
  at = put_common(at, e, packed, method);
  at = put(at, 0, 6);  // no comment, first part, binary
  at = put(at, (e->executable ? UINT32_C(0100755) : UINT32_C(0100644)) << 16, 4);
  at = put(at, offset, 4);
  memcpy(at, e->name, len);
  w->directory.n += CENTRAL_SIZE + len;
  return CPL_OK;
}

// The directory and the last record.
static cpl_status finish(writer* w, size_t n) {
  enum { END_SIZE = 22 };
  const size_t offset = w->file.n, size = w->directory.n;
  char* at = reserve(w->ctx, &w->file, size + END_SIZE);
  if (at == NULL) return cpli_nomem(w->ctx);
  if (size > 0) memcpy(at, w->directory.data, size);
  at = put(at + size, 0x06054b50, 4);
  at = put(at, 0, 4);  // one part only
  at = put(at, n, 2);
  at = put(at, n, 2);
  at = put(at, size, 4);
  at = put(at, offset, 4);
  put(at, 0, 2);  // no comment
  w->file.n += size + END_SIZE;
  return CPL_OK;
}

cpl_status cpli_zip_write(cpl_context* ctx, const char* path, const cpli_zip_entry* entries,
                          size_t n) {
  writer w = {.ctx = ctx, .path = path};
  cpl_status st = CPL_OK;
  if (n > UINT16_MAX - 1)
    return cpli_fail_file(ctx, CPL_ERR_UNSUPPORTED, path, "too many files for an archive: %zu", n);
  for (size_t i = 0; i < n && st >= 0; i++) st = add(&w, &entries[i]);
  if (st >= 0) st = finish(&w, n);
  if (st >= 0) st = cpli_file_make(ctx, path, w.file.data, w.file.n);
  cpli_free(ctx, w.file.data);
  cpli_free(ctx, w.directory.data);
  return st;
}
