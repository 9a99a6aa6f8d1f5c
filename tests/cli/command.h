// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The command as a user meets it: run with arguments, and what it printed, how it ended, and that
// it left nothing in the temporary folder. COUPLET_WRAPPER (such as "valgrind -q") goes before it.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "archive.h"
#include "testing.h"

// What the last command printed to standard output and standard error.
static char printed[1 << 20], complained[1 << 18];

static inline void read_text(const char* path, char* text, size_t size) {
  FILE* f = fopen(path, "rb");
  assert_non_null(f);
  text[fread(text, 1, size - 1, f)] = '\0';
  fclose(f);
}

/// The text of a file; static storage, good until the next call.
static inline const char* text_of(const char* path) {
  static char text[1 << 20];
  read_text(path, text, sizeof text);
  return text;
}

static inline void write_text(const char* path, const char* text) {
  write_bytes(path, text, strlen(text));
}

static inline bool is_empty(const char* folder) {
  DIR* dir = opendir(folder);
  assert_non_null(dir);
  int n = 0;
  while (readdir(dir) != NULL) n++;
  closedir(dir);
  return n == 2;
}

/// A folder of its own for what is temporary, and one for compiled models. What a test left that
/// was killed, because its time was over, is removed.
static inline void use_folders(void) {
  static bool clean = false;
  char here[4096], path[4200];
  assert_non_null(getcwd(here, sizeof here));
  if (!clean) clean = system("rm -rf tmp") == 0;
  mkdir("tmp", 0700);
  snprintf(path, sizeof path, "%s/tmp", here);
  setenv("TMPDIR", path, 1);
  snprintf(path, sizeof path, "%s/cache", here);
  setenv("XDG_CACHE_HOME", path, 1);
}

/// Start couplet with these arguments (NULL at the end). out and err are descriptors. It does not
/// outlive a test that is killed because its time was over.
static inline pid_t start_couplet(const char* const* args, int out, int err) {
  static char wrapper[1024];
  const char* argv[96];
  int n = 0;
  use_folders();
  if (getenv("COUPLET_WRAPPER") != NULL) {
    snprintf(wrapper, sizeof wrapper, "%s", getenv("COUPLET_WRAPPER"));
    for (char* w = strtok(wrapper, " "); w != NULL; w = strtok(NULL, " ")) argv[n++] = w;
  }
  argv[n++] = getenv("COUPLET");
  while (*args != NULL) argv[n++] = *args++;
  argv[n] = NULL;
  pid_t test = getpid(), pid = fork();
  assert_true(pid >= 0);
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != test) _exit(127);
    signal(SIGINT, SIG_DFL);  // a shell in the background, or nohup, may have ignored them
    signal(SIGHUP, SIG_DFL);
    if (out >= 0) dup2(out, 1);
    if (err >= 0) dup2(err, 2);
    execvp(argv[0], (char**)argv);
    _exit(127);
  }
  return pid;
}

/// Wait for its end; the exit code, or minus the signal that killed it.
static inline int end_of(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static inline int create(const char* path) {
  int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_true(fd >= 0);
  return fd;
}

/// Run couplet; the arguments are strings, NULL at the end. Returns the exit code.
static inline int run_couplet(const char* const* args) {
  int out = create("stdout.txt"), err = create("stderr.txt");
  int code = end_of(start_couplet(args, out, err));
  close(out);
  close(err);
  read_text("stdout.txt", printed, sizeof printed);
  read_text("stderr.txt", complained, sizeof complained);
  if (!is_empty("tmp")) fail_msg("something is left in the temporary folder");
  return code;
}
#define COUPLET(...) run_couplet((const char* const[]){__VA_ARGS__, NULL})

#define CHECK_CODE(code, ...)                                                            \
  do {                                                                                   \
    int code_ = COUPLET(__VA_ARGS__);                                                    \
    if (code_ != (code))                                                                 \
      fail_msg("%s:%d: couplet %s: exit code %d, expected %d\n%s%s", __FILE__, __LINE__, \
               #__VA_ARGS__, code_, code, printed, complained);                          \
  } while (0)

/// It fails with that code and with this one message, a line that begins with "couplet: ".
#define CHECK_FAILS(code, message, ...)              \
  do {                                               \
    CHECK_CODE(code, __VA_ARGS__);                   \
    CHECK_STR(complained, "couplet: " message "\n"); \
  } while (0)

/// The same, but only parts of the message are known.
#define CHECK_FAILS_WITH(code, part, ...)                         \
  do {                                                            \
    CHECK_CODE(code, __VA_ARGS__);                                \
    CHECK_CONTAINS(complained, part);                             \
    CHECK(strncmp(complained, "couplet: ", 9) == 0);              \
    CHECK(strchr(complained, '\n') == strrchr(complained, '\n')); \
  } while (0)

//------------------------------------ models ------------------------------------

/// A model in C: BODY goes before the definition, FIELDS into it.
#define MODEL(name, BODY, FIELDS)                        \
  "#include <couplet/model.h>\n#include <math.h>\n" BODY \
  "\nconst cpl_model_def couplet_model = {.name = \"" name "\", " FIELDS "};\n"

/// x' = -a x + u, y = 2 x
static const char decay_model[] =
    MODEL("decay",
          "static const cpl_declaration x[] = {{.name = \"x\", .start = 1, .unit = \"m\"}, {0}};\n"
          "static const cpl_declaration u[] = {{.name = \"u\"}, {0}};\n"
          "static const cpl_declaration y[] = {{.name = \"y\"}, {0}};\n"
          "static const cpl_declaration p[] = {{.name = \"a\", .start = 1, .min = 0.5, .max = 2,\n"
          "                                     .tunable = true}, {0}};\n"
          "static int f(const cpl_values* v, double* dx) {\n"
          "  dx[0] = -v->p[0] * v->x[0] + v->u[0];\n"
          "  return 0;\n"
          "}\n"
          "static int g(const cpl_values* v, double* y_) {\n"
          "  y_[0] = 2 * v->x[0];\n"
          "  return 0;\n"
          "}",
          ".states = x, .inputs = u, .outputs = y, .parameters = p, .derivatives = f,\n"
          ".output_values = g, .stop_time = 1, .tolerance = 1e-6");

/// The probe of tests/fmi as an archive, with the binary of one of its variants.
static inline void make_probe(const char* path, const char* variant, const char* xml) {
  char file[4096];
  size_t xml_size, so_size;
  snprintf(file, sizeof file, "%s/modelDescription.xml", getenv("COUPLET_PROBE"));
  char* description = read_bytes(file, &xml_size);
  snprintf(file, sizeof file, "%s/binaries/linux64/%s.so", getenv("COUPLET_PROBE"), variant);
  char* library = read_bytes(file, &so_size);
  make_archive(path, (archive_entry[]){
                         {.name = "modelDescription.xml", .text = xml != NULL ? xml : description},
                         {.name = "binaries/linux64/probe.so", .text = library, .size = so_size},
                         {0}});
  free(description);
  free(library);
}

/// The last row of a CSV file, as text.
static inline const char* last_row(const char* path) {
  static char row[4096];
  const char* text = text_of(path);
  size_t n = strlen(text);
  CHECK(n > 0 && text[n - 1] == '\n');  // whole rows only
  size_t begin = n - 1;
  while (begin > 0 && text[begin - 1] != '\n') begin--;
  snprintf(row, sizeof row, "%.*s", (int)(n - 1 - begin), text + begin);
  return row;
}

/// A number of the last row; 0 is time.
static inline double last_value(const char* path, int column) {
  const char* at = last_row(path);
  while (column-- > 0) {
    at = strchr(at, ',');
    assert_non_null(at);
    at++;
  }
  return strtod(at, NULL);
}

/// The number of rows behind the header.
static inline int count_rows(const char* path) {
  int n = -1;
  for (const char* p = text_of(path); *p != '\0'; p++) n += *p == '\n';
  return n;
}

static inline void check_same_files(const char* a, const char* b) {
  size_t na, nb;
  char *ta = read_bytes(a, &na), *tb = read_bytes(b, &nb);
  if (na != nb || memcmp(ta, tb, na) != 0) fail_msg("%s and %s differ", a, b);
  free(ta);
  free(tb);
}

static inline void pause_s(double seconds) {
  struct timespec ts = {.tv_sec = (time_t)seconds,
                        .tv_nsec = (long)(1e9 * (seconds - (double)(time_t)seconds))};
  nanosleep(&ts, NULL);
}
