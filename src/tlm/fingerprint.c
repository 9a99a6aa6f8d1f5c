// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Detects that two machines have opened different systems: FNV-1a over their contents. It detects
// mistakes; unauthenticated peers are kept out by keys.
#include "tlm/remote.h"

uint64_t cpli_hash(uint64_t h, const void* data, size_t n) {
  const uint8_t* b = data;
  for (size_t i = 0; i < n; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
  return h;
}

static void add(uint64_t* h, const void* data, size_t n) { *h = cpli_hash(*h, data, n); }

static void add_text(uint64_t* h, const char* text) {
  if (text != NULL) add(h, text, strlen(text));
  add(h, "", 1);
}

static void add_real(uint64_t* h, double v) { add(h, &v, sizeof v); }
static void add_number(uint64_t* h, int64_t v) { add(h, &v, sizeof v); }

static void add_variable(uint64_t* h, const cpl_variable* v) {
  add_text(h, v->name);
  add_number(h, v->type);
  add_number(h, v->causality);
  add_number(h, v->variability);
  add_number(h, v->ref);
  add_number(h, v->has_start);
  if (v->has_start && v->type == CPL_REAL) add_real(h, v->start);
}

static void add_end(uint64_t* h, const cpli_tlm_end* e) {
  add_text(h, e->name);
  add_number(h, e->part);
  add_number(h, e->peer);
  add_number(h, e->kind);
  add_number(h, e->takes_wave);
  add_real(h, e->delay);
  add_real(h, e->alpha);
  add_real(h, e->sign);
  add(h, e->rotation, sizeof e->rotation);
  for (int32_t k = 0; k < e->width; k++) {
    add_real(h, e->z[k]);
    add_real(h, e->start_force[k]);
    add_number(h, e->sends ? e->out_refs[k] : 0);
    add_number(h, e->takes ? e->in_refs[k] : 0);
  }
}

uint64_t cpli_tlm_fingerprint(const cpli_tlm* m) {
  uint64_t h = CPLI_HASH_BEGIN;
  add_text(&h, CPL_VERSION);
  add(&h, &m->def.files, sizeof m->def.files);
  add_number(&h, m->n_parts);
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_tlm_part* p = &m->parts[i];
    const cpl_description* d = p->s->base.desc;
    add_text(&h, p->name);
    add_number(&h, p->is_model);
    add_number(&h, p->substeps);
    add_number(&h, p->hold);
    add_number(&h, d->n_vars);
    for (int32_t v = 0; v < d->n_vars; v++) add_variable(&h, &d->vars[v]);
  }
  for (int32_t i = 0; i < m->n_ends; i++) add_end(&h, &m->ends[i]);
  return h;
}
