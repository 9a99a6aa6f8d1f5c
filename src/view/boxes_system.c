// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The diagram of a source: the state chart of a system with modes, the delay lines of a system that
// has some, otherwise what is inside its model or stepper.
#include <stdio.h>
#include <stdlib.h>

#include "assemble/assemble.h"
#include "couplet/component.h"
#include "view/boxes.h"
#include "view/view.h"

//------------------------------------ modes ------------------------------------

static void draw_way(cpli_diagram* d, int from, int to, const cpli_transition_def* l) {
  char text[1024];
  cpli_transition_text(l, text, sizeof text);
  int edge = cpli_diagram_edge(d, from, -1, to, -1, "transition", text);
  cpli_diagram_about_edge(d, edge, "%s", text);
  for (size_t i = 0; i < l->n_sets; i++)
    cpli_diagram_about_edge(d, edge, "%s = %s", l->sets[i].name.text, l->sets[i].value.text);
}

static void draw_modes(cpli_diagram* d, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  int first = -1;
  for (size_t k = 0; k < def->n_modes; k++) {
    const cpli_mode_def* m = &def->modes[k];
    int32_t n = cpli_mode_description(source, k)->n_states;
    char sub[64];
    snprintf(sub, sizeof sub, "%d state%s", n, n == 1 ? "" : "s");
    int node = cpli_diagram_node(d, -1, "mode", m->name.text, sub);
    if (k == 0) first = node;
    if (strcmp(m->name.text, def->start_mode.text) == 0) cpli_diagram_about_node(d, node, "begins");
    for (size_t i = 0; i < m->def->n_models; i++)
      cpli_diagram_about_node(d, node, "%s", m->def->models[i].name.text);
  }
  for (size_t k = 0; k < def->n_modes; k++) {
    const cpli_mode_def* m = &def->modes[k];
    for (size_t i = 0; i < m->n_leaves; i++) {
      size_t to = 0;
      while (to + 1 < def->n_modes && strcmp(def->modes[to].name.text, m->leaves[i].to.text) != 0)
        to++;
      draw_way(d, first + (int)k, first + (int)to, &m->leaves[i]);
    }
  }
}

//------------------------------------ delay lines ------------------------------------

static void draw_lines(cpli_diagram* d, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  int first = -1;
  for (size_t i = 0; i < def->n_models; i++) {
    const cpl_description* m = cpli_member_description(source, i);
    int node = cpli_diagram_node(d, -1, "model", def->models[i].name.text, m->name);
    if (i == 0) first = node;
    cpli_diagram_about_node(d, node, "%s, %d state%s", cpli_member_kind(source, i), m->n_states,
                            m->n_states == 1 ? "" : "s");
  }
  for (int32_t i = 0; i < cpl_system_line_count(source); i++) {
    const cpl_system_line line = cpl_system_line_at(source, i), *l = &line;
    int at[2], port[2];
    for (int k = 0; k < 2; k++) {
      const char* name = strchr(l->ends[k], '.');
      at[k] = first + (int)cpli_model_of_end(def, l->ends[k]);
      port[k] = cpli_diagram_port(d, at[k], k == 1, name != NULL ? name + 1 : l->ends[k]);
    }
    char text[64];
    snprintf(text, sizeof text, "%g s", l->line.delay);
    int edge = cpli_diagram_edge(d, at[0], port[0], at[1], port[1], "tlm", text);
    cpli_diagram_about_edge(d, edge, "%s delay line, %g s", cpl_tlm_kind_name(l->kind),
                            l->line.delay);
    if (l->kind != CPL_TLM_SIGNAL) cpli_diagram_about_edge(d, edge, "impedance %g", l->line.zf);
  }
}

//------------------------------------ any source ------------------------------------

static cpl_status draw(cpli_diagram* d, cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  if (def != NULL && def->n_modes > 0) {
    draw_modes(d, source);
    return CPL_OK;
  }
  if (cpl_system_line_count(source) > 0) {
    draw_lines(d, source);
    return CPL_OK;
  }
  cpl_component* component = NULL;
  cpl_status st = cpl_source_make_whole(source, &component);
  if (st >= 0) st = cpli_diagram_of(d, component);
  cpl_component_destroy(component);
  return st;
}

cpl_status cpl_diagram_write(cpl_source* source, const char* path, cpl_diagram_form form) {
  cpl_context* ctx = source->ctx;
  cpli_diagram* d = cpli_diagram_begin(ctx, source->desc->name);
  if (d == NULL) return cpli_nomem(ctx);
  cpl_status st = draw(d, source);
  char* json = cpli_diagram_end(d);
  if (st >= 0 && json == NULL) st = cpli_nomem(ctx);
  if (st >= 0)
    st = form == CPL_DIAGRAM_SVG
             ? cpli_diagram_svg(ctx, path, json)
             : cpli_page_write(ctx, "graph.html", path, source->desc->name, json);
  free(json);
  return st;
}
