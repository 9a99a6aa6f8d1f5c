// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Installs handlers for crash signals and for exit(), and keeps a list of the threads that call
// models. A call that does not return is left by a real-time signal to its thread; a count of forks
// prevents a forked copy of the process from jumping to a frame of its parent.
#include "base/guard.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "couplet/base.h"

bool cpli_guard_on;
volatile unsigned cpli_guard_forks;
CPLI_GUARD_TLS cpli_guard_frame* cpli_guard_top;
CPLI_GUARD_TLS bool cpli_guard_thread_ready;
CPLI_GUARD_TLS const char* volatile* cpli_guard_note;
CPLI_GUARD_TLS uint32_t cpli_float_known;

enum {
  CAUGHT = 5,   // signals that are handled, the first in the list; the others only have texts
  EXITED = -1,  // no signal
  LEFT = -2,    // by cpli_guard_leave_calls()
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
    {EXITED, "it called exit() or _exit() to end the whole program"},
    {LEFT, "the call had not returned"},
};

static_assert(CAUGHT <= CPLI_COUNT(crashes), "each handled signal has a row");

static struct sigaction former[CAUGHT];
static pthread_key_t thread_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

// Threads that have called models.
typedef struct guard_thread {
  pthread_t id;
  void* stack;        // of its signal handlers; NULL: not allocated here
  atomic_bool asked;  // a leave_signal() was sent to it and has not arrived
  struct guard_thread* next;
} guard_thread;

static CPLI_GUARD_TLS guard_thread this_thread;
static guard_thread* threads;
static pthread_mutex_t threads_mutex = PTHREAD_MUTEX_INITIALIZER;
static volatile sig_atomic_t leaves_program;
static atomic_int killed;  // processes that were killed and have not ended yet
static unsigned home;      // cpli_guard_forks of this process; differs in copies forked by models

// The handler itself needs little, but the kernel stores all vector registers there.
static const size_t stack_size = 128 * 1024;

static size_t crash_index(int signal) {
  size_t i = 0;
  while (i + 1 < CPLI_COUNT(crashes) && crashes[i].signal != signal) i++;
  return i;
}

const char* cpli_guard_text(int signal) { return crashes[crash_index(signal)].text; }

const char* cpli_guard_verb(const char* text) {
  return text == cpli_guard_text(LEFT) ? "was ended" : "crashed";
}

//------------------------------------ forks ------------------------------------

static pthread_rwlock_t forks_lock = PTHREAD_RWLOCK_INITIALIZER;  // readers may be nested

bool cpli_process_ends;

void cpli_forks_hold(void) { pthread_rwlock_rdlock(&forks_lock); }
void cpli_forks_release(void) { pthread_rwlock_unlock(&forks_lock); }

void cpli_forks_end(bool in_child) {
  if (in_child) pthread_rwlock_init(&forks_lock, NULL);  // it is another thread there
  else pthread_rwlock_unlock(&forks_lock);
}

//------------------------------------ copies of this code ------------------------------------

// A library with a copy of this code. Since signal handlers walk through the list, an element stays
// in it when its library is unloaded, and is used again.
typedef struct inner {
  _Atomic(cpli_guard_leaver*) leave;  // NULL: not used
  size_t users;
  struct inner* next;
} inner;

static _Atomic(inner*) inners;
static pthread_mutex_t inners_mutex = PTHREAD_MUTEX_INITIALIZER;
static bool is_inner;   // others handle signals
static bool installed;  // our handlers are installed

static inner* find_inner(cpli_guard_leaver* leave) {
  inner* at = inners;
  while (at != NULL && at->leave != leave) at = at->next;
  return at;
}

void cpli_guard_add_inner(cpli_guard_leaver* leave) {
  cpli_lock(&inners_mutex);
  inner* at = find_inner(leave);
  if (at == NULL) at = find_inner(NULL);
  if (at == NULL) {
    at = calloc(1, sizeof *at);
    if (at != NULL) at->next = inners;
    if (at != NULL) inners = at;
  }
  if (at != NULL) {
    at->users++;
    at->leave = leave;
  }
  cpli_unlock(&inners_mutex);
}

void cpli_guard_remove_inner(cpli_guard_leaver* leave) {
  cpli_lock(&inners_mutex);
  inner* at = find_inner(leave);
  if (at != NULL && --at->users == 0) at->leave = NULL;
  cpli_unlock(&inners_mutex);
}

cpli_guard_leaver* cpli_guard_become_inner(void) {
  is_inner = true;
  return cpli_guard_break;
}

//------------------------------------ crashes ------------------------------------

// Whether this thread may be in a guarded call. The variables of a thread that has never made one
// are not touched in a signal handler: that could allocate memory.
static bool is_known(void) {
  if (pthread_mutex_trylock(&threads_mutex) != 0) return true;
  const guard_thread* t = threads;
  while (t != NULL && !pthread_equal(t->id, pthread_self())) t = t->next;
  pthread_mutex_unlock(&threads_mutex);
  return t != NULL;
}

bool cpli_guard_break(int signal) {
  for (const inner* at = inners; at != NULL; at = at->next) {
    cpli_guard_leaver* leave = at->leave;
    if (leave != NULL) leave(signal);
  }
  cpli_guard_frame* frame = is_known() ? cpli_guard_top : NULL;
  if (frame == NULL || frame->forks != cpli_guard_forks) return false;
  frame->signal = signal;
  cpli_guard_top = frame->outer;
  siglongjmp(frame->env, 1);
}

static bool is_function(const struct sigaction* a) {
  return (a->sa_flags & SA_SIGINFO) != 0 || (a->sa_handler != SIG_DFL && a->sa_handler != SIG_IGN);
}

// Outside guarded calls: the previous action. A function is called with all that is known of the
// signal, since there are programs that use crashes and continue.
static void on_signal(int signal, siginfo_t* info, void* machine) {
  cpli_guard_break(signal);
  struct sigaction* f = &former[crash_index(signal)];
  struct sigaction action = *f;
  if (!is_function(&action)) {
    sigaction(signal, &action, NULL);
    raise(signal);  // delivered when this handler returns
    return;
  }
  if (action.sa_flags & SA_RESETHAND) *f = (struct sigaction){.sa_handler = SIG_DFL};
  if (action.sa_flags & SA_SIGINFO) action.sa_sigaction(signal, info, machine);
  else action.sa_handler(signal);
}

// A model that calls exit() would lose the results and the temporary folder. C does not allow a
// jump out of exit(); the supported C libraries run the remaining functions when the program ends.
static void on_exit_of_model(void) {
  if (cpli_guard_top == NULL || cpli_guard_top->forks != cpli_guard_forks) return;
  atexit(on_exit_of_model);
  cpli_guard_break(EXITED);
}

void cpli_guard_exit(int code) {
  static const char text[] = "couplet: a thread of a model ended the program\n";
  cpli_guard_break(EXITED);
  if (cpli_guard_forks == home && write(STDERR_FILENO, text, sizeof text - 1) > 0 && code == 0)
    code = 1;
  _exit(code);
}

void cpli_guard_end_copy(void) { _exit(0); }

static void count_fork(void) { cpli_guard_forks++; }

//------------------------------------ threads ------------------------------------

static void* make_stack(void) {
  stack_t have;
  if (sigaltstack(NULL, &have) == 0 && !(have.ss_flags & SS_DISABLE)) return NULL;
  void* memory = mmap(NULL, stack_size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return NULL;  // without it only a stack overflow remains fatal
  stack_t stack = {.ss_sp = memory, .ss_size = stack_size};
  if (sigaltstack(&stack, NULL) == 0) return memory;
  munmap(memory, stack_size);
  return NULL;
}

static void release_stack(guard_thread* t) {
  if (t->stack == NULL) return;
  stack_t off = {.ss_flags = SS_DISABLE};
  sigaltstack(&off, NULL);
  munmap(t->stack, stack_size);
  t->stack = NULL;
}

static void forget_thread(void* thread) {
  guard_thread* t = thread;
  pthread_mutex_lock(&threads_mutex);
  guard_thread** at = &threads;
  while (*at != NULL && *at != t) at = &(*at)->next;
  if (*at == t) *at = t->next;
  pthread_mutex_unlock(&threads_mutex);
  release_stack(t);
}

static int leave_signal(void) { return SIGRTMAX - 3; }  // assumed to be unused by others

static void let_through(int signal_number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

void cpli_guard_prepare_thread(void) {
  guard_thread* t = &this_thread;
  cpli_guard_thread_ready = true;
  t->id = pthread_self();
  t->asked = false;
  t->stack = make_stack();
  if (pthread_setspecific(thread_key, t) != 0) {
    release_stack(t);
    return;
  }
  pthread_mutex_lock(&threads_mutex);
  t->next = threads;
  threads = t;
  pthread_mutex_unlock(&threads_mutex);
  let_through(leave_signal());
}

static void on_leave(int signal_number) {
  this_thread.asked = false;
  if (cpli_guard_top == NULL || (cpli_guard_top->program && !leaves_program)) return;
  let_through(signal_number);  // it is blocked in the handler, which does not return
  cpli_guard_break(LEFT);
}

void cpli_guard_leave_calls(bool program) {
  if (!cpli_guard_on || pthread_mutex_trylock(&threads_mutex) != 0) return;
  leaves_program = program;
  for (guard_thread* t = threads; t != NULL; t = t->next) {
    if (!pthread_equal(t->id, pthread_self()) && !atomic_exchange(&t->asked, true))
      pthread_kill(t->id, leave_signal());
  }
  pthread_mutex_unlock(&threads_mutex);
  on_leave(leave_signal());
}

// To a thread, since those that a model made do not block the signal.
void cpli_guard_leave_call_of(pid_t child) {
  if (child > 0) syscall(SYS_tgkill, child, child, leave_signal());
}

void cpli_guard_await_killed(bool begin) { killed += begin ? 1 : -1; }

bool cpli_guard_is_starved(void) {
  bool starved = killed > 0;
  if (!cpli_guard_on || pthread_mutex_trylock(&threads_mutex) != 0) return starved;
  for (const guard_thread* t = threads; t != NULL; t = t->next) {
    if (!pthread_equal(t->id, pthread_self())) starved = starved || t->asked;
  }
  pthread_mutex_unlock(&threads_mutex);
  return starved;
}

void cpl_leave_calls(void) { cpli_guard_leave_calls(false); }

//------------------------------------ calls ------------------------------------

const char* cpli_guard_run(void (*function)(void* user), void* user) {
  volatile int crash = 0;
  CPLI_GUARDED(function(user), crash = crash_signal);
  return crash != 0 ? cpli_guard_text(crash) : NULL;
}

typedef struct program {
  void (*function)(void* user);
  void* user;
} program;

static void run_program(void* user) {
  const program* p = user;
  cpli_guard_top->program = true;
  p->function(p->user);
}

const char* cpli_guard_program(void (*function)(void* user), void* user) {
  return cpli_guard_on ? cpli_guard_run(run_program, &(program){function, user})
                       : (function(user), NULL);
}

unsigned cpli_guard_crashes;

void cpli_guard_recover(cpli_guard_frame* frame) {
  cpli_guard_top = frame->outer;
  if (frame->program) cpli_float_known = 0;
  CPLI_ATOMIC_ADD(&cpli_guard_crashes, 1);
  if (frame->signal > 0) let_through(frame->signal);
}

static bool have_key;

static void begin(void) {
  have_key = pthread_key_create(&thread_key, forget_thread) == 0;
  atexit(on_exit_of_model);
  pthread_atfork(NULL, NULL, count_fork);
}

bool cpli_forks_begin(void) {
  struct stat tasks;
  pthread_once(&once, begin);  // in the child it could wait for a lock of the C library
  pthread_rwlock_wrlock(&forks_lock);
  return stat("/proc/self/task", &tasks) == 0 && tasks.st_nlink == 3;
}

static void install(void) {
  struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < CAUGHT; i++) {
    struct sigaction old;
    sigaction(crashes[i].signal, &action, &old);
    if (old.sa_sigaction != on_signal) former[i] = old;
  }
  struct sigaction leave = {.sa_handler = on_leave, .sa_flags = SA_ONSTACK | SA_RESTART};
  sigemptyset(&leave.sa_mask);
  sigaction(leave_signal(), &leave, NULL);
  installed = true;
}

// May be called again: replaces handlers installed in the meantime.
void cpl_guard_crashes(void) {
  pthread_once(&once, begin);
  if (!have_key) return;
  if (!is_inner) install();
  cpli_guard_on = true;
}

static bool is_ours(int signal) {
  struct sigaction present;
  return sigaction(signal, NULL, &present) == 0 && present.sa_sigaction == on_signal;
}

bool cpli_guard_withdraw(void) {
  size_t n = 0;
  if (!installed) return true;
  for (size_t i = 0; i < CAUGHT; i++) n += is_ours(crashes[i].signal);
  if (n < CAUGHT) return false;
  for (size_t i = 0; i < CAUGHT; i++) sigaction(crashes[i].signal, &former[i], NULL);
  struct sigaction present;
  if (sigaction(leave_signal(), NULL, &present) == 0 && present.sa_handler == on_leave)
    signal(leave_signal(), SIG_DFL);
  installed = cpli_guard_on = false;
  return true;
}

// When the library is unloaded, as part of an FMU: its code must not be called any more.
__attribute__((destructor)) static void on_unload(void) {
  cpli_guard_withdraw();
  if (have_key) pthread_key_delete(thread_key);
  for (inner *at = inners, *next; at != NULL; at = next) {
    next = at->next;
    free(at);
  }
  inners = NULL;
}

static void end_of_process(int code, void* unused) {
  (void)unused;
  if (cpli_guard_top != NULL && cpli_guard_top->forks == cpli_guard_forks) {
    on_exit(end_of_process, NULL);
    cpli_guard_break(EXITED);
  }
  _exit(code);
}

void cpli_guard_own_process(bool alone) {
  for (size_t i = 0; i < CAUGHT; i++) signal(crashes[i].signal, SIG_DFL);
  is_inner = false;
  cpl_guard_crashes();
  home = cpli_guard_forks;
  this_thread.next = NULL;  // the others do not exist in the child
  threads = cpli_guard_thread_ready ? &this_thread : NULL;
  pthread_mutex_init(&threads_mutex, NULL);
  // before the handlers of the program; otherwise on_exit_of_model() is among them
  if (alone) on_exit(end_of_process, NULL);
}
