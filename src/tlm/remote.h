// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manager's side of a run across machines. A member stands for each part: a stepper whose
// operations are messages to whoever runs it. Waves never come here; when the whole is to go to a
// time, every member is told, and answers when its part is there.
#pragma once

#include "couplet/tlm_net.h"
#include "tlm/joinfile.h"

typedef enum cpli_stage {
  CPLI_STAGE_NONE,      // has not been heard of
  CPLI_STAGE_BUILDING,  // said hello
  CPLI_STAGE_READY,     // has built its part, and listens
  CPLI_STAGE_MET,       // is connected to its neighbours
} cpli_stage;

// A value that is asked for at every output point: it comes with the answer to a run.
typedef struct cpli_wanted {
  uint32_t type, ref;
  union {
    double real;
    int64_t integer;
  } value;
} cpli_wanted;

typedef struct cpli_tlm_member {
  cpl_stepper stepper;  // what stands for the part; first
  struct cpli_remote* remote;
  int32_t part;
  cpl_stepper* kept;  // the part as it was built here; it only serves to be put away
  cpli_keys keys;
  cpli_written file;  // its join file
  cpli_stage stage;
  cpli_net_route route;
  int fd;
  bool leaving;                       // its connection has ended; what it sent before still counts
  double left;                        // since when
  char endpoint[CPLI_ENDPOINT_SIZE];  // where neighbours find it
  uint64_t sent, received;            // messages
  double heard;                       // when, last
  bool asked;                         // an answer is awaited
  cpli_tlm_call call;
  cpli_wanted* wanted;  // sorted
  size_t n_wanted, cap_wanted, told;
  cpli_packet pieces;  // of a long message of it
  bool fresh;          // values of `wanted` hold
  char* texts;         // of the last get_string
} cpli_tlm_member;

typedef struct cpli_tlm_read {  // a value that was read to fill the lines
  int32_t part;
  uint32_t ref;
  double value;
} cpli_tlm_read;

enum { CPLI_CONNECTIONS_MOST = 65536 };  // whose end is remembered

typedef struct cpli_remote {
  cpli_tlm* m;
  cpl_tlm_serve_def def;
  cpli_net* net;
  cpli_socket control, watch;
  cpli_keys keys;
  uint64_t session;
  cpli_written observer_file;
  cpli_tlm_member* members;
  bool meeting;  // all are there: nobody can come back any more
  bool over;     // everybody was told that it ended
  cpli_packet out;
  cpli_incoming in;
  int32_t suspect;  // a part that something is wrong with; -1: none. Its own word may still come
  char suspicion[256];
  double suspected;                            // until when it may come
  uint64_t ended[CPLI_CONNECTIONS_MOST / 64];  // bits: connections that were there, by number
  double refused;                              // when it was told, last, that strangers were
  double turned_away;     // when the present second of lines about those turned away began
  int32_t n_turned_away;  // lines in it
  int64_t left_out;       // lines that were not written
  double looked;          // when connections and clocks were looked at, last
  double observed;        // when observers were told something, last
  bool observing;         // and are told again
  uint64_t told;          // messages to observers
  cpli_tlm_read* reads;
  size_t n_reads, cap_reads;
  bool reading;
} cpli_remote;

//------------------------------------ manager.c ------------------------------------

/// Open the door, write join files, wait for everyone, introduce them to each other.
cpl_status cpli_remote_open(cpli_tlm* m, const cpl_tlm_def* def);
/// Tell everyone that it is over, and put everything away. The parts are again what they were.
void cpli_remote_close(cpli_tlm* m);

/// Begin a call of a member in remote->out; arguments follow.
void cpli_member_begin(cpli_tlm_member* b, cpli_tlm_call call);
cpl_status cpli_member_send(cpli_tlm_member* b);
/// Wait for the answer of a member. What it brought is in remote->in.bytes.
cpl_status cpli_member_wait(cpli_tlm_member* b);
/// Take one message or event, if there is one within a short while. *answered: a member whose
/// answer it was; NULL: none.
cpl_status cpli_remote_pump(cpli_remote* r, cpli_tlm_member** answered);
/// The run ends: a part is to blame for it. Everyone is told.
CPL_PRINTF(4, 5)
cpl_status cpli_remote_fail(cpli_remote* r, cpl_status st, int32_t part, const char* fmt, ...);

//------------------------------------ remote.c ------------------------------------

void cpli_member_init(cpli_tlm_member* b);
/// cpli_tlm_start() for parts that are elsewhere; cpli_pool_run() for them.
cpl_status cpli_remote_start(cpli_tlm* m);
cpl_status cpli_remote_run(cpli_tlm* m, double until);

//------------------------------------ fingerprint.c ------------------------------------

/// A number that differs where parts, variables or lines do.
uint64_t cpli_tlm_fingerprint(const cpli_tlm* m);
