// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A system with delay lines: its models and the lines between them.
#include <string.h>

#include "assemble/assemble.h"
#include "format/json.h"
#include "graph.h"

bool graph_has_lines(const cpl_source* source) { return cpl_system_line_count(source) > 0; }

//------------------------------------ for people ------------------------------------

static void print_text(FILE* out, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  int32_t n = cpl_system_line_count(source);
  cli_print_safe(out, source->desc->name);
  fprintf(out, "\n  %zu model%s, %d delay line%s\n\nModels\n", def->n_models,
          def->n_models == 1 ? "" : "s", n, n == 1 ? "" : "s");
  for (size_t i = 0; i < def->n_models; i++) {
    const cpl_description* d = cpli_member_description(source, i);
    fputs("  ", out);
    cli_print_safe(out, def->models[i].name.text);
    fputs("  ", out);
    cli_print_safe(out, d->name);
    fprintf(out, ", %s, %d state%s\n", cpli_member_kind(source, i), d->n_states,
            d->n_states == 1 ? "" : "s");
  }
  fputs("\nDelay lines\n", out);
  for (int32_t i = 0; i < n; i++) {
    const cpl_system_line line = cpl_system_line_at(source, i), *l = &line;
    fputs("  ", out);
    cli_print_safe(out, l->ends[0]);
    fputs(" -- ", out);
    cli_print_safe(out, l->ends[1]);
    fprintf(out, "  %s, delay %g s\n", cpl_tlm_kind_name(l->kind), l->line.delay);
  }
}

static void print_dot(FILE* out, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  fputs("graph \"", out);
  graph_put_escaped(out, source->desc->name);
  fputs("\" {\n  node [shape=box];\n", out);
  for (int32_t i = 0; i < cpl_system_line_count(source); i++) {
    const cpl_system_line line = cpl_system_line_at(source, i), *l = &line;
    for (int k = 0; k < 2; k++) {
      fputs(k == 0 ? "  \"" : " -- \"", out);
      graph_put_escaped(out, def->models[cpli_model_of_end(def, l->ends[k])].name.text);
      fputc('"', out);
    }
    fprintf(out, " [penwidth=3, label=\"%s, %g s\"];\n", cpl_tlm_kind_name(l->kind), l->line.delay);
  }
  fputs("}\n", out);
}

//------------------------------------ for tools ------------------------------------

static void print_json(FILE* out, const cpl_source* source) {
  const cpl_system_def* def = cpl_system_definition(source);
  cpli_json json;
  cpli_json_begin(&json, out);
  cpli_json_object(&json, NULL);
  cpli_json_text(&json, "name", source->desc->name);
  cpli_json_array(&json, "models");
  for (size_t i = 0; i < def->n_models; i++) {
    cpli_json_object(&json, NULL);
    cpli_json_text(&json, "name", def->models[i].name.text);
    cpli_json_text(&json, "kind", cpli_member_kind(source, i));
    cpli_json_integer(&json, "states", cpli_member_description(source, i)->n_states);
    cpli_json_close(&json, '}');
  }
  cpli_json_close(&json, ']');
  cpli_json_array(&json, "lines");
  for (int32_t i = 0; i < cpl_system_line_count(source); i++) {
    const cpl_system_line line = cpl_system_line_at(source, i), *l = &line;
    cpli_json_object(&json, NULL);
    cpli_json_text(&json, "from", l->ends[0]);
    cpli_json_text(&json, "to", l->ends[1]);
    cpli_json_text(&json, "kind", cpl_tlm_kind_name(l->kind));
    cpli_json_real(&json, "delay", l->line.delay);
    cpli_json_close(&json, '}');
  }
  cpli_json_close(&json, ']');
  cpli_json_close(&json, '}');
  cpli_json_end(&json);
}

void graph_print_lines(FILE* out, const cpl_source* source, graph_form form) {
  static void (*const print[])(FILE * out, const cpl_source* source) = {
      [GRAPH_TEXT] = print_text, [GRAPH_DOT] = print_dot, [GRAPH_JSON] = print_json};
  print[form](out, source);
}
