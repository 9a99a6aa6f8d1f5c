// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Messages between the manager of a run across machines, those who run its parts, and who watches.
// Numbers are little-endian; a message is a head and a body of fixed shape. Whatever arrives is
// checked here, byte by byte, before anyone acts on it: readers are functions of the bytes alone.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"
#include "tlm/tlm.h"

enum {
  CPLI_PROTOCOL = 2,
  CPLI_HEAD_SIZE = 32,
  CPLI_TEXT_MOST = 4096,
  CPLI_MESSAGE_MOST = 1 << 24,  // bytes
  CPLI_FRAME_MOST = 1 << 14,    // bytes sent at once: longer messages are sent in pieces
  CPLI_MANAGER = -1,            // as sender and receiver
  CPLI_NOBODY = -2,             // who does not know its number yet
};

// What is said of a part that is not there any more.
#define CPLI_GONE "its process has ended, or the connection to it was lost"

typedef enum cpli_message_kind {
  CPLI_MSG_HELLO = 1,  // a part -> manager: its name
  CPLI_MSG_SETTINGS,   // manager -> part: how to build, who its neighbours are
  CPLI_MSG_READY,      // part -> manager: fingerprint, where it listens
  CPLI_MSG_MEET,       // manager -> part: where its neighbours listen
  CPLI_MSG_MET,        // part -> manager: all of them are there
  CPLI_MSG_CALL,       // manager -> part: do something
  CPLI_MSG_REPLY,      // part -> manager: done
  CPLI_MSG_STATE,      // part -> manager: how far it is
  CPLI_MSG_LOST,       // part -> manager: a neighbour is gone, or sends nonsense
  CPLI_MSG_END,        // manager -> part: it is over, and why
  CPLI_MSG_GREET,      // part -> neighbour
  CPLI_MSG_WAVE,       // part -> neighbour: pieces of waves
  CPLI_MSG_OBSERVED,   // manager -> who watches
  CPLI_MSG_PIECE,      // manager <-> part: bytes that stand before the body of what follows
  CPLI_MSG_KINDS,
} cpli_message_kind;

// What a part can be asked for.
typedef enum cpli_tlm_call {
  CPLI_CALL_SETUP,
  CPLI_CALL_ENTER_INIT,
  CPLI_CALL_EXIT_INIT,
  CPLI_CALL_TERMINATE,
  CPLI_CALL_RESET,
  CPLI_CALL_GET_REAL,
  CPLI_CALL_SET_REAL,
  CPLI_CALL_GET_INTEGER,
  CPLI_CALL_SET_INTEGER,
  CPLI_CALL_GET_STRING,
  CPLI_CALL_SET_STRING,
  CPLI_CALL_SET_CURVE,
  CPLI_CALL_START,  // fill the lines; all that was read from parts for it comes along
  CPLI_CALL_RUN,    // to a time; values that are wanted there come back
  CPLI_CALLS,
} cpli_tlm_call;

//------------------------------------ writing ------------------------------------

typedef struct cpli_packet {
  cpl_context* ctx;
  uint8_t* data;
  size_t n, cap;
  bool no_memory;  // something is missing in it
} cpli_packet;

void cpli_packet_free(cpli_packet* w);
/// Whether all of it is there, and it can be sent with `more` bytes before it.
cpl_status cpli_packet_check(const cpli_packet* w, size_t more);
void cpli_put_u8(cpli_packet* w, uint8_t v);
void cpli_put_u32(cpli_packet* w, uint32_t v);
void cpli_put_u64(cpli_packet* w, uint64_t v);
void cpli_put_real(cpli_packet* w, double v);
void cpli_put_reals(cpli_packet* w, const double* v, size_t n);
void cpli_put_text(cpli_packet* w, const char* text);
void cpli_put_bytes(cpli_packet* w, const void* data, size_t n);

typedef struct cpli_head {
  cpli_message_kind kind;
  uint64_t session;
  int32_t from, to;
  uint64_t sequence;
} cpli_head;

/// The CPLI_HEAD_SIZE bytes of a head.
void cpli_write_head(uint8_t* at, const cpli_head* head);
/// Begin a message anew.
void cpli_put_head(cpli_packet* w, const cpli_head* head);

//------------------------------------ reading ------------------------------------

// Whatever is asked for behind the end is zero, and `bad` is set.
typedef struct cpli_bytes {
  const uint8_t* data;
  size_t n, at;
  bool bad;
} cpli_bytes;

uint8_t cpli_get_u8(cpli_bytes* b);
uint32_t cpli_get_u32(cpli_bytes* b);
uint64_t cpli_get_u64(cpli_bytes* b);
double cpli_get_real(cpli_bytes* b);    // any
double cpli_get_finite(cpli_bytes* b);  // anything else is bad
/// How many items of at least `size` bytes follow; more than could be there are bad.
uint32_t cpli_get_count(cpli_bytes* b, size_t size);
/// At most size - 1 bytes without NUL.
void cpli_get_text(cpli_bytes* b, char* out, size_t size);
/// Whether everything was there and nothing is left.
bool cpli_all_read(const cpli_bytes* b);

/// The head of a message; NULL: it is one, else what is wrong with it. `b` stands behind it then.
const char* cpli_get_head(cpli_bytes* b, cpli_head* out);
/// The same, compared with what can come: session, from, to and sequence must be those.
const char* cpli_expect(cpli_bytes* b, const cpli_head* expected, cpli_head* out);

/// Join the pieces of a long message: `in` stands behind the head of a message of this kind. When
/// *whole is true `in` is the body of the joined message, valid until the next call. Returns NULL,
/// or what is wrong with it. The memory is that of `pieces`, at most CPLI_MESSAGE_MOST bytes.
const char* cpli_join_fragments(cpli_packet* pieces, cpli_message_kind kind, cpli_bytes* in,
                                bool* whole);

//------------------------------------ bodies ------------------------------------

void cpli_put_solver(cpli_packet* w, const cpl_solver_def* s);
void cpli_get_solver(cpli_bytes* b, cpl_solver_def* s);

enum {
  CPLI_WAVE_HEAD_SIZE = 8 + 1 + 4,
  CPLI_SEGMENT_MOST = 4 + 1 + 1 + 2 * 8 + CPLI_WIDTH * CPLI_NODES * 8,
};

// What a part sends to a neighbour: one segment for each end that has a line there.
typedef struct cpli_wave_head {
  double published;  // its waves are known up to here
  bool stopped;      // it goes no farther
  uint32_t n;
} cpli_wave_head;

void cpli_put_segment(cpli_packet* w, int32_t end, int32_t width, const cpli_segment* s);
void cpli_get_wave_head(cpli_bytes* b, cpli_wave_head* out);
/// *end as the sender counts it; bad when not finite, or not going ahead in time.
void cpli_get_segment(cpli_bytes* b, int32_t* end, int32_t* width, cpli_segment* s);
