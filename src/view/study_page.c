// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Fills the page of a study: names, statistics and failures as JSON, factors and measures in the
// smallest type that holds them exactly, curves in single precision.
#include <math.h>

#include "format/source_loc.h"
#include "view/page_file.h"
#include "view/study.h"

//------------------------------------ names that were asked for
//------------------------------------

static size_t count_columns(const cpli_shown_study* s) {
  return s->facts->n_factors + s->facts->n_measures + s->facts->n_curves;
}

static const char* name_at(const void* user, size_t i) { return cpli_shown_column(user, i)->name; }

static cpl_status unknown_name(const cpli_shown_study* s, const char* name, const char* what,
                               size_t n) {
  char near[512];
  return cpl_fail(s->ctx, CPL_ERR_INPUT, "no %s matches \"%s\"%s", what, name,
                  cpli_did_you_mean(name, name_at, s, n, near, sizeof near));
}

// Whether a name is that of a factor or of a measure.
static bool is_number(const cpli_shown_study* s, const char* name) {
  for (size_t i = 0; i < s->facts->n_factors + s->facts->n_measures; i++) {
    if (strcmp(name_at(s, i), name) == 0) return true;
  }
  return false;
}

static cpl_status check_names(const cpli_shown_study* s, const cpl_view_def* def) {
  const size_t n = count_columns(s);
  for (size_t k = 0; k < def->n_only; k++) {
    bool found = false;
    for (size_t i = 0; i < n && !found; i++) found = cpli_glob(def->only[k], name_at(s, i));
    if (!found) return unknown_name(s, def->only[k], "factor, measure or curve", n);
  }
  if (def->across == NULL || def->up == NULL) return CPL_OK;
  const char* const both[] = {def->across, def->up};
  for (size_t k = 0; k < 2; k++) {
    if (!is_number(s, both[k]))
      return unknown_name(s, both[k], "factor or measure", n - s->facts->n_curves);
  }
  return CPL_OK;
}

//------------------------------------ JSON ------------------------------------

static void put_name(cpli_page* p, const cpli_study_column* c, const char* before) {
  cpli_page_put(p, before);
  cpli_page_put(p, "\n{\"name\":");
  cpli_page_string(p, c->name);
  cpli_page_member(p, "unit", c->unit);
  cpli_page_member(p, "text", c->description);
}

static void put_numbers(cpli_page* p, const double* v, size_t n) {
  for (size_t i = 0; i < n; i++) {
    cpli_page_put(p, i == 0 ? "[" : ",");
    cpli_page_number(p, v[i]);
  }
  cpli_page_put(p, n == 0 ? "[]" : "]");
}

static void put_number(cpli_page* p, const char* key, double v) {
  cpli_page_put(p, key);
  cpli_page_number(p, v);
}

static void put_influence(cpli_page* p, const cpl_influence* in, size_t n_factors) {
  if (in->values == NULL) return;
  cpli_page_put(p, ",\"influence\":{\"method\":");
  cpli_page_string(p, in->method);
  put_number(p, ",\"rSquared\":", in->r_squared);
  for (size_t i = 0; i < in->n_columns; i++) {
    cpli_page_put(p, i == 0 ? ",\"columns\":[" : ",");
    cpli_page_string(p, in->columns[i]);
  }
  cpli_page_put(p, "],\"values\":");
  put_numbers(p, in->values, in->n_columns * n_factors);
  cpli_page_put(p, "}");
}

static void put_statistics(cpli_page* p, const cpli_shown_measure* m, size_t n_factors) {
  const cpl_moments* all = &m->moments;
  put_number(p, ",\"n\":", (double)all->n);
  put_number(p, ",\"mean\":", all->n > 0 ? all->mean : (double)NAN);
  put_number(p, ",\"deviation\":", cpl_moments_deviation(all));
  put_number(p, ",\"least\":", all->n > 0 ? all->least : (double)NAN);
  put_number(p, ",\"greatest\":", all->n > 0 ? all->greatest : (double)NAN);
  cpli_page_put(p, ",\"quantiles\":");
  put_numbers(p, m->quantiles, CPLI_SHOWN_QUANTILES);
  if (m->histogram.n_bins > 0) {
    cpli_page_put(p, ",\"edges\":");
    put_numbers(p, m->histogram.edges, m->histogram.n_bins + 1);
    for (size_t i = 0; i < m->histogram.n_bins; i++) {
      cpli_page_put(p, i == 0 ? ",\"counts\":[" : ",");
      cpli_page_number(p, (double)m->histogram.counts[i]);
    }
    cpli_page_put(p, "]");
  }
  put_influence(p, &m->influence, n_factors);
}

static const double* values_of(const cpli_shown_study* s, size_t column) {
  return s->columns + column * (size_t)s->facts->cases;
}

static void put_columns(cpli_page* p, const cpli_shown_study* s) {
  const cpli_study_facts* f = s->facts;
  for (size_t i = 0; i < f->n_factors + f->n_measures; i++) {
    const cpli_page_kind kind = cpli_page_kind_of(values_of(s, i), (size_t)f->cases);
    put_name(p, cpli_shown_column(s, i), i == 0 ? ",\"columns\":[" : ",");
    cpli_page_member(p, "kind", cpli_page_kind_text(kind));
    cpli_page_member(p, "role", i < f->n_factors ? "factor" : "measure");
    if (i >= f->n_factors) put_statistics(p, &s->measures[i - f->n_factors], f->n_factors);
    cpli_page_put(p, "}");
  }
  cpli_page_put(p, f->n_factors + f->n_measures == 0 ? ",\"columns\":[]" : "]");
}

// Values that are small integers stay exact; all others are rounded to single precision.
static cpli_page_kind curve_kind(const cpli_shown_study* s, size_t i, const double** v, size_t* n) {
  *n = (size_t)s->curve_cases * s->facts->n_times;
  *v = s->curves + i * *n;
  const cpli_page_kind kind = cpli_page_kind_of(*v, *n);
  return kind == CPLI_PAGE_F64 ? CPLI_PAGE_F32 : kind;
}

static void put_curves(cpli_page* p, const cpli_shown_study* s) {
  const cpli_study_facts* f = s->facts;
  cpli_page_put(p, ",\"curveStep\":");
  cpli_page_index(p, (size_t)s->curve_step);
  cpli_page_put(p, ",\"curveCases\":");
  cpli_page_index(p, (size_t)s->curve_cases);
  cpli_page_put(p, ",\"times\":");
  cpli_page_index(p, f->n_times);
  cpli_page_put(p, ",\"curves\":[");
  for (size_t i = 0; i < f->n_curves; i++) {
    const double* v;
    size_t n;
    put_name(p, &f->curves[i], i == 0 ? "" : ",");
    cpli_page_member(p, "kind", cpli_page_kind_text(curve_kind(s, i, &v, &n)));
    cpli_page_put(p, "}");
  }
  cpli_page_put(p, "]");
}

static void put_failures(cpli_page* p, const cpli_shown_study* s) {
  cpli_page_put(p, ",\"failures\":[");
  for (size_t i = 0; i < s->n_failures; i++) {
    cpli_page_put(p, i == 0 ? "[" : ",[");
    cpli_page_index(p, (size_t)s->failures[i].i);
    cpli_page_put(p, ",");
    cpli_page_string(p, s->failures[i].reason);
    cpli_page_put(p, "]");
  }
  cpli_page_put(p, "]");
}

static void put_facts(cpli_page* p, const cpli_study_facts* f) {
  cpli_page_put(p, ",\"facts\":[");
  for (size_t i = 0; i < f->n_facts; i++) {
    cpli_page_put(p, i == 0 ? "[" : ",[");
    cpli_page_string(p, f->facts[i].name);
    cpli_page_put(p, ",");
    if (f->facts[i].text != NULL) cpli_page_string(p, f->facts[i].text);
    else cpli_page_number(p, f->facts[i].number);
    cpli_page_put(p, "]");
  }
  cpli_page_put(p, "]");
}

// The names that match --only, in the order of the study, and the two of --xy.
static void put_choice(cpli_page* p, const cpli_shown_study* s, const cpl_view_def* def) {
  const char* before = ",\"show\":[";
  for (size_t i = 0; i < count_columns(s); i++) {
    bool wanted = false;
    for (size_t k = 0; k < def->n_only && !wanted; k++)
      wanted = cpli_glob(def->only[k], name_at(s, i));
    if (!wanted) continue;
    cpli_page_put(p, before);
    cpli_page_string(p, name_at(s, i));
    before = ",";
  }
  if (before[1] == '\0') cpli_page_put(p, "]");
  if (def->across == NULL || def->up == NULL) return;
  cpli_page_put(p, ",\"xy\":[");
  cpli_page_string(p, def->across);
  cpli_page_put(p, ",");
  cpli_page_string(p, def->up);
  cpli_page_put(p, "]");
}

//------------------------------------ the page ------------------------------------

typedef struct shown {
  const cpli_shown_study* study;
  const cpl_view_def* def;
} shown;

static void put_blocks(cpli_page* p, const cpli_shown_study* s) {
  const cpli_study_facts* f = s->facts;
  const size_t n = (size_t)f->cases;
  char id[32];
  for (size_t i = 0; i < f->n_factors + f->n_measures; i++) {
    snprintf(id, sizeof id, "c%zu", i);
    cpli_page_block(p, id, cpli_page_kind_of(values_of(s, i), n), values_of(s, i), n);
  }
  if (f->n_curves > 0) cpli_page_block(p, "times", CPLI_PAGE_F64, f->times, f->n_times);
  for (size_t i = 0; i < f->n_curves; i++) {
    const double* v;
    size_t values;
    const cpli_page_kind kind = curve_kind(s, i, &v, &values);
    snprintf(id, sizeof id, "y%zu", i);
    cpli_page_block(p, id, kind, v, values);
  }
}

static void fill(cpli_page* p, const void* user) {
  const shown* all = user;
  const cpli_shown_study* s = all->study;
  cpli_page_put(p,
                "<script type=\"application/json\" id=\"data\">{\"version\":\"" CPL_VERSION "\"");
  cpli_page_member(p, "title", all->def->title);
  put_choice(p, s, all->def);
  cpli_page_put(p, ",\"cases\":");
  cpli_page_index(p, (size_t)s->facts->cases);
  put_columns(p, s);
  put_curves(p, s);
  put_failures(p, s);
  put_facts(p, s->facts);
  cpli_page_put(p, ",\"probabilities\":");
  put_numbers(p, cpli_shown_probabilities, CPLI_SHOWN_QUANTILES);
  cpli_page_put(p, "}</script>\n");
  put_blocks(p, s);
}

typedef struct job {
  cpl_context* ctx;
  const char* path;  // of the study
  const cpl_view_def* def;
  cpli_page page;
} job;

static cpl_status make_page(cpli_nc_process* process, void* user) {
  job* j = user;
  cpli_shown_study s;
  cpl_status st = cpli_shown_study_read(j->ctx, j->path, CPLI_SHOWN_CURVES, process, &s);
  if (st >= 0) st = check_names(&s, j->def);
  if (st < 0) return st;
  return cpli_page_write_open(&j->page, "study.html", j->def->title, fill, &(shown){&s, j->def});
}

static cpl_status check_definition(cpl_context* ctx, const cpl_view_def* def) {
  if (!cpli_is_page(def->path))
    return cpli_fail_file(ctx, CPL_ERR_INPUT, def->path,
                          "pages of studies are written to files that end in .html");
  if (def->n_others > 0 || def->report != NULL)
    return cpl_fail(ctx, CPL_ERR_INPUT, "a page of a study shows one file, without a report");
  return CPL_OK;
}

cpl_status cpl_view_study(cpl_context* ctx, const char* file, const cpl_view_def* given) {
  enum { ANSWER_S = 30 };  // the longest time that the library may take for a block of cases
  cpl_view_def def = cpl_default_view_def();
  cpl_status st = cpli_read_def(ctx, "cpl_view_def", given, &def, sizeof def);
  if (st >= 0) st = check_definition(ctx, &def);
  if (st < 0) return st;
  if (def.title == NULL) {
    const char* slash = strrchr(file, '/');
    def.title = slash != NULL ? slash + 1 : file;
  }
  job j = {ctx, file, &def, {.ctx = ctx, .path = def.path, .text = {.ctx = ctx}}};
  cpli_new_file* page = &j.page.file;
  st = cpli_new_file_open(ctx, def.path, 0, page);
  if (st < 0) return st;
  const char* crash = "cannot be read (is it damaged?)";
  st = cpli_nc_run(ctx, &(cpli_nc_work){file, crash, ANSWER_S, make_page, &j});
  if (st >= 0) st = cpli_new_file_commit(page);
  cpli_new_file_discard(page);
  return st;
}
