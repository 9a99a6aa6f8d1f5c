// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system that declares no outputs has those variables as outputs that its definition records, or
// else the outputs of its models. Instances are made once, to read their capabilities.
#include "export/system_facts.h"

#include <math.h>

#include "assemble/assemble.h"
#include "couplet/assemble.h"
#include "couplet/component.h"
#include "export/plan.h"
#include "fmi/fmu.h"
#include "model/proxy.h"
#include "system/definition.h"

//------------------------------------ outputs ------------------------------------

static bool has_outputs(const cpl_description* d) {
  int32_t i = 0;
  while (i < d->n_vars && d->vars[i].causality != CPL_CAUSALITY_OUTPUT) i++;
  return i < d->n_vars;
}

static bool is_recorded(const cpl_description* d, int32_t var, const char** names, size_t n) {
  if (n == 0) return d->vars[var].inner_output;
  for (size_t i = 0; i < n; i++) {
    int32_t exact = cpl_find_variable(d, names[i]);
    if (exact >= 0 ? exact == var : cpli_glob(names[i], d->vars[var].name)) return true;
  }
  return false;
}

// Rows of the structure for the new outputs; what they depend on is not said.
static cpl_status add_rows(cpl_context* ctx, cpli_arena* arena, cpl_description* d) {
  int32_t n = 0;
  for (int32_t i = 0; i < d->n_vars; i++) n += d->vars[i].causality == CPL_CAUSALITY_OUTPUT;
  cpl_unknown* rows = cpli_arena_alloc(arena, (size_t)n, sizeof *rows);
  if (rows == NULL) return cpli_nomem(ctx);
  n = 0;
  for (int32_t i = 0; i < d->n_vars; i++) {
    if (d->vars[i].causality == CPL_CAUSALITY_OUTPUT)
      rows[n++] = (cpl_unknown){.var = i, .count = -1};
  }
  d->structure.outputs = rows;
  d->structure.n_outputs = n;
  return CPL_OK;
}

// An array is an output with all its elements.
static void show_array(const cpl_array* array, cpl_variable* vars) {
  bool any = false;
  for (int32_t i = 0; i < array->count; i++)
    any = any || vars[array->first + i].causality == CPL_CAUSALITY_OUTPUT;
  for (int32_t i = 0; any && i < array->count; i++) {
    if (vars[array->first + i].causality == CPL_CAUSALITY_LOCAL)
      vars[array->first + i].causality = CPL_CAUSALITY_OUTPUT;
  }
}

static cpl_status choose_outputs(cpl_source* source, cpli_arena* arena, cpl_description* d) {
  const cpl_system_def* system = cpl_system_definition(source);
  size_t n = cpl_system_record(system, NULL, 0);
  cpl_variable* vars = cpli_arena_alloc(arena, (size_t)d->n_vars, sizeof *vars);
  const char** names = cpli_arena_alloc(arena, n, sizeof *names);
  if (vars == NULL || names == NULL) return cpli_nomem(source->ctx);
  cpl_system_record(system, names, n);
  if (d->n_vars > 0) memcpy(vars, d->vars, (size_t)d->n_vars * sizeof *vars);
  for (int32_t i = 0; i < d->n_vars; i++) {
    bool varies = vars[i].variability >= CPL_VARIABILITY_DISCRETE;
    if (vars[i].causality == CPL_CAUSALITY_LOCAL && varies && is_recorded(d, i, names, n))
      vars[i].causality = CPL_CAUSALITY_OUTPUT;
  }
  for (int32_t k = 0; k < d->n_arrays; k++) show_array(&d->arrays[k], vars);
  d->vars = vars;
  return add_rows(source->ctx, arena, d);
}

//------------------------------------ what is shown ------------------------------------

// Inputs, outputs, and what belongs to the system itself.
static const bool* interface_of(const cpl_description* d, cpli_arena* arena) {
  bool* shown = cpli_arena_alloc(arena, (size_t)d->n_vars + 1, sizeof *shown);
  for (int32_t i = 0; shown != NULL && i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    shown[i] = v->causality == CPL_CAUSALITY_INPUT || v->causality == CPL_CAUSALITY_OUTPUT ||
               strchr(v->name, '.') == NULL;
  }
  return shown;
}

// The interval of a run is what co-simulation steps are by default.
static void take_interval(const cpl_source* source, cpl_description* d) {
  cpl_experiment_def e = cpl_system_def_experiment(cpl_system_definition(source));
  if (isnan(e.interval) || !(e.interval > 0)) return;
  d->experiment.has_step = true;
  d->experiment.step = e.interval;
}

//------------------------------------ FMUs ------------------------------------

typedef struct parts {
  cpl_context* ctx;
  cpli_arena* arena;
  cpli_inner_fmu* items;
  size_t n, cap;
} parts;

// `before`: the name of the system that this one is in. Nullable
static cpl_status list_parts(parts* p, const cpl_source* system, const char* before) {
  const cpli_built* b = (const cpli_built*)system;
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const cpli_member* m = &b->def->models[i];
    cpl_isolate_def unused;
    const cpl_source* inner = cpli_isolated_inner(b->sources[i], &unused);
    const cpl_source* source = inner != NULL ? inner : b->sources[i];
    const char* name = cpli_inner_name(p->arena, before, m->name.text);
    if (name == NULL) return cpli_nomem(p->ctx);
    if (m->kind == CPL_MEMBER_SYSTEM) {
      st = list_parts(p, source, name);
    } else if (m->kind == CPL_MEMBER_FMU) {
      if (!cpli_grow(p->ctx, (void**)&p->items, &p->cap, p->n, sizeof *p->items))
        return cpli_nomem(p->ctx);
      p->items[p->n++] = (cpli_inner_fmu){name, (const cpl_fmu*)source};
    }
  }
  return st;
}

static cpl_status find_parts(const cpl_source* system, cpli_arena* arena, cpli_fmu_facts* facts) {
  parts p = {.ctx = system->ctx, .arena = arena};
  cpl_status st = list_parts(&p, system, NULL);
  cpli_inner_fmu* kept = cpli_arena_alloc(arena, p.n + 1, sizeof *kept);
  if (st >= 0 && kept == NULL) st = cpli_nomem(p.ctx);
  if (st >= 0 && p.n > 0) memcpy(kept, p.items, p.n * sizeof *kept);
  facts->inner = kept;
  facts->n_inner = st >= 0 ? p.n : 0;
  cpli_free(p.ctx, p.items);
  return st;
}

//------------------------------------ capabilities ------------------------------------

static void warn_of_modes(const cpl_source* source) {
  cpl_log(source->ctx, CPL_LOG_WARNING, source->path,
          "the states of the system change with its modes, so the FMU is for co-simulation only");
}

static cpl_status ask_model(cpl_source* source, cpli_fmu_facts* facts) {
  cpl_model* m = NULL;
  if (source->ops->make_model == NULL) {
    if (cpl_system_definition(source)->n_modes > 0) warn_of_modes(source);
    return CPL_OK;
  }
  cpl_status st = source->ops->make_model(source, "model", &m);
  if (st < 0) return st;
  const cpl_constraint_ops* constraints = m->ops->constraints;
  facts->can = m->base.can;
  facts->can.completed_step = true;  // loops begin at the values of the last step
  facts->constraint_jacobian =
      constraints != NULL && (constraints->jacobian != NULL || constraints->entries != NULL);
  facts->model_exchange = m->ops->structure == NULL;
  if (!facts->model_exchange) warn_of_modes(source);
  cpl_model_destroy(m);
  return CPL_OK;
}

static cpl_status ask_stepper(cpl_source* source, cpli_fmu_facts* facts) {
  cpl_stepper* s = NULL;
  cpl_status st = cpli_packed_stepper(source, "stepper", 0, &s);
  if (st < 0) return st;
  facts->step_can = s->base.can;
  facts->co_simulation = true;
  cpl_stepper_destroy(s);
  return CPL_OK;
}

cpl_status cpli_system_facts(cpl_source* system, const cpl_build_def* def, cpli_arena* arena,
                             cpl_description* desc, cpli_fmu_facts* out) {
  *desc = *system->desc;
  *out = (cpli_fmu_facts){
      .fmi = def->fmi_version, .desc = desc, .constraint_attributes = def->constraint_attributes};
  cpl_status st = has_outputs(desc) ? CPL_OK : choose_outputs(system, arena, desc);
  take_interval(system, desc);
  if (st >= 0) st = ask_model(system, out);
  if (st >= 0) st = ask_stepper(system, out);
  if (st >= 0) st = find_parts(system, arena, out);
  if (st < 0 || def->expose == CPL_EXPOSE_ALL) return st;
  out->exposed = interface_of(desc, arena);
  return out->exposed != NULL ? CPL_OK : cpli_nomem(system->ctx);
}
