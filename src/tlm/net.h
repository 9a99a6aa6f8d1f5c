// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Sockets of a run across machines: ZeroMQ with CURVE. The listening side has the public keys of
// permitted peers, each with a name and an endpoint; a thread authenticates peers (ZAP).
// Unauthenticated peers, and connections of another protocol, are rejected before their data are
// received here.
#pragma once

#include <pthread.h>

#include "tlm/message.h"
#include "tlm/zeromq.h"

enum { CPLI_KEY_SIZE = 41, CPLI_ENDPOINT_SIZE = 256, CPLI_USER_SIZE = 256 };

// A listening endpoint. The limits are small because they hold for unauthenticated peers, too: a
// connection may send a message of that length before it is authenticated, and fill the queue
// after.
typedef struct cpli_endpoint {
  const char* name;  // the ZAP domain
  int type;          // ZMQ_ROUTER or ZMQ_PUB
  int64_t longest;   // max bytes of a message to the listener
  int leaving;       // send queue: messages per connection
  int arriving;      // receive queue; when it is full the sender waits, nothing is lost
  int silence;       // [s] without a heartbeat after which a connection counts as lost. No
                     // heartbeat is read while the receive queue is full
} cpli_endpoint;

extern const cpli_endpoint cpli_endpoint_control, cpli_endpoint_watch, cpli_endpoint_waves;

typedef struct cpli_keys {
  char public_key[CPLI_KEY_SIZE], secret_key[CPLI_KEY_SIZE];
} cpli_keys;

typedef struct cpli_known_peer {
  const cpli_endpoint* at;
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
  pthread_mutex_t mutex;  // protects the following members
  cpli_known_peer* known_peers;
  size_t n_known_peers, cap_known_peers;
  int64_t refused;        // connections
  char refused_from[64];  // address of the last one
  int32_t n_monitors;
} cpli_net;

cpl_status cpli_net_open(cpl_context* ctx, cpli_net** out);
void cpli_net_close(cpli_net* net);  // Nullable; close sockets before
cpl_status cpli_net_keys(cpli_net* net, cpli_keys* out);
/// Permits the owner of this key to connect to that endpoint, as `user`.
cpl_status cpli_net_allow(cpli_net* net, const cpli_endpoint* at, const char* key,
                          const char* user);
/// The number of refused connections since the last call, and the address of the last one.
int64_t cpli_net_refused(cpli_net* net, char* from, size_t size);

//------------------------------------ sockets ------------------------------------

typedef enum cpli_net_event {
  CPLI_NET_NOTHING,
  CPLI_NET_CONNECTED,  // the peer is authenticated
  CPLI_NET_ACCEPTED,   // the connection `fd` was made; the peer is not authenticated yet
  CPLI_NET_GONE,       // the connection `fd` has ended
  CPLI_NET_KEY_REFUSED,
  CPLI_NET_NO_PROTOCOL,  // the peer speaks another protocol, or has another server key
} cpli_net_event;

typedef struct cpli_socket {
  cpli_net* net;
  void* s;
  void* monitor;  // NULL where lost connections do not matter
  int fd;         // readable when there are messages or events
  bool listens;
  cpli_net_event pending;  // delivered after all messages that arrived before it
  char endpoint[CPLI_ENDPOINT_SIZE];
} cpli_socket;

/// Listens at "HOST:PORT" ("HOST": any port) with the server's keys.
cpl_status cpli_net_listen(cpli_net* net, const cpli_endpoint* at, const cpli_keys* keys,
                           const char* address, cpli_socket* out);
/// Connects to the owner of the secret key for server_key.
cpl_status cpli_net_connect(cpli_net* net, const cpli_endpoint* at, const char* endpoint,
                            const char* server_key, const cpli_keys* keys, cpli_socket* out);
void cpli_socket_close(cpli_socket* s);

typedef struct cpli_net_route {  // one of the connections of a ROUTER
  uint8_t id[255];
  size_t n;
} cpli_net_route;

typedef struct cpli_incoming {
  zmq_msg_t message;  // valid until the next message is received into this
  bool open;
  cpli_net_route route;  // of a ROUTER
  const char* user;      // the owner of the key; NULL: of a DEALER
  int fd;                // of the connection, as in events
  cpli_bytes bytes;
} cpli_incoming;

/// Returns whether there was a message. One with several frames is invalid and counts as empty.
bool cpli_socket_receive(cpli_socket* s, bool routed, cpli_incoming* in);
void cpli_incoming_close(const cpli_zmq* z, cpli_incoming* in);
/// Returns whether it was queued; never waits. Nullable: route
bool cpli_socket_send(cpli_socket* s, const cpli_net_route* route, const cpli_packet* w);
/// Whether the last send failed because the queue is full; it can be tried again.
bool cpli_socket_is_full(const cpli_socket* s);
/// The same for a message of any length, in fragments where it is longer than CPLI_FRAME_MOST.
/// *sequence is that of the first fragment, and is advanced. The contents of `w` are consumed.
bool cpli_socket_post(cpli_socket* s, const cpli_net_route* route, cpli_packet* w,
                      uint64_t* sequence);

/// The next event of the connections of a socket. A connecting socket reports it after all messages
/// that arrived before. A listening one reports it at once: messages of the connection `fd` may
/// still be queued, and a new connection may have its number.
cpli_net_event cpli_socket_event(cpli_socket* s, int* fd);

/// Waits until one of the sockets has a message or an event, at most `seconds`.
void cpli_sockets_wait(cpli_socket* const* sockets, size_t n, double seconds);

/// The same with one system call, after all messages were received; events of connections do not
/// wake it.
void cpli_sockets_doze(cpli_socket* const* sockets, size_t n, double seconds);

/// Whether a socket listens at all addresses of its machine: peers then need an explicit one.
bool cpli_is_everywhere(const cpli_socket* s);
/// Whether it is "tcp://HOST:PORT": no other ZeroMQ transport is accepted from files and peers.
bool cpli_is_endpoint(const char* text);
/// "tcp://HOST:PORT" -> HOST (without brackets).
void cpli_endpoint_host(const char* endpoint, char* host, size_t size);
/// The address of this machine as seen from the host of `endpoint`; "127.0.0.1" on the same
/// machine.
void cpli_local_address(const char* endpoint, char* out, size_t size);
