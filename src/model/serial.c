// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Numbers are written as they are in memory: the mark, which is a number, refuses bytes of a
// machine with another byte order.
#include "model/serial.h"

#include <math.h>
#include <stdio.h>

// The mark changes with every change of what snapshots contain.
static const uint64_t mark = 0x32305350434c5043;

//------------------------------------ bytes ------------------------------------

void cpli_serial_refuse(cpli_serial* s, const char* why) {
  if (s->st < 0) return;
  s->st = cpl_fail_in(s->c->ctx, CPL_ERR_INPUT, s->c->name, NULL, NAN,
                      "these bytes are no saved state of %s: %s", s->c->name, why);
}

void cpli_serial_nomem(cpli_serial* s) {
  if (s->st >= 0) s->st = cpli_nomem(s->c->ctx);
}

static bool make_room(cpli_serial* s, size_t n) {
  cpli_serial_room* r = s->room;
  if (n <= r->cap - r->n) return true;
  size_t cap = r->cap < 256 ? 256 : r->cap;
  while (cap - r->n < n && cap <= SIZE_MAX / 2) cap *= 2;
  unsigned char* data = cap - r->n < n ? NULL : cpli_realloc(s->c->ctx, r->data, cap, 1);
  if (data == NULL) {
    cpli_serial_nomem(s);
    return false;
  }
  r->data = data;
  r->cap = cap;
  return true;
}

static void put(cpli_serial* s, const void* data, size_t n) {
  if (s->st < 0 || n == 0 || !make_room(s, n)) return;
  memcpy(s->room->data + s->room->n, data, n);
  s->room->n += n;
}

// The next n bytes; NULL: there are not as many.
static const unsigned char* take(cpli_serial* s, size_t n) {
  if (s->st >= 0 && n > s->left) cpli_serial_refuse(s, "they end too early");
  if (s->st < 0) return NULL;
  const unsigned char* data = s->at;
  s->at += n;
  s->left -= n;
  return data;
}

void cpli_serial_bytes(cpli_serial* s, void* data, size_t n) {
  if (n == 0) return;
  if (!cpli_serial_reads(s)) {
    put(s, data, n);
    return;
  }
  const unsigned char* from = take(s, n);
  if (from != NULL) memcpy(data, from, n);
}

//------------------------------------ members ------------------------------------

void cpli_serial_reals(cpli_serial* s, double* values, size_t n) {
  cpli_serial_bytes(s, values, n * sizeof *values);
}

void cpli_serial_real(cpli_serial* s, double* value) { cpli_serial_reals(s, value, 1); }

void cpli_serial_long(cpli_serial* s, int64_t* value) {
  cpli_serial_bytes(s, value, sizeof *value);
}

void cpli_serial_int(cpli_serial* s, int32_t* value, int32_t min, int32_t max) {
  int32_t n = *value;
  cpli_serial_bytes(s, &n, sizeof n);
  if (s->st >= 0 && (n < min || n > max)) cpli_serial_refuse(s, "a number is out of range");
  if (s->st >= 0) *value = n;
}

void cpli_serial_count32(cpli_serial* s, int32_t* value) {
  cpli_serial_int(s, value, 0, INT32_MAX / 2);
}

void cpli_serial_count64(cpli_serial* s, int64_t* value) {
  int64_t n = *value;
  cpli_serial_long(s, &n);
  if (s->st >= 0 && (n < 0 || n > INT64_MAX / 2)) cpli_serial_refuse(s, "a number is out of range");
  if (s->st >= 0) *value = n;
}

void cpli_serial_bool(cpli_serial* s, bool* value) {
  int32_t n = cpli_serial_reads(s) ? 0 : *value;
  cpli_serial_int(s, &n, 0, 1);
  if (s->st >= 0) *value = n != 0;
}

void cpli_serial_pivots(cpli_serial* s, int32_t* pivot, size_t n) {
  for (size_t i = 0; i < n; i++) cpli_serial_int(s, &pivot[i], 0, (int32_t)n - 1);
}

void cpli_serial_same(cpli_serial* s, size_t n) {
  uint64_t other = n;
  cpli_serial_bytes(s, &other, sizeof other);
  if (s->st >= 0 && other != n) cpli_serial_refuse(s, "it has other sizes");
}

void cpli_serial_count(cpli_serial* s, size_t* n, size_t size) {
  uint64_t count = cpli_serial_reads(s) ? 0 : *n;
  cpli_serial_bytes(s, &count, sizeof count);
  if (s->st >= 0 && cpli_serial_reads(s) && count > s->left / size)
    cpli_serial_refuse(s, "they end too early");
  if (s->st >= 0) *n = (size_t)count;
}

void cpli_serial_curve(cpli_serial* s, cpl_curve* curve) {
  cpl_curve k = *curve;
  if (!cpli_serial_reads(s) && (k.value != NULL || k.next_break != NULL)) k.order = CPLI_SET_AGAIN;
  cpli_serial_int(s, &k.order, CPLI_SET_AGAIN, (int32_t)CPLI_COUNT(k.coefficient) - 1);
  cpli_serial_real(s, &k.from);
  cpli_serial_reals(s, k.coefficient, CPLI_COUNT(k.coefficient));
  if (s->st >= 0 && cpli_serial_reads(s)) *curve = k;
}

cpl_status cpli_curve_missing(const cpl_component* c, const char* input, double t) {
  return cpl_fail_in(c->ctx, CPL_ERR_INPUT, c->name, input, t,
                     "%s was a function of time in the saved state: set it before the state is "
                     "restored",
                     input);
}

void cpli_serial_text(cpli_serial* s, char** text, size_t* size) {
  cpli_serial_count(s, size, 1);
  if (s->st < 0) return;
  if (!cpli_serial_reads(s)) {
    put(s, *text, *size);
    return;
  }
  *text = cpli_alloc(s->c->ctx, *size + 1, 1);
  if (*text == NULL) cpli_serial_nomem(s);
  else cpli_serial_bytes(s, *text, *size);
}

void cpli_serial_blob(cpli_serial* s, cpl_binary* bytes) {
  cpli_serial_count(s, &bytes->size, 1);
  if (!cpli_serial_reads(s)) put(s, bytes->data, bytes->size);
  else bytes->data = take(s, bytes->size);
}

bool cpli_serial_has(const cpl_component* c, uint8_t type, uint32_t ref) {
  for (int32_t i = 0; i < c->desc->n_vars; i++) {
    if (c->desc->vars[i].ref == ref && c->desc->vars[i].type == type) return true;
  }
  return false;
}

bool cpli_serial_can(const cpl_component* c) {
  return c->can.serialize && c->ops->serialize != NULL && c->ops->deserialize != NULL;
}

void cpli_serial_part(cpli_serial* s, cpl_component* part, cpl_snapshot* snapshot) {
  if (s->st < 0) return;
  cpl_binary bytes = {0};
  if (!cpli_serial_can(part)) {
    s->st = cpl_fail_in(part->ctx, CPL_ERR_UNSUPPORTED, part->name, NULL, NAN,
                        "a saved state of %s cannot become bytes", part->name);
    return;
  }
  if (!cpli_serial_reads(s)) s->st = part->ops->serialize(part, snapshot, &bytes);
  cpli_serial_blob(s, &bytes);
  if (cpli_serial_reads(s) && s->st >= 0) s->st = part->ops->deserialize(part, &bytes, snapshot);
}

//------------------------------------ whole ------------------------------------

static uint64_t hash(uint64_t h, const void* data, size_t n) {  // FNV-1a
  const unsigned char* p = data;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3;
  return h;
}

// Of its kind and of the names and types of its variables, which do not vary with its structure.
static uint64_t fingerprint(const cpl_component* c) {
  const cpl_description* d = c->desc;
  uint64_t h = hash(0xcbf29ce484222325, c->ops->kind, strlen(c->ops->kind) + 1);
  for (int32_t i = 0; i < d->n_vars; i++) {
    h = hash(h, d->vars[i].name, strlen(d->vars[i].name) + 1);
    h = hash(h, &d->vars[i].type, sizeof d->vars[i].type);
  }
  return h;
}

static void head(cpli_serial* s) {
  uint64_t own = fingerprint(s->c), there[2] = {mark, own};
  cpli_serial_bytes(s, there, sizeof there);
  if (s->st >= 0 && there[0] != mark)
    cpli_serial_refuse(s, "they do not begin with the mark of this version");
  if (s->st >= 0 && there[1] != own)
    cpli_serial_refuse(s, "it has other variables or is of another kind");
}

cpl_status cpli_serial_write(cpl_component* c, cpli_serial_room* room, cpli_serial_fn* list,
                             const cpl_snapshot* snapshot, cpl_binary* bytes) {
  cpli_serial s = {.c = c, .room = room};
  cpl_snapshot from = *snapshot;
  *bytes = (cpl_binary){0};
  room->n = 0;
  head(&s);
  if (s.st >= 0) list(&s, c, &from);
  if (s.st >= 0) *bytes = (cpl_binary){room->data, room->n};
  return s.st;
}

cpl_status cpli_serial_read(cpl_component* c, const cpl_binary* bytes, cpli_serial_fn* list,
                            cpl_snapshot* snapshot) {
  cpli_serial s = {.c = c, .at = bytes->data, .left = bytes->size};
  cpl_snapshot made = {NULL};
  head(&s);
  if (s.st >= 0) list(&s, c, &made);
  if (s.st >= 0 && s.left > 0) cpli_serial_refuse(&s, "they are too many");
  cpl_snapshot* discarded = s.st >= 0 ? snapshot : &made;
  if (discarded->data != NULL) c->ops->forget(c, discarded);
  if (s.st >= 0) *snapshot = made;
  return s.st;
}

//------------------------------------ without a snapshot ------------------------------------

cpl_status cpli_serial_put(cpl_component* c, cpli_serial_room* room, cpli_serial_list* list,
                           void* user, cpl_binary* bytes, bool* complete) {
  cpli_serial s = {.c = c, .room = room};
  *bytes = (cpl_binary){0};
  room->n = 0;
  head(&s);
  if (s.st >= 0) list(&s, user);
  if (s.st >= 0 && s.incomplete) {
    room->n = 0;
    put(&s, s.lacks, strlen(s.lacks));
  }
  if (s.st >= 0) *bytes = (cpl_binary){room->data, room->n};
  *complete = !s.incomplete;
  return s.st;
}

cpl_status cpli_serial_get(cpl_component* c, const cpl_binary* bytes, cpli_serial_list* list,
                           void* user) {
  cpli_serial s = {.c = c, .at = bytes->data, .left = bytes->size};
  head(&s);
  if (s.st >= 0) list(&s, user);
  if (s.st >= 0 && s.left > 0) cpli_serial_refuse(&s, "they are too many");
  return s.st;
}

// A model without the operations has nothing beside its snapshot, except what it is composed of.
static bool has_no_history(const cpl_component* part, bool is_stepper) {
  cpl_inspection in = {.kind = part->ops->kind, .name = part->name};
  if (is_stepper) return false;
  cpl_status st = part->ops->inspect != NULL ? part->ops->inspect(part, -1, &in) : CPL_OK;
  return st >= 0 && in.n_children == 0;
}

void cpli_serial_lacks(cpli_serial* s, const cpl_component* c, const char* part) {
  if (!s->incomplete) snprintf(s->lacks, sizeof s->lacks, "%s (%s)", c->name, part);
  s->incomplete = true;
}

void cpli_serial_history(cpli_serial* s, cpl_component* part, bool is_stepper) {
  cpl_binary bytes = {0};
  bool has = part->ops->get_history != NULL, complete = has || has_no_history(part, is_stepper);
  if (s->st < 0) return;
  if (!complete) cpli_serial_lacks(s, part, part->ops->kind);
  if (!cpli_serial_reads(s) && has) s->st = part->ops->get_history(part, &bytes, &complete);
  if (s->st < 0) return;
  if (!complete && !s->incomplete)
    snprintf(s->lacks, sizeof s->lacks, "%.*s", (int)bytes.size, (const char*)bytes.data);
  s->incomplete = s->incomplete || !complete;
  cpli_serial_blob(s, &bytes);
  if (!cpli_serial_reads(s)) return;
  if (s->st >= 0 && !has && bytes.size > 0) cpli_serial_refuse(s, "it is of another kind");
  if (s->st >= 0 && has) s->st = part->ops->set_history(part, &bytes);
}

void cpli_serial_free(cpl_context* ctx, cpli_serial_room* room) {
  cpli_free(ctx, room->data);
  *room = (cpli_serial_room){0};
}
