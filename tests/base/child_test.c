// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Processes that are forked while other threads of couplet load and unload libraries, and others
// register functions for the end of the program, allocate memory and write files: no child waits
// for a lock of a thread that it does not have.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/guard.h"
#include "testing.h"

static atomic_bool over;
static char library[4096];

static void nothing(int code, void* unused) { (void)code, (void)unused; }

// As threads of couplet do it. Who forks waits until none of them loads: they pause between.
static void* load_and_unload(void* unused) {
  while (!over) {
    cpli_forks_hold();
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    dlclose(handle);
    cpli_forks_release();
    usleep(200);
  }
  return unused;
}

// As any other code does it.
static void* write_and_register(void* unused) {
  for (int i = 0; !over; i++) {
    FILE* file = fopen("thread.txt", "w");
    assert_non_null(file);
    fprintf(file, "%d", i);
    fclose(file);
    free(malloc(1000 + (size_t)i % 100000));
    if (i % 16 == 0 && i < 16384) on_exit(nothing, NULL);
  }
  return unused;
}

// What a worker does: it loads a model, has files and memory.
static _Noreturn void work(void) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  FILE* file = fopen("child.txt", "w");
  char* memory = malloc(10000);
  const bool fine = handle != NULL && file != NULL && memory != NULL && fputs("x", file) >= 0;
  free(memory);
  _exit(fine && fclose(file) == 0 ? 7 : 8);
}

static void children_beside_threads(void** state) {
  cpl_context* ctx = *state;
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  void* (*const functions[THREADS])(void*) = {load_and_unload, load_and_unload, write_and_register,
                                              write_and_register};
  snprintf(library, sizeof library, "%s/binaries/linux64/probe.so", getenv("COUPLET_PROBE"));
  for (int i = 0; i < THREADS; i++)
    CHECK_INT(pthread_create(&threads[i], NULL, functions[i], NULL), 0);
  for (int i = 0; i < 200; i++) {
    const pid_t pid = cpli_child_fork(ctx, -1);
    if (pid == 0) work();
    if (pid < 0) fail_msg("child %d: %s", i, strerror(errno));
    for (int waited = 0; waited < 20000 && !cpli_child_has_ended(pid); waited++) usleep(1000);
    const int how = cpli_child_end(pid);
    if (!WIFEXITED(how) || WEXITSTATUS(how) != 7) fail_msg("child %d: status %d", i, how);
  }
  over = true;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(children_beside_threads)};
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
