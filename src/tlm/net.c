// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A thread answers the requests of the ZeroMQ Authentication Protocol (ZAP, RFC 27) from a list of
// permitted public keys. Every socket has limits for its messages and queues, and a monitor that
// reports handshakes and lost connections.
#include "tlm/net.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_SOCKETS = 256 };  // max to wait for; more are polled

enum {
  HANDSHAKE_MAX = 1 << 10,  // max bytes of a message before authentication; 300 are enough
  CURVE_MORE = 64,          // bytes that encryption adds to a message, rounded up
};

// Each side of the control connection waits for the other one: the fragments of one message may be
// queued, and few messages arrive without a request. Observers send nothing, and lose messages when
// they are too slow. A part that is ahead of a neighbour waits until there is room for its waves:
// handshake.c. The length and the max number of wave messages depend on the lines.
const cpli_endpoint cpli_endpoint_control = {"control", ZMQ_ROUTER, CPLI_FRAME_MOST, 1200, 64, 10};
const cpli_endpoint cpli_endpoint_watch = {"watch", ZMQ_PUB, HANDSHAKE_MAX, 1000, 64, 10};
const cpli_endpoint cpli_endpoint_waves = {"waves", ZMQ_ROUTER, HANDSHAKE_MAX, 1000, 1000, 10};
_Static_assert(CPLI_MESSAGE_MOST / (CPLI_FRAME_MOST - CPLI_HEAD_SIZE) < 1100,
               "the send queue holds the fragments of the longest message");

static cpl_status failed(cpli_net* net, const char* what) {
  return cpl_fail(net->ctx, CPL_ERR_CONNECTION, "%s: %s", what,
                  net->z->zmq_strerror(net->z->zmq_errno()));
}

//------------------------------------ authentication ------------------------------------

// A request of ZAP (ZeroMQ RFC 27): version, id, domain, address, identity, mechanism, key.
typedef struct zap_request {
  char version[8], id[64], domain[16], address[64], mechanism[16], key[CPLI_KEY_SIZE];
  size_t n_id;
} zap_request;

static bool read_request(cpli_net* net, zap_request* q) {
  const cpli_zmq* z = net->z;
  char ignored[256];
  uint8_t key[32] = {0};
  struct {
    void* data;
    size_t size;
    int got;
  } frames[] = {{q->version, sizeof q->version - 1},
                {q->id, sizeof q->id},
                {q->domain, sizeof q->domain - 1},
                {q->address, sizeof q->address - 1},
                {ignored, sizeof ignored},
                {q->mechanism, sizeof q->mechanism - 1},
                {key, sizeof key}};
  *q = (zap_request){0};
  for (size_t i = 0; i < CPLI_COUNT(frames); i++) {
    frames[i].got = z->zmq_recv(net->zap, frames[i].data, frames[i].size, 0);
    if (frames[i].got < 0 && z->zmq_errno() == EINTR) i--;
    else if (frames[i].got < 0) return false;
  }
  q->n_id = (size_t)frames[1].got < sizeof q->id ? (size_t)frames[1].got : sizeof q->id;
  z->zmq_z85_encode(q->key, key, sizeof key);
  return true;
}

static bool is_permitted(cpli_net* net, const zap_request* q, char* user) {
  bool found = false;
  pthread_mutex_lock(&net->mutex);
  for (size_t i = 0; i < net->n_known_peers && !found; i++) {
    const cpli_known_peer* g = &net->known_peers[i];
    found = strcmp(g->at->name, q->domain) == 0 && strcmp(g->key, q->key) == 0;
    if (found) memcpy(user, g->user, CPLI_USER_SIZE);
  }
  if (!found) {
    net->refused++;
    memcpy(net->refused_from, q->address, sizeof net->refused_from);
  }
  pthread_mutex_unlock(&net->mutex);
  return found;
}

static void* authenticate(void* user) {
  cpli_net* net = user;
  const cpli_zmq* z = net->z;
  zap_request q;
  while (read_request(net, &q)) {
    char name[CPLI_USER_SIZE] = "";
    bool fine = strcmp(q.version, "1.0") == 0 && strcmp(q.mechanism, "CURVE") == 0 &&
                is_permitted(net, &q, name);
    z->zmq_send(net->zap, "1.0", 3, ZMQ_SNDMORE);
    z->zmq_send(net->zap, q.id, q.n_id, ZMQ_SNDMORE);
    z->zmq_send(net->zap, fine ? "200" : "400", 3, ZMQ_SNDMORE);
    z->zmq_send(net->zap, "", 0, ZMQ_SNDMORE);
    z->zmq_send(net->zap, name, strlen(name), ZMQ_SNDMORE);
    z->zmq_send(net->zap, "", 0, 0);
  }
  z->zmq_close(net->zap);
  return NULL;
}

cpl_status cpli_net_allow(cpli_net* net, const cpli_endpoint* at, const char* key,
                          const char* user) {
  cpl_status st = CPL_OK;
  pthread_mutex_lock(&net->mutex);
  if (cpli_grow(net->ctx, (void**)&net->known_peers, &net->cap_known_peers, net->n_known_peers,
                sizeof *net->known_peers)) {
    cpli_known_peer* g = &net->known_peers[net->n_known_peers++];
    *g = (cpli_known_peer){.at = at};
    snprintf(g->key, sizeof g->key, "%s", key);
    snprintf(g->user, sizeof g->user, "%s", user);
  } else {
    st = cpli_nomem(net->ctx);
  }
  pthread_mutex_unlock(&net->mutex);
  return st;
}

int64_t cpli_net_refused(cpli_net* net, char* from, size_t size) {
  pthread_mutex_lock(&net->mutex);
  int64_t n = net->refused;
  net->refused = 0;
  snprintf(from, size, "%s", net->refused_from);
  pthread_mutex_unlock(&net->mutex);
  return n;
}

//------------------------------------ life cycle ------------------------------------

static cpl_status start_authentication(cpli_net* net) {
  sigset_t all, before;
  net->zap = net->z->zmq_socket(net->zmq, ZMQ_REP);
  if (net->zap == NULL || net->z->zmq_bind(net->zap, "inproc://zeromq.zap.01") != 0)
    return failed(net, "ZeroMQ");
  sigfillset(&all);  // signals are handled by the thread that runs models
  pthread_sigmask(SIG_SETMASK, &all, &before);
  net->has_thread = pthread_create(&net->thread, NULL, authenticate, net) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return net->has_thread ? CPL_OK
                         : cpl_fail(net->ctx, CPL_ERR_CONNECTION, "a thread could not be started");
}

cpl_status cpli_net_open(cpl_context* ctx, cpli_net** out) {
  *out = NULL;
  cpli_net* net = cpli_alloc(ctx, 1, sizeof *net);
  if (net == NULL) return cpli_nomem(ctx);
  net->ctx = ctx;
  net->z = &net->table;
  pthread_mutex_init(&net->mutex, NULL);
  cpl_status st = cpli_zmq_load(ctx, &net->table);
  if (st >= 0) net->zmq = net->z->zmq_ctx_new();
  if (st >= 0) st = net->zmq != NULL ? start_authentication(net) : failed(net, "ZeroMQ");
  if (st < 0) cpli_net_close(net);
  else *out = net;
  return st;
}

void cpli_net_close(cpli_net* net) {
  if (net == NULL) return;
  if (net->zmq != NULL) net->z->zmq_ctx_shutdown(net->zmq);
  if (net->has_thread) pthread_join(net->thread, NULL);
  else if (net->zap != NULL) net->z->zmq_close(net->zap);
  while (net->zmq != NULL && net->z->zmq_ctx_term(net->zmq) != 0 && net->z->zmq_errno() == EINTR) {
  }
  pthread_mutex_destroy(&net->mutex);
  cpli_free(net->ctx, net->known_peers);
  cpli_free(net->ctx, net);
}

cpl_status cpli_net_keys(cpli_net* net, cpli_keys* out) {
  return net->z->zmq_curve_keypair(out->public_key, out->secret_key) == 0 ? CPL_OK
                                                                          : failed(net, "CURVE");
}

//------------------------------------ sockets ------------------------------------

// Options of listening and connecting sockets. A silent connection is detected by ZeroMQ's own
// heartbeats, which a model that computes for long does not delay.
static const struct setting {
  int option, value;
} settings[] = {{ZMQ_LINGER, 1000},  {ZMQ_HEARTBEAT_IVL, 2000}, {ZMQ_HANDSHAKE_IVL, 10000},
                {ZMQ_BACKLOG, 1024}, {ZMQ_RECONNECT_IVL, 100},  {ZMQ_RECONNECT_IVL_MAX, 1000}};

// If one of these options fails, the endpoint would be open or without a limit.
static bool set(cpli_socket* s, int option, const void* value, size_t size) {
  return s->net->z->zmq_setsockopt(s->s, option, value, size) == 0;
}

static bool set_number(cpli_socket* s, int option, int value) {
  return set(s, option, &value, sizeof value);
}

// With IPv6 enabled, IPv4 addresses would be written as IPv6 ones.
static bool choose_family(cpli_socket* s, const char* address) {
  return strchr(address, '[') == NULL || set_number(s, ZMQ_IPV6, 1);
}

static bool configure(cpli_socket* s, const cpli_endpoint* at, int64_t longest) {
  if (longest < HANDSHAKE_MAX) longest = HANDSHAKE_MAX;
  longest += CURVE_MORE;
  bool fine = set(s, ZMQ_MAXMSGSIZE, &longest, sizeof longest) &&
              set_number(s, ZMQ_SNDHWM, at->leaving) && set_number(s, ZMQ_RCVHWM, at->arriving) &&
              set_number(s, ZMQ_HEARTBEAT_TIMEOUT, 1000 * at->silence);
  for (size_t i = 0; i < CPLI_COUNT(settings); i++)
    fine = fine && set_number(s, settings[i].option, settings[i].value);
  return fine;
}

static cpl_status watch(cpli_socket* s) {
  const cpli_zmq* z = s->net->z;
  char name[64];
  int none = 0;
  int events = ZMQ_EVENT_DISCONNECTED | ZMQ_EVENT_ACCEPTED | ZMQ_EVENT_HANDSHAKE_SUCCEEDED |
               ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL |
               ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL;
  snprintf(name, sizeof name, "inproc://monitor-%d", (int)s->net->n_monitors++);
  if (z->zmq_socket_monitor(s->s, name, events) != 0) return failed(s->net, "ZeroMQ");
  s->monitor = z->zmq_socket(s->net->zmq, ZMQ_PAIR);
  // Without a limit: ZeroMQ's thread blocks, with all connections, when there is no room for an
  // event, and unauthenticated peers cause events by connecting.
  bool fine = s->monitor != NULL &&
              z->zmq_setsockopt(s->monitor, ZMQ_RCVHWM, &none, sizeof none) == 0 &&
              z->zmq_setsockopt(s->monitor, ZMQ_LINGER, &none, sizeof none) == 0 &&
              z->zmq_connect(s->monitor, name) == 0;
  return fine ? CPL_OK : failed(s->net, "ZeroMQ");
}

static cpl_status make_socket(cpli_net* net, int type, const cpli_endpoint* at, int64_t longest,
                              cpli_socket* s) {
  size_t size = sizeof s->fd;
  *s = (cpli_socket){.net = net, .s = net->z->zmq_socket(net->zmq, type)};
  if (s->s == NULL || !configure(s, at, longest) ||
      net->z->zmq_getsockopt(s->s, ZMQ_FD, &s->fd, &size) != 0)
    return failed(net, "ZeroMQ");
  return type != ZMQ_PUB ? watch(s) : CPL_OK;
}

static bool is_port(const char* text) {
  return text[0] != '\0' && strlen(text) <= 5 && text[strspn(text, "0123456789")] == '\0' &&
         atoi(text) <= 65535;
}

// "HOST:PORT" or "HOST" -> "tcp://NUMBERS:PORT"; ZeroMQ binds to numeric addresses only.
static cpl_status resolve(cpli_net* net, const char* address, char* out, size_t size) {
  char host[CPLI_ENDPOINT_SIZE], numbers[NI_MAXHOST] = "*";
  const char* colon = strrchr(address, ':');
  bool has_port = colon != NULL && strchr(colon, ']') == NULL;
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
  if (colon != NULL && address[0] != '[' && strchr(address, ':') != colon)
    return cpl_fail(net->ctx, CPL_ERR_INPUT,
                    "%s: an IPv6 address is written in brackets, as in [::1]:4711", address);
  if (has_port && !is_port(colon + 1))
    return cpl_fail(net->ctx, CPL_ERR_INPUT, "%s: %s is not a port", address, colon + 1);
  if (has_port) cpli_endpoint_host(address, host, sizeof host);
  else
    snprintf(host, sizeof host, "%.*s", (int)strcspn(address + (*address == '['), "]"),
             address + (*address == '['));
  int fault = strcmp(host, "*") == 0 ? 0 : getaddrinfo(host, NULL, &hints, &found);
  if (fault != 0)
    return cpl_fail(net->ctx, CPL_ERR_INPUT, "%s: %s is not an address: %s", address, host,
                    gai_strerror(fault));
  if (found != NULL)
    getnameinfo(found->ai_addr, found->ai_addrlen, numbers, sizeof numbers, NULL, 0,
                NI_NUMERICHOST);
  freeaddrinfo(found);
  bool wide = strchr(numbers, ':') != NULL;
  snprintf(out, size, "tcp://%s%s%s:%s", wide ? "[" : "", numbers, wide ? "]" : "",
           has_port && atoi(colon + 1) > 0 ? colon + 1 : "*");
  return CPL_OK;
}

static cpl_status bind_to(cpli_socket* s, const char* address) {
  const cpli_zmq* z = s->net->z;
  char text[NI_MAXHOST + 32];
  size_t size = sizeof s->endpoint;
  cpl_status st = resolve(s->net, address, text, sizeof text);
  if (st < 0) return st;
  if (!choose_family(s, text) || z->zmq_bind(s->s, text) != 0)
    return cpl_fail(s->net->ctx, CPL_ERR_INPUT, "cannot listen at %s: %s", address,
                    z->zmq_strerror(z->zmq_errno()));
  z->zmq_getsockopt(s->s, ZMQ_LAST_ENDPOINT, s->endpoint, &size);
  return CPL_OK;
}

static bool set_keys(cpli_socket* s, const cpli_keys* keys) {
  return set(s, ZMQ_CURVE_PUBLICKEY, keys->public_key, CPLI_KEY_SIZE) &&
         set(s, ZMQ_CURVE_SECRETKEY, keys->secret_key, CPLI_KEY_SIZE);
}

// Each unauthenticated connection takes a file descriptor until it is rejected.
static void allow_many_files(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
  setrlimit(RLIMIT_NOFILE, &limit);
}

// Without an authentication thread ZeroMQ would accept every peer, without a user name. An option
// prevents that, but not in every build; messages without a user name are ignored anyway.
cpl_status cpli_net_listen(cpli_net* net, const cpli_endpoint* at, const cpli_keys* keys,
                           const char* address, cpli_socket* s) {
  cpl_status st = make_socket(net, at->type, at, at->longest, s);
  if (st < 0) return st;
  bool guarded = set_number(s, ZMQ_CURVE_SERVER, 1) && set_keys(s, keys) &&
                 set(s, ZMQ_ZAP_DOMAIN, at->name, strlen(at->name)) &&
                 (at->type != ZMQ_ROUTER || set_number(s, ZMQ_ROUTER_MANDATORY, 1));
  s->listens = true;
  set_number(s, ZMQ_ZAP_ENFORCE_DOMAIN, 1);
  allow_many_files();
  return guarded ? bind_to(s, address) : failed(net, "ZeroMQ");
}

bool cpli_is_endpoint(const char* text) {
  static const char letters[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
      ".-_%:[]";
  const char* colon = strrchr(text, ':');
  return strncmp(text, "tcp://", 6) == 0 && text[6 + strspn(text + 6, letters)] == '\0' &&
         colon > text + 6 && is_port(colon + 1);
}

cpl_status cpli_net_connect(cpli_net* net, const cpli_endpoint* at, const char* endpoint,
                            const char* server_key, const cpli_keys* keys, cpli_socket* s) {
  int type = at->type == ZMQ_PUB ? ZMQ_SUB : ZMQ_DEALER;
  if (!cpli_is_endpoint(endpoint))
    return cpl_fail(net->ctx, CPL_ERR_INPUT,
                    "%s: this is not an address of the form tcp://HOST:PORT", endpoint);
  cpl_status st = make_socket(net, type, at, type == ZMQ_SUB ? CPLI_MESSAGE_MOST : at->longest, s);
  if (st < 0) return st;
  if (!set(s, ZMQ_CURVE_SERVERKEY, server_key, CPLI_KEY_SIZE) || !set_keys(s, keys))
    return cpl_fail(net->ctx, CPL_ERR_INPUT, "%s: a key is damaged", endpoint);
  if ((type == ZMQ_SUB && !set(s, ZMQ_SUBSCRIBE, "", 0)) || !choose_family(s, endpoint))
    return failed(net, endpoint);
  snprintf(s->endpoint, sizeof s->endpoint, "%s", endpoint);
  return net->z->zmq_connect(s->s, endpoint) == 0 ? CPL_OK : failed(net, endpoint);
}

void cpli_socket_close(cpli_socket* s) {
  if (s->s != NULL) {
    if (s->monitor != NULL) s->net->z->zmq_socket_monitor(s->s, NULL, 0);
    s->net->z->zmq_close(s->s);
  }
  if (s->monitor != NULL) s->net->z->zmq_close(s->monitor);
  s->s = s->monitor = NULL;
}

//------------------------------------ messages ------------------------------------

void cpli_incoming_close(const cpli_zmq* z, cpli_incoming* in) {
  if (in->open) z->zmq_msg_close(&in->message);
  in->open = false;
}

bool cpli_socket_receive(cpli_socket* s, bool routed, cpli_incoming* in) {
  const cpli_zmq* z = s->net->z;
  if (routed) {
    int n = z->zmq_recv(s->s, in->route.id, sizeof in->route.id, ZMQ_DONTWAIT);
    if (n < 0) return false;
    in->route.n = (size_t)n < sizeof in->route.id ? (size_t)n : sizeof in->route.id;
  }
  cpli_incoming_close(z, in);
  z->zmq_msg_init(&in->message);
  in->open = true;
  if (z->zmq_msg_recv(&in->message, s->s, ZMQ_DONTWAIT) < 0) return false;
  in->user = routed ? z->zmq_msg_gets(&in->message, "User-Id") : NULL;
  in->fd = routed ? z->zmq_msg_get(&in->message, ZMQ_SRCFD) : -1;
  in->bytes = (cpli_bytes){z->zmq_msg_data(&in->message), z->zmq_msg_size(&in->message), 0, false};
  char rest[1];
  for (bool more = z->zmq_msg_more(&in->message) != 0; more;) {
    int value = 0;
    size_t size = sizeof value;
    z->zmq_recv(s->s, rest, sizeof rest, ZMQ_DONTWAIT);
    more = z->zmq_getsockopt(s->s, ZMQ_RCVMORE, &value, &size) == 0 && value != 0;
    in->bytes.n = 0;
  }
  return true;
}

static bool send_bytes(cpli_socket* s, const cpli_net_route* route, const uint8_t* data, size_t n) {
  const cpli_zmq* z = s->net->z;
  if (s->s == NULL) return false;
  if (route != NULL && z->zmq_send(s->s, route->id, route->n, ZMQ_SNDMORE | ZMQ_DONTWAIT) < 0)
    return false;
  return z->zmq_send(s->s, data, n, ZMQ_DONTWAIT) >= 0;
}

bool cpli_socket_send(cpli_socket* s, const cpli_net_route* route, const cpli_packet* w) {
  return !w->no_memory && send_bytes(s, route, w->data, w->n);
}

bool cpli_socket_is_full(const cpli_socket* s) {
  return s->s != NULL && s->net->z->zmq_errno() == EAGAIN;
}

// The head of a fragment overwrites bytes that were sent with the one before.
bool cpli_socket_post(cpli_socket* s, const cpli_net_route* route, cpli_packet* w,
                      uint64_t* sequence) {
  cpli_bytes b = {.data = w->data, .n = w->n};
  cpli_head head;
  if (w->no_memory || cpli_get_head(&b, &head) != NULL) return false;
  cpli_message_kind kind = head.kind;
  bool last = false;
  for (size_t from = 0; !last; from += CPLI_FRAME_MOST - CPLI_HEAD_SIZE) {
    size_t n = w->n - from;
    last = n <= CPLI_FRAME_MOST;
    head.kind = last ? kind : CPLI_MSG_PIECE;
    head.sequence = *sequence;
    cpli_write_head(w->data + from, &head);
    if (!send_bytes(s, route, w->data + from, last ? n : CPLI_FRAME_MOST)) return false;
    ++*sequence;
  }
  return true;
}

static cpli_net_event read_event(cpli_socket* s, int* fd) {
  const cpli_zmq* z = s->net->z;
  uint8_t frame[6];
  char where[CPLI_ENDPOINT_SIZE];
  if (z->zmq_recv(s->monitor, frame, sizeof frame, ZMQ_DONTWAIT) != (int)sizeof frame)
    return CPLI_NET_NOTHING;
  z->zmq_recv(s->monitor, where, sizeof where, ZMQ_DONTWAIT);
  uint16_t event;
  int32_t value;
  memcpy(&event, frame, sizeof event);
  memcpy(&value, frame + sizeof event, sizeof value);
  *fd = event == ZMQ_EVENT_DISCONNECTED || event == ZMQ_EVENT_ACCEPTED ? value : -1;
  return event == ZMQ_EVENT_DISCONNECTED            ? CPLI_NET_GONE
         : event == ZMQ_EVENT_ACCEPTED              ? CPLI_NET_ACCEPTED
         : event == ZMQ_EVENT_HANDSHAKE_SUCCEEDED   ? CPLI_NET_CONNECTED
         : event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH ? CPLI_NET_KEY_REFUSED
                                                    : CPLI_NET_NO_PROTOCOL;
}

static bool has_message(const cpli_socket* s) {
  int events = 0;
  size_t size = sizeof events;
  return s->net->z->zmq_getsockopt(s->s, ZMQ_EVENTS, &events, &size) == 0 &&
         (events & ZMQ_POLLIN) != 0;
}

// ZeroMQ delivers the messages of a connection before it reports its end.
cpli_net_event cpli_socket_event(cpli_socket* s, int* fd) {
  if (s->listens) return read_event(s, fd);
  *fd = -1;
  if (s->pending == CPLI_NET_NOTHING) s->pending = read_event(s, fd);
  if (s->pending == CPLI_NET_NOTHING || has_message(s)) return CPLI_NET_NOTHING;
  cpli_net_event event = s->pending;
  s->pending = CPLI_NET_NOTHING;
  return event;
}

void cpli_sockets_wait(cpli_socket* const* sockets, size_t n, double seconds) {
  zmq_pollitem_t items[2 * MAX_SOCKETS];
  int count = 0;
  for (size_t i = 0; i < n && i < MAX_SOCKETS; i++) {
    items[count++] = (zmq_pollitem_t){.socket = sockets[i]->s, .events = ZMQ_POLLIN};
    items[count++] = (zmq_pollitem_t){.socket = sockets[i]->monitor, .events = ZMQ_POLLIN};
  }
  if (n > MAX_SOCKETS) seconds = 1e-3;
  sockets[0]->net->z->zmq_poll(items, count, (long)(1e3 * seconds));
}

void cpli_sockets_doze(cpli_socket* const* sockets, size_t n, double seconds) {
  struct pollfd fds[MAX_SOCKETS];
  if (n > MAX_SOCKETS) seconds = 1e-3;
  if (n > MAX_SOCKETS) n = MAX_SOCKETS;
  for (size_t i = 0; i < n; i++) fds[i] = (struct pollfd){.fd = sockets[i]->fd, .events = POLLIN};
  poll(fds, n, (int)(1e3 * seconds));
}

//------------------------------------ addresses ------------------------------------

bool cpli_is_everywhere(const cpli_socket* s) {
  char host[CPLI_ENDPOINT_SIZE];
  cpli_endpoint_host(s->endpoint, host, sizeof host);
  return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

void cpli_endpoint_host(const char* endpoint, char* host, size_t size) {
  const char* from = strncmp(endpoint, "tcp://", 6) == 0 ? endpoint + 6 : endpoint;
  const char* colon = strrchr(from, ':');
  int n = colon != NULL ? (int)(colon - from) : (int)strlen(from);
  if (n > 1 && from[0] == '[' && from[n - 1] == ']') from++, n -= 2;
  snprintf(host, size, "%.*s", n, from);
}

void cpli_local_address(const char* endpoint, char* out, size_t size) {
  char host[CPLI_ENDPOINT_SIZE], text[NI_MAXHOST];
  struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
  struct sockaddr_storage own;
  socklen_t n = sizeof own;
  snprintf(out, size, "127.0.0.1");
  cpli_endpoint_host(endpoint, host, sizeof host);
  if (getaddrinfo(host, "9", &hints, &found) != 0) return;
  int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  // nothing is sent: the system only chooses a route
  if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
      getsockname(fd, (struct sockaddr*)&own, &n) == 0 &&
      getnameinfo((struct sockaddr*)&own, n, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0)
    snprintf(out, size, own.ss_family == AF_INET6 ? "[%s]" : "%s", text);
  if (fd >= 0) close(fd);
  freeaddrinfo(found);
}
