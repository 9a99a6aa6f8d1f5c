// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The diagram of a master: a box around its steppers, with the links between them; delayed links
// are dashed, iterated ones red.
#include <stdlib.h>
#include <string.h>

#include "view/boxes.h"

static void describe(cpli_diagram* d, int node, const cpl_stepper* s) {
  const cpl_master_def def = cpl_master_settings(s);
  cpli_diagram_about_node(d, node, "master: %s, inputs follow polynomials of order %d",
                          cpl_master_algorithm_name(def.algorithm), def.order);
  if (def.step > 0) cpli_diagram_about_node(d, node, "communication step at most %g", def.step);
  if (def.tolerance > 0)
    cpli_diagram_about_node(d, node, "steps for a tolerance of %g", def.tolerance);
}

static void draw_links(cpli_diagram* d, const cpl_stepper* s, const int* nodes) {
  for (int32_t i = 0; i < cpl_master_link_count(s); i++) {
    const cpl_master_link_info l = cpl_master_link_at(s, i);
    const int from = nodes[l.source_part], to = nodes[l.target_part];
    const int e = cpli_diagram_edge(d, from, cpli_diagram_port(d, from, false, l.source), to,
                                    cpli_diagram_port(d, to, true, l.target),
                                    l.iterated  ? "loop"
                                    : l.delayed ? "delayed"
                                                : "",
                                    NULL);
    cpli_diagram_about_edge(d, e, "%s = %s", l.target, l.source);
    if (l.factor != 1 || l.offset != 0)
      cpli_diagram_about_edge(d, e, "times %g plus %g (units)", l.factor, l.offset);
    if (l.iterated) cpli_diagram_about_edge(d, e, "iterated: part of a loop");
    if (l.delayed) cpli_diagram_about_edge(d, e, "delayed by one communication step");
  }
}

// The calls of a stepper in a communication step.
static void tell_calls(cpli_diagram* d, const cpl_stepper* s, const int* nodes) {
  for (int32_t i = 0; i < cpl_master_call_count(s); i++) {
    const cpl_master_call c = cpl_master_call_at(s, i);
    if (c.part < 0) continue;
    if (c.n > 0)
      cpli_diagram_about_node(d, nodes[c.part], "call %d of a step: %s of %d value%s", i + 1,
                              c.kind, c.n, c.n == 1 ? "" : "s");
    else cpli_diagram_about_node(d, nodes[c.part], "call %d of a step: %s", i + 1, c.kind);
  }
}

cpl_status cpli_diagram_of_master(cpli_diagram* d, const cpl_stepper* s, int parent) {
  char sub[256];
  const int32_t n = cpl_master_count(s);
  int* nodes = calloc((size_t)n + 1, sizeof *nodes);
  if (nodes == NULL) return cpl_fail(s->base.ctx, CPL_ERR_NOMEM, "out of memory");
  snprintf(sub, sizeof sub, "master, %s",
           cpl_master_algorithm_name(cpl_master_settings(s).algorithm));
  const int box = parent >= 0 ? parent : cpli_diagram_node(d, -1, "system", s->base.name, sub);
  describe(d, box, s);
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    const cpl_stepper* part = cpl_master_part_at(s, i);
    const bool master = cpl_master_count(part) > 0;
    snprintf(sub, sizeof sub, "%s (%s)", part->base.desc->name, part->base.desc->kind);
    nodes[i] = cpli_diagram_node(d, box, master ? "system" : "model", part->base.name, sub);
    cpl_inspection in;
    if (cpl_component_inspect(&s->base, i, &in) >= 0)
      cpli_diagram_about_node(d, nodes[i], "%s", in.role);
    if (master) st = cpli_diagram_of_master(d, part, nodes[i]);
  }
  if (st >= 0) draw_links(d, s, nodes);
  if (st >= 0) tell_calls(d, s, nodes);
  free(nodes);
  return st;
}
