// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parcels, and the range of addresses: it is reserved without access, and channels open parts of
// it.
#include "base/link_wire.h"

#include <errno.h>
#include <sys/mman.h>

static_assert(sizeof(cpli_link_head) % 8 == 0 && sizeof(cpli_parcel) % 8 == 0 &&
                  sizeof(cpli_link_message) % 8 == 0,
              "parts of messages are aligned");

char* cpli_buffer_add(cpl_context* ctx, cpli_buffer* b, size_t size) {
  size = cpli_padded(size);
  if (b->room - b->size < size) {
    const size_t room = 2 * b->room > b->size + size ? 2 * b->room : b->size + size + 4096;
    char* data = cpli_realloc(ctx, b->data, room, 1);
    if (data == NULL) return NULL;
    b->data = data;
    b->room = room;
  }
  char* at = b->data + b->size;
  b->size += size;
  return at;
}

//------------------------------------ memory ------------------------------------

static const size_t bytes = (size_t)1 << CPLI_LINK_MEMORY_BITS;

static char* reserve_at(uintptr_t where) {
  char* got = mmap((void*)where, bytes, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) return NULL;
  if (got == (char*)where) return got;
  munmap(got, bytes);  // a kernel that does not know the flag
  return NULL;
}

// Far from programs, their heaps, libraries, and what sanitizers reserve.
cpl_status cpli_link_reserve(cpl_context* ctx, char* where, char** out) {
  static const uintptr_t places[] = {0x200000000000, 0x300000000000, 0x400000000000};
  *out = where != NULL ? reserve_at((uintptr_t)where) : NULL;
  for (size_t i = 0; where == NULL && *out == NULL && i < CPLI_COUNT(places); i++)
    *out = reserve_at(places[i]);
  if (*out != NULL) return CPL_OK;
  return cpl_fail(ctx, CPL_ERR_UNSUPPORTED,
                  "addresses for the models of other ranks cannot be reserved (%s): is there a "
                  "limit of virtual memory (ulimit -v)?",
                  strerror(errno));
}

void cpli_link_release(char* memory) {
  if (memory != NULL) munmap(memory, bytes);
}

bool cpli_link_use(char* data, size_t size) {
  return madvise(data, size, MADV_DONTNEED) == 0 &&
         mprotect(data, size, PROT_READ | PROT_WRITE) == 0;
}

//------------------------------------ parcels ------------------------------------

bool cpli_parcel_put(cpl_context* ctx, cpli_buffer* b, const cpli_parcel* p, const char* messages) {
  const char* data = (const char*)(uintptr_t)p->data;
  size_t size = sizeof *p + cpli_padded(p->n_messages);
  for (int i = 0; i < CPLI_PIECES; i++) size += cpli_padded(p->pieces[i].size);
  char* at = cpli_buffer_add(ctx, b, size);
  if (at == NULL) return false;
  memcpy(at, p, sizeof *p);
  at += sizeof *p;
  for (int i = 0; i < CPLI_PIECES; i++) {
    memcpy(at, data + p->pieces[i].at, p->pieces[i].size);
    at += cpli_padded(p->pieces[i].size);
  }
  if (p->n_messages > 0) memcpy(at, messages, p->n_messages);
  return true;
}

static const char* next(const cpli_buffer* b, size_t* at, size_t size) {
  if (size > b->size - *at || cpli_padded(size) > b->size - *at) return NULL;
  const char* data = b->data + *at;
  *at += cpli_padded(size);
  return data;
}

const cpli_parcel* cpli_parcel_take(const cpli_buffer* b, size_t* at, char* to, size_t size,
                                    const char** messages) {
  const cpli_parcel* p = (const void*)next(b, at, sizeof *p);
  if (p == NULL) return NULL;
  for (int i = 0; i < CPLI_PIECES; i++) {
    const cpli_extent* piece = &p->pieces[i];
    const char* data = next(b, at, piece->size);
    if (data == NULL || piece->size > size || piece->at > size - piece->size) return NULL;
    if (to != NULL) memcpy(to + piece->at, data, piece->size);
  }
  *messages = next(b, at, p->n_messages);
  return *messages != NULL ? p : NULL;
}
