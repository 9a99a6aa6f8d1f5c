// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The composer "tlm": builds its parts and line ends, and has the operations of a stepper.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "couplet/aggregate.h"
#include "model/adopt.h"
#include "model/inspect.h"
#include "solver/sample.h"
#include "tlm/build.h"
#include "tlm/remote.h"
#include "tlm/saved.h"

//------------------------------------ life cycle ------------------------------------

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_context* ctx = c->ctx;
  cpli_pool_destroy(m);
  cpli_remote_close(m);
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpli_sampler_destroy(m->parts[i].sampler);
    if (m->parts[i].s != NULL) m->parts[i].s->base.ops->destroy(&m->parts[i].s->base);
  }
  cpli_tlm_join(m);
  for (int32_t i = 0; i < m->n_ends; i++) {
    cpli_wave_free(&m->ends[i].sent);
    cpli_wave_free(&m->ends[i].filtered);
  }
  if (m->whole != NULL) m->whole->base.ops->destroy(&m->whole->base);
  cpli_serial_free(ctx, &m->bytes);
  cpli_shared_desc_release(m->merged);
  cpli_tlm_unshare(m);
  cpli_arena_free(&m->arena);
  cpli_free(ctx, m);
}

typedef cpl_status part_call(cpl_component* c);

static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_status st = cpli_starter_setup(m->starter, c);
  m->t = m->t_start = s->start_time;
  m->t_stop = s->has_stop_time ? s->stop_time : (double)INFINITY;
  double stop = s->has_stop_time ? s->stop_time : s->start_time;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = cpli_check_times(c->ctx, c->name, s->start_time, stop, m->parts[i].h,
                          "intervals between delays", false);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->setup(&m->parts[i].s->base, s);
  return st;
}

static cpl_status enter_init(cpl_component* c) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->enter_init(&m->parts[i].s->base);
  return st < 0 ? st : cpli_tlm_preset(m);
}

static cpl_status exit_init(cpl_component* c) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpli_starter_close(m->starter);
  cpl_status st = cpli_tlm_preset(m);  // values may have been set since
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->exit_init(&m->parts[i].s->base);
  m->running = st >= 0;
  if (st < 0) return st;
  return m->remote != NULL ? cpli_remote_start(m) : cpli_tlm_start(m);
}

static cpl_status terminate(cpl_component* c) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_status st = CPL_OK;
  m->running = false;
  for (int32_t i = 0; i < m->n_parts; i++) {
    cpl_component* p = &m->parts[i].s->base;
    cpl_status one = m->parts[i].st < 0 ? CPL_OK : p->ops->terminate(p);
    if (st >= 0) st = one;
  }
  return st;
}

static cpl_status reset(cpl_component* c) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_status st = CPL_OK;
  m->running = false;
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++)
    st = m->parts[i].s->base.ops->reset(&m->parts[i].s->base);
  return st < 0 ? st : cpli_starter_reset(m->starter, c);
}

//------------------------------------ values ------------------------------------

// A value that several parts have is read from the first and set in all. The present interval ends
// before a part takes over new values.
cpl_status cpli_tlm_forward(cpl_component* c, const cpli_access* run) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpli_tlm_part* p = &m->parts[run->component];
  if (run->set) p->dirty = p->dirty || (m->running && p->is_model);
  return cpli_access_values(&p->s->base, run);
}

static cpl_status access_values(cpl_component* c, const cpli_access* a) {
  cpli_tlm* m = (cpli_tlm*)c;
  cpl_status st = a->set ? cpli_starter_note(m->starter, c, a) : CPL_OK;
  if (st >= 0) st = cpli_router_access(&m->router, c, a);
  return a->set && st == CPL_OK ? cpli_starter_noted(m->starter, c) : st;
}

CPLI_DEFINE_VALUE_OPS(access_values)

//------------------------------------ steps ------------------------------------

static cpl_status step(cpl_stepper* base, double t_end, double t_limit, cpl_step_result* result) {
  cpli_tlm* m = (cpli_tlm*)base;
  (void)t_limit;
  *result = (cpl_step_result){.time = m->t};
  if (t_end <= m->t) {  // parts take over new values when they advance
    result->event_handled = true;
    return CPL_OK;
  }
  cpl_status st = m->remote != NULL ? cpli_remote_run(m, t_end) : cpli_pool_run(m, t_end);
  if (st < 0) return st;
  m->t = t_end;
  for (int32_t i = 0; i < m->n_parts; i++) {
    const cpli_tlm_part* p = &m->parts[i];
    if (!p->ended) continue;
    result->end = CPL_STEP_TERMINATE;
    m->t = fmin(m->t, p->t);
  }
  result->time = m->t;
  return CPL_OK;
}

static cpl_status set_curve(cpl_stepper* base, uint32_t ref, const cpl_curve* curve) {
  cpli_tlm* m = (cpli_tlm*)base;
  cpl_status st = CPL_OK;
  int32_t n;
  const cpl_route* at = cpli_router_find(&m->router, ref, &n);
  for (int32_t k = 0; k < n && st >= 0; k++) {
    cpl_stepper* s = m->parts[at[k].component].s;
    double now = cpli_curve_at(curve, m->t);
    if (s->ops->set_curve != NULL) st = s->ops->set_curve(s, at[k].ref, curve);
    else st = s->base.ops->set_real(&s->base, &at[k].ref, 1, &now);
  }
  return st;
}

static cpl_status inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  const cpli_tlm* m = (const cpli_tlm*)c;
  out->n_children = m->n_parts;
  if (child < 0) out->self = (void*)m;
  if (child < 0 || child >= m->n_parts) return CPL_OK;
  const cpli_tlm_part* p = &m->parts[child];
  cpli_inspection_child(out, &p->s->base);
  out->name = p->name;
  cpl_inspection_add(out, (cpl_counter){"longest_step", "s", p->h, true});
  cpl_inspection_add(out, (cpl_counter){"pieces", "", (double)p->n_pieces, false});
  cpl_inspection_add(out, (cpl_counter){"events", "", (double)p->n_events, false});
  return CPL_OK;
}

static const char own_kind[] = "tlm";

#define COMMON_OPS                                                                          \
  .size = sizeof(cpl_component_ops), .kind = own_kind, .destroy = destroy, .setup = setup,  \
  .enter_init = enter_init, .exit_init = exit_init, .terminate = terminate, .reset = reset, \
  CPLI_VALUE_OPS, .inspect = inspect

#define ROLLBACK_OPS .save = cpli_tlm_save, .restore = cpli_tlm_restore, .forget = cpli_tlm_forget

static const cpl_component_ops component_ops[3] = {
    // [rolls back: 1, and states become bytes: 2]
    {COMMON_OPS},
    {COMMON_OPS, ROLLBACK_OPS},
    {COMMON_OPS, ROLLBACK_OPS, .serialize = cpli_tlm_to_bytes, .deserialize = cpli_tlm_from_bytes,
     .get_history = cpli_tlm_get_history, .set_history = cpli_tlm_set_history}};
static const cpl_stepper_ops stepper_ops = {
    .size = sizeof(cpl_stepper_ops), .step = step, .set_curve = set_curve};

//------------------------------------ creation ------------------------------------

cpl_status cpl_tlm(cpl_context* ctx, const cpl_tlm_def* given, cpl_stepper** out) {
  *out = NULL;
  cpl_tlm_def def = cpl_default_tlm_def();
  cpl_status st = cpli_read_def(ctx, "cpl_tlm_def", given, &def, sizeof def);
  cpl_tlm_serve_def serve = cpl_default_tlm_serve_def();
  if (st >= 0 && def.serve != NULL) {
    st = cpli_read_def(ctx, "cpl_tlm_serve_def", def.serve, &serve, sizeof serve);
    def.serve = &serve;
  }
  return st < 0 ? st : cpli_tlm_create(ctx, &def, NULL, out);
}

static void destroy_parts(const cpl_tlm_def* def, const cpli_tlm_layout* layout) {
  for (int32_t i = 0; i < def->n_parts; i++) {
    const cpl_tlm_part* p = &def->parts[i];
    if (p->model != NULL) cpli_discard(&p->model->base);
    if (p->stepper != NULL) cpli_discard(&p->stepper->base);
  }
  if (layout != NULL && layout->whole != NULL)
    layout->whole->base.ops->destroy(&layout->whole->base);
}

// The capabilities that all parts have.
static void take_capabilities(cpli_tlm* m) {
  cpl_capabilities* can = &m->base.base.can;
  can->save_restore = can->serialize = cpli_tlm_saves(m);
  can->input_derivatives = 3;
  for (int32_t i = 0; i < m->n_parts; i++) {
    int32_t one = m->parts[i].s->base.can.input_derivatives;
    if (m->parts[i].s->ops->set_curve == NULL) one = 0;
    if (one < can->input_derivatives) can->input_derivatives = one;
    can->serialize = can->serialize && cpli_serial_can(&m->parts[i].s->base);
    can->remote = can->remote > 0 || m->parts[i].s->base.can.remote > 0;
  }
}

cpl_status cpli_tlm_create(cpl_context* ctx, const cpl_tlm_def* def, const cpli_tlm_layout* layout,
                           cpl_stepper** out) {
  *out = NULL;
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < def->n_parts && st >= 0; i++) {
    const cpl_tlm_part* p = &def->parts[i];
    if (p->model != NULL) st = cpli_adopt_model(p->model);
    if (st >= 0 && p->stepper != NULL) st = cpli_adopt_stepper(p->stepper);
  }
  cpli_tlm* m = st >= 0 ? cpli_alloc(ctx, 1, sizeof *m) : NULL;
  if (m == NULL) {
    destroy_parts(def, layout);
    return st < 0 ? st : cpli_nomem(ctx);
  }
  cpli_arena_init(&m->arena, ctx);
  m->def = *def;
  m->base = (cpl_stepper){.base = {.ops = &component_ops[0],
                                   .ctx = ctx,
                                   .can = {.variable_step = true, .zero_step = true}},
                          .ops = &stepper_ops};
  m->name = cpli_arena_strdup(&m->arena, def->name);
  st = cpli_tlm_allocate(m, def);
  if (m->name == NULL || st < 0) {
    destroy_parts(def, layout);
    destroy(&m->base.base);
    return cpli_nomem(ctx);
  }
  m->base.base.name = m->name;
  if (layout != NULL) m->whole = layout->whole, m->starter = layout->starter;
  st = cpli_tlm_build(m, def, layout);
  m->def.parts = NULL, m->def.interfaces = NULL, m->def.lines = NULL;
  m->def.serve = NULL, m->def.join = NULL;
  if (st < 0) {
    destroy(&m->base.base);
    return st;
  }
  take_capabilities(m);
  m->base.base.ops = &component_ops[m->base.base.can.save_restore + m->base.base.can.serialize];
  *out = &m->base;
  return st;
}

cpli_tlm* cpli_tlm_of(cpl_stepper* s) { return cpli_component_self(&s->base, own_kind); }
