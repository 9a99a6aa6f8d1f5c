// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The state chart of a system with modes.
#include <string.h>

#include "assemble/assemble.h"
#include "format/json.h"
#include "format/text.h"
#include "graph.h"

bool graph_has_modes(const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  return def != NULL && def->n_modes > 0;
}

static size_t count_ways(const cpl_system_def* def) {
  size_t n = 0;
  for (size_t k = 0; k < def->n_modes; k++) n += def->modes[k].n_leaves;
  return n;
}

//------------------------------------ for people ------------------------------------

static void print_way(FILE* out, const cpli_transition_def* l) {
  char text[1024];
  cpli_transition_text(l, text, sizeof text);
  fputs("    -> ", out);
  cpli_print_text(out, l->to.text, 0);
  fputs("  ", out);
  cpli_print_text(out, text, 0);
  if (l->on_entry.text != NULL) fprintf(out, " (entry: %s)", l->on_entry.text);
  fputc('\n', out);
  for (size_t i = 0; i < l->n_sets; i++) {
    fputs("         ", out);
    cpli_print_text(out, l->sets[i].name.text, 0);
    fputs(" = ", out);
    cpli_print_text(out, l->sets[i].value.text, 0);
    fputc('\n', out);
  }
}

static void print_modes(FILE* out, const cpl_source* source, const cpl_system_def* def) {
  for (size_t k = 0; k < def->n_modes; k++) {
    const cpli_mode_def* m = &def->modes[k];
    const cpl_description* d = cpli_mode_description(source, k);
    fputs("  ", out);
    cpli_print_text(out, m->name.text, 0);
    fprintf(out, ": %zu model%s, %d state%s\n", m->def->n_models, m->def->n_models == 1 ? "" : "s",
            d->n_states, d->n_states == 1 ? "" : "s");
    for (size_t i = 0; i < m->n_leaves; i++) print_way(out, &m->leaves[i]);
  }
}

void graph_print_inner_modes(FILE* out, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  const cpli_built* b = (const cpli_built*)source;
  for (size_t i = 0; def != NULL && i < def->n_models; i++) {
    if (b->borrowed[i] || !graph_has_modes(b->sources[i])) continue;
    const cpl_system_def* inner = cpl_system_definition(b->sources[i]);
    fputs("\nModes of ", out);
    cpli_print_text(out, def->models[i].name.text, 0);
    fputs(", which begins with ", out);
    cpli_print_text(out, inner->start_mode.text, 0);
    fputc('\n', out);
    print_modes(out, b->sources[i], inner);
  }
}

static void print_text(FILE* out, const cpl_source* source, const cpl_system_def* def) {
  size_t ways = count_ways(def);
  cpli_print_text(out, source->desc->name, 0);
  fprintf(out, "\n  %zu mode%s, %zu transition%s; begins with ", def->n_modes,
          def->n_modes == 1 ? "" : "s", ways, ways == 1 ? "" : "s");
  cpli_print_text(out, def->start_mode.text, 0);
  fputs("\n\nModes\n", out);
  print_modes(out, source, def);
  if (def->n_observed > 0) fputs("\nObserved\n", out);
  for (size_t i = 0; i < def->n_observed; i++) {
    fputs("  ", out);
    cpli_print_text(out, def->observed[i].name.text, 0);
    fputc('\n', out);
  }
}

//------------------------------------ for Graphviz ------------------------------------

static void print_dot(FILE* out, const cpl_source* source, const cpl_system_def* def) {
  fputs("digraph \"", out);
  graph_put_escaped(out, source->desc->name);
  fputs("\" {\n  node [shape=box, style=rounded];\n  \"(start)\" [shape=point, width=0.15];\n",
        out);
  fputs("  \"(start)\" -> \"", out);
  graph_put_escaped(out, def->start_mode.text);
  fputs("\";\n", out);
  for (size_t k = 0; k < def->n_modes; k++) {
    const cpli_mode_def* m = &def->modes[k];
    fputs("  \"", out);
    graph_put_escaped(out, m->name.text);
    fputs("\" [label=\"", out);
    graph_put_escaped(out, m->name.text);
    for (size_t i = 0; i < m->def->n_models && i < 5; i++) {
      fputs("\\n", out);
      graph_put_escaped(out, m->def->models[i].name.text);
    }
    if (m->def->n_models > 5) fprintf(out, "\\nand %zu more", m->def->n_models - 5);
    int32_t n = cpli_mode_description(source, k)->n_states;
    fprintf(out, "\\n%d state%s\"];\n", n, n == 1 ? "" : "s");
    for (size_t i = 0; i < m->n_leaves; i++) {
      char text[1024];
      cpli_transition_text(&m->leaves[i], text, sizeof text);
      fputs("  \"", out);
      graph_put_escaped(out, m->name.text);
      fputs("\" -> \"", out);
      graph_put_escaped(out, m->leaves[i].to.text);
      fputs("\" [label=\"", out);
      graph_put_escaped(out, text);
      fputs("\"];\n", out);
    }
  }
  fputs("}\n", out);
}

//------------------------------------ for tools ------------------------------------

static void print_json_way(cpli_json* json, const cpli_transition_def* l) {
  char text[1024];
  cpli_transition_text(l, text, sizeof text);
  cpli_json_object(json, NULL);
  cpli_json_text(json, "to", l->to.text);
  cpli_json_text(json, "condition", text);
  cpli_json_array(json, "set");
  for (size_t s = 0; s < l->n_sets; s++) {
    cpli_json_object(json, NULL);
    cpli_json_text(json, "name", l->sets[s].name.text);
    cpli_json_text(json, "value", l->sets[s].value.text);
    cpli_json_close(json, '}');
  }
  cpli_json_close(json, ']');
  cpli_json_close(json, '}');
}

static void print_json(FILE* out, const cpl_source* source, const cpl_system_def* def) {
  cpli_json json;
  cpli_json_begin(&json, out);
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "name", source->desc->name);
  cpli_json_text(&json, "start", def->start_mode.text);
  cpli_json_array(&json, "modes");
  for (size_t k = 0; k < def->n_modes; k++) {
    const cpli_mode_def* m = &def->modes[k];
    cpli_json_object(&json, NULL);
    cpli_json_text(&json, "name", m->name.text);
    cpli_json_integer(&json, "models", (int64_t)m->def->n_models);
    cpli_json_integer(&json, "states", cpli_mode_description(source, k)->n_states);
    cpli_json_array(&json, "leave");
    for (size_t i = 0; i < m->n_leaves; i++) print_json_way(&json, &m->leaves[i]);
    cpli_json_close(&json, ']');
    cpli_json_close(&json, '}');
  }
  cpli_json_close(&json, ']');
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
}

void graph_print_modes(FILE* out, const cpl_source* source, graph_form form) {
  static void (*const print[])(FILE*, const cpl_source*, const cpl_system_def*) = {
      [GRAPH_TEXT] = print_text, [GRAPH_DOT] = print_dot, [GRAPH_JSON] = print_json};
  print[form](out, source, cpl_system_definition(source));
}
