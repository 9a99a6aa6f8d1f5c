// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The lists have as many entries as there are leases of workers that died, not as there are cases.
#include "study/schedule.h"

#include <assert.h>
#include <math.h>

enum { MAX_LEASE = 1 << 20, GROWTH = 8 };
static const double lease_seconds = 0.02;

#ifdef NDEBUG
#define check_schedule(s) ((void)0)
#else
// schedule invariants: 1 ranges are not empty, apart from the fresh one; 2 what is left includes
// all ranges that are known.
static void check_schedule(const cpli_schedule* s) {
  int64_t known = s->fresh.end - s->fresh.first;
  assert(known >= 0);
  for (size_t k = 0; k < s->n_returned; k++) {
    assert(s->returned[k].first < s->returned[k].end);
    known += s->returned[k].end - s->returned[k].first;
  }
  assert(s->left >= known);
}
#endif

void cpli_schedule_init(cpli_schedule* s, cpl_context* ctx, cpli_journal* journal, int64_t left) {
  *s = (cpli_schedule){.ctx = ctx, .journal = journal, .left = left};
  cpli_journal_rewind(journal);
}

void cpli_schedule_free(cpli_schedule* s) {
  if (s->ctx == NULL) return;
  cpli_free(s->ctx, s->returned);
  cpli_free(s->ctx, s->suspects);
  s->returned = NULL;
  s->suspects = NULL;
}

//------------------------------------ times ------------------------------------

void cpli_schedule_measured(cpli_schedule* s, int64_t cases, double seconds) {
  if (cases < 1 || !(seconds >= 0) || isinf(seconds)) return;
  static const double memory = 0.7;
  s->recent_seconds = memory * s->recent_seconds + seconds;
  s->recent_cases = memory * s->recent_cases + (double)cases;
}

double cpli_schedule_case_seconds(const cpli_schedule* s) {
  return s->recent_cases > 0 ? s->recent_seconds / s->recent_cases : 0;
}

// Half of what is left is shared out evenly, so that workers end at the same time.
static int64_t lease_length(const cpli_schedule* s, int64_t last_length, int32_t workers) {
  const double seconds = cpli_schedule_case_seconds(s);
  int64_t n = 1;
  if (s->recent_cases > 0) {
    const double wanted = lease_seconds / fmax(seconds, 1e-9);
    n = wanted < MAX_LEASE ? (int64_t)wanted : MAX_LEASE;
  }
  const int64_t share = s->left / (2 * (int64_t)workers);
  if (n > GROWTH * last_length) n = GROWTH * last_length;
  if (n > share) n = share;
  return n > 1 ? n : 1;
}

//------------------------------------ leases ------------------------------------

// The next part of the journal that is not done.
static cpl_status find_fresh(cpli_schedule* s) {
  if (s->fresh.first < s->fresh.end) return CPL_OK;
  return cpli_journal_next_gap(s->journal, &s->fresh.first, &s->fresh.end);
}

cpl_status cpli_schedule_lease(cpli_schedule* s, int64_t last_length, int32_t workers,
                               cpli_case_range* out) {
  *out = (cpli_case_range){0};
  if (s->left == 0) return CPL_OK;
  cpli_case_range* from = &s->fresh;
  if (s->n_returned > 0) {
    from = &s->returned[s->n_returned - 1];
  } else {
    cpl_status st = find_fresh(s);
    if (st < 0) return st;
  }
  const int64_t n = lease_length(s, last_length, workers), have = from->end - from->first;
  *out = (cpli_case_range){from->first, from->first + (n < have ? n : have)};
  from->first = out->end;
  if (s->n_returned > 0 && from->first == from->end) s->n_returned--;
  s->left -= out->end - out->first;
  if (out->first == out->end) s->left = 0;  // the journal has more than was counted
  check_schedule(s);
  return CPL_OK;
}

cpl_status cpli_schedule_return(cpli_schedule* s, cpli_case_range r) {
  if (r.first >= r.end) return CPL_OK;
  if (!cpli_grow(s->ctx, (void**)&s->returned, &s->returned_cap, s->n_returned,
                 sizeof *s->returned))
    return cpli_nomem(s->ctx);
  s->returned[s->n_returned++] = r;
  s->left += r.end - r.first;
  check_schedule(s);
  return CPL_OK;
}

//------------------------------------ suspects ------------------------------------

cpl_status cpli_schedule_suspect(cpli_schedule* s, int64_t i, int32_t attempts) {
  if (!cpli_grow(s->ctx, (void**)&s->suspects, &s->suspects_cap, s->n_suspects,
                 sizeof *s->suspects))
    return cpli_nomem(s->ctx);
  s->suspects[s->n_suspects++] = (cpli_suspect){i, attempts};
  return CPL_OK;
}

bool cpli_schedule_next_suspect(cpli_schedule* s, cpli_suspect* out) {
  if (s->n_suspects == 0) return false;
  *out = s->suspects[--s->n_suspects];
  return true;
}
