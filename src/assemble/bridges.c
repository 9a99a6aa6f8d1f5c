// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Bridges between the aggregate of a system and its steppers: signals that carry the value of a
// stepper into the aggregate, or an expression from it to an input of a stepper. A bridge is made
// when a reference needs it, together with the route that becomes a link of the master.
#include "assemble/assemble.h"

cpl_status cpli_bridges_init(cpli_built* b, cpli_assembly* one) {
  cpl_context* ctx = b->base.ctx;
  size_t n = b->def->n_models, total = 0;
  one->part_of_model = cpli_arena_alloc(&one->functions.arena, n, sizeof *one->part_of_model);
  one->first_var = cpli_arena_alloc(&one->functions.arena, n, sizeof *one->first_var);
  if (one->part_of_model == NULL || one->first_var == NULL) return cpli_nomem(ctx);
  int32_t parts = 0;
  for (size_t i = 0; i < n; i++) {
    one->part_of_model[i] = b->is_stepper[i] ? -1 : parts++;
    one->first_var[i] = (int32_t)total;
    if (b->is_stepper[i]) total += (size_t)b->sources[i]->desc->n_vars;
  }
  one->bridge_of = cpli_arena_alloc(&one->functions.arena, total, sizeof *one->bridge_of);
  if (one->bridge_of == NULL) return cpli_nomem(ctx);
  const cpl_system_def* d = b->def;
  one->first_bridge = (int32_t)(d->n_parameters + d->n_inputs + d->n_outputs + d->n_constraints) +
                      cpli_tlm_waves(b);
  return CPL_OK;
}

static cpl_port add_bridge(cpli_assembly* one, const char* model, const char* var,
                           cpli_bridge bridge) {
  cpl_context* ctx = one->functions.ctx;
  cpli_arena* arena = &one->functions.arena;
  size_t a = strlen(model), n = strlen(var);
  char* name = cpli_arena_alloc(arena, a + n + 2, 1);
  if (name == NULL || !cpli_grow(ctx, (void**)&one->bridges, &one->cap_bridges, one->n_bridges,
                                 sizeof *one->bridges)) {
    one->no_memory = true;
    return (cpl_port){-1, one->first_bridge};
  }
  memcpy(name, model, a);
  name[a] = '.';
  memcpy(name + a + 1, var, n);
  bridge.name = name;
  one->bridges[one->n_bridges++] = bridge;
  return (cpl_port){-1, one->first_bridge + (int32_t)one->n_bridges - 1};
}

static bool is_discrete(const cpl_variable* v) {
  return v->type != CPL_REAL || v->variability != CPL_VARIABILITY_CONTINUOUS;
}

// A discrete input needs a discrete signal as its source.
void cpli_bridge_to(cpli_assembly* one, cpl_port port, const cpl_variable* target) {
  int32_t i = port.part < 0 ? port.var - one->first_bridge : -1;
  if (i >= 0 && (size_t)i < one->n_bridges && is_discrete(target)) one->bridges[i].discrete = true;
}

cpl_port cpli_bridge_in(void* assembly, cpli_ref ref) {
  cpli_assembly* one = assembly;
  const cpli_resolver* r = one->functions.resolver;
  int32_t* known = &one->bridge_of[one->first_var[ref.model] + ref.index];
  if (*known > 0) return (cpl_port){-1, one->first_bridge + *known - 1};
  const char* model = r->def->models[ref.model].name.text;
  const cpl_variable* v = &r->models[ref.model]->desc->vars[ref.index];
  cpl_port port =
      add_bridge(one, model, v->name,
                 (cpli_bridge){.model = ref.model, .var = ref.index, .discrete = is_discrete(v)});
  if (one->no_memory) return port;
  *known = (int32_t)one->n_bridges;
  cpl_status st =
      cpli_add_route(one, (cpli_route){.source = {ref.model, ref.index, NULL},
                                       .target = {-1, -1, one->bridges[one->n_bridges - 1].name},
                                       .factor = 1});
  one->no_memory = st < 0;
  return port;
}

cpl_port cpli_bridge_out(cpli_assembly* one, const cpli_built* b, int32_t model, int32_t var) {
  const char* name = b->def->models[model].name.text;
  cpl_port port = add_bridge(one, name, b->sources[model]->desc->vars[var].name,
                             (cpli_bridge){.model = model, .var = var, .leaves = true});
  if (one->no_memory) return port;
  cpl_status st =
      cpli_add_route(one, (cpli_route){.source = {-1, -1, one->bridges[one->n_bridges - 1].name},
                                       .target = {model, var, NULL},
                                       .factor = 1});
  one->no_memory = st < 0;
  return port;
}

cpl_status cpli_add_route(cpli_assembly* one, cpli_route route) {
  if (!cpli_grow(one->functions.ctx, (void**)&one->routes, &one->cap_routes, one->n_routes,
                 sizeof *one->routes))
    return cpli_nomem(one->functions.ctx);
  one->routes[one->n_routes++] = route;
  return CPL_OK;
}
