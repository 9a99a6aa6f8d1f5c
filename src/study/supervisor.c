// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A process is gone when its socket is closed or when it can be waited for: processes that a model
// has forked may keep the socket open. What it sent before is received first.
#include "study/supervisor.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"

cpl_status cpli_supervisor_init(cpli_supervisor* s, cpl_context* ctx, const cpli_cases* cases,
                                double case_timeout) {
  *s = (cpli_supervisor){
      .ctx = ctx, .cases = cases, .case_timeout = case_timeout, .fd = -1, .late = CPLI_IDLE};
  void* page =
      mmap(NULL, sizeof *s->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return cpli_nomem(ctx);
  s->page = page;
  return cpli_inbox_init(ctx, &s->inbox, cpli_slot_size(cases->n_values));
}

static int end_process(cpli_supervisor* s) {
  const int how = s->pid > 0 ? cpli_child_end(s->pid) : -1;
  if (s->fd >= 0) close(s->fd);
  s->fd = -1;
  s->pid = 0;
  return how;
}

void cpli_supervisor_free(cpli_supervisor* s) {
  if (s->ctx == NULL) return;
  end_process(s);
  cpli_inbox_free(s->ctx, &s->inbox);
  if (s->page != NULL) munmap(s->page, sizeof *s->page);
  s->page = NULL;
}

//------------------------------------ process ------------------------------------

static cpl_status start(cpli_supervisor* s) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return cpl_fail(s->ctx, CPL_ERR_CONNECTION, "no socket for a worker: %s", strerror(errno));
  atomic_store(&s->page->current, CPLI_IDLE);
  atomic_store(&s->page->retired, 0);
  s->late = CPLI_IDLE;
  s->gone = s->forsaken = false;
  cpli_inbox_clear(&s->inbox);
  const pid_t pid = cpli_child_fork(s->ctx, ends[1]);
  if (pid == 0) cpli_worker_serve(s->ctx, s->cases, ends[1], s->page);
  const int cause = errno;
  close(ends[1]);
  if (pid > 0) {
    s->fd = ends[0];
    s->pid = pid;
    return CPL_OK;
  }
  close(ends[0]);
  return cpl_fail(s->ctx, CPL_ERR_CONNECTION, "no process for a worker: %s", strerror(cause));
}

cpl_status cpli_supervisor_send(cpli_supervisor* s, const cpli_study_message* m) {
  if (m->kind != CPLI_LEASE ? s->pid == 0 : m->life != s->life) return CPL_OK;
  cpl_status st = s->pid == 0 ? start(s) : CPL_OK;
  if (st < 0) return st;
  if (m->kind == CPLI_END) s->forsaken = true;
  // leases are short, and few of them wait: the socket has room for them
  cpli_study_message copy = *m;
  if (!cpli_study_message_send(s->fd, &copy, NULL, 0)) s->gone = true;
  return CPL_OK;
}

void cpli_supervisor_stop(cpli_supervisor* s) {
  if (s->pid == 0) return;
  s->forsaken = true;
  kill(s->pid, SIGTERM);
  shutdown(s->fd, SHUT_WR);
}

void cpli_supervisor_kill(cpli_supervisor* s, int64_t life) {
  if (s->pid == 0 || life != s->life) return;
  kill(s->pid, SIGKILL);
  s->inbox.broken = true;
  s->gone = true;
}

//------------------------------------ messages ------------------------------------

// The case is killed when it is still the same, and still its first start, at the second look.
static void watch_time(cpli_supervisor* s) {
  const int64_t current = atomic_load(&s->page->current);
  const int64_t started = atomic_load(&s->page->started);
  if (!(s->case_timeout > 0) || current == CPLI_IDLE || s->late != CPLI_IDLE) return;
  if (1e-9 * (double)(cpli_worker_now() - started) <= s->case_timeout) return;
  if (atomic_load(&s->page->current) != current || atomic_load(&s->page->started) != started)
    return;
  s->late = current;
  kill(s->pid, SIGKILL);
}

// All that the process has sent before it ended is still there.
void cpli_supervisor_receive(cpli_supervisor* s) {
  if (s->pid == 0 || s->gone || s->inbox.broken) return;
  watch_time(s);
  const bool ended = cpli_child_has_ended(s->pid);
  const int64_t got = cpli_inbox_receive(&s->inbox, s->fd, MSG_DONTWAIT);
  if (got > 0) return;
  const bool nothing = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
  if (ended || !nothing) s->gone = true;
}

static cpli_death explain(const cpli_supervisor* s, int64_t current, int how, char* text,
                          size_t size) {
  const int number = how != -1 && WIFSIGNALED(how) ? WTERMSIG(how) : 0;
  text[0] = '\0';
  if (atomic_load(&s->page->retired) != 0) return CPLI_DEATH_RETIRED;
  if (s->forsaken) return CPLI_DEATH_FORSAKEN;
  if (s->late != CPLI_IDLE && s->late == current) {
    snprintf(text, size, "it took longer than %g s", s->case_timeout);
    return CPLI_DEATH_TIMEOUT;
  }
  if (s->inbox.broken) {
    snprintf(text, size, "it damaged the memory of its process");
    return CPLI_DEATH_CRASH;
  }
  if (number != 0)
    snprintf(text, size, "it ended its process (signal %d: %s)", number, strsignal(number));
  else if (how != -1 && WIFEXITED(how))
    snprintf(text, size, "it ended its process (exit code %d)", WEXITSTATUS(how));
  else snprintf(text, size, "it ended its process");
  return number == SIGKILL ? CPLI_DEATH_KILLED : CPLI_DEATH_CRASH;
}

// The page may be damaged: the coordinator checks the number of the case.
static cpli_study_message* make_death(cpli_supervisor* s) {
  const int how = end_process(s);
  s->life++;
  cpli_study_message* m = (cpli_study_message*)(void*)s->last;
  *m = (cpli_study_message){.kind = CPLI_DIED, .first = atomic_load(&s->page->current)};
  char* text = cpli_payload(m);
  m->count = explain(s, m->first, how, text, sizeof s->last - sizeof *m);
  m->size = cpli_padded(strlen(text) + 1);
  return m;
}

cpli_study_message* cpli_supervisor_next(cpli_supervisor* s) {
  if (s->pid == 0) return NULL;
  cpli_study_message* m = cpli_inbox_next(&s->inbox);
  if (m != NULL) return m;
  if (s->inbox.broken) cpli_supervisor_kill(s, s->life);
  return s->gone ? make_death(s) : NULL;
}
