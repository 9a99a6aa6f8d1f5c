// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A crash inside the code of a model becomes a status. While a guarded call runs, the thread has a
// frame to jump back to; the signal handler jumps there from an alternate stack, so that a stack
// overflow is caught too. Outside guarded calls a crash stays a crash: the former action is
// restored and taken.
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct cpli_guard_frame {
  sigjmp_buf env;
  struct cpli_guard_frame* outer;
  int signal;      // set when the call crashed
  unsigned forks;  // how often this process had been forked when the call began
  bool program;    // the program itself: left only when nothing else helps
} cpli_guard_frame;

extern bool cpli_guard_on;  // cpl_guard_crashes() was called

// How many fork()s there are between this process and the one that called cpl_guard_crashes(): who
// notices that it has changed is a copy that a model made.
extern volatile unsigned cpli_guard_forks;

// initial-exec: one load instead of a call, also inside a shared library
#define CPLI_GUARD_TLS _Thread_local __attribute__((tls_model("initial-exec")))
extern CPLI_GUARD_TLS cpli_guard_frame* cpli_guard_top;
extern CPLI_GUARD_TLS bool cpli_guard_thread_ready;

/// Gives this thread its alternate stack; released when the thread ends.
void cpli_guard_prepare_thread(void);

/// To be called after the jump: lets the signal through again, which is blocked in the handler.
void cpli_guard_recover(cpli_guard_frame* frame);

/// Run a function that is no call of a model, but the program itself: a crash in it, in whatever it
/// calls, is returned as by cpli_guard_run().
const char* cpli_guard_program(void (*function)(void* user), void* user);

/// Leave the calls of models that are under way in all threads, as if they had crashed. `program`:
/// leave cpli_guard_program() as well where a thread is in no call of a model. May be called by a
/// signal handler, and does not return where this thread is to leave something.
void cpli_guard_leave_calls(bool program);

/// Run a function; what its crash was, as cpli_guard_text() says it; NULL: it came back.
const char* cpli_guard_run(void (*function)(void* user), void* user);

/// For signal handlers: leave the guarded call this thread is in, as if it had crashed with that
/// signal. Returns false: there is none.
bool cpli_guard_break(int signal);

/// What exit(), _exit() and the like are for code that was loaded: inside a guarded call they are a
/// crash, in another thread the end of the program, but not one that looks like success.
_Noreturn void cpli_guard_exit(int code);

/// "SIGSEGV: invalid memory access"
const char* cpli_guard_text(int signal);

/// This process serves one model: crashes and exit() outside guarded calls end it at once, without
/// the handlers that the program it was forked from had put there.
void cpli_guard_own_process(void);

// The name of the call that is under way, for those who outlive this process. NULL: no one asks.
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

/// The copy of a process that a model made by fork() ends with the call: the original goes on.
_Noreturn void cpli_guard_end_copy(void);

static inline void cpli_guard_leave(const cpli_guard_frame* frame) {
  cpli_guard_top = frame->outer;
  if (frame->forks != cpli_guard_forks && !frame->program) cpli_guard_end_copy();
}

// Run `statement`; when it crashes, run `on_crash`, which sees the signal as `crash_signal`. What
// the statement assigns must be volatile. The mask is not saved, that would be a system call; the
// frame counts only once sigsetjmp has filled it.
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
