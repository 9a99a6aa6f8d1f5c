// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Patches the relocation tables (ELF: JUMP_SLOT, GLOB_DAT) of everything that dlopen() has added,
// and compares lists of threads, so that a library whose threads still run is not unloaded.
#include "base/loaded.h"

#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/float_modes.h"
#include "base/guard.h"

static bool ends_program(const char* name) {
  static const char* const names[] = {"exit", "_exit", "_Exit", "quick_exit"};
  return cpli_find_text(names, CPLI_COUNT(names), name) >= 0;
}

#if defined(__x86_64__)
static bool is_call(uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
}
#elif defined(__aarch64__)
static bool is_call(uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}
#else
static bool is_call(uint64_t type) {
  (void)type;
  return false;
}
#endif

typedef struct relro {
  uintptr_t base;        // of the object
  uintptr_t begin, end;  // range that is read-only once it has been loaded
} relro;

static int find_relro(struct dl_phdr_info* info, size_t size, void* user) {
  relro* r = user;
  (void)size;
  if (info->dlpi_addr != r->base) return 0;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr)* ph = &info->dlpi_phdr[i];
    if (ph->p_type != PT_GNU_RELRO) continue;
    r->begin = info->dlpi_addr + ph->p_vaddr;
    r->end = r->begin + ph->p_memsz;
  }
  return 1;
}

static void change_slot(const relro* r, uintptr_t slot) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = slot / page * page;
  void (*function)(int) = cpli_guard_exit;
  bool fixed = slot >= r->begin / page * page && slot < r->end;
  size_t size = slot + sizeof function - first;
  if (fixed && mprotect((void*)first, size, PROT_READ | PROT_WRITE) != 0) return;
  memcpy((void*)slot, &function, sizeof function);
  if (fixed) mprotect((void*)first, size, PROT_READ);
}

static uintptr_t address_in(const struct link_map* map, uintptr_t value) {
  return value < map->l_addr ? map->l_addr + value : value;  // not all C libraries relocate it
}

static void change_table(const struct link_map* map, uintptr_t table, size_t size,
                         const ElfW(Sym) * symbols, const char* names) {
  if (table == 0 || symbols == NULL || names == NULL) return;
  const ElfW(Rela)* items = (const ElfW(Rela)*)table;
  relro r = {.base = map->l_addr};
  dl_iterate_phdr(find_relro, &r);
  for (size_t i = 0; i < size / sizeof *items; i++) {
    uint64_t info = items[i].r_info;
    if (is_call(info & 0xffffffffu) && ends_program(names + symbols[info >> 32].st_name))
      change_slot(&r, map->l_addr + items[i].r_offset);
  }
}

static void change_object(const struct link_map* map) {
  uintptr_t calls = 0, others = 0;
  size_t n_calls = 0, n_others = 0;
  bool with_addend = true;
  const ElfW(Sym)* symbols = NULL;
  const char* names = NULL;
  for (const ElfW(Dyn)* d = map->l_ld; d != NULL && d->d_tag != DT_NULL; d++) {
    switch (d->d_tag) {
      case DT_JMPREL: calls = address_in(map, d->d_un.d_ptr); break;
      case DT_PLTRELSZ: n_calls = d->d_un.d_val; break;
      case DT_PLTREL: with_addend = d->d_un.d_val == DT_RELA; break;
      case DT_RELA: others = address_in(map, d->d_un.d_ptr); break;
      case DT_RELASZ: n_others = d->d_un.d_val; break;
      case DT_SYMTAB: symbols = (const ElfW(Sym)*)address_in(map, d->d_un.d_ptr); break;
      case DT_STRTAB: names = (const char*)address_in(map, d->d_un.d_ptr); break;
      default: break;
    }
  }
  if (with_addend) change_table(map, calls, n_calls, symbols, names);
  change_table(map, others, n_others, symbols, names);
}

static struct link_map* last_object(void) {
  struct link_map* map = NULL;
  void* program = dlopen(NULL, RTLD_NOW);
  if (program == NULL || dlinfo(program, RTLD_DI_LINKMAP, &map) != 0) return NULL;
  dlclose(program);
  while (map->l_next != NULL) map = map->l_next;
  return map;
}

//------------------------------------ threads ------------------------------------

static _Atomic int own_threads[256];

void cpli_thread_begins(void) {
  for (size_t i = 0; i < CPLI_COUNT(own_threads); i++) {
    int none = 0;
    if (atomic_compare_exchange_strong(&own_threads[i], &none, (int)gettid())) return;
  }
}

void cpli_thread_ends(void) {
  for (size_t i = 0; i < CPLI_COUNT(own_threads); i++) {
    int self = (int)gettid();
    if (atomic_compare_exchange_strong(&own_threads[i], &self, 0)) return;
  }
}

static bool is_own(int thread) {
  if (thread == (int)gettid() || thread == (int)getpid()) return true;
  for (size_t i = 0; i < CPLI_COUNT(own_threads); i++) {
    if (atomic_load(&own_threads[i]) == thread) return true;
  }
  return false;
}

// The threads of this process that the library did not start; limited by the size of the list.
static size_t foreign_threads(int* out, size_t room) {
  DIR* dir = opendir("/proc/self/task");
  size_t n = 0;
  if (dir == NULL) return 0;
  for (const struct dirent* e = readdir(dir); e != NULL && n < room; e = readdir(dir)) {
    int thread = atoi(e->d_name);
    if (thread > 0 && !is_own(thread)) out[n++] = thread;
  }
  closedir(dir);
  return n;
}

void cpli_loaded_note(cpli_loaded* before) {
  before->n_threads = foreign_threads(before->threads, CPLI_THREADS_KEPT);
}

static bool remain(const cpli_loaded* before) {
  int now[CPLI_THREADS_KEPT];
  size_t n = foreign_threads(now, CPLI_COUNT(now));
  for (size_t i = 0; i < n; i++) {
    bool known = false;
    for (size_t k = 0; before != NULL && k < before->n_threads; k++)
      known = known || before->threads[k] == now[i];
    if (!known) return true;
  }
  return false;
}

// A thread that was joined may still be listed for a moment.
bool cpli_threads_remain(const cpli_loaded* before) {
  for (int i = 0; remain(before); i++) {
    if (i == 10) return true;
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  }
  return false;
}

//------------------------------------ loading ------------------------------------

// What was linked with -ffast-math flushes small numbers of the whole thread when it is loaded.
static void* open_library(const char* path, int flags) {
  const uint32_t modes = cpli_float_modes();
  const uint16_t x87 = cpli_x87_modes();
  void* handle = dlopen(path, flags);
  if (cpli_float_modes() != modes || cpli_x87_modes() != x87) cpli_float_restore(modes, x87);
  return handle;
}

void* cpli_load(const char* path, int flags) {
  struct link_map* last = cpli_guard_on ? last_object() : NULL;
  void* handle = open_library(path, flags);
  if (handle == NULL || last == NULL) return handle;
  for (const struct link_map* map = last->l_next; map != NULL; map = map->l_next)
    change_object(map);
  return handle;
}
