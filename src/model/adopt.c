// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Complete tables replace smaller ones and are freed together with the component.
#include "model/adopt.h"

#include "base/base.h"

// A table of the component, the size of this version, and the end of its required operations.
typedef struct checked {
  const void* table;
  const char* name;
  size_t full, required;
} checked;

#define CHECKED(type, table, first_optional) \
  { table, #type, sizeof(type), offsetof(type, first_optional) }

static size_t size_of(const void* table) { return *(const size_t*)table; }

// *smaller: some table is older.
static cpl_status check(cpl_context* ctx, const char* who, const checked* tables, size_t n,
                        bool* smaller) {
  for (size_t i = 0; i < n; i++) {
    const checked* k = &tables[i];
    if (k->table == NULL) continue;
    if (size_of(k->table) < k->required)
      return cpl_fail(
          ctx, CPL_ERR_INPUT,
          "%s: its %s has size %zu; a table of operations begins with its size (.size = "
          "sizeof(%s)) and has at least %zu bytes",
          who, k->name, size_of(k->table), k->name, k->required);
    *smaller = *smaller || size_of(k->table) < k->full;
  }
  return CPL_OK;
}

cpl_status cpli_check_component(const cpl_component* c) {
  bool smaller = false;
  const checked table = CHECKED(cpl_component_ops, c->ops, get_binary);
  return check(c->ctx, c->name, &table, 1, &smaller);
}

static void copy(void* to, const checked* from) {
  if (from->table == NULL) return;
  size_t size = size_of(from->table);
  memcpy(to, from->table, size < from->full ? size : from->full);
  memcpy(to, &from->full, sizeof from->full);
}

//------------------------------------ components ------------------------------------

// `component` comes first: the rest is found from the component's pointer to its table.
typedef struct completed {
  cpl_component_ops component;
  cpl_model_ops model;
  cpl_newton_ops newton;
  cpl_constraint_ops constraints;
  cpl_dae_ops dae;
  cpl_stepper_ops stepper;
  const cpl_component_ops* own;
  const cpl_model_ops* own_model;
  const cpl_stepper_ops* own_stepper;
} completed;

static void destroy(cpl_component* c) {
  if (c == NULL) return;
  cpl_context* ctx = c->ctx;
  completed* k = (completed*)c->ops;
  c->ops = k->own;
  if (k->own_model != NULL) ((cpl_model*)c)->ops = k->own_model;
  if (k->own_stepper != NULL) ((cpl_stepper*)c)->ops = k->own_stepper;
  c->ops->destroy(c);
  cpli_free(ctx, k);
}

static cpl_status adopt(cpl_component* c, const cpl_model_ops** m, const cpl_stepper_ops** s) {
  bool smaller = false;
  const checked tables[] = {CHECKED(cpl_component_ops, c->ops, get_binary),
                            CHECKED(cpl_model_ops, m != NULL ? *m : NULL, newton),
                            CHECKED(cpl_stepper_ops, s != NULL ? *s : NULL, set_curve)};
  cpl_status st = check(c->ctx, c->name, tables, CPLI_COUNT(tables), &smaller);
  if (st < 0) return st;
  completed k = {
      .own = c->ops, .own_model = m != NULL ? *m : NULL, .own_stepper = s != NULL ? *s : NULL};
  copy(&k.component, &tables[0]);
  copy(&k.model, &tables[1]);
  copy(&k.stepper, &tables[2]);
  const checked inner[] = {CHECKED(cpl_newton_ops, k.model.newton, border),
                           CHECKED(cpl_constraint_ops, k.model.constraints, get),
                           {k.model.dae, "cpl_dae_ops", sizeof k.dae, sizeof k.dae}};
  st = check(c->ctx, c->name, inner, CPLI_COUNT(inner), &smaller);
  if (st < 0 || !smaller) return st;
  completed* kept = cpli_alloc(c->ctx, 1, sizeof *kept);
  if (kept == NULL) return cpli_nomem(c->ctx);
  copy(&k.newton, &inner[0]);
  copy(&k.constraints, &inner[1]);
  copy(&k.dae, &inner[2]);
  *kept = k;
  if (k.model.newton != NULL) kept->model.newton = &kept->newton;
  if (k.model.constraints != NULL) kept->model.constraints = &kept->constraints;
  if (k.model.dae != NULL) kept->model.dae = &kept->dae;
  kept->component.destroy = destroy;
  c->ops = &kept->component;
  if (m != NULL) *m = &kept->model;
  if (s != NULL) *s = &kept->stepper;
  return CPL_OK;
}

cpl_status cpli_adopt_model(cpl_model* m) { return adopt(&m->base, &m->ops, NULL); }

cpl_status cpli_adopt_stepper(cpl_stepper* s) { return adopt(&s->base, NULL, &s->ops); }

void cpli_discard(cpl_component* c) {
  if (c != NULL && c->ops->size >= offsetof(cpl_component_ops, setup)) c->ops->destroy(c);
}

//------------------------------------ sources ------------------------------------

typedef struct completed_source {
  cpl_source_ops ops;
  const cpl_source_ops* own;
} completed_source;

static void destroy_source(cpl_source* src) {
  if (src == NULL) return;
  cpl_context* ctx = src->ctx;
  completed_source* k = (completed_source*)src->ops;
  src->ops = k->own;
  src->ops->destroy(src);
  cpli_free(ctx, k);
}

cpl_status cpli_adopt_source(cpl_source* src) {
  bool smaller = false;
  const checked table = CHECKED(cpl_source_ops, src->ops, make_model);
  cpl_status st = check(src->ctx, src->path, &table, 1, &smaller);
  if (st < 0 || !smaller) return st;
  completed_source* kept = cpli_alloc(src->ctx, 1, sizeof *kept);
  if (kept == NULL) return cpli_nomem(src->ctx);
  copy(&kept->ops, &table);
  kept->own = src->ops;
  kept->ops.destroy = destroy_source;
  src->ops = &kept->ops;
  return CPL_OK;
}
