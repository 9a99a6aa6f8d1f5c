// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens the plan of an FMU: its models are opened from their stored descriptions, its definitions
// are read, and the system is built of both. Part of the binary of such FMUs.
#include <limits.h>
#include <stdio.h>

#include "assemble/assemble.h"
#include "couplet/component.h"
#include "couplet/isolate.h"
#include "export/plan.h"
#include "fmi/image.h"
#include "format/file.h"
#include "format/source_loc.h"
#include "model/csource.h"
#include "model/image.h"
#include "system/image.h"

enum { LARGEST_PLAN = 1 << 30 };

struct cpli_packed {
  cpl_context* ctx;
  const char* resources;
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

static const char* below(cpli_packed* p, const char* name) {
  size_t size = strlen(p->resources) + strlen(name) + 2;
  char* path = cpli_arena_alloc(&p->arena, size, 1);
  if (path != NULL) snprintf(path, size, "%s/%s", p->resources, name);
  return path;
}

//------------------------------------ models ------------------------------------

static cpl_status open_c(cpli_packed* p, const cpli_plan_source* s, const char* path,
                         cpl_source** out) {
  cpl_description* known = cpli_arena_alloc(&p->arena, 1, sizeof *known);
  cpli_names names = {0};  // by which nothing is looked for
  if (known == NULL) return cpli_nomem(p->ctx);
  cpl_status st =
      cpli_description_read_image(p->ctx, s->image, s->image_size, &p->arena, &names, known);
  cpli_names_free(&names);
  cpli_c_library from = {.path = s->name, .library = path, .known = known};
  return st < 0 ? st : cpli_c_open_library(p->ctx, &from, out);
}

static cpl_status open_source(cpli_packed* p, const cpli_plan_source* s, cpl_source** out) {
  const char* path = below(p, s->path);
  if (path == NULL) return cpli_nomem(p->ctx);
  cpl_status st = s->kind == CPL_MEMBER_FMU
                      ? cpli_fmu_open_image(p->ctx, path, s->image, s->image_size, out)
                      : open_c(p, s, path, out);
  if (st < 0 || !s->isolated) return st;
  cpl_isolate_def def = cpl_default_isolate_def();
  def.call_timeout = s->call_timeout;
  cpl_source* inner = *out;
  st = cpl_isolate(inner, &def, out);
  if (st < 0) {
    cpl_source_destroy(inner);
    *out = NULL;
  }
  return st;
}

//------------------------------------ systems ------------------------------------

// Gives the members of a definition their sources and systems, and its inputs their tables.
typedef struct filling {
  cpli_packed* p;
  const cpli_plan_system* from;
  size_t n_members, n_tables;
  bool wrong;
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
  const char* path = NULL;
  if (f->n_tables < f->from->n_tables) path = below(f->p, f->from->tables[f->n_tables++]);
  if (path != NULL) in->file.text = path;
  else f->wrong = true;
}

static cpl_status fill(cpli_packed* p, size_t i) {
  filling f = {.p = p, .from = &p->plan.systems[i]};
  cpli_plan_walk(p->defs[i], &(cpli_plan_walker){fill_member, fill_table, &f});
  if (!f.wrong && f.n_members == f.from->n_members && f.n_tables == f.from->n_tables) return CPL_OK;
  return cpli_fail_file(p->ctx, CPL_ERR_INPUT, p->resources,
                        "the plan of the system is damaged: its models do not fit its definition");
}

static cpl_status open_all(cpli_packed* p) {
  cpl_status st = CPL_OK;
  p->sources = cpli_arena_alloc(&p->arena, p->plan.n_sources + 1, sizeof *p->sources);
  p->defs = cpli_arena_alloc(&p->arena, p->plan.n_systems + 1, sizeof *p->defs);
  if (p->sources == NULL || p->defs == NULL) return cpli_nomem(p->ctx);
  if (p->plan.n_systems == 0)
    return cpli_fail_file(p->ctx, CPL_ERR_INPUT, p->resources, "the plan has no system");
  for (size_t i = 0; i < p->plan.n_sources && st >= 0; i++)
    st = open_source(p, &p->plan.sources[i], &p->sources[i]);
  for (size_t i = 0; i < p->plan.n_systems && st >= 0; i++) {
    const cpli_plan_system* s = &p->plan.systems[i];
    st = cpli_def_read_image(p->ctx, s->image, s->image_size, &p->defs[i]);
  }
  for (size_t i = 0; i < p->plan.n_systems && st >= 0; i++) st = fill(p, i);
  return st < 0 ? st : cpl_system_build(p->ctx, p->defs[0], &p->whole);
}

cpl_status cpli_packed_open(cpl_context* ctx, const char* resources, cpli_packed** out) {
  char path[PATH_MAX], *bytes = NULL;
  size_t size = 0;
  *out = NULL;
  cpli_packed* p = cpli_alloc(ctx, 1, sizeof *p);
  if (p == NULL) return cpli_nomem(ctx);
  p->ctx = ctx;
  cpli_arena_init(&p->arena, ctx);
  p->resources = cpli_arena_strdup(&p->arena, resources);
  cpl_status st = p->resources != NULL ? CPL_OK : cpli_nomem(ctx);
  if (st >= 0 && snprintf(path, sizeof path, "%s/" CPLI_PLAN_FILE, resources) >= (int)sizeof path)
    st = cpli_fail_file(ctx, CPL_ERR_INPUT, resources, "the path is too long");
  if (st >= 0) st = cpli_file_read(ctx, path, LARGEST_PLAN, &bytes, &size);
  if (st >= 0) st = cpli_plan_read(ctx, &p->arena, (unsigned char*)bytes, size, &p->plan);
  cpli_free(ctx, bytes);
  if (st >= 0) st = open_all(p);
  if (st < 0) cpli_packed_close(p);
  else *out = p;
  return st;
}

//------------------------------------ co-simulation ------------------------------------

// Steps where the system prescribes none, as in a run with its default experiment.
static double usual_step(const cpl_default_experiment* e) {
  double all = e->has_stop ? e->stop - (e->has_start ? e->start : 0) : 1;
  return all > 0 ? all / 500 : 1;
}

cpl_status cpli_packed_stepper(cpl_source* source, const char* name, double rtol,
                               cpl_stepper** out) {
  const cpl_default_experiment* e = &source->desc->experiment;
  cpl_stepper_def def = cpl_default_stepper_def();
  cpl_status st = cpli_take_solver(cpl_system_definition(source), &def.solver);
  if (st < 0) return st;
  def.name = name;
  def.usual_step = usual_step(e);
  if (e->has_tolerance) def.solver.rtol = e->tolerance;
  if (rtol > 0) def.solver.rtol = rtol;
  if (cpl_solver_is_fixed_step(def.solver.kind) && def.solver.step == 0)
    def.solver.step = e->has_step && e->step > 0 ? e->step : def.usual_step;
  def.solver.saves_states = true;
  if (source->ops->make_model == NULL) return cpl_system_stepper(source, &def, out);
  // the integrator begins anew at every step, so that a restored state leads to the same bits
  cpl_model* model = NULL;
  def.solver.restart_each_step = true;
  st = source->ops->make_model(source, name, &model);
  return st < 0 ? st : cpl_integrate(model, &def.solver, out);
}
