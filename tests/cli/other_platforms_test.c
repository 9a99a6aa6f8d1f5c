// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// FMUs with binaries for other platforms (tests/foreign.cmake makes them): the same results as
// those of this platform to the byte, however a binary ends its process, and what is missing. Where
// a platform cannot be run here, its tests are skipped, unless COUPLET_NEEDS_FOREIGN names it.
#include "faults.h"
#include "terminal.h"

static const char* const platforms[] = {"win64", "win32", "linux32"};
enum { N_PLATFORMS = 3 };

static const char* at(const char* platform, const char* fmu) {
  static char paths[4][4096];
  static int next;
  char* path = paths[next++ % 4];
  snprintf(path, sizeof paths[0], "%s/%s/%s", getenv("COUPLET_FOREIGN"), platform, fmu);
  return path;
}

static bool runs(int i) {
  static int known[N_PLATFORMS];  // 1: it runs, -1: it does not
  const char *platform = platforms[i], *needed = getenv("COUPLET_NEEDS_FOREIGN");
  if (known[i] != 0) return known[i] > 0;
  char file[4200];
  const bool win = platform[0] == 'w';
  snprintf(file, sizeof file, "%s/binaries/%s/probe.%s", at(platform, "probe"), platform,
           win ? "dll" : "so");
  bool there = access(file, R_OK) == 0;
  if (there) {
    CHECK_CODE(0, "check", at(platform, "probe"), "--platforms");
    there = strstr(printed, win ? "runs through Wine" : "runs by a host program") != NULL;
  }
  if (!there && needed != NULL && strstr(needed, platform) != NULL)
    fail_msg("FMUs for %s cannot be run here: %s", platform, printed);
  known[i] = there ? 1 : -1;
  return there;
}

static void skip_unless_win64(void) {
  if (!runs(0)) skip();
}

//------------------------------------ the same results ------------------------------------

static void the_same_to_the_byte(void** state) {
  (void)state;
  static const char* const fmus[][2] = {{"probe1_me", "me"}, {"probe1_cs", "cs"}, {"probe", "me"},
                                        {"probe", "cs"},     {"probe3", "me"},    {"probe3", "cs"},
                                        {"probe_se", NULL}};
  char native[4096];
  int n = 0;
  for (size_t f = 0; f < sizeof fmus / sizeof fmus[0]; f++) {
    const char* as = fmus[f][1] != NULL ? "--as" : NULL;
    snprintf(native, sizeof native, "%s%s", getenv("COUPLET_PROBE"), fmus[f][0] + strlen("probe"));
    CHECK_CODE(0, "run", native, "-o", "here.csv", as, fmus[f][1]);
    CHECK(count_rows("here.csv") > 100);
    for (int i = 0; i < N_PLATFORMS; i++) {
      if (!runs(i)) continue;
      CHECK_CODE(0, "run", at(platforms[i], fmus[f][0]), "-o", "there.csv", as, fmus[f][1]);
      check_same_files("here.csv", "there.csv");
      CHECK_CONTAINS(printed, platforms[i]);  // the summary says how
      n++;
    }
  }
  if (n == 0) skip();
}

// An FMU of another platform and one of this platform, as one model, and stepped with rollback.
static void systems_too(void** state) {
  (void)state;
  static const char* const kinds[] = {"as: me", "as: cs"};
  char text[8192];
  for (int i = 0; i < N_PLATFORMS; i++) {
    if (!runs(i)) continue;
    for (int k = 0; k < 2; k++) {
      const char* const lefts[] = {getenv("COUPLET_PROBE"), at(platforms[i], "probe")};
      for (int side = 0; side < 2; side++) {
        snprintf(text, sizeof text,
                 "couplet: 1\nmodels:\n  left: {fmu: %s, %s, start: {n: 100, x1: 2}}\n"
                 "  right: {fmu: %s, %s, start: {n: 100}}\n"
                 "connections: {left.u: 0.3*right.x1, right.u: 0.2*left.x1}\n"
                 "experiment: {stop: 2, interval: 0.05}\n%s",
                 lefts[side], kinds[k], getenv("COUPLET_PROBE"), kinds[k],
                 k == 0 ? "" : "master: {algorithm: iterative, step: 0.05}\n");
        write_text(side == 0 ? "here.yaml" : "there.yaml", text);
      }
      CHECK_CODE(0, "run", "here.yaml", "-o", "here.csv");
      CHECK_CODE(0, "run", "there.yaml", "-o", "there.csv", "--stats");
      check_same_files("here.csv", "there.csv");
      CHECK_CODE(0, "run", "there.yaml", "-o", "there.csv", "--isolate");
      check_same_files("here.csv", "there.csv");
    }
    // instances of one FMU have processes of their own
    snprintf(text, sizeof text,
             "couplet: 1\nmodels: {a: {fmu: %s, as: me}, b: {fmu: %s, as: me, start: {k: 9}}}\n"
             "experiment: {stop: 0.5}\n",
             at(platforms[i], "probe"), at(platforms[i], "probe"));
    write_text("two.yaml", text);
    CHECK_CODE(0, "run", "two.yaml", "-o", "two.csv");
    CHECK_CODE(0, "check", at(platforms[i], "probe"), "--rollback");
  }
}

static void a_binary_for_this_platform_comes_first(void** state) {
  (void)state;
  skip_unless_win64();
  char path[4200];
  size_t xml_size, so_size, dll_size;
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(path, &xml_size);
  snprintf(path, sizeof path, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  char* so = read_bytes(path, &so_size);
  snprintf(path, sizeof path, "%s/binaries/win64/probe.dll", at("win64", "probe"));
  char* dll = read_bytes(path, &dll_size);
  make_archive(
      "both.fmu",
      (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                        {.name = "binaries/linux64/probe.so", .text = so, .size = so_size},
                        {.name = "binaries/win64/probe.dll", .text = dll, .size = dll_size},
                        {.name = "binaries/darwin64/probe.dylib", .text = so, .size = so_size},
                        {0}});
  CHECK_CODE(0, "run", "both.fmu", "-o", "here.csv");
  CHECK(strstr(printed, "win64") == NULL);
  CHECK_CODE(0, "run", "both.fmu", "-o", "there.csv", "--platform", "win64");
  CHECK_CONTAINS(printed, "win64 binary, through Wine");
  check_same_files("here.csv", "there.csv");
  CHECK_CODE(0, "check", "both.fmu", "--platforms");
  CHECK_CONTAINS(printed, "linux64         runs: it is the platform of this machine\n");
  CHECK_CONTAINS(printed, "win64           runs through Wine");
  CHECK_CONTAINS(printed, "darwin64        does not run on this machine\n");
  CHECK_FAILS(2, "both.fmu: there is no binary for the platform that is requested, linux32", "run",
              "both.fmu", "--platform", "linux32");
  CHECK_FAILS_WITH(2, "there is no platform amiga whose binaries can be run here (known: ", "run",
                   "both.fmu", "--platform", "amiga");
  // sources that cannot be compiled are no reason to fail
  make_archive(
      "sources.fmu",
      (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                        {.name = "sources/probe.c", .text = "#include <windows.h>\n"},
                        {.name = "binaries/win64/probe.dll", .text = dll, .size = dll_size},
                        {0}});
  CHECK_CODE(0, "run", "sources.fmu", "-o", "there.csv");
  check_same_files("here.csv", "there.csv");
  CHECK_CODE(0, "info", "both.fmu", "--platform", "win64");
  CHECK_CONTAINS(printed, "its binary for win64 runs through Wine");
  free(xml);
  free(so);
  free(dll);
}

//------------------------------------ how it ends ------------------------------------

static void crashes_are_errors(void** state) {
  (void)state;
  static const struct {
    const char *fault, *windows, *linux;
  } ends[] = {
      {"segv", "crashed (access violation in probe.dll+0x", "crashed (SIGSEGV: "},
      {"fpe", "crashed (integer divided by zero in probe.dll+0x", "crashed (SIGFPE: "},
      {"overflow", "crashed (stack overflow in probe.dll+0x", "crashed (SIGSEGV: "},
      {"abort", "ended its process with exit code 3", "crashed (SIGABRT: "},
      {"exit", "ended its process with exit code 0", "ended its process with exit code 0"},
      {"quit", "ended its process with exit code 7", "ended its process with exit code 7"},
      {"kill", "ended its process with exit code 9", "crashed (signal 9: Killed)"},
      {"hang", "did not return within 1 s; its process was ended", NULL},
  };
  char wanted[64], message[256];
  for (int i = 0; i < N_PLATFORMS; i++) {
    for (size_t e = 0; e < sizeof ends / sizeof ends[0] && runs(i); e++) {
      const bool win = platforms[i][0] == 'w';
      const char* text = win || ends[e].linux == NULL ? ends[e].windows : ends[e].linux;
      snprintf(wanted, sizeof wanted, "fmi2DoStep:3:%s", ends[e].fault);
      setenv("PROBE_FAULT", wanted, 1);
      CHECK_CODE(1, "run", at(platforms[i], "probe"), "--as", "cs", "-o", "end.csv",
                 "--call-timeout", "1");
      unsetenv("PROBE_FAULT");
      snprintf(message, sizeof message, "couplet: probe: fmi2DoStep at t=0.008 %s", text);
      CHECK_CONTAINS(complained, message);
      CHECK_INT(count_rows("end.csv"), 3);
    }
    if (!runs(i)) continue;
    setenv("PROBE_FAULT", "fmi2Instantiate:1:segv", 1);
    CHECK_CODE(1, "run", at(platforms[i], "probe"), "-o", "end.csv");
    unsetenv("PROBE_FAULT");
    CHECK_CONTAINS(complained, "probe: fmi2Instantiate crashed (");
  }
}

// Values that are set are sent with the next call: a failure is that of the function that failed.
static void failures_have_the_name_of_their_function(void** state) {
  (void)state;
  static const char* const functions[] = {"fmi2SetTime", "fmi2SetContinuousStates",
                                          "fmi2GetDerivatives"};
  static const char* const kinds[] = {"error", "discard", "fatal", "warning"};
  char wanted[64], here[4096];
  for (int n = 0; n < 12; n++) {
    snprintf(wanted, sizeof wanted, "%s:20:%s", functions[n / 4], kinds[n % 4]);
    setenv("PROBE_FAULT", wanted, 1);
    const int code = COUPLET("run", getenv("COUPLET_PROBE"), "--as", "me", "-o", "here.csv");
    snprintf(here, sizeof here, "%s", complained);
    CHECK_CONTAINS(here, functions[n / 4]);
    for (int i = 0; i < N_PLATFORMS; i++) {
      unsetenv("PROBE_FAULT");
      if (!runs(i)) continue;
      setenv("PROBE_FAULT", wanted, 1);
      CHECK_CODE(code, "run", at(platforms[i], "probe"), "--as", "me", "-o", "here.csv");
      CHECK_STR(complained, here);
    }
    unsetenv("PROBE_FAULT");
  }
}

// What an FMU for Windows prints goes through pipes: a console of Windows would use the terminal in
// ways of its own, and some programs fail at files.
static void what_it_prints_is_passed_on(void** state) {
  (void)state;
  static char seen[1 << 20];
  for (int i = 0; i < N_PLATFORMS; i++) {
    if (!runs(i)) continue;
    const char* const ends[] = {"fmi2DoStep:3:prints", "fmi2FreeInstance:1:prints"};
    for (int k = 0; k < 2; k++) {
      setenv("PROBE_FAULT", ends[k], 1);
      CHECK_CODE(0, "run", at(platforms[i], "probe"), "--as", "cs", "-o", "end.csv");
      read_text("stderr.txt", seen, sizeof seen);  // standard output is for results
      CHECK_CONTAINS(seen, "line 0 of what the FMU prints");
      CHECK_CONTAINS(seen, "line 4999 of what the FMU prints");
      CHECK_CONTAINS(seen, i < 2 ? "standard error is a pipe" : "standard error is no pipe");
      CHECK_CONTAINS(printed, "-> end.csv");
      // some FMUs crash where these are missing
      if (i < 2) CHECK_CONTAINS(seen, "PATH is \"C:\\windows\\system32;C:\\windows\"");
      if (i < 2) CHECK_CONTAINS(seen, "SystemRoot is \"C:\\windows\"");
      if (i < 2) CHECK_CONTAINS(seen, "USERNAME is \"");
      CHECK(i >= 2 || strstr(seen, "TEMP is \"\"") == NULL);
    }
    const char* const args[] = {"run", at(platforms[i], "probe"), "--as", "cs", "-o", "end.csv",
                                NULL};
    setenv("PROBE_FAULT", ends[0], 1);
    CHECK_INT(watch_terminal(args, 80, NULL, 600, seen, sizeof seen), 0);
    unsetenv("PROBE_FAULT");
    CHECK_CONTAINS(seen, "line 4999 of what the FMU prints");
    CHECK(strstr(seen, "\033[?25") == NULL);  // the cursor of a console
  }
}

// Processes whose command line has this text.
static int processes_with(const char* text) {
  DIR* dir = opendir("/proc");
  int n = 0;
  for (struct dirent* e = readdir(dir); e != NULL; e = readdir(dir)) {
    char path[300], line[4096] = "";
    snprintf(path, sizeof path, "/proc/%s/cmdline", e->d_name);
    FILE* f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
    if (f == NULL) continue;
    size_t size = fread(line, 1, sizeof line - 1, f);
    fclose(f);
    for (size_t i = 0; i + 1 < size; i++)
      if (line[i] == '\0') line[i] = ' ';
    n += strstr(line, text) != NULL;
  }
  closedir(dir);
  return n;
}

static void wait_a_moment(void) { nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL); }

// A host does not outlive couplet, however that ends.
static void hosts_end_with_it(void** state) {
  (void)state;
  static const int signals[] = {SIGKILL, SIGINT, SIGTERM};
  char memory[64];
  for (int i = 0; i < N_PLATFORMS; i++) {
    for (int k = 0; k < 3 && runs(i); k++) {
      setenv("PROBE_FAULT", "fmi2DoStep:3:hang", 1);
      const char* const args[] = {"run", at(platforms[i], "probe"), "--as", "cs", "-o", "hang.csv",
                                  NULL};
      int out = create("stdout.txt"), err = create("stderr.txt");
      const pid_t pid = start_couplet(args, out, err);
      unsetenv("PROBE_FAULT");
      close(out);
      close(err);
      snprintf(memory, sizeof memory, "/proc/%d/fd/", (int)pid);
      for (int n = 0; n < 500 && processes_with(memory) == 0; n++) wait_a_moment();
      CHECK(processes_with(memory) > 0);
      for (int n = 0; n < 25; n++) wait_a_moment();  // until the call hangs
      kill(pid, signals[k]);
      CHECK(end_of(pid) != 0);
      for (int n = 0; n < 250 && processes_with(memory) > 0; n++) wait_a_moment();
      CHECK_INT(processes_with(memory), 0);
    }
  }
  CHECK_INT(system("rm -rf tmp/*"), 0);  // of the killed ones
}

//------------------------------------ what is missing ------------------------------------

static char* put_fmu(const char* folder, const char* name, const char* binary, const char* from,
                     const char* to) {
  static char path[4200];
  size_t size, xml_size;
  char* bytes = read_bytes(binary, &size);
  for (size_t i = 0; from != NULL && i + strlen(from) < size; i++)
    if (memcmp(bytes + i, from, strlen(from)) == 0) memcpy(bytes + i, to, strlen(to));
  snprintf(path, sizeof path, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* xml = read_bytes(path, &xml_size);
  snprintf(path, sizeof path, "binaries/%s", name);
  make_archive(folder, (archive_entry[]){{.name = "modelDescription.xml", .text = xml},
                                         {.name = path, .text = bytes, .size = size},
                                         {0}});
  free(bytes);
  free(xml);
  return path;
}

static void missing_libraries_are_named(void** state) {
  (void)state;
  skip_unless_win64();
  char dll[4200], so[4200];
  snprintf(dll, sizeof dll, "%s/binaries/win64/probe.dll", at("win64", "probe"));
  snprintf(so, sizeof so, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  put_fmu("needy.fmu", "win64/probe.dll", dll, "KERNEL32.dll", "CYGWIN99.dll");
  CHECK_FAILS(2,
              "needy.fmu: cannot load binaries/win64/probe.dll: it needs CYGWIN99.dll, which "
              "neither the FMU nor Wine has",
              "run", "needy.fmu");
  put_fmu("strange.fmu", "win64/probe.dll", so, NULL, NULL);
  CHECK_FAILS(2,
              "strange.fmu: cannot load binaries/win64/probe.dll: it is no DLL for x86 processors",
              "run", "strange.fmu");
  snprintf(dll, sizeof dll, "%s/binaries/win32/probe.dll", at("win32", "probe"));
  if (access(dll, R_OK) != 0) return;
  put_fmu("narrow.fmu", "win64/probe.dll", dll, NULL, NULL);
  CHECK_FAILS(2,
              "narrow.fmu: cannot load binaries/win64/probe.dll: it is a DLL of 32 bits, not of 64",
              "run", "narrow.fmu");
}

// Also where there is neither Wine nor a compiler for Windows.
static void without_wine(void** state) {
  (void)state;
  char so[4200];
  snprintf(so, sizeof so, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  put_fmu("windows.fmu", "win64/probe.dll", so, NULL, NULL);
  put_fmu("narrow.fmu", "win32/probe.dll", so, NULL, NULL);
  setenv("COUPLET_WINE", "/no/wine", 1);
  CHECK_FAILS(2,
              "windows.fmu: its binary for win64 needs Wine, which is not installed: install the "
              "packages wine wine64",
              "run", "windows.fmu");
  CHECK_FAILS(2,
              "narrow.fmu: its binary for win32 needs Wine for programs of 32 bits, which is not "
              "installed: install the packages wine wine32:i386, after dpkg --add-architecture "
              "i386",
              "run", "narrow.fmu");
  CHECK_CODE(0, "info", "windows.fmu");
  CHECK_CONTAINS(printed, "its binary for win64 does not run: it needs Wine");
  CHECK_CODE(2, "check", "windows.fmu");
  CHECK_CONTAINS(printed, "there is no binaries/linux64/probe.so for this platform");
  unsetenv("COUPLET_WINE");
}

static void not_in_the_fmu_of_a_system(void** state) {
  (void)state;
  skip_unless_win64();
  char text[4200];
  snprintf(text, sizeof text, "couplet: 1\nmodels: {a: {fmu: %s, as: me}}\n", at("win64", "probe"));
  write_text("export.yaml", text);
  CHECK_FAILS_WITH(2, "it has no binary for this platform (linux64), but one for win64", "build",
                   "export.yaml");
}

// The folder of Wine is made by whoever needs it first, and is small.
static void two_runs_at_once(void** state) {
  (void)state;
  skip_unless_win64();
  enum { RUNS = 3 };
  char here[4096], files[RUNS][32];
  pid_t pids[RUNS];
  // It is not removed: the server of Wine of the tests before still writes its files there, and
  // would serve a new folder that gets the inode of the old one.
  CHECK_INT(rename("cache", "cache_before"), 0);
  for (int i = 0; i < RUNS; i++) {
    snprintf(files[i], sizeof files[i], "run%d.csv", i);
    const char* const args[] = {"run", at("win64", "probe"), "-q", "-o", files[i], NULL};
    pids[i] = start_couplet(args, -1, -1);
  }
  for (int i = 0; i < RUNS; i++) CHECK_INT(end_of(pids[i]), 0);
  for (int i = 1; i < RUNS; i++) check_same_files(files[0], files[i]);
  CHECK_INT(system("test $(ls cache/couplet | grep -c '^wine-') = 1"), 0);
  CHECK_INT(system("test $(du -sk cache/couplet | cut -f1) -lt 1000"), 0);
  assert_non_null(getcwd(here, sizeof here));
  // a folder that somebody has removed in part is made anew
  CHECK_INT(system("rm -rf cache/couplet/wine-*/drive_c"), 0);
  CHECK_CODE(0, "run", at("win64", "probe"), "-q", "-o", "again.csv");
  check_same_files(files[0], "again.csv");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_same_to_the_byte),
      cmocka_unit_test(systems_too),
      cmocka_unit_test(a_binary_for_this_platform_comes_first),
      cmocka_unit_test(crashes_are_errors),
      cmocka_unit_test(failures_have_the_name_of_their_function),
      cmocka_unit_test(what_it_prints_is_passed_on),
      cmocka_unit_test(hosts_end_with_it),
      cmocka_unit_test(missing_libraries_are_named),
      cmocka_unit_test(without_wine),
      cmocka_unit_test(not_in_the_fmu_of_a_system),
      cmocka_unit_test(two_runs_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
