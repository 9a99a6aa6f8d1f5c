// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The system's part of the host on Linux.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fmi/foreign/host.h"

static int waker = -1;

bool host_open(const char* memory, const char* waker_name) {
  struct stat info;
  const int file = open(memory, O_RDWR | O_CLOEXEC);
  waker = open(waker_name, O_WRONLY | O_CLOEXEC);
  if (file < 0 || waker < 0 || fstat(file, &info) != 0) return false;
  void* there = mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (there == MAP_FAILED) return false;
  the_host.shared = there;
  return true;
}

void host_sleep(void) {
  char bytes[16];
  ssize_t n;
  while ((n = read(STDIN_FILENO, bytes, sizeof bytes)) < 0 && errno == EINTR) {
  }
  if (n <= 0) host_end(0);
}

void host_wake_parent(void) {
  while (write(waker, "", 1) < 0 && errno == EINTR) {
  }
}

double host_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void host_pause(void) { sched_yield(); }

//------------------------------------ crashes ------------------------------------

static void on_crash(int signal_number, siginfo_t* info, void* machine) {
  (void)machine;
  host_crashed((uint32_t)signal_number, (uintptr_t)info->si_addr, "");
  _exit(3);
}

void host_watch_crashes(void) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  static char stack[65536];  // also for a stack overflow
  static bool has_stack;
  struct sigaction action = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  struct sigaction now;
  if (!has_stack) sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof stack}, NULL);
  has_stack = true;
  sigemptyset(&action.sa_mask);
  // one system call where the binary has not changed them
  if (sigaction(SIGSEGV, NULL, &now) == 0 && now.sa_sigaction == on_crash) return;
  for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++)
    sigaction(signals[i], &action, NULL);
}

void host_end(int code) { _exit(code); }

//------------------------------------ libraries ------------------------------------

// The library that the last dlopen missed, from "NAME: cannot open shared object file: ...".
static bool missing_name(const char* problem, char* name, size_t size) {
  const char* end = strstr(problem, ": cannot open shared object file");
  if (end == NULL || (size_t)(end - problem) >= size) return false;
  memcpy(name, problem, (size_t)(end - problem));
  name[end - problem] = '\0';
  return strchr(name, '/') == NULL;
}

// Libraries in the folder of the binary that it needs are loaded before it.
static void* load(const char* path, int depth) {
  char name[256], last[256] = "", beside[4096];
  for (;;) {
    void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char* problem = library == NULL ? dlerror() : NULL;
    if (library != NULL || depth > 8 || problem == NULL ||
        !missing_name(problem, name, sizeof name) || strcmp(name, last) == 0)
      return library;
    strcpy(last, name);
    const int n =
        snprintf(beside, sizeof beside, "%.*s/%s", (int)(strrchr(path, '/') - path), path, name);
    if (n < 0 || (size_t)n >= sizeof beside || access(beside, R_OK) != 0 ||
        load(beside, depth + 1) == NULL)
      return NULL;
  }
}

void* host_load(const char* path, const char* temp, char* text, size_t size) {
  (void)temp;
  // some binaries use sin and friends without naming libm
  dlopen("libm.so.6", RTLD_NOW | RTLD_GLOBAL);
  void* library = load(path, 0);
  if (library != NULL) return library;
  if (dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL) {
    const char* problem = dlerror();
    snprintf(text, size, "%s", problem != NULL ? problem : "dlopen() failed");
  }
  return NULL;
}

void host_unload(void* library) { dlclose(library); }

void* host_find(void* library, const char* name) { return dlsym(library, name); }
