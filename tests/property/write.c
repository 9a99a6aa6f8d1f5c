// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system.h"

enum { MAX_LINES = 40, LINE = 4000 };

// Lines that may stand in any order.
typedef struct lines {
  int n;
  char text[MAX_LINES][LINE];
} lines;

static const char* state_name(const instance* m, int k) { return m->kind->def->states[k].name; }

//------------------------------------ formulas ------------------------------------

static void put(char* out, const char* fmt, ...) {
  size_t used = strlen(out);
  va_list args;
  va_start(args, fmt);
  vsnprintf(out + used, used < LINE ? LINE - used : 0, fmt, args);
  va_end(args);
}

static void put_formula(const random_system* s, int formula, char* out) {
  const node* n = &s->nodes[formula];
  const instance* m = &s->models[n->model];
  switch (n->kind) {
    case NODE_CONSTANT: put(out, n->value < 0 ? "(%.17g)" : "%.17g", n->value); break;
    case NODE_TIME:
      if (s->start == 0) put(out, "time");
      else put(out, "(time - (%.17g))", s->start);
      break;
    case NODE_STATE: put(out, "%s.%s", m->name, state_name(m, n->index)); break;
    case NODE_OUTPUT: put(out, "%s.%s", m->name, m->kind->def->outputs[n->index].name); break;
    case NODE_DISCRETE: {
      const cpl_declaration* d = &m->kind->def->discrete[n->index];
      if (d->type == CPL_BOOLEAN) put(out, "(if %s.%s then 1 else 0)", m->name, d->name);
      else put(out, "%s.%s", m->name, d->name);
      break;
    }
    case NODE_SIGNAL: put(out, "signal%d", n->index); break;
    case NODE_ADD:
    case NODE_MULTIPLY:
      put(out, "(");
      put_formula(s, n->a, out);
      put(out, n->kind == NODE_ADD ? " + " : "*");
      put_formula(s, n->b, out);
      put(out, ")");
      break;
    case NODE_SIN:
    case NODE_ATAN:
      put(out, n->kind == NODE_SIN ? "sin(" : "atan(");
      put_formula(s, n->a, out);
      put(out, ")");
      break;
    case NODE_IF:
      put(out, "(if ");
      put_formula(s, s->relations[n->relation].left, out);
      put(out, " > ");
      put_formula(s, s->relations[n->relation].right, out);
      put(out, " then ");
      put_formula(s, n->a, out);
      put(out, " else ");
      put_formula(s, n->b, out);
      put(out, ")");
      break;
  }
}

static void put_relation(const random_system* s, int r, char* out) {
  put(out, "\"");
  put_formula(s, s->relations[r].left, out);
  put(out, " > ");
  put_formula(s, s->relations[r].right, out);
  put(out, "\"");
}

static void put_sets(const random_system* s, const assignment* sets, int n, char* out) {
  put(out, "{");
  for (int k = 0; k < n; k++) {
    const instance* m = &s->models[sets[k].model];
    put(out, "%s%s.%s: \"", k > 0 ? ", " : "", m->name, state_name(m, sets[k].state));
    put_formula(s, sets[k].formula, out);
    put(out, "\"");
  }
  put(out, "}");
}

//------------------------------------ sections ------------------------------------

static char* new_line(lines* l) {
  char* line = l->text[l->n++];
  line[0] = '\0';
  return line;
}

static bool is_free(const random_system* s, int i, int k) {  // keeps its start value
  const node* n = &s->nodes[s->models[i].input[k]];
  return n->kind == NODE_CONSTANT;
}

static void model_line(const random_system* s, const variant* v, int i, char* out) {
  const instance* m = &s->models[i];
  model_form form = v->form < 0 ? m->form : (model_form)v->form;
  put(out, "%s: {%s: ../pool/%s%s", m->name, form == FORM_C ? "c" : "fmu", m->kind->name,
      form == FORM_C      ? ".c"
      : form == FORM_FMI2 ? "2.fmu"
                          : "3.fmu");
  if (m->steps) put(out, ", as: cs");
  if (v->isolate) put(out, ", isolate: true");
  put(out, ", start: {");
  const char* comma = "";
  for (int k = 0; k < m->kind->n_parameters; k++, comma = ", ")
    put(out, "%s%s: %.17g", comma, m->kind->def->parameters[k].name, m->p[k]);
  for (int k = 0; k < m->kind->n_states; k++, comma = ", ")
    put(out, "%s%s: %.17g", comma, state_name(m, k), m->x0[k]);
  put(out, "}}");
}

static void collect(const random_system* s, const variant* v, int mode, lines* models,
                    lines* connections, lines* events) {
  models->n = connections->n = events->n = 0;
  for (int i = 0; i < s->n_models; i++) {
    const instance* m = &s->models[i];
    if (m->mode != mode) continue;
    model_line(s, v, i, new_line(models));
    for (int k = 0; k < m->kind->n_inputs; k++) {
      char* line = new_line(connections);
      put(line, "%s.%s: \"", m->name, m->kind->def->inputs[k].name);
      put_formula(s, m->input[k], line);
      put(line, "\"");
      (void)is_free;
    }
  }
  for (int i = 0; i < s->n_events; i++) {
    const event_def* e = &s->events[i];
    if (e->mode != mode) continue;
    char* line = new_line(events);
    put(line, "event%d: {", i);
    if (e->relation >= 0) {
      put(line, "when: ");
      put_relation(s, e->relation, line);
    } else {
      put(line, "at: [");
      for (int k = 0; k < e->n_times; k++) put(line, "%s%.17g", k > 0 ? ", " : "", e->times[k]);
      put(line, "]");
    }
    put(line, ", set: ");
    put_sets(s, e->sets, e->n_sets, line);
    put(line, "}");
  }
}

static void print_lines(FILE* f, const char* indent, const char* title, lines* l, rng* order) {
  if (l->n == 0) return;
  fprintf(f, "%s%s:\n", indent, title);
  for (int i = l->n - 1; i > 0 && order != NULL; i--) {
    int k = rng_int(order, i + 1);
    char swap[LINE];
    memcpy(swap, l->text[i], LINE);
    memcpy(l->text[i], l->text[k], LINE);
    memcpy(l->text[k], swap, LINE);
  }
  for (int i = 0; i < l->n; i++) fprintf(f, "%s  %s\n", indent, l->text[i]);
}

static bool write_table(const random_system* s, int i, const char* folder) {
  const signal_def* d = &s->signals[i];
  char path[1200];
  snprintf(path, sizeof path, "%s/signal%d.csv", folder, i);
  FILE* f = fopen(path, "w");
  if (f == NULL) return false;
  fprintf(f, "time,signal%d\n", i);
  for (int k = 0; k < d->n; k++) fprintf(f, "%.17g,%.17g\n", d->t[k], d->y[k]);
  return fclose(f) == 0;
}

int system_columns(const random_system* s, char (*names)[40], int most) {
  static const char* const modes[] = {"first", "second"};
  int n = 0;
  for (int i = 0; i < s->n_models; i++) {
    const instance* m = &s->models[i];
    char prefix[24];
    snprintf(prefix, sizeof prefix, "%s%s%s", s->n_modes > 1 ? modes[m->mode] : "",
             s->n_modes > 1 ? "." : "", m->name);
    const cpl_model_def* d = m->kind->def;
    for (int k = 0; k < m->kind->n_states && n < most; k++)
      snprintf(names[n++], 40, "%s.%s", prefix, d->states[k].name);
    for (int k = 0; k < m->kind->n_inputs && n < most; k++)
      snprintf(names[n++], 40, "%s.%s", prefix, d->inputs[k].name);
    for (int k = 0; k < m->kind->n_outputs && n < most; k++)
      snprintf(names[n++], 40, "%s.%s", prefix, d->outputs[k].name);
    for (int k = 0; k < m->kind->n_discrete && n < most; k++)
      if (m->kind->shown[k]) snprintf(names[n++], 40, "%s.%s", prefix, d->discrete[k].name);
  }
  return n;
}

static void print_signals(const random_system* s, FILE* f, lines* l, rng* order) {
  l->n = 0;
  for (int i = 0; i < s->n_signals; i++) {
    char* line = new_line(l);
    put(line, "signal%d: ", i);
    if (s->signals[i].formula < 0) {
      put(line, "{file: signal%d.csv, interpolation: %s}", i,
          s->signals[i].hold ? "hold" : "linear");
    } else {
      put(line, "\"");
      put_formula(s, s->signals[i].formula, line);
      put(line, "\"");
    }
  }
  print_lines(f, "", "inputs", l, order);
}

static void print_modes(const random_system* s, const variant* v, FILE* f, rng* order) {
  static const char* const names[] = {"first", "second"};
  static lines models, connections, events;
  fprintf(f, "modes:\n  start: first\n");
  for (int mode = 0; mode < 2; mode++) {
    const transition* way = &s->leave[mode];
    char leave[LINE] = "";
    collect(s, v, mode, &models, &connections, &events);
    fprintf(f, "  %s:\n", names[mode]);
    print_lines(f, "    ", "models", &models, order);
    print_lines(f, "    ", "connections", &connections, order);
    print_lines(f, "    ", "events", &events, order);
    put(leave, "when: ");
    put_relation(s, way->relation, leave);
    put(leave, ", to: %s, set: ", names[1 - mode]);
    put_sets(s, way->sets, way->n_sets, leave);
    fprintf(f, "    leave:\n      - {%s}\n", leave);
  }
}

static void print_experiment(const random_system* s, const variant* v, FILE* f) {
  char names[64][40];
  int n = system_columns(s, names, 64);
  fprintf(f, "record: [");
  for (int i = 0; i < n; i++) fprintf(f, "%s%s", i > 0 ? ", " : "", names[i]);
  fprintf(f, "]\n");
  fprintf(f, "experiment: {start: %.17g, stop: %.17g, interval: %.17g, rtol: %.17g, atol: %.17g}\n",
          s->start, s->stop, (s->stop - s->start) / s->n_intervals, s->rtol, s->atol);
  if (!s->steppers) return;
  fprintf(f, "master: {algorithm: %s, order: %d, step: %.17g", s->algorithm, s->order,
          v->step > 0 ? v->step : s->step);
  if (s->tolerance > 0) fprintf(f, ", tolerance: %g", s->tolerance);
  if (v->threads > 0) fprintf(f, ", threads: %d", v->threads);
  fprintf(f, "}\n");
}

bool system_write(const random_system* s, const variant* v, const char* folder) {
  static lines models, connections, events;
  rng random = {v->permutation}, *order = v->permutation != 0 ? &random : NULL;
  char path[1200];
  bool ok = true;
  for (int i = 0; i < s->n_signals; i++)
    if (s->signals[i].formula < 0) ok = write_table(s, i, folder) && ok;
  snprintf(path, sizeof path, "%s/s.yaml", folder);
  FILE* f = fopen(path, "w");
  if (f == NULL) return false;
  fprintf(f, "couplet: 1\n");
  bool late = order != NULL && rng_chance(order, 0.5);
  if (late) print_experiment(s, v, f);
  print_signals(s, f, &models, order);
  if (s->n_modes > 1) {
    print_modes(s, v, f, order);
  } else {
    collect(s, v, 0, &models, &connections, &events);
    bool turned = order != NULL && rng_chance(order, 0.5);
    if (turned) print_lines(f, "", "connections", &connections, order);
    print_lines(f, "", "models", &models, order);
    if (!turned) print_lines(f, "", "connections", &connections, order);
    print_lines(f, "", "events", &events, order);
  }
  if (!late) print_experiment(s, v, f);
  return fclose(f) == 0 && ok;
}
