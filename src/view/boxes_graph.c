// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The diagram of an aggregate: models with the ports in use, couplings, loops, the order of
// evaluation; nested systems with their contents.
#include <stdlib.h>
#include <string.h>

#include "view/boxes.h"

enum { MAX_CONNECTIONS = 5000 };

// One system that is added to the diagram.
typedef struct level {
  cpli_diagram* d;
  const cpl_graph* g;
  int parent;   // node of the system; -1: the outermost
  int* models;  // node of each
  int* signals;
} level;

typedef struct place {
  int node, port;
} place;

// The node and port of a value. A signal of the outermost system is a node of its own, one of a
// nested system a port of its box.
static place place_of(level* l, const cpl_graph_value* v, bool target) {
  if (v->model >= 0) {
    const int n = l->models[v->model];
    return (place){n, cpli_diagram_port(l->d, n, target, v->variable)};
  }
  const cpl_graph_signal* s = &l->g->signals[v->signal];
  if (l->parent >= 0 && s->kind != CPL_SIGNAL_INNER)
    return (place){l->parent,
                   cpli_diagram_port(l->d, l->parent, s->kind == CPL_SIGNAL_INPUT, s->name)};
  if (l->signals[v->signal] < 0)
    l->signals[v->signal] = cpli_diagram_node(l->d, l->parent, "signal", s->name, NULL);
  return (place){l->signals[v->signal], -1};
}

static bool is_parameter(const level* l, const cpl_graph_value* v) {
  return v->signal >= 0 && l->g->signals[v->signal].kind == CPL_SIGNAL_PARAMETER;
}

// A connection that only passes a value on needs no box.
static bool is_plain(const cpl_graph_connection* c) {
  return c->n_sources == 1 && c->text != NULL && strcmp(c->text, c->sources[0].name) == 0;
}

static int draw_line(level* l, const cpl_graph_connection* c, place from, place to) {
  const int e = cpli_diagram_edge(l->d, from.node, from.port, to.node, to.port,
                                  c->loop >= 0 ? "loop" : "", NULL);
  cpli_diagram_about_edge(l->d, e, "%s = %s", c->target.name,
                          c->text != NULL ? c->text : "a function");
  if (c->loop >= 0) {
    const cpl_graph_loop* loop = &l->g->loops[c->loop];
    cpli_diagram_about_edge(l->d, e, "part of loop %d: %d values, %d torn, %s", c->loop + 1,
                            loop->n_values, loop->n_torn,
                            loop->linear ? "linear" : "not known to be linear");
  }
  return e;
}

static void draw_connection(level* l, const cpl_graph_connection* c) {
  const place to = place_of(l, &c->target, true);
  if (is_plain(c) && !is_parameter(l, &c->sources[0])) {
    draw_line(l, c, place_of(l, &c->sources[0], false), to);
    return;
  }
  const int f =
      cpli_diagram_node(l->d, l->parent, "function", c->text != NULL ? c->text : "function", NULL);
  cpli_diagram_about_node(l->d, f, "%s = %s", c->target.name,
                          c->text != NULL ? c->text : "a function");
  for (int32_t i = 0; i < c->n_sources; i++) {
    if (is_parameter(l, &c->sources[i])) continue;
    draw_line(l, c, place_of(l, &c->sources[i], false), (place){f, -1});
  }
  draw_line(l, c, (place){f, -1}, to);
}

// When a value is computed, on its port; when a model is called, on its box.
static void tell_steps(level* l) {
  for (int32_t i = 0; i < l->g->n_steps; i++) {
    const cpl_graph_step* s = &l->g->steps[i];
    const char* what = cpl_graph_step_name(s->kind);
    if (s->model >= 0)
      cpli_diagram_about_node(l->d, l->models[s->model], "evaluation step %d: %s of %d value%s",
                              i + 1, what, s->n_values, s->n_values == 1 ? "" : "s");
    for (int32_t k = 0; k < s->n_values; k++) {
      const cpl_graph_value* v = &s->values[k];
      if (v->model < 0) continue;
      const bool input = s->kind == CPL_GRAPH_SET || s->kind == CPL_GRAPH_COUPLE;
      if (s->kind == CPL_GRAPH_LOOP) continue;
      const int port = cpli_diagram_port(l->d, l->models[v->model], input, v->variable);
      cpli_diagram_about_port(l->d, port, "%s: evaluation step %d (%s)", v->name, i + 1, what);
    }
  }
}

static cpl_status draw_system(cpli_diagram* d, const cpl_component* component, int parent);

static cpl_status draw_models(level* l, const cpl_component* component) {
  cpl_status st = CPL_OK;
  const cpl_model* whole = (const cpl_model*)component;
  for (int32_t i = 0; i < l->g->n_models; i++) {
    const cpl_graph_model* m = &l->g->models[i];
    const bool system = strcmp(m->kind, "system") == 0;
    char sub[512];
    snprintf(sub, sizeof sub, "%s (%s)", m->title, m->kind);
    const int n = l->models[i] =
        cpli_diagram_node(l->d, l->parent, system ? "system" : "model", m->name, sub);
    cpli_diagram_about_node(l->d, n, "%d state%s, %d input%s, %d output%s, %d event indicator%s",
                            m->n_states, m->n_states == 1 ? "" : "s", m->n_inputs,
                            m->n_inputs == 1 ? "" : "s", m->n_outputs, m->n_outputs == 1 ? "" : "s",
                            m->n_indicators, m->n_indicators == 1 ? "" : "s");
    cpli_diagram_about_node(l->d, n, "feed-through: %s", cpl_origin_name(m->feed_through));
    if (l->g->n_groups > 1) cpli_diagram_about_node(l->d, n, "group %d", m->group + 1);
    if (!system || st < 0) continue;
    const cpl_model* part = NULL;
    for (int32_t k = 0; k < cpl_aggregate_count(whole) && part == NULL; k++) {
      const cpl_model* candidate = cpl_aggregate_part(whole, k);
      if (strcmp(candidate->base.name, m->name) == 0) part = candidate;
    }
    if (part != NULL && cpl_aggregate_count(part) > 0) st = draw_system(l->d, &part->base, n);
  }
  return st;
}

static cpl_status draw_system(cpli_diagram* d, const cpl_component* component, int parent) {
  cpl_graph* g = NULL;
  cpl_status st = cpl_graph_create(component, &g);
  if (st < 0) return st;
  level l = {d, g, parent, calloc((size_t)g->n_models + 1, sizeof(int)),
             calloc((size_t)g->n_signals + 1, sizeof(int))};
  if (l.models == NULL || l.signals == NULL) {
    st = cpl_fail(component->ctx, CPL_ERR_NOMEM, "out of memory");
  } else if (g->n_connections > MAX_CONNECTIONS) {
    st = cpl_fail(component->ctx, CPL_ERR_INPUT, "%s: %d connections are too many for a picture",
                  g->name, g->n_connections);
  } else {
    for (int32_t i = 0; i < g->n_signals; i++) l.signals[i] = -1;
    st = draw_models(&l, component);
    for (int32_t i = 0; i < g->n_connections && st >= 0; i++)
      draw_connection(&l, &g->connections[i]);
    for (int32_t i = 0; i < g->n_unconnected && st >= 0; i++) {
      const place p = place_of(&l, &g->unconnected[i].input, true);
      if (p.port >= 0)
        cpli_diagram_about_port(d, p.port, "%s: not connected", g->unconnected[i].input.name);
    }
    if (st >= 0) tell_steps(&l);
  }
  free(l.models);
  free(l.signals);
  cpl_graph_destroy(g);
  return st;
}

cpl_status cpli_diagram_of(cpli_diagram* d, const cpl_component* component) {
  if (strcmp(cpl_component_kind(component), "master") == 0)
    return cpli_diagram_of_master(d, (const cpl_stepper*)component, -1);
  return draw_system(d, component, -1);
}
