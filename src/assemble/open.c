// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens the models of a system: each file once; those that allow one instance per process are
// isolated.
#include <string.h>

#include "assemble/assemble.h"
#include "couplet/isolate.h"
#include "fmi/open.h"
#include "model/adopt.h"
#include "model/distribution.h"

static cpl_status open_member(cpli_built* b, size_t i, const cpli_chain* chain) {
  const cpli_member* m = &b->def->models[i];
  cpl_context* ctx = b->base.ctx;
  if (m->source != NULL) {
    b->sources[i] = m->source;
    b->borrowed[i] = true;
    return cpli_adopt_source(m->source);
  }
  if (m->kind == CPL_MEMBER_SYSTEM) {
    const cpl_system_def* inner = NULL;
    cpl_status st = cpli_def_enter(ctx, chain, m, &inner, &b->inner[i]);
    cpli_chain outer = *chain;
    outer.isolate = chain->isolate || m->isolate;
    outer.member = m->name.text;
    cpli_known_starts known = {0};
    if (st >= 0) st = cpli_known_starts_of(b, m, &known);
    outer.starts = known.items;
    outer.n_starts = known.n;
    if (st >= 0) st = cpli_system_build(ctx, inner, &outer, &b->sources[i]);
    cpli_known_starts_free(b, &known);
    return st;
  }
  cpl_open_def open = cpl_default_open_def();
  open.path = m->path.text;
  cpli_known_starts known;  // structural parameters determine array sizes
  cpl_status st = cpli_known_starts_of(b, m, &known);
  open.starts = known.items;
  open.n_starts = known.n;
  open.isolate = chain->isolate || m->isolate;
  open.call_timeout = chain->call_timeout;
  if (m->kind == CPL_MEMBER_FMU) cpli_calls_join(b, chain, &open);
  if (st >= 0) st = cpl_open(ctx, &open, &b->sources[i]);
  cpli_known_starts_free(b, &known);
  if (st < 0) cpli_fail_prefix_at(ctx, st, &m->path.loc, "model %s", m->name.text);
  return st;
}

// Whether a member is a model of the aggregate or a stepper.
static cpl_status choose_kind(cpli_built* b, size_t i) {
  const cpli_member* m = &b->def->models[i];
  const cpl_source_ops* ops = b->sources[i]->ops;
  if (m->as == CPL_AS_MODEL_EXCHANGE && ops->make_model == NULL && !cpli_varying_is(b->sources[i]))
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &m->as_place,
                        "model %s: as: me: it contains only %s", m->name.text,
                        cpli_source_steps(b->sources[i]));
  const char* steps = ops->make_stepper != NULL ? cpli_source_steps(b->sources[i]) : "";
  const char* wanted = m->scheduled ? "scheduled execution" : "co-simulation";
  if (m->as == CPL_AS_CO_SIMULATION && m->exactly_as && strcmp(steps, wanted) != 0)
    return cpli_fail_at(b->base.ctx, CPL_ERR_INPUT, &m->as_place,
                        "model %s: there is no %s in it, only %s", m->name.text, wanted,
                        steps[0] != '\0' ? steps : "model exchange");
  if (ops->make_model == NULL && ops->make_stepper == NULL)
    return cpli_fail_at(b->base.ctx, CPL_ERR_UNSUPPORTED, &m->name.loc,
                        "model %s: it contains nothing that can be simulated", m->name.text);
  b->is_stepper[i] = m->as == CPL_AS_CO_SIMULATION || ops->make_model == NULL ||
                     (m->prefers_steps && ops->make_stepper != NULL);
  b->n_steppers += b->is_stepper[i];
  return CPL_OK;
}

static void replace(cpli_built* b, const cpl_source* source, cpl_source* by) {
  for (size_t j = 0; j < b->def->n_models; j++) {
    if (b->sources[j] == source) b->sources[j] = by;
  }
}

// Some FMUs allow one instance per process: several ones get a process each.
static cpl_status separate(cpli_built* b, size_t i) {
  cpl_source* inner = b->sources[i];
  size_t n = 0;
  if (b->borrowed[i] || !inner->once_per_process) return CPL_OK;
  for (size_t j = 0; j < b->def->n_models; j++) n += b->sources[j] == inner;
  if (n < 2) return CPL_OK;
  cpl_source* apart = NULL;
  cpl_status st = cpl_isolate(inner, NULL, &apart);
  if (st < 0) return st;
  cpl_log(b->base.ctx, CPL_LOG_INFO, inner->path,
          "can be instantiated only once per process, and is used %zu times: every instance gets "
          "a process of its own",
          n);
  replace(b, inner, apart);
  return CPL_OK;
}

// Where there are several ranks, instances are spread over them.
static cpl_status distribute(cpli_built* b, size_t i) {
  cpl_source *inner = b->sources[i], *spread = inner;
  if (b->borrowed[i] || b->def->models[i].kind == CPL_MEMBER_SYSTEM) return CPL_OK;
  const cpl_status st = cpli_distribute(&spread);
  if (st >= 0) replace(b, inner, spread);
  return st;
}

static const char* start_of(const cpli_built* b, const cpli_member* m, const char* name) {
  const char* given = cpli_given_start(b, m->name.text, name);
  if (given != NULL) return given;
  for (size_t k = 0; k < m->n_starts; k++) {
    if (strcmp(m->starts[k].name.text, name) == 0) return m->starts[k].value.text;
  }
  return "";
}

// Whether two models have the same structural parameters, and thus array sizes, delays and steps.
static bool sized_alike(const cpli_built* b, const cpl_description* desc, const cpli_member* one,
                        const cpli_member* other) {
  for (int32_t i = 0; i < desc->n_vars && one->n_starts + other->n_starts + b->n_starts > 0; i++) {
    const char* name = desc->vars[i].name;
    if (desc->vars[i].structural && strcmp(start_of(b, one, name), start_of(b, other, name)) != 0)
      return false;
  }
  return true;
}

// In a call log the FMUs of a nested system have its name as a prefix.
static bool can_share(const cpli_built* b, size_t one, size_t other, const cpli_chain* chain) {
  const cpli_member *a = &b->def->models[one], *z = &b->def->models[other];
  const cpl_description* desc = b->sources[one]->desc;
  if (a->kind == CPL_MEMBER_SYSTEM && chain->calls != NULL) return false;
  return a->isolate == z->isolate && sized_alike(b, desc, a, z);
}

// Models of the same file share one source: it is opened, parsed and compiled once.
cpl_status cpli_open_members(cpli_built* b, const cpli_chain* chain) {
  cpli_names opened;
  cpl_status st = cpli_names_init(&opened, b->base.ctx, b->def->n_models);
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) {
    const char* path = b->def->models[i].path.text;
    int32_t same = path != NULL ? cpli_names_add(&opened, path, (int32_t)i) : (int32_t)i;
    if (same == CPL_ERR_NOMEM) return cpli_names_free(&opened), cpli_nomem(b->base.ctx);
    if (same != (int32_t)i && !can_share(b, (size_t)same, i, chain)) same = (int32_t)i;
    if (same == (int32_t)i) st = open_member(b, i, chain);
    else b->sources[i] = b->sources[same], b->borrowed[i] = true;
    if (st >= 0) st = choose_kind(b, i);
  }
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) st = separate(b, i);
  for (size_t i = 0; i < b->def->n_models && st >= 0; i++) st = distribute(b, i);
  cpli_names_free(&opened);
  return st;
}
