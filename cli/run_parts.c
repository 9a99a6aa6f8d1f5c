// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Counters of masters and delay lines, and of each of their components, for --stats and --json. A
// nested master follows its line.
#include "run_parts.h"

#include <math.h>
#include <string.h>

bool parts_is(const cpl_component* c, const char* kind) {
  return c != NULL && strcmp(cpl_component_kind(c), kind) == 0;
}

static cpl_inspection inspect(const cpl_component* c, int32_t child) {
  cpl_inspection in;
  if (cpl_component_inspect(c, child, &in) < 0) in = (cpl_inspection){.name = "", .role = ""};
  return in;
}

const cpl_component* parts_master(const cpl_component* c) {
  if (parts_is(c, "master")) return c;
  int32_t n = parts_is(c, "independent") ? inspect(c, -1).n_children : 0;
  for (int32_t i = 0; i < n; i++) {
    const cpl_component* child = inspect(c, i).component;
    if (parts_is(child, "master")) return child;
  }
  return NULL;
}

const char* parts_role(const cpl_stepper* s, int32_t i) {
  return inspect(parts_master(&s->base), i).role;
}

//------------------------------------ for people ------------------------------------

// The name of a counter in words.
static void print_words(FILE* out, const char* name) {
  if (strcmp(name, "rollbacks") == 0) name = "rolled back";
  for (; *name != '\0'; name++) fputc(*name == '_' ? ' ' : *name, out);
}

static void print_solver(FILE* out, const cpl_component* c) {
  const cpl_inspection v = inspect(c, -1);
  fprintf(out, "; solver: %.0f steps, %.0f right-hand sides, %.0f events",
          cpl_inspection_counter(&v, "steps"), cpl_inspection_counter(&v, "rhs_evals"),
          cpl_inspection_counter(&v, "state_events") + cpl_inspection_counter(&v, "time_events") +
              cpl_inspection_counter(&v, "step_events"));
}

static void print_steppers(FILE* out, const cpl_component* master, int indent) {
  const int32_t n = inspect(master, -1).n_children;
  for (int32_t i = 0; i < n; i++) {
    const cpl_inspection p = inspect(master, i);
    fprintf(out, "%*s", indent, "");
    cli_print_safe(out, p.name);
    fprintf(out, ": %s", p.role);
    for (int32_t k = 0; k < p.n_counters; k++) {
      fprintf(out, ", %.0f ", p.counters[k].value);
      print_words(out, p.counters[k].name);
    }
    if (parts_is(p.component, "integrate")) print_solver(out, p.component);
    fputc('\n', out);
    const cpl_component* inner = parts_master(p.component);
    if (inner != NULL) print_steppers(out, inner, indent + 2);
  }
}

static void print_master(FILE* out, const cpl_component* master) {
  const cpl_inspection in = inspect(master, -1);
  for (int32_t k = 0; k < in.n_counters; k++) {
    fputs("  ", out);
    print_words(out, in.counters[k].name);
    fprintf(out, "%*s  %.0f\n", (int)fmax(0, 19 - (double)strlen(in.counters[k].name)), "",
            in.counters[k].value);
  }
  print_steppers(out, master, 2);
}

static void print_lines(FILE* out, const cpl_component* c) {
  const int32_t n = inspect(c, -1).n_children;
  fprintf(out, "  %-20s %12s %12s %12s\n", "component", "maximum step", "segments", "events");
  for (int32_t i = 0; i < n; i++) {
    const cpl_inspection p = inspect(c, i);
    fputs("  ", out);
    cli_print_safe(out, p.name);
    fprintf(out, "%*s", (int)fmax(0, 20 - (double)strlen(p.name)), "");
    for (int32_t k = 0; k < p.n_counters; k++)
      fprintf(out, p.counters[k].unit[0] != '\0' ? " %12.6g" : " %12.0f", p.counters[k].value);
    fputc('\n', out);
  }
}

void parts_print(FILE* out, const cpl_stepper* s) {
  const cpl_component* master = parts_master(&s->base);
  if (master != NULL) print_master(out, master);
  else if (parts_is(&s->base, "tlm")) print_lines(out, &s->base);
}

//------------------------------------ for tools ------------------------------------

static void write_counter(cpli_json* j, const cpl_counter* counter) {
  if (counter->unit[0] != '\0') cpli_json_real(j, counter->name, counter->value);
  else cpli_json_integer(j, counter->name, (int64_t)counter->value);
}

static void write_solver(cpli_json* j, const cpl_component* c) {
  static const char* const names[] = {"steps",        "rejected_steps", "rhs_evals",
                                      "state_events", "time_events",    "step_events"};
  const cpl_inspection v = inspect(c, -1);
  cpli_json_object(j, "solver");
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
    cpli_json_integer(j, names[i], (int64_t)cpl_inspection_counter(&v, names[i]));
  cpli_json_close(j, '}');
}

static void write_master(cpli_json* j, const cpl_component* master);

static void write_children(cpli_json* j, const char* key, const cpl_component* c, int32_t n) {
  cpli_json_array(j, key);
  for (int32_t i = 0; i < n; i++) {
    const cpl_inspection p = inspect(c, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", p.name);
    if (p.role[0] != '\0') cpli_json_text(j, "class", p.role);
    for (int32_t k = 0; k < p.n_counters; k++) write_counter(j, &p.counters[k]);
    if (parts_is(c, "master") && parts_is(p.component, "integrate")) write_solver(j, p.component);
    if (parts_master(p.component) != NULL) write_master(j, parts_master(p.component));
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
}

static void write_master(cpli_json* j, const cpl_component* master) {
  const cpl_inspection in = inspect(master, -1);
  cpli_json_object(j, "master");
  cpli_json_text(j, "algorithm", in.role);
  for (int32_t k = 0; k < in.n_counters; k++) write_counter(j, &in.counters[k]);
  write_children(j, "steppers", master, in.n_children);
  cpli_json_close(j, '}');
}

void parts_write(cpli_json* j, const cpl_stepper* s) {
  const cpl_component* c = &s->base;
  if (parts_master(c) != NULL) write_master(j, parts_master(c));
  if (parts_is(c, "tlm")) write_children(j, "parts", c, inspect(c, -1).n_children);
}
