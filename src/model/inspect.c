// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics and children of components, by their operation inspect.
#include "model/inspect.h"

#include <math.h>
#include <string.h>

#include "base/base.h"
#include "model/adopt.h"

cpl_status cpl_component_inspect(const cpl_component* c, int32_t child, cpl_inspection* out) {
  *out = (cpl_inspection){.role = ""};
  if (child < 0) out->kind = c->ops->kind, out->name = c->name, out->component = (cpl_component*)c;
  cpl_status st = CPLI_OFFERS(c->ops, inspect) ? c->ops->inspect(c, child, out) : CPL_OK;
  if (st < 0 || child < out->n_children) return st;
  return cpl_fail(c->ctx, CPL_ERR_INPUT, "%s: there is no component %d of %d", c->name, child,
                  out->n_children);
}

static cpl_counter* find(const cpl_inspection* in, const char* name) {
  for (int32_t i = 0; i < in->n_counters; i++) {
    if (strcmp(in->counters[i].name, name) == 0) return (cpl_counter*)&in->counters[i];
  }
  return NULL;
}

double cpl_inspection_counter(const cpl_inspection* inspection, const char* name) {
  const cpl_counter* counter = find(inspection, name);
  return counter != NULL ? counter->value : NAN;
}

double cpl_component_counter(const cpl_component* c, const char* name) {
  cpl_inspection in;
  return cpl_component_inspect(c, -1, &in) < 0 ? NAN : cpl_inspection_counter(&in, name);
}

void cpl_inspection_add(cpl_inspection* inspection, cpl_counter counter) {
  cpl_counter* same = find(inspection, counter.name);
  if (same != NULL)
    same->value = counter.maximum ? fmax(same->value, counter.value) : same->value + counter.value;
  else if (inspection->n_counters < CPL_MAX_COUNTERS)
    inspection->counters[inspection->n_counters++] = counter;
}

void cpli_inspection_child(cpl_inspection* out, cpl_component* child) {
  out->kind = child->ops->kind, out->name = child->name, out->component = child;
  out->self = NULL;
}

void cpli_inspection_sum(cpl_inspection* out, const cpl_component* c) {
  cpl_inspection one;
  if (cpl_component_inspect(c, -1, &one) < 0) return;
  for (int32_t i = 0; i < one.n_counters; i++) cpl_inspection_add(out, one.counters[i]);
}

void* cpli_component_self(const cpl_component* c, const char* kind) {
  cpl_inspection in;
  return cpl_component_inspect(c, -1, &in) >= 0 && in.kind == kind ? in.self : NULL;
}
