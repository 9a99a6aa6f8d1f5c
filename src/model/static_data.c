// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the table of symbols of a shared object (ELF): variables in sections that stay writable.
#include "model/static_data.h"

#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

typedef struct object {
  const char* bytes;
  size_t size;
  const ElfW(Shdr) * sections;
  size_t n;
} object;

// Bytes of the file; NULL: it does not have them.
static const void* part(const object* o, uint64_t at, uint64_t size) {
  return at <= o->size && size <= o->size - at ? o->bytes + at : NULL;
}

static bool read_sections(object* o) {
  const ElfW(Ehdr)* head = part(o, 0, sizeof *head);
  const unsigned char class = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  if (head == NULL || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0) return false;
  if (head->e_ident[EI_CLASS] != class || head->e_shentsize != sizeof *o->sections) return false;
  if (head->e_shoff % sizeof(uint64_t) != 0 || head->e_shstrndx >= head->e_shnum) return false;
  o->n = head->e_shnum;
  o->sections = part(o, head->e_shoff, o->n * sizeof *o->sections);
  return o->sections != NULL;
}

static const char* text_at(const object* o, size_t section, uint32_t at) {
  if (section >= o->n) return "";
  const ElfW(Shdr)* s = &o->sections[section];
  const char* all = part(o, s->sh_offset, s->sh_size);
  if (all == NULL || s->sh_size == 0 || at >= s->sh_size || all[s->sh_size - 1] != '\0') return "";
  return all + at;
}

// Sections that the loader makes read-only, or fills and nobody changes, do not count.
static bool stays_writable(const object* o, size_t section) {
  static const char* const fixed[] = {".data.rel.ro", ".init_array", ".fini_array",
                                      ".dynamic",     ".got",        ".tm_clone"};
  if (section == 0 || section >= o->n) return false;
  const ElfW(Shdr)* s = &o->sections[section];
  const ElfW(Ehdr)* head = (const ElfW(Ehdr)*)(const void*)o->bytes;
  const char* name = text_at(o, head->e_shstrndx, s->sh_name);
  if ((s->sh_flags & SHF_WRITE) == 0 || (s->sh_flags & SHF_TLS) != 0) return false;
  for (size_t i = 0; i < CPLI_COUNT(fixed); i++)
    if (strncmp(name, fixed[i], strlen(fixed[i])) == 0) return false;
  return true;
}

// Variables of the compiler's start-up code come after the name of its file.
static bool find(const object* o, const ElfW(Shdr) * table, char* name, size_t size) {
  const ElfW(Sym)* symbols = part(o, table->sh_offset, table->sh_size);
  if (symbols == NULL || table->sh_offset % sizeof(uint64_t) != 0) return false;
  bool foreign = false;
  for (size_t i = 0; i < table->sh_size / sizeof *symbols; i++) {
    const ElfW(Sym)* s = &symbols[i];
    const char* text = text_at(o, table->sh_link, s->st_name);
    const unsigned char type = s->st_info & 0xf, binding = s->st_info >> 4;
    if (type == STT_FILE) foreign = strncmp(text, "crtstuff", 8) == 0;
    if (type != STT_OBJECT || s->st_size == 0 || !stays_writable(o, s->st_shndx)) continue;
    if ((foreign && binding == STB_LOCAL) || strncmp(text, "__", 2) == 0) continue;
    snprintf(name, size, "%.*s", (int)strcspn(text, "."), text);  // "last.0" is in a function
    return true;
  }
  return false;
}

bool cpli_static_data(const char* path, char* name, size_t size) {
  bool found = false;
  struct stat st;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  if (fstat(fd, &st) == 0 && st.st_size > 0) {
    object o = {.size = (size_t)st.st_size};
    void* bytes = mmap(NULL, o.size, PROT_READ, MAP_PRIVATE, fd, 0);
    o.bytes = bytes;
    if (bytes != MAP_FAILED && read_sections(&o)) {
      for (size_t i = 0; i < o.n && !found; i++)
        found = o.sections[i].sh_type == SHT_SYMTAB && find(&o, &o.sections[i], name, size);
    }
    if (bytes != MAP_FAILED) munmap(bytes, o.size);
  }
  close(fd);
  return found;
}
