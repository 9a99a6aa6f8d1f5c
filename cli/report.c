// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Measures the time of each model, reconstructs the command line, and writes the report of a run as
// JSON into the page of its results.
#include "report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "model/timed.h"
#include "run_parts.h"

//------------------------------------ clocks ------------------------------------

static struct model_time* add_time(model_times* times, const char* before, const char* name) {
  struct model_time* items = realloc(times->items, (times->n + 1) * sizeof *items);
  if (items == NULL) return NULL;
  times->items = items;
  struct model_time* item = &items[times->n++];
  *item = (struct model_time){0};
  snprintf(item->name, sizeof item->name, "%s%s%s", before, before[0] != '\0' ? "." : "", name);
  return item;
}

static cpl_status time_parts(model_times* times, cpl_model* m, const char* before) {
  const int32_t n = cpl_aggregate_count(m);
  if (n == 0) {
    struct model_time* item = add_time(times, "", before);
    if (item == NULL) return cpl_fail(m->base.ctx, CPL_ERR_NOMEM, "out of memory");
    item->component = &m->base;
    return cpli_time_model(m);
  }
  cpl_status st = CPL_OK;
  for (int32_t i = 0; i < n && st >= 0; i++) {
    cpl_model* part = cpl_aggregate_part(m, i);
    char name[256];
    snprintf(name, sizeof name, "%s%s%s", before, before[0] != '\0' ? "." : "", part->base.name);
    st = time_parts(times, part, name);
  }
  return st;
}

cpl_status model_times_of_model(model_times* times, cpl_model* model) {
  return time_parts(times, model, cpl_aggregate_count(model) == 0 ? model->base.name : "");
}

cpl_status model_times_of_stepper(model_times* times, cpl_stepper* s) {
  cpl_status st = CPL_OK;
  cpl_inspection in, child;
  if (parts_is(&s->base, "tlm")) return CPL_OK;  // no clocks with delay lines
  st = cpl_component_inspect(&s->base, -1, &in);
  bool composed = parts_master(&s->base) != NULL;
  for (int32_t i = 0; composed && i < in.n_children && st >= 0; i++) {
    st = cpl_component_inspect(&s->base, i, &child);
    composed = child.component != NULL;  // otherwise they are in another process
    if (st >= 0 && composed) st = model_times_of_stepper(times, (cpl_stepper*)child.component);
  }
  if (composed || st < 0) return st;
  struct model_time* item = add_time(times, "", s->base.name);
  if (item == NULL) return cpl_fail(s->base.ctx, CPL_ERR_NOMEM, "out of memory");
  item->component = &s->base;
  return isnan(cpl_inspection_counter(&in, "rhs_evals")) ? cpli_time_stepper(s) : CPL_OK;
}

// One with solvers measures the time itself; any other one has a clock.
static double either(const struct model_time* t, const char* own, const char* of_clock) {
  double value = cpl_component_counter(t->component, own);
  return isnan(value) ? cpl_component_counter(t->component, of_clock) : value;
}

static double seconds_of(const struct model_time* t) {
  return either(t, "in_models_s", "in_calls_s");
}

static int64_t calls_of(const struct model_time* t) {
  return (int64_t)either(t, "rhs_evals", "calls");
}

double model_times_sum(const model_times* times) {
  double sum = 0;
  for (size_t i = 0; i < times->n; i++) sum += seconds_of(&times->items[i]);
  return sum;
}

void model_times_free(model_times* times) {
  free(times->items);
  *times = (model_times){0};
}

int64_t run_events(const cpl_stepper* s) {
  static const char* const names[] = {"state_events", "time_events", "step_events"};
  cpl_inspection in, part;
  if (cpl_component_inspect(&s->base, -1, &in) < 0) return 0;
  double sum = 0;
  if (!isnan(cpl_inspection_counter(&in, "rhs_evals"))) {
    for (size_t i = 0; i < CPLI_COUNT(names); i++) sum += cpl_inspection_counter(&in, names[i]);
  } else if (parts_is(&s->base, "tlm")) {
    for (int32_t i = 0; i < in.n_children && cpl_component_inspect(&s->base, i, &part) >= 0; i++)
      sum += cpl_inspection_counter(&part, "events");
  } else {
    sum = fmax(0, cpl_inspection_counter(&in, "events"));
  }
  return (int64_t)sum;
}

//------------------------------------ the command ------------------------------------

static char command[16384];

// Quoted where a shell would interpret it.
static void append_word(const char* word) {
  static const char plain[] =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-";
  size_t at = strlen(command);
  const bool quote = word[0] == '\0' || word[strspn(word, plain)] != '\0';
  if (at > 0 && at + 1 < sizeof command) command[at++] = ' ';
  if (quote && at + 1 < sizeof command) command[at++] = '\'';
  for (; *word != '\0' && at + 8 < sizeof command; word++) {
    if (*word == '\'') at += (size_t)snprintf(command + at, 5, "'\\''");
    else command[at++] = *word;
  }
  if (quote) command[at++] = '\'';
  command[at] = '\0';
}

const char* report_command(void) {
  if (command[0] != '\0') return command;
  char text[8192];
  FILE* f = fopen("/proc/self/cmdline", "rb");
  size_t n = f != NULL ? fread(text, 1, sizeof text - 1, f) : 0;
  if (f != NULL) fclose(f);
  text[n] = '\0';
  for (size_t i = 0; i < n; i += strlen(text + i) + 1) append_word(text + i);
  return command;
}

//------------------------------------ sections ------------------------------------

static void begin(cpli_json* j, const char* title) {
  cpli_json_object(j, NULL);
  cpli_json_text(j, "title", title);
}

static void begin_rows(cpli_json* j, const char* title, const char* const* head) {
  begin(j, title);
  if (head != NULL) {
    cpli_json_array(j, "head");
    for (; *head != NULL; head++) cpli_json_text(j, NULL, *head);
    cpli_json_close(j, ']');
  }
  cpli_json_array(j, "rows");
}

static void end_rows(cpli_json* j) {
  cpli_json_close(j, ']');
  cpli_json_close(j, '}');
}

static void row_text(cpli_json* j, const char* key, const char* value) {
  cpli_json_array(j, NULL);
  cpli_json_text(j, NULL, key);
  cpli_json_text(j, NULL, value);
  cpli_json_close(j, ']');
}

static void row_real(cpli_json* j, const char* key, double value) {
  cpli_json_array(j, NULL);
  cpli_json_text(j, NULL, key);
  cpli_json_real(j, NULL, value);
  cpli_json_close(j, ']');
}

// Measured times, without insignificant digits.
static double rounded(double v) {
  char text[32];
  snprintf(text, sizeof text, "%.4g", v);
  return strtod(text, NULL);
}

static void write_run(cpli_json* j, const run_facts* f) {
  const cpl_run_stats* r = f->stats;
  begin_rows(j, "Run", NULL);
  row_text(j, "file", f->path);
  row_text(j, "result", f->result);
  row_text(j, "ended",
           f->st < 0       ? cpl_context_error(f->ctx)
           : r->terminated ? "by the model"
                           : "as planned");
  row_real(j, "start time [s]", f->run->start_time);
  row_real(j, "time reached [s]", r->reached);
  row_real(j, "computing time [s]", rounded(r->wall_s));
  if (r->wall_s > 0)
    row_real(j, "times faster than real time",
             rounded((r->reached - f->run->start_time) / r->wall_s));
  row_real(j, "points", (double)r->points);
  row_real(j, "events", (double)run_events(f->stepper));
  if (r->switches > 0) row_real(j, "switches of mode", (double)r->switches);
  end_rows(j);
}

static void write_repeat(cpli_json* j) {
  char folder[4096], *text = NULL;
  if (getcwd(folder, sizeof folder) == NULL) snprintf(folder, sizeof folder, "?");
  begin(j, "How to repeat it (couplet " CPL_VERSION ")");
  if (asprintf(&text, "cd %s\n%s", folder, report_command()) < 0) text = NULL;
  cpli_json_text(j, "text", text != NULL ? text : report_command());
  free(text);
  cpli_json_close(j, '}');
}

static void write_models(cpli_json* j, const run_facts* f) {
  if (f->times->n == 0) return;
  static const char* const head[] = {"model", "time [s]", "calls",   "kind",
                                     "name",  "version",  "made by", NULL};
  begin_rows(j, "Models, and the time each took", head);
  for (size_t i = 0; i < f->times->n; i++) {
    const struct model_time* t = &f->times->items[i];
    cpli_json_array(j, NULL);
    cpli_json_text(j, NULL, t->name);
    cpli_json_real(j, NULL, rounded(seconds_of(t)));
    cpli_json_integer(j, NULL, calls_of(t));
    const cpl_description* d = t->component->desc;
    cpli_json_text(j, NULL, d->kind);
    cpli_json_text(j, NULL, d->name);
    cpli_json_text(j, NULL, d->version);
    cpli_json_text(j, NULL, d->tool);
    cpli_json_close(j, ']');
  }
  end_rows(j);
}

static void write_times(cpli_json* j, const run_facts* f) {
  const cpl_run_stats* r = f->stats;
  double models = 0;
  for (size_t i = 0; i < f->times->n; i++) models += seconds_of(&f->times->items[i]);
  begin_rows(j, "Where the time went", NULL);
  if (f->times->n > 0) row_real(j, "models [s]", rounded(models));
  row_real(j, f->times->n > 0 ? "solver and coupling [s]" : "models, solver and coupling [s]",
           rounded(fmax(0, r->wall_s - r->in_output_s - models)));
  row_real(j, "output [s]", rounded(r->in_output_s));
  end_rows(j);
}

// "name [unit]"; `out` has room for a usual name, a longer one is cut.
static const char* with_unit(const cpl_description* d, const cpl_variable* v, char* out,
                             size_t size) {
  const char* unit = v->unit >= 0 ? d->units[v->unit].name : "";
  if (unit[0] == '\0') return v->name;
  snprintf(out, size, "%s [%s]", v->name, unit);
  return out;
}

// A value that was given: a number is in the unit of the variable, other texts have their own.
static void write_given(cpli_json* j, const cpl_description* d, const cpl_start* given) {
  char key[1024], *end;
  const int32_t i = cpl_find_variable(d, given->name);
  strtod(given->value, &end);
  const bool number = end > given->value && *end == '\0';
  const bool known = i >= 0 && number;
  row_text(j, known ? with_unit(d, &d->vars[i], key, sizeof key) : given->name, given->value);
}

static void write_parameters(cpli_json* j, const run_facts* f) {
  enum { MOST = 500 };
  const cpl_description* d = f->source->desc;
  begin_rows(j, "Parameters", NULL);
  for (size_t i = 0; i < f->run->n_starts; i++) write_given(j, d, &f->run->starts[i]);
  int shown = 0;
  for (int32_t i = 0; i < d->n_vars && shown < MOST; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->causality != CPL_CAUSALITY_PARAMETER || !v->has_start || v->type == CPL_STRING) continue;
    bool given = false;
    for (size_t k = 0; k < f->run->n_starts; k++)
      given = given || strcmp(f->run->starts[k].name, v->name) == 0;
    if (given) continue;
    char key[1024];
    shown++;
    row_real(j, with_unit(d, v, key, sizeof key), v->start);
  }
  end_rows(j);
}

static void write_solver(cpli_json* j, const run_facts* f) {
  const cpl_solver_stats* v = &f->stats->solver;
  const cpl_component* c = &f->stepper->base;
  begin_rows(j, "Solver", NULL);
  if (!isnan(cpl_component_counter(c, "rhs_evals"))) {
    const struct {
      const char* key;
      int64_t value;
    } counts[] = {{"steps", v->steps},
                  {"rejected steps", v->rejected},
                  {"right-hand sides", v->rhs_evals},
                  {"Jacobians", v->jac_evals},
                  {"Newton iterations", v->newton_iters},
                  {"state events", v->state_events},
                  {"time events", v->time_events},
                  {"step events", v->step_events},
                  {"restarts", v->restarts},
                  {"groups", v->groups}};
    row_text(j, "method", cpl_solver_name(f->solver->kind));
    row_real(j, "relative tolerance", f->solver->rtol);
    row_real(j, "absolute tolerance, times the nominals",
             f->solver->atol > 0 ? f->solver->atol : f->solver->rtol);
    for (size_t i = 0; i < CPLI_COUNT(counts); i++)
      row_real(j, counts[i].key, (double)counts[i].value);
  } else if (parts_master(c) != NULL) {
    row_real(j, "communication steps", cpl_component_counter(c, "communication_steps"));
    row_real(j, "repeated steps", cpl_component_counter(c, "repeated_steps"));
    row_real(j, "loop iterations", cpl_component_counter(c, "loop_iterations"));
  } else {
    row_real(j, "communication steps", (double)f->stats->communication_steps);
    row_real(j, "refused steps", (double)f->stats->refused_steps);
  }
  end_rows(j);
}

static void write_warnings(cpli_json* j) {
  begin_rows(j, "Warnings", NULL);
  for (size_t i = 0; cli_kept_log(i) != NULL; i++) {
    cpli_json_array(j, NULL);
    cpli_json_text(j, NULL, cli_kept_log(i));
    cpli_json_close(j, ']');
  }
  if (cli_kept_log(0) == NULL) row_text(j, "none", "");
  end_rows(j);
}

char* report_make(const run_facts* f) {
  char* text = NULL;
  size_t size = 0;
  FILE* out = open_memstream(&text, &size);
  if (out == NULL) return NULL;
  cpli_json j;
  cpli_json_begin(&j, out);
  j.one_line = 3;
  cpli_json_array(&j, NULL);
  write_run(&j, f);
  write_repeat(&j);
  write_models(&j, f);
  write_times(&j, f);
  write_parameters(&j, f);
  write_solver(&j, f);
  write_warnings(&j);
  cpli_json_close(&j, ']');
  cpli_json_end(&j);
  fclose(out);
  return text;
}

//------------------------------------ the page ------------------------------------

// The descriptions of columns are not in the file.
static void describe(const cpl_description* d, const cpl_table* t, const char** units,
                     const char** texts) {
  for (size_t i = 0; i < t->n_columns; i++) {
    const int32_t k = cpl_find_variable(d, t->names[i]);
    units[i] = t->units != NULL ? t->units[i] : NULL;
    if (k < 0) continue;
    texts[i] = d->vars[k].description;
    if (units[i] == NULL && d->vars[k].unit >= 0) units[i] = d->units[d->vars[k].unit].name;
  }
}

cpl_status report_view(const run_facts* f, FILE* out, bool say, bool open, char* page,
                       size_t page_size) {
  cpl_table* table = NULL;
  char* report = NULL;
  const char** words = NULL;
  cpl_status st = cpl_results_read(f->ctx, f->result, &table);
  if (st < 0) return st;
  report = report_make(f);
  words = calloc(2 * table->n_columns + 1, sizeof *words);
  if (report == NULL || words == NULL) {
    st = cpl_fail(f->ctx, CPL_ERR_NOMEM, "out of memory");
    goto done;
  }
  describe(f->source->desc, table, words, words + table->n_columns);
  cpl_table described = *table;
  described.units = words;
  const char* slash = strrchr(f->result, '/');
  cli_page_name(f->result, page, page_size);
  cpl_view_def def = cpl_default_view_def();
  def.path = page;
  def.title = f->source->desc->name;
  def.name = slash != NULL ? slash + 1 : f->result;
  def.texts = words + table->n_columns;
  def.report = report;
  st = cpl_view_write(f->ctx, &described, &def);
  if (st >= 0 && say) {
    cli_print_safe(out, page);
    fputc('\n', out);
  }
  if (st >= 0 && open && isatty(fileno(out)) && cli_has_desktop()) cli_open_page(page);
done:
  cpl_table_destroy(table);
  free(words);
  free(report);
  return st;
}
