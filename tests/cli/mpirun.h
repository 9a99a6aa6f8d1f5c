// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The command under mpirun, which COUPLET_MPIRUN names where couplet was built with MPI.
#pragma once

#include "command.h"

static inline bool have_mpi(void) {
  const char* mpirun = getenv("COUPLET_MPIRUN");
  if (mpirun != NULL && mpirun[0] != '\0') return true;
  if (getenv("COUPLET_NEEDS_MPI") != NULL) fail_msg("this build is one without MPI");
  skip();
  return false;
}

/// The command line of `mpirun ARGS`, where %s in `args` is the command; output in mpi.out,
/// mpi.err.
static inline void mpirun_line(char* out, size_t size, const char* args) {
  int n = snprintf(out, size, "exec %s ", getenv("COUPLET_MPIRUN"));
  for (const char* at = args; *at != '\0' && (size_t)n + 1 < size;) {
    if (strncmp(at, "%s", 2) == 0) {
      n += snprintf(out + n, size - (size_t)n, "'%s'", getenv("COUPLET"));
      at += 2;
    } else {
      out[n++] = *at++;
    }
  }
  snprintf(out + n, size - (size_t)n, " >mpi.out 2>mpi.err");
}

/// Returns: the exit code; 128: a signal.
static inline int mpirun(const char* args) {
  char command[8192];
  mpirun_line(command, sizeof command, args);
  const int how = system(command);
  return WIFEXITED(how) ? WEXITSTATUS(how) : 128;
}

/// The same, which does not end this test: its process.
static inline pid_t start_mpirun(const char* args) {
  char command[8192];
  mpirun_line(command, sizeof command, args);
  const pid_t test = getpid(), pid = fork();
  assert_true(pid >= 0);
  if (pid > 0) return pid;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != test) _exit(1);
  execl("/bin/sh", "sh", "-c", command, (char*)NULL);
  _exit(127);
}

static inline int count_of(const char* text, const char* part) {
  int n = 0;
  while ((text = strstr(text, part)) != NULL) n++, text++;
  return n;
}
