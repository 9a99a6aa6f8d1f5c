// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rank 0's side of the links. A request waits in the list of its rank until something has to wait:
// then each rank that answers nothing yet gets one message with all of its requests. Answers are
// received by whoever waits. A rank on the same machine that has ended is found by its process
// number; for the others the launcher tells: it ends all ranks when one has ended.
#include "base/link.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fiber.h"
#include "base/link_wire.h"
#include "base/thread_pool.h"

static const double slice = 0.01;         // between checks of those that wait [s]
static const double last_chance = 0.3;    // for a call in progress when the run is cancelled
static const double ping_patience = 0.2;  // after that
static const double leave_patience = 10, stop_patience = 0.5;  // at the end

enum { MOST_BYTES = 1 << 29 };  // of one message, unless one request is larger

typedef cpli_link_peer peer;
typedef cpli_link_requests requests;

//------------------------------------ life ------------------------------------

static bool poll_answers(void* link);
static void send_waiting(void* link);

static cpl_status begin_others(cpli_rank_links* l) {
  const cpli_link_head head = {.kind = CPLI_LINK_BEGIN, .data = (uintptr_t)l->memory};
  cpl_status st = CPL_OK;
  for (int32_t to = 1; to < l->size && st >= 0; to++)
    st = cpli_ranks_send(l->ranks, to, &head, sizeof head);
  return st;
}

static cpl_status receive_begin(cpli_rank_links* l) {
  cpli_link_head head;
  int32_t from = -1;
  size_t size = 0;
  cpl_status st = CPL_OK;
  for (const double began = cpli_now(); from < 0 && st >= 0;) {
    st = cpli_ranks_probe(l->ranks, &from, &size);
    if (from < 0) cpli_ranks_pause(cpli_now() - began);
    if (cpli_cancelled(l->ctx)) return cpli_interrupted(l->ctx, "waiting for rank 0", NAN);
  }
  if (st >= 0 && size != sizeof head)
    return cpl_fail(l->ctx, CPL_ERR_INPUT, "rank %d runs another program", (int)from);
  if (st >= 0) st = cpli_ranks_receive(l->ranks, from, &head, sizeof head);
  return st < 0 ? st : cpli_link_reserve(l->ctx, (char*)(uintptr_t)head.data, &l->memory);
}

cpl_status cpli_link_open(cpl_context* ctx, cpli_ranks* ranks, cpli_rank_links** out) {
  cpli_rank_links* l = *out = cpli_alloc(ctx, 1, sizeof *l);
  if (l == NULL) return cpli_nomem(ctx);
  l->ctx = ctx;
  l->ranks = ranks;
  l->size = cpli_ranks_size(ranks);
  l->mutex = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;  // it may be left by force
  if (cpli_ranks_rank(ranks) != 0) {
    cpli_log_to(ctx, NULL, NULL);  // rank 0 says the same
    return receive_begin(l);
  }
  l->peers = cpli_alloc(ctx, (size_t)l->size, sizeof *l->peers);
  cpl_status st = l->peers != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0) st = cpli_link_reserve(ctx, NULL, &l->memory);
  l->free = l->memory;
  if (st >= 0) st = begin_others(l);
  if (st >= 0) cpli_fibers_watch(ctx, &(cpli_fiber_watch){send_waiting, poll_answers, l});
  return st;
}

static void free_peer(cpli_rank_links* l, peer* p) {
  if (p->posted != NULL && !l->failed) cpli_ranks_finish(l->ranks, &p->posted);
  cpli_free(l->ctx, p->waiting.items);
  cpli_free(l->ctx, p->sent.items);
  if (p->posted == NULL) cpli_free(l->ctx, p->out.data);  // otherwise MPI may still read it
  cpli_free(l->ctx, p->first);
}

static void end_peer(cpli_rank_links* l, int32_t rank) {
  const cpli_link_head end = {.kind = CPLI_LINK_END};
  peer* p = &l->peers[rank];
  void* request = NULL;
  // a few bytes, which MPI copies
  if (!p->lost && cpli_ranks_post(l->ranks, rank, &end, sizeof end, &request) >= 0)
    cpli_ranks_finish(l->ranks, &request);
}

static bool all_ended(const cpli_rank_links* l) {
  for (int32_t i = 1; i < l->size; i++)
    if (!l->peers[i].ended) return false;
  return true;
}

static bool any_lost(const cpli_rank_links* l) {
  for (int32_t i = 1; i < l->size; i++)
    if (l->peers[i].lost) return true;
  return l->failed;
}

static bool end_others(cpli_rank_links* l) {
  if (l->peers == NULL || l->memory == NULL) return false;
  if (any_lost(l)) return false;  // the launcher ends the others
  for (int32_t i = 1; i < l->size; i++) end_peer(l, i);
  const double began = cpli_now();
  for (;;) {
    if (!poll_answers(l)) cpli_ranks_pause(cpli_now() - began);
    if (all_ended(l)) return true;
    const double patience = cpli_cancelled(l->ctx) ? stop_patience : leave_patience;
    if (l->failed || cpli_now() > began + patience) return false;
  }
}

bool cpli_link_close(cpli_rank_links* l) {
  if (l == NULL) return true;
  cpl_context* ctx = l->ctx;
  const bool is_caller = cpli_ranks_rank(l->ranks) == 0;
  const bool in_order = !is_caller || end_others(l);
  if (is_caller) {
    cpli_fibers_watch(ctx, NULL);
    cpl_log(ctx, CPL_LOG_INFO, "ranks", "%lld calls of models in other ranks, by %lld messages",
            (long long)l->n_calls, (long long)l->n_messages);
  }
  for (int32_t i = 0; l->peers != NULL && i < l->size; i++) free_peer(l, &l->peers[i]);
  cpli_link_release(l->memory);
  pthread_mutex_destroy(&l->mutex);
  cpli_free(ctx, l->peers);
  cpli_free(ctx, l->freed);
  cpli_free(ctx, l->in.data);
  cpli_free(ctx, l);
  return in_order;
}

//------------------------------------ sending ------------------------------------

static void fail(cpli_rank_links* l, const char* why) {
  if (!l->failed) snprintf(l->why, sizeof l->why, "%s", why);
  l->failed = true;
}

static bool add(cpl_context* ctx, requests* r, cpli_channel* ch) {
  if (!cpli_grow(ctx, (void**)&r->items, &r->cap, r->n, sizeof *r->items)) return false;
  r->items[r->n++] = ch;
  return true;
}

static bool pack(cpli_rank_links* l, cpli_buffer* out, const cpli_channel* ch) {
  cpli_parcel p = {.data = (uintptr_t)ch->data, .size = ch->size, .is_new = ch->is_new};
  memcpy(p.pieces, ch->pieces, sizeof p.pieces);
  return cpli_parcel_put(l->ctx, out, &p, NULL);
}

static bool is_posted(cpli_rank_links* l, peer* p) {
  while (p->posted != NULL && cpli_ranks_finish(l->ranks, &p->posted) >= 0) {
    // its answer has come, so that it has arrived
  }
  return p->posted == NULL;
}

// As many as one message takes; the others follow it.
static bool pack_all(cpli_rank_links* l, peer* p) {
  p->out.size = 0;
  size_t n = 0;
  if (cpli_buffer_add(l->ctx, &p->out, sizeof(cpli_link_head)) == NULL) return false;
  for (; n < p->waiting.n && p->out.size < MOST_BYTES; n++) {
    cpli_channel* ch = p->waiting.items[n];
    if (ch == NULL) continue;
    if (!pack(l, &p->out, ch) || !add(l->ctx, &p->sent, ch)) return false;
    ch->is_new = false;
  }
  p->waiting.n -= n;
  memmove(p->waiting.items, p->waiting.items + n, p->waiting.n * sizeof *p->waiting.items);
  const cpli_link_head head = {.kind = CPLI_LINK_CALLS, .count = (uint32_t)p->sent.n};
  memcpy(p->out.data, &head, sizeof head);
  l->n_messages++;
  l->n_calls += (int64_t)p->sent.n;
  return true;
}

static void send_to(cpli_rank_links* l, int32_t rank) {
  peer* p = &l->peers[rank];
  if (p->waiting.n == 0 || p->sent.n > 0 || p->lost || l->failed) return;
  if (!is_posted(l, p) || !pack_all(l, p)) fail(l, "out of memory");
  else if (p->sent.n > 0 &&
           cpli_ranks_post(l->ranks, rank, p->out.data, p->out.size, &p->posted) < 0)
    fail(l, cpl_context_error(l->ctx));
}

static void send_waiting(void* link) {
  cpli_rank_links* l = link;
  pthread_mutex_lock(&l->mutex);
  for (int32_t i = 1; i < l->size; i++) send_to(l, i);
  pthread_mutex_unlock(&l->mutex);
}

//------------------------------------ receiving ------------------------------------

static void keep_messages(cpli_rank_links* l, cpli_channel* ch, const char* messages, size_t n) {
  char* more = n > 0 ? cpli_realloc(l->ctx, ch->messages, ch->n_messages + n, 1) : NULL;
  if (more == NULL) return;
  memcpy(more + ch->n_messages, messages, n);
  ch->messages = more;
  ch->n_messages += n;
}

static bool take_answers(cpli_rank_links* l, peer* p) {
  size_t at = sizeof(cpli_link_head);
  for (size_t i = 0; i < p->sent.n; i++) {
    cpli_channel* ch = p->sent.items[i];
    const char* messages;
    const cpli_parcel* parcel = cpli_parcel_take(&l->in, &at, ch != NULL ? ch->data : NULL,
                                                 ch != NULL ? ch->size : SIZE_MAX, &messages);
    if (parcel == NULL) return false;
    if (ch == NULL) continue;
    keep_messages(l, ch, messages, parcel->n_messages);
    __atomic_store_n(&ch->answered, 1, __ATOMIC_RELEASE);
  }
  p->sent.n = 0;
  return true;
}

static void take_hello(cpli_rank_links* l, int32_t rank) {
  peer* p = &l->peers[rank];
  char host[sizeof p->host] = "";
  cpli_link_hello* hello = (void*)l->in.data;
  if (l->in.size != cpli_padded(sizeof *hello)) {
    fail(l, "a rank runs another version of couplet");
    return;
  }
  p->ready = true;
  p->pid = hello->pid;
  hello->host[sizeof hello->host - 1] = '\0';
  snprintf(p->host, sizeof p->host, "%s", hello->host);
  gethostname(host, sizeof host - 1);
  p->is_local = strcmp(host, p->host) == 0 && kill(p->pid, 0) == 0;
  if (l->refused < 0 || hello->status >= 0) return;
  hello->error.status = (cpl_status)hello->status;
  cpli_error_unpack(&hello->error, hello->texts, sizeof hello->texts);
  cpli_fail_again(l->ctx, &hello->error);
  l->refused = cpl_fail_prefix(l->ctx, hello->error.status, "rank %d on %s", (int)rank, p->host);
}

static void take_message(cpli_rank_links* l, int32_t rank) {
  peer* p = &l->peers[rank];
  const uint32_t kind = ((const cpli_link_head*)(void*)l->in.data)->kind;
  if (kind == CPLI_LINK_HELLO) take_hello(l, rank);
  if (kind == CPLI_LINK_PONG) p->ponged = true;
  if (kind == CPLI_LINK_BYE) p->ended = true;
  if (kind != CPLI_LINK_ANSWERS) return;
  if (!take_answers(l, p)) fail(l, "the answer of a rank is not valid");
  else send_to(l, rank);
}

// Returns whether there was a message.
static bool receive_one(cpli_rank_links* l) {
  int32_t from;
  size_t size = 0;
  if (l->failed) return false;
  cpl_status st = cpli_ranks_probe(l->ranks, &from, &size);
  if (st >= 0 && from < 0) return false;
  l->in.size = 0;
  if (st >= 0 && (from <= 0 || from >= l->size || size < sizeof(cpli_link_head)))
    st = cpl_fail(l->ctx, CPL_ERR_INPUT, "rank %d sent an invalid message", (int)from);
  if (st >= 0 && cpli_buffer_add(l->ctx, &l->in, size) == NULL) st = cpli_nomem(l->ctx);
  if (st >= 0) st = cpli_ranks_receive(l->ranks, from, l->in.data, size);
  if (st >= 0) take_message(l, from);
  else fail(l, cpl_context_error(l->ctx));
  return st >= 0;
}

static bool poll_answers(void* link) {
  cpli_rank_links* l = link;
  bool any = false;
  pthread_mutex_lock(&l->mutex);
  while (receive_one(l)) any = true;
  pthread_mutex_unlock(&l->mutex);
  return any;
}

//------------------------------------ ranks that have ended ------------------------------------

static bool is_lost(cpli_rank_links* l, peer* p) {
  if (!p->lost && !p->ended && p->is_local && kill(p->pid, 0) != 0 && errno == ESRCH) {
    poll_answers(l);  // its last words
    p->lost = !p->ended;
  }
  return p->lost;
}

void cpli_link_describe_end(const cpli_channel* ch, char* text, size_t size) {
  const cpli_rank_links* l = ch->link;
  if (l->failed) snprintf(text, size, "got no answer: %s", l->why);
  else
    snprintf(text, size, "got no answer: rank %d on %s, where it ran, has ended", (int)ch->rank,
             l->peers[ch->rank].host);
}

static cpl_status report_lost(const cpli_rank_links* l, int32_t rank, const char* what) {
  const peer* p = &l->peers[rank];
  char models[160] = "no model";
  if (p->n_models == 1) snprintf(models, sizeof models, "%s", p->first);
  if (p->n_models > 1)
    snprintf(models, sizeof models, "%.100s and %d other model%s", p->first, (int)p->n_models - 1,
             p->n_models > 2 ? "s" : "");
  return cpl_fail_in(l->ctx, CPL_ERR_MODEL, p->first != NULL ? p->first : "", NULL,
                     cpli_interruption_time(l->ctx), "rank %d on %s %s (%s ran there)", (int)rank,
                     p->host, what, models);
}

static bool all_ponged(const cpli_rank_links* l) {
  for (int32_t i = 1; i < l->size; i++)
    if (!l->peers[i].ponged && !l->peers[i].is_local) return false;
  return true;
}

static void ping(cpli_rank_links* l) {
  const cpli_link_head head = {.kind = CPLI_LINK_PING};
  const double until = cpli_now() + ping_patience;
  for (int32_t i = 1; i < l->size; i++) {
    void* request = NULL;
    l->peers[i].ponged = false;
    if (!l->peers[i].is_local && cpli_ranks_post(l->ranks, i, &head, sizeof head, &request) >= 0)
      cpli_ranks_finish(l->ranks, &request);
  }
  while (!all_ponged(l) && cpli_now() < until && !l->failed) {
    if (!poll_answers(l)) cpli_ranks_pause(0.002);
  }
}

cpl_status cpli_link_explain(cpli_rank_links* l, cpl_status st) {
  if (l == NULL || st != CPL_ERR_CANCELLED || l->failed) return st;
  for (int32_t i = 1; i < l->size; i++)
    if (is_lost(l, &l->peers[i])) return report_lost(l, i, "has ended");
  if (all_ponged(l)) return st;  // all are on this machine
  ping(l);
  for (int32_t i = 1; i < l->size; i++) {
    if (l->peers[i].is_local || l->peers[i].ponged) continue;
    l->peers[i].lost = true;
    return report_lost(l, i, "has ended, or does not answer");
  }
  return st;
}

//------------------------------------ channels ------------------------------------

cpl_status cpli_link_await(cpli_rank_links* l) {
  const double began = cpli_now();
  for (int32_t i = 1; i < l->size && l->refused >= 0 && !l->failed;) {
    if (l->peers[i].ready) i++;
    else if (cpli_cancelled(l->ctx)) return cpli_interrupted(l->ctx, "waiting for ranks", NAN);
    else if (!poll_answers(l)) cpli_ranks_pause(cpli_now() - began);
  }
  if (l->failed) return cpl_fail(l->ctx, CPL_ERR_CONNECTION, "ranks: %s", l->why);
  return l->refused;
}

static char* take_memory(cpli_rank_links* l, size_t size) {
  for (size_t i = l->n_freed; i > 0; i--) {
    if (l->freed[i - 1].size != size) continue;
    char* data = l->freed[i - 1].data;
    l->freed[i - 1] = l->freed[--l->n_freed];
    return data;
  }
  if (size > (size_t)(l->memory + ((size_t)1 << CPLI_LINK_MEMORY_BITS) - l->free)) return NULL;
  char* data = l->free;
  l->free += size;
  return data;
}

cpl_status cpli_link_open_channel(cpli_rank_links* l, int32_t rank, size_t size, const char* name,
                                  cpli_channel* ch) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  peer* p = &l->peers[rank];
  size = (size + page - 1) / page * page;
  assert(rank > 0 && rank < l->size);
  pthread_mutex_lock(&l->mutex);
  char* data = take_memory(l, size);
  pthread_mutex_unlock(&l->mutex);
  if (data == NULL || !cpli_link_use(data, size))
    return cpl_fail(l->ctx, CPL_ERR_NOMEM, "no memory of %zu bytes for a model: %s", size,
                    strerror(errno));
  if (p->first == NULL && name != NULL) p->first = cpli_strdup(l->ctx, name);
  p->n_models += name != NULL;
  *ch = (cpli_channel){.ctx = l->ctx,
                       .link = l,
                       .rank = rank,
                       .data = data,
                       .size = size,
                       .is_new = true,
                       .memory = -1,
                       .wake = -1,
                       .input = -1,
                       .woken = -1,
                       .waker = -1,
                       .printed = {-1, -1}};
  return CPL_OK;
}

static void forget(requests* r, const cpli_channel* ch) {
  for (size_t i = 0; i < r->n; i++)
    if (r->items[i] == ch) r->items[i] = NULL;
}

void cpli_link_close_channel(cpli_channel* ch) {
  cpli_rank_links* l = ch->link;
  pthread_mutex_lock(&l->mutex);
  forget(&l->peers[ch->rank].waiting, ch);
  forget(&l->peers[ch->rank].sent, ch);
  madvise(ch->data, ch->size, MADV_DONTNEED);
  if (cpli_grow(l->ctx, (void**)&l->freed, &l->cap_freed, l->n_freed, sizeof *l->freed))
    l->freed[l->n_freed++] = (cpli_link_freed){ch->data, ch->size};
  pthread_mutex_unlock(&l->mutex);
  cpli_free(l->ctx, ch->messages);
  ch->messages = NULL;
  ch->link = NULL;
}

//------------------------------------ requests ------------------------------------

static bool is_answered(const void* channel) {
  return __atomic_load_n(&((const cpli_channel*)channel)->answered, __ATOMIC_ACQUIRE) != 0;
}

static void log_messages(cpli_channel* ch) {
  for (size_t at = 0; at + sizeof(cpli_link_message) <= ch->n_messages;) {
    const cpli_link_message* m = (const void*)(ch->messages + at);
    const char *who = (const char*)(m + 1), *text = who + strlen(who) + 1;
    cpli_log_text(ch->ctx, (cpl_log_level)m->level, who, text);
    at += sizeof *m + cpli_padded(m->size);
  }
  ch->n_messages = 0;
}

static bool enqueue(cpli_channel* ch) {
  cpli_rank_links* l = ch->link;
  pthread_mutex_lock(&l->mutex);
  ch->answered = 0;
  const bool fine = add(l->ctx, &l->peers[ch->rank].waiting, ch);
  if (!fine) fail(l, "out of memory");
  pthread_mutex_unlock(&l->mutex);
  return fine;
}

// Looks for answers, or lets others do that. *began: when that was begun here; 0: not yet.
static bool wait_a_while(cpli_channel* ch, double* began) {
  if (cpli_in_fiber()) return cpli_fiber_wait(is_answered, ch, slice);
  double now = cpli_now();
  const double until = now + slice;
  if (*began == 0) *began = now;
  send_waiting(ch->link);
  for (; !is_answered(ch) && now < until; now = cpli_now())
    if (!poll_answers(ch->link)) cpli_ranks_pause(now - *began);
  return is_answered(ch);
}

cpli_answer cpli_link_ask(cpli_channel* ch) {
  cpli_rank_links* l = ch->link;
  peer* p = &l->peers[ch->rank];
  double began = 0, cancelled = 0;
  if (p->lost || l->failed || !enqueue(ch)) return CPLI_DIED;
  while (!wait_a_while(ch, &began)) {
    if (is_lost(l, p) || l->failed) return CPLI_DIED;
    const double now = cpli_now();
    if (cancelled == 0 && cpli_cancelled(ch->ctx)) cancelled = now;
    if (cancelled > 0 && now > cancelled + last_chance) return CPLI_BROKEN_OFF;
  }
  log_messages(ch);
  return CPLI_ANSWERED;
}
