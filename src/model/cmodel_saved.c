// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Saved states of an instance of a model in C: its numbers, the sides of its indicators, its memory
// and its Strings, also as bytes. Memory that the model releases itself may contain pointers:
// states of such a model do not become bytes.
#include <assert.h>

#include "model/cmodel_instance.h"

static cpli_c_instance* self_of(cpl_component* c) { return (cpli_c_instance*)c; }

// A saved state: this head, then all numbers, factors of the algebraic variables, sides, memory,
// and the Strings one after the other.
typedef struct saved {
  size_t size;  // of the whole
  double t, next_time, recent_time;
  int32_t phase, initialized;
  int32_t a_known, factored, own_increments, unused;  // of the algebraic variables
} saved;

static_assert(sizeof(saved) % sizeof(double) == 0 && sizeof(bool) == 1,
              "numbers follow the head, and the bytes of a saved state are the same everywhere");

static size_t text_size(const cpli_c_instance* in) {
  size_t n = 0;
  for (uint32_t i = 0; i < in->cm->at.ns; i++) n += strlen(in->text[i]) + 1;
  return n;
}

// Of the factors: the matrix with its scaling, and its pivots. They are part of the state, so that
// neither saving nor restoring changes the next solution of the algebraic variables.
static size_t factors_size(const cpli_layout* at) {
  size_t n = at->na;
  return n * (n + 2) * sizeof(double) + n * sizeof(int32_t);
}

static size_t numbers_size(const cpli_layout* at) {
  return (at->n + cpli_cmodel_n_start(at) + at->na) * sizeof(double);
}

static size_t fixed_size(const cpli_c_instance* in) {
  const cpli_layout* at = &in->cm->at;
  return sizeof(saved) + numbers_size(at) + factors_size(at) + 2 * at->nz * sizeof(bool) +
         in->cm->def->memory_size;
}

static unsigned char* put(unsigned char* to, const void* from, size_t n) {
  if (n > 0) memcpy(to, from, n);
  return to + n;
}

static const unsigned char* take(const unsigned char* from, void* to, size_t n) {
  if (n > 0) memcpy(to, from, n);
  return from + n;
}

// Factors that were not computed yet are zeros.
static unsigned char* put_factors(const cpli_c_instance* in, unsigned char* to) {
  size_t n = in->cm->at.na;
  const cpli_algebra* a = &in->algebra;
  if (n == 0) return to;
  to = put(to, a->matrix, n * n * sizeof(double));
  to = put(to, a->row, n * sizeof(double));
  to = put(to, a->column, n * sizeof(double));
  return put(to, a->pivot, n * sizeof *a->pivot);
}

static const unsigned char* take_factors(cpli_c_instance* in, const unsigned char* from) {
  size_t n = in->cm->at.na;
  cpli_algebra* a = &in->algebra;
  if (n == 0) return from;
  from = take(from, a->matrix, n * n * sizeof(double));
  from = take(from, a->row, n * sizeof(double));
  from = take(from, a->column, n * sizeof(double));
  return take(from, a->pivot, n * sizeof *a->pivot);
}

cpl_status cpli_cmodel_save(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_c_instance* in = self_of(c);
  const cpli_layout* at = &in->cm->at;
  size_t size = fixed_size(in) + text_size(in);
  saved* s = snapshot->data;
  if (s == NULL || s->size != size) {
    void* room = cpli_realloc(c->ctx, s, size, 1);
    if (room == NULL) return cpli_nomem(c->ctx);
    snapshot->data = s = room;
  }
  *s = (saved){.size = size,
               .t = in->t,
               .next_time = in->next_time,
               .recent_time = in->recent_time,
               .phase = (int32_t)in->phase,
               .initialized = in->initialized,
               .a_known = in->a_known,
               .factored = in->algebra.ready,
               .own_increments = in->algebra.own_increments};
  unsigned char* to = (unsigned char*)(s + 1);
  to = put(to, in->v, at->n * sizeof(double));
  to = put(to, in->start, cpli_cmodel_n_start(at) * sizeof(double));
  to = put(to, in->guess, at->na * sizeof(double));
  to = put_factors(in, to);
  to = put(to, in->positive, at->nz * sizeof(bool));
  to = put(to, in->recent, at->nz * sizeof(bool));
  to = put(to, in->memory, in->cm->def->memory_size);
  for (uint32_t i = 0; i < at->ns; i++) to = put(to, in->text[i], strlen(in->text[i]) + 1);
  assert(to == (unsigned char*)s + size);
  return CPL_OK;
}

cpl_status cpli_cmodel_restore(cpl_component* c, const cpl_snapshot* snapshot) {
  cpli_c_instance* in = self_of(c);
  const cpli_layout* at = &in->cm->at;
  const saved* s = snapshot->data;
  const unsigned char* from = (const unsigned char*)(s + 1);
  from = take(from, in->v, at->n * sizeof(double));
  from = take(from, in->start, cpli_cmodel_n_start(at) * sizeof(double));
  from = take(from, in->guess, at->na * sizeof(double));
  from = take_factors(in, from);
  from = take(from, in->positive, at->nz * sizeof(bool));
  from = take(from, in->recent, at->nz * sizeof(bool));
  from = take(from, in->memory, in->cm->def->memory_size);
  for (uint32_t i = 0; i < at->ns; i++) {
    cpl_status st = cpli_cmodel_set_text(in, i, (const char*)from);
    if (st < 0) return st;
    from += strlen((const char*)from) + 1;
  }
  assert(from == (const unsigned char*)s + s->size);  // a snapshot of this model
  in->t = s->t;
  in->next_time = s->next_time;
  in->recent_time = s->recent_time;
  in->phase = (cpli_c_phase)s->phase;
  in->initialized = s->initialized != 0;
  in->algebra.ready = s->factored != 0;
  in->algebra.own_increments = s->own_increments != 0;
  cpli_cmodel_forget_results(in);
  in->a_known = s->a_known != 0;
  return CPL_OK;
}

void cpli_cmodel_forget(cpl_component* c, cpl_snapshot* snapshot) {
  cpli_free(c->ctx, snapshot->data);
  snapshot->data = NULL;
}

//------------------------------------ bytes ------------------------------------

static bool pivots_fit(const cpli_layout* at, const unsigned char* pivots) {
  for (uint32_t i = 0; i < at->na; i++) {
    int32_t pivot;
    memcpy(&pivot, pivots + i * sizeof pivot, sizeof pivot);
    if (pivot < 0 || pivot >= (int32_t)at->na) return false;
  }
  return true;
}

// Whether the part of variable contents fits this model: pivots are indices, sides are 0 or 1, and
// all Strings end.
static bool fits(const cpli_c_instance* in, const unsigned char* rest, size_t size) {
  const cpli_layout* at = &in->cm->at;
  size_t fixed = fixed_size(in) - sizeof(saved);
  if (size < fixed) return false;
  const unsigned char* sides = rest + numbers_size(at) + factors_size(at);
  if (!pivots_fit(at, sides - at->na * sizeof(int32_t))) return false;
  for (uint32_t i = 0; i < 2 * at->nz; i++) {
    if (sides[i] > 1) return false;
  }
  uint32_t texts = 0;
  for (size_t i = fixed; i < size; i++) texts += rest[i] == '\0';
  return texts == at->ns && (size == fixed || rest[size - 1] == '\0');
}

// The head one by one, and what follows it as it is.
static void list(cpli_serial* s, cpl_component* c, cpl_snapshot* snapshot) {
  saved *k = snapshot->data, head = {0};
  if (k != NULL) head = *k;
  size_t rest = k != NULL ? k->size - sizeof head : 0;
  cpli_serial_real(s, &head.t);
  cpli_serial_real(s, &head.next_time);
  cpli_serial_real(s, &head.recent_time);
  cpli_serial_int(s, &head.phase, BEFORE_INIT, IN_CONTINUOUS);
  int32_t* flags[] = {&head.initialized, &head.a_known, &head.factored, &head.own_increments};
  for (size_t i = 0; i < CPLI_COUNT(flags); i++) cpli_serial_int(s, flags[i], 0, 1);
  cpli_serial_count(s, &rest, 1);
  if (s->st >= 0 && cpli_serial_reads(s)) {
    if (!fits(self_of(c), s->at, rest)) cpli_serial_refuse(s, "it has other sizes");
    if (s->st >= 0) k = cpli_alloc(c->ctx, sizeof head + rest, 1);
    if (k == NULL) cpli_serial_nomem(s);
    if (s->st < 0) return;
    *k = head;
    k->size = sizeof head + rest;
    snapshot->data = k;
  }
  if (s->st >= 0) cpli_serial_bytes(s, k + 1, rest);
}

cpl_status cpli_cmodel_to_bytes(cpl_component* c, const cpl_snapshot* snapshot, cpl_binary* bytes) {
  return cpli_serial_write(c, &self_of(c)->bytes, list, snapshot, bytes);
}

cpl_status cpli_cmodel_from_bytes(cpl_component* c, const cpl_binary* bytes,
                                  cpl_snapshot* snapshot) {
  return cpli_serial_read(c, bytes, list, snapshot);
}
