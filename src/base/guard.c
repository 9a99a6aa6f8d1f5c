// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/guard.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "couplet/base.h"

bool cpli_guard_on;
CPLI_GUARD_TLS cpli_guard_frame* cpli_guard_top;
CPLI_GUARD_TLS bool cpli_guard_thread_ready;
CPLI_GUARD_TLS const char* volatile* cpli_guard_note;

enum {
  CAUGHT = 5,   // the first in the list; the rest is only to be named
  EXITED = -1,  // no signal
};

static const struct {
  int signal;
  const char* text;
} crashes[] = {
    {SIGSEGV, "SIGSEGV: invalid memory access"},
    {SIGBUS, "SIGBUS: bad memory access"},
    {SIGFPE, "SIGFPE: division by zero or the like"},
    {SIGILL, "SIGILL: illegal instruction"},
    {SIGABRT, "SIGABRT: the code gave up"},
    {SIGINT, "SIGINT: broken off by the user"},
    {SIGTERM, "SIGTERM: broken off"},
    {EXITED, "it called exit() to end the whole program"},
};

static struct sigaction former[CAUGHT];
static pthread_key_t stack_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// The handler itself needs little, but the kernel stores all vector registers there.
static const size_t stack_size = 128 * 1024;

static size_t crash_index(int signal) {
  size_t i = 0;
  while (i + 1 < CPLI_COUNT(crashes) && crashes[i].signal != signal) i++;
  return i;
}

const char* cpli_guard_text(int signal) { return crashes[crash_index(signal)].text; }

bool cpli_guard_break(int signal) {
  cpli_guard_frame* frame = cpli_guard_top;
  if (frame == NULL) return false;
  frame->signal = signal;
  cpli_guard_top = frame->outer;
  siglongjmp(frame->env, 1);
}

static void on_signal(int signal, siginfo_t* info, void* machine) {
  (void)info;
  (void)machine;
  cpli_guard_break(signal);
  // not ours: as if we had never been here
  sigaction(signal, &former[crash_index(signal)], NULL);
  raise(signal);  // arrives when this handler returns
}

// A model that calls exit() would take the results and the temporary folder with it. C allows no
// jump out of exit(); the C libraries at hand go on with the remaining functions when the program
// ends.
static void on_exit_of_model(void) {
  if (cpli_guard_top == NULL) return;
  atexit(on_exit_of_model);
  cpli_guard_break(EXITED);
}

static void release_stack(void* memory) {
  stack_t off = {.ss_flags = SS_DISABLE};
  sigaltstack(&off, NULL);
  munmap(memory, stack_size);
}

void cpli_guard_prepare_thread(void) {
  cpli_guard_thread_ready = true;
  stack_t have;
  if (sigaltstack(NULL, &have) == 0 && !(have.ss_flags & SS_DISABLE)) return;  // someone gave one
  void* memory = mmap(NULL, stack_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return;  // without it only a stack overflow stays deadly
  stack_t stack = {.ss_sp = memory, .ss_size = stack_size};
  if (sigaltstack(&stack, NULL) != 0 || pthread_setspecific(stack_key, memory) != 0) {
    release_stack(memory);
  }
}

const char* cpli_guard_run(void (*function)(void* user), void* user) {
  volatile int crash = 0;
  CPLI_GUARDED(function(user), crash = crash_signal);
  return crash != 0 ? cpli_guard_text(crash) : NULL;
}

void cpli_guard_recover(cpli_guard_frame* frame) {
  cpli_guard_top = frame->outer;
  sigset_t set;
  sigemptyset(&set);
  if (frame->signal > 0) sigaddset(&set, frame->signal);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

static bool have_key;

static void make_key(void) { have_key = pthread_key_create(&stack_key, release_stack) == 0; }

// May be called again: who has put handlers of his own in the meantime gets them replaced.
void cpl_guard_crashes(void) {
  pthread_once(&once, make_key);
  if (!have_key) return;
  if (!cpli_guard_on) atexit(on_exit_of_model);
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < CAUGHT; i++) {
    struct sigaction old;
    sigaction(crashes[i].signal, &action, &old);
    if (old.sa_sigaction != on_signal) former[i] = old;
  }
  cpli_guard_on = true;
}

static void end_of_process(int code, void* unused) {
  (void)unused;
  if (cpli_guard_top != NULL) {
    on_exit(end_of_process, NULL);
    cpli_guard_break(EXITED);
  }
  _exit(code);
}

void cpli_guard_own_process(void) {
  for (size_t i = 0; i < CAUGHT; i++) signal(crashes[i].signal, SIG_DFL);
  cpl_guard_crashes();
  on_exit(end_of_process, NULL);
}
