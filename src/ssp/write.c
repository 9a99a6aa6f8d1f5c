// SPDX-FileCopyrightText: 2026 the couplet developers
// SPDX-License-Identifier: BSD-2-Clause
//
// A package is written from its trees: geometry, notes and the annotations of others are in them.
// Files that were not read are copied.
#include "format/zip_writer.h"
#include "ssp/reader.h"

// The files of the new archive.
typedef struct contents {
  cpl_context* ctx;
  const cpli_ssp* ssp;
  cpli_zip_entry* entries;
  size_t n, cap;
} contents;

static cpl_status add_file(contents* c, const cpli_ssp_package* package, const char* from,
                           const char* name) {
  if (!cpli_grow(c->ctx, (void**)&c->entries, &c->cap, c->n, sizeof *c->entries))
    return cpli_nomem(c->ctx);
  cpli_zip_entry* e = &c->entries[c->n];
  char* bytes = NULL;
  *e = (cpli_zip_entry){.name = cpli_strdup(c->ctx, name)};
  if (e->name == NULL) return cpli_nomem(c->ctx);
  c->n++;
  const cpli_ssp_document* doc = cpli_ssp_document_find(c->ssp->storage, package, from);
  cpl_status st =
      doc != NULL ? cpli_xml_tree_write(doc->file.tree, &bytes, &e->size)
                  : cpli_ssp_package_read(c->ctx, package, from, SIZE_MAX - 1, &bytes, &e->size);
  e->bytes = bytes;
  return st;
}

static void free_contents(contents* c) {
  for (size_t i = 0; i < c->n; i++) {
    cpli_free(c->ctx, (char*)c->entries[i].name);
    cpli_free(c->ctx, (char*)c->entries[i].bytes);
  }
  cpli_free(c->ctx, c->entries);
}

static cpl_status add_all(contents* c, const cpli_ssp_package* package) {
  char** names = NULL;
  size_t n = 0;
  cpl_status st = cpli_ssp_package_list(c->ctx, package, false, &names, &n);
  for (size_t i = 0; st >= 0 && i < n; i++) st = add_file(c, package, names[i], names[i]);
  for (size_t i = 0; i < n; i++) cpli_free(c->ctx, names[i]);
  cpli_free(c->ctx, names);
  return st;
}

//------------------------------------ single .ssd ------------------------------------

static const char default_file[] = "SystemStructure.ssd";

// A file beside the .ssd. One outside its folder has no place in a package.
static cpl_status add_beside(contents* c, const cpli_ssp_package* package, const char* name) {
  if (name[0] == '/' || strncmp(name, "../", 3) == 0)
    return cpli_fail_file(c->ctx, CPL_ERR_INPUT, c->ssp->path,
                          "refers to %s, which is outside its folder: a package cannot contain it",
                          name);
  if (strcmp(name, default_file) == 0)
    return cpli_fail_file(c->ctx, CPL_ERR_INPUT, c->ssp->path,
                          "refers to %s, the name that it gets itself in a package", name);
  return add_file(c, package, name, name);
}

static cpl_status add_single(contents* c, const cpli_ssp_package* package) {
  cpl_status st = CPL_OK;
  for (const cpli_ssp_document* d = c->ssp->storage->documents; st >= 0 && d != NULL; d = d->next) {
    if (d->is_inline || d->package != package) continue;
    if (&d->file == c->ssp->file) st = add_file(c, package, d->name, default_file);
    else st = add_beside(c, package, d->name);
  }
  for (const cpli_ssp_used* u = package->used; st >= 0 && u != NULL; u = u->next)
    st = add_beside(c, package, u->name);
  return st;
}

cpl_status cpli_ssp_write(const cpli_ssp* ssp, const char* path) {
  const cpli_ssp_package* package = ssp->storage->main;
  contents c = {.ctx = ssp->ctx, .ssp = ssp};
  cpl_status st = package->is_open ? add_single(&c, package) : add_all(&c, package);
  if (st >= 0) st = cpli_zip_write(ssp->ctx, path, c.entries, c.n);
  free_contents(&c);
  return st;
}
