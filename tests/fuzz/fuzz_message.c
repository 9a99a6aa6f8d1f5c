// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What is in messages of a run across machines. The first byte says which body follows the head.
// Whatever is taken for a message is written again as the same bytes.
#include <math.h>

#include "fuzz.h"
#include "tlm/message.h"

static void read_waves(cpli_bytes* b, cpli_packet* again) {
  cpli_wave_head head;
  cpli_get_wave_head(b, &head);
  cpli_put_real(again, head.published);
  cpli_put_u8(again, head.stopped);
  cpli_put_u32(again, head.n);
  for (uint32_t i = 0; i < head.n && !b->bad; i++) {
    int32_t end, width;
    cpli_segment s;
    cpli_get_segment(b, &end, &width, &s);
    if (b->bad) return;
    FUZZ_CHECK(s.from < s.to && isfinite(s.to - s.to));
    cpli_put_segment(again, end, width, &s);
  }
}

static void read_texts(cpli_bytes* b, cpli_packet* again) {
  char text[64];
  uint32_t n = cpli_get_count(b, 4);
  cpli_put_u32(again, n);
  for (uint32_t i = 0; i < n && !b->bad; i++) {
    cpli_get_text(b, text, sizeof text);
    cpli_put_text(again, text);
  }
}

static void read_solver(cpli_bytes* b, cpli_packet* again) {
  cpl_solver_def solver;
  cpli_get_solver(b, &solver);
  if (!b->bad) cpli_put_solver(again, &solver);
}

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static cpli_packet again;
  if (size < 1) return 0;
  again.ctx = fuzz_context();
  uint8_t* copy = malloc(size);  // ends where the message does
  FUZZ_CHECK(copy != NULL);
  memcpy(copy, data + 1, size - 1);
  cpli_bytes b = {.data = copy, .n = size - 1};
  cpli_head head;
  if (cpli_get_head(&b, &head) == NULL) {
    cpli_put_head(&again, &head);
    if (data[0] == 'w') read_waves(&b, &again);
    else if (data[0] == 's') read_solver(&b, &again);
    else read_texts(&b, &again);
    if (cpli_all_read(&b) && data[0] != 's')
      FUZZ_CHECK(again.n == size - 1 && memcmp(again.data, copy, size - 1) == 0);
  }
  free(copy);
  return 0;
}
