// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A crash inside the code of a model becomes a status. While a guarded call runs, the thread has a
// frame to jump back to; the signal handler jumps there from an alternate stack, so that a stack
// overflow is caught too. Outside guarded calls a crash remains a crash: the previous action is
// restored and executed.
#pragma once

#include <assert.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct cpli_guard_frame {
  sigjmp_buf env;
  struct cpli_guard_frame* outer;
  int signal;      // set when the call crashed
  unsigned forks;  // number of forks of this process when the call began
  bool program;    // the program itself: left only as a last resort
} cpli_guard_frame;

extern bool cpli_guard_on;  // cpl_guard_crashes() was called

// The number of fork()s between this process and the one that called cpl_guard_crashes(): a process
// in which it has changed is a copy that a model made.
extern volatile unsigned cpli_guard_forks;

// Not of the model initial-exec: the loader has room for the variables of some dozen FMUs only.
#define CPLI_GUARD_TLS _Thread_local
extern CPLI_GUARD_TLS cpli_guard_frame* cpli_guard_top;
extern CPLI_GUARD_TLS bool cpli_guard_thread_ready;

// float_modes.h: the modes of floating-point arithmetic with bit 31; zero: they are not known.
extern CPLI_GUARD_TLS uint32_t cpli_float_known;

/// Gives this thread its alternate stack; released when the thread ends.
void cpli_guard_prepare_thread(void);

/// Calls that ended by a crash, so far, in this process.
extern unsigned cpli_guard_crashes;

/// To be called after the jump: unblocks the signal, which is blocked in the handler.
void cpli_guard_recover(cpli_guard_frame* frame);

/// Run a function of the program itself, not of a model: a crash in it or its callees is returned
/// as by cpli_guard_run().
const char* cpli_guard_program(void (*function)(void* user), void* user);

/// Leave the calls of models in progress in all threads, as if they had crashed. `program`: also
/// leave cpli_guard_program() where a thread is in no call of a model. Safe in a signal handler;
/// does not return where this thread leaves a call.
void cpli_guard_leave_calls(bool program);

/// The same for the call in progress in the first thread of a child of this process.
void cpli_guard_leave_call_of(pid_t child);

/// Whether something that cpli_guard_leave_calls() waits for has not had a processor since its last
/// call: a thread that the request has not reached, or a process that was killed. On a busy machine
/// this takes long, and says nothing about the code. Safe in a signal handler.
bool cpli_guard_is_starved(void);

/// Around waiting for the end of a process that was killed.
void cpli_guard_await_killed(bool begin);

/// Run a function; returns the crash as a text of cpli_guard_text(); NULL: it returned normally.
const char* cpli_guard_run(void (*function)(void* user), void* user);

/// For signal handlers: leave the guarded call of this thread, as if it had crashed with that
/// signal. Returns false: there is none.
bool cpli_guard_break(int signal);

/// Replaces exit(), _exit() and the like in loaded code: inside a guarded call they are a crash, in
/// another thread the end of the program with a failure code.
_Noreturn void cpli_guard_exit(int code);

// Leaves a guarded call, as cpli_guard_break() does.
typedef bool cpli_guard_leaver(int signal);

/// A library that was loaded has a copy of this code, which does not handle signals itself: its
/// calls are inside ours and are left before them.
void cpli_guard_add_inner(cpli_guard_leaver* leave);
void cpli_guard_remove_inner(cpli_guard_leaver* leave);
/// The same from inside: whoever loaded this library handles signals and calls the function that
/// this returns.
cpli_guard_leaver* cpli_guard_become_inner(void);

/// Puts the former signal handlers back. Returns false: other code has put handlers on top of ours
/// and may call them at any time, so the library must not be unloaded.
bool cpli_guard_withdraw(void);

/// "SIGSEGV: invalid memory access"
const char* cpli_guard_text(int signal);

/// "crashed", or, for a call that was left, "was ended"; `text` is one of cpli_guard_text().
const char* cpli_guard_verb(const char* text);

/// This process serves one model: crashes and exit() outside guarded calls end it at once, without
/// the handlers inherited from the parent process. `alone`: as cpli_forks_begin().
void cpli_guard_own_process(bool alone);

/// While any thread is between these two, cpli_child_fork() waits: in the child nobody would
/// release a lock, such as those of the loader, that another thread holds. They may be nested.
void cpli_forks_hold(void);
void cpli_forks_release(void);
/// Around fork(): waits until nobody holds it off. Returns: this is the only thread, so that the
/// child finds no lock of the C library taken.
bool cpli_forks_begin(void);
void cpli_forks_end(bool in_child);

/// Set at the end of a forked process, in which libraries stay loaded: what unloads them takes a
/// lock that a thread of the parent may have held at the fork.
extern bool cpli_process_ends;

/// A mutex of the process that a forked child uses, too.
static inline void cpli_lock(pthread_mutex_t* m) {
  cpli_forks_hold();
  pthread_mutex_lock(m);
}
static inline void cpli_unlock(pthread_mutex_t* m) {
  pthread_mutex_unlock(m);
  cpli_forks_release();
}

// The name of the call in progress, for processes that outlive this one. NULL: not requested.
extern CPLI_GUARD_TLS const char* volatile* cpli_guard_note;

static inline void cpli_guard_noted(const char* call) {
  if (cpli_guard_note != NULL) *cpli_guard_note = call;
}

static inline void cpli_guard_enter(cpli_guard_frame* frame) {
  if (!cpli_guard_thread_ready) cpli_guard_prepare_thread();
  frame->signal = 0;
  frame->forks = cpli_guard_forks;
  frame->program = false;
  frame->outer = cpli_guard_top;
}

/// A copy of the process that a model made by fork() ends with the call: the original continues.
_Noreturn void cpli_guard_end_copy(void);

static inline void cpli_guard_leave(const cpli_guard_frame* frame) {
  assert(cpli_guard_top == frame);  // frames nest
  cpli_guard_top = frame->outer;
  if (frame->forks != cpli_guard_forks && !frame->program) cpli_guard_end_copy();
}

// Run `statement`; when it crashes, run `on_crash`, which has the signal as `crash_signal`.
// Variables assigned by the statement must be volatile. The mask is not saved, which would be a
// system call; the frame is valid only once sigsetjmp has filled it.
#define CPLI_GUARDED(statement, on_crash)        \
  do {                                           \
    if (!cpli_guard_on) {                        \
      statement;                                 \
    } else {                                     \
      cpli_guard_frame guard_frame_;             \
      cpli_guard_enter(&guard_frame_);           \
      if (sigsetjmp(guard_frame_.env, 0) == 0) { \
        cpli_guard_top = &guard_frame_;          \
        statement;                               \
        cpli_guard_leave(&guard_frame_);         \
      } else {                                   \
        int crash_signal = guard_frame_.signal;  \
        cpli_guard_recover(&guard_frame_);       \
        on_crash;                                \
      }                                          \
    }                                            \
  } while (0)
