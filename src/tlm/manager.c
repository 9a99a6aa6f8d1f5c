// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The manager: admission of peers, supervision of the run, and its end.
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/folder.h"
#include "format/source_loc.h"
#include "tlm/remote.h"

void cpl_init_tlm_serve_def(cpl_tlm_serve_def* def, size_t size) {
  const cpl_tlm_serve_def all = {.folder = ".",
                                 .start_limit = 600,
                                 .call_timeout = 60,
                                 .watch_interval = 0.1,
                                 .solver = cpl_default_solver_def()};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpl_context* ctx_of(const cpli_remote* r) { return r->m->base.base.ctx; }
static const char* name_of(const cpli_remote* r, int32_t part) { return r->m->parts[part].name; }

//------------------------------------ sending ------------------------------------

static void begin(cpli_remote* r, cpli_tlm_member* b, cpli_message_kind kind) {
  cpli_put_head(&r->out, &(cpli_head){kind, r->session, CPLI_MANAGER, b->part, b->sent});
}

static void leave(cpli_tlm_member* b) {
  if (!b->leaving) b->left = cpli_now();
  b->leaving = true;
}

static cpl_status post(cpli_remote* r, cpli_tlm_member* b) {
  cpl_status st = cpli_packet_check(&r->out, 0);
  if (st < 0) return st;
  if (!cpli_socket_post(&r->control, &b->route, &r->out, &b->sent)) leave(b);
  return CPL_OK;
}

void cpli_member_begin(cpli_tlm_member* b, cpli_tlm_call call) {
  begin(b->remote, b, CPLI_MSG_CALL);
  cpli_put_u8(&b->remote->out, (uint8_t)call);
  b->call = call;
}

cpl_status cpli_member_send(cpli_tlm_member* b) {
  if (b->remote->over)
    return cpl_fail(ctx_of(b->remote), CPL_ERR_MODEL, "%s: the run has ended",
                    name_of(b->remote, b->part));
  b->asked = true;
  b->last_message = cpli_now();
  return post(b->remote, b);
}

static void put_end(cpli_remote* r, const cpli_head* head, cpl_status st, const char* text) {
  cpli_put_head(&r->out, head);
  cpli_put_u32(&r->out, (uint32_t)st);
  cpli_put_text(&r->out, text);
}

static void log_suppressed(cpli_remote* r) {
  if (r->n_suppressed > 0)
    cpl_log(ctx_of(r), CPL_LOG_WARNING, r->m->name, "a peer was rejected %lld more times",
            (long long)r->n_suppressed);
  r->n_suppressed = 0;
}

// A few warnings per second at most, then only their number: a peer with a key that is rejected
// again and again must not fill the disk.
static void log_rejected(cpli_remote* r, const char* text) {
  enum { LINES = 3 };
  double now = cpli_now();
  if (now - r->rejected >= 1) {
    log_suppressed(r);
    r->rejected = now;
    r->n_rejected = 0;
  }
  if (r->n_rejected++ < LINES)
    cpl_log(ctx_of(r), CPL_LOG_WARNING, r->m->name, "a peer was rejected: %s", text);
  else r->n_suppressed++;
}

// Rejects a peer, which may try again.
static void reject(cpli_remote* r, const cpli_net_route* route, uint64_t sequence, int32_t part,
                   const char* text) {
  cpli_head head = {CPLI_MSG_END, r->session, CPLI_MANAGER, part, sequence};
  put_end(r, &head, CPL_ERR_INPUT, text);
  cpli_socket_send(&r->control, route, &r->out);
  log_rejected(r, text);
}

static void notify_end(cpli_remote* r, cpl_status st, const char* text) {
  if (r->over) return;
  r->over = true;
  if (st < 0) st = CPL_ERR_CANCELLED;  // for all peers
  for (int32_t i = 0; i < r->m->n_parts && r->members != NULL; i++) {
    cpli_tlm_member* b = &r->members[i];
    if (b->stage == CPLI_STAGE_NONE) continue;
    cpli_head head = {CPLI_MSG_END, r->session, CPLI_MANAGER, b->part, b->sent};
    put_end(r, &head, st, text);
    cpli_socket_send(&r->control, &b->route, &r->out);
  }
  cpli_head head = {CPLI_MSG_END, r->session, CPLI_MANAGER, CPLI_NOBODY, r->n_observed++};
  put_end(r, &head, st, text);
  if (r->watch.s != NULL) cpli_socket_send(&r->watch, NULL, &r->out);
}

cpl_status cpli_remote_fail(cpli_remote* r, cpl_status st, int32_t part, const char* fmt, ...) {
  char text[CPLI_ERROR_SIZE];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  for (int32_t i = 0; i < r->m->n_parts; i++) {
    if (part < 0 || i == part) r->m->parts[i].st = st;
  }
  notify_end(r, st, text);
  return cpl_fail(ctx_of(r), st, "%s", text);
}

static cpl_status blame(cpli_remote* r, int32_t part, const char* what) {
  const cpli_tlm_part* p = &r->m->parts[part];
  if (!r->m->running)
    return cpli_remote_fail(r, CPL_ERR_MODEL, part, "%s: before the start: %s", p->name, what);
  return cpli_remote_fail(r, CPL_ERR_MODEL, part, "%s: at t=%.12g: %s", p->name, p->t, what);
}

//------------------------------------ joining ------------------------------------

// The next part after `i` that has a line to `part`; -1: none.
static int32_t next_neighbour(const cpli_tlm* m, int32_t part, int32_t i) {
  const cpli_tlm_part* p = &m->parts[part];
  while (++i < m->n_parts) {
    for (int32_t e = p->first_end; e < p->first_end + p->n_ends && i != part; e++) {
      if (m->ends[m->ends[e].peer].part == i) return i;
    }
  }
  return -1;
}

static void put_neighbours(cpli_remote* r, int32_t part) {
  uint32_t n = 0;
  int32_t i = -1;
  while ((i = next_neighbour(r->m, part, i)) >= 0) n++;
  cpli_put_u32(&r->out, n);
  while ((i = next_neighbour(r->m, part, i)) >= 0) {
    cpli_put_u32(&r->out, (uint32_t)i);
    cpli_put_text(&r->out, name_of(r, i));
    cpli_put_text(&r->out, r->members[i].keys.public_key);
  }
}

static cpl_status send_settings(cpli_remote* r, cpli_tlm_member* b) {
  double limit = r->def.call_timeout;
  begin(r, b, CPLI_MSG_SETTINGS);
  cpli_put_real(&r->out, limit > 0 && limit < 1 ? 0.25 * limit : 0.25);
  cpli_put_solver(&r->out, &r->def.solver);
  cpli_put_real(&r->out, r->def.step);
  cpli_put_real(&r->out, r->def.usual_step);
  cpli_put_u32(&r->out, (uint32_t)r->def.n_solvers);
  for (int32_t i = 0; i < r->def.n_solvers; i++) {
    cpli_put_text(&r->out, r->def.solvers[i].model);
    cpli_put_text(&r->out, cpl_solver_name(r->def.solvers[i].kind));
  }
  cpli_put_solver(&r->out, &r->m->parts[b->part].solver);
  put_neighbours(r, b->part);
  return post(r, b);
}

// At most once per second: repeated attempts must not fill the disk.
static void log_refused(cpli_remote* r) {
  char from[64];
  double now = cpli_now();
  if (r->refused > 0 && now - r->refused < 1) return;
  int64_t n = cpli_net_refused(r->net, from, sizeof from);
  if (n == 0) return;
  r->refused = now;
  cpl_log(ctx_of(r), CPL_LOG_WARNING, r->m->name,
          "%lld connection%s refused, the last from %s: the key does not belong to this run",
          (long long)n, n == 1 ? " was" : "s were", from);
}

static bool has_ended(const cpli_remote* r, int fd) {
  return fd >= 0 && fd < CPLI_MAX_CONNECTIONS && (r->ended[fd / 64] >> (fd % 64) & 1) != 0;
}

static void set_ended(cpli_remote* r, int fd, bool ended) {
  uint64_t bit = UINT64_C(1) << (fd % 64);
  if (fd < 0 || fd >= CPLI_MAX_CONNECTIONS) return;
  if (ended) r->ended[fd / 64] |= bit;
  else r->ended[fd / 64] &= ~bit;
}

static void handle_events(cpli_remote* r) {
  int fd;
  for (cpli_net_event e; (e = cpli_socket_event(&r->control, &fd)) != CPLI_NET_NOTHING;) {
    if (e != CPLI_NET_GONE && e != CPLI_NET_ACCEPTED) continue;
    set_ended(r, fd, e == CPLI_NET_GONE);
    for (int32_t i = 0; i < r->m->n_parts && e == CPLI_NET_GONE; i++) {
      cpli_tlm_member* b = &r->members[i];
      if (b->stage != CPLI_STAGE_NONE && b->fd == fd) leave(b);
    }
  }
  log_refused(r);
}

// All messages of lost peers were received, and may have ended the run for a better reason. Before
// the handshake of neighbours a peer may rejoin.
static cpl_status blame_lost(cpli_remote* r) {
  cpli_tlm_member* first = NULL;
  for (int32_t i = 0; i < r->m->n_parts; i++) {
    cpli_tlm_member* b = &r->members[i];
    if (!b->leaving) continue;
    if (first == NULL || b->left < first->left) first = b;
    if (r->meeting) continue;
    b->stage = CPLI_STAGE_NONE;
    b->leaving = false;
  }
  if (first == NULL || !r->meeting) return CPL_OK;
  return blame(r, first->part, r->suspect == first->part ? r->suspicion : CPLI_GONE);
}

static cpl_status handle_hello(cpli_remote* r, cpli_tlm_member* b) {
  char name[CPLI_USER_SIZE], text[3 * CPLI_USER_SIZE];
  cpli_get_text(&r->in.bytes, name, sizeof name);
  bool fine = cpli_all_read(&r->in.bytes);
  if (!fine || strcmp(name, name_of(r, b->part)) != 0) {
    snprintf(text, sizeof text, "the key is that of %s and does not permit joining as %s",
             name_of(r, b->part), fine ? name : "another sub-model");
    reject(r, &r->in.route, 0, CPLI_NOBODY, text);
    return CPL_OK;
  }
  handle_events(r);  // also of an earlier connection with the same number
  if (b->stage != CPLI_STAGE_NONE && (r->meeting || !b->leaving)) {
    snprintf(text, sizeof text, "%s has joined already", name);
    reject(r, &r->in.route, 0, CPLI_NOBODY, text);
    return CPL_OK;
  }
  b->route = r->in.route;
  b->fd = r->in.fd;
  b->leaving = false;
  if (has_ended(r, b->fd)) leave(b);
  b->sent = 0;
  b->received = 1;
  b->fragments.n = 0;
  b->stage = CPLI_STAGE_BUILDING;
  return send_settings(r, b);
}

static cpl_status handle_ready(cpli_remote* r, cpli_tlm_member* b) {
  uint64_t print = cpli_get_u64(&r->in.bytes);
  cpli_get_text(&r->in.bytes, b->endpoint, sizeof b->endpoint);
  if (!cpli_all_read(&r->in.bytes) || b->stage != CPLI_STAGE_BUILDING ||
      !cpli_is_endpoint(b->endpoint))
    return blame(r, b->part, "it sent an invalid message");
  b->stage = CPLI_STAGE_READY;
  if (print == cpli_tlm_fingerprint(r->m)) return CPL_OK;
  char text[2 * CPLI_USER_SIZE];
  snprintf(text, sizeof text,
           "%s: its system file or a model differs from those of the manager (or couplet "
           "does)",
           name_of(r, b->part));
  reject(r, &b->route, b->sent, b->part, text);
  b->stage = CPLI_STAGE_NONE;
  return CPL_OK;
}

static cpl_status handle_met(cpli_remote* r, cpli_tlm_member* b) {
  if (!cpli_all_read(&r->in.bytes) || !r->meeting || b->stage != CPLI_STAGE_READY)
    return blame(r, b->part, "it sent an invalid message");
  b->stage = CPLI_STAGE_MET;
  return CPL_OK;
}

static cpl_status handle_state(cpli_remote* r, cpli_tlm_member* b) {
  double t = cpli_get_finite(&r->in.bytes);
  if (!cpli_all_read(&r->in.bytes)) return blame(r, b->part, "it sent an invalid message");
  if (r->m->running) r->m->parts[b->part].t = t;
  return CPL_OK;
}

// A neighbour reports that a part cannot be reached: a message of that part itself, or the end of
// its connection, gives a better reason and may still arrive.
static void suspect(cpli_remote* r, int32_t part, const char* what) {
  static const double grace = 2;
  if (r->suspect >= 0) return;
  r->suspect = part;
  r->suspected = cpli_now() + (strcmp(what, CPLI_GONE) == 0 ? grace : 0);
  snprintf(r->suspicion, sizeof r->suspicion, "%s", what);
}

static cpl_status handle_lost(cpli_remote* r, cpli_tlm_member* b) {
  char text[200];
  int32_t part = (int32_t)cpli_get_u32(&r->in.bytes);
  cpli_get_text(&r->in.bytes, text, sizeof text);
  if (!cpli_all_read(&r->in.bytes) || part < 0 || next_neighbour(r->m, b->part, part - 1) != part)
    return blame(r, b->part, "it sent an invalid message");
  suspect(r, part, text);
  return CPL_OK;
}

// Reads the head of a reply: the request it answers, and its status.
static cpl_status handle_reply(cpli_remote* r, cpli_tlm_member* b, cpli_tlm_member** answered) {
  char text[CPLI_TEXT_MOST];
  uint8_t call = cpli_get_u8(&r->in.bytes);
  cpl_status st = (cpl_status)(int32_t)cpli_get_u32(&r->in.bytes);
  cpli_get_text(&r->in.bytes, text, sizeof text);
  if (r->in.bytes.bad || !b->asked || call != b->call || st < CPL_ERR_CANCELLED)
    return blame(r, b->part, "it sent an invalid message");
  b->asked = false;
  if (st < 0 && text[0] == '\0') return blame(r, b->part, "it failed without a reason");
  if (st < 0) return cpli_remote_fail(r, st, b->part, "%s", text);
  *answered = b;
  return CPL_OK;
}

static cpli_tlm_member* member_of(cpli_remote* r, const char* user) {
  for (int32_t i = 0; i < r->m->n_parts && user != NULL; i++) {
    if (strcmp(name_of(r, i), user) == 0) return &r->members[i];
  }
  return NULL;
}

static cpl_status blame_message(cpli_remote* r, int32_t part, const char* fault) {
  char text[160];
  snprintf(text, sizeof text, "it sent an invalid message: %s", fault);
  return blame(r, part, text);
}

static cpl_status handle_message(cpli_remote* r, cpli_tlm_member** answered) {
  cpli_tlm_member* b = member_of(r, r->in.user);
  cpli_head head, expected = {.session = r->session, .to = CPLI_MANAGER};
  if (b == NULL) return CPL_OK;
  bool same = b->stage != CPLI_STAGE_NONE && r->in.route.n == b->route.n &&
              memcmp(r->in.route.id, b->route.id, b->route.n) == 0;
  expected.from = same ? b->part : CPLI_NOBODY;
  expected.sequence = same ? b->received : 0;
  const char* fault = cpli_expect(&r->in.bytes, &expected, &head);
  if (fault != NULL && same) return blame_message(r, b->part, fault);
  if (fault != NULL) {
    reject(r, &r->in.route, 0, CPLI_NOBODY, fault);
    return CPL_OK;
  }
  if (!same) return head.kind == CPLI_MSG_HELLO ? handle_hello(r, b) : CPL_OK;
  b->received++;
  b->last_message = cpli_now();
  bool whole = false;
  if (head.kind == CPLI_MSG_PIECE && !b->asked) fault = "no reply of that length is expected";
  if (fault == NULL) fault = cpli_join_fragments(&b->fragments, head.kind, &r->in.bytes, &whole);
  if (fault != NULL) return blame_message(r, b->part, fault);
  if (!whole) return CPL_OK;
  switch (head.kind) {
    case CPLI_MSG_READY: return handle_ready(r, b);
    case CPLI_MSG_MET: return handle_met(r, b);
    case CPLI_MSG_STATE: return handle_state(r, b);
    case CPLI_MSG_LOST: return handle_lost(r, b);
    case CPLI_MSG_REPLY: return handle_reply(r, b, answered);
    default: return blame_message(r, b->part, "its kind is not expected here");
  }
}

//------------------------------------ supervision ------------------------------------

static cpl_status check_cancel(cpli_remote* r) {
  if (!cpli_cancelled(r->m->base.base.ctx)) return CPL_OK;
  return cpli_remote_fail(r, CPL_ERR_CANCELLED, -1, "%s: interrupted at t=%.12g", r->m->name,
                          r->m->t);
}

static cpl_status check_clocks(cpli_remote* r) {
  double now = cpli_now(), limit = r->def.call_timeout;
  if (r->suspect >= 0 && now > r->suspected) return blame(r, r->suspect, r->suspicion);
  for (int32_t i = 0; i < r->m->n_parts && limit > 0; i++) {
    char text[128];
    if (!r->members[i].asked || now - r->members[i].last_message <= limit) continue;
    snprintf(text, sizeof text, "no message from it for %g s (--call-timeout)", limit);
    return blame(r, i, text);
  }
  return CPL_OK;
}

// Whether the grace period of a lost peer is over, even if others send continuously.
static bool is_overdue(const cpli_remote* r, double now) {
  for (int32_t i = 0; i < r->m->n_parts; i++) {
    if (r->members[i].leaving && now - r->members[i].left > 1) return true;
  }
  return false;
}

static cpl_status supervise(cpli_remote* r, bool all_received) {
  r->last_check = cpli_now();
  cpl_status st = all_received || is_overdue(r, r->last_check) ? blame_lost(r) : CPL_OK;
  if (st < 0) return st;
  handle_events(r);
  if (r->last_check - r->rejected >= 1) log_suppressed(r);
  return check_clocks(r);
}

cpl_status cpli_remote_pump(cpli_remote* r, cpli_tlm_member** answered) {
  cpli_socket* control = &r->control;
  *answered = NULL;
  cpl_status st = check_cancel(r);
  if (st < 0) return st;
  if (!cpli_socket_receive(control, true, &r->in)) {
    cpli_sockets_wait(&control, 1, 0.02);
    if (!cpli_socket_receive(control, true, &r->in)) return supervise(r, true);
  }
  st = handle_message(r, answered);
  // also when a peer sends continuously
  return st < 0 || cpli_now() - r->last_check < 0.1 ? st : supervise(r, false);
}

cpl_status cpli_member_wait(cpli_tlm_member* b) {
  cpli_tlm_member* answered = NULL;
  cpl_status st = CPL_OK;
  while (st >= 0 && answered != b) st = cpli_remote_pump(b->remote, &answered);
  return st;
}

//------------------------------------ start ------------------------------------

static void list_missing(const cpli_remote* r, cpli_stage stage, char* out, size_t size) {
  size_t n = 0;
  out[0] = '\0';
  for (int32_t i = 0; i < r->m->n_parts && n < size; i++) {
    if (r->members[i].stage < stage)
      n += (size_t)snprintf(out + n, size - n, "%s%s", n > 0 ? ", " : "", name_of(r, i));
  }
}

static cpl_status wait_for(cpli_remote* r, cpli_stage stage, double since) {
  char missing[1024];
  cpl_status st = CPL_OK;
  for (;;) {
    cpli_tlm_member* ignored;
    list_missing(r, stage, missing, sizeof missing);
    if (missing[0] == '\0') return CPL_OK;
    st = cpli_remote_pump(r, &ignored);
    double waited = cpli_now() - since;
    if (st >= 0 && r->def.on_waiting != NULL) st = r->def.on_waiting(r->def.user, missing, waited);
    if (st < 0) break;
    if (waited > r->def.start_limit)
      return cpl_fail_in(ctx_of(r), CPL_ERR_CONNECTION, r->m->name, NULL, NAN,
                         "after %g s these sub-models %s: %s", r->def.start_limit,
                         stage == CPLI_STAGE_READY
                             ? "have not joined"
                             : "are not connected to all of their neighbours (join --listen)",
                         missing);
  }
  return st;
}

// Keys were registered before, so that the connections are accepted.
static cpl_status introduce(cpli_remote* r, cpli_tlm_member* b) {
  int32_t part = -1;
  begin(r, b, CPLI_MSG_MEET);
  while ((part = next_neighbour(r->m, b->part, part)) >= 0)
    cpli_put_text(&r->out, r->members[part].endpoint);
  return post(r, b);
}

static cpl_status gather(cpli_remote* r) {
  double since = cpli_now();
  cpl_status st = wait_for(r, CPLI_STAGE_READY, since);
  r->meeting = true;
  for (int32_t i = 0; i < r->m->n_parts && st >= 0; i++) st = introduce(r, &r->members[i]);
  return st < 0 ? st : wait_for(r, CPLI_STAGE_MET, since);
}

//------------------------------------ join files ------------------------------------

// The address for peers: a machine that listens at all addresses is known by its name.
static void public_address(const cpli_socket* s, char* out, size_t size) {
  char name[128] = "localhost";
  gethostname(name, sizeof name - 1);
  if (cpli_is_everywhere(s)) snprintf(out, size, "tcp://%s%s", name, strrchr(s->endpoint, ':'));
  else snprintf(out, size, "%s", s->endpoint);
}

static cpl_status write_file(cpli_remote* r, const cpli_socket* at, const char* name,
                             const cpli_keys* keys, cpli_written* out) {
  cpli_join_file f = {.session = r->session, .keys = *keys};
  char file[sizeof out->path];
  public_address(at, f.address, sizeof f.address);
  memcpy(f.server_key, r->keys.public_key, sizeof f.server_key);
  snprintf(f.part, sizeof f.part, "%s", name);
  snprintf(f.system, sizeof f.system, "%s", r->def.system != NULL ? r->def.system : "");
  if (!cpl_tlm_join_file(r->def.folder, name, file, sizeof file))
    return cpli_fail_file(ctx_of(r), CPL_ERR_INPUT, r->def.folder,
                          "the name of the folder is too long");
  for (int32_t i = 0; i < r->m->n_parts; i++) {  // special characters were replaced by _
    if (strcmp(r->members[i].file.path, file) == 0)
      return cpl_fail_in(ctx_of(r), CPL_ERR_INPUT, r->m->name, NULL, NAN,
                         "%s and %s would have the same join file %s", name_of(r, i), name, file);
  }
  cpl_status st = cpli_make_parents(ctx_of(r), file) < 0
                      ? CPL_ERR_INPUT
                      : cpli_join_file_write(ctx_of(r), file, &f, r->def.overwrite, out);
  explicit_bzero(&f.keys, sizeof f.keys);
  return st;
}

static cpl_status invite(cpli_remote* r) {
  cpl_status st = CPL_OK;
  cpli_keys observer;
  for (int32_t i = 0; i < r->m->n_parts && st >= 0; i++) {
    cpli_tlm_member* b = &r->members[i];
    if (strcmp(name_of(r, i), CPLI_OBSERVER) == 0)
      return cpl_fail_in(ctx_of(r), CPL_ERR_INPUT, r->m->name, NULL, NAN,
                         "a sub-model cannot be called %s: that is the name of the observer",
                         CPLI_OBSERVER);
    if (strlen(name_of(r, i)) >= CPLI_USER_SIZE)
      return cpl_fail_in(ctx_of(r), CPL_ERR_INPUT, r->m->name, NULL, NAN,
                         "the name of a sub-model is too long: %s", name_of(r, i));
    st = cpli_net_keys(r->net, &b->keys);
    if (st >= 0)
      st = cpli_net_allow(r->net, &cpli_endpoint_control, b->keys.public_key, name_of(r, i));
    if (st >= 0) st = write_file(r, &r->control, name_of(r, i), &b->keys, &b->file);
    explicit_bzero(b->keys.secret_key, sizeof b->keys.secret_key);  // only the join file has it
  }
  if (st >= 0) st = cpli_net_keys(r->net, &observer);
  if (st >= 0)
    st = cpli_net_allow(r->net, &cpli_endpoint_watch, observer.public_key, CPLI_OBSERVER);
  if (st >= 0) st = write_file(r, &r->watch, CPLI_OBSERVER, &observer, &r->observer_file);
  explicit_bzero(&observer, sizeof observer);
  return st;
}

static cpl_status listen_at_endpoints(cpli_remote* r) {
  const char* address = r->def.address != NULL ? r->def.address : "127.0.0.1";
  char host[CPLI_ENDPOINT_SIZE], watch_address[CPLI_ENDPOINT_SIZE + 4];
  cpl_status st = cpli_net_open(ctx_of(r), &r->net);
  if (st >= 0) st = cpli_net_keys(r->net, &r->keys);
  if (st >= 0) st = cpli_net_listen(r->net, &cpli_endpoint_control, &r->keys, address, &r->control);
  if (st < 0) return st;
  cpli_endpoint_host(r->control.endpoint, host, sizeof host);
  snprintf(watch_address, sizeof watch_address, strchr(host, ':') != NULL ? "[%s]" : "%s", host);
  if (r->def.watch_address != NULL)
    snprintf(watch_address, sizeof watch_address, "%s", r->def.watch_address);
  return cpli_net_listen(r->net, &cpli_endpoint_watch, &r->keys, watch_address, &r->watch);
}

static cpl_status notify_ready(cpli_remote* r) {
  char address[CPLI_ENDPOINT_SIZE];
  const char** names = cpli_alloc(ctx_of(r), (size_t)r->m->n_parts, sizeof *names);
  if (names == NULL) return cpli_nomem(ctx_of(r));
  for (int32_t i = 0; i < r->m->n_parts; i++) names[i] = name_of(r, i);
  public_address(&r->control, address, sizeof address);
  cpl_status st = r->def.on_ready(r->def.user, names, r->m->n_parts, address);
  cpli_free(ctx_of(r), names);
  return st;
}

cpl_status cpli_remote_open(cpli_tlm* m, const cpl_tlm_def* def) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_remote* r = m->remote = cpli_arena_alloc(&m->arena, 1, sizeof *r);
  if (r == NULL) return cpli_nomem(ctx);
  m->def.threads = 1;  // nothing is computed here
  *r = (cpli_remote){.m = m, .def = *def->serve, .out = {.ctx = ctx}, .suspect = -1};
  r->members = cpli_arena_alloc(&m->arena, (size_t)m->n_parts, sizeof *r->members);
  if (r->members == NULL) return cpli_nomem(ctx);
  if (getrandom(&r->session, sizeof r->session, 0) != (ssize_t)sizeof r->session)
    return cpl_fail(ctx, CPL_ERR_CONNECTION, "random numbers are not available: %s",
                    strerror(errno));
  for (int32_t i = 0; i < m->n_parts; i++) {
    r->members[i] = (cpli_tlm_member){
        .remote = r, .part = i, .original = m->parts[i].s, .fd = -1, .fragments = {.ctx = ctx}};
    cpli_member_init(&r->members[i]);
    m->parts[i].s = &r->members[i].stepper;
  }
  cpl_status st = listen_at_endpoints(r);
  if (st >= 0) st = invite(r);
  if (st >= 0 && r->def.on_ready != NULL) st = notify_ready(r);
  return st < 0 ? st : gather(r);
}

void cpli_remote_close(cpli_tlm* m) {
  cpli_remote* r = m->remote;
  if (r == NULL) return;
  cpl_context* ctx = ctx_of(r);
  if (r->control.s != NULL) notify_end(r, m->running ? CPL_ERR_CANCELLED : CPL_OK, "");
  log_suppressed(r);
  cpli_join_file_remove(&r->observer_file);
  for (int32_t i = 0; i < m->n_parts && r->members != NULL; i++) {
    cpli_tlm_member* b = &r->members[i];
    cpli_join_file_remove(&b->file);
    if (b->remote == NULL) continue;
    m->parts[i].s = b->original;
    cpli_free(ctx, b->wanted);
    cpli_free(ctx, b->texts);
    cpli_packet_free(&b->fragments);
  }
  if (r->net != NULL) cpli_incoming_close(r->net->z, &r->in);
  cpli_socket_close(&r->control);
  cpli_socket_close(&r->watch);
  cpli_net_close(r->net);
  cpli_packet_free(&r->out);
  cpli_free(ctx, r->reads);
  explicit_bzero(&r->keys, sizeof r->keys);
  m->remote = NULL;
}
