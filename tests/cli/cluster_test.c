// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet sweep under mpirun, which COUPLET_MPIRUN names: the same bytes as without it for any
// number of ranks, one report, and no study where the ranks do not see each other.
#include <sys/wait.h>

#include "command.h"

// x' = -k x; it crashes for k = 3.
static const char decay[] =
    "#include <couplet/model.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .output = true}, {0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  if (v->p[0] == 3) *(volatile int*)0 = 1;\n"
    "  dx[0] = -v->p[0]*v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .states = states,\n"
    "  .parameters = parameters, .derivatives = f};\n";

static bool have_mpi(void) {
  const char* mpirun = getenv("COUPLET_MPIRUN");
  if (mpirun != NULL && mpirun[0] != '\0') return true;
  if (getenv("COUPLET_NEEDS_MPI") != NULL) fail_msg("this build is one without MPI");
  skip();
  return false;
}

static int mpirun(int ranks, const char* args) {
  char command[4096];
  snprintf(command, sizeof command,
           "ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 OMPI_ALLOW_RUN_AS_ROOT=1 "
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 %s --oversubscribe -n %d '%s' sweep %s "
           ">mpi.out 2>mpi.err",
           getenv("COUPLET_MPIRUN"), ranks, getenv("COUPLET"), args);
  const int how = system(command);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

static int count_of(const char* text, const char* part) {
  int n = 0;
  while ((text = strstr(text, part)) != NULL) n++, text++;
  return n;
}

static void the_same_file_for_any_number_of_ranks(void** state) {
  (void)state;
  if (!have_mpi()) return;
  use_folders();
  write_text("decay.c", decay);
  CHECK_INT(COUPLET("sweep", "decay.c", "--over", "k=1:9:17", "--stop", "2", "-m", "final(x)",
                    "--curve", "x", "-o", "alone.csv", "-o", "alone.nc", "-q"),
            0);
  char* expected = strdup(text_of("alone.csv"));
  CHECK_INT(count_of(expected, "\n"), 18);
  for (int ranks = 1; ranks <= 4; ranks *= 2) {
    unlink("ranks.csv");
    const int code = mpirun(ranks,
                            "decay.c --over k=1:9:17 --stop 2 -m 'final(x)' --curve x "
                            "-o ranks.csv -o ranks.nc --progress none");
    if (code != 0) fail_msg("mpirun: exit code %d: %s", code, text_of("mpi.err"));
    CHECK_STR(text_of("ranks.csv"), expected);
    // all dimensions, variables and attributes
    CHECK_INT(system("ncdump -n study -p 9,17 alone.nc >alone.txt && "
                     "ncdump -n study -p 9,17 ranks.nc >ranks.txt && cmp alone.txt ranks.txt"),
              0);
    CHECK_INT(count_of(text_of("mpi.out"), "decay.c: 17 cases in "), 1);
  }
  free(expected);
}

static void a_bad_study_ends_all_ranks_with_one_message(void** state) {
  (void)state;
  if (!have_mpi()) return;
  use_folders();
  write_text("decay.c", decay);
  write_text("ranks.csv.journal", "something else");
  CHECK(mpirun(3, "decay.c --over k=1:9:17 --stop 2 -o ranks.csv --resume") != 0);
  CHECK_INT(count_of(text_of("mpi.err"), "it is no journal of a study"), 1);
  unlink("ranks.csv.journal");
}

static void ranks_that_do_not_see_each_other_are_refused(void** state) {
  (void)state;
  use_folders();
  write_text("decay.c", decay);
  char command[4096];  // MPI may leave something in the temporary folder
  snprintf(command, sizeof command,
           "SLURM_STEP_NUM_TASKS=4 '%s' sweep decay.c --over k=1:2:2 -o x.csv >mpi.out 2>mpi.err",
           getenv("COUPLET"));
  CHECK(system(command) != 0);
  CHECK_CONTAINS(text_of("mpi.err"), "SLURM_STEP_NUM_TASKS");
  CHECK_CONTAINS(text_of("mpi.err"), "srun --mpi=pmix");
  CHECK(access("x.csv", F_OK) != 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_file_for_any_number_of_ranks),
      cmocka_unit_test(a_bad_study_ends_all_ranks_with_one_message),
      cmocka_unit_test(ranks_that_do_not_see_each_other_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
