// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Turns are passed with a futex, after a short spin where answers usually come fast; log messages
// of the child go through a ring buffer in the shared memory. The child is killed with its process
// group when it exceeds the time limit of a call, when the run is cancelled or when the parent
// dies.
#include "base/channel.h"

#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/guard.h"

enum { PARENT, CHILD };

const char cpli_channel_waits[] = "waiting for other parts";

static const double slice = 0.01;  // interval between checks that the other process is alive [s]
static const double worth_looking = 1e-4;  // answers that take longer are slept for [s]
static const double longest_noted = 1e-3;
static const double last_chance = 0.15;  // for a call in progress when the run is cancelled

// Both processes, and the kernel, use this layout of the shared memory.
static_assert(sizeof(_Atomic uint32_t) == 4 && ATOMIC_INT_LOCK_FREE == 2,
              "a futex is a word of 32 bits, and locks would not be shared");
static_assert(offsetof(cpli_shared, turn) == 0 && offsetof(cpli_shared, sleeps) == 64,
              "the word that is spun on has a cache line of its own");
static_assert(sizeof(cpli_shared) % _Alignof(max_align_t) == 0, "the data behind it is aligned");
static_assert((CPLI_CHANNEL_LOG & (CPLI_CHANNEL_LOG - 1)) == 0,
              "positions in the log are counted modulo 2^32");

//------------------------------------ turns ------------------------------------

static void futex_wait(_Atomic uint32_t* word, uint32_t value, double seconds) {
  struct timespec ts = {.tv_nsec = (long)(1e9 * seconds)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
}

static void give_turn(cpli_shared* s, uint32_t to) {
  atomic_store(&s->turn, to);
  if (atomic_load(&s->sleeps[to])) syscall(SYS_futex, &s->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool alone(void) {
  static int processors;  // all threads write the same value
  cpu_set_t set;
  if (processors == 0)
    processors = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  return processors < 2;
}

// Spin on the word for a while. Rare calls must not occupy a processor, so only those with usually
// fast answers spin long.
static bool look(cpli_channel* ch, uint32_t mine, double began) {
  if (alone()) return atomic_load(&ch->shared->turn) == mine;
  double until = began + (ch->usual_wait < worth_looking ? worth_looking : 2e-6);
  do {
    for (int i = 0; i < 64; i++) {
      if (atomic_load_explicit(&ch->shared->turn, memory_order_acquire) == mine) return true;
      cpli_relax();
    }
  } while (cpli_now() < until);
  return false;
}

// Sleep until it is this side's turn, at most one slice.
static bool doze(cpli_shared* s, uint32_t mine) {
  atomic_store(&s->sleeps[mine], 1);
  if (atomic_load(&s->turn) != mine) futex_wait(&s->turn, 1 - mine, slice);
  atomic_store(&s->sleeps[mine], 0);
  return atomic_load(&s->turn) == mine;
}

static void note_wait(cpli_channel* ch, double seconds) {
  if (seconds > longest_noted) seconds = longest_noted;
  ch->usual_wait += 0.125 * (seconds - ch->usual_wait);
}

//------------------------------------ messages ------------------------------------

// A message consists of its length, its level, and two terminated texts.
typedef struct letter {
  uint32_t length;  // of the texts
  uint32_t level;
} letter;
static_assert(sizeof(letter) == 8 && 2 * (sizeof(letter) + 256 + 4096) < CPLI_CHANNEL_LOG,
              "a message fits into the log");

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;  // for the child's threads
static pthread_t server;                                       // the thread that answers requests

// The log is a ring buffer: a message may wrap around its end.
static size_t before_end(uint32_t at, size_t n) {
  size_t room = CPLI_CHANNEL_LOG - at % CPLI_CHANNEL_LOG;
  return n < room ? n : room;
}

static void copy_in(cpli_shared* s, uint32_t at, const void* data, size_t n) {
  size_t first = before_end(at, n);
  assert(n <= CPLI_CHANNEL_LOG);
  memcpy(s->log + at % CPLI_CHANNEL_LOG, data, first);
  memcpy(s->log, (const char*)data + first, n - first);
}

static void copy_out(const cpli_shared* s, uint32_t at, void* data, size_t n) {
  size_t first = before_end(at, n);
  assert(n <= CPLI_CHANNEL_LOG);
  memcpy(data, s->log + at % CPLI_CHANNEL_LOG, first);
  memcpy((char*)data + first, s->log, n - first);
}

static void await_parent(cpli_shared* s) {
  while (!doze(s, CHILD)) {
  }
}

// The log sink of the child. The server's thread waits for space; other threads cannot.
static void send_message(void* user, cpl_log_level level, const char* who, const char* text) {
  cpli_shared* s = user;
  size_t n_who = strnlen(who, 255), n_text = strnlen(text, 4095);
  letter l = {.length = (uint32_t)(n_who + n_text + 2), .level = (uint32_t)level};
  pthread_mutex_lock(&log_mutex);
  uint32_t head = atomic_load(&s->log_head);
  bool room = head - atomic_load(&s->log_tail) + l.length + sizeof l <= CPLI_CHANNEL_LOG;
  if (!room && pthread_equal(pthread_self(), server)) {
    s->flushes = 1;
    give_turn(s, PARENT);
    await_parent(s);
    room = true;
  }
  if (room) {
    copy_in(s, head, &l, sizeof l);
    copy_in(s, head + (uint32_t)sizeof l, who, n_who);
    copy_in(s, head + (uint32_t)(sizeof l + n_who), "", 1);
    copy_in(s, head + (uint32_t)(sizeof l + n_who + 1), text, n_text);
    copy_in(s, head + (uint32_t)(sizeof l + n_who + 1 + n_text), "", 1);
    atomic_store(&s->log_head, head + l.length + (uint32_t)sizeof l);
  } else {
    atomic_fetch_add(&s->log_lost, 1);
  }
  pthread_mutex_unlock(&log_mutex);
}

// The parent reads the messages. The child may be corrupted: its data is validated.
static void take_messages(cpli_channel* ch) {
  cpli_shared* s = ch->shared;
  uint32_t head = atomic_load(&s->log_head), tail = atomic_load(&s->log_tail);
  if (head == tail) return;
  char texts[255 + 4095 + 2];
  letter l;
  while (head - tail >= sizeof l && head - tail <= CPLI_CHANNEL_LOG) {
    copy_out(s, tail, &l, sizeof l);
    if (l.length < 2 || l.length > sizeof texts || l.level > CPL_LOG_DEBUG) break;
    copy_out(s, tail + (uint32_t)sizeof l, texts, l.length);
    texts[l.length - 1] = '\0';
    size_t n = strlen(texts);
    const char* text = n + 1 < l.length ? texts + n + 1 : "";
    cpl_log(ch->ctx, (cpl_log_level)l.level, texts, "%s", text);
    tail += l.length + (uint32_t)sizeof l;
  }
  atomic_store(&s->log_tail, head);
  uint32_t lost = atomic_exchange(&s->log_lost, 0);
  if (lost > 0) cpl_log(ch->ctx, CPL_LOG_WARNING, "", "%u messages of a model were lost", lost);
}

//------------------------------------ parent ------------------------------------

cpl_status cpli_channel_open(cpl_context* ctx, size_t size, cpli_channel* ch) {
  *ch = (cpli_channel){.ctx = ctx, .size = size};
  void* memory = mmap(NULL, sizeof(cpli_shared) + size, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    return cpl_fail(ctx, CPL_ERR_NOMEM, "no shared memory of %zu bytes: %s", size, strerror(errno));
  ch->shared = memory;
  ch->data = (char*)memory + sizeof(cpli_shared);
  return CPL_OK;
}

void cpli_channel_close(cpli_channel* ch) {
  if (ch->shared == NULL) return;
  cpli_channel_reap(ch, 0);
  munmap(ch->shared, sizeof(cpli_shared) + ch->size);
  ch->shared = NULL;
}

static void end_child(cpli_channel* ch) {
  if (ch->pid != 0) ch->how = cpli_child_end(ch->pid);
  ch->pid = 0;
}

static bool has_ended(cpli_channel* ch) {
  if (ch->pid != 0 && cpli_child_has_ended(ch->pid)) end_child(ch);  // and its descendants
  return ch->pid == 0;
}

void cpli_channel_reap(cpli_channel* ch, double limit) {
  double until = cpli_now() + limit;
  for (double pause = 1e-5; limit > 0 && !has_ended(ch) && cpli_now() < until; pause *= 1.5) {
    struct timespec ts = {.tv_nsec = (long)(1e9 * (pause < slice ? pause : slice))};
    nanosleep(&ts, NULL);
  }
  if (ch->pid != 0) end_child(ch);
  take_messages(ch);
}

static cpli_answer wait_long(cpli_channel* ch, double began, double limit) {
  double cancelled = 0;  // time at which it was detected
  uint32_t calls = atomic_load(&ch->shared->calls);
  while (!doze(ch->shared, PARENT)) {
    // its last write may be an answer
    if (has_ended(ch) && atomic_load(&ch->shared->turn) != PARENT) return CPLI_DIED;
    double now = cpli_now();
    uint32_t n = atomic_load(&ch->shared->calls);
    if (n != calls) calls = n, began = now;
    const bool counts = n > 0 || !ch->limits_calls;
    if (limit > 0 && counts && now > began + limit) return CPLI_TOO_LATE;
    if (cancelled == 0 && cpli_cancelled(ch->ctx)) cancelled = now;
    if (cancelled > 0 && now > cancelled + last_chance) return CPLI_BROKEN_OFF;
  }
  return CPLI_ANSWERED;
}

static cpli_answer await_answer(cpli_channel* ch, double limit) {
  double began = cpli_now();
  if (!look(ch, PARENT, began)) {
    cpli_answer answer = wait_long(ch, began, limit);
    if (answer != CPLI_ANSWERED) return answer;
  }
  note_wait(ch, cpli_now() - began);
  return CPLI_ANSWERED;
}

cpli_answer cpli_channel_ask(cpli_channel* ch, double limit) {
  cpli_answer answer;
  assert(ch->shared != NULL && limit >= 0);
  do {
    ch->shared->flushes = 0;
    give_turn(ch->shared, CHILD);
    answer = await_answer(ch, limit);
    if (answer != CPLI_ANSWERED) end_child(ch);
    take_messages(ch);
  } while (answer == CPLI_ANSWERED && ch->shared->flushes);
  return answer;
}

//------------------------------------ child ------------------------------------

static void become_child(cpli_channel* ch) {
  cpli_guard_note = &ch->shared->note;
  ch->forks = cpli_guard_forks;
  // processes forked by the model must not write into answers
  madvise(ch->shared, sizeof(cpli_shared) + ch->size, MADV_DONTFORK);
  ch->pid = 0;
  server = pthread_self();
  cpli_log_to(ch->ctx, cpli_logs(ch->ctx, CPL_LOG_ERROR) ? send_message : NULL, ch->shared);
}

cpl_status cpli_channel_fork(cpli_channel* ch, int keep, bool* in_child) {
  assert(ch->shared != NULL && ch->pid == 0);
  const pid_t pid = cpli_child_fork(ch->ctx, keep);
  *in_child = pid == 0;
  if (pid < 0)
    return cpl_fail(ch->ctx, CPL_ERR_CONNECTION, "no process for a model: %s", strerror(errno));
  ch->pid = pid;
  if (pid == 0) become_child(ch);
  return CPL_OK;
}

void cpli_channel_next(cpli_channel* ch, bool answered) {
  if (ch->forks != cpli_guard_forks) cpli_guard_end_copy();
  if (answered) give_turn(ch->shared, PARENT);
  double began = cpli_now();
  if (!look(ch, CHILD, began)) await_parent(ch->shared);
  note_wait(ch, cpli_now() - began);
}

void cpli_channel_last(cpli_channel* ch) {
  if (ch->forks != cpli_guard_forks) cpli_guard_end_copy();
  give_turn(ch->shared, PARENT);
}
