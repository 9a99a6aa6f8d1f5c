// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Leases in simulated time: every case is leased once, leases take the time they should, and
// workers with any times of cases end almost together.
#include "study/schedule.h"

#include <unistd.h>

#include "testing.h"

enum { MAX_WORKERS = 64 };

typedef struct simulated {
  cpl_context* ctx;
  cpli_journal* journal;
  cpli_schedule schedule;
  char* leased;  // how often each case was
  int64_t n, n_leases;
  double longest;  // lease
} simulated;

static simulated begin(cpl_context* ctx, int64_t n) {
  simulated s = {.ctx = ctx, .n = n, .leased = calloc((size_t)n, 1)};
  const cpli_journal_def def = {"schedule.journal", n, 1, "schedule"};
  unlink(def.path);
  CHECK_OK(ctx, cpli_journal_open_write(ctx, &def, false, &s.journal));
  return s;
}

static void end(simulated* s) {
  for (int64_t i = 0; i < s->n; i++) CHECK_INT(s->leased[i], 1);
  cpli_schedule_free(&s->schedule);
  CHECK_OK(s->ctx, cpli_journal_close(s->journal));
  free(s->leased);
}

// Seconds of a case: a tenth of all take a hundred times as long where they are uneven.
static double seconds_of(int64_t i, double mean, bool uneven) {
  if (!uneven) return mean;
  return (i * 7919) % 1000 < 100 ? 100 * mean / 10.9 : mean / 10.9;
}

// Workers take one lease after the other; returns the time at which the last one is done.
static double simulate(simulated* s, int32_t workers, double mean, bool uneven) {
  double free_at[MAX_WORKERS] = {0};
  int64_t last_length[MAX_WORKERS];
  for (int32_t w = 0; w < workers; w++) last_length[w] = 1;
  for (;;) {
    int32_t first = 0;
    for (int32_t w = 1; w < workers; w++) first = free_at[w] < free_at[first] ? w : first;
    cpli_case_range r;
    CHECK_OK(s->ctx, cpli_schedule_lease(&s->schedule, last_length[first], workers, &r));
    if (r.first == r.end) break;
    double seconds = 0;
    for (int64_t i = r.first; i < r.end; i++) {
      s->leased[i]++;
      seconds += seconds_of(i, mean, uneven);
    }
    last_length[first] = r.end - r.first;
    free_at[first] += seconds;
    cpli_schedule_measured(&s->schedule, r.end - r.first, seconds);
    s->n_leases++;
    s->longest = fmax(s->longest, seconds);
  }
  double latest = 0;
  for (int32_t w = 0; w < workers; w++) latest = fmax(latest, free_at[w]);
  return latest;
}

static void workers_end_together(void** state) {
  const double means[] = {1e-6, 1e-4, 1e-2, 1};
  for (int32_t workers = 1; workers <= MAX_WORKERS; workers *= 4) {
    for (size_t k = 0; k < CPLI_COUNT(means); k++) {
      for (int uneven = 0; uneven < 2; uneven++) {
        simulated s = begin(*state, 20000);
        cpli_schedule_init(&s.schedule, *state, s.journal, s.n);
        double total = 0;
        for (int64_t i = 0; i < s.n; i++) total += seconds_of(i, means[k], uneven);
        const double time = simulate(&s, workers, means[k], uneven);
        // a worker may have to wait for the longest cases
        const double ideal = total / workers, case_time = means[k] * (uneven ? 10 : 1);
        if (!(time <= 1.05 * ideal + 2 * case_time))
          fail_msg("%d workers, cases of %g s: %g s, at best %g s", workers, means[k], time, ideal);
        CHECK(s.longest < 0.1 + 20 * case_time);
        end(&s);
      }
    }
  }
}

static void short_cases_have_long_leases(void** state) {
  simulated s = begin(*state, 2000000);
  cpli_schedule_init(&s.schedule, *state, s.journal, s.n);
  simulate(&s, 2, 1e-6, false);  // 2 s of work in leases of 20 ms
  CHECK(s.n_leases > 90 && s.n_leases < 300);
  CHECK(s.longest > 0.015 && s.longest < 0.03);
  end(&s);
}

static void returned_cases_are_leased_again(void** state) {
  simulated s = begin(*state, 1000);
  cpli_schedule_init(&s.schedule, *state, s.journal, s.n);
  cpli_case_range a, b;
  cpli_suspect suspect;
  CHECK_OK(s.ctx, cpli_schedule_lease(&s.schedule, 1, 2, &a));
  cpli_schedule_measured(&s.schedule, 1, 1e-6);
  CHECK_OK(s.ctx, cpli_schedule_lease(&s.schedule, 100, 2, &b));
  CHECK(a.first == 0 && a.end == 1 && b.first == 1 && b.end > 200);
  CHECK_OK(s.ctx, cpli_schedule_return(&s.schedule, a));
  CHECK_OK(s.ctx, cpli_schedule_return(&s.schedule, (cpli_case_range){b.first, 50}));
  CHECK_OK(s.ctx, cpli_schedule_return(&s.schedule, (cpli_case_range){51, b.end}));
  CHECK_OK(s.ctx, cpli_schedule_return(&s.schedule, (cpli_case_range){7, 7}));  // nothing
  CHECK_OK(s.ctx, cpli_schedule_suspect(&s.schedule, 50, 1));
  CHECK(cpli_schedule_next_suspect(&s.schedule, &suspect));
  CHECK(suspect.i == 50 && suspect.attempts == 1);
  CHECK(!cpli_schedule_next_suspect(&s.schedule, &suspect));
  s.leased[50]++;
  simulate(&s, 3, 1e-5, false);
  end(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(workers_end_together),
      cmocka_unit_test(short_cases_have_long_leases),
      cmocka_unit_test(returned_cases_are_leased_again),
  };
  return cmocka_run_group_tests(tests, make_context, drop_context);
}
