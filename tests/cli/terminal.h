// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The command on a terminal: a pseudo terminal of a given width.
#pragma once

#include <poll.h>
#include <sys/ioctl.h>

#include "base/base.h"
#include "command.h"

/// What a terminal sees until the command ends, or is interrupted once it has shown `until`, at the
/// latest after so many seconds. Returns the exit code. Nullable: until
static inline int watch_terminal(const char* const* args, int columns, const char* until,
                                 double seconds, char* seen, size_t size) {
  int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || grantpt(terminal) != 0 || unlockpt(terminal) != 0)
    skip();  // a chroot has none
  int end = open(ptsname(terminal), O_RDWR | O_NOCTTY);
  assert_true(end >= 0);
  struct winsize window = {.ws_row = 40, .ws_col = (unsigned short)columns};
  assert_true(ioctl(end, TIOCSWINSZ, &window) == 0);
  pid_t pid = start_couplet(args, end, end);
  close(end);
  size_t used = 0;
  bool killed = false;
  const double began = cpli_now();
  for (;;) {  // until no one is on the other side
    struct pollfd ready = {.fd = terminal, .events = POLLIN};
    if (poll(&ready, 1, 100) == 1) {
      ssize_t n = read(terminal, seen + used, size - 1 - used);
      if (n <= 0) break;
      used += (size_t)n;
      seen[used] = '\0';
    }
    bool enough = until != NULL && used > 0 && strstr(seen, until) != NULL;
    if (!killed && (enough || cpli_now() - began > seconds)) killed = kill(pid, SIGINT) == 0;
  }
  seen[used] = '\0';
  close(terminal);
  return end_of(pid);
}

/// The number of characters up to the end of the line; what only changes colours or wipes does not
/// count.
static inline size_t width_of(const char* text) {
  size_t n = 0;
  while (*text != '\0' && *text != '\n' && *text != '\r') {
    if (*text == '\033') {
      text += 2;
      while (*text != '\0' && (*text < '@' || *text > '~')) text++;
      if (*text != '\0') text++;
      continue;
    }
    n += ((unsigned char)*text & 0xc0) != 0x80;
    text++;
  }
  return n;
}
