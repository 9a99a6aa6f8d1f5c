// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Who joins a run: it has built the whole system, but only one of its parts lives here. The manager
// asks it to do things; waves go to and come from its neighbours, which stand in `m` with nothing
// but their waves.
#pragma once

#include "couplet/tlm_net.h"
#include "tlm/joinfile.h"
#include "tlm/remote.h"

typedef struct cpli_neighbour {
  int32_t part;
  char name[CPLI_USER_SIZE], key[CPLI_KEY_SIZE], endpoint[CPLI_ENDPOINT_SIZE];
  bool connects;         // we connect to it
  cpli_socket socket;    // then
  cpli_net_route route;  // else, among those connected to us
  int fd;                // of that connection
  bool met;
  bool gone;         // its connection has ended; what it sent before still counts
  bool stopped;      // it goes no farther
  uint32_t n_waves;  // of its ends that send to us
  double ahead;      // of us it can be, at most: the shortest delay of the lines between us
  double regular;    // pieces of a wave of it that can be under way, without jumps
  size_t most;       // pieces of a wave of it that can be under way
  uint64_t sent, received;
} cpli_neighbour;

typedef struct cpli_stub {  // stands for a part that is elsewhere; first
  cpl_stepper stepper;
  struct cpl_tlm_join* join;
  int32_t part;
  cpl_stepper* kept;
} cpli_stub;

struct cpl_tlm_join {
  cpl_context* ctx;
  cpl_tlm_join_def def;
  cpli_join_file file;
  cpli_net* net;
  cpli_socket control, waves;
  cpli_incoming in, wave_in;
  cpli_packet out, body, wave_out;
  cpli_packet pieces;  // of a long message of the manager
  cpli_endpoint door;  // for the waves of neighbours
  int32_t part;        // -1: not told yet
  uint64_t sent, received;
  double pace;  // [s] between words to the manager
  double spoke;
  double patience;  // [s] to look for waves before sleeping
  cpl_solver_def solver, own_solver;
  double step, usual_step;
  cpl_model_solver* solvers;  // of single models
  char* solver_names;
  int32_t n_solvers;
  bool over;       // the manager has ended it
  bool connected;  // to the manager
  bool lost;       // a neighbour was: nothing goes on
  bool stopped;    // neighbours were told that it goes no farther
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

/// The solver of a part, if it is the one that lives here, as the manager wants it.
void cpli_join_solver(const cpl_tlm_join* join, const char* part, cpl_solver_def* solver);
/// Messages to the manager: begin in join->out, then post.
void cpli_join_begin(cpl_tlm_join* j, cpli_message_kind kind);
cpl_status cpli_join_post(cpl_tlm_join* j);
/// The next message of the manager, if one comes within `seconds`. *kind is 0: none came.
cpl_status cpli_join_next_message(cpl_tlm_join* j, double seconds, cpli_message_kind* kind);
/// A neighbour is gone or sends nonsense: the manager hears of it, and ends the run.
cpl_status cpli_join_lost(cpl_tlm_join* j, const cpli_neighbour* n, const char* what);

//------------------------------------ meet.c ------------------------------------

/// Hear who the neighbours are; listen for them; be connected to all of them.
cpl_status cpli_join_neighbours(cpl_tlm_join* j);
cpl_status cpli_join_listen(cpl_tlm_join* j);
cpl_status cpli_join_handshake(cpl_tlm_join* j);
/// Notice when one of them is gone.
cpl_status cpli_join_events(cpl_tlm_join* j);
/// Take what neighbours sent; *n counts messages.
cpl_status cpli_join_receive(cpl_tlm_join* j, int64_t* n);
/// The waves of the piece that was published last, or that there will be no more, to everyone they
/// are for.
cpl_status cpli_join_send(cpl_tlm_join* j, bool stopped);

//------------------------------------ serve.c ------------------------------------

/// Answer what the manager asked for; the message is in j->in.
cpl_status cpli_join_answer(cpl_tlm_join* j);
/// Tell the manager now and then how far the part is; notice when the manager ends the run.
cpl_status cpli_join_speak(cpl_tlm_join* j);
