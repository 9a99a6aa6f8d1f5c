// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Reads the texts of the section `fit`; failures have the place in the file.
#include "fit/section.h"

#include <math.h>

#include "model/start.h"

static cpl_status in_section(const cpli_fit_section* s, cpl_status st, const cpli_source_loc* loc,
                             const char* key) {
  return st < 0 ? cpli_fail_prefix_at(s->ctx, st, loc, "fit: %s", key) : st;
}

cpl_status cpli_fit_section_in_data(const cpli_fit_section* s, cpl_status st, size_t data) {
  return s->data == NULL ? st : in_section(s, st, &s->texts->data[data].file.loc, "data");
}

cpl_status cpli_fit_section_in_sigma(const cpli_fit_section* s, cpl_status st, size_t sigma) {
  return sigma < s->n_own ? st : in_section(s, st, s->places[sigma - s->n_own], "sigma");
}

static cpl_status read_vary(cpli_fit_section* s, cpl_fit_def* def) {
  const cpli_fit_texts* t = s->texts;
  if (def->n_vary > 0 || t->n_vary == 0) return CPL_OK;
  s->vary = cpli_alloc(s->ctx, t->n_vary, sizeof *s->vary);
  cpl_status st = s->vary != NULL ? CPL_OK : cpli_nomem(s->ctx);
  for (; s->n_vary < t->n_vary && st >= 0; s->n_vary += st >= 0) {
    const cpli_setting* one = &t->vary[s->n_vary];
    st = cpli_vary_read(s->ctx, one->name.text, one->value.text, &s->vary[s->n_vary]);
    in_section(s, st, &one->value.loc, "vary");
  }
  def->vary = s->vary;
  def->n_vary = s->n_vary;
  return st;
}

static cpl_status read_data(cpli_fit_section* s, cpl_fit_def* def) {
  const cpli_fit_texts* t = s->texts;
  size_t n_starts = 0;
  if (def->n_data > 0 || t->n_data == 0) return CPL_OK;
  for (size_t i = 0; i < t->n_data; i++) n_starts += t->data[i].n_starts;
  s->data = cpli_alloc(s->ctx, t->n_data, sizeof *s->data);
  s->starts = cpli_alloc(s->ctx, n_starts, sizeof *s->starts);
  if (s->data == NULL || s->starts == NULL) return cpli_nomem(s->ctx);
  cpl_start* next = s->starts;
  for (size_t i = 0; i < t->n_data; i++) {
    const cpli_fit_set* set = &t->data[i];
    s->data[i] = (cpl_fit_data){
        .path = set->file.text, .starts = next, .n_starts = set->n_starts, .weight = set->weight};
    for (size_t k = 0; k < set->n_starts; k++)
      *next++ = (cpl_start){set->starts[k].name.text, set->starts[k].value.text};
  }
  def->data = s->data;
  def->n_data = t->n_data;
  return CPL_OK;
}

static bool is_given(const cpl_fit_def* def, const char* name) {
  for (size_t i = 0; i < def->n_sigmas; i++)
    if (strcmp(def->sigmas[i].name, name) == 0) return true;
  return false;
}

static cpl_status read_sigma(const cpli_fit_section* s, const cpli_setting* one,
                             cpl_fit_sigma* out) {
  const char* unit = "";
  *out = (cpl_fit_sigma){.name = one->name.text};
  if (cpli_split_number(one->value.text, &out->value, &unit) && unit[0] == '\0') return CPL_OK;
  return cpl_fail(
      s->ctx, CPL_ERR_INPUT,
      "the standard deviation of %s is \"%s\", not a number in the unit of the variable",
      one->name.text, one->value.text);
}

static cpl_status read_sigmas(cpli_fit_section* s, cpl_fit_def* def) {
  const cpli_fit_texts* t = s->texts;
  size_t n = s->n_own = def->n_sigmas;
  if (t->n_sigma == 0) return CPL_OK;
  s->sigmas = cpli_alloc(s->ctx, n + t->n_sigma, sizeof *s->sigmas);
  s->places = cpli_alloc(s->ctx, t->n_sigma, sizeof *s->places);
  if (s->sigmas == NULL || s->places == NULL) return cpli_nomem(s->ctx);
  for (size_t i = 0; i < n; i++) s->sigmas[i] = def->sigmas[i];
  for (size_t i = 0; i < t->n_sigma; i++) {
    const cpli_setting* one = &t->sigma[i];
    if (is_given(def, one->name.text)) continue;
    const cpl_status st = read_sigma(s, one, &s->sigmas[n]);
    if (st < 0) return in_section(s, st, &one->value.loc, "sigma");
    s->places[n++ - s->n_own] = &one->value.loc;
  }
  def->sigmas = s->sigmas;
  def->n_sigmas = n;
  return CPL_OK;
}

static const char* loss_at(const void* user, size_t i) {
  static const char* const names[] = {
#define X(kind, name, text) name,
      CPL_LOSS_LIST(X)
#undef X
  };
  return i < CPLI_COUNT(names) ? names[i] : ((void)user, NULL);
}

// The scale of the file belongs to the loss of the file.
static cpl_status read_values(cpli_fit_section* s, cpl_fit_def* def) {
  const cpli_fit_texts* t = s->texts;
  size_t n = 0;
  char near[128];
  if (def->confidence == 0) def->confidence = t->confidence;
  if (def->loss != CPL_LOSS_OF_FILE) return CPL_OK;
  if (def->scale == 0) def->scale = t->scale;
  if (t->loss.text == NULL || cpl_loss_by_name(t->loss.text, &def->loss)) return CPL_OK;
  while (loss_at(NULL, n) != NULL) n++;
  cpli_did_you_mean(t->loss.text, loss_at, NULL, n, near, sizeof near);
  return cpli_fail_at(s->ctx, CPL_ERR_INPUT, &t->loss.loc,
                      "fit: there is no loss %s%s; it is squares, huber, soft_l1 or cauchy",
                      t->loss.text, near);
}

cpl_status cpli_fit_section_read(cpli_fit_section* s, cpl_context* ctx, const cpl_system_def* file,
                                 cpl_fit_def* def) {
  *s = (cpli_fit_section){.ctx = ctx, .texts = file != NULL ? &file->fit : NULL};
  s->n_own = def->n_sigmas;
  cpl_status st = CPL_OK;
  if (file != NULL) {
    st = read_values(s, def);
    if (st >= 0) st = read_vary(s, def);
    if (st >= 0) st = read_data(s, def);
    if (st >= 0) st = read_sigmas(s, def);
  }
  if (def->loss == CPL_LOSS_OF_FILE) def->loss = CPL_LOSS_SQUARES;
  return st;
}

void cpli_fit_section_free(cpli_fit_section* s) {
  if (s->ctx == NULL) return;
  for (size_t i = 0; i < s->n_vary; i++) cpl_vary_free(s->ctx, &s->vary[i]);
  cpli_free(s->ctx, s->vary);
  cpli_free(s->ctx, s->data);
  cpli_free(s->ctx, s->starts);
  cpli_free(s->ctx, s->sigmas);
  cpli_free(s->ctx, s->places);
}
