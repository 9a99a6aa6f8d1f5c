// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens the plan of an FMU whose parts are files in its resources: FMUs, compiled models in C,
// tables. Part of the binary of such FMUs.
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

enum { LARGEST_PLAN = 1 << 30 };

static const char* below(const char* resources, cpli_arena* arena, const char* name) {
  size_t size = strlen(resources) + strlen(name) + 2;
  char* path = cpli_arena_alloc(arena, size, 1);
  if (path != NULL) snprintf(path, size, "%s/%s", resources, name);
  return path;
}

static cpl_status open_c(cpli_arena* arena, const cpli_plan_source* s, const char* path,
                         cpl_source** out) {
  cpli_c_library from = {.path = s->name, .library = path};
  cpl_status st = cpli_plan_structure(arena->ctx, arena, s, &from.known);
  return st < 0 ? st : cpli_c_open_library(arena->ctx, &from, out);
}

static cpl_status open_source(void* user, cpli_arena* arena, size_t number,
                              const cpli_plan_source* s, cpl_source** out) {
  cpl_context* ctx = arena->ctx;
  const char* path = below(user, arena, s->path);
  (void)number;
  if (path == NULL) return cpli_nomem(ctx);
  cpl_status st = s->kind == CPL_MEMBER_FMU
                      ? cpli_fmu_open_image(ctx, path, s->image, s->image_size, out)
                      : open_c(arena, s, path, out);
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

static cpl_status find_table(void* user, cpli_arena* arena, const char* name, cpli_input* in) {
  in->file.text = below(user, arena, name);
  return in->file.text != NULL ? CPL_OK : cpli_nomem(arena->ctx);
}

cpl_status cpli_packed_open(cpl_context* ctx, const char* resources, cpli_packed** out) {
  char path[PATH_MAX], *bytes = NULL;
  size_t size = 0;
  const cpli_plan_parts parts = {
      .open = open_source, .table = find_table, .user = (void*)resources, .place = resources};
  *out = NULL;
  if (snprintf(path, sizeof path, "%s/" CPLI_PLAN_FILE, resources) >= (int)sizeof path)
    return cpli_fail_file(ctx, CPL_ERR_INPUT, resources, "the path is too long");
  cpl_status st = cpli_file_read(ctx, path, LARGEST_PLAN, &bytes, &size);
  if (st >= 0) st = cpli_packed_make(ctx, (unsigned char*)bytes, size, &parts, out);
  cpli_free(ctx, bytes);
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
  // The integrator of a model or mode begins anew at every step, so that a restored state leads to
  // the same bits. Masters do that themselves; delay lines have steps too short for it.
  def.solver.restart_each_step = source->ops->make_model != NULL || cpli_modes_of(source) != NULL;
  if (source->ops->make_model == NULL) return cpl_system_stepper(source, &def, out);
  cpl_model* model = NULL;
  st = source->ops->make_model(source, name, &model);
  return st < 0 ? st : cpl_integrate(model, &def.solver, out);
}
