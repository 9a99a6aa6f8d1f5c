// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

enum { KEPT = 4096 };  // of what the program prints

// Until the program has closed it, or the run is cancelled: then false.
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

// In a process group of its own, so that it can be ended with what it has started.
static int spawn(const char* const* argv, int output, pid_t* pid) {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t how;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&files, output, 1);
  posix_spawn_file_actions_adddup2(&files, output, 2);
  posix_spawnattr_init(&how);
  posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&how, 0);
  int failed = posix_spawnp(pid, argv[0], &files, &how, (char* const*)argv, environ);
  posix_spawnattr_destroy(&how);
  posix_spawn_file_actions_destroy(&files);
  return failed;
}

cpl_status cpli_run_program(cpl_context* ctx, const char* const* argv, char** output,
                            int* exit_code) {
  int ends[2];
  pid_t pid;
  *output = NULL;
  char* text = cpli_alloc(ctx, KEPT, 1);
  if (text == NULL) return cpli_nomem(ctx);
  if (pipe2(ends, O_CLOEXEC) != 0) {
    cpli_free(ctx, text);
    return cpl_fail(ctx, CPL_ERR_IO, "%s could not be started: %s", argv[0], strerror(errno));
  }
  int failed = spawn(argv, ends[1], &pid);
  close(ends[1]);
  if (failed != 0) {
    close(ends[0]);
    cpli_free(ctx, text);
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s could not be started: %s", argv[0], strerror(failed));
  }
  bool complete = read_output(ctx, ends[0], text);
  close(ends[0]);
  if (!complete) kill(-pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!complete) {
    cpli_free(ctx, text);
    return cpli_interrupted(ctx, argv[0], NAN);
  }
  // where exec fails in the child, only its exit code tells
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127 && text[0] == '\0') {
    cpli_free(ctx, text);
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s could not be started: %s", argv[0], strerror(ENOENT));
  }
  *exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  *output = text;
  return CPL_OK;
}

cpl_status cpli_run_compiler(cpl_context* ctx, const char* what, const char* const* args) {
  const char* compiler = getenv("CC");
  char* output = NULL;
  size_t n = 0;
  int code = 0;
  if (compiler == NULL || compiler[0] == '\0') compiler = "cc";
  while (args[n] != NULL) n++;
  const char** argv = cpli_alloc(ctx, n + 2, sizeof *argv);
  if (argv == NULL) return cpli_nomem(ctx);
  argv[0] = compiler;
  memcpy(argv + 1, args, n * sizeof *argv);
  cpl_status st = cpli_run_program(ctx, argv, &output, &code);
  if (st == CPL_ERR_CANCELLED) cpli_interrupted(ctx, what, NAN);
  else if (st < 0) cpl_fail_prefix(ctx, st, "%s needs a C compiler", what);
  else if (code != 0)
    st = cpl_fail(ctx, CPL_ERR_INPUT, "%s could not be compiled:\n%s", what, output);
  cpli_free(ctx, output);
  cpli_free(ctx, argv);
  return st;
}
