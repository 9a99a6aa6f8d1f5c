// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The side of the other ranks: requests are answered in their order, and all answers of a message
// return in one. What models report meanwhile travels with the answers.
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/link_wire.h"

typedef struct server {
  cpli_rank_links* link;
  cpli_link_serve_fn* serve;
  void* user;
  cpli_buffer out;
  pthread_mutex_t mutex;  // of the messages: threads of a model report, too
  cpli_buffer messages;
} server;

//------------------------------------ messages of models ------------------------------------

static void keep_message(void* user, cpl_log_level level, const char* who, const char* text) {
  server* s = user;
  const size_t n_who = strlen(who) + 1, n_text = strlen(text) + 1;
  const cpli_link_message m = {.level = (uint32_t)level, .size = (uint32_t)(n_who + n_text)};
  pthread_mutex_lock(&s->mutex);
  char* at = cpli_buffer_add(s->link->ctx, &s->messages, sizeof m + m.size);
  if (at != NULL) {
    memcpy(at, &m, sizeof m);
    memcpy(at + sizeof m, who, n_who);
    memcpy(at + sizeof m + n_who, text, n_text);
  }
  pthread_mutex_unlock(&s->mutex);
}

//------------------------------------ requests ------------------------------------

static cpl_status invalid(const server* s) {
  return cpl_fail(s->link->ctx, CPL_ERR_INPUT, "rank 0 sent an invalid request");
}

static bool is_mine(const cpli_rank_links* l, const cpli_parcel* p) {
  const uint64_t begin = (uintptr_t)l->memory, all = UINT64_C(1) << CPLI_LINK_MEMORY_BITS;
  return p->data >= begin && p->size <= all && p->data - begin <= all - p->size;
}

static cpl_status answer_one(server* s, size_t* at) {
  cpl_context* ctx = s->link->ctx;
  const cpli_buffer* in = &s->link->in;
  if (in->size - *at < sizeof(cpli_parcel)) return invalid(s);
  const cpli_parcel* p = (const void*)(in->data + *at);
  char* data = (char*)(uintptr_t)p->data;
  const char* unused;
  if (!is_mine(s->link, p)) return invalid(s);
  if (p->is_new && !cpli_link_use(data, p->size)) return cpli_nomem(ctx);
  if (cpli_parcel_take(in, at, data, p->size, &unused) == NULL) return invalid(s);
  cpli_parcel answer = {.data = p->data, .size = p->size};
  s->serve(s->user, data, answer.pieces);
  pthread_mutex_lock(&s->mutex);
  answer.n_messages = s->messages.size;
  const bool fine = cpli_parcel_put(ctx, &s->out, &answer, s->messages.data);
  s->messages.size = 0;
  pthread_mutex_unlock(&s->mutex);
  return fine ? CPL_OK : cpli_nomem(ctx);
}

static cpl_status answer_all(server* s) {
  const cpli_link_head* head = (const void*)s->link->in.data;
  const cpli_link_head answer = {.kind = CPLI_LINK_ANSWERS, .count = head->count};
  size_t at = sizeof *head;
  s->out.size = 0;
  char* to = cpli_buffer_add(s->link->ctx, &s->out, sizeof answer);
  if (to == NULL) return cpli_nomem(s->link->ctx);
  memcpy(to, &answer, sizeof answer);
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < head->count && st >= 0; i++) st = answer_one(s, &at);
  return st < 0 ? st : cpli_ranks_send(s->link->ranks, 0, s->out.data, s->out.size);
}

// *ended: rank 0 has requested the end.
static cpl_status take_message(server* s, bool* ended) {
  static const cpli_link_head pong = {.kind = CPLI_LINK_PONG}, bye = {.kind = CPLI_LINK_BYE};
  cpli_ranks* ranks = s->link->ranks;
  switch (((const cpli_link_head*)(void*)s->link->in.data)->kind) {
    case CPLI_LINK_CALLS: return answer_all(s);
    case CPLI_LINK_PING: return cpli_ranks_send(ranks, 0, &pong, sizeof pong);
    case CPLI_LINK_END: *ended = true; return cpli_ranks_send(ranks, 0, &bye, sizeof bye);
    default: return invalid(s);
  }
}

static cpl_status receive(server* s) {
  cpli_rank_links* l = s->link;
  int32_t from;
  size_t size = 0;
  cpl_status st = CPL_OK;
  for (const double began = cpli_now();;) {
    st = cpli_ranks_probe(l->ranks, &from, &size);
    if (st < 0 || from >= 0) break;
    cpli_ranks_pause(cpli_now() - began);
  }
  l->in.size = 0;
  if (st >= 0 && (from != 0 || size < sizeof(cpli_link_head))) st = invalid(s);
  if (st >= 0 && cpli_buffer_add(l->ctx, &l->in, size) == NULL) st = cpli_nomem(l->ctx);
  return st < 0 ? st : cpli_ranks_receive(l->ranks, from, l->in.data, size);
}

//------------------------------------ life ------------------------------------

static cpl_status say_hello(const cpli_rank_links* l, cpl_status opened) {
  cpli_link_hello* hello = cpli_alloc(l->ctx, 1, sizeof *hello + 8);
  if (hello == NULL) return cpli_nomem(l->ctx);
  hello->head.kind = CPLI_LINK_HELLO;
  hello->status = opened;
  hello->pid = (int32_t)getpid();
  gethostname(hello->host, sizeof hello->host - 1);
  hello->error = *cpl_context_last_error(l->ctx);
  cpli_error_pack(&hello->error, hello->texts, sizeof hello->texts);
  const cpl_status st = cpli_ranks_send(l->ranks, 0, hello, cpli_padded(sizeof *hello));
  cpli_free(l->ctx, hello);
  return st;
}

cpl_status cpli_link_serve(cpli_rank_links* l, cpl_status opened, cpli_link_serve_fn* serve,
                           void* user) {
  server s = {.link = l, .serve = serve, .user = user, .mutex = PTHREAD_MUTEX_INITIALIZER};
  bool ended = false;
  cpl_status st = say_hello(l, opened);
  cpli_log_to(l->ctx, keep_message, &s);
  while (st >= 0 && !ended) {
    st = receive(&s);
    if (st >= 0) st = take_message(&s, &ended);
  }
  cpli_log_to(l->ctx, NULL, NULL);
  cpli_free(l->ctx, s.out.data);
  cpli_free(l->ctx, s.messages.data);
  return st;
}
