// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include "info.h"

#include <math.h>
#include <string.h>

#include "cli.h"
#include "format/scan.h"
#include "format/text.h"

const info_capability info_capabilities[] = {
    {"directional derivatives", "directional_derivatives", offsetof(cpl_capabilities, directional),
     true, true},
    {"save and restore states", "save_restore", offsetof(cpl_capabilities, save_restore), true,
     true},
    {"serialize states", "serialize", offsetof(cpl_capabilities, serialize), true, true},
    {"only one instance", "once_per_process", offsetof(cpl_capabilities, once_per_process), true,
     true},
    {"needs its tool", "needs_tool", offsetof(cpl_capabilities, needs_tool), true, true},
    {"wants completed steps", "completed_step", offsetof(cpl_capabilities, completed_step), true,
     false},
    {"variable step size", "variable_step", offsetof(cpl_capabilities, variable_step), false, true},
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
  if (v->type == CPL_STRING) return v->start_text != NULL ? v->start_text : "";
  if (v->type == CPL_BOOLEAN) return v->start != 0 ? "true" : "false";
  if (v->type == CPL_ENUMERATION && v->declared_type >= 0) {
    const cpl_type_def* type = &d->types[v->declared_type];
    for (int32_t i = 0; i < type->n_items; i++)
      if (type->items[i].value == v->start) return type->items[i].name;
  }
  return cpli_print_real(v->start, buffer);
}

static const char* unit_text(const cpl_description* d, const cpl_variable* v) {
  return v->unit >= 0 ? d->units[v->unit].name : "";
}

// A table is a title and a choice of variables; widths follow what is shown.
typedef struct table {
  FILE* out;
  const cpl_description* desc;
  size_t name, type, unit, start;  // widths
  size_t screen;                   // of the terminal; 0: it is none
} table;

static size_t wider(size_t width, const char* text, size_t most) {
  size_t n = cpli_text_width(text);
  if (n > most) n = most;
  return n > width ? n : width;
}

static void measure(table* t, const cpl_variable* v) {
  char buffer[CPLI_NUMBER_SIZE];
  t->name = wider(t->name, v->name, 48);
  t->type = wider(t->type, cpl_type_name((cpl_type)v->type), 12);
  t->unit = wider(t->unit, unit_text(t->desc, v), 12);
  t->start = wider(t->start, start_text(t->desc, v, buffer), 24);
}

// Blanks are owed until something follows them, so that no line ends with blanks.
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
  size_t len = cpli_text_width(name);  // a name is never cut: it is what one types elsewhere
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
  table t = {.out = out, .desc = d, .screen = cli_terminal_width(out)};
  for (int32_t i = 0; i < shown; i++)
    if (vars[i] >= 0) measure(&t, &d->vars[vars[i]]);
  fprintf(out, "\n%s (%d)\n", title, n);
  for (int32_t i = 0; i < shown; i++) {
    char buffer[CPLI_NUMBER_SIZE];
    const cpl_variable* v = vars[i] >= 0 ? &d->vars[vars[i]] : NULL;
    if (v == NULL) {
      print_row(&t, "(no variable)", "Real", "", "", "");
    } else {
      print_row(&t, v->name, cpl_type_name((cpl_type)v->type), unit_text(d, v),
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
    if (d->vars[i].causality == causality) vars[n++] = i;
  print_table(out, d, title, vars, n, all);
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
    fputs(" * ", out);
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

static void print_units(FILE* out, const cpl_description* d, bool all) {
  enum { SHOWN = 30 };
  if (d->n_units == 0) return;
  int32_t shown = all || d->n_units <= SHOWN + 5 ? d->n_units : SHOWN;
  fprintf(out, "\nUnits (%d)\n", d->n_units);
  for (int32_t i = 0; i < shown; i++) print_unit(out, d, i);
  if (shown < d->n_units)
    fprintf(out, "  ... and %d more (--all shows them)\n", d->n_units - shown);
}

// A line of the table of capabilities: NULL where a kind is not in there.
static void print_capability(FILE* out, const char* name, const char* me, const char* cs) {
  fprintf(out, "  %-24s", name);
  if (me != NULL) fprintf(out, cs != NULL ? "  %-14s" : "  %s", me);
  if (cs != NULL) fprintf(out, "  %s", cs);
  fputc('\n', out);
}

static const char* yes_no(const cpli_fmu_kind* kind, const info_capability* c, bool meant) {
  if (!kind->present) return NULL;
  if (!meant) return "-";
  return *(const bool*)((const char*)&kind->can + c->offset) ? "yes" : "no";
}

static void print_capabilities(FILE* out, const cpl_fmu* fmu) {
  const cpli_fmu_kind *me = &fmu->me, *cs = &fmu->cs;
  fputs("\nCapabilities\n", out);
  if (me->present && cs->present) print_capability(out, "", "model exchange", "co-simulation");
  for (const info_capability* c = info_capabilities; c->name != NULL; c++) {
    if (!(c->me && me->present) && !(c->cs && cs->present)) continue;
    print_capability(out, c->name, yes_no(me, c, c->me), yes_no(cs, c, c->cs));
  }
  if (!cs->present) return;
  const char* none = me->present ? "-" : NULL;
  char order[16];
  snprintf(order, sizeof order, "%d", cs->can.output_derivatives);
  print_capability(out, "interpolates inputs", none, cs->can.input_derivatives > 0 ? "yes" : "no");
  print_capability(out, "output derivatives", none, order);
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
  print_field(out, "format", d->kind);
  if (fmu != NULL) {
    const char* kinds[2];
    int32_t n = 0;
    if (fmu->me.present) kinds[n++] = "model exchange";
    if (fmu->cs.present) kinds[n++] = "co-simulation";
    print_list(out, "kinds", kinds, n);
    print_list(out, "platforms", fmu->platforms, fmu->n_platforms);
    if (fmu->has_sources) print_field(out, "sources", "yes");
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
  int32_t n[CPL_INDEPENDENT + 1] = {0};
  for (int32_t i = 0; i < d->n_vars; i++) n[d->vars[i].causality]++;
  fprintf(out, "  %-12s %d", "variables", d->n_vars);
  print_count(out, " (", n[CPL_INPUT], "input");
  print_count(out, ", ", n[CPL_OUTPUT], "output");
  print_count(out, ", ", n[CPL_PARAMETER], "parameter");
  print_count(out, ", ", n[CPL_LOCAL] + n[CPL_CALCULATED_PARAMETER] + n[CPL_INDEPENDENT], "other");
  fputs(")\n", out);
  fprintf(out, "  %-12s %d\n", "states", d->n_states);
  fprintf(out, "  %-12s %d\n", "indicators", d->n_indicators);
}

void info_print(FILE* out, const cpl_source* src, const cpl_fmu* fmu, bool all) {
  const cpl_description* d = src->desc;
  print_head(out, src, fmu);
  print_counts(out, d);
  print_table(out, d, "States", d->states, d->n_states, all);
  print_causality(out, src, "Inputs", CPL_INPUT, all);
  print_causality(out, src, "Outputs", CPL_OUTPUT, all);
  print_causality(out, src, "Parameters", CPL_PARAMETER, all);
  if (all) {
    print_causality(out, src, "Calculated parameters", CPL_CALCULATED_PARAMETER, all);
    print_causality(out, src, "Local variables", CPL_LOCAL, all);
  }
  print_units(out, d, all);
  if (fmu != NULL) print_capabilities(out, fmu);
}

//------------------------------------ verb ------------------------------------

typedef struct info_args {
  bool json, all;
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
  if (cli_ends_with(path, ".c") || cli_is_system(path)) {
    st = cli_open(ctx, path, NULL, NULL, &src);
  } else {
    cpl_fmu_def def = cpl_default_fmu_def();
    def.path = path;
    st = cpl_fmu_open(ctx, &def, &src);
    fmu = (const cpl_fmu*)src;
  }
  int code = CLI_OK;
  if (st < 0) {
    code = cli_report(ctx, st);
  } else if (args->json) {
    info_print_json(stdout, src, fmu);
  } else {
    info_print(stdout, src, fmu, args->all);
  }
  if (src != NULL) src->ops->destroy(src);
  cpl_context_destroy(ctx);
  return code;
}

static const cli_option options[] = {
    {.name = "all",
     .help = "show every variable, also local ones, and tables in full length",
     .kind = CLI_FLAG,
     .offset = offsetof(info_args, all)},
    {.name = "json",
     .help = "write all that is known as JSON",
     .kind = CLI_FLAG,
     .offset = offsetof(info_args, json)},
    {0},
};

const cli_verb cli_info = {
    .name = "info",
    .operands = "FILE",
    .summary = "show what a model is",
    .text =
        "Shows versions, kinds, platforms, states, inputs, outputs, parameters, units, "
        "capabilities and the default experiment of an .fmu (or a folder with an unpacked "
        "one) or of a model in C.",
    .suffixes = "fmu c",
    .options = options,
    .args_size = sizeof(info_args),
    .run = run_info,
};
