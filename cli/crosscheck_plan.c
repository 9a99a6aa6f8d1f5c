// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The settings of a run: from the files next to an FMU, and defaults for those they lack.
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "crosscheck.h"
#include "format/file.h"
#include "format/number.h"
#include "format/yaml.h"

static const double usual_tolerance = 1e-5;  // where none or 0 is given
static const double loosest_tolerance = 1e-4;
static const int fine_steps = 20000;  // of co-simulation whose step is given as 0
static const int output_points = 2000;

//------------------------------------ settings of the user ------------------------------------

static cpl_status add_set(xcheck* x, xcheck_plan* plan, const char* name, const char* value) {
  size_t n = strlen(name) + strlen(value) + 2;
  char* item = cpli_arena_alloc(&x->arena, n, 1);
  if (item == NULL ||
      !cpli_grow(x->ctx, (void**)&plan->sets, &plan->cap_sets, plan->n_sets, sizeof *plan->sets))
    return cpl_fail(x->ctx, CPL_ERR_NOMEM, "out of memory");
  snprintf(item, n, "%s=%s", name, value);
  plan->sets[plan->n_sets++] = item;
  return CPL_OK;
}

static cpl_status read_sets(xcheck* x, const cpli_yaml_file* file, const cpli_yaml* node,
                            xcheck_plan* plan) {
  cpl_status st = cpli_yaml_mapping(file, node, "set");
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next) {
    const char* value;
    st = cpli_yaml_string(file, c, c->key->text, &value);
    if (st >= 0) st = add_set(x, plan, c->key->text, value);
  }
  return st;
}

static cpl_status read_solver(xcheck* x, const cpli_yaml_file* file, const cpli_yaml* node,
                              xcheck_plan* plan) {
  const char* name;
  cpl_status st = cpli_yaml_string(file, node, "solver", &name);
  if (st < 0) return st;
  char* copy = cpli_arena_alloc(&x->arena, strlen(name) + 1, 1);
  if (copy == NULL) return cpl_fail(x->ctx, CPL_ERR_NOMEM, "out of memory");
  plan->solver = strcpy(copy, name);
  return CPL_OK;
}

static cpl_status read_item(xcheck* x, const cpli_yaml_file* file, const cpli_yaml* node,
                            xcheck_plan* plan) {
  const struct {
    const char* key;
    double* value;
  } numbers[] = {{"start", &plan->start},
                 {"stop", &plan->stop},
                 {"step", &plan->step},
                 {"rtol", &plan->rtol},
                 {"interval", &plan->interval},
                 {"shift", &plan->shift},
                 {"input_shift", &plan->input_shift}};
  cpl_status st = cpli_yaml_mapping(file, node, node->key->text);
  for (const cpli_yaml* c = st >= 0 ? node->first : NULL; c != NULL && st >= 0; c = c->next) {
    size_t i = 0;
    while (i < CPLI_COUNT(numbers) && strcmp(numbers[i].key, c->key->text) != 0) i++;
    if (i < CPLI_COUNT(numbers)) {
      st = cpli_yaml_number(file, c, c->key->text, numbers[i].value);
    } else if (strcmp(c->key->text, "set") == 0) {
      st = read_sets(x, file, c, plan);
    } else if (strcmp(c->key->text, "solver") == 0) {
      st = read_solver(x, file, c, plan);
    } else {
      cpli_source_loc place = cpli_yaml_loc(file, c->key);
      st = cpli_fail_at(x->ctx, CPL_ERR_INPUT, &place,
                        "unknown key %s (known: start, stop, step, interval, rtol, solver, set, "
                        "shift, input_shift)",
                        c->key->text);
    }
  }
  return st;
}

cpl_status xcheck_read_settings(xcheck* x, const char* path) {
  cpli_yaml_file* file = NULL;
  cpl_status st = cpli_yaml_read(x->ctx, path, &file);
  if (st >= 0) st = cpli_yaml_mapping(file, file->root, "the file");
  for (const cpli_yaml* c = st >= 0 ? file->root->first : NULL; c != NULL && st >= 0; c = c->next) {
    xcheck_plan nobody = {0};  // settings that match no FMU are checked, too
    bool taken = false;
    for (size_t i = 0; i < x->n && st >= 0; i++) {
      if (!cpli_glob(c->key->text, x->cases[i].path)) continue;
      taken = true;
      st = read_item(x, file, c, &x->cases[i].plan);
    }
    if (!taken && st >= 0) st = read_item(x, file, c, &nobody);
    cpli_free(x->ctx, nobody.sets);
  }
  cpli_yaml_close(file);
  return st;
}

//------------------------------------ files beside the FMU ------------------------------------

static void take(double* value, double otherwise) {
  if (isnan(*value)) *value = otherwise;
}

// "StopTime, 10" or "StopTime=10", with or without quotes.
static void take_option(xcheck_plan* plan, const char* line) {
  const struct {
    const char* key;
    double* value;
  } known[] = {{"StartTime", &plan->start},
               {"StopTime", &plan->stop},
               {"StepSize", &plan->step},
               {"RelTol", &plan->rtol}};
  char clean[256] = "";
  size_t n = 0;
  for (const char* p = line; *p != '\0' && *p != '\n' && n + 1 < sizeof clean; p++) {
    if (*p != '"' && !isspace((unsigned char)*p)) clean[n++] = *p;
  }
  clean[n] = '\0';
  size_t len = strcspn(clean, ",=");
  for (size_t i = 0; i < CPLI_COUNT(known); i++) {
    double value;
    const char* number = clean + len + (clean[len] != '\0');
    if (strlen(known[i].key) != len || strncmp(clean, known[i].key, len) != 0) continue;
    if (cpli_parse_double(number, strcspn(number, ",;"), &value)) take(known[i].value, value);
  }
}

static void read_options(xcheck* x, xcheck_case* c) {
  char* options = NULL;
  size_t size = 0;
  if (c->options == NULL || cpli_file_read(x->ctx, c->options, 1 << 20, &options, &size) < 0)
    return;
  for (char* line = options; line != NULL && *line != '\0';) {
    take_option(&c->plan, line);
    line = strchr(line, '\n');
    if (line != NULL) line++;
  }
  cpli_free(x->ctx, options);
}

// A reference whose first column is time under another name.
static cpl_status read_renamed(xcheck* x, const char* path, cpl_table** out) {
  char* body = NULL;
  size_t size = 0;
  char copy[4200];
  snprintf(copy, sizeof copy, "%s/reference.csv", x->folder);
  cpl_status st = cpli_file_read(x->ctx, path, (size_t)1 << 30, &body, &size);
  FILE* file = st >= 0 ? fopen(copy, "we") : NULL;
  if (file != NULL) {
    size_t name = strcspn(body, ",;\t\n");
    fputs("time", file);
    fwrite(body + name, 1, size - name, file);
    st = fclose(file) == 0 ? cpl_results_read(x->ctx, copy, out) : CPL_ERR_IO;
    remove(copy);
  }
  cpli_free(x->ctx, body);
  return file != NULL ? st : CPL_ERR_IO;
}

static bool read_reference(xcheck* x, xcheck_case* c) {
  if (c->reference == NULL) return true;
  if (cpl_results_read(x->ctx, c->reference, &c->wanted) >= 0) return true;
  snprintf(c->cause, sizeof c->cause, "reference: %s", cpl_context_error(x->ctx));
  if (read_renamed(x, c->reference, &c->wanted) < 0) return false;
  c->cause[0] = '\0';
  return true;
}

static bool has_rows(xcheck* x, const char* path) {
  cpl_table* table = NULL;
  bool has = cpl_results_read(x->ctx, path, &table) < 0 || table->n_rows > 0;
  cpl_table_destroy(table);
  return has;  // `run` reports a file that cannot be read
}

static void write_heading(FILE* file, const cpl_table* table, size_t column) {
  const char* unit = table->units[column];
  fputs(",\"", file);
  for (const char* p = table->names[column]; *p != '\0'; p++)
    fputs(*p == '"' ? "\"\"" : (char[]){*p, '\0'}, file);
  if (unit != NULL) fprintf(file, " [%s]", unit);
  fputc('"', file);
}

// A copy of the input file with other times.
static bool shift_input(xcheck* x, xcheck_case* c) {
  cpl_table* table = NULL;
  char name[4200];
  snprintf(name, sizeof name, "%s/input%td.csv", x->folder, c - x->cases);
  char* path = cpli_arena_alloc(&x->arena, strlen(name) + 1, 1);
  FILE* file = NULL;
  if (path != NULL && cpl_results_read(x->ctx, c->input, &table) >= 0) file = fopen(name, "we");
  if (file != NULL) {
    fputs("time", file);
    for (size_t k = 0; k < table->n_columns; k++) write_heading(file, table, k);
    for (size_t i = 0; i < table->n_rows; i++) {
      fprintf(file, "\n%.17g", table->time[i] + c->plan.input_shift);
      for (size_t k = 0; k < table->n_columns; k++)
        fprintf(file, ",%.17g", table->values[k * table->n_rows + i]);
    }
    fputc('\n', file);
  }
  cpl_table_destroy(table);
  bool done = file != NULL && fclose(file) == 0;
  if (done) c->input = strcpy(path, name);
  else snprintf(c->cause, sizeof c->cause, "the input file could not be shifted");
  return done;
}

// Of the times of a table; rows of events, or each row, may be there twice.
static double spacing_of(const cpl_table* t) {
  size_t n = 0;
  for (size_t i = 1; t != NULL && i < t->n_rows; i++) n += t->time[i] > t->time[i - 1];
  return n > 0 ? (t->time[t->n_rows - 1] - t->time[0]) / (double)n : 0;
}

// The step: values that the files do not give are chosen so that the references can be met.
static void choose_step(xcheck_case* c) {
  xcheck_plan* p = &c->plan;
  const double spacing = spacing_of(c->wanted);
  if (strcmp(c->kind, "cs") == 0) {
    if (!(p->step > 0)) p->step = (p->stop - p->start) / fine_steps;
    else if (spacing > 0 && spacing < 0.999 * p->step) p->step = spacing;
    return;
  }
  take(&p->interval, (p->stop - p->start) / output_points);
  if (!(p->step > 0 && p->step < 0.999 * spacing)) p->step = NAN;
}

bool xcheck_make_plan(xcheck* x, xcheck_case* c) {
  xcheck_plan* p = &c->plan;
  bool step_given = !isnan(p->step);  // by --settings, which has priority
  double step = p->step;
  read_options(x, c);
  if (!read_reference(x, c)) return false;
  const cpl_table* ref = c->wanted;
  take(&p->start, 0);
  if (!(p->stop > p->start))
    p->stop = ref != NULL && ref->n_rows > 0 ? ref->time[ref->n_rows - 1] : p->start + 1;
  if (!(p->rtol > 0)) p->rtol = usual_tolerance;
  p->rtol = fmin(p->rtol, loosest_tolerance);
  take(&p->shift, 0);
  choose_step(c);
  if (step_given) p->step = step;
  if (c->input != NULL && !has_rows(x, c->input)) c->input = NULL;
  if (c->input != NULL && !isnan(p->input_shift)) return shift_input(x, c);
  return true;
}

//------------------------------------ the command ------------------------------------

typedef struct arguments {
  xcheck* x;
  const char** items;
  size_t n, cap;
  bool failed;
} arguments;

static void push(arguments* a, const char* item) {
  if (a->failed) return;
  a->failed = !cpli_grow(a->x->ctx, (void**)&a->items, &a->cap, a->n, sizeof *a->items);
  if (!a->failed) a->items[a->n++] = item;
}

static void push_number(arguments* a, const char* option, double value) {
  if (isnan(value)) return;
  char* number = cpli_arena_alloc(&a->x->arena, CPLI_NUMBER_SIZE, 1);
  if (number == NULL) {
    a->failed = true;
    return;
  }
  cpli_format_double(number, value);
  push(a, option);
  push(a, number);
}

static void push_pair(arguments* a, const char* option, const char* value) {
  push(a, option);
  push(a, value);
}

const char** xcheck_arguments(xcheck* x, const xcheck_case* c, const char* output) {
  arguments a = {.x = x};
  push_pair(&a, "couplet", "run");
  push_pair(&a, "--json", "-o");
  push_pair(&a, output, "--units");
  push_pair(&a, "--log-level", "error");
  if (c->kind[0] != '\0') push_pair(&a, "--as", c->kind);
  push_number(&a, "--start", c->plan.start);
  push_number(&a, "--stop", c->plan.stop);
  push_number(&a, "--step", c->plan.step);
  push_number(&a, "--interval", c->plan.interval);
  if (strcmp(c->kind, "cs") != 0) push_number(&a, "--rtol", c->plan.rtol);
  if (c->plan.solver != NULL) push_pair(&a, "--solver", c->plan.solver);
  if (c->input != NULL) push_pair(&a, "--input", c->input);
  if (x->isolate) push(&a, "--isolate");
  if (x->platform != NULL) push_pair(&a, "--platform", x->platform);
  for (size_t i = 0; c->wanted != NULL && i < c->wanted->n_columns; i++) {
    if (c->wanted->names[i][0] != '\0') push_pair(&a, "--record", c->wanted->names[i]);
  }
  for (size_t i = 0; i < c->plan.n_sets; i++) push_pair(&a, "--set", c->plan.sets[i]);
  push_pair(&a, "--", c->fmu);
  push(&a, NULL);
  if (!a.failed) return a.items;
  cpli_free(x->ctx, a.items);
  return NULL;
}
