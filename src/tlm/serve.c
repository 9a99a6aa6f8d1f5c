// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Answers requests of the manager for the part that runs here.
#include <math.h>
#include <sched.h>

#include "base/thread_pool.h"
#include "tlm/peer.h"

static cpli_tlm_part* part_of(const cpl_tlm_join* j) { return &j->m->parts[j->part]; }
static cpl_component* component_of(const cpl_tlm_join* j) { return &part_of(j)->s->base; }

static cpl_status no_sense(cpl_tlm_join* j) {
  return cpl_fail_in(j->ctx, CPL_ERR_CONNECTION, j->file.part, NULL, NAN,
                     "the manager sent an invalid request");
}

// Memory for n items of each of two kinds.
static cpl_status make_room(cpl_tlm_join* j, size_t n, size_t size, void** first, void** second) {
  size_t bytes = n * (size + 8) + 64;
  if (bytes > j->n_scratch) {
    void* more = cpli_realloc(j->ctx, j->scratch, bytes, 1);
    if (more == NULL) return cpli_nomem(j->ctx);
    j->scratch = more;
    j->n_scratch = bytes;
  }
  *second = j->scratch;
  *first = (char*)j->scratch + 8 * n;
  return CPL_OK;
}

//------------------------------------ life cycle ------------------------------------

static cpl_status do_setup(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  cpl_setup s = {.size = sizeof(cpl_setup), .start_time = cpli_get_finite(in)};
  s.has_stop_time = cpli_get_u8(in) == 1;
  s.stop_time = cpli_get_finite(in);
  s.has_tolerance = cpli_get_u8(in) == 1;
  s.tolerance = cpli_get_finite(in);
  if (!cpli_all_read(in)) return no_sense(j);
  j->m->t = j->m->t_start = s.start_time;
  j->m->t_stop = s.has_stop_time ? s.stop_time : (double)INFINITY;
  return component_of(j)->ops->setup(component_of(j), &s);
}

static cpl_status do_enter(cpl_tlm_join* j) {
  return component_of(j)->ops->enter_init(component_of(j));
}

static cpl_status do_exit(cpl_tlm_join* j) {
  cpl_status st = component_of(j)->ops->exit_init(component_of(j));
  j->m->running = st >= 0;
  return st;
}

static cpl_status do_terminate(cpl_tlm_join* j) {
  j->m->running = false;
  return component_of(j)->ops->terminate(component_of(j));
}

static cpl_status do_reset(cpl_tlm_join* j) {
  j->m->running = false;
  return component_of(j)->ops->reset(component_of(j));
}

//------------------------------------ values ------------------------------------

// References are the part's own: unknown ones are refused here, since models may not check.
static bool is_known(const cpl_tlm_join* j, cpl_type type, uint32_t ref) {
  const cpl_description* d = component_of(j)->desc;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].type == (int)type && d->vars[i].ref == ref) return true;
  }
  return false;
}

static cpl_status read_refs(cpl_tlm_join* j, cpl_type type, size_t* n, uint32_t** refs,
                            void** values) {
  cpli_bytes* in = &j->in.bytes;
  *n = cpli_get_count(in, 4);
  cpl_status st = make_room(j, *n, sizeof **refs, (void**)refs, values);
  for (size_t i = 0; i < *n && st >= 0; i++) {
    (*refs)[i] = cpli_get_u32(in);
    if (in->bad || !is_known(j, type, (*refs)[i])) st = no_sense(j);
  }
  return st;
}

static cpl_status do_get_real(cpl_tlm_join* j) {
  size_t n;
  uint32_t* refs;
  void* values;
  cpl_status st = read_refs(j, CPL_REAL, &n, &refs, &values);
  if (st >= 0 && !cpli_all_read(&j->in.bytes)) st = no_sense(j);
  if (st >= 0) st = component_of(j)->ops->get_real(component_of(j), refs, n, values);
  if (st >= 0) cpli_put_reals(&j->body, values, n);
  return st;
}

static bool is_integer(uint32_t type) {
  return type == CPL_INTEGER || type == CPL_BOOLEAN || type == CPL_ENUMERATION || type == CPL_CLOCK;
}

static cpl_status do_get_integer(cpl_tlm_join* j) {
  size_t n;
  uint32_t type = cpli_get_u32(&j->in.bytes), *refs;
  void* values;
  if (!is_integer(type)) return no_sense(j);
  cpl_status st = read_refs(j, (cpl_type)type, &n, &refs, &values);
  if (st >= 0 && !cpli_all_read(&j->in.bytes)) st = no_sense(j);
  if (st >= 0)
    st = component_of(j)->ops->get_integer(component_of(j), (cpl_type)type, refs, n, values);
  for (size_t i = 0; i < n && st >= 0; i++)
    cpli_put_u64(&j->body, (uint64_t)((const int64_t*)values)[i]);
  return st;
}

static cpl_status do_get_string(cpl_tlm_join* j) {
  size_t n;
  uint32_t* refs;
  void* values;
  cpl_status st = read_refs(j, CPL_STRING, &n, &refs, &values);
  if (st >= 0 && !cpli_all_read(&j->in.bytes)) st = no_sense(j);
  if (st >= 0 && n > 0) st = component_of(j)->ops->get_string(component_of(j), refs, n, values);
  for (size_t i = 0; i < n && st >= 0; i++)
    cpli_put_text(&j->body, ((const char* const*)values)[i]);
  return st;
}

// The present interval ends before the part takes over new values.
static void now_dirty(cpl_tlm_join* j) {
  cpli_tlm_part* p = part_of(j);
  p->dirty = p->dirty || (j->m->running && p->is_model);
}

static cpl_status do_set_real(cpl_tlm_join* j) {
  size_t n;
  uint32_t* refs;
  void* values;
  cpl_status st = read_refs(j, CPL_REAL, &n, &refs, &values);
  for (size_t i = 0; i < n && st >= 0; i++) ((double*)values)[i] = cpli_get_real(&j->in.bytes);
  if (st >= 0 && !cpli_all_read(&j->in.bytes)) st = no_sense(j);
  if (st >= 0) now_dirty(j);
  return st < 0 ? st : component_of(j)->ops->set_real(component_of(j), refs, n, values);
}

static cpl_status do_set_integer(cpl_tlm_join* j) {
  size_t n;
  uint32_t type = cpli_get_u32(&j->in.bytes), *refs;
  void* values;
  if (!is_integer(type)) return no_sense(j);
  cpl_status st = read_refs(j, (cpl_type)type, &n, &refs, &values);
  for (size_t i = 0; i < n && st >= 0; i++)
    ((int64_t*)values)[i] = (int64_t)cpli_get_u64(&j->in.bytes);
  if (st >= 0 && !cpli_all_read(&j->in.bytes)) st = no_sense(j);
  if (st < 0) return st;
  now_dirty(j);
  return component_of(j)->ops->set_integer(component_of(j), (cpl_type)type, refs, n, values);
}

// One by one, because texts have any length.
static cpl_status do_set_string(cpl_tlm_join* j) {
  char text[CPLI_TEXT_MOST];
  const char* value = text;
  size_t n;
  uint32_t* refs;
  void* values;
  cpl_status st = read_refs(j, CPL_STRING, &n, &refs, &values);
  for (size_t i = 0; i < n && st >= 0; i++) {
    cpli_get_text(&j->in.bytes, text, sizeof text);
    if (j->in.bytes.bad) return no_sense(j);
    now_dirty(j);
    st = component_of(j)->ops->set_string(component_of(j), &refs[i], 1, &value);
  }
  return st < 0 || cpli_all_read(&j->in.bytes) ? st : no_sense(j);
}

static cpl_status do_set_curve(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  cpl_stepper* s = part_of(j)->s;
  uint32_t ref = cpli_get_u32(in);
  cpl_curve curve = {.from = cpli_get_finite(in)};
  curve.order = (int32_t)cpli_get_u32(in);
  for (size_t i = 0; i < CPLI_COUNT(curve.coefficient); i++)
    curve.coefficient[i] = cpli_get_finite(in);
  bool fine = cpli_all_read(in) && curve.order >= 0 &&
              curve.order < (int32_t)CPLI_COUNT(curve.coefficient) && s->ops->set_curve != NULL &&
              is_known(j, CPL_REAL, ref);
  return fine ? s->ops->set_curve(s, ref, &curve) : no_sense(j);
}

//------------------------------------ start ------------------------------------

// Neighbours on this machine answer within some microseconds: spinning pays, but only where the
// neighbours and their I/O threads have processors of their own. On two processors spinning doubled
// the run time.
static double patience(void) { return cpli_count_processors() > 4 ? 50e-6 : 0; }

static cpl_status do_start(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  uint32_t n = cpli_get_count(in, 16);
  cpli_free(j->ctx, j->reads);
  j->reads = cpli_alloc(j->ctx, n, sizeof *j->reads);
  if (j->reads == NULL) return cpli_nomem(j->ctx);
  for (uint32_t i = 0; i < n; i++) {
    j->reads[i].part = (int32_t)cpli_get_u32(in);
    j->reads[i].ref = cpli_get_u32(in);
    j->reads[i].value = cpli_get_real(in);
  }
  j->n_reads = n;
  j->patience = patience();
  j->stopped = false;
  for (uint32_t i = 0; i < j->n_neighbours; i++) j->neighbours[i].stopped = false;
  return cpli_all_read(in) ? cpli_tlm_start(j->m) : no_sense(j);
}

//------------------------------------ run ------------------------------------

static cpl_status read_wanted(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  uint32_t n = cpli_get_count(in, 8);
  cpli_free(j->ctx, j->wanted);
  j->n_wanted = 0;
  j->wanted = cpli_alloc(j->ctx, n, sizeof *j->wanted);
  if (j->wanted == NULL) return cpli_nomem(j->ctx);
  for (uint32_t i = 0; i < n; i++) {
    cpli_wanted* w = &j->wanted[i];
    w->type = cpli_get_u32(in);
    w->ref = cpli_get_u32(in);
    if (in->bad || (w->type != CPL_REAL && !is_integer(w->type)) ||
        !is_known(j, (cpl_type)w->type, w->ref))
      return no_sense(j);
  }
  j->n_wanted = n;
  return CPL_OK;
}

// During a run only END can come from the manager.
static cpl_status listen_for_end(cpl_tlm_join* j) {
  cpli_message_kind kind;
  cpl_status st = cpli_join_next_message(j, 0, &kind);
  return st >= 0 && kind != 0 && !j->over ? no_sense(j) : st;
}

// Also called by a part that never waits: the manager may be lost, or end the run.
cpl_status cpli_join_heartbeat(cpl_tlm_join* j) {
  if (cpli_now() - j->spoke < j->pace) return CPL_OK;
  cpli_join_begin(j, CPLI_MSG_STATE);
  cpli_put_real(&j->out, part_of(j)->t);
  cpl_status st = cpli_join_post(j);
  return st < 0 ? st : listen_for_end(j);
}

static cpl_status poll_once(cpl_tlm_join* j, int64_t* n) {
  double since = cpli_now();
  cpl_status st = cpli_join_receive(j, n);
  while (st >= 0 && *n == 0 && cpli_now() - since < j->patience) {
    sched_yield();
    st = cpli_join_receive(j, n);
  }
  return st;
}

static cpl_status wait_for_waves(cpl_tlm_join* j) {
  int64_t n = 0;
  cpl_status st = poll_once(j, &n);
  if (st < 0 || n > 0) return st;
  cpli_sockets_doze(j->sockets, j->n_sockets, 0.25 * j->pace);
  st = cpli_join_receive(j, &n);
  if (st < 0 || n > 0) return st;
  st = cpli_join_heartbeat(j);
  if (st >= 0 && !j->over) st = listen_for_end(j);
  return st < 0 || j->over ? st : cpli_join_events(j);
}

static bool waits_for_stopped(const cpl_tlm_join* j, double until) {
  for (uint32_t i = 0; i < j->n_neighbours; i++) {
    const cpli_neighbour* n = &j->neighbours[i];
    if (n->stopped && cpli_part_lacks(j->m, part_of(j), until, n->part)) return true;
  }
  return false;
}

static cpl_status one_interval(cpl_tlm_join* j, double until) {
  cpli_tlm_part* p = part_of(j);
  double before = p->published;
  cpl_status st = cpli_part_begin(j->m, p, until);
  if (st >= 0) st = cpli_part_step(j->m, p, until);
  if (st >= 0) st = cpli_part_publish(j->m, p);
  if (st >= 0 && p->published > before) st = cpli_join_send(j, false);
  return st < 0 ? st : cpli_join_heartbeat(j);
}

static cpl_status run_to(cpl_tlm_join* j, double until) {
  cpli_tlm_part* p = part_of(j);
  bool stuck = false;
  int64_t n = 0;
  cpl_status st = cpli_join_receive(j, &n);
  while (st >= 0 && !j->over && !stuck && !cpli_part_done(j->m, p, until)) {
    if (cpli_part_ready(j->m, p, until)) {
      st = one_interval(j, until);
      continue;
    }
    stuck = waits_for_stopped(j, until);
    if (!stuck) st = wait_for_waves(j);
  }
  if (st >= 0 && (stuck || p->ended) && !j->stopped) {
    j->stopped = true;
    st = cpli_join_send(j, true);
  }
  return st;
}

static cpl_status put_wanted(cpl_tlm_join* j) {
  cpl_component* c = component_of(j);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < j->n_wanted && st >= 0; i++) {
    const cpli_wanted* w = &j->wanted[i];
    double real = 0;
    int64_t integer = 0;
    if (w->type == CPL_REAL) st = c->ops->get_real(c, &w->ref, 1, &real);
    else st = c->ops->get_integer(c, (cpl_type)w->type, &w->ref, 1, &integer);
    if (w->type == CPL_REAL) cpli_put_real(&j->body, real);
    else cpli_put_u64(&j->body, (uint64_t)integer);
  }
  return st;
}

static cpl_status put_position(cpl_tlm_join* j, const cpli_tlm_end* e) {
  cpl_component* c = component_of(j);
  double own[3] = {0}, r[3] = {0};
  cpl_status st = CPL_OK;
  for (int k = 0; k < 3 && st >= 0; k++) {
    uint32_t ref = (uint32_t)e->position[k];
    if (e->position[k] >= 0) st = c->ops->get_real(c, &ref, 1, &own[k]);
  }
  for (int k = 0; k < 3; k++) {
    const double* a = e->rotation + 3 * k;
    r[k] = e->width == 1 ? own[k] : e->origin[k] + a[0] * own[0] + a[1] * own[1] + a[2] * own[2];
  }
  cpli_put_u8(&j->body, e->position[0] >= 0);
  cpli_put_reals(&j->body, r, 3);
  return st;
}

static cpl_status put_observation(cpl_tlm_join* j, const cpli_tlm_end* e) {
  double v[CPLI_WIDTH] = {0}, f[CPLI_WIDTH] = {0};
  cpli_tlm_part* p = part_of(j);
  cpl_status st = put_position(j, e);
  if (st >= 0 && e->sends) st = cpli_end_speeds(p->inner, e, v);
  for (int32_t k = 0; k < e->width && e->takes; k++)
    f[k] = cpli_segment_at(&e->now, k, p->t) - e->sigma * e->z[k] * v[k];
  cpli_put_reals(&j->body, v, CPLI_WIDTH);
  cpli_put_reals(&j->body, f, CPLI_WIDTH);
  return st;
}

static cpl_status do_run(cpl_tlm_join* j) {
  cpli_bytes* in = &j->in.bytes;
  cpli_tlm_part* p = part_of(j);
  double until = cpli_get_finite(in);
  bool observed = cpli_get_u8(in) == 1;
  cpl_status st = cpli_get_u8(in) == 1 ? read_wanted(j) : CPL_OK;
  if (st >= 0 && (!cpli_all_read(in) || !j->m->running)) st = no_sense(j);
  if (st >= 0) st = run_to(j, until);
  if (st < 0 || j->over) return st;
  j->m->t = until;
  cpli_put_real(&j->body, p->t);
  cpli_put_u8(&j->body, p->ended);
  cpli_put_u64(&j->body, (uint64_t)p->n_pieces);
  cpli_put_u64(&j->body, (uint64_t)p->n_events);
  st = put_wanted(j);
  for (int32_t i = 0; i < p->n_ends && observed && st >= 0; i++)
    st = put_observation(j, &j->m->ends[p->first_end + i]);
  return st;
}

//------------------------------------ answers ------------------------------------

static cpl_status (*const calls[CPLI_CALLS])(cpl_tlm_join* j) = {
    [CPLI_CALL_SETUP] = do_setup,
    [CPLI_CALL_ENTER_INIT] = do_enter,
    [CPLI_CALL_EXIT_INIT] = do_exit,
    [CPLI_CALL_TERMINATE] = do_terminate,
    [CPLI_CALL_RESET] = do_reset,
    [CPLI_CALL_GET_REAL] = do_get_real,
    [CPLI_CALL_SET_REAL] = do_set_real,
    [CPLI_CALL_GET_INTEGER] = do_get_integer,
    [CPLI_CALL_SET_INTEGER] = do_set_integer,
    [CPLI_CALL_GET_STRING] = do_get_string,
    [CPLI_CALL_SET_STRING] = do_set_string,
    [CPLI_CALL_SET_CURVE] = do_set_curve,
    [CPLI_CALL_START] = do_start,
    [CPLI_CALL_RUN] = do_run,
};

cpl_status cpli_join_answer(cpl_tlm_join* j) {
  uint8_t call = cpli_get_u8(&j->in.bytes);
  j->body.n = 0;
  j->body.no_memory = false;
  cpl_status st = call < CPLI_CALLS ? calls[call](j) : no_sense(j);
  if (j->over || j->lost) return st;
  if (st >= 0) st = cpli_packet_check(&j->body, 2 * CPLI_HEAD_SIZE);
  cpli_join_begin(j, CPLI_MSG_REPLY);
  cpli_put_u8(&j->out, call);
  cpli_put_u32(&j->out, (uint32_t)st);
  cpli_put_text(&j->out, st < 0 ? cpl_context_error(j->ctx) : "");
  if (st >= 0) cpli_put_bytes(&j->out, j->body.data, j->body.n);
  cpl_status sent = cpli_join_post(j);
  return st < 0 ? st : sent;
}
