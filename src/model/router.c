// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The reading of a route table: a run ends where the next reference belongs to another component,
// or where a value is set that several components have, which is a run of its own in each of them.
#include "model/router.h"

#include <assert.h>

static cpl_status get(cpl_component* c, const cpli_access* a) {
  const cpl_component_ops* ops = c->ops;
  switch (a->type) {
    case CPL_REAL: return ops->get_real(c, a->refs, a->n, a->values);
    case CPL_STRING: return ops->get_string(c, a->refs, a->n, a->values);
    case CPL_BINARY: return ops->get_binary(c, a->refs, a->n, a->values);
    default: return ops->get_integer(c, a->type, a->refs, a->n, a->values);
  }
}

static cpl_status set(cpl_component* c, const cpli_access* a) {
  const cpl_component_ops* ops = c->ops;
  switch (a->type) {
    case CPL_REAL: return ops->set_real(c, a->refs, a->n, a->values);
    case CPL_STRING: return ops->set_string(c, a->refs, a->n, a->values);
    case CPL_BINARY: return ops->set_binary(c, a->refs, a->n, a->values);
    default: return ops->set_integer(c, a->type, a->refs, a->n, a->values);
  }
}

cpl_status cpli_access_values(cpl_component* c, const cpli_access* a) {
  if (a->type == CPL_BINARY && c->ops->get_binary == NULL)
    return cpl_fail(c->ctx, CPL_ERR_UNSUPPORTED, "%s: it has no Binary variables", c->name);
  return a->set ? set(c, a) : get(c, a);
}

//------------------------------------ routes ------------------------------------

enum { MAX_RUN = 128 };  // references per call

static size_t size_of(cpl_type type) {
  switch (type) {
    case CPL_REAL: return sizeof(double);
    case CPL_STRING: return sizeof(const char*);
    case CPL_BINARY: return sizeof(cpl_binary);
    default: return sizeof(int64_t);
  }
}

const cpl_route* cpli_router_find(const cpli_router* r, uint32_t ref, int32_t* n) {
  *n = r->first != NULL ? r->first[ref + 1] - r->first[ref] : 1;
  assert(*n > 0);
  return &r->routes[r->first != NULL ? (uint32_t)r->first[ref] : ref];
}

static cpl_status check(const cpli_router* r, const cpl_component* whole, const cpli_access* a) {
  for (size_t i = 0; i < a->n; i++) {
    if (a->refs[i] >= r->n)
      return cpl_fail(whole->ctx, CPL_ERR_INPUT, "%s: there is no variable %u", whole->name,
                      (unsigned)a->refs[i]);
  }
  return CPL_OK;
}

// Takes the leading references of one component, at most n, into a run.
static void take_run(const cpli_router* r, size_t n, uint32_t* inner, cpli_access* run) {
  int32_t copies;
  for (run->n = 0; run->n < n && run->n < MAX_RUN; run->n++) {
    const cpl_route* at = cpli_router_find(r, run->outer[run->n], &copies);
    if (run->n > 0 && (at->component != run->component || (run->set && copies > 1))) return;
    run->component = at->component;
    inner[run->n] = at->ref;
    if (run->set && copies > 1) n = 1;
  }
}

// The other components that have the value of a run.
static cpl_status set_copies(const cpli_router* r, cpl_component* whole, cpli_access run) {
  int32_t copies;
  const cpl_route* at = cpli_router_find(r, run.outer[0], &copies);
  cpl_status st = CPL_OK;
  for (int32_t k = 1; k < copies && st == CPL_OK; k++) {
    run.component = at[k].component;
    run.refs = &at[k].ref;
    st = r->forward(whole, &run);
  }
  return st;
}

cpl_status cpli_router_access(const cpli_router* r, cpl_component* whole, const cpli_access* a) {
  uint32_t inner[MAX_RUN];
  cpli_access run = *a;
  cpl_status st = check(r, whole, a);
  for (size_t i = 0; i < a->n && st == CPL_OK; i += run.n) {
    run.outer = a->refs + i;
    run.values = (char*)a->values + i * size_of(a->type);
    run.refs = inner;
    take_run(r, a->n - i, inner, &run);
    st = r->forward(whole, &run);
    if (st == CPL_OK && a->set) st = set_copies(r, whole, run);
  }
  return st;
}
