// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Walks from the headers to the import table, with every offset checked against the size of the
// file.
#include "format/pe.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <strings.h>

#include "format/file.h"

// Offsets and sizes of the format; those of the optional header differ by word size.
enum {
  LARGEST = 1 << 30,
  HEADER_AT = 0x3c,
  FILE_HEADER = 24,
  SECTION = 40,
  IMPORT = 20,
  MACHINE_32 = 0x14c,
  MACHINE_64 = 0x8664,
  DIRECTORIES_32 = 96,
  DIRECTORIES_64 = 112,
  DEEPEST = 4,
};

typedef struct image {
  const unsigned char* bytes;
  size_t size;
  size_t header, sections, n_sections;
  int bits;
} image;

static uint32_t number(const image* f, uint64_t at, int n) {
  uint32_t value = 0;
  if (at > f->size || f->size - at < (size_t)n) return 0;
  for (int i = 0; i < n; i++) value |= (uint32_t)f->bytes[at + (size_t)i] << (8 * i);
  return value;
}

static bool read_headers(image* f) {
  if (f->size < 64 || memcmp(f->bytes, "MZ", 2) != 0) return false;
  f->header = number(f, HEADER_AT, 4);
  if (number(f, f->header, 4) != 0x4550) return false;  // "PE"
  const uint32_t machine = number(f, f->header + 4, 2);
  f->bits = machine == MACHINE_64 ? 64 : machine == MACHINE_32 ? 32 : 0;
  f->n_sections = number(f, f->header + 6, 2);
  f->sections = f->header + FILE_HEADER + number(f, f->header + 20, 2);
  return f->bits != 0;
}

// The place in the file of an address in memory; the size of the file: none.
static uint64_t place_of(const image* f, uint32_t address) {
  for (size_t i = 0; i < f->n_sections; i++) {
    const uint64_t s = f->sections + i * SECTION;
    const uint32_t begin = number(f, s + 12, 4), size = number(f, s + 16, 4);
    if (address >= begin && address - begin < size)
      return (uint64_t)number(f, s + 20, 4) + (address - begin);
  }
  return f->size;
}

// The name of the i-th library that is imported; "": there are no more.
static void import_name(const image* f, size_t i, char* out, size_t size) {
  const uint64_t directories =
      f->header + FILE_HEADER + (f->bits == 64 ? DIRECTORIES_64 : DIRECTORIES_32);
  const uint32_t table = number(f, directories + 8, 4);
  out[0] = '\0';
  if (table == 0) return;
  const uint64_t name = place_of(f, number(f, place_of(f, table) + i * IMPORT + 12, 4));
  size_t n = 0;
  while (n + 1 < size && name + n < f->size && f->bytes[name + n] > ' ' && f->bytes[name + n] < 127)
    out[n] = (char)f->bytes[name + n], n++;
  out[n] = '\0';
}

static bool read_image(cpl_context* ctx, const char* path, char** bytes, image* f) {
  *f = (image){0};
  *bytes = NULL;
  if (cpli_file_read(ctx, path, LARGEST, bytes, &f->size) < 0) return false;
  f->bytes = (const unsigned char*)*bytes;
  return read_headers(f);
}

int cpli_pe_bits(cpl_context* ctx, const char* path) {
  char* bytes;
  image f;
  const bool read = read_image(ctx, path, &bytes, &f);
  cpli_free(ctx, bytes);
  return read ? f.bits : 0;
}

// The file of that name, whatever its case, in a folder. Returns false: there is none.
static bool find(const char* folder, const char* name, char* out, size_t size) {
  DIR* dir = opendir(folder);
  bool found = false;
  if (dir == NULL) return false;
  for (const struct dirent* e = readdir(dir); e != NULL && !found; e = readdir(dir)) {
    found = strcasecmp(e->d_name, name) == 0;
    if (found) snprintf(out, size, "%s/%s", folder, e->d_name);
  }
  closedir(dir);
  return found;
}

static void add_missing(const char* name, char* out, size_t size) {
  const size_t n = strlen(out);
  if (strcasestr(out, name) == NULL) snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", name);
}

static void look(cpl_context* ctx, const char* path, const char* system, int depth, char* out,
                 size_t size) {
  char *bytes, name[256], folder[PATH_MAX], file[PATH_MAX + 256];
  image f;
  const char* slash = strrchr(path, '/');
  snprintf(folder, sizeof folder, "%.*s", slash != NULL ? (int)(slash - path) : 1,
           slash != NULL ? path : ".");
  const bool read = read_image(ctx, path, &bytes, &f);
  for (size_t i = 0; read && i < 4096; i++) {
    import_name(&f, i, name, sizeof name);
    if (name[0] == '\0') break;
    if (strncasecmp(name, "api-ms-win-", 11) == 0 || find(system, name, file, sizeof file))
      continue;
    if (!find(folder, name, file, sizeof file)) add_missing(name, out, size);
    else if (depth < DEEPEST) look(ctx, file, system, depth + 1, out, size);
  }
  cpli_free(ctx, bytes);
}

void cpli_pe_missing(cpl_context* ctx, const char* path, const char* system, char* out,
                     size_t size) {
  out[0] = '\0';
  look(ctx, path, system, 0, out, size);
}
