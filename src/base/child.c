// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The child asks the kernel for a signal at the death of its parent and kills its process group
// then. Until a child is waited for, its process and group numbers are not reused.
#include "base/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"

//------------------------------------ child ------------------------------------

static void close_others(int keep) {
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) dup2(null, STDIN_FILENO);
  if (keep < 3) keep = 2;
  if (keep > 3) syscall(SYS_close_range, 3U, (unsigned)keep - 1, 0U);
  syscall(SYS_close_range, (unsigned)keep + 1, ~0U, 0U);
}

static int orphan_signal(void) { return SIGRTMAX - 5; }

// The parent has ended or was killed: this process ends with all that it started.
static void on_orphaned(int signal_number) {
  (void)signal_number;
  if (getpgrp() == getpid()) kill(0, SIGKILL);
  raise(SIGKILL);
}

static void become_child(cpl_context* ctx, pid_t parent, int keep, bool alone) {
  setpgid(0, 0);
  signal(orphan_signal(), on_orphaned);
  prctl(PR_SET_PDEATHSIG, orphan_signal());
  if (getppid() != parent) _exit(0);  // the parent ended first
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGINT, SIG_IGN);  // the parent handles it
  signal(SIGHUP, SIG_IGN);
  signal(SIGTERM, SIG_DFL);
  signal(SIGTTOU, SIG_IGN);  // it writes to the terminal from the background
  close_others(keep);
  cpli_guard_top = NULL;
  cpli_guard_own_process(alone);
  cpli_watch_steps(ctx, NULL, NULL);  // the parent reports progress
}

//------------------------------------ parent ------------------------------------

pid_t cpli_child_fork(cpl_context* ctx, int keep) {
  const pid_t parent = getpid();
  fflush(NULL);  // buffered output must not be written twice
  const bool alone = cpli_forks_begin();
  const pid_t pid = fork();
  cpli_forks_end(pid == 0);
  if (pid > 0) setpgid(pid, pid);  // in both processes, to avoid a race
  if (pid == 0) become_child(ctx, parent, keep, alone);
  return pid;
}

// Between fork() and exec() only functions are called that a signal handler may call as well.
static _Noreturn void become_program(pid_t parent, const char* const* argv, const char* const* env,
                                     const int files[3]) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  static const int ignored[] = {SIGINT, SIGHUP, SIGTTOU}, usual[] = {SIGTERM, SIGPIPE, SIGCHLD};
  for (size_t i = 0; i < CPLI_COUNT(ignored); i++) signal(ignored[i], SIG_IGN);
  for (size_t i = 0; i < CPLI_COUNT(usual); i++) signal(usual[i], SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int i = 0; i < 3; i++)
    if (files[i] >= 0) dup2(files[i], i);
  syscall(SYS_close_range, 3U, ~0U, 0U);
  execve(argv[0], (char* const*)argv, (char* const*)env);
  _exit(CPLI_NOT_STARTED);
}

pid_t cpli_child_start(const char* const* argv, const char* const* env, const int files[3]) {
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid > 0) setpgid(pid, pid);
  if (pid == 0) become_program(parent, argv, env, files);
  return pid;
}

// Zero: there is such a child, *ended: it waits to be waited for. Otherwise as errno.
static int look_at(pid_t pid, bool* ended) {
  siginfo_t info = {0};
  const int got = waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT);
  *ended = got == 0 && info.si_pid != 0;
  return got == 0 ? 0 : errno;
}

bool cpli_child_has_ended(pid_t pid) {
  bool ended;
  return look_at(pid, &ended) == ECHILD || ended;
}

int cpli_child_end(pid_t pid) {
  int how = -1;
  bool ended;
  if (look_at(pid, &ended) == ECHILD) return -1;  // the number may be that of another process
  kill(pid, SIGKILL);
  kill(-pid, SIGKILL);
  pid_t got;
  cpli_guard_await_killed(true);
  while ((got = waitpid(pid, &how, 0)) < 0 && errno == EINTR) {
  }
  while (waitpid(-pid, NULL, 0) > 0) {
    // the others of its group: children of this process where orphans become that
  }
  cpli_guard_await_killed(false);
  return got < 0 ? -1 : how;
}
