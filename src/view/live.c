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
  HEAD = 10,  // numbers before the rows, as page/live.js reads them
  MOST_ROWS = 16384,
};
static const size_t most_bytes = (size_t)64 << 20;  // of rows

typedef enum state { RUNNING, ENDED, WITH_RESULT } state;

typedef struct client {
  int fd;  // -1: free
  size_t len;
  double since;
  char request[REQUEST];
} client;

struct cpl_live {
  cpl_context* ctx;
  pthread_t thread;
  bool has_thread;
  int listener, wake[2];
  char token[TOKEN + 1], url[160];
  char* page;  // what is served first
  size_t page_size;
  char* result;  // path of the page of the whole result; NULL: none
  client clients[CLIENTS];
  volatile int* stop;
  // the rest under the lock
  pthread_mutex_t lock;
  double *rows, *copy;  // copy: what is being sent, of the thread
  const cpl_type* types;
  size_t n_columns, n_rows, capacity;
  int64_t stride, seen, epoch, events;
  double time, start, end, began;
  state state;
  double last_request;
  bool result_sent;
};

//------------------------------------ answers ------------------------------------

static void send_all(int fd, const void* bytes, size_t n) {
  const char* at = bytes;
  while (n > 0) {
    const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
    if (sent <= 0 && errno != EINTR) return;
    if (sent <= 0) continue;
    at += sent;
    n -= (size_t)sent;
  }
}

static void send_head(int fd, const char* status, const char* type, size_t size) {
  char head[512];
  const int n =
      snprintf(head, sizeof head,
               "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
               "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: "
               "no-referrer\r\n"
               "Content-Security-Policy: frame-ancestors 'none'\r\n\r\n",
               status, type, size);
  send_all(fd, head, (size_t)n);
}

static void answer(int fd, const char* status, const char* type, const void* body, size_t size) {
  send_head(fd, status, type, size);
  send_all(fd, body, size);
}

static void refuse(int fd, const char* status) {
  answer(fd, status, "text/plain", status, strlen(status));
}

static void send_points(cpl_live* l, int fd, int64_t epoch, int64_t from) {
  pthread_mutex_lock(&l->lock);
  const size_t width = l->n_columns + 1;
  const size_t first =
      epoch == l->epoch && from >= 0 && (size_t)from <= l->n_rows ? (size_t)from : 0;
  const size_t n = l->n_rows - first;
  const double head[HEAD] = {(double)l->epoch,  (double)first,   (double)n, (double)l->n_columns,
                             l->time,           l->start,        l->end,    cpli_now() - l->began,
                             (double)l->events, (double)l->state};
  memcpy(l->copy, l->rows + first * width, n * width * sizeof *l->copy);
  pthread_mutex_unlock(&l->lock);
  send_head(fd, "200 OK", "application/octet-stream", sizeof head + n * width * sizeof *l->copy);
  send_all(fd, head, sizeof head);
  send_all(fd, l->copy, n * width * sizeof *l->copy);
}

static void send_result(cpl_live* l, int fd) {
  pthread_mutex_lock(&l->lock);
  const bool there = l->state == WITH_RESULT;
  pthread_mutex_unlock(&l->lock);
  const int file = there ? open(l->result, O_RDONLY | O_CLOEXEC) : -1;
  const off_t size = file >= 0 ? lseek(file, 0, SEEK_END) : -1;
  if (size < 0) {
    refuse(fd, "404 Not Found");
  } else {
    char piece[65536];
    ssize_t n;
    send_head(fd, "200 OK", "text/html; charset=utf-8", (size_t)size);
    lseek(file, 0, SEEK_SET);
    while ((n = read(file, piece, sizeof piece)) > 0) send_all(fd, piece, (size_t)n);
  }
  if (file >= 0) close(file);
  pthread_mutex_lock(&l->lock);
  l->result_sent = l->result_sent || size >= 0;
  pthread_mutex_unlock(&l->lock);
}

//------------------------------------ requests ------------------------------------

// The name that the browser called us by is the one we gave.
static bool is_our_host(const cpl_live* l, const char* request) {
  const char* host = strcasestr(request, "\r\nHost:");
  const char* ours = l->url + strlen("http://");
  const size_t n = strcspn(ours, "/");
  if (host == NULL) return false;
  host += strlen("\r\nHost:");
  host += strspn(host, " \t");
  return strncmp(host, ours, n) == 0 && (host[n] == '\r' || host[n] == ' ');
}

// As long for a wrong guess as for a right one.
static bool is_token(const cpl_live* l, const char* text) {
  unsigned char different = 0;
  if (strlen(text) <= TOKEN || text[TOKEN] != '/') return false;
  for (int i = 0; i < TOKEN; i++) different |= (unsigned char)(text[i] ^ l->token[i]);
  return different == 0;
}

static void handle(cpl_live* l, int fd, const char* request) {
  const bool get = strncmp(request, "GET /", 5) == 0, post = strncmp(request, "POST /", 6) == 0;
  const char* path = request + (post ? 6 : 5);
  long long epoch = 0, from = 0;
  if (!get && !post) refuse(fd, "405 Method Not Allowed");
  else if (!is_our_host(l, request)) refuse(fd, "403 Forbidden");
  else if (!is_token(l, path)) refuse(fd, "404 Not Found");
  else {
    pthread_mutex_lock(&l->lock);
    l->last_request = cpli_now();
    pthread_mutex_unlock(&l->lock);
    path += TOKEN + 1;
    if (get && path[0] == ' ') {
      answer(fd, "200 OK", "text/html; charset=utf-8", l->page, l->page_size);
    } else if (get && sscanf(path, "points?epoch=%lld&from=%lld ", &epoch, &from) == 2) {
      send_points(l, fd, epoch, from);
    } else if (get && strncmp(path, "result ", 7) == 0) {
      send_result(l, fd);
    } else if (post && strncmp(path, "stop ", 5) == 0) {
      if (l->stop != NULL) *l->stop = 1;
      answer(fd, "200 OK", "text/plain", "", 0);
    } else {
      refuse(fd, "404 Not Found");
    }
  }
}

static void drop(client* c) {
  close(c->fd);
  c->fd = -1;
}

// More of a request; complete ones are answered, and the connection ends.
static void receive(cpl_live* l, client* c) {
  const ssize_t n = recv(c->fd, c->request + c->len, REQUEST - 1 - c->len, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) c->len += (size_t)n;
  c->request[c->len] = '\0';
  const bool complete = strstr(c->request, "\r\n\r\n") != NULL;
  if (complete) {
    handle(l, c->fd, c->request);
    shutdown(c->fd, SHUT_WR);
  } else if (c->len == REQUEST - 1) {
    refuse(c->fd, "431 Request Header Fields Too Large");
  }
  if (complete || n <= 0 || c->len == REQUEST - 1) drop(c);
}

static void take_client(cpl_live* l) {
  const int fd = accept4(l->listener, NULL, NULL, SOCK_CLOEXEC);
  if (fd < 0) return;
  const struct timeval patience = {.tv_sec = 5};
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  for (int i = 0; i < CLIENTS; i++) {
    if (l->clients[i].fd >= 0) continue;
    l->clients[i].fd = fd;
    l->clients[i].len = 0;
    l->clients[i].since = cpli_now();
    return;
  }
  close(fd);
}

static void* serve(void* user) {
  cpl_live* l = user;
  cpli_thread_begins();
  for (;;) {
    struct pollfd ready[CLIENTS + 2] = {{.fd = l->listener, .events = POLLIN},
                                        {.fd = l->wake[0], .events = POLLIN}};
    for (int i = 0; i < CLIENTS; i++)
      ready[i + 2] = (struct pollfd){.fd = l->clients[i].fd, .events = POLLIN};
    if (poll(ready, CLIENTS + 2, 1000) < 0 && errno != EINTR) break;
    if (ready[1].revents != 0) break;
    for (int i = 0; i < CLIENTS; i++) {
      client* c = &l->clients[i];
      if (c->fd >= 0 && ready[i + 2].revents != 0) receive(l, c);
      else if (c->fd >= 0 && cpli_now() - c->since > 10) drop(c);  // it says nothing
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

void cpl_live_finish(cpl_live* l, const char* result) {
  enum { PATIENCE = 3 };  // [s] that a page may be silent before it counts as closed
  l->result = result != NULL ? cpli_strdup(l->ctx, result) : NULL;
  pthread_mutex_lock(&l->lock);
  l->state = l->result != NULL ? WITH_RESULT : ENDED;
  const double finished = cpli_now();
  for (;;) {
    const double last = fmax(l->last_request, finished);
    if (l->result_sent || l->result == NULL || cpli_now() - last > PATIENCE) break;
    if (l->stop != NULL && *l->stop > 1) break;  // the user is impatient
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
  l->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (l->listener >= 0) setsockopt(l->listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (l->listener < 0 || bind(l->listener, (struct sockaddr*)&at, sizeof at) != 0 ||
      listen(l->listener, CLIENTS) != 0 ||
      getsockname(l->listener, (struct sockaddr*)&at, &size) != 0) {
    return cpl_fail(l->ctx, CPL_ERR_IO, "%s:%d: %s", address, port, strerror(errno));
  }
  snprintf(l->url, sizeof l->url, "http://%s:%d/%s/", address, ntohs(at.sin_port), l->token);
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
  l->capacity = most_bytes / (width * sizeof(double));
  if (l->capacity > MOST_ROWS) l->capacity = MOST_ROWS;
  if (l->capacity < 64) l->capacity = 64;
  cpl_type* types = cpli_alloc(l->ctx, def->n_columns + 1, sizeof *types);
  l->types = types;
  l->rows = cpli_alloc(l->ctx, l->capacity * width, sizeof *l->rows);
  l->copy = cpli_alloc(l->ctx, l->capacity * width, sizeof *l->copy);
  if (types == NULL || l->rows == NULL || l->copy == NULL) return cpli_nomem(l->ctx);
  for (size_t i = 0; i < def->n_columns; i++) types[i] = def->columns[i].type;
  return CPL_OK;
}

cpl_live_def cpl_default_live_def(void) { return (cpl_live_def){.address = "127.0.0.1"}; }

cpl_status cpl_live_open(cpl_context* ctx, const cpl_live_def* def, cpl_live** out) {
  cpl_live* l = *out = NULL;
  l = cpli_alloc(ctx, 1, sizeof *l);
  if (l == NULL) return cpli_nomem(ctx);
  l->ctx = ctx;
  l->listener = l->wake[0] = l->wake[1] = -1;
  for (int i = 0; i < CLIENTS; i++) l->clients[i].fd = -1;
  pthread_mutex_init(&l->lock, NULL);
  l->stop = def->stop;
  l->stride = 1;
  l->time = l->start = def->start_time;
  l->end = def->stop_time;
  l->began = cpli_now();
  cpl_status st = make_token(l);
  if (st >= 0) st = make_store(l, def);
  if (st >= 0) st = cpli_live_page(ctx, def, &l->page, &l->page_size);
  if (st >= 0) st = listen_on(l, def->address != NULL ? def->address : "127.0.0.1", def->port);
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
  cpli_free(l->ctx, l->copy);
  cpli_free(l->ctx, (void*)l->types);
  cpli_free(l->ctx, l->page);
  cpli_free(l->ctx, l->result);
  cpli_free(l->ctx, l);
}
