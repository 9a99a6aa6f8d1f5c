// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The journal of a study. An odd first byte: its checksums are made right, so that the rest is
// read. What is read is consistent, and the cases that are left can be completed.
#include "fuzz.h"
#include "study/journal.h"

static void read_results(cpl_context* ctx, cpli_journal* j) {
  const cpli_journal_def* about = cpli_journal_about(j);
  int64_t done, failed, last = -1, n = 0;
  if (!fuzz_fine(ctx, cpli_journal_count(j, &done, &failed))) return;
  FUZZ_CHECK(failed <= done && done <= about->n);
  for (;; n++) {
    cpli_case_result r;
    FUZZ_CHECK(fuzz_fine(ctx, cpli_journal_next(j, &r)));
    if (r.i < 0) break;
    FUZZ_CHECK(r.i > last && r.i < about->n && (r.values == NULL) == (r.failure != NULL));
    volatile double sum = 0;
    for (size_t k = 0; r.values != NULL && k < about->n_values; k++) sum = sum + r.values[k];
    FUZZ_CHECK(r.failure == NULL || strlen(r.failure) < CPLI_FAILURE_SIZE);
    last = r.i;
  }
  FUZZ_CHECK(n == done);
}

// Only small journals: the rest of a large one takes too long.
static void complete(cpl_context* ctx, const char* path, cpli_journal_def def) {
  cpli_journal* j = NULL;
  int64_t first, end, done, failed;
  if (def.n > 100 || def.n_values > 100) return;
  def.path = path;
  if (!fuzz_fine(ctx, cpli_journal_open_write(ctx, &def, true, &j))) return;
  for (;;) {
    FUZZ_CHECK(fuzz_fine(ctx, cpli_journal_next_gap(j, &first, &end)));
    if (first == end) break;
    for (int64_t i = first; i < end; i++) {
      static uint64_t memory[3 + 100];
      memset(memory, 0, sizeof memory);
      ((cpli_journal_slot*)memory)->state = CPLI_SLOT_DONE;
      FUZZ_CHECK(fuzz_fine(ctx, cpli_journal_write(j, i, 1, memory, NULL, 0)));
    }
  }
  FUZZ_CHECK(fuzz_fine(ctx, cpli_journal_count(j, &done, &failed)));
  FUZZ_CHECK(done == def.n);
  cpli_journal_close(j);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cpl_context* ctx = fuzz_context();
  if (size < 1) return 0;
  char* bytes = fuzz_text(data + 1, size - 1);
  if (data[0] % 2 == 1) cpli_journal_seal(bytes, size - 1);
  const char* path = fuzz_file("a.journal", bytes, size - 1);
  free(bytes);
  cpli_journal* j = NULL;
  if (fuzz_fine(ctx, cpli_journal_open_read(ctx, path, &j))) {
    const cpli_journal_def* about = cpli_journal_about(j);
    char* identity = fuzz_text((const uint8_t*)about->identity, strlen(about->identity));
    cpli_journal_def def = *about;
    def.identity = identity;
    read_results(ctx, j);
    cpli_journal_close(j);
    complete(ctx, path, def);
    free(identity);
  }
  return 0;
}
