// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Parts in processes of their own. A part is made here and forked: the copy in the child is the one
// that runs, with its solver; what stays here only serves to be put away at the end.
#include "couplet/isolate.h"
#include "tlm/build.h"

typedef struct made {
  cpl_source base;
  cpl_stepper* s;
} made;

// Called in the child.
static cpl_status hand_over(cpl_source* src, const char* name, cpl_stepper** out) {
  (void)name;
  *out = ((made*)src)->s;
  return CPL_OK;
}

static void destroy(cpl_source* src) {
  made* one = (made*)src;
  if (one->s != NULL) one->s->base.ops->destroy(&one->s->base);
  cpli_free(src->ctx, src);
}

static const cpl_source_ops ops = {.kind = "part", .destroy = destroy, .make_stepper = hand_over};

static cpl_status part_from(cpli_tlm* m, int32_t i) {
  cpl_context* ctx = m->base.base.ctx;
  cpli_tlm_part* p = &m->parts[i];
  cpl_isolate_def def = cpl_default_isolate_def();
  def.call_timeout = m->def.call_timeout;
  made* one = cpli_alloc(ctx, 1, sizeof *one);
  if (one == NULL) return cpli_nomem(ctx);
  one->base = (cpl_source){.ops = &ops, .desc = p->s->base.desc, .ctx = ctx, .path = p->stats.name};
  cpl_status st = cpl_isolate(&one->base, &def, &m->sources[i]);
  if (st < 0) {
    cpli_free(ctx, one);
    return st;
  }
  one->s = p->s;
  p->s = NULL;
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
