// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A run to watch: a small HTTP server in a thread of its own. The run puts rows into a store of
// fixed size (when it is full every second row goes, and from then on fewer are taken), pages ask
// for what they do not have yet. Who does not know the token in the address gets nothing, and
// neither does a page of another name that leads here (the Host header must be ours).
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/loaded.h"
#include "format/file.h"
#include "format/markup.h"
#include "view/view.h"

enum {
  CLIENTS = 16,
  REQUEST = 4096,
  TOKEN = 32,
  HEAD = 11,  // numbers before the rows, as page/live.js reads them
  MAX_ROWS = 16384,
  ROOM = 1 << 18,  // [bytes] of one answer, unless a row is longer
};
static const size_t max_bytes = (size_t)64 << 20;  // of rows
static const double silence = 10;                  // [s] that a connection may be

typedef enum state { RUNNING, ENDED, WITH_RESULT } state;

// Nothing that a client does, or does not do, may hold up the thread: sockets never block, and an
// answer is sent in blocks: first `out`, then `body`, then the file.
typedef struct client {
  int fd;        // -1: free
  double since;  // when bytes moved last
  size_t len;
  char request[REQUEST];
  bool answering, is_result, knows_token;
  char* out;  // the head, and rows or a block of the file
  size_t out_len, out_at;
  const char* body;
  size_t body_left;
  int file;  // -1: none
} client;

struct cpl_live {
  cpl_context* ctx;
  pthread_t thread;
  bool has_thread;
  int listener, wake[2];
  double deaf_until;  // no connection is accepted before
  char token[TOKEN + 1], url[400], name[256];
  char* page;  // what is served first
  size_t page_size;
  char* result;  // path of the page of the whole result; NULL: none
  client clients[CLIENTS];
  size_t room;    // bytes of each client's `out`
  char* answers;  // all of them
  void (*on_stop)(void* user);
  void* user;
  volatile bool stopped_by_page;
  // the rest under the lock
  pthread_mutex_t lock;
  double* rows;
  const cpl_type* types;
  size_t n_columns, n_rows, capacity;
  int64_t stride, seen, epoch, events;
  double time, start, end, began;
  state state;
  double last_request;  // or the time when a block of an answer was read
  bool result_sent;
};

//------------------------------------ answers ------------------------------------

static void begin_answer(client* c, const char* status, const char* type, size_t size) {
  const int n =
      snprintf(c->out, REQUEST,
               "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: "
               "no-referrer\r\n"
               "Content-Security-Policy: frame-ancestors 'none'\r\n\r\n",
               status, type, size);
  c->answering = true;
  c->out_len = (size_t)n;
  c->out_at = 0;
}

static void answer(client* c, const char* status, const char* type, const char* body, size_t size) {
  begin_answer(c, status, type, size);
  c->body = body;
  c->body_left = size;
}

static void refuse(client* c, const char* status) {
  answer(c, status, "text/plain", status, strlen(status));
}

static void answer_points(cpl_live* l, client* c, int64_t epoch, int64_t from) {
  pthread_mutex_lock(&l->lock);
  const size_t row = (l->n_columns + 1) * sizeof *l->rows;
  const size_t first =
      epoch == l->epoch && from >= 0 && (size_t)from <= l->n_rows ? (size_t)from : 0;
  const size_t fit = (l->room - REQUEST - HEAD * sizeof(double)) / row;
  const size_t n = l->n_rows - first < fit ? l->n_rows - first : fit;
  const double head[HEAD] = {
      (double)l->epoch,  (double)first,    (double)n,        (double)l->n_columns,
      l->time,           l->start,         l->end,           cpli_now() - l->began,
      (double)l->events, (double)l->state, (double)l->n_rows};
  begin_answer(c, "200 OK", "application/octet-stream", sizeof head + n * row);
  memcpy(c->out + c->out_len, head, sizeof head);
  memcpy(c->out + c->out_len + sizeof head, l->rows + first * (l->n_columns + 1), n * row);
  c->out_len += sizeof head + n * row;
  pthread_mutex_unlock(&l->lock);
}

static void answer_result(cpl_live* l, client* c) {
  pthread_mutex_lock(&l->lock);
  const bool there = l->state == WITH_RESULT;
  pthread_mutex_unlock(&l->lock);
  c->file = there ? open(l->result, O_RDONLY | O_CLOEXEC) : -1;
  const off_t size = c->file >= 0 ? lseek(c->file, 0, SEEK_END) : -1;
  if (size < 0 || lseek(c->file, 0, SEEK_SET) != 0) {
    refuse(c, "404 Not Found");
    return;
  }
  c->is_result = true;
  begin_answer(c, "200 OK", "text/html; charset=utf-8", (size_t)size);
}

//------------------------------------ requests ------------------------------------

// The name that the browser called us by: an address, localhost or the name of this machine, which
// no page of others can be called by. Its port may be that of a tunnel.
static bool is_our_host(const cpl_live* l, const char* request) {
  const char* host = strcasestr(request, "\r\nHost:");
  if (host == NULL) return false;
  host += strlen("\r\nHost:");
  host += strspn(host, " \t");
  char name[256];
  const size_t n = strcspn(host, ": \r");
  if (n >= sizeof name) return false;
  snprintf(name, sizeof name, "%.*s", (int)n, host);
  struct in_addr any;
  return inet_pton(AF_INET, name, &any) == 1 || strcasecmp(name, "localhost") == 0 ||
         (l->name[0] != '\0' && strcasecmp(name, l->name) == 0);
}

// As long for a wrong guess as for a right one.
static bool is_token(const cpl_live* l, const char* text) {
  unsigned char different = 0;
  if (strlen(text) <= TOKEN || text[TOKEN] != '/') return false;
  for (int i = 0; i < TOKEN; i++) different |= (unsigned char)(text[i] ^ l->token[i]);
  return different == 0;
}

static void moved(cpl_live* l, client* c) {
  c->since = cpli_now();
  if (!c->knows_token) return;
  pthread_mutex_lock(&l->lock);
  l->last_request = c->since;
  pthread_mutex_unlock(&l->lock);
}

static void press_stop(cpl_live* l) {
  const bool first = !l->stopped_by_page && !cpli_cancelled(l->ctx);
  l->stopped_by_page = true;
  if (!first) return;
  if (l->on_stop != NULL) l->on_stop(l->user);
  else cpl_context_cancel(l->ctx);
}

static void handle(cpl_live* l, client* c) {
  const char* request = c->request;
  const bool get = strncmp(request, "GET /", 5) == 0, post = strncmp(request, "POST /", 6) == 0;
  const char* path = request + (post ? 6 : 5);
  long long epoch = 0, from = 0;
  if (!get && !post) refuse(c, "405 Method Not Allowed");
  else if (!is_our_host(l, request)) refuse(c, "403 Forbidden");
  else if (!is_token(l, path)) refuse(c, "404 Not Found");
  else {
    c->knows_token = true;
    moved(l, c);
    path += TOKEN + 1;
    if (get && path[0] == ' ') {
      answer(c, "200 OK", "text/html; charset=utf-8", l->page, l->page_size);
    } else if (get && sscanf(path, "points?epoch=%lld&from=%lld ", &epoch, &from) == 2) {
      answer_points(l, c, epoch, from);
    } else if (get && strncmp(path, "result ", 7) == 0) {
      answer_result(l, c);
    } else if (post && strncmp(path, "stop ", 5) == 0) {
      press_stop(l);
      answer(c, "200 OK", "text/plain", "", 0);
    } else {
      refuse(c, "404 Not Found");
    }
  }
}

static void drop(client* c) {
  if (c->file >= 0) close(c->file);
  close(c->fd);
  c->fd = c->file = -1;
}

// All of it has been handed over.
static void finish_answer(cpl_live* l, client* c) {
  pthread_mutex_lock(&l->lock);
  l->result_sent = l->result_sent || c->is_result;
  pthread_mutex_unlock(&l->lock);
  shutdown(c->fd, SHUT_WR);
  drop(c);
}

// The next bytes of the answer; 0: there are no more, negative: the file cannot be read.
static ssize_t next_bytes(const cpl_live* l, client* c, const char** at) {
  if (c->out_at == c->out_len && c->body_left == 0 && c->file >= 0) {
    const ssize_t n = read(c->file, c->out, l->room);
    if (n <= 0) return n;
    c->out_at = 0;
    c->out_len = (size_t)n;
  }
  const bool out = c->out_at < c->out_len;
  *at = out ? c->out + c->out_at : c->body;
  return (ssize_t)(out ? c->out_len - c->out_at : c->body_left);
}

static void send_some(cpl_live* l, client* c) {
  const char* at = NULL;
  ssize_t n;
  while ((n = next_bytes(l, c, &at)) > 0) {
    const ssize_t sent = send(c->fd, at, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (sent <= 0) {
      drop(c);
      return;
    }
    moved(l, c);
    if (c->out_at < c->out_len) c->out_at += (size_t)sent;
    else c->body += sent, c->body_left -= (size_t)sent;
  }
  if (n == 0) finish_answer(l, c);
  else drop(c);
}

// More of a request; a complete one is answered, and the connection ends.
static void receive(cpl_live* l, client* c) {
  const ssize_t n = recv(c->fd, c->request + c->len, REQUEST - 1 - c->len, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    drop(c);
    return;
  }
  c->len += (size_t)n;
  c->request[c->len] = '\0';
  if (strstr(c->request, "\r\n\r\n") != NULL) handle(l, c);
  else if (c->len == REQUEST - 1) refuse(c, "431 Request Header Fields Too Large");
  if (c->answering) send_some(l, c);
}

// A free slot, or that of the connection that has been silent longest without a request:
// idle connections do not block others.
static client* make_place(cpl_live* l) {
  client* oldest = NULL;
  for (int i = 0; i < CLIENTS; i++) {
    client* c = &l->clients[i];
    if (c->fd < 0) return c;
    if (!c->answering && (oldest == NULL || c->since < oldest->since)) oldest = c;
  }
  if (oldest != NULL) drop(oldest);
  return oldest;
}

static void take_client(cpl_live* l) {
  const int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) {  // no descriptor is free: the next look would find the same
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      l->deaf_until = cpli_now() + 0.2;
    return;
  }
  client* c = make_place(l);
  if (c == NULL) {
    close(fd);
    return;
  }
  char* out = c->out;
  *c = (client){.fd = fd, .since = cpli_now(), .file = -1, .out = out};
}

static void* serve(void* user) {
  cpl_live* l = user;
  cpli_thread_begins();
  for (;;) {
    const bool deaf = cpli_now() < l->deaf_until;
    struct pollfd ready[CLIENTS + 2] = {{.fd = deaf ? -1 : l->listener, .events = POLLIN},
                                        {.fd = l->wake[0], .events = POLLIN}};
    for (int i = 0; i < CLIENTS; i++)
      ready[i + 2] = (struct pollfd){.fd = l->clients[i].fd,
                                     .events = l->clients[i].answering ? POLLOUT : POLLIN};
    if (poll(ready, CLIENTS + 2, deaf ? 200 : 1000) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0) break;
    for (int i = 0; i < CLIENTS; i++) {
      client* c = &l->clients[i];
      if (c->fd >= 0 && ready[i + 2].revents != 0 && c->answering) send_some(l, c);
      else if (c->fd >= 0 && ready[i + 2].revents != 0) receive(l, c);
      else if (c->fd >= 0 && cpli_now() - c->since > silence) drop(c);
    }
    if (ready[0].revents != 0) take_client(l);
  }
  cpli_thread_ends();
  return NULL;
}

//------------------------------------ the run's side ------------------------------------

void cpl_live_record(cpl_live* l, double t, const cpl_value* values) {
  pthread_mutex_lock(&l->lock);
  const size_t width = l->n_columns + 1;
  if (l->n_rows == l->capacity) {  // every second row goes
    for (size_t i = 0; 2 * i < l->n_rows; i++)
      memmove(l->rows + i * width, l->rows + 2 * i * width, width * sizeof *l->rows);
    l->n_rows = (l->n_rows + 1) / 2;
    l->stride *= 2;
    l->epoch++;
  }
  if (l->seen++ % l->stride == 0) {
    double* row = l->rows + l->n_rows++ * width;
    row[0] = t;
    for (size_t i = 0; i < l->n_columns; i++) {
      row[i + 1] = l->types[i] == CPL_REAL ? values[i].real
                   : l->types[i] == CPL_STRING || l->types[i] == CPL_BINARY
                       ? (double)NAN
                       : (double)values[i].integer;
    }
  }
  pthread_mutex_unlock(&l->lock);
}

void cpl_live_progress(cpl_live* l, double t, int64_t events) {
  pthread_mutex_lock(&l->lock);
  l->time = t;
  l->events = events;
  pthread_mutex_unlock(&l->lock);
}

const char* cpl_live_url(const cpl_live* l) { return l->url; }

// Ctrl-C ends the waiting, after the moment that a page needs to ask once more. The page's own
// button does not: its user is to see the result.
void cpl_live_finish(cpl_live* l, const char* result) {
  enum { PATIENCE = 3, LONGEST = 60 };  // [s] that a page may be silent, that it may take
  static const double GRACE = 0.3;
  l->result = result != NULL ? cpli_strdup(l->ctx, result) : NULL;
  pthread_mutex_lock(&l->lock);
  l->state = l->result != NULL ? WITH_RESULT : ENDED;
  const double finished = cpli_now();
  for (;;) {
    const double now = cpli_now(), last = fmax(l->last_request, finished);
    if (l->result_sent || l->result == NULL) break;
    if (now - last > PATIENCE || now - finished > LONGEST) break;
    const int own = l->stopped_by_page ? 1 : 0;
    if (cpl_context_cancelled(l->ctx) > own && now - finished > GRACE) break;
    pthread_mutex_unlock(&l->lock);
    usleep(20000);
    pthread_mutex_lock(&l->lock);
  }
  pthread_mutex_unlock(&l->lock);
}

//------------------------------------ beginning and end ------------------------------------

static cpl_status listen_on(cpl_live* l, const char* address, int port) {
  struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
  socklen_t size = sizeof at;
  const int yes = 1;
  if (inet_pton(AF_INET, address, &at.sin_addr) != 1)
    return cpl_fail(l->ctx, CPL_ERR_INPUT, "%s: is no address such as 127.0.0.1", address);
  l->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (l->listener >= 0) setsockopt(l->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (l->listener < 0 || bind(l->listener, (struct sockaddr*)&at, sizeof at) != 0 ||
      listen(l->listener, CLIENTS) != 0 ||
      getsockname(l->listener, (struct sockaddr*)&at, &size) != 0) {
    return cpl_fail(l->ctx, CPL_ERR_IO, "%s:%d: %s", address, port, strerror(errno));
  }
  // of all addresses, the one to call it by is its name
  if (gethostname(l->name, sizeof l->name - 1) != 0) l->name[0] = '\0';
  const bool any = at.sin_addr.s_addr == htonl(INADDR_ANY) && l->name[0] != '\0';
  snprintf(l->url, sizeof l->url, "http://%s:%d/%s/", any ? l->name : address, ntohs(at.sin_port),
           l->token);
  return CPL_OK;
}

static cpl_status make_token(cpl_live* l) {
  unsigned char bytes[TOKEN / 2];
  if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
    return cpl_fail(l->ctx, CPL_ERR_IO, "no random numbers: %s", strerror(errno));
  for (size_t i = 0; i < sizeof bytes; i++) snprintf(l->token + 2 * i, 3, "%02x", bytes[i]);
  return CPL_OK;
}

static cpl_status make_store(cpl_live* l, const cpl_live_def* def) {
  const size_t width = def->n_columns + 1;
  l->n_columns = def->n_columns;
  l->capacity = max_bytes / (width * sizeof(double));
  if (l->capacity > MAX_ROWS) l->capacity = MAX_ROWS;
  if (l->capacity < 64) l->capacity = 64;
  cpl_type* types = cpli_alloc(l->ctx, def->n_columns + 1, sizeof *types);
  l->types = types;
  l->rows = cpli_alloc(l->ctx, l->capacity * width, sizeof *l->rows);
  const size_t least = REQUEST + (HEAD + width) * sizeof(double);
  l->room = least > ROOM ? least : ROOM;
  l->answers = cpli_alloc(l->ctx, CLIENTS, l->room);
  if (types == NULL || l->rows == NULL || l->answers == NULL) return cpli_nomem(l->ctx);
  for (int i = 0; i < CLIENTS; i++) l->clients[i].out = l->answers + (size_t)i * l->room;
  for (size_t i = 0; i < def->n_columns; i++) types[i] = def->columns[i].type;
  return CPL_OK;
}

void cpl_init_live_def(cpl_live_def* def, size_t size) {
  const cpl_live_def all = {.address = "127.0.0.1"};
  cpli_init_def(def, size, &all, sizeof all);
}

cpl_status cpl_live_open(cpl_context* ctx, const cpl_live_def* given, cpl_live** out) {
  cpl_live* l = *out = NULL;
  cpl_live_def def = cpl_default_live_def();
  cpl_status st = cpli_read_def(ctx, "cpl_live_def", given, &def, sizeof def);
  if (st < 0) return st;
  l = cpli_alloc(ctx, 1, sizeof *l);
  if (l == NULL) return cpli_nomem(ctx);
  l->ctx = ctx;
  l->listener = l->wake[0] = l->wake[1] = -1;
  for (int i = 0; i < CLIENTS; i++) l->clients[i].fd = l->clients[i].file = -1;
  pthread_mutex_init(&l->lock, NULL);
  l->on_stop = def.on_stop;
  l->user = def.user;
  l->stride = 1;
  l->time = l->start = def.start_time;
  l->end = def.stop_time;
  l->began = cpli_now();
  st = make_token(l);
  if (st >= 0) st = make_store(l, &def);
  if (st >= 0) st = cpli_live_page(ctx, &def, &l->page, &l->page_size);
  if (st >= 0) st = listen_on(l, def.address != NULL ? def.address : "127.0.0.1", def.port);
  if (st >= 0 && pipe2(l->wake, O_CLOEXEC) != 0)
    st = cpl_fail(ctx, CPL_ERR_IO, "no pipe: %s", strerror(errno));
  if (st >= 0 && pthread_create(&l->thread, NULL, serve, l) != 0)
    st = cpl_fail(ctx, CPL_ERR_NOMEM, "no thread could be started");
  if (st < 0) {
    cpl_live_close(l);
    return st;
  }
  l->has_thread = true;
  *out = l;
  return CPL_OK;
}

void cpl_live_close(cpl_live* l) {
  if (l == NULL) return;
  if (l->has_thread) {
    if (write(l->wake[1], "", 1) != 1) return;  // cannot happen; the thread still needs all of it
    pthread_join(l->thread, NULL);
  }
  for (int i = 0; i < CLIENTS; i++) {
    if (l->clients[i].fd >= 0) drop(&l->clients[i]);
  }
  const int fds[] = {l->listener, l->wake[0], l->wake[1]};
  for (int i = 0; i < 3; i++) {
    if (fds[i] >= 0) close(fds[i]);
  }
  pthread_mutex_destroy(&l->lock);
  cpli_free(l->ctx, l->rows);
  cpli_free(l->ctx, l->answers);
  cpli_free(l->ctx, (void*)l->types);
  cpli_free(l->ctx, l->page);
  cpli_free(l->ctx, l->result);
  cpli_free(l->ctx, l);
}
