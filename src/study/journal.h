// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The journal of a study: a file with a header and one slot of fixed size per case, at an offset
// computed from the number of the case. Slots are written in any order; one that was never written
// is a hole of the file, and one that is incomplete or damaged (each has a checksum) counts as not
// done. So memory does not depend on the number of cases, and an interrupted study goes on with the
// cases that are left. Texts of failures are behind the slots, in the order in which they came.
//
//   header, identity | slot 0 | slot 1 | ... | slot n-1 | texts of failures
#pragma once

#include "base/base.h"

enum {
  CPLI_FAILURE_SIZE = 2048,  // of the text of a failure, with its final zero
  CPLI_SLOT_DONE = 1,        // states of a slot
  CPLI_SLOT_FAILED = 2,
};

/// What a journal is made for.
typedef struct cpli_journal_def {
  const char* path;
  int64_t n;             // cases
  size_t n_values;       // of each
  const char* identity;  // text that identifies the study, one line per property
} cpli_journal_def;

/// The result of a case as it is in the file.
typedef struct cpli_journal_slot {
  uint64_t checksum;     // of the rest, the number of the case and the study; cpli_journal_write()
  uint32_t state;        // 0: not done
  uint32_t text_length;  // of the failure, without its final zero
  uint64_t text_at;  // of its text record in the file; before it is written: behind the first text
  double values[];   // zero for a failure
} cpli_journal_slot;

/// A text of a failure: this head, then the text and its final zero, filled up to a multiple of 8.
typedef struct cpli_text_head {
  uint64_t checksum;
} cpli_text_head;

typedef struct cpli_journal cpli_journal;

static inline size_t cpli_slot_size(size_t n_values) {
  return sizeof(cpli_journal_slot) + n_values * sizeof(double);
}

/// The size of the record of a text of that length.
static inline size_t cpli_text_record_size(size_t length) {
  return sizeof(cpli_text_head) + ((length + 8) & ~(size_t)7);
}

//------------------------------------ writing ------------------------------------

/// Open a journal to write it, and lock it against other studies. `resume`: what it has is kept; a
/// file that does not exist, or has no header yet, begins anew. Otherwise it begins anew.
/// Owned:    *out by the caller, who calls cpli_journal_close().
/// Borrowed: def only during the call.
/// Returns:  CPL_ERR_INPUT when the file cannot be made, is no journal, is in use, or is the
///           journal of another study: the message names what differs. It stays as it was.
cpl_status cpli_journal_open_write(cpl_context* ctx, const cpli_journal_def* def, bool resume,
                                   cpli_journal** out);

/// Write the slots of `count` cases from `first` on. `texts` has the text records of those that
/// failed, one after the other, and text_at of a slot says where its own begins. Checksums and
/// text_at are filled in here.
/// Returns: CPL_ERR_IO when the disk is full or fails. The slots that are in the file stay.
cpl_status cpli_journal_write(cpli_journal* j, int64_t first, int64_t count, void* slots,
                              char* texts, size_t texts_size);

/// The next cases that are not done, in the order of their numbers: *first to *end (excluded),
/// which may be a part of a longer gap. *first == *end: no more. A gap that was returned may be
/// written.
cpl_status cpli_journal_next_gap(cpli_journal* j, int64_t* first, int64_t* end);

//------------------------------------ reading ------------------------------------

/// Open a journal to read the results; it may be one that is being written.
/// Owned:    *out by the caller, who calls cpli_journal_close().
/// Returns:  CPL_ERR_INPUT when there is no such file or it is no journal.
cpl_status cpli_journal_open_read(cpl_context* ctx, const char* path, cpli_journal** out);

/// What is in the header; valid until the journal is closed.
const cpli_journal_def* cpli_journal_about(const cpli_journal* j);

/// The result of a case.
typedef struct cpli_case_result {
  int64_t i;             // number of the case; -1: there are no more
  const double* values;  // NULL: it failed
  const char* failure;   // the reason; NULL: it did not
} cpli_case_result;

/// The next case that is done, in the order of their numbers; those that are not are left out.
/// Borrowed: values and failure until the next call.
cpl_status cpli_journal_next(cpli_journal* j, cpli_case_result* out);

/// Begin again with the first case, for cpli_journal_next() and cpli_journal_next_gap().
void cpli_journal_rewind(cpli_journal* j);

/// Count the cases that are done, and those of them that failed, by one scan of the file.
cpl_status cpli_journal_count(cpli_journal* j, int64_t* done, int64_t* failed);

//------------------------------------ both ------------------------------------

/// Close it and release the lock. Returns CPL_ERR_IO where the file system reports only now that
/// something could not be written. Nullable: j
cpl_status cpli_journal_close(cpli_journal* j);

/// Make the checksums of a journal in memory right, as far as it has the places that its header
/// names: for tests of what is read behind them.
void cpli_journal_seal(void* bytes, size_t size);
