// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The files of couplet sweep: the content of a NetCDF file (all dimensions, variables and
// attributes, as ncdump prints them) depends on the study only, whatever is killed in between; a
// full disk loses nothing, wherever it is met.
#include <math.h>

#include "base/base.h"
#include "sweep.h"

// x' = -k x. Case by case: it fails for k = 3, crashes for k = 4, and takes a while.
static const char decay[] =
    "#define _DEFAULT_SOURCE\n"
    "#include <couplet/model.h>\n"
    "#include <unistd.h>\n"
    "static const cpl_declaration states[] = {{\"x\", .start = 1, .unit = \"m\", .output = true}, "
    "{0}};\n"
    "static const cpl_declaration parameters[] = {{\"k\", .start = 1, .unit = \"1/s\"},\n"
    "  {\"a\"}, {\"b\"}, {\"pause\"}, {0}};\n"
    "static int f(const cpl_values* v, double* dx) {\n"
    "  if (v->p[0] == 3) return cpl_model_error(v, \"three is too much\");\n"
    "  if (v->p[0] == 4) *(volatile int*)0 = 1;\n"
    "  if (v->p[3] > 0) usleep((unsigned)v->p[3]);\n"
    "  dx[0] = -v->p[0]*v->x[0];\n"
    "  return CPL_MODEL_OK;\n"
    "}\n"
    "const cpl_model_def couplet_model = {.name = \"decay\", .description = \"a decay\",\n"
    "  .states = states, .parameters = parameters, .derivatives = f};\n";

static void write_models(void) {
  use_folders();
  write_text("decay.c", decay);
  if (access("decay.fmu", F_OK) != 0)  // which needs no compiler, that could be killed
    CHECK_INT(COUPLET("build", "decay.c", "-q", "-o", "decay.fmu"), 0);
}

// Owned: by the caller.
static char* content_of(const char* path) {
  char command[512];
  snprintf(command, sizeof command, "ncdump -n study -p 9,17 '%s' >dump.txt", path);
  CHECK_INT(system(command), 0);
  return strdup(text_of("dump.txt"));
}

static void check_same(const char* path, const char* expected) {
  char* content = content_of(path);
  CHECK_STR(content, expected);
  free(content);
}

#define STUDY                                                                                 \
  "sweep", "decay.fmu", "--as", "me", "--over", "k=1:5:9", "--over", "x=0.5:2:8", "--set",    \
      "pause=20", "--solver", "euler", "--step", "0.01", "--stop", "1", "--interval", "0.25", \
      "-m", "end=final(x)", "-m", "half=time_when(x < 0.25)", "--curve", "x", "-q"

// Made with one worker and without interruptions. Every value is checked against its closed form.
static char* expected_content(void) {
  CHECK_INT(COUPLET(STUDY, "-j", "1", "-o", "whole.nc", "-o", "whole.csv"), 0);
  const table t = read_table("whole.csv");
  CHECK_INT(t.n, 72);
  for (size_t i = 0; i < t.n; i++) {
    const double k = t.values[i][0], x = t.values[i][1];
    if (k == 3 || k == 4) CHECK(isnan(t.values[i][2]) && t.failure[i][0] != '\0');
    else CHECK_NEAR(t.values[i][2], x * pow(1 - 0.01 * k, 100), 1e-9);
  }
  char* content = content_of("whole.nc");
  static const char* const parts[] = {"case = 72 ;",
                                      "time = 5 ;",
                                      "double x_2(case, time) ;",
                                      "end:units = \"m\" ;",
                                      "k:couplet_role = \"factor\" ;",
                                      "string :grid_axes = \"k\", \"x\" ;",
                                      ":solver = \"euler\" ;",
                                      "three is too much",
                                      "SIGSEGV"};
  for (size_t i = 0; i < CPLI_COUNT(parts); i++) CHECK_CONTAINS(content, parts[i]);
  return content;
}

static void netcdf_for_any_number_of_workers(void** state) {
  (void)state;
  write_models();
  char* expected = expected_content();
  static const char* const workers[] = {"2", "3", "7"};
  for (size_t i = 0; i < CPLI_COUNT(workers); i++) {
    CHECK_INT(COUPLET(STUDY, "-j", workers[i], "-o", "workers.nc"), 0);
    check_same("workers.nc", expected);
  }
  free(expected);
}

// A process that was started by the command; 0: there is none.
static pid_t child_of(pid_t pid, unsigned which) {
  char path[64];
  int found[16], n = 0;
  snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)pid, (int)pid);
  FILE* in = fopen(path, "r");
  while (in != NULL && n < 16 && fscanf(in, "%d", &found[n]) == 1) n++;
  if (in != NULL) fclose(in);
  return n > 0 ? found[which % (unsigned)n] : 0;
}

// Workers are killed at random moments, and then the whole.
static void netcdf_after_kills(void** state) {
  (void)state;
  write_models();
  char* expected = expected_content();
  const char* const all[] = {STUDY, "-j", "3", "-o", "killed.nc", "--resume", NULL};
  unsigned seed = 20;
  int code = -1, workers = 0, wholes = 0;
  unlink("killed.nc");
  for (unsigned patience = 20000; code != 0 && wholes < 100; patience += patience / 8) {
    const pid_t pid = start_couplet(all, -1, -1);
    for (int i = 0; i < 3; i++) {
      usleep(patience / 3 + (unsigned)rand_r(&seed) % 2000);
      const pid_t child = child_of(pid, (unsigned)rand_r(&seed));
      if (child > 0) workers += kill(child, SIGKILL) == 0;
    }
    kill(pid, SIGKILL);
    code = end_of(pid);
    wholes += code != 0;
    if (access("killed.nc", F_OK) == 0) check_same("killed.nc", expected);
  }
  CHECK_INT(code, 0);
  CHECK(workers >= 3 && wholes >= 1);
  check_same("killed.nc", expected);
  CHECK(access("killed.nc.journal", F_OK) != 0);
  free(expected);
}

//------------------------------------ full disks ------------------------------------

// Runs couplet with a limit for the size of files, in KiB, which acts as a full disk.
static int run_limited(const char* args, int limit) {
  char command[2048];
  use_folders();
  snprintf(command, sizeof command,
           "trap '' XFSZ; ulimit -f %d; exec '%s' %s >stdout.txt 2>stderr.txt", limit * 2,
           getenv("COUPLET"), args);
  const int how = system(command);
  read_text("stderr.txt", complained, sizeof complained);
  CHECK(is_empty("tmp"));
  return WIFEXITED(how) ? WEXITSTATUS(how) : -1;
}

static void a_full_disk(void** state) {
  (void)state;
  write_models();
#define SAMPLES                                                                                  \
  "sweep decay.c --over k=0.5:2 --over a=0:1 --over b=0:1 --sample 4000 --sobol --stop 1 -q -m " \
  "'end=final(x)' "
  static const struct {
    const char *name, *options, *full;  // which file does not fit
    bool complete;                      // all cases are done before
  } disks[] = {
      {"journal.nc", "--curve x --interval 0.01", "journal.nc.journal: cannot be written", false},
      {"rows.csv", "", "rows.csv: cannot be written", true},
      {"content.nc", "", "content.nc: cannot be written", true},
  };
  for (size_t i = 0; i < CPLI_COUNT(disks); i++) {
    char args[512], journal[64], whole[64];
    snprintf(args, sizeof args, SAMPLES "%s -o %s", disks[i].options, disks[i].name);
    snprintf(journal, sizeof journal, "%s.journal", disks[i].name);
    snprintf(whole, sizeof whole, "whole-%s", disks[i].name);
    write_text(disks[i].name, "yesterday");
    CHECK_INT(run_limited(args, 250), 2);
    CHECK_CONTAINS(complained, disks[i].full);
    CHECK_CONTAINS(complained, "File too large");
    CHECK_CONTAINS(complained, "cases are kept; --resume goes on from there");
    if (disks[i].complete) CHECK_CONTAINS(complained, "4000 of 4000 cases");
    CHECK_STR(text_of(disks[i].name), "yesterday");
    CHECK(access(journal, F_OK) == 0);
    // still full: nothing changes
    strcat(args, " --resume");
    CHECK_INT(run_limited(args, 250), 2);
    CHECK_STR(text_of(disks[i].name), "yesterday");
    // space again
    CHECK_INT(run_limited(args, 1 << 20), 0);
    CHECK(access(journal, F_OK) != 0);
    snprintf(args, sizeof args, SAMPLES "%s -o %s", disks[i].options, whole);
    CHECK_INT(run_limited(args, 1 << 20), 0);
    const bool csv = strstr(whole, ".csv") != NULL;
    snprintf(args, sizeof args,
             csv ? "cmp %s %s"
                 : "ncdump -n s %s >one.txt && ncdump -n s %s >two.txt && cmp one.txt two.txt",
             disks[i].name, whole);
    CHECK_INT(system(args), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(netcdf_for_any_number_of_workers),
      cmocka_unit_test(netcdf_after_kills),
      cmocka_unit_test(a_full_disk),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
