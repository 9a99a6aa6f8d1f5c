// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts in processes of their own. A part is made here and forked: the copy in the child is the one
// that runs, with its solver; what stays here only serves to be put away at the end. Parts and ends
// lie in memory that all share at the same address, so a piece is one call: the child steps through
// it and leaves what it saw in the ends.
#include <sys/mman.h>

#include "couplet/isolate.h"
#include "tlm/build.h"

cpl_status cpli_tlm_allocate(cpli_tlm* m, const cpl_tlm_def* def) {
  size_t parts = (size_t)def->n_parts * sizeof *m->parts;
  size_t ends = 2 * (size_t)def->n_lines * sizeof *m->ends;
  char* memory;
  parts = (parts + 63) & ~(size_t)63;
  if (def->processes) {
    memory =
        mmap(NULL, parts + ends + 64, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return cpli_nomem(m->base.base.ctx);
    m->shared = parts + ends + 64;
  } else {
    memory = cpli_arena_alloc(&m->arena, parts + ends, 1);
    if (memory == NULL) return cpli_nomem(m->base.base.ctx);
  }
  m->parts = (cpli_tlm_part*)(void*)memory;
  m->ends = (cpli_tlm_end*)(void*)(memory + parts);
  return CPL_OK;
}

void cpli_tlm_unshare(cpli_tlm* m) {
  if (m->shared > 0) munmap(m->parts, m->shared);
}

//------------------------------------ in the child ------------------------------------

// The part as a stepper whose step is a piece, or what is left of it.
typedef struct made {
  cpl_source base;
  cpl_stepper front;

  cpli_tlm* m;
  int32_t part;
  cpl_stepper* s;
} made;

static made* made_of(cpl_component* c) { return (made*)((char*)c - offsetof(made, front)); }

#define INNER (&made_of(c)->s->base)
static cpl_status setup(cpl_component* c, const cpl_setup* s) {
  return INNER->ops->setup(INNER, s);
}
static cpl_status enter_init(cpl_component* c) { return INNER->ops->enter_init(INNER); }
static cpl_status exit_init(cpl_component* c) { return INNER->ops->exit_init(INNER); }
static cpl_status terminate(cpl_component* c) { return INNER->ops->terminate(INNER); }
static cpl_status reset(cpl_component* c) { return INNER->ops->reset(INNER); }
static cpl_status get_real(cpl_component* c, const uint32_t* refs, size_t n, double* values) {
  return INNER->ops->get_real(INNER, refs, n, values);
}
static cpl_status set_real(cpl_component* c, const uint32_t* refs, size_t n, const double* values) {
  return INNER->ops->set_real(INNER, refs, n, values);
}
static cpl_status get_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              int64_t* values) {
  return INNER->ops->get_integer(INNER, type, refs, n, values);
}
static cpl_status set_integer(cpl_component* c, cpl_type type, const uint32_t* refs, size_t n,
                              const int64_t* values) {
  return INNER->ops->set_integer(INNER, type, refs, n, values);
}
static cpl_status get_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char** values) {
  return INNER->ops->get_string(INNER, refs, n, values);
}
static cpl_status set_string(cpl_component* c, const uint32_t* refs, size_t n,
                             const char* const* values) {
  return INNER->ops->set_string(INNER, refs, n, values);
}
static void destroy(cpl_component* c) {
  if (c != NULL) INNER->ops->destroy(INNER);
}
#undef INNER

static cpl_status step(cpl_stepper* s, double t_end, double t_limit, cpl_step_result* result) {
  made* one = made_of(&s->base);
  (void)t_limit;
  cpl_status st = cpli_part_work(one->m, &one->m->parts[one->part], t_end);
  *result = (cpl_step_result){.time = one->m->parts[one->part].t};
  return st;
}

static cpl_status set_curve(cpl_stepper* s, uint32_t ref, const cpl_curve* curve) {
  cpl_stepper* inner = made_of(&s->base)->s;
  return inner->ops->set_curve(inner, ref, curve);
}

static const cpl_component_ops component_ops = {.kind = "tlm part",
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
static const cpl_stepper_ops stepper_ops = {.step = step, .set_curve = set_curve};
static const cpl_stepper_ops plain_ops = {.step = step};

static cpl_status hand_over(cpl_source* src, const char* name, cpl_stepper** out) {
  made* one = (made*)src;
  (void)name;
  one->front = (cpl_stepper){.base = one->s->base,
                             .ops = one->s->ops->set_curve != NULL ? &stepper_ops : &plain_ops};
  one->front.base.ops = &component_ops;
  *out = &one->front;
  return CPL_OK;
}

//------------------------------------ here ------------------------------------

static void put_away(cpl_source* src) {
  made* one = (made*)src;
  if (one->s != NULL) one->s->base.ops->destroy(&one->s->base);
  cpli_free(src->ctx, src);
}

static const cpl_source_ops ops = {.kind = "part", .destroy = put_away, .make_stepper = hand_over};

static cpl_status part_from(cpli_tlm* m, int32_t i) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_tlm_part* p = &m->parts[i];
  cpl_isolate_def def = cpl_default_isolate_def();
  def.call_timeout = m->def.call_timeout;
  made* one = cpli_alloc(ctx, 1, sizeof *one);
  if (one == NULL) return cpli_nomem(ctx);
  one->base = (cpl_source){.ops = &ops, .desc = p->s->base.desc, .ctx = ctx, .path = p->stats.name};
  one->m = m;
  one->part = i;
  cpl_status st = cpl_isolate(&one->base, &def, &m->sources[i]);
  if (st < 0) {
    cpli_free(ctx, one);
    return st;
  }
  one->s = p->s;
  p->s = NULL;
  p->apart = true;
  return m->sources[i]->ops->make_stepper(m->sources[i], p->stats.name, &p->s);
}

cpl_status cpli_tlm_part_ways(cpli_tlm* m) {
  cpl_status st = CPL_OK;
  m->sources = cpli_arena_alloc(&m->arena, (size_t)m->n_parts, sizeof *m->sources);
  if (m->sources == NULL) return cpli_nomem(m->base.base.ctx);
  for (int32_t i = 0; i < m->n_parts && st >= 0; i++) st = part_from(m, i);
  return st;
}

void cpli_tlm_join(cpli_tlm* m) {
  for (int32_t i = 0; m->sources != NULL && i < m->n_parts; i++) {
    if (m->sources[i] != NULL) m->sources[i]->ops->destroy(m->sources[i]);
  }
}
