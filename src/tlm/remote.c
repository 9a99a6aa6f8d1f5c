// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Members as steppers: every operation is a request and a reply, except values at output points,
// which come with the reply to the run that led there.
#include "tlm/remote.h"

#include <math.h>

static cpli_tlm_member* as_member(cpl_component* c) { return (cpli_tlm_member*)c; }
static cpli_packet* out_of(cpli_tlm_member* b) { return &b->remote->out; }
static cpli_bytes* in_of(cpli_tlm_member* b) { return &b->remote->in.bytes; }

static cpl_status ask(cpli_tlm_member* b) {
  cpl_status st = cpli_member_send(b);
  return st < 0 ? st : cpli_member_wait(b);
}

static cpl_status finished(cpli_tlm_member* b) {
  if (cpli_all_read(in_of(b))) return CPL_OK;
  return cpli_remote_fail(b->remote, CPL_ERR_MODEL, b->part, "%s: its reply is invalid",
                          b->remote->m->parts[b->part].name);
}

static cpl_status simple(cpl_component* c, cpli_tlm_call call) {
  cpli_tlm_member* b = as_member(c);
  cpli_member_begin(b, call);
  cpl_status st = ask(b);
  return st < 0 ? st : finished(b);
}

//------------------------------------ life cycle ------------------------------------

static void destroy(cpl_component* c) { (void)c; }  // cpli_remote_close() does it

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_tlm_member* b = as_member(c);
  cpli_member_begin(b, CPLI_CALL_SETUP);
  cpli_put_real(out_of(b), s->start_time);
  cpli_put_u8(out_of(b), s->has_stop_time);
  cpli_put_real(out_of(b), s->stop_time);
  cpli_put_u8(out_of(b), s->has_tolerance);
  cpli_put_real(out_of(b), s->tolerance);
  cpl_status st = ask(b);
  return st < 0 ? st : finished(b);
}

static cpl_status enter_init(cpl_component* c) { return simple(c, CPLI_CALL_ENTER_INIT); }
static cpl_status exit_init(cpl_component* c) { return simple(c, CPLI_CALL_EXIT_INIT); }
static cpl_status terminate(cpl_component* c) { return simple(c, CPLI_CALL_TERMINATE); }
static cpl_status reset(cpl_component* c) { return simple(c, CPLI_CALL_RESET); }

//------------------------------------ values ------------------------------------

static int order_of(const cpli_wanted* w, uint32_t type, uint32_t ref) {
  if (w->type != type) return w->type < type ? -1 : 1;
  return w->ref == ref ? 0 : w->ref < ref ? -1 : 1;
}

// The position of a subscription, or where to insert it.
static size_t position_of(const cpli_tlm_member* b, uint32_t type, uint32_t ref) {
  size_t low = 0, high = b->n_wanted;
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (order_of(&b->wanted[mid], type, ref) < 0) low = mid + 1;
    else high = mid;
  }
  return low;
}

static const cpli_wanted* find_wanted(const cpli_tlm_member* b, uint32_t type, uint32_t ref) {
  size_t i = position_of(b, type, ref);
  return i < b->n_wanted && order_of(&b->wanted[i], type, ref) == 0 ? &b->wanted[i] : NULL;
}

// Subscribes values: those read at one output point will be read at the next one.
static cpl_status want(cpli_tlm_member* b, uint32_t type, const uint32_t* refs, size_t n) {
  cpl_context* ctx = b->stepper.base.ctx;
  for (size_t i = 0; i < n && b->remote->m->running; i++) {
    size_t at = position_of(b, type, refs[i]);
    if (at < b->n_wanted && order_of(&b->wanted[at], type, refs[i]) == 0) continue;
    if (!cpli_grow(ctx, (void**)&b->wanted, &b->cap_wanted, b->n_wanted, sizeof *b->wanted))
      return cpli_nomem(ctx);
    memmove(&b->wanted[at + 1], &b->wanted[at], (b->n_wanted++ - at) * sizeof *b->wanted);
    b->wanted[at] = (cpli_wanted){.type = type, .ref = refs[i]};
    b->fresh = false;
  }
  return CPL_OK;
}

static bool all_there(const cpli_tlm_member* b, uint32_t type, const uint32_t* refs, size_t n) {
  for (size_t i = 0; i < n && b->fresh; i++) {
    if (find_wanted(b, type, refs[i]) == NULL) return false;
  }
  return b->fresh;
}

static void put_refs(cpli_packet* w, const uint32_t* refs, size_t n) {
  cpli_put_u32(w, (uint32_t)n);
  for (size_t i = 0; i < n; i++) cpli_put_u32(w, refs[i]);
}

static cpl_status remember(cpli_tlm_member* b, const uint32_t* refs, size_t n,
                           const double* values) {
  cpli_remote* r = b->remote;
  for (size_t i = 0; i < n && r->reading; i++) {
    if (!cpli_grow(b->stepper.base.ctx, (void**)&r->reads, &r->cap_reads, r->n_reads,
                   sizeof *r->reads))
      return cpli_nomem(b->stepper.base.ctx);
    r->reads[r->n_reads++] = (cpli_tlm_read){b->part, refs[i], values[i]};
  }
  return CPL_OK;
}

static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  cpli_tlm_member* b = as_member(c);
  if (all_there(b, CPL_REAL, refs, n)) {
    for (size_t i = 0; i < n; i++) values[i] = find_wanted(b, CPL_REAL, refs[i])->value.real;
    return CPL_OK;
  }
  cpli_member_begin(b, CPLI_CALL_GET_REAL);
  put_refs(out_of(b), refs, n);
  cpl_status st = ask(b);
  for (size_t i = 0; i < n && st >= 0; i++) values[i] = cpli_get_real(in_of(b));
  if (st >= 0) st = finished(b);
  if (st >= 0) st = remember(b, refs, n, values);
  return st < 0 || b->remote->reading ? st : want(b, CPL_REAL, refs, n);
}

static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  cpli_tlm_member* b = as_member(c);
  if (all_there(b, type, refs, n)) {
    for (size_t i = 0; i < n; i++) values[i] = find_wanted(b, type, refs[i])->value.integer;
    return CPL_OK;
  }
  cpli_member_begin(b, CPLI_CALL_GET_INTEGER);
  cpli_put_u32(out_of(b), type);
  put_refs(out_of(b), refs, n);
  cpl_status st = ask(b);
  for (size_t i = 0; i < n && st >= 0; i++) values[i] = (int64_t)cpli_get_u64(in_of(b));
  if (st >= 0) st = finished(b);
  return st < 0 ? st : want(b, type, refs, n);
}

static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  cpli_tlm_member* b = as_member(c);
  cpli_member_begin(b, CPLI_CALL_GET_STRING);
  put_refs(out_of(b), refs, n);
  cpl_status st = ask(b);
  if (st < 0) return st;
  size_t room = in_of(b)->n + n;  // each text has its length before it, and gets a zero behind it
  cpli_free(c->ctx, b->texts);
  char* at = b->texts = cpli_alloc(c->ctx, room, 1);
  if (at == NULL) return cpli_nomem(c->ctx);
  for (size_t i = 0; i < n; i++) {
    cpli_get_text(in_of(b), at, room - (size_t)(at - b->texts));
    values[i] = at;
    at += strlen(at) + 1;
  }
  return finished(b);
}

static cpl_status set_values(cpli_tlm_member* b) {
  b->fresh = false;
  cpl_status st = ask(b);
  return st < 0 ? st : finished(b);
}

static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  cpli_tlm_member* b = as_member(c);
  cpli_member_begin(b, CPLI_CALL_SET_REAL);
  put_refs(out_of(b), refs, n);
  cpli_put_reals(out_of(b), values, n);
  return set_values(b);
}

static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  cpli_tlm_member* b = as_member(c);
  cpli_member_begin(b, CPLI_CALL_SET_INTEGER);
  cpli_put_u32(out_of(b), type);
  put_refs(out_of(b), refs, n);
  for (size_t i = 0; i < n; i++) cpli_put_u64(out_of(b), (uint64_t)values[i]);
  return set_values(b);
}

static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  cpli_tlm_member* b = as_member(c);
  for (size_t i = 0; i < n; i++) {
    if (strlen(values[i]) >= CPLI_TEXT_MOST)
      return cpl_fail_in(c->ctx, CPL_ERR_UNSUPPORTED, c->name, NULL, NAN,
                         "a text of %zu bytes is too long to be sent", strlen(values[i]));
  }
  cpli_member_begin(b, CPLI_CALL_SET_STRING);
  put_refs(out_of(b), refs, n);
  for (size_t i = 0; i < n; i++) cpli_put_text(out_of(b), values[i]);
  return set_values(b);
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpli_tlm_member* b = as_member(&s->base);
  if (curve->value != NULL)
    return cpl_fail_in(s->base.ctx, CPL_ERR_UNSUPPORTED, s->base.name, NULL, NAN,
                       "an input that is a function of this program cannot be sent to a peer");
  cpli_member_begin(b, CPLI_CALL_SET_CURVE);
  cpli_put_u32(out_of(b), ref);
  cpli_put_real(out_of(b), curve->from);
  cpli_put_u32(out_of(b), (uint32_t)curve->order);
  cpli_put_reals(out_of(b), curve->coefficient, CPLI_COUNT(curve->coefficient));
  return set_values(b);
}

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  (void)t_limit;
  // never called: all advance together, cpli_remote_run()
  *result = (cpl_step_result){.time = t_end};
  return cpl_fail_in(s->base.ctx, CPL_ERR_UNSUPPORTED, s->base.name, NULL, NAN,
                     "it advances with all others only");
}

static const cpl_component_ops component_ops = {.size = sizeof(cpl_component_ops),
                                                .kind = "tlm member",
                                                .destroy = destroy,
                                                .setup = setup,
                                                .enter_init = enter_init,
                                                .exit_init = exit_init,
                                                .terminate = terminate,
                                                .reset = reset,
                                                .get_real = get_real,
                                                .set_real = set_real,
                                                .get_integer = get_integer,
                                                .set_integer = set_integer,
                                                .get_string = get_string,
                                                .set_string = set_string};
static const cpl_stepper_ops stepper_ops = {
    .size = sizeof(cpl_stepper_ops), .step = step, .set_curve = set_curve};
static const cpl_stepper_ops plain_ops = {.size = sizeof(cpl_stepper_ops), .step = step};

void cpli_member_init(cpli_tlm_member* b) {
  b->stepper.base = b->original->base;
  b->stepper.base.ops = &component_ops;
  b->stepper.ops = b->original->ops->set_curve != NULL ? &stepper_ops : &plain_ops;
}

//------------------------------------ start ------------------------------------

static cpl_status ask_all(cpli_remote* r, void (*write)(cpli_tlm_member* b, double t), double t,
                          cpl_status (*read)(cpli_tlm_member* b)) {
  cpl_status st = CPL_OK;
  int32_t n = r->m->n_parts, answers = 0;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    write(&r->members[i], t);
    st = cpli_member_send(&r->members[i]);
  }
  while (st >= 0 && answers < n) {
    cpli_tlm_member* b;
    st = cpli_remote_pump(r, &b);
    if (st < 0 || b == NULL) continue;
    answers++;
    st = read(b);
    if (st >= 0) st = finished(b);
  }
  return st;
}

static void write_start(cpli_tlm_member* b, double t) {
  cpli_remote* r = b->remote;
  (void)t;
  cpli_member_begin(b, CPLI_CALL_START);
  cpli_put_u32(&r->out, (uint32_t)r->n_reads);
  for (size_t i = 0; i < r->n_reads; i++) {
    cpli_put_u32(&r->out, (uint32_t)r->reads[i].part);
    cpli_put_u32(&r->out, r->reads[i].ref);
    cpli_put_real(&r->out, r->reads[i].value);
  }
}

static cpl_status read_nothing(cpli_tlm_member* b) {
  (void)b;
  return CPL_OK;
}

// Fills the lines here, too, which reads all values they depend on.
cpl_status cpli_remote_start(cpli_tlm* m) {
  cpli_remote* r = m->remote;
  r->n_reads = 0;
  r->reading = true;
  for (int32_t i = 0; i < m->n_parts; i++) r->members[i].fresh = false;
  cpl_status st = cpli_tlm_start(m);
  r->reading = false;
  return st < 0 ? st : ask_all(r, write_start, m->t_start, read_nothing);
}

//------------------------------------ run ------------------------------------

static bool is_observed(const cpli_remote* r) {
  return cpli_now() - r->observed >= r->def.watch_interval;
}

static void write_run(cpli_tlm_member* b, double until) {
  cpli_remote* r = b->remote;
  bool changed = b->n_subscribed != b->n_wanted;
  cpli_member_begin(b, CPLI_CALL_RUN);
  cpli_put_real(&r->out, until);
  cpli_put_u8(&r->out, r->observing);
  cpli_put_u8(&r->out, changed);
  b->fresh = false;
  if (!changed) return;
  cpli_put_u32(&r->out, (uint32_t)b->n_wanted);
  for (size_t i = 0; i < b->n_wanted; i++) {
    cpli_put_u32(&r->out, b->wanted[i].type);
    cpli_put_u32(&r->out, b->wanted[i].ref);
  }
  b->n_subscribed = b->n_wanted;
}

static void publish(cpli_tlm_member* b) {
  cpli_remote* r = b->remote;
  const cpli_tlm_part* p = &r->m->parts[b->part];
  cpli_put_head(&r->out, &(cpli_head){CPLI_MSG_OBSERVED, r->session, CPLI_MANAGER, CPLI_NOBODY,
                                      r->n_observed++});
  cpli_put_real(&r->out, p->t);
  cpli_put_u32(&r->out, (uint32_t)p->n_ends);
  for (int32_t i = 0; i < p->n_ends; i++) {
    cpli_put_text(&r->out, r->m->ends[p->first_end + i].name);
    cpli_put_u8(&r->out, (uint8_t)r->m->ends[p->first_end + i].width);
    cpli_put_u8(&r->out, cpli_get_u8(in_of(b)));
    for (int32_t k = 0; k < 3 + 2 * CPLI_WIDTH; k++)
      cpli_put_real(&r->out, cpli_get_real(in_of(b)));
  }
  if (!in_of(b)->bad) cpli_socket_send(&r->watch, NULL, &r->out);
}

static cpl_status read_run(cpli_tlm_member* b) {
  cpli_bytes* in = in_of(b);
  cpli_tlm_part* p = &b->remote->m->parts[b->part];
  p->t = cpli_get_finite(in);
  p->ended = cpli_get_u8(in) == 1;
  p->n_pieces = (int64_t)cpli_get_u64(in);
  p->n_events = (int64_t)cpli_get_u64(in);
  for (size_t i = 0; i < b->n_wanted; i++) {
    if (b->wanted[i].type == CPL_REAL) b->wanted[i].value.real = cpli_get_real(in);
    else b->wanted[i].value.integer = (int64_t)cpli_get_u64(in);
  }
  b->fresh = true;
  if (b->remote->observing) publish(b);
  return CPL_OK;
}

cpl_status cpli_remote_run(cpli_tlm* m, double until) {
  cpli_remote* r = m->remote;
  r->observing = is_observed(r);
  if (r->observing) r->observed = cpli_now();
  return ask_all(r, write_run, until, read_run);
}
