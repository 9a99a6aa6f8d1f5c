// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The system of a plan: its models are opened where they are, its definitions are read, and the
// system is built of both. Part of the binary and of the sources of FMUs.
#include "couplet/assemble.h"
#include "couplet/component.h"
#include "export/plan.h"
#include "format/source_loc.h"
#include "model/image.h"
#include "system/image.h"

struct cpli_packed {
  cpl_context* ctx;
  const cpli_plan_parts* parts;  // while it is opened
  cpli_arena arena;
  cpli_plan plan;
  cpl_source** sources;   // of each model
  cpl_system_def** defs;  // of each system
  cpl_source* whole;
};

void cpli_packed_close(cpli_packed* p) {
  if (p == NULL) return;
  cpl_context* ctx = p->ctx;
  cpl_source_destroy(p->whole);
  for (size_t i = 0; p->defs != NULL && i < p->plan.n_systems; i++)
    cpl_system_def_destroy(p->defs[i]);
  for (size_t i = 0; p->sources != NULL && i < p->plan.n_sources; i++)
    cpl_source_destroy(p->sources[i]);
  cpli_arena_free(&p->arena);
  cpli_free(ctx, p);
}

cpl_source* cpli_packed_source(const cpli_packed* p) { return p->whole; }
const char* cpli_packed_guid(const cpli_packed* p) { return p->plan.guid; }

const char* cpli_packed_single(const cpli_packed* p) {
  for (size_t i = 0; i < p->plan.n_sources; i++)
    if (p->sources[i]->once_per_process) return p->plan.sources[i].name;
  return NULL;
}

cpl_status cpli_plan_structure(cpl_context* ctx, cpli_arena* arena, const cpli_plan_source* s,
                               const cpl_description** out) {
  cpl_description* known = cpli_arena_alloc(arena, 1, sizeof *known);
  cpli_names names = {0};  // by which nothing is looked for
  *out = known;
  if (known == NULL) return cpli_nomem(ctx);
  cpl_status st =
      cpli_description_read_image(ctx, s->image, (size_t)s->image_size, arena, &names, known);
  cpli_names_free(&names);
  return st;
}

//------------------------------------ systems ------------------------------------

// Gives the members of a definition their sources and systems, and its inputs their tables.
typedef struct filling {
  cpli_packed* p;
  const cpli_plan_system* from;
  size_t n_members, n_tables;
  bool wrong;
  cpl_status status;  // of the tables
} filling;

static void fill_member(void* user, cpli_member* m) {
  filling* f = user;
  if (f->n_members == f->from->n_members) {
    f->wrong = true;
    return;
  }
  int64_t number = f->from->members[f->n_members++];
  bool is_system = number < 0;
  if (is_system) number = -1 - number;
  uint64_t limit = is_system ? f->p->plan.n_systems : f->p->plan.n_sources;
  if ((uint64_t)number >= limit || is_system != (m->kind == CPL_MEMBER_SYSTEM)) {
    f->wrong = true;
    return;
  }
  m->path.text = NULL;
  if (is_system) m->system = f->p->defs[number];
  else m->source = f->p->sources[number];
}

static void fill_table(void* user, cpli_input* in) {
  filling* f = user;
  cpli_packed* p = f->p;
  if (f->n_tables == f->from->n_tables) f->wrong = true;
  if (f->wrong || f->status < 0) return;
  const char* name = f->from->tables[f->n_tables++];
  f->status = p->parts->table(p->parts->user, &p->arena, name, in);
}

static cpl_status fill(cpli_packed* p, size_t i) {
  filling f = {.p = p, .from = &p->plan.systems[i]};
  cpli_plan_walk(p->defs[i], &(cpli_plan_walker){fill_member, fill_table, &f});
  if (f.status < 0) return f.status;
  if (!f.wrong && f.n_members == f.from->n_members && f.n_tables == f.from->n_tables) return CPL_OK;
  return cpli_fail_file(p->ctx, CPL_ERR_INPUT, p->parts->place,
                        "the plan of the system is damaged: its models do not fit its definition");
}

static cpl_status open_all(cpli_packed* p) {
  cpl_status st = CPL_OK;
  p->sources = cpli_arena_alloc(&p->arena, (size_t)p->plan.n_sources + 1, sizeof *p->sources);
  p->defs = cpli_arena_alloc(&p->arena, (size_t)p->plan.n_systems + 1, sizeof *p->defs);
  if (p->sources == NULL || p->defs == NULL) return cpli_nomem(p->ctx);
  if (p->plan.n_systems == 0)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, p->parts->place, "the plan has no system");
  for (size_t i = 0; i < p->plan.n_sources && st >= 0; i++)
    st = p->parts->open(p->parts->user, &p->arena, i, &p->plan.sources[i], &p->sources[i]);
  for (size_t i = 0; i < p->plan.n_systems && st >= 0; i++) {
    const cpli_plan_system* s = &p->plan.systems[i];
    st = cpli_def_read_image(p->ctx, s->image, (size_t)s->image_size, &p->defs[i]);
  }
  for (size_t i = 0; i < p->plan.n_systems && st >= 0; i++) st = fill(p, i);
  return st < 0 ? st : cpl_system_build(p->ctx, p->defs[0], &p->whole);
}

cpl_status cpli_packed_make(cpl_context* ctx, const unsigned char* plan, size_t size,
                            const cpli_plan_parts* parts, cpli_packed** out) {
  *out = NULL;
  cpli_packed* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  p->parts = parts;
  cpli_arena_init(&p->arena, ctx);
  cpl_status st = cpli_plan_read(ctx, &p->arena, plan, size, &p->plan);
  if (st >= 0) st = open_all(p);
  p->parts = NULL;
  if (st < 0) cpli_packed_close(p);
  else *out = p;
  return st;
}
