// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet graph`, and the graph of a system as text: models, connections, the order of
// evaluation, loops, subsystems and unconnected inputs.
#include "graph.h"

#include <string.h>

#include "format/number.h"
#include "format/text.h"
#include "no_run.h"

typedef struct graph_args {
  bool dot, json, html, svg, no_run;
  const char *log_level, *output;
  cli_isolation isolation;
  cli_package package;
} graph_args;

enum { WIDTH = 80 };

const char* graph_signal_name(cpl_signal_kind kind) {
  static const char* const names[] = {"inner", "input", "output", "parameter"};
  return names[kind];
}

bool graph_is_between(const cpl_graph_connection* c) { return c->target.model >= 0; }

//------------------------------------ lines ------------------------------------

// Text wrapped into lines: the column reached, and the indent of the next lines.
typedef struct flow {
  FILE* out;
  size_t at, indent;
  bool begun;
} flow;

static void put_word(flow* f, const char* word, size_t len, const char* behind) {
  size_t width = len + strlen(behind);
  if (f->begun && f->at + 1 + width > WIDTH) {
    fprintf(f->out, "\n%*s", (int)f->indent, "");
    f->at = f->indent;
  } else if (f->begun) {
    fputc(' ', f->out);
    f->at++;
  }
  char text[256];
  for (size_t done = 0; done < len;) {  // whole characters, as many as there is room for
    size_t n = len - done < sizeof text - 1 ? len - done : sizeof text - 1;
    while (n < len - done && n > 0 && ((unsigned char)word[done + n] & 0xc0) == 0x80) n--;
    memcpy(text, word + done, n);
    text[n] = '\0';
    f->at += cpli_print_text(f->out, text, 0);
    done += n > 0 ? n : len;
  }
  fputs(behind, f->out);
  f->at += strlen(behind);
  f->begun = true;
}

static void put_words(flow* f, const char* text) {
  while (*text != '\0') {
    size_t n = strcspn(text, " \t\n");
    if (n > 0) put_word(f, text, n, "");
    text += n;
    text += strspn(text, " \t\n");
  }
}

static void put_values(flow* f, const cpl_graph_value* values, int32_t n, bool full) {
  for (int32_t i = 0; i < n; i++) {
    const char* name = full ? values[i].name : values[i].variable;
    put_word(f, name, strlen(name), i + 1 < n ? "," : "");
  }
}

static void put_count(FILE* out, int32_t n, const char* one, const char* behind) {
  if (n == 0) fprintf(out, "no %ss%s", one, behind);
  else fprintf(out, "%d %s%s%s", n, one, n == 1 ? "" : "s", behind);
}

// A column of `width` characters, cut when the text is longer.
static void put_column(FILE* out, const char* text, size_t width) {
  size_t n = cpli_print_text(out, text, width);
  fprintf(out, "%*s", (int)(width - n), "");
}

//------------------------------------ sections ------------------------------------

static size_t longest_name(const cpl_graph* g) {
  size_t most = 5;
  for (int32_t i = 0; i < g->n_models; i++) {
    size_t n = cpli_text_width(g->models[i].name);
    if (n > most) most = n;
  }
  return most < 16 ? most : 16;
}

static void print_models(FILE* out, const cpl_graph* g) {
  size_t width = longest_name(g);
  fprintf(out, "\nModels\n  %-*s  %-8s %6s %6s %7s %6s  %s\n", (int)width, "", "", "states",
          "inputs", "outputs", "events", "feed-through");
  for (int32_t i = 0; i < g->n_models; i++) {
    const cpl_graph_model* m = &g->models[i];
    fputs("  ", out);
    put_column(out, m->name, width);
    fputs("  ", out);
    put_column(out, m->kind, 8);
    fprintf(out, " %6d %6d %7d %6d  %s", m->n_states, m->n_inputs, m->n_outputs, m->n_indicators,
            m->n_outputs + m->n_assumed == 0 ? "-" : cpl_origin_name(m->feed_through));
    if (m->n_assumed > 0 && m->feed_through != CPL_ORIGIN_ASSUMED)
      fprintf(out, ", %d assumed", m->n_assumed);
    fputc('\n', out);
  }
}

static void print_assumed(FILE* out, const cpl_graph* g) {
  for (int32_t i = 0; i < g->n_models; i++) {
    if (g->models[i].n_assumed == 0) continue;
    fputs("  assumed: nothing is known, so that it counts as depending on every input\n", out);
    return;
  }
}

static void print_connections(FILE* out, const cpl_graph* g, bool between, const char* title) {
  bool any = false;
  for (int32_t i = 0; i < g->n_connections; i++) {
    const cpl_graph_connection* c = &g->connections[i];
    if (graph_is_between(c) != between) continue;
    if (!any) fprintf(out, "\n%s\n", title);
    any = true;
    flow f = {.out = out, .at = 2, .indent = 6};
    fputs("  ", out);
    put_word(&f, c->target.name, strlen(c->target.name), " =");
    if (c->text != NULL) {
      put_words(&f, c->text);
    } else {
      put_words(&f, c->n_sources > 0 ? "a function of" : "a function of time");
      put_values(&f, c->sources, c->n_sources, true);
    }
    if (c->loop >= 0) {
      char text[32];
      snprintf(text, sizeof text, "(loop %d)", c->loop + 1);
      put_word(&f, text, strlen(text), "");
    }
    fputc('\n', out);
  }
}

static void print_steps(FILE* out, const cpl_graph* g) {
  if (g->n_steps == 0) return;
  fputs("\nEvaluation, one line a call\n", out);
  for (int32_t i = 0, last = -1, shown = 0; i < g->n_steps; i++) {
    const cpl_graph_step* s = &g->steps[i];
    if (s->level != last) fprintf(out, "  %3d  ", ++shown);
    else fputs("       ", out);
    last = s->level;
    int n = fprintf(out, "%-8s", cpl_graph_step_name(s->kind));
    flow f = {.out = out, .at = 7 + (size_t)n, .indent = 17};
    if (s->kind == CPL_GRAPH_LOOP) {
      char text[32];
      snprintf(text, sizeof text, "loop %d", s->loop + 1);
      put_words(&f, text);
    } else {
      const char* name = s->model >= 0 ? g->models[s->model].name : "";
      if (s->model >= 0) put_word(&f, name, strlen(name), ":");
      put_values(&f, s->values, s->n_values, s->model < 0);
    }
    fputc('\n', out);
  }
}

static void print_loops(FILE* out, const cpl_graph* g) {
  if (g->n_loops == 0) return;
  fputs("\nLoops\n", out);
  for (int32_t i = 0; i < g->n_loops; i++) {
    const cpl_graph_loop* l = &g->loops[i];
    fprintf(out, "  %3d  %d values, %d torn; %s\n", i + 1, l->n_values, l->n_torn,
            l->linear ? "linear" : "not known to be linear");
    flow torn = {.out = out, .at = 15, .indent = 17};
    fputs("       torn    ", out);
    put_values(&torn, l->values, l->n_torn, true);
    flow rest = {.out = out, .at = 15, .indent = 17};
    fputs("\n       then    ", out);
    put_values(&rest, l->values + l->n_torn, l->n_values - l->n_torn, true);
    fputc('\n', out);
  }
}

static void print_groups(FILE* out, const cpl_graph* g) {
  if (g->n_groups < 2) return;
  fputs("\nGroups without a path between them\n", out);
  for (int32_t k = 0; k < g->n_groups; k++) {
    flow f = {.out = out, .at = 7, .indent = 9};
    fprintf(out, "  %3d  ", k + 1);
    for (int32_t i = 0, left = -1; i < g->n_models; i++) {
      if (g->models[i].group != k) continue;
      if (left < 0) {
        left = 0;
        for (int32_t j = i; j < g->n_models; j++) left += g->models[j].group == k;
      }
      put_word(&f, g->models[i].name, strlen(g->models[i].name), --left > 0 ? "," : "");
    }
    fputc('\n', out);
  }
}

static void print_unconnected(FILE* out, const cpl_graph* g) {
  if (g->n_unconnected == 0) return;
  fputs("\nUnconnected inputs\n", out);
  for (int32_t i = 0; i < g->n_unconnected; i++) {
    const cpl_graph_open* u = &g->unconnected[i];
    char number[CPLI_NUMBER_SIZE];
    cpli_format_double(number, u->start);
    fputs("  ", out);
    cpli_print_text(out, u->input.name, 0);
    fprintf(out, "%s%s\n", u->has_start ? " = " : "", u->has_start ? number : "");
  }
}

static void print_text(FILE* out, const cpl_graph* g) {
  int32_t between = 0;
  for (int32_t i = 0; i < g->n_connections; i++) between += graph_is_between(&g->connections[i]);
  cpli_print_text(out, g->name, 0);
  fputs("\n  ", out);
  put_count(out, g->n_models, "model", ", ");
  put_count(out, between, "connection", ", ");
  put_count(out, g->n_states, "state", ", ");
  put_count(out, g->n_indicators, "event indicator", ", ");
  put_count(out, g->n_loops, "loop", "\n");
  print_models(out, g);
  print_assumed(out, g);
  print_connections(out, g, true, "Connections");
  print_connections(out, g, false, "Inputs and outputs of the system");
  print_steps(out, g);
  print_loops(out, g);
  print_groups(out, g);
  print_unconnected(out, g);
}

//------------------------------------ the verb ------------------------------------

static void print_steppers(FILE* out, const graph_args* args, const cpl_stepper* s,
                           const char* path) {
  if (args->dot) graph_print_master_dot(out, s);
  else if (args->json) graph_print_master_json(out, s, path);
  else graph_print_master(out, s);
}

static cpl_status print_graph(FILE* out, const graph_args* args, cpl_component* c,
                              const char* path) {
  cpl_graph* graph = NULL;
  cpl_status st = cpl_graph_create(c, &graph);
  if (st < 0) return st;
  if (args->dot) graph_print_dot(out, graph);
  else if (args->json) graph_print_json(out, graph, path);
  else print_text(out, graph);
  cpl_graph_destroy(graph);
  return CPL_OK;
}

// The ending of the file, .html or .svg, selects the format. Returns false, with a message, when
// nothing would be written to the file.
static bool settle_form(graph_args* args) {
  const char* to = args->output;
  const bool none = !args->dot && !args->json && !args->html && !args->svg && !args->no_run;
  if (to != NULL && none) {
    args->html = cli_ends_with(to, ".html");
    args->svg = cli_ends_with(to, ".svg");
  }
  if (to == NULL || args->html || args->svg) return true;
  cli_usage_error(
      "graph: only --html and --svg write to a file; other formats go to standard output: "
      "couplet graph F --dot > F.dot");
  return false;
}

static int run_graph(void* args_, int n, char** operands) {
  graph_args* args = args_;
  cpl_source* source = NULL;
  cpl_component* component = NULL;
  (void)n;
  if (args->dot + args->json + args->html + args->svg > 1)
    return cli_usage_error("graph: --dot, --json, --html and --svg exclude each other");
  if (args->no_run && (args->dot || args->html || args->svg))
    return cli_usage_error("graph: --no-run lists models and connections, as text or --json");
  if (!settle_form(args)) return CLI_USAGE;
  cpl_context* ctx = cli_context(args->log_level);
  if (ctx == NULL) return cli_usage_error("out of memory");
  FILE* out = cli_keep_output();
  if (out == NULL) {
    cli_end_context(ctx);
    return CLI_USAGE;
  }
  if (args->no_run) {
    cpl_status listed = no_run_print(ctx, operands[0], &args->package, args->json, out);
    const int result = listed < 0 ? cli_report(ctx, listed) : CLI_OK;
    cli_end_context(ctx);
    return cli_close_output(out, result);
  }
  cpl_status st =
      cli_open(ctx, operands[0],
               (cli_opening){.isolation = &args->isolation, .package = &args->package}, &source);
  const bool picture = args->html || args->svg;
  const graph_form form = args->dot ? GRAPH_DOT : args->json ? GRAPH_JSON : GRAPH_TEXT;
  const bool modes = st >= 0 && graph_has_modes(source), lines = st >= 0 && graph_has_lines(source);
  const bool drawn = st >= 0 && picture, chart = drawn || modes || lines;
  if (drawn) st = graph_write_picture(source, operands[0], args->output, args->svg, out);
  else if (modes) graph_print_modes(out, source, form);
  else if (lines) graph_print_lines(out, source, form);
  if (st >= 0 && !chart) st = cpl_source_make_whole(source, &component);
  bool made = st >= 0 && component != NULL;
  bool coupled = made && strcmp(cpl_component_kind(component), "master") == 0;
  if (coupled) print_steppers(out, args, (cpl_stepper*)component, operands[0]);
  else if (made) st = print_graph(out, args, component, operands[0]);
  if (st >= 0 && made && form == GRAPH_TEXT) graph_print_inner_modes(out, source);
  int code = st < 0 ? cli_report(ctx, st) : CLI_OK;
  cpl_component_destroy(component);
  cpl_source_destroy(source);
  cli_end_context(ctx);
  return cli_close_output(out, code);
}

#define AT(member) offsetof(graph_args, member)
static const cli_option options[] = {
    {"dot", 0, NULL, "a picture for Graphviz: couplet graph F --dot | dot -Tsvg > F.svg", CLI_FLAG,
     AT(dot)},
    {"json", 0, NULL, "everything as JSON", CLI_FLAG, AT(json)},
    {"html", 0, NULL,
     "an interactive page with the diagram: move, zoom, fold and search; loops are red, and a "
     "selected item shows when it is computed",
     CLI_FLAG, AT(html)},
    {"svg", 0, NULL, "the same diagram as a file for documents", CLI_FLAG, AT(svg)},
    {"output", 'o', "FILE",
     "the file of --html or --svg; default: NAME.html, NAME.svg; its ending, .html or .svg, "
     "implies the option",
     CLI_TEXT, AT(output)},
    {"log-level", 0, "error|warning|info|debug", "which messages to print", CLI_TEXT,
     AT(log_level)},
    CLI_NO_RUN(graph_args),
    CLI_PACKAGE(graph_args),
    CLI_ISOLATION(graph_args),
    {0},
};

const cli_verb cli_graph = {
    .name = "graph",
    .operands = "FILE",
    .summary = "show the structure of a system",
    .text =
        "Shows the models of a system (.yaml, .ssp) with their connections, the order in which "
        "values "
        "are computed in continuous time, the algebraic loops with their tearing variables, "
        "subsystems that do not influence each other, and unconnected inputs. The dependencies of "
        "outputs on inputs are declared by a model, detected by evaluating it, or assumed where "
        "they are unknown; all models, including FMUs, are loaded and called for that. With "
        "--no-run no model is loaded, and the models and connections of the file are listed. For "
        "an .fmu or a model in C it shows that model. For a system with co-simulation models it "
        "shows the steppers with their capabilities (rollback, prediction of steps, or neither), "
        "the links between them, the order of a communication step, iterated loops and delayed "
        "links. For a system with modes it shows the state chart: the modes, the transitions "
        "between them, and their assignments.",
    .suffixes = "yaml fmu c ssp ssd",
    .options = options,
    .args_size = sizeof(graph_args),
    .run = run_graph,
};
