// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manager's side of a run across machines. A member stands for each part: a stepper whose
// operations are messages to the peer that runs it. Waves do not pass the manager; to advance the
// whole, every member is sent the time, and answers when its part has reached it.
#pragma once

#include "couplet/tlm_net.h"
#include "tlm/joinfile.h"

typedef enum cpli_stage {
  CPLI_STAGE_NONE,      // not connected
  CPLI_STAGE_BUILDING,  // sent HELLO
  CPLI_STAGE_READY,     // has built its part, and listens
  CPLI_STAGE_MET,       // is connected to its neighbours
} cpli_stage;

// A subscribed value, read at every output point: it comes with the reply to a run.
typedef struct cpli_wanted {
  uint32_t type, ref;
  union {
    double real;
    int64_t integer;
  } value;
} cpli_wanted;

typedef struct cpli_tlm_member {
  cpl_stepper stepper;  // the proxy of the part; first
  struct cpli_remote* remote;
  int32_t part;
  cpl_stepper* original;  // the part as built here; only kept to be destroyed
  cpli_keys keys;
  cpli_written file;  // its join file
  cpli_stage stage;
  cpli_net_route route;
  int fd;
  bool leaving;                       // its connection has ended; earlier messages still count
  double left;                        // when it ended
  char endpoint[CPLI_ENDPOINT_SIZE];  // where neighbours connect to it
  uint64_t sent, received;            // messages
  double last_message;                // time of its last message
  bool asked;                         // a reply is awaited
  cpli_tlm_call call;
  cpli_wanted* wanted;  // sorted
  size_t n_wanted, cap_wanted, n_subscribed;
  cpli_packet fragments;  // fragments of a long message from it
  bool fresh;             // values of `wanted` are valid
  char* texts;            // of the last get_string
} cpli_tlm_member;

typedef struct cpli_tlm_read {  // a value that was read to fill the lines
  int32_t part;
  uint32_t ref;
  double value;
} cpli_tlm_read;

enum { CPLI_MAX_CONNECTIONS = 65536 };  // max number of connections whose end is recorded

typedef struct cpli_remote {
  cpli_tlm* m;
  cpl_tlm_serve_def def;
  cpli_net* net;
  cpli_socket control, watch;
  cpli_keys keys;
  uint64_t session;
  cpli_written observer_file;
  cpli_tlm_member* members;
  bool meeting;  // all have joined: no peer can rejoin any more
  bool over;     // all peers were notified of the end
  cpli_packet out;
  cpli_incoming in;
  int32_t suspect;  // a part reported as unreachable; -1: none. Its own message may still arrive
  char suspicion[256];
  double suspected;                           // until when it may arrive
  uint64_t ended[CPLI_MAX_CONNECTIONS / 64];  // bits: connections that have ended, by number
  double refused;                             // time of the last warning about refused connections
  double rejected;       // when the present second of warnings about rejected peers began
  int32_t n_rejected;    // warnings in it
  int64_t n_suppressed;  // suppressed warnings
  double last_check;     // time of the last check of connections and timeouts
  double observed;       // time of the last message to observers
  bool observing;        // observers are updated
  uint64_t n_observed;   // messages to observers
  cpli_tlm_read* reads;
  size_t n_reads, cap_reads;
  bool reading;
} cpli_remote;

//------------------------------------ manager.c ------------------------------------

/// Listens, writes join files, waits for all peers, introduces neighbours to each other.
cpl_status cpli_remote_open(cpli_tlm* m, const cpl_tlm_def* def);
/// Notifies all peers of the end and frees everything. The parts are restored to what they were.
void cpli_remote_close(cpli_tlm* m);

/// Begins a request to a member in remote->out; arguments follow.
void cpli_member_begin(cpli_tlm_member* b, cpli_tlm_call call);
cpl_status cpli_member_send(cpli_tlm_member* b);
/// Waits for the reply of a member, whose body is in remote->in.bytes.
cpl_status cpli_member_wait(cpli_tlm_member* b);
/// Handles one message or event, if there is one within a short while. *answered: the member whose
/// reply it was; NULL: none.
cpl_status cpli_remote_pump(cpli_remote* r, cpli_tlm_member** answered);
/// Ends the run because of a part, and notifies all peers.
CPL_PRINTF(4, 5)
cpl_status cpli_remote_fail(cpli_remote* r, cpl_status st, int32_t part, const char* fmt, ...);

//------------------------------------ remote.c ------------------------------------

void cpli_member_init(cpli_tlm_member* b);
/// cpli_tlm_start() and cpli_pool_run() for parts of peers.
cpl_status cpli_remote_start(cpli_tlm* m);
cpl_status cpli_remote_run(cpli_tlm* m, double until);

//------------------------------------ fingerprint.c ------------------------------------

/// A hash of parts, variables and lines.
uint64_t cpli_tlm_fingerprint(const cpli_tlm* m);
