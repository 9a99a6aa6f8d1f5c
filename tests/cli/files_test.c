// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Files that runs leave, and files that cannot be written.
#include "command.h"

// x' = 2; fails at the time `at`, in its outputs or in its derivatives.
static const char failing_model[] =
    MODEL("failing",
          "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"at\", .start = 10},\n"
          "                                    {.name = \"out\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = 2;\n"
          "  return v->p[1] == 0 && v->t > v->p[0] ? -1 : 0;\n"
          "}\n"
          "static int g(const cpl_values* v, double* out) {\n"
          "  out[0] = v->x[0];\n"
          "  return v->p[1] != 0 && v->t >= v->p[0] ? -1 : 0;\n"
          "}",
          ".states = x, .outputs = y, .parameters = p, .derivatives = f, .output_values = g,\n"
          ".stop_time = 4");

// Takes a millisecond for each evaluation.
static const char slow_model[] =
    MODEL("slow",
          "#include <time.h>\n"
          "static const cpl_declaration x[] = {{.name = \"x\"}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  (void)v;\n"
          "  nanosleep(&(struct timespec){.tv_nsec = 1000000}, 0);\n"
          "  dx[0] = 1;\n"
          "  return 0;\n"
          "}",
          ".states = x, .derivatives = f, .stop_time = 1000");

static int set_up(void** state) {
  (void)state;
  write_text("failing.c", failing_model);
  write_text("slow.c", slow_model);
  write_text("decay.c", decay_model);
  return 0;
}

static bool exists(const char* path) { return access(path, F_OK) == 0; }

static void a_run_that_does_not_begin_leaves_the_file(void** state) {
  (void)state;
  static const char* const files[] = {"out.csv", "out.mat"};
  for (int i = 0; i < 2; i++) {
    unlink(files[i]);
    CHECK_CODE(0, "run", "failing.c", "-o", files[i]);
    CHECK_INT(rename(files[i], "kept"), 0);
    CHECK_INT(link("kept", files[i]), 0);
    // at its start, and within its first step
    CHECK_CODE(1, "run", "failing.c", "-o", files[i], "--set", "at=0", "--set", "out=1");
    CHECK_CONTAINS(printed, files[i]);
    CHECK_CONTAINS(printed, ": this file is older than the run that failed, and stays as it was\n");
    CHECK_CODE(1, "run", "failing.c", "-o", files[i], "--set", "at=1e-9", "--quiet");
    CHECK_STR(printed, "");
    CHECK_CODE(2, "run", "failing.c", "-o", files[i], "--set", "nothing=1");
    CHECK_CONTAINS(printed, "stays as it was");
    check_same_files("kept", files[i]);
    struct stat a, b;
    CHECK(stat("kept", &a) == 0 && stat(files[i], &b) == 0 && a.st_ino == b.st_ino);
    unlink("kept");
  }
}

static void what_was_kept_is_told(void** state) {
  (void)state;
  unlink("part.csv");
  CHECK_CODE(1, "run", "failing.c", "-o", "part.csv", "--set", "at=1.01", "--interval", "0.25",
             "--solver", "rk4", "--step", "0.05");
  CHECK_STR(printed, "failing: kept 5 points, up to t = 1 -> part.csv\n");
  CHECK_INT(count_rows("part.csv"), 5);
  CHECK_CODE(1, "run", "failing.c", "-o", "part.csv", "--set", "at=1.01", "--interval", "0.25",
             "--solver", "rk4", "--step", "0.05", "--json");
  CHECK_CONTAINS(printed, "\"kept_points\": 5");
  CHECK_CONTAINS(printed, "\"kept_until\": 1");
}

static void one_file_has_one_run(void** state) {
  (void)state;
  unlink("slow.csv");
  int nothing = create("/dev/null");
  static const char* const args[] = {"run",        "slow.c", "--solver", "rk4",
                                     "--interval", "0.01",   NULL};
  pid_t first = start_couplet(args, nothing, nothing);
  struct stat info;
  for (int i = 0; i < 3000 && (stat("slow.csv", &info) != 0 || info.st_size < 10); i++)
    pause_s(0.02);
  // the same default name, and the same file by another name
  int out = create("stdout.txt"), err = create("stderr.txt");
  CHECK_INT(end_of(start_couplet(args, out, err)), 2);
  CHECK_STR(text_of("stderr.txt"),
            "couplet: slow.csv: another run is writing its results there; -o gives this one "
            "another file\n");
  CHECK_STR(text_of("stdout.txt"), "");
  const char* const other[] = {"run", "decay.c", "-o", "./slow.csv", NULL};
  CHECK_INT(end_of(start_couplet(other, out, err)), 2);
  kill(first, SIGTERM);
  CHECK_INT(end_of(first), 1);
  CHECK_CODE(0, "run", "decay.c", "-o", "slow.csv");
  close(nothing), close(out), close(err);
}

static void what_cannot_be_written_is_a_bad_argument(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c");
  write_text("pair.yaml", "couplet: 1\nmodels:\n  a: {c: decay.c}\n  b: {c: decay.c}\n");
  CHECK_FAILS_WITH(2, "no/such.csv", "run", "decay.c", "-o", "no/such.csv");
  CHECK_FAILS_WITH(2, "no/such.mat", "run", "decay.c", "-o", "no/such.mat");
  CHECK_FAILS_WITH(2, "no/such", "run", "pair.yaml", "-o", "no/such.csv", "--per-model");
  CHECK_FAILS_WITH(2, "no/such.html", "view", "decay.csv", "-o", "no/such.html");
  CHECK_FAILS_WITH(2, "no/such.svg", "view", "decay.csv", "-o", "no/such.svg");
  CHECK_FAILS_WITH(2, "no/such.html", "graph", "pair.yaml", "--html", "-o", "no/such.html");
  CHECK_FAILS_WITH(2, "no/such.svg", "graph", "pair.yaml", "--svg", "-o", "no/such.svg");
  CHECK_FAILS_WITH(2, "no/such.json", "linearize", "decay.c", "-o", "no/such.json");
  CHECK_FAILS_WITH(2, "no/such.fmu", "build", "decay.c", "-o", "no/such.fmu");
  mkdir("folder.html", 0700);
  CHECK_FAILS_WITH(2, "folder.html", "view", "decay.csv", "-o", "folder.html");
  mkdir("folder.fmu", 0700);
  CHECK_FAILS_WITH(2, "folder.fmu", "build", "decay.c", "-o", "folder.fmu");
  write_text("watch.join", "x");
  CHECK_FAILS_WITH(2, "no/such.csv", "tlm", "watch", "--key-file", "watch.join", "-o",
                   "no/such.csv");
}

static int hidden_files(void) {
  DIR* dir = opendir(".");
  assert_non_null(dir);
  int n = 0;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir))
    n += strncmp(e->d_name, ".couplet-", 9) == 0;
  closedir(dir);
  return n;
}

// Runs couplet with files limited to some bytes, as on a full disk.
static int run_limited(const char* const* args) {
  char line[1024] = "ulimit -f 1; trap '' XFSZ; exec \"$COUPLET\"";
  for (; *args != NULL; args++) {
    strcat(line, " ");
    strcat(line, *args);
  }
  strcat(line, " > /dev/null 2> stderr.txt");
  const int status = system(line);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void a_page_appears_whole_or_not_at_all(void** state) {
  (void)state;
  use_folders();
  CHECK_CODE(0, "run", "decay.c", "--interval", "1e-3");
  CHECK_CODE(0, "info", "decay.c");  // compiled
  static const struct {
    const char* file;
    const char* args[8];
  } cases[] = {{"page.html", {"view", "decay.csv", "-o", "page.html"}},
               {"page.svg", {"view", "decay.csv", "-o", "page.svg"}}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    unlink(cases[i].file);
    CHECK_INT(run_limited(cases[i].args), 2);
    CHECK_CONTAINS(text_of("stderr.txt"), cases[i].file);
    CHECK(!exists(cases[i].file));
    CHECK_INT(run_couplet(cases[i].args), 0);
    CHECK_INT(rename(cases[i].file, "whole"), 0);
    CHECK_INT(run_couplet(cases[i].args), 0);
    CHECK_INT(run_limited(cases[i].args), 2);
    check_same_files("whole", cases[i].file);
    CHECK_INT(hidden_files(), 0);
  }
  // an archive that cannot be made leaves the one that was there
  CHECK_CODE(0, "build", "decay.c", "-q");
  CHECK_INT(rename("decay.fmu", "whole"), 0);
  CHECK_INT(link("whole", "decay.fmu"), 0);
  write_text("broken.c", "this is no model\n");
  CHECK_CODE(2, "build", "broken.c", "-o", "decay.fmu");
  check_same_files("whole", "decay.fmu");
  CHECK_INT(hidden_files(), 0);
}

// A link stays a link, a file keeps who may read it, and a device is written to.
static void the_kind_of_a_file_stays(void** state) {
  (void)state;
  CHECK_CODE(0, "run", "decay.c");
  unlink("target.svg"), unlink("link.svg");
  write_text("target.svg", "old");
  CHECK_INT(chmod("target.svg", 0640), 0);
  CHECK_INT(symlink("target.svg", "link.svg"), 0);
  CHECK_CODE(0, "view", "decay.csv", "-o", "link.svg");
  struct stat info;
  CHECK(lstat("link.svg", &info) == 0 && S_ISLNK(info.st_mode));
  CHECK(lstat("target.svg", &info) == 0 && (info.st_mode & 0777) == 0640 && info.st_size > 100);
  unlink("null.svg");
  CHECK_INT(symlink("/dev/null", "null.svg"), 0);
  CHECK_CODE(0, "view", "decay.csv", "-o", "null.svg");
  CHECK(stat("null.svg", &info) == 0 && S_ISCHR(info.st_mode));
}

// What a killed run has unpacked is removed by the next one, and what a living one has is not.
static void the_next_run_cleans_up(void** state) {
  (void)state;
  CHECK_CODE(0, "build", "decay.c", "-q");
  pid_t runs[2];
  int nothing = create("/dev/null");
  for (int i = 0; i < 2; i++) {
    const char* file = i == 0 ? "first.csv" : "second.csv";
    const char* const args[] = {"run", "decay.fmu", "--real-time", "1e-3", "-o", file, NULL};
    struct stat info;
    unlink(file);
    runs[i] = start_couplet(args, nothing, nothing);
    for (int k = 0; k < 3000 && (stat(file, &info) != 0 || info.st_size < 10); k++) pause_s(0.02);
  }
  close(nothing);
  kill(runs[0], SIGKILL);
  CHECK_INT(end_of(runs[0]), -SIGKILL);
  CHECK_INT(system("test $(ls tmp | wc -l) = 2"), 0);
  int out = create("stdout.txt");
  CHECK_INT(end_of(start_couplet((const char* const[]){"run", "decay.fmu", NULL}, out, out)), 0);
  CHECK_INT(system("test $(ls tmp | wc -l) = 1"), 0);
  CHECK_INT(system("ls tmp/*/*/modelDescription.xml tmp/*/*/binaries > stdout.txt"), 0);
  kill(runs[1], SIGTERM);
  CHECK_INT(end_of(runs[1]), 1);
  CHECK(is_empty("tmp"));
  close(out);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_run_that_does_not_begin_leaves_the_file),
      cmocka_unit_test(what_was_kept_is_told),
      cmocka_unit_test(one_file_has_one_run),
      cmocka_unit_test(what_cannot_be_written_is_a_bad_argument),
      cmocka_unit_test(a_page_appears_whole_or_not_at_all),
      cmocka_unit_test(the_kind_of_a_file_stays),
      cmocka_unit_test(the_next_run_cleans_up),
  };
  return cmocka_run_group_tests(tests, set_up, NULL);
}
