// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What an experiment is, as a text of one line per property: everything that its results depend on,
// and nothing of where and when it runs. Journals of studies and checkpoints belong to one text.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/options.h"
#include "experiment/experiment.h"
#include "format/file.h"
#include "format/hash.h"
#include "format/number.h"
#include "system/definition.h"

enum { MAX_DEPTH = 64 };  // of nested systems, which form no cycle here

typedef struct writer {
  cpl_context* ctx;
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
  cpl_status st = cpl_system_def_read(w->ctx, path, &nested);
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

cpl_status cpli_identity_files(FILE* out, const cpl_source* source,
                               const cpl_experiment_settings* s) {
  const writer w = {source->ctx, out};
  const cpl_system_def* def = cpl_system_definition(source);
  fprintf(out, "file: %s\n", s->path != NULL ? last_part(s->path) : source->desc->name);
  // other Jacobians, other iterates of Newton's method: the results differ in their last bits
  if (cpli_uses_differences(source->ctx)) fprintf(out, "derivatives: differences\n");
  if (s->path != NULL) put_file(&w, s->path);
  for (size_t i = 0; i < s->n_parameters; i++) put_file(&w, s->parameters[i]);
  const bool packed = s->path != NULL && cpli_ends_with(s->path, ".ssp");
  return def == NULL || packed ? CPL_OK : put_system(&w, def, 0);
}

//------------------------------------ settings ------------------------------------

static void put_solver(const writer* w, const cpl_experiment_def* e) {
  for (int i = 0; i < CPLI_EXPERIMENT_COUNT; i++) {
    const cpli_experiment_key* key = &cpli_experiment_keys[i];
    const char* at = (const char*)e + key->offset;
    if (i == CPLI_START || i == CPLI_STOP || i == CPLI_INTERVAL) continue;  // put_times()
    if (i >= CPLI_SOLVER) put_text(w, key->name, *(const char* const*)at);
    else if (!isnan(*(const double*)at)) put_number(w, key->name, *(const double*)at);
  }
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

void cpli_identity_settings(FILE* out, const cpl_experiment_settings* s) {
  const writer all = {NULL, out}, *w = &all;
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

void cpli_identity_times(FILE* out, double start, double stop, double interval) {
  const writer w = {NULL, out};
  put_number(&w, "start", start);
  put_number(&w, "stop", stop);
  put_number(&w, "interval", interval);
}

cpl_status cpl_experiment_identity(cpl_experiment* e, const char** out) {
  size_t size = 0;
  *out = "";
  free(e->identity);
  FILE* text = open_memstream(&e->identity, &size);
  if (text == NULL) return cpli_nomem(e->ctx);
  fprintf(text, "couplet: %s\n", CPL_VERSION);
  cpl_experiment_settings settings = e->settings;
  settings.experiment = &e->wanted;  // the caller may have released its own
  settings.path = e->path;
  cpl_status st = cpli_identity_files(text, e->source, &settings);
  cpli_identity_times(text, e->run.start_time, e->run.stop_time, e->run.interval);
  cpli_identity_settings(text, &settings);
  for (size_t i = 0; i < e->run.n_record; i++) fprintf(text, "record: %s\n", e->run.record[i]);
  if (fclose(text) != 0 && st >= 0) st = cpli_nomem(e->ctx);
  if (st >= 0) *out = e->identity;
  return st;
}
