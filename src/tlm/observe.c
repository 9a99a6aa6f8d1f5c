// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// An observer of a run: it receives what the manager publishes, and sends nothing.
#include "couplet/tlm_net.h"
#include "format/source_loc.h"
#include "tlm/joinfile.h"

typedef struct observer {
  cpl_context* ctx;
  const cpl_tlm_join_def* def;
  cpl_tlm_observe_fn* seen;
  void* user;
  cpli_join_file file;
  cpli_net* net;
  cpli_socket socket;
  cpli_incoming in;
  bool connected, over;
} observer;

static cpl_status no_sense(observer* o) {
  return cpli_fail_file(o->ctx, CPL_ERR_CONNECTION, o->def->key_file,
                        "the manager sent an invalid message");
}

static cpl_status take_observations(observer* o) {
  cpli_bytes* in = &o->in.bytes;
  double t = cpli_get_finite(in);
  uint32_t n = cpli_get_count(in, 4 + 2 + 8 * (3 + 2 * CPLI_WIDTH));
  cpl_status st = CPL_OK;
  for (uint32_t i = 0; i < n && st >= 0; i++) {
    char name[CPLI_TEXT_MOST];
    cpl_tlm_observation s = {.interface = name, .time = t};
    cpli_get_text(in, name, sizeof name);
    s.width = cpli_get_u8(in);
    s.has_position = cpli_get_u8(in) == 1;
    for (int k = 0; k < 3; k++) s.position[k] = cpli_get_real(in);
    for (int k = 0; k < CPLI_WIDTH; k++) s.speed[k] = cpli_get_real(in);
    for (int k = 0; k < CPLI_WIDTH; k++) s.force[k] = cpli_get_real(in);
    if (in->bad || (s.width != 1 && s.width != CPLI_WIDTH)) return no_sense(o);
    st = o->seen(o->user, &s);
  }
  return st < 0 || cpli_all_read(in) ? st : no_sense(o);
}

static cpl_status take_end(observer* o) {
  char text[CPLI_TEXT_MOST];
  cpl_status st = (cpl_status)(int32_t)cpli_get_u32(&o->in.bytes);
  cpli_get_text(&o->in.bytes, text, sizeof text);
  o->over = true;
  if (!cpli_all_read(&o->in.bytes)) return no_sense(o);
  return st >= 0 ? CPL_OK
                 : cpl_fail(o->ctx, CPL_ERR_CANCELLED, "the run was ended%s%s",
                            text[0] != '\0' ? ": " : "", text);
}

static cpl_status take_message(observer* o) {
  cpli_head head;
  const char* fault = cpli_get_head(&o->in.bytes, &head);
  if (fault != NULL || head.session != o->file.session || head.from != CPLI_MANAGER)
    return no_sense(o);
  return head.kind == CPLI_MSG_OBSERVED ? take_observations(o)
         : head.kind == CPLI_MSG_END    ? take_end(o)
                                        : no_sense(o);
}

static cpl_status see_events(observer* o, double since) {
  int fd;
  const char* file = o->def->key_file;
  for (cpli_net_event e; (e = cpli_socket_event(&o->socket, &fd)) != CPLI_NET_NOTHING;) {
    if (e == CPLI_NET_CONNECTED) o->connected = true;
    else if (e == CPLI_NET_KEY_REFUSED)
      return cpli_fail_file(
          o->ctx, CPL_ERR_INPUT, file,
          "the manager does not know the key: the file belongs to another run, or "
          "is not that of an observer");
    else if (e == CPLI_NET_GONE && o->connected)
      return cpli_fail_file(o->ctx, CPL_ERR_CONNECTION, file,
                            "the connection to the manager was lost");
  }
  if (!o->connected && cpli_now() - since > o->def->start_limit)
    return cpl_fail(o->ctx, CPL_ERR_CONNECTION, "%s (%s): no answer within %g s", file,
                    o->file.address, o->def->start_limit);
  if (cpli_cancelled(o->ctx)) return cpl_fail(o->ctx, CPL_ERR_CANCELLED, "interrupted");
  return CPL_OK;
}

static cpl_status listen_on(observer* o) {
  cpl_status st = CPL_OK;
  cpli_socket* s = &o->socket;
  double since = cpli_now();
  while (st >= 0 && !o->over) {
    if (cpli_socket_receive(s, false, &o->in)) {
      st = take_message(o);
      continue;
    }
    cpli_sockets_wait(&s, 1, 0.1);
    if (cpli_socket_receive(s, false, &o->in)) st = take_message(o);
    else st = see_events(o, since);
  }
  return st;
}

cpl_status cpl_tlm_watch(cpl_context* ctx, const cpl_tlm_join_def* given, cpl_tlm_observe_fn* seen,
                         void* user) {
  cpl_tlm_join_def def = cpl_default_tlm_join_def();
  cpl_status st = cpli_read_def(ctx, "cpl_tlm_join_def", given, &def, sizeof def);
  observer o = {.ctx = ctx, .def = &def, .seen = seen, .user = user};
  if (st >= 0) st = cpli_join_file_read(ctx, def.key_file, &o.file);
  if (st >= 0 && strcmp(o.file.part, CPLI_OBSERVER) != 0)
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, def.key_file,
                        "this is the join file of %s; an observer needs " CPLI_OBSERVER ".join",
                        o.file.part);
  if (st >= 0) st = cpli_net_open(ctx, &o.net);
  if (st >= 0)
    st = cpli_net_connect(o.net, &cpli_endpoint_watch, o.file.address, o.file.server_key,
                          &o.file.keys, &o.socket);
  if (st >= 0) st = listen_on(&o);
  if (o.net != NULL) cpli_incoming_close(o.net->z, &o.in);
  cpli_socket_close(&o.socket);
  cpli_net_close(o.net);
  explicit_bzero(&o.file.keys, sizeof o.file.keys);
  return st;
}
