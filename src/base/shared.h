// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The memory by which two processes take turns (channel.h): whose turn it is, who sleeps, and a
// ring buffer of messages of the child. The layout is the same for all programs that share it,
// also those of other word sizes and systems, which are compiled with this header and shared.c.
#pragma once

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CPLI_CHANNEL_LOG = 1 << 16 };  // capacity for pending messages in bytes

// The sides.
enum { CPLI_PARENT, CPLI_CHILD };

typedef struct cpli_shared {
  _Alignas(64) _Atomic uint32_t turn;
  _Alignas(64) _Atomic uint32_t sleeps[2];  // the side that sleeps: parent, child
  uint32_t flushes;                         // the child only requests that its messages be read
  _Atomic uint32_t calls;  // of a model while one request is served: the limit is that of each
  _Atomic uint32_t log_head, log_tail, log_lost;
  uint32_t unused;
  union {
    const char* volatile note;  // forked children: the call in progress, a constant of the program
    uint64_t note_room;
  };
  char log[CPLI_CHANNEL_LOG];
} cpli_shared;

static_assert(sizeof(_Atomic uint32_t) == 4 && ATOMIC_INT_LOCK_FREE == 2,
              "a futex is a word of 32 bits, and locks would not be shared");
static_assert(offsetof(cpli_shared, turn) == 0 && offsetof(cpli_shared, sleeps) == 64,
              "the word that is spun on has a cache line of its own");
static_assert(offsetof(cpli_shared, note) == 96 && offsetof(cpli_shared, log) == 104 &&
                  sizeof(cpli_shared) == 65664,
              "the layout is the same on all platforms");
static_assert((CPLI_CHANNEL_LOG & (CPLI_CHANNEL_LOG - 1)) == 0,
              "positions in the log are counted modulo 2^32");

enum { CPLI_MESSAGE_WHO = 256, CPLI_MESSAGE_TEXT = 4096 };  // with the final zeros; longer are cut

/// Child: put a message into the ring. Threads must exclude each other. Returns false: no room.
bool cpli_shared_put(cpli_shared* s, uint32_t level, const char* who, const char* text);

typedef struct cpli_message_taken {
  uint32_t level;
  const char *who, *text;
  char room[CPLI_MESSAGE_WHO + CPLI_MESSAGE_TEXT];
} cpli_message_taken;

/// Parent: take the next message; its texts are in m->room. The child may be corrupted: its data is
/// validated. Returns false: there is none.
bool cpli_shared_take(cpli_shared* s, cpli_message_taken* m);

/// How long one side usually waits, and whether its spins end in vain: on a busy machine the other
/// side may have no processor, which the spinning one occupies. Zeroed at the start.
typedef struct cpli_waits {
  double usual;            // [s]
  uint32_t skip, skipped;  // after a spin in vain the next `skip` waits do not spin
} cpli_waits;

/// The time [s] for which a wait spins before it sleeps. Rare calls must not occupy a processor, so
/// only where answers are usually fast is it long.
double cpli_waits_spin(const cpli_waits* w);
/// Notes how long a wait took, and whether it ended while spinning for `spin`.
void cpli_waits_note(cpli_waits* w, double spin, double seconds);

/// Spin for `spin` [s] until it is the turn of `mine`. `now` is a monotonic clock [s]; `alone`:
/// there is one processor only. Returns whether it is its turn.
bool cpli_shared_look(cpli_shared* s, uint32_t mine, double spin, bool alone, double (*now)(void));
