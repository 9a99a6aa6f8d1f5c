// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Work with NetCDF files in a forked process, which reports by records in a pipe.
#include "study/netcdf_process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "format/file.h"
#include "format/source_loc.h"

typedef enum kind { LOG, ANSWERED, FINISHED, END } kind;

enum { MAX_TEXT = 8192 };

// A record is a head and its text. At the end the number is the status.
typedef struct head {
  int32_t kind, number;
  uint32_t length;
} head;

//------------------------------------ the process ------------------------------------

struct cpli_nc_process {
  int to;
};

static void put(const cpli_nc_process* p, kind k, int32_t number, const char* text) {
  size_t n = strlen(text);
  if (n > MAX_TEXT) n = MAX_TEXT;
  const head h = {.kind = k, .number = number, .length = (uint32_t)n};
  cpli_file_write(p->to, &h, sizeof h);
  cpli_file_write(p->to, text, n);
}

void cpli_nc_answered(cpli_nc_process* process) { put(process, ANSWERED, 0, ""); }

void cpli_nc_finished(cpli_nc_process* process) { put(process, FINISHED, 0, ""); }

// The text is "who: message".
static void put_log(void* user, cpl_log_level level, const char* who, const char* text) {
  char line[MAX_TEXT];
  snprintf(line, sizeof line, "%s: %s", who, text);
  put(user, LOG, (int32_t)level, line);
}

// It ends without cleaning up, since HDF5 may crash then.
static void run_in_child(cpl_context* ctx, const cpli_nc_work* work, int to, pid_t parent) {
  cpli_nc_process p = {.to = to};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  cpli_log_to(ctx, put_log, &p);
  const cpl_status st = work->run(&p, work->user);
  put(&p, END, st, st < 0 ? cpl_context_error(ctx) : "");
  _exit(0);
}

//------------------------------------ its reports ------------------------------------

typedef struct reports {
  cpl_context* ctx;
  const cpli_nc_work* work;
  int from;
  double last;  // time of the last answer; INFINITY: there is no limit (any more)
  bool ended;   // there was an END
  cpl_status status;
  char text[MAX_TEXT + 1];
} reports;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool is_late(const reports* r) {
  return r->work->limit > 0 && now() - r->last > r->work->limit;
}

// All bytes, or false: the process has ended, is late, or this one is to stop.
static bool get(const reports* r, void* bytes, size_t n) {
  for (char* to = bytes; n > 0;) {
    struct pollfd ready = {.fd = r->from, .events = POLLIN};
    const int found = poll(&ready, 1, 100);
    if (found <= 0 && (cpli_cancelled(r->ctx) || is_late(r))) return false;
    if (found <= 0) continue;
    const ssize_t got = read(r->from, to, n);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    n -= (size_t)got;
  }
  return true;
}

static void log_again(const reports* r, int32_t level) {
  const char* text = strstr(r->text, ": ");
  if (text == NULL || level < CPL_LOG_ERROR || level > CPL_LOG_DEBUG) return;
  char who[64];
  snprintf(who, sizeof who, "%.*s", (int)(text - r->text), r->text);
  cpl_log(r->ctx, (cpl_log_level)level, who, "%s", text + 2);
}

static void receive(reports* r) {
  head h;
  while (!r->ended && get(r, &h, sizeof h)) {
    if (h.length > MAX_TEXT || !get(r, r->text, h.length)) return;
    r->text[h.length] = '\0';
    r->last = h.kind == FINISHED ? (double)INFINITY : h.kind == ANSWERED ? now() : r->last;
    if (h.kind == LOG) log_again(r, h.number);
    r->ended = h.kind == END;
    r->status = r->ended ? (cpl_status)h.number : CPL_OK;
  }
}

static cpl_status status_of(const reports* r, bool late, int how) {
  const cpli_nc_work* w = r->work;
  if (r->ended) return r->status < 0 ? cpl_fail(r->ctx, r->status, "%s", r->text) : r->status;
  if (cpli_cancelled(r->ctx)) return cpli_interrupted(r->ctx, w->path, (double)NAN);
  const cpl_status st = w->limit > 0 ? CPL_ERR_INPUT : CPL_ERR_IO;
  if (late)
    return cpli_fail_file(r->ctx, st, w->path, "%s: the NetCDF library has not answered for %g s",
                          w->crash, w->limit);
  return cpli_fail_file(r->ctx, st, w->path, "%s: the NetCDF library crashed (signal %d)", w->crash,
                        WIFSIGNALED(how) ? WTERMSIG(how) : 0);
}

cpl_status cpli_nc_run(cpl_context* ctx, const cpli_nc_work* work) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return cpl_fail(ctx, CPL_ERR_IO, "no pipe could be made: %s", strerror(errno));
  const pid_t parent = getpid(), child = fork();
  if (child == 0) {
    close(ends[0]);
    run_in_child(ctx, work, ends[1], parent);
  }
  close(ends[1]);
  if (child < 0) {
    close(ends[0]);
    return cpl_fail(ctx, CPL_ERR_IO, "no process could be started: %s", strerror(errno));
  }
  reports r = {.ctx = ctx, .work = work, .from = ends[0], .last = now()};
  receive(&r);
  close(ends[0]);
  const bool late = !r.ended && is_late(&r);
  if (!r.ended && (late || cpli_cancelled(ctx))) kill(child, SIGKILL);
  int how = 0;
  while (waitpid(child, &how, 0) < 0 && errno == EINTR) {
  }
  return status_of(&r, late, how);
}
