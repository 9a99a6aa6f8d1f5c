// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reports the defaults that a model or a system relies on.
#include "assemble/strict.h"

#include <math.h>

#include "assemble/assemble.h"

typedef struct strict {
  cpli_report_fn* report;
  void* user;
} strict;

CPL_PRINTF(4, 5)
static void report(const strict* s, int32_t line, const char* rule, const char* fmt, ...) {
  char text[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  s->report(s->user, line, rule, text);
}

static bool is_free_input(const cpl_variable* v) {
  return v->causality == CPL_CAUSALITY_INPUT && v->type != CPL_CLOCK;
}

static void report_input(const strict* s, int32_t line, const char* path, const char* model,
                         const cpl_variable* v) {
  char value[64] = "its start value";
  if (v->type != CPL_STRING && v->type != CPL_BINARY)
    snprintf(value, sizeof value, "%g", v->has_start ? v->start : 0);
  report(s, line, "unconnected", "input %s%s%s%s is not connected: it keeps %s", path, model,
         model[0] != '\0' ? "." : "", v->name, value);
}

static void report_ranges(const strict* s, const cpl_description* d) {
  for (int32_t i = 0; i < d->n_vars; i++) {
    const cpl_variable* v = &d->vars[i];
    if (!v->has_start || v->alias_of >= 0 || v->type == CPL_STRING || v->type == CPL_BINARY)
      continue;
    const bool below = v->start < v->min;
    if (below || v->start > v->max)
      report(s, 0, "range", "the start value %g of %s is %s than its %s %g", v->start, v->name,
             below ? "less" : "greater", below ? "minimum" : "maximum", below ? v->min : v->max);
  }
}

static void report_experiment(const strict* s, const cpl_system_def* def,
                              const cpl_description* d) {
  const cpl_experiment_def e = cpl_system_def_experiment(def);
  if (isnan(e.stop) && d->experiment.has_stop)
    report(s, 0, "default", "experiment has no stop: it is %g, the longest of the models",
           d->experiment.stop);
  else if (isnan(e.stop)) report(s, 0, "default", "experiment has no stop: it is 1 s");
  if (isnan(e.rtol))
    report(s, 0, "default", "experiment has no rtol: it is %g", cpl_default_solver_def().rtol);
  if (e.solver == NULL)
    report(s, 0, "default", "experiment has no solver: it is %s",
           cpl_solver_name(cpl_default_solver_def().kind));
}

static bool is_given(const cpli_member* member, const char* name) {
  for (size_t i = 0; i < member->n_starts; i++) {
    if (strcmp(member->starts[i].name.text, name) == 0) return true;
  }
  return false;
}

static bool has_variable(const cpl_description* d, const char* name) {
  bool found = cpl_find_variable(d, name) >= 0;
  for (int32_t i = 0; i < d->n_arrays && !found; i++) found = strcmp(d->arrays[i].name, name) == 0;
  return found;
}

// Values of parameter sets that no variable takes.
static void report_ignored(const strict* s, const cpli_member* m, const cpl_description* d) {
  for (size_t i = 0; i < m->n_starts; i++) {
    const cpli_setting* start = &m->starts[i];
    char place[CPLI_LOC_SIZE];
    if (!start->optional || has_variable(d, start->name.text)) continue;
    report(s, 0, "ignored", "%sthe value of %s is ignored: model %s has no such variable",
           cpli_source_loc_text(&start->value.loc, place), start->name.text, m->name.text);
  }
}

static void report_members(const strict* s, const cpli_built* b) {
  for (size_t m = 0; m < b->def->n_models; m++) {
    const cpli_member* member = &b->def->models[m];
    const cpl_description* d = b->sources[m]->desc;
    report_ignored(s, member, d);
    for (int32_t v = 0; v < d->n_vars; v++) {
      if (!is_free_input(&d->vars[v]) || d->vars[v].alias_of >= 0) continue;
      if (is_given(member, d->vars[v].name)) continue;
      if (cpli_links_find(&b->links, &b->resolver, (int32_t)m, v) >= 0) continue;
      report_input(s, member->name.loc.line, b->path, member->name.text, &d->vars[v]);
    }
    if (!b->borrowed[m] && cpl_system_definition(b->sources[m]) != NULL)
      report_members(s, (const cpli_built*)b->sources[m]);
  }
}

static void report_system(const strict* s, const cpli_built* b) {
  for (int32_t k = 0; b->modes != NULL && k < b->modes->n; k++)
    report_members(s, (const cpli_built*)b->modes->modes[k].source);
  if (b->modes == NULL) report_members(s, b);
}

void cpli_strict(const cpl_source* source, cpli_report_fn* function, void* user) {
  const strict s = {.report = function, .user = user};
  const cpl_system_def* def = cpl_system_definition(source);
  if (def != NULL) {
    report_system(&s, (const cpli_built*)source);
    report_experiment(&s, def, source->desc);
  }
  for (int32_t v = 0; def == NULL && v < source->desc->n_vars; v++) {
    if (is_free_input(&source->desc->vars[v])) report_input(&s, 0, "", "", &source->desc->vars[v]);
  }
  report_ranges(&s, source->desc);
}
