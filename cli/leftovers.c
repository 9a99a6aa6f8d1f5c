// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What models started in this process (fork(), system()) ends with the command. Processes whose
// parent has ended become children of the command, not of the system's first process; at the end
// all children but daemons are ended. Copies of the process also end when the command is killed.
// Those that end before remain as zombies until then: a wait for any child could take the status of
// another's.
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "cli.h"

enum { MAX_LISTED = 256 };  // per round

// For processes that end by themselves, and for those that received SIGTERM; and until a process
// that SIGKILL does not end is left alone [s].
static const double patience = 0.1, longest = 2;

typedef struct child {
  pid_t pid;
  char name[32];
} child;

static pid_t self;

// In a copy of this process: it ends with the original. A copy of a copy may be a daemon, whose
// parent ends early.
static void in_copy(void) {
  if (getppid() == self) prctl(PR_SET_PDEATHSIG, SIGKILL);
}

void cli_adopt_processes(bool on) {
  prctl(PR_SET_CHILD_SUBREAPER, on ? 1UL : 0UL, 0UL, 0UL, 0UL);
  if (self == 0) pthread_atfork(NULL, NULL, in_copy);
  self = getpid();
}

// Reads "PID (NAME) STATE PARENT GROUP SESSION ..."; the name may contain anything. A daemon, with
// a session of its own, is not meant to end: the server of a compiler's cache, of Wine.
static bool is_child(const char* pid, child* out) {
  char path[64], text[512];
  int parent = 0, session = 0;
  snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
  FILE* f = fopen(path, "re");
  if (f == NULL) return false;
  const size_t n = fread(text, 1, sizeof text - 1, f);
  fclose(f);
  text[n] = '\0';
  const char* begin = strchr(text, '(');
  char* end = strrchr(text, ')');
  if (begin == NULL || end == NULL) return false;
  *end = '\0';
  snprintf(out->name, sizeof out->name, "%s", begin + 1);
  out->pid = atoi(pid);
  return sscanf(end + 1, " %*c %d %*d %d", &parent, &session) == 2 && parent == self &&
         session == getsid(0);
}

static size_t list_children(child out[MAX_LISTED]) {
  size_t n = 0;
  pid_t ended;
  do ended = waitpid(-1, NULL, WNOHANG);
  while (ended > 0 || (ended < 0 && errno == EINTR));
  DIR* dir = ended == 0 ? opendir("/proc") : NULL;  // otherwise there are none
  if (dir == NULL) return 0;
  for (const struct dirent* e = readdir(dir); e != NULL && n < MAX_LISTED; e = readdir(dir)) {
    if (e->d_name[0] >= '1' && e->d_name[0] <= '9' && is_child(e->d_name, &out[n])) n++;
  }
  closedir(dir);
  return n;
}

// Returns how many are still there.
static size_t await_children(child out[MAX_LISTED]) {
  const double since = cpli_now();
  size_t n = list_children(out);
  while (n > 0 && cpli_now() - since < patience) {
    usleep(5000);
    n = list_children(out);
  }
  return n;
}

static void warn(const child* first, size_t n, bool ended) {
  const char* const what = ended ? "ended" : "could not be ended";
  if (n == 1)
    cli_warning("a model started process %d (%s) and left it running: it %s%s", (int)first->pid,
                first->name, ended ? "was " : "", what);
  else
    cli_warning(
        "a model started %zu processes, %d (%s) and others, and left them running: they %s%s", n,
        (int)first->pid, first->name, ended ? "were " : "", what);
}

// When processes end, their children become children of this one: hence the rounds.
void cli_end_processes(void) {
  child list[MAX_LISTED];
  size_t n = await_children(list);
  if (n == 0) return;
  const size_t n_first = n;
  const child first = list[0];
  const double since = cpli_now();
  int signal_number = SIGTERM;
  while (n > 0 && cpli_now() - since < longest) {
    for (size_t i = 0; i < n; i++) kill(list[i].pid, signal_number);
    n = await_children(list);
    signal_number = SIGKILL;
  }
  warn(&first, n_first, n == 0);
}
