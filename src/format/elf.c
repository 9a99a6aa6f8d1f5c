// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Walks the section table to the symbols (SHT_DYNSYM, SHT_SYMTAB), with every offset checked
// against the size of the file.
#include "format/elf.h"

// Offsets and sizes of the ELF64 format, as this is read on machines without <elf.h> too.
enum {
  HEADER = 64,
  SECTION = 64,
  SYMBOL = 24,
  TYPE_SYMTAB = 2,
  TYPE_DYNSYM = 11,
  BINDING_WEAK = 2,
};

typedef struct image {
  const char* bytes;
  size_t size;
} image;

static uint64_t number(const image* f, size_t at, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; i++) value |= (uint64_t)(unsigned char)f->bytes[at + i] << (8 * i);
  return value;
}

static bool inside(const image* f, uint64_t at, uint64_t n) {
  return at <= f->size && n <= f->size - at;
}

typedef struct section {
  uint64_t type, offset, size, link;
} section;

static bool read_section(const image* f, uint64_t table, uint64_t i, section* out) {
  uint64_t at = table + i * SECTION;
  if (i > UINT32_MAX || !inside(f, table, 0) || !inside(f, at, SECTION)) return false;
  out->type = number(f, (size_t)at + 4, 4);
  out->offset = number(f, (size_t)at + 24, 8);
  out->size = number(f, (size_t)at + 32, 8);
  out->link = number(f, (size_t)at + 40, 4);
  return true;
}

// Weak symbols are added only with `weak`.
static bool add_symbols(const image* f, const section* symbols, const section* texts, bool weak,
                        cpli_names* names) {
  const char* text = f->bytes + texts->offset;
  if (texts->size == 0 || text[texts->size - 1] != '\0') return false;
  for (uint64_t at = 0; at + SYMBOL <= symbols->size; at += SYMBOL) {
    size_t symbol = (size_t)(symbols->offset + at);
    uint64_t name = number(f, symbol, 4), binding = number(f, symbol + 4, 1) >> 4;
    bool defined = number(f, symbol + 6, 2) != 0;
    if (!defined || binding == 0 || name == 0 || name >= texts->size) continue;
    if (binding == BINDING_WEAK && !weak) continue;
    if (cpli_names_add(names, text + name, 0) < 0) return false;
  }
  return true;
}

static bool read_symbols(cpl_context* ctx, const char* bytes, size_t size, uint64_t type, bool weak,
                         cpli_names* names) {
  image f = {bytes, size};
  *names = (cpli_names){0};
  if (size < HEADER || memcmp(bytes, "\177ELF\2\1", 6) != 0) return false;
  uint64_t table = number(&f, 40, 8), n = number(&f, 60, 2);
  if (table > size || number(&f, 58, 2) != SECTION) return false;
  for (uint64_t i = 0; i < n; i++) {
    section symbols, texts;
    if (!read_section(&f, table, i, &symbols)) return false;
    if (symbols.type != type) continue;
    return read_section(&f, table, symbols.link, &texts) &&
           inside(&f, symbols.offset, symbols.size) && inside(&f, texts.offset, texts.size) &&
           cpli_names_init(names, ctx, (size_t)(symbols.size / SYMBOL)) >= 0 &&
           add_symbols(&f, &symbols, &texts, weak, names);
  }
  return false;
}

bool cpli_elf_exports(cpl_context* ctx, const char* bytes, size_t size, cpli_names* names) {
  return read_symbols(ctx, bytes, size, TYPE_DYNSYM, true, names);
}

bool cpli_elf_defines(cpl_context* ctx, const char* bytes, size_t size, cpli_names* names) {
  return read_symbols(ctx, bytes, size, TYPE_SYMTAB, false, names);
}
