// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Where the files of a package are on disk, for those who read more of it than the standard
// describes.
#include "ssp/reader.h"

static cpli_ssp_reader reader_of(cpli_ssp* ssp) {
  return (cpli_ssp_reader){.ctx = ssp->ctx, .ssp = ssp, .storage = ssp->storage};
}

const char* cpli_ssp_path_of(cpli_ssp* ssp, const cpli_ssp_file* ssd) {
  const cpli_ssp_document* doc = (const cpli_ssp_document*)ssd;
  cpli_ssp_reader r = reader_of(ssp);
  if (doc->package->zip != NULL) return cpli_ssp_text(&r, "%s#%s", doc->package->path, doc->name);
  return cpli_ssp_text(&r, "%s%s", doc->name[0] == '/' ? "" : doc->package->folder, doc->name);
}

cpl_status cpli_ssp_unpack(cpli_ssp* ssp, const cpli_ssp_file* file, const char** folder) {
  cpli_ssp_package* package = ((const cpli_ssp_document*)file)->package;
  cpli_ssp_reader r = reader_of(ssp);
  char** names = NULL;
  size_t n = 0;
  cpl_status st = CPL_OK;
  if (package->zip != NULL) st = cpli_ssp_package_list(ssp->ctx, package, false, &names, &n);
  for (size_t i = 0; i < n; i++) {
    const char* path;
    if (st >= 0) st = cpli_ssp_package_extract(&r, package, names[i], &path);
    cpli_free(ssp->ctx, names[i]);
  }
  cpli_free(ssp->ctx, names);
  *folder = package->folder;
  return st;
}
