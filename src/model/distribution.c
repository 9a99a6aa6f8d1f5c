// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A proxy in rank 0 is that of an isolated component (proxy.c); its channel leads to another rank.
#include "model/distribution.h"

#include <math.h>
#include <stdio.h>

#include "base/link.h"
#include "base/parallel.h"
#include "base/thread_pool.h"
#include "format/hash.h"
#include "model/adopt.h"
#include "model/cost.h"
#include "model/proxy.h"
#include "model/spread.h"

static const double own_work = 1e-6;  // of rank 0 in an evaluation, at least [s]

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
  // of rank 0
  int32_t next;   // rank of the next instance that was not planned
  double* load;   // of each rank: costs of its instances [s]
  int32_t* made;  // instances of each rank, those that have ended, too
  bool measured;
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
  int32_t* ranks;  // of instances that will be made
  size_t n_planned, next;
  double cost[2];  // of a call of a stepper, of a model [s]; NAN: unknown, or not measured yet
  bool asked[2];
} spread;

static cpl_status await_others(distribution* d) {
  const cpl_status st = d->awaited ? CPL_OK : cpli_link_await(d->link);
  d->awaited = st >= 0;
  return st;
}

// `name`: of the instance. Nullable: there will be none
static cpl_status open_proxy(const spread* s, int32_t rank, const char* name, cpli_proxy** out) {
  distribution* d = s->d;
  const cpl_description* desc = s->base.desc;
  *out = NULL;
  cpl_status st = await_others(d);
  if (st >= 0) st = cpli_proxy_create(d->ctx, desc, name != NULL ? name : desc->name, 0, out);
  if (st >= 0)
    st = cpli_link_open_channel(d->link, rank, cpli_proxy_memory(desc), name,
                                cpli_proxy_channel(*out));
  return st;
}

static cpli_making making_of(const spread* s, bool is_model) {
  return (cpli_making){
      .is_model = is_model, .source = s->number, .identity = s->d->sources[s->number].identity};
}

static cpl_status make_proxy(const spread* s, int32_t rank, const char* name, bool is_model,
                             cpl_component** out) {
  cpli_proxy* p = NULL;
  const cpli_making making = making_of(s, is_model);
  cpl_status st = open_proxy(s, rank, name, &p);
  if (st >= 0) st = cpli_proxy_start(p, &making);
  if (st >= 0) *out = cpli_proxy_component(p);
  else cpli_proxy_discard(p);
  return st;
}

static int32_t rank_of_next(spread* s) {
  distribution* d = s->d;
  const bool is_planned = s->next < s->n_planned;
  const int32_t rank = is_planned ? s->ranks[s->next++] : d->next;
  if (!is_planned) d->next = (d->next + 1) % cpli_ranks_size(d->ranks);
  d->made[rank]++;
  return rank;
}

static cpl_status make_model(cpl_source* source, const char* name, cpl_model** out) {
  spread* s = (spread*)source;
  const int32_t rank = rank_of_next(s);
  cpl_component* c = NULL;
  if (rank == 0) return s->inner->ops->make_model(s->inner, name, out);
  const cpl_status st = make_proxy(s, rank, name, true, &c);
  *out = (cpl_model*)c;
  return st;
}

static cpl_status make_stepper(cpl_source* source, const char* name, cpl_stepper** out) {
  spread* s = (spread*)source;
  const int32_t rank = rank_of_next(s);
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
  cpli_free(ctx, s->ranks);
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
  s->cost[0] = s->cost[1] = (double)NAN;
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

static spread* spread_of(cpl_source* source) {
  return source->ops->destroy == destroy_source ? (spread*)source : NULL;
}

const cpl_source* cpli_distributed_inner(const cpl_source* source) {
  return source->ops->destroy == destroy_source ? ((const spread*)source)->inner : NULL;
}

bool cpli_distribution_serves(cpl_context* ctx) {
  const distribution* d = cpli_context_slot(ctx)->distribution;
  return d != NULL && cpli_ranks_rank(d->ranks) != 0;
}

//------------------------------------ costs ------------------------------------

// One source and kind of instances, measured in one rank.
typedef struct question {
  spread* source;
  bool is_model;
  int32_t rank;
} question;

static cpli_task_kind kind_of(const void* user, int32_t i) {
  return ((const question*)user)[i].rank == 0 ? CPLI_TASK_STAYS : CPLI_TASK_WAITS;
}

static cpl_status answer_question(void* user, int32_t i, int32_t worker) {
  const question* q = (question*)user + i;
  spread* s = q->source;
  cpli_proxy* p = NULL;
  (void)worker;
  if (q->rank == 0) {
    s->cost[q->is_model] = cpli_cost_of(s->inner, q->is_model);
    return CPL_OK;
  }
  cpli_making making = making_of(s, q->is_model);
  cpl_status st = open_proxy(s, q->rank, NULL, &p);
  if (st >= 0) st = cpli_proxy_measure(p, &making);
  if (st >= 0) s->cost[q->is_model] = making.cost;
  cpli_proxy_discard(p);
  return st;
}

static void report_costs(const distribution* d, const question* q, int32_t n) {
  for (int32_t i = 0; i < n; i++) {
    const spread* s = q[i].source;
    const double cost = s->cost[q[i].is_model];
    const char* call = q[i].is_model ? "evaluation" : "step";
    if (isnan(cost)) cpl_log(d->ctx, CPL_LOG_INFO, s->base.path, "its %ss cannot be timed", call);
    else cpl_log(d->ctx, CPL_LOG_INFO, s->base.path, "%.3g us per %s", 1e6 * cost, call);
  }
}

// All ranks measure at the same time, each another source.
static cpl_status measure(distribution* d, const cpli_next_instance* wanted, size_t n) {
  int32_t n_asked = 0;
  question* all = cpli_alloc(d->ctx, n, sizeof *all);
  if (all == NULL) return cpli_nomem(d->ctx);
  for (size_t i = 0; i < n; i++) {
    spread* s = spread_of(wanted[i].source);
    if (s == NULL || s->asked[wanted[i].is_model]) continue;
    s->asked[wanted[i].is_model] = true;
    const int32_t rank = (n_asked + 1) % cpli_ranks_size(d->ranks);
    all[n_asked++] = (question){s, wanted[i].is_model, rank};
  }
  cpl_status st = await_others(d);
  const bool joined = st >= 0 && (st = cpli_stacks_join(d->ctx, n_asked)) >= 0;
  if (st >= 0) st = cpli_overlap(d->ctx, n_asked, kind_of, answer_question, all);
  if (joined) cpli_stacks_leave(d->ctx, n_asked);
  if (st >= 0) report_costs(d, all, n_asked);
  if (!d->measured) d->load[0] += own_work;
  d->measured = true;
  cpli_free(d->ctx, all);
  return st;
}

//------------------------------------ the plan ------------------------------------

static bool is_measured(const distribution* d, const cpli_next_instance* wanted, size_t n,
                        bool outermost) {
  const cpli_next_instance* first = NULL;
  bool differ = false;
  size_t count = 0;
  for (size_t i = 0; i < n; i++) {
    if (spread_of(wanted[i].source) == NULL) continue;
    if (first == NULL) first = &wanted[i];
    differ = differ || wanted[i].source != first->source || wanted[i].is_model != first->is_model;
    count++;
  }
  for (int32_t i = 0; i < cpli_ranks_size(d->ranks); i++) outermost = outermost && d->made[i] == 0;
  return count > 0 && !(outermost && (!differ || count <= (size_t)cpli_ranks_size(d->ranks)));
}

static bool add_rank(spread* s, int32_t rank, size_t n) {
  if (s->n_planned == 0) {
    int32_t* more = cpli_realloc(s->d->ctx, s->ranks, n, sizeof *more);
    if (more == NULL) return false;
    s->ranks = more;
  }
  s->ranks[s->n_planned++] = rank;
  return true;
}

// Instances of one source cost the same: which of them is where is of no importance.
static cpl_status plan(distribution* d, const cpli_next_instance* wanted, size_t n) {
  int32_t count = 0;
  cpli_share* shares = cpli_alloc(d->ctx, n, sizeof *shares);
  cpl_status st = shares != NULL ? CPL_OK : cpli_nomem(d->ctx);
  for (size_t i = 0; i < n && st >= 0; i++) {
    spread* s = spread_of(wanted[i].source);
    if (s == NULL) continue;
    s->n_planned = s->next = 0;
    shares[count++] = (cpli_share){.cost = s->cost[wanted[i].is_model], .instance = (int32_t)i};
  }
  if (st >= 0) cpli_spread(shares, count, d->load, cpli_ranks_size(d->ranks));
  for (int32_t i = 0; i < count && st >= 0; i++)
    if (!add_rank(spread_of(wanted[shares[i].instance].source), shares[i].rank, n))
      st = cpli_nomem(d->ctx);
  cpli_free(d->ctx, shares);
  return st;
}

cpl_status cpli_distribution_plan(cpl_context* ctx, const cpli_next_instance* wanted, size_t n,
                                  bool outermost) {
  distribution* d = cpli_context_slot(ctx)->distribution;
  if (d == NULL || d->load == NULL || d->def.spread != CPL_SPREAD_COST) return CPL_OK;
  const cpl_status st = is_measured(d, wanted, n, outermost) ? measure(d, wanted, n) : CPL_OK;
  return st < 0 ? st : plan(d, wanted, n);
}

static void report_loads(const distribution* d) {
  double total = 0;
  for (int32_t i = 0; i < cpli_ranks_size(d->ranks); i++) total += d->load[i];
  for (int32_t i = 0; i < cpli_ranks_size(d->ranks); i++) {
    char cost[64] = "";
    if (d->measured) snprintf(cost, sizeof cost, ", %.3g %% of the cost", 100 * d->load[i] / total);
    cpl_log(d->ctx, CPL_LOG_INFO, "ranks", "rank %d: %d model%s%s", (int)i, (int)d->made[i],
            d->made[i] == 1 ? "" : "s", cost);
  }
}

//------------------------------------ ranks ------------------------------------

void cpl_init_ranks_def(cpl_ranks_def* def, size_t size) {
  const cpl_ranks_def all = {.spread = CPL_SPREAD_COST};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpl_status prepare_loads(distribution* d) {
  const size_t n = (size_t)cpli_ranks_size(d->ranks);
  d->load = cpli_alloc(d->ctx, n, sizeof *d->load);
  d->made = cpli_alloc(d->ctx, n, sizeof *d->made);
  return d->load != NULL && d->made != NULL ? CPL_OK : cpli_nomem(d->ctx);
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
  if (st >= 0 && cpli_ranks_rank(ranks) == 0) st = prepare_loads(&r->d);
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
  else if (!is_known(d, making)) cpli_request_refuse(r, d->ctx, other_models(d));
  else if (making->measures) cpli_request_measure(r, d->sources[making->source].source);
  else cpli_request_make(r, d->sources[making->source].source);
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
  if (r->d.load != NULL && cpli_logs(ctx, CPL_LOG_INFO)) report_loads(&r->d);
  const bool ended = cpli_link_close(r->d.link);
  const bool in_order = cpli_ranks_rank(ranks) == 0 ? ended : r->served;
  cpli_free(ctx, r->d.sources);
  cpli_free(ctx, r->d.load);
  cpli_free(ctx, r->d.made);
  cpli_free(ctx, r);
  cpli_ranks_leave(ranks, in_order);
}
