// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// couplet sweep under mpirun, which COUPLET_MPIRUN names: the same bytes as without it for any
// number of ranks, one report, and no study where the ranks do not see each other.
#include "mpirun.h"

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

static int sweep(int ranks, const char* args) {
  char all[1024];
  snprintf(all, sizeof all, "-n %d %%s sweep %s", ranks, args);
  return mpirun(all);
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
    const int code = sweep(ranks,
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
  CHECK(sweep(3, "decay.c --over k=1:9:17 --stop 2 -o ranks.csv --resume") != 0);
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
