// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Statistics of masters for --stats and --json; a nested master follows its line.
#include "run_master.h"

typedef struct number {
  const char *title, *key;
  int64_t value;
} number;

enum { N_WHOLE = 4, N_PART = 4 };

static void whole_numbers(const cpl_stepper* s, number out[N_WHOLE]) {
  const cpl_master_stats* m = cpl_master_get_stats(s);
  out[0] = (number){"communication steps", "communication_steps", m->steps};
  out[1] = (number){"repeated steps", "repeated_steps", m->repeated};
  out[2] = (number){"loop iterations", "loop_iterations", m->iterations};
  out[3] = (number){"events", "events", m->events};
}

static void part_numbers(const cpl_master_part_stats* p, number out[N_PART]) {
  out[0] = (number){"steps", "steps", p->steps};
  out[1] = (number){"rejected", "rejected", p->rejected};
  out[2] = (number){"rolled back", "rollbacks", p->rollbacks};
  out[3] = (number){"updates", "updates", p->updates};
}

static void print_part(FILE* out, const cpl_stepper* s, int32_t i) {
  cpl_master_part_stats p = cpl_master_part_stats_at(s, i);
  const cpl_stepper* part = cpl_master_part_at(s, i);
  const cpl_solver_stats* v = cpl_integrate_stats(part);
  number numbers[N_PART];
  part_numbers(&p, numbers);
  cli_print_safe(out, p.name);
  fprintf(out, ": %s", cpl_master_class_name(p.kind));
  for (int k = 0; k < N_PART; k++)
    fprintf(out, ", %lld %s", (long long)numbers[k].value, numbers[k].title);
  if (v != NULL)
    fprintf(out, "; solver: %lld steps, %lld right-hand sides, %lld events", (long long)v->steps,
            (long long)v->rhs_evals,
            (long long)(v->state_events + v->time_events + v->step_events));
  fputc('\n', out);
}

static void print_parts(FILE* out, const cpl_stepper* s, int indent) {
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    const cpl_stepper* part = cpl_master_part_at(s, i);
    fprintf(out, "%*s", indent, "");
    print_part(out, s, i);
    if (cpl_master_count(part) > 0) print_parts(out, part, indent + 2);
  }
}

void run_print_master(FILE* out, const cpl_stepper* s) {
  number numbers[N_WHOLE];
  whole_numbers(s, numbers);
  for (int k = 0; k < N_WHOLE; k++)
    fprintf(out, "  %-19s  %lld\n", numbers[k].title, (long long)numbers[k].value);
  print_parts(out, s, 2);
}

static void write_solver(cpli_json* j, const cpl_solver_stats* v) {
  cpli_json_object(j, "solver");
  cpli_json_integer(j, "steps", v->steps);
  cpli_json_integer(j, "rejected_steps", v->rejected);
  cpli_json_integer(j, "rhs_evals", v->rhs_evals);
  cpli_json_integer(j, "state_events", v->state_events);
  cpli_json_integer(j, "time_events", v->time_events);
  cpli_json_integer(j, "step_events", v->step_events);
  cpli_json_close(j, '}');
}

void run_write_master(cpli_json* j, const char* key, const cpl_stepper* s) {
  number numbers[N_WHOLE], own[N_PART];
  cpli_json_object(j, key);
  cpli_json_text(j, "algorithm", cpl_master_algorithm_name(cpl_master_settings(s).algorithm));
  whole_numbers(s, numbers);
  for (int k = 0; k < N_WHOLE; k++) cpli_json_integer(j, numbers[k].key, numbers[k].value);
  cpli_json_array(j, "steppers");
  for (int32_t i = 0; i < cpl_master_count(s); i++) {
    cpl_master_part_stats p = cpl_master_part_stats_at(s, i);
    const cpl_stepper* part = cpl_master_part_at(s, i);
    cpli_json_object(j, NULL);
    cpli_json_text(j, "name", p.name);
    cpli_json_text(j, "class", cpl_master_class_name(p.kind));
    part_numbers(&p, own);
    for (int k = 0; k < N_PART; k++) cpli_json_integer(j, own[k].key, own[k].value);
    if (cpl_integrate_stats(part) != NULL) write_solver(j, cpl_integrate_stats(part));
    if (cpl_master_count(part) > 0) run_write_master(j, "master", part);
    cpli_json_close(j, '}');
  }
  cpli_json_close(j, ']');
  cpli_json_close(j, '}');
}
