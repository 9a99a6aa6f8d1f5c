// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The ranks end together: the coordinator sends CPLI_END, every
// other rank answers with CPLI_BYE as its last message; where one does not, all are ended by force.
#include "study/cluster.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/ranks.h"

static const double leave_patience = 10;  // for the others [s]
static const double stop_patience = 0.5;  // where the context is cancelled [s]

struct cpli_cluster {
  cpl_context* ctx;
  cpli_ranks* ranks;
  char* buffer;
  size_t limit;
  bool ending;      // the coordinator has sent CPLI_END, a relay has received it
  int32_t n_ended;  // ranks that have ended
  bool failed;      // MPI does not work any more
};

cpl_status cpli_cluster_join(cpl_context* ctx, cpli_cluster** out) {
  cpli_ranks* ranks;
  *out = NULL;
  cpl_status st = cpli_ranks_join(ctx, &ranks);
  if (st < 0 || ranks == NULL) return st;
  cpli_cluster* c = *out = cpli_alloc(ctx, 1, sizeof *c);
  if (c == NULL) {
    cpli_ranks_leave(ranks, false);
    return cpli_nomem(ctx);
  }
  *c = (cpli_cluster){.ctx = ctx, .ranks = ranks};
  return CPL_OK;
}

int32_t cpli_cluster_rank(const cpli_cluster* c) {
  return c != NULL ? cpli_ranks_rank(c->ranks) : 0;
}
int32_t cpli_cluster_size(const cpli_cluster* c) {
  return c != NULL ? cpli_ranks_size(c->ranks) : 1;
}

//------------------------------------ messages ------------------------------------

cpl_status cpli_cluster_begin(cpli_cluster* c, size_t limit) {
  char* buffer = cpli_alloc(c->ctx, limit, 1);
  if (buffer == NULL) return cpli_nomem(c->ctx);
  cpli_free(c->ctx, c->buffer);
  c->buffer = buffer;
  c->limit = limit;
  return CPL_OK;
}

cpl_status cpli_cluster_send(cpli_cluster* c, int32_t to, const cpli_study_message* m) {
  const cpl_status st = cpli_ranks_send(c->ranks, to, m, sizeof *m + m->size);
  c->failed = c->failed || st < 0;
  return st;
}

static cpl_status next_bytes(cpli_cluster* c, int32_t* from, size_t* size) {
  cpl_status st = cpli_ranks_probe(c->ranks, from, size);
  if (st < 0 || *from < 0) return st;
  if (*size < sizeof(cpli_study_message) || *size > c->limit)
    return cpl_fail(c->ctx, CPL_ERR_INPUT,
                    "rank %d runs another study than rank %d: it sent a message of %zu bytes",
                    *from, cpli_cluster_rank(c), *size);
  return cpli_ranks_receive(c->ranks, *from, c->buffer, *size);
}

cpl_status cpli_cluster_next(cpli_cluster* c, int32_t* from, cpli_study_message** out) {
  size_t size = 0;
  int32_t rank = -1;
  *out = NULL;
  cpl_status st = next_bytes(c, &rank, &size);
  c->failed = c->failed || st == CPL_ERR_CONNECTION;
  if (st < 0 || rank < 0) return st;
  cpli_study_message* m = (cpli_study_message*)(void*)c->buffer;
  if (m->size != size - sizeof *m)
    return cpl_fail(c->ctx, CPL_ERR_INPUT, "rank %d sent an invalid message", rank);
  *from = rank;
  *out = m;
  return CPL_OK;
}

void cpli_cluster_note_end(cpli_cluster* c) {
  c->ending = true;
  c->n_ended++;
}

bool cpli_cluster_all_ended(const cpli_cluster* c) {
  return c->n_ended >= (cpli_cluster_rank(c) == 0 ? cpli_cluster_size(c) - 1 : 1);
}

cpl_status cpli_cluster_send_failure(cpli_cluster* c, cpl_status st) {
  struct {
    cpli_study_message head;
    cpl_error error;
    char texts[CPLI_ERROR_TEXTS];
  }* m = cpli_alloc(c->ctx, 1, sizeof *m);
  if (m == NULL) return cpli_nomem(c->ctx);
  m->head = (cpli_study_message){
      .kind = CPLI_FATAL, .size = sizeof m->error + sizeof m->texts, .count = st};
  m->error = *cpl_context_last_error(c->ctx);
  cpli_error_pack(&m->error, m->texts, sizeof m->texts);
  st = cpli_cluster_send(c, 0, &m->head);
  cpli_free(c->ctx, m);
  return st;
}

//------------------------------------ leaving ------------------------------------

cpl_status cpli_cluster_end_others(cpli_cluster* c, bool in_order) {
  const cpli_study_message end = {.kind = CPLI_END, .count = in_order ? 0 : 1};
  cpl_status st = CPL_OK;
  c->ending = true;
  for (int to = 1; to < cpli_cluster_size(c) && st >= 0; to++) st = cpli_cluster_send(c, to, &end);
  return st;
}

// The coordinator ends the others; a relay reports its failure and waits for the end.
static void end_without_execution(cpli_cluster* c) {
  const cpli_study_message bye = {.kind = CPLI_BYE};
  double until = cpli_now() + (cpli_cluster_rank(c) == 0 ? leave_patience : INFINITY);
  const struct timespec pause = {.tv_nsec = 1000000};
  cpl_status st = cpl_context_last_error(c->ctx)->status;
  if (c->buffer == NULL && cpli_cluster_begin(c, cpli_study_message_limit(sizeof(double))) < 0)
    return;
  if (cpli_cluster_rank(c) == 0) st = cpli_cluster_end_others(c, false);
  else st = cpli_cluster_send_failure(c, st < 0 ? st : CPL_ERR_CANCELLED);
  while (st >= 0 && !cpli_cluster_all_ended(c) && cpli_now() < until) {
    cpli_study_message* m;
    int32_t from;
    if (cpli_cancelled(c->ctx)) until = fmin(until, cpli_now() + stop_patience);
    st = cpli_cluster_next(c, &from, &m);
    if (st >= 0 && m == NULL) nanosleep(&pause, NULL);
    if (st < 0 || m == NULL) continue;
    if (m->kind == (cpli_cluster_rank(c) == 0 ? CPLI_BYE : CPLI_END)) cpli_cluster_note_end(c);
  }
  if (cpli_cluster_rank(c) != 0 && st >= 0 && cpli_cluster_all_ended(c))
    cpli_cluster_send(c, 0, &bye);
}

void cpli_cluster_leave(cpli_cluster* c) {
  if (c == NULL) return;
  cpl_context* ctx = c->ctx;
  if (!c->failed && !c->ending) end_without_execution(c);
  cpli_ranks_leave(c->ranks, !c->failed && cpli_cluster_all_ended(c));
  cpli_free(ctx, c->buffer);
  cpli_free(ctx, c);
}
