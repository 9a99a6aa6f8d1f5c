// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Which cases are run next: those that workers gave back when they died, then those that the
// journal does not have, in the order of their numbers. A lease is as long as takes some
// milliseconds, as far as is known, and short towards the end. Cases that ended their worker are
// suspects: each is repeated alone in a new process.
#pragma once

#include "study/journal.h"

/// The cases first to end (excluded).
typedef struct cpli_case_range {
  int64_t first, end;
} cpli_case_range;

typedef struct cpli_suspect {
  int64_t i;
  int32_t attempts;
} cpli_suspect;

typedef struct cpli_schedule {
  cpl_context* ctx;
  cpli_journal* journal;
  int64_t left;           // cases that are neither done nor leased, without suspects
  cpli_case_range fresh;  // of the journal
  cpli_case_range* returned;
  size_t n_returned, returned_cap;
  cpli_suspect* suspects;
  size_t n_suspects, suspects_cap;
  double recent_seconds, recent_cases;  // of the last batches
} cpli_schedule;

/// `left`: cases that the journal does not have.
void cpli_schedule_init(cpli_schedule* s, cpl_context* ctx, cpli_journal* journal, int64_t left);
void cpli_schedule_free(cpli_schedule* s);

/// Some cases took that time in one worker.
void cpli_schedule_measured(cpli_schedule* s, int64_t cases, double seconds);
/// The expected time of a case; 0: unknown.
double cpli_schedule_case_seconds(const cpli_schedule* s);

/// The next lease, at most eight times as long as the last one of the same worker. Empty: no case
/// is left, apart from suspects.
cpl_status cpli_schedule_lease(cpli_schedule* s, int64_t last_length, int32_t workers,
                               cpli_case_range* out);
/// Cases of a lease are not done.
cpl_status cpli_schedule_return(cpli_schedule* s, cpli_case_range r);

/// A case has ended its worker for the `attempts`-th time.
cpl_status cpli_schedule_suspect(cpli_schedule* s, int64_t i, int32_t attempts);
/// The next suspect. False: there is none.
bool cpli_schedule_next_suspect(cpli_schedule* s, cpli_suspect* out);
