// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a study is, as a text of one line per property: everything that its results depend on, and
// nothing of where, when and by how many workers it runs. A journal with another text belongs to
// another study.
#include <math.h>
#include <stdio.h>

#include "format/file.h"
#include "format/hash.h"
#include "format/number.h"
#include "study/study.h"
#include "system/definition.h"

enum { MAX_DEPTH = 64 };  // of nested systems, which form no cycle here

typedef struct writer {
  const cpli_study* study;
  FILE* out;
} writer;

//------------------------------------ properties ------------------------------------

static void put_number(const writer* w, const char* name, double value) {
  char text[CPLI_NUMBER_SIZE];
  cpli_format_double(text, value);
  fprintf(w->out, "%s: %s\n", name, text);
}

static void put_text(const writer* w, const char* name, const char* text) {
  if (text != NULL) fprintf(w->out, "%s: %s\n", name, text);
}

static void put_hash(const writer* w, const char* name, cpli_hash hash) {
  fprintf(w->out, "content of %s: %016llx%016llx\n", name, (unsigned long long)hash.part[0],
          (unsigned long long)hash.part[1]);
}

//------------------------------------ files ------------------------------------

static cpl_status put_system(const writer* w, const cpl_system_def* def, int depth);

static const char* last_part(const char* path) {
  const char* slash = strrchr(path, '/');
  return slash != NULL ? slash + 1 : path;
}

// What cannot be read, such as a folder, has no content.
static void put_file(const writer* w, const char* path) {
  cpli_hash hash = cpli_hash_begin();
  char bytes[1 << 14];
  FILE* in = fopen(path, "rb");
  size_t n = 0;
  if (in == NULL) return;
  while ((n = fread(bytes, 1, sizeof bytes, in)) > 0) cpli_hash_add(&hash, bytes, n);
  if (!ferror(in)) put_hash(w, last_part(path), hash);
  fclose(in);
}

// The hash of an .ssp covers what is in it.
static cpl_status put_model(const writer* w, const char* path, int depth) {
  cpl_system_def* nested = NULL;
  put_file(w, path);
  if (!cpl_is_system_path(path) || cpli_ends_with(path, ".ssp") || depth == MAX_DEPTH)
    return CPL_OK;
  cpl_status st = cpl_system_def_read(w->study->ctx, path, &nested);
  if (st >= 0) st = put_system(w, nested, depth + 1);
  cpl_system_def_destroy(nested);
  return st;
}

static cpl_status put_system(const writer* w, const cpl_system_def* def, int depth) {
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < def->n_models && st >= 0; i++) {
    const cpli_member* m = &def->models[i];
    if (m->path.text != NULL) st = put_model(w, m->path.text, depth);
    else if (m->system != NULL) st = put_system(w, m->system, depth);
  }
  for (size_t i = 0; i < def->n_modes && st >= 0; i++) st = put_system(w, def->modes[i].def, depth);
  for (size_t i = 0; i < def->n_inputs; i++)
    if (def->inputs[i].kind == CPLI_INPUT_FILE) put_file(w, def->inputs[i].file.text);
  return st;
}

static cpl_status put_files(const writer* w) {
  const cpli_study* s = w->study;
  const char* path = s->plan.settings.path;
  const cpl_system_def* def = cpl_system_definition(s->source);
  fprintf(w->out, "file: %s\n", path != NULL ? last_part(path) : s->source->desc->name);
  if (path != NULL) put_file(w, path);
  for (size_t i = 0; i < s->plan.settings.n_parameters; i++)
    put_file(w, s->plan.settings.parameters[i]);
  const bool packed = path != NULL && cpli_ends_with(path, ".ssp");
  return def == NULL || packed ? CPL_OK : put_system(w, def, 0);
}

//------------------------------------ settings ------------------------------------

static void put_design(const writer* w) {
  const cpl_design* design = w->study->def.design;
  const cpl_design_def* d = cpl_design_definition(design);
  fprintf(w->out, "design: %s, %lld cases, seed %llu\n", cpl_design_kind_text(d->kind),
          (long long)cpl_design_cases(design), (unsigned long long)d->seed);
  for (size_t i = 0; i < d->n_factors; i++) {
    char text[256];
    cpl_factor_print(&d->factors[i], text, sizeof text);
    put_text(w, "factor", text);
  }
  fprintf(w->out, "values of the design: %016llx\n", (unsigned long long)cpl_design_hash(design));
}

static void put_solver(const writer* w, const cpl_experiment_def* e) {
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++) {
    const cpli_experiment_key* key = &cpli_experiment_keys[i];
    const char* at = (const char*)e + key->offset;
    if (i == CPLI_START || i == CPLI_STOP || i == CPLI_INTERVAL) continue;  // put_times()
    if (i >= CPLI_SOLVER) put_text(w, key->name, *(const char* const*)at);
    else if (!isnan(*(const double*)at)) put_number(w, key->name, *(const double*)at);
  }
}

static void put_times(const writer* w) {
  put_number(w, "start", w->study->plan.start);
  put_number(w, "stop", w->study->plan.stop);
  put_number(w, "interval", w->study->plan.interval);
}

static void put_table(const writer* w, const cpl_table* t) {
  cpli_hash hash = cpli_hash_begin();
  for (size_t i = 0; i < t->n_columns; i++) {
    const char* unit = t->units != NULL && t->units[i] != NULL ? t->units[i] : "";
    cpli_hash_add(&hash, t->names[i], strlen(t->names[i]) + 1);
    cpli_hash_add(&hash, unit, strlen(unit) + 1);
  }
  cpli_hash_add(&hash, t->time, t->n_rows * sizeof *t->time);
  cpli_hash_add(&hash, t->values, t->n_rows * t->n_columns * sizeof *t->values);
  put_hash(w, "the input table", hash);
}

static void put_settings(const writer* w) {
  const cpl_experiment_settings* s = &w->study->plan.settings;
  if (s->experiment != NULL) put_solver(w, s->experiment);
  if (s->as != CPL_AS_DEFAULT) put_text(w, "as", s->as == CPL_AS_CO_SIMULATION ? "cs" : "me");
  if (s->form != CPL_FORM_AS_FITS) put_text(w, "form", s->form == CPL_FORM_DAE ? "dae" : "ode");
  if (s->one_solver) put_text(w, "solvers", "one for all");
  for (int32_t i = 0; i < s->n_solvers; i++)
    fprintf(w->out, "solver of %s: %s\n", s->solvers[i].model, cpl_solver_name(s->solvers[i].kind));
  for (size_t i = 0; i < s->n_starts; i++)
    fprintf(w->out, "set: %s = %s\n", s->starts[i].name, s->starts[i].value);
  put_text(w, "variant", s->variant);
  if (s->table != NULL) put_table(w, s->table);
  for (size_t i = 0; i < s->n_inputs; i++) put_text(w, "input", s->inputs[i].name);
}

cpl_status cpli_study_identify(cpli_study* s) {
  size_t size = 0;
  const writer w = {s, open_memstream(&s->identity, &size)};
  if (w.out == NULL) return cpli_nomem(s->ctx);
  put_text(&w, "couplet", CPL_VERSION);
  put_text(&w, "content", s->def.content);
  cpl_status st = put_files(&w);
  put_design(&w);
  for (size_t i = 0; i < s->def.n_measures; i++)
    fprintf(w.out, "measure: %s = %s\n", s->def.measures[i].name, s->def.measures[i].text);
  for (size_t i = 0; i < s->def.n_curves; i++) put_text(&w, "curve", s->def.curves[i]);
  put_times(&w);
  put_settings(&w);
  if (fclose(w.out) != 0 && st >= 0) st = cpli_nomem(s->ctx);
  return st;
}
