// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A package becomes a definition: tree, edges, values, items, hints.
#include "system/ssp.h"

#include <stdlib.h>

#include "system/ssp_flat.h"

void cpl_init_ssp_def(cpl_ssp_def* def, size_t size) {
  const cpl_ssp_def all = {0};
  cpli_init_def(def, size, &all, sizeof all);
}

static cpl_status fill(cpli_flat* f) {
  cpl_status st = cpli_flat_tree(f);
  if (st >= 0) st = cpli_flat_edges(f);
  if (st >= 0) st = cpli_flat_values(f);
  if (st >= 0) st = cpli_flat_emit(f);
  if (st >= 0) st = cpli_flat_hints(f);
  if (st >= 0) st = cpli_flat_annotation(f);
  if (st >= 0 && f->n_errors > 0) st = cpl_fail(f->ctx, CPL_ERR_INPUT, "%s", f->first_error);
  if (st >= 0 && f->def->no_memory) st = cpli_nomem(f->ctx);
  return st;
}

static cpl_status keep_names(cpl_system_def* def, const cpli_ssp* ssp) {
  def->hierarchical = true;
  def->root = ssp->system->name;
  def->name = cpli_def_text(def, ssp->name != NULL && ssp->name[0] != '\0' ? ssp->name : "system",
                            (cpli_source_loc){.file = ssp->file->path});
  def->file = cpli_arena_strdup(&def->arena, ssp->path);
  char* real = realpath(ssp->path, NULL);
  if (real != NULL) def->canonical = cpli_arena_strdup(&def->arena, real);
  const bool lost = def->file == NULL || (real != NULL && def->canonical == NULL);
  free(real);
  return lost ? cpli_nomem(def->ctx) : CPL_OK;
}

cpl_status cpli_def_of_ssp(cpli_ssp* ssp, const cpli_ssp_findings* findings, cpl_system_def** out) {
  cpl_system_def* def = NULL;
  *out = NULL;
  cpl_status st = cpl_system_def_create(ssp->ctx, &def);
  if (st < 0) {
    cpli_ssp_close(ssp);
    return st;
  }
  def->ssp = ssp;
  cpli_flat f = {.ctx = ssp->ctx, .def = def, .ssp = ssp, .findings = findings};
  st = keep_names(def, ssp);
  if (st >= 0) st = fill(&f);
  cpli_flat_free(&f);
  if (st >= 0) *out = def;
  else cpl_system_def_destroy(def);
  return st;
}

cpl_status cpli_def_read_ssp(cpl_context* ctx, const cpl_ssp_def* given,
                             const cpli_ssp_findings* findings, cpl_system_def** out) {
  *out = NULL;
  cpl_ssp_def def = cpl_default_ssp_def();
  cpli_ssp* ssp = NULL;
  cpl_status st = cpli_read_def(ctx, "cpl_ssp_def", given, &def, sizeof def);
  if (st >= 0 && def.path == NULL) st = cpl_fail(ctx, CPL_ERR_INPUT, "there is no package to read");
  if (st >= 0) st = cpli_ssp_open(ctx, def.path, def.variant, findings, &ssp);
  for (size_t i = 0; i < def.n_parameters && st >= 0; i++)
    st = cpli_ssp_add_parameters(ssp, def.parameters[i]);
  if (st >= 0) return cpli_def_of_ssp(ssp, findings, out);
  cpli_ssp_close(ssp);
  return st;
}

cpl_status cpl_system_def_read_ssp(cpl_context* ctx, const cpl_ssp_def* package,
                                   cpl_system_def** out) {
  return cpli_def_read_ssp(ctx, package, NULL, out);
}
