// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Nodes, ports and edges are collected in growing lists and written as one JSON text at the end.
#include "view/boxes.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "format/json.h"

typedef struct lines {
  char** items;
  size_t n;
} lines;

typedef struct node {
  int parent;
  const char* kind;
  char *name, *sub;
  lines about;
} node;

typedef struct port {
  int node;
  bool input;
  char* name;
  lines about;
} port;

typedef struct edge {
  int from, from_port, to, to_port;
  const char* kind;
  char* name;
  lines about;
} edge;

// Growing lists; lack of memory is recorded and reported at the end.
struct cpli_diagram {
  cpl_context* ctx;
  char* title;
  node* nodes;
  port* ports;
  edge* edges;
  size_t n_nodes, n_ports, n_edges;
  bool failed;
};

//------------------------------------ lists ------------------------------------

static char* copy(cpli_diagram* d, const char* text) {
  char* out = strdup(text != NULL ? text : "");
  d->failed = d->failed || out == NULL;
  return out;
}

// Room for one more of them, zeroed; sizes double.
static void* grow(cpli_diagram* d, void* list, size_t n, size_t size, void* dummy) {
  if ((n & (n + 1)) == 0) {
    void* more = realloc(*(void**)list, (2 * n + 2) * size);
    if (more == NULL) {
      d->failed = true;
      memset(dummy, 0, size);
      return dummy;
    }
    *(void**)list = more;
  }
  void* item = (char*)*(void**)list + n * size;
  memset(item, 0, size);
  return item;
}

cpli_diagram* cpli_diagram_begin(cpl_context* ctx, const char* title) {
  cpli_diagram* d = calloc(1, sizeof *d);
  if (d == NULL) return NULL;
  d->ctx = ctx;
  d->title = copy(d, title);
  return d;
}

int cpli_diagram_node(cpli_diagram* d, int parent, const char* kind, const char* name,
                      const char* sub) {
  if (d->failed) return 0;
  node none, *n = grow(d, &d->nodes, d->n_nodes, sizeof none, &none);
  if (d->failed) return 0;
  *n = (node){.parent = parent, .kind = kind, .name = copy(d, name), .sub = copy(d, sub)};
  return (int)d->n_nodes++;
}

int cpli_diagram_port(cpli_diagram* d, int of, bool input, const char* name) {
  if (d->failed) return 0;
  for (size_t i = 0; i < d->n_ports; i++) {
    const port* p = &d->ports[i];
    if (p->node == of && p->input == input && strcmp(p->name, name) == 0) return (int)i;
  }
  port none, *p = grow(d, &d->ports, d->n_ports, sizeof none, &none);
  if (d->failed) return 0;
  *p = (port){.node = of, .input = input, .name = copy(d, name)};
  return (int)d->n_ports++;
}

int cpli_diagram_edge(cpli_diagram* d, int from, int from_port, int to, int to_port,
                      const char* kind, const char* name) {
  if (d->failed) return 0;
  edge none, *e = grow(d, &d->edges, d->n_edges, sizeof none, &none);
  if (d->failed) return 0;
  *e = (edge){from, from_port, to, to_port, kind, copy(d, name), {0}};
  return (int)d->n_edges++;
}

static void add_line(cpli_diagram* d, lines* l, const char* fmt, va_list args) {
  if (d->failed) return;
  char** items = realloc(l->items, (l->n + 1) * sizeof *items);
  if (items != NULL) l->items = items;
  if (items == NULL || vasprintf(&items[l->n], fmt, args) < 0) d->failed = true;
  else l->n++;
}

void cpli_diagram_about_node(cpli_diagram* d, int i, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (!d->failed) add_line(d, &d->nodes[i].about, fmt, args);
  va_end(args);
}

void cpli_diagram_about_port(cpli_diagram* d, int i, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (!d->failed) add_line(d, &d->ports[i].about, fmt, args);
  va_end(args);
}

void cpli_diagram_about_edge(cpli_diagram* d, int i, const char* fmt, ...) {
  va_list args;
  va_start(args, fmt);
  if (!d->failed) add_line(d, &d->edges[i].about, fmt, args);
  va_end(args);
}

//------------------------------------ JSON ------------------------------------

static void write_lines(cpli_json* j, const lines* l) {
  cpli_json_array(j, "info");
  for (size_t i = 0; i < l->n; i++) cpli_json_text(j, NULL, l->items[i]);
  cpli_json_close(j, ']');
}

static void write_node(cpli_json* j, const cpli_diagram* d, size_t i) {
  const node* n = &d->nodes[i];
  cpli_json_object(j, NULL);
  cpli_json_integer(j, "id", (int64_t)i);
  cpli_json_integer(j, "parent", n->parent);
  cpli_json_text(j, "kind", n->kind);
  cpli_json_text(j, "name", n->name);
  cpli_json_text(j, "sub", n->sub);
  write_lines(j, &n->about);
  cpli_json_array(j, "ports");
  for (size_t k = 0; k < d->n_ports; k++) {
    if (d->ports[k].node != (int)i) continue;
    cpli_json_object(j, NULL);
    cpli_json_integer(j, "id", (int64_t)k);
    cpli_json_text(j, "side", d->ports[k].input ? "in" : "out");
    cpli_json_text(j, "name", d->ports[k].name);
    write_lines(j, &d->ports[k].about);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_json_close(j, '}');
}

static void write_end(cpli_json* j, const char* key, int of, int at) {
  cpli_json_array(j, key);
  cpli_json_integer(j, NULL, of);
  cpli_json_integer(j, NULL, at);
  cpli_json_close(j, ']');
}

static void write_edge(cpli_json* j, const edge* e) {
  cpli_json_object(j, NULL);
  write_end(j, "from", e->from, e->from_port);
  write_end(j, "to", e->to, e->to_port);
  cpli_json_text(j, "kind", e->kind);
  cpli_json_text(j, "name", e->name);
  write_lines(j, &e->about);
  cpli_json_close(j, '}');
}

static char* write_all(const cpli_diagram* d) {
  char* text = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  cpli_json j;
  cpli_json_begin(&j, out);
  j.one_line = 2;
  cpli_json_object(&j, NULL);
  cpli_json_text(&j, "title", d->title);
  cpli_json_array(&j, "nodes");
  for (size_t i = 0; i < d->n_nodes; i++) write_node(&j, d, i);
  cpli_json_close(&j, ']');
  cpli_json_array(&j, "edges");
  for (size_t i = 0; i < d->n_edges; i++) write_edge(&j, &d->edges[i]);
  cpli_json_close(&j, ']');
  cpli_json_close(&j, '}');
  cpli_json_end(&j);
  fclose(out);
  return text;
}

static void free_lines(lines* l) {
  for (size_t i = 0; i < l->n; i++) free(l->items[i]);
  free(l->items);
}

char* cpli_diagram_end(cpli_diagram* d) {
  char* text = d->failed ? NULL : write_all(d);
  for (size_t i = 0; i < d->n_nodes; i++) {
    free(d->nodes[i].name);
    free(d->nodes[i].sub);
    free_lines(&d->nodes[i].about);
  }
  for (size_t i = 0; i < d->n_ports; i++) {
    free(d->ports[i].name);
    free_lines(&d->ports[i].about);
  }
  for (size_t i = 0; i < d->n_edges; i++) {
    free(d->edges[i].name);
    free_lines(&d->edges[i].about);
  }
  free(d->nodes);
  free(d->ports);
  free(d->edges);
  free(d->title);
  free(d);
  return text;
}
