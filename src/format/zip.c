// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Uses libzip. All entries are checked when the archive is opened; unpacking fails where an entry
// is longer or shorter than the directory says.
#include "format/zip.h"
#include "format/source_loc.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "format/folder.h"

struct cpli_zip {
  cpl_context* ctx;
  zip_t* archive;
  char* path;
  const char**
      names;  // borrowed from libzip, which keeps them until the archive is closed, or mended
  cpli_arena mended;  // names that were written with backslashes
  uint64_t* sizes;
  size_t count;
  cpli_names index;
};

static cpli_zip_limits default_limits(void) {
  const uint64_t gib = UINT64_C(1) << 30;
  return (cpli_zip_limits){.entries = 200000, .entry_size = 2 * gib, .total_size = 2 * gib};
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
static bool is_plain(zip_t* archive, zip_uint64_t i) {
  zip_uint8_t system = 0;
  zip_uint32_t attributes = 0;
  if (zip_file_get_external_attributes(archive, i, 0, &system, &attributes) != 0) return false;
  if (system != ZIP_OPSYS_UNIX && system != ZIP_OPSYS_OS_X) return true;
  mode_t format = (attributes >> 16) & S_IFMT;
  return format == 0 || format == S_IFREG || format == S_IFDIR;
}

static cpl_status bad_entry(cpli_zip* zip, size_t i, const char* name, const char* why) {
  char shown[256];  // a hostile name must be escaped for a terminal
  size_t n = 0;
  for (; name != NULL && name[n] != '\0' && n + 1 < sizeof shown; n++)
    shown[n] = (unsigned char)name[n] < 0x20 || name[n] == 0x7f ? '?' : name[n];
  shown[n] = '\0';
  return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "entry %zu (%s) %s", i + 1, shown, why);
}

// Some tools on Windows write "binaries\\linux64"; the standard knows '/' only. The checks come
// after this.
static const char* with_slashes(cpli_zip* zip, const char* name) {
  if (strchr(name, '\\') == NULL) return name;
  char* copy = cpli_arena_strdup(&zip->mended, name);
  for (char* c = copy; c != NULL && *c != '\0'; c++) {
    if (*c == '\\') *c = '/';
  }
  return copy;
}

static bool same_content(const cpli_zip* zip, zip_uint64_t first, const zip_stat_t* again) {
  zip_stat_t info;
  zip_stat_init(&info);
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_CRC;
  if (zip_stat_index(zip->archive, first, 0, &info) != 0) return false;
  if ((info.valid & needed) != needed || (again->valid & needed) != needed) return false;
  return info.size == again->size && info.crc == again->crc;
}

static cpl_status check_entry(cpli_zip* zip, size_t i, const cpli_zip_limits* limits,
                              uint64_t* total) {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(zip->archive, i, 0, &info) != 0 || !(info.valid & ZIP_STAT_NAME) ||
      !(info.valid & ZIP_STAT_SIZE)) {
    return bad_entry(zip, i, "", "cannot be read");
  }
  // some archivers write "./" and "./name"; that is the folder itself and "name"
  info.name = with_slashes(zip, info.name);
  if (info.name == NULL) return cpli_nomem(zip->ctx);
  while (info.name[0] == '.' && info.name[1] == '/') info.name += 2;
  zip->names[i] = info.name;
  zip->sizes[i] = info.size;
  if (info.name[0] == '\0' && info.size == 0) return CPL_OK;
  const char* why = bad_name(info.name);
  if (why != NULL) return bad_entry(zip, i, info.name, why);
  if (!is_plain(zip->archive, i)) {
    return bad_entry(zip, i, info.name, "is a link or a special file");
  }
  if ((info.valid & ZIP_STAT_ENCRYPTION_METHOD) && info.encryption_method != ZIP_EM_NONE) {
    return bad_entry(zip, i, info.name, "is encrypted");
  }
  if (info.size > limits->entry_size) return bad_entry(zip, i, info.name, "is too large");
  *total += info.size;
  if (*total > limits->total_size) {
    return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "more than %llu bytes when unpacked",
                          (unsigned long long)limits->total_size);
  }

  int32_t known = cpli_names_add(&zip->index, info.name, (int32_t)i);
  if (known == CPL_ERR_NOMEM) return cpli_nomem(zip->ctx);
  // tools that append to archives repeat entries; of two that differ, readers would see either
  if (known == (int32_t)i || same_content(zip, (zip_uint64_t)known, &info)) return CPL_OK;
  return bad_entry(zip, i, info.name, "is there twice");
}

// "a" and "a/b": whichever is unpacked first, the other one cannot be.
static cpl_status check_folders(cpli_zip* zip) {
  char folder[4096];
  for (size_t i = 0; i < zip->count; i++) {
    const char* name = zip->names[i];
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

//------------------------------------ open, close ------------------------------------

static cpl_status open_archive(cpli_zip* zip) {
  int code = 0;
  zip->archive = zip_open(zip->path, ZIP_RDONLY, &code);
  if (zip->archive != NULL) return CPL_OK;
  if (code == ZIP_ER_MEMORY) return cpli_nomem(zip->ctx);
  if (code == ZIP_ER_NOENT) {
    return cpli_fail_file(zip->ctx, CPL_ERR_IO, zip->path, "no such file");
  }
  if (code == ZIP_ER_OPEN || code == ZIP_ER_READ || code == ZIP_ER_SEEK) {
    return cpli_fail_file(zip->ctx, CPL_ERR_IO, zip->path, "%s", strerror(errno));
  }
  if (code == ZIP_ER_NOZIP) {
    return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path,
                          "not a zip archive, or only a part of one");
  }
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  cpl_status st = cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "damaged zip archive: %s",
                                 zip_error_strerror(&error));
  zip_error_fini(&error);
  return st;
}

static cpl_status check_entries(cpli_zip* zip, const cpli_zip_limits* limits) {
  zip_int64_t count = zip_get_num_entries(zip->archive, 0);
  if (count < 0 || (uint64_t)count > limits->entries || count > INT32_MAX) {
    return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path,
                          "too many entries (%lld; at most %llu)", (long long)count,
                          (unsigned long long)limits->entries);
  }
  cpli_arena_init(&zip->mended, zip->ctx);
  zip->names = cpli_alloc(zip->ctx, (size_t)count, sizeof *zip->names);
  zip->sizes = cpli_alloc(zip->ctx, (size_t)count, sizeof *zip->sizes);
  if (zip->names == NULL || zip->sizes == NULL) return cpli_nomem(zip->ctx);
  cpl_status st = cpli_names_init(&zip->index, zip->ctx, (size_t)count);
  uint64_t total = 0;
  for (; st >= 0 && zip->count < (size_t)count; zip->count++)
    st = check_entry(zip, zip->count, limits, &total);
  return st >= 0 ? check_folders(zip) : st;
}

cpl_status cpli_zip_open(cpl_context* ctx, const char* path, const cpli_zip_limits* limits,
                         cpli_zip** out) {
  *out = NULL;
  cpli_zip_limits lim = limits != NULL ? *limits : default_limits();
  cpli_zip* zip = cpli_alloc(ctx, 1, sizeof *zip);
  if (zip == NULL) return cpli_nomem(ctx);
  zip->ctx = ctx;
  zip->path = cpli_strdup(ctx, path);

  cpl_status st = zip->path == NULL ? cpli_nomem(ctx) : open_archive(zip);
  if (st >= 0) st = check_entries(zip, &lim);
  if (st < 0) {
    cpli_zip_close(zip);
    return st;
  }
  *out = zip;
  return CPL_OK;
}

void cpli_zip_close(cpli_zip* zip) {
  if (zip == NULL) return;
  if (zip->archive != NULL) zip_discard(zip->archive);
  cpli_names_free(&zip->index);
  cpli_arena_free(&zip->mended);
  cpli_free(zip->ctx, zip->names);
  cpli_free(zip->ctx, zip->sizes);
  cpli_free(zip->ctx, zip->path);
  cpli_free(zip->ctx, zip);
}

size_t cpli_zip_count(const cpli_zip* zip) { return zip->count; }

const char* cpli_zip_name(const cpli_zip* zip, size_t i) { return zip->names[i]; }

bool cpli_zip_has(const cpli_zip* zip, const char* name) {
  return cpli_names_find(&zip->index, name) >= 0;
}

int cpli_zip_method(const cpli_zip* zip, size_t i) {
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_stat_index(zip->archive, i, 0, &info) != 0) return -1;
  return info.valid & ZIP_STAT_COMP_METHOD ? info.comp_method : -1;
}

//------------------------------------ read, extract ------------------------------------

static cpl_status read_failed(cpli_zip* zip, size_t i, const char* why) {
  return cpli_fail_file(zip->ctx, CPL_ERR_INPUT, zip->path, "%s cannot be unpacked: %s",
                        zip->names[i], why);
}

// Pass the bytes of an entry to `take` in blocks; never more than the directory declares.
static cpl_status unpack(cpli_zip* zip, size_t i,
                         cpl_status (*take)(void* user, const char* bytes, size_t n), void* user) {
  zip_file_t* file = zip_fopen_index(zip->archive, i, 0);
  if (file == NULL) return read_failed(zip, i, zip_strerror(zip->archive));
  enum { PIECE = 64 * 1024 };
  char* piece = cpli_realloc(zip->ctx, NULL, PIECE, 1);
  cpl_status st = piece == NULL ? cpli_nomem(zip->ctx) : CPL_OK;
  uint64_t left = zip->sizes[i];
  while (st >= 0) {
    zip_int64_t n = zip_fread(file, piece, PIECE);
    if (n == 0 && left > 0) st = read_failed(zip, i, "it is shorter than its directory says");
    if (n < 0) st = read_failed(zip, i, zip_file_strerror(file));
    if (n <= 0) break;
    if ((uint64_t)n > left) {
      st = read_failed(zip, i, "it is longer than its directory says");
    } else {
      left -= (uint64_t)n;
      st = take(user, piece, (size_t)n);
    }
  }
  cpli_free(zip->ctx, piece);
  zip_fclose(file);
  return st;
}

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
  if (zip->sizes[i] > max_size) return bad_entry(zip, (size_t)i, name, "is too large");
  char* text = cpli_realloc(zip->ctx, NULL, (size_t)zip->sizes[i] + 1, 1);
  if (text == NULL) return cpli_nomem(zip->ctx);
  char* at = text;
  cpl_status st = unpack(zip, (size_t)i, take_memory, &at);
  if (st < 0) {
    cpli_free(zip->ctx, text);
    return st;
  }
  *at = '\0';
  *out = text;
  *size = (size_t)zip->sizes[i];
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

static cpl_status extract_entry(cpli_zip* zip, size_t i, const char* folder) {
  char* path = cpli_printf(zip->ctx, "%s/%s", folder, zip->names[i]);
  if (path == NULL) return cpli_nomem(zip->ctx);
  cpl_status st = cpli_make_parents(zip->ctx, path);
  if (st >= 0 && path[strlen(path) - 1] != '/') {
    // FMUs run programs and libraries from their resources too, and archivers on Windows lose the
    // executable bit: so everything gets it
    target t = {.ctx = zip->ctx, .path = path};
    t.fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0700);
    if (t.fd < 0) {
      st = cpli_fail_file(zip->ctx, CPL_ERR_IO, path, "%s", strerror(errno));
    } else {
      st = unpack(zip, i, take_file, &t);
      if (close(t.fd) != 0 && st >= 0)
        st = cpli_fail_file(zip->ctx, CPL_ERR_IO, path, "%s", strerror(errno));
    }
  }
  cpli_free(zip->ctx, path);
  return st;
}

cpl_status cpli_zip_extract(cpli_zip* zip, const char* const* prefixes, size_t n_prefixes,
                            const char* folder) {
  for (size_t i = 0; i < zip->count; i++) {
    bool wanted = false;
    for (size_t k = 0; k < n_prefixes && !wanted; k++)
      wanted = strncmp(zip->names[i], prefixes[k], strlen(prefixes[k])) == 0;
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
