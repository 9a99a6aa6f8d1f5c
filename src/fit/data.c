// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads measurements, finds what their columns are, and takes the values of variables from a run.
#include "fit/data.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "couplet/component.h"
#include "format/number.h"
#include "format/source_loc.h"
#include "model/start.h"
#include "model/table.h"

//------------------------------------ what a column is ------------------------------------

static cpl_status column_fails(const cpli_data* d, size_t c, const char* why) {
  char text[512];
  return cpl_fail(d->ctx, CPL_ERR_INPUT, "%s: %s", cpli_column_text(d->table, c, text, sizeof text),
                  why);
}

// A name that itself ends in brackets looks like a name with a unit: the whole text is tried first.
static int32_t find_variable(const cpl_description* desc, const cpl_table* t, size_t c) {
  char heading[1024];
  const char* unit = t->units != NULL ? t->units[c] : NULL;
  int n = unit != NULL ? snprintf(heading, sizeof heading, "%s [%s]", t->names[c], unit) : -1;
  const int32_t var = n > 0 && (size_t)n < sizeof heading ? cpl_find_variable(desc, heading) : -1;
  return var >= 0 ? var : cpl_find_variable(desc, t->names[c]);
}

// sigma(NAME): the column NAME that it belongs to; -1: it is no such name.
static ptrdiff_t column_of_sigma(const cpl_table* t, const char* name) {
  const size_t n = strlen(name);
  if (strncmp(name, "sigma(", 6) != 0 || name[n - 1] != ')') return -1;
  for (size_t c = 0; c < t->n_columns; c++)
    if (strlen(t->names[c]) == n - 7 && strncmp(t->names[c], name + 6, n - 7) == 0)
      return (ptrdiff_t)c;
  return -1;
}

static ptrdiff_t sigma_of_column(const cpl_table* t, size_t c) {
  for (size_t i = 0; i < t->n_columns; i++)
    if (column_of_sigma(t, t->names[i]) == (ptrdiff_t)c) return (ptrdiff_t)i;
  return -1;
}

static bool is_constant(const cpli_data* d, size_t c) {
  const double* values = d->table->values + c * d->n_rows;
  for (size_t i = 1; i < d->n_rows; i++)
    if (values[i] != values[0]) return false;
  return true;
}

static cpl_status convert_column(const cpli_data* d, const cpl_description* desc, size_t c,
                                 const char* unit, const cpl_variable* v, double** out) {
  cpli_conversion how;
  bool convert = false;
  cpl_status st = cpli_column_conversion(d->ctx, d->table, c, unit, desc, v, &how, &convert);
  double* values = *out = cpli_alloc(d->ctx, d->n_rows, sizeof *values);
  if (st >= 0 && values == NULL) st = cpli_nomem(d->ctx);
  const double* from = d->table->values + c * d->n_rows;
  for (size_t i = 0; i < d->n_rows && st >= 0; i++)
    values[i] = convert ? cpli_convert(&how, from[i]) : from[i];
  return st;
}

// Standard deviations are differences, in the unit of the column that they belong to unless they
// have their own.
static cpl_status take_sigma(cpli_data* d, const cpl_description* desc, size_t c,
                             cpli_measured* m) {
  const ptrdiff_t at = sigma_of_column(d->table, c);
  if (at < 0) return CPL_OK;
  cpl_variable difference = *m->v;
  difference.relative_quantity = true;
  const char* unit = d->table->units != NULL ? d->table->units[at] : NULL;
  if (unit == NULL) unit = cpli_column_unit(d->table, c, m->v->name);
  cpl_status st = convert_column(d, desc, (size_t)at, unit, &difference, &m->sigma);
  for (size_t i = 0; i < d->n_rows && st >= 0; i++)
    if (!(m->sigma[i] > 0 && isfinite(m->sigma[i])))
      st = column_fails(d, (size_t)at, "standard deviations must be positive");
  return st;
}

static void remove_column(cpli_data* d, size_t i) {
  cpli_measured* m = &d->columns[i];
  cpli_free(d->ctx, m->values);
  cpli_free(d->ctx, m->sigma);
  d->n_columns--;
  memmove(m, m + 1, (d->n_columns - i) * sizeof *m);
  d->columns[d->n_columns] = (cpli_measured){0};
}

static const cpl_variable* first_alias(const cpl_description* desc, const cpl_variable* v) {
  return v->alias_of >= 0 ? &desc->vars[v->alias_of] : v;
}

// The last column, which has another name of a variable that has a column already.
static cpl_status take_alias(cpli_data* d, const cpli_measured* first) {
  const cpli_measured* m = &d->columns[d->n_columns - 1];
  for (size_t i = 0; i < d->n_rows; i++) {
    const double a = first->values[i], b = m->values[i];
    if (fabs(a - b) <= 1e-12 * fmax(fabs(a), fabs(b))) continue;
    return cpl_fail(d->ctx, CPL_ERR_INPUT,
                    "%s: %s and %s are names of one variable, and differ at t=%.12g: %.12g and "
                    "%.12g; measurements by two instruments are two data sets",
                    d->name, first->v->name, m->v->name, d->table->time[i], a, b);
  }
  cpl_log(d->ctx, CPL_LOG_WARNING, "",
          "%s: %s and %s are names of one variable: its values count once", d->name, first->v->name,
          m->v->name);
  remove_column(d, d->n_columns - 1);
  return CPL_OK;
}

// Of what does not change during a run, many equal rows are no independent measurements.
static bool is_repeated(const cpli_data* d, size_t c, const cpl_variable* v) {
  const bool fixed = v->variability == CPL_VARIABILITY_CONSTANT ||
                     v->variability == CPL_VARIABILITY_FIXED ||
                     v->causality == CPL_CAUSALITY_CALCULATED_PARAMETER;
  return fixed && d->n_rows > 1 && is_constant(d, c);
}

static cpl_status compare(cpli_data* d, const cpl_description* desc, size_t c,
                          const cpl_variable* v) {
  const cpli_measured* same = NULL;
  cpli_measured* m = &d->columns[d->n_columns];
  if (v->type == CPL_STRING || v->type == CPL_BINARY)
    return column_fails(d, c, "it cannot be compared: the variable is no number");
  for (size_t i = 0; i < d->n_columns; i++) {
    if (d->columns[i].v == v) return column_fails(d, c, "the variable has another column");
    if (first_alias(desc, d->columns[i].v) == first_alias(desc, v)) same = &d->columns[i];
  }
  if (is_repeated(d, c, v)) {
    cpl_log(d->ctx, CPL_LOG_WARNING, "",
            "%s: %s does not change during a run, and its rows are no independent measurements: "
            "the column does not count",
            d->name, v->name);
    return CPL_OK;
  }
  d->n_columns++;
  m->v = v;
  m->unit = v->unit >= 0 ? desc->units[v->unit].name : "";
  m->deviation = NAN;
  cpl_status st = convert_column(d, desc, c, cpli_column_unit(d->table, c, v->name), v, &m->values);
  if (st >= 0) st = take_sigma(d, desc, c, m);
  return st >= 0 && same != NULL ? take_alias(d, same) : st;
}

static cpl_status set_parameter(cpli_data* d, const cpl_description* desc, size_t c,
                                const cpl_variable* v) {
  double* values = NULL;
  if (!is_constant(d, c))
    return column_fails(d, c, "the parameter is fixed during a run: all rows have the same value");
  cpl_status st = convert_column(d, desc, c, cpli_column_unit(d->table, c, v->name), v, &values);
  if (st >= 0) {
    cpli_format_double(d->texts[d->n_starts], values[0]);
    d->starts[d->n_starts] = (cpl_start){v->name, d->texts[d->n_starts]};
    d->n_starts++;
  }
  cpli_free(d->ctx, values);
  return st;
}

static cpl_status drive(cpli_data* d, const cpli_trials* trials, size_t c, const cpl_variable* v) {
  const cpl_table* t = trials->settings.table;
  if (t != NULL && cpl_table_find(t, v->name) >= 0)
    return column_fails(d, c, "the table of inputs drives it, too");
  d->inputs[d->n_inputs++] = (cpl_input){.name = v->name, .table = d->table, .column = c};
  return CPL_OK;
}

static cpl_status take_column(cpli_data* d, const cpli_trials* trials, size_t c, bool ignore) {
  const cpl_description* desc = cpli_trials_desc(trials);
  if (column_of_sigma(d->table, d->table->names[c]) >= 0) return CPL_OK;
  const int32_t index = find_variable(desc, d->table, c);
  if (index < 0) {
    if (ignore) return CPL_OK;
    cpl_status st = cpl_require_variable(d->ctx, desc, d->table->names[c], &(int32_t){0});
    return cpl_fail_prefix(d->ctx, st, "%s", d->name);
  }
  const cpl_variable* v = &desc->vars[index];
  for (size_t i = 0; i < trials->n; i++)
    if (strcmp(trials->list[i].name, v->name) == 0 &&
        (v->causality == CPL_CAUSALITY_PARAMETER || v->causality == CPL_CAUSALITY_INPUT))
      return column_fails(d, c, "it is varied, and cannot be given by the data");
  if (v->causality == CPL_CAUSALITY_INPUT) return drive(d, trials, c, v);
  if (v->causality != CPL_CAUSALITY_PARAMETER) return compare(d, desc, c, v);
  const bool tunable = v->variability == CPL_VARIABILITY_TUNABLE && !is_constant(d, c);
  return tunable ? drive(d, trials, c, v) : set_parameter(d, desc, c, v);
}

//------------------------------------ reading ------------------------------------

static cpl_status take_table(cpli_data* d, const cpl_fit_data* data) {
  cpl_status st = CPL_OK;
  d->table = data->table;
  if (d->table == NULL) st = cpl_input_table_read(d->ctx, data->path, &d->owned);
  else st = cpl_table_check(d->ctx, d->table, d->name);
  if (st < 0) return st;
  if (d->table == NULL) d->table = d->owned;
  d->n_rows = d->table->n_rows;
  return CPL_OK;
}

static cpl_status check_times(const cpli_data* d, const cpli_trials* t) {
  const double *time = d->table->time, rounding = 1e-9 * (t->stop - t->start);
  for (size_t i = 0; i < d->n_rows; i++)
    if (time[i] < t->start - rounding || time[i] > t->stop + rounding)
      return cpl_fail(d->ctx, CPL_ERR_INPUT,
                      "%s: the data at t=%.12g are outside of the run, which goes from %.12g to "
                      "%.12g (--start, --stop)",
                      d->name, time[i], t->start, t->stop);
  return CPL_OK;
}

static bool allocate(cpli_data* d, const cpli_trials* trials, const cpl_fit_data* data) {
  const size_t n = d->table->n_columns;
  d->columns = cpli_alloc(d->ctx, n, sizeof *d->columns);
  d->starts = cpli_alloc(d->ctx, n + data->n_starts, sizeof *d->starts);
  d->texts = cpli_alloc(d->ctx, n + data->n_starts, sizeof *d->texts);
  d->inputs = cpli_alloc(d->ctx, n + trials->settings.n_inputs, sizeof *d->inputs);
  const size_t all = n * (1 + trials->n);
  d->record = cpli_alloc(d->ctx, all, sizeof *d->record);
  d->pairs = cpli_alloc(d->ctx, all, sizeof *d->pairs);
  d->varied = cpli_alloc(d->ctx, trials->n, sizeof *d->varied);
  d->sizes = cpli_alloc(d->ctx, trials->n, sizeof *d->sizes);
  d->last = cpli_alloc(d->ctx, all, sizeof *d->last);
  d->recorded = cpli_alloc(d->ctx, all, sizeof *d->recorded);
  d->values = cpli_alloc(d->ctx, all * d->n_rows, sizeof *d->values);
  return d->columns != NULL && d->starts != NULL && d->texts != NULL && d->inputs != NULL &&
         d->record != NULL && d->pairs != NULL && d->varied != NULL && d->sizes != NULL &&
         d->last != NULL && d->recorded != NULL && d->values != NULL;
}

static cpl_status check_starts(const cpli_data* d, const cpli_trials* trials) {
  for (size_t i = 0; i < d->n_starts; i++)
    for (size_t k = 0; k < trials->n; k++)
      if (strcmp(d->starts[i].name, trials->list[k].name) == 0)
        return cpl_fail(d->ctx, CPL_ERR_INPUT,
                        "%s: %s is varied, and cannot be set for one data set", d->name,
                        d->starts[i].name);
  return CPL_OK;
}

// What is recorded: the columns, and dy/dk, with k running fastest.
static cpl_status name_record(cpli_data* d, const cpli_trials* trials) {
  for (size_t i = 0; i < d->n_pairs; i++) cpli_free(d->ctx, d->pairs[i]);
  d->n_pairs = 0;
  for (size_t i = 0; i < d->n_columns; i++) d->record[i] = d->columns[i].v->name;
  d->n_vary = trials->n;
  for (size_t j = 0; j < d->n_vary; j++) d->varied[j] = trials->list[j].name;
  for (size_t i = 0; i < d->n_columns * d->n_vary; i++) {
    const char *y = d->record[i / d->n_vary], *k = d->varied[i % d->n_vary];
    d->pairs[i] = cpli_printf(d->ctx, "d%s/d%s", y, k);
    if (d->pairs[i] == NULL) return cpli_nomem(d->ctx);
    d->n_pairs++;
    d->record[d->n_columns + i] = d->pairs[i];
  }
  d->sensitivity = cpl_default_sensitivity_def();
  d->sensitivity.of = d->record, d->sensitivity.n_of = d->n_columns;
  d->sensitivity.to = d->varied, d->sensitivity.n_to = d->n_vary;
  d->sensitivity.sizes = d->sizes;
  return CPL_OK;
}

cpl_status cpli_data_open(cpli_data* d, const cpli_trials* trials, const cpl_fit_def* def,
                          const cpl_fit_data* data) {
  *d = (cpli_data){.ctx = trials->ctx, .weight = data->weight > 0 ? data->weight : 1};
  d->name = data->path != NULL ? data->path : "data";
  if (data->path == NULL && data->table == NULL)
    return cpl_fail(d->ctx, CPL_ERR_INPUT, "data: neither a file nor a table");
  if (!(data->weight >= 0 && isfinite(data->weight)))
    return cpl_fail(d->ctx, CPL_ERR_INPUT, "%s: its weight is %g, not positive", d->name,
                    data->weight);
  cpl_status st = take_table(d, data);
  if (st >= 0) st = check_times(d, trials);
  if (st >= 0 && !allocate(d, trials, data)) st = cpli_nomem(d->ctx);
  if (st < 0) return st;
  for (size_t i = 0; i < data->n_starts; i++) d->starts[d->n_starts++] = data->starts[i];
  for (size_t i = 0; i < trials->settings.n_inputs; i++)
    d->inputs[d->n_inputs++] = trials->settings.inputs[i];
  for (size_t c = 0; c < d->table->n_columns && st >= 0; c++)
    st = take_column(d, trials, c, def->ignore_extra);
  if (st >= 0) st = check_starts(d, trials);
  if (st >= 0 && d->n_columns == 0)
    st = cpl_fail(d->ctx, CPL_ERR_INPUT, "%s: no column is a variable that can be compared",
                  d->name);
  return st < 0 ? st : name_record(d, trials);
}

bool cpli_data_same(const cpli_data* a, const cpli_data* b) {
  const cpl_table *x = a->table, *y = b->table;
  if (x->n_rows != y->n_rows || x->n_columns != y->n_columns || a->n_starts != b->n_starts ||
      memcmp(x->time, y->time, x->n_rows * sizeof *x->time) != 0 ||
      memcmp(x->values, y->values, x->n_rows * x->n_columns * sizeof *x->values) != 0)
    return false;
  for (size_t c = 0; c < x->n_columns; c++)
    if (strcmp(x->names[c], y->names[c]) != 0) return false;
  for (size_t i = 0; i < a->n_starts; i++)
    if (strcmp(a->starts[i].name, b->starts[i].name) != 0 ||
        strcmp(a->starts[i].value, b->starts[i].value) != 0)
      return false;
  return true;
}

cpl_status cpli_data_leave_out(cpli_data* d, const cpli_trials* trials, size_t column) {
  remove_column(d, column);
  return name_record(d, trials);
}

void cpli_data_free(cpli_data* d) {
  if (d->ctx == NULL) return;
  for (size_t i = 0; i < d->n_columns; i++) {
    cpli_free(d->ctx, d->columns[i].values);
    cpli_free(d->ctx, d->columns[i].sigma);
  }
  for (size_t i = 0; i < d->n_pairs; i++) cpli_free(d->ctx, d->pairs[i]);
  cpli_free(d->ctx, d->pairs);
  cpli_free(d->ctx, d->varied);
  cpli_free(d->ctx, d->sizes);
  cpl_table_destroy(d->owned);
  cpli_free(d->ctx, d->columns);
  cpli_free(d->ctx, d->starts);
  cpli_free(d->ctx, d->texts);
  cpli_free(d->ctx, d->inputs);
  cpli_free(d->ctx, d->record);
  cpli_free(d->ctx, d->last);
  cpli_free(d->ctx, d->recorded);
  cpli_free(d->ctx, d->values);
}

//------------------------------------ values of a run ------------------------------------

// The number of recorded curves.
static size_t count_curves(const cpli_data* d) {
  return d->n_columns + (d->derive ? d->n_pairs : 0);
}

static bool is_held(const cpli_data* d, size_t k) {
  const cpl_variable* v = d->columns[k < d->n_columns ? k : (k - d->n_columns) / d->n_vary].v;
  return v->type != CPL_REAL || v->variability == CPL_VARIABILITY_DISCRETE;
}

bool cpli_data_can_derive(const cpli_data* d) {
  for (size_t k = 0; k < d->n_columns; k++)
    if (d->columns[k].v->type != CPL_REAL) return false;
  return true;
}

static double number(const cpli_data* d, size_t k, const cpl_value* row) {
  const int32_t c = d->recorded[k];
  return cpli_column_number(&d->sim->recorder.columns[c], row[c]);
}

// Of rows with the same time, all but the last are the values before an event.
static bool is_left(const cpli_data* d, size_t i) {
  return i + 1 < d->n_rows && d->table->time[i + 1] == d->table->time[i];
}

// Rows up to t, on the line between the last point and this one. Behind an event, those at its time
// are replaced.
static cpl_status take_point(void* user, double t, const cpl_value* row) {
  cpli_data* d = user;
  const double* time = d->table->time;
  size_t first = d->next;
  const bool again = d->next > 0 && t == d->last_t;
  while (again && first > 0 && time[first - 1] == t && !is_left(d, first - 1)) first--;
  while (d->next < d->n_rows && time[d->next] <= t) d->next++;
  for (size_t k = 0; k < count_curves(d); k++) {
    const double now = number(d, k, row), before = d->last[k];
    const bool held = is_held(d, k);
    for (size_t i = first; i < d->next; i++) {
      const bool here = !(time[i] < t) || !isfinite(d->last_t) || !(d->last_t < t);
      const double part = here ? 1 : (time[i] - d->last_t) / (t - d->last_t);
      d->values[k * d->n_rows + i] = here                ? now
                                     : held || part <= 0 ? before
                                                         : before + part * (now - before);
    }
    d->last[k] = now;
  }
  d->last_t = t;
  return CPL_OK;
}

// With dense output the rows are points of the run: the steps of the solver do not depend on them.
static void set_run(void* user, cpl_experiment* e, cpl_run_def* run) {
  cpli_data* d = user;
  run->record = d->record;
  run->n_record = count_curves(d);
  run->on_columns = NULL;
  run->on_point = take_point;
  run->user = d;
  if (cpl_experiment_stepper(e)->base.can.dense_output)
    run->interval = fmax(run->stop_time - run->start_time, run->interval);
  d->next = 0;
  d->last_t = -INFINITY;
}

static cpl_status find_columns(cpli_data* d, cpl_simulation* sim) {
  const cpli_recorder* r = &sim->recorder;
  d->sim = sim;
  for (size_t k = 0; k < count_curves(d); k++) {
    size_t c = 0;
    while (c < r->n && strcmp(r->columns[c].name, d->record[k]) != 0) c++;
    if (c == r->n) return cpl_fail(d->ctx, CPL_ERR_INPUT, "%s is not recorded", d->record[k]);
    d->recorded[k] = (int32_t)c;
  }
  return CPL_OK;
}

// Rows that are later than the end of the run by rounding have the last values.
static void complete(cpli_data* d) {
  for (; d->next < d->n_rows; d->next++)
    for (size_t k = 0; k < count_curves(d); k++) d->values[k * d->n_rows + d->next] = d->last[k];
}

// Where output points cannot be chosen freely, rows are interpolated between those of the run.
static cpl_status simulate(void* user, cpl_experiment* e, cpl_simulation* sim) {
  cpli_data* d = user;
  const double* time = d->table->time;
  const double stop = cpl_experiment_run_def(e)->stop_time;
  cpl_status st = find_columns(d, sim);
  if (st >= 0) st = cpl_simulation_start(sim);
  if (st >= 0 && !sim->dense) st = cpl_simulation_advance(sim, stop);
  while (st >= 0 && st != CPL_TERMINATE && d->next < d->n_rows && cpl_simulation_time(sim) < stop)
    st = cpl_simulation_advance(sim, fmin(time[d->next], stop));
  const double end = cpl_simulation_time(sim);
  if (st >= 0) st = cpl_simulation_finish(sim, NULL);
  if (st >= 0 && d->next < d->n_rows && end < stop)
    return cpl_fail_in(d->ctx, CPL_ERR_MODEL, sim->s->base.name, NULL, end,
                       "the model ended the run at t=%.12g, before the last row of %s", end,
                       d->name);
  if (st >= 0) complete(d);
  return st;
}

cpli_trial_def cpli_data_trial(cpli_data* d, bool derive) {
  d->derive = derive;
  return (cpli_trial_def){.starts = d->starts,
                          .n_starts = d->n_starts,
                          .inputs = d->inputs,
                          .n_inputs = d->n_inputs,
                          .sensitivity = derive ? &d->sensitivity : NULL,
                          .user = d,
                          .set_run = set_run,
                          .simulate = simulate};
}
