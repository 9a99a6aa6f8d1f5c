// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A study from its definition to its files: checks factors, measures and curves before any case
// runs, lets workers run the cases, and writes the results from the journal.
#include "study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "couplet/component.h"
#include "format/source_loc.h"
#include "model/start.h"
#include "study/cluster.h"
#include "study/executor.h"
#include "system/definition.h"

enum { MAX_TIMES = 10000000 };  // points of a curve

void cpl_init_study_def(cpl_study_def* def, size_t size) {
  const cpl_study_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static const cpl_description* desc_of(const cpli_study* s) { return s->source->desc; }

//------------------------------------ times ------------------------------------

static cpl_status take_times(cpli_study* s, cpl_experiment* e) {
  cpli_study_plan* p = &s->plan;
  const cpl_run_def* run = cpl_experiment_run_def(e);
  p->start = run->start_time;
  p->stop = run->stop_time;
  const double span = p->stop - p->start;
  if (!isfinite(span) || span < 0)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "the runs of a study go from %g to %g: they need an end",
                    p->start, p->stop);
  p->interval = run->interval > 0 ? run->interval : span / 500;
  if (s->def.n_curves == 0 || span == 0) return CPL_OK;
  const cpli_grid points = cpli_grid_make(p->start, p->stop, p->interval);
  if (points.last > MAX_TIMES)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "curves of %g points are too long: the interval is %g s",
                    (double)points.last, p->interval);
  p->n_times = (size_t)points.last + 1;
  p->times = cpli_alloc(s->ctx, p->n_times, sizeof *p->times);
  if (p->times == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < p->n_times; i++) p->times[i] = cpli_grid_time(&points, (int64_t)i);
  return CPL_OK;
}

//------------------------------------ factors ------------------------------------

static cpl_status refuse_factor(const cpli_study* s, const cpl_factor* f, const char* why) {
  return cpl_fail_in(s->ctx, CPL_ERR_INPUT, desc_of(s)->name, f->name, NAN, "%s cannot vary: %s",
                     f->name, why);
}

static cpl_status check_target(const cpli_study* s, const cpl_factor* f, const cpl_variable* v) {
  if (v->type == CPL_STRING || v->type == CPL_BINARY || v->type == CPL_CLOCK)
    return refuse_factor(s, f, "it is no number");
  if (v->structural && s->plan.settings.source != NULL)
    return refuse_factor(s, f,
                         "it is fixed when the file is opened (sizes of arrays, delays, steps), "
                         "and the study was given an opened file");
  const char* why = cpli_not_settable(v);
  return why == NULL ? CPL_OK : refuse_factor(s, f, why);
}

static cpl_status convert_factor(cpli_study* s, size_t i, const cpl_factor* f,
                                 const cpl_variable* v) {
  if (f->unit == NULL) return CPL_OK;
  if (v->unit < 0) return refuse_factor(s, f, "it has no unit, and its values are given with one");
  const cpli_unit_relation found =
      cpli_relate_to_variable(desc_of(s), v, f->unit, &s->plan.conversions[i]);
  if (found == CPLI_UNITS_SAME) return CPL_OK;
  s->plan.converted[i] = found == CPLI_UNITS_CONVERT;
  if (s->plan.converted[i]) return CPL_OK;
  return cpl_fail_in(s->ctx, CPL_ERR_INPUT, desc_of(s)->name, f->name, NAN,
                     "%s cannot vary in \"%s\": its unit is %s", f->name, f->unit,
                     desc_of(s)->units[v->unit].name);
}

// A start value of a factor would have no effect.
static cpl_status check_starts(const cpli_study* s, const cpl_factor* f) {
  const cpl_experiment_settings* settings = &s->plan.settings;
  for (size_t i = 0; i < settings->n_starts; i++)
    if (strcmp(settings->starts[i].name, f->name) == 0)
      return cpl_fail(s->ctx, CPL_ERR_INPUT, "%s is varied, and set to %s, too", f->name,
                      settings->starts[i].value);
  return CPL_OK;
}

static cpl_status check_factors(cpli_study* s) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  cpli_study_plan* p = &s->plan;
  p->n_factors = d->n_factors;
  p->conversions = cpli_alloc(s->ctx, d->n_factors, sizeof *p->conversions);
  p->converted = cpli_alloc(s->ctx, d->n_factors, sizeof *p->converted);
  p->fixed = cpli_alloc(s->ctx, d->n_factors, sizeof *p->fixed);
  s->factor_units = cpli_alloc(s->ctx, d->n_factors, sizeof *s->factor_units);
  if (p->conversions == NULL || p->converted == NULL || p->fixed == NULL || s->factor_units == NULL)
    return cpli_nomem(s->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < d->n_factors && st >= 0; i++) {
    int32_t index = -1;
    const cpl_factor* f = &d->factors[i];
    st = cpl_require_variable(s->ctx, desc_of(s), f->name, &index);
    if (st < 0) return st;
    const cpl_variable* v = &desc_of(s)->vars[index];
    st = check_target(s, f, v);
    if (st >= 0) st = check_starts(s, f);
    if (st >= 0) st = convert_factor(s, i, f, v);
    p->fixed[i] = v->structural;
    p->reopens = p->reopens || v->structural;
    const char* unit = v->unit >= 0 ? desc_of(s)->units[v->unit].name : "";
    s->factor_units[i] = cpli_arena_strdup(&s->arena, f->unit != NULL ? f->unit : unit);
    if (st >= 0 && s->factor_units[i] == NULL) st = cpli_nomem(s->ctx);
  }
  return st;
}

//------------------------------------ measures and curves ------------------------------------

// Without measures and curves: the final values of outputs.
static cpl_status default_measures(cpli_study* s) {
  const cpl_description* d = desc_of(s);
  cpl_measure_def* list = cpli_arena_alloc(&s->arena, (size_t)d->n_vars, sizeof *list);
  if (list == NULL) return cpli_nomem(s->ctx);
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (v->causality != CPL_CAUSALITY_OUTPUT || v->type == CPL_STRING || v->type == CPL_BINARY)
      continue;
    char* text = cpli_printf(s->ctx, "final('%s')", v->name);
    char* name = cpli_printf(s->ctx, "final(%s)", v->name);
    cpl_measure_def* m = &list[s->def.n_measures++];
    m->name = name != NULL ? cpli_arena_strdup(&s->arena, name) : NULL;
    m->text = text != NULL ? cpli_arena_strdup(&s->arena, text) : NULL;
    cpli_free(s->ctx, text);
    cpli_free(s->ctx, name);
    if (m->name == NULL || m->text == NULL) return cpli_nomem(s->ctx);
  }
  s->def.measures = list;
  if (s->def.n_measures > 0) return CPL_OK;
  return cpl_fail(s->ctx, CPL_ERR_INPUT,
                  "%s has no outputs: say which measures or curves to record, for example "
                  "final(x)",
                  d->name);
}

// Texts of the file are needed longer than the file.
static cpl_status file_measures(cpli_study* s, const cpl_system_def* def) {
  cpl_measure_def* list = cpli_arena_alloc(&s->arena, def->n_measures, sizeof *list);
  if (list == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < def->n_measures; i++) {
    const cpli_setting* m = &def->measures[i];
    const cpli_source_loc* loc = &m->value.loc;
    list[i] = (cpl_measure_def){
        .name = cpli_arena_strdup(&s->arena, m->name.text),
        .text = cpli_arena_strdup(&s->arena, m->value.text),
        .file = loc->file != NULL ? cpli_arena_strdup(&s->arena, loc->file) : NULL,
        .line = loc->line,
        .column = loc->column};
    if (list[i].name == NULL || list[i].text == NULL) return cpli_nomem(s->ctx);
  }
  s->def.measures = list;
  s->def.n_measures = def->n_measures;
  return CPL_OK;
}

static cpl_status check_curves(cpli_study* s) {
  s->curve_units = cpli_alloc(s->ctx, s->def.n_curves, sizeof *s->curve_units);
  if (s->curve_units == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < s->def.n_curves; i++) {
    int32_t index = -1;
    const char* name = s->def.curves[i];
    cpl_status st = cpl_require_variable(s->ctx, desc_of(s), name, &index);
    if (st < 0) return st;
    const cpl_variable* v = &desc_of(s)->vars[index];
    if (v->type == CPL_STRING || v->type == CPL_BINARY)
      return cpl_fail_in(s->ctx, CPL_ERR_INPUT, desc_of(s)->name, name, NAN,
                         "%s cannot be a curve: it is no number", name);
    for (size_t k = 0; k < i; k++)
      if (strcmp(s->def.curves[k], name) == 0)
        return cpl_fail(s->ctx, CPL_ERR_INPUT, "the curve %s is named twice", name);
    s->curve_units[i] =
        cpli_arena_strdup(&s->arena, v->unit >= 0 ? desc_of(s)->units[v->unit].name : "");
    if (s->curve_units[i] == NULL) return cpli_nomem(s->ctx);
  }
  s->plan.curves = s->def.curves;
  s->plan.n_curves = s->def.n_curves;
  return CPL_OK;
}

// Columns of the files have different names.
static cpl_status check_names(const cpli_study* s) {
  const cpl_design_def* d = cpl_design_definition(s->def.design);
  for (size_t i = 0; i < s->def.n_measures; i++) {
    const char* name = s->def.measures[i].name;
    bool taken = strcmp(name, "failure") == 0;
    for (size_t k = 0; k < d->n_factors; k++)
      taken = taken || strcmp(d->factors[k].name, name) == 0;
    if (taken)
      return cpl_fail(s->ctx, CPL_ERR_INPUT,
                      "the measure %s has the name of another column: give it another one", name);
  }
  return CPL_OK;
}

static cpl_status take_measures(cpli_study* s) {
  const cpl_system_def* def = cpl_system_definition(s->source);
  cpl_status st = CPL_OK;
  if (s->def.n_measures == 0 && def != NULL && def->n_measures > 0) st = file_measures(s, def);
  if (st >= 0 && s->def.n_measures + s->def.n_curves == 0) st = default_measures(s);
  if (st >= 0) st = check_curves(s);
  return st < 0 ? st : check_names(s);
}

//------------------------------------ preparation ------------------------------------

// What can be wrong is found here, before a worker is made.
static cpl_status prepare(cpli_study* s) {
  cpl_experiment* e = NULL;
  cpl_status st = cpl_experiment_create(s->ctx, &s->plan.settings, &e);
  if (st >= 0) {
    s->source = cpl_experiment_source(e);
    st = check_factors(s);
  }
  if (st >= 0) st = take_measures(s);
  if (st >= 0) st = take_times(s, e);
  if (st >= 0)
    st = cpli_measures_parse(s->ctx, s->def.measures, s->def.n_measures, desc_of(s), s->plan.start,
                             s->plan.stop, &s->plan.measures);
  if (st >= 0) st = cpli_study_identify(s);
  if (st >= 0) s->title = cpli_arena_strdup(&s->arena, desc_of(s)->name);
  if (st >= 0 && s->title == NULL) st = cpli_nomem(s->ctx);
  cpl_experiment_destroy(e);
  s->source = NULL;
  return st;
}

static cpl_status take_journal_name(cpli_study* s) {
  if (s->def.journal != NULL) return CPL_OK;
  char* name = cpli_printf(s->ctx, "%s.journal", s->def.outputs[0]);
  s->def.journal = name != NULL ? cpli_arena_strdup(&s->arena, name) : NULL;
  cpli_free(s->ctx, name);
  return s->def.journal != NULL ? CPL_OK : cpli_nomem(s->ctx);
}

// The results of an interrupted study are not overwritten unasked.
static cpl_status check_journal(const cpli_study* s) {
  cpli_journal* j = NULL;
  int64_t done = 0, failed = 0;
  if (s->def.resume || s->def.restart || access(s->def.journal, F_OK) != 0) return CPL_OK;
  cpl_status st = cpli_journal_open_read(s->ctx, s->def.journal, &j);
  if (st < 0) return st;
  st = cpli_journal_count(j, &done, &failed);
  const int64_t n = cpli_journal_about(j)->n;
  cpli_journal_close(j);
  if (st < 0 || done == 0) return st;
  return cpli_fail_file(s->ctx, CPL_ERR_INPUT, s->def.journal,
                        "it has %lld of %lld cases of a study that was interrupted: resume goes on "
                        "with it (--resume), restart begins anew (--restart)",
                        (long long)done, (long long)n);
}

static cpl_status read_def(cpli_study* s, const cpl_study_def* def) {
  cpl_status st = cpli_read_def(s->ctx, "cpl_study_def", def, &s->def, sizeof s->def);
  if (st >= 0)
    st = cpli_read_def(s->ctx, "cpl_experiment_settings", s->def.experiment, &s->plan.settings,
                       sizeof s->plan.settings);
  if (st < 0) return st;
  s->plan.ctx = s->ctx;
  s->plan.design = s->def.design;
  s->plan.settings.record = NULL;
  s->plan.settings.n_record = 0;
  if (s->def.n_outputs == 0 && s->def.journal == NULL)
    return cpl_fail(s->ctx, CPL_ERR_INPUT, "a study needs a file for its results, or a journal");
  for (size_t i = 0; i < s->def.n_outputs; i++) {
    st = cpli_study_check_output(s->ctx, s->def.outputs[i]);
    if (st < 0) return st;
  }
  return take_journal_name(s);
}

//------------------------------------ execution ------------------------------------

static cpl_status open_worker(void* user) {
  cpli_study* s = user;
  return cpli_runner_open(&s->plan, &s->runner);
}

static cpl_status run_case(void* user, int64_t i, double* values, char* failure, size_t size) {
  return cpli_runner_case(((cpli_study*)user)->runner, i, values, failure, size);
}

static void close_worker(void* user) {
  cpli_study* s = user;
  cpli_runner_close(s->runner);
  s->runner = NULL;
}

static cpl_study_progress progress_of(const cpli_progress* p) {
  return (cpl_study_progress){.total = p->total,
                              .done = p->done,
                              .failed = p->failed,
                              .resumed = p->resumed,
                              .repeated = p->repeated,
                              .seconds = p->seconds,
                              .rate = p->rate,
                              .workers = p->workers};
}

static void on_progress(void* user, const cpli_progress* p) {
  const cpli_study* s = user;
  const cpl_study_progress progress = progress_of(p);
  if (s->def.on_progress != NULL) s->def.on_progress(s->def.user, &progress);
}

// Workers tell each other how components can be reused.
static cpl_status share_reuse(cpli_study* s) {
  void* page =
      mmap(NULL, sizeof *s->plan.reuse, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return cpli_nomem(s->ctx);
  s->plan.reuse = page;
  return CPL_OK;
}

static cpl_status execute(cpli_study* s, cpli_cluster* cluster, cpl_study_summary* summary) {
  const cpli_cases cases = {.n = cpl_design_cases(s->def.design),
                            .n_values = cpli_study_values(&s->plan),
                            .identity = s->identity,
                            .user = s,
                            .open = open_worker,
                            .run = run_case,
                            .close = close_worker};
  const cpli_execution how = {.journal_path = s->def.journal,
                              .resume = s->def.resume,
                              .workers = s->def.workers,
                              .case_timeout = s->def.case_timeout,
                              .progress = on_progress,
                              .progress_user = s,
                              .cluster = cluster};
  cpli_progress progress = {0};
  cpl_status st = cpli_execute(s->ctx, &cases, &how, &progress);
  summary->progress = progress_of(&progress);
  return st;
}

//------------------------------------ the study ------------------------------------

// Only the coordinator has the journal, and writes the results.
static cpl_status run_and_write(cpli_study* s, const cpl_study_def* def, cpli_cluster* cluster,
                                cpl_study_summary* summary) {
  cpl_status st = read_def(s, def);
  if (st >= 0 && summary->is_coordinator) st = check_journal(s);
  if (st >= 0) st = prepare(s);
  if (st >= 0) st = share_reuse(s);
  if (st >= 0) st = execute(s, cluster, summary);
  if (!summary->is_coordinator) return st;
  for (size_t i = 0; i < s->def.n_outputs && st >= 0; i++)
    st = cpli_study_write(s, s->def.outputs[i]);
  if (st >= 0 && s->def.on_case != NULL) st = cpli_study_visit(s);
  if (st >= 0) unlink(s->def.journal);
  return st;
}

cpl_status cpl_study_run(cpl_context* ctx, const cpl_study_def* def, cpl_study_summary* summary) {
  cpl_study_summary none;
  cpli_cluster* cluster = NULL;
  if (summary == NULL) summary = &none;
  cpli_study s = {.ctx = ctx,
                  .def = cpl_default_study_def(),
                  .plan = {.settings = cpl_default_experiment_settings()}};
  cpli_arena_init(&s.arena, ctx);
  cpl_status st = cpli_cluster_join(ctx, &cluster);
  *summary = (cpl_study_summary){.is_coordinator = cpli_cluster_rank(cluster) == 0};
  if (st >= 0) st = run_and_write(&s, def, cluster, summary);
  cpli_cluster_leave(cluster);
  cpli_study_free(&s);
  return st;
}

void cpli_study_free(cpli_study* s) {
  cpl_context* ctx = s->ctx;
  cpli_measures_destroy(s->plan.measures);
  cpli_free(ctx, s->plan.conversions);
  cpli_free(ctx, s->plan.converted);
  cpli_free(ctx, s->plan.fixed);
  cpli_free(ctx, s->plan.times);
  cpli_free(ctx, s->factor_units);
  cpli_free(ctx, s->curve_units);
  if (s->plan.reuse != NULL) munmap(s->plan.reuse, sizeof *s->plan.reuse);
  free(s->identity);
  cpli_arena_free(&s->arena);
}
