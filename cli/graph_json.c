// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The graph of a system as JSON, with one array per kind of item and one line per item.
#include "format/json.h"
#include "graph.h"

static void write_values(cpli_json* j, const char* key, const cpl_graph_value* values, int32_t n) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) cpli_json_text(j, NULL, values[i].name);
  cpli_json_close(j, ']');
}

static void write_models(cpli_json* j, const cpl_graph* g) {
  cpli_json_array(j, "models");
  for (int32_t i = 0; i < g->n_models; i++) {
    const cpl_graph_model* m = &g->models[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", m->name);
    cpli_json_text(j, "kind", m->kind);
    cpli_json_text(j, "model", m->title);
    cpli_json_integer(j, "states", m->n_states);
    cpli_json_integer(j, "inputs", m->n_inputs);
    cpli_json_integer(j, "outputs", m->n_outputs);
    cpli_json_integer(j, "event_indicators", m->n_indicators);
    cpli_json_boolean(j, "directional_derivatives", m->directional);
    cpli_json_boolean(j, "rolls_back", m->rolls_back);
    cpli_json_text(j, "feed_through", cpl_origin_name(m->feed_through));
    cpli_json_integer(j, "assumed", m->n_assumed);
    cpli_json_integer(j, "group", m->group + 1);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_connections(cpli_json* j, const cpl_graph* g) {
  cpli_json_array(j, "connections");
  for (int32_t i = 0; i < g->n_connections; i++) {
    const cpl_graph_connection* c = &g->connections[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "target", c->target.name);
    cpli_json_text(j, "text", c->text);
    write_values(j, "sources", c->sources, c->n_sources);
    cpli_json_boolean(j, "linear", c->linear);
    if (c->loop >= 0) cpli_json_integer(j, "loop", c->loop + 1);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_order(cpli_json* j, const cpl_graph* g) {
  cpli_json_array(j, "evaluation");
  for (int32_t i = 0; i < g->n_steps; i++) {
    const cpl_graph_step* s = &g->steps[i];
    cpli_json_object(j, NULL);
    cpli_json_integer(j, "level", s->level + 1);
    cpli_json_text(j, "call", cpl_graph_step_name(s->kind));
    if (s->model >= 0) cpli_json_text(j, "model", g->models[s->model].name);
    if (s->loop >= 0) cpli_json_integer(j, "loop", s->loop + 1);
    write_values(j, "variables", s->values, s->n_values);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_json_array(j, "loops");
  for (int32_t i = 0; i < g->n_loops; i++) {
    const cpl_graph_loop* l = &g->loops[i];
    cpli_json_object(j, NULL);
    cpli_json_integer(j, "number", i + 1);
    cpli_json_boolean(j, "linear", l->linear);
    write_values(j, "torn", l->values, l->n_torn);
    write_values(j, "then", l->values + l->n_torn, l->n_values - l->n_torn);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

void graph_print_json(FILE* out, const cpl_graph* g, const char* path) {
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 3;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", path);
  cpli_json_text(j, "name", g->name);
  cpli_json_integer(j, "states", g->n_states);
  cpli_json_integer(j, "event_indicators", g->n_indicators);
  cpli_json_integer(j, "groups", g->n_groups);
  write_models(j, g);
  cpli_json_array(j, "signals");
  for (int32_t i = 0; i < g->n_signals; i++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", g->signals[i].name);
    cpli_json_text(j, "kind", graph_signal_name(g->signals[i].kind));
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  write_connections(j, g);
  write_order(j, g);
  cpli_json_array(j, "unconnected");
  for (int32_t i = 0; i < g->n_unconnected; i++) {
    const cpl_graph_open* u = &g->unconnected[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "input", u->input.name);
    if (u->has_start) cpli_json_real(j, "start", u->start);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_json_close(j, '}');
  cpli_json_end(j);
}
