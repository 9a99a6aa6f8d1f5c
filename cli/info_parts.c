// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Rare contents of FMUs: clocks, terminals, layered standards and build configurations.
#include "format/scan.h"
#include "format/text.h"
#include "info.h"

static void print_padded(FILE* out, const char* text, size_t width) {
  size_t n = cpli_print_text(out, text, 0);
  fprintf(out, "%*s", (int)(n < width ? width - n : 0) + 2, "");
}

//------------------------------------ clocks ------------------------------------

static void print_time(FILE* out, const char* name, double seconds) {
  char text[CPLI_NUMBER_SIZE];
  fprintf(out, ", %s %s s", name, cpli_print_real(seconds, text));
}

static void print_clock(FILE* out, const cpl_fmu* fmu, const cpli_clock* c, size_t width) {
  const cpl_variable* v = &fmu->desc.vars[c->var];
  fputs("  ", out);
  print_padded(out, v->name, width);
  fprintf(out, "%-6s  %s", cpl_causality_name((cpl_causality)v->causality),
          cpli_interval_name((cpli_interval)c->interval));
  if (c->has_counter) {
    print_time(out, "interval", (double)c->interval_counter / (double)c->resolution);
    print_time(out, "shift", (double)c->shift_counter / (double)c->resolution);
  } else if (c->has_interval) {
    print_time(out, "interval", c->interval_decimal);
    print_time(out, "shift", c->shift_decimal);
  }
  int32_t n = 0;
  for (int32_t i = 0; i < fmu->n_clocked; i++) n += &fmu->clocks[fmu->clocked[i].clock] == c;
  if (n > 0) fprintf(out, ", %d variable%s", n, n == 1 ? "" : "s");
  fputc('\n', out);
}

static void print_clocks(FILE* out, const cpl_fmu* fmu) {
  if (fmu->n_clocks == 0) return;
  size_t width = 0;
  for (int32_t i = 0; i < fmu->n_clocks; i++) {
    size_t n = cpli_text_width(fmu->desc.vars[fmu->clocks[i].var].name);
    if (n > width) width = n;
  }
  fprintf(out, "\nClocks (%d)\n", fmu->n_clocks);
  for (int32_t i = 0; i < fmu->n_clocks; i++) print_clock(out, fmu, &fmu->clocks[i], width);
}

//------------------------------------ terminals ------------------------------------

static void print_terminals(FILE* out, const cpl_fmu* fmu) {
  if (fmu->n_terminals == 0) return;
  fprintf(out, "\nTerminals (%d)\n", fmu->n_terminals);
  for (int32_t i = 0; i < fmu->n_terminals; i++) {
    const cpli_terminal* t = &fmu->terminals[i];
    int depth = 1;
    for (int32_t p = t->parent; p >= 0; p = fmu->terminals[p].parent) depth++;
    fprintf(out, "%*s", 2 * depth, "");
    cpli_print_text(out, t->name, 0);
    if (t->kind[0] != '\0') fputs(", ", out), cpli_print_text(out, t->kind, 0);
    if (t->rule[0] != '\0') fputs(", ", out), cpli_print_text(out, t->rule, 0);
    const char* glue = ": ";
    for (int32_t k = 0; k < fmu->n_terminal_members; k++) {
      if (fmu->terminal_members[k].terminal != i) continue;
      fputs(glue, out);
      cpli_print_text(out, fmu->terminal_members[k].variable, 0);
      glue = ", ";
    }
    fputc('\n', out);
  }
}

//------------------------------------ algebraic variables ------------------------------------

// The available forms, ODE and DAE, and how to select the other one.
static void print_forms(FILE* out, const cpl_description* d, const cpl_fmu* fmu) {
  if (fmu == NULL) return;
  fputs(fmu->dae.enable >= 0 ? ", set from outside while " : ", always set from outside", out);
  if (fmu->dae.enable < 0) return;
  cpli_print_text(out, d->vars[fmu->dae.enable].name, 0);
  fputs(" is true", out);
}

void info_print_residuals(FILE* out, const cpl_description* d, const cpl_fmu* fmu) {
  if (d->n_algebraics == 0) return;
  fprintf(out, "\nAlgebraic variables (%d", d->n_algebraics);
  print_forms(out, d, fmu);
  fputs(")\n", out);
  for (int32_t i = 0; i < d->n_algebraics; i++) {
    fputs("  ", out);
    print_padded(out, d->vars[d->algebraics[i]].name, 24);
    fputs("residual ", out);
    cpli_print_text(out, d->vars[d->residuals[i]].name, 0);
    for (int32_t k = 0; k < d->n_formulations; k++) {
      if (d->formulations[k].residual != i) continue;
      fputs(", ", out);
      cpli_print_text(out, d->vars[d->formulation_vars[k]].name, 0);
      fprintf(out, " of index %d", d->formulations[k].index);
    }
    fputc('\n', out);
  }
}

void info_write_residuals(cpli_json* j, const cpl_description* d, const cpl_fmu* fmu) {
  cpli_json_array(j, "algebraic_variables");
  for (int32_t i = 0; i < d->n_algebraics; i++)
    cpli_json_text(j, NULL, d->vars[d->algebraics[i]].name);
  cpli_json_close(j, ']');
  cpli_json_array(j, "residuals");
  for (int32_t i = 0; i < d->n_algebraics; i++)
    cpli_json_text(j, NULL, d->vars[d->residuals[i]].name);
  cpli_json_close(j, ']');
  cpli_json_array(j, "formulations");
  for (int32_t k = 0; k < d->n_formulations; k++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", d->vars[d->formulation_vars[k]].name);
    cpli_json_text(j, "of", d->vars[d->residuals[d->formulations[k].residual]].name);
    cpli_json_integer(j, "index", d->formulations[k].index);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  if (fmu != NULL && fmu->dae.present && fmu->dae.enable >= 0)
    cpli_json_text(j, "enable_dae", d->vars[fmu->dae.enable].name);
  if (d->form_error != NULL) cpli_json_text(j, "form_error", d->form_error);
}

//------------------------------------ standards, builds ------------------------------------

static void print_layers(FILE* out, const cpl_fmu* fmu) {
  if (fmu->n_layers == 0) return;
  fprintf(out, "\nLayered standards (%d)\n", fmu->n_layers);
  for (int32_t i = 0; i < fmu->n_layers; i++) {
    const cpli_layer* l = &fmu->layers[i];
    fputs("  ", out);
    print_padded(out, l->name, 24);
    print_padded(out, l->version, 8);
    cpli_print_text(out, l->description, 72);
    fputc('\n', out);
  }
}

static void print_texts(FILE* out, const char* name, const cpli_texts* texts) {
  if (texts->n == 0) return;
  fprintf(out, "    %-12s", name);
  for (int32_t i = 0; i < texts->n; i++) {
    fputs(i > 0 ? ", " : " ", out);
    cpli_print_text(out, texts->items[i], 0);
  }
  fputc('\n', out);
}

static void print_builds(FILE* out, const cpl_fmu* fmu) {
  if (fmu->n_builds == 0) return;
  fprintf(out, "\nBuild configurations (%d)\n", fmu->n_builds);
  for (int32_t i = 0; i < fmu->n_builds; i++) {
    const cpli_build* b = &fmu->builds[i];
    fputs("  ", out);
    cpli_print_text(out, b->identifier, 0);
    const char* more[] = {b->platform[0] != '\0' ? b->platform : "any platform", b->language,
                          b->compiler, b->options};
    for (size_t k = 0; k < CPLI_COUNT(more); k++) {
      if (more[k][0] == '\0') continue;
      fputs(", ", out);
      cpli_print_text(out, more[k], 0);
    }
    fputc('\n', out);
    print_texts(out, "files", &b->files);
    print_texts(out, "definitions", &b->definitions);
    print_texts(out, "includes", &b->include_dirs);
    print_texts(out, "libraries", &b->libraries);
  }
}

void info_print_parts(FILE* out, const cpl_fmu* fmu) {
  print_clocks(out, fmu);
  print_terminals(out, fmu);
  print_layers(out, fmu);
  print_builds(out, fmu);
}

//------------------------------------ JSON ------------------------------------

static void write_clocks(cpli_json* j, const cpl_fmu* fmu) {
  const cpl_description* d = &fmu->desc;
  cpli_json_array(j, "clocks");
  for (int32_t i = 0; i < fmu->n_clocks; i++) {
    const cpli_clock* c = &fmu->clocks[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", d->vars[c->var].name);
    cpli_json_text(j, "interval_variability", cpli_interval_name((cpli_interval)c->interval));
    if (c->has_interval) {
      cpli_json_real(j, "interval", c->interval_decimal);
      cpli_json_real(j, "shift", c->shift_decimal);
    }
    if (c->has_counter) {
      cpli_json_integer(j, "interval_counter", (int64_t)c->interval_counter);
      cpli_json_integer(j, "shift_counter", (int64_t)c->shift_counter);
      cpli_json_integer(j, "resolution", (int64_t)c->resolution);
    }
    if (c->has_priority) cpli_json_integer(j, "priority", c->priority);
    cpli_json_boolean(j, "supports_fraction", c->supports_fraction);
    cpli_json_boolean(j, "can_be_deactivated", c->can_be_deactivated);
    cpli_json_array(j, "variables");
    for (int32_t k = 0; k < fmu->n_clocked; k++)
      if (fmu->clocked[k].clock == i) cpli_json_text(j, NULL, d->vars[fmu->clocked[k].var].name);
    cpli_json_close(j, ']');
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_terminals(cpli_json* j, const cpl_fmu* fmu) {
  cpli_json_array(j, "terminals");
  for (int32_t i = 0; i < fmu->n_terminals; i++) {
    const cpli_terminal* t = &fmu->terminals[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", t->name);
    cpli_json_text(j, "kind", t->kind);
    cpli_json_text(j, "matching_rule", t->rule);
    cpli_json_text(j, "description", t->description);
    if (t->parent >= 0) cpli_json_text(j, "inside", fmu->terminals[t->parent].name);
    cpli_json_array(j, "members");
    for (int32_t k = 0; k < fmu->n_terminal_members; k++) {
      const cpli_terminal_member* m = &fmu->terminal_members[k];
      if (m->terminal != i) continue;
      cpli_json_object(j, NULL);
      cpli_json_text(j, "variable", m->variable);
      cpli_json_text(j, "member", m->member);
      cpli_json_text(j, "kind", m->kind);
      cpli_json_close(j, '}');
    }
    cpli_json_close(j, ']');
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_texts(cpli_json* j, const char* key, const cpli_texts* texts) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < texts->n; i++) cpli_json_text(j, NULL, texts->items[i]);
  cpli_json_close(j, ']');
}

static void write_builds(cpli_json* j, const cpl_fmu* fmu) {
  cpli_json_array(j, "builds");
  for (int32_t i = 0; i < fmu->n_builds; i++) {
    const cpli_build* b = &fmu->builds[i];
    cpli_json_object(j, NULL);
    cpli_json_text(j, "identifier", b->identifier);
    cpli_json_text(j, "platform", b->platform);
    cpli_json_text(j, "description", b->description);
    cpli_json_text(j, "language", b->language);
    cpli_json_text(j, "compiler", b->compiler);
    cpli_json_text(j, "options", b->options);
    write_texts(j, "files", &b->files);
    write_texts(j, "definitions", &b->definitions);
    write_texts(j, "include_directories", &b->include_dirs);
    write_texts(j, "libraries", &b->libraries);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_arrays(cpli_json* j, const cpl_description* d) {
  cpli_json_array(j, "arrays");
  for (int32_t i = 0; i < d->n_arrays; i++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", d->arrays[i].name);
    cpli_json_array(j, "sizes");
    for (int32_t k = 0; k < d->arrays[i].n_sizes; k++)
      cpli_json_integer(j, NULL, d->arrays[i].sizes[k]);
    cpli_json_close(j, ']');
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

void info_write_parts(cpli_json* j, const cpl_fmu* fmu) {
  cpli_json_boolean(j, "icon", fmu->has_icon);
  write_arrays(j, &fmu->desc);
  write_clocks(j, fmu);
  write_terminals(j, fmu);
  cpli_json_array(j, "layered_standards");
  for (int32_t i = 0; i < fmu->n_layers; i++) {
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", fmu->layers[i].name);
    cpli_json_text(j, "version", fmu->layers[i].version);
    cpli_json_text(j, "description", fmu->layers[i].description);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  write_builds(j, fmu);
}
