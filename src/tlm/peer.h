// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A peer that joins a run: it has built the whole system, but runs only one of its parts. It
// answers requests of the manager and exchanges waves with its neighbours, of which `m` has nothing
// but the waves.
#pragma once

#include "couplet/tlm_net.h"
#include "tlm/joinfile.h"
#include "tlm/remote.h"

typedef struct cpli_neighbour {
  int32_t part;
  char name[CPLI_USER_SIZE], key[CPLI_KEY_SIZE], endpoint[CPLI_ENDPOINT_SIZE];
  bool connects;         // this peer connects to it
  cpli_socket socket;    // in that case
  cpli_net_route route;  // otherwise, among the connections to this peer
  int fd;                // of that connection
  bool met;
  bool gone;            // its connection has ended; earlier messages still count
  bool stopped;         // it stops at its present time
  uint32_t n_waves;     // number of its ends that send to this peer
  double ahead;         // max lead over this peer: the shortest delay of the lines between them
  double regular;       // max segments of one of its waves in transit, without jumps
  size_t max_segments;  // max segments of one of its waves in transit
  uint64_t sent, received;
} cpli_neighbour;

typedef struct cpli_stub {  // stands for a part of another peer; first
  cpl_stepper stepper;
  struct cpl_tlm_join* join;
  int32_t part;
  cpl_stepper* original;
} cpli_stub;

struct cpl_tlm_join {
  cpl_context* ctx;
  cpl_tlm_join_def def;
  cpli_join_file file;
  cpli_net* net;
  cpli_socket control, waves;
  cpli_incoming in, wave_in;
  cpli_packet out, body, wave_out;
  cpli_packet fragments;         // fragments of a long message of the manager
  cpli_endpoint waves_endpoint;  // for the waves of neighbours
  int32_t part;                  // -1: not assigned yet
  uint64_t sent, received;
  double pace;  // [s] between heartbeats to the manager
  double spoke;
  double patience;  // [s] to spin for waves before blocking
  cpl_solver_def solver, own_solver;
  double step, usual_step;
  cpl_model_solver* solvers;  // of single models
  char* solver_names;
  int32_t n_solvers;
  bool over;       // the manager has ended the run
  bool connected;  // to the manager
  bool lost;       // a neighbour is lost: the run cannot continue
  bool stopped;    // neighbours were notified that it stops
  int32_t refusals;

  cpli_tlm* m;
  cpli_stub* stubs;
  cpli_neighbour* neighbours;
  uint32_t n_neighbours;
  cpli_socket** sockets;  // all of them, to wait for: control, waves, neighbours'
  size_t n_sockets;
  cpli_tlm_read* reads;
  size_t n_reads;
  cpli_wanted* wanted;
  size_t n_wanted;
  void* scratch;
  size_t n_scratch;
};

//------------------------------------ peer.c ------------------------------------

/// Applies the manager's settings to the solver of a part, if that runs here.
void cpli_join_solver(const cpl_tlm_join* join, const char* part, cpl_solver_def* solver);
/// Messages to the manager: begin in join->out, then post.
void cpli_join_begin(cpl_tlm_join* j, cpli_message_kind kind);
cpl_status cpli_join_post(cpl_tlm_join* j);
/// The next message of the manager within `seconds`. *kind is 0: there was none.
cpl_status cpli_join_next_message(cpl_tlm_join* j, double seconds, cpli_message_kind* kind);
/// Reports a neighbour that is lost or sends invalid data to the manager, which ends the run.
cpl_status cpli_join_lost(cpl_tlm_join* j, const cpli_neighbour* n, const char* what);

//------------------------------------ handshake.c ------------------------------------

/// Reads the list of neighbours; listens for them; connects to all of them.
cpl_status cpli_join_neighbours(cpl_tlm_join* j);
cpl_status cpli_join_listen(cpl_tlm_join* j);
cpl_status cpli_join_handshake(cpl_tlm_join* j);
/// Checks for lost neighbours.
cpl_status cpli_join_events(cpl_tlm_join* j);
/// Receives waves of neighbours; *n counts messages.
cpl_status cpli_join_receive(cpl_tlm_join* j, int64_t* n);
/// Sends the waves published last, or that there will be no more, to all neighbours concerned.
cpl_status cpli_join_send(cpl_tlm_join* j, bool stopped);

//------------------------------------ serve.c ------------------------------------

/// Answers a request of the manager; the message is in j->in.
cpl_status cpli_join_answer(cpl_tlm_join* j);
/// Sends heartbeats with the time of the part to the manager; detects that the manager ends the
/// run.
cpl_status cpli_join_heartbeat(cpl_tlm_join* j);
