// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Handshakes of neighbours, and the exchange of waves with them.
#include <float.h>
#include <math.h>
#include <stdio.h>

#include "tlm/peer.h"

//------------------------------------ handshake ------------------------------------

// The number of ends of part `from` whose waves go to part `to`.
static uint32_t count_waves(const cpli_tlm* m, int32_t from, int32_t to) {
  const cpli_tlm_part* p = &m->parts[from];
  uint32_t n = 0;
  for (int32_t i = p->first_end; i < p->first_end + p->n_ends; i++)
    n += m->ends[i].sends && m->ends[m->ends[i].peer].part == to;
  return n;
}

cpl_status cpli_join_neighbours(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  uint32_t n = cpli_get_count(in, 12);
  j->neighbours = cpli_alloc(j->ctx, n, sizeof *j->neighbours);
  j->sockets = cpli_alloc(j->ctx, (size_t)n + 2, sizeof *j->sockets);
  if (j->neighbours == NULL || j->sockets == NULL) return cpli_nomem(j->ctx);
  j->n_neighbours = n;
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < n && st >= 0; i++) {
    cpli_neighbour* b = &j->neighbours[i];
    b->part = (int32_t)cpli_get_u32(in);
    cpli_get_text(in, b->name, sizeof b->name);
    cpli_get_text(in, b->key, sizeof b->key);
    in->bad = in->bad || b->part < 0 || b->part == j->part || strlen(b->key) != CPLI_KEY_SIZE - 1;
    b->connects = b->part < j->part;  // of two neighbours the second one connects to the first
    if (!b->connects) st = cpli_net_allow(j->net, &cpli_endpoint_waves, b->key, b->name);
  }
  return st;
}

// The max number of segments that a correct neighbour can send. Segments are in transit for two
// delays at most: the neighbour leads by up to one delay, and a wave is needed until one delay
// after it was sent. Each jump adds one segment.
static void limit_waves(const cpli_tlm* m, int32_t part, cpli_neighbour* n) {
  enum { MAX_JUMPS = 1 << 16 };
  const cpli_tlm_part* p = &m->parts[part];
  double longest = 0, h = m->parts[n->part].h;
  n->ahead = (double)INFINITY;
  for (int32_t i = p->first_end; i < p->first_end + p->n_ends; i++) {
    if (m->ends[m->ends[i].peer].part != n->part) continue;
    n->ahead = fmin(n->ahead, m->ends[i].delay);
    longest = fmax(longest, m->ends[i].delay);
  }
  n->regular = fmin(4 * longest / h, 1e12);
  n->max_segments = (size_t)n->regular + MAX_JUMPS;
  n->n_waves = count_waves(m, n->part, part);
}

// The queue must not fill up while a part computes for long: ZeroMQ then reads no heartbeats, and
// the neighbour counts as lost.
static int room_for(const cpli_neighbour* n) {
  static const double max_room = 1 << 16;
  return (int)fmin(n->regular, max_room);
}

cpl_status cpli_join_listen(cpl_tlm_join* j) {
  char address[CPLI_ENDPOINT_SIZE];
  int room = 0;
  for (uint32_t i = 0; i < j->n_neighbours; i++) {
    cpli_neighbour* b = &j->neighbours[i];
    if (b->part >= j->m->n_parts)
      return cpl_fail_in(j->ctx, CPL_ERR_INPUT, j->file.part, NULL, NAN,
                         "the manager's system has more sub-models");
    limit_waves(j->m, j->part, b);
    int64_t longest = CPLI_HEAD_SIZE + CPLI_WAVE_HEAD_SIZE + (int64_t)b->n_waves * CPLI_MAX_SEGMENT;
    if (longest > j->waves_endpoint.longest) j->waves_endpoint.longest = longest;
    room = room_for(b) > room ? room_for(b) : room;
  }
  j->waves_endpoint.arriving =
      cpli_endpoint_waves.arriving + room;  // room for segments that jumps add
  cpli_local_address(j->file.address, address, sizeof address);
  return cpli_net_listen(j->net, &j->waves_endpoint, &j->file.keys,
                         j->def.listen != NULL ? j->def.listen : address, &j->waves);
}

static cpl_status read_endpoints(cpl_tlm_join* j) {
  for (uint32_t i = 0; i < j->n_neighbours; i++)
    cpli_get_text(&j->in.bytes, j->neighbours[i].endpoint, sizeof j->neighbours[i].endpoint);
  if (!cpli_all_read(&j->in.bytes))
    return cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                       "the manager's list of neighbours is invalid");
  j->sockets[j->n_sockets++] = &j->control;
  j->sockets[j->n_sockets++] = &j->waves;
  return CPL_OK;
}

static void begin(cpl_tlm_join* j, cpli_neighbour* n, cpli_message_kind kind) {
  cpli_put_head(&j->wave_out, &(cpli_head){kind, j->file.session, j->part, n->part, n->sent++});
}

// A neighbour that computes for long has not received earlier waves. Its own waves are received
// meanwhile: it may be waiting for room, too.
static cpl_status wait_for_room(cpl_tlm_join* j) {
  int64_t n = 0;
  cpl_status st = cpli_join_receive(j, &n);
  if (st >= 0 && n == 0) cpli_sockets_doze(j->sockets, j->n_sockets, 1e-3);
  if (st >= 0) st = cpli_join_heartbeat(j);
  return st < 0 || j->over ? st : cpli_join_events(j);
}

static cpl_status post(cpl_tlm_join* j, cpli_neighbour* n) {
  cpli_socket* s = n->connects ? &n->socket : &j->waves;
  cpl_status st = cpli_packet_check(&j->wave_out, 0);
  while (st >= 0 && !j->over) {
    if (cpli_socket_send(s, n->connects ? NULL : &n->route, &j->wave_out)) return CPL_OK;
    st = cpli_socket_is_full(s) ? wait_for_room(j) : cpli_join_lost(j, n, CPLI_GONE);
  }
  return st;
}

static cpl_status greet(cpl_tlm_join* j, cpli_neighbour* n) {
  begin(j, n, CPLI_MSG_GREET);
  return post(j, n);
}

static cpl_status approach(cpl_tlm_join* j, cpli_neighbour* n) {
  if (!n->connects) return CPL_OK;
  cpl_status st =
      cpli_net_connect(j->net, &j->waves_endpoint, n->endpoint, n->key, &j->file.keys, &n->socket);
  if (st < 0) return st;
  j->sockets[j->n_sockets++] = &n->socket;
  return greet(j, n);
}

static bool all_met(const cpl_tlm_join* j) {
  for (uint32_t i = 0; i < j->n_neighbours; i++) {
    if (!j->neighbours[i].met) return false;
  }
  return true;
}

cpl_status cpli_join_handshake(cpl_tlm_join* j) {
  cpli_message_kind kind = (cpli_message_kind)0;
  cpl_status st = CPL_OK;
  while (st >= 0 && kind != CPLI_MSG_MEET) {
    st = cpli_join_next_message(j, 0.1, &kind);
    if (st >= 0 && (j->over || (kind != 0 && kind != CPLI_MSG_MEET)))
      st = cpl_fail_in(j->ctx, CPL_ERR_CANCELLED, j->file.part, NULL, NAN,
                       "the manager ended the run before the start");
  }
  if (st >= 0) st = read_endpoints(j);
  for (uint32_t i = 0; i < j->n_neighbours && st >= 0; i++) st = approach(j, &j->neighbours[i]);
  while (st >= 0 && !all_met(j) && !j->over) {
    int64_t n = 0;
    st = cpli_join_receive(j, &n);
    if (st < 0 || n > 0) continue;
    cpli_sockets_wait(j->sockets, j->n_sockets, 0.1);
    st = cpli_join_next_message(j, 0, &kind);
    if (st >= 0) st = cpli_join_events(j);
  }
  if (st < 0 || j->over) return st;
  cpli_join_begin(j, CPLI_MSG_MET);
  return cpli_join_post(j);
}

//------------------------------------ receiving waves ------------------------------------

static const char nonsense[] = "it sends invalid data";

// A segment continues the one before, at an end that has a line to this part.
static bool take_segment(cpl_tlm_join* j, const cpli_neighbour* n, cpli_bytes* in, double to) {
  cpli_tlm* m = j->m;
  int32_t end, width;
  cpli_segment s;
  cpli_get_segment(in, &end, &width, &s);
  if (in->bad || end >= m->n_ends) return false;
  cpli_tlm_end* e = &m->ends[end];
  if (e->part != n->part || !e->sends || m->ends[e->peer].part != j->part || width != e->width)
    return false;
  if (e->sent.n == 0 || cpli_wave_last(&e->sent)->to != s.from || s.to != to) return false;
  return cpli_wave_add(&e->sent, &s) >= 0;
}

// A correct neighbour waits for our waves before it goes farther; anything more would only fill
// memory. Returns NULL, or what is wrong.
static const char* check_ahead(const cpl_tlm_join* j, cpli_neighbour* n, double published) {
  const cpli_tlm_part *own = &j->m->parts[j->part], *p = &j->m->parts[n->part];
  double near = 1e-6 * n->ahead + 16 * DBL_EPSILON * fabs(published);  // rounding
  if (published > own->published + n->ahead + near)
    return "waves farther ahead than the delay of the line allows";
  for (int32_t i = p->first_end; i < p->first_end + p->n_ends; i++) {
    if (j->m->ends[i].sent.n >= n->max_segments)
      return "more segments of waves than the line can hold";
  }
  return NULL;
}

static const char* take_waves(cpl_tlm_join* j, cpli_neighbour* n, cpli_bytes* in) {
  static const char bad[] = "waves that do not continue the ones before";
  cpli_tlm_part* p = &j->m->parts[n->part];
  cpli_wave_head head;
  cpli_get_wave_head(in, &head);
  if (in->bad || n->stopped || head.n != (head.stopped ? 0 : n->n_waves)) return bad;
  if (head.stopped ? head.published != p->published : !(head.published > p->published)) return bad;
  const char* fault = check_ahead(j, n, head.published);
  if (fault != NULL) return fault;
  for (uint32_t i = 0; i < head.n; i++) {
    if (!take_segment(j, n, in, head.published)) return bad;
  }
  if (!cpli_all_read(in)) return bad;
  p->published = head.published;
  n->stopped = head.stopped;
  return NULL;
}

static cpl_status lost_to_nonsense(cpl_tlm_join* j, const cpli_neighbour* n, const char* fault) {
  char text[128];
  snprintf(text, sizeof text, "%s: %s", nonsense, fault);
  return cpli_join_lost(j, n, text);
}

// Whether a neighbour is lost.
static bool note_events(cpl_tlm_join* j) {
  int fd;
  bool gone = false;
  for (cpli_net_event e; (e = cpli_socket_event(&j->waves, &fd)) != CPLI_NET_NOTHING;) {
    for (uint32_t i = 0; i < j->n_neighbours && e == CPLI_NET_GONE; i++) {
      cpli_neighbour* n = &j->neighbours[i];
      n->gone = n->gone || (!n->connects && n->met && n->fd == fd);
    }
  }
  for (uint32_t i = 0; i < j->n_neighbours; i++) {
    cpli_neighbour* n = &j->neighbours[i];
    for (cpli_net_event e; n->connects && (e = cpli_socket_event(&n->socket, &fd));)
      n->gone = n->gone || (e == CPLI_NET_GONE && n->met);
    gone = gone || n->gone;
  }
  return gone;
}

static cpl_status take_message(cpl_tlm_join* j, cpli_neighbour* n, cpli_incoming* in) {
  cpli_head head,
      expected = {
          .session = j->file.session, .from = n->part, .to = j->part, .sequence = n->received};
  const char* fault = cpli_expect(&in->bytes, &expected, &head);
  if (fault != NULL) return lost_to_nonsense(j, n, fault);
  n->received++;
  if (head.kind == CPLI_MSG_WAVE && n->met) {
    fault = take_waves(j, n, &in->bytes);
    return fault == NULL ? CPL_OK : lost_to_nonsense(j, n, fault);
  }
  if (head.kind != CPLI_MSG_GREET || n->met || !cpli_all_read(&in->bytes))
    return cpli_join_lost(j, n, nonsense);
  // events of an earlier connection with the same number do not count
  if (!n->connects) note_events(j);
  n->met = true;
  if (n->connects) return CPL_OK;
  n->route = in->route;
  n->fd = in->fd;
  return greet(j, n);
}

static cpli_neighbour* find(cpl_tlm_join* j, const char* user) {
  for (uint32_t i = 0; i < j->n_neighbours && user != NULL; i++) {
    if (!j->neighbours[i].connects && strcmp(j->neighbours[i].name, user) == 0)
      return &j->neighbours[i];
  }
  return NULL;
}

cpl_status cpli_join_receive(cpl_tlm_join* j, int64_t* n) {
  cpl_status st = CPL_OK;
  while (st >= 0 && cpli_socket_receive(&j->waves, true, &j->wave_in)) {
    cpli_neighbour* from = find(j, j->wave_in.user);
    if (from != NULL) st = take_message(j, from, &j->wave_in);
    ++*n;
  }
  for (uint32_t i = 0; i < j->n_neighbours && st >= 0; i++) {
    cpli_neighbour* from = &j->neighbours[i];
    while (st >= 0 && from->connects && cpli_socket_receive(&from->socket, false, &j->wave_in)) {
      st = take_message(j, from, &j->wave_in);
      ++*n;
    }
  }
  return st;
}

cpl_status cpli_join_events(cpl_tlm_join* j) {
  cpl_status st = CPL_OK;
  int64_t ignored = 0;
  if (note_events(j)) st = cpli_join_receive(j, &ignored);
  for (uint32_t i = 0; i < j->n_neighbours && st >= 0 && !j->over; i++) {
    if (j->neighbours[i].gone) st = cpli_join_lost(j, &j->neighbours[i], CPLI_GONE);
  }
  return st;
}

//------------------------------------ sending waves ------------------------------------

static cpl_status send_to(cpl_tlm_join* j, cpli_neighbour* n, bool stopped) {
  cpli_tlm* m = j->m;
  const cpli_tlm_part* p = &m->parts[j->part];
  begin(j, n, CPLI_MSG_WAVE);
  cpli_put_real(&j->wave_out, p->published);
  cpli_put_u8(&j->wave_out, stopped);
  cpli_put_u32(&j->wave_out, stopped ? 0 : count_waves(m, j->part, n->part));
  for (int32_t i = p->first_end; i < p->first_end + p->n_ends && !stopped; i++) {
    cpli_tlm_end* e = &m->ends[i];
    if (!e->sends || m->ends[e->peer].part != n->part) continue;
    cpli_put_segment(&j->wave_out, i, e->width, cpli_wave_last(&e->sent));
    cpli_wave_forget(&e->sent, p->published);  // all receivers have it now
  }
  return post(j, n);
}

cpl_status cpli_join_send(cpl_tlm_join* j, bool stopped) {
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < j->n_neighbours && st >= 0; i++)
    st = send_to(j, &j->neighbours[i], stopped);
  return st;
}
