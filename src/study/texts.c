// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// The design of a study from texts: those of the caller, and those of the system file.
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "couplet/study.h"
#include "format/source_loc.h"
#include "system/definition.h"

void cpl_init_design_texts(cpl_design_texts* texts, size_t size) {
  const cpl_design_texts all = {0};
  cpli_init_def(texts, size, &all, sizeof all);
}

static const char* kind_at(const void* user, size_t i) {
  (void)user;
  return cpl_design_kind_text((cpl_design_kind)i);
}

static cpl_status find_kind(cpl_context* ctx, const char* text, cpl_design_kind* out) {
  enum { N_KINDS = CPL_DESIGN_SALTELLI + 1 };
  char near[128];
  for (size_t i = 0; i < N_KINDS; i++) {
    if (strcmp(kind_at(NULL, i), text) != 0) continue;
    *out = (cpl_design_kind)i;
    return CPL_OK;
  }
  cpli_did_you_mean(text, kind_at, NULL, N_KINDS, near, sizeof near);
  return cpl_fail(ctx, CPL_ERR_INPUT, "there is no design %s%s", text, near);
}

static cpl_status read_count(cpl_context* ctx, const char* what, const char* text, uint64_t most,
                             uint64_t* out) {
  char* end = NULL;
  errno = 0;
  const unsigned long long value = strtoull(text, &end, 10);
  if (end == text || *end != '\0' || text[0] == '-' || errno != 0 || value > most)
    return cpl_fail(ctx, CPL_ERR_INPUT, "%s: \"%s\" is no number from 0 to %llu", what, text,
                    (unsigned long long)most);
  *out = value;
  return CPL_OK;
}

typedef struct maker {
  cpl_context* ctx;
  const cpl_system_def* def;  // Nullable
  cpl_design_texts texts;     // completed from the file
  char* folder;               // of the file
  cpl_factor* factors;
  size_t n;
} maker;

static cpl_status add_factor(maker* m, const char* text, const char* folder) {
  cpl_status st = cpl_factor_read(m->ctx, text, folder, &m->factors[m->n]);
  m->n += st >= 0;
  return st;
}

// "k: 1:2:4" in the file is "k=1:2:4".
static cpl_status add_setting(maker* m, const cpli_setting* setting) {
  const char* name = setting->name.text;
  const bool quote = strchr(name, '=') != NULL;
  char* text = cpli_printf(m->ctx, quote ? "'%s'=%s" : "%s=%s", name, setting->value.text);
  if (text == NULL) return cpli_nomem(m->ctx);
  cpl_status st = add_factor(m, text, m->folder);
  cpli_free(m->ctx, text);
  return st < 0 ? cpli_fail_prefix_at(m->ctx, st, &setting->value.loc, "study: over") : st;
}

static cpl_status find_folder(maker* m) {
  const char* file = m->def != NULL ? m->def->file : NULL;
  const char* slash = file != NULL ? strrchr(file, '/') : NULL;
  if (slash == NULL) return CPL_OK;
  m->folder = cpli_printf(m->ctx, "%.*s", (int)(slash - file), file);
  return m->folder != NULL ? CPL_OK : cpli_nomem(m->ctx);
}

static cpl_status read_factors(maker* m) {
  const cpli_study_texts* file = m->def != NULL ? &m->def->study : NULL;
  const bool own = m->texts.n_over > 0 || m->texts.table != NULL;
  const size_t n = own || file == NULL ? m->texts.n_over : file->n_over;
  m->factors = cpli_alloc(m->ctx, n, sizeof *m->factors);
  if (m->factors == NULL) return cpli_nomem(m->ctx);
  cpl_status st = CPL_OK;
  for (size_t i = 0; i < n && st >= 0; i++)
    st = own || file == NULL ? add_factor(m, m->texts.over[i], NULL)
                             : add_setting(m, &file->over[i]);
  return st;
}

static cpl_status complete(maker* m, char** table) {
  if (m->def == NULL) return CPL_OK;
  const cpli_study_texts* file = &m->def->study;
  cpl_design_texts* t = &m->texts;
  const bool own = t->n_over > 0 || t->table != NULL;
  if (t->design == NULL && !(own && t->sample == NULL)) t->design = file->design.text;
  if (t->sample == NULL && !own) t->sample = file->sample.text;
  if (t->seed == NULL) t->seed = file->seed.text;
  if (own || file->table.text == NULL) return CPL_OK;
  const bool absolute = file->table.text[0] == '/' || m->folder == NULL;
  *table = absolute ? cpli_strdup(m->ctx, file->table.text)
                    : cpli_printf(m->ctx, "%s/%s", m->folder, file->table.text);
  t->table = *table;
  return *table != NULL ? CPL_OK : cpli_nomem(m->ctx);
}

static cpl_status make(maker* m, cpl_design** out) {
  const cpl_design_texts* t = &m->texts;
  cpl_design_def def = cpl_default_design_def();
  uint64_t n = 0;
  cpl_status st = CPL_OK;
  def.kind = t->table != NULL    ? CPL_DESIGN_TABLE
             : t->sample != NULL ? CPL_DESIGN_RANDOM
                                 : CPL_DESIGN_GRID;
  if (t->design != NULL) st = find_kind(m->ctx, t->design, &def.kind);
  if (st >= 0 && t->sample != NULL) st = read_count(m->ctx, "sample", t->sample, INT64_MAX, &n);
  if (st >= 0 && t->seed != NULL) st = read_count(m->ctx, "seed", t->seed, UINT64_MAX, &def.seed);
  if (st < 0) return st;
  def.n = (int64_t)n;
  def.factors = m->factors;
  def.n_factors = m->n;
  def.table = t->table;
  if (m->n == 0 && t->table == NULL)
    return cpl_fail(m->ctx, CPL_ERR_INPUT,
                    "nothing varies: say what, with --over NAME=FIRST:LAST:COUNT, with --table, or "
                    "in the section study of the system file");
  return cpl_design_create(m->ctx, &def, out);
}

cpl_status cpl_study_design(cpl_context* ctx, const cpl_source* source,
                            const cpl_design_texts* texts, cpl_design** out) {
  maker m = {.ctx = ctx, .texts = cpl_default_design_texts()};
  char* table = NULL;
  *out = NULL;
  cpl_status st = cpli_read_def(ctx, "cpl_design_texts", texts, &m.texts, sizeof m.texts);
  if (st < 0) return st;
  m.def = source != NULL ? cpl_system_definition(source) : NULL;
  st = find_folder(&m);
  if (st >= 0) st = read_factors(&m);
  if (st >= 0) st = complete(&m, &table);
  if (st >= 0) st = make(&m, out);
  for (size_t i = 0; i < m.n; i++) cpl_factor_free(ctx, &m.factors[i]);
  cpli_free(ctx, m.factors);
  cpli_free(ctx, m.folder);
  cpli_free(ctx, table);
  return st;
}
