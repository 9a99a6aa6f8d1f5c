// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Values that the importer sets before initialisation. They are kept in the order in which they
// came, as bytes: when another model or stepper is needed, since only the initialisation tells the
// tolerance, it gets them all, and a saved state has a copy of them.
#include "export/runtime/fmu.h"

typedef struct entry {
  uint32_t type, ref;
  uint64_t size;  // of the value, which follows
} entry;

static size_t size_of(const fmu_values* v, size_t i) {
  switch (v->type) {
    case CPL_STRING: return strlen(((const char* const*)v->values)[i]) + 1;
    case CPL_BINARY: return ((const cpl_binary*)v->values)[i].size;
    default: return sizeof(double);
  }
}

static const void* value_of(const fmu_values* v, size_t i) {
  switch (v->type) {
    case CPL_REAL: return (const double*)v->values + i;
    case CPL_STRING: return ((const char* const*)v->values)[i];
    case CPL_BINARY: return ((const cpl_binary*)v->values)[i].data;
    default: return (const int64_t*)v->values + i;
  }
}

static bool reserve(fmu* f, size_t size) {
  if (size <= f->start_cap) return true;
  size_t cap = size > 2 * f->start_cap ? size : 2 * f->start_cap;
  unsigned char* room = cpli_realloc(f->ctx, f->start, cap, 1);
  if (room == NULL) return false;
  f->start = room;
  f->start_cap = cap;
  return true;
}

cpl_status fmu_keep_start(fmu* f, const fmu_values* v) {
  for (size_t i = 0; i < v->n; i++) {
    entry e = {(uint32_t)v->type, v->refs[i], size_of(v, i)};
    if (!reserve(f, f->start_size + sizeof e + e.size)) return cpli_nomem(f->ctx);
    memcpy(f->start + f->start_size, &e, sizeof e);
    f->start_size += sizeof e;
    if (e.size > 0) memcpy(f->start + f->start_size, value_of(v, i), e.size);
    f->start_size += e.size;
  }
  return CPL_OK;
}

static cpl_status set(cpl_component* c, const entry* e, const unsigned char* at) {
  double real;
  int64_t integer;
  const char* text = (const char*)at;
  cpl_binary binary = {e->size > 0 ? at : NULL, e->size};
  switch (e->type) {
    case CPL_REAL: memcpy(&real, at, sizeof real); return c->ops->set_real(c, &e->ref, 1, &real);
    case CPL_STRING: return c->ops->set_string(c, &e->ref, 1, &text);
    case CPL_BINARY: return c->ops->set_binary(c, &e->ref, 1, &binary);
    default:
      memcpy(&integer, at, sizeof integer);
      return c->ops->set_integer(c, (cpl_type)e->type, &e->ref, 1, &integer);
  }
}

cpl_status fmu_set_start(fmu* f) {
  cpl_component* c = fmu_component(f);
  cpl_status st = CPL_OK;
  for (size_t at = 0; at < f->start_size && st == CPL_OK;) {
    entry e;
    memcpy(&e, f->start + at, sizeof e);
    st = set(c, &e, f->start + at + sizeof e);
    at += sizeof e + e.size;
  }
  return st;
}

// Whether the bytes have such an entry at their beginning.
static bool is_entry(const fmu* f, const unsigned char* bytes, size_t size, entry* e) {
  if (size < sizeof *e) return false;
  memcpy(e, bytes, sizeof *e);
  if (e->size > size - sizeof *e) return false;
  int32_t var = e->type == CPL_STRING ? fmu_string(f, e->ref) : fmu_number(f, e->ref);
  if (var < 0) return false;
  uint32_t type = f->desc->vars[var].type;
  if (type != e->type) return false;
  if (type == CPL_STRING) return e->size > 0 && bytes[sizeof *e + e->size - 1] == '\0';
  return type == CPL_BINARY || e->size == sizeof(double);
}

cpl_status fmu_replace_start(fmu* f, const unsigned char* bytes, size_t size) {
  entry e;
  for (size_t at = 0; at < size; at += sizeof e + e.size)
    if (!is_entry(f, bytes + at, size - at, &e)) return CPL_ERR_INPUT;
  if (!reserve(f, size)) return cpli_nomem(f->ctx);
  if (size > 0) memcpy(f->start, bytes, size);
  f->start_size = size;
  return CPL_OK;
}
