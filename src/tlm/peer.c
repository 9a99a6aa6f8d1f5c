// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The handshake of a peer with the manager, the settings it receives, and the loop in which it
// answers requests. Parts that run on other machines are replaced by stubs, which return the values
// that were sent for them.
#include "tlm/peer.h"
#include "format/source_loc.h"

#include <math.h>
#include <stdio.h>

enum { LONGEST_PACE = 60 };  // [s]: longer silence cannot be told from a lost connection

void cpl_init_tlm_join_def(cpl_tlm_join_def* def, size_t size) {
  const cpl_tlm_join_def all = {.start_limit = 600};
  cpli_init_def(def, size, &all, sizeof all);
}

const char* cpl_tlm_join_part(const cpl_tlm_join* j) { return j->file.part; }
const char* cpl_tlm_join_system(const cpl_tlm_join* j) { return j->file.system; }

void cpl_tlm_join_settings(const cpl_tlm_join* j, cpl_solver_def* solver, double* step,
                           double* usual_step) {
  *solver = j->solver;
  *step = j->step;
  *usual_step = j->usual_step;
}

int32_t cpl_tlm_join_solvers(const cpl_tlm_join* j, const cpl_model_solver** out) {
  *out = j->solvers;
  return j->n_solvers;
}

void cpli_join_solver(const cpl_tlm_join* j, const char* part, cpl_solver_def* solver) {
  if (strcmp(part, j->file.part) == 0) *solver = j->own_solver;
}

//-------------------------------- messages to and from the manager --------------------------------

void cpli_join_begin(cpl_tlm_join* j, cpli_message_kind kind) {
  cpli_put_head(&j->out, &(cpli_head){kind, j->file.session, j->part >= 0 ? j->part : CPLI_NOBODY,
                                      CPLI_MANAGER, j->sent});
}

cpl_status cpli_join_post(cpl_tlm_join* j) {
  cpl_status st = cpli_packet_check(&j->out, 0);
  if (st < 0) return st;
  if (!cpli_socket_post(&j->control, NULL, &j->out, &j->sent))
    return cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                       "the connection to the manager was lost");
  j->spoke = cpli_now();
  return CPL_OK;
}

static cpl_status ended(cpl_tlm_join* j) {
  char text[CPLI_TEXT_MOST];
  cpl_status st = (cpl_status)(int32_t)cpli_get_u32(&j->in.bytes);
  cpli_get_text(&j->in.bytes, text, sizeof text);
  if (!cpli_all_read(&j->in.bytes)) st = CPL_ERR_CANCELLED;
  j->over = true;
  if (st >= 0) return CPL_OK;
  bool unwanted = st == CPL_ERR_INPUT;
  return cpl_fail_in(j->ctx, unwanted ? st : CPL_ERR_CANCELLED, j->file.part, NULL, NAN,
                     "the manager %s%s%s", unwanted ? "rejected it" : "ended the run",
                     text[0] != '\0' ? ": " : "", text);
}

static cpl_status see_events(cpl_tlm_join* j) {
  static const struct {
    cpl_status st;
    const char* text;
  } words[] = {
      [CPLI_NET_GONE] = {CPL_ERR_CONNECTION, "the connection to the manager was lost"},
      [CPLI_NET_KEY_REFUSED] = {CPL_ERR_INPUT,
                                "the manager does not know the key: the join file "
                                "belongs to another run"},
      [CPLI_NET_NO_PROTOCOL] = {CPL_ERR_INPUT,
                                "the process that listens there is not the manager of this run, "
                                "or the join file is damaged"},
  };
  int fd;
  for (cpli_net_event e; (e = cpli_socket_event(&j->control, &fd)) != CPLI_NET_NOTHING;) {
    if (e == CPLI_NET_CONNECTED) j->connected = true;
    bool too_early = e == CPLI_NET_GONE && !j->connected && j->refusals++ < 3;  // it tries again
    if (e == CPLI_NET_CONNECTED || too_early) continue;
    if (e == CPLI_NET_GONE && !j->connected) e = CPLI_NET_NO_PROTOCOL;
    return cpl_fail(j->ctx, words[e].st, "%s (%s): %s", j->def.key_file, j->file.address,
                    words[e].text);
  }
  return CPL_OK;
}

static cpl_status interrupted(cpl_tlm_join* j) {
  if (j->m == NULL || !j->m->running) return cpli_interrupted(j->ctx, j->file.part, NAN);
  return cpli_interrupted(j->ctx, j->file.part, j->m->parts[j->part].t);
}

cpl_status cpli_join_next_message(cpl_tlm_join* j, double seconds, cpli_message_kind* kind) {
  cpli_socket* control = &j->control;
  cpli_head head, expected = {.session = j->file.session,
                              .from = CPLI_MANAGER,
                              .to = j->part >= 0 ? j->part : CPLI_NOBODY,
                              .sequence = j->received};
  *kind = (cpli_message_kind)0;
  if (!cpli_socket_receive(control, false, &j->in)) {
    if (seconds > 0) cpli_sockets_wait(&control, 1, seconds);
    if (!cpli_socket_receive(control, false, &j->in)) {
      return cpli_cancelled(j->ctx) ? interrupted(j) : see_events(j);
    }
  }
  const char* fault = cpli_get_head(&j->in.bytes, &head);
  // the first message of the manager has the number of our part
  bool first = fault == NULL && j->part < 0 && head.to >= 0 &&
               (head.kind == CPLI_MSG_SETTINGS || head.kind == CPLI_MSG_PIECE);
  if (first) expected.to = head.to;
  j->in.bytes.at = 0;
  if (fault == NULL) fault = cpli_expect(&j->in.bytes, &expected, &head);
  bool whole = false;
  if (fault == NULL) fault = cpli_join_fragments(&j->fragments, head.kind, &j->in.bytes, &whole);
  if (fault != NULL)
    return cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                       "the manager sent an invalid message: %s", fault);
  j->received++;
  if (first) j->part = head.to;
  if (!whole) return CPL_OK;
  *kind = head.kind;
  return head.kind == CPLI_MSG_END ? ended(j) : CPL_OK;
}

// Only END can follow, unless the connection to the manager is lost, too.
cpl_status cpli_join_lost(cpl_tlm_join* j, const cpli_neighbour* n, const char* what) {
  cpli_message_kind kind;
  j->lost = true;
  cpli_join_begin(j, CPLI_MSG_LOST);
  cpli_put_u32(&j->out, (uint32_t)n->part);
  cpli_put_text(&j->out, what);
  cpl_status st = cpli_join_post(j);
  double since = cpli_now();
  while (st >= 0 && !j->over && cpli_now() - since < 10) st = cpli_join_next_message(j, 0.1, &kind);
  return st < 0 ? st
                : cpl_fail_in(j->ctx, CPL_ERR_CANCELLED, j->file.part, NULL, NAN, "%s: %s", n->name,
                              what);
}

//------------------------------------ joining ------------------------------------

static cpl_status read_solvers(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  uint32_t n = cpli_get_count(in, 8);
  j->solvers = cpli_alloc(j->ctx, n, sizeof *j->solvers);
  j->solver_names = cpli_alloc(j->ctx, n, CPLI_USER_SIZE);
  if (j->solvers == NULL || j->solver_names == NULL) return cpli_nomem(j->ctx);
  for (uint32_t i = 0; i < n; i++) {
    char kind[32], *model = j->solver_names + (size_t)i * CPLI_USER_SIZE;
    cpli_get_text(in, model, CPLI_USER_SIZE);
    cpli_get_text(in, kind, sizeof kind);
    j->solvers[i].model = model;
    in->bad = in->bad || !cpl_solver_by_name(kind, &j->solvers[i].kind);
  }
  j->n_solvers = (int32_t)n;
  return CPL_OK;
}

static cpl_status read_settings(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  j->pace = cpli_get_finite(in);
  cpli_get_solver(in, &j->solver);
  j->step = cpli_get_finite(in);
  j->usual_step = cpli_get_finite(in);
  cpl_status st = read_solvers(j);
  if (st < 0) return st;
  cpli_get_solver(in, &j->own_solver);
  st = cpli_join_neighbours(j);
  if (st < 0) return st;
  if (cpli_all_read(in) && j->pace > 0 && j->pace <= LONGEST_PACE) return CPL_OK;
  return cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                     "the settings of the manager are invalid");
}

// Warns once, when it takes long: the manager may have ended or not started yet.
static void warn_waiting(cpl_tlm_join* j, double seconds, bool* warned) {
  if (*warned || seconds < 3) return;
  *warned = true;
  cpl_log(j->ctx, CPL_LOG_WARNING, j->file.part, "no answer from %s; waiting up to %g s",
          j->file.address, j->def.start_limit);
}

static cpl_status say_hello(cpl_tlm_join* j) {
  cpli_message_kind kind = (cpli_message_kind)0;
  bool warned = false;
  cpli_join_begin(j, CPLI_MSG_HELLO);
  cpli_put_text(&j->out, j->file.part);
  cpl_status st = cpli_join_post(j);
  double since = cpli_now();
  while (st >= 0 && kind != CPLI_MSG_SETTINGS) {
    st = cpli_join_next_message(j, 0.1, &kind);
    if (st >= 0 && kind == 0) warn_waiting(j, cpli_now() - since, &warned);
    if (st >= 0 && (j->over || (kind != 0 && kind != CPLI_MSG_SETTINGS)))
      st = cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                       "the manager rejected it");
    if (st >= 0 && kind == 0 && cpli_now() - since > j->def.start_limit)
      st = cpl_fail(j->ctx, CPL_ERR_CONNECTION, "%s (%s): no answer within %g s", j->def.key_file,
                    j->file.address, j->def.start_limit);
  }
  return st < 0 ? st : read_settings(j);
}

cpl_status cpl_tlm_join_open(cpl_context* ctx, const cpl_tlm_join_def* given, cpl_tlm_join** out) {
  *out = NULL;
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  cpl_status st = cpli_read_def(ctx, "cpl_tlm_join_def", given, &def, sizeof def);
  if (st < 0) return st;
  cpl_tlm_join* j = cpli_alloc(ctx, 1, sizeof *j);
  if (j == NULL) return cpli_nomem(ctx);
  j->ctx = j->out.ctx = j->body.ctx = j->fragments.ctx = j->wave_out.ctx = ctx;
  j->def = def;
  j->waves_endpoint = cpli_endpoint_waves;
  j->part = -1;
  st = cpli_join_file_read(ctx, def.key_file, &j->file);
  if (st >= 0 && strcmp(j->file.part, CPLI_OBSERVER) == 0)
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, def.key_file,
                        "this is the file of an observer (couplet tlm watch), not of a sub-model");
  if (st >= 0) st = cpli_net_open(ctx, &j->net);
  if (st >= 0)
    st = cpli_net_connect(j->net, &cpli_endpoint_control, j->file.address, j->file.server_key,
                          &j->file.keys, &j->control);
  if (st >= 0) st = say_hello(j);
  if (st < 0) cpl_tlm_join_close(j);
  else *out = j;
  return st;
}

void cpl_tlm_join_close(cpl_tlm_join* j) {
  if (j == NULL) return;
  if (j->net != NULL) {
    cpli_incoming_close(j->net->z, &j->in);
    cpli_incoming_close(j->net->z, &j->wave_in);
  }
  for (uint32_t i = 0; i < j->n_neighbours; i++) cpli_socket_close(&j->neighbours[i].socket);
  cpli_socket_close(&j->control);
  cpli_socket_close(&j->waves);
  cpli_net_close(j->net);
  cpli_packet_free(&j->out);
  cpli_packet_free(&j->body);
  cpli_packet_free(&j->fragments);
  cpli_packet_free(&j->wave_out);
  void* owned[] = {j->neighbours, j->sockets, j->stubs,   j->reads,
                   j->wanted,     j->scratch, j->solvers, j->solver_names};
  for (size_t i = 0; i < CPLI_COUNT(owned); i++) cpli_free(j->ctx, owned[i]);
  explicit_bzero(&j->file.keys, sizeof j->file.keys);
  cpli_free(j->ctx, j);
}

//------------------------------------ stubs ------------------------------------

static cpl_status read_elsewhere(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  const cpli_stub* stub = (const cpli_stub*)c;
  const cpl_tlm_join* j = stub->join;
  for (size_t i = 0; i < n; i++) {
    size_t k = 0;
    while (k < j->n_reads && (j->reads[k].part != stub->part || j->reads[k].ref != refs[i])) k++;
    if (k == j->n_reads)
      return cpl_fail_in(c->ctx, CPL_ERR_MODEL, c->name, NULL, NAN,
                         "a value of it was not received");
    values[i] = j->reads[k].value;
  }
  return CPL_OK;
}

static const cpl_component_ops stub_ops = {
    .size = sizeof(cpl_component_ops), .kind = "tlm elsewhere", .get_real = read_elsewhere};

static cpl_status stand_in(cpl_tlm_join* j) {
  cpli_tlm* m = j->m;
  j->stubs = cpli_alloc(j->ctx, (size_t)m->n_parts, sizeof *j->stubs);
  if (j->stubs == NULL) return cpli_nomem(j->ctx);
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_stub* s = &j->stubs[i];
    *s = (cpli_stub){.stepper = *m->parts[i].s, .join = j, .part = i, .original = m->parts[i].s};
    s->stepper.base.ops = &stub_ops;
    if (i != j->part) m->parts[i].s = &s->stepper;
  }
  // the manager has checked them
  for (int32_t i = 0; i < m->n_ends; i++) m->ends[i].checked = false;
  return CPL_OK;
}

static void stand_back(cpl_tlm_join* j) {
  for (int32_t i = 0; j->stubs != NULL && i < j->m->n_parts; i++)
    j->m->parts[i].s = j->stubs[i].original;
}

//------------------------------------ running ------------------------------------

// The endpoint for neighbours, which cannot use a wildcard address.
static void own_endpoint(cpl_tlm_join* j, char* out, size_t size) {
  char host[CPLI_ENDPOINT_SIZE];
  cpli_local_address(j->file.address, host, sizeof host);
  if (cpli_is_everywhere(&j->waves))
    snprintf(out, size, "tcp://%s%s", host, strrchr(j->waves.endpoint, ':'));
  else snprintf(out, size, "%s", j->waves.endpoint);
}

static cpl_status get_ready(cpl_tlm_join* j) {
  char endpoint[2 * CPLI_ENDPOINT_SIZE];
  cpl_status st = cpli_join_listen(j);
  if (st < 0) return st;
  cpli_join_begin(j, CPLI_MSG_READY);
  cpli_put_u64(&j->out, cpli_tlm_fingerprint(j->m));
  own_endpoint(j, endpoint, sizeof endpoint);
  cpli_put_text(&j->out, endpoint);
  st = cpli_join_post(j);
  if (st >= 0) st = stand_in(j);
  return st < 0 ? st : cpli_join_handshake(j);
}

static cpl_status serve(cpl_tlm_join* j) {
  cpl_status st = CPL_OK;
  while (st >= 0 && !j->over) {
    cpli_message_kind kind;
    st = cpli_join_next_message(j, 0.1, &kind);
    if (st < 0 || j->over || kind == 0) continue;
    st = kind == CPLI_MSG_CALL ? cpli_join_answer(j)
                               : cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                                             "the manager sent an impossible request");
  }
  return st;
}

cpl_status cpl_tlm_join_run(cpl_tlm_join* j, cpl_stepper* s) {
  j->m = cpli_tlm_of(s);
  if (j->m == NULL)
    return cpl_fail_in(j->ctx, CPL_ERR_INPUT, s->base.name, NULL, NAN,
                       "the system has no tlm lines");
  if (j->part >= j->m->n_parts || strcmp(j->m->parts[j->part].name, j->file.part) != 0)
    return cpl_fail_in(j->ctx, CPL_ERR_INPUT, s->base.name, NULL, NAN,
                       "the system has no sub-model %s as number %d", j->file.part,
                       (int)j->part + 1);
  cpl_status st = get_ready(j);
  if (st >= 0) st = serve(j);
  stand_back(j);
  return st;
}
