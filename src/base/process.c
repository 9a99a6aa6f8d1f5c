// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A program is started by posix_spawn() in a process group of its own, which is killed when the run
// is cancelled. $CC is split into words here, and a compiler is identified by its version and its
// files, for the cache of compiled models.
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/guard.h"

extern char** environ;

enum { KEPT = 4096 };  // limit of captured output

// Until the program has closed its output; false: the run is cancelled.
static bool read_output(cpl_context* ctx, int fd, char* text) {
  size_t used = 0;
  char rest[1024];
  for (;;) {
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    while (poll(&ready, 1, 20) <= 0) {
      if (cpli_cancelled(ctx)) return false;
    }
    bool full = used == KEPT - 1;
    ssize_t n = full ? read(fd, rest, sizeof rest) : read(fd, text + used, KEPT - 1 - used);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    if (!full) used += (size_t)n;
  }
  text[used] = '\0';
  return true;
}

// A compiler that is asked to end removes its temporary files. The output is closed where all
// processes have ended.
static void end_gently(pid_t pid, int fd) {
  char rest[1024];
  struct pollfd ready = {.fd = fd, .events = POLLIN};
  kill(-pid, SIGTERM);
  for (int i = 0; i < 20; i++) {
    if (poll(&ready, 1, 10) > 0 && read(fd, rest, sizeof rest) == 0) break;
  }
  kill(-pid, SIGKILL);
}

// A program that ignores SIGCHLD does not get the exit status of its children.
static bool watch_children(struct sigaction* before) {
  const struct sigaction usual = {.sa_handler = SIG_DFL};
  if (sigaction(SIGCHLD, NULL, before) != 0) return false;
  if (before->sa_handler != SIG_IGN && (before->sa_flags & SA_NOCLDWAIT) == 0) return false;
  return sigaction(SIGCHLD, &usual, NULL) == 0;
}

// In a process group of its own, so that it can be ended with all processes it started.
static int start(pid_t* pid, const char* const* argv, int output) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t usual;
  sigemptyset(&usual);
  sigaddset(&usual, SIGPIPE);
  sigaddset(&usual, SIGCHLD);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, output, 1);
  posix_spawn_file_actions_adddup2(&actions, output, 2);
  int failed = posix_spawnp(pid, argv[0], &actions, &attributes, (char* const*)argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return failed;
}

// Returns 0, or the error of starting or waiting; ECANCELED: the run is cancelled.
static int run(cpl_context* ctx, const char* const* argv, char* text, int* status) {
  int ends[2];
  pid_t pid;
  struct sigaction before;
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  const bool ignored = watch_children(&before);
  int failed = start(&pid, argv, ends[1]);
  close(ends[1]);
  const bool complete = failed != 0 || read_output(ctx, ends[0], text);
  if (!complete) end_gently(pid, ends[0]);
  close(ends[0]);
  if (!complete) cpli_guard_await_killed(true);
  while (failed == 0 && waitpid(pid, status, 0) < 0) {
    if (errno != EINTR) failed = errno;
  }
  if (!complete) cpli_guard_await_killed(false);
  if (ignored) sigaction(SIGCHLD, &before, NULL);
  if (!complete) return ECANCELED;
  // where exec fails in the child, only its exit code tells
  const bool missing = failed == 0 && WIFEXITED(*status) && WEXITSTATUS(*status) == 127;
  return missing && text[0] == '\0' ? ENOENT : failed;
}

cpl_status cpli_run_program(cpl_context* ctx, const char* const* argv, char** output,
                            int* exit_code) {
  int status = 0;
  *output = NULL;
  char* text = cpli_alloc(ctx, KEPT, 1);
  if (text == NULL) return cpli_nomem(ctx);
  const int failed = run(ctx, argv, text, &status);
  if (failed != 0) {
    cpli_free(ctx, text);
    if (failed == ECANCELED) return cpli_interrupted(ctx, argv[0], NAN);
    if (failed == ECHILD)
      return cpl_fail(ctx, CPL_ERR_CONNECTION,
                      "%s: its exit status was taken by other code of this process", argv[0]);
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s could not be started: %s", argv[0], strerror(failed));
  }
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  *output = text;
  return CPL_OK;
}

//------------------------------------ compilers ------------------------------------

// The words of $CC, with room for n more and a final NULL. Both are in one block of memory.
static const char** compiler_words(cpl_context* ctx, size_t more, size_t* n) {
  const char* cc = getenv("CC");
  if (cc == NULL || cc[strspn(cc, " \t")] == '\0') cc = "cc";
  const size_t len = strlen(cc), max = len / 2 + 1;
  const char** words = cpli_alloc(ctx, 1, (max + more + 1) * sizeof *words + len + 1);
  if (words == NULL) return NULL;
  char* text = (char*)(words + max + more + 1);
  memcpy(text, cc, len + 1);
  *n = 0;
  if (strchr(cc, '/') != NULL && access(cc, X_OK) == 0) {
    words[(*n)++] = text;  // a path with blanks
    return words;
  }
  for (char *rest = NULL, *word = strtok_r(text, " \t", &rest); word != NULL;
       word = strtok_r(NULL, " \t", &rest))
    words[(*n)++] = word;
  return words;
}

static cpl_status explain(cpl_context* ctx, const char* what, const char* compiler, int code,
                          const char* output) {
  if (code > 0 && output[strspn(output, " \t\n")] == '\0')
    return cpl_fail(ctx, CPL_ERR_INPUT,
                    "%s could not be compiled: %s ended with exit code %d and no message", what,
                    compiler, code);
  if (code > 0) return cpl_fail(ctx, CPL_ERR_INPUT, "%s could not be compiled:\n%s", what, output);
  return cpl_fail(ctx, CPL_ERR_INPUT,
                  "%s could not be compiled: %s was ended by signal %d (%s)%s%s", what, compiler,
                  -code, strsignal(-code), output[0] != '\0' ? ":\n" : "", output);
}

cpl_status cpli_run_compiler(cpl_context* ctx, const char* what, const char* const* args) {
  char* output = NULL;
  size_t n = 0, words = 0;
  int code = 0;
  while (args[n] != NULL) n++;
  const char** argv = compiler_words(ctx, n, &words);
  if (argv == NULL) return cpli_nomem(ctx);
  memcpy(argv + words, args, n * sizeof *argv);
  argv[words + n] = NULL;
  cpl_status st = cpli_run_program(ctx, argv, &output, &code);
  if (st == CPL_ERR_CANCELLED) cpli_interrupted(ctx, what, NAN);
  else if (st < 0) cpl_fail_prefix(ctx, st, "%s needs a C compiler", what);
  else if (code != 0) st = explain(ctx, what, argv[0], code, output);
  cpli_free(ctx, output);
  cpli_free(ctx, argv);
  return st;
}

// The file of a word of $CC, and its modification time.
static void describe_file(const char* word, char* out, size_t size) {
  char path[PATH_MAX], whole[PATH_MAX];
  struct stat info;
  const char* at = getenv("PATH");
  out[0] = '\0';
  if (strchr(word, '/') != NULL) at = NULL;
  snprintf(path, sizeof path, "%s", word);
  while (at != NULL && *at != '\0') {
    const int n = (int)strcspn(at, ":");
    snprintf(path, sizeof path, "%.*s%s%s", n, at, n > 0 ? "/" : "", word);
    if (access(path, X_OK) == 0) break;
    at += at[n] == ':' ? n + 1 : n;
  }
  if (stat(path, &info) != 0 || realpath(path, whole) == NULL) return;
  snprintf(out, size, "%s %lld %lld.%09ld", whole, (long long)info.st_size,
           (long long)info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

cpl_status cpli_compiler_identity(cpl_context* ctx, char** out) {
  size_t n = 0;
  char file[PATH_MAX + 64], *version = NULL;
  int code = 0;
  *out = NULL;
  const char** argv = compiler_words(ctx, 1, &n);
  if (argv == NULL) return cpli_nomem(ctx);
  argv[n] = "--version";
  cpl_status st = cpli_run_program(ctx, argv, &version, &code);
  if (st >= 0) *out = cpli_strdup(ctx, version);
  for (size_t i = 0; i < n && st >= 0 && *out != NULL; i++) {
    describe_file(argv[i], file, sizeof file);
    char* longer = cpli_printf(ctx, "%s%s\n%s\n", *out, argv[i], file);
    cpli_free(ctx, *out);
    *out = longer;
  }
  cpli_free(ctx, version);
  cpli_free(ctx, argv);
  return st < 0 || *out != NULL ? st : cpli_nomem(ctx);
}

char* cpli_file_argument(cpl_context* ctx, const char* path) {
  return cpli_printf(ctx, "%s%s", path[0] == '-' || path[0] == '@' ? "./" : "", path);
}
