// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Messages between the manager of a run across machines, its peers and observers. Numbers are
// little-endian; a message is a head and a body of fixed layout. All input is validated here, byte
// by byte, before it is used: readers are functions of the bytes alone.
#pragma once

#include "base/base.h"
#include "couplet/solver.h"
#include "tlm/tlm.h"

enum {
  CPLI_PROTOCOL = 2,
  CPLI_HEAD_SIZE = 32,
  CPLI_TEXT_MOST = 4096,
  CPLI_MESSAGE_MOST = 1 << 24,  // bytes
  CPLI_FRAME_MOST = 1 << 14,    // bytes sent at once: longer messages are sent in fragments
  CPLI_MANAGER = -1,            // as sender and receiver
  CPLI_NOBODY = -2,             // a peer without a number yet, or any observer
};

// The reason given for a part whose peer is lost.
#define CPLI_GONE "its process has ended, or the connection to it was lost"

typedef enum cpli_message_kind {
  CPLI_MSG_HELLO = 1,  // peer -> manager: the name of its part
  CPLI_MSG_SETTINGS,   // manager -> peer: how to build, and its neighbours
  CPLI_MSG_READY,      // peer -> manager: fingerprint, endpoint
  CPLI_MSG_MEET,       // manager -> peer: endpoints of its neighbours
  CPLI_MSG_MET,        // peer -> manager: connected to all of them
  CPLI_MSG_CALL,       // manager -> peer: a request
  CPLI_MSG_REPLY,      // peer -> manager: its result
  CPLI_MSG_STATE,      // peer -> manager: progress
  CPLI_MSG_LOST,       // peer -> manager: a neighbour is lost, or sends invalid data
  CPLI_MSG_END,        // manager -> peer: the run has ended, and why
  CPLI_MSG_GREET,      // peer -> neighbour: handshake
  CPLI_MSG_WAVE,       // peer -> neighbour: segments of waves
  CPLI_MSG_OBSERVED,   // manager -> observers
  CPLI_MSG_PIECE,      // manager <-> peer: bytes that precede the body of the next message
  CPLI_MSG_KINDS,
} cpli_message_kind;

// Requests to a peer.
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
  CPLI_CALL_START,  // fill the lines, with the values read from all parts for that
  CPLI_CALL_RUN,    // to a time; the reply has the subscribed values there
  CPLI_CALLS,
} cpli_tlm_call;

//------------------------------------ writing ------------------------------------

typedef struct cpli_packet {
  cpl_context* ctx;
  uint8_t* data;
  size_t n, cap;
  bool no_memory;  // the packet is incomplete
} cpli_packet;

void cpli_packet_free(cpli_packet* w);
/// Whether it is complete and can be sent with `more` bytes before it.
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

/// Writes the CPLI_HEAD_SIZE bytes of a head.
void cpli_write_head(uint8_t* at, const cpli_head* head);
/// Starts a new message.
void cpli_put_head(cpli_packet* w, const cpli_head* head);

//------------------------------------ reading ------------------------------------

// Reads beyond the end return zero and set `bad`.
typedef struct cpli_bytes {
  const uint8_t* data;
  size_t n, at;
  bool bad;
} cpli_bytes;

uint8_t cpli_get_u8(cpli_bytes* b);
uint32_t cpli_get_u32(cpli_bytes* b);
uint64_t cpli_get_u64(cpli_bytes* b);
double cpli_get_real(cpli_bytes* b);    // any value
double cpli_get_finite(cpli_bytes* b);  // NaN and infinity are bad
/// The number of items of at least `size` bytes that follow; more than could be there is bad.
uint32_t cpli_get_count(cpli_bytes* b, size_t size);
/// At most size - 1 bytes without NUL.
void cpli_get_text(cpli_bytes* b, char* out, size_t size);
/// Whether everything was read and nothing is left.
bool cpli_all_read(const cpli_bytes* b);

/// Reads a head and leaves `b` behind it. Returns NULL, or what is wrong with it.
const char* cpli_get_head(cpli_bytes* b, cpli_head* out);
/// The same, with a check of session, from, to and sequence.
const char* cpli_expect(cpli_bytes* b, const cpli_head* expected, cpli_head* out);

/// Joins the fragments of a long message: `in` is behind the head of a message of this kind. When
/// *whole is true `in` is the body of the joined message, valid until the next call. Returns NULL,
/// or what is wrong with it. The memory is that of `fragments`, at most CPLI_MESSAGE_MOST bytes.
const char* cpli_join_fragments(cpli_packet* fragments, cpli_message_kind kind, cpli_bytes* in,
                                bool* whole);

//------------------------------------ bodies ------------------------------------

void cpli_put_solver(cpli_packet* w, const cpl_solver_def* s);
void cpli_get_solver(cpli_bytes* b, cpl_solver_def* s);

enum {
  CPLI_WAVE_HEAD_SIZE = 8 + 1 + 4,
  CPLI_MAX_SEGMENT = 4 + 1 + 1 + 2 * 8 + CPLI_WIDTH * CPLI_NODES * 8,
};

// Head of the waves to a neighbour: one segment per end that has a line there.
typedef struct cpli_wave_head {
  double published;  // its waves are known up to here
  bool stopped;      // it stops at this time
  uint32_t n;
} cpli_wave_head;

void cpli_put_segment(cpli_packet* w, int32_t end, int32_t width, const cpli_segment* s);
void cpli_get_wave_head(cpli_bytes* b, cpli_wave_head* out);
/// *end: the sender's index; bad when not finite, or not advancing in time.
void cpli_get_segment(cpli_bytes* b, int32_t* end, int32_t* width, cpli_segment* s);
