// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Runs across machines without any: a table of functions stands in for ZeroMQ, and what arrives is
// the input, a row of messages. Each is a byte that says from whom, a byte with the kind, two with
// the length and the rest. A kind gets a head that fits, so that bodies are reached; with kind 0
// the bytes have their own head. When all are read the run is cancelled.
#pragma once

#include <errno.h>

#include "couplet/tlm_net.h"
#include "fuzz_model.h"
#include "tlm/joinfile.h"
#include "tlm/tlm.h"
#include "tlm/zeromq.h"

enum { FUZZ_PARTS = 2, FUZZ_SENDERS = 4, FUZZ_MONITOR = 99, FUZZ_DEALER = 50 };
static const char* const fuzz_parts[FUZZ_PARTS] = {"l", "r"};

static struct {
  const uint8_t* data;
  size_t size;
  uint64_t sequence[FUZZ_SENDERS], session;  // messages so far
  int misses, n_dealers;
} fuzz_net;

// What one of the senders would write before a message of that kind.
static cpli_head fuzz_head(int sender, cpli_message_kind kind);
// Which socket a message of a sender comes to.
static int fuzz_socket_of(int sender);
// What stands for an empty body.
static void fuzz_empty(cpli_packet* w, cpli_message_kind kind);

typedef struct fuzz_message {  // in place of what ZeroMQ has in a zmq_msg_t
  uint8_t* data;
  size_t size;
  int sender;
} fuzz_message;

static int fuzz_sockets[100];  // their addresses are handles, their numbers types
static int fuzz_number(void* s) { return (int)((int*)s - fuzz_sockets); }

//------------------------------------ the table ------------------------------------

static int fuzz_errno(void) { return EAGAIN; }
static const char* fuzz_strerror(int e) { return strerror(e); }
static int fuzz_has(const char* what) { return what != NULL; }
static void* fuzz_ctx_new(void) { return &fuzz_net; }
static int fuzz_ctx_end(void* ctx) { return ctx == NULL; }
static void* fuzz_socket(void* ctx, int type) {
  (void)ctx;
  if (type == ZMQ_DEALER) type = fuzz_net.n_dealers++ == 0 ? ZMQ_DEALER : FUZZ_DEALER;
  return &fuzz_sockets[type == ZMQ_PAIR || type == ZMQ_REP ? FUZZ_MONITOR : type];
}
static int fuzz_close(void* s) { return s == NULL; }
static int fuzz_setsockopt(void* s, int option, const void* value, size_t size) {
  (void)s, (void)option, (void)value, (void)size;
  return 0;
}
static int fuzz_getsockopt(void* s, int option, void* value, size_t* size) {
  static int null = -1;
  (void)s;
  if (null < 0) null = open("/dev/null", O_RDONLY);  // always ready
  memset(value, 0, *size);
  if (option == ZMQ_FD) memcpy(value, &null, sizeof null);
  if (option == ZMQ_LAST_ENDPOINT) snprintf(value, *size, "tcp://127.0.0.1:4711");
  return 0;
}
static int fuzz_bind(void* s, const char* where) { return s == NULL || where == NULL; }
static int fuzz_send(void* s, const void* data, size_t n, int flags) {
  (void)s, (void)data, (void)flags;
  return (int)n;
}

// Whether the next message is for that socket. One that nobody asks for is passed over.
static bool fuzz_waits(void* s) {
  if (fuzz_number(s) == FUZZ_MONITOR) return false;
  if (fuzz_net.size < 4) return cpl_context_cancel(fuzz_context()), false;
  if (fuzz_socket_of(fuzz_net.data[0] % FUZZ_SENDERS) == fuzz_number(s)) return true;
  if (++fuzz_net.misses < 32) return false;
  size_t n = fuzz_net.data[2] + 256u * fuzz_net.data[3], rest = fuzz_net.size - 4;
  fuzz_net.misses = 0;
  fuzz_net.data += 4 + (n < rest ? n : rest);
  fuzz_net.size = n < rest ? rest - n : 0;
  return false;
}

static int fuzz_recv(void* s, void* data, size_t n, int flags) {
  (void)flags;
  if (!fuzz_waits(s) || n == 0) return -1;
  memset(data, 'a' + fuzz_net.data[0] % FUZZ_SENDERS, 1);
  return 1;
}

static int fuzz_msg_init(zmq_msg_t* m) { return memset(m, 0, sizeof *m), 0; }

static int fuzz_msg_recv(zmq_msg_t* m, void* s, int flags) {
  (void)flags;
  if (!fuzz_waits(s)) return -1;
  size_t n = fuzz_net.data[2] + 256u * fuzz_net.data[3], rest = fuzz_net.size - 4;
  int sender = fuzz_net.data[0] % FUZZ_SENDERS, kind = fuzz_net.data[1] % CPLI_MSG_KINDS;
  cpli_packet w = {.ctx = fuzz_context()};
  if (n > rest) n = rest;
  if (kind != 0) {
    cpli_head head = fuzz_head(sender, (cpli_message_kind)kind);
    cpli_put_head(&w, &head);
    if (n == 0) fuzz_empty(&w, head.kind);
  }
  cpli_put_bytes(&w, fuzz_net.data + 4, n);
  fuzz_message got = {malloc(w.n + 1), w.n, sender};  // of its very length, but never NULL
  FUZZ_CHECK(got.data != NULL);
  if (w.n > 0) memcpy(got.data, w.data, w.n);
  memcpy(m, &got, sizeof got);
  fuzz_net.sequence[sender]++;
  fuzz_net.data += 4 + n;
  fuzz_net.size = rest - n;
  fuzz_net.misses = 0;
  cpli_packet_free(&w);
  return (int)got.size;
}

static fuzz_message fuzz_got(const zmq_msg_t* m) {
  fuzz_message got;
  memcpy(&got, m, sizeof got);
  return got;
}
static int fuzz_msg_close(zmq_msg_t* m) {
  free(fuzz_got(m).data);
  return fuzz_msg_init(m);
}
static void* fuzz_msg_data(zmq_msg_t* m) { return fuzz_got(m).data; }
static size_t fuzz_msg_size(const zmq_msg_t* m) { return fuzz_got(m).size; }
static int fuzz_msg_more(const zmq_msg_t* m) { return m == NULL; }
static int fuzz_msg_get(const zmq_msg_t* m, int what) {
  return (void)what, 10 + fuzz_got(m).sender;
}
static const char* fuzz_msg_gets(const zmq_msg_t* m, const char* what) {
  int sender = fuzz_got(m).sender;
  (void)what;
  return sender < FUZZ_PARTS ? fuzz_parts[sender] : NULL;
}
static int fuzz_poll(zmq_pollitem_t* items, int n, long ms) { return (void)items, (void)ms, n < 0; }
static int fuzz_monitor(void* s, const char* where, int events) {
  return (void)where, (void)events, s == NULL;
}
static int fuzz_keypair(char* public_key, char* secret_key) {
  memset(public_key, 'p', CPLI_KEY_SIZE - 1);
  memset(secret_key, 's', CPLI_KEY_SIZE - 1);
  public_key[CPLI_KEY_SIZE - 1] = secret_key[CPLI_KEY_SIZE - 1] = '\0';
  return 0;
}
static char* fuzz_encode(char* out, const uint8_t* data, size_t n) {
  (void)data, (void)n;
  out[0] = '\0';
  return out;
}

// In place of that of src/tlm/zeromq.c, which the linker leaves out.
cpl_status cpli_zmq_load(cpl_context* ctx, cpli_zmq* out) {
  (void)ctx;
  *out = (cpli_zmq){fuzz_errno,    fuzz_strerror,  fuzz_has,      fuzz_ctx_new,    fuzz_ctx_end,
                    fuzz_ctx_end,  fuzz_socket,    fuzz_close,    fuzz_setsockopt, fuzz_getsockopt,
                    fuzz_bind,     fuzz_bind,      fuzz_send,     fuzz_recv,       fuzz_msg_init,
                    fuzz_msg_recv, fuzz_msg_close, fuzz_msg_data, fuzz_msg_size,   fuzz_msg_more,
                    fuzz_msg_get,  fuzz_msg_gets,  fuzz_poll,     fuzz_monitor,    fuzz_keypair,
                    fuzz_encode};
  return CPL_OK;
}

static inline void fuzz_net_begin(const uint8_t* data, size_t size, uint64_t session) {
  memset(&fuzz_net, 0, sizeof fuzz_net);
  cpl_context_resume(fuzz_context());
  fuzz_net.data = data;
  fuzz_net.size = size;
  fuzz_net.session = session;
}

//------------------------------------ two masses and a line ------------------------------------

static inline cpl_status fuzz_lines(const cpl_tlm_serve_def* serve, cpl_stepper** out) {
  cpl_context* ctx = fuzz_context();
  cpl_source* source = fuzz_source();
  cpl_tlm_part parts[FUZZ_PARTS];
  cpl_tlm_interface ends[FUZZ_PARTS];
  for (int32_t i = 0; i < FUZZ_PARTS; i++) {
    parts[i] = (cpl_tlm_part){.solver = cpl_default_solver_def()};
    FUZZ_CHECK(source->ops->make_model(source, fuzz_parts[i], &parts[i].model) >= 0);
    ends[i] = cpl_default_tlm_interface();
    ends[i].name = fuzz_parts[i], ends[i].part = i, ends[i].kind = CPL_TLM_TRANSLATIONAL;
    ends[i].speed[0] = cpl_find_variable(parts[i].model->base.desc, "v");
    ends[i].force[0] = cpl_find_variable(parts[i].model->base.desc, "u");
  }
  cpl_tlm_line line = {.from = 0, .to = 1, .delay = 0.1, .zf = 1};
  cpl_tlm_def def = cpl_default_tlm_def();
  def.parts = parts, def.n_parts = FUZZ_PARTS;
  def.interfaces = ends, def.n_interfaces = FUZZ_PARTS;
  def.lines = &line, def.n_lines = 1;
  def.serve = serve;
  return cpl_tlm(ctx, &def, out);
}
