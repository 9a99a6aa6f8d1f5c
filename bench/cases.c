// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Time of the executor of studies per case: "cases JOURNAL N NANOSECONDS WORKERS" runs N cases that
// compute for the given time and prints the seconds of the whole, the largest resident memory of
// the coordinator in KB, and the sum of the user times of all processes.
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "study/executor.h"
#include "study/worker.h"

static int64_t nanoseconds;

static cpl_status open_nothing(void* user) {
  (void)user;
  return CPL_OK;
}

static cpl_status spin(void* user, int64_t i, double* values, char* failure, size_t size) {
  (void)user, (void)failure, (void)size;
  values[0] = (double)i;
  if (nanoseconds == 0) return CPL_OK;
  const int64_t until = cpli_worker_now() + nanoseconds;
  while (cpli_worker_now() < until) {
  }
  return CPL_OK;
}

static double seconds_of(const struct rusage* r) {
  return (double)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) +
         1e-6 * (double)(r->ru_utime.tv_usec + r->ru_stime.tv_usec);
}

int main(int argc, char** argv) {
  if (argc != 5) return fprintf(stderr, "usage: %s JOURNAL N NANOSECONDS WORKERS\n", argv[0]), 2;
  cpl_context* ctx = cpl_context_create(NULL);
  nanoseconds = atoll(argv[3]);
  const cpli_cases cases = {
      .n = atoll(argv[2]), .n_values = 1, .identity = "bench", .open = open_nothing, .run = spin};
  const cpli_execution how = {.journal_path = argv[1], .workers = atoi(argv[4])};
  const double began = cpli_now();
  if (cpli_execute(ctx, &cases, &how, NULL) < 0)
    return fprintf(stderr, "%s\n", cpl_context_error(ctx)), 1;
  const double seconds = cpli_now() - began;
  struct rusage self, children;
  getrusage(RUSAGE_SELF, &self);
  getrusage(RUSAGE_CHILDREN, &children);
  printf("%.6f %ld %.6f %.6f\n", seconds, self.ru_maxrss, seconds_of(&self), seconds_of(&children));
  cpl_context_destroy(ctx);
  return 0;
}
