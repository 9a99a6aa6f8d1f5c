// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "system.h"

enum { MAX_LINES = 60, LINE = 4000, MAX_ACROSS = 60 };

// Lines that may stand in any order.
typedef struct lines {
  int n;
  char text[MAX_LINES][LINE];
} lines;

// What is written: the system itself, or the nested one.
typedef struct writer {
  const random_system* s;
  const variant* v;
  bool inside;             // the nested system
  int across[MAX_ACROSS];  // nodes that one of them reads of the other
  bool to_box[MAX_ACROSS];
  int n_across;
} writer;

static const char* state_name(const instance* m, int k) { return m->kind->def->states[k].name; }

//------------------------------------ formulas ------------------------------------

static void put(char* out, const char* fmt, ...) {
  size_t used = strlen(out);
  va_list args;
  va_start(args, fmt);
  vsnprintf(out + used, used < LINE ? LINE - used : 0, fmt, args);
  va_end(args);
}

static const char* variable_name(const random_system* s, const node* n) {
  const cpl_model_def* d = s->models[n->model].kind->def;
  return n->kind == NODE_STATE    ? d->states[n->index].name
         : n->kind == NODE_OUTPUT ? d->outputs[n->index].name
                                  : d->discrete[n->index].name;
}

static bool same_variable(const node* a, const node* b) {
  return a->kind == b->kind && a->model == b->model && a->index == b->index;
}

// The name that a value has on its way into the nested system or out of it.
static void put_across(writer* w, int formula, char* out) {
  const random_system* s = w->s;
  const node* n = &s->nodes[formula];
  int k = 0;
  while (k < w->n_across &&
         (w->to_box[k] != w->inside || !same_variable(&s->nodes[w->across[k]], n)))
    k++;
  if (k == w->n_across && k < MAX_ACROSS) {
    w->across[k] = formula;
    w->to_box[k] = w->inside;
    w->n_across++;
  }
  if (!w->inside) put(out, "box.");
  if (n->kind == NODE_SIGNAL) put(out, "signal%d", n->index);
  else if (n->kind == NODE_OBSERVED) put(out, "seen%d", n->index);
  else put(out, "%s_%s", s->models[n->model].name, variable_name(s, n));
}

static bool stands_inside(const random_system* s, const node* n) {
  return n->kind == NODE_OBSERVED || (n->kind != NODE_SIGNAL && s->models[n->model].boxed);
}

static void put_variable(writer* w, int formula, char* out) {
  const random_system* s = w->s;
  const node* n = &s->nodes[formula];
  if (stands_inside(s, n) != w->inside) {
    put_across(w, formula, out);
  } else if (n->kind == NODE_SIGNAL) {
    put(out, "signal%d", n->index);
  } else {
    const cpl_model_def* d = s->models[n->model].kind->def;
    bool truth = n->kind == NODE_DISCRETE && d->discrete[n->index].type == CPL_BOOLEAN;
    put(out, truth ? "(if %s.%s then 1 else 0)" : "%s.%s", s->models[n->model].name,
        variable_name(s, n));
  }
}

static void put_formula(writer* w, int formula, char* out) {
  const random_system* s = w->s;
  const node* n = &s->nodes[formula];
  switch (n->kind) {
    case NODE_CONSTANT: put(out, n->value < 0 ? "(%.17g)" : "%.17g", n->value); break;
    case NODE_TIME:
      if (s->start == 0) put(out, "time");
      else put(out, "(time - (%.17g))", s->start);
      break;
    case NODE_STATE:
    case NODE_OUTPUT:
    case NODE_DISCRETE:
    case NODE_SIGNAL:
    case NODE_OBSERVED: put_variable(w, formula, out); break;
    case NODE_ADD:
    case NODE_MULTIPLY:
      put(out, "(");
      put_formula(w, n->a, out);
      put(out, n->kind == NODE_ADD ? " + " : "*");
      put_formula(w, n->b, out);
      put(out, ")");
      break;
    case NODE_SIN:
    case NODE_ATAN:
      put(out, n->kind == NODE_SIN ? "sin(" : "atan(");
      put_formula(w, n->a, out);
      put(out, ")");
      break;
    case NODE_IF:
      put(out, "(if ");
      put_formula(w, s->relations[n->relation].left, out);
      put(out, " > ");
      put_formula(w, s->relations[n->relation].right, out);
      put(out, " then ");
      put_formula(w, n->a, out);
      put(out, " else ");
      put_formula(w, n->b, out);
      put(out, ")");
      break;
  }
}

static void put_relation(writer* w, int r, char* out) {
  put(out, "\"");
  put_formula(w, w->s->relations[r].left, out);
  put(out, " > ");
  put_formula(w, w->s->relations[r].right, out);
  put(out, "\"");
}

static void put_sets(writer* w, const assignment* sets, int n, char* out) {
  put(out, "{");
  for (int k = 0; k < n; k++) {
    const instance* m = &w->s->models[sets[k].model];
    put(out, "%s%s.%s: \"", k > 0 ? ", " : "", m->name, state_name(m, sets[k].state));
    put_formula(w, sets[k].formula, out);
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

static void event_line(writer* w, int i, char* line) {
  const event_def* e = &w->s->events[i];
  put(line, "event%d: {", i);
  if (e->relation >= 0) {
    put(line, "when: ");
    put_relation(w, e->relation, line);
  } else {
    put(line, "at: [");
    for (int k = 0; k < e->n_times; k++) put(line, "%s%.17g", k > 0 ? ", " : "", e->times[k]);
    put(line, "]");
  }
  put(line, ", set: ");
  put_sets(w, e->sets, e->n_sets, line);
  put(line, "}");
}

typedef struct sections {
  lines models, connections, events;
} sections;

static void collect(writer* w, int mode, sections* out) {
  const random_system* s = w->s;
  out->models.n = out->connections.n = out->events.n = 0;
  for (int i = 0; i < s->n_models; i++) {
    const instance* m = &s->models[i];
    if (m->mode != mode || m->boxed != w->inside) continue;
    model_line(s, w->v, i, new_line(&out->models));
    for (int k = 0; k < m->kind->n_inputs; k++) {
      char* line = new_line(&out->connections);
      put(line, "%s.%s: \"", m->name, m->kind->def->inputs[k].name);
      put_formula(w, m->input[k], line);
      put(line, "\"");
    }
  }
  for (int i = 0; i < s->n_events; i++) {
    const event_def* e = &s->events[i];
    if (e->mode != mode || s->models[e->sets[0].model].boxed != w->inside) continue;
    event_line(w, i, new_line(&out->events));
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
    bool moded = s->n_modes > 1 && m->mode != EVERY_MODE;
    snprintf(prefix, sizeof prefix, "%s%s%s%s", m->boxed ? "box." : "", moded ? modes[m->mode] : "",
             moded ? "." : "", m->name);
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

static void print_signals(writer* w, FILE* f, lines* l, rng* order) {
  const random_system* s = w->s;
  l->n = 0;
  for (int i = 0; i < s->n_signals; i++) {
    char* line = new_line(l);
    put(line, "signal%d: ", i);
    if (s->signals[i].formula < 0) {
      put(line, "{file: signal%d.csv, interpolation: %s}", i,
          s->signals[i].hold ? "hold" : "linear");
    } else {
      put(line, "\"");
      put_formula(w, s->signals[i].formula, line);
      put(line, "\"");
    }
  }
  print_lines(f, "", "inputs", l, order);
}

static void print_master(const writer* w, const char* indent, FILE* f) {
  const random_system* s = w->s;
  fprintf(f, "%smaster: {algorithm: %s, order: %d, step: %.17g", indent, s->algorithm, s->order,
          w->v->step > 0 ? w->v->step : s->step);
  if (s->tolerance > 0) fprintf(f, ", tolerance: %g", s->tolerance);
  if (w->v->threads > 0) fprintf(f, ", threads: %d", w->v->threads);
  fprintf(f, "}\n");
}

static bool has_steppers(const writer* w, int mode) {
  for (int i = 0; i < w->s->n_models; i++) {
    const instance* m = &w->s->models[i];
    if (m->steps && m->mode == mode && m->boxed == w->inside) return true;
  }
  return false;
}

// The modes; s has room for the sections of one.
static void print_modes(writer* w, sections* l, FILE* f, rng* order) {
  static const char* const names[] = {"first", "second"};
  fprintf(f, "modes:\n  start: first\n");
  for (int mode = 0; mode < 2; mode++) {
    const transition* way = &w->s->leave[mode];
    char leave[LINE] = "";
    collect(w, mode, l);
    fprintf(f, "  %s:\n", names[mode]);
    print_lines(f, "    ", "models", &l->models, order);
    print_lines(f, "    ", "connections", &l->connections, order);
    print_lines(f, "    ", "events", &l->events, order);
    if (has_steppers(w, mode)) print_master(w, "    ", f);
    put(leave, "when: ");
    put_relation(w, way->relation, leave);
    put(leave, ", to: %s, set: ", names[1 - mode]);
    put_sets(w, way->sets, way->n_sets, leave);
    fprintf(f, "    leave:\n      - {%s}\n", leave);
  }
}

static void print_experiment(const writer* w, FILE* f) {
  const random_system* s = w->s;
  char names[64][40];
  int n = system_columns(s, names, 64);
  fprintf(f, "record: [");
  for (int i = 0; i < n; i++) fprintf(f, "%s%s", i > 0 ? ", " : "", names[i]);
  fprintf(f, "]\n");
  fprintf(f, "experiment: {start: %.17g, stop: %.17g, interval: %.17g, rtol: %.17g, atol: %.17g}\n",
          s->start, s->stop, (s->stop - s->start) / s->n_intervals, s->rtol, s->atol);
  if (s->steppers && (s->n_modes == 1 || s->beside)) print_master(w, "", f);
}

//------------------------------------ the nested system ------------------------------------

static void print_observed(writer* w, FILE* f) {
  const random_system* s = w->s;
  if (s->n_observed == 0) return;
  fprintf(f, "observe:\n");
  for (int k = 0; k < s->n_observed; k++) {
    const node* n = &s->nodes[s->observed[k]];
    char line[LINE] = "";
    put(line, "seen%d: {first: \"", k);
    put_formula(w, n->a, line);
    put(line, "\", second: \"");
    put_formula(w, n->b, line);
    fprintf(f, "  %s\"}\n", line);
  }
}

// The inputs of the nested system, after all of it is written; or, outside, what they are.
static void across_lines(writer* w, bool to_box, lines* l) {
  for (int k = 0; k < w->n_across; k++) {
    char* line;
    if (w->to_box[k] != to_box || w->s->nodes[w->across[k]].kind == NODE_OBSERVED) continue;
    line = new_line(l);
    if (to_box) {
      w->inside = true;
      if (w->n_across <= MAX_ACROSS) put_across(w, w->across[k], line);
      put(line, ": {start: 0}");
    } else {
      w->inside = false;
      put_across(w, w->across[k], line);
      memmove(line, line + 4, strlen(line + 4) + 1);  // without "box."
      w->inside = true;
      put(line, ": \"");
      put_formula(w, w->across[k], line);
      put(line, "\"");
    }
  }
}

static bool write_box(writer* w, sections* l, const char* folder, rng* order) {
  char path[1200];
  snprintf(path, sizeof path, "%s/box.yaml", folder);
  FILE* f = fopen(path, "w");
  if (f == NULL) return false;
  w->inside = true;
  fprintf(f, "couplet: 1\n");
  if (w->s->beside) {
    print_modes(w, l, f, order);
    print_observed(w, f);
  } else {
    collect(w, 0, l);
    print_lines(f, "", "models", &l->models, order);
    print_lines(f, "", "connections", &l->connections, order);
    print_lines(f, "", "events", &l->events, order);
    if (has_steppers(w, 0) && w->s->box_master) print_master(w, "", f);
    l->models.n = 0;
    across_lines(w, false, &l->models);
    print_lines(f, "", "outputs", &l->models, order);
  }
  l->models.n = 0;
  across_lines(w, true, &l->models);
  print_lines(f, "", "inputs", &l->models, order);
  return fclose(f) == 0;
}

static void box_lines(writer* w, sections* l) {
  char* line = new_line(&l->models);
  put(line, "box: {system: box.yaml%s}", w->s->box_steps ? ", as: cs" : "");
  for (int k = 0; k < w->n_across; k++) {
    if (!w->to_box[k]) continue;
    line = new_line(&l->connections);
    put(line, "box.");
    w->inside = true;
    put_across(w, w->across[k], line);
    put(line, ": \"");
    w->inside = false;
    put_formula(w, w->across[k], line);
    put(line, "\"");
  }
}

//------------------------------------ whole ------------------------------------

bool system_write(const random_system* s, const variant* v, const char* folder) {
  static sections outer, inner;
  writer w = {.s = s, .v = v};
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
  if (late) print_experiment(&w, f);
  print_signals(&w, f, &outer.models, order);
  if (s->n_modes > 1 && !s->beside) {
    print_modes(&w, &outer, f, order);
  } else {
    collect(&w, s->beside ? EVERY_MODE : 0, &outer);
    if (s->box) {
      ok = write_box(&w, &inner, folder, order) && ok;
      box_lines(&w, &outer);
    }
    bool turned = order != NULL && rng_chance(order, 0.5);
    if (turned) print_lines(f, "", "connections", &outer.connections, order);
    print_lines(f, "", "models", &outer.models, order);
    if (!turned) print_lines(f, "", "connections", &outer.connections, order);
    print_lines(f, "", "events", &outer.events, order);
  }
  if (!late) print_experiment(&w, f);
  return fclose(f) == 0 && ok;
}
