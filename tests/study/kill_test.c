// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A study whose workers and coordinator are killed (SIGKILL) at 50 random moments, and resumed
// until it is done: nothing is lost, nothing is wrong, and no process stays.
#include <dirent.h>
#include <errno.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "study/cases.h"

enum { N_KILLS = 50, N_CASES = 20000, MAX_CHILDREN = 64 };
static const char path[] = "kill.journal";

static test_cases study_cases(cpl_context* ctx) {
  test_cases t = test_cases_of(ctx);
  t.fails = 13;
  t.crashes = 5000;
  return t;
}

// In a process of its own, which may be killed.
static pid_t start_study(double pause) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  cpl_context* ctx = test_context();
  test_cases t = study_cases(ctx);
  t.pause = pause;
  const cpli_cases cases = test_cases_def(&t, N_CASES);
  const cpl_status st = cpli_execute(ctx, &cases, &(cpli_execution){path, true, 3}, NULL);
  if (st < 0) fprintf(stderr, "%s\n", cpl_context_error(ctx));
  cpl_context_destroy(ctx);
  _exit(st < 0 ? 1 : 0);
}

// The children of a process that are alive; returns their number.
static int find_children(pid_t parent, pid_t out[MAX_CHILDREN]) {
  int n = 0;
  DIR* dir = opendir("/proc");
  for (struct dirent* e = readdir(dir); e != NULL && n < MAX_CHILDREN; e = readdir(dir)) {
    char name[300], text[512] = "", state = 0;
    int ppid = 0;
    snprintf(name, sizeof name, "/proc/%s/stat", e->d_name);
    FILE* f = atoi(e->d_name) > 0 ? fopen(name, "r") : NULL;
    if (f == NULL) continue;
    if (fgets(text, sizeof text, f) == NULL) text[0] = '\0';
    fclose(f);
    const char* end = strrchr(text, ')');
    if (end == NULL || sscanf(end + 1, " %c %d", &state, &ppid) != 2) continue;
    if (ppid == parent && state != 'Z' && state != 'X') out[n++] = atoi(e->d_name);
  }
  closedir(dir);
  return n;
}

static int64_t count_done(cpl_context* ctx) {
  cpli_journal* j = NULL;
  int64_t done = 0, failed;
  if (cpli_journal_open_read(ctx, path, &j) < 0) return 0;  // killed before the header was written
  CHECK_OK(ctx, cpli_journal_count(j, &done, &failed));
  cpli_journal_close(j);
  return done;
}

// Orphans become children of this process, so that they can be counted.
static void check_no_process_stays(void) {
  pid_t children[MAX_CHILDREN];
  for (int k = 0; k < 6000 && find_children(getpid(), children) > 0; k++) test_sleep(0.01);
  CHECK_INT(find_children(getpid(), children), 0);
  while (waitpid(-1, NULL, WNOHANG) > 0) {
  }
}

static void nothing_is_lost_when_processes_are_killed(void** state) {
  cpl_context* ctx = *state;
  pid_t children[MAX_CHILDREN];
  int64_t done = 0;
  int workers = 0, coordinators = 0;
  CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0);
  unlink(path);
  srand(20);
  pid_t study = start_study(1e-3);
  while (workers + coordinators < N_KILLS) {
    test_sleep(1e-3 * (rand() % 60));
    const int n = find_children(study, children);
    if (rand() % 3 > 0) {
      if (n == 0 || kill(children[rand() % n], SIGKILL) != 0) continue;
      workers++;
      continue;
    }
    kill(study, SIGKILL);
    int how;
    CHECK(waitpid(study, &how, 0) == study && WIFSIGNALED(how));
    coordinators++;
    check_no_process_stays();
    const int64_t now = count_done(ctx);
    CHECK(now >= done && now < N_CASES);
    done = now;
    study = start_study(1e-3);
  }
  test_sleep(0.05);
  kill(study, SIGKILL);
  waitpid(study, NULL, 0);
  study = start_study(0);
  int how;
  CHECK(waitpid(study, &how, 0) == study && WIFEXITED(how) && WEXITSTATUS(how) == 0);
  check_no_process_stays();
  printf("killed %d workers and %d coordinators; %lld cases were done before the end\n", workers,
         coordinators, (long long)done);
  CHECK(done > 100 && workers > 10 && coordinators > 5);
  const test_cases t = study_cases(ctx);
  check_journal(ctx, &t, path, N_CASES);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_lost_when_processes_are_killed),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
