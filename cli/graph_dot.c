// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The graph of a system for Graphviz: one node per model and per signal, one arrow per source of a
// connection, loops in red.
#include "format/text.h"
#include "graph.h"

// Inside quotes: quotes and backslashes are escaped, control characters become blanks.
void graph_put_escaped(FILE* out, const char* text) {
  while (*text != '\0') {
    const char* begin = text;
    uint32_t c = cpli_utf8_next(&text);
    if (c == '"' || c == '\\') fprintf(out, "\\%c", (int)c);
    else if (c == 0xfffd) fputc('?', out);
    else if (cpli_is_control(c)) fputc(' ', out);
    else fwrite(begin, 1, (size_t)(text - begin), out);
  }
}

// Nodes are called "m:NAME" and "s:NAME", so that a model and a signal may have the same name.
static void put_node(FILE* out, const cpl_graph* g, const cpl_graph_value* v) {
  fputs(v->model >= 0 ? "\"m:" : "\"s:", out);
  graph_put_escaped(out, v->model >= 0 ? g->models[v->model].name : v->name);
  fputc('"', out);
}

static void print_model(FILE* out, const cpl_graph* g, int32_t i) {
  const cpl_graph_model* m = &g->models[i];
  cpl_graph_value v = {.model = i};
  fputs("  ", out);
  put_node(out, g, &v);
  fputs(" [shape=box, style=rounded, label=\"", out);
  graph_put_escaped(out, m->name);
  fputs("\\n", out);
  graph_put_escaped(out, m->title);
  fprintf(out, " (");
  graph_put_escaped(out, m->kind);
  fprintf(out, ")\\n%d state%s\"];\n", m->n_states, m->n_states == 1 ? "" : "s");
}

// An arrow from each source; those of loops are red.
static void print_connection(FILE* out, const cpl_graph* g, const cpl_graph_connection* c) {
  for (int32_t i = 0; i < c->n_sources; i++) {
    const cpl_graph_value* source = &c->sources[i];
    if (source->signal >= 0 && g->signals[source->signal].kind == CPL_SIGNAL_PARAMETER) continue;
    fputs("  ", out);
    put_node(out, g, source);
    fputs(" -> ", out);
    put_node(out, g, &c->target);
    fputs(" [label=\"", out);
    if (source->model >= 0) graph_put_escaped(out, source->variable);
    if (source->model >= 0 && c->target.model >= 0) fputs(" → ", out);
    if (c->target.model >= 0) graph_put_escaped(out, c->target.variable);
    fprintf(out, "\"%s];\n", c->loop >= 0 ? ", color=red, fontcolor=red" : "");
  }
}

void graph_print_dot(FILE* out, const cpl_graph* g) {
  fputs("digraph \"", out);
  graph_put_escaped(out, g->name);
  fputs(
      "\" {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n",
      out);
  for (int32_t i = 0; i < g->n_models; i++) print_model(out, g, i);
  for (int32_t i = 0; i < g->n_signals; i++) {
    if (g->signals[i].kind == CPL_SIGNAL_PARAMETER) continue;
    cpl_graph_value v = {.name = g->signals[i].name, .model = -1};
    fputs("  ", out);
    put_node(out, g, &v);
    fputs(" [shape=plaintext, label=\"", out);
    graph_put_escaped(out, v.name);
    fputs("\"];\n", out);
  }
  for (int32_t i = 0; i < g->n_connections; i++) print_connection(out, g, &g->connections[i]);
  fputs("}\n", out);
}
