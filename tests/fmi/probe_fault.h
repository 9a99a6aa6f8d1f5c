// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Faults of test FMUs. The environment variable PROBE_FAULT="FUNCTION:N:KIND" makes the N-th call
// of that function show a fault: crashes (segv, bus, fpe, ill, abort, overflow, exit) and changes
// of the process (chdir, locale, umask, signals, rounding) happen here, and printing (prints); what
// else there is belongs to the FMU.
#pragma once

#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef _WIN32  // windows.h has too many names
__declspec(dllimport) void __stdcall Sleep(unsigned long milliseconds);
__declspec(dllimport) void* __stdcall GetStdHandle(unsigned long which);
__declspec(dllimport) unsigned long __stdcall GetFileType(void* file);
#else
#include <sys/stat.h>
#include <unistd.h>
#endif

static int calls_so_far;
static volatile int zero;
static void* volatile nowhere;

static int overflow(volatile int* depth) {
  volatile int here[1024];
  here[0] = *depth + 1;
  return overflow(here) + here[0];
}

#ifndef _WIN32
static void ignore(int signal) { (void)signal; }
#endif

// With PROBE_TELLS_ONCE an event takes two updates, and only the first one fills what it returns.
static int updates_so_far;
static int tells_once(void) { return getenv("PROBE_TELLS_ONCE") != NULL; }
static int has_told(void) { return tells_once() && updates_so_far++ > 0; }

#ifdef _WIN32
static void disturb(const char* kind) { (void)kind; }
static void wait_for_nothing(void) { Sleep(~0ul); }
static void end_hard(int signal) { _exit(signal); }
static int is_pipe(void) { return GetFileType(GetStdHandle(-12ul)) == 3; }  // standard error
enum { SIGBUS = 7, SIGKILL = 9 };
#else
static void disturb(const char* kind) {
  if (strcmp(kind, "chdir") == 0 && chdir("/") != 0) abort();
  if (strcmp(kind, "locale") == 0) uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
  if (strcmp(kind, "umask") == 0) umask(0777);
  if (strcmp(kind, "rounding") == 0) fesetround(FE_UPWARD);
  if (strcmp(kind, "signals") == 0) {
    signal(SIGSEGV, SIG_DFL);
    signal(SIGINT, ignore);
  }
}

static void wait_for_nothing(void) { pause(); }
static void end_hard(int signal) { raise(signal); }
static int is_pipe(void) { return 0; }
#endif

// More than a pipe holds.
static void print(void) {
  for (int i = 0; i < 5000; i++) printf("line %d of what the FMU prints\n", i);
  fprintf(stderr, "standard error is %s pipe\n", is_pipe() ? "a" : "no");
  const char* const names[] = {"PATH", "TEMP", "USERNAME", "SystemRoot"};
  for (int i = 0; i < 4; i++) {
    const char* value = getenv(names[i]);
    fprintf(stderr, "%s is \"%s\"\n", names[i], value != NULL ? value : "");
  }
}

static void crash(const char* kind) {
  if (strcmp(kind, "segv") == 0) *(volatile int*)nowhere = 1;
  if (strcmp(kind, "bus") == 0) end_hard(SIGBUS);
  if (strcmp(kind, "fpe") == 0) zero = 1000 / zero;
  if (strcmp(kind, "ill") == 0) __builtin_trap();
  if (strcmp(kind, "abort") == 0) abort();
  if (strcmp(kind, "exit") == 0) exit(0);
  if (strcmp(kind, "quit") == 0) _exit(7);
  if (strcmp(kind, "kill") == 0) end_hard(SIGKILL);
  while (strcmp(kind, "hang") == 0) wait_for_nothing();
  if (strcmp(kind, "overflow") == 0) zero = overflow(&zero) & 0;
}

// From the environment, or from the file that it names: that can change after the program began.
static const char* fault_text(void) {
  static char text[128];
  const char* path = getenv("PROBE_FAULT_FILE");
  FILE* file = path != NULL ? fopen(path, "r") : NULL;
  if (path == NULL) return getenv("PROBE_FAULT");
  text[0] = '\0';
  if (file != NULL && fgets(text, sizeof text, file) == NULL) text[0] = '\0';
  if (file != NULL) fclose(file);
  return text;
}

// The fault that this call is to show, or NULL.
static const char* wanted_fault(const char* function) {
  static char kind[32];
  char wanted[64];
  int n = 0;
  const char* text = fault_text();
  if (text == NULL || sscanf(text, "%63[^:]:%d:%31s", wanted, &n, kind) != 3) return NULL;
  if (strcmp(wanted, function) != 0 || ++calls_so_far != n) return NULL;
  crash(kind);
  disturb(kind);
  if (strcmp(kind, "prints") == 0) print();
  return kind;
}

// The time that a step which is told to end early says it reached: "beyond" its end, "before" its
// beginning, "notime" or "infinite"; otherwise `reached`.
static inline double wanted_time(const char* kind, double t, double h, double reached) {
  if (kind == NULL) return reached;
  if (strcmp(kind, "beyond") == 0) return t + 2 * h;
  if (strcmp(kind, "before") == 0) return t - 1;
  if (strcmp(kind, "notime") == 0) return (double)NAN;
  return strcmp(kind, "infinite") == 0 ? (double)INFINITY : reached;
}

static inline int tells_bad_time(const char* kind) { return wanted_time(kind, 0, 1, 0.5) != 0.5; }

// The status of this call: 0 to 4, or 42; `*kind` is the fault, when there is one.
static int wanted_status(const char* function, const char** kind) {
  static const char* const names[] = {"ok", "warning", "discard", "error", "fatal"};
  *kind = wanted_fault(function);
  if (*kind != NULL && strcmp(*kind, "42") == 0) return 42;
  for (int i = 1; *kind != NULL && i < 5; i++) {
    if (strcmp(*kind, names[i]) == 0) return i;
  }
  return 0;
}
