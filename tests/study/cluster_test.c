// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// One study by several processes. With --rank this program is one of them, started by mpirun, which
// COUPLET_MPIRUN names; without it, only what a process does that cannot join the others is tested.
#include "study/cluster.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

#include "study/cases.h"

static const char path[] = "cluster.journal";

//------------------------------------ a rank ------------------------------------

enum { N_CASES = 2000 };
static const double timeout = 1;

// What a rank does is a word of its command line.
typedef struct rank_options {
  const char* what;
  int32_t workers;
  double pause;
  bool resume;
} rank_options;

static cpl_context* cancelled_by_signal;

static void on_terminate(int signal_number) {
  (void)signal_number;
  cpl_context_cancel(cancelled_by_signal);
}

static void name_process(int32_t rank) {
  char name[32];
  snprintf(name, sizeof name, "rank%d.pid", (int)rank);
  FILE* f = fopen(name, "w");
  if (f == NULL) return;
  fprintf(f, "%d", (int)getpid());
  fclose(f);
}

static test_cases rank_cases(cpl_context* ctx) {
  test_cases t = test_cases_of(ctx);
  t.fails = 7;
  t.crashes = 500;
  t.exits = 900;
  return t;
}

static cpl_status run_rank(cpl_context* ctx, const rank_options* o, cpli_cluster* cluster) {
  const int32_t rank = cpli_cluster_rank(cluster);
  test_cases t = rank_cases(ctx);
  t.pause = o->pause;
  cpli_cases cases = test_cases_def(&t, N_CASES);
  if (rank == 1 && strcmp(o->what, "other") == 0) cases.identity = "another study";
  if (rank == 1 && strcmp(o->what, "larger") == 0) cases.n_values = 100000;
  if (rank == 1 && strcmp(o->what, "broken") == 0)
    return cpl_fail(ctx, CPL_ERR_INPUT, "model.fmu: there is no such file");
  if (rank == 0 && strcmp(o->what, "no-coordinator") == 0)
    return cpl_fail(ctx, CPL_ERR_INPUT, "system.yaml: it has no models");
  const cpli_execution how = {.journal_path = path,
                              .resume = o->resume,
                              .workers = o->workers,
                              .case_timeout = timeout,
                              .cluster = cluster};
  cpli_progress p;
  const cpl_status st = cpli_execute(ctx, &cases, &how, &p);
  if (st >= 0 && rank == 0)
    printf("done %lld of %lld by %d workers\n", (long long)p.done, (long long)p.total,
           (int)p.workers);
  return st;
}

static int be_rank(char** argv) {
  const rank_options o = {argv[2], atoi(argv[3]), atof(argv[4]), strcmp(argv[5], "resume") == 0};
  cpl_context* ctx = test_context();
  cpli_cluster* cluster = NULL;
  cancelled_by_signal = ctx;
  signal(SIGTERM, on_terminate);
  signal(SIGINT, on_terminate);
  cpl_status st = cpli_cluster_join(ctx, &cluster);
  name_process(cpli_cluster_rank(cluster));
  if (st >= 0) st = run_rank(ctx, &o, cluster);
  // relays report what failed to the coordinator
  if (st < 0 && cpli_cluster_rank(cluster) == 0)
    fprintf(stderr, "FAILED %s\n", cpl_context_error(ctx));
  cpli_cluster_leave(cluster);
  cpl_context_destroy(ctx);
  return st < 0 ? 1 : 0;
}

//------------------------------------ mpirun ------------------------------------

static const char* self;

static bool have_mpi(void) {
  const char* mpirun = getenv("COUPLET_MPIRUN");
  if (mpirun != NULL && mpirun[0] != '\0') return true;
  if (getenv("COUPLET_NEEDS_MPI") != NULL) fail_msg("this build is one without MPI");
  skip();
  return false;
}

// Ranks tell rank 0 what has failed before they end, and nobody waits for those that are killed.
static const char at_once[] = "--mca odls_base_sigkill_timeout 0";

static void start_command(char* out, size_t size, const char* options, int ranks, const char* what,
                          int workers, double pause, bool resume) {
  snprintf(out, size, "%s %s -n %d '%s' --rank %s %d %g %s >out.txt 2>&1", getenv("COUPLET_MPIRUN"),
           options, ranks, self, what, workers, pause, resume ? "resume" : "anew");
}

static char output[20000];

static int mpirun(int ranks, const char* what, int workers, double pause, bool resume) {
  char command[4096];
  start_command(command, sizeof command, at_once, ranks, what, workers, pause, resume);
  const int how = system(command);
  FILE* f = fopen("out.txt", "r");
  output[f != NULL ? fread(output, 1, sizeof output - 1, f) : 0] = '\0';
  if (f != NULL) fclose(f);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

static void expect_success(int how) {
  if (how != 0) fail_msg("mpirun: exit code %d: %s", how, output);
}

static void check_results_of(cpl_context* ctx) {
  const test_cases t = rank_cases(ctx);
  check_journal(ctx, &t, path, N_CASES);
}

static int pid_of_rank(int rank) {
  char name[32];
  int pid = 0;
  snprintf(name, sizeof name, "rank%d.pid", rank);
  FILE* f = fopen(name, "r");
  if (f == NULL) return 0;
  if (fscanf(f, "%d", &pid) != 1) pid = 0;
  fclose(f);
  return pid;
}

// The number of processes of this program, apart from this one.
static int count_processes(void) {
  int n = 0;
  DIR* dir = opendir("/proc");
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    char name[300], target[4096] = "", here[4096] = "";
    snprintf(name, sizeof name, "/proc/%s/exe", e->d_name);
    if (atoi(e->d_name) == 0 || atoi(e->d_name) == getpid() ||
        readlink(name, target, sizeof target - 1) < 0)
      continue;
    if (readlink("/proc/self/exe", here, sizeof here - 1) > 0 && strcmp(target, here) == 0) n++;
  }
  closedir(dir);
  return n;
}

static void check_all_gone(void) {
  for (int k = 0; k < 3000 && count_processes() > 0; k++) test_sleep(0.02);
  CHECK_INT(count_processes(), 0);
}

//------------------------------------ tests ------------------------------------

static void the_same_journal_for_any_number_of_ranks(void** state) {
  if (!have_mpi()) return;
  for (int ranks = 1; ranks <= 4; ranks *= 2) {
    unlink(path);
    expect_success(mpirun(ranks, "all", 1, 0, false));
    char text[64];
    snprintf(text, sizeof text, "done %d of %d by ", N_CASES, N_CASES);
    CHECK_CONTAINS(output, text);
    check_results_of(*state);
    check_all_gone();
  }
}

static void ranks_with_several_workers(void** state) {
  if (!have_mpi()) return;
  expect_success(mpirun(3, "all", 2, 0.001, false));
  CHECK_CONTAINS(output, "by 6 workers");
  check_results_of(*state);
}

static void expect_failure(int how, const char* text) {
  if (how == 0) fail_msg("mpirun: no failure: %s", output);
  CHECK_CONTAINS(output, text);
  const char* first = strstr(output, "FAILED");
  CHECK(first != NULL && strstr(first + 1, "FAILED") == NULL);  // one message, of rank 0
  check_all_gone();
}

static void all_ranks_end_when_one_fails(void** state) {
  (void)state;
  if (!have_mpi()) return;
  unlink(path);
  expect_failure(mpirun(3, "broken", 1, 0.01, false),
                 "FAILED rank 1: model.fmu: there is no such file");
  expect_failure(mpirun(3, "other", 1, 0.01, false), "FAILED rank 1 on ");
  CHECK_CONTAINS(output, "runs another study than rank 0 on ");
  expect_failure(mpirun(2, "larger", 1, 0.01, false), "FAILED rank 1 on ");
  expect_failure(mpirun(3, "no-coordinator", 1, 0.01, false),
                 "FAILED system.yaml: it has no models");
  FILE* f = fopen(path, "w");
  fputs("time,x\n", f);
  fclose(f);
  expect_failure(mpirun(3, "all", 1, 0.01, true), "it is no journal of a study");
  unlink(path);
}

// The size of the journal; 0: there is none.
static off_t journal_size(void) {
  struct stat info;
  return stat(path, &info) == 0 ? info.st_size : 0;
}

// In the background; returns when all ranks run, and cases have ended.
static pid_t start_ranks(const char* options, int ranks, double pause, bool resume) {
  char command[4096], with_exec[4200];
  for (int rank = 0; rank < ranks; rank++) {
    snprintf(command, sizeof command, "rank%d.pid", rank);
    unlink(command);
  }
  // texts of failed cases follow the places of all results
  const off_t places = N_CASES * TEST_VALUES * (off_t)sizeof(double);
  const off_t before = resume && journal_size() > places ? journal_size() : places;
  start_command(command, sizeof command, options, ranks, "all", 1, pause, resume);
  snprintf(with_exec, sizeof with_exec, "exec %s", command);
  const pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    execl("/bin/sh", "sh", "-c", with_exec, NULL);
    _exit(127);
  }
  for (int rank = 0; rank < ranks; rank++) {
    for (int k = 0; k < 6000 && pid_of_rank(rank) == 0; k++) test_sleep(0.01);
    CHECK(pid_of_rank(rank) > 0);
  }
  for (int k = 0; k < 6000 && journal_size() <= before; k++) test_sleep(0.01);
  return pid;
}

static int await(pid_t pid) {
  int how;
  CHECK(waitpid(pid, &how, 0) == pid);
  return how;
}

static int64_t count_done(cpl_context* ctx) {
  cpli_journal* j = NULL;
  int64_t done, failed;
  CHECK_OK(ctx, cpli_journal_open_read(ctx, path, &j));
  CHECK_OK(ctx, cpli_journal_count(j, &done, &failed));
  cpli_journal_close(j);
  return done;
}

static void interrupted_ranks_end_and_go_on(void** state) {
  if (!have_mpi()) return;
  unlink(path);
  for (int rank = 0; rank < 3; rank++) {  // the coordinator, then another one
    const pid_t pid = start_ranks("", 3, 0.005, rank > 0);
    const double began = cpli_now();
    kill(pid_of_rank(rank), SIGTERM);
    await(pid);
    CHECK(cpli_now() - began < 300);  // only a hang takes that long
    check_all_gone();
    const int64_t done = count_done(*state);
    CHECK(done > 0 && done < N_CASES);
  }
  expect_success(mpirun(2, "all", 1, 0, true));
  check_results_of(*state);
}

static void killed_ranks_leave_nothing_and_go_on(void** state) {
  if (!have_mpi()) return;
  unlink(path);
  for (int rank = 0; rank < 3; rank++) {
    const pid_t pid = start_ranks(at_once, 3, 0.005, rank > 0);
    kill(rank < 2 ? pid_of_rank(rank) : pid, SIGKILL);  // or mpirun itself
    await(pid);
    check_all_gone();
    CHECK(count_done(*state) < N_CASES);
  }
  expect_success(mpirun(4, "all", 1, 0, true));
  check_results_of(*state);
}

static void processes_that_cannot_join_are_refused(void** state) {
  cpl_context* ctx = *state;
  cpli_cluster* c = NULL;
  const char* const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};
  CHECK_OK(ctx, cpli_cluster_join(ctx, &c));
  CHECK(c == NULL);
  for (size_t i = 0; i < CPLI_COUNT(sizes); i++) {
    setenv(sizes[i], "1", 1);
    CHECK_OK(ctx, cpli_cluster_join(ctx, &c));
    CHECK(c == NULL && cpli_cluster_rank(c) == 0 && cpli_cluster_size(c) == 1);
    unsetenv(sizes[i]);
  }
  // srun without a plugin for MPI
  setenv("SLURM_STEP_NUM_TASKS", "4", 1);
  CHECK(cpli_cluster_join(ctx, &c) == CPL_ERR_UNSUPPORTED && c == NULL);
  CHECK_CONTAINS(cpl_context_error(ctx), "SLURM_STEP_NUM_TASKS");
  CHECK_CONTAINS(cpl_context_error(ctx), "srun --mpi=pmix");
  unsetenv("SLURM_STEP_NUM_TASKS");
  // MPI is there, and sees one process only; or it is not. In a process of its own: MPI leaks.
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("OMPI_COMM_WORLD_SIZE", "4", 1);
    const bool refused = cpli_cluster_join(ctx, &c) == CPL_ERR_UNSUPPORTED && c == NULL;
    _exit(refused && strstr(cpl_context_error(ctx), "OMPI_COMM_WORLD_SIZE") != NULL ? 0 : 1);
  }
  CHECK_INT(await(pid), 0);
}

int main(int argc, char** argv) {
  static char whole[4096];
  if (argc == 6 && strcmp(argv[1], "--rank") == 0) return be_rank(argv);
  self = realpath(argv[0], whole);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_journal_for_any_number_of_ranks),
      cmocka_unit_test(ranks_with_several_workers),
      cmocka_unit_test(all_ranks_end_when_one_fails),
      cmocka_unit_test(interrupted_ranks_end_and_go_on),
      cmocka_unit_test(killed_ranks_leave_nothing_and_go_on),
      cmocka_unit_test(processes_that_cannot_join_are_refused),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
