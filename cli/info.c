// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The verb `couplet info`, and the description of a model as text: general facts, variables, units
// and capabilities.
#include "info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "couplet/export.h"
#include "format/scan.h"
#include "format/text.h"
#include "model/compiled.h"
#include "no_run.h"

#define AT(member) offsetof(cpli_fmu_kind, member)

const info_capability info_capabilities[] = {
    {"directional derivatives", "directional_derivatives", AT(can.directional), true, true, true,
     2},
    {"adjoint derivatives", "adjoint_derivatives", AT(adjoint), true, true, true, 3},
    {"save and restore states", "save_restore", AT(can.save_restore), true, true, true, 2},
    {"serialize states", "serialize", AT(can.serialize), true, true, true, 2},
    {"only one instance", "once_per_process", AT(can.once_per_process), true, true, true, 1},
    {"needs its tool", "needs_tool", AT(can.needs_tool), true, true, true, 1},
    {"needs completed steps", "completed_step", AT(can.completed_step), true, false, false, 1},
    {"evaluates discretes", "evaluate_discrete_states", AT(evaluate_discrete), true, true, false,
     3},
    {"variable step size", "variable_step", AT(can.variable_step), false, true, false, 1},
    {"event mode", "event_mode", AT(event_mode), false, true, false, 3},
    {"may return early", "early_return", AT(early_return), false, true, false, 3},
    {"returns early when asked", "early_return_on_request", AT(early_return_on_request), false,
     true, false, 3},
    {"intermediate updates", "intermediate_update", AT(intermediate_update), false, true, false, 3},
    {0},
};

const char* info_initial_name(const cpl_variable* v) {
  static const char* const names[] = {NULL, "exact", "approx", "calculated"};
  return names[v->initial];
}

//------------------------------------ fields ------------------------------------

static void print_field(FILE* out, const char* name, const char* value) {
  if (value[0] == '\0') return;
  fprintf(out, "  %-12s ", name);
  cpli_print_text(out, value, 0);
  fputc('\n', out);
}

static void print_list(FILE* out, const char* name, const char* const* items, int32_t n) {
  if (n == 0) return;
  enum { WIDTH = 80, INDENT = 15 };
  fprintf(out, "  %-12s ", name);
  size_t at = INDENT;
  for (int32_t i = 0; i < n; i++) {
    size_t len = cpli_text_width(items[i]) + (i + 1 < n ? 1 : 0);
    if (i > 0 && at + 1 + len > WIDTH) {
      fprintf(out, "\n%*s", INDENT, "");
      at = INDENT;
    } else if (i > 0) {
      fputc(' ', out);
      at++;
    }
    cpli_print_text(out, items[i], 0);
    if (i + 1 < n) fputc(',', out);
    at += len;
  }
  fputc('\n', out);
}

static void print_experiment(FILE* out, const cpl_default_experiment* e) {
  if (!e->has_start && !e->has_stop && !e->has_tolerance && !e->has_step) return;
  char text[CPLI_NUMBER_SIZE];
  fprintf(out, "  %-12s", "experiment");
  const char* glue = " ";
  if (e->has_start) fprintf(out, "%sstart %s", glue, cpli_print_real(e->start, text)), glue = ", ";
  if (e->has_stop) fprintf(out, "%sstop %s", glue, cpli_print_real(e->stop, text)), glue = ", ";
  if (e->has_tolerance) {
    fprintf(out, "%stolerance %s", glue, cpli_print_real(e->tolerance, text));
    glue = ", ";
  }
  if (e->has_step) fprintf(out, "%sstep %s", glue, cpli_print_real(e->step, text));
  fputc('\n', out);
}

//------------------------------------ variables ------------------------------------

static const char* start_text(const cpl_description* d, const cpl_variable* v,
                              char buffer[CPLI_NUMBER_SIZE]) {
  if (!v->has_start) return "";
  if (v->type == CPL_STRING || v->type == CPL_BINARY)
    return v->start_text != NULL ? v->start_text : "";
  if (v->type == CPL_CLOCK) return "";
  if (v->type == CPL_BOOLEAN) return v->start != 0 ? "true" : "false";
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0) {
    const cpl_type_def* type = &d->types[v->declared_type];
    for (int32_t i = 0; i < type->n_items; i++)
      if (type->items[i].value == v->start) return type->items[i].name;
  }
  return cpli_print_real(v->start, buffer);
}

static const char* type_text(const cpl_variable* v) {
  bool own = v->width == CPL_WIDTH_OWN || v->type == CPL_ENUMERATION;
  return own ? cpl_type_name((cpl_type)v->type) : cpl_width_name((cpl_width)v->width);
}

// An array is shown by its first element, with its sizes instead of an index.
static bool is_first(const cpl_description* d, int32_t var) {
  const cpl_variable* v = &d->vars[var];
  return v->array == 0 || d->arrays[v->array - 1].first == var;
}

enum { NAME_SIZE = 512 };

static const char* shown_name(const cpl_description* d, const cpl_variable* v, bool all,
                              char buffer[NAME_SIZE]) {
  if (v->array == 0 || all) return v->name;
  const cpl_array* a = &d->arrays[v->array - 1];
  int at = snprintf(buffer, NAME_SIZE, "%.400s[", a->name);
  for (int32_t k = 0; k < a->n_sizes && at < NAME_SIZE - 16; k++)
    at += snprintf(buffer + at, 16, k > 0 ? ",%d" : "%d", a->sizes[k]);
  snprintf(buffer + at, 2, "]");
  return buffer;
}

static const char* unit_text(const cpl_description* d, const cpl_variable* v) {
  return v->unit >= 0 ? d->units[v->unit].name : "";
}

// A table has a title and a selection of variables; widths follow from its contents.
typedef struct table {
  FILE* out;
  const cpl_description* desc;
  size_t name, type, unit, start;  // widths
  size_t screen;                   // of the terminal; 0: it is none
  bool all;                        // elements of arrays each on a line
} table;

static size_t wider(size_t width, const char* text, size_t most) {
  size_t n = cpli_text_width(text);
  if (n > most) n = most;
  return n > width ? n : width;
}

static void measure(table* t, const cpl_variable* v) {
  char buffer[CPLI_NUMBER_SIZE], name[NAME_SIZE];
  t->name = wider(t->name, shown_name(t->desc, v, t->all, name), 48);
  t->type = wider(t->type, type_text(v), 12);
  t->unit = wider(t->unit, unit_text(t->desc, v), 12);
  t->start = wider(t->start, start_text(t->desc, v, buffer), 24);
}

// Blanks are deferred until text follows, so that no line ends with blanks.
static size_t print_cell(const table* t, size_t owed, const char* text, size_t width) {
  if (width == 0) return owed;
  if (text[0] == '\0') return owed + width + 2;
  fprintf(t->out, "%*s", (int)owed, "");
  size_t n = cpli_print_text(t->out, text, width);
  return (n < width ? width - n : 0) + 2;
}

// Descriptions are cut where the line of a terminal ends.
static size_t description_width(const table* t, size_t name) {
  enum { USUAL = 72, LEAST = 16 };
  if (t->screen == 0) return USUAL;
  size_t before = 2 + (name > t->name ? name : t->name) + 2 + t->type + 2;
  if (t->unit > 0) before += t->unit + 2;
  if (t->start > 0) before += t->start + 2;
  return before + LEAST > t->screen ? LEAST : t->screen - before;
}

static void print_row(const table* t, const char* name, const char* type, const char* unit,
                      const char* start, const char* description) {
  size_t len = cpli_text_width(name);  // names are never cut, since users copy them
  size_t owed = print_cell(t, 2, name, len > t->name ? len : t->name);
  owed = print_cell(t, owed, type, t->type);
  owed = print_cell(t, owed, unit, t->unit);
  owed = print_cell(t, owed, start, t->start);
  print_cell(t, owed, description, description_width(t, len));
  fputc('\n', t->out);
}

// `vars`: indices; those below 0 are hidden.
static void print_table(FILE* out, const cpl_description* d, const char* title, const int32_t* vars,
                        int32_t n, bool all) {
  enum { SHOWN = 30 };
  if (n == 0) return;
  int32_t shown = all || n <= SHOWN + 5 ? n : SHOWN;
  table t = {.out = out, .desc = d, .screen = cli_terminal_width(out), .all = all};
  for (int32_t i = 0; i < shown; i++)
    if (vars[i] >= 0) measure(&t, &d->vars[vars[i]]);
  fprintf(out, "\n%s (%d)\n", title, n);
  for (int32_t i = 0; i < shown; i++) {
    char buffer[CPLI_NUMBER_SIZE], name[NAME_SIZE];
    const cpl_variable* v = vars[i] >= 0 ? &d->vars[vars[i]] : NULL;
    if (v == NULL) {
      print_row(&t, "(no variable)", "Real", "", "", "");
    } else {
      print_row(&t, shown_name(d, v, all, name), type_text(v), unit_text(d, v),
                start_text(d, v, buffer), v->description);
    }
  }
  if (shown < n) fprintf(out, "  ... and %d more (--all shows them)\n", n - shown);
}

static void print_causality(FILE* out, const cpl_source* src, const char* title,
                            cpl_causality causality, bool all) {
  const cpl_description* d = src->desc;
  int32_t* vars = cpli_alloc(src->ctx, (size_t)d->n_vars, sizeof *vars);
  int32_t n = 0;
  for (int32_t i = 0; vars != NULL && i < d->n_vars; i++)
    if (d->vars[i].causality == causality && (all || is_first(d, i))) vars[n++] = i;
  print_table(out, d, title, vars, n, all);
  cpli_free(src->ctx, vars);
}

static void print_states(FILE* out, const cpl_source* src, bool all) {
  const cpl_description* d = src->desc;
  int32_t* vars = cpli_alloc(src->ctx, (size_t)d->n_states, sizeof *vars);
  int32_t n = 0, hidden = 0;
  for (int32_t i = 0; vars != NULL && i < d->n_states; i++) {
    hidden += d->states[i] < 0;
    if (d->states[i] < 0 || all || is_first(d, d->states[i])) vars[n++] = d->states[i];
  }
  if (hidden < n) print_table(out, d, "States", vars, n, all);
  cpli_free(src->ctx, vars);
}

//------------------------------------ units, capabilities ------------------------------------

static void print_unit(FILE* out, const cpl_description* d, int32_t i) {
  static const char* const bases[8] = {"kg", "m", "s", "A", "K", "mol", "cd", "rad"};
  const cpl_unit* u = &d->units[i];
  char text[CPLI_NUMBER_SIZE];
  fputs(u->display_of >= 0 ? "    " : "  ", out);
  size_t n = cpli_print_text(out, u->name, 0), width = u->display_of >= 0 ? 12 : 14;
  bool known = u->display_of >= 0 || u->has_base;
  if (known && n < width) fprintf(out, "%*s", (int)(width - n), "");
  if (u->display_of >= 0) {
    fprintf(out, "  = %s", cpli_print_real(u->factor, text));
    fputs(u->inverse ? " / " : " * ", out);
    cpli_print_text(out, d->units[u->display_of].name, 0);
  } else if (u->has_base) {
    fprintf(out, "  = %s", cpli_print_real(u->factor, text));
    for (int k = 0; k < 8; k++) {
      if (u->exponents[k] == 0) continue;
      fprintf(out, " %s", bases[k]);
      if (u->exponents[k] != 1) fprintf(out, "^%d", u->exponents[k]);
    }
  }
  if (u->offset != 0) fprintf(out, " + %s", cpli_print_real(u->offset, text));
  fputc('\n', out);
}

// The models of a system have units of their own: equal ones are one.
static bool is_same_unit(const cpl_description* d, int32_t a, int32_t b) {
  const cpl_unit *x = &d->units[a], *y = &d->units[b];
  if ((x->display_of >= 0) != (y->display_of >= 0)) return false;
  if (x->display_of >= 0 && strcmp(d->units[x->display_of].name, d->units[y->display_of].name) != 0)
    return false;
  return x->factor == y->factor && x->offset == y->offset && x->inverse == y->inverse &&
         x->has_base == y->has_base && memcmp(x->exponents, y->exponents, sizeof x->exponents) == 0;
}

int32_t info_distinct_units(cpl_context* ctx, const cpl_description* d, int32_t* distinct) {
  int32_t n = 0;
  cpli_names first;
  bool named = cpli_names_init(&first, ctx, (size_t)d->n_units) >= 0;
  for (int32_t i = 0; i < d->n_units; i++) {
    int32_t other = named ? cpli_names_add(&first, d->units[i].name, i) : i;
    if (other < 0 || other == i || !is_same_unit(d, i, other)) distinct[n++] = i;
  }
  if (named) cpli_names_free(&first);
  return n;
}

static void print_units(FILE* out, cpl_context* ctx, const cpl_description* d, bool all) {
  enum { SHOWN = 30 };
  int32_t* units = cpli_alloc(ctx, (size_t)d->n_units, sizeof *units);
  int32_t n = units == NULL ? 0 : info_distinct_units(ctx, d, units);
  int32_t shown = all || n <= SHOWN + 5 ? n : SHOWN;
  if (n > 0) fprintf(out, "\nUnits (%d)\n", n);
  for (int32_t i = 0; i < shown; i++) print_unit(out, d, units[i]);
  if (shown < n) fprintf(out, "  ... and %d more (--all shows them)\n", n - shown);
  cpli_free(ctx, units);
}

enum { KINDS = 3 };

// A line of the table of capabilities; NULL: the FMU lacks the kind.
static void print_capability(FILE* out, const char* name, const char* const cells[KINDS]) {
  fprintf(out, "  %-24s", name);
  int last = KINDS - 1;
  while (last > 0 && cells[last] == NULL) last--;
  for (int k = 0; k <= last; k++) {
    if (cells[k] != NULL) fprintf(out, k < last ? "  %-14s" : "  %s", cells[k]);
  }
  fputc('\n', out);
}

static const char* yes_no(const cpli_fmu_kind* kind, const info_capability* c, bool meant) {
  if (!kind->present) return NULL;
  if (!meant) return "-";
  return *(const bool*)((const char*)kind + c->offset) ? "yes" : "no";
}

static void print_step_capabilities(FILE* out, const cpl_fmu* fmu) {
  const cpli_fmu_kind* cs = &fmu->cs;
  const char* others[KINDS] = {fmu->me.present ? "-" : NULL, NULL, fmu->se.present ? "-" : NULL};
  char text[CPLI_NUMBER_SIZE];
  const char* cells[KINDS] = {others[0], cs->can.input_derivatives > 0 ? "yes" : "no", others[2]};
  if (fmu->version < 3) print_capability(out, "interpolates inputs", cells);
  snprintf(text, sizeof text, "%d", cs->can.output_derivatives);
  cells[1] = text;
  print_capability(out, "output derivatives", cells);
  if (cs->fixed_step <= 0) return;
  cpli_print_real(cs->fixed_step, text);
  print_capability(out, "fixed internal step", cells);
}

static void print_capabilities(FILE* out, const cpl_fmu* fmu) {
  static const char* const names[KINDS] = {"model exchange", "co-simulation", "scheduled"};
  const cpli_fmu_kind* kinds[KINDS] = {&fmu->me, &fmu->cs, &fmu->se};
  fputs("\nCapabilities\n", out);
  const char* cells[KINDS];
  int present = 0;
  for (int k = 0; k < KINDS; k++) {
    cells[k] = kinds[k]->present ? names[k] : NULL;
    present += kinds[k]->present;
  }
  if (present > 1) print_capability(out, "", cells);
  for (const info_capability* c = info_capabilities; c->name != NULL; c++) {
    const bool meant[KINDS] = {c->me, c->cs, c->se};
    bool any = false;
    for (int k = 0; k < KINDS; k++) {
      cells[k] = yes_no(kinds[k], c, meant[k]);
      any = any || (kinds[k]->present && meant[k]);
    }
    if (any && fmu->version >= c->since) print_capability(out, c->name, cells);
  }
  if (fmu->cs.present) print_step_capabilities(out, fmu);
}

//------------------------------------ all of it ------------------------------------

static void print_head(FILE* out, const cpl_source* src, const cpl_fmu* fmu) {
  const cpl_description* d = src->desc;
  cpli_print_text(out, d->name[0] != '\0' ? d->name : src->path, 0);
  fputc('\n', out);
  if (d->description[0] != '\0') {
    fputs("  ", out);
    cpli_print_text(out, d->description, 0);
    fputc('\n', out);
  }
  fputc('\n', out);
  bool patch = fmu != NULL && strlen(fmu->version_text) == 5 && fmu->version == 3;  // 3.0.2
  if (!patch) print_field(out, "format", d->kind);
  if (patch) {
    fprintf(out, "  %-12s FMI ", "format");
    cpli_print_text(out, fmu->version_text, 0);
    fputc('\n', out);
  }
  if (fmu != NULL) {
    const char* kinds[3];
    int32_t n = 0;
    if (fmu->me.present) kinds[n++] = "model exchange";
    if (fmu->cs.present)
      kinds[n++] = fmu->cs.tool_coupling ? "co-simulation inside its tool" : "co-simulation";
    if (fmu->se.present) kinds[n++] = "scheduled execution";
    print_list(out, "kinds", kinds, n);
    print_list(out, "platforms", fmu->platforms, fmu->n_platforms);
    if (cpl_fmu_is_foreign(src)) {
      char text[512];
      cpl_fmu_platform_text(src, fmu->foreign_folder, text, sizeof text);
      fprintf(out, "  %-12s its binary for %s ", "here", fmu->foreign_folder);
      cpli_print_text(out, text, 0);
      fputc('\n', out);
    }
    if (fmu->has_sources) print_field(out, "sources", "yes");
    if (fmu->has_icon) print_field(out, "icon", "yes");
  }
  print_field(out, "tool", d->tool);
  print_field(out, "date", d->date);
  print_field(out, "author", d->author);
  print_field(out, "version", d->version);
  print_field(out, "license", d->license);
  print_field(out, "copyright", d->copyright);
  print_experiment(out, &d->experiment);
  if (fmu != NULL) print_list(out, "log", fmu->log_categories, fmu->n_log_categories);
}

static void print_count(FILE* out, const char* glue, int32_t n, const char* noun) {
  fprintf(out, "%s%d %s%s", glue, n, noun, n == 1 ? "" : "s");
}

static void print_counts(FILE* out, const cpl_description* d) {
  int32_t n[CPL_CAUSALITY_INDEPENDENT + 1] = {0};
  for (int32_t i = 0; i < d->n_vars; i++) n[d->vars[i].causality]++;
  fprintf(out, "  %-12s %d", "variables", d->n_vars);
  print_count(out, " (", n[CPL_CAUSALITY_INPUT], "input");
  print_count(out, ", ", n[CPL_CAUSALITY_OUTPUT], "output");
  print_count(out, ", ", n[CPL_CAUSALITY_PARAMETER], "parameter");
  print_count(
      out, ", ",
      n[CPL_CAUSALITY_LOCAL] + n[CPL_CAUSALITY_CALCULATED_PARAMETER] + n[CPL_CAUSALITY_INDEPENDENT],
      "other");
  fputs(")\n", out);
  fprintf(out, "  %-12s %d\n", "states", d->n_states);
  fprintf(out, "  %-12s %d\n", "indicators", d->n_indicators);
  if (d->n_constraints > 0) fprintf(out, "  %-12s %d\n", "constraints", d->n_constraints);
  if (d->n_algebraics > 0) fprintf(out, "  %-12s %d\n", "algebraic", d->n_algebraics);
  if (d->form_error != NULL) fprintf(out, "  %-12s not usable: %s\n", "algebraic", d->form_error);
}

// Of a model in C: where they come from.
static void print_derivatives(FILE* out, const cpl_source* src) {
  const char* text = cpli_c_derivatives(src);
  if (text != NULL) print_field(out, "derivatives", text);
}

// The system that an FMU was made of.
static void print_system(FILE* out, const cpl_source* src, bool all) {
  enum { SHOWN = 30 };  // lines
  char* text = NULL;
  if (cpl_fmu_system_text(src->ctx, src->path, &text) < 0 || text == NULL) return;
  fputs("\nSystem (resources/system.yaml; couplet build --unpack gives it back)\n", out);
  int n = 0;
  for (char *line = text, *end; line != NULL && *line != '\0'; line = end) {
    end = strchr(line, '\n');
    if (end != NULL) *end++ = '\0';
    if (n++ == SHOWN && !all) break;
    fputs("  ", out);
    cpli_print_text(out, line, 0);
    fputc('\n', out);
  }
  if (n > SHOWN && !all) fputs("  ... (--all shows the rest)\n", out);
  free(text);
}

void info_print(FILE* out, const cpl_source* src, const cpl_fmu* fmu, bool all) {
  const cpl_description* d = src->desc;
  print_head(out, src, fmu);
  print_counts(out, d);
  print_derivatives(out, src);
  info_print_ssp(out, src, all);
  print_states(out, src, all);
  info_print_residuals(out, d, fmu);
  print_causality(out, src, "Inputs", CPL_CAUSALITY_INPUT, all);
  print_causality(out, src, "Outputs", CPL_CAUSALITY_OUTPUT, all);
  print_causality(out, src, "Parameters", CPL_CAUSALITY_PARAMETER, all);
  if (all) {
    print_causality(out, src, "Calculated parameters", CPL_CAUSALITY_CALCULATED_PARAMETER, all);
    print_causality(out, src, "Local variables", CPL_CAUSALITY_LOCAL, all);
  }
  print_units(out, src->ctx, d, all);
  if (fmu != NULL) info_print_parts(out, fmu);
  if (fmu != NULL) print_system(out, src, all);
  if (fmu != NULL) print_capabilities(out, fmu);
}

//------------------------------------ verb ------------------------------------

typedef struct info_args {
  bool json, all, no_run;
  cli_isolation isolation;
  cli_package package;
} info_args;

static int run_info(void* user, int n_operands, char** operands) {
  (void)n_operands;
  const info_args* args = user;
  const char* path = operands[0];
  cpl_context* ctx = cli_context(NULL);
  if (ctx == NULL) return CLI_FAILED;
  cpl_source* src = NULL;
  const cpl_fmu* fmu = NULL;
  cpl_status st;
  const bool apart = args->no_run && (cli_ends_with(path, ".c") || cpl_is_system_path(path));
  if (apart) {
    st = no_run_print(ctx, path, &args->package, args->json, stdout);
  } else if (cli_ends_with(path, ".c") || cpl_is_system_path(path)) {
    st = cli_open(ctx, path,
                  (cli_opening){.isolation = &args->isolation, .package = &args->package}, &src);
  } else {
    cpl_fmu_def def = cpl_default_fmu_def();
    def.path = path;
    st = cpl_fmu_use_platform(ctx, args->isolation.platform);
    if (st >= 0) st = cpl_fmu_open(ctx, &def, &src);
    fmu = (const cpl_fmu*)src;
  }
  int code = CLI_OK;
  if (st < 0) {
    code = cli_report(ctx, st);
  } else if (apart) {
    // nothing is left to print
  } else if (args->json) {
    info_print_json(stdout, src, fmu);
  } else {
    info_print(stdout, src, fmu, args->all);
  }
  cpl_source_destroy(src);
  cli_end_context(ctx);
  return code;
}

static const cli_option options[] = {
    {.name = "all",
     .help = "show every variable, including local ones, and complete tables",
     .kind = CLI_FLAG,
     .offset = offsetof(info_args, all)},
    {.name = "json",
     .help = "write everything as JSON",
     .kind = CLI_FLAG,
     .offset = offsetof(info_args, json)},
    CLI_NO_RUN(info_args),
    CLI_PACKAGE(info_args),
    CLI_ISOLATION(info_args),
    {0},
};

const cli_verb cli_info = {
    .name = "info",
    .operands = "FILE",
    .summary = "show the description of a model",
    .text =
        "Shows versions, kinds, platforms, states, inputs, outputs, parameters, units, clocks, "
        "terminals, "
        "capabilities and the default experiment of an .fmu (or a folder with an unpacked "
        "one), of a model in C or of a system (.yaml, .ssp). A model in C is compiled, loaded and "
        "called, and "
        "the FMUs of a system are loaded; with --no-run no model code is executed, and less "
        "information is available. Of an FMU only the description is read.",
    .suffixes = "fmu c yaml ssp ssd",
    .options = options,
    .args_size = sizeof(info_args),
    .run = run_info,
};
