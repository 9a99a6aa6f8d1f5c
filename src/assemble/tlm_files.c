// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// Detects that two machines have different files of a system: a hash over the bytes of the system
// file, models and tables. Names and folders may differ.
#include <stdio.h>

#include "assemble/tlm.h"
#include "tlm/ends.h"

// Folders and missing files count as empty; errors were reported when they were opened.
static uint64_t add_file(uint64_t h, const char* path) {
  char block[1 << 14];
  FILE* f = path != NULL ? fopen(path, "rbe") : NULL;
  for (size_t n; f != NULL && (n = fread(block, 1, sizeof block, f)) > 0;)
    h = cpli_hash(h, block, n);
  if (f != NULL) fclose(f);
  return cpli_hash(h, "", 1);
}

static uint64_t add_system(uint64_t h, const cpli_built* b) {
  const cpl_system_def* d = b->def;
  h = add_file(h, d->file);
  for (size_t i = 0; i < d->n_models; i++) {
    bool nested = b->sources[i] != NULL && cpl_system_definition(b->sources[i]) != NULL;
    h = nested ? add_system(h, (const cpli_built*)b->sources[i])
               : add_file(h, d->models[i].path.text);
  }
  for (size_t i = 0; i < d->n_inputs; i++) h = add_file(h, d->inputs[i].file.text);
  return h;
}

uint64_t cpli_tlm_files(const cpli_built* b) { return add_system(CPLI_HASH_BEGIN, b); }
