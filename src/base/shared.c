// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Waiting for a turn, and the ring buffer of messages. A message consists of its length, its level,
// and two terminated texts; it may wrap around the end of the buffer.
#include "base/shared.h"

#include <string.h>

static const double long_spin = 1e-4, short_spin = 2e-6;  // [s]
static const double longest_noted = 1e-3;
enum { MAX_SKIP = 1023 };

static void relax(void) {
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__i386__))
  __builtin_ia32_pause();
#endif
}

double cpli_waits_spin(const cpli_waits* w) {
  return w->usual < long_spin && w->skipped == w->skip ? long_spin : short_spin;
}

void cpli_waits_note(cpli_waits* w, double spin, double seconds) {
  const bool in_vain = seconds > spin;
  if (spin < long_spin) w->skipped += w->skipped < w->skip;
  else w->skip = in_vain ? (2 * w->skip + 1) & MAX_SKIP : w->skip / 2, w->skipped = 0;
  if (seconds > longest_noted) seconds = longest_noted;
  w->usual += 0.125 * (seconds - w->usual);
}

bool cpli_shared_look(cpli_shared* s, uint32_t mine, double spin, bool alone, double (*now)(void)) {
  if (alone) return atomic_load(&s->turn) == mine;
  const double until = now() + spin;
  do {
    for (int i = 0; i < 64; i++) {
      if (atomic_load_explicit(&s->turn, memory_order_acquire) == mine) return true;
      relax();
    }
  } while (now() < until);
  return false;
}

//------------------------------------ messages ------------------------------------

typedef struct letter {
  uint32_t length;  // of the texts
  uint32_t level;
} letter;
static_assert(sizeof(letter) == 8 &&
                  2 * (sizeof(letter) + CPLI_MESSAGE_WHO + CPLI_MESSAGE_TEXT) < CPLI_CHANNEL_LOG,
              "a message fits into the log");

static size_t before_end(uint32_t at, size_t n) {
  size_t room = CPLI_CHANNEL_LOG - at % CPLI_CHANNEL_LOG;
  return n < room ? n : room;
}

static uint32_t copy_in(cpli_shared* s, uint32_t at, const void* data, size_t n) {
  size_t first = before_end(at, n);
  assert(n <= CPLI_CHANNEL_LOG);
  memcpy(s->log + at % CPLI_CHANNEL_LOG, data, first);
  memcpy(s->log, (const char*)data + first, n - first);
  return at + (uint32_t)n;
}

static void copy_out(const cpli_shared* s, uint32_t at, void* data, size_t n) {
  size_t first = before_end(at, n);
  assert(n <= CPLI_CHANNEL_LOG);
  memcpy(data, s->log + at % CPLI_CHANNEL_LOG, first);
  memcpy((char*)data + first, s->log, n - first);
}

static size_t length_below(const char* text, size_t limit) {
  const char* end = memchr(text, '\0', limit);
  return end != NULL ? (size_t)(end - text) : limit;
}

bool cpli_shared_put(cpli_shared* s, uint32_t level, const char* who, const char* text) {
  size_t n_who = length_below(who, CPLI_MESSAGE_WHO - 1);
  size_t n_text = length_below(text, CPLI_MESSAGE_TEXT - 1);
  letter l = {.length = (uint32_t)(n_who + n_text + 2), .level = level};
  uint32_t at = atomic_load(&s->log_head);
  if (at - atomic_load(&s->log_tail) + l.length + sizeof l > CPLI_CHANNEL_LOG) return false;
  at = copy_in(s, at, &l, sizeof l);
  at = copy_in(s, at, who, n_who);
  at = copy_in(s, at, "", 1);
  at = copy_in(s, at, text, n_text);
  at = copy_in(s, at, "", 1);
  atomic_store(&s->log_head, at);
  return true;
}

bool cpli_shared_take(cpli_shared* s, cpli_message_taken* m) {
  uint32_t head = atomic_load(&s->log_head), tail = atomic_load(&s->log_tail);
  letter l;
  if (head == tail) return false;
  if (head - tail >= sizeof l && head - tail <= CPLI_CHANNEL_LOG) {
    copy_out(s, tail, &l, sizeof l);
    if (l.length >= 2 && l.length <= sizeof m->room) {
      copy_out(s, tail + (uint32_t)sizeof l, m->room, l.length);
      m->room[l.length - 1] = '\0';
      size_t n = strlen(m->room);
      m->level = l.level;
      m->who = m->room;
      m->text = n + 1 < l.length ? m->room + n + 1 : "";
      atomic_store(&s->log_tail, tail + l.length + (uint32_t)sizeof l);
      return true;
    }
  }
  atomic_store(&s->log_tail, head);  // corrupted: the rest is discarded
  return false;
}
