// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A proxy in rank 0 is that of an isolated component (proxy.c); its channel leads to another rank.
#include "model/distribution.h"

#include <stdio.h>

#include "base/link.h"
#include "base/thread_pool.h"
#include "format/hash.h"
#include "model/adopt.h"
#include "model/proxy.h"

typedef struct entry {
  cpl_source* source;  // belongs to the system
  uint64_t identity;   // of all as far as this one
} entry;

typedef struct cpli_distribution {
  cpl_context* ctx;
  cpl_ranks_def def;
  cpli_ranks* ranks;
  cpli_rank_links* link;
  entry* sources;  // by number
  size_t n, cap;
  cpli_hash identity;
  bool awaited;  // the others are ready
  int32_t next;  // rank of the next instance
} distribution;

struct cpl_ranks {
  distribution d;
  bool served;  // this rank, as far as rank 0 wanted
};

//------------------------------------ sources ------------------------------------

typedef struct spread {
  cpl_source base;
  cpl_source* inner;
  cpl_source_ops ops;
  distribution* d;
  int32_t number;
} spread;

static cpl_status make_proxy(const spread* s, int32_t rank, const char* name, bool is_model,
                             cpl_component** out) {
  distribution* d = s->d;
  const cpl_description* desc = s->base.desc;
  cpli_proxy* p = NULL;
  cpl_status st = d->awaited ? CPL_OK : cpli_link_await(d->link);
  d->awaited = st >= 0;
  if (st >= 0) st = cpli_proxy_create(d->ctx, desc, name, 0, &p);
  if (st >= 0)
    st =
        cpli_link_open_channel(d->link, rank, cpli_proxy_memory(desc), name, cpli_proxy_channel(p));
  const cpli_making making = {is_model, s->number, d->sources[s->number].identity};
  if (st >= 0) st = cpli_proxy_start(p, &making);
  if (st >= 0) *out = cpli_proxy_component(p);
  else cpli_proxy_discard(p);
  return st;
}

static int32_t rank_of_next(distribution* d) {
  const int32_t rank = d->next;
  d->next = (d->next + 1) % cpli_ranks_size(d->ranks);
  return rank;
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  const spread* s = (const spread*)source;
  const int32_t rank = rank_of_next(s->d);
  cpl_component* c = NULL;
  if (rank == 0) return s->inner->ops->make_model(s->inner, name, out);
  const cpl_status st = make_proxy(s, rank, name, true, &c);
  *out = (cpl_model*)c;
  return st;
}

static cpl_status make_stepper(cpl_source* source, const char* name, cpl_stepper** out) {
  const spread* s = (const spread*)source;
  const int32_t rank = rank_of_next(s->d);
  cpl_component* c = NULL;
  if (rank == 0) return s->inner->ops->make_stepper(s->inner, name, out);
  const cpl_status st = make_proxy(s, rank, name, false, &c);
  *out = (cpl_stepper*)c;
  return st;
}

static void destroy_source(cpl_source* source) {
  if (source == NULL) return;
  spread* s = (spread*)source;
  cpl_context* ctx = source->ctx;
  s->inner->ops->destroy(s->inner);
  cpli_free(ctx, s);
}

static void identify(distribution* d, const cpl_source* source) {
  const cpl_description* desc = source->desc;
  const int32_t counts[] = {desc->n_vars, desc->n_states, desc->n_indicators, desc->n_constraints};
  cpli_hash_add(&d->identity, desc->name, strlen(desc->name) + 1);
  cpli_hash_add(&d->identity, counts, sizeof counts);
  for (int32_t i = 0; i < desc->n_vars; i++)
    cpli_hash_add(&d->identity, desc->vars[i].name, strlen(desc->vars[i].name) + 1);
}

cpl_status cpli_distribute(cpl_source** source) {
  cpl_source* inner = *source;
  cpl_context* ctx = inner->ctx;
  distribution* d = cpli_context_slot(ctx)->distribution;
  if (d == NULL) return CPL_OK;
  cpl_status st = cpli_adopt_source(inner);
  if (st < 0) return st;
  if (!cpli_grow(ctx, (void**)&d->sources, &d->cap, d->n, sizeof *d->sources))
    return cpli_nomem(ctx);
  identify(d, inner);
  d->sources[d->n++] = (entry){inner, d->identity.part[0]};
  if (cpli_ranks_rank(d->ranks) != 0) return CPL_OK;
  spread* s = cpli_alloc(ctx, 1, sizeof *s);
  if (s == NULL) return cpli_nomem(ctx);
  s->inner = inner;
  s->d = d;
  s->number = (int32_t)d->n - 1;
  s->ops = (cpl_source_ops){
      .size = sizeof(cpl_source_ops), .kind = inner->ops->kind, .destroy = destroy_source};
  if (inner->ops->make_model != NULL) s->ops.make_model = make_model;
  if (inner->ops->make_stepper != NULL) s->ops.make_stepper = make_stepper;
  s->base = (cpl_source){.ops = &s->ops,
                         .desc = inner->desc,
                         .ctx = ctx,
                         .path = inner->path,
                         .once_per_process = inner->once_per_process};
  *source = &s->base;
  return CPL_OK;
}

const cpl_source* cpli_distributed_inner(const cpl_source* source) {
  return source->ops->destroy == destroy_source ? ((const spread*)source)->inner : NULL;
}

//------------------------------------ ranks ------------------------------------

void cpl_init_ranks_def(cpl_ranks_def* def, size_t size) {
  const cpl_ranks_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_ranks_join(cpl_context* ctx, const cpl_ranks_def* given, cpl_ranks** out) {
  cpl_ranks_def def = cpl_default_ranks_def();
  cpli_ranks* ranks = NULL;
  *out = NULL;
  cpl_status st =
      given != NULL ? cpli_read_def(ctx, "cpl_ranks_def", given, &def, sizeof def) : CPL_OK;
  if (st >= 0) st = cpli_ranks_join(ctx, &ranks);
  if (st < 0 || ranks == NULL) return st;
  cpl_ranks* r = *out = cpli_alloc(ctx, 1, sizeof *r);
  if (r == NULL) {
    cpli_ranks_leave(ranks, false);
    return cpli_nomem(ctx);
  }
  r->d = (distribution){.ctx = ctx, .def = def, .ranks = ranks, .identity = cpli_hash_begin()};
  st = cpli_link_open(ctx, ranks, &r->d.link);
  if (st >= 0) cpli_context_slot(ctx)->distribution = &r->d;
  return st;
}

int32_t cpl_ranks_number(const cpl_ranks* r) { return r != NULL ? cpli_ranks_rank(r->d.ranks) : 0; }
int32_t cpl_ranks_count(const cpl_ranks* r) { return r != NULL ? cpli_ranks_size(r->d.ranks) : 1; }

static bool is_known(const distribution* d, const cpli_making* m) {
  return m->source >= 0 && (size_t)m->source < d->n &&
         m->identity == d->sources[m->source].identity;
}

static cpl_status other_models(const distribution* d) {
  return cpl_fail(d->ctx, CPL_ERR_INPUT,
                  "rank %d has other models than rank 0: all ranks need the same version of "
                  "couplet, and the same files under the same names",
                  (int)cpli_ranks_rank(d->ranks));
}

static void serve(void* user, char* data, cpli_extent pieces[CPLI_PIECES]) {
  distribution* d = user;
  cpli_request* r = (cpli_request*)(void*)data;
  const cpli_making* making = cpli_request_making(r);
  if (making == NULL) cpli_request_execute(r, d->ctx);
  else if (is_known(d, making)) cpli_request_make(r, d->sources[making->source].source);
  else cpli_request_refuse(r, d->ctx, other_models(d));
  cpli_request_pieces(r, pieces);
}

cpl_status cpl_ranks_serve(cpl_ranks* r, cpl_status opened) {
  if (r->d.link == NULL) return opened;
  const cpl_status st = cpli_link_serve(r->d.link, opened, serve, &r->d);
  r->served = st >= 0;
  return st;
}

cpl_status cpl_ranks_explain(cpl_ranks* r, cpl_status st) {
  return r != NULL ? cpli_link_explain(r->d.link, st) : st;
}

void cpl_ranks_leave(cpl_ranks* r) {
  if (r == NULL) return;
  cpl_context* ctx = r->d.ctx;
  cpli_ranks* ranks = r->d.ranks;
  cpli_context_slot(ctx)->distribution = NULL;
  const bool ended = cpli_link_close(r->d.link);
  const bool in_order = cpli_ranks_rank(ranks) == 0 ? ended : r->served;
  cpli_free(ctx, r->d.sources);
  cpli_free(ctx, r);
  cpli_ranks_leave(ranks, in_order);
}
