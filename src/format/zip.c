// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the directory of an archive (with the records of ZIP64) and unpacks entries by zlib. All
// entries are checked when the archive is opened; unpacking fails where an entry is longer or
// shorter than the directory says, or its checksum differs.
#include "format/zip.h"
#include "format/source_loc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "format/encoding.h"
#include "format/folder.h"

enum {
  STORED = 0,
  DEFLATED = 8,
  LOCAL_SIZE = 30,       // of the header before the bytes of an entry, without its texts
  CENTRAL_SIZE = 46,     // of an entry of the directory, without its texts
  END_SIZE = 22,         // of the record at the end of an archive, without its comment
  END64_SIZE = 56,       // of the same of ZIP64
  LOCATOR_SIZE = 20,     // of the record that locates it
  MAX_COMMENT = 0xffff,  // bytes
  PIECE = 64 * 1024,     // bytes that are read and unpacked at once
  MADE_ON_UNIX = 3,      // by archivers that store modes of files
  MADE_ON_MACOS = 19,
};

typedef struct entry {
  const char* name;  // of zip->texts
  uint64_t offset;   // of its local header
  uint64_t packed, size;
  uint32_t crc;
  uint32_t attributes;
  uint16_t flags, method;
  uint8_t system;
} entry;

struct cpli_zip {
  cpl_context* ctx;
  char* path;
  int fd;
  uint64_t file_size;
  cpli_zip_id id;
  cpli_arena texts;
  entry* entries;
  size_t count;
  cpli_names index;
};

static cpli_zip_limits default_limits(void) {
  const uint64_t gib = UINT64_C(1) << 30;
  return (cpli_zip_limits){.entries = 200000, .entry_size = 2 * gib, .total_size = 2 * gib};
}

//------------------------------------ bytes ------------------------------------

static uint16_t u16(const uint8_t* b) { return (uint16_t)(b[0] | b[1] << 8); }
static uint32_t u32(const uint8_t* b) { return u16(b) | (uint32_t)u16(b + 2) << 16; }
static uint64_t u64(const uint8_t* b) { return u32(b) | (uint64_t)u32(b + 4) << 32; }

// Reads up to `size` bytes; fewer at the end of the file.
static cpl_status read_at(const cpli_zip* zip, uint64_t offset, void* to, size_t size, size_t* n) {
  const uint64_t left = offset < zip->file_size ? zip->file_size - offset : 0;
  if (size > left) size = (size_t)left;
  for (*n = 0; *n < size;) {
    ssize_t got = pread(zip->fd, (char*)to + *n, size - *n, (off_t)(offset + *n));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cpli_fail_file(zip->ctx, CPL_ERR_IO, zip->path, "%s", strerror(errno));
    if (got == 0) break;
    *n += (size_t)got;
  }
  return CPL_OK;
}

static cpl_status damaged(const cpli_zip* zip, const char* why) {
  return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "damaged zip archive: %s", why);
}

//------------------------------------ checks ------------------------------------

// Why a name must not be used as a path; NULL: it may.
static const char* bad_name(const char* name) {
  size_t len = strlen(name);
  if (len == 0) return "has no name";
  if (len > 1024) return "has a name that is too long";
  if (name[0] == '/') return "has an absolute name";
  for (const char* c = name; *c != '\0'; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7f) return "has a control character in its name";
  }
  if (name[1] == ':') return "has a name with a drive letter";
  for (const char* part = name; *part != '\0';) {
    size_t n = strcspn(part, "/");
    if (n == 0) return "has an empty folder in its name";
    if (n == 1 && part[0] == '.') return "has '.' as a part of its name";
    if (n == 2 && part[0] == '.' && part[1] == '.') return "leads outside the archive ('..')";
    part += n;
    if (*part == '/') part++;
  }
  return NULL;
}

// Links, devices and the like can be stored by archivers on Unix and macOS only.
static bool is_plain(const entry* e) {
  if (e->system != MADE_ON_UNIX && e->system != MADE_ON_MACOS) return true;
  mode_t format = (e->attributes >> 16) & S_IFMT;
  return format == 0 || format == S_IFREG || format == S_IFDIR;
}

static cpl_status bad_entry(const cpli_zip* zip, size_t i, const char* name, const char* why) {
  char shown[256];  // a hostile name must be escaped for a terminal
  size_t n = 0;
  for (; name != NULL && name[n] != '\0' && n + 1 < sizeof shown; n++)
    shown[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
  shown[n] = '\0';
  return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "entry %zu (%s) %s", i + 1, shown, why);
}

static cpl_status check_entry(cpli_zip* zip, size_t i, const cpli_zip_limits* limits,
                              uint64_t* total) {
  enum { ENCRYPTED = 1 << 0 | 1 << 6 };  // the old way and the strong one
  const entry* e = &zip->entries[i];
  if (e->name[0] == '\0' && e->size == 0) return CPL_OK;
  const char* why = bad_name(e->name);
  if (why != NULL) return bad_entry(zip, i, e->name, why);
  if (!is_plain(e)) return bad_entry(zip, i, e->name, "is a link or a special file");
  if ((e->flags & ENCRYPTED) != 0) return bad_entry(zip, i, e->name, "is encrypted");
  if (e->size > limits->entry_size) return bad_entry(zip, i, e->name, "is too large");
  *total += e->size;
  if (*total > limits->total_size) {
    return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "more than %llu bytes when unpacked",
                          (unsigned long long)limits->total_size);
  }

  int32_t known = cpli_names_add(&zip->index, e->name, (int32_t)i);
  if (known == CPL_ERR_NOMEM) return cpli_nomem(zip->ctx);
  if (known == (int32_t)i) return CPL_OK;
  // tools that append to archives repeat entries; of two that differ, readers would see either
  const entry* first = &zip->entries[known];
  if (first->size == e->size && first->crc == e->crc) return CPL_OK;
  return bad_entry(zip, i, e->name, "is there twice");
}

// "a" and "a/b": whichever is unpacked first, the other one cannot be.
static cpl_status check_folders(cpli_zip* zip) {
  char folder[4096];
  for (size_t i = 0; i < zip->count; i++) {
    const char* name = zip->entries[i].name;
    for (const char* slash = strchr(name, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
      const size_t n = (size_t)(slash - name);
      if (n >= sizeof folder) return bad_entry(zip, i, name, "has too long a name");
      memcpy(folder, name, n);
      folder[n] = '\0';
      if (cpli_names_find(&zip->index, folder) >= 0)
        return bad_entry(zip, i, name, "lies in a folder that is a file of the archive, too");
    }
  }
  return CPL_OK;
}

//------------------------------------ directory ------------------------------------

// Names of other encodings than UTF-8 are shown by some archive tools in one of DOS, by others in
// one of Windows; here only the characters of ASCII matter, and the result is valid UTF-8.
static char* readable_name(cpli_zip* zip, const char* bytes, size_t n) {
  if (cpli_utf8_prefix(bytes, n) == n) return cpli_arena_strndup(&zip->texts, bytes, n);
  size_t size = 0;
  char* text = cpli_from_windows_1252(zip->ctx, bytes, n, &size);
  char* kept = text != NULL ? cpli_arena_strndup(&zip->texts, text, size) : NULL;
  cpli_free(zip->ctx, text);
  return kept;
}

// Some tools on Windows write "binaries\\linux64", while the standard allows '/' only; some write
// "./" and "./name" for the folder itself and "name".
static const char* mended_name(cpli_zip* zip, const char* bytes, size_t n) {
  char* name = readable_name(zip, bytes, n);
  for (char* c = name; c != NULL && *c != '\0'; c++) {
    if (*c == '\\') *c = '/';
  }
  while (name != NULL && name[0] == '.' && name[1] == '/') name += 2;
  return name;
}

// Sizes and offsets that need more than 32 bits are in an extra field, in this order.
static bool read_zip64(entry* e, const uint8_t* extra, size_t n) {
  enum { TAG = 1 };
  uint64_t* values[] = {&e->size, &e->packed, &e->offset};
  while (n >= 4 && u16(extra) != TAG) {
    size_t skip = 4 + (size_t)u16(extra + 2);
    if (skip > n) break;
    extra += skip;
    n -= skip;
  }
  bool there = n >= 4 && u16(extra) == TAG && 4 + (size_t)u16(extra + 2) <= n;
  size_t left = there ? u16(extra + 2) : 0;
  const uint8_t* at = extra + 4;
  for (size_t i = 0; i < CPLI_COUNT(values); i++) {
    if (*values[i] != UINT32_MAX) continue;
    if (left < 8) return !there;  // without the field the number is meant
    *values[i] = u64(at);
    at += 8;
    left -= 8;
  }
  return true;
}

// Reads an entry of the directory, which has `left` bytes. `used`: bytes of it.
static cpl_status read_entry(cpli_zip* zip, size_t i, const uint8_t* at, size_t left,
                             size_t* used) {
  if (left < CENTRAL_SIZE || memcmp(at, "PK\1\2", 4) != 0)
    return damaged(zip, "its directory ends early");
  size_t name = u16(at + 28), extra = u16(at + 30), comment = u16(at + 32);
  *used = CENTRAL_SIZE + name + extra + comment;
  if (*used > left) return damaged(zip, "its directory ends early");
  entry* e = &zip->entries[i];
  *e = (entry){.system = at[5],
               .flags = u16(at + 8),
               .method = u16(at + 10),
               .crc = u32(at + 16),
               .packed = u32(at + 20),
               .size = u32(at + 24),
               .attributes = u32(at + 38),
               .offset = u32(at + 42)};
  const char* bytes = (const char*)at + CENTRAL_SIZE;
  if (memchr(bytes, '\0', name) != NULL)
    return bad_entry(zip, i, "", "has a zero byte in its name");
  if (!read_zip64(e, at + CENTRAL_SIZE + name, extra))
    return bad_entry(zip, i, "", "has no size that can be read");
  e->name = mended_name(zip, bytes, name);
  return e->name != NULL ? CPL_OK : cpli_nomem(zip->ctx);
}

typedef struct directory {
  uint64_t offset, size, count;
} directory;

// The record of ZIP64, where a number of the other record does not fit into it. `end`: offset of
// the other one.
static cpl_status read_end64(const cpli_zip* zip, uint64_t end, directory* d) {
  uint8_t locator[LOCATOR_SIZE], record[END64_SIZE];
  size_t n = 0;
  if (end < LOCATOR_SIZE) return CPL_OK;
  cpl_status st = read_at(zip, end - LOCATOR_SIZE, locator, sizeof locator, &n);
  if (st < 0 || n < sizeof locator || memcmp(locator, "PK\6\7", 4) != 0) return st;
  uint64_t at = u64(locator + 8);
  if (at > zip->file_size) return damaged(zip, "its last record is missing");
  st = read_at(zip, at, record, sizeof record, &n);
  if (st < 0) return st;
  if (n < sizeof record || memcmp(record, "PK\6\6", 4) != 0)
    return damaged(zip, "its last record is missing");
  *d = (directory){.count = u64(record + 32), .size = u64(record + 40), .offset = u64(record + 48)};
  return CPL_OK;
}

// Finds the record at the end of the file, before a comment.
static cpl_status find_directory(const cpli_zip* zip, directory* d) {
  const uint64_t room = END_SIZE + MAX_COMMENT;
  size_t size = (size_t)(zip->file_size < room ? zip->file_size : room), n = 0;
  uint8_t* tail = cpli_realloc(zip->ctx, NULL, size + 1, 1);
  if (tail == NULL) return cpli_nomem(zip->ctx);
  const uint64_t begin = zip->file_size - size;
  cpl_status st = read_at(zip, begin, tail, size, &n);
  const uint8_t* end = NULL;
  for (size_t i = n; st >= 0 && end == NULL && i >= END_SIZE; i--) {
    const uint8_t* at = tail + i - END_SIZE;
    if (memcmp(at, "PK\5\6", 4) == 0 && u16(at + 20) <= n - i) end = at;
  }
  if (st >= 0 && end == NULL) {
    st = cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path,
                        "not a zip archive, or only a part of one");
  } else if (st >= 0) {
    *d = (directory){.count = u16(end + 10), .size = u32(end + 12), .offset = u32(end + 16)};
    if (u16(end + 4) != 0 || u16(end + 6) != 0) st = damaged(zip, "it is one of several parts");
    uint64_t at = begin + (uint64_t)(end - tail);
    if (st >= 0 && (d->count == UINT16_MAX || d->size == UINT32_MAX || d->offset == UINT32_MAX))
      st = read_end64(zip, at, d);
    if (st >= 0 && (d->offset > at || d->size > at - d->offset))
      st = damaged(zip, "its directory is outside the file");
    if (st >= 0 && d->count > d->size / CENTRAL_SIZE) st = damaged(zip, "its directory ends early");
  }
  cpli_free(zip->ctx, tail);
  return st;
}

static cpl_status read_entries(cpli_zip* zip, const directory* d, const cpli_zip_limits* limits) {
  size_t n = 0, used = 0;
  uint64_t total = 0;
  uint8_t* bytes = cpli_realloc(zip->ctx, NULL, (size_t)d->size + 1, 1);
  zip->entries = cpli_alloc(zip->ctx, (size_t)d->count, sizeof *zip->entries);
  cpl_status st = bytes == NULL || zip->entries == NULL ? cpli_nomem(zip->ctx) : CPL_OK;
  if (st >= 0) st = cpli_names_init(&zip->index, zip->ctx, (size_t)d->count);
  if (st >= 0) st = read_at(zip, d->offset, bytes, (size_t)d->size, &n);
  for (const uint8_t* at = bytes; st >= 0 && zip->count < d->count; at += used) {
    st = read_entry(zip, zip->count, at, n - (size_t)(at - bytes), &used);
    if (st >= 0) st = check_entry(zip, zip->count, limits, &total);
    zip->count++;
  }
  cpli_free(zip->ctx, bytes);
  return st >= 0 ? check_folders(zip) : st;
}

static cpl_status open_file(cpli_zip* zip) {
  struct stat info;
  zip->fd = open(zip->path, O_RDONLY | O_CLOEXEC);
  if (zip->fd < 0 && errno == ENOENT)
    return cpli_fail_file(zip->ctx, CPL_ERR_IO, zip->path, "no such file");
  if (zip->fd < 0 || fstat(zip->fd, &info) != 0)
    return cpli_fail_file(zip->ctx, CPL_ERR_IO, zip->path, "%s", strerror(errno));
  if (!S_ISREG(info.st_mode))
    return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "not a regular file");
  zip->file_size = (uint64_t)info.st_size;
  zip->id = (cpli_zip_id){info.st_dev, info.st_ino, info.st_size, info.st_mtim, info.st_ctim};
  return CPL_OK;
}

//------------------------------------ open, close ------------------------------------

cpl_status cpli_zip_open(cpl_context* ctx, const char* path, const cpli_zip_limits* limits,
                         cpli_zip** out) {
  *out = NULL;
  cpli_zip_limits lim = limits != NULL ? *limits : default_limits();
  cpli_zip* zip = cpli_alloc(ctx, 1, sizeof *zip);
  if (zip == NULL) return cpli_nomem(ctx);
  zip->ctx = ctx;
  zip->fd = -1;
  cpli_arena_init(&zip->texts, ctx);
  zip->path = cpli_strdup(ctx, path);

  directory d = {0};
  cpl_status st = zip->path == NULL ? cpli_nomem(ctx) : open_file(zip);
  if (st >= 0) st = find_directory(zip, &d);
  if (st >= 0 && (d.count > lim.entries || d.count > INT32_MAX))
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, path, "too many entries (%llu; at most %llu)",
                        (unsigned long long)d.count, (unsigned long long)lim.entries);
  if (st >= 0) st = read_entries(zip, &d, &lim);
  if (st < 0) {
    cpli_zip_close(zip);
    return st;
  }
  *out = zip;
  return CPL_OK;
}

void cpli_zip_close(cpli_zip* zip) {
  if (zip == NULL) return;
  if (zip->fd >= 0) close(zip->fd);
  cpli_names_free(&zip->index);
  cpli_arena_free(&zip->texts);
  cpli_free(zip->ctx, zip->entries);
  cpli_free(zip->ctx, zip->path);
  cpli_free(zip->ctx, zip);
}

const cpli_zip_id* cpli_zip_file_id(const cpli_zip* zip) { return &zip->id; }

bool cpli_zip_same_file(const cpli_zip_id* a, const cpli_zip_id* b) {
  return a->device == b->device && a->inode == b->inode && a->size == b->size &&
         a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
         a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

size_t cpli_zip_count(const cpli_zip* zip) { return zip->count; }

const char* cpli_zip_name(const cpli_zip* zip, size_t i) { return zip->entries[i].name; }

bool cpli_zip_has(const cpli_zip* zip, const char* name) {
  return cpli_names_find(&zip->index, name) >= 0;
}

int cpli_zip_method(const cpli_zip* zip, size_t i) { return zip->entries[i].method; }

//------------------------------------ unpack ------------------------------------

static cpl_status read_failed(const cpli_zip* zip, size_t i, const char* why) {
  return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "%s cannot be unpacked: %s",
                        zip->entries[i].name, why);
}

// An entry that is unpacked: its packed bytes pass through `in`, the unpacked ones through `out`.
typedef struct unpacking {
  cpli_zip* zip;
  size_t i;
  cpl_status (*take)(void* user, const char* bytes, size_t n);
  void* user;
  uint64_t at;           // offset in the file of the bytes behind those in `in`
  uint64_t packed_left;  // bytes that have not been read
  uint64_t left;         // unpacked bytes that have not been taken
  uint32_t crc;
  const uint8_t* next;  // bytes of `in` that have not been used
  size_t n_next;
  uint8_t *in, *out;  // PIECE bytes each
} unpacking;

static cpl_status give(unpacking* u, const uint8_t* bytes, size_t n) {
  if (n > u->left) return read_failed(u->zip, u->i, "it is longer than its directory says");
  u->left -= n;
  u->crc = (uint32_t)crc32(u->crc, bytes, (uInt)n);
  return u->take(u->user, (const char*)bytes, n);
}

// Reads the next packed bytes when all have been used.
static cpl_status refill(unpacking* u) {
  if (u->n_next > 0 || u->packed_left == 0) return CPL_OK;
  size_t wanted = u->packed_left < PIECE ? (size_t)u->packed_left : PIECE;
  cpl_status st = read_at(u->zip, u->at, u->in, wanted, &u->n_next);
  if (st < 0) return st;
  if (u->n_next == 0) return read_failed(u->zip, u->i, "the file ends early");
  u->next = u->in;
  u->at += u->n_next;
  u->packed_left -= u->n_next;
  return CPL_OK;
}

// Reads the local header, and with it the first bytes.
static cpl_status begin_unpacking(unpacking* u) {
  const entry* e = &u->zip->entries[u->i];
  size_t n = 0;
  if (e->offset > u->zip->file_size || e->packed > u->zip->file_size)
    return read_failed(u->zip, u->i, "it is outside the file");
  cpl_status st = read_at(u->zip, e->offset, u->in, PIECE, &n);
  if (st < 0) return st;
  if (n < LOCAL_SIZE || memcmp(u->in, "PK\3\4", 4) != 0)
    return read_failed(u->zip, u->i, "its header is damaged");
  size_t skip = LOCAL_SIZE + (size_t)u16(u->in + 26) + u16(u->in + 28);
  u->packed_left = e->packed;
  u->at = e->offset + skip;
  if (skip >= n) return CPL_OK;
  u->next = u->in + skip;
  u->n_next = n - skip < e->packed ? n - skip : (size_t)e->packed;
  u->at += u->n_next;
  u->packed_left -= u->n_next;
  return CPL_OK;
}

static cpl_status unpack_stored(unpacking* u) {
  cpl_status st = refill(u);
  while (st >= 0 && u->n_next > 0) {
    st = give(u, u->next, u->n_next);
    u->n_next = 0;
    if (st >= 0) st = refill(u);
  }
  return st;
}

static cpl_status unpack_deflated(unpacking* u) {
  z_stream z = {0};
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) return cpli_nomem(u->zip->ctx);
  cpl_status st = CPL_OK;
  for (int code = Z_OK; st >= 0 && code != Z_STREAM_END;) {
    st = refill(u);
    if (st < 0) break;
    z.next_in = (Bytef*)u->next;
    z.avail_in = (uInt)u->n_next;
    z.next_out = u->out;
    z.avail_out = PIECE;
    code = inflate(&z, Z_NO_FLUSH);
    u->next = z.next_in;
    u->n_next = z.avail_in;
    if (code == Z_MEM_ERROR) st = cpli_nomem(u->zip->ctx);
    else if (code == Z_BUF_ERROR) st = read_failed(u->zip, u->i, "its bytes end early");
    else if (code != Z_OK && code != Z_STREAM_END)
      st = read_failed(u->zip, u->i, z.msg != NULL ? z.msg : "its bytes are damaged");
    else st = give(u, u->out, PIECE - z.avail_out);
  }
  inflateEnd(&z);
  return st;
}

// Pass the bytes of an entry to `take` in blocks; never more than the directory declares.
static cpl_status unpack(cpli_zip* zip, size_t i,
                         cpl_status (*take)(void* user, const char* bytes, size_t n), void* user) {
  const entry* e = &zip->entries[i];
  if (e->method != STORED && e->method != DEFLATED) {
    return cpli_fail_file(zip->ctx, CPL_ERR_UNSUPPORTED, zip->path,
                          "%s is compressed by method %d of zip; readers of FMUs know 8 (deflate) "
                          "and 0 (none) only: make the archive again with one of them",
                          e->name, e->method);
  }
  unpacking u = {.zip = zip, .i = i, .take = take, .user = user, .left = e->size};
  u.in = cpli_realloc(zip->ctx, NULL, 2 * PIECE, 1);
  if (u.in == NULL) return cpli_nomem(zip->ctx);
  u.out = u.in + PIECE;
  cpl_status st = begin_unpacking(&u);
  if (st >= 0) st = e->method == STORED ? unpack_stored(&u) : unpack_deflated(&u);
  if (st >= 0 && u.left > 0) st = read_failed(zip, i, "it is shorter than its directory says");
  if (st >= 0 && u.crc != e->crc) st = read_failed(zip, i, "its checksum is wrong");
  cpli_free(zip->ctx, u.in);
  return st;
}

//------------------------------------ read, extract ------------------------------------

static cpl_status take_memory(void* user, const char* bytes, size_t n) {
  char** at = user;
  memcpy(*at, bytes, n);
  *at += n;
  return CPL_OK;
}

cpl_status cpli_zip_read(cpli_zip* zip, const char* name, size_t max_size, char** out,
                         size_t* size) {
  *out = NULL;
  *size = 0;
  int32_t i = cpli_names_find(&zip->index, name);
  if (i < 0) return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "no %s inside", name);
  if (zip->entries[i].size > max_size) return bad_entry(zip, (size_t)i, name, "is too large");
  char* text = cpli_realloc(zip->ctx, NULL, (size_t)zip->entries[i].size + 1, 1);
  if (text == NULL) return cpli_nomem(zip->ctx);
  char* at = text;
  cpl_status st = unpack(zip, (size_t)i, take_memory, &at);
  if (st < 0) {
    cpli_free(zip->ctx, text);
    return st;
  }
  *at = '\0';
  *out = text;
  *size = (size_t)zip->entries[i].size;
  return CPL_OK;
}

typedef struct target {
  cpl_context* ctx;
  const char* path;
  int fd;
} target;

static cpl_status take_file(void* user, const char* bytes, size_t n) {
  target* t = user;
  while (n > 0) {
    ssize_t written = write(t->fd, bytes, n);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cpli_fail_file(t->ctx, CPL_ERR_IO, t->path, "%s", strerror(errno));
    bytes += written;
    n -= (size_t)written;
  }
  return CPL_OK;
}

// FMUs run programs and libraries from their resources too, and archivers on Windows lose the
// executable bit: so everything gets it. Folders are made when a file is missing one.
static cpl_status create_file(target* t, char* path) {
  enum { FLAGS = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC };
  t->fd = open(path, FLAGS, 0700);
  if (t->fd < 0 && errno == ENOENT) {
    cpl_status st = cpli_make_parents(t->ctx, path);
    if (st < 0) return st;
    t->fd = open(path, FLAGS, 0700);
  }
  return t->fd >= 0 ? CPL_OK : cpli_fail_file(t->ctx, CPL_ERR_IO, path, "%s", strerror(errno));
}

static cpl_status extract_entry(cpli_zip* zip, size_t i, const char* folder) {
  char* path = cpli_printf(zip->ctx, "%s/%s", folder, zip->entries[i].name);
  if (path == NULL) return cpli_nomem(zip->ctx);
  cpl_status st;
  if (path[strlen(path) - 1] == '/') {
    st = cpli_make_parents(zip->ctx, path);
  } else {
    target t = {.ctx = zip->ctx, .path = path};
    st = create_file(&t, path);
    if (st >= 0) st = unpack(zip, i, take_file, &t);
    if (t.fd >= 0 && close(t.fd) != 0 && st >= 0)
      st = cpli_fail_file(zip->ctx, CPL_ERR_IO, path, "%s", strerror(errno));
  }
  cpli_free(zip->ctx, path);
  return st;
}

cpl_status cpli_zip_extract(cpli_zip* zip, const char* const* prefixes, size_t n_prefixes,
                            const char* folder) {
  for (size_t i = 0; i < zip->count; i++) {
    bool wanted = false;
    for (size_t k = 0; k < n_prefixes && !wanted; k++)
      wanted = strncmp(zip->entries[i].name, prefixes[k], strlen(prefixes[k])) == 0;
    cpl_status st = wanted ? extract_entry(zip, i, folder) : CPL_OK;
    if (st < 0) return st;
  }
  return CPL_OK;
}

cpl_status cpli_zip_extract_entry(cpli_zip* zip, const char* name, const char* folder) {
  int32_t i = cpli_names_find(&zip->index, name);
  if (i < 0) return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "no %s inside", name);
  return extract_entry(zip, (size_t)i, folder);
}
