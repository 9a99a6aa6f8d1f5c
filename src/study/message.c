// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sending and receiving whole messages on a socket. What arrives was written by a process in which
// a model may have crashed: sizes are checked before they are used.
#include "study/message.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/error.h"
#include "study/journal.h"

static_assert(sizeof(cpli_study_message) == 48, "no padding");
static_assert(CPLI_BATCH_TEXTS >= CPLI_FAILURE_SIZE + 16, "one text fits");

size_t cpli_batch_slots(size_t slot_size) {
  const size_t n = CPLI_BATCH_SIZE / slot_size;
  return n > 0 ? n : 1;
}

size_t cpli_study_message_limit(size_t slot_size) {
  const size_t results = cpli_batch_slots(slot_size) * slot_size + CPLI_BATCH_TEXTS;
  const size_t failure = sizeof(cpl_error) + CPLI_ERROR_TEXTS;
  return sizeof(cpli_study_message) + (results > failure ? results : failure);
}

void cpli_study_message_log(cpl_context* ctx, cpli_study_message* m) {
  const char* who = cpli_payload(m);
  if (m->size == 0 || m->count < CPL_LOG_ERROR || m->count > CPL_LOG_DEBUG) return;
  const size_t n = strnlen(who, m->size);
  if (n >= m->size) return;
  char text[2048];
  snprintf(text, sizeof text, "%.*s", (int)(m->size - n - 1), who + n + 1);
  cpli_log_text(ctx, (cpl_log_level)m->count, who, text);
}

cpl_status cpli_study_message_fail(cpl_context* ctx, cpli_study_message* m) {
  cpl_error error;
  if (m->size != sizeof error + CPLI_ERROR_TEXTS || m->count >= 0)
    return cpl_fail(ctx, CPL_ERR_MODEL, "a worker failed");
  memcpy(&error, cpli_payload(m), sizeof error);
  error.status = (cpl_status)m->count;
  cpli_error_unpack(&error, cpli_payload(m) + sizeof error, CPLI_ERROR_TEXTS);
  return cpli_fail_again(ctx, &error);
}

//------------------------------------ sending ------------------------------------

// Leaves out the first bytes of a list.
static void skip(struct iovec* parts, size_t n, size_t sent) {
  for (size_t i = 0; i < n; i++) {
    const size_t k = sent < parts[i].iov_len ? sent : parts[i].iov_len;
    parts[i].iov_base = (char*)parts[i].iov_base + k;
    parts[i].iov_len -= k;
    sent -= k;
  }
}

bool cpli_study_message_send(int fd, cpli_study_message* m, const cpli_piece* pieces, size_t n) {
  static const char padding[8];
  struct iovec parts[CPLI_MAX_PIECES + 2] = {{m, sizeof *m}};
  size_t size = 0;
  assert(n <= CPLI_MAX_PIECES);
  for (size_t i = 0; i < n; i++) {
    parts[i + 1] = (struct iovec){(void*)pieces[i].data, pieces[i].size};
    size += pieces[i].size;
  }
  parts[n + 1] = (struct iovec){(void*)padding, cpli_padded(size) - size};
  m->size = cpli_padded(size);
  size_t left = sizeof *m + m->size;
  while (left > 0) {
    const struct msghdr what = {.msg_iov = parts, .msg_iovlen = n + 2};
    const ssize_t sent = sendmsg(fd, &what, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    left -= (size_t)sent;
    skip(parts, n + 2, (size_t)sent);
  }
  return true;
}

//------------------------------------ receiving ------------------------------------

cpl_status cpli_inbox_init(cpl_context* ctx, cpli_inbox* in, size_t slot_size) {
  *in = (cpli_inbox){.limit = cpli_study_message_limit(slot_size)};
  in->buffer = cpli_alloc(ctx, in->limit, 1);
  return in->buffer != NULL ? CPL_OK : cpli_nomem(ctx);
}

void cpli_inbox_free(cpl_context* ctx, cpli_inbox* in) {
  cpli_free(ctx, in->buffer);
  in->buffer = NULL;
}

void cpli_inbox_clear(cpli_inbox* in) {
  in->used = in->taken = 0;
  in->broken = false;
}

int64_t cpli_inbox_receive(cpli_inbox* in, int fd, int flags) {
  memmove(in->buffer, in->buffer + in->taken, in->used - in->taken);
  in->used -= in->taken;
  in->taken = 0;
  assert(in->used < in->limit);  // a complete message was returned, or is invalid
  ssize_t got;
  do {
    got = recv(fd, in->buffer + in->used, in->limit - in->used, flags);
  } while (got < 0 && errno == EINTR);
  if (got > 0) in->used += (size_t)got;
  return got;
}

cpli_study_message* cpli_inbox_next(cpli_inbox* in) {
  const size_t left = in->used - in->taken;
  cpli_study_message m;
  if (in->broken || left < sizeof m) return NULL;
  memcpy(&m, in->buffer + in->taken, sizeof m);
  if (m.size > in->limit - sizeof m || m.size % 8 != 0) in->broken = true;
  if (in->broken || left - sizeof m < m.size) return NULL;
  cpli_study_message* found = (cpli_study_message*)(void*)(in->buffer + in->taken);
  in->taken += sizeof m + m.size;
  return found;
}
