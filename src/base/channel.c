// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Turns are passed with a futex, or by bytes in pipes with another program, after a short spin
// where answers usually come fast. The child is killed with its process group when it exceeds the
// time limit of a call, when the run is cancelled or when the parent dies.
#include "base/channel.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/child.h"
#include "base/fiber.h"
#include "base/guard.h"
#include "base/link.h"
#include "base/thread_pool.h"

enum { PARENT = CPLI_PARENT, CHILD = CPLI_CHILD };

const char cpli_channel_waits[] = "waiting for other parts";

static const double slice = 0.01;  // interval between checks that the other process is alive [s]
static const double last_chance = 0.15;  // for a call in progress when the run is cancelled
static const double last_words = 1;      // for the messages of a call that took too long
static const double hearing = 0.05;      // what a program prints is passed on so often [s]

static_assert(sizeof(cpli_shared) % _Alignof(max_align_t) == 0, "the data behind it is aligned");

//------------------------------------ turns ------------------------------------

static void futex_wait(_Atomic uint32_t* word, uint32_t value, double seconds) {
  struct timespec ts = {.tv_nsec = (long)(1e9 * seconds)};
  syscall(SYS_futex, word, FUTEX_WAIT, value, &ts, NULL, 0);
}

static void give_turn(cpli_shared* s, uint32_t to) {
  atomic_store(&s->turn, to);
  if (atomic_load(&s->sleeps[to])) syscall(SYS_futex, &s->turn, FUTEX_WAKE, 1, NULL, NULL, 0);
  if (to == PARENT) cpli_bell_ring();
}

// A byte too many is harmless: who reads it looks whose turn it is, and sleeps again.
static void wake_program(cpli_channel* ch) {
  atomic_store(&ch->shared->turn, CHILD);
  if (!atomic_load(&ch->shared->sleeps[CHILD])) return;
  while (write(ch->wake, "", 1) < 0 && errno == EINTR) {
  }
}

static void give_turn_to_child(cpli_channel* ch) {
  if (ch->wake >= 0) wake_program(ch);
  else give_turn(ch->shared, CHILD);
}

static bool alone(void) {
  static int32_t processors;  // all threads write the same value
  if (processors == 0) processors = cpli_count_processors();
  return processors < 2;
}

static bool look(cpli_channel* ch, uint32_t mine, double spin) {
  return cpli_shared_look(ch->shared, mine, spin, alone(), cpli_now);
}

// Sleep until it is this side's turn, at most one slice.
static bool doze(cpli_shared* s, uint32_t mine) {
  atomic_store(&s->sleeps[mine], 1);
  if (atomic_load(&s->turn) != mine) futex_wait(&s->turn, 1 - mine, slice);
  atomic_store(&s->sleeps[mine], 0);
  return atomic_load(&s->turn) == mine;
}

// A file of its own rather than that of the user: what is printed to a terminal would go through a
// window of Windows' console, and some programs cut files that they print to.
static void pass_on(cpli_channel* ch) {
  char bytes[4096];
  for (int i = 0; i < 2; i++) {
    ssize_t n = 1;
    while (ch->printed[i] >= 0 && (n = read(ch->printed[i], bytes, sizeof bytes)) > 0) {
      for (ssize_t done = 0; done < n;) {
        const ssize_t m = write(STDOUT_FILENO + i, bytes + done, (size_t)(n - done));
        if (m < 0 && errno != EINTR) break;  // nobody reads it
        if (m > 0) done += m;
      }
    }
    if (n != 0 || ch->printed[i] < 0) continue;
    close(ch->printed[i]);
    ch->printed[i] = -1;
  }
  ch->passed_on = cpli_now();
}

static bool doze_for_program(cpli_channel* ch) {
  cpli_shared* s = ch->shared;
  struct pollfd bells[] = {{.fd = ch->woken, .events = POLLIN},
                           {.fd = ch->printed[0], .events = POLLIN},
                           {.fd = ch->printed[1], .events = POLLIN}};
  char bytes[16];
  atomic_store(&s->sleeps[PARENT], 1);
  if (atomic_load(&s->turn) != PARENT && poll(bells, 3, (int)(1e3 * slice)) > 0) {
    while (read(ch->woken, bytes, sizeof bytes) == (ssize_t)sizeof bytes) {
    }
    if (bells[1].revents != 0 || bells[2].revents != 0) pass_on(ch);
  }
  atomic_store(&s->sleeps[PARENT], 0);
  return atomic_load(&s->turn) == PARENT;
}

static bool is_answered(const void* shared) {
  return atomic_load(&((const cpli_shared*)shared)->turn) == PARENT;
}

// Whether other requests of this thread may be made meanwhile.
static bool overlaps(const cpli_channel* ch) { return ch->woken < 0 && cpli_in_fiber(); }

static bool doze_in_parent(cpli_channel* ch) {
  if (overlaps(ch)) return cpli_fiber_wait(is_answered, ch->shared, slice);
  return ch->woken >= 0 ? doze_for_program(ch) : doze(ch->shared, PARENT);
}

//------------------------------------ messages ------------------------------------

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;  // for the child's threads
static pthread_t server;                                       // the thread that answers requests

static void await_parent(cpli_shared* s) {
  while (!doze(s, CHILD)) {
  }
}

// The log sink of the child. The server's thread waits for space; other threads cannot.
static void send_message(void* user, cpl_log_level level, const char* who, const char* text) {
  cpli_shared* s = user;
  pthread_mutex_lock(&log_mutex);
  bool sent = cpli_shared_put(s, (uint32_t)level, who, text);
  if (!sent && pthread_equal(pthread_self(), server)) {
    s->flushes = 1;
    give_turn(s, PARENT);
    await_parent(s);
    sent = cpli_shared_put(s, (uint32_t)level, who, text);
  }
  if (!sent) atomic_fetch_add(&s->log_lost, 1);
  pthread_mutex_unlock(&log_mutex);
}

static void take_messages(cpli_channel* ch) {
  cpli_shared* s = ch->shared;
  cpli_message_taken m;
  while (cpli_shared_take(s, &m)) {
    if (ch->receive != NULL) ch->receive(ch->user, m.level, m.who, m.text);
    else if (m.level <= CPL_LOG_DEBUG)
      cpli_log_text(ch->ctx, (cpl_log_level)m.level, m.who, m.text);
  }
  uint32_t lost = atomic_exchange(&s->log_lost, 0);
  if (lost > 0) cpl_log(ch->ctx, CPL_LOG_WARNING, "", "%u messages of a model were lost", lost);
}

//------------------------------------ parent ------------------------------------

static cpl_status map(cpli_channel* ch, int flags) {
  const size_t all = sizeof(cpli_shared) + ch->size;
  void* memory =
      mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | flags, ch->memory, 0);
  if (memory == MAP_FAILED)
    return cpl_fail(ch->ctx, CPL_ERR_NOMEM, "no shared memory of %zu bytes: %s", ch->size,
                    strerror(errno));
  ch->shared = memory;
  ch->data = (char*)memory + sizeof(cpli_shared);
  return CPL_OK;
}

static cpli_channel no_files(cpl_context* ctx, size_t size) {
  return (cpli_channel){.ctx = ctx,
                        .size = size,
                        .memory = -1,
                        .wake = -1,
                        .input = -1,
                        .woken = -1,
                        .waker = -1,
                        .printed = {-1, -1}};
}

cpl_status cpli_channel_open(cpl_context* ctx, size_t size, cpli_channel* ch) {
  *ch = no_files(ctx, size);
  return map(ch, MAP_ANONYMOUS);
}

cpl_status cpli_channel_open_file(cpl_context* ctx, size_t size, cpli_channel* ch) {
  int ends[2] = {-1, -1};
  *ch = no_files(ctx, size);
  ch->memory = memfd_create("couplet", MFD_CLOEXEC);
  bool made = ch->memory >= 0 && ftruncate(ch->memory, (off_t)(sizeof(cpli_shared) + size)) == 0 &&
              pipe2(ends, O_CLOEXEC) == 0;
  ch->woken = ends[0], ch->waker = ends[1];
  made = made && fcntl(ch->woken, F_SETFL, O_NONBLOCK) == 0;
  cpl_status st =
      made ? map(ch, 0)
           : cpl_fail(ctx, CPL_ERR_CONNECTION, "no shared memory for a model: %s", strerror(errno));
  if (st < 0) cpli_channel_close(ch);
  return st;
}

void cpli_channel_close(cpli_channel* ch) {
  int* const files[] = {&ch->memory, &ch->wake,       &ch->input,     &ch->woken,
                        &ch->waker,  &ch->printed[0], &ch->printed[1]};
  if (ch->link != NULL) cpli_link_close_channel(ch);
  if (ch->shared != NULL) {
    cpli_channel_reap(ch, 0);
    munmap(ch->shared, sizeof(cpli_shared) + ch->size);
    ch->shared = NULL;
  }
  for (size_t i = 0; i < CPLI_COUNT(files) && ch->ctx != NULL; i++) {
    if (*files[i] >= 0) close(*files[i]);
    *files[i] = -1;
  }
}

void cpli_channel_places(const cpli_channel* ch, char memory[CPLI_PLACE], char waker[CPLI_PLACE]) {
  snprintf(memory, CPLI_PLACE, "/proc/%d/fd/%d", (int)getpid(), ch->memory);
  snprintf(waker, CPLI_PLACE, "/proc/%d/fd/%d", (int)getpid(), ch->waker);
}

cpl_status cpli_channel_start(cpli_channel* ch, const char* const* argv, const char* const* env) {
  int files[3] = {-1, -1, -1}, ends[2];
  assert(ch->shared != NULL && ch->pid == 0 && ch->woken >= 0);
  bool made = pipe2(ends, O_CLOEXEC) == 0;
  if (made) {
    files[0] = ch->input = ends[0];  // kept: a write to a child that has ended is no SIGPIPE
    ch->wake = ends[1];
  }
  for (int i = 0; i < 2 && ch->passes_on && made; i++) {
    made = pipe2(ends, O_CLOEXEC) == 0;
    if (!made) break;
    ch->printed[i] = ends[0];
    files[i + 1] = ends[1];
    made = fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
  }
  const pid_t pid = made ? cpli_child_start(argv, env, files) : -1;
  const int failed = errno;
  for (int i = 1; i < 3; i++)
    if (files[i] >= 0) close(files[i]);
  if (pid < 0)
    return cpl_fail(ch->ctx, CPL_ERR_CONNECTION, "no process for a model: %s", strerror(failed));
  ch->pid = pid;
  return CPL_OK;
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
  if (ch->link != NULL) return;
  double until = cpli_now() + limit;
  for (double pause = 1e-5; limit > 0 && !has_ended(ch) && cpli_now() < until; pause *= 1.5) {
    struct timespec ts = {.tv_nsec = (long)(1e9 * (pause < slice ? pause : slice))};
    nanosleep(&ts, NULL);
    pass_on(ch);
  }
  if (ch->pid != 0) end_child(ch);
  pass_on(ch);
  take_messages(ch);
}

static cpli_answer wait_long(cpli_channel* ch, double began, double limit) {
  double cancelled = 0;  // time at which it was detected
  uint32_t calls = atomic_load(&ch->shared->calls);
  while (!doze_in_parent(ch)) {
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
  const double began = cpli_now(), spin = cpli_waits_spin(&ch->waits);
  if (overlaps(ch) || !look(ch, PARENT, spin)) {
    cpli_answer answer = wait_long(ch, began, limit);
    if (answer != CPLI_ANSWERED) return answer;
  }
  const double now = cpli_now();
  cpli_waits_note(&ch->waits, spin, now - began);
  if (ch->passes_on && now > ch->passed_on + hearing) pass_on(ch);
  return CPLI_ANSWERED;
}

// The child leaves its call: code that calls models itself, as that of an FMU of a system, then
// says in which of them it was.
static void end_late(cpli_channel* ch) {
  const double until = cpli_now() + last_words;
  const char* note = ch->shared->note;  // the child removes it when it leaves the call
  bool waits = ch->input < 0;           // not another program
  if (waits) cpli_guard_leave_call_of(ch->pid);
  while (waits) {
    waits = cpli_now() < until && !cpli_cancelled(ch->ctx) && !has_ended(ch) && !doze_in_parent(ch);
  }
  end_child(ch);
  ch->shared->note = note;
}

cpli_answer cpli_channel_ask(cpli_channel* ch, double limit) {
  cpli_answer answer;
  if (ch->link != NULL) return cpli_link_ask(ch);
  assert(ch->shared != NULL && limit >= 0);
  do {
    ch->shared->flushes = 0;
    give_turn_to_child(ch);
    answer = await_answer(ch, limit);
    if (answer == CPLI_TOO_LATE) end_late(ch);
    else if (answer != CPLI_ANSWERED) end_child(ch);
    if (answer != CPLI_ANSWERED) pass_on(ch);
    take_messages(ch);
  } while (answer == CPLI_ANSWERED && ch->shared->flushes);
  return answer;
}

const char* cpli_channel_note(const cpli_channel* ch) {
  return ch->shared != NULL ? ch->shared->note : NULL;
}

void cpli_channel_describe_end(const cpli_channel* ch, char* text, size_t size) {
  cpli_link_describe_end(ch, text, size);
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
  const double began = cpli_now(), spin = cpli_waits_spin(&ch->waits);
  if (!look(ch, CHILD, spin)) await_parent(ch->shared);
  cpli_waits_note(&ch->waits, spin, cpli_now() - began);
}

void cpli_channel_last(cpli_channel* ch) {
  if (ch->forks != cpli_guard_forks) cpli_guard_end_copy();
  give_turn(ch->shared, PARENT);
}
