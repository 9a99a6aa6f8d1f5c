// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs every FMU by `couplet run` in a process of its own with a time limit, and compares its
// results with the reference.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "couplet/match.h"
#include "crosscheck.h"
#include "format/file.h"
#include "interrupt.h"

extern char** environ;

// An active run. Its files are named after its slot.
typedef struct job {
  xcheck_case* c;  // NULL: the slot is free
  pid_t pid;
  double began;
  char results[4200], said[4200], errors[4200];
} job;

//------------------------------------ beginning ------------------------------------

static int spawn(const job* j, const char** args, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGINT);
  sigaddset(&usual, SIGTERM);
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, 1, j->said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_addopen(&files, 2, j->errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawnattr_init(&how);
  // a process group of its own, so that processes started by an FMU end with it
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  posix_spawnattr_setpgroup(&how, 0);
  posix_spawnattr_setsigdefault(&how, &usual);
  int failed = posix_spawn(pid, "/proc/self/exe", &files, &how, (char* const*)args, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return failed;
}

static void begin(xcheck* x, job* j, size_t place, xcheck_case* c) {
  snprintf(j->results, sizeof j->results, "%s/%zu.csv", x->folder, place);
  snprintf(j->said, sizeof j->said, "%s/%zu.json", x->folder, place);
  snprintf(j->errors, sizeof j->errors, "%s/%zu.txt", x->folder, place);
  remove(j->results);
  if (!xcheck_make_plan(x, c)) return;
  const char** args = xcheck_arguments(x, c, j->results);
  int failed = args != NULL ? spawn(j, args, &j->pid) : ENOMEM;
  cpli_free(x->ctx, args);
  j->began = cpli_now();
  if (failed == 0) j->c = c;
  else snprintf(c->cause, sizeof c->cause, "could not be started: %s", strerror(failed));
}

//------------------------------------ the end ------------------------------------

static bool file_has(xcheck* x, const char* path, const char* text) {
  char* all = NULL;
  size_t size = 0;
  bool has = cpli_file_read(x->ctx, path, 1 << 20, &all, &size) >= 0 && strstr(all, text) != NULL;
  cpli_free(x->ctx, all);
  return has;
}

// The last message of couplet, without the paths on its command line.
static void take_complaint(xcheck* x, const job* j, char* out, size_t size) {
  static const char head[] = "couplet: ";
  char* all = NULL;
  size_t n = 0;
  if (cpli_file_read(x->ctx, j->errors, 1 << 26, &all, &n) < 0) return;
  const char* line = NULL;
  for (char* at = all; (at = strstr(at, head)) != NULL; at++) {
    if (at == all || at[-1] == '\n') line = at + strlen(head);
  }
  size_t folder = strlen(j->c->folder);
  if (line != NULL && strncmp(line, j->c->folder, folder) == 0 && line[folder] == '/')
    line += folder + 1;
  if (line != NULL) snprintf(out, size, "%.*s", (int)strcspn(line, "\n"), line);
  cpli_free(x->ctx, all);
}

static void compare(xcheck* x, const job* j) {
  xcheck_case* c = j->c;
  cpl_table* results = NULL;
  cpl_match_def def = cpl_default_match_def();
  def.shift = c->plan.shift;
  def.stop = c->plan.stop;
  if (c->wanted == NULL || c->wanted->n_rows == 0) {
    snprintf(c->cause, sizeof c->cause, "there is no reference");
    return;
  }
  if (cpl_results_read(x->ctx, j->results, &results) < 0) {
    snprintf(c->cause, sizeof c->cause, "%s", cpl_context_error(x->ctx));
    return;
  }
  cpl_match_result m = cpl_match(c->wanted, results, &def);
  c->matches = m.matches;
  if (m.missing)
    snprintf(c->cause, sizeof c->cause, "%s is not in the results", c->wanted->names[m.worst]);
  else if (m.units)
    snprintf(c->cause, sizeof c->cause, "%s: the unit of the reference, %s, is none of the model's",
             c->wanted->names[m.worst], c->wanted->units[m.worst]);
  else if (!m.matches)
    snprintf(c->cause, sizeof c->cause, "%s: %.3g %% is off", c->wanted->names[m.worst],
             100 * m.off);
  cpl_table_destroy(results);
}

static void judge(xcheck* x, const job* j, int status, bool too_late) {
  xcheck_case* c = j->c;
  // a killed run reports nothing, but an FMU with results was loaded
  c->loads = file_has(x, j->said, "\"reached\"") || access(j->results, F_OK) == 0;
  c->simulates = !too_late && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  if (c->simulates) compare(x, j);
  else if (too_late) snprintf(c->cause, sizeof c->cause, "did not end within %g s", x->timeout);
  else if (WIFSIGNALED(status))
    snprintf(c->cause, sizeof c->cause, "crashed (%s)", strsignal(WTERMSIG(status)));
  else take_complaint(x, j, c->cause, sizeof c->cause);
}

// Whether the slot is free again.
static bool look_after(xcheck* x, job* j) {
  int status = 0;
  bool too_late = cli_interrupted || cpli_now() - j->began > x->timeout;
  if (too_late) kill(-j->pid, SIGKILL);
  pid_t ended = waitpid(j->pid, &status, too_late ? 0 : WNOHANG);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return false;
  j->c->seconds = cpli_now() - j->began;
  kill(-j->pid, SIGKILL);  // processes that it left
  judge(x, j, status, too_late);
  cpl_table_destroy(j->c->wanted);
  j->c->wanted = NULL;
  j->c = NULL;
  return true;
}

static void show(const xcheck* x, size_t done) {
  if (x->progress) fprintf(stderr, "\r%zu of %zu FMUs \033[K", done, x->n);
}

bool xcheck_run(xcheck* x) {
  job* jobs = calloc((size_t)x->parallel, sizeof *jobs);
  if (jobs == NULL) return false;
  setenv("TMPDIR", x->folder, 1);  // files of killed runs are removed with it
  size_t next = 0, done = 0;
  int busy = 0;
  while (busy > 0 || (next < x->n && !cli_interrupted)) {
    for (int i = 0; i < x->parallel; i++) {
      if (jobs[i].c != NULL && look_after(x, &jobs[i])) busy--, show(x, ++done);
      while (jobs[i].c == NULL && next < x->n && !cli_interrupted) {
        begin(x, &jobs[i], (size_t)i, &x->cases[next++]);
        if (jobs[i].c != NULL) busy++;
        else done++;
      }
    }
    struct timespec pause = {.tv_nsec = 2000000};
    if (busy > 0) nanosleep(&pause, NULL);
  }
  if (x->progress) fputs("\r\033[K", stderr);
  free(jobs);
  return !cli_interrupted;
}
