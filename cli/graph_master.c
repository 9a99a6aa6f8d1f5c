// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Systems with steppers: their names and capabilities, the links between them, the order of a
// communication step, loops and delays. A nested master follows its outer one.
#include "format/json.h"
#include "format/number.h"
#include "format/text.h"
#include "graph.h"
#include "run_parts.h"

static const char* part_name(const cpl_stepper* s, int32_t part) {
  return cpl_master_part_at(s, part)->base.name;
}

static void put_number(FILE* out, double value) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, value);
  fputs(text, out);
}

//------------------------------------ for people ------------------------------------

static void print_head(FILE* out, const cpl_stepper* s) {
  cpl_master_def def = cpl_master_settings(s);
  cpli_print_text(out, s->base.name, 0);
  fprintf(out, "\n  %d stepper%s, %d link%s; master %s, order %d, ", cpl_master_count(s),
          cpl_master_count(s) == 1 ? "" : "s", cpl_master_link_count(s),
          cpl_master_link_count(s) == 1 ? "" : "s", cpl_master_algorithm_name(def.algorithm),
          def.order);
  if (def.tolerance > 0) {
    fputs("steps for a tolerance of ", out);
    put_number(out, def.tolerance);
    if (def.step > 0) fputs(", not longer than ", out);
  } else {
    fputs(def.step > 0 ? "step " : "steps as asked for", out);
  }
  if (def.step > 0) put_number(out, def.step);
  fputc('\n', out);
}

static const struct {
  size_t offset;
  const char* name;
} abilities[] = {
    {offsetof(cpl_capabilities, save_restore), "rolls back"},
    {offsetof(cpl_capabilities, predicts), "predicts"},
    {offsetof(cpl_capabilities, variable_step), "varies its step"},
    {offsetof(cpl_capabilities, stops_early), "stops at events"},
    {offsetof(cpl_capabilities, zero_step), "steps of size zero"},
    {offsetof(cpl_capabilities, get_after_set), "outputs follow inputs"},
};
enum { N_ABILITIES = sizeof abilities / sizeof abilities[0] };

static bool has(const cpl_capabilities* can, int i) {
  return *(const bool*)((const char*)can + abilities[i].offset);
}

static void print_parts(FILE* out, const cpl_stepper* s) {
  fputs("\nSteppers\n", out);
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_component* c = &cpl_master_part_at(s, i)->base;
    fputs("  ", out);
    cpli_print_text(out, c->name, 0);
    fprintf(out, " (%s): %s", cpl_component_kind(c), parts_role(s, i));
    const char* before = "; can: ";
    for (int k = 0; k < N_ABILITIES; k++) {
      if (!has(&c->can, k)) continue;
      fprintf(out, "%s%s", before, abilities[k].name);
      before = ", ";
    }
    if (c->can.input_derivatives > 0)
      fprintf(out, "%sinput derivatives of order %d", before, c->can.input_derivatives);
    fputc('\n', out);
  }
}

static void print_end(FILE* out, const cpl_stepper* s, int32_t part, const char* variable) {
  cpli_print_text(out, part_name(s, part), 0);
  fputc(':', out);
  cpli_print_text(out, variable, 0);
}

static void print_links(FILE* out, const cpl_stepper* s) {
  if (cpl_master_link_count(s) > 0) fputs("\nLinks\n", out);
  for (int32_t i = 0; i < cpl_master_link_count(s); i++) {
    cpl_master_link_info l = cpl_master_link_at(s, i);
    fputs("  ", out);
    print_end(out, s, l.source_part, l.source);
    fputs(" -> ", out);
    print_end(out, s, l.target_part, l.target);
    if (l.factor != 1) fputs(", times ", out), put_number(out, l.factor);
    if (l.offset != 0) fputs(", plus ", out), put_number(out, l.offset);
    fprintf(out, "%s%s\n", l.delayed ? " (delayed)" : "", l.iterated ? " (iterated)" : "");
  }
}

// Neighbouring calls of one kind and level share a line; those of a loop are indented.
static void print_calls(FILE* out, const cpl_stepper* s) {
  fputs("\nA communication step\n", out);
  int32_t loop_end = 0;
  for (int32_t i = 0, n = cpl_master_call_count(s); i < n;) {
    cpl_master_call first = cpl_master_call_at(s, i);
    bool inside = i < loop_end;
    fprintf(out, "  %s%-5s", inside ? "  " : "", first.kind);
    if (first.part < 0) {
      fprintf(out, "over %d calls\n", first.n);
      loop_end = ++i + first.n;
      continue;
    }
    int32_t end = inside ? loop_end : n;
    for (const char* before = ""; i < end; i++, before = ", ") {
      cpl_master_call c = cpl_master_call_at(s, i);
      if (c.level != first.level || c.kind != first.kind) break;
      fputs(before, out);
      cpli_print_text(out, part_name(s, c.part), 0);
    }
    fputc('\n', out);
  }
}

static void print_facts(FILE* out, const cpl_stepper* s, cpl_master_fact kind, const char* title) {
  enum { MOST = 1000 };
  const char* facts[MOST];
  size_t n = cpl_master_facts(s, kind, facts, MOST);
  if (n > 0) fprintf(out, "\n%s\n", title);
  for (size_t i = 0; i < n && i < MOST; i++) {
    fputs("  ", out);
    cpli_print_text(out, facts[i], 0);
    fputc('\n', out);
  }
  if (n > MOST) fprintf(out, "  ... and %zu more\n", n - MOST);
}

void graph_print_master(FILE* out, const cpl_stepper* s) {
  print_head(out, s);
  print_parts(out, s);
  print_links(out, s);
  print_calls(out, s);
  print_facts(out, s, CPL_FACT_LOOP, "Loops, iterated in every step");
  print_facts(out, s, CPL_FACT_DELAYED, "Links that lag one communication step behind");
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_stepper* part = cpl_master_part_at(s, i);
    if (cpl_master_count(part) == 0) continue;
    fputc('\n', out);
    graph_print_master(out, part);
  }
}

//------------------------------------ for Graphviz ------------------------------------

static void dot_name(FILE* out, const char* path, const cpl_stepper* s, int32_t part) {
  fputs("\"m:", out);
  graph_put_escaped(out, path);
  graph_put_escaped(out, part_name(s, part));
  fputc('"', out);
}

static void dot_parts(FILE* out, const cpl_stepper* s, const char* path) {
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_component* c = &cpl_master_part_at(s, i)->base;
    fputs("  ", out);
    dot_name(out, path, s, i);
    fputs(" [shape=box, style=rounded, label=\"", out);
    graph_put_escaped(out, c->name);
    fprintf(out, "\\n%s\\n%s\"];\n", cpl_component_kind(c), parts_role(s, i));
  }
}

// Delayed links are dashed, torn links of loops red.
static void dot_links(FILE* out, const cpl_stepper* s, const char* path) {
  for (int32_t i = 0; i < cpl_master_link_count(s); i++) {
    cpl_master_link_info l = cpl_master_link_at(s, i);
    fputs("  ", out);
    dot_name(out, path, s, l.source_part);
    fputs(" -> ", out);
    dot_name(out, path, s, l.target_part);
    fputs(" [label=\"", out);
    graph_put_escaped(out, l.source);
    fputs(" → ", out);
    graph_put_escaped(out, l.target);
    fprintf(out, "\"%s%s];\n", l.delayed ? ", style=dashed" : "",
            l.iterated ? ", color=red, fontcolor=red" : "");
  }
}

static void dot_level(FILE* out, const cpl_stepper* s, const char* path) {
  dot_parts(out, s, path);
  dot_links(out, s, path);
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_stepper* part = cpl_master_part_at(s, i);
    char inner[512];
    if (cpl_master_count(part) == 0) continue;
    snprintf(inner, sizeof inner, "%s%s.", path, part->base.name);
    fputs("  subgraph \"cluster_", out);
    graph_put_escaped(out, inner);
    fputs("\" {\n  label=\"", out);
    graph_put_escaped(out, part->base.name);
    fputs("\";\n", out);
    dot_level(out, part, inner);
    fputs("  }\n", out);
  }
}

void graph_print_master_dot(FILE* out, const cpl_stepper* s) {
  fputs("digraph \"", out);
  graph_put_escaped(out, s->base.name);
  fputs(
      "\" {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n"
      "  edge [fontname=\"sans-serif\", fontsize=10];\n",
      out);
  dot_level(out, s, "");
  fputs("}\n", out);
}

//------------------------------------ for tools ------------------------------------

static void write_master(cpli_json* j, const cpl_stepper* s);

static void write_parts(cpli_json* j, const cpl_stepper* s) {
  cpli_json_array(j, "steppers");
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_stepper* part = cpl_master_part_at(s, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", part->base.name);
    cpli_json_text(j, "kind", cpl_component_kind(&part->base));
    cpli_json_text(j, "class", parts_role(s, i));
    cpli_json_array(j, "can");
    for (int k = 0; k < N_ABILITIES; k++) {
      if (has(&part->base.can, k)) cpli_json_text(j, NULL, abilities[k].name);
    }
    cpli_json_close(j, ']');
    cpli_json_integer(j, "input_derivatives", part->base.can.input_derivatives);
    if (cpl_master_count(part) > 0) {
      cpli_json_object(j, "master");
      write_master(j, part);
      cpli_json_close(j, '}');
    }
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_links(cpli_json* j, const cpl_stepper* s) {
  cpli_json_array(j, "links");
  for (int32_t i = 0; i < cpl_master_link_count(s); i++) {
    cpl_master_link_info l = cpl_master_link_at(s, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "from", part_name(s, l.source_part));
    cpli_json_text(j, "output", l.source);
    cpli_json_text(j, "to", part_name(s, l.target_part));
    cpli_json_text(j, "input", l.target);
    if (l.factor != 1) cpli_json_real(j, "factor", l.factor);
    if (l.offset != 0) cpli_json_real(j, "offset", l.offset);
    cpli_json_boolean(j, "delayed", l.delayed);
    cpli_json_boolean(j, "iterated", l.iterated);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_calls(cpli_json* j, const cpl_stepper* s) {
  cpli_json_array(j, "step");
  for (int32_t i = 0; i < cpl_master_call_count(s); i++) {
    cpl_master_call c = cpl_master_call_at(s, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "call", c.kind);
    cpli_json_integer(j, "level", c.level + 1);
    if (c.part >= 0) cpli_json_text(j, "stepper", part_name(s, c.part));
    if (c.n > 0) cpli_json_integer(j, c.part >= 0 ? "values" : "calls", c.n);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_facts(cpli_json* j, const cpl_stepper* s, cpl_master_fact kind, const char* key) {
  enum { MOST = 1000 };
  const char* facts[MOST];
  size_t n = cpl_master_facts(s, kind, facts, MOST);
  cpli_json_array(j, key);
  for (size_t i = 0; i < n && i < MOST; i++) cpli_json_text(j, NULL, facts[i]);
  cpli_json_close(j, ']');
}

static void write_master(cpli_json* j, const cpl_stepper* s) {
  cpl_master_def def = cpl_master_settings(s);
  cpli_json_text(j, "name", s->base.name);
  cpli_json_text(j, "algorithm", cpl_master_algorithm_name(def.algorithm));
  cpli_json_integer(j, "order", def.order);
  cpli_json_real(j, "step_size", def.step);
  if (def.tolerance > 0) cpli_json_real(j, "tolerance", def.tolerance);
  write_parts(j, s);
  write_links(j, s);
  write_calls(j, s);
  write_facts(j, s, CPL_FACT_LOOP, "loops");
  write_facts(j, s, CPL_FACT_DELAYED, "delayed");
}

void graph_print_master_json(FILE* out, const cpl_stepper* s, const char* path) {
  cpli_json json, *j = &json;
  cpli_json_begin(j, out);
  j->one_line = 3;
  cpli_json_object(j, NULL);
  cpli_json_text(j, "file", path);
  write_master(j, s);
  cpli_json_close(j, '}');
  cpli_json_end(j);
}
