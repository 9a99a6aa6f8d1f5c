// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sockets of a run across machines: ZeroMQ with CURVE. Who listens knows the public keys of those
// who may come, each with its name and the door it may come to; a thread answers for that (ZAP).
// Everybody else, and every connection that speaks something else, is turned away before any byte
// of it gets here.
#pragma once

#include <pthread.h>

#include "tlm/message.h"
#include "tlm/zeromq.h"

enum { CPLI_KEY_SIZE = 41, CPLI_ENDPOINT_SIZE = 256, CPLI_USER_SIZE = 256 };

// Where somebody listens. The limits are small because they hold for strangers, too: a connection
// may send a message of that length before it has to say who it is, and as many as may wait after.
typedef struct cpli_endpoint {
  const char* name;  // what ZAP calls a domain
  int type;          // ZMQ_ROUTER or ZMQ_PUB
  int64_t longest;   // bytes of a message to who listens
  int leaving;       // messages that may wait to be sent, for each connection
  int arriving;      // and to be received; a sender waits, and nothing is lost
  int silence;       // [s] after which a connection counts as lost. While as many wait as may, what
                     // a sender says is not read, and it seems silent
} cpli_endpoint;

extern const cpli_endpoint cpli_endpoint_control, cpli_endpoint_watch, cpli_endpoint_waves;

typedef struct cpli_keys {
  char public_key[CPLI_KEY_SIZE], secret_key[CPLI_KEY_SIZE];
} cpli_keys;

typedef struct cpli_known_peer {
  const cpli_endpoint* door;
  char key[CPLI_KEY_SIZE];
  char user[CPLI_USER_SIZE];
} cpli_known_peer;

typedef struct cpli_net {
  cpl_context* ctx;
  const cpli_zmq* z;  // the table
  cpli_zmq table;
  void* zmq;
  void* zap;
  pthread_t thread;
  bool has_thread;
  pthread_mutex_t mutex;  // over what follows
  cpli_known_peer* guests;
  size_t n_guests, cap_guests;
  int64_t refused;        // connections
  char refused_from[64];  // the last of them
  int32_t n_monitors;
} cpli_net;

cpl_status cpli_net_open(cpl_context* ctx, cpli_net** out);
void cpli_net_close(cpli_net* net);  // Nullable; sockets are closed before
cpl_status cpli_net_keys(cpli_net* net, cpli_keys* out);
/// Whoever has this key may come to that door, as `user`.
cpl_status cpli_net_allow(cpli_net* net, const cpli_endpoint* door, const char* key,
                          const char* user);
/// How many were refused since the last call, and from where.
int64_t cpli_net_refused(cpli_net* net, char* from, size_t size);

//------------------------------------ sockets ------------------------------------

typedef enum cpli_net_event {
  CPLI_NET_NOTHING,
  CPLI_NET_CONNECTED,  // and the other side is who it should be
  CPLI_NET_ACCEPTED,   // the connection `fd` was made; the other side is not known yet
  CPLI_NET_GONE,       // the connection `fd` has ended
  CPLI_NET_KEY_REFUSED,
  CPLI_NET_NO_PROTOCOL,  // it speaks something else, or has another server key
} cpli_net_event;

typedef struct cpli_socket {
  cpli_net* net;
  void* s;
  void* monitor;  // NULL at a door where nobody is missed who leaves
  int fd;         // becomes readable when there is news
  bool listens;
  cpli_net_event held;  // it waits until all messages that arrived before it were received
  char endpoint[CPLI_ENDPOINT_SIZE];
} cpli_socket;

/// Listen at "HOST:PORT" ("HOST": any port) with the server's keys.
cpl_status cpli_net_listen(cpli_net* net, const cpli_endpoint* door, const cpli_keys* keys,
                           const char* address, cpli_socket* out);
/// Connect to who has the secret of server_key.
cpl_status cpli_net_connect(cpli_net* net, const cpli_endpoint* door, const char* endpoint,
                            const char* server_key, const cpli_keys* keys, cpli_socket* out);
void cpli_socket_close(cpli_socket* s);

typedef struct cpli_net_route {  // to one of those who are connected to a ROUTER
  uint8_t id[255];
  size_t n;
} cpli_net_route;

typedef struct cpli_incoming {
  zmq_msg_t message;  // good until the next one is received into this
  bool open;
  cpli_net_route route;  // of a ROUTER
  const char* user;      // whose key it was; NULL: of a DEALER
  int fd;                // of the connection, as events name it
  cpli_bytes bytes;
} cpli_incoming;

/// Whether there was a message. One in several frames is none of ours: it counts as empty.
bool cpli_socket_receive(cpli_socket* s, bool routed, cpli_incoming* in);
void cpli_incoming_close(const cpli_zmq* z, cpli_incoming* in);
/// Whether it was handed over; never waits. Nullable: route
bool cpli_socket_send(cpli_socket* s, const cpli_net_route* route, const cpli_packet* w);
/// Whether the last one was not because too many wait already; it can be tried again.
bool cpli_socket_is_full(const cpli_socket* s);
/// The same for a message of any length: pieces of it where it is longer than CPLI_FRAME_MOST.
/// *sequence is that of the first, and counts them. What is in `w` is used up.
bool cpli_socket_post(cpli_socket* s, const cpli_net_route* route, cpli_packet* w,
                      uint64_t* sequence);

/// The next thing that happened to the connections of a socket. A socket that connects reports it
/// after all messages that arrived before. One that listens reports it at once: messages of the
/// connection `fd` may still wait to be received, and a new connection may have its number.
cpli_net_event cpli_socket_event(cpli_socket* s, int* fd);

/// Wait until one of the sockets has a message, or something happened to one of them, at most
/// `seconds`.
void cpli_sockets_wait(cpli_socket* const* sockets, size_t n, double seconds);

/// The same with one call of the system, for who has received until there was nothing left; what
/// happens to connections does not wake it.
void cpli_sockets_doze(cpli_socket* const* sockets, size_t n, double seconds);

/// Whether a socket listens at all addresses of its machine: others need one that is said.
bool cpli_is_everywhere(const cpli_socket* s);
/// Whether it is "tcp://HOST:PORT": nothing else that ZeroMQ knows is taken from files and others.
bool cpli_is_endpoint(const char* text);
/// "tcp://HOST:PORT" -> HOST (without brackets).
void cpli_endpoint_host(const char* endpoint, char* host, size_t size);
/// The address of this machine that others see who are seen at `endpoint`; "127.0.0.1" on it.
void cpli_local_address(const char* endpoint, char* out, size_t size);
