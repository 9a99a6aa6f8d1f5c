// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Opens the file of a search, checks what is varied, and runs trials.
#include "fit/trials.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "couplet/component.h"
#include "format/number.h"
#include "model/description.h"
#include "model/start.h"
#include "model/units.h"
#include "system/definition.h"

static const double tight = 1e-9;  // tolerances that nobody has given

//------------------------------------ what is varied ------------------------------------

static cpl_status cannot_vary(const cpli_trials* t, const char* name, const char* why) {
  return cpl_fail_in(t->ctx, CPL_ERR_INPUT, cpli_trials_desc(t)->name, name, NAN,
                     "%s cannot vary: %s", name, why);
}

static cpl_status check_target(const cpli_trials* t, const cpl_variable* v) {
  if (v->type != CPL_REAL) return cannot_vary(t, v->name, "it is no Real");
  if (v->structural)
    return cannot_vary(t, v->name,
                       "it is fixed when the file is opened (sizes of arrays, delays, steps)");
  if (t->settings.table != NULL && cpl_table_find(t->settings.table, v->name) >= 0)
    return cannot_vary(t, v->name, "the table of inputs drives it");
  const char* why = cpli_not_settable(v);
  return why == NULL ? CPL_OK : cannot_vary(t, v->name, why);
}

static cpl_status convert(const cpli_trials* t, const cpl_variable* v, const cpl_vary* vary,
                          cpl_varied* out) {
  cpli_conversion how;
  if (vary->unit == NULL) return CPL_OK;
  if (v->unit < 0)
    return cannot_vary(t, v->name, "it has no unit, and its values are given with one");
  const cpli_unit_relation found =
      cpli_relate_to_variable(cpli_trials_desc(t), v, vary->unit, &how);
  if (found == CPLI_UNITS_SAME) return CPL_OK;
  if (found != CPLI_UNITS_CONVERT)
    return cpl_fail_in(t->ctx, CPL_ERR_INPUT, cpli_trials_desc(t)->name, v->name, NAN,
                       "%s cannot vary in \"%s\": its unit is %s", v->name, vary->unit, out->unit);
  double* values[] = {&out->guess, &out->least, &out->greatest};
  for (size_t i = 0; i < CPLI_COUNT(values); i++)
    if (isfinite(*values[i])) *values[i] = cpli_convert(&how, *values[i]);
  return CPL_OK;
}

static cpl_status check_bounds(const cpli_trials* t, const cpl_variable* v, cpl_varied* out) {
  out->least = fmax(out->least, v->min);
  out->greatest = fmin(out->greatest, v->max);
  if (out->least < out->greatest) return CPL_OK;
  char least[CPLI_NUMBER_SIZE], greatest[CPLI_NUMBER_SIZE], text[160];
  cpli_format_double(least, out->least);
  cpli_format_double(greatest, out->greatest);
  snprintf(text, sizeof text, "its least value %s is not below its greatest value %s", least,
           greatest);
  return cannot_vary(t, v->name, text);
}

static cpl_status add(cpli_trials* t, const cpl_vary* vary) {
  cpl_varied* out = &t->list[t->n];
  const cpl_description* d = cpli_trials_desc(t);
  int32_t index = -1;
  cpl_status st = cpl_require_variable(t->ctx, d, vary->name, &index);
  if (st < 0) return st;
  const cpl_variable* v = &d->vars[index];
  for (size_t i = 0; i < t->n; i++)
    if (strcmp(t->list[i].name, v->name) == 0) return cannot_vary(t, v->name, "it is named twice");
  for (size_t i = 0; i < t->settings.n_starts; i++)
    if (strcmp(t->settings.starts[i].name, v->name) == 0)
      return cannot_vary(t, v->name, "it is set to a value");
  *out = (cpl_varied){.name = v->name,
                      .unit = v->unit >= 0 ? d->units[v->unit].name : "",
                      .value = vary->guess,
                      .guess = vary->guess,
                      .least = vary->least,
                      .greatest = vary->greatest,
                      .deviation = NAN,
                      .low = NAN,
                      .high = NAN};
  st = check_target(t, v);
  if (st >= 0) st = convert(t, v, vary, out);
  if (st >= 0) st = check_bounds(t, v, out);
  t->n += st >= 0;
  return st;
}

//------------------------------------ life ------------------------------------

static double tighter(double wanted, double file) {
  if (!isnan(wanted)) return wanted;
  return file > 0 && file < tight ? file : tight;
}

// The runs of a search have tolerances of their own.
static void take_tolerances(cpli_trials* t) {
  const cpl_system_def* def = cpl_system_definition(t->source);
  const cpl_experiment_def file =
      def != NULL ? cpl_system_def_experiment(def) : cpl_default_experiment_def();
  t->experiment.rtol = tighter(t->experiment.rtol, file.rtol);
  t->experiment.atol = tighter(t->experiment.atol, file.atol);
  t->settings.experiment = &t->experiment;
}

static cpl_status open_file(cpli_trials* t, const cpl_experiment_settings* settings) {
  cpl_status st =
      cpli_read_def(t->ctx, "cpl_experiment_settings", settings, &t->settings, sizeof t->settings);
  t->experiment = cpl_default_experiment_def();
  if (st >= 0 && t->settings.experiment != NULL)
    st = cpli_read_def(t->ctx, "cpl_experiment_def", t->settings.experiment, &t->experiment,
                       sizeof t->experiment);
  if (st < 0) return st;
  t->settings.record = NULL, t->settings.n_record = 0;
  t->settings.on_model = NULL, t->settings.serve = NULL, t->settings.processes = false;
  t->settings.sensitivity = NULL;
  st = cpl_experiment_create(t->ctx, &t->settings, &t->opener);
  if (st < 0) return st;
  t->source = cpl_experiment_source(t->opener);
  const cpl_run_def* run = cpl_experiment_run_def(t->opener);
  t->start = run->start_time, t->stop = run->stop_time;
  t->settings.source = t->source;
  take_tolerances(t);
  if (isfinite(t->stop)) return CPL_OK;
  return cpl_fail(t->ctx, CPL_ERR_INPUT, "the runs go from %g to %g: they need an end", t->start,
                  t->stop);
}

cpl_status cpli_trials_open(cpli_trials* t, cpl_context* ctx,
                            const cpl_experiment_settings* settings, int32_t max_runs) {
  *t = (cpli_trials){.ctx = ctx,
                     .settings = cpl_default_experiment_settings(),
                     .max_runs = max_runs > 0 ? max_runs : 10000};
  return open_file(t, settings);
}

// The place of a failure, where the file says that this parameter varies.
static cpl_status in_file(const cpli_trials* t, cpl_status st, size_t i) {
  if (st >= 0 || t->of_file == NULL) return st;
  return cpli_fail_prefix_at(t->ctx, st, &t->of_file[i].name.loc, "fit: vary");
}

cpl_status cpli_trials_vary(cpli_trials* t, const cpl_vary* vary, size_t n_vary,
                            const cpli_setting* of_file) {
  cpl_context* ctx = t->ctx;
  cpl_status st = CPL_OK;
  if (n_vary == 0) return cpl_fail(ctx, CPL_ERR_INPUT, "no parameter varies: say which (--vary)");
  t->of_file = of_file;
  t->list = cpli_alloc(ctx, n_vary, sizeof *t->list);
  t->texts = cpli_alloc(ctx, n_vary, sizeof *t->texts);
  if (t->list == NULL || t->texts == NULL) return cpli_nomem(ctx);
  for (size_t i = 0; i < n_vary && st >= 0; i++) st = in_file(t, add(t, &vary[i]), i);
  return st;
}

void cpli_trials_free(cpli_trials* t) {
  cpl_experiment_destroy(t->opener);
  if (t->ctx == NULL) return;
  cpli_free(t->ctx, t->list);
  cpli_free(t->ctx, t->starts);
  cpli_free(t->ctx, t->texts);
  cpli_free(t->ctx, t->failure);
}

//------------------------------------ trials ------------------------------------

// Nullable: values
static cpl_status list_starts(cpli_trials* t, const cpli_trial_def* def, const double* values,
                              cpl_experiment_settings* out) {
  const size_t most = t->settings.n_starts + def->n_starts + t->n;
  size_t n = 0;
  cpl_start* starts = cpli_realloc(t->ctx, t->starts, most, sizeof *starts);
  if (starts == NULL) return cpli_nomem(t->ctx);
  t->starts = starts;
  for (size_t i = 0; i < t->settings.n_starts; i++) t->starts[n++] = t->settings.starts[i];
  for (size_t i = 0; i < def->n_starts; i++) t->starts[n++] = def->starts[i];
  for (size_t i = 0; i < t->n && values != NULL; i++) {
    cpli_format_double(t->texts[i], values[i]);
    t->starts[n++] = (cpl_start){t->list[i].name, t->texts[i]};
  }
  out->starts = starts, out->n_starts = n;
  return CPL_OK;
}

static cpl_status ignore_row(void* user, double t, const cpl_value* values) {
  (void)user, (void)t, (void)values;
  return CPL_OK;
}

static cpl_status make(cpli_trials* t, const cpli_trial_def* def, const double* values,
                       cpl_experiment** e, cpl_simulation** sim) {
  cpl_experiment_settings settings = t->settings;
  cpl_status st = list_starts(t, def, values, &settings);
  if (def->n_inputs > 0) settings.inputs = def->inputs, settings.n_inputs = def->n_inputs;
  settings.sensitivity = def->sensitivity;
  if (st >= 0) st = cpl_experiment_create(t->ctx, &settings, e);
  if (st >= 0) st = cpl_experiment_prepare(*e);
  if (st < 0) return st;
  cpl_run_def* run = cpl_experiment_run_def(*e);
  run->on_point = ignore_row;
  if (def->set_run != NULL) def->set_run(def->user, *e, run);
  return cpl_simulation_create(cpl_experiment_stepper(*e), run, sim);
}

bool cpli_trial_may_fail(cpl_status st) {
  return st != CPL_ERR_CANCELLED && st != CPL_ERR_NOMEM && st != CPL_ERR_UNSUPPORTED &&
         st != CPL_ERR_IO;
}

cpl_status cpli_trial_failed(cpli_trials* t, const char* why) {
  t->failed++;
  if (t->failure == NULL) t->failure = cpli_strdup(t->ctx, why);
  return t->failure != NULL ? CPL_RETRY : cpli_nomem(t->ctx);
}

cpl_status cpli_trial_run(cpli_trials* t, const cpli_trial_def* def, const double* values,
                          bool quiet) {
  cpl_experiment* e = NULL;
  cpl_simulation* sim = NULL;
  cpli_log_mute(t->ctx, quiet);
  cpl_status st = make(t, def, values, &e, &sim);
  if (st >= 0) st = def->simulate(def->user, e, sim);
  cpl_simulation_destroy(sim);
  cpl_experiment_destroy(e);
  cpli_log_mute(t->ctx, false);
  return st < 0 ? st : CPL_OK;
}

cpl_status cpli_trial_probe(cpli_trials* t, const cpli_trial_def* def, bool* can) {
  cpl_experiment* e = NULL;
  cpl_simulation* sim = NULL;
  cpli_log_mute(t->ctx, true);
  const cpl_status st = make(t, def, NULL, &e, &sim);
  cpl_simulation_destroy(sim);
  cpl_experiment_destroy(e);
  cpli_log_mute(t->ctx, false);
  *can = st >= 0;
  if (st >= 0 || st == CPL_ERR_NOMEM || st == CPL_ERR_CANCELLED) return st;
  cpl_log(t->ctx, CPL_LOG_INFO, "",
          "derivatives are differences, since sensitivities are not "
          "available: %s",
          cpl_context_error(t->ctx));
  return CPL_OK;
}

//------------------------------------ guesses ------------------------------------

static cpl_status check_guess(const cpli_trials* t, const cpl_varied* v) {
  char text[200], guess[CPLI_NUMBER_SIZE], bound[CPLI_NUMBER_SIZE];
  const bool low = v->guess < v->least;
  if (!isfinite(v->guess)) return cannot_vary(t, v->name, "it has no finite value to begin with");
  if (!low && v->guess <= v->greatest) return CPL_OK;
  cpli_format_double(guess, v->guess);
  cpli_format_double(bound, low ? v->least : v->greatest);
  snprintf(text, sizeof text, "its guess %s is %s %s", guess,
           low ? "below its least value" : "above its greatest value", bound);
  return cannot_vary(t, v->name, text);
}

bool cpli_trials_need_guesses(const cpli_trials* t) {
  for (size_t i = 0; i < t->n; i++)
    if (isnan(t->list[i].guess)) return true;
  return false;
}

// The values that they have after the initialisation: FMUs need not know them before.
cpl_status cpli_trials_find_guesses(cpli_trials* t, const cpli_trial_def* def, double* out) {
  cpl_experiment* e = NULL;
  cpl_simulation* sim = NULL;
  cpl_status st = make(t, def, NULL, &e, &sim);
  if (st >= 0) st = cpl_simulation_start(sim);
  for (size_t i = 0; i < t->n && st >= 0; i++)
    st = cpl_simulation_get(sim, t->list[i].name, &out[i]);
  cpl_simulation_destroy(sim);
  cpl_experiment_destroy(e);
  return st;
}

cpl_status cpli_trials_take_guesses(cpli_trials* t, const double* found) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < t->n && st >= 0; i++) {
    if (isnan(t->list[i].guess)) t->list[i].guess = found[i];
    t->list[i].value = t->list[i].guess;
    st = in_file(t, check_guess(t, &t->list[i]), i);
  }
  return st;
}
