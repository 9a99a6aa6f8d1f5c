// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// What a study is, as a text of one line per property: everything that its results depend on, and
// nothing of where, when and by how many workers it runs. A journal with another text belongs to
// another study.
#include <stdio.h>

#include "experiment/experiment.h"
#include "study/study.h"

static void put_design(FILE* out, const cpl_design* design) {
  const cpl_design_def* d = cpl_design_definition(design);
  fprintf(out, "design: %s, %lld cases, seed %llu\n", cpl_design_kind_text(d->kind),
          (long long)cpl_design_cases(design), (unsigned long long)d->seed);
  for (size_t i = 0; i < d->n_factors; i++) {
    char text[256];
    cpl_factor_print(&d->factors[i], text, sizeof text);
    fprintf(out, "factor: %s\n", text);
  }
  fprintf(out, "values of the design: %016llx\n", (unsigned long long)cpl_design_hash(design));
}

cpl_status cpli_study_identify(cpli_study* s) {
  size_t size = 0;
  FILE* out = open_memstream(&s->identity, &size);
  if (out == NULL) return cpli_nomem(s->ctx);
  fprintf(out, "couplet: %s\n", CPL_VERSION);
  if (s->def.content != NULL) fprintf(out, "content: %s\n", s->def.content);
  cpl_status st = cpli_identity_files(out, s->source, &s->plan.settings);
  put_design(out, s->def.design);
  for (size_t i = 0; i < s->def.n_measures; i++)
    fprintf(out, "measure: %s = %s\n", s->def.measures[i].name, s->def.measures[i].text);
  for (size_t i = 0; i < s->def.n_curves; i++) fprintf(out, "curve: %s\n", s->def.curves[i]);
  cpli_identity_times(out, s->plan.start, s->plan.stop, s->plan.interval);
  cpli_identity_settings(out, &s->plan.settings);
  if (fclose(out) != 0 && st >= 0) st = cpli_nomem(s->ctx);
  return st;
}
